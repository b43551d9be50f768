//! `jobs.csv`: one row a job, followed by one row for each of its tasks.
//!
//! The first seventeen columns have the names, the order and the units (seconds) of Batsim's `jobs.csv`, so its tools
//! read the file; ours follow. To Batsim a job is what holds cores, which here is a task: rows of jobs leave the
//! resources to their tasks, so that nothing is counted twice. A field that is not known, or has no meaning for its
//! row, is empty.
//!
//! | column | job | task |
//! | --- | --- | --- |
//! | `job_id` | `12` | `12.3` |
//! | `workload_name` | the topology | the topology |
//! | `profile` | `dag` | `rigid` |
//! | `submission_time` | when its user submitted it | the same |
//! | `requested_number_of_resources`, `requested_time` | | cores and the time asked for |
//! | `success` | 1 if all tasks ended | 1 if it ended |
//! | `final_state` | see below | see below |
//! | `starting_time` | of its first task | of the task |
//! | `finish_time` | when the router saw it end, or removed it | when it ended |
//! | `execution_time`, `waiting_time`, `turnaround_time`, `stretch` | from these, as Batsim has them | from these |
//! | `allocated_resources` | | its cores, when those of all sites are numbered through |
//! | `consumed_energy`, `metadata` | | |
//! | `row` | `job` | `task` |
//! | `job`, `task` | number | numbers |
//! | `user`, `site`, `kind` | who submitted it | and where it ran |
//! | `cores` | | its cores, as its site numbers them |
//! | `ready_time` | | when its last predecessor ended |
//! | `starved`, `value`, `value_max`, `slr` | what its user got | |
//!
//! Where jobs queue or hold reservations, a job is one task, and there is one row for both: `row` is `job` and `profile`
//! is `rigid`. The `job_id` of one that queues is the number that it has in its log, and `ready_time` that of a
//! reservation is the time from which on its user wanted it; `waiting_time` counts from the submission all the same.
//!
//! `final_state` is `COMPLETED_SUCCESSFULLY`, `COMPLETED_WALLTIME_REACHED`, `COMPLETED_KILLED` for what was removed after its final
//! deadline,
//! `REJECTED` for what was refused, and, where the log ends before the work does, `RUNNING` or `SUBMITTED`. A job that
//! came too late to be worth anything was completed successfully all the same: `starved` tells.

use std::fmt::{self, Display};

use super::tally::{Fate, JobRow, SiteFacts, Standing};
use super::{Names, Tally};
use crate::grid::NodeSet;
use crate::time::Time;

const HEADER: &str = "job_id,workload_name,profile,submission_time,requested_number_of_resources,requested_time,\
    success,final_state,starting_time,execution_time,finish_time,waiting_time,turnaround_time,stretch,\
    allocated_resources,consumed_energy,metadata,\
    row,job,task,user,site,kind,cores,ready_time,starved,value,value_max,slr\n";

impl Tally {
    /// Writes the table in pieces of some kilobytes.
    pub fn jobs_csv<E>(&self, mut put: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let mut text = HEADER.to_owned();
        for row in self.jobs.values() {
            if let Some(queues) = &self.queues {
                self.rigid_row(&mut text, row, queues.workload(row.job.id));
            } else if self.reserving && row.tasks.len() == 1 {
                self.rigid_row(&mut text, row, None);
            } else {
                self.job_row(&mut text, row);
                for (index, ready) in row.ready().into_iter().enumerate() {
                    self.task_row(&mut text, row, index, ready);
                }
            }
            if text.len() > 1 << 16 {
                put(text.as_bytes())?;
                text.clear();
            }
        }
        put(text.as_bytes())
    }

    /// A job and its one task are the same.
    fn rigid_row(&self, text: &mut String, row: &JobRow, workload: Option<usize>) {
        let (task, ran) = (&row.job.tasks[0], &row.tasks[0]);
        let standing = row.standing();
        let site = ran.site.map(|site| &self.sites[site as usize]);
        let ready = row.answered.as_ref().map_or(row.job.arrive, |answered| answered.ready);
        let mut line = Line { text };
        line.field(self.number(row.job.id));
        match workload {
            None => line.name(&self.topology),
            Some(workload) => line.field(format_args!("{}.{workload}", self.topology)),
        };
        line.field("rigid").field(row.job.arrive.seconds()).field(task.cores).field(task.walltime.seconds());
        line.field(u8::from(standing == Standing::Finished)).field(state(standing, ran.start.is_some()));
        line.times(row.job.arrive, ran.start, ran.end);
        line.maybe(site.map(|site| Allocated { site, cores: &ran.cores })).empty().empty();
        line.field("job").field(row.job.id).field(0);
        line.name(self.names.actors.get(row.user.index()).map_or("", String::as_str));
        line.name(site.map_or("", |site| &site.name)).name(kind(&self.names, row, 0)).field(&ran.cores);
        line.field(ready.seconds()).empty().empty().empty().empty();
        line.end();
    }

