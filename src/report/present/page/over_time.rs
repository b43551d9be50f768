//! "Over time": how many tasks waited, and how many cores were busy.

use std::collections::BTreeMap;

use super::busy::largest_sites;
use super::chart::{Figure, Levels, Scale, mark_line, stack_top, stacked_areas};
use super::html::{format_count, format_counted, shorten_text, unbroken_micros, unbroken_percent};
use super::{CHART, PARTS, Page};
use crate::markup::{Html, html};
use crate::palette::COLOURS;
use hansa_sim::time::Time;

impl Page<'_> {
    pub(super) fn over_time(&self) -> Html {
        let is_shown = self.tally.subjects.iter().any(|present| present.subject.shows_waiting);
        let queue = if is_shown { Html::default() } else { self.queue_chart() };
        queue + self.utilisation_chart() + self.busy_sites(COLOURS)
    }

    fn queue_chart(&self) -> Html {
        let kinds = self.tally.names.kinds.len().max(1);
        let groups = kinds.min(COLOURS);
        let mut levels = vec![Levels::new(self.window, PARTS); groups];
        let mut steps: BTreeMap<Time, i64> = BTreeMap::new();
        for (kind, from, to) in self.tally.waiting() {
            levels[usize::from(kind.0).min(groups - 1)].add(from, to, 1.0);
            *steps.entry(from).or_default() += 1;
            *steps.entry(to).or_default() -= 1;
        }
        let mut level = 0;
        let peak = steps.iter().fold((0, Time::ZERO), |peak, (time, change)| {
            level += change;
            if level > peak.0 { (level, *time) } else { peak }
        });
        if peak.0 == 0 {
            return html!("<p>No task ever had to wait.</p>\n");
        }
        let series: Vec<(String, Vec<f64>)> =
            levels.iter().enumerate().map(|(kind, levels)| (format!("f{kind}"), levels.part_means())).collect();
        let scale = Scale::new(stack_top(&series), CHART);
        let name = |kind: usize| match kind + 1 == groups && kinds > groups {
            true => format!("{} other kinds", kinds - groups + 1),
            false if kinds == 1 => "waiting tasks".to_owned(),
            false => shorten_text(self.tally.names.kinds.get(kind).map_or("cores", String::as_str), 40),
        };
        let most = format!("The maximum was {} at {}.", format_counted(peak.0 as u64, "task"), peak.1);
        Figure {
            id: "queue",
            title: if kinds == 1 { "Tasks that waited" } else { "Tasks that waited, by the kind of core they need" },
            desc: format!(
                "A stacked area over time of the number of tasks that were ready but had not started. {most}"
            ),
            note: format!("{} {} {most}", self.tally.report_words().waiting, self.parts_in_words()),
            legend: (0..groups).map(|kind| (format!("f{kind}"), name(kind))).collect(),
            height: CHART,
            body: scale.axis("waiting tasks") + stacked_areas(self.window, scale, &series),
        }
        .html()
    }

    fn utilisation_chart(&self) -> Html {
        let sites = &self.tally.sites;
        let groups = sites.len().min(COLOURS);
        // The largest have an area of their own.
        let mut by_size: Vec<usize> = (0..sites.len()).collect();
        by_size.sort_by_key(|site| (std::cmp::Reverse(sites[*site].cores), *site));
        let mut own: Vec<usize> =
            by_size.into_iter().take(if sites.len() > groups { groups - 1 } else { groups }).collect();
        own.sort_unstable();
        let group: Vec<usize> =
            (0..sites.len()).map(|site| own.iter().position(|other| *other == site).unwrap_or(own.len())).collect();
        let mut levels = vec![Levels::new(self.window, PARTS); groups];
        self.tally.each_use(|site, from, to, used| levels[group[site]].add(from, to, used));
        let series: Vec<(String, Vec<f64>)> =
            levels.iter().enumerate().map(|(group, levels)| (format!("f{group}"), levels.part_means())).collect();
        let cores: u64 = sites.iter().map(|site| u64::from(site.cores)).sum();
        let scale = Scale::new(cores as f64 * 1.12, CHART);
        let rest = sites.len() - own.len();
        let mut legend: Vec<(String, String)> = own
            .iter()
            .enumerate()
            .map(|(group, site)| {
                (
                    format!("f{group}"),
                    format!(
                        "{} ({})",
                        shorten_text(&sites[*site].name, 40),
                        format_counted(sites[*site].cores.into(), "core")
                    ),
                )
            })
            .collect();
        let mut put_together = String::new();
        if rest > 0 {
            legend.push((format!("f{}", own.len()), format!("{rest} other sites")));
            put_together = format!(
                "Each of the {} sites has an area of its own; the other {rest} share one. ",
                largest_sites(sites, own.len())
            );
        }
        let used = self.results.utilisation.all.makespan.map_or(String::new(), |used| {
            format!("{} of the core time was used over the whole makespan.", unbroken_percent(used))
        });
        Figure {
            id: "utilisation",
            title: "Busy cores, by site",
            desc: format!(
                "A stacked area over time of the cores in use at each site, out of {} in all. {used}",
                format_count(cores)
            ),
            note: format!("{put_together}{} {used}", self.parts_in_words()),
            legend,
            height: CHART,
            body: scale.axis("busy cores")
                + stacked_areas(self.window, scale, &series)
                + mark_line(scale, cores as f64, &format!("all {}", format_counted(cores, "core"))),
        }
        .html()
    }

    fn parts_in_words(&self) -> String {
        format!(
            "Each of the {PARTS} steps is the mean over {}.",
            unbroken_micros(self.window.length_micros() / PARTS as u64)
        )
    }
}
