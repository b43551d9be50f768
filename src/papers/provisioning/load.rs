//! Jobs of a site's own users: from a model or a log, raised to the requested load.

use std::sync::Arc;

use super::settings::{Loads, Ratios, Settings};
use hansa_sim::math;
use hansa_sim::random::{SplitMix64, mix_bits};
use hansa_sim::roles::queue::Rigid;
use hansa_sim::time::{Span, Time};
use hansa_sim::workload::lublin::{Lublin, Sizes, Stream, Times, Types};
use hansa_sim::workload::packed::Packed;
pub use hansa_sim::workload::raise::log_utilisation;
use hansa_sim::workload::raise::raise_load;

/// A site of the thesis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Site {
    Ctc,
    Sdsc,
}

impl Site {
    pub const ALL: [Site; 2] = [Site::Ctc, Site::Sdsc];

    pub fn name(self) -> &'static str {
        match self {
            Site::Ctc => "CTC",
            Site::Sdsc => "SDSC",
        }
    }

    pub fn procs(self) -> u32 {
        match self {
            Site::Ctc => 430,
            Site::Sdsc => 128,
        }
    }

    /// Mean width of tasks.
    pub fn task_procs(self) -> u32 {
        match self {
            Site::Ctc => 22,
            Site::Sdsc => 6,
        }
    }

    /// Utilisations for plans, the default first; in thousandths.
    pub fn plan_loads(self) -> &'static [u32] {
        match self {
            Site::Ctc => &[630, 760, 880],
            Site::Sdsc => &[700, 780, 840, 900],
        }
    }

    /// True if this is the load of a site whose jobs are neither copied nor left out, in thousandths.
    pub(super) fn is_least(self, load: u32) -> bool {
        [self.plan_loads()[0], self.priced_loads()[0]].contains(&load)
    }

    /// Utilisations for prices: unchanged, and with 20 and 40 % more jobs; in thousandths.
    pub fn priced_loads(self) -> [u32; 3] {
        match self {
            Site::Ctc => [587, 684, 788],
            Site::Sdsc => [634, 778, 874],
        }
    }
}

/// Relation of requested times to run times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Estimates {
    Exact,
    Inexact,
}

/// Logs of the sites; None for jobs of the model.
#[derive(Clone, Debug, Default)]
pub struct Logs {
    pub ctc: Option<Arc<[Rigid]>>,
    pub sdsc: Option<Arc<[Rigid]>>,
}

impl Logs {
    /// True if sites have the jobs of logs.
    pub fn are_given(&self) -> bool {
        self.ctc.is_some()
    }

    fn of(&self, site: Site) -> Option<&Arc<[Rigid]>> {
        match site {
            Site::Ctc => self.ctc.as_ref(),
            Site::Sdsc => self.sdsc.as_ref(),
        }
    }

    /// Days of the log of a site. None without a log.
    pub(super) fn days(&self, site: Site) -> Option<u64> {
        let last = self.of(site)?.last()?.submit;
        Some(last.since(Time::ZERO).micros() / Span::from_minutes(24 * 60).micros())
    }

    /// Jobs for this many days at a utilisation, in thousandths. At the least load of a figure a log may be unmodified.
    pub fn background_jobs(
        &self,
        settings: &Settings,
        (site, load): (Site, u32),
        days: u64,
        estimates: Estimates,
        seed: u64,
    ) -> Arc<[Rigid]> {
        let target = f64::from(load) / 1_000.0;
        let Some(log) = self.of(site) else {
            let ratios = (estimates == Estimates::Inexact).then_some(settings.ratios);
            return Demand { procs: site.procs(), load: target, long: None }.jobs(days, ratios, seed);
        };
        let end = Time::ZERO + Span::from_minutes(days * 24 * 60);
        let jobs = if settings.loads == Loads::Unmodified && site.is_least(load) {
            log.iter().filter(|job| job.submit < end).copied().collect()
        } else {
            raise_load(log, site.procs().into(), target, end, seed)
        };
        jobs.into_iter()
            .map(|job| match estimates {
                Estimates::Exact => Rigid { walltime: job.runtime.min(job.walltime), ..job },
                Estimates::Inexact => job,
            })
            .collect()
    }
}

/// Parameters of a model's jobs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    pub procs: u32,
    /// Fraction of the processors that the jobs keep busy.
    pub load: f64,
    /// Typical run time of long jobs; None for the model's own, 3 hours.
    pub long: Option<Span>,
}

impl Demand {
    /// Jobs for this many days, which request their run times exactly or in these ratios.
    pub fn jobs(&self, days: u64, ratios: Option<Ratios>, seed: u64) -> Arc<[Rigid]> {
        let jobs = self.model_jobs(days, seed).into_iter().enumerate().map(|(number, job)| match ratios {
            None => job,
            Some(ratios) => {
                let mut stream = SplitMix64::new(mix_bits(seed ^ number as u64));
                Rigid { walltime: ratios.request(job.runtime, &mut stream), ..job }
            }
        });
        jobs.collect()
    }
}

/// Jobs of a log that could run at a site, shifted to its first day. Jobs that exceed their requested time are killed.
pub fn jobs_of(log: &Packed, site: Site) -> Arc<[Rigid]> {
    let first = log.get(0).map_or(Time::ZERO, |job| job.submit);
    log.iter()
        .filter_map(|job| {
            let nodes = job.allocated.or(job.requested)?;
            let runtime = job.runtime?;
            let walltime = job.requested_time.filter(|asked| !asked.is_zero()).unwrap_or(runtime);
            let fits = (1..=site.procs()).contains(&nodes) && !runtime.is_zero();
            let submit = Time::ZERO + job.submit.since(first);
            fits.then_some(Rigid { submit, nodes, walltime, runtime: runtime.min(walltime) })
        })
        .collect()
}

/// Shape of the model's distribution of the logarithms of long run times.
const LONG_SHAPE: f64 = 312.0;

impl Demand {
    /// Jobs of the model, all of one kind, with their gaps divided so that the load is the requested one.
    fn model_jobs(&self, days: u64, seed: u64) -> Vec<Rigid> {
        let Demand { procs, load: target, long } = *self;
        let long = long.map(|long| (LONG_SHAPE, math::ln(long.micros() as f64 / 1e6) / LONG_SHAPE));
        let span = Span::from_minutes(days * 24 * 60);
        let mut count = 2_000;
        loop {
            let model = Lublin {
                seed,
                jobs: count,
                nodes: procs,
                types: Types::One,
                stream: Stream::Own,
                sizes: Sizes::default(),
                times: Times { long, ..Times::default() },
                rate_millionths: 1_000_000,
            };
            let jobs: Vec<Rigid> = model
                .generate()
                .iter()
                .filter_map(|job| {
                    let nodes = job.allocated.or(job.requested)?;
                    let runtime = job.runtime?;
                    let fits = (1..=procs).contains(&nodes) && !runtime.is_zero();
                    fits.then_some(Rigid { submit: job.submit, nodes, walltime: runtime, runtime })
                })
                .collect();
            // Load depends only on the arrival rate, and is proportional to it.
            let factor = target / log_utilisation(&jobs, procs.into());
            if scaled_time(jobs.last().map_or(Time::ZERO, |job| job.submit), factor) >= Time::ZERO + span {
                let scaled = jobs.into_iter().map(|job| Rigid { submit: scaled_time(job.submit, factor), ..job });
                return scaled.filter(|job| job.submit < Time::ZERO + span).collect();
            }
            count *= 2;
        }
    }
}

fn scaled_time(time: Time, factor: f64) -> Time {
    Time::from_micros((time.micros() as f64 / factor) as u64)
}
