//! The page's section: sites side by side, yields over time, stretch against work, and the jobs of each node.

use std::fmt::Write;

use super::fared::SharedJob;
use super::{Sharing, SharingSites};
use crate::Tally;
use crate::axes::Axis;
use crate::markup::{Html, cells, html};
use crate::palette::COLOURS;
use crate::present::page::chart::{
    BOTTOM, Figure, LEFT, Levels, RIGHT, Scale, TOP, WIDTH, plot_area, time_axis, x_across,
};
use crate::present::page::html::{
    Digits, format_coord, format_count, format_counted, shorten_text, table_html, unbroken_number,
};
use crate::present::page::stacks::{STEPS, Strips};
use crate::present::page::{CHART, LONG, PARTS, Page};
use hansa_sim::grid::sharing::bounded_stretch;
use hansa_sim::math;

/// Sites that are shown, before the rest is left out.
const SITES_MAX: usize = 40;
/// Sites whose nodes are drawn.
const DRAWN_MAX: usize = 6;

pub fn sharing_section(known: &SharingSites, page: &Page<'_>) -> Html {
    let Some(sharing) = page.results.read_part::<Sharing>() else { return Html::default() };
    let tally = page.tally;
    let sites: Vec<usize> = tally.sites_of(&known.systems);
    let shared: Vec<usize> = sites.iter().copied().filter(|site| tally.sites[*site].is_shared).collect();
    let table = side_by_side(&sharing);
    let (first, last) = if sharing.sites.len() > LONG { (Html::default(), table) } else { (table, Html::default()) };
    let mut html = first;
    html += yields_chart(page, &shared);
    html += stretches_chart(page, known, &sites);
    for &site in shared.iter().take(DRAWN_MAX) {
        html += nodes_chart(page, site);
    }
    if shared.len() > DRAWN_MAX {
        html += html!("<p>The nodes of the other {} sites are not drawn.</p>\n", shared.len() - DRAWN_MAX);
    }
    html + last
}

fn side_by_side(sharing: &Sharing) -> Html {
    let columns = ["Site", "Scheduler", "#Jobs that ended", "#Mean stretch", "#Largest", "#Bound", "#Underutilisation"];
    let volumes = Digits::for_numbers(sharing.sites.iter().flat_map(|site| [site.paused_gb, site.migrated_gb]));
    let moves_columns =
        ["Site", "#Pauses", "#An hour", "#A job", "#GB paused", "#Moves", "#An hour", "#A job", "#GB moved"];
    let rest = match sharing.sites.len().saturating_sub(SITES_MAX) {
        0 => Html::default(),
        more => html!("<p>And {more} more.</p>\n", more),
    };
    let note = html!(
        "<p>A job's stretch is the time it took divided by the time it would have taken on nodes of its own, no \
                time counting as less than 10 s; the bound is the largest stretch that no schedule could have avoided, \
                even if it had known all jobs beforehand and memory were unlimited; it is there for up to 20,000 jobs. \
                Underutilisation is the additional work that the nodes could have done for jobs that were present, as \
                a share of what they did.</p>\n"
    );
    let sites = || sharing.sites.iter().take(SITES_MAX);
    let moved = table_html(
        &moves_columns,
        sites().filter(|site| site.shared).map(|site| {
            cells![
                &site.name,
                format_count(site.preemptions),
                text_or_none(site.preemptions_per_hour, two_decimals),
                text_or_none(site.preemptions_per_job, two_decimals),
                volumes.show_number(site.paused_gb),
                format_count(site.migrations),
                text_or_none(site.migrations_per_hour, two_decimals),
                text_or_none(site.migrations_per_job, two_decimals),
                volumes.show_number(site.migrated_gb),
            ]
        }),
    );
    table_html(
        &columns,
        sites().map(|site| {
            cells![
                &site.name,
                html!("<code>{}</code>", &site.scheduler),
                format_count(site.jobs),
                text_or_none(site.mean_stretch, two_decimals),
                text_or_none(site.max_stretch, two_decimals),
                text_or_none(site.bound.map(|bound| bound.1), two_decimals),
                text_or_none(site.underutilisation, |missed| format!("{missed:.3}")),
            ]
        }),
    ) + rest
        + note
        + moved
}

