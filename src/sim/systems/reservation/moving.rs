//! Search of other nodes for a reservation whose nodes have failed: at its time, or later, or elsewhere.
//!
//! A shared site with an offer is asked, as at the first time; until it answers, no site has the job. After a refusal
//! the search continues.

use super::book::Offer;
use super::meta::{AcceptedJob, AcceptedPhase, Cluster, MetaScheduler, Out};
use super::shapes::{RefusedShape, ShapedOffer, WantedJob};
use crate::grid::{JobId, NodeSet, Request, TaskId};
use crate::protocol::{self, Answered, Booked, Message, Record, ReserveAnswer};
use crate::time::Time;

/// A job for which a site has been asked.
pub(super) struct Moving {
    /// The job before the move.
    pub live: AcceptedJob,
    seek: MoveSearch,
    pub cluster: usize,
    shape: usize,
    start: Time,
    until: Time,
    nodes: NodeSet,
    /// True if the site has been told to wait for its input.
    awaits_input: bool,
    /// True if its user has cancelled it meanwhile.
    pub is_cancelled: bool,
}

/// State of the search.
struct MoveSearch {
    /// Request for the rest of the job.
    left: WantedJob,
    next: MoveStep,
    /// Other nodes that a site has named as free; tried before `next`.
    named: Option<ShapedOffer>,
    /// True if the last attempt was for nodes that the site has named as free.
    are_named: bool,
    /// Last refusal, and all shapes that have no further offers of a cluster.
    refused: Option<(RefusedShape, Time)>,
    tried: Vec<RefusedShape>,
    /// Index of the shape that was last recorded.
    recorded: usize,
}

/// Steps of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MoveStep {
    AtItsTime,
    Preferred,
    /// At the latest start, which conflicts least with other work, after a refusal of another one.
    Latest,
    Elsewhere,
}

impl MoveSearch {
    /// Records the shape that is tried next, if it is another one.
    fn record(&mut self, job: JobId, shape: usize, out: &mut Out) {
        if self.recorded != shape {
            self.recorded = shape;
            out.log(Record::Shaped { job, shape: shape as u32 });
        }
    }
}

impl MetaScheduler {
    /// Finds other nodes for the rest of a job. Returns it if there are none.
    ///
    /// A job with an input stays at the site of its input, and, while that is on its way, starts no earlier than
    /// planned, as no better estimate is known.
    ///
    /// At its time, a malleable job only gets its own shape. Then it may get another one, unless work of it is saved: a
    /// checkpoint is of a job on a certain number of nodes.
    pub(super) fn move_on(&mut self, now: Time, job: JobId, live: AcceptedJob, out: &mut Out) -> Option<AcceptedJob> {
        let left = match live.saved.is_zero() {
            true => live.wanted.clone(),
            false => live.wanted.rest_in_shape(live.shape, live.unsaved_part(live.request.duration)),
        };
        let named = None;
        let are_named = false;
        let refused = None;
        let tried = Vec::new();
        let recorded = live.shape;
        let seek = MoveSearch { left, next: MoveStep::AtItsTime, named, are_named, refused, tried, recorded };
        self.seek_on(now, job, live, seek, out)
    }

    fn seek_on(
        &mut self,
        now: Time,
        job: JobId,
        live: AcceptedJob,
        mut seek: MoveSearch,
        out: &mut Out,
    ) -> Option<AcceptedJob> {
        let Some(found) = self.next_offer(now, &live, &mut seek) else {
            seek.record(job, live.shape, out);
            return Some(live);
        };
        let ShapedOffer { cluster, shape, offer: Offer { start, nodes, .. } } = found;
        seek.record(job, shape, out);
        let until = start + self.booked_time(cluster, &seek.left.shaped(shape));
        let Cluster { site, speed, is_shared, ref mut book, .. } = self.clusters[cluster];
        book.add(start, until, &nodes).expect("what is offered is free");
        let awaits_input = live.phase == AcceptedPhase::Awaited;
        let moving = Moving { live, seek, cluster, shape, start, until, nodes, awaits_input, is_cancelled: false };
        if !is_shared {
            self.assign_nodes(now, job, moving, out);
            return None;
        }
        let task = TaskId { job, index: 0 };
        let nodes = moving.nodes.clone();
        let walltime = until.since(start);
        let runtime = speed.time(moving.live.unsaved_part(moving.live.wanted.runtime(shape)));
        out.log(Record::Assigned { task, site });
        out.send(site, Message::Book(protocol::Book { task, start, nodes, walltime, runtime, awaits_input }));
        self.moving.insert(job, moving);
        None
    }

