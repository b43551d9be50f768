//! Grids that several systems share.

use std::collections::{BTreeMap, BTreeSet};

use super::load_text;
pub(super) use crate::play::play as run;
use crate::{Names, RecordError, Status, Systems, Tally};
use hansa_sim::grid::{JobId, NodeSet, TaskId};
use hansa_sim::kernel::Entry;
use hansa_sim::protocol::{Record, ReserveAnswer};
use hansa_sim::roles::queue;
use hansa_sim::time::Time;
use hansa_sim::topology::{Role, Roster};

const ALONE: &str = r#"name = "meeting"
[workflow]
policy = "best-effort"
[[site]]
name = "york"
cores = 6
system = "workflow"
[[site]]
name = "bath"
cores = 4
speed = 2
system = "workflow"
[network]
switches = ["lab"]
[[link]]
name = "north"
capacity = "40 Mbps"
latency = "2 ms"
between = ["york", "lab"]
[[link]]
name = "south"
capacity = "30 Mbps"
between = ["bath", "lab"]
[[user]]
name = "alice"
[[workload]]
source = "layered"
system = "workflow"
workflows = 4
every = "10 min"
tasks = 30
ccr = 1.0
"#;

/// Adds a market with its own sites to a grid.
fn beside_a_market(text: &str, linked: bool) -> String {
    let sites = "[[site]]\nname = \"hull\"\ncores = 8\nsystem = \"market\"\n\
                 [[site]]\nname = \"leeds\"\ncores = 8\nsystem = \"market\"\n";
    let link = |name: &str, site: &str, end: &str| {
        format!("[[link]]\nname = \"{name}\"\ncapacity = \"10 Mbps\"\nbetween = [\"{site}\", \"{end}\"]\n")
    };
    // They share the lab's links, or only the lab itself.
    let links = match linked {
        true => link("hull-york", "hull", "york") + &link("leeds-bath", "leeds", "bath"),
        false => link("hull-lab", "hull", "lab") + &link("leeds-lab", "leeds", "lab"),
    };
    let jobs = "[[workload]]\nsource = \"market\"\nsystem = \"market\"\njobs = 40\ncores_max = 4\n\
                total_runtime = [\"10 min\", \"3 h\"]\noutput = \"20 Mbps\"\n";
    text.replace("[workflow]\n", "[market]\n[workflow]\n").replace("[network]", &format!("{sites}[network]"))
        + &links
        + jobs
}

/// Events of the tasks of the first `jobs` jobs, with times.
fn story(log: &[Entry<Record>], jobs: u32) -> BTreeSet<(Time, String)> {
    let render_entry = |entry: &Entry<Record>| {
        let (job, what) = match &entry.record {
            Record::Started { task, cores } => (task.job, format!("{task} starts on {cores}")),
            Record::Finished { task } => (task.job, format!("{task} ends")),
            Record::Sent { edge, bytes, .. } | Record::Shipped { edge, bytes, .. } => {
                (edge.job, format!("{bytes} of {edge} leave"))
            }
            Record::Delivered { edge } => (edge.job, format!("{edge} arrives")),
            Record::Completed { job, .. } => (*job, format!("{job} is over")),
            _ => return None,
        };
        (job.0 < jobs).then_some((entry.stamp.time, what))
    };
    log.iter().filter_map(render_entry).collect()
}

#[test]
fn a_service_on_links_of_its_own_behaves_as_if_it_were_alone() {
    let alone = load_text(&ALONE.replace("system = \"workflow\"\n", ""), &[]).unwrap();
    let apart = load_text(&beside_a_market(ALONE, false), &[]).unwrap();
    let expected = story(&run(&alone), 4);
    assert!(expected.iter().any(|(_, what)| what.ends_with("arrives")));
    assert_eq!(story(&run(&apart), 4), expected);

    // On shared links they slow each other down.
    let together = load_text(&beside_a_market(ALONE, true), &[]).unwrap();
    let log = run(&together);
    assert_ne!(story(&log, 4), expected);
    let over = log.iter().filter(|entry| matches!(entry.record, Record::Completed { .. } | Record::Removed { .. }));
    assert_eq!(over.count() as u64, together.jobs());
}

