//! Manager of a site whose decisions an external program makes.
//!
//! It keeps account of waiting and running jobs and of free nodes, so that an impossible request of the program is
//! detected before it reaches the site. A question costs O(events to report), an action O(runs of free nodes).
//!
//! A program may take virtual time to decide, and date its actions: they are carried out at those times, and the
//! program learns of events in between when it is ready again.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::CheckedProgram;
use crate::grid::{Expected, JobId, NodeSet, TaskId};
use crate::kernel::ActorId;
use crate::protocol::outside::{Decision, JobEnd, SiteAction, SiteEvent, to_seconds};
use crate::protocol::{Declined, Entrust, Message, Recall, Recalled, Record};
use crate::roles::site::{Attempts, Ending, Loss, Manager, On, Running, SiteOrder, Start, Tasks, left_of};
use crate::time::{Span, Time};

/// Connection to a program that decides for a site.
pub trait ManagerProgram: CheckedProgram {
    /// Actions before any event.
    fn initial_actions(&mut self) -> Decision {
        Decision::default()
    }

    /// Actions in reaction to events. None once the program has failed.
    fn decide_on_events(&mut self, now: Time, happened: &[(Time, SiteEvent)]) -> Decision;

    /// Called before it decides: no event comes before this time, unless it is caused by what the program orders now.
    fn foresee(&mut self, _until: Time) {}

    /// True if the program itself ends jobs at their walltimes, early or late. Otherwise the site does.
    fn ends_at_walltimes(&self) -> bool {
        false
    }

    /// True if the program can be told of recalled jobs. Otherwise no job can be recalled.
    fn accepts_recalls(&self) -> bool {
        true
    }
}

/// Questions at one moment, at most: each but the first is caused by the program's last actions.
const ASKED_MAX: u32 = 10_000;

/// Outages and repairs, at most, while jobs wait and the program starts none.
const IDLE_CHANGES_MAX: u32 = 1_000;

pub struct ProgramManager {
    decider: Box<dyn ManagerProgram>,
    has_begun: bool,
    waiting: BTreeMap<JobId, ProgramJob>,
    running: BTreeMap<JobId, RunningJobs>,
    /// Nodes without a task; some of them may be down.
    free: NodeSet,
    down: NodeSet,
    nodes: u32,
    /// Treatment of lost jobs; None if nodes do not fail.
    attempts: Option<Attempts>,
    /// Reports of node changes since a task last ran here.
    idle_changes: u32,
    /// Events that have not been reported to the program.
    happened: Vec<(Time, SiteEvent)>,
    /// Actions of later times, those of one time in the order of the program.
    later: BTreeMap<Time, VecDeque<SiteAction>>,
    calls: BTreeSet<Time>,
    /// Events are not reported to the program before this.
    ready: Time,
}

struct ProgramJob {
    sender: ActorId,
    nodes: u32,
    /// Requested time without checkpoints.
    walltime: Span,
    runtime: Span,
    /// Number of times that it was lost.
    losses: u32,
}

struct RunningJobs {
    on: NodeSet,
    since: Time,
    /// The job, should it have to wait again.
    work: ProgramJob,
}

impl ProgramManager {
    pub fn new(decider: Box<dyn ManagerProgram>, nodes: u32) -> ProgramManager {
        ProgramManager {
            decider,
            has_begun: false,
            waiting: BTreeMap::new(),
            running: BTreeMap::new(),
            free: NodeSet::all(nodes),
            down: NodeSet::default(),
            nodes,
            attempts: None,
            idle_changes: 0,
            happened: Vec::new(),
            later: BTreeMap::new(),
            calls: BTreeSet::new(),
            ready: Time::ZERO,
        }
    }

    /// Sets the treatment of lost jobs, for a site whose nodes fail.
    pub fn recovering(self, attempts: Option<Attempts>) -> ProgramManager {
        ProgramManager { attempts, ..self }
    }

    /// Duration of a span of work with its checkpoints, if it makes any.
    fn with_checkpoints(&self, work: Span, nodes: u32) -> Span {
        self.attempts.as_ref().map_or(work, |attempts| attempts.with_checkpoints(work, nodes))
    }

