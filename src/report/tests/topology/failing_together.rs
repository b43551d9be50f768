//! Failing sites that several systems use, or with reserved nodes: whole grids, mostly, drawn at random.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use proptest::prelude::*;

use super::{cases, load_text};
use crate::play::play_checked as play;
use crate::play::second;
use crate::{Names, Status, Tally};
use hansa_sim::grid::{Bookings, Calendar, JobId, Killed, NodeSet, Outages, QueueOrder, TaskId};
use hansa_sim::kernel::{ActorId, Entry};
use hansa_sim::protocol::{Record, ReserveAnswer};
use hansa_sim::roles::queue;
use hansa_sim::time::{Span, Time};
use hansa_sim::topology::{Roster, Topology};

/// York and bath are shared, leeds has reservations only.
const SITES: [(&str, u32); 3] = [("york", 6), ("bath", 4), ("leeds", 5)];

/// Arrival, nodes, walltime, run time and input of a queued job.
type Queued = (u64, u32, u64, u64, u64);
/// Submission, time until it is ready, duration, slack, run time, nodes, cancellation after this time, and input of a
/// request.
type Asked = (u64, u64, u64, u64, u64, u32, Option<u64>, u64);
/// Arrival, nodes and run time of a negotiated job.
type Bargained = (u64, u32, u64);
/// Start, duration and range of reserved nodes.
type Kept = (u64, u64, u32, u32);

#[derive(Clone, Debug)]
struct Story {
    policies: (usize, usize),
    /// Orders of the queues of york and bath.
    orders: (usize, usize),
    queued: Vec<Queued>,
    asked: Vec<Asked>,
    /// Tasks of a market and of a planner at york, if these use it too.
    sold: Option<Vec<(u64, u32, u64)>>,
    /// Jobs of a user that negotiates with york and bath, if these rent their time, and the user's strategy.
    bargained: Option<(usize, Vec<Bargained>)>,
    /// True if that user has all other jobs too.
    is_alone: bool,
    reserved: Vec<Kept>,
    latencies: [u64; 4],
    report_every: [u64; 3],
    has_links: bool,
    global: bool,
    fails: bool,
    failures: (u64, u64, u64, bool),
    recovery: (usize, usize, u32, u64),
    /// True if requests have three shapes.
    is_malleable: bool,
}

/// Nodes and duration in seconds of the shapes of a request: its own, half the nodes for twice the time, and one node
/// more for a second less.
fn shapes(nodes: u32, duration: u64) -> [(u32, u64); 3] {
    [(nodes, duration), (nodes.div_ceil(2), 2 * duration), (nodes + 1, duration.saturating_sub(1).max(1))]
}

/// An order of a queue, mostly that of arrival.
fn order() -> impl Strategy<Value = usize> {
    let arrival = QueueOrder::ALL.iter().position(|(_, order, _)| *order == QueueOrder::Arrival);
    prop_oneof![1 => Just(arrival.expect("it is an order")), 1 => 0..QueueOrder::ALL.len()]
}

fn story() -> impl Strategy<Value = Story> {
    let input = || prop::sample::select(vec![0u64, 0, 3, 9]);
    let queued = (0u64..60, 1u32..=7, 1u64..30, 1u64..30, input());
    let cancel = prop::option::weighted(0.2, 0u64..40);
    let asked = (0u64..60, 0u64..20, 1u64..20, 0u64..40, 1u64..20, 1u32..7, cancel, input());
    let sold = prop::option::weighted(0.4, prop::collection::vec((0u64..60, 1u32..6, 1u64..15), 2..6));
    let bargained = prop::collection::vec((0u64..60, 1u32..5, 1u64..15), 1..8);
    let bargained = prop::option::weighted(0.5, (0..STRATEGIES.len(), bargained));
    let kept = (0u64..80, 1u64..25, 0u32..6, 1u32..5);
    (
        ((0..queue::ALL.len(), 0..queue::ALL.len(), order(), order()), prop::array::uniform4(any::<bool>())),
        (prop::collection::vec(queued, 0..14), prop::collection::vec(asked, 1..18), sold, bargained),
        prop::collection::vec(kept, 0..4),
        (prop::array::uniform4(0u64..3), prop::array::uniform3(prop::sample::select(vec![0u64, 0, 0, 4]))),
        (prop::bool::weighted(0.8), (10u64..150, 1u64..40, 0u64..1_000, any::<bool>())),
        (0usize..3, 0usize..4, 1u32..5, prop::sample::select(vec![0u64, 0, 2, 5])),
    )
        .prop_map(
            |(
                ((york, bath, order, other), [has_links, global, is_alone, is_malleable]),
                (queued, asked, sold, bargained),
                reserved,
                rest,
                failures,
                recovery,
            )| {
                let (latencies, report_every) = rest;
                let (fails, failures) = failures;
                Story {
                    policies: (york, bath),
                    orders: (order, other),
                    queued,
                    asked,
                    sold,
                    bargained,
                    is_alone,
                    reserved,
                    latencies,
                    report_every,
                    has_links,
                    global,
                    fails,
                    failures,
                    recovery,
                    is_malleable,
                }
            },
        )
}

