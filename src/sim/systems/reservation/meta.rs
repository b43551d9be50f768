//! The meta-scheduler at the router: one book per cluster; it answers requests of users, and passes accepted jobs to
//! sites.
//!
//! The input of a job is sent when its request is accepted, and no start is booked before the input could arrive
//! without other traffic. If traffic delays it further, the nodes stay booked and idle, and the job has the rest of its
//! time; if none is left, it is given up. Its output is sent back when it has ended, and then it is complete.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, btree_map};

use super::allocating::Allocates;
use super::asking::{AskedRequest, Search};
use super::book::{ClusterBook, Offer};
use super::moving::Moving;
use super::outage_view::OutageView;
use super::rules::{Choose, ShapeRule};
use super::shapes::WantedJob;
use crate::grid::{Invalid, JobId, JobShape, NodeSet, Request, Speed, Staging, TaskId};
use crate::kernel::{Actor, ActorId, Cause, Event, Outbox};
use crate::network::{Staged, Stager};
use crate::protocol::{
    Answered, Cancel, Ended, Hold, Message, Outcome, Provided, Recall, Recalled, Record, Reserve, ReserveAnswer,
    Verdict, Withdraw,
};
use crate::time::{Span, Stamp, Time};

pub struct MetaScheduler {
    pub(super) clusters: Vec<Cluster>,
    pub(super) choose: Choose,
    pub(super) shape_rule: ShapeRule,
    /// The external program that chooses, instead of the policy of the books.
    pub(super) allocator: Option<Box<dyn Allocates>>,
    /// Scratch buffer for the bounds of clusters.
    bounds: Vec<Reverse<OfferKey>>,
    /// Accepted jobs that have neither ended nor been cancelled.
    pub(super) live: BTreeMap<JobId, AcceptedJob>,
    /// Requests that a shared site has been asked for and has not answered.
    pub(super) asked: BTreeMap<JobId, AskedRequest>,
    /// Accepted jobs whose nodes have failed, with a site that has been asked for them and has not answered.
    pub(super) moving: BTreeMap<JobId, Moving>,
    seen: BTreeSet<JobId>,
    /// Data staging; None without links.
    pub(super) stager: Option<Stager>,
    /// Sites that may react to any message at once.
    prompt: BTreeSet<ActorId>,
    /// Number of unanswered recalls by site and job.
    pub(super) recalls: BTreeMap<(ActorId, JobId), u32>,
    /// Clusters whose nodes fail.
    pub(super) failing: Vec<usize>,
    /// Time of the next news of any failing cluster.
    pub(super) news_at: Time,
    /// Times by which the ends of the jobs at these clusters must have been reported.
    pub(super) overdue: BTreeSet<(Time, JobId)>,
    /// Jobs that a site has neither ended nor still holds, although it had them: it withholds something, so they are
    /// not waited for.
    pub(super) missing: BTreeSet<JobId>,
    /// Time of the timer for the next news of them, if it is set.
    pub(super) awake_until: Option<Time>,
}

/// Order of offers of several clusters: rank, end of the job without checkpoints, start, and number of the cluster.
pub(super) type OfferKey = (i128, Time, Time, usize);

/// A site in the view of the meta-scheduler.
pub struct Cluster {
    pub site: ActorId,
    /// Latency of messages to it: nothing can start there sooner.
    pub latency: Span,
    /// Divisor of the times of all jobs there.
    pub speed: Speed,
    /// True if others give it work too, so that it has to be asked.
    pub is_shared: bool,
    pub book: ClusterBook,
    /// News of its nodes; None if they do not fail.
    pub outages: Option<OutageView>,
}