    /// Accepts a job. Senders know the size of the site, so invalid jobs get no answer.
    fn take(&mut self, now: Time, sender: ActorId, entrust: Entrust) {
        let Entrust { job, nodes, walltime, runtime, losses } = entrust;
        let known = self.waiting.contains_key(&job) || self.running.contains_key(&job);
        if (1..=self.nodes).contains(&nodes) && !runtime.min(walltime).is_zero() && !known {
            self.waiting.insert(job, ProgramJob { sender, nodes, walltime, runtime, losses });
            let walltime = self.with_checkpoints(walltime, nodes);
            let runtime = self.with_checkpoints(runtime, nodes);
            self.happened.push((now, SiteEvent::Submitted { job, nodes, walltime, runtime }));
        }
    }

    /// Recalls a waiting job, unless the program cannot be told; returns the number of its losses.
    fn recall(&mut self, now: Time, sender: ActorId, job: JobId) -> Option<u32> {
        let losses = self.waiting.get(&job).filter(|waiting| waiting.sender == sender)?.losses;
        if !self.decider.accepts_recalls() {
            return None;
        }
        self.waiting.remove(&job);
        let submitted = self
            .happened
            .iter()
            .position(|(_, happened)| matches!(happened, SiteEvent::Submitted { job: its, .. } if *its == job));
        match submitted {
            // The program has not learned of the job yet.
            Some(place) => drop(self.happened.remove(place)),
            None => self.happened.push((now, SiteEvent::Recalled { job })),
        }
        Some(losses)
    }

    /// Carries out the actions that are due and reports events, until there are none of either now.
    fn exchange_events(&mut self, now: Time, orders: &mut Vec<SiteOrder>) -> Result<(), String> {
        if !std::mem::replace(&mut self.has_begun, true) {
            let decision = self.decider.initial_actions();
            self.take_decision(now, decision, orders)?;
        }
        for _ in 0..ASKED_MAX {
            while let Some(mut due) = self.later.first_entry()
                && *due.key() <= now
            {
                match due.get_mut().pop_front() {
                    Some(action) => self.carry_out(now, action, orders)?,
                    None => drop(due.remove()),
                }
            }
            if now < self.ready {
                return Ok(());
            }
            while let Some(call) = self.calls.first().copied().filter(|call| *call <= now) {
                self.calls.remove(&call);
                self.happened.push((now, SiteEvent::Called));
            }
            if self.happened.is_empty() || self.decider.has_failed() {
                return Ok(());
            }
            let happened = std::mem::take(&mut self.happened);
            let decision = self.decider.decide_on_events(now, &happened);
            self.take_decision(now, decision, orders)?;
        }
        Err(format!("has been asked {ASKED_MAX} times at one moment, and its orders still cause further events"))
    }

    /// Carries out the actions of the program that are due, and stores later ones.
    fn take_decision(&mut self, now: Time, decision: Decision, orders: &mut Vec<SiteOrder>) -> Result<(), String> {
        self.ready = decision.ready;
        for (at, action) in decision.actions {
            // A call has a time of its own, whenever it is requested.
            if at <= now || matches!(action, SiteAction::Call { .. }) {
                self.carry_out(now, action, orders)?;
            } else {
                self.later.entry(at).or_default().push_back(action);
            }
        }
        Ok(())
    }

