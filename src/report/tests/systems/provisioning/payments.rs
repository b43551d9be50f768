//! Small grids in which prices decide; all payments were worked out by hand.

use super::by_hand::{Users, bargains, topology_of};
use super::play;
use crate::Bargaining;
use hansa_sim::grid::Receipt;
use hansa_sim::kernel::Entry;
use hansa_sim::protocol::{Bargain, Reason, Record};

/// A booking: its site, rent and fee, in processor-seconds.
type Payment = (u32, f64, f64);

/// The bookings in their order, and the summary.
fn paid(sites: &[&str], users: &Users<'_>) -> (Vec<Payment>, Bargaining) {
    let (log, all) = play(&topology_of(sites, users));
    (payments(&log), all)
}

fn payments(log: &[Entry<Record>]) -> Vec<Payment> {
    let paid = log.iter().filter_map(|entry| match &entry.record {
        Record::Booked { receipt: Receipt { rent, fee, .. }, .. } => {
            Some((entry.actor.0, rent.seconds(), fee.seconds()))
        }
        _ => None,
    });
    paid.collect()
}

/// Payments of the first user, its fixed charges, and what each site has earned, in processor-seconds.
fn accounts(all: &Bargaining) -> (f64, f64, Vec<f64>) {
    let seconds = |hours: f64| (hours * 3_600e6).round() / 1e6;
    let user = &all.users[0];
    (seconds(user.cost), seconds(user.charges), all.sites.iter().map(|site| seconds(site.earned)).collect())
}

/// A core for 100 s costs 100 + 200 core-seconds at the first site and 2 * 100 at the second; four cores cost 400 + 200
/// and 2 * 400.
#[test]
fn the_fixed_charge_of_a_booking_decides_where_it_is_cheaper() {
    let job = |cores: u32| format!("tasks = [{{ runtime = \"100 s\", cores = {cores} }}]");
    for strategy in ["reserve", "greedy", "moga"] {
        let user = format!("strategy = \"{strategy}\"\nalpha = 1.0");
        let sites = ["cores = 4\ncharge = \"200 core s\"", "cores = 4\nprice = 2.0"];
        let (paid, all) = paid(&sites, &[(&user, &[(0, &job(1)), (1_000, &job(4))])]);
        assert_eq!(paid, [(1, 200.0, 0.0), (0, 400.0, 200.0)], "{strategy}");
        assert_eq!(accounts(&all), (800.0, 200.0, vec![600.0, 200.0]), "{strategy}");
    }
}

/// Two tasks, one after the other, of 100 and 200 core-seconds. All parts of one slot that are claimed together pay its
/// charge once; of two reservations each pays it.
#[test]
fn parts_of_one_slot_pay_its_charge_once() {
    let tasks = "tasks = [{ runtime = \"100 s\", cores = 1 }, { runtime = \"100 s\", cores = 2 }]\nedges = [[0, 1]]";
    let run = |strategy: &str| {
        let (paid, all) =
            paid(&["cores = 4\ncharge = \"50 core s\""], &[(&format!("strategy = \"{strategy}\""), &[(0, tasks)])]);
        (paid, accounts(&all))
    };
    assert_eq!(run("moga"), (vec![(0, 100.0, 50.0), (0, 200.0, 0.0)], (350.0, 50.0, vec![350.0])));
    assert_eq!(run("greedy"), (vec![(0, 100.0, 50.0), (0, 200.0, 50.0)], (400.0, 100.0, vec![400.0])));
}

#[test]
fn each_leg_pays_the_charge_of_its_site() {
    let two = "tasks = [{ runtime = \"60 s\", cores = 4 }, { runtime = \"60 s\", cores = 1 }]";
    let pair = "strategy = \"coallocate\"\nlegs = [\"site-0\", \"site-1\"]\nahead = \"10 min\"";
    let sites = ["cores = 4\ncharge = \"10 core s\"", "cores = 4\nprice = 0.5\ncharge = \"20 core s\""];
    let (paid, all) = paid(&sites, &[(pair, &[(0, two)])]);
    assert_eq!(paid, [(0, 240.0, 10.0), (1, 30.0, 20.0)]);
    assert_eq!(accounts(&all), (300.0, 30.0, vec![250.0, 50.0]));
}

