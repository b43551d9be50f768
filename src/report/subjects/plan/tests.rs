use super::*;
use hansa_sim::systems::heft::paper::{Law, Wiring, paper_paths, ten_tasks};
use hansa_sim::systems::heft::plans::{ProblemNames, named_schedule};
use hansa_sim::systems::heft::{Improvement, Problem, improve_plan};
use hansa_sim::systems::plans::{Choice, Choices, PlacedTask};

fn report() -> Schedule {
    let table = ten_tasks();
    let problem = Problem::from_table(&table, paper_paths(Law::Ideal, Wiring::FullDuplex)).unwrap();
    let improved = improve_plan(&problem, Improvement::default());
    let known = ProblemNames {
        workflow: "ten <tasks>",
        policy: "network-heft",
        tasks: table.names.iter().map(String::as_str).collect(),
        sites: vec!["p1", "p2", "p3"],
        links: ["into-p2", "out-of-p2", "p1-p3", "p3-p1"].map(str::to_owned).to_vec(),
        unit: 1.0,
        data: "s",
    };
    named_schedule(&problem, &improved, known)
}

#[test]
fn the_table_tells_tasks_and_transfers() {
    let table = of_schedule(&report());
    let head = "ten <tasks> on 3 sites, planned by network-heft: 100 s planned, 91 s on the shared network\n\
                plan 2 of 4, the first of which takes 102 s; from 0 on, 4 plans repeat in a cycle\n\n\
                task  site  cores  planned (s)  to (s)  starts (s)  ends (s)\n\
                1     p3    0                0       9           0         9\n";
    assert!(table.starts_with(head), "{table}");
    assert!(table.contains("from  to  volume (s)  released (s)  there (s)  links\n"), "{table}");
    assert!(table.ends_with("8     10          11            67         84  into-p2\n"), "{table}");
    assert_eq!(table.lines().count(), 4 + 10 + 2 + report().transfers.len(), "{table}");
}

#[test]
fn decimals_stand_below_each_other() {
    let rows = [["a", "1.5"], ["b", "20"], ["c", "0.000001"]].map(|row| row.map(str::to_owned).to_vec());
    assert_eq!(
        aligned_columns(&["task", "ends (s)"], &rows, 1..2),
        "\ntask   ends (s)\na      1.500000\nb     20.000000\nc      0.000001\n"
    );
}

#[test]
fn a_long_route_is_told_whole() {
    let mut report = report();
    report.links = (0..4).map(|link| format!("a-link-with-a-long-name-{link}")).collect();
    report.transfers.truncate(1);
    report.transfers[0].links = (0..4).collect();
    let table = of_schedule(&report);
    assert!(table.ends_with(&format!("  {}\n", report.links.join(", "))), "{table}");
}

#[test]
fn json_and_picture_hold_everything() {
    let report = report();
    let json: serde_json::Value = serde_json::from_str(&plan_json(&Planned::Schedule(report.clone()))).unwrap();
    assert_eq!(json["realistic"], 91.0);
    assert_eq!(json["tasks"].as_array().unwrap().len(), 10);
    assert_eq!(json["cycle"]["period"], 4);

    let svg = plan_picture(&Planned::Schedule(report.clone()));
    let document = roxmltree::Document::parse(&svg).unwrap();
    let of = |class: &str| {
        document
            .descendants()
            .filter(|node| node.attribute("class").is_some_and(|other| other.starts_with(class)))
            .count()
    };
    assert_eq!(of("t "), 10);
    assert_eq!(of("p"), 10 + 1, "ten outlines and the dashed line");
    let crossings: usize = report.transfers.iter().map(|transfer| transfer.links.len()).sum();
    assert_eq!(of("f"), crossings);
    assert!(svg.contains("ten &lt;tasks&gt;"));
}

/// Flows that share a link at a time stand in rows, which are lower the more there are, above all if the lane is mostly
/// empty.
#[test]
fn many_flows_at_a_time_make_no_high_lane() {
    let height = |flows: usize| -> f64 {
        let mut report = report();
        let flow = report.transfers.iter().find(|transfer| transfer.end > transfer.release).unwrap().clone();
        report.transfers = vec![flow; flows];
        let svg = plan_picture(&Planned::Schedule(report));
        let (_, rest) = svg.split_once(" height=\"").unwrap();
        rest.split_once('"').unwrap().0.parse().unwrap()
    };
    assert_eq!(height(4) - height(1), 3.0 * 11.0);
    assert!(height(30) - height(1) < 40.0, "{}", height(30) - height(1));
}

/// A terminal would take it for an order to clear itself.
const ESCAPE: &str = "a\u{1b}[2Jb";

#[test]
fn no_name_reaches_a_terminal_as_an_order() {
    let mut schedule = report();
    schedule.workflow = ESCAPE.to_owned();
    schedule.tasks[0].name = ESCAPE.to_owned();
    let task = PlacedTask { task: ESCAPE.to_owned(), site: "p1".to_owned(), cores: 1, start: 0.0, end: 1.0 };
    let choices = Choices { workflow: ESCAPE.to_owned(), tasks: vec![task], ..choices() };
    for plan in [Planned::Schedule(schedule), Planned::Choices(choices)] {
        let table = plan_table(&plan);
        assert!(!table.contains('\u{1b}') && table.matches("a\u{fffd}[2Jb").count() > 1, "{table}");
    }
}

#[test]
fn a_plan_that_is_only_slower_is_not_said_to_be_beaten_in_both() {
    let table = plan_table(&Planned::Choices(choices()));
    let row = "*     dominated by another plan";
    assert!(table.lines().any(|line| line.starts_with(row)), "{table}");
    assert_eq!(table.matches("another").count(), 1, "{table}");
}

fn choices() -> Choices {
    let plan = |makespan, dominated| Choice { cost: 40.0, makespan, bookings: 1, dominated };
    Choices {
        workflow: "fork".to_owned(),
        policy: "greedy",
        is_weighted: false,
        alpha: 0.5,
        at: 0.0,
        sites: Vec::new(),
        evaluated: 2,
        work: 40.0,
        budget: None,
        deadline: None,
        left_out: None,
        plans: vec![plan(10.0, false), plan(20.0, true)],
        chosen: 1,
        tasks: Vec::new(),
    }
}
