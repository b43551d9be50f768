//! The planner: takes in workflows at the router, plans them, and has the plans carried out.
//!
//! It does what [`super::replay()`] does, in virtual time and with sites that answer: cores work off their tasks in the order
//! of the plans, data sets out when a task ends, a task starts when its turn has come and its data is there. With one
//! workflow, what happens is to the microsecond what the replay said. A workflow that comes later is planned into the
//! gaps that earlier plans left.
//!
//! Where nodes fail, plans are carried on: a task that is lost is given to its site again, less the work that is saved, and
//! keeps its place in the plan until it is done. If it is given up, nothing more of its workflow starts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use smallvec::SmallVec;

use super::planning::Policy;
use super::schedule::Costs;
use super::{Awareness, Clock, Planning, Problem, Replaying, Resource, Timetable, improve_around, plan_into};
use crate::grid::{Edge, EdgeId, Graph, Job, JobId, Killed, News, Recovery, TaskId};
use crate::kernel::{Actor, ActorId, Cause, Event, Outbox};
use crate::network::{Carrier, Network};
use crate::protocol::{Ended, Lost, Message, Outcome, Record, Run, Verdict};
use crate::roles::site::left_of;
use crate::time::{Span, Stamp, Time};

pub struct Planner {
    rules: Planning,
    sites: Vec<(ActorId, Resource)>,
    /// Loads are known by their job and their edge of it.
    carrier: Carrier<(u32, u32)>,
    jobs: Vec<Live>,
    numbers: BTreeMap<JobId, u32>,
    timetable: Timetable,
    /// The cores of all sites, site by site.
    cores: Vec<Core>,
    /// By site: cores that nothing is promised to. Only without plans.
    free: Vec<u32>,
    /// Tasks that could run somewhere, in order. Only without plans.
    ready: BTreeSet<(Time, u32, u32)>,
    failing: Failing,
}

/// What is known of nodes that fail, and of the tasks that were on them.
#[derive(Default)]
struct Failing {
    /// By site, if its nodes fail.
    news: BTreeMap<u32, News>,
    recovery: Recovery,
    /// How often a task has been lost, and how much of its work is saved.
    lost: BTreeMap<TaskId, (u32, Span)>,
}

/// A core and the tasks that it is to run.
#[derive(Default)]
struct Core {
    busy: bool,
    /// By planned start, the next one last.
    turns: Vec<Turn>,
}

#[derive(Clone, Copy)]
struct Turn {
    start: f64,
    job: u32,
    task: u32,
}

/// A workflow under way.
struct Live {
    job: Arc<Job>,
    user: ActorId,
    graph: Graph,
    tasks: Vec<State>,
    unfinished: usize,
    /// Whether it has been given up.
    is_removed: bool,
}

struct State {
    phase: Phase,
    site: u32,
    cores: SmallVec<[u32; 2]>,
    /// Tasks that have not ended, or whose data is not there yet.
    missing: u32,
}

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Waiting,
    /// It has a site, and its data is on the way there. Only without plans.
    Fetching,
    Running,
    Done,
}

type Out = Outbox<Message, Record>;

impl Planner {
    pub fn new(rules: Planning, sites: Vec<(ActorId, Resource)>, network: impl Into<Network>) -> Planner {
        let cores: Vec<u32> = sites.iter().map(|(_, resource)| resource.cores).collect();
        let planned = rules.policy != Policy::BestEffort;
        let count = if planned { cores.iter().map(|&cores| cores as usize).sum() } else { 0 };
        Planner {
            timetable: Timetable::new(if planned { &cores } else { &[] }),
            cores: std::iter::repeat_with(Core::default).take(count).collect(),
            free: cores,
            rules,
            sites,
            carrier: network.into().carrier(),
            jobs: Vec::new(),
            numbers: BTreeMap::new(),
            ready: BTreeSet::new(),
            failing: Failing::default(),
        }
    }

    /// The same, where nodes of sites fail: what is heard of each of those.
    pub fn failing(self, news: BTreeMap<u32, News>, recovery: Recovery) -> Planner {
        Planner { failing: Failing { news, recovery, lost: BTreeMap::new() }, ..self }
    }

