//! Plans on the grid of a topology, without a run.

use super::provisioning::BARGAINING;
use super::*;
use hansa_sim::grid::{Area, Edge, Step, Workflow};
use hansa_sim::systems::plans::{Choices, PlanRequest, Planned, Unplannable};
use hansa_sim::systems::{self, provisioning};
use hansa_sim::time::{Span, Time};
use hansa_sim::topology::{load_idle, with_planning_context};
use hansa_sim::workload::workflow::{CostTable, WorkflowFile};

/// A fork of two tasks after one, each of `cores` cores.
fn fork(cores: u32, minutes: u64) -> WorkflowFile {
    let step = |name: &str| Step { name: name.to_owned(), work: Span::from_minutes(minutes), cores };
    let edges = [(0, 1), (0, 2)].map(|(from, to)| Edge { from, to, data: 0 });
    let steps = ["root", "left", "right"].map(step);
    WorkflowFile::Workflow(Workflow::new("fork".to_owned(), steps.to_vec(), edges.to_vec()).unwrap())
}

fn make(text: &str, policy: &str, work: &WorkflowFile, alpha: f64, hours: u64) -> Result<Planned, Unplannable> {
    make_within((None, None), text, policy, work, alpha, hours)
}

/// A plan within a budget and a deadline.
fn make_within(
    (budget, deadline): (Option<Area>, Option<Span>),
    text: &str,
    policy: &str,
    work: &WorkflowFile,
    alpha: f64,
    hours: u64,
) -> Result<Planned, Unplannable> {
    let topology = load_text(text, &[]).unwrap();
    let rows = || systems::ALL.iter().flat_map(|row| row.plans.iter().map(move |entry| (row, entry)));
    let (row, entry) = rows().find(|(_, entry)| entry.name == policy).unwrap();
    let at = Time::ZERO + Span::from_minutes(60 * hours);
    let look = |context: &hansa_sim::topology::PlanningContext<'_>| {
        let service = &context.service;
        let grid = &context.grid;
        let links = context.links.clone();
        let load = &context.load[..];
        let name = "fork.json";
        let policy = entry.name;
        (entry.make)(&PlanRequest { policy, service, grid, links, work, name, alpha, budget, deadline, at, load })
    };
    with_planning_context(&topology, row, hours > 0, look).unwrap()
}

fn choices(text: &str, policy: &str, work: &WorkflowFile, alpha: f64, hours: u64) -> Choices {
    match make(text, policy, work, alpha, hours).unwrap() {
        Planned::Choices(choices) => choices,
        Planned::Schedule(_) => panic!("{policy} gives choices"),
    }
}

/// A hundred jobs of other users on two sites, one of which is dearer.
fn busy() -> String {
    let text = BARGAINING.replace("jobs = 3", "jobs = 100\narrival_factor = 30.0");
    text.replace("cores = 4\n", "cores = 4\nprice = 1.5\n")
}

#[test]
fn rows_have_names_of_their_own_and_plan_by_one_of_them() {
    let names: Vec<&str> = systems::ALL.iter().flat_map(|row| row.plans).map(|entry| entry.name).collect();
    assert!((1..names.len()).all(|at| !names[..at].contains(&names[at])), "{names:?}");
    for row in systems::ALL.iter().filter(|row| !row.plans.is_empty()) {
        let service = (row.usual)();
        assert!(row.plans.iter().any(|entry| entry.name == service.default_planner()), "{}", row.key);
    }
    let bargaining = provisioning::ROW.plans.iter();
    assert!(
        bargaining.clone().all(|entry| entry.bargains && provisioning::strategy::find_strategy(entry.name).is_some())
    );
}

