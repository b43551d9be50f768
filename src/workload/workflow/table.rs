//! A workflow with its costs written out: a run time for each task and processor, and a time for each edge, as papers
//! print their examples. `{"compute": {"1": [14, 16, 9], ...}, "edges": [[1, 2, 18], ...]}`.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};

use super::Unreadable;
use crate::grid::{Edge, Step, Workflow};
use crate::time::Span;

/// Costs without a machine: run times by processor, and the time of each edge between any two processors.
#[derive(Clone, Debug, PartialEq)]
pub struct CostTable {
    pub names: Vec<String>,
    /// Indexed by task, then processor.
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
struct Compute(Vec<(String, Vec<f64>)>);

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

pub fn read(text: &str) -> Result<CostTable, Unreadable> {
    let written: RawCostTable = super::wfformat::parse(text)?;
    let Compute(tasks) = written.compute;
    let processors = tasks.first().map_or(0, |(_, times)| times.len());
    let mut numbers = BTreeMap::new();
    for (number, (name, times)) in tasks.iter().enumerate() {
        let at = |message: String| Unreadable::at(format!("compute.{name}"), message);
        if numbers.insert(name.clone(), number as u32).is_some() {
            return Err(at("two tasks have this name".to_owned()));
        }
        if times.len() != processors || processors == 0 {
            return Err(at(format!("expected {} times, one per processor, found {}", processors.max(1), times.len())));
        }
        if times.iter().any(|time| !(*time > 0.0 && *time <= LARGEST)) {
            return Err(at(format!("expected times above 0 and up to {LARGEST}")));
        }
    }
    let mut costs = BTreeMap::new();
    for (place, (from, to, cost)) in written.edges.iter().enumerate() {
        let at = |message: String| Unreadable::at(format!("edges[{place}]"), message);
        let find = |name: &TaskName| numbers.get(&name.to_string()).copied();
        let from = find(from).ok_or_else(|| at(format!("no task is called `{from}`")))?;
        let to = find(to).ok_or_else(|| at(format!("no task is called `{to}`")))?;
        if !(*cost >= 0.0 && *cost <= LARGEST) {
            return Err(at(format!("expected a time from 0 to {LARGEST}")));
        }
        if costs.insert((from, to), *cost).is_some() {
            return Err(at("this edge is written twice".to_owned()));
        }
    }
    sorted(tasks, costs)
}

/// Times above this would not be exact to a millionth.
const LARGEST: f64 = 1e9;

/// Sorts the tasks topologically.
fn sorted(tasks: Vec<(String, Vec<f64>)>, costs: BTreeMap<(u32, u32), f64>) -> Result<CostTable, Unreadable> {
    let step = |(name, _): &(String, Vec<f64>)| Step { name: name.clone(), work: Span::ZERO, cores: 1 };
    let steps = tasks.iter().map(step).collect();
    // The index of an edge replaces its data, so that its cost can be looked up.
    let edges = costs.keys().enumerate().map(|(place, &(from, to))| Edge { from, to, data: place as u64 }).collect();
    let order = Workflow::new(String::new(), steps, edges).map_err(|error| Unreadable::at("", error.to_string()))?;
    let costs: Vec<f64> = costs.into_values().collect();
    let mut run: BTreeMap<String, Vec<f64>> = tasks.into_iter().collect();
    let names: Vec<String> = order.tasks.into_iter().map(|task| task.name).collect();
    Ok(CostTable {
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
