//! The market's actor at the router: accepts jobs, holds the one queue of the grid, assigns tasks to sites.
//!
//! # When the auction is held
//!
//! All messages of one time are applied before that time's auction. A message sent at `t` over a link without latency
//! arrives in step 1 of `t`; timers, and messages over other links, in step 0. So step 0 only gathers, and the
//! auctioneer comes back in step 1 at the latest, where the rest has arrived as well. Only a peer that answers within
//! an instant can send something later; then there is another auction in the step of its arrival.
//!
//! The events of an instant take effect in a fixed order, independent of their arrival: tasks end, by number; data
//! becomes ready; jobs arrive, by number; jobs are removed; then the auction.
//!
//! # What the auctioneer knows
//!
//! A task has ended when the router hears of it. From then on its cores can be assigned, its output is at its cluster,
//! and the transfer to other clusters begins. With latency on the links this is later than the end at the site, and
//! never earlier, so assigned cores are always free at their site.
//!
//! # Where sites offer their cores
//!
//! With `clearing = "messages"` the end of a task frees no cores, but the offer that its site sends does once it has
//! arrived: free are the cores that were idle at the site when it sent the offer, less those of all starts that it
//! had not received by then (`offers.rs`). So the cores known to be free are never more than those that are free when
//! a start arrives, unless nodes fail. An offer is an instant with an auction if a task is queued.
//!
//! # Where nodes fail
//!
//! A loss is reported like an end. The task joins the queue again, less its saved work, or its job is removed; the
//! outputs of its predecessors are not lost. Cores reported down are not assigned. Where there are links, a cluster on
//! which the task has run keeps the data that was sent there for it; to any other cluster it is sent again.
//!
//! # With links
//!
//! Where a topology has links, there are no fixed delays: a task joins the queue when all its predecessors have ended.
//! Once it is assigned to a cluster, it owns its cores there, and all data from other clusters is sent there over the
//! network at once. When all inputs have arrived, the cluster is told to start. A task whose job is removed meanwhile
//! continues to its end, like a running one. Each arrival of data is an instant with an auction, as is, without links,
//! each time at which data becomes available.

mod auction;
mod ballot;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;

use smallvec::SmallVec;

use self::ballot::WaitingTasks;
use super::admission::AdmissionGate;
use super::auctioned::{AuctionedJob, JobPhase};
use super::bid::{BidPolicy, Trend};
use super::clusters::{Cluster, Clusters};
use super::failing::AuctionLosses;
use super::figures::Figures;
use super::offers::UnreceivedStarts;
use super::queue::{self, AuctionedJobs, Lane, TaskDemand, TaskHandle};
use super::rules::{Market, Removal};
use crate::grid::{Edge, EdgeId, Graph, Job, JobId, News, NodeSet, Recovery, Task, TaskId};
use crate::kernel::{Actor, ActorId, Cause, Event, Outbox};
use crate::network::{ALARM, Carrier, LoneTimes, Network};
use crate::protocol::{Message, Outcome, Record, Run, SiteOffer, Verdict};
use crate::time::{Span, Stamp, Time};

pub struct Auctioneer {
    market: Market,
    policy: Box<dyn BidPolicy>,
    clusters: Clusters,
    /// Transfers, where there are links.
    carrier: Option<Carrier<DataLoad>>,
    /// Transfer times that no placement avoids, where there are links.
    lone: Option<LoneTimes>,
    gate: AdmissionGate,
    jobs: AuctionedJobs,
    /// Present or former job of each slot.
    ids: Vec<JobId>,
    /// Slots of the jobs whose number is not that of their slot.
    slots: BTreeMap<JobId, u32>,
    /// The queue, by kind, and the demand of its tasks.
    lanes: Vec<(Box<dyn Lane>, TaskDemand)>,
    /// Tasks whose data is under way, by the time at which it is on the first cluster.
    awaiting: BinaryHeap<Reverse<(Time, TaskHandle)>>,
    /// Times at which to look whether a job is to be removed: each job once, or each queued task where its projected
    /// end counts. A job whose time comes while none of its tasks is queued is removed once one is.
    removals: BinaryHeap<Reverse<(Time, TaskHandle)>>,
    /// Jobs to be removed at this instant.
    doomed: Vec<u32>,
    /// Number of jobs with a queued task by the length of their critical path; only kept for bids that change.
    paths: BTreeMap<Span, u32>,
    keeps_paths: bool,
    gathered: Gathered,
    failing: Option<AuctionLosses>,
    /// Sites that may react to any message at once.
    prompt: BTreeSet<ActorId>,
    /// Starts that clusters do not know of, by cluster, if their sites offer cores by messages.
    unreceived: Option<Vec<UnreceivedStarts>>,
    /// The queued tasks of each lane, if bids are recorded.
    waiting: Option<WaitingTasks>,
    /// The last instant, and the number of instants.
    instant: (Option<Time>, u64),
}

