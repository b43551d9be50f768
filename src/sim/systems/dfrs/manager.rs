//! Manager of a site whose jobs share its nodes: passes events to a [`Cluster`], and the resulting orders to the site.
//!
//! The cluster accounts for progress, so it decides when a job ends; the site checks that. A new job may let others end
//! earlier, so it arrives in a message that promises nothing (`Admit`), and ends are reported when they occur: a run
//! waits for each submission and each end. A tick allows a better promise: after it, nothing ends before the least
//! remaining work of any job.
//!
//! If nodes fail, a lost job counts as submitted again at that time. Checkpoints depend on progress: one is made after
//! a fixed amount of it, at a fixed cost, for any yield. In the cluster, that cost counts as progress, as the job runs
//! longer for it.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use super::{Algorithm, Changes, Cluster, ClusterJob, Events, Fractional, JobStage, Need, Placed};
use crate::grid::{Demand, Expected, Images, Layers, MoveCost, Named, NodeSet, Share, Site, TaskId};
use crate::kernel::ActorId;
use crate::protocol::{Admit, Message, Recall, Recalled};
use crate::roles::site::{Attempts, Ending, Loss, Manager, On, Running, SiteOrder, Start, Tasks, left_of};
use crate::systems::ActorError;
use crate::systems::managers::{Execution, ManagerRow};
use crate::time::{Span, Time};

pub const KIND: ManagerRow = ManagerRow {
    names: || FAMILIES.iter().map(|&(name, about)| Named { name, about }).collect(),
    grammar: GRAMMAR,
    pattern: r"^\s*((Greedy|GreedyP|GreedyPM|MCB8)\s*(\*\s*)?)?(/(stretch-)?per\s*)?(/(opt|minvt|minft|priority|sort|vt|period|penalty|pays)=[^/]+)*$",
    about: "jobs share nodes, and are paused and moved",
    read: check_name,
    warning: |site| sharing_rules(&site.scheduler)?.warning(site_images(site)),
    runs: Execution::Sharing,
    least_yield: |name| sharing_rules(name).map_or(0.0, |rules| rules.least_yield()),
    move_cost: |site| {
        sharing_rules(&site.scheduler).map_or(MoveCost::default(), |rules| rules.move_cost(site_images(site)))
    },
    build: |site, fails, _| {
        let rules = sharing_rules(&site.scheduler).ok_or_else(|| ActorError::unknown("algorithm", &site.scheduler))?;
        let cluster = Cluster::new(rules, site.cores).moving(site_images(site));
        let sharing = SharingManager::new(cluster, fails.map(|fails| fails.attempts(site.cores)));
        Ok(Box::new(if site.latency.is_zero() { sharing.waiting(STEPS) } else { sharing }))
    },
};

const FAMILIES: &[(&str, &str)] = &[
    ("Greedy *", "jobs share nodes: jobs that fit into memory are placed on arrival and when a job ends"),
    ("GreedyP *", "the same, and other jobs are paused for an arriving job that does not fit"),
    ("GreedyPM *", "the same, but jobs are moved instead of paused if possible"),
    ("Greedy/per", "jobs that fit are placed on arrival; all are repacked every period"),
    ("GreedyP/per", "jobs are placed on arrival even if others have to be paused; all are repacked every period"),
    (
        "GreedyPM/per",
        "jobs are placed on arrival even if others have to be moved or paused; all are repacked every period",
    ),
    ("Greedy */per", "like Greedy *, and all are repacked every period"),
    ("GreedyP */per", "like GreedyP *, and all are repacked every period"),
    ("GreedyPM */per", "like GreedyPM *, and all are repacked every period"),
    ("MCB8 *", "all jobs are repacked when one arrives or ends"),
    ("MCB8/per", "all jobs are repacked when one arrives, and every period"),
    ("MCB8 */per", "all jobs are repacked when one arrives or ends, and every period"),
    ("/per", "all jobs are repacked every period, and only then"),
    ("/stretch-per", "all jobs are repacked every period, for the lowest estimated maximum stretch"),
];

