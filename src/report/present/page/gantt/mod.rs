//! Tasks on their cores over time: single tasks while they can be distinguished, otherwise a map of cells.

mod colouring;
mod down;
mod map;
mod reserved;

use std::fmt::Write;

use self::colouring::Colouring;
use self::map::HeatMap;
use super::chart::{BOTTOM, Figure, LEFT, RIGHT, TOP, WIDTH, Window, time_axis};
use super::html::{format_coord, format_count, format_counted, shorten_text, unbroken_micros};
use super::sizes::WorkParts;
use super::stacks::Strips;
use crate::Tally;
use crate::axes::round_step;
use crate::markup::{Html, html};
use crate::palette::COLOURS;
use crate::referee::tally::{JobRow, TaskRow};
use hansa_sim::topology::Topology;

/// Largest numbers of tasks, and of runs of cores, that are drawn individually.
const TASKS_MAX: usize = 5_000;
const RUNS_MAX: usize = 15_000;
/// Largest number of sites with borders and names of their own.
const BANDS_MAX: usize = 40;
const GAP: f64 = 5.0;
/// Least height of a band with numbers of cores, and least distance between these.
const NUMBERED: f64 = 60.0;
const APART: f64 = 24.0;
/// Least height of strips of shared nodes.
const STRIP_MIN: f64 = 4.0;

/// Position of a site, or of all sites together.
struct SiteBand {
    name: String,
    first_core: u64,
    cores: u64,
    top: f64,
    height: f64,
}

pub fn gantt_figure(topology: &Topology, tally: &Tally, window: Window, work: &WorkParts) -> Html {
    // Where jobs share nodes, blocks would hide each other. Sites without a band of their own are drawn as they are.
    let shared: Vec<usize> = (0..tally.sites.len()).filter(|site| tally.sites[*site].is_shared).collect();
    let shared = if tally.sites.len() > BANDS_MAX { Vec::new() } else { shared };
    let mut held: Vec<(&JobRow, usize, &TaskRow)> = tally
        .jobs
        .values()
        .flat_map(|job| job.tasks.iter().enumerate().map(move |(index, task)| (job, index, task)))
        .filter(|(_, _, task)| task.start.is_some() && task.site.is_some())
        .collect();
    let ran = held.len() as u64;
    held.retain(|(_, _, task)| task.site.is_some_and(|site| !shared.contains(&(site as usize))));
    let runs: usize = held.iter().map(|(_, _, task)| task.cores.runs().len()).sum();
    let bands = site_bands(tally);
    let bottom = bands.last().map_or(TOP + 40.0, |band| band.top + band.height) + 4.0;
    let one_by_one = held.len() <= TASKS_MAX && runs <= RUNS_MAX;

    let colouring = (one_by_one && !is_alone(tally)).then(|| {
        let jobs: Vec<&JobRow> = held.iter().map(|(job, ..)| *job).collect();
        Colouring::of(tally, &jobs)
    });
    let (body, note, mut legend) = if one_by_one {
        let note = words_of_tasks(&bands, tally, have_names(tally, &held));
        (draw_tasks(tally, &held, &bands, window, colouring.as_ref()), note, Vec::new())
    } else {
        let map = HeatMap::new(tally, &held, &bands, window, work);
        let note = map.map_words(held.len(), &bands, tally, window);
        let legend = (0..10).map(|size| (format!("s{size}"), part_name(size))).collect();
        (map.map_svg(&bands), note, legend)
    };
    let mut body = body;
    for site in &shared {
        let band = &bands[*site];
        let most = (band.height / STRIP_MIN) as u32;
        let strips = Strips::fit_within(tally.sites[*site].cores, most, band.top, band.height);
        body += strips.shares_svg(tally, window, *site);
    }
    let note = match shared.is_empty() {
        true => note,
        false => {
            note + " Where jobs share nodes, each node is a strip, filled with the shares of its jobs, one on top of \
                    the other."
        }
    };
    let reserved = reserved::reserved_svg(topology, tally, &bands, window);
    if !reserved.is_empty() {
        legend.push(("hatched".to_owned(), "reserved, so no job runs there".to_owned()));
    }
    let down = down::outages_svg(tally, &bands, window);
    if !down.is_empty() {
        legend.push(("hatched-down".to_owned(), "down".to_owned()));
    }
    let figure = Figure {
        id: "gantt",
        title: "Tasks on cores, over time",
        desc: format!(
            "A chart of {} on {} over time; the cores of each site are stacked.",
            format_counted(ran, "task"),
            format_counted(tally.sites.len() as u64, "site")
        ),
        note,
        legend,
        height: bottom + BOTTOM,
        body: draw_frames(&bands) + body + reserved + down + time_axis(window, bottom),
    };
    figure.html_with(colouring.map_or_else(Html::default, |colouring| colouring.controls()))
}