    fn take_in(&mut self, job: Arc<Job>, user: ActorId, now: Time, out: &mut Out) {
        let refuse = |out: &mut Out| {
            out.send(user, Message::Outcome(Outcome { job: job.id, verdict: Verdict::Refused }));
        };
        // The log is about jobs that are ones, and each has a number of its own.
        if job.check().is_err() || self.numbers.contains_key(&job.id) {
            return refuse(out);
        }
        let fits = |task: &_| self.sites.iter().any(|(_, resource)| resource.fits(task));
        if let Some(task) = job.tasks.iter().position(|task| !fits(task)) {
            refuse(out);
            return out.log(Record::Refused { job, user, task: task as u32 });
        }
        out.log(Record::Arrived { job: job.clone(), user });
        let graph = Graph::new(job.tasks.len(), &job.edges);
        let state = |task: usize| State {
            phase: Phase::Waiting,
            site: 0,
            cores: SmallVec::new(),
            missing: graph.predecessors(task).len() as u32,
        };
        let tasks: Vec<State> = (0..job.tasks.len()).map(state).collect();
        let number = self.jobs.len() as u32;
        self.numbers.insert(job.id, number);
        self.jobs.push(Live { unfinished: tasks.len(), job, user, graph, tasks, is_removed: false });
        match self.rules.policy {
            Policy::BestEffort => {
                let live = &self.jobs[number as usize];
                let entries = (0..live.tasks.len()).filter(|&task| live.tasks[task].missing == 0);
                self.ready.extend(entries.map(|task| (now, number, task as u32)));
            }
            Policy::Heft => self.plan(number, now, Awareness::Capacity, out),
            Policy::NetworkHeft => self.plan(number, now, Awareness::Network, out),
        }
    }

    fn end(&mut self, ended: Ended, from: ActorId, now: Time, out: &mut Out) {
        let Some(&number) = self.numbers.get(&ended.task.job) else { return };
        let live = &mut self.jobs[number as usize];
        let index = ended.task.index as usize;
        // A peer may tell of tasks that do not run there; that changes nothing.
        let Some(task) = live.tasks.get_mut(index).filter(|task| task.phase == Phase::Running) else { return };
        let site = task.site;
        if self.sites[site as usize].0 != from {
            return;
        }
        task.phase = Phase::Done;
        live.unfinished -= 1;
        if live.unfinished == 0 && !live.is_removed {
            out.log(Record::Completed { job: live.job.id, value: None });
            out.send(live.user, Message::Outcome(Outcome { job: live.job.id, verdict: Verdict::Completed }));
        }

        let width = live.job.tasks[index].cores;
        if live.is_removed {
            return self.leave(number, index, now, out);
        }
        let cores = std::mem::take(&mut task_mut(live, index).cores);
        let first = live.job.edges.partition_point(|edge| edge.from < index as u32);
        let after: SmallVec<[u32; 8]> = (first..live.job.edges.len())
            .take_while(|&edge| live.job.edges[edge].from == index as u32)
            .map(|edge| edge as u32)
            .collect();
        if self.rules.policy == Policy::BestEffort {
            self.free[site as usize] += width;
            for edge in after {
                let to = self.jobs[number as usize].job.edges[edge as usize].to;
                let next = task_mut(&mut self.jobs[number as usize], to as usize);
                next.missing -= 1;
                if next.missing == 0 {
                    self.ready.insert((now, number, to));
                }
            }
            return;
        }
        for edge in after {
            let live = &self.jobs[number as usize];
            let to = live.job.edges[edge as usize].to;
            let target = live.tasks[to as usize].site;
            if target == site {
                self.provide(number, to, now, out)
            } else {
                self.send(number, edge, site, target, now, out)
            }
        }
        for core in cores {
            self.cores[core as usize].busy = false;
            self.turn(core as usize, now, out);
        }
    }

    /// A node of a task has failed.
    fn lose(&mut self, lost: Lost, from: ActorId, now: Time, out: &mut Out) {
        let Some(&number) = self.numbers.get(&lost.task.job) else { return };
        let (live, index) = (&mut self.jobs[number as usize], lost.task.index as usize);
        let Some(task) = live.tasks.get_mut(index).filter(|task| task.phase == Phase::Running) else { return };
        if self.sites[task.site as usize].0 != from {
            return;
        }
        let Failing { recovery, lost: all, .. } = &mut self.failing;
        let (losses, saved) = all.entry(lost.task).or_default();
        *losses += 1;
        *saved = *saved + lost.saved;
        if recovery.killed != Killed::Lost && *losses < recovery.attempts && !live.is_removed {
            return self.run(number, lost.task.index, now, out);
        }
        task.phase = Phase::Done;
        self.give_up(number, now, out);
        self.leave(number, index, now, out);
    }

    /// Nothing more of a workflow starts.
    fn give_up(&mut self, number: u32, now: Time, out: &mut Out) {
        let live = &mut self.jobs[number as usize];
        if std::mem::replace(&mut live.is_removed, true) {
            return;
        }
        let job = live.job.id;
        out.log(Record::Removed { job });
        out.send(live.user, Message::Outcome(Outcome { job, verdict: Verdict::Removed }));
        self.ready.retain(|(_, other, _)| *other != number);
        for core in 0..self.cores.len() {
            let turns = &mut self.cores[core].turns;
            let before = turns.len();
            turns.retain(|turn| turn.job != number);
            if turns.len() < before {
                self.turn(core, now, out);
            }
        }
    }

