//! Cost of resuming a job, on the same or on other nodes.

use crate::time::{Span, Time};
use crate::words::words;

words! {
    /// Jobs that wait for the penalty, and the start of the wait.
    #[derive(Default)]
    PenaltyRule {
        /// Jobs that are resumed or moved wait from then on.
        #[default]
        Moves = "moves",
        /// Only jobs that are resumed wait; moves are free.
        Pauses = "pauses",
        /// Resumed jobs wait from their pause on, so it is over after a long one; moved jobs wait from then on.
        FromPause = "from-pause",
    }
}

/// Time without progress after a job is resumed or moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MoveCost {
    /// Constant part of the cost.
    pub penalty: Span,
    /// Jobs that wait for the penalty to pass.
    pub rule: PenaltyRule,
    /// Transfer of memory images, if it is modelled.
    pub images: Option<Images>,
}

/// Transfer of the memory of a job's tasks from node to node, through storage shared by all nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Images {
    /// Memory of a node, in kB.
    pub memory_kb: u64,
    /// Bandwidth that the images of one job share, in bits per second.
    pub bandwidth: u64,
}

impl MoveCost {
    /// Time from which a job makes progress that moves `now`, with `tasks` tasks on new nodes, each with this share of
    /// a node's memory.
    pub fn after_move(&self, now: Time, tasks: u32, memory: f64) -> Time {
        let penalty = if self.rule == PenaltyRule::Pauses { Span::ZERO } else { self.penalty };
        now + penalty + self.transfer(tasks, memory)
    }

    /// Time from which a job makes progress that was paused and resumes `now`, with `tasks` tasks.
    pub fn after_pause(&self, paused: Time, now: Time, tasks: u32, memory: f64) -> Time {
        let from = if self.rule == PenaltyRule::FromPause { paused } else { now };
        now.max(from + self.penalty) + self.transfer(tasks, memory)
    }

    fn transfer(&self, tasks: u32, memory: f64) -> Span {
        self.images.map_or(Span::ZERO, |images| images.time(tasks, memory))
    }
}

impl Images {
    /// Transfer time of the images, one after the other or all at once, rounded up to a microsecond.
    pub fn time(&self, tasks: u32, memory: f64) -> Span {
        let bytes = (memory * self.memory_kb as f64 * 1e3).round() as u64;
        let bits = 8 * u128::from(bytes) * u128::from(tasks);
        let micros = (bits * 1_000_000).div_ceil(self.bandwidth.max(1).into());
        Span::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfer_time_of_images_follows_their_bytes() {
        let images = Images { memory_kb: 8_000_000, bandwidth: 10_000_000_000 };
        // 128 tasks of 8 GB are a terabyte: 8,192 Gb at 10 Gbps.
        assert_eq!(images.time(128, 1.0), Span::from_micros(819_200_000));
        assert_eq!(images.time(3, 0.1), Span::from_micros(1_920_000));
        assert_eq!(images.time(0, 1.0), Span::ZERO);
        // One bit too many takes a microsecond more, and very slow storage saturates.
        assert_eq!(Images { memory_kb: 1, bandwidth: 8_001 }.time(1, 1.0), Span::from_micros(999_876));
        assert_eq!(Images { memory_kb: 1_000_000_000_000, bandwidth: 1 }.time(u32::MAX, 1.0), Span::MAX);
    }

    /// A job of two tasks is paused at 100 s and resumes at 150 or 500 s, or moves at 150 s. The penalty is 300 s, and
    /// its images take 6.4 s.
    #[test]
    fn the_penalty_is_paid_by_the_rule() {
        let at = |millis: u64| Time::from_micros(1_000 * millis);
        let images = Images { memory_kb: 8_000_000, bandwidth: 10_000_000_000 };
        for (rule, soon, late, moved) in [
            (PenaltyRule::Moves, 456_400, 806_400, 456_400),
            (PenaltyRule::Pauses, 456_400, 806_400, 156_400),
            (PenaltyRule::FromPause, 406_400, 506_400, 456_400),
        ] {
            let cost = MoveCost { penalty: Span::from_secs(300), rule, images: Some(images) };
            assert_eq!(cost.after_pause(at(100_000), at(150_000), 2, 0.5), at(soon), "{rule:?}");
            assert_eq!(cost.after_pause(at(100_000), at(500_000), 2, 0.5), at(late), "{rule:?}");
            assert_eq!(cost.after_move(at(150_000), 2, 0.5), at(moved), "{rule:?}");
        }
    }
}
