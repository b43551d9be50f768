use super::later::PastDays;
use super::*;
use crate::play::second as at;
use hansa_sim::grid::{NodeSet, QueueOrder};
use hansa_sim::random::SplitMix64;
use hansa_sim::roles::queue;
use hansa_sim::time::{Span, Time};
use hansa_sim::workload::swf;

fn rule(name: &str) -> QueueRule<'static> {
    QueueRule { policy: queue::find_policy(name).unwrap(), order: QueueOrder::Arrival, reserved: &[] }
}

/// A job of user 0: its arrival, start and end in seconds, its cores and its request.
fn seen(came: u64, start: Option<u64>, end: Option<u64>, cores: u32, requested: u64) -> SeenJob {
    SeenJob {
        user: 0,
        cores,
        nodes: NodeSet::default(),
        requested: Span::from_secs(requested),
        came: at(came),
        start: start.map(at),
        end: end.map(at),
    }
}

fn site(cores: u32, jobs: Vec<SeenJob>) -> SiteLog {
    SiteLog::new(cores, jobs, vec!["ann".to_owned()])
}

fn wanted(cores: u32, walltime: u64) -> WantedJob {
    WantedJob { cores, walltime: Span::from_secs(walltime), user: None }
}

/// Waits in seconds in some repetitions, ascending.
fn waits(log: &SiteLog, now: u64, policy: &str, job: WantedJob) -> Vec<u64> {
    let moment = Moment::at(log, at(now));
    let runs = (0..40).map(|run| moment.draw(rule(policy), job, 7, run).unwrap().start);
    let mut waits: Vec<u64> = runs.map(|start| start.since(at(now)).micros() / 1_000_000).collect();
    waits.sort_unstable();
    waits
}

/// Six finished jobs that have taken all their requests.
fn exact_past() -> Vec<SeenJob> {
    (0..6).map(|job| seen(job, Some(job), Some(job + 10), 1, 10)).collect()
}

/// Ten cores at 1,000 s: 6 cores until 1,100 s, 4 until 1,040 s; a job of 8 cores for 50 s waits.
fn busy(mut past: Vec<SeenJob>) -> SiteLog {
    past.extend([
        seen(900, Some(900), Some(1_100), 6, 200),
        seen(940, Some(940), Some(1_040), 4, 100),
        seen(950, Some(1_100), Some(1_150), 8, 50),
    ]);
    site(10, past)
}

#[test]
fn known_run_times_give_the_exact_start() {
    let log = busy(exact_past());
    // It fits beside the job of 6 cores once that of 4 has ended, and ends before the head starts at 1,100.
    assert_eq!(waits(&log, 1_000, "easy", wanted(4, 60)), [40; 40]);
    assert_eq!(waits(&log, 1_000, "conservative", wanted(4, 60)), [40; 40]);
    // It is first come, first served after the head, which leaves 2 cores until 1,150.
    assert_eq!(waits(&log, 1_000, "fcfs", wanted(4, 60)), [150; 40]);
    assert_eq!(waits(&log, 1_000, "fcfs", wanted(2, 60)), [100; 40]);
    // It would delay the head.
    assert_eq!(waits(&log, 1_000, "easy", wanted(4, 61)), [150; 40]);
    // The end follows the start by the run time.
    let run = Moment::at(&log, at(1_000)).draw(rule("easy"), wanted(4, 60), 7, 0).unwrap();
    assert_eq!((run.start, run.end), (at(1_040), at(1_100)));
}

#[test]
fn the_future_of_the_log_is_not_looked_at() {
    let log = busy(exact_past());
    let mut other = log.clone();
    for job in &mut other.jobs[6..] {
        job.end = job.end.map(|end| end + Span::from_secs(5_000));
    }
    let last = other.jobs.len() - 1;
    other.jobs[last].start = None;
    other.jobs.push(seen(1_001, Some(1_001), Some(9_000), 10, 9_000));
    for policy in queue::ALL {
        let job = wanted(4, 60);
        assert_eq!(waits(&log, 1_000, policy.name, job), waits(&other, 1_000, policy.name, job), "{}", policy.name);
    }
}

#[test]
fn intervals_grow_with_the_spread_of_run_times() {
    let spread = |share: &dyn Fn(u64) -> u64| {
        let past = (0..20).map(|job| seen(job, Some(job), Some(job + share(job)), 1, 100)).collect();
        let waits = waits(&busy(past), 1_000, "fcfs", wanted(8, 60));
        waits[37] - waits[2]
    };
    let some = spread(&|job| 80 + job);
    let much = spread(&|job| 1 + 5 * job);
    assert_eq!(spread(&|_| 100), 0);
    assert!(0 < some && some < much, "{some} {much}");
}

