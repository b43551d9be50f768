//! Sites, policies and users side by side: small tables that answer what the run was for.

use std::collections::BTreeMap;

use super::Page;
use super::html::{Digits, format_count, format_counted, table_html, unbroken_percent, unbroken_span};
use super::value::maximum_worth;
use crate::markup::{Html, cells, html};
use crate::referee::tally::JobRow;
use crate::results::core::Mean;

/// Largest number of rows; more sites or users are put together.
const ROWS: usize = 12;
/// Number of rows at either end, where the middle ones are put together.
const ENDS: usize = 3;

/// Sums over the jobs of a site, a policy or a user, or over those of several.
#[derive(Clone, Debug, Default)]
struct Fared {
    /// Jobs, or tasks where jobs have several.
    count: u64,
    waits: Vec<f64>,
    stretches: Vec<f64>,
    /// Obtained and largest possible value.
    value: (f64, f64),
    /// Core time in use and in all.
    used: (f64, f64),
}

/// A row of a table.
struct Row {
    name: String,
    about: String,
    fared: Fared,
}

impl Fared {
    fn plus(mut self, other: &Fared) -> Fared {
        self.count += other.count;
        self.waits.extend(&other.waits);
        self.stretches.extend(&other.stretches);
        self.value = (self.value.0 + other.value.0, self.value.1 + other.value.1);
        self.used = (self.used.0 + other.used.0, self.used.1 + other.used.1);
        self
    }

    fn wait(&self) -> Option<f64> {
        mean_of(&self.waits)
    }

    fn mean_stretch(&self) -> Option<f64> {
        mean_of(&self.stretches)
    }

    fn worst_stretch(&self) -> Option<f64> {
        self.stretches.iter().copied().max_by(f64::total_cmp)
    }

    fn share_used(&self) -> Option<f64> {
        (self.used.1 > 0.0).then(|| self.used.0 / self.used.1)
    }

    fn share_of_value(&self) -> Option<f64> {
        (self.value.1 > 0.0).then(|| self.value.0 / self.value.1)
    }
}

fn mean_of(numbers: &[f64]) -> Option<f64> {
    let mut mean = Mean::default();
    numbers.iter().for_each(|number| mean.add(*number));
    mean.get()
}

