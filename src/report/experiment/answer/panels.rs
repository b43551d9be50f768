//! Answers of a sweep or a tournament: one for each combination of settings that is no contender and no repetition.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Answer, Contest, ContestRun, NoAnswer, make_answer};
use crate::experiment::file::{ENTRANT, Experiment};
use crate::experiment::means::are_numbers;
use crate::experiment::repeats::distinct_rows;
use crate::experiment::rows::RunRow;
use crate::markup::{Html, html};
use hansa_sim::numerals::format_counted;

/// Most panels whose tables a terminal shows, and a page.
const TEXT_MAX: usize = 6;
const PAGE_MAX: usize = 12;

/// Answers with the settings that they hold for.
pub struct Answers {
    panels: Vec<(String, Answer)>,
    /// Sentence about what is left out; empty if nothing is.
    note: String,
}

/// Looks up what is known of a run beside its row.
pub type FindRun<'r, 'a> = dyn Fn(&RunRow) -> Option<ContestRun<'a>> + 'r;

/// Runs of a panel by contender, for each repetition.
type Repetitions<'a> = BTreeMap<Vec<usize>, Vec<Option<ContestRun<'a>>>>;

/// Answers the question for all rows of an experiment; `against` is the index of the reference among its entrants.
pub fn answer_panels<'a>(
    experiment: &Experiment,
    rows: &[RunRow],
    against: usize,
    by: Option<&str>,
    find: &FindRun<'_, 'a>,
) -> Result<Answers, NoAnswer> {
    let layout = PanelLayout::of(experiment);
    let rows = distinct_rows(experiment, rows).rows;
    let mut lacking = 0;
    let mut panels: BTreeMap<Vec<usize>, Repetitions<'a>> = BTreeMap::new();
    for row in rows.iter().copied() {
        let Some((panel, repetition, contender)) = layout.place(experiment, row) else { continue };
        let found = find(row);
        lacking += usize::from(found.as_ref().is_none_or(|run| run.outcomes.is_none()));
        let runs = panels.entry(panel).or_default().entry(repetition).or_default();
        runs.resize_with(layout.names.len(), || None);
        runs[contender] = found;
    }
    let mut answers = Vec::new();
    for (panel, repetitions) in panels {
        let contest = Contest {
            names: layout.names.clone(),
            reference: against.min(layout.names.len() - 1),
            one: layout.one,
            repetition: layout.repetition,
            repetitions: repetitions.into_values().collect(),
        };
        answers.push((layout.settings(experiment, &panel), make_answer(&contest, by)?));
    }
    let note = match lacking {
        0 => String::new(),
        _ => format!(
            "The jobs of {} of {} are not kept, so nothing is said job by job where these count: they were made by an \
             earlier version (--fresh makes them again), or the jobs of all runs together are too many.",
            lacking,
            format_counted(rows.len() as u64, "run")
        ),
    };
    Ok(Answers { panels: answers, note })
}

/// Use of the axes: one has the contenders, some have repetitions, and the others make panels.
struct PanelLayout {
    contender: Option<usize>,
    names: Vec<String>,
    one: &'static str,
    repetition: &'static str,
    panels: Vec<usize>,
    repetitions: Vec<usize>,
}

