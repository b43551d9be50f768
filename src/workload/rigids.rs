//! Rigid jobs of a log or a model, as a batch queue gets them: which of them, who submits each, and what each asks for.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use serde::Serialize;
use xxhash_rust::xxh3::xxh3_128;

use super::lublin::Lublin;
use super::needs::{self, Shape};
use super::packed::Packed;
use super::raise::{Bulk, raised, utilisation};
use super::reservations::Ask;
use super::rigid::{Faults, Rigid, Trace};
use super::staging::Data;
use super::terms::Terms;
use super::{Numbering, Row, Source, Supply, WorkloadError, batsim, swf};
use crate::grid::{Job, JobId, Kind, Needs, Request, Staging, Task};
use crate::settings::units::MILLION;
use crate::settings::{
    Context, Field, Fields, FilePath, Flag, FormExt, Layout, Maybe, Millionths, Purpose, SPAN, Text, Unless, Walk, key,
};
use crate::time::{Span, Time};
use crate::words::words;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rigids {
    pub origin: Origin,
    pub deal: Deal,
    /// An index into the topology's sites: the only site that these jobs go to.
    pub site: Option<usize>,
    /// The share of the processors there that they are to use while they come, in millionths, if it is not to be what
    /// it is.
    pub utilisation: Option<NonZeroU32>,
    /// What they are worth and when they are wanted, if anybody says so.
    pub terms: Option<Terms>,
    /// Whether they wait for the jobs that their log says they follow.
    pub follow: bool,
    pub data: Data,
    /// What jobs ask for that say nothing, as a multiple of their run time, in millionths.
    pub overestimate_millionths: u64,
    /// How it is found out what tasks need of their nodes, and how much memory a node has.
    pub needs: needs::Rule,
    pub node_kilobytes: u64,
    pub window: Window,
    /// How many jobs there are to run.
    pub count: u32,
    #[serde(skip)]
    pub content: Box<Content>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    Swf(LogFile),
    Batsim(LogFile),
    Lublin(Box<Lublin>),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LogFile {
    pub path: String,
    /// XXH3-128 of its bytes, uncompressed, in hexadecimal.
    pub hash: String,
    pub strict: bool,
}

words! {
    /// Who submits a job.
    #[derive(Default)]
    Deal {
        /// All jobs of a group, by its number, go to one user.
        Group = "group",
        /// All jobs of a user of the log, by number, go to one user.
        User = "user",
        /// One job after another goes to one user after another.
        #[default]
        RoundRobin = "round-robin",
    }
}

/// Which jobs are meant; times then count from the start of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Window {
    pub from: Span,
    pub to: Option<Span>,
    /// Only so many, the first ones.
    pub jobs: Option<u32>,
}

/// The jobs themselves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Content {
    pub jobs: Arc<Packed>,
    /// What each is as tasks that share nodes; none of them, if all tasks have nodes to themselves.
    pub shapes: Arc<Vec<Shape>>,
    /// Jobs of whose memory nobody knows, where it matters.
    pub without_memory: u64,
    /// The names of what they do, where they have such.
    pub profiles: Arc<Vec<String>>,
    /// What they are called in their file, by their numbers, where that is something else.
    pub ids: Arc<BTreeMap<u64, String>>,
    pub faults: Faults,
    /// Jobs outside of the window.
    pub outside: u64,
    /// Why they are not here.
    pub missing: Option<String>,
}

/// A job with its number in the run, and who submits it when.
#[derive(Clone, Debug, PartialEq)]
pub struct Handed {
    /// Its place in the workload.
    pub place: u32,
    pub job: Job,
    /// The place of its user among those of the workload.
    pub user: usize,
    /// It is submitted once that job is over, and this long after it.
    pub after: Option<(JobId, Span)>,
}

pub const SWF: Row = Row {
    name: "swf",
    about: "rigid jobs of a log in the Standard Workload Format",
    read: |w, context| Source::Rigid(Rigids::read(Origin::Swf(LogFile::default()), w, context)),
};

pub const BATSIM: Row = Row {
    name: "batsim",
    about: "rigid jobs of a Batsim workload, those with delays",
    read: |w, context| Source::Rigid(Rigids::read(Origin::Batsim(LogFile::default()), w, context)),
};

