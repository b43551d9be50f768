//! Consequences of failures, and of recovery.
//!
//! The outages of nodes and links are known from the topology, from the first submission to the end of the last task;
//! the consequences for tasks and data are in the log. Work is node seconds. The work of nodes is useful (it became
//! results), spent on checkpoints, or lost; running work is none of these.

mod account;
mod figures;
mod records;
mod section;
mod tally;
#[cfg(test)]
mod tests;

use self::account::FailureAccount;
pub use self::figures::{FailingLink, FailingLinks, FailingSite, Failures};
use self::figures::{METRICS, cards, lines};
use self::tally::FailureTally;
use super::{EVERY, PLAIN, Subject, SubjectReport};
use crate::markup::Html;
use crate::present::page::Page;
use crate::results::account::Account;
use crate::{SummaryPart, Tally};

pub const SUBJECT: Subject = Subject {
    systems: &EVERY,
    part: Failures::NAME,
    section: ("failures", "Failures"),
    open: |topology, _| if topology.failures.is_empty() { None } else { Some(Box::new(FailingSubject)) },
    cards,
    lines,
    metrics: METRICS,
    records: Some(records::RECORDS),
    tally: Some(|topology, _| Box::new(FailureTally::new(topology))),
    ..PLAIN
};

#[derive(Debug)]
struct FailingSubject;

impl SubjectReport for FailingSubject {
    fn open_account<'a>(&'a self, tally: &'a Tally, _: bool) -> Box<dyn Account + 'a> {
        Box::new(FailureAccount::new(tally))
    }

    fn page_section(&self, page: &Page<'_>) -> Html {
        section::failures_section(page)
    }
}
