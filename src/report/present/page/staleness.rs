//! Cost of the router's late knowledge: this run compared with the same one with a router that knows at once.

use super::Page;
use super::html::{table_html, unbroken_number, unbroken_percent, unbroken_span};
use crate::markup::{Html, cells, html};
use crate::{Staleness, Summary};

/// A row of the comparison: its label, its number in a run, and the form of the number.
type StalenessRow = (&'static str, fn(&Summary) -> Option<f64>, fn(f64) -> String);

const ROWS: &[StalenessRow] = &[
    ("Value obtained", |summary| summary.value.map(|value| value.obtained), unbroken_number),
    ("Share of all value", |summary| summary.value?.proportion, unbroken_percent),
    ("Jobs starved", |summary| summary.starved.map(|starved| starved as f64), unbroken_number),
    ("Mean wait of a job", |summary| summary.job_wait.map(|wait| wait.mean), unbroken_span),
    ("Mean wait of a task", |summary| summary.task_wait.map(|wait| wait.mean), unbroken_span),
    ("Mean SLR", |summary| summary.slr.filter(|_| !summary.has_only_single_tasks()), unbroken_number),
    ("Used while jobs arrived", |summary| summary.utilisation.all.arrivals, unbroken_percent),
    ("Makespan", |summary| summary.makespan, unbroken_span),
];

impl Page<'_> {
    /// The section; empty if the router's view was not old, or there is no other run.
    pub(super) fn staleness_section(&self) -> Html {
        let Some((view, fresh)) = self.results.view.filter(Staleness::is_noticeable).zip(self.fresh) else {
            return Html::default();
        };
        let what = match view.by_offers {
            true => "The router had the offer of a task's cores",
            false => "The router learned that a task had ended",
        };
        let how = if view.by_offers { "send offers" } else { "report" };
        let mut html = html!(
            "<p>{what} {} late on average and {} at most: links take time, and sites {how} periodically. Meanwhile {} \
             core hours were idle that it considered used. For comparison, the same jobs on the same sites, with a \
             router that learns of everything at once:</p>\n",
            unbroken_span(view.lag_mean),
            unbroken_span(view.lag_max),
            unbroken_number(view.unseen / 3600.0),
            [what, how]
        );
        let rows = ROWS.iter().filter_map(|(what, of, words)| {
            let (here, there) = of(self.results).zip(of(fresh))?;
            Some(cells![*what, words(here), words(there), percent_change(here, there)])
        });
        html += table_html(&["Measure", "#This run", "#With an up-to-date view", "#Cost of stale information"], rows);
        if let Some((here, there)) = self.results.value.zip(fresh.value)
            && there.obtained > 0.0
        {
            let lost = there.obtained - here.obtained;
            let words = if lost < 0.0 { "gained" } else { "lost" };
            html += html!(
                "<p>Stale information {words} {} of value, {} of what an up-to-date view obtains.</p>\n",
                unbroken_number(lost.abs()),
                unbroken_percent(lost.abs() / there.obtained),
                words
            );
        }
        html
    }
}

/// The increase in percent.
fn percent_change(here: f64, there: f64) -> String {
    if there == 0.0 {
        return String::new();
    }
    let share = here / there - 1.0;
    format!("{}{}", if share < 0.0 { "−" } else { "+" }, unbroken_percent(share.abs()))
}
