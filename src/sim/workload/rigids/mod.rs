//! Rigid jobs of a log or a model for a batch queue: selection, users and requests.

mod content;
mod handing;
mod parsed_logs;
mod settings;

use std::num::NonZeroU32;

use serde::Serialize;

pub use self::content::{Content, CountedPart, Window};
pub use self::handing::Handed;
pub use self::parsed_logs::ParsedLogs;
use super::lublin::Lublin;
use super::needs;
use super::rigid::Trace;
use super::sacct;
use super::sbatch::RequestList;
use super::staging::Data;
use super::terms::JobTerms;
use super::{JobSource, ListedRequest, Numbering, Platform, Source, SourceRow, WorkloadError, walk_delay};
use crate::grid::{Job, Needs, Request, Staging};
use crate::numerals::{format_counted, format_span};
use crate::settings::units::MILLION;
use crate::settings::{Context, FormExt, Maybe, Millionths, Unless, Walk, key};
use crate::time::{Span, Time};
use crate::words::words;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rigids {
    pub origin: Origin,
    pub deal: Deal,
    /// The only eligible site, as an index into the topology's sites.
    pub site: Option<usize>,
    /// Requested fraction of that site's processors in use while the jobs arrive, in millionths; `None` for the natural
    /// one.
    pub utilisation: Option<NonZeroU32>,
    /// Values and deadlines; `None` if there are none.
    pub terms: Option<JobTerms>,
    /// True if jobs wait for their predecessors in the log.
    pub follow: bool,
    pub data: Data,
    /// Requested time of jobs without one, as a multiple of their run time, in millionths.
    pub overestimate_millionths: u64,
    pub walltimes: Walltimes,
    /// Derivation of the tasks' needs, and memory of a node in kB.
    pub needs: needs::Rule,
    pub node_kilobytes: u64,
    pub window: Window,
    /// Acceleration of the arrivals of a log, in millionths; `None` if unchanged.
    pub rate_millionths: Option<u64>,
    /// Time by which all jobs are submitted later.
    pub delay: Span,
    /// Number of jobs to run.
    pub count: u32,
    #[serde(skip)]
    pub content: Box<Content>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    Swf(LogFile),
    Batsim(LogFile),
    Sacct(LogFile, sacct::Form),
    SlurmEvents(LogFile, sacct::SizeIn),
    Lublin(Box<Lublin>),
}

impl Origin {
    /// The file that the jobs are from; None for a model.
    pub fn log(&self) -> Option<&LogFile> {
        match self {
            Origin::Swf(log) | Origin::Batsim(log) | Origin::Sacct(log, _) | Origin::SlurmEvents(log, _) => Some(log),
            Origin::Lublin(_) => None,
        }
    }