impl Story {
    fn policy(&self, site: usize) -> Option<&'static str> {
        let policies = [Some(self.policies.0), Some(self.policies.1), None];
        policies[site].map(|policy| queue::ALL[policy].name)
    }

    /// The order of a site's queue; None if its manager has no choice of it.
    fn order(&self, site: usize) -> Option<&'static str> {
        let orders = [Some(self.orders.0), Some(self.orders.1), None];
        orders[site].filter(|_| self.bargained.is_none()).map(|order| QueueOrder::ALL[order].0)
    }

    /// True if jobs of a site are only counted, and may be moved.
    fn counts(&self, site: usize) -> bool {
        self.policy(site).is_some_and(|name| queue::find_policy(name).unwrap().counts() || self.bargained.is_some())
    }

    /// True if a job is useless without its siblings at other sites at the same time.
    fn is_leg(&self, job: JobId) -> bool {
        let coallocates = self.bargained.as_ref().is_some_and(|(strategy, _)| STRATEGIES[*strategy].0 == "coallocate");
        let sold = self.sold.as_ref().map_or(0, |sold| 2 * sold.len());
        coallocates && job.0 as usize >= self.queued.len() + self.asked.len() + sold
    }

    /// Reserved nodes at york, if its queue supports them: the first of those that overlap.
    fn reserved(&self) -> Vec<(Time, Time, NodeSet)> {
        if self.bargained.is_some() {
            return Vec::new();
        }
        let mut calendar = Calendar::new(SITES[0].1);
        let meant = self.reserved.iter().map(|&(from, lasts, first, count)| {
            let nodes = NodeSet::from_run(first, (first + count - 1).min(SITES[0].1 - 1));
            (second(from), second(from + lasts), nodes)
        });
        meant.filter(|(from, until, nodes)| calendar.insert(*from, *until, nodes).is_ok()).collect()
    }

    fn text(&self) -> String {
        let (mtbf, mttr, seed, announced) = self.failures;
        let mut text = format!("name = \"together\"\nseed = {seed}\n[batch]\n[reservation]\n");
        let choose = if self.global { "global" } else { "first" };
        writeln!(text, "choose = \"{choose}\"").unwrap();
        let others = match &self.sold {
            Some(_) => {
                text += "[market]\npolicy = \"fifo\"\n[workflow]\npolicy = \"heft\"\n";
                ", \"market\", \"workflow\""
            }
            None => "",
        };
        let lets = match &self.bargained {
            Some(_) => {
                text += "[provisioning]\ndelta = \"10 s\"\nlease = \"1 min\"\n";
                ", \"provisioning\""
            }
            None => "",
        };
        for (number, (name, cores)) in SITES.iter().enumerate() {
            let latency = self.latencies[number];
            let report_every = self.report_every[number];
            let system = match number {
                0 => format!("[\"batch\", \"reservation\"{others}{lets}]"),
                1 => format!("[\"batch\", \"reservation\"{lets}]"),
                _ => "\"reservation\"".to_owned(),
            };
            writeln!(
                text,
                "[[site]]\nname = \"{name}\"\ncores = {cores}\nlatency = \"{latency} s\"\nsystem = {system}"
            )
            .unwrap();
            if report_every > 0 {
                writeln!(text, "report_every = \"{report_every} s\"").unwrap();
            }
            if let Some(policy) = self.policy(number) {
                writeln!(text, "scheduler = \"{policy}\"").unwrap();
            }
            if let Some(order) = self.order(number) {
                writeln!(text, "order = \"{order}\"").unwrap();
                writeln!(text, "multifactor = {{ age = 900, max_age = \"2 min\", fair_share = 500 }}").unwrap();
            }
            let reserved = if number == 0 { self.reserved() } else { Vec::new() };
            let kept = reserved.iter().map(|(from, until, nodes)| {
                let from = from.seconds();
                let until = until.seconds();
                format!("{{ from = \"{from} s\", until = \"{until} s\", nodes = \"{nodes}\" }}")
            });
            let kept: Vec<String> = kept.collect();
            if !kept.is_empty() {
                writeln!(text, "reserved = [{}]", kept.join(", ")).unwrap();
            }
        }
        if self.has_links {
            for name in ["york", "bath"] {
                writeln!(
                    text,
                    "[[link]]\nname = \"{name}-leeds\"\ncapacity = \"8 Mbps\"\nbetween = [\"{name}\", \"leeds\"]"
                )
                .unwrap();
            }
            text += "[[link]]\nname = \"york-bath\"\ncapacity = \"8 Mbps\"\nbetween = [\"york\", \"bath\"]\n";
        }
        writeln!(text, "[[user]]\nname = \"ann\"\nlatency = \"{} s\"", self.latencies[3]).unwrap();
        if let Some((strategy, _)) = &self.bargained {
            let (strategy, more) = STRATEGIES[*strategy];
            writeln!(text, "[[user]]\nname = \"ben\"\nlatency = \"1 s\"\nstrategy = \"{strategy}\"\n{more}").unwrap();
        }
        if !self.fails {
            self.write_jobs(&mut text);
            return text;
        }
        writeln!(
            text,
            "[[failure]]\nsite = \"york\"\nmtbf = \"{mtbf} s\"\nmttr = \"{mttr} s\"\nannounced = {announced}\n\
             [[failure]]\nsite = \"bath\"\nmtbf = \"{} s\"\nmttr = \"{mttr} s\"\nper = \"site\"\nshare = 0.5\nannounced = {}\n\
             [[failure]]\nsite = \"york\"\nat = \"20 s\"\nfor = \"15 s\"\nnodes = \"0-3\"\n\
             [[failure]]\nsite = \"leeds\"\nat = \"30 s\"\nfor = \"20 s\"",
            2 * mtbf, !announced
        )
        .unwrap();
        let (bookings, killed, attempts, every) = self.recovery;
        let bookings = Bookings::ALL[bookings].0;
        let killed = Killed::ALL[killed].0;
        writeln!(
            text,
            "[recovery]\nbookings = \"{bookings}\"\nkilled = \"{killed}\"\nattempts = {attempts}\ncompensation = 0.25"
        )
        .unwrap();
        if every > 0 {
            writeln!(text, "checkpoint = {{ every = \"{every} s\", cost = \"500 ms\" }}").unwrap();
        }
        self.write_jobs(&mut text);
        text
    }

    fn write_jobs(&self, text: &mut String) {
        let user = if self.bargained.is_some() && self.is_alone { "ben" } else { "ann" };
        let data = |text: &mut String, input: u64| {
            if self.has_links && input > 0 {
                writeln!(text, "input = {}", input * 1_000_000).unwrap();
            }
        };
        let home = if self.has_links { "home = \"leeds\"\noutput = 500000\n" } else { "" };
        let mut queued = self.queued.clone();
        queued.sort_by_key(|job| job.0);
        if !queued.is_empty() {
            write!(text, "[[workload]]\nsource = \"table\"\nsystem = \"batch\"\nusers = [\"{user}\"]\n{home}").unwrap();
        }
        for (arrive, nodes, walltime, runtime, input) in queued {
            writeln!(
                text,
                "[[workload.job]]\narrive = \"{arrive} s\"\n\
                 tasks = [{{ runtime = \"{runtime} s\", walltime = \"{walltime} s\", cores = {nodes} }}]"
            )
            .unwrap();
            data(text, input);
        }
        let mut asked = self.asked.clone();
        asked.sort_by_key(|request| request.0);
        write!(text, "[[workload]]\nsource = \"requests\"\nusers = [\"{user}\"]\n{home}").unwrap();
        for (arrive, ahead, duration, slack, runtime, nodes, cancel, input) in asked {
            let ready = arrive + ahead;
            let runtime = runtime.min(duration);
            writeln!(
                text,
                "[[workload.request]]\narrive = \"{arrive} s\"\nready = \"{ready} s\"\ndeadline = \"{} s\"",
                ready + duration + slack
            )
            .unwrap();
            if self.is_malleable {
                let shapes = shapes(nodes, duration).map(|(nodes, duration)| {
                    let runtime = runtime.min(duration);
                    format!("{{ nodes = {nodes}, duration = \"{duration} s\", runtime = \"{runtime} s\" }}")
                });
                writeln!(text, "shapes = [{}]", shapes.join(", ")).unwrap();
            } else {
                let keys = format!("duration = \"{duration} s\"\nnodes = {nodes}\nruntime = \"{runtime} s\"");
                writeln!(text, "{keys}").unwrap();
            }
            if let Some(cancel) = cancel {
                writeln!(text, "cancel = \"{} s\"", arrive + cancel).unwrap();
            }
            data(text, input);
        }
        let mut sold = self.sold.clone().unwrap_or_default();
        sold.sort_by_key(|task| task.0);
        for system in ["market", "workflow"].into_iter().filter(|_| self.sold.is_some()) {
            writeln!(text, "[[workload]]\nsource = \"table\"\nsystem = \"{system}\"\nusers = [\"{user}\"]").unwrap();
            for (arrive, cores, runtime) in &sold {
                writeln!(
                    text,
                    "[[workload.job]]\narrive = \"{arrive} s\"\n\
                     tasks = [{{ runtime = \"{runtime} s\", cores = {cores} }}, {{ runtime = \"5 s\", cores = 1 }}]\n\
                     edges = [[0, 1]]"
                )
                .unwrap();
            }
        }
        let Some((strategy, jobs)) = &self.bargained else { return };
        let mut jobs = jobs.clone();
        jobs.sort_by_key(|job| job.0);
        writeln!(text, "[[workload]]\nsource = \"table\"\nsystem = \"provisioning\"\nusers = [\"ben\"]").unwrap();
        for (arrive, cores, runtime) in jobs {
            let task = format!("{{ runtime = \"{runtime} s\", cores = {cores} }}");
            let tasks = if STRATEGIES[*strategy].0 == "coallocate" { format!("{task}, {task}") } else { task };
            writeln!(text, "[[workload.job]]\narrive = \"{arrive} s\"\ntasks = [{tasks}]").unwrap();
        }
    }
}

