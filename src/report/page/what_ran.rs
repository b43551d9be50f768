//! "What ran": the topology in words, its sites and users, and what was asked of them.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::html::{bar, count, counted, definitions, escape, number, percent, span, table};
use super::value::worth;
use super::{Page, ROWS_MAX};
use crate::report::Use;
use crate::report::summary::work;
use crate::settings;
use crate::systems::Policy;
use crate::topology::{Site, Workload};

const TOPOLOGY_MAX: usize = 40_000;

impl Page<'_> {
    pub(super) fn what_ran(&self) -> String {
        let mut facts: Vec<(&str, String)> = Vec::new();
        for system in &self.topology.systems {
            let Policy { what, name, about } = system.policy();
            let about = match about {
                "" => String::new(),
                about => format!(": {}", escape(&settings::remark(about))),
            };
            facts.push((what, format!("<code>{}</code>{about}", escape(name))));
        }
        facts.extend([
            ("Load", self.load()),
            ("Layout", escape(&self.manifest.layout)),
            ("Seed", self.manifest.seed.to_string()),
            ("Digest", format!("<code>{}</code>", escape(&self.results.digest))),
            (
                "Log",
                format!(
                    "{}, status {}",
                    counted(self.results.entries, "entry").replace("entrys", "entries"),
                    escape(&self.manifest.status.to_string())
                ),
            ),
        ]);
        let mut html = definitions(&facts);
        html.push_str(&self.sites());
        html.push_str(&self.users());
        let text = &self.manifest.topology;
        let cut = (0..=text.len().min(TOPOLOGY_MAX)).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        let rest = match text.len() - cut {
            0 => String::new(),
            left => format!("\n… {} more characters: manifest.json has them.", count(left as u64)),
        };
        let _ = writeln!(
            html,
            "<details><summary>The topology, with every default filled in</summary><pre>{}{rest}</pre></details>",
            escape(&text[..cut])
        );
        html
    }

    /// What was asked for and what came.
    fn load(&self) -> String {
        let mut words: Vec<String> = self.topology.workloads.iter().take(6).map(workload).collect();
        if self.topology.workloads.len() > 6 {
            words.push(format!("{} more workloads", self.topology.workloads.len() - 6));
        }
        let mut text = words.join("; ");
        let all: u128 = self.tally.jobs.values().map(work).sum();
        let arrivals = self.results.first_arrival.zip(self.results.last_arrival).map(|(first, last)| last - first);
        let _ = write!(text, "; {} core hours of work arrived", number(all as f64 / 3.6e9));
        if let Some(during) = arrivals.filter(|during| *during > 0.0) {
            let offered = all as f64 / 1e6 / (during * self.results.utilisation.all.cores as f64);
            let _ =
                write!(text, " within {}, {} of what all cores can do in that time", span(during), percent(offered));
        }
        text
    }

    fn sites(&self) -> String {
        let sites = self.topology.sites.iter().zip(&self.results.utilisation.sites);
        let row = |(site, used): (&Site, &Use)| {
            let share = used.arrivals.or(used.makespan);
            vec![
                escape(&site.name),
                count(site.cores.into()),
                escape(self.topology.kinds.get(usize::from(site.kind.0)).map_or("", String::as_str)),
                site.systems
                    .iter()
                    .map(|system| self.topology.systems[*system].row().key)
                    .collect::<Vec<_>>()
                    .join(", "),
                escape(&site.scheduler),
                escape(&site.latency.to_string()),
                count(used.tasks),
                number(used.busy / 3600.0),
                share.map_or(String::new(), |share| bar(share, &percent(share))),
            ]
        };
        let mut rows: Vec<Vec<String>> = sites.clone().take(ROWS_MAX).map(row).collect();
        let rest: Vec<_> = sites.skip(ROWS_MAX).map(|(_, used)| used).collect();
        if !rest.is_empty() {
            let sum = |what: fn(&Use) -> u64| count(rest.iter().map(|used| what(used)).sum());
            let busy: f64 = rest.iter().map(|used| used.busy).sum();
            let name = format!("{} more sites together", rest.len());
            let none = String::new;
            rows.push(vec![
                name,
                sum(|used| used.cores),
                none(),
                none(),
                none(),
                none(),
                sum(|used| used.tasks),
                number(busy / 3600.0),
                none(),
            ]);
        }
        let when = if self.results.utilisation.all.arrivals.is_some() { "Used while jobs arrived" } else { "Used" };
        let has_schedulers = self.topology.systems.iter().any(|system| !(system.row().schedulers)().is_empty());
        let scheduler = if has_schedulers { "Scheduler" } else { "" };
        let used_by = if self.topology.systems.len() > 1 { "Used by" } else { "" };
        let columns = ["Site", "#Cores", "Kind", used_by, scheduler, "#To the router", "#Tasks", "#Core hours", when];
        format!("<h3>Sites</h3>\n{}", table(&columns, rows))
    }

    fn users(&self) -> String {
        let mut by_user: BTreeMap<String, (u64, u64, f64, f64)> = BTreeMap::new();
        for row in self.tally.jobs.values() {
            let sums = by_user.entry(self.tally.names.of_actor(row.user)).or_default();
            sums.0 += 1;
            sums.1 += row.tasks.len() as u64;
            sums.2 += row.value().unwrap_or(0.0);
            sums.3 += worth(row);
        }
        let cells = |name: String, latency: String, (jobs, tasks, value, max): (u64, u64, f64, f64)| {
            let share = if max > 0.0 { bar(value / max, &percent(value / max)) } else { "none to be had".to_owned() };
            vec![name, latency, count(jobs), count(tasks), number(max), share]
        };
        let users = self.topology.users.iter();
        let mut rows: Vec<Vec<String>> = users
            .clone()
            .take(ROWS_MAX)
            .map(|user| {
                cells(
                    escape(&user.name),
                    escape(&user.latency.to_string()),
                    by_user.get(&user.name).copied().unwrap_or_default(),
                )
            })
            .collect();
        if self.topology.users.len() > ROWS_MAX {
            let rest = users.skip(ROWS_MAX).filter_map(|user| by_user.get(&user.name));
            let sum =
                rest.fold((0, 0, 0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1, sum.2 + one.2, sum.3 + one.3));
            rows.push(cells(
                format!("{} more users together", self.topology.users.len() - ROWS_MAX),
                String::new(),
                sum,
            ));
        }
        let (best, obtained) = if self.has_worth() { ("#Value at best", "Value obtained") } else { ("", "") };
        let columns = ["User", "#To the router", "#Jobs", "#Tasks", best, obtained];
        format!("<h3>Users</h3>\n{}", table(&columns, rows))
    }
}

fn workload(workload: &Workload) -> String {
    let supply = workload.source.supply();
    let (job, from) = supply.told();
    format!("{} {}", counted(supply.jobs_in_all(), job), escape(&from))
}
