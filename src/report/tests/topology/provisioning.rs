//! Topologies of negotiating users: meaning and errors.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::meeting::run;
use super::*;
use crate::{Names, RecordError, Tally};
use hansa_sim::grid::{Edge, EdgeId, Job, JobId, Kind, Rate, Tariff, Task};
use hansa_sim::kernel::{Actor, ActorId, Cause, Entry, Event, Outbox, Place};
use hansa_sim::protocol::handshake::Party;
use hansa_sim::protocol::{Message, Record, Ship};
use hansa_sim::time::{Span, Stamp, Time};
use hansa_sim::topology::{self, Roster, check_jobs};
use hansa_sim::workload::raise::log_utilisation;
use hansa_sim::workload::rigids::Rigids;
use hansa_sim::workload::{Numbering, Platform, Rigid, Source, swf};

pub const BARGAINING: &str = r#"name = "bargaining"
[provisioning]
[[site]]
name = "york"
cores = 8
latency = "2 s"
[[site]]
name = "leeds"
cores = 4
[[user]]
name = "alice"
[[user]]
name = "bob"
[[workload]]
source = "lublin"
jobs = 3
nodes = 4
users = ["alice"]
"#;

const PAIR: &str = r#"name = "pair"
[provisioning]
[[site]]
name = "york"
cores = 8
latency = "2 s"
[[site]]
name = "leeds"
cores = 4
[[user]]
name = "alice"
strategy = "coallocate"
legs = ["york", "leeds"]
[[workload]]
source = "table"
[[workload.job]]
tasks = [{ runtime = "1 min", cores = 6 }, { runtime = "1 min", cores = 4 }]
"#;

#[test]
fn a_topology_of_negotiating_users_reads_back() {
    for text in [BARGAINING, PAIR] {
        let topology = load_text(text, &[]).unwrap();
        assert_eq!(load_text(&topology.to_toml(), &[]).unwrap(), topology);
        check_jobs(&topology).unwrap();
        assert!(Roster::of_topology(&topology).at_hub().is_empty(), "a [provisioning] has no service at the hub");
    }
    let approach = &load_text(PAIR, &[]).unwrap().users[0].approach;
    assert_eq!((approach.strategy.as_str(), &approach.legs[..], approach.alpha), ("coallocate", &[0, 1][..], 0.5));
}

/// The default lead time is that of padded jobs only.
#[test]
fn defaults_of_all_users_leave_the_wanted_start_open() {
    let text = BARGAINING.replace("[provisioning]", "[provisioning]\n[defaults.user]\nstrategy = \"var\"");
    let ahead = |settings: &[&str]| {
        let topology = load_text(&text, settings).unwrap();
        topology.users.iter().map(|user| user.approach.ahead.map(Span::micros)).collect::<Vec<_>>()
    };
    let hours = Some(4 * 3_600_000_000);
    let one = Some(3_600_000_000);
    assert_eq!(ahead(&["user.bob.strategy=\"reserve\""]), [hours, None]);
    assert_eq!(ahead(&["user.bob.strategy=\"reserve\"", "defaults.user.ahead=\"1 h\""]), [one, one]);
}

/// A price that is written replaces default prices by time of day, and these replace a default price.
#[test]
fn a_site_has_one_price_or_prices_by_time_of_day() {
    let tariffs = |defaults: &str, site: &str| {
        let defaults = format!("[provisioning]\n[defaults.site]\n{defaults}");
        let text =
            BARGAINING.replace("[provisioning]", &defaults).replacen("cores = 8", &format!("cores = 8\n{site}"), 1);
        let topology = load_text(&text, &[]).unwrap();
        assert_eq!(load_text(&topology.to_toml(), &[]).unwrap(), topology);
        topology.sites.iter().map(|site| site.terms.tariff()).collect::<Vec<_>>()
    };
    let step = |hour: u64, price: u32| (Span::from_minutes(60 * hour), Rate(price));
    let by_day = Tariff::by_day(vec![step(8, 2_000), step(18, 500)]);
    let written = "prices = [{ from = \"8 h\", price = 2.0 }, { from = \"18 h\", price = 0.5 }]";
    assert_eq!(tariffs(written, ""), [by_day.clone(), by_day.clone()]);
    assert_eq!(tariffs(written, "price = 1.5"), [Tariff::flat(Rate(1_500)), by_day.clone()]);
    assert_eq!(tariffs("price = 1.5", written), [by_day, Tariff::flat(Rate(1_500))]);
}

