//! Packet loss does not change the digest: one process per member, with a relay that simulates a bad network between
//! them and the router.

use std::time::Duration;

use crate::grid::{Machines, Scratch, digest, hansa_ok, shipped};
use crate::namespaces::FAR;
use crate::relay::{Relay, Weather};

/// A tenth is lost and a twentieth corrupted; the rest arrives in any order, and some of it twice.
const STORM: Weather = Weather {
    seed: 1,
    lost: 0.1,
    twice: 0.05,
    spoilt: 0.05,
    late: Duration::from_millis(4),
    dark_after: 250,
    dark_for: Duration::from_millis(700),
};

const MEMBERS: &[&str] = &["york.site", "durham.site", "leeds.site", "alice.user", "bob.user"];

fn agrees(topology: &str, members: &[&str], weather: Weather) {
    let scratch = Scratch::new();
    let file = scratch.file("grid.toml", topology);
    let inline = scratch.path("inline");
    hansa_ok(&["run".as_ref(), "--inline".as_ref(), file.as_os_str(), "--out".as_ref(), inline.as_os_str()]);

    let mut machines = Machines::router(topology, &[]);
    let relay = Relay::new(&machines.address, weather);
    machines.address.clone_from(&relay.address);
    machines.start(members);
    let (code, printed) = machines.router.end(Duration::from_secs(120));
    assert_eq!(code, Some(0), "{weather:?} {:?}: {printed}", relay.seen());
    for member in &mut machines.members {
        let (code, printed) = member.end(Duration::from_secs(40));
        assert_eq!(code, Some(0), "{weather:?} {}: {printed}", member.label);
    }
    assert_eq!(digest(&machines.out()), digest(&inline), "{weather:?}");

    // Each kind of fault has occurred.
    let seen = relay.seen();
    let happened = [seen.lost, seen.twice, seen.spoilt, seen.overtaken, seen.blackouts];
    assert!(happened.iter().all(|count| *count > 0), "{seen:?}");
}

#[test]
fn a_storm_over_a_market_changes_nothing() {
    agrees(FAR, MEMBERS, Weather { dark_after: 100, ..STORM });
}

#[test]
fn a_storm_over_a_grid_on_which_all_systems_meet_changes_nothing() {
    let grid = std::fs::read_to_string(shipped("one-grid.toml")).unwrap();
    let members = ["york", "hull", "durham", "leeds", "bath"].map(|site| format!("{site}.site"));
    let users = ["alice", "bob", "carol"].map(|user| format!("{user}.user"));
    let members: Vec<&str> = members.iter().chain(&users).map(String::as_str).collect();
    // Fewer jobs than in the shipped topology, since each moment is waited for.
    let grid = grid.replace("jobs = 60", "jobs = 8").replace("jobs = 400", "jobs = 30");
    let grid = grid.replace("requests = 60", "requests = 8").replace("workflows = 6", "workflows = 1");
    agrees(&grid, &members, Weather { seed: 2, ..STORM });
}
