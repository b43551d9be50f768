//! The meaning of the records of requests. All of their state is in the rows of jobs.

use crate::referee::tally::{AnsweredRow, CountResult, Fate, Inconsistent, JobBook, Reporter, SubjectTally};
use hansa_sim::grid::{Area, JobId, JobShape, NodeSet};
use hansa_sim::kernel::ActorId;
use hansa_sim::protocol::{Record, ReserveAnswer};
use hansa_sim::time::Time;

#[derive(Debug)]
pub struct RequestTally;

impl SubjectTally for RequestTally {
    fn take(&mut self, book: &mut JobBook, by: Reporter, record: &Record) -> Option<CountResult> {
        self.take_record(book, by, record)
    }
}

impl RequestTally {
    pub fn answered(
        &mut self,
        book: &mut JobBook,
        by: Reporter,
        job: &JobId,
        ready: &Time,
        deadline: &Time,
        answer: &ReserveAnswer,
    ) -> CountResult {
        let row = book.open(*job)?;
        if row.answered.is_some() {
            return Err(Inconsistent::Answered(*job));
        }
        let (ready, deadline, answer) = (*ready, *deadline, answer.clone());
        let is_accepted = matches!(answer, ReserveAnswer::Accepted { .. });
        row.answered = Some(AnsweredRow { at: by.now, ready, deadline, answer, moved: 0, until: None, broken: None });
        if is_accepted {
            return Ok(None);
        }
        // Sites have refused the shapes that were tried.
        row.take_shape(0);
        row.fate = Fate::TurnedAway;
        book.ended(*job)
    }

    pub fn malleable(&mut self, book: &mut JobBook, _: Reporter, job: &JobId, shapes: &[JobShape]) -> CountResult {
        if book.open(*job)?.set_shapes(shapes) { Ok(None) } else { Err(Inconsistent::NoShape(*job)) }
    }

    /// A request is booked in this shape, if the site agrees.
    pub fn shaped(&mut self, book: &mut JobBook, _: Reporter, job: &JobId, shape: &u32) -> CountResult {
        if book.open(*job)?.take_shape(*shape) { Ok(None) } else { Err(Inconsistent::NoShape(*job)) }
    }

    /// Other nodes are booked for a request, as some have failed.
    #[allow(clippy::too_many_arguments, reason = "they are the fields of the record")]
    pub fn rebooked(
        &mut self,
        book: &mut JobBook,
        _: Reporter,
        job: &JobId,
        site: &ActorId,
        start: &Time,
        until: &Time,
        nodes: &NodeSet,
    ) -> CountResult {
        let row = open_promise(book, *job)?;
        row.answer = ReserveAnswer::Accepted { site: *site, start: *start, nodes: nodes.clone() };
        row.moved += 1;
        row.until = Some(*until);
        Ok(None)
    }

    /// The promise of a request is broken. The end of its job is reported next.
    pub fn broken(&mut self, book: &mut JobBook, _: Reporter, job: &JobId, compensation: &Area) -> CountResult {
        open_promise(book, *job)?.broken = Some(*compensation);
        Ok(None)
    }

    pub fn cancelled(&mut self, book: &mut JobBook, by: Reporter, job: &JobId) -> CountResult {
        book.open(*job)?.fate = Fate::Cancelled { at: by.now };
        book.ended(*job)
    }
}

/// The accepted request of an open job. An error if the job has none, or the promise is broken.
fn open_promise(book: &mut JobBook, job: JobId) -> Result<&mut AnsweredRow, Inconsistent> {
    let promise = book.open(job)?.answered.as_mut();
    promise.filter(|answered| answered.broken.is_none()).ok_or(Inconsistent::NotPromised(job))
}
