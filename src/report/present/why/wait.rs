//! The wait of a task in the queue of its site.

use std::cmp::Reverse;

use serde::Serialize;

use super::stay::{SiteStays, Stay};
use crate::Tally;
use crate::referee::tally::{JobRow, SiteFacts, StintEnd, TaskRow};
use crate::results::summary::is_zero;
use hansa_sim::protocol::ReserveAnswer;
use hansa_sim::time::{Span, Time};

/// A wait in the queue of a site. Times are in seconds from the start of the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Why {
    pub job: String,
    pub user: String,
    pub site: String,
    /// Cores of the site.
    pub of: u32,
    pub cores: u32,
    pub requested: f64,
    /// Time at which it could have started, if its site had had room.
    pub wanted: f64,
    /// Time at which it reached the site.
    pub came: f64,
    /// Start of its booking, if it has one: it waits for that, and for nothing else.
    pub booked: Option<f64>,
    /// None if it did not start.
    pub started: Option<f64>,
    /// Time to which the rest refers: the start, or the last moment of the log or the job.
    pub until: f64,
    /// Jobs that waited there when it came.
    pub ahead: Amount,
    /// Jobs that ran there when it came.
    pub running: Amount,
    /// Jobs that waited when it came, the last to leave the queue first.
    pub waited: Vec<Before>,
    /// Jobs that ran when it came, the last to end first.
    pub ran: Vec<Before>,
    /// The time at which the last of what was ahead had left the queue. None if nothing was ahead, or some still was.
    pub first_from: Option<f64>,
    /// Most cores that were free at a time, and the time for which as many were free as it needs. None if jobs share
    /// cores there.
    pub free: Option<Free>,
    /// Jobs that came later and started before, those with most core time first.
    pub overtaken_by: Vec<Later>,
    /// First time, at most `until`, from which enough cores would have been free for as long as it ran, or for its
    /// requested time if it did not start, if the later jobs had not started and all else were unchanged: jobs ahead
    /// keep their starts. None if no later job started before it, or jobs share cores there.
    pub free_without_later: Option<f64>,
    /// The jobs that left their cores in the moment of its start.
    pub freed_by: Vec<String>,
    /// Its run after the start. None if it was not paused or moved, and its cores were not shared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<SharedRun>,
}

/// A run with breaks, moves or shares of cores, up to the end of the job or of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SharedRun {
    pub pauses: u64,
    pub moves: u64,
    /// Number of losses because nodes failed.
    pub losses: u64,
    /// Number of times that its site gave its cores to another job.
    #[serde(skip_serializing_if = "is_zero")]
    pub requeues: u64,
    /// Time on its cores, in seconds.
    pub on_cores: f64,
    /// Time off its cores between its start and its end, in seconds.
    pub paused: f64,
    /// Mean share of the processors that it could use, while on them.
    pub share: f64,
}

/// Jobs, and their cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Amount {
    pub jobs: u64,
    pub cores: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Free {
    pub most: u64,
    pub enough_for: f64,
}

/// A job that was at the site before.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Before {
    pub job: String,
    pub cores: u32,
    /// Time at which it left the queue or its cores.
    pub until: f64,
}

/// A job that came later and started before.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Later {
    pub job: String,
    pub cores: u32,
    pub started: f64,
    /// Time for which it was on its cores until the job in question started.
    pub held: f64,
}

/// The wait of one task in the queue of its site.
///
/// It sees the task among the tasks that were at the site during the wait, or could have been in the way of an earlier
/// start. Jobs ahead came before it, later ones after it, and arrivals at one time are in order of numbers
/// (`Stay::arrival_key`).
struct WaitStory<'a> {
    tally: &'a Tally,
    own: &'a Stay<'a>,
    stays: Vec<&'a Stay<'a>>,
    site: &'a SiteFacts,
    /// End of the wait: the start, or the last time of the task in the queue.
    until: Time,
}

impl Why {
    /// The reasons for the wait of a task that was given to a site. O(tasks of the site), and n log n of those that
    /// were there during its wait.
    pub(super) fn of_task(stays: &SiteStays<'_>, row: &JobRow, index: usize) -> Why {
        let tally = stays.tally;
        let site = row.tasks[index].site.expect("the task was given to a site");
        let all = stays.at(site);
        let own = all.binary_search_by_key(&(row.job.id, index), |stay| (stay.row.job.id, stay.index));
        let own = &all[own.expect("a task with a site has been there")];
        let until = own.leaves_queue();
        let last = until + needed_time(own);
        let nearby = all.iter().filter(|stay| stay.end >= own.came && stay.came <= last).collect();
        WaitStory { tally, own, stays: nearby, site: &tally.sites[site as usize], until }.explain()
    }
}

