//! The planner: accepts workflows at the router, plans them, and executes the plans.
//!
//! It does the same as [`super::replay_plan()`], in virtual time and with sites that answer: cores process their tasks
//! in the order of the plans, data leaves when a task ends, and a task starts when its turn has come and its data has
//! arrived. With one workflow, the run equals the replay to the microsecond. A later workflow is planned into the gaps
//! that earlier plans left.
//!
//! Where nodes fail, plans continue: a lost task returns to its site, less the saved work, and keeps its place in the
//! plan until it is done. If it is given up, no further task of its workflow starts.

mod best_effort;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use best_effort::{ReadyNeed, ReadyTask};

use super::planning::Policy;
use super::schedule::TransferTimes;
use super::workflows::{ActiveWorkflow, WorkflowPhase, Workflows};
use super::{Clock, Planning, Problem, Replaying, Resource, Timetable, Work, improve_around, plan_into};
use crate::grid::{Edge, EdgeId, Job, JobId, News, Recovery, TaskId};
use crate::kernel::{Actor, ActorId, Cause, Event, Outbox};
use crate::network::{Carrier, FlowMoment, FlowTime, Network};
use crate::protocol::{Ended, Lost, Message, Outcome, Record, Run, Verdict};
use crate::roles::site::left_of;
use crate::time::{Span, Stamp, Time};

pub struct Planner {
    rules: Planning,
    sites: Vec<(ActorId, Resource)>,
    /// The transfers, each known by its job and edge.
    carrier: Carrier<(u32, u32)>,
    jobs: Workflows,
    timetable: Timetable,
    /// The cores of all sites, site by site.
    cores: Vec<CoreQueue>,
    /// Number of unassigned cores, by site. Only without plans.
    free: Vec<u32>,
    /// Tasks that could run, by their needs, in order. Only without plans.
    ready: BTreeMap<ReadyNeed, BTreeSet<ReadyTask>>,
    /// The news of sites whose nodes fail.
    news: BTreeMap<u32, News>,
    /// Sites that may react to any message at once.
    prompt: BTreeSet<ActorId>,
    recovery: Recovery,
}

/// A core and the tasks that are planned on it.
#[derive(Default)]
struct CoreQueue {
    busy: bool,
    /// The tasks by descending planned start, so the next one is last.
    turns: Vec<PlannerTurn>,
}

#[derive(Clone, Copy)]
struct PlannerTurn {
    /// Planned start, since the start of the run.
    start: FlowMoment,
    job: u32,
    task: u32,
}

type Out = Outbox<Message, Record>;

impl Planner {
    pub fn new(rules: Planning, sites: Vec<(ActorId, Resource)>, network: impl Into<Network>) -> Planner {
        let cores: Vec<u32> = sites.iter().map(|(_, resource)| resource.cores).collect();
        let planned = rules.policy != Policy::BestEffort;
        let count = if planned { cores.iter().map(|&cores| cores as usize).sum() } else { 0 };
        Planner {
            timetable: Timetable::new(if planned { &cores } else { &[] }),
            cores: std::iter::repeat_with(CoreQueue::default).take(count).collect(),
            free: cores,
            rules,
            sites,
            carrier: network.into().carrier(),
            jobs: Workflows::default(),
            ready: BTreeMap::new(),
            news: BTreeMap::new(),
            prompt: BTreeSet::new(),
            recovery: Recovery::default(),
        }
    }

    /// Like this planner, where nodes of some sites fail, with the news of each of those.
    pub fn with_outages(self, news: BTreeMap<u32, News>, recovery: Recovery) -> Planner {
        Planner { news, recovery, ..self }
    }

    /// Like this planner, with the sites that may react to any message at once.
    pub fn with_prompt_sites(self, prompt: BTreeSet<ActorId>) -> Planner {
        Planner { prompt, ..self }
    }

