//! A plan as a picture: what each core runs, and below it what each link carries.

use std::fmt::Write;

use super::format_number;
use crate::axes::{Axis, PlotArea};
use crate::markup::{Html, html};
use crate::palette::{COLOURS, ON_LIGHT, colour_rules};
use hansa_sim::systems::plans::Schedule;

const WIDTH: f64 = 1100.0;
const LEFT: f64 = 196.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 64.0;
const CORE: f64 = 20.0;
const FLOW: f64 = 11.0;
/// Most height of a lane of flows: the rows of a link that many flows share at a time are lower. A lane that is mostly
/// empty has less, down to this share of it.
const FLOWS: f64 = 110.0;
const EMPTY: f64 = 0.4;
/// Least height of a row of flows.
const FLOW_MIN: f64 = 0.5;
/// Least height of a row with labels.
const LABELLED: f64 = 9.0;
const GAP: f64 = 8.0;
/// Letters of a name that fit in front.
const NAME: usize = 29;
/// More rows than these are not drawn: a chart with more is unreadable.
const ROWS_MAX: usize = 2_000;

/// A bar: from and until in seconds, its row, and what it is.
struct Bar {
    start: f64,
    end: f64,
    row: usize,
    class: String,
    label: String,
    tip: String,
}

/// Rows of one height with a name in front.
struct GanttLane {
    name: String,
    rows: usize,
    height: f64,
    bars: Vec<Bar>,
}

/// Gantt chart of a plan, as SVG.
pub(super) fn gantt_picture(plan: &Schedule) -> Html {
    let mut lanes = site_lanes(plan);
    lanes.extend(link_lanes(plan));
    let all = lanes.len();
    let mut rows = 0;
    lanes.retain(|lane| {
        rows += lane.rows;
        rows <= ROWS_MAX
    });
    let left_out = all - lanes.len();

    let end = plan.realistic.max(plan.planned).max(f64::MIN_POSITIVE);
    let height: f64 = lanes.iter().map(|lane| lane.rows as f64 * lane.height + GAP).sum::<f64>() + TOP + 40.0;
    let mut svg = gantt_head(plan, height, left_out);
    let axis = Axis::linear(0.0, end, 10.0);
    let area = PlotArea { left: LEFT, right: WIDTH - RIGHT, top: TOP - 6.0, bottom: height - 36.0 };
    let x = |time: f64| area.x(axis.share(time));
    svg += html!(
        "<g class=\"n\">{}</g>\n",
        area.lines_down(&axis.tick_labels(|time| format!("{} s", format_number(time))))
    );
    let mut top = TOP;
    for lane in &lanes {
        draw_lane(&mut svg, lane, top, &x);
        top += lane.rows as f64 * lane.height + GAP;
    }
    let planned = x(plan.planned);
    svg += html!(
        "<line class=\"planned\" x1=\"{planned:.2}\" x2=\"{planned:.2}\" y1=\"{:.1}\" y2=\"{top:.1}\"/>\n</svg>\n",
        TOP - 6.0,
        [planned, top]
    );
    svg
}

fn gantt_head(plan: &Schedule, height: f64, left_out: usize) -> Html {
    let title = format!("{}, planned by {}", plan.workflow, plan.policy);
    let mut below = format!(
        "{} s on the shared network (filled), {} s as planned (outlined; dashed line); transfers have the colour of \
         the task that sends them",
        format_number(plan.realistic),
        format_number(plan.planned)
    );
    if left_out > 0 {
        let _ = write!(below, "; {left_out} more lanes are left out");
    }
    let colours = colour_rules(&ON_LIGHT, |number, colour| format!(".c{number}{{fill:{colour}}}"));
    html!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {WIDTH} {height:.0}\" font-family=\"sans-serif\" font-size=\"11\">\n<title>{title}</title>\n\
         <style>{STYLE}{colours}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"12\" y=\"22\" font-size=\"16\" fill=\"#222\">{title}</text>\n\
         <text x=\"12\" y=\"40\" fill=\"#555\">{below}</text>\n",
        [WIDTH, height, title, STYLE, colours, below]
    )
}

const STYLE: &str = ".t{stroke:#fff;stroke-width:.6}.p{fill:none;stroke:#333;stroke-width:.8;stroke-dasharray:2 1.5}\
    .f{fill-opacity:.35}.l{fill:#fff;pointer-events:none}.d{fill:#222;pointer-events:none}.n{fill:#333}\
    .b{fill:#f6f7f8}.planned{stroke:#c33;stroke-width:1;stroke-dasharray:5 4}";

