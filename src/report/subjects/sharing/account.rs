//! The account of sites whose jobs share nodes, and of the sites compared with them.

use std::thread;

use super::fared::{SharedJob, moves_of};
use super::{Sharing, SharingSites, SiteShared};
use crate::referee::tally::JobRow;
use crate::results::account::Account;
use crate::tables::columns::OpenTable;
use crate::tables::columns::{TableForm, number, seconds, text, whole_number};
use crate::tables::csv::CsvRow;
use crate::{Summary, Tally};
use hansa_sim::grid::sharing::{Moves, Timed, bound_within, bounded_stretch, measure_underutilisation};
use hansa_sim::time::{Span, Time};

pub struct Accounting<'a> {
    tally: &'a Tally,
    sites: &'a SharingSites,
    /// Sums by site.
    sums: Vec<SiteSums>,
    rows: Option<Vec<u8>>,
}

/// Sums over the jobs of one site.
#[derive(Default)]
struct SiteSums {
    ended: Vec<(Timed, Time)>,
    /// Jobs that count in the stretches and for the bound.
    counted: Vec<Timed>,
    stretch: f64,
    max_stretch: f64,
    moves: Moves,
}

/// Largest number of jobs for the bound, as in `hansa bound`.
const BOUND_MAX: usize = 20_000;
/// Largest number of pairs of a job and an interval in which it may run, for a bound computed here, which takes some
/// seconds at most. Where jobs have to wait for very long there are more, and `hansa bound` takes longer for them.
const PAIRS_MAX: usize = 4_000_000;

pub const SHARING: TableForm = TableForm {
    file: "sharing.csv",
    about: "One row per ended job, only where sites share nodes among jobs, for these and the sites compared with them.",
    columns: &[
        whole_number("job", "number of the job"),
        text("site", "where it ran"),
        whole_number("tasks", "number of its parallel tasks"),
        number("cpu", "nodes", "processors that each task needs"),
        number("memory", "nodes", "memory that each task needs"),
        seconds("submission", "when it was submitted"),
        seconds("start", "when it started"),
        seconds("end", "when it ended"),
        seconds("runtime", "time that it takes with nodes of its own"),
        seconds("turnaround", "from submission to end"),
        number("stretch", "", "turnaround in run times, both at least 10 s"),
        whole_number("preemptions", "times that it was paused"),
        whole_number("migrations", "times that it was moved"),
        number("paused_gb", "GB", "memory that pauses put aside"),
        number("migrated_gb", "GB", "memory that moves transferred"),
    ],
};