/// Strategies, each with the keys that its user needs.
const STRATEGIES: [(&str, &str); 7] = [
    ("best-effort", ""),
    ("moga", ""),
    ("greedy", ""),
    ("reserve", ""),
    ("var", "ahead = \"30 s\""),
    ("var-and-reserve", "ahead = \"30 s\""),
    ("coallocate", "legs = [\"york\", \"bath\"]"),
];

/// A task on nodes of a site, with start and end, and true if it was lost then.
struct Stint {
    task: TaskId,
    site: ActorId,
    nodes: NodeSet,
    from: Time,
    to: Time,
    is_first: bool,
    lost: bool,
}

/// Stints of all tasks; an error if a task is at two places, or never ends.
fn stints(log: &[Entry<Record>]) -> Result<Vec<Stint>, TestCaseError> {
    let mut on: BTreeMap<TaskId, Stint> = BTreeMap::new();
    let mut all = Vec::new();
    let mut ran = BTreeSet::new();
    for Entry { stamp, actor, record } in log {
        let now = stamp.time;
        match record {
            Record::Started { task, cores } => {
                let is_first = ran.insert(*task);
                let task = *task;
                let stint = Stint {
                    task,
                    site: *actor,
                    nodes: cores.clone(),
                    from: now,
                    to: Time::NEVER,
                    is_first,
                    lost: false,
                };
                prop_assert!(on.insert(task, stint).is_none(), "{} runs twice", task);
            }
            Record::Moved { task, cores } => {
                let stint = on.get_mut(task).expect("who moves has started");
                let next = Stint { nodes: cores.clone(), from: now, to: Time::NEVER, is_first: false, ..*stint };
                all.push(Stint { to: now, ..std::mem::replace(stint, next) });
            }
            Record::Finished { task } | Record::Killed { task } | Record::Lost { task, .. } => {
                let lost = matches!(record, Record::Lost { .. });
                let stint = on.remove(task);
                prop_assert!(stint.is_some(), "{} ends but does not run", task);
                all.extend(stint.map(|stint| Stint { to: now, lost, ..stint }));
            }
            _ => {}
        }
    }
    prop_assert!(on.is_empty());
    Ok(all)
}

