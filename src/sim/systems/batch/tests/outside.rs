//! Sites and users with an external decider: its possible orders, and their execution.

use std::sync::{Arc, Mutex};

use super::*;
use crate::grid::{Checkpoint, Every, Expected, Killed, QueueOrder, Recovery};
use crate::protocol::outside::planner::{UserAction, UserEvent};
use crate::protocol::outside::{Decision, SiteAction, SiteEvent};
use crate::roles::outside::{CheckedProgram, ManagerProgram, PlannedUser, Plans, ProgramManager};
use crate::roles::queue::{NodeRequest, Policy, Step};
use crate::roles::site::Manager;
use crate::systems::batch::claims::NodeClaims;
use crate::systems::{Failing, Fails};

type Transcript = Arc<Mutex<Vec<String>>>;

/// Decides as a queue policy does, from the messages to an external program.
struct AsPolicy {
    policy: Box<dyn Policy>,
    /// Nodes, walltime and start of each job.
    known: BTreeMap<JobId, (u32, Span, Time)>,
    /// The failed nodes, and true if lost jobs come before all others.
    remedy: Option<(NodeClaims, bool)>,
    lost: Vec<JobId>,
}

impl AsPolicy {
    fn new(policy: &str, nodes: u32, fails: Option<&Fails>) -> AsPolicy {
        let policy = (queue::find_policy(policy).unwrap().build)(nodes, &[], QueueOrder::Arrival.into());
        let claims = NodeClaims::new(nodes, policy.moves_jobs(), &[]);
        let remedy = fails.map(|fails| (claims, fails.recovery.killed == Killed::Head));
        AsPolicy { policy, known: BTreeMap::new(), remedy, lost: Vec::new() }
    }

    fn request(&self, job: JobId) -> NodeRequest {
        let (nodes, walltime, _) = self.known[&job];
        NodeRequest { job: TaskId { job, index: 0 }, nodes, walltime }
    }

    fn leaves(&mut self, now: Time, job: JobId) {
        let (_, walltime, start) = self.known[&job];
        self.policy.end_job(now, TaskId { job, index: 0 }, start + walltime);
    }

    /// Books failed nodes, and submits lost jobs again.
    fn plan_around(&mut self, now: Time, down: &[Expected]) {
        let (claims, is_first) = self.remedy.as_mut().expect("nodes fail here");
        claims.set_down_nodes(now, down, &[], &mut *self.policy);
        let is_first = *is_first;
        let mut lost = std::mem::take(&mut self.lost);
        if is_first {
            lost.reverse();
        }
        for job in lost {
            let request = self.request(job);
            match is_first {
                true => self.policy.submit_first(now, request),
                false => self.policy.submit_job(now, request),
            }
        }
    }
}

impl ManagerProgram for AsPolicy {
    fn decide_on_events(&mut self, now: Time, happened: &[(Time, SiteEvent)]) -> Decision {
        for (_, happened) in happened {
            match happened {
                &SiteEvent::Submitted { job, nodes, walltime, .. } => {
                    self.known.insert(job, (nodes, walltime, Time::ZERO));
                    self.policy.submit_job(now, self.request(job));
                }
                SiteEvent::Ended { job, .. } => self.leaves(now, *job),
                SiteEvent::Lost { job, waits, .. } => {
                    self.leaves(now, *job);
                    if let Some(walltime) = waits {
                        self.known.get_mut(job).expect("it was submitted").1 = *walltime;
                        self.lost.push(*job);
                    }
                }
                SiteEvent::Nodes { down } => self.plan_around(now, down),
                SiteEvent::Recalled { job } => self.policy.withdraw_job(now, TaskId { job: *job, index: 0 }),
                SiteEvent::Called => {}
            }
        }
        let mut steps = Vec::new();
        self.policy.run_pass(now, &mut steps);
        let action = |step| {
            let Step::Start { job: TaskId { job, .. }, nodes } = step else { panic!("nothing is booked here") };
            self.known.get_mut(&job).expect("it was submitted").2 = now;
            (now, SiteAction::Start { job, on: Some(nodes) })
        };
        let mut actions: Vec<_> = steps.into_iter().map(action).collect();
        // Some start a job when nothing else happens.
        actions.extend(self.policy.next_wake().filter(|at| *at > now).map(|at| (now, SiteAction::Call { at })));
        Decision { actions, ready: now }
    }
}

