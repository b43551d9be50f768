//! Answers in words and numbers, and their calibration.

use std::cmp::Ordering;
use std::fmt::{self, Write as _};

use serde::Serialize;

use super::{Moment, PredictedRun, QueueRule, SeenJob, SiteLog, WantedJob};
use hansa_sim::numerals::{format_count, format_counted, format_percent, format_span};
use hansa_sim::time::Time;

/// Share of the repetitions beyond each end of an interval.
const TAIL: f64 = 0.05;
/// Least share of jobs that should start within their intervals.
const GOOD: f64 = 0.85;

/// Predictions for a job that arrives at one moment. Times are in seconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct When {
    pub site: String,
    /// Cores, or nodes, of the site.
    pub site_size: u32,
    pub cores: u32,
    pub requested: f64,
    pub at: f64,
    pub running: JobCount,
    pub waiting: JobCount,
    /// Number of finished jobs whose ratios of used to requested time predict run times.
    pub ratios: u64,
    /// Running and waiting jobs whose users have enough ratios of their own.
    pub jobs_of_known_users: u64,
    /// Past days from which later arrivals are drawn, and the submissions in them; both 0 if none are expected.
    pub past_days: u64,
    pub past_jobs: u64,
    pub runs: u64,
    pub seed: u64,
    pub policies: Vec<PolicyAnswer>,
}

/// Jobs, and their cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JobCount {
    pub jobs: u64,
    pub cores: u64,
}

/// Predictions under one policy: seconds from the moment to the start and to the end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicyAnswer {
    pub policy: String,
    /// True if the site has this policy.
    pub own: bool,
    /// None if the job starts in no repetition.
    pub start: Option<Quantiles>,
    pub end: Option<Quantiles>,
}

/// The median, and an interval that holds 90 % of the repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quantiles {
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

/// Comparison of predictions with the starts of the log.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    pub policy: String,
    /// Number of jobs that have started, of which some are drawn.
    pub started_jobs: u64,
    pub jobs: u64,
    pub within: u64,
    pub before: u64,
    pub after: u64,
    /// Jobs that did not start at once.
    pub waited: u64,
    pub waited_within: u64,
    pub waited_before: u64,
    pub waited_after: u64,
    /// Median width of the intervals of jobs that waited, in seconds.
    pub width: f64,
    pub runs: u64,
    pub seed: u64,
}

/// A job of the log beside its prediction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    pub waited: bool,
    /// Position of the real start: before, within or after the predicted interval.
    pub start: Ordering,
    pub width: f64,
}

impl When {
    /// The situation at a moment; policies are added later.
    pub fn of(site: &str, log: &SiteLog, moment: &Moment<'_>, wanted: WantedJob, runs: u64, seed: u64) -> When {
        let [running, waiting] = moment.jobs();
        let (past_days, past_jobs) = moment.past_counts();
        When {
            site: site.to_owned(),
            site_size: log.cores,
            cores: wanted.cores,
            requested: wanted.walltime.micros() as f64 / 1e6,
            at: moment.now().micros() as f64 / 1e6,
            running: JobCount::of(&running),
            waiting: JobCount::of(&waiting),
            ratios: moment.ratios(),
            jobs_of_known_users: running.iter().chain(&waiting).filter(|job| moment.has_ratios_of(job.user)).count()
                as u64,
            past_days,
            past_jobs,
            runs,
            seed,
            policies: Vec::new(),
        }
    }

    /// The answer in words. `unit` is that of sizes, such as `core`; `moment` writes a time of the log.
    pub fn text(&self, unit: &str, moment: &dyn Fn(Time) -> String) -> String {
        let time = |seconds: f64| moment(Time::from_micros(((self.at + seconds) * 1e6) as u64));
        let JobCount { jobs, cores } = self.running;
        let mut text = format!(
            "{} for {} at {}, which has {}, from {} on: {} on {}, {} for {}\n",
            format_counted(self.cores.into(), unit),
            format_span(self.requested),
            self.site,
            format_count(self.site_size.into()),
            time(0.0),
            verb(jobs, "runs", "run"),
            format_count(cores),
            verb(self.waiting.jobs, "waits", "wait"),
            format_count(self.waiting.cores),
        );
        let heads = ["policy", "starts in", "90 % interval", "median start", "median end"].map(str::to_owned);
        let mut rows = vec![heads];
        for answer in &self.policies {
            let name = if answer.own { format!("{} (own)", answer.policy) } else { answer.policy.clone() };
            let cells = answer.start.zip(answer.end).map(|(start, end)| {
                let interval = format!("{} to {}", format_span(start.low), format_span(start.high));
                [format_span(start.median), interval, time(start.median), time(end.median)]
            });
            let [wait, interval, start, end] = cells.unwrap_or_else(|| ["never", "", "", ""].map(str::to_owned));
            rows.push([name, wait, interval, start, end]);
        }
        put_table(&mut text, &rows);
        let all = self.running.jobs + self.waiting.jobs;
        text.push_str(&match self.ratios {
            0 => "run times: no job has ended, so each is uniform up to the request\n".to_owned(),
            ratios => format!(
                "run times: from {} of used to requested time; {} of the {} that run or wait mostly from their own users\n",
                format_counted(ratios, "latest ratio"),
                format_count(self.jobs_of_known_users),
                format_counted(all, "job"),
            ),
        });
        text.push_str(&match self.past_days {
            0 => "later jobs: none, as no history of at least 6 h is known; later arrivals may delay the start\n"
                .to_owned(),
            days => format!(
                "later jobs: as on the last {}, with {}, one at a time in random order\n",
                format_counted(days, "day"),
                format_counted(self.past_jobs, "submission"),
            ),
        });
        let _ = writeln!(text, "{} of each policy, seed {}", format_counted(self.runs, "repetition"), self.seed);
        text
    }
}