const GRAMMAR: &[&str] = &[
    "The names of algorithms that share nodes may be followed by parts:",
    "/opt=min or /opt=avg: spare processor time goes to the worst-off job (default), or to where it raises the average most",
    "    (with /stretch-per: /opt=max, the default, or /opt=avg)",
    "/minvt=SECONDS or /minft=SECONDS: jobs that have less virtual time, or were submitted more recently, are not moved by repacking",
    "/priority=square, stretch or inverse: jobs with a low priority are paused first (default: square)",
    "/sort=max or sum: repacking sorts tasks by the larger of their needs (default) or by the sum",
    "/vt=progress or yield: virtual time of a job that waits for its penalty stands still (default) or runs on with its yield",
    "/period=SECONDS: time between repackings of all jobs (default: 600)",
    "/penalty=SECONDS: time without progress of a resumed or moved job, besides that of `image_bandwidth` (default: 300)",
    "/pays=moves, pauses or from-pause: jobs that wait for the penalty: resumed and moved ones (default), only resumed ones, or resumed ones from their pause on",
];

/// Rules of the algorithm of this name, if it shares nodes.
fn sharing_rules(name: &str) -> Option<Fractional> {
    Algorithm::parse(name).ok()?.fractional().copied()
}

/// Rate at which images of tasks move at a site, if it is configured.
fn site_images(site: &Site) -> Option<Images> {
    let &Site { memory_kb, image_bandwidth, .. } = site;
    image_bandwidth.map(|bandwidth| Images { memory_kb, bandwidth })
}

fn check_name(name: &str) -> Option<Result<String, String>> {
    let small = name.trim().to_ascii_lowercase();
    let is_meant = name.contains(['/', '*'])
        || ["greedy", "mcb", "dfrs", "per", "stretch"].iter().any(|word| small.starts_with(word));
    // An error is expensive, as it suggests a name, and most sites have managers of other systems.
    if !is_meant && !["FCFS", "EASY"].contains(&name.trim()) {
        return None;
    }
    match Algorithm::parse(name) {
        Ok(Algorithm::Dfrs(rules)) => Some(Ok(rules.to_string())),
        Ok(queue @ (Algorithm::Fcfs | Algorithm::Easy)) => {
            let name = queue.to_string().to_lowercase();
            Some(Err(format!(
                "a queue in which jobs do not share nodes has a name in lower case: expected `{name}`, or `{name}-count`, which only counts nodes, found `{queue}`"
            )))
        }
        Err(error) => {
            if small == "dfrs" {
                return Some(Err(format!(
                    "`{}` is a family of algorithms: expected the name of one, such as \
                     `GreedyPM */per/opt=min/minvt=600`, which the paper recommends",
                    name.trim()
                )));
            }
            Some(Err(error.to_string()))
        }
    }
}

/// Steps from a submission to its arrival at the site, through the dispatcher, if messages take no time.
const STEPS: u32 = 2;

struct SharingManager {
    cluster: Cluster,
    given: BTreeMap<TaskId, JobData>,
    /// Events since the last instant.
    events: Events,
    /// Jobs that were lost and reported after the last instant, and that the sender has already sent again.
    again: Vec<(TaskId, Need, JobData)>,
    /// Steps for which internal events wait for submissions of the same moment: all of it is one instant.
    steps: u32,
    /// Time of the last event, and number of its steps that are still awaited.
    moment: (Time, u32),
    /// Treatment of lost jobs, if nodes fail.
    attempts: Option<Attempts>,
    tick: Option<Time>,
    /// Expected end of the job that ends next; None if no job runs.
    end: Option<Time>,
    /// Progress at the end of each running job, in the cluster's order: cached, as it is needed at every instant.
    until: Vec<Span>,
    /// Remaining work of jobs on no node, in microseconds, ascending: constant while they are idle.
    idle: BTreeSet<(WorkLeft, TaskId)>,
}