const SHARED: &str = r#"name = "shared"
[batch]
[reservation]
[defaults.site]
system = ["batch", "reservation"]
[[site]]
name = "york"
cores = 32
latency = "1 s"
[[site]]
name = "bath"
cores = 24
scheduler = "conservative"
[[user]]
name = "alice"
[[workload]]
source = "lublin"
jobs = 150
nodes = 24
arrival_factor = 8.0
[[workload]]
source = "reservations"
requests = 80
nodes = 20
arrival_factor = 4.0
"#;

/// The log, system by system: jobs, ended jobs, and core time by site.
#[test]
fn systems_are_separated() {
    let topology = load_text(SHARED, &[]).unwrap();
    let log = run(&topology);
    let mut tally = Tally::new(&topology, &Names::of(&topology));
    log.iter().for_each(|entry| tally.add(entry).unwrap());
    let summary = tally.summary(topology.seed, Status::Complete, String::new());
    let Systems(mut all) = summary.read_part().expect("two systems meet");
    all.sort_by(|one, other| one.name.cmp(&other.name));

    // The first 150 jobs are the queue's. By system: ended jobs, and core microseconds by site, york first.
    let system = |job: JobId| usize::from(job.0 >= 150);
    let roles = Roster::of_topology(&topology).roles;
    let mut over = [0, 0];
    let mut busy = [[0u128; 2]; 2];
    let mut started = BTreeMap::new();
    let mut wanted = BTreeMap::new();
    let mut waits = [(0.0, 0.0); 2];
    for entry in &log {
        match &entry.record {
            Record::Completed { job, .. } => over[system(*job)] += 1,
            Record::Arrived { job, .. } => _ = wanted.insert(job.id, job.arrive),
            Record::Answered { job, ready, .. } => {
                _ = wanted.entry(*job).and_modify(|from: &mut Time| *from = (*from).max(*ready))
            }
            Record::Started { task, cores } => _ = started.insert(*task, (entry.stamp.time, cores.len())),
            Record::Finished { task } | Record::Killed { task } => {
                let (from, cores): (Time, u32) = started[task];
                let Role::Site(site) = roles[entry.actor.index()] else { panic!("only sites end tasks") };
                let micros = u128::from(entry.stamp.time.since(from).micros());
                busy[system(task.job)][site] += u128::from(cores) * micros;
            }
            _ => {}
        }
    }
    let counts = |one: usize| (all[one].name.as_str(), all[one].jobs, all[one].finished);
    assert_eq!([counts(0), counts(1)], [("batch", 150, over[0]), ("reservation", 80, over[1])]);
    for (one, busy) in all.iter().zip(busy) {
        let by_site: Vec<f64> = one.sites.iter().map(|site| site.busy).collect();
        let there: Vec<f64> = busy.into_iter().filter(|micros| *micros > 0).map(|micros| micros as f64 / 1e6).collect();
        assert_eq!(by_site, there, "{}", one.name);
        assert_eq!(one.busy, busy.iter().sum::<u128>() as f64 / 1e6);
    }
    // A request may start before its answer is back, which contains its earliest start.
    for (task, (at, _)) in started {
        let (count, sum) = &mut waits[system(task.job)];
        *count += 1.0;
        *sum += at.since(wanted[&task.job]).micros() as f64 / 1e6;
    }
    for (one, (count, sum)) in all.iter().zip(waits) {
        assert!((one.wait.unwrap() - sum / count).abs() < 1e-6, "{one:?}, but {}", sum / count);
    }
    assert!((all.iter().filter_map(|one| one.share).sum::<f64>() - 1.0).abs() < 1e-12);

    let rows = by_system(&tally, "jobs.csv");
    assert_eq!(rows, [("batch".to_owned(), 150), ("reservation".to_owned(), 80)].into());

    let topology = load_text(&beside_a_market(ALONE, true), &[]).unwrap();
    let mut tally = Tally::new(&topology, &Names::of(&topology));
    run(&topology).iter().for_each(|entry| tally.add(entry).unwrap());
    let tasks: Vec<String> = by_system(&tally, "tasks.csv").into_keys().collect();
    assert_eq!(tasks, ["market", "workflow"]);
}

