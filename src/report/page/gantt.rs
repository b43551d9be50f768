//! Which task held which cores, and when: task by task while they can be told apart, as a map of cells beyond that.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::chart::{BOTTOM, COLOURS, Figure, LEFT, RIGHT, TOP, WIDTH, Window, time_axis};
use super::html::{at, counted, escape, micros, short};
use crate::grid::JobId;
use crate::report::Tally;
use crate::report::tally::{JobRow, TaskRow};
use crate::time::Time;

/// More tasks, or stretches of cores, than this are not drawn one by one.
const TASKS_MAX: usize = 5_000;
const RUNS_MAX: usize = 15_000;
/// The map's cells.
const COLUMNS: usize = 300;
const ROWS: usize = 160;
/// More sites than this have no room for borders and names of their own.
const BANDS_MAX: usize = 40;
const GAP: f64 = 5.0;
/// Cells with less than this share in use stay empty.
const FAINT: f64 = 0.02;

/// A site's place, or that of all sites together.
struct Band {
    name: String,
    first_core: u64,
    cores: u64,
    top: f64,
    height: f64,
}

pub fn gantt(tally: &Tally, window: Window, part_of: &BTreeMap<JobId, usize>) -> String {
    let held: Vec<(&JobRow, usize, &TaskRow)> = tally
        .jobs
        .values()
        .flat_map(|job| job.tasks.iter().enumerate().map(move |(index, task)| (job, index, task)))
        .filter(|(_, _, task)| task.start.is_some() && task.site.is_some())
        .collect();
    let runs: usize = held.iter().map(|(_, _, task)| task.cores.runs().len()).sum();
    let bands = bands(tally);
    let bottom = bands.last().map_or(TOP + 40.0, |band| band.top + band.height) + 4.0;
    let one_by_one = held.len() <= TASKS_MAX && runs <= RUNS_MAX;

    let (body, note, legend) = if one_by_one {
        (tasks(tally, &held, &bands, window), words_of_tasks(&bands, tally), Vec::new())
    } else {
        let map = Map::new(tally, &held, &bands, window, part_of);
        let note = map.words(held.len(), &bands, tally, window);
        let legend = (0..10).map(|size| (format!("s{size}"), part_name(size))).collect();
        (map.svg(&bands), note, legend)
    };
    let figure = Figure {
        id: "gantt",
        title: "Which cores were busy with what",
        desc: format!(
            "A chart of {} on {} over time; the cores of each site lie one above the other.",
            counted(held.len() as u64, "task"),
            counted(tally.sites.len() as u64, "site")
        ),
        note,
        legend,
        height: bottom + BOTTOM,
        body: frames(&bands) + &body + &time_axis(window, bottom),
    };
    figure.html()
}

fn part_name(part: usize) -> String {
    match part {
        0 => "the smallest jobs".to_owned(),
        9 => "the largest".to_owned(),
        _ => String::new(),
    }
}

fn bands(tally: &Tally) -> Vec<Band> {
    let total: u64 = tally.sites.iter().map(|site| u64::from(site.cores)).sum();
    let together = tally.sites.len() > BANDS_MAX;
    let height =
        (total as f64 * 14.0).clamp(150.0, 560.0).max(if together { 0.0 } else { 14.0 * tally.sites.len() as f64 });
    if together {
        let name = format!("{} sites", tally.sites.len());
        return vec![Band { name, first_core: 0, cores: total, top: TOP, height }];
    }
    let mut top = TOP;
    let bands = tally.sites.iter().map(|site| {
        // A small site beside large ones must still be seen.
        let height = (height * f64::from(site.cores) / total.max(1) as f64).max(10.0);
        let band = Band { name: site.name.clone(), first_core: site.first_core, cores: site.cores.into(), top, height };
        top += height + GAP;
        band
    });
    bands.collect()
}

fn band_of(bands: &[Band], core: u64) -> usize {
    bands.partition_point(|band| band.first_core <= core).saturating_sub(1)
}

