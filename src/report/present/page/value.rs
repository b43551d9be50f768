//! "Value": the value that users obtained from their jobs, and the causes of its loss. For runs of jobs with a worth.

use super::chart::{Figure, Scale, stacked_columns};
use super::html::{Digits, format_count, format_counted, share_bar, table_html, unbroken_number, unbroken_percent};
use super::sizes::{axis_of, tenths_in_words, work_tenths};
use super::{CHART, Page};
use crate::markup::{Html, cells, html};
use crate::referee::tally::{JobRow, Standing};

impl Page<'_> {
    /// The section; empty if no job has a worth.
    pub(super) fn value(&self) -> Html {
        let Some(value) = &self.results.value else { return Html::default() };
        let mut sums = [(0u64, 0.0, 0.0); ValueOutcome::ALL.len()];
        for row in self.tally.jobs.values() {
            if let Some(outcome) = ValueOutcome::of(row) {
                let sum = &mut sums[outcome as usize];
                (sum.0, sum.1, sum.2) = (sum.0 + 1, sum.1 + row.value().unwrap_or(0.0), sum.2 + lost_value(row));
            }
        }
        let jobs: u64 = sums.iter().map(|sum| sum.0).sum();
        let there: Vec<_> =
            ValueOutcome::ALL.into_iter().filter(|(outcome, ..)| sums[*outcome as usize].0 > 0).collect();
        let share = |part: f64| if value.max > 0.0 { unbroken_percent(part / value.max) } else { "–".to_owned() };
        let [gains, losses] =
            [Digits::for_numbers(sums.iter().map(|sum| sum.1)), Digits::for_numbers(sums.iter().map(|sum| sum.2))];
        let rows = there.iter().map(|(outcome, _, words)| {
            let (number_of, obtained, lost) = sums[*outcome as usize];
            let part = number_of as f64 / jobs.max(1) as f64;
            cells![
                *words,
                share_bar(part, &format_count(number_of)),
                gains.show_number(obtained),
                share(obtained),
                losses.show_number(lost),
                share(lost),
            ]
        });
        let tenths = work_tenths(self.tally.jobs.values().filter(|row| row.job.worth.is_some()));
        let columns = ["Jobs that were …", "Jobs", "#Obtained", "#of all value", "#Lost", "#of all value"];
        html!(
            "<p>A job is worth its full value until its initial deadline and nothing from its final one on. Its age is \
             counted from submission, in multiples of its critical path (SLR). Of {} in total, users obtained {}.</p>\n\
             {}{}{}",
            unbroken_number(value.max),
            unbroken_number(value.obtained),
            table_html(&columns, rows),
            value_by_size(&tenths, &there),
            starved_by_size(&tenths, &there)
        )
    }
}

fn value_by_size(tenths: &[Vec<&JobRow>], there: &[InWords]) -> Html {
    let by_value: Vec<_> = tenths.iter().map(|tenth| value_column(tenth)).collect();
    let scale = Scale::new(100.0, CHART);
    let lost = there.iter().filter(|(outcome, ..)| *outcome > ValueOutcome::InTime);
    let lost = lost.map(|(_, class, words)| ((*class).to_owned(), format!("lost: {words}")));
    Figure {
        id: "value-by-size",
        title: "Obtained and lost value, by size of job",
        desc: format!(
            "Stacked columns, one per tenth of the jobs by work: the share of the value that was obtained or lost, \
             and why. {}",
            columns_in_words(&by_value)
        ),
        note: format!("{} Percent of the tenth's maximum value.", tenths_in_words(tenths, "jobs with a worth")),
        legend: [("f0".to_owned(), "obtained".to_owned())].into_iter().chain(lost).collect(),
        height: CHART,
        body: scale.axis("share of value, %") + stacked_columns(scale, axis_of(by_value.len()), &by_value),
    }
    .html()
}

fn starved_by_size(tenths: &[Vec<&JobRow>], there: &[InWords]) -> Html {
    let starving: Vec<_> = tenths.iter().map(|tenth| starved_column(tenth)).collect();
    let most = starving.iter().map(|parts| parts.iter().map(|part| part.1).sum::<f64>()).fold(0.0, f64::max);
    if most == 0.0 {
        return html!(
            "<p>No job starved: every job with a deadline finished before it had lost all of its value.</p>\n"
        );
    }
    let scale = Scale::new(most, CHART - 40.0);
    let starved = there.iter().filter(|(outcome, ..)| *outcome > ValueOutcome::Late);
    Figure {
        id: "starvation",
        title: "Starved jobs, by size of job",
        desc: format!(
            "Stacked columns, one per tenth of the jobs by work: the share of its jobs that starved. {}",
            columns_in_words(&starving)
        ),
        note: "A job is starved if it never finished, or finished after its final deadline. Shares of the jobs with \
               a deadline in each tenth."
            .to_owned(),
        legend: starved.map(|(_, class, words)| ((*class).to_owned(), (*words).to_owned())).collect(),
        height: CHART - 40.0,
        body: scale.axis("starved jobs, %") + stacked_columns(scale, axis_of(starving.len()), &starving),
    }
    .html()
}