pub const LUBLIN: Row = Row {
    name: "lublin",
    about: "rigid jobs of the model of Lublin and Feitelson",
    read: |w, context| Source::Rigid(Rigids::read(Origin::Lublin(Lublin::usual(context).into()), w, context)),
};

const LOG: &str = "a log of jobs";

impl Rigids {
    /// What the dual-core nodes of HPC2N had, whose log it is.
    pub const NODE_KILOBYTES: u64 = 2 << 20;

    /// What of a log is to be run, with what its jobs need.
    pub fn of_log(trace: Trace, window: Window, needs: needs::Rule, node_kilobytes: u64) -> Rigids {
        let content = Box::new(Content::of(trace, window));
        let count = content.jobs.len() as u32;
        let (origin, deal, overestimate_millionths) = (Origin::Swf(LogFile::default()), Deal::default(), MILLION);
        let mut rigids = Rigids {
            origin,
            deal,
            site: None,
            utilisation: None,
            terms: None,
            follow: true,
            data: Data::default(),
            overestimate_millionths,
            needs,
            node_kilobytes,
            window,
            count,
            content,
        };
        rigids.shape();
        rigids
    }

    fn read(origin: Origin, w: &mut dyn Walk, context: &Context<'_>) -> Rigids {
        let (window, content) = (Window::default(), Box::default());
        let mut rigids = Rigids {
            origin,
            deal: Deal::default(),
            site: None,
            utilisation: None,
            terms: None,
            follow: true,
            data: Data::default(),
            overestimate_millionths: MILLION,
            needs: needs::Rule::default(),
            node_kilobytes: Rigids::NODE_KILOBYTES,
            window,
            count: 0,
            content,
        };
        rigids.walk(w, context);
        rigids
    }

    fn walk_log(&mut self, w: &mut dyn Walk, context: &Context<'_>) {
        let about = "whether a job waits for the one that its log says it follows";
        w.set(key("follow", about), &mut self.follow, Flag);
        let Rigids { origin: Origin::Swf(log) | Origin::Batsim(log), window, count, .. } = self else { return };
        let LogFile { path, hash, strict } = log;
        // What a resolved topology says about a log that may be elsewhere.
        let (mut said_hash, mut said_count) =
            if w.writes() { (Some(hash.clone()), Some(*count)) } else { (None, None) };
        // The same log is the same meaning, wherever it lies.
        w.set(key("file", "").need(LOG).aside(), path, FilePath("the path of a log of jobs"));
        let in_file = key("hash", "of the uncompressed content")
            .means("the hash that the uncompressed file must have")
            .usual("that of the file");
        w.set(in_file, &mut said_hash, Maybe(Text("the hash of the log")));
        let count = key("count", "the number of its jobs that run").usual("what is in the file");
        w.set(count, &mut said_count, Maybe(1..=u32::MAX));
        w.set(key("strict", "whether any fault in it is an error"), strict, Flag);
        let from = key("from", "jobs submitted before this are left out; it becomes time zero");
        w.set(from, &mut window.from, SPAN);
        let to = key("to", "jobs submitted at this time or later are left out").usual("no end");
        w.set(to, &mut window.to, Maybe(SPAN));
        let jobs = key("jobs", "at most, the first ones").means("only the first ones, up to this number").usual("all");
        w.set(jobs, &mut window.jobs, Maybe(1..=u32::MAX));
        let Some(fields) = w.fields() else { return };
        if window.to.is_some_and(|to| to <= window.from) {
            fields.complain("expected `to` after `from`".to_owned());
        }
        self.open(fields, said_hash, said_count, context);
    }

    /// Takes the jobs from the file, or what is said of it if it is not here.
    fn open(&mut self, fields: &Fields<'_>, hash: Option<String>, count: Option<u32>, context: &Context<'_>) {
        let Rigids { origin: Origin::Swf(log) | Origin::Batsim(log), .. } = self else { return };
        let Some(field) = fields.get("file") else { return };
        let Some((path, read)) = context.attached.get(&field.place()) else { return };
        log.path.clone_from(path);
        match (read, hash, count) {
            (Ok(bytes), hash, _) => {
                log.hash = format!("{:032x}", xxh3_128(bytes));
                if hash.is_some_and(|hash| hash != log.hash) {
                    field.complain(format!("{path} has changed: its hash is {}", log.hash));
                }
                let strict = log.strict;
                *self.content = self.jobs_of(&field, path, bytes);
                let faults = &self.content.faults;
                if strict && !faults.is_empty() {
                    field.complain(format!("{path}, as it is read strictly: {faults}"));
                }
            }
            (Err(reason), Some(hash), Some(count)) => {
                log.hash = hash;
                self.count = count;
                self.content.missing = Some(format!("cannot read {path}: {reason}"));
            }
            (Err(reason), ..) => field.complain(format!("cannot read {path}: {reason}")),
        }
    }

