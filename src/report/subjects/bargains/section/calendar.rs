//! The calendar of a site: what its processors were for, and each booking and hold by itself.

use std::fmt::Write;

use super::patterns::{BEST_EFFORT, HELD, IDLE, USED, legend};
use super::{SHAPES_MAX, left_out};
use crate::grid::Area;
use crate::protocol::HoldFate;
use crate::report::page::chart::{self, BOTTOM, Figure, LEFT, Levels, RIGHT, Scale, WIDTH, plain, time_axis, top};
use crate::report::page::html::{at, escape, micros};
use crate::report::page::{CHART, PARTS, Page};
use crate::report::tally::Seen;
use crate::time::Time;

/// What processors of a site were for, over time.
pub fn areas(page: &Page<'_>, site: usize) -> String {
    let (tally, window) = (page.tally, page.window);
    let mut levels: Vec<Levels> = (0..3).map(|_| Levels::new(window, PARTS)).collect();
    for seen in &tally.bargains.seen {
        if let Seen::Booking { site: place, from, until, procs, used, .. } = *seen
            && place as usize == site
        {
            let procs = f64::from(procs);
            let busy = procs * used;
            levels[USED].add(from, until, busy);
            levels[IDLE].add(from, until, procs - busy);
            // What runs in a booking is no best effort.
            levels[BEST_EFFORT].add(from, until, -busy);
        }
    }
    for row in tally.jobs.values() {
        for (task, asked) in row.tasks.iter().zip(&row.job.tasks) {
            if let (Some(start), Some(place)) = (task.start, task.site)
                && place as usize == site
            {
                levels[BEST_EFFORT].add(start, task.end.unwrap_or(tally.last), f64::from(asked.cores));
            }
        }
    }
    let means = |levels: &Levels| levels.means().into_iter().map(|level| level.max(0.0)).collect();
    let series: Vec<(String, Vec<f64>)> =
        levels.iter().enumerate().map(|(number, levels)| (format!("q{number}"), means(levels))).collect();
    let scale = Scale::new(top(&series), CHART);
    let name = &tally.sites[site].name;
    Figure {
        id: &format!("calendar-{}", escape(name)),
        title: &format!("What the processors of {} were used for", escape(name)),
        desc: "A stacked area over time of processors: best effort, bookings that tasks ran in, and idle bookings.".to_owned(),
        note: format!(
            "Each of the {PARTS} steps is a mean. Best effort is everything that came through the queue, including padded jobs. What tasks used of a booking is spread over all of it."
        ),
        legend: legend(&[BEST_EFFORT, USED, IDLE]),
        height: CHART,
        body: scale.axis("processors", plain) + &chart::areas(window, scale, &series),
    }
    .html()
}

/// A booking, or a hold that came to nothing.
struct Rectangle {
    from: Time,
    until: Time,
    procs: u32,
    /// Of a booking the share that was used.
    used: Option<f64>,
    words: String,
}

