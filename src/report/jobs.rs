//! `jobs.csv`, one row per job, and `tasks.csv`, one row per task, where jobs have several.
//!
//! The first seventeen columns of both have the names, the order and the units (seconds) of Batsim's `jobs.csv`, so its
//! tools read the files; ours follow. To Batsim a job is what holds cores, which here is a task: the rows of jobs with
//! several tasks leave it to `tasks.csv` what was asked for. A field that is not known, or has no meaning for its row,
//! is empty. There is no `hacky_job_id`: Batsim has had none since 2.0.
//!
//! | column | `jobs.csv` | `tasks.csv` |
//! | --- | --- | --- |
//! | `job_id` | its number | its number, when the tasks of all jobs are numbered through |
//! | `workload_name` | the topology | the topology |
//! | `profile` | `dag`, or `rigid` for a job of one task, or the profile that its Batsim workload names | `rigid` |
//! | `submission_time` | when its user submitted it | the same |
//! | `requested_number_of_resources`, `requested_time` | | cores and the time asked for |
//! | `success` | 1 if all tasks ended | 1 if it ended |
//! | `final_state` | see below | see below |
//! | `starting_time` | of its first task | of the task |
//! | `finish_time` | when the router saw it end, or removed it | when it ended |
//! | `execution_time`, `waiting_time`, `turnaround_time`, `stretch` | from these, as Batsim has them | from these |
//! | `allocated_resources` | all cores that its tasks were on, numbered through all sites | its last ones, likewise |
//! | `consumed_energy`, `metadata` | | |
//! | `job`, `task` | its number | that of its job, and its own in there, from 0 |
//! | `user`, `site`, `kind` | the user that submitted it | and where it ran |
//! | `cores` | | its cores, as its site numbers them |
//! | `ready_time` | | when its last predecessor ended |
//! | `last_end` | when the last of its tasks that did ended at its site | |
//! | `starved`, `value`, `value_max`, `slr` | what its user got | |
//! | `name` | its name in a workflow's file or, in tables, its id in a Batsim workload, if not its number | likewise |
//! | `system` | where there are several: whose job it is, by the name of the system's table | likewise |
//!
//! The router hears of an end later than it happens, so a job's `finish_time`, which its `turnaround_time`, `slr` and
//! value count to, is later than its `last_end` by the way there and by what the site waits before it reports. The
//! makespan of the summary and of plans is about the latter.
//!
//! Where jobs queue or hold reservations, a job is one task, and its row in `jobs.csv` is about both: it has the
//! columns of the task too, and `finish_time` is when it ended at its site. The `job_id` of one that queues is the
//! number that it has in its log, and `ready_time` that of a reservation is the time from which on its user wanted it;
//! `waiting_time` counts from the submission all the same.
//!
//! `final_state` is `COMPLETED_SUCCESSFULLY`, `COMPLETED_WALLTIME_REACHED`, `COMPLETED_KILLED` for what was removed
//! after its final deadline, `REJECTED` for what was refused, and, where the log ends before the work does, `RUNNING`
//! or `SUBMITTED`. A job that came too late to be worth anything was completed successfully all the same: `starved`
//! tells.

use super::Tally;
use super::account::{Account, OpenTable};
use super::tally::{Fate, JobRow, Standing, TaskRow};
use super::text::{CsvRow, field, put_runs};
use crate::grid::Task;
use crate::time::Time;

macro_rules! batsim {
    ($ours:literal) => {
        concat!(
            "job_id,workload_name,profile,submission_time,requested_number_of_resources,requested_time,",
            "success,final_state,starting_time,execution_time,finish_time,waiting_time,turnaround_time,stretch,",
            "allocated_resources,consumed_energy,metadata,",
            $ours
        )
    };
}

const JOBS: &str = batsim!("job,user,site,kind,cores,ready_time,last_end,starved,value,value_max,slr,name");
const TASKS: &str = batsim!("job,task,user,site,kind,cores,ready_time,name");

/// `jobs.csv` in progress.
pub(super) struct JobSheet<'a> {
    tally: &'a Tally,
    text: Vec<u8>,
    words: FieldNames,
}

/// `tasks.csv` in progress.
pub(super) struct TaskSheet<'a> {
    tally: &'a Tally,
    text: Vec<u8>,
    words: FieldNames,
}

/// Names as fields.
struct FieldNames {
    topology: String,
    actors: Vec<String>,
    sites: Vec<String>,
    kinds: Vec<String>,
    /// Keys of the systems, if there are several.
    systems: Vec<&'static str>,
}

impl Account for JobSheet<'_> {
    fn job(&mut self, row: &JobRow, _ready: &[Option<Time>]) {
        if self.tally.is_one_task(row) { self.rigid_row(row) } else { self.row(row) }
    }

    fn tables(&mut self) -> Vec<OpenTable<'_>> {
        vec![("jobs.csv", &mut self.text)]
    }
}

