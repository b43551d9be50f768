//! "Workflows": the tasks of the largest jobs with their dependencies, in layers from left to right.
//!
//! A task is in the layer after its last predecessor. Up to `TASKS_MAX` tasks are drawn individually (`single.rs`). Of
//! larger jobs, the tasks of adjacent layers at one site are one block, and dependencies between two blocks one line
//! (`blocks.rs`), so the size of a picture does not depend on the size of a job.

mod blocks;
mod single;

use std::cmp::Reverse;

use self::blocks::Blocks;
use self::single::Single;
use super::Page;
use super::chart::{Figure, TOP, WIDTH};
use super::html::{format_count, format_counted, shorten_text, unbroken_micros};
use crate::Tally;
use crate::markup::{Html, html};
use crate::palette::COLOURS;
use crate::referee::tally::JobRow;

/// Most jobs that are drawn.
const JOBS: usize = 2;
/// Most tasks, dependencies, layers and tasks of a layer that are drawn individually.
const TASKS_MAX: usize = 150;
const EDGES_MAX: usize = 1_000;
const LAYERS_MAX: usize = 40;
const LAYER_MAX: usize = 60;
/// Margins of pictures.
const SIDE: f64 = 8.0;
const BELOW: f64 = 8.0;

/// A job in layers.
struct Layered<'a> {
    row: &'a JobRow,
    /// Layer of each task.
    layer_of: Vec<usize>,
    /// Tasks of each layer.
    layers: Vec<Vec<usize>>,
    /// Tasks of the critical path, ascending.
    critical: Vec<usize>,
    /// Sites with tasks of the job, those with most first; the last colour is of all others.
    sites: Vec<u32>,
}

impl<'a> Layered<'a> {
    /// O(tasks log tasks + edges).
    fn of(row: &'a JobRow, tally: &Tally) -> Layered<'a> {
        let mut layer_of = vec![0; row.tasks.len()];
        // A task has a larger number than its predecessors, and edges are ascending by their first task.
        for edge in &row.job.edges {
            layer_of[edge.to as usize] = layer_of[edge.to as usize].max(layer_of[edge.from as usize] + 1);
        }
        let mut layers = vec![Vec::new(); layer_of.iter().max().map_or(0, |last| last + 1)];
        layer_of.iter().enumerate().for_each(|(task, layer)| layers[*layer].push(task));
        let mut at: Vec<(u64, u32)> = (0..tally.sites.len() as u32).map(|site| (0, site)).collect();
        row.tasks.iter().filter_map(|task| task.site).for_each(|site| at[site as usize].0 += 1);
        at.retain(|(tasks, _)| *tasks > 0);
        at.sort_by_key(|(tasks, site)| (Reverse(*tasks), *site));
        let sites = at.into_iter().map(|(_, site)| site).collect();
        Layered { row, layer_of, layers, critical: tally.critical_tasks(row), sites }
    }

    fn fits_singly(&self) -> bool {
        self.row.tasks.len() <= TASKS_MAX
            && self.row.job.edges.len() <= EDGES_MAX
            && self.layers.len() <= LAYERS_MAX
            && self.layers.iter().all(|layer| layer.len() <= LAYER_MAX)
    }

    /// Colour of a task: that of its site. None if it has none.
    fn task_colour(&self, task: usize) -> Option<usize> {
        let site = self.row.tasks[task].site?;
        self.sites.iter().position(|other| *other == site).map(|place| place.min(COLOURS - 1))
    }

    fn legend(&self, tally: &Tally) -> Vec<(String, String)> {
        let own = if self.sites.len() > COLOURS { COLOURS - 1 } else { self.sites.len() };
        let names = self.sites[..own].iter().map(|site| shorten_text(&tally.sites[*site as usize].name, 40));
        let mut legend: Vec<(String, String)> =
            names.enumerate().map(|(colour, name)| (format!("f{colour}"), name)).collect();
        if self.sites.len() > own {
            legend.push((format!("f{own}"), format!("{} other sites", self.sites.len() - own)));
        }
        legend.push(("way".to_owned(), "critical path".to_owned()));
        legend
    }
}

/// A smooth line from left to right.
fn curve_path((left, from): (f64, f64), (right, to): (f64, f64)) -> String {
    let middle = (left + right) / 2.0;
    format!("M{left:.1} {from:.1}C{middle:.1} {from:.1} {middle:.1} {to:.1} {right:.1} {to:.1}")
}

impl Page<'_> {
    /// Empty if no job has dependencies.
    pub(super) fn workflows_section(&self) -> Html {
        let mut jobs: Vec<&JobRow> = self.tally.jobs.values().filter(|row| !row.job.edges.is_empty()).collect();
        let all = jobs.len();
        jobs.sort_by_key(|row| (Reverse(row.tasks.len()), row.job.id));
        jobs.truncate(JOBS);
        let drawn =
            jobs.iter().enumerate().map(|(place, row)| self.workflow_figure(place, &Layered::of(row, self.tally)));
        let drawn: Html = drawn.collect();
        match all {
            0 => Html::default(),
            all if all <= JOBS => drawn,
            all => html!(
                "<p>{} have tasks that depend on each other; the {JOBS} with most tasks are drawn.</p>\n{drawn}",
                format_counted(all as u64, "job"),
                [JOBS, drawn]
            ),
        }
    }

