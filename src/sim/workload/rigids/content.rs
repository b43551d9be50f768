//! The part of a log or a model that is run, and its load.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::handing::{Ahead, requested_span};
use super::{Origin, Rigids};
use crate::settings::units::MILLION;
use crate::settings::{Fields, format_counted};
use crate::time::{Span, Time};
use crate::workload::needs::{self, MEMORY_MIN, NeedsShape};
use crate::workload::packed::Packed;
use crate::workload::raise::{Bulk, log_utilisation, raise_load};
use crate::workload::rigid::{Faults, LogNames, NUMBER_MAX, Rigid, Trace};
use crate::workload::swf;

/// Selection of jobs; times count from the start of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Window {
    pub from: Span,
    pub to: Option<Span>,
    /// Largest number of jobs, from the start on.
    pub jobs: Option<u32>,
    /// Time after the start, and before the end, whose jobs run but count in no mean.
    pub warm_up: Span,
    pub cool_down: Span,
}

/// Submissions that count in means, by time and by index. The others are the warm-up before and the cool-down after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountedPart {
    /// Virtual times; the second one is excluded.
    pub times: (Time, Time),
    /// Indices of the jobs; the second one is excluded. None if the log is missing.
    pub places: Option<(u32, u32)>,
}

impl Window {
    /// True if all of its jobs count.
    fn counts_all(&self) -> bool {
        self.warm_up == Span::ZERO && self.cool_down == Span::ZERO
    }
}

/// The jobs themselves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Content {
    pub jobs: Arc<Packed>,
    /// Shape of each job on shared nodes; empty if all tasks have whole nodes.
    pub shapes: Arc<Vec<NeedsShape>>,
    /// Jobs with unknown memory, and jobs that need more than a node has, if memory matters.
    pub without_memory: u64,
    pub beyond_memory: u64,
    /// Names of profiles, if there are any.
    pub profiles: Arc<Vec<String>>,
    /// Options of `sbatch`, if the log has them.
    pub requests: Arc<Vec<String>>,
    /// Ids of jobs in their file, by number, where they differ from the number.
    pub ids: Arc<BTreeMap<u64, String>>,
    /// Names of users, groups, queues and partitions of the file, by their numbers.
    #[serde(default)]
    pub names: Arc<LogNames>,
    pub faults: Faults,
    /// Jobs outside of the window.
    pub outside: u64,
    /// Jobs left out, and jobs repeated, for the requested load.
    pub spared: u64,
    pub copied: u64,
    /// Upper bound of the numbers of the file's jobs and of those that they follow.
    pub last_number: u64,
    /// Reason why the jobs are missing.
    pub missing: Option<String>,
    /// None if all jobs count in means.
    #[serde(default)]
    pub counted: Option<CountedPart>,
    /// Last submission of the whole file, in its own time.
    #[serde(default)]
    pub file_end: Time,
    /// Time of day at virtual time zero, by the file's header. None if that has none, or arrivals are accelerated.
    #[serde(default)]
    pub time_of_day: Option<Span>,
    /// Day of virtual time zero, counted from 1970-01-01; None without a date or a time of day.
    #[serde(default)]
    pub start_day: Option<i64>,
}

/// Seconds of a day.
const SECONDS_PER_DAY: u64 = 86_400;

impl Content {
    /// Bytes for [`Content::of_prepared`]: lengths of the two parts, all but the jobs' own bytes as JSON, and those
    /// bytes.
    pub(super) fn prepared(&self) -> Option<Vec<u8>> {
        let json = serde_json::to_vec(self).ok()?;
        let length = (json.len() as u64).to_le_bytes();
        let jobs = self.jobs.bytes();
        Some([&length, &(jobs.len() as u64).to_le_bytes(), &json[..], jobs].concat())
    }

    /// Inverse of [`Content::prepared`]. None if the bytes are damaged.
    pub(super) fn of_prepared(bytes: &[u8]) -> Option<Content> {
        let (length, rest) = bytes.split_first_chunk::<8>()?;
        let (jobs_length, rest) = rest.split_first_chunk::<8>()?;
        let (json, jobs) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        if jobs.len() as u64 != u64::from_le_bytes(*jobs_length) {
            return None;
        }
        let mut content: Content = serde_json::from_slice(json).ok()?;
        content.jobs = Arc::new(Arc::unwrap_or_clone(content.jobs).with_bytes(jobs.to_vec()));
        Some(content)
    }

