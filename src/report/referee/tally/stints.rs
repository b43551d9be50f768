//! Stints of a task, where it was not on the same nodes all the time.

use serde::{Deserialize, Serialize};

use hansa_sim::grid::NodeSet;
use hansa_sim::time::Time;

/// The stints of a task so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stints {
    over: Vec<ClosedStint>,
    /// Begin of the present stint, with this share; `None` while it is suspended.
    since: Option<Time>,
    /// The nodes with more than one of its parallel tasks, those with more than two, and so on.
    more: Vec<NodeSet>,
    share: f64,
    /// Times of its assignments to the sites where it was lost or requeued.
    sent: Vec<Time>,
}

/// An interval without a change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct ClosedStint {
    from: Time,
    to: Time,
    nodes: NodeSet,
    more: Vec<NodeSet>,
    share: f64,
    left: StintEnd,
    /// Its site, if it continued at another one.
    site: Option<u32>,
}

/// The reason for the end of a stint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StintEnd {
    /// It continued on the same nodes, with another share.
    Shared,
    /// It continued on other nodes.
    Moved,
    Suspended,
    /// A node of it failed.
    Lost,
    /// Its site gave its nodes to another task, and starts it again from the beginning.
    Requeued,
}

impl StintEnd {
    /// True if the next stint is a new start. What the task has saved of its work counts elsewhere.
    pub fn starts_over(self) -> bool {
        matches!(self, StintEnd::Lost | StintEnd::Requeued)
    }
}

/// A stint of a task: its times and its nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stint<'a> {
    pub from: Time,
    pub to: Time,
    pub nodes: &'a NodeSet,
    pub more: &'a [NodeSet],
    /// Share of the processors that it could use.
    pub share: f64,
    /// The reason for its end; `None` for the last one.
    pub left: Option<StintEnd>,
    /// Its site, if it continued at another one.
    pub site: Option<u32>,
}

impl Stints {
    /// The stints of a task. Without any, the first has begun at `since`.
    pub fn of(stints: &mut Option<Box<Stints>>, since: Time) -> &mut Stints {
        stints.get_or_insert_with(|| Box::new(first_stints(since)))
    }

    /// Number of closed stints.
    pub fn count(&self) -> usize {
        self.over.len()
    }

    pub fn since(&self) -> Option<Time> {
        self.since
    }

    pub fn set_share(&mut self, now: Time, nodes: &NodeSet, share: f64) {
        let changes = share != self.share;
        // An interval of no length is no stint.
        if let Some(from) = self.since.filter(|from| *from < now && changes) {
            self.over.push(self.closed_stint(from, now, nodes, StintEnd::Shared));
            self.since = Some(now);
        }
        self.share = share;
    }

    /// Adds a layer: one more of its parallel tasks on each of these nodes.
    pub fn add_layer(&mut self, nodes: &NodeSet) {
        self.more.push(nodes.clone());
    }

    pub fn leave_nodes(&mut self, now: Time, nodes: &NodeSet, left: StintEnd) {
        if let Some(from) = self.since.take() {
            self.over.push(self.closed_stint(from, now, nodes, left));
            self.more.clear();
        }
    }

    /// True if a node of it has failed, or its site has requeued it, and it has not started again since.
    pub fn awaits_restart(&self) -> bool {
        self.since.is_none() && self.over.last().is_some_and(|over| over.left.starts_over())
    }

    /// True if a node of it has failed, and it has not started again since.
    pub fn is_lost(&self) -> bool {
        self.since.is_none() && self.over.last().is_some_and(|over| over.left == StintEnd::Lost)
    }

    /// Records its assignment to a site where it was lost or requeued, once or repeatedly.
    pub fn record_assignment(&mut self, at: Time) {
        if self.sent.last() != Some(&at) {
            self.sent.push(at);
        }
    }

    pub fn sent_times(&self) -> &[Time] {
        &self.sent
    }

    /// Records that it continues at another site than `site`, where it was until now.
    pub fn mark_emigrated(&mut self, site: u32) {
        self.over.iter_mut().for_each(|over| over.site = over.site.or(Some(site)));
    }

    pub fn enter_nodes(&mut self, now: Time) {
        self.since = Some(now);
    }

    /// Records a new start; it has its nodes to itself until a share is recorded.
    pub fn begin(&mut self, now: Time) {
        (self.since, self.share) = (Some(now), 1.0);
    }

    fn closed_stint(&self, from: Time, to: Time, nodes: &NodeSet, left: StintEnd) -> ClosedStint {
        ClosedStint { from, to, nodes: nodes.clone(), more: self.more.clone(), share: self.share, left, site: None }
    }

    /// All stints; the last one, on these nodes, continues until `until`.
    pub fn all_stints<'a>(&'a self, until: Time, nodes: &'a NodeSet) -> impl Iterator<Item = Stint<'a>> {
        let over = self.over.iter().map(|over| {
            let ClosedStint { from, to, ref nodes, ref more, share, left, site } = *over;
            Stint { from, to, nodes, more, share, left: Some(left), site }
        });
        let last = self.since.map(|from| {
            let Stints { more, share, .. } = self;
            Stint { from, to: until, nodes, more, share: *share, left: None, site: None }
        });
        over.chain(last)
    }
}

fn first_stints(since: Time) -> Stints {
    Stints { over: Vec::new(), since: Some(since), more: Vec::new(), share: 1.0, sent: Vec::new() }
}

impl<'a> Stint<'a> {
    /// The only stint of a task.
    pub fn only_stint(from: Time, to: Time, nodes: &'a NodeSet) -> Stint<'a> {
        Stint { from, to, nodes, more: &[], share: 1.0, left: None, site: None }
    }

    /// True if it ended because a node failed.
    pub fn is_lost(&self) -> bool {
        self.left == Some(StintEnd::Lost)
    }

    /// True if the next stint is a new start.
    pub fn starts_over(&self) -> bool {
        self.left.is_some_and(StintEnd::starts_over)
    }

    /// Number of its parallel tasks.
    pub fn tasks(&self) -> u32 {
        self.node_layers().map(NodeSet::len).sum()
    }

    /// Number of its parallel tasks at places that had fewer before.
    pub fn newly_there(&self, before: &Stint<'_>) -> u32 {
        let mut had = before.node_layers();
        self.node_layers()
            .map(|nodes| match had.next() {
                Some(had) => nodes.len() - nodes.intersection(had).len(),
                None => nodes.len(),
            })
            .sum()
    }

    /// Nodes of the stint in layers: a node is in as many layers as it has parallel tasks of the job.
    pub fn node_layers(&self) -> impl Iterator<Item = &'a NodeSet> + use<'a> {
        std::iter::once(self.nodes).chain(self.more)
    }
}