fn part_name(part: usize) -> String {
    match part {
        0 => "the smallest jobs".to_owned(),
        9 => "the largest".to_owned(),
        _ => String::new(),
    }
}

fn site_bands(tally: &Tally) -> Vec<SiteBand> {
    let total: u64 = tally.sites.iter().map(|site| u64::from(site.cores)).sum();
    let together = tally.sites.len() > BANDS_MAX;
    let height =
        (total as f64 * 14.0).clamp(150.0, 560.0).max(if together { 0.0 } else { 14.0 * tally.sites.len() as f64 });
    if together {
        let name = format!("{} sites", tally.sites.len());
        return vec![SiteBand { name, first_core: 0, cores: total, top: TOP, height }];
    }
    let mut top = TOP;
    let bands = tally.sites.iter().map(|site| {
        // A small site beside large ones must still be visible.
        let height = (height * f64::from(site.cores) / total.max(1) as f64).max(10.0);
        let band =
            SiteBand { name: site.name.clone(), first_core: site.first_core, cores: site.cores.into(), top, height };
        top += height + GAP;
        band
    });
    bands.collect()
}

fn band_of(bands: &[SiteBand], core: u64) -> usize {
    bands.partition_point(|band| band.first_core <= core).saturating_sub(1)
}

impl SiteBand {
    fn core_height(&self) -> f64 {
        self.height / self.cores.max(1) as f64
    }

    /// Upper edge of a core, numbered consecutively over all sites.
    fn y(&self, core: u64) -> f64 {
        self.top + (core - self.first_core) as f64 * self.core_height()
    }
}

fn draw_frames(bands: &[SiteBand]) -> Html {
    let mut svg = Html::default();
    for band in bands {
        svg += html!(
            "<rect class=\"band\" x=\"{LEFT}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n",
            format_coord(band.top),
            WIDTH - LEFT - RIGHT,
            format_coord(band.height),
            LEFT
        );
        let middle = format_coord(band.top + band.height / 2.0);
        let has_numbers = band.height >= NUMBERED;
        let (class, place, letters) = match has_numbers {
            true => (
                "middle",
                html!("transform=\"translate(14 {middle}) rotate(-90)\"", middle),
                (band.height / 7.0) as usize,
            ),
            false => ("end", html!("x=\"{}\" y=\"{middle}\" dy=\".32em\"", LEFT - 7.0, middle), 11),
        };
        svg += html!(
            "<text class=\"site {class}\" {place}>{}<title>{}, {}</title></text>\n",
            shorten_text(&band.name, letters),
            &band.name,
            format_counted(band.cores, "core"),
            [class, place]
        );
        if has_numbers {
            svg += core_numbers(band);
        }
    }
    svg
}

/// Numbers of some cores, each beside its middle.
fn core_numbers(band: &SiteBand) -> Html {
    let apart = round_step(band.cores as f64 * APART / band.height).max(1.0) as usize;
    let mut svg = html!("<g class=\"axis\">");
    for number in (0..band.cores).step_by(apart) {
        let y = band.y(band.first_core + number) + band.core_height() / 2.0;
        // The next band begins with a number of its own.
        if number > 0 && band.top + band.height - y < 8.0 {
            break;
        }
        let y = format_coord(y);
        svg += html!(
            "<path class=\"base\" d=\"M{} {y}H{LEFT}\"/>\
             <text x=\"{}\" y=\"{y}\" dy=\".32em\" text-anchor=\"end\">{}</text>",
            LEFT - 4.0,
            LEFT - 7.0,
            format_count(number),
            [y, LEFT]
        );
    }
    svg + html!("</g>\n")
}

