//! The site of figures 33 to 49. The thesis ran them against the queue of NCSA's TeraGrid cluster, of which no log is
//! at hand, and prints chances of a start in time there: one in figure 35, two in figure 36. The model's free
//! parameters are found by a search for these three numbers; nothing else is fitted.

use std::fmt::Write;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::load::Demand;
use super::settings::{QueueFit, Ratios, Settings};
use super::{Extent, mean_of, virtuals};
use hansa_sim::grid::Part;
use hansa_sim::roles::queue::Rigid;
use hansa_sim::systems::provisioning::desk::Desk;
use hansa_sim::systems::provisioning::virtual_reservation::find_submission;
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

/// The chance of figure 35, then those of figure 36.
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

/// Queue with the smallest misfit of the search. Jobs wait in it at 96 of 100 moments; queues with jobs at all moments
/// are longer, and lead to fees that are thousands of times those of the thesis.
pub const TWO_MOMENTS: Queue = Queue { procs: 128, load: 700, long: 60 };

/// Result of an earlier search by means, with uniform estimates: the least distance of the mean chances from the
/// printed ones, which no queue brings below 0.179, as the chance of a request of 4 h within 4 h is no lower than that
/// of a request of the same class within 130 min.
pub const THREE_MEANS: Queue = Queue { procs: 128, load: 700, long: 15 };

const PROCS: [u32; 5] = [128, 256, 512, 1024, 2048];
const LOADS: [u32; 4] = [700, 800, 900, 950];
const LONG: [u32; 3] = [15, 60, 193];

impl Queue {
    pub(super) fn of(fit: QueueFit) -> Queue {
        match fit {
            QueueFit::TwoMoments => TWO_MOMENTS,
            QueueFit::ThreeMeans => THREE_MEANS,
        }
    }

    /// All queues of the search.
    pub fn all_queues() -> Vec<Queue> {
        let sizes = PROCS.into_iter().flat_map(|procs| LOADS.map(|load| (procs, load)));
        sizes.flat_map(|(procs, load)| LONG.map(|long| Queue { procs, load, long })).collect()
    }

    fn words(&self) -> String {
        let Queue { procs, load, long } = self;
        format!("{procs} processors, {:.1} %, {long} min", f64::from(*load) / 10.0)
    }

    /// Jobs of the queue's own users.
    pub fn background(&self, days: u64, ratios: Ratios, seed: u64) -> Arc<[Rigid]> {
        let demand = Demand {
            procs: self.procs,
            load: f64::from(self.load) / 1_000.0,
            long: Some(Span::from_minutes(self.long.into())),
        };
        demand.jobs(days, Some(ratios), seed)
    }
}

/// The three chances at a moment, in the order of [`PRINTED`].
pub fn start_chances(desk: &Desk, now: Time) -> [f64; 3] {
    let mut desk = desk.clone();
    let ahead = Span::from_minutes(4 * 60);
    let plain = desk.forecast(now, 32, ahead, ahead);
    let mut best = |hours: u64| {
        let work = Part { procs: 32, start: now + ahead, span: Span::from_minutes(hours * 60) };
        let found = find_submission(now, &work, |requested, within| desk.forecast(now, work.procs, requested, within));
        found.map_or(0.0, |attempt| attempt.chance)
    };
    [plain, best(1), best(4)]
}

/// A queue at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    pub chances: [f64; 3],
    /// Number of jobs that wait.
    pub waiting: usize,
}

/// The moments of a queue that are nearest to the printed chances.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    pub queue: Queue,
    /// Chance of figure 35 at the moment that is nearest to it.
    pub figure_35: f64,
    /// Chances of figure 36 at the moment that is nearest to both.
    pub figure_36: [f64; 2],
    /// Fraction of moments at which jobs wait.
    pub backlog: f64,
    /// Means of the three chances over all moments.
    pub means: [f64; 3],
}

impl Fit {
    /// Runs the trials of the experiment at a queue.
    pub fn fit_queue(extent: &Extent, settings: &Settings, queue: Queue) -> Fit {
        let mut moments = Vec::new();
        for history in 0..extent.virtual_histories {
            virtuals::at_moments(extent, settings, &queue, history, |trial| {
                let waiting = trial.desk.jobs().0;
                moments.push(Moment { chances: start_chances(&trial.desk, trial.now()), waiting });
            });
        }
        Fit::of_moments(queue, &moments)
    }

