//! What sites keep free for something else than jobs, hatched.

use std::fmt::Write;

use super::{Band, band_of};
use crate::report::Tally;
use crate::report::page::chart::Window;
use crate::report::page::html::{at, escape};
use crate::topology::Topology;

/// Between the lines.
const APART: f64 = 7.0;
/// More stretches of nodes are not drawn.
pub const MOST: usize = 1_000;

/// Empty if nothing is reserved while the run lasts.
pub fn hatched(topology: &Topology, tally: &Tally, bands: &[Band], window: Window) -> String {
    let all = topology.sites.iter().zip(&tally.sites).flat_map(|(site, facts)| {
        let during = site.reserved.iter().filter(|it| it.from < window.to && window.from < it.until);
        during.flat_map(move |it| it.nodes.runs().iter().map(move |run| (facts, it, *run)))
    });
    let mut svg = String::new();
    for (site, reserved, (first, last)) in all.take(MOST) {
        let band = &bands[band_of(bands, site.first_core)];
        let (left, right) = (window.x(reserved.from), window.x(reserved.until));
        let top = band.y(site.first_core + u64::from(first));
        let (width, height) = (right - left, f64::from(last - first + 1) * band.core_height());
        let _ = writeln!(
            svg,
            "<g class=\"reserved\"><title>nodes {} of {}: reserved from {} until {}</title>\
             <rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/><path d=\"{}\"/></g>",
            reserved.nodes,
            escape(&site.name),
            reserved.from,
            reserved.until,
            at(left),
            at(top),
            at(width),
            at(height),
            lines((left, top), (width, height))
        );
    }
    svg
}

/// From the lower left to the upper right, as far as the rectangle goes.
pub fn lines((left, top): (f64, f64), (width, height): (f64, f64)) -> String {
    let mut path = String::new();
    let mut across = APART;
    while across < width + height {
        let (from, to) = (across.min(height), across.min(width));
        let (x, y) = (left + across - from, top + from);
        let _ = write!(path, "M{} {}L{} {}", at(x), at(y), at(left + to), at(top + across - to));
        across += APART;
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stay_in_their_rectangle() {
        assert_eq!(lines((10.0, 20.0), (10.0, 14.0)), "M10 27L17 20M10 34L20 24M17 34L20 31");
        assert_eq!(lines((0.0, 0.0), (3.0, 3.0)), "");
    }
}