impl PanelLayout {
    /// Contenders are the entrants, or else the values of the axis with most values: of those that are no lists of
    /// numbers, or else of any.
    fn of(experiment: &Experiment) -> PanelLayout {
        let (repetitions, others): (Vec<_>, Vec<_>) =
            experiment.axes.iter().enumerate().partition(|(_, axis)| axis.is_repetition());
        let several = others.iter().filter(|(_, axis)| axis.values.len() > 1).rev();
        let chosen = several.max_by_key(|(_, axis)| {
            let is_entrant = axis.key == ENTRANT;
            (is_entrant, !are_numbers(&axis.values), axis.values.len())
        });
        let entrants = others.iter().find(|(_, axis)| axis.key == ENTRANT);
        let contender = entrants.or(chosen).map(|(place, _)| *place);
        let names = contender.map_or_else(|| vec!["all".to_owned()], |place| experiment.axes[place].values.clone());
        let is_entrant = contender.is_some_and(|place| experiment.axes[place].key == ENTRANT);
        let has_windows = experiment.has_windows();
        let repetition = match repetitions.len() {
            1 if has_windows => "window",
            1 if repetitions[0].1.key.ends_with("seed") => "seed",
            _ => "repetition",
        };
        PanelLayout {
            contender,
            names,
            one: if is_entrant { "entrant" } else { "setting" },
            repetition,
            panels: others.iter().map(|(place, _)| *place).filter(|place| Some(*place) != contender).collect(),
            repetitions: repetitions.iter().map(|(place, _)| *place).collect(),
        }
    }

    /// Panel, repetition and contender of a row; None if a value is on no axis.
    fn place(&self, experiment: &Experiment, row: &RunRow) -> Option<(Vec<usize>, Vec<usize>, usize)> {
        let contender = self.contender.map_or(Some(0), |axis| value_index(&axis, experiment, row))?;
        Some((
            value_indices(&self.panels, experiment, row)?,
            value_indices(&self.repetitions, experiment, row)?,
            contender,
        ))
    }

    fn settings(&self, experiment: &Experiment, panel: &[usize]) -> String {
        let settings = self.panels.iter().zip(panel).map(|(axis, value)| {
            let axis = &experiment.axes[*axis];
            format!("{} = {}", axis.key, axis.values[*value])
        });
        settings.collect::<Vec<_>>().join(", ")
    }
}

fn value_indices(axes: &[usize], experiment: &Experiment, row: &RunRow) -> Option<Vec<usize>> {
    axes.iter().map(|axis| value_index(axis, experiment, row)).collect::<Option<Vec<usize>>>()
}

fn value_index(axis: &usize, experiment: &Experiment, row: &RunRow) -> Option<usize> {
    let value = &row.values[*axis];
    experiment.axes[*axis].values.iter().position(|other| other == value)
}

impl Answers {
    /// The answers for a terminal.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (settings, answer) in self.panels.iter().take(TEXT_MAX) {
            if !settings.is_empty() {
                text.push_str(&format!("{settings}\n"));
            }
            text.push_str(&format!("{}\n", answer.text(self.panels.len() == 1)));
        }
        if let Some(more @ 1..) = self.panels.len().checked_sub(TEXT_MAX) {
            text.push_str(&format!("And {} more on the page.\n\n", format_counted(more as u64, "setting")));
        }
        if !self.note.is_empty() {
            text.push_str(&format!("{}\n\n", super::wrap_lines(&self.note)));
        }
        text
    }

    /// Sections of a page, which come first.
    pub fn html(&self) -> Html {
        let mut html = Html::default();
        for (settings, answer) in self.panels.iter().take(PAGE_MAX) {
            let title = if settings.is_empty() { "Answer".to_owned() } else { format!("Answer for {settings}") };
            html += html!("<section><h2>{title}</h2>\n{}", answer.head_html(), title);
            for (_, title, body) in answer.page_sections() {
                html += html!("<h3>{title}</h3>\n{body}", title, body);
            }
            html += html!("</section>\n");
        }
        if let Some(more @ 1..) = self.panels.len().checked_sub(PAGE_MAX) {
            html += html!("<p class=\"soft\">answer.json has {}.</p>\n", format_counted(more as u64, "more setting"));
        }
        if !self.note.is_empty() {
            html += html!("<p class=\"soft\">{}</p>\n", &self.note);
        }
        html
    }

    pub fn json(&self) -> Value {
        let panels =
            self.panels.iter().map(|(settings, answer)| json!({ "settings": settings, "answer": answer.json() }));
        json!({ "panels": panels.collect::<Vec<_>>(), "note": self.note })
    }
}