/// Ten per cent of the jobs of a workload reserve. The middles of nine turns lie at 1/18, 3/18, ... 17/18 of a round,
/// and that of the tenth at 9/18, after the fifth of the nine. The jobs are those of one user.
#[test]
fn a_share_of_the_jobs_of_a_workload_follows_another_strategy() {
    let jobs = |settings: &[&str]| {
        let topology = load_text(BARGAINING, &[&["workload.0.jobs=30"], settings].concat()).unwrap();
        assert_eq!(load_text(&topology.to_toml(), &[]).unwrap(), topology);
        let log = run(&topology);
        let arrived = log.iter().filter_map(|entry| match &entry.record {
            Record::Arrived { job, user } => Some((job.clone(), *user)),
            _ => None,
        });
        let mut arrived: Vec<_> = arrived.collect();
        arrived.sort_by_key(|(job, _)| job.id);
        arrived
    };
    let both = "workload.0.users=[\"alice\", \"bob\"]";
    let alone = jobs(&[]);
    let mixed = jobs(&[both, "workload.0.shares=[9, 1]", "user.bob.strategy=\"reserve\""]);
    assert!(alone.iter().zip(&mixed).all(|((one, _), (other, _))| one == other));
    let bobs = mixed.iter().filter(|(_, user)| *user != alone[0].1).map(|(job, _)| job.id.0);
    assert_eq!(bobs.collect::<Vec<_>>(), [5, 15, 25]);
    // Equal shares are turns.
    assert_eq!(jobs(&[both, "workload.0.shares=[3, 3]"]), jobs(&[both]));
}

#[test]
fn errors_of_strategies_are_reported() {
    for (text, settings, expected) in [
        (BARGAINING, &["user.alice.strategy=\"mogga\""][..], "expected a strategy: best-effort, moga, greedy"),
        (BARGAINING, &["user.alice.alpha=0.5"], "this strategy has nothing to weigh"),
        (BARGAINING, &["user.alice.strategy=\"moga\"", "user.alice.alpha=1.5"], "a number from 0 to 1"),
        (BARGAINING, &["user.alice.strategy=\"var\"", "user.alice.ahead=\"31 d\""], "at most 30 days ahead"),
        (BARGAINING, &["user.alice.strategy=\"var\"", "user.alice.ahead=\"-1 h\""], "a time"),
        (
            BARGAINING,
            &["user.alice.ahead=\"1 h\""],
            "only reserve, coallocate, var and var-and-reserve have a wanted start for their jobs",
        ),
        (BARGAINING, &["user.alice.deadline=\"1 h\""], "only moga, greedy, reserve and coallocate keep a deadline"),
        (
            BARGAINING,
            &["user.alice.strategy=\"reserve\"", "user.alice.ahead=\"2 h\"", "user.alice.deadline=\"2 h\""],
            "expected a deadline after the wanted start, which is 2 h after the arrival, found 2 h",
        ),
        (BARGAINING, &["user.alice.strategy=\"coallocate\""], "the sites of a job's tasks"),
        (BARGAINING, &["user.alice.legs=[\"york\"]"], "only coallocate runs the parts of a job at several sites"),
        (BARGAINING, &["workload.0.shares=[9, 1]"], "expected one number for each of 1 user, found 2"),
        (BARGAINING, &["workload.0.users=[\"alice\", \"bob\"]", "workload.0.shares=[9, 0]"], "1 to 1000"),
        (
            BARGAINING,
            &["workload.0.users=[\"alice\", \"bob\"]", "workload.0.shares=[900, 101]"],
            "expected a sum of at most 1000, found 1001: shares of 90 and 10 are 9 and 1",
        ),
        (BARGAINING, &["provisioning.delta=\"31 s\""], "a lease of at least twice delta"),
        (BARGAINING, &["site.york.price=-1"], "a number"),
        (
            BARGAINING,
            &["site.york.charge=5"],
            "expected core time with its unit, such as \"90 core s\" or \"2.5 core h\", found 5",
        ),
        (BARGAINING, &["user.alice.budget=\"1 core h\""], "only moga, greedy, reserve and coallocate keep a budget"),
        (BARGAINING, &["user.alice.strategy=\"moga\"", "user.alice.budget=2"], "for example \"2 core h\""),
        (
            BARGAINING,
            &["site.york.price=2", "site.york.prices=[{ from = \"8 h\", price = 2.0 }]"],
            "expected either `price` or `prices`, not both",
        ),
        (BARGAINING, &["site.york.prices=[{ from = \"24 h\", price = 2.0 }]"], "expected a time of day, below 24 h"),
        (
            BARGAINING,
            &["site.york.prices=[{ from = \"18 h\", price = 2.0 }, { from = \"8 h\", price = 1.0 }]"],
            "expected ascending times of day, found 8 h after 18 h",
        ),
        (BARGAINING, &["site.york.prices=[{ from = \"18 h\" }]"], "a price, as a multiple of that of best effort"),
        (BARGAINING, &["site.york.prices=2.0"], "a list such as [{ from = \"8 h\", price = 2.0 }"),
        (BARGAINING, &["site.york.charge=\"5 h\""], "for example \"5 core h\""),
        (BARGAINING, &["site.york.charge=\"-5 core h\""], "core time that is not negative"),
        (BARGAINING, &["provisioning.bandwidth=\"fast\""], "expected"),
        (PAIR, &["user.alice.legs=[\"york\", \"leads\"]"], "leads"),
        (PAIR, &["user.alice.legs=[\"york\", \"york\"]"], "expected each site only once"),
    ] {
        let diagnostics = load_text(text, settings).map(|_| ()).unwrap_err().to_string();
        assert!(diagnostics.contains(expected), "{settings:?}: {diagnostics}");
    }
    let elsewhere = BARGAINING.replace("[provisioning]", "[batch]");
    for (setting, expected) in [
        ("user.alice.strategy=\"moga\"", "only users under a [provisioning] negotiate for time"),
        ("site.york.mode=\"exact\"", "only sites under a [provisioning] have terms"),
    ] {
        let diagnostics = load_text(&elsewhere, &[setting]).map(|_| ()).unwrap_err().to_string();
        assert!(diagnostics.contains(expected), "{setting}: {diagnostics}");
    }
}

