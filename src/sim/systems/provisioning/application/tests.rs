use super::moga::member_fitness;
use super::*;
use crate::grid::{
    Area, Edge, EdgeSlots, InnerSlots, JobId, Part, Rate, Receipt, Slot, Speed, Step, Tariff, TaskId, Workflow,
};
use crate::play::second;
use crate::random::SplitMix64;
use crate::roles::queue::NodeRequest;
use crate::systems::provisioning::desk::{Desk, DeskTerms, PlanningMode, WantedStarts};
use crate::systems::provisioning::{forecast, planner};
use crate::time::{Span, Time};

fn cost(allocation: u64, makespan: f64) -> Cost {
    Cost {
        allocation: Area::of(1, Span::from_secs(allocation)),
        makespan: Span::from_micros((makespan * 1e6).round() as u64),
    }
}

fn workflow(tasks: &[(u32, u64)], edges: &[(u32, u32)]) -> Workflow {
    let steps = tasks.iter().enumerate().map(|(number, (cores, length))| Step {
        name: format!("T{}", number + 1),
        work: Span::from_secs(*length),
        cores: *cores,
    });
    let edges = edges.iter().map(|(from, to)| Edge { from: *from, to: *to, data: 0 });
    Workflow::new("test".to_owned(), steps.collect(), edges.collect()).unwrap()
}

fn alone(workflow: &Workflow) -> Application {
    Application::new(workflow, &[Speed::USUAL], |_, _| unreachable!("there is one site"))
}

fn slot(start: u64, procs: u32, length: u64, is_edge: bool) -> Slot {
    Slot {
        start: second(start),
        procs,
        span: Span::from_secs(length),
        rate: Rate::ONE,
        fee: Area::ZERO,
        divisible: is_edge,
        extensible: is_edge,
    }
}

fn shown(cost: &Cost) -> (u64, u64) {
    (cost.allocation.micros() / 1_000_000, cost.makespan.micros() / 1_000_000)
}

/// The example of slots and three tasks: slots a to e, hours as seconds.
fn example() -> (Application, Vec<Slot>) {
    let workflow = workflow(&[(2, 1), (1, 2), (2, 1)], &[(0, 1), (0, 2), (1, 2)]);
    let slots = vec![
        slot(0, 2, 2, false),
        slot(0, 1, 5, false),
        slot(3, 2, 3, false),
        slot(4, 2, 99, true),
        slot(7, 3, 99, true),
    ];
    (alone(&workflow), slots)
}

#[test]
fn plans_cost_what_they_do_in_the_example() {
    let (application, slots) = example();
    assert_eq!(application.order(), [0, 1, 2]);
    let mut evaluator = Evaluator::new(&application, Time::ZERO, &[&slots]);
    let mut archive = Archive::new();
    let mut feasible = 0;
    for bits in 0u32..32 {
        if let Some(cost) = evaluator.cost(|slot| bits >> slot & 1 == 1) {
            feasible += 1;
            archive.offer(cost, || bits);
        }
    }
    assert_eq!(feasible, 26);
    let front: Vec<(u64, u64)> = archive.members().iter().map(|(cost, _)| shown(cost)).collect();
    assert_eq!(front, [(6, 8), (8, 7), (10, 6), (11, 5), (15, 4)]);

    let starts =
        |plan: ApplicationPlan| plan.tasks.iter().map(|placed| placed.start.micros() / 1_000_000).collect::<Vec<_>>();
    assert_eq!(starts(evaluator.plan(|slot| slot == 3).unwrap()), [4, 5, 7]);
    assert_eq!(starts(evaluator.plan(|slot| slot < 3).unwrap()), [0, 1, 3]);

    let options: Vec<(u64, u64)> = front.clone();
    let chosen = |alpha: f64| options[choose_best(alpha, &options).unwrap()];
    for (alpha, expected) in [
        (0.0, (15, 4)),
        (0.1, (15, 4)),
        (0.2, (15, 4)),
        (0.3, (15, 4)),
        (0.4, (11, 5)),
        (0.5, (11, 5)),
        (0.6, (6, 8)),
        (0.8, (6, 8)),
        (1.0, (6, 8)),
    ] {
        assert_eq!(chosen(alpha), expected, "alpha {alpha}");
    }
}

