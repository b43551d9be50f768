//! Reservation requests as drawn in the paper: sizes and arrivals of Lublin's model on a machine with partitions of
//! powers of two, six durations, and ready times and deadlines in proportion to the duration.

use serde::Serialize;

use super::lublin::{Lublin, Sizes, Stream, Times, Types};
use super::malleable::Malleability;
use super::staging::{Data, walk_volumes};
use super::{JobSource, Platform, Source, SourceRow, WorkloadError};
use crate::grid::{Job, JobId, JobShape, Kind, Request, SHAPES_MAX, Staging, Task, Volumes};
use crate::random::{SplitMix64, mix_bits};
use crate::settings::limits::CORES_MAX;
use crate::settings::{
    Context, FormExt, Key, Layout, Maybe, Millionths, Moment, Number, POSITIVE_SPAN, SPAN, Unless, Walk, key,
};
use crate::time::{Span, Time};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RequestGenerator {
    pub seed: u64,
    pub requests: u32,
    /// Largest size of a request.
    pub nodes: u32,
    /// Middle size, as a power of two.
    pub size: f64,
    /// Largest size, as a power of two; sizes between the two are rare.
    pub size_max: f64,
    /// Acceleration of arrivals, in millionths.
    pub rate_millionths: u64,
    /// Longest advance of the ready time before arrival, in durations and millionths.
    pub ahead_millionths: u64,
    /// Longest slack of deadlines, in durations and millionths.
    pub slack_millionths: u64,
    /// Smallest fraction of its time that a request really uses, in millionths; uniform up to 1.
    pub used_millionths: u64,
    /// Further shapes of each request.
    #[serde(skip_serializing_if = "Malleability::is_none")]
    pub malleability: Malleability,
    /// Constants of the model that differ from its own.
    pub times: Times,
    pub data: Data,
}

/// A request with its real run time, its cancellation if there is one, and its shapes if there are several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedRequest {
    pub request: Request,
    pub runtime: Span,
    pub cancel: Option<Time>,
    pub volumes: Volumes,
    /// All shapes, the first being that of the request; empty if it has only that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shapes: Vec<JobShape>,
}

/// Requests listed one by one; the scheduler decides if they are valid.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RequestList {
    pub data: Data,
    /// Requests in order of arrival.
    pub asks: Vec<ListedRequest>,
}

pub const GENERATED: SourceRow = SourceRow {
    name: "reservations",
    about: "the reservation paper's generator: requests with ready times and deadlines",
    read: |w, context| {
        let mut demand = RequestGenerator::with_defaults(context);
        demand.walk_settings(w, context);
        Source::Reservations(demand)
    },
};

pub const WRITTEN: SourceRow = SourceRow {
    name: "requests",
    about: "a list of requests for reservations",
    read: |w, context| {
        let mut asks = RequestList { data: Data::default(), asks: Vec::new() };
        asks.walk_settings(w, context);
        Source::Requests(asks)
    },
};

const REQUESTS_MAX: u32 = 10_000_000;
/// Range of most settings that are factors.
const FACTOR: Millionths = Millionths::to(1_000);
const POWER: Number = Number::from(0.0, 31.0, "a power of two from 0 to 31, such as 7.0");

impl Default for RequestGenerator {
    /// Defaults of its keys, before the size of a site is known.
    fn default() -> RequestGenerator {
        RequestGenerator {
            seed: 0,
            requests: 1,
            nodes: 0,
            size: 0.0,
            size_max: 0.0,
            rate_millionths: 1_000_000,
            ahead_millionths: 3_000_000,
            slack_millionths: 3_000_000,
            used_millionths: 1_000_000,
            malleability: Malleability::default(),
            times: Times::default(),
            data: Data::default(),
        }
    }
}

impl RequestGenerator {
    fn with_defaults(context: &Context<'_>) -> RequestGenerator {
        RequestGenerator { seed: context.seed, nodes: context.widest(), ..RequestGenerator::default() }
    }
}

