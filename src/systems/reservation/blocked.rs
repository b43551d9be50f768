//! What nobody may book because it is down: as long as nobody else has booked it, it is on the calendar as if it were
//! booked.

use std::collections::BTreeMap;

use crate::grid::{Calendar, Expected, NodeSet};
use crate::time::Time;

/// The nodes of one cluster that are down.
#[derive(Debug, Default)]
pub struct Blocked {
    /// By when they are expected back.
    groups: BTreeMap<Time, Group>,
}

#[derive(Debug, Default)]
struct Group {
    nodes: NodeSet,
    /// Where they are on the calendar: from, to, and which.
    pieces: Vec<(Time, Time, NodeSet)>,
}

impl Blocked {
    /// These nodes are down from now on, and all others up. What is booked on nodes that are down stays so until its
    /// owner says otherwise.
    ///
    /// Only what is new is looked at: O(P + K log C log R) for `P` pieces of nodes whose return is expected at another
    /// time than before, and, for those that have failed, `K` pieces that nobody has, `C` changes of the calendar up to
    /// their return and its `R` records.
    pub fn block(&mut self, now: Time, down: &[Expected], calendar: &mut Calendar) {
        let mut fresh = Vec::new();
        let mut before = std::mem::take(&mut self.groups);
        for Expected { back, nodes } in down {
            let mut group = before.remove(back).unwrap_or_default();
            if group.nodes != *nodes {
                let (mut added, mut gone) = (nodes.clone(), group.nodes.clone());
                added.subtract(&group.nodes);
                gone.subtract(nodes);
                group.free(now, &gone, calendar);
                group.nodes = nodes.clone();
                fresh.push((*back, added));
            }
            self.groups.insert(*back, group);
        }
        for mut group in before.into_values() {
            let gone = std::mem::take(&mut group.nodes);
            group.free(now, &gone, calendar);
        }
        // Once all is free that is to be: a node may have moved from one time to another. One that should be back by
        // now blocks nothing.
        for (back, nodes) in fresh.into_iter().filter(|(back, nodes)| *back > now && !nodes.is_empty()) {
            let changes = calendar.changes(now, back).into_iter().filter(|at| now < *at && *at < back);
            let times: Vec<Time> = [now].into_iter().chain(changes).chain([back]).collect();
            let mut pieces = Vec::new();
            gaps(calendar, &times, &nodes, &mut pieces);
            for (from, to, nodes) in &pieces {
                calendar.insert(*from, *to, nodes).expect("it is free");
            }
            self.groups.get_mut(&back).expect("it was put there").pieces.extend(pieces);
        }
    }

    /// Somebody has given up these nodes for this time, which begins now or later.
    pub fn take_up(&mut self, from: Time, to: Time, nodes: &NodeSet, calendar: &mut Calendar) {
        for (back, group) in self.groups.range_mut(from..) {
            let (to, down) = (to.min(*back), group.nodes.intersection(nodes));
            if from < to && !down.is_empty() {
                calendar.insert(from, to, &down).expect("it was given up");
                group.pieces.push((from, to, down));
            }
        }
    }
}

impl Group {
    /// Takes these nodes off the calendar; and forgets what is over.
    fn free(&mut self, now: Time, gone: &NodeSet, calendar: &mut Calendar) {
        self.pieces.retain_mut(|(from, to, nodes)| {
            let freed = nodes.intersection(gone);
            let from = (*from).max(now);
            if from < *to && !freed.is_empty() {
                calendar.remove(from, *to, &freed).expect("what is blocked is nobody's");
                nodes.subtract(&freed);
            }
            from < *to && !nodes.is_empty()
        });
    }
}

/// When these nodes are nobody's between the first and the last of some times, at which alone the calendar changes.
fn gaps(calendar: &Calendar, times: &[Time], nodes: &NodeSet, pieces: &mut Vec<(Time, Time, NodeSet)>) {
    let [from, .., to] = *times else { return };
    let busy = calendar.busy_over(from, to).intersection(nodes);
    let mut free = nodes.clone();
    free.subtract(&busy);
    if !free.is_empty() {
        pieces.push((from, to, free));
    }
    if times.len() > 2 && !busy.is_empty() {
        let middle = times.len() / 2;
        gaps(calendar, &times[..=middle], &busy, pieces);
        gaps(calendar, &times[middle..], &busy, pieces);
    }
}
