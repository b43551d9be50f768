//! The numbers of shared nodes: the part of a summary, and its metrics, cards and lines.

use serde::{Deserialize, Serialize};

use crate::results::metric::{Better, Family, Metric, Unit};
use crate::{Summary, SummaryPart};
use hansa_sim::settings::format_counted;

pub const METRICS: &[Metric] = &[
    Metric::new(
        "max_stretch",
        "the largest bounded stretch of a job, where some site's jobs share nodes",
        Family::Fairness,
        Unit::Ratio,
        Better::Less,
        |summary| summary.read_part::<Sharing>()?.fold_sites(|site| site.max_stretch, f64::max),
    ),
    Metric::new(
        "preemptions",
        "number of times that jobs that share nodes were paused",
        Family::Costs,
        Unit::Count,
        Better::Less,
        |summary| summary.read_part::<Sharing>()?.fold_sites(|site| Some(site.preemptions as f64), |a, b| a + b),
    ),
    Metric::new(
        "migrations",
        "number of times that jobs that share nodes were moved",
        Family::Costs,
        Unit::Count,
        Better::Less,
        |summary| summary.read_part::<Sharing>()?.fold_sites(|site| Some(site.migrations as f64), |a, b| a + b),
    ),
    Metric::new(
        "moved_gb",
        "memory of jobs that share nodes that was put aside by pauses or moved, in GB",
        Family::Costs,
        Unit::Gigabytes,
        Better::Less,
        |summary| {
            summary.read_part::<Sharing>()?.fold_sites(|site| Some(site.paused_gb + site.migrated_gb), |a, b| a + b)
        },
    ),
];

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
    pub fn fold_sites(&self, what: fn(&SiteShared) -> Option<f64>, fold: fn(f64, f64) -> f64) -> Option<f64> {
        self.sites.iter().filter_map(what).reduce(fold)
    }
}

pub fn cards(summary: &Summary) -> Vec<(&'static str, String, String)> {
    let Some(sharing) = summary.read_part::<Sharing>() else { return Vec::new() };
    let shared = sharing.sites.iter().filter(|site| site.shared && site.jobs > 0);
    shared
        .take(3)
        .filter_map(|site| {
            let (mean, max) = site.mean_stretch.zip(site.max_stretch)?;
            let words = format!(
                "at {}, mean {mean:.2}; {}, {}",
                site.name,
                format_counted(site.preemptions, "pause"),
                format_counted(site.migrations, "move")
            );
            Some(("Largest stretch", format!("{max:.2}"), words))
        })
        .collect()
}

pub fn lines(summary: &Summary) -> Vec<(&'static str, String)> {
    /// Pauses and moves of each job from which on they are worth a remark.
    const MANY: f64 = 20.0;
    let Some(sharing) = summary.read_part::<Sharing>() else { return Vec::new() };
    sharing.sites.iter().filter_map(site_line).chain(sharing.sites.iter().filter_map(|site| {
        let each = site.preemptions_per_job.unwrap_or_default() + site.migrations_per_job.unwrap_or_default();
        let text = format!(
            "{}: {each:.0} pauses and moves a job; longer periods or grace (`/period=`, `/minvt=`) have fewer, where the algorithm has them",
            site.name
        );
        (site.shared && each >= MANY).then_some(("stretch", text))
    })).collect()
}

fn site_line(site: &SiteShared) -> Option<(&'static str, String)> {
    let (mean, max) = site.mean_stretch.zip(site.max_stretch)?;
    let bound = match site.bound {
        Some((_, bound)) => format!(" (bound {bound:.2})"),
        None => " (bound not sought: too many jobs, or too many at once)".to_owned(),
    };
    let missed = site.underutilisation.map_or(String::new(), |missed| format!("; underutilisation {missed:.3}"));
    let moves = match site.shared {
        true => format!(
            "; {}, {}",
            format_counted(site.preemptions, "preemption"),
            format_counted(site.migrations, "migration")
        ),
        false => String::new(),
    };
    Some(("stretch", format!("{}: mean {mean:.2}, at most {max:.2}{bound}{missed}{moves}", site.name)))
}
