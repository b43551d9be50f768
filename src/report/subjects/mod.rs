//! What a run was about: one row in [`ALL`] a subject, with all that reports make of it and of nothing else.
//!
//! A subject goes with one or several systems, and is there where one of them is. Its account looks at every job once
//! and gives tables and a part of the summary; from that part come cards, lines and measures, and from the tally its
//! section of the page. Jobs, tasks, sites and what jobs are worth are nobody's subject: every run has them.

pub mod bargains;
mod failures;
pub mod plan;
mod queues;
mod requests;
mod sharing;
mod side_by_side;

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::account::Account;
use super::page::Page;
use super::{Summary, Tally};
use crate::systems;
use crate::topology::Topology;

pub use queues::Schedule;
pub use requests::Reservations;
pub use side_by_side::Systems;

#[cfg(test)]
pub(super) use requests::tests as requesting;

/// In the order in which reports have them.
pub(super) const ALL: &[Subject] = &[
    side_by_side::SUBJECT,
    requests::SUBJECT,
    queues::SUBJECT,
    sharing::SUBJECT,
    bargains::SUBJECT,
    failures::SUBJECT,
];

/// The keys of all systems, for what is nobody's own.
const EVERY: [&str; systems::ALL.len()] = {
    let mut keys = [""; systems::ALL.len()];
    let mut at = 0;
    while at < keys.len() {
        keys[at] = systems::ALL[at].key;
        at += 1;
    }
    keys
};

/// What the rest of a report has to know of a subject.
#[derive(Debug)]
pub(super) struct Subject {
    /// The systems that it goes with, by their keys.
    pub systems: &'static [&'static str],
    /// What its part of a summary is called.
    pub part: &'static str,
    /// Whether its jobs are one task each that waits for nodes. SLR is then no more than a slowdown, of which there are
    /// better ones.
    pub one_task: bool,
    /// Whether its section shows how much waited when, so that no other one has to.
    pub shows_waiting: bool,
    /// If other ones than [`USUAL`] are right.
    pub words: Option<Words>,
    /// Its section of the page: what links call it, and its title.
    pub section: (&'static str, &'static str),
    /// What it knows before the run begins, where these systems of a topology are its own; `None` where there is
    /// nothing of its own.
    pub open: Open,
    /// The page's numbers: what, how much, and what that means.
    pub cards: fn(&Summary) -> Vec<(&'static str, String, String)>,
    /// The terminal's: a label, or none for what goes with the line above, and words.
    pub lines: fn(&Summary) -> Vec<(&'static str, String)>,
    /// What an experiment may keep of it.
    pub measures: &'static [Measure],
}

type Open = fn(&Topology, Vec<u32>) -> Option<Box<dyn Topic>>;

/// A subject of a run.
pub(super) trait Topic: fmt::Debug + Send + Sync {
    fn account<'a>(&'a self, tally: &'a Tally, tables: bool) -> Box<dyn Account + 'a>;

    /// Empty, if there is nothing to say.
    fn section(&self, page: &Page<'_>) -> String;
}

/// A number of a run, by its name.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    pub name: &'static str,
    pub about: &'static str,
    pub unit: Unit,
    pub better: Better,
    /// `None` where a run has no such number.
    pub of: fn(&Summary) -> Option<f64>,
}

/// Unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A part of a whole, from 0 to 1.
    Share,
    /// A multiple of another number.
    Ratio,
    /// A number of jobs, tasks or events.
    Count,
    Seconds,
    CoreSeconds,
    CoreHours,
    Bytes,
    Gigabytes,
}

impl Unit {
    /// Name as it follows the name of a number; empty if that says enough.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Share => "share",
            Unit::Ratio | Unit::Count => "",
            Unit::Seconds => "s",
            Unit::CoreSeconds => "core s",
            Unit::CoreHours => "core h",
            Unit::Bytes => "bytes",
            Unit::Gigabytes => "GB",
        }
    }
}

/// Which way people want a number to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    More,
    Less,
    /// That depends on what one is after.
    Neither,
}

impl Better {
    /// Whether a number is better than another one.
    pub fn is_better(self, number: f64, other: f64) -> bool {
        match self {
            Better::More => number > other,
            Better::Less => number < other,
            Better::Neither => false,
        }
    }
}

/// What experiments may keep of all subjects.
pub fn measures() -> impl Iterator<Item = &'static Measure> + Clone {
    ALL.iter().flat_map(|subject| subject.measures)
}

/// How reports speak of jobs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words {
    /// What has become of those that were removed.
    pub removed: &'static str,
    /// From when on they wait: for the column of a table, and in a sentence.
    pub wanted: (&'static str, &'static str),
    /// What waiting is.
    pub waiting: &'static str,
}

pub(super) const USUAL: Words = Words {
    removed: "given up",
    wanted: ("Submitted", "submission"),
    waiting: "A task waits from when its job is submitted and its predecessors are done until it starts or \
              its job is given up; time during which a result is in transit counts as waiting, too.",
};

/// A subject's own part of a summary.
pub trait SummaryPart: Serialize + DeserializeOwned {
    const NAME: &'static str;
}

/// Whether a number may be left out of a summary.
fn is_zero<N: Default + PartialEq>(number: &N) -> bool {
    *number == N::default()
}

/// A subject that a run has, and its systems there.
#[derive(Debug)]
pub(super) struct Present {
    pub subject: &'static Subject,
    pub systems: Vec<u32>,
    pub topic: Box<dyn Topic>,
}

/// The subjects of a topology.
pub(super) fn of(topology: &Topology) -> Vec<Present> {
    let present = |subject: &'static Subject| {
        let is_its = |(_, key): &(u32, &str)| subject.systems.contains(key);
        let keys = (0..).zip(topology.systems.iter().map(|system| system.row().key));
        let systems: Vec<u32> = keys.filter(is_its).map(|(system, _)| system).collect();
        let topic = if systems.is_empty() { None } else { (subject.open)(topology, systems.clone()) };
        topic.map(|topic| Present { subject, topic, systems })
    };
    ALL.iter().filter_map(present).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::systems;

    #[test]
    fn every_row_is_about_systems_that_there_are_and_has_names_of_its_own() {
        let of = |what: fn(&Subject) -> &'static str| ALL.iter().map(what).collect::<BTreeSet<_>>().len();
        assert_eq!((of(|subject| subject.part), of(|subject| subject.section.0)), (ALL.len(), ALL.len()));
        assert!(ALL.iter().flat_map(|subject| subject.systems).all(|key| systems::find(key).is_some()));
        assert_eq!(measures().map(|measure| measure.name).collect::<BTreeSet<_>>().len(), measures().count());
    }
}
