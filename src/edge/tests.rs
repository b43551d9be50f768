//! A hub and a leaf that talk over QUIC, each in a thread of its own.

use std::time::Duration;

use tokio::sync::mpsc;

use super::Failure;
use super::conduct::{Conducted, Line, Watch, conduct};
use super::identity::Authority;
use super::keeper::Kept;
use super::play::{Stage, play};
use super::quic::{self, Close, Listener, Options, Terms};
use crate::grid::{JobId, TaskId};
use crate::kernel::{Actor, ActorId, BoxedActor, Cause, Contact, Event, Hub, Latencies, Leaf, Outbox};
use crate::protocol::handshake::{Hello, Party, TopologyHash};
use crate::protocol::{Ended, Message, Record, Run};
use crate::time::{Span, Stamp, Time};

const HASH: TopologyHash = TopologyHash([0; 16]);
const IDLE: Duration = Duration::from_millis(600);
/// Longer than anybody may be silent.
const LONG: Duration = Duration::from_millis(1500);

fn options() -> Options {
    Options { idle_timeout: IDLE, keep_alive: Duration::from_millis(100), ..Options::default() }
}

/// Starts a task at the leaf, again and again, and thinks before it does.
struct Asker {
    left: u32,
    thinks: Duration,
}

impl Actor<Message, Record> for Asker {
    fn handle(&mut self, now: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Outbox<Message, Record>) {
        batch.clear();
        if self.left > 0 {
            self.left -= 1;
            std::thread::sleep(self.thinks);
            let task = TaskId { job: JobId(0), index: 0 };
            out.send_at(now.time, ActorId(1), Message::Run(Run { task, cores: 1, runtime: Span::ZERO }));
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

/// A run of so many rounds in which router and site think that long in each; keepers look that often.
fn thinking(router: Duration, site: Duration, keepers_look: Duration) -> (Conducted, Result<(), Failure>) {
    let york = [Party::Site("york".to_owned())];
    let authority = Authority::new("test").unwrap();
    let (hub_identity, leaf_identity) =
        (authority.issue(&[Party::Router], 1).unwrap(), authority.issue(&york, 1).unwrap());
    let latencies: Latencies = vec![Span::ZERO; 2].into();
    let kept = Kept::looking_every(keepers_look).unwrap();
    let _within = kept.enter();
    let mut listener = Listener::bind(([127, 0, 0, 1], 0).into(), &hub_identity, &options()).unwrap();
    let (address, hello, there) = (listener.address(), Hello::new(york.to_vec(), HASH), latencies.clone());
    let leaf = std::thread::spawn(move || {
        let kept = Kept::looking_every(keepers_look).unwrap();
        let options = options();
        let joining = async { quic::connect(&address.to_string(), &leaf_identity, &hello, &options).await.unwrap() };
        let mut joined = kept.block_on(joining);
        let runner: BoxedActor<Message, Record> = Box::new(Runner { thinks: site });
        let leaf = Leaf::new(vec![(ActorId(1), runner)], there);
        let (_words, mut endings) = mpsc::unbounded_channel();
        let (sender, receiver) = (&mut joined.sender, &mut joined.receiver);
        let end = play(leaf, Stage { kept: &kept, sender, receiver, names: &[], endings: &mut endings });
        kept.block_on(joined.connection.leave(joined.sender, Close::Finished, ""));
        end
    });

    let terms = Terms { roster: york.to_vec(), topology: HASH };
    let mut lines: Vec<Line> = kept.block_on(listener.admit(terms)).into_iter().map(Line::new).collect();
    let asker: BoxedActor<Message, Record> = Box::new(Asker { left: 2, thinks: router });
    let hub = Hub::new(vec![(ActorId(0), asker)], &[vec![ActorId(1)]], latencies);
    let (_words, mut interruptions) = mpsc::unbounded_channel();
    let watch = Watch {
        stall_after: Duration::from_secs(20),
        contact: Contact::All,
        speed: None,
        progress: &mut |_, _, _| {},
        names: &[],
        interruptions: &mut interruptions,
    };
    let conducted = conduct(&kept, hub, &mut lines, watch);
    let senders = lines.into_iter().map(Line::into_sender).collect();
    kept.block_on(listener.close(senders, Close::Finished, ""));
    (conducted, leaf.join().unwrap())
}

#[test]
fn a_router_and_a_site_may_think_for_longer_than_anybody_may_be_silent() {
    for (router, site) in [(LONG, Duration::ZERO), (Duration::ZERO, LONG)] {
        let (conducted, leaf) = thinking(router, site, IDLE / 10);
        assert_eq!((conducted.end, leaf), (Ok(()), Ok(())));
        // Two tasks there and back, and the first moment of both.
        assert_eq!(conducted.leaves[0].messages_up, 2);
    }
}

#[test]
fn without_keepers_they_would_be_taken_for_dead() {
    let never = Duration::from_secs(3600);
    let (conducted, _) = thinking(Duration::ZERO, LONG, never);
    assert!(
        matches!(&conducted.end, Err(Failure::LostPeer { label, .. }) if label == "site york"),
        "{:?}",
        conducted.end
    );
}
