//! The subjects of a run: one row in [`ALL`] per subject, with everything that reports derive from it alone.
//!
//! A subject belongs to one or several systems, and is present where one of them is. Its account looks at every job
//! once and produces tables and a part of the summary. Cards, lines and measures come from that part, and its section
//! of the page from the tally. Jobs, tasks, sites and values of jobs belong to no subject: every run has them.

pub(crate) mod auctions;
pub mod bargains;
mod failures;
mod offers;
pub mod plan;
mod queues;
pub mod requests;
pub mod sharing;
mod side_by_side;

use std::fmt;

use crate::markup::Html;
use crate::present::page::Page;
use crate::referee::record_table::RecordTable;
use crate::referee::tally::{JobBook, SubjectTally};
use crate::results::account::Account;
use crate::results::metric::Metric;
use crate::results::summary::{Counts, is_zero};
use crate::{Summary, Tally};
use hansa_sim::systems;
use hansa_sim::topology::Topology;

pub use offers::Offers;
pub use queues::Schedule;
pub use requests::Reservations;
pub use side_by_side::Systems;

#[cfg(test)]
pub(super) use requests::tests as requesting;

/// The subjects, in the order of reports.
pub(super) const ALL: &[Subject] = &[
    side_by_side::SUBJECT,
    auctions::SUBJECT,
    offers::SUBJECT,
    requests::SUBJECT,
    queues::SUBJECT,
    sharing::SUBJECT,
    bargains::SUBJECT,
    failures::SUBJECT,
];

/// The keys of all systems, for subjects that belong to all.
const EVERY: [&str; systems::ALL.len()] = {
    let mut keys = [""; systems::ALL.len()];
    let mut at = 0;
    while at < keys.len() {
        keys[at] = systems::ALL[at].key;
        at += 1;
    }
    keys
};

/// The interface of a subject to the rest of a report.
#[derive(Debug)]
pub(super) struct Subject {
    /// Keys of the systems that the subject covers.
    pub systems: &'static [&'static str],
    /// Name of its part of a summary.
    pub part: &'static str,
    /// True if its jobs have one task each, which waits for nodes. SLR is then a mere slowdown, of which there are
    /// better ones.
    pub one_task: bool,
    /// True if its section shows the waiting work over time, so that no other has to.
    pub shows_waiting: bool,
    /// Words for its jobs; None for [`USUAL`].
    pub words: Option<Words>,
    /// Its section of the page: the name in links, and the title.
    pub section: (&'static str, &'static str),
    /// Builds its report before the run, given its systems in the topology; `None` if there is nothing of its own.
    pub open: OpenReport,
    /// Cards of the page: label, number and explanation.
    pub cards: fn(&Summary) -> Vec<(&'static str, String, String)>,
    /// Lines of the terminal: a label (empty if it belongs to the line above) and text.
    pub lines: fn(&Summary) -> Vec<(&'static str, String)>,
    /// The numbers that an experiment may keep.
    pub metrics: &'static [Metric],
    /// Its records, if it has any.
    pub records: Option<RecordTable>,
    /// Begins its state beside the book of jobs, which takes its records.
    pub tally: Option<OpenTally>,
}

/// A subject without anything of its own.
const PLAIN: Subject = Subject {
    systems: &[],
    part: "",
    one_task: false,
    shows_waiting: false,
    words: None,
    section: ("", ""),
    open: |_, _| None,
    cards: |_| Vec::new(),
    lines: |_| Vec::new(),
    metrics: &[],
    records: None,
    tally: None,
};

type OpenTally = fn(&Topology, &JobBook) -> Box<dyn SubjectTally>;

type OpenReport = fn(&Topology, Vec<u32>) -> Option<Box<dyn SubjectReport>>;

/// A subject of a run.
pub(super) trait SubjectReport: fmt::Debug + Send + Sync {
    fn open_account<'a>(&'a self, tally: &'a Tally, tables: bool) -> Box<dyn Account + 'a>;

    /// The section's text; empty if there is none.
    fn page_section(&self, page: &Page<'_>) -> Html;

    /// Strategy of a user, by its number. None if users of this subject have none.
    fn user_strategy(&self, _user: usize) -> Option<&str> {
        None
    }
}

/// The metrics of all subjects.
pub fn metrics() -> impl Iterator<Item = &'static Metric> + Clone {
    ALL.iter().flat_map(|subject| subject.metrics)
}

/// Words by which reports describe the jobs of a subject.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words {
    /// State of a removed job.
    pub removed: &'static str,
    /// Begin of a job's wait: as the header of a column, and in a sentence.
    pub wanted: (&'static str, &'static str),
    /// Sentence for the page: when a job counts as waiting.
    pub waiting: &'static str,
}

pub(super) const USUAL: Words = Words {
    removed: "given up",
    wanted: ("Submitted", "submission"),
    waiting: "A task waits from when its job is submitted and its predecessors are done until it starts or \
              its job is given up; time during which a result is in transit counts as waiting, too.",
};

impl Summary {
    /// The subjects that have a part in it.
    pub(crate) fn present_subjects(&self) -> impl Iterator<Item = &'static Subject> {
        ALL.iter().filter(|subject| self.parts.contains_key(subject.part))
    }

    /// True if each job is a single task that keeps its nodes: SLR is then a mere slowdown, of which there are better
    /// ones.
    pub(crate) fn has_only_single_tasks(&self) -> bool {
        !self.mixed && self.present_subjects().any(|subject| subject.one_task)
    }

    /// Numbers of its jobs or tasks that did not finish, with the words for people.
    pub(crate) fn unfinished_counts(&self, counts: Counts) -> impl Iterator<Item = (u64, &'static str)> + use<> {
        let words = self.present_subjects().find_map(|subject| subject.words).filter(|_| !self.mixed);
        let removed = words.unwrap_or(USUAL).removed;
        let others = [
            (counts.killed, "killed at the walltime"),
            (counts.preempted, "preempted"),
            (counts.removed, removed),
            (counts.refused, "refused"),
            (counts.unfinished, "unfinished"),
        ];
        others.into_iter().filter(|(count, _)| *count > 0)
    }
}

/// A subject present in a run, with its systems there.
#[derive(Debug)]
pub(super) struct ActiveSubject {
    pub subject: &'static Subject,
    pub systems: Vec<u32>,
    pub report: Box<dyn SubjectReport>,
}

/// The subjects of a topology.
pub(super) fn of(topology: &Topology) -> Vec<ActiveSubject> {
    ALL.iter()
        .filter_map(|subject| {
            let keys = (0..).zip(topology.systems.iter().map(|system| system.system_row().key));
            let systems: Vec<u32> =
                keys.filter(|(_, key)| subject.systems.contains(key)).map(|(system, _)| system).collect();
            let report = if systems.is_empty() { None } else { (subject.open)(topology, systems.clone()) };
            report.map(|report| ActiveSubject { subject, report, systems })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use hansa_sim::systems;

    #[test]
    fn every_row_is_about_systems_that_there_are_and_has_names_of_its_own() {
        let of = |what: fn(&Subject) -> &'static str| ALL.iter().map(what).collect::<BTreeSet<_>>().len();
        assert_eq!((of(|subject| subject.part), of(|subject| subject.section.0)), (ALL.len(), ALL.len()));
        assert!(ALL.iter().flat_map(|subject| subject.systems).all(|key| systems::find_system(key).is_some()));
        assert_eq!(metrics().map(|metric| metric.name).collect::<BTreeSet<_>>().len(), metrics().count());
    }
}
