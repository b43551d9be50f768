//! Requests of which a cluster is asked first: those at sites that others use too, who know alone what runs there.

use super::book::Offer;
use super::meta::{Cluster, Live, MetaScheduler, Out, Phase};
use crate::grid::{NodeSet, Request, TaskId};
use crate::kernel::ActorId;
use crate::protocol::{self, Answer, Booked, Message, Record, Reserve};
use crate::time::{Span, Time};

/// A request that a site has been asked for. The site knows what else it runs: if it refuses the start that the policy
/// prefers, it is asked for the latest one, when others are least in the way, and then the next site is asked.
pub(super) struct Asked {
    pub user: ActorId,
    reserve: Reserve,
    request: Request,
    cluster: usize,
    start: Time,
    nodes: NodeSet,
    /// Whether this is the latest start already.
    is_latest: bool,
    /// Its user has taken it back meanwhile.
    pub is_cancelled: bool,
    /// The clusters that will not have it.
    refused: Vec<usize>,
}

impl MetaScheduler {
    /// Takes what a cluster has to offer; where others use it too, it has the last word.
    pub(super) fn book(
        &mut self,
        now: Time,
        (user, reserve, request): (ActorId, Reserve, Request),
        (cluster, offer): (usize, Offer),
        (is_latest, refused): (bool, Vec<usize>),
        out: &mut Out,
    ) {
        let job = &reserve.job;
        let runtime = runtime(&reserve, &request);
        let Offer { start, nodes, .. } = offer;
        let lasts = self.lasts(cluster, &request);
        let Cluster { site, ref mut book, is_shared, .. } = self.clusters[cluster];
        book.add(start, start + lasts, &nodes).expect("what is offered is free");
        let task = TaskId { job: job.id, index: 0 };
        if is_shared {
            let (nodes, awaits_input) = (nodes.clone(), self.has_to_bring(&reserve, site));
            let book = protocol::Book { task, start, nodes, walltime: lasts, runtime, awaits_input };
            out.send(site, Message::Book(book));
        }
        let id = job.id;
        let is_cancelled = false;
        let asked = Asked { user, reserve, request, cluster, start, nodes, is_latest, is_cancelled, refused };
        if is_shared {
            // It may start before the site's answer is here.
            out.log(Record::Assigned { task, site });
            self.asked.insert(id, asked);
        } else {
            self.accept(now, asked, out);
        }
    }

    /// A site that others use too has answered.
    pub(super) fn booked(&mut self, now: Time, from: ActorId, booked: Booked, out: &mut Out) {
        let job = booked.task.job;
        if self.moving.get(&job).is_some_and(|moving| self.clusters[moving.cluster].site == from) {
            return self.moved(now, job, booked.granted, out);
        }
        if self.asked.get(&job).is_none_or(|asked| self.clusters[asked.cluster].site != from) {
            return;
        }
        let asked = self.asked.remove(&job).expect("it was just there");
        if booked.granted {
            let (user, is_cancelled) = (asked.user, asked.is_cancelled);
            self.accept(now, asked, out);
            if is_cancelled {
                self.cancel(now, user, job, out);
            }
            return;
        }
        let Asked { user, reserve, request, cluster, start, nodes, is_latest, is_cancelled, mut refused } = asked;
        out.log(Record::Withdrawn { task: TaskId { job, index: 0 } });
        let end = start + self.lasts(cluster, &request);
        self.unbook(now, cluster, (start, end), &nodes);
        let staging = reserve.staging;
        let latest = if is_latest { None } else { self.latest(now, cluster, &request, start) };
        let latest = latest.and_then(|latest| self.ask(cluster, now, staging, &latest));
        let again = match latest {
            _ if is_cancelled => None,
            Some(offer) => Some(((cluster, offer), true)),
            None => {
                refused.push(cluster);
                self.find(now, &request, staging, &refused).map(|offer| (offer, false))
            }
        };
        match again {
            Some((offer, is_latest)) => self.book(now, (user, reserve, request), offer, (is_latest, refused), out),
            None => Self::answer(user, &reserve, Answer::Declined, out),
        }
    }

    /// A request that starts as late as it may at a cluster, if that is later than a start which has been refused.
    pub(super) fn latest(&self, now: Time, cluster: usize, request: &Request, refused: Time) -> Option<Request> {
        let there = Request { duration: self.lasts(cluster, request), ..*request };
        let latest = there.latest_start(now).filter(|latest| *latest > refused)?;
        Some(Request { ready: latest, ..*request })
    }

    fn accept(&mut self, now: Time, asked: Asked, out: &mut Out) {
        let Asked { user, reserve, request, cluster, start, nodes, is_cancelled, .. } = asked;
        let Cluster { site, is_shared, .. } = self.clusters[cluster];
        let job = reserve.job.id;
        let waits = self.has_to_bring(&reserve, site);
        let (end, nodes_held) = (start + self.lasts(cluster, &request), nodes.clone());
        let (runtime, staging) = (runtime(&reserve, &request), reserve.staging);
        Self::answer(user, &reserve, Answer::Accepted { site, start, nodes }, out);
        if !is_shared {
            out.log(Record::Assigned { task: TaskId { job, index: 0 }, site });
        }
        // Nobody wants the data of what is taken back in a moment.
        if let Some((stager, staging)) = self.stager.as_mut().zip(staging.as_ref())
            && !is_cancelled
        {
            stager.bring(now, job, staging, site, out);
        }
        let phase = if waits { Phase::Awaited } else { Phase::Given };
        let (nodes, is_cancelled, losses, saved) = (nodes_held, false, 0, Span::ZERO);
        let live =
            Live { user, request, cluster, start, end, nodes, is_cancelled, runtime, staging, phase, losses, saved };
        self.live.insert(job, live);
        if is_shared {
            self.await_end(job);
        } else if !waits {
            self.hold(now, job, start, out);
        }
    }
}

/// How long a job really runs in what it asks for.
fn runtime(reserve: &Reserve, request: &Request) -> Span {
    reserve.job.tasks[0].runtime.min(request.duration)
}