#[test]
fn errors_have_their_places() {
    for (text, was, is, key, shown) in [
        (BARGAINING, "\"alice\"\n", "\"alice\"\nstrategy = \"mogga\"\n", "user.alice.strategy", "strategy = \"mogga\""),
        (BARGAINING, "\"bob\"\n", "\"bob\"\nstrategy = \"reserve\"\nalpha = 2\n", "user.bob.alpha", "alpha = 2"),
        (BARGAINING, "[provisioning]", "[provisioning]\ndelta = \"31 s\"", "provisioning", "[provisioning]"),
        (PAIR, "\"leeds\"]", "\"leads\"]", "user.alice.legs", "legs = [\"york\", \"leads\"]"),
    ] {
        let text = text.replacen(was, is, 1);
        let diagnostics = load_text(&text, &[]).map(|_| ()).unwrap_err().to_string();
        let line = text.lines().position(|line| line == shown).unwrap() + 1;
        assert!(diagnostics.contains(key), "{diagnostics}");
        assert!(diagnostics.contains(&format!("--> grid.toml:{line}:")), "{line}: {diagnostics}");
        assert!(diagnostics.contains(shown), "{diagnostics}");
    }
}

/// A user that negotiates for some jobs submits others like any other user, patient or not.
#[test]
fn a_negotiating_user_has_jobs_elsewhere_too() {
    let text = |name: &str, habit: &str| {
        format!(
            r#"name = "sides"
[batch]
[provisioning]
[[site]]
name = "york"
cores = 8
latency = "2 s"
system = "batch"
[[site]]
name = "bath"
cores = 8
system = "batch"
[[site]]
name = "leeds"
cores = 16
latency = "1 s"
system = "provisioning"
[defaults.user]
{habit}
strategy = "reserve"
[[user]]
name = "alice"
[[user]]
name = "bob"
[[workload]]
source = "lublin"
jobs = 200
nodes = 8
arrival_factor = 4.0
system = "batch"
users = ["{name}"]
[[workload]]
source = "lublin"
jobs = 30
nodes = 8
system = "provisioning"
users = ["alice"]
"#
        )
    };
    for habit in ["planner = \"script\"", "planner = \"resubmit\"\npatience = \"5 min\""] {
        let ran = |name: &str| {
            let topology = load_text(&text(name, habit), &[]).unwrap();
            let roster = Roster::of_topology(&topology);
            let mut place =
                Place::new(topology::build_actors(&topology, &roster.all()).unwrap(), roster.latencies.clone());
            place.run_before(Stamp::NEVER, usize::MAX).unwrap();
            let mut tally = Tally::new(&topology, &Names::of(&topology));
            let log = place.take_log();
            log.iter().for_each(|entry| tally.add(entry).unwrap());
            assert_eq!(tally.jobs_ended(), topology.jobs());
            let runs = |record: &Record| {
                matches!(record, Record::Started { .. } | Record::Finished { .. } | Record::Withdrawn { .. })
            };
            let log = log.into_iter().filter(|entry| runs(&entry.record));
            log.map(|entry| (entry.stamp.time, format!("{:?}", entry.record))).collect::<BTreeSet<_>>()
        };
        let together = ran("alice");
        let apart = ran("bob");
        assert_eq!(together, apart, "{habit}");
        let taken_back = together.iter().filter(|(_, message)| message.starts_with("Withdrawn")).count();
        assert_eq!(taken_back > 10, habit.contains("resubmit"), "{taken_back}");
    }
}

