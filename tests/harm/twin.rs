//! A router with its leaves in memory: the real hub, leaves, codec and journal, over wires with random delays, while
//! wires are cut, disks are slow, processes die and return and journals lose their tails. In all cases, the log is that
//! of one place.
//!
//! Randomness comes from a seed: `HANSA_TWIN_SEED=N cargo test --test harm twin` repeats one, and `HANSA_TWINS=N` sets
//! the number of seeds. A seed takes some milliseconds.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;

use hansa_sim::kernel::{ActorId, Contact, Down, Entry, Hub, Leaf, LogMerger, Place, Up};
use hansa_sim::protocol::{Message, Record, codec};
use hansa_sim::random::mix_bits;
use hansa_sim::recovery::journal::{Item, JournalReader, JournalWriter, Next, Turn, parse_record};
use hansa_sim::recovery::{Rehearsal, Repeats};
use hansa_sim::time::Stamp;
use hansa_sim::topology;

use crate::grids::{self, Grid};

type Log = Vec<Entry<Record>>;

fn inline(grid: &Grid) -> Log {
    let actors = topology::build_actors(&grid.topology, &grid.plan.all()).unwrap();
    let mut place = Place::new(actors, grid.plan.latencies.clone());
    assert!(!place.run_before(Stamp::NEVER, 1_000_000).unwrap());
    place.take_log()
}

/// Process of a leaf, and its wires.
struct Member {
    ids: Vec<ActorId>,
    leaf: Leaf<Message, Record>,
    down: VecDeque<Vec<u8>>,
    up: VecDeque<Vec<u8>>,
    /// Frames that it still has to repeat after its return.
    repeats: Option<Repeats>,
    /// Tick until which its wires are cut in both directions.
    cut_until: u64,
}

/// Process of the router, and its disk.
struct Router {
    hub: Hub<Message, Record>,
    writer: JournalWriter,
    batches: u64,
    /// Written bytes, and bytes in the buffer.
    disk: Vec<u8>,
    buffer: Vec<u8>,
    confluence: LogMerger<Record>,
    log: Log,
}

struct World<'g> {
    grid: &'g Grid,
    router: Router,
    members: Vec<Member>,
    chance: u64,
    ticks: u64,
    /// Tick until which the disk does not write.
    disk_until: u64,
    idle: u32,
    deaths: u32,
}

impl Router {
    fn new(grid: &Grid, leaves: &[Vec<ActorId>]) -> Router {
        let actors = topology::build_actors(&grid.topology, &grid.plan.at_hub()).unwrap();
        Router {
            hub: Hub::new(actors, leaves, grid.plan.latencies.clone())
                .with_contract(topology::run_contract(&grid.topology, &grid.plan)),
            writer: JournalWriter::default(),
            batches: 0,
            disk: Vec::new(),
            buffer: Vec::new(),
            confluence: LogMerger::new(leaves.len() + 2),
            log: Vec::new(),
        }
    }

    fn since(&mut self) -> u64 {
        self.hub.batches() - std::mem::replace(&mut self.batches, self.hub.batches())
    }

    fn settle(&mut self, before: Stamp) {
        let logs = self.hub.take_leaf_logs().into_iter();
        let hubs = self.hub.take_logs().into_iter();
        hubs.chain(logs).enumerate().for_each(|(place, log)| self.confluence.add(place, log));
        self.log.extend(self.confluence.take_before(before));
    }

    /// Output of this turn, also written to the journal.
    fn turn(&mut self, turn: Turn) -> Vec<(usize, Vec<u8>)> {
        let mut sent = Vec::new();
        let mut send = |leaf, down: Down<Message>| {
            let mut frame = Vec::new();
            codec::encode_frame(&down, &mut frame).unwrap();
            sent.push((leaf, frame));
        };
        match turn {
            Turn::Flush(contact) => self.hub.flush(contact, &mut send),
            Turn::Ask => self.hub.request_progress(&mut send),
        }
        if !sent.is_empty() {
            let after = self.since();
            self.writer.write(Item::Turn { after, turn }, &mut self.buffer);
        }
        for (leaf, frame) in &sent {
            self.writer.write(Item::Down { leaf: *leaf, frame }, &mut self.buffer);
        }
        sent
    }

    fn receive(&mut self, leaf: usize, frame: &[u8]) {
        let after = self.since();
        self.writer.write(Item::Up { after, leaf, frame }, &mut self.buffer);
        self.hub.receive(leaf, codec::decode_frame(frame).unwrap()).unwrap();
    }

    fn flush(&mut self) {
        self.disk.append(&mut self.buffer);
    }
}

