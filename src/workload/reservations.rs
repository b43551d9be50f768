//! Requests as the paper draws them: sizes and arrivals of Lublin's model on a machine with partitions of powers of two,
//! six durations, and ready times and deadlines in proportion to the duration.

use serde::Serialize;

use super::lublin::{Lublin, Sizes, Stream, Types};
use crate::grid::Request;
use crate::random::{SplitMix64, mix};
use crate::time::{Span, Time};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Demand {
    pub seed: u64,
    pub requests: u32,
    /// No request is larger.
    pub nodes: u32,
    /// The middle of the sizes, as a power of two.
    pub size: f64,
    /// The largest size, as a power of two; a size between the two is rare.
    pub size_max: f64,
    /// How much faster than usual requests arrive, in millionths.
    pub rate_millionths: u64,
    /// Requests are ready up to so many durations after they arrive, in millionths.
    pub ahead_millionths: u64,
    /// Deadlines leave up to so many durations of slack, in millionths.
    pub slack_millionths: u64,
    /// The least share of its time that a request really uses, in millionths; all shares up to 1 are as likely.
    pub used_millionths: u64,
}

/// A request, how long its job really runs, and when its user takes it back, if at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Ask {
    pub request: Request,
    pub runtime: Span,
    pub cancel: Option<Time>,
}

/// Requests that are written out one by one; they may make no sense, which is for the scheduler to tell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Asks {
    /// In order of arrival.
    pub asks: Vec<Ask>,
}

/// The only durations there are, in seconds.
const DURATIONS: [u64; 6] = [60, 300, 900, 1_800, 3_600, 10_800];

/// The least size of a request, as a power of two before rounding.
const SIZE_MIN: f64 = 4.5;
/// The share of requests between the least and the middle size.
const SMALL_SHARE: f64 = 0.82;

/// The model's habits are those of a machine with 128 nodes; a larger one is made of so many nodes to each of those.
const HABITS_NODES: u32 = 128;

/// Drawn apart from the jobs themselves, so that other ready times and deadlines leave the jobs as they are.
const SLACK_STREAM: u64 = 0x5_1AC4;
const USE_STREAM: u64 = 0x0_05ED;

impl Demand {
    /// In order of arrival, with real run times.
    pub fn asks(&self) -> Vec<Ask> {
        let mut random = SplitMix64::new(mix(self.seed ^ USE_STREAM));
        let least = self.used_millionths as f64 / 1e6;
        let mut ask = |request: Request| {
            let used = least + random.unit() * (1.0 - least);
            let seconds = (request.duration.micros() as f64 * used) as u64 / SECOND;
            Ask { request, runtime: Span::from_secs(seconds.max(1)).min(request.duration), cancel: None }
        };
        self.requests().into_iter().map(&mut ask).collect()
    }

    /// In order of arrival.
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
            rate_millionths: self.rate_millionths,
        };
        let mut random = SplitMix64::new(mix(self.seed ^ SLACK_STREAM));
        let mut request = |submit: Time, runtime: Span, nodes| {
            let arrive = Time::from_micros(submit.micros() / SECOND * SECOND);
            let seconds = runtime.micros() / SECOND;
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

const SECOND: u64 = 1_000_000;
