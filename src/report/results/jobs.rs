//! `jobs.csv`, one row per job, and `tasks.csv`, one row per task, where jobs have several.
//!
//! The first seventeen columns of both have the names, the order and the units of Batsim's `jobs.csv`, so its tools
//! read the files; ours follow. To Batsim a job is what holds cores, which here is a task: the rows of jobs of several
//! tasks leave it to `tasks.csv` what was asked for. There is no `hacky_job_id`: Batsim has had none since 2.0.
//!
//! The router hears of an end later than it happens, so a job's `finish_time`, which its `turnaround_time`, `slr` and
//! value count to, is later than its `last_end` by the way there and by what the site waits before it reports. The
//! makespan of the summary and of plans is about the latter.
//!
//! Where jobs queue or hold reservations, a job is one task, and its row in `jobs.csv` is about both: it has the
//! columns of the task too, and `finish_time` is when it ended at its site.

use crate::Tally;
use crate::referee::tally::{Fate, JobRow, Standing, TaskRow};
use crate::results::account::Account;
use crate::tables::columns::OpenTable;
use crate::tables::columns::{TableForm, number, seconds, text, whole_number};
use crate::tables::csv::{CsvRow, field, put_runs};
use hansa_sim::grid::Task;
use hansa_sim::time::Time;

/// The columns of Batsim, and ours.
macro_rules! batsim {
    ($($ours:expr),* $(,)?) => {
        &[
            whole_number("job_id", "number of the job: in its log, if it queues; in tasks.csv that of the task, if the tasks of all jobs are numbered through"),
            text("workload_name", "the topology; with the workload of the job, if it has one of Batsim"),
            text("profile", "`dag`, or `rigid` for one task, or the profile that its Batsim workload names, or its options of `sbatch`"),
            seconds("submission_time", "when its user submitted it"),
            whole_number("requested_number_of_resources", "cores that a task asks for; of several shapes, in the first"),
            seconds("requested_time", "the time that a task asks for; of several shapes, in the first"),
            whole_number("success", "1 if all of its tasks ended, else 0"),
            text("final_state", "`COMPLETED_SUCCESSFULLY`, even if it was worth nothing any more; `COMPLETED_WALLTIME_REACHED`; `PREEMPTED` if its site ended it for another; `COMPLETED_KILLED` if it was removed after its final deadline; `REJECTED` if it was refused; `RUNNING` or `SUBMITTED` if the log ends before it does"),
            seconds("starting_time", "start of the first task, or of this one"),
            seconds("execution_time", "from start to finish"),
            seconds("finish_time", "when the router saw the job end, or removed it; of a task, and of a job that is one, when it ended at its site"),
            seconds("waiting_time", "from submission to start"),
            seconds("turnaround_time", "from submission to finish"),
            number("stretch", "", "turnaround time in execution times"),
            text("allocated_resources", "all cores that a job's tasks were on, or the last cores of a task, numbered through all sites: `0-3 7`"),
            number("consumed_energy", "", "always empty"),
            text("metadata", "always empty"),
            whole_number("job", "number of the job, from 0, as events.jsonl has it"),
            $($ours),*
        ]
    };
}

pub const JOBS: TableForm = TableForm {
    file: "jobs.csv",
    about: "One row per job. The first seventeen columns are Batsim's. A job that queues or reserves is one task, and its row is about both.",
    columns: batsim![
        text("user", "the user that submitted it"),
        text("site", "where it ran, if it is one task"),
        text("kind", "kind of core that it needs, if it is one task"),
        text("cores", "its last cores, as its site numbers them, if it is one task"),
        seconds(
            "ready_time",
            "the time from which on its reservation was wanted, or its submission, if it is one task"
        ),
        seconds("last_end", "when the last of its tasks that ended did so at its site"),
        whole_number(
            "starved",
            "1 if its user got nothing, as it ended after its final deadline or never, else 0; empty if it has no deadline"
        ),
        number("value", "", "what its user got"),
        number("value_max", "", "what its user would have got at best"),
        number("slr", "", "from submission to finish, in the time of its critical path"),
        text("name", "its name in the input, if that is not its number"),
        whole_number(
            REQUEUES,
            "only where sites requeued jobs: number of times that its site gave its cores to another job and started it again later"
        ),
        whole_number(
            BACKFILLED,
            "only where a real Slurm starts jobs: 1 if its backfilling gave the job its first start, 0 if its main scheduler did"
        ),
        whole_number(
            COUNTED,
            "only where a workload has a warm-up or a cool-down: 1 if the job counts in means, else 0"
        ),
        text(SYSTEM, "only where there are several systems: the table of the system whose job it is"),
    ],
};

