//! A hub and leaves that talk over QUIC, each in a thread of its own.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::mpsc;

use super::Failure;
use super::drive_hub::{LeafLink, Returns, RunOutcome, Watch, drive_hub};
use super::drive_leaf::{LeafIo, drive_leaf};
use super::freight::{self, Freight};
use super::identity::Authority;
use super::journal::{Head, Journal};
use super::keeper::WatchedRuntime;
use super::outside::ProgramFault;
use super::quic::{self, Close, JoinTerms, Listener, QuicOptions};
use hansa_sim::grid::{EdgeId, JobId, NodeSet, TaskId};
use hansa_sim::kernel::{Actor, ActorId, BoxedActor, Cause, Contact, Entry, Event, Hub, Latencies, Leaf, Outbox};
use hansa_sim::protocol::handshake::{Hello, Party, TopologyHash};
use hansa_sim::protocol::{Ended, Message, Record, Run};
use hansa_sim::time::{Span, Stamp, Time};

const HASH: TopologyHash = TopologyHash([0; 16]);
const IDLE: Duration = Duration::from_millis(600);
/// Longer than the idle timeout.
const LONG: Duration = Duration::from_millis(1500);
/// Bytes of a load: loads take much longer than frames, which have priority.
const LOAD: u64 = 4 << 20;

/// Starts a task at a site, again and again, and computes before each.
struct Asker {
    left: u32,
    sites: u32,
    thinks: Duration,
}

impl Actor<Message, Record> for Asker {
    fn handle_batch(&mut self, now: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Outbox<Message, Record>) {
        batch.clear();
        if self.left > 0 {
            self.left -= 1;
            std::thread::sleep(self.thinks);
            let task = TaskId { job: JobId(0), index: 0 };
            // All sites in turn.
            let site = ActorId(1 + self.left % self.sites);
            out.send_at(
                now.time,
                site,
                Message::Run(Run { task, cores: 1, runtime: Span::ZERO, safe: None, planned: NodeSet::default() }),
            );
        }
    }
}

/// Runs the tasks that it gets, and computes before each.
struct Runner {
    thinks: Duration,
}

impl Actor<Message, Record> for Runner {
    fn handle_batch(&mut self, now: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Outbox<Message, Record>) {
        for event in batch.drain(..) {
            if let Cause::Message(Message::Run(run)) = event.cause {
                std::thread::sleep(self.thinks);
                let next = Time::from_micros(now.time.micros() + 1);
                out.send_at(next, ActorId(0), Message::Ended(Ended { task: run.task, started: now.time }));
            }
        }
    }
}

/// Sends records about a task before its end, one a microsecond.
struct Talker {
    moments: u64,
    records: u32,
}

impl Actor<Message, Record> for Talker {
    fn handle_batch(&mut self, now: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Outbox<Message, Record>) {
        let task = TaskId { job: JobId(0), index: 0 };
        for event in batch.drain(..) {
            match event.cause {
                Cause::Start => continue,
                _ => (0..self.records).for_each(|_| out.log(Record::Shared { task, share: 0.5 })),
            }
            let next = Time::from_micros(now.time.micros() + 1);
            if self.moments == 0 {
                out.send_at(next, ActorId(0), Message::Ended(Ended { task, started: now.time }));
            } else {
                self.moments -= 1;
                out.wake_at(next, 0);
            }
        }
    }
}

type Cast = BoxedActor<Message, Record>;

fn thinks(thinks: Duration) -> Cast {
    Box::new(Runner { thinks })
}

/// A run between a router and a site: both compute that long in each of two rounds; keepers check at that interval.
fn thinking(router: Duration, site: Duration, keepers_look: Duration) -> (RunOutcome, Result<(), Failure>) {
    let options = QuicOptions { idle_timeout: IDLE, keep_alive: Duration::from_millis(100), ..QuicOptions::default() };
    let asker = Asker { left: 2, sites: 1, thinks: router };
    let mut ran = run(asker, vec![thinks(site)], &options, keepers_look, 0);
    (ran.outcome, ran.leaves.remove(0))
}

