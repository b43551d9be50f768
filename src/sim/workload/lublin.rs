//! The workload model of Lublin and Feitelson ("The workload on parallel supercomputers: modeling the characteristics
//! of rigid jobs", JPDC 63(11), 2003): sizes, run times correlated with the sizes, and arrivals with a daily cycle.
//!
//! The order of the draws is that of the authors' program, so with its random number generator the jobs are identical
//! to the original's. The default stream is our own.

use serde::Serialize;

use super::packed::Packed;
use super::rigid::Rigid;
use crate::math;
use crate::random::SplitMix64;
use crate::settings::limits::CORES_MAX;
use crate::settings::{Context, FormExt, Maybe, Millionths, Number, Pair, Walk, key};
use crate::time::{Span, Time};
use crate::words::words;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lublin {
    pub seed: u64,
    pub jobs: u32,
    /// Nodes of the target machine: the largest size of a job.
    pub nodes: u32,
    pub types: Types,
    pub stream: Stream,
    pub sizes: Sizes,
    pub times: Times,
    /// Divisor of the times between arrivals, in millionths.
    pub rate_millionths: u64,
}

words! {
    /// Kinds of jobs.
    Types {
        /// Batch and interactive jobs, each with their own distributions.
        Two = "two",
        /// One kind of jobs.
        One = "one",
    }
    /// Source of random numbers.
    Stream {
        /// The usual random numbers of Hansa.
        Own = "own",
        /// The 48-bit generator of the authors' program, for identical jobs.
        Posix48 = "posix48",
    }
}

/// Parameters of sizes that a workload may override.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Sizes {
    /// Fraction of jobs with one node.
    pub serial: Option<f64>,
    /// Fraction of all jobs whose size is a power of two above one.
    pub pow2: Option<f64>,
    /// Smallest, middle and largest size, as powers of two.
    pub low: Option<f64>,
    pub med: Option<f64>,
    pub high: Option<f64>,
    /// Fraction of sizes between the smallest and the middle one.
    pub prob: Option<f64>,
    /// Number of nodes that count as one in the correlation of run time and size.
    pub unit: Option<u32>,
}

/// Parameters of run times, gaps between arrivals and the daily cycle that a workload may override: shapes and scales
/// of gamma distributions.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Times {
    /// Logarithms of run times in seconds, for short jobs and for long ones.
    pub short: Option<(f64, f64)>,
    pub long: Option<(f64, f64)>,
    /// Fraction of short jobs, and its change per additional node.
    pub short_share: Option<f64>,
    pub short_by_size: Option<f64>,
    /// Logarithms of gaps between arrivals in seconds.
    pub gap: Option<(f64, f64)>,
    /// Arrivals in each half hour of the day.
    pub day: Option<(f64, f64)>,
}

const JOBS_MAX: u32 = 2_000_000;
const SHARE: Maybe<Number> = Maybe(Number::from(0.0, 1.0, "a share from 0 to 1"));
const POWER: Maybe<Number> = Maybe(Number::from(0.0, 31.0, "a power of two from 0 to 31, such as 4.5"));
const OWN: &str = "the model's own";
const GAMMA: Maybe<Pair<Number>> = Maybe(Pair(
    Number::from(1e-3, 1e3, "a number from 0.001 to 1000"),
    "the shape and the scale of a gamma distribution",
));

impl Lublin {
    pub(super) fn with_defaults(context: &Context<'_>) -> Lublin {
        Lublin {
            seed: context.seed,
            jobs: 1,
            nodes: context.widest(),
            types: Types::Two,
            stream: Stream::Own,
            sizes: Sizes::default(),
            times: Times::default(),
            rate_millionths: 1_000_000,
        }
    }