pub const TASKS: TableForm = TableForm {
    file: "tasks.csv",
    about: "One row per task, only if jobs have several. The first seventeen columns are Batsim's.",
    columns: batsim![
        whole_number("task", "number of the task in its job, from 0"),
        text("user", "the user that submitted its job"),
        text("site", "where it ran"),
        text("kind", "kind of core that it needs"),
        text("cores", "its last cores, as its site numbers them: `0-3 7`"),
        seconds("ready_time", "when its last predecessor ended, or its reservation was wanted"),
        text("name", "its name in the input, if that is not its number"),
        text(SYSTEM, "only where there are several systems: the table of the system whose job it is"),
    ],
};

const SYSTEM: &str = "system";
const COUNTED: &str = "counted";
const REQUEUES: &str = "requeues";
const BACKFILLED: &str = "backfilled";

/// `jobs.csv` in progress.
pub(crate) struct JobSheet<'a> {
    tally: &'a Tally,
    text: Vec<u8>,
    words: FieldNames,
    /// Number of columns that this run does not have.
    absent: usize,
}

/// `tasks.csv` in progress.
pub(crate) struct TaskSheet<'a> {
    tally: &'a Tally,
    text: Vec<u8>,
    words: FieldNames,
    /// Number of columns that this run does not have.
    absent: usize,
}

/// Names as fields.
struct FieldNames {
    topology: String,
    actors: Vec<String>,
    sites: Vec<String>,
    kinds: Vec<String>,
    /// Keys of the systems, if there are several.
    systems: Vec<&'static str>,
    /// True if a column says which jobs count.
    counts: bool,
    /// True if a column counts the requeues of jobs.
    requeues: bool,
    /// True if a column says which jobs were backfilled.
    backfilled: bool,
}

impl Account for JobSheet<'_> {
    fn job(&mut self, row: &JobRow, _ready: &[Option<Time>]) {
        if self.tally.is_one_task(row) { self.rigid_row(row) } else { self.row(row) }
    }

    fn open_tables(&mut self) -> Vec<OpenTable<'_>> {
        vec![(JOBS.file, &mut self.text)]
    }

    fn add_uncounted(&mut self, row: &JobRow, ready: &[Option<Time>]) {
        self.job(row, ready);
    }
}

impl Account for TaskSheet<'_> {
    fn job(&mut self, row: &JobRow, ready: &[Option<Time>]) {
        ready.iter().enumerate().for_each(|(index, ready)| self.row(row, index, *ready));
    }

    fn open_tables(&mut self) -> Vec<OpenTable<'_>> {
        vec![(TASKS.file, &mut self.text)]
    }

    fn add_uncounted(&mut self, row: &JobRow, ready: &[Option<Time>]) {
        self.job(row, ready);
    }
}

impl FieldNames {
    fn of(tally: &Tally) -> FieldNames {
        FieldNames {
            topology: field(&tally.topology),
            actors: field_names(&tally.names.actors),
            sites: tally.sites.iter().map(|site| field(&site.name)).collect(),
            kinds: field_names(&tally.names.kinds),
            systems: if tally.keys().len() > 1 { tally.keys().collect() } else { Vec::new() },
            counts: tally.counted.leaves_out(),
            requeues: tally.totals.requeues > 0,
            backfilled: tally.sites.iter().any(|site| site.states_backfill),
        }
    }