    fn next_offer(&mut self, now: Time, live: &AcceptedJob, seek: &mut MoveSearch) -> Option<ShapedOffer> {
        let named = seek.named.take();
        seek.are_named = named.is_some();
        if named.is_some() {
            return named;
        }
        let home = live.cluster;
        loop {
            let found = match seek.next {
                MoveStep::AtItsTime => {
                    seek.next = MoveStep::Preferred;
                    let left = seek.left.shaped(live.shape);
                    let deadline = live.start + self.booked_time(home, &left);
                    let at_its_time = Request { ready: live.start, deadline, ..left };
                    let is_in_time = live.start >= now + self.clusters[home].latency;
                    let offer = if is_in_time {
                        self.find_offer(home, now, None, (&seek.left, live.shape), &at_its_time)
                    } else {
                        None
                    };
                    offer.map(|offer| ShapedOffer { cluster: home, shape: live.shape, offer })
                }
                MoveStep::Preferred => {
                    seek.next = MoveStep::Latest;
                    let found = self.find_at_home(now, live, seek);
                    found.filter(|found| seek.refused != Some(((home, found.shape), found.offer.start)))
                }
                MoveStep::Latest => {
                    seek.next = MoveStep::Elsewhere;
                    seek.refused.and_then(|((cluster, shape), start)| {
                        let latest = self.latest(now, cluster, &seek.left.shaped(shape), start)?;
                        Some(ShapedOffer {
                            cluster,
                            shape,
                            offer: self.find_offer(cluster, now, None, (&seek.left, shape), &latest)?,
                        })
                    })
                }
                MoveStep::Elsewhere => {
                    match seek.refused.take() {
                        Some((refused, _)) => seek.tried.push(refused),
                        None => seek.tried.extend(seek.left.open().map(|shape| (home, shape))),
                    }
                    seek.next = MoveStep::Latest;
                    return match live.staging.is_some_and(|staging| staging.has_input()) {
                        true => self.find_at_home(now, live, seek),
                        // Its site comes first, as it may have room for another shape.
                        false => {
                            self.find_at_home(now, live, seek).or_else(|| self.find(now, &seek.left, None, &seek.tried))
                        }
                    };
                }
            };
            if found.is_some() {
                return found;
            }
        }
    }

    /// An offer of the site that has the job now.
    fn find_at_home(&mut self, now: Time, live: &AcceptedJob, seek: &MoveSearch) -> Option<ShapedOffer> {
        let ready = live.request.ready;
        let soonest = if live.phase == AcceptedPhase::Awaited { ready.max(live.start) } else { ready };
        self.find_at(live.cluster, now, &seek.left.ready_at(soonest), None, &seek.tried)
    }

    /// Handles the answer of a site.
    pub(super) fn handle_booked_move(&mut self, now: Time, job: JobId, booked: &Booked, out: &mut Out) {
        let moving = self.moving.remove(&job).expect("it is moving");
        let user = moving.live.user;
        let is_cancelled = moving.is_cancelled;
        if booked.granted {
            let is_provided = moving.awaits_input && moving.live.phase == AcceptedPhase::Given;
            self.assign_nodes(now, job, moving, out);
            if is_provided {
                self.handle_provided(now, job, out);
            }
            if is_cancelled {
                self.cancel(now, user, job, out);
            }
            return;
        }
        let Moving { live, mut seek, cluster, shape, start, until, nodes, .. } = moving;
        self.unbook(now, cluster, (start, until), &nodes);
        let home = Record::Assigned { task: TaskId { job, index: 0 }, site: self.clusters[live.cluster].site };
        if is_cancelled {
            seek.record(job, live.shape, out);
            out.log(home);
            return Self::confirm_cancel(job, &live, out);
        }
        seek.refused = Some(((cluster, shape), start));
        if !seek.are_named {
            let left = seek.left.shaped(shape);
            let duration = until.since(start);
            // A move at the original time allows no later start.
            let deadline = if seek.next == MoveStep::Preferred { until } else { left.deadline };
            let there = Request { ready: start, duration, deadline, ..left };
            let offer = self.offer_among(cluster, now + self.clusters[cluster].latency, &there, &booked.free);
            seek.named = offer.map(|offer| ShapedOffer { cluster, shape, offer });
        }
        if let Some(live) = self.seek_on(now, job, live, seek, out) {
            // It has never been at the site that was asked.
            out.log(home);
            self.break_promise(job, &live, out);
        }
    }

    /// Assigns other nodes to a job.
    fn assign_nodes(&mut self, now: Time, job: JobId, moving: Moving, out: &mut Out) {
        let Moving { mut live, cluster, shape, start, until, nodes, .. } = moving;
        (live.shape, live.request, live.runtime) = (shape, live.wanted.shaped(shape), live.wanted.runtime(shape));
        let Cluster { site, is_shared, .. } = self.clusters[cluster];
        out.log(Record::Rebooked { job, site, start, until, nodes: nodes.clone() });
        if !is_shared {
            out.log(Record::Assigned { task: TaskId { job, index: 0 }, site });
        }
        let answer = ReserveAnswer::Accepted { site, start, nodes: nodes.clone() };
        out.send(live.user, Message::Answered(Answered { job, answer }));
        (live.cluster, live.start, live.end, live.nodes) = (cluster, start, until, nodes);
        let is_given = live.phase == AcceptedPhase::Given;
        self.live.insert(job, live);
        if is_shared {
            self.await_end(job);
        } else if is_given {
            self.hold(now, job, start, out);
        }
    }
}
