//! `hansa why` and `hansa when`: the stories of jobs of results, and predicted starts.

use serde_json::Value;

use crate::grid::{Scratch, expect_error, hansa, hansa_ok, shipped, text};

/// The result of a shipped topology.
fn run(scratch: &Scratch, topology: &str, sets: &[&str]) -> String {
    let out = scratch.path(topology).to_str().unwrap().to_owned();
    let topology = shipped(topology).to_str().unwrap().to_owned();
    let mut arguments =
        vec!["run".to_owned(), topology, "--inline".into(), "--quiet".into(), "--out".into(), out.clone()];
    for set in sets {
        arguments.extend(["--set".to_owned(), (*set).to_owned()]);
    }
    hansa_ok(&arguments);
    out
}

fn why(out: &str, job: &str) -> (String, Value) {
    let story = text(&hansa_ok(&["why", out, job]).stdout);
    let json = text(&hansa_ok(&["why", out, job, "--json"]).stdout);
    (story, serde_json::from_str(&json).unwrap())
}

#[test]
fn a_workflow_names_the_chain_that_delayed_its_end() {
    let scratch = Scratch::new();
    let out = run(&scratch, "workflow.toml", &[]);
    let (story, json) = why(&out, "0");
    let chain = &json["chain"];
    let links = chain["links"].as_array().unwrap();
    let micros = |value: &Value| (value.as_f64().unwrap() * 1e6).round() as i64;
    let sum: i64 = links.iter().map(|link| micros(&link["seconds"])).sum();
    assert_eq!(sum, micros(&chain["turnaround"]));
    assert!(links.windows(2).all(|pair| pair[0]["from"] == pair[1]["to"]));
    let transfer = links.iter().find(|link| link["cause"] == "transfer").unwrap();
    assert!(transfer["transfer"]["bottleneck"].is_string(), "{transfer}");
    assert!(story.contains("from its end"), "{story}");
    // The page has the story that the JSON names.
    hansa_ok(&["report", &out]);
    let page = std::fs::read_to_string(format!("{out}/report.html")).unwrap();
    let anchor = json["page"].as_str().unwrap().strip_prefix("report.html#").unwrap();
    assert!(page.contains(&format!("id=\"{anchor}\"")), "{anchor}");
    assert!(page.contains(&format!("href=\"#{anchor}\"")) || json["chain"]["links"].is_array());
    let unknown = hansa(&["why", &out, "99"]);
    expect_error(&unknown, 2, "there is no job 99; numbers go from 0 to 1");
}

#[test]
fn a_declined_request_names_the_room_that_there_was() {
    let scratch = Scratch::new();
    let out = run(&scratch, "reservations.toml", &["workload.0.requests=200"]);
    let table = std::fs::read_to_string(format!("{out}/reservations.csv")).unwrap();
    let declined = table.lines().find(|line| line.contains(",declined,")).expect("some request is declined");
    let job = format!("#{}", declined.split(',').next().unwrap());
    let (story, json) = why(&out, &job);
    let request = &json["request"];
    let sites = request["sites"].as_array().unwrap();
    assert_eq!(sites.len(), 3, "{json:#}");
    for site in sites {
        // Either fewer nodes were free than it wanted, or its duration did not fit.
        let most = site["most_free"].as_u64();
        assert!(most.is_none_or(|most| most < request["nodes"].as_u64().unwrap()), "{json:#}");
    }
    assert!(story.contains("declined"), "{story}");
}

