//! Writes workflows to files, in the formats that are read here, with equal meaning.

use std::fmt::Write;

use serde_json::{Value, json};

use super::FLOPS;
use crate::grid::Workflow;
use crate::time::Span;

/// DOT in daggen's form. It cannot express several cores of a task.
pub fn write_dot(workflow: &Workflow) -> String {
    let mut text = format!("digraph {} {{\n", quote_name(&workflow.name));
    for task in &workflow.tasks {
        let operations = u128::from(task.work.micros()) * (FLOPS as u128 / 1_000_000);
        let _ = writeln!(text, "  {} [size=\"{operations}\"]", quote_name(&task.name));
    }
    for edge in &workflow.edges {
        let [from, to] = [edge.from, edge.to].map(|task| quote_name(&workflow.tasks[task as usize].name));
        let _ = writeln!(text, "  {from} -> {to} [size=\"{}\"]", edge.data);
    }
    text.push_str("}\n");
    text
}

/// WfFormat 1.5. Every edge that carries data is a file.
pub fn write_wfformat(workflow: &Workflow) -> String {
    let mut parents = vec![Vec::new(); workflow.tasks.len()];
    let mut children = parents.clone();
    let mut inputs = parents.clone();
    let mut outputs = parents.clone();
    let mut files: Vec<Value> = Vec::new();
    for edge in &workflow.edges {
        parents[edge.to as usize].push(task_name(edge.from, workflow).to_owned());
        children[edge.from as usize].push(task_name(edge.to, workflow).to_owned());
        if edge.data > 0 {
            let id = edge_file_name(edge.from, edge.to, workflow);
            files.push(json!({ "id": id, "sizeInBytes": edge.data }));
            inputs[edge.to as usize].push(id.clone());
            outputs[edge.from as usize].push(id);
        }
    }
    let specified = workflow.tasks.iter().zip(parents.iter().zip(&children)).zip(inputs.iter().zip(&outputs));
    let specified = specified.map(|((task, (parents, children)), (inputs, outputs))| {
        json!({ "name": task.name, "id": task.name, "parents": parents, "children": children, "inputFiles": inputs,
                "outputFiles": outputs })
    });
    let executed = workflow.tasks.iter().map(
        |task| json!({ "id": task.name, "runtimeInSeconds": task.work.micros() as f64 / 1e6, "coreCount": task.cores }),
    );
    let work = workflow.tasks.iter().fold(Span::ZERO, |sum, task| sum + task.work);
    let whole = json!({
        "name": workflow.name,
        "schemaVersion": "1.5",
        "workflow": {
            "specification": { "tasks": specified.collect::<Vec<_>>(), "files": files },
            // Run by one core: the format requires a duration.
            "execution": { "makespanInSeconds": work.micros() as f64 / 1e6, "executedAt": "1970-01-01T00:00:00Z",
                           "tasks": executed.collect::<Vec<_>>() },
        },
    });
    format!("{}\n", serde_json::to_string_pretty(&whole).expect("names and numbers are JSON"))
}

fn edge_file_name(from: u32, to: u32, workflow: &Workflow) -> String {
    format!("{}-{}", task_name(from, workflow), task_name(to, workflow))
}

fn task_name(task: u32, workflow: &Workflow) -> &str {
    workflow.tasks[task as usize].name.as_str()
}

/// Names from our own generator contain no quotes; the reader supports no escapes.
fn quote_name(name: &str) -> String {
    let plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    if plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "'")) }
}