/// A crowd holds all four cores of the first site until 1,000 s. The job arrives at 1 s and needs four for 100 s: 400
/// core-seconds from then on, or 3 * 400 at once at the second site. Without a booking it joins the shorter queue,
/// which is that of the second site.
#[test]
fn what_breaks_a_budget_or_a_deadline_is_not_booked() {
    let hour = "tasks = [{ runtime = \"1000 s\", cores = 4 }]";
    let job = "tasks = [{ runtime = \"100 s\", cores = 4 }]";
    let run = |strategy: &str, limits: &str| {
        let user = format!("strategy = \"{strategy}\"\n{limits}");
        let users: &Users<'_> = &[("", &[(0, hour)]), (&user, &[(1, job)])];
        let (log, all) = play(&topology_of(&["cores = 4", "cores = 4\nprice = 3.0"], users));
        let cost = all.users.iter().find(|user| user.strategy == strategy).unwrap().cost;
        (payments(&log), *bargains(&log).last().unwrap(), (cost * 3_600.0).round())
    };
    let later = vec![(0, 400.0, 0.0)];
    let at_once = vec![(1, 1_200.0, 0.0)];
    let booked = (Bargain::Booked, None);
    let queued = |why| (Vec::new(), (Bargain::Refused, Some(why)), 400.0);
    for (strategy, late) in
        [("moga", Reason::LatePlan), ("greedy", Reason::PastDeadline), ("reserve", Reason::PastDeadline)]
    {
        let run = |limits| run(strategy, limits);
        assert_eq!(run("alpha = 1.0"), (later.clone(), booked, 400.0), "{strategy}");
        assert_eq!(run("alpha = 1.0\ndeadline = \"1098 s\""), (at_once.clone(), booked, 1_200.0), "{strategy}");
        assert_eq!(run("alpha = 1.0\ndeadline = \"1099 s\""), (later.clone(), booked, 400.0), "{strategy}");
        assert_eq!(run("alpha = 0.0\nbudget = \"1199 core s\""), (later.clone(), booked, 400.0), "{strategy}");
        assert_eq!(run("alpha = 0.0\nbudget = \"1200 core s\""), (at_once.clone(), booked, 1_200.0), "{strategy}");
        assert_eq!(run("deadline = \"99 s\""), queued(late), "{strategy}");
        assert_eq!(run("budget = \"399 core s\""), queued(Reason::OverBudget), "{strategy}");
        let both = "deadline = \"1098 s\"\nbudget = \"1199 core s\"";
        assert_eq!(run(both), queued(Reason::OverBudgetInTime), "{strategy}");
    }
}

/// Two such tasks, one after the other: greedy buys the first only if the second can still be bought at the least price
/// and in its time.
#[test]
fn a_task_is_bought_only_if_the_limits_leave_enough_for_those_after_it() {
    let hour = "tasks = [{ runtime = \"1000 s\", cores = 4 }]";
    let two = "tasks = [{ runtime = \"100 s\", cores = 4 }, { runtime = \"100 s\", cores = 4 }]\nedges = [[0, 1]]";
    let run = |limits: &str| {
        let user = format!("strategy = \"greedy\"\n{limits}");
        let users: &Users<'_> = &[("", &[(0, hour)]), (&user, &[(1, two)])];
        let (log, _) = play(&topology_of(&["cores = 4", "cores = 4\nprice = 3.0"], users));
        payments(&log)
    };
    let cheap = (0, 400.0, 0.0);
    let dear = (1, 1_200.0, 0.0);
    assert_eq!(run("alpha = 0.0"), [dear, dear]);
    // 1,600 - 400 are left for the first, and 400 for the second, which is at 1,000 s then.
    assert_eq!(run("alpha = 0.0\nbudget = \"1600 core s\""), [dear, cheap]);
    assert_eq!(run("alpha = 0.0\nbudget = \"1599 core s\""), [cheap, cheap]);
    // From 1,000 s on, both take until 1,200 s.
    assert_eq!(run("alpha = 1.0\ndeadline = \"1199 s\""), [cheap, cheap]);
    assert_eq!(run("alpha = 1.0\ndeadline = \"1198 s\""), [dear, cheap]);
}

