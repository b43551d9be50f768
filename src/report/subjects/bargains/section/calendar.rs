//! The calendar of a site: one chart of everything on its processors, and of holds and advertised slots.
//!
//! Tasks, bookings and outages lie from below, each in rows of its own. Holds and advertised slots are drawn over them
//! from above, where processors are free for longest. A long run is shown in part, with the means over all of it
//! beneath.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::patterns::{BEST_EFFORT, DOWN, FREE, HELD, IDLE, OTHERS, PADDING, USED, uses_legend};
use super::rows::assign_rows;
use super::shapes::{CalendarShape, advertised_slots, lapsed_holds, solid_shapes};
use super::{SHAPES_MAX, left_out};
use crate::Tally;
use crate::markup::{Html, html};
use crate::present::page::chart::{
    self, BOTTOM, Figure, LEFT, Levels, RIGHT, Scale, WIDTH, Window, stack_top, time_axis,
};
use crate::present::page::html::{format_coord, format_count, format_counted, unbroken_micros};
use crate::present::page::{CHART, PARTS, Page};
use crate::subjects::bargains::Strategies;
use crate::subjects::bargains::seen::NegotiationData;
use crate::subjects::bargains::tally::BargainTally;
use hansa_sim::grid::NodeSet;
use hansa_sim::protocol::HoldFate;
use hansa_sim::time::{Span, Time};

/// Largest number of shapes drawn over the others, which more of them would hide.
const OVER_MAX: usize = 120;
const TALL: f64 = 420.0;

/// The chart. If it shows a part of the run, a second one shows the use of processors in all of it.
pub fn calendar_chart(known: &Strategies, page: &Page<'_>, site: usize) -> Html {
    let tally = page.tally;
    let all = solid_shapes(known, tally, site);
    let advertised = advertised_slots(tally, site);
    let around = advertised.as_ref().map_or_else(|| busiest_time(tally, site, page.window), |(time, _)| *time);
    let window = drawable_window(&all, page.window, around);
    let means = if window.from == page.window.from && window.to == page.window.to {
        Html::default()
    } else {
        use_chart(&all, page, site)
    };
    let solid = shapes_within(all, window, SHAPES_MAX);
    let held = shapes_within(lapsed_holds(tally, site), window, OVER_MAX);
    let free = shapes_within(advertised.map_or_else(Vec::new, |(_, slots)| slots), window, OVER_MAX);
    draw_calendar(page, site, window, [solid, held, free]) + means
}

/// The shapes of an interval, and the number of them before the small ones were left out.
struct ShownShapes<'a> {
    shapes: Vec<CalendarShape<'a>>,
    all: usize,
}

/// The largest shapes in a window, in their order.
fn shapes_within(mut shapes: Vec<CalendarShape<'_>>, window: Window, most: usize) -> ShownShapes<'_> {
    shapes.retain(|shape| shape.from < window.to && window.from < shape.until);
    let all = shapes.len();
    if all > most {
        let mut areas: Vec<(u128, usize)> = shapes.iter().map(CalendarShape::area).zip(0..).collect();
        areas.sort_by_key(|(area, place)| (std::cmp::Reverse(*area), *place));
        let kept: BTreeSet<usize> = areas[..most].iter().map(|(_, place)| *place).collect();
        let mut place = 0..;
        shapes.retain(|_| place.next().is_some_and(|place| kept.contains(&place)));
    }
    ShownShapes { shapes, all }
}

/// The whole window, or a part of it about a time: half of it, a quarter and so on, until there is little enough to
/// draw.
fn drawable_window(shapes: &[CalendarShape<'_>], whole: Window, around: Time) -> Window {
    let mut window = whole;
    let mut length = whole.length_micros();
    let is_shown = |shape: &&CalendarShape<'_>, window: Window| shape.from < window.to && window.from < shape.until;
    while shapes.iter().filter(|shape| is_shown(shape, window)).count() > SHAPES_MAX && length > SHORTEST {
        length /= 2;
        let latest = whole.to.micros() - length;
        let from = around.micros().saturating_sub(length / 8).clamp(whole.from.micros(), latest);
        window = Window { from: Time::from_micros(from), to: Time::from_micros(from + length), ..window };
    }
    window
}

/// Least length of a window: a minute.
const SHORTEST: u64 = 60_000_000;

/// Time of the most bookings and lapsed holds.
fn busiest_time(tally: &Tally, site: usize, window: Window) -> Time {
    let mut levels = Levels::new(window, PARTS);
    let bookings = tally.state::<BargainTally>().bookings(tally).filter(|booking| booking.site as usize == site);
    bookings.for_each(|booking| levels.add(booking.from, booking.until, booking.procs.into()));
    lapsed_holds(tally, site).iter().for_each(|hold| levels.add(hold.from, hold.until, hold.procs.into()));
    let means = levels.part_means();
    let most = (0..PARTS).rev().max_by(|a, b| means[*a].total_cmp(&means[*b])).unwrap_or(0);
    window.from + Span::from_micros(window.length_micros() / PARTS as u64 * most as u64)
}

fn draw_calendar(page: &Page<'_>, site: usize, window: Window, shown: [ShownShapes<'_>; 3]) -> Html {
    let tally = page.tally;
    let facts = &tally.sites[site];
    let [solid, held, free] = &shown;
    let rows_of = |shown: &ShownShapes<'_>| {
        let items: Vec<_> = shown.shapes.iter().map(CalendarShape::calendar_item).collect();
        assign_rows(&items, facts.cores)
    };
    let (from_below, rows) = rows_of(solid);
    let scale = Scale::new(rows.into(), TALL);
    let has_room = held.shapes.len() <= BESIDE_MAX;
    let mut sheet = Sheet { tally, window, scale, has_room, body: scale.axis("processors") };
    for (shape, rows) in solid.shapes.iter().zip(&from_below) {
        sheet.put_shape(shape, rows);
    }
    for over in [free, held] {
        // Parts held at different times may have been for the same time, and together exceed the site.
        let from_above = rows_of(over).0.into_iter().map(|rows| turn_rows(&rows, facts.cores));
        for (shape, rows) in over.shapes.iter().zip(from_above) {
            sheet.put_shape(shape, &rows);
        }
    }
    let mut body = sheet.body;
    body += time_axis(window, TALL - BOTTOM);
    let kinds: BTreeSet<usize> = shown
        .iter()
        .flat_map(|shown| &shown.shapes)
        .flat_map(|shape| shape.kind_intervals().map(|part| part.0))
        .collect();
    let name = &facts.name;
    Figure {
        id: &format!("calendar-{name}"),
        title: &format!("The calendar of {name}"),
        desc: "Shapes over time, as high as they have processors: best effort, bookings, padding, holds, slots."
            .to_owned(),
        note: calendar_note(page, site, window, &shown, &kinds),
        legend: uses_legend(kinds),
        height: TALL,
        body,
    }
    .html()
}

