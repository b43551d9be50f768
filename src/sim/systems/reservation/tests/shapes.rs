//! Malleable requests: Figure 1 with further shapes, all choices against a judge that tries everything, and whole runs.

use super::fit::Fit;
use super::*;
use crate::grid::{JobShape, Rectangle};

fn shape(nodes: u32, seconds: u64) -> JobShape {
    let duration = Span::from_secs(seconds);
    JobShape { nodes, duration, runtime: duration }
}

/// A request in several shapes at time 0, ready and due at these seconds.
pub(super) fn wanted(shapes: &[JobShape], ready: u64, deadline: u64) -> Result<WantedJob, Invalid> {
    let JobShape { nodes, duration, runtime } = shapes[0];
    let tasks = vec![Task { walltime: duration, ..Task::new(runtime, nodes, Kind(0)) }];
    let id = JobId(0);
    let arrive = at(0);
    let job = Arc::new(Job { id, arrive, first_task: 0, tasks, edges: Vec::new(), worth: None, times: None });
    let shapes = if shapes.len() > 1 { shapes.to_vec() } else { Vec::new() };
    let reserve = Reserve { job, ready: at(ready), deadline: at(deadline), shapes, staging: None };
    WantedJob::of_reserve(&reserve, [(10, Speed::USUAL)].into_iter())
}

fn choose_in_figure_1(fit: &str, rule: ShapeRule, shapes: &[JobShape]) -> Option<(usize, u64, String)> {
    let chosen = [Choose::First, Choose::Global].map(|choose| {
        let site = ActorId(1);
        let latency = Span::ZERO;
        let speed = Speed::USUAL;
        let book = figure_book(fit, RectEnd::Clip);
        let cluster = Cluster { site, latency, speed, is_shared: false, book, outages: None };
        let meta = MetaScheduler::new(vec![cluster], choose, None);
        let found = meta.with_shape_rule(rule).find(at(0), &wanted(shapes, 4, 20).unwrap(), None, &[]);
        found.map(|ShapedOffer { shape, offer, .. }| (shape, offer.start.micros() / 1_000_000, offer.nodes.to_string()))
    });
    assert_eq!(chosen[0], chosen[1]);
    chosen[0].clone()
}

/// Starts, free nodes, rectangles and areas of the shapes in Figure 1, for a request that is ready at 4 and due at 20.
/// Five nodes for 5 s: at 4 s 6 nodes from 2 to 18 (96), at 6 s and 13 s 10 nodes from 6 to 18 (120).
/// Eight nodes for 3 s: at 6 s and 15 s 10 nodes from 6 to 18 (120).
/// Two nodes for 10 s: at 4 s 6 nodes from 2 to 18 (96), at 6 s and 8 s 10 nodes from 6 to 18 (120), at 10 s 4 nodes
/// from 6 to 20 (56).
const SHAPES: [(u32, u64); 3] = [(5, 5), (8, 3), (2, 10)];

#[test]
fn every_policy_chooses_among_the_shapes_by_its_own_measure() {
    let shapes = SHAPES.map(|(nodes, seconds)| shape(nodes, seconds));
    let expected = [
        // The first two shapes end at 9.
        ("ff", (0, 4, "4-8")),
        ("pe_b", (2, 10, "0-1")),
        // All have a rectangle of 12 s from 6 on, in which the second ends first.
        ("du_b", (1, 6, "0-7")),
        ("pedu_b", (2, 10, "0-1")),
        ("pe_w", (1, 6, "0-7")),
        // Both rectangles of 16 s begin at 2; the first shape ends first in it.
        ("du_w", (0, 4, "4-8")),
        ("pedu_w", (1, 6, "0-7")),
    ];
    for (fit, (place, start, nodes)) in expected {
        let chosen = choose_in_figure_1(fit, ShapeRule::Policy, &shapes);
        assert_eq!(chosen, Some((place, start, nodes.to_owned())), "{fit}");
    }
    // Of equal ends, that of the shape listed first.
    let [five, eight, two] = shapes;
    let chosen = choose_in_figure_1("ff", ShapeRule::Policy, &[eight, five, two]);
    assert_eq!(chosen, Some((0, 6, "0-7".to_owned())));
    // A shape that is too wide or too long is as if it were not listed.
    let chosen = choose_in_figure_1("ff", ShapeRule::Policy, &[shape(11, 1), shape(1, 17), two]);
    assert_eq!(chosen, Some((2, 4, "4-5".to_owned())));
}

