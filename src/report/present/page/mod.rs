//! `report.html`: a run as one page that reads well on a screen, in the dark and on paper, with nothing to load.
//!
//! Each file holds one section, and all systems have the same form: an empty section is left out. Subjects have theirs
//! beside their accounts. Everything is drawn here, as HTML with inline SVG; `explore.js` adds what reacts, and a page
//! without it says the same. Text is escaped by its type (`markup.rs`). Where a run is too large to show each item,
//! items are aggregated, and the page says so.

mod busy;
pub(crate) mod chart;
mod competing;
mod dag;
mod finding;
mod gantt;
mod hatching;
mod how_it_ran;
pub(crate) mod html;
mod links;
mod live;
mod numbers;
mod over_time;
mod responsiveness;
mod sizes;
pub(crate) mod stacks;
mod staleness;
mod stories;
mod users;
mod value;
mod waits;
mod what_ran;

use self::chart::Window;
use self::html::{format_counted, unbroken_span};
use crate::markup::{Html, html};
use crate::palette::{ON_DARK, ON_LIGHT, colour_rules};
use crate::present::calendar::Calendar;
use crate::{Manifest, Schedule, Status, Summary, SummaryFile, Tally};
use hansa_sim::numerals::capitalize_first;
use hansa_sim::time::Time;
use hansa_sim::topology::Topology;

const STYLE: &str = include_str!("style.css");

/// Number of points of a chart over time.
pub(crate) const PARTS: usize = 320;
/// Number of rows of a table, before the rest is summed up.
pub(crate) const ROWS_MAX: usize = 40;
/// Number of rows from which a table is below the charts of its section.
pub(crate) const LONG: usize = 12;
pub(crate) const CHART: f64 = 300.0;

/// The page of a run: its manifest and summary, the topology that the manifest holds, and the log's tally.
///
/// `fresh` is the summary of the same run with a router that knows everything at once, if that of this run does not;
/// `plot` is the SVG of a live run's measurement.
pub fn run_page(
    manifest: &Manifest,
    summary: &SummaryFile,
    topology: &Topology,
    tally: &Tally,
    fresh: Option<&Summary>,
    plot: Option<&Html>,
) -> Vec<u8> {
    let page = Page {
        fresh,
        plot,
        manifest,
        results: &summary.results,
        summary,
        topology,
        tally,
        window: run_window(tally, &summary.results),
    };
    page.html().into_bytes()
}

pub(crate) struct Page<'a> {
    manifest: &'a Manifest,
    pub results: &'a Summary,
    summary: &'a SummaryFile,
    topology: &'a Topology,
    pub tally: &'a Tally,
    fresh: Option<&'a Summary>,
    /// Plot of a live run's measurement.
    plot: Option<&'a Html>,
    pub window: Window,
}

/// The interval from the first job's submission to the last event.
fn run_window(tally: &Tally, results: &Summary) -> Window {
    let from = tally.jobs.values().map(|row| row.job.arrive).min().unwrap_or(Time::ZERO);
    Window { calendar: log_calendar(results), ..Window::new(from, tally.last.max(from)) }
}

/// Dates of the first log that has them.
pub(crate) fn log_calendar(results: &Summary) -> Option<Calendar> {
    results.read_part::<Schedule>()?.logs.iter().find_map(|log| log.start())
}

impl Page<'_> {
    fn html(&self) -> String {
        let name = &self.topology.name;
        let mut html = html!("<header>\n");
        if let Status::Partial(why) = &self.manifest.status {
            html += html!(
                "<p class=\"partial\" role=\"note\"><strong>This run is partial:</strong> {why}. The page shows what had \
                 happened until then; numbers and charts would be different at the end.</p>\n",
                why
            );
        }
        html += html!(
            "<p class=\"kicker\">A run of Hansa</p><h1>{name}</h1>\n<p class=\"lead\">{}</p>\n",
            self.lead_text(),
            name
        );
        let counted = self.results.counted.and_then(|counted| counted.left_out_note()).map(|note| format!("{note}."));
        let idle =
            (!self.results.idle_users.is_empty()).then(|| format!("{}.", capitalize_first(&self.results.idle_note())));
        html += counted.into_iter().chain(idle).map(|note| html!("<p><strong>{note}</strong></p>\n", note)).collect();
        let of_subjects = self.tally.subjects.iter().map(|present| {
            let (id, title) = present.subject.section;
            (id, title, present.report.page_section(self))
        });
        let first = [
            ("numbers", "At a glance", self.competing_section() + self.numbers_section()),
            ("value", "Value", self.value()),
        ];
        let last = [
            ("view", "The cost of stale information", self.staleness_section()),
            ("live", "Real bytes beside the model", self.live_section()),
            ("responsiveness", "Responsiveness", self.responsiveness_section()),
            ("time", "Over time", self.over_time()),
            (
                "cores",
                "Sites and tasks",
                gantt::gantt_figure(self.topology, self.tally, self.window, &self.parts_of_work()),
            ),
            ("dag", "Workflows", self.workflows_section()),
            ("links", "Links and transfers", self.links_section()),
            ("waits", "The longest waits", self.longest_waits()),
            ("why", "Why jobs waited", self.stories_section()),
            ("what", "What ran", self.what_ran()),
            ("facts", "How it ran", self.facts_section()),
        ];
        let sections = first.into_iter().chain(of_subjects).chain(last);
        let sections: Vec<_> = sections.filter(|(_, _, body)| !body.is_empty()).collect();
        html += html::linked_sections(&sections);
        html += self.job_facts();
        let digest = match self.summary.run.live {
            Some(_) => html!("A live run is not reproducible and has no digest."),
            None => html!(
                "The same topology and seed give the same digest in every layout: <code>{}</code>",
                self.results.digest
            ),
        };
        html += html!(
            "<footer>Made from summary.json, manifest.json and events.jsonl of this folder. All times are virtual \
             unless they are called wall time. {digest}</footer>\n",
            digest
        );
        html::document_html(&format!("{name}: a run of Hansa"), html)
    }

    /// True if any job has a value.
    fn has_worth(&self) -> bool {
        self.results.value.is_some()
    }

    fn lead_text(&self) -> String {
        let about = self.topology.about.as_ref().map_or(String::new(), |about| {
            let about = about.trim();
            let end = if about.is_empty() || about.ends_with(['.', '!', '?', ':', ';']) { "" } else { "." };
            format!("{about}{end} ")
        });
        let cores: u64 = self.tally.sites.iter().map(|site| u64::from(site.cores)).sum();
        let tasks = match (self.results.tasks.submitted, self.results.jobs.submitted) {
            (tasks, jobs) if tasks == jobs => String::new(),
            (tasks, _) => format!(" ({})", format_counted(tasks, "task")),
        };
        format!(
            "{about}{} submitted {}{tasks} to {} with {}{}.",
            format_counted(self.topology.users.len() as u64, "user"),
            format_counted(self.results.jobs.submitted, "job"),
            format_counted(self.tally.sites.len() as u64, "site"),
            format_counted(cores, "core"),
            self.results
                .makespan
                .map_or(String::new(), |makespan| format!("; the run covers {}", unbroken_span(makespan)))
        )
    }
}

/// The style sheet, with the colours that all pictures share.
fn style_sheet() -> Html {
    let variables = |colours| colour_rules(colours, |number, colour| format!("--c{number}:{colour};"));
    let light = variables(&ON_LIGHT);
    let dark = variables(&ON_DARK);
    html!(":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n", light, dark)
        + Html::from_constant(STYLE)
}

#[cfg(test)]
pub(crate) mod tests;
