//! A workflow with its costs written out: a run time for each task and processor, and a time for each edge, as papers
//! print their examples. `{"compute": {"1": [14, 16, 9], ...}, "edges": [[1, 2, 18], ...]}`, or with names of sites:
//! `{"compute": {"1": {"p1": 14, "p3": 9}, ...}, ...}`.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};

use super::{Unreadable, seconds_span};
use crate::grid::{DATA_MAX, Edge, Kind, LONGEST, SITE_TIMES_MAX, Step, Task, Workflow};
use crate::numerals::format_counted;
use crate::settings::any_of;
use crate::settings::limits::TOO_LONG_A_JOB;
use crate::time::Span;
use crate::workload::table::RuntimeRow;

/// Costs without a machine: run times by processor, and the time of each edge between any two processors.
#[derive(Clone, Debug, PartialEq)]
pub struct CostTable {
    pub names: Vec<String>,
    /// Names of the processors; empty if times are listed in the order of the sites.
    pub processors: Vec<String>,
    /// Indexed by task, then processor; infinite where a task may not run.
    pub run: Vec<Vec<f64>>,
    /// `(from, to, time)`; tasks are numbered in topological order.
    pub edges: Vec<(u32, u32, f64)>,
}

#[derive(Deserialize)]
struct RawCostTable {
    compute: Compute,
    edges: Vec<(TaskName, TaskName, f64)>,
}

/// In the order of the file.
struct Compute(Vec<(String, Times)>);

/// Run times of a task by processor, in order or by name.
enum Times {
    Listed(Vec<f64>),
    Named(Vec<(String, f64)>),
}

/// Tasks are named by numbers or by words.
#[derive(Deserialize)]
#[serde(untagged)]
enum TaskName {
    Number(u64),
    Word(String),
}

/// True for cost tables: WfFormat has no `compute` at its top.
pub fn is_one(text: &str) -> bool {
    #[derive(Deserialize)]
    struct TableHead {
        compute: Option<serde::de::IgnoredAny>,
        workflow: Option<serde::de::IgnoredAny>,
    }
    serde_json::from_str::<TableHead>(text).is_ok_and(|head| head.compute.is_some() && head.workflow.is_none())
}

pub fn read_table(text: &str) -> Result<CostTable, Unreadable> {
    let written: RawCostTable = super::wfformat::parse_json(text)?;
    let Compute(tasks) = written.compute;
    let names = processor_names(&tasks);
    if tasks.len().saturating_mul(names.len()) > CELLS_MAX {
        let message =
            format!("expected at most {CELLS_MAX} tasks times sites, found {} x {}", tasks.len(), names.len());
        return Err(Unreadable::at_key("compute", message));
    }
    let tasks = by_processor(tasks, &names)?;
    let is_named = !names.is_empty();
    let processors = tasks.first().map_or(0, |(_, times)| times.len());
    let mut numbers = BTreeMap::new();
    for (number, (name, times)) in tasks.iter().enumerate() {
        let at = |message: String| Unreadable::at_key(format!("compute.{name}"), message);
        if numbers.insert(name.clone(), number as u32).is_some() {
            return Err(at("two tasks have this name".to_owned()));
        }
        if times.len() != processors || processors == 0 {
            return Err(at(format!("expected {} times, one per processor, found {}", processors.max(1), times.len())));
        }
        if times.iter().any(|time| !(*time > 0.0 && *time <= LARGEST || is_named && *time == f64::INFINITY)) {
            return Err(at(format!("expected times above 0 and up to {LARGEST}")));
        }
    }
    let mut costs = BTreeMap::new();
    for (place, (from, to, cost)) in written.edges.iter().enumerate() {
        let at = |message: String| Unreadable::at_key(format!("edges[{place}]"), message);
        let from = find_task(from, &numbers).ok_or_else(|| at(format!("no task is called `{from}`")))?;
        let to = find_task(to, &numbers).ok_or_else(|| at(format!("no task is called `{to}`")))?;
        if !(*cost >= 0.0 && *cost <= LARGEST) {
            return Err(at(format!("expected a time from 0 to {LARGEST}")));
        }
        if costs.insert((from, to), *cost).is_some() {
            return Err(at("this edge is written twice".to_owned()));
        }
    }
    Ok(CostTable { processors: names, ..sort_tasks(tasks, costs)? })
}