    /// Number of workflows that are kept.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.jobs.kept()
    }

    fn accept_job(&mut self, job: Arc<Job>, user: ActorId, now: Time, out: &mut Out) {
        // The log holds valid jobs only, each with a number of its own.
        if job.check().is_err() || self.jobs.know(job.id) {
            return refuse_job(out, job.id, user);
        }
        let work = Work::of_job(&job);
        if let Some(task) = (0..job.tasks.len()).find(|task| !self.fits_some_site(*task, work)) {
            refuse_job(out, job.id, user);
            return out.log(Record::Refused { job, user, task: task as u32 });
        }
        out.log(Record::Arrived { job: job.clone(), user });
        let number = self.jobs.add(ActiveWorkflow::new(job, user, now));
        match self.rules.policy {
            Policy::BestEffort => {
                for task in 0..self.jobs[number].tasks.len() as u32 {
                    if self.jobs[number].tasks[task as usize].missing == 0 {
                        self.queue_up(number, task, now);
                    }
                }
            }
            Policy::Heft | Policy::NetworkHeft => self.plan(number, now, out),
        }
    }

    fn fits_some_site(&self, task: usize, work: Work<'_>) -> bool {
        self.sites.iter().any(|site| work.time(task, site).is_some())
    }

    /// The workflow of a task that runs at a site. A peer may report tasks that do not run there; such a message is
    /// ignored.
    fn running_at(&self, site: ActorId, task: TaskId) -> Option<u32> {
        let number = self.jobs.find(task.job)?;
        let state = self.jobs[number].tasks.get(task.index as usize)?;
        (state.phase == WorkflowPhase::Running && self.sites[state.placed.site as usize].0 == site).then_some(number)
    }

    fn handle_end(&mut self, ended: Ended, from: ActorId, now: Time, out: &mut Out) {
        let Some(number) = self.running_at(from, ended.task) else { return };
        let task = ended.task.index;
        let live = &mut self.jobs[number];
        live.tasks[task as usize].phase = WorkflowPhase::Done;
        live.unfinished -= 1;
        live.under_way -= 1;
        if !live.is_removed {
            if live.unfinished == 0 {
                out.log(Record::Completed { job: live.job.id, value: None });
                out.send(live.user, Message::Outcome(Outcome { job: live.job.id, verdict: Verdict::Completed }));
            }
            match self.rules.policy {
                Policy::BestEffort => self.release_successors(number, task, now),
                Policy::Heft | Policy::NetworkHeft => self.hand_on(number, task, now, out),
            }
        }
        self.free_cores_of(number, task, now, out);
        self.jobs.forget_if_over(number);
    }

    /// Handles a failure of a task's node.
    fn handle_loss(&mut self, lost: Lost, from: ActorId, now: Time, out: &mut Out) {
        let Some(number) = self.running_at(from, lost.task) else { return };
        let live = &mut self.jobs[number];
        let task = lost.task.index;
        live.under_way -= 1;
        let state = &mut live.tasks[task as usize];
        state.losses += 1;
        state.saved = state.saved + lost.saved;
        if self.recovery.tries_again(state.losses) && !live.is_removed {
            return self.run(number, task, now, out);
        }
        state.phase = WorkflowPhase::Done;
        self.timetable.give_back(&state.placed, live.planned_at);
        self.give_up(number, now, out);
        self.free_cores_of(number, task, now, out);
        self.jobs.forget_if_over(number);
    }

    /// Gives a workflow up: none of its tasks starts any more.
    fn give_up(&mut self, number: u32, now: Time, out: &mut Out) {
        let live = &mut self.jobs[number];
        if std::mem::replace(&mut live.is_removed, true) {
            return;
        }
        let job = live.job.id;
        out.log(Record::Removed { job });
        out.send(live.user, Message::Outcome(Outcome { job, verdict: Verdict::Removed }));
        for state in live.tasks.iter().filter(|state| state.phase == WorkflowPhase::Waiting) {
            self.timetable.give_back(&state.placed, live.planned_at);
        }
        self.ready.retain(|_, alike| {
            alike.retain(|(_, other, _)| *other != number);
            !alike.is_empty()
        });
        for core in 0..self.cores.len() {
            let turns = &mut self.cores[core].turns;
            let before = turns.len();
            turns.retain(|turn| turn.job != number);
            if turns.len() < before {
                self.start_next(core, now, out);
            }
        }
    }

    /// Frees the cores of a task that has ended or has been given up.
    fn free_cores_of(&mut self, number: u32, task: u32, now: Time, out: &mut Out) {
        let live = &mut self.jobs[number];
        let placed = &mut live.tasks[task as usize].placed;
        if self.rules.policy == Policy::BestEffort {
            self.free[placed.site as usize] += live.job.tasks[task as usize].cores;
        }
        for core in std::mem::take(&mut placed.cores) {
            self.cores[core as usize].busy = false;
            self.start_next(core as usize, now, out);
        }
    }

    fn send(&mut self, job: u32, edge: u32, from: u32, to: u32, now: Time, out: &mut Out) {
        let live = &mut self.jobs[job];
        live.under_way += 1;
        let bytes = live.job.edges[edge as usize].data;
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
        let live = &mut self.jobs[job];
        live.under_way -= 1;
        let to = live.job.edges[edge as usize].to;
        self.provide(job, to, now, out);
        self.jobs.forget_if_over(job);
    }

    fn edge(&self, job: u32, edge: u32) -> EdgeId {
        let job = &self.jobs[job].job;
        let Edge { from, to, .. } = job.edges[edge as usize];
        EdgeId { job: job.id, from, to }
    }

    /// Records that an input of a task has arrived.
    fn provide(&mut self, job: u32, task: u32, now: Time, out: &mut Out) {
        let live = &mut self.jobs[job];
        let state = &mut live.tasks[task as usize];
        state.missing -= 1;
        if state.missing > 0 {
            return;
        }
        match state.placed.cores.first() {
            // In a plan it has no turn any more.
            Some(_) if live.is_removed => {}
            Some(&core) => self.start_next(core as usize, now, out),
            None if live.is_removed => self.free_cores_of(job, task, now, out),
            None => self.run(job, task, now, out),
        }
    }

    fn run(&mut self, job: u32, task: u32, now: Time, out: &mut Out) {
        let live = &mut self.jobs[job];
        live.under_way += 1;
        let state = &mut live.tasks[task as usize];
        state.phase = WorkflowPhase::Running;
        let number = state.placed.site;
        let (site, resource) = self.sites[number as usize];
        let needs = live.job.tasks[task as usize];
        let runtime = live.job.runtime_at(task as usize, site, resource.speed());
        let id = TaskId { job: live.job.id, index: task };
        out.log(Record::Assigned { task: id, site });
        let runtime = left_of(runtime.expect("a task is placed where it may run"), state.saved);
        let until_failure = self.news.get_mut(&number).map(|news| news.safe_span(now));
        let safe = if self.prompt.contains(&site) { Some(Span::ZERO) } else { until_failure };
        let planned = self.timetable.nodes(&state.placed);
        out.send(site, Message::Run(Run { task: id, cores: needs.cores, runtime, safe, planned }));
    }
}

