//! Requests that need a site's consent: at sites that several systems use, only the site knows all of its work.

use super::book::Offer;
use super::meta::{AcceptedJob, AcceptedPhase, Cluster, MetaScheduler, Out};
use super::shapes::{RefusedShape, ShapedOffer, WantedJob};
use crate::grid::{NodeSet, Request, TaskId};
use crate::kernel::ActorId;
use crate::protocol::{self, Booked, Message, Record, Reserve, ReserveAnswer};
use crate::time::{Span, Time};

/// A request that a site has been asked for. If the site refuses the start that the policy prefers, its answer names
/// the nodes that are free then, and it is asked for some of these; then it is asked for the latest start, which
/// conflicts least with other work, in the same way. After that the site has refused the shape, and the search
/// continues with the other shapes and sites.
pub(super) struct AskedRequest {
    pub user: ActorId,
    reserve: Reserve,
    wanted: WantedJob,
    /// Index of the shape that was requested.
    shape: usize,
    cluster: usize,
    start: Time,
    nodes: NodeSet,
    search: Search,
    /// True if the user has cancelled the request meanwhile.
    pub is_cancelled: bool,
}

/// State of the search for a place.
#[derive(Default)]
pub(super) struct Search {
    /// True if the requested start is the latest possible one.
    is_latest: bool,
    /// True if the nodes are among those that the site has named as free.
    are_named: bool,
    refused: Vec<RefusedShape>,
}

impl MetaScheduler {
    /// Accepts an offer of a cluster; a shared site has to confirm it.
    pub(super) fn book(
        &mut self,
        now: Time,
        (user, reserve, wanted): (ActorId, Reserve, WantedJob),
        found: ShapedOffer,
        search: Search,
        out: &mut Out,
    ) {
        let job = &reserve.job;
        let ShapedOffer { cluster, shape, offer: Offer { start, nodes, .. } } = found;
        let lasts = self.booked_time(cluster, &wanted.shaped(shape));
        let Cluster { site, ref mut book, is_shared, .. } = self.clusters[cluster];
        book.add(start, start + lasts, &nodes).expect("what is offered is free");
        let task = TaskId { job: job.id, index: 0 };
        if wanted.is_malleable() {
            out.log(Record::Shaped { job: job.id, shape: shape as u32 });
        }
        if is_shared {
            let nodes = nodes.clone();
            let awaits_input = self.has_to_bring(&reserve, site);
            let runtime = self.clusters[cluster].speed.time(wanted.runtime(shape));
            let book = protocol::Book { task, start, nodes, walltime: lasts, runtime, awaits_input };
            out.send(site, Message::Book(book));
        }
        let id = job.id;
        let is_cancelled = false;
        let asked = AskedRequest { user, reserve, wanted, shape, cluster, start, nodes, search, is_cancelled };
        if is_shared {
            // It may start before the site's answer arrives.
            out.log(Record::Assigned { task, site });
            self.asked.insert(id, asked);
        } else {
            self.accept(now, asked, out);
        }
    }

    /// Handles the answer of a shared site.
    pub(super) fn handle_booked(&mut self, now: Time, from: ActorId, booked: Booked, out: &mut Out) {
        let job = booked.task.job;
        if self.moving.get(&job).is_some_and(|moving| self.clusters[moving.cluster].site == from) {
            return self.handle_booked_move(now, job, &booked, out);
        }
        if self.asked.get(&job).is_none_or(|asked| self.clusters[asked.cluster].site != from) {
            return;
        }
        let mut asked = self.asked.remove(&job).expect("it was just there");
        if booked.granted {
            let user = asked.user;
            let is_cancelled = asked.is_cancelled;
            self.accept(now, asked, out);
            if is_cancelled {
                self.cancel(now, user, job, out);
            }
            return;
        }
        out.log(Record::Withdrawn { task: TaskId { job, index: 0 } });
        let end = asked.start + self.booked_time(asked.cluster, &asked.wanted.shaped(asked.shape));
        self.unbook(now, asked.cluster, (asked.start, end), &asked.nodes);
        let next = if asked.is_cancelled { None } else { self.after_refusal(now, &mut asked, &booked.free) };
        let AskedRequest { user, reserve, wanted, search, .. } = asked;
        match next {
            Some(found) => self.book(now, (user, reserve, wanted), found, search, out),
            None => self.decline(user, &reserve, out),
        }
    }

