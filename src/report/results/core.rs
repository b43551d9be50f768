//! The account of every run: the numbers of jobs, tasks and sites.

use crate::Tally;
use crate::referee::tally::{JobRow, Standing, Used};
use crate::results::account::Account;
use crate::results::by_size::{JobSize, SizeColumns, SizeGroups};
use crate::results::counted::CountedSummary;
use crate::results::staleness::StalenessSums;
use crate::results::summary::{Counts, Spread, Stretch, Summary, Use, Utilisation, Value, work_micros};
use hansa_sim::time::{Span, Time};

pub(crate) struct Core<'a> {
    tally: &'a Tally,
    jobs: Counts,
    tasks: Counts,
    counted: CountedSummary,
    turnaround: Mean,
    /// True for each user that has submitted a job.
    busy_users: Vec<bool>,
    starved: Option<u64>,
    in_time: Mean,
    /// Obtained and maximum value.
    value: Option<(f64, f64)>,
    waits: Waits,
    stretches: Vec<f64>,
    slr: Mean,
    sizes: SizeColumns,
    sites: Vec<Busy>,
    useful: Useful,
    views: StalenessSums,
    /// Intervals from the first submission to the last one, as far as these count, and to the end.
    arrivals: Option<(Time, Time)>,
    whole: Option<(Time, Time)>,
}

/// Waits of jobs and tasks. A job of one task waits as long as its task, and there may be millions of them.
#[derive(Default)]
struct Waits {
    /// Waits of jobs with one task.
    same: Vec<Span>,
    jobs: Vec<Span>,
    tasks: Vec<Span>,
}

impl Waits {
    /// Spreads of jobs and of tasks.
    fn into_spreads(self) -> (Option<Spread>, Option<Spread>) {
        let Waits { mut same, jobs, tasks } = self;
        if jobs.is_empty() && tasks.is_empty() {
            let spread = Spread::of(same);
            return (spread, spread);
        }
        let count = same.len();
        same.extend(jobs);
        let of_jobs = Spread::of(same.clone());
        same.truncate(count);
        same.extend(tasks);
        (of_jobs, Spread::of(same))
    }
}

/// Core microseconds of work for jobs with a worth.
#[derive(Default)]
struct Useful {
    all: u128,
    paid: u128,
}

/// The mean and the largest of non-negative numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mean {
    count: u64,
    sum: f64,
    max: f64,
}

impl Mean {
    pub fn add(&mut self, number: f64) {
        self.count += 1;
        self.sum += number;
        self.max = self.max.max(number);
    }