#[test]
fn jobs_that_cannot_be_negotiated_are_reported_before_the_run() {
    for (settings, expected) in [
        (&["user.alice.legs=[\"leeds\", \"york\"]"][..], "task 0 needs 6 cores, but its leg is at leeds, which has 4"),
        (&["user.alice.legs=[\"york\"]"], "it has 2 tasks, but its user has 1 leg"),
        (&["provisioning.delta=\"2 s\""], "a message between alice and york takes 2 s: expected a larger delta"),
        (&["provisioning.lease=\"20 s\""], "wait for a commit for up to twice delta: expected a lease of at least"),
        (&["workload.0.job.0.edges=[[0, 1]]"], "its tasks wait for each other"),
    ] {
        let error = check_jobs(&load_text(PAIR, settings).unwrap()).unwrap_err().to_string();
        assert!(error.contains(expected), "{settings:?}: {error}");
    }
    let pair = load_text(&PAIR.replace("coallocate\"\nlegs = [\"york\", \"leeds\"]", "reserve\""), &[]).unwrap();
    let error = check_jobs(&pair).unwrap_err().to_string();
    assert!(error.contains("strategy reserve is for jobs of one task, but this one has 2"), "{error}");
}

/// [`BARGAINING`] with a workload of another source.
fn from(source: &str) -> String {
    let (head, _) = BARGAINING.split_once("source = ").unwrap();
    format!("{head}source = {source}\nusers = [\"alice\"]\n")
}

#[test]
fn workflows_of_parallel_tasks_are_sources() {
    let topology =
        load_text(&from("\"parallel\"\nworkflows = 2\nevery = \"1 h\"\ncores = 2\ndata = \"1 GB\""), &[]).unwrap();
    assert_eq!(load_text(&topology.to_toml(), &[]).unwrap(), topology);
    check_jobs(&topology).unwrap();
    assert_eq!(topology.workloads[0].source.job_source().tasks_in_all(), 200);
    let large = from("\"cybershake\"\narrive = \"1 h\"").replace("cores = 8", "cores = 430");
    let topology = load_text(&large, &[]).unwrap();
    assert_eq!(load_text(&topology.to_toml(), &[]).unwrap(), topology);
    check_jobs(&topology).unwrap();
    assert_eq!(topology.workloads[0].source.job_source().tasks_in_all(), 8_039);

    for (source, expected) in [
        ("\"parallel\"\ntasks = 5\ndepth = 6", "at most as many layers as tasks, found a depth of 6 for 5 tasks"),
        ("\"parallel\"\ndata = \"2 PB\"", "expected"),
        ("\"parallel\"\ndata = 9007199254740991", "edges that together carry at most"),
        ("\"parallel\"\ncores = 0", "cores"),
        ("\"paralel\"", "did you mean `parallel`?"),
        ("\"parallel\"\ndept = 6", "did you mean `depth`?"),
        ("\"parallel\"\nworkflows = 3\nevery = \"100000 d\"", "within 285 years"),
        ("\"cybershake\"", "some tasks need 288 cores, but the largest site of kind"),
        ("\"cybershake\"\ntasks = 9", "tasks"),
        ("\"parallel\"\noverestimate = 2.0", "the least and the largest ratio, such as [1.0, 5.0]"),
        ("\"parallel\"\noverestimate = [3.0, 2.0]", "the smaller factor first"),
        ("\"parallel\"\noverestimate = [0.9, 2.0]", "a factor of at least 1"),
        ("\"parallel\"\ntasks = 100000\noverestimate = [1.0, 1000.0]", "tasks that take less than 285 years together"),
    ] {
        let diagnostics = load_text(&from(source), &[]).map(|_| ()).unwrap_err().to_string();
        assert!(diagnostics.contains(expected), "{source}: {diagnostics}");
    }
    let planned = from("\"layered\"\ntasks = 3\noverestimate = [1.0, 2.0]").replace("[provisioning]", "[workflow]");
    let diagnostics = load_text(&planned, &[]).map(|_| ()).unwrap_err().to_string();
    assert!(diagnostics.contains("leave overestimate out"), "{diagnostics}");
    // If a planner places all tasks, none may be wider than every site.
    let planned = from("\"parallel\"\ncores = 5").replace("[provisioning]", "[workflow]");
    let diagnostics = load_text(&planned, &[]).map(|_| ()).unwrap_err().to_string();
    assert!(diagnostics.contains("tasks need up to 9 cores, but the largest site"), "{diagnostics}");
}