impl JobSource for RequestGenerator {
    fn source_name(&self) -> &'static str {
        GENERATED.name
    }

    fn walk_settings(&mut self, w: &mut dyn Walk, context: &Context<'_>) {
        context.walk_seed(&mut self.seed, w);
        let requests = key("requests", "").need("the number of requests to generate");
        w.set(requests, &mut self.requests, 1..=REQUESTS_MAX);
        let nodes = key("nodes", "the largest size of a request").usual("the nodes of the largest site");
        w.set(nodes, &mut self.nodes, 1..=CORES_MAX);
        let size = key("size", "the middle size, as a power of two").usual("`size_max` less 3.0");
        w.set(size, &mut self.size, POWER);
        if w.reads() {
            self.size_max = f64::from(self.nodes.ilog2());
        }
        let size_max = key("size_max", "the largest size, as a power of two").usual("that of `nodes`, rounded down");
        w.set(size_max, &mut self.size_max, POWER);
        if w.lacks("size") {
            // As far below the machine size as on the paper's machine, where the largest is 2^10.
            self.size = (self.size_max - 3.0).max(0.0);
        }
        let rate = key("arrival_factor", "the factor by which requests arrive faster than in the model");
        w.set(
            rate,
            &mut self.rate_millionths,
            FACTOR.with_condition("a number above 0, up to 1000", |rate: &u64| *rate > 0),
        );
        w.set(
            key("ahead", "the largest number of durations between arrival and ready time"),
            &mut self.ahead_millionths,
            FACTOR,
        );
        w.set(
            key("slack", "the largest number of durations between the earliest end and the deadline"),
            &mut self.slack_millionths,
            FACTOR,
        );
        let used = key("used", "the smallest share of its reserved time that a job really uses");
        w.set(used, &mut self.used_millionths, Millionths::to(1));
        self.malleability.walk(w);
        self.times.walk(w);
        self.data.walk(w, context);
        self.data.check([], w);
        if w.reads() {
            self.size_max = self.size_max.max(self.size);
        }
    }

    fn jobs_in_all(&self) -> u64 {
        self.requests.into()
    }

    fn tasks_in_all(&self) -> u64 {
        self.requests.into()
    }

    fn create_jobs(&self, _: &Platform, _: Span) -> Result<Vec<Job>, WorkloadError> {
        Ok(self.listed_requests().iter().map(ListedRequest::job).collect())
    }

    fn create_requests(&self) -> Result<Vec<(Job, ListedRequest)>, WorkloadError> {
        Ok(self.listed_requests().into_iter().map(|request| (request.job(), request)).collect())
    }

    fn job_staging(&self, _: usize) -> Option<Staging> {
        self.data.of(self.data.each)
    }

    fn describe_jobs(&self) -> (&'static str, String) {
        ("request", "generated".to_owned())
    }
}

impl JobSource for RequestList {
    fn source_name(&self) -> &'static str {
        WRITTEN.name
    }

    fn walk_settings(&mut self, w: &mut dyn Walk, context: &Context<'_>) {
        self.data.walk(w, context);
        let each = self.data.each;
        let request =
            key("request", "").means("a request, in order of arrival").need("at least one [[workload.request]]");
        let request = request.each("a table that describes a request");
        let mut before = Time::ZERO;
        w.rows(
            request,
            Layout::Sections("workload.request"),
            &mut self.asks,
            ListedRequest::with_defaults,
            |ask, w| {
                ask.walk(w, before);
                if w.reads() {
                    ask.volumes = each;
                }
                walk_volumes(&mut ask.volumes, Some(each), w, context);
                before = before.max(ask.request.arrive);
            },
        );
        self.data.check(self.asks.iter().map(|ask| ask.volumes), w);
    }

    fn jobs_in_all(&self) -> u64 {
        self.asks.len() as u64
    }

    fn tasks_in_all(&self) -> u64 {
        self.asks.len() as u64
    }

    fn create_jobs(&self, _: &Platform, _: Span) -> Result<Vec<Job>, WorkloadError> {
        Ok(self.asks.iter().map(ListedRequest::job).collect())
    }

    fn create_requests(&self) -> Result<Vec<(Job, ListedRequest)>, WorkloadError> {
        Ok(self.asks.iter().map(|request| (request.job(), request.clone())).collect())
    }

    fn job_staging(&self, place: usize) -> Option<Staging> {
        self.data.of(self.asks.get(place)?.volumes)
    }

    fn describe_jobs(&self) -> (&'static str, String) {
        ("request", "written out in the topology".to_owned())
    }
}

