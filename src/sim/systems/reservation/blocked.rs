//! Outages in the calendar: nodes that are down and not booked are inserted as if they were booked.

use std::collections::BTreeMap;

use crate::grid::{Calendar, Expected, NodeSet};
use crate::time::Time;

/// Nodes of one cluster that are down.
#[derive(Debug, Default)]
pub struct Blocked {
    /// Groups of nodes by expected return.
    groups: BTreeMap<Time, BlockedGroup>,
}

#[derive(Debug, Default)]
struct BlockedGroup {
    nodes: NodeSet,
    /// Entries in the calendar: start, end and nodes.
    pieces: Vec<(Time, Time, NodeSet)>,
}

impl Blocked {
    /// Sets the nodes that are down from now on; all others are up. Bookings on nodes that are down stay until their
    /// owner changes them.
    ///
    /// Only changes cost time: O(P + K log C log R) for `P` pieces of nodes whose expected return has changed, and, for
    /// newly failed nodes, `K` pieces without bookings, `C` changes of the calendar up to their return and its `R`
    /// records.
    pub fn update(&mut self, now: Time, down: &[Expected], calendar: &mut Calendar) {
        let mut fresh = Vec::new();
        let mut before = std::mem::take(&mut self.groups);
        for Expected { back, nodes } in down {
            let mut group = before.remove(back).unwrap_or_default();
            if group.nodes != *nodes {
                let mut added = nodes.clone();
                let mut gone = group.nodes.clone();
                added.subtract(&group.nodes);
                gone.subtract(nodes);
                group.unblock(now, &gone, calendar);
                group.nodes = nodes.clone();
                fresh.push((*back, added));
            }
            self.groups.insert(*back, group);
        }
        for mut group in before.into_values() {
            let gone = std::mem::take(&mut group.nodes);
            group.unblock(now, &gone, calendar);
        }
        // After all removals, as a node may have moved from one time to another. A node that should be back by now
        // blocks nothing.
        for (back, nodes) in fresh.into_iter().filter(|(back, nodes)| *back > now && !nodes.is_empty()) {
            let changes = calendar.changes(now, back).into_iter().filter(|at| now < *at && *at < back);
            let times: Vec<Time> = [now].into_iter().chain(changes).chain([back]).collect();
            let mut pieces = Vec::new();
            free_gaps(calendar, &times, &nodes, &mut pieces);
            for (from, to, nodes) in &pieces {
                calendar.insert(*from, *to, nodes).expect("it is free");
            }
            self.groups.get_mut(&back).expect("it was put there").pieces.extend(pieces);
        }
    }

    /// Blocks nodes of a booking that has been released for this time, which begins now or later.
    pub fn block_released(&mut self, from: Time, to: Time, nodes: &NodeSet, calendar: &mut Calendar) {
        for (back, group) in self.groups.range_mut(from..) {
            let to = to.min(*back);
            let down = group.nodes.intersection(nodes);
            if from < to && !down.is_empty() {
                calendar.insert(from, to, &down).expect("it was given up");
                group.pieces.push((from, to, down));
            }
        }
    }
}

impl BlockedGroup {
    /// Removes nodes from the calendar, and drops pieces that are over.
    fn unblock(&mut self, now: Time, gone: &NodeSet, calendar: &mut Calendar) {
        self.pieces.retain_mut(|(from, to, nodes)| {
            let freed = nodes.intersection(gone);
            let from = (*from).max(now);
            if from < *to && !freed.is_empty() {
                calendar.remove(from, *to, &freed).expect("blocked nodes have no owner");
                nodes.subtract(&freed);
            }
            from < *to && !nodes.is_empty()
        });
    }
}

/// Pieces of time between the first and the last of `times` in which these nodes are not booked; the calendar changes
/// only at these times.
fn free_gaps(calendar: &Calendar, times: &[Time], nodes: &NodeSet, pieces: &mut Vec<(Time, Time, NodeSet)>) {
    let [from, .., to] = *times else { return };
    let busy = calendar.busy_over(from, to).intersection(nodes);
    let mut free = nodes.clone();
    free.subtract(&busy);
    if !free.is_empty() {
        pieces.push((from, to, free));
    }
    if times.len() > 2 && !busy.is_empty() {
        let middle = times.len() / 2;
        free_gaps(calendar, &times[..=middle], &busy, pieces);
        free_gaps(calendar, &times[middle..], &busy, pieces);
    }
}