    fn jobs_of(&self, field: &Field<'_>, path: &str, bytes: &[u8]) -> Content {
        let trace = match self.origin {
            Origin::Batsim(_) => batsim::read(bytes).map_err(|error| error.to_string()),
            Origin::Swf(_) | Origin::Lublin(_) => swf::read(bytes).map_err(|error| error.to_string()),
        };
        let content = match trace {
            Ok(trace) => Content::of(trace, self.window),
            Err(what) => {
                field.complain(format!("{path}: {what}"));
                return Content::default();
            }
        };
        if content.jobs.is_empty() {
            let Content { faults, outside, .. } = &content;
            let why = match (outside, faults.is_empty()) {
                (0, true) => String::new(),
                (0, false) => format!(": {faults}"),
                (_, true) => format!(": {outside} are outside of the selected part"),
                (_, false) => format!(": {outside} are outside of the selected part, and of the others {faults}"),
            };
            field.complain(format!("{path} has no job to run{why}"));
        }
        content
    }

    /// What they are worth, and whom they follow.
    fn walk_terms(&mut self, w: &mut dyn Walk, context: &Context<'_>) {
        let terms = key("terms", "")
            .means("what these jobs are worth to their users, and when they are wanted, drawn by a rule");
        let terms = terms.usual("nothing").expects("a table such as { deadline = [2.0, 8.0] }, or {}");
        w.maybe(terms, Layout::Inline, &mut self.terms, || Terms::usual(context), |terms, w| terms.walk(w, context));
        let Some(fields) = w.fields() else { return };
        if context.deadlines && self.terms.is_none() && !fields.has("terms") {
            fields
                .missing("terms", "when these jobs are wanted, as a reservation has a deadline: {} for the usual rule");
        }
        let followers = self.content.jobs.iter().filter(|job| job.preceding.is_some()).count();
        if !context.followers && self.follow && followers > 0 {
            let message = format!(
                "{followers} of these jobs follow others, but only jobs that queue wait for the job that they follow: \
                 add `follow = false`, and each is submitted at its own time"
            );
            fields.findings().add(fields.complaint("follow", message));
        }
    }

    /// What jobs need of their nodes.
    fn walk_needs(&mut self, w: &mut dyn Walk) {
        let Rigids { origin, needs, node_kilobytes, .. } = self;
        let draws = matches!(origin, Origin::Lublin(_)) || w.purpose() == Purpose::List;
        let rule = needs::Rule::ALL.that("whole or dual-core: memory is drawn only for jobs of a model", |rule| {
            draws || *rule != needs::Rule::QuadCore
        });
        let about = "what tasks need of their nodes, at sites whose nodes are shared";
        w.set(key("needs", about).usual("`\"whole\"`"), needs, Unless(rule, needs::Rule::Whole));
        // No other source tells of memory.
        if !matches!(origin, Origin::Swf(_)) {
            return;
        }
        let fits = w.purpose() == Purpose::List || *needs == needs::Rule::DualCore;
        let node = key("node_kilobytes", "the memory of a node in the units of the log");
        let node = node.only_if(fits, "expected also needs = \"dual-core\"");
        w.set(node, node_kilobytes, 1..=u64::MAX >> 11);
    }

    /// Finds out what the jobs need.
    fn shape(&mut self) {
        let Content { jobs, shapes, without_memory, .. } = &mut *self.content;
        let known = "jobs that cannot be run have been left out";
        match (self.needs, &self.origin) {
            (needs::Rule::QuadCore, Origin::Lublin(lublin)) => {
                let tasks: Vec<u32> = jobs.iter().map(|job| job.nodes().expect(known)).collect();
                let needs = needs::quad_core(lublin.seed, tasks.iter().copied());
                *shapes = Arc::new(tasks.iter().zip(needs).map(|(&tasks, needs)| Shape { tasks, needs }).collect());
            }
            (needs::Rule::DualCore, _) => {
                let shape = |job: Rigid| needs::dual_core(&job, self.node_kilobytes).expect(known);
                *shapes = Arc::new(jobs.iter().map(shape).collect());
                *without_memory = jobs.iter().filter(|job| !needs::tells_memory(job)).count() as u64;
            }
            (needs::Rule::Whole | needs::Rule::QuadCore, _) => {}
        }
    }

