//! Points that the thesis leaves open, with their options and reasons in `experiments/papers/provisioning.toml`.

use super::calibration::{Queue, THREE_MEANS, TWO_MOMENTS};
use super::load::{Estimates, Site};
use super::prices;
use super::{Logs, Piece};
use hansa_report::experiment::program::ProgramFile;
use hansa_sim::settings::{Walk, key};
use hansa_sim::systems::provisioning::forecast::{Forecast, History};
use hansa_sim::time::Span;
use hansa_sim::words::words;

/// Path of the file with the choices, and its text.
const FILE: (&str, &str) = ("experiments/papers/provisioning.toml", include_str!("provisioning.toml"));

words! {
    /// Part of a log that figures 4 to 8 look at.
    SlotsOf {
        /// All of it.
        Whole = "whole",
        /// Its first 90 days.
        NinetyDays = "90-days",
        /// Its first 30 days.
        ThirtyDays = "30-days",
    }
    /// Jobs of a log at the least load of a figure.
    Loads {
        /// Those of the log.
        Unmodified = "unmodified",
        /// Jobs that have the printed utilisation.
        Tuned = "tuned",
    }
    /// Inexact requests of the model's jobs.
    Ratios {
        /// In the proportions of logs.
        Logs = "logs",
        /// Uniform fractions of the request, of a twentieth at least.
        Bounded = "bounded",
        /// Uniform fractions of the request.
        Uniform = "uniform",
    }
    /// Duration of reservations where requests are inexact.
    Reserved {
        /// The run time of the job.
        RunTime = "run-time",
        /// The time that the job requests.
        Request = "request",
    }
    /// Planner of sites that price reservations.
    Backfilling {
        /// Conservative backfilling over slots.
        Conservative = "conservative",
        /// EASY.
        Aggressive = "aggressive",
    }
    /// Queue of virtual reservations.
    QueueFit {
        /// Two single moments have the printed chances.
        TwoMoments = "two-moments",
        /// Means over all moments are near the printed chances.
        ThreeMeans = "three-means",
    }
    /// Jobs whose waits make a forecast.
    Predictor {
        /// Jobs of a like size and requested time.
        SizesAndTimes = "sizes-and-times",
        /// Jobs of a like size.
        Sizes = "sizes",
        /// All jobs.
        AllJobs = "all-jobs",
    }
    /// Processors of a task of SDSC in figure 54.
    PricedWidths {
        /// As in figures 15 and 55.
        OneToNine = "1-to-9",
        /// As the figure prints them.
        ThreeToThirty = "3-to-30",
    }
}

impl QueueFit {
    pub fn queue(self) -> Queue {
        match self {
            QueueFit::TwoMoments => TWO_MOMENTS,
            QueueFit::ThreeMeans => THREE_MEANS,
        }
    }
}

impl Backfilling {
    pub(super) fn planner(self) -> &'static str {
        match self {
            Backfilling::Conservative => "slotlist",
            Backfilling::Aggressive => "easy-count",
        }
    }
}

/// Settings that the thesis leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    pub slots: SlotsOf,
    pub loads: Loads,
    pub ratios: Ratios,
    pub reserved: Reserved,
    pub backfilling: Backfilling,
    pub queue: QueueFit,
    pub predictor: Predictor,
    pub widths: PricedWidths,
}

/// Settings that the options of the file replace.
const UNSET: Settings = Settings {
    slots: SlotsOf::Whole,
    loads: Loads::Unmodified,
    ratios: Ratios::Logs,
    reserved: Reserved::RunTime,
    backfilling: Backfilling::Conservative,
    queue: QueueFit::TwoMoments,
    predictor: Predictor::SizesAndTimes,
    widths: PricedWidths::OneToNine,
};

impl Default for Settings {
    /// The usual option of each choice.
    fn default() -> Settings {
        let file = choices();
        file.settings(&file.choices.usual())
    }
}