    fn job_row(&self, text: &mut String, row: &JobRow) {
        let standing = row.standing();
        let finish = match row.fate {
            Fate::Completed { at, .. } | Fate::Removed { at } | Fate::Cancelled { at } => Some(at),
            Fate::Open | Fate::Refused | Fate::NotAdmitted | Fate::TurnedAway | Fate::Rejected(_) => None,
        };
        let mut line = Line { text };
        line.field(row.job.id).name(&self.topology).field("dag").field(row.job.arrive.seconds());
        line.empty().empty();
        line.field(u8::from(standing == Standing::Finished)).field(state(standing, row.start().is_some()));
        line.times(row.job.arrive, row.start(), finish);
        line.empty().empty().empty();
        line.field("job").field(row.job.id).empty();
        line.name(&self.names.of_actor(row.user)).empty().empty().empty().empty();
        line.maybe(row.starved().map(u8::from)).maybe(row.value());
        line.maybe(row.job.worth.as_ref().map(|worth| worth.max)).maybe(row.slr());
        line.end();
    }

    fn task_row(&self, text: &mut String, row: &JobRow, index: usize, ready: Option<Time>) {
        let (task, ran) = (&row.job.tasks[index], &row.tasks[index]);
        let standing = row.task_standing(index);
        let site = ran.site.map(|site| &self.sites[site as usize]);
        let mut line = Line { text };
        line.field(format_args!("{}.{index}", row.job.id)).name(&self.topology).field("rigid");
        line.field(row.job.arrive.seconds()).field(task.cores).field(task.walltime.seconds());
        line.field(u8::from(standing == Standing::Finished)).field(state(standing, ran.start.is_some()));
        line.times(row.job.arrive, ran.start, ran.end);
        line.maybe(site.map(|site| Allocated { site, cores: &ran.cores })).empty().empty();
        line.field("task").field(row.job.id).field(index);
        line.name(&self.names.of_actor(row.user)).name(site.map_or("", |site| &site.name));
        line.name(kind(&self.names, row, index)).field(&ran.cores).maybe(ready.map(Time::seconds));
        line.empty().empty().empty().empty();
        line.end();
    }
}

fn kind<'a>(names: &'a Names, row: &JobRow, index: usize) -> &'a str {
    names.kinds.get(usize::from(row.job.tasks[index].kind.0)).map_or("", String::as_str)
}

fn state(standing: Standing, started: bool) -> &'static str {
    match standing {
        Standing::Finished => "COMPLETED_SUCCESSFULLY",
        Standing::Killed => "COMPLETED_WALLTIME_REACHED",
        Standing::Removed => "COMPLETED_KILLED",
        Standing::Refused => "REJECTED",
        Standing::Unfinished if started => "RUNNING",
        Standing::Unfinished => "SUBMITTED",
    }
}

/// Cores by their numbers in the whole grid.
struct Allocated<'a> {
    site: &'a SiteFacts,
    cores: &'a NodeSet,
}

impl Display for Allocated<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, &(first, last)) in self.cores.runs().iter().enumerate() {
            let separator = if position > 0 { " " } else { "" };
            let (first, last) = (self.site.first_core + u64::from(first), self.site.first_core + u64::from(last));
            if first == last { write!(f, "{separator}{first}")? } else { write!(f, "{separator}{first}-{last}")? }
        }
        Ok(())
    }
}

/// One row; every field leaves a comma behind, and the end takes the last one back.
struct Line<'a> {
    text: &'a mut String,
}

impl Line<'_> {
    fn field(&mut self, field: impl Display) -> &mut Self {
        use fmt::Write;
        write!(self.text, "{field},").expect("writing to memory does not fail");
        self
    }

    fn empty(&mut self) -> &mut Self {
        self.field("")
    }

    fn maybe(&mut self, field: Option<impl Display>) -> &mut Self {
        match field {
            Some(field) => self.field(field),
            None => self.empty(),
        }
    }

    fn name(&mut self, name: &str) -> &mut Self {
        if name.contains([',', '"', '\n', '\r']) {
            return self.field(format_args!("\"{}\"", name.replace('"', "\"\"")));
        }
        self.field(name)
    }

    /// From `starting_time` to `stretch`.
    fn times(&mut self, submitted: Time, start: Option<Time>, finish: Option<Time>) -> &mut Self {
        let execution = start.zip(finish).map(|(start, finish)| finish.since(start));
        let turnaround = finish.map(|finish| finish.since(submitted));
        let stretch = turnaround.zip(execution).filter(|(_, execution)| !execution.is_zero());
        self.maybe(start.map(Time::seconds)).maybe(execution.map(|span| span.seconds()));
        self.maybe(finish.map(Time::seconds)).maybe(start.map(|start| start.since(submitted).seconds()));
        self.maybe(turnaround.map(|span| span.seconds()));
        self.maybe(stretch.map(|(turnaround, execution)| turnaround.micros() as f64 / execution.micros() as f64))
    }

    fn end(&mut self) {
        self.text.pop();
        self.text.push('\n');
    }
}
