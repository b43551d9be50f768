//! Starts by the main scheduler and by the backfilling of a real Slurm: a table, and a picture of each change over the
//! baseline.

use std::fmt::Write;

use super::super::common::{ClusterSum, CommonJob, CommonJobs, mean_difference, mean_of_clusters};
use super::super::shown::{show_difference, show_estimate};
use super::super::table::{NamedTable, TableCell, TableHead};
use super::Phases;
use crate::JobOutcome;
use crate::axes::Axis;
use crate::experiment::statistics::Estimate;
use crate::html::{format_coord, unbroken_number};
use crate::markup::{Html, html};
use crate::present::page::chart::{BOTTOM, Figure, Scale, Window, time_axis};
use hansa_sim::time::{Span, Time};

/// Height of a picture.
const HEIGHT: f64 = 380.0;

/// Shortest wait that a picture distinguishes, in seconds.
const WAIT_MIN: f64 = 1.0;

/// The starts of a what-if.
pub(super) struct Starts {
    pub table: NamedTable,
    pictures: Vec<StartPicture>,
}

/// Waits of the jobs of one phase in the baseline and under a change, by the scheduler that started them.
struct StartPicture {
    change: String,
    window: Window,
    longest: f64,
    /// Submission of each job that has a wait in both runs, with these waits.
    pairs: Vec<(Time, f64, f64)>,
    /// Submission and wait of each job, for each series.
    series: Vec<StartSeries>,
}

/// Dots of one colour.
struct StartSeries {
    name: String,
    dots: Vec<(Time, f64)>,
}

/// Sums over the jobs of a contender whose starter is known, per cluster.
#[derive(Clone)]
struct StarterSums {
    /// Number of backfilled jobs among all.
    backfilled: Vec<ClusterSum>,
    /// Waits of the jobs of the main scheduler, and of backfilled ones.
    waits: [Vec<ClusterSum>; 2],
}

impl StarterSums {
    fn new(clusters: usize) -> StarterSums {
        let zeros = vec![(0.0, 0.0); clusters];
        StarterSums { backfilled: zeros.clone(), waits: [zeros.clone(), zeros] }
    }

    fn add(&mut self, cluster: usize, job: &JobOutcome) {
        let (Some(is_backfilled), Some(wait)) = (job.backfilled, job.wait()) else { return };
        let share = &mut self.backfilled[cluster];
        *share = (share.0 + f64::from(u8::from(is_backfilled)), share.1 + 1.0);
        let waits = &mut self.waits[usize::from(is_backfilled)][cluster];
        *waits = (waits.0 + wait, waits.1 + 1.0);
    }

    fn is_known(&self) -> bool {
        self.backfilled.iter().any(|(_, jobs)| *jobs > 0.0)
    }

    /// Jobs of a phase that the main scheduler started, and that backfilling started.
    fn jobs_per_phase(&self, repeats: usize) -> [f64; 2] {
        self.waits.each_ref().map(|waits| waits.iter().map(|(_, jobs)| jobs).sum::<f64>() / repeats as f64)
    }

    /// Percentage of backfilled jobs, per cluster.
    fn percentages(&self) -> Vec<ClusterSum> {
        self.backfilled.iter().map(|(backfilled, jobs)| (100.0 * backfilled, *jobs)).collect()
    }
}

impl Starts {
    /// Starts of the common jobs of all contenders. None if no site states which jobs it backfills.
    /// O(jobs * contenders).
    pub fn of(names: &[String], common: &CommonJobs<'_>, phases: Phases) -> Option<Starts> {
        let mut sums = vec![StarterSums::new(common.clusters.len()); names.len()];
        for (cluster, job) in common.in_clusters() {
            for (own, outcome) in sums.iter_mut().zip(&job.outcomes) {
                own.add(cluster, outcome);
            }
        }
        if !sums.iter().any(StarterSums::is_known) {
            return None;
        }
        // The first phase stands for all in pictures.
        let of_first: Vec<&CommonJob<'_>> = match phases.repeats() {
            1 => common.clusters.iter().flatten().collect(),
            _ => common.clusters[0].iter().collect(),
        };
        let pictures = (1..names.len()).filter_map(|contender| StartPicture::of(names, &of_first, contender));
        Some(Starts { table: starts_table(names, &sums, phases), pictures: pictures.collect() })
    }

    pub fn pictures_html(&self) -> Html {
        self.pictures.iter().enumerate().map(|(number, picture)| picture.html(number + 1)).collect()
    }
}

