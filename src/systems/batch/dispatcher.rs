//! The dispatcher at the router: gives each job to a site, and tells users of ends that they wait for.
//!
//! The input of a job that has some sets out as soon as its site is chosen, and the job is handed to the site's queue when it
//! is there: so no policy has to do with jobs that could not start, and none of them holds up others. What it leaves goes back
//! when it has ended, be it killed or not; the job is over when that is home.

use std::collections::BTreeMap;

use super::rules::Dispatch;
use crate::grid::{Invalid, Job, JobId, Needs, Staging, Task, TaskId};
use crate::kernel::{Actor, ActorId, Cause, Event, Outbox};
use crate::network::{Staged, Stager};
use crate::protocol::{Admit, Ended, Enqueue, Message, Over, Queue, Recall, Recalled, Record};
use crate::time::{Span, Stamp, Time};

pub struct Dispatcher {
    places: Vec<Place>,
    dispatch: Dispatch,
    /// Whose turn it is.
    turn: usize,
    live: BTreeMap<JobId, Live>,
    /// Where jobs have waited in vain that their users have taken back.
    returned: BTreeMap<JobId, usize>,
    /// Who brings data, where there are links.
    stager: Option<Stager>,
}

/// A site as the dispatcher knows it.
pub struct Place {
    site: ActorId,
    nodes: u32,
    /// Whether jobs share its nodes.
    is_shared: bool,
    /// Node microseconds that have been asked for by jobs that it has and that have not ended.
    work: u128,
}

struct Live {
    user: ActorId,
    place: usize,
    work: u128,
    think: Option<Span>,
    /// Whether its user has asked for it back, and has not been answered.
    is_recalled: bool,
    staging: Option<Staging>,
    phase: Phase,
}

/// How far a job has got.
enum Phase {
    /// Its input is on its way; this is what its site is told when it is there.
    Awaited(Message),
    /// Its site has it.
    Given,
    /// It has ended, and its output is on its way.
    Returning,
}

type Out = Outbox<Message, Record>;

impl Place {
    pub fn new(site: ActorId, nodes: u32, is_shared: bool) -> Place {
        Place { site, nodes, is_shared, work: 0 }
    }

    /// How many of its nodes a job needs at least.
    fn needed(&self, tasks: u32, needs: Needs) -> u32 {
        if self.is_shared { needs.nodes(tasks) } else { tasks }
    }

    /// How it is told of a job.
    fn give(&self, job: &Job, needs: Needs) -> Message {
        let Task { cores, runtime, walltime, .. } = job.tasks[0];
        match self.is_shared {
            true => Message::Admit(Admit { job: job.id, tasks: cores, needs, runtime }),
            false => Message::Queue(Queue { job: job.id, nodes: cores, walltime, runtime }),
        }
    }
}

impl Dispatcher {
    pub fn new(places: Vec<Place>, dispatch: Dispatch, stager: Option<Stager>) -> Dispatcher {
        Dispatcher { places, dispatch, turn: 0, live: BTreeMap::new(), returned: BTreeMap::new(), stager }
    }