/// Run times and graphs are those of the same source without overestimates.
#[test]
fn tasks_of_workflows_request_more_than_their_run_times() {
    let sources = ["\"parallel\"\ncores = 2", "\"layered\"\ntasks = 20", "\"cybershake\""];
    for source in sources {
        let jobs = |more: &str| {
            let text = from(&format!("{source}\nworkflows = 2{more}")).replace("cores = 8", "cores = 430");
            let topology = load_text(&text, &[]).unwrap();
            assert_eq!(load_text(&topology.to_toml(), &[]).unwrap(), topology);
            let source = &topology.workloads[0].source;
            source.jobs(&Platform::default(), Span::from_secs(1), &mut Numbering::default()).unwrap()
        };
        let exact = jobs("");
        let twice = jobs("\noverestimate = [2.0, 2.0]");
        let spread = jobs("\noverestimate = [1.0, 5.0]");
        let ratios = |other: &[Job]| -> Vec<f64> {
            let pairs = exact.iter().zip(other).flat_map(|(one, other)| {
                assert_eq!(one.edges, other.edges);
                one.tasks.iter().zip(&other.tasks)
            });
            let ratio = |(one, other): (&Task, &Task)| {
                assert_eq!((one.runtime, one.cores, one.runtime), (other.runtime, other.cores, one.walltime));
                other.walltime.micros() as f64 / other.runtime.micros() as f64
            };
            pairs.map(ratio).collect()
        };
        assert!(ratios(&twice).iter().all(|ratio| *ratio == 2.0));
        let spread = ratios(&spread);
        let mean = spread.iter().sum::<f64>() / spread.len() as f64;
        assert!((2.4..3.6).contains(&mean) && spread[0] != spread[1], "{source}: {mean}");
        // The second workflow has ratios of its own.
        assert_ne!(spread[..20], spread[spread.len() / 2..][..20]);
    }
}

#[test]
fn jobs_use_the_requested_share_of_a_site() {
    let used = |settings: &[&str], cores| {
        let text = from("\"lublin\"\njobs = 500\nnodes = 4");
        let topology = load_text(&text, settings).unwrap();
        assert_eq!(load_text(&topology.to_toml(), &[]).unwrap(), topology);
        let Source::Rigid(rigids) = &topology.workloads[0].source else { panic!("they are rigid") };
        log_utilisation(&rigids.content.weigh_jobs(u32::MAX), cores)
    };
    let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 0.01 * wanted, "{found} {wanted}");
    near(used(&["workload.0.utilisation=0.5"], 12), 0.5);
    near(used(&["workload.0.utilisation=0.5", "workload.0.site=\"york\""], 8), 0.5);
    // A job of four nodes per hour, for an hour, for 20 days: a third of twelve cores.
    let line = |hour: u64| format!("{} {} -1 3600 4 -1 -1 4 3600 -1 1 1 1 -1 -1 -1 -1 -1\n", hour + 1, hour * 3_600);
    let log: String = (0..480).map(line).collect();
    let text = from("\"swf\"\nfile = \"log.swf\"\nutilisation = 0.4");
    let load = |settings: &[&str]| load_files(&[("grid.toml", text.as_bytes()), ("log.swf", log.as_bytes())], settings);
    for (target, jobs) in [("0.4", 550..600), ("0.2", 270..310)] {
        let loaded = load(&[&format!("workload.0.utilisation={target}")]).unwrap().topology;
        let Source::Rigid(rigids) = &loaded.workloads[0].source else { panic!("they are rigid") };
        near(log_utilisation(&rigids.content.weigh_jobs(u32::MAX), 12), target.parse().unwrap());
        assert!(jobs.contains(&rigids.count), "{}", rigids.count);
        check_copies(rigids, 480);
        let again = load_files(&[("grid.toml", loaded.to_toml().as_bytes()), ("log.swf", log.as_bytes())], &[]);
        assert_eq!(again.unwrap().topology, loaded);
        check_jobs(&loaded).unwrap();
    }
    // A job too wide for every site is no load, and is not one of those that are left out to reach a load.
    let wide: String = (0..480)
        .map(|hour| {
            line(hour).replacen(" 4 ", " 9 ", 2)
                + &line(hour).replacen(&format!("{} ", hour + 1), &format!("{} ", 1000 + hour), 1)
        })
        .collect();
    let files = [("grid.toml", text.as_bytes()), ("log.swf", wide.as_bytes())];
    let loaded = load_files(&files, &["workload.0.utilisation=0.2"]).unwrap().topology;
    let Source::Rigid(rigids) = &loaded.workloads[0].source else { panic!("they are rigid") };
    near(log_utilisation(&rigids.content.weigh_jobs(8), 12), 0.2);
    let note = rigids.content.note().unwrap();
    assert!(note.contains(&format!("`utilisation` leaves out {} jobs", 960 - rigids.count)), "{note}");
    // Twice the rate is twice the load.
    let loaded = load(&["workload.0.arrival_factor=2", "workload.0.utilisation=0.666"]).unwrap().topology;
    let Source::Rigid(rigids) = &loaded.workloads[0].source else { panic!("they are rigid") };
    near(log_utilisation(&rigids.content.weigh_jobs(8), 12), 0.666);
    assert_eq!(rigids.content.jobs.last().unwrap().submit, Time::ZERO + Span::from_secs(479 * 1_800));
    let again = load_files(&[("grid.toml", loaded.to_toml().as_bytes()), ("log.swf", log.as_bytes())], &[]);
    assert_eq!(again.unwrap().topology, loaded);
    let diagnostics = load(&["workload.0.utilisation=0.9"]).map(|_| ()).unwrap_err().to_string();
    assert!(diagnostics.contains("they use only 0.55") && diagnostics.contains("of 12 cores"), "{diagnostics}");
    let diagnostics = load_text(BARGAINING, &["workload.0.utilisation=0"]).map(|_| ()).unwrap_err().to_string();
    assert!(diagnostics.contains("a share above 0, up to 1"), "{diagnostics}");
}