fn frames(bands: &[Band]) -> String {
    let mut svg = String::new();
    for band in bands {
        let _ = writeln!(
            svg,
            "<rect class=\"band\" x=\"{LEFT}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\
             <text class=\"site\" x=\"{}\" y=\"{}\" dy=\".32em\">{}<title>{}, {}</title></text>",
            at(band.top),
            WIDTH - LEFT - RIGHT,
            at(band.height),
            LEFT - 7.0,
            at(band.top + band.height / 2.0),
            short(&band.name, 11),
            escape(&band.name),
            counted(band.cores, "core"),
        );
    }
    svg
}

fn tasks(tally: &Tally, held: &[(&JobRow, usize, &TaskRow)], bands: &[Band], window: Window) -> String {
    let mut svg = String::from("<g class=\"tasks\">\n");
    for (job, index, task) in held {
        let (Some(start), Some(site)) = (task.start, task.site) else { continue };
        let end = task.end.unwrap_or(tally.last);
        let (left, right) = (window.x(start), window.x(end));
        let width = (right - left).max(0.6);
        let first_core = tally.sites[site as usize].first_core;
        let band = &bands[band_of(bands, first_core)];
        let core_height = band.height / band.cores.max(1) as f64;
        let mut path = String::new();
        let mut label = None;
        for &(first, last) in task.cores.runs() {
            let row = first_core + u64::from(first) - band.first_core;
            let (top, height) = (band.top + row as f64 * core_height, f64::from(last - first + 1) * core_height);
            let _ = write!(path, "M{} {}h{w}v{}h-{w}z", at(left), at(top), at(height), w = at(width));
            if height >= 13.0 && width >= 9.0 * (1 + job.job.id.to_string().len()) as f64 && label.is_none() {
                label = Some((left + width / 2.0, top + height / 2.0));
            }
        }
        let id = job.job.id;
        let user = escape(&tally.names.of_actor(job.user));
        let until = if task.end.is_some() { "" } else { ", still running" };
        let _ = writeln!(
            svg,
            "<g class=\"f{}\"><title>task {id}.{index} of {user}: cores {} for {} from {start}{until}</title><path d=\"{path}\"/>",
            id.0 as usize % COLOURS,
            task.cores,
            micros(end.since(start).micros()),
        );
        if let Some((x, y)) = label {
            let _ = write!(svg, "<text x=\"{}\" y=\"{}\" dy=\".34em\">{id}</text>", at(x), at(y));
        }
        svg.push_str("</g>\n");
    }
    svg + "</g>\n"
}

fn words_of_tasks(bands: &[Band], tally: &Tally) -> String {
    format!(
        "Every block is a task on its cores, core 0 of a site uppermost. Tasks of one job have one colour; as there are \
         {COLOURS} colours, jobs {COLOURS} numbers apart share one. Point at a block to see which it is.{}",
        together(bands, tally)
    )
}

fn together(bands: &[Band], tally: &Tally) -> String {
    match bands.len() < tally.sites.len() {
        true => format!(
            " The cores of all {} sites are numbered through, without a border between sites.",
            tally.sites.len()
        ),
        false => String::new(),
    }
}

/// Core time by cell and by the size of the job that had it.
struct Map {
    columns: usize,
    /// By band.
    rows: Vec<usize>,
    /// By row through all bands, then column: core microseconds by size of job.
    cells: Vec<[f32; 10]>,
    capacity: Vec<f64>,
}

impl Map {
    fn new(
        tally: &Tally,
        held: &[(&JobRow, usize, &TaskRow)],
        bands: &[Band],
        window: Window,
        part_of: &BTreeMap<JobId, usize>,
    ) -> Map {
        let cores: u64 = bands.iter().map(|band| band.cores).sum();
        let share = |band: &Band| (ROWS as u64 * band.cores).div_ceil(cores.max(1));
        let rows: Vec<usize> = bands.iter().map(|band| share(band).min(band.cores).max(1) as usize).collect();
        let columns = COLUMNS;
        let column = window.micros() as f64 / columns as f64;
        let capacity = bands.iter().zip(&rows).map(|(band, rows)| band.cores as f64 / *rows as f64 * column).collect();
        let mut map = Map { columns, cells: vec![[0.0; 10]; rows.iter().sum::<usize>() * columns], rows, capacity };

        let place = |time: Time| time.since(window.from).micros() as f64 / column;
        for (job, _, task) in held {
            let (Some(start), Some(site)) = (task.start, task.site) else { continue };
            let size = part_of.get(&job.job.id).copied().unwrap_or(0);
            let times = (place(start), place(task.end.unwrap_or(tally.last)));
            let first_core = tally.sites[site as usize].first_core;
            let band = band_of(bands, first_core);
            let above: usize = map.rows[..band].iter().sum();
            let row_of =
                |core: u64| (core - bands[band].first_core) as f64 * map.rows[band] as f64 / bands[band].cores as f64;
            for &(first, last) in task.cores.runs() {
                let lines = (row_of(first_core + u64::from(first)), row_of(first_core + u64::from(last) + 1));
                for (row, tall) in parts(lines, map.rows[band]) {
                    for (col, wide) in parts(times, columns) {
                        map.cells[(above + row) * columns + col][size] += (tall * wide * map.capacity[band]) as f32;
                    }
                }
            }
        }
        map
    }

