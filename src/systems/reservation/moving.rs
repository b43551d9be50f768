//! Other nodes for a reservation whose own have failed: at its time, or later, or elsewhere.
//!
//! Where a site that others use too has some to offer, it is asked, as it was the first time; while it has not
//! answered, nobody has the job. What it refuses is looked for at the next place.

use super::book::Offer;
use super::meta::{Cluster, Live, MetaScheduler, Out, Phase};
use crate::grid::{JobId, NodeSet, Request, TaskId};
use crate::protocol::{self, Answered, Booked, Message, Record, ReserveAnswer};
use crate::time::Time;

/// A job for which a site has been asked.
pub(super) struct Moving {
    /// As it was before.
    pub live: Live,
    seek: Seek,
    pub cluster: usize,
    start: Time,
    until: Time,
    nodes: NodeSet,
    /// Whether the site has been told to wait for its input.
    awaits_input: bool,
    /// Its user has taken it back meanwhile.
    pub is_cancelled: bool,
}

/// How far the search has got.
struct Seek {
    /// What is left of the request.
    left: Request,
    next: Step,
    /// Other nodes, which a site has named as free: tried before `next`.
    named: Option<(usize, Offer)>,
    /// Whether what was tried last were such nodes.
    are_named: bool,
    /// What was refused last, and all clusters that have nothing to offer any more.
    refused: Option<(usize, Time)>,
    tried: Vec<usize>,
}

/// What is tried one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    AtItsTime,
    Preferred,
    /// When others are least in the way of one who has refused another start.
    Latest,
    Elsewhere,
}

impl MetaScheduler {
    /// Finds other nodes for what is left of a job. Gives it back if there are none.
    ///
    /// Where its input is, or is to be, it stays; and as nobody knows better, it starts no sooner than it was to when
    /// that is on its way.
    pub(super) fn move_on(&mut self, now: Time, job: JobId, live: Live, out: &mut Out) -> Option<Live> {
        let left = Request { duration: live.left(live.request.duration), ..live.request };
        let (named, are_named, refused) = (None, false, None);
        let seek = Seek { left, next: Step::AtItsTime, named, are_named, refused, tried: Vec::new() };
        self.seek_on(now, job, live, seek, out)
    }

    fn seek_on(&mut self, now: Time, job: JobId, live: Live, mut seek: Seek, out: &mut Out) -> Option<Live> {
        let Some((cluster, Offer { start, nodes, .. })) = self.next_offer(now, &live, &mut seek) else {
            return Some(live);
        };
        let until = start + self.lasts(cluster, &seek.left);
        let Cluster { site, is_shared, ref mut book, .. } = self.clusters[cluster];
        book.add(start, until, &nodes).expect("what is offered is free");
        let awaits_input = live.phase == Phase::Awaited;
        let moving = Moving { live, seek, cluster, start, until, nodes, awaits_input, is_cancelled: false };
        if !is_shared {
            self.settle(now, job, moving, out);
            return None;
        }
        let (task, nodes, walltime) = (TaskId { job, index: 0 }, moving.nodes.clone(), until.since(start));
        let runtime = moving.live.left(moving.live.runtime);
        out.log(Record::Assigned { task, site });
        out.send(site, Message::Book(protocol::Book { task, start, nodes, walltime, runtime, awaits_input }));
        self.moving.insert(job, moving);
        None
    }

    fn next_offer(&mut self, now: Time, live: &Live, seek: &mut Seek) -> Option<(usize, Offer)> {
        let named = seek.named.take();
        seek.are_named = named.is_some();
        if named.is_some() {
            return named;
        }
        loop {
            let (home, left) = (live.cluster, seek.left);
            let offer = match seek.next {
                Step::AtItsTime => {
                    seek.next = Step::Preferred;
                    let deadline = live.start + self.lasts(home, &left);
                    let at_its_time = Request { ready: live.start, deadline, ..left };
                    let is_in_time = live.start >= now + self.clusters[home].latency;
                    if is_in_time { self.ask(home, now, None, &at_its_time) } else { None }.map(|offer| (home, offer))
                }
                Step::Preferred => {
                    seek.next = Step::Latest;
                    let soonest = if live.phase == Phase::Awaited { left.ready.max(live.start) } else { left.ready };
                    let offer = self.ask(home, now, None, &Request { ready: soonest, ..left });
                    offer.map(|offer| (home, offer)).filter(|(_, offer)| seek.refused != Some((home, offer.start)))
                }
                Step::Latest => {
                    seek.next = Step::Elsewhere;
                    let latest = seek
                        .refused
                        .and_then(|(cluster, start)| Some((cluster, self.latest(now, cluster, &left, start)?)));
                    latest.and_then(|(cluster, latest)| Some((cluster, self.ask(cluster, now, None, &latest)?)))
                }
                Step::Elsewhere => {
                    let there = seek.refused.take().map_or(home, |(cluster, _)| cluster);
                    seek.tried.extend([home, there]);
                    if live.staging.is_some_and(|staging| staging.has_input()) {
                        return None;
                    }
                    seek.next = Step::Latest;
                    return self.find(now, &left, None, &seek.tried);
                }
            };
            if offer.is_some() {
                return offer;
            }
        }
    }

    /// A site has answered.
    pub(super) fn moved(&mut self, now: Time, job: JobId, booked: &Booked, out: &mut Out) {
        let moving = self.moving.remove(&job).expect("it is moving");
        let (user, is_cancelled) = (moving.live.user, moving.is_cancelled);
        if booked.granted {
            let is_provided = moving.awaits_input && moving.live.phase == Phase::Given;
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
            // Its own time is that, and no later one.
            let deadline = if seek.next == Step::Preferred { until } else { seek.left.deadline };
            let there = Request { ready: start, duration, deadline, ..seek.left };
            let offer = self.among(cluster, now + self.clusters[cluster].latency, &there, &booked.free);
            seek.named = offer.map(|offer| (cluster, offer));
        }
        if let Some(live) = self.seek_on(now, job, live, seek, out) {
            // It has never been where it was asked for.
            out.log(home);
            self.breaks(job, &live, out);
        }
    }

    /// A job has other nodes.
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
        let is_given = live.phase == Phase::Given;
        self.live.insert(job, live);
        if is_shared {
            self.await_end(job);
        } else if is_given {
            self.hold(now, job, start, out);
        }
    }
}
