//! Batsim's workloads: a JSON object with jobs and the profiles that they name.
//!
//! Read are jobs whose profile is a delay, since everything else needs a model of machines that is not ours. Both the
//! names of version 4 (`subtime`, `res`) and the longer ones of later versions are known. Keys that nobody here has a
//! use for are passed over, as Batsim lets everybody add some.

use std::collections::BTreeMap;
use std::io::{self, Read};

use serde::Deserialize;
use serde_json::{Value, json};

use super::rigid::{Collector, Rigid, Trace, bearable};
use crate::time::{Span, Time};

#[derive(Deserialize)]
struct File {
    jobs: Vec<Value>,
    profiles: BTreeMap<String, Value>,
    #[serde(default, alias = "nb_resources")]
    nb_res: Option<u32>,
}

#[derive(Debug, thiserror::Error)]
pub enum BatsimError {
    #[error("cannot read it: {0}")]
    Io(#[from] io::Error),
    #[error("line {line}, column {column}: expected a Batsim workload: {what}")]
    Json { line: usize, column: usize, what: String },
}

/// Reads a workload; jobs that are not as they should be are left out and counted.
pub fn read(input: impl Read) -> Result<Trace, BatsimError> {
    let file: File = serde_json::from_reader(input).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        if error.is_io() {
            return BatsimError::Io(error.into());
        }
        let what = error.to_string();
        let what = what.split(" at line ").next().unwrap_or_default().to_owned();
        BatsimError::Json { line, column, what }
    })?;
    let mut collector = Collector::default();
    if let Some(nodes) = file.nb_res {
        collector.comment(format!("MaxNodes: {nodes}"));
        collector.comment(format!("MaxProcs: {nodes}"));
    }
    for (index, job) in file.jobs.iter().enumerate() {
        match read_job(job, index, &file.profiles) {
            Ok(job) => collector.job(format_args!("job {}", index + 1), job),
            Err(what) => collector.leave_out(format_args!("job {}", index + 1), what),
        }
    }
    Ok(collector.finish())
}

fn read_job(job: &Value, index: usize, profiles: &BTreeMap<String, Value>) -> Result<Rigid, String> {
    let field = |names: &[&str]| names.iter().find_map(|name| job.get(*name));
    let submit = field(&["subtime", "submission_time"]).ok_or("it has no subtime")?;
    let nodes = field(&["res", "resource_request", "requested_resources"]).ok_or("it has no res")?;
    let profile = field(&["profile"]).and_then(Value::as_str).ok_or("it names no profile")?;
    let behaviour = profiles.get(profile).ok_or_else(|| format!("there is no profile {profile}"))?;
    let kind = behaviour.get("type").and_then(Value::as_str).unwrap_or("none");
    if kind != "delay" {
        return Err(format!("its profile {profile} is of type {kind}, and only delays can be run"));
    }
    let delay = behaviour.get("delay").ok_or_else(|| format!("its profile {profile} has no delay"))?;
    let walltime = match field(&["walltime"]) {
        None | Some(Value::Null) => None,
        // Batsim's way of saying that there is none.
        Some(number) if number.as_f64() == Some(-1.0) => None,
        Some(number) => Some(span(number).ok_or("its walltime is not a number of seconds")?),
    };
    let nodes = nodes.as_u64().and_then(|nodes| u32::try_from(nodes).ok()).filter(|&nodes| nodes > 0);
    Ok(Rigid {
        number: field(&["id"]).and_then(number).unwrap_or(index as u64 + 1),
        submit: Time::ZERO + span(submit).ok_or("its subtime is not a number of seconds")?,
        runtime: Some(span(delay).ok_or_else(|| format!("the delay of {profile} is not a number of seconds"))?),
        requested: Some(nodes.ok_or("its res is not a number of nodes")?),
        requested_time: walltime,
        ..Rigid::default()
    })
}

/// Ids are texts, often with the workload's name ahead of the number: `w0!12`.
fn number(id: &Value) -> Option<u64> {
    match id {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.rsplit('!').next()?.parse().ok(),
        _ => None,
    }
}

fn span(number: &Value) -> Option<Span> {
    let micros = (number.as_f64().filter(|seconds| *seconds >= 0.0)? * 1e6).round();
    let micros = micros as u64;
    bearable(micros).then(|| Span::from_micros(micros))
}

