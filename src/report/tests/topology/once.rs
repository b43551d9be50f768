//! Grids that once ended a run too early; now all of their jobs end.

use super::load_text;
use super::meeting::run;
use crate::{Names, Status, Tally};

const ALL: &[(&str, &str)] = &[
    ("an answer comes after its work was sent elsewhere", include_str!("once/answers-after-the-wanted-time.toml")),
    ("a plan for sites of which one takes no long tasks", include_str!("once/tasks-too-long-for-one-site.toml")),
    ("a job is removed whose lost task waits again", include_str!("once/removed-while-sent-again.toml")),
    ("a task starts and is taken back at once, for a queue", include_str!("once/leg-taken-back-as-it-starts.toml")),
    ("the same, for a reservation", include_str!("once/leg-taken-back-for-a-reservation.toml")),
];

#[test]
fn grids_that_ended_a_run_once_do_not_any_more() {
    for (what, text) in ALL {
        let topology = load_text(text, &[]).unwrap_or_else(|faults| panic!("{what}: {faults}"));
        let mut tally = Tally::new(&topology, &Names::of(&topology));
        for entry in run(&topology) {
            tally.add(&entry).unwrap_or_else(|wrong| panic!("{what}: {entry:?}: {wrong}"));
        }
        assert_eq!(tally.jobs_ended(), topology.jobs(), "{what}");
        tally.summary(topology.seed, Status::Complete, String::new());
    }
}
