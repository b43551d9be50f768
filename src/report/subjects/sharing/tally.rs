//! The meaning of the records of jobs that share nodes, pause or move. All of their state is in the rows of jobs.

use crate::referee::tally::{CountResult, Inconsistent, JobBook, Reporter, StintEnd, Stints, SubjectTally};
use hansa_sim::grid::{JobId, Needs, NodeSet, TaskId};
use hansa_sim::protocol::Record;

#[derive(Debug)]
pub struct SharingTally;

impl SubjectTally for SharingTally {
    fn take(&mut self, book: &mut JobBook, by: Reporter, record: &Record) -> Option<CountResult> {
        self.take_record(book, by, record)
    }
}

impl SharingTally {
    /// Records that a task left its cores, to continue later.
    pub fn suspended(&mut self, book: &mut JobBook, by: Reporter, task: &TaskId) -> CountResult {
        book.leave(by, task, StintEnd::Suspended)
    }

    /// Records that a task continues on these cores.
    pub fn resumed(&mut self, book: &mut JobBook, by: Reporter, task: &TaskId, cores: &NodeSet) -> CountResult {
        let site = book.holds(*task, by.actor, cores)?;
        let row = book.reportable_task(*task, site)?;
        let suspended = row.stints.as_deref_mut().filter(|stints| stints.since().is_none());
        suspended.ok_or(Inconsistent::NotSuspended(*task))?.enter_nodes(by.now);
        (row.site, row.cores) = (Some(site), cores.clone());
        Ok(None)
    }

    pub fn moved(&mut self, book: &mut JobBook, by: Reporter, task: &TaskId, cores: &NodeSet) -> CountResult {
        let site = book.holds(*task, by.actor, cores)?;
        book.reportable_task(*task, site)?;
        book.leave(by, task, StintEnd::Moved)?;
        self.resumed(book, by, task, cores)
    }

    pub fn shared(&mut self, book: &mut JobBook, by: Reporter, task: &TaskId, share: &f64) -> CountResult {
        let site = book.site(by.actor)?;
        let row = book.reportable_task(*task, site)?;
        match row.start.filter(|_| row.end.is_none()) {
            _ if !(0.0..=1.0).contains(share) => return Err(Inconsistent::NoShare(*task)),
            None => return Err(Inconsistent::NotRunning(*task)),
            Some(start) => Stints::of(&mut row.stints, start).set_share(by.now, &row.cores, *share),
        }
        Ok(None)
    }

    pub fn stacked(&mut self, book: &mut JobBook, by: Reporter, task: &TaskId, cores: &NodeSet) -> CountResult {
        let site = book.holds(*task, by.actor, cores)?;
        let row = book.reportable_task(*task, site)?;
        let since = row.on_cores_since().filter(|_| row.end.is_none()).ok_or(Inconsistent::NotRunning(*task))?;
        Stints::of(&mut row.stints, since).add_layer(cores);
        Ok(None)
    }

    pub fn needs(&mut self, book: &mut JobBook, _: Reporter, job: &JobId, needs: &Needs) -> CountResult {
        let row = book.open(*job)?;
        match row.needs {
            _ if !needs.are_valid() => Err(Inconsistent::NoShare(TaskId { job: *job, index: 0 })),
            Some(_) => Err(Inconsistent::NeedsAgain(*job)),
            None => {
                row.needs = Some(*needs);
                Ok(None)
            }
        }
    }
}