    /// Settles which jobs there are, once all has been read.
    fn settle(&mut self, fields: &Fields<'_>, context: &Context<'_>) {
        if let Origin::Lublin(lublin) = &self.origin {
            let trace = Trace { jobs: lublin.generate(), ..Trace::default() };
            *self.content = Content::of(trace, Window::default());
        }
        if let Some(share) = self.utilisation.filter(|_| !self.content.jobs.is_empty()) {
            let site = self.site.and_then(|site| context.cores.get(site)).map(|cores| u64::from(*cores));
            let target = f64::from(share.get()) / MILLION as f64;
            self.load(target, site.unwrap_or(context.cores_in_all).max(1), fields, context.seed);
        }
        if !self.content.is_bearable(self.overestimate_millionths) {
            fields.complain("the total run time of the jobs is longer than time can be counted".to_owned());
        }
        if self.content.missing.is_none() {
            self.count = self.content.jobs.len() as u32;
        }
        self.shape();
    }
}

impl Rigids {
    /// Lets the jobs use this share of so many cores while they come.
    fn load(&mut self, target: f64, cores: u64, fields: &Fields<'_>, seed: u64) {
        let jobs = self.content.weighed();
        let end = jobs.last().map_or(Time::ZERO, |job| job.submit) + Span::from_micros(1);
        let raised = match self.origin {
            Origin::Lublin(_) => {
                let faster = target / utilisation(&jobs, cores);
                let submit = |job: &Weighed| Time::from_micros((job.submit.micros() as f64 / faster) as u64);
                jobs.into_iter().map(|job| Weighed { submit: submit(&job), ..job }).collect()
            }
            Origin::Swf(_) | Origin::Batsim(_) => raised(&jobs, cores, target, end, seed),
        };
        let reached = utilisation(&raised, cores);
        let Some(field) = fields.get("utilisation").filter(|_| reached < (1.0 - NEAR_LOAD) * target) else {
            self.content.jobs = Arc::new(raised.iter().map(|job| job.among(&self.content.jobs)).collect());
            return;
        };
        field.complain(format!("even if all jobs are used twice, they use only {reached:.3} of {cores} cores"));
    }
}

/// How far a load may be below what was wanted, as a share of it: jobs are whole.
const NEAR_LOAD: f64 = 0.05;

/// What has to be known of a job to choose among them, or to let it come a second time.
#[derive(Clone, Copy, Debug)]
pub struct Weighed {
    place: u32,
    is_copy: bool,
    submit: Time,
    work: u128,
}

impl Weighed {
    fn of((place, job): (u32, Rigid)) -> Weighed {
        let (nodes, runs) = (job.nodes().unwrap_or(0), job.runs_for().unwrap_or_default());
        let work = u128::from(nodes) * u128::from(job.walltime().map_or(runs, |asked| runs.min(asked)).micros());
        Weighed { place, is_copy: false, submit: job.submit, work }
    }

    /// The whole job. One that comes again is a job of its own, that follows nobody.
    fn among(&self, jobs: &Packed) -> Rigid {
        let job = Rigid { submit: self.submit, ..jobs.get(self.place as usize).expect("it is one of them") };
        if !self.is_copy {
            return job;
        }
        Rigid { number: job.number | COPIED, preceding: None, think: None, ..job }
    }
}

impl Bulk for Weighed {
    fn submit(&self) -> Time {
        self.submit
    }

    fn work(&self) -> u128 {
        self.work
    }

    fn later(&self, by: Span) -> Weighed {
        Weighed { is_copy: true, submit: self.submit + by, ..*self }
    }
}

/// In the number of a job that came before.
const COPIED: u64 = 1 << 63;

