//! Stretching: the execution of a schedule on a network whose links are shared.
//!
//! Every core processes its tasks in the order of the plan, none before its data has arrived; no task changes its core
//! or its order. The data of a task leaves for other sites when it ends.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::problem::Dependency;
use super::{Problem, Schedule};
use crate::network::{EndedFlow, FlowId, Flows, LinkId, RouteId, Transfers};
use crate::time::Time;

/// Options of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replaying {
    pub clock: Clock,
    pub period_rounding: PeriodRounding,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// Time is continuous.
    #[default]
    Exact,
    /// Data has arrived at the first whole microsecond at which all of it is there, as on the emulated grid. The
    /// problem's unit of time is then a microsecond.
    Micros,
}

/// An aid to reproduce a printed number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PeriodRounding {
    #[default]
    None,
    /// A flow that shares a link, is the next of them to end, and would end a second or more ahead, ends after whole
    /// seconds, and its rest is forgotten.
    WholeSeconds,
}

/// The result of a replay.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// Begin and end of each task.
    pub tasks: Vec<(f64, f64)>,
    /// The transfer of each edge; `None` where both tasks ran at one site.
    pub moved: Vec<Option<TransferTrace>>,
    pub makespan: f64,
}

/// Release and arrival of a transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransferTrace {
    pub release: f64,
    pub end: f64,
}

impl TransferTrace {
    pub fn duration(self) -> f64 {
        self.end - self.release
    }
}

pub fn replay(problem: &Problem, schedule: &Schedule, how: Replaying) -> Replay {
    ReplayState::new(problem, schedule, how).play()
}

struct ReplayState<'p> {
    problem: &'p Problem,
    schedule: &'p Schedule,
    how: Replaying,
    now: f64,
    wires: Wires,
    routes: BTreeMap<(u32, u32), RouteId>,
    /// The edge of each flow.
    edge_of: Vec<u32>,
    /// Active flows; only used by rounding.
    under_way: BTreeMap<u32, FlowId>,
    /// Number of inputs of each task that have not arrived, and of its cores whose turn it is not yet.
    missing: Vec<u32>,
    elsewhere: Vec<u32>,
    /// Number of tasks begun by each core.
    begun: Vec<u32>,
    /// Ends of running tasks, by the time, the first core, then the task.
    ends: BinaryHeap<Reverse<(u64, u32, u32)>>,
    startable: Vec<u32>,
    left: usize,
    replay: Replay,
}

