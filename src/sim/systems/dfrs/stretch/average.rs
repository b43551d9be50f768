//! `opt=avg` for a given mapping: the lowest sum of stretches, with no job behind the pace that was found.
//!
//! Minimise the sum of `f_j / (d_j + y_j)` where `asked_j <= y_j <= 1` and no node exceeds its capacity. That is
//! convex, so a primal-dual interior-point method converges to any precision: yields stay strictly within all limits,
//! each limit has a price, and each step aims at the point where price times slack is an equal small number for all
//! limits, by Newton's method. The gap is known: the cost of the jobs at the nodes' prices is a lower bound. S. Boyd,
//! L. Vandenberghe, "Convex Optimization", 2004, sections 5.1 and 11.7. Only `+ - * /` and square roots are needed, so
//! platforms agree.

use super::super::Need;
use super::super::room::TaskPlaces;
use super::super::yields::{concerned_jobs, short_rows};
use super::Age;
use crate::grid::sharing::need::TOLERANCE;

/// Relative gap to the lowest sum at which the iteration stops.
const GAP: f64 = 5e-5;
/// Most steps: about twenty are needed; rounding may keep a few problems from reaching the gap.
const STEPS: usize = 80;

/// Yield of each job. A step is O(J + M K + M^3), for M distinct nodes that are short of processors, and K jobs on
/// each.
pub(in super::super) fn average_yields(
    nodes: u32,
    jobs: &[(&Need, &TaskPlaces)],
    ages: &[Age],
    found: f64,
) -> Vec<f64> {
    let least: Vec<f64> = ages.iter().map(|age| age.required_yield(found).min(1.0)).collect();
    let room = |row: &Vec<(usize, f64)>| 1.0 - row.iter().map(|(job, need)| need * least[*job]).sum::<f64>();
    // On a node with nothing to give beyond the pace, jobs get exactly what the pace requires.
    let (mut rows, full): (Vec<_>, Vec<_>) =
        short_rows(nodes, jobs).rows.into_iter().partition(|row| room(row) > TOLERANCE);
    let mut is_free: Vec<bool> = least.iter().map(|least| *least < 1.0 - TOLERANCE).collect();
    full.iter().flatten().for_each(|(job, _)| is_free[*job] = false);

    let mut shares: Vec<f64> = jobs.iter().map(|(_, places)| if places.is_empty() { 0.0 } else { 1.0 }).collect();
    let limited: Vec<usize> = concerned_jobs(jobs.len(), full.iter().chain(&rows));
    limited.iter().for_each(|job| shares[*job] = least[*job]);
    let columns: Vec<usize> = limited.into_iter().filter(|job| is_free[*job]).collect();

    // A node is not short either if none of its jobs can get more.
    rows.retain(|row| row.iter().any(|(job, _)| is_free[*job]));
    let limits: Vec<f64> = rows.iter().map(room).collect();
    for row in &mut rows {
        row.retain(|(job, _)| is_free[*job]);
        row.iter_mut().for_each(|(job, _)| *job = columns.partition_point(|column| column < job));
    }
    let program = StretchProgram {
        flow: pick_columns(&|job| ages[job].flow, &columns),
        done: pick_columns(&|job| ages[job].done + least[job], &columns),
        top: pick_columns(&|job| 1.0 - least[job], &columns),
        rows,
        limits,
    };
    columns.iter().zip(program.solve()).for_each(|(job, more)| shares[*job] += more);
    shares
}

fn pick_columns(of: &dyn Fn(usize) -> f64, columns: &[usize]) -> Vec<f64> {
    columns.iter().map(|job| of(*job)).collect::<Vec<f64>>()
}

/// Minimise the sum of `flow / (done + x)` with `0 <= x <= top` and limits on sums of `x`; no limit is empty, and all
/// are above 0.
struct StretchProgram {
    flow: Vec<f64>,
    done: Vec<f64>,
    top: Vec<f64>,
    rows: Vec<Vec<(usize, f64)>>,
    limits: Vec<f64>,
}

