//! Outages of nodes as hatched areas.

use super::{SiteBand, band_of};
use crate::Tally;
use crate::markup::{Html, html};
use crate::present::page::chart::Window;
use crate::present::page::hatching::{MOST, hatch_lines};
use crate::present::page::html::format_coord;

/// Empty if no node was down; of too many outages the longest are shown.
pub fn outages_svg(tally: &Tally, bands: &[SiteBand], window: Window) -> Html {
    let mut all = Vec::new();
    for (number, site) in tally.sites.iter().enumerate() {
        tally.failing.each_outage(number, window.to, |down| {
            if window.from < down.to {
                let area = u128::from(down.nodes.len()) * u128::from(down.to.since(down.from).micros());
                all.push((area, site, down));
            }
        });
        // A thousand sites show as little detail as ten times as many outages.
        if all.len() > 64 * MOST {
            all.select_nth_unstable_by_key(MOST, |(area, ..)| std::cmp::Reverse(*area));
            all.truncate(MOST);
        }
    }
    all.sort_by_key(|(area, site, down)| (std::cmp::Reverse(*area), site.first_core, down.from));
    let mut svg = Html::default();
    let mut left_to_draw = MOST;
    for (_, site, down) in all {
        let band = &bands[band_of(bands, site.first_core)];
        let left = window.x(down.from.max(window.from));
        let right = window.x(down.to);
        let mut body = Html::default();
        for &(first, last) in down.nodes.runs().iter().take(left_to_draw) {
            let top = band.y(site.first_core + u64::from(first));
            let width = (right - left).max(0.6);
            let height = f64::from(last - first + 1) * band.core_height();
            body += html!(
                "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/><path d=\"{}\"/>",
                format_coord(left),
                format_coord(top),
                format_coord(width),
                format_coord(height),
                hatch_lines((left, top), (width, height))
            );
            left_to_draw -= 1;
        }
        if body.is_empty() {
            break;
        }
        svg += html!(
            "<g class=\"down\"><title>nodes {} of {}: down from {} until {}</title>{body}</g>\n",
            down.nodes,
            site.name,
            down.from,
            down.to,
            body
        );
    }
    svg
}