impl JobCount {
    fn of(jobs: &[&SeenJob]) -> JobCount {
        JobCount { jobs: jobs.len() as u64, cores: jobs.iter().map(|job| u64::from(job.cores)).sum() }
    }
}

impl PolicyAnswer {
    /// Sums up the repetitions under a policy. One in which the job never starts counts as later than all others.
    pub fn of(policy: &str, own: bool, now: Time, runs: &[Option<PredictedRun>]) -> PolicyAnswer {
        let starts = runs.iter().map(|run| run.as_ref().map_or(Time::NEVER, |run| run.start));
        let ends = runs.iter().map(|run| run.as_ref().map_or(Time::NEVER, |run| run.end));
        PolicyAnswer {
            policy: policy.to_owned(),
            own,
            start: Quantiles::of_seconds(starts.collect(), now),
            end: Quantiles::of_seconds(ends.collect(), now),
        }
    }
}

impl Quantiles {
    /// Seconds since a time. None if one of them is never.
    fn of_seconds(times: Vec<Time>, since: Time) -> Option<Quantiles> {
        let (low, median, high) = Quantiles::of(times)?;
        let [low, median, high] = [low, median, high].map(|time| time.since(since).micros() as f64 / 1e6);
        Some(Quantiles { low, median, high })
    }

    /// The lower end of the interval, the median and the upper end. None if one of them is never.
    fn of(mut times: Vec<Time>) -> Option<(Time, Time, Time)> {
        times.sort_unstable();
        let last = times.len().checked_sub(1)?;
        let beyond = ((last + 1) as f64 * TAIL) as usize;
        let high = times[last - beyond];
        (high < Time::NEVER).then(|| (times[beyond], times[last / 2], high))
    }
}

impl Outcome {
    /// Predicts the start of a job of the log from what was known at its arrival. None if it has not started.
    pub fn of(log: &SiteLog, job: usize, rule: QueueRule<'_>, runs: u64, seed: u64) -> Option<Outcome> {
        let &SeenJob { user, cores, requested, came, start, .. } = &log.jobs[job];
        let start = start?;
        let moment = Moment::of_arrival(log, job);
        let wanted = WantedJob { cores, walltime: requested, user: Some(user) };
        let starts = (0..runs).map(|run| moment.draw(rule, wanted, seed, run).map_or(Time::NEVER, |run| run.start));
        let (low, _, high) = Quantiles::of(starts.collect()).unwrap_or((Time::NEVER, Time::NEVER, Time::NEVER));
        let side = if start < low {
            Ordering::Less
        } else if start > high {
            Ordering::Greater
        } else {
            Ordering::Equal
        };
        Some(Outcome { waited: start > came, start: side, width: high.since(low).micros() as f64 / 1e6 })
    }
}

impl Calibration {
    pub fn of(policy: &str, started: u64, outcomes: &[Outcome], runs: u64, seed: u64) -> Calibration {
        let waited: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.waited).collect();
        let [before, within, after] = count_sides(outcomes);
        let [waited_before, waited_within, waited_after] = count_sides(waited.iter().copied());
        let mut widths: Vec<f64> = waited.iter().map(|outcome| outcome.width).collect();
        widths.sort_unstable_by(f64::total_cmp);
        Calibration {
            policy: policy.to_owned(),
            started_jobs: started,
            jobs: outcomes.len() as u64,
            within,
            before,
            after,
            waited: waited.len() as u64,
            waited_within,
            waited_before,
            waited_after,
            width: widths.get(widths.len() / 2).copied().unwrap_or(0.0),
            runs,
            seed,
        }
    }
}

/// Numbers of outcomes before, within and after their intervals.
fn count_sides<'o>(outcomes: impl IntoIterator<Item = &'o Outcome>) -> [u64; 3] {
    let mut counts = [0; 3];
    for outcome in outcomes {
        counts[match outcome.start {
            Ordering::Less => 0,
            Ordering::Equal => 1,
            Ordering::Greater => 2,
        }] += 1;
    }
    counts
}

impl fmt::Display for Calibration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share =
            |part: u64, all: u64| if all == 0 { "none".to_owned() } else { format_percent(part as f64 / all as f64) };
        writeln!(
            f,
            "{} of the {} that started, under {}: {} ({}) started within the 90 % interval, {} before, {} after",
            format_counted(self.jobs, "job"),
            format_count(self.started_jobs),
            self.policy,
            format_count(self.within),
            share(self.within, self.jobs),
            format_count(self.before),
            format_count(self.after),
        )?;
        if self.waited > 0 {
            writeln!(
                f,
                "the {} that waited: {} ({}) within, {} before, {} after; median width of an interval {}",
                format_count(self.waited),
                format_count(self.waited_within),
                share(self.waited_within, self.waited),
                format_count(self.waited_before),
                format_count(self.waited_after),
                format_span(self.width),
            )?;
        }
        if (self.within as f64) < GOOD * self.jobs as f64 {
            let good = format_percent(GOOD);
            writeln!(
                f,
                "fewer than {good}: intervals are too narrow here, or the jobs were started by another policy"
            )?;
        }
        writeln!(
            f,
            "each from what was known at its submission; {} a job, seed {}",
            format_counted(self.runs, "repetition"),
            self.seed
        )
    }
}

/// A number of jobs with its verb.
fn verb(jobs: u64, one: &str, several: &str) -> String {
    format!("{} {}", format_counted(jobs, "job"), if jobs == 1 { one } else { several })
}

/// Appends rows with columns of equal width, two spaces apart.
fn put_table(text: &mut String, rows: &[[String; 5]]) {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 5] = std::array::from_fn(width);
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            let _ = write!(line, "{cell:width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
}