/// A number of microseconds that is not negative, as bits, which sort like it.
type WorkLeft = u64;

/// Data of a job that the cluster does not have.
#[derive(Clone, Copy)]
struct JobData {
    sender: ActorId,
    work: Span,
    /// Saved work, and virtual time at the end, which includes checkpoints.
    saved: Span,
    until: Span,
    /// Remaining work of a job that is on no node.
    idle: Option<WorkLeft>,
    /// Number of times that it was lost.
    losses: u32,
}

impl SharingManager {
    fn new(cluster: Cluster, attempts: Option<Attempts>) -> SharingManager {
        SharingManager {
            cluster,
            given: BTreeMap::new(),
            events: Events::default(),
            again: Vec::new(),
            steps: 0,
            moment: (Time::NEVER, 0),
            attempts,
            tick: None,
            end: None,
            until: Vec::new(),
            idle: BTreeSet::new(),
        }
    }

    fn waiting(self, steps: u32) -> SharingManager {
        SharingManager { steps, ..self }
    }

    /// True if jobs that are submitted at this moment may still arrive.
    fn waits(&mut self, now: Time) -> bool {
        if self.moment.0 != now {
            // If a job arrives first, there is nothing to wait for: internal events would have occurred before.
            let comes_first = !self.events.come.is_empty();
            let happens = self.next_wake().is_some_and(|wake| wake <= now) || self.events != Events::default();
            self.moment = (now, if happens && !comes_first { self.steps } else { 0 });
        } else {
            self.moment.1 = self.moment.1.saturating_sub(1);
        }
        self.moment.1 > 0
    }

    /// Accepts a job. The dispatcher knows the size of the site, so invalid jobs get no answer.
    fn admit(&mut self, sender: ActorId, admit: Admit) {
        let Admit { job, tasks, needs, runtime, losses } = admit;
        let task = TaskId { job, index: 0 };
        let Ok(need) = Need::new(tasks, needs.cpu, needs.memory) else { return };
        if self.cluster.check(&need).is_err() || runtime.is_zero() {
            return;
        }
        let until = self.with_checkpoints(runtime, &need);
        let given = JobData { sender, work: runtime, saved: Span::ZERO, until, idle: None, losses };
        if self.events.gone.contains(&task) {
            if self.again.iter().all(|again| again.0 != task) {
                self.again.push((task, need, given));
            }
        } else if let Entry::Vacant(place) = self.given.entry(task) {
            place.insert(given);
            self.events.come.push((task, need));
        }
    }

    /// Recalls a job that has not run yet; returns the number of its losses.
    fn recall(&mut self, sender: ActorId, task: TaskId) -> Option<u32> {
        let again = self.again.iter().position(|(its, _, given)| *its == task && given.sender == sender);
        if let Some(at) = again {
            return Some(self.again.remove(at).2.losses);
        }
        let JobData { losses, .. } = *self.given.get(&task).filter(|given| given.sender == sender)?;
        if let Some(at) = self.events.come.iter().position(|come| come.0 == task) {
            self.events.come.remove(at);
        } else if self.cluster.live().iter().any(|live| live.job == task && live.stage() == JobStage::Waiting) {
            self.events.gone.push(task);
        } else {
            return None;
        }
        self.forget(task);
        Some(losses)
    }

    fn forget(&mut self, task: TaskId) {
        self.busy(task);
        self.given.remove(&task);
    }

    /// Duration of a span of work with its checkpoints. A job counts as on one node per task, wherever its tasks are.
    fn with_checkpoints(&self, work: Span, need: &Need) -> Span {
        self.attempts.as_ref().map_or(work, |attempts| attempts.with_checkpoints(work, self.width(need)))
    }

    fn width(&self, need: &Need) -> u32 {
        need.tasks.min(self.cluster.nodes())
    }