/// Bookings and holds, each a rectangle as high as it has processors. Where one lies says nothing about nodes.
pub fn rectangles(page: &Page<'_>, site: usize) -> String {
    let (tally, window) = (page.tally, page.window);
    let mut all: Vec<Rectangle> = tally.bargains.seen.iter().filter_map(|seen| rectangle(page, site, seen)).collect();
    if all.is_empty() {
        return String::new();
    }
    let count = all.len();
    all.sort_by_key(|one| std::cmp::Reverse(Area::of(one.procs, one.until - one.from)));
    all.truncate(SHAPES_MAX);
    all.sort_by_key(|one| (one.from, one.until));
    let places = packed(&all);
    let highest = all.iter().zip(&places).map(|(one, place)| place + u64::from(one.procs)).max().unwrap_or(1);
    let scale = Scale::new(highest as f64, CHART);

    let mut body = scale.axis("processors", plain);
    for (one, place) in all.iter().zip(&places) {
        let (left, right) = (window.x(one.from), window.x(one.until));
        let width = (right - left).max(1.0).min(WIDTH - RIGHT - left.max(LEFT));
        let mut bar = |class: usize, low: f64, high: f64| {
            let (top, bottom) = (scale.y(high), scale.y(low));
            // A line around what is hardly wider than that would hide it.
            let edge = if width > 4.0 && bottom - top > 4.0 { " edge" } else { "" };
            let _ = write!(
                body,
                "<rect class=\"q{class}{edge}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{}</title></rect>",
                at(left),
                at(top),
                at(width),
                at((bottom - top).max(0.5)),
                one.words
            );
        };
        let (low, procs) = (*place as f64, f64::from(one.procs));
        match one.used {
            Some(used) => {
                let middle = low + procs * used;
                if used > 0.0 {
                    bar(USED, low, middle);
                }
                if used < 1.0 {
                    bar(IDLE, middle, low + procs);
                }
            }
            None => bar(HELD, low, low + procs),
        }
    }
    body.push_str(&time_axis(window, CHART - BOTTOM));
    let name = &tally.sites[site].name;
    Figure {
        id: &format!("bookings-{}", escape(name)),
        title: &format!("Bookings and holds at {}, one by one", escape(name)),
        desc: "Rectangles over time; their height is the number of processors of a booking or hold.".to_owned(),
        note: format!(
            "{}A booking is drawn for as long as it existed, and its lower part is the share that tasks used. A hold that was committed is a booking; the others would have begun here. Point at one to see its user and outcome.",
            left_out(all.len(), count, "bookings and holds")
        ),
        legend: legend(&[USED, IDLE, HELD]),
        height: CHART,
        body,
    }
    .html()
}

fn rectangle(page: &Page<'_>, site: usize, seen: &Seen) -> Option<Rectangle> {
    let user = |actor| escape(&page.tally.names.of_actor(actor));
    let is_here = |place: u32| place as usize == site;
    match seen {
        Seen::Booking { site, user: actor, from, until, procs, used } if is_here(*site) => {
            let words = format!(
                "{}: {procs} processors from {} for {}, {:.0} % used",
                user(*actor),
                shown(*from),
                micros((*until - *from).micros()),
                used * 100.0
            );
            Some(Rectangle { from: *from, until: *until, procs: *procs, used: Some(*used), words })
        }
        Seen::Hold { site, user: actor, part, fate } if is_here(*site) && *fate != HoldFate::Committed => {
            let words = format!(
                "{}: {} processors held from {} for {}, {}",
                user(*actor),
                part.procs,
                shown(part.start),
                micros(part.span.micros()),
                fate.word()
            );
            Some(Rectangle { from: part.start, until: part.end(), procs: part.procs, used: None, words })
        }
        _ => None,
    }
}

fn shown(time: Time) -> String {
    micros(time.since(Time::ZERO).micros())
}

/// How high above the ground each is put, so that no two overlap: as low as there is room. They come in order of their starts.
fn packed(all: &[Rectangle]) -> Vec<u64> {
    let mut standing: Vec<(Time, u64, u64)> = Vec::new();
    let place = |one: &Rectangle| {
        standing.retain(|(until, ..)| *until > one.from);
        standing.sort_unstable_by_key(|(_, low, _)| *low);
        let mut low = 0;
        for (_, bottom, top) in &standing {
            if low + u64::from(one.procs) <= *bottom {
                break;
            }
            low = low.max(*top);
        }
        standing.push((one.until, low, low + u64::from(one.procs)));
        low
    };
    all.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rectangles_lie_as_low_as_there_is_room() {
        let second = |at: u64| Time::from_micros(at * 1_000_000);
        let one = |(from, until, procs): (u64, u64, u32)| Rectangle {
            from: second(from),
            until: second(until),
            procs,
            used: None,
            words: String::new(),
        };
        let all: Vec<Rectangle> = [(0, 10, 4), (0, 5, 2), (2, 9, 3), (5, 8, 2), (6, 7, 1), (10, 11, 9)].map(one).into();
        assert_eq!(packed(&all), [0, 4, 6, 4, 9, 0]);
    }
}
