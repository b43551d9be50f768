//! What became of one job, as the measures of sharing want it.

use crate::grid::{Needs, NodeSet};
use crate::report::tally::{JobRow, Left, Stint};
use crate::systems::dfrs::{Need, Timed};
use crate::time::Time;

/// A job that has ended.
pub struct Fared {
    pub timed: Timed,
    pub end: Time,
    pub preemptions: u64,
    pub migrations: u64,
    /// In memories of a node.
    pub paused: f64,
    pub migrated: f64,
}

impl Fared {
    /// `None` for who has not ended, or was stopped on the way.
    pub fn of(row: &JobRow) -> Option<Fared> {
        let (asked, task) = (row.job.tasks.first()?, row.tasks.first()?);
        let end = task.end.filter(|_| !task.killed)?;
        let Needs { cpu, memory } = row.needs.unwrap_or(Needs::NODE);
        let need = Need::new(asked.cores, cpu, memory).ok()?;
        let timed = Timed { submit: row.job.arrive, runtime: asked.runtime, need };
        let mut fared = Fared { timed, end, preemptions: 0, migrations: 0, paused: 0.0, migrated: 0.0 };
        let mut before: Option<Stint<'_>> = None;
        for stint in task.stints(end) {
            match before.and_then(|before| before.left.map(|left| (before, left))) {
                Some((before, Left::Moved)) => {
                    fared.migrations += 1;
                    fared.migrated += memory * newly_there(&before, &stint) as f64;
                }
                Some((_, Left::Suspended)) => {
                    fared.preemptions += 1;
                    fared.paused += need.total_memory();
                }
                Some((_, Left::Shared | Left::Lost)) | None => {}
            }
            before = Some(stint);
        }
        Some(fared)
    }
}

/// How many tasks are where there were fewer.
fn newly_there(before: &Stint<'_>, after: &Stint<'_>) -> u32 {
    let mut had = before.layers();
    let mut came = |nodes: &NodeSet| match had.next() {
        Some(had) => nodes.len() - nodes.intersection(had).len(),
        None => nodes.len(),
    };
    after.layers().map(&mut came).sum()
}