impl Supply for Rigids {
    fn name(&self) -> &'static str {
        match self.origin {
            Origin::Swf(_) => SWF.name,
            Origin::Batsim(_) => BATSIM.name,
            Origin::Lublin(_) => LUBLIN.name,
        }
    }

    fn walk(&mut self, w: &mut dyn Walk, context: &Context<'_>) {
        match &mut self.origin {
            Origin::Swf(_) | Origin::Batsim(_) => self.walk_log(w, context),
            Origin::Lublin(lublin) => lublin.walk(w, context),
        }
        let deal = key("deal", "which user submits a rigid job");
        let one_by_one = "users take turns here: only for a queue, or to bargain, may one user have certain jobs";
        w.set(deal.only_if(context.followers, one_by_one), &mut self.deal, Deal::ALL);
        let site = key("site", "the only site that these jobs go to").usual("all sites");
        let anywhere = "these jobs go where they are given a place: only queues are chosen, and sites to bargain with";
        w.set(site.only_if(context.followers, anywhere), &mut self.site, Maybe(context.site()));
        let about = "the share of the cores of `site`, or of all sites, that the jobs use during the period in which they arrive: jobs of a log are used twice, a week apart, or left out; jobs of a model arrive faster or more slowly";
        let share = Millionths { most: 1 }.that("a share above 0, up to 1", |share: &u64| *share > 0);
        let share = share.meaning(
            |share: u64| NonZeroU32::new(share as u32).expect("it is no zero"),
            |share: &NonZeroU32| share.get().into(),
        );
        w.set(key("utilisation", about).usual("what it is"), &mut self.utilisation, Maybe(share));
        let factor = Millionths { most: 1_000 }.that("a factor of at least 1", |factor: &u64| *factor >= MILLION);
        let overestimate =
            key("overestimate", "the walltime of jobs that request none, as a multiple of their run time");
        w.set(overestimate, &mut self.overestimate_millionths, factor);
        self.walk_terms(w, context);
        self.walk_needs(w);
        self.data.walk(w, context);
        self.data.check([], w);
        if let Some(fields) = w.fields() {
            self.settle(fields, context);
        }
    }

    fn jobs_in_all(&self) -> u64 {
        self.count.into()
    }

    fn tasks_in_all(&self) -> u64 {
        self.count.into()
    }

    fn told(&self) -> (&'static str, String) {
        let from = match &self.origin {
            Origin::Swf(log) | Origin::Batsim(log) => format!("of {}", log.path),
            Origin::Lublin(_) => "of the model of Lublin and Feitelson".to_owned(),
        };
        ("job", from)
    }
}

impl Content {
    /// What of a log is to be run: jobs that can be, in the window, counted from its start.
    pub fn of(trace: Trace, window: Window) -> Content {
        let Trace { jobs, mut faults, profiles, ids, .. } = trace;
        let start = Time::ZERO + window.from;
        let end = window.to.map_or(Time::NEVER, |to| Time::ZERO + to);
        let all = jobs.len() as u64;
        let mut unrunnable = 0;
        let mut kept = Packed::default();
        for mut job in &jobs {
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
        for follower in lost(&kept) {
            let Rigid { number, preceding, .. } = kept.get(follower).expect("it has been found");
            let preceding = preceding.unwrap_or_default();
            let what = format!("job {preceding} does not precede it, so it is submitted at its own time");
            faults.release(format_args!("job {number}"), what);
        }
        let (jobs, profiles, ids) = (Arc::new(kept), Arc::new(profiles), Arc::new(ids));
        Content { jobs, profiles, ids, faults, outside, ..Content::default() }
    }

    /// What a load is made of.
    pub fn weighed(&self) -> Vec<Weighed> {
        (0..).zip(&*self.jobs).map(Weighed::of).collect()
    }

    /// What is not wrong with them, but should be known.
    pub fn note(&self) -> Option<String> {
        let memory = format!(
            "the memory of {} jobs is unknown; their tasks are assumed to use the minimum",
            self.without_memory
        );
        let memory = (self.without_memory > 0).then_some(memory);
        let notes: Vec<String> = self.faults.note().into_iter().chain(memory).collect();
        (!notes.is_empty()).then(|| notes.join("; "))
    }

    /// Whether no schedule of these jobs comes to where time can no longer be counted.
    pub fn is_bearable(&self, overestimate_millionths: u64) -> bool {
        let last = self.jobs.last().map_or(0, |job| job.submit.micros());
        // Thinking takes time as well.
        let takes = |job: Rigid| {
            u128::from(asks_for(&job, overestimate_millionths).micros()) + u128::from(job.think.map_or(0, Span::micros))
        };
        let all: u128 = self.jobs.iter().map(takes).sum();
        all + u128::from(last) < u128::from(u64::MAX / 4)
    }
}

/// Jobs that name one before them which is not there.
fn lost(jobs: &Packed) -> Vec<usize> {
    let ahead = Ahead::of(jobs);
    let names_one = jobs.iter().enumerate().filter(|(_, job)| job.preceding.is_some());
    names_one.map(|(place, _)| place).filter(|place| ahead.of_job(*place).is_none()).collect()
}

/// For each job the place of the one that it follows, which is always an earlier one.
struct Ahead {
    /// Nothing at all, where nobody follows anybody.
    places: Vec<Option<u32>>,
}

impl Ahead {
    const NOBODY: Ahead = Ahead { places: Vec::new() };

