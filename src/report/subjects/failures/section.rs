//! Consequences of failures by site and by link.

use super::{FailingLinks, Failures};
use crate::report::page::Page;
use crate::report::page::html::{Digits, count, counted, escape, percent, span, table, volume};

pub fn failures(page: &Page<'_>) -> String {
    let Some(failures) = page.results.part::<Failures>() else { return String::new() };
    let links = failures.network.as_ref().map_or(String::new(), of_links);
    if failures.sites.is_empty() { links } else { of_nodes(&failures) + &links }
}

fn of_links(network: &FailingLinks) -> String {
    let share = |share: Option<f64>| share.map_or("–".to_owned(), percent);
    let links = table(
        &["Link", "#Failures", "#Down", "#Availability"],
        network
            .links
            .iter()
            .map(|link| vec![escape(&link.name), count(link.failures), span(link.down), share(link.availability)]),
    );
    format!(
        "<p>The links that fail were up for {} of their time between the first submission and the last end. {} were \
         held up, {} times and for {} in all, until they used links again. {} times one went over other links, and {} \
         were sent again.</p>\n{links}",
        share(network.availability),
        counted(network.flows_held_up, "flow"),
        count(network.times_held_up),
        span(network.held_up),
        count(network.reroutes),
        volume(network.bytes_again as f64),
    )
}

fn of_nodes(failures: &Failures) -> String {
    let share = |share: Option<f64>| share.map_or("–".to_owned(), percent);
    let down = Digits::of(failures.sites.iter().map(|site| site.down / 3600.0));
    let columns = ["Site", "#Nodes", "#Node failures", "#Down, node h", "#Availability", "#Tasks lost"];
    let sites = table(
        &columns,
        failures.sites.iter().map(|site| {
            vec![
                escape(&site.name),
                count(site.nodes),
                count(site.node_failures),
                down.show(site.down / 3600.0),
                share(site.availability),
                count(site.tasks_lost),
            ]
        }),
    );
    let of = |part: f64| if failures.work > 0.0 { percent(part / failures.work) } else { "–".to_owned() };
    let parts = [
        ("Became results", failures.work_useful),
        ("Lost, and done again or given up", failures.work_lost),
        ("Spent on checkpoints", failures.work_checkpoints),
        ("Still running", failures.work_unfinished),
    ];
    let digits = Digits::of(parts.iter().map(|(_, work)| work / 3600.0));
    let work = table(
        &["Work", "#Node h", "#Share"],
        parts.iter().map(|(what, work)| vec![(*what).to_owned(), digits.show(*work / 3600.0), of(*work)]),
    );
    let recovery = failures
        .mean_recovery
        .map_or(String::new(), |mean| format!(" On average, a lost task ran again after {}.", span(mean)));
    format!(
        "<p>Nodes were up for {} of their time between the first submission and the last end, and {} of that time \
         became results. {} tasks were lost, {} were started again, and {} jobs were given \
         up.{recovery}</p>\n{sites}{work}",
        share(failures.availability),
        share(failures.goodput),
        count(failures.tasks_lost),
        count(failures.restarts),
        count(failures.given_up),
    )
}