    fn carry_out(&mut self, now: Time, action: SiteAction, orders: &mut Vec<SiteOrder>) -> Result<(), String> {
        match action {
            SiteAction::Start { job, on } => orders.push(self.start(now, job, on)?),
            SiteAction::Reject { job } => {
                let ProgramJob { sender, .. } = self.leave_queue(job, "rejects")?;
                orders.push(SiteOrder::Send(sender, Message::Declined(Declined { task: only_task(job) })));
            }
            SiteAction::Kill { job } => match self.running.remove(&job) {
                Some(runs) => {
                    self.free.unite(&runs.on);
                    let progress = self.progress(now, &runs);
                    self.happened.push((now, SiteEvent::Ended { job, how: JobEnd::Killed, on: runs.on, progress }));
                    orders.push(SiteOrder::Kill(only_task(job)));
                }
                // The program dates its actions, so it cannot know of a job that ends before them.
                None if self.has_unreported_end(job) => {}
                None => return Err(format!("kills job {}, which is not running", job.0)),
            },
            SiteAction::Requeue { job } => {
                let work = self.leave_nodes(job, "requeues")?;
                self.waiting.insert(job, work);
                orders.push(SiteOrder::Requeue(only_task(job)));
            }
            SiteAction::Preempt { job } => {
                self.leave_nodes(job, "preempts")?;
                orders.push(SiteOrder::Preempt(only_task(job)));
            }
            SiteAction::RecordBackfill { job } => {
                if !self.running.contains_key(&job) {
                    return Err(format!("has backfilled job {}, which is not running", job.0));
                }
                orders.push(SiteOrder::Log(Record::Backfilled { task: only_task(job) }));
            }
            SiteAction::Call { at } if at > now => drop(self.calls.insert(at)),
            SiteAction::Call { at } => {
                let at = to_seconds(at.micros());
                let now = to_seconds(now.micros());
                return Err(format!("asks to be called at {at} s, which is not later than {now} s"));
            }
        }
        Ok(())
    }

    /// True if a job has ended by itself and the program has not received that yet.
    fn has_unreported_end(&self, job: JobId) -> bool {
        self.happened.iter().any(|(_, happened)| {
            matches!(happened, SiteEvent::Ended { job: its, how, .. } if *its == job && *how != JobEnd::Killed)
        })
    }

    fn start(&mut self, now: Time, job: JobId, on: Option<NodeSet>) -> Result<SiteOrder, String> {
        let work = self.leave_queue(job, "starts")?;
        let ProgramJob { sender, nodes, walltime, runtime, losses } = work;
        let on = match on {
            None => {
                let mut free = self.free.clone();
                free.subtract(&self.down);
                let lowest = free.lowest(nodes);
                lowest
                    .ok_or_else(|| format!("starts job {} on {nodes} nodes, but only {} are free", job.0, free.len()))?
            }
            Some(on) => {
                let last = on.runs().last().map_or(0, |run| run.1);
                let has = self.nodes;
                if last >= has {
                    return Err(format!("starts job {} on node {last} of a site that has {has}", job.0));
                }
                if on.len() != nodes {
                    return Err(format!("starts job {} on {} nodes ({on}), but it requests {nodes}", job.0, on.len()));
                }
                if !self.free.contains(&on) {
                    let mut taken = on.clone();
                    taken.subtract(&self.free);
                    return Err(format!("starts job {} on {on}, of which other jobs have {taken}", job.0));
                }
                if on.meets(&self.down) {
                    let down = on.intersection(&self.down);
                    return Err(format!("starts job {} on {on}, of which {down} are down", job.0));
                }
                on
            }
        };
        self.free.subtract(&on);
        self.running.insert(job, RunningJobs { on: on.clone(), since: now, work });
        let loss = self.attempts.as_ref().map_or(Loss::default(), |attempts| attempts.starts(losses, nodes));
        let start = Start::on_whole_nodes(
            sender,
            only_task(job),
            now,
            On::These(on.into()),
            self.with_checkpoints(runtime, nodes),
        );
        Ok(SiteOrder::Start(Start {
            walltime: if self.decider.ends_at_walltimes() { Span::MAX } else { self.with_checkpoints(walltime, nodes) },
            // It may be killed at any time.
            ending: Ending::Timed,
            loss,
            rank: job.0.into(),
            ..start
        }))
    }

    /// Fraction of its work that a job has done.
    fn progress(&self, now: Time, runs: &RunningJobs) -> f64 {
        let takes = self.with_checkpoints(runs.work.runtime, runs.work.nodes);
        (now.since(runs.since).micros() as f64 / takes.micros() as f64).min(1.0)
    }

    /// Frees the nodes of a running job, of which the program knows that it has left them.
    fn leave_nodes(&mut self, job: JobId, does: &str) -> Result<ProgramJob, String> {
        let runs = self.running.remove(&job);
        let RunningJobs { on, work, .. } = runs.ok_or_else(|| format!("{does} job {}, which is not running", job.0))?;
        self.free.unite(&on);
        Ok(work)
    }

