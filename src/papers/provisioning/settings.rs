//! Points that the thesis leaves open, with their options and reasons in `experiments/papers/provisioning.toml`.

use hansa_report::experiment::program::ProgramFile;
use hansa_sim::settings::{Walk, key};
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
        /// Jobs of the log.
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
        /// Two single moments are nearest to the printed chances.
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
pub(super) const UNSET: Settings = Settings {
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
        file.settings(&file.choices.usual_selection())
    }
}

/// The choices of the experiment.
pub fn choices() -> ProgramFile<Settings> {
    let (path, text) = FILE;
    ProgramFile::read_text(path, text, UNSET, Settings::walk).unwrap_or_else(|wrong| panic!("{wrong}"))
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
}