/// An hour of a core costs two core hours from 8 to 18 h, and one otherwise. From 17 h on, two hours cost three core
/// hours, and two from 18 h on.
const BY_DAY: &str = "prices = [{ from = \"8 h\", price = 2.0 }, { from = \"18 h\", price = 1.0 }]";

#[test]
fn time_costs_what_it_costs_at_its_hour() {
    let site = format!("cores = 4\n{BY_DAY}");
    let job = "tasks = [{ runtime = \"2 h\", cores = 1 }]";
    for strategy in ["reserve", "greedy", "moga"] {
        let run = |alpha: &str| {
            let user = format!("strategy = \"{strategy}\"\nalpha = {alpha}");
            let users: &Users<'_> = &[(&user, &[(17 * 3_600, job)])];
            let (log, all) = play(&topology_of(&[&site], users));
            let starts = log.iter().filter_map(|entry| match &entry.record {
                Record::Booked { receipt, .. } => Some(receipt.part.start.micros() / 3_600_000_000),
                _ => None,
            });
            (payments(&log), starts.collect::<Vec<_>>(), accounts(&all))
        };
        let paid = |hours: f64| (vec![(0, hours * 3_600.0, 0.0)], (hours * 3_600.0, 0.0, vec![hours * 3_600.0]));
        let at_once = paid(3.0);
        let later = paid(2.0);
        assert_eq!(run("0.0"), (at_once.0, vec![17], at_once.1), "{strategy}");
        assert_eq!(run("1.0"), (later.0, vec![18], later.1), "{strategy}");
    }
}

/// The second site has one price. Four cores at the first and one at the second cost 4 * 2 + 1 core hours at 17 h, and
/// 4 + 1 from 18 h on. With the budget of a second less, there is no common start.
#[test]
fn legs_wait_for_the_evening_or_pay_for_the_day() {
    let two = "tasks = [{ runtime = \"1 h\", cores = 4 }, { runtime = \"1 h\", cores = 1 }]";
    let run = |printed: &str| {
        let pair = format!("strategy = \"coallocate\"\nlegs = [\"site-0\", \"site-1\"]\nahead = \"17 h\"\n{printed}");
        let users: &Users<'_> = &[(&pair, &[(0, two)])];
        let (log, _) = play(&topology_of(&[&format!("cores = 4\n{BY_DAY}"), "cores = 4"], users));
        (payments(&log), *bargains(&log).last().unwrap())
    };
    let booked = (Bargain::Booked, None);
    let paid = |hours: f64| vec![(0, hours * 3_600.0, 0.0), (1, 3_600.0, 0.0)];
    assert_eq!(run("alpha = 0.0"), (paid(8.0), booked));
    assert_eq!(run("alpha = 1.0"), (paid(4.0), booked));
    assert_eq!(run("alpha = 0.0\nbudget = \"32399 core s\""), (paid(4.0), booked));
    assert_eq!(run("budget = \"17999 core s\""), (Vec::new(), (Bargain::Refused, Some(Reason::OverBudget))));
    let both = "budget = \"32399 core s\"\ndeadline = \"18 h\"";
    assert_eq!(run(both), (Vec::new(), (Bargain::Refused, Some(Reason::OverBudgetInTime))));
}