/// Checks that copies of jobs have numbers after the last of the log, and read back.
fn check_copies(rigids: &Rigids, last: u64) {
    let jobs: Vec<Rigid> = rigids.content.jobs.iter().collect();
    let copies: Vec<u64> = jobs.iter().map(|job| job.number).filter(|number| *number > last).collect();
    assert!(copies.iter().copied().eq((last + 1..).take(copies.len())), "{copies:?}");
    let mut text = Vec::new();
    jobs.iter().for_each(|job| swf::write_job(job, &mut text));
    let again = swf::read_log(&text[..]).unwrap();
    assert_eq!((again.jobs.len(), again.faults.left_out), (jobs.len(), 0));
}

/// Alice and mallory negotiate, bob's jobs wait in a queue; jobs 0, 1 and 2 are theirs.
const SHARED: &str = r#"name = "shared"
[provisioning]
[batch]
[network]
[[site]]
name = "york"
cores = 4
system = "provisioning"
[[site]]
name = "leeds"
cores = 4
system = "provisioning"
[[site]]
name = "hull"
cores = 4
system = "batch"
[[link]]
name = "cable"
capacity = "1 MB/s"
between = ["york", "leeds"]
[[link]]
name = "wire"
capacity = "1 MB/s"
between = ["leeds", "hull"]
[[user]]
name = "alice"
[[user]]
name = "mallory"
[[user]]
name = "bob"
[[workload]]
source = "table"
system = "provisioning"
users = ["alice", "mallory"]
[[workload.job]]
tasks = [{ runtime = "1 h", cores = 1 }, { runtime = "1 h", cores = 1 }]
edges = [[0, 1, 1000]]
[[workload.job]]
tasks = [{ runtime = "1 h", cores = 1 }, { runtime = "1 h", cores = 1 }]
edges = [[0, 1, 1000]]
[[workload]]
source = "table"
system = "batch"
users = ["bob"]
[[workload.job]]
tasks = [{ runtime = "1 h", cores = 1 }]
"#;

/// Submits its job, and sends arbitrary requests to the network.
struct Mallory {
    network: ActorId,
    job: Arc<Job>,
    user: ActorId,
    ships: Vec<(EdgeId, u64)>,
}

impl Actor<Message, Record> for Mallory {
    fn handle_batch(&mut self, _: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Outbox<Message, Record>) {
        for event in batch.drain(..) {
            if event.cause == Cause::Start {
                out.log(Record::Arrived { job: self.job.clone(), user: self.user });
                out.wake_at(Time::ZERO + Span::from_secs(30), 0);
            }
            // Ignores all answers.
            if !matches!(event.cause, Cause::Timer(_)) {
                continue;
            }
            for (&(edge, bytes), load) in self.ships.iter().zip(0..) {
                let ship = Ship { load, from: 0, to: 1, bytes, edge, on_behalf: true };
                out.send(self.network, Message::Ship(ship));
            }
        }
    }
}

