//! Some of a site's jobs book their start at a price, the others queue: figures 23 to 31.

use std::sync::Arc;

use super::load::{Estimates, Site};
use super::settings::{Reserved, Settings};
use super::slots::span_hours;
use super::{Context, Rows, SEED, WARM, build_trial, mean_of};
use hansa_sim::random::{SplitMix64, mix_bits};
use hansa_sim::roles::queue::Rigid;
use hansa_sim::systems::provisioning::application::choose_offer;
use hansa_sim::systems::provisioning::desk::{PlanningMode, WantedStarts};
use hansa_sim::time::{Span, Time};

/// Planner of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planner {
    /// The planner of all figures but 29.
    Usual,
    /// EASY, in figure 29.
    Easy,
    /// Conservative backfilling over counts, in figure 29.
    Conservative,
}

impl Planner {
    /// Name of the planner, also in the lines of figure 29.
    pub(super) fn name(self, settings: &Settings) -> &'static str {
        match self {
            Planner::Usual => settings.backfilling.planner(),
            Planner::Easy => "easy-count",
            Planner::Conservative => "conservative-count",
        }
    }
}

/// Parameters of one history.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    pub site: Site,
    /// Index into the site's three loads.
    pub load: usize,
    /// Percentage of the jobs that reserve.
    pub share: u32,
    /// Weight of cost of these jobs; if None, each job draws its own.
    pub alpha: Option<f64>,
    pub planner: Planner,
    pub estimates: Estimates,
}

pub(super) const ALPHAS: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];
pub(super) const SHARES: [u32; 7] = [10, 20, 40, 60, 80, 90, 100];

/// All histories, each once: several figures may show it.
pub fn price_settings() -> Vec<Setting> {
    let mut all: Vec<Setting> = Vec::new();
    for site in Site::ALL {
        let usual = Setting {
            site,
            load: 0,
            share: 10,
            alpha: Some(0.0),
            planner: Planner::Usual,
            estimates: Estimates::Exact,
        };
        let by_load = (0..3).flat_map(|load| ALPHAS.map(|alpha| Setting { load, alpha: Some(alpha), ..usual }));
        let by_share = SHARES.map(|share| Setting { share, ..usual });
        let half = ALPHAS.map(|alpha| Setting { share: 50, alpha: Some(alpha), ..usual });
        let planners = [Planner::Easy, Planner::Conservative];
        let by_planner = planners
            .into_iter()
            .flat_map(|planner| (0..3).map(move |load| Setting { load, alpha: None, planner, ..usual }));
        let inexact = ALPHAS.map(|alpha| Setting { alpha: Some(alpha), estimates: Estimates::Inexact, ..usual });
        for setting in by_load.chain(by_share).chain(half).chain(by_planner).chain(inexact) {
            if !all.contains(&setting) {
                all.push(setting);
            }
        }
    }
    all
}

/// Means of a history, over the jobs that came after the site had filled.
#[derive(Clone, Copy, Debug, PartialEq)]
struct History {
    /// Mean fee of a reservation, in processor-hours.
    fee: Option<f64>,
    /// Mean wait of reserved jobs, in hours.
    reserved_wait: Option<f64>,
    queued_wait: Option<f64>,
}

pub fn run_histories(context: &Context<'_>, setting: Setting, rows: &mut Rows) {
    (0..context.extent.histories).for_each(|number| run_one(context, setting, number, rows));
}

