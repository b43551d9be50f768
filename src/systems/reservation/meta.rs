//! The meta-scheduler at the router: one book a cluster; users ask it, and what it accepts it gives to a site.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::book::{Book, Offer};
use super::rules::Choose;
use crate::grid::{Invalid, JobId, NodeSet, Request, TaskId};
use crate::kernel::{Actor, ActorId, Cause, Event, Outbox};
use crate::protocol::{Answer, Answered, Cancel, Ended, Hold, Message, Outcome, Record, Reserve, Verdict, Withdraw};
use crate::time::{Span, Stamp, Time};

pub struct MetaScheduler {
    clusters: Vec<Cluster>,
    choose: Choose,
    /// What has been accepted, and has neither ended nor been taken back.
    live: BTreeMap<JobId, Live>,
    seen: BTreeSet<JobId>,
}

/// A site as the meta-scheduler knows it.
pub struct Cluster {
    pub site: ActorId,
    /// How long word to it takes: nothing can start there sooner.
    pub latency: Span,
    pub book: Book,
}

struct Live {
    user: ActorId,
    cluster: usize,
    start: Time,
    end: Time,
    nodes: NodeSet,
}

type Out = Outbox<Message, Record>;

impl MetaScheduler {
    pub fn new(clusters: Vec<Cluster>, choose: Choose) -> MetaScheduler {
        MetaScheduler { clusters, choose, live: BTreeMap::new(), seen: BTreeSet::new() }
    }

    fn reserve(&mut self, now: Time, user: ActorId, reserve: Reserve, out: &mut Out) {
        let Reserve { job, ready, deadline } = reserve;
        let id = job.id;
        if !self.seen.insert(id) {
            let answer = Answer::Invalid(Invalid::Duplicate);
            out.send(user, Message::Answered(Answered { job: id, answer }));
            return;
        }
        out.log(Record::Arrived { job: job.clone(), user });

        let most = self.clusters.iter().map(|cluster| cluster.book.nodes()).max().unwrap_or(0);
        let request = Request::of(&job, ready, deadline).and_then(|request| request.check(most).map(|()| request));
        let answer = match request {
            Err(invalid) => Answer::Invalid(invalid),
            Ok(request) => match self.find(now, &request) {
                None => Answer::Declined,
                Some((cluster, offer)) => {
                    let runtime = job.tasks[0].runtime.min(request.duration);
                    self.accept(id, user, cluster, &offer, &request, runtime, out);
                    Answer::Accepted { site: self.clusters[cluster].site, start: offer.start, nodes: offer.nodes }
                }
            },
        };
        out.log(Record::Answered { job: id, ready, deadline, answer: answer.clone() });
        if let Answer::Accepted { site, .. } = answer {
            out.log(Record::Assigned { task: TaskId { job: id, index: 0 }, site });
        }
        out.send(user, Message::Answered(Answered { job: id, answer }));
    }

    fn find(&mut self, now: Time, request: &Request) -> Option<(usize, Offer)> {
        let offers = self.clusters.iter_mut().enumerate().filter_map(|(number, cluster)| {
            let reachable = now + cluster.latency;
            if request.nodes > cluster.book.nodes() {
                return None;
            }
            Some((number, cluster.book.find(reachable, request)?))
        });
        match self.choose {
            Choose::First => { offers }.next(),
            // All clusters are equally fast, so the earliest start is the earliest end as well.
            Choose::Global => offers.min_by_key(|(number, offer)| (offer.rank, offer.start, *number)),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "they are what an acceptance is made of")]
    fn accept(
        &mut self,
        job: JobId,
        user: ActorId,
        cluster: usize,
        offer: &Offer,
        request: &Request,
        runtime: Span,
        out: &mut Out,
    ) {
        let Offer { start, ref nodes, .. } = *offer;
        let end = start + request.duration;
        let Cluster { site, book, .. } = &mut self.clusters[cluster];
        book.add(start, end, nodes).expect("what is offered is free");
        let task = TaskId { job, index: 0 };
        out.send(*site, Message::Hold(Hold { task, start, nodes: nodes.clone(), runtime }));
        self.live.insert(job, Live { user, cluster, start, end, nodes: nodes.clone() });
    }

    /// Frees what a job leaves of its time. The end of what was taken back in time is void.
    fn ended(&mut self, now: Time, from: ActorId, ended: Ended, out: &mut Out) {
        let job = ended.task.job;
        let known = self.live.get(&job).is_some_and(|live| self.clusters[live.cluster].site == from);
        let Some(live) = self.live.remove(&job).filter(|_| known) else { return };
        self.free(now, &live);
        out.log(Record::Completed { job, value: None });
        out.send(live.user, Message::Outcome(Outcome { job, verdict: Verdict::Completed }));
    }

    /// Too late, and without effect, once the site might start the job before it hears of this.
    fn cancel(&mut self, now: Time, from: ActorId, job: JobId, out: &mut Out) {
        let waits = |live: &Live| live.user == from && now + self.clusters[live.cluster].latency < live.start;
        if !self.live.get(&job).is_some_and(waits) {
            return;
        }
        let live = self.live.remove(&job).expect("it is live");
        self.free(now, &live);
        let task = TaskId { job, index: 0 };
        out.send(self.clusters[live.cluster].site, Message::Withdraw(Withdraw { task }));
        out.log(Record::Cancelled { job });
        out.send(live.user, Message::Outcome(Outcome { job, verdict: Verdict::Removed }));
    }

    fn free(&mut self, now: Time, live: &Live) {
        let from = live.start.max(now);
        if from < live.end {
            let book = &mut self.clusters[live.cluster].book;
            book.delete(from, live.end, &live.nodes).expect("what is live is booked");
        }
    }
}

impl Actor<Message, Record> for MetaScheduler {
    /// What ends or is taken back makes room for what is asked at the same moment.
    fn handle(&mut self, now: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Out) {
        let mut asked = Vec::new();
        let mut cancelled = Vec::new();
        for event in batch.drain(..) {
            match event.cause {
                Cause::Message(Message::Ended(ended)) => self.ended(now.time, event.from, ended, out),
                Cause::Message(Message::Cancel(Cancel { job })) => cancelled.push((event.from, job)),
                Cause::Message(Message::Reserve(reserve)) => asked.push((event.from, reserve)),
                _ => {}
            }
        }
        for (from, job) in cancelled {
            self.cancel(now.time, from, job, out);
        }
        // In order of arrival, and of their numbers within a moment.
        asked.sort_by_key(|(_, reserve)| Reverse((reserve.job.arrive, reserve.job.id)));
        while let Some((user, reserve)) = asked.pop() {
            self.reserve(now.time, user, reserve, out);
        }
    }
}
