//! A small run told by hand, and random ones; shared by the tests of all reports.

#[path = "../sim/tests/any_entry.rs"]
mod any_entry;
mod golden;
mod story;
mod systems;
mod topology;

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

pub use any_entry::any_entry;
pub use golden::golden;
pub use story::*;

use super::{Counts, Names, RecordError, RunFacts, Status, SummaryFile, Tally, summary_table};
use hansa_sim::grid::{Area, BookingId, HoldId, Invalid, Job, JobId, NodeSet, Part, Receipt, TaskId};
use hansa_sim::kernel::{ActorId, Entry};
use hansa_sim::protocol::{Fault, Record};
use hansa_sim::time::{Span, Stamp};
use hansa_sim::topology::Owned;

/// One table of a tally.
pub fn table(tally: &Tally, name: &str) -> String {
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
    for (events, message) in [(0, " writing, 12 waits\n"), (1, " writing, 1 router event, 100,000/s, 12 waits\n")] {
        let table = summary_table(&results, Some(&RunFacts { events, ..run.clone() }));
        assert!(table.contains(message), "{table}");
    }
    let file = SummaryFile { results, run };
    let json = super::manifest::pretty_json(&file);
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
    let message = |entries: &[usize]| {
        let mut tally = Tally::new(&topology(), &names());
        entries.iter().find_map(|&entry| tally.add(&story[entry]).err()).map(|error| error.to_string())
    };
    assert_eq!(message(&[1]), Some("job 0 has not arrived".to_owned()));
    assert_eq!(message(&[0, 0]), Some("job 0 arrives twice".to_owned()));
    assert_eq!(message(&[0, 7]), Some("task 0.0 ends without having started".to_owned()));
    assert_eq!(message(&[0, 2, 2]), Some("task 0.0 has started already".to_owned()));
    assert_eq!(message(&[0, 2, 7, 12]), Some("job 0 is complete, but not all of its tasks are".to_owned()));

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
    format!("{}: {wrong}", tally.blame_members(entry, &wrong, owners))
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
        let contradicts = format!("{} contradicts the records of the run", tally.describe_actor(mallory));
        let twice = format!("{contradicts}: job {} arrives twice", job.id);
        assert_eq!(blame(&mut tally, &by(*alice), &owners), twice);
        // And with the two users exchanged.
        let mut tally = Tally::putting_aside(&topology(), &names(), Box::new(Vec::new()));
        tally.add(&by(*alice)).unwrap();
        over.iter().for_each(|over| tally.add(over).unwrap());
        assert_eq!(blame(&mut tally, &by(mallory), &owners), twice);
    }
}

/// A job has a task that runs at york, which never ends, and one that waits for it at bath, which comes first.
#[test]
fn a_site_where_tasks_wait_for_another_site_is_not_named() {
    let text = "name = \"waits\"\n[market]\n[[site]]\nname = \"bath\"\ncores = 64\n[[site]]\nname = \"york\"\n\
                cores = 64\n[[user]]\nname = \"ann\"\n[[workload]]\nsource = \"market\"\njobs = 2\ncores_max = 64\n";
    let topology = crate::play::read_text(text);
    let names = Names::of(&topology);
    let [bath, york, ann] = ["bath", "york", "ann"].map(|name| names.find_actor(name).unwrap());
    let add = |actor, record| Entry { stamp: Stamp::at(minute(1)), actor, record };
    let tasks = [0, 1].map(|index| TaskId { job: JobId(0), index });
    let job = Arc::new(job(0, 0, &[(10, 2, 0), (10, 2, 0)], &[(0, 1)], false));
    let mut tally = Tally::new(&topology, &names);
    for entry in [
        add(ActorId(0), Record::Arrived { job, user: ann }),
        add(ActorId(0), Record::Assigned { task: tasks[0], site: york }),
        add(ActorId(0), Record::Assigned { task: tasks[1], site: bath }),
    ] {
        tally.add(&entry).unwrap();
    }
    let mut kept_back = |entry: Option<&Entry<Record>>| {
        entry.into_iter().for_each(|entry| tally.add(entry).unwrap());
        tally.kept_back(&BTreeMap::new(), &BTreeMap::new())
    };
    // Nothing shows which of them has received its task.
    assert_eq!(kept_back(None), "site bath still has job 0, site york still has job 0");
    let started = add(york, Record::Started { task: tasks[0], cores: NodeSet::parse("0-1").unwrap() });
    assert_eq!(kept_back(Some(&started)), "site york still has job 0");
}

/// Ann and bob negotiate with york and bath. What one of them alone has recorded is its own contradiction; where a site
/// and a user deny each other's words, neither is accused.
#[test]
fn who_is_alone_with_its_word_is_named_alone() {
    let text = "name = \"bargains\"\n[provisioning]\n[[site]]\nname = \"york\"\ncores = 64\n[[site]]\nname = \"bath\"\n\
                cores = 64\n[[user]]\nname = \"ann\"\n[[user]]\nname = \"bob\"\n[[workload]]\nsource = \"lublin\"\n\
                jobs = 2\nnodes = 4\n";
    let topology = crate::play::read_text(text);
    let names = Names::of(&topology);
    let [york, ann, bob] = ["york", "ann", "bob"].map(|name| names.find_actor(name).unwrap());
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

    fn comparison(a: Side<std::io::Cursor<Vec<u8>>>, b: Side<std::io::Cursor<Vec<u8>>>) -> String {
        compare_logs(a, b).unwrap().to_string()
    }

    #[test]
    fn what_no_sentence_tells_differs_all_the_same() {
        let what = |records: [Record; 2]| {
            let [a, b] = records.map(|record| side("out/a", &[Entry { record, ..story()[0].clone() }], |_| {}));
            compare_logs(a, b).unwrap().difference.unwrap().what
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
        case("equal", comparison(side("out/a", &story, same), side("out/b", &story, same)));

        let mut other = story.clone();
        other[9].stamp = Stamp::at(minute(13));
        case(
            "another time, another seed",
            comparison(side("out/a", &story, same), side("out/b", &other, |m| m.seed = 8)),
        );

        let mut other = story.clone();
        other[2].record =
            Record::Started { task: TaskId { job: JobId(0), index: 0 }, cores: NodeSet::parse("2-3").unwrap() };
        let topology =
            |m: &mut Manifest| (m.topology_hash, m.topology) = ("u".to_owned(), "seed = 7 # or so\n".to_owned());
        case("other cores, another topology", comparison(side("out/a", &story, same), side("out/b", &other, topology)));

        let partial = |m: &mut Manifest| m.status = Status::Partial("interrupted at virtual time 00:35:00".to_owned());
        case("a prefix", comparison(side("out/a", &story, same), side("out/longer", &story[..15], partial)));

        let mut tampered = side("out/b", &story, same);
        let text =
            String::from_utf8(tampered.events.into_inner()).unwrap().replacen("\"value\":840.0", "\"value\":841.0", 1);
        tampered.events = std::io::Cursor::new(text.into_bytes());
        case("tampered", comparison(side("out/a", &story, same), tampered));

        let mut damaged = side("out/b", &story, same);
        let mut text = damaged.events.into_inner();
        text.truncate(text.len() - 20);
        damaged.events = std::io::Cursor::new(text);
        case("cut off", comparison(side("out/a", &story, same), damaged));
        golden("verify.txt", report.as_bytes());
    }
}