#[test]
fn a_running_job_lasts_longer_than_it_has() {
    // All jobs so far used a tenth or all of their requests; the one that runs has used half of its own.
    let past = (0..40).map(|job| seen(job, Some(job), Some(job + 10 + 90 * (job % 2)), 1, 100));
    let past = past.chain([seen(500, Some(500), None, 10, 1_000)]).collect();
    assert_eq!(waits(&site(10, past), 1_000, "easy", wanted(1, 60)), [500; 40]);
    // Without finished jobs, it ends at any time up to its request.
    let waits = waits(&site(10, vec![seen(500, Some(500), None, 10, 1_000)]), 1_000, "easy", wanted(1, 60));
    assert!(waits[0] < 100 && waits[39] > 400 && waits[39] <= 500, "{waits:?}");
}

#[test]
fn draws_depend_on_seed_and_number_only() {
    let past = (0..20).map(|job| seen(job, Some(job), Some(job + 5 * job), 1, 100)).collect();
    let log = busy(past);
    let moment = Moment::at(&log, at(1_000));
    let draws =
        |seed: u64| -> Vec<_> { (0..20).map(|run| moment.draw(rule("easy"), wanted(8, 60), seed, run)).collect() };
    assert_eq!(draws(1), draws(1));
    assert_ne!(draws(1), draws(2));
    assert_eq!(draws(1)[13], moment.draw(rule("easy"), wanted(8, 60), 1, 13));
}

#[test]
fn later_jobs_come_at_the_hours_of_past_ones() {
    let hour = 3_600;
    // Three days, with a burst of two jobs at 8:00 each.
    let jobs: Vec<SeenJob> =
        (0..3).flat_map(|day| [0, 5].map(|second| seen((24 * day + 8) * hour + second, None, None, 1, 10))).collect();
    let now = at((24 * 2 + 20) * hour);
    let past = PastDays::of(&jobs, now);
    assert_eq!((past.count(), past.jobs()), (2, 4));
    let arrivals: Vec<(usize, Time)> = past.arrivals(&jobs, now, SplitMix64::new(3)).take(6).collect();
    let times: Vec<u64> = arrivals.iter().map(|(_, time)| time.micros() / 1_000_000).collect();
    let eight = |day: u64| (24 * day + 8) * hour;
    assert_eq!(times, [eight(3), eight(3) + 5, eight(4), eight(4) + 5, eight(5), eight(5) + 5]);
    // A job that was cancelled in the queue would take cores that it never took; at 8:03 that was not known yet.
    let mut cancelled = jobs.clone();
    cancelled[2].end = Some(cancelled[2].came + Span::from_secs(180));
    let past = PastDays::of(&cancelled, now);
    assert_eq!((past.count(), past.jobs()), (2, 3));
    let times: Vec<u64> = past
        .arrivals(&cancelled, now, SplitMix64::new(3))
        .map(|(_, time)| time.micros() / 1_000_000 % (24 * hour))
        .collect();
    assert!(
        times.iter().filter(|time| **time == 8 * hour).count()
            < times.iter().filter(|time| **time == 8 * hour + 5).count()
    );
    assert!(!cancelled[2].was_cancelled_by(cancelled[2].came) && !cancelled[0].was_cancelled_by(now));
    // Too short a past has no arrivals.
    assert_eq!(PastDays::of(&jobs[..2], at(9 * hour)).count(), 0);
}

#[test]
fn later_jobs_may_overtake() {
    let day = 86_400;
    // Each day, a small job comes every minute, and takes all of its two hours.
    let mut jobs: Vec<SeenJob> =
        (0..1_440).map(|minute| seen(60 * minute, Some(60 * minute), Some(60 * minute + 7_200), 1, 7_200)).collect();
    jobs.retain(|job| job.end.unwrap() <= at(day));
    // Nine of ten cores are busy for an hour, and the first in the queue needs all of them.
    jobs.push(seen(day, Some(day - 1), None, 9, 3_600));
    jobs.push(seen(day, None, None, 10, 3_600));
    let log = site(10, jobs);
    let job = wanted(10, 60);
    let first = waits(&log, day, "fcfs", job)[0];
    assert!(waits(&log, day, "easy", job).iter().all(|wait| *wait >= first));
    assert_eq!(Moment::at(&log, at(day)).past_counts(), (1, log.jobs.len() as u64 - 2));
}

