//! The paper on sharing nodes: its runs on generated traces and on weeks of a log, and their speed on this machine.

use std::path::{Path, PathBuf};

use rustix::time::{ClockId, clock_gettime};

use super::super::choosing::Choosing;
use super::super::disk::unreadable_input;
use super::super::sweep::SweepShare;
use super::super::{Failure, logs, out};
use super::{Making, PaperProgram};
use hansa_papers::dfrs;
use hansa_sim::grid::{JobId, TaskId};
use hansa_sim::systems::dfrs::{Algorithm, Cluster, Events, Fractional, compute_bound, run_alone};
use hansa_sim::time::Time;

/// Usual CPU time of a trace or a week under all algorithms.
const SECONDS_PER_TRACE: f64 = 0.9;

/// Runs the experiment of the paper on sharing nodes, on generated traces and, if there is one, on the weeks of a log.
pub fn reproduce_dfrs(
    extent: dfrs::Extent,
    logs: Option<&Path>,
    choosing: &Choosing,
    making: &Making,
) -> Result<(), Failure> {
    let weeks = logs.map_or(Ok(Vec::new()), read_weeks)?;
    let speed = matches!(making.share, SweepShare::Whole | SweepShare::Gather { .. }).then(measure_speed);
    let program = PaperProgram {
        paper: "dfrs",
        what: "traces",
        file: &dfrs::choices(),
        pieces: extent.pieces(weeks.len()),
        seconds: &|_| SECONDS_PER_TRACE,
        key: format!("{extent:?} {weeks:?}"),
    };
    program.reproduce(
        choosing,
        making,
        |settings, _| *settings,
        |settings, piece| dfrs::run_piece(*settings, *piece, &weeks),
        |settings, rows| dfrs::Outcome::of(extent, settings, rows, speed),
    )
}

/// The weeks of the longest log of HPC2N in a folder.
fn read_weeks(folder: &Path) -> Result<Vec<dfrs::Week>, Failure> {
    let files = std::fs::read_dir(folder).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
    let files = files.map_err(|error| unreadable_input(folder, &error))?;
    let mut paths: Vec<PathBuf> = files
        .into_iter()
        .map(|file| file.path())
        .filter(|path| {
            let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
            name.starts_with("hpc2n") && (name.ends_with(".swf") || name.ends_with(".swf.gz"))
        })
        .collect();
    paths.sort();
    let mut longest = None;
    for path in paths {
        let Some((trace, _)) = logs::read_log(&path.to_string_lossy())? else { continue };
        if longest.as_ref().is_none_or(|(jobs, _, _)| trace.jobs.len() > *jobs) {
            longest = Some((trace.jobs.len(), path, trace));
        }
    }
    let Some((_, path, trace)) = longest else {
        return Err(Failure::Input(format!(
            "{}: there is no log of HPC2N, whose name begins with HPC2N and ends with .swf or .swf.gz",
            folder.display()
        )));
    };
    let weeks = dfrs::split_weeks(&trace);
    let left_out: usize = weeks.iter().map(|week| week.left_out).sum();
    out::unless_quiet(&format!(
        "{}: {} weeks, {} jobs; {left_out} without run time or size, or too large, were left out\n",
        path.display(),
        weeks.len(),
        trace.jobs.len()
    ))?;
    Ok(weeks)
}

/// Speed of this machine at sharing nodes, in CPU seconds, for the paper's claim of speed.
fn measure_speed() -> dfrs::Speed {
    let (trace, crowd) = dfrs::speed_inputs();
    let best = fractional_rules(dfrs::BEST);
    let come = (0..).zip(&crowd).map(|(job, timed)| (TaskId { job: JobId(job), index: 0 }, timed.need)).collect();
    let all = Events { come, ..Events::default() };
    dfrs::Speed {
        run: cpu_seconds(|| drop(run_alone(best, dfrs::NODES, &trace, |_, _, _| {}))),
        bound: cpu_seconds(|| _ = compute_bound(dfrs::NODES, &trace)),
        mcb8: cpu_seconds(|| drop(Cluster::new(fractional_rules("MCB8 *"), dfrs::NODES).advance(Time::ZERO, &all))),
    }
}

fn fractional_rules(name: &str) -> Fractional {
    *Algorithm::parse(name).ok().as_ref().and_then(Algorithm::fractional).expect("it shares nodes")
}

fn cpu_seconds(work: impl FnOnce()) -> f64 {
    let began = thread_seconds();
    work();
    thread_seconds() - began
}

fn thread_seconds() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}
