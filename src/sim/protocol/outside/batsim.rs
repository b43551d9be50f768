//! Batsim's protocol, version 4: one JSON object per message, with the virtual time and a list of events, each with its
//! own time.
//!
//! A site is a platform with a machine per node, without storage, energy or messages to jobs; its jobs are a workload
//! `w0`, each with its own profile, which is a delay. Other requests of a scheduler are rejected by name.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Decision, JobEnd, SiteAction, SiteEvent, shorten_output, time_of_seconds, to_seconds};
use crate::grid::{JobId, NodeSet};
use crate::time::Time;

/// Batsim's name of the only workload.
const WORKLOAD: &str = "w0";

/// The platform, before any event.
pub fn begin_message(site: &str, nodes: u32) -> Value {
    let machines: Vec<Value> = (0..nodes)
        .map(|id| json!({ "id": id, "name": format!("{site}-{id}"), "state": "idle", "properties": {} }))
        .collect();
    json_message(
        Time::ZERO,
        vec![json_event(
            Time::ZERO,
            "SIMULATION_BEGINS",
            &json!({
                "nb_resources": nodes,
                "nb_compute_resources": nodes,
                "nb_storage_resources": 0,
                "allow_compute_sharing": false,
                "allow_storage_sharing": false,
                "config": {
                    "redis-enabled": false,
                    "profiles-forwarded-on-submission": true,
                    "dynamic-jobs-enabled": false,
                    "dynamic-jobs-acknowledged": false,
                    "profile-reuse-enabled": false,
                    "forward-unknown-events": false,
                },
                "compute_resources": machines,
                "storage_resources": [],
                "workloads": { WORKLOAD: "hansa" },
                "profiles": { WORKLOAD: {} },
            }),
        )],
    )
}

/// All events since the last question, each with its time.
pub fn events_message(now: Time, happened: &[(Time, SiteEvent)]) -> Value {
    let instants = happened.chunk_by(|one, next| one.0 == next.0);
    json_message(now, instants.flat_map(|instant| event_list(instant[0].0, instant)).collect())
}

/// Events of one time. Killed jobs are reported like all others, and then all together, as Batsim does.
fn event_list(at: Time, happened: &[(Time, SiteEvent)]) -> Vec<Value> {
    let mut events = Vec::with_capacity(happened.len());
    let mut killed = Vec::new();
    let mut progress = serde_json::Map::new();
    for (_, happened) in happened {
        match happened {
            SiteEvent::Submitted { job, nodes, walltime, runtime } => {
                let id = job_name(*job);
                let profile = job.0.to_string();
                let data = json!({
                    "job_id": id,
                    "job": {
                        "id": id,
                        "subtime": to_seconds(at.micros()),
                        "walltime": to_seconds(walltime.micros()),
                        "res": nodes,
                        "profile": profile,
                    },
                    "profile": { "type": "delay", "delay": to_seconds(runtime.micros()) },
                });
                events.push(json_event(at, "JOB_SUBMITTED", &data));
            }
            SiteEvent::Ended { job, how, on, progress: done } => {
                let (state, code) = match how {
                    JobEnd::Done => ("COMPLETED_SUCCESSFULLY", 0),
                    JobEnd::Walltime => ("COMPLETED_WALLTIME_REACHED", -1),
                    JobEnd::Killed => ("COMPLETED_KILLED", -1),
                };
                let id = job_name(*job);
                let data = json!({ "job_id": id, "job_state": state, "return_code": code, "alloc": on.to_string() });
                events.push(json_event(at, "JOB_COMPLETED", &data));
                if *how == JobEnd::Killed {
                    progress.insert(id.clone(), json!({ "profile": job.0.to_string(), "progress": done }));
                    killed.push(id);
                }
            }
            // Batsim has no message for a recalled or lost job, so sites that it manages have neither.
            SiteEvent::Recalled { .. } | SiteEvent::Lost { .. } | SiteEvent::Nodes { .. } => {}
            SiteEvent::Called => events.push(json_event(at, "REQUESTED_CALL", &json!({}))),
        }
    }
    if !killed.is_empty() {
        events.push(json_event(at, "JOB_KILLED", &json!({ "job_ids": killed, "job_progress": progress })));
    }
    events
}