/// Data under way: its receiving task, and its edge in the job.
struct DataLoad {
    handle: TaskHandle,
    edge: u32,
}

/// Messages received at one time.
#[derive(Default)]
struct Gathered {
    ended: Vec<(TaskId, ActorId)>,
    lost: Vec<(TaskId, ActorId, Span)>,
    submitted: Vec<(Arc<Job>, ActorId)>,
}

pub(super) type Out = Outbox<Message, Record>;

impl Auctioneer {
    pub fn new(market: Market, policy: Box<dyn BidPolicy>, clusters: Vec<Cluster>) -> Auctioneer {
        Auctioneer::with_lanes(market, policy, clusters, queue::build_lane)
    }

    /// Like this auctioneer, where nodes of clusters fail, with the news of each of those.
    pub fn with_outages(self, news: Vec<(usize, News)>, recovery: Recovery) -> Auctioneer {
        let failing = if news.is_empty() { None } else { Some(AuctionLosses::new(news, recovery)) };
        Auctioneer { failing, ..self }
    }

    /// Like this auctioneer, with the sites that may react to any message at once.
    pub fn with_prompt_sites(self, prompt: BTreeSet<ActorId>) -> Auctioneer {
        Auctioneer { prompt, ..self }
    }

    /// Like this auctioneer, where data is sent over a network between the clusters.
    pub fn with_network(self, network: impl Into<Network>) -> Auctioneer {
        let carrier: Carrier<DataLoad> = network.into().carrier();
        let lone = Some(LoneTimes::new(carrier.paths(), &self.clusters.kinds_in_order()));
        Auctioneer { carrier: Some(carrier), lone, ..self }
    }

    pub(super) fn with_lanes(
        market: Market,
        policy: Box<dyn BidPolicy>,
        clusters: Vec<Cluster>,
        lane: fn(&dyn BidPolicy) -> Box<dyn Lane>,
    ) -> Auctioneer {
        let unreceived = market
            .clears_by_messages()
            .then(|| clusters.iter().map(|_| UnreceivedStarts::default()).collect::<Vec<_>>());
        let mut clusters = Clusters::new(clusters);
        if unreceived.is_some() {
            clusters.take_all();
        }
        let keeps_paths = policy.bid_trend() != Trend::Fixed;
        let waiting = market.records_bids().then(|| WaitingTasks::new(clusters.kinds()));
        Auctioneer {
            gate: AdmissionGate::new(&market, clusters.cores()),
            market,
            jobs: Vec::new(),
            ids: Vec::new(),
            slots: BTreeMap::new(),
            lanes: (0..clusters.kinds()).map(|_| (lane(policy.as_ref()), TaskDemand::default())).collect(),
            policy,
            clusters,
            carrier: None,
            lone: None,
            awaiting: BinaryHeap::new(),
            removals: BinaryHeap::new(),
            doomed: Vec::new(),
            paths: BTreeMap::new(),
            keeps_paths,
            gathered: Gathered::default(),
            failing: None,
            prompt: BTreeSet::new(),
            unreceived,
            waiting,
            instant: (None, 0),
        }
    }

