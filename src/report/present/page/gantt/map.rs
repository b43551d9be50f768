//! The map of cells, for runs with too many tasks to draw.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{SiteBand, band_of, bands_note};
use crate::Tally;
use crate::markup::{Html, html};
use crate::present::page::chart::{LEFT, RIGHT, WIDTH, Window};
use crate::present::page::html::{format_coord, format_counted, unbroken_micros};
use crate::present::page::sizes::WorkParts;
use crate::referee::tally::{JobRow, TaskRow};
use hansa_sim::time::Time;

const COLUMNS: usize = 300;
const ROWS: usize = 160;
/// Cells with less than this share in use stay empty.
const FAINT: f64 = 0.02;

/// Core time by cell and by the size of its job.
pub struct HeatMap {
    columns: usize,
    /// Number of rows in each band.
    rows: Vec<usize>,
    /// Core microseconds by size of job, indexed by row over all bands, then column.
    cells: Vec<[f32; 10]>,
    capacity: Vec<f64>,
}

impl HeatMap {
    pub fn new(
        tally: &Tally,
        held: &[(&JobRow, usize, &TaskRow)],
        bands: &[SiteBand],
        window: Window,
        work: &WorkParts,
    ) -> HeatMap {
        let cores: u64 = bands.iter().map(|band| band.cores).sum();
        let rows = bands.iter().map(|band| (ROWS as u64 * band.cores).div_ceil(cores.max(1)).min(band.cores).max(1));
        let rows: Vec<usize> = rows.map(|rows| rows as usize).collect();
        let columns = COLUMNS;
        let column = window.length_micros() as f64 / columns as f64;
        let capacity = bands.iter().zip(&rows).map(|(band, rows)| band.cores as f64 / *rows as f64 * column).collect();
        let mut map = HeatMap { columns, cells: vec![[0.0; 10]; rows.iter().sum::<usize>() * columns], rows, capacity };

        let place = |time: Time| time.since(window.from).micros() as f64 / column;
        for (job, _, task) in held {
            let Some(site) = task.site else { continue };
            let size = work.part_of(job);
            for stint in task.stints(tally.last) {
                let first_core = tally.sites[stint.site.unwrap_or(site) as usize].first_core;
                let band = band_of(bands, first_core);
                let above: usize = map.rows[..band].iter().sum();
                let SiteBand { first_core: from, cores, .. } = bands[band];
                let row_of = |core: u64| (core - from) as f64 * map.rows[band] as f64 / cores as f64;
                let times = (place(stint.from), place(stint.to));
                for &(first, last) in stint.nodes.runs() {
                    let lines = (row_of(first_core + u64::from(first)), row_of(first_core + u64::from(last) + 1));
                    for (row, tall) in covered_parts(lines, map.rows[band]) {
                        for (col, wide) in covered_parts(times, columns) {
                            map.cells[(above + row) * columns + col][size] += (tall * wide * map.capacity[band]) as f32;
                        }
                    }
                }
            }
        }
        map
    }

    /// One path per colour and strength: its parts are lines as thick as a row.
    pub fn map_svg(&self, bands: &[SiteBand]) -> Html {
        let mut svg = Html::default();
        let mut above = 0;
        for (band, (rows, capacity)) in bands.iter().zip(self.rows.iter().zip(&self.capacity)) {
            let mut paths: BTreeMap<(usize, usize), String> = BTreeMap::new();
            for row in 0..*rows {
                let cells = &self.cells[(above + row) * self.columns..][..self.columns];
                let looks: Vec<_> = cells.iter().map(|cell| cell_look(cell, *capacity)).collect();
                let mut from = 0;
                for alike in looks.chunk_by(|left, right| left == right) {
                    if let Some(look) = alike[0] {
                        let _ = write!(paths.entry(look).or_default(), "M{from} {row}h{}", alike.len());
                    }
                    from += alike.len();
                }
            }
            svg += html!(
                "<g class=\"map\" transform=\"translate({LEFT} {}) scale({} {}) translate(0 .5)\">\n",
                format_coord(band.top),
                (WIDTH - LEFT - RIGHT) / self.columns as f64,
                band.height / *rows as f64,
                LEFT
            );
            for ((size, strength), path) in paths {
                svg += html!("<path class=\"t{size} o{strength}\" d=\"{path}\"/>\n", size, strength, path);
            }
            svg += html!("</g>\n");
            above += rows;
        }
        svg
    }

    pub fn map_words(&self, tasks: usize, bands: &[SiteBand], tally: &Tally, window: Window) -> String {
        let most =
            bands.iter().zip(&self.rows).map(|(band, rows)| band.cores as f64 / *rows as f64).fold(0.0, f64::max);
        format!(
            "{} are too many to draw individually, so this is a map: a cell stands for {} and up to {}, core 0 of a \
             site at the top. Its colour shows the size of the job that used most of it: the jobs, from the smallest \
             to the largest, are in ten groups that each have a tenth of all work; it is fainter where less than two \
             thirds or less than one third of the cell was in use, and blank below {} %. Every task is included, and \
             the trace has each of them.{}",
            format_counted(tasks as u64, "task"),
            unbroken_micros(window.length_micros() / self.columns as u64),
            format_counted(most.ceil() as u64, "core"),
            FAINT * 100.0,
            bands_note(bands, tally)
        )
    }
}

/// The parts that an interval covers, each with the covered share of it.
fn covered_parts((from, to): (f64, f64), count: usize) -> impl Iterator<Item = (usize, f64)> {
    let from = from.max(0.0);
    let to = to.min(count as f64);
    let first = from as usize;
    let end = (to.ceil() as usize).min(count);
    (first..end).map(move |part| (part, (to.min((part + 1) as f64) - from.max(part as f64)).max(0.0)))
}

/// The size and strength of a visible cell.
fn cell_look(cell: &[f32; 10], capacity: f64) -> Option<(usize, usize)> {
    let used = f64::from(cell.iter().sum::<f32>()) / capacity;
    if used < FAINT {
        return None;
    }
    let size = (0..10).max_by(|left, right| cell[*left].total_cmp(&cell[*right]))?;
    Some((size, [0.34, 0.67].iter().filter(|above| used >= **above).count()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_fall_into_parts() {
        let all = |stretch, count| covered_parts(stretch, count).collect::<Vec<_>>();
        assert_eq!(all((0.5, 2.25), 4), [(0, 0.5), (1, 1.0), (2, 0.25)]);
        assert_eq!(all((3.5, 9.0), 4), [(3, 0.5)]);
        assert_eq!(all((1.0, 1.0), 4), []);
    }
}
