//! The dispatcher at the router: gives each job to a site, and tells users of ends that they wait for.
//!
//! The input of a job is sent as soon as the site of the job is chosen; the job is handed to the site's queue when its
//! input has arrived. So no queue policy has to deal with jobs that cannot start, and such a job delays no other. The
//! output returns after the end of the job, killed or not; the job is over when its output has arrived.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::known_site::{Allowed, KnownSite, Takes};
use super::rules::Dispatch;
use crate::grid::{Invalid, Job, JobId, Killed, Needs, Recovery, Staging, Task, TaskId};
use crate::kernel::{Actor, ActorId, Cause, Event, Outbox};
use crate::min_tree::MinTree;
use crate::network::{Staged, Stager};
use crate::protocol::{Declined, Ended, Enqueue, JobEnded, Lost, Message, Recall, Recalled, Record};
use crate::roles::site::left_of;
use crate::time::{Span, Stamp, Time};

pub struct Dispatcher {
    places: Vec<KnownSite>,
    dispatch: Dispatch,
    /// Index of the next site under `round-robin`.
    turn: usize,
    /// True if nodes of some site may fail.
    may_fail: bool,
    /// Loads of the sites, by index; kept only under `least-work`.
    loads: MinTree<SiteLoad>,
    live: BTreeMap<JobId, DispatchedJob>,
    /// Jobs that their users have taken back: the last site of each, by index, and its number of losses.
    returned: BTreeMap<JobId, (usize, u32)>,
    /// Moves input and output. None without a network.
    stager: Option<Stager>,
    recovery: Recovery,
}

struct DispatchedJob {
    user: ActorId,
    place: usize,
    work: u128,
    think: Option<Span>,
    /// True if its user has asked for it back and has had no answer.
    is_recalled: bool,
    staging: Option<Staging>,
    phase: DispatchPhase,
    /// Time at which its site gets it. A report of the site as of an earlier time is ignored: no honest site sends one.
    since: Time,
    /// Number of losses before it was given to its site.
    losses: u32,
    /// State for a restart after a failed node. None if the dispatcher does not restart the job.
    again: Option<Again>,
}

/// A job that may come back from its site.
struct Again {
    job: Arc<Job>,
    needs: Option<Needs>,
    allowed: Allowed,
    /// Work that is saved by checkpoints.
    saved: Span,
}

/// Progress of a job.
enum DispatchPhase {
    /// Its input is under way; the message goes to its site when the input has arrived.
    Awaited(Message),
    /// The site has the job.
    Given,
    /// The job has ended, and its output is on its way.
    Returning,
}

pub(super) type Out = Outbox<Message, Record>;

impl Dispatcher {
    pub fn new(places: Vec<KnownSite>, dispatch: Dispatch, stager: Option<Stager>) -> Dispatcher {
        let recovery = Recovery::default();
        let mut loads = MinTree::new(places.len(), SiteLoad::MOST);
        places
            .iter()
            .enumerate()
            .for_each(|(at, place)| loads.set(at, SiteLoad { work: place.work, nodes: place.nodes }));
        let may_fail = places.iter().any(|place| place.news.is_some());
        Dispatcher {
            may_fail,
            places,
            dispatch,
            turn: 0,
            loads,
            live: BTreeMap::new(),
            returned: BTreeMap::new(),
            stager,
            recovery,
        }
    }

    /// Sets the treatment of jobs whose nodes fail.
    pub fn recovering(self, recovery: Recovery) -> Dispatcher {
        Dispatcher { recovery, ..self }
    }

