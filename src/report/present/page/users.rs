//! Users and organisations: the share of the grid, the waits and the sites of each.

use super::html::{Digits, format_count, share_bar, table_html, unbroken_percent, unbroken_span};
use super::value::maximum_worth;
use super::{Page, ROWS_MAX};
use crate::Tally;
use crate::markup::{Html, cells, html};
use crate::referee::tally::JobRow;

/// Largest number of sites with a column of their own.
const SITES_MAX: usize = 10;

/// Sums over the jobs of one user, or of several.
#[derive(Clone, Debug, Default)]
struct Had {
    jobs: u64,
    tasks: u64,
    value: f64,
    worth: f64,
    /// Sum of waits in seconds, and number of jobs.
    waited: (f64, u64),
    /// Sum of stretches, or of SLRs where jobs are workflows, and their number.
    stretched: (f64, u64),
    /// Core hours, by site.
    hours: Vec<f64>,
}

impl Had {
    fn add(&mut self, row: &JobRow, tally: &Tally) {
        self.jobs += 1;
        self.tasks += row.tasks.len() as u64;
        self.value += row.value().unwrap_or(0.0);
        self.worth += maximum_worth(row);
        let counts = tally.counted.is_counted(row);
        if let Some(wait) = row.wait().filter(|_| counts) {
            self.waited = (self.waited.0 + wait.micros() as f64 / 1e6, self.waited.1 + 1);
        }
        let stretch = if tally.has_only_single_tasks() { row.stretch_factor() } else { row.slr() };
        if let Some(stretch) = stretch.filter(|_| counts) {
            self.stretched = (self.stretched.0 + stretch, self.stretched.1 + 1);
        }
        for (task, ran) in row.job.tasks.iter().zip(&row.tasks) {
            let Some(site) = ran.site else { continue };
            for stint in ran.stints(tally.last) {
                let site = stint.site.unwrap_or(site) as usize;
                let used = tally.sites[site].used_cores(row, task.cores, &stint).cores();
                self.hours[site] += stint.to.since(stint.from).micros() as f64 / 3.6e9 * used;
            }
        }
    }

    fn plus(mut self, other: &Had) -> Had {
        self.jobs += other.jobs;
        self.tasks += other.tasks;
        self.value += other.value;
        self.worth += other.worth;
        self.waited = (self.waited.0 + other.waited.0, self.waited.1 + other.waited.1);
        self.stretched = (self.stretched.0 + other.stretched.0, self.stretched.1 + other.stretched.1);
        self.hours.iter_mut().zip(&other.hours).for_each(|(hours, more)| *hours += more);
        self
    }
}

impl Page<'_> {
    pub(super) fn users(&self) -> Html {
        let nothing = Had { hours: vec![0.0; self.tally.sites.len()], ..Had::default() };
        let users = &self.topology.users;
        let mut by_user = vec![nothing.clone(); users.len()];
        for row in self.tally.jobs.values() {
            if let Some(had) = self.tally.user_index(row.user).and_then(|user| by_user.get_mut(user)) {
                had.add(row, self.tally);
            }
        }
        let mut rows: Vec<(String, String, Had)> = Vec::new();
        for (user, had) in users.iter().zip(&by_user).take(ROWS_MAX) {
            rows.push((user.name.clone(), user.latency.to_string(), had.clone()));
        }
        let rest = users.len().saturating_sub(ROWS_MAX);
        if rest > 0 {
            let sum = by_user.iter().skip(ROWS_MAX).fold(nothing, Had::plus);
            rows.push((format!("{rest} more users together"), String::new(), sum));
        }
        self.users_alone(&rows) + self.users_at_sites(&rows)
    }

    fn users_alone(&self, rows: &[(String, String, Had)]) -> Html {
        let hours = Digits::for_numbers(rows.iter().map(|row| row.2.hours.iter().sum()));
        let worth = Digits::for_numbers(rows.iter().map(|row| row.2.worth));
        let cells = rows.iter().map(|(name, latency, had)| {
            let share = had.value / had.worth;
            let obtained =
                if had.worth > 0.0 { share_bar(share, &unbroken_percent(share)) } else { "none available".into() };
            cells![
                name,
                latency,
                format_count(had.jobs),
                format_count(had.tasks),
                hours.show_number(had.hours.iter().sum()),
                mean_of(had.waited).map(unbroken_span),
                mean_of(had.stretched).map(|stretch| format!("{stretch:.2}")),
                worth.show_number(had.worth),
                obtained,
            ]
        });
        let (stretch, meaning) = match self.tally.has_only_single_tasks() {
            true => (
                "#Mean stretch",
                html!(
                    "Stretch is the time from submission (or a reservation's ready time) to the end of a finished job, \
                     divided by its run time, where neither counts as less than 10 s."
                ),
            ),
            false => (
                "#Mean SLR",
                html!(
                    "SLR is the time from submission (or a reservation's ready time) to the end of a finished job, \
                     divided by its critical path."
                ),
            ),
        };
        let (best, obtained) = if self.has_worth() { ("#Value at best", "Value obtained") } else { ("", "") };
        let columns =
            ["User", "#To the router", "#Jobs", "#Tasks", "#Core hours", "#Mean wait", stretch, best, obtained];
        html!("<h3>Users</h3>\n{}<p>{meaning}</p>\n", table_html(&columns, cells), meaning)
    }

    /// Core hours by user and site.
    fn users_at_sites(&self, rows: &[(String, String, Had)]) -> Html {
        let sites = &self.tally.sites;
        if sites.len() < 2 || rows.len() < 2 {
            return Html::default();
        }
        let totals: Vec<f64> = (0..sites.len()).map(|site| rows.iter().map(|row| row.2.hours[site]).sum()).collect();
        let mut most: Vec<usize> = (0..sites.len()).collect();
        most.sort_by(|a, b| totals[*b].total_cmp(&totals[*a]).then(a.cmp(b)));
        let (own, others) = most.split_at_mut(sites.len().min(SITES_MAX));
        own.sort_unstable();
        let names = own.iter().map(|site| format!("#{}", sites[*site].name));
        let other = if others.is_empty() { String::new() } else { format!("#{} other sites", others.len()) };
        let columns: Vec<String> = std::iter::once("User".to_owned()).chain(names).chain([other]).collect();
        let digits = Digits::for_numbers(rows.iter().flat_map(|row| &row.2.hours).copied());
        let cells = rows.iter().map(|(name, _, had)| {
            let hours = own.iter().map(|site| digits.show_number(had.hours[*site]));
            let rest = digits.show_number(others.iter().map(|site| had.hours[*site]).sum());
            std::iter::once(name.clone()).chain(hours).chain([rest]).map(Html::from).collect()
        });
        html!("<h3>Core hours by user and site</h3>\n{}", table_html(&columns, cells))
    }
}

/// Mean of a sum over a number of jobs; None without any.
fn mean_of((sum, count): (f64, u64)) -> Option<f64> {
    (count > 0).then(|| sum / count as f64)
}