impl CheckedProgram for AsPolicy {
    fn refuse_answer(&mut self, now: Time, why: &str) {
        panic!("at {now}: {why}");
    }

    fn has_failed(&self) -> bool {
        false
    }
}

/// Gives prepared answers, question by question, and keeps the questions.
struct Scripted {
    answers: Vec<Decision>,
    transcript: Transcript,
    failed: bool,
}

impl ManagerProgram for Scripted {
    fn decide_on_events(&mut self, now: Time, happened: &[(Time, SiteEvent)]) -> Decision {
        let lines = happened.iter().map(|(at, happened)| {
            let at = at.micros() / 1_000_000;
            match happened {
                SiteEvent::Submitted { job, .. } => format!("{at} submitted {}", job.0),
                SiteEvent::Ended { job, how, on, progress } => format!("{at} {how:?} {} {on} {progress}", job.0),
                SiteEvent::Lost { job, on, waits, .. } => {
                    let waits = waits.map_or("is gone".to_owned(), |left| format!("waits for {} s", left.seconds()));
                    format!("{at} lost {} {on}, {waits}", job.0)
                }
                SiteEvent::Nodes { down } => {
                    let down = down.iter().map(|one| format!("{} until {}", one.nodes, one.back.seconds()));
                    format!("{at} down [{}]", down.collect::<Vec<_>>().join(", "))
                }
                SiteEvent::Recalled { job } => format!("{at} recalled {}", job.0),
                SiteEvent::Called => format!("{at} called"),
            }
        });
        let lines: Vec<String> = lines.collect();
        self.transcript.lock().unwrap().push(format!("{}: {}", now.micros() / 1_000_000, lines.join(", ")));
        if self.answers.is_empty() { Decision { ready: now, ..Decision::default() } } else { self.answers.remove(0) }
    }
}

impl CheckedProgram for Scripted {
    fn refuse_answer(&mut self, _: Time, why: &str) {
        self.transcript.lock().unwrap().push(format!("refused: {why}"));
        self.failed = true;
    }

    fn has_failed(&self) -> bool {
        self.failed
    }
}

fn managed(sites: Vec<(u32, Box<dyn ManagerProgram>)>, user: User) -> Built {
    let site = |((nodes, _), id): (&(u32, _), u32)| KnownSite::new(ActorId(id), *nodes, Takes::Entrusted);
    let known = sites.iter().zip(1..).map(site).collect();
    let mut cast: Built = vec![Box::new(Dispatcher::new(known, Dispatch::LeastWork, None))];
    for (nodes, decider) in sites {
        cast.push(Box::new(Site::new(nodes, Box::new(ProgramManager::new(decider, nodes)), [ROUTER])));
    }
    cast.push(Box::new(user));
    cast
}

/// The messages to a decider with these answers about these jobs, on four nodes, and the fate of the jobs.
fn play_script(jobs: &[Rigid], answers: Vec<Decision>) -> (Vec<String>, Vec<Entry<Record>>) {
    let transcript = Transcript::default();
    let scripted = Scripted { answers, transcript: transcript.clone(), failed: false };
    let user = User::new(Script::from_messages(messages(jobs, None)));
    let log = judge::run_actors(managed(vec![(4, Box::new(scripted))], user), &[Span::ZERO; 3]);
    let transcript = transcript.lock().unwrap().clone();
    (transcript, log)
}