    fn of(jobs: &Packed) -> Ahead {
        if jobs.iter().all(|job| job.preceding.is_none()) {
            return Ahead::NOBODY;
        }
        let mut by_number: Vec<(u64, u32)> = jobs.iter().map(|job| job.number).zip(0..).collect();
        by_number.sort_unstable();
        let place_of = |number: u64| {
            let at = by_number.binary_search_by_key(&number, |one| one.0).ok()?;
            Some(by_number[at].1)
        };
        let of = |(job, place): (Rigid, u32)| place_of(job.preceding?).filter(|before| *before < place);
        Ahead { places: jobs.iter().zip(0..).map(of).collect() }
    }

    fn of_job(&self, place: usize) -> Option<usize> {
        self.places.get(place).copied().flatten().map(|before| before as usize)
    }
}

fn asks_for(job: &Rigid, overestimate_millionths: u64) -> Span {
    job.walltime().unwrap_or_else(|| {
        let runtime = job.runs_for().map_or(0, Span::micros);
        let micros = (u128::from(runtime) * u128::from(overestimate_millionths)).div_ceil(1_000_000);
        Span::from_micros(u64::try_from(micros).unwrap_or(u64::MAX).max(1))
    })
}

impl Rigids {
    /// Hands out all jobs in order of submission, numbered on from `next`, to so many users.
    pub fn hand_out<E: From<WorkloadError>>(
        &self,
        next: &mut Numbering,
        users: usize,
        mut take: impl FnMut(Handed) -> Result<(), E>,
    ) -> Result<(), E> {
        if let Some(why) = &self.content.missing {
            return Err(WorkloadError::Missing(why.clone()).into());
        }
        let first = *next;
        let jobs = &self.content.jobs;
        let ahead = if self.follow { Ahead::of(jobs) } else { Ahead::NOBODY };
        // Who waits for a job must be who hears of its end.
        let mut whose = vec![0u32; ahead.places.len()];
        for (rigid, place) in jobs.iter().zip(0u32..) {
            next.give(1).ok_or(WorkloadError::TooMany)?;
            let job = self.job(&rigid, place, first);
            let key = match self.deal {
                Deal::Group => rigid.group.unwrap_or(0),
                Deal::User => rigid.user.unwrap_or(0),
                Deal::RoundRobin => place,
            };
            let before = ahead.of_job(place as usize);
            let user = before.map_or(key as usize % users.max(1), |before| whose[before] as usize);
            if let Some(mine) = whose.get_mut(place as usize) {
                *mine = user as u32;
            }
            let after = before.map(|before| (first.after(before as u32).0, rigid.think.unwrap_or_default()));
            take(Handed { place, job, user, after })?;
        }
        Ok(())
    }

    /// The job at a place, if the first of them has these numbers.
    pub fn job(&self, rigid: &Rigid, place: u32, first: Numbering) -> Job {
        let (Ok(nodes), Ok(runtime)) = (rigid.nodes(), rigid.runs_for()) else { unreachable!("they were checked") };
        let nodes = self.content.shapes.get(place as usize).map_or(nodes, |shape| shape.tasks);
        let walltime = asks_for(rigid, self.overestimate_millionths);
        let task = Task { runtime, cores: nodes, kind: Kind(0), walltime };
        let worth = self.terms.as_ref().map(|terms| terms.of(place as usize, &task).worth);
        let (id, first_task) = first.after(place);
        Job { id, arrive: rigid.submit, first_task, tasks: vec![task], edges: Vec::new(), worth }
    }