impl<'a> Accounting<'a> {
    pub fn new(tally: &'a Tally, sites: &'a SharingSites, tables: bool) -> Accounting<'a> {
        let sums = tally.sites.iter().map(|_| SiteSums::default()).collect();
        Accounting { tally, sites, sums, rows: tables.then(|| SHARING.header_line(&[])) }
    }

    fn memory_gigabytes(&self, site: usize) -> f64 {
        self.sites.memory_kb[site] as f64 / 1e6
    }

    /// Summaries of all sites, computed by as many threads as there are cores: the stretch bound of a site takes long.
    fn sites(&self) -> Vec<SiteShared> {
        let its = self.tally.sites_of(&self.sites.systems);
        let threads = thread::available_parallelism().map_or(1, usize::from);
        thread::scope(|scope| {
            let parts = its.chunks(its.len().div_ceil(threads).max(1));
            // There may be no more threads.
            let started: Vec<_> = parts
                .map(|part| (part, thread::Builder::new().spawn_scoped(scope, move || self.sites_in_order(part))))
                .collect();
            let done = started.into_iter().flat_map(|(part, thread)| match thread {
                Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                Err(_) => self.sites_in_order(part),
            });
            done.collect()
        })
    }

    fn sites_in_order(&self, part: &[usize]) -> Vec<SiteShared> {
        part.iter().map(|site| self.site(*site, &self.sums[*site])).collect::<Vec<_>>()
    }

    fn site(&self, site: usize, sum: &SiteSums) -> SiteShared {
        let facts = &self.tally.sites[site];
        let jobs = sum.ended.len() as u64;
        let first = sum.ended.iter().map(|ended| ended.0.submit).min();
        let last = sum.ended.iter().map(|ended| ended.1).max();
        let seconds = first.zip(last).map(|(first, last)| last.since(first).micros() as f64 / 1e6);
        let a_job = |of: f64| (jobs > 0).then(|| of / jobs as f64);
        let usage =
            (jobs > 0).then(|| measure_underutilisation(facts.cores, sum.ended.iter().copied()).missed_per_work());
        let few = Some(&sum.counted).filter(|jobs| (1..=BOUND_MAX).contains(&jobs.len()));
        let bound = few.and_then(|jobs| bound_within(PAIRS_MAX, facts.cores, jobs));
        let counted = sum.counted.len();
        let Moves { preemptions, migrations, .. } = sum.moves;
        let paused_gb = sum.moves.paused * self.memory_gigabytes(site);
        let migrated_gb = sum.moves.migrated * self.memory_gigabytes(site);
        let paused = preemptions as f64;
        let moved = migrations as f64;
        SiteShared {
            name: facts.name.clone(),
            scheduler: self.sites.schedulers[site].clone(),
            shared: facts.is_shared,
            jobs,
            mean_stretch: (counted > 0).then(|| sum.stretch / counted as f64),
            max_stretch: (counted > 0).then_some(sum.max_stretch),
            bound: bound.map(|bound| (bound.lo, bound.hi)),
            degradation: bound.map(|bound| sum.max_stretch / bound.hi),
            underutilisation: usage,
            preemptions,
            migrations,
            preemptions_per_hour: rate_per_second(paused, seconds).map(|rate| rate * 3600.0),
            migrations_per_hour: rate_per_second(moved, seconds).map(|rate| rate * 3600.0),
            preemptions_per_job: a_job(paused),
            migrations_per_job: a_job(moved),
            paused_gb,
            migrated_gb,
            paused_gb_per_second: rate_per_second(paused_gb, seconds),
            migrated_gb_per_second: rate_per_second(migrated_gb, seconds),
        }
    }

    fn row(
        &self,
        text: &mut Vec<u8>,
        row: &JobRow,
        site: usize,
        fared: &SharedJob,
        stretch: f64,
        by_site: &[(u32, Moves)],
    ) {
        let SharedJob { timed, end } = *fared;
        let mut moves = Moves::default();
        by_site.iter().for_each(|(_, more)| moves.add(more));
        let gigabytes = |of: fn(&Moves) -> f64| {
            by_site.iter().map(|(site, moves)| of(moves) * self.memory_gigabytes(*site as usize)).sum::<f64>()
        };
        let needs = timed.need;
        let mut line = SHARING.row(text);
        line.number(row.job.id.0).text(&crate::tables::csv::field(&self.tally.sites[site].name));
        line.number(needs.tasks).float(needs.cpu).float(needs.memory).time(timed.submit);
        line.maybe(row.start(), CsvRow::time)
            .time(end)
            .span(timed.runtime)
            .span(end.since(timed.submit))
            .float(stretch);
        line.number(moves.preemptions).number(moves.migrations);
        line.float(gigabytes(|moves| moves.paused)).float(gigabytes(|moves| moves.migrated)).end();
    }
}

fn rate_per_second(of: f64, seconds: Option<f64>) -> Option<f64> {
    seconds.filter(|seconds| *seconds > 0.0).map(|seconds| of / seconds)
}

