//! The strategies side by side, the requests to sites, and the use of their processors.

mod calendar;
mod padding;
mod patterns;
mod prices;
mod rows;
mod shapes;

#[cfg(test)]
pub use self::shapes::fit as calendars_fit;

use std::collections::BTreeMap;

use super::{Bargaining, Earned, OneUser, Strategies};
use crate::markup::{Html, cells, html};
use crate::present::page::Page;
use crate::present::page::html::{
    Digits, format_count, format_counted, shorten_text, table_html, unbroken_number, unbroken_span,
};

/// Number of users in a table; the rest is in the summary only.
const ROWS: usize = 60;
/// Number of sites with figures of their own.
const SITES_MAX: usize = 6;
/// Number of shapes in a figure; the rest is left out.
const SHAPES_MAX: usize = 800;

pub fn strategies_section(known: &Strategies, page: &Page<'_>) -> Html {
    let Some(all) = page.results.read_part::<Bargaining>() else { return Html::default() };
    let stale = all.stale_claims().map_or(String::new(), |text| format!("; {text}"));
    let mut html = html!("<p>{}{stale}.</p>\n", all.outcome(), stale);
    if all.whole + all.empty + all.torn + all.broken > 0 {
        let broken = if all.broken > 0 { format!(", {} lost them as nodes failed", all.broken) } else { String::new() };
        html += html!(
            "<p>Of jobs that wanted several sites at once, {} got all of them{broken}, {} got none and {} got \
             some.</p>\n",
            all.whole,
            all.empty,
            all.torn,
            broken
        );
    }
    html += reasons_table("Why no time was obtained for jobs", &all.rejected);
    html += reasons_table("Why negotiations failed", &all.causes);
    html += users_table(&all.users);
    html += bargains_table(&all.users);
    html += wanted_table(&all.users);
    if all.has_suffered() {
        html += broken_table(&all.users);
    }
    if all.users.len() > ROWS {
        let more = format_counted((all.users.len() - ROWS) as u64, "more user");
        html += html!("<p>{more} are only in summary.json.</p>\n", more);
    }
    html += income_table(&all);
    html += patterns::pattern_definitions();
    html += padding::padding_rows(known, page);
    let sites = page.tally.sites_of(&known.systems);
    for &site in sites.iter().take(SITES_MAX) {
        html += calendar::calendar_chart(known, page, site);
        html += prices::quotes_chart(page, site);
    }
    if sites.len() > SITES_MAX {
        let more = format_counted((sites.len() - SITES_MAX) as u64, "more site");
        html += html!("<p>The calendars and prices of {more} are not shown here.</p>\n", more);
    }
    html
}

/// The omissions of a figure, as a sentence ahead of a note.
fn left_out(shown: usize, all: usize, what: &str) -> String {
    if shown == all {
        String::new()
    } else {
        format!("The {} largest of {} {what} are drawn. ", format_count(shown as u64), format_count(all as u64))
    }
}

fn users_table(users: &[OneUser]) -> Html {
    let hours =
        Digits::for_numbers(users.iter().flat_map(|user| [user.cost, user.fees, user.paid_for_nothing, user.padding]));
    let has_charges = users.iter().any(|user| user.charges > 0.0);
    let rows = users.iter().take(ROWS).map(|user| {
        let known = cells![
            shorten_text(&user.user, 40),
            html!("<code>{}</code>", &user.strategy),
            format_count(user.jobs),
            format_count(user.finished),
            span_or_dash(user.makespan),
            span_or_dash(user.wait),
            hours.show_number(user.cost),
            hours.show_number(user.fees),
        ];
        let charges = has_charges.then(|| hours.show_number(user.charges));
        let unused = [hours.show_number(user.paid_for_nothing), hours.show_number(user.padding)];
        known.into_iter().chain(charges.into_iter().chain(unused).map(Html::from)).collect::<Vec<_>>()
    });
    let columns = ["User", "Strategy", "#Jobs", "#Finished", "#Mean makespan", "#Mean wait", "#Cost, core h", "#Fees"];
    let columns = columns.into_iter().chain(has_charges.then_some("#Of them charges"));
    let columns: Vec<&str> = columns.chain(["#Paid but unused", "#Of it padding"]).collect();
    table_html(&columns, rows)
}

fn span_or_dash(seconds: Option<f64>) -> String {
    seconds.map_or("–".to_owned(), unbroken_span)
}

/// Wanted starts and deadlines; empty if no user has any.
fn wanted_table(users: &[OneUser]) -> Html {
    let mut rows: Vec<Vec<Html>> = Vec::new();
    for (user, wanted) in users.iter().filter_map(|user| Some((user, user.wanted?))).take(ROWS) {
        let kept = wanted.kept.map_or("–".to_owned(), format_count);
        let starts = [wanted.early, wanted.punctual, wanted.late].map(format_count);
        let first = [shorten_text(&user.user, 40), format_count(user.jobs)];
        let last = [span_or_dash(wanted.delay), kept];
        rows.push(first.into_iter().chain(starts).chain(last).map(Html::from).collect());
    }
    if rows.is_empty() {
        return Html::default();
    }
    let columns =
        ["User", "#Jobs", "#Started early", "#When wanted", "#Late", "#Mean delay of these", "#Ended by the deadline"];
    html!("<h3>Wanted times, by user</h3>\n{}", table_html(&columns, rows.into_iter()))
}

