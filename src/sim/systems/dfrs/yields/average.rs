//! `opt=avg`: the highest sum of yields, none of which is below what all can get.
//!
//! A linear program with bounds: maximise the sum of `w_j y_j` where `base <= y_j <= 1` and no node exceeds its
//! capacity. The weights `w_j` are 1, plus a little more for earlier jobs, so that the optimum is unique.
//!
//! It is solved by the simplex method for bounded variables, on a tableau of the non-basic columns. It begins at `y_j =
//! base`, which is feasible, so there is no first phase. Termination and correctness: each step either raises the sum
//! or, by Bland's rule, is one of finitely many between two such; and if no reduced weight is positive, raising any
//! variable from its bound cannot raise the sum, so in a linear program nothing can. Only `+ - * /` are needed, so
//! platforms agree.
//!
//! An external solver would have to build the whole program at each event. Here most of it is removed first: nodes that
//! are not short, duplicates of nodes (a wide job makes many), and jobs on no remaining node, which get 1. Cost: a step
//! is O(rows x jobs) of the rest, and there are about as many steps as rows and jobs.
//!
//! Compared with solvers in Rust on 1,221 programs of two runs on 128 nodes (in us per program, with all nodes and with
//! only those that remain here): ours 15; microlp 0.2 and minilp 0.2, which are simplex methods too, 113 and 46;
//! clarabel 0.9, an interior-point method, 267 and 100. The sums of the first three agree to 2e-14, clarabel's to 6e-8.
//! None is worth its weight.

use super::super::Need;
use super::super::room::TaskPlaces;
use super::{YieldLimits, concerned_jobs, short_rows};

/// Excess of the weight of the first job over that of the last.
const PREFERENCE: f64 = 1e-6;

pub(in super::super) fn average_yields(nodes: u32, jobs: &[(&Need, &TaskPlaces)]) -> Vec<f64> {
    let YieldLimits { rows, base } = short_rows(nodes, jobs);
    let columns = concerned_jobs(jobs.len(), &rows);
    let running: Vec<usize> = (0..jobs.len()).filter(|job| !jobs[*job].1.is_empty()).collect();
    let count = running.len() as f64;
    let weights = columns
        .iter()
        .map(|job| 1.0 + PREFERENCE * (count - running.partition_point(|other| other < job) as f64) / count)
        .collect();

    let mut program = LinearProgram::new(weights, 1.0 - base);
    for row in &rows {
        let asks = row.iter().map(|(job, ask)| (columns.partition_point(|column| column < job), *ask));
        let room = 1.0 - base * row.iter().map(|ask| ask.1).sum::<f64>();
        program.limit(asks, room.max(0.0));
    }
    let raised = program.solve();

    let mut shares: Vec<f64> = jobs.iter().map(|(_, places)| if places.is_empty() { 0.0 } else { 1.0 }).collect();
    columns.iter().zip(raised).for_each(|(job, raised)| shares[*job] = (base + raised).clamp(base, 1.0));
    shares
}

/// Maximise a weighted sum of variables, each from 0 to `top`, under limits on sums of them.
struct LinearProgram {
    columns: usize,
    top: f64,
    /// Row by row: decrease of a basic variable per unit of a non-basic one.
    slopes: Vec<f64>,
    /// Values of the basic variables of the linear program.
    values: Vec<f64>,
    /// Gain of the sum per unit of each non-basic variable.
    gains: Vec<f64>,
    /// Basic variables, and non-basic ones. The program's variables come first, then the slack of each limit.
    inside: Vec<usize>,
    outside: Vec<usize>,
    /// True for variables that are counted down from their top.
    flipped: Vec<bool>,
}

/// Slopes and gains below this are rounding errors.
const NOTHING: f64 = 1e-11;

impl LinearProgram {
    fn new(weights: Vec<f64>, top: f64) -> LinearProgram {
        let columns = weights.len();
        LinearProgram {
            columns,
            top,
            slopes: Vec::new(),
            values: Vec::new(),
            gains: weights,
            inside: Vec::new(),
            outside: (0..columns).collect(),
            flipped: vec![false; columns],
        }
    }

    fn limit(&mut self, asks: impl Iterator<Item = (usize, f64)>, room: f64) {
        let begin = self.slopes.len();
        self.slopes.resize(begin + self.columns, 0.0);
        asks.for_each(|(column, ask)| self.slopes[begin + column] = ask);
        self.inside.push(self.columns + self.values.len());
        self.values.push(room);
    }