impl ListedRequest {
    fn with_defaults() -> ListedRequest {
        let arrive = Time::ZERO;
        let duration = Span::ZERO;
        let request = Request { arrive, ready: arrive, duration, deadline: arrive, nodes: 1 };
        let shapes = Vec::new();
        ListedRequest { request, runtime: duration, cancel: None, volumes: Volumes::NOTHING, shapes }
    }

    /// The request's job of one task, not numbered yet.
    pub(super) fn job(&self) -> Job {
        let Request { arrive, duration, nodes, .. } = self.request;
        let task = Task { runtime: self.runtime, cores: nodes, kind: Kind(0), walltime: duration };
        Job { id: JobId(0), arrive, first_task: 0, tasks: vec![task], edges: Vec::new(), worth: None, times: None }
    }

    /// Only nonsensical values are errors: the scheduler has its own answer to invalid requests.
    fn walk(&mut self, w: &mut dyn Walk, before: Time) {
        let ListedRequest { request, runtime, cancel, shapes, .. } = self;
        let Request { arrive, ready, duration, deadline, nodes } = request;
        if w.reads() {
            *arrive = before;
        }
        let in_order = Moment.with_condition("requests in order of arrival", |arrive: &Time| *arrive >= before);
        w.set(
            key("arrive", "").means("the time of the request").usual("the arrival of the one before it"),
            arrive,
            in_order,
        );
        if w.reads() {
            *ready = *arrive;
        }
        w.set(key("ready", "the earliest start").usual("the arrival"), ready, Moment);
        let has_shapes = w.written_fields().is_some_and(|fields| fields.has("shapes")) || !shapes.is_empty();
        let duration_key = key("duration", "").need("the time for which the nodes are needed, or shapes");
        w.set(key_of_rigid(duration_key, has_shapes), duration, SPAN);
        let about = "the shapes of a malleable request, from 2 to 16, in place of `duration`, `nodes` and `runtime`";
        let several = key("shapes", about).usual("one shape").expects("a list of shapes").each("a table of a shape");
        w.rows(several, Layout::Lines, shapes, usual_shape, walk_shape);
        if let Some(field) = w.written_fields().and_then(|fields| fields.get("shapes"))
            && let Some(listed) = field.list_items()
            && !(2..=SHAPES_MAX).contains(&listed.len())
        {
            field.complain(format!("expected from 2 to {SHAPES_MAX} shapes, found {}", listed.len()));
        }
        if let Some(field) = w.written_fields().and_then(|fields| fields.get("shapes"))
            && let Some((first, again)) = repeated_shape(shapes)
        {
            field.complain(format!("expected different shapes, but shapes.{first} and shapes.{again} are the same"));
        }
        if w.reads() {
            if let Some(first) = shapes.first() {
                (*nodes, *duration) = (first.nodes, first.duration);
            }
            let longest = shapes.iter().map(|shape| shape.duration).max().unwrap_or(*duration);
            (*deadline, *runtime) = (*ready + longest, shapes.first().map_or(*duration, |first| first.runtime));
        }
        let slack = "no slack: `ready` plus `duration`, or plus the longest one of the shapes";
        w.set(key("deadline", "the latest end").usual(slack), deadline, Moment);
        let nodes_key = key("nodes", "").need("the number of nodes needed, or shapes");
        w.set(key_of_rigid(nodes_key, has_shapes), nodes, 0..=CORES_MAX);
        let longest = *duration;
        let arrive = *arrive;
        let within =
            POSITIVE_SPAN.with_condition("a time within the requested duration", |time: &Span| *time <= longest);
        let really = key("runtime", "the real run time of the job").usual("`duration`");
        w.set(key_of_rigid(really, has_shapes), runtime, Unless(within, Span::ZERO));
        let later = Moment.with_condition("a time that is not before the arrival", |time: &Time| *time >= arrive);
        w.set(key("cancel", "the time at which its user cancels it"), cancel, Maybe(later));
    }
}

fn key_of_rigid(key: Key, has_shapes: bool) -> Key {
    let why = format!("leave {} out: shapes states it", key.name);
    key.only_if(!has_shapes, why)
}

/// The first shape that occurs again, and its next place.
fn repeated_shape(shapes: &[JobShape]) -> Option<(usize, usize)> {
    (0..shapes.len()).find_map(|first| Some((first, next_equal_shape(first, shapes)?)))
}