    fn enqueue(&mut self, now: Time, user: ActorId, enqueue: Enqueue, out: &mut Out) {
        let Enqueue { job, site, think, needs, staging } = enqueue;
        let can_bring = |staging: &Staging| self.stager.as_ref().is_some_and(|stager| stager.knows(staging));
        // No honest user hands in anything else.
        if job.tasks.len() != 1 || !staging.as_ref().is_none_or(can_bring) {
            return;
        }
        match self.choose(&job, site, needs) {
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
                let give = place.give(&job, needs.unwrap_or(Needs::NODE));
                let (id, site, task) = (job.id, place.site, TaskId { job: job.id, index: 0 });
                if self.returned.remove(&id).is_none() {
                    out.log(Record::Arrived { job, user });
                    needs.into_iter().for_each(|needs| out.log(Record::Needs { job: id, needs }));
                }
                out.log(Record::Assigned { task, site });
                let bringing = self.stager.as_mut().zip(staging.as_ref());
                let phase = if bringing.is_some_and(|(stager, staging)| stager.bring(now, id, staging, site, out)) {
                    Phase::Awaited(give)
                } else {
                    out.send(site, give);
                    Phase::Given
                };
                let is_recalled = false;
                self.live.insert(id, Live { user, place: number, work, think, is_recalled, staging, phase });
            }
        }
    }

    fn choose(&mut self, job: &Job, pinned: Option<ActorId>, needs: Option<Needs>) -> Result<usize, Invalid> {
        let task = job.tasks[0];
        let allowed = |place: &Place| pinned.is_none_or(|site| site == place.site);
        let needed = |place: &Place| place.needed(task.cores, needs.unwrap_or(Needs::NODE));
        let fits = |place: &Place| place.nodes >= needed(place) && allowed(place);
        // Who comes again goes elsewhere, if there is anywhere else.
        let before = self.returned.get(&job.id).copied();
        let elsewhere = |number: usize| before.is_none_or(|before| before != number);
        let has_choice = before.is_some() && (0..self.places.len()).any(|at| elsewhere(at) && fits(&self.places[at]));
        match task.cores {
            _ if self.live.contains_key(&job.id) => return Err(Invalid::Duplicate),
            _ if task.runtime.is_zero() || task.walltime.is_zero() => return Err(Invalid::NoDuration),
            0 => return Err(Invalid::NoNodes),
            _ if needs.is_some_and(|needs| !needs.make_sense()) => return Err(Invalid::NoShare),
            _ => {}
        }
        let places = self.places.iter().enumerate();
        let fitting = places.filter(|(number, place)| fits(place) && (!has_choice || elsewhere(*number)));
        let mut fitting = fitting.map(|(number, _)| number);
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
        let is_for_memory = || self.places.iter().any(|place| allowed(place) && place.is_shared);
        chosen.ok_or_else(|| if is_for_memory() { Invalid::TooMuchMemory } else { Invalid::TooManyNodes })
    }

    /// A user wants a job back: where it waits is asked whether it still does.
    fn recall(&mut self, from: ActorId, recall: Recall, out: &mut Out) {
        let can_be_back = |live: &&mut Live| live.user == from && !matches!(live.phase, Phase::Returning);
        match self.live.get_mut(&recall.task.job).filter(can_be_back) {
            Some(live) => {
                live.is_recalled = true;
                // Nobody stops data that is under way: it is answered when that is there.
                if let Phase::Given = live.phase {
                    let task = TaskId { job: recall.task.job, index: 0 };
                    out.send(self.places[live.place].site, Message::Recall(Recall { task }));
                }
            }
            None => out.send(from, Message::Recalled(Recalled { task: recall.task, in_time: false })),
        }
    }

    fn recalled(&mut self, from: ActorId, recalled: Recalled, out: &mut Out) {
        let job = recalled.task.job;
        // What nobody has asked for changes nothing.
        let has_it = |live: &Live| self.places[live.place].site == from && matches!(live.phase, Phase::Given);
        let asked = |live: &&mut Live| live.is_recalled && has_it(live);
        let Some(live) = self.live.get_mut(&job).filter(asked) else { return };
        live.is_recalled = false;
        let task = TaskId { job, index: 0 };
        if recalled.in_time {
            return self.give_back(job, out);
        }
        out.send(live.user, Message::Recalled(Recalled { task, in_time: false }));
    }

    /// A job that waits somewhere leaves its place, and its user has it again.
    fn give_back(&mut self, job: JobId, out: &mut Out) {
        let Live { user, place, work, .. } = self.live.remove(&job).expect("it waits somewhere");
        self.places[place].work -= work;
        self.returned.insert(job, place);
        let task = TaskId { job, index: 0 };
        out.send(user, Message::Recalled(Recalled { task, in_time: true }));
        out.log(Record::Withdrawn { task });
    }

    /// The input of a job is where it was to go.
    fn provided(&mut self, job: JobId, out: &mut Out) {
        let live = self.live.get_mut(&job).expect("who waits for its input is there");
        if live.is_recalled {
            return self.give_back(job, out);
        }
        let Phase::Awaited(give) = std::mem::replace(&mut live.phase, Phase::Given) else {
            unreachable!("its input has come once")
        };
        out.send(self.places[live.place].site, give);
    }

    fn ended(&mut self, now: Time, from: ActorId, ended: Ended, out: &mut Out) {
        let job = ended.task.job;
        // Another site has nothing to say about it.
        let has_it = |live: &&mut Live| self.places[live.place].site == from && matches!(live.phase, Phase::Given);
        let Some(live) = self.live.get_mut(&job).filter(has_it) else { return };
        self.places[live.place].work -= live.work;
        let bringing = self.stager.as_mut().zip(live.staging.as_ref());
        if bringing.is_some_and(|(stager, staging)| stager.bring_back(now, job, staging, from, out)) {
            live.phase = Phase::Returning;
        } else {
            self.over(job, out);
        }
    }

    fn over(&mut self, job: JobId, out: &mut Out) {
        let live = self.live.remove(&job).expect("it is live");
        out.log(Record::Completed { job, value: None });
        if let Some(think) = live.think {
            out.send(live.user, Message::Over(Over { job, think }));
        }
    }
}

impl Actor<Message, Record> for Dispatcher {
    /// Data arrives, then ends come, then jobs by their numbers.
    fn handle(&mut self, now: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Out) {
        let now = now.time;
        if let Some(stager) = &mut self.stager {
            for event in batch.iter() {
                if let Cause::Message(Message::Landed(landed)) = event.cause {
                    stager.hear(event.from, landed);
                }
            }
            for staged in stager.arrived(now, out) {
                match staged {
                    Staged::Input(job) => self.provided(job, out),
                    Staged::Output(job) => self.over(job, out),
                }
            }
        }
        let mut handed_in = Vec::new();
        for event in batch.drain(..) {
            match event.cause {
                Cause::Message(Message::Ended(ended)) => self.ended(now, event.from, ended, out),
                Cause::Message(Message::Recall(recall)) => self.recall(event.from, recall, out),
                Cause::Message(Message::Recalled(recalled)) => self.recalled(event.from, recalled, out),
                Cause::Message(Message::Enqueue(enqueue)) => handed_in.push((event.from, enqueue)),
                _ => {}
            }
        }
        if handed_in.len() > 1 {
            handed_in.sort_by_key(|(_, enqueue)| enqueue.job.id);
        }
        for (user, enqueue) in handed_in {
            self.enqueue(now, user, enqueue, out);
        }
        if let Some(stager) = &mut self.stager {
            stager.wake(now, out);
        }
    }
}
