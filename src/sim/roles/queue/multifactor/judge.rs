//! Slow form of the priorities, for the judge of queue policies: computed anew from all that has run.
//!
//! Usage does not decay here, so all numbers are exact. Jobs have their options by their numbers.

use std::cmp::Ordering;
use std::sync::Arc;

use super::super::trial::Rigid;
use super::MultifactorRules;
use super::tests::facts_of_options;
use crate::grid::{AccountShares, Multifactor, PartitionFactor, QosLevel, Shares, UserShares};
use crate::time::Span;

/// Seconds after which ranks are computed anew.
pub const PERIOD: u64 = 5;
const WEIGHT: f64 = 64.0;
const MAX_AGE: u64 = 32;
/// Most jobs of a story.
const JOBS_MAX: usize = 64;

/// Accounts with their shares, and users with their accounts; all users have one share. The last one is the root.
const ACCOUNTS: [(&str, u64); 2] = [("lab", 1), ("chem", 2)];
const USERS: [(&str, &str); 4] = [("ann", "lab"), ("bob", "lab"), ("cid", "chem"), ("root", "")];

fn user_of(job: usize) -> usize {
    job * 7 % 5 % 4
}

fn is_high(job: usize) -> bool {
    job % 3 == 1
}

fn is_debug(job: usize) -> bool {
    job % 11 == 5
}

fn nice_of(job: usize) -> u32 {
    if job % 4 == 2 { 20 } else { 0 }
}

fn options_of(job: usize) -> String {
    let qos = if is_high(job) { "high" } else { "low" };
    let partition = if is_debug(job) { " -p debug" } else { "" };
    format!("--uid={} -q {qos} --nice={}{partition}", USERS[user_of(job)].0, nice_of(job))
}

fn partition_of_tier(name: &str, tier: u32) -> PartitionFactor {
    PartitionFactor { name: name.to_owned(), factor: 1, tier }
}

fn qos_of_priority(name: &str, priority: u32) -> QosLevel {
    QosLevel { name: name.to_owned(), priority, ..QosLevel::default() }
}

fn account_with_shares(name: &str, shares: u64) -> AccountShares {
    AccountShares { name: name.to_owned(), shares: Shares::Count(shares as u32), ..AccountShares::default() }
}

fn member_of_account(name: &str, account: &str) -> UserShares {
    UserShares { name: name.to_owned(), account: account.to_owned(), ..UserShares::default() }
}

/// The rules that [`judged_rank`] is the slow form of.
pub fn judged_rules(nodes: u32) -> Arc<MultifactorRules> {
    let weight = WEIGHT as u64;
    let settings = Multifactor {
        age: weight,
        fair_share: weight,
        job_size: weight,
        partition: weight,
        qos: weight,
        max_age: Span::from_secs(MAX_AGE),
        half_life: Span::ZERO,
        calc_period: Span::from_secs(PERIOD),
        partitions: vec![partition_of_tier("main", 1), partition_of_tier("debug", 2)],
        qos_levels: vec![qos_of_priority("low", 1), qos_of_priority("high", 4)],
        accounts: ACCOUNTS.iter().map(|(name, shares)| account_with_shares(name, *shares)).collect(),
        users: USERS.iter().take(3).map(|(name, account)| member_of_account(name, account)).collect(),
        ..Multifactor::default()
    };
    let options: Vec<String> = (0..JOBS_MAX).map(options_of).collect();
    Arc::new(MultifactorRules::new(settings, nodes, facts_of_options(&options)))
}

/// Tier and priority of a job in a second, after these starts of jobs.
pub fn judged_rank(job: usize, jobs: &[Rigid], starts: &[Option<u64>], nodes: u32, now: u64) -> (u32, u32) {
    let ranked_at = now / PERIOD * PERIOD;
    let age = ranked_at.saturating_sub(jobs[job].submit.micros() / 1_000_000).min(MAX_AGE);
    let mut usage = [0; USERS.len()];
    for (other, start) in starts.iter().enumerate() {
        let Some(start) = start else { continue };
        let end = start + jobs[other].runtime.min(jobs[other].walltime).micros() / 1_000_000;
        usage[user_of(other)] += u64::from(jobs[other].nodes) * end.min(ranked_at).saturating_sub(*start);
    }
    let share = judged_shares(&usage)[user_of(job)];
    let qos = if is_high(job) { 1.0 } else { 0.25 };
    let size = f64::from(jobs[job].nodes) / f64::from(nodes);
    let priority = WEIGHT * (age as f64 / MAX_AGE as f64 + share + size + 1.0 + qos) - f64::from(nice_of(job));
    (if is_debug(job) { 2 } else { 1 }, priority.max(1.0) as u32)
}

/// Order of two pairs (usage, shares) by shares divided by usage, the largest quotient first.
fn compare_quotients(a: (u64, u64), b: (u64, u64)) -> Ordering {
    (a.0 * b.1).cmp(&(b.0 * a.1))
}

/// Fair tree: the level of the root has its user and the accounts, whose level has their users.
fn judged_shares(usage: &[u64; USERS.len()]) -> [f64; USERS.len()] {
    // Usage and shares of the user of the root, and of the accounts, with the members of each.
    let mut level: Vec<((u64, u64), Vec<usize>)> = vec![((usage[3], 1), vec![3])];
    for (account, shares) in ACCOUNTS {
        let members: Vec<usize> = (0..USERS.len()).filter(|user| USERS[*user].1 == account).collect();
        level.push(((members.iter().map(|user| usage[*user]).sum(), shares), members));
    }
    level.sort_by(|a, b| compare_quotients(a.0, b.0));
    let mut factors = [0.0; USERS.len()];
    let mut rank = USERS.len();
    let mut next_rank = USERS.len();
    for place in 0..level.len() {
        let is_tied = place > 0 && compare_quotients(level[place - 1].0, level[place].0).is_eq();
        let mut users = level[place].1.clone();
        users.sort_by_key(|user| usage[*user]);
        for (at, user) in users.iter().enumerate() {
            let is_like_the_last = if at == 0 { is_tied } else { usage[users[at - 1]] == usage[*user] };
            if !is_like_the_last {
                rank = next_rank;
            }
            factors[*user] = rank as f64 / USERS.len() as f64;
            next_rank -= 1;
        }
    }
    factors
}