fn next_equal_shape(first: usize, shapes: &[JobShape]) -> Option<usize> {
    (first + 1..shapes.len()).find(|other| shapes[*other] == shapes[first])
}

fn usual_shape() -> JobShape {
    JobShape { nodes: 1, duration: Span::ZERO, runtime: Span::ZERO }
}

fn walk_shape(shape: &mut JobShape, w: &mut dyn Walk) {
    let JobShape { nodes, duration, runtime } = shape;
    w.set(key("nodes", "").need("the number of nodes needed in this shape"), nodes, 1..=CORES_MAX);
    w.set(key("duration", "").need("the time for which they are needed"), duration, POSITIVE_SPAN);
    if w.reads() {
        *runtime = *duration;
    }
    let longest = *duration;
    let within =
        POSITIVE_SPAN.with_condition("a time within the duration of the shape", |time: &Span| *time <= longest);
    let really = key("runtime", "the real run time of the job in this shape").usual("`duration`");
    w.set(really, runtime, Unless(within, longest));
}

/// All possible durations, in seconds.
const DURATIONS: [u64; 6] = [60, 300, 900, 1_800, 3_600, 10_800];

/// Smallest size of a request, as a power of two before rounding.
const SIZE_MIN: f64 = 4.5;
/// Fraction of requests between the smallest and the middle size.
const SMALL_SHARE: f64 = 0.82;

/// The model's parameters are for a machine with 128 nodes; a larger one scales each of those.
const HABITS_NODES: u32 = 128;

/// A separate stream, so that other ready times and deadlines do not change the jobs.
const SLACK_STREAM: u64 = 0x5_1AC4;
const USE_STREAM: u64 = 0x0_05ED;

impl RequestGenerator {
    /// Requests in order of arrival, with real run times.
    pub fn listed_requests(&self) -> Vec<ListedRequest> {
        let mut random = SplitMix64::new(mix_bits(self.seed ^ USE_STREAM));
        let least = self.used_millionths as f64 / 1e6;
        self.requests()
            .into_iter()
            .map(|request| {
                let used = least + random.unit() * (1.0 - least);
                let seconds = (request.duration.micros() as f64 * used) as u64 / MICROS_PER_SECOND;
                let runtime = Span::from_secs(seconds.max(1)).min(request.duration);
                let shapes = self.malleability.shapes(&request, runtime, self.nodes);
                ListedRequest { request, runtime, cancel: None, volumes: self.data.each, shapes }
            })
            .collect()
    }

    /// Requests in order of arrival.
    pub fn requests(&self) -> Vec<Request> {
        let jobs = Lublin {
            seed: self.seed,
            jobs: self.requests,
            nodes: self.nodes,
            types: Types::One,
            stream: Stream::Own,
            sizes: Sizes {
                serial: Some(0.0),
                pow2: Some(1.0),
                low: Some(SIZE_MIN.min(self.size)),
                med: Some(self.size),
                high: Some(self.size_max),
                prob: Some(SMALL_SHARE),
                unit: Some((self.nodes / HABITS_NODES).max(1)),
            },
            times: self.times.clone(),
            rate_millionths: self.rate_millionths,
        };
        let mut random = SplitMix64::new(mix_bits(self.seed ^ SLACK_STREAM));
        let mut request = |submit: Time, runtime: Span, nodes| {
            let arrive = Time::from_micros(submit.micros() / MICROS_PER_SECOND * MICROS_PER_SECOND);
            let seconds = runtime.micros() / MICROS_PER_SECOND;
            let duration = DURATIONS.into_iter().find(|&class| class >= seconds).unwrap_or(DURATIONS[5]);
            let mut part =
                |millionths: u64| Span::from_secs((random.unit() * duration as f64 * millionths as f64 / 1e6) as u64);
            let ready = arrive + part(self.ahead_millionths);
            let duration = Span::from_secs(duration);
            let deadline = ready + duration + part(self.slack_millionths);
            Request { arrive, ready, duration, deadline, nodes }
        };
        let known = "the model knows run times and sizes";
        let jobs = jobs.generate();
        jobs.iter().map(|job| request(job.submit, job.runtime.expect(known), job.requested.expect(known))).collect()
    }
}

const MICROS_PER_SECOND: u64 = 1_000_000;
