//! The market paper's workload generator: log-uniform sizes, random graphs and value curves, and arrivals that follow
//! the days of a week.
//!
//! The paper gives the distributions; the order of the draws is ours, and determines the meaning of a seed.

mod ranges;
mod week;

use serde::Serialize;
use smallvec::SmallVec;

pub use self::ranges::Ranges;
pub use self::week::Week;
use super::staging::NEEDS_LINKS;
use super::{JobSource, Platform, Source, SourceRow, WorkloadError};
use crate::grid::{Curve, DATA_MAX, Edge, Job, JobId, Kind, LONGEST, Task, Worth};
use crate::random::{LogUniform, SplitMix64};
use crate::settings::limits::{CORES_MAX, TASKS_MAX, TOO_LONG_A_JOB};
use crate::settings::{
    Context, Field, Fields, Fit, Form, FormExt, Number, POSITIVE_SPAN, Pair, Rate, Shape, Unless, Walk, key,
    remark_text,
};
use crate::time::{Span, Time};
use crate::words::words;

/// Parameters of the generator, all as in the specification's section on workloads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Generator {
    pub seed: u64,
    pub jobs: u32,
    pub load: f64,
    pub load_basis: LoadBasis,
    /// Smallest and largest number of tasks of a job.
    pub tasks: (u32, u32),
    /// Smallest and largest total run time of a job, in ticks.
    pub total_runtime: (u64, u64),
    /// Largest number of cores of a task.
    pub cores_max: u32,
    /// The common kind and the other one.
    pub kinds: [Kind; 2],
    pub ranges: Ranges,
    pub week: Week,
    /// Fraction of tasks of the common kind.
    pub kind_share: f64,
    /// Mean of the exponential that, rounded down and plus one, is the number of parents.
    pub degree: f64,
    /// Bits on each edge per second of its task's run time; for links with data transfers, this replaces the paper's
    /// ratio of communication to computation.
    pub output: u64,
}

words! {
    /// Reference of the load of a generated workload.
    LoadBasis {
        /// All cores of the sites that the market uses.
        Total = "total",
        /// The cores of the kind with the highest demand.
        Bottleneck = "bottleneck",
    }
}

pub const ROW: SourceRow = SourceRow {
    name: "market",
    about: "the market paper's generator: random jobs at a given load",
    read: |w, context| {
        let mut generator = Generator::with_defaults(context);
        generator.walk_settings(w, context);
        Source::Market(generator)
    },
};

const JOBS_MAX: u32 = 10_000_000;
/// Shortest and longest run time in ticks, as in the paper.
const USUAL_RUNTIME: (u64, u64) = (10, 200_000);
/// Largest number of cores of a task in the paper.
const USUAL_CORES_MAX: u32 = 100;

impl Default for Generator {
    /// Defaults of its keys, on sites of two kinds.
    fn default() -> Generator {
        Generator {
            seed: 0,
            jobs: 1,
            load: 1.0,
            load_basis: LoadBasis::Total,
            tasks: (5, 20),
            total_runtime: USUAL_RUNTIME,
            cores_max: USUAL_CORES_MAX,
            ranges: Ranges::default(),
            week: Week::default(),
            kinds: [Kind(0), Kind(1)],
            kind_share: 0.8,
            degree: 1.0,
            output: 0,
        }
    }
}

impl Generator {
    fn with_defaults(context: &Context<'_>) -> Generator {
        let second = Kind(u16::from(context.kinds.len() == 2));
        Generator { seed: context.seed, kinds: [Kind(0), second], ..Generator::default() }
    }
}