#[test]
fn a_plan_books_inner_slots_whole_and_of_edges_what_is_used() {
    let (application, slots) = example();
    let mut evaluator = Evaluator::new(&application, Time::ZERO, &[&slots]);
    let plan = evaluator.plan(|slot| slot < 3).unwrap();
    let parts: Vec<_> = plan.bookings.iter().map(|booked| (booked.slot, booked.part, booked.task)).collect();
    // b lasts long enough for T2, but so does half of a.
    let used: Vec<u32> = parts.iter().map(|part| part.0).collect();
    assert!(
        parts.iter().all(|(slot, part, task)| *part == slots[*slot as usize].whole() && task.is_none()),
        "{parts:?}"
    );
    let paid: Area = used.iter().map(|slot| slots[*slot as usize].cost()).sum();
    assert_eq!(paid, plan.cost.allocation);

    let plan = evaluator.plan(|slot| slot == 3).unwrap();
    let parts: Vec<_> = plan.bookings.iter().map(|booked| (booked.part.procs, booked.task)).collect();
    // The third stacks the rests of the first and of the second.
    assert_eq!(parts, [(2, Some(0)), (1, Some(1)), (1, Some(2)), (1, Some(2))]);
    assert_eq!(plan.shares, [(0, 3, 2), (1, 3, 1), (2, 3, 1), (2, 3, 1)]);
}

/// At random prices by time of day, with a charge, for slots of all types: what the site asks for the parts of a plan
/// is what the plan said.
#[test]
fn a_plan_costs_what_its_bookings_cost() {
    let mut draw = SplitMix64::new(11);
    let mut plans = 0;
    let mut later = 0;
    for seed in 0..40 {
        let step = |from: u64, draw: &mut SplitMix64| {
            let micros = draw.int(0, 1_000_000);
            (Span::from_micros(from * 1_000_000 + micros), Rate(draw.int(1, 3_000) as u32))
        };
        let steps = [step(0, &mut draw), step(30, &mut draw), step(77, &mut draw)];
        let tariff = Tariff::by_day(steps[..1 + seed % 3].to_vec());
        let charge = Area::of(1, Span::from_secs(draw.int(0, 20)));
        let inner_slots = InnerSlots::ALL[draw.int(0, 1) as usize].1;
        let edge_slots = EdgeSlots::ALL[draw.int(0, 3) as usize].1;
        let terms = DeskTerms::new(5, PlanningMode::Rebuild);
        let terms = DeskTerms { tariff: tariff.clone(), charge, inner_slots, edge_slots, ..terms };
        let planner = planner::build_planner("slotlist").unwrap();
        let mut desk = Desk::new(terms, planner, Box::new(forecast::Constant(0.0)));
        for number in 0..4 {
            let job = TaskId { job: JobId(number), index: 0 };
            let nodes = draw.int(1, 5) as u32;
            let length = draw.int(1, 30);
            desk.submit(Time::ZERO, NodeRequest { job, nodes, walltime: Span::from_secs(length) }).unwrap();
        }
        desk.run_pass(Time::ZERO, &mut Vec::new());
        let tasks: Vec<(u32, u64)> = (0..4).map(|_| (draw.int(1, 5) as u32, draw.int(1, 30))).collect();
        let application = alone(&workflow(&tasks, &[(0, 2), (1, 2)]));
        let advert = desk.advertise(Time::ZERO);
        let settings = MogaSettings { population: 20, generations: 4, ..MogaSettings::new(seed as u64) };
        let front =
            plan_at_prices(&application, Time::ZERO, (&[&advert.slots[..]], std::slice::from_ref(&tariff)), settings);
        for plan in &front.plans {
            let parts: Vec<_> = plan.bookings.iter().map(|booked| (booked.slot, booked.part)).collect();
            let receipts = desk.clone().take(Time::ZERO, advert.version, &parts).unwrap();
            let paid: Area = receipts.iter().map(Receipt::total).sum();
            // At one price a slot is rounded as a whole.
            let rounded = if tariff.is_flat() { parts.len() as u64 } else { 0 };
            let apart = plan.cost.allocation.saturating_sub(paid).micros();
            assert!(paid <= plan.cost.allocation && apart <= rounded, "{seed}: {plan:?} {receipts:?}");
            plans += 1;
            let first = plan.tasks.iter().map(|task| task.start).min().unwrap();
            later += usize::from(tariff.changes(Time::ZERO).any(|change| change == first));
        }
    }
    assert!(plans > 50 && later > 5, "{plans} plans, {later} of them wait for a price");
}

