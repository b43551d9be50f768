//! Search of other nodes for a reservation whose nodes have failed: at its time, or later, or elsewhere.
//!
//! A shared site with an offer is asked, as at the first time; until it answers, no site has the job. After a refusal
//! the search continues.

use super::book::Offer;
use super::meta::{AcceptedJob, AcceptedPhase, Cluster, MetaScheduler, Out};
use crate::grid::{JobId, NodeSet, Request, TaskId};
use crate::protocol::{self, Answered, Booked, Message, Record, ReserveAnswer};
use crate::time::Time;

/// A job for which a site has been asked.
pub(super) struct Moving {
    /// The job before the move.
    pub live: AcceptedJob,
    seek: MoveSearch,
    pub cluster: usize,
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
    /// Rest of the request.
    left: Request,
    next: MoveStep,
    /// Other nodes that a site has named as free; tried before `next`.
    named: Option<(usize, Offer)>,
    /// True if the last attempt was such nodes.
    are_named: bool,
    /// Last refusal, and all clusters without further offers.
    refused: Option<(usize, Time)>,
    tried: Vec<usize>,
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

impl MetaScheduler {
    /// Finds other nodes for the rest of a job. Returns it if there are none.
    ///
    /// A job with an input stays at the site of its input, and, while that is on its way, starts no earlier than
    /// planned, as no better estimate is known.
    pub(super) fn move_on(&mut self, now: Time, job: JobId, live: AcceptedJob, out: &mut Out) -> Option<AcceptedJob> {
        let left = Request { duration: live.left(live.request.duration), ..live.request };
        let (named, are_named, refused) = (None, false, None);
        let seek = MoveSearch { left, next: MoveStep::AtItsTime, named, are_named, refused, tried: Vec::new() };
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
        let Some((cluster, Offer { start, nodes, .. })) = self.next_offer(now, &live, &mut seek) else {
            return Some(live);
        };
        let until = start + self.lasts(cluster, &seek.left);
        let Cluster { site, speed, is_shared, ref mut book, .. } = self.clusters[cluster];
        book.add(start, until, &nodes).expect("what is offered is free");
        let awaits_input = live.phase == AcceptedPhase::Awaited;
        let moving = Moving { live, seek, cluster, start, until, nodes, awaits_input, is_cancelled: false };
        if !is_shared {
            self.settle(now, job, moving, out);
            return None;
        }
        let (task, nodes, walltime) = (TaskId { job, index: 0 }, moving.nodes.clone(), until.since(start));
        let runtime = speed.time(moving.live.left(moving.live.runtime));
        out.log(Record::Assigned { task, site });
        out.send(site, Message::Book(protocol::Book { task, start, nodes, walltime, runtime, awaits_input }));
        self.moving.insert(job, moving);
        None
    }

    fn next_offer(&mut self, now: Time, live: &AcceptedJob, seek: &mut MoveSearch) -> Option<(usize, Offer)> {
        let named = seek.named.take();
        seek.are_named = named.is_some();
        if named.is_some() {
            return named;
        }
        loop {
            let (home, left) = (live.cluster, seek.left);
            let offer = match seek.next {
                MoveStep::AtItsTime => {
                    seek.next = MoveStep::Preferred;
                    let deadline = live.start + self.lasts(home, &left);
                    let at_its_time = Request { ready: live.start, deadline, ..left };
                    let is_in_time = live.start >= now + self.clusters[home].latency;
                    if is_in_time { self.ask(home, now, None, &at_its_time) } else { None }.map(|offer| (home, offer))
                }
                MoveStep::Preferred => {
                    seek.next = MoveStep::Latest;
                    let soonest =
                        if live.phase == AcceptedPhase::Awaited { left.ready.max(live.start) } else { left.ready };
                    let offer = self.ask(home, now, None, &Request { ready: soonest, ..left });
                    offer.map(|offer| (home, offer)).filter(|(_, offer)| seek.refused != Some((home, offer.start)))
                }
                MoveStep::Latest => {
                    seek.next = MoveStep::Elsewhere;
                    let latest = seek
                        .refused
                        .and_then(|(cluster, start)| Some((cluster, self.latest(now, cluster, &left, start)?)));
                    latest.and_then(|(cluster, latest)| Some((cluster, self.ask(cluster, now, None, &latest)?)))
                }
                MoveStep::Elsewhere => {
                    let there = seek.refused.take().map_or(home, |(cluster, _)| cluster);
                    seek.tried.extend([home, there]);
                    if live.staging.is_some_and(|staging| staging.has_input()) {
                        return None;
                    }
                    seek.next = MoveStep::Latest;
                    return self.find(now, &left, None, &seek.tried);
                }
            };
            if offer.is_some() {
                return offer;
            }
        }
    }

    /// Handles the answer of a site.
    pub(super) fn moved(&mut self, now: Time, job: JobId, booked: &Booked, out: &mut Out) {
        let moving = self.moving.remove(&job).expect("it is moving");
        let (user, is_cancelled) = (moving.live.user, moving.is_cancelled);
        if booked.granted {
            let is_provided = moving.awaits_input && moving.live.phase == AcceptedPhase::Given;
            self.settle(now, job, moving, out);
            if is_provided {
                self.provided(now, job, out);
            }
            if is_cancelled {
                self.cancel(now, user, job, out);
            }
            return;
        }
        let Moving { live, mut seek, cluster, start, until, nodes, .. } = moving;
        self.unbook(now, cluster, (start, until), &nodes);
        let home = Record::Assigned { task: TaskId { job, index: 0 }, site: self.clusters[live.cluster].site };
        if is_cancelled {
            out.log(home);
            return Self::cancelled(job, &live, out);
        }
        seek.refused = Some((cluster, start));
        if !seek.are_named {
            let duration = until.since(start);
            // A move at the original time allows no later start.
            let deadline = if seek.next == MoveStep::Preferred { until } else { seek.left.deadline };
            let there = Request { ready: start, duration, deadline, ..seek.left };
            let offer = self.among(cluster, now + self.clusters[cluster].latency, &there, &booked.free);
            seek.named = offer.map(|offer| (cluster, offer));
        }
        if let Some(live) = self.seek_on(now, job, live, seek, out) {
            // It has never been at the site that was asked.
            out.log(home);
            self.breaks(job, &live, out);
        }
    }

    /// Assigns other nodes to a job.
    fn settle(&mut self, now: Time, job: JobId, moving: Moving, out: &mut Out) {
        let Moving { mut live, cluster, start, until, nodes, .. } = moving;
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