#[test]
fn other_rules_take_the_first_listed_the_earliest_end_or_the_least_node_time() {
    let shapes = SHAPES.map(|(nodes, seconds)| shape(nodes, seconds));
    // The winners are 4-9 s on five nodes, 6-9 s on eight, and 10-20 s on two: 25, 24 and 20 node seconds.
    let chosen = choose_in_figure_1("pe_b", ShapeRule::Finish, &shapes);
    assert_eq!(chosen, Some((1, 6, "0-7".to_owned())));
    let chosen = choose_in_figure_1("pe_b", ShapeRule::Listed, &shapes);
    assert_eq!(chosen, Some((0, 4, "4-8".to_owned())));
    let chosen = choose_in_figure_1("pe_b", ShapeRule::Listed, &[shape(10, 13), shapes[2], shapes[0]]);
    assert_eq!(chosen, Some((1, 10, "0-1".to_owned())));
    let chosen = choose_in_figure_1("pe_b", ShapeRule::Thrifty, &shapes);
    assert_eq!(chosen, Some((2, 10, "0-1".to_owned())));
}

#[test]
fn a_request_is_invalid_if_no_shape_is_possible() {
    let invalid = |shapes: &[JobShape]| wanted(shapes, 4, 20).err();
    assert_eq!(invalid(&[shape(11, 5), shape(10, 5)]), None);
    assert_eq!(invalid(&[shape(11, 5), shape(10, 17)]), Some(Invalid::TooManyNodes));
    assert_eq!(invalid(&[shape(10, 17), shape(11, 5)]), Some(Invalid::DeadlineTooEarly));
    assert_eq!(invalid(&[shape(1, 5), shape(0, 5)]), Some(Invalid::NoNodes));
    assert_eq!(invalid(&[shape(1, 5), shape(1, 0)]), Some(Invalid::NoDuration));
}

/// Nodes that are busy, by half second.
struct Cells {
    nodes: u32,
    /// Half seconds that a second of work takes: 2, or 1 at twice the speed.
    halves: u64,
    busy: Vec<Vec<bool>>,
}

const HORIZON: u64 = 400;

/// An order of candidates or of winners, the smallest first.
type Key = [i128; 6];

impl Cells {
    fn is_free(&self, node: u32, half: u64) -> bool {
        half >= HORIZON || !self.busy[node as usize][half as usize]
    }

    fn is_clear(&self, nodes: &[u32], half: u64) -> bool {
        nodes.iter().all(|node| self.is_free(*node, half))
    }

    /// Times at which the set of busy nodes changes.
    fn changes(&self) -> Vec<u64> {
        let column = |half: u64| (0..self.nodes).map(|node| self.is_free(node, half)).collect::<Vec<bool>>();
        (1..=HORIZON).filter(|half| column(half - 1) != column(*half)).collect()
    }

    /// Candidate starts of a shape with their free nodes and rectangles, by trying every time.
    fn candidates(
        &self,
        now: u64,
        (ready, due): (u64, u64),
        (width, lasts): (u32, u64),
        rect_end: RectEnd,
    ) -> Vec<(u64, Vec<u32>, Rectangle)> {
        let from = ready.max(now);
        let Some(latest) = due.checked_sub(lasts).filter(|latest| from <= *latest && width <= self.nodes) else {
            return Vec::new();
        };
        // The list begins now; what was busy before is forgotten.
        let mut times: Vec<u64> = self.changes().into_iter().filter(|time| *time > now).collect();
        if (0..self.nodes).any(|node| !self.is_free(node, now)) {
            times.push(now);
        }
        let is_candidate = |start: u64| {
            let is_named = |time: u64| from <= time && time <= due && times.contains(&time);
            start == from || start == latest || is_named(start) || is_named(start + lasts)
        };
        let mut found = Vec::new();
        for start in (from..=latest).filter(|start| is_candidate(*start)) {
            let is_free = |node: &u32| (start..start + lasts).all(|half| self.is_free(*node, half));
            let free: Vec<u32> = (0..self.nodes).filter(is_free).collect();
            if (free.len() as u32) < width {
                continue;
            }
            let begin = (now..=start).rev().take_while(|half| *half == start || self.is_clear(&free, *half)).last();
            let end = (start + lasts..HORIZON).find(|half| !self.is_clear(&free, *half));
            let due = cell(due);
            let end = match (rect_end, end) {
                (RectEnd::Clip, end) => end.map_or(due, cell).min(due),
                (RectEnd::Inf2tdl, end) => end.map_or(due, cell),
                (RectEnd::Open, end) => end.map_or(Time::NEVER, cell),
            };
            let width = free.len() as u32;
            let begin = cell(begin.unwrap());
            found.push((start, free, Rectangle { start: cell(start), width, begin, end }));
        }
        found
    }
}

/// A time in half seconds.
fn cell(half: u64) -> Time {
    Time::from_micros(half * 500_000)
}

