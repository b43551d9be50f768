//! Workflows whose tasks are drawn individually.

use super::{Layered, Page, SIDE, TOP, WIDTH, curve_path};
use crate::Tally;
use crate::markup::{Html, html};
use crate::present::page::html::{format_coord, format_counted, shorten_text, unbroken_micros};

/// Greatest and least distance between tasks of a layer, and the height of all.
const ROW: f64 = 30.0;
const ROW_MIN: f64 = 10.0;
const HEIGHT: f64 = 460.0;
/// Share of the width of a layer, and of its rows, that a task takes; greatest width of a task.
const WIDE: f64 = 0.62;
const TALL: f64 = 0.72;
const WIDTH_MAX: f64 = 120.0;
/// Width of a letter, and least height of a task with a label.
const LETTER: f64 = 6.6;
const LABELLED: f64 = 12.0;
/// Passes that bring tasks close to their neighbours: from left to right and back.
const PASSES: usize = 8;

/// Positions of tasks.
pub(super) struct Single {
    /// Left edge and middle of each task.
    places: Vec<(f64, f64)>,
    width: f64,
    height: f64,
    bottom: f64,
}

impl Single {
    /// Tasks of a layer are in the order of the means of their neighbours' places, which leaves few crossings.
    pub fn of(layered: &Layered<'_>) -> Single {
        let rows = layered.layers.iter().map(Vec::len).max().unwrap_or(1);
        let row = (HEIGHT / rows as f64).clamp(ROW_MIN, ROW);
        let room = (WIDTH - 2.0 * SIDE) / layered.layers.len().max(1) as f64;
        let width = (room * WIDE).min(WIDTH_MAX);
        let middle = TOP + row * rows as f64 / 2.0;
        let mut places = vec![(0.0, 0.0); layered.layer_of.len()];
        for (layer, tasks) in order_layers(layered).iter().enumerate() {
            for (place, task) in tasks.iter().enumerate() {
                let above = place as f64 - (tasks.len() - 1) as f64 / 2.0;
                places[*task] = (SIDE + room * layer as f64 + (room - width) / 2.0, middle + row * above);
            }
        }
        Single { places, width, height: row * TALL, bottom: TOP + row * rows as f64 }
    }

    pub fn bottom(&self) -> f64 {
        self.bottom
    }

    pub fn drawing_words() -> String {
        "One block per task, in the layer after its last predecessor, with the colour of its site.".to_owned()
    }

    pub fn tasks_svg(&self, layered: &Layered<'_>, tally: &Tally) -> Html {
        let end = |task: u32| (self.places[task as usize].0 + self.width, self.places[task as usize].1);
        let begin = |task: u32| self.places[task as usize];
        let mut lines = String::new();
        for edge in &layered.row.job.edges {
            lines.push_str(&curve_path(end(edge.from), begin(edge.to)));
        }
        let way: Vec<String> =
            layered.critical.windows(2).map(|pair| curve_path(end(pair[0] as u32), begin(pair[1] as u32))).collect();
        let mut svg =
            html!("<path class=\"needs\" d=\"{lines}\"/><path class=\"way\" d=\"{}\"/>\n", way.concat(), lines);
        svg += html!("<g class=\"tasks\">\n");
        (0..self.places.len()).for_each(|task| svg += self.task(task, layered, tally));
        svg + html!("</g>\n")
    }

    fn task(&self, task: usize, layered: &Layered<'_>, tally: &Tally) -> Html {
        let row = layered.row;
        let needed = &row.job.tasks[task];
        let ran = &row.tasks[task];
        let (left, middle) = self.places[task];
        let is_critical = layered.critical.binary_search(&task).is_ok();
        let site = ran.site.map_or(String::new(), |site| format!(" at {}", tally.sites[site as usize].name));
        let when = match (ran.start, ran.end) {
            (Some(start), Some(end)) => format!(", from {start} until {end}"),
            (Some(start), None) => format!(", from {start}, still running"),
            (None, _) => ", not started".to_owned(),
        };
        let there = ran.site.map(|site| tally.sites[site as usize].actor);
        let stated = there.and_then(|site| row.job.times_of(task)?.iter().find(|time| time.site == site));
        let runtime = stated.map_or(needed.runtime, |time| time.runtime);
        let class = layered.task_colour(task).map_or("idle".to_owned(), |colour| format!("f{colour}"));
        let mut svg = html!(
            "<g class=\"{class}{}\"><title>{}: {} on {}{site}{when}{}</title><path d=\"M{} {}h{w}v{}h-{w}z\"/>",
            if is_critical { " critical" } else { "" },
            Page::task_in_words(row, task, tally),
            unbroken_micros(runtime.micros()),
            format_counted(needed.cores.into(), "core"),
            if is_critical { ", on the critical path" } else { "" },
            format_coord(left),
            format_coord(middle - self.height / 2.0),
            format_coord(self.height),
            w = format_coord(self.width),
            [class, site, when]
        );
        let letters = (self.width / LETTER) as usize;
        let number = task.to_string();
        let label = tally.job_names.task(row.job.id, task).unwrap_or(&number);
        if self.height >= LABELLED && (letters > 4 || label.chars().count() <= letters) {
            let x = format_coord(left + self.width / 2.0);
            let y = format_coord(middle);
            let label = shorten_text(label, letters);
            svg += html!("<text x=\"{x}\" y=\"{y}\" dy=\".34em\">{label}</text>", x, y, label);
        }
        svg + html!("</g>\n")
    }
}

/// Tasks of each layer from top to bottom.
fn order_layers(layered: &Layered<'_>) -> Vec<Vec<usize>> {
    let mut layers = layered.layers.clone();
    let mut place = vec![0.0; layered.layer_of.len()];
    layers.iter().for_each(|layer| number_layer(layer, &mut place));
    let [mut before, mut after] = [(); 2].map(|()| vec![Vec::new(); layered.layer_of.len()]);
    for edge in &layered.row.job.edges {
        before[edge.to as usize].push(edge.from as usize);
        after[edge.from as usize].push(edge.to as usize);
    }
    for pass in 0..PASSES {
        let (neighbours, is_back) = if pass % 2 == 0 { (&before, false) } else { (&after, true) };
        for step in 0..layers.len() {
            let layer = if is_back { layers.len() - 1 - step } else { step };
            let mean = |task: usize| match &neighbours[task][..] {
                [] => place[task],
                some => some.iter().map(|other| place[*other]).sum::<f64>() / some.len() as f64,
            };
            let mut keyed: Vec<(f64, usize)> = layers[layer].iter().map(|task| (mean(*task), *task)).collect();
            keyed.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
            layers[layer] = keyed.into_iter().map(|(_, task)| task).collect();
            number_layer(&layers[layer], &mut place);
        }
    }
    layers
}

/// Places of the tasks of a layer, around its middle.
fn number_layer(layer: &[usize], place: &mut [f64]) {
    for (number, task) in layer.iter().enumerate() {
        place[*task] = number as f64 - (layer.len() - 1) as f64 / 2.0;
    }
}