fn two_decimals(value: f64) -> String {
    format!("{value:.2}")
}

fn text_or_none(value: Option<f64>, show: fn(f64) -> String) -> String {
    value.map_or("–".to_owned(), show)
}

/// Mean yield of the jobs on nodes.
fn yields_chart(page: &Page<'_>, shared: &[usize]) -> Html {
    let tally = page.tally;
    let window = page.window;
    let groups = shared.len().min(COLOURS);
    let empty = || vec![Levels::new(window, PARTS); groups];
    let mut given = empty();
    let mut there = empty();
    for (group, stint) in job_stints(tally, shared) {
        given[group.min(groups - 1)].add(stint.0, stint.1, stint.2);
        there[group.min(groups - 1)].add(stint.0, stint.1, 1.0);
    }
    let scale = Scale::new(1.08, CHART);
    let mut body = scale.axis("mean yield");
    for (group, (given, there)) in given.iter().zip(&there).enumerate() {
        let given = given.part_means();
        let there = there.part_means();
        let mut path = String::new();
        let mut is_drawn = false;
        for part in 0..PARTS {
            if there[part] <= 1e-9 {
                is_drawn = false;
                continue;
            }
            let y = format_coord(scale.y(given[part] / there[part]));
            let begin = if is_drawn { format!("V{y}") } else { format!("M{} {y}", format_coord(place_of_part(part))) };
            let _ = write!(path, "{begin}H{}", format_coord(place_of_part(part + 1)));
            is_drawn = true;
        }
        let yields = given.iter().zip(&there).map(|(given, there)| match *there <= 1e-9 {
            true => String::new(),
            false => unbroken_number(given / there),
        });
        let yields = yields.collect::<Vec<_>>().join(";");
        body += html!("<path class=\"line l{group}\" data-v=\"{yields}\" d=\"{path}\"/>\n", group, yields, path);
    }
    body += time_axis(window, CHART - BOTTOM);
    Figure {
        id: "yields",
        title: "Mean yield (CPU received / CPU needed)",
        desc: "One line per site over time: the mean yield of the jobs that were on nodes.".to_owned(),
        note: format!(
            "Each of the {PARTS} steps is a mean over jobs and time. Jobs that are paused or waiting do not count."
        ),
        legend: sites_legend(tally, shared),
        height: CHART,
        body,
    }
    .html()
}

fn place_of_part(part: usize) -> f64 {
    x_across(part as f64 / PARTS as f64)
}

/// Stints of each job at these sites, with its share.
fn job_stints<'a>(
    tally: &'a Tally,
    sites: &'a [usize],
) -> impl Iterator<Item = (usize, (hansa_sim::time::Time, hansa_sim::time::Time, f64))> + 'a {
    let tasks = tally.jobs.values().flat_map(|row| row.tasks.first());
    tasks.flat_map(move |task| {
        let group = task.site.and_then(|site| sites.iter().position(|other| *other == site as usize));
        group.into_iter().flat_map(move |group| {
            task.stints(tally.last).map(move |stint| (group, (stint.from, stint.to, stint.share)))
        })
    })
}

fn sites_legend(tally: &Tally, sites: &[usize]) -> Vec<(String, String)> {
    let groups = sites.len().min(COLOURS);
    (0..groups).map(|at| (format!("f{at}"), site_label(at, groups, sites, tally))).collect()
}

fn site_label(at: usize, groups: usize, sites: &[usize], tally: &Tally) -> String {
    match at + 1 == groups && sites.len() > groups {
        true => format!("{} other sites", sites.len() - groups + 1),
        false => shorten_text(&tally.sites[sites[at]].name, 40),
    }
}

/// Dots that are drawn, before most are left out.
const DOTS_MAX: usize = 4_000;