#[test]
fn a_user_that_sends_data_of_others_is_named() {
    let topology = load_text(SHARED, &[]).unwrap();
    let roster = Roster::of_topology(&topology);
    let names = Names::of(&topology);
    let [mallory, network] = ["mallory", "network"].map(|name| names.find_actor(name).unwrap());
    let task = Task::new(Span::from_minutes(60), 1, Kind(0));
    let job = Job {
        id: JobId(1),
        first_task: 2,
        tasks: vec![task; 2],
        edges: vec![Edge { from: 0, to: 1, data: 1000 }],
        ..Job::default()
    };
    let edge = |job, from, to| EdgeId { job: JobId(job), from, to };
    let blamed = |ships: &[(EdgeId, u64)]| {
        let mut actors = topology::build_actors(&topology, &roster.all()).unwrap();
        let liar = Mallory { network, job: Arc::new(job.clone()), user: mallory, ships: ships.to_vec() };
        let place = actors.iter_mut().find(|(id, _)| *id == mallory).unwrap();
        place.1 = Box::new(liar);
        let mut place = Place::new(actors, roster.latencies.clone());
        place.run_before(Stamp::at(Time::ZERO + Span::from_minutes(10)), usize::MAX).unwrap();
        let mut tally = Tally::new(&topology, &names);
        place.take_log().iter().find_map(|entry| {
            assert_eq!(roster.may_write(entry.actor, &entry.record), Ok(()));
            let RecordError::Inconsistent(wrong) = tally.add(entry).err()? else { panic!("nothing is written") };
            Some(format!("{}: {wrong}", tally.blame_members(entry, &wrong, &BTreeMap::new())))
        })
    };
    assert_eq!(blamed(&[(edge(1, 0, 1), 1000)]), None);
    for (ships, expected) in [
        (vec![(edge(1, 0, 1), 1000); 2], "the data of 1.0-1 is sent twice"),
        (vec![(edge(0, 0, 1), 1000)], "job 0 is not one of mallory"),
        (vec![(edge(2, EdgeId::HOME, 0), 1000)], "job 2 is not one of mallory"),
        (vec![(edge(1, EdgeId::HOME, 0), 1000)], "1.home-0 does not carry the 1000 bytes that are said to leave"),
        (vec![(edge(1, 0, 1), 1001)], "1.0-1 does not carry the 1001 bytes that are said to leave"),
        (vec![(edge(77, 0, 1), 1000)], "job 77 has not arrived"),
    ] {
        assert_eq!(blamed(&ships), Some(format!("user mallory contradicts the records of the run: {expected}")));
    }
}

/// A start at 210 s can be held and committed to in time, but no task can be at york then.
#[test]
fn a_coallocation_takes_no_start_that_its_tasks_cannot_reach() {
    let text = r#"name = "far"
[provisioning]
lease = "10 min"
delta = "25 s"
[[site]]
name = "york"
cores = 2
latency = "10 s"
[[site]]
name = "bath"
cores = 2
[[user]]
name = "crowd"
[[user]]
name = "pair"
strategy = "coallocate"
legs = ["york", "bath"]
alpha = 0.0
latency = "10 s"
[[workload]]
source = "table"
users = ["crowd"]
[[workload.job]]
tasks = [{ runtime = "90 s", cores = 2 }]
[[workload.job]]
tasks = [{ runtime = "90 s", cores = 2 }]
[[workload]]
source = "table"
users = ["pair"]
[[workload.job]]
arrive = "15 s"
tasks = [{ runtime = "55 s", cores = 1 }, { runtime = "55 s", cores = 1 }]
"#;
    let log = super::meeting::run(&load_text(text, &[]).unwrap());
    let ends = log.iter().filter(|entry| matches!(entry.record, Record::Finished { task } if task.job.0 == 2));
    assert_eq!(ends.count(), 2);
}

/// Its user sends data at 50 s, and learns at 51 s that another task is lost; the network receives the request at 60 s.
#[test]
fn data_may_be_on_its_way_to_the_network_while_its_job_is_given_up() {
    let text = r#"name = "late"
[provisioning]
[recovery]
killed = "lost"
[[site]]
name = "york"
cores = 1
kind = "red"
latency = "5 s"
[[site]]
name = "bath"
cores = 1
kind = "blue"
latency = "5 s"
[[link]]
name = "l1"
capacity = "1 MB/s"
between = ["york", "bath"]
[[failure]]
site = "york"
at = "36 s"
for = "10 s"
[[user]]
name = "bob"
latency = "10 s"
[[workload]]
source = "table"
[[workload.job]]
tasks = [
    { runtime = "300 s", cores = 1, kind = "red" },
    { runtime = "20 s", cores = 1, kind = "blue" },
    { runtime = "5 s", cores = 1, kind = "red" },
]
edges = [[1, 2]]
"#;
    let topology = load_text(text, &[]).unwrap();
    let log = run(&topology);
    let names = Names::of(&topology);
    for puts_aside in [false, true] {
        let mut tally = match puts_aside {
            true => Tally::putting_aside(&topology, &names, Box::new(Vec::new())),
            false => Tally::new(&topology, &names),
        };
        for entry in &log {
            tally.add(entry).unwrap();
        }
    }
    let place = |is_it: fn(&Record) -> bool| log.iter().position(|entry| is_it(&entry.record)).unwrap();
    let removed = place(|record| matches!(record, Record::Removed { .. }));
    let shipped = place(|record| matches!(record, Record::Shipped { .. }));
    let delivered = place(|record| matches!(record, Record::Delivered { .. }));
    assert!(removed < shipped && shipped < delivered);
}

