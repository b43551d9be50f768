//! Reservations of a cluster: admission, cancellation, early release.

use super::blocked::Blocked;
use super::fit::{Fit, FitMeasure, Seek};
use super::rules::RectEnd;
use crate::grid::{Bounds, Calendar, Clash, Expected, NodeSet, Rectangle, RectangleQuery, Request};
use crate::time::Time;

/// The booked nodes of one cluster, with the rules for further bookings.
#[derive(Debug)]
pub struct ClusterBook {
    calendar: Calendar,
    fit: &'static Fit,
    rect_end: RectEnd,
    /// End of the last booking.
    until: Time,
    /// Nodes that are down and not booked.
    blocked: Blocked,
}

/// A start for a request, with its nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    pub start: Time,
    pub nodes: NodeSet,
    /// Rank by the policy; smaller is better.
    pub rank: i128,
}

/// Bound of offers: none is better, by rank and then by start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfferBound {
    pub rank: i128,
    pub start: Time,
    /// True if there is an offer with exactly this rank and start.
    pub is_exact: bool,
}

impl ClusterBook {
    pub fn new(nodes: u32, fit: &'static Fit, rect_end: RectEnd) -> ClusterBook {
        ClusterBook { calendar: Calendar::new(nodes), fit, rect_end, until: Time::ZERO, blocked: Blocked::default() }
    }

    pub fn nodes(&self) -> u32 {
        self.calendar.nodes()
    }

    pub fn fit(&self) -> &'static Fit {
        self.fit
    }

    /// Replaces the fit policy.
    pub fn set_fit(&mut self, fit: &'static Fit) {
        self.fit = fit;
    }

    pub fn calendar(&self) -> &Calendar {
        &self.calendar
    }

    /// The start that the policy prefers for a valid request, with the lowest nodes that are free throughout.
    pub fn find(&mut self, now: Time, request: &Request) -> Option<Offer> {
        let wanted = self.query(now, request)?;
        if self.fit.measure == FitMeasure::Start {
            let (start, nodes) = self.calendar.earliest(wanted.from, wanted.span, wanted.width, wanted.latest)?;
            return Some(Offer { start, nodes, rank: 0 });
        }
        let (start, rank) = self.best_start(now, &wanted, request.deadline)?;
        let free = self.calendar.free_over(start, start + wanted.span);
        let nodes = free.lowest(wanted.width).expect("a rectangle is wide enough");
        Some(Offer { start, nodes, rank })
    }

    /// Calls `each` with the largest free rectangle around each candidate start for a request, in order of time, and
    /// with its nodes.
    pub fn candidates(&mut self, now: Time, request: &Request, mut each: impl FnMut(Rectangle, NodeSet)) {
        let Some(wanted) = self.query(now, request) else { return };
        self.rectangles(now, &wanted, request.deadline, true, |rectangle| {
            let free = self.calendar.free_over(rectangle.start, rectangle.start + wanted.span);
            each(rectangle, free);
        });
    }

    /// Forgets the past, and returns the search for a request; None if it is too late for that.
    fn query(&mut self, now: Time, request: &Request) -> Option<RectangleQuery> {
        self.calendar.advance(now);
        let from = request.ready.max(now);
        let latest = request.latest_start(now)?;
        Some(RectangleQuery { from, latest, span: request.duration, width: request.nodes })
    }

    /// The lowest `width` of these nodes that are free for that time; None if there are fewer.
    pub fn free_among(&self, start: Time, end: Time, width: u32, nodes: &NodeSet) -> Option<NodeSet> {
        self.calendar.free_over(start, end).intersection(nodes).lowest(width)
    }

    /// Bound of [`ClusterBook::find`], by counts alone; None if these show that there is no offer.
    pub fn bound(&self, now: Time, request: &Request) -> Option<OfferBound> {
        let latest = request.latest_start(now)?;
        let from = request.ready.max(now);
        if request.nodes > self.nodes() {
            return None;
        }
        // Latest end of a rectangle.
        let beyond = match self.rect_end {
            RectEnd::Clip => request.deadline,
            RectEnd::Inf2tdl => request.deadline.max(self.until),
            RectEnd::Open => Time::NEVER,
        };
        if self.until <= now {
            // All nodes are free at all times, so the calendar is not read.
            let all = Rectangle { start: from, width: self.nodes(), begin: now, end: beyond };
            return Some(OfferBound { rank: self.fit.rank(&all), start: from, is_exact: true });
        }
        let start = self.calendar.next_room(from, request.nodes)?;
        if start > latest {
            return None;
        }
        let end = latest + request.duration;
        let rectangle = match (self.fit.measure, self.fit.seek) {
            (FitMeasure::Start, _) => return Some(OfferBound { rank: 0, start, is_exact: false }),
            (FitMeasure::Nodes, Seek::Least) => {
                let width = (self.nodes() - self.calendar.busy_over(start, end).len()).max(request.nodes);
                Rectangle { start, width, begin: start, end }
            }
            (_, Seek::Least) => Rectangle { start, width: request.nodes, begin: start, end: start + request.duration },
            (_, Seek::Most) => Rectangle { start, width: self.calendar.most_free(start, end), begin: now, end: beyond },
        };
        Some(OfferBound { rank: self.fit.rank(&rectangle), start, is_exact: false })
    }

    fn best_start(&self, now: Time, wanted: &RectangleQuery, deadline: Time) -> Option<(Time, i128)> {
        let mut best: Option<(Time, i128)> = None;
        self.rectangles(now, wanted, deadline, self.fit.measure != FitMeasure::Nodes, |rectangle| {
            let rank = self.fit.rank(&rectangle);
            if best.is_none_or(|(_, least)| rank < least) {
                best = Some((rectangle.start, rank));
            }
        });
        best
    }

    /// Calls `each` with the free rectangle around each candidate start, in order of time: the largest, or one that is
    /// as long as the booking.
    fn rectangles(
        &self,
        now: Time,
        wanted: &RectangleQuery,
        deadline: Time,
        is_largest: bool,
        mut each: impl FnMut(Rectangle),
    ) {
        let ceiling = if self.rect_end == RectEnd::Clip { deadline } else { Time::NEVER };
        let bounds = is_largest.then_some(Bounds { floor: now, ceiling });
        self.calendar.rectangles(wanted, bounds, &mut |mut rectangle| {
            if self.rect_end == RectEnd::Inf2tdl && rectangle.end == Time::NEVER {
                rectangle.end = deadline;
            }
            each(rectangle);
        });
    }

    pub fn add(&mut self, start: Time, end: Time, nodes: &NodeSet) -> Result<(), Clash> {
        self.calendar.insert(start, end, nodes)?;
        self.until = self.until.max(end);
        Ok(())
    }

    /// Frees the rest of a booking from a time on, which is now or later; nodes that are down stay blocked.
    pub fn delete(&mut self, start: Time, end: Time, nodes: &NodeSet) -> Result<(), Clash> {
        self.calendar.remove(start, end, nodes)?;
        self.blocked.block_released(start, end, nodes, &mut self.calendar);
        Ok(())
    }

    /// Blocks nodes that are down until their expected return; all others are up.
    pub fn block_down(&mut self, now: Time, down: &[Expected]) {
        self.blocked.update(now, down, &mut self.calendar);
        self.until = down.iter().map(|one| one.back).fold(self.until, Time::max);
    }
}
