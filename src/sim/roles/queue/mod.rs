//! Queues of sites: the policies that start jobs, and their table.
//!
//! A policy is called instant by instant: first with ends, then with arrivals, in order; then it makes one pass and
//! returns the starts. It never learns the actual run time of a job in advance. Bookings come and go in between.

mod blocks;
mod by_count;
mod by_node;
mod easy;
#[cfg(test)]
mod judge;
mod labels;
mod multifactor;
mod no_sooner;
mod order;
mod places;
mod plan;
mod planned;
mod planner;
mod slotlist;
#[cfg(test)]
mod tests;
mod trial;

use self::easy::Backfill;
#[cfg(test)]
use self::judge::{Rule, judge_story};
pub use self::multifactor::{MultifactorRules, Priorities, Standing};
pub use self::order::Ranking;
use self::planner::Replan;
pub use self::trial::{QueueState, Ran, Rigid, RunningRigid, first_start, play_jobs};
use crate::grid::{NodeSet, QueueOrder, Reserved, TaskId};
use crate::time::{Span, Time};

/// A site's scheduler of rigid jobs: it decides which job of the queue starts when, and on which nodes.
///
/// Its owner, the queue manager of a site or a prediction, reports ends and arrivals and then asks for one pass. A
/// policy keeps its own account of free nodes. It promises that no node has two jobs, that jobs keep clear of bookings,
/// and that equal calls give equal starts. Each policy has a row ([`QueuePolicyRow`]) and, for tests, a slow judge.
pub trait Policy: Send {
    /// A job leaves its nodes: at `until`, when its walltime is over, or before.
    fn end_job(&mut self, now: Time, job: TaskId, until: Time);

    /// A job joins the queue; it fits the site.
    fn submit_job(&mut self, now: Time, request: NodeRequest);

    /// Takes over a job that runs already, on nodes that are free for its walltime from now on. False if nodes are only
    /// counted: the job can be submitted instead.
    fn adopt(&mut self, _now: Time, _request: NodeRequest, _nodes: &NodeSet) -> bool {
        false
    }

    /// A job comes back to the head of the queue, ahead of all that wait.
    fn submit_first(&mut self, now: Time, request: NodeRequest);

    /// A job leaves the queue without having started.
    fn withdraw_job(&mut self, now: Time, job: TaskId);

    /// True if running jobs and other bookings leave room for a booking. Waiting jobs do not count.
    fn has_room(&self, now: Time, booking: &Reserved) -> bool;

    /// Nodes that are not free for all of that time, because of running jobs or other bookings; if nodes are only
    /// counted, because of bookings alone.
    fn taken_nodes(&self, from: Time, until: Time) -> NodeSet;

    /// Reserves these nodes, for which there is room. Waiting jobs give way.
    fn add_booking(&mut self, now: Time, booking: &Reserved);

    /// Takes nodes out of use: they are down, or return to the owner that they were withheld from. Nodes that have
    /// become free in this instant are not allocated before, as in an outage these are the nodes that close. All
    /// bookings close before any displaced job gets another place, as these are given in order of the queue.
    fn close_nodes(&mut self, now: Time, bookings: &[Reserved]) {
        bookings.iter().for_each(|booking| self.add_booking(now, booking));
    }

    /// Frees the rest of a booking that is not over yet.
    fn release_booking(&mut self, now: Time, booking: &Reserved);

    /// Clears the nodes of bookings that begin now. A pass does so too; this is for callers that cannot wait for it.
    fn make_way(&mut self, _now: Time, _steps: &mut Vec<Step>) {}

    /// Appends the steps to be taken now, in order.
    fn run_pass(&mut self, now: Time, steps: &mut Vec<Step>);

    /// Next time to look for starts or to update the state, even if no job ends or arrives; called after a pass.
    fn next_wake(&self) -> Option<Time>;

    /// True if running jobs may be moved.
    fn moves_jobs(&self) -> bool {
        false
    }

    /// Start of each job of the queue, in any order, if no more jobs arrive and all take their walltimes; with `extra`
    /// booked, too. [`Time::NEVER`] if time ends before the job would: it waits, and gets a place if others end early.
    fn planned_starts(&self, now: Time, extra: Option<&Reserved>) -> Vec<(TaskId, Time)>;
}

/// Request of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeRequest {
    pub job: TaskId,
    pub nodes: u32,
    pub walltime: Span,
}

impl NodeRequest {
    /// The start, or [`Time::NEVER`] if time ends before the job would.
    pub fn in_time(&self, start: Time) -> Time {
        if start + self.walltime == Time::NEVER { Time::NEVER } else { start }
    }
}

/// Step of a policy for a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Start {
        job: TaskId,
        nodes: NodeSet,
    },
    /// The job continues on these nodes. Of several moves in a row, all leave their nodes before any takes new ones.
    Move {
        job: TaskId,
        nodes: NodeSet,
    },
}

/// A policy that a site may name.
pub struct QueuePolicyRow {
    pub name: &'static str,
    pub about: &'static str,
    pub build: fn(nodes: u32, reserved: &[Reserved], ranking: Ranking) -> Box<dyn Policy>,
    pub ranks: RankedPart,
    /// A slow and obvious form of the policy, which tests compare it with.
    #[cfg(test)]
    pub judge: fn(&judge::Story) -> judge::JudgeVerdict,
}

/// Part of the state of a policy that follows the order of the queue when a job joins it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankedPart {
    /// Only the first job of the queue can start.
    Head,
    /// The first job of the queue holds the reservation that others leave alone.
    Reservation,
    /// Like `Reservation`, but no job starts behind a second one that cannot.
    Followers,
    /// The plan places all jobs in order of the queue.
    Plan,
    /// None: a job takes a place that is free, and all others keep theirs.
    Places,
}