pub(super) struct AcceptedJob {
    pub user: ActorId,
    pub wanted: WantedJob,
    /// The chosen shape, and the request in it.
    pub shape: usize,
    pub request: Request,
    pub cluster: usize,
    pub start: Time,
    pub end: Time,
    pub nodes: NodeSet,
    /// True if its user has cancelled it, and the site has not confirmed that.
    pub is_cancelled: bool,
    /// Run time at speed 1.
    pub runtime: Span,
    pub staging: Option<Staging>,
    pub phase: AcceptedPhase,
    /// Number of times that it was lost, and its saved work at speed 1.
    pub losses: u32,
    pub saved: Span,
}

/// Phase of an accepted job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AcceptedPhase {
    /// Its input is on its way. A site that is not shared does not know the job yet.
    Awaited,
    /// The site has the job.
    Given,
    /// The job has ended, and its output is on its way.
    Returning,
}

pub(super) type Out = Outbox<Message, Record>;

impl MetaScheduler {
    pub fn new(clusters: Vec<Cluster>, choose: Choose, stager: Option<Stager>) -> MetaScheduler {
        let failing = (0..clusters.len()).filter(|number| clusters[*number].outages.is_some()).collect();
        MetaScheduler {
            clusters,
            choose,
            shape_rule: ShapeRule::default(),
            allocator: None,
            bounds: Vec::new(),
            live: BTreeMap::new(),
            asked: BTreeMap::new(),
            moving: BTreeMap::new(),
            seen: BTreeSet::new(),
            stager,
            prompt: BTreeSet::new(),
            recalls: BTreeMap::new(),
            failing,
            news_at: Time::ZERO,
            overdue: BTreeSet::new(),
            missing: BTreeSet::new(),
            awake_until: None,
        }
    }

    /// Sets the choice among the shapes of malleable requests.
    pub fn with_shape_rule(self, shape_rule: ShapeRule) -> MetaScheduler {
        MetaScheduler { shape_rule, ..self }
    }

    /// Sets the sites that may react to any message at once.
    pub fn with_prompt_sites(self, prompt: BTreeSet<ActorId>) -> MetaScheduler {
        MetaScheduler { prompt, ..self }
    }

    /// True once the external program has failed; then nothing is decided any more.
    pub(super) fn has_failed(&self) -> bool {
        self.allocator.as_ref().is_some_and(|allocator| allocator.has_failed())
    }

    /// Sets an external program that chooses, instead of the policy of the books.
    pub fn with_allocator(self, allocator: Option<Box<dyn Allocates>>) -> MetaScheduler {
        MetaScheduler { allocator, ..self }
    }

    fn reserve(&mut self, now: Time, user: ActorId, reserve: Reserve, out: &mut Out) {
        let Reserve { job, shapes, staging, .. } = &reserve;
        let id = job.id;
        // No honest user sends such a request.
        let can_bring =
            staging.as_ref().is_none_or(|staging| self.stager.as_ref().is_some_and(|stager| stager.is_valid(staging)));
        if !can_bring || !shapes.is_empty() && !JobShape::are_of(shapes, job) {
            return;
        }
        if !self.seen.insert(id) {
            let answer = ReserveAnswer::Invalid(Invalid::Duplicate);
            out.send(user, Message::Answered(Answered { job: id, answer }));
            return;
        }
        out.log(Record::Arrived { job: job.clone(), user });
        if !shapes.is_empty() {
            out.log(Record::Malleable { job: id, shapes: shapes.clone() });
        }

        let sites = self.clusters.iter().map(|cluster| (cluster.book.nodes(), cluster.speed));
        match WantedJob::of_reserve(&reserve, sites) {
            Err(invalid) => Self::send_answer(user, &reserve, ReserveAnswer::Invalid(invalid), out),
            Ok(wanted) => match self.find(now, &wanted, *staging, &[]) {
                None => self.decline(user, &reserve, out),
                Some(found) => self.book(now, (user, reserve, wanted), found, Search::default(), out),
            },
        }
    }

    pub(super) fn has_to_bring(&self, reserve: &Reserve, site: ActorId) -> bool {
        let bringing = self.stager.as_ref().zip(reserve.staging.as_ref());
        bringing.is_some_and(|(stager, staging)| stager.has_to_bring(staging, site))
    }

