//! Facts of each job for the search of a page: `explore.js` finds a job in them, shows its span, and tells its story.

use std::fmt::Write;

use super::Page;
use super::html::format_count;
use crate::markup::{Html, html};
use crate::referee::tally::{JobRow, Standing};
use hansa_sim::time::Time;

/// Most jobs with facts: more would make the page large.
const JOBS_MAX: usize = 10_000;
/// Longest list of cores, in letters.
const CORES_MAX: usize = 60;

impl Page<'_> {
    /// A hidden text: a line of users, a line of sites, then a line per job with fields between tabs. Empty without
    /// jobs; without lines if there are too many.
    pub(super) fn job_facts(&self) -> Html {
        let jobs = &self.tally.jobs;
        let numbers = jobs.keys().map(|job| self.tally.number(*job)).map(|number| (number, number));
        let range = numbers.reduce(|(first, last), (number, _)| (first.min(number), last.max(number)));
        let Some((first, last)) = range else { return Html::default() };
        let known = match jobs.len() as u64 == last - first + 1 {
            true => format!("jobs are {} to {}", format_count(first), format_count(last)),
            false => {
                let (first, last) = (format_count(first), format_count(last));
                format!("{} jobs have numbers from {first} to {last}", format_count(jobs.len() as u64))
            }
        };
        let mut lines = String::new();
        if jobs.len() <= JOBS_MAX {
            let users = join_names(self.topology.users.iter().map(|user| user.name.as_str()));
            let sites = join_names(self.tally.sites.iter().map(|site| site.name.as_str()));
            let _ = write!(lines, "{users}\n{sites}");
            jobs.values().for_each(|row| lines += &self.facts_of_job(row));
        }
        html!("<pre id=\"jobs\" hidden=\"hidden\" data-known=\"{known}\">{lines}</pre>\n", known, lines)
    }

    /// Number, workload, name, user, times in seconds (submission, earliest start, start, end), outcome, number of
    /// tasks, cores, sites, places of the cores of a single task, and the number in the run, which names its story.
    fn facts_of_job(&self, row: &JobRow) -> String {
        let tally = self.tally;
        let id = row.job.id;
        let workload = tally.workload(id).map_or(String::new(), |workload| workload.to_string());
        let name = tally.job_name(id).map(plain).unwrap_or_default();
        let user = tally.user_index(row.user).map_or(String::new(), |user| user.to_string());
        let started = row.tasks.iter().filter(|task| task.start.is_some());
        let mut sites: Vec<u32> = started.filter_map(|task| task.site).collect();
        sites.sort_unstable();
        sites.dedup();
        let sites: Vec<String> = sites.iter().map(u32::to_string).collect();
        let places = match &row.tasks[..] {
            [task] if task.start.is_some() => task.cores.to_string().replace(' ', ", "),
            _ => String::new(),
        };
        let places = if places.len() > CORES_MAX { String::new() } else { places };
        let cores: u64 = row.job.tasks.iter().map(|task| u64::from(task.cores)).sum();
        let is_over = row.standing() != Standing::Unfinished;
        let end = row.last_end().filter(|_| is_over).or(row.given_up());
        format!(
            "\n{}\t{workload}\t{name}\t{user}\t{}\t{}\t{}\t{}\t{}\t{}\t{cores}\t{}\t{places}\t{}",
            tally.number(id),
            seconds(row.job.arrive),
            if row.earliest_start() == row.job.arrive { String::new() } else { seconds(row.earliest_start()) },
            row.start().map_or(String::new(), seconds),
            end.map_or(String::new(), seconds),
            outcome(row),
            row.tasks.len(),
            sites.join(" "),
            id.0,
        )
    }
}

fn join_names<'n>(names: impl Iterator<Item = &'n str>) -> String {
    names.map(plain).collect::<Vec<_>>().join("\t")
}

/// Seconds with up to three decimals.
fn seconds(time: Time) -> String {
    let millis = (time.micros() + 500) / 1000;
    let text = format!("{}.{:03}", millis / 1000, millis % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Letter for the outcome of a job, which the page's script reads.
fn outcome(row: &JobRow) -> char {
    match row.standing() {
        Standing::Finished => 'f',
        Standing::Killed => 'k',
        Standing::Preempted => 'p',
        Standing::Removed if row.is_cancelled() => 'c',
        Standing::Removed => 'g',
        Standing::Refused => 'r',
        Standing::Unfinished => 'u',
    }
}

/// A name without the characters that part fields.
fn plain(name: &str) -> String {
    name.replace(['\t', '\n'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_have_the_decimals_that_they_need() {
        let shown = |micros| seconds(Time::from_micros(micros));
        assert_eq!([0, 400, 1_500_000, 70_000_000, 1_234_567].map(shown), ["0", "0", "1.5", "70", "1.235"]);
    }
}