impl Account for TaskSheet<'_> {
    fn job(&mut self, row: &JobRow, ready: &[Option<Time>]) {
        ready.iter().enumerate().for_each(|(index, ready)| self.row(row, index, *ready));
    }

    fn tables(&mut self) -> Vec<OpenTable<'_>> {
        vec![("tasks.csv", &mut self.text)]
    }
}

impl FieldNames {
    fn of(tally: &Tally) -> FieldNames {
        let fields = |names: &[String]| names.iter().map(|name| field(name)).collect();
        FieldNames {
            topology: field(&tally.topology),
            actors: fields(&tally.names.actors),
            sites: tally.sites.iter().map(|site| field(&site.name)).collect(),
            kinds: fields(&tally.names.kinds),
            systems: if tally.keys().len() > 1 { tally.keys().collect() } else { Vec::new() },
        }
    }

    fn heading(&self, columns: &str) -> Vec<u8> {
        format!("{columns}{}\n", if self.systems.is_empty() { "" } else { ",system" }).into_bytes()
    }

    fn user(&self, line: &mut CsvRow<'_>, row: &JobRow) {
        match self.actors.get(row.user.index()) {
            Some(name) => line.text(name),
            None => line.number(row.user.0),
        };
    }

    /// Site, kind and cores of a task.
    fn place(&self, line: &mut CsvRow<'_>, row: &JobRow, index: usize) {
        let (task, ran) = (&row.job.tasks[index], &row.tasks[index]);
        let kind = self.kinds.get(usize::from(task.kind.0)).map_or("", String::as_str);
        let site = ran.site.map_or("", |site| &self.sites[site as usize]);
        line.text(site).text(kind).cores(&ran.cores, 0);
    }

    /// Adds the last field, if there are several systems, and ends the row.
    fn end(&self, mut line: CsvRow<'_>, row: &JobRow) {
        if !self.systems.is_empty() {
            line.text(self.systems.get(row.system as usize).copied().unwrap_or_default());
        }
        line.end();
    }
}