fn each(bytes: &[u8], mut visit: impl FnMut(Item<'_>)) -> (JournalReader, usize) {
    let mut reader = JournalReader::default();
    let mut at = 0;
    while let Next::Record(length) = reader.next(&bytes[at..]) {
        visit(parse_record(&bytes[at..at + length]));
        at += length;
    }
    (reader, at)
}

impl<'g> World<'g> {
    fn new(grid: &'g Grid, seed: u64) -> World<'g> {
        let mut chance = mix_bits(seed);
        let away = grid.plan.all().into_iter().filter(|id| !grid.plan.at_hub().contains(id));
        // Two may share a process.
        let mut groups: Vec<Vec<ActorId>> = Vec::new();
        for id in away {
            chance = mix_bits(chance);
            match groups.last_mut().filter(|_| chance.is_multiple_of(3)) {
                Some(group) => group.push(id),
                None => groups.push(vec![id]),
            }
        }
        let router = Router::new(grid, &groups);
        let members = groups.into_iter().map(|ids| Member::new(grid, ids)).collect();
        World { grid, router, members, chance, ticks: 0, disk_until: 0, idle: 0, deaths: 0 }
    }

    fn draw(&mut self, below: usize) -> usize {
        self.chance = mix_bits(self.chance);
        (self.chance % below as u64) as usize
    }

    fn run(mut self) -> (Log, u32) {
        while !self.router.hub.finished() {
            self.tick();
            self.idle += 1;
            assert!(self.idle < 20_000, "everybody waits for everybody: {:#?}", self.router.hub.leaf_statuses());
        }
        self.router.settle(Stamp::NEVER);
        (self.router.log, self.deaths)
    }

    fn tick(&mut self) {
        self.ticks += 1;
        let leaf = self.draw(self.members.len());
        let is_cut = self.members[leaf].cut_until > self.ticks;
        match self.draw(400) {
            0 if self.deaths < 6 => self.kill(leaf),
            1 if self.deaths < 6 => self.kill_router(),
            2 => self.cut(),
            3 => self.disk_until = self.ticks + self.draw(3000) as u64,
            4..22 => {
                if self.disk_until <= self.ticks {
                    self.router.flush();
                }
            }
            22..160 => self.router_turn(),
            _ if is_cut => {}
            160..260 => self.receive(leaf),
            _ => {
                let more = self.draw(2) == 0;
                self.idle *= u32::from(!self.members[leaf].go_on(more));
            }
        }
    }

    /// Cuts the wires of some leaves for a while, in both directions.
    fn cut(&mut self) {
        let until = self.ticks + self.draw(2000) as u64;
        for leaf in 0..self.members.len() {
            if self.draw(2) == 0 {
                self.members[leaf].cut_until = until;
            }
        }
    }

    fn router_turn(&mut self) {
        let batches = 1 + self.draw(30);
        let before = self.router.hub.events();
        self.router.hub.advance(batches).unwrap();
        let turn = match self.draw(9) {
            0 => Turn::Ask,
            1..5 => Turn::Flush(Contact::Blockers),
            _ => Turn::Flush(Contact::All),
        };
        if turn == Turn::Ask {
            self.router.settle(self.router.hub.settled());
        }
        let sent = self.router.turn(turn);
        if !sent.is_empty() || self.router.hub.events() > before {
            self.idle = 0;
        }
        sent.into_iter().for_each(|(leaf, frame)| self.members[leaf].down.push_back(frame));
    }

    fn receive(&mut self, leaf: usize) {
        let member = &mut self.members[leaf];
        let Some(frame) = member.up.pop_front() else { return };
        self.idle = 0;
        match &mut member.repeats {
            None => self.router.receive(leaf, &frame),
            Some(repeats) => {
                repeats.push_sent(&frame).unwrap();
                // All earlier frames are known from the start, so frames after the repetition are new.
                if repeats.has_caught_up() {
                    let news = member.repeats.take().map(Repeats::into_new_frames).unwrap_or_default();
                    news.iter().for_each(|frame| self.router.receive(leaf, frame));
                }
            }
        }
    }

    /// Kills the process of a leaf, with all frames on their way, and starts it again.
    fn kill(&mut self, leaf: usize) {
        self.deaths += 1;
        self.router.flush();
        self.members[leaf] = Member::new(self.grid, self.members[leaf].ids.clone());
        self.bring_back(Some(leaf));
    }

    /// Kills the router's process, with its buffer; the disk may lose or corrupt the end of its data. A successor
    /// continues.
    fn kill_router(&mut self) {
        self.deaths += 1;
        let mut disk = std::mem::take(&mut self.router.disk);
        if self.draw(2) == 0 {
            let lost = self.draw(disk.len() + 1);
            disk.truncate(disk.len() - lost.min(3000));
        }
        match self.draw(3) {
            0 => disk.extend([0; 40]),
            1 if !disk.is_empty() => {
                let at = disk.len() - 1 - self.draw(disk.len().min(200));
                disk[at] ^= 1 << self.draw(8);
            }
            _ => {}
        }
        let ids: Vec<_> = self.members.iter().map(|member| member.ids.clone()).collect();
        let mut router = Router::new(self.grid, &ids);
        let mut rehearsal = Rehearsal::default();
        let (reader, end) = each(&disk, |item| {
            if let Item::Up { after, .. } | Item::Turn { after, .. } = item {
                router.batches += after;
            }
            rehearsal.play(&mut router.hub, item).unwrap();
            router.settle(router.hub.settled());
        });
        disk.truncate(end);
        (router.disk, router.writer) = (disk, reader.into_writer());
        for (leaf, frame) in rehearsal.unwritten() {
            router.writer.write(Item::Down { leaf, frame: &frame }, &mut router.disk);
        }
        self.router = router;
        // Leaves may or may not notice; any leaf that returns starts from the beginning.
        for (member, ids) in self.members.iter_mut().zip(ids) {
            *member = Member::new(self.grid, ids);
        }
        self.bring_back(None);
    }

    fn bring_back(&mut self, only: Option<usize>) {
        let back = |leaf: usize| only.is_none_or(|only| only == leaf);
        let members = &mut self.members;
        for (leaf, member) in members.iter_mut().enumerate() {
            member.repeats = back(leaf).then(Repeats::default).or(member.repeats.take());
        }
        each(&self.router.disk, |item| match item {
            Item::Down { leaf, frame } if back(leaf) => members[leaf].down.push_back(frame.to_vec()),
            Item::Up { leaf, frame, .. } if back(leaf) => {
                members[leaf].repeats.as_mut().expect("it is back").push_expected(frame).unwrap();
            }
            _ => {}
        });
        for member in members {
            member.repeats.take_if(|repeats| repeats.has_caught_up());
        }
    }
}

impl Member {
    fn new(grid: &Grid, ids: Vec<ActorId>) -> Member {
        let actors = topology::build_actors(&grid.topology, &ids).unwrap();
        let contract = topology::contract_of_leaves(&grid.topology, &grid.plan);
        let leaf = Leaf::new(actors, grid.plan.latencies.clone()).with_contract(contract);
        Member { ids, leaf, down: VecDeque::new(), up: VecDeque::new(), repeats: None, cut_until: 0 }
    }

    /// Takes a frame and answers it, like `play`: the next one is read only after the answer to the last.
    fn go_on(&mut self, more: bool) -> bool {
        let Some(frame) = self.down.pop_front() else { return false };
        self.leaf.receive(codec::decode_frame::<Down<Message>>(&frame).unwrap()).unwrap();
        while let Some(up) = self.leaf.turn().unwrap() {
            let mut frame = Vec::new();
            codec::encode_frame::<Up<Message, Record>>(&up, &mut frame).unwrap();
            self.up.push_back(frame);
        }
        if more {
            self.go_on(false);
        }
        true
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn after_any_deaths_the_log_is_that_of_one_place() {
    let grids = grids::all();
    let expected: Vec<Log> = grids.iter().map(inline).collect();
    let seeds = match number("HANSA_TWIN_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("HANSA_TWINS").unwrap_or(if cfg!(unoptimised) { 120 } else { 5_000 }),
    };
    let mut deaths = 0;
    for seed in seeds {
        let at = (seed % grids.len() as u64) as usize;
        let run = std::panic::catch_unwind(AssertUnwindSafe(|| World::new(&grids[at], seed).run()));
        let (log, died) = run.unwrap_or_else(|_| panic!("HANSA_TWIN_SEED={seed} ({}) shows it again", grids[at].name));
        assert!(log == expected[at], "HANSA_TWIN_SEED={seed} ({}): another log", grids[at].name);
        deaths += died;
    }
    assert!(number("HANSA_TWIN_SEED").is_some() || deaths > 0, "nobody has died");
}

/// Systems that decide ahead, or whose answers are foretold, and grids that give them no reason to.
#[test]
fn a_contract_changes_no_log() {
    let seeds = match number("HANSA_TWIN_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("HANSA_TWINS").unwrap_or(if cfg!(unoptimised) { 40 } else { 400 }),
    };
    let mut ahead = 0;
    let mut foretold = 0;
    let mut neither = 0;
    for seed in seeds {
        let grid = grids::random_with_contract(seed);
        let contract = topology::run_contract(&grid.topology, &grid.plan);
        ahead += u32::from(!contract.sources.is_empty());
        foretold += u32::from(contract.settled.iter().any(Option::is_some));
        neither += u32::from(contract.sources.is_empty() && contract.settled.iter().all(Option::is_none));
        let expected = inline(&grid);
        let run = std::panic::catch_unwind(AssertUnwindSafe(|| World::new(&grid, seed).run()));
        let (log, _) = run.unwrap_or_else(|_| panic!("HANSA_TWIN_SEED={seed} shows it again"));
        assert!(log == expected, "HANSA_TWIN_SEED={seed}: another log");
    }
    let all_kinds = number("HANSA_TWIN_SEED").is_some() || (ahead > 5 && foretold > 5 && neither > 2);
    assert!(all_kinds, "{ahead} decide ahead, {foretold} foretell, {neither} do neither");
}