fn find_task(name: &TaskName, numbers: &BTreeMap<String, u32>) -> Option<u32> {
    numbers.get(&name.to_string()).copied()
}

/// Names of processors in the order of the file.
fn processor_names(tasks: &[(String, Times)]) -> Vec<String> {
    let mut numbers = BTreeMap::new();
    for (_, times) in tasks {
        let Times::Named(times) = times else { continue };
        for (name, _) in times {
            let next = numbers.len();
            numbers.entry(name.clone()).or_insert(next);
        }
    }
    let mut names: Vec<(String, usize)> = numbers.into_iter().collect();
    names.sort_unstable_by_key(|(_, number)| *number);
    names.into_iter().map(|(name, _)| name).collect()
}

/// Times by processor, which are infinite where a task names others only.
fn by_processor(tasks: Vec<(String, Times)>, names: &[String]) -> Result<Vec<(String, Vec<f64>)>, Unreadable> {
    let numbers: BTreeMap<&str, usize> = names.iter().map(String::as_str).zip(0..).collect();
    let times = |(task, times): (String, Times)| match times {
        Times::Listed(times) if names.is_empty() => Ok((task, times)),
        Times::Named(times) if !names.is_empty() => {
            let mut row = vec![f64::INFINITY; names.len()];
            for (name, time) in &times {
                let slot = &mut row[numbers[name.as_str()]];
                if slot.is_finite() {
                    return Err(Unreadable::at_key(format!("compute.{task}.{name}"), "this site is named twice"));
                }
                *slot = *time;
            }
            match times.is_empty() {
                true => Err(Unreadable::at_key(format!("compute.{task}"), "expected a time for at least one site")),
                false => Ok((task, row)),
            }
        }
        _ => {
            let message = "expected times of one form for all tasks: lists in the order of the sites, or by site name";
            Err(Unreadable::at_key(format!("compute.{task}"), message))
        }
    };
    tasks.into_iter().map(times).collect()
}

impl CostTable {
    /// Index of the site of each processor, among sites with these names.
    pub fn sites(&self, names: &[&str]) -> Result<Vec<usize>, String> {
        if self.processors.is_empty() {
            let found = self.run.first().map_or(0, Vec::len);
            let expected = names.len();
            let there = format_counted(expected as u64, "site");
            return match found == expected {
                true => Ok((0..expected).collect()),
                false => Err(format!("it has times for {found} processors, but {there} may run it")),
            };
        }
        self.processors
            .iter()
            .map(|name| {
                names
                    .iter()
                    .position(|site| site == name)
                    .ok_or_else(|| format!("it has times for {name:?}: expected {}", any_of(names.iter().copied())))
            })
            .collect()
    }

    /// The tasks with their run times by site, where `sites` are those of the processors. A task takes at least a
    /// microsecond.
    pub fn tasks(&self, sites: &[usize], kind: Kind) -> Result<(Vec<Task>, Vec<RuntimeRow>), String> {
        let rows: Vec<RuntimeRow> =
            self.run.iter().map(|times| runtime_row(times, sites)).collect::<Result<_, String>>()?;
        let longest = rows.iter().filter_map(|row| row.iter().map(|(_, time)| *time).max());
        if longest.fold(Span::ZERO, Span::saturating_add) > LONGEST {
            return Err(format!("expected {TOO_LONG_A_JOB}"));
        }
        let count: usize = rows.iter().map(Vec::len).sum();
        if count > SITE_TIMES_MAX {
            return Err(format!("expected at most {SITE_TIMES_MAX} run times, found {count}"));
        }
        let least = rows.iter().map(|row| row.iter().map(|(_, time)| *time).min().unwrap_or(Span::ZERO));
        Ok((least.map(|least| Task::new(least, 1, kind)).collect(), rows))
    }

