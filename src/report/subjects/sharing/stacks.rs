//! Nodes over time, each a strip that is filled as far as its processors are given away, job on job.

use std::fmt::Write;

use super::section::{bands, colour};
use crate::grid::Needs;
use crate::report::page::Page;
use crate::report::page::chart::{BOTTOM, Figure, LEFT, Levels, RIGHT, TOP, WIDTH, time_axis};
use crate::report::page::html::{at, counted, escape};
use crate::report::palette::COLOURS;

/// Nodes that share a row.
pub struct Band {
    pub first: u32,
    pub last: u32,
}

const ROWS: u32 = 32;
const ROW: f64 = 16.0;
/// Steps in time: a picture of every change would be too large.
const STEPS: usize = 240;

pub fn figure(page: &Page<'_>, site: usize) -> String {
    let (tally, window) = (page.tally, page.window);
    let facts = &tally.sites[site];
    let bands = bands(facts.cores, ROWS);
    let mut levels = vec![Levels::new(window, STEPS); bands.len() * COLOURS];
    let nodes_each = bands.first().map_or(1, |band| band.last - band.first + 1);
    for row in tally.jobs.values() {
        let Some(task) = row.tasks.first().filter(|task| task.site == Some(site as u32)) else { continue };
        let cpu = row.needs.unwrap_or(Needs::NODE).cpu;
        for stint in task.stints(tally.last) {
            for &(first, last) in stint.layers().flat_map(|nodes| nodes.runs()) {
                for band in first / nodes_each..=last / nodes_each {
                    let from = first.max(band * nodes_each);
                    let to = last.min(band * nodes_each + nodes_each - 1);
                    let amount = f64::from(to - from + 1) * cpu * stint.share;
                    levels[band as usize * COLOURS + colour(row.job.id.0)].add(stint.from, stint.to, amount);
                }
            }
        }
    }

    let height = TOP + ROW * bands.len() as f64 + BOTTOM;
    let mut body = String::new();
    for (number, band) in bands.iter().enumerate() {
        let bottom = TOP + ROW * (number + 1) as f64 - 2.0;
        let capacity = f64::from(band.last - band.first + 1);
        let stacks = levels[number * COLOURS..(number + 1) * COLOURS]
            .iter()
            .map(|levels| levels.means().into_iter().map(|level| level / capacity * (ROW - 3.0)).collect::<Vec<f64>>());
        strip(&mut body, bottom, &stacks.collect::<Vec<_>>());
        let name =
            if band.first == band.last { band.first.to_string() } else { format!("{}-{}", band.first, band.last) };
        let _ = writeln!(
            body,
            "<g class=\"axis\"><path d=\"M{LEFT} {0}H{1}\"/><text x=\"{2}\" y=\"{3}\" text-anchor=\"end\">{name}</text></g>",
            at(bottom),
            WIDTH - RIGHT,
            LEFT - 7.0,
            at(bottom - 3.0)
        );
    }
    body.push_str(&time_axis(window, height - BOTTOM));
    let together = match nodes_each {
        1 => String::new(),
        nodes => format!(" A row is {} together.", counted(nodes.into(), "node")),
    };
    Figure {
        id: &format!("stacks-{site}"),
        title: &format!("Nodes of {}, as far as they are given away", escape(&facts.name)),
        desc: "A strip a node over time, filled by the shares of its processors that jobs have.".to_owned(),
        note: format!(
            "A full strip is a node that gives all it has. Colours only tell jobs from their neighbours; each of the {STEPS} steps is a \
             mean.{together}"
        ),
        legend: Vec::new(),
        height,
        body,
    }
    .html()
}

/// Stacks of levels over time above a line, a path a colour.
fn strip(svg: &mut String, bottom: f64, stacks: &[Vec<f64>]) {
    let x = |step: usize| LEFT + step as f64 / STEPS as f64 * (WIDTH - LEFT - RIGHT);
    let mut below = vec![0.0; STEPS];
    for (class, levels) in stacks.iter().enumerate() {
        let mut path = String::new();
        let mut step = 0;
        while step < STEPS {
            if levels[step] < 0.05 {
                step += 1;
                continue;
            }
            // What stays as it is is one rectangle.
            let alike = |next: &usize| at(levels[*next]) == at(levels[step]) && at(below[*next]) == at(below[step]);
            let end = (step + 1..STEPS).find(|next| !alike(next)).unwrap_or(STEPS);
            let (left, right) = (at(x(step)), at(x(end)));
            let (low, high) = (at(bottom - below[step]), at(bottom - below[step] - levels[step]));
            let _ = write!(path, "M{left} {low}V{high}H{right}V{low}z");
            step = end;
        }
        if !path.is_empty() {
            let _ = writeln!(svg, "<path class=\"f{class}\" d=\"{path}\"/>");
        }
        below.iter_mut().zip(levels).for_each(|(below, level)| *below += level);
    }
}
