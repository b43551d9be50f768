//! Predicted starts: when would a job of this size start, given what runs and waits at a site?
//!
//! A [`SiteLog`] has the jobs of one site, past and present, from a run, a log or a listing of Slurm. A [`Moment`] is
//! the part of it that a scheduler knows at one time: finished jobs with their run times, running and waiting jobs with
//! their requests. Each repetition draws the unknown run times (`ratios`) and the jobs yet to come (`later`), and
//! lets a policy go on from there until the job starts.

mod answer;
mod later;
mod moment;
mod ratios;
mod site_log;
mod squeue;
#[cfg(test)]
mod tests;
mod trace;

pub use self::answer::{Calibration, Outcome, PolicyAnswer, Quantiles, When};
pub use self::moment::{Moment, PredictedRun, QueueRule, WantedJob};
pub use self::site_log::{SeenJob, SiteLog};
pub use self::squeue::{SqueueListing, Unit, read_squeue};