    fn enqueue(&mut self, now: Time, user: ActorId, enqueue: Enqueue, out: &mut Out) {
        let Enqueue { job, site, kind, think, needs, staging } = enqueue;
        let allowed = Allowed { site, kind };
        // No honest user submits anything else.
        if job.tasks.len() != 1
            || !staging
                .as_ref()
                .is_none_or(|staging| self.stager.as_ref().is_some_and(|stager| stager.is_valid(staging)))
        {
            return;
        }
        let chosen = match self.live.contains_key(&job.id) {
            true => Err(Invalid::Duplicate),
            false => self.choose(now, &job, allowed, needs),
        };
        match chosen {
            Err(why) => {
                if let Some(think) = think {
                    out.send(user, Message::JobEnded(JobEnded { job: job.id, think }));
                }
                // A job that was taken back earlier has arrived already, so it is removed, not rejected.
                out.log(match self.returned.remove(&job.id) {
                    Some(_) => Record::Removed { job: job.id },
                    None => Record::Rejected { job, user, why },
                });
            }
            Ok(number) => {
                let task = job.tasks[0];
                let work = work_of(&task);
                self.add_work(number, work);
                let place = &mut self.places[number];
                let (_, losses) = self.returned.get(&job.id).copied().unwrap_or_default();
                let give = place.job_message(&job, needs.unwrap_or(Needs::NODE), losses);
                let comes_back = place.news.is_some() && self.recovery.killed == Killed::Back;
                let saved = Span::ZERO;
                let again = comes_back.then(|| Again { job: job.clone(), needs, allowed, saved });
                let id = job.id;
                let site = place.site;
                let task = TaskId { job: job.id, index: 0 };
                if self.returned.remove(&id).is_none() {
                    out.log(Record::Arrived { job, user });
                    needs.into_iter().for_each(|needs| out.log(Record::Needs { job: id, needs }));
                }
                out.log(Record::Assigned { task, site });
                let bringing = self.stager.as_mut().zip(staging.as_ref());
                let phase = if bringing.is_some_and(|(stager, staging)| stager.bring(now, id, staging, site, out)) {
                    DispatchPhase::Awaited(give)
                } else {
                    place.hand_over(now, give, out);
                    DispatchPhase::Given
                };
                let is_recalled = false;
                self.live.insert(
                    id,
                    DispatchedJob {
                        user,
                        place: number,
                        work,
                        think,
                        is_recalled,
                        staging,
                        phase,
                        since: now,
                        losses,
                        again,
                    },
                );
            }
        }
    }

    /// Chooses a site that is large enough for a job, and has enough nodes up if any such site does. A job that comes
    /// back goes to another site than before, if it can.
    ///
    /// Costs: O(sites that are passed over), and O(log sites) to keep `least-work` up to date; O(sites) if nodes fail,
    /// or if the site with the least work is too small.
    fn choose(&mut self, now: Time, job: &Job, allowed: Allowed, needs: Option<Needs>) -> Result<usize, Invalid> {
        let task = job.tasks[0];
        check_task(&task, needs)?;
        let up: Option<Vec<u32>> =
            self.may_fail.then(|| self.places.iter_mut().map(|place| place.up_nodes(now)).collect());
        let could = |place: &KnownSite| place.could_take(task.cores, needs) && allowed.at(place);
        // The sites that could take the job and have enough nodes up, unless there are none.
        let mut are_up: Option<Vec<bool>> = up.map(|up| {
            let needed = self.places.iter().map(|place| place.nodes_needed(task.cores, needs.unwrap_or(Needs::NODE)));
            up.iter().zip(needed).map(|(up, needed)| *up >= needed).collect()
        });
        are_up.take_if(|are_up| !self.places.iter().zip(&*are_up).any(|(place, is_up)| could(place) && *is_up));
        let fits = |number: usize| could(&self.places[number]) && are_up.as_ref().is_none_or(|are_up| are_up[number]);
        let before = self.returned.get(&job.id).map(|(place, _)| *place);
        let chosen = self.next_of(&|number| fits(number) && before.is_none_or(|before| before != number));
        let chosen = chosen.or_else(|| before.and_then(|_| self.next_of(&fits)));

        // If there are several reasons, the one of the site that comes closest is given.
        let whys = [Invalid::TooManyNodes, Invalid::TooMuchMemory, Invalid::TooMuchCpu];
        let chosen = chosen.ok_or_else(|| {
            let eligible = self.places.iter().filter(|place| allowed.at(place));
            eligible
                .map(|place| place.why_not(task.cores, needs.unwrap_or(Needs::NODE)))
                .max_by_key(|why| whys.iter().position(|one| one == why))
                .unwrap_or(Invalid::TooManyNodes)
        })?;
        if self.dispatch == Dispatch::RoundRobin {
            self.turn = (chosen + 1) % self.places.len();
        }
        Ok(chosen)
    }