impl Page<'_> {
    /// Tables of what competes; empty if nothing does.
    pub(super) fn competing_section(&self) -> Html {
        // One alone does not compete, and a pass over all jobs takes a while.
        let has_sites = self.tally.sites.len() > 1;
        let has_users = self.topology.users.len() > 1;
        let sites = if has_sites { few_of(self.fared_at_sites(), "site") } else { Vec::new() };
        let users = if has_users { few_of(self.fared_of_users(), "user") } else { Vec::new() };
        self.table_of("Site", "Scheduler", sites) + self.table_of("User", "Strategy", users)
    }

    fn fared_at_sites(&self) -> Vec<Row> {
        let tally = self.tally;
        let mut all = vec![Fared::default(); tally.sites.len()];
        for row in tally.jobs.values() {
            let counts = tally.counted.is_counted(row);
            for (task, ready) in row.tasks.iter().zip(row.ready_times()) {
                let (Some(site), Some(start)) = (task.site, task.start) else { continue };
                let fared = &mut all[site as usize];
                fared.count += 1;
                fared.waits.extend(ready.filter(|_| counts).map(|from| start.since(from).micros() as f64 / 1e6));
            }
            // Elsewhere a job may be at several sites.
            if counts
                && tally.has_only_single_tasks()
                && let Some(site) = row.tasks.first().and_then(|task| task.site)
            {
                all[site as usize].stretches.extend(row.stretch_factor());
            }
        }
        let sites = self.topology.sites.iter().zip(&self.results.utilisation.sites).zip(all);
        sites
            .map(|((site, used), fared)| {
                let cores = used.cores as f64;
                let share = self.results.utilisation_of(used);
                Row {
                    name: site.name.clone(),
                    about: site.scheduler.clone(),
                    fared: Fared { used: share.map_or((0.0, 0.0), |share| (share * cores, cores)), ..fared },
                }
            })
            .collect()
    }

    fn fared_of_users(&self) -> Vec<Row> {
        let mut all: BTreeMap<String, Fared> =
            self.topology.users.iter().map(|user| (user.name.clone(), Fared::default())).collect();
        for row in self.tally.jobs.values() {
            let fared = all.entry(self.tally.names.of_actor(row.user)).or_default();
            fared.count += 1;
            if self.tally.counted.is_counted(row) {
                fared.waits.extend(row.wait().map(|wait| wait.micros() as f64 / 1e6));
                fared.stretches.extend(self.stretch_of(row));
            }
            fared.value = (fared.value.0 + row.value().unwrap_or(0.0), fared.value.1 + maximum_worth(row));
        }
        all.into_iter().map(|(name, fared)| Row { about: self.strategy_of(&name), name, fared }).collect()
    }

    /// Stretch of a job that is one task, else its SLR if that counts.
    fn stretch_of(&self, row: &JobRow) -> Option<f64> {
        match self.tally.has_only_single_tasks() {
            true => row.stretch_factor(),
            false => row.slr().filter(|_| self.tally.slr_counts(row)),
        }
    }

    /// The strategy of a user; empty if it has none.
    fn strategy_of(&self, name: &str) -> String {
        let user = self.topology.users.iter().position(|user| user.name == name);
        let mut subjects = self.tally.subjects.iter();
        let strategy = user.and_then(|user| subjects.find_map(|present| present.report.user_strategy(user)));
        strategy.unwrap_or_default().to_owned()
    }

    /// Empty for less than two rows. The best number of a column is bold.
    fn table_of(&self, what: &str, about: &str, rows: Vec<Row>) -> Html {
        if rows.len() < 2 || rows.iter().all(|row| row.fared.count == 0) {
            return Html::default();
        }
        let single = self.tally.has_only_single_tasks();
        let is_site = what == "Site";
        let head_of_count = if is_site && !single { "#Tasks" } else { "#Jobs" };
        let stretch = if single { "stretch" } else { "SLR" };
        let abouts: Vec<&String> = rows.iter().map(|row| &row.about).filter(|about| !about.is_empty()).collect();
        let is_explained = abouts.iter().any(|about| *about != abouts[0]);
        let waits = Compared::new(&rows, Fared::wait);
        let means = Compared::new(&rows, Fared::mean_stretch);
        let worst = Compared::new(&rows, Fared::worst_stretch);
        let values = Compared::new(&rows, Fared::share_of_value);
        let used = Compared::new(&rows, Fared::share_used);
        let columns = [
            what.to_owned(),
            head_if(is_explained, about.to_owned()),
            head_of_count.to_owned(),
            "#Mean wait".to_owned(),
            head_if(means.is_known(), format!("#Mean {stretch}")),
            head_if(worst.is_known(), format!("#Largest {stretch}")),
            head_if(values.is_known(), "#Value obtained".to_owned()),
            head_if(is_site && used.is_known(), format!("#Used {}", self.results.utilisation_interval())),
        ];
        let mean_digits = means.digits();
        let worst_digits = worst.digits();
        let cells = rows.iter().enumerate().map(|(at, row)| {
            let about = &row.about;
            cells![
                &row.name,
                if about.is_empty() { Html::default() } else { html!("<code>{about}</code>", about) },
                format_count(row.fared.count),
                waits.cell(at, &unbroken_span, true),
                means.cell(at, &|number| mean_digits.show_number(number), true),
                worst.cell(at, &|number| worst_digits.show_number(number), true),
                values.cell(at, &unbroken_percent, false),
                row.fared.share_used().map_or("–".to_owned(), unbroken_percent),
            ]
        });
        html!("<h3>{what}s side by side</h3>\n{}", table_html(&columns, cells), what)
    }
}

fn head_if(is_shown: bool, head: String) -> String {
    if is_shown { head } else { String::new() }
}

/// A number of each row, of which the best is bold.
struct Compared(Vec<Option<f64>>);

impl Compared {
    fn new(rows: &[Row], of: fn(&Fared) -> Option<f64>) -> Compared {
        Compared(rows.iter().map(|row| of(&row.fared)).collect())
    }

    fn is_known(&self) -> bool {
        self.0.iter().any(Option::is_some)
    }

    fn digits(&self) -> Digits {
        Digits::for_numbers(self.0.iter().copied().flatten())
    }