/// A block for each stint of each task; the tasks of a single job have colours in turn.
fn draw_tasks(
    tally: &Tally,
    held: &[(&JobRow, usize, &TaskRow)],
    bands: &[SiteBand],
    window: Window,
    colouring: Option<&Colouring>,
) -> Html {
    let mut svg = html!("<g class=\"tasks\">\n");
    let has_names = have_names(tally, held);
    for (job, index, task) in held {
        let Some(site) = task.site else { continue };
        for stint in task.stints(tally.last) {
            let start = stint.from;
            let end = stint.to;
            let cores = stint.nodes;
            let left = window.x(start);
            let right = window.x(end);
            let width = (right - left).max(0.6);
            let first_core = tally.sites[stint.site.unwrap_or(site) as usize].first_core;
            let band = &bands[band_of(bands, first_core)];
            let number = tally.number(job.job.id);
            let workload = tally.workload(job.job.id).map_or(String::new(), |which| format!(" of workload {which},"));
            let what = match tally.is_one_task(job) {
                true => format!("job {number}{workload}"),
                false => format!("task {number}.{index}{workload}"),
            };
            let short = if is_alone(tally) { index.to_string() } else { number.to_string() };
            let text = if has_names { tally.job_names.task(job.job.id, *index) } else { Some(&*short) };
            let mut path = String::new();
            let mut label = None;
            for &(first, last) in cores.runs() {
                let top = band.y(first_core + u64::from(first));
                let height = f64::from(last - first + 1) * band.core_height();
                let _ = write!(
                    path,
                    "M{} {}h{w}v{}h-{w}z",
                    format_coord(left),
                    format_coord(top),
                    format_coord(height),
                    w = format_coord(width)
                );
                let fits = |text: &&str| height >= 13.0 && width >= 9.0 * (1 + text.chars().count()) as f64;
                if label.is_none() {
                    label = text.filter(fits).map(|text| (text, left + width / 2.0, top + height / 2.0));
                }
            }
            let names = [tally.job_names.task(job.job.id, *index), tally.job_name(job.job.id)];
            let names: Vec<&str> = names.into_iter().flatten().collect();
            let called = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
            let user = tally.names.of_actor(job.user);
            let until = if task.end.is_some() { "" } else { ", still running" };
            let class = colouring.map_or_else(|| format!("f{}", index % COLOURS), |all| all.classes(job.job.id));
            let cores = cores.to_string().replace(' ', ", ");
            svg += html!(
                "<g class=\"{class}\"><title>{what}{called} of {user}: cores {cores} for {} from {start}{until}</title>\
                 <path d=\"{path}\"/>\n",
                unbroken_micros(end.since(start).micros()),
                [class, what, called, user, cores, start, until, path]
            );
            if let Some((text, x, y)) = label {
                svg +=
                    html!("<text x=\"{}\" y=\"{}\" dy=\".34em\">{text}</text>", format_coord(x), format_coord(y), text);
            }
            svg += html!("</g>\n");
        }
    }
    svg + html!("</g>\n")
}

/// True if blocks are labelled with the names of tasks, not with numbers of jobs: a chart has one kind of label.
fn have_names(tally: &Tally, held: &[(&JobRow, usize, &TaskRow)]) -> bool {
    held.iter().any(|(job, index, _)| tally.job_names.task(job.job.id, *index).is_some())
}

/// True if there is only one job, whose tasks are then distinguished.
fn is_alone(tally: &Tally) -> bool {
    tally.jobs.len() == 1
}

fn words_of_tasks(bands: &[SiteBand], tally: &Tally, has_names: bool) -> String {
    let what = match tally.has_only_single_tasks() {
        true if !is_alone(tally) => "job; rows are nodes, node 0 of a site on top",
        _ => "task; rows are cores, core 0 of a site on top",
    };
    let colours = match is_alone(tally) {
        true => format!(" Colours repeat every {COLOURS} tasks."),
        false => String::new(),
    };
    let labels = match (has_names, is_alone(tally)) {
        (true, _) => "Labels are names of tasks, where they fit",
        (false, true) => "Labels are numbers of tasks, where they fit",
        (false, false) => "Labels are numbers of jobs, where they fit",
    };
    format!("One block per {what}.{colours} {labels}. Point at a block for details.{}", bands_note(bands, tally))
}

fn bands_note(bands: &[SiteBand], tally: &Tally) -> String {
    match bands.len() < tally.sites.len() {
        true => format!(
            " The cores of all {} sites are numbered consecutively, without a border between sites.",
            tally.sites.len()
        ),
        false => String::new(),
    }
}
