//! Cost of the router's late knowledge: this run compared with the same one with a router that knows at once.

use super::Page;
use super::html::{number, percent, span, table};
use crate::markup::{Html, cells, html};
use crate::{Staleness, Summary};

/// A row of the comparison: its label, its number in a run, and the form of the number.
type StalenessRow = (&'static str, fn(&Summary) -> Option<f64>, fn(f64) -> String);

const ROWS: &[StalenessRow] = &[
    ("Value obtained", |summary| summary.value.map(|value| value.obtained), number),
    ("Share of all value", |summary| summary.value?.proportion, percent),
    ("Jobs starved", |summary| summary.starved.map(|starved| starved as f64), number),
    ("Mean wait of a job", |summary| summary.job_wait.map(|wait| wait.mean), span),
    ("Mean wait of a task", |summary| summary.task_wait.map(|wait| wait.mean), span),
    ("Mean SLR", |summary| summary.slr.filter(|_| !summary.has_only_single_tasks()), number),
    ("Used while jobs arrived", |summary| summary.utilisation.all.arrivals, percent),
    ("Makespan", |summary| summary.makespan, span),
];

impl Page<'_> {
    /// The section; empty if the router's view was not old, or there is no other run.
    pub(super) fn staleness(&self) -> Html {
        let Some((view, fresh)) = self.results.view.filter(Staleness::is_old).zip(self.fresh) else {
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
            span(view.lag_mean),
            span(view.lag_max),
            number(view.unseen / 3600.0),
            [what, how]
        );
        let rows = ROWS.iter().filter_map(|(what, of, words)| {
            let (here, there) = of(self.results).zip(of(fresh))?;
            Some(cells![*what, words(here), words(there), change(here, there)])
        });
        html += table(&["Measure", "#This run", "#With an up-to-date view", "#Cost of stale information"], rows);
        if let Some((here, there)) = self.results.value.zip(fresh.value)
            && there.obtained > 0.0
        {
            let lost = there.obtained - here.obtained;
            let words = if lost < 0.0 { "gained" } else { "lost" };
            html += html!(
                "<p>Stale information {words} {} of value, {} of what an up-to-date view obtains.</p>\n",
                number(lost.abs()),
                percent(lost.abs() / there.obtained),
                words
            );
        }
        html
    }
}

/// The increase in percent.
fn change(here: f64, there: f64) -> String {
    if there == 0.0 {
        return String::new();
    }
    let share = here / there - 1.0;
    format!("{}{}", if share < 0.0 { "−" } else { "+" }, percent(share.abs()))
}
