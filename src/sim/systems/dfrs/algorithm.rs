//! The algorithms of the paper: actions at a submission, at a completion, and every period.

use std::fmt;

use super::mcb8::LOWEST;
use super::name::{NameError, NameReader};
use crate::grid::{Images, MoveCost, PenaltyRule};
use crate::time::Span;
use crate::words::words;

/// An algorithm of the paper, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// A queue without backfilling, on whole nodes.
    Fcfs,
    /// A queue with backfilling behind one reservation, on whole nodes.
    Easy,
    Dfrs(Fractional),
}

/// Actions of an algorithm that shares nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fractional {
    /// Action at a submission.
    pub submission: Action,
    /// Action at a completion.
    pub completion: Action,
    pub periodic: Option<Periodic>,
    pub optimise: Optimise,
    pub grace: Option<Grace>,
    pub priority: Priority,
    pub sort: Sort,
    pub virtual_time: VirtualTime,
    pub period: Span,
    /// Time for which a job makes no progress after a resumption or move, in addition to the transfer of its images.
    pub penalty: Span,
    /// Jobs that wait for the penalty.
    pub pays: PenaltyRule,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    None,
    /// Places the new job if there is room; at a completion, the waiting jobs.
    Greedy,
    /// Places the new job, even if others have to be paused.
    GreedyP,
    /// Places the new job, even if others have to be moved or paused.
    GreedyPM,
    /// MCB8 chooses new places for all jobs.
    Mcb8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Periodic {
    /// MCB8 maximises the minimum yield.
    Yield,
    /// MCB8-stretch, for the lowest estimated maximum stretch.
    Stretch,
}

/// Use of the processor time that the worst-off job cannot use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Optimise {
    /// Raises the lowest yield first, then the next lowest, and so on.
    Min,
    /// Maximises the average yield; with `stretch-per` minimises the average stretch.
    Avg,
    /// Lowers the highest stretch first, then the next highest; only with `stretch-per`.
    Max,
}

/// Jobs that MCB8 does not move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grace {
    /// Running jobs with less virtual time.
    VirtualTime(Span),
    /// Running jobs with less flow time.
    FlowTime(Span),
}

/// Priority of a live job, from its flow time and its virtual time; infinite while it has none. Section 4.1 of
/// the paper names all three.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Priority {
    /// Flow time divided by the square of virtual time.
    #[default]
    Square,
    /// Flow time divided by virtual time: the stretch so far.
    Stretch,
    /// The inverse of virtual time.
    Inverse,
}

impl Priority {
    /// Priority, from flow time and virtual time in microseconds.
    pub fn of(self, flow: f64, done: f64) -> f64 {
        match self {
            _ if done == 0.0 => f64::INFINITY,
            Priority::Square => flow / (done * done),
            Priority::Stretch => flow / done,
            Priority::Inverse => 1.0 / done,
        }
    }
}

/// Size by which MCB8 sorts tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// The larger of its two requirements.
    #[default]
    Max,
    /// Their sum, as in the original of Leinberger, Karypis and Kumar.
    Sum,
}

impl Sort {
    pub fn size(self, cpu: f64, memory: f64) -> f64 {
        match self {
            Sort::Max => cpu.max(memory),
            Sort::Sum => cpu + memory,
        }
    }
}

words! {
    /// Virtual time of a job that waits under a penalty or for its images.
    #[derive(Default)]
    VirtualTime {
        /// It stands still, as progress does.
        #[default]
        Progress = "progress",
        /// It runs on with the yield that the job has: the integral of the yield, as the paper defines it.
        Yield = "yield",
    }
}

/// Recommended period of the paper, twice its penalty; then the penalty.
const PERIOD: Span = Span::from_secs(600);
const PENALTY: Span = Span::from_secs(300);

pub(super) const POLICIES: [(&str, Action); 4] =
    [("Greedy", Action::Greedy), ("GreedyP", Action::GreedyP), ("GreedyPM", Action::GreedyPM), ("MCB8", Action::Mcb8)];
pub(super) const PRIORITIES: [(&str, Priority); 3] =
    [("square", Priority::Square), ("stretch", Priority::Stretch), ("inverse", Priority::Inverse)];
pub(super) const SORTS: [(&str, Sort); 2] = [("max", Sort::Max), ("sum", Sort::Sum)];
pub(super) const OPTIMISE: [(&str, Optimise); 3] =
    [("min", Optimise::Min), ("avg", Optimise::Avg), ("max", Optimise::Max)];

impl Algorithm {
    pub fn parse(name: &str) -> Result<Algorithm, NameError> {
        match name.trim() {
            "FCFS" => Ok(Algorithm::Fcfs),
            "EASY" => Ok(Algorithm::Easy),
            _ => NameReader::new(name).read().map(Algorithm::Dfrs),
        }
    }

    /// Rules of an algorithm that shares nodes; None for the others.
    pub fn fractional(&self) -> Option<&Fractional> {
        match self {
            Algorithm::Dfrs(fractional) => Some(fractional),
            Algorithm::Fcfs | Algorithm::Easy => None,
        }
    }

