//! Tasks with a run time per site: the two examples of the paper on network-aware HEFT, and all that can be wrong.

use super::*;
use crate::experiment::tests::grid::summary_and_log;
use hansa_sim::protocol::Record;
use hansa_sim::systems::plans::{PlanRequest, Planned};
use hansa_sim::time::Span;
use hansa_sim::topology::{PlanningContext, with_planning_context};
use hansa_sim::workload::{Source, workflow};

const SIX: &[u8] = include_bytes!("../../../../topologies/six-tasks.toml");
const TEN: &[u8] = include_bytes!("../../../../topologies/ten-tasks.toml");
const TABLE: &[u8] = include_bytes!("../../../../topologies/ten-tasks.json");

/// Start and end of each task in seconds, with its site.
fn ran(bytes: &[u8], settings: &[&str]) -> Vec<(u32, f64, f64)> {
    let files = [("grid.toml", bytes), ("ten-tasks.json", TABLE)];
    let topology = load_files(&files, settings).unwrap().topology;
    let (_, log) = summary_and_log(&topology);
    let mut tasks = Vec::new();
    for entry in &log {
        let at = entry.stamp.time.micros() as f64 / 1e6;
        match &entry.record {
            Record::Arrived { job, .. } => tasks = vec![(0, 0.0, 0.0); job.tasks.len()],
            Record::Started { task, .. } => tasks[task.index as usize] = (entry.actor.0, at, 0.0),
            Record::Finished { task } => tasks[task.index as usize].2 = at,
            _ => {}
        }
    }
    tasks
}

fn makespan(bytes: &[u8], settings: &[&str]) -> f64 {
    ran(bytes, settings).into_iter().map(|task| task.2).fold(0.0, f64::max)
}

/// Up to a microsecond for each of the transfers that follow each other.
fn close(found: f64, expected: f64) -> bool {
    (-1e-6..=5e-6).contains(&(found - expected))
}

/// HEFT plans 25 s: tasks 1 and 3 at P1, 2 and 4 at P3, 5 and 6 at P2. Worked by hand, the transfers 3-5 and 4-6 end at
/// 20 s and 2-5 at 21 s where they share the bottleneck in equal parts, so task 5 runs from 21 to 24 and task 6 until
/// 32; with the throughput of TCP flows, 2-5 ends at 281/12 s.
#[test]
fn six_tasks_take_32_seconds() {
    let expected = [(1, 0.0, 3.0), (3, 6.0, 9.0), (1, 3.0, 6.0), (3, 9.0, 11.0), (2, 21.0, 24.0), (2, 24.0, 32.0)];
    assert_eq!(ran(SIX, &[]), expected);
    let alone = ["link.into-p2.mode=per-flow", "link.out-of-p2.mode=per-flow"];
    assert_eq!(makespan(SIX, &alone), 25.0, "no transfers share a link: it goes as planned");
    let tcp = "network.model=tcp-parallel";
    assert!(close(makespan(SIX, &[tcp]), 413.0 / 12.0));
    // The first plan is a fixed point of the loop under both laws, as long as it expects the whole capacity.
    for settings in [&[][..], &[tcp]] {
        let looped = [settings, &["workflow.policy=network-heft", "workflow.estimate=capacity"]].concat();
        assert_eq!(ran(SIX, &looped), ran(SIX, settings));
    }
}

/// With three sockets per transfer, 1, 2 and 3 transfers obtain 90, 94.7 and 96.4 MB/s of the bottleneck. From 11 s on
/// three share it, until 4-6 ends at 61/3 s; 3-5 ends 67/90 s later, and 2-5 sends its last 70 MB alone in 7/9 s.
#[test]
fn transfers_may_have_several_sockets() {
    let settings = ["network.model=tcp-parallel", "network.sockets=3"];
    let end = 61.0 / 3.0 + 67.0 / 90.0 + 7.0 / 9.0;
    let tasks = ran(SIX, &settings);
    assert!(close(tasks[4].1, end) && close(tasks[5].2, end + 11.0), "{tasks:?}");
    assert_eq!(ran(SIX, &["network.sockets=3"]), ran(SIX, &[]), "they count only on links with efficiency tcp");
    let message = load_files(&[("grid.toml", SIX)], &["network.sockets=0"]).unwrap_err().to_string();
    assert!(message.contains("network.sockets: expected a whole number from 1 to 1000"), "{message}");
    let topology = load_files(&[("grid.toml", SIX)], &settings).unwrap().topology;
    assert!(topology.to_toml().contains("sockets = 3"));
    assert_eq!(load_text(&topology.to_toml(), &[]).unwrap(), topology);
}