/// The rules literally, over every shape, site and start.
fn by_trying_all(
    sites: &[Cells],
    now: u64,
    (ready, due): (u64, u64),
    shapes: &[(u32, u64)],
    (fit, rect_end): (&Fit, RectEnd),
    (choose, rule): (Choose, ShapeRule),
) -> Option<(usize, usize, u64, Vec<u32>)> {
    let mut all: Vec<(Key, usize, usize, u64, Vec<u32>)> = Vec::new();
    for (place, &(width, seconds)) in shapes.iter().enumerate() {
        for (number, site) in sites.iter().enumerate() {
            let lasts = seconds * site.halves;
            for (start, free, rectangle) in site.candidates(now, (ready, due), (width, lasts), rect_end) {
                let rank = fit.scaled_by_speed(fit.rank(&rectangle), Speed(2_000_000 / site.halves));
                let first = if choose == Choose::First { number as i128 } else { 0 };
                let end = i128::from(start + lasts);
                let start_key = i128::from(start);
                let key = [first, rank, end, place as i128, start_key, number as i128];
                all.push((key, place, number, start, free[..width as usize].to_vec()));
            }
        }
    }
    all.sort();
    if rule != ShapeRule::Policy {
        // The winner of each shape, then the rule. Under `first`, the first site with an offer has its winners.
        let site = if choose == Choose::First { all.first()?.2 } else { usize::MAX };
        let mut winners: BTreeMap<usize, (Key, usize, usize, u64, Vec<u32>)> = BTreeMap::new();
        for one in all.into_iter().filter(|one| site == usize::MAX || one.2 == site) {
            winners.entry(one.1).or_insert(one);
        }
        all = winners.into_values().collect();
        all.sort_by_key(|(key, place, ..)| {
            let (nodes, seconds) = shapes[*place];
            let area = i128::from(u64::from(nodes) * seconds);
            let nodes = i128::from(nodes);
            let end = key[2];
            let start = key[4];
            match rule {
                ShapeRule::Listed => [*place as i128, 0, 0, 0, 0],
                ShapeRule::Thrifty => [area, end, start, nodes, *place as i128],
                _ => [end, area, start, nodes, *place as i128],
            }
        });
    }
    all.into_iter().next().map(|(_, place, number, start, nodes)| (place, number, start, nodes))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(unoptimised) { 150 } else { 600 }))]

    /// Under every policy and rule, at sites of different sizes and speeds.
    #[test]
    fn choices_among_shapes_equal_those_of_trying_all(
        (fit, rect_end) in (0..ALL.len(), prop::sample::select(vec![RectEnd::Clip, RectEnd::Inf2tdl, RectEnd::Open])),
        (global, rule) in (any::<bool>(), 0..ShapeRule::ALL.len()),
        sites in prop::collection::vec((1u32..8, prop::sample::select(vec![2u64, 2, 1])), 1..4),
        steps in prop::collection::vec(
            (0u64..4, 0u64..10, 0u64..16, prop::collection::vec((1u32..9, 1u64..12), 1..5)),
            1..25,
        ),
    ) {
        let fit = &ALL[fit];
        let rule = ShapeRule::ALL[rule].1;
        let choose = if global { Choose::Global } else { Choose::First };
        let cluster = |&(nodes, halves): &(u32, u64)| Cluster {
            site: ActorId(1),
            latency: Span::ZERO,
            speed: Speed(2_000_000 / halves),
            is_shared: false,
            book: ClusterBook::new(nodes, fit, rect_end),
            outages: None,
        };
        let mut meta = MetaScheduler::new(sites.iter().map(cluster).collect(), choose, None).with_shape_rule(rule);
        let cells = |&(nodes, halves): &(u32, u64)| {
            Cells { nodes, halves, busy: vec![vec![false; HORIZON as usize]; nodes as usize] }
        };
        let mut judged: Vec<Cells> = sites.iter().map(cells).collect();
        let mut now = 0;
        for (later, ahead, slack, shapes) in steps {
            now += later;
            let ready = now + ahead;
            let shortest = shapes.iter().map(|shape| shape.1).min().unwrap();
            let due = ready + shortest + slack;
            let listed: Vec<JobShape> = shapes.iter().map(|&(nodes, seconds)| shape(nodes, seconds)).collect();
            let Ok(asked) = wanted(&listed, ready, due) else { continue };
            let found = meta.find(at(now), &asked, None, &[]);
            let expected = by_trying_all(
                &judged,
                2 * now,
                (2 * ready, 2 * due),
                &shapes,
                (fit, rect_end),
                (choose, rule),
            );
            let shown = found.clone().map(|ShapedOffer { cluster, shape, offer }| {
                let nodes: Vec<u32> = offer.nodes.runs().iter().flat_map(|&(first, last)| first..=last).collect();
                (shape, cluster, offer.start.micros() / 500_000, nodes)
            });
            prop_assert_eq!(&shown, &expected);
            if let Some((place, number, start, nodes)) = expected {
                let lasts = shapes[place].1 * judged[number].halves;
                let booked = found.unwrap().offer.nodes;
                meta.clusters[number].book.add(cell(start), cell(start + lasts), &booked).unwrap();
                for node in nodes {
                    (start..start + lasts).for_each(|half| judged[number].busy[node as usize][half as usize] = true);
                }
            }
        }
    }
}