impl<'p> ReplayState<'p> {
    fn new(problem: &'p Problem, schedule: &'p Schedule, how: Replaying) -> ReplayState<'p> {
        let links = problem.paths.links.clone();
        let wires = match how.clock {
            Clock::Exact => Wires::Exact(Flows::new(links), Vec::new()),
            Clock::Micros => Wires::Whole(Transfers::new(links)),
        };
        let tasks = problem.tasks();
        ReplayState {
            problem,
            schedule,
            how,
            now: problem.release,
            wires,
            routes: BTreeMap::new(),
            edge_of: Vec::new(),
            under_way: BTreeMap::new(),
            missing: (0..tasks).map(|task| problem.edges_into(task).len() as u32).collect(),
            elsewhere: problem.needs.clone(),
            begun: vec![0; schedule.sequences.len()],
            ends: BinaryHeap::new(),
            startable: Vec::new(),
            left: tasks,
            replay: Replay { tasks: vec![(0.0, 0.0); tasks], moved: vec![None; problem.edges.len()], makespan: 0.0 },
        }
    }

    fn play(mut self) -> Replay {
        for core in 0..self.begun.len() {
            self.turn(core);
        }
        self.start();
        let mut arrived = Vec::new();
        while self.left > 0 {
            let ending = self.ends.peek().map(|Reverse((end, _, _))| f64::from_bits(*end));
            let next = [ending, self.wires.next_change()].into_iter().flatten().reduce(f64::min);
            let mut next = next.expect("something is under way as long as tasks are left");
            let cut = self.cut_short();
            if let Some((at, _)) = cut {
                next = next.min(at);
            }
            self.now = self.now.max(next);
            self.wires.advance(self.now, &mut arrived);
            for flow in arrived.drain(..) {
                self.arrive(self.edge_of[flow.index()]);
            }
            if let Some((at, edges)) = cut
                && at <= self.now
            {
                self.cut(&edges);
            }
            self.finish();
            self.start();
        }
        self.replay.makespan = self.replay.tasks.iter().map(|task| task.1).fold(0.0, f64::max);
        self.replay
    }

    /// A core has come to its next task.
    fn turn(&mut self, core: usize) {
        if let Some(&task) = self.schedule.sequences[core].get(self.begun[core] as usize) {
            self.elsewhere[task as usize] -= 1;
            self.look(task);
        }
    }

    fn look(&mut self, task: u32) {
        if self.missing[task as usize] == 0 && self.elsewhere[task as usize] == 0 {
            self.startable.push(task);
        }
    }

    fn start(&mut self) {
        for task in std::mem::take(&mut self.startable) {
            let placed = &self.schedule.placed[task as usize];
            let end = self.now + self.problem.run(task as usize, placed.site as usize);
            let delay = self.problem.delay[placed.site as usize];
            self.replay.tasks[task as usize] = (self.now + delay, end - delay);
            self.ends.push(Reverse((end.to_bits(), placed.cores[0], task)));
        }
    }

    /// Ends the tasks that are due, core by core, and sends their data.
    fn finish(&mut self) {
        // On a clock of whole microseconds only equal times coincide, however late they are.
        let merged = if self.how.clock == Clock::Micros { 0.0 } else { 1e-9 * self.now };
        let together = self.now + self.problem.tolerance().max(merged);
        let mut due = Vec::new();
        while let Some(&Reverse((end, core, task))) = self.ends.peek()
            && f64::from_bits(end) <= together
        {
            self.ends.pop();
            due.push((core, task));
        }
        due.sort_unstable();
        for (_, task) in due {
            self.left -= 1;
            for edge in self.problem.edges_out_of(task as usize) {
                self.send(edge as u32);
            }
            for &core in &self.schedule.placed[task as usize].cores {
                self.begun[core as usize] += 1;
                self.turn(core as usize);
            }
        }
    }

    fn send(&mut self, edge: u32) {
        let dependency = self.problem.edges[edge as usize];
        let site = |task: u32| self.schedule.placed[task as usize].site;
        let (from, to) = (site(dependency.from), site(dependency.to));
        if from == to {
            self.provide(dependency.to);
            return;
        }
        let (paths, wires) = (&self.problem.paths, &mut self.wires);
        let route = self.routes.entry((from, to));
        let route = *route.or_insert_with(|| wires.route(&paths.route(from as usize, to as usize)));
        let flow = self.wires.start(self.now, route, dependency.volume);
        if self.edge_of.len() <= flow.index() {
            self.edge_of.resize(flow.index() + 1, u32::MAX);
        }
        self.edge_of[flow.index()] = edge;
        self.replay.moved[edge as usize] = Some(TransferTrace { release: self.now, end: f64::INFINITY });
        if self.how.period_rounding == PeriodRounding::WholeSeconds {
            self.under_way.insert(edge, flow);
        }
    }

    fn arrive(&mut self, edge: u32) {
        let moved = self.replay.moved[edge as usize].as_mut().expect("what arrives was sent");
        moved.end = self.now;
        self.under_way.remove(&edge);
        self.provide(self.problem.edges[edge as usize].to);
    }

    fn provide(&mut self, task: u32) {
        self.missing[task as usize] -= 1;
        self.look(task);
    }

    /// The next time at which rounding cuts flows short, and these flows.
    fn cut_short(&mut self) -> Option<(f64, Vec<u32>)> {
        if self.how.period_rounding == PeriodRounding::None {
            return None;
        }
        let mut by_link: BTreeMap<u32, Vec<(f64, u32)>> = BTreeMap::new();
        for (&edge, &flow) in &self.under_way {
            let distance = self.wires.left(flow) / self.wires.rate(flow);
            let Dependency { from, to, .. } = self.problem.edges[edge as usize];
            let site = |task: u32| self.schedule.placed[task as usize].site as usize;
            for link in self.problem.paths.route(site(from), site(to)) {
                by_link.entry(link.0).or_default().push((distance, edge));
            }
        }
        let mut cut: Option<(f64, Vec<u32>)> = None;
        for flows in by_link.values().filter(|flows| flows.len() >= 2) {
            let least = flows.iter().map(|flow| flow.0).fold(f64::INFINITY, f64::min);
            // A flow whose distance is a whole number of seconds except for rounding errors needs no cut.
            let at = self.now + (least + 1e-9).floor();
            if least >= 1.0 && at < self.now + least - 1e-9 && cut.as_ref().is_none_or(|(cut, _)| at < *cut) {
                let edges = flows.iter().filter(|flow| flow.0 <= least * (1.0 + 1e-9)).map(|flow| flow.1).collect();
                cut = Some((at, edges));
            }
        }
        cut
    }

    fn cut(&mut self, edges: &[u32]) {
        for &edge in edges {
            if let Some(flow) = self.under_way.get(&edge).copied() {
                self.wires.stop(flow);
                self.arrive(edge);
            }
        }
    }
}

/// The flows, in either clock.
enum Wires {
    Exact(Flows, Vec<EndedFlow>),
    Whole(Transfers),
}

impl Wires {
    fn route(&mut self, links: &[LinkId]) -> RouteId {
        match self {
            Wires::Exact(flows, _) => flows.route(links),
            Wires::Whole(transfers) => transfers.flows().route(links),
        }
    }

    fn rate(&mut self, flow: FlowId) -> f64 {
        match self {
            Wires::Exact(flows, _) => flows.rate(flow),
            Wires::Whole(transfers) => transfers.flows().rate(flow),
        }
    }

    fn left(&mut self, flow: FlowId) -> f64 {
        match self {
            Wires::Exact(flows, _) => flows.left(flow),
            Wires::Whole(transfers) => transfers.flows().left(flow),
        }
    }

    fn stop(&mut self, flow: FlowId) -> f64 {
        match self {
            Wires::Exact(flows, _) => flows.stop(flow),
            Wires::Whole(transfers) => transfers.flows().stop(flow),
        }
    }

    fn next_change(&mut self) -> Option<f64> {
        match self {
            Wires::Exact(flows, _) => flows.next_change(),
            Wires::Whole(transfers) => transfers.next_change().map(|time| time.micros() as f64),
        }
    }

    fn start(&mut self, now: f64, route: RouteId, volume: f64) -> FlowId {
        match self {
            Wires::Exact(flows, _) => flows.start(now, route, volume),
            Wires::Whole(transfers) => transfers.start(Time::from_micros(now as u64), route, volume as u64),
        }
    }

    fn advance(&mut self, to: f64, arrived: &mut Vec<FlowId>) {
        match self {
            Wires::Exact(flows, ended) => {
                flows.advance(to, ended);
                arrived.extend(ended.drain(..).map(|ended| ended.flow));
            }
            Wires::Whole(transfers) => transfers.advance(Time::from_micros(to as u64), arrived),
        }
    }
}