/// Without links, data travels from its site to the router and on to the other site; lines of sites of other systems
/// are not included.
#[test]
fn without_links_the_lines_of_sites_are_named() {
    let text = "name = \"lines\"\n[workflow]\n[batch]\n[[site]]\nname = \"york\"\ncores = 2\nsystem = \"batch\"\n\
                [[site]]\nname = \"bath\"\ncores = 1\nlatency = \"2 s\"\nsystem = \"workflow\"\n\
                [[site]]\nname = \"hull\"\ncores = 1\nlatency = \"3 s\"\nsystem = \"workflow\"\n[[user]]\nname = \"alice\"\n\
                [[workload]]\nsource = \"lublin\"\njobs = 1\nnodes = 1\n";
    let Planned::Schedule(plan) = make(text, "heft", &fork(1, 60), 0.0, 0).unwrap() else { panic!("heft gives one") };
    assert_eq!(plan.links, ["bath – router", "hull – router"]);
    let between: Vec<&[u32]> =
        plan.transfers.iter().filter(|one| !one.links.is_empty()).map(|one| &one.links[..]).collect();
    assert!(!between.is_empty() && between.iter().all(|links| [&[0, 1][..], &[1, 0]].contains(links)), "{between:?}");
}

#[test]
fn a_plan_needs_users_only_for_their_jobs() {
    let load = |text: &str| {
        let mut read = |_: &str| Ok(text.as_bytes().to_vec());
        load_idle("grid.toml", &[], &mut read).map(drop).map_err(|diagnostics| diagnostics.to_string())
    };
    let idle = "name = \"idle\"\n[provisioning]\n[[site]]\nname = \"york\"\ncores = 4\n";
    assert_eq!(load(idle), Ok(()));
    let message = load(&format!("{idle}[[workload]]\nsource = \"lublin\"\njobs = 3\nnodes = 4\n")).unwrap_err();
    assert!(message.contains("at least one [[user]] to submit jobs"), "{message}");
}

#[test]
fn alpha_chooses_from_undominated_plans() {
    for policy in ["moga", "greedy"] {
        let all = [0.0, 0.5, 1.0].map(|alpha| choices(&busy(), policy, &fork(4, 60), alpha, 6));
        for of in &all {
            assert!(of.sites.iter().any(|site| site.running > 0 && site.slots > 1), "{:?}", of.sites);
            let plans = &of.plans;
            let chosen = of.plans[of.chosen];
            let better = plans.iter().filter(|plan| !plan.dominated);
            assert!(
                better.clone().zip(better.skip(1)).all(|(a, b)| a.cost < b.cost && a.makespan > b.makespan),
                "{of:?}"
            );
            // Tasks are where the plan places them, and none runs before its predecessors.
            let last = of.tasks.iter().map(|task| task.end).fold(0.0, f64::max);
            assert_eq!((of.tasks.len(), last), (3, chosen.makespan));
            assert_eq!(of.tasks[0].task, "root");
            assert!(of.tasks[1..].iter().all(|task| task.start >= of.tasks[0].end), "{of:?}");
            assert!(chosen.cost >= of.work && of.work == 3.0 * 4.0 * 3_600.0, "{of:?}");
        }
        let taken = all.each_ref().map(|of| of.plans[of.chosen]);
        assert!(taken[0].makespan <= taken[1].makespan && taken[1].makespan <= taken[2].makespan, "{taken:?}");
        assert!(taken[0].cost >= taken[1].cost && taken[1].cost >= taken[2].cost, "{taken:?}");
        // A plan that waits until other jobs are done pays only for its own use.
        assert_eq!(taken[2].cost, all[2].work, "{policy}");
    }
    // One front serves all alphas.
    let front = |alpha| choices(&busy(), "moga", &fork(4, 60), alpha, 6).plans;
    assert_eq!(front(0.0), front(1.0));
}

