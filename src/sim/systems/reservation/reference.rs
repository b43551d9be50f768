//! The paper's availability list, `AvailRectList`: records of busy sets in a plain list, with linear scans. The
//! reference of the calendar in tests, and its baseline in benchmarks.

use super::book::Offer;
use super::fit::Fit;
use super::rules::RectEnd;
use crate::grid::{Clash, NodeSet, Rectangle, Request};
use crate::time::{Span, Time};

pub struct AvailRectList {
    nodes: u32,
    records: Vec<(Time, NodeSet)>,
}

impl AvailRectList {
    pub fn new(nodes: u32) -> AvailRectList {
        AvailRectList { nodes, records: Vec::new() }
    }

    /// A list from records in canonical form.
    pub fn from_records(nodes: u32, records: Vec<(Time, NodeSet)>) -> AvailRectList {
        AvailRectList { nodes, records }
    }

    pub fn records(&self) -> &[(Time, NodeSet)] {
        &self.records
    }

    pub fn add_allocation(&mut self, start: Time, end: Time, nodes: &NodeSet) -> Result<(), Clash> {
        if self.busy_over(start, end).meets(nodes) {
            return Err(Clash::DoubleBooking);
        }
        self.change(start, end, |busy| busy.unite(nodes));
        Ok(())
    }

    pub fn delete_allocation(&mut self, start: Time, end: Time, nodes: &NodeSet) -> Result<(), Clash> {
        let known = self.busy_at(start).contains(nodes)
            && self.records.iter().all(|(time, busy)| *time < start || *time >= end || busy.contains(nodes));
        if !known {
            return Err(Clash::NotBooked);
        }
        self.change(start, end, |busy| busy.subtract(nodes));
        Ok(())
    }

    pub fn advance(&mut self, now: Time) {
        let busy = self.busy_at(now);
        let past = self.records.iter().take_while(|(time, _)| *time <= now).count();
        self.records.splice(..past, (!busy.is_empty()).then_some((now, busy)));
    }

    pub fn find_allocation(&self, now: Time, request: &Request, fit: &Fit, rect_end: RectEnd) -> Option<Offer> {
        let latest = request.latest_start(now)?;
        let from = request.ready.max(now);
        let mut best: Option<Offer> = None;
        for start in self.candidates(from, latest, request.duration, request.deadline) {
            let free = self.busy_over(start, start + request.duration).complement(self.nodes);
            if free.len() < request.nodes {
                continue;
            }
            let rectangle = self.rectangle(start, start + request.duration, &free, now, request.deadline, rect_end);
            let rank = fit.rank(&rectangle);
            if best.as_ref().is_none_or(|best| rank < best.rank) {
                best = Some(Offer { start, nodes: free.lowest(request.nodes)?, rank });
            }
        }
        best
    }

    pub fn candidates(&self, from: Time, latest: Time, span: Span, deadline: Time) -> Vec<Time> {
        let times = || self.records.iter().map(|record| record.0).filter(|time| (from..=deadline).contains(time));
        let back = times().filter_map(|time| time.micros().checked_sub(span.micros())).map(Time::from_micros);
        let mut starts: Vec<Time> = times().chain(back).chain([from, latest]).collect();
        starts.retain(|start| (from..=latest).contains(start));
        starts.sort_unstable();
        starts.dedup();
        starts
    }

    /// Maximum availability rectangle of a start whose booking would end at `end`.
    pub fn rectangle(
        &self,
        start: Time,
        end: Time,
        free: &NodeSet,
        now: Time,
        deadline: Time,
        rect_end: RectEnd,
    ) -> Rectangle {
        let first = self.records.partition_point(|record| record.0 < start);
        // The record that contains `start` cannot meet the nodes that are free then.
        let blocked = (0..first).rev().find(|&place| self.record_meets(place, free));
        let begin = blocked.and_then(|place| self.records.get(place + 1)).map_or(now, |record| record.0.max(now));
        let until = self.records.iter().position(|record| record.0 >= end).unwrap_or(self.records.len());
        let until = (until..self.records.len())
            .find(|&place| self.record_meets(place, free))
            .map(|place| self.records[place].0);
        let until = match rect_end {
            RectEnd::Clip => until.unwrap_or(deadline).min(deadline),
            RectEnd::Inf2tdl => until.unwrap_or(deadline),
            RectEnd::Open => until.unwrap_or(Time::NEVER),
        };
        Rectangle { start, width: free.len(), begin, end: until }
    }

    fn record_meets(&self, place: usize, free: &NodeSet) -> bool {
        self.records[place].1.meets(free)
    }

    fn busy_at(&self, at: Time) -> NodeSet {
        let last = self.records.iter().take_while(|(time, _)| *time <= at).last();
        last.map_or_else(NodeSet::default, |(_, busy)| busy.clone())
    }

    fn busy_over(&self, start: Time, end: Time) -> NodeSet {
        let mut busy = self.busy_at(start);
        let within = self.records.iter().filter(|(time, _)| (start..end).contains(time));
        within.for_each(|(_, more)| busy.unite(more));
        busy
    }

    fn change(&mut self, start: Time, end: Time, change: impl Fn(&mut NodeSet)) {
        self.key(start);
        self.key(end);
        let within = self.records.iter_mut().filter(|(time, _)| (start..end).contains(time));
        within.for_each(|(_, busy)| change(busy));
        self.clean(end);
        self.clean(start);
    }

    fn key(&mut self, at: Time) {
        let place = self.records.iter().position(|(time, _)| *time >= at).unwrap_or(self.records.len());
        if self.records.get(place).is_none_or(|(time, _)| *time != at) {
            self.records.insert(place, (at, self.busy_at(at)));
        }
    }

    fn clean(&mut self, at: Time) {
        let place = self.records.iter().position(|(time, _)| *time == at).expect("a key has been put there");
        let before = place.checked_sub(1).map_or_else(NodeSet::default, |before| self.records[before].1.clone());
        if self.records[place].1 == before {
            self.records.remove(place);
        }
    }
}