    pub fn get(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    pub fn max(&self) -> Option<f64> {
        (self.count > 0).then_some(self.max)
    }
}

impl<'a> Core<'a> {
    pub fn new(tally: &'a Tally) -> Core<'a> {
        let arrivals = tally.totals.arrivals;
        Core {
            tally,
            jobs: Counts::default(),
            tasks: Counts::default(),
            counted: CountedSummary::default(),
            turnaround: Mean::default(),
            busy_users: vec![false; tally.names.actors.len()],
            starved: None,
            in_time: Mean::default(),
            value: None,
            waits: Waits::default(),
            // For millions of jobs, the unused half after doubling would be large.
            stretches: Vec::with_capacity(tally.totals.jobs as usize),
            slr: Mean::default(),
            sizes: SizeColumns::of(tally.totals.jobs as usize, !tally.has_only_single_tasks()),
            sites: vec![Busy::default(); tally.sites.len()],
            useful: Useful::default(),
            views: StalenessSums::default(),
            arrivals: arrivals.map(|arrivals| tally.counted.counted_interval(arrivals)),
            whole: arrivals.zip(tally.end_of_work()).map(|((first, _), end)| (first, end)),
        }
    }

    /// Counts a job and its tasks, and the time that these had cores. Returns the core microseconds of work.
    fn count_work(&mut self, row: &JobRow) -> u128 {
        let mut done = 0;
        self.jobs.add(row.standing());
        self.counted.add(self.tally.counted.part_of(row), row.standing());
        if let Some(busy) = self.busy_users.get_mut(row.user.index()) {
            *busy = true;
        }
        for (index, (task, needs)) in row.tasks.iter().zip(&row.job.tasks).enumerate() {
            self.tasks.add(row.task_standing(index));
            let Some(site) = task.site.filter(|_| task.start.is_some()) else { continue };
            self.sites[site as usize].tasks += 1;
            for stint in task.stints(self.tally.last) {
                let site = stint.site.unwrap_or(site) as usize;
                let used = self.tally.sites[site].used_cores(row, needs.cores, &stint);
                done += self.sites[site].add((stint.from, stint.to), used, self.arrivals, self.whole);
            }
            if let Some(end) = task.end.filter(|_| self.tally.is_central(row.system)) {
                self.views.add(&self.tally.sites[site as usize], end, needs.cores);
            }
        }
        done
    }

    fn count_waits(&mut self, row: &JobRow, ready: &[Option<Time>]) {
        if row.tasks.len() != 1 {
            self.waits.jobs.extend(row.wait());
        }
        let waits = if row.tasks.len() == 1 { &mut self.waits.same } else { &mut self.waits.tasks };
        for (task, ready) in row.tasks.iter().zip(ready) {
            waits.extend(task.start.zip(*ready).map(|(start, from)| start.since(from)));
        }
    }

    fn count_worth(&mut self, row: &JobRow, done: u128) {
        let Some((value, worth)) = row.value().zip(row.job.worth.as_ref()) else { return };
        self.useful.all += done;
        let (obtained, max) = self.value.unwrap_or((0.0, 0.0));
        self.value = Some((obtained + value, max + worth.max));
        if value > 0.0 {
            self.useful.paid += done;
        }
    }

    fn close_utilisation(&mut self) -> Utilisation {
        let tally = self.tally;
        for (busy, site) in self.sites.iter_mut().zip(&tally.sites) {
            busy.cores = site.cores.into();
        }
        let sites = &self.sites;
        Utilisation {
            all: self.busy_usage("all", &busy_sum(None, sites, tally)),
            kinds: tally
                .names
                .kinds
                .iter()
                .enumerate()
                .map(|(kind, name)| self.busy_usage(name, &busy_sum(Some(kind), sites, tally)))
                .collect(),
            sites: tally.sites.iter().zip(sites).map(|(site, busy)| self.busy_usage(&site.name, busy)).collect(),
        }
    }

    fn busy_usage(&self, name: &str, busy: &Busy) -> Use {
        busy.usage_shares(name, self.arrivals, self.whole)
    }
}

fn busy_sum(kind: Option<usize>, sites: &[Busy], tally: &Tally) -> Busy {
    (0..sites.len())
        .filter(|&site| is_of_kind(site, kind, tally))
        .map(|site| &sites[site])
        .fold(Busy::default(), Busy::plus)
}

fn is_of_kind(site: usize, kind: Option<usize>, tally: &Tally) -> bool {
    kind.is_none_or(|kind| usize::from(tally.sites[site].kind.0) == kind)
}

impl Account for Core<'_> {
    fn job(&mut self, row: &JobRow, ready: &[Option<Time>]) {
        let done = self.count_work(row);
        self.count_waits(row, ready);
        self.stretches.extend(row.stretch_factor());
        if let Some(turnaround) = self.tally.turnaround(row) {
            self.turnaround.add(turnaround.micros() as f64 / 1e6);
        }
        self.count_worth(row, done);
        let slr_counts = self.tally.slr_counts(row);
        let slr = row.slr().filter(|_| slr_counts);
        let starved = row.has_starved();
        if let Some(slr) = slr {
            self.slr.add(slr);
        }
        let censored = starved.and_then(|starved| match starved {
            true => Some(row.job.worth.as_ref()?.curve.final_()),
            false => slr,
        });
        if let Some(starved) = starved {
            *self.starved.get_or_insert(0) += u64::from(starved);
            let is_in_time = !starved && row.standing() == Standing::Finished;
            self.in_time.add(f64::from(u8::from(is_in_time)));
        }
        if slr_counts {
            let runtimes = row.job.tasks.iter().map(|task| task.runtime.micros());
            let size = JobSize {
                work: work_micros(row),
                runtime: Span::from_micros(runtimes.fold(0, u64::saturating_add)),
                critical_path: row.critical_path,
            };
            self.sizes.add(size, slr, starved.map(|starved| (starved, censored)));
        }
    }

