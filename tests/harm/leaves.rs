//! Leaves with valid certificates that send arbitrary data, on a grid of every system. In all cases: no panic, no
//! unexplained wait, bounded memory; and the run ends with the liar's name, or completely.

use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use hansa_report::{EntryError, RecordError, Recorder, Status, Tally, Witness};
use hansa_sim::kernel::{ActorId, Breach, Contact, Down, Hub, Leaf, LogMerger};
use hansa_sim::protocol::{Message, Record, codec};
use hansa_sim::random::mix_bits;
use hansa_sim::time::Stamp;
use hansa_sim::topology::{self, Role};

use crate::grids::{self, Grid};
use crate::lies::{Frame, Liar, Received, encoded};
use crate::memory;

/// Limits that no run of these grids comes near: batches of the hub, and rounds of frames.
const BATCHES_MAX: usize = 300_000;
const ROUNDS_MAX: usize = 30_000;

/// Most memory in bytes that a lie may cost beyond an honest run.
const MEMORY_MAX: usize = 32 << 20;

/// End of a run.
#[derive(Debug, PartialEq)]
pub enum End {
    /// All jobs have ended, and the log is consistent.
    Whole { digest: String },
    /// The router's message.
    Failed(String),
}

/// Sees the frames of each leaf, and returns those that it sends.
type Passes<'a> = &'a mut dyn FnMut(usize, Frame, &Hub<Message, Record>) -> Vec<Vec<u8>>;

struct Session<'g> {
    grid: &'g Grid,
    hub: Hub<Message, Record>,
    members: Vec<ActorId>,
    leaves: Vec<Leaf<Message, Record>>,
    up: Vec<VecDeque<Vec<u8>>>,
    /// Messages of the hub to leaves.
    sent: Vec<Message>,
    liar: Option<usize>,
    witness: Witness,
}

