//! Entries of a queue's calendar beside its jobs, where nodes fail: reservations, bookings and failed nodes.
//!
//! These may overlap. To the policy they are bookings, no two of which share a node at any time: a reservation or
//! booking covers its own time, and a failed node the rest of its time. So a returned booking takes nothing from the
//! others.
//!
//! A policy that only counts nodes moves jobs out of the way of a booking that begins, and with nodes down there may be
//! no place to move to. Then running jobs and bookings that have begun stay where they are; the others begin once they
//! have room up to their ends. A booking with a place does not lose it to one that comes forward. Where nodes have
//! identities, no job is ever in the way.

use crate::grid::{Counts, Expected, NodeSet, Reserved, TaskId};
use crate::roles::queue::Policy;
use crate::time::Time;

/// The claims to one site.
pub struct NodeClaims {
    nodes: u32,
    /// True if the site's policy only counts nodes.
    counts: bool,
    /// Reservations, then bookings in the order in which they were made.
    standing: Vec<NodeClaim>,
    down: Vec<Expected>,
    /// Entries of the policy's calendar.
    entered: Vec<Reserved>,
}

struct NodeClaim {
    /// The task that is to run there, if it is not just reserved.
    task: Option<TaskId>,
    held: Reserved,
    /// Time from which the claim has room.
    from: Time,
}

impl NodeClaims {
    /// Claims with the site's reservations, which the policy knows already.
    pub fn new(nodes: u32, counts: bool, reserved: &[Reserved]) -> NodeClaims {
        let standing =
            reserved.iter().map(|held| NodeClaim { task: None, held: held.clone(), from: held.from }).collect();
        NodeClaims { nodes, counts, standing, down: Vec::new(), entered: reserved.to_vec() }
    }

    /// True if no other claims some of these nodes for some of that time, with or without room.
    pub fn no_claim_meets(&self, wanted: &Reserved) -> bool {
        !self.standing.iter().any(|other| other.held.meets(wanted))
    }

    /// All nodes claimed for some of that time.
    pub fn nodes_claimed(&self, from: Time, until: Time) -> NodeSet {
        Reserved::nodes_within(self.standing.iter().map(|claim| &claim.held), from, until)
    }

    /// Adds a booking for which the policy has room.
    pub fn add(&mut self, now: Time, task: TaskId, held: &Reserved, policy: &mut dyn Policy) {
        self.forget(now);
        self.standing.push(NodeClaim { task: Some(task), held: held.clone(), from: held.from });
        self.entered.push(held.clone());
        policy.add_booking(now, held);
    }

    /// Frees the rest of a task's booking, as far as its nodes are up.
    pub fn remove(&mut self, now: Time, task: TaskId, running: &[(Time, u32)], policy: &mut dyn Policy) {
        self.forget(now);
        let Some(place) = self.standing.iter().position(|claim| claim.task == Some(task)) else { return };
        let held = self.standing.remove(place).held;
        if !self.down.is_empty() || self.has_waiting_claim(now) {
            return self.correct_calendar(now, running, policy);
        }
        if let Some(place) =
            self.entered.iter().position(|entered| entered.until == held.until && entered.nodes == held.nodes)
        {
            policy.release_booking(now, &self.entered.remove(place));
        }
    }

    /// Sets the failed nodes; all others are up.
    pub fn set_down_nodes(&mut self, now: Time, down: &[Expected], running: &[(Time, u32)], policy: &mut dyn Policy) {
        self.down = down.to_vec();
        self.correct_calendar(now, running, policy);
    }

    /// True if a claim has no room at its time.
    pub fn has_waiting_claim(&self, now: Time) -> bool {
        self.standing.iter().any(|claim| claim.is_kept_waiting(now))
    }

    /// Time from which a task's booking has room.
    pub fn has_room_from(&self, task: TaskId) -> Time {
        let its = self.standing.iter().find(|claim| claim.task == Some(task));
        its.map_or(Time::NEVER, |claim| claim.from)
    }

    pub fn are_up(&self, nodes: &NodeSet) -> bool {
        !self.down.iter().any(|one| one.nodes.meets(nodes))
    }

    /// Drops claims that are over, and outages that should be over: if one is not, news of it follows in a moment.
    fn forget(&mut self, now: Time) {
        self.standing.retain(|claim| claim.held.until > now);
        self.entered.retain(|entered| entered.until > now);
        self.down.retain(|down| down.back > now);
    }

    /// Corrects the policy's calendar, given the running jobs of the queue with their ends.
    ///
    /// O(C² + D C) for `C` claims and `D` times at which nodes are expected back.
    pub fn correct_calendar(&mut self, now: Time, running: &[(Time, u32)], policy: &mut dyn Policy) {
        self.forget(now);
        if self.counts {
            self.make_room(now, running);
        }
        let wanted = self.wanted_reservations(now);
        for entered in
            self.entered.extract_if(.., |entered| !wanted.iter().any(|wanted| claims_same_rest(entered, wanted, now)))
        {
            policy.release_booking(now, &entered);
        }
        let new: Vec<Reserved> = wanted
            .into_iter()
            .filter(|wanted| !self.entered.iter().any(|entered| claims_same_rest(entered, wanted, now)))
            .collect();
        if !new.is_empty() {
            policy.close_nodes(now, &new);
        }
        self.entered.extend(new);
    }

