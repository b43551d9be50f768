//! Jobs that imitate reservations: the submission, the start and the wanted time of each.

use super::patterns::{BEST_EFFORT, PADDING};
use crate::markup::{Html, html};
use crate::present::page::Page;
use crate::present::page::chart::{Figure, LEFT, RIGHT, TOP, WIDTH, Window, time_axis};
use crate::present::page::html::{format_coord, format_count, shorten_text};
use crate::referee::tally::{JobRow, Tally};
use crate::subjects::bargains::seen::BookingSpan;
use crate::subjects::bargains::tally::BargainTally;
use crate::subjects::bargains::{KnownUser, Strategies};
use hansa_sim::grid::{Area, JobId};
use hansa_sim::time::Time;
use std::collections::BTreeSet;

/// Number of rows; the rest is left out.
const ROWS: usize = 40;
const TALL: f64 = 13.0;
const BELOW: f64 = 46.0;

/// A job that was submitted so as to run when it is wanted.
struct ImitationJob<'a> {
    row: &'a JobRow,
    user: &'a KnownUser,
    wanted: Time,
    /// Its start, unless it was taken back and done in a reservation.
    start: Option<Time>,
}

impl ImitationJob<'_> {
    /// Area on which it idles until its work is wanted.
    fn idle_area(&self) -> Area {
        let start = self.start.filter(|start| *start < self.wanted);
        start.map_or(Area::ZERO, |start| Area::of(self.row.job.tasks[0].cores, self.wanted - start))
    }
}

fn imitation_jobs<'a>(known: &'a Strategies, tally: &'a Tally) -> Vec<ImitationJob<'a>> {
    let bargains = tally.state::<BargainTally>();
    let reserved: BTreeSet<JobId> = bargains.bookings(tally).filter(ran_in).map(|booking| booking.job).collect();
    let mut all = Vec::new();
    for row in tally.jobs.values() {
        let Some(user) = tally.user_index(row.user).and_then(|user| known.users.get(user)) else { continue };
        let Some(ahead) = user.ahead else { continue };
        let in_reservation = reserved.contains(&row.job.id);
        let entered = bargains.entered.get(&row.job.id).copied().unwrap_or(0);
        if entered > u32::from(in_reservation) {
            let start = row.start().filter(|_| !in_reservation);
            all.push(ImitationJob { row, user, wanted: row.job.arrive + ahead, start });
        }
    }
    all
}

/// One row per job; empty if no user wants jobs at a time.
pub fn padding_rows(known: &Strategies, page: &Page<'_>) -> Html {
    let mut all = imitation_jobs(known, page.tally);
    if all.is_empty() {
        return Html::default();
    }
    let rows = all.len();
    let failed = all.iter().filter(|one| one.start.is_none()).count();
    all.sort_by_key(|one| std::cmp::Reverse(one.idle_area()));
    all.truncate(ROWS);
    all.sort_by_key(|one| (one.row.job.arrive, one.row.job.id));

    let last = all.iter().map(|one| job_end(one).unwrap_or(one.wanted).max(one.wanted)).max();
    let last = last.unwrap_or(page.window.to);
    let window = Window { from: all[0].row.job.arrive, to: last, ..page.window };
    let mut body = Html::default();
    for (line, one) in all.iter().enumerate() {
        let name = &one.user.name;
        body += draw_job(one, name, TOP + line as f64 * TALL, window, page.tally.last);
    }
    let bottom = TOP + all.len() as f64 * TALL;
    let base = html!(
        "<rect class=\"band\" x=\"{LEFT}\" y=\"{TOP}\" width=\"{}\" height=\"{}\"/>",
        WIDTH - LEFT - RIGHT,
        bottom - TOP,
        [LEFT, TOP]
    );
    let body = base + body + time_axis(window, bottom);
    let some = if rows > all.len() {
        format!(" The {} of {} that idled longest are shown.", all.len(), format_count(rows as u64))
    } else {
        String::new()
    };
    Figure {
        id: "padding",
        title: "Jobs that imitate reservations",
        desc: "One row per job: waiting, idling until its work is wanted, and working.".to_owned(),
        note: format!(
            "A thin line is a job before it starts; the part with crosses is how long it idles until its work is \
             wanted, at the vertical mark. {} of {} had not started by then and did nothing; their mark is \
             coloured.{some}",
            format_count(failed as u64),
            format_count(rows as u64)
        ),
        legend: [(PADDING, "idle until wanted"), (BEST_EFFORT, "working")]
            .map(|(kind, words)| (format!("q{kind}"), words.to_owned()))
            .to_vec(),
        height: bottom + BELOW,
        body,
    }
    .html()
}

/// The row of a job: its name, a thin line while it waits, bars while it idles and works, and a mark at its wanted
/// time.
fn draw_job(one: &ImitationJob<'_>, user: &str, y: f64, window: Window, last: Time) -> Html {
    let ImitationJob { row, wanted, start, .. } = *one;
    let x = |time: Time| format_coord(window.x(time));
    let mut svg = html!(
        "<text class=\"caption end\" x=\"{}\" y=\"{}\" font-size=\"9.5\">{} {}</text>",
        LEFT - 6.0,
        format_coord(y + TALL - 3.5),
        shorten_text(user, 8),
        row.job.id
    );
    let middle = format_coord(y + TALL / 2.0);
    let until = start.unwrap_or(wanted).min(wanted);
    svg += html!("<path class=\"line l7\" d=\"M{} {middle}H{}\"/>", x(row.job.arrive), x(until), middle);
    let mut bar = |kind: usize, from: Time, to: Time| {
        let width = (window.x(to) - window.x(from)).max(0.8);
        svg += html!(
            "<rect class=\"q{kind} edge\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
            x(from),
            format_coord(y + 1.5),
            format_coord(width),
            format_coord(TALL - 3.0),
            kind
        );
    };
    if let Some(start) = start {
        if start < wanted {
            bar(PADDING, start, wanted);
        }
        bar(BEST_EFFORT, start.max(wanted), job_end(one).unwrap_or(last));
    }
    let class = if start.is_some() { "mark" } else { "line l5" };
    svg += html!("<path class=\"{class}\" d=\"M{} {}v{}\"/>", x(wanted), format_coord(y + 0.5), TALL - 1.0, class);
    svg
}

fn ran_in(booking: &BookingSpan) -> bool {
    booking.worked.is_some_and(|worked| worked > Area::ZERO)
}

fn job_end(one: &ImitationJob<'_>) -> Option<Time> {
    one.start.and(one.row.tasks.iter().filter_map(|task| task.end).max())
}