impl JobSource for Generator {
    fn source_name(&self) -> &'static str {
        ROW.name
    }

    fn walk_settings(&mut self, w: &mut dyn Walk, context: &Context<'_>) {
        context.walk_seed(&mut self.seed, w);
        w.set(key("jobs", "").need("the number of jobs to generate"), &mut self.jobs, 1..=JOBS_MAX);
        let load = Number::above(0.0, 10.0, "a number above 0, up to 10");
        w.set(key("load", "the work offered, as a share of the capacity of the cores"), &mut self.load, load);
        w.set(key("load_basis", "the capacity that `load` is relative to"), &mut self.load_basis, LoadBasis::ALL);
        let tasks = Pair(1..=TASKS_MAX, "the fewest and the most tasks of a job, such as [5, 20]");
        let tasks = tasks.with_condition("the smaller number first", |(fewest, most): &(u32, u32)| fewest <= most);
        w.set(
            key("tasks", "fewest and most of a job").means("the fewest and the most tasks of a job"),
            &mut self.tasks,
            tasks,
        );
        let total = TotalRuntime { tick: context.tick, most_tasks: self.tasks.1 };
        let runtime = key("total_runtime", "of all tasks of a job together")
            .means("the shortest and the longest run time of all tasks of a job together")
            .usual("10 ticks and 200000 ticks");
        w.set(runtime, &mut self.total_runtime, total);
        w.set(key("cores_max", "of a task").means("the most cores of a task"), &mut self.cores_max, 1..=CORES_MAX);
        self.ranges.walk_tasks(self.cores_max, w);
        let kinds = key("kinds", "the usual kind of core and the other kind").usual("the two kinds that there are");
        w.set(kinds, &mut self.kinds, Pair(context.kind(), "the usual kind of core and the other kind"));
        w.set(
            key("kind_share", "of the usual kind").means("the share of tasks that need the usual kind of core"),
            &mut self.kind_share,
            Number::from(0.0, 1.0, "a number from 0 to 1"),
        );
        let degree = Number::from(0.0, 50.0, "a number from 0 to 50");
        w.set(key("degree", "tendency of tasks to have many inputs"), &mut self.degree, degree);
        self.ranges.walk_curves(w);
        self.week.walk(w);
        let output = key("output", "the rate at which tasks write data for each of their edges while they run");
        w.set(output.only_if(context.linked, NEEDS_LINKS), &mut self.output, Unless(Rate, 0));
        if let Some(fields) = w.written_fields() {
            self.check(fields, context);
        }
    }

    fn jobs_in_all(&self) -> u64 {
        self.jobs.into()
    }

    fn tasks_in_all(&self) -> u64 {
        u64::from(self.jobs) * u64::from(self.tasks.1)
    }

    fn create_jobs(&self, platform: &Platform, tick: Span) -> Result<Vec<Job>, WorkloadError> {
        self.generate(platform, tick)
    }

    fn describe_jobs(&self) -> (&'static str, String) {
        let basis = LoadBasis::ALL.iter().find(|(_, basis, _)| *basis == self.load_basis);
        let basis = basis.map_or("the cores".to_owned(), |basis| remark_text(basis.2));
        ("job", format!("generated for a load of {:.1} % of {basis}", self.load * 100.0))
    }
}

impl Generator {
    fn check(&self, fields: &Fields<'_>, context: &Context<'_>) {
        let total = TotalRuntime { tick: context.tick, most_tasks: self.tasks.1 };
        if !fields.has("total_runtime") && total.is_too_long(USUAL_RUNTIME.1) {
            let expected = format!("{TOTAL_RUNTIME}, because the default 200000 ticks would take 285 years");
            fields.missing("total_runtime", &expected);
        }
        let kinds = context.kinds.len();
        if !fields.has("kinds") && kinds > 2 {
            fields.missing("kinds", &format!("which two of the {kinds} kinds of core the tasks use"));
            return;
        }
        self.check_widest(fields, context);
    }