fn now(at: u64, actions: Vec<SiteAction>) -> Decision {
    Decision { actions: actions.into_iter().map(|action| (second(at), action)).collect(), ready: second(at) }
}

fn start(job: u32, on: &str) -> SiteAction {
    SiteAction::Start { job: JobId(job), on: (!on.is_empty()).then(|| NodeSet::parse(on).unwrap()) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(unoptimised) { 30 } else { 200 }))]

    /// An external decider that decides as an internal policy does gets its schedule, at one site and at several, with
    /// latency and without.
    #[test]
    fn an_external_decider_gets_the_schedule_of_the_same_policy(
        drawn in prop::collection::vec((0u64..40, 1u32..5, 1u64..20, 1u64..20), 1..30),
        policy in prop::sample::select(&["fcfs", "easy", "conservative"][..]),
        count in 1usize..4,
        latency in 0u64..3,
    ) {
        let jobs: Vec<Rigid> = drawn.iter().map(|&(at, nodes, wall, run)| rigid(at, nodes, wall, run)).collect();
        let latencies = vec![Span::from_secs(latency); count + 2];
        let user = || User::new(Script::from_messages(messages(&jobs, None)));
        let inside = judge::run_actors(cast(&vec![(4, policy); count], Dispatch::LeastWork, vec![user()]), &latencies);
        let decider = |_| (4, Box::new(AsPolicy::new(policy, 4, None)) as Box<dyn ManagerProgram>);
        let outside = judge::run_actors(managed((0..count).map(decider).collect(), user()), &latencies);
        prop_assert_eq!(ran(&outside), ran(&inside));
        prop_assert_eq!(assigned(&outside), assigned(&inside));
    }

    /// This also holds where nodes fail, under every failure handling.
    #[test]
    fn an_external_decider_gets_the_schedule_of_the_same_policy_where_nodes_fail(
        drawn in prop::collection::vec((0u64..40, 1u32..5, 1u64..20, 1u64..20), 1..20),
        policy in prop::sample::select(&["fcfs", "easy", "conservative"][..]),
        spec in prop::collection::vec((0usize..2, 0u32..4, 1u64..90, 1u64..25), 1..12),
        (killed, attempts, every, patience) in (0usize..4, 1u32..5, 0u64..9, prop::option::of(1u64..30)),
        latency in 0u64..3,
    ) {
        let mut drawn = drawn;
        drawn.sort_by_key(|job| job.0);
        let jobs: Vec<Rigid> = drawn.iter().map(|&(at, nodes, wall, run)| rigid(at, nodes, wall, run)).collect();
        let failures: Vec<_> =
            spec.iter().map(|(site, node, at, lasts)| failing::once(*site, &node.to_string(), *at, *lasts)).collect();
        let saves = Checkpoint { every: Every::Span(Span::from_secs(every.max(1))), cost: Span::from_millis(500) };
        let checkpoint = (every > 0).then_some(saves);
        let recovery = Recovery { killed: Killed::ALL[killed].1, attempts, checkpoint, ..Recovery::default() };
        let failing = Failing { failures: &failures, recovery: &recovery, seed: 1 };
        let latencies = [0, latency, latency, latency].map(Span::from_secs);
        let sites = [(4, policy); 2];
        let ran = |takes: Takes, manager: failing::MakesManager<'_>| {
            // By work it would also count in which order a site tells of what happens at once.
            let cast = failing::managed_cast(&sites, Dispatch::First, &jobs, failing, &latencies, takes, manager);
            let cast = match patience {
                Some(patience) => failing::impatient_cast(cast, &jobs, Span::from_secs(patience)),
                None => cast,
            };
            judge::run_actors(cast, &latencies)
        };
        let inside = ran(Takes::Queued, &failing::desk);
        let outside = ran(Takes::Entrusted, &|nodes, name, fails| {
            let decider = Box::new(AsPolicy::new(name, nodes, fails));
            Box::new(ProgramManager::new(decider, nodes).recovering(fails.map(|fails| fails.attempts(nodes))))
        });
        // A decider with a wake-up call looks at idle nodes, too; and a site reports the events of one instant in an
        // order of its own.
        let of_jobs = |log: &[Entry<Record>]| {
            let lines = failing::render_log(log).into_iter().filter(|line| !line.contains(" since "));
            lines.collect::<std::collections::BTreeSet<_>>()
        };
        prop_assert_eq!(of_jobs(&outside), of_jobs(&inside));
        prop_assert_eq!(assigned(&outside), assigned(&inside));
    }
}

