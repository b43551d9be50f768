//! The summary as a table for a terminal of 100 columns.

use hansa_sim::numerals::{Digits, format_count, format_counted};
pub(crate) use hansa_sim::numerals::{format_number, format_percent, format_span, format_volume};

use crate::{Carried, Counts, LiveFacts, RunFacts, Spread, Staleness, Status, Summary, Use};

const WIDTH: usize = 100;
const BAR: usize = 30;
const NAME_MAX: usize = 24;
const LABEL: usize = 12;

/// A table of the results, with what the run took where that is known.
pub fn summary_table(summary: &Summary, run: Option<&RunFacts>) -> String {
    let mut table = SummaryTable::default();
    table.put_line(&summary.topology, &format!("seed {}", summary.seed));
    if let Status::Partial(why) = &summary.status {
        table.put_line("PARTIAL", why);
    }
    match run.and_then(|run| run.live) {
        Some(live) => {
            table.put_line("live", &live_words(&live));
            table.put_optional("DOUBT", live.doubt_warning());
        }
        None => table.put_line("digest", &summary.digest),
    }
    table.put_line("jobs", &count_words(summary, summary.jobs, summary.starved));
    if !summary.has_only_single_tasks() || summary.tasks != summary.jobs {
        table.put_line("tasks", &count_words(summary, summary.tasks, None));
    }
    table.put_optional("counted", summary.counted.and_then(|counted| counted.left_out_note()));
    table.put_optional("no job", (!summary.idle_users.is_empty()).then(|| summary.idle_note()));
    table.put_optional("makespan", summary.makespan.map(|whole| makespan_words(summary, whole)));
    table.put_optional("wait", summary.job_wait.map(|wait| spread_words("jobs", wait)));
    let is_repeated = summary.has_only_single_tasks() && summary.task_wait == summary.job_wait;
    table.put_optional("", summary.task_wait.filter(|_| !is_repeated).map(|wait| spread_words("tasks", wait)));
    table.put_optional(
        "SLR",
        summary.slr.filter(|_| !summary.has_only_single_tasks()).map(|slr| format!("mean {slr:.3}")),
    );
    table.put_optional(
        "value",
        summary.value.map(|value| {
            let share = value.proportion.map_or(String::new(), |share| format!(" = {}", format_percent(share)));
            format!("{} of {}{share}", format_number(value.obtained), format_number(value.max))
        }),
    );
    table.put_optional("transfers", summary.transfers.map(|all| carried_words(&all)));
    for (label, words) in summary.present_subjects().flat_map(|subject| (subject.lines)(summary)) {
        table.put_line(label, &words);
    }
    table.put_optional("useful work", summary.useful.map(format_percent));
    table.put_optional(
        "old view",
        summary.view.filter(Staleness::is_noticeable).map(|view| {
            let mean = format_span(view.lag_mean);
            let max = format_span(view.lag_max);
            let unseen = format_number(view.unseen / 3600.0);
            let what = if view.by_offers { "free cores are offered" } else { "ends are known" };
            format!("{what} {mean} late, {max} at most; {unseen} core h were idle meanwhile")
        }),
    );
    table.put_optional(
        "moved",
        run.and_then(|run| run.moved)
            .map(|moved| format!("{} bytes of {} flows were really sent, and checked", moved.bytes, moved.flows)),
    );
    if let Some(run) = run {
        table.put_line("run", &fact_words(run));
    }
    table.put_blank();
    put_uses(&mut table, summary);
    table.text
}

/// With how long jobs arrived, which is what decides when utilisation is measured.
fn makespan_words(summary: &Summary, whole: f64) -> String {
    let arriving = summary.arrival_span().filter(|arriving| *arriving > 0.0);
    let arriving =
        arriving.map_or(String::new(), |arriving| format!("; jobs arrived in the first {}", format_span(arriving)));
    format_span(whole) + &arriving
}

fn live_words(live: &LiveFacts) -> String {
    let errors = live.median_error.zip(live.p95_error).map_or(String::new(), |(median, p95)| {
        format!("; median error {}, 95 % within {}", format_percent(median), format_percent(p95))
    });
    format!("speed {}: not reproducible, no digest{errors}", live.speed)
}

fn carried_words(all: &Carried) -> String {
    let rate = all.rate.map_or(String::new(), |rate| format!(", at {}/s each on average", format_volume(rate)));
    let stretch = all.stretch.map_or(String::new(), |stretch| format!(", {stretch:.3} times as long as alone"));
    let flows = format_counted(all.flows, "flow");
    format!("{flows} of {} together{rate}{stretch}", format_volume(all.bytes as f64))
}

#[derive(Default)]
struct SummaryTable {
    text: String,
}

impl SummaryTable {
    fn put_line(&mut self, label: &str, words: &str) {
        let label = shorten_text(label, 60);
        // What a line begins with is kept by those that it is continued on.
        let margin = LABEL + 2 + (words.len() - words.trim_start().len()).min(LABEL);
        let first = WIDTH - label.chars().count().max(LABEL) - 2;
        for (number, line) in wrap_words(words, first, WIDTH - margin).into_iter().enumerate() {
            match number {
                0 => self.row(&format!("{label:<LABEL$}  {line}")),
                _ => self.row(&format!("{:margin$}{line}", "")),
            }
        }
    }

    fn put_optional(&mut self, label: &str, words: Option<String>) {
        if let Some(words) = words {
            self.put_line(label, &words);
        }
    }

    fn row(&mut self, row: &str) {
        self.text.push_str(shorten_text(row.trim_end(), WIDTH).as_str());
        self.text.push('\n');
    }

    fn put_blank(&mut self) {
        self.text.push('\n');
    }
}