    /// If jobs that fit no site are errors, no task may be too wide.
    fn check_widest(&self, fields: &Fields<'_>, context: &Context<'_>) {
        let Fit::Must(hint) = context.fit else { return };
        let share = self.kind_share;
        let kinds = self.kinds.into_iter().zip([share > 0.0, share < 1.0]);
        let sites = kinds.filter(|(_, used)| *used).filter_map(|(kind, _)| context.largest(kind));
        let Some((name, largest)) = sites.min_by_key(|(_, largest)| *largest) else { return };
        let widest = self.cores_max;
        if widest <= largest {
            return;
        }
        let message = format!("tasks may need {widest} cores, but the largest site of kind {name} has {largest}");
        let mut diagnostic = match fields.get("cores_max") {
            Some(field) => field.diagnostic(message),
            None => fields.diagnostic("cores_max", format!("{message} (`cores_max` is {USUAL_CORES_MAX} by default)")),
        };
        if self.ranges.cores_min <= largest {
            diagnostic = diagnostic.hint(format!("`cores_max = {largest}` is the most that fits"));
        }
        fields.diagnostics().add(diagnostic.hints(hint));
    }
}

const TOTAL_RUNTIME: &str = "the shortest and the longest total run time of a job, such as [\"10 min\", \"2 d\"]";

/// Shortest and longest total run time of a job, in ticks.
struct TotalRuntime {
    tick: Span,
    most_tasks: u32,
}

impl TotalRuntime {
    /// Each task may be rounded up to a tick.
    fn is_too_long(&self, ticks: u64) -> bool {
        u128::from(ticks + u64::from(self.most_tasks)) * u128::from(self.tick.micros()) > u128::from(LONGEST.micros())
    }

    fn ticks(&self, field: &Field<'_>) -> Option<u64> {
        let span = field.positive_span()?;
        let tick = self.tick;
        if !span.micros().is_multiple_of(tick.micros()) {
            return field.report_wrong(format_args!("whole ticks of the market, which last {tick}"));
        }
        Some(span.micros() / tick.micros())
    }
}

impl Form<(u64, u64)> for TotalRuntime {
    fn read_value(&self, field: &Field<'_>) -> Option<(u64, u64)> {
        let pair = field.pair(TOTAL_RUNTIME)?;
        let [Some(shortest), Some(longest)] = pair.each_ref().map(|field| self.ticks(field)) else { return None };
        if shortest > longest {
            return field.report_wrong("the shorter time first");
        }
        if self.is_too_long(longest) { pair[1].report_wrong(TOO_LONG_A_JOB) } else { Some((shortest, longest)) }
    }

    fn toml_text(&self, &(shortest, longest): &(u64, u64)) -> Option<String> {
        let span = |ticks| Span::from_micros(self.tick.micros() * ticks);
        Pair(POSITIVE_SPAN, TOTAL_RUNTIME).toml_text(&(span(shortest), span(longest)))
    }

    fn value_shape(&self) -> Shape {
        Form::<(Span, Span)>::value_shape(&Pair(POSITIVE_SPAN, TOTAL_RUNTIME))
    }
}

impl Generator {
    /// Draws all jobs, numbered from zero, in order of arrival.
    pub fn generate(&self, platform: &Platform, tick: Span) -> Result<Vec<Job>, WorkloadError> {
        let mut next = (0, 0);
        Ok(self
            .draw_ahead(usize::MAX, platform, tick, &mut |job| {
                (job.id, job.first_task) = (JobId(next.0), next.1);
                next = (next.0 + 1, next.1 + job.tasks.len() as u32);
                Ok::<_, WorkloadError>(())
            })?
            .0)
    }