    /// The edges with as many bytes as take their costs at this mean capacity, in bytes per second. None stands for a
    /// topology without links, where data takes no time; the capacity is infinite if there are no two sites.
    pub fn transfers(&self, capacity: Option<f64>) -> Result<Vec<Edge>, String> {
        let Some(capacity) = capacity else {
            return match self.edges.iter().any(|(.., cost)| *cost > 0.0) {
                true => Err("its edges take time, but this topology has no links: add [[link]]s".to_owned()),
                false => Ok(self.edges.iter().map(|(from, to, _)| Edge::new(*from, *to)).collect()),
            };
        };
        let total: f64 = self.edges.iter().map(|(.., cost)| bytes_of_cost(*cost, capacity)).sum();
        if total > DATA_MAX as f64 {
            return Err(format!("its edges together carry more than {DATA_MAX} bytes at the mean capacity"));
        }
        Ok(self
            .edges
            .iter()
            .map(|&(from, to, cost)| Edge { from, to, data: bytes_of_cost(cost, capacity) as u64 })
            .collect())
    }
}

/// Run time of this many seconds, at least a microsecond.
fn runtime_of_seconds(seconds: f64) -> Result<Span, String> {
    seconds_span(seconds).map(|span| span.max(Span::from_micros(1))).map_err(str::to_owned)
}

fn runtime_row(times: &[f64], sites: &[usize]) -> Result<Vec<(usize, Span)>, String> {
    let there = sites.iter().zip(times).filter(|(_, time)| time.is_finite());
    let row = there.map(|(site, seconds)| Ok((*site, runtime_of_seconds(*seconds)?)));
    let mut row: RuntimeRow = row.collect::<Result<_, String>>()?;
    row.sort_unstable_by_key(|(site, _)| *site);
    Ok(row)
}

fn bytes_of_cost(cost: f64, capacity: f64) -> f64 {
    if capacity.is_finite() { (cost * capacity).round() } else { 0.0 }
}

/// Times above this would not be exact to a millionth.
const LARGEST: f64 = 1e9;
/// Most tasks times named sites: memory is taken for each pair.
const CELLS_MAX: usize = 10_000_000;

/// Sorts the tasks topologically.
fn sort_tasks(tasks: Vec<(String, Vec<f64>)>, costs: BTreeMap<(u32, u32), f64>) -> Result<CostTable, Unreadable> {
    let steps = tasks.iter().map(|(name, _)| Step { name: name.clone(), work: Span::ZERO, cores: 1 }).collect();
    // The index of an edge replaces its data, so that its cost can be looked up.
    let edges = costs.keys().enumerate().map(|(place, &(from, to))| Edge { from, to, data: place as u64 }).collect();
    let order =
        Workflow::new(String::new(), steps, edges).map_err(|error| Unreadable::at_key("", error.to_string()))?;
    let costs: Vec<f64> = costs.into_values().collect();
    let mut run: BTreeMap<String, Vec<f64>> = tasks.into_iter().collect();
    let names: Vec<String> = order.tasks.into_iter().map(|task| task.name).collect();
    Ok(CostTable {
        processors: Vec::new(),
        run: names.iter().map(|name| run.remove(name).expect("each task has times")).collect(),
        names,
        edges: order.edges.iter().map(|edge| (edge.from, edge.to, costs[edge.data as usize])).collect(),
    })
}

impl fmt::Display for TaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TaskName::Number(number) => write!(f, "{number}"),
            TaskName::Word(word) => f.write_str(word),
        }
    }
}

impl<'de> Deserialize<'de> for Compute {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Compute, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Compute;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("run times by task")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Compute, A::Error> {
                let mut tasks = Vec::new();
                while let Some(task) = map.next_entry()? {
                    tasks.push(task);
                }
                Ok(Compute(tasks))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

impl<'de> Deserialize<'de> for Times {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Times, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Times;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of run times, or run times by site name")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Times, A::Error> {
                let mut times = Vec::new();
                while let Some(time) = list.next_element()? {
                    times.push(time);
                }
                Ok(Times::Listed(times))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Times, A::Error> {
                let mut times = Vec::new();
                while let Some(time) = map.next_entry()? {
                    times.push(time);
                }
                Ok(Times::Named(times))
            }
        }
        deserializer.deserialize_any(Either)
    }
}