fn refuse_job(out: &mut Out, job: JobId, user: ActorId) {
    out.send(user, Message::Outcome(Outcome { job, verdict: Verdict::Refused }));
}

/// Planning of workflows, and execution of the plans.
impl Planner {
    fn plan(&mut self, number: u32, now: Time, out: &mut Out) {
        let job = self.jobs[number].job.clone();
        let paths = self.carrier.paths().clone();
        let problem = Problem::from_work(Work::of_job(&job), &self.sites, paths, self.rules.awareness());
        let problem = problem.expect("the job was checked, and each task fits");
        self.timetable.advance(now);
        let schedule = match self.rules.policy {
            Policy::NetworkHeft => {
                let replaying = Replaying { clock: Clock::Micros, ..Replaying::default() };
                let how = self.rules.improvement(replaying);
                let schedule = improve_around(&problem, how, &self.timetable).schedule;
                self.timetable.enter(&schedule);
                schedule
            }
            _ => plan_into(&problem, &TransferTimes::of_problem(&problem), &mut self.timetable),
        };
        let mut touched = BTreeSet::new();
        for &task in &schedule.list {
            let placed = &schedule.placed[task as usize];
            self.jobs[number].tasks[task as usize].placed = placed.clone();
            let turn = PlannerTurn { start: FlowMoment::from(now).later_by(placed.start), job: number, task };
            for &core in &placed.cores {
                // Tasks of the same start keep their order, so the new one goes in front: the next turn is the last.
                let turns = &mut self.cores[core as usize].turns;
                let at = turns.partition_point(|other| other.start > turn.start);
                turns.insert(at, turn);
                touched.insert(core);
            }
        }
        for core in touched {
            self.start_next(core as usize, now, out);
        }
    }

    /// Sends the output of a task to the sites that need it.
    fn hand_on(&mut self, number: u32, task: u32, now: Time, out: &mut Out) {
        let site = self.jobs[number].tasks[task as usize].placed.site;
        for edge in self.jobs[number].edges_out_of(task) {
            let live = &self.jobs[number];
            let to = live.job.edges[edge].to;
            let target = live.tasks[to as usize].placed.site;
            if target == site {
                self.provide(number, to, now, out)
            } else {
                self.send(number, edge as u32, site, target, now, out)
            }
        }
    }

    /// Starts the next task that is planned on a core, if possible.
    fn start_next(&mut self, core: usize, now: Time, out: &mut Out) {
        let Some(&PlannerTurn { job, task, .. }) = self.cores[core].turns.last() else { return };
        let state = &self.jobs[job].tasks[task as usize];
        let cores = &state.placed.cores;
        if state.missing > 0
            || !cores.iter().all(|core| {
                let core = &self.cores[*core as usize];
                !core.busy && core.turns.last().is_some_and(|turn| (turn.job, turn.task) == (job, task))
            })
        {
            return;
        }
        for core in cores.clone() {
            let core = &mut self.cores[core as usize];
            core.busy = true;
            core.turns.pop();
        }
        self.run(job, task, now, out);
    }
}

impl Actor<Message, Record> for Planner {
    /// Handles arrivals of data, then ends of tasks, then workflows, so that later steps find all data that is there.
    fn handle_batch(&mut self, now: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Out) {
        let time = now.time;
        for event in batch.iter() {
            if let Cause::Message(Message::Landed(landed)) = event.cause {
                self.carrier.take_landing(event.from, landed);
            }
        }
        for (job, edge) in self.carrier.take_arrived(time, out) {
            self.arrive(job, edge, time, out);
        }
        let mut submitted = Vec::new();
        for event in batch.drain(..) {
            match event.cause {
                Cause::Message(Message::Ended(ended)) => self.handle_end(ended, event.from, time, out),
                Cause::Message(Message::Lost(lost)) => self.handle_loss(lost, event.from, time, out),
                Cause::Message(Message::Submit(submit)) => submitted.push((submit.job, event.from)),
                _ => {}
            }
        }
        for (job, user) in submitted {
            self.accept_job(job, user, time, out);
        }
        if self.rules.policy == Policy::BestEffort {
            self.dispatch(time, out);
        }
        self.carrier.wake(time, out);
    }
}
