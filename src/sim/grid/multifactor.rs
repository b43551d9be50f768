//! Settings of the order `multifactor`: the priorities of Slurm's plug-in `priority/multifactor`.

use serde::Serialize;

use crate::time::Span;

/// Weights and rules by which a queue ranks its jobs, and the accounts that share the site.
///
/// Names of keys are near those of `slurm.conf`. Defaults are those of Slurm 22.05, in which all weights are zero.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Multifactor {
    /// Weights of the factors, each of which is from 0 to 1.
    pub age: u64,
    pub fair_share: u64,
    pub job_size: u64,
    pub partition: u64,
    pub qos: u64,
    /// Wait at which the age factor is 1.
    pub max_age: Span,
    /// Time after which usage counts half; zero if it counts forever.
    pub half_life: Span,
    /// Period after which usage is charged and all ranks are computed anew.
    pub calc_period: Span,
    /// True for the fair tree, false for the classic formula.
    pub fair_tree: bool,
    /// Divisor of the usage in the classic formula.
    pub dampening: u32,
    /// True if small jobs have the larger size factor.
    pub favor_small: bool,
    /// True if sizes are divided by walltimes.
    pub relative_to_time: bool,
    /// Number of nodes, which share the cores of the site; 0 for a node a core.
    pub nodes: u32,
    pub partitions: Vec<PartitionFactor>,
    pub qos_levels: Vec<QosLevel>,
    pub accounts: Vec<AccountShares>,
    pub users: Vec<UserShares>,
}

/// Rank of the jobs of a partition. The first one is that of jobs that name none.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PartitionFactor {
    pub name: String,
    /// Priority factor, relative to the largest of all partitions.
    pub factor: u32,
    /// Jobs of a higher tier precede all others, for any priority.
    pub tier: u32,
}

/// Rank of the jobs of a quality of service.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QosLevel {
    pub name: String,
    /// Priority, relative to the largest of all levels.
    pub priority: u32,
    /// Factor of the usage of its jobs, in millionths.
    pub usage_factor_millionths: u64,
}

/// Shares of an account among its siblings.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AccountShares {
    pub name: String,
    /// Account that it belongs to; empty for the root.
    pub parent: String,
    pub shares: Shares,
}

/// Shares of a user among the members of an account.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct UserShares {
    pub name: String,
    /// Account of the user; empty for the root. The first one of a user is that of jobs that name none.
    pub account: String,
    pub shares: Shares,
    /// Quality of service of jobs that name none; empty for none.
    pub qos: String,
}

/// Shares among siblings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Shares {
    Count(u32),
    /// Usage and shares are those of the account above.
    Parent,
}

impl Default for QosLevel {
    fn default() -> QosLevel {
        QosLevel { name: String::new(), priority: 0, usage_factor_millionths: 1_000_000 }
    }
}

impl Default for Shares {
    fn default() -> Shares {
        Shares::Count(1)
    }
}

impl Default for Multifactor {
    fn default() -> Multifactor {
        Multifactor {
            age: 0,
            fair_share: 0,
            job_size: 0,
            partition: 0,
            qos: 0,
            max_age: Span::from_secs(7 * 86_400),
            half_life: Span::from_secs(7 * 86_400),
            calc_period: Span::from_secs(300),
            fair_tree: true,
            dampening: 1,
            favor_small: false,
            relative_to_time: false,
            nodes: 0,
            partitions: Vec::new(),
            qos_levels: Vec::new(),
            accounts: Vec::new(),
            users: Vec::new(),
        }
    }
}

impl Multifactor {
    /// Sum of the weights; if it is zero, all jobs have one rank.
    pub fn weights(&self) -> u64 {
        [self.age, self.fair_share, self.job_size, self.partition, self.qos].into_iter().fold(0, u64::saturating_add)
    }
}