    /// A path a colour and strength: its stretches are lines as thick as a row.
    fn svg(&self, bands: &[Band]) -> String {
        let mut svg = String::new();
        let mut above = 0;
        for (band, (rows, capacity)) in bands.iter().zip(self.rows.iter().zip(&self.capacity)) {
            let mut paths: BTreeMap<(usize, usize), String> = BTreeMap::new();
            for row in 0..*rows {
                let cells = &self.cells[(above + row) * self.columns..][..self.columns];
                let looks: Vec<_> = cells.iter().map(|cell| look(cell, *capacity)).collect();
                let mut from = 0;
                for alike in looks.chunk_by(|left, right| left == right) {
                    if let Some(look) = alike[0] {
                        let _ = write!(paths.entry(look).or_default(), "M{from} {row}h{}", alike.len());
                    }
                    from += alike.len();
                }
            }
            let _ = writeln!(
                svg,
                "<g class=\"map\" transform=\"translate({LEFT} {}) scale({} {}) translate(0 .5)\">",
                at(band.top),
                (WIDTH - LEFT - RIGHT) / self.columns as f64,
                band.height / *rows as f64
            );
            for ((size, strength), path) in paths {
                let _ = writeln!(svg, "<path class=\"t{size} o{strength}\" d=\"{path}\"/>");
            }
            svg.push_str("</g>\n");
            above += rows;
        }
        svg
    }

    fn words(&self, tasks: usize, bands: &[Band], tally: &Tally, window: Window) -> String {
        let most =
            bands.iter().zip(&self.rows).map(|(band, rows)| band.cores as f64 / *rows as f64).fold(0.0, f64::max);
        format!(
            "{} are too many to draw one by one, so this is a map: a cell stands for {} and up to {}, core 0 of a site \
             uppermost. Its colour tells how large the job is that used most of it: the jobs, from the smallest to the \
             largest, are in ten groups that each bring a tenth of all work; \
             it is fainter where less than two thirds and less than one third of the cell were in use, and blank below \
             {} %. Every task is counted in, and the trace has each of them.{}",
            counted(tasks as u64, "task"),
            micros(window.micros() / self.columns as u64),
            counted(most.ceil() as u64, "core"),
            FAINT * 100.0,
            together(bands, tally)
        )
    }
}

/// The whole parts that a stretch covers, each with the share of it.
fn parts((from, to): (f64, f64), count: usize) -> impl Iterator<Item = (usize, f64)> {
    let (from, to) = (from.max(0.0), to.min(count as f64));
    let (first, end) = (from as usize, (to.ceil() as usize).min(count));
    (first..end).map(move |part| (part, (to.min((part + 1) as f64) - from.max(part as f64)).max(0.0)))
}

/// The size and strength of a cell that shows.
fn look(cell: &[f32; 10], capacity: f64) -> Option<(usize, usize)> {
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
        let all = |stretch, count| parts(stretch, count).collect::<Vec<_>>();
        assert_eq!(all((0.5, 2.25), 4), [(0, 0.5), (1, 1.0), (2, 0.25)]);
        assert_eq!(all((3.5, 9.0), 4), [(3, 0.5)]);
        assert_eq!(all((1.0, 1.0), 4), []);
    }
}