    /// Draws all jobs in order of arrival, and returns the first ones; the rest can be drawn again one by one. Each is
    /// passed to `take` before its arrival is known; an error of `take` is reported last.
    pub fn draw_ahead<E: From<WorkloadError>>(
        &self,
        most: usize,
        platform: &Platform,
        tick: Span,
        take: &mut dyn FnMut(&mut Job) -> Result<(), E>,
    ) -> Result<(Vec<Job>, Option<Rest>), E> {
        let mut master = SplitMix64::new(self.seed);
        let mut jobs = Vec::with_capacity(most.min(self.jobs as usize));
        let mut offer = OfferedWork::default();
        let mut gaps = Vec::with_capacity(self.jobs as usize);
        let mut places = Vec::new();
        let mut elapsed = 0.0;
        let mut wrong = None;
        let mut taken = Ok(());
        for _ in 0..self.jobs {
            let drawn = self.draw(&mut SplitMix64::new(master.next_u64()));
            offer.add_tasks(&drawn.tasks);
            elapsed += drawn.gap;
            gaps.push(elapsed);
            match self.job(drawn, 0.0, tick) {
                Err(error) => wrong = wrong.or(Some(error)),
                Ok(mut job) => {
                    taken = taken.and_then(|()| take(&mut job));
                    if jobs.len() < most { jobs.push(job) } else { places.push((job.id, job.first_task)) }
                }
            }
        }
        let span = self.span(&offer, platform)?;
        let arrivals = gaps
            .iter()
            .map(|gap| arrival_time(self.week.calendar(gap / elapsed * span), tick))
            .collect::<Option<Vec<_>>>();
        let mut arrivals = arrivals.ok_or(WorkloadError::TooSparse)?;
        wrong.map_or(Ok(()), Err)?;
        taken?;
        jobs.iter_mut().zip(&arrivals).for_each(|(job, arrive)| job.arrive = *arrive);
        if places.is_empty() {
            return Ok((jobs, None));
        }
        let first = jobs.len();
        let places = arrivals.drain(first..).zip(places).map(|(arrive, (id, task))| (arrive, id, task)).collect();
        Ok((jobs, Some(Rest { generator: self.clone(), tick, first: first as u32, places })))
    }

    /// Turns a drawn job into one that arrives at a tick.
    fn job(&self, drawn: DrawnJob, arrive: f64, tick: Span) -> Result<Job, WorkloadError> {
        let mut job = drawn.at(arrive, tick).ok_or(WorkloadError::TooSparse)?;
        if self.output > 0 {
            self.load_edges(&mut job).ok_or(WorkloadError::TooMuchData)?;
        }
        Ok(job)
    }

    /// Draws one job; the order of the draws determines their meaning.
    fn draw(&self, stream: &mut SplitMix64) -> DrawnJob {
        let count = stream.int(u64::from(self.tasks.0), u64::from(self.tasks.1)) as usize;
        let total = stream.log_uniform(self.total_runtime.0 as f64, self.total_runtime.1 as f64);
        let weight = LogUniform::between(1.0, self.ranges.runtime_spread);
        let weights: SmallVec<[f64; 32]> = (0..count).map(|_| weight.draw(stream)).collect();
        let sum: f64 = weights.iter().sum();
        let cores = LogUniform::between(f64::from(self.ranges.cores_min), f64::from(self.cores_max) + 1.0);
        let tasks = weights.into_iter().map(|weight| {
            let cores = cores.draw(stream) as u32;
            let usual = stream.unit() < self.kind_share;
            let runtime = ((total * weight / sum + 0.5).floor() as u64).max(1);
            DrawnTask {
                runtime,
                cores: cores.clamp(self.ranges.cores_min, self.cores_max),
                kind: self.kinds[usize::from(!usual)],
            }
        });
        let tasks = tasks.collect();
        let edges = self.draw_edges(count as u32, stream);
        let curve = self.ranges.draw_curve(stream);
        DrawnJob { tasks, edges, curve, gap: stream.exponential(1.0) }
    }

    fn draw_edges(&self, count: u32, stream: &mut SplitMix64) -> Vec<Edge> {
        let mut edges: Vec<Edge> = Vec::with_capacity(2 * count as usize);
        for to in 1..count {
            let wanted = (1.0 + stream.exponential(self.degree).floor()).min(f64::from(to)) as usize;
            let first = edges.len();
            while edges.len() < first + wanted {
                let parent = stream.int(0, u64::from(to) - 1) as u32;
                if edges[first..].iter().all(|edge| edge.from != parent) {
                    edges.push(Edge::new(parent, to));
                }
            }
        }
        edges.sort_unstable();
        edges.shrink_to_fit();
        edges
    }

