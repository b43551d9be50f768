//! A user that negotiates with sites itself: it plans, asks, books and submits, each job by a strategy, and without any
//! process at the hub.
//!
//! This file holds the part that all strategies share: the calendar of jobs, and the course of each (`run.rs`). A
//! strategy acts through a `JobContext` (`job_context.rs`), and its open actions record the answers that sites owe
//! (`pending.rs`). As the system has no service, the user itself logs what becomes of its jobs.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::job_context::{ALARM_RANK, Alarm, JobContext, LAST_RANK, OpenActions, alarm_rank};
use super::pending::{PendingKey, PendingReply};
use super::rules::Provisioning;
use super::run::{Assignment, Run};
use super::strategy::{self, Strategy};
use super::world::World;
use crate::grid::{Approach, BookingId, Crash, Denial, Job, JobId, Part, Receipt, TaskId};
use crate::kernel::ActorId;
use crate::protocol::{
    Begun, Concluded, Coordinated, Ended, Fault, HoldStep, Landed, Lost, Message, PledgeAnswer, Postponed, Query,
    Recalled, Record, Returned, Revoked,
};
use crate::roles::{Out, Planner};
use crate::systems::NegotiatedJob;
use crate::time::{Span, Time};

/// Number of jobs of the calendar that a user asks about ahead of their submission.
const JOBS_AHEAD: usize = 64;

pub struct Customer {
    id: ActorId,
    /// Seed of the run.
    seed: u64,
    world: World,
    rules: Provisioning,
    approach: Approach,
    row: &'static strategy::StrategyRow,
    /// Jobs to come, ascending by arrival.
    negotiated: VecDeque<NegotiatedJob>,
    /// Jobs that follow another one.
    followers: BTreeMap<JobId, Vec<(Span, NegotiatedJob)>>,
    live: BTreeMap<JobId, CustomerJob>,
    open_actions: OpenActions,
    /// True while its process is down. Messages and alarms wait in `spool` and `late` meanwhile: sites keep results
    /// until they are fetched.
    is_down: bool,
    spool: Vec<(ActorId, Message)>,
    late: Vec<Alarm>,
    /// Tasks without open dependencies, kept until all messages of the moment have been handled.
    ready: Vec<(JobId, u32)>,
    has_begun: bool,
    /// True if its questions about jobs to come follow from its calendar alone, so that it sends them ahead.
    asks_ahead: bool,
    /// It has logged that a site breaks its contract. All later messages are ignored.
    has_accused: bool,
}

struct CustomerJob {
    run: Run,
    pinned: Option<usize>,
    strategy: Box<dyn Strategy>,
    /// Ends of its bookings at providers that take the rest of a booking back.
    ends: BTreeMap<(usize, BookingId), Time>,
    /// A task of the job is lost for good. The job is given up as soon as none of its tasks is at a site.
    is_doomed: bool,
}

impl Customer {
    pub fn new(
        (id, seed): (ActorId, u64),
        world: World,
        rules: Provisioning,
        approach: Approach,
        row: &'static strategy::StrategyRow,
        mut negotiated: Vec<NegotiatedJob>,
    ) -> Customer {
        let mut followers: BTreeMap<JobId, Vec<(Span, NegotiatedJob)>> = BTreeMap::new();
        for next in negotiated.extract_if(.., |next| next.after.is_some()) {
            let (before, think) = next.after.expect("it comes after another one");
            followers.entry(before).or_default().push((think, next));
        }
        negotiated.sort_by_key(|next| (next.job.arrive, next.job.id));
        let asks_ahead = row.name == strategy::USUAL
            && approach.crash.is_none()
            && followers.is_empty()
            && world.providers.iter().all(|provider| !provider.latency.is_zero())
            && negotiated.iter().all(|next| next.job.tasks.len() == 1);
        Customer {
            id,
            seed,
            world,
            rules,
            approach,
            row,
            negotiated: negotiated.into(),
            followers,
            live: BTreeMap::new(),
            open_actions: OpenActions::default(),
            is_down: false,
            spool: Vec::new(),
            late: Vec::new(),
            ready: Vec::new(),
            has_begun: false,
            asks_ahead,
            has_accused: false,
        }
    }

