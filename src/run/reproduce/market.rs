//! The market paper: an ordinary experiment that is swept, so it can be resumed.

use super::super::sweep::{FileCache, Sweeping, run_experiment};
use super::super::{Failure, out};
use super::{PAGE, publish};
use hansa_papers::market::{Extent, Outcome, TOPOLOGY, figures};

/// Files beside the results, for `hansa sweep`.
const EXPERIMENT_FILE: &str = "experiment.toml";
const TOPOLOGY_FILE: &str = "topology.toml";

/// Runs the market paper's experiment.
pub fn market(extent: Extent, sweeping: &Sweeping) -> Result<(), Failure> {
    let experiment = extent.experiment(TOPOLOGY_FILE);
    let mut files = FileCache::default();
    files.put(EXPERIMENT_FILE, experiment.as_str());
    files.put(TOPOLOGY_FILE, TOPOLOGY);
    let swept = run_experiment(EXPERIMENT_FILE, &mut files, sweeping)?;
    if swept.part.is_some() {
        return out::unless_quiet(&swept.told());
    }

    let outcome = Outcome::of(extent, &swept.experiment, &swept.rows)
        .ok_or_else(|| Failure::Internal("the rows are not those of the experiment".to_owned()))?;
    let (summary, verdicts) = (outcome.summary_text(), outcome.verdicts());
    let told = format!("{summary}\n{verdicts}");
    let files = [
        (EXPERIMENT_FILE, experiment),
        (TOPOLOGY_FILE, TOPOLOGY.to_owned()),
        ("summary.txt", summary),
        ("summary.csv", outcome.summary_csv()),
        ("verdicts.txt", verdicts),
        (PAGE, outcome.page()),
    ];
    publish(&swept.out, &files, &figures(&outcome), &told)
}
