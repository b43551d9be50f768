//! Cost of a lock-step turn over QUIC: the hub asks every leaf and waits for all answers. The baseline is bare quinn
//! with plain bytes, in the same run. Each leaf is a process of its own.

use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::process::{Child, Command};
use tokio::sync::mpsc;

use crate::Failure;
use crate::drive_hub::{LeafLink, Watch, drive_hub};
use crate::drive_leaf::{LeafIo, drive_leaf};
use crate::identity::{Authority, Identity};
use crate::keeper::WatchedRuntime;
use crate::outside::ProgramFault;
use crate::quic::{self, Close, Connection, FrameSender, JoinTerms, Joined, Listener, Peer, QuicOptions};
use crate::run_dir::RunDir;
use hansa_sim::grid::{JobId, NodeSet, TaskId};
use hansa_sim::kernel::{Actor, ActorId, BoxedActor, Cause, Contact, Event, Hub, Latencies, Leaf, Outbox};
use hansa_sim::protocol::handshake::{Hello, Party, TopologyHash};
use hansa_sim::protocol::{Ended, Message, Record, Run};
use hansa_sim::time::{Span, Stamp, Time};

/// Microseconds per turn, medians.
pub struct Turns {
    pub leaves: usize,
    pub quinn: f64,
    pub hub: f64,
}

/// Bytes of a plain ping and its echo: about as many as a frame of the hub with one message has.
const PING: usize = 104;
const HASH: TopologyHash = TopologyHash([0; 16]);
/// The command that makes a process a leaf of this measurement.
pub const ECHO: &str = "bench-echo";

/// Measures both with this many leaves.
pub fn measure_turns(leaves: usize, turns: u32) -> Result<Turns, Failure> {
    let kept = WatchedRuntime::new()?;
    let mut grid = kept.block_on(TurnGrid::start(leaves))?;
    let quinn = kept.block_on(grid.measure_bare(turns))?;
    let hub = grid.measure_turn(&kept, turns)?;
    kept.block_on(grid.end());
    Ok(Turns { leaves, quinn, hub })
}

/// Plays a leaf: echoes bytes until told otherwise, then follows the hub.
pub fn echo_leaf(router: SocketAddr, index: u32, identity: &std::path::Path) -> Result<(), Failure> {
    let kept = WatchedRuntime::new()?;
    let Some(mut joined) = kept.block_on(echo_bytes(router, index, identity))? else { return Ok(()) };
    let me = ActorId(index + 1);
    let latencies: Latencies = vec![Span::ZERO; index as usize + 2].into();
    let leaf = Leaf::new(vec![(me, Box::new(Echo) as BoxedActor<Message, Record>)], latencies);
    let (_words, mut endings) = mpsc::unbounded_channel();
    let sender = &mut joined.sender;
    let receiver = &mut joined.receiver;
    let fault = ProgramFault::default();
    drive_leaf(leaf, LeafIo { kept: &kept, sender, receiver, names: &[], endings: &mut endings, fault: &fault })?;
    kept.block_on(async {
        let _ = joined.receiver.next().await;
        joined.connection.leave(joined.sender, Close::Finished, "").await;
    });
    Ok(())
}

/// Echoes plain bytes. None if the other side has gone.
async fn echo_bytes(router: SocketAddr, index: u32, identity: &std::path::Path) -> Result<Option<Joined>, Failure> {
    let identity = Identity::load(identity).map_err(|error| internal_failure(&error))?;
    let hello = Hello::new(vec![leaf_party(index)], HASH);
    let mut joined = quic::connect_router(&router.to_string(), &identity, &hello, &QuicOptions::default())
        .await
        .map_err(|error| internal_failure(&error))?;
    let mut outgoing = Vec::new();
    loop {
        let Some(ping) = joined.receiver.next().await.map_err(|error| internal_failure(&error))? else {
            return Ok(None);
        };
        if ping.is_empty() {
            return Ok(Some(joined));
        }
        outgoing.clear();
        quic::append_frame(ping, &mut outgoing).map_err(|error| internal_failure(&error))?;
        joined.sender.write(&outgoing).await.map_err(|error| internal_failure(&error))?;
    }
}

fn internal_failure(error: &dyn std::fmt::Display) -> Failure {
    Failure::Internal(error.to_string())
}

fn leaf_party(index: u32) -> Party {
    Party::Site(format!("leaf-{index}"))
}

struct TurnGrid {
    listener: Listener,
    peers: Vec<Peer>,
    ends: Vec<(Connection, FrameSender)>,
    children: Vec<Child>,
}

impl TurnGrid {
    async fn start(leaves: usize) -> Result<TurnGrid, Failure> {
        let authority = Authority::new("bench").map_err(|error| system_failure(&error))?;
        let router = authority.issue(&[Party::Router], 1).map_err(|error| system_failure(&error))?;
        let loopback: SocketAddr = ([127, 0, 0, 1], 0).into();
        let mut listener =
            Listener::bind(loopback, &router, &QuicOptions::default()).map_err(|error| system_failure(&error))?;
        let dir = RunDir::new()?;
        let program = std::env::current_exe().map_err(|error| system_failure(&error))?;
        let mut children = Vec::new();
        for index in 0..leaves as u32 {
            let identity = dir.path.join(index.to_string());
            let issued = authority.issue(&[leaf_party(index)], 1).and_then(|issued| issued.save(&identity));
            issued.map_err(|error| system_failure(&error))?;
            let mut command = Command::new(&program);
            command.arg(ECHO).arg(listener.address().to_string()).arg(index.to_string()).arg(&identity);
            // If one leaf fails to start, none stays.
            children
                .push(command.stdin(Stdio::null()).kill_on_drop(true).spawn().map_err(|error| system_failure(&error))?);
        }
        let terms = JoinTerms { roster: (0..leaves as u32).map(leaf_party).collect(), topology: HASH };
        let admitted = tokio::time::timeout(Duration::from_secs(60), listener.admit_all(terms)).await;
        let peers = admitted
            .ok()
            .and_then(Result::ok)
            .ok_or_else(|| Failure::NotJoined("the leaves of the measurement did not join".to_owned()))?;
        Ok(TurnGrid { listener, peers, ends: Vec::new(), children })
    }

