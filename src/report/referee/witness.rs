//! Messages of members as the router relays them. No record repeats them, so they decide which of two is wrong where
//! the records of members differ, and which member has withheld a message that it must have sent.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use hansa_sim::grid::TaskId;
use hansa_sim::kernel::{ActorId, Envelope, Latencies};
use hansa_sim::protocol::{Fault, Message, ReplyKey, SiteOffer};
use hansa_sim::time::Time;

/// A shared handle: the hub shows it messages, and the tally asks it for a verdict.
///
/// Cost: a lock per message from a leaf; O(log open questions) per message of a negotiation.
#[derive(Clone, Debug)]
pub struct Witness(Arc<Mutex<SeenMessages>>);

#[derive(Debug)]
struct SeenMessages {
    latencies: Latencies,
    /// Leaf of an actor, by actor; None at the hub. Messages within a leaf are not relayed.
    homes: Vec<Option<usize>>,
    /// Ends of tasks that services have received, by actor.
    ended: Vec<u64>,
    /// Offers that services have received and that are not compared yet, with the times of sending, by actor.
    offers: Vec<VecDeque<(SiteOffer, Time)>>,
    /// Times as of which sites have sent the ends of tasks that are not compared yet.
    ends: BTreeMap<(ActorId, TaskId), Time>,
    /// Ends of tasks sent to users, by site and user, and tasks sent to sites, by user and site.
    between: BTreeMap<(ActorId, ActorId), u64>,
    /// Questions without an answer, by user and site: times at which the answers are due.
    open: BTreeMap<(ActorId, ActorId, ReplyKey), VecDeque<Time>>,
    /// Answers that came late, by user and site: due and arrival.
    late: BTreeMap<(ActorId, ActorId), Vec<(Time, Time)>>,
    /// Answers without a question, by user and site: times of arrival.
    unasked: BTreeMap<(ActorId, ActorId), Vec<Time>>,
}

/// Ends of tasks that are kept until their records arrive. Of more, which only a liar or an enormous site sends, the
/// times are not compared.
const ENDS_MAX: usize = 1 << 17;

/// Late or unasked answers that are kept for one user and site: the first of them ends the run.
const KEPT_MAX: usize = 16;

impl Witness {
    /// A witness of a run with these actors on its leaves.
    pub fn new(latencies: Latencies, leaves: &[Vec<ActorId>]) -> Witness {
        let mut homes = vec![None; latencies.len()];
        for (leaf, actors) in leaves.iter().enumerate() {
            actors.iter().for_each(|actor| homes[actor.index()] = Some(leaf));
        }
        Witness(Arc::new(Mutex::new(SeenMessages {
            ended: vec![0; latencies.len()],
            ends: BTreeMap::new(),
            offers: vec![VecDeque::new(); latencies.len()],
            latencies,
            homes,
            between: BTreeMap::new(),
            open: BTreeMap::new(),
            late: BTreeMap::new(),
            unasked: BTreeMap::new(),
        })))
    }

    /// Notes a message that a leaf has sent. The hub has checked that its sender and receiver exist.
    pub fn record_message(&self, envelope: &Envelope<Message>) {
        let Ok(mut seen) = self.0.lock() else { return };
        let &Envelope { arrival, from, to, ref message, .. } = envelope;
        let latency = seen.latencies[from.index()] + seen.latencies[to.index()];
        let sent = Time::from_micros(arrival.time.micros().saturating_sub(latency.micros()));
        let ended = match message {
            Message::Ended(ended) => Some(ended.task),
            Message::Concluded(concluded) => Some(concluded.task),
            _ => None,
        };
        if let Some(task) = ended
            && seen.ends.len() < ENDS_MAX
        {
            seen.ends.entry((from, task)).or_insert(sent);
        }
        if seen.homes[to.index()].is_none() {
            match message {
                Message::Ended(_) => seen.ended[from.index()] += 1,
                Message::SiteOffer(offer) => seen.offers[from.index()].push_back((*offer, sent)),
                _ => {}
            }
        } else if matches!(message, Message::Ended(_) | Message::Concluded(_) | Message::Enter(_)) {
            *seen.between.entry((from, to)).or_default() += 1;
        } else if let Some(key) = ReplyKey::of_question(message) {
            let due = arrival.time + latency;
            seen.open.entry((from, to, key)).or_default().push_back(due);
        } else if let Some(key) = ReplyKey::of_answer(message) {
            seen.close_request((to, from), key, arrival.time);
        }
    }