    /// The claims that have room, and the failed nodes outside of them.
    fn wanted_reservations(&self, now: Time) -> Vec<Reserved> {
        let fitting = self.standing.iter().filter(|claim| claim.from < claim.held.until);
        let mut wanted: Vec<Reserved> =
            fitting.map(|claim| Reserved { from: claim.from, ..claim.held.clone() }).collect();
        let claimed = wanted.len();
        for Expected { back, nodes } in &self.down {
            let there: Vec<Reserved> = wanted[..claimed]
                .iter()
                .filter(|claim| claim.from < *back && claim.nodes.meets(nodes))
                .cloned()
                .collect();
            wanted.extend(times_outside(now, *back, nodes, &there));
        }
        wanted
    }

    fn make_room(&mut self, now: Time, running: &[(Time, u32)]) {
        let mut room = Room::new(now, self.nodes, running, &self.down);
        for claim in self.standing.iter().filter(|claim| claim.from < now) {
            room.take(claim);
        }
        for claim in self.standing.iter_mut().filter(|claim| claim.from >= now) {
            claim.from = room.first(claim.from, &claim.held);
            room.take(claim);
        }
        for claim in self.standing.iter_mut().filter(|claim| claim.is_kept_waiting(now)) {
            room.give_back(claim);
            claim.from = room.first(claim.held.from.max(now), &claim.held);
            room.take(claim);
        }
    }
}

fn claims_same_rest(one: &Reserved, other: &Reserved, now: Time) -> bool {
    one.until == other.until && one.from.max(now) == other.from.max(now) && one.nodes == other.nodes
}

impl NodeClaim {
    fn is_kept_waiting(&self, now: Time) -> bool {
        self.from > self.held.from.max(now)
    }
}

/// Times between now and `back` at which these nodes are outside of the claims to some of them.
fn times_outside(now: Time, back: Time, nodes: &NodeSet, claims: &[Reserved]) -> Vec<Reserved> {
    let mut rest = nodes.clone();
    claims.iter().for_each(|claim| rest.subtract(&claim.nodes));
    let mut touched = nodes.clone();
    touched.subtract(&rest);
    let mut all = vec![Reserved { from: now, until: back, nodes: rest }];

    let changes = claims.iter().flat_map(|claim| [claim.from, claim.until]);
    let mut times: Vec<Time> = changes.filter(|at| now < *at && *at < back).chain([now, back]).collect();
    times.sort_unstable();
    times.dedup();
    for span in times.windows(2) {
        let from = span[0];
        let until = span[1];
        let mut nodes = touched.clone();
        let meanwhile = claims.iter().filter(|claim| claim.from < until && from < claim.until);
        meanwhile.for_each(|claim| nodes.subtract(&claim.nodes));
        match all.last_mut() {
            Some(before) if before.until == from && before.nodes == nodes => before.until = until,
            _ => all.push(Reserved { from, until, nodes }),
        }
    }
    all.retain(|one| !one.nodes.is_empty());
    all
}

/// Room at a site: the number of occupied nodes over time.
struct Room<'a> {
    nodes: u32,
    counts: Counts,
    /// Failed nodes, ascending by their return.
    down: &'a [Expected],
    now: Time,
}

impl Room<'_> {
    fn new<'a>(now: Time, nodes: u32, running: &[(Time, u32)], down: &'a [Expected]) -> Room<'a> {
        let running = running.iter().map(|(until, count)| (now, *until, *count));
        let counts = Counts::from_bookings(running.chain(down.iter().map(|one| (now, one.back, one.nodes.len()))));
        Room { nodes, counts, down, now }
    }

    fn take(&mut self, claim: &NodeClaim) {
        for (from, to, count) in self.parts(claim.from, &claim.held) {
            self.counts.insert(from, to, count);
        }
    }

    fn give_back(&mut self, claim: &NodeClaim) {
        for (from, to, count) in self.parts(claim.from, &claim.held) {
            self.counts.remove(from, to, count);
        }
    }

    /// The first time, at `from` or later, from which there is room for the whole rest of a claim; never, if there is
    /// none.
    fn first(&self, from: Time, held: &Reserved) -> Time {
        let mut first = from;
        for (start, end, count) in self.parts(from, held) {
            let mut at = start;
            while at < end {
                let next = self.counts.next_change(at).map_or(end, |next| next.min(end));
                if self.counts.most(at, next) + count > self.nodes {
                    first = next;
                }
                at = next;
            }
        }
        if first < held.until { first } else { Time::NEVER }
    }

    /// The nodes of a claim over time, from a time on, without failed ones.
    fn parts(&self, from: Time, held: &Reserved) -> Vec<(Time, Time, u32)> {
        let mut up = held.nodes.clone();
        self.down.iter().for_each(|one| up.subtract(&one.nodes));
        let mut parts = Vec::new();
        let mut at = from.max(self.now);
        let mut add = |at: &mut Time, to: Time, up: &NodeSet| {
            if *at < to && !up.is_empty() {
                parts.push((*at, to, up.len()));
            }
            *at = to.max(*at);
        };
        for one in self.down.iter().filter(|one| one.nodes.meets(&held.nodes)) {
            add(&mut at, one.back.min(held.until), &up);
            up.unite(&one.nodes.intersection(&held.nodes));
        }
        add(&mut at, held.until, &up);
        parts
    }
}
