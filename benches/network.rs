//! Cost of a flow: `cargo bench -- network`. In CPU seconds, as wall time depends on other load.
//!
//! *At once*: all flows are released at one instant. *Together*: all are released within the duration of one flow, so
//! all share the links. *Spread*: they arrive at random at two thirds of the capacity of the narrowest links, so few
//! are under way at a time, however many there are.
//!
//! *Exact*: flows of a grid, which have fixed-point moments (`Transfers`), beside flows with floating-point times.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;

use crate::measure::cpu;
use hansa_sim::network::{Efficiency, Flows, Link, LinkId, Mode, Transfers};
use hansa_sim::random::SplitMix64;
use hansa_sim::time::Time;

/// Bytes per microsecond: 1 Gbps.
const CAPACITY: f64 = 125.0;

pub fn main() {
    one_link();
    println!(
        "\n{:<34}{:>9}{:>11}{:>11}{:>13}{:>13}{:>8}{:>15}",
        "network", "flows", "lie", "CPU s", "us a flow", "exact, us", "ratio", "most at once"
    );
    for (name, lay) in NETWORKS {
        for count in [100, 1_000, 10_000, 100_000] {
            row(name, &lay(), count, Lie::Spread);
        }
        for lie in [Lie::Together, Lie::AtOnce] {
            for count in [100, 1_000, 10_000] {
                row(name, &lay(), count, lie);
            }
        }
    }
}

/// One bottleneck: the engine beside a virtual clock without any other feature.
fn one_link() {
    println!(
        "{:<34}{:>9}{:>15}{:>15}{:>11}",
        "one shared link, all together", "flows", "us a flow", "by hand, us", "ratio"
    );
    for count in [100, 1_000, 10_000, 100_000] {
        let mut random = SplitMix64::new(1);
        let window = 1_000_000_u64;
        let mut asked: Vec<(f64, f64)> = (0..count)
            .map(|_| (random.int(0, window) as f64, random.int(1_000_000, 10_000_000) as f64 * CAPACITY))
            .collect();
        asked.sort_by(|a, b| a.0.total_cmp(&b.0));
        let rounds = (200_000 / count).max(3);
        let (engine, last) = least(rounds, || {
            let link = Link { capacity: CAPACITY, latency: 0.0, efficiency: Efficiency::None, mode: Mode::Shared };
            let mut flows = Flows::new(vec![link]);
            let route = flows.route(&[LinkId(0)]);
            let mut ended = Vec::new();
            for &(at, volume) in &asked {
                flows.advance(at, &mut ended);
                flows.start(at, route, volume);
            }
            while let Some(next) = flows.next_change() {
                flows.advance(next, &mut ended);
            }
            assert_eq!(ended.len(), asked.len());
            ended.last().map_or(0.0, |ended| ended.at)
        });
        let (hand, last_by_hand) = least(rounds, || by_hand(&asked));
        assert!((last - last_by_hand).abs() <= 1e-6 * last, "both say the same: {last} and {last_by_hand}");
        let us = |seconds: f64| seconds * 1e6 / count as f64;
        println!("{:<34}{count:>9}{:>15.3}{:>15.3}{:>11.2}", "", us(engine), us(hand), engine / hand);
    }
    println!("{:<34}goal: at most 1 us a flow with 100,000", "");
}

/// End of the last flow on a link that all share equally.
fn by_hand(asked: &[(f64, f64)]) -> f64 {
    let mut open: BinaryHeap<Reverse<u64>> = BinaryHeap::new();
    let mut now = 0.0f64;
    let mut clock = 0.0f64;
    let mut next = asked.iter().peekable();
    loop {
        let end = open.peek().map(|Reverse(end)| {
            let left = f64::from_bits(*end) - clock;
            now + left * open.len() as f64 / CAPACITY
        });
        match (next.peek(), end) {
            (Some(&&(at, volume)), end) if end.is_none_or(|end| at < end) => {
                if !open.is_empty() {
                    clock += (at - now) * CAPACITY / open.len() as f64;
                }
                now = at;
                open.push(Reverse((clock + volume).to_bits()));
                next.next();
            }
            (_, Some(end)) => {
                let Some(Reverse(done)) = open.pop() else { unreachable!("it was just looked at") };
                (now, clock) = (end, f64::from_bits(done));
            }
            _ => return now,
        }
    }
}