    /// Ends of tasks that services have received from a site.
    pub fn ends_received(&self, site: ActorId) -> Option<u64> {
        self.0.lock().ok()?.ended.get(site.index()).copied()
    }

    /// True if the next offer that a service has received from a site is this one, sent at this time. Each is compared
    /// once.
    pub fn has_offered(&self, site: ActorId, offer: SiteOffer, sent: Time) -> bool {
        self.0.lock().is_ok_and(|mut seen| seen.offers[site.index()].pop_front() == Some((offer, sent)))
    }

    /// Time as of which a site has sent the end of a task; None if no message of it has been relayed. Each is compared
    /// once.
    pub fn end_sent(&self, site: ActorId, task: TaskId) -> Option<Time> {
        self.0.lock().ok()?.ends.remove(&(site, task))
    }

    /// True if a site has sent an end, as of this time or an earlier one, that it has not recorded. O(ends).
    pub fn has_unrecorded_end(&self, site: ActorId, by: Time) -> bool {
        self.0.lock().is_ok_and(|seen| seen.ends.iter().any(|((from, _), sent)| *from == site && *sent <= by))
    }

    /// True if a site has sent the end of a task as of this time or an earlier one. None if its user shares a process
    /// with it, so that their messages are not relayed.
    pub fn has_sent_end(&self, site: ActorId, user: ActorId, task: TaskId, by: Time) -> Option<bool> {
        let seen = self.0.lock().ok()?;
        let is_sent = seen.ends.get(&(site, task)).is_some_and(|sent| *sent <= by);
        (!seen.share_process(site, user)).then_some(is_sent)
    }

    /// Ends of tasks that a site has sent to a user, or tasks that a user has sent to a site; None if the two share a
    /// process.
    pub fn relayed_count(&self, from: ActorId, to: ActorId) -> Option<u64> {
        let seen = self.0.lock().ok()?;
        (!seen.share_process(from, to)).then(|| seen.between.get(&(from, to)).copied().unwrap_or(0))
    }

    /// True if a user's accusation of a site, of this fault at this time, is right, false if it is wrong; None if the
    /// messages do not decide it.
    pub fn confirms_fault(&self, user: ActorId, site: ActorId, fault: Fault, now: Time) -> Option<bool> {
        let seen = self.0.lock().ok()?;
        if seen.share_process(user, site) {
            return None;
        }
        match fault {
            Fault::Silent => {
                let open = seen.open.iter().filter(|((asks, asked, _), _)| (*asks, *asked) == (user, site));
                let is_open = open.flat_map(|(_, due)| due).any(|due| *due < now);
                let late = seen.late.get(&(user, site)).into_iter().flatten();
                Some(is_open || late.into_iter().any(|(due, arrival)| *due < now && *arrival >= *due))
            }
            Fault::Unasked => {
                let unasked = seen.unasked.get(&(user, site)).into_iter().flatten();
                Some(true).filter(|_| unasked.into_iter().any(|arrival| *arrival <= now))
            }
            Fault::Senseless | Fault::Unwilling => None,
        }
    }
}

impl SeenMessages {
    /// True if two actors share a process.
    fn share_process(&self, one: ActorId, other: ActorId) -> bool {
        self.home_of(one) == self.home_of(other)
    }

    fn home_of(&self, actor: ActorId) -> Option<usize> {
        self.homes.get(actor.index()).copied().flatten()
    }

    fn close_request(&mut self, (user, site): (ActorId, ActorId), key: ReplyKey, arrival: Time) {
        let open = self.open.get_mut(&(user, site, key));
        let due = open.and_then(|open| open.pop_front());
        if self.open.get(&(user, site, key)).is_some_and(VecDeque::is_empty) {
            self.open.remove(&(user, site, key));
        }
        let Some(due) = due else {
            let unasked = self.unasked.entry((user, site)).or_default();
            return if unasked.len() < KEPT_MAX {
                unasked.push(arrival)
            };
        };
        if arrival > due {
            let late = self.late.entry((user, site)).or_default();
            if late.len() < KEPT_MAX {
                late.push((due, arrival));
            }
        }
    }
}