pub fn end_message(now: Time) -> Value {
    json_message(now, vec![json_event(now, "SIMULATION_ENDS", &json!({}))])
}

fn json_message(now: Time, events: Vec<Value>) -> Value {
    json!({ "now": to_seconds(now.micros()), "events": events })
}

fn json_event(at: Time, kind: &str, data: &Value) -> Value {
    json!({ "timestamp": to_seconds(at.micros()), "type": kind, "data": data })
}

fn job_name(job: JobId) -> String {
    format!("{WORKLOAD}!{}", job.0)
}

/// Message of a scheduler.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object with `now` and `events`")]
pub struct BatsimReply {
    now: f64,
    events: Vec<BatsimEvent>,
}

#[derive(Debug, Deserialize)]
#[serde(expecting = "an event, which is an object")]
struct BatsimEvent {
    timestamp: f64,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    data: Value,
}

/// Requests of a scheduler that are supported.
pub const KNOWN: &str = "EXECUTE_JOB, REJECT_JOB, KILL_JOB, CALL_ME_LATER";

impl BatsimReply {
    /// The requested actions, or an error if one is not supported.
    pub fn decision(self, asked: Time) -> Result<Decision, String> {
        let ready = time_of_seconds(self.now).filter(|ready| *ready >= asked).ok_or_else(|| {
            format!("says that the time is {} s, but was asked at {} s", self.now, to_seconds(asked.micros()))
        })?;
        let mut actions = Vec::with_capacity(self.events.len());
        let mut last = asked;
        for BatsimEvent { timestamp, kind, data } in self.events {
            let at = time_of_seconds(timestamp).filter(|at| (last..=ready).contains(at)).ok_or_else(|| {
                format!(
                    "gives its {} the time {timestamp} s, which is not between {} s and its own time, {} s",
                    shorten_output(&kind),
                    to_seconds(last.micros()),
                    self.now
                )
            })?;
            last = at;
            read_action(at, &kind, &data, &mut actions)?;
        }
        Ok(Decision { actions, ready })
    }
}

fn read_action(at: Time, kind: &str, data: &Value, actions: &mut Vec<(Time, SiteAction)>) -> Result<(), String> {
    match kind {
        "EXECUTE_JOB" => {
            if let Some(part) =
                ["mapping", "storage_mapping", "additional_io_job"].iter().find(|key| has_value(data, key))
            {
                return Err(format!("asks for an EXECUTE_JOB with `{part}`, which is not possible here"));
            }
            let job = parse_job(kind, data.get("job_id"))?;
            let text = data.get("alloc").and_then(Value::as_str).unwrap_or_default();
            let on = parse_resources(text).filter(|on| !on.is_empty()).ok_or_else(|| {
                format!(
                    "asks for an EXECUTE_JOB of {} on {}, where numbers of resources such as \"0-3 7\" were expected",
                    job_name(job),
                    show_value(data.get("alloc"))
                )
            })?;
            actions.push((at, SiteAction::Start { job, on: Some(on) }));
        }
        "REJECT_JOB" => actions.push((at, SiteAction::Reject { job: parse_job(kind, data.get("job_id"))? })),
        "KILL_JOB" => {
            let jobs = data.get("job_ids").and_then(Value::as_array);
            let jobs = jobs.ok_or_else(|| format!("asks for a {kind} without a list `job_ids`"))?;
            for named in jobs {
                actions.push((at, SiteAction::Kill { job: parse_job(kind, Some(named))? }));
            }
        }
        "CALL_ME_LATER" => {
            let then = data.get("timestamp").and_then(Value::as_f64);
            let then = then.and_then(time_of_seconds).ok_or_else(|| {
                format!(
                    "asks for a {kind} at {}, where a time in seconds was expected",
                    show_value(data.get("timestamp"))
                )
            })?;
            actions.push((at, SiteAction::Call { at: then }));
        }
        // Jobs come from the users of the grid alone, so there is no registration to be finished.
        "NOTIFY" if data.get("type").and_then(Value::as_str) == Some("registration_finished") => {}
        _ => {
            return Err(format!(
                "asks for {}, which is not possible here (possible are {KNOWN})",
                shorten_output(kind)
            ));
        }
    }
    Ok(())
}