/// A workload with one delay profile for each run time that occurs, as bytes.
pub fn write(jobs: &[Rigid], nodes: u32) -> Vec<u8> {
    let mut profiles = BTreeMap::new();
    let mut listed = Vec::new();
    for job in jobs {
        let (Ok(nodes), Ok(runtime)) = (job.nodes(), job.runs_for()) else { continue };
        let profile = format!("delay_{}", runtime.seconds());
        let mut entry = json!({
            "id": job.number.to_string(),
            "subtime": seconds(job.submit.micros()),
            "res": nodes,
            "profile": profile,
        });
        if let Some(walltime) = job.walltime() {
            entry["walltime"] = seconds(walltime.micros());
        }
        listed.push(entry);
        profiles.entry(profile).or_insert_with(|| json!({ "type": "delay", "delay": seconds(runtime.micros()) }));
    }
    let mut bytes = serde_json::to_vec_pretty(&json!({ "nb_res": nodes, "jobs": listed, "profiles": profiles }))
        .expect("texts and numbers are JSON");
    bytes.push(b'\n');
    bytes
}

/// Whole seconds as whole numbers.
fn seconds(micros: u64) -> Value {
    if micros.is_multiple_of(1_000_000) { json!(micros / 1_000_000) } else { json!(micros as f64 / 1e6) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"{
        "nb_res": 4, "command": "anybody may add keys",
        "jobs": [
            { "id": "w0!3", "subtime": 10, "walltime": 100.5, "res": 4, "profile": "delay10" },
            { "id": "late", "submission_time": 5.25, "resource_request": 1, "profile": "delay10", "user": "me" },
            { "id": 7, "subtime": 11, "walltime": -1, "res": 2, "profile": "delay10" },
            { "id": 8, "subtime": 11, "res": 2, "profile": "matrix" },
            { "id": 9, "subtime": 11, "res": 2, "profile": "nothing" },
            { "id": 10, "subtime": -3, "res": 2, "profile": "delay10" },
            { "id": 11, "subtime": 3, "res": 0, "profile": "delay10" },
            { "id": 7, "subtime": 12, "res": 2, "profile": "delay10" }
        ],
        "profiles": { "delay10": { "type": "delay", "delay": 1e1 }, "matrix": { "type": "parallel", "cpu": [1] } }
    }"#;

    #[test]
    fn delay_jobs_of_both_dialects_are_read() {
        let trace = read(FILE.as_bytes()).unwrap();
        let seen: Vec<_> = trace
            .jobs
            .iter()
            .map(|job| (job.number, job.submit.micros(), job.nodes().unwrap(), job.walltime().map(Span::micros)))
            .collect();
        assert_eq!(seen, [(2, 5_250_000, 1, None), (3, 10_000_000, 4, Some(100_500_000)), (7, 11_000_000, 2, None)]);
        assert!(trace.jobs.iter().all(|job| job.runs_for() == Ok(Span::from_secs(10))));
        let told: Vec<String> =
            trace.faults.first.iter().map(|fault| format!("{}: {}", fault.place, fault.what)).collect();
        assert_eq!(
            told,
            [
                "job 2: job 2 was submitted before the one ahead of it",
                "job 4: its profile matrix is of type parallel, and only delays can be run",
                "job 5: there is no profile nothing",
                "job 6: its subtime is not a number of seconds",
                "job 7: its res is not a number of nodes",
                "job 8: there is a job 7 already",
            ]
        );
    }

    #[test]
    fn what_is_written_is_read_again() {
        let trace = read(FILE.as_bytes()).unwrap();
        let again = read(&write(&trace.jobs, 4)[..]).unwrap();
        assert_eq!((again.jobs, again.header), (trace.jobs, trace.header));
    }

    #[test]
    fn what_is_no_workload_is_told_with_its_place() {
        let error = |text: &str| read(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(
            error("{\n \"profiles\": {}}"),
            "line 2, column 16: expected a Batsim workload: missing field `jobs`"
        );
        assert!(error("{ \"jobs\": [").starts_with("line 1, column 11: expected a Batsim workload: EOF"));
    }
}
