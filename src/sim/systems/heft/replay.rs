//! Stretching: the execution of a schedule on a network whose links are shared.
//!
//! Every core processes its tasks in the order of the plan, none before its data has arrived; no task changes its core
//! or its order. The data of a task leaves for other sites when it ends.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::problem::Dependency;
use super::{Problem, Schedule};
use crate::network::{EndedFlow, FlowId, FlowMoment, FlowTime, Flows, RouteId, Transfers};

/// Options of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replaying {
    pub clock: Clock,
    pub period_rounding: PeriodRounding,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// Continuous time, without rounding.
    #[default]
    Exact,
    /// Data has arrived at the first whole microsecond at which all of it is there, as on the emulated grid. The
    /// problem's unit of time is then a microsecond. Times are exact, except that run times and latencies of more than
    /// 285 years (2^53 microseconds) are rounded.
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

/// The result of a replay, in times since its start.
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
    duration: f64,
}

impl TransferTrace {
    /// Time between release and arrival, exact even if the replay lasts so long that both are rounded.
    pub fn duration(self) -> f64 {
        self.duration
    }
}

pub fn replay_plan(problem: &Problem, schedule: &Schedule, how: Replaying) -> Replay {
    let links = problem.paths.links.clone();
    match how.clock {
        Clock::Exact => {
            let wires = ExactWires { flows: Flows::new(links), ended: Vec::new() };
            ReplayState::new(problem, schedule, how, wires).play()
        }
        Clock::Micros => ReplayState::new(problem, schedule, how, Transfers::new(links)).play(),
    }
}

struct ReplayState<'p, W: Wires> {
    problem: &'p Problem,
    schedule: &'p Schedule,
    how: Replaying,
    now: W::Time,
    wires: W,
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
    ends: BinaryHeap<Reverse<(EndKey<W>, u32, u32)>>,
    startable: Vec<u32>,
    left: usize,
    /// Release of each edge's transfer.
    released: Vec<W::Time>,
    replay: Replay,
}

type EndKey<W> = <<W as Wires>::Time as FlowTime>::Key;

