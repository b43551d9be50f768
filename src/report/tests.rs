//! A small run told by hand, and random ones; shared by the tests of all reports.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use proptest::prelude::*;

use super::{
    Counts, EventWriter, Host, Manifest, Names, RecordError, RunFacts, Status, SummaryFile, Tally, summary_table,
};
use crate::grid::{
    Area, BookingId, CableId, Curve, Edge, EdgeId, HoldId, Invalid, Job, JobId, JobShape, Kind, Needs, NodeSet, Offer,
    Part, Rate, Receipt, SiteTime, SiteTimes, Slot, Task, TaskId, Worth,
};
use crate::kernel::{ActorId, Digest, Entry};
use crate::protocol::{
    Bargain, BidOutcome, CoreOffer, Fault, HoldFate, LossReason, Reason, Record, Refusal, ReserveAnswer, TaskBid, codec,
};
use crate::systems::Service;
use crate::systems::market::{Market, Unplaceable};
use crate::time::{Span, Stamp, Time};
use crate::topology::{Owned, Site, Topology, User};

pub(super) const ROUTER: ActorId = ActorId(0);
pub(super) const YORK: ActorId = ActorId(1);
pub(super) const BATH: ActorId = ActorId(2);
pub(super) const ANN: ActorId = ActorId(3);
pub(super) const BOB: ActorId = ActorId(4);

pub(crate) fn topology() -> Topology {
    let site = |name: &str, cores, kind| Site {
        name: name.to_owned(),
        cores,
        kind: Kind(kind),
        speed_millionths: 1_000_000,
        scheduler: "auction".to_owned(),
        latency: Span::ZERO,
        report_every: Span::ZERO,
        systems: vec![0],
        ..Site::usual()
    };
    let user = |name: &str| User {
        name: name.to_owned(),
        latency: Span::ZERO,
        behaviour: crate::grid::Behaviour::Script,
        approach: crate::grid::Approach::default(),
        program: crate::grid::Program::default(),
    };
    Topology {
        name: "two cities".to_owned(),
        about: None,
        seed: 7,
        kinds: vec!["cpu".to_owned(), "big, \"fast\"".to_owned()],
        systems: vec![Service::new(Market { unplaceable: Unplaceable::Refuse, ..Market::default() })],
        sites: vec![site("york", 4, 0), site("bath", 8, 1)],
        cables: None,
        failures: Vec::new(),
        recovery: crate::grid::Recovery::default(),
        users: vec![user("ann"), user("bob")],
        workloads: Vec::new(),
    }
}

pub(crate) fn names() -> Names {
    Names::of(&topology())
}

/// Jobs 0 and 1 end well, 2 ends too late, 3 fits nowhere, 4 is given up with a task running, 5 still waits.
pub(crate) fn story() -> Vec<Entry<Record>> {
    let at = |minutes: u64, actor, record| Entry { stamp: Stamp::at(minute(minutes)), actor, record };
    let task = |job, index| TaskId { job: JobId(job), index };
    let cores = |text| NodeSet::parse(text).unwrap();
    let (assigned, started) = (
        |job, index, site| Record::Assigned { task: task(job, index), site },
        |job, index, text| Record::Started { task: task(job, index), cores: cores(text) },
    );
    let arrived = |job: Job, user| Record::Arrived { job: Arc::new(job), user };
    let finished = |job, index| Record::Finished { task: task(job, index) };
    let mut late = at(70, ROUTER, Record::Completed { job: JobId(2), value: Some(0.0) });
    late.stamp.step = 1;
    vec![
        at(0, ROUTER, arrived(job(0, 0, &[(10, 2, 0), (20, 8, 1)], &[(0, 1)], true), ANN)),
        at(0, ROUTER, assigned(0, 0, YORK)),
        at(0, YORK, started(0, 0, "0-1")),
        at(5, ROUTER, arrived(job(1, 5, &[(30, 2, 0)], &[], false), BOB)),
        at(5, ROUTER, assigned(1, 0, YORK)),
        at(5, YORK, started(1, 0, "2-3")),
        at(6, ROUTER, arrived(job(2, 6, &[(5, 1, 0)], &[], true), ANN)),
        at(10, YORK, finished(0, 0)),
        at(12, ROUTER, assigned(0, 1, BATH)),
        at(12, BATH, started(0, 1, "0-7")),
        at(20, ROUTER, Record::Refused { job: Arc::new(job(3, 20, &[(5, 9, 1)], &[], true)), user: BOB, task: 0 }),
        at(32, BATH, finished(0, 1)),
        at(32, ROUTER, Record::Completed { job: JobId(0), value: Some(840.0) }),
        at(35, YORK, finished(1, 0)),
        at(35, ROUTER, Record::Completed { job: JobId(1), value: None }),
        at(60, ROUTER, arrived(job(4, 60, &[(3, 2, 0), (3, 1, 0)], &[], true), ANN)),
        at(60, ROUTER, assigned(4, 0, YORK)),
        at(60, YORK, started(4, 0, "1 3")),
        at(65, ROUTER, assigned(2, 0, YORK)),
        at(65, YORK, started(2, 0, "0")),
        at(70, YORK, finished(2, 0)),
        late,
        at(75, ROUTER, Record::Removed { job: JobId(4) }),
        at(80, ROUTER, arrived(job(5, 80, &[(1, 1, 0)], &[], false), BOB)),
    ]
}