/// The tasks of the fork have an hour on four cores each. York charges five core hours for a booking, and leeds is
/// dearer by half. Under moga all tasks at york are in one slot, which costs its charge once.
#[test]
fn plans_include_the_fixed_charges_of_bookings() {
    let charging = BARGAINING.replace("cores = 4\n", "cores = 4\nprice = 1.5\n");
    let charging = charging.replace("cores = 8\n", "cores = 8\ncharge = \"5 core h\"\n");
    let cost = |policy: &str, alpha: f64| {
        let of = choices(&charging, policy, &fork(4, 60), alpha, 0);
        let plan = of.plans[of.chosen];
        (plan.cost / 3_600.0, plan.makespan / 3_600.0, plan.bookings)
    };
    // All at york: 3 * 4 + 5, and all at leeds: 3 * 6, an hour later.
    assert_eq!(cost("moga", 1.0), (17.0, 2.0, 3));
    assert_eq!(cost("greedy", 1.0), (18.0, 3.0, 3));
    // One of the two tasks that run at the same time has to be at york: 6 + 6 + 4 + 5.
    assert_eq!(cost("greedy", 0.0), (21.0, 2.0, 3));
}

/// York has eight cores at price 3, leeds four at price 1. The fork takes 3 * 4 core hours: at york 36 for two hours,
/// at leeds 12 for three; greedy also finds that with one of the last two tasks at york, for 4 + 4 + 12 and two hours.
#[test]
fn plans_that_break_a_budget_or_a_deadline_are_left_out() {
    let text = BARGAINING.replace("cores = 8\n", "cores = 8\nprice = 3.0\n");
    let hours = |hours: u64| Span::from_minutes(60 * hours);
    let within = |policy: &str, alpha: f64, budget: u64, deadline: u64| {
        let budget = (budget > 0).then(|| Area::of(1, hours(budget)));
        let deadline = (deadline > 0).then(|| hours(deadline));
        match make_within((budget, deadline), &text, policy, &fork(4, 60), alpha, 0) {
            Ok(Planned::Choices(of)) => {
                let costs = of.plans.iter().map(|plan| (plan.cost / 3_600.0, plan.makespan / 3_600.0));
                Ok((costs.collect::<Vec<_>>(), of.chosen, of.left_out))
            }
            Ok(Planned::Schedule(_)) => panic!("{policy} gives choices"),
            Err(error) => Err(error.to_string()),
        }
    };
    let cheap = (12.0, 3.0);
    let fast = (36.0, 2.0);
    let mixed = (20.0, 2.0);
    assert_eq!(within("moga", 1.0, 0, 0), Ok((vec![cheap, fast], 0, None)));
    assert_eq!(within("moga", 1.0, 0, 2), Ok((vec![fast], 0, Some(1))));
    assert_eq!(within("moga", 0.0, 35, 0), Ok((vec![cheap], 0, Some(1))));
    assert_eq!(within("moga", 0.0, 36, 3), Ok((vec![cheap, fast], 1, Some(0))));
    assert_eq!(within("greedy", 1.0, 0, 0), Ok((vec![cheap, mixed], 0, None)));
    // Enough time is left for what follows: all alphas come to the same then.
    assert_eq!(within("greedy", 1.0, 0, 2), Ok((vec![mixed], 0, Some(0))));
    assert_eq!(within("greedy", 0.0, 20, 2), Ok((vec![mixed], 0, Some(0))));
    assert_eq!(within("greedy", 0.0, 19, 0), Ok((vec![cheap], 0, Some(0))));
    let message = |policy, budget, deadline| within(policy, 0.5, budget, deadline).unwrap_err();
    for policy in ["moga", "greedy"] {
        assert_eq!(
            message(policy, 11, 0),
            "no plan costs 11 core h or less: the cheapest of all costs 12 core h and takes 3 h"
        );
        assert!(message(policy, 0, 1).starts_with("no plan takes 1 h or less: the earliest of all costs "), "{policy}");
        assert!(message(policy, 11, 2).ends_with("; the cheapest of all costs 12 core h and takes 3 h"), "{policy}");
    }
    assert_eq!(
        message("moga", 35, 2),
        "no plan both costs 35 core h or less and takes 2 h or less: the cheapest that takes no longer costs 36 core h; \
         the earliest that costs no more takes 3 h"
    );
    assert_eq!(
        message("greedy", 19, 2),
        "no plan both costs 19 core h or less and takes 2 h or less: the cheapest that takes no longer costs 20 core h; \
         the earliest that costs no more takes 3 h"
    );
}