fn starts_table(names: &[String], sums: &[StarterSums], phases: Phases) -> NamedTable {
    let mut heads = vec![TableHead::label("Variant")];
    let numbers = ["main scheduler, jobs", "backfilling, jobs", "backfilled, %", "difference"];
    heads.extend(numbers.map(TableHead::number));
    heads.extend(["mean wait, main scheduler, s", "mean wait, backfilled, s"].map(TableHead::number));
    let mut rows = Vec::new();
    for (contender, (name, own)) in names.iter().zip(sums).enumerate() {
        let mut row = vec![TableCell::text(name.as_str())];
        if !own.is_known() {
            row.resize_with(heads.len(), TableCell::none);
            rows.push(row);
            continue;
        }
        for jobs in own.jobs_per_phase(phases.repeats()) {
            row.push(show_estimate(&Estimate { mean: jobs, within: None, count: 1 }, false));
        }
        row.push(
            mean_of_clusters(&own.percentages()).map_or_else(TableCell::none, |share| show_estimate(&share, true)),
        );
        let is_compared = contender > 0 && sums[0].is_known();
        let apart = if is_compared { percentage_difference(own, &sums[0]) } else { None };
        row.push(apart.map_or_else(TableCell::none, |apart| show_difference(&apart)));
        for waits in &own.waits {
            row.push(mean_of_clusters(waits).map_or_else(TableCell::none, |mean| show_estimate(&mean, false)));
        }
        rows.push(row);
    }
    let per_phase = match phases {
        Phases::Differ(count) => format!("Numbers of jobs are means over {count} phases. "),
        Phases::Agree(_) | Phases::Single => String::new(),
    };
    let notes = vec![format!(
        "{per_phase}The first start of a job counts. Slurm's main scheduler starts jobs in the order of their priority; its \
         backfilling starts those behind that delay nobody ahead."
    )];
    NamedTable { name: "starts", title: "Main scheduler and backfilling", heads, rows, notes }
}

/// Difference of the percentages of backfilled jobs, paired by cluster. None if the runs do not know the starters of
/// equal numbers of jobs.
fn percentage_difference(own: &StarterSums, base: &StarterSums) -> Option<Estimate> {
    let own = own.percentages();
    let base = base.percentages();
    let are_same = own.iter().zip(&base).all(|(own, base)| own.1 == base.1);
    if are_same { mean_difference(&own, &base) } else { None }
}

