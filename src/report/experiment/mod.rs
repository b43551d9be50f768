//! Experiments: one topology run many times with varying settings, and the evaluation of the results.
//!
//! Grids are run by the caller: an experiment is read and expanded to runs, and results come back as rows. Experiments
//! of papers that need no grid, such as plans, are computed here, unit by unit. Nothing here does file I/O or uses
//! threads.

pub mod answer;
mod change;
mod choice;
pub mod claims;
pub mod compare;
pub mod dots;
pub mod figures;
pub mod file;
mod job_classes;
pub mod kept;
pub mod means;
pub mod metrics;
pub mod plot;
pub mod program;
pub mod range;
pub mod repeats;
pub mod reproduction;
pub mod rows;
pub mod statistics;
#[cfg(test)]
pub mod tests;
pub mod tournament;
mod windows;

pub use change::{WrittenChange, read_change};
pub use choice::{Choice, ChoiceOption, Choices, Selection, VARIANT, Variant};
pub use claims::{ChoiceMatrix, Findings, choices_html, judge_experiment};
pub use file::{
    Axis, ENTRANT, Entrant, Experiment, NamedSettings, RUNS_MAX, Run, experiment_keys, read_experiment, window_keys,
};
pub use metrics::{Metric, all_metrics as metrics};
pub use plot::Figure;
pub use program::ProgramFile;
pub use repeats::idle_seeds;
pub use rows::{DIGEST, RunRow, Table};
pub use statistics::Estimate;
