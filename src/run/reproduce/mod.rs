//! Papers' experiments from one command: runs, figures, a summary and a verdict for each claim. One file per paper.

mod dfrs;
mod heft;
mod kept_pieces;
mod market;
mod provisioning;
mod reservation;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use serde::de::DeserializeOwned;
use xxhash_rust::xxh3::xxh3_128;

use super::choosing::{ChoiceReport, Choosing};
use super::disk::{operation_failure, replace_file};
use super::files::STATE;
use super::inline::watch_for_interrupts;
use super::outside::Stop;
use super::pool::in_parallel;
use super::sweep::{Label, SweepPart, SweepShare, SweepState, await_shares};
use super::terminal::ItemCounter;
use super::{Failure, err, out};
use hansa_report::experiment::reproduction::Reproduction;
use hansa_report::experiment::{ProgramFile, Variant};
use hansa_report::{Status, pretty_json};
use kept_pieces::{KeptPieces, MadePieces};

pub use dfrs::reproduce_dfrs;
pub use heft::reproduce_heft;
pub use market::reproduce_market;
pub use provisioning::{calibrate_queue, reproduce_provisioning};
pub use reservation::reproduce_reservation;

/// Settings for the execution of an experiment.
pub struct Making {
    pub out: PathBuf,
    pub threads: Option<usize>,
    /// True if results that are there already are discarded.
    pub fresh: bool,
    pub share: SweepShare,
}

/// The pieces of an experiment, and all else that its result depends on.
struct Pieces<P> {
    paper: &'static str,
    /// Name of the pieces in messages.
    what: &'static str,
    all: Vec<P>,
    /// Fingerprint of all else that the result depends on.
    key: String,
}

/// Results of all pieces of an experiment, in order. None if only a share was to be computed, which is then in a folder
/// beside `out`. Pieces that are made already are not made again.
fn make_all<P: Debug + Sync, R: Send + Serialize + DeserializeOwned>(
    pieces: Pieces<P>,
    making: &Making,
    work: impl Fn(&P) -> R + Sync,
) -> Result<Option<Vec<R>>, Failure> {
    let Pieces { paper, what, all, key } = pieces;
    let fingerprint = format!("{} {paper} {key} {all:?}", env!("CARGO_PKG_VERSION"));
    let fingerprint = format!("{:032x}", xxh3_128(fingerprint.as_bytes()));
    let label = Label { experiment: &format!("of the paper {paper}"), fingerprint: &fingerprint };
    let stop = watch_for_interrupts()?;
    match &making.share {
        SweepShare::Whole => {
            make_folder(&making.out)?;
            let run = PieceRun { what, folder: &making.out, fingerprint: &fingerprint, making, stop: &stop };
            run.make_pieces(all.iter().enumerate().collect(), work).map(Some)
        }
        SweepShare::Part(part) => {
            let folder = part.rows_folder(&making.out);
            make_folder(&folder)?;
            let mine = part.run_numbers(all.len()).map(|number| (number - 1, &all[number - 1]));
            let run = PieceRun { what, folder: &folder, fingerprint: &fingerprint, making, stop: &stop };
            let done = run.make_pieces(mine.collect(), work)?.len();
            complete_share(&folder, label, *part, done)?;
            out::unless_quiet(&format!("share {part}: {done} {what} in {}\n", folder.display()))?;
            Ok(None)
        }
        SweepShare::Gather { from, wait } => {
            let shares = await_shares(label, &making.out, from, *wait, &stop)?;
            make_folder(&making.out)?;
            let mut done = BTreeMap::new();
            for folder in shares.into_values() {
                done.extend(MadePieces::read_folder(&folder, &fingerprint)?.results);
            }
            let there = done.len();
            let whole: Option<Vec<R>> = (0..all.len()).map(|number| done.remove(&number)).collect();
            whole.ok_or_else(|| Failure::Input(format!("the shares have {there} of {} {what}", all.len()))).map(Some)
        }
    }
}