/// A point within all limits, and the price of each limit.
struct FeasiblePoint {
    x: Vec<f64>,
    prices: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
}

impl StretchProgram {
    fn solve(&self) -> Vec<f64> {
        let columns = self.flow.len();
        if columns == 0 {
            return Vec::new();
        }
        let mut at = self.begin();
        for _ in 0..STEPS {
            let slack = self.slack(&at.x);
            if self.cost(&at.x) - self.bound(&at.prices) <= GAP * self.cost(&at.x) {
                break;
            }
            // Mean of price times slack; each step aims at a fifth of it.
            let sum: f64 = dot_product(&at.prices, &slack)
                + dot_product(&at.low, &at.x)
                + (0..columns).map(|j| at.high[j] * (self.top[j] - at.x[j])).sum::<f64>();
            let aim = 0.2 * sum / (slack.len() + 2 * columns) as f64;
            if !self.step(&mut at, &slack, aim) {
                break;
            }
        }
        at.x
    }

    /// A starting point well within the limits, with consistent prices.
    fn begin(&self) -> FeasiblePoint {
        let ratios = self.rows.iter().zip(&self.limits).map(|(row, limit)| limit / weighted_sum(row, &self.top));
        let part = 0.5 * ratios.fold(1.0, f64::min);
        let x: Vec<f64> = self.top.iter().map(|top| part * top).collect();
        let slack = self.slack(&x);
        let aim = self.cost(&x) / (10 * (slack.len() + 2 * x.len())) as f64;
        FeasiblePoint {
            prices: slack.iter().map(|slack| aim / slack).collect(),
            low: x.iter().map(|x| aim / x).collect(),
            high: x.iter().zip(&self.top).map(|(x, top)| aim / (top - x)).collect(),
            x,
        }
    }

    /// A Newton step for the conditions `price x slack = aim`. False, without a step, if rounding makes it impossible.
    fn step(&self, at: &mut FeasiblePoint, slack: &[f64], aim: f64) -> bool {
        let columns = at.x.len();
        let mut curve = vec![0.0; columns];
        let mut pull = vec![0.0; columns];
        for j in 0..columns {
            let rest = self.done[j] + at.x[j];
            let above = self.top[j] - at.x[j];
            let fall = self.flow[j] / (rest * rest);
            curve[j] = 2.0 * fall / rest + at.low[j] / at.x[j] + at.high[j] / above;
            pull[j] = fall + aim / at.x[j] - aim / above;
        }
        for (row, slack) in self.rows.iter().zip(slack) {
            row.iter().for_each(|(j, need)| pull[*j] -= need * aim / slack);
        }

        // (curve + A' W A) dx = pull, reduced to a system with one equation per row.
        let count = self.rows.len();
        let mut matrix = vec![0.0; count * count];
        let mut right = vec![0.0; count];
        let mut spread = vec![0.0; columns];
        for (i, row) in self.rows.iter().enumerate() {
            row.iter().for_each(|(j, need)| spread[*j] = need / curve[*j]);
            right[i] = row.iter().map(|(j, _)| spread[*j] * pull[*j]).sum();
            for (k, other) in self.rows.iter().enumerate().take(i + 1) {
                matrix[i * count + k] = weighted_sum(other, &spread);
            }
            matrix[i * count + i] += slack[i] / at.prices[i];
            row.iter().for_each(|(j, _)| spread[*j] = 0.0);
        }
        solve_cholesky(&mut matrix, &mut right);
        for (row, by) in self.rows.iter().zip(&right) {
            row.iter().for_each(|(j, need)| pull[*j] -= need * by);
        }
        let dx: Vec<f64> = pull.iter().zip(&curve).map(|(pull, curve)| pull / curve).collect();
        if dx.iter().any(|dx| !dx.is_finite()) {
            return false;
        }
        let taken: Vec<f64> = self.rows.iter().map(|row| weighted_sum(row, &dx)).collect();

        let d_prices: Vec<f64> =
            (0..count).map(|i| (aim + at.prices[i] * taken[i]) / slack[i] - at.prices[i]).collect();
        let d_low: Vec<f64> = (0..columns).map(|j| (aim - at.low[j] * dx[j]) / at.x[j] - at.low[j]).collect();
        let d_high: Vec<f64> =
            (0..columns).map(|j| (aim + at.high[j] * dx[j]) / (self.top[j] - at.x[j]) - at.high[j]).collect();

        // Almost to the first limit, but not onto it.
        let above: Vec<f64> = self.top.iter().zip(&at.x).map(|(top, x)| top - x).collect();
        let length = step_length(&at.x, &dx)
            .min(step_length(&above, &negate_all(&dx)))
            .min(step_length(slack, &negate_all(&taken)));
        let price_length =
            step_length(&at.prices, &d_prices).min(step_length(&at.low, &d_low)).min(step_length(&at.high, &d_high));
        move_by(&mut at.x, &dx, length);
        move_by(&mut at.prices, &d_prices, price_length);
        move_by(&mut at.low, &d_low, price_length);
        move_by(&mut at.high, &d_high, price_length);
        true
    }

