//! Reserved share of each site over time: one sheet of equal intervals per site, like a calendar.

use super::account::until;
use crate::Tally;
use crate::markup::{Html, html};
use crate::present::page::chart::{Figure, LEFT, Levels, RIGHT, TOP, WIDTH, Window};
use crate::present::page::html::{format_coord, format_counted, unbroken_percent};
use crate::referee::tally::SiteFacts;
use hansa_sim::protocol::ReserveAnswer;
use hansa_sim::time::{Span, Time};

/// Number of rows of a sheet; the rest is left out.
const ROWS_MAX: u64 = 62;
/// Number of sheets; the rest is left out.
const SHEETS_MAX: usize = 12;
const CELL: f64 = 24.0;
const HEAD: f64 = 22.0;
/// First shade on which letters have the other colour.
const DARK: usize = 5;
/// Least returned share with a strip.
const FAINT: f64 = 0.005;
const STRIP: f64 = 3.5;

/// The rows of a sheet, and their cells.
#[derive(Clone, Copy)]
struct Ruling {
    row: Span,
    cells: u64,
    row_name: fn(u64) -> String,
    cell_name: fn(u64) -> String,
    words: &'static str,
}

const HOURS: Ruling = Ruling {
    row: Span::from_minutes(60),
    cells: 12,
    row_name: |row| format!("{:02}:00", row % 24),
    cell_name: |cell| format!(":{:02}", cell * 5),
    words: "one row per hour, one cell per five minutes",
};

const DAYS: Ruling = Ruling {
    row: Span::from_minutes(1_440),
    cells: 24,
    row_name: |row| format!("day {}", row + 1),
    cell_name: |cell| format!("{cell:02}h"),
    words: "one row per day, one cell per hour",
};

const WEEKS: Ruling = Ruling {
    row: Span::from_minutes(10_080),
    cells: 28,
    row_name: |row| format!("week {}", row + 1),
    cell_name: |cell| match cell % 4 {
        0 => format!("d{}", cell / 4 + 1),
        part => format!("{:02}h", part * 6),
    },
    words: "one row per week, one cell per six hours",
};

/// The charts; empty if nothing was reserved.
pub fn calendar_charts(tally: &Tally, sites: &[usize]) -> Html {
    let booked = booking_marks(tally);
    let (Some(from), Some(to)) = (booked.iter().map(|it| it.start).min(), booked.iter().map(|it| it.end).max()) else {
        return Html::default();
    };
    let length = to.since(from);
    let ruling = [HOURS, DAYS].into_iter().find(|ruling| length.micros() <= ruling.row.micros() * 24);
    let ruling = ruling.unwrap_or(if length.micros() <= DAYS.row.micros() * ROWS_MAX { DAYS } else { WEEKS });
    let mut html = Html::default();
    for &site in sites.iter().take(SHEETS_MAX) {
        html += calendar_sheet(tally, site, &booked, (from, to), ruling);
    }
    if sites.len() > SHEETS_MAX {
        let more = format_counted((sites.len() - SHEETS_MAX) as u64, "more site");
        html += html!("<p>{more}: reservations.csv has them.</p>\n", more);
    }
    html
}

struct BookingMark {
    site: usize,
    start: Time,
    end: Time,
    nodes: u32,
    /// Time at which it was freed, if before its end.
    freed: Time,
}

fn booking_marks(tally: &Tally) -> Vec<BookingMark> {
    let rows = tally.jobs.values().filter_map(|row| Some((row, row.answered.as_ref()?)));
    let bookings = rows.filter_map(|(row, answered)| {
        let ReserveAnswer::Accepted { site, start, nodes } = &answered.answer else { return None };
        let site = tally.site_index(*site)?;
        let end = until(tally, row, answered)?;
        let freed = match (row.given_up().is_some(), row.tasks.first().and_then(|task| task.end)) {
            (true, None) => row.given_up().map_or(*start, |at| at.clamp(*start, end)),
            (_, Some(real)) => real.min(end),
            (false, None) => end,
        };
        Some(BookingMark { site, start: *start, end, nodes: nodes.len(), freed })
    });
    bookings.collect()
}