/// Causes of obtained and lost value of a job, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ValueOutcome {
    InTime,
    Late,
    TooLate,
    GivenUp,
    TakenBack,
    Killed,
    Refused,
    Unfinished,
}

/// An outcome with its colour and its words.
type InWords = (ValueOutcome, &'static str, &'static str);

impl ValueOutcome {
    const ALL: [InWords; 8] = [
        (ValueOutcome::InTime, "f0", "in time for full value"),
        (ValueOutcome::Late, "f4", "late, worth less"),
        (ValueOutcome::TooLate, "f5", "too late, worth nothing"),
        (ValueOutcome::GivenUp, "f1", "given up after the final deadline"),
        (ValueOutcome::TakenBack, "f2", "taken back by their users"),
        (ValueOutcome::Killed, "f6", "killed before they were done"),
        (ValueOutcome::Refused, "f3", "refused on arrival"),
        (ValueOutcome::Unfinished, "f7", "unfinished when the log ended"),
    ];

    fn of(row: &JobRow) -> Option<ValueOutcome> {
        let starved = row.has_starved()?;
        Some(match row.standing() {
            Standing::Removed if row.is_cancelled() => ValueOutcome::TakenBack,
            Standing::Removed => ValueOutcome::GivenUp,
            Standing::Killed | Standing::Preempted => ValueOutcome::Killed,
            Standing::Refused => ValueOutcome::Refused,
            Standing::Unfinished => ValueOutcome::Unfinished,
            Standing::Finished if starved => ValueOutcome::TooLate,
            Standing::Finished if lost_value(row) > 0.0 => ValueOutcome::Late,
            Standing::Finished => ValueOutcome::InTime,
        })
    }
}

pub(super) fn maximum_worth(row: &JobRow) -> f64 {
    row.job.worth.as_ref().map_or(0.0, |worth| worth.max)
}

fn lost_value(row: &JobRow) -> f64 {
    (maximum_worth(row) - row.value().unwrap_or(0.0)).max(0.0)
}

/// Shares of a tenth's value, in percent, by outcome.
fn value_column(tenth: &[&JobRow]) -> Vec<(&'static str, f64, String)> {
    let max: f64 = tenth.iter().map(|row| maximum_worth(row)).sum();
    if max <= 0.0 {
        return Vec::new();
    }
    let mut parts: Vec<(&'static str, f64, String)> = Vec::new();
    let mut push = |class, value: f64, words: &str| {
        let share = value / max * 100.0;
        parts.push((class, share, format!("{words}: {share:.1} % ({})", unbroken_number(value))));
    };
    push("f0", tenth.iter().filter_map(|row| row.value()).sum(), "obtained");
    for (outcome, class, words) in ValueOutcome::ALL.iter().skip(1) {
        push(
            class,
            tenth.iter().filter(|row| ValueOutcome::of(row) == Some(*outcome)).map(|row| lost_value(row)).sum(),
            words,
        );
    }
    parts
}

/// Shares of a tenth's jobs, in percent, by outcome.
fn starved_column(tenth: &[&JobRow]) -> Vec<(&'static str, f64, String)> {
    let jobs = tenth.iter().filter(|row| row.job.worth.is_some()).count().max(1) as f64;
    let mut parts = Vec::new();
    for &(outcome, class, words) in ValueOutcome::ALL.iter().skip(2) {
        let starved = tenth.iter().filter(|row| row.has_starved() == Some(true));
        let count = starved.filter(|row| ValueOutcome::of(row) == Some(outcome)).count();
        let share = count as f64 / jobs * 100.0;
        parts.push((class, share, format!("{words}: {share:.1} % ({})", format_counted(count as u64, "job"))));
    }
    parts
}

/// Describes columns in words, for readers who cannot see them.
fn columns_in_words(columns: &[Vec<(&str, f64, String)>]) -> String {
    let mut words = Vec::new();
    for (number, parts) in (1..).zip(columns) {
        let parts: Vec<&str> = parts.iter().filter(|part| part.1 > 0.0).map(|part| part.2.as_str()).collect();
        let parts = if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") };
        words.push(format!("Tenth {number}: {parts}."));
    }
    words.join(" ")
}