    fn hold(&mut self, now: Time, out: &mut Out) {
        if self.instant.0 != Some(now) {
            self.instant = (Some(now), self.instant.1 + 1);
        }
        if let Some(failing) = &mut self.failing {
            failing.take_news(now, &mut self.clusters);
        }
        let mut ended = std::mem::take(&mut self.gathered.ended);
        ended.sort_unstable();
        for (task, site) in ended.drain(..) {
            self.handle_end(task, site, now, out);
        }
        self.gathered.ended = ended;
        let mut lost = std::mem::take(&mut self.gathered.lost);
        lost.sort_unstable();
        for (task, site, saved) in lost {
            self.handle_loss(task, site, saved, now);
        }
        self.take_delivered(now, out);
        self.queue_what_is_ready(now);
        let mut submitted = std::mem::take(&mut self.gathered.submitted);
        submitted.sort_by_key(|(job, user)| (job.id, *user));
        for (job, user) in submitted.drain(..) {
            self.accept_job(job, user, now, out);
        }
        self.gathered.submitted = submitted;
        self.remove_what_is_due(now, out);
        self.auction(now, out);
        if let Some(carrier) = &mut self.carrier {
            carrier.wake(now, out);
        }
        if let Some(failing) = &mut self.failing
            && self.lanes.iter().any(|(_, demand)| !demand.is_empty())
        {
            failing.wake(out);
        }
    }
}

/// Handlers of the events of an instant, in their order.
impl Auctioneer {
    /// Handles the end of a task. A peer may report tasks that do not run there; such a message is ignored.
    fn handle_end(&mut self, id: TaskId, site: ActorId, now: Time, out: &mut Out) {
        let Some(slot) = self.slot(id.job) else { return };
        let Some(live) = self.jobs[slot as usize].as_mut() else { return };
        let task = id.index as usize;
        let Some(&JobPhase::Running { cluster }) = live.tasks.get(task).map(|state| &state.phase) else { return };
        if self.clusters.site(cluster) != site {
            return;
        }

        if self.unreceived.is_none() {
            self.clusters.give_back(cluster, live.job.tasks[task].cores);
        }
        live.tasks[task].phase = JobPhase::Done { cluster, at: now };
        live.running -= 1;
        live.unfinished -= 1;
        self.gate.record_end(live, task);
        if live.unfinished == 0 {
            out.log(Record::Completed { job: id.job, value: live.value(now) });
            out.send(live.user, Message::Outcome(Outcome { job: id.job, verdict: Verdict::Completed }));
        }
        let is_removed = live.removed;
        if !self.drop_if_idle(slot) && !is_removed {
            self.release_successors(TaskHandle { job: slot, task: id.index }, now, out);
        }
    }

    /// Handles a failure of a task's node. A removal because of it follows in this instant.
    fn handle_loss(&mut self, id: TaskId, site: ActorId, saved: Span, now: Time) {
        let Some(slot) = self.slot(id.job) else { return };
        let Some(live) = self.jobs[slot as usize].as_mut() else { return };
        let task = id.index as usize;
        let Some(&JobPhase::Running { cluster }) = live.tasks.get(task).map(|state| &state.phase) else { return };
        let Some(failing) = self.failing.as_mut().filter(|_| self.clusters.site(cluster) == site) else { return };
        if self.unreceived.is_none() {
            self.clusters.give_back(cluster, live.job.tasks[task].cores);
        }
        live.tasks[task].phase = JobPhase::Awaiting;
        live.running -= 1;
        let is_tried_again = failing.record_loss(id, saved, cluster);
        if live.removed {
            self.drop_if_idle(slot);
            return;
        }
        self.enqueue(TaskHandle { job: slot, task: id.index }, now);
        if !is_tried_again {
            self.doomed.push(slot);
        }
    }

    fn release_successors(&mut self, ended: TaskHandle, now: Time, out: &mut Out) {
        let count = self.live(ended).graph.successors(ended.task as usize).len();
        for which in 0..count {
            let live = self.live_mut(ended);
            let next = live.graph.successors(ended.task as usize)[which];
            let state = &mut live.tasks[next as usize];
            let JobPhase::Held(before) = state.phase else { panic!("a task is held until all before it have ended") };
            state.phase = if before == 1 { JobPhase::Awaiting } else { JobPhase::Held(before - 1) };
            if before == 1 {
                self.release(TaskHandle { job: ended.job, task: next }, now, out);
            }
        }
    }

