//! Jobs that imitate reservations, compared with real ones, and both together, at one site with one queue: figures 33
//! to 49.

use super::calibration::{FIGURE, PRINTED, Queue, start_chances};
use super::slots::span_hours;
use super::{Context, Extent, Rows, SEED, Settings, build_desk};
use hansa_sim::grid::{Area, Part};
use hansa_sim::random::mix_bits;
use hansa_sim::systems::provisioning::desk::{PlanningMode, WantedStarts};
use hansa_sim::systems::provisioning::trial::{SiteTrial, TrialEvent};
use hansa_sim::systems::provisioning::virtual_reservation::{
    ReplayOutcome, find_submission, padding_cost, replay_outcome,
};
use hansa_sim::time::{Span, Time};

pub(super) const NODES: [u32; 2] = [32, 64];
pub(super) const LENGTHS: [u64; 2] = [1, 4];
pub(super) const AHEAD: [u64; 3] = [1, 4, 8];

/// Part of the fee that a cancellation costs, in thousandths.
const CANCELLING: u32 = 100;
/// History before the first trial, in days.
const HISTORY: u64 = 7;

/// Name of the site in lines of figures.
pub(super) const SITE: &str = "NCSA";

/// Name of a line in figures: site, kind, size and hours.
pub(super) fn line_name(what: &str, nodes: u32, length: u64) -> String {
    format!("{SITE} {what} {nodes}x{length}h")
}

/// Takes a queue to the moments of all trials of a history, one every day, each at another hour.
pub(super) fn at_moments(
    extent: &Extent,
    settings: &Settings,
    queue: &Queue,
    history: u32,
    mut moment: impl FnMut(&SiteTrial),
) {
    let days = HISTORY + extent.virtual_days + 1;
    let background = queue.background(days, settings.ratios, SEED ^ mix_bits(u64::from(history)));
    let desk = build_desk(queue.procs, PlanningMode::Rebuild, "slotlist", settings.predictor.history());
    let mut trial = SiteTrial::new(desk, background);
    for day in 0..extent.virtual_days {
        trial.advance(Time::ZERO + Span::from_minutes((HISTORY + day) * 24 * 60 + day * 7 % 24 * 60));
        moment(&trial);
    }
}

pub fn run_virtuals(context: &Context<'_>, history: u32, rows: &mut Rows) {
    let settings = context.settings;
    at_moments(context.extent, settings, &Queue::of(settings.queue), history, |trial| {
        for (printed, chance) in PRINTED.iter().zip(start_chances(&trial.desk, trial.now())) {
            rows.put_point(FIGURE, format!("{SITE} {}", printed.line), 0.0, chance);
        }
        for (nodes, length) in NODES.into_iter().flat_map(|nodes| LENGTHS.map(|length| (nodes, length))) {
            for ahead in AHEAD {
                let start = trial.now() + Span::from_minutes(ahead * 60);
                let work = Part { procs: nodes, start, span: Span::from_minutes(length * 60) };
                try_all(trial, &work, (length, ahead), rows);
            }
        }
    });
}

fn try_all(trial: &SiteTrial, work: &Part, (length, ahead): (u64, u64), rows: &mut Rows) {
    let now = trial.now();
    let mut asked = trial.clone();
    let quote = asked.desk.price(now, work.procs, work.span, WantedStarts::At(work.start)).expect("it fits the site");
    let fee = quote.offers.first().map(|offer| offer.fee);
    let imitated = imitate_reservation(trial.clone(), work);
    let combined = replay_outcome(work, fee, imitated.map(|(_, started)| started), CANCELLING);

    let cost = imitated.map(|(_, started)| padding_cost(work, started));
    let at = ahead as f64;
    // Costs are relative to the work, nodes times duration.
    let size = f64::from(work.procs) * span_hours(work.span) * 3_600.0;
    let line = |what: &str| line_name(what, work.procs, length);
    let mut put_cost = |figure: &'static str, what: &str, cost: Option<Area>| {
        if let Some(cost) = cost {
            rows.put_point(figure, line(what), at, cost.seconds() / size);
        }
    };
    for figure in ["38", "41", "46"] {
        put_cost(figure, "AR", fee);
        put_cost(figure, "VAR", cost);
    }
    let paid = match combined {
        ReplayOutcome::Reserved(cost) | ReplayOutcome::Job(cost) => Some(cost),
        ReplayOutcome::Failed => None,
    };
    put_cost("46", "combined", paid);
    if let (Some(fee), Some(paid)) = (fee, paid) {
        rows.put_point("46 excess", SITE, 0.0, paid.seconds() - fee.seconds());
        rows.put_point("46 granted", line("AR"), at, fee.seconds() / size);
        rows.put_point("46 granted", line("combined"), at, paid.seconds() / size);
    }
    if let Some((submitted, started)) = imitated {
        let ratio = span_hours(work.start - started) / span_hours(work.span);
        rows.put_point("41 excess", SITE, 0.0, ratio - span_hours(work.start - submitted) / span_hours(work.span));
    }
    rows.put_point("39", line("AR"), at, truth_share(fee.is_some()));
    rows.put_point("39", line("VAR"), at, truth_share(imitated.is_some()));
    rows.put_point("48", line("AR"), at, truth_share(fee.is_some()));
    rows.put_point("48", line("VAR"), at, truth_share(imitated.is_some()));
    rows.put_point("48", line("combined"), at, truth_share(combined != ReplayOutcome::Failed));
    rows.put_point("39 failures AR", SITE, 0.0, truth_share(fee.is_none()));
    rows.put_point("39 failures VAR", SITE, 0.0, truth_share(imitated.is_none()));
    // Over all trials: one that succeeds alone is the cheaper of both.
    rows.put_point("40", line("AR cheaper"), at, truth_share(is_cheaper(fee, cost)));
    rows.put_point("40", line("VAR cheaper"), at, truth_share(is_cheaper(cost, fee)));
}

fn is_cheaper(one: Option<Area>, other: Option<Area>) -> bool {
    one.is_some_and(|one| other.is_none_or(|other| one < other))
}

fn truth_share(is: bool) -> f64 {
    f64::from(u32::from(is))
}

/// Submission and start of a job that imitates a reservation; None unless it starts in time.
fn imitate_reservation(mut trial: SiteTrial, work: &Part) -> Option<(Time, Time)> {
    let now = trial.now();
    let desk = &mut trial.desk;
    let attempt = find_submission(now, work, |requested, within| desk.forecast(now, work.procs, requested, within))?;
    trial.advance(attempt.submit);
    trial.news.clear();
    let guest = trial.submit(work.procs, attempt.requested, attempt.requested).ok()?;
    trial.end_instant();
    trial.advance(work.start);
    let started = trial.news.iter().find_map(|news| match news {
        TrialEvent::Started(started, at) if *started == guest => Some(*at),
        _ => None,
    });
    started.map(|started| (attempt.submit, started))
}