fn put_uses(table: &mut SummaryTable, summary: &Summary) {
    if summary.utilisation_of(&summary.utilisation.all).is_none() {
        return table.row("No utilisation: nothing ran for any length of time.");
    }
    let kinds: &[Use] = if summary.utilisation.kinds.len() > 1 { &summary.utilisation.kinds } else { &[] };
    let rows = || summary.utilisation.sites.iter().chain(kinds).chain([&summary.utilisation.all]);
    let name = rows().map(|row| row.name.chars().count()).max().unwrap_or(0).clamp(4, NAME_MAX);
    let during = summary.utilisation_interval();
    let hours = Digits::for_numbers(rows().map(|row| row.busy / 3600.0));
    table.row(&format!("{:<name$}  {:>9}  {:>9}  {:>9}  utilisation {during}", "site", "cores", "tasks", "core h"));
    for (position, row) in rows().enumerate() {
        if position == summary.utilisation.sites.len() {
            table.row(&"-".repeat(name + 33));
        }
        let used = summary
            .utilisation_of(row)
            .map_or("-".to_owned(), |used| format!("{} {:>7}", share_bar(used), format_percent(used)));
        table.row(&format!(
            "{:<name$}  {:>9}  {:>9}  {:>9}  {used}",
            shorten_text(&row.name, name),
            format_count(row.cores),
            format_count(row.tasks),
            hours.show_number(row.busy / 3600.0)
        ));
    }
}

fn share_bar(share: f64) -> String {
    let full = (share.clamp(0.0, 1.0) * BAR as f64).round() as usize;
    format!("{}{}", "#".repeat(full), ".".repeat(BAR - full))
}

fn count_words(summary: &Summary, counts: Counts, starved: Option<u64>) -> String {
    let mut words = format!("{} submitted: {} finished", format_count(counts.submitted), format_count(counts.finished));
    for (number, what) in summary.unfinished_counts(counts) {
        words.push_str(&format!(", {} {what}", format_count(number)));
    }
    if let Some(starved) = starved {
        words.push_str(&format!("; {} starved", format_count(starved)));
    }
    words
}

fn spread_words(what: &str, wait: Spread) -> String {
    format!(
        "{what:<5}  mean {:>11}  median {:>11}  95 % {:>11}",
        format_span(wait.mean),
        format_span(wait.median),
        format_span(wait.p95)
    )
}

fn fact_words(run: &RunFacts) -> String {
    // At the router alone, where there are others; if it only hands on what these say, it has none.
    let at_router = if run.hub_waits.is_some() { "router " } else { "" };
    let run_seconds = run.run_seconds;
    let wall_seconds = run.wall_seconds;
    let mut words = format!("{}, {run_seconds:.2} s of {wall_seconds:.2} s", run.layout);
    if run.write_seconds >= 0.005 {
        words.push_str(&format!(", {:.2} s writing", run.write_seconds));
    }
    if run.events > 0 {
        let rate = run.events_per_second.map_or(String::new(), |rate| format!(", {}/s", format_number(rate)));
        words.push_str(&format!(", {}{rate}", format_counted(run.events, &format!("{at_router}event"))));
    }
    if let Some(waits) = run.hub_waits {
        words.push_str(&format!(", {}", format_counted(waits, "wait")));
    }
    words
}

/// Cuts between words, so that the first line has no more than `first` characters and the others no more than `rest`.
fn wrap_words(words: &str, first: usize, rest: usize) -> Vec<&str> {
    let mut lines = Vec::new();
    for paragraph in words.lines() {
        let mut left = paragraph.trim_end();
        while !left.is_empty() {
            let (line, more) = left.split_at(cut_width(left, if lines.is_empty() { first } else { rest }));
            lines.push(line.trim_end());
            left = more.trim_start();
        }
    }
    if lines.is_empty() { vec![""] } else { lines }
}

/// End of a text of at most this many characters: before a space, unless a word is longer than that.
fn cut_width(text: &str, width: usize) -> usize {
    let Some((end, _)) = text.char_indices().nth(width) else { return text.len() };
    let indent = text.len() - text.trim_start().len();
    let spaces = text.char_indices().take(width + 1).filter(|(at, c)| *at > indent && c.is_whitespace());
    spaces.last().map_or(end, |(at, _)| at)
}

pub(crate) fn shorten_text(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(3)).chain("...".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_continued_below_and_lose_nothing() {
        let why = "site york's manager `python3 /home/ada/grids/manager.py` has ended before the run was over (exit status: 1), \
                   at virtual time 00:02:22.015\n  last message to it: Run";
        let path = format!("/{}", "a".repeat(150));
        for words in
            [why, &path, "", "  job 7: a line that is indented, and so is what continues it, as far as it is too long"]
        {
            let mut table = SummaryTable::default();
            table.put_line("PARTIAL", words);
            assert!(table.text.lines().all(|line| line.chars().count() <= WIDTH), "{}", table.text);
            let squeezed = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            assert_eq!(squeezed(&table.text), format!("PARTIAL{}", squeezed(words)));
        }
        let mut table = SummaryTable::default();
        table.put_line("PARTIAL", why);
        let expected = "PARTIAL       site york's manager `python3 /home/ada/grids/manager.py` has ended before the run was\n              \
                        over (exit status: 1), at virtual time 00:02:22.015\n                last message to it: Run\n";
        assert_eq!(table.text, expected);
    }

    #[test]
    fn volumes_have_a_unit_of_their_size() {
        let volumes = [0.0, 999.0, 73_840_000.0, 2.53e12, 4e18].map(format_volume);
        assert_eq!(volumes, ["0 B", "999 B", "73.84 MB", "2.53 TB", "4,000 PB"]);
    }
}