fn bargains_table(users: &[OneUser]) -> Html {
    let hands_back = users.iter().any(|user| user.handed_back > 0);
    let rows = users.iter().take(ROWS).map(|user| {
        let first = [user.adverts, user.quotes, user.bookings, user.returned].into_iter();
        let last = [user.denied, user.denied_stale, user.held, user.committed, user.released, user.expired];
        let numbers = first.chain(hands_back.then_some(user.handed_back)).chain(last);
        std::iter::once(shorten_text(&user.user, 40)).chain(numbers.map(format_count)).map(Html::from).collect()
    });
    let first = ["User", "#Advertisements", "#Quotes", "#Booked", "#Given back"].into_iter();
    let last = ["#Denied", "#Of these stale", "#Held", "#Committed", "#Released", "#Expired"];
    let columns: Vec<&str> = first.chain(hands_back.then_some("#Rest handed back")).chain(last).collect();
    html!("<h3>Requests and grants, by user</h3>\n{}", table_html(&columns, rows))
}

fn reasons_table(title: &str, reasons: &BTreeMap<String, u64>) -> Html {
    if reasons.is_empty() {
        return Html::default();
    }
    let rows = reasons.iter().map(|(why, jobs)| cells![why, format_count(*jobs)]);
    html!("<h3>{title}</h3>\n{}", table_html(&["Reason", "#Jobs"], rows), title)
}

/// Empty for a result of an earlier version, which does not have it.
fn income_table(all: &Bargaining) -> Html {
    if all.sites.is_empty() {
        return Html::default();
    }
    let has_charges = all.sites.iter().any(|site| site.charges > 0.0);
    let of = |site: &Earned| {
        let Earned { queue, rents, fees, charges, penalties, earned, compensation, .. } = *site;
        let hours = [Some(queue), Some(rents), Some(fees), has_charges.then_some(charges), Some(penalties)];
        hours.into_iter().chain([Some(earned), Some(compensation)]).flatten()
    };
    let digits = Digits::for_numbers(all.sites.iter().chain([&all.all_sites()]).flat_map(of));
    let row = |name: String, site: &Earned| {
        [name, format_count(site.bookings)]
            .into_iter()
            .chain(of(site).map(|hours| digits.show_number(hours)))
            .map(Html::from)
            .collect::<Vec<_>>()
    };
    let columns = ["Site", "#Bookings", "#For its queue, core h", "#Rent", "#Fees"].into_iter();
    let columns = columns.chain(has_charges.then_some("#Of them charges"));
    let columns: Vec<&str> = columns.chain(["#Penalties", "#Earned", "#Compensation paid"]).collect();
    let each = all.sites.iter().take(ROWS).map(|site| row(shorten_text(&site.site, 40), site));
    let more = all.sites.len().saturating_sub(ROWS) as u64;
    let more = (more > 0).then(|| html!("<p>{} are only in summary.json.</p>\n", format_counted(more, "more site")));
    let total = row("All sites".to_owned(), &all.all_sites());
    let agrees = match all.unbalanced == 0.0 {
        true if all.left_booked > 0 => format!(
            "This is what users paid, to the last processor-second, and what they are charged for {} that the run left \
             open: the table of users counts bookings when they are over.",
            format_counted(all.left_booked, "booking")
        ),
        true => "This is what users paid, to the last processor-second.".to_owned(),
        false => format!("What users paid and were given differs by {} core h.", unbroken_number(all.unbalanced)),
    };
    html!(
        "<h3>Earnings of sites</h3>\n{}{more}<p>{agrees} Hours of queues count at price 1.</p>\n",
        table_html(&columns, each.chain([total])),
        [more, agrees]
    )
}

fn broken_table(users: &[OneUser]) -> Html {
    let hours = Digits::for_numbers(users.iter().map(|user| user.compensation));
    let suffered = users.iter().filter(|user| user.revoked + user.postponed + user.broken > 0);
    let rows = suffered.take(ROWS).map(|user| {
        let numbers = [user.revoked, user.postponed, user.broken].map(format_count);
        std::iter::once(shorten_text(&user.user, 40))
            .chain(numbers)
            .chain([hours.show_number(user.compensation)])
            .map(Html::from)
            .collect()
    });
    let columns = ["User", "#Bookings revoked", "#Postponed", "#Holds broken", "#Compensation, core h"];
    html!("<h3>Contracts broken by failed nodes, by user</h3>\n{}", table_html(&columns, rows))
}