/// Outages of a site up to a time, by node.
fn outages(mut outages: Outages, end: Time) -> Vec<(Time, Time, u32)> {
    let mut since: BTreeMap<u32, Time> = BTreeMap::new();
    let mut all = Vec::new();
    for change in outages.advance(end) {
        for node in change.nodes.each() {
            match change.is_up {
                true => all.extend(since.remove(&node).map(|from| (from, change.at, node))),
                false => assert_eq!(since.insert(node, change.at), None),
            }
        }
    }
    all.extend(since.into_iter().map(|(node, from)| (from, end + Span::from_secs(1), node)));
    all
}

/// Checks that no node runs two tasks, or any while it is down, and that a lost task loses a node at that time. Where
/// nodes have identities, nothing runs on reserved nodes either.
fn check_nodes(story: &Story, topology: &Topology, log: &[Entry<Record>], all: &[Stint]) -> Result<(), TestCaseError> {
    let end = log.last().map_or(Time::ZERO, |entry| entry.stamp.time);
    let roster = Roster::of_topology(topology);
    for (number, (name, nodes)) in SITES.iter().enumerate() {
        let site = roster.names.iter().position(|other| other == name).expect("it is in the plan");
        let here = || all.iter().filter(|stint| stint.site.index() == site);
        let down = topology.failing().site(number).map_or_else(Vec::new, |fails| outages(fails.outages, end));
        for Stint { task, nodes, from, to, lost, .. } in here() {
            let fails = down.iter().filter(|(_, _, node)| nodes.contains(&NodeSet::from_run(*node, *node)));
            let fails: Vec<Time> = fails.map(|(at, ..)| *at).filter(|at| from < at && at <= to).collect();
            prop_assert!(fails.iter().all(|at| at == to), "{} is on {} up to {}", task, nodes, to);
            let may_be_lost = !fails.is_empty() || story.is_leg(task.job);
            prop_assert!(!lost || may_be_lost, "{} is lost on {} at {}", task, nodes, to);
        }
        let mut calendar = Calendar::new(*nodes);
        for (from, to, node) in down {
            prop_assert_eq!(calendar.insert(from, to, &NodeSet::from_run(node, node)), Ok(()));
        }
        for Stint { task, nodes, from, to, .. } in here().filter(|stint| stint.from < stint.to) {
            let free = calendar.insert(*from, *to, nodes);
            prop_assert_eq!(free, Ok(()), "{} on {} from {} to {} at {}", task, nodes, from, to, name);
        }
        let counts = story.counts(number);
        for (from, until, kept) in story.reserved().iter().filter(|_| number == 0 && !counts) {
            let mut there = here().filter(|stint| stint.from < *until && *from < stint.to);
            prop_assert!(!there.any(|stint| stint.nodes.meets(kept)), "{} are reserved from {}", kept, from);
        }
    }
    Ok(())
}

