//! Planner of a user whose decisions an external program makes: the time and the site of each submission, and recalls.
//!
//! The program learns of a job when it is due: at its arrival in the workload, or a think time after the end of the job
//! that it follows. Messages to systems without queues are sent at their times in the workload.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::CheckedProgram;
use crate::grid::{Job, JobId, TaskId};
use crate::kernel::ActorId;
use crate::protocol::outside::planner::{UserAction, UserEvent};
use crate::protocol::outside::to_seconds;
use crate::protocol::{Enqueue, JobEnded, Message, Recall, Recalled};
use crate::roles::user::{Followers, Out, Planner, Script};
use crate::time::{Span, Time};

/// Connection to a program that decides for a user.
pub trait Plans: CheckedProgram {
    /// Actions in reaction to events. None once the program has failed.
    fn plan_actions(&mut self, now: Time, events: &[UserEvent]) -> Vec<UserAction>;
}

/// Sites that a program may choose, by name.
pub type SiteNames = BTreeMap<String, ActorId>;

pub struct PlannedUser {
    decider: Box<dyn Plans>,
    /// Messages that are not jobs for a queue.
    script: Script,
    sites: SiteNames,
    /// Jobs by due time.
    due: BTreeMap<Time, Vec<(ActorId, Enqueue)>>,
    /// Jobs that follow others.
    then: Vec<Followers>,
    /// Jobs held by the user.
    held: BTreeMap<JobId, HeldJob>,
    /// Submitted jobs that have not ended.
    out: BTreeMap<JobId, HeldJob>,
    calls: BTreeSet<Time>,
    events: Vec<UserEvent>,
    /// Times of the timers that are set.
    timers: BTreeSet<Time>,
}

struct HeldJob {
    to: ActorId,
    enqueue: Enqueue,
    /// True if it has been submitted before, so that it keeps its arrival.
    is_known: bool,
}

impl PlannedUser {
    pub fn new(
        decider: Box<dyn Plans>,
        script: Script,
        jobs: Vec<(Time, ActorId, Enqueue)>,
        then: Vec<Followers>,
        sites: SiteNames,
    ) -> PlannedUser {
        let mut due: BTreeMap<Time, Vec<(ActorId, Enqueue)>> = BTreeMap::new();
        for (at, to, enqueue) in jobs {
            due.entry(at).or_default().push((to, enqueue));
        }
        PlannedUser {
            decider,
            script,
            sites,
            due,
            then,
            held: BTreeMap::new(),
            out: BTreeMap::new(),
            calls: BTreeSet::new(),
            events: Vec::new(),
            timers: BTreeSet::new(),
        }
    }

    fn carry_out(&mut self, now: Time, plan: UserAction, out: &mut Out) -> Result<(), String> {
        match plan {
            UserAction::Submit { job, site } => {
                let pinned = site.map(|name| {
                    let known = self.sites.get(&name).copied();
                    known.ok_or_else(|| {
                        format!("submits job {} to the site {name:?}, which is not one of the sites", job.0)
                    })
                });
                let pinned = pinned.transpose()?;
                let mut held = self.held.remove(&job).ok_or_else(|| {
                    let where_it_is =
                        if self.out.contains_key(&job) { "has been submitted already" } else { "is not its own" };
                    format!("submits job {}, which {where_it_is}", job.0)
                })?;
                if !held.is_known {
                    let job = Job { arrive: now, ..(*held.enqueue.job).clone() };
                    held.enqueue.job = Arc::new(job);
                    held.is_known = true;
                }
                // Its end is reported at once, as the program has no think time.
                let think = Some(Span::ZERO);
                let enqueue = Enqueue { site: pinned.or(held.enqueue.site), think, ..held.enqueue.clone() };
                out.send(held.to, Message::Enqueue(enqueue));
                self.out.insert(job, held);
            }
            UserAction::Recall { job } => {
                let held = self.out.get(&job);
                let held = held.ok_or_else(|| format!("recalls job {}, which has not been submitted", job.0))?;
                out.send(held.to, Message::Recall(Recall { task: TaskId { job, index: 0 } }));
            }
            UserAction::Call { at } if at > now => drop(self.calls.insert(at)),
            UserAction::Call { at } => {
                let [at, now] = [at, now].map(|time| to_seconds(time.micros()));
                return Err(format!("asks to be called at {at} s, which is not later than {now} s"));
            }
        }
        Ok(())
    }

    fn take_due_jobs(&mut self, now: Time) {
        while let Some(first) = self.due.first_entry().filter(|first| *first.key() <= now) {
            for (to, enqueue) in first.remove() {
                let task = enqueue.job.tasks[0];
                let job = enqueue.job.id;
                let site = enqueue
                    .site
                    .and_then(|site| self.sites.iter().find_map(|(name, id)| (*id == site).then(|| name.clone())));
                self.events.push(UserEvent::Due { job, nodes: task.cores, walltime: task.walltime, site });
                self.held.insert(job, HeldJob { to, enqueue, is_known: false });
            }
        }
        while let Some(call) = self.calls.first().copied().filter(|call| *call <= now) {
            self.calls.remove(&call);
            self.events.push(UserEvent::Called);
        }
    }
}

impl Planner for PlannedUser {
    fn handle_timer(&mut self, now: Time, out: &mut Out) {
        self.script.handle_timer(now, out);
    }

    fn receive_message(&mut self, now: Time, _: ActorId, message: Message, _: &mut Out) {
        match message {
            Message::JobEnded(JobEnded { job, .. }) if self.out.remove(&job).is_some() => {
                self.events.push(UserEvent::Over { job });
                for (think, to, message) in self.then.iter_mut().flat_map(|then| then.take(job)) {
                    if let Message::Enqueue(enqueue) = message {
                        self.due.entry(now + think).or_default().push((to, enqueue));
                    }
                }
            }
            Message::Recalled(Recalled { task: TaskId { job, .. }, in_time, .. }) => {
                if in_time && let Some(held) = self.out.remove(&job) {
                    self.held.insert(job, held);
                }
                self.events.push(UserEvent::Recalled { job, in_time });
            }
            _ => {}
        }
    }

    fn decide_submissions(&mut self, now: Time, out: &mut Out) {
        self.take_due_jobs(now);
        if self.decider.has_failed() {
            return;
        }
        if !self.events.is_empty() {
            let events = std::mem::take(&mut self.events);
            for plan in self.decider.plan_actions(now, &events) {
                if let Err(why) = self.carry_out(now, plan, out) {
                    return self.decider.refuse_answer(now, &why);
                }
            }
        }
        self.timers.retain(|timer| *timer > now);
        let due = self.due.first_key_value().map(|(at, _)| *at);
        if let Some(next) = due.into_iter().chain(self.calls.first().copied()).min()
            && self.timers.insert(next)
        {
            out.wake_at(next, 0);
        }
    }
}
