//! Batsim's workloads: a JSON object with jobs and the profiles that they name.
//!
//! Only jobs with a delay as profile are read, since everything else needs a model of machines that we do not have.
//! Both the names of version 4 (`subtime`, `res`) and the longer ones of later versions are known. Unknown keys are
//! ignored, as Batsim permits additional ones.

mod file;
mod logged;
mod loose;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};

use serde_json::{Value, json};

use self::file::{Profile, RawFile, WrittenJob};
use self::logged::{Logged, MaybeLogged};
use self::loose::{Loose, seconds_span};
use super::rigid::{Collector, NUMBER_MAX, Rigid, Trace};
use crate::near::nearest_name;
use crate::settings::make_printable;
use crate::time::{Span, Time};
use crate::workload::workflow::json_fault;

#[derive(Debug, thiserror::Error)]
pub enum BatsimError {
    #[error("cannot read it: {0}")]
    Io(#[from] io::Error),
    #[error("line {line}, column {column}: expected a Batsim workload: {}", make_printable(.what))]
    Json { line: usize, column: usize, what: String },
}

/// Reads a workload; invalid jobs are left out and counted.
pub fn read_workload(input: impl Read) -> Result<Trace, BatsimError> {
    let file: RawFile = serde_json::from_reader(input).map_err(|error| {
        let line = error.line();
        let column = error.column();
        if error.is_io() {
            return BatsimError::Io(error.into());
        }
        BatsimError::Json { line, column, what: json_fault(&error) }
    })?;
    let mut collector = Collector::default();
    if let Some(nodes) = file.nb_res {
        collector.comment(format!("MaxNodes: {nodes}"));
        collector.comment(format!("MaxProcs: {nodes}"));
    }
    let numbers = job_numbers(&file.jobs);
    if numbers.is_none() {
        collector.renumber();
    }
    let places = BTreeMap::from_iter(file.profiles.keys().map(String::as_str).zip(0_u32..));
    let mut ids = BTreeSet::new();
    for (index, job) in file.jobs.iter().enumerate() {
        let place = format_args!("job {}", index + 1);
        let number = numbers.as_ref().map_or(index as u64 + 1, |numbers| numbers[index]);
        match read_job(job, number, &file.profiles) {
            Ok(_) if numbers.is_none() && job.id.text().is_some_and(|id| !ids.insert(id)) => {
                let id = job.id.text().unwrap_or_default();
                collector.leave_out(place, format!("there is a job {id} already"));
            }
            Ok(mut rigid) => {
                rigid.profile = job.profile.text().and_then(|name| places.get(&*name).copied());
                job.id.text().into_iter().for_each(|id| collector.id(number, id));
                collector.job(place, rigid);
            }
            Err(what) => collector.leave_out(place, what),
        }
    }
    collector.profiles(file.profiles.into_keys().collect());
    Ok(collector.finish())
}

/// Names of a delay in older and current workloads.
const DELAYS: [&str; 2] = ["delay", "DelayProfile"];

fn read_job(job: &WrittenJob, number: u64, profiles: &BTreeMap<String, Profile>) -> Result<Rigid, String> {
    let Loose::Text(profile) = &job.profile else { return Err("it names no profile".to_owned()) };
    let behaviour = profiles.get(&**profile).ok_or_else(|| {
        let near = nearest_name(profile, profiles.keys().map(String::as_str));
        let near = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
        format!("there is no profile {profile}{near}")
    })?;
    let kind = if let Loose::Text(kind) = &behaviour.kind { kind } else { "none" };
    if !DELAYS.contains(&kind) {
        return Err(format!("its profile {profile} is of type {kind}, but only delays can be run"));
    }
    let nodes = match job.res.or(&job.resource_request) {
        Loose::Missing => return Err("it has no res".to_owned()),
        Loose::Whole(nodes) => u32::try_from(*nodes).ok().filter(|&nodes| nodes > 0),
        _ => None,
    };
    let walltime = match &job.walltime {
        Loose::Missing => None,
        // Batsim's value for "none".
        number if number.number() == Some(-1.0) => None,
        number => Some(read_span(number, "walltime")?),
    };
    let nodes = nodes.ok_or_else(|| {
        let res = job.res.or(&job.resource_request).message_suffix();
        format!("its res{res} is not a number of nodes from 1 on")
    })?;
    let runtime = match &behaviour.delay {
        Loose::Missing => return Err(format!("its profile {profile} has no delay")),
        delay => self::seconds_span(delay).ok_or_else(|| {
            format!("the delay{} of {profile} is not a number of seconds from 0 on", delay.message_suffix())
        })?,
    };
    let rigid = Rigid {
        number,
        submit: Time::ZERO + read_span(job.subtime.or(&job.submission_time), "subtime")?,
        runtime: Some(runtime),
        requested: Some(nodes),
        requested_time: walltime,
        ..Rigid::default()
    };
    Ok(if let MaybeLogged::Ours(logged) = &job.swf { logged.complete(rigid) } else { rigid })
}

fn read_span(number: &Loose, what: &str) -> Result<Span, String> {
    match number {
        Loose::Missing => Err(format!("it has no {what}")),
        number => seconds_span(number)
            .ok_or_else(|| format!("its {what}{} is not a number of seconds from 0 on", number.message_suffix())),
    }
}

/// Numbers of the jobs, if each has a unique one that a log may contain. Ids are texts, often with the workload's name
/// before the number: `w0!12`. Two ids with one number and different names are two jobs nevertheless.
fn job_numbers(jobs: &[WrittenJob]) -> Option<Vec<u64>> {
    let mut known: BTreeMap<u64, &str> = BTreeMap::new();
    let mut numbers = Vec::with_capacity(jobs.len());
    for job in jobs {
        let (name, number) = match &job.id {
            Loose::Whole(number) => ("", *number),
            Loose::Text(text) => {
                let (name, number) = text.rsplit_once('!').unwrap_or(("", text));
                (name, number.parse().ok()?)
            }
            _ => return None,
        };
        if number > NUMBER_MAX || *known.entry(number).or_insert(name) != name {
            return None;
        }
        numbers.push(number);
    }
    Some(numbers)
}

/// A workload with one delay profile for each run time that occurs, as bytes. Fields unknown to Batsim are included for
/// our reader.
pub fn write_workload(jobs: &[Rigid], nodes: u32) -> Vec<u8> {
    let mut profiles = BTreeMap::new();
    let mut listed = Vec::new();
    for job in jobs {
        let (Ok(nodes), Ok(runtime)) = (job.nodes(), job.runs_for()) else { continue };
        let profile = format!("delay_{}", runtime.seconds());
        let mut object = json!({
            "id": job.number.to_string(),
            "subtime": seconds_value(job.submit.micros()),
            "res": nodes,
            "profile": profile,
        });
        if let Some(walltime) = job.walltime() {
            object["walltime"] = seconds_value(walltime.micros());
        }
        if let Value::Object(logged) = json!(Logged::of_job(job))
            && !logged.is_empty()
        {
            object["swf"] = Value::Object(logged);
        }
        listed.push(object);
        profiles.entry(profile).or_insert_with(|| json!({ "type": "delay", "delay": seconds_value(runtime.micros()) }));
    }
    let mut bytes = serde_json::to_vec_pretty(&json!({ "nb_res": nodes, "jobs": listed, "profiles": profiles }))
        .expect("texts and numbers are JSON");
    bytes.push(b'\n');
    bytes
}

/// A JSON number of seconds, an integer if it is whole.
fn seconds_value(micros: u64) -> Value {
    if micros.is_multiple_of(1_000_000) { json!(micros / 1_000_000) } else { json!(micros as f64 / 1e6) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Span;
    use crate::workload::packed::Packed;
    use crate::workload::rigid::JOBS_MAX;

    fn written(trace: &Trace) -> Vec<u8> {
        write_workload(&trace.jobs.iter().collect::<Vec<_>>(), 4)
    }

    const FILE: &str = r#"{
        "nb_res": 4, "command": "anybody may add keys",
        "jobs": [
            { "id": "w0!3", "subtime": 10, "walltime": 100.5, "res": 4, "profile": "delay10" },
            { "id": "late", "submission_time": 5.25, "resource_request": 1, "profile": "delay10", "user": "me" },
            { "id": 7, "subtime": 11, "submission_time": 11, "walltime": -1, "res": 2, "profile": "delay10" },
            { "id": 8, "subtime": 11, "res": 2, "profile": "matrix" },
            { "id": 9, "subtime": 11, "res": 2, "profile": "nothing" },
            { "id": 10, "subtime": -3, "res": 2, "profile": "delay10" },
            { "id": 11, "subtime": 3, "res": 0, "profile": "delay10" },
            { "id": 7, "subtime": 12, "res": 2, "profile": "delay10" }
        ],
        "profiles": { "delay10": { "type": "DelayProfile", "delay": 1e1 }, "matrix": { "type": "parallel", "cpu": [1] } }
    }"#;

    #[test]
    fn delay_jobs_of_both_dialects_are_read() {
        let trace = read_workload(FILE.as_bytes()).unwrap();
        let seen: Vec<_> = trace
            .jobs
            .iter()
            .map(|job| (job.number, job.submit.micros(), job.nodes().unwrap(), job.walltime().map(Span::micros)))
            .collect();
        // One of the ids is not a number, so no id is read as one.
        assert_eq!(seen, [(2, 5_250_000, 1, None), (1, 10_000_000, 4, Some(100_500_000)), (3, 11_000_000, 2, None)]);
        assert!(trace.jobs.iter().all(|job| job.runs_for() == Ok(Span::from_secs(10))));
        let ids: Vec<_> = trace.ids.iter().map(|(number, id)| (*number, id.as_str())).collect();
        assert_eq!(ids, [(1, "w0!3"), (2, "late"), (3, "7")]);
        let faults: Vec<String> =
            trace.faults.first.iter().map(|fault| format!("{}: {}", fault.place, fault.what)).collect();
        assert_eq!(
            faults,
            [
                "job 4: its profile matrix is of type parallel, but only delays can be run",
                "job 5: there is no profile nothing",
                "job 6: its subtime -3 is not a number of seconds from 0 on",
                "job 7: its res 0 is not a number of nodes from 1 on",
                "job 8: there is a job 7 already",
                "job 1: it is out of order by its submit time",
            ]
        );
    }

    #[test]
    fn ids_are_numbers_if_they_are_unique() {
        let numbers = |ids: &[&str]| {
            let job = |id: &&str| format!("{{\"id\": {id}, \"subtime\": 1, \"res\": 1, \"profile\": \"p\"}}");
            let jobs: Vec<String> = ids.iter().map(job).collect();
            let profiles = "{\"p\": {\"type\": \"delay\", \"delay\": 5}}";
            let text = format!("{{\"jobs\": [{}], \"profiles\": {profiles}}}", jobs.join(", "));
            let trace = read_workload(text.as_bytes()).unwrap();
            (
                trace.jobs.iter().map(|job| job.number).collect::<Vec<_>>(),
                trace.faults.left_out,
                trace.faults.renumbered,
            )
        };
        assert_eq!(numbers(&["\"w0!9\"", "\"w0!12\"", "\"w0!9\""]), (vec![9, 12], 1, false));
        assert_eq!(numbers(&["4", "\"5\""]), (vec![4, 5], 0, false));
        assert_eq!(numbers(&["\"first\"", "\"1\"", "\"w0!7\"", "\"w1!7\""]), (vec![1, 2, 3, 4], 0, true));
        assert_eq!(numbers(&["\"a\"", "\"a\"", "null", "null"]), (vec![1, 3, 4], 1, true));
        assert_eq!(numbers(&["\"w0!1690000000000000000\"", "7"]), (vec![1, 2], 0, true));
    }

    #[test]
    fn a_small_file_cannot_claim_to_be_huge() {
        let many = format!("{{\"jobs\": [{}0]}}", "0,".repeat(100));
        let error = read_workload(many.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("invalid type: integer `0`"), "{error}");
        let many = format!("{{\"jobs\": [{}{{}}]}}", "{},".repeat(JOBS_MAX));
        let error = read_workload(many.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("it has more than 5000000 jobs"), "{error}");
    }

    #[test]
    fn a_written_workload_can_be_read() {
        let trace = read_workload(FILE.as_bytes()).unwrap();
        let again = read_workload(&written(&trace)[..]).unwrap();
        assert_eq!(again.header, trace.header);
        let unnamed = |trace: &Trace| trace.jobs.iter().map(|job| Rigid { profile: None, ..job }).collect::<Vec<_>>();
        assert_eq!(unnamed(&again), unnamed(&trace));
    }

    #[test]
    fn log_fields_survive_batsim() {
        let log = "1 10 3 60 4 55.5 7 4 90 9 1 12 3 2 0 1 -1 -1\n2 11 -1 90 4 -1 -1 4 90 -1 0 12 3 -1 1 -1 1 30\n\
                   3 12 -1 5 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1\n\
                   4 13 -1 0 3 1.5 1024.5 -1 0 0.25 1 -1 -1 -1 -1 -1 -1 -1\n5 14 -1 1 2 -1 -1 0 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n";
        let trace = crate::workload::swf::read_log(log.as_bytes()).unwrap();
        let again = read_workload(&written(&trace)[..]).unwrap();
        let unnamed: Packed = again.jobs.iter().map(|job| Rigid { profile: None, ..job }).collect();
        assert_eq!(unnamed, trace.jobs);
        let names: Vec<_> =
            again.jobs.iter().map(|job| again.profiles[job.profile.unwrap() as usize].as_str()).collect();
        assert_eq!(names, ["delay_60", "delay_90", "delay_5", "delay_1", "delay_1"]);
        // A changed field counts.
        let written = String::from_utf8(written(&trace)).unwrap();
        let changed = read_workload(written.replace("\"res\": 3", "\"res\": 2").as_bytes()).unwrap();
        let last = changed.jobs.get(3).unwrap();
        assert_eq!((last.requested, last.nodes()), (Some(2), Ok(2)));
        // The key has another meaning here.
        let other = FILE.replace("\"user\": \"me\"", "\"swf\": [1, \"me\"]");
        assert_eq!(read_workload(other.as_bytes()).unwrap().jobs.len(), 3);
    }

    #[test]
    fn an_invalid_workload_is_reported_with_its_location() {
        let error = |text: &str| read_workload(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(
            error("{\n \"profiles\": {}}"),
            "line 2, column 16: expected a Batsim workload: missing field `jobs`"
        );
        assert!(
            error("{ \"jobs\": [")
                .starts_with("line 1, column 11: expected a Batsim workload: the file ends before its JSON does")
        );
    }
}
