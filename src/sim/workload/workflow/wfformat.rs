//! WfFormat of the WfCommons project, versions 1.3 to 1.6.
//!
//! Up to 1.4 a task lists its files itself; from 1.5 on the workflow is separate from its execution. All versions count
//! run times in seconds. Sizes of files are bytes: 1.3 omits the unit from the key, and the project's own migration to
//! 1.4 keeps them unchanged. (The difference by a factor of 1000 concerns memory, which is not read here.)

use std::collections::BTreeMap;

use serde::Deserialize;

use super::files::Files;
use super::{Unreadable, file_stem, json_fault, seconds_span, whole_bytes, whole_cores};
use crate::grid::{Step, Workflow};
use crate::near::nearest_name;
use crate::time::Span;

#[derive(Deserialize)]
struct WfHead {
    #[serde(rename = "schemaVersion")]
    version: String,
}

pub fn read_wfformat(path: &str, text: &str) -> Result<Workflow, Unreadable> {
    let head: WfHead = parse_json(text)?;
    match head.version.as_str() {
        "1.3" => read_flat(path, text, Keys { runtime: "runtime", size: "size" }),
        "1.4" => read_flat(path, text, Keys { runtime: "runtimeInSeconds", size: "sizeInBytes" }),
        "1.5" | "1.6" => read_split(path, text),
        other => Err(Unreadable::at_key("schemaVersion", format!("expected 1.3, 1.4, 1.5 or 1.6, found `{other}`"))),
    }
}

pub fn parse_json<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T, Unreadable> {
    serde_json::from_str(text).map_err(|error| Unreadable::on_line(error.line(), error.column(), json_fault(&error)))
}

/// Versions 1.3 and 1.4.
#[derive(Deserialize)]
struct Flat {
    name: Option<String>,
    workflow: FlatBody,
}

#[derive(Deserialize)]
struct FlatBody {
    tasks: Vec<FlatTask>,
}

#[derive(Deserialize)]
struct FlatTask {
    name: String,
    id: Option<String>,
    #[serde(default)]
    parents: Vec<String>,
    #[serde(default)]
    children: Vec<String>,
    #[serde(default)]
    files: Vec<FlatFile>,
    #[serde(alias = "runtimeInSeconds")]
    runtime: Option<f64>,
    cores: Option<f64>,
}

#[derive(Deserialize)]
struct FlatFile {
    name: String,
    #[serde(alias = "sizeInBytes")]
    size: Option<f64>,
    link: String,
}

/// Names of a version's number keys.
struct Keys {
    runtime: &'static str,
    size: &'static str,
}

fn read_flat(path: &str, text: &str, keys: Keys) -> Result<Workflow, Unreadable> {
    let flat: Flat = parse_json(text)?;
    let tasks = &flat.workflow.tasks;

    let labels: Vec<String> = tasks.iter().map(FlatTask::label).collect();
    let mut names = TaskNames::default();
    for (number, task) in tasks.iter().enumerate() {
        names.add(&labels[number], number, &flat_task_key(number))?;
        names.add_alias(&task.name, number);
        task.id.iter().for_each(|id| names.add_alias(id, number));
    }

    let mut steps = Vec::new();
    let mut files = Files::default();
    let mut waits = Vec::new();
    let mut reads = vec![Vec::new(); tasks.len()];
    for (number, task) in tasks.iter().enumerate() {
        let key = flat_task_key(number);
        let at = |part: &str, message: &str| Unreadable::at_key(format!("{key}.{part}"), message);
        let runtime = task.runtime.ok_or_else(|| at(keys.runtime, "expected the task's run time in seconds"))?;
        steps.push(Step {
            name: labels[number].clone(),
            work: seconds_span(runtime).map_err(|message| at(keys.runtime, message))?,
            cores: whole_cores(task.cores).map_err(|message| at("cores", message))?,
        });
        names.waits(&mut waits, number, &task.parents, &task.children, &key)?;
        for (place, file) in task.files.iter().enumerate() {
            let at = |part: &str, message: &str| Unreadable::at_key(format!("{key}.files[{place}].{part}"), message);
            let size = file.size.ok_or_else(|| at(keys.size, "expected the file's size in bytes"))?;
            let size = whole_bytes(size).map_err(|message| at(keys.size, message))?;
            let known = files.number(&file.name, size);
            match file.link.as_str() {
                "input" => reads[number].push(known),
                "output" => files.write(known, number as u32, Some(size)),
                other => return Err(at("link", &format!("expected `input` or `output`, found `{other}`"))),
            }
        }
    }
    let edges = files.edges(&reads, waits);
    let name = flat.name.clone().unwrap_or_else(|| file_stem(path));
    Workflow::new(name, steps, edges).map_err(|error| Unreadable::at_key("workflow", error.to_string()))
}

