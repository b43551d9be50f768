//! "At a glance": a run in a handful of cards.

use super::Page;
use super::html::{format_count, unbroken_number, unbroken_percent, unbroken_span};
use crate::markup::{Html, html};

impl Page<'_> {
    pub(super) fn numbers_section(&self) -> Html {
        let results = self.results;
        let mut cards: Vec<(&str, String, String)> = Vec::new();
        if let Some(value) = &results.value {
            let share = value.proportion.map_or("–".to_owned(), unbroken_percent);
            cards.push((
                "Value obtained",
                share,
                format!("{} of {}", unbroken_number(value.obtained), unbroken_number(value.max)),
            ));
        }
        let jobs = &results.jobs;
        let others: Vec<String> =
            results.unfinished_counts(*jobs).map(|(number, what)| format!("{} {what}", format_count(number))).collect();
        let others = if others.is_empty() { "none was left unfinished".to_owned() } else { others.join(", ") };
        cards.push((
            "Jobs finished",
            format_count(jobs.finished),
            format!("of {}; {others}", format_count(jobs.submitted)),
        ));
        if let Some(starved) = results.starved {
            let worthy = self.tally.jobs.values().filter(|row| row.job.worth.is_some()).count();
            let share = if worthy > 0 { unbroken_percent(starved as f64 / worthy as f64) } else { "–".to_owned() };
            cards.push((
                "Jobs starved",
                format_count(starved),
                format!("{share} of those with a deadline obtained no value"),
            ));
        }
        cards.extend(results.present_subjects().flat_map(|subject| (subject.cards)(results)));
        if let Some(slr) = results.slr.filter(|_| !results.has_only_single_tasks()) {
            cards.push(("Mean SLR", format!("{slr:.2}"), "times its critical path, for a finished job".to_owned()));
        }
        if let Some(wait) = &results.job_wait {
            let small = format!("median {}, 95 % within {}", unbroken_span(wait.median), unbroken_span(wait.p95));
            cards.push(("Mean wait of a job", unbroken_span(wait.mean), small));
        }
        let all = &results.utilisation.all;
        if let Some(used) = results.utilisation_of(all) {
            let why = if results.arrivals_matter() { "" } else { ", as jobs arrived in less than half of it" };
            cards.push((
                "Utilisation",
                unbroken_percent(used),
                format!("of core time {}{why}", results.utilisation_interval()),
            ));
        }
        if let Some(makespan) = results.makespan {
            let end = results.end.map_or(String::new(), |end| format!("until {} after the start", unbroken_span(end)));
            cards.push(("Makespan", unbroken_span(makespan), end));
        }
        if let Some(useful) = results.useful {
            cards.push((
                "Useful work",
                unbroken_percent(useful),
                "of the work for jobs with a worth brought value".to_owned(),
            ));
        }
        let cards: Html = cards
            .iter()
            .map(|(what, big, small)| {
                html!(
                    "<div><dt>{what}</dt><dd class=\"big\">{big}</dd><dd class=\"small\">{small}</dd></div>\n",
                    [what, big, small]
                )
            })
            .collect();
        html!("<dl class=\"cards\">{cards}</dl>\n", cards)
    }
}