/// Promises of each request, last one last: site, start, end and nodes.
type Promises = BTreeMap<JobId, Vec<(ActorId, Time, Time, NodeSet)>>;

/// Checks that each request is answered once, that an accepted one has one end, and that it runs within a promise.
fn check_promises(
    story: &Story,
    topology: &Topology,
    log: &[Entry<Record>],
    all: &[Stint],
) -> Result<(), TestCaseError> {
    let (bookings, _, _, every) = story.recovery;
    let bookings = Bookings::ALL[bookings].1;
    let stretched = |work: Span| match topology.recovery.checkpoint {
        Some(checkpoint) if every > 0 => checkpoint.checkpoint_schedule(0.0).unwrap().with_checkpoints(work),
        _ => work,
    };
    let mut asked = story.asked.clone();
    asked.sort_by_key(|request| request.0);
    let first = story.queued.len() as u32;
    let request = |job: &JobId| &asked[(job.0 - first) as usize];
    let mut promises: Promises = BTreeMap::new();
    let mut chosen: BTreeMap<JobId, usize> = BTreeMap::new();
    let shape = |job: &JobId, chosen: &BTreeMap<JobId, usize>| {
        let (_, _, duration, _, _, nodes, ..) = *request(job);
        shapes(nodes, duration)[chosen.get(job).copied().unwrap_or(0)]
    };
    let mut answered = BTreeSet::new();
    let mut broken = BTreeSet::new();
    let mut ends = BTreeMap::new();
    for Entry { stamp, record, .. } in log {
        match record {
            Record::Shaped { job, shape } => {
                prop_assert!(story.is_malleable && !ends.contains_key(job));
                chosen.insert(*job, *shape as usize);
            }
            Record::Answered { job, answer, ready, deadline } => {
                prop_assert!(answered.insert(*job), "{} is answered twice", job);
                if let ReserveAnswer::Accepted { site, start, nodes } = answer {
                    let (wide, lasts) = shape(job, &chosen);
                    let until = *start + stretched(Span::from_secs(lasts));
                    prop_assert_eq!((nodes.len(), chosen.contains_key(job)), (wide, story.is_malleable));
                    prop_assert!(start >= ready && until <= *deadline);
                    promises.entry(*job).or_default().push((*site, *start, until, nodes.clone()));
                }
            }
            Record::Rebooked { job, site, start, until, nodes } => {
                prop_assert!(bookings == Bookings::Move && nodes.len() == shape(job, &chosen).0);
                let (arrive, ahead, duration, slack, ..) = *request(job);
                prop_assert!(*start < *until && *until <= second(arrive + ahead + duration + slack));
                promises.get_mut(job).unwrap().push((*site, *start, *until, nodes.clone()));
            }
            Record::Broken { job, .. } => {
                prop_assert!(promises.contains_key(job) && broken.insert(*job));
            }
            Record::Completed { job, .. } | Record::Removed { job } | Record::Cancelled { job } => {
                prop_assert!(ends.insert(*job, stamp.time).is_none(), "{} ends twice", job);
            }
            _ => {}
        }
    }
    let is_request = |job: &JobId| (first..first + asked.len() as u32).contains(&job.0);
    prop_assert_eq!(answered.len(), asked.len());
    for job in promises.keys() {
        prop_assert!(ends.contains_key(job), "{} never ends", job);
    }
    for stint in all.iter().filter(|stint| is_request(&stint.task.job)) {
        let Stint { task, site, nodes, from, to, is_first, .. } = stint;
        let within = |promise: &&(ActorId, Time, Time, NodeSet)| {
            promise.0 == *site && promise.3 == *nodes && promise.1 <= *from && to <= &promise.2
        };
        let promise = promises.get(&task.job).and_then(|all| all.iter().rfind(within));
        prop_assert!(promise.is_some(), "{} is on {} of {} from {} to {}", task, nodes, site, from, to);
        // Without other waits, it is late only as long as a node of it is down.
        let waits = story.has_links && request(&task.job).7 > 0;
        let (Some((_, start, ..)), false, true) = (promise, waits, *is_first) else { continue };
        let number =
            SITES.iter().position(|(name, _)| Roster::of_topology(topology).names[site.index()] == *name).unwrap();
        if start < from && !(story.counts(number) && story.fails) {
            let down = topology.failing().site(number).map_or_else(Vec::new, |fails| outages(fails.outages, *from));
            let is_back =
                |&(_, up, node): &(Time, Time, u32)| up == *from && nodes.contains(&NodeSet::from_run(node, node));
            prop_assert!(down.iter().any(is_back), "{} is late at {}", task, from);
        }
    }
    Ok(())
}

