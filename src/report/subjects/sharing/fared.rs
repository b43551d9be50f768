//! What became of one job, as the measures of sharing want it.

use crate::grid::Needs;
use crate::report::tally::{JobRow, Left, Stint};
use crate::systems::dfrs::{Moves, Need, Timed};
use crate::time::Time;

/// A job that has ended.
pub struct Fared {
    pub timed: Timed,
    pub end: Time,
    /// What was done with it, by site: it has been at several if nodes of the others failed.
    moves: Vec<(u32, Moves)>,
}

impl Fared {
    /// `None` for who has not ended, or was stopped on the way.
    pub fn of(row: &JobRow) -> Option<Fared> {
        let (asked, task) = (row.job.tasks.first()?, row.tasks.first()?);
        let end = task.end.filter(|_| !task.killed)?;
        let Needs { cpu, memory } = row.needs.unwrap_or(Needs::NODE);
        let need = Need::new(asked.cores, cpu, memory).ok()?;
        let timed = Timed { submit: row.job.arrive, runtime: asked.runtime, need };
        let mut moves: Vec<(u32, Moves)> = Vec::new();
        let mut before: Option<Stint<'_>> = None;
        for stint in task.stints(end) {
            let site = stint.site.or(task.site)?;
            if moves.last().is_none_or(|last| last.0 != site) {
                moves.push((site, Moves::default()));
            }
            let here = &mut moves.last_mut().expect("it is there now").1;
            match before.and_then(|before| before.left.map(|left| (before, left))) {
                Some((before, Left::Moved)) => {
                    here.migrations += 1;
                    here.migrated += memory * f64::from(stint.newly_there(&before));
                }
                Some((_, Left::Suspended)) => {
                    here.preemptions += 1;
                    here.paused += need.total_memory();
                }
                Some((_, Left::Shared | Left::Lost)) | None => {}
            }
            before = Some(stint);
        }
        Some(Fared { timed, end, moves })
    }

    /// What was done with it at each site.
    pub fn each(&self) -> impl Iterator<Item = (usize, &Moves)> {
        self.moves.iter().map(|(site, moves)| (*site as usize, moves))
    }
}