    /// A task of a workflow that has been given up leaves its cores.
    fn leave(&mut self, number: u32, task: usize, now: Time, out: &mut Out) {
        let live = &mut self.jobs[number as usize];
        let (site, width) = (live.tasks[task].site, live.job.tasks[task].cores);
        let cores = std::mem::take(&mut task_mut(live, task).cores);
        if self.rules.policy == Policy::BestEffort {
            self.free[site as usize] += width;
        }
        for core in cores {
            self.cores[core as usize].busy = false;
            self.turn(core as usize, now, out);
        }
    }

    fn send(&mut self, job: u32, edge: u32, from: u32, to: u32, now: Time, out: &mut Out) {
        let bytes = self.jobs[job as usize].job.edges[edge as usize].data;
        let id = self.edge(job, edge);
        let active = self.carrier.send(now, (from, to), (id, bytes), (job, edge), out);
        if self.carrier.has_limits() {
            let [from, to] = [from, to].map(|site| self.sites[site as usize].0);
            out.log(Record::Sent { edge: id, from, to, bytes, active });
        }
    }

    fn arrive(&mut self, job: u32, edge: u32, now: Time, out: &mut Out) {
        if self.carrier.has_limits() {
            out.log(Record::Delivered { edge: self.edge(job, edge) });
        }
        let to = self.jobs[job as usize].job.edges[edge as usize].to;
        self.provide(job, to, now, out);
    }

    fn edge(&self, job: u32, edge: u32) -> EdgeId {
        let job = &self.jobs[job as usize].job;
        let Edge { from, to, .. } = job.edges[edge as usize];
        EdgeId { job: job.id, from, to }
    }

    /// A task has one of its inputs.
    fn provide(&mut self, job: u32, task: u32, now: Time, out: &mut Out) {
        let live = &mut self.jobs[job as usize];
        let is_removed = live.is_removed;
        let state = task_mut(live, task as usize);
        state.missing -= 1;
        if state.missing > 0 {
            return;
        }
        if is_removed {
            // With a plan it has no turn any more; without, it has cores at its site.
            if state.cores.is_empty() {
                self.leave(job, task as usize, now, out);
            }
            return;
        }
        match state.cores.first() {
            Some(&core) => self.turn(core as usize, now, out),
            None => self.run(job, task, now, out),
        }
    }

    fn run(&mut self, job: u32, task: u32, now: Time, out: &mut Out) {
        let live = &mut self.jobs[job as usize];
        let state = task_mut(live, task as usize);
        state.phase = Phase::Running;
        let number = state.site;
        let (site, resource) = self.sites[number as usize];
        let wish = live.job.tasks[task as usize];
        let id = TaskId { job: live.job.id, index: task };
        out.log(Record::Assigned { task: id, site });
        let Failing { news, lost, .. } = &mut self.failing;
        let saved = lost.get(&id).map_or(Span::ZERO, |lost| lost.1);
        let runtime = left_of(resource.time(wish.runtime), saved);
        let safe = news.get_mut(&number).map(|news| news.safe(now));
        out.send(site, Message::Run(Run { task: id, cores: wish.cores, runtime, safe }));
    }
}

/// With plans.
impl Planner {
    fn plan(&mut self, number: u32, now: Time, awareness: Awareness, out: &mut Out) {
        let job = self.jobs[number as usize].job.clone();
        let resources: Vec<Resource> = self.sites.iter().map(|(_, resource)| *resource).collect();
        let problem = Problem::of(&job.tasks, &job.edges, &resources, self.carrier.paths().clone(), awareness);
        let problem = problem.expect("the job was checked, and each task fits").released_at(now.micros() as f64);
        let schedule = match self.rules.policy {
            Policy::NetworkHeft => {
                let replaying = Replaying { clock: Clock::Micros, ..Replaying::default() };
                let how = self.rules.improvement(replaying);
                let schedule = improve_around(&problem, how, &self.timetable).schedule;
                self.timetable.enter(&schedule);
                schedule
            }
            _ => plan_into(&problem, &Costs::of(&problem), &mut self.timetable),
        };
        let mut touched = BTreeSet::new();
        for &task in &schedule.list {
            let placed = &schedule.placed[task as usize];
            let state = task_mut(&mut self.jobs[number as usize], task as usize);
            (state.site, state.cores) = (placed.site, placed.cores.clone());
            let turn = Turn { start: placed.start, job: number, task };
            for &core in &placed.cores {
                // Those of the same start keep their order, so the new one goes in front: the next turn is the last.
                let turns = &mut self.cores[core as usize].turns;
                let at = turns.partition_point(|other| other.start > turn.start);
                turns.insert(at, turn);
                touched.insert(core);
            }
        }
        for core in touched {
            self.turn(core as usize, now, out);
        }
    }