#[test]
fn a_task_of_a_market_names_its_lost_bids() {
    let scratch = Scratch::new();
    let out = run(&scratch, "market-40.toml", &["market.bids=log"]);
    let bids = std::fs::read_to_string(format!("{out}/bids.csv")).unwrap();
    let lost = bids.lines().find(|line| line.contains(",task,") && line.ends_with(",no_room")).unwrap();
    let cells: Vec<&str> = lost.split(',').collect();
    let task = format!("{}.{}", cells[5], cells[6]);
    let in_table = |outcome: &str| {
        let own = |line: &&str| {
            let row: Vec<&str> = line.split(',').collect();
            row[2] == "task" && row[5] == cells[5] && row[6] == cells[6] && row[10] == outcome
        };
        bids.lines().skip(1).filter(own).count() as u64
    };
    let (story, json) = why(&out, &task);
    for outcome in ["won", "no_room", "no_data", "behind"] {
        assert_eq!(json["auctions"][outcome], in_table(outcome), "{outcome}");
    }
    assert!(story.contains("lost last"), "{story}");
}

#[test]
fn a_job_that_shares_nodes_names_its_yields_and_pauses() {
    let scratch = Scratch::new();
    let out = run(&scratch, "dfrs.toml", &[]);
    let table = std::fs::read_to_string(format!("{out}/sharing.csv")).unwrap();
    let preemptions = |line: &str| line.split(',').nth(11).and_then(|cell| cell.parse::<usize>().ok()).unwrap_or(0);
    let paused = table.lines().skip(1).max_by_key(|line| preemptions(line)).unwrap();
    let job = format!("#{}", paused.split(',').next().unwrap());
    let (story, json) = why(&out, &job);
    let pauses = json["sharing"]["pauses"].as_array().unwrap();
    assert_eq!(pauses.len(), preemptions(paused), "{json:#}");
    let yields = json["sharing"]["yields"].as_array().unwrap();
    assert!(yields.windows(2).all(|pair| pair[0]["to"] == pair[1]["from"]), "{json:#}");
    assert!(story.contains("yield"), "{story}");
}

#[test]
fn a_negotiation_names_its_claims_and_its_end() {
    let scratch = Scratch::new();
    let out = run(&scratch, "provisioning.toml", &[]);
    let jobs = std::fs::read_to_string(format!("{out}/events.jsonl")).unwrap();
    let refused = jobs.lines().find(|line| line.contains("\"bargained\"") && !line.contains("\"booked\""));
    let line = refused.or_else(|| jobs.lines().find(|line| line.contains("\"bargained\""))).unwrap();
    let event: Value = serde_json::from_str(line).unwrap();
    let (story, json) = why(&out, &format!("#{}", event["job"]));
    assert_eq!(json["bookings"]["end"], event["end"], "{json:#}");
    assert!(story.contains("negotiation"), "{story}");
}

#[test]
fn predictions_take_moments_as_they_print_them() {
    let scratch = Scratch::new();
    let out = run(&scratch, "batch.toml", &["workload.0.jobs=400"]);
    let ask = |at: &str, walltime: &str| {
        let output =
            hansa_ok(&["when", &out, "--at", at, "--cores", "64", "--walltime", walltime, "--runs", "20", "--json"]);
        serde_json::from_str::<Value>(&text(&output.stdout)).unwrap()
    };
    let answer = ask("1d 02:00:00", "04:00:00");
    assert_eq!(answer, ask("26h", "4h"));
    assert_eq!(
        (&answer["at"], &answer["requested"], &answer["site_size"]),
        (&93_600.0.into(), &14_400.0.into(), &128.into())
    );
    assert!(answer["jobs_of_known_users"].is_u64() && answer["policies"].as_array().unwrap().len() == 3);
    let wrong = hansa(&["when", &out, "--at", "4:00", "--cores", "64", "--walltime", "4h"]);
    expect_error(&wrong, 2, "04:00:00");
    let output = hansa_ok(&["when", &out, "--calibrate", "5", "--runs", "20", "--json"]);
    let calibration: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
    let own = &calibration[0];
    assert_eq!(own["jobs"], 5);
    assert_eq!(own["started_jobs"], 400);
    let sides = ["within", "before", "after"].map(|side| own[side].as_u64().unwrap());
    assert_eq!(sides.iter().sum::<u64>(), 5);
}