impl QueuePolicyRow {
    /// True if a pass may start an older job only because a new one has joined the queue, or because time has passed.
    /// Otherwise such a pass starts none but new jobs.
    ///
    /// If ranks change with time, another job may be first by now. A new job ahead of others may take over the
    /// reservation, or displace jobs of the plan, and older jobs may fit into what these leave. Where only the head
    /// starts, a new head starts, or blocks the queue as the former one did.
    ///
    /// If a second misfit ends the scan, a former head is that one as long as a new head waits. A shorter head that
    /// starts may postpone the reservation of the former one, so that older followers fit; a larger head does not: with
    /// as many nodes free for as long, the former one would have started earlier.
    pub fn starts_older(&self, order: QueueOrder) -> bool {
        match (self.ranks, order) {
            (RankedPart::Places, _) | (_, QueueOrder::Arrival) => false,
            (RankedPart::Head, _) => matches!(order, QueueOrder::MostStretched | QueueOrder::Multifactor),
            (RankedPart::Reservation, _) => true,
            (RankedPart::Followers, _) => order != QueueOrder::Largest,
            // A job that has just joined is the least stretched.
            (RankedPart::Plan, _) => order != QueueOrder::MostStretched,
        }
    }

    /// True if a new job may precede older ones, so that a pass before it joins the queue may start others than a pass
    /// afterwards.
    pub fn ranks_new_ahead(&self, order: QueueOrder) -> bool {
        let ranks_ahead = matches!(order, QueueOrder::Shortest | QueueOrder::Largest | QueueOrder::Multifactor);
        self.ranks != RankedPart::Places && ranks_ahead
    }
}

impl QueuePolicyRow {
    /// True if nodes are only counted, so that jobs may have to move.
    pub fn counts(&self) -> bool {
        (self.build)(1, &[], Ranking::new(QueueOrder::Arrival)).moves_jobs()
    }
}

/// The policies. Those of one kind share a file: `easy.rs` has FCFS and EASY, `planner.rs` conservative backfilling.
pub const ALL: &[QueuePolicyRow] = &[
    QueuePolicyRow {
        name: "fcfs",
        about: "first come, first served: no job starts before the one ahead of it",
        build: |nodes, reserved, ranking| by_node::build_policy(nodes, reserved, ranking, Backfill::None),
        ranks: RankedPart::Head,
        #[cfg(test)]
        judge: |story| judge_story(Rule::Fcfs, false, story),
    },
    QueuePolicyRow {
        name: "easy",
        about: "EASY backfilling: jobs may overtake if they do not delay the first waiting job",
        build: |nodes, reserved, ranking| by_node::build_policy(nodes, reserved, ranking, Backfill::All),
        ranks: RankedPart::Reservation,
        #[cfg(test)]
        judge: |story| judge_story(Rule::Easy, false, story),
    },
    QueuePolicyRow {
        name: "conservative",
        about: "conservative backfilling: every job has a place in a plan, and places only move to earlier times",
        build: |nodes, reserved, ranking| planner::by_node(nodes, reserved, ranking, Replan::OneByOne),
        ranks: RankedPart::Places,
        #[cfg(test)]
        judge: |story| judge_story(Rule::Conservative, false, story),
    },
    QueuePolicyRow {
        name: "fcfs-count",
        about: "like fcfs, but only counts nodes",
        build: |nodes, reserved, ranking| by_count::build_policy(nodes, reserved, ranking, Backfill::None),
        ranks: RankedPart::Head,
        #[cfg(test)]
        judge: |story| judge_story(Rule::Fcfs, true, story),
    },
    QueuePolicyRow {
        name: "easy-count",
        about: "like easy, but only counts nodes, as most simulators do",
        build: |nodes, reserved, ranking| by_count::build_policy(nodes, reserved, ranking, Backfill::All),
        ranks: RankedPart::Reservation,
        #[cfg(test)]
        judge: |story| judge_story(Rule::Easy, true, story),
    },
    QueuePolicyRow {
        name: "easy-first-misfit",
        about: "like easy-count, but no job behind the first follower that does not fit may overtake",
        build: |nodes, reserved, ranking| by_count::build_policy(nodes, reserved, ranking, Backfill::UntilMisfit),
        ranks: RankedPart::Followers,
        #[cfg(test)]
        judge: |story| judge_story(Rule::EasyUntilMisfit, true, story),
    },
    QueuePolicyRow {
        name: "conservative-count",
        about: "like conservative, but only counts nodes",
        build: planner::by_count,
        ranks: RankedPart::Places,
        #[cfg(test)]
        judge: |story| judge_story(Rule::Conservative, true, story),
    },
    QueuePolicyRow {
        name: "conservative-rebuild",
        about: "like conservative, but rebuilds the whole plan when a job ends early",
        build: |nodes, reserved, ranking| planner::by_node(nodes, reserved, ranking, Replan::FromScratch),
        ranks: RankedPart::Plan,
        #[cfg(test)]
        judge: |story| judge_story(Rule::Rebuild, false, story),
    },
    QueuePolicyRow {
        name: "slotlist",
        about: "like conservative, but keeps a list of free slots, of which a job takes the first that is suitable",
        build: slotlist::build_policy,
        ranks: RankedPart::Places,
        #[cfg(test)]
        judge: |story| judge_story(Rule::SlotList, true, story),
    },
];

/// Default scheduler of sites in topologies with a `[batch]` table.
pub const USUAL: &str = "easy";

pub fn find_policy(name: &str) -> Option<&'static QueuePolicyRow> {
    ALL.iter().find(|row| row.name == name)
}
