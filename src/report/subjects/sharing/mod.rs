//! Effects of shared nodes on jobs, by site, compared with sites whose jobs wait for whole nodes: `sharing.csv`.
//!
//! The measures are those of section 5 of the DFRS paper (`systems/dfrs`). Moved memory counts completely when a job is
//! paused, and as far as it goes to other nodes when it is moved. Rates are for the time from a site's first submission
//! to its last end.

mod account;
mod fared;
mod records;
mod section;
mod tally;

use serde::{Deserialize, Serialize};

use self::account::Accounting;
pub use self::account::SHARING;
use self::tally::SharingTally;
use super::{PLAIN, Subject, SubjectReport};
use crate::SummaryPart;
use crate::markup::Html;
use crate::present::page::Page;
use crate::results::account::Account;
use crate::results::metric::{Better, Family, Metric, Unit};
use crate::{Summary, Tally};
use hansa_sim::settings::counted;
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
    metrics: &[
        Metric::new(
            "max_stretch",
            "the largest bounded stretch of a job, where some site's jobs share nodes",
            Family::Fairness,
            Unit::Ratio,
            Better::Less,
            |summary| summary.part::<Sharing>()?.over(|site| site.max_stretch, f64::max),
        ),
        Metric::new(
            "preemptions",
            "number of times that jobs that share nodes were paused",
            Family::Costs,
            Unit::Count,
            Better::Less,
            |summary| summary.part::<Sharing>()?.over(|site| Some(site.preemptions as f64), |a, b| a + b),
        ),
        Metric::new(
            "migrations",
            "number of times that jobs that share nodes were moved",
            Family::Costs,
            Unit::Count,
            Better::Less,
            |summary| summary.part::<Sharing>()?.over(|site| Some(site.migrations as f64), |a, b| a + b),
        ),
        Metric::new(
            "moved_gb",
            "memory of jobs that share nodes that was put aside by pauses or moved, in GB",
            Family::Costs,
            Unit::Gigabytes,
            Better::Less,
            |summary| summary.part::<Sharing>()?.over(|site| Some(site.paused_gb + site.migrated_gb), |a, b| a + b),
        ),
    ],
    records: Some(records::RECORDS),
    tally: Some(|_, _| Box::new(SharingTally)),
    ..PLAIN
};

/// The part of a summary: all sites with rigid jobs, if some share their nodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sharing {
    pub sites: Vec<SiteShared>,
}

/// Results of ended jobs; pauses and moves count for all jobs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SiteShared {
    pub name: String,
    pub scheduler: String,
    /// True if its jobs share its nodes.
    pub shared: bool,
    pub jobs: u64,
    pub mean_stretch: Option<f64>,
    pub max_stretch: Option<f64>,
    /// Bounds of the largest stretch that no schedule of these jobs can avoid: above the first, and at most the second.
    /// Not computed for very many jobs.
    pub bound: Option<(f64, f64)>,
    /// The largest stretch divided by that bound.
    pub degradation: Option<f64>,
    /// Additional work that nodes could have done for present jobs, as a share of their work.
    pub underutilisation: Option<f64>,
    pub preemptions: u64,
    pub migrations: u64,
    pub preemptions_per_hour: Option<f64>,
    pub migrations_per_hour: Option<f64>,
    pub preemptions_per_job: Option<f64>,
    pub migrations_per_job: Option<f64>,
    /// Memory of paused and of moved jobs, in GB; and per second.
    pub paused_gb: f64,
    pub migrated_gb: f64,
    pub paused_gb_per_second: Option<f64>,
    pub migrated_gb_per_second: Option<f64>,
}

impl SummaryPart for Sharing {
    const NAME: &'static str = "sharing";
}

impl Sharing {
    fn over(&self, what: fn(&SiteShared) -> Option<f64>, fold: fn(f64, f64) -> f64) -> Option<f64> {
        self.sites.iter().filter_map(what).reduce(fold)
    }
}

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
    fn account<'a>(&'a self, tally: &'a Tally, tables: bool) -> Box<dyn Account + 'a> {
        Box::new(Accounting::new(tally, self, tables))
    }

    fn section(&self, page: &Page<'_>) -> Html {
        section::sharing(self, page)
    }
}

fn cards(summary: &Summary) -> Vec<(&'static str, String, String)> {
    let Some(sharing) = summary.part::<Sharing>() else { return Vec::new() };
    let shared = sharing.sites.iter().filter(|site| site.shared && site.jobs > 0);
    shared
        .take(3)
        .filter_map(|site| {
            let (mean, max) = site.mean_stretch.zip(site.max_stretch)?;
            let words = format!(
                "at {}, mean {mean:.2}; {}, {}",
                site.name,
                counted(site.preemptions, "pause"),
                counted(site.migrations, "move")
            );
            Some(("Largest stretch", format!("{max:.2}"), words))
        })
        .collect()
}

fn lines(summary: &Summary) -> Vec<(&'static str, String)> {
    /// Pauses and moves of each job from which on they are worth a remark.
    const MANY: f64 = 20.0;
    let Some(sharing) = summary.part::<Sharing>() else { return Vec::new() };
    let line = |site: &SiteShared| {
        let (mean, max) = site.mean_stretch.zip(site.max_stretch)?;
        let bound = match site.bound {
            Some((_, bound)) => format!(" (bound {bound:.2})"),
            None => " (bound not sought: too many jobs, or too many at once)".to_owned(),
        };
        let missed = site.underutilisation.map_or(String::new(), |missed| format!("; underutilisation {missed:.3}"));
        let moves = match site.shared {
            true => format!("; {}, {}", counted(site.preemptions, "preemption"), counted(site.migrations, "migration")),
            false => String::new(),
        };
        Some(("stretch", format!("{}: mean {mean:.2}, at most {max:.2}{bound}{missed}{moves}", site.name)))
    };
    let swaps = |site: &SiteShared| {
        let each = site.preemptions_per_job.unwrap_or_default() + site.migrations_per_job.unwrap_or_default();
        let text = format!(
            "{}: {each:.0} pauses and moves a job; longer periods or grace (`/period=`, `/minvt=`) have fewer, where the algorithm has them",
            site.name
        );
        (site.shared && each >= MANY).then_some(("stretch", text))
    };
    sharing.sites.iter().filter_map(line).chain(sharing.sites.iter().filter_map(swaps)).collect()
}