    /// Puts a task's output on each of its edges.
    fn load_edges(&self, job: &mut Job) -> Option<()> {
        let mut all = 0u64;
        for edge in &mut job.edges {
            let runtime = job.tasks[edge.from as usize].runtime.micros();
            let bytes = u128::from(self.output) * u128::from(runtime) / 8_000_000;
            edge.data = u64::try_from(bytes).ok()?;
            all = all.checked_add(edge.data).filter(|&all| all <= DATA_MAX)?;
        }
        Some(())
    }

    /// Duration of the arrivals, in ticks of the mean week, that gives the requested load.
    fn span(&self, offer: &OfferedWork, platform: &Platform) -> Result<f64, WorkloadError> {
        if let Some(homeless) = offer.kinds.iter().map(|(kind, _)| *kind).find(|kind| platform.cores(*kind) == 0) {
            return Err(WorkloadError::NoCores(homeless));
        }
        Ok(match self.load_basis {
            LoadBasis::Total => offer.all / (platform.total() as f64 * self.load),
            LoadBasis::Bottleneck => {
                self.kinds
                    .map(|kind| work_of_kind(kind, offer) / platform.cores(kind).max(1) as f64)
                    .into_iter()
                    .fold(0.0, f64::max)
                    / self.load
            }
        })
    }
}

fn work_of_kind(kind: Kind, offer: &OfferedWork) -> f64 {
    offer.kinds.iter().find(|(other, _)| *other == kind).map_or(0.0, |(_, work)| *work)
}

/// Work of jobs in core ticks: total, and by kind in the order of their first appearance.
#[derive(Default)]
struct OfferedWork {
    all: f64,
    kinds: Vec<(Kind, f64)>,
}

impl OfferedWork {
    fn add_tasks(&mut self, tasks: &[DrawnTask]) {
        for task in tasks {
            self.all += task.work();
            match self.kinds.iter_mut().find(|(kind, _)| *kind == task.kind) {
                Some((_, work)) => *work += task.work(),
                None => self.kinds.push((task.kind, task.work())),
            }
        }
    }
}

/// The jobs of a workload after the first ones. They would fill memory, so each is drawn again when it is needed: its
/// first numbers and its arrival are stored, and it has its own random stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Rest {
    generator: Generator,
    tick: Span,
    /// Index in the workload of the first job of the part.
    first: u32,
    /// Arrival, number, and number of the first task of each.
    places: Vec<(Time, JobId, u32)>,
}

impl Rest {
    /// Indices in the workload of the jobs of the part.
    pub fn places(&self) -> std::ops::Range<u32> {
        self.first..self.first + self.places.len() as u32
    }

    pub fn job(&self, place: u32) -> Job {
        let (arrive, id, first_task) = self.places[(place - self.first) as usize];
        let seed = SplitMix64::new(self.generator.seed).after(place.into()).next_u64();
        let drawn = self.generator.draw(&mut SplitMix64::new(seed));
        let job = self.generator.job(drawn, 0.0, self.tick).expect("it was drawn before");
        Job { id, arrive, first_task, ..job }
    }
}

/// A drawn job in ticks, before its arrival is known.
struct DrawnJob {
    tasks: Vec<DrawnTask>,
    edges: Vec<Edge>,
    curve: Curve,
    /// Time since the previous job, in units of the mean gap.
    gap: f64,
}

struct DrawnTask {
    runtime: u64,
    cores: u32,
    kind: Kind,
}

impl DrawnTask {
    fn work(&self) -> f64 {
        self.runtime as f64 * f64::from(self.cores)
    }
}

impl DrawnJob {
    fn at(self, arrive: f64, tick: Span) -> Option<Job> {
        let max = self.tasks.iter().map(DrawnTask::work).sum();
        Some(Job {
            id: JobId(0),
            arrive: arrival_time(arrive, tick)?,
            first_task: 0,
            tasks: self
                .tasks
                .iter()
                .map(|task| {
                    let runtime = Span::from_micros(task.runtime.checked_mul(tick.micros())?);
                    Some(Task::new(runtime, task.cores, task.kind))
                })
                .collect::<Option<_>>()?,
            edges: self.edges,
            worth: Some(Worth { max, curve: self.curve }),
            times: None,
        })
    }
}

