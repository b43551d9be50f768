//! The meta-scheduler's treatment of reservations whose nodes fail.
//!
//! It learns of outages with the delay of news from their site, and then finds the reservations that they affect. A
//! task that may have started meanwhile cannot be moved without its site, so it is recalled, and the site answers if
//! that is in time. A lost task is reported by its site, which then drops it; but a shared site keeps the task's nodes
//! until it gets a new start or a release.

use super::meta::{AcceptedJob, AcceptedPhase, Cluster, MetaScheduler, Out};
use crate::grid::{Bookings, JobId, TaskId};
use crate::kernel::ActorId;
use crate::protocol::{Lost, Message, Outcome, Recall, Record, Release, Verdict};
use crate::roles::site::left_of;
use crate::time::{Span, Time};

impl MetaScheduler {
    /// Handles the news that have arrived by now: nodes that are down are blocked, and bookings on them are repaired.
    /// Without news this costs nothing; news of a site costs a scan of all live jobs, and of its outages.
    pub(super) fn apply_news(&mut self, now: Time, out: &mut Out) {
        self.awake_until = self.awake_until.filter(|until| *until > now);
        if now < self.news_at {
            return;
        }
        for number in self.failing.clone() {
            let cluster = &mut self.clusters[number];
            let outages = cluster.outages.as_mut().expect("it is watched");
            let Some(down) = outages.take_news(now) else { continue };
            cluster.book.block_down(now, down);
            let site = cluster.site;
            let is_shared = cluster.is_shared;
            let bookings = outages.recovery.bookings;
            let is_hit = |live: &AcceptedJob| match outages.expected_return(&live.nodes) {
                None => false,
                // Under this rule a job keeps its booking as long as some of its time is left.
                Some(back) if bookings == Bookings::Shorten => back >= live.end,
                Some(back) => back > live.start,
            };
            let here =
                self.live.iter().filter(|(_, live)| live.cluster == number && live.phase != AcceptedPhase::Returning);
            let hit: Vec<JobId> = here.filter(|(_, live)| is_hit(live)).map(|(job, _)| *job).collect();
            for job in hit {
                // A site that was asked knows of the job before its input arrives.
                let has_it = is_shared || self.live[&job].phase == AcceptedPhase::Given;
                match has_it {
                    true if self.recalls.contains_key(&(site, job)) => {}
                    true => self.recall(site, job, out),
                    false => self.handle_returned(now, job, out),
                }
            }
        }
        let views = self.failing.iter().filter_map(|number| self.clusters[*number].outages.as_ref());
        self.news_at = views.map(|outages| outages.next()).min().unwrap_or(Time::NEVER);
    }

    /// Recalls jobs that their sites still hold although their time is over: their nodes were down all the time, and
    /// the news of that came when they were back already, or while the site was asked for another booking of the job.
    pub(super) fn recall_overdue(&mut self, now: Time, out: &mut Out) {
        while let Some((at, job)) = self.overdue.first().copied().filter(|(at, _)| *at <= now) {
            self.overdue.remove(&(at, job));
            let Some(live) = self.live.get(&job).filter(|live| live.phase == AcceptedPhase::Given) else { continue };
            let Cluster { site, outages: Some(outages), .. } = &self.clusters[live.cluster] else { continue };
            if outages.certainly_reported_at(live.end) == at {
                self.recall(*site, job, out);
            }
        }
    }

    /// Sets a timer for the next news, as long as there are jobs that it may affect.
    pub(super) fn wake(&mut self, out: &mut Out) {
        let next = self.overdue.first().map_or(self.news_at, |(at, _)| self.news_at.min(*at));
        let next = Some(next).filter(|next| *next < Time::NEVER && self.awaits_anybody());
        if let Some(next) = next.filter(|next| self.awake_until.is_none_or(|until| *next < until)) {
            self.awake_until = Some(next);
            out.wake_at(next, 0);
        }
    }

    /// True if the end of any job may still be reported.
    fn awaits_anybody(&self) -> bool {
        if self.missing.is_empty() {
            !self.live.is_empty()
        } else {
            self.live.keys().any(|job| !self.missing.contains(job))
        }
    }

    /// Schedules a check for the end of a job: at a site whose nodes fail, it must be reported soon after its time.
    pub(super) fn await_end(&mut self, job: JobId) {
        let live = &self.live[&job];
        if let Some(outages) = &self.clusters[live.cluster].outages {
            self.overdue.insert((outages.certainly_reported_at(live.end), job));
        }
    }

    /// Recalls a task that may have started.
    pub(super) fn recall(&mut self, site: ActorId, job: JobId, out: &mut Out) {
        *self.recalls.entry((site, job)).or_default() += 1;
        out.send(site, Message::Recall(Recall { task: TaskId { job, index: 0 } }));
    }

    /// Handles the loss of a running task.
    pub(super) fn handle_loss(&mut self, now: Time, from: ActorId, lost: Lost, out: &mut Out) {
        let job = lost.task.job;
        let Some(live) = self
            .live
            .get_mut(&job)
            .filter(|live| self.clusters[live.cluster].site == from && live.phase == AcceptedPhase::Given)
        else {
            return;
        };
        let cluster = &self.clusters[live.cluster];
        // A site without failing nodes that reports a loss is not honest.
        let Some(outages) = &cluster.outages else { return };
        live.losses += 1;
        live.saved = live.saved + cluster.speed.work(lost.saved);
        let back = outages.expected_return(&live.nodes).unwrap_or(Time::ZERO).max(now + cluster.latency);
        let again = outages.recovery.tries_again(live.losses);
        let bookings = if again { outages.recovery.bookings } else { Bookings::Break };
        if bookings == Bookings::Shorten && back < live.end {
            return self.hold(now, job, back, out);
        }
        let live = self.live.remove(&job).expect("it is live");
        self.free_rest(now, &live);
        if self.clusters[live.cluster].is_shared {
            // It has kept the nodes.
            out.send(from, Message::Release(Release { task: lost.task }));
        }
        let left = if bookings == Bookings::Move { self.move_on(now, job, live, out) } else { Some(live) };
        if let Some(live) = left {
            self.break_promise(job, &live, out);
        }
    }

    /// Handles a task that has not started because its nodes are down, and that its site has given back.
    pub(super) fn handle_returned(&mut self, now: Time, job: JobId, out: &mut Out) {
        let live = self.live.remove(&job).expect("it is live");
        self.free_rest(now, &live);
        let outages = self.clusters[live.cluster].outages.as_ref();
        let moves = outages.is_some_and(|outages| outages.recovery.bookings == Bookings::Move);
        let left = if moves { self.move_on(now, job, live, out) } else { Some(live) };
        if let Some(live) = left {
            self.break_promise(job, &live, out);
        }
    }

    /// Breaks the promise of a reservation, and compensates its user.
    pub(super) fn break_promise(&self, job: JobId, live: &AcceptedJob, out: &mut Out) {
        if self.has_failed() {
            return;
        }
        if live.losses == 0 {
            out.log(Record::Withdrawn { task: TaskId { job, index: 0 } });
        }
        let outages = self.clusters[live.cluster].outages.as_ref().expect("nodes of it have failed");
        let compensation = outages.recovery.compensation(live.request.area());
        out.log(Record::Broken { job, compensation });
        out.log(Record::Removed { job });
        out.send(live.user, Message::Outcome(Outcome { job, verdict: Verdict::Removed }));
    }
}

impl AcceptedJob {
    /// Part of a span of its work that has not been saved.
    pub(super) fn unsaved_part(&self, all: Span) -> Span {
        if self.saved.is_zero() { all } else { left_of(all, self.saved) }
    }
}
