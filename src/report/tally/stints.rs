//! What a task does between its start and its end, where that is more than to be on the same nodes all the time.

use serde::{Deserialize, Serialize};

use crate::grid::NodeSet;
use crate::time::Time;

/// What a task did so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stints {
    over: Vec<Over>,
    /// Since when it has been on its nodes, with this share; `None` while it is suspended.
    since: Option<Time>,
    /// The nodes with more than one of its parallel tasks, those with more than two, and so on.
    more: Vec<NodeSet>,
    share: f64,
    /// When it was given to the sites where it was lost.
    sent: Vec<Time>,
}

/// A stretch of time in which nothing changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Over {
    from: Time,
    to: Time,
    nodes: NodeSet,
    more: Vec<NodeSet>,
    share: f64,
    left: Left,
    /// Where that was, if it went on at another site.
    site: Option<u32>,
}

/// Why a stint was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Left {
    /// It went on where it was, with another share.
    Shared,
    /// It went on elsewhere.
    Moved,
    Suspended,
    /// A node of it failed.
    Lost,
}

/// From when to when a task was on which nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stint<'a> {
    pub from: Time,
    pub to: Time,
    pub nodes: &'a NodeSet,
    pub more: &'a [NodeSet],
    /// What it got of what it could use of their processors.
    pub share: f64,
    /// Why it was over; `None` for the last one.
    pub left: Option<Left>,
    /// Where it was, if it went on at another site.
    pub site: Option<u32>,
}

impl Stints {
    /// Those of a task, of which the first has begun then if there have been none.
    pub fn of(stints: &mut Option<Box<Stints>>, since: Time) -> &mut Stints {
        let begun = || Stints { over: Vec::new(), since: Some(since), more: Vec::new(), share: 1.0, sent: Vec::new() };
        stints.get_or_insert_with(|| Box::new(begun()))
    }

    /// How many are over.
    pub fn count(&self) -> usize {
        self.over.len()
    }

    pub fn since(&self) -> Option<Time> {
        self.since
    }

    pub fn share(&mut self, now: Time, nodes: &NodeSet, share: f64) {
        let changes = share != self.share;
        // What lasted no time is no stint.
        if let Some(from) = self.since.filter(|from| *from < now && changes) {
            self.over.push(self.until(from, now, nodes, Left::Shared));
            self.since = Some(now);
        }
        self.share = share;
    }

    /// It has one more of its parallel tasks on these.
    pub fn stack(&mut self, nodes: &NodeSet) {
        self.more.push(nodes.clone());
    }

    pub fn leave(&mut self, now: Time, nodes: &NodeSet, left: Left) {
        if let Some(from) = self.since.take() {
            self.over.push(self.until(from, now, nodes, left));
            self.more.clear();
        }
    }

    /// Whether a node of it has failed, and it has not gone on since.
    pub fn is_lost(&self) -> bool {
        self.since.is_none() && self.over.last().is_some_and(|over| over.left == Left::Lost)
    }

    /// It was given to a site then, and lost there, once or more often.
    pub fn keep_sending(&mut self, at: Time) {
        if self.sent.last() != Some(&at) {
            self.sent.push(at);
        }
    }

    pub fn sent(&self) -> &[Time] {
        &self.sent
    }

    /// It goes on at another site than this, where it was so far.
    pub fn emigrate(&mut self, site: u32) {
        self.over.iter_mut().for_each(|over| over.site = over.site.or(Some(site)));
    }

    pub fn enter(&mut self, now: Time) {
        self.since = Some(now);
    }

    /// It starts anew, and has its nodes to itself until something else is said.
    pub fn begin(&mut self, now: Time) {
        (self.since, self.share) = (Some(now), 1.0);
    }

    fn until(&self, from: Time, to: Time, nodes: &NodeSet, left: Left) -> Over {
        Over { from, to, nodes: nodes.clone(), more: self.more.clone(), share: self.share, left, site: None }
    }

    /// All of them; the last one, on these nodes, goes on until then.
    pub fn each<'a>(&'a self, until: Time, nodes: &'a NodeSet) -> impl Iterator<Item = Stint<'a>> {
        let over = self.over.iter().map(|over| {
            let Over { from, to, ref nodes, ref more, share, left, site } = *over;
            Stint { from, to, nodes, more, share, left: Some(left), site }
        });
        let last = self.since.map(|from| {
            let Stints { more, share, .. } = self;
            Stint { from, to: until, nodes, more, share: *share, left: None, site: None }
        });
        over.chain(last)
    }
}

impl<'a> Stint<'a> {
    /// The only one of a task.
    pub fn alone(from: Time, to: Time, nodes: &'a NodeSet) -> Stint<'a> {
        Stint { from, to, nodes, more: &[], share: 1.0, left: None, site: None }
    }

    /// Whether it was over because a node failed.
    pub fn is_lost(&self) -> bool {
        self.left == Some(Left::Lost)
    }

    /// How many parallel tasks it has.
    pub fn tasks(&self) -> u32 {
        self.layers().map(NodeSet::len).sum()
    }

    /// How many of its tasks are where there were fewer before.
    pub fn newly_there(&self, before: &Stint<'_>) -> u32 {
        let mut had = before.layers();
        let come = |nodes: &NodeSet| match had.next() {
            Some(had) => nodes.len() - nodes.intersection(had).len(),
            None => nodes.len(),
        };
        self.layers().map(come).sum()
    }

    /// Its nodes in layers: a node is in as many as it has of the job's parallel tasks.
    pub fn layers(&self) -> impl Iterator<Item = &'a NodeSet> + use<'a> {
        std::iter::once(self.nodes).chain(self.more)
    }
}
