//! Consequences of failures by site and by link.

use super::{FailingLinks, Failures};
use crate::markup::{Html, cells, html};
use crate::present::page::Page;
use crate::present::page::html::{
    Digits, format_count, format_counted, table_html, unbroken_percent, unbroken_span, unbroken_volume,
};

pub fn failures_section(page: &Page<'_>) -> Html {
    let Some(failures) = page.results.read_part::<Failures>() else { return Html::default() };
    let links = failures.network.as_ref().map_or_else(Html::default, of_links);
    if failures.sites.is_empty() { links } else { of_nodes(&failures) + links }
}

fn of_links(network: &FailingLinks) -> Html {
    let links = table_html(
        &["Link", "#Failures", "#Down", "#Availability"],
        network.links.iter().map(|link| {
            cells![&link.name, format_count(link.failures), unbroken_span(link.down), share_text(link.availability)]
        }),
    );
    html!(
        "<p>The links that fail were up for {} of their time between the first submission and the last end. {} were \
         held up, {} times and for {} in all, until they used links again. {} times one went over other links, and {} \
         were sent again.</p>\n{links}",
        share_text(network.availability),
        format_counted(network.flows_held_up, "flow"),
        format_count(network.times_held_up),
        unbroken_span(network.held_up),
        format_count(network.reroutes),
        unbroken_volume(network.bytes_again as f64),
        links
    )
}

fn of_nodes(failures: &Failures) -> Html {
    let down = Digits::for_numbers(failures.sites.iter().map(|site| site.down / 3600.0));
    let columns = ["Site", "#Nodes", "#Node failures", "#Down, node h", "#Availability", "#Tasks lost"];
    let sites = table_html(
        &columns,
        failures.sites.iter().map(|site| {
            cells![
                &site.name,
                format_count(site.nodes),
                format_count(site.node_failures),
                down.show_number(site.down / 3600.0),
                share_text(site.availability),
                format_count(site.tasks_lost),
            ]
        }),
    );
    let parts = [
        ("Became results", failures.work_useful),
        ("Lost, and done again or given up", failures.work_lost),
        ("Spent on checkpoints", failures.work_checkpoints),
        ("Still running", failures.work_unfinished),
    ];
    let digits = Digits::for_numbers(parts.iter().map(|(_, work)| work / 3600.0));
    let work = table_html(
        &["Work", "#Node h", "#Share"],
        parts
            .iter()
            .map(|(what, work)| cells![*what, digits.show_number(*work / 3600.0), part_of_work(*work, failures)]),
    );
    let recovery =
        failures.mean_recovery.map(|mean| format!(" On average, a lost task ran again after {}.", unbroken_span(mean)));
    html!(
        "<p>Nodes were up for {} of their time between the first submission and the last end, and {} of that time \
         became results. {} tasks were lost, {} were started again, and {} jobs were given \
         up.{recovery}</p>\n{sites}{work}",
        share_text(failures.availability),
        share_text(failures.goodput),
        format_count(failures.tasks_lost),
        format_count(failures.restarts),
        format_count(failures.given_up),
        [recovery, sites, work]
    )
}

fn share_text(share: Option<f64>) -> String {
    share.map_or("–".to_owned(), unbroken_percent)
}

fn part_of_work(part: f64, failures: &Failures) -> String {
    if failures.work > 0.0 { unbroken_percent(part / failures.work) } else { "–".to_owned() }
}
