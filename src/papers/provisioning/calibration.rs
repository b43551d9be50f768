//! The site of figures 33 to 49. The thesis ran them against the queue of NCSA's TeraGrid cluster, of which no log is
//! at hand, and prints three chances of a start in time there. The model's free parameters are found by a search for
//! these three numbers; nothing else is fitted.

use std::fmt::Write;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::load::{Demand, Estimates};
use super::{Extent, deviation, mean, virtuals};
use hansa_sim::grid::Part;
use hansa_sim::roles::queue::Rigid;
use hansa_sim::systems::provisioning::desk::Desk;
use hansa_sim::systems::provisioning::virtual_reservation::search;
use hansa_sim::time::{Span, Time};

/// A chance of a start in time that the thesis prints, at a site whose work is wanted in four hours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrintedChance {
    pub what: &'static str,
    /// Name of its line in the results.
    pub line: &'static str,
    pub value: f64,
}

/// Figure of the three chances in the results.
pub const FIGURE: &str = "33";

pub const PRINTED: [PrintedChance; 3] = [
    PrintedChance { what: "chance of 32 nodes for 4 h to start within 4 h", line: "32x4h within 4 h", value: 0.38 },
    PrintedChance { what: "best chance of 32 nodes for 1 h in 4 h", line: "best 32x1h", value: 0.772 },
    PrintedChance { what: "best chance of 32 nodes for 4 h in 4 h", line: "best 32x4h", value: 0.747 },
];

/// Free parameters of the model's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    pub procs: u32,
    /// Utilisation in thousandths.
    pub load: u32,
    /// Typical run time of long jobs, in minutes.
    pub long: u32,
}

/// Result of the search, the least misfit: the queue of figures 33 to 49.
///
/// Its chances are about equal (0.62, 0.63, 0.62; misfit 0.18), and no queue of the search does better. The first
/// chance is of a request of 4 h within 4 h, the second one, at the printed moment, of 190 min within 130 min. Both
/// are of one class of jobs here, whose chance cannot fall as the time limit grows. Any three equal chances are off by
/// 0.179 or more.
pub const NCSA: Queue = Queue { procs: 128, load: 700, long: 15 };

const PROCS: [u32; 4] = [64, 128, 256, 512];
const LOADS: [u32; 3] = [700, 800, 900];
const LONG: [u32; 3] = [15, 60, 193];

impl Queue {
    /// All queues of the search.
    pub fn all() -> Vec<Queue> {
        let sizes = PROCS.into_iter().flat_map(|procs| LOADS.map(|load| (procs, load)));
        sizes.flat_map(|(procs, load)| LONG.map(|long| Queue { procs, load, long })).collect()
    }

    fn words(&self) -> String {
        let Queue { procs, load, long } = self;
        format!("{procs} processors, {:.1} %, {long} min", f64::from(*load) / 10.0)
    }

    /// Jobs of the queue's own users.
    pub fn background(&self, days: u64, seed: u64) -> Arc<[Rigid]> {
        let demand = Demand {
            procs: self.procs,
            load: f64::from(self.load) / 1_000.0,
            long: Some(Span::from_minutes(self.long.into())),
        };
        demand.jobs(days, Estimates::Inexact, seed)
    }
}

/// The three chances at a moment, in the order of [`PRINTED`].
pub fn chances(desk: &Desk, now: Time) -> [f64; 3] {
    let mut desk = desk.clone();
    let ahead = Span::from_minutes(4 * 60);
    let plain = desk.forecast(now, 32, ahead, ahead);
    let mut best = |hours: u64| {
        let work = Part { procs: 32, start: now + ahead, span: Span::from_minutes(hours * 60) };
        let found = search(now, &work, |requested, within| desk.forecast(now, work.procs, requested, within));
        found.map_or(0.0, |attempt| attempt.chance)
    };
    [plain, best(1), best(4)]
}

/// Means of the three chances over all trials of a queue, with their deviations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    pub queue: Queue,
    pub chances: [f64; 3],
    pub deviations: [f64; 3],
}

impl Fit {
    /// Runs the trials of the experiment at a queue.
    pub fn of(extent: &Extent, queue: Queue) -> Fit {
        let mut samples: [Vec<f64>; 3] = Default::default();
        for history in 0..extent.virtual_histories {
            virtuals::at_moments(extent, &queue, history, |trial| {
                for (all, chance) in samples.iter_mut().zip(chances(&trial.desk, trial.now())) {
                    all.push(chance);
                }
            });
        }
        let of = |of: fn(&[f64]) -> Option<f64>| samples.each_ref().map(|all| of(all).unwrap_or_default());
        Fit { queue, chances: of(mean), deviations: of(deviation) }
    }

    /// Root of the mean square difference from the thesis.
    pub fn misfit(&self) -> f64 {
        misfit(&self.chances)
    }
}

fn misfit(chances: &[f64; 3]) -> f64 {
    let apart = chances.iter().zip(PRINTED).map(|(ours, printed)| ours - printed.value);
    let squares: f64 = apart.map(|apart| apart * apart).sum();
    (squares / 3.0).sqrt()
}

/// Number of queues that the text shows.
const SHOWN: usize = 12;

/// The search as text: the thesis's chances, the queue that the experiment uses, and those that fit best.
pub fn text(extent: &Extent, fits: &[Fit]) -> String {
    let mut text = format!(
        "Search for a queue with the chances that the thesis prints of NCSA's TeraGrid cluster: {} queues, each over \
         {} histories\nof {} days, a trial a day. Chances are means over all trials; the misfit is the root of the mean \
         square difference.\n\n{:<34}{:>10}{:>10}{:>10}{:>10}\n",
        fits.len(),
        extent.virtual_histories,
        extent.virtual_days,
        "",
        "4 h, 4 h",
        "best 1 h",
        "best 4 h",
        "misfit"
    );
    let mut line = |name: &str, chances: &[f64; 3], misfit: Option<f64>| {
        let _ = write!(text, "{name:<34}");
        let _ = chances.iter().try_for_each(|chance| write!(text, "{chance:>10.3}"));
        let _ = misfit.map_or(Ok(()), |misfit| write!(text, "{misfit:>10.3}"));
        text.push('\n');
    };
    line("thesis", &PRINTED.map(|printed| printed.value), None);
    let mut sorted: Vec<&Fit> = fits.iter().collect();
    sorted.sort_by(|one, other| one.misfit().total_cmp(&other.misfit()));
    for fit in sorted.iter().take(SHOWN) {
        let mark = if fit.queue == NCSA { ", used" } else { "" };
        line(&format!("{}{mark}", fit.queue.words()), &fit.chances, Some(fit.misfit()));
    }
    if let Some(used) = sorted.iter().skip(SHOWN).find(|fit| fit.queue == NCSA) {
        line(&format!("{}, used", used.queue.words()), &used.chances, Some(used.misfit()));
    }
    text
}

/// `calibration.csv`: all queues of the search, in its order.
pub fn csv(fits: &[Fit]) -> String {
    let mut text = "procs,load,long_minutes,within_4h,best_1h,best_4h,misfit\n".to_owned();
    for fit in fits {
        let Queue { procs, load, long } = fit.queue;
        let [plain, one, four] = fit.chances;
        let _ = writeln!(text, "{procs},{},{long},{plain},{one},{four},{}", f64::from(load) / 1_000.0, fit.misfit());
    }
    text
}
