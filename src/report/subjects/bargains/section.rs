//! The strategies side by side, what was asked of sites, and what was on their processors.

use super::{Bargaining, Fared, Strategies};
use crate::report::page::chart::{Figure, Levels, Scale, areas, plain, top};
use crate::report::page::html::{count, escape, number, short, span, table};
use crate::report::page::{CHART, PARTS, Page};
use crate::report::tally::Seen;

/// Users in a table, before the rest is left to the summary.
const ROWS: usize = 60;
/// Sites with figures of their own.
const SITES_MAX: usize = 12;

pub fn strategies(known: &Strategies, page: &Page<'_>) -> String {
    let Some(all) = page.results.part::<Bargaining>() else { return String::new() };
    let Bargaining { requests, booked, refused, stale, given_up, open, .. } = all;
    let mut html = format!(
        "<p>{requests} requests: {booked} booked, {refused} refused, {stale} stale, {given_up} given up{}.</p>\n",
        if open > 0 { format!(", {open} still open") } else { String::new() }
    );
    if all.whole + all.empty + all.torn > 0 {
        html.push_str(&format!(
            "<p>Of jobs that wanted several sites at once {} have all of them, {} have nothing and {} have some.</p>\n",
            all.whole, all.empty, all.torn
        ));
    }
    html.push_str(&fared(&all.users));
    html.push_str(&bargained(&all.users));
    for site in page.tally.sites_of(&known.systems).into_iter().take(SITES_MAX) {
        html.push_str(&calendar(page, site));
        html.push_str(&prices(page, site));
    }
    html
}

fn fared(users: &[Fared]) -> String {
    let time = |seconds: Option<f64>| seconds.map_or("–".to_owned(), span);
    let row = |user: &Fared| {
        vec![
            short(&user.user, 40),
            format!("<code>{}</code>", escape(&user.strategy)),
            count(user.jobs),
            count(user.finished),
            time(user.makespan),
            time(user.wait),
            number(user.cost),
            number(user.fees),
            number(user.paid_for_nothing),
            number(user.padding),
        ]
    };
    let columns = [
        "User",
        "Strategy",
        "#Jobs",
        "#Finished",
        "#Mean makespan",
        "#Mean wait",
        "#Cost, core h",
        "#Fees",
        "#Paid for nothing",
        "#Of it padding",
    ];
    table(&columns, users.iter().take(ROWS).map(row))
}

fn bargained(users: &[Fared]) -> String {
    let row = |user: &Fared| {
        let numbers = [
            user.adverts,
            user.quotes,
            user.bookings,
            user.returned,
            user.denied,
            user.denied_stale,
            user.held,
            user.committed,
            user.released,
            user.expired,
        ];
        std::iter::once(short(&user.user, 40)).chain(numbers.map(count)).collect()
    };
    let columns = [
        "User",
        "#Advertisements",
        "#Quotes",
        "#Booked",
        "#Given back",
        "#Denied",
        "#Of these stale",
        "#Held",
        "#Committed",
        "#Released",
        "#Expired",
    ];
    format!("<h3>What was asked and granted</h3>\n{}", table(&columns, users.iter().take(ROWS).map(row)))
}

/// What processors of a site were for, over time.
fn calendar(page: &Page<'_>, site: usize) -> String {
    let (tally, window) = (page.tally, page.window);
    let mut levels: Vec<Levels> = (0..4).map(|_| Levels::new(window, PARTS)).collect();
    for seen in &tally.bargains.seen {
        match *seen {
            Seen::Booking { site: at, from, until, procs, used } if at as usize == site => {
                let procs = f64::from(procs);
                let busy = procs * used;
                levels[1].add(from, until, busy);
                levels[2].add(from, until, procs - busy);
                // What runs in a booking is no best effort.
                levels[0].add(from, until, -busy);
            }
            Seen::Hold { site: at, from, until, procs } if at as usize == site => {
                levels[3].add(from, until, f64::from(procs));
            }
            _ => {}
        }
    }
    for row in tally.jobs.values() {
        for (task, asked) in row.tasks.iter().zip(&row.job.tasks) {
            if let (Some(start), Some(at)) = (task.start, task.site)
                && at as usize == site
            {
                levels[0].add(start, task.end.unwrap_or(tally.last), f64::from(asked.cores));
            }
        }
    }
    let words = ["best effort", "used of bookings", "booked and idle", "held"];
    let legend = words.iter().enumerate().map(|(at, word)| (format!("f{at}"), (*word).to_owned())).collect();
    let means = |levels: &Levels| levels.means().into_iter().map(|level| level.max(0.0)).collect();
    let series: Vec<(String, Vec<f64>)> =
        levels.iter().enumerate().map(|(at, levels)| (format!("f{at}"), means(levels))).collect();
    let scale = Scale::new(top(&series), CHART);
    let name = &tally.sites[site].name;
    Figure {
        id: &format!("calendar-{}", escape(name)),
        title: &format!("What processors of {} were for", escape(name)),
        desc:
            "A stacked area over time of processors: best effort, bookings that tasks ran in, idle bookings, and holds."
                .to_owned(),
        note: format!("Each of the {PARTS} steps is a mean. What tasks used of a booking is spread over all of it."),
        legend,
        height: CHART,
        body: scale.axis("processors", plain) + &areas(window, scale, &series),
    }
    .html()
}

/// What quotes asked beside the tariff, over time.
fn prices(page: &Page<'_>, site: usize) -> String {
    let (tally, window) = (page.tally, page.window);
    let mut quoted = [Levels::new(window, PARTS), Levels::new(window, PARTS)];
    let (mut dear, mut free) = (0u64, 0u64);
    let step = crate::time::Span::from_micros((window.micros() / PARTS as u64).max(1));
    for seen in &tally.bargains.seen {
        let Seen::Quote { site: at, time, soonest, least } = *seen else { continue };
        if at as usize != site {
            continue;
        }
        *if soonest > 0.0 { &mut dear } else { &mut free } += 1;
        quoted[0].add(time, time + step, soonest);
        quoted[1].add(time, time + step, least);
    }
    if dear + free == 0 {
        return String::new();
    }
    let series: Vec<(String, Vec<f64>)> =
        quoted.iter().enumerate().map(|(at, levels)| (format!("f{at}"), levels.means())).take(1).collect();
    let scale = Scale::new(top(&series), CHART);
    let name = &tally.sites[site].name;
    Figure {
        id: &format!("prices-{}", escape(name)),
        title: &format!("Prices at {}", escape(name)),
        desc: "An area over time of the fee that was quoted for the earliest start.".to_owned(),
        note: format!(
            "Of {} quotes the earliest start cost a fee in {dear}; in the others nobody was in the way.",
            dear + free
        ),
        legend: vec![("f0".to_owned(), "fee of the earliest start, by its area".to_owned())],
        height: CHART,
        body: scale.axis("fee", plain) + &areas(window, scale, &series),
    }
    .html()
}