fn run_one(context: &Context<'_>, setting: Setting, number: u32, rows: &mut Rows) {
    let Setting { site, load, share, alpha, planner, estimates } = setting;
    let History { fee, reserved_wait, queued_wait } = run_history(context, &setting, number);
    let name = site.name();
    let percent = f64::from(site.priced_loads()[load]) / 10.0;
    let mut put = |figure: &'static str, line: String, at: f64, value: Option<f64>| {
        if let Some(value) = value {
            rows.put_point(figure, line, at, value);
        }
    };
    let is_exact = estimates == Estimates::Exact;
    match alpha {
        None => put("29", format!("{name} {}", planner.name(context.settings)), percent, fee),
        Some(alpha) => {
            if share == 10 && load == 0 {
                put("23", exactness_line("fee", is_exact, name), alpha, fee.filter(|_| is_exact));
                put("24", exactness_line("reserved", is_exact, name), alpha, reserved_wait.filter(|_| is_exact));
                put("24", exactness_line("queued", is_exact, name), alpha, queued_wait.filter(|_| is_exact));
                put("30", exactness_line("fee", is_exact, name), alpha, fee);
                put("31", exactness_line("reserved", is_exact, name), alpha, reserved_wait);
                put("31", exactness_line("queued", is_exact, name), alpha, queued_wait);
            }
            if share == 10 && is_exact {
                put("25", format!("{name} alpha {alpha}"), percent, fee);
                for (way, wait) in [("reserved", reserved_wait), ("queued", queued_wait)] {
                    put("26", format!("{name} alpha {alpha} {way}"), percent, wait);
                }
            }
            if alpha == 0.0 && load == 0 && is_exact && share != 50 {
                put("27 fee", name.to_owned(), f64::from(share), fee);
                put("27 wait", name.to_owned(), f64::from(share), reserved_wait);
            }
            if share == 50 {
                put("28", format!("{name} reserved"), alpha, reserved_wait);
                put("28", format!("{name} queued"), alpha, queued_wait);
            }
        }
    }
}

fn exactness_line(what: &str, is_exact: bool, name: &str) -> String {
    if is_exact { format!("{name} {what}") } else { format!("{name} {what}, inexact") }
}

impl Setting {
    /// The jobs of the site in the history of this number, and the seed of that history.
    pub(super) fn jobs(&self, context: &Context<'_>, number: u32) -> (Arc<[Rigid]>, u64) {
        let seed = SEED ^ mix_bits(u64::from(number));
        let load = self.site.priced_loads()[self.load];
        (context.background((self.site, load), WARM + context.extent.days, self.estimates, seed), seed)
    }
}

/// Jobs with true for those that reserve, and their own weights of cost. Jobs that reserve at a small share do so at a
/// larger one too, and with the same weight.
pub(super) fn split_jobs(jobs: &[Rigid], setting: &Setting, seed: u64) -> Vec<(Rigid, bool, f64)> {
    let mut draw = SplitMix64::new(seed ^ 0x23);
    jobs.iter().map(|job| (*job, draw.unit() * 100.0 < f64::from(setting.share), draw.unit())).collect()
}

fn run_history(context: &Context<'_>, setting: &Setting, number: u32) -> History {
    let Setting { site, alpha, planner, .. } = *setting;
    let days = WARM + context.extent.days;
    let (jobs, seed) = setting.jobs(context, number);
    let chosen = split_jobs(&jobs, setting, seed);
    let queue: Vec<Rigid> = chosen.iter().filter(|chosen| !chosen.1).map(|chosen| chosen.0).collect();
    let submits: Vec<Time> = queue.iter().map(|job| job.submit).collect();

    let mut trial = build_trial(site, PlanningMode::Rebuild, planner.name(context.settings), queue.into());
    let warm = Time::ZERO + Span::from_minutes(WARM * 24 * 60);
    let mut fees = Vec::new();
    let mut waits = Vec::new();
    for (job, _, weight) in chosen.iter().filter(|chosen| chosen.1) {
        let now = job.submit;
        trial.advance(now);
        let lasts = match context.settings.reserved {
            Reserved::RunTime => job.runtime,
            Reserved::Request => job.walltime,
        };
        let quote = trial.desk.price(now, job.nodes, lasts, WantedStarts::Any).expect("it fits the site");
        let offer = choose_offer(alpha.unwrap_or(*weight), &quote.offers).expect("some start is always admissible");
        trial.desk.book(now, quote.id, offer.start).expect("what has just been quoted is there");
        trial.end_instant();
        if now >= warm {
            fees.push(offer.fee.seconds() / 3_600.0);
            waits.push(span_hours(offer.start - now));
        }
    }
    let end = Time::ZERO + Span::from_minutes(days * 24 * 60);
    trial.advance(end.max(trial.now()));
    // Jobs that still wait would lower the mean if they were left out, so the run continues until all have started.
    while trial.desk.jobs().0 > 0
        && let Some(due) = trial.due()
    {
        trial.advance(due);
    }
    let starts = trial.starts.iter().map(|(job, start)| (submits[*job as usize], *start));
    let queued: Vec<f64> =
        starts.filter(|(submit, _)| *submit >= warm).map(|(submit, start)| span_hours(start - submit)).collect();
    History { fee: mean_of(&fees), reserved_wait: mean_of(&waits), queued_wait: mean_of(&queued) }
}