    pub(super) fn walk(&mut self, w: &mut dyn Walk, context: &Context<'_>) {
        let Lublin { seed, jobs, nodes, types, stream, sizes, times, rate_millionths } = self;
        context.walk_seed(seed, w);
        w.set(key("jobs", "").need("the number of jobs to generate"), jobs, 1..=JOBS_MAX);
        w.set(key("nodes", "the largest size of a job").usual("the nodes of the largest site"), nodes, 1..=CORES_MAX);
        w.set(key("types", "the kinds of job that the Lublin model generates"), types, Types::ALL);
        w.set(key("stream", "the random numbers that the Lublin model uses"), stream, Stream::ALL);
        let rate = Millionths::above_zero(1_000).with_condition("a number above 0, up to 1000", |rate: &u64| *rate > 0);
        w.set(key("arrival_factor", "the factor by which jobs arrive faster than in the model"), rate_millionths, rate);
        let Sizes { serial, pow2, low, med, high, prob, unit } = sizes;
        w.set(key("serial", "the share of jobs with one node").usual(OWN), serial, SHARE);
        w.set(key("pow2", "the share of jobs whose size is a power of two above one").usual(OWN), pow2, SHARE);
        w.set(key("size_low", "the smallest size above one, as a power of two").usual(OWN), low, POWER);
        w.set(key("size_med", "the middle size, as a power of two").usual(OWN), med, POWER);
        w.set(key("size_high", "the largest size, as a power of two").usual(OWN), high, POWER);
        w.set(key("size_prob", "the share of sizes between the smallest and the middle one").usual(OWN), prob, SHARE);
        let about = "the number of nodes that count as one when run times are drawn according to sizes";
        w.set(key("unit", about).usual("1"), unit, Maybe(1..=CORES_MAX));
        times.walk(w);
    }
}

impl Times {
    pub(super) fn walk(&mut self, w: &mut dyn Walk) {
        let Times { short, long, short_share, short_by_size, gap, day } = self;
        let share = Maybe(Number::from(-1.0, 2.0, "a number from -1 to 2"));
        w.set(key("short", "shape and scale of the logarithms of short run times").usual(OWN), short, GAMMA);
        w.set(key("long", "shape and scale of the logarithms of long run times").usual(OWN), long, GAMMA);
        w.set(key("short_share", "the share of short jobs among the smallest").usual(OWN), short_share, share);
        w.set(
            key("short_by_size", "the increase of that share with each additional node").usual(OWN),
            short_by_size,
            share,
        );
        w.set(key("gap", "shape and scale of the logarithms of gaps between arrivals").usual(OWN), gap, GAMMA);
        w.set(key("day", "shape and scale of the daily cycle, in half hours").usual(OWN), day, GAMMA);
        let Some(fields) = w.written_fields() else { return };
        // Longer values are drawn again, which must terminate.
        let bounded = [("short", *short, RUNTIME_MAX), ("long", *long, RUNTIME_MAX), ("gap", *gap, GAP_MAX)];
        for (key, gamma, most) in bounded {
            if let Some((shape, scale)) = gamma
                && shape * scale > most
                && let Some(field) = fields.get(key)
            {
                field.complain(format!(
                    "expected logarithms of seconds, whose mean, shape times scale, is at most {most}"
                ));
            }
        }
    }
}

/// One kind of job, with the names of the paper.
#[derive(Clone, Copy, Debug)]
struct Habits {
    serial: f64,
    pow2: f64,
    low: f64,
    med: f64,
    high: f64,
    prob: f64,
    /// Gamma distributions: shape and scale.
    short: (f64, f64),
    long: (f64, f64),
    /// The probability of the short one is `pa * size + pb`.
    pa: f64,
    pb: f64,
    gap: (f64, f64),
    day: (f64, f64),
}

const BATCH: Habits = Habits {
    serial: 0.2927,
    pow2: 0.6686,
    low: 1.2,
    med: 5.0,
    high: 7.0,
    prob: 0.875,
    short: (6.57, 0.823),
    long: (639.1, 0.0156),
    pa: -0.003,
    pb: 0.6986,
    gap: (6.0415 * 1.0519, 0.8531),
    day: (6.1271, 5.2740),
};

const INTERACTIVE: Habits = Habits {
    serial: 0.1541,
    pow2: 0.625,
    low: 1.0,
    med: 3.0,
    high: 5.5,
    prob: 0.705,
    short: (3.8351, 0.6605),
    long: (7.073, 0.6856),
    pa: -0.0118,
    pb: 0.9156,
    gap: (6.5510 * 0.9797, 0.6621),
    day: (8.9186, 3.6680),
};

const ALIKE: Habits = Habits {
    serial: 0.244,
    pow2: 0.576,
    low: 0.8,
    med: 4.5,
    high: 7.0,
    prob: 0.86,
    short: (4.2, 0.94),
    long: (312.0, 0.03),
    pa: -0.0054,
    pb: 0.78,
    gap: (10.2303 * 1.0225, 0.4871),
    day: (8.1737, 3.9631),
};

/// The parameters are those of a machine with 2^7 nodes.
const NODES_LOG2: f64 = 7.0;

/// Logarithms above this are drawn again.
const RUNTIME_MAX: f64 = 12.0;
/// Logarithms of gaps above this are drawn again.
const GAP_MAX: f64 = 13.0;

