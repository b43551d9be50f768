//! A hub and leaves that talk over QUIC, each in a thread of its own.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::mpsc;

use super::Failure;
use super::conduct::{Conducted, Line, Watch, conduct};
use super::freight::{self, Freight};
use super::identity::Authority;
use super::keeper::Kept;
use super::play::{Stage, play};
use super::quic::{self, Close, Listener, Options, Terms};
use crate::grid::{EdgeId, JobId, TaskId};
use crate::kernel::{Actor, ActorId, BoxedActor, Cause, Contact, Entry, Event, Hub, Latencies, Leaf, Outbox};
use crate::protocol::handshake::{Hello, Party, TopologyHash};
use crate::protocol::{Ended, Message, Record, Run};
use crate::time::{Span, Stamp, Time};

const HASH: TopologyHash = TopologyHash([0; 16]);
const IDLE: Duration = Duration::from_millis(600);
/// Longer than anybody may be silent.
const LONG: Duration = Duration::from_millis(1500);
/// Bytes of a load: so many of them take much longer than frames that go first.
const LOAD: u64 = 4 << 20;

/// Starts a task at a site, again and again, and thinks before it does.
struct Asker {
    left: u32,
    sites: u32,
    thinks: Duration,
}

impl Actor<Message, Record> for Asker {
    fn handle(&mut self, now: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Outbox<Message, Record>) {
        batch.clear();
        if self.left > 0 {
            self.left -= 1;
            std::thread::sleep(self.thinks);
            let task = TaskId { job: JobId(0), index: 0 };
            // All of them in turn.
            let site = ActorId(1 + self.left % self.sites);
            out.send_at(now.time, site, Message::Run(Run { task, cores: 1, runtime: Span::ZERO }));
        }
    }
}

/// Runs what it is given, and thinks before it does.
struct Runner {
    thinks: Duration,
}

impl Actor<Message, Record> for Runner {
    fn handle(&mut self, now: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Outbox<Message, Record>) {
        for event in batch.drain(..) {
            if let Cause::Message(Message::Run(run)) = event.cause {
                std::thread::sleep(self.thinks);
                let next = Time::from_micros(now.time.micros() + 1);
                out.send_at(next, ActorId(0), Message::Ended(Ended { task: run.task, started: now.time }));
            }
        }
    }
}

/// A run between a router and a site: both think that long in each of two rounds; keepers look that often.
fn thinking(router: Duration, site: Duration, keepers_look: Duration) -> (Conducted, Result<(), Failure>) {
    let options = Options { idle_timeout: IDLE, keep_alive: Duration::from_millis(100), ..Options::default() };
    let asker = Asker { left: 2, sites: 1, thinks: router };
    let (conducted, mut leaves, _) = run(asker, &[site], &options, keepers_look, 0);
    (conducted, leaves.remove(0))
}