    /// Computes the times at which the data of a task is at each cluster. Each of these times is an instant, even if
    /// the task has started by then: other bids change with time, and are looked at then.
    fn release(&mut self, handle: TaskHandle, now: Time, out: &mut Out) {
        let task = handle.task as usize;
        let live = self.jobs[handle.job as usize].as_mut().expect("what is released belongs to a live job");
        let kind = live.job.tasks[task].kind;
        let ready = live.ready(task, self.market.network);
        let makers = ready.makers.iter().filter(|(cluster, _)| self.clusters.is_of_kind(*cluster, kind));
        let mut times: SmallVec<[Time; 4]> = makers.map(|(_, there)| *there).collect();
        if times.len() < self.clusters.count(kind) {
            times.push(ready.elsewhere);
        }
        times.sort_unstable();
        times.dedup();
        let first = times.first().copied().unwrap_or(Time::NEVER);
        let last = times.last().copied().unwrap_or(now);
        times.iter().filter(|&&time| time > now).for_each(|&time| out.wake_at(time, 0));
        live.tasks[task].everywhere = last.max(now);
        if first <= now { self.enqueue(handle, now) } else { self.awaiting.push(Reverse((first, handle))) }
    }

    fn queue_what_is_ready(&mut self, now: Time) {
        while let Some(&Reverse((ready, handle))) = self.awaiting.peek()
            && ready <= now
        {
            self.awaiting.pop();
            if self.jobs[handle.job as usize].as_ref().is_some_and(|live| !live.removed) {
                self.enqueue(handle, now);
            }
        }
    }

    fn accept_job(&mut self, job: Arc<Job>, user: ActorId, now: Time, out: &mut Out) {
        let Some((graph, figures)) = self.measure_job(&job, now) else {
            // The log holds valid jobs only: an invalid one must not enter its sums.
            return out.send(user, Message::Outcome(Outcome { job: job.id, verdict: Verdict::Refused }));
        };
        if let Some(task) = job.tasks.iter().position(|task| !self.clusters.could_run(task.kind, task.cores)) {
            out.send(user, Message::Outcome(Outcome { job: job.id, verdict: Verdict::Refused }));
            // Its number is used all the same.
            self.take_slot(job.id, None);
            return out.log(Record::Refused { job, user, task: task as u32 });
        }

        let due = self.gate.due_time(&job, figures.critical_path);
        if !self.gate.admits(&job, due, now) {
            out.send(user, Message::Outcome(Outcome { job: job.id, verdict: Verdict::Refused }));
            self.take_slot(job.id, None);
            return out.log(Record::NotAdmitted { job, user });
        }

        out.log(Record::Arrived { job: job.clone(), user });
        let live = AuctionedJob::new(job, user, graph, figures, self.market.tick, due);
        self.gate.promise(&live);
        let entries: SmallVec<[u32; 8]> =
            (0..live.tasks.len() as u32).filter(|&task| live.tasks[task as usize].phase == JobPhase::Held(0)).collect();
        let deadline = live.deadline;
        let slot = self.take_slot(live.job.id, Some(Box::new(live)));
        if self.market.removal == Removal::Deadline {
            self.removals.push(Reverse((deadline, TaskHandle { job: slot, task: 0 })));
        }
        for task in entries {
            self.enqueue(TaskHandle { job: slot, task }, now);
        }
    }

    /// Figures of a job, if it is valid, measurable and new.
    fn measure_job(&self, job: &Job, now: Time) -> Option<(Graph, Figures)> {
        if job.check().is_err() || job.arrive > now || self.slot(job.id).is_some() {
            return None;
        }
        let graph = Graph::new(job.tasks.len(), &job.edges);
        let figures =
            Figures::of_job(job, &graph, &self.market, self.lone.as_ref(), self.policy.weighs_successors()).ok()?;
        Some((graph, figures))
    }