    /// Earliest arrival of a message at a site, and the request as the site sees it. A job is not ready before its
    /// input could arrive; if the site has to be asked, the input is sent after its answer.
    pub(super) fn at_site(
        &self,
        cluster: usize,
        now: Time,
        staging: Option<Staging>,
        request: &Request,
    ) -> (Time, Request) {
        let Cluster { site, latency, is_shared, .. } = self.clusters[cluster];
        let bringing = self.stager.as_ref().zip(staging);
        let ready = match bringing.filter(|(stager, staging)| stager.has_to_bring(staging, site)) {
            None => request.ready,
            Some((stager, staging)) => {
                let answered = if is_shared { now + latency + latency } else { now };
                request.ready.max(answered + stager.unshared_time(&staging, site) + latency)
            }
        };
        (now + latency, Request { ready, duration: self.booked_time(cluster, request), ..*request })
    }

    /// Duration of a booking at a cluster, at its speed and including checkpoints, if the job makes any there.
    pub(super) fn booked_time(&self, cluster: usize, request: &Request) -> Span {
        let Cluster { speed, ref outages, .. } = self.clusters[cluster];
        let work = speed.time(request.duration);
        outages.as_ref().map_or(work, |outages| outages.with_checkpoints(work, request.nodes))
    }

    /// Handles the arrival of a job's input; its user may have cancelled it meanwhile.
    pub(super) fn handle_provided(&mut self, now: Time, job: JobId, out: &mut Out) {
        if let Some(moving) = self.moving.get_mut(&job) {
            // The site that accepts the job will be told.
            moving.live.phase = AcceptedPhase::Given;
        }
        let Some(live) = self.live.get_mut(&job) else { return };
        let Cluster { site, latency, is_shared, ref outages, .. } = self.clusters[live.cluster];
        let task = TaskId { job, index: 0 };
        live.phase = AcceptedPhase::Given;
        if live.is_cancelled && outages.is_none() {
            return;
        }
        live.start = live.start.max(now + latency);
        if live.start < live.end {
            let start = live.start;
            match is_shared {
                true => out.send(site, Message::Provided(Provided { task })),
                false => self.hold(now, job, start, out),
            }
            return;
        }
        let live = self.live.remove(&job).expect("it was just there");
        if is_shared {
            out.send(site, Message::Recall(Recall { task }));
        }
        out.log(Record::Withdrawn { task });
        out.log(Record::Removed { job });
        out.send(live.user, Message::Outcome(Outcome { job, verdict: Verdict::Removed }));
    }

    pub(super) fn decline(&self, user: ActorId, reserve: &Reserve, out: &mut Out) {
        if !self.has_failed() {
            Self::send_answer(user, reserve, ReserveAnswer::Declined, out);
        }
    }

    pub(super) fn send_answer(user: ActorId, reserve: &Reserve, answer: ReserveAnswer, out: &mut Out) {
        let Reserve { job, ready, deadline, .. } = reserve;
        let id = job.id;
        let ready = *ready;
        let deadline = *deadline;
        out.log(Record::Answered { job: id, ready, deadline, answer: answer.clone() });
        out.send(user, Message::Answered(Answered { job: id, answer }));
    }