/// Nodes fail again and again, and the job that was lost once more is never started.
#[test]
fn a_run_ends_though_a_program_forgets_a_lost_job() {
    let jobs = [rigid(0, 2, 20, 10), rigid(1, 2, 9, 5)];
    let transcript = Transcript::default();
    let failures: Vec<_> = (0..1_000).map(|round| failing::once(0, "0", 4 + 20 * round, 10)).collect();
    let recovery = Recovery::default();
    let failing = Failing { failures: &failures, recovery: &recovery, seed: 1 };
    let manager = |nodes: u32, _: &str, fails: Option<&Fails>| -> Box<dyn Manager> {
        let answers = vec![now(0, vec![start(0, "0-1")]), now(1, vec![start(1, "2-3")])];
        let scripted = Scripted { answers, transcript: transcript.clone(), failed: false };
        Box::new(ProgramManager::new(Box::new(scripted), nodes).recovering(fails.map(|fails| fails.attempts(nodes))))
    };
    let latencies = [Span::ZERO; 3];
    let cast =
        failing::managed_cast(&[(4, "")], Dispatch::First, &jobs, failing, &latencies, Takes::Entrusted, &manager);
    judge::run_actors(cast, &latencies);
    // Of 2,000 changes it has been told of half.
    let requests = transcript.lock().unwrap().len();
    assert!((1_000..1_010).contains(&requests), "{requests}");
}

#[test]
fn a_program_is_told_of_failed_nodes_and_lost_jobs() {
    let jobs = [rigid(0, 2, 20, 10), rigid(1, 2, 9, 5), rigid(3, 1, 9, 5)];
    let answers = vec![
        now(0, vec![start(0, "0-1")]),
        now(1, vec![start(1, "2-3")]),
        now(3, vec![]),
        // The lowest that are free are not those that are down.
        now(4, vec![start(2, "")]),
        now(6, vec![start(0, "2-3")]),
    ];
    let transcript = Transcript::default();
    let failures = [failing::once(0, "1", 4, 30)];
    let recovery = Recovery::default();
    let failing = Failing { failures: &failures, recovery: &recovery, seed: 1 };
    let manager = |nodes: u32, _: &str, fails: Option<&Fails>| -> Box<dyn Manager> {
        let scripted = Scripted { answers: answers.clone(), transcript: transcript.clone(), failed: false };
        Box::new(ProgramManager::new(Box::new(scripted), nodes).recovering(fails.map(|fails| fails.attempts(nodes))))
    };
    let latencies = [Span::ZERO; 3];
    let cast =
        failing::managed_cast(&[(4, "")], Dispatch::First, &jobs, failing, &latencies, Takes::Entrusted, &manager);
    judge::run_actors(cast, &latencies);
    let expected = [
        "0: 0 submitted 0",
        "1: 1 submitted 1",
        "3: 3 submitted 2",
        "4: 4 lost 0 0-1, waits for 20 s, 4 down [1 until 34]",
        "6: 6 Done 1 2-3 1",
        "9: 9 Done 2 0 1",
        "16: 16 Done 0 2-3 1",
    ];
    assert_eq!(*transcript.lock().unwrap(), expected);
}

