//! Accepted requests for reservations by user and site, and reasons for the others.

use std::collections::BTreeMap;

use super::{ByShape, Reservations, request};
use crate::Tally;
use crate::markup::{Html, cells, html};
use crate::present::page::html::{
    Digits, format_count, format_counted, share_bar, table_html, unbroken_percent, unbroken_span,
};
use crate::present::page::{Page, ROWS_MAX};
use hansa_sim::protocol::ReserveAnswer;

/// Answers to a user's requests.
#[derive(Clone, Copy, Default)]
struct UserAnswers {
    accepted: u64,
    declined: u64,
    invalid: u64,
}

/// Accepted requests of a site.
#[derive(Clone, Copy, Default)]
struct AcceptedRequests {
    requests: u64,
    node_seconds: f64,
    wait: f64,
}

/// The section; empty, if this run has no reservations.
pub fn answers_section(page: &Page<'_>, here: &[usize]) -> Html {
    let Some(all) = page.results.read_part::<Reservations>() else { return Html::default() };
    let tally = page.tally;
    let mut reasons: BTreeMap<String, u64> = BTreeMap::new();
    let mut users: BTreeMap<usize, UserAnswers> = BTreeMap::new();
    let mut sites = vec![AcceptedRequests::default(); tally.sites.len()];
    for row in tally.jobs.values() {
        let Some(answered) = &row.answered else { continue };
        let user = users.entry(row.user.index()).or_default();
        match &answered.answer {
            ReserveAnswer::Accepted { site, start, nodes } => {
                user.accepted += 1;
                if let Some((site, request)) = tally.site_index(*site).zip(request(row, answered)) {
                    let booked = &mut sites[site];
                    booked.requests += 1;
                    let lasts = tally.sites[site].speed.time(request.duration);
                    booked.node_seconds += f64::from(nodes.len()) * lasts.micros() as f64 / 1e6;
                    booked.wait += start.since(request.ready).micros() as f64 / 1e6;
                }
            }
            ReserveAnswer::Declined => {
                user.declined += 1;
                *reasons.entry("declined: no site has room in time".to_owned()).or_default() += 1;
            }
            ReserveAnswer::Invalid(why) => {
                user.invalid += 1;
                *reasons.entry(format!("invalid: {why}")).or_default() += 1;
            }
        }
    }
    refusals_table(&reasons, all.submitted)
        + by_site(tally, here, &sites, all.accepted)
        + all.by_shape.map_or_else(Html::default, |requests| by_shape(&requests))
        + by_user(tally, &users)
}

fn refusals_table(reasons: &BTreeMap<String, u64>, submitted: u64) -> Html {
    if reasons.is_empty() {
        return html!("<p>No request was refused.</p>\n");
    }
    let rows = reasons.iter().map(|(why, requests)| {
        cells![
            why,
            format_count(*requests),
            share_bar(
                share_of_submitted(*requests, submitted),
                &unbroken_percent(share_of_submitted(*requests, submitted))
            )
        ]
    });
    let columns = ["Answer", "#Requests", "Share of all requests"];
    html!("<h3>Why requests were refused</h3>\n{}", table_html(&columns, rows))
}

fn share_of_submitted(requests: u64, submitted: u64) -> f64 {
    requests as f64 / submitted.max(1) as f64
}

fn by_site(tally: &Tally, here: &[usize], sites: &[AcceptedRequests], accepted: u64) -> Html {
    if here.len() < 2 || accepted == 0 {
        return Html::default();
    }
    let digits = Digits::for_numbers(here.iter().map(|&site| sites[site].node_seconds / 3600.0));
    let named = here.iter().map(|&site| (tally.sites[site].name.clone(), &sites[site]));
    let rows = named.take(ROWS_MAX).map(|(name, booked)| {
        let share = booked.requests as f64 / accepted as f64;
        let wait =
            if booked.requests == 0 { "–".to_owned() } else { unbroken_span(booked.wait / booked.requests as f64) };
        let hours = digits.show_number(booked.node_seconds / 3600.0);
        cells![name, format_count(booked.requests), hours, wait, share_bar(share, &unbroken_percent(share))]
    });
    let columns = ["Site", "#Accepted", "#Node hours booked", "#Mean wait", "Share of all accepted"];
    html!("<h3>Accepted requests, by site</h3>\n{}{}", table_html(&columns, rows), more_note(here.len(), "site"))
}

fn by_shape(requests: &ByShape) -> Html {
    let columns = ["Booked", "#Accepted", "Share of accepted malleable requests"];
    html!(
        "<h3>Accepted malleable requests, by shape</h3>\n{}",
        table_html(
            &columns,
            requests.each().into_iter().map(|(what, accepted)| {
                let share = accepted as f64 / requests.all().max(1) as f64;
                cells![what, format_count(accepted), share_bar(share, &unbroken_percent(share))]
            })
        )
    )
}

fn by_user(tally: &Tally, users: &BTreeMap<usize, UserAnswers>) -> Html {
    if users.len() < 2 {
        return Html::default();
    }
    let rows = users.iter().take(ROWS_MAX).map(|(user, answers)| {
        let UserAnswers { accepted, declined, invalid } = *answers;
        let valid = accepted + declined;
        let share = accepted as f64 / valid.max(1) as f64;
        cells![
            tally.names.actors.get(*user),
            format_count(accepted + declined + invalid),
            format_count(accepted),
            format_count(declined),
            format_count(invalid),
            if valid == 0 { "–".into() } else { share_bar(share, &unbroken_percent(share)) },
        ]
    });
    let columns = ["User", "#Requests", "#Accepted", "#Declined", "#Invalid", "Accepted, of valid ones"];
    html!("<h3>Requests, by user</h3>\n{}{}", table_html(&columns, rows), more_note(users.len(), "user"))
}

fn more_note(all: usize, what: &str) -> Html {
    match all.saturating_sub(ROWS_MAX) {
        0 => Html::default(),
        rest => html!("<p>And {}.</p>\n", format_counted(rest as u64, &format!("more {what}"))),
    }
}
