//! Handling of tasks that are killed by failures.

use serde::Serialize;

use super::{Area, Failure};
use crate::time::Span;
use crate::words::words;

/// Handling of a task whose node fails.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recovery {
    pub killed: Killed,
    /// Number of failures after which a task is given up.
    pub attempts: u32,
    pub checkpoint: Option<Checkpoint>,
    pub bookings: Bookings,
    /// Compensation for a broken booking, in millionths of its area.
    pub compensation_millionths: u64,
    pub data: Interrupted,
}

words! {
    /// Treatment of nodes that fail while they are booked or run their booked task.
    #[derive(Default)]
    Bookings {
        /// Books other nodes, now or later, here or at another site; the promise breaks only if there are none.
        #[default]
        Move = "move",
        /// The booking stays in place, with the time that is left when its nodes are back.
        Shorten = "shorten",
        /// The booking is cancelled.
        Break = "break",
    }
    /// Destination of a task that a failure has killed.
    #[derive(Default)]
    Killed {
        /// To the head of its site's queue.
        #[default]
        Head = "head",
        /// To the end of its site's queue.
        Tail = "tail",
        /// Back to the service or user that sent it to the site, which may choose another one.
        Back = "back",
        /// The task is lost, and its job with it.
        Lost = "lost",
    }
    /// Handling of data on a link that fails.
    #[derive(Default)]
    Interrupted {
        /// It stops, and continues when the link is back.
        #[default]
        Wait = "wait",
        /// The rest takes the shortest route without failed links; if there is none, it waits.
        Reroute = "reroute",
        /// All of it is sent again when the link is back.
        Restart = "restart",
    }
}

/// Tasks save their progress, and continue from there.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Checkpoint {
    pub every: Every,
    /// Time that a task pauses to save.
    pub cost: Span,
}

/// Work of a task between two checkpoints.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub enum Every {
    /// No checkpoints.
    Never,
    Span(Span),
    /// Millionths of the interval of J. W. Young, "A first order approximation to the optimum checkpoint interval",
    /// Communications of the ACM 17(9), 1974: the root of twice the cost times the mean time between failures.
    Young(u64),
}

/// Checkpoint interval and cost of one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointSchedule {
    every: Span,
    cost: Span,
}

impl Default for Recovery {
    fn default() -> Recovery {
        let killed = Killed::default();
        let bookings = Bookings::default();
        Recovery {
            killed,
            attempts: 100,
            checkpoint: None,
            bookings,
            compensation_millionths: 0,
            data: Interrupted::default(),
        }
    }
}

impl Checkpoint {
    /// Schedule of a task that failures hit at this rate per second; `None` if it needs no checkpoints.
    pub fn checkpoint_schedule(&self, rate: f64) -> Option<CheckpointSchedule> {
        let every = match self.every {
            Every::Never => return None,
            Every::Span(every) => every,
            Every::Young(_) if rate <= 0.0 => return None,
            Every::Young(millionths) => {
                let best = (2.0 * self.cost.micros() as f64 * (1e6 / rate)).sqrt();
                Span::from_micros((best * millionths as f64 / 1e6).round() as u64)
            }
        };
        (!every.is_zero()).then_some(CheckpointSchedule { every, cost: self.cost })
    }
}

impl Recovery {
    /// True if a task with this many losses is tried again.
    pub fn tries_again(&self, losses: u32) -> bool {
        self.killed != Killed::Lost && losses < self.attempts
    }

    /// Compensation of a user for a broken booking.
    pub fn compensation(&self, booked: Area) -> Area {
        let part = u128::from(booked.micros()) * u128::from(self.compensation_millionths) / 1_000_000;
        Area::from_micros(u64::try_from(part).unwrap_or(u64::MAX))
    }

    /// Schedule of a task on `task` nodes of a site with `site` nodes and these failures.
    pub fn checkpoint_schedule(&self, failures: &[Failure], site: u32, task: u32) -> Option<CheckpointSchedule> {
        self.checkpoint?.checkpoint_schedule(failures.iter().map(|failure| failure.rate(site, task)).sum())
    }
}

impl CheckpointSchedule {
    /// Duration of this work with its checkpoints, of which there is none at its end.
    pub fn with_checkpoints(self, work: Span) -> Span {
        let times = work.micros().saturating_sub(1) / self.every.micros();
        work + Span::from_micros(self.cost.micros().saturating_mul(times))
    }

    /// Checkpoints of a task after this run time.
    pub fn times(self, ran: Span) -> u64 {
        ran.micros() / (self.every + self.cost).micros()
    }

    /// Checkpoints of a task that has finished after this run time, without one at its end.
    pub fn times_in_all(self, ran: Span) -> u64 {
        self.times(Span::from_micros(ran.micros().saturating_sub(1)))
    }

    /// Work saved by this many checkpoints.
    pub fn saved(self, times: u64) -> Span {
        Span::from_micros(self.every.micros().saturating_mul(times))
    }

    /// Time spent on this many checkpoints.
    pub fn spent(self, times: u64) -> Span {
        Span::from_micros(self.cost.micros().saturating_mul(times))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_saved_between_checkpoints_and_not_at_the_end() {
        let seconds = Span::from_secs;
        let checkpoint = Checkpoint { every: Every::Span(seconds(10)), cost: seconds(2) };
        let saves = checkpoint.checkpoint_schedule(0.0).unwrap();
        for (work, takes, times) in [(9, 9, 0), (10, 10, 0), (11, 13, 1), (20, 22, 1), (21, 25, 2)] {
            assert_eq!(saves.with_checkpoints(seconds(work)), seconds(takes), "{work} s of work");
            assert_eq!(saves.times_in_all(seconds(takes)), times, "{work} s of work");
        }
        for (ran, saved) in [(0, 0), (11, 0), (12, 10), (23, 10), (24, 20)] {
            let times = saves.times(seconds(ran));
            assert_eq!(saves.saved(times), seconds(saved), "after {ran} s");
            assert_eq!(saves.spent(times), seconds(saved / 5), "after {ran} s");
        }
        // Without cost, work takes as long as without checkpoints.
        let free = Checkpoint { cost: Span::ZERO, ..checkpoint }.checkpoint_schedule(0.0).unwrap();
        assert_eq!((free.with_checkpoints(seconds(20)), free.times_in_all(seconds(20))), (seconds(20), 1));
    }

    #[test]
    fn youngs_interval_is_the_root_of_twice_the_cost_times_the_mean_time_between_failures() {
        let young = |millionths| Checkpoint { every: Every::Young(millionths), cost: Span::from_secs(20) };
        // One failure in 36000 s: the root of 1 440 000 is 1200.
        let every = |millionths| young(millionths).checkpoint_schedule(1.0 / 36_000.0).unwrap().saved(1);
        assert_eq!(every(1_000_000), Span::from_secs(1_200));
        assert_eq!(every(500_000), Span::from_secs(600));
        assert_eq!(young(1_000_000).checkpoint_schedule(0.0), None);
    }
}
