//! Advertised slots of a site, moment after moment: figures 4 to 8.

use super::load::{Estimates, Site};
use super::settings::SlotsOf;
use super::{Context, Rows, WARM, build_trial, mean_of, sample_correlation, standard_deviation};
use hansa_sim::grid::{Advert, Slot};
use hansa_sim::systems::provisioning::desk::PlanningMode;
use hansa_sim::time::{Span, Time};

/// Interval between observations.
const EVERY: Span = Span::from_minutes(3 * 60);
/// Longest window in days with observations at this interval. In longer ones they are an hour more than a day apart, so
/// that all hours of a day occur.
const DAYS_CLOSE: u64 = 90;
const EVERY_SPARSE: Span = Span::from_minutes(25 * 60);
/// Widest slots that are counted: the peak at 64 shows.
const PROCS_SHOWN: u32 = 65;
/// One slot of this many is a point of figures 6 and 8; all count in their numbers.
const EVERY_SHOWN: usize = 7;

struct Look {
    now: Time,
    jobs: usize,
    /// True if a slot without end lasts beyond 48 hours from now, as it begins when all planned jobs have ended.
    is_far: bool,
    advert: Advert,
}

pub fn run_slots(context: &Context<'_>, site: Site, rows: &mut Rows) {
    let exact = collect_looks(context, site, Estimates::Exact);
    let inexact = collect_looks(context, site, Estimates::Inexact);
    let name = site.name();

    let counts: Vec<f64> = exact.iter().map(|look| look.advert.slots.len() as f64).collect();
    for (look, count) in exact.iter().zip(&counts) {
        rows.put_point("4", name, *count, 1.0);
        rows.put_point("5", name, look.jobs as f64, *count);
    }
    let jobs: Vec<f64> = exact.iter().map(|look| look.jobs as f64).collect();
    rows.put_point("4 mean", name, 0.0, mean_of(&counts).unwrap_or_default());
    rows.put_point("5 correlation", name, 0.0, sample_correlation(&jobs, &counts));

    let mut starts = Vec::new();
    let mut durations = Vec::new();
    for look in &exact {
        for slot in &look.advert.slots {
            starts.push(span_hours(slot.start.since(look.now)));
            durations.push(span_hours(slot.span));
            rows.put_point("6 without end", name, 0.0, f64::from(u32::from(slot.extensible)));
            if slot.extensible && !look.is_far {
                rows.put_point("6 horizon", name, 0.0, span_hours(slot.start.since(look.now)) + span_hours(slot.span));
            }
            if slot.procs <= PROCS_SHOWN {
                rows.put_point("7", name, f64::from(slot.procs), 1.0);
            }
            rows.put_point("7 at most 10", name, 0.0, f64::from(u32::from(slot.procs <= 10)));
        }
    }
    rows.put_point("6 deviation", name, 0.0, standard_deviation(&starts).unwrap_or_default());
    rows.put_point("6 deviation", format!("{name} durations"), 0.0, standard_deviation(&durations).unwrap_or_default());

    for (looks, figure) in [(&exact, "6"), (&inexact, "8")] {
        for (now, slot) in slots_of(looks).step_by(EVERY_SHOWN) {
            rows.put_point(figure, name, span_hours(slot.start.since(now)), span_hours(slot.span));
        }
    }
    let at = f64::from(site as u8);
    for (looks, line) in [(&exact, "exact"), (&inexact, "inexact")] {
        let starts: Vec<f64> = slots_of(looks).map(|(now, slot)| span_hours(slot.start.since(now))).collect();
        rows.put_point("8 mean", format!("mean start, {line}"), at, mean_of(&starts).unwrap_or_default());
        // Slots without end last until the horizon, with any estimates.
        let inner = slots_of(looks).filter(|(_, slot)| !slot.extensible);
        let mut durations: Vec<f64> = inner.map(|(_, slot)| span_hours(slot.span)).collect();
        durations.sort_unstable_by(f64::total_cmp);
        let median = durations.get(durations.len() / 2).copied();
        rows.put_point("8 mean", format!("median duration, {line}"), at, median.unwrap_or_default());
    }
}

/// All slots, each with the time of its advertisement.
fn slots_of(looks: &[Look]) -> impl Iterator<Item = (Time, &Slot)> {
    looks.iter().flat_map(|look| look.advert.slots.iter().map(|slot| (look.now, slot)))
}

/// Days after the first ones that are looked at.
fn days(context: &Context<'_>, site: Site) -> u64 {
    let Some(all) = context.logs.days(site) else { return context.extent.days };
    let asked = match context.settings.slots {
        SlotsOf::Whole => all,
        SlotsOf::NinetyDays => 90,
        SlotsOf::ThirtyDays => 30,
    };
    asked.min(all.saturating_sub(WARM))
}

fn collect_looks(context: &Context<'_>, site: Site, estimates: Estimates) -> Vec<Look> {
    let days = days(context, site);
    let every = if days > DAYS_CLOSE { EVERY_SPARSE } else { EVERY };
    let mode = if estimates == Estimates::Exact { PlanningMode::Exact } else { PlanningMode::Rebuild };
    let background = context.background((site, site.plan_loads()[0]), WARM + days, estimates, super::SEED);
    let mut trial = build_trial(site, mode, "slotlist", background);
    let mut now = Time::ZERO + Span::from_minutes(WARM * 24 * 60);
    let end = now + Span::from_minutes(days * 24 * 60);
    let mut looks = Vec::new();
    while now < end {
        trial.advance(now);
        let advert = trial.desk.advertise(now);
        let (waiting, running) = trial.desk.jobs();
        let day = Span::from_minutes(48 * 60);
        let is_far = advert.slots.iter().any(|slot| slot.extensible && slot.end() > now + day);
        looks.push(Look { now, jobs: waiting + running, is_far, advert });
        now = now + every;
    }
    looks
}

pub(super) fn span_hours(span: Span) -> f64 {
    span.micros() as f64 / 3.6e9
}