/// Rows from above instead of from below; parts without such a row are put on others.
fn turn_rows(rows: &NodeSet, count: u32) -> NodeSet {
    let mut turned = NodeSet::default();
    for &(first, last) in rows.runs() {
        let high = count.saturating_sub(1).saturating_sub(first % count.max(1));
        turned.unite(&NodeSet::from_run(high.saturating_sub(last - first), high));
    }
    turned
}

/// The canvas of a calendar.
struct Sheet<'a> {
    tally: &'a Tally,
    window: Window,
    scale: Scale,
    /// True if shapes too small for their captions have them beside them.
    has_room: bool,
    body: Html,
}

impl Sheet<'_> {
    fn put_shape(&mut self, shape: &CalendarShape<'_>, rows: &NodeSet) {
        let words = shape.tooltip_words(self.tally);
        let mut place: Option<(&str, f64, f64)> = None;
        for (kind, from, until) in shape.kind_intervals() {
            // A gap distinguishes adjacent outlines.
            let inset = if kind == FREE { 0.9 } else { 0.0 };
            let left = self.window.x(from) + inset;
            let right = self.window.x(until) - inset;
            let width = (right - left).max(0.8).min(WIDTH - RIGHT - left.max(LEFT));
            let mut path = String::new();
            let mut least = f64::MAX;
            for &(first, last) in rows.runs() {
                let top = self.scale.y(f64::from(last) + 1.0);
                let bottom = self.scale.y(first.into());
                let height = (bottom - top - 2.0 * inset).max(0.4);
                let top = top + inset;
                let across = format_coord(width);
                let _ = write!(
                    path,
                    "M{} {}h{across}v{}h-{across}z",
                    format_coord(left),
                    format_coord(top),
                    format_coord(height)
                );
                least = least.min(height);
                if width > CAPTION.0 && height > CAPTION.1 {
                    place = Some(("middle", left + width / 2.0, top + height / 2.0 + 4.0));
                } else if kind == HELD && self.has_room && place.is_none() {
                    let is_left = right + CAPTION.0 > WIDTH - RIGHT;
                    let beside = if is_left { ("end", left - 4.0) } else { ("begin", right + 4.0) };
                    place = Some((beside.0, beside.1, top + 11.0));
                }
            }
            // Dark lines have a light border, for black and white.
            if kind == FREE {
                self.body += html!("<path class=\"halo\" d=\"{path}\"/>\n", path);
            }
            // An edge would hide a shape that is hardly wider.
            let edge = if width > 3.0 && least > 3.0 { " edge" } else { "" };
            self.body += html!(
                "<path class=\"q{kind}{edge}\" d=\"{path}\"><title>{words}</title></path>\n",
                [kind, edge, path, words]
            );
        }
        if let Some(((anchor, x, y), caption)) = place.zip(shape.caption()) {
            self.body += html!(
                "<text class=\"marked {anchor}\" x=\"{}\" y=\"{}\">{caption}</text>\n",
                format_coord(x),
                format_coord(y),
                [anchor, caption]
            );
        }
    }
}