    /// The policy's choice over several clusters: of equal ranks the earliest end, then the earliest start. Clusters of
    /// different speeds are compared by capacity ([`super::fit::Fit::scaled_by_speed`]).
    ///
    /// Branch and bound: clusters are asked in order of a bound that is computed from counts, and not at all if they
    /// cannot beat the best offer so far. The bound of a cluster without bookings is exact, so all but the first of
    /// these are left out.
    pub(super) fn find_best(
        &mut self,
        now: Time,
        staging: Option<Staging>,
        (wanted, shape): (&WantedJob, usize),
        clusters: &[usize],
    ) -> Option<(usize, Offer)> {
        let request = &wanted.shaped(shape);
        let mut bounds = std::mem::take(&mut self.bounds);
        let mut offered: Option<OfferKey> = None;
        for &number in clusters {
            let cluster = &self.clusters[number];
            let (soonest, there) = self.at_site(number, now, staging, request);
            let Some(bound) = cluster.book.bound(soonest, &there) else { continue };
            let key = cluster.key(bound.rank, bound.start, request, number);
            if offered.is_none_or(|offered| key < offered) {
                bounds.push(Reverse(key));
                offered = if bound.is_exact { Some(key) } else { offered };
            }
        }
        let mut bounds = BinaryHeap::from(bounds);
        let mut best: Option<(OfferKey, Offer)> = None;
        while let Some(Reverse(bound)) = bounds.pop()
            && best.as_ref().is_none_or(|(key, _)| bound < *key)
        {
            let number = bound.3;
            if let Some(offer) = self.find_offer(number, now, staging, (wanted, shape), request) {
                let key = self.clusters[number].key(offer.rank, offer.start, request, number);
                if best.as_ref().is_none_or(|(best, _)| key < *best) {
                    best = Some((key, offer));
                }
            }
        }
        self.bounds = bounds.into_vec();
        self.bounds.clear();
        best.map(|((.., number), offer)| (number, offer))
    }

    /// An offer of a cluster for a shape of a request, which may be changed in its times.
    pub(super) fn find_offer(
        &mut self,
        number: usize,
        now: Time,
        staging: Option<Staging>,
        (wanted, shape): (&WantedJob, usize),
        request: &Request,
    ) -> Option<Offer> {
        if self.allocator.is_some() {
            let found = self.allocate(now, staging, wanted, &[((number, shape), *request)]);
            return found.map(|found| found.offer);
        }
        if request.nodes > self.clusters[number].book.nodes() {
            return None;
        }
        // Bookings until then stay in the book, however long the input takes.
        let (soonest, request) = self.at_site(number, now, staging, request);
        self.clusters[number].book.find(soonest, &request)
    }

    /// Frees the rest of a job's time. The end of a job that was recalled in time is void.
    fn handle_end(&mut self, now: Time, from: ActorId, ended: Ended, out: &mut Out) {
        let job = ended.task.job;
        // Other sites cannot report its end.
        let live = self.live.get(&job);
        if !live.is_some_and(|live| self.clusters[live.cluster].site == from && live.phase == AcceptedPhase::Given) {
            return;
        }
        let mut live = self.live.remove(&job).expect("it is live");
        self.free_rest(now, &live);
        let bringing = self.stager.as_mut().zip(live.staging.as_ref());
        if bringing.is_some_and(|(stager, staging)| stager.bring_back(now, job, staging, from, out)) {
            live.phase = AcceptedPhase::Returning;
            self.live.insert(job, live);
        } else {
            Self::complete_job(job, &live, out);
        }
    }

    fn complete_job(job: JobId, live: &AcceptedJob, out: &mut Out) {
        out.log(Record::Completed { job, value: None });
        out.send(live.user, Message::Outcome(Outcome { job, verdict: Verdict::Completed }));
    }

