//! `[reservation]`: the rules of the meta-scheduler, and the two sources of requests.

use super::super::Reservation;
use super::super::fields::Fields;
use super::super::file::Path;
use super::{CORES_MAX, Context, tables};
use crate::grid::Request;
use crate::systems::reservation::{self, Choose, RectEnd};
use crate::time::{Span, Time};
use crate::workload::reservations::{Ask, Asks, Demand};

const REQUESTS_MAX: u32 = 10_000_000;
const FACTOR_MAX: u64 = 1_000;

impl Reservation {
    pub(super) fn check(fields: Fields<'_>) -> Reservation {
        let usual = Reservation::default();
        let policy = fields.get("policy").and_then(|field| field.named("a fit policy", &reservation::policies()));
        let rect_end = fields.get("rect_end").and_then(|field| field.word(RectEnd::ALL));
        let choose = fields.get("choose").and_then(|field| field.word(Choose::ALL));
        fields.finish();
        Reservation {
            policy: policy.map_or(usual.policy, str::to_owned),
            rect_end: rect_end.unwrap_or(usual.rect_end),
            choose: choose.unwrap_or(usual.choose),
        }
    }
}

pub(super) fn check_demand(fields: &Fields<'_>, context: &Context<'_>) -> Demand {
    let largest = context.grid.largest.iter().copied().max().unwrap_or(1).max(1);
    let seed = fields.get("seed").and_then(|field| field.whole(0..=u64::MAX)).unwrap_or(context.seed);
    let requests = fields.need("requests", "how many requests to generate");
    let requests = requests.and_then(|field| field.whole(1..=REQUESTS_MAX));
    let nodes = fields.get("nodes").and_then(|field| field.whole(1..=CORES_MAX)).unwrap_or(largest);
    let power = |key: &'static str| {
        let fits = |power: f64| (0.0..=31.0).contains(&power);
        fields.get(key).and_then(|field| field.number("a power of two from 0 to 31, such as 7.0", fits))
    };
    // As far below the whole machine as on the paper's, where the largest is 2^10.
    let size_max = power("size_max").unwrap_or_else(|| f64::from(nodes.ilog2()));
    let size = power("size").unwrap_or((size_max - 3.0).max(0.0));
    let factor = |key: &'static str| fields.get(key).and_then(|field| field.millionths(FACTOR_MAX));
    let rate = factor("arrival_factor").unwrap_or(1_000_000);
    if rate == 0 {
        fields.complain("expected an arrival_factor above 0".to_owned());
    }
    let used = fields.get("used").and_then(|field| field.millionths(1)).unwrap_or(1_000_000);
    Demand {
        seed,
        requests: requests.unwrap_or(1),
        nodes,
        size,
        size_max: size_max.max(size),
        rate_millionths: rate.max(1),
        ahead_millionths: factor("ahead").unwrap_or(3_000_000),
        slack_millionths: factor("slack").unwrap_or(3_000_000),
        used_millionths: used,
    }
}

/// Only what nobody could mean is complained about: the scheduler has its own answer to what makes no sense.
pub(super) fn check_asks(fields: &Fields<'_>) -> Asks {
    let mut asks = Vec::new();
    let Some(field) = fields.need("request", "at least one [[workload.request]]") else { return Asks { asks } };
    let list = tables(Some(&field), &Path::root("workload").key("request")).unwrap_or_default();
    let mut before = Time::ZERO;
    for fields in list.iter().filter_map(|field| field.table("a table that describes a request")) {
        let ask = check_ask(&fields, before);
        before = before.max(ask.request.arrive);
        asks.push(ask);
        fields.finish();
    }
    Asks { asks }
}

fn check_ask(fields: &Fields<'_>, before: Time) -> Ask {
    let time = |key: &'static str| fields.get(key).and_then(|field| Some(Time::ZERO + field.span()?));
    let arrive = fields.get("arrive").and_then(|field| {
        let arrive = Time::ZERO + field.span()?;
        if arrive < before { field.wrong("requests in order of arrival") } else { Some(arrive) }
    });
    let arrive = arrive.unwrap_or(before);
    let duration = fields.need("duration", "how long the nodes are needed").and_then(|field| field.span());
    let duration = duration.unwrap_or(Span::ZERO);
    let ready = time("ready").unwrap_or(arrive);
    let deadline = time("deadline").unwrap_or(ready + duration);
    let nodes = fields.need("nodes", "how many nodes are needed").and_then(|field| field.whole(0..=CORES_MAX));
    let runtime = fields.get("runtime").and_then(|field| {
        let runtime = field.positive_span()?;
        if runtime > duration { field.wrong("a time within the duration that is asked for") } else { Some(runtime) }
    });
    let cancel = fields.get("cancel").and_then(|field| {
        let cancel = Time::ZERO + field.span()?;
        if cancel < arrive { field.wrong("a time that is not before the arrival") } else { Some(cancel) }
    });
    let request = Request { arrive, ready, duration, deadline, nodes: nodes.unwrap_or(1) };
    Ask { request, runtime: runtime.unwrap_or(duration), cancel }
}