fn arrival_time(ticks: f64, tick: Span) -> Option<Time> {
    Some(Time::from_micros((ticks as u64).checked_mul(tick.micros())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Span = Span::from_minutes(1);

    fn generator(jobs: u32) -> Generator {
        Generator {
            seed: 1,
            jobs,
            load: 1.0,
            load_basis: LoadBasis::Total,
            tasks: (5, 20),
            total_runtime: (10, 200_000),
            cores_max: 100,
            ranges: Ranges::default(),
            week: Week::default(),
            kinds: [Kind(0), Kind(1)],
            kind_share: 0.8,
            degree: 1.0,
            output: 0,
        }
    }

    fn platform() -> Platform {
        Platform { cores: vec![3000, 1000], ..Platform::default() }
    }

    fn work(job: &Job) -> u64 {
        job.tasks.iter().map(|task| task.runtime.micros() / MINUTE.micros() * u64::from(task.cores)).sum()
    }

    #[test]
    fn the_first_jobs_are_those_of_the_reference() {
        let jobs = generator(3).generate(&platform(), MINUTE).unwrap();

        let first = &jobs[0];
        let runtimes: Vec<u64> = first.tasks.iter().map(|task| task.runtime.micros() / MINUTE.micros()).collect();
        assert_eq!(runtimes, [3473, 18747, 5183, 18616, 13236, 5527, 4703, 5488, 12889, 26504]);
        assert_eq!(first.tasks.iter().map(|task| task.cores).collect::<Vec<_>>(), [1, 29, 93, 9, 16, 25, 2, 10, 5, 14]);
        let others: Vec<usize> = (0..10).filter(|&task| first.tasks[task].kind == Kind(1)).collect();
        assert_eq!(others, [5]);
        let edges: Vec<(u32, u32)> = first.edges.iter().map(|edge| (edge.to, edge.from)).collect();
        let mut expected = vec![(1, 0), (2, 1), (3, 0), (4, 1), (5, 3), (6, 3), (7, 4), (8, 3), (8, 5), (9, 7), (9, 8)];
        expected.sort_by_key(|&(to, from)| (from, to));
        assert_eq!(edges, expected);
        let worth = first.worth.as_ref().unwrap();
        assert!((worth.curve.initial() - 2.281090047839).abs() < 1e-12);
        assert!((worth.curve.final_() - 8.575013468860).abs() < 1e-12);
        assert_eq!((work(first), worth.max), (2_046_437, 2_046_437.0));

        assert_eq!((jobs[1].tasks.len(), work(&jobs[1])), (12, 501));
        assert_eq!((jobs[2].tasks.len(), work(&jobs[2])), (15, 6076));
        assert_eq!((jobs[1].first_task, jobs[2].first_task), (10, 22));
    }

    #[test]
    fn a_small_workload_arrives_as_in_the_reference() {
        let small = Generator { total_runtime: (10, 2000), cores_max: 20, ..generator(40) };
        let jobs = small.generate(&Platform { cores: vec![90, 30], ..Platform::default() }, MINUTE).unwrap();
        let arrivals: Vec<u64> = jobs.iter().map(|job| job.arrive.micros() / MINUTE.micros()).collect();
        assert_eq!((&arrivals[..6], arrivals[39]), (&[2, 3, 5, 26, 29, 32][..], 549));
        assert_eq!(jobs.iter().map(|job| job.tasks.len()).sum::<usize>(), 532);
        assert_eq!(jobs.iter().map(work).sum::<u64>(), 56_892);
        assert!(jobs.iter().all(|job| job.check().is_ok()));
    }

    #[test]
    fn jobs_drawn_on_demand_are_identical() {
        let generator = Generator { output: 8_000, ..generator(50) };
        let all = generator.generate(&platform(), MINUTE).unwrap();
        for most in [0, 1, 20, 49, 50] {
            let mut next = 0..;
            let mut tasks = 0;
            let mut number = |job: &mut Job| {
                (job.id, job.first_task) = (JobId(next.next().unwrap()), tasks);
                tasks += job.tasks.len() as u32;
                Ok::<_, WorkloadError>(())
            };
            let (jobs, rest) = generator.draw_ahead(most, &platform(), MINUTE, &mut number).unwrap();
            assert_eq!(jobs, all[..most]);
            assert_eq!(rest.is_some(), most < 50);
            for place in rest.iter().flat_map(Rest::places) {
                let rest = rest.as_ref().unwrap();
                assert_eq!(rest.job(place), all[place as usize]);
            }
        }
    }

    /// Ranges of one value leave nothing to chance.
    #[test]
    fn ranges_bound_what_is_drawn() {
        let narrow =
            Ranges { cores_min: 7, runtime_spread: 1.0, initial: (3.0, 3.0), final_: (9.0, 9.0), points: (0, 0) };
        let ranges =
            Generator { ranges: narrow, cores_max: 7, tasks: (4, 4), total_runtime: (400, 400), ..generator(20) };
        for job in ranges.generate(&platform(), MINUTE).unwrap() {
            let task = |task: &Task| (task.cores, task.runtime);
            assert_eq!(job.tasks.iter().map(task).collect::<Vec<_>>(), [(7, Span::from_minutes(100)); 4]);
            assert_eq!(job.worth.unwrap().curve, Curve::new(3.0, 9.0, &[]).unwrap());
        }
        let wide = Ranges { cores_min: 3, points: (1, 2), ..Ranges::default() };
        let jobs = Generator { ranges: wide, cores_max: 5, ..generator(60) }.generate(&platform(), MINUTE).unwrap();
        let cores: std::collections::BTreeSet<u32> =
            jobs.iter().flat_map(|job| &job.tasks).map(|task| task.cores).collect();
        assert_eq!(Vec::from_iter(cores), [3, 4, 5]);
        let points = jobs.iter().map(|job| job.worth.as_ref().unwrap().curve.points().count());
        assert_eq!(Vec::from_iter(points.collect::<std::collections::BTreeSet<_>>()), [1, 2]);
    }

    #[test]
    fn edges_carry_the_output_of_their_task() {
        let silent = generator(5).generate(&platform(), MINUTE).unwrap();
        let with_output = Generator { output: 8_000_001, ..generator(5) }.generate(&platform(), MINUTE).unwrap();
        for (silent, with_output) in silent.iter().zip(&with_output) {
            assert_eq!((silent.arrive, &silent.tasks), (with_output.arrive, &with_output.tasks));
            for (silent, edge) in silent.edges.iter().zip(&with_output.edges) {
                let minutes = with_output.tasks[edge.from as usize].runtime.micros() / 60_000_000;
                let bits = 8_000_001 * 60 * minutes;
                assert_eq!((silent.from, silent.to, silent.data), (edge.from, edge.to, 0));
                assert_eq!(edge.data, bits / 8);
            }
        }
        let flood = Generator { output: 1_000_000_000_000_000_000, ..generator(5) };
        assert_eq!(flood.generate(&platform(), MINUTE), Err(WorkloadError::TooMuchData));
    }

    #[test]
    fn the_load_may_refer_to_the_busier_kind() {
        let bottleneck = Generator { load_basis: LoadBasis::Bottleneck, ..generator(20) };
        let jobs = bottleneck.generate(&platform(), MINUTE).unwrap();
        let usual = jobs.iter().flat_map(|job| &job.tasks).filter(|task| task.kind == Kind(0));
        let usual: f64 = usual.map(|task| task.runtime.micros() as f64 / 6e7 * f64::from(task.cores)).sum();
        assert_eq!(jobs[19].arrive.micros() as f64 / 6e7, Week::default().calendar(usual / 3000.0));
        let nowhere = Platform { cores: vec![3000], ..Platform::default() };
        assert_eq!(bottleneck.generate(&nowhere, MINUTE), Err(WorkloadError::NoCores(Kind(1))));
    }
}
