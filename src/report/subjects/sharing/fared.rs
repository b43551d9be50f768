//! Result of one job for the measures of sharing.

use crate::referee::tally::{JobRow, Stint, StintEnd};
use hansa_sim::grid::Needs;
use hansa_sim::grid::sharing::{Moves, Need, Timed};
use hansa_sim::time::Time;

/// A job that has ended.
pub struct SharedJob {
    pub timed: Timed,
    pub end: Time,
}

/// Moves and pauses of a job, by site, with any result: it has been at several sites if nodes of the others failed.
pub fn moves_of(row: &JobRow) -> Vec<(u32, Moves)> {
    let mut moves: Vec<(u32, Moves)> = Vec::new();
    let (Some(need), Some(task)) = (need_of(row), row.tasks.first()) else { return moves };
    let mut before: Option<Stint<'_>> = None;
    for stint in task.stints(Time::NEVER) {
        let Some(site) = stint.site.or(task.site) else { break };
        if moves.last().is_none_or(|last| last.0 != site) {
            moves.push((site, Moves::default()));
        }
        let here = &mut moves.last_mut().expect("it is there now").1;
        if let Some(before) = before.filter(|before| before.left == Some(StintEnd::Moved)) {
            here.migrations += 1;
            here.migrated += need.memory * f64::from(stint.newly_there(&before));
        }
        if stint.left == Some(StintEnd::Suspended) {
            here.preemptions += 1;
            here.paused += need.total_memory();
        }
        before = Some(stint);
    }
    moves
}

fn need_of(row: &JobRow) -> Option<Need> {
    let Needs { cpu, memory } = row.needs.unwrap_or(Needs::NODE);
    Need::new(row.job.tasks.first()?.cores, cpu, memory).ok()
}

impl SharedJob {
    /// `None` for a job that has not ended, or was killed.
    pub fn of(row: &JobRow) -> Option<SharedJob> {
        let asked = row.job.tasks.first()?;
        let task = row.tasks.first()?;
        let end = task.end.filter(|_| !task.killed)?;
        let timed = Timed { submit: row.job.arrive, runtime: asked.runtime, need: need_of(row)? };
        Some(SharedJob { timed, end })
    }
}
