//! Runs that reach the end of time: they stop with a message, under any scheduler.

use std::fmt::Write;

use super::load_text;
use hansa_sim::kernel::{Breach, Place};
use hansa_sim::protocol::Record;
use hansa_sim::systems::{self, SystemRow, managers, provisioning};
use hansa_sim::time::Stamp;
use hansa_sim::topology::{Roster, build_actors};

/// A grid of one site, whose jobs take all of it.
fn grid(row: &SystemRow, site: &str, user: &str, jobs: usize, task: &str) -> String {
    let mut text = format!("name = \"ends\"\n[{}]\n[[site]]\nname = \"york\"\ncores = 4\n{site}\n", row.key);
    let _ = write!(text, "[[user]]\nname = \"alice\"\n{user}\n[[workload]]\nsource = \"table\"\n");
    for _ in 0..jobs {
        let _ = write!(text, "[[workload.job]]\ntasks = [{{ cores = 4, {task} }}]\n");
    }
    text
}

/// Number of jobs that end, and the breach that stops the run.
fn run(text: &str) -> (usize, Option<Breach>) {
    let topology = load_text(text, &[]).unwrap_or_else(|faults| panic!("{text}: {faults}"));
    let roster = Roster::of_topology(&topology);
    let mut place = Place::new(build_actors(&topology, &roster.all()).unwrap(), roster.latencies.clone());
    let stop = place.run_before(Stamp::NEVER, usize::MAX).err();
    let ended = place.take_log().iter().filter(|entry| matches!(entry.record, Record::Finished { .. })).count();
    (ended, stop)
}

/// Schedulers of a system, without external ones.
fn schedulers(row: &SystemRow) -> Vec<&'static str> {
    let outside = |name: &str| managers::program_protocol(name).is_some();
    let own = (row.schedulers)().into_iter();
    let others = managers::ALL.iter().filter(|_| row.traits.takes_managers).flat_map(|kind| (kind.names)());
    own.chain(others).map(|named| named.name).filter(|name| !outside(name)).collect()
}

/// Builds that are not optimised try one of this many managers and strategies; others try all.
const STEP: usize = if cfg!(unoptimised) { 4 } else { 1 };

#[test]
fn queues_accept_more_work_than_time_can_hold() {
    for row in systems::ALL.iter().filter(|row| row.traits.has_walltimes) {
        for scheduler in schedulers(row).into_iter().step_by(STEP) {
            let site = format!("scheduler = \"{scheduler}\"");
            let text = grid(row, &site, "", 650, "runtime = \"10 s\", walltime = \"365250 d\"");
            assert_eq!(run(&text), (650, None), "{} {scheduler}", row.key);
        }
    }
}

#[test]
fn runs_that_reach_the_end_of_time_report_it() {
    let takes_table = |row: &&SystemRow| row.all_sources().any(|source| source == "table");
    for row in systems::ALL.iter().filter(takes_table) {
        let schedulers = if row.traits.is_rigid { vec!["easy"] } else { schedulers(row) };
        let mut sites: Vec<String> = schedulers.iter().map(|name| format!("scheduler = \"{name}\"")).collect();
        if sites.is_empty() {
            sites.push(String::new());
        }
        // Each job takes some thousand years at such a site.
        let (jobs, slow) = if row.traits.has_speeds { (650, "speed = 0.25") } else { (2_200, "") };
        for site in sites {
            let text = grid(row, &format!("{site}\n{slow}"), "", jobs, "runtime = \"100000 d\"");
            let (ended, stop) = run(&text);
            assert!(
                ended < jobs && matches!(stop, Some(Breach::Late { .. })),
                "{}, {site}: {ended}, {stop:?}",
                row.key
            );
        }
    }
}

#[test]
fn negotiating_users_reach_the_end_of_time_as_well() {
    let row = systems::find_system("provisioning").unwrap();
    for strategy in provisioning::strategy::ALL.iter().step_by(STEP) {
        let legs = if strategy.has_legs { "legs = [\"york\"]" } else { "" };
        let ahead = if strategy.has_ahead { "ahead = \"30 d\"" } else { "" };
        let user = format!("strategy = \"{}\"\n{legs}\n{ahead}", strategy.name);
        let text = grid(row, "speed = 0.25", &user, 650, "runtime = \"100000 d\"");
        let (ended, stop) = run(&text);
        assert!(ended < 650 && matches!(stop, None | Some(Breach::Late { .. })), "{}: {stop:?}", strategy.name);
    }
}