/// Number of rows of a table by last column, which is the system.
fn by_system(tally: &Tally, table: &str) -> BTreeMap<String, u32> {
    let mut text = String::new();
    let put = |name: &str, bytes: &[u8]| {
        if name == table {
            text.push_str(std::str::from_utf8(bytes).unwrap());
        }
        Ok::<(), RecordError>(())
    };
    tally.close(0, Status::Complete, String::new(), put).unwrap();
    let (heading, rows) = text.split_once('\n').unwrap();
    assert!(heading.ends_with(",name,system"), "{heading}");
    let mut found = BTreeMap::new();
    for row in rows.lines() {
        *found.entry(row.rsplit(',').next().unwrap().to_owned()).or_insert(0) += 1;
    }
    found
}

fn apart(one: &NodeSet, other: &NodeSet) -> bool {
    one.runs().iter().all(|a| other.runs().iter().all(|b| a.1 < b.0 || b.1 < a.0))
}

/// Requests for an immediate start, and a queue that occupies nodes.
const AT_ONCE: &str = r#"[[workload]]
source = "requests"
[[workload.request]]
arrive = "10 min"
ready = "10 min"
duration = "5 min"
deadline = "15.1 min"
nodes = 20
[[workload.request]]
arrive = "11 min"
ready = "11 min"
duration = "10 min"
deadline = "3 h"
nodes = 20
cancel = "11 min"
"#;

#[test]
fn a_request_for_an_immediate_start_may_start_before_its_answer_is_back() {
    for choose in ["first", "global"] {
        for latency in ["0 s", "1 s"] {
            let settings = [format!("reservation.choose=\"{choose}\""), format!("site.york.latency=\"{latency}\"")];
            let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
            let topology = load_text(&format!("{SHARED}{AT_ONCE}"), &settings).unwrap();
            let mut tally = Tally::new(&topology, &Names::of(&topology));
            run(&topology).iter().for_each(|entry| tally.add(entry).unwrap());
            assert_eq!(tally.jobs_ended(), topology.jobs(), "{settings:?}");
        }
    }
}

/// On sites that a queue and reservations share: each request is answered once, an accepted one starts at its time on
/// its nodes, no node runs two tasks, and every job ends.
#[test]
fn a_queue_and_reservations_share_a_site_and_keep_their_promises() {
    for (seed, policy) in ["easy", "fcfs", "conservative", "easy-count", "conservative-count"].iter().enumerate() {
        let topology =
            load_text(SHARED, &[&format!("seed={}", seed + 1), &format!("site.york.scheduler=\"{policy}\"")]).unwrap();
        let mut promised: BTreeMap<JobId, (Time, NodeSet)> = BTreeMap::new();
        let mut started: BTreeMap<JobId, (Time, NodeSet)> = BTreeMap::new();
        let mut answered = BTreeSet::new();
        let mut running: BTreeMap<(u32, TaskId), NodeSet> = BTreeMap::new();
        let mut over = 0;
        let mut accepted = 0;
        let mut queued = 0;
        let log = run(&topology);
        // The tally agrees.
        let mut tally = Tally::new(&topology, &Names::of(&topology));
        log.iter().for_each(|entry| tally.add(entry).unwrap());
        assert_eq!(tally.jobs_ended(), topology.jobs());
        for Entry { stamp, actor, record } in log {
            match record {
                Record::Answered { job, answer, .. } => {
                    assert!(answered.insert(job), "{policy}: request {job} is answered twice");
                    match answer {
                        ReserveAnswer::Accepted { start, nodes, .. } => {
                            promised.insert(job, (start, nodes));
                            accepted += 1;
                        }
                        _ => over += 1,
                    }
                }
                Record::Started { task, cores } => {
                    // It may start before its user gets the answer.
                    match task.job.0 < 150 {
                        true => queued += 1,
                        false => drop(started.insert(task.job, (stamp.time, cores.clone()))),
                    }
                    let mut others = running.iter().filter(|((site, _), _)| *site == actor.0);
                    assert!(others.all(|(_, busy)| apart(busy, &cores)), "{policy}: {task} on {cores}");
                    running.insert((actor.0, task), cores);
                }
                Record::Moved { task, cores } => drop(running.insert((actor.0, task), cores)),
                Record::Finished { task } | Record::Killed { task } => drop(running.remove(&(actor.0, task))),
                Record::Completed { .. } | Record::Cancelled { .. } | Record::Rejected { .. } => over += 1,
                _ => {}
            }
        }
        assert!(running.is_empty());
        assert_eq!(started, promised, "{policy}");
        assert_eq!((answered.len(), over), (80, topology.jobs()), "{policy}");
        assert!(accepted > 10 && queued == 150, "{policy}: {accepted} accepted, {queued} queued");
    }
}

