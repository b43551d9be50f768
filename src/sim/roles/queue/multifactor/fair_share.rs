//! Fair share of Slurm: usage of accounts and users, and the factor of each user.
//!
//! Two formulas, as the source of Slurm 22.05 has them. *Fair tree* (`fair_tree.c`) sorts the members of an account by
//! shares / usage, level by level, and a user's factor is its place in the list of all users. The *classic* one is
//! 2^(-usage / shares), with the usage of an account spread over its members by their shares.
//!
//! In fair tree, Slurm's documentation merges accounts of one level that have equal quotients. Its source never does
//! (`_count_tied_accounts` stops at the first account): the first user of the second account gets the rank of the last
//! user of the first one. So it is here.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::grid::{AccountShares, Multifactor, Shares};
use crate::math::pow;

/// Name of the account above all others, and of the user that it has in Slurm.
const ROOT: &str = "root";

/// Quotient of an account that is not ranked itself: Slurm's `NO_VAL`.
const UNRANKED: f64 = 4_294_967_294.0;

/// An account, or a user of an account; Slurm calls both associations.
#[derive(Debug)]
struct Association {
    /// None for the root.
    parent: Option<usize>,
    is_user: bool,
    shares: Shares,
    /// Nearest association above it that has shares of its own.
    shares_above: usize,
    /// Associations of which this one is `shares_above`.
    members: Vec<usize>,
    /// Sum of the shares of its members.
    member_shares: u64,
    /// Its part of the shares of its level; in the classic formula, of all shares.
    shares_norm: f64,
}

/// Accounts and users that share a site. They do not change during a run.
#[derive(Debug)]
pub(super) struct ShareTree {
    /// Parents before children; the root is the first.
    associations: Vec<Association>,
    /// Indices by account and user; accounts have the empty user.
    by_name: BTreeMap<(String, String), usize>,
    /// Account of jobs that name none, by user.
    usual_accounts: BTreeMap<String, String>,
    /// Number of associations of users.
    users: usize,
    is_fair_tree: bool,
    dampening: f64,
}

/// Usage of a share tree. `charge` adds to it, `decay` lets it count less, `refresh` computes the factors.
#[derive(Clone, Debug)]
pub(super) struct FairShare {
    tree: Arc<ShareTree>,
    /// Decayed core seconds of each association, with those below it.
    usage: Vec<f64>,
    /// Factor of each association of a user, as of the last refresh.
    factors: Vec<f64>,
}

impl ShareTree {
    /// The accounts and users of the settings, and of these owners of jobs. Those that are not listed have one share.
    pub fn new(settings: &Multifactor, owners: &[(Option<String>, Option<String>)]) -> ShareTree {
        let mut tree = ShareTree {
            associations: Vec::new(),
            by_name: BTreeMap::new(),
            usual_accounts: BTreeMap::new(),
            users: 0,
            is_fair_tree: settings.fair_tree,
            dampening: f64::from(settings.dampening),
        };
        tree.add(ROOT, "", None, Shares::Count(1));
        let listed_root = settings.users.iter().find(|user| user.name == ROOT && user.account.is_empty());
        tree.add_user(ROOT, ROOT, listed_root.map_or(Shares::Count(1), |root| root.shares));
        for account in &settings.accounts {
            tree.add_listed(&account.name, &settings.accounts);
        }
        for user in &settings.users {
            let account = account_or_root(&user.account);
            tree.usual_accounts.entry(user.name.clone()).or_insert_with(|| account.to_owned());
            tree.add_listed(account, &settings.accounts);
            tree.add_user(account, &user.name, user.shares);
        }
        for (user, account) in owners {
            let (account, user) = tree.association_names(user.as_deref(), account.as_deref());
            tree.add_listed(&account, &settings.accounts);
            tree.add_user(&account, &user, Shares::Count(1));
        }
        tree.link_levels();
        tree
    }

    /// Account and user to which a job is charged.
    fn association_names(&self, user: Option<&str>, account: Option<&str>) -> (String, String) {
        let user = user.unwrap_or(ROOT);
        let usual = self.usual_accounts.get(user).map(String::as_str);
        (account.or(usual).unwrap_or(ROOT).to_owned(), user.to_owned())
    }