impl StartPicture {
    /// The picture of a change. None if no job has a known starter in either run.
    fn of(names: &[String], jobs: &[&CommonJob<'_>], contender: usize) -> Option<StartPicture> {
        let starters = ["main scheduler", "backfilling"];
        let series_of = |run: usize| starters.map(|starter| format!("{}: {starter}", names[run]));
        let mut series: Vec<StartSeries> = Vec::new();
        for name in [0, contender].into_iter().flat_map(series_of) {
            series.push(StartSeries { name, dots: Vec::new() });
        }
        let mut longest = WAIT_MIN;
        let mut pairs = Vec::new();
        for job in jobs {
            let drawn =
                [0, contender].map(|run| job.outcomes[run]).map(|job| job.wait().filter(|_| job.backfilled.is_some()));
            if let [Some(before), Some(after)] = drawn {
                pairs.push((Time::from_micros(job.outcomes[0].submitted), before, after));
            }
            for (place, run) in [0, contender].into_iter().enumerate() {
                let outcome = job.outcomes[run];
                let (Some(is_backfilled), Some(wait)) = (outcome.backfilled, outcome.wait()) else { continue };
                let dots = &mut series[2 * place + usize::from(is_backfilled)].dots;
                dots.push((Time::from_micros(outcome.submitted), wait));
                longest = f64::max(longest, wait);
            }
        }
        let times = || series.iter().flat_map(|one| &one.dots).map(|(submitted, _)| *submitted);
        let from = times().min()?;
        let to = times().max()?.max(from + Span::from_secs(1));
        let window = Window::new(from, to);
        Some(StartPicture { change: names[contender].clone(), window, longest, pairs, series })
    }

    fn html(&self, number: usize) -> Html {
        let values = Axis::logarithmic(WAIT_MIN, self.longest.max(10.0 * WAIT_MIN));
        let scale = Scale { values, ..Scale::new(1.0, HEIGHT) };
        let mut body = scale.axis("wait, s (logarithmic)");
        let mut pairs = String::new();
        for (submitted, before, after) in &self.pairs {
            let x = format_coord(self.window.x(*submitted));
            let from = format_coord(scale.y(*before));
            let to = format_coord(scale.y(*after));
            if from != to {
                let _ = write!(pairs, "M{x} {from}V{to}");
            }
        }
        body += html!("<path class=\"pairs\" d=\"{pairs}\"/>\n", pairs);
        for (colour, one) in self.series.iter().enumerate() {
            let mut path = String::new();
            for (submitted, wait) in &one.dots {
                let x = format_coord(self.window.x(*submitted));
                let y = format_coord(scale.y(*wait));
                let _ = write!(path, "M{x} {y}h.01");
            }
            body += html!("<path class=\"dots l{colour}\" d=\"{path}\"/>\n", colour, path);
        }
        body += time_axis(self.window, HEIGHT - BOTTOM);
        let named = self.series.iter().enumerate().filter(|(_, one)| !one.dots.is_empty());
        let legend = named.map(|(colour, one)| {
            let jobs = unbroken_number(one.dots.len() as f64);
            (format!("f{colour}"), format!("{} ({jobs})", one.name))
        });
        Figure {
            id: &format!("starts-{number}"),
            title: &format!("Waits under {}, and in the baseline", self.change),
            desc: format!("Wait of each job over its submission, in the baseline and under {}.", self.change),
            note: "A dot is a job at its submission; a line connects its dots in both runs if its wait changes. Waits below a second are at the bottom. Of several phases, the first one."
                .to_owned(),
            legend: legend.collect(),
            height: HEIGHT,
            body,
        }
        .html()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{JobEnd, RunOutcomes};

    /// A run of jobs that are submitted a minute apart, each with its wait and its starter.
    fn run(jobs: &[(u64, Option<bool>)]) -> RunOutcomes {
        let mut run = RunOutcomes::default();
        for (number, (wait, backfilled)) in jobs.iter().copied().enumerate() {
            let submitted = 60_000_000 * number as u64;
            let started = submitted + 1_000_000 * wait;
            run.jobs.push(JobOutcome {
                log: (1, number as u64),
                run: number as u64,
                user: 0,
                logged: (None, None),
                cores: Some(1),
                submitted,
                started: Some(started),
                ended: Some(started + 600_000_000),
                end: JobEnd::Finished,
                counts: true,
                backfilled,
            });
        }
        run
    }

    fn starts(phases: &[[&RunOutcomes; 2]]) -> Option<Starts> {
        let runs: Vec<Vec<&RunOutcomes>> = phases.iter().map(|phase| phase.to_vec()).collect();
        let common = CommonJobs::of(&runs).unwrap();
        let phases = if runs.len() > 1 { Phases::Differ(runs.len()) } else { Phases::Single };
        Starts::of(&["baseline".to_owned(), "change".to_owned()], &common, phases)
    }

    #[test]
    fn jobs_are_counted_by_their_starter_and_drawn_for_the_first_phase() {
        let base = run(&[(0, Some(false)), (10, Some(true)), (20, Some(false)), (30, Some(false))]);
        let change = run(&[(0, Some(false)), (10, Some(true)), (40, Some(true)), (30, Some(false))]);
        let found = starts(&[[&base, &change], [&base, &base], [&base, &change]]).unwrap();
        let numbers = |row: usize| found.table.rows[row].iter().map(|cell| cell.number).collect::<Vec<_>>();
        assert_eq!(numbers(0)[..4], [None, Some(3.0), Some(1.0), Some(25.0)]);
        assert_eq!(numbers(0)[5..], [Some(50.0 / 3.0), Some(10.0)]);
        // Two of three phases have one more backfilled job of four.
        assert_eq!(numbers(1)[1..3], [Some(7.0 / 3.0), Some(5.0 / 3.0)]);
        assert!((numbers(1)[4].unwrap() - 50.0 / 3.0).abs() < 1e-9);
        assert_eq!(found.table.rows[1][4].mark, super::super::Mark::Plain);
        let [picture] = &found.pictures[..] else { panic!("one change has one picture") };
        let dots: Vec<usize> = picture.series.iter().map(|series| series.dots.len()).collect();
        assert_eq!(dots, [3, 1, 2, 2]);
        let html = String::from(found.pictures_html());
        assert_eq!(html.matches("h.01").count(), 8);
        assert!(html.contains("baseline: backfilling (1)") && html.contains("data-time=\"0 180000000\""), "{html}");
    }

    #[test]
    fn sites_that_state_no_starter_have_no_starts() {
        let silent = run(&[(0, None), (5, None)]);
        assert!(starts(&[[&silent, &silent]]).is_none());
        // Beside a Slurm, they have no numbers and no dots.
        let slurm = run(&[(0, Some(false)), (5, Some(true))]);
        let found = starts(&[[&slurm, &silent]]).unwrap();
        assert!(found.table.rows[1][1..].iter().all(|cell| cell.number.is_none()));
        let dots: Vec<usize> = found.pictures[0].series.iter().map(|series| series.dots.len()).collect();
        assert_eq!(dots, [1, 1, 0, 0]);
    }
}