/// Least width and height of a shape with its caption on it.
const CAPTION: (f64, f64) = (60.0, 15.0);
/// Largest number of holds with captions beside them.
const BESIDE_MAX: usize = 16;

fn calendar_note(
    page: &Page<'_>,
    site: usize,
    window: Window,
    shown: &[ShownShapes<'_>; 3],
    kinds: &BTreeSet<usize>,
) -> String {
    let tally = page.tally;
    let time = |time: Time| unbroken_micros(time.since(Time::ZERO).micros());
    let mut note = String::new();
    if window.length_micros() < page.window.length_micros() {
        let _ = write!(
            note,
            "This is a part of the run, from {} to {}: all of it, {}, is too much for one chart; the next chart shows \
             means over all of it. ",
            time(window.from),
            time(window.to),
            unbroken_micros(page.window.length_micros())
        );
    }
    let what = ["tasks, bookings and outages", "holds", "slots"];
    for (shown, what) in shown.iter().zip(what) {
        note.push_str(&left_out(shown.shapes.len(), shown.all, what));
    }
    note.push_str(
        "The height of a block is its number of processors; its vertical position has no meaning. What ran in a \
         booking is drawn in it. ",
    );
    if kinds.contains(&HELD) {
        note.push_str("Hatched, without a ground, are holds that were never booked, where they would have been. ");
    }
    let fates = fates_words(tally, site);
    if !fates.is_empty() {
        let _ = write!(note, "Holds of the whole run: {fates}. ");
    }
    if let Some((at, slots)) =
        tally.state::<BargainTally>().offers.get(&(site as u32)).filter(|_| kinds.contains(&FREE))
    {
        let _ = write!(
            note,
            "The outlines are the free slots of one advertisement, after {}: the one with the most, {}. ",
            time(*at),
            format_counted(slots.len() as u64, "slot")
        );
    }
    note.push_str("Point at anything to read about it.");
    note
}

/// Numbers of holds by fate; a committed hold is a booking.
fn fates_words(tally: &Tally, site: usize) -> String {
    let mut fates: BTreeMap<&str, u64> = BTreeMap::new();
    for seen in &tally.state::<BargainTally>().seen {
        if let NegotiationData::Hold(hold) = seen
            && hold.site as usize == site
        {
            *fates.entry(hold.fate.word()).or_default() += 1;
        }
    }
    let known =
        HoldFate::ALL.iter().filter_map(|(word, ..)| Some(format!("{} {word}", format_count(*fates.get(word)?))));
    known.collect::<Vec<_>>().join(", ")
}

/// Use of a site's processors over the whole run.
fn use_chart(shapes: &[CalendarShape<'_>], page: &Page<'_>, site: usize) -> Html {
    let window = page.window;
    const KINDS: [usize; 6] = [OTHERS, BEST_EFFORT, PADDING, USED, IDLE, DOWN];
    let mut levels: BTreeMap<usize, Levels> =
        KINDS.into_iter().map(|kind| (kind, Levels::new(window, PARTS))).collect();
    for shape in shapes {
        let procs = f64::from(shape.procs);
        for (kind, from, until) in shape.kind_intervals() {
            let mut add = |kind: usize, procs: f64| {
                if let Some(levels) = levels.get_mut(&kind) {
                    levels.add(from, until, procs);
                }
            };
            add(kind, procs);
            // The used part of a booking is not idle.
            if kind == USED {
                add(IDLE, -procs);
            }
        }
    }
    let kinds = KINDS.into_iter().map(|kind| (kind, levels[&kind].part_means()));
    let there: Vec<(usize, Vec<f64>)> = kinds.filter(|(_, means)| means.iter().any(|mean| *mean > 0.0)).collect();
    let shown: Vec<usize> = there.iter().map(|(kind, _)| *kind).collect();
    let series: Vec<(String, Vec<f64>)> = there.into_iter().map(|(kind, means)| (format!("q{kind}"), means)).collect();
    let scale = Scale::new(stack_top(&series), CHART);
    let name = &page.tally.sites[site].name;
    Figure {
        id: &format!("means-{name}"),
        title: &format!("Use of the processors of {name}, over the whole run"),
        desc: "A stacked area over time of processors: other systems, best effort, padding, bookings that tasks ran \
               in, and idle bookings."
            .to_owned(),
        note: format!(
            "Each of the {PARTS} steps is a mean. Best effort is everything that users submitted and that came through \
             the queue."
        ),
        legend: uses_legend(shown),
        height: CHART,
        body: scale.axis("processors") + chart::stacked_areas(window, scale, &series),
    }
    .html()
}