    fn add_uncounted(&mut self, row: &JobRow, _: &[Option<Time>]) {
        self.count_work(row);
    }

    fn close(&mut self, summary: &mut Summary) {
        assert!(self.jobs.add_up() && self.tasks.add_up(), "every job and task is counted once");
        summary.jobs = self.jobs;
        summary.tasks = self.tasks;
        summary.counted = self.tally.counted.leaves_out().then_some(self.counted);
        summary.turnaround = self.turnaround.get();
        summary.idle_users = self.tally.idle_users(&self.busy_users);
        summary.starved = self.starved;
        summary.in_time = self.in_time.get();
        summary.value = self.value.map(|(obtained, max)| {
            let proportion = (max > 0.0).then(|| obtained / max);
            Value { obtained, max, proportion }
        });
        (summary.job_wait, summary.task_wait) = std::mem::take(&mut self.waits).into_spreads();
        summary.stretch = Stretch::of(std::mem::take(&mut self.stretches));
        summary.slr = self.slr.get();
        let SizeGroups { by_work, by_runtime, by_critical_path } = std::mem::take(&mut self.sizes).into_groups();
        summary.slr_by_size = by_work;
        summary.slr_by_runtime = by_runtime;
        summary.slr_by_critical_path = by_critical_path;
        summary.utilisation = self.close_utilisation();
        let Useful { all, paid } = self.useful;
        summary.useful = (all > 0).then(|| paid as f64 / all as f64);
        summary.view = self.views.of(self.tally);
    }
}

/// Core microseconds, in total and within the windows.
#[derive(Clone, Copy, Debug, Default)]
struct Busy {
    cores: u64,
    tasks: u64,
    total: u128,
    arrivals: u128,
    whole: u128,
}

impl Busy {
    fn add(
        &mut self,
        held: (Time, Time),
        used: Used,
        arrivals: Option<(Time, Time)>,
        whole: Option<(Time, Time)>,
    ) -> u128 {
        let all = used.core_micros(held.1.since(held.0).micros().into());
        self.total += all;
        self.arrivals += used.core_micros(overlap_micros(held, arrivals));
        self.whole += used.core_micros(overlap_micros(held, whole));
        all
    }

    fn plus(self, other: &Busy) -> Busy {
        Busy {
            cores: self.cores + other.cores,
            tasks: self.tasks + other.tasks,
            total: self.total + other.total,
            arrivals: self.arrivals + other.arrivals,
            whole: self.whole + other.whole,
        }
    }

    fn usage_shares(&self, name: &str, arrivals: Option<(Time, Time)>, whole: Option<(Time, Time)>) -> Use {
        Use {
            name: name.to_owned(),
            cores: self.cores,
            tasks: self.tasks,
            busy: self.total as f64 / 1e6,
            arrivals: self.window_share(self.arrivals, arrivals),
            makespan: self.window_share(self.whole, whole),
        }
    }

    fn window_share(&self, busy: u128, window: Option<(Time, Time)>) -> Option<f64> {
        let available = window.map_or(0, |(from, to)| u128::from(to.since(from).micros()) * u128::from(self.cores));
        (available > 0).then(|| busy as f64 / available as f64)
    }
}

fn overlap_micros(held: (Time, Time), window: Option<(Time, Time)>) -> u128 {
    window.map_or(0, |(from, to)| held.1.min(to).since(held.0.max(from)).micros().into())
}