/// A paper's program: its pieces, and the work of each under some settings. Variants share the results of equal work.
struct PaperProgram<'a, S, P> {
    paper: &'static str,
    /// Name of the pieces in messages.
    what: &'static str,
    file: &'a ProgramFile<S>,
    pieces: Vec<P>,
    /// Usual CPU time of a piece in seconds.
    seconds: &'a dyn Fn(&P) -> f64,
    /// Fingerprint of all else that the result depends on.
    key: String,
}

impl<S: Clone + Debug + PartialEq + Sync, P: Clone + Debug + Sync> PaperProgram<'_, S, P> {
    /// Runs all variants, and writes the results: all of the first one, and the verdicts of the others. Nothing is
    /// written if only a share was to be computed. `outcome` evaluates the rows of all pieces under some settings.
    fn reproduce<R, O>(
        self,
        choosing: &Choosing,
        making: &Making,
        relevant: impl Fn(&S, &P) -> S,
        work: impl Fn(&S, &P) -> Vec<R> + Sync,
        outcome: impl Fn(S, Vec<R>) -> O,
    ) -> Result<(), Failure>
    where
        R: Clone + Send + Serialize + DeserializeOwned,
        O: Reproduction,
    {
        let file = self.file;
        let Some(variants) = self.run(choosing, making, relevant, work)? else { return Ok(()) };
        let mut judged = Vec::new();
        let mut first = None;
        for one in variants {
            let outcome = outcome(one.settings, one.results.into_iter().flatten().collect());
            judged.push((one.variant, outcome.findings()));
            first.get_or_insert(outcome);
        }
        let report = ChoiceReport::of_variants(&file.choices, &judged);
        first.map_or(Ok(()), |first| publish_outcome(&first, &report, &making.out, Vec::new()))
    }

    /// Results of all pieces under each variant, in order. None if only a share was to be computed. `relevant` returns
    /// the settings that the result of a piece depends on, with fixed values of all others.
    fn run<R: Clone + Send + Serialize + DeserializeOwned>(
        self,
        choosing: &Choosing,
        making: &Making,
        relevant: impl Fn(&S, &P) -> S,
        work: impl Fn(&S, &P) -> R + Sync,
    ) -> Result<Option<Vec<VariantResults<S, R>>>, Failure> {
        let PaperProgram { paper, what, file, pieces, seconds, key } = self;
        let variants = choosing.selected_variants(&file.choices)?;
        let settings: Vec<S> = variants.iter().map(|variant| file.settings(&variant.selection)).collect();
        // The different settings of each piece, and the place of each variant's among all that are run.
        let mut distinct: Vec<(S, P)> = Vec::new();
        let mut places = vec![Vec::with_capacity(pieces.len()); variants.len()];
        for piece in &pieces {
            let first = distinct.len();
            for (settings, places) in settings.iter().zip(&mut places) {
                let settings = relevant(settings, piece);
                let known = distinct[first..].iter().position(|(known, _)| *known == settings);
                places.push(first + known.unwrap_or(distinct.len() - first));
                if known.is_none() {
                    distinct.push((settings, piece.clone()));
                }
            }
        }
        if variants.len() > 1 {
            let time = cpu_time_words(distinct.iter().map(|(_, piece)| seconds(piece)).sum());
            let variants = variants.len();
            let count = pieces.len();
            let total = distinct.len();
            err::note(&format!("note: {variants} variants of {count} {what} each, {total} in all: {time} of CPU time"));
        }
        let pieces = Pieces { paper, what, all: distinct, key };
        let Some(results) = make_all(pieces, making, |(settings, piece)| work(settings, piece))? else {
            return Ok(None);
        };
        let by_variant = variants.into_iter().zip(settings).zip(places).map(|((variant, settings), places)| {
            VariantResults { variant, settings, results: places.iter().map(|place| results[*place].clone()).collect() }
        });
        Ok(Some(by_variant.collect()))
    }
}

/// An expected CPU time in words.
fn cpu_time_words(seconds: f64) -> String {
    match seconds {
        few if few < 90.0 => format!("about {} s", few.ceil()),
        many => format!("about {} min", (many / 60.0).round()),
    }
}

/// Results of all pieces under one variant.
struct VariantResults<S, R> {
    variant: Variant,
    settings: S,
    results: Vec<R>,
}

