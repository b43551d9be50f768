//! Queues of rigid jobs: how long they were, and how jobs fared in them, site by site with its policy.

use super::fared::QueuedTimes;
use super::log::LogFacts;
use super::{Queues, Schedule};
use crate::markup::{Html, cells, html};
use crate::palette::COLOURS;
use crate::present::page::chart::{Figure, LEFT, Levels, RIGHT, Scale, WIDTH, stack_top, stacked_areas};
use crate::present::page::html::{
    Digits, format_coord, format_count, format_counted, shorten_text, table_html, unbroken_micros, unbroken_span,
};
use crate::present::page::{CHART, LONG, PARTS, Page};
use crate::{Spread, Tally};
use hansa_sim::time::Span;
use hansa_sim::workload::faults_by_kind;

const CLASSES: usize = 8;

/// A limit, in words, of the things in a class.
type Classes = [(&'static str, f64); CLASSES];

const WAITS: Classes = [
    ("1 s", 1.0),
    ("1 min", 60.0),
    ("10 min", 600.0),
    ("1 h", 3_600.0),
    ("4 h", 14_400.0),
    ("12 h", 43_200.0),
    ("1 day", 86_400.0),
    ("more", f64::INFINITY),
];

const SLOWDOWNS: Classes = [
    ("1.01", 1.01),
    ("1.1", 1.1),
    ("1.5", 1.5),
    ("2", 2.0),
    ("5", 5.0),
    ("10", 10.0),
    ("100", 100.0),
    ("more", f64::INFINITY),
];

/// Sites in a table, before the rest is put together.
const SITES_MAX: usize = 40;

pub fn queues_section(known: &Queues, page: &Page<'_>) -> Html {
    let Some(schedule) = page.results.read_part::<Schedule>() else { return Html::default() };
    let tally = page.tally;
    let window = page.window;
    let sites = known.sites(tally);
    let groups = sites.len().min(COLOURS);
    let mut fared: Vec<Vec<QueuedTimes>> = vec![Vec::new(); sites.len()];
    let mut waiting = vec![Levels::new(window, PARTS); groups];
    let mut waited = false;
    for row in tally.jobs.values().filter(|row| known.systems.contains(&row.system)) {
        let Some(site) = row.tasks[0].site.and_then(|site| sites.binary_search(&(site as usize)).ok()) else {
            continue;
        };
        let start = row.tasks[0].start.unwrap_or(tally.last);
        if row.job.arrive < start {
            waiting[site.min(groups - 1)].add(row.job.arrive, start, 1.0);
            waited = true;
        }
        fared[site].extend(QueuedTimes::of(tally, row).filter(|_| tally.counted.is_counted(row)));
    }

    let mut legend: Vec<(String, String)> = Vec::new();
    for (at, site) in sites.iter().take(groups).enumerate() {
        let name = match at + 1 == groups && sites.len() > groups {
            true => format!("{} other sites", sites.len() - groups + 1),
            false => format!("{} ({})", shorten_text(&tally.sites[*site].name, 40), known.policies[*site]),
        };
        legend.push((format!("f{at}"), name));
    }
    let table = by_site(tally, &sites, &known.policies, &fared);
    let (first, last) = if sites.len() > LONG { (Html::default(), table) } else { (table, Html::default()) };
    let mut html = first;
    let (brought, seconds) =
        tally.transfers.input_totals(|job| tally.jobs.get(&job).is_some_and(|row| known.systems.contains(&row.system)));
    if brought > 0 {
        let inputs = format_counted(brought, "input");
        let mean = unbroken_span(seconds / brought as f64);
        html += html!(
            "<p>{inputs} had to be transferred to a site before the job joined its queue, which took {mean} on \
             average: waits, and numbers of waiting jobs, include this.</p>\n",
            [inputs, mean]
        );
    }
    if waited {
        let series: Vec<(String, Vec<f64>)> =
            waiting.iter().enumerate().map(|(at, levels)| (format!("f{at}"), levels.part_means())).collect();
        let scale = Scale::new(stack_top(&series), CHART);
        html += Figure {
            id: "queue",
            title: "Jobs in the queue, by site",
            desc: "A stacked area over time of the number of jobs that had arrived but not started.".to_owned(),
            note: format!("Each of the {PARTS} steps is a mean."),
            legend: legend.clone(),
            height: CHART,
            body: scale.axis("waiting jobs") + stacked_areas(window, scale, &series),
        }
        .html();
    } else {
        html += html!("<p>No job ever had to wait.</p>\n");
    }
    let distributed = |texts, classes, measure: &dyn Fn(&QueuedTimes) -> f64| {
        distribution_chart(texts, classes, &legend, &fared, groups, measure)
    };
    let waits = distributed(
        ["wait", "Waiting time of jobs", "wait from submission to start, up to"],
        &WAITS,
        &|fared: &QueuedTimes| fared.wait.micros() as f64 / 1e6,
    );
    let slowdowns = distributed(
        ["slowdown", "Bounded slowdown of jobs", "bounded slowdown, up to"],
        &SLOWDOWNS,
        &QueuedTimes::bounded_slowdown,
    );
    html += html!("<div class=\"pair\">{waits}{slowdowns}</div>\n", waits, slowdowns);
    for log in &schedule.logs {
        html += log_counts(log);
    }
    html + last
}

fn by_site(tally: &Tally, sites: &[usize], policies: &[String], fared: &[Vec<QueuedTimes>]) -> Html {
    let slowdowns: Vec<Option<[f64; 2]>> = fared.iter().map(|fared| bounded_slowdowns(fared)).collect();
    let digits = [0, 1].map(|column| Digits::for_numbers(slowdowns.iter().flatten().map(|two| two[column])));
    let rows = sites.iter().zip(fared.iter().zip(&slowdowns)).take(SITES_MAX).map(|(&site, (fared, slowdowns))| {
        let waits = Spread::of(fared.iter().map(|fared| fared.wait).collect());
        let longest = fared.iter().map(|fared| fared.wait).max().unwrap_or(Span::ZERO);
        let [mean, most] =
            [0, 1].map(|column| slowdowns.map_or("–".to_owned(), |two| digits[column].show_number(two[column])));
        let [mean_wait, median, p95] = match waits {
            Some(waits) => [waits.mean, waits.median, waits.p95].map(unbroken_span),
            None => ["–", "–", "–"].map(str::to_owned),
        };
        cells![
            &tally.sites[site].name,
            html!("<code>{}</code>", &policies[site]),
            format_count(fared.len() as u64),
            mean_wait,
            median,
            p95,
            unbroken_micros(longest.micros()),
            mean,
            most,
        ]
    });
    let columns = [
        "Site",
        "Policy",
        "#Jobs that ran",
        "#Mean wait",
        "#Median",
        "#95 % within",
        "#Longest",
        "#Bounded slowdown",
        "#At most",
    ];
    let rest = match sites.len().saturating_sub(SITES_MAX) {
        0 => Html::default(),
        more => html!("<p>And {}.</p>\n", format_counted(more as u64, "more site")),
    };
    table_html(&columns, rows) + rest
}

/// Mean and largest bounded slowdown; None without jobs.
fn bounded_slowdowns(fared: &[QueuedTimes]) -> Option<[f64; 2]> {
    if fared.is_empty() {
        return None;
    }
    let slowdowns: Vec<f64> = fared.iter().map(QueuedTimes::bounded_slowdown).collect();
    let mean = slowdowns.iter().sum::<f64>() / fared.len() as f64;
    Some([mean, slowdowns.iter().copied().fold(0.0, f64::max)])
}

/// Columns a class, stacked by site. The texts are the identifier, the title, and the name of the axis across.
fn distribution_chart(
    [id, title, axis]: [&str; 3],
    classes: &Classes,
    legend: &[(String, String)],
    fared: &[Vec<QueuedTimes>],
    groups: usize,
    measure: &dyn Fn(&QueuedTimes) -> f64,
) -> Html {
    let counts = by_class(classes, fared, groups, measure);
    let all: u64 = counts.iter().flatten().sum();
    if all == 0 {
        return Html::default();
    }
    let most = counts.iter().map(|class| class.iter().sum::<u64>()).max().unwrap_or(0);
    let height = CHART - 40.0;
    let scale = Scale::new(most as f64 * 1.1, height);
    let mut body = scale.axis("jobs");
    let mut words = Vec::new();
    for (place, ((label, _), jobs)) in classes.iter().zip(&counts).enumerate() {
        let sum: u64 = jobs.iter().sum();
        body += class_column(scale, place, label, jobs, legend, 100.0 * sum as f64 / all as f64);
        words.push(format!("{label}: {sum}"));
    }
    let below = scale.area.name_below(axis);
    body += html!("<g class=\"axis\">{}{below}</g>\n", scale.area.draw_base(), below);
    Figure {
        id,
        title,
        desc: format!("Columns of jobs by class, stacked by site. {}.", words.join(", ")),
        note: String::new(),
        legend: legend.to_vec(),
        height,
        body,
    }
    .html()
}

/// Number of jobs of each group of sites in each class.
fn by_class(
    classes: &Classes,
    fared: &[Vec<QueuedTimes>],
    groups: usize,
    measure: &dyn Fn(&QueuedTimes) -> f64,
) -> [Vec<u64>; CLASSES] {
    let mut counts = [const { Vec::new() }; CLASSES].map(|_: Vec<u64>| vec![0u64; groups]);
    for (site, fared) in fared.iter().enumerate() {
        for one in fared {
            let value = measure(one);
            let class = classes.iter().position(|(_, limit)| value <= *limit).unwrap_or(CLASSES - 1);
            counts[class][site.min(groups - 1)] += 1;
        }
    }
    counts
}

/// The jobs of a class, one group of sites on another, and how many of all they are.
fn class_column(
    scale: Scale,
    place: usize,
    label: &str,
    jobs: &[u64],
    legend: &[(String, String)],
    percent: f64,
) -> Html {
    let room = (WIDTH - LEFT - RIGHT) / CLASSES as f64;
    let left = LEFT + room * (place as f64 + 0.15);
    let mut svg = Html::default();
    let mut below = 0.0;
    for (group, jobs) in jobs.iter().enumerate().filter(|(_, jobs)| **jobs > 0) {
        let low = scale.y(below);
        let high = scale.y(below + *jobs as f64);
        svg += html!(
            "<rect class=\"f{group}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{}: {}</title></rect>\n",
            format_coord(left),
            format_coord(high),
            format_coord(room * 0.7),
            format_coord((low - high).max(0.5)),
            legend[group].1,
            format_counted(*jobs, "job"),
            group
        );
        below += *jobs as f64;
    }
    let middle = format_coord(left + room * 0.35);
    svg += html!(
        "<g class=\"axis\"><text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{label}</text>\
         <text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{percent:.1} %</text></g>\n",
        format_coord(scale.area.bottom + 18.0),
        format_coord(scale.y(below) - 5.0),
        [middle, label, percent]
    );
    svg
}

/// Counts of a log's entries, by use.
fn log_counts(log: &LogFacts) -> Html {
    let LogFacts { file, jobs, by_reason, faults, note, .. } = log;
    let counts = log.special_counts("submitted at their own time because the job that they follow is missing");
    let counts: Vec<String> = counts.map(|(number, what)| format!("{} {what}", format_count(number))).collect();
    let others = match counts.is_empty() {
        true => "Nothing was left out".to_owned(),
        false => format!("Other entries: {}", counts.join(", ")),
    };
    let mut html =
        html!("<p>{} of the log <code>{file}</code> ran. {others}.</p>\n", format_counted(*jobs, "job"), file, others);
    if let Some(note) = note {
        html += html!("<p>Note that {note}.</p>\n", note);
    }
    if !faults.is_empty() || !by_reason.is_empty() {
        html += html!("<ul>");
        let reasons = by_reason.iter().map(ToString::to_string);
        for line in reasons.chain(faults_by_kind(faults, faults.len()).0) {
            html += html!("<li>{}</li>", &line);
        }
        html += html!("</ul>\n");
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_starts_as_soon_as_links_allow_is_in_the_first_class() {
        let [wait, runtime] = [Span::from_micros(20_000), Span::from_secs(60)];
        let fared = [vec![QueuedTimes { wait, turnaround: wait + runtime, runtime }]];
        let first = |classes, measure: &dyn Fn(&QueuedTimes) -> f64| by_class(classes, &fared, 1, measure)[0][0];
        assert_eq!(first(&WAITS, &|fared| fared.wait.micros() as f64 / 1e6), 1);
        assert_eq!(first(&SLOWDOWNS, &QueuedTimes::bounded_slowdown), 1);
    }
}