    fn leave_queue(&mut self, job: JobId, does: &str) -> Result<ProgramJob, String> {
        self.waiting.remove(&job).ok_or_else(|| {
            let why = if self.running.contains_key(&job) { "which runs already" } else { "which is not waiting here" };
            format!("{does} job {}, {why}", job.0)
        })
    }
}

impl Manager for ProgramManager {
    fn receive_message(
        &mut self,
        now: Time,
        sender: ActorId,
        message: Message,
        _: &Tasks,
        orders: &mut Vec<SiteOrder>,
    ) {
        match message {
            Message::Entrust(entrust) => self.take(now, sender, entrust),
            Message::Recall(Recall { task }) => {
                let losses = self.recall(now, sender, task.job);
                let recalled = Recalled { task, in_time: losses.is_some(), losses: losses.unwrap_or_default() };
                orders.push(SiteOrder::Send(sender, Message::Recalled(recalled)));
            }
            _ => {}
        }
    }

    fn task_ended(&mut self, now: Time, ended: &Running) {
        let job = ended.task.job;
        let Some(runs) = self.running.remove(&job) else { return };
        self.free.unite(&runs.on);
        let is_cut = runs.work.walltime < runs.work.runtime && !self.decider.ends_at_walltimes();
        let how = if is_cut { JobEnd::Walltime } else { JobEnd::Done };
        let progress = self.progress(now, &runs);
        self.happened.push((now, SiteEvent::Ended { job, how, on: runs.on, progress }));
    }

    /// Queues a lost job again, unless its sender decides.
    fn task_lost(&mut self, now: Time, lost: &Running, saved: Span) {
        let job = lost.task.job;
        let RunningJobs { on, work, .. } = self.running.remove(&job).expect("a lost job has run");
        self.free.unite(&on);
        let nodes = work.nodes;
        let walltime = left_of(work.walltime, saved);
        let runtime = left_of(work.runtime, saved);
        let waits = (!lost.loss.is_reported).then(|| {
            self.waiting.insert(job, ProgramJob { walltime, runtime, losses: work.losses.saturating_add(1), ..work });
            self.with_checkpoints(walltime, nodes)
        });
        self.happened.push((now, SiteEvent::Lost { job, on, waits, runtime: self.with_checkpoints(runtime, nodes) }));
    }

    fn are_down(&mut self, now: Time, down: &[Expected]) {
        self.down = NodeSet::default();
        down.iter().for_each(|one| self.down.unite(&one.nodes));
        self.idle_changes = if self.running.is_empty() { self.idle_changes + 1 } else { 0 };
        self.happened.push((now, SiteEvent::Nodes { down: down.to_vec() }));
    }

    /// False after `IDLE_CHANGES_MAX` changes of nodes without a running job, so that a program that never starts its
    /// jobs does not keep a run going while nodes fail and return.
    fn has_waiting(&self) -> bool {
        !self.waiting.is_empty() && self.idle_changes < IDLE_CHANGES_MAX
    }

    fn foresee(&mut self, until: Time) {
        self.decider.foresee(until);
    }

    /// Does nothing once the program has failed: the run is about to end.
    fn decide_orders(&mut self, now: Time, _: &Tasks, orders: &mut Vec<SiteOrder>) {
        if self.decider.has_failed() {
            return;
        }
        if let Err(why) = self.exchange_events(now, orders) {
            self.decider.refuse_answer(now, &why);
        }
    }

    /// [`Time::NEVER`] without jobs: a program cannot give orders then, even if events are reported to it.
    fn send_floor(&self, at: Time) -> Time {
        if self.waiting.is_empty() && self.running.is_empty() { Time::NEVER } else { at }
    }

    fn next_wake(&self) -> Option<Time> {
        if self.decider.has_failed() {
            return None;
        }
        let later = self.later.first_key_value().map(|(at, _)| *at);
        // No events are reported while it decides.
        let call = self.calls.first().map(|call| (*call).max(self.ready));
        let reports = (!self.happened.is_empty()).then_some(self.ready);
        later.into_iter().chain(call).chain(reports).min()
    }
}

fn only_task(job: JobId) -> TaskId {
    TaskId { job, index: 0 }
}