fn check(story: &Story) -> Result<(), TestCaseError> {
    let text = story.text();
    let topology = load_text(&text, &[]).unwrap_or_else(|faults| panic!("{faults}\n{text}"));
    let log = play(&topology);
    let mut tally = Tally::new(&topology, &Names::of(&topology));
    for entry in &log {
        let taken = tally.add(entry);
        prop_assert!(taken.is_ok(), "{entry:?}: {taken:?}");
    }
    prop_assert_eq!(tally.jobs_ended(), topology.jobs());
    // Sums that do not agree panic.
    let summary = tally.summary(1, Status::Complete, String::new());
    let all = stints(&log)?;
    let micros = |stint: &Stint| u64::from(stint.nodes.len()) * stint.to.since(stint.from).micros();
    let busy = all.iter().map(micros).sum::<u64>() as f64 / 1e6;
    prop_assert!((summary.utilisation.all.busy - busy).abs() < 1e-6, "{} of {}", summary.utilisation.all.busy, busy);
    check_nodes(story, &topology, &log, &all)?;
    check_promises(story, &topology, &log, &all)
}

/// A malleable job is lost on four nodes, and starts again in its other shape: on one node after 90 s, or on four nodes
/// after having been on one.
#[test]
fn a_job_that_starts_again_in_another_shape_used_the_nodes_that_it_had() {
    let grid = |shape: &str, requests: &str, failure: &str| {
        let text = format!(
            "name = \"again\"\n[reservation]\npolicy = \"ff\"\nshape = \"{shape}\"\n[[site]]\nname = \"york\"\ncores = 4\n\
             [[user]]\nname = \"alice\"\n[[workload]]\nsource = \"requests\"\nrequest = [{requests}]\n\
             [[failure]]\nsite = \"york\"\n{failure}\n[recovery]\nbookings = \"move\"\n"
        );
        let topology = load_text(&text, &[]).unwrap();
        let mut tally = Tally::new(&topology, &Names::of(&topology));
        play(&topology).iter().for_each(|entry| tally.add(entry).map(|_| ()).unwrap());
        let summary = tally.summary(1, Status::Complete, String::new());
        let share = summary.utilisation.all.makespan;
        let json = serde_json::to_value(&summary).unwrap();
        let failures = &json["failures"];
        let numbers = ["work", "work_lost", "work_useful"].map(|key| failures[key].as_f64().unwrap());
        (summary.utilisation.all.busy, share, numbers, json["stretch"]["mean"].as_f64())
    };
    // 360 node seconds are lost, and 400 become a result.
    let wide = "{ nodes = 4, duration = \"100 s\" }, { nodes = 1, duration = \"400 s\" }";
    let (busy, share, numbers, stretch) = grid(
        "policy",
        &format!("{{ deadline = \"1000 s\", shapes = [{wide}] }}"),
        "nodes = \"0-1\"\nat = \"90 s\"\nfor = \"2000 s\"",
    );
    assert_eq!((busy, share, numbers), (760.0, Some(760.0 / (4.0 * 490.0)), [760.0, 360.0, 400.0]));
    // It took 490 s, and 100 s would have done.
    assert_eq!(stretch, Some(4.9));
    // Three nodes for 90 s, one for 80 s, and four for 50 s, all in 140 s.
    let narrow = "{ nodes = 1, duration = \"100 s\" }, { nodes = 4, duration = \"50 s\" }";
    let (busy, share, numbers, _) = grid(
        "thrifty",
        &format!("{{ nodes = 3, duration = \"90 s\" }}, {{ deadline = \"160 s\", shapes = [{narrow}] }}"),
        "nodes = \"3\"\nat = \"80 s\"\nfor = \"5 s\"",
    );
    assert_eq!((busy, share, numbers), (550.0, Some(550.0 / 560.0), [550.0, 80.0, 470.0]));
}

proptest! {
    #![proptest_config(cases(if cfg!(unoptimised) { 30 } else { 100 }))]

    #[test]
    fn users_of_a_failing_shared_site_keep_their_promises_or_break_them(story in story()) {
        check(&story)?;
    }
}