    /// The next site that fits, in the order of the dispatch policy.
    fn next_of(&self, fits: &dyn Fn(usize) -> bool) -> Option<usize> {
        let count = self.places.len();
        match self.dispatch {
            Dispatch::First => (0..count).find(|number| fits(*number)),
            Dispatch::RoundRobin => (self.turn..count).chain(0..self.turn).find(|number| fits(*number)),
            Dispatch::LeastWork => {
                let least = self.loads.place_of_min().filter(|number| fits(*number));
                least.or_else(|| (0..count).filter(|number| fits(*number)).min_by_key(|number| self.load(*number)))
            }
        }
    }

    /// True if the actor is a site: sites submit no jobs.
    fn is_site(&self, id: ActorId) -> bool {
        self.places.binary_search_by_key(&id, |place| place.site).is_ok()
    }

    fn load(&self, number: usize) -> SiteLoad {
        let place = &self.places[number];
        SiteLoad { work: place.work, nodes: place.nodes }
    }

    /// Adds work to a site.
    fn add_work(&mut self, number: usize, work: u128) {
        self.set_work(number, self.places[number].work + work);
    }

    /// Removes work from a site.
    fn remove_work(&mut self, number: usize, work: u128) {
        self.set_work(number, self.places[number].work - work);
    }

    fn set_work(&mut self, number: usize, work: u128) {
        self.places[number].work = work;
        if self.dispatch == Dispatch::LeastWork {
            self.loads.set(number, self.load(number));
        }
    }

    /// Asks the site of a job, on request of the job's user, to return the job if it still waits.
    fn recall(&mut self, from: ActorId, recall: Recall, out: &mut Out) {
        let live = self.live.get_mut(&recall.task.job);
        match live.filter(|live| live.user == from && !matches!(live.phase, DispatchPhase::Returning)) {
            Some(live) => {
                live.is_recalled = true;
                // A transfer is not stopped: the request is answered when the input has arrived.
                if let DispatchPhase::Given = live.phase {
                    let task = TaskId { job: recall.task.job, index: 0 };
                    out.send(self.places[live.place].site, Message::Recall(Recall { task }));
                }
            }
            None => out.send(from, Message::Recalled(Recalled { task: recall.task, in_time: false, losses: 0 })),
        }
    }

    fn handle_recalled(&mut self, now: Time, from: ActorId, recalled: Recalled, out: &mut Out) {
        let job = recalled.task.job;
        // An answer without a request changes nothing.
        let Some(live) =
            self.live.get_mut(&job).filter(|live| live.is_recalled && live.is_given_to(from, now, &self.places))
        else {
            return;
        };
        if recalled.in_time {
            return self.give_back(job, recalled.losses, out);
        }
        live.refuse_recall(job, out);
    }

    /// Returns a waiting job to its user.
    fn give_back(&mut self, job: JobId, losses: u32, out: &mut Out) {
        let DispatchedJob { user, place, work, .. } = self.live.remove(&job).expect("it waits somewhere");
        self.remove_work(place, work);
        self.returned.insert(job, (place, losses));
        let task = TaskId { job, index: 0 };
        out.send(user, Message::Recalled(Recalled { task, in_time: true, losses }));
        out.log(Record::Withdrawn { task });
    }

    /// Hands a job to its site when its input has arrived there.
    fn handle_provided(&mut self, now: Time, job: JobId, out: &mut Out) {
        let live = self.live.get_mut(&job).expect("a job that waits for its input is live");
        if live.is_recalled {
            let losses = live.losses;
            return self.give_back(job, losses, out);
        }
        let DispatchPhase::Awaited(give) = std::mem::replace(&mut live.phase, DispatchPhase::Given) else {
            unreachable!("its input has come once")
        };
        self.places[live.place].hand_over(now, give, out);
    }