    /// What each task of the job at a place needs of its node, if it does not need all of it.
    pub fn needs(&self, place: u32) -> Option<Needs> {
        self.content.shapes.get(place as usize).map(|shape| shape.needs)
    }

    /// The data that goes with each of them, if any does.
    pub fn staging(&self) -> Option<Staging> {
        self.data.of(self.data.each)
    }

    /// The same as requests for reservations, which are ready at once and have the deadlines of their terms.
    pub fn ask(&self, next: &mut Numbering) -> Result<Vec<(Job, Ask)>, WorkloadError> {
        let mut asks = Vec::with_capacity(self.content.jobs.len());
        self.hand_out(next, 1, |Handed { place, job, .. }| {
            let task = job.tasks[0];
            let within = self.terms.as_ref().map_or(task.walltime, |terms| terms.of(place as usize, &task).within);
            let (arrive, duration, nodes) = (job.arrive, task.walltime, task.cores);
            let request = Request { arrive, ready: arrive, duration, deadline: arrive + within, nodes };
            asks.push((job, Ask { request, runtime: task.runtime, cancel: None, volumes: self.data.each }));
            Ok::<_, WorkloadError>(())
        })?;
        Ok(asks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::swf;

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
        let content = Box::new(Content::of(swf::read(LOG.as_bytes()).unwrap(), window));
        let file = LogFile { path: "log.swf".into(), hash: String::new(), strict: false };
        let count = content.jobs.len() as u32;
        let origin = Origin::Swf(file);
        let (needs, node_kilobytes) = (needs::Rule::Whole, Rigids::NODE_KILOBYTES);
        let overestimate_millionths = 1_500_000;
        Rigids {
            origin,
            deal,
            site: None,
            utilisation: None,
            terms: None,
            follow: true,
            data: Data::default(),
            overestimate_millionths,
            needs,
            node_kilobytes,
            window,
            count,
            content,
        }
    }

    #[test]
    fn what_cannot_be_run_is_counted_and_listed() {
        let Content { jobs, faults, outside, .. } = *rigids(Window::default(), Deal::Group).content;
        assert_eq!(jobs.iter().map(|job| job.number).collect::<Vec<_>>(), [1, 2, 5, 6, 7]);
        assert_eq!((faults.left_out, faults.released, outside), (2, 2, 0));
        assert_eq!(
            faults.to_string(),
            "2 left out, 0 put in order, 2 without the job that they follow\n  \
             job 3: its run time is unknown\n  \
             job 4: its number of processors is unknown\n  \
             job 5: job 3 does not precede it, so it is submitted at its own time\n  \
             job 6: job 9 does not precede it, so it is submitted at its own time\n  \
             1 job requesting no time taken to request `overestimate` times their run time"
        );
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
        // Nobody asked for any time for job 2.
        assert_eq!(handed[1].job.tasks[0].walltime, Span::from_secs(15));
        assert_eq!(handed[0].job.tasks[0].walltime, Span::from_secs(20));
    }

    #[test]
    fn a_window_is_cut_out_and_begins_at_zero() {
        let window = Window { from: Span::from_secs(105), to: Some(Span::from_secs(160)), jobs: Some(2) };
        let Content { jobs, outside, .. } = *rigids(window, Deal::RoundRobin).content;
        let seen: Vec<_> = jobs.iter().map(|job| (job.number, job.submit.micros() / 1_000_000)).collect();
        assert_eq!((seen, outside), (vec![(2, 5), (5, 35)], 3));
    }

    #[test]
    fn jobs_that_last_for_ever_together_are_too_much() {
        let line = |number: u64| format!("{number} 0 -1 9000000000 1 -1 -1 1 9000000000 -1 1 1 1 -1 -1 -1 -1 -1\n");
        let text: String = (1..=1000).map(line).collect();
        let content = Content::of(swf::read(text.as_bytes()).unwrap(), Window::default());
        assert!(!content.is_bearable(1_000_000));
        assert!(rigids(Window::default(), Deal::Group).content.is_bearable(1_000_000));
    }
}