    /// Association of a job; the root if there is none.
    pub fn find(&self, user: Option<&str>, account: Option<&str>) -> usize {
        self.by_name.get(&self.association_names(user, account)).copied().unwrap_or(0)
    }

    /// Adds an account with those above it, unless it is there. An account that is not listed is below the root.
    fn add_listed(&mut self, name: &str, listed: &[AccountShares]) {
        let mut path = Vec::new();
        let mut next = name;
        while !self.by_name.contains_key(&(next.to_owned(), String::new())) && path.len() <= listed.len() {
            let found = listed.iter().find(|account| account.name == next);
            path.push((next, found.map_or(Shares::Count(1), |account| account.shares)));
            next = found.map_or(ROOT, |account| account_or_root(&account.parent));
        }
        let mut parent = self.by_name.get(&(next.to_owned(), String::new())).copied().unwrap_or(0);
        for (name, shares) in path.into_iter().rev() {
            parent = self.add(name, "", Some(parent), shares);
        }
    }

    fn add_user(&mut self, account: &str, user: &str, shares: Shares) {
        let parent = self.by_name.get(&(account.to_owned(), String::new())).copied().unwrap_or(0);
        if !self.by_name.contains_key(&(account.to_owned(), user.to_owned())) {
            self.add(account, user, Some(parent), shares);
            self.users += 1;
        }
    }

    fn add(&mut self, account: &str, user: &str, parent: Option<usize>, shares: Shares) -> usize {
        let index = self.associations.len();
        self.by_name.insert((account.to_owned(), user.to_owned()), index);
        let is_user = !user.is_empty();
        let members = Vec::new();
        let association =
            Association { parent, is_user, shares, shares_above: 0, members, member_shares: 0, shares_norm: 1.0 };
        self.associations.push(association);
        index
    }

    /// Finds the levels, on each of which shares are compared, and the part of each association.
    fn link_levels(&mut self) {
        for index in 1..self.associations.len() {
            let mut above = self.associations[index].parent.unwrap_or(0);
            while self.associations[above].shares == Shares::Parent && above > 0 {
                above = self.associations[above].parent.unwrap_or(0);
            }
            self.associations[index].shares_above = above;
            let own = self.associations[index].shares.as_count();
            self.associations[above].members.push(index);
            self.associations[above].member_shares += own;
        }
        let level_parts: Vec<f64> = (0..self.associations.len()).map(|index| self.level_part(index)).collect();
        for index in 1..self.associations.len() {
            let association = &self.associations[index];
            let above = association.shares_above;
            let norm = match (association.shares, self.is_fair_tree) {
                (Shares::Parent, true) => level_parts[above],
                (Shares::Parent, false) => self.associations[above].shares_norm,
                (Shares::Count(_), true) => level_parts[index],
                (Shares::Count(_), false) => level_parts[index] * self.associations[above].shares_norm,
            };
            self.associations[index].shares_norm = norm;
        }
    }

    /// Part of an association of the shares of its level; 1 for the root.
    fn level_part(&self, index: usize) -> f64 {
        let Shares::Count(own) = self.associations[index].shares else { return 0.0 };
        let level = self.level_shares(index);
        if index == 0 {
            1.0
        } else if level == 0 {
            0.0
        } else {
            f64::from(own) / level as f64
        }
    }

    /// Sum of the shares on the level of an association.
    fn level_shares(&self, index: usize) -> u64 {
        self.associations[self.associations[index].shares_above].member_shares
    }
}

impl Shares {
    fn as_count(self) -> u64 {
        match self {
            Shares::Count(shares) => shares.into(),
            Shares::Parent => 0,
        }
    }
}

fn account_or_root(name: &str) -> &str {
    if name.is_empty() { ROOT } else { name }
}

impl FairShare {
    pub fn new(tree: Arc<ShareTree>) -> FairShare {
        let count = tree.associations.len();
        let mut fair_share = FairShare { tree, usage: vec![0.0; count], factors: vec![0.0; count] };
        fair_share.refresh();
        fair_share
    }

    /// Factor of an association, from 0 to 1.
    pub fn factor(&self, association: usize) -> f64 {
        self.factors[association]
    }

    #[cfg(test)]
    pub fn used(&self, association: usize) -> f64 {
        self.usage[association]
    }

