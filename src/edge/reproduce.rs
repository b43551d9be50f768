//! Papers' experiments from one command: runs, figures, a summary and a verdict for each claim.

mod dfrs;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering;

use super::inline::watch_for_interrupts;
use super::logs;
use super::pool::in_parallel;
use super::sweep::{Files, Sweeping, replace, run_experiment};
use super::terminal::Count;
use super::{Failure, print};
use crate::experiment::market::{Extent, Outcome, TOPOLOGY};
use crate::experiment::{heft, plot, provisioning, reservation};

pub use dfrs::dfrs;

/// Beside the results, for `hansa sweep`.
const EXPERIMENT_FILE: &str = "experiment.toml";
const TOPOLOGY_FILE: &str = "topology.toml";

/// Runs the market paper's experiment.
pub fn market(extent: Extent, sweeping: &Sweeping) -> Result<(), Failure> {
    let experiment = extent.experiment(TOPOLOGY_FILE);
    let mut files = Files::default();
    files.put(EXPERIMENT_FILE, &experiment);
    files.put(TOPOLOGY_FILE, TOPOLOGY);
    let swept = run_experiment(EXPERIMENT_FILE, &mut files, sweeping)?;

    let outcome = Outcome::of(extent, &swept.table, &swept.rows)
        .ok_or_else(|| Failure::Internal("the rows are not those of the experiment".to_owned()))?;
    let write = |name: &str, text: &str| replace(&swept.out.join(name), text);
    let (summary, verdicts) = (outcome.summary_text(), outcome.verdicts());
    write(EXPERIMENT_FILE, &experiment)?;
    write(TOPOLOGY_FILE, TOPOLOGY)?;
    write("summary.txt", &summary)?;
    write("summary.csv", &outcome.summary_csv())?;
    write("verdicts.txt", &verdicts)?;
    for figure in plot::market(&outcome) {
        write(figure.file, &figure.svg)?;
    }
    print(&format!("{summary}\n{verdicts}\nruns, tables and figures in {}\n", swept.out.display()))
}

/// Runs the HEFT paper's experiment. Its runs are plans, not grids: each takes milliseconds, so an interrupted
/// reproduction begins anew.
pub fn heft(extent: heft::Extent, out: &Path, threads: Option<usize>) -> Result<(), Failure> {
    std::fs::create_dir_all(out).map_err(|error| Failure::System(format!("cannot make {}: {error}", out.display())))?;
    let interrupted = watch_for_interrupts()?;
    let threads = threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let (graphs, mut runs) = (extent.graphs(), Vec::new());
    let laws = 2;
    let mut progress = Count::new("runs", extent.count(), 0);
    let stopped = || interrupted.load(Ordering::Relaxed);
    in_parallel(&graphs, threads, &stopped, &|graph| extent.runs(graph), &mut |done| {
        runs.extend(done.into_iter().flatten());
        progress.update(runs.len() / laws);
    });
    progress.clear();
    if runs.len() < extent.count() * laws {
        return Err(Failure::Interrupted("interrupted: nothing was written".to_owned()));
    }
    let outcome = heft::Outcome::of(extent, runs);
    write_heft(&outcome, out)?;
    let (tables, verdicts) = (outcome.tables_text(), outcome.verdicts());
    print(&format!("{tables}\n{verdicts}\nruns, tables and figures in {}\n", out.display()))
}

fn write_heft(outcome: &heft::Outcome, out: &Path) -> Result<(), Failure> {
    let write = |name: &str, text: &str| replace(&out.join(name), text);
    write("runs.csv", &outcome.runs_csv())?;
    write("tables.csv", &outcome.tables_csv())?;
    write("tables.txt", &outcome.tables_text())?;
    write("verdicts.txt", &outcome.verdicts())?;
    plot::heft(outcome).iter().try_for_each(|figure| write(figure.file, &figure.svg))
}