/// A run of the router with sites that think that long. From the first of these to the second so many loads go meanwhile.
fn run(
    asker: Asker,
    sites: &[Duration],
    options: &Options,
    keepers_look: Duration,
    loads: u32,
) -> (Conducted, Vec<Result<(), Failure>>, u64) {
    let party = |at: usize| Party::Site(format!("s{at}"));
    let authority = Authority::new("test").unwrap();
    let latencies: Latencies = vec![Span::ZERO; 1 + sites.len()].into();
    let kept = Kept::looking_every(keepers_look).unwrap();
    let _within = kept.enter();
    let router = authority.issue(&[Party::Router], 1).unwrap();
    let mut listener = Listener::bind(([127, 0, 0, 1], 0).into(), &router, options).unwrap();
    let play_at = |(at, thinks): (usize, &Duration)| {
        let (address, options, there) = (listener.address().to_string(), options.clone(), latencies.clone());
        let (identity, hello) = (authority.issue(&[party(at)], 1).unwrap(), Hello::new(vec![party(at)], HASH));
        let runner: BoxedActor<Message, Record> = Box::new(Runner { thinks: *thinks });
        std::thread::spawn(move || {
            let kept = Kept::looking_every(keepers_look).unwrap();
            let joining = async { quic::connect(&address, &identity, &hello, &options).await.unwrap() };
            let mut joined = kept.block_on(joining);
            let _within = kept.enter();
            tokio::spawn(freight::serve(joined.connection.clone()));
            let leaf = Leaf::new(vec![(ActorId(1 + at as u32), runner)], there);
            let (_words, mut endings) = mpsc::unbounded_channel();
            let (sender, receiver) = (&mut joined.sender, &mut joined.receiver);
            let end = play(leaf, Stage { kept: &kept, sender, receiver, names: &[], endings: &mut endings });
            kept.block_on(async {
                joined.connection.closed().await;
            });
            end
        })
    };
    let leaves: Vec<_> = sites.iter().enumerate().map(play_at).collect();

    let roster = (0..sites.len()).map(party).collect();
    let peers = kept.block_on(listener.admit(Terms { roster, topology: HASH }));
    let ids: Vec<_> = (1..=sites.len() as u32).map(|id| vec![ActorId(id)]).collect();
    let homes = peers.iter().zip(&ids).map(|(peer, ids)| (peer.connection.clone(), ids.clone())).collect();
    let names = (0..=sites.len()).map(|at| at.to_string()).collect();
    let mut freight = Freight::new(homes, names, 7, |bytes| bytes, None);
    let sent = |to| Record::Sent {
        edge: EdgeId { job: JobId(0), from: 0, to },
        from: ActorId(1),
        to: ActorId(2),
        bytes: LOAD,
        active: Time::ZERO,
    };
    for to in 0..loads {
        freight.see(&[Entry { stamp: Stamp::ZERO, actor: ActorId(0), record: sent(to) }]);
    }
    let (carried, full) = (freight.passed(), if loads > 0 { u64::from(loads) << 18 } else { 0 });
    kept.block_on(async {
        while carried.load(Ordering::Relaxed) < full {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });

    let mut lines: Vec<Line> = peers.into_iter().map(Line::new).collect();
    let hub = Hub::new(vec![(ActorId(0), Box::new(asker) as BoxedActor<Message, Record>)], &ids, latencies.clone());
    let (_words, mut interruptions) = mpsc::unbounded_channel();
    let watch = Watch {
        stall_after: Duration::from_secs(20),
        contact: Contact::All,
        speed: None,
        progress: &mut |_, _, _| {},
        names: &[],
        carried: carried.clone(),
        interruptions: &mut interruptions,
    };
    let conducted = conduct(&kept, hub, &mut lines, watch);
    let through = carried.load(Ordering::Relaxed) - full;
    let senders = lines.into_iter().map(Line::into_sender).collect();
    kept.block_on(listener.close(senders, Close::Finished, ""));
    (conducted, leaves.into_iter().map(|leaf| leaf.join().unwrap().map(drop)).collect(), through)
}

#[test]
fn a_router_and_a_site_may_think_for_longer_than_anybody_may_be_silent() {
    for (router, site) in [(LONG, Duration::ZERO), (Duration::ZERO, LONG)] {
        let (conducted, leaf) = thinking(router, site, IDLE / 10);
        assert_eq!((conducted.end, leaf), (Ok(()), Ok(())));
        assert_eq!(conducted.leaves[0].messages_up, 2);
    }
}

#[test]
fn without_keepers_they_would_be_taken_for_dead() {
    let never = Duration::from_secs(3600);
    let (conducted, _) = thinking(Duration::ZERO, LONG, never);
    assert!(
        matches!(&conducted.end, Err(Failure::LostPeer { label, .. }) if label == "site s0"),
        "{:?}",
        conducted.end
    );
}

#[test]
fn frames_do_not_wait_for_loads() {
    const ROUNDS: u32 = 50;
    let asker = Asker { left: ROUNDS, sites: 2, thinks: Duration::ZERO };
    let (conducted, leaves, through) =
        run(asker, &[Duration::ZERO, Duration::ZERO], &Options::default(), Duration::from_secs(1), 64);
    assert_eq!((conducted.end, leaves), (Ok(()), vec![Ok(()), Ok(())]));
    let round = conducted.wall / ROUNDS;
    assert!(through > 0, "no loads were under way: {through} bytes");
    assert!(round < Duration::from_millis(300), "{round:?} a round");
}
