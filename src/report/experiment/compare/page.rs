//! The comparison as a page: the answer first, then pictures, then all numbers.

use super::groups::{Division, Group};
use super::jobs::{Changes, JobChanges, QUANTILES};
use super::settings::Setting;
use super::text::{quantile_name, ratio_digits};
use super::{Comparison, LogComparison, MetricRow, Verdict, run_letter};
use crate::axes::{Axis, PlotArea};
use crate::chart::{BOTTOM, Figure, Scale, plot_area, step_path, time_axis, values_attribute, x_across};
use crate::experiment::answer::Answer;
use crate::experiment::figures::better_words;
use crate::experiment::metrics::is_of_a_tenth;
use crate::experiment::range::NONE;
use crate::html::{
    Column, document_html, format_coord, format_count, format_counted, judged_bar, linked_sections, shorten_text,
    table_html, unbroken_number, unbroken_percent, unbroken_span,
};
use crate::markup::{Html, cells, html};
use crate::palette::COLOURS;
use crate::{Course, Status, Unit};
use hansa_sim::numerals::{Digits, capitalize_first, no_break_spaces, signed_span};

/// Height of a panel of the picture over time.
const PANEL: f64 = 210.0;
/// Height of the picture of differences.
const CHART: f64 = 300.0;
/// Percentages at both ends of the differences that the picture leaves out.
const TAIL: f64 = 0.5;
/// Number of points of its curve.
const POINTS: usize = 400;
/// Largest number of settings in the first table, and in the table of settings.
const SETTINGS_FIRST: usize = 3;
const SETTINGS_MAX: usize = 200;
/// Largest number of metrics in the first table.
const FIRST_MAX: usize = 5;

/// Metrics that answer most questions, the most telling first.
const PREFERRED: [&str; 12] = [
    "value",
    "in_time",
    "turnaround",
    "job_wait",
    "stretch_mean",
    "slr",
    "stretch_max",
    "acceptance",
    "utilisation",
    "makespan",
    "finished",
    "starved",
];

impl Comparison {
    /// The page, which loads nothing.
    pub fn page(&self) -> String {
        let topology = self
            .common_topology()
            .map_or("Results side by side".to_owned(), |name| format!("{name}: results side by side"));
        let mut body = html!("<header><p class=\"kicker\">A comparison of Hansa</p><h1>{topology}</h1>\n", topology);
        for (run, side) in self.sides.iter().enumerate() {
            if let Status::Partial(why) = &side.manifest.status {
                body += html!(
                    "<p class=\"partial\" role=\"note\"><strong>{} ({}) is partial:</strong> {why}. Its numbers \
                     would be different at the end.</p>\n",
                    run_letter(run),
                    &side.name,
                    why
                );
            }
        }
        body += html!("<ul class=\"legend\">{}</ul>\n", self.names());
        body += self.answer.as_ref().map_or_else(Html::default, Answer::head_html);
        body += (1..self.sides.len()).map(|run| html!("<p>{}</p>\n", self.verdict_sentence(run))).collect();
        let of_answer = self.answer.as_ref().map_or_else(Vec::new, Answer::page_sections);
        let parts = [
            ("glance", "At a glance", self.at_a_glance()),
            ("time", "Over time", self.over_time()),
            ("jobs", "Jobs", self.jobs()),
            ("settings", "Settings and inputs", self.settings_section()),
            ("metrics", "All metrics", self.all_metrics()),
            ("events", "First event that differs", self.events_html()),
        ];
        let parts: Vec<_> = of_answer.into_iter().chain(parts).filter(|(_, _, body)| !body.is_empty()).collect();
        body += linked_sections(&parts);
        body += html!(
            "<footer>Made from summary.json, manifest.json, jobs.csv and events.jsonl of these folders. All times are \
             virtual.</footer>"
        );
        document_html(&format!("{topology}: a comparison of Hansa"), body)
    }

    /// The results with their letters.
    fn names(&self) -> Html {
        let name = |run: usize| html!("<li>{} <code>{}</code></li>", self.key(run), &self.sides[run].name);
        (0..self.sides.len()).map(name).collect()
    }