/// Four cores are booked for the 100 s that a task requests, at price 2, and the task takes 40 s. A tenth of the rent
/// of the rest is kept. The job of a crowd needs four cores for 50 s, and starts as soon as they are free.
#[test]
fn the_rest_of_a_booking_is_handed_back_for_a_penalty() {
    let task = "tasks = [{ runtime = \"40 s\", walltime = \"100 s\", cores = 4 }]";
    let run = |terms: &str| {
        let users: &Users<'_> =
            &[("strategy = \"reserve\"", &[(0, task)]), ("", &[(10, "tasks = [{ runtime = \"50 s\", cores = 4 }]")])];
        let (log, all) = play(&topology_of(&[&format!("cores = 4\nprice = 2.0\n{terms}")], users));
        let start = log.iter().rev().find_map(|entry| match entry.record {
            Record::Started { .. } => Some(entry.stamp.time.micros() as f64 / 1e6),
            _ => None,
        });
        let unused = (all.users[0].paid_for_nothing * 3_600e3).round() / 1e3;
        (start.unwrap(), accounts(&all), unused, all.users[0].handed_back)
    };
    assert_eq!(run(""), (100.0, (800.0, 0.0, vec![1_000.0]), 240.0, 0));
    // Of 4 * 60 * 2 for the rest, 48 are kept.
    assert_eq!(run("handing_back = 0.1"), (40.0, (368.0, 0.0, vec![568.0]), 48.0, 1));
    assert_eq!(run("handing_back = 0.0"), (40.0, (320.0, 0.0, vec![520.0]), 0.0, 1));
    // The booking begins at 6 s, so that a question and a claim can precede it. The end at 46 s is known a second
    // later, and the site has the rest back another second later: 58 s of it. It is in vain if it is over by then.
    let far = |terms| run(&format!("latency = \"1 s\"\n{terms}"));
    assert_eq!(far(""), (106.0, (800.0, 0.0, vec![1_000.0]), 240.0, 0));
    assert_eq!(far("handing_back = 0.1"), (48.0, (382.4, 0.0, vec![582.4]), 54.4, 1));
    let punctual = |terms: &str| {
        let exact = "tasks = [{ runtime = \"100 s\", cores = 4 }]";
        let users: &Users<'_> = &[("strategy = \"reserve\"", &[(0, exact)])];
        play(&topology_of(&[&format!("cores = 4\n{terms}")], users)).1.users[0].handed_back
    };
    assert_eq!([punctual("handing_back = 0.1"), punctual("handing_back = 0.1\nlatency = \"1 s\"")], [0, 0]);
}

/// All cores are busy until 50 s and booked from 150 s on, so both tasks are in the slot between, which is booked
/// whole. They take 10 s each, but may take 20 s: the second starts at 70 s, as planned. Of 400 core-seconds, 4 * 70
/// are handed back at 80 s, for 28. The last job needs a minute, which it has in the rest.
#[test]
fn a_booking_of_several_tasks_is_handed_back_after_the_last() {
    let four = |runtime: u32, walltime: u32| {
        format!("{{ runtime = \"{runtime} s\", walltime = \"{walltime} s\", cores = 4 }}")
    };
    let two = format!("tasks = [{}, {}]\nedges = [[0, 1]]", four(10, 20), four(10, 20));
    let [first, booked, last] =
        [(50, 50), (10, 10), (60, 60)].map(|(run, ask)| format!("tasks = [{}]", four(run, ask)));
    let run = |terms: &str| {
        let users: &Users<'_> = &[
            ("strategy = \"moga\"\nalpha = 0.0", &[(1, &two)]),
            ("", &[(0, &first), (60, &last)]),
            ("strategy = \"reserve\"\nalpha = 0.0\nahead = \"150 s\"", &[(0, &booked)]),
        ];
        let (log, all) = play(&topology_of(&[&format!("cores = 4\n{terms}")], users));
        let starts = log.iter().filter_map(|entry| match entry.record {
            Record::Started { .. } => Some(entry.stamp.time.micros() / 1_000_000),
            _ => None,
        });
        (starts.collect::<Vec<_>>(), accounts(&all).0)
    };
    assert_eq!(run(""), (vec![0, 50, 70, 150, 160], 400.0));
    assert_eq!(run("handing_back = 0.1"), (vec![0, 50, 70, 80, 150], 148.0));
}

/// The first leg lasts to its end, and the second takes half of its time.
#[test]
fn a_leg_is_handed_back_without_the_others() {
    let two = "tasks = [{ runtime = \"60 s\", cores = 4 }, { runtime = \"30 s\", walltime = \"60 s\", cores = 4 }]";
    let pair = "strategy = \"coallocate\"\nlegs = [\"site-0\", \"site-1\"]\nahead = \"10 min\"";
    let terms = "cores = 4\nhanding_back = 0.5";
    let (_, all) = play(&topology_of(&[terms, terms], &[(pair, &[(0, two)])]));
    assert_eq!((accounts(&all), all.whole), ((240.0 + 120.0 + 60.0, 0.0, vec![240.0, 180.0]), 1));
}