fn calendar_sheet(
    tally: &Tally,
    site: usize,
    booked: &[BookingMark],
    (from, to): (Time, Time),
    ruling: Ruling,
) -> Html {
    let first = from.micros() / ruling.row.micros();
    let last = (to.micros().max(1) - 1) / ruling.row.micros();
    let rows = (last + 1 - first).min(ROWS_MAX);
    let window = Window::new(
        Time::from_micros(first * ruling.row.micros()),
        Time::from_micros((first + rows) * ruling.row.micros()),
    );
    let facts = &tally.sites[site];
    let parts = (rows * ruling.cells) as usize;
    let mut reserved = Levels::new(window, parts);
    let mut kept = Levels::new(window, parts);
    for booking in booked.iter().filter(|booking| booking.site == site) {
        reserved.add(booking.start, booking.end, f64::from(booking.nodes));
        kept.add(booking.start, booking.freed, f64::from(booking.nodes));
    }
    let reserved = level_shares(reserved.part_means(), facts);
    let kept = level_shares(kept.part_means(), facts);

    let width = (WIDTH - LEFT - RIGHT) / ruling.cells as f64;
    let mut body = calendar_headings(&ruling, first, rows, width) + html!("<g class=\"sheet\">");
    for (part, shares) in reserved.into_iter().zip(kept).enumerate() {
        let row = part as u64 / ruling.cells;
        let cell = part as u64 % ruling.cells;
        let corner = (LEFT + cell as f64 * width, TOP + HEAD + row as f64 * CELL);
        put_cell(&mut body, shares, corner, (width - 2.0, CELL - 2.0));
    }
    body += html!("</g>\n");
    let mine = || booked.iter().filter(|booking| booking.site == site);
    let left_out = if last + 1 - first > rows { " Later times are left out." } else { "" };
    let figure = Figure {
        id: &format!("calendar-{site}"),
        title: &format!("Reserved at {}", facts.name),
        desc: format!("A calendar with {}; each cell shows the share of the nodes that is reserved.", ruling.words),
        note: format!(
            "{} on {}, {}. Numbers are the percentage of the nodes that were reserved and stayed so; the width of the \
             strip below is the share that was given back because jobs ended early or were cancelled.{left_out}",
            format_counted(mine().count() as u64, "reservation"),
            format_counted(facts.cores.into(), "node"),
            ruling.words,
        ),
        legend: shades_legend(),
        height: TOP + HEAD + rows as f64 * CELL + 6.0,
        body,
    };
    figure.html()
}

fn level_shares(levels: Vec<f64>, facts: &SiteFacts) -> Vec<f64> {
    levels.into_iter().map(|level| (level / f64::from(facts.cores)).clamp(0.0, 1.0)).collect()
}

/// Headings of the columns and rows.
fn calendar_headings(ruling: &Ruling, first: u64, rows: u64, width: f64) -> Html {
    let mut svg = html!("<g class=\"axis\">");
    for cell in 0..ruling.cells {
        let x = format_coord(LEFT + (cell as f64 + 0.5) * width);
        let y = format_coord(TOP + 8.0);
        let name = (ruling.cell_name)(cell);
        svg += html!("<text class=\"middle\" x=\"{x}\" y=\"{y}\">{name}</text>", x, y, name);
    }
    for row in 0..rows {
        let y = format_coord(TOP + HEAD + (row as f64 + 0.5) * CELL);
        let name = (ruling.row_name)(first + row);
        svg += html!("<text class=\"end\" x=\"{}\" y=\"{y}\" dy=\".32em\">{name}</text>", LEFT - 8.0, y, name);
    }
    svg + html!("</g>\n")
}

/// A cell with its shade and number for the share that was kept, and below them a strip for the share returned.
fn put_cell(body: &mut Html, (reserved, kept): (f64, f64), (x, y): (f64, f64), (w, h): (f64, f64)) {
    let rect = |class: &str| {
        html!(
            "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
            format_coord(x),
            format_coord(y),
            format_coord(w),
            format_coord(h),
            class
        )
    };
    *body += html!("<g>{}", rect("band"));
    if reserved > 0.0 {
        let shade = ((kept * 10.0) as usize).min(9);
        *body += html!(
            "{}<text class=\"{}\" x=\"{}\" y=\"{}\" dy=\".34em\">{:.0}</text>",
            rect(&format!("h{shade}")),
            if shade < DARK { "beside" } else { "over" },
            format_coord(x + w / 2.0),
            format_coord(y + h / 2.0),
            kept * 100.0
        );
    }
    if reserved - kept > FAINT {
        *body += html!(
            "<rect class=\"f1\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{STRIP}\"/>",
            format_coord(x),
            format_coord(y + h - STRIP),
            format_coord(w * (reserved - kept)),
            STRIP
        );
    }
    let reserved = unbroken_percent(reserved);
    let kept = unbroken_percent(kept);
    *body += html!("<title>{reserved} reserved, {kept} kept until its end</title></g>\n", reserved, kept);
}

fn shades_legend() -> Vec<(String, String)> {
    let shades = (0..10).map(|shade| {
        let name = match shade {
            0 => "nearly free",
            9 => "full",
            _ => "",
        };
        (format!("s{shade}"), name.to_owned())
    });
    shades.chain([("f1".to_owned(), "given back".to_owned())]).collect()
}
