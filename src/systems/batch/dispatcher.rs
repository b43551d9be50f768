//! The dispatcher at the router: gives each job to a site, and tells users of ends that they wait for.

use std::collections::BTreeMap;

use super::rules::Dispatch;
use crate::grid::{Invalid, Job, JobId, TaskId};
use crate::kernel::{Actor, ActorId, Cause, Event, Outbox};
use crate::protocol::{Ended, Enqueue, Message, Over, Queue, Record};
use crate::time::{Span, Stamp};

pub struct Dispatcher {
    places: Vec<Place>,
    dispatch: Dispatch,
    /// Whose turn it is.
    turn: usize,
    live: BTreeMap<JobId, Live>,
}

/// A site as the dispatcher knows it.
pub struct Place {
    site: ActorId,
    nodes: u32,
    /// Node microseconds that have been asked for by jobs that it has and that have not ended.
    work: u128,
}

struct Live {
    user: ActorId,
    place: usize,
    work: u128,
    think: Option<Span>,
}

type Out = Outbox<Message, Record>;

impl Place {
    pub fn new(site: ActorId, nodes: u32) -> Place {
        Place { site, nodes, work: 0 }
    }
}

impl Dispatcher {
    pub fn new(places: Vec<Place>, dispatch: Dispatch) -> Dispatcher {
        Dispatcher { places, dispatch, turn: 0, live: BTreeMap::new() }
    }

    fn enqueue(&mut self, user: ActorId, enqueue: Enqueue, out: &mut Out) {
        let Enqueue { job, site, think } = enqueue;
        // No honest user hands in anything else.
        if job.tasks.len() != 1 {
            return;
        }
        match self.choose(&job, site) {
            Err(why) => {
                if let Some(think) = think {
                    out.send(user, Message::Over(Over { job: job.id, think }));
                }
                out.log(Record::Rejected { job, user, why });
            }
            Ok(number) => {
                let task = job.tasks[0];
                let work = u128::from(task.cores) * u128::from(task.walltime.micros());
                let place = &mut self.places[number];
                place.work += work;
                let queue = Queue { job: job.id, nodes: task.cores, walltime: task.walltime, runtime: task.runtime };
                out.send(place.site, Message::Queue(queue));
                self.live.insert(job.id, Live { user, place: number, work, think });
                let (site, task) = (place.site, TaskId { job: job.id, index: 0 });
                out.log(Record::Arrived { job, user });
                out.log(Record::Assigned { task, site });
            }
        }
    }

    fn choose(&mut self, job: &Job, pinned: Option<ActorId>) -> Result<usize, Invalid> {
        let task = job.tasks[0];
        let large_enough = |place: &Place| place.nodes >= task.cores && pinned.is_none_or(|site| site == place.site);
        match task.cores {
            _ if self.live.contains_key(&job.id) => return Err(Invalid::Duplicate),
            _ if task.runtime.is_zero() || task.walltime.is_zero() => return Err(Invalid::NoDuration),
            0 => return Err(Invalid::NoNodes),
            _ => {}
        }
        let places = self.places.iter().enumerate();
        let mut fitting = places.filter(|(_, place)| large_enough(place)).map(|(number, _)| number);
        let chosen = match self.dispatch {
            Dispatch::First => fitting.next(),
            Dispatch::RoundRobin => {
                let count = self.places.len();
                let turn = self.turn;
                let next = fitting.min_by_key(|number| (number + count - turn) % count);
                self.turn = next.map_or(turn, |next| (next + 1) % count);
                next
            }
            Dispatch::LeastWork => {
                // Work a node, compared without dividing.
                let before = |one: usize, other: usize| {
                    let (one, other) = (&self.places[one], &self.places[other]);
                    let left = one.work.saturating_mul(other.nodes.into());
                    left < other.work.saturating_mul(one.nodes.into())
                };
                fitting.reduce(|best, next| if before(next, best) { next } else { best })
            }
        };
        chosen.ok_or(Invalid::TooManyNodes)
    }

    fn ended(&mut self, from: ActorId, ended: Ended, out: &mut Out) {
        let job = ended.task.job;
        // Another site has nothing to say about it.
        if self.live.get(&job).is_none_or(|live| self.places[live.place].site != from) {
            return;
        }
        let live = self.live.remove(&job).expect("it is live");
        self.places[live.place].work -= live.work;
        out.log(Record::Completed { job, value: None });
        if let Some(think) = live.think {
            out.send(live.user, Message::Over(Over { job, think }));
        }
    }
}

impl Actor<Message, Record> for Dispatcher {
    /// Ends come first, then jobs by their numbers.
    fn handle(&mut self, _: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Out) {
        let mut handed_in = Vec::new();
        for event in batch.drain(..) {
            match event.cause {
                Cause::Message(Message::Ended(ended)) => self.ended(event.from, ended, out),
                Cause::Message(Message::Enqueue(enqueue)) => handed_in.push((event.from, enqueue)),
                _ => {}
            }
        }
        if handed_in.len() > 1 {
            handed_in.sort_by_key(|(_, enqueue)| enqueue.job.id);
        }
        for (user, enqueue) in handed_in {
            self.enqueue(user, enqueue, out);
        }
    }
}