fn minute(minutes: u64) -> Time {
    Time::ZERO + Span::from_minutes(minutes)
}

fn job(id: u32, arrive: u64, tasks: &[(u64, u32, u16)], edges: &[(u32, u32)], worth: bool) -> Job {
    let task = |&(minutes, cores, kind): &(u64, u32, u16)| {
        let runtime = Span::from_minutes(minutes);
        Task::new(runtime, cores, Kind(kind))
    };
    let worth = worth.then(|| Worth { max: 840.0, curve: Curve::new(2.0, 6.0, &[(3.0, 0.8), (5.0, 0.4)]).unwrap() });
    Job {
        id: JobId(id),
        arrive: minute(arrive),
        first_task: id * 2,
        tasks: tasks.iter().map(task).collect(),
        edges: edges.iter().map(|&(from, to)| Edge::new(from, to)).collect(),
        worth,
        times: None,
    }
}

pub(crate) fn tally(entries: &[Entry<Record>]) -> Tally {
    let mut tally = Tally::new(&topology(), &names());
    entries.iter().for_each(|entry| tally.add(entry).unwrap());
    tally
}

/// Hands over all lines of the events and gives the digest of the entries.
pub(crate) fn write_events(entries: &[Entry<Record>], mut put: impl FnMut(&[u8])) -> String {
    let (mut text, mut digest, mut encoded) = (Vec::new(), Digest::new(), Vec::new());
    for entry in entries {
        EventWriter::new(&names()).write(entry, &mut text);
        encoded.clear();
        codec::encode(entry, &mut encoded).unwrap();
        digest.update(&encoded);
    }
    put(&text);
    digest.finish()
}

/// One table of a tally.
pub(crate) fn table(tally: &Tally, name: &str) -> String {
    let mut text = String::new();
    let put = |table: &str, rows: &[u8]| {
        if table == name {
            text.push_str(std::str::from_utf8(rows).unwrap());
        }
        Ok::<(), RecordError>(())
    };
    tally.close(0, Status::Complete, String::new(), put).unwrap();
    text
}

pub(crate) fn manifest() -> Manifest {
    Manifest {
        version: "0.1.0".to_owned(),
        status: Status::Complete,
        command: Vec::new(),
        layout: "inline".to_owned(),
        seed: 7,
        topology_hash: "t".to_owned(),
        topology: "seed = 7\n".to_owned(),
        inputs: Vec::new(),
        names: names(),
        started: String::new(),
        wall_seconds: 0.0,
        host: Host::default(),
        files: Vec::new(),
    }
}

pub(crate) fn golden(name: &str, found: &[u8]) {
    golden_in("report", name, found);
}

/// Compares with a file kept beside the code of a room; `HANSA_GOLDEN=write` writes it anew.
pub(crate) fn golden_in(room: &str, name: &str, found: &[u8]) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src").join(room).join("golden").join(name);
    if std::env::var("HANSA_GOLDEN").is_ok_and(|word| word == "write") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, found).unwrap();
    }
    let (expected, found) = (std::fs::read_to_string(&path).unwrap_or_default(), String::from_utf8_lossy(found));
    if expected == found {
        return;
    }
    let (before, now): (BTreeSet<&str>, BTreeSet<&str>) = (expected.lines().collect(), found.lines().collect());
    let only = |sign: &str, text: &str, other: &BTreeSet<&str>| {
        let lines = text.lines().filter(|line| !other.contains(line)).take(20);
        lines.map(|line| format!("{sign} {line}\n")).collect::<String>()
    };
    panic!(
        "src/{room}/golden/{name} is not as it was; its first lines that differ, before and now:\n{}{}if that is meant, \
         `HANSA_GOLDEN=write cargo test` with the name of this test renews it",
        only("-", &expected, &now),
        only("+", &found, &before),
    );
}