#[derive(Clone, Copy)]
enum Lie {
    Spread,
    Together,
    AtOnce,
}

/// Links, and the routes that flows choose from.
struct Network {
    links: usize,
    routes: Vec<Vec<LinkId>>,
    /// Number of links that share the load of all flows at the narrowest place.
    width: f64,
}

type Lay = fn() -> Network;

const NETWORKS: [(&str, Lay); 4] = [
    ("star of 64 hosts", star),
    ("tree of 64 hosts, 8 to a switch", tree),
    ("dumbbell of 32 + 32 hosts", dumbbell),
    ("random mesh, 64 nodes, 192 cables", mesh),
];

const HOSTS: u32 = 64;

fn pairs(route: impl Fn(u32, u32) -> Vec<LinkId>) -> Vec<Vec<LinkId>> {
    let all = (0..HOSTS).flat_map(|from| (0..HOSTS).map(move |to| (from, to)));
    all.filter(|(from, to)| from != to).map(|(from, to)| route(from, to)).collect()
}

fn star() -> Network {
    let routes = pairs(|from, to| vec![LinkId(from), LinkId(HOSTS + to)]);
    Network { links: 2 * HOSTS as usize, routes, width: f64::from(HOSTS) }
}

fn tree() -> Network {
    let up = 2 * HOSTS;
    let down = 2 * HOSTS + 8;
    let routes = pairs(|from, to| match from / 8 == to / 8 {
        true => vec![LinkId(from), LinkId(HOSTS + to)],
        false => vec![LinkId(from), LinkId(up + from / 8), LinkId(down + to / 8), LinkId(HOSTS + to)],
    });
    Network { links: 2 * HOSTS as usize + 16, routes, width: 8.0 }
}

fn dumbbell() -> Network {
    let half = HOSTS / 2;
    let across =
        |from: u32, to: u32| vec![LinkId(from), LinkId(2 * HOSTS + u32::from(from < half)), LinkId(HOSTS + to)];
    let routes = pairs(|from, to| match (from < half) == (to < half) {
        true => vec![LinkId(from), LinkId(HOSTS + to)],
        false => across(from, to),
    });
    Network { links: 2 * HOSTS as usize + 2, routes, width: 4.0 }
}

/// Random links in both directions, and routes with the fewest of them.
fn mesh() -> Network {
    let mut random = SplitMix64::new(3);
    let mut out: Vec<Vec<(u32, LinkId)>> = vec![Vec::new(); HOSTS as usize];
    let mut cables: Vec<(u32, u32)> =
        (1..HOSTS).map(|node| (node, random.int(0, u64::from(node) - 1) as u32)).collect();
    while cables.len() < 192 {
        let ends = [0; 2].map(|_| random.int(0, u64::from(HOSTS) - 1) as u32);
        if ends[0] != ends[1] {
            cables.push((ends[0], ends[1]));
        }
    }
    for (number, &(a, b)) in (0..).zip(&cables) {
        out[a as usize].push((b, LinkId(2 * number)));
        out[b as usize].push((a, LinkId(2 * number + 1)));
    }
    let routes = pairs(|from, to| {
        let mut before: Vec<Option<(u32, LinkId)>> = vec![None; HOSTS as usize];
        let mut level = vec![from];
        while before[to as usize].is_none() {
            let mut next = Vec::new();
            for &node in &level {
                for &(other, link) in &out[node as usize] {
                    if other != from && before[other as usize].is_none() {
                        before[other as usize] = Some((node, link));
                        next.push(other);
                    }
                }
            }
            level = next;
        }
        let mut at = to;
        let mut way = Vec::new();
        while at != from {
            let (node, link) = before[at as usize].expect("everybody is reached");
            way.push(link);
            at = node;
        }
        way.reverse();
        way
    });
    Network { links: 2 * cables.len(), routes, width: 40.0 }
}