    /// The fit of a queue with these moments, of which there is at least one.
    pub(super) fn of_moments(queue: Queue, moments: &[Moment]) -> Fit {
        let backlog = moments.iter().filter(|moment| moment.waiting > 0).count() as f64 / moments.len() as f64;
        let [_, one, four] = nearest_chances(&PRINTED[1..], 1, moments);
        Fit {
            queue,
            figure_35: nearest_chances(&PRINTED[..1], 0, moments)[0],
            figure_36: [one, four],
            backlog,
            means: [0, 1, 2].map(|at| mean_of(&chances_at(at, moments)).unwrap_or_default()),
        }
    }

    /// Root of the mean square difference between the nearest moments and the printed chances.
    pub fn misfit(&self) -> f64 {
        let [one, four] = self.figure_36;
        rms_misfit(&[self.figure_35, one, four], &PRINTED)
    }

    /// Root of the mean square difference between the means and the printed chances.
    pub fn misfit_of_means(&self) -> f64 {
        rms_misfit(&self.means, &PRINTED)
    }
}

fn chances_at(at: usize, moments: &[Moment]) -> Vec<f64> {
    moments.iter().map(move |moment| moment.chances[at]).collect::<Vec<_>>()
}

fn nearest_chances(printed: &[PrintedChance], first: usize, moments: &[Moment]) -> [f64; 3] {
    let apart = |moment: &Moment| rms_misfit(&moment.chances[first..first + printed.len()], printed);
    let nearest = moments.iter().min_by(|one, other| apart(one).total_cmp(&apart(other)));
    nearest.map_or([0.0; 3], |moment| moment.chances)
}

fn rms_misfit(chances: &[f64], printed: &[PrintedChance]) -> f64 {
    let apart = chances.iter().zip(printed).map(|(ours, printed)| ours - printed.value);
    let squares: f64 = apart.map(|apart| apart * apart).sum();
    (squares / printed.len() as f64).sqrt()
}

/// Number of queues that the text shows.
const SHOWN: usize = 12;

/// The search as text: the thesis's chances, and the queues that fit best, with those that the experiment may use.
pub fn calibration_text(extent: &Extent, fits: &[Fit]) -> String {
    let mut text = format!(
        "Search for a queue with the chances that the thesis prints of NCSA's TeraGrid cluster: {} queues, each over \
         {} histories\nof {} days, a trial a day. Figures 35 and 36 show a moment each, so the nearest moment to each \
         counts; the misfit is the\nroot of the mean square difference. Backlog is the part of all moments at which jobs \
         wait. Means are over all moments.\n\n{:<42}{:>10}{:>16}{:>9}{:>9}{:>24}{:>9}\n",
        fits.len(),
        extent.virtual_histories,
        extent.virtual_days,
        "",
        "figure 35",
        "figure 36",
        "misfit",
        "backlog",
        "means",
        "misfit"
    );
    let [printed_35, one, four] = PRINTED.map(|printed| printed.value);
    let _ = writeln!(text, "{:<42}{printed_35:>10.3}{one:>8.3}{four:>8.3}", "thesis");
    let mut sorted: Vec<&Fit> = fits.iter().collect();
    sorted.sort_by(|one, other| one.misfit().total_cmp(&other.misfit()));
    for (rank, fit) in sorted.into_iter().enumerate() {
        let option = match fit.queue {
            TWO_MOMENTS => ", two-moments",
            THREE_MEANS => ", three-means",
            _ => "",
        };
        if rank >= SHOWN && option.is_empty() {
            continue;
        }
        let [one, four] = fit.figure_36;
        let _ = write!(text, "{:<42}", format!("{}{option}", fit.queue.words()));
        let _ = write!(text, "{:>10.3}{one:>8.3}{four:>8.3}{:>9.3}{:>9.2}", fit.figure_35, fit.misfit(), fit.backlog);
        let [plain, one, four] = fit.means;
        let _ = writeln!(text, "{plain:>8.3}{one:>8.3}{four:>8.3}{:>9.3}", fit.misfit_of_means());
    }
    text
}

/// `calibration.csv`: all queues of the search, in its order.
pub fn calibration_csv(fits: &[Fit]) -> String {
    let mut text = "procs,load,long_minutes,figure_35,figure_36_1h,figure_36_4h,misfit,backlog,mean_within_4h,\
                    mean_best_1h,mean_best_4h,misfit_of_means\n"
        .to_owned();
    for fit in fits {
        let Queue { procs, load, long } = fit.queue;
        let [one, four] = fit.figure_36;
        let [plain, mean_one, mean_four] = fit.means;
        let _ = writeln!(
            text,
            "{procs},{},{long},{},{one},{four},{},{},{plain},{mean_one},{mean_four},{}",
            f64::from(load) / 1_000.0,
            fit.figure_35,
            fit.misfit(),
            fit.backlog,
            fit.misfit_of_means()
        );
    }
    text
}
