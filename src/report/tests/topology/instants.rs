//! Order of events within an instant.

use super::load_text;
use super::meeting::run;
use hansa_sim::protocol::Record;

/// Two flows share a link from 30 s on: the first, which alone would end at 110 s, ends at 190 s, the second at 210 s.
/// The fourth job is worthless from 60 s on, and keeps the fifth from the free core.
const BLOCKED: &str = r#"name = "blocked"
[market]
policy = "fifo"
tick = "1 s"
[[site]]
name = "york"
cores = 3
kind = "A"
[[site]]
name = "bath"
cores = 2
kind = "B"
[[link]]
name = "wire"
capacity = "10 B/s"
between = ["york", "bath"]
[[user]]
name = "alice"
[[workload]]
source = "table"
[[workload.job]]
tasks = [{ runtime = "10 s", cores = 1, kind = "A" }, { runtime = "1 s", cores = 1, kind = "B" }]
edges = [[0, 1, 1000]]
[[workload.job]]
tasks = [{ runtime = "30 s", cores = 1, kind = "A" }, { runtime = "1 s", cores = 1, kind = "B" }]
edges = [[0, 1, 1000]]
[[workload.job]]
tasks = [{ runtime = "500 s", cores = 1, kind = "A" }]
[[workload.job]]
arrive = "40 s"
tasks = [{ runtime = "10 s", cores = 3, kind = "A" }]
worth = { max = 1.0, initial = 1.0, final = 2.0 }
[[workload.job]]
arrive = "45 s"
tasks = [{ runtime = "7 s", cores = 1, kind = "A" }]
"#;

fn when(text: &str, what: impl Fn(&Record) -> bool) -> Vec<u64> {
    let log = run(&load_text(text, &[]).unwrap());
    log.iter().filter(|entry| what(&entry.record)).map(|entry| entry.stamp.time.micros() / 1_000_000).collect()
}

#[test]
fn a_market_is_cleared_when_data_arrives_and_not_when_it_was_once_expected() {
    let delivered = when(BLOCKED, |record| matches!(record, Record::Delivered { .. }));
    assert_eq!(delivered, [190, 210]);
    assert_eq!(when(BLOCKED, |record| matches!(record, Record::Removed { .. })), [190]);
    let fifth = |record: &Record| matches!(record, Record::Started { task, .. } if task.job.0 == 4);
    assert_eq!(when(BLOCKED, fifth), [190]);
}

#[test]
fn a_reservation_may_be_cancelled_in_the_instant_of_its_request() {
    let text = r#"name = "withdrawn"
[reservation]
policy = "ff"
[[site]]
name = "york"
cores = 10
[[user]]
name = "alice"
[[workload]]
source = "requests"
[[workload.request]]
arrive = "5 s"
ready = "10 s"
duration = "6 s"
nodes = 4
cancel = "5 s"
[[workload.request]]
arrive = "5 s"
ready = "10 s"
duration = "6 s"
nodes = 7
deadline = "16 s"
[[workload.request]]
arrive = "6 s"
ready = "10 s"
duration = "6 s"
nodes = 7
deadline = "16 s"
"#;
    assert_eq!(when(text, |record| matches!(record, Record::Cancelled { job } if job.0 == 0)), [5]);
    // The requests of that instant have been answered by then.
    let starts = |job| when(text, move |record| matches!(record, Record::Started { task, .. } if task.job.0 == job));
    assert_eq!([0, 1, 2].map(starts), [vec![], vec![], vec![10]]);
}