#[test]
fn it_hears_of_all_that_happens_and_what_it_orders_is_done() {
    let jobs = [rigid(0, 2, 10, 5), rigid(0, 2, 10, 20), rigid(1, 4, 9, 9), rigid(2, 1, 8, 8)];
    let answers = vec![
        now(0, vec![start(0, "2-3"), start(1, "")]),
        now(1, vec![SiteAction::Reject { job: JobId(2) }, SiteAction::Call { at: second(4) }]),
        // It kills what runs and takes its nodes at once.
        now(2, vec![SiteAction::Kill { job: JobId(0) }, start(3, "2")]),
    ];
    let (transcript, log) = play_script(&jobs, answers);
    let expected = [
        "0: 0 submitted 0, 0 submitted 1",
        "1: 1 submitted 2",
        "2: 2 submitted 3",
        "2: 2 Killed 0 2-3 0.4",
        "4: 4 called",
        "10: 10 Walltime 1 0-1 0.5, 10 Done 3 2 1",
    ];
    assert_eq!(transcript, expected);
    let ran: Vec<_> = ran(&log).iter().map(|(job, ran)| (*job, ran.start, ran.end, ran.nodes.to_string())).collect();
    let at = |job, start, end, nodes: &str| (job, second(start), second(end), nodes.to_owned());
    assert_eq!(ran, [at(0, 0, 2, "2-3"), at(1, 0, 10, "0-1"), at(3, 2, 10, "2")]);
    let removed = log.iter().filter(|entry| matches!(entry.record, Record::Removed { job: JobId(2) }));
    assert_eq!(removed.count(), 1);
    let killed = log.iter().filter(|entry| matches!(entry.record, Record::Killed { .. }));
    assert_eq!(killed.count(), 2);
}

/// Batsim's schedulers may say that they have been thinking: what they order happens then, and what happens meanwhile
/// they hear of afterwards.
#[test]
fn delayed_orders_are_obeyed_then_and_the_rest_is_told_later() {
    let jobs = [rigid(0, 2, 10, 5), rigid(2, 1, 10, 5), rigid(4, 1, 10, 5)];
    let answers = vec![
        Decision { actions: vec![(second(3), start(0, "0-1"))], ready: second(6) },
        now(6, vec![start(1, ""), start(2, "")]),
    ];
    let (transcript, log) = play_script(&jobs, answers);
    assert_eq!(
        transcript,
        [
            "0: 0 submitted 0",
            "6: 2 submitted 1, 4 submitted 2",
            "8: 8 Done 0 0-1 1",
            "11: 11 Done 1 2 1, 11 Done 2 3 1"
        ]
    );
    let starts: Vec<_> = ran(&log).values().map(|ran| ran.start).collect();
    assert_eq!(starts, [second(3), second(6), second(6)]);
}

/// It has thought about job 0 until 6 s, and wants it killed then; job 1 it kills twice.
#[test]
fn what_ends_before_a_dated_kill_has_ended_and_what_was_killed_is_not_killed_again() {
    let jobs = [rigid(0, 2, 10, 5), rigid(0, 1, 10, 9), rigid(1, 1, 5, 5)];
    let kill = |job| SiteAction::Kill { job: JobId(job) };
    let answers = vec![
        now(0, vec![start(0, "0-1"), start(1, "2")]),
        Decision { actions: vec![(second(6), kill(0)), (second(6), kill(1)), (second(7), kill(1))], ready: second(8) },
    ];
    let (transcript, log) = play_script(&jobs, answers);
    assert_eq!(transcript[2..], ["refused: kills job 1, which is not running"]);
    let ends: Vec<_> = ran(&log).values().map(|ran| ran.end).collect();
    assert_eq!(ends, [second(5), second(6)]);
}

