//! Papers' experiments from one command: runs, figures, a summary and a verdict for each claim.

use super::sweep::{Files, Sweeping, replace, run_experiment};
use super::{Failure, print};
use crate::experiment::market::{Extent, Outcome, TOPOLOGY};
use crate::experiment::plot;

/// Beside the results, for `hansa sweep`.
const EXPERIMENT_FILE: &str = "experiment.toml";
const TOPOLOGY_FILE: &str = "topology.toml";

/// Runs the market paper's experiment.
pub fn market(extent: Extent, sweeping: &Sweeping) -> Result<(), Failure> {
    let experiment = extent.experiment(TOPOLOGY_FILE);
    let mut files = Files::default();
    files.put(EXPERIMENT_FILE, &experiment);
    files.put(TOPOLOGY_FILE, TOPOLOGY);
    let swept = run_experiment(EXPERIMENT_FILE, &mut files, sweeping)?;

    let outcome = Outcome::of(extent, &swept.table, &swept.rows)
        .ok_or_else(|| Failure::Internal("the rows are not those of the experiment".to_owned()))?;
    let write = |name: &str, text: &str| replace(&swept.out.join(name), text);
    let (summary, verdicts) = (outcome.summary_text(), outcome.verdicts());
    write(EXPERIMENT_FILE, &experiment)?;
    write(TOPOLOGY_FILE, TOPOLOGY)?;
    write("summary.txt", &summary)?;
    write("summary.csv", &outcome.summary_csv())?;
    write("verdicts.txt", &verdicts)?;
    for figure in plot::market(&outcome) {
        write(figure.file, &figure.svg)?;
    }
    print(&format!("{summary}\n{verdicts}\nruns, tables and figures in {}\n", swept.out.display()))
}