/// Two tasks of two processors, of 3 and 6 s, one after the other, in a slot of four processors for 8 s from 2 s on. By
/// type: parts of both tasks if the slot is divisible, and else all of it, extended if necessary. Both tasks end at 11
/// s, so a slot that is not extensible has no room for them.
#[test]
fn a_slot_costs_what_its_type_lets_be_taken() {
    let application = alone(&workflow(&[(2, 3), (2, 6)], &[(0, 1)]));
    let parts = |lasts: u64, divisible: bool, extensible: bool| {
        let fee = Area::of(1, Span::from_secs(5));
        let slot = Slot { divisible, extensible, fee, ..slot(2, 4, lasts, false) };
        let plan = Evaluator::new(&application, Time::ZERO, &[&[slot]]).plan(|_| true)?;
        let parts = plan.bookings.iter().map(|booked| {
            assert_eq!(slot.check(&booked.part), Ok(()));
            let Part { procs, start, span } = booked.part;
            (procs, start.micros() / 1_000_000, span.micros() / 1_000_000)
        });
        Some((parts.collect::<Vec<_>>(), shown(&plan.cost).0))
    };
    let pieces = || Some((vec![(2, 2, 3), (2, 5, 6)], 2 * 3 + 2 * 6 + 5));
    assert_eq!([parts(8, false, false), parts(8, true, false)], [None, None]);
    assert_eq!(parts(8, false, true), Some((vec![(4, 2, 9)], 4 * 9 + 5)));
    assert_eq!([parts(8, true, true), parts(20, true, false)], [pieces(), pieces()]);
    assert_eq!(parts(20, false, false), Some((vec![(4, 2, 20)], 4 * 20 + 5)));
    assert_eq!(parts(20, false, true), Some((vec![(4, 2, 20)], 4 * 20 + 5)));
}

#[test]
fn fitness_is_that_of_the_check_values() {
    let costs: Vec<Option<Cost>> =
        [(100, 10.0), (101, 9.9), (140, 6.0), (200, 4.0), (150, 8.0), (160, 9.0), (220, 12.0)]
            .into_iter()
            .map(|(allocation, makespan)| Some(cost(allocation, makespan)))
            .chain([None])
            .collect();
    let expected = [4.936242, 4.936242, 8.063758, 8.063758, 4.0, 3.0, 2.0, 1.0];
    let fitness_of_both = member_fitness(&costs, Aims::Both);
    for (fitness, expected) in fitness_of_both.iter().zip(expected) {
        assert!((fitness - expected).abs() < 1e-6, "{fitness} for {expected}");
    }
    assert!((fitness_of_both.iter().sum::<f64>() - 36.0).abs() < 1e-9);
}

/// Costs are from 100 to 200 and makespans from 2 to 10, so the second plan has (0.2 + 0.5) / 2 = 0.35 if both count
/// the same. Of seven members the best has 7 points and the next 6; two equal ones at the top have 6.5 each.
#[test]
fn fitness_by_a_sum_is_the_place_among_all() {
    let costs: Vec<Option<Cost>> = [(100, 10.0), (120, 6.0), (200, 2.0), (120, 6.0), (150, 10.0)]
        .into_iter()
        .map(|(allocation, makespan)| Some(cost(allocation, makespan)))
        .chain([None, None])
        .collect();
    // Sums: 0.5, 0.35, 0.5, 0.35, 0.75. Of equal sums, the one with the lower makespan is better.
    assert_eq!(member_fitness(&costs, Aims::Sum(0.5)), [4.0, 6.5, 5.0, 6.5, 3.0, 1.5, 1.5]);
    assert_eq!(member_fitness(&costs, Aims::Sum(0.0)), [4.0, 5.5, 7.0, 5.5, 3.0, 1.5, 1.5]);
    assert_eq!(member_fitness(&costs, Aims::Sum(1.0)), [7.0, 5.5, 3.0, 5.5, 4.0, 1.5, 1.5]);
}

/// The best plan of each weight is that of all 32 strings of bits.
#[test]
fn the_search_by_a_sum_finds_the_best_plan_of_the_example() {
    let (application, slots) = example();
    for (alpha, best) in [(0.0, (15, 4)), (0.3, (15, 4)), (0.5, (11, 5)), (0.6, (6, 8)), (1.0, (6, 8))] {
        let settings = MogaSettings { aims: Aims::Sum(alpha), ..MogaSettings::new(1) };
        let front = plan_application(&application, Time::ZERO, &[&slots], settings);
        assert_eq!(shown(&front.choose(alpha).unwrap().cost), best, "{alpha}");
    }
}

#[test]
fn the_search_finds_the_front_of_the_example() {
    let (application, slots) = example();
    let front = plan_application(&application, Time::ZERO, &[&slots], MogaSettings::new(1));
    let costs: Vec<(u64, u64)> = front.plans.iter().map(|plan| shown(&plan.cost)).collect();
    assert_eq!(costs, [(6, 8), (8, 7), (10, 6), (11, 5), (15, 4)]);
    assert_eq!(shown(&front.choose(0.5).unwrap().cost), (11, 5));
    // Without slots, and with such that are too narrow, there is no plan.
    assert!(plan_application(&application, Time::ZERO, &[&[]], MogaSettings::new(1)).choose(0.5).is_none());
    assert!(plan_application(&application, Time::ZERO, &[&slots[1..2]], MogaSettings::new(1)).plans.is_empty());
}

