//! The formulas of node sharing, in queues.

use crate::Schedule;
use crate::experiment::tests::grid::run;

/// Jobs that need half of a node have all of it in a queue, and still could not use more of it.
#[test]
fn queues_are_measured_by_the_same_formula() {
    let job = |arrive: u32, runtime: u32, cores: u32, cpu: f64, memory: f64| {
        format!(
            "[[workload.job]]\narrive = \"{arrive} s\"\ntasks = [{{ runtime = \"{runtime} s\", cores = {cores} }}]\n\
             cpu = {cpu:?}\nmemory = {memory:?}\n"
        )
    };
    let jobs =
        [job(0, 300, 2, 1.0, 0.5), job(0, 1_000, 1, 0.5, 0.6), job(20, 40, 1, 1.0, 0.5), job(30, 100, 2, 0.5, 0.3)];
    let (summary, _) = run(&format!(
        "name = \"dfrs\"\n[batch]\n[[site]]\nname = \"york\"\ncores = 2\nscheduler = \"fcfs-count\"\n[[user]]\n\
         name = \"alice\"\n[[workload]]\nsource = \"table\"\n{}",
        jobs.concat()
    ));
    let schedule: Schedule = summary.read_part().unwrap();
    assert!((schedule.underutilisation.unwrap() - 0.790_323).abs() < 1e-6, "{:?}", schedule.underutilisation);
}