/// A set of resources as Batsim 4 reads it: numbers and intervals, separated by spaces, in any order; they may touch
/// or overlap. None for anything else.
fn parse_resources(text: &str) -> Option<NodeSet> {
    let mut set = NodeSet::default();
    for interval in text.split(' ').filter(|interval| !interval.is_empty()) {
        // `parse` alone would take a sign.
        let (first, last) = interval.split_once('-').unwrap_or((interval, interval));
        let first = parse_plain_number(first)?;
        let last = parse_plain_number(last)?;
        if first > last || last == u32::MAX {
            return None;
        }
        set.unite(&NodeSet::from_run(first, last));
    }
    Some(set)
}

fn parse_plain_number(text: &str) -> Option<u32> {
    text.parse::<u32>().ok().filter(|_| text.bytes().all(|c| c.is_ascii_digit()))
}

fn has_value(data: &Value, key: &str) -> bool {
    data.get(key).is_some_and(|value| !value.is_null())
}

fn parse_job(kind: &str, named: Option<&Value>) -> Result<JobId, String> {
    let number = named.and_then(Value::as_str).and_then(|name| name.strip_prefix(WORKLOAD)?.strip_prefix('!'));
    let number = number.and_then(|number| number.parse().ok().filter(|_| number.bytes().all(|c| c.is_ascii_digit())));
    number.map(JobId).ok_or_else(|| {
        format!("asks for a {kind} of {}, where a job such as \"{WORKLOAD}!12\" was expected", show_value(named))
    })
}

fn show_value(value: Option<&Value>) -> String {
    value.map_or_else(|| "nothing".to_owned(), |value| shorten_output(&value.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_read_as_batsim_reads_them() {
        let read = |text: &str| parse_resources(text).map(|set| set.to_string());
        for (text, expected) in [
            ("0 1", "0-1"),
            ("7 0-3", "0-3 7"),
            ("0-1 2-3", "0-3"),
            ("0-2 1-4 4", "0-4"),
            ("3  5 ", "3 5"),
            ("5-5", "5"),
            ("", ""),
        ] {
            assert_eq!(read(text).as_deref(), Some(expected), "{text}");
        }
        for text in ["3-1", "0,1", "+1", "-1", "1-", "1-2-3", "x", "4294967295", "0-4294967295", "99999999999"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn killed_jobs_are_reported_before_later_events() {
        let killed =
            |job| SiteEvent::Ended { job: JobId(job), how: JobEnd::Killed, on: NodeSet::all(1), progress: 0.5 };
        let [five, seven] = [5, 7].map(|secs| Time::from_micros(secs * 1_000_000));
        let happened = [(five, killed(1)), (five, killed(2)), (seven, SiteEvent::Called), (seven, killed(3))];
        let message = events_message(seven, &happened);
        let facts = |event: &Value| {
            (event["timestamp"].as_f64(), event["type"].as_str().map(str::to_owned), event["data"]["job_ids"].clone())
        };
        let facts: Vec<_> = message["events"].as_array().unwrap().iter().map(facts).collect();
        let event = |at, kind: &str, ids| (Some(at), Some(kind.to_owned()), ids);
        assert_eq!(
            facts,
            [
                event(5.0, "JOB_COMPLETED", Value::Null),
                event(5.0, "JOB_COMPLETED", Value::Null),
                event(5.0, "JOB_KILLED", json!(["w0!1", "w0!2"])),
                event(7.0, "REQUESTED_CALL", Value::Null),
                event(7.0, "JOB_COMPLETED", Value::Null),
                event(7.0, "JOB_KILLED", json!(["w0!3"])),
            ]
        );
    }
}