    pub fn log_mut(&mut self) -> Option<&mut LogFile> {
        match self {
            Origin::Swf(log) | Origin::Batsim(log) | Origin::Sacct(log, _) | Origin::SlurmEvents(log, _) => Some(log),
            Origin::Lublin(_) => None,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LogFile {
    pub path: String,
    /// XXH3-128 of its uncompressed bytes, in hexadecimal.
    pub hash: String,
    pub strict: bool,
}

words! {
    /// Assignment of jobs to users.
    #[derive(Default)]
    Deal {
        /// All jobs of a group, by its number, go to one user.
        Group = "group",
        /// All jobs of a user of the log, by number, go to one user.
        User = "user",
        /// Jobs go to the users in turn.
        #[default]
        RoundRobin = "round-robin",
    }
}

words! {
    /// Requested times of jobs.
    #[derive(Default)]
    Walltimes {
        /// The times that the log records.
        #[default]
        Recorded = "recorded",
        /// The run times, without any error: a job that its log cut off at its request runs as long as that.
        Exact = "exact",
    }
}

pub const SWF: SourceRow = SourceRow {
    name: "swf",
    about: "rigid jobs of a log in the Standard Workload Format",
    read: |w, context| Source::Rigid(Rigids::read_settings(Origin::Swf(LogFile::default()), w, context)),
};

pub const BATSIM: SourceRow = SourceRow {
    name: "batsim",
    about: "rigid jobs of a Batsim workload, those with delays",
    read: |w, context| Source::Rigid(Rigids::read_settings(Origin::Batsim(LogFile::default()), w, context)),
};

pub const SACCT: SourceRow = SourceRow {
    name: "sacct",
    about: "rigid jobs of a dump of Slurm's accounting, as sacct -P writes it",
    read: |w, context| {
        Source::Rigid(Rigids::read_settings(Origin::Sacct(LogFile::default(), sacct::Form::default()), w, context))
    },
};

pub const SLURM_EVENTS: SourceRow = SourceRow {
    name: "slurm-events",
    about: "rigid jobs of a file of events for the Slurm simulator of the University at Buffalo",
    read: |w, context| {
        Source::Rigid(Rigids::read_settings(
            Origin::SlurmEvents(LogFile::default(), sacct::SizeIn::default()),
            w,
            context,
        ))
    },
};

pub const LUBLIN: SourceRow = SourceRow {
    name: "lublin",
    about: "rigid jobs of the model of Lublin and Feitelson",
    read: |w, context| {
        Source::Rigid(Rigids::read_settings(Origin::Lublin(Lublin::with_defaults(context).into()), w, context))
    },
};

/// Number of jobs below which a mean over the jobs of a window says little.
const FEW_JOBS: usize = 100;

/// Time after the last job of a log that a window may still hold.
const LATE: Span = Span::from_secs(86_400);

impl Rigids {
    /// Memory of the dual-core nodes of HPC2N, in kB.
    pub const NODE_KILOBYTES: u64 = 2 << 20;

    /// The jobs of a log in a window, with their needs.
    pub fn of_log(trace: Trace, window: Window, needs: needs::Rule, node_kilobytes: u64) -> Rigids {
        let content = Box::new(Content::of_trace(trace, window));
        let count = content.jobs.len() as u32;
        let usual = Rigids::with_defaults(Origin::Swf(LogFile::default()));
        let mut rigids = Rigids { needs, node_kilobytes, window, count, content, ..usual };
        rigids.shape();
        rigids
    }

    fn read_settings(origin: Origin, w: &mut dyn Walk, context: &Context<'_>) -> Rigids {
        let mut rigids = Rigids::with_defaults(origin);
        rigids.walk_settings(w, context);
        rigids
    }

    /// Defaults, before any job is known.
    pub fn with_defaults(origin: Origin) -> Rigids {
        Rigids {
            origin,
            deal: Deal::default(),
            site: None,
            utilisation: None,
            terms: None,
            follow: true,
            data: Data::default(),
            overestimate_millionths: MILLION,
            walltimes: Walltimes::default(),
            needs: needs::Rule::default(),
            node_kilobytes: Rigids::NODE_KILOBYTES,
            window: Window::default(),
            rate_millionths: None,
            delay: Span::ZERO,
            count: 0,
            content: Box::default(),
        }
    }

    /// Sentence on a window that holds few jobs which count, or that reaches beyond its log; None for any other.
    pub fn window_note(&self) -> Option<String> {
        let Window { from, to, .. } = self.window;
        let to = to?;
        let content = &self.content;
        let jobs = content.counted.and_then(|part| part.places).map_or(content.jobs.len(), |(a, b)| (b - a) as usize);
        let file_end = content.file_end.since(Time::ZERO);
        let few = (jobs < FEW_JOBS).then(|| {
            format!("has only {} that count, and a mean of so few says little", format_counted(jobs as u64, "job"))
        });
        let beyond = (to > file_end + LATE).then(|| {
            format!(
                "reaches beyond the log, whose last job is submitted after {}",
                format_span(file_end.micros() as f64 / 1e6)
            )
        });
        let notes: Vec<String> = few.into_iter().chain(beyond).collect();
        (!notes.is_empty()).then(|| format!("the window {from} to {to} {}", notes.join("; it ")))
    }

    /// True if some job may wait for the end of another one.
    pub fn has_followers(&self) -> bool {
        self.follow && self.content.jobs.heads().any(|job| job.follows)
    }
}

impl JobSource for Rigids {
    fn source_name(&self) -> &'static str {
        match self.origin {
            Origin::Swf(_) => SWF.name,
            Origin::Batsim(_) => BATSIM.name,
            Origin::Sacct(..) => SACCT.name,
            Origin::SlurmEvents(..) => SLURM_EVENTS.name,
            Origin::Lublin(_) => LUBLIN.name,
        }
    }

    fn walk_settings(&mut self, w: &mut dyn Walk, context: &Context<'_>) {
        match &mut self.origin {
            Origin::Lublin(lublin) => lublin.walk(w, context),
            _ => self.walk_log(w, context),
        }
        walk_delay(&mut self.delay, w);
        let deal = key("deal", "the distribution of rigid jobs to users");
        let one_by_one = "users take turns here: only for a queue, or to bargain, may one user have certain jobs";
        w.set(deal.only_if(context.followers, one_by_one), &mut self.deal, Deal::ALL);
        let site = key("site", "the only site that these jobs go to").usual("all sites");
        let anywhere = "these jobs go where they are given a place: only queues are chosen, and sites to bargain with";
        w.set(site.only_if(context.followers, anywhere), &mut self.site, Maybe(context.site()));
        let about = "the offered load: the work of the jobs as a share of what the cores of `site`, or of all sites, \
                     can do in the period in which they arrive. Jobs of a log are used twice, a week apart, or left \
                     out; jobs of a model arrive faster or more slowly";
        let share = Millionths::above_zero(1).with_condition("a share above 0, up to 1", |share: &u64| *share > 0);
        let share = share.map_values(
            |share: u64| NonZeroU32::new(share as u32).expect("it is no zero"),
            |share: &NonZeroU32| share.get().into(),
        );
        w.set(key("utilisation", about).usual("unchanged"), &mut self.utilisation, Maybe(share));
        let factor =
            Millionths::from(1.0, 1_000).with_condition("a factor of at least 1", |factor: &u64| *factor >= MILLION);
        let walltimes = key("walltimes", "the requested times of the jobs").usual("`\"recorded\"`");
        w.set(walltimes, &mut self.walltimes, Unless(Walltimes::ALL, Walltimes::Recorded));
        let overestimate =
            key("overestimate", "the walltime of jobs that request none, as a multiple of their run time");
        w.set(overestimate, &mut self.overestimate_millionths, factor);
        self.walk_terms(w, context);
        self.walk_needs(w);
        self.data.walk(w, context);
        self.data.check([], w);
        if let Some(fields) = w.written_fields() {
            self.select_jobs(fields, context);
        }
    }

    fn jobs_in_all(&self) -> u64 {
        self.count.into()
    }

    fn prepared_jobs(&self) -> Option<Vec<u8>> {
        if self.content.missing.is_none() { self.content.prepared() } else { None }
    }

    fn tasks_in_all(&self) -> u64 {
        self.count.into()
    }

    fn create_jobs(&self, _: &Platform, _: Span) -> Result<Vec<Job>, WorkloadError> {
        let mut jobs = Vec::with_capacity(self.content.jobs.len());
        self.hand_out(&mut Numbering::default(), 1, |handed| {
            jobs.push(handed.job);
            Ok::<_, WorkloadError>(())
        })?;
        Ok(jobs)
    }

    /// Requests that are ready at once and have the deadlines of their terms.
    fn create_requests(&self) -> Result<Vec<(Job, ListedRequest)>, WorkloadError> {
        let mut requests = Vec::with_capacity(self.content.jobs.len());
        self.hand_out(&mut Numbering::default(), 1, |Handed { place, job, .. }| {
            let task = job.tasks[0];
            let within = self.terms.as_ref().map_or(task.walltime, |terms| terms.of(place as usize, &task).within);
            let arrive = job.arrive;
            let duration = task.walltime;
            let nodes = task.cores;
            let request = Request { arrive, ready: arrive, duration, deadline: arrive + within, nodes };
            let volumes = self.data.each;
            let shapes = Vec::new();
            let ask = ListedRequest { request, runtime: task.runtime, cancel: None, volumes, shapes };
            requests.push((job, ask));
            Ok::<_, WorkloadError>(())
        })?;
        Ok(requests)
    }

    fn job_needs(&self, place: usize) -> Option<Needs> {
        self.content.shapes.get(place).map(|shape| shape.needs)
    }

    /// Equal data volumes for each of its jobs.
    fn job_staging(&self, _: usize) -> Option<Staging> {
        self.data.of(self.data.each)
    }

    fn request_list(&self) -> RequestList {
        let Content { jobs, requests, names, .. } = &*self.content;
        match requests.is_empty() {
            true => RequestList::None,
            false => RequestList::Log { jobs: jobs.clone(), requests: requests.clone(), names: names.clone() },
        }
    }

    fn describe_jobs(&self) -> (&'static str, String) {
        let from = match self.origin.log() {
            Some(log) => format!("of {}", log.path),
            None => "of the model of Lublin and Feitelson".to_owned(),
        };
        ("job", from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::JobId;
    use crate::workload::{Fault, Numbering, WorkloadError, faults_by_kind, swf};

    const LOG: &str = "\
1 100 -1 10 1 -1 -1 1 20 -1 1 7 1 -1 -1 -1 -1 -1
2 110 -1 10 1 -1 -1 1 -1 -1 1 8 2 -1 -1 -1 1 5
3 120 -1 -1 1 -1 -1 1 20 -1 5 8 2 -1 -1 -1 -1 -1
4 130 -1 10 0 -1 -1 -1 20 -1 1 9 3 -1 -1 -1 -1 -1
5 140 -1 10 1 -1 -1 1 20 -1 1 9 3 -1 -1 -1 3 5
6 150 -1 10 1 -1 -1 1 20 -1 1 9 3 -1 -1 -1 9 5
7 160 -1 10 1 -1 -1 1 20 -1 1 9 3 -1 -1 -1 -1 -1
";

    fn rigids(window: Window, deal: Deal) -> Rigids {
        let content = Box::new(Content::of_trace(swf::read_log(LOG.as_bytes()).unwrap(), window));
        let file = LogFile { path: "log.swf".into(), hash: String::new(), strict: false };
        let count = content.jobs.len() as u32;
        let usual = Rigids::with_defaults(Origin::Swf(file));
        Rigids { deal, overestimate_millionths: 1_500_000, window, count, content, ..usual }
    }

    #[test]
    fn jobs_that_cannot_run_are_counted_and_listed() {
        let Content { jobs, faults, outside, last_number, .. } = *rigids(Window::default(), Deal::Group).content;
        assert_eq!(jobs.iter().map(|job| job.number).collect::<Vec<_>>(), [1, 2, 5, 6, 7]);
        assert_eq!((faults.left_out, faults.released, outside, last_number), (2, 2, 0, 9));
        let few = faults.to_string();
        assert!(
            few.contains("\n  job 5: ") && !few.contains("\n  job 6: ") && few.contains("\n  and 1 more\n"),
            "{few}"
        );
        assert_eq!(
            format!("{faults:#}"),
            "2 left out, 0 put in order, 2 without the job that they follow\n  \
             job 3: its run time is unknown\n  \
             job 4: its number of processors is unknown\n  \
             job 5: job 3 does not precede it, so it is submitted at its own time\n  \
             job 6: job 9 does not precede it, so it is submitted at its own time\n  \
             1 job requesting no time taken to request `overestimate` times their run time"
        );
    }

    #[test]
    fn a_part_of_a_window_counts() {
        let window = Window {
            from: Span::from_secs(100),
            to: Some(Span::from_secs(170)),
            warm_up: Span::from_secs(15),
            cool_down: Span::from_secs(12),
            ..Window::default()
        };
        // Jobs 1, 2, 5, 6 and 7 are submitted after 0, 10, 40, 50 and 60 s.
        let mut content = *rigids(window, Deal::Group).content;
        content.count_part(window, None);
        let part = content.counted.unwrap();
        assert_eq!((part.times.0.micros(), part.times.1.micros(), part.places), (15_000_000, 58_000_000, Some((2, 4))));
        // Times of a log are those of the log, however much faster its jobs arrive.
        content.accelerate(2_000_000);
        content.count_part(window, Some(2_000_000));
        let part = content.counted.unwrap();
        assert_eq!((part.times.0.micros(), part.times.1.micros(), part.places), (7_500_000, 29_000_000, Some((2, 4))));
        content.count_part(Window { warm_up: Span::ZERO, cool_down: Span::ZERO, ..window }, None);
        assert_eq!(content.counted, None);
    }

    #[test]
    fn faults_of_one_kind_are_one_line() {
        let fault = |place: &str, what: &str| Fault { place: place.to_owned(), what: what.to_owned() };
        let faults = [fault("job 3", "unknown"), fault("line 9", "too short"), fault("job 7", "unknown")];
        let all = (vec!["jobs 3, 7: unknown".to_owned(), "line 9: too short".to_owned()], 3);
        assert_eq!(faults_by_kind(&faults, 3), all);
        assert_eq!(faults_by_kind(&faults, 1), (vec!["jobs 3, 7: unknown".to_owned()], 2));
        let unlike = [fault("job 3", "unknown"), fault("line 9", "unknown")];
        assert_eq!(faults_by_kind(&unlike, 3).0, ["job 3, line 9: unknown"]);
    }

    #[test]
    fn followers_stay_with_the_user_of_the_job_ahead() {
        let rigids = rigids(Window::default(), Deal::Group);
        let mut handed = Vec::new();
        let take = |one| {
            handed.push(one);
            Ok::<_, WorkloadError>(())
        };
        rigids.hand_out(&mut Numbering { job: 10, task: 20 }, 3, take).unwrap();
        let seen: Vec<_> = handed.iter().map(|one| (one.job.id.0, one.job.first_task, one.user, one.after)).collect();
        let after = Some((JobId(10), Span::from_secs(5)));
        assert_eq!(
            seen,
            [(10, 20, 1, None), (11, 21, 1, after), (12, 22, 0, None), (13, 23, 0, None), (14, 24, 0, None)]
        );
        // Job 2 has no requested time.
        assert_eq!(handed[1].job.tasks[0].walltime, Span::from_secs(15));
        assert_eq!(handed[0].job.tasks[0].walltime, Span::from_secs(20));
    }

    #[test]
    fn a_window_is_cut_out_and_begins_at_zero() {
        let window =
            Window { from: Span::from_secs(105), to: Some(Span::from_secs(160)), jobs: Some(2), ..Window::default() };
        let Content { jobs, outside, .. } = *rigids(window, Deal::RoundRobin).content;
        let seen: Vec<_> = jobs.iter().map(|job| (job.number, job.submit.micros() / 1_000_000)).collect();
        assert_eq!((seen, outside), (vec![(2, 5), (5, 35)], 3));
    }

    #[test]
    fn jobs_that_exceed_the_range_of_time_are_refused() {
        let line = |number: u64| format!("{number} 0 -1 9000000000 1 -1 -1 1 9000000000 -1 1 1 1 -1 -1 -1 -1 -1\n");
        let text: String = (1..=1000).map(line).collect();
        let content = Content::of_trace(swf::read_log(text.as_bytes()).unwrap(), Window::default());
        assert!(!content.is_bearable(1_000_000));
        assert!(rigids(Window::default(), Deal::Group).content.is_bearable(1_000_000));
    }
}
