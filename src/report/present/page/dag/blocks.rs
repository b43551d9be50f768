//! Workflows with too many tasks to draw each.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write;

use super::{Layered, SIDE, TOP, WIDTH, curve_path};
use crate::Tally;
use crate::markup::{Html, html};
use crate::palette::COLOURS;
use crate::present::page::html::{format_coord, format_count, format_counted, shorten_text};

/// Most columns, and most lines between blocks.
const COLUMNS: usize = 40;
const LINES: usize = 400;
/// Height of the column with most tasks, least height of a block, and the gap between blocks.
const HEIGHT: f64 = 380.0;
const BLOCK_MIN: f64 = 3.0;
const GAP: f64 = 4.0;
/// Share of the width of a column that its blocks take, and their greatest width.
const WIDE: f64 = 0.45;
const WIDTH_MAX: f64 = 70.0;
/// Widths of the thinnest and the thickest line.
const THIN: f64 = 0.5;
const THICK: f64 = 6.0;

/// A column, and an index of colours; the one after the last colour is of tasks without a site.
type Key = (usize, usize);

/// The tasks of adjacent layers at one site.
#[derive(Clone, Copy, Default)]
struct Block {
    tasks: u64,
    critical: u64,
    top: f64,
    height: f64,
}

pub(super) struct Blocks {
    blocks: BTreeMap<Key, Block>,
    /// Number of dependencies between two blocks of different columns, those with most first.
    lines: Vec<((Key, Key), u64)>,
    /// Number of lines that are not drawn.
    left_out: usize,
    /// Number of layers in a column.
    each: usize,
    columns: usize,
    /// The block of each column with most tasks of the critical path.
    way: Vec<Key>,
    bottom: f64,
}

impl Blocks {
    pub fn of(layered: &Layered<'_>) -> Blocks {
        let each = layered.layers.len().div_ceil(COLUMNS).max(1);
        let columns = layered.layers.len().div_ceil(each);
        let key = |task: usize| (layered.layer_of[task] / each, layered.task_colour(task).unwrap_or(COLOURS));
        let mut blocks: BTreeMap<Key, Block> = BTreeMap::new();
        (0..layered.layer_of.len()).for_each(|task| blocks.entry(key(task)).or_default().tasks += 1);
        layered.critical.iter().for_each(|task| blocks.entry(key(*task)).or_default().critical += 1);
        let mut lines: BTreeMap<(Key, Key), u64> = BTreeMap::new();
        for edge in &layered.row.job.edges {
            let from = key(edge.from as usize);
            let to = key(edge.to as usize);
            if from.0 < to.0 {
                *lines.entry((from, to)).or_default() += 1;
            }
        }
        let mut lines: Vec<((Key, Key), u64)> = lines.into_iter().collect();
        lines.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(&other.0)));
        let left_out = lines.len().saturating_sub(LINES);
        lines.truncate(LINES);
        let most = |column: usize| {
            let own = blocks.range((column, 0)..(column + 1, 0)).filter(|(_, block)| block.critical > 0);
            own.max_by_key(|(key, block)| (block.critical, Reverse(**key))).map(|(key, _)| *key)
        };
        let way = (0..columns).filter_map(most).collect();
        let mut all = Blocks { blocks, lines, left_out, each, columns, way, bottom: 0.0 };
        all.place();
        all
    }

    /// Stacks the blocks of each column around one line.
    fn place(&mut self) {
        let mut tasks = vec![0; self.columns];
        self.blocks.iter().for_each(|((column, _), block)| tasks[*column] += block.tasks);
        let scale = HEIGHT / tasks.iter().copied().max().unwrap_or(1).max(1) as f64;
        let mut heights = vec![-GAP; self.columns];
        for ((column, _), block) in &mut self.blocks {
            block.height = (block.tasks as f64 * scale).max(BLOCK_MIN);
            heights[*column] += block.height + GAP;
        }
        let highest = heights.iter().copied().fold(0.0, f64::max);
        let mut tops: Vec<f64> = heights.iter().map(|height| TOP + (highest - height) / 2.0).collect();
        for ((column, _), block) in &mut self.blocks {
            block.top = tops[*column];
            tops[*column] += block.height + GAP;
        }
        self.bottom = TOP + highest;
    }

    pub fn bottom(&self) -> f64 {
        self.bottom
    }

    pub fn block_words(&self) -> String {
        let layers = match self.each {
            1 => "a layer".to_owned(),
            each => format!("{} adjacent layers", format_count(each as u64)),
        };
        let left_out = match self.left_out {
            0 => String::new(),
            some => format!("; {} thinner lines are left out", format_count(some as u64)),
        };
        format!(
            "These are too many tasks to draw each: a block stands for all tasks of {layers} at one site, and its height \
             for their number; a line stands for all dependencies between two blocks, thicker for more{left_out}. The \
             critical path goes through the block of each column that has most of its tasks."
        )
    }

    fn middle(&self, key: Key) -> f64 {
        self.blocks[&key].top + self.blocks[&key].height / 2.0
    }

    pub fn blocks_svg(&self, layered: &Layered<'_>, tally: &Tally) -> Html {
        let room = (WIDTH - 2.0 * SIDE) / self.columns.max(1) as f64;
        let width = (room * WIDE).min(WIDTH_MAX);
        let left = |column: usize| SIDE + room * column as f64 + (room - width) / 2.0;
        let most = self.lines.first().map_or(1, |(_, count)| *count) as f64;
        let mut svg = Html::default();
        for ((from, to), count) in self.lines.iter().rev() {
            let thick = THIN + (THICK - THIN) * (*count as f64 / most).sqrt();
            let line = curve_path((left(from.0) + width, self.middle(*from)), (left(to.0), self.middle(*to)));
            svg += html!("<path class=\"needs\" stroke-width=\"{thick:.1}\" d=\"{line}\"/>\n", thick, line);
        }
        for (&(column, colour), block) in &self.blocks {
            let first = column * self.each + 1;
            let last = (first + self.each - 1).min(layered.layers.len());
            let layers = if first == last { format!("layer {first}") } else { format!("layers {first} to {last}") };
            let site = match layered.sites.get(colour) {
                Some(_) if colour == COLOURS - 1 && layered.sites.len() > COLOURS => "at other sites".to_owned(),
                Some(site) => format!("at {}", shorten_text(&tally.sites[*site as usize].name, 40)),
                None => "without a site".to_owned(),
            };
            let critical = match block.critical {
                0 => String::new(),
                some => format!(", {} of them on the critical path", format_count(some)),
            };
            let class = if colour < COLOURS { format!("f{colour}") } else { "idle".to_owned() };
            svg += html!(
                "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\">\
                 <title>{layers}: {} {site}{critical}</title></rect>\n",
                format_coord(left(column)),
                format_coord(block.top),
                format_coord(width),
                format_coord(block.height),
                format_counted(block.tasks, "task"),
                [class, layers, site, critical]
            );
        }
        let mut way = String::new();
        for pair in self.way.windows(2) {
            let from = (left(pair[0].0) + width, self.middle(pair[0]));
            let to = (left(pair[1].0), self.middle(pair[1]));
            let _ = write!(way, "{}", curve_path(from, to));
        }
        for key in &self.way {
            let from = left(key.0);
            let to = from + width;
            let y = self.middle(*key);
            let _ = write!(way, "M{from:.1} {y:.1}H{to:.1}");
        }
        svg += html!("<path class=\"way\" d=\"{way}\"/>\n", way);
        svg
    }
}