impl WaitStory<'_> {
    fn explain(&self) -> Why {
        let &WaitStory { tally, own, site, until, .. } = self;
        let row = own.row;
        let waited = self.jobs_ahead();
        let ran = self.running_jobs();
        Why {
            job: tally.task_label(row, own.index),
            user: tally.names.of_actor(row.user),
            site: site.name.clone(),
            of: site.cores,
            cores: own.cores,
            requested: row.job.tasks[own.index].walltime.micros() as f64 / 1e6,
            wanted: to_seconds(tally.wanted_at(row, own.index).min(own.came)),
            came: to_seconds(own.came),
            booked: booked_start(row).map(to_seconds),
            started: own.start.map(to_seconds),
            until: to_seconds(until),
            ahead: Amount::of(&waited),
            running: Amount::of(&ran),
            waited,
            ran,
            first_from: self.first_from().map(to_seconds),
            free: (!site.is_shared).then(|| free_cores(&self.stays, site.cores, own, until)),
            overtaken_by: self.overtakers(),
            free_without_later: self.room_without_later().map(to_seconds),
            freed_by: self.freed_by(),
            shared: SharedRun::of(&row.tasks[own.index], own.end),
        }
    }

    fn is_ahead(&self, stay: &Stay<'_>) -> bool {
        stay.arrival_key() < self.own.arrival_key() && stay.leaves_queue() > self.own.came
    }

    /// True if it came later and started before the end of the wait.
    fn is_overtaker(&self, stay: &Stay<'_>) -> bool {
        stay.arrival_key() > self.own.arrival_key() && stay.start.is_some_and(|start| start < self.until)
    }

    fn is_own(&self, stay: &Stay<'_>) -> bool {
        std::ptr::eq(stay, self.own)
    }

    /// Jobs that waited when it came, the last to leave the queue first.
    fn jobs_ahead(&self) -> Vec<Before> {
        let ahead = self.stays.iter().copied().filter(|stay| self.is_ahead(stay));
        self.last_first(ahead.map(|stay| (stay.leaves_queue(), stay)).collect())
    }

    /// Jobs that ran when it came, the last to end first.
    fn running_jobs(&self) -> Vec<Before> {
        let running = self.stays.iter().copied().filter(|stay| stay.runs_at(self.own.came) && !self.is_own(stay));
        self.last_first(running.map(|stay| (stay.end, stay)).collect())
    }

    /// Jobs by the times at which they were out of the way, the last one first.
    fn last_first(&self, mut jobs: Vec<(Time, &Stay<'_>)>) -> Vec<Before> {
        jobs.sort_by_key(|(until, stay)| (Reverse(*until), stay.arrival_key()));
        let before = |(until, stay): (Time, &Stay<'_>)| Before {
            job: self.tally.task_label(stay.row, stay.index),
            cores: stay.cores,
            until: to_seconds(until),
        };
        jobs.into_iter().map(before).collect()
    }

    /// Time at which the last job ahead left the queue, if all did during the wait.
    fn first_from(&self) -> Option<Time> {
        let ahead = self.stays.iter().copied().filter(|stay| self.is_ahead(stay));
        ahead.map(Stay::leaves_queue).max().filter(|last| *last <= self.until)
    }

    /// Jobs that came later and started before, those with most core time first.
    fn overtakers(&self) -> Vec<Later> {
        let mut later = Vec::new();
        for stay in self.stays.iter().filter(|stay| self.is_overtaker(stay)) {
            let start = stay.leaves_queue();
            later.push(Later {
                job: self.tally.task_label(stay.row, stay.index),
                cores: stay.cores,
                started: to_seconds(start),
                held: stay.end.min(self.until).since(start).micros() as f64 / 1e6,
            });
        }
        later.sort_by(|one, other| {
            other.core_seconds().total_cmp(&one.core_seconds()).then_with(|| one.started.total_cmp(&other.started))
        });
        later
    }

    /// First time of the wait at which it would have had room without the jobs that overtook it. None if none did, or
    /// jobs share cores at the site.
    fn room_without_later(&self) -> Option<Time> {
        if self.site.is_shared || !self.stays.iter().any(|stay| self.is_overtaker(stay)) {
            return None;
        }
        let others = self.stays.iter().copied().filter(|stay| !self.is_overtaker(stay) && !self.is_own(stay));
        Some(first_room(others, self.site.cores, self.own).min(self.until))
    }

    /// Jobs that left their cores in the moment of its start.
    fn freed_by(&self) -> Vec<String> {
        let Some(start) = self.own.start else { return Vec::new() };
        let leaves = |stay: &&&Stay<'_>| stay.end == start && stay.start.is_some_and(|began| began < start);
        self.stays.iter().filter(leaves).map(|stay| self.tally.task_label(stay.row, stay.index)).collect()
    }
}