    /// Handles the loss of a job to a failed node if its site leaves the restart to the dispatcher.
    fn handle_loss(&mut self, now: Time, from: ActorId, lost: Lost, out: &mut Out) {
        let id = lost.task.job;
        let Some(live) = self.live.get_mut(&id).filter(|live| live.is_given_to(from, now, &self.places)) else {
            return;
        };
        live.losses = live.losses.saturating_add(1);
        let stays = live.staging.as_ref().is_some_and(Staging::has_input);
        let before = live.place;
        let losses = live.losses;
        let work_before = live.work;
        let again = live.again.as_mut().filter(|_| losses < self.recovery.attempts);
        let Some(again) = again else {
            self.remove_work(before, work_before);
            return self.remove_job(id, out);
        };
        if live.is_recalled {
            // The job does not run, so its user can have it.
            return self.give_back(id, losses, out);
        }
        again.saved = again.saved + lost.saved;
        let needs = again.needs;
        let allowed = again.allowed;
        let less = |all: Span| left_of(all, again.saved);
        let mut left = Job::clone(&again.job);
        let task = &mut left.tasks[0];
        (task.runtime, task.walltime) = (less(task.runtime), less(task.walltime));
        self.remove_work(before, work_before);
        // A job stays where its input is; without input it goes to any site with room, the previous one included.
        let chosen = if stays { Ok(before) } else { self.choose(now, &left, allowed, needs) };
        let Ok(number) = chosen else { return self.remove_job(id, out) };
        let work = work_of(&left.tasks[0]);
        self.add_work(number, work);
        let place = &mut self.places[number];
        let give = place.job_message(&left, needs.unwrap_or(Needs::NODE), losses);
        out.log(Record::Assigned { task: lost.task, site: place.site });
        place.hand_over(now, give, out);
        let live = self.live.get_mut(&id).expect("it is live");
        (live.place, live.work) = (number, work);
    }

    /// Removes a job that is lost for good, or that no site takes. A pending request of its user is refused.
    fn remove_job(&mut self, job: JobId, out: &mut Out) {
        let mut live = self.live.remove(&job).expect("it is live");
        out.log(Record::Removed { job });
        live.refuse_recall(job, out);
        live.report_end(job, out);
    }

    fn handle_end(&mut self, now: Time, from: ActorId, ended: Ended, out: &mut Out) {
        let job = ended.task.job;
        let Some(live) = self.live.get_mut(&job).filter(|live| live.is_given_to(from, now, &self.places)) else {
            return;
        };
        let place = live.place;
        let work = live.work;
        // The answer of the site to a recall that crosses this message arrives when the job is gone, and is ignored.
        live.refuse_recall(job, out);
        self.remove_work(place, work);
        let live = self.live.get_mut(&job).expect("it is live");
        let bringing = self.stager.as_mut().zip(live.staging.as_ref());
        if bringing.is_some_and(|(stager, staging)| stager.bring_back(now, job, staging, from, out)) {
            live.phase = DispatchPhase::Returning;
        } else {
            self.complete_job(job, out);
        }
    }

    /// Removes a job that its site declines. No other site is asked.
    fn declined(&mut self, now: Time, from: ActorId, declined: Declined, out: &mut Out) {
        let job = declined.task.job;
        let Some(live) = self.live.get(&job).filter(|live| live.is_given_to(from, now, &self.places)) else { return };
        let place = live.place;
        let work = live.work;
        if self.places[place].takes == Takes::Entrusted {
            self.remove_work(place, work);
            self.remove_job(job, out);
        }
    }

    fn complete_job(&mut self, job: JobId, out: &mut Out) {
        let live = self.live.remove(&job).expect("it is live");
        out.log(Record::Completed { job, value: None });
        live.report_end(job, out);
    }
}

impl DispatchedJob {
    /// True if the job is with this site, and was by `now`. Messages of other sites about it are ignored.
    fn is_given_to(&self, site: ActorId, now: Time, places: &[KnownSite]) -> bool {
        places[self.place].site == site && matches!(self.phase, DispatchPhase::Given) && self.since <= now
    }

    /// Refuses a pending request of the user to have the job back.
    fn refuse_recall(&mut self, job: JobId, out: &mut Out) {
        if std::mem::take(&mut self.is_recalled) {
            let task = TaskId { job, index: 0 };
            out.send(self.user, Message::Recalled(Recalled { task, in_time: false, losses: 0 }));
        }
    }