    /// The columns of a table that this run does not have. They come last, but for others of this kind that it has.
    fn absent(&self, table: &TableForm) -> Vec<&'static str> {
        table
            .columns
            .iter()
            .map(|column| column.name)
            .filter(|name| match *name {
                REQUEUES => !self.requeues,
                BACKFILLED => !self.backfilled,
                COUNTED => !self.counts,
                SYSTEM => self.systems.is_empty(),
                _ => false,
            })
            .collect()
    }

    fn user(&self, line: &mut CsvRow<'_>, row: &JobRow) {
        match self.actors.get(row.user.index()) {
            Some(name) => line.text(name),
            None => line.number(row.user.0),
        };
    }

    /// Site, kind and cores of a task.
    fn place(&self, line: &mut CsvRow<'_>, row: &JobRow, index: usize) {
        let task = &row.job.tasks[index];
        let ran = &row.tasks[index];
        let kind = self.kinds.get(usize::from(task.kind.0)).map_or("", String::as_str);
        let site = ran.site.map_or("", |site| &self.sites[site as usize]);
        line.text(site).text(kind).cores(&ran.cores, 0);
    }

    /// Adds the number of times that a job was requeued, if any was.
    fn put_requeues(&self, line: &mut CsvRow<'_>, row: &JobRow) {
        if self.requeues {
            line.number(row.requeues());
        }
    }

    /// Adds the field `backfilled`, if the scheduler of some site states it.
    fn put_backfilled(&self, line: &mut CsvRow<'_>, tally: &Tally, row: &JobRow) {
        if self.backfilled {
            line.maybe(tally.is_backfilled(row), CsvRow::number);
        }
    }

    /// Adds the field that says if a job counts, if a workload has a warm-up or a cool-down.
    fn put_counted(&self, line: &mut CsvRow<'_>, tally: &Tally, row: &JobRow) {
        if self.counts {
            line.number(u64::from(tally.counted.is_counted(row)));
        }
    }

    /// Adds the last field, if there are several systems, and ends the row.
    fn end(&self, mut line: CsvRow<'_>, row: &JobRow) {
        if !self.systems.is_empty() {
            line.text(self.systems.get(row.system as usize).copied().unwrap_or_default());
        }
        line.end();
    }
}

fn field_names(names: &[String]) -> Vec<String> {
    names.iter().map(|name| field(name)).collect()
}

