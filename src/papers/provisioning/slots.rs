//! Advertised slots of a site, moment after moment: figures 4 to 8.

use super::load::{Estimates, Logs, Site};
use super::{Extent, Rows, WARM, correlation, deviation, mean, trial};
use hansa_sim::grid::{Advert, Slot};
use hansa_sim::systems::provisioning::desk::PlanningMode;
use hansa_sim::time::{Span, Time};

/// Interval between observations.
const EVERY: Span = Span::from_minutes(3 * 60);
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

pub fn run(extent: &Extent, logs: &Logs, site: Site, rows: &mut Rows) {
    let exact = looks(extent, logs, site, Estimates::Exact);
    let inexact = looks(extent, logs, site, Estimates::Inexact);
    let name = site.name();

    let counts: Vec<f64> = exact.iter().map(|look| look.advert.slots.len() as f64).collect();
    for (look, count) in exact.iter().zip(&counts) {
        rows.put("4", name, *count, 1.0);
        rows.put("5", name, look.jobs as f64, *count);
    }
    let jobs: Vec<f64> = exact.iter().map(|look| look.jobs as f64).collect();
    rows.put("4 mean", name, 0.0, mean(&counts).unwrap_or_default());
    rows.put("5 correlation", name, 0.0, correlation(&jobs, &counts));

    let mut starts = Vec::new();
    for look in &exact {
        for slot in &look.advert.slots {
            starts.push(hours(slot.start.since(look.now)));
            rows.put("6 without end", name, 0.0, f64::from(u32::from(slot.extensible)));
            if slot.extensible && !look.is_far {
                rows.put("6 horizon", name, 0.0, hours(slot.start.since(look.now)) + hours(slot.span));
            }
            if slot.procs <= PROCS_SHOWN {
                rows.put("7", name, f64::from(slot.procs), 1.0);
            }
            rows.put("7 at most 10", name, 0.0, f64::from(u32::from(slot.procs <= 10)));
        }
    }
    rows.put("6 deviation", name, 0.0, deviation(&starts).unwrap_or_default());

    for (looks, figure) in [(&exact, "6"), (&inexact, "8")] {
        let slots = looks.iter().flat_map(|look| look.advert.slots.iter().map(|slot| (look.now, slot)));
        for (now, slot) in slots.step_by(EVERY_SHOWN) {
            rows.put(figure, name, hours(slot.start.since(now)), hours(slot.span));
        }
    }
    for (looks, line) in [(&exact, "exact"), (&inexact, "inexact")] {
        let all = |of: fn(&Look, &Slot) -> f64| {
            looks.iter().flat_map(move |look| look.advert.slots.iter().map(move |slot| of(look, slot)))
        };
        let mut durations: Vec<f64> = all(|_, slot| hours(slot.span)).collect();
        durations.sort_unstable_by(f64::total_cmp);
        let starts: Vec<f64> = all(|look, slot| hours(slot.start.since(look.now))).collect();
        let at = f64::from(site as u8);
        rows.put("8 mean", format!("mean start, {line}"), at, mean(&starts).unwrap_or_default());
        rows.put(
            "8 mean",
            format!("median duration, {line}"),
            at,
            durations.get(durations.len() / 2).copied().unwrap_or_default(),
        );
    }
}

fn looks(extent: &Extent, logs: &Logs, site: Site, estimates: Estimates) -> Vec<Look> {
    let days = WARM + extent.days;
    let mode = if estimates == Estimates::Exact { PlanningMode::Exact } else { PlanningMode::Rebuild };
    let background = logs.background(site, site.loads()[0], days, estimates, super::SEED);
    let mut trial = trial(site, mode, "slotlist", background);
    let mut now = Time::ZERO + Span::from_minutes(WARM * 24 * 60);
    let end = Time::ZERO + Span::from_minutes(days * 24 * 60);
    let mut looks = Vec::new();
    while now < end {
        trial.advance(now);
        let advert = trial.desk.advertise(now);
        let (waiting, running) = trial.desk.jobs();
        let day = Span::from_minutes(48 * 60);
        let is_far = advert.slots.iter().any(|slot| slot.extensible && slot.end() > now + day);
        looks.push(Look { now, jobs: waiting + running, is_far, advert });
        now = now + EVERY;
    }
    looks
}

pub(super) fn hours(span: Span) -> f64 {
    span.micros() as f64 / 3.6e9
}