    /// Records that a job is on nodes, or is over.
    fn busy(&mut self, task: TaskId) {
        if let Some(left) = self.given.get_mut(&task).and_then(|given| given.idle.take()) {
            self.idle.remove(&(left, task));
        }
    }

    /// Notes that a job is on no node, with this progress.
    fn idle(&mut self, task: TaskId, done: f64) {
        if let Some(given) = self.given.get_mut(&task) {
            let left = (given.until.micros() as f64 - done).max(0.0).to_bits();
            given.idle = Some(left);
            self.idle.insert((left, task));
        }
    }

    /// Processes all ends of now and their consequences, with new jobs; repeats if they cause further ends now.
    fn instant(&mut self, now: Time, orders: &mut Vec<SiteOrder>) {
        let mut is_tick = self.tick == Some(now);
        loop {
            self.finish_tasks(now, orders);
            let mut events = std::mem::take(&mut self.events);
            if events == Events::default() && !is_tick {
                break;
            }
            is_tick = false;
            let again = std::mem::take(&mut self.again);
            events.come.extend(again.iter().map(|(task, need, _)| (*task, *need)));
            let changes = self.cluster.advance(now, &events);
            events.gone.iter().for_each(|task| self.forget(*task));
            self.given.extend(again.into_iter().map(|(task, _, given)| (task, given)));
            self.until.clear();
            self.until.extend(self.cluster.running().map(|live| self.given[&live.job].until));
            self.sort(&events, &changes);
            self.order(now, changes, orders);
        }
        self.tick = self.cluster.next_tick(now);
        let ends = self.cluster.running().zip(&self.until).map(|(live, until)| live.end(*until));
        self.end = ends.min().filter(|end| *end < Time::NEVER);
    }

    /// Updates which jobs are idle. O(log J) per job that changes, of `J` live jobs.
    fn sort(&mut self, events: &Events, changes: &Changes) {
        events.lost.iter().for_each(|(task, saved)| self.idle(*task, *saved));
        events.come.iter().for_each(|(task, _)| self.idle(*task, 0.0));
        for Placed { job, .. } in changes.started.iter().chain(&changes.resumed) {
            self.busy(*job);
        }
        changes.paused.iter().zip(&changes.paused_done).for_each(|(task, done)| self.idle(*task, *done));
    }

    /// Turns changes into orders, kind by kind; jobs that leave nodes come first.
    fn order(&self, now: Time, changes: Changes, orders: &mut Vec<SiteOrder>) {
        let Changes { paused, migrated, resumed, started, yields, .. } = changes;
        orders.extend(paused.into_iter().map(SiteOrder::Suspend));
        orders.extend(migrated.into_iter().map(|Placed { job, places, from, .. }| SiteOrder::Move {
            task: job,
            nodes: Layers::from_counts(&places),
            from,
        }));
        let yields = BTreeMap::from_iter(yields);
        for Placed { job, places, from, .. } in resumed {
            orders.push(SiteOrder::Resume { task: job, nodes: Layers::from_counts(&places), from });
            // In the cluster its share was 0 while it was paused.
            if !yields.contains_key(&job) {
                orders.push(SiteOrder::Share { task: job, share: 0.0 });
            }
        }
        let newcomers: BTreeSet<TaskId> = started.iter().map(|placed| placed.job).collect();
        for Placed { job, need, places, .. } in started {
            let JobData { sender, saved, until, losses, .. } = self.given[&job];
            orders.push(SiteOrder::Start(Start {
                task: job,
                sender,
                at: now,
                on: On::These(Layers::from_counts(&places)),
                demand: task_demand(&need),
                share: yields.get(&job).copied().unwrap_or(0.0),
                runtime: Span::from_micros(until.micros() - saved.micros()),
                walltime: Span::MAX,
                ending: Ending::Ordered,
                loss: self.attempts.as_ref().map_or(Loss::default(), |them| them.starts(losses, self.width(&need))),
                rank: 0,
                ends_quietly: false,
            }));
        }
        let others = yields.into_iter().filter(|(job, _)| !newcomers.contains(job));
        orders.extend(others.map(|(task, share)| SiteOrder::Share { task, share }));
    }
}

