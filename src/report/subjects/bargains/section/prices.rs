//! Prices over time: quoted fees beside the rate, and stale claims.

use super::SHAPES_MAX;
use crate::axes::Tick;
use crate::markup::{Html, html};
use crate::present::page::chart::{BOTTOM, Figure, Scale, time_axis};
use crate::present::page::html::{format_coord, format_count, format_counted, unbroken_number};
use crate::present::page::{CHART, Page};
use crate::subjects::bargains::seen::NegotiationData;
use crate::subjects::bargains::tally::BargainTally;
use hansa_sim::math;

/// A chart with one point per quote; empty without quotes.
pub fn quotes_chart(page: &Page<'_>, site: usize) -> Html {
    let (tally, window) = (page.tally, page.window);
    let mut quoted = Vec::new();
    let mut stale = Vec::new();
    for seen in &tally.state::<BargainTally>().seen {
        match *seen {
            NegotiationData::Quote { site: place, time, soonest, .. } if place as usize == site => {
                quoted.push((time, soonest))
            }
            NegotiationData::Stale { site: place, time } if place as usize == site => stale.push(time),
            _ => {}
        }
    }
    if quoted.is_empty() && stale.is_empty() {
        return Html::default();
    }
    let free = quoted.iter().filter(|(_, fee)| *fee == 0.0).count();
    // Fees differ by many orders of magnitude, and most are zero.
    let height = |fee: f64| math::ln(1.0 + fee) / math::ln(10.0);
    let most = quoted.iter().map(|(_, fee)| *fee).fold(0.0, f64::max);
    let scale = Scale::new(height(most.max(1.0)) * 1.05, CHART);
    let every = quoted.len().div_ceil(SHAPES_MAX).max(1);
    let every_stale = stale.len().div_ceil(SHAPES_MAX).max(1);

    let mut body = price_axis(scale, most, height);
    for (time, fee) in quoted.iter().step_by(every) {
        let x = format_coord(window.x(*time));
        let y = format_coord(scale.y(height(*fee)));
        let class = if *fee > 0.0 { "f5" } else { "f0" };
        body += html!("<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"2.6\"/>", class, x, y);
    }
    let ground = scale.y(0.0);
    for time in stale.iter().step_by(every_stale) {
        let x = window.x(*time);
        let left = format_coord(x - 4.0);
        let right = format_coord(x + 4.0);
        let top = format_coord(ground - 16.0);
        let bottom = format_coord(ground - 8.0);
        body += html!(
            "<path class=\"line l3\" d=\"M{left} {top}L{right} {bottom}M{right} {top}L{left} {bottom}\"/>",
            [left, top, right, bottom]
        );
    }
    body += time_axis(window, CHART - BOTTOM);
    let thinned =
        if every > 1 { format!(" One in {} of them is drawn.", format_count(every as u64)) } else { String::new() };
    let name = &tally.sites[site].name;
    Figure {
        id: &format!("prices-{name}"),
        title: &format!("Quotes of {name} over time"),
        desc: "Points over time: the fee that was quoted for the earliest start; crosses mark stale claims.".to_owned(),
        note: format!(
            "A fee is what the queue would lose by the earliest start that was requested, as a multiple of what the \
             same processors cost at their rate; the scale is logarithmic. In {} of {} the earliest start was \
             free.{thinned} A cross is a claim that came too late, {} in total: what had been quoted or advertised was \
             gone.",
            format_count(free as u64),
            format_counted(quoted.len() as u64, "quote"),
            format_count(stale.len() as u64)
        ),
        legend: [("f0", "free of charge"), ("f5", "for a fee"), ("cross", "claimed, and stale")]
            .map(|(class, words)| (class.to_owned(), words.to_owned()))
            .to_vec(),
        height: CHART,
        body,
    }
    .html()
}

/// Lines at 0, 1, 10, 100 and so on; below ten, also in between.
fn price_axis(scale: Scale, most: f64, height: impl Fn(f64) -> f64) -> Html {
    let between: &[f64] = if most < 10.0 { &[0.0, 0.5, 1.0, 2.0, 5.0] } else { &[0.0, 1.0] };
    let tens = (1..16).map(|power| (0..power).fold(1.0, |tens, _| tens * 10.0));
    let lines = between.iter().copied().chain(tens).take_while(|value| *value <= most.max(1.0));
    let ticks: Vec<Tick> = lines.map(|value| (scale.values.share(height(value)), unbroken_number(value))).collect();
    scale.area.vertical_axis(&ticks, "fee, × the rate")
}