const BUCKETS: usize = 48;
const BUCKET_SECONDS: f64 = 1_800.0;
/// The day begins when it is quietest, at half past five.
const FIRST_BUCKET: usize = 10;
const LEAST_WEIGHT: f64 = 1e-9;

impl Lublin {
    /// Draws all jobs, in order of submission. Interactive jobs are in queue 0, batch jobs in queue 1.
    pub fn generate(&self) -> Packed {
        let mut uniform = match self.stream {
            Stream::Own => Uniform::Own(SplitMix64::new(self.seed)),
            Stream::Posix48 => Uniform::posix48(self.seed),
        };
        let (batch, other) = match self.types {
            Types::Two => (BATCH, INTERACTIVE),
            Types::One => (ALIKE, ALIKE),
        };
        // A first batch job is drawn even if there are none.
        let batch_habits = self.fit(batch);
        let other_habits = self.fit(other);
        let mut batch = Arrivals::new(&batch_habits, &mut uniform);
        let mut others = Arrivals::new(&other_habits, &mut uniform);

        let mut jobs = Packed::default();
        for number in 0..self.jobs {
            let is_batch = self.types == Types::Two && batch.clock < others.clock;
            let (arrivals, habits) = if is_batch { (&mut batch, &batch_habits) } else { (&mut others, &other_habits) };
            let submit = arrivals.clock;
            arrivals.step(&mut uniform);
            let size = self.size(habits, &mut uniform);
            let runtime = draw_runtime(habits, size, self.sizes.unit.unwrap_or(1), &mut uniform);
            jobs.push(&Rigid {
                number: u64::from(number) + 1,
                submit: self.at(submit),
                runtime: Some(Span::from_secs(runtime)),
                requested: Some(size),
                queue: (self.types == Types::Two).then_some(u32::from(is_batch)),
                ..Rigid::default()
            });
        }
        jobs
    }

    fn at(&self, seconds: f64) -> Time {
        let micros = seconds as u128 * 1_000_000 * 1_000_000 / u128::from(self.rate_millionths.max(1));
        Time::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
    }

    /// Parameters for this machine, with the workload's overrides.
    fn fit(&self, habits: Habits) -> Habits {
        let shift = math::log2(f64::from(self.nodes)) - NODES_LOG2;
        let sizes = &self.sizes;
        let times = &self.times;
        let low = sizes.low.unwrap_or(habits.low);
        let med = sizes.med.unwrap_or((habits.med + shift).max(low));
        Habits {
            serial: sizes.serial.unwrap_or(habits.serial),
            pow2: sizes.pow2.unwrap_or(habits.pow2),
            low,
            med,
            high: sizes.high.unwrap_or((habits.high + shift).max(med)),
            prob: sizes.prob.unwrap_or(habits.prob),
            short: times.short.unwrap_or(habits.short),
            long: times.long.unwrap_or(habits.long),
            pa: times.short_by_size.unwrap_or(habits.pa),
            pb: times.short_share.unwrap_or(habits.pb),
            gap: times.gap.unwrap_or(habits.gap),
            day: times.day.unwrap_or(habits.day),
        }
    }

    fn size(&self, habits: &Habits, uniform: &mut Uniform) -> u32 {
        let u = uniform.draw();
        if u <= habits.serial {
            return 1;
        }
        let (least, most) =
            if uniform.draw() <= habits.prob { (habits.low, habits.med) } else { (habits.med, habits.high) };
        let exponent = uniform.draw() * (most - least) + least;
        let power_of_two = u <= habits.serial + habits.pow2;
        let exponent = if power_of_two { (exponent + 0.5).floor() } else { exponent };
        let size = (math::pow(2.0, exponent) + 0.5) as u32;
        size.clamp(1, self.nodes)
    }
}

fn draw_runtime(habits: &Habits, size: u32, unit: u32, uniform: &mut Uniform) -> u64 {
    let short = habits.pa * f64::from(size) / f64::from(unit) + habits.pb;
    loop {
        let (shape, scale) = if uniform.draw() <= short { habits.short } else { habits.long };
        let drawn = uniform.gamma(shape, scale);
        if drawn <= RUNTIME_MAX {
            return math::exp(drawn) as u64;
        }
    }
}

/// Arrival times of one kind of jobs.
struct Arrivals {
    gap: (f64, f64),
    weights: [f64; BUCKETS],
    bucket: usize,
    points: f64,
    remainder: f64,
    /// Time in whole seconds.
    clock: f64,
}

impl Arrivals {
    fn new(habits: &Habits, uniform: &mut Uniform) -> Arrivals {
        let weights = hour_weights(habits.day);
        let mut arrivals = Arrivals { gap: habits.gap, weights, bucket: 0, points: 0.0, remainder: 0.0, clock: 0.0 };
        arrivals.step(uniform);
        arrivals
    }

