//! What a site had to offer at one moment: the free slots of an advertisement.

use std::fmt::Write;

use super::patterns::FREE;
use super::{SHAPES_MAX, left_out};
use crate::grid::Slot;
use crate::report::page::chart::{BOTTOM, Figure, Scale, Window, plain, time_axis};
use crate::report::page::html::{at, counted, escape, micros};
use crate::report::page::{CHART, Page};
use crate::time::{Span, Time};

/// The advertisement with the most slots; empty, if nobody asked for any.
pub fn slots(page: &Page<'_>, site: usize) -> String {
    let Some((time, slots)) = page.tally.bargains.offers.get(&(site as u32)) else { return String::new() };
    let mut shown: Vec<&Slot> = slots.iter().take(SHAPES_MAX).collect();
    // Those without end lie below, as nothing is above or behind them.
    shown.sort_by_key(|slot| (!slot.extensible, slot.start));
    let ends = shown.iter().filter(|slot| !slot.extensible).map(|slot| slot.end());
    let starts = shown.iter().map(|slot| slot.start);
    let last = ends.chain(starts).max().unwrap_or(*time);
    // What has no end goes on for a while beyond all others.
    let window = Window {
        from: *time,
        to: last + Span::from_micros(last.since(*time).micros() / 8).max(Span::from_minutes(30)),
    };
    let high: u64 = shown.iter().map(|slot| u64::from(slot.procs)).sum();
    let scale = Scale::new(high as f64, CHART);
    let mut body = scale.axis("processors of slots", plain);
    let mut low = 0.0;
    for slot in &shown {
        let (left, right) = (window.x(slot.start), window.x(slot.end()));
        let (top, bottom) = (scale.y(low + f64::from(slot.procs)), scale.y(low));
        low += f64::from(slot.procs);
        let (length, kind) = if slot.extensible {
            ("without end".to_owned(), "q4 open")
        } else {
            (format!("for {}", micros(slot.span.micros())), "q4 edge")
        };
        let _ = write!(
            body,
            "<rect class=\"{kind}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{} processors from {} {length}</title></rect>",
            at(left),
            at(top),
            at((right - left).max(1.0)),
            at((bottom - top).max(0.5)),
            slot.procs,
            micros(slot.start.since(Time::ZERO).micros())
        );
    }
    body.push_str(&time_axis(window, CHART - BOTTOM));
    let name = &page.tally.sites[site].name;
    let count = counted(slots.len() as u64, "slot");
    Figure {
        id: &format!("slots-{}", escape(name)),
        title: &format!("What {} offered after {}", escape(name), micros(time.since(Time::ZERO).micros())),
        desc: "Rectangles over time, one per free slot; the height is its number of processors.".to_owned(),
        note: format!(
            "{}This is the advertisement with the most slots, {count}: each is a number of processors from a start on, for some time. Slots that reach the right edge have no end, and any part of them can be booked; the others end where a planned job begins, and can only be booked as a whole. They are stacked to be visible, so a slot may share its processors with those that begin after it ends.",
            left_out(shown.len(), slots.len(), "slots")
        ),
        legend: vec![(format!("q{FREE}"), "a free slot".to_owned())],
        height: CHART,
        body,
    }
    .html()
}