    /// The runnable jobs of a log in the window, counted from its start.
    pub fn of_trace(trace: Trace, window: Window) -> Content {
        let Trace { jobs, mut faults, profiles, requests, ids, names, header } = trace;
        let file_end = jobs.last().map_or(Time::ZERO, |job| job.submit);
        let day = Span::from_secs(SECONDS_PER_DAY).micros();
        let first = swf::start_of_day(&header);
        let time_of_day = first.map(|first| Span::from_micros((first + window.from).micros() % day));
        let days_until = |first: Span| i64::try_from((first + window.from).micros() / day).ok();
        let start_day = first.and_then(|first| Some(swf::start_day(&header)? + days_until(first)?));
        let start = Time::ZERO + window.from;
        let end = window.to.map_or(Time::NEVER, |to| Time::ZERO + to);
        let all = jobs.len() as u64;
        let mut unrunnable = 0;
        let mut kept = Packed::default();
        let mut last_number = 0;
        for mut job in &jobs {
            let followed = job.preceding.filter(|number| *number <= NUMBER_MAX);
            last_number = last_number.max(job.number).max(followed.unwrap_or_default());
            if let Err(why) = job.check() {
                unrunnable += 1;
                faults.leave_out(format_args!("job {}", job.number), why.to_string());
                continue;
            }
            let full = window.jobs.is_some_and(|most| kept.len() >= most as usize);
            if !(start..end).contains(&job.submit) || full {
                continue;
            }
            job.submit = Time::ZERO + job.submit.since(start);
            faults.note_job(&job);
            kept.push(&job);
        }
        let outside = all - unrunnable - kept.len() as u64;
        for follower in jobs_without_predecessor(&kept) {
            let Rigid { number, preceding, .. } = kept.get(follower).expect("it has been found");
            let preceding = preceding.unwrap_or_default();
            let what = format!("job {preceding} does not precede it, so it is submitted at its own time");
            faults.release(format_args!("job {number}"), what);
        }
        let jobs = Arc::new(kept);
        let profiles = Arc::new(profiles);
        let requests = Arc::new(requests);
        let ids = Arc::new(ids);
        let names = Arc::new(names);
        Content {
            jobs,
            profiles,
            requests,
            ids,
            names,
            faults,
            outside,
            last_number,
            file_end,
            time_of_day,
            start_day,
            ..Content::default()
        }
    }

    /// Determines the part of the jobs that counts in means, after all changes of their submissions; `rate_millionths`
    /// is the factor by which they are accelerated.
    pub(super) fn count_part(&mut self, window: Window, rate_millionths: Option<u64>) {
        if window.counts_all() {
            self.counted = None;
            return;
        }
        let sooner = |span: Span| match rate_millionths {
            Some(rate) => scale_time(Time::ZERO + span, rate),
            None => Time::ZERO + span,
        };
        let end = match window.to {
            Some(to) if window.jobs.is_none() => sooner(Span::from_micros(to.micros() - window.from.micros())),
            _ => self.jobs.last().map_or(Time::NEVER, |job| job.submit + Span::from_micros(1)),
        };
        let cool_down = sooner(window.cool_down).since(Time::ZERO).micros();
        let times = (sooner(window.warm_up), Time::from_micros(end.micros().saturating_sub(cool_down)));
        let before = |limit: Time| self.jobs.heads().take_while(|job| job.submit < limit).count() as u32;
        let places = self.missing.is_none().then(|| (before(times.0), before(times.1)));
        self.counted = Some(CountedPart { times, places });
    }

    /// The jobs with their amounts of work, which is zero for jobs that are wider than the widest site.
    pub fn weigh_jobs(&self, widest: u32) -> Vec<Weighed> {
        (0..).zip(&*self.jobs).map(|job| Weighed::of_job(job, widest)).collect()
    }