/// The paper's start-up cost `L` of a transfer is the latency of its route: each site's own link has a part of it. Task
/// b takes 1 s at p2 and 5 s at p1, where its data is: the 100 MB take `L` and a second, so HEFT sends them as long as
/// `L` is below 3 s.
#[test]
fn the_start_up_cost_of_a_transfer_is_the_latency_of_its_route() {
    let run = |own: u32, other: u32| {
        let text = format!(
            "name = \"start-up\"\n[workflow]\npolicy = \"heft\"\n[network]\nswitches = [\"hub\"]\n\
             [[site]]\nname = \"p1\"\ncores = 1\n[[site]]\nname = \"p2\"\ncores = 1\n\
             [[link]]\nname = \"a\"\nbetween = [\"p1\", \"hub\"]\ncapacity = \"100 MB/s\"\nlatency = \"{own} ms\"\n\
             [[link]]\nname = \"b\"\nbetween = [\"p2\", \"hub\"]\ncapacity = \"100 MB/s\"\nlatency = \"{other} ms\"\n\
             [[user]]\nname = \"alice\"\n[[workload]]\nsource = \"table\"\n[[workload.job]]\n\
             tasks = [{{ runtime = {{ p1 = \"2 s\" }}, cores = 1 }}, {{ runtime = {{ p1 = \"5 s\", p2 = \"1 s\" }}, cores = 1 }}]\n\
             edges = [[0, 1, \"100 MB\"]]\n"
        );
        ran(text.as_bytes(), &[])
    };
    assert_eq!(run(0, 0), [(1, 0.0, 2.0), (2, 3.0, 4.0)]);
    assert_eq!(run(1_000, 500), [(1, 0.0, 2.0), (2, 4.5, 5.5)]);
    assert_eq!(run(1_000, 1_999), [(1, 0.0, 2.0), (2, 5.999, 6.999)]);
    assert_eq!(run(1_000, 2_001), [(1, 0.0, 2.0), (1, 2.0, 7.0)]);
}

/// HEFT plans 80 s. On the shared network that takes 102 s, and the third plan 91 s; with the throughput of TCP flows
/// 347/3 s, and the third plan 1223/12 s.
#[test]
fn ten_tasks_take_91_seconds() {
    let heft = "workflow.policy=heft";
    let alone = ["link.into-p2.mode=per-flow", "link.out-of-p2.mode=per-flow"];
    let tcp = "network.model=tcp-parallel";
    assert_eq!(makespan(TEN, &[&[heft], &alone[..]].concat()), 80.0);
    assert_eq!(makespan(TEN, &[heft]), 102.0);
    assert_eq!(ran(TEN, &[heft])[8..], [(2, 78.5, 90.5), (2, 95.0, 102.0)]);
    assert_eq!(makespan(TEN, &[]), 91.0);
    assert_eq!(makespan(TEN, &["workflow.iterations=1"]), 102.0);
    assert_eq!(makespan(TEN, &["workflow.stop=first-better"]), 91.0);
    assert!(close(makespan(TEN, &[heft, tcp]), 347.0 / 3.0));
    assert!(close(makespan(TEN, &[tcp]), 1223.0 / 12.0));
    assert!(close(makespan(TEN, &[heft, tcp, "workflow.estimate=capacity"]), 347.0 / 3.0));
    // Without plans each task goes where it would end first, for its time there.
    let best_effort = ran(TEN, &["workflow.policy=best-effort"]);
    assert_eq!(best_effort[0], (3, 0.0, 9.0));
}

