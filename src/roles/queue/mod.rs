//! Queues of sites: who starts when, one policy a file.
//!
//! A policy is told of one instant after another: first what has ended, then what has come, in order; then it makes one
//! pass and says what starts. It never learns how long a job really runs. Bookings come and go in between.

mod by_count;
mod by_node;
mod conservative;
mod conservative_count;
mod conservative_rebuild;
mod easy;
mod easy_count;
mod fcfs;
mod fcfs_count;
#[cfg(test)]
mod judge;
mod labels;
mod no_sooner;
mod order;
mod places;
mod plan;
mod planner;
mod slotlist;
#[cfg(test)]
mod tests;
mod trial;

pub use self::trial::{Ran, Rigid, play};
use crate::grid::{NodeSet, QueueOrder, Reserved, TaskId};
use crate::time::{Span, Time};

/// A site's scheduler of rigid jobs.
pub trait Policy: Send {
    /// A job leaves its nodes: at `until`, when its walltime is over, or before.
    fn end(&mut self, now: Time, job: TaskId, until: Time);

    /// A job joins the queue; it fits the site.
    fn submit(&mut self, now: Time, ask: Ask);

    /// A job comes back to the head of the queue, ahead of all that wait.
    fn submit_first(&mut self, now: Time, ask: Ask);

    /// A job leaves the queue without having started.
    fn withdraw(&mut self, now: Time, job: TaskId);

    /// Whether running jobs and other bookings leave room for a booking. Who waits does not count.
    fn has_room(&self, now: Time, booking: &Reserved) -> bool;

    /// The nodes that are not free for all of that time, as running jobs or other bookings are on them; where nodes are
    /// only counted, bookings alone.
    fn taken(&self, from: Time, until: Time) -> NodeSet;

    /// From now on these nodes, for which there is room, are reserved. Whoever waits gives way.
    fn book(&mut self, now: Time, booking: &Reserved);

    /// From now on these nodes are down, or wanted by whoever had been kept from them. What has become free in this
    /// instant is not given away before: where nodes fail, it is what closes. All of it closes before anybody who gives
    /// way looks for another place, as they do so in order of the queue.
    fn close(&mut self, now: Time, bookings: &[Reserved]) {
        bookings.iter().for_each(|booking| self.book(now, booking));
    }

    /// What is left of a booking, which is not over yet, is free from now on.
    fn release(&mut self, now: Time, booking: &Reserved);

    /// Makes sure that nothing runs where a booking begins now. A pass does so too; this is for who cannot wait for it.
    fn make_way(&mut self, _now: Time, _steps: &mut Vec<Step>) {}

    /// Adds what is to be done now, in order.
    fn pass(&mut self, now: Time, steps: &mut Vec<Step>);

    /// When there may be something to start, or to keep account of, though no job ends or comes; after a pass.
    fn wake(&self) -> Option<Time>;

    /// Whether jobs may be moved while they run.
    fn moves(&self) -> bool {
        false
    }

    /// When each job of the queue will start, in whatever order, if nothing more comes and all jobs take the whole of
    /// their walltimes; if this were booked too. Never, where time ends before a job would: it waits, and has its place
    /// if others end early.
    fn plan(&self, now: Time, extra: Option<&Reserved>) -> Vec<(TaskId, Time)>;
}

/// What a job asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    pub job: TaskId,
    pub nodes: u32,
    pub walltime: Span,
}

impl Ask {
    /// When it starts if it could start then: never, if time ends before it would.
    pub fn in_time(&self, start: Time) -> Time {
        if start + self.walltime == Time::NEVER { Time::NEVER } else { start }
    }
}

/// What a site is to do with a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Start {
        job: TaskId,
        nodes: NodeSet,
    },
    /// It goes on, on these nodes. Of several that move at once all leave before any comes.
    Move {
        job: TaskId,
        nodes: NodeSet,
    },
}

/// A policy that a site may name.
pub struct Row {
    pub name: &'static str,
    pub about: &'static str,
    pub build: fn(nodes: u32, reserved: &[Reserved], order: QueueOrder) -> Box<dyn Policy>,
}

pub const ALL: &[Row] = &[
    fcfs::ROW,
    easy::ROW,
    conservative::ROW,
    fcfs_count::ROW,
    easy_count::ROW,
    conservative_count::ROW,
    conservative_rebuild::ROW,
    slotlist::ROW,
];

/// What a site of a topology with a `[batch]` table runs, if it names nothing.
pub const USUAL: &str = "easy";

pub fn find(name: &str) -> Option<&'static Row> {
    ALL.iter().find(|row| row.name == name)
}