/// Runs the reservation paper's experiment, which takes seconds: an interrupted reproduction begins anew.
pub fn reservation(extent: reservation::Extent, out: &Path, threads: Option<usize>) -> Result<(), Failure> {
    std::fs::create_dir_all(out).map_err(|error| Failure::System(format!("cannot make {}: {error}", out.display())))?;
    let interrupted = watch_for_interrupts()?;
    let threads = threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let pieces: Vec<_> = extent.pieces().into_iter().enumerate().collect();
    let mut runs = BTreeMap::new();
    let mut progress = Count::new("runs", pieces.len(), 0);
    let stopped = || interrupted.load(Ordering::Relaxed);
    let work = |&(number, piece): &(usize, _)| (number, extent.run(piece));
    in_parallel(&pieces, threads, &stopped, &work, &mut |done| {
        runs.extend(done);
        progress.update(runs.len());
    });
    progress.clear();
    if runs.len() < pieces.len() {
        return Err(Failure::Interrupted("interrupted: nothing was written".to_owned()));
    }
    let rows: Vec<_> = runs.into_values().flatten().collect();
    let outcome = reservation::Outcome::of(extent, &rows);
    let (summary, verdicts) = (outcome.summary_text(), outcome.verdicts());
    let write = |name: &str, text: &str| replace(&out.join(name), text);
    write("runs.csv", &reservation::runs_csv(&rows))?;
    write("summary.csv", &outcome.summary_csv())?;
    write("summary.txt", &summary)?;
    write("verdicts.txt", &verdicts)?;
    for figure in reservation::figures::figures(&outcome) {
        write(figure.file, &figure.svg)?;
    }
    print(&format!("{summary}\n{verdicts}\nruns, tables and figures in {}\n", out.display()))
}

/// Runs the experiments of the thesis on provisioning, at sites with the jobs of the logs of a folder, if there is one.
pub fn provisioning(
    extent: provisioning::Extent,
    logs: Option<&Path>,
    out: &Path,
    threads: Option<usize>,
) -> Result<(), Failure> {
    let logs = logs.map_or_else(|| Ok(provisioning::Logs::default()), read_logs)?;
    std::fs::create_dir_all(out).map_err(|error| Failure::System(format!("cannot make {}: {error}", out.display())))?;
    let interrupted = watch_for_interrupts()?;
    let threads = threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let pieces: Vec<_> = extent.pieces().into_iter().enumerate().collect();
    let mut runs = BTreeMap::new();
    let mut progress = Count::new("runs", pieces.len(), 0);
    let stopped = || interrupted.load(Ordering::Relaxed);
    let work = |&(number, piece): &(usize, _)| (number, extent.run(&logs, piece));
    in_parallel(&pieces, threads, &stopped, &work, &mut |done| {
        runs.extend(done);
        progress.update(runs.len());
    });
    progress.clear();
    if runs.len() < pieces.len() {
        return Err(Failure::Interrupted("interrupted: nothing was written".to_owned()));
    }
    let rows: Vec<_> = runs.into_values().flatten().collect();
    let outcome = provisioning::Outcome::of(extent, &rows);
    let (summary, verdicts) = (outcome.summary_text(), outcome.verdicts());
    let write = |name: &str, text: &str| replace(&out.join(name), text);
    write("runs.csv", &provisioning::runs_csv(&rows))?;
    write("summary.csv", &outcome.summary_csv())?;
    write("summary.txt", &summary)?;
    write("verdicts.txt", &verdicts)?;
    for figure in provisioning::figures::figures(&outcome) {
        write(figure.file, &figure.svg)?;
    }
    print(&format!("{verdicts}\nruns, tables and figures in {}\n", out.display()))
}

/// The logs of both machines, by how their files are called.
fn read_logs(folder: &Path) -> Result<provisioning::Logs, Failure> {
    let cannot = |error: std::io::Error| Failure::Input(format!("cannot read {}: {error}", folder.display()));
    let mut names: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(cannot)? {
        names.push(entry.map_err(cannot)?.file_name().to_string_lossy().into_owned());
    }
    names.sort_unstable();
    let read = |site: provisioning::Site| {
        let name = names.iter().find(|name| name.to_uppercase().starts_with(site.name()) && name.contains(".swf"));
        let path = match name {
            Some(name) => folder.join(name).display().to_string(),
            None => {
                let (folder, site) = (folder.display(), site.name());
                let what = format!("{folder}: there is no log of {site}: expected {site}*.swf or {site}*.swf.gz");
                return Err(Failure::Input(what));
            }
        };
        let (trace, _) = logs::read(&path)?.ok_or_else(|| Failure::Input(format!("{path}: it is no log")))?;
        let jobs = provisioning::jobs_of(&trace.jobs, site);
        if jobs.is_empty() {
            return Err(Failure::Input(format!(
                "{path}: no job of it fits the {} processors of {}",
                site.procs(),
                site.name()
            )));
        }
        Ok(jobs)
    };
    let [ctc, sdsc] = provisioning::Site::ALL.map(read);
    Ok(provisioning::Logs { ctc: Some(ctc?), sdsc: Some(sdsc?) })
}