    /// One row per result: its settings that differ, if they are few, and the most telling metrics. Settings that a
    /// result lacks follow from the others, and are left to the table of settings.
    fn at_a_glance(&self) -> Html {
        let is_in_all = |setting: &&Setting| setting.values.iter().all(Option::is_some);
        let settings: Vec<&Setting> = self.settings.iter().filter(is_in_all).collect();
        let settings = if settings.len() <= SETTINGS_FIRST { settings } else { Vec::new() };
        let find = |name: &&str| self.metrics.iter().find(|row| row.metric.name == *name && !row.is_constant());
        let preferred: Vec<&MetricRow> = PREFERRED.iter().filter_map(find).take(FIRST_MAX - settings.len()).collect();
        let mut columns: Vec<Column> = vec!["Run".into(), "Result".into()];
        let last = |key: &str| key.rsplit('.').next().unwrap_or(key).to_owned();
        let head = |key: &str| html!("<abbr title=\"{key}\">{}</abbr>", last(key), key);
        columns.extend(settings.iter().map(|setting| head(&setting.key).into()));
        columns.extend(preferred.iter().map(|row| format!("#{}", row.metric.name).into()));
        columns.push("#Jobs finished".into());
        let row = |run: usize| {
            let side = &self.sides[run];
            let value = |setting: &&Setting| Html::from(setting.values[run].as_deref().unwrap_or(NONE));
            let metric = |row: &&MetricRow| {
                let text = row.in_words(run);
                if row.is_best(run) { html!("<strong>{text}</strong>", text) } else { text.into() }
            };
            let jobs = side.summary.results.jobs;
            let mut cells = vec![self.key(run), html!("<code>{}</code>", &side.name)];
            cells.extend(settings.iter().map(value));
            cells.extend(preferred.iter().map(metric));
            cells.push(html!("{} of {}", format_count(jobs.finished), format_count(jobs.submitted)));
            cells
        };
        let explained = preferred.iter().map(|row| html!("<code>{}</code>: {}", row.metric.name, row.metric.about));
        let explained = Html::join_pieces(explained, "; ");
        let table = table_html(&columns, (0..self.sides.len()).map(row));
        match explained.is_empty() {
            true => table + self.remarks_html(),
            false => {
                table + html!("<p class=\"soft\">Bold is best. {explained}.</p>\n", explained) + self.remarks_html()
            }
        }
    }

    fn remarks_html(&self) -> Html {
        let notes: Html = self.notes.iter().map(|note| html!("<li>{note}.</li>", note)).collect();
        if notes.is_empty() { notes } else { html!("<ul>{notes}</ul>\n", notes) }
    }

    /// A result's letter beside the mark of its line.
    fn key(&self, run: usize) -> Html {
        html!("<span class=\"legend whole\"><i class=\"{}\"></i><b>{}</b></span>", mark_classes(run), run_letter(run))
    }

    fn legend(&self, runs: impl Iterator<Item = usize>) -> Vec<(String, String)> {
        let named = |run: usize| {
            (mark_classes(run), format!("{} ({})", run_letter(run), shorten_text(&self.sides[run].name, 40)))
        };
        runs.map(named).collect()
    }

    /// Busy cores and waiting tasks of all runs, one panel below the other, over one axis of time.
    fn over_time(&self) -> Html {
        let courses: Vec<(usize, &Course)> =
            self.sides.iter().enumerate().filter_map(|(run, side)| Some((run, side.course.as_ref()?))).collect();
        if courses.is_empty() {
            return Html::default();
        }
        let largest = |(_, course): &(usize, &Course)| course.waiting.iter().copied().fold(0.0, f64::max);
        let largest: Vec<f64> = courses.iter().map(largest).collect();
        let busy = Scale::new(105.0, PANEL);
        let waiting = Scale::for_curves(&largest, PANEL);
        let scale_note = match waiting.values.is_logarithmic() {
            true => " Waiting tasks are on a logarithmic scale, whose lower edge stands for 0, too.",
            false => "",
        };
        let below = PANEL - BOTTOM + 8.0;
        let mut body = busy.axis("busy cores, %");
        let drawn = |run: usize, levels: &[f64], path: String| {
            html!(
                "<path class=\"{}\"{} d=\"{path}\"><title>{}</title></path>\n",
                line_classes(run),
                values_attribute(levels),
                run_letter(run),
                path
            )
        };
        for (run, course) in &courses {
            let percents: Vec<f64> = course.busy.iter().map(|share| share * 100.0).collect();
            body += drawn(*run, &percents, step_path(&percents, |percent| busy.y(percent)));
        }
        let axis = waiting.axis("waiting tasks");
        body += html!("<g class=\"panel\" transform=\"translate(0 {})\">{axis}", format_coord(below), axis);
        for (run, course) in &courses {
            body += drawn(*run, &course.waiting, step_path(&course.waiting, |tasks| waiting.y(tasks)));
        }
        body += time_axis(self.window, PANEL - BOTTOM);
        body += html!("</g>");
        let step = unbroken_span(self.window.length_micros() as f64 / 1e6 / super::PARTS as f64);
        Figure {
            id: "course",
            title: "Busy cores and waiting tasks",
            desc:
                "Two panels of lines over virtual time, one line per result: the share of cores that are busy, and the \
                   number of tasks that wait."
                    .to_owned(),
            note: format!("Each of the {} steps is the mean over {step}.{scale_note}", super::PARTS),
            legend: self.legend(courses.iter().map(|(run, _)| *run)),
            height: below + PANEL,
            body,
        }
        .html()
    }

