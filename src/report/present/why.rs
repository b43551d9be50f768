//! The reasons of a wait: what was ahead of a job in the queue of its site, how many cores were free meanwhile, and
//! which later jobs went first.

use std::cmp::Reverse;
use std::fmt::{self, Write as _};

use serde::Serialize;

use crate::Tally;
use crate::referee::tally::{JobRow, StintEnd, TaskRow};
use hansa_sim::grid::JobId;
use hansa_sim::numerals::{format_count, format_counted, format_percent, format_span};
use hansa_sim::protocol::ReserveAnswer;
use hansa_sim::time::{Span, Time};

/// Later jobs that are named.
const NAMED: usize = 8;
/// Jobs ahead and running jobs that are named, of each.
const NAMED_BEFORE: usize = 3;

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

/// A task at a site.
pub(crate) struct Stay<'a> {
    pub row: &'a JobRow,
    pub index: usize,
    /// Time at which it joined the queue.
    pub came: Time,
    pub start: Option<Time>,
    /// Time at which it left its cores or the queue; the last time of the log if it is there.
    pub end: Time,
    pub cores: u32,
}

impl Tally {
    /// The reasons for the wait of a job, by its number in the log, or of one of its tasks (`12.3`); `#7` is a number
    /// of the run. O(tasks log tasks).
    pub fn explain_wait(&self, job: &str) -> Result<Why, String> {
        let (row, index) = self.find(job)?;
        let label = self.task_label(row, index);
        let site = row.tasks[index].site.ok_or_else(|| format!("job {label} was given to no site"))?;
        let stays = self.site_stays(site);
        let booked = row.answered.as_ref().and_then(|answered| match &answered.answer {
            ReserveAnswer::Accepted { start, .. } => Some(*start),
            ReserveAnswer::Declined | ReserveAnswer::Invalid(_) => None,
        });
        let own = stays.iter().position(|stay| stay.row.job.id == row.job.id && stay.index == index);
        let own = &stays[own.expect("a task with a site has been there")];
        let key = |stay: &Stay<'_>| (stay.came, stay.row.job.id, stay.index);
        let until = own.start.unwrap_or(own.end);
        let seconds = |time: Time| time.micros() as f64 / 1e6;
        let leaves_queue = |stay: &Stay<'_>| stay.start.unwrap_or(stay.end);
        let is_ahead = |stay: &Stay<'_>| key(stay) < key(own) && leaves_queue(stay) > own.came;
        let last = stays.iter().filter(|stay| is_ahead(stay)).map(leaves_queue).max();
        let is_later = |stay: &&Stay<'_>| key(stay) > key(own) && stay.start.is_some_and(|start| start < until);
        let mut later: Vec<Later> = stays
            .iter()
            .filter(is_later)
            .map(|stay| {
                let start = stay.start.expect("it started");
                let held = stay.end.min(until).since(start).micros() as f64 / 1e6;
                let job = self.task_label(stay.row, stay.index);
                Later { job, cores: stay.cores, started: seconds(start), held }
            })
            .collect();
        later.sort_by(|one, other| {
            let area = |later: &Later| later.held * f64::from(later.cores);
            area(other).total_cmp(&area(one)).then_with(|| one.started.total_cmp(&other.started))
        });
        let before = |of: &dyn Fn(&Stay<'_>) -> bool, until: &dyn Fn(&Stay<'_>) -> Time| {
            let mut these: Vec<&Stay<'_>> = stays.iter().filter(|stay| of(stay)).collect();
            these.sort_by_key(|stay| (Reverse(until(stay)), key(stay)));
            let before = |stay: &Stay<'_>| Before {
                job: self.task_label(stay.row, stay.index),
                cores: stay.cores,
                until: seconds(until(stay)),
            };
            these.into_iter().map(before).collect::<Vec<Before>>()
        };
        let is_running = |stay: &Stay<'_>| {
            stay.start.is_some_and(|start| start <= own.came) && stay.end > own.came && !std::ptr::eq(stay, own)
        };
        let facts = &self.sites[site as usize];
        let free_without_later = (!later.is_empty() && !facts.is_shared).then(|| {
            let others = stays.iter().filter(|stay| !is_later(stay) && !std::ptr::eq(*stay, own));
            seconds(first_room(others, facts.cores, own).min(until))
        });
        let freed = own.start.map_or_else(Vec::new, |start| {
            let these = stays.iter().filter(|stay| stay.end == start && stay.start.is_some_and(|began| began < start));
            these.map(|stay| self.task_label(stay.row, stay.index)).collect()
        });
        let waited = before(&is_ahead, &leaves_queue);
        let ran = before(&is_running, &|stay| stay.end);
        Ok(Why {
            job: label,
            user: self.names.of_actor(row.user),
            site: facts.name.clone(),
            of: facts.cores,
            cores: own.cores,
            requested: row.job.tasks[index].walltime.micros() as f64 / 1e6,
            wanted: seconds(self.wanted_at(row, index).min(own.came)),
            came: seconds(own.came),
            booked: booked.map(seconds),
            started: own.start.map(seconds),
            until: seconds(until),
            ahead: Amount::of(&waited),
            running: Amount::of(&ran),
            waited,
            ran,
            first_from: last.filter(|last| *last <= until).map(seconds),
            free: (!facts.is_shared).then(|| free_cores(&stays, facts.cores, own, until)),
            overtaken_by: later,
            free_without_later,
            freed_by: freed,
            shared: SharedRun::of(&row.tasks[index], own.end),
        })
    }

    fn find(&self, job: &str) -> Result<(&JobRow, usize), String> {
        let (number, task) = match job.split_once('.') {
            Some((number, task)) => (number, Some(task.parse::<usize>().ok())),
            None => (job, None),
        };
        let found: Vec<&JobRow> = match number.strip_prefix('#') {
            Some(own) => own.parse().ok().and_then(|own| self.jobs.get(&JobId(own))).into_iter().collect(),
            None => {
                let number = number.parse::<u64>().ok();
                self.jobs.values().filter(|row| Some(self.number(row.job.id)) == number).collect()
            }
        };
        let row = match found[..] {
            [row] => row,
            [] => {
                let numbers = self.jobs.keys().map(|id| self.number(*id));
                let range = numbers.clone().min().zip(numbers.max());
                let range = range.map_or(String::new(), |(least, most)| format!("; numbers go from {least} to {most}"));
                return Err(format!("there is no job {number}{range}"));
            }
            [first, ..] => {
                return Err(format!(
                    "{} jobs have the number {number} in their workloads: name one by its number in the run, such as #{}",
                    format_count(found.len() as u64),
                    first.job.id.0
                ));
            }
        };
        match (task, row.tasks.len()) {
            (None, 1) => Ok((row, 0)),
            (None, tasks) => {
                Err(format!("job {number} has {}: name one, such as {number}.0", format_counted(tasks as u64, "task")))
            }
            (Some(Some(task)), tasks) if task < tasks => Ok((row, task)),
            (Some(_), tasks) => {
                Err(format!("there is no task {job}; those of job {number} go from 0 to {}", tasks - 1))
            }
        }
    }

    pub(crate) fn task_label(&self, row: &JobRow, index: usize) -> String {
        let job = self.label(row.job.id);
        if row.tasks.len() == 1 { job } else { format!("{job}.{index}") }
    }

    /// Time from which on a task could have run.
    fn wanted_at(&self, row: &JobRow, index: usize) -> Time {
        let mut ready = Vec::new();
        row.ready_into(&mut ready);
        ready[index].unwrap_or(self.last)
    }

    /// All tasks that were given to a site.
    pub(crate) fn site_stays(&self, site: u32) -> Vec<Stay<'_>> {
        let mut stays = Vec::new();
        let latency = self.sites[site as usize].latency;
        for row in self.jobs.values() {
            let there = |(_, task): &(usize, &TaskRow)| task.site == Some(site);
            for (index, task) in row.tasks.iter().enumerate().filter(there) {
                let assigned = task.assigned.or(task.start).unwrap_or(row.earliest_start());
                stays.push(Stay {
                    row,
                    index,
                    came: task.start.unwrap_or(Time::NEVER).min(assigned + latency),
                    start: task.start,
                    end: task.end.or(row.given_up().filter(|_| task.start.is_none())).unwrap_or(self.last),
                    cores: row.job.tasks[index].cores,
                });
            }
        }
        stays
    }
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
        }
        if run.pauses + run.moves + run.losses == 0 && used == run.on_cores {
            return None;
        }
        run.paused = end.since(start).micros() as f64 / 1e6 - run.on_cores;
        run.share = if run.on_cores > 0.0 { used / run.on_cores } else { 0.0 };
        Some(run)
    }
}

