//! The search for a job or a task by what a user calls it.

use crate::Tally;
use crate::referee::tally::JobRow;
use hansa_sim::grid::JobId;
use hansa_sim::numerals::format_count;

impl Tally {
    /// The job of this number in its log, or in the run (`#7`), and the index of the task that is meant: `12.3` is task
    /// 3 of job 12, and the number of a job of one task is that task. None for a job of several tasks.
    pub(super) fn find_task(&self, job: &str) -> Result<(&JobRow, Option<usize>), String> {
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
            (None, 1) => Ok((row, Some(0))),
            (None, _) => Ok((row, None)),
            (Some(Some(task)), tasks) if task < tasks => Ok((row, Some(task))),
            (Some(_), tasks) => {
                Err(format!("there is no task {job}; those of job {number} go from 0 to {}", tasks - 1))
            }
        }
    }

    pub(crate) fn task_label(&self, row: &JobRow, index: usize) -> String {
        let job = self.label(row.job.id);
        if row.tasks.len() == 1 { job } else { format!("{job}.{index}") }
    }
}
