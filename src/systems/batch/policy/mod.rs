//! Who starts when, one policy a file.
//!
//! A policy is told of one instant after another: first what has ended, then what has come, in order; then it makes one
//! pass and says what starts. It never learns how long a job really runs.

mod by_count;
mod by_node;
mod conservative;
mod conservative_count;
mod conservative_rebuild;
mod counts;
mod easy;
mod easy_count;
mod fcfs;
mod fcfs_count;
#[cfg(test)]
mod judge;
mod labels;
mod planner;
#[cfg(test)]
mod tests;

pub use crate::grid::Reserved;
use crate::grid::{JobId, NodeSet};
use crate::time::{Span, Time};

/// A site's scheduler of rigid jobs.
pub trait Policy: Send {
    /// A job leaves its nodes: at `until`, when its walltime is over, or before.
    fn end(&mut self, now: Time, job: JobId, until: Time);

    /// A job joins the queue; it fits the site.
    fn submit(&mut self, now: Time, ask: Ask);

    /// Adds what starts now, in order.
    fn pass(&mut self, now: Time, starts: &mut Vec<Start>);

    /// When there may be something to start, or to keep account of, though no job ends or comes; after a pass.
    fn wake(&self) -> Option<Time>;
}

/// What a job asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    pub job: JobId,
    pub nodes: u32,
    pub walltime: Span,
}

/// A job starts on these nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    pub job: JobId,
    pub nodes: NodeSet,
}

/// A policy that a site may name.
pub struct Entry {
    pub name: &'static str,
    pub about: &'static str,
    pub build: fn(nodes: u32, reserved: &[Reserved]) -> Box<dyn Policy>,
}

pub const ALL: &[Entry] = &[
    fcfs::ENTRY,
    easy::ENTRY,
    conservative::ENTRY,
    fcfs_count::ENTRY,
    easy_count::ENTRY,
    conservative_count::ENTRY,
    conservative_rebuild::ENTRY,
];

/// What a site of a topology with a `[batch]` table runs, if it names nothing.
pub const USUAL: &str = "easy";

pub fn find(name: &str) -> Option<&'static Entry> {
    ALL.iter().find(|entry| entry.name == name)
}