impl<'g> Session<'g> {
    /// Each member in its own process.
    fn of(grid: &'g Grid) -> Session<'g> {
        let topology = &grid.topology;
        let plan = grid.plan.clone();
        let members: Vec<ActorId> = plan
            .all()
            .into_iter()
            .filter(|id| matches!(plan.roles[id.index()], Role::Site(_) | Role::User(_)))
            .collect();
        let leaf = |id: &ActorId| {
            let actors = topology::build_actors(topology, &[*id]).unwrap();
            Leaf::new(actors, plan.latencies.clone()).with_contract(topology::contract_of_leaves(topology, &plan))
        };
        let homes: Vec<_> = members.iter().map(|id| vec![*id]).collect();
        let at_hub = topology::build_actors(topology, &plan.at_hub()).unwrap();
        let hub =
            Hub::new(at_hub, &homes, plan.latencies.clone()).with_contract(topology::run_contract(topology, &plan));
        let witness = Witness::new(plan.latencies.clone(), &homes);
        let sees = witness.clone();
        Session {
            grid,
            leaves: members.iter().map(leaf).collect(),
            up: members.iter().map(|_| VecDeque::new()).collect(),
            sent: Vec::new(),
            liar: None,
            members,
            hub: hub
                .with_record_check(Box::new(move |id, record| plan.may_write(id, record)))
                .with_observer(Box::new(move |envelope| sees.record_message(envelope))),
            witness,
        }
    }

    fn label(&self, leaf: usize) -> String {
        let id = self.members[leaf];
        let role = if matches!(self.grid.plan.roles[id.index()], Role::Site(_)) { "site" } else { "user" };
        format!("{role} {}", self.grid.plan.names[id.index()])
    }

    fn describe(&self, breach: &Breach) -> String {
        breach.describe(&|id| self.grid.names.of_actor(id), &|leaf| self.label(leaf))
    }

    fn run(&mut self, passes: Passes<'_>) -> End {
        for round in 0.. {
            assert!(round < ROUNDS_MAX, "frames go to and fro for ever");
            match self.hub.advance(BATCHES_MAX) {
                Ok(more) => assert!(!more, "the hub goes on for ever"),
                Err(breach) => return End::Failed(self.describe(&breach)),
            }
            if self.hub.finished() {
                break;
            }
            match self.exchange(round, passes) {
                Ok(true) => {}
                Ok(false) => return End::Failed(self.stall()),
                Err(message) => return End::Failed(message),
            }
        }
        self.record()
    }

    /// Passes frames down, and their answers up; true if any frame moved.
    fn exchange(&mut self, round: usize, passes: Passes<'_>) -> Result<bool, String> {
        let mut down = Vec::new();
        let contact = if round.is_multiple_of(2) { Contact::Blockers } else { Contact::All };
        self.hub.flush(contact, &mut |leaf, frame: Down<Message>| {
            self.sent.extend(frame.mail.iter().map(|mail| mail.message.clone()));
            down.push((leaf, encoded(&frame)));
        });
        let mut moved = !down.is_empty();
        for (leaf, bytes) in down {
            for up in self.receive(leaf, &bytes).map_err(|message| format!("lost {}: {message}", self.label(leaf)))? {
                self.up[leaf].extend(passes(leaf, up, &self.hub));
            }
        }
        for leaf in 0..self.leaves.len() {
            while let Some(bytes) = self.up[leaf].pop_front() {
                moved = true;
                let up = codec::decode_frame(&bytes).map_err(|error| format!("lost {}: {error}", self.label(leaf)))?;
                self.hub.receive(leaf, up).map_err(|breach| self.describe(&breach))?;
            }
        }
        Ok(moved)
    }

    /// Answer of a leaf to a frame.
    fn receive(&mut self, leaf: usize, bytes: &[u8]) -> Result<Vec<Frame>, String> {
        let member = &mut self.leaves[leaf];
        let mut receive = || {
            let mut sent = Vec::new();
            member
                .receive(codec::decode_frame(bytes).map_err(|error| error.to_string())?)
                .map_err(|breach| format!("{breach:?}"))?;
            while let Some(up) = member.turn().map_err(|breach| format!("{breach:?}"))? {
                sent.push(up);
            }
            Ok(sent)
        };
        if self.liar != Some(leaf) {
            return receive();
        }
        // After its lies, a liar may receive impossible messages; its death then is its own problem.
        without_a_word(|| catch_unwind(AssertUnwindSafe(receive))).unwrap_or_else(|_| Err("it has panicked".to_owned()))
    }

    fn stall(&self) -> String {
        let waits: Vec<String> = self.hub.blockers().into_iter().map(|leaf| self.label(leaf)).collect();
        format!("no frame has moved: the router waits for {}", waits.join(", "))
    }

    /// Evaluates the logs as the router does.
    fn record(&mut self) -> End {
        let Grid { topology, names, .. } = self.grid;
        let logs = self.hub.take_leaf_logs().into_iter().chain(self.hub.take_logs()).collect::<Vec<_>>();
        let mut log = LogMerger::new(logs.len());
        logs.into_iter().enumerate().for_each(|(place, entries)| log.add(place, entries));
        let mut recorder =
            Recorder::new(Tally::putting_aside(topology, names, Box::new(Vec::new()))).with_event_lines(names);
        recorder.tally.witnessed_by(self.witness.clone());
        let owners = || topology::job_owners(topology).unwrap();
        let mut failed = None;
        for entry in log.take_before(Stamp::NEVER) {
            if let Err(error) = recorder.record(&entry) {
                let EntryError::RecordError(RecordError::Inconsistent(wrong)) = error else { panic!("{error}") };
                failed = Some(format!("{}: {wrong}", recorder.tally.blame_members(&entry, &wrong, &owners())));
                break;
            }
        }
        if failed.is_none() && recorder.tally.jobs_ended() < topology.jobs() {
            failed = Some(format!(
                "not all jobs have ended: {}",
                recorder.tally.kept_back(&owners(), &std::collections::BTreeMap::new())
            ));
        }
        let digest = recorder.digest();
        let status = failed.clone().map_or(Status::Complete, Status::Partial);
        let summary = recorder.tally.summary(topology.seed, status, digest.clone());
        assert!(serde_json::to_string(&summary).is_ok());
        failed.map_or(End::Whole { digest }, End::Failed)
    }
}

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs code that may panic, without the panic's output. A backtrace takes more memory than anything measured here.
fn without_a_word<T>(doing: impl FnOnce() -> T) -> T {
    static QUIETLY: Once = Once::new();
    QUIETLY.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_QUIET.get() {
                usual(info)
            }
        }));
    });
    IS_QUIET.set(true);
    let done = doing();
    IS_QUIET.set(false);
    done
}

