//! The comparison as a page: the answer first, then pictures, then all numbers.

use std::fmt::Write;

use super::groups::{Division, Group};
use super::jobs::{Changes, JobChanges, QUANTILES};
use super::settings::Setting;
use super::text::{quantile, ratio_digits};
use super::{Comparison, LogComparison, MetricRow, Verdict, letter};
use crate::experiment::figures::{capital, words};
use crate::experiment::metrics::is_of_a_tenth;
use crate::experiment::range::NONE;
use crate::numerals::{Digits, signed_span, unbroken};
use crate::report::chart::{BOTTOM, Figure, LEFT, RIGHT, Scale, TOP, WIDTH, step, steps, time_axis, values};
use crate::report::html::{at, bar, count, counted, document, escape, number, percent, short, span, table};
use crate::report::palette::COLOURS;
use crate::report::{Course, Status, Unit};

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
const TELLING: [&str; 12] = [
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
            .topology()
            .map_or("Results side by side".to_owned(), |name| format!("{}: results side by side", escape(name)));
        let mut body = format!("<header><p class=\"kicker\">A comparison of Hansa</p><h1>{topology}</h1>\n");
        for (run, side) in self.sides.iter().enumerate() {
            if let Status::Partial(why) = &side.manifest.status {
                let (letter, name, why) = (letter(run), escape(&side.name), escape(why));
                let _ = writeln!(
                    body,
                    "<p class=\"partial\" role=\"note\"><strong>{letter} ({name}) is partial:</strong> {why}. Its numbers \
                     would be different at the end.</p>"
                );
            }
        }
        for run in 1..self.sides.len() {
            let _ = writeln!(body, "<p class=\"lead\">{}</p>", self.verdict(run));
        }
        let sections = [
            ("glance", "At a glance", self.at_a_glance()),
            ("time", "Over time", self.over_time()),
            ("jobs", "Jobs", self.jobs()),
            ("settings", "Settings and inputs", self.settings_section()),
            ("metrics", "All metrics", self.all_metrics()),
            ("events", "First event that differs", self.events()),
        ];
        let sections: Vec<_> = sections.into_iter().filter(|(_, _, body)| !body.is_empty()).collect();
        body.push_str("<nav aria-label=\"Sections\">");
        for (id, title, _) in &sections {
            let _ = write!(body, "<a href=\"#{id}\">{title}</a>");
        }
        body.push_str("</nav>\n</header>\n");
        for (id, title, text) in &sections {
            let _ = write!(body, "<section id=\"{id}\"><h2>{title}</h2>\n{text}</section>\n");
        }
        body.push_str(
            "<footer>Made from summary.json, manifest.json, jobs.csv and events.jsonl of these folders. All times are \
             virtual.</footer>",
        );
        document(&format!("{topology}: a comparison of Hansa"), &body)
    }

    /// One row per result: its settings that differ, if they are few, and the most telling metrics. Settings that a
    /// result lacks follow from the others, and are left to the table of settings.
    fn at_a_glance(&self) -> String {
        let is_in_all = |setting: &&Setting| setting.values.iter().all(Option::is_some);
        let settings: Vec<&Setting> = self.settings.iter().filter(is_in_all).collect();
        let settings = if settings.len() <= SETTINGS_FIRST { settings } else { Vec::new() };
        let find = |name: &&str| self.metrics.iter().find(|row| row.metric.name == *name && !row.is_constant());
        let telling: Vec<&MetricRow> = TELLING.iter().filter_map(find).take(FIRST_MAX - settings.len()).collect();
        let mut columns = vec!["Run".to_owned(), "Result".to_owned()];
        let last = |key: &str| escape(key.rsplit('.').next().unwrap_or(key));
        let head = |key: &str| format!("<abbr title=\"{}\">{}</abbr>", escape(key), last(key));
        columns.extend(settings.iter().map(|setting| head(&setting.key)));
        columns.extend(telling.iter().map(|row| format!("#{}", row.metric.name)));
        columns.push("#Jobs finished".to_owned());
        let row = |run: usize| {
            let side = &self.sides[run];
            let value = |setting: &&Setting| setting.values[run].as_deref().map_or(NONE.to_owned(), escape);
            let metric = |row: &&MetricRow| {
                let text = row.in_words(run);
                if row.is_best(run) { format!("<strong>{text}</strong>") } else { text }
            };
            let jobs = side.summary.results.jobs;
            let mut cells = vec![self.key(run), format!("<code>{}</code>", escape(&side.name))];
            cells.extend(settings.iter().map(value));
            cells.extend(telling.iter().map(metric));
            cells.push(format!("{} of {}", count(jobs.finished), count(jobs.submitted)));
            cells
        };
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        let explained =
            telling.iter().map(|row| format!("<code>{}</code>: {}", row.metric.name, escape(row.metric.about)));
        let explained = explained.collect::<Vec<_>>().join("; ");
        let note = match explained.as_str() {
            "" => String::new(),
            explained => format!("<p class=\"soft\">Bold is best. {explained}.</p>\n"),
        };
        table(&columns, (0..self.sides.len()).map(row)) + &note + &self.remarks()
    }

    fn remarks(&self) -> String {
        let notes: Vec<String> = self.notes.iter().map(|note| format!("<li>{}.</li>", escape(note))).collect();
        if notes.is_empty() { String::new() } else { format!("<ul>{}</ul>\n", notes.concat()) }
    }

    /// A result's letter beside the mark of its line.
    fn key(&self, run: usize) -> String {
        format!("<span class=\"legend whole\"><i class=\"{}\"></i><b>{}</b></span>", mark(run), letter(run))
    }

    fn legend(&self, runs: impl Iterator<Item = usize>) -> Vec<(String, String)> {
        let named = |run: usize| (mark(run), format!("{} ({})", letter(run), short(&self.sides[run].name, 40)));
        runs.map(named).collect()
    }

    /// Busy cores and waiting tasks of all runs, one panel below the other, over one axis of time.
    fn over_time(&self) -> String {
        let courses: Vec<(usize, &Course)> =
            self.sides.iter().enumerate().filter_map(|(run, side)| Some((run, side.course.as_ref()?))).collect();
        if courses.is_empty() {
            return String::new();
        }
        let most = courses.iter().flat_map(|(_, course)| &course.waiting).copied().fold(0.0, f64::max);
        let (busy, waiting) = (Scale::new(105.0, PANEL), Scale::new(most, PANEL));
        let below = PANEL - BOTTOM + 8.0;
        let mut body = busy.axis("busy cores, %");
        let drawn = |run: usize, levels: &[f64], path: String| {
            format!(
                "<path class=\"{}\"{} d=\"{path}\"><title>{}</title></path>\n",
                line(run),
                values(levels),
                letter(run)
            )
        };
        for (run, course) in &courses {
            let percents: Vec<f64> = course.busy.iter().map(|share| share * 100.0).collect();
            body.push_str(&drawn(*run, &percents, steps(&percents, |percent| busy.y(percent))));
        }
        let axis = waiting.axis("waiting tasks");
        let _ = write!(body, "<g class=\"panel\" transform=\"translate(0 {})\">{axis}", at(below));
        for (run, course) in &courses {
            body.push_str(&drawn(*run, &course.waiting, steps(&course.waiting, |tasks| waiting.y(tasks))));
        }
        body.push_str(&time_axis(self.window, PANEL - BOTTOM));
        body.push_str("</g>");
        let step = span(self.window.micros() as f64 / 1e6 / super::PARTS as f64);
        Figure {
            id: "course",
            title: "Busy cores and waiting tasks",
            desc:
                "Two panels of lines over virtual time, one line per result: the share of cores that are busy, and the \
                   number of tasks that wait."
                    .to_owned(),
            note: format!("Each of the {} steps is the mean over {step}.", super::PARTS),
            legend: self.legend(courses.iter().map(|(run, _)| *run)),
            height: below + PANEL,
            body,
        }
        .html()
    }

    fn jobs(&self) -> String {
        let compared: Vec<&JobChanges> =
            self.changes.iter().filter(|changes| self.compares_jobs(changes.run)).collect();
        let mut html = String::new();
        let heads = ["Run", "Quantity", "#Jobs", "Better", "Worse", "Same", "#Mean change"];
        let rows = compared.iter().flat_map(|changes| {
            changes.quantities.iter().map(|all| {
                let share = |number: u64| {
                    let share = number as f64 / all.count() as f64;
                    bar(share, &format!("{} ({})", count(number), percent(share)))
                };
                vec![
                    self.key(changes.run),
                    format!("{}, {}", all.name, all.about),
                    count(all.count()),
                    share(all.better),
                    share(all.worse),
                    share(all.same),
                    shown(&all.show(all.mean)),
                ]
            })
        });
        let rows: Vec<Vec<String>> = rows.collect();
        if !rows.is_empty() {
            html.push_str("<p>Jobs are matched by number; changes are against A.</p>\n");
            html.push_str(&table(&heads, rows));
        }
        for changes in &compared {
            if let Some(words) = changes.ended_in_one() {
                let _ = writeln!(html, "<p>{words}.</p>");
            }
        }
        html.push_str(&self.differences(&compared));
        html.push_str(&self.quantiles(&compared));
        html.push_str(&self.divisions(&compared));
        for changes in compared.iter().filter(|changes| !changes.largest.is_empty()) {
            let letter = letter(changes.run);
            let here = format!("#{letter}");
            let difference = format!("#{letter} − A");
            let heads = ["#Job", "User", "#Submitted at", "#Cores", "#A", here.as_str(), difference.as_str()];
            let rows = changes.largest.iter().map(|change| change.cells().map(|cell| shown(&escape(&cell))).to_vec());
            let _ =
                write!(html, "<h3>The largest changes of turnaround, {letter} against A</h3>\n{}", table(&heads, rows));
        }
        html
    }

    fn quantiles(&self, compared: &[&JobChanges]) -> String {
        let heads = ["Run".to_owned(), "Quantity".to_owned()];
        let heads: Vec<String> = heads.into_iter().chain(QUANTILES.map(|at| format!("#{}", quantile(at)))).collect();
        let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
        let row = |run: usize, all: &Changes| {
            let numbers = all.quantiles.iter().map(|difference| shown(&all.show(*difference)));
            [self.key(run), all.name.to_owned()].into_iter().chain(numbers).collect::<Vec<String>>()
        };
        let rows = compared.iter().flat_map(|changes| changes.quantities.iter().map(|all| row(changes.run, all)));
        let rows: Vec<Vec<String>> = rows.collect();
        match rows.is_empty() {
            true => String::new(),
            false => format!("<h3>Quantiles of the changes against A</h3>\n{}", table(&heads, rows)),
        }
    }

    /// Mean turnaround by user, size, run time and end.
    fn divisions(&self, compared: &[&JobChanges]) -> String {
        let mut html = String::new();
        for changes in compared {
            let letter = letter(changes.run);
            let (here, difference) = (format!("#{letter}"), format!("#{letter} − A"));
            for Division { name, groups } in &changes.divisions {
                let heads = [&capital(name), "#Jobs", "Better", "Worse", "#A", &here, &difference];
                let row = |group: &Group| {
                    let [label, jobs, better, worse, first, other, change] = group.cells();
                    let share = |number: u64, words: &str| bar(number as f64 / group.jobs as f64, words);
                    let shares = [share(group.better, &better), share(group.worse, &worse)];
                    let [label, jobs, first, other, change] =
                        [label, jobs, first, other, change].map(|cell| shown(&escape(&cell)));
                    let [better, worse] = shares;
                    vec![label, jobs, better, worse, first, other, change]
                };
                let rows = groups.iter().map(row);
                let _ = write!(html, "<h3>Mean turnaround by {name}, {letter} against A</h3>\n{}", table(&heads, rows));
            }
        }
        html
    }

    /// Differences of turnaround in ascending order, a curve per result.
    fn differences(&self, compared: &[&JobChanges]) -> String {
        let curves: Vec<&&JobChanges> = compared.iter().filter(|changes| changes.sorted.len() > 1).collect();
        let at_share = |sorted: &[f64], share: f64| sorted[((sorted.len() - 1) as f64 * share).round() as usize];
        let ends =
            |changes: &JobChanges| [TAIL, 100.0 - TAIL].map(|percent| at_share(&changes.sorted, percent / 100.0));
        let (least, most) = curves
            .iter()
            .flat_map(|changes| ends(changes))
            .fold((0.0, 0.0), |(least, most), number| (f64::min(least, number), f64::max(most, number)));
        if least == most {
            return String::new();
        }
        let (unit, seconds) = match most - least {
            wide if wide > 4.0 * 86_400.0 => ("days", 86_400.0),
            wide if wide > 4.0 * 3_600.0 => ("hours", 3_600.0),
            wide if wide > 240.0 => ("minutes", 60.0),
            _ => ("seconds", 1.0),
        };
        let y = |number: f64| {
            let share = (number.clamp(least, most) - least) / (most - least);
            CHART - BOTTOM - share * (CHART - TOP - BOTTOM)
        };
        let x = |share: f64| LEFT + share * (WIDTH - LEFT - RIGHT);
        let mut body = String::from("<g class=\"axis\">");
        let apart = step((most - least) / seconds / 6.0);
        let first = (least / seconds / apart).ceil() as i64;
        let lines = (first..).map(|line| line as f64 * apart).take_while(|line| line * seconds <= most);
        for line in lines {
            let (y, text) = (at(y(line * seconds)), number(line));
            let class = if line == 0.0 { " class=\"base\"" } else { "" };
            let _ = write!(
                body,
                "<path{class} d=\"M{LEFT} {y}H{}\"/><text x=\"{}\" y=\"{y}\" dy=\".32em\" text-anchor=\"end\">{text}</text>",
                WIDTH - RIGHT,
                LEFT - 7.0
            );
        }
        for tenth in (0..=10).step_by(2) {
            let (x, y) = (at(x(f64::from(tenth) / 10.0)), at(CHART - BOTTOM + 18.0));
            let anchor = if tenth == 10 { "end" } else { "middle" };
            let _ = write!(body, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{} %</text>", tenth * 10);
        }
        let middle = at((TOP + CHART - BOTTOM) / 2.0);
        let _ = writeln!(
            body,
            "<text class=\"name\" x=\"{}\" y=\"{}\">jobs, from the most shortened to the most delayed</text>\
             <text class=\"name\" transform=\"translate(14 {middle}) rotate(-90)\">change of turnaround, {unit}</text></g>",
            at((LEFT + WIDTH - RIGHT) / 2.0),
            at(CHART - BOTTOM + 38.0)
        );
        for changes in &curves {
            let points = POINTS.min(changes.sorted.len());
            let path = (0..points).map(|point| {
                let share = point as f64 / (points - 1) as f64;
                format!(
                    "{}{} {}",
                    if point == 0 { "M" } else { "L" },
                    at(x(share)),
                    at(y(at_share(&changes.sorted, share)))
                )
            });
            let (class, letter, path) = (line(changes.run), letter(changes.run), path.collect::<String>());
            let _ = writeln!(body, "<path class=\"{class}\" d=\"{path}\"><title>{letter}</title></path>");
        }
        let all = |changes: &&&JobChanges| {
            let (letter, sorted) = (letter(changes.run), &changes.sorted);
            let ends = [sorted[0], sorted[sorted.len() - 1]].map(|end| shown(&signed_span(end)));
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

    fn settings_section(&self) -> String {
        if self.settings.is_empty() {
            return "<p>No setting of the topologies differs.</p>\n".to_owned();
        }
        let heads: Vec<String> = std::iter::once("Key".to_owned()).chain((0..self.sides.len()).map(letter)).collect();
        let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
        let row = |Setting { key, values }: &Setting| {
            let values = values.iter().map(|value| value.as_deref().map_or(NONE.to_owned(), escape));
            std::iter::once(format!("<code>{}</code>", escape(key))).chain(values).collect()
        };
        let rest = match self.settings.len().saturating_sub(SETTINGS_MAX) {
            0 => String::new(),
            more => format!("<p class=\"soft\">{} more are not shown; --json lists all.</p>\n", count(more as u64)),
        };
        table(&heads, self.settings.iter().take(SETTINGS_MAX).map(row)) + &rest
    }

    fn all_metrics(&self) -> String {
        let ratios = ratio_digits(self);
        let mut heads = vec!["Metric".to_owned(), "Unit".to_owned(), "#A".to_owned()];
        for run in 1..self.sides.len() {
            let letter = letter(run);
            heads.extend([
                format!("#{letter}"),
                format!("#{letter}\u{a0}−\u{a0}A"),
                format!("#{letter}\u{a0}/\u{a0}A"),
            ]);
        }
        heads.push("Meaning".to_owned());
        let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
        let value = |row: &MetricRow, run: usize| match row.is_best(run) {
            true => format!("<strong>{}</strong>", row.value_text(run)),
            false => row.value_text(run),
        };
        let row = |row: &MetricRow| {
            let name = format!("<code>{}</code>", row.metric.name);
            let mut cells = vec![name, unbroken(row.metric.unit.name()), value(row, 0)];
            for run in 1..self.sides.len() {
                let class = match row.verdict(run) {
                    Verdict::Better => "good",
                    Verdict::Worse => "bad",
                    Verdict::Neither => "soft",
                };
                let difference = shown(&row.difference_text(run));
                cells.push(value(row, run));
                cells.push(format!("<span class=\"{class}\">{difference}</span>"));
                cells.push(row.ratio_text(run, ratios));
            }
            let about = format!("{}{}", escape(row.metric.about), words(row.metric.better));
            cells.push(format!("<span class=\"about\">{about}</span>"));
            cells
        };
        let (tenths, whole): (Vec<&MetricRow>, Vec<&MetricRow>) =
            self.metrics.iter().partition(|row| is_of_a_tenth(row.metric.name));
        let mut html = format!(
            "<p>Bold is best; a difference is green if the result is better than A, and red if it is worse. Times are in \
             seconds.</p>\n{}",
            table(&heads, whole.into_iter().map(row))
        );
        if !tenths.is_empty() {
            let tenths = table(&heads, tenths.into_iter().map(row));
            let _ = write!(html, "<details><summary>Tenths of the jobs, by size</summary>\n{tenths}</details>\n");
        }
        if !self.absent.is_empty() {
            let absent: Vec<String> = self.absent.iter().map(|name| format!("<code>{name}</code>")).collect();
            let (absent, metrics) = (absent.join(", "), counted(self.absent.len() as u64, "metric"));
            let _ = writeln!(html, "<details><summary>{metrics} that no run has</summary><p>{absent}</p></details>");
        }
        html
    }

    fn events(&self) -> String {
        let mut html = String::new();
        for (run, side) in self.sides.iter().enumerate() {
            let letter = letter(run);
            match &side.log {
                LogComparison::Reference => {}
                LogComparison::Same => _ = writeln!(html, "<p>{letter} is the same run as A: no event differs.</p>"),
                LogComparison::Live => {
                    _ = writeln!(html, "<p>No event of {letter} is compared: a run was live.</p>");
                }
                LogComparison::Differs(difference) => {
                    let words = |event: &Option<String>| escape(event.as_deref().unwrap_or("(the log ends)"));
                    let (line, what) = (count(difference.line), escape(&difference.what));
                    let _ = writeln!(html, "<p>{letter} differs from A on line {line} of events.jsonl ({what}):</p>");
                    let rows = [("A".to_owned(), &difference.a), (letter, &difference.b)];
                    html.push_str(&table(&["Run", "Event"], rows.map(|(run, event)| vec![run, words(event)])));
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
            Unit::Share => percent(value),
            Unit::Seconds => span(value),
            _ => Digits::of(self.values.iter().flatten().copied()).show(value),
        }
    }
}

/// A quantity for a page: with a minus, and without line breaks.
pub(super) fn shown(quantity: &str) -> String {
    let text = unbroken(quantity);
    text.strip_prefix('-').map_or(text.clone(), |size| format!("−{size}"))
}

/// Classes of a result's line, and of its mark in legends: after the colours are used up, lines are dashed.
fn line(run: usize) -> String {
    format!("line l{}{}", run % COLOURS, if run >= COLOURS { " dashed" } else { "" })
}

fn mark(run: usize) -> String {
    if run < COLOURS { format!("f{run}") } else { format!("f{} dashed", run % COLOURS) }
}