/// The free cores of a site from the arrival of a job until it started. Cores that were down count as free.
fn free_cores(stays: &[Stay<'_>], of: u32, own: &Stay<'_>, until: Time) -> Free {
    let mut changes: Vec<(Time, i64)> = Vec::new();
    for stay in stays.iter().filter(|stay| !std::ptr::eq(*stay, own)) {
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

/// First time since its arrival from which these stays leave a task enough cores for as long as it ran, or for its
/// requested time if it did not start. O(n log n) in the number of stays.
fn first_room<'s>(others: impl Iterator<Item = &'s Stay<'s>>, of: u32, own: &Stay<'_>) -> Time {
    let asked = own.row.job.tasks[own.index].walltime;
    let need = own.start.map_or(asked, |start| own.end.since(start)).max(Span::from_micros(1));
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

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moment = |seconds: f64| Time::from_micros((seconds * 1e6) as u64 / 1_000_000 * 1_000_000).to_string();
        let Why { job, user, site, of, cores, .. } = self;
        let asked = format_counted((*cores).into(), "core");
        writeln!(
            f,
            "job {job} of {user}: {asked} of the {} of {site}, requested for {}",
            format_count((*of).into()),
            format_span(self.requested)
        )?;
        let mut line = |label: &str, text: String| writeln!(f, "{label:<14}{text}");
        line("wanted", moment(self.wanted))?;
        if self.came > self.wanted {
            line("at the site", format!("{}, {} later", moment(self.came), format_span(self.came - self.wanted)))?;
        }
        let wait = self.until - self.came;
        if let Some(booked) = self.booked {
            line("booked", format!("from {} on, for which it waits", moment(booked)))?;
            return match self.started {
                Some(started) => {
                    line("started", format!("{}, after {}", moment(started), format_span(started - self.came)))
                }
                None => line("started", "never".to_owned()),
            };
        }
        let share = |seconds: f64| {
            if wait > 0.0 { format!(" ({} of the wait)", format_percent(seconds / wait)) } else { String::new() }
        };
        let Amount { jobs, cores: of_ahead } = self.ahead;
        // Several tasks may be on one node that is shared.
        let (unit, for_, on) = if self.free.is_some() { ("core", "for", "on") } else { ("task", "with", "with") };
        let running = format!(
            "{} ran {on} {}",
            format_counted(self.running.jobs, "job"),
            format_counted(self.running.cores, unit)
        );
        match jobs {
            0 => line("ahead", format!("nothing waited when it came; {running}"))?,
            _ => line(
                "ahead",
                format!("{} waited {for_} {}; {running}", format_counted(jobs, "job"), format_counted(of_ahead, unit)),
            )?,
        }
        if wait == 0.0 && self.started.is_some() {
            line("started", "at once".to_owned())?;
            return self.afterwards_lines(&mut line);
        }
        for Before { job, cores, until } in self.waited.iter().take(NAMED_BEFORE) {
            let cores = format_counted((*cores).into(), unit);
            line("", format!("job {job} waited {for_} {cores} until {}", moment(*until)))?;
        }
        for Before { job, cores, until } in self.ran.iter().take(NAMED_BEFORE) {
            let cores = format_counted((*cores).into(), unit);
            line("", format!("job {job} ran {on} {cores} until {}", moment(*until)))?;
        }
        match self.first_from {
            Some(from) => line(
                "first from",
                format!("{}, after {}{}", moment(from), format_span(from - self.came), share(from - self.came)),
            )?,
            None if jobs > 0 => line("first from", "never: some that were ahead still waited".to_owned())?,
            None => {}
        }
        if let Some(Free { most, enough_for }) = self.free {
            let enough = match enough_for {
                0.0 => "never enough at a time".to_owned(),
                some => format!("enough for {}{}", format_span(some), share(some)),
            };
            line("free cores", format!("{} at most; {enough}", format_count(most)))?;
            if enough_for > 0.0 && jobs > 0 {
                line("", "but the policy kept them for jobs ahead, or they were reserved or down".to_owned())?;
            }
        }
        match self.overtaken_by.len() {
            0 => line("overtaken by", "no later job".to_owned())?,
            all => line("overtaken by", format_counted(all as u64, "later job"))?,
        }
        for Later { job, cores, started, held } in self.overtaken_by.iter().take(NAMED) {
            let on = format_counted((*cores).into(), "core");
            line("", format!("job {job} on {on} from {}, for {} of the wait", moment(*started), format_span(*held)))?;
        }
        if self.overtaken_by.len() > NAMED {
            line(
                "",
                format!("and {} more, with less core time", format_count((self.overtaken_by.len() - NAMED) as u64)),
            )?;
        }
        if let Some(free) = self.free_without_later {
            let text = match self.until - free {
                0.0 => "without these, enough cores would have been free no sooner".to_owned(),
                sooner => {
                    let waiting = self.waited.iter().filter(|before| before.until > free).count() as u64;
                    format!(
                        "without these, enough cores would have been free {} from {} on, {} sooner{}",
                        if self.started.is_some() { "for its whole run" } else { "for its requested time" },
                        moment(free),
                        format_span(sooner),
                        match waiting {
                            0 => String::new(),
                            ahead => format!(", while {} ahead of it still waited", format_counted(ahead, "job")),
                        }
                    )
                }
            };
            line("", text)?;
        }
        let Some(started) = self.started else {
            return line("started", format!("never; until {} it had waited {}", moment(self.until), format_span(wait)));
        };
        let mut end = format!("{}, after {}", moment(started), format_span(started - self.came));
        if let [first, rest @ ..] = &self.freed_by[..] {
            let _ = write!(end, ", when job {first} left its cores");
            if !rest.is_empty() {
                let _ = write!(end, " (and {})", format_counted(rest.len() as u64, "other"));
            }
        }
        line("started", end)?;
        self.afterwards_lines(&mut line)
    }
}

impl Why {
    /// Lines on a run with breaks, moves or shares of cores.
    fn afterwards_lines(&self, line: &mut dyn FnMut(&str, String) -> fmt::Result) -> fmt::Result {
        let Some(SharedRun { pauses, moves, losses, on_cores, paused, share }) = self.shared else { return Ok(()) };
        let lost = match losses {
            0 => String::new(),
            1 => ", 1 loss by a failure".to_owned(),
            many => format!(", {} losses by failures", format_count(many)),
        };
        let pauses = format_counted(pauses, "pause");
        let moves = format_counted(moves, "move");
        let breaks = format!("{pauses}, {moves}{lost}; {} off its cores", format_span(paused));
        line("then", breaks)?;
        line(
            "on its cores",
            format!("{}, with {} of their processors in the mean", format_span(on_cores), format_percent(share)),
        )
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::Names;
    use crate::referee::tally::Stints;
    use crate::subjects::requests::tests as reservations;
    use crate::tests::{ANN, ROUTER, YORK, topology};
    use hansa_sim::grid::{Job, Kind, NodeSet, Task, TaskId};
    use hansa_sim::kernel::Entry;
    use hansa_sim::protocol::Record;
    use hansa_sim::time::Stamp;

    /// On 8 cores: job 0 has 6 of them until 100 s, job 1 wants 8, and job 2, which came later, has 2 until 60 s.
    fn tally() -> Tally {
        tally_of(&[(0, 0, 6, Some(0), 100), (1, 10, 8, Some(100), 150), (2, 20, 2, Some(20), 60), (3, 30, 8, None, 0)])
    }

    /// Number, arrival, cores, start and end of a job, in seconds.
    type JobTimes = (u32, u64, u32, Option<u64>, u64);

    fn tally_of(jobs: &[JobTimes]) -> Tally {
        let mut topology = topology();
        topology.sites[0].cores = 8;
        let mut tally = Tally::new(&topology, &Names::of(&topology));
        let mut story = Vec::new();
        for &(id, came, cores, start, end) in jobs {
            let task = TaskId { job: JobId(id), index: 0 };
            let tasks = vec![Task::new(Span::from_secs(60), cores, Kind(0))];
            let job = Job {
                id: task.job,
                arrive: at(came),
                first_task: id,
                tasks,
                edges: Vec::new(),
                worth: None,
                times: None,
            };
            story.push((came, ROUTER, Record::Arrived { job: Arc::new(job), user: ANN }));
            story.push((came, ROUTER, Record::Assigned { task, site: YORK }));
            if let Some(start) = start {
                story.push((start, YORK, Record::Started { task, cores: NodeSet::default() }));
                story.push((end, YORK, Record::Finished { task }));
            }
        }
        // Ends come before starts of their moment.
        story.sort_by_key(|(seconds, _, record)| (*seconds, matches!(record, Record::Started { .. })));
        let mut free = NodeSet::all(8);
        let mut held: BTreeMap<TaskId, NodeSet> = BTreeMap::new();
        for (seconds, actor, mut record) in story {
            match &mut record {
                Record::Started { task, cores } => {
                    let wanted = jobs[task.job.0 as usize].2;
                    *cores = free.take_lowest(wanted).expect("jobs at a time fit");
                    held.insert(*task, cores.clone());
                }
                Record::Finished { task } => free.insert(&held[&*task]),
                _ => {}
            }
            tally.add(&Entry { stamp: Stamp::at(at(seconds)), actor, record }).unwrap();
        }
        tally
    }

    fn at(seconds: u64) -> Time {
        Time::ZERO + Span::from_secs(seconds)
    }

    #[test]
    fn a_wait_is_explained_by_what_was_ahead_what_was_free_and_what_went_first() {
        let why = tally().explain_wait("1").unwrap();
        assert_eq!((why.came, why.started, why.ahead), (10.0, Some(100.0), Amount::default()));
        assert_eq!(why.running, Amount { jobs: 1, cores: 6 });
        // 2 cores are free from 10 s to 20 s and from 60 s on.
        assert_eq!(why.free, Some(Free { most: 2, enough_for: 0.0 }));
        assert_eq!(why.overtaken_by, [Later { job: "2".to_owned(), cores: 2, started: 20.0, held: 40.0 }]);
        assert_eq!(why.freed_by, ["0"]);
        assert_eq!((&why.waited[..], why.free_without_later), (&[][..], Some(100.0)));
        assert_eq!(why.ran, [Before { job: "0".to_owned(), cores: 6, until: 100.0 }]);
        let text = why.to_string();
        assert!(text.ends_with("started       00:01:40, after 1 min 30 s, when job 0 left its cores\n"), "{text}");
        assert!(tally().explain_wait("2").unwrap().to_string().ends_with("started       at once\n"));
    }

    /// Job 1 waits for the 6 cores of job 0 until 50 s, and for those of the later job 2 until 90 s.
    #[test]
    fn the_cost_of_being_overtaken_is_named() {
        let jobs = |end| {
            [(0, 0, 6, Some(0), 50), (1, 10, 8, Some(end), 150), (2, 20, 2, Some(20), end), (3, 30, 1, Some(50), 60)]
        };
        let why = tally_of(&jobs(90)).explain_wait("1").unwrap();
        assert_eq!((why.free_without_later, why.until), (Some(50.0), 90.0));
        let text = why.to_string();
        let line = "without these, enough cores would have been free for its whole run from 00:00:50 on, 40 s sooner\n";
        assert!(text.contains(line), "{text}");
        assert!(text.contains("job 0 ran on 6 cores until 00:00:50\n"), "{text}");
        // Job 3 has nothing ahead of it but job 1, which leaves the queue after it: it went first.
        let first = tally_of(&jobs(90)).explain_wait("3").unwrap();
        assert_eq!(
            (first.free_without_later, &first.waited[..]),
            (None, &[Before { job: "1".to_owned(), cores: 8, until: 90.0 }][..])
        );
        let mut in_time = jobs(50);
        in_time[3] = (3, 30, 1, Some(150), 160);
        let text = tally_of(&in_time).explain_wait("1").unwrap().to_string();
        assert!(text.contains("without these, enough cores would have been free no sooner\n"), "{text}");
    }

    /// Without job 3, all cores are free from 40 s until job 1, which is ahead of job 2, starts at 93 s.
    #[test]
    fn room_that_ends_before_the_start_counts_if_the_job_fits_into_it() {
        let jobs =
            |end| [(0, 0, 6, Some(0), 40), (1, 1, 8, Some(93), 103), (2, 2, 8, Some(103), end), (3, 3, 2, Some(3), 93)];
        let why = tally_of(&jobs(113)).explain_wait("2").unwrap();
        assert_eq!(why.free_without_later, Some(40.0));
        let text = why.to_string();
        let line = "without these, enough cores would have been free for its whole run from 00:00:40 on, 1 min 03 s \
                    sooner, while 1 job ahead of it still waited\n";
        assert!(text.contains(line), "{text}");
        assert_eq!(tally_of(&jobs(156)).explain_wait("2").unwrap().free_without_later, Some(40.0));
        let text = tally_of(&jobs(157)).explain_wait("2").unwrap().to_string();
        assert!(text.contains("without these, enough cores would have been free no sooner\n"), "{text}");
    }

    /// Starts jobs on eight cores at random: at each second each waiting job starts by chance if it fits.
    fn play_at_random(jobs: &[(u64, u32, u64)], chances: &[u8]) -> Vec<JobTimes> {
        let mut played: Vec<JobTimes> = Vec::new();
        for (id, &(came, cores, _)) in jobs.iter().enumerate() {
            played.push((id as u32, came, cores, None, 0));
        }
        for second in 0..200u64 {
            for (place, &(_, _, runtime)) in jobs.iter().enumerate() {
                let (_, came, cores, start, _) = played[place];
                let held: u32 = played.iter().filter(|job| is_held_at(job, second)).map(|job| job.2).sum();
                let chance = chances[(second as usize * 7 + place) % chances.len()];
                if start.is_none() && came <= second && held + cores <= 8 && chance < 60 {
                    played[place].3 = Some(second);
                    played[place].4 = second + runtime;
                }
            }
        }
        played
    }

    fn is_held_at(job: &JobTimes, second: u64) -> bool {
        job.3.is_some_and(|start| start <= second) && job.4 > second
    }

    /// First second at which a job fits for its whole time, tried one by one.
    fn first_room_by_trying(jobs: &[JobTimes], own: &JobTimes, until: u64) -> u64 {
        let is_other = |job: &&JobTimes| {
            let is_later = (job.1, job.0) > (own.1, own.0) && job.3.is_some_and(|start| start < until);
            job.0 != own.0 && !is_later
        };
        let others: Vec<&JobTimes> = jobs.iter().filter(is_other).collect();
        let need = own.3.map_or(60, |start| own.4 - start);
        let fits_at = |from: &u64| {
            (*from..from + need).all(|second| {
                let held: u32 = others.iter().filter(|job| is_held_at(job, second)).map(|job| job.2).sum();
                held + own.2 <= 8
            })
        };
        (own.1..until).find(fits_at).unwrap_or(until)
    }

    proptest! {
        #[test]
        fn the_cost_of_being_overtaken_is_that_of_trying_every_second(
            jobs in prop::collection::vec((0u64..40, 1u32..=8, 1u64..30), 2..12),
            chances in prop::collection::vec(any::<u8>(), 60..80),
        ) {
            let mut jobs = jobs;
            jobs.sort_by_key(|job| job.0);
            let played = play_at_random(&jobs, &chances);
            let tally = tally_of(&played);
            for own in &played {
                let why = tally.explain_wait(&own.0.to_string()).unwrap();
                let until = own.3.unwrap_or(why.until as u64);
                let is_overtaken = !why.overtaken_by.is_empty();
                let tried = is_overtaken.then(|| first_room_by_trying(&played, own, until) as f64);
                prop_assert_eq!(why.free_without_later, tried, "job {} of {:?}", own.0, played);
            }
        }
    }

    /// A job that starts at once has half of its cores from 10 s to 50 s, is paused for 30 s, moved after 20 s more,
    /// and has them to itself for the last 10 s.
    #[test]
    fn what_became_of_a_shared_start_is_said() {
        let nodes = NodeSet::from_run(0, 1);
        let mut task = TaskRow { start: Some(at(10)), cores: nodes.clone(), ..TaskRow::default() };
        let stints = Stints::of(&mut task.stints, at(10));
        stints.set_share(at(10), &nodes, 0.5);
        stints.leave_nodes(at(50), &nodes, StintEnd::Suspended);
        stints.begin(at(80));
        stints.set_share(at(80), &nodes, 0.5);
        stints.leave_nodes(at(100), &nodes, StintEnd::Moved);
        stints.begin(at(100));
        let run = SharedRun::of(&task, at(110)).unwrap();
        assert_eq!((run.pauses, run.moves, run.on_cores, run.paused), (1, 1, 70.0, 30.0));
        assert!((run.share - 40.0 / 70.0).abs() < 1e-12, "{run:?}");
        assert_eq!(SharedRun::of(&TaskRow { start: Some(at(10)), ..TaskRow::default() }, at(20)), None);
        let mut why = tally().explain_wait("2").unwrap();
        why.shared = Some(run);
        let text = why.to_string();
        let lines = "started       at once\n\
                     then          1 pause, 1 move; 30 s off its cores\n\
                     on its cores  1 min 10 s, with 57.1 % of their processors in the mean\n";
        assert!(text.ends_with(lines), "{text}");
    }

    #[test]
    fn a_job_that_never_started_waits_to_the_end() {
        let why = tally().explain_wait("3").unwrap();
        assert_eq!((why.started, why.until, why.ahead), (None, 150.0, Amount { jobs: 1, cores: 8 }));
        // All cores but those of job 1: none from 100 s on.
        assert_eq!((why.first_from, why.free), (Some(100.0), Some(Free { most: 2, enough_for: 0.0 })));
        assert!(why.to_string().contains("started       never; until 00:02:30 it had waited 2 min 00 s"));
    }

    #[test]
    fn a_booked_job_waits_for_its_booking() {
        let why = reservations::tally().explain_wait("0").unwrap();
        assert_eq!((why.booked, why.started), (Some(600.0), Some(600.0)));
        let text = why.to_string();
        assert!(text.contains("booked        from 00:10:00 on, for which it waits\n"), "{text}");
        assert!(!text.contains("free cores") && !text.contains("overtaken"), "{text}");
    }

    #[test]
    fn what_is_not_there_is_said() {
        let told = |job| tally().explain_wait(job).unwrap_err();
        assert_eq!(told("9"), "there is no job 9; numbers go from 0 to 3");
        assert_eq!(told("x"), "there is no job x; numbers go from 0 to 3");
        assert_eq!(told("1.4"), "there is no task 1.4; those of job 1 go from 0 to 0");
    }
}
