//! Settings of users in a topology.

use super::strategy;
use crate::grid::{Approach, Crash, User};
use crate::settings::{
    CoreTime, FormExt, Layout, List, Maybe, NameIndex, Number, OneOf, POSITIVE_SPAN, Registered, Walk, Word, key,
};
use crate::time::Span;

/// Bound on wanted starts and crashes: a probability is asked for each half minute up to them.
const AHEAD_MAX: Span = Span::from_secs(30 * 86_400);

/// Lead time of padded jobs, unless it is given.
const PADS_AHEAD: Span = Span::from_secs(4 * 3_600);

/// The way a `[[user]]` obtains time.
pub(super) fn walk_user(user: &mut User, fits: bool, sites: &NameIndex<'_>, w: &mut dyn Walk) {
    // A user whose jobs are all of other systems need not state it.
    let approach = &mut user.approach;
    if !fits && w.writes() {
        return;
    }
    if fits && approach.strategy.is_empty() {
        approach.strategy = strategy::USUAL.to_owned();
    }
    let why = "leave this out: only users under a [provisioning] negotiate for time";
    let words = strategy::ALL.iter().map(|row| Word::new(row.name, row.about)).collect();
    let name = key("strategy", "the strategy by which a user obtains time for its jobs")
        .usual("best-effort")
        .only_if(fits, why);
    w.set(name, &mut approach.strategy, Registered { what: "a strategy", words });
    let row = strategy::find_strategy(&approach.strategy);
    let has = |asks: fn(&strategy::StrategyRow) -> bool| !fits || row.is_some_and(asks);
    let only = |what: &'static str| if fits { what } else { why };
    // Defaults for all users are dropped where a strategy cannot use them.
    let usual = Approach::default();
    if w.reads() && !(fits && has(|row| row.has_alpha)) {
        approach.alpha = usual.alpha;
    }
    if w.reads() && !(fits && has(|row| row.has_ahead)) {
        approach.ahead = usual.ahead;
    }
    if w.reads() && !(fits && has(|row| row.has_deadline)) {
        approach.deadline = usual.deadline;
    }
    if w.reads() && !(fits && has(|row| row.has_budget)) {
        approach.budget = usual.budget;
    }
    // Defaults of all users have no name, and leave the lead time open for those whose strategy needs none.
    if w.reads() && fits && row.is_some_and(|row| row.pads) && !user.name.is_empty() {
        approach.ahead = approach.ahead.or(Some(PADS_AHEAD));
    }
    if w.reads() && !(fits && has(|row| row.has_legs)) {
        (approach.legs, approach.crash) = (usual.legs, usual.crash);
    }

    let alpha = key("alpha", "the objective: 0 is an early end, 1 is a low cost");
    let alpha = alpha.only_if(fits && has(|row| row.has_alpha), only("this strategy has nothing to weigh"));
    w.set(alpha, &mut approach.alpha, Number::from(0.0, 1.0, "a number from 0 to 1"));
    let ahead = key("ahead", "the time from the arrival of a job to its wanted start")
        .usual("4 h under var and var-and-reserve; otherwise none");
    let wants = "only reserve, coallocate, var and var-and-reserve have a wanted start for their jobs";
    let at_most = POSITIVE_SPAN.with_condition("at most 30 days ahead", |span: &Span| *span <= AHEAD_MAX);
    w.set(ahead.only_if(fits && has(|row| row.has_ahead), only(wants)), &mut approach.ahead, Maybe(at_most));
    let deadline = key("deadline", "the time from the arrival of a job by which its booking must have ended");
    let keeps = "only moga, greedy, reserve and coallocate keep a deadline";
    let deadline = deadline.usual("none").only_if(fits && has(|row| row.has_deadline), only(keeps));
    w.set(deadline, &mut approach.deadline, Maybe(POSITIVE_SPAN));
    let budget = key("budget", "the most that the bookings of a job may cost, at the price of best effort");
    let keeps = "only moga, greedy, reserve and coallocate keep a budget";
    let budget = budget.usual("none").only_if(fits && has(|row| row.has_budget), only(keeps));
    w.set(budget, &mut approach.budget, Maybe(CoreTime));
    if let (Some(ahead), Some(deadline)) = (approach.ahead, approach.deadline)
        && deadline <= ahead
        && let Some(field) = w.written_fields().and_then(|fields| fields.get("deadline"))
    {
        field.complain(format!(
            "expected a deadline after the wanted start, which is {ahead} after the arrival, found {deadline}"
        ));
    }

    let coallocates = fits && has(|row| row.has_legs);
    let parts = only("only coallocate runs the parts of a job at several sites at the same time");
    walk_legs(&mut approach.legs, (coallocates, parts), sites, w);
    walk_crash(&mut approach.crash, (coallocates, parts), w);
}

/// Sites of a job's tasks, if the strategy has legs; otherwise the reason why not.
fn walk_legs(legs: &mut Vec<usize>, (fits, why): (bool, &'static str), sites: &NameIndex<'_>, w: &mut dyn Walk) {
    let its = key("legs", "the sites where the tasks of a job run at the same time, in the order of the tasks");
    let its = its.only_if(fits, why);
    let its = if fits && legs.is_empty() {
        its.need("the sites of a job's tasks, such as [\"york\", \"leeds\"]")
    } else {
        its
    };
    w.set(its, legs, List(OneOf { what: "a site", names: sites }, "a list of sites"));
    if let Some(field) = w.written_fields().and_then(|fields| fields.get("legs")) {
        let mut sorted = legs.clone();
        sorted.sort_unstable();
        sorted.dedup();
        if sorted.len() < legs.len() {
            field.complain("expected each site only once: two tasks at one site need no coordination");
        }
    }
}

fn walk_crash(crash: &mut Option<Crash>, (fits, why): (bool, &'static str), w: &mut dyn Walk) {
    let its = key("crash", "a crash of its process, after which it comes back with nothing but its log").usual("never");
    w.maybe(its.only_if(fits, why), Layout::Inline, crash, Crash::default, |crash, w| {
        w.set(key("at", "").need("the time, counted from the start of the run"), &mut crash.at, POSITIVE_SPAN);
        w.set(key("lasts", "").need("for how long"), &mut crash.lasts, POSITIVE_SPAN);
    });
}

impl Approach {
    /// The row of its strategy, if it has one.
    pub(super) fn row(&self) -> Option<&'static strategy::StrategyRow> {
        strategy::find_strategy(&self.strategy)
    }
}