/// The choices of the experiment.
pub fn choices() -> ProgramFile<Settings> {
    let (path, text) = FILE;
    ProgramFile::read(path, text, UNSET, Settings::walk).unwrap_or_else(|wrong| panic!("{wrong}"))
}

impl Settings {
    fn walk(&mut self, w: &mut dyn Walk) {
        w.set(key("slots", "the part of a log that advertised slots are of"), &mut self.slots, SlotsOf::ALL);
        w.set(key("loads", "the jobs of a log at the least load"), &mut self.loads, Loads::ALL);
        w.set(key("estimates", "the requests of the model's jobs"), &mut self.ratios, Ratios::ALL);
        w.set(key("reserved", "the duration of reservations"), &mut self.reserved, Reserved::ALL);
        w.set(key("backfilling", "the planner where reservations are priced"), &mut self.backfilling, Backfilling::ALL);
        w.set(key("queue", "the queue of virtual reservations"), &mut self.queue, QueueFit::ALL);
        w.set(key("predictor", "the jobs whose waits make a forecast"), &mut self.predictor, Predictor::ALL);
        w.set(key("widths", "the processors of a task of SDSC in figure 54"), &mut self.widths, PricedWidths::ALL);
    }

    /// Settings for a piece of work, with fixed ones wherever its result does not depend on them, so that equal work of
    /// several variants is recognised.
    pub fn for_piece(self, piece: &Piece, logs: &Logs) -> Settings {
        let Settings { slots, loads, ratios, reserved, backfilling, queue, predictor, widths } = self;
        // Requests of a log are its own, and only a log can be unmodified.
        let (loads, ratios) = if logs.are_given() { (loads, UNSET.ratios) } else { (UNSET.loads, ratios) };
        let slots = if logs.are_given() { slots } else { UNSET.slots };
        match piece {
            Piece::Slots(_) => Settings { slots, loads, ratios, ..UNSET },
            Piece::Plans(_) | Piece::CyberShake { .. } | Piece::Several { .. } => Settings { loads, ..UNSET },
            Piece::Widths { site: Site::Ctc, .. } => Settings { loads, ..UNSET },
            Piece::Widths { site: Site::Sdsc, .. } => Settings { loads, widths, ..UNSET },
            Piece::Prices(setting) => {
                let backfilling =
                    if setting.planner == prices::Planner::Usual { backfilling } else { UNSET.backfilling };
                match setting.estimates {
                    Estimates::Exact => Settings { loads, backfilling, ..UNSET },
                    Estimates::Inexact => Settings { loads, ratios, reserved, backfilling, ..UNSET },
                }
            }
            Piece::Virtuals { .. } => Settings { ratios: self.ratios, queue, predictor, ..UNSET },
        }
    }
}

/// A history that tells only some properties of jobs apart.
#[derive(Clone)]
struct CoarseHistory {
    predictor: Predictor,
    history: History,
}

impl CoarseHistory {
    /// The processors and the requested time by which the history tells a job apart.
    fn class(&self, procs: u32, walltime: Span) -> (u32, Span) {
        match self.predictor {
            Predictor::SizesAndTimes => (procs, walltime),
            Predictor::Sizes => (procs, Span::ZERO),
            Predictor::AllJobs => (1, Span::ZERO),
        }
    }
}

impl Forecast for CoarseHistory {
    fn record(&mut self, procs: u32, walltime: Span, wait: Span) {
        let (procs, walltime) = self.class(procs, walltime);
        self.history.record(procs, walltime, wait);
    }

    fn chance(&mut self, procs: u32, walltime: Span, within: Span) -> f64 {
        let (procs, walltime) = self.class(procs, walltime);
        self.history.chance(procs, walltime, within)
    }

    fn copy(&self) -> Box<dyn Forecast> {
        Box::new(self.clone())
    }
}

impl Predictor {
    pub(super) fn history(self) -> Box<dyn Forecast> {
        Box::new(CoarseHistory { predictor: self, history: History::new() })
    }
}
