//! Plans to choose from: what each costs, and how long it takes.

use std::fmt::Write;

use super::{aligned_columns, format_number};
use crate::axes::{Axis, PlotArea};
use crate::markup::{Html, html};
use crate::palette::{GROUND, INK, ON_LIGHT, SOFT};
use hansa_sim::settings::{format_counted, make_printable};
use hansa_sim::systems::plans::{Choice, Choices};

/// The plans first, the chosen one marked; then its tasks.
pub(super) fn choices_table(of: &Choices) -> String {
    let mut text = format!("{}\n", make_printable(&plans_headline(of)));
    let sites: Vec<String> = of
        .sites
        .iter()
        .map(|site| {
            let name = &site.name;
            let cores = site.cores;
            let slots = site.slots;
            let busy = match (site.running, site.waiting) {
                (0, 0) => "idle".to_owned(),
                (running, waiting) => format!("{running} run, {waiting} wait"),
            };
            let processors = format_counted(cores.into(), "processor");
            format!("{name} ({processors}, {busy}, {} advertised)", format_counted(slots as u64, "slot"))
        })
        .collect();
    let _ = writeln!(text, "{} s after the start: {}", format_number(of.at), sites.join("; "));
    let _ = writeln!(
        text,
        "the tasks take {} processor-s; alpha {} selects the plan with a star",
        format_number(of.work),
        of.alpha
    );
    if let Some(limits) = plan_limits(of) {
        let _ = writeln!(text, "{limits}");
    }

    let rows: Vec<Vec<String>> = of
        .plans
        .iter()
        .enumerate()
        .map(|(place, plan)| {
            let star = if place == of.chosen { "*" } else { "" };
            let beaten = if plan.dominated { "dominated by another plan" } else { "" };
            let numbers = [format_number(plan.cost), format_number(plan.makespan), plan.bookings.to_string()];
            [star.to_owned(), beaten.to_owned()].into_iter().chain(numbers).collect::<Vec<_>>()
        })
        .collect();
    text.push_str(&aligned_columns(&["plan", "", "cost (processor-s)", "makespan (s)", "bookings"], &rows, 2..5));

    let rows: Vec<Vec<String>> = of
        .tasks
        .iter()
        .map(|task| {
            let numbers = [task.cores.to_string(), format_number(task.start), format_number(task.end)];
            [make_printable(&task.task), task.site.clone()].into_iter().chain(numbers).collect::<Vec<_>>()
        })
        .collect();
    text.push_str(&aligned_columns(&["task", "site", "processors", "starts (s)", "ends (s)"], &rows, 2..5));
    text
}

/// The limits of plans, if there are any.
fn plan_limits(of: &Choices) -> Option<String> {
    let left_out = of.left_out?;
    let most = [of.budget.map(|most| format!("cost at most {} processor-s", format_number(most)))];
    let longest = of.deadline.map(|longest| format!("take at most {} s", format_number(longest)));
    let limits: Vec<String> = most.into_iter().flatten().chain(longest).collect();
    Some(format!("plans {}; {left_out} that would not are left out", limits.join(" and ")))
}

