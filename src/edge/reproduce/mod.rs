//! Papers' experiments from one command: runs, figures, a summary and a verdict for each claim. One file a paper.

mod dfrs;
mod heft;
mod market;
mod provisioning;
mod reservation;

use std::path::Path;
use std::sync::atomic::Ordering;

use super::inline::watch_for_interrupts;
use super::pool::in_parallel;
use super::sweep::replace;
use super::terminal::Count;
use super::{Failure, print};
use crate::experiment::plot::Figure;

pub use dfrs::dfrs;
pub use heft::heft;
pub use market::market;
pub use provisioning::provisioning;
pub use reservation::reservation;

/// What comes of all pieces of an experiment, in their order, whichever is done first. A piece takes seconds at most, so an
/// interrupted experiment begins anew.
fn all<P: Sync, R: Send>(
    what: &'static str,
    pieces: Vec<P>,
    out: &Path,
    threads: Option<usize>,
    work: impl Fn(&P) -> R + Sync,
) -> Result<Vec<R>, Failure> {
    // Found out before minutes have gone by.
    std::fs::create_dir_all(out).map_err(|error| Failure::System(format!("cannot make {}: {error}", out.display())))?;
    let interrupted = watch_for_interrupts()?;
    let threads = threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let pieces: Vec<(usize, P)> = pieces.into_iter().enumerate().collect();
    let mut done: Vec<Option<R>> = pieces.iter().map(|_| None).collect();
    let (mut count, mut progress) = (0, Count::new(what, pieces.len(), 0));
    let stopped = || interrupted.load(Ordering::Relaxed);
    in_parallel(&pieces, threads, &stopped, &|(place, piece)| (*place, work(piece)), &mut |result| {
        if let Some((place, result)) = result {
            done[place] = Some(result);
            count += 1;
        }
        progress.update(count);
    });
    progress.clear();
    let all: Option<Vec<R>> = done.into_iter().collect();
    all.ok_or_else(|| Failure::Interrupted("interrupted: nothing was written".to_owned()))
}

/// Writes all that an experiment gives, and tells the main part of it.
fn publish(out: &Path, files: &[(&str, String)], figures: &[Figure], told: &str) -> Result<(), Failure> {
    files.iter().try_for_each(|(name, text)| replace(&out.join(name), text))?;
    figures.iter().try_for_each(|figure| replace(&out.join(figure.file), &figure.svg))?;
    print(&format!("{told}\nruns, tables and figures in {}\n", out.display()))
}