    fn solve(mut self) -> Vec<f64> {
        // Consecutive steps that have not raised the sum; after this many, Bland's rule prevents cycling.
        let mut idle = 0;
        let patience = self.values.len() + self.columns;
        while let Some(column) = self.entering(idle > patience) {
            let (step, row) = self.longest_step(column, idle > patience);
            match row {
                Some((row, at_top)) => {
                    if at_top {
                        self.flip_inside(row);
                    }
                    self.pivot(row, column);
                }
                None => self.flip_outside(column),
            }
            idle = if step > NOTHING { 0 } else { idle + 1 };
        }

        let mut result = vec![0.0; self.columns];
        for (variable, result) in result.iter_mut().enumerate() {
            *result = if self.flipped[variable] { self.top } else { 0.0 };
        }
        for (variable, value) in self.inside.iter().zip(&self.values).filter(|(variable, _)| **variable < self.columns)
        {
            result[*variable] = if self.flipped[*variable] { self.top - value } else { *value };
        }
        result
    }

    /// Entering variable: the one with the largest gain or, by Bland's rule, the first with a gain.
    fn entering(&self, by_bland: bool) -> Option<usize> {
        let gaining = (0..self.columns).filter(|column| self.gains[*column] > NOTHING);
        if by_bland {
            return gaining.min_by_key(|column| self.outside[*column]);
        }
        gaining.reduce(|best, column| if self.gains[column] > self.gains[best] { column } else { best })
    }

    /// Largest step of a variable, and the row that limits it, with true if that row's variable is then at its top; no
    /// row if the variable reaches its own top first.
    fn longest_step(&self, column: usize, by_bland: bool) -> (f64, Option<(usize, bool)>) {
        let mut best = (self.bound(self.outside[column]), None);
        for (row, value) in self.values.iter().enumerate() {
            let slope = self.slopes[row * self.columns + column];
            let (step, at_top) = match slope {
                slope if slope > NOTHING => (value.max(0.0) / slope, false),
                slope if slope < -NOTHING => ((self.bound(self.inside[row]) - value).max(0.0) / -slope, true),
                _ => continue,
            };
            if step < best.0
                || step == best.0 && best.1.is_some_and(|(other, _)| by_bland && self.inside[row] < self.inside[other])
            {
                best = (step, Some((row, at_top)));
            }
        }
        best
    }

    fn bound(&self, variable: usize) -> f64 {
        if variable < self.columns { self.top } else { f64::INFINITY }
    }

    /// Measures a basic variable from its other bound.
    fn flip_inside(&mut self, row: usize) {
        let variable = self.inside[row];
        self.flipped[variable] = !self.flipped[variable];
        self.values[row] = self.top - self.values[row];
        self.slopes[row * self.columns..(row + 1) * self.columns].iter_mut().for_each(|slope| *slope = -*slope);
    }

    /// Moves a non-basic variable to its other bound.
    fn flip_outside(&mut self, column: usize) {
        let variable = self.outside[column];
        self.flipped[variable] = !self.flipped[variable];
        self.gains[column] = -self.gains[column];
        for (row, value) in self.values.iter_mut().enumerate() {
            let slope = &mut self.slopes[row * self.columns + column];
            *value -= *slope * self.top;
            *slope = -*slope;
        }
    }

    /// Exchanges the variables of a row and of a column.
    fn pivot(&mut self, row: usize, column: usize) {
        let width = self.columns;
        let inverse = 1.0 / self.slopes[row * width + column];
        self.values[row] *= inverse;
        self.slopes[row * width..(row + 1) * width].iter_mut().for_each(|slope| *slope *= inverse);
        self.slopes[row * width + column] = inverse;
        let value = self.values[row];
        let pivot_row = self.slopes[row * width..(row + 1) * width].to_vec();
        for other in (0..self.values.len()).filter(|other| *other != row) {
            let slopes = &mut self.slopes[other * width..(other + 1) * width];
            let factor = slopes[column];
            if factor != 0.0 {
                slopes.iter_mut().zip(&pivot_row).for_each(|(slope, by)| *slope -= factor * by);
                slopes[column] = -factor * inverse;
                self.values[other] -= factor * value;
            }
        }
        let factor = self.gains[column];
        self.gains.iter_mut().zip(&pivot_row).for_each(|(gain, by)| *gain -= factor * by);
        self.gains[column] = -factor * inverse;
        std::mem::swap(&mut self.inside[row], &mut self.outside[column]);
    }
}