/// Demand of a task on its node; never all of the memory, as another task may need almost none.
fn task_demand(need: &Need) -> Demand {
    Demand { cpu: demand_share(need.cpu), memory: demand_share(need.memory).min(Share::ALL_BUT_ALL) }
}

fn demand_share(part: f64) -> Share {
    Share::of(part).expect("needs are shares")
}

impl Manager for SharingManager {
    fn receive_message(&mut self, _: Time, sender: ActorId, message: Message, _: &Tasks, orders: &mut Vec<SiteOrder>) {
        match message {
            Message::Admit(admit) => self.admit(sender, admit),
            Message::Recall(Recall { task }) => {
                let back = self.recall(sender, task);
                let in_time = back.is_some();
                let losses = back.unwrap_or(0);
                orders.push(SiteOrder::Send(sender, Message::Recalled(Recalled { task, in_time, losses })));
            }
            _ => {}
        }
    }

    fn finish_tasks(&mut self, now: Time, orders: &mut Vec<SiteOrder>) {
        let SharingManager { cluster, until, events, .. } = self;
        for (live, until) in cluster.running().zip(until) {
            if live.end(*until) <= now && !events.have_released(live.job) {
                orders.push(SiteOrder::Finish(live.job));
                events.gone.push(live.job);
            }
        }
    }

    fn task_lost(&mut self, _: Time, lost: &Running, saved: Span) {
        let task = lost.task;
        if lost.loss.is_reported {
            return self.events.gone.push(task);
        }
        let mut running = self.cluster.running().enumerate();
        let Some((at, need)) = running.find(|(_, live)| live.job == task).map(|(at, live)| (at, live.need)) else {
            return;
        };
        let JobData { work, saved: before, .. } = self.given[&task];
        let saved = before + saved;
        let until = saved + self.with_checkpoints(left_of(work, saved), &need);
        self.given.entry(task).and_modify(|given| {
            (given.saved, given.until, given.losses) = (saved, until, given.losses.saturating_add(1))
        });
        self.until[at] = until;
        self.events.lost.push((task, saved.micros() as f64));
    }

    fn are_down(&mut self, _: Time, expected: &[Expected]) {
        let mut down = NodeSet::default();
        expected.iter().for_each(|expected| down.unite(&expected.nodes));
        self.events.down = (down != *self.cluster.down()).then_some(down);
    }

    fn has_waiting(&self) -> bool {
        !self.cluster.live().is_empty()
    }

    fn decide_orders(&mut self, now: Time, _: &Tasks, orders: &mut Vec<SiteOrder>) {
        if !self.waits(now) {
            self.instant(now, orders);
        }
    }

    fn has_more(&self, now: Time) -> bool {
        self.moment.0 == now && self.moment.1 > 0
    }

    fn next_wake(&self) -> Option<Time> {
        self.end.into_iter().chain(self.tick).min()
    }

    /// Promise for a tick, which may give each job its full need, but no more. O(R) with `R` running jobs.
    fn send_floor(&self, at: Time) -> Time {
        if self.end.is_some_and(|end| end <= at) {
            return at;
        }
        let left = |(live, until): (&ClusterJob, &Span)| until.micros() as f64 - live.progress(at);
        let idle = self.idle.first().map(|(left, _)| f64::from_bits(*left));
        let least = self.cluster.running().zip(&self.until).map(left).chain(idle).fold(f64::INFINITY, f64::min);
        // One microsecond less, for rounding.
        let least = (least - 1.0).max(0.0) as u64;
        if self.cluster.live().is_empty() { Time::NEVER } else { at + Span::from_micros(least) }
    }
}