    fn remove_what_is_due(&mut self, now: Time, out: &mut Out) {
        while let Some(&Reverse((due, handle))) = self.removals.peek()
            && due <= now
        {
            self.removals.pop();
            // An entry stays in the heap until its time, even if its task has started or ended since.
            let due = self.jobs[handle.job as usize].as_ref().is_some_and(|live| match self.market.removal {
                Removal::Deadline => live.queued > 0,
                Removal::Projected => live.is_queued(handle.task as usize),
            });
            if due {
                self.doomed.push(handle.job);
            }
        }
        let mut doomed = std::mem::take(&mut self.doomed);
        // The log lists jobs of one instant by number, and several tasks of one may be due.
        doomed.sort_unstable_by_key(|&slot| self.jobs[slot as usize].as_ref().map(|live| live.job.id));
        doomed.dedup();
        for slot in doomed.drain(..) {
            self.remove(slot, out);
        }
        self.doomed = doomed;
    }

    fn remove(&mut self, slot: u32, out: &mut Out) {
        let live = self.jobs[slot as usize].as_mut().expect("a job with a queued task is not over");
        let job = live.job.id;
        let user = live.user;
        live.removed = true;
        self.gate.forget(live);
        out.log(Record::Removed { job });
        out.send(user, Message::Outcome(Outcome { job, verdict: Verdict::Removed }));
        for task in 0..live.tasks.len() as u32 {
            let handle = TaskHandle { job: slot, task };
            if self.live(handle).is_queued(task as usize) {
                self.dequeue(handle, JobPhase::Awaiting);
            }
        }
        self.drop_if_idle(slot);
    }

    /// Drops a job without a task to wait for; true if it was dropped.
    fn drop_if_idle(&mut self, slot: u32) -> bool {
        let over = self.jobs[slot as usize].take_if(|live| live.is_over());
        if let Some(live) = &over {
            self.policy.forget_job(live.job.id);
            if let Some(failing) = &mut self.failing {
                failing.forget(live.job.id);
            }
        }
        over.is_some()
    }

    /// Takes a winner out of the queue, and its cores from its cluster.
    fn reserve(&mut self, handle: TaskHandle, cluster: usize) {
        self.dequeue(handle, JobPhase::Running { cluster });
        let live = self.jobs[handle.job as usize].as_mut().expect("a queued task belongs to a live job");
        live.running += 1;
        let cores = live.job.tasks[handle.task as usize].cores;
        self.clusters.take(cluster, cores);
        if let Some(unreceived) = &mut self.unreceived {
            unreceived[cluster].reserve(cores);
        }
    }

    /// Gives a winner to its cluster, or sends its inputs there first.
    fn assign(&mut self, handle: TaskHandle, cluster: usize, now: Time, out: &mut Out) {
        let id = TaskId { job: self.live(handle).job.id, index: handle.task };
        out.log(Record::Assigned { task: id, site: self.clusters.site(cluster) });
        match self.fetch(handle, cluster, now, out) {
            0 => self.run_task(handle, cluster, now, out),
            missing => {
                self.live_mut(handle).tasks[handle.task as usize].phase = JobPhase::Fetching { cluster, missing }
            }
        }
    }

    /// Sends the inputs of a task to its cluster; returns the number of those that come from elsewhere.
    fn fetch(&mut self, handle: TaskHandle, cluster: usize, now: Time, out: &mut Out) -> u32 {
        let Some(carrier) = &mut self.carrier else { return 0 };
        let live = self.jobs[handle.job as usize].as_ref().expect("a task that is given away belongs to a live job");
        let task = TaskId { job: live.job.id, index: handle.task };
        if self.failing.as_ref().is_some_and(|failing| failing.has_run(task, cluster)) {
            return 0;
        }
        let mut missing = 0;
        for &from in live.graph.predecessors(handle.task as usize) {
            let JobPhase::Done { cluster: made, .. } = live.tasks[from as usize].phase else {
                panic!("a task is queued once all before it have ended")
            };
            if made == cluster {
                continue;
            }
            let edges = &live.job.edges;
            let at = edges.partition_point(|edge| (edge.from, edge.to) < (from, handle.task));
            let Edge { from, to, data: bytes } = edges[at];
            let load = DataLoad { handle, edge: at as u32 };
            let edge = EdgeId { job: live.job.id, from, to };
            let active = carrier.send(now, (made as u32, cluster as u32), (edge, bytes), load, out);
            let [from, to] = [made, cluster].map(|cluster| self.clusters.site(cluster));
            out.log(Record::Sent { edge, from, to, bytes, active });
            missing += 1;
        }
        missing
    }