/// At 320 s york reports the end of the first task, and bath denies a booking for the second one for the third time.
#[test]
fn a_task_that_becomes_ready_while_its_job_is_left_to_queues_goes_there_once() {
    let job = |arrive, runtime, cores| {
        format!(
            "[[workload.job]]\narrive = \"{arrive} s\"\n\
             tasks = [{{ runtime = \"{runtime} s\", cores = {cores}, kind = \"blue\" }}]\n"
        )
    };
    let text = format!(
        r#"name = "once"
[provisioning]
[[site]]
name = "york"
cores = 1
kind = "red"
latency = "20 s"
[[site]]
name = "bath"
cores = 1
kind = "blue"
latency = "20 s"
[[site]]
name = "hull"
cores = 2
kind = "blue"
latency = "20 s"
[[link]]
name = "l1"
capacity = "1 MB/s"
between = ["york", "bath"]
[[link]]
name = "l2"
capacity = "1 MB/s"
between = ["bath", "hull"]
[[user]]
name = "alice"
strategy = "greedy"
alpha = 0.0
[[user]]
name = "bob"
strategy = "reserve"
alpha = 0.0
[[user]]
name = "dora"
[[workload]]
source = "table"
users = ["alice"]
[[workload.job]]
tasks = [{{ runtime = "180 s", cores = 1, kind = "red" }}, {{ runtime = "10 s", cores = 1, kind = "blue" }}]
edges = [[0, 1]]
[[workload]]
source = "table"
users = ["bob"]
{}[[workload]]
source = "table"
users = ["dora"]
{}"#,
        [50, 130, 210].map(|arrive| job(arrive, 1000, 1)).concat(),
        job(0, 5000, 2)
    );
    let log = run(&load_text(&text, &[]).unwrap());
    let count = |is_it: fn(&Record) -> bool| log.iter().filter(|entry| is_it(&entry.record)).count();
    assert_eq!(
        count(|record| matches!(record, Record::Assigned { task, .. } if task.job.0 == 0 && task.index == 1)),
        1
    );
    assert_eq!(count(|record| matches!(record, Record::Shipped { .. })), 1);
    assert_eq!(count(|record| matches!(record, Record::Completed { .. })), 5);
}

const KINDS: &str = r#"name = "kinds"
[[site]]
name = "york"
cores = 4
kind = "cpu"
[[site]]
name = "leeds"
cores = 4
kind = "gpu"
[[user]]
name = "alice"
[[workload]]
source = "table"
"#;

/// Site of the start of each task, by number in the topology.
fn started_at(topology: &Topology) -> Vec<(u32, u32, usize)> {
    let roster = Roster::of_topology(topology);
    let sites: Vec<ActorId> =
        ["york", "leeds"].map(|name| roster.find(&Party::Site(name.to_owned())).unwrap()).to_vec();
    let site = |actor| sites.iter().position(|site| *site == actor).unwrap();
    let start = |entry: Entry<Record>| match entry.record {
        Record::Started { task, .. } => Some((task.job.0, task.index, site(entry.actor))),
        _ => None,
    };
    let mut started: Vec<_> = run(topology).into_iter().filter_map(start).collect();
    started.sort();
    started
}

#[test]
fn tasks_run_where_there_are_cores_of_their_kind() {
    let task = |kind: &str| format!("{{ runtime = \"100 s\", cores = 1, kind = \"{kind}\" }}");
    let cpu = task("cpu");
    let gpu = task("gpu");
    let graph = format!("[[workload.job]]\ntasks = [{cpu}, {gpu}, {gpu}]\nedges = [[0, 1], [0, 2]]\n");
    for strategy in ["best-effort", "greedy", "moga"] {
        let text = format!("{KINDS}{graph}[provisioning]\n");
        let setting = format!("user.alice.strategy={strategy}");
        let started = started_at(&load_text(&text, &[&setting]).unwrap());
        assert_eq!(started, [(0, 0, 0), (0, 1, 1), (0, 2, 1)], "{strategy}");
    }

    let jobs: String = [&gpu, &cpu, &gpu].map(|task| format!("[[workload.job]]\ntasks = [{task}]\n")).concat();
    for dispatch in ["first", "round-robin", "least-work"] {
        let text = format!("{KINDS}{jobs}[batch]\ndispatch = \"{dispatch}\"\n");
        assert_eq!(started_at(&load_text(&text, &[]).unwrap()), [(0, 0, 1), (1, 0, 0), (2, 0, 1)], "{dispatch}");
    }
}