/// Under TCP a lone flow obtains three quarters of the bottleneck, so the edges 1-4 and 1-6 cost 12 and 56/3 s, and
/// their mean capacity is 5/6: HEFT then plans 91.666667 s. Worked by a program of its own.
#[test]
fn a_plan_expects_the_capacity_or_what_a_lone_flow_obtains() {
    let planned = |estimate: &str| {
        let topology =
            load_files(&[("grid.toml", TEN), ("ten-tasks.json", TABLE)], &["network.model=tcp-parallel", estimate]);
        let topology = topology.unwrap().topology;
        let work = workflow::read_workflow("ten-tasks.json", TABLE).unwrap();
        let row = topology.systems[0].system_row();
        let look = |context: &PlanningContext<'_>| {
            (row.plans[1].make)(&PlanRequest {
                policy: "heft",
                service: &context.service,
                grid: &context.grid,
                links: context.links.clone(),
                work: &work,
                name: "ten-tasks",
                alpha: 0.0,
                budget: None,
                deadline: None,
                at: hansa_sim::time::Time::ZERO,
                load: &[],
            })
        };
        match with_planning_context(&topology, row, false, look).unwrap().unwrap() {
            Planned::Schedule(plan) => (plan.planned, plan.realistic),
            Planned::Choices(_) => panic!("heft gives one plan"),
        }
    };
    let (planned_at_capacity, realistic) = planned("workflow.estimate=capacity");
    assert_eq!(planned_at_capacity, 80.0);
    assert_eq!(realistic, makespan(TEN, &["workflow.policy=heft", "network.model=tcp-parallel"]));
    assert!(close(planned("workflow.estimate=lone-flow").0, 275.0 / 3.0));
}