    fn jobs(&self) -> Html {
        let compared: Vec<&JobChanges> =
            self.changes.iter().filter(|changes| self.compares_jobs(changes.run)).collect();
        let mut html = Html::default();
        let heads = ["Run", "Quantity", "#Jobs", "Better", "Worse", "Same", "#Mean change"];
        let rows = compared.iter().flat_map(|changes| {
            changes.quantities.iter().map(|all| {
                let share = |number: u64, judgement: &str| {
                    let share = number as f64 / all.count() as f64;
                    judged_bar(share, &format!("{} ({})", format_count(number), unbroken_percent(share)), judgement)
                };
                cells![
                    self.key(changes.run),
                    format!("{}, {}", all.name, all.about),
                    format_count(all.count()),
                    share(all.better, "better"),
                    share(all.worse, "worse"),
                    share(all.same, ""),
                    shown_quantity(&all.show_difference(all.mean)),
                ]
            })
        });
        let rows: Vec<Vec<Html>> = rows.collect();
        if !rows.is_empty() {
            html += html!("<p>Jobs are matched by number; changes are against A.</p>\n");
            html += table_html(&heads, rows);
        }
        for changes in &compared {
            if let Some(words) = changes.ended_in_one() {
                html += html!("<p>{words}.</p>\n", words);
            }
        }
        html += self.differences_html(&compared);
        html += self.quantiles_html(&compared);
        html += self.divisions_html(&compared);
        for changes in compared.iter().filter(|changes| !changes.largest.is_empty()) {
            let letter = run_letter(changes.run);
            let here = format!("#{letter}");
            let difference = format!("#{letter} − A");
            let heads = ["#Job", "User", "#Submitted at", "#Cores", "#A", here.as_str(), difference.as_str()];
            let rows =
                changes.largest.iter().map(|change| change.cells().map(|cell| shown_quantity(&cell).into()).to_vec());
            html += html!(
                "<h3>The largest changes of turnaround, {letter} against A</h3>\n{}",
                table_html(&heads, rows),
                letter
            );
        }
        html
    }

    fn quantiles_html(&self, compared: &[&JobChanges]) -> Html {
        let heads = ["Run".to_owned(), "Quantity".to_owned()];
        let heads: Vec<String> =
            heads.into_iter().chain(QUANTILES.map(|at| format!("#{}", quantile_name(at)))).collect();
        let row = |run: usize, all: &Changes| {
            let numbers = all.quantiles.iter().map(|difference| shown_quantity(&all.show_difference(*difference)));
            cells![self.key(run), all.name].into_iter().chain(numbers.map(Html::from)).collect::<Vec<_>>()
        };
        let rows = compared.iter().flat_map(|changes| changes.quantities.iter().map(|all| row(changes.run, all)));
        let rows: Vec<Vec<Html>> = rows.collect();
        match rows.is_empty() {
            true => Html::default(),
            false => html!("<h3>Quantiles of the changes against A</h3>\n{}", table_html(&heads, rows)),
        }
    }

    /// Mean turnaround by user, size, run time and end.
    fn divisions_html(&self, compared: &[&JobChanges]) -> Html {
        let mut html = Html::default();
        for changes in compared {
            let letter = run_letter(changes.run);
            let here = format!("#{letter}");
            let difference = format!("#{letter} − A");
            for Division { name, groups } in &changes.divisions {
                let heads = [&capitalize_first(name), "#Jobs", "Better", "Worse", "#A", &here, &difference];
                let row = |group: &Group| {
                    let [label, jobs, better, worse, first, other, change] = group.cells();
                    let share = |number: u64, words: &str, judgement: &str| {
                        judged_bar(number as f64 / group.jobs as f64, words, judgement)
                    };
                    cells![
                        label,
                        jobs,
                        share(group.better, &better, "better"),
                        share(group.worse, &worse, "worse"),
                        shown_quantity(&first),
                        shown_quantity(&other),
                        shown_quantity(&change)
                    ]
                };
                let rows = groups.iter().map(row);
                html += html!(
                    "<h3>Mean turnaround by {name}, {letter} against A</h3>\n{}",
                    table_html(&heads, rows),
                    name,
                    letter
                );
            }
        }
        html
    }