    fn slack(&self, x: &[f64]) -> Vec<f64> {
        self.rows.iter().zip(&self.limits).map(|(row, limit)| limit - weighted_sum(row, x)).collect()
    }

    fn cost(&self, x: &[f64]) -> f64 {
        (0..x.len()).map(|j| self.flow[j] / (self.done[j] + x[j])).sum()
    }

    /// Lower bound of the cost: jobs take what is best for them at these prices.
    fn bound(&self, prices: &[f64]) -> f64 {
        let mut price = vec![0.0; self.flow.len()];
        for (row, by) in self.rows.iter().zip(prices) {
            row.iter().for_each(|(j, need)| price[*j] += need * by);
        }
        (0..price.len())
            .map(|j| {
                self.flow[j] / (self.done[j] + self.wanted_yield(j, &price)) + price[j] * self.wanted_yield(j, &price)
            })
            .sum::<f64>()
            - dot_product(prices, &self.limits)
    }

    fn wanted_yield(&self, j: usize, price: &[f64]) -> f64 {
        ((self.flow[j] / price[j]).sqrt() - self.done[j]).max(0.0).min(self.top[j])
    }
}

fn negate_all(by: &[f64]) -> Vec<f64> {
    by.iter().map(|by| -by).collect::<Vec<f64>>()
}

fn dot_product(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn weighted_sum(row: &[(usize, f64)], x: &[f64]) -> f64 {
    row.iter().map(|(j, need)| need * x[*j]).sum()
}

/// Largest step length that keeps all numbers above 0.
fn step_length(from: &[f64], by: &[f64]) -> f64 {
    from.iter().zip(by).filter(|(_, by)| **by < 0.0).map(|(from, by)| -0.95 * from / by).fold(1.0, f64::min)
}

fn move_by(from: &mut [f64], by: &[f64], length: f64) {
    from.iter_mut().zip(by).for_each(|(from, by)| *from += length * by);
}

/// Solves a symmetric positive definite system in place, given the lower half.
fn solve_cholesky(matrix: &mut [f64], right: &mut [f64]) {
    let count = right.len();
    for i in 0..count {
        for k in 0..=i {
            let row = i * count;
            let other = k * count;
            let rest = matrix[row + k] - dot_product(&matrix[row..row + k], &matrix[other..other + k]);
            matrix[row + k] = if i == k { rest.sqrt() } else { rest / matrix[other + k] };
        }
        right[i] = (right[i] - dot_product(&matrix[i * count..i * count + i], &right[..i])) / matrix[i * count + i];
    }
    for i in (0..count).rev() {
        right[i] /= matrix[i * count + i];
        let by = right[i];
        (0..i).for_each(|k| right[k] -= matrix[i * count + k] * by);
    }
}
