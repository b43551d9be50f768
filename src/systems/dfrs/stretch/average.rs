//! `opt=avg` for a given mapping: the lowest sum of stretches, where no job falls behind the pace that was found.
//!
//! Minimise the sum of `f_j / (d_j + y_j)` where `asked_j <= y_j <= 1` and no node gives more than it has: convex, so prices of nodes tell
//! the answer. At prices `p` a job takes the yield at which another bit of processor saves as much as it costs, which is a square root. Each
//! node in turn takes the price at which it is just full, or none if it is not, and so on until it is known to be good enough: the dual value
//! is a lower bound, and yields that exceed a node are scaled down to it, which gives an upper one.

use super::super::Need;
use super::super::need::TOLERANCE;
use super::super::room::Places;
use super::super::yields::{Rows, short_rows};
use super::Age;

/// How near to the lowest sum the result is, relatively; unless so many rounds have not brought it there.
const GAP: f64 = 1e-5;
const ROUNDS: usize = 500;

/// The yield of each job. A round is O(tasks on different nodes that are short of processors).
pub(in super::super) fn average(nodes: u32, jobs: &[(&Need, &Places)], ages: &[Age], found: f64) -> Vec<f64> {
    let Rows { rows, .. } = short_rows(nodes, jobs);
    let least: Vec<f64> = ages.iter().map(|age| age.asks(found).min(1.0)).collect();
    let mut market = Market { ages, least, top: vec![1.0; jobs.len()], price: vec![0.0; jobs.len()] };
    // Where a node has nothing to give beyond what the pace asks for, that is what its jobs get.
    let (rows, full): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| market.room(row) > TOLERANCE);
    full.iter().flatten().for_each(|(job, _)| market.top[*job] = market.least[*job]);

    let mut prices = vec![0.0; rows.len()];
    let mut best = (f64::INFINITY, market.least.clone());
    for _ in 0..ROUNDS {
        for (row, price) in rows.iter().zip(&mut prices) {
            market.clear(row, price);
        }
        let shares = market.within(&rows);
        let upper = market.cost(&shares);
        if upper < best.0 {
            best = (upper, shares);
        }
        if best.0 - market.bound(&rows, &prices) <= GAP * best.0 {
            break;
        }
    }
    let shares = best.1.into_iter().zip(jobs);
    shares.map(|(share, (_, places))| if places.is_empty() { 0.0 } else { share }).collect()
}

struct Market<'a> {
    ages: &'a [Age],
    least: Vec<f64>,
    top: Vec<f64>,
    /// What a job pays for its yield, over all its nodes.
    price: Vec<f64>,
}

type Row = Vec<(usize, f64)>;

impl Market<'_> {
    /// What a job takes at this price.
    fn takes(&self, job: usize, price: f64) -> f64 {
        let wanted = if price > 0.0 { (self.ages[job].flow / price).sqrt() - self.ages[job].done } else { 1.0 };
        wanted.max(self.least[job]).min(self.top[job])
    }

    /// What a node has beyond what must be given.
    fn room(&self, row: &Row) -> f64 {
        1.0 - row.iter().map(|(job, need)| need * self.least[*job]).sum::<f64>()
    }

    /// Finds the price at which a node is just full; 0, if it is not even then.
    fn clear(&mut self, row: &Row, price: &mut f64) {
        for (job, need) in row {
            self.price[*job] -= need * *price;
        }
        let given = |price: f64| -> f64 {
            row.iter().map(|(job, need)| need * self.takes(*job, (self.price[*job] + need * price).max(0.0))).sum()
        };
        *price = if given(0.0) <= 1.0 { 0.0 } else { falls_to_one(given, *price) };
        for (job, need) in row {
            self.price[*job] = (self.price[*job] + need * *price).max(0.0);
        }
    }

    /// What jobs take, less what nodes do not have.
    fn within(&self, rows: &[Row]) -> Vec<f64> {
        let wanted: Vec<f64> = (0..self.ages.len()).map(|job| self.takes(job, self.price[job])).collect();
        let mut part = vec![1.0; wanted.len()];
        for row in rows {
            let beyond: f64 = row.iter().map(|(job, need)| need * (wanted[*job] - self.least[*job])).sum();
            let can_have = self.room(row).max(0.0) / beyond;
            if can_have < 1.0 {
                row.iter().for_each(|(job, _)| part[*job] = f64::min(part[*job], can_have));
            }
        }
        let least = self.least.iter().zip(wanted).zip(part);
        least.map(|((least, wanted), part)| least + part * (wanted - least)).collect()
    }

    fn cost(&self, shares: &[f64]) -> f64 {
        self.ages.iter().zip(shares).map(|(age, share)| age.flow / (age.done + share)).sum()
    }

    /// What no yields can go below.
    fn bound(&self, rows: &[Row], prices: &[f64]) -> f64 {
        let wanted: Vec<f64> = (0..self.ages.len()).map(|job| self.takes(job, self.price[job])).collect();
        let excess = |row: &Row| row.iter().map(|(job, need)| need * wanted[*job]).sum::<f64>() - 1.0;
        self.cost(&wanted) + rows.iter().zip(prices).map(|(row, price)| price * excess(row)).sum::<f64>()
    }
}

/// Where a falling function that is above 1 at 0 comes to 1, from a guess.
fn falls_to_one(given: impl Fn(f64) -> f64, guess: f64) -> f64 {
    let (mut lo, mut hi) = (0.0, if guess > 0.0 { guess } else { 1.0 });
    while given(hi) > 1.0 && hi < 1e18 {
        (lo, hi) = (hi, hi * 4.0);
    }
    // Halving in ratio once the lower end is not 0, as prices differ in size.
    for _ in 0..60 {
        let mid = if lo > 0.0 { (lo * hi).sqrt() } else { hi / 16.0 };
        if given(mid) > 1.0 {
            lo = mid;
        } else {
            hi = mid;
        }
        if hi - lo <= 1e-12 * hi {
            break;
        }
    }
    hi
}
