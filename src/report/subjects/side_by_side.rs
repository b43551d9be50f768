//! The systems of a grid side by side, if there are several: ended jobs, waits, and core time by site.

use crate::markup::{Html, cells, html};
use serde::{Deserialize, Serialize};

use super::{EVERY, PLAIN, Subject, SubjectReport};
use crate::SummaryPart;
use crate::present::page::Page;
use crate::present::page::html::{format_count, table_html, unbroken_percent, unbroken_span};
use crate::referee::tally::{JobRow, Standing};
use crate::results::account::Account;
use crate::results::core::Mean;
use crate::{Summary, Tally};
use hansa_sim::numerals::{self, Digits};
use hansa_sim::time::Time;
use hansa_sim::topology::Topology;

pub const SUBJECT: Subject = Subject {
    systems: &EVERY,
    part: Systems::NAME,
    section: ("systems", "Systems"),
    open: |topology, _| if topology.systems.len() < 2 { None } else { Some(Box::new(SharedGrid::of(topology))) },
    lines: summary_lines,
    metrics: &[],
    ..PLAIN
};

/// The part of a summary that compares the systems of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Systems(pub Vec<OneSystem>);

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OneSystem {
    /// Name of its table.
    pub name: String,
    pub jobs: u64,
    pub finished: u64,
    /// Core seconds of its tasks, with any result.
    pub busy: f64,
    /// Share of the core seconds of all systems.
    pub share: Option<f64>,
    /// Mean wait of started jobs, from their earliest start.
    pub wait: Option<f64>,
    /// The core seconds by site, where there were any.
    pub sites: Vec<AtSite>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AtSite {
    pub name: String,
    pub busy: f64,
}

impl SummaryPart for Systems {
    const NAME: &'static str = "systems";
}

#[derive(Debug)]
struct SharedGrid {
    keys: Vec<&'static str>,
}

impl SharedGrid {
    fn of(topology: &Topology) -> SharedGrid {
        SharedGrid { keys: topology.systems.iter().map(|system| system.system_row().key).collect() }
    }
}

impl SubjectReport for SharedGrid {
    fn open_account<'a>(&'a self, tally: &'a Tally, _: bool) -> Box<dyn Account + 'a> {
        Box::new(SystemSums { tally, keys: &self.keys, all: self.keys.iter().map(|_| empty_sum(tally)).collect() })
    }

    fn page_section(&self, page: &Page<'_>) -> Html {
        page.results.read_part::<Systems>().map_or_else(Html::default, |systems| systems_section(&systems))
    }
}

fn empty_sum(tally: &Tally) -> SystemSum {
    SystemSum { jobs: 0, finished: 0, wait: Mean::default(), busy: vec![0; tally.sites.len()] }
}

struct SystemSums<'a> {
    tally: &'a Tally,
    keys: &'a [&'static str],
    all: Vec<SystemSum>,
}

struct SystemSum {
    jobs: u64,
    finished: u64,
    wait: Mean,
    /// Core microseconds by site.
    busy: Vec<u128>,
}