/// Both tasks book ten hours and run for one. One is lost after half an hour, for good, so its booking is revoked; the
/// other ends after an hour, and the rest of its booking is handed back although its job is given up.
#[test]
fn a_job_that_loses_a_task_hands_back_what_the_others_leave() {
    let failing = "cores = 2\nhanding_back = 0.0\n[[failure]]\nsite = \"site-1\"\nnodes = \"0-1\"\nat = \"30 min\"\n\
                   for = \"40 h\"\n[recovery]\nkilled = \"lost\"";
    let task = |cores: u32| format!("{{ runtime = \"1 h\", walltime = \"10 h\", cores = {cores} }}");
    let two = format!("tasks = [{}, {}]", task(4), task(2));
    let user = "strategy = \"greedy\"\nalpha = 0.0";
    let (_, all) = play(&topology_of(&["cores = 4\nhanding_back = 0.0", failing], &[(user, &[(0, &two)])]));
    let whole = 4.0 * 3_600.0;
    let half = 2.0 * 1_800.0;
    assert_eq!(accounts(&all), (whole + half, 0.0, vec![whole, half]));
}

/// All cores are busy until 50 s and booked from 150 to 160 s. A task of one core for 20 s is in the inner slot of 400
/// core-seconds between, whole or divided; or in the edge slot after 160 s, which is advertised for 48 hours. Alpha 1
/// takes the cheapest: so it pays for 48 hours of four cores only if there is nothing else.
#[test]
fn a_site_sells_slots_of_the_types_it_offers() {
    let one = "tasks = [{ runtime = \"20 s\", cores = 1 }]";
    let [first, booked] = [50, 10].map(|span| format!("tasks = [{{ runtime = \"{span} s\", cores = 4 }}]"));
    let run = |alpha: f64, terms: &str| {
        let users: &Users<'_> = &[
            (&format!("strategy = \"moga\"\nalpha = {alpha:?}"), &[(1, one)]),
            ("", &[(0, &first)]),
            ("strategy = \"reserve\"\nalpha = 0.0\nahead = \"150 s\"", &[(0, &booked)]),
        ];
        let (log, all) = play(&topology_of(&[&format!("cores = 4\n{terms}")], users));
        let start = log.iter().rev().find_map(|entry| match entry.record {
            Record::Started { task, .. } if task.job.0 == 0 => Some(entry.stamp.time.micros() / 1_000_000),
            _ => None,
        });
        (start.unwrap(), accounts(&all).0)
    };
    let days = 4.0 * (48.0 * 3_600.0 + 1.0 - 160.0);
    assert_eq!(run(0.0, ""), (50, 400.0));
    assert_eq!(run(1.0, ""), (160, 20.0));
    assert_eq!(run(1.0, "edge_slots = \"divisible\""), (160, 20.0));
    assert_eq!(run(1.0, "edge_slots = \"whole\""), (50, 400.0));
    assert_eq!(run(1.0, "edge_slots = \"extensible\""), (50, 400.0));
    assert_eq!(run(1.0, "inner_slots = \"divisible\""), (50, 20.0));
    let long = "edge_slots = \"whole\"\nprice = 0.5";
    let wide = |terms: &str| {
        let users: &Users<'_> = &[
            ("strategy = \"moga\"", &[(1, "tasks = [{ runtime = \"101 s\", cores = 1 }]")]),
            ("", &[(0, &first)]),
            ("strategy = \"reserve\"\nalpha = 0.0\nahead = \"150 s\"", &[(0, &booked)]),
        ];
        accounts(&play(&topology_of(&[&format!("cores = 4\n{terms}")], users)).1).0
    };
    assert_eq!([wide(""), wide("edge_slots = \"extensible\""), wide(long)], [101.0, days, days / 2.0]);
}
