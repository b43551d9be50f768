//! Critical paths over links, worked by hand.

use super::*;
use crate::{Names, Status, Tally};

/// Two kinds of cores and one site each, with 1 MB/s and 2 s between them. The second task needs 600 MB of the first:
/// 10 min, then 602 s, then 10 min again. A third one of the first kind needs nothing to be moved from the first.
const ACROSS: &str = r#"
name = "across"
[market]
policy = "pv"
[network]
model = "ideal"
[[site]]
name = "york"
cores = 4
kind = "cpu"
[[site]]
name = "bath"
cores = 4
kind = "gpu"
[[link]]
name = "cable"
capacity = "8 Mbps"
latency = "2 s"
between = ["york", "bath"]
[[user]]
name = "ada"
[[workload]]
source = "table"
[[workload.job]]
tasks = [
    { runtime = "10 min", cores = 1, kind = "cpu" },
    { runtime = "10 min", cores = 1, kind = "gpu" },
    { runtime = "1 min", cores = 1, kind = "cpu" },
]
edges = [[0, 1, "600 MB"], [0, 2, "100 MB"]]
worth = { max = 8.0, initial = 1.2, final = 2.0 }
"#;

#[test]
fn a_lone_job_across_kinds_has_an_slr_of_one() {
    let topology = crate::play::read_text(ACROSS);
    let log = play_fast(&topology);
    let end = log.iter().find_map(|entry| match entry.record {
        Record::Completed { value, .. } => Some((entry.stamp.time, value)),
        _ => None,
    });
    // Without the transfer, the path would be 20 min, the SLR 1.5, and the value 5.
    assert_eq!(end, Some((Time::ZERO + Span::from_secs(600 + 602 + 600), Some(8.0))));
    let mut tally = Tally::new(&topology, &Names::of(&topology));
    log.iter().for_each(|entry| tally.add(entry).unwrap());
    assert_eq!(tally.summary(0, Status::Complete, String::new()).slr, Some(1.0));
}