/// A job of a minute and a half on half of a site, maintenance of one of its nodes, and requests for the next minute:
/// the first has room beside these, and the second has not.
const BESIDE: &str = r#"name = "beside"
[batch]
[reservation]
[[site]]
name = "york"
cores = 8
system = ["batch", "reservation"]
reserved = [{ from = "50 s", until = "60 s", nodes = "6" }]
[[user]]
name = "alice"
[[workload]]
source = "table"
system = "batch"
job = [{ arrive = "0 s", tasks = [{ runtime = "90 s", cores = 4 }] }]
[[workload]]
source = "requests"
request = [
    { arrive = "5 s", ready = "20 s", duration = "40 s", nodes = 3, deadline = "90 s" },
    { arrive = "5 s", ready = "20 s", duration = "40 s", nodes = 1 },
]
"#;

#[test]
fn requests_get_other_nodes_of_a_shared_site_if_the_lowest_are_taken() {
    for (entry, latency) in queue::ALL.iter().flat_map(|entry| [(entry, 0), (entry, 3), (entry, 6)]) {
        let policy = entry.name;
        let settings = [format!("site.york.scheduler=\"{policy}\""), format!("site.york.latency=\"{latency} s\"")];
        let topology = load_text(BESIDE, &[&settings[0], &settings[1]]).unwrap();
        let log = run(&topology);
        let mut tally = Tally::new(&topology, &Names::of(&topology));
        log.iter().for_each(|entry| tally.add(entry).unwrap());
        let answer = |entry: &Entry<Record>| match &entry.record {
            Record::Answered { job, answer: ReserveAnswer::Accepted { start, nodes, .. }, .. } => {
                Some((*job, format!("{nodes} from {} s", start.seconds())))
            }
            Record::Answered { job, .. } => Some((*job, "declined".to_owned())),
            _ => None,
        };
        let answers: BTreeMap<JobId, String> = log.iter().filter_map(answer).collect();
        let answers: Vec<&str> = answers.values().map(String::as_str).collect();
        // Where nodes are counted, the job makes way for the first request. No node is left for the second one while
        // one is reserved.
        let counts = entry.counts();
        // With a latency of 6 s, the site's first answer is back at 17 s, and it gets the next question at 23 s.
        let first = match (counts, latency) {
            (true, _) => "0-2 from 20 s",
            (false, 6) => "4-5 7 from 23 s",
            (false, _) => "4-5 7 from 20 s",
        };
        let expected = [first, "declined"];
        assert_eq!(answers, expected, "{policy}, {latency}");
    }
}

/// A job that negotiates, a reservation, and nodes that have just failed.
const DOWN: &str = r#"name = "down"
[provisioning]
[reservation]
[[site]]
name = "york"
cores = 8
system = ["provisioning", "reservation"]
[[user]]
name = "alice"
[[workload]]
source = "table"
system = "provisioning"
job = [{ arrive = "11 s", tasks = [{ runtime = "15 s", cores = 2 }] }]
[[workload]]
source = "requests"
system = "reservation"
request = [{ arrive = "12 s", ready = "20 s", duration = "40 s", nodes = 3, deadline = "90 s" }]
[[failure]]
site = "york"
nodes = "1-2"
at = "10 s"
for = "100 s"
"#;