    /// Takes up all jobs whose submission time has come, and sets the timers for the next ones.
    fn keep_calendar(&mut self, now: Time, out: &mut Out) {
        self.begin_due_negotiations(now, out);
        self.plan_calendar(out);
    }

    fn begin_due_negotiations(&mut self, now: Time, out: &mut Out) {
        while let Some(next) = self.negotiated.pop_front_if(|next| next.job.arrive <= now) {
            self.begin_negotiation(now, next, out);
        }
    }

    /// Sets timers for the next jobs of the calendar.
    ///
    /// The questions about some jobs follow from the calendar alone. They are sent ahead, stamped with the submission,
    /// and the timer is quiet, so that the run does not wait for each submission. The first other one has an alarm,
    /// after which this is called again.
    fn plan_calendar(&mut self, out: &mut Out) {
        let mut planned = 0;
        while let Some(first) = self.negotiated.get(planned) {
            let arrive = first.job.arrive;
            let count = self.negotiated.range(planned..).take_while(|next| next.job.arrive == arrive).count();
            let together = self.negotiated.range(planned..planned + count);
            let rounds: Option<Vec<_>> = together.map(|next| self.foresee_round(next)).collect();
            let Some(rounds) = rounds.filter(|_| planned < JOBS_AHEAD) else {
                return self.open_actions.wake_at(arrive, Alarm::Calendar, out);
            };
            let rank = out.set_rank(ALARM_RANK);
            for (next, round) in self.negotiated.range(planned..).zip(rounds) {
                let numbers = self.open_actions.send_queries(arrive, next.job.id, &round, &self.world, out);
                self.open_actions.ahead.insert(next.job.id, numbers);
            }
            out.set_rank(rank);
            out.wake_quietly_at(arrive, 0);
            planned += count;
        }
    }

    /// The questions that a job begins with, if they follow from the calendar alone. A job without a choice of sites
    /// has none: it is sent or refused when it is submitted.
    fn foresee_round(&self, next: &NegotiatedJob) -> Option<Vec<(usize, Query)>> {
        let pinned = next.site.and_then(|site| self.world.provider_of(site));
        let providers = self.world.fitting_providers(next.job.tasks.first()?, pinned);
        let round: Vec<_> = providers.map(|provider| (provider, Query::Load)).collect();
        (self.asks_ahead && round.len() > 1).then_some(round)
    }

    fn begin_negotiation(&mut self, now: Time, next: NegotiatedJob, out: &mut Out) {
        let NegotiatedJob { job, site, .. } = next;
        let pinned = site.and_then(|site| self.world.provider_of(site));
        let id = job.id;
        let user = self.id;
        if let Some(why) = self.world.excludes(&job, pinned) {
            out.log(Record::Rejected { job: job.clone(), user, why });
            return self.follow(now, id, out);
        }
        out.log(Record::Arrived { job: job.clone(), user });
        let strategy = (self.row.build)(&self.approach);
        self.live
            .insert(id, CustomerJob { run: Run::new(job), pinned, strategy, ends: BTreeMap::new(), is_doomed: false });
        self.act_on_job(now, id, out, |strategy, context| strategy.begin_job(context));
    }

    /// Schedules the jobs that follow a job that is over.
    fn follow(&mut self, now: Time, over: JobId, out: &mut Out) {
        let Some(followers) = self.followers.get(&over) else { return };
        for (think, _) in followers {
            self.open_actions.wake_at(now + *think, Alarm::Follows(over), out);
        }
    }

    fn follows(&mut self, now: Time, over: JobId, out: &mut Out) {
        // Each alarm is for one of the followers; the soonest comes first.
        let Some(followers) = self.followers.get_mut(&over) else { return };
        let soonest = (0..followers.len()).min_by_key(|at| (followers[*at].0, *at)).expect("there is one left");
        let (_, next) = followers.remove(soonest);
        if followers.is_empty() {
            self.followers.remove(&over);
        }
        let job = Arc::new(Job { arrive: now, ..(*next.job).clone() });
        self.begin_negotiation(now, NegotiatedJob { job, ..next }, out);
    }