impl<'p, W: Wires> ReplayState<'p, W> {
    fn new(problem: &'p Problem, schedule: &'p Schedule, how: Replaying, wires: W) -> ReplayState<'p, W> {
        let tasks = problem.tasks();
        ReplayState {
            problem,
            schedule,
            how,
            now: W::Time::START,
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
            released: vec![W::Time::START; problem.edges.len()],
            replay: Replay { tasks: vec![(0.0, 0.0); tasks], moved: vec![None; problem.edges.len()], makespan: 0.0 },
        }
    }

    fn play(mut self) -> Replay {
        for core in 0..self.begun.len() {
            self.start_next(core);
        }
        self.start();
        let mut arrived = Vec::new();
        while self.left > 0 {
            let ending = self.ends.peek().map(|Reverse((end, _, _))| *end);
            let change = self.wires.next_change().map(FlowTime::sort_key);
            let cut = self.cut_short();
            let stop = cut.as_ref().map(|(at, _)| at.sort_key());
            let next = [ending, change, stop].into_iter().flatten().min();
            let next = next.expect("something is under way as long as tasks are left");
            self.now = W::Time::from_key(next.max(self.now.sort_key()));
            self.wires.advance_to(self.now, &mut arrived);
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

    /// Starts the next task of a core, if its inputs are there.
    fn start_next(&mut self, core: usize) {
        if let Some(&task) = self.schedule.sequences[core].get(self.begun[core] as usize) {
            self.elsewhere[task as usize] -= 1;
            self.check_startable(task);
        }
    }

    fn check_startable(&mut self, task: u32) {
        if self.missing[task as usize] == 0 && self.elsewhere[task as usize] == 0 {
            self.startable.push(task);
        }
    }

    fn start(&mut self) {
        for task in std::mem::take(&mut self.startable) {
            let placed = &self.schedule.placed[task as usize];
            let end = self.now.later_by(self.problem.run(task as usize, placed.site as usize));
            let delay = self.problem.delay[placed.site as usize];
            self.replay.tasks[task as usize] =
                (elapsed_since_start(self.now) + delay, elapsed_since_start(end) - delay);
            self.ends.push(Reverse((end.sort_key(), placed.cores[0], task)));
        }
    }

    /// Ends the tasks that are due, core by core, and sends their data.
    fn finish(&mut self) {
        // On a clock of whole microseconds only equal times coincide, however late they are.
        let merged = if self.how.clock == Clock::Micros { 0.0 } else { 1e-9 * elapsed_since_start(self.now) };
        let together = self.now.later_by(self.problem.tolerance().max(merged)).sort_key();
        let mut due = Vec::new();
        while let Some(&Reverse((end, core, task))) = self.ends.peek()
            && end <= together
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
                self.start_next(core as usize);
            }
        }
    }

    fn send(&mut self, edge: u32) {
        let dependency = self.problem.edges[edge as usize];
        let from = self.site_of_task(dependency.from);
        let to = self.site_of_task(dependency.to);
        if from == to {
            self.provide(dependency.to);
            return;
        }
        let paths = &self.problem.paths;
        let wires = &mut self.wires;
        let route = self.routes.entry((from, to));
        let route = *route.or_insert_with(|| wires.flows_mut().route(&paths.route(from as usize, to as usize)));
        let flow = wires.flows_mut().start(self.now, route, dependency.volume);
        if self.edge_of.len() <= flow.index() {
            self.edge_of.resize(flow.index() + 1, u32::MAX);
        }
        self.edge_of[flow.index()] = edge;
        self.released[edge as usize] = self.now;
        if self.how.period_rounding == PeriodRounding::WholeSeconds {
            self.under_way.insert(edge, flow);
        }
    }

    fn site_of_task(&self, task: u32) -> u32 {
        self.schedule.placed[task as usize].site
    }

    fn arrive(&mut self, edge: u32) {
        let released = self.released[edge as usize];
        self.replay.moved[edge as usize] = Some(TransferTrace {
            release: elapsed_since_start(released),
            end: elapsed_since_start(self.now),
            duration: self.now.elapsed_since(released),
        });
        self.under_way.remove(&edge);
        self.provide(self.problem.edges[edge as usize].to);
    }

    fn provide(&mut self, task: u32) {
        self.missing[task as usize] -= 1;
        self.check_startable(task);
    }

    /// The next time at which rounding cuts flows short, and these flows.
    fn cut_short(&mut self) -> Option<(W::Time, Vec<u32>)> {
        if self.how.period_rounding == PeriodRounding::None {
            return None;
        }
        let mut by_link: BTreeMap<u32, Vec<(f64, u32)>> = BTreeMap::new();
        for (&edge, &flow) in &self.under_way {
            let flows = self.wires.flows_mut();
            let distance = flows.remaining_volume(flow) / flows.rate(flow);
            let Dependency { from, to, .. } = self.problem.edges[edge as usize];
            let site = |task: u32| self.schedule.placed[task as usize].site as usize;
            for link in self.problem.paths.route(site(from), site(to)) {
                by_link.entry(link.0).or_default().push((distance, edge));
            }
        }
        let mut cut: Option<(W::Time, Vec<u32>)> = None;
        for flows in by_link.values().filter(|flows| flows.len() >= 2) {
            let least = flows.iter().map(|flow| flow.0).fold(f64::INFINITY, f64::min);
            // A flow whose distance is a whole number of seconds except for rounding errors needs no cut.
            let whole = (least + 1e-9).floor();
            let at = self.now.later_by(whole);
            if least >= 1.0 && whole < least - 1e-9 && cut.as_ref().is_none_or(|(cut, _)| at < *cut) {
                let edges = flows.iter().filter(|flow| flow.0 <= least * (1.0 + 1e-9)).map(|flow| flow.1).collect();
                cut = Some((at, edges));
            }
        }
        cut
    }

    fn cut(&mut self, edges: &[u32]) {
        for &edge in edges {
            if let Some(flow) = self.under_way.get(&edge).copied() {
                self.wires.flows_mut().stop(flow);
                self.arrive(edge);
            }
        }
    }
}

/// Time since the start of a replay.
fn elapsed_since_start<T: FlowTime>(now: T) -> f64 {
    now.elapsed_since(T::START)
}

/// The flows of a replay, in either clock.
trait Wires {
    type Time: FlowTime;

    fn flows_mut(&mut self) -> &mut Flows<Self::Time>;

    /// Next time at which something may arrive.
    fn next_change(&mut self) -> Option<Self::Time>;

    /// Advances to a time and appends the flows that have arrived by then.
    fn advance_to(&mut self, to: Self::Time, arrived: &mut Vec<FlowId>);
}

/// Flows in continuous time.
struct ExactWires {
    flows: Flows,
    ended: Vec<EndedFlow>,
}

impl Wires for ExactWires {
    type Time = f64;

    fn flows_mut(&mut self) -> &mut Flows {
        &mut self.flows
    }

    fn next_change(&mut self) -> Option<f64> {
        self.flows.next_change()
    }

    fn advance_to(&mut self, to: f64, arrived: &mut Vec<FlowId>) {
        self.flows.advance(to, &mut self.ended);
        arrived.extend(self.ended.drain(..).map(|ended| ended.flow));
    }
}

/// All times of a replay over these are whole microseconds.
impl Wires for Transfers {
    type Time = FlowMoment;

    fn flows_mut(&mut self) -> &mut Flows<FlowMoment> {
        Transfers::flows(self)
    }

    fn next_change(&mut self) -> Option<FlowMoment> {
        Transfers::next_change(self).map(FlowMoment::from)
    }

    fn advance_to(&mut self, to: FlowMoment, arrived: &mut Vec<FlowId>) {
        Transfers::advance(self, to.round_up(0.0), arrived)
    }
}