    /// Handles a change on the network. Only deliveries are instants: the effect of a new flow on others is no reason
    /// to bid again.
    fn look_at_network(&mut self, now: Time, out: &mut Out) {
        let Some(carrier) = &mut self.carrier else { return };
        match carrier.has_brought(now) {
            true => self.hold(now, out),
            false => carrier.wake(now, out),
        }
    }

    /// Starts the tasks whose last input has arrived.
    fn take_delivered(&mut self, now: Time, out: &mut Out) {
        let loads = self.carrier.as_mut().map(|carrier| carrier.take_arrived(now, out)).unwrap_or_default();
        for DataLoad { handle, edge } in loads {
            let live = self.live_mut(handle);
            let Edge { from, to, .. } = live.job.edges[edge as usize];
            out.log(Record::Delivered { edge: EdgeId { job: live.job.id, from, to } });
            let state = &mut live.tasks[handle.task as usize];
            match &mut state.phase {
                JobPhase::Fetching { cluster, missing: 1 } => {
                    let cluster = *cluster;
                    state.phase = JobPhase::Running { cluster };
                    self.run_task(handle, cluster, now, out);
                }
                JobPhase::Fetching { missing, .. } => *missing -= 1,
                _ => panic!("data arrives for a task that waits for it"),
            }
        }
    }

    fn run_task(&mut self, handle: TaskHandle, cluster: usize, now: Time, out: &mut Out) {
        let live = self.live(handle);
        let Task { cores, runtime, .. } = live.job.tasks[handle.task as usize];
        let id = TaskId { job: live.job.id, index: handle.task };
        let (runtime, safe) = match &mut self.failing {
            Some(failing) => (failing.remaining_work(id, runtime), failing.safe_span(cluster, now)),
            None => (runtime, None),
        };
        let site = self.clusters.site(cluster);
        let safe = if self.prompt.contains(&site) { Some(Span::ZERO) } else { safe };
        let run = Run { task: id, cores, runtime, safe, planned: NodeSet::default() };
        out.send(site, Message::Run(run));
        if let Some(unreceived) = &mut self.unreceived {
            unreceived[cluster].send(cores);
        }
    }

    /// Takes over the offer of a site; true if a task may start because of it. An offer that no honest site sends is
    /// ignored.
    fn take_offer(&mut self, site: ActorId, offer: SiteOffer, now: Time) -> bool {
        let Some((unreceived, cluster)) = self.unreceived.as_mut().zip(self.clusters.of_site(site)) else {
            return false;
        };
        if !unreceived[cluster].take_receipt(offer.received) {
            return false;
        }
        if let Some(failing) = &mut self.failing {
            failing.take_news(now, &mut self.clusters);
        }
        self.clusters.take_offer(cluster, offer, unreceived[cluster].cores());
        self.lanes.iter().any(|(_, demand)| !demand.is_empty())
    }
}

