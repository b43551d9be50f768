//! Small grids in which prices decide; all payments were worked out by hand.

use super::by_hand::{Users, topology_of};
use super::play;
use crate::grid::Receipt;
use crate::kernel::Entry;
use crate::protocol::Record;
use crate::report::Bargaining;

/// A booking: its site, rent and fee, in processor-seconds.
type Payment = (u32, f64, f64);

/// The bookings in their order, and the summary.
fn paid(sites: &[&str], users: &Users<'_>) -> (Vec<Payment>, Bargaining) {
    let (log, all) = play(&topology_of(sites, users));
    (payments(&log), all)
}

fn payments(log: &[Entry<Record>]) -> Vec<Payment> {
    let paid = log.iter().filter_map(|entry| match &entry.record {
        Record::Booked { receipt: Receipt { rent, fee, .. }, .. } => {
            Some((entry.actor.0, rent.seconds(), fee.seconds()))
        }
        _ => None,
    });
    paid.collect()
}

/// Payments of the first user, its fixed charges, and what each site has earned, in processor-seconds.
fn accounts(all: &Bargaining) -> (f64, f64, Vec<f64>) {
    let seconds = |hours: f64| (hours * 3_600e6).round() / 1e6;
    let user = &all.users[0];
    (seconds(user.cost), seconds(user.charges), all.sites.iter().map(|site| seconds(site.earned)).collect())
}

/// A core for 100 s costs 100 + 200 core-seconds at the first site and 2 * 100 at the second; four cores cost 400 + 200
/// and 2 * 400.
#[test]
fn the_fixed_charge_of_a_booking_decides_where_it_is_cheaper() {
    let job = |cores: u32| format!("tasks = [{{ runtime = \"100 s\", cores = {cores} }}]");
    for strategy in ["reserve", "greedy", "moga"] {
        let user = format!("strategy = \"{strategy}\"\nalpha = 1.0");
        let sites = ["cores = 4\ncharge = \"200 core s\"", "cores = 4\nprice = 2.0"];
        let (paid, all) = paid(&sites, &[(&user, &[(0, &job(1)), (1_000, &job(4))])]);
        assert_eq!(paid, [(1, 200.0, 0.0), (0, 400.0, 200.0)], "{strategy}");
        assert_eq!(accounts(&all), (800.0, 200.0, vec![600.0, 200.0]), "{strategy}");
    }
}

/// Two tasks, one after the other, of 100 and 200 core-seconds. All parts of one slot that are claimed together pay its
/// charge once; of two reservations each pays it.
#[test]
fn parts_of_one_slot_pay_its_charge_once() {
    let tasks = "tasks = [{ runtime = \"100 s\", cores = 1 }, { runtime = \"100 s\", cores = 2 }]\nedges = [[0, 1]]";
    let run = |strategy: &str| {
        let (paid, all) =
            paid(&["cores = 4\ncharge = \"50 core s\""], &[(&format!("strategy = \"{strategy}\""), &[(0, tasks)])]);
        (paid, accounts(&all))
    };
    assert_eq!(run("moga"), (vec![(0, 100.0, 50.0), (0, 200.0, 0.0)], (350.0, 50.0, vec![350.0])));
    assert_eq!(run("greedy"), (vec![(0, 100.0, 50.0), (0, 200.0, 50.0)], (400.0, 100.0, vec![400.0])));
}

#[test]
fn each_leg_pays_the_charge_of_its_site() {
    let two = "tasks = [{ runtime = \"60 s\", cores = 4 }, { runtime = \"60 s\", cores = 1 }]";
    let pair = "strategy = \"coallocate\"\nlegs = [\"site-0\", \"site-1\"]\nahead = \"10 min\"";
    let sites = ["cores = 4\ncharge = \"10 core s\"", "cores = 4\nprice = 0.5\ncharge = \"20 core s\""];
    let (paid, all) = paid(&sites, &[(pair, &[(0, two)])]);
    assert_eq!(paid, [(0, 240.0, 10.0), (1, 30.0, 20.0)]);
    assert_eq!(accounts(&all), (300.0, 30.0, vec![250.0, 50.0]));
}