    /// Draws the next arrival: gaps pass faster in busy half hours than in quiet ones.
    fn step(&mut self, uniform: &mut Uniform) {
        let gap = loop {
            let gap = uniform.gamma(self.gap.0, self.gap.1);
            if gap <= GAP_MAX {
                break gap;
            }
        };
        self.points += math::exp(gap) / BUCKET_SECONDS;
        let mut seconds = 0.0;
        while self.points > self.weights[self.bucket] {
            self.points -= self.weights[self.bucket];
            self.bucket = (self.bucket + 1) % BUCKETS;
            seconds += BUCKET_SECONDS;
        }
        let remainder = self.points / self.weights[self.bucket];
        seconds += BUCKET_SECONDS * (remainder - self.remainder);
        self.remainder = remainder;
        self.clock = (self.clock + seconds).floor();
    }
}

/// Relative load of each half hour of the day; 1 on average.
fn hour_weights((shape, scale): (f64, f64)) -> [f64; BUCKETS] {
    let mut weights = [0.0; BUCKETS];
    for step in 0..BUCKETS {
        let middle = (FIRST_BUCKET + 1 + step) as f64;
        // Half hours without any arrivals would stop the clock.
        weights[(FIRST_BUCKET + step) % BUCKETS] = (scaled_gamma_cdf(middle + 0.5, scale, shape)
            - scaled_gamma_cdf(middle - 0.5, scale, shape))
        .max(LEAST_WEIGHT);
    }
    let mean = weights.iter().sum::<f64>() / BUCKETS as f64;
    weights.map(|weight| weight / mean)
}

fn scaled_gamma_cdf(x: f64, scale: f64, shape: f64) -> f64 {
    math::gamma_cdf(shape, x / scale)
}

enum Uniform {
    Own(SplitMix64),
    Posix48(u64),
}

impl Uniform {
    fn posix48(seed: u64) -> Uniform {
        Uniform::Posix48(((seed & 0xFFFF_FFFF) << 16) | 0x330E)
    }

    fn draw(&mut self) -> f64 {
        match self {
            // Never 0, as its logarithm is taken.
            Uniform::Own(stream) => 1.0 - stream.unit(),
            Uniform::Posix48(state) => {
                *state = state.wrapping_mul(0x5_DEEC_E66D).wrapping_add(0xB) & ((1 << 48) - 1);
                *state as f64 / (1u64 << 48) as f64
            }
        }
    }

    /// A sum of exponentials for the integer part of the shape, and a scaled one for the rest.
    fn gamma(&mut self, shape: f64, scale: f64) -> f64 {
        let whole = shape.floor();
        let rest = shape - whole;
        let mut sum = 0.0;
        for _ in 0..whole as u32 {
            sum -= math::ln(self.draw());
        }
        let mut drawn = sum * scale;
        if rest > 0.0 {
            let share = self.beta(rest);
            drawn += scale * share * -math::ln(self.draw());
        }
        drawn
    }

