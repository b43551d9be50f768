//! `opt=max` for a given mapping: each stretch is as low as the higher ones allow.
//!
//! The pace of all jobs rises together; when a node is full, its jobs keep their yields, and the others continue. The
//! load of a node is linear between the paces at which one of its jobs bends, so the pace at which it is full is
//! computed exactly.

use super::super::Need;
use super::super::room::TaskPlaces;
use super::Age;
use crate::grid::sharing::need::TOLERANCE;

/// Yield of each job, from pace `found` on. A round settles the jobs of at least one node, and updates only nodes of
/// these jobs: O(N + Q) per round, for N nodes and the sum Q of the squares of the numbers of jobs on these.
pub(in super::super) fn maximum_yields(
    nodes: u32,
    jobs: &[(&Need, &TaskPlaces)],
    ages: &[Age],
    found: f64,
) -> Vec<f64> {
    let mut on: Vec<Vec<(usize, f64)>> = vec![Vec::new(); nodes as usize];
    for (job, (need, places)) in jobs.iter().enumerate() {
        places.iter().for_each(|&(node, tasks)| on[node as usize].push((job, f64::from(tasks) * need.cpu)));
    }
    let mut shares = vec![1.0; jobs.len()];
    let mut is_rising: Vec<bool> = jobs.iter().map(|(_, places)| !places.is_empty()).collect();
    let mut pace = found;
    // Pace at which each node that is not full yet will be full.
    let mut full: Vec<f64> = on.iter().map(|on| full_at(on, &is_rising, &shares, ages, pace)).collect();
    loop {
        pace = full.iter().copied().fold(f64::INFINITY, f64::min);
        if pace == f64::INFINITY {
            return shares;
        }
        let mut settled = Vec::new();
        for (on, _) in on.iter().zip(&full).filter(|(_, full)| **full <= pace * (1.0 + TOLERANCE)) {
            for &(job, _) in on.iter().filter(|(job, _)| is_rising[*job]) {
                settled.push(job);
                shares[job] = ages[job].required_yield(pace).min(1.0);
            }
            on.iter().for_each(|(job, _)| is_rising[*job] = false);
        }
        for (node, _) in settled.into_iter().flat_map(|job| jobs[job].1) {
            let node = *node as usize;
            full[node] = full_at(&on[node], &is_rising, &shares, ages, pace);
        }
    }
}

/// The lowest pace, from this one on, at which a node is full; infinite if its jobs cannot fill it.
fn full_at(on: &[(usize, f64)], is_rising: &[bool], shares: &[f64], ages: &[Age], pace: f64) -> f64 {
    let rising = || on.iter().filter(|(job, _)| is_rising[*job]);
    let given_at = |pace: f64| -> f64 {
        on.iter()
            .map(|(job, need)| {
                need * if is_rising[*job] { ages[*job].required_yield(pace).min(1.0) } else { shares[*job] }
            })
            .sum()
    };
    let mut bends: Vec<f64> =
        rising().flat_map(|(job, _)| ages[*job].yield_range()).filter(|bend| *bend > pace).collect();
    if bends.is_empty() || rising().next().is_none() {
        return f64::INFINITY;
    }
    bends.sort_unstable_by(f64::total_cmp);

    let mut from = pace;
    let mut given = given_at(pace);
    if given >= 1.0 - TOLERANCE {
        return from;
    }
    for bend in bends {
        let next = given_at(bend);
        if next > 1.0 + TOLERANCE {
            return from + (1.0 - given) / (next - given) * (bend - from);
        }
        (from, given) = (bend, next);
    }
    f64::INFINITY
}