    /// Submits all jobs later, by the same time.
    pub(super) fn postpone(&mut self, delay: Span) {
        self.jobs = Arc::new(self.jobs.iter().map(|job| Rigid { submit: job.submit + delay, ..job }).collect());
        let day = Span::from_secs(SECONDS_PER_DAY).micros();
        self.time_of_day =
            self.time_of_day.map(|time| Span::from_micros((time.micros() + day - delay.micros() % day) % day));
        if let Some(CountedPart { times: (from, to), .. }) = &mut self.counted {
            *from = *from + delay;
            *to = *to + delay;
        }
    }

    /// Accelerates the arrivals of a log by this factor in millionths.
    pub(super) fn accelerate(&mut self, rate_millionths: u64) {
        let jobs = self.jobs.iter().map(|job| Rigid { submit: scale_time(job.submit, rate_millionths), ..job });
        self.jobs = Arc::new(jobs.collect());
        self.time_of_day = None;
        self.start_day = None;
    }

    /// Makes each job request its run time, at most what it requests now.
    pub(super) fn make_exact(&mut self) {
        let exact = |job: Rigid| {
            let asked = job.walltime();
            let runs = job.runs_for().map(|runs| asked.map_or(runs, |asked| runs.min(asked)));
            match runs {
                Ok(runs) => Rigid { runtime: Some(runs), requested_time: Some(runs), ..job },
                Err(_) => job,
            }
        };
        self.jobs = Arc::new(self.jobs.iter().map(exact).collect());
        // None of them requests no time any more.
        self.faults.unasked = 0;
    }

    /// Notes that are not faults, including those on the requested load.
    pub fn note(&self) -> Option<String> {
        put_together(self.faults.note().into_iter().chain(self.of_memory()).chain(self.of_load()), "; ")
    }

    /// Faults and notes, with the first few faults or with all that are kept.
    pub fn report(&self, with_all: bool) -> Option<String> {
        let faults = &self.faults;
        if faults.is_empty() {
            return put_together(faults.note().into_iter().chain(self.of_memory()), "; ");
        }
        let faults = if with_all { format!("{faults:#}") } else { faults.to_string() };
        put_together(std::iter::once(faults).chain(self.of_memory()), "\n  ")
    }

    fn of_load(&self) -> impl Iterator<Item = String> {
        load_note(self.spared, "leaves out").into_iter().chain(load_note(self.copied, "uses twice"))
    }

    fn of_memory(&self) -> impl Iterator<Item = String> {
        let unknown = memory_note(self.without_memory, "unknown", MEMORY_MIN);
        unknown.into_iter().chain(memory_note(self.beyond_memory, "more than a node has", 1.0))
    }

    /// True if no schedule of these jobs exceeds the range of time.
    pub fn is_bearable(&self, overestimate_millionths: u64) -> bool {
        let last = self.jobs.last().map_or(0, |job| job.submit.micros());
        // Think time counts as well.
        let mut all = 0;
        for job in &*self.jobs {
            all += u128::from(requested_span(&job, overestimate_millionths).micros());
            all += u128::from(job.think.map_or(0, Span::micros));
        }
        all + u128::from(last) < u128::from(u64::MAX / 4)
    }
}

/// A note on jobs that the wanted utilisation leaves out or uses twice; None without any.
fn load_note(count: u64, does: &str) -> Option<String> {
    (count > 0).then(|| format!("`utilisation` {does} {}", format_counted(count, "job")))
}

/// A note on jobs whose memory is assumed, as this share of a node's; None without any.
fn memory_note(count: u64, fault: &str, share: f64) -> Option<String> {
    let jobs = format_counted(count, "job");
    let share = (100.0 * share).round();
    (count > 0)
        .then(|| format!("the memory of {jobs} is {fault}: assumed are {share} % of a node's for each processor"))
}

/// A time of a log in a run whose jobs arrive faster by this factor in millionths.
fn scale_time(at: Time, rate_millionths: u64) -> Time {
    let micros = u128::from(at.micros()) * u128::from(MILLION) / u128::from(rate_millionths.max(1));
    Time::from_micros(micros.min(u128::from(u64::MAX / 2)) as u64)
}

fn put_together(notes: impl Iterator<Item = String>, between: &str) -> Option<String> {
    let notes: Vec<String> = notes.collect();
    (!notes.is_empty()).then(|| notes.join(between))
}

