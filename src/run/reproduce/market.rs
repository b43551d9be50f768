//! The market paper: an ordinary experiment that is swept, so it can be resumed.

use super::super::choosing::{ChoiceReport, Choosing, judge_variants, rows_of};
use super::super::sweep::{FileCache, Sweeping, Swept, run_experiment};
use super::super::{Failure, out};
use super::publish_outcome;
use hansa_papers::market::{Extent, Outcome, TOPOLOGY};
use hansa_report::experiment::{Experiment, Findings, RunRow, Variant, judge_experiment};

/// Files beside the results, for `hansa sweep`.
const EXPERIMENT_FILE: &str = "experiment.toml";
const TOPOLOGY_FILE: &str = "topology.toml";

/// Runs the market paper's experiment.
pub fn reproduce_market(extent: Extent, sweeping: &Sweeping) -> Result<(), Failure> {
    let experiment = extent.experiment_text(TOPOLOGY_FILE);
    let mut files = FileCache::default();
    files.add_file(EXPERIMENT_FILE, experiment.as_str());
    files.add_file(TOPOLOGY_FILE, TOPOLOGY);
    let swept = run_experiment(EXPERIMENT_FILE, &mut files, sweeping)?;
    if swept.part.is_some() {
        return out::unless_quiet(&swept.describe_runs());
    }

    let (experiment_of_page, rows, judged) = usual_variant(&swept, &sweeping.choosing)?;
    let report = ChoiceReport::of_variants(&swept.experiment.choices, &judged);
    let outcome = Outcome::of(extent, &experiment_of_page, &rows)
        .ok_or_else(|| Failure::Internal("the rows are not those of the experiment".to_owned()))?;
    let written = vec![(EXPERIMENT_FILE, experiment), (TOPOLOGY_FILE, TOPOLOGY.to_owned())];
    publish_outcome(&outcome, &report, &swept.out, written)
}

/// The experiment of the variant that the figures show, its rows, and the verdicts of all variants.
fn usual_variant(swept: &Swept, choosing: &Choosing) -> Result<JudgedVariants, Failure> {
    if let (Some(one), Some(judged)) =
        (swept.experiment.without_variants(), judge_variants(&swept.experiment, &swept.rows))
    {
        return Ok((one, rows_of(&judged[0].0, &swept.rows), judged));
    }
    let variant = choosing.selected_variants(&swept.experiment.choices)?.swap_remove(0);
    let findings = judge_experiment(&swept.experiment, &swept.rows).unwrap_or_default();
    Ok((swept.experiment.clone(), swept.rows.clone(), vec![(variant, findings)]))
}

type JudgedVariants = (Experiment, Vec<RunRow>, Vec<(Variant, Findings)>);