#[test]
fn an_archive_keeps_the_plans_that_none_dominates() {
    let mut draw = SplitMix64::new(5);
    for _ in 0..300 {
        let costs: Vec<Cost> = (0..draw.int(1, 30)).map(|_| cost(draw.int(1, 9), draw.int(1, 9) as f64)).collect();
        let mut archive = Archive::new();
        costs.iter().for_each(|cost| archive.offer(*cost, || ()));
        let mut best: Vec<Cost> = costs.clone();
        best.retain(|cost| !costs.iter().any(|other| dominates(other, cost)));
        best.sort_by_key(|cost| (cost.allocation, cost.makespan));
        best.dedup();
        assert_eq!(archive.members().iter().map(|member| member.0).collect::<Vec<_>>(), best);
    }
}

/// The site of Table 3.
fn site() -> Desk {
    let mut desk = Desk::new(
        DeskTerms::new(5, PlanningMode::Rebuild),
        planner::build_planner("slotlist").unwrap(),
        Box::new(forecast::Constant(0.0)),
    );
    let request = |number, nodes, length| NodeRequest {
        job: TaskId { job: JobId(number), index: 0 },
        nodes,
        walltime: Span::from_secs(length),
    };
    desk.submit(Time::ZERO, request(0, 1, 3)).unwrap();
    desk.submit(Time::ZERO, request(1, 3, 2)).unwrap();
    desk.run_pass(Time::ZERO, &mut Vec::new());
    let quote = desk.price(Time::ZERO, 1, Span::from_secs(3), WantedStarts::At(second(4))).unwrap();
    desk.book(Time::ZERO, quote.id, second(4)).unwrap();
    desk.submit(Time::ZERO, request(2, 2, 4)).unwrap();
    desk.submit(Time::ZERO, request(3, 2, 5)).unwrap();
    desk
}

#[test]
fn a_greedy_plan_is_that_of_the_example() {
    let application = alone(&workflow(&[(2, 3), (2, 3)], &[(0, 1)]));
    for (alpha, starts, fees, costs) in
        [(0.0, [2, 5], [6, 10], (28, 8)), (0.5, [2, 7], [6, 0], (18, 10)), (1.0, [6, 9], [0, 0], (12, 12))]
    {
        let mut desk = site();
        let mut greedy = GreedyPlan::new(&application, alpha, Time::ZERO, vec![5]);
        while let [query] = greedy.price_queries(Time::ZERO)[..] {
            let quote = desk
                .price(Time::ZERO, query.part.procs, query.part.span, WantedStarts::From(query.part.start))
                .unwrap();
            let (site, quote, start) = greedy.choose(&[(0, quote)]).unwrap();
            greedy.bought(site, desk.book(Time::ZERO, quote, start).unwrap());
        }
        let bought = greedy.all().iter();
        let bought: Vec<_> = bought.map(|(placed, receipt)| (placed.start, receipt.fee.micros() / 1_000_000)).collect();
        assert_eq!(bought, [(second(starts[0]), fees[0]), (second(starts[1]), fees[1])], "alpha {alpha}");
        assert_eq!(shown(&greedy.cost()), costs);
    }
    assert!(GreedyPlan::new(&application, 0.5, Time::ZERO, vec![1]).price_queries(Time::ZERO).is_empty());
}

#[test]
fn best_effort_follows_the_order_of_heft_and_waits_for_data() {
    let mut flow = workflow(&[(1, 5), (1, 9), (1, 5), (2, 1)], &[(0, 3), (1, 3), (2, 3)]);
    flow.edges.iter_mut().for_each(|edge| edge.data = 1_000);
    let link = SiteLink { latency: Span::from_secs(2), bandwidth: 8_000 };
    let application = Application::new(&flow, &[Speed::USUAL; 2], |_, _| link);
    let mut way = BestEffort::new(&application);
    assert_eq!(way.first(), [1, 0, 2]);
    for (task, site) in [(1, 0), (0, 1), (2, 0)] {
        assert_eq!(way.send(Time::ZERO, task, site), Submission { task, site, at: Time::ZERO });
    }
    assert!(way.record_ends(second(5), &[0, 2]).is_empty());
    assert_eq!(way.record_ends(second(9), &[1]), [3]);
    // From site 1 it has arrived by 8, and from site 0 its transfer takes three seconds.
    assert_eq!(way.clone().send(second(9), 3, 0).at, second(9));
    assert_eq!(way.send(second(9), 3, 1).at, second(12));
    assert!(!way.is_over());
    way.record_ends(second(20), &[3]);
    assert!(way.is_over());

    assert_eq!(least_loaded(4, [(2, 0), (4, 7), (8, 3), (9, 3)]), Some(2));
    assert_eq!(least_loaded(10, [(2, 0)]), None);
}