    /// Measures one ping to each leaf, then one echo from each.
    async fn measure_bare(&mut self, turns: u32) -> Result<f64, Failure> {
        let wire = |error: quic::WireError| Failure::Internal(error.to_string());
        let mut ping = Vec::new();
        quic::append_frame(&[7; PING], &mut ping).expect("a ping is short");
        let mut times = Vec::new();
        for turn in 0..turns + turns / 10 {
            let begun = Instant::now();
            for peer in &mut self.peers {
                peer.sender.write(&ping).await.map_err(wire)?;
            }
            for peer in &mut self.peers {
                peer.receiver.next().await.map_err(wire)?;
            }
            if turn >= turns / 10 {
                times.push(begun.elapsed());
            }
        }
        let mut end = Vec::new();
        quic::append_frame(&[], &mut end).expect("nothing is short");
        for peer in &mut self.peers {
            peer.sender.write(&end).await.map_err(wire)?;
        }
        Ok(median_micros(times))
    }

    /// Measures a turn through hub and leaves: a message to each, and its answer.
    fn measure_turn(&mut self, kept: &WatchedRuntime, turns: u32) -> Result<f64, Failure> {
        let leaves = self.peers.len();
        let (times, mut timed) = mpsc::unbounded_channel();
        let asker = TurnAsker { leaves: leaves as u32, left: turns + turns / 10, waiting: 0, begun: None, times };
        let actors = vec![(ActorId(0), Box::new(asker) as BoxedActor<Message, Record>)];
        let homes: Vec<Vec<ActorId>> = (1..=leaves as u32).map(|id| vec![ActorId(id)]).collect();
        let latencies: Latencies = vec![Span::ZERO; leaves + 1].into();
        let hub = Hub::new(actors, &homes, latencies);
        let _within = kept.enter();
        let mut links: Vec<LeafLink> = LeafLink::link_leaves(self.peers.drain(..));
        let (_words, mut interruptions) = mpsc::unbounded_channel();
        let watch = Watch {
            stall_after: Duration::from_secs(60),
            contact: Contact::All,
            shares_core: true,
            speed: None,
            progress: &mut |_, _, _| {},
            record: &mut |_| Ok(()),
            names: &[],
            carried: Arc::default(),
            interruptions: &mut interruptions,
            fault: &ProgramFault::default(),
            returns: None,
        };
        let outcome = drive_hub(kept, hub, &mut links, watch);
        self.ends = links.into_iter().map(LeafLink::into_ends).collect();
        outcome.end?;
        let mut all = Vec::new();
        while let Ok(time) = timed.try_recv() {
            all.push(time);
        }
        all.drain(..all.len() / 11);
        Ok(median_micros(all))
    }

    async fn end(mut self) {
        self.listener.close(self.ends, Close::Finished, "").await;
        for child in &mut self.children {
            let _ = child.wait().await;
        }
    }
}

fn system_failure(error: &dyn std::fmt::Display) -> Failure {
    Failure::System(error.to_string())
}

/// Asks all leaves at once, and again when all have answered. It reads the clock, which no actor of a run may do.
struct TurnAsker {
    leaves: u32,
    left: u32,
    waiting: u32,
    begun: Option<Instant>,
    times: mpsc::UnboundedSender<Duration>,
}

impl Actor<Message, Record> for TurnAsker {
    fn handle_batch(&mut self, now: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Outbox<Message, Record>) {
        for event in batch.drain(..) {
            if matches!(event.cause, Cause::Message(_)) {
                self.waiting -= 1;
            }
        }
        if self.waiting > 0 {
            return;
        }
        if let Some(begun) = self.begun {
            let _ = self.times.send(begun.elapsed());
        }
        if self.left > 0 {
            self.left -= 1;
            self.waiting = self.leaves;
            self.begun = Some(Instant::now());
            let task = TaskId { job: JobId(0), index: 0 };
            for leaf in 1..=self.leaves {
                out.send_at(
                    now.time,
                    ActorId(leaf),
                    Message::Run(Run { task, cores: 1, runtime: Span::ZERO, safe: None, planned: NodeSet::default() }),
                );
            }
        }
    }
}

/// Answers every message one microsecond later, so that time advances.
struct Echo;

impl Actor<Message, Record> for Echo {
    fn handle_batch(&mut self, now: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Outbox<Message, Record>) {
        for event in batch.drain(..) {
            if let Cause::Message(Message::Run(run)) = event.cause {
                let next = Time::from_micros(now.time.micros() + 1);
                out.send_at(next, ActorId(0), Message::Ended(Ended { task: run.task, started: now.time }));
            }
        }
    }
}

fn median_micros(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times.get(times.len() / 2).map_or(f64::NAN, |time| time.as_secs_f64() * 1e6)
}