#[test]
fn requests_get_other_nodes_of_a_renting_site_if_nodes_are_down() {
    // With a latency of 3 s, the site's report of the nodes that are up arrives at 18 s, and it gets the next question
    // at 21 s.
    for (latency, start) in [(0, 20), (1, 20), (3, 21)] {
        let topology = load_text(DOWN, &[&format!("site.york.latency=\"{latency} s\"")]).unwrap();
        let log = run(&topology);
        let mut tally = Tally::new(&topology, &Names::of(&topology));
        log.iter().for_each(|entry| tally.add(entry).unwrap());
        assert_eq!(tally.jobs_ended(), 2, "{latency}");
        let answer = log.iter().find_map(|entry| match &entry.record {
            Record::Answered { answer, .. } => Some(answer),
            _ => None,
        });
        let Some(ReserveAnswer::Accepted { start: at, nodes, .. }) = answer else { panic!("{latency}: {answer:?}") };
        // The job ran on two of these, as there is more room beside it. It continues on nodes without bookings.
        assert_eq!((at.seconds().to_string(), nodes.to_string()), (start.to_string(), "0 3-4".to_owned()), "{latency}");
        let moved = |entry: &Entry<Record>| matches!(&entry.record, Record::Moved { cores, .. } if apart(cores, nodes));
        assert_eq!(log.iter().filter(|entry| moved(entry)).count(), 1, "{latency}");
    }
}

/// Two requests, the first of which holds all of york until it is cancelled, and a job at leeds, on node 0.
const AT_HOME: &str = r#"name = "at-home"
[batch]
[reservation]
policy = "ff"
[[site]]
name = "york"
cores = 4
system = "reservation"
[[site]]
name = "leeds"
cores = 6
system = ["batch", "reservation"]
[[user]]
name = "alice"
[[workload]]
source = "table"
system = "batch"
job = [{ arrive = "0 s", tasks = [{ runtime = "1000 s", walltime = "1000 s", cores = 1 }] }]
[[workload]]
source = "requests"
system = "reservation"
[[workload.request]]
arrive = "1 s"
ready = "40 s"
duration = "1000 s"
nodes = 4
cancel = "25 s"
[[workload.request]]
arrive = "2 s"
ready = "50 s"
deadline = "250 s"
shapes = [{ nodes = 4, duration = "20 s" }, { nodes = 2, duration = "40 s" }]
[[failure]]
site = "leeds"
nodes = "1-2"
at = "30 s"
for = "300 s"
[recovery]
bookings = "move"
"#;

/// The request has nodes 1 to 4 of leeds at 50 s. When two of these are down, leeds has no four others, as it says when
/// it is asked, but it has two.
#[test]
fn a_moved_request_gets_another_shape_at_its_site_before_another_site() {
    let topology = load_text(AT_HOME, &[]).unwrap();
    let log = run(&topology);
    let names = Names::of(&topology);
    let starts = |entry: &Entry<Record>| match &entry.record {
        Record::Started { task, cores } if task.job == JobId(2) => {
            let site = &names.actors[entry.actor.index()];
            Some(format!("{cores} of {site} at {} s", entry.stamp.time.seconds()))
        }
        _ => None,
    };
    let moves = log.iter().filter(|entry| matches!(&entry.record, Record::Rebooked { .. })).count();
    let starts: Vec<String> = log.iter().filter_map(starts).collect();
    assert_eq!((moves, starts), (1, vec!["3-4 of leeds at 50 s".to_owned()]));
}

