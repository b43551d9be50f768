//! Standing reservations on a large cluster: costs of finding, adding and deleting one, on the calendar and on the
//! paper's list.

use std::hint::black_box;
use std::time::Instant;

use hansa_sim::grid::{NodeSet, Request};
use hansa_sim::random::SplitMix64;
use hansa_sim::systems::reservation::reference::AvailRectList;
use hansa_sim::systems::reservation::{ClusterBook, RectEnd, fit};
use hansa_sim::time::{Span, Time};

pub const NODES: u32 = 100_000;
const POLICIES: [&str; 3] = ["ff", "pe_w", "pedu_w"];

/// Medians in microseconds.
pub struct CalendarCosts {
    pub standing: usize,
    pub records: usize,
    /// First fit, by nodes, and by rectangles.
    pub find: [f64; 3],
    pub add: f64,
    pub delete: f64,
    /// The steps on the list, with first fit. None if they would take minutes.
    pub list: Option<[f64; 3]>,
}

/// Distribution of reservations over time.
#[derive(Clone, Copy)]
pub enum Lie {
    /// More reservations reach further ahead: the window of a request always holds some hundred records.
    Ahead,
    /// More reservations lie closer together, and are narrower.
    Dense,
}

const SECONDS_MEAN: u64 = 1_000;
const SLACK_SECONDS: u64 = 3 * SECONDS_MEAN;

impl Lie {
    /// Seconds over which the reservations lie, and their largest width.
    fn reservation_extent(self, standing: usize) -> (u64, u32) {
        match self {
            Lie::Ahead => (standing as u64 * 2 * (SLACK_SECONDS + SECONDS_MEAN) / 100, NODES / 10),
            Lie::Dense => (100 * SECONDS_MEAN, (NODES as usize * 100 / standing.max(1_000)) as u32),
        }
    }
}

pub fn measure_calendar(lie: Lie, standing: usize, samples: usize) -> CalendarCosts {
    let (horizon, widest) = lie.reservation_extent(standing);
    let mut random = SplitMix64::new(1);
    let mut book = ClusterBook::new(NODES, fit::find_fit("ff").expect("it is listed"), RectEnd::Clip);
    let mut booked: Vec<(Time, Time, NodeSet)> = Vec::new();
    while booked.len() < standing {
        let request = draw_request(&mut random, horizon, widest);
        if let Some(offer) = book.find(Time::ZERO, &request) {
            let end = offer.start + request.duration;
            book.add(offer.start, end, &offer.nodes).expect("what is offered is free");
            booked.push((offer.start, end, offer.nodes));
        }
    }
    let records = book.calendar().records();
    let requests: Vec<Request> = (0..samples).map(|_| draw_request(&mut random, horizon, widest)).collect();

    let few = 1 + samples / 100;
    let find = POLICIES.map(|policy| {
        book.set_fit(fit::find_fit(policy).expect("it is listed"));
        // If hundreds stand at any time, a policy that weighs all starts has thousands of them to weigh.
        let many = policy == "ff" || standing_at_once(lie, standing) <= 20;
        let asked = requests.iter().take(if many { samples } else { few });
        median_time(asked.map(|request| time_step(|| black_box(book.find(Time::ZERO, request)))))
    });
    let picks: Vec<&(Time, Time, NodeSet)> = booked.iter().step_by((standing / samples).max(1)).take(samples).collect();
    let delete = median_time(picks.iter().map(|(start, end, nodes)| time_step(|| book.delete(*start, *end, nodes))));
    let add = median_time(picks.iter().map(|(start, end, nodes)| time_step(|| book.add(*start, *end, nodes))));

    let list = (records.len() as u64 * standing_at_once(lie, standing) < TOO_MUCH).then(|| {
        let mut list = AvailRectList::from_records(NODES, records.clone());
        let first = fit::find_fit("ff").expect("it is listed");
        let find = requests
            .iter()
            .take(few)
            .map(|request| time_step(|| black_box(list.find_allocation(Time::ZERO, request, first, RectEnd::Clip))));
        let find = median_time(find);
        let picks = &picks[..few.min(picks.len())];
        let delete = median_time(
            picks.iter().map(|(start, end, nodes)| time_step(|| list.delete_allocation(*start, *end, nodes))),
        );
        let add =
            median_time(picks.iter().map(|(start, end, nodes)| time_step(|| list.add_allocation(*start, *end, nodes))));
        assert_eq!(list.records(), records, "freeing and booking again changes nothing");
        [find, add, delete]
    });
    assert_eq!(book.calendar().records(), records, "freeing and booking again changes nothing");
    CalendarCosts { standing, records: records.len(), find, add, delete, list }
}

fn draw_request(random: &mut SplitMix64, horizon: u64, widest: u32) -> Request {
    let ready = random.int(0, horizon);
    let duration = random.int(SECONDS_MEAN / 2, SECONDS_MEAN * 3 / 2);
    Request {
        arrive: Time::ZERO,
        ready: at_second(ready),
        duration: Span::from_secs(duration),
        deadline: at_second(ready + duration + random.int(0, SLACK_SECONDS * 2)),
        nodes: random.int(1, widest.into()) as u32,
    }
}

/// Product of records and reservations at any time from which a step of the list takes minutes.
const TOO_MUCH: u64 = 10_000_000;

fn standing_at_once(lie: Lie, standing: usize) -> u64 {
    standing as u64 * SECONDS_MEAN / lie.reservation_extent(standing).0.max(1)
}

fn at_second(second: u64) -> Time {
    Time::ZERO + Span::from_secs(second)
}

fn time_step<T>(step: impl FnOnce() -> T) -> f64 {
    let begun = Instant::now();
    black_box(step());
    begun.elapsed().as_nanos() as f64 / 1e3
}

fn median_time(times: impl Iterator<Item = f64>) -> f64 {
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}