#[test]
fn a_log_is_compared_with_its_own_starts() {
    // Jobs of ten cores for exactly 100 s, every 80 s: all but the first wait, and their starts are certain once there
    // are finished jobs.
    let jobs = (0..50).map(|job| seen(80 * job, Some(100 * job), Some(100 * job + 100), 10, 100)).collect();
    let log = site(10, jobs);
    let outcomes: Vec<Outcome> = (10..50).map(|job| Outcome::of(&log, job, rule("easy"), 20, 1).unwrap()).collect();
    let calibration = Calibration::of("easy", 50, &outcomes, 20, 1);
    assert_eq!((calibration.within, calibration.before, calibration.after), (40, 0, 0));
    assert_eq!((calibration.waited, calibration.width), (40, 0.0));
    let text = calibration.to_string();
    let first = "40 jobs of the 50 that started, under easy: 40 (100.0 %) started within the 90 % interval, 0 before";
    assert!(text.starts_with(first), "{text}");
    // A log of another policy, whose jobs start late.
    let mut late = log.clone();
    for job in &mut late.jobs[30..] {
        job.start = job.start.map(|start| start + Span::from_secs(5));
    }
    assert_eq!(Outcome::of(&late, 30, rule("easy"), 20, 1).unwrap().start, std::cmp::Ordering::Greater);
}

#[test]
fn the_answer_reads_well() {
    let log = busy(exact_past());
    let moment = Moment::at(&log, at(1_000));
    let job = wanted(4, 60);
    let mut answer = When::of("site oslo", &log, &moment, job, 20, 1);
    for name in ["easy", "fcfs"] {
        let runs: Vec<_> = (0..20).map(|run| moment.draw(rule(name), job, 1, run)).collect();
        answer.policies.push(PolicyAnswer::of(name, name == "easy", moment.now(), &runs));
    }
    let text = "\
4 cores for 1 min 00 s at site oslo, which has 10, from 00:16:40 on: 2 jobs run on 10, 1 job waits for 8
policy      starts in   90 % interval             median start  median end
easy (own)  40 s        40 s to 40 s              00:17:20      00:18:20
fcfs        2 min 30 s  2 min 30 s to 2 min 30 s  00:19:10      00:20:10
run times: from 6 latest ratios of used to requested time; 3 of the 3 jobs that run or wait mostly from their own users
later jobs: none, as no history of at least 6 h is known; later arrivals may delay the start
20 repetitions of each policy, seed 1
";
    assert_eq!(answer.text("core", &|time| time.to_string()), text);
}

const LOG: &str = "\
; MaxProcs: 10
1 0 0 100 4 -1 -1 4 200 -1 1 7 1 -1 1 -1 -1 -1
2 10 5 -1 6 -1 -1 6 300 -1 -1 9 1 -1 1 -1 -1 -1
3 20 30 -1 6 -1 -1 6 300 -1 5 9 1 -1 1 -1 -1 -1
4 130 -1 -1 20 -1 -1 20 300 -1 -1 9 1 -1 1 -1 -1 -1
5 140 -1 -1 8 -1 -1 8 300 -1 -1 7 1 -1 1 -1 -1 -1
";

#[test]
fn a_log_says_what_runs_and_waits() {
    let trace = swf::read_log(LOG.as_bytes()).unwrap();
    let (log, now) = SiteLog::of_trace(&trace, 10).unwrap();
    assert_eq!((now, log.too_large, &log.users[..]), (at(140), 1, &["7".to_owned(), "9".to_owned()][..]));
    let mut cancelled = seen(20, None, Some(50), 6, 300);
    cancelled.user = 1;
    let mut running = seen(10, Some(15), None, 6, 300);
    running.user = 1;
    assert_eq!(log.jobs, [seen(0, Some(0), Some(100), 4, 200), running, cancelled, seen(140, None, None, 8, 300)]);
    let trace = swf::read_log(LOG.replace("1 0 0 100", "1 0 -1 100").as_bytes()).unwrap();
    let wrong = SiteLog::of_trace(&trace, 10).unwrap_err();
    assert!(wrong.starts_with("1 job has a run time but no wait time (field 3)"), "{wrong}");
}