    /// Cancels a job; without effect once the site may start it before the message arrives.
    pub(super) fn cancel(&mut self, now: Time, from: ActorId, job: JobId, out: &mut Out) {
        if let Some(asked) = self.asked.get_mut(&job).filter(|asked| asked.user == from) {
            asked.is_cancelled = true;
            return;
        }
        if let Some(moving) = self.moving.get_mut(&job).filter(|moving| moving.live.user == from) {
            moving.is_cancelled = true;
            return;
        }
        let may_cancel = self.live.get(&job).is_some_and(|live| {
            let may_start = now + self.clusters[live.cluster].latency >= live.start;
            live.user == from
                && (live.phase == AcceptedPhase::Awaited || live.phase == AcceptedPhase::Given && !may_start)
        });
        if !may_cancel {
            return;
        }
        let live = self.live.get_mut(&job).expect("it is live");
        let Cluster { site, is_shared, ref outages, .. } = self.clusters[live.cluster];
        if is_shared || outages.is_some() && live.phase == AcceptedPhase::Given {
            // The site decides about it.
            live.is_cancelled = true;
            if outages.is_none() {
                // The site will certainly let it go, and further requests to the site arrive after this one.
                let end = std::mem::replace(&mut live.end, live.start);
                let cluster = live.cluster;
                let start = live.start;
                let nodes = live.nodes.clone();
                self.unbook(now, cluster, (start, end), &nodes);
            }
            return self.recall(site, job, out);
        }
        let live = self.live.remove(&job).expect("it is live");
        self.free_rest(now, &live);
        let task = TaskId { job, index: 0 };
        if live.phase == AcceptedPhase::Given {
            out.send(site, Message::Withdraw(Withdraw { task }));
        }
        Self::confirm_cancel(job, &live, out);
    }

    pub(super) fn confirm_cancel(job: JobId, live: &AcceptedJob, out: &mut Out) {
        out.log(Record::Cancelled { job });
        out.send(live.user, Message::Outcome(Outcome { job, verdict: Verdict::Removed }));
    }

    fn handle_recalled(&mut self, now: Time, from: ActorId, recalled: Recalled, out: &mut Out) {
        let job = recalled.task.job;
        // Answers without a recall are ignored.
        let btree_map::Entry::Occupied(mut asked) = self.recalls.entry((from, job)) else { return };
        *asked.get_mut() -= 1;
        if *asked.get() == 0 {
            asked.remove();
        }
        let Some(live) = self
            .live
            .get(&job)
            .filter(|live| self.clusters[live.cluster].site == from && live.phase != AcceptedPhase::Returning)
        else {
            return;
        };
        if !recalled.in_time {
            // An honest site has reported the end by now.
            let outages = self.clusters[live.cluster].outages.as_ref();
            if live.phase == AcceptedPhase::Given
                && outages.is_some_and(|outages| outages.certainly_reported_at(live.end) <= now)
            {
                self.missing.insert(job);
            }
            return;
        }
        if !live.is_cancelled {
            return self.handle_returned(now, job, out);
        }
        let live = self.live.remove(&job).expect("it is live");
        self.free_rest(now, &live);
        Self::confirm_cancel(job, &live, out);
    }

    pub(super) fn free_rest(&mut self, now: Time, live: &AcceptedJob) {
        self.unbook(now, live.cluster, (live.start, live.end), &live.nodes);
    }

    /// Frees the rest of a booking.
    pub(super) fn unbook(&mut self, now: Time, cluster: usize, (start, end): (Time, Time), nodes: &NodeSet) {
        let from = start.max(now);
        if from < end {
            let book = &mut self.clusters[cluster].book;
            book.delete(from, end, nodes).expect("what is live or asked for is booked");
        }
    }

    /// Tells a site to start a job at `start`, in the rest of its time: a site that is not shared, or that has its
    /// nodes booked.
    pub(super) fn hold(&mut self, now: Time, job: JobId, start: Time, out: &mut Out) {
        let live = &self.live[&job];
        let task = TaskId { job, index: 0 };
        let nodes = live.nodes.clone();
        let walltime = live.end.since(start);
        let cluster = &mut self.clusters[live.cluster];
        let runtime = cluster.speed.time(live.unsaved_part(live.runtime));
        let until_failure = cluster.outages.as_mut().map(|outages| outages.safe_span(now));
        let safe = if self.prompt.contains(&cluster.site) { Some(Span::ZERO) } else { until_failure };
        out.send(cluster.site, Message::Hold(Hold { task, start, nodes, runtime, walltime, safe }));
        self.await_end(job);
    }
}

impl Cluster {
    /// The place of an offer of this cluster among those of several.
    pub(super) fn key(&self, rank: i128, start: Time, request: &Request, number: usize) -> OfferKey {
        (self.book.fit().scaled_by_speed(rank, self.speed), start + self.speed.time(request.duration), start, number)
    }
}