fn flat_task_key(task: usize) -> String {
    format!("workflow.tasks[{task}]")
}

impl FlatTask {
    /// Name of the task from 1.5 on: with its id, unless the name contains it.
    fn label(&self) -> String {
        match &self.id {
            Some(id) if !self.name.contains(id.as_str()) => format!("{}_{id}", self.name),
            _ => self.name.clone(),
        }
    }
}

/// Versions 1.5 and 1.6.
#[derive(Deserialize)]
struct Split {
    name: Option<String>,
    workflow: SplitBody,
}

#[derive(Deserialize)]
struct SplitBody {
    specification: Specification,
    execution: Option<Execution>,
}

#[derive(Deserialize)]
struct Specification {
    tasks: Vec<SplitTask>,
    #[serde(default)]
    files: Vec<SplitFile>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SplitTask {
    id: String,
    #[serde(default)]
    parents: Vec<String>,
    #[serde(default)]
    children: Vec<String>,
    #[serde(default)]
    input_files: Vec<String>,
    #[serde(default)]
    output_files: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SplitFile {
    id: String,
    size_in_bytes: Option<f64>,
}

#[derive(Deserialize)]
struct Execution {
    #[serde(default)]
    tasks: Vec<Executed>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Executed {
    id: String,
    runtime_in_seconds: Option<f64>,
    core_count: Option<f64>,
}

fn read_split(path: &str, text: &str) -> Result<Workflow, Unreadable> {
    let split: Split = parse_json(text)?;
    let Specification { tasks, files: listed } = &split.workflow.specification;

    let mut files = Files::default();
    for (number, file) in listed.iter().enumerate() {
        let size = file
            .size_in_bytes
            .ok_or_else(|| split_file_fault("sizeInBytes", "expected the file's size in bytes", number))?;
        let size = whole_bytes(size).map_err(|message| split_file_fault("sizeInBytes", message, number))?;
        if !files.add(&file.id, size) {
            return Err(split_file_fault("id", &format!("the file `{}` is listed twice", file.id), number));
        }
    }
    let mut names = TaskNames::default();
    for (number, task) in tasks.iter().enumerate() {
        names.add(&task.id, number, &split_task_key(number))?;
    }
    let ran = task_runs(&split.workflow, &names)?;

    let mut steps = Vec::new();
    let mut waits = Vec::new();
    let mut reads = vec![Vec::new(); tasks.len()];
    for (number, task) in tasks.iter().enumerate() {
        let key = split_task_key(number);
        let (work, cores) = ran[number].ok_or_else(|| {
            let message = format!("`{}` has no run time: workflow.execution.tasks does not name it", task.id);
            Unreadable::at_key(key.clone(), message)
        })?;
        steps.push(Step { name: task.id.clone(), work, cores });
        names.waits(&mut waits, number, &task.parents, &task.children, &key)?;
        for (list, used) in [("inputFiles", &task.input_files), ("outputFiles", &task.output_files)] {
            for (place, name) in used.iter().enumerate() {
                let file = files.find(name).ok_or_else(|| {
                    let near = nearest_name(name, listed.iter().map(|file| file.id.as_str()));
                    let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                    let message = format!("workflow.specification.files does not list the file `{name}`{near}");
                    Unreadable::at_key(format!("{key}.{list}[{place}]"), message)
                })?;
                match list {
                    "inputFiles" => reads[number].push(file),
                    _ => files.write(file, number as u32, None),
                }
            }
        }
    }
    let edges = files.edges(&reads, waits);
    let name = split.name.clone().unwrap_or_else(|| file_stem(path));
    Workflow::new(name, steps, edges).map_err(|error| Unreadable::at_key("workflow.specification", error.to_string()))
}

fn split_task_key(task: usize) -> String {
    format!("workflow.specification.tasks[{task}]")
}

fn split_file_fault(part: &str, message: &str, number: usize) -> Unreadable {
    Unreadable::at_key(format!("workflow.specification.files[{number}].{part}"), message)
}

/// Run time and cores of each task, if the execution has them.
fn task_runs(body: &SplitBody, names: &TaskNames<'_>) -> Result<Vec<Option<(Span, u32)>>, Unreadable> {
    let mut ran = vec![None; body.specification.tasks.len()];
    for (number, task) in body.execution.iter().flat_map(|execution| &execution.tasks).enumerate() {
        let of = names.find(&task.id).map_err(|message| execution_fault("id", &message, number))?;
        let seconds = task.runtime_in_seconds;
        let seconds = seconds
            .ok_or_else(|| execution_fault("runtimeInSeconds", "expected the task's run time in seconds", number))?;
        let work = seconds_span(seconds).map_err(|message| execution_fault("runtimeInSeconds", message, number))?;
        let cores = whole_cores(task.core_count).map_err(|message| execution_fault("coreCount", message, number))?;
        if ran[of].replace((work, cores)).is_some() {
            return Err(execution_fault("id", &format!("the task `{}` is listed twice", task.id), number));
        }
    }
    Ok(ran)
}

fn execution_fault(part: &str, message: &str, number: usize) -> Unreadable {
    Unreadable::at_key(format!("workflow.execution.tasks[{number}].{part}"), message)
}

/// Tasks by all of their names.
#[derive(Default)]
struct TaskNames<'t>(BTreeMap<&'t str, Called>);

#[derive(Clone, Copy, PartialEq)]
enum Called {
    This(usize),
    /// An ambiguous name.
    Several,
}

impl<'t> TaskNames<'t> {
    /// Adds the unique name of a task.
    fn add(&mut self, name: &'t str, task: usize, key: &str) -> Result<(), Unreadable> {
        match self.0.insert(name, Called::This(task)) {
            None => Ok(()),
            Some(_) => Err(Unreadable::at_key(key, format!("two tasks have the id `{name}`"))),
        }
    }

    /// Adds a further name of a task.
    fn add_alias(&mut self, name: &'t str, task: usize) {
        let called = self.0.entry(name).or_insert(Called::This(task));
        if *called != Called::This(task) {
            *called = Called::Several;
        }
    }

    fn find(&self, name: &str) -> Result<usize, String> {
        match self.0.get(name) {
            Some(Called::This(task)) => Ok(*task),
            Some(Called::Several) => Err(format!("several tasks are called `{name}`")),
            None => {
                let near = nearest_name(name, self.0.keys().copied());
                let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                Err(format!("no task is called `{name}`{near}"))
            }
        }
    }

    fn waits(
        &self,
        waits: &mut Vec<(u32, u32)>,
        task: usize,
        parents: &[String],
        children: &[String],
        key: &str,
    ) -> Result<(), Unreadable> {
        for (list, others) in [("parents", parents), ("children", children)] {
            for (place, other) in others.iter().enumerate() {
                let other = self
                    .find(other)
                    .map_err(|message| Unreadable::at_key(format!("{key}.{list}[{place}]"), message))?;
                waits.push(if list == "parents" { (other as u32, task as u32) } else { (task as u32, other as u32) });
            }
        }
        Ok(())
    }
}
