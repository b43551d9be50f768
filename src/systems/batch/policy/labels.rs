//! Which nodes jobs run on where a policy only counts them: the lowest that happen to be free when they start.

use std::collections::VecDeque;

use super::Reserved;
use crate::grid::NodeSet;
use crate::time::Time;

pub(super) struct Labels {
    free: NodeSet,
    /// What is still to be set aside, the earliest first.
    coming: VecDeque<Reserved>,
    /// What has been set aside, and until when.
    aside: Vec<(Time, NodeSet)>,
}

impl Labels {
    pub fn new(nodes: u32, reserved: &[Reserved]) -> Labels {
        let mut coming = reserved.to_vec();
        coming.sort_by_key(|reserved| (reserved.from, reserved.until));
        Labels { free: NodeSet::all(nodes), coming: coming.into(), aside: Vec::new() }
    }

    /// Sets nodes aside whose time has come, and takes back those whose time is over.
    pub fn keep_up(&mut self, now: Time) {
        let free = &mut self.free;
        self.aside.retain(|(until, nodes)| {
            let over = *until <= now;
            if over {
                free.insert(nodes);
            }
            !over
        });
        while let Some(reserved) = self.coming.pop_front_if(|reserved| reserved.from <= now) {
            if reserved.until > now {
                let nodes = self.take(reserved.nodes.len());
                self.aside.push((reserved.until, nodes));
            }
        }
    }

    pub fn take(&mut self, count: u32) -> NodeSet {
        self.free.take_lowest(count).expect("as many nodes are free as have been counted")
    }

    pub fn give_back(&mut self, nodes: &NodeSet) {
        self.free.insert(nodes);
    }

    /// When something is to be set aside or taken back next.
    pub fn next(&self) -> Option<Time> {
        let aside = self.aside.iter().map(|(until, _)| *until);
        aside.chain(self.coming.front().map(|reserved| reserved.from)).min()
    }
}