#[test]
fn impossible_orders_are_refused_in_words() {
    let jobs = [rigid(0, 2, 10, 5), rigid(0, 3, 10, 5)];
    let cases: Vec<(Vec<SiteAction>, &str)> = vec![
        (vec![start(7, "0-1")], "starts job 7, which is not waiting here"),
        (vec![start(0, "0-1"), start(0, "2-3")], "starts job 0, which runs already"),
        (vec![start(0, "0")], "starts job 0 on 1 nodes (0), but it requests 2"),
        (vec![start(0, "3-4")], "starts job 0 on node 4 of a site that has 4"),
        (vec![start(0, "0-1"), start(1, "1-3")], "starts job 1 on 1-3, of which other jobs have 1"),
        (vec![start(0, ""), start(1, "")], "starts job 1 on 3 nodes, but only 2 are free"),
        (vec![SiteAction::Kill { job: JobId(0) }], "kills job 0, which is not running"),
        (vec![start(0, ""), SiteAction::Reject { job: JobId(0) }], "rejects job 0, which runs already"),
        (vec![SiteAction::Call { at: second(0) }], "asks to be called at 0 s, which is not later than 0 s"),
        // Two numbers whose difference plus one is more than any number.
        (vec![start(0, "0-4294967295")], "starts job 0 on node 4294967295 of a site that has 4"),
    ];
    for (actions, why) in cases {
        let (transcript, log) = play_script(&jobs, vec![now(0, actions)]);
        assert_eq!(transcript[1..], [format!("refused: {why}")], "nothing is asked after that");
        let wrong = log.iter().filter(|entry| matches!(entry.record, Record::Removed { .. } | Record::Killed { .. }));
        assert_eq!(wrong.count(), 0, "{why}");
    }
}

#[test]
fn a_job_that_is_taken_back_in_time_is_told_of_and_goes_elsewhere() {
    // Nothing is ever started at the first site; patience brings the job to the second one.
    let jobs = [rigid(0, 1, 10, 5)];
    let transcript = Transcript::default();
    let idle = Scripted { answers: Vec::new(), transcript: transcript.clone(), failed: false };
    let other = AsPolicy::new("fcfs", 4, None);
    let user = User::new(Resubmit::new(Script::from_messages(messages(&jobs, None)), Span::from_secs(7), 3));
    let log = judge::run_actors(managed(vec![(4, Box::new(idle)), (4, Box::new(other))], user), &[Span::ZERO; 4]);
    assert_eq!(*transcript.lock().unwrap(), ["0: 0 submitted 0", "7: 7 recalled 0"]);
    assert_eq!(ran(&log)[&0].start, second(7));
}

/// Hands in what is due at once to the site with the shortest name, but for job 1, which waits for a call and is asked
/// for back.
struct Chooser {
    transcript: Transcript,
}

impl Plans for Chooser {
    fn plan_actions(&mut self, now: Time, events: &[UserEvent]) -> Vec<UserAction> {
        let at = now.micros() / 1_000_000;
        self.transcript.lock().unwrap().push(format!("{at}: {events:?}"));
        let submit = |job: u32, site: &str| UserAction::Submit { job: JobId(job), site: Some(site.to_owned()) };
        events
            .iter()
            .flat_map(|events| match events {
                UserEvent::Due { job: JobId(1), .. } => {
                    [5_000_000, 6_500_000].map(|at| UserAction::Call { at: Time::from_micros(at) }).to_vec()
                }
                UserEvent::Due { job, .. } => vec![submit(job.0, "york")],
                UserEvent::Called if at == 5 => vec![submit(1, "york")],
                UserEvent::Called => vec![UserAction::Recall { job: JobId(1) }],
                UserEvent::Recalled { job, in_time: true } => vec![submit(job.0, "hull")],
                _ => vec![],
            })
            .collect()
    }
}

impl CheckedProgram for Chooser {
    fn refuse_answer(&mut self, _: Time, why: &str) {
        panic!("{why}");
    }

    fn has_failed(&self) -> bool {
        false
    }
}

