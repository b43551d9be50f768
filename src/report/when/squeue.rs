//! Listings of `squeue --json`, of the versions of Slurm's data parser that are known.
//!
//! Numbers are plain in the first versions, and later tables with `set`, `infinite` and `number`. The state of a job is
//! a word, and from v0.0.40 on a list of words.

use serde_json::Value;

use hansa_sim::grid::NodeSet;
use hansa_sim::near::nearest_name;
use hansa_sim::time::{Span, Time};

use super::{SeenJob, SiteLog};

/// Versions of the data parser: those of Slurm 21.08 to 25.11.
const VERSIONS: [&str; 8] = ["v0.0.37", "v0.0.38", "v0.0.39", "v0.0.40", "v0.0.41", "v0.0.42", "v0.0.43", "v0.0.44"];

/// Request of a job without a time limit.
const UNLIMITED: Span = Span::from_minutes(365 * 24 * 60);

/// Reasons for which a waiting job is not ready, so that it is not in the way of others.
const NOT_READY: [&str; 6] =
    ["Dependency", "DependencyNeverSatisfied", "BeginTime", "JobHeldUser", "JobHeldAdmin", "JobArrayTaskLimit"];

/// Size of jobs that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Cores,
    Nodes,
}

/// Jobs of a listing, at the moment of the listing. Times are those of Unix.
#[derive(Clone, Debug, PartialEq)]
pub struct SqueueListing {
    pub log: SiteLog,
    pub now: Time,
    /// Jobs that wait for others, for a time or for a person, and are left out.
    pub not_ready: u64,
    /// Arrays whose tasks are counted as one job.
    pub arrays: u64,
    /// Jobs without a time limit.
    pub unlimited: u64,
    /// Partitions of the jobs.
    pub partitions: Vec<String>,
}

/// Reads the listing of a site of this size, in cores or nodes; only the jobs of a partition, if one is named.
pub fn read_squeue(bytes: &[u8], size: u32, unit: Unit, partition: Option<&str>) -> Result<SqueueListing, String> {
    let root: Value = serde_json::from_slice(bytes).map_err(|error| format!("expected JSON: {error}"))?;
    check_version(&root)?;
    let rows = root["jobs"].as_array().ok_or("expected a list `jobs`, as `squeue --json` prints")?;
    let mut partitions: Vec<String> =
        rows.iter().filter_map(|row| row["partition"].as_str()).map(str::to_owned).collect();
    partitions.sort_unstable();
    partitions.dedup();
    if let Some(wanted) = partition.filter(|wanted| !partitions.iter().any(|other| other == wanted)) {
        let near = nearest_name(wanted, partitions.iter().map(String::as_str));
        let near = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
        return Err(format!("no job is in partition {wanted}; partitions: {}{near}", partitions.join(", ")));
    }
    let mut users: Vec<String> = Vec::new();
    let mut jobs = Vec::new();
    let mut not_ready = 0;
    let mut arrays = 0;
    let mut unlimited = 0;
    let mut now = number(&root["last_update"]).unwrap_or(0);
    for (index, row) in rows.iter().enumerate() {
        if partition.is_some_and(|wanted| row["partition"].as_str() != Some(wanted)) {
            continue;
        }
        let place = || match number(&row["job_id"]) {
            Some(id) => format!("job {id}"),
            None => format!("jobs[{index}]"),
        };
        let state = states(&row["job_state"]).ok_or_else(|| format!("{}: expected a text `job_state`", place()))?;
        let is_running = state.iter().any(|word| matches!(*word, "RUNNING" | "COMPLETING" | "SUSPENDED"));
        let is_waiting = state.contains(&"PENDING");
        if !is_running && !is_waiting {
            continue;
        }
        if is_waiting && row["state_reason"].as_str().is_some_and(|reason| NOT_READY.contains(&reason)) {
            not_ready += 1;
            continue;
        }
        let field = |name: &str| number(&row[name]).ok_or_else(|| format!("{}: expected a number `{name}`", place()));
        let submit = field("submit_time")?;
        let start = if is_running { Some(field("start_time")?) } else { None };
        now = now.max(submit).max(start.unwrap_or(0));
        arrays += u64::from(is_waiting && row["array_task_string"].as_str().is_some_and(|tasks| !tasks.is_empty()));
        let name = row["user_name"].as_str().unwrap_or_default();
        let user = users.iter().position(|other| other == name).unwrap_or_else(|| {
            users.push(name.to_owned());
            users.len() - 1
        });
        let size = field(if unit == Unit::Cores { "cpus" } else { "node_count" })?;
        // Minutes.
        let limit = number(&row["time_limit"]).filter(|limit| *limit > 0);
        unlimited += u64::from(limit.is_none());
        jobs.push(SeenJob {
            user: user as u32,
            cores: u32::try_from(size).unwrap_or(u32::MAX),
            nodes: NodeSet::default(),
            requested: limit.map_or(UNLIMITED, |limit| Span::from_secs(limit.saturating_mul(60))).min(UNLIMITED),
            came: unix_time(submit),
            start: start.map(unix_time),
            end: None,
        });
    }
    let log = SiteLog { has_past: false, ..SiteLog::new(size, jobs, users) };
    Ok(SqueueListing { log, now: unix_time(now), not_ready, arrays, unlimited, partitions })
}

/// Fails if the listing is of a version that is not known, or of none.
fn check_version(root: &Value) -> Result<(), String> {
    let meta = &root["meta"];
    let parser = ["plugin", "plugins"].iter().find_map(|key| meta[key]["data_parser"].as_str());
    let found = parser.or_else(|| meta["plugin"]["type"].as_str());
    let found = found.ok_or("expected `meta.plugin.data_parser`, as `squeue --json` prints it")?;
    let version = found.rsplit('/').next().unwrap_or(found);
    // A parser may have options, such as v0.0.41+complex.
    if VERSIONS.contains(&version.split('+').next().unwrap_or(version)) {
        return Ok(());
    }
    let slurm = ["slurm", "Slurm"].iter().find_map(|key| meta[key]["release"].as_str());
    let slurm = slurm.map_or(String::new(), |release| format!(" (Slurm {release})"));
    Err(format!(
        "its data parser is {found}{slurm}: expected one of {} to {}; `squeue --json={}` may print that",
        VERSIONS[0],
        VERSIONS[VERSIONS.len() - 1],
        VERSIONS[VERSIONS.len() - 1]
    ))
}

/// A number, plain or in a table. None if it is not set, or infinite.
fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Object(table) => {
            let is_set = table.get("set").is_none_or(|set| set == &Value::Bool(true));
            let is_infinite = table.get("infinite") == Some(&Value::Bool(true));
            table.get("number").filter(|_| is_set && !is_infinite).and_then(number)
        }
        Value::Number(number) => number.as_u64().or_else(|| number.as_f64().map(|number| number as u64)),
        _ => None,
    }
}

fn states(value: &Value) -> Option<Vec<&str>> {
    match value {
        Value::String(word) => Some(vec![word]),
        Value::Array(words) => words.iter().map(Value::as_str).collect(),
        _ => None,
    }
}

fn unix_time(seconds: u64) -> Time {
    Time::ZERO + Span::from_micros(seconds.saturating_mul(1_000_000))
}