    fn cell(&self, row: usize, show: &dyn Fn(f64) -> String, less: bool) -> Html {
        let Some(number) = self.0[row] else { return "–".into() };
        let text = show(number);
        // Numbers that read alike are equally good.
        let different: Vec<f64> = self.0.iter().copied().flatten().filter(|other| show(*other) != text).collect();
        let is_best = !different.is_empty() && different.iter().all(|other| (number < *other) == less);
        if is_best { html!("<strong>{text}</strong>", text) } else { text.into() }
    }
}

/// All rows, if they are few; otherwise one for each scheduler or strategy, if these differ.
fn few_of(rows: Vec<Row>, what: &str) -> Vec<Row> {
    let policies = by_policy(&rows, what);
    if policies.len() > 1 && rows.len() > ROWS { policies } else { put_together(rows, what) }
}

/// Sites put together by their schedulers, or users by their strategies, in order of these.
fn by_policy(rows: &[Row], what: &str) -> Vec<Row> {
    let mut policies: BTreeMap<&str, (u64, Fared)> = BTreeMap::new();
    for row in rows {
        let (count, fared) = policies.entry(&row.about).or_default();
        *count += 1;
        *fared = std::mem::take(fared).plus(&row.fared);
    }
    policies
        .into_iter()
        .map(|(about, (rows, fared))| Row { name: format_counted(rows, what), about: about.to_owned(), fared })
        .collect()
}

/// All rows, if they are few; otherwise those with the longest and the shortest mean waits, and all others as one row.
fn put_together(rows: Vec<Row>, what: &str) -> Vec<Row> {
    if rows.len() <= ROWS {
        return rows;
    }
    let (mut busy, idle): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(|row| row.fared.count > 0);
    busy.sort_by(|a, b| b.fared.wait().unwrap_or(0.0).total_cmp(&a.fared.wait().unwrap_or(0.0)));
    let ends = if busy.len() <= ROWS { busy.len() } else { ENDS };
    let mut others = busy.split_off(ends);
    let last = others.split_off(others.len().saturating_sub(ENDS));
    let middle = sum_rows(format!("{} other {what}s", format_count(others.len() as u64)), &others);
    let idle = sum_rows(format!("{} idle {what}s", format_count(idle.len() as u64)), &idle);
    busy.into_iter().chain(middle).chain(last).chain(idle).collect()
}

/// One row for several; None without any.
fn sum_rows(name: String, rows: &[Row]) -> Option<Row> {
    let fared = rows.iter().fold(Fared::default(), |sum, row| sum.plus(&row.fared));
    (!rows.is_empty()).then(|| Row { name, about: String::new(), fared })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(waits: &[Option<f64>]) -> Vec<Row> {
        let fared = |wait: &Option<f64>| Fared {
            count: u64::from(wait.is_some()),
            waits: wait.iter().copied().collect(),
            ..Fared::default()
        };
        let row = |(number, wait): (usize, &Option<f64>)| Row {
            name: format!("s{number}"),
            about: if number % 2 == 0 { "easy".to_owned() } else { "fcfs".to_owned() },
            fared: fared(wait),
        };
        waits.iter().enumerate().map(row).collect()
    }

    #[test]
    fn many_rows_are_put_together_between_the_longest_and_the_shortest_waits() {
        let names = |rows: Vec<Row>| rows.into_iter().map(|row| row.name).collect::<Vec<_>>().join(" ");
        let waits: Vec<Option<f64>> = (0..20).map(|wait| Some(f64::from(wait))).collect();
        let together = put_together(rows(&waits), "site");
        assert_eq!((together[3].fared.count, together[3].fared.wait()), (14, Some(9.5)));
        assert_eq!(names(together), "s19 s18 s17 14 other sites s2 s1 s0");
        let idle: Vec<Option<f64>> = (0..20).map(|wait| (wait < 2).then_some(f64::from(wait))).collect();
        assert_eq!(names(put_together(rows(&idle), "site")), "s1 s0 18 idle sites");
        assert_eq!(names(put_together(rows(&waits[..3]), "site")), "s0 s1 s2");
    }

    #[test]
    fn sites_of_one_policy_are_one_row() {
        let policies = by_policy(&rows(&[Some(1.0), Some(5.0), Some(3.0), None]), "site");
        let shown: Vec<_> = policies.iter().map(|row| (&*row.about, &*row.name, row.fared.wait())).collect();
        assert_eq!(shown, [("easy", "2 sites", Some(2.0)), ("fcfs", "2 sites", Some(5.0))]);
    }
}