impl Account for Accounting<'_> {
    fn job(&mut self, row: &JobRow, _: &[Option<Time>]) {
        let site = row.tasks.first().and_then(|task| task.site).map(|site| site as usize);
        let Some(site) = site.filter(|_| self.sites.systems.contains(&row.system)) else { return };
        let moves = moves_of(row);
        moves.iter().for_each(|(site, moves)| self.sums[*site as usize].moves.add(moves));
        let Some(fared) = SharedJob::of(row) else { return };
        let turnaround: Span = fared.end.since(fared.timed.submit);
        let stretch = bounded_stretch(turnaround, fared.timed.runtime);
        if let Some(mut text) = self.rows.take() {
            self.row(&mut text, row, site, &fared, stretch, &moves);
            self.rows = Some(text);
        }
        let sum = &mut self.sums[site];
        sum.ended.push((fared.timed, fared.end));
        if !self.tally.counted.is_counted(row) {
            return;
        }
        sum.counted.push(fared.timed);
        sum.stretch += stretch;
        sum.max_stretch = sum.max_stretch.max(stretch);
    }

    /// Its moves and its use of nodes belong to those of the site.
    fn add_uncounted(&mut self, row: &JobRow, ready: &[Option<Time>]) {
        self.job(row, ready);
    }

    fn open_tables(&mut self) -> Vec<OpenTable<'_>> {
        self.rows.as_mut().map(|rows| (SHARING.file, rows)).into_iter().collect()
    }

    fn close(&mut self, summary: &mut Summary) {
        summary.put_part(&Sharing { sites: self.sites() });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::tests::{ANN, ROUTER, YORK, topology};
    use crate::{Names, Status};
    use hansa_sim::grid::{Job, JobId, Kind, NodeSet, Task, TaskId};
    use hansa_sim::kernel::Entry;
    use hansa_sim::protocol::Record;
    use hansa_sim::systems::Service;
    use hansa_sim::systems::batch::Batch;
    use hansa_sim::time::Stamp;
    use hansa_sim::topology::Topology;

    #[test]
    fn what_was_paused_counts_even_if_the_job_is_lost_for_good() {
        let mut topology = Topology { systems: vec![Service::new(Batch::default())], ..topology() };
        topology.sites[0].scheduler = "GreedyP *".to_owned();
        topology.sites[0].memory_kb = 3_000_000;
        let mut tally = Tally::new(&topology, &Names::of(&topology));
        let task = TaskId { job: JobId(0), index: 0 };
        let tasks = vec![Task::new(Span::from_secs(60), 2, Kind(0))];
        let job =
            Job { id: task.job, arrive: Time::ZERO, first_task: 0, tasks, edges: Vec::new(), worth: None, times: None };
        let cores = NodeSet::parse("0-1").unwrap();
        let story = [
            (0, ROUTER, Record::Arrived { job: Arc::new(job), user: ANN }),
            (0, YORK, Record::Started { task, cores: cores.clone() }),
            (10, YORK, Record::Suspended { task }),
            (20, YORK, Record::Resumed { task, cores }),
            (30, YORK, Record::Lost { task, saved: Span::ZERO }),
            (30, ROUTER, Record::Removed { job: task.job }),
        ];
        for (seconds, actor, record) in story {
            let stamp = Stamp::at(Time::ZERO + Span::from_secs(seconds));
            tally.add(&Entry { stamp, actor, record }).unwrap();
        }
        let sharing = tally.summary(1, Status::Complete, String::new()).read_part::<Sharing>().unwrap();
        let site = &sharing.sites[0];
        assert_eq!((site.jobs, site.preemptions, site.paused_gb, site.preemptions_per_job), (0, 1, 6.0, None));
    }

    #[test]
    fn the_largest_stretch_is_that_of_a_job_to_the_last_digit() {
        let mut topology = Topology { systems: vec![Service::new(Batch::default())], ..topology() };
        topology.sites[0].scheduler = "Greedy *".to_owned();
        let mut tally = Tally::new(&topology, &Names::of(&topology));
        for id in 0..3 {
            let task = TaskId { job: JobId(id), index: 0 };
            let tasks = vec![Task::new(Span::from_secs(60), 1, Kind(0))];
            let job = Job { id: task.job, first_task: id, tasks, ..Job::default() };
            let mut add = |seconds, actor, record| {
                let stamp = Stamp::at(Time::ZERO + Span::from_secs(seconds));
                tally.add(&Entry { stamp, actor, record }).unwrap();
            };
            add(0, ROUTER, Record::Arrived { job: Arc::new(job), user: ANN });
            add(0, YORK, Record::Started { task, cores: NodeSet::parse("0").unwrap() });
            add(81, YORK, Record::Finished { task });
            add(81, ROUTER, Record::Completed { job: task.job, value: None });
        }
        let sharing = tally.summary(1, Status::Complete, String::new()).read_part::<Sharing>().unwrap();
        assert_eq!(sharing.sites[0].max_stretch, Some(81.0 / 60.0));
    }
}
