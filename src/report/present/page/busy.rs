//! The use of many sites over time, as a row of shades per site.

use super::chart::{Figure, LEFT, Levels, TOP, time_axis, x_across};
use super::html::{format_coord, format_counted, shorten_text};
use super::{PARTS, Page};
use crate::markup::{Html, html};
use crate::referee::tally::SiteFacts;

/// Largest number of rows of the map: those of the largest sites.
const SITES_MAX: usize = 120;
const SHADES: usize = 10;
/// Least share in use that is shown.
const FAINT: f64 = 0.01;

impl Page<'_> {
    /// The section; empty unless there are more sites than `few`.
    pub(super) fn busy_sites(&self, few: usize) -> Html {
        let sites = &self.tally.sites;
        if sites.len() <= few {
            return Html::default();
        }
        let mut shown: Vec<usize> = (0..sites.len()).collect();
        shown.sort_by_key(|site| (std::cmp::Reverse(sites[*site].cores), *site));
        shown.truncate(SITES_MAX);
        shown.sort_unstable();
        let mut row_of = vec![None; sites.len()];
        shown.iter().enumerate().for_each(|(row, site)| row_of[*site] = Some(row));
        let mut levels = vec![Levels::new(self.window, PARTS); shown.len()];
        self.tally.each_use(|site, from, to, used| {
            if let Some(line) = row_of[site] {
                levels[line].add(from, to, used);
            }
        });

        let tall = (360.0 / shown.len() as f64).clamp(4.0, 14.0);
        let mut body = Html::default();
        for (line, (site, levels)) in shown.iter().zip(&levels).enumerate() {
            let site = &sites[*site];
            let top = TOP + line as f64 * tall;
            let shares: Vec<f64> = levels.part_means().iter().map(|mean| mean / f64::from(site.cores.max(1))).collect();
            body += html!("<g><title>{}, {}</title>", site.name, format_counted(site.cores.into(), "core"));
            if tall >= 9.0 {
                let name = shorten_text(&site.name, 12);
                let x = format_coord(LEFT - 6.0);
                let y = format_coord(top + tall / 2.0);
                body += html!("<text x=\"{x}\" y=\"{y}\" dy=\".34em\" text-anchor=\"end\">{name}</text>", x, y, name);
            }
            put_shades(&mut body, &shares, top, tall - 0.5);
            body += html!("</g>\n");
        }
        let bottom = TOP + shown.len() as f64 * tall + 4.0;
        let rest = match sites.len() - shown.len() {
            0 => String::new(),
            rest => format!(" The {} are shown; {rest} are not.", largest_sites(sites, shown.len())),
        };
        let tenth = |shade: usize| format!("{} to {} %", shade * 10, shade * 10 + 10);
        Figure {
            id: "busy-sites",
            title: "Busy cores of each site, over time",
            desc: format!("One row per site over time: the darker, the more of its cores were in use.{rest}"),
            note: format!(
                "One row per site, in the order of the topology. Point at a row to see the name of its site.{rest}"
            ),
            legend: (0..SHADES).map(|shade| (format!("s{shade}"), tenth(shade))).collect(),
            height: bottom + 44.0,
            body: body + time_axis(self.window, bottom),
        }
        .html()
    }
}

/// "7 largest", or "first 7" if all sites have the same number of cores.
pub(super) fn largest_sites(sites: &[SiteFacts], count: usize) -> String {
    let are_equal = sites.iter().all(|site| site.cores == sites[0].cores);
    if are_equal { format!("first {count}") } else { format!("{count} largest") }
}

/// A row of rectangles, one for each stretch of a shade.
fn put_shades(body: &mut Html, shares: &[f64], top: f64, tall: f64) {
    let x = |part: usize| x_across(part as f64 / PARTS as f64);
    let mut part = 0;
    for alike in shares.chunk_by(|a, b| shade_of(*a) == shade_of(*b)) {
        let left = x(part);
        let right = x(part + alike.len());
        if let Some(shade) = shade_of(alike[0]) {
            let wide = format_coord(right - left);
            let left = format_coord(left);
            let top = format_coord(top);
            let tall = format_coord(tall);
            *body += html!(
                "<rect class=\"h{shade}\" x=\"{left}\" y=\"{top}\" width=\"{wide}\" height=\"{tall}\"/>",
                [shade, left, top, wide, tall]
            );
        }
        part += alike.len();
    }
}

fn shade_of(share: f64) -> Option<usize> {
    (share >= FAINT).then(|| ((share * SHADES as f64) as usize).min(SHADES - 1))
}
