//! Options of the choices that an experiment's source leaves open: those that a command takes, and the verdicts under
//! all.

use std::path::Path;

use super::Failure;
use super::disk::{operation_failure, replace_file};
use hansa_report::experiment::{
    ChoiceMatrix, Choices, Experiment, Findings, RUNS_MAX, RunRow, Variant, choices_html, judge_experiment,
};
use hansa_report::markup::Html;

/// The options that an experiment takes of its choices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choosing {
    /// These, as `CHOICE=OPTION`, and the usual ones of all other choices.
    Taken(Vec<String>),
    /// The usual ones, each other option alone, and the combinations of the file.
    All,
}

impl Choosing {
    /// The variants that are run; the first one has the figures.
    pub fn selected_variants(&self, choices: &Choices) -> Result<Vec<Variant>, Failure> {
        match self {
            Choosing::All if choices.all.is_empty() => {
                Err(Failure::Input("--choices: this experiment has no choices".to_owned()))
            }
            Choosing::All => Ok(choices.variants()),
            Choosing::Taken(taken) => {
                let selection = choices.select(taken).map_err(|wrong| Failure::Input(format!("--choice: {wrong}")))?;
                let name = choices.selection_words(&selection).unwrap_or_else(|| "usual".to_owned());
                Ok(vec![Variant { name, selection }])
            }
        }
    }
}

impl Default for Choosing {
    /// The usual options.
    fn default() -> Choosing {
        Choosing::Taken(Vec::new())
    }
}

impl Choosing {
    /// The experiment with these options; under all variants, these are its first axis.
    pub fn apply(&self, experiment: Experiment) -> Result<Experiment, Failure> {
        let variants = self.selected_variants(&experiment.choices)?;
        if *self == Choosing::All {
            return experiment
                .with_variants()
                .ok_or_else(|| Failure::Input(format!("--choices: expected at most {RUNS_MAX} runs in all")));
        }
        Ok(experiment.with_selection(variants[0].selection.clone()))
    }
}

/// Verdicts of each variant of an experiment whose first axis are variants. None if they are not, or if there are no
/// claims.
pub fn judge_variants(experiment: &Experiment, rows: &[RunRow]) -> Option<Vec<(Variant, Findings)>> {
    let one = experiment.without_variants()?;
    experiment
        .choices
        .variants()
        .into_iter()
        .map(|variant| {
            let findings = judge_experiment(&one, &rows_of(&variant, rows))?;
            Some((variant, findings))
        })
        .collect()
}

/// Rows of a variant, without its name, of an experiment whose first axis are variants.
pub fn rows_of(variant: &Variant, rows: &[RunRow]) -> Vec<RunRow> {
    let own = rows.iter().filter(|row| row.values.first() == Some(&variant.name));
    own.map(|row| RunRow { values: row.values[1..].to_vec(), ..row.clone() }).collect()
}

/// Files with the verdicts under all variants.
const CHOICES_TEXT: &str = "choices.txt";
const CHOICES_CSV: &str = "choices.csv";

/// Verdicts under all variants, or only the choices with the options that were taken.
pub struct ChoiceReport {
    /// Section of the page.
    pub html: Html,
    /// Text and table of the matrix. None if one variant was run.
    matrix: Option<(String, String)>,
}

impl ChoiceReport {
    /// A report on variants with their findings.
    pub fn of_variants(choices: &Choices, judged: &[(Variant, Findings)]) -> ChoiceReport {
        let findings = judged.iter().map(|(_, findings)| findings.clone()).collect();
        match ChoiceMatrix::of(choices, findings) {
            Some(matrix) if judged.len() > 1 => {
                ChoiceReport { html: matrix.html(), matrix: Some((matrix.text(), matrix.csv())) }
            }
            _ => ChoiceReport { html: choices_html(choices, &judged[0].0.selection), matrix: None },
        }
    }

    /// Writes the files of the matrix, or removes those of an earlier command.
    pub fn publish(&self, out: &Path) -> Result<(), Failure> {
        let [text_path, csv_path] = [CHOICES_TEXT, CHOICES_CSV].map(|name| out.join(name));
        if let Some((text, csv)) = &self.matrix {
            replace_file(&text_path, text)?;
            return replace_file(&csv_path, csv);
        }
        for path in [text_path, csv_path] {
            if path.exists() {
                std::fs::remove_file(&path).map_err(|error| operation_failure("remove", &path, &error))?;
            }
        }
        Ok(())
    }

    /// The text for the terminal: the matrix, or else the verdicts.
    pub fn for_terminal<'a>(&'a self, verdicts: &'a str) -> &'a str {
        self.matrix.as_ref().map_or(verdicts, |(text, _)| text)
    }
}