#[test]
fn the_story_as_tables() {
    let tally = tally(&story());
    golden("jobs.csv", table(&tally, "jobs.csv").as_bytes());
    golden("tasks.csv", table(&tally, "tasks.csv").as_bytes());

    let status = Status::Partial("interrupted at virtual time 01:20:00".to_owned());
    let results = tally.summary(7, status, "0123456789abcdef0123456789abcdef".to_owned());
    let run = RunFacts {
        layout: "processes".to_owned(),
        wall_seconds: 1.5,
        join_seconds: 0.25,
        run_seconds: 1.125,
        write_seconds: 0.125,
        events: 150_000,
        events_per_second: Some(100_000.0),
        hub_waits: Some(12),
        messages: Some(1000),
        messages_per_packet: Some(7.25),
        frames: Some(30),
        waits: [("site york".to_owned(), 12)].into(),
        blocked_seconds: [("site york".to_owned(), 0.25)].into(),
        moved: None,
        live: None,
    };
    golden("summary.txt", summary_table(&results, Some(&run)).as_bytes());
    for (events, told) in [(0, " writing, 12 waits\n"), (1, " writing, 1 router event, 100,000/s, 12 waits\n")] {
        let table = summary_table(&results, Some(&RunFacts { events, ..run.clone() }));
        assert!(table.contains(told), "{table}");
    }
    let file = SummaryFile { results, run };
    let json = super::manifest::pretty(&file);
    golden("summary.json", &json);
    assert_eq!(serde_json::from_slice::<SummaryFile>(&json).unwrap(), file);
}

