//! "What ran": the topology in words, its sites and users, and the load.

use std::fmt::Write;

use super::html::{
    Digits, definition_list, format_count, format_counted, share_bar, table_html, unbroken_number, unbroken_percent,
    unbroken_span,
};
use super::{Page, ROWS_MAX};
use crate::Use;
use crate::markup::{Html, cells, html};
use crate::referee::tally::Fate;
use crate::results::summary::work_micros;
use hansa_sim::grid::Behaviour;
use hansa_sim::settings;
use hansa_sim::systems::Policy;
use hansa_sim::topology::{User, Workload};

const TOPOLOGY_MAX: usize = 40_000;

impl Page<'_> {
    pub(super) fn what_ran(&self) -> Html {
        let mut facts: Vec<(&str, Html)> = Vec::new();
        for system in &self.topology.systems {
            let Policy { what, name, about } = system.main_policy();
            let about = match about {
                "" => String::new(),
                about => format!(": {}", settings::remark_text(about)),
            };
            facts.push((what, html!("<code>{name}</code>{about}", name, about)));
        }
        let is_planned = |user: &&User| user.behaviour == Behaviour::External;
        let planned: Vec<&str> = self.topology.users.iter().filter(is_planned).map(|user| user.name.as_str()).collect();
        if let Some(first) = planned.first() {
            let users = match planned.len() - 1 {
                0 => (*first).to_owned(),
                others => format!("{first} and {}", format_counted(others as u64, "other user")),
            };
            let text =
                format!("an external program plans for {users}: the policy applies to jobs for which it names no site");
            facts.push(("Planner", text.into()));
        }
        facts.extend([
            ("Load", self.load().into()),
            ("Layout", Html::from(&self.manifest.layout)),
            ("Seed", self.manifest.seed.into()),
            (
                "Digest",
                match self.summary.run.live {
                    Some(_) => "none, as a live run is not reproducible".into(),
                    None => html!("<code>{}</code>", &self.results.digest),
                },
            ),
            (
                "Log",
                html!(
                    "{} {}, status {}",
                    format_count(self.results.entries),
                    if self.results.entries == 1 { "entry" } else { "entries" },
                    self.manifest.status.to_string()
                ),
            ),
        ]);
        let mut html = definition_list(&facts);
        html += self.sites();
        html += self.users();
        let text = &self.manifest.topology;
        let cut = (0..=text.len().min(TOPOLOGY_MAX)).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        let rest = match text.len() - cut {
            0 => String::new(),
            left => format!("\n… {} more characters: manifest.json has them.", format_count(left as u64)),
        };
        html += html!(
            "<details><summary>The topology, with every default filled in</summary><pre>{}{rest}</pre></details>\n",
            &text[..cut],
            rest
        );
        html
    }

    /// Describes the offered load: workloads, work that arrived, its share of the capacity, and refused work.
    fn load(&self) -> String {
        let mut words: Vec<String> = self.topology.workloads.iter().take(6).map(workload_words).collect();
        if let more @ 1.. = self.topology.workloads.len().saturating_sub(6) {
            words.push(format_counted(more as u64, "more workload"));
        }
        let mut text = words.join("; ");
        let mut all = 0.0;
        let mut refused = 0.0;
        for row in self.tally.jobs.values() {
            // A job that fits no site is not counted as load.
            let fits_nowhere = matches!(row.fate, Fate::Refused | Fate::Rejected(_));
            let work = work_micros(row) as f64 * self.tally.part_of_nodes(row);
            *if fits_nowhere { &mut refused } else { &mut all } += work;
        }
        let _ = write!(text, "; {} of work arrived", core_time(all / 1e6));
        if let Some(during) = self.results.arrival_span().filter(|during| *during > 0.0) {
            let offered = all / 1e6 / (during * self.results.utilisation.all.cores as f64);
            let _ = write!(
                text,
                " within {}, {} of what all cores can do in that time",
                unbroken_span(during),
                unbroken_percent(offered)
            );
        }
        if refused > 0.0 {
            let _ = write!(text, "; {} more were refused", core_time(refused / 1e6));
        }
        text
    }

    fn sites(&self) -> Html {
        let sites = self.topology.sites.iter().zip(&self.results.utilisation.sites);
        let hours = Digits::for_numbers(sites.clone().map(|(_, used)| used.busy / 3600.0));
        let cells = sites.clone().take(ROWS_MAX).map(|(site, used)| {
            let share = self.results.utilisation_of(used);
            cells![
                &site.name,
                format_count(site.cores.into()),
                self.topology.kinds.get(usize::from(site.kind.0)).map_or("", String::as_str),
                site.systems
                    .iter()
                    .map(|system| self.topology.systems[*system].system_row().key)
                    .collect::<Vec<_>>()
                    .join(", "),
                &site.scheduler,
                site.latency.to_string(),
                format_count(used.tasks),
                hours.show_number(used.busy / 3600.0),
                share.map(|share| share_bar(share, &unbroken_percent(share))),
            ]
        });
        let mut rows: Vec<Vec<Html>> = cells.collect();
        let rest: Vec<_> = sites.skip(ROWS_MAX).map(|(_, used)| used).collect();
        if !rest.is_empty() {
            let sum = |what: fn(&Use) -> u64| format_count(rest.iter().map(|used| what(used)).sum());
            let busy: f64 = rest.iter().map(|used| used.busy).sum();
            let name = format!("{} more sites together", rest.len());
            rows.push(cells![
                name,
                sum(|used| used.cores),
                "",
                "",
                "",
                "",
                sum(|used| used.tasks),
                hours.show_number(busy / 3600.0),
                "",
            ]);
        }
        let when = format!("Used {}", self.results.utilisation_interval());
        let has_schedulers = self.topology.systems.iter().any(|system| !(system.system_row().schedulers)().is_empty());
        let scheduler = if has_schedulers { "Scheduler" } else { "" };
        let used_by = if self.topology.systems.len() > 1 { "Used by" } else { "" };
        let columns = ["Site", "#Cores", "Kind", used_by, scheduler, "#To the router", "#Tasks", "#Core hours", &when];
        html!("<h3>Sites</h3>\n{}", table_html(&columns, rows))
    }
}

fn workload_words(workload: &Workload) -> String {
    let source = workload.source.job_source();
    let (job, from) = source.describe_jobs();
    format!("{} {}", format_counted(source.jobs_in_all(), job), from)
}

/// Core time in the unit that leaves a number worth reading.
fn core_time(core_seconds: f64) -> String {
    match core_seconds {
        few if few < 3_600.0 => format!("{} core seconds", unbroken_number(few)),
        many => format!("{} core hours", unbroken_number(many / 3_600.0)),
    }
}