fn site_lanes(plan: &Schedule) -> Vec<GanttLane> {
    let mut lanes = Vec::new();
    for (site, row) in plan.sites.iter().enumerate() {
        let mut bars = Vec::new();
        let mut used: Vec<u32> =
            plan.tasks.iter().filter(|task| task.site == site).flat_map(|t| t.cores.clone()).collect();
        used.sort_unstable();
        used.dedup();
        for (number, task) in plan.tasks.iter().enumerate().filter(|(_, task)| task.site == site) {
            for core in &task.cores {
                let row = used.partition_point(|other| other < core);
                bars.push(bar_of_task(plan, number, row));
                bars.push(Bar {
                    start: task.planned_start,
                    end: task.planned_end,
                    row,
                    class: "p".to_owned(),
                    label: String::new(),
                    tip: String::new(),
                });
            }
        }
        let idle = match row.cores as usize - used.len() {
            0 => String::new(),
            idle => format!(" (+{idle} idle)"),
        };
        lanes.push(GanttLane { name: format!("{}{idle}", row.name), rows: used.len().max(1), height: CORE, bars });
    }
    lanes
}

fn bar_of_task(plan: &Schedule, task: usize, row: usize) -> Bar {
    let which = &plan.tasks[task];
    Bar {
        start: which.start,
        end: which.end,
        row,
        class: format!("t c{}", task % COLOURS),
        label: which.name.clone(),
        tip: format!(
            "{}: {} to {} s on {}; planned {} to {} s",
            which.name,
            format_number(which.start),
            format_number(which.end),
            plan.sites[which.site].name,
            format_number(which.planned_start),
            format_number(which.planned_end)
        ),
    }
}

/// The transfers on each link, above one another where they share it.
fn link_lanes(plan: &Schedule) -> Vec<GanttLane> {
    let mut lanes = Vec::new();
    for (link, name) in plan.links.iter().enumerate() {
        let on = plan.transfers.iter().filter(|transfer| transfer.links.contains(&(link as u32)));
        let mut on: Vec<_> = on.filter(|transfer| transfer.end > transfer.release).collect();
        if on.is_empty() {
            continue;
        }
        on.sort_by(|a, b| a.release.total_cmp(&b.release).then((a.from, a.to).cmp(&(b.from, b.to))));
        let mut until: Vec<f64> = Vec::new();
        let mut bars = Vec::new();
        for transfer in on {
            let row = until.iter().position(|until| *until <= transfer.release).unwrap_or(until.len());
            if row == until.len() {
                until.push(0.0);
            }
            until[row] = transfer.end;
            let [from, to] = [transfer.from, transfer.to].map(|task| plan.tasks[task].name.as_str());
            bars.push(Bar {
                start: transfer.release,
                end: transfer.end,
                row,
                class: format!("f c{}", transfer.from % COLOURS),
                label: format!("{from} → {to}"),
                tip: format!(
                    "{from} to {to}: {} to {} s",
                    format_number(transfer.release),
                    format_number(transfer.end)
                ),
            });
        }
        let rows = until.len() as f64;
        let used: f64 = bars.iter().map(|bar: &Bar| bar.end - bar.start).sum::<f64>() / (rows * plan.realistic);
        let height = (FLOWS * used.clamp(EMPTY, 1.0) / rows).clamp(FLOW_MIN, FLOW);
        lanes.push(GanttLane { name: name.clone(), rows: until.len(), height, bars });
    }
    lanes
}

fn draw_lane(svg: &mut Html, lane: &GanttLane, top: f64, x: &dyn Fn(f64) -> f64) {
    let height = lane.rows as f64 * lane.height;
    let mut name: String = lane.name.chars().take(NAME).collect();
    if lane.name.chars().count() > NAME {
        name.push('…');
    }
    *svg += html!(
        "<rect class=\"b\" x=\"{LEFT}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{height:.1}\"/>\
         <text class=\"n\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n",
        WIDTH - LEFT - RIGHT,
        LEFT - 8.0,
        top + height / 2.0 + 4.0,
        &name,
        [LEFT, top, height]
    );
    for bar in &lane.bars {
        let from = x(bar.start);
        let to = x(bar.end);
        let y = top + bar.row as f64 * lane.height;
        let width = (to - from).max(0.5);
        let class = &bar.class;
        let tip = &bar.tip;
        *svg += html!(
            "<rect class=\"{class}\" x=\"{from:.2}\" y=\"{:.1}\" width=\"{width:.2}\" height=\"{:.1}\"",
            y + f64::min(1.0, lane.height / 8.0),
            lane.height - f64::min(2.0, lane.height / 4.0),
            [class, from, width]
        );
        *svg += if tip.is_empty() { html!("/>\n") } else { html!("><title>{tip}</title></rect>\n", tip) };
        let size = (lane.height - 3.0).min(11.0);
        if lane.height >= LABELLED
            && !bar.label.is_empty()
            && bar.label.chars().count() as f64 * size * 0.58 < width - 4.0
        {
            *svg += html!(
                "<text class=\"{}\" font-size=\"{size:.0}\" x=\"{:.2}\" y=\"{:.1}\">{}</text>\n",
                if class.starts_with('f') { "d" } else { "l" },
                from + 3.0,
                y + lane.height / 2.0 + size * 0.36,
                &bar.label,
                size
            );
        }
    }
}