impl Later {
    /// Core time that it held while the task in question waited.
    fn core_seconds(&self) -> f64 {
        self.held * f64::from(self.cores)
    }
}

/// Start of a job's booking, if it has one.
pub(super) fn booked_start(row: &JobRow) -> Option<Time> {
    match row.answered.as_ref()?.answer {
        ReserveAnswer::Accepted { start, .. } => Some(start),
        ReserveAnswer::Declined | ReserveAnswer::Invalid(_) => None,
    }
}

fn to_seconds(time: Time) -> f64 {
    time.micros() as f64 / 1e6
}

impl Amount {
    fn of(jobs: &[Before]) -> Amount {
        Amount { jobs: jobs.len() as u64, cores: jobs.iter().map(|before| u64::from(before.cores)).sum() }
    }
}

impl SharedRun {
    pub fn of(task: &TaskRow, end: Time) -> Option<SharedRun> {
        let start = task.start?;
        let stints = task.stints.as_ref()?;
        let mut run = SharedRun::default();
        let mut used = 0.0;
        for stint in stints.all_stints(end, &task.cores) {
            let seconds = stint.to.since(stint.from).micros() as f64 / 1e6;
            run.on_cores += seconds;
            used += seconds * stint.share;
            run.pauses += u64::from(stint.left == Some(StintEnd::Suspended));
            run.moves += u64::from(stint.left == Some(StintEnd::Moved));
            run.losses += u64::from(stint.is_lost());
            run.requeues += u64::from(stint.left == Some(StintEnd::Requeued));
        }
        if run.pauses + run.moves + run.losses + run.requeues == 0 && used == run.on_cores {
            return None;
        }
        run.paused = end.since(start).micros() as f64 / 1e6 - run.on_cores;
        run.share = if run.on_cores > 0.0 { used / run.on_cores } else { 0.0 };
        Some(run)
    }
}

/// The free cores of a site from the arrival of a job until it started. Cores that were down count as free.
fn free_cores(stays: &[&Stay<'_>], of: u32, own: &Stay<'_>, until: Time) -> Free {
    let mut changes: Vec<(Time, i64)> = Vec::new();
    for stay in stays.iter().filter(|stay| !std::ptr::eq(**stay, own)) {
        let Some(start) = stay.start else { continue };
        changes.push((start.max(own.came), -i64::from(stay.cores)));
        changes.push((stay.end.max(own.came), i64::from(stay.cores)));
    }
    changes.sort_by_key(|(time, _)| *time);
    let mut free = i64::from(of);
    let mut since = own.came;
    let mut most = 0;
    let mut enough = 0;
    let mut pass = |free: i64, from: Time, to: Time| {
        let to = to.min(until);
        if to > from {
            most = most.max(free);
            enough += if free >= i64::from(own.cores) { to.since(from).micros() } else { 0 };
        }
    };
    for (time, change) in changes {
        if time > since {
            pass(free, since, time);
            since = time;
        }
        free += change;
    }
    pass(free, since, until);
    Free { most: most.max(0).cast_unsigned(), enough_for: enough as f64 / 1e6 }
}

/// The time for which a task needs its cores: as long as it ran, or its requested time if it did not start.
fn needed_time(own: &Stay<'_>) -> Span {
    let requested = own.row.job.tasks[own.index].walltime;
    own.start.map_or(requested, |start| own.end.since(start)).max(Span::from_micros(1))
}

/// First time since its arrival from which these stays leave a task enough cores for as long as it ran, or for its
/// requested time if it did not start. O(n log n) in the number of stays.
fn first_room<'s>(others: impl Iterator<Item = &'s Stay<'s>>, of: u32, own: &Stay<'_>) -> Time {
    let need = needed_time(own);
    let mut changes: Vec<(Time, i64)> = Vec::new();
    for stay in others {
        let Some(start) = stay.start else { continue };
        if stay.end > own.came {
            changes.push((start.max(own.came), -i64::from(stay.cores)));
            changes.push((stay.end, i64::from(stay.cores)));
        }
    }
    changes.sort_unstable();
    let mut free = i64::from(of);
    // Start of the stretch with enough free cores that reaches the current time.
    let mut enough_from = (of >= own.cores).then_some(own.came);
    for at_once in changes.chunk_by(|one, other| one.0 == other.0) {
        let (time, _) = at_once[0];
        if let Some(from) = enough_from.filter(|from| time.since(*from) >= need) {
            return from;
        }
        free += at_once.iter().map(|(_, change)| change).sum::<i64>();
        enough_from = if free >= i64::from(own.cores) { enough_from.or(Some(time)) } else { None };
    }
    enough_from.unwrap_or(Time::NEVER)
}
