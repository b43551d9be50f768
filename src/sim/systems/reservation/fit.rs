//! The seven fit policies: the choice among the possible starts of a reservation.

use crate::grid::{Named, Rectangle, Speed};
use crate::systems::EXTERNAL;
use crate::time::{Span, Time};

/// A policy that a topology may name: its measure of the largest free rectangle around a start, and its direction. Ties
/// go to the earliest start.
#[derive(Debug)]
pub struct Fit {
    pub name: &'static str,
    /// Name in the paper.
    pub label: &'static str,
    pub about: &'static str,
    pub measure: FitMeasure,
    pub seek: Seek,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FitMeasure {
    /// The start of the rectangle.
    Start,
    /// Number of nodes that are free throughout the booking.
    Nodes,
    Duration,
    Area,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seek {
    Least,
    Most,
}

/// All fit policies, in the paper's order.
pub const ALL: &[Fit] = &[
    fit_row("ff", "FF", "the earliest feasible start", FitMeasure::Start, Seek::Least),
    fit_row("pe_b", "PE_B", "the fewest free nodes (best fit)", FitMeasure::Nodes, Seek::Least),
    fit_row("du_b", "Du_B", "the shortest free rectangle (best fit)", FitMeasure::Duration, Seek::Least),
    fit_row("pedu_b", "PEDu_B", "the smallest free rectangle (best fit)", FitMeasure::Area, Seek::Least),
    fit_row("pe_w", "PE_W", "the most free nodes (worst fit)", FitMeasure::Nodes, Seek::Most),
    fit_row("du_w", "Du_W", "the longest free rectangle (worst fit)", FitMeasure::Duration, Seek::Most),
    fit_row("pedu_w", "PEDu_W", "the largest free rectangle (worst fit)", FitMeasure::Area, Seek::Most),
];

const fn fit_row(name: &'static str, label: &'static str, about: &'static str, measure: FitMeasure, seek: Seek) -> Fit {
    Fit { name, label, about, measure, seek }
}

pub fn find_fit(name: &str) -> Option<&'static Fit> {
    ALL.iter().find(|fit| fit.name == name)
}

impl Fit {
    /// Rank of a start under this policy; the smallest wins.
    pub fn rank(&self, rectangle: &Rectangle) -> i128 {
        // All rectangles without end have equal length.
        let endless = rectangle.end == Time::NEVER;
        let duration = if endless { Span::MAX } else { rectangle.end - rectangle.begin };
        let measure = match self.measure {
            FitMeasure::Start => 0,
            FitMeasure::Nodes => i128::from(rectangle.width),
            FitMeasure::Duration => i128::from(duration.micros()),
            FitMeasure::Area if endless => i128::MAX,
            FitMeasure::Area => i128::from(rectangle.width) * i128::from(duration.micros()),
        };
        match self.seek {
            Seek::Least => measure,
            Seek::Most => -measure,
        }
    }

    /// Makes ranks of sites with different speeds comparable: nodes count by their speed, so the number of
    /// nodes becomes their capacity, and the area the work that fits into it.
    pub fn scaled_by_speed(&self, rank: i128, speed: Speed) -> i128 {
        match self.measure {
            FitMeasure::Start | FitMeasure::Duration => rank,
            // All rectangles without end stay equal.
            FitMeasure::Nodes | FitMeasure::Area => rank.saturating_mul(speed.0.into()).max(-i128::MAX),
        }
    }
}

/// The policy that stands for an external program.
pub const OUTSIDE: Named =
    Named { name: EXTERNAL, about: "the choice of an external program, which [reservation.allocator] describes" };

/// The fit policies that a topology may name.
pub fn fit_names() -> Vec<Named> {
    ALL.iter().map(|fit| Named { name: fit.name, about: fit.about }).chain([OUTSIDE]).collect()
}