    /// All 116 node-sharing algorithms that the paper compares: each family with each `opt`, and each grace if MCB8 is
    /// used.
    pub fn all_published() -> Vec<Algorithm> {
        let graces = [
            None,
            Some(Grace::FlowTime(Span::from_secs(300))),
            Some(Grace::FlowTime(Span::from_secs(600))),
            Some(Grace::VirtualTime(Span::from_secs(300))),
            Some(Grace::VirtualTime(Span::from_secs(600))),
        ];
        let mut all = Vec::new();
        for family in list_families() {
            let by = if family.periodic == Some(Periodic::Stretch) { Optimise::Max } else { Optimise::Min };
            for optimise in [by, Optimise::Avg] {
                let graces = if family.packs() { &graces[..] } else { &graces[..1] };
                all.extend(
                    graces.iter().map(|grace| Algorithm::Dfrs(Fractional { optimise, grace: *grace, ..family })),
                );
            }
        }
        all
    }
}

/// The 14 combinations of actions.
fn list_families() -> impl Iterator<Item = Fractional> {
    let per = Some(Periodic::Yield);
    let with_policy = POLICIES.into_iter().flat_map(move |(_, policy)| {
        let alone = make_family(policy, true, None);
        [alone, make_family(policy, false, per), make_family(policy, true, per)]
    });
    let without = [per, Some(Periodic::Stretch)].map(|periodic| make_family(Action::None, false, periodic));
    with_policy.chain(without)
}

pub(super) fn make_family(submission: Action, star: bool, periodic: Option<Periodic>) -> Fractional {
    let completion = match submission {
        _ if !star => Action::None,
        Action::None => Action::None,
        Action::Mcb8 => Action::Mcb8,
        Action::Greedy | Action::GreedyP | Action::GreedyPM => Action::Greedy,
    };
    let optimise = if periodic == Some(Periodic::Stretch) { Optimise::Max } else { Optimise::Min };
    Fractional {
        submission,
        completion,
        periodic,
        optimise,
        grace: None,
        priority: Priority::default(),
        sort: Sort::default(),
        virtual_time: VirtualTime::default(),
        period: PERIOD,
        penalty: PENALTY,
        pays: PenaltyRule::default(),
    }
}

impl Fractional {
    /// True if it ever chooses new places for all jobs.
    pub fn packs(&self) -> bool {
        self.submission == Action::Mcb8 || self.periodic.is_some()
    }

    /// Lowest yield of a packing. A job that does not fit alone at this yield is never placed, since each packing
    /// leaves it out.
    pub fn least_yield(&self) -> f64 {
        match self.periodic {
            Some(Periodic::Yield) => LOWEST,
            None if self.submission == Action::Mcb8 => LOWEST,
            // The lowest stretch may require a yield of 0.
            Some(Periodic::Stretch) | None => 0.0,
        }
    }

    /// Cost of a resumption or move, if images move at this rate.
    pub fn move_cost(&self, images: Option<Images>) -> MoveCost {
        MoveCost { penalty: self.penalty, rule: self.pays, images }
    }

    /// Warning for users, if images move at this rate.
    pub fn warning(&self, images: Option<Images>) -> Option<String> {
        let Fractional { periodic, period, penalty, .. } = *self;
        // Based on the memory of one node: most jobs are no larger, and for larger ones it depends on how much of them
        // moves.
        let image = images.map_or(Span::ZERO, |images| images.time(1, 1.0));
        let cause = match (period <= penalty, period <= penalty + image) {
            _ if periodic.is_none() => return None,
            (true, _) => format!("the penalty of {penalty}"),
            (false, true) if penalty.is_zero() => format!("the {image} in which what fills a node moves"),
            (false, true) => format!("the penalty of {penalty} and the {image} in which what fills a node moves"),
            (false, false) => return None,
        };
        Some(format!(
            "the period of {period} is not longer than {cause}: jobs that are moved at every tick may never make progress"
        ))
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Algorithm::Fcfs => f.write_str("FCFS"),
            Algorithm::Easy => f.write_str("EASY"),
            Algorithm::Dfrs(rules) => rules.fmt(f),
        }
    }
}

impl fmt::Display for Fractional {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((name, _)) = POLICIES.iter().find(|(_, policy)| *policy == self.submission) {
            f.write_str(name)?;
        }
        if self.completion != Action::None {
            f.write_str(" *")?;
        }
        match self.periodic {
            None => {}
            Some(Periodic::Yield) => f.write_str("/per")?,
            Some(Periodic::Stretch) => f.write_str("/stretch-per")?,
        }
        let optimise = OPTIMISE.iter().find(|(_, optimise)| *optimise == self.optimise).expect("each has a name");
        write!(f, "/opt={}", optimise.0)?;
        match self.grace {
            None => {}
            Some(Grace::VirtualTime(limit)) => write!(f, "/minvt={}", limit.seconds())?,
            Some(Grace::FlowTime(limit)) => write!(f, "/minft={}", limit.seconds())?,
        }
        if self.priority != Priority::default() {
            let priority = PRIORITIES.iter().find(|(_, priority)| *priority == self.priority).expect("each has a name");
            write!(f, "/priority={}", priority.0)?;
        }
        if self.sort != Sort::default() {
            let sort = SORTS.iter().find(|(_, sort)| *sort == self.sort).expect("each has a name");
            write!(f, "/sort={}", sort.0)?;
        }
        if self.virtual_time != VirtualTime::default() {
            write!(f, "/vt={}", self.virtual_time.word())?;
        }
        if self.period != PERIOD {
            write!(f, "/period={}", self.period.seconds())?;
        }
        if self.penalty != PENALTY {
            write!(f, "/penalty={}", self.penalty.seconds())?;
        }
        if self.pays != PenaltyRule::default() {
            write!(f, "/pays={}", self.pays.word())?;
        }
        Ok(())
    }
}