impl<'a> JobSheet<'a> {
    pub fn new(tally: &'a Tally) -> JobSheet<'a> {
        let words = FieldNames::of(tally);
        JobSheet { tally, text: words.heading(JOBS), words }
    }

    /// The row of a job that is its one task.
    fn rigid_row(&mut self, row: &JobRow) {
        let (task, ran) = (&row.job.tasks[0], &row.tasks[0]);
        let ready = row.answered.as_ref().map_or(row.job.arrive, |answered| answered.ready);
        let (tally, words) = (self.tally, &self.words);
        let mut line = CsvRow(&mut self.text);
        line.number(tally.number(row.job.id));
        match tally.workload(row.job.id) {
            None => line.text(&words.topology),
            Some(workload) => line.text(&field(&format!("{}.{workload}", tally.topology))),
        };
        let profile = tally.log_numbers.profile(row.job.id);
        line.text(profile.map(field).as_deref().unwrap_or("rigid"));
        asks(&mut line, row, Some(task));
        stands(&mut line, row.standing(), ran.start.is_some());
        times(&mut line, row.job.arrive, ran.start, ran.end);
        allocated(&mut line, tally, ran);
        line.number(row.job.id.0).text(words.actors.get(row.user.index()).map_or("", String::as_str));
        words.place(&mut line, row, 0);
        line.time(ready).maybe(ran.end, CsvRow::time);
        match row.job.worth {
            Some(_) => worth(&mut line, row),
            None => _ = line.empties(4),
        }
        name(&mut line, tally.job_name(row.job.id));
        words.end(line, row);
    }

    fn row(&mut self, row: &JobRow) {
        let finish = match row.fate {
            Fate::Completed { at, .. } | Fate::Removed { at } | Fate::Cancelled { at } => Some(at),
            Fate::Open | Fate::Refused | Fate::NotAdmitted | Fate::TurnedAway | Fate::Rejected(_) => None,
        };
        let start = row.start();
        let mut line = CsvRow(&mut self.text);
        line.number(row.job.id.0).text(&self.words.topology).fields(b"dag,");
        asks(&mut line, row, None);
        stands(&mut line, row.standing(), start.is_some());
        times(&mut line, row.job.arrive, start, finish);
        used(&mut line, self.tally, row);
        line.empties(2).number(row.job.id.0);
        self.words.user(&mut line, row);
        line.empties(4).maybe(row.last_end(), CsvRow::time);
        worth(&mut line, row);
        name(&mut line, self.tally.job_name(row.job.id));
        self.words.end(line, row);
    }
}

impl<'a> TaskSheet<'a> {
    pub fn new(tally: &'a Tally) -> TaskSheet<'a> {
        let words = FieldNames::of(tally);
        TaskSheet { tally, text: words.heading(TASKS), words }
    }

    fn row(&mut self, row: &JobRow, index: usize, ready: Option<Time>) {
        let ready = row.answered.as_ref().map(|_| row.wanted()).or(ready);
        let ran = &row.tasks[index];
        let mut line = CsvRow(&mut self.text);
        line.number(u64::from(row.job.first_task) + index as u64).text(&self.words.topology).fields(b"rigid,");
        asks(&mut line, row, Some(&row.job.tasks[index]));
        stands(&mut line, row.task_standing(index), ran.start.is_some());
        times(&mut line, row.job.arrive, ran.start, ran.end);
        allocated(&mut line, self.tally, ran);
        line.number(row.job.id.0).number(index as u64);
        self.words.user(&mut line, row);
        self.words.place(&mut line, row, index);
        line.maybe(ready, CsvRow::time);
        let of_job = || self.tally.job_name(row.job.id).filter(|_| self.tally.is_one_task(row));
        name(&mut line, self.tally.job_names.task(row.job.id, index).or_else(of_job));
        self.words.end(line, row);
    }
}

/// Fields from `submission_time` to `requested_time`.
fn asks(line: &mut CsvRow<'_>, row: &JobRow, task: Option<&Task>) {
    line.time(row.job.arrive);
    match task {
        Some(task) => line.number(task.cores).span(task.walltime),
        None => line.empties(2),
    };
}

/// `success` and `final_state`.
fn stands(line: &mut CsvRow<'_>, standing: Standing, started: bool) {
    line.fields(match standing {
        Standing::Finished => b"1,COMPLETED_SUCCESSFULLY,",
        Standing::Killed => b"0,COMPLETED_WALLTIME_REACHED,",
        Standing::Removed => b"0,COMPLETED_KILLED,",
        Standing::Refused => b"0,REJECTED,",
        Standing::Unfinished if started => b"0,RUNNING,",
        Standing::Unfinished => b"0,SUBMITTED,",
    });
}

/// Fields from `starting_time` to `stretch`.
fn times(line: &mut CsvRow<'_>, submitted: Time, start: Option<Time>, finish: Option<Time>) {
    if start.is_none() && finish.is_none() {
        line.empties(6);
        return;
    }
    let execution = start.zip(finish).map(|(start, finish)| finish.since(start));
    let turnaround = finish.map(|finish| finish.since(submitted));
    let stretch = turnaround.zip(execution).filter(|(_, execution)| !execution.is_zero());
    line.maybe(start, CsvRow::time).maybe(execution, CsvRow::span).maybe(finish, CsvRow::time);
    line.maybe(start.map(|start| start.since(submitted)), CsvRow::span).maybe(turnaround, CsvRow::span);
    let ratio = stretch.map(|(turnaround, execution)| turnaround.micros() as f64 / execution.micros() as f64);
    line.maybe(ratio, CsvRow::float);
}

/// Fields from `starved` to `slr`.
fn worth(line: &mut CsvRow<'_>, row: &JobRow) {
    line.maybe(row.starved(), |line, starved| line.number(starved)).maybe(row.value(), CsvRow::float);
    let slr = row.slr().filter(|_| row.standing() == Standing::Finished);
    line.maybe(row.job.worth.as_ref(), |line, worth| line.float(worth.max)).maybe(slr, CsvRow::float);
}

/// Its name in tables, traces and pages.
fn name(line: &mut CsvRow<'_>, name: Option<&str>) {
    match name {
        Some(name) => line.text(&field(name)),
        None => line.empty(),
    };
}

/// Its cores by their numbers in the whole grid, and two fields that are always empty.
fn allocated(line: &mut CsvRow<'_>, tally: &Tally, ran: &TaskRow) {
    if let Some(site) = ran.site {
        line.cores(&ran.cores, tally.sites[site as usize].first_core);
    } else {
        line.empty();
    }
    line.empties(2);
}

/// All cores that its tasks were on, by their numbers in the whole grid.
fn used(line: &mut CsvRow<'_>, tally: &Tally, row: &JobRow) {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for task in &row.tasks {
        let Some(site) = task.site else { continue };
        let first = tally.sites[site as usize].first_core;
        let cores = task.cores.runs().iter();
        runs.extend(cores.map(|&(low, high)| (first + u64::from(low), first + u64::from(high))));
    }
    runs.sort_unstable_by_key(|run| run.0);
    runs.dedup_by(|next, run| {
        let meets = next.0 <= run.1 + 1;
        run.1 = if meets { run.1.max(next.1) } else { run.1 };
        meets
    });
    put_runs(line.0, runs.into_iter());
    line.empty();
}