    /// Adds usage to an association and all above it. O(depth).
    pub fn charge(&mut self, association: usize, core_seconds: f64) {
        let mut next = Some(association);
        while let Some(index) = next {
            self.usage[index] += core_seconds;
            next = self.tree.associations[index].parent;
        }
    }

    /// Multiplies all usage with a factor. O(associations).
    pub fn decay(&mut self, factor: f64) {
        self.usage.iter_mut().for_each(|usage| *usage *= factor);
    }

    /// Computes the factors of all users. O(associations log associations).
    pub fn refresh(&mut self) {
        if self.tree.is_fair_tree {
            let mut ranks = FairTreeRanks { fair_share: self, rank: 0, next_rank: 0, factors: Vec::new() };
            ranks.rank = ranks.fair_share.tree.users;
            ranks.next_rank = ranks.rank;
            ranks.factors = vec![0.0; self.usage.len()];
            ranks.walk_level(&self.tree.associations[0].members, false);
            self.factors = ranks.factors;
        } else {
            self.factors = self.classic_factors();
        }
    }

    /// Usage of an association as a part of that of the association above; 0 if that has none.
    fn level_usage(&self, index: usize) -> f64 {
        let above = self.usage[self.tree.associations[index].shares_above];
        if above == 0.0 { 0.0 } else { self.usage[index] / above }
    }

    /// Shares / usage of an association on its level. Above 1 it is under-served.
    fn level_quotient(&self, index: usize) -> f64 {
        let association = &self.tree.associations[index];
        match association.shares {
            Shares::Parent if association.is_user => f64::INFINITY,
            // Such an account has no members: those are on the level of the account above.
            Shares::Parent => UNRANKED,
            Shares::Count(_) if association.shares_norm == 0.0 => 0.0,
            Shares::Count(_) => association.shares_norm / self.level_usage(index),
        }
    }

    fn classic_factors(&self) -> Vec<f64> {
        let associations = &self.tree.associations;
        let all = self.usage[0];
        let mut effective = vec![1.0; associations.len()];
        for (index, association) in associations.iter().enumerate().skip(1) {
            let norm = if all == 0.0 { 0.0 } else { (self.usage[index] / all).min(1.0) };
            let above = effective[association.shares_above];
            effective[index] = match association.shares {
                _ if association.shares_above == 0 => norm,
                Shares::Parent => above,
                Shares::Count(own) => match self.tree.level_shares(index) {
                    0 => above,
                    level => norm + (above - norm) * (f64::from(own) / level as f64),
                },
            };
        }
        let factors = associations.iter().enumerate().map(|(index, association)| {
            let counted = if association.shares == Shares::Parent { association.shares_above } else { index };
            let shares = associations[counted].shares_norm;
            if shares <= 0.0 { 0.0 } else { pow(2.0, -((effective[counted] / shares) / self.tree.dampening)) }
        });
        factors.collect()
    }
}

/// Ranks of users in a walk through a fair tree.
struct FairTreeRanks<'a> {
    fair_share: &'a FairShare,
    rank: usize,
    /// Rank of the next user that is not tied with the one before.
    next_rank: usize,
    factors: Vec<f64>,
}

impl FairTreeRanks<'_> {
    /// Ranks the users below these associations. With `is_tied`, their account has the quotient of the one before.
    fn walk_level(&mut self, members: &[usize], is_tied: bool) {
        let fair_share = self.fair_share;
        let associations = &fair_share.tree.associations;
        let mut level: Vec<(f64, usize)> =
            members.iter().map(|index| (fair_share.level_quotient(*index), *index)).collect();
        level.sort_by(|a, b| {
            b.0.total_cmp(&a.0).then_with(|| associations[b.1].is_user.cmp(&associations[a.1].is_user))
        });
        let mut before = None;
        for (place, (quotient, index)) in level.into_iter().enumerate() {
            let is_tied = if place == 0 { is_tied } else { before == Some(quotient) };
            before = Some(quotient);
            if associations[index].is_user {
                if !is_tied {
                    self.rank = self.next_rank;
                }
                self.factors[index] = self.rank as f64 / fair_share.tree.users as f64;
                self.next_rank -= 1;
            } else {
                self.walk_level(&associations[index].members, is_tied);
            }
        }
    }
}
