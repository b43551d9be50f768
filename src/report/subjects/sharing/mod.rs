//! Effects of shared nodes on jobs, by site, compared with sites whose jobs wait for whole nodes: `sharing.csv`.
//!
//! The measures are those of section 5 of the DFRS paper (`systems/dfrs`). Moved memory counts completely when a job is
//! paused, and as far as it goes to other nodes when it is moved. Rates are for the time from a site's first submission
//! to its last end.

mod account;
mod fared;
mod figures;
mod records;
mod section;
mod tally;

use self::account::Accounting;
pub use self::account::SHARING;
use self::figures::{METRICS, cards, lines};
pub use self::figures::{Sharing, SiteShared};
use self::tally::SharingTally;
use super::{PLAIN, Subject, SubjectReport};
use crate::markup::Html;
use crate::present::page::Page;
use crate::results::account::Account;
use crate::{SummaryPart, Tally};
use hansa_sim::systems::managers;
use hansa_sim::topology::Topology;

pub const SUBJECT: Subject = Subject {
    systems: &["batch"],
    part: Sharing::NAME,
    shows_waiting: true,
    section: ("sharing", "Shared nodes"),
    open: SharingSites::of,
    cards,
    lines,
    metrics: METRICS,
    records: Some(records::RECORDS),
    tally: Some(|_, _| Box::new(SharingTally)),
    ..PLAIN
};

/// Facts from the topology.
#[derive(Debug)]
struct SharingSites {
    systems: Vec<u32>,
    /// Scheduler and memory of each site.
    schedulers: Vec<String>,
    memory_kb: Vec<u64>,
}

impl SharingSites {
    fn of(topology: &Topology, systems: Vec<u32>) -> Option<Box<dyn SubjectReport>> {
        topology.sites.iter().find(|site| managers::shares_nodes(&site.scheduler))?;
        Some(Box::new(SharingSites {
            systems,
            schedulers: topology.sites.iter().map(|site| site.scheduler.clone()).collect(),
            memory_kb: topology.sites.iter().map(|site| site.memory_kb).collect(),
        }))
    }
}

impl SubjectReport for SharingSites {
    fn open_account<'a>(&'a self, tally: &'a Tally, tables: bool) -> Box<dyn Account + 'a> {
        Box::new(Accounting::new(tally, self, tables))
    }

    fn page_section(&self, page: &Page<'_>) -> Html {
        section::sharing_section(self, page)
    }
}