    fn workflow_figure(&self, place: usize, layered: &Layered<'_>) -> Html {
        let row = layered.row;
        let tally = self.tally;
        let name = tally.job_name(row.job.id).map_or(String::new(), |name| format!(" ({})", shorten_text(name, 60)));
        let size = format!(
            "{} in {} with {}",
            format_counted(row.tasks.len() as u64, "task"),
            format_counted(layered.layers.len() as u64, "layer"),
            if row.job.edges.len() == 1 {
                "1 dependency".to_owned()
            } else {
                format!("{} dependencies", format_count(row.job.edges.len() as u64))
            }
        );
        let path = format!(
            "The critical path has {} and takes {}, without waits{}.",
            format_counted(layered.critical.len() as u64, "task"),
            unbroken_micros(row.critical_path.micros()),
            if row.job.edges.iter().any(|edge| edge.data > 0) { " and transfers" } else { "" }
        );
        let (body, bottom, how) = if layered.fits_singly() {
            let single = Single::of(layered);
            (single.tasks_svg(layered, tally), single.bottom(), Single::drawing_words())
        } else {
            let blocks = Blocks::of(layered);
            (blocks.blocks_svg(layered, tally), blocks.bottom(), blocks.block_words())
        };
        Figure {
            id: &format!("dag-{place}"),
            title: &format!("Workflow of job {}{name}", tally.number(row.job.id)),
            desc: format!("{size}, from left to right. {path}"),
            note: format!("{size}. {path} {how}"),
            legend: layered.legend(tally),
            height: bottom + BELOW,
            body,
        }
        .html()
    }

    /// Number and name of a task.
    fn task_in_words(row: &JobRow, task: usize, tally: &Tally) -> String {
        let name = tally.job_names.task(row.job.id, task).map_or(String::new(), |name| format!(" ({name})"));
        format!("task {}.{task}{name}", tally.number(row.job.id))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::present::page::tests::{section, shown};
    use crate::tests::{ANN, ROUTER, manifest, topology};
    use crate::{Names, Tally};
    use hansa_sim::grid::{Edge, Job, JobId, Kind, Task};
    use hansa_sim::kernel::Entry;
    use hansa_sim::protocol::Record;
    use hansa_sim::time::{Span, Stamp, Time};

    /// The section of a run with one job, with the run time of each task in seconds.
    fn drawn(runtimes: &[u64], edges: &[(u32, u32)]) -> String {
        let topology = topology();
        let mut tally = Tally::new(&topology, &Names::of(&topology));
        let tasks = runtimes.iter().map(|seconds| Task::new(Span::from_secs(*seconds), 1, Kind(0))).collect();
        let edges = edges.iter().map(|(from, to)| Edge::new(*from, *to)).collect();
        let job = Job { id: JobId(0), arrive: Time::ZERO, first_task: 0, tasks, edges, worth: None, times: None };
        let mut add = |seconds, record| {
            let stamp = Stamp::at(Time::ZERO + Span::from_secs(seconds));
            tally.add(&Entry { stamp, actor: ROUTER, record }).unwrap();
        };
        add(0, Record::Arrived { job: Arc::new(job), user: ANN });
        add(10, Record::Removed { job: JobId(0) });
        let page = shown(&manifest(), &topology, &tally);
        if page.contains("id=\"dag\"") { section(&page, "dag").to_owned() } else { String::new() }
    }

    #[test]
    fn tasks_are_in_layers_and_the_critical_path_is_marked() {
        // 0 -> 1 -> 3, 0 -> 2 -> 3, 0 -> 3: the way over 2 is longer.
        let page = drawn(&[1, 2, 5, 1], &[(0, 1), (0, 2), (0, 3), (1, 3), (2, 3)]);
        assert!(
            page.contains("4 tasks in 3 layers with 5 dependencies. The critical path has 3 tasks and takes 7"),
            "{page}"
        );
        let critical = |task: u32| page.contains(&format!("<g class=\"idle critical\"><title>task 0.{task}: "));
        assert_eq!([0, 1, 2, 3].map(critical), [true, false, true, true], "{page}");
        let left = |task: u32| {
            let (_, rest) = page.split_once(&format!("<title>task 0.{task}: ")).unwrap();
            rest.split_once("d=\"M").unwrap().1.split_once(' ').unwrap().0.parse::<f64>().unwrap()
        };
        assert!(left(0) < left(1) && (left(1) - left(2)).abs() < 0.1 && left(2) < left(3));
    }

    #[test]
    fn a_large_workflow_is_a_picture_of_a_bounded_size() {
        let tasks = 10_000;
        let edges: Vec<(u32, u32)> =
            (0..tasks - 100).flat_map(|task| [(task, task + 100 - task % 7), (task, task + 100)]).collect();
        let mut edges: Vec<(u32, u32)> = edges.into_iter().filter(|(from, to)| from < to).collect();
        edges.sort_unstable();
        edges.dedup();
        let page = drawn(&vec![1; tasks as usize], &edges);
        assert!(page.contains("10,000 tasks in ") && page.contains("adjacent layers at one site"), "{page}");
        assert!(page.len() < 120_000, "{}", page.len());
        assert!(page.matches("<rect").count() <= 40 && page.contains("on the critical path"), "{page}");
    }

    #[test]
    fn jobs_without_dependencies_are_not_drawn() {
        assert_eq!(drawn(&[1, 2], &[]), "");
    }
}