/// Twice the price from 8 to 18 h. From 17 h on, the fork takes an hour of four cores at that price and two at the
/// other, 16 core hours in all, and 12 an hour later.
#[test]
fn plans_at_prices_by_time_of_day_cost_what_their_hours_cost() {
    let text = "name = \"by-day\"\n[provisioning]\n[[site]]\nname = \"york\"\ncores = 8\n\
                prices = [{ from = \"8 h\", price = 2.0 }, { from = \"18 h\", price = 1.0 }]\n\
                [[user]]\nname = \"alice\"\n[[workload]]\nsource = \"table\"\n[[workload.job]]\narrive = \"40 h\"\n\
                tasks = [{ runtime = \"1 h\", cores = 1 }]\n";
    for policy in ["moga", "greedy"] {
        let of = choices(text, policy, &fork(4, 60), 1.0, 17);
        let costs = of.plans.iter().map(|plan| (plan.cost / 3_600.0, plan.makespan / 3_600.0));
        assert_eq!((costs.collect::<Vec<_>>(), of.chosen), (vec![(12.0, 3.0), (16.0, 2.0)], 0), "{policy}");
        assert_eq!(of.tasks[0].start, 3_600.0, "{policy}");
    }
}

#[test]
fn a_moment_contains_the_jobs_submitted_by_then() {
    let idle = choices(&busy(), "moga", &fork(4, 60), 0.0, 0);
    assert!(idle.sites.iter().all(|site| (site.running, site.waiting, site.slots) == (0, 0, 1)), "{:?}", idle.sites);
    assert_eq!(idle.plans[idle.chosen].makespan, 7_200.0);
    let bargaining = busy().replace("name = \"alice\"", "name = \"alice\"\nstrategy = \"moga\"");
    let later = choices(&bargaining, "moga", &fork(4, 60), 0.0, 6);
    assert!(later.sites.iter().all(|site| site.running == 0), "who bargains is no crowd: {:?}", later.sites);
    // A grid of another system is one of idle sites.
    let queued = BARGAINING.replace("[provisioning]", "[batch]");
    assert_eq!(choices(&queued, "greedy", &fork(4, 60), 0.0, 6).plans[0].makespan, 7_200.0);
}

#[test]
fn jobs_of_other_users_go_where_they_fit() {
    let table = "source = \"table\"\n[[workload.job]]\ntasks = [{ runtime = \"10 h\", cores = 1, kind = \"b\" }]\n";
    let [source, users] = ["source = \"lublin\"\njobs = 3\nnodes = 4\n", "users = [\"alice\"]\n"];
    let text = BARGAINING.replace(users, "").replace(source, table);
    for york in ["kind = \"a\"", "kind = \"b\"\nlongest = \"9 h\""] {
        let text = text.replace("cores = 8\n", &format!("cores = 8\n{york}\n"));
        let text = text.replace("cores = 4\n", "cores = 4\nkind = \"b\"\n");
        let of = choices(&text, "moga", &fork(4, 60), 0.0, 1);
        let running: Vec<usize> = of.sites.iter().map(|site| site.running).collect();
        assert_eq!(running, [0, 1], "york has {york}");
    }
}

#[test]
fn impossible_plans_are_reported() {
    let short = BARGAINING.replace("cores = 8", "cores = 8\nlongest = \"30 min\"");
    let table =
        CostTable { names: vec!["a".to_owned()], processors: Vec::new(), run: vec![vec![1.0, 2.0]], edges: Vec::new() };
    for policy in ["moga", "greedy"] {
        for (text, work, expected) in [
            (
                BARGAINING,
                fork(9, 60),
                "task 0 (`root`) needs 9 processors at once, but no slot can have more than the 8 of york",
            ),
            (&short, fork(8, 60), "task 0 (`root`) runs for 1 h, which is longer than any site that is large enough"),
            (BARGAINING, WorkflowFile::Table(table.clone()), "expected a workflow"),
        ] {
            let error = make(text, policy, &work, 0.5, 0).unwrap_err().to_string();
            assert!(error.contains(expected), "{policy}: {error}");
        }
    }
}