    /// Differences of turnaround in ascending order, a curve per result.
    fn differences_html(&self, compared: &[&JobChanges]) -> Html {
        let curves: Vec<&&JobChanges> = compared.iter().filter(|changes| changes.sorted.len() > 1).collect();
        let at_share = |sorted: &[f64], share: f64| sorted[((sorted.len() - 1) as f64 * share).round() as usize];
        let ends =
            |changes: &JobChanges| [TAIL, 100.0 - TAIL].map(|percent| at_share(&changes.sorted, percent / 100.0));
        let (least, most) = curves
            .iter()
            .flat_map(|changes| ends(changes))
            .fold((0.0, 0.0), |(least, most), number| (f64::min(least, number), f64::max(most, number)));
        if least == most {
            return Html::default();
        }
        let (unit, seconds) = match most - least {
            wide if wide > 4.0 * 86_400.0 => ("days", 86_400.0),
            wide if wide > 4.0 * 3_600.0 => ("hours", 3_600.0),
            wide if wide > 240.0 => ("minutes", 60.0),
            _ => ("seconds", 1.0),
        };
        let axis = Axis::linear(least / seconds, most / seconds, 6.0);
        let area = plot_area(CHART - BOTTOM);
        let y = |number: f64| area.y(axis.share(number / seconds));
        let mut body = area.vertical_axis(&axis.tick_labels(unbroken_number), &format!("change of turnaround, {unit}"));
        let zero = PlotArea { bottom: y(0.0), ..area };
        // The last label would leave the picture at its place.
        let place = |tenth: u32| f64::min(f64::from(tenth) / 10.0, 0.995);
        let tenths = (0..=10).step_by(2).map(|tenth| (place(tenth), format!("{} %", tenth * 10)));
        body += html!(
            "<g class=\"axis\">{}{}{}</g>\n",
            zero.draw_base(),
            area.labels(&tenths.collect::<Vec<_>>()),
            area.name_below("jobs, from the most shortened to the most delayed")
        );
        for changes in &curves {
            let points = POINTS.min(changes.sorted.len());
            let path = (0..points).map(|point| {
                let share = point as f64 / (points - 1) as f64;
                format!(
                    "{}{} {}",
                    if point == 0 { "M" } else { "L" },
                    format_coord(x_across(share)),
                    format_coord(y(at_share(&changes.sorted, share)))
                )
            });
            let class = line_classes(changes.run);
            let letter = run_letter(changes.run);
            let path = path.collect::<String>();
            body += html!("<path class=\"{class}\" d=\"{path}\"><title>{letter}</title></path>\n", class, path, letter);
        }
        let all = |changes: &&&JobChanges| {
            let letter = run_letter(changes.run);
            let sorted = &changes.sorted;
            let ends = [sorted[0], sorted[sorted.len() - 1]].map(|end| shown_quantity(&signed_span(end)));
            format!("{letter}: from {} to {}", ends[0], ends[1])
        };
        Figure {
            id: "changes",
            title: "Change of turnaround, job by job",
            desc: "A curve per result: the difference of each job's turnaround from that in A, in ascending order."
                .to_owned(),
            note: format!(
                "Below the line at 0 a job took less time than in A. The axis leaves out {TAIL} % of the jobs at either \
                 end; in full, {}.",
                curves.iter().map(all).collect::<Vec<_>>().join("; ")
            ),
            legend: self.legend(curves.iter().map(|changes| changes.run)),
            height: CHART,
            body,
        }
        .html()
    }

    fn settings_section(&self) -> Html {
        if self.settings.is_empty() {
            return html!("<p>No setting of the topologies differs.</p>\n");
        }
        let heads: Vec<String> =
            std::iter::once("Key".to_owned()).chain((0..self.sides.len()).map(run_letter)).collect();
        let row = |Setting { key, values }: &Setting| {
            let values = values.iter().map(|value| Html::from(value.as_deref().unwrap_or(NONE)));
            std::iter::once(html!("<code>{key}</code>", key)).chain(values).collect()
        };
        let rest = match self.settings.len().saturating_sub(SETTINGS_MAX) {
            0 => Html::default(),
            more => {
                html!("<p class=\"soft\">{} more are not shown; --json lists all.</p>\n", format_count(more as u64))
            }
        };
        table_html(&heads, self.settings.iter().take(SETTINGS_MAX).map(row)) + rest
    }