/// Runs a grid without lies; shows every frame of a leaf.
pub fn honest_run(grid: &Grid, see: &mut dyn FnMut(usize, &Frame)) -> (End, Vec<Message>) {
    let mut session = Session::of(grid);
    let end = session.run(&mut |leaf, frame, _| {
        see(leaf, &frame);
        vec![encoded(&frame)]
    });
    (end, session.sent)
}

/// An honest run: its end, its messages, and its memory.
fn honest(grid: &Grid) -> (End, Received, usize) {
    let mut received = Received { frames: vec![0; grid.plan.roles.len()], ..Received::default() };
    let ((end, sent), bytes) = memory::most(|| {
        honest_run(grid, &mut |leaf, frame| {
            received.frames[leaf] += 1;
            received.messages.extend(frame.mail.iter().map(|mail| mail.message.clone()));
            received.records.extend(frame.log.iter().map(|entry| entry.record.clone()));
        })
    });
    received.messages.extend(sent);
    (end, received, bytes)
}

fn lies_are_found_out(grid: &Grid, seeds: u64) {
    let (end, received, bytes) = honest(grid);
    assert!(matches!(end, End::Whole { .. }), "{}: {end:?}", grid.name);
    let members = Session::of(grid).members.len();
    for leaf in 0..members {
        for seed in 0..seeds {
            let mut session = Session::of(grid);
            session.liar = Some(leaf);
            let me = session.members[leaf];
            let name = session.label(leaf);
            let everybody = grid.plan.roles.len() as u32;
            let mut liar =
                Liar::new(mix_bits(seed ^ mix_bits(leaf as u64)), &received, received.frames[leaf], everybody);
            let (end, most) = memory::most(|| {
                session.run(&mut |name, frame, hub| match name == leaf {
                    true => liar.instead(frame, me, hub.leaf_statuses()[leaf].floor),
                    false => vec![encoded(&frame)],
                })
            });
            let what = format!("{}, {name}, seed {seed}, {:?}", grid.name, liar.did);
            assert!(most < bytes + MEMORY_MAX, "{what}: {most} bytes, where an honest run takes {bytes}");
            if let End::Failed(message) = end {
                assert!(message.contains(&name), "{what}: {message}");
            }
        }
    }
}

#[test]
fn a_lying_leaf_is_named_or_the_run_is_complete() {
    let seeds = if cfg!(unoptimised) { 25 } else { 150 };
    for grid in grids::all() {
        lies_are_found_out(&grid, seeds);
    }
}

/// A member sends no message from some frame on, and its records stay true.
#[test]
fn who_withholds_its_messages_is_named_alone() {
    let mut failed = 0;
    // Where nodes fail, outages go on for as long as a job waits, so such a run does not come to its end.
    for grid in grids::all().into_iter().filter(|grid| grid.topology.failures.is_empty()) {
        let (_, received, _) = honest(&grid);
        for leaf in 0..Session::of(&grid).members.len() {
            let all = received.frames[leaf];
            for from in [0, 1, all / 4, all / 2, all * 3 / 4] {
                let mut session = Session::of(&grid);
                session.liar = Some(leaf);
                let name = session.label(leaf);
                let mut frames = 0;
                let end = session.run(&mut |name, mut frame, _| {
                    frames += u64::from(name == leaf);
                    if name == leaf && frames > from {
                        frame.mail.clear();
                    }
                    vec![encoded(&frame)]
                });
                let End::Failed(message) = end else { continue };
                failed += 1;
                let labels = (0..session.members.len()).map(|member| session.label(member));
                let named: Vec<String> = labels.filter(|label| names(&message, label)).collect();
                assert_eq!(named, std::slice::from_ref(&name), "{}, from frame {from}: {message}", grid.name);
            }
        }
    }
    assert!(failed > 300, "{failed} runs failed");
}

/// True if a text has this label, and not only another one that begins with it.
fn names(text: &str, label: &str) -> bool {
    let goes_on = |letter: char| letter.is_alphanumeric() || letter == '-';
    text.match_indices(label).any(|(at, _)| !text[at + label.len()..].starts_with(goes_on))
}