impl Account for SystemSums<'_> {
    fn job(&mut self, row: &JobRow, _: &[Option<Time>]) {
        let Some(sum) = self.all.get_mut(row.system as usize) else { return };
        row.wait().into_iter().for_each(|wait| sum.wait.add(wait.micros() as f64 / 1e6));
        self.add_uncounted(row, &[]);
    }

    fn add_uncounted(&mut self, row: &JobRow, _: &[Option<Time>]) {
        let tally = self.tally;
        let Some(sum) = self.all.get_mut(row.system as usize) else { return };
        sum.jobs += 1;
        sum.finished += u64::from(row.standing() == Standing::Finished);
        for (task, needs) in row.tasks.iter().zip(&row.job.tasks) {
            let Some(site) = task.site else { continue };
            for stint in task.stints(tally.last) {
                let site = stint.site.unwrap_or(site) as usize;
                let used = tally.sites[site].used_cores(row, needs.cores, &stint);
                sum.busy[site] += used.core_micros(stint.to.since(stint.from).micros().into());
            }
        }
    }

    fn close(&mut self, summary: &mut Summary) {
        let all: u128 = self.all.iter().flat_map(|sum| &sum.busy).sum();
        summary.put_part(&Systems(
            self.all
                .iter()
                .zip(self.keys)
                .map(|(sum, key)| {
                    let busy: u128 = sum.busy.iter().sum();
                    let sites = self.tally.sites.iter().zip(&sum.busy).filter(|(_, busy)| **busy > 0);
                    OneSystem {
                        name: (*key).to_owned(),
                        jobs: sum.jobs,
                        finished: sum.finished,
                        busy: micros_as_seconds(busy),
                        share: (all > 0).then(|| busy as f64 / all as f64),
                        wait: sum.wait.get(),
                        sites: sites
                            .map(|(site, busy)| AtSite { name: site.name.clone(), busy: micros_as_seconds(*busy) })
                            .collect(),
                    }
                })
                .collect(),
        ));
    }
}

fn micros_as_seconds(micros: u128) -> f64 {
    micros as f64 / 1e6
}

fn summary_lines(summary: &Summary) -> Vec<(&'static str, String)> {
    let Some(Systems(all)) = summary.read_part::<Systems>() else { return Vec::new() };
    let labels = std::iter::once("systems").chain(std::iter::repeat(""));
    labels.zip(all.iter().map(system_line)).collect()
}

fn system_line(one: &OneSystem) -> String {
    if one.jobs == 0 {
        return format!("{}: no jobs", one.name);
    }
    let wait = one.wait.map_or(String::new(), |wait| format!("; mean wait {}", numerals::format_span(wait)));
    let hours = numerals::format_number(one.busy / 3600.0);
    let share = one.share.map_or("–".to_owned(), numerals::format_percent);
    format!(
        "{}: {} of {} jobs finished; {hours} core h = {share}{wait}",
        one.name,
        format_count(one.finished),
        format_count(one.jobs)
    )
}

/// Largest number of sites with columns of their own.
const SITES_MAX: usize = 12;

fn systems_section(Systems(all): &Systems) -> Html {
    let mut sites: Vec<&str> = all.iter().flat_map(|one| &one.sites).map(|site| site.name.as_str()).collect();
    sites.sort_unstable();
    sites.dedup();
    let shown = if sites.len() > SITES_MAX { &[][..] } else { &sites[..] };
    let heads = shown.iter().map(|site| format!("#Core h at {site}"));
    let columns: Vec<String> = ["System", "#Jobs", "#Finished", "#Mean wait", "#Core h", "#Of all"]
        .into_iter()
        .map(str::to_owned)
        .chain(heads)
        .collect();
    let hours = Digits::for_numbers(all.iter().map(|one| one.busy / 3600.0));
    let row = |one: &OneSystem| {
        let own = cells![
            html!("<code>[{}]</code>", &one.name),
            format_count(one.jobs),
            format_count(one.finished),
            text_or_none(one.wait.map(unbroken_span)),
            hours.show_number(one.busy / 3600.0),
            text_or_none(one.share.map(unbroken_percent)),
        ];
        own.into_iter()
            .chain(
                shown
                    .iter()
                    .map(|site| {
                        let there = one.sites.iter().find(|at| at.name == *site);
                        text_or_none(there.map(|at| hours.show_number(at.busy / 3600.0)))
                    })
                    .map(Html::from),
            )
            .collect()
    };
    let note = html!(
        "<p>A job waits from its submission, or the time from which it was wanted, until its first task starts. \
                The numbers at the top of the page are of all systems together.</p>\n"
    );
    table_html(&columns, all.iter().map(row)) + note
}

fn text_or_none(value: Option<String>) -> String {
    value.unwrap_or_else(|| "–".to_owned())
}