/// The queues of ready tasks, and the jobs that they belong to.
impl Auctioneer {
    fn enqueue(&mut self, handle: TaskHandle, now: Time) {
        let task = handle.task as usize;
        let live = self.jobs[handle.job as usize].as_mut().expect("what joins the queue belongs to a live job");
        live.tasks[task].phase = JobPhase::Queued;
        live.queued += 1;
        if self.keeps_paths && live.queued == 1 {
            *self.paths.entry(live.critical_path()).or_insert(0) += 1;
        }
        let due = live.given_up(task, &self.market);
        let Task { cores, kind, .. } = live.job.tasks[task];
        let (lane, demand) = &mut self.lanes[usize::from(kind.0)];
        demand.add(cores);
        lane.add_task(handle, &mut self.jobs);
        if let Some(waiting) = &mut self.waiting {
            waiting.add(handle, kind);
        }
        if due <= now {
            self.doomed.push(handle.job);
        } else if self.market.removal == Removal::Projected {
            self.removals.push(Reverse((due, handle)));
        }
    }

    fn dequeue(&mut self, handle: TaskHandle, into: JobPhase) {
        let task = handle.task as usize;
        let live = self.jobs[handle.job as usize].as_mut().expect("a queued task belongs to a live job");
        live.tasks[task].phase = into;
        live.queued -= 1;
        if self.keeps_paths && live.queued == 0 {
            let path = live.critical_path();
            let count = self.paths.get_mut(&path).expect("a job with a queued task is counted");
            *count -= 1;
            if *count == 0 {
                self.paths.remove(&path);
            }
        }
        let Task { cores, kind, .. } = live.job.tasks[task];
        let (lane, demand) = &mut self.lanes[usize::from(kind.0)];
        demand.remove(cores);
        lane.remove_task(handle, &mut self.jobs);
        if let Some(waiting) = &mut self.waiting {
            waiting.remove(handle, kind);
        }
    }

    /// The slot of a job. Jobs mostly arrive by number, and then it equals the number.
    fn slot(&self, job: JobId) -> Option<u32> {
        let is_there = self.ids.get(job.0 as usize) == Some(&job);
        if is_there { Some(job.0) } else { self.slots.get(&job).copied() }
    }

    /// Assigns a slot to a job that has arrived, accepted or not.
    fn take_slot(&mut self, id: JobId, live: Option<Box<AuctionedJob>>) -> u32 {
        let slot = self.jobs.len() as u32;
        if id.0 != slot {
            self.slots.insert(id, slot);
        }
        self.ids.push(id);
        self.jobs.push(live);
        slot
    }

    fn live(&self, handle: TaskHandle) -> &AuctionedJob {
        self.jobs[handle.job as usize].as_ref().expect("the job is not over")
    }

    fn live_mut(&mut self, handle: TaskHandle) -> &mut AuctionedJob {
        self.jobs[handle.job as usize].as_mut().expect("the job is not over")
    }
}

impl Actor<Message, Record> for Auctioneer {
    fn handle_batch(&mut self, now: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Out) {
        if self.policy.has_failed() {
            // The run is about to end; only outcomes of auctions may be reported until then.
            return batch.clear();
        }
        let mut idle = true;
        let mut alarmed = false;
        for event in batch.drain(..) {
            match event.cause {
                Cause::Start => continue,
                Cause::Timer(ALARM) => {
                    alarmed = true;
                    continue;
                }
                Cause::Timer(_) => {}
                Cause::Message(Message::Submit(submit)) => self.gathered.submitted.push((submit.job, event.from)),
                Cause::Message(Message::Ended(ended)) => self.gathered.ended.push((ended.task, event.from)),
                Cause::Message(Message::Lost(lost)) => {
                    self.gathered.lost.push((lost.task, event.from, lost.saved));
                }
                Cause::Message(Message::Landed(landed)) => match &mut self.carrier {
                    Some(carrier) => carrier.take_landing(event.from, landed),
                    None => continue,
                },
                Cause::Message(Message::SiteOffer(offer)) => match self.take_offer(event.from, offer, now.time) {
                    true => {}
                    false => continue,
                },
                // Other messages are not for the router.
                Cause::Message(_) => continue,
            }
            idle = false;
        }
        match (idle, now.step) {
            (true, _) if !alarmed => {}
            (true, 0) => out.wake_at(now.time, ALARM),
            (false, 0) => out.wake_at(now.time, 0),
            (true, _) => self.look_at_network(now.time, out),
            (false, _) => self.hold(now.time, out),
        }
    }
}