    /// Lets the strategy of a job act, if the job is live.
    fn act_on_job(
        &mut self,
        now: Time,
        job: JobId,
        out: &mut Out,
        act: impl FnOnce(&mut dyn Strategy, &mut JobContext<'_>),
    ) {
        let Customer { world, rules, approach, open_actions, live, seed, followers, .. } = self;
        let Some(CustomerJob { run, pinned, strategy, is_doomed: false, .. }) = live.get_mut(&job) else { return };
        let is_followed = followers.contains_key(&job);
        let mut context = JobContext {
            now,
            run,
            world,
            rules,
            approach,
            pinned: *pinned,
            seed: *seed,
            is_followed,
            open_actions,
            out,
        };
        act(strategy.as_mut(), &mut context);
        while let Some(job) = self.open_actions.given_up.pop() {
            self.live.remove(&job);
            self.follow(now, job, out);
        }
    }

    /// All state outside the log is lost: the open questions, the alarms of strategies, and the response times.
    fn crash(&mut self, now: Time, out: &mut Out) {
        self.is_down = true;
        self.open_actions.pending.forget();
        self.open_actions.lags.clear();
        for alarms in self.open_actions.alarms.values_mut() {
            alarms.all.retain(|alarm| !matches!(alarm, Alarm::Strategy(..)));
        }
        for live in self.live.values_mut() {
            live.strategy.crash_process();
            live.ends.clear();
        }
        let lasts = self.approach.crash.map_or(Span::ZERO, |crash| crash.lasts);
        self.open_actions.wake_at(now + lasts, Alarm::Back, out);
    }

    fn restart_process(&mut self, now: Time, out: &mut Out) {
        self.is_down = false;
        let jobs: Vec<JobId> = self.live.keys().copied().collect();
        for job in jobs {
            self.act_on_job(now, job, out, |strategy, context| strategy.recover_process(context));
        }
        for (from, message) in std::mem::take(&mut self.spool) {
            self.receive_message(now, from, message, out);
        }
        // Jobs and data that arrived during the outage.
        let late = self.open_actions.alarms.entry(now).or_default();
        late.all.append(&mut self.late);
    }

    /// A task is lost for good, so the other tasks of its job are useless.
    fn handle_loss(&mut self, now: Time, task: TaskId, out: &mut Out) {
        let Some(live) = self.live.get_mut(&task.job) else { return };
        live.run.record_loss(task.index);
        self.act_on_job(now, task.job, out, |_, context| {
            context.run.at_sites().into_iter().for_each(|other| context.recall(other));
        });
        self.live.entry(task.job).and_modify(|live| live.is_doomed = true);
        self.give_up_lost_job(now, task.job, out);
    }

    /// Gives up a job with a lost task, and all its bookings, if none of its tasks is at a site any more.
    fn give_up_lost_job(&mut self, now: Time, job: JobId, out: &mut Out) {
        let Some(live) = self.live.get_mut(&job).filter(|live| live.is_doomed && live.run.at_sites().is_empty()) else {
            return;
        };
        live.is_doomed = false;
        // Rests of bookings whose tasks have ended.
        let rests: Vec<_> = live
            .ends
            .iter()
            .filter(|(its, end)| now + self.world.providers[its.0].latency < **end)
            .map(|(its, _)| *its)
            .collect();
        self.act_on_job(now, job, out, |strategy, context| {
            let mut unused: Vec<_> = context.run.unused().into_iter().chain(strategy.spare_booking()).collect();
            let rests = rests.into_iter().filter(|its| !unused.contains(its)).collect::<Vec<_>>();
            unused.extend(rests);
            unused.into_iter().for_each(|(provider, booking)| context.give_back(provider, booking));
            strategy.abandon_job(context);
            context.give_up();
        });
    }

    /// Returns bookings claimed for a job that has been given up or is about to be.
    fn return_late_claim(
        &mut self,
        now: Time,
        job: JobId,
        number: usize,
        result: Result<Vec<Receipt>, Denial>,
        out: &mut Out,
    ) {
        let provider = (number, &self.world.providers[number]);
        for receipt in result.unwrap_or_default() {
            self.open_actions.give_back(now, provider, job, receipt.booking, out);
        }
    }

    fn handle_end(&mut self, now: Time, task: TaskId, out: &mut Out) {
        if let Some(live) = self.live.get_mut(&task.job).filter(|live| live.is_doomed) {
            live.run.record_end(task.index);
            return self.give_up_lost_job(now, task.job, out);
        }
        let mut freed = Vec::new();
        self.act_on_job(now, task.job, out, |_, context| {
            let Some((transfers, next)) = context.run.record_end(task.index) else { return };
            context.ship(transfers);
            freed = next;
        });
        self.hand_back(now, task, out);
        for next in freed {
            self.act_on_job(now, task.job, out, |_, context| context.enter(next));
            self.ready.push((task.job, next));
        }
        if self.live.get(&task.job).is_some_and(|live| live.run.is_over()) {
            self.act_on_job(now, task.job, out, |strategy, context| {
                strategy
                    .spare_booking()
                    .into_iter()
                    .for_each(|(provider, booking)| context.give_back(provider, booking));
            });
            out.log(Record::Completed { job: task.job, value: None });
            self.live.remove(&task.job);
            self.follow(now, task.job, out);
        }
    }

    /// Records bookings that can be handed back before their end.
    fn note_bookings(&mut self, job: JobId, provider: usize, booked: impl Iterator<Item = (BookingId, Part)>) {
        if self.world.providers[provider].takes_back
            && let Some(live) = self.live.get_mut(&job)
        {
            live.ends.extend(booked.map(|(booking, part)| ((provider, booking), part.end())));
        }
    }

    /// Hands back the rests of the bookings of a task that has ended, if no other task is to use them, and the message
    /// arrives before they are over.
    fn hand_back(&mut self, now: Time, task: TaskId, out: &mut Out) {
        let Some(live) = self.live.get_mut(&task.job).filter(|live| !live.ends.is_empty()) else { return };
        let Some(Assignment { provider, within, .. }) = live.run.assignment(task.index) else { return };
        let way = self.world.providers[*provider].latency;
        let spare: Vec<(usize, BookingId)> = within
            .iter()
            .map(|(booking, _)| (*provider, *booking))
            .filter(|its| live.ends.get(its).is_some_and(|end| now + way < *end) && !live.run.is_wanted(*its))
            .collect();
        spare.iter().for_each(|its| _ = live.ends.remove(its));
        self.act_on_job(now, task.job, out, |_, context| {
            spare.into_iter().for_each(|(provider, booking)| context.give_back(provider, booking));
        });
    }

    /// Handles a message of a site. A message that no honest site sends is a fault of the site.
    fn take_message(&mut self, now: Time, provider: usize, message: Message, out: &mut Out) -> Result<(), Fault> {
        match message {
            Message::Lost(Lost { task, .. }) => {
                let Some(live) = self.live.get(&task.job) else { return Ok(()) };
                if !self.world.providers[provider].fails() || !live.run.is_at(task.index, provider) {
                    return Err(Fault::Unasked);
                }
                self.handle_loss(now, task, out);
            }
            Message::Revoked(_) | Message::Postponed(_) if !self.world.providers[provider].fails() => {
                return Err(Fault::Unasked);
            }
            Message::Revoked(Revoked { job, booking }) => {
                self.live.entry(job).and_modify(|live| _ = live.ends.remove(&(provider, booking)));
                self.act_on_job(now, job, out, |strategy, context| strategy.booking_revoked(booking, context));
            }
            Message::Postponed(Postponed { job, receipt }) => {
                self.note_bookings(job, provider, [(receipt.booking, receipt.part)].into_iter());
                self.act_on_job(now, job, out, |strategy, context| strategy.booking_postponed(receipt, context));
            }
            Message::Begun(Begun { task }) => {
                let Some(live) = self.live.get_mut(&task.job) else { return Ok(()) };
                if !live.run.begun(task.index, provider) {
                    return Err(Fault::Unasked);
                }
                self.act_on_job(now, task.job, out, |strategy, context| strategy.task_begun(task.index, context));
            }
            Message::Ended(Ended { task, .. }) => {
                let Some(live) = self.live.get(&task.job) else { return Ok(()) };
                if !live.run.is_at(task.index, provider) {
                    return Err(Fault::Unasked);
                }
                self.handle_end(now, task, out);
            }
            // Only the end of a task from which nothing follows may be reported so.
            Message::Concluded(Concluded { task }) => {
                let Some(live) = self.live.get(&task.job) else { return Ok(()) };
                if !live.run.is_at(task.index, provider) || !live.run.ends_quietly(task.index) {
                    return Err(Fault::Unasked);
                }
                self.handle_end(now, task, out);
            }
            // The site has announced its longest run time and its number of processors.
            Message::Barred(_) => return Err(Fault::Unwilling),
            answer => return self.handle_answer(now, provider, answer, out),
        }
        Ok(())
    }

    /// Handles an answer to a request of the user.
    fn handle_answer(&mut self, now: Time, provider: usize, answer: Message, out: &mut Out) -> Result<(), Fault> {
        match answer {
            Message::Informed(informed) => {
                let pending = self.open_actions.settle_reply(now, PendingKey::Answer(provider, informed.number));
                let Some((job, asked)) = self.check_asked(pending)? else { return Ok(()) };
                asked.is_answered_by(&informed, &self.world.providers[provider])?;
                self.act_on_job(now, job, out, |strategy, context| {
                    strategy.receive_reply(informed.number, provider, informed.reply, context);
                });
            }
            Message::Claimed(claimed) => {
                let pending = self.open_actions.settle_reply(now, PendingKey::Answer(provider, claimed.number));
                let Some((job, asked)) = self.check_asked(pending)? else { return Ok(()) };
                asked.is_granted_by(&claimed.result, &self.world.providers[provider])?;
                if self.live.get(&job).is_none_or(|live| live.is_doomed) {
                    self.return_late_claim(now, job, provider, claimed.result, out);
                    return Ok(());
                }
                let receipts = claimed.result.iter().flatten();
                self.note_bookings(job, provider, receipts.map(|receipt| (receipt.booking, receipt.part)));
                self.act_on_job(now, job, out, |strategy, context| {
                    strategy.receive_claim_result(claimed.number, provider, claimed.result, context);
                });
            }
            Message::Coordinated(Coordinated { hold, answer }) => {
                let pending = self
                    .open_actions
                    .settle_reply(now, PendingKey::Pledge(provider, hold, HoldStep::of_answer(&answer)));
                let Some((job, _)) = self.check_asked(pending)? else { return Ok(()) };
                if let PledgeAnswer::Committed { booking, part } = answer {
                    self.note_bookings(job, provider, [(booking, part)].into_iter());
                }
                self.act_on_job(now, job, out, |strategy, context| {
                    strategy.receive_pledge_answer(hold, answer, context)
                });
            }
            Message::Returned(Returned { booking, result }) => {
                let pending = self.open_actions.settle_reply(now, PendingKey::Return(provider, booking));
                let Some((job, _)) = self.check_asked(pending)? else { return Ok(()) };
                self.act_on_job(now, job, out, |strategy, context| {
                    strategy.receive_return_result(booking, provider, result, context)
                });
            }
            Message::Recalled(recalled) => {
                let pending = self.open_actions.settle_reply(now, PendingKey::Recall(provider, recalled.task));
                self.check_asked(pending)?;
                self.handle_recalled(now, provider, recalled, out)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn handle_recalled(&mut self, now: Time, provider: usize, recalled: Recalled, out: &mut Out) -> Result<(), Fault> {
        let Recalled { task, in_time, losses } = recalled;
        let Some(live) = self.live.get_mut(&task.job).filter(|live| live.run.is_at(task.index, provider)) else {
            return Ok(());
        };
        let before = live.run.losses(task.index);
        let fails = self.world.providers[provider].fails();
        if in_time && (losses < before || losses > before && !fails) {
            return Err(Fault::Senseless);
        }
        if in_time {
            // The bookings of a job that is given up are still to be returned.
            if live.is_doomed {
                live.run.record_loss(task.index)
            } else {
                live.run.record_withdrawal(task.index, losses)
            }
            out.log(Record::Withdrawn { task });
        }
        self.act_on_job(now, task.job, out, |strategy, context| strategy.task_recalled(task.index, in_time, context));
        self.give_up_lost_job(now, task.job, out);
        Ok(())
    }

    /// Returns an answer's request; a fault if there is none. A user whose process may crash does not know its requests
    /// from before a crash, so None is no fault then.
    fn check_asked(&self, pending: Option<PendingReply>) -> Result<Option<PendingReply>, Fault> {
        if pending.is_none() && self.approach.crash.is_none() { Err(Fault::Unasked) } else { Ok(pending) }
    }

    fn accuse(&mut self, provider: usize, fault: Fault, out: &mut Out) {
        self.has_accused = true;
        out.log(Record::Accused { site: self.world.providers[provider].site, fault });
    }

    /// Orders tasks that become ready at the same time: by job, and within a job in HEFT order.
    fn in_turn(&mut self, ready: Vec<(JobId, u32)>) -> Vec<(JobId, u32)> {
        let mut jobs: BTreeMap<JobId, Vec<u32>> = BTreeMap::new();
        ready.into_iter().for_each(|(job, task)| jobs.entry(job).or_default().push(task));
        let Customer { world, live, .. } = self;
        let mut order = Vec::new();
        for (job, mut tasks) in jobs {
            if let Some(CustomerJob { run, .. }) = live.get_mut(&job) {
                run.by_rank(&mut tasks, world);
                order.extend(tasks.into_iter().map(|task| (job, task)));
            }
        }
        order
    }

    fn handle_arrival(&mut self, now: Time, task: TaskId, out: &mut Out) {
        self.act_on_job(now, task.job, out, |_, context| {
            context.run.record_arrival(task.index);
            context.enter(task.index);
        });
    }
}

impl Planner for Customer {
    fn handle_timer(&mut self, now: Time, out: &mut Out) {
        if self.has_accused {
            return;
        }
        if let Some(provider) = self.open_actions.pending.find_overdue(now, out) {
            return self.accuse(provider, Fault::Silent, out);
        }
        if !std::mem::replace(&mut self.has_begun, true) {
            self.keep_calendar(now, out);
            if let Some(Crash { at, .. }) = self.approach.crash {
                self.open_actions.wake_at(Time::ZERO + at, Alarm::Crash, out);
            }
        }
        // The first one is due with all of its time, which has no other alarm.
        if self.negotiated.front().is_some_and(|next| self.open_actions.ahead.contains_key(&next.job.id)) {
            self.begin_due_negotiations(now, out);
        }
        while let Some(due) = self.open_actions.alarms.first_entry().filter(|due| *due.key() <= now) {
            let due = due.remove();
            for (index, alarm) in due.all.into_iter().enumerate() {
                if due.has_ahead {
                    out.set_rank(alarm_rank(index));
                }
                match alarm {
                    Alarm::Crash => self.crash(now, out),
                    Alarm::Back => self.restart_process(now, out),
                    _ if self.is_down => self.late.push(alarm),
                    Alarm::Calendar => self.keep_calendar(now, out),
                    Alarm::Follows(over) => self.follows(now, over, out),
                    Alarm::Arrived(task) => self.handle_arrival(now, task, out),
                    Alarm::Strategy(job, token) => {
                        self.act_on_job(now, job, out, |strategy, context| strategy.timer_due(token, context));
                    }
                }
            }
            if due.has_ahead {
                out.set_rank(LAST_RANK);
            }
        }
    }

    fn receive_message(&mut self, now: Time, from: ActorId, message: Message, out: &mut Out) {
        if self.has_accused {
            return;
        }
        if self.is_down {
            if survives_crash(&message) {
                self.spool.push((from, message));
            }
            return;
        }
        if let Message::Landed(Landed { load }) = message {
            let task = if self.world.is_exchange(from) { self.open_actions.loads.remove(&load) } else { None };
            return task.into_iter().for_each(|task| self.handle_arrival(now, task, out));
        }
        let Some(provider) = self.world.provider_of(from) else { return };
        if let Err(fault) = self.take_message(now, provider, message, out) {
            self.accuse(provider, fault, out);
        }
    }

    fn decide_submissions(&mut self, now: Time, out: &mut Out) {
        let ready = std::mem::take(&mut self.ready);
        if self.has_accused {
            return;
        }
        for (job, task) in self.in_turn(ready) {
            self.act_on_job(now, job, out, |strategy, context| {
                if context.run.assignment(task).is_none() {
                    strategy.task_ready(task, context);
                }
            });
        }
        self.open_actions.sent.end_instant();
    }
}

fn survives_crash(message: &Message) -> bool {
    matches!(
        message,
        Message::Ended(_)
            | Message::Concluded(_)
            | Message::Landed(_)
            | Message::Barred(_)
            | Message::Lost(_)
            | Message::Revoked(_)
            | Message::Recalled(_)
    )
}