/// A table of costs becomes a job with run times by site and with bytes: 18 s at 100 MB/s are 1.8 GB.
#[test]
fn a_table_of_costs_is_a_job_with_times_by_site() {
    let load = |table: &[u8], settings: &[&str]| load_files(&[("grid.toml", TEN), ("ten-tasks.json", table)], settings);
    let topology = load(TABLE, &[]).unwrap().topology;
    let Source::Table(table) = &topology.workloads[0].source else { panic!("it is a table") };
    let job = &table.jobs[0];
    assert_eq!(job.name.as_deref(), Some("ten-tasks"));
    assert_eq!(job.times[0], [(0, 14), (1, 16), (2, 9)].map(|(site, time)| (site, Span::from_secs(time))));
    assert_eq!((job.tasks[0].runtime, job.edges[0].data), (Span::from_secs(9), 1_800_000_000));
    let text = topology.to_toml();
    assert!(
        text.contains("{ runtime = { p1 = \"14 s\", p2 = \"16 s\", p3 = \"9 s\" }, cores = 1, kind = \"any\""),
        "{text}"
    );
    let again = load_text(&text, &[]).unwrap();
    assert_eq!((again.hash(), &again), (topology.hash(), &topology));

    // By name, a site may be missing.
    let named = br#"{ "compute": { "a": { "p3": 2, "p1": 4 }, "b": { "p2": 1 } }, "edges": [["a", "b", 0.5]] }"#;
    let topology = load(named, &[]).unwrap().topology;
    let Source::Table(table) = &topology.workloads[0].source else { panic!("it is a table") };
    let times = [vec![(0, 4), (2, 2)], vec![(1, 1)]].map(|row| row.into_iter().map(|(s, t)| (s, Span::from_secs(t))));
    assert_eq!(table.jobs[0].times, times.map(Iterator::collect::<Vec<_>>));
    assert_eq!(table.jobs[0].edges[0].data, 50_000_000);

    for (table, expected) in [
        (
            &br#"{ "compute": { "a": [1, 2] }, "edges": [] }"#[..],
            "it has times for 2 processors, but 3 sites may run it",
        ),
        (br#"{ "compute": { "a": { "p4": 1 } }, "edges": [] }"#, "it has times for \"p4\": expected p1, p2 or p3"),
        (br#"{ "compute": { "a": { "p1": 1 }, "b": [1] }, "edges": [] }"#, "compute.b: expected times of one form"),
        (br#"{ "compute": { "a": { "p1": 1, "p1": 2 } }, "edges": [] }"#, "compute.a.p1: this site is named twice"),
        (br#"{ "compute": { "a": {} }, "edges": [] }"#, "compute.a: expected"),
        (br#"{ "compute": { "a": { "p1": 0 } }, "edges": [] }"#, "compute.a: expected times above 0"),
        (br#"{ "compute": { "a": { "p1": "1 s" } }, "edges": [] }"#, "ten-tasks.json:1:"),
        (
            br#"{ "compute": { "a": [1, 1, 1], "b": [1, 1, 1] }, "edges": [["a", "b", 999999999]] }"#,
            "more than 9007199254740992 bytes",
        ),
    ] {
        let message = load(table, &[]).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
    // Memory is taken for each pair of a task and a name, so their number is bounded before.
    let tasks = (0..4_000).map(|task| format!("\"t{task}\": {{ \"s{task}\": 1 }}")).collect::<Vec<_>>().join(",");
    let many = format!("{{ \"compute\": {{ {tasks} }}, \"edges\": [] }}");
    let message = load(many.as_bytes(), &[]).unwrap_err().to_string();
    assert!(message.contains("expected at most 10000000 tasks times sites, found 4000 x 4000"), "{message}");
    let market = String::from_utf8(TEN.to_vec())
        .unwrap()
        .replace("[workflow]\npolicy = \"network-heft\"", "[workflow]\npolicy = \"heft\"");
    assert!(market.contains("policy = \"heft\""));
    let lines: Vec<&str> = market.split("[[link]]").collect();
    let unlinked =
        format!("{}[[user]]{}", lines[0].replace("[network]\nmodel", "#"), market.split("[[user]]").nth(1).unwrap());
    let message =
        load_files(&[("grid.toml", unlinked.as_bytes()), ("ten-tasks.json", TABLE)], &[]).unwrap_err().to_string();
    assert!(message.contains("its edges take time, but this topology has no links"), "{message}");
}

/// Two sites of two systems and two kinds.
fn message(task: &str) -> String {
    let text = format!(
        "name = \"times\"\n[workflow]\n[batch]\n[[site]]\nname = \"york\"\ncores = 2\nkind = \"a\"\nsystem = \"workflow\"\n\
         [[site]]\nname = \"leeds\"\ncores = 4\nkind = \"b\"\nsystem = \"workflow\"\n\
         [[site]]\nname = \"hull\"\ncores = 4\nkind = \"a\"\nsystem = \"batch\"\n\
         [[site]]\nname = \"bath\"\ncores = 9\nkind = \"a\"\nsystem = \"workflow\"\n\
         [[user]]\nname = \"alice\"\n[[workload]]\nsource = \"table\"\nsystem = \"workflow\"\n[[workload.job]]\ntasks = [{task}]\n"
    );
    load_text(&text, &[]).err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn wrong_times_by_site_are_reported() {
    for (task, expected) in [
        ("{ runtime = { york = \"1 s\", bath = \"2 s\" }, cores = 1, kind = \"a\" }", ""),
        (
            "{ runtime = { yorc = \"1 s\" }, cores = 1, kind = \"a\" }",
            "there is no site \"yorc\": expected york, leeds, hull or bath",
        ),
        ("{ runtime = { yorc = \"1 s\" }, cores = 1, kind = \"a\" }", "did you mean"),
        ("{ runtime = { york = 1 }, cores = 1, kind = \"a\" }", "workload.0.job.0.tasks.0.runtime.york: expected"),
        ("{ runtime = { york = \"0 s\" }, cores = 1, kind = \"a\" }", "expected a time above zero"),
        ("{ runtime = {}, cores = 1, kind = \"a\" }", "expected a run time for at least one site"),
        (
            "{ runtime = { leeds = \"1 s\" }, cores = 1, kind = \"a\" }",
            "site leeds has cores of kind b, but the task needs a",
        ),
        ("{ runtime = { hull = \"1 s\" }, cores = 1, kind = \"a\" }", "site hull is used by other systems only"),
        (
            "{ runtime = { york = \"1 s\" }, cores = 3, kind = \"a\" }",
            "the task needs 3 cores, but the largest site where it has a run time has 2",
        ),
        ("{ runtime = { york = \"9999999 d\" }, cores = 1, kind = \"a\" }", "expected"),
    ] {
        let message = message(task);
        assert!(message.contains(expected) && message.is_empty() == expected.is_empty(), "{task}: {message}");
    }
    let market = FINE.replace(
        "\"market\"\njobs = 3\ncores_max = 8",
        "\"table\"\n[[workload.job]]\ntasks = [{ runtime = { york = \"1 min\" }, cores = 1 }]",
    );
    let message = load_text(&market, &[]).unwrap_err().to_string();
    assert!(
        message.contains("expected one time for all sites: only jobs of a [workflow] table have one for each"),
        "{message}"
    );
}

/// A task is planned, run and reported by its time at its site; the SLR counts the least time of each task.
#[test]
fn reports_count_the_least_times() {
    let topology = load_files(&[("grid.toml", SIX)], &[]).unwrap().topology;
    let (summary, _) = summary_and_log(&topology);
    let shown = serde_json::to_value(&summary).unwrap();
    let slr = shown["slr"].as_f64().unwrap_or_else(|| panic!("{shown}"));
    // 1-3-5-6 takes 3 + 3 + 3 + 5 = 14 s at best, and 1-2-5-6 takes 3 + 3 + 3 + 5.
    assert!((slr - 32.0 / 14.0).abs() < 1e-9, "{slr}");
}
