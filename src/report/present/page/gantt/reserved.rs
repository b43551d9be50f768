//! Nodes that sites keep from jobs, as hatched areas.

use super::{SiteBand, band_of};
use crate::Tally;
use crate::markup::{Html, html};
use crate::present::page::chart::Window;
use crate::present::page::hatching::{MOST, hatch_lines};
use crate::present::page::html::format_coord;
use hansa_sim::topology::Topology;

/// Rectangles of reserved nodes; empty if nothing is reserved during the run.
pub fn reserved_svg(topology: &Topology, tally: &Tally, bands: &[SiteBand], window: Window) -> Html {
    let all = topology.sites.iter().zip(&tally.sites).flat_map(|(site, facts)| {
        let during = site.reserved.iter().filter(|it| it.from < window.to && window.from < it.until);
        during.flat_map(move |it| it.nodes.runs().iter().map(move |run| (facts, it, *run)))
    });
    let mut svg = Html::default();
    for (site, reserved, (first, last)) in all.take(MOST) {
        let band = &bands[band_of(bands, site.first_core)];
        let left = window.x(reserved.from);
        let right = window.x(reserved.until);
        let top = band.y(site.first_core + u64::from(first));
        let width = right - left;
        let height = f64::from(last - first + 1) * band.core_height();
        svg += html!(
            "<g class=\"reserved\"><title>nodes {} of {}: reserved from {} until {}</title>\
             <rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/><path d=\"{}\"/></g>\n",
            reserved.nodes,
            site.name,
            reserved.from,
            reserved.until,
            format_coord(left),
            format_coord(top),
            format_coord(width),
            format_coord(height),
            hatch_lines((left, top), (width, height))
        );
    }
    svg
}