/// A listing whose numbers and states are written by these.
fn listing(meta: &str, number: fn(u64) -> String, state: fn(&str) -> String) -> String {
    let job = |id: u64, word: &str, reason: &str, start: u64, nodes: u64, minutes: u64, more: &str| {
        format!(
            r#"{{"job_id": {id}, "user_name": "ann", "partition": "{more}", "job_state": {}, "state_reason": "{reason}",
               "submit_time": {}, "start_time": {}, "cpus": {}, "node_count": {}, "time_limit": {}}}"#,
            state(word),
            number(1_000),
            number(start),
            number(4 * nodes),
            number(nodes),
            number(minutes),
        )
    };
    let jobs = [
        job(1, "RUNNING", "None", 1_100, 2, 60, "long"),
        job(2, "PENDING", "Priority", 9_000, 1, 30, "long"),
        job(3, "PENDING", "Dependency", 0, 1, 30, "long"),
        job(4, "COMPLETED", "None", 1_050, 1, 30, "long"),
        job(5, "PENDING", "Resources", 0, 1, 30, "short"),
    ];
    format!(r#"{{"meta": {meta}, "jobs": [{}]}}"#, jobs.join(","))
}

#[test]
fn listings_of_several_versions_are_read() {
    let plain = |number: u64| number.to_string();
    let set = |number: u64| format!(r#"{{"set": true, "infinite": false, "number": {number}}}"#);
    let word = |word: &str| format!("{word:?}");
    let list = |word: &str| format!("[{word:?}]");
    let listings = [
        listing(r#"{"plugin": {"type": "openapi/v0.0.37"}}"#, plain, word),
        listing(r#"{"plugins": {"data_parser": "data_parser/v0.0.39"}}"#, set, word),
        listing(r#"{"plugin": {"data_parser": "data_parser/v0.0.41+complex"}}"#, set, list),
    ];
    for text in &listings {
        let read = read_squeue(text.as_bytes(), 4, Unit::Nodes, Some("long")).unwrap();
        assert_eq!(read.log.jobs, [seen(1_000, Some(1_100), None, 2, 3_600), seen(1_000, None, None, 1, 1_800)]);
        assert_eq!((read.now, read.not_ready, read.partitions.len()), (at(1_100), 1, 2));
        assert!(!read.log.has_past);
        // A job runs that started at the moment of the listing.
        let moment = Moment::at(&read.log, read.now);
        assert_eq!(moment.jobs().map(|jobs| jobs.len()), [1, 1]);
        let in_cores = read_squeue(text.as_bytes(), 16, Unit::Cores, None).unwrap();
        assert_eq!(in_cores.log.jobs.iter().map(|job| job.cores).collect::<Vec<_>>(), [8, 4, 4]);
    }
    let endless = listings[2].replacen(
        r#""time_limit": {"set": true, "infinite": false"#,
        r#""time_limit": {"set": false, "infinite": true"#,
        1,
    );
    let read = read_squeue(endless.as_bytes(), 4, Unit::Nodes, None).unwrap();
    assert_eq!((read.unlimited, read.log.jobs[0].requested), (1, Span::from_minutes(365 * 24 * 60)));
    let wrong =
        |text: &str, partition: Option<&str>| read_squeue(text.as_bytes(), 4, Unit::Nodes, partition).unwrap_err();
    let other = listings[2].replace("v0.0.41", "v0.0.99");
    assert_eq!(
        wrong(&other, None),
        "its data parser is data_parser/v0.0.99+complex: expected one of v0.0.37 to v0.0.44; \
         `squeue --json=v0.0.44` may print that"
    );
    assert_eq!(
        wrong(&listings[0], Some("lang")),
        "no job is in partition lang; partitions: long, short; did you mean long?"
    );
    assert!(wrong(r#"{"jobs": []}"#, None).starts_with("expected `meta.plugin.data_parser`"));
    let broken = listings[0].replace("\"cpus\": 8, \"node_count\": 2", "\"cpus\": 8");
    assert_eq!(wrong(&broken, None), "job 1: expected a number `node_count`");
}

#[test]
fn running_jobs_keep_their_cores() {
    // Cores 0 to 3 are free. The first in the queue needs 5 cores, and gets 0 to 4 at 1,100: a job that lasts longer
    // starts after it, if it needs more than core 5 then.
    let mut running = seen(900, Some(900), None, 2, 200);
    running.nodes = NodeSet::from_run(4, 5);
    let mut log = site(6, exact_past().into_iter().chain([running, seen(950, None, None, 5, 50)]).collect());
    for policy in ["easy", "conservative"] {
        assert_eq!(waits(&log, 1_000, policy, wanted(4, 100)), [0; 40], "{policy}");
        assert_eq!(waits(&log, 1_000, policy, wanted(4, 101)), [150; 40], "{policy}");
    }
    assert_eq!(waits(&log, 1_000, "easy", wanted(1, 500)), [100; 40]);
    // If cores 0 and 1 are busy instead, core 5 is free now and afterwards.
    log.jobs[6].nodes = NodeSet::from_run(0, 1);
    assert_eq!(waits(&log, 1_000, "easy", wanted(1, 500)), [0; 40]);
}