/// The messages to a chooser at two sites of so many nodes, and the fate of its jobs.
fn choose(
    jobs: &[Rigid],
    sites: [u32; 2],
    latency: u64,
    follower: Option<Follower>,
) -> (Vec<String>, Vec<Entry<Record>>) {
    let transcript = Transcript::default();
    let decider = Box::new(Chooser { transcript: transcript.clone() });
    let mut handed = Vec::new();
    for (time, to, message) in messages(jobs, None) {
        let Message::Enqueue(enqueue) = message else { unreachable!("they are jobs") };
        handed.push((time, to, enqueue));
    }
    // The last one follows, if any does.
    let then = follower.map(|follower| {
        let (_, to, last) = handed.pop().unwrap();
        Followers::new(to, Arc::new(Written(vec![last])), vec![follower])
    });
    let names = BTreeMap::from([("york".to_owned(), ActorId(1)), ("hull".to_owned(), ActorId(2))]);
    let user = User::new(PlannedUser::new(
        decider,
        Script::from_messages(Vec::new()),
        handed,
        then.into_iter().collect(),
        names,
    ));
    let there = Span::from_secs(latency);
    let log = judge::run_actors(
        cast(&sites.map(|nodes| (nodes, "fcfs")), Dispatch::First, vec![user]),
        &[Span::ZERO, there, there, Span::ZERO],
    );
    let transcript = transcript.lock().unwrap().clone();
    (transcript, log)
}

#[test]
fn a_planner_outside_chooses_when_and_where_and_takes_back() {
    let jobs = [rigid(0, 2, 10, 10), rigid(1, 2, 10, 3), rigid(0, 1, 4, 4)];
    let follower = Follower { before: JobId(0), place: 0, think: Span::from_secs(2) };
    let (transcript, log) = choose(&jobs, [2, 2], 0, Some(follower));
    let starts: Vec<_> = ran(&log).iter().map(|(job, ran)| (*job, ran.start.micros() / 500_000)).collect();
    assert_eq!(starts, [(0, 0), (1, 13), (2, 24)]);
    assert_eq!(assigned(&log), [1, 1, 2, 1]);
    let brief: Vec<_> =
        transcript.iter().map(|line| line.split([' ', '{']).take(2).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(
        brief,
        [
            "0: [Due",
            "1: [Due",
            "5: [Called]",
            "6: [Called]",
            "6: [Recalled",
            "9: [Over",
            "10: [Over",
            "12: [Due",
            "16: [Over"
        ]
    );
}

#[test]
fn a_job_that_is_taken_back_and_fits_nowhere_then_is_given_up() {
    let jobs = [rigid(0, 2, 10, 10), rigid(1, 2, 10, 3)];
    let (transcript, log) = choose(&jobs, [2, 1], 0, None);
    let of_it: Vec<_> = log
        .iter()
        .filter_map(|entry| match &entry.record {
            Record::Arrived { job, .. } if job.id == JobId(1) => Some("arrived"),
            Record::Withdrawn { task } if task.job == JobId(1) => Some("withdrawn"),
            Record::Removed { job: JobId(1) } => Some("removed"),
            Record::Rejected { .. } => Some("rejected"),
            _ => None,
        })
        .collect();
    assert_eq!(of_it, ["arrived", "withdrawn", "removed"]);
    assert_eq!(transcript[5], format!("6: {:?}", [UserEvent::Over { job: JobId(1) }]));
}

/// Its site does not know of the recall when it tells of the end, nor the router of the end when it passes the recall
/// on.
#[test]
fn a_recall_that_meets_the_news_of_the_end_is_answered() {
    let (transcript, _) = choose(&[rigid(0, 1, 1, 1), rigid(1, 2, 10, 1)], [2, 2], 1, None);
    let events = [UserEvent::Recalled { job: JobId(1), in_time: false }, UserEvent::Over { job: JobId(1) }];
    assert_eq!(transcript.last(), Some(&format!("8: {events:?}")));
}
