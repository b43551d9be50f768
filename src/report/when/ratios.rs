//! Run times of jobs that have not ended, drawn from the ratios of used to requested time of jobs that have.

use std::collections::BTreeMap;

use hansa_sim::random::{SplitMix64, mix_bits};
use hansa_sim::time::Span;

use super::SeenJob;

/// Most ratios of a user: the latest ones.
const OF_USER_MAX: usize = 50;
/// Most ratios of all users together: the latest ones.
const OF_ALL_MAX: usize = 500;
/// Weight of the more general ratios, as a number of ratios: `n` of a user are used with probability `n / (n + 3)`.
const GENERAL_WEIGHT: f64 = 3.0;
/// Number of ratios from which on a user counts as known.
const KNOWN_FROM: usize = 5;

/// Ratios of used to requested time of finished jobs: of a user with the same request, of a user, and of all. Each list
/// is ascending.
///
/// A job draws from the most special list that has ratios above the part of its request that it has used, with a
/// probability that grows with their number, and otherwise from the next more general one. Without any, its run time is
/// uniform up to its request.
#[derive(Clone, Debug, Default)]
pub(super) struct Ratios {
    same_request: BTreeMap<(u32, Span), Vec<f64>>,
    of_user: BTreeMap<u32, Vec<f64>>,
    of_all: Vec<f64>,
}

/// Luck of the jobs of one user in one repetition. Jobs of one user are alike, so they share it: if one of them takes
/// long, so do the others.
#[derive(Clone, Copy, Debug)]
pub(super) struct UserLuck {
    /// Rank of the job's ratio among all ratios of a list, from 0 to 1.
    rank: f64,
    /// Random numbers from 0 to 1 that decide between the user's own list and the general ones.
    chances: [f64; 2],
}

impl UserLuck {
    pub fn of(run: u64, user: u32) -> UserLuck {
        let mut stream = SplitMix64::new(mix_bits(run ^ mix_bits(user.into())));
        let chances = [stream.unit(), stream.unit()];
        UserLuck { rank: stream.unit(), chances }
    }
}

impl Ratios {
    /// Ratios of finished jobs, the latest first.
    pub fn of<'a>(finished: impl Iterator<Item = &'a SeenJob>) -> Ratios {
        let mut ratios = Ratios::default();
        for job in finished {
            let Some(ran) = job.run_time().filter(|_| !job.requested.is_zero()) else { continue };
            let ratio = (ran.micros() as f64 / job.requested.micros() as f64).min(1.0);
            let special = ratios.same_request.entry((job.user, job.requested)).or_default();
            let of_user = ratios.of_user.entry(job.user).or_default();
            for (list, most) in [(special, OF_USER_MAX), (of_user, OF_USER_MAX), (&mut ratios.of_all, OF_ALL_MAX)] {
                if list.len() < most {
                    list.push(ratio);
                }
            }
        }
        let lists = ratios.same_request.values_mut().chain(ratios.of_user.values_mut());
        lists.chain([&mut ratios.of_all]).for_each(|list| list.sort_unstable_by(f64::total_cmp));
        ratios
    }

    /// Number of ratios of all users.
    pub fn count(&self) -> usize {
        self.of_all.len()
    }

    /// True if a user has enough ratios of its own to be mostly drawn from.
    pub fn has_ratios_of(&self, user: u32) -> bool {
        self.of_user.get(&user).is_some_and(|list| list.len() >= KNOWN_FROM)
    }

    /// Run time of a job that has run for some time: longer than that, and at most the request.
    pub fn draw(&self, user: u32, requested: Span, elapsed: Span, luck: UserLuck) -> Span {
        let request = requested.micros() as f64;
        let least = elapsed.micros() as f64 / request.max(1.0);
        let ratio = self.draw_ratio(user, requested, least, luck).unwrap_or(least + (1.0 - least) * luck.rank);
        let longer = elapsed + Span::from_micros(1);
        Span::from_micros((ratio * request) as u64).min(requested).max(longer)
    }

    fn draw_ratio(&self, user: u32, requested: Span, least: f64, luck: UserLuck) -> Option<f64> {
        let special = [self.same_request.get(&(user, requested)), self.of_user.get(&user)];
        for (list, chance) in special.into_iter().zip(luck.chances) {
            let above = list.map_or(&[][..], |list| ratios_above(list, least));
            let count = above.len() as f64;
            if chance < count / (count + GENERAL_WEIGHT) {
                return Some(above[(luck.rank * count) as usize]);
            }
        }
        let above = ratios_above(&self.of_all, least);
        above.get((luck.rank * above.len() as f64) as usize).copied()
    }
}

/// The part of an ascending list above `least`; all of it for a job that has not started.
fn ratios_above(list: &[f64], least: f64) -> &[f64] {
    if least > 0.0 { &list[list.partition_point(|ratio| *ratio <= least)..] } else { list }
}