    /// Draws from the beta distribution with the parameters `a` and `1 - a`.
    fn beta(&mut self, a: f64) -> f64 {
        loop {
            let first = math::pow(self.draw(), 1.0 / a);
            let second = math::pow(self.draw(), 1.0 / (1.0 - a));
            if first + second <= 1.0 {
                return first / (first + second);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(types: Types, stream: Stream, jobs: u32) -> Lublin {
        let sizes = Sizes::default();
        let times = Times::default();
        Lublin { seed: 1, jobs, nodes: 128, types, stream, sizes, times, rate_millionths: 1_000_000 }
    }

    fn short(job: Rigid) -> (u64, u64, u32, Option<u32>) {
        let seconds = |micros: u64| micros / 1_000_000;
        (seconds(job.submit.micros()), seconds(job.runtime.unwrap().micros()), job.requested.unwrap(), job.queue)
    }

    /// Output of the authors' program with seed 1.
    #[test]
    fn the_first_jobs_are_those_of_the_original() {
        let jobs = model(Types::One, Stream::Posix48, 6).generate();
        let expected =
            [(5362, 6, 4), (6406, 18, 8), (6556, 10804, 32), (6826, 30605, 32), (26725, 1087, 2), (26853, 8946, 16)];
        assert_eq!(
            jobs.iter().map(short).collect::<Vec<_>>(),
            expected.map(|(submit, run, nodes)| (submit, run, nodes, None))
        );

        let jobs = model(Types::Two, Stream::Posix48, 6).generate();
        let expected = [(273, 8, 8), (1579, 5, 8), (1601, 7, 4), (1729, 2, 6), (1785, 61, 8), (1809, 13, 4)];
        assert_eq!(
            jobs.iter().map(short).collect::<Vec<_>>(),
            expected.map(|(submit, run, nodes)| (submit, run, nodes, Some(0)))
        );
    }

    /// Means over 30 runs of the original are 915 s, 12.22 nodes and 24.3 % serial jobs for one type, and 528 s, 8.99
    /// nodes and 17.6 % for two.
    #[test]
    fn our_own_stream_has_the_same_moments() {
        let means = |types| {
            let mut gap = 0.0;
            let mut size = 0.0;
            let mut serial = 0.0;
            for seed in 1..=10 {
                let jobs = Lublin { seed, ..model(types, Stream::Own, 10_000) }.generate();
                gap += jobs.last().unwrap().submit.micros() as f64 / 1e10 / 10.0;
                size += jobs.iter().map(|job| f64::from(job.requested.unwrap())).sum::<f64>() / 1e5;
                serial += jobs.iter().filter(|job| job.requested == Some(1)).count() as f64 / 1e5;
            }
            (gap, size, serial)
        };
        let (gap, size, serial) = means(Types::One);
        assert!((850.0..980.0).contains(&gap) && (11.9..12.6).contains(&size) && (0.235..0.25).contains(&serial));
        let (gap, size, serial) = means(Types::Two);
        assert!((500.0..560.0).contains(&gap) && (8.7..9.3).contains(&size) && (0.168..0.184).contains(&serial));
    }

    #[test]
    fn the_constants_of_the_model_can_be_overridden() {
        let jobs = |types, times: Times| Lublin { times, ..model(types, Stream::Own, 3_000) }.generate();
        let usual = jobs(Types::One, Times::default());
        let same = Times {
            short: Some(ALIKE.short),
            long: Some(ALIKE.long),
            short_share: Some(ALIKE.pb),
            short_by_size: Some(ALIKE.pa),
            gap: Some(ALIKE.gap),
            day: Some(ALIKE.day),
        };
        assert_eq!(jobs(Types::One, same), usual);

        let of = |jobs: &Packed, what: fn(Rigid) -> u64| jobs.iter().map(what).sum::<u64>() / jobs.len() as u64;
        let runtime = |job: Rigid| job.runtime.unwrap().micros() / 1_000_000;
        // All are short, and run for about e^2 seconds.
        let short =
            Times { short: Some((200.0, 0.01)), short_share: Some(1.0), short_by_size: Some(0.0), ..Times::default() };
        let short = jobs(Types::Two, short);
        assert!((5..10).contains(&of(&short, runtime)), "{}", of(&short, runtime));
        // Mean gap of about e^3 seconds.
        let dense = jobs(Types::One, Times { gap: Some((300.0, 0.01)), ..Times::default() });
        let last = |jobs: &Packed| jobs.last().unwrap().submit.micros() / 1_000_000;
        assert!((15..30).contains(&(last(&dense) / 3_000)) && last(&usual) / 3_000 > 300, "{}", last(&dense));
        // Nearly all within three half hours of the fifteenth of each day.
        let early = Times { gap: Some((700.0, 0.01)), day: Some((225.0, 1.0 / 15.0)), ..Times::default() };
        let early = jobs(Types::One, early);
        let is_early = |job: &Rigid| (11..=18).contains(&(job.submit.micros() / 1_800_000_000 % 48));
        let count = early.iter().filter(is_early).count();
        assert!(count > 2_900 && usual.iter().filter(is_early).count() < 1_500, "{count}");
    }

    #[test]
    fn jobs_fit_the_machine_and_come_in_order() {
        for nodes in [1, 3, 16, 1000] {
            let jobs = Lublin { nodes, ..model(Types::Two, Stream::Own, 2_000) }.generate();
            assert!(jobs.iter().all(|job| job.check().is_ok() && job.requested <= Some(nodes)));
            assert!(jobs.iter().is_sorted_by_key(|job| job.submit));
            assert!(nodes < 16 || jobs.iter().any(|job| job.requested > Some(nodes / 2)));
        }
        let usual = model(Types::One, Stream::Own, 50).generate();
        let busier = Lublin { rate_millionths: 2_000_000, ..model(Types::One, Stream::Own, 50) }.generate();
        assert!(usual.iter().zip(&busier).all(|(a, b)| a.submit.micros() == 2 * b.submit.micros()));
    }
}