/// Work and stretch of each job as a dot, on logarithmic scales.
fn stretches_chart(page: &Page<'_>, known: &SharingSites, sites: &[usize]) -> Html {
    let tally = page.tally;
    let groups = sites.len().min(COLOURS);
    let mut dots: Vec<(usize, f64, f64)> = Vec::new();
    for row in tally.jobs.values().filter(|row| known.systems.contains(&row.system)) {
        let site = row.tasks.first().and_then(|task| task.site).map(|site| site as usize);
        let Some(group) = site.and_then(|site| sites.iter().position(|other| *other == site)) else { continue };
        let Some(fared) = SharedJob::of(row) else { continue };
        let work = fared.timed.runtime.micros() as f64 / 1e6 * fared.timed.need.total_cpu();
        let stretch = bounded_stretch(fared.end.since(fared.timed.submit), fared.timed.runtime);
        dots.push((group.min(groups - 1), work.max(1e-6), stretch));
    }
    if dots.is_empty() {
        return Html::default();
    }
    let every = dots.len().div_ceil(DOTS_MAX);
    let (least, most) =
        dots.iter().fold((f64::INFINITY, 0.0f64), |(least, most), dot| (dot.1.min(least), dot.1.max(most)));
    let works = Axis::logarithmic(least, most);
    let largest = dots.iter().map(|dot| dot.2).fold(2.0, f64::max);
    let stretches = Axis { from: 1.0, to: math::pow(largest, 1.05), step: None };
    // Most stretches are small, so lines at powers of ten alone would be too few.
    let lines = stretches.tick_numbers().into_iter().flat_map(|power| [1.0, 2.0, 5.0].map(|times| times * power));
    let lines = lines.filter(|line| *line <= stretches.to).map(|line| (stretches.share(line), unbroken_number(line)));
    let area = plot_area(CHART - BOTTOM);
    let mut body = area.vertical_axis(&lines.collect::<Vec<_>>(), "stretch");
    body += html!(
        "<g class=\"axis\">{}{}{}</g>\n",
        area.draw_ticks(&works.tick_labels(unbroken_number)),
        area.draw_base(),
        area.name_below("work of the job, node seconds")
    );
    for (group, work, stretch) in dots.iter().step_by(every) {
        let x = format_coord(area.x(works.share(*work)));
        let y = format_coord(area.y(stretches.share(*stretch)));
        body += html!("<circle class=\"f{group}\" cx=\"{x}\" cy=\"{y}\" r=\"2.5\"/>\n", group, x, y);
    }
    let all = if every == 1 { "One dot per job".to_owned() } else { format!("One dot per {every} jobs") };
    Figure {
        id: "stretches",
        title: "Stretch of jobs by their work",
        desc: "One dot per job: to the right the more work, upwards the larger the stretch.".to_owned(),
        note: format!("{all}. Both axes are logarithmic."),
        legend: sites_legend(tally, sites),
        height: CHART,
        body,
    }
    .html()
}

const STRIPS_MAX: u32 = 32;
const STRIP: f64 = 16.0;

/// The nodes of a site, one below the other.
fn nodes_chart(page: &Page<'_>, site: usize) -> Html {
    let facts = &page.tally.sites[site];
    let strips = Strips::new(facts.cores, STRIPS_MAX, TOP, STRIP);
    let height = TOP + STRIP * f64::from(strips.count()) + BOTTOM;
    let mut body = strips.shares_svg(page.tally, page.window, site);
    for strip in 0..strips.count() {
        let (first, last) = strips.nodes(strip);
        let name = if first == last { first.to_string() } else { format!("{first}-{last}") };
        let bottom = strips.strip_bottom(strip);
        body += html!(
            "<g class=\"axis\"><path d=\"M{LEFT} {0}H{1}\"/><text x=\"{2}\" y=\"{3}\" \
             text-anchor=\"end\">{name}</text></g>\n",
            format_coord(bottom),
            WIDTH - RIGHT,
            LEFT - 7.0,
            format_coord(bottom - 3.0),
            [LEFT, name]
        );
    }
    body += time_axis(page.window, height - BOTTOM);
    let together = match strips.nodes_each() {
        1 => String::new(),
        nodes => format!(" A row is {} together.", format_counted(nodes.into(), "node")),
    };
    Figure {
        id: &format!("stacks-{site}"),
        title: &format!("Nodes of {}, and the shares that jobs have of them", facts.name),
        desc: "One strip per node over time, filled by the shares of its processors that jobs have.".to_owned(),
        note: format!(
            "A full strip is a node that is fully allocated. Colours only distinguish jobs from their neighbours; each \
             of the {STEPS} steps is a mean.{together}"
        ),
        legend: Vec::new(),
        height,
        body,
    }
    .html()
}