/// A reader that does not know a table takes `0.1` and `0.10` for one number.
#[test]
fn ids_stay_apart_when_they_are_read_as_numbers() {
    let long = job(0, 0, &[(1, 1, 0); 11], &[], false);
    let other = Job { first_task: 11, ..job(1, 0, &[(1, 1, 0); 11], &[], false) };
    let arrived = |job: Job| Entry {
        stamp: Stamp::ZERO,
        actor: ROUTER,
        record: Record::Arrived { job: Arc::new(job), user: ANN },
    };
    let tally = tally(&[arrived(long), arrived(other)]);
    for (name, rows) in [("jobs.csv", 2), ("tasks.csv", 22)] {
        let text = table(&tally, name);
        let columns = text.lines().next().unwrap().split(',').count();
        assert!(text.lines().all(|line| line.split(',').count() == columns), "{name}: {text}");
        let ids: Vec<f64> = text.lines().skip(1).map(|line| line.split_once(',').unwrap().0.parse().unwrap()).collect();
        assert_eq!(ids, (0..rows).map(f64::from).collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn nothing_at_all_makes_a_summary_too() {
    let summary = tally(&[]).summary(0, Status::Complete, String::new());
    assert_eq!((summary.jobs, summary.value, summary.makespan), (Counts::default(), None, None));
    assert!(summary_table(&summary, None).contains("nothing ran"));
}

#[test]
fn a_log_that_makes_no_sense_is_refused() {
    let story = story();
    let told = |entries: &[usize]| {
        let mut tally = Tally::new(&topology(), &names());
        entries.iter().find_map(|&entry| tally.add(&story[entry]).err()).map(|error| error.to_string())
    };
    assert_eq!(told(&[1]), Some("job 0 has not arrived".to_owned()));
    assert_eq!(told(&[0, 0]), Some("job 0 arrives twice".to_owned()));
    assert_eq!(told(&[0, 7]), Some("task 0.0 ends without having started".to_owned()));
    assert_eq!(told(&[0, 2, 2]), Some("task 0.0 has started already".to_owned()));
    assert_eq!(told(&[0, 2, 7, 12]), Some("job 0 is complete, but not all of its tasks are".to_owned()));

    let edges = |edges: &[(u32, u32)]| {
        let job = Arc::new(job(9, 0, &[(1, 1, 0); 3], edges, false));
        let entry = Entry { record: Record::Arrived { job, user: ANN }, ..story[0].clone() };
        Tally::new(&topology(), &names()).add(&entry).map_err(|error| error.to_string())
    };
    let wrong = "job 9 has an edge that is out of order, or does not lead from a task to a later one";
    assert_eq!(edges(&[(0, 1), (0, 2), (1, 2)]), Ok(()));
    for one in [&[(0, 2), (0, 1)][..], &[(1, 1)], &[(2, 1)], &[(2, 3)]] {
        assert_eq!(edges(one), Err(wrong.to_owned()), "{one:?}");
    }
}

/// The error of a run whose log has an entry that contradicts earlier ones.
fn blame(tally: &mut Tally, entry: &Entry<Record>, owners: &BTreeMap<JobId, Owned>) -> String {
    let RecordError::Inconsistent(wrong) = tally.add(entry).unwrap_err() else { panic!("nothing is written") };
    format!("{}: {wrong}", tally.blame(entry, &wrong, owners))
}

/// The router gives a task out, or takes it back, and finds that a site has run ahead.
#[test]
fn who_starts_what_was_not_given_out_or_taken_back_is_named() {
    let story = story();
    let Record::Started { task, .. } = story[2].record else { panic!("the third entry is a start") };
    let site = format!("site {}", names().of_actor(story[2].actor));
    let router = |record| Entry { stamp: story[2].stamp, actor: ActorId(0), record };
    for record in [Record::Assigned { task, site: story[2].actor }, Record::Withdrawn { task }] {
        let mut tally = Tally::new(&topology(), &names());
        tally.add(&story[0]).unwrap();
        if matches!(record, Record::Withdrawn { .. }) {
            tally.add(&router(Record::Assigned { task, site: story[2].actor })).unwrap();
        }
        tally.add(&story[2]).unwrap();
        let entry = router(record);
        assert_eq!(
            blame(&mut tally, &entry, &BTreeMap::new()),
            format!("{site} contradicts the records of the run: task {task} has started already")
        );
    }
}

/// Mallory submits alice's job before alice does: mallory contradicts herself, not alice, if the job is over by then or
/// not.
#[test]
fn who_hands_in_what_is_anothers_is_named() {
    let story = story();
    let Record::Arrived { job, user: alice } = &story[0].record else { panic!("the first entry is an arrival") };
    let mallory = ActorId(alice.0 + 1);
    let owners = BTreeMap::from([(job.id, Owned { user: *alice, after: None })]);
    let by = |user| Entry { record: Record::Arrived { job: job.clone(), user }, ..story[0].clone() };
    let over = Entry { record: Record::Removed { job: job.id }, ..story[0].clone() };
    for over in [None, Some(over)] {
        let mut tally = Tally::putting_aside(&topology(), &names(), Box::new(Vec::new()));
        tally.add(&by(mallory)).unwrap();
        over.iter().for_each(|over| tally.add(over).unwrap());
        let contradicts = format!("{} contradicts the records of the run", tally.who(mallory));
        let twice = format!("{contradicts}: job {} arrives twice", job.id);
        assert_eq!(blame(&mut tally, &by(*alice), &owners), twice);
        // And with the two users exchanged.
        let mut tally = Tally::putting_aside(&topology(), &names(), Box::new(Vec::new()));
        tally.add(&by(*alice)).unwrap();
        over.iter().for_each(|over| tally.add(over).unwrap());
        assert_eq!(blame(&mut tally, &by(mallory), &owners), twice);
    }
}

/// Ann and bob negotiate with york and bath. What one of them alone has recorded is its own contradiction; where a site
/// and a user deny each other's words, neither is accused.
#[test]
fn who_is_alone_with_its_word_is_named_alone() {
    let text = "name = \"bargains\"\n[provisioning]\n[[site]]\nname = \"york\"\ncores = 64\n[[site]]\nname = \"bath\"\n\
                cores = 64\n[[user]]\nname = \"ann\"\n[[user]]\nname = \"bob\"\n[[workload]]\nsource = \"lublin\"\n\
                jobs = 2\nnodes = 4\n";
    let topology = crate::topology::load("grid.toml", &[], &mut |_| Ok(text.as_bytes().to_vec())).unwrap().topology;
    let names = Names::of(&topology);
    let [york, ann, bob] = ["york", "ann", "bob"].map(|name| names.actor(name).unwrap());
    let add = |actor, record| Entry { stamp: Stamp::at(minute(1)), actor, record };
    let task = TaskId { job: JobId(0), index: 0 };
    let hold = HoldId { request: 0, leg: 0, attempt: 0 };
    let part = Part { procs: 1, start: minute(2), span: Span::from_minutes(1) };
    let held = |user| Record::Held { user, hold, part, fee: Area::ZERO, expiry: minute(2) };
    let receipt = Receipt { booking: BookingId(7), part, rent: Area::ZERO, fee: Area::ZERO };
    let booked = Record::Booked { user: ann, job: JobId(0), receipt };
    let assigned = Record::Assigned { task, site: york };
    let before = [
        add(ann, Record::Arrived { job: Arc::new(job(0, 0, &[(10, 2, 0)], &[], false)), user: ann }),
        add(york, held(ann)),
        add(york, booked.clone()),
        add(ann, assigned.clone()),
        add(york, Record::Entered { user: ann, task }),
    ];
    let started = add(york, Record::Started { task, cores: NodeSet::parse("0-1").unwrap() });
    let silent = Record::Accused { site: york, fault: Fault::Silent };
    let alone = "contradicts the records of the run";
    for (entry, runs, expected) in [
        (add(bob, assigned.clone()), false, format!("user bob {alone}: job 0 is not one of bob")),
        (add(bob, assigned.clone()), true, format!("user bob {alone}: job 0 is not one of bob")),
        (add(bob, Record::Withdrawn { task }), true, format!("user bob {alone}: job 0 is not one of bob")),
        (add(ann, assigned), false, format!("user ann {alone}: task 0.0 has been given to a site already")),
        (add(york, held(ann)), false, format!("site york {alone}: york has hold 0.0.0 already")),
        (add(york, booked), false, format!("site york {alone}: york has booking 7 already")),
        (
            add(york, Record::Entered { user: york, task }),
            false,
            format!("site york {alone}: job 0 is not one of york"),
        ),
        (
            add(york, Record::Entered { user: ActorId(99), task }),
            false,
            format!("site york {alone}: job 0 is not one of actor 99"),
        ),
        (
            add(ann, Record::Accused { site: bob, fault: Fault::Silent }),
            false,
            format!("user ann {alone}: ann says that bob has not answered in time"),
        ),
        (
            add(york, Record::Entered { user: bob, task }),
            false,
            "site york and user bob contradict each other: job 0 is not one of bob".to_owned(),
        ),
        (
            add(ann, silent),
            false,
            "user ann and site york contradict each other: ann says that york has not answered in time".to_owned(),
        ),
        (
            add(ann, Record::Withdrawn { task }),
            true,
            "user ann and site york contradict each other: task 0.0 has started already".to_owned(),
        ),
    ] {
        let mut tally = Tally::new(&topology, &names);
        let runs = Some(&started).filter(|_| runs);
        before.iter().chain(runs).for_each(|entry| tally.add(entry).unwrap());
        assert_eq!(blame(&mut tally, &entry, &BTreeMap::new()), expected);
    }
}

prop_compose! {
    fn any_stamp()(micros in prop_oneof![0u64..5_000_000, any::<u64>()], step in prop_oneof![Just(0u32), any::<u32>()]) -> Stamp {
        Stamp { time: Time::from_micros(micros), step }
    }
}

prop_compose! {
    fn any_task()(micros in any::<u64>(), walltime in prop::option::of(any::<u64>()), cores in any::<u32>(), kind in prop_oneof![0u16..3, any::<u16>()]) -> Task {
        let task = Task::new(Span::from_micros(micros), cores, Kind(kind));
        Task { walltime: walltime.map_or(task.walltime, Span::from_micros), ..task }
    }
}

prop_compose! {
    fn any_worth()(max in 0.0..1e300f64, initial in 1e-6..4.0f64, width in 1e-3..9.0f64, mut points in prop::collection::vec((0.0..1.0f64, 0.0..1.0f64), 0..4)) -> Worth {
        points.sort_by(|left, right| left.0.total_cmp(&right.0));
        let mut values: Vec<f64> = points.iter().map(|point| point.1).collect();
        values.sort_by(|left, right| right.total_cmp(left));
        let points: Vec<(f64, f64)> = points.iter().zip(values).map(|(point, value)| (initial + width * point.0, value)).collect();
        Worth { max, curve: Curve::new(initial, initial + width, &points).unwrap() }
    }
}

prop_compose! {
    fn any_job()(
        numbers in any::<(u32, u64, u32)>(),
        tasks in prop::collection::vec(any_task(), 0..5),
        edges in prop::collection::vec(any::<(u32, u32, u64)>(), 0..4),
        worth in prop::option::of(any_worth()),
        rows in prop::collection::vec(prop::collection::btree_map(0u32..6, any::<u64>(), 0..3), 5),
    ) -> Job {
        let time = |(site, micros): (u32, u64)| SiteTime { site: ActorId(site), runtime: Span::from_micros(micros) };
        let rows = rows.into_iter().take(tasks.len()).map(|row| row.into_iter().map(time).collect());
        let times = SiteTimes::new(rows.collect());
        let edges = edges.into_iter().map(|(from, to, data)| Edge { from, to, data }).collect();
        Job { id: JobId(numbers.0), arrive: Time::from_micros(numbers.1), first_task: numbers.2, tasks, edges, worth, times }
    }
}

fn any_answer() -> impl Strategy<Value = ReserveAnswer> {
    let accepted = |(site, start, width): (u32, u64, u32)| ReserveAnswer::Accepted {
        site: ActorId(site),
        start: Time::from_micros(start),
        nodes: NodeSet::all(width),
    };
    prop_oneof![
        (0u32..6, any::<u64>(), 1u32..9).prop_map(accepted),
        Just(ReserveAnswer::Declined),
        (0..Invalid::ALL.len()).prop_map(|which| ReserveAnswer::Invalid(Invalid::ALL[which])),
    ]
}

fn any_record() -> impl Strategy<Value = Record> {
    let task = || any::<(u32, u32)>().prop_map(|(job, index)| TaskId { job: JobId(job), index });
    let actor = || prop_oneof![0u32..6, any::<u32>()].prop_map(ActorId);
    let cores = prop::collection::btree_set(0u32..40, 0..12).prop_map(|cores| {
        let text: Vec<String> = cores.into_iter().map(|core| (2 * core).to_string()).collect();
        NodeSet::parse(&text.join(" ")).unwrap()
    });
    let value = any::<f64>().prop_filter("a value is finite", |value| value.is_finite());
    prop_oneof![
        (any_job(), actor()).prop_map(|(job, user)| Record::Arrived { job: Arc::new(job), user }),
        (any_job(), actor()).prop_map(|(job, user)| Record::NotAdmitted { job: Arc::new(job), user }),
        (any_job(), actor(), any::<u32>()).prop_map(|(job, user, task)| Record::Refused {
            job: Arc::new(job),
            user,
            task
        }),
        (task(), actor()).prop_map(|(task, site)| Record::Assigned { task, site }),
        (task(), cores.clone()).prop_map(|(task, cores)| Record::Started { task, cores }),
        task().prop_map(|task| Record::Suspended { task }),
        (task(), cores.clone()).prop_map(|(task, cores)| Record::Resumed { task, cores }),
        (task(), cores.clone()).prop_map(|(task, cores)| Record::Moved { task, cores }),
        (task(), value.clone()).prop_map(|(task, share)| Record::Shared { task, share }),
        task().prop_map(|task| Record::Finished { task }),
        (any::<u32>(), prop::option::of(value)).prop_map(|(job, value)| Record::Completed { job: JobId(job), value }),
        any::<u32>().prop_map(|job| Record::Removed { job: JobId(job) }),
        (any::<u32>(), any::<(u32, u32)>(), any_answer()).prop_map(|(job, (ready, slack), answer)| {
            let (ready, deadline) = (Time::from_micros(ready.into()), Time::from_micros(slack.into()));
            Record::Answered { job: JobId(job), ready, deadline, answer }
        }),
        any::<u32>().prop_map(|job| Record::Cancelled { job: JobId(job) }),
        (any_job(), actor(), 0..Invalid::ALL.len()).prop_map(|(job, user, why)| Record::Rejected {
            job: Arc::new(job),
            user,
            why: Invalid::ALL[why]
        }),
        task().prop_map(|task| Record::Killed { task }),
        (task(), cores.clone()).prop_map(|(task, cores)| Record::Stacked { task, cores }),
        (any::<u32>(), 0.0..=1.0, 0.0..=1.0f64)
            .prop_map(|(job, cpu, memory)| { Record::Needs { job: JobId(job), needs: Needs { cpu, memory } } }),
        (any_edge(), 0u32..6, 0u32..6, any::<u64>(), any::<u32>()).prop_map(|(edge, from, to, bytes, active)| {
            let active = Time::from_micros(active.into());
            Record::Sent { edge, from: ActorId(from), to: ActorId(to), bytes, active }
        }),
        (any_edge(), any::<[u8; 3]>(), any::<u64>(), any::<u32>()).prop_map(|(edge, ends, bytes, active)| {
            let ([user, from, to], active) =
                (ends.map(|end| ActorId((end % 6).into())), Time::from_micros(active.into()));
            Record::Shipped { user, edge, from, to, bytes, active }
        }),
        any_edge().prop_map(|edge| Record::Delivered { edge }),
        task().prop_map(|task| Record::Withdrawn { task }),
        any_bargain(),
        any_failure(),
    ]
}

/// Records of nodes and links that fail.
fn any_failure() -> impl Strategy<Value = Record> {
    let task = || any::<(u32, u32)>().prop_map(|(job, index)| TaskId { job: JobId(job), index });
    let time = || any::<u32>().prop_map(|micros| Time::from_micros(micros.into()));
    let span = || any::<u64>().prop_map(Span::from_micros);
    let job = || any::<u32>().prop_map(JobId);
    let cores = || (1u32..9).prop_map(NodeSet::all);
    let link = || (0u32..3).prop_map(CableId);
    prop_oneof![
        (cores(), time()).prop_map(|(cores, since)| Record::Down { cores, since }),
        (cores(), time()).prop_map(|(cores, since)| Record::Up { cores, since }),
        (task(), span()).prop_map(|(task, saved)| Record::Lost { task, saved }),
        (task(), any::<u64>(), span()).prop_map(|(task, times, spent)| Record::Checkpointed { task, times, spent }),
        (job(), 0u32..6, time(), time(), cores()).prop_map(|(job, site, start, until, nodes)| {
            Record::Rebooked { job, site: ActorId(site), start, until, nodes }
        }),
        (job(), any::<u64>()).prop_map(|(job, area)| Record::Broken { job, compensation: Area::from_micros(area) }),
        (job(), prop::collection::vec((any::<u32>(), span(), span()), 0..4)).prop_map(|(job, shapes)| {
            let shape = |(nodes, duration, runtime)| JobShape { nodes, duration, runtime };
            Record::Malleable { job, shapes: shapes.into_iter().map(shape).collect() }
        }),
        (job(), any::<u32>()).prop_map(|(job, shape)| Record::Shaped { job, shape }),
        (link(), time()).prop_map(|(link, since)| Record::LinkDown { link, since }),
        (link(), time()).prop_map(|(link, since)| Record::LinkUp { link, since }),
        (any_edge(), any::<u64>()).prop_map(|(edge, left)| Record::Stalled { edge, left }),
        (any_edge(), any::<u64>(), prop::collection::vec(link(), 0..3), time())
            .prop_map(|(edge, left, via, active)| Record::Continued { edge, left, via, active }),
    ]
}

/// Records of negotiations.
fn any_bargain() -> impl Strategy<Value = Record> {
    let user = || (0u32..6).prop_map(ActorId);
    let area = || any::<u64>().prop_map(Area::from_micros);
    let time = || any::<u32>().prop_map(|micros| Time::from_micros(micros.into()));
    let span = || any::<u64>().prop_map(Span::from_micros);
    let part = || (1u32..9, time(), span()).prop_map(|(procs, start, span)| Part { procs, start, span });
    let slot =
        (part(), any::<u32>(), area(), any::<(bool, bool)>()).prop_map(|(part, rate, fee, (divisible, extensible))| {
            let Part { procs, start, span } = part;
            Slot { start, procs, span, rate: Rate(rate), fee, divisible, extensible }
        });
    let offer = (time(), area()).prop_map(|(start, fee)| Offer { start, fee });
    let hold = || any::<(u64, u32, u32)>().prop_map(|(request, attempt, leg)| HoldId { request, attempt, leg });
    let receipt = (any::<u64>(), part(), area(), area()).prop_map(|(booking, part, rent, fee)| Receipt {
        booking: BookingId(booking),
        part,
        rent,
        fee,
    });
    let job = || any::<u32>().prop_map(JobId);
    prop_oneof![
        (user(), any::<u64>(), prop::collection::vec(slot, 0..4))
            .prop_map(|(user, version, slots)| Record::Advertised { user, version, slots }),
        (user(), 1u32..9, span(), prop::collection::vec(offer, 0..4))
            .prop_map(|(user, procs, span, offers)| Record::Quoted { user, procs, span, offers }),
        (user(), job(), receipt.clone()).prop_map(|(user, job, receipt)| Record::Booked { user, job, receipt }),
        receipt.prop_map(|receipt| Record::Postponed { receipt }),
        (user(), hold(), part(), area(), time()).prop_map(|(user, hold, part, fee, expiry)| Record::Held {
            user,
            hold,
            part,
            fee,
            expiry
        }),
        (user(), job(), 0..Refusal::ALL.len()).prop_map(|(user, job, why)| Record::Denied {
            user,
            job,
            why: Refusal::ALL[why].1
        }),
        (any::<u64>(), area(), prop::option::of(area())).prop_map(|(booking, used, penalty)| Record::Returned {
            booking: BookingId(booking),
            used,
            penalty
        }),
        (any::<u64>(), area(), area(), area()).prop_map(|(booking, used, paid, compensation)| Record::Revoked {
            booking: BookingId(booking),
            used,
            paid,
            compensation
        }),
        (any::<u64>(), area(), area(), area()).prop_map(|(booking, used, refund, penalty)| Record::HandedBack {
            booking: BookingId(booking),
            used,
            refund,
            penalty
        }),
        (any::<u64>(), area()).prop_map(|(booking, used)| Record::Elapsed { booking: BookingId(booking), used }),
        any::<(u32, u32)>().prop_map(|(job, index)| Record::Dropped { task: TaskId { job: JobId(job), index } }),
        (hold(), 0..HoldFate::ALL.len()).prop_map(|(hold, fate)| Record::Settled { hold, fate: HoldFate::ALL[fate].1 }),
        (job(), 0..Bargain::ALL.len(), proptest::option::of(0..Reason::ALL.len())).prop_map(|(job, end, why)| {
            Record::Bargained { job, end: Bargain::ALL[end].1, why: why.map(|why| Reason::ALL[why].1) }
        }),
        (user(), any::<(u32, u32)>())
            .prop_map(|(user, (job, index))| Record::Entered { user, task: TaskId { job: JobId(job), index } }),
        (user(), 0..Fault::ALL.len()).prop_map(|(site, fault)| Record::Accused { site, fault: Fault::ALL[fault].1 }),
        (prop::collection::vec((user(), any::<u32>()), 0..4), prop::collection::vec(any_bid(), 0..4)).prop_map(
            |(offers, bids)| {
                let offers = offers.into_iter().map(|(site, cores)| CoreOffer { site, cores }).collect();
                Record::Auctioned { offers, bids }
            }
        ),
        any::<(u32, u32, u64)>().prop_map(|(idle, waiting, received)| Record::Offered { idle, waiting, received }),
    ]
}

prop_compose! {
    fn any_bid()(
        (job, index) in any::<(u32, u32)>(),
        bid in any::<f64>().prop_filter("a bid is a number", |bid| !bid.is_nan()),
        site in prop_oneof![0u32..6, any::<u32>()],
        lost in proptest::option::of(0..LossReason::ALL.len()),
    ) -> TaskBid {
        let outcome = match lost {
            Some(reason) => BidOutcome::Lost(LossReason::ALL[reason].1),
            None => BidOutcome::Won(ActorId(site)),
        };
        TaskBid { task: TaskId { job: JobId(job), index }, bid, outcome }
    }
}

prop_compose! {
    fn any_edge()(job in any::<u32>(), from in any::<u32>(), to in any::<u32>()) -> EdgeId {
        EdgeId { job: JobId(job), from, to }
    }
}

prop_compose! {
    pub(crate) fn any_entry()(stamp in any_stamp(), actor in prop_oneof![0u32..6, any::<u32>()], record in any_record()) -> Entry<Record> {
        Entry { stamp, actor: ActorId(actor), record }
    }
}

proptest! {
    /// Any log, in any order and cut off anywhere, is refused by a tally, or its totals add up.
    #[test]
    fn totals_add_up(picks in prop::collection::vec((0usize..24, 0u64..9), 0..80)) {
        let story = story();
        let mut tally = Tally::new(&topology(), &names());
        for (pick, delay) in picks {
            let mut entry = story[pick].clone();
            entry.stamp = Stamp::at(entry.stamp.time + Span::from_minutes(delay));
            let _ = tally.add(&entry);
        }
        let summary = tally.summary(1, Status::Complete, String::new());
        prop_assert!(summary.jobs.add_up() && summary.tasks.add_up());
        prop_assert_eq!(summary.jobs.submitted, tally.jobs.len() as u64);
        let sites: u64 = summary.utilisation.sites.iter().map(|site| site.tasks).sum();
        prop_assert_eq!(summary.utilisation.all.tasks, sites);
        for share in [summary.utilisation.all.makespan, summary.value.and_then(|value| value.proportion)].into_iter().flatten() {
            prop_assert!(share >= 0.0);
        }
        prop_assert!(summary_table(&summary, None).lines().all(|line| line.chars().count() <= 100));
    }
}

mod verify {
    use super::super::*;
    use super::*;

    fn side(name: &str, entries: &[Entry<Record>], change: impl Fn(&mut Manifest)) -> Side<std::io::Cursor<Vec<u8>>> {
        let mut text = Vec::new();
        let digest = write_events(entries, |events| text.extend_from_slice(events));
        let mut manifest = manifest();
        change(&mut manifest);
        let results = Tally::new(&topology(), &names()).summary(manifest.seed, Status::Complete, digest);
        let summary = SummaryFile { results, run: RunFacts::default() };
        Side { name: name.to_owned(), manifest, summary, events: std::io::Cursor::new(text) }
    }

    fn told(a: Side<std::io::Cursor<Vec<u8>>>, b: Side<std::io::Cursor<Vec<u8>>>) -> String {
        compare(a, b).unwrap().to_string()
    }

    #[test]
    fn what_no_sentence_tells_differs_all_the_same() {
        let what = |records: [Record; 2]| {
            let [a, b] = records.map(|record| side("out/a", &[Entry { record, ..story()[0].clone() }], |_| {}));
            compare(a, b).unwrap().difference.unwrap().what
        };
        let elapsed = |used| Record::Elapsed { booking: BookingId(1), used: Area::from_micros(used) };
        assert_eq!(what([1, 2].map(elapsed)), "its details");
        let rejected = |tasks: &[(u64, u32, u16)]| {
            let job = Arc::new(job(3, 20, tasks, &[], true));
            Record::Rejected { job, user: BOB, why: Invalid::ALL[0] }
        };
        assert_eq!(what([rejected(&[(5, 9, 1)]), rejected(&[(6, 9, 1)])]), "content of its job");
    }

    #[test]
    fn finds_what_differs_and_says_so() {
        let same = |_: &mut Manifest| {};
        let story = story();
        let mut report = String::new();
        let mut case = |title: &str, text: String| report.push_str(&format!("== {title}\n{text}\n"));
        case("equal", told(side("out/a", &story, same), side("out/b", &story, same)));

        let mut other = story.clone();
        other[9].stamp = Stamp::at(minute(13));
        case("another time, another seed", told(side("out/a", &story, same), side("out/b", &other, |m| m.seed = 8)));

        let mut other = story.clone();
        other[2].record =
            Record::Started { task: TaskId { job: JobId(0), index: 0 }, cores: NodeSet::parse("2-3").unwrap() };
        let topology =
            |m: &mut Manifest| (m.topology_hash, m.topology) = ("u".to_owned(), "seed = 7 # or so\n".to_owned());
        case("other cores, another topology", told(side("out/a", &story, same), side("out/b", &other, topology)));

        let partial = |m: &mut Manifest| m.status = Status::Partial("interrupted at virtual time 00:35:00".to_owned());
        case("a prefix", told(side("out/a", &story, same), side("out/longer", &story[..15], partial)));

        let mut tampered = side("out/b", &story, same);
        let text =
            String::from_utf8(tampered.events.into_inner()).unwrap().replacen("\"value\":840.0", "\"value\":841.0", 1);
        tampered.events = std::io::Cursor::new(text.into_bytes());
        case("tampered", told(side("out/a", &story, same), tampered));

        let mut damaged = side("out/b", &story, same);
        let mut text = damaged.events.into_inner();
        text.truncate(text.len() - 20);
        damaged.events = std::io::Cursor::new(text);
        case("cut off", told(side("out/a", &story, same), damaged));
        golden("verify.txt", report.as_bytes());
    }
}