impl Actor<Message, Record> for MetaScheduler {
    /// Ends and cancellations are handled before requests of the same moment, to which they free nodes.
    fn handle_batch(&mut self, now: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Out) {
        if self.has_failed() {
            return batch.clear();
        }
        if let Some(stager) = &mut self.stager {
            for event in batch.iter() {
                if let Cause::Message(Message::Landed(landed)) = event.cause {
                    stager.take_landing(event.from, landed);
                }
            }
            for staged in stager.take_arrived(now.time, out) {
                match staged {
                    Staged::Input(job) => self.handle_provided(now.time, job, out),
                    Staged::Output(job) => {
                        let live = self.live.remove(&job).expect("its output was awaited");
                        Self::complete_job(job, &live, out);
                    }
                }
            }
        }
        self.apply_news(now.time, out);
        let mut asked = Vec::new();
        let mut cancelled = Vec::new();
        let mut answers = Vec::new();
        for event in batch.drain(..) {
            match event.cause {
                Cause::Message(Message::Ended(ended)) => self.handle_end(now.time, event.from, ended, out),
                Cause::Message(Message::Lost(lost)) => self.handle_loss(now.time, event.from, lost, out),
                Cause::Message(Message::Booked(booked)) => answers.push((event.from, booked)),
                Cause::Message(Message::Recalled(recalled)) => {
                    self.handle_recalled(now.time, event.from, recalled, out)
                }
                Cause::Message(Message::Cancel(Cancel { job })) => cancelled.push((event.from, job)),
                Cause::Message(Message::Reserve(reserve)) => asked.push((event.from, reserve)),
                _ => {}
            }
        }
        self.recall_overdue(now.time, out);
        // A cancellation of the same instant as its request is handled after the answer.
        let new: BTreeSet<JobId> = asked.iter().map(|(_, reserve)| reserve.job.id).collect();
        let (at_once, cancelled): (Vec<_>, Vec<_>) = cancelled.into_iter().partition(|(_, job)| new.contains(job));
        for (from, job) in cancelled {
            self.cancel(now.time, from, job, out);
        }
        for (site, booked) in answers {
            self.handle_booked(now.time, site, booked, out);
        }
        // In order of arrival, then by number.
        asked.sort_by_key(|(_, reserve)| Reverse((reserve.job.arrive, reserve.job.id)));
        while let Some((user, reserve)) = asked.pop() {
            self.reserve(now.time, user, reserve, out);
        }
        for (from, job) in at_once {
            self.cancel(now.time, from, job, out);
        }
        if let Some(stager) = &mut self.stager {
            stager.wake(now.time, out);
        }
        self.wake(out);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::fit::{self, Fit, FitMeasure};
    use super::super::reference::AvailRectList;
    use super::super::rules::RectEnd;
    use super::*;
    use crate::play::second as at;

    /// A list of the paper's, with latency in seconds and tenths of speed.
    struct Listed {
        list: AvailRectList,
        nodes: u32,
        latency: u64,
        tenths: u64,
    }

    impl Listed {
        /// Microseconds that these seconds take here, to the nearest.
        fn lasts(&self, seconds: u64) -> u64 {
            (10_000_000 * seconds as u128 * 2 + u128::from(self.tenths)).div_euclid(2 * u128::from(self.tenths)) as u64
        }
    }

    /// The rule literally: all clusters are asked for the duration that they need. Of those with the best measure, in
    /// which a node counts as many tenths as its cluster has, the earliest end wins, then the earliest start, then the
    /// first cluster.
    fn by_asking_all(
        listed: &[Listed],
        now: Time,
        request: &Request,
        fit: &Fit,
        rect_end: RectEnd,
    ) -> Option<(usize, Offer)> {
        let mut best: Option<((i128, Time, Time), usize, Offer)> = None;
        for (number, site) in listed.iter().enumerate().filter(|(_, site)| request.nodes <= site.nodes) {
            let soonest = now + Span::from_secs(site.latency);
            let duration = Span::from_micros(site.lasts(request.duration.micros() / 1_000_000));
            let mut list = AvailRectList::from_records(site.nodes, site.list.records().to_vec());
            list.advance(soonest);
            let Some(offer) = list.find_allocation(soonest, &Request { duration, ..*request }, fit, rect_end) else {
                continue;
            };
            let counts_nodes = matches!(fit.measure, FitMeasure::Nodes | FitMeasure::Area);
            let is_endless = offer.rank.abs() == i128::MAX;
            let weight = if counts_nodes && !is_endless { i128::from(site.tenths) } else { 1 };
            let key = (offer.rank * weight, offer.start + duration, offer.start);
            if best.as_ref().is_none_or(|(least, ..)| key < *least) {
                best = Some((key, number, offer));
            }
        }
        best.map(|(_, number, offer)| (number, offer))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        /// Under every policy, and every rule for the ends of rectangles.
        #[test]
        fn global_equals_asking_all(
            fit in prop::sample::select((0..fit::ALL.len()).collect::<Vec<_>>()),
            rect_end in prop::sample::select(vec![RectEnd::Clip, RectEnd::Inf2tdl, RectEnd::Open]),
            sites in prop::collection::vec(
                (1u32..9, prop::sample::select(vec![0u64, 0, 0, 2, 5]), prop::sample::select(vec![10u64, 10, 5, 20, 13])),
                1..12,
            ),
            steps in prop::collection::vec(
                (0u64..6, 0u64..15, 1u64..20, 0u64..25, 1u32..9, prop::option::weighted(0.2, 0usize..100)),
                1..80,
            ),
        ) {
            let book = |nodes| ClusterBook::new(nodes, &fit::ALL[fit], rect_end);
            let listed = |&(nodes, latency, tenths): &(u32, u64, u64)| {
                Listed { list: AvailRectList::new(nodes), nodes, latency, tenths }
            };
            let mut lists: Vec<Listed> = sites.iter().map(listed).collect();
            let cluster = |&(nodes, latency, tenths): &(u32, u64, u64)| Cluster {
                site: ActorId(0),
                latency: Span::from_secs(latency),
                speed: Speed(tenths * 100_000),
                is_shared: false,
                book: book(nodes),
                outages: None,
            };
            let mut meta = MetaScheduler::new(sites.iter().map(cluster).collect(), Choose::Global, None);
            let mut booked: Vec<(usize, Time, Time, NodeSet)> = Vec::new();
            let mut now = 0;
            for (later, ahead, duration, slack, nodes, freed) in steps {
                now += later;
                if let Some(freed) = freed.filter(|_| !booked.is_empty()) {
                    let (number, start, end, nodes) = booked.swap_remove(freed % booked.len());
                    let start = start.max(at(now));
                    if start < end {
                        lists[number].list.delete_allocation(start, end, &nodes).unwrap();
                        meta.clusters[number].book.delete(start, end, &nodes).unwrap();
                    }
                }
                let ready = at(now + ahead);
                let duration = Span::from_secs(duration);
                let deadline = ready + duration + Span::from_secs(slack);
                let request = Request { arrive: at(now), ready, duration, deadline, nodes };
                let found = meta.find(at(now), &WantedJob::rigid(JobId(0), request, duration), None, &[]);
                let found = found.map(|found| (found.cluster, found.offer));
                prop_assert_eq!(&found, &by_asking_all(&lists, at(now), &request, &fit::ALL[fit], rect_end));
                if let Some((number, Offer { start, nodes, .. })) = found {
                    let end = start + Span::from_micros(lists[number].lasts(duration.micros() / 1_000_000));
                    lists[number].list.add_allocation(start, end, &nodes).unwrap();
                    meta.clusters[number].book.add(start, end, &nodes).unwrap();
                    booked.push((number, start, end, nodes));
                }
            }
        }
    }
}