/// Indices of jobs that follow a missing one.
fn jobs_without_predecessor(jobs: &Packed) -> Vec<usize> {
    let ahead = Ahead::of_jobs(jobs);
    let names_one = jobs.heads().enumerate().filter(|(_, job)| job.follows);
    names_one.map(|(place, _)| place).filter(|place| ahead.of_job(*place).is_none()).collect()
}

impl Rigids {
    /// Selects or repeats jobs so that they use this fraction of `cores` cores while they arrive, as far as they fit
    /// into the widest site. Under `dual-core`, a core of a site is a node of two processors.
    pub(super) fn load(&mut self, target: f64, (cores, widest): (u64, u32), fields: &Fields<'_>, seed: u64) {
        let (each, one) = if self.needs == needs::Rule::DualCore { (2, "processor") } else { (1, "core") };
        let cores = cores * u64::from(each);
        let widest = widest.saturating_mul(each);
        let jobs = self.content.weigh_jobs(widest);
        let end = jobs.last().map_or(Time::ZERO, |job| job.submit) + Span::from_micros(1);
        let raised = match self.origin {
            Origin::Lublin(_) => {
                let faster = target / log_utilisation(&jobs, cores);
                let submit = |job: &Weighed| Time::from_micros((job.submit.micros() as f64 / faster) as u64);
                jobs.into_iter().map(|job| Weighed { submit: submit(&job), ..job }).collect()
            }
            _ => raise_load(&jobs, cores, target, end, seed),
        };
        let reached = log_utilisation(&raised, cores);
        let Some(field) = fields.get("utilisation").filter(|_| reached < (1.0 - NEAR_LOAD) * target) else {
            let jobs = &self.content.jobs;
            let mut last_number = self.content.last_number;
            let chosen = raised.iter().map(|job| {
                last_number += u64::from(job.is_copy);
                job.complete_job(jobs, last_number)
            });
            let chosen: Packed = chosen.collect();
            let copied = raised.iter().filter(|job| job.is_copy).count();
            self.content.spared = (jobs.len() + copied - chosen.len()) as u64;
            self.content.copied = copied as u64;
            self.content.jobs = Arc::new(chosen);
            return;
        };
        if reached == 0.0 {
            field.complain(format!(
                "none of these jobs fits into a site: the widest has {}",
                format_counted(widest.into(), one)
            ));
            return;
        }
        field.complain(format!(
            "even if all jobs are used twice, a week apart, they use only {reached:.3} of {}: \
             `arrival_factor` lets them arrive faster",
            format_counted(cores, one)
        ));
    }
}

/// Tolerated deviation below the requested load, as a fraction of it: jobs are indivisible.
const NEAR_LOAD: f64 = 0.05;

/// Properties of a job that its selection or repetition depends on.
#[derive(Clone, Copy, Debug)]
pub struct Weighed {
    place: u32,
    is_copy: bool,
    submit: Time,
    work: u128,
}

impl Weighed {
    fn of_job((place, job): (u32, Rigid), widest: u32) -> Weighed {
        let fits = job.nodes().ok().filter(|nodes| *nodes <= widest);
        let nodes = fits.unwrap_or(0);
        let runs = job.runs_for().unwrap_or_default();
        let work = u128::from(nodes) * u128::from(job.walltime().map_or(runs, |asked| runs.min(asked)).micros());
        Weighed { place, is_copy: false, submit: job.submit, work }
    }

    /// The complete job. A repeated one is a separate job with this number that follows no other.
    fn complete_job(&self, jobs: &Packed, number: u64) -> Rigid {
        let job = Rigid { submit: self.submit, ..jobs.get(self.place as usize).expect("it is one of them") };
        if !self.is_copy {
            return job;
        }
        Rigid { number, preceding: None, think: None, ..job }
    }
}

impl Bulk for Weighed {
    fn submit_time(&self) -> Time {
        self.submit
    }

    fn cpu_work(&self) -> u128 {
        self.work
    }

    fn delayed_by(&self, by: Span) -> Weighed {
        Weighed { is_copy: true, submit: self.submit + by, ..*self }
    }
}