    /// The next offer to ask for: other nodes, among those that the site has named as free, at the same start or as
    /// soon as a message can arrive; the latest start there; or an offer for another shape or of another site.
    fn after_refusal(&mut self, now: Time, asked: &mut AskedRequest, free: &NodeSet) -> Option<ShapedOffer> {
        let AskedRequest { reserve, wanted, shape, cluster, start, search, .. } = asked;
        let cluster = *cluster;
        let shape = *shape;
        let start = *start;
        let staging = reserve.staging;
        let request = wanted.shaped(shape);
        let (soonest, there) = self.at_site(cluster, now, staging, &request);
        if !search.are_named
            && let Some(offer) = self.offer_among(cluster, start.max(soonest), &there, free)
        {
            search.are_named = true;
            return Some(ShapedOffer { cluster, shape, offer });
        }
        search.are_named = false;
        if !search.is_latest
            && let Some(latest) = self.latest(now, cluster, &request, start)
            && let Some(offer) = self.find_offer(cluster, now, staging, (wanted, shape), &latest)
        {
            search.is_latest = true;
            return Some(ShapedOffer { cluster, shape, offer });
        }
        search.is_latest = false;
        search.refused.push((cluster, shape));
        self.find(now, wanted, staging, &search.refused)
    }

    /// A start for a request, at `from` or as soon afterwards as it is ready, if that is in time, on nodes that a site
    /// has named as free and that are free in its book.
    pub(super) fn offer_among(&self, cluster: usize, from: Time, request: &Request, free: &NodeSet) -> Option<Offer> {
        let start = from.max(request.ready);
        let is_in_time = request.latest_start(start).is_some();
        let book = &self.clusters[cluster].book;
        let nodes = book.free_among(start, start + request.duration, request.nodes, free).filter(|_| is_in_time)?;
        Some(Offer { start, nodes, rank: 0 })
    }

    /// The request with its latest start at a cluster, if that is later than the refused start.
    pub(super) fn latest(&self, now: Time, cluster: usize, request: &Request, refused: Time) -> Option<Request> {
        let there = Request { duration: self.booked_time(cluster, request), ..*request };
        let latest = there.latest_start(now).filter(|latest| *latest > refused)?;
        Some(Request { ready: latest, ..*request })
    }

    fn accept(&mut self, now: Time, asked: AskedRequest, out: &mut Out) {
        let AskedRequest { user, reserve, wanted, shape, cluster, start, nodes, is_cancelled, .. } = asked;
        let request = wanted.shaped(shape);
        let Cluster { site, is_shared, .. } = self.clusters[cluster];
        let job = reserve.job.id;
        let waits = self.has_to_bring(&reserve, site);
        let end = start + self.booked_time(cluster, &request);
        let nodes_held = nodes.clone();
        let runtime = wanted.runtime(shape);
        let staging = reserve.staging;
        Self::send_answer(user, &reserve, ReserveAnswer::Accepted { site, start, nodes }, out);
        if !is_shared {
            out.log(Record::Assigned { task: TaskId { job, index: 0 }, site });
        }
        // The data of a job that is about to be cancelled is not sent.
        if let Some((stager, staging)) = self.stager.as_mut().zip(staging.as_ref())
            && !is_cancelled
        {
            stager.bring(now, job, staging, site, out);
        }
        let phase = if waits { AcceptedPhase::Awaited } else { AcceptedPhase::Given };
        let nodes = nodes_held;
        let is_cancelled = false;
        let losses = 0;
        let saved = Span::ZERO;
        let live = AcceptedJob {
            user,
            wanted,
            shape,
            request,
            cluster,
            start,
            end,
            nodes,
            is_cancelled,
            runtime,
            staging,
            phase,
            losses,
            saved,
        };
        self.live.insert(job, live);
        if is_shared {
            self.await_end(job);
        } else if !waits {
            self.hold(now, job, start, out);
        }
    }
}