    fn report_end(&self, job: JobId, out: &mut Out) {
        if let Some(think) = self.think {
            out.send(self.user, Message::JobEnded(JobEnded { job, think }));
        }
    }
}

/// Requested work of a site per node.
#[derive(Clone, Copy, Debug)]
struct SiteLoad {
    /// Requested work in node microseconds.
    work: u128,
    nodes: u32,
}

impl SiteLoad {
    const MOST: SiteLoad = SiteLoad { work: u128::MAX, nodes: 1 };
}

impl Ord for SiteLoad {
    /// Compares requested work per node, exactly.
    fn cmp(&self, other: &SiteLoad) -> Ordering {
        let [nodes, others] = [self.nodes, other.nodes].map(u128::from);
        let quotients = (self.work / nodes).cmp(&(other.work / others));
        quotients.then_with(|| (self.work % nodes * others).cmp(&(other.work % others * nodes)))
    }
}

impl PartialOrd for SiteLoad {
    fn partial_cmp(&self, other: &SiteLoad) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for SiteLoad {
    fn eq(&self, other: &SiteLoad) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for SiteLoad {}

/// Fails if the job has a fault that makes it impossible at every site.
pub(super) fn check_task(task: &Task, needs: Option<Needs>) -> Result<(), Invalid> {
    match task.cores {
        _ if task.runtime.is_zero() || task.walltime.is_zero() => Err(Invalid::NoDuration),
        0 => Err(Invalid::NoNodes),
        _ if needs.is_some_and(|needs| !needs.are_valid()) => Err(Invalid::NoShare),
        _ => Ok(()),
    }
}

/// Node microseconds that a job asks for.
fn work_of(task: &Task) -> u128 {
    u128::from(task.cores) * u128::from(task.walltime.micros())
}

impl Actor<Message, Record> for Dispatcher {
    /// Order within an instant: arrivals of data, then ends and refusals, losses by number of the task, jobs that sites
    /// return, jobs that users take back, and new jobs by submission time and number.
    fn handle_batch(&mut self, now: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Out) {
        let now = now.time;
        if let Some(stager) = &mut self.stager {
            for event in batch.iter() {
                if let Cause::Message(Message::Landed(landed)) = event.cause {
                    stager.take_landing(event.from, landed);
                }
            }
            for staged in stager.take_arrived(now, out) {
                match staged {
                    Staged::Input(job) => self.handle_provided(now, job, out),
                    Staged::Output(job) => self.complete_job(job, out),
                }
            }
        }
        let mut lost = Vec::new();
        let mut recalled = Vec::new();
        let mut recalls = Vec::new();
        let mut handed_in = Vec::new();
        for event in batch.drain(..) {
            match event.cause {
                Cause::Message(Message::Ended(ended)) => self.handle_end(now, event.from, ended, out),
                Cause::Message(Message::Lost(one)) => lost.push((event.from, one)),
                Cause::Message(Message::Declined(declined)) => self.declined(now, event.from, declined, out),
                Cause::Message(Message::Recall(recall)) if !self.is_site(event.from) => {
                    recalls.push((event.from, recall))
                }
                Cause::Message(Message::Recalled(answer)) => recalled.push((event.from, answer)),
                Cause::Message(Message::Enqueue(enqueue)) if !self.is_site(event.from) => {
                    handed_in.push((event.from, enqueue))
                }
                _ => {}
            }
        }
        // A site that knows of a loss beforehand sends it in the order of starts.
        lost.sort_by_key(|(_, lost)| lost.task);
        lost.into_iter().for_each(|(site, lost)| self.handle_loss(now, site, lost, out));
        recalled.into_iter().for_each(|(site, answer)| self.handle_recalled(now, site, answer, out));
        recalls.into_iter().for_each(|(user, recall)| self.recall(user, recall, out));
        // In the order of submission, for any latency, and of numbers within an instant.
        if handed_in.len() > 1 {
            handed_in.sort_by_key(|(_, enqueue)| (enqueue.job.arrive, enqueue.job.id));
        }
        for (user, enqueue) in handed_in {
            self.enqueue(now, user, enqueue, out);
        }
        if let Some(stager) = &mut self.stager {
            stager.wake(now, out);
        }
    }
}
