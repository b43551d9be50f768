//! Shared nodes over time: each is a strip, filled by the shares of its processors, one job on top of the other.

use std::fmt::Write;

use super::chart::{Levels, Window, x_across};
use super::html::format_coord;
use crate::Tally;
use crate::markup::{Html, html};
use crate::palette::COLOURS;
use crate::referee::tally::Stint;
use hansa_sim::grid::Needs;

/// Number of steps in time: a picture of every change would be too large.
pub const STEPS: usize = 240;
/// Gap between strips.
const GAP: f64 = 2.0;

/// Positions of a site's nodes, from the first one downwards.
pub struct Strips {
    top: f64,
    /// Height of a strip with the gap to the next one.
    height: f64,
    cores: u32,
    nodes_each: u32,
}

impl Strips {
    /// Groups consecutive nodes into at most `most` strips of equal size.
    pub fn new(cores: u32, most: u32, top: f64, height: f64) -> Strips {
        Strips { top, height, cores, nodes_each: cores.div_ceil(most.max(1)).max(1) }
    }

    /// Like `new`, with the largest strips that fit a total height.
    pub fn fit_within(cores: u32, most: u32, top: f64, all: f64) -> Strips {
        let strips = Strips::new(cores, most, top, 0.0);
        Strips { height: all / f64::from(strips.count()), ..strips }
    }

    pub fn count(&self) -> u32 {
        self.cores.div_ceil(self.nodes_each)
    }

    pub fn nodes_each(&self) -> u32 {
        self.nodes_each
    }

    /// The first and the last node of a strip.
    pub fn nodes(&self, strip: u32) -> (u32, u32) {
        let first = strip * self.nodes_each;
        (first, (first + self.nodes_each).min(self.cores) - 1)
    }

    pub fn strip_bottom(&self, strip: u32) -> f64 {
        self.top + self.height * f64::from(strip + 1) - GAP.min(self.height / 4.0)
    }

    /// The shares of all jobs, stacked by colour.
    pub fn shares_svg(&self, tally: &Tally, window: Window, site: usize) -> Html {
        let mut levels = vec![Levels::new(window, STEPS); self.count() as usize * COLOURS];
        for row in tally.jobs.values() {
            let Some(task) = row.tasks.first() else { continue };
            let cpu = row.needs.unwrap_or(Needs::NODE).cpu;
            let colour = row.job.id.0 as usize % COLOURS;
            let is_here = |stint: &Stint<'_>| stint.site.or(task.site) == Some(site as u32);
            for stint in task.stints(tally.last).filter(is_here) {
                for &(first, last) in stint.node_layers().flat_map(|nodes| nodes.runs()) {
                    for strip in first / self.nodes_each..=last / self.nodes_each {
                        let (from, to) = self.nodes(strip);
                        let amount = f64::from(last.min(to) - first.max(from) + 1) * cpu * stint.share;
                        levels[strip as usize * COLOURS + colour].add(stint.from, stint.to, amount);
                    }
                }
            }
        }

        let mut svg = Html::default();
        for (strip, levels) in (0..self.count()).zip(levels.chunks(COLOURS)) {
            let (first, last) = self.nodes(strip);
            let full = (self.strip_bottom(strip) - self.top - self.height * f64::from(strip)).max(1.0);
            let scale = full / f64::from(last - first + 1);
            let stacks =
                levels.iter().map(|levels| levels.part_means().into_iter().map(|level| level * scale).collect());
            put_stack(&mut svg, self.strip_bottom(strip), &stacks.collect::<Vec<Vec<f64>>>());
        }
        svg
    }
}

/// Stacked levels over time above a line, one path per colour.
fn put_stack(svg: &mut Html, bottom: f64, stacks: &[Vec<f64>]) {
    let x = |step: usize| x_across(step as f64 / STEPS as f64);
    let mut below = vec![0.0; STEPS];
    for (class, levels) in stacks.iter().enumerate() {
        let mut path = String::new();
        let mut step = 0;
        while step < STEPS {
            if levels[step] < 0.05 {
                step += 1;
                continue;
            }
            // A constant stretch is one rectangle.
            let alike = |next: &usize| {
                format_coord(levels[*next]) == format_coord(levels[step])
                    && format_coord(below[*next]) == format_coord(below[step])
            };
            let end = (step + 1..STEPS).find(|next| !alike(next)).unwrap_or(STEPS);
            let left = format_coord(x(step));
            let right = format_coord(x(end));
            let low = format_coord(bottom - below[step]);
            let high = format_coord(bottom - below[step] - levels[step]);
            let _ = write!(path, "M{left} {low}V{high}H{right}V{low}z");
            step = end;
        }
        if !path.is_empty() {
            *svg += html!("<path class=\"f{class}\" d=\"{path}\"/>\n", class, path);
        }
        below.iter_mut().zip(levels).for_each(|(below, level)| *below += level);
    }
}
