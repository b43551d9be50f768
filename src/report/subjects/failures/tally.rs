//! The meaning of the records of failures: of nodes, with the tasks that they stop, and of links.

use crate::referee::tally::{CountResult, Inconsistent, JobBook, Reporter, StintEnd, SubjectTally};
use hansa_sim::grid::{CableId, EdgeId, NodeSet, TaskId};
use hansa_sim::protocol::Record;
use hansa_sim::time::{Span, Time};
use hansa_sim::topology::Topology;

#[derive(Debug)]
pub struct FailureTally {
    /// True for each link of the topology that is reported down.
    links_down: Vec<bool>,
}

impl SubjectTally for FailureTally {
    fn take(&mut self, book: &mut JobBook, by: Reporter, record: &Record) -> Option<CountResult> {
        self.take_record(book, by, record)
    }
}

impl FailureTally {
    pub fn new(topology: &Topology) -> FailureTally {
        FailureTally { links_down: vec![false; topology.cables.as_ref().map_or(0, |cables| cables.links.len())] }
    }

    /// Counts the loss of a task, one of whose nodes failed.
    pub fn lost(&mut self, book: &mut JobBook, by: Reporter, task: &TaskId, saved: &Span) -> CountResult {
        let site = book.site(by.actor)?;
        if *saved > book.reportable_task(*task, site)?.run_time_by(by.now) {
            return Err(Inconsistent::Unearned(*task));
        }
        let worked = book.worked_since_start(*task, by.now);
        let saved = book.sites[site as usize].dedicated_time(book.needs_of(task.job), *saved, 1.0);
        let cores = book.cores_of(*task);
        book.leave(by, task, StintEnd::Lost)?;
        let row = book.reportable_task(*task, site)?;
        row.is_sent_again = false;
        row.record_assignment();
        row.setbacks_mut().record_loss(by.now, worked, saved, cores);
        book.totals.running -= 1;
        book.totals.end = book.totals.end.max(by.now);
        Ok(Some(task.job))
    }

    pub fn checkpointed(
        &mut self,
        book: &mut JobBook,
        by: Reporter,
        task: &TaskId,
        times: &u64,
        spent: &Span,
    ) -> CountResult {
        let site = book.site(by.actor)?;
        let row = book.reportable_task(*task, site)?;
        if row.on_cores_since().filter(|_| row.end.is_none()).is_none() {
            return Err(Inconsistent::NotRunning(*task));
        }
        let ran = row.run_time_by(by.now);
        if *spent > ran || *times > ran.micros() {
            return Err(Inconsistent::Unearned(*task));
        }
        let spent = book.sites[site as usize].dedicated_time(book.needs_of(task.job), *spent, 1.0);
        let cores = book.cores_of(*task);
        book.reportable_task(*task, site)?.setbacks_mut().record_checkpoints(*times, spent, cores);
        Ok(None)
    }

    pub fn are_down(&mut self, book: &mut JobBook, by: Reporter, cores: &NodeSet, _since: &Time) -> CountResult {
        let site = book.site(by.actor)? as usize;
        check_outage(book, site, cores, false)?;
        book.down[site].unite(cores);
        Ok(None)
    }

    pub fn are_up(&mut self, book: &mut JobBook, by: Reporter, cores: &NodeSet, _since: &Time) -> CountResult {
        let site = book.site(by.actor)? as usize;
        check_outage(book, site, cores, true)?;
        book.down[site].subtract(cores);
        Ok(None)
    }

    pub fn link_is_down(&mut self, book: &mut JobBook, _: Reporter, link: &CableId, _since: &Time) -> CountResult {
        self.turn_link(book, *link, true)
    }

    pub fn link_is_up(&mut self, book: &mut JobBook, _: Reporter, link: &CableId, _since: &Time) -> CountResult {
        self.turn_link(book, *link, false)
    }

    fn turn_link(&mut self, book: &JobBook, link: CableId, is_down: bool) -> CountResult {
        let known = self.links_down.get_mut(link.0 as usize).filter(|known| **known != is_down);
        match known.filter(|_| book.failing.does_link(link)) {
            Some(known) => *known = is_down,
            None => return Err(Inconsistent::NoCut(book.names.of_link(link))),
        }
        Ok(None)
    }

    pub fn stalled(&mut self, book: &mut JobBook, by: Reporter, edge: &EdgeId, left: &u64) -> CountResult {
        book.transfers.record_stalled(*edge, *left, by.now)?;
        Ok(None)
    }

    pub fn continued(
        &mut self,
        book: &mut JobBook,
        _: Reporter,
        edge: &EdgeId,
        left: &u64,
        via: &[CableId],
        active: &Time,
    ) -> CountResult {
        book.transfers.record_continued(*edge, *left, via, *active)?;
        Ok(None)
    }
}

/// Checks a site's report that these cores fail, or are back: it has them, and they were up, or down.
fn check_outage(book: &JobBook, site: usize, cores: &NodeSet, is_up: bool) -> Result<(), Inconsistent> {
    let facts = &book.sites[site];
    let down = &book.down[site];
    let is_there = cores.runs().last().is_some_and(|run| run.1 < facts.cores);
    let fits = if is_up { down.contains(cores) } else { !down.meets(cores) };
    if is_there && fits { Ok(()) } else { Err(Inconsistent::NoOutage(facts.name.clone())) }
}