    fn all_metrics(&self) -> Html {
        let ratios = ratio_digits(self);
        let mut heads = vec!["Metric".to_owned(), "Unit".to_owned(), "#A".to_owned()];
        for run in 1..self.sides.len() {
            let letter = run_letter(run);
            heads.extend([
                format!("#{letter}"),
                format!("#{letter}\u{a0}−\u{a0}A"),
                format!("#{letter}\u{a0}/\u{a0}A"),
            ]);
        }
        heads.push("Meaning".to_owned());
        let value = |row: &MetricRow, run: usize| match row.is_best(run) {
            true => html!("<strong>{}</strong>", row.value_text(run)),
            false => row.value_text(run).into(),
        };
        let row = |row: &MetricRow| {
            let name = html!("<code>{}</code>", row.metric.name);
            let mut cells = cells![name, no_break_spaces(row.metric.unit.name()), value(row, 0)];
            for run in 1..self.sides.len() {
                let class = match row.run_verdict(run) {
                    Verdict::Better => "good",
                    Verdict::Worse => "bad",
                    Verdict::Neither => "soft",
                };
                let difference = shown_quantity(&row.difference_text(run));
                cells.push(value(row, run));
                cells.push(html!("<span class=\"{class}\">{difference}</span>", class, difference));
                cells.push(row.ratio_text(run, ratios).into());
            }
            cells.push(html!("<span class=\"about\">{}{}</span>", row.metric.about, better_words(row.metric.better)));
            cells
        };
        let (tenths, whole): (Vec<&MetricRow>, Vec<&MetricRow>) =
            self.metrics.iter().partition(|row| is_of_a_tenth(row.metric.name));
        let mut html = html!(
            "<p>Bold is best; a difference is blue if the result is better than A, and orange if it is worse. Times are in \
             seconds.</p>\n{}",
            table_html(&heads, whole.into_iter().map(row))
        );
        if !tenths.is_empty() {
            let tenths = table_html(&heads, tenths.into_iter().map(row));
            html += html!("<details><summary>Tenths of the jobs, by size</summary>\n{tenths}</details>\n", tenths);
        }
        if !self.absent.is_empty() {
            let absent = self.absent.iter().map(|name| html!("<code>{name}</code>", name));
            let absent = Html::join_pieces(absent, ", ");
            let metrics = format_counted(self.absent.len() as u64, "metric");
            html += html!(
                "<details><summary>{metrics} that no run has</summary><p>{absent}</p></details>\n",
                [metrics, absent]
            );
        }
        html
    }

    fn events_html(&self) -> Html {
        let mut html = Html::default();
        for (run, side) in self.sides.iter().enumerate() {
            let letter = run_letter(run);
            match &side.log {
                LogComparison::Reference => {}
                LogComparison::Same => html += html!("<p>{}</p>\n", self.same_events(run)),
                LogComparison::Live => {
                    html += html!("<p>No event of {letter} is compared: a run was live.</p>\n", letter);
                }
                LogComparison::Differs(difference) => {
                    let words = |event: &Option<String>| event.clone().unwrap_or("(the log ends)".to_owned());
                    let line = format_count(difference.line);
                    let what = &difference.what;
                    html += html!(
                        "<p>{letter} differs from A on line {line} of events.jsonl ({what}):</p>\n",
                        [letter, line, what]
                    );
                    let rows = [("A".to_owned(), &difference.a), (letter, &difference.b)];
                    html += table_html(&["Run", "Event"], rows.map(|(run, event)| cells![run, words(event)]));
                }
            }
        }
        html
    }
}

impl MetricRow {
    /// A value as people read it: shares in percent, times in two units.
    fn in_words(&self, run: usize) -> String {
        let Some(value) = self.values[run] else { return NONE.to_owned() };
        match self.metric.unit {
            Unit::Share => unbroken_percent(value),
            Unit::Seconds => unbroken_span(value),
            _ => Digits::for_numbers(self.values.iter().flatten().copied()).show_number(value),
        }
    }
}

/// A quantity for a page: with a minus, and without line breaks.
pub(super) fn shown_quantity(quantity: &str) -> String {
    let text = no_break_spaces(quantity);
    text.strip_prefix('-').map_or(text.clone(), |size| format!("−{size}"))
}

/// Classes of a result's line, and of its mark in legends: after the colours are used up, lines are dashed.
fn line_classes(run: usize) -> String {
    format!("line l{}{}", run % COLOURS, if run >= COLOURS { " dashed" } else { "" })
}

fn mark_classes(run: usize) -> String {
    if run < COLOURS { format!("f{run}") } else { format!("f{} dashed", run % COLOURS) }
}