fn row(name: &str, network: &Network, count: usize, lie: Lie) {
    let mut random = SplitMix64::new(7);
    let mean = 5_500_000.0;
    let (window, words) = match lie {
        Lie::Spread => (count as f64 * mean / CAPACITY / network.width * 1.5, "spread"),
        Lie::Together => (mean / CAPACITY, "together"),
        Lie::AtOnce => (0.0, "at once"),
    };
    let mut asked: Vec<(f64, usize, f64)> = (0..count)
        .map(|_| {
            let at = random.int(0, window as u64) as f64;
            let route = random.int(0, network.routes.len() as u64 - 1) as usize;
            (at, route, random.int(1_000_000, 10_000_000) as f64)
        })
        .collect();
    asked.sort_by(|a, b| a.0.total_cmp(&b.0));
    let link = Link { capacity: CAPACITY, latency: 0.0, efficiency: Efficiency::None, mode: Mode::Shared };
    let rounds = if count < 10_000 { 5 } else { 1 };
    let (seconds, most) = least(rounds, || {
        let mut flows = Flows::new(vec![link; network.links]);
        let routes: Vec<_> = network.routes.iter().map(|route| flows.route(route)).collect();
        let mut ended = Vec::new();
        let mut most = 0;
        for (number, &(at, route, volume)) in asked.iter().enumerate() {
            // Senders send all flows of an instant before they advance.
            if at > flows.now() {
                flows.advance(at, &mut ended);
            }
            flows.start(at, routes[route], volume);
            most = most.max(number + 1 - ended.len());
        }
        while let Some(next) = flows.next_change() {
            flows.advance(next, &mut ended);
        }
        assert_eq!(ended.len(), asked.len());
        most
    });
    let (exact, ended) = least(rounds, || in_exact_time(&vec![link; network.links], &network.routes, &asked));
    assert_eq!(ended, asked.len());
    let us = |seconds: f64| seconds * 1e6 / count as f64;
    println!(
        "{name:<34}{count:>9}{words:>11}{seconds:>11.4}{:>13.3}{:>13.3}{:>8.2}{most:>15}",
        us(seconds),
        us(exact),
        exact / seconds
    );
}

/// Carries the flows as a grid does: released at whole microseconds, and ended at whole microseconds.
fn in_exact_time(links: &[Link], routes: &[Vec<LinkId>], asked: &[(f64, usize, f64)]) -> usize {
    let mut transfers = Transfers::new(links.to_vec());
    let routes: Vec<_> = routes.iter().map(|route| transfers.flows().route(route)).collect();
    let mut ended = Vec::new();
    let mut now = Time::ZERO;
    for &(at, route, volume) in asked {
        let at = Time::from_micros(at as u64);
        if at > now {
            transfers.advance(at, &mut ended);
            now = at;
        }
        transfers.start(at, routes[route], volume as u64);
    }
    while let Some(next) = transfers.next_change() {
        transfers.advance(next, &mut ended);
    }
    ended.len()
}

/// Least CPU time of several rounds, and the result.
fn least<T>(rounds: usize, mut measure: impl FnMut() -> T) -> (f64, T) {
    let mut best: Option<(f64, T)> = None;
    for _ in 0..rounds {
        let before = cpu();
        let out = black_box(measure());
        let taken = cpu() - before;
        if best.as_ref().is_none_or(|(least, _)| taken < *least) {
            best = Some((taken, out));
        }
    }
    best.expect("there is at least one round")
}
