//! Rows for one grid that is divided into more and more sites.
//!
//! An event of the market costs O(log sites + log pending), and a task O(p log p) for its `p` predecessors; setup of a
//! run costs O(sites). A request that goes to the best of all sites costs O(sites x log bookings) for a look at counts,
//! plus the few sites that are then asked; asking each site is many times that.

use crate::measure::cpu;
use hansa_sim::grid::{Kind, Site, User};
use hansa_sim::kernel::Place;
use hansa_sim::protocol::{Message, Record, ReserveAnswer};
use hansa_sim::systems::Service;
use hansa_sim::systems::market::Market;
use hansa_sim::systems::reservation::{Choose, ClusterBook, Reservation, fit};
use hansa_sim::time::Stamp;
use hansa_sim::topology::{Roster, Topology, build_actors};
use hansa_sim::workload::{Source, Workload, market, reservations};

const CORES: u32 = 40_000;
const NODES: u32 = 128;
const ROUNDS: u32 = 3;

pub fn measure() {
    println!(
        "market, {CORES} cores    sites    events   CPU s to set up   CPU s    events/s   cost to that of 10 sites"
    );
    let mut least = f64::NAN;
    for sites in [10, 100, 1_000, 10_000] {
        let topology = market(sites);
        let mut best = (f64::INFINITY, f64::INFINITY, 0);
        for _ in 0..ROUNDS {
            let (mut place, set_up) = measured(|| open(&topology));
            let (_, seconds) = measured(|| run(&mut place, &mut |_| ()));
            best = (best.0.min(set_up), best.1.min(seconds), place.events());
        }
        let (set_up, seconds, events) = best;
        let rate = events as f64 / seconds;
        least = if least.is_nan() { rate } else { least };
        let ratio = least / rate;
        println!("{sites:>26} {events:>9} {set_up:>17.3} {seconds:>7.3} {rate:>11.0} {ratio:>26.2}");
    }

    println!("\nglobal    policy    sites   requests   accepted   requests/s   asking each   times as many");
    for policy in ["ff", "pe_w", "du_b"] {
        for sites in [10, 100, 1_000] {
            let topology = reserving(policy, sites);
            let (accepted, seconds) = best_of(|| {
                let mut place = open(&topology);
                let accepts =
                    |record: &Record| matches!(record, Record::Answered { answer: ReserveAnswer::Accepted { .. }, .. });
                let mut accepted = 0;
                let (_, seconds) = measured(|| run(&mut place, &mut |record| accepted += u32::from(accepts(record))));
                (accepted, seconds)
            });
            let (by_hand, slow) = ask_each(policy, sites, &topology);
            assert_eq!(accepted, by_hand, "{policy} on {sites} sites answers as if all were asked");
            let requests = f64::from(requests(sites));
            let rate = requests / seconds;
            let each = requests / slow;
            println!(
                "{policy:>16} {sites:>8} {requests:>10} {accepted:>10} {rate:>12.0} {each:>13.0} {:>15.1}",
                rate / each
            );
        }
    }
}

fn open(topology: &Topology) -> Place<Message, Record> {
    let roster = Roster::of_topology(topology);
    Place::new(build_actors(topology, &roster.all()).expect("the grid is sound"), roster.latencies)
}

fn run(place: &mut Place<Message, Record>, each: &mut dyn FnMut(&Record)) {
    loop {
        let more = place.run_before(Stamp::NEVER, 4096).is_ok_and(|more| more);
        place.log().iter().for_each(|entry| each(&entry.record));
        place.clear_log();
        if !more {
            return;
        }
    }
}

/// The literal rule: every site is asked, one by one.
fn ask_each(policy: &str, sites: u32, topology: &Topology) -> (u32, f64) {
    let rules = Reservation::default();
    let fit = fit::find_fit(policy).expect("it is listed");
    let mut books: Vec<ClusterBook> = (0..sites).map(|_| ClusterBook::new(NODES, fit, rules.rect_end)).collect();
    let asks = topology.workloads[0].source.requests(&mut Default::default()).expect("there are not too many");
    measured(|| {
        let mut accepted = 0;
        for request in asks.iter().map(|(_, ask)| ask.request).filter(|request| request.check(NODES).is_ok()) {
            let asked = books.iter_mut().enumerate();
            let offers = asked.filter_map(|(site, book)| Some((site, book.find(request.arrive, &request)?)));
            if let Some((site, offer)) = offers.min_by_key(|(site, offer)| (offer.rank, offer.start, *site)) {
                let end = offer.start + request.duration;
                books[site].add(offer.start, end, &offer.nodes).expect("what is offered is free");
                accepted += 1;
            }
        }
        accepted
    })
}

/// The paper's jobs, with tasks of one core each, so that any site can run any of its kind.
fn market(sites: u32) -> Topology {
    let source = Source::Market(market::Generator {
        seed: 1,
        jobs: 20_000,
        load: 1.0,
        cores_max: 1,
        ..market::Generator::default()
    });
    let kind = |site: u32| Kind(u16::from(site % 5 == 4));
    topology(Service::new(Market::default()), sites, CORES / sites, "auction", kind, source)
}

fn requests(sites: u32) -> u32 {
    (10 * sites).max(2_000)
}

/// Equal numbers of requests per site, for any number of sites; jobs take all of their requested time.
fn reserving(policy: &str, sites: u32) -> Topology {
    let source = Source::Reservations(reservations::RequestGenerator {
        seed: 1,
        requests: requests(sites),
        nodes: NODES,
        size: 5.5,
        size_max: 7.0,
        rate_millionths: u64::from(sites) * 2_000_000,
        ..reservations::RequestGenerator::default()
    });
    let rules = Reservation { policy: policy.to_owned(), choose: Choose::Global, ..Reservation::default() };
    topology(Service::new(rules), sites, NODES, "auction", |_| Kind(0), source)
}

fn topology(
    system: Service,
    sites: u32,
    cores: u32,
    scheduler: &str,
    kind: impl Fn(u32) -> Kind,
    source: Source,
) -> Topology {
    let site = |number: u32| Site {
        name: format!("site-{number}"),
        cores,
        kind: kind(number),
        scheduler: scheduler.to_owned(),
        systems: vec![0],
        ..Site::with_defaults()
    };
    Topology {
        name: "scale".to_owned(),
        seed: 1,
        kinds: vec!["Kind1".to_owned(), "Kind2".to_owned()],
        systems: vec![system],
        sites: (0..sites).map(site).collect(),
        users: vec![User::named("alice")],
        workloads: vec![Workload { users: vec![0], shares: Vec::new(), system: 0, source }],
        ..Topology::default()
    }
}

fn best_of<T>(mut what: impl FnMut() -> (T, f64)) -> (T, f64) {
    let mut best = what();
    for _ in 1..ROUNDS {
        let next = what();
        if next.1 < best.1 {
            best = next;
        }
    }
    best
}

fn measured<T>(what: impl FnOnce() -> T) -> (T, f64) {
    let before = cpu();
    let made = what();
    (made, cpu() - before)
}