fn plans_headline(of: &Choices) -> String {
    let better = of.plans.iter().filter(|plan| !plan.dominated).count();
    let sum = if of.is_weighted { format!(" by the weighted sum of alpha {}", of.alpha) } else { String::new() };
    format!(
        "{} on {}, planned by {}{sum}: {} on the Pareto front, of {} considered",
        of.workflow,
        format_counted(of.sites.len() as u64, "site"),
        of.policy,
        format_counted(better as u64, "plan"),
        of.evaluated
    )
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 460.0;
const AREA: PlotArea = PlotArea { left: 92.0, right: WIDTH - 28.0, top: 64.0, bottom: HEIGHT - 56.0 };

/// Makespan to the right, cost upwards; along the line an earlier end costs more.
pub(super) fn scatter_picture(of: &Choices) -> Html {
    let times = padded_axis(of.plans.iter().map(|plan| plan.makespan));
    let costs = padded_axis(of.plans.iter().map(|plan| plan.cost).chain([of.work]));
    let title = plans_headline(of);
    let mut below = format!(
        "ringed: the plan that alpha {} selects; dashed: the processor-seconds of the tasks themselves",
        of.alpha
    );
    plan_limits(of).into_iter().for_each(|limits| below.push_str(&format!("; {limits}")));
    let mut svg = html!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"11\" fill=\"{INK}\">\n\
         <title>{title}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"{GROUND}\"/>\n\
         <text x=\"12\" y=\"22\" font-size=\"14\">{title}</text>\n\
         <text x=\"12\" y=\"40\" fill=\"{SOFT}\">{below}</text>\n",
        [WIDTH, HEIGHT, INK, GROUND, SOFT, title, below]
    );
    svg += AREA.lines_down(&times.tick_labels(format_number)) + AREA.name_below("makespan (s)");
    svg += AREA.lines_across(&costs.tick_labels(format_number)) + AREA.name_beside("cost (processor-s)");
    svg += html!(
        "\n<path class=\"work\" stroke=\"{SOFT}\" stroke-dasharray=\"5 4\" d=\"M{} {:.1}H{}\"/>\n",
        AREA.left,
        AREA.y(costs.share(of.work)),
        AREA.right,
        SOFT
    );
    svg += html!(
        "<path fill=\"none\" stroke=\"{}\" d=\"{}\"/>\n",
        ON_LIGHT[4],
        front_path(of, &|plan| place_of_choice(plan, costs, times))
    );
    for (place, plan) in of.plans.iter().enumerate() {
        put_plan(&mut svg, plan, place == of.chosen, place_of_choice(plan, costs, times));
    }
    svg += html!("</svg>\n");
    svg
}

fn place_of_choice(plan: &Choice, costs: Axis, times: Axis) -> (f64, f64) {
    (AREA.x(times.share(plan.makespan)), AREA.y(costs.share(plan.cost)))
}

/// The best plans, from each straight up and across to the next: there is nothing between two, so an earlier end costs
/// as much as the other one.
fn front_path(of: &Choices, at: &dyn Fn(&Choice) -> (f64, f64)) -> String {
    let mut path = String::new();
    for plan in of.plans.iter().filter(|plan| !plan.dominated) {
        let (x, y) = at(plan);
        let _ = if path.is_empty() { write!(path, "M{x:.1} {y:.1}") } else { write!(path, "V{y:.1}H{x:.1}") };
    }
    path
}

fn put_plan(svg: &mut Html, plan: &Choice, is_chosen: bool, (x, y): (f64, f64)) {
    let fill = if plan.dominated { GROUND } else { ON_LIGHT[0] };
    let tip = format!(
        "{} s for {} processor-s, {}",
        format_number(plan.makespan),
        format_number(plan.cost),
        format_counted(plan.bookings as u64, "booking")
    );
    *svg += html!(
        "<circle class=\"plan\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{fill}\" stroke=\"{}\">\
         <title>{tip}</title></circle>\n",
        ON_LIGHT[0],
        [x, y, fill, tip]
    );
    if is_chosen {
        *svg += html!(
            "<circle class=\"chosen\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"9\" fill=\"none\" stroke=\"{}\" \
             stroke-width=\"2\"/>\n",
            ON_LIGHT[5],
            [x, y]
        );
    }
}

/// An axis with some room on both sides of all values.
fn padded_axis(values: impl Iterator<Item = f64>) -> Axis {
    let (least, most) =
        values.fold((f64::INFINITY, 0.0f64), |(least, most), value| (least.min(value), most.max(value)));
    let room = ((most - least) * 0.06).max(most * 0.01).max(1e-6);
    Axis::linear((least - room).max(0.0), most + room, 8.0)
}