/// On a site that a queue, reservations, a market and negotiating users share, under every planner: accepted work
/// starts at its time on its nodes, no node runs two tasks, no actor breaks a promise, and every job ends.
#[test]
fn a_site_that_lets_its_time_serves_all_others_too() {
    let mut moved = 0;
    let mut booked = 0;
    // With these seeds, replanning at each arrival in the queue would advance the starts of others.
    let slotlist = [1, 7, 16, 17, 19, 22, 28].map(|seed| (seed, "slotlist"));
    for (seed, planner) in (2..).zip(queue::ALL.iter().map(|entry| entry.name)).chain(slotlist) {
        let settings = [format!("seed={seed}"), format!("site.york.scheduler=\"{planner}\"")];
        let topology = load_text(ONE_SITE, &[&settings[0], &settings[1]]).unwrap();
        let log = run(&topology);
        let mut tally = Tally::new(&topology, &Names::of(&topology));
        log.iter().for_each(|entry| tally.add(entry).unwrap());
        assert_eq!(tally.jobs_ended(), topology.jobs(), "{planner} {seed}");
        let mut promised = BTreeMap::new();
        let mut running = BTreeMap::<TaskId, NodeSet>::new();
        let mut started = BTreeMap::new();
        for Entry { stamp, actor, record } in log {
            let is_york = Roster::of_topology(&topology).names[actor.index()] == "york";
            match record {
                Record::Answered { job, answer: ReserveAnswer::Accepted { start, nodes, .. }, .. } => {
                    promised.insert(job, (start, nodes));
                }
                Record::Started { task, cores } if is_york => {
                    assert!(running.values().all(|busy| apart(busy, &cores)), "{planner} {seed}: {task} on {cores}");
                    started.insert(task.job, (stamp.time, cores.clone()));
                    running.insert(task, cores);
                }
                Record::Moved { task, cores } => {
                    moved += 1;
                    running.insert(task, cores);
                }
                Record::Finished { task } | Record::Killed { task } => drop(running.remove(&task)),
                Record::Booked { .. } => booked += 1,
                _ => {}
            }
        }
        assert!(running.is_empty() && promised.len() > 10, "{planner} {seed}: {} accepted", promised.len());
        for (job, promise) in promised {
            assert_eq!(started[&job], promise, "{planner} {seed}");
        }
    }
    assert!(moved > 10 && booked > 50, "{moved} moved, {booked} booked");
}

const ONE_SITE: &str = r#"name = "one-site"
[provisioning]
[batch]
[reservation]
[market]
[[site]]
name = "york"
cores = 48
latency = "1 s"
system = ["provisioning", "batch", "reservation", "market"]
[[user]]
name = "alice"
[[user]]
name = "boris"
latency = "1 s"
strategy = "reserve"
[[user]]
name = "bella"
latency = "1 s"
strategy = "moga"
[[workload]]
source = "lublin"
system = "batch"
jobs = 120
nodes = 32
arrival_factor = 6.0
overestimate = 2.0
users = ["alice"]
[[workload]]
source = "reservations"
system = "reservation"
requests = 60
nodes = 24
arrival_factor = 4.0
users = ["alice"]
[[workload]]
source = "market"
system = "market"
jobs = 30
load = 0.3
cores_max = 16
total_runtime = ["10 min", "6 h"]
users = ["alice"]
[[workload]]
source = "lublin"
system = "provisioning"
jobs = 40
nodes = 16
arrival_factor = 6.0
users = ["boris"]
[[workload]]
source = "layered"
system = "provisioning"
workflows = 4
every = "3 h"
tasks = 20
users = ["bella"]
"#;

#[test]
fn systems_that_cannot_share_a_site_are_reported() {
    for (settings, expected) in [
        (
            &["site.york.system=[\"market\", \"reservation\"]"][..],
            "cannot share a site: only a [batch] or [provisioning] shares its sites",
        ),
        (&["site.york.system=\"batsh\""], "did you mean"),
        (
            &[
                "site.york.system=[\"batch\", \"provisioning\"]",
                "site.york.reserved=[{ from = \"1 d\", until = \"2 d\", nodes = \"0\" }]",
            ],
            "only a [reservation] or [batch] plans around it, and [provisioning] runs this site",
        ),
        (&["site.york.system=[\"batch\", \"batch\"]"], "each only once"),
        (&["workload.0.system=\"reservation\""], "as a reservation has a deadline"),
        (&["user.alice.patience=\"1 h\""], "planner = \"resubmit\""),
        (&["user.alice.planner=\"resubmitt\""], "did you mean"),
    ] {
        let text = SHARED.replace("[batch]\n", "[market]\n[batch]\n[provisioning]\n");
        let message = load_text(&text, settings).map(drop).unwrap_err().to_string();
        assert!(message.contains(expected), "{settings:?}: {message}");
    }
}
