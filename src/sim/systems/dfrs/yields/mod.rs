//! Yield of each job, for a given mapping. Section 4.3 of the paper.

mod average;

use super::Need;
use super::room::TaskPlaces;
use crate::grid::sharing::need::TOLERANCE;
pub(super) use average::average_yields;

/// Relative difference of two nodes' shares that counts as none.
const SAME: f64 = 1e-9;

/// `opt=min`: all yields rise together; when a node is full, its jobs keep their yields and the others rise on. Jobs on
/// no node get 0.
///
/// Each round settles all jobs of a node, so O(R + N) for R tasks and N nodes, times the number of distinct yields.
pub(super) fn minimum_yields(nodes: u32, jobs: &[(&Need, &TaskPlaces)]) -> Vec<f64> {
    let mut shares = vec![0.0; jobs.len()];
    let mut rising: Vec<usize> = (0..jobs.len()).filter(|job| !jobs[*job].1.is_empty()).collect();
    let mut left = vec![1.0; nodes as usize];
    let mut load = vec![0.0; nodes as usize];
    while !rising.is_empty() {
        // Sums are recomputed, so that subtraction leaves no rounding errors.
        load.fill(0.0);
        for &job in &rising {
            let (need, places) = jobs[job];
            places.iter().for_each(|&(node, tasks)| load[node as usize] += f64::from(tasks) * need.cpu);
        }
        let lowest = (0..load.len())
            .filter(|node| load[*node] > 0.0)
            .map(|node| largest_yield(node, &left, &load))
            .fold(1.0, f64::min);
        if lowest >= 1.0 {
            rising.iter().for_each(|job| shares[*job] = 1.0);
            return shares;
        }
        let is_full: Vec<bool> = (0..load.len())
            .map(|node| load[node] > 0.0 && largest_yield(node, &left, &load) <= lowest * (1.0 + SAME))
            .collect();
        rising.retain(|&job| {
            let (need, places) = jobs[job];
            let stays = places.iter().any(|(node, _)| is_full[*node as usize]);
            if stays {
                shares[job] = lowest.max(0.0);
                places.iter().for_each(|&(node, tasks)| left[node as usize] -= lowest * f64::from(tasks) * need.cpu);
            }
            !stays
        });
    }
    shares
}

fn largest_yield(node: usize, left: &[f64], load: &[f64]) -> f64 {
    left[node] / load[node]
}

/// Limits of the yields of a mapping.
pub(super) struct YieldLimits {
    /// Demands of the jobs of each node that is short, one row per distinct node.
    pub rows: Vec<Vec<(usize, f64)>>,
    /// Yield that every job can get: 1 over the highest load, if that exceeds 1.
    pub base: f64,
}

pub(super) fn short_rows(nodes: u32, jobs: &[(&Need, &TaskPlaces)]) -> YieldLimits {
    let mut asked: Vec<Vec<(usize, f64)>> = vec![Vec::new(); nodes as usize];
    for (job, (need, places)) in jobs.iter().enumerate() {
        places.iter().for_each(|&(node, tasks)| asked[node as usize].push((job, f64::from(tasks) * need.cpu)));
    }
    let base = 1.0 / asked.iter().map(|one| row_load(one)).fold(1.0, f64::max);
    asked.retain(|asked| row_load(asked) > 1.0 + TOLERANCE);
    // Needs are positive, so their bits sort like their values.
    asked.sort_unstable_by(|a, b| a.iter().map(row_bits).cmp(b.iter().map(row_bits)));
    asked.dedup();
    YieldLimits { rows: asked, base }
}

fn row_load(asked: &[(usize, f64)]) -> f64 {
    asked.iter().map(|ask| ask.1).sum::<f64>()
}

fn row_bits((job, ask): &(usize, f64)) -> (usize, u64) {
    (*job, ask.to_bits())
}

/// Jobs with a demand in some of these rows, ascending.
pub(super) fn concerned_jobs<'a>(jobs: usize, rows: impl IntoIterator<Item = &'a Vec<(usize, f64)>>) -> Vec<usize> {
    let mut is_concerned = vec![false; jobs];
    rows.into_iter().flatten().for_each(|(job, _)| is_concerned[*job] = true);
    (0..jobs).filter(|job| is_concerned[*job]).collect()
}