    /// Starts the next task of a core, if it can be started.
    fn turn(&mut self, core: usize, now: Time, out: &mut Out) {
        let Some(&Turn { job, task, .. }) = self.cores[core].turns.last() else { return };
        let state = &self.jobs[job as usize].tasks[task as usize];
        let free = |core: &u32| {
            let core = &self.cores[*core as usize];
            !core.busy && core.turns.last().is_some_and(|turn| (turn.job, turn.task) == (job, task))
        };
        if state.missing > 0 || !state.cores.iter().all(free) {
            return;
        }
        for core in state.cores.clone() {
            let core = &mut self.cores[core as usize];
            core.busy = true;
            core.turns.pop();
        }
        self.run(job, task, now, out);
    }
}

/// Without plans.
impl Planner {
    /// Gives tasks to sites with free cores, those that have been ready longest first; one that finds no room lets others
    /// go ahead.
    fn dispatch(&mut self, now: Time, out: &mut Out) {
        let waiting: Vec<(Time, u32, u32)> = self.ready.iter().copied().collect();
        for entry in waiting {
            if self.free.iter().all(|free| *free == 0) {
                return;
            }
            let (_, job, task) = entry;
            if let Some(site) = self.choose(job, task) {
                self.ready.remove(&entry);
                self.fetch(job, task, site as u32, now, out);
            }
        }
    }

    /// The site where a task would end first if its data came alone; the first of several.
    fn choose(&self, job: u32, task: u32) -> Option<usize> {
        let live = &self.jobs[job as usize];
        let wish = &live.job.tasks[task as usize];
        let alone = |link: &crate::network::Link| link.effective(1);
        let mut best: Option<(f64, usize)> = None;
        for (site, (_, resource)) in self.sites.iter().enumerate() {
            if !resource.fits(wish) || self.free[site] < wish.cores {
                continue;
            }
            let fetched = inputs(live, task).map(|(_, from, data)| match from as usize == site {
                true => 0.0,
                false => {
                    let from = from as usize;
                    let paths = self.carrier.paths();
                    paths.latency(from, site) + data as f64 / paths.bandwidth(from, site, alone)
                }
            });
            let end = fetched.fold(0.0, f64::max) + resource.time(wish.runtime).micros() as f64;
            if best.is_none_or(|(least, _)| end < least) {
                best = Some((end, site));
            }
        }
        best.map(|(_, site)| site)
    }

    fn fetch(&mut self, job: u32, task: u32, site: u32, now: Time, out: &mut Out) {
        let live = &mut self.jobs[job as usize];
        self.free[site as usize] -= live.job.tasks[task as usize].cores;
        let remote: Vec<(u32, u32)> =
            inputs(live, task).filter(|input| input.1 != site).map(|(edge, from, _)| (edge, from)).collect();
        let state = task_mut(live, task as usize);
        (state.phase, state.site, state.missing) = (Phase::Fetching, site, remote.len() as u32);
        if remote.is_empty() {
            return self.run(job, task, now, out);
        }
        for (edge, from) in remote {
            self.send(job, edge, from, site, now, out);
        }
    }
}

/// The edges into a task, with the site and the size of what comes along them.
fn inputs(live: &Live, task: u32) -> impl Iterator<Item = (u32, u32, u64)> + '_ {
    live.graph.predecessors(task as usize).iter().map(move |&from| {
        let edges = &live.job.edges;
        let at = edges.partition_point(|edge| (edge.from, edge.to) < (from, task));
        (at as u32, live.tasks[from as usize].site, edges[at].data)
    })
}

fn task_mut(live: &mut Live, task: usize) -> &mut State {
    &mut live.tasks[task]
}

impl Actor<Message, Record> for Planner {
    /// Data arrives, tasks end, workflows come: in this order, so that what starts finds all that is there.
    fn handle(&mut self, now: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Out) {
        let time = now.time;
        for event in batch.iter() {
            if let Cause::Message(Message::Landed(landed)) = event.cause {
                self.carrier.hear(event.from, landed);
            }
        }
        for (job, edge) in self.carrier.arrived(time, out) {
            self.arrive(job, edge, time, out);
        }
        let mut submitted = Vec::new();
        for event in batch.drain(..) {
            match event.cause {
                Cause::Message(Message::Ended(ended)) => self.end(ended, event.from, time, out),
                Cause::Message(Message::Lost(lost)) => self.lose(lost, event.from, time, out),
                Cause::Message(Message::Submit(submit)) => submitted.push((submit.job, event.from)),
                _ => {}
            }
        }
        for (job, user) in submitted {
            self.take_in(job, user, time, out);
        }
        if self.rules.policy == Policy::BestEffort {
            self.dispatch(time, out);
        }
        self.carrier.wake(time, out);
    }
}