/// Result of a run.
struct Ran {
    outcome: RunOutcome,
    leaves: Vec<Result<(), Failure>>,
    /// Bytes of loads that were transferred meanwhile.
    through: u64,
    /// Numbers of records that were passed on at a time.
    passed_on: Vec<usize>,
}

/// A run of the router with these sites. Meanwhile this many loads go from the first site to the second.
fn run(asker: Asker, sites: Vec<Cast>, options: &QuicOptions, keepers_look: Duration, loads: u32) -> Ran {
    let count = sites.len();
    let party = |at: usize| Party::Site(format!("s{at}"));
    let authority = Authority::new("test").unwrap();
    let latencies: Latencies = vec![Span::ZERO; 1 + count].into();
    let kept = WatchedRuntime::looking_every(keepers_look).unwrap();
    let _within = kept.enter();
    let router = authority.issue(&[Party::Router], 1).unwrap();
    let mut listener = Listener::bind(([127, 0, 0, 1], 0).into(), &router, options).unwrap();
    let play_at = |(at, actor): (usize, Cast)| {
        let address = listener.address().to_string();
        let options = options.clone();
        let there = latencies.clone();
        let identity = authority.issue(&[party(at)], 1).unwrap();
        let hello = Hello::new(vec![party(at)], HASH);
        std::thread::spawn(move || {
            let kept = WatchedRuntime::looking_every(keepers_look).unwrap();
            let joining = async { quic::connect_router(&address, &identity, &hello, &options).await.unwrap() };
            let mut joined = kept.block_on(joining);
            let _within = kept.enter();
            tokio::spawn(freight::serve_router(joined.connection.clone()));
            let leaf = Leaf::new(vec![(ActorId(1 + at as u32), actor)], there);
            let (_words, mut endings) = mpsc::unbounded_channel();
            let sender = &mut joined.sender;
            let receiver = &mut joined.receiver;
            let fault = ProgramFault::default();
            let end = drive_leaf(
                leaf,
                LeafIo { kept: &kept, sender, receiver, names: &[], endings: &mut endings, fault: &fault },
            );
            kept.block_on(async {
                joined.connection.await_closed().await;
            });
            end
        })
    };
    let leaves: Vec<_> = sites.into_iter().enumerate().map(play_at).collect();

    let roster = (0..count).map(party).collect();
    let peers = kept.block_on(listener.admit_all(JoinTerms { roster, topology: HASH })).unwrap();
    let ids: Vec<_> = (1..=count as u32).map(|id| vec![ActorId(id)]).collect();
    let homes = peers.iter().zip(&ids).map(|(peer, ids)| (peer.connection.clone(), ids.clone())).collect();
    let names = (0..=count).map(|at| at.to_string()).collect();
    let mut freight = Freight::new(homes, names, 7, |bytes| bytes, None);
    let sent = |to| Record::Sent {
        edge: EdgeId { job: JobId(0), from: 0, to },
        from: ActorId(1),
        to: ActorId(2),
        bytes: LOAD,
        active: Time::ZERO,
    };
    for to in 0..loads {
        freight.start_released(&[Entry { stamp: Stamp::ZERO, actor: ActorId(0), record: sent(to) }]);
    }
    let carried = freight.passed_bytes();
    let full = if loads > 0 { u64::from(loads) << 18 } else { 0 };
    kept.block_on(async {
        while carried.load(Ordering::Relaxed) < full {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });

    let mut links: Vec<LeafLink> = LeafLink::link_leaves(peers);
    let hub = Hub::new(vec![(ActorId(0), Box::new(asker) as Cast)], &ids, latencies.clone());
    let (_words, mut interruptions) = mpsc::unbounded_channel();
    let mut passed_on = Vec::new();
    let watch = Watch {
        stall_after: Duration::from_secs(20),
        contact: Contact::All,
        shares_core: false,
        speed: None,
        progress: &mut |_, _, _| {},
        record: &mut |entries| {
            passed_on.push(entries.len());
            Ok(())
        },
        names: &[],
        carried: carried.clone(),
        interruptions: &mut interruptions,
        fault: &ProgramFault::default(),
        returns: None,
    };
    let outcome = drive_hub(&kept, hub, &mut links, watch);
    let through = carried.load(Ordering::Relaxed) - full;
    let ends = links.into_iter().map(LeafLink::into_ends).collect();
    kept.block_on(listener.close(ends, Close::Finished, ""));
    let leaves = leaves.into_iter().map(|leaf| leaf.join().unwrap().map(drop)).collect();
    Ran { outcome, leaves, through, passed_on }
}

#[test]
fn a_router_and_a_site_may_think_for_longer_than_anybody_may_be_silent() {
    for (router, site) in [(LONG, Duration::ZERO), (Duration::ZERO, LONG)] {
        let (outcome, leaf) = thinking(router, site, IDLE / 10);
        assert_eq!((outcome.end, leaf), (Ok(()), Ok(())));
        assert_eq!(outcome.leaves[0].messages_up, 2);
    }
}

#[test]
fn without_keepers_they_would_be_taken_for_dead() {
    let never = Duration::from_secs(3600);
    let (outcome, _) = thinking(Duration::ZERO, LONG, never);
    assert!(matches!(&outcome.end, Err(Failure::LostPeer { label, .. }) if label == "site s0"), "{:?}", outcome.end);
}

#[test]
fn frames_do_not_wait_for_loads() {
    const ROUNDS: u32 = 50;
    let asker = Asker { left: ROUNDS, sites: 2, thinks: Duration::ZERO };
    let sites = vec![thinks(Duration::ZERO), thinks(Duration::ZERO)];
    let Ran { outcome, leaves, through, .. } = run(asker, sites, &QuicOptions::default(), Duration::from_secs(1), 64);
    assert_eq!((outcome.end, leaves), (Ok(()), vec![Ok(()), Ok(())]));
    let round = outcome.wall / ROUNDS;
    assert!(through > 0, "no loads were under way: {through} bytes");
    assert!(round < Duration::from_millis(300), "{round:?} a round");
}

#[test]
fn records_are_passed_on_while_one_creeps_and_another_has_nothing_to_say() {
    let asker = Asker { left: 1, sites: 1, thinks: Duration::ZERO };
    let talker = Talker { moments: 400, records: 1000 };
    let sites = vec![Box::new(talker) as Cast, thinks(Duration::ZERO)];
    let Ran { outcome, leaves, passed_on, .. } = run(asker, sites, &QuicOptions::default(), Duration::from_secs(1), 0);
    assert_eq!((outcome.end, leaves), (Ok(()), vec![Ok(()), Ok(())]));
    let most = passed_on.iter().max().unwrap();
    assert_eq!(passed_on.iter().sum::<usize>(), 401_000);
    assert!(*most <= 150_000, "{passed_on:?}: what waits is bounded, however long the run is");
}

/// Answers `after` microseconds later, and hangs up after `left` answers.
struct Faller {
    after: u64,
    left: u32,
    line: quic::Connection,
}

impl Actor<Message, Record> for Faller {
    fn handle_batch(&mut self, now: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Outbox<Message, Record>) {
        for event in batch.drain(..) {
            if let Cause::Message(Message::Run(run)) = event.cause {
                if self.left == 0 {
                    self.line.close(Close::Dropped, "");
                }
                self.left = self.left.wrapping_sub(1);
                let next = Time::from_micros(now.time.micros() + self.after);
                out.send_at(next, ActorId(0), Message::Ended(Ended { task: run.task, started: now.time }));
            }
        }
    }
}

/// A run of twenty rounds with one site, which fails twice and comes back as one that answers after the next delay.
fn falling(after: [u64; 3]) -> RunOutcome {
    let options = QuicOptions::default();
    let party = Party::Site("s0".to_owned());
    let authority = Authority::new("test").unwrap();
    let latencies: Latencies = vec![Span::ZERO; 2].into();
    let kept = WatchedRuntime::new().unwrap();
    let _within = kept.enter();
    let router = authority.issue(&[Party::Router], 1).unwrap();
    let mut listener = Listener::bind(([127, 0, 0, 1], 0).into(), &router, &options).unwrap();
    let address = listener.address().to_string();
    let there = latencies.clone();
    let identity = authority.issue(std::slice::from_ref(&party), 1).unwrap();
    let hello = Hello::new(vec![party.clone()], HASH);
    let site = std::thread::spawn(move || {
        for (after, left) in after.into_iter().zip([5, 12, 100]) {
            let kept = WatchedRuntime::new().unwrap();
            let options = QuicOptions { join_timeout: Duration::from_secs(10), ..QuicOptions::default() };
            let Ok(mut joined) = kept.block_on(quic::connect_router(&address, &identity, &hello, &options)) else {
                return;
            };
            let actor = Box::new(Faller { after, left, line: joined.connection.clone() }) as Cast;
            let leaf = Leaf::new(vec![(ActorId(1), actor)], there.clone());
            let (_words, mut endings) = mpsc::unbounded_channel();
            let sender = &mut joined.sender;
            let receiver = &mut joined.receiver;
            let fault = ProgramFault::default();
            let stage = LeafIo { kept: &kept, sender, receiver, names: &[], endings: &mut endings, fault: &fault };
            if drive_leaf(leaf, stage).is_ok() {
                return kept.block_on(async { _ = joined.connection.await_closed().await });
            }
        }
    });

    let peers = kept.block_on(listener.admit_all(JoinTerms { roster: vec![party], topology: HASH })).unwrap();
    listener.let_return();
    let mut links: Vec<LeafLink> = LeafLink::link_leaves(peers);
    let asker = Asker { left: 20, sites: 1, thinks: Duration::ZERO };
    let hub = Hub::new(vec![(ActorId(0), Box::new(asker) as Cast)], &[vec![ActorId(1)]], latencies);
    let scratch = tempfile::TempDir::new().unwrap();
    let head = Head {
        release: String::new(),
        topology_hash: String::new(),
        groups: Vec::new(),
        topology: String::new(),
        inputs: Vec::new(),
        started: String::new(),
    };
    let journal = Journal::create(scratch.path(), &head).unwrap();
    let (_gone, mut gone) = mpsc::unbounded_channel();
    let (_words, mut interruptions) = mpsc::unbounded_channel();
    let watch = Watch {
        stall_after: Duration::from_secs(20),
        contact: Contact::All,
        shares_core: false,
        speed: None,
        progress: &mut |_, _, _| {},
        record: &mut |_| Ok(()),
        names: &[],
        carried: Default::default(),
        interruptions: &mut interruptions,
        fault: &ProgramFault::default(),
        returns: Some(Returns {
            journal,
            door: &mut listener,
            gone: &mut gone,
            patience: Duration::from_secs(10),
            goes_on: false,
        }),
    };
    let outcome = drive_hub(&kept, hub, &mut links, watch);
    let ends = links.into_iter().map(LeafLink::into_ends).collect();
    kept.block_on(listener.close(ends, Close::Finished, ""));
    site.join().unwrap();
    outcome
}

#[test]
fn who_comes_back_and_says_the_same_goes_on() {
    let outcome = falling([3, 3, 3]);
    assert_eq!(outcome.end, Ok(()));
    assert_eq!(outcome.leaves[0].messages_up, 20, "every answer counts once");
}

#[test]
fn who_comes_back_and_says_something_else_is_named() {
    for after in [[3, 4, 3], [3, 3, 4]] {
        let Err(Failure::Breach(text)) = falling(after).end else { panic!("it is not noticed") };
        assert!(text.contains("site s0 is not deterministic: it came back at virtual time"), "{text}");
        assert!(text.contains("its frame "), "{text}");
    }
}