/// Makes a folder at the start, so that a failure shows before minutes of work.
fn make_folder(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| operation_failure("make", folder, &error))
}

/// Execution of pieces into a folder.
struct PieceRun<'a> {
    what: &'static str,
    folder: &'a Path,
    fingerprint: &'a str,
    making: &'a Making,
    stop: &'a Stop,
}

impl PieceRun<'_> {
    /// Results of these pieces, in order. Each is written as soon as it is made, so that the command can be repeated
    /// after an interruption.
    fn make_pieces<P: Sync, R: Send + Serialize + DeserializeOwned>(
        &self,
        pieces: Vec<(usize, &P)>,
        work: impl Fn(&P) -> R + Sync,
    ) -> Result<Vec<R>, Failure> {
        let folder = self.folder.display();
        let count = pieces.len();
        let (mut file, mut done) = KeptPieces::open::<R>(self.folder, self.fingerprint, self.making.fresh)?;
        let lacking: Vec<&(usize, &P)> = pieces.iter().filter(|(number, _)| !done.contains_key(number)).collect();
        if lacking.len() < count {
            let there = count - lacking.len();
            let what = self.what;
            err::note(&format!("note: {there} of {count} {what} are in {folder} already (--fresh makes them again)"));
        }
        let threads =
            self.making.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
        let mut progress = ItemCounter::new(self.what, count, count - lacking.len());
        let mut failure = None;
        let failed = AtomicBool::new(false);
        in_parallel(
            &lacking,
            threads,
            &|| self.stop.load(Ordering::Relaxed) || failed.load(Ordering::Relaxed),
            &|(number, piece)| (*number, work(piece)),
            &mut |result| {
                if let Some((number, result)) = result {
                    if let Err(error) = file.add(number, &result) {
                        failure.get_or_insert(error);
                        failed.store(true, Ordering::Relaxed);
                    }
                    done.insert(number, result);
                }
                progress.update(done.len());
            },
        );
        progress.clear();
        if let Some(failure) = failure {
            return Err(failure);
        }
        let all: Option<Vec<R>> = pieces.iter().map(|(number, _)| done.remove(number)).collect();
        all.ok_or_else(|| {
            let what = self.what;
            Failure::Interrupted(format!(
                "interrupted: finished {what} are in {folder}; the same command makes those that are missing"
            ))
        })
    }
}

/// Marks the folder of a share as complete, for the command that gathers all.
fn complete_share(folder: &Path, label: Label<'_>, part: SweepPart, done: usize) -> Result<(), Failure> {
    let state = SweepState {
        experiment: label.experiment.to_owned(),
        fingerprint: label.fingerprint.to_owned(),
        part: Some(part.to_string()),
        runs: done,
        done,
        status: Status::Complete,
        repeats: Vec::new(),
    };
    replace_file(&folder.join(STATE), pretty_json(&state))
}

/// Name of the page in the results.
const PAGE: &str = "report.html";

/// Writes all files of a reproduction, with some besides its own, and reports the main part of it.
fn publish_outcome<O: Reproduction>(
    outcome: &O,
    report: &ChoiceReport,
    out: &Path,
    more: Vec<(&'static str, String)>,
) -> Result<(), Failure> {
    let tables = outcome.tables_text();
    let verdicts = outcome.verdicts_text();
    let mut shown = report.for_terminal(&verdicts).to_owned();
    if O::PAPER.shows_tables {
        shown = format!("{tables}\n{shown}");
    }
    report.publish(out)?;
    let own = [(O::PAPER.tables_file, tables), ("verdicts.txt", verdicts), (PAGE, outcome.page(&report.html))];
    for (name, text) in outcome.csv_files().into_iter().chain(more).chain(own) {
        replace_file(&out.join(name), text)?;
    }
    outcome.draw_figures().iter().try_for_each(|figure| replace_file(&out.join(figure.file), &figure.svg))?;
    out::unless_quiet(&format!(
        "{shown}\nruns, tables and figures in {}, with a page: {}\n",
        out.display(),
        out.join(PAGE).display()
    ))
}