impl<'a> JobSheet<'a> {
    pub fn new(tally: &'a Tally) -> JobSheet<'a> {
        let words = FieldNames::of(tally);
        let absent = words.absent(&JOBS);
        JobSheet { tally, text: JOBS.header_line(&absent), absent: absent.len(), words }
    }

    /// The row of a job that is its one task.
    fn rigid_row(&mut self, row: &JobRow) {
        let task = &row.job.tasks[0];
        let ran = &row.tasks[0];
        let ready = row.answered.as_ref().map_or(row.job.arrive, |answered| answered.ready);
        let (tally, words) = (self.tally, &self.words);
        let mut line = JOBS.row_without(self.absent, &mut self.text);
        line.number(tally.number(row.job.id));
        match tally.workload(row.job.id) {
            None => line.text(&words.topology),
            Some(workload) => line.text(&field(&format!("{}.{workload}", tally.topology))),
        };
        let profile = tally.log_numbers.profile_name(row.job.id);
        line.text(profile.map(field).as_deref().unwrap_or("rigid"));
        put_request(&mut line, row, Some(task));
        put_standing(&mut line, row.standing(), ran.start.is_some());
        put_times(&mut line, row.job.arrive, ran.start, ran.end);
        put_allocated(&mut line, tally, ran);
        line.number(row.job.id.0).text(words.actors.get(row.user.index()).map_or("", String::as_str));
        words.place(&mut line, row, 0);
        line.time(ready).maybe(ran.end, CsvRow::time);
        match row.job.worth {
            Some(_) => put_worth(&mut line, row),
            None => _ = line.until("name"),
        }
        put_name(&mut line, tally.job_name(row.job.id));
        words.put_requeues(&mut line, row);
        words.put_backfilled(&mut line, tally, row);
        words.put_counted(&mut line, tally, row);
        words.end(line, row);
    }

    fn row(&mut self, row: &JobRow) {
        let finish = match row.fate {
            Fate::Completed { at, .. } | Fate::Removed { at } | Fate::Cancelled { at } => Some(at),
            Fate::Open | Fate::Refused | Fate::NotAdmitted | Fate::TurnedAway | Fate::Rejected(_) => None,
        };
        let start = row.start();
        let mut line = JOBS.row_without(self.absent, &mut self.text);
        line.number(row.job.id.0).text(&self.words.topology).text("dag");
        put_request(&mut line, row, None);
        put_standing(&mut line, row.standing(), start.is_some());
        put_times(&mut line, row.job.arrive, start, finish);
        put_used(&mut line, self.tally, row);
        line.until("job").number(row.job.id.0);
        self.words.user(&mut line, row);
        line.until("last_end").maybe(row.last_end(), CsvRow::time);
        put_worth(&mut line, row);
        put_name(&mut line, self.tally.job_name(row.job.id));
        self.words.put_requeues(&mut line, row);
        self.words.put_backfilled(&mut line, self.tally, row);
        self.words.put_counted(&mut line, self.tally, row);
        self.words.end(line, row);
    }
}

impl<'a> TaskSheet<'a> {
    pub fn new(tally: &'a Tally) -> TaskSheet<'a> {
        let words = FieldNames::of(tally);
        let absent = words.absent(&TASKS);
        TaskSheet { tally, text: TASKS.header_line(&absent), absent: absent.len(), words }
    }

    fn row(&mut self, row: &JobRow, index: usize, ready: Option<Time>) {
        let ready = row.answered.as_ref().map(|_| row.earliest_start()).or(ready);
        let ran = &row.tasks[index];
        let mut line = TASKS.row_without(self.absent, &mut self.text);
        line.number(u64::from(row.job.first_task) + index as u64).text(&self.words.topology).text("rigid");
        put_request(&mut line, row, Some(&row.job.tasks[index]));
        put_standing(&mut line, row.task_standing(index), ran.start.is_some());
        put_times(&mut line, row.job.arrive, ran.start, ran.end);
        put_allocated(&mut line, self.tally, ran);
        line.number(row.job.id.0).number(index as u64);
        self.words.user(&mut line, row);
        self.words.place(&mut line, row, index);
        line.maybe(ready, CsvRow::time);
        put_name(
            &mut line,
            self.tally
                .job_names
                .task(row.job.id, index)
                .or_else(|| self.tally.job_name(row.job.id).filter(|_| self.tally.is_one_task(row))),
        );
        self.words.end(line, row);
    }
}

/// Fields from `submission_time` to `requested_time`.
fn put_request(line: &mut CsvRow<'_>, row: &JobRow, task: Option<&Task>) {
    line.time(row.job.arrive);
    match task {
        Some(task) => {
            let (cores, time) = row.requested_size(task);
            line.number(cores).span(time)
        }
        None => line.until("success"),
    };
}

/// `success` and `final_state`.
fn put_standing(line: &mut CsvRow<'_>, standing: Standing, started: bool) {
    line.number(standing == Standing::Finished).text(match standing {
        Standing::Finished => "COMPLETED_SUCCESSFULLY",
        Standing::Killed => "COMPLETED_WALLTIME_REACHED",
        Standing::Preempted => "PREEMPTED",
        Standing::Removed => "COMPLETED_KILLED",
        Standing::Refused => "REJECTED",
        Standing::Unfinished if started => "RUNNING",
        Standing::Unfinished => "SUBMITTED",
    });
}

/// Fields from `starting_time` to `stretch`.
fn put_times(line: &mut CsvRow<'_>, submitted: Time, start: Option<Time>, finish: Option<Time>) {
    if start.is_none() && finish.is_none() {
        line.until("allocated_resources");
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
fn put_worth(line: &mut CsvRow<'_>, row: &JobRow) {
    line.maybe(row.has_starved(), |line, starved| line.number(starved)).maybe(row.value(), CsvRow::float);
    let slr = row.slr().filter(|_| row.standing() == Standing::Finished);
    line.maybe(row.job.worth.as_ref(), |line, worth| line.float(worth.max)).maybe(slr, CsvRow::float);
}

/// Its name in tables, traces and pages.
fn put_name(line: &mut CsvRow<'_>, name: Option<&str>) {
    match name {
        Some(name) => line.text(&field(name)),
        None => line.close(),
    };
}

/// Its cores by their numbers in the whole grid, and two fields that are always empty.
fn put_allocated(line: &mut CsvRow<'_>, tally: &Tally, ran: &TaskRow) {
    if let Some(site) = ran.site {
        line.cores(&ran.cores, tally.sites[site as usize].first_core);
    }
    line.until("job");
}

/// All cores that its tasks were on, by their numbers in the whole grid.
fn put_used(line: &mut CsvRow<'_>, tally: &Tally, row: &JobRow) {
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
    put_runs(line.text, runs.into_iter());
    line.close();
}
