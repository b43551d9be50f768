//! Speed of negotiation between sites and users, each beside a plain evaluation: `cargo bench -- provisioning`. In
//! CPU seconds, as wall time depends on other load.
//!
//! Growth: a plan with evaluations x tasks x slots; prices with candidate starts x (fixed and waiting jobs); a forecast
//! with the logarithm of the waits kept; a history with jobs x concurrent jobs.

use crate::measure::cpu;
use hansa_papers::provisioning::{Estimates, Extent, FULL, Logs, Piece, Settings, Site};
use hansa_sim::grid::{Area, Denial, FreeSlot, JobId, Part, Quote, Slot, Speed, TaskId};
use hansa_sim::random::SplitMix64;
use hansa_sim::roles::queue::NodeRequest;
use hansa_sim::systems::provisioning::application::{Application, Evaluator, MogaSettings, SiteLink, plan_application};
use hansa_sim::systems::provisioning::desk::{Desk, DeskAction, DeskTerms, PlanningMode, WantedStarts};
use hansa_sim::systems::provisioning::forecast::{Forecast, History};
use hansa_sim::systems::provisioning::planner;
use hansa_sim::systems::provisioning::trial::SiteTrial;
use hansa_sim::time::{Span, Time};
use hansa_sim::workload::workflow::parallel::{Parallel, cybershake_workflow};

pub fn main() {
    println!("{:<58}{:>12}{:>12}{:>12}{:>9}", "", "CPU", "goal", "plain", "times");
    plans();
    cybershake_plan();
    prices();
    forecasts();
    histories();
}

/// A workflow of 100 tasks over 40 slots: 1,100 evaluations, as far as they differ.
fn plans() {
    let slots = advert(40);
    let flow = Parallel { tasks: 100, depth: 10, procs: 22, bytes: 0 }.draw(&mut SplitMix64::new(3));
    let application = alone(&flow);
    let (taken, front) = measured(|| plan_application(&application, slots[0].start, &[&slots], MogaSettings::new(1)));
    // As many random plans are evaluated plainly, with equal results.
    let mut draw = SplitMix64::new(5);
    let chosen: Vec<u64> = (0..front.evaluated).map(|_| draw.next_u64()).collect();
    let has = |bits: u64| move |slot: usize| bits >> (slot % 64) & 1 == 1;
    let mut evaluator = Evaluator::new(&application, slots[0].start, &[&slots]);
    let ours: Vec<_> = chosen.iter().map(|bits| evaluator.cost(has(*bits)).map(|cost| cost.makespan)).collect();
    let (plain, theirs) =
        measured(|| chosen.iter().map(|bits| plain_makespan(&application, &slots, has(*bits))).collect::<Vec<_>>());
    assert_eq!(ours, theirs, "a plain evaluation gives the same");
    show(
        &format!("a plan of 100 tasks over {} slots ({} evaluations)", slots.len(), front.evaluated),
        taken,
        50e-3,
        plain,
    );
}

fn cybershake_plan() {
    let slots = advert(40);
    let application = alone(&cybershake_workflow());
    let (taken, front) = measured(|| plan_application(&application, slots[0].start, &[&slots], MogaSettings::new(1)));
    let (one, _) = measured(|| plain_makespan(&application, &slots, |_| true));
    let name = format!("a plan of CyberShake, 8,039 tasks ({} evaluations)", front.evaluated);
    show(&name, taken, 10.0, one * front.evaluated as f64);
}

/// 50 jobs wait: the price of an hour of 16 processors, at every candidate start.
fn prices() {
    for name in ["slotlist", "conservative-count", "easy-count"] {
        let mut desk = waiting(50, name);
        let procs = 128;
        let mut request =
            || desk.price(Time::ZERO, 16, Span::from_minutes(60), WantedStarts::Any).expect("it fits the site");
        request();
        let (taken, quotes) = measured(|| (0..20).map(|_| request()).collect::<Vec<Quote>>());
        let quote = &quotes[0];
        // Plain: each start is priced separately, at a desk that has never planned.
        let plain = |start: Time| -> Result<Area, Denial> {
            let quote = waiting(50, name).price(Time::ZERO, 16, Span::from_minutes(60), WantedStarts::At(start))?;
            quote.offers.first().map(|offer| offer.fee).ok_or(Denial::NoRoom)
        };
        let (slow, fees) = measured(|| quote.offers.iter().map(|offer| plain(offer.start)).collect::<Vec<_>>());
        assert!(
            fees.iter().zip(&quote.offers).all(|(fee, offer)| *fee == Ok(offer.fee)),
            "each start by itself costs the same"
        );
        let name = format!("prices of {} starts, 50 wait for {procs} ({name})", quote.offers.len());
        show(&name, taken / 20.0, 1e-3, slow);
    }
}

fn forecasts() {
    let mut draw = SplitMix64::new(9);
    let mut history = History::new();
    let waits: Vec<Span> = (0..2_000).map(|_| Span::from_secs(draw.exponential(4_000.0) as u64)).collect();
    waits.iter().for_each(|wait| history.record_start(8, Span::from_minutes(60), *wait));
    let within = |number: u64| Span::from_secs(number * 11);
    let (taken, sum) =
        measured(|| (0..1_000).map(|n| history.start_chance(8, Span::from_minutes(60), within(n))).sum::<f64>());
    // The lower limit by its definition: bisection over sums of the binomial distribution.
    let (plain, plainly) = measured(|| {
        (0..10)
            .map(|n| {
                let in_time = waits.iter().filter(|wait| **wait <= within(n * 100)).count();
                plain_chance(waits.len(), in_time)
            })
            .sum::<f64>()
    });
    assert!(sum > 0.0 && plainly > 0.0);
    show("a forecast from 2,000 waits", taken / 1_000.0, 20e-6, plain / 10.0);
}

/// 30 days of CTC at its highest load; every tenth job reserves at a price.
fn histories() {
    let extent = Extent { days: 30, histories: 1, ..FULL };
    let is_it = |piece: &Piece| {
        let text = format!("{piece:?}");
        text.contains("Ctc, load: 2, share: 10, alpha: Some(0.5), planner: Usual, estimates: Exact")
    };
    let piece = extent.pieces().into_iter().find(is_it).expect("the experiment has such a history");
    let (taken, rows) = measured(|| extent.run(&Settings::default(), &Logs::default(), piece));
    assert!(!rows.is_empty());
    println!("{:<58}{:>12}{:>12}", "30 days of CTC, one in ten reserves", pretty(taken), pretty(2.0));
}

/// Slots that CTC advertises at the first moment with at least this many.
fn advert(least: usize) -> Vec<Slot> {
    let background = Logs::default().background_jobs(&Settings::default(), (Site::Ctc, 880), 40, Estimates::Exact, 7);
    let desk = Desk::new(
        DeskTerms::new(430, PlanningMode::Exact),
        planner::build_planner("slotlist").expect("there is one"),
        Box::new(History::new()),
    );
    let mut trial = SiteTrial::new(desk, background);
    let mut now = Time::ZERO;
    loop {
        now = now + Span::from_minutes(60);
        trial.advance(now);
        let slots = trial.desk.advertise(now).slots;
        if slots.len() >= least || now > Time::ZERO + Span::from_minutes(40 * 24 * 60) {
            return slots;
        }
    }
}

fn alone(flow: &hansa_sim::grid::Workflow) -> Application {
    let link = SiteLink { latency: Span::ZERO, bandwidth: 1 };
    Application::new(flow, &[Speed::USUAL], |_, _| link)
}

/// A site with this many waiting jobs.
fn waiting(count: usize, name: &str) -> Desk {
    let mut draw = SplitMix64::new(2);
    let planner = planner::build_planner(name).expect("it is one of them");
    let mut desk = Desk::new(DeskTerms::new(128, PlanningMode::Rebuild), planner, Box::new(History::new()));
    let mut number = 0;
    let mut actions = Vec::<DeskAction>::new();
    while desk.jobs().0 < count {
        let job = TaskId { job: JobId(number), index: 0 };
        let request = NodeRequest {
            job,
            nodes: draw.log_uniform(1.0, 64.0) as u32,
            walltime: Span::from_secs(draw.log_uniform(60.0, 40_000.0) as u64),
        };
        desk.submit(Time::ZERO, request).expect("it fits the site");
        desk.run_pass(Time::ZERO, &mut actions);
        number += 1;
    }
    desk
}

/// Makespan of a plan as one writes it by hand: look at every slot, then at all before it, and sort the list again.
fn plain_makespan(application: &Application, slots: &[Slot], chosen: impl Fn(usize) -> bool) -> Option<Span> {
    let now = slots[0].start;
    let chosen = slots.iter().enumerate().filter(|(root, _)| chosen(*root));
    let mut list: Vec<FreeSlot> = chosen
        .map(|(root, slot)| FreeSlot {
            start: slot.start,
            end: if slot.extensible { Time::NEVER } else { slot.end() },
            procs: slot.procs,
            root: root as u32,
        })
        .collect();
    let mut placed = vec![(0, Time::ZERO); application.tasks()];
    for &task in application.order() {
        let task = task as usize;
        let earliest = application.ready(task, 0, &placed).max(now);
        let part = Part { procs: application.procs(task), start: earliest, span: application.runtime(task, 0) };
        let start = plain_place(&mut list, &part)?;
        placed[task] = (0, start + part.span);
    }
    placed.iter().map(|placed| placed.1 - now).max()
}

fn plain_place(list: &mut Vec<FreeSlot>, part: &Part) -> Option<Time> {
    for i in 0..list.len() {
        let start = list[i].start.max(part.start);
        let end = start + part.span;
        if list[i].end < end {
            continue;
        }
        let mut need = part.procs;
        let mut takes = vec![0; list.len()];
        for j in (0..=i).rev().filter(|j| list[*j].end >= end) {
            takes[j] = need.min(list[j].procs);
            need -= takes[j];
        }
        if need > 0 {
            continue;
        }
        let mut left: Vec<FreeSlot> = Vec::new();
        for (free, take) in list.drain(..).zip(takes) {
            left.push(FreeSlot { procs: free.procs - take, ..free });
            left.push(FreeSlot { end: start, procs: if free.start < start { take } else { 0 }, ..free });
            left.push(FreeSlot { start: end, procs: if free.end > end { take } else { 0 }, ..free });
        }
        left.retain(|free| free.procs > 0);
        left.sort_by_key(|free| (free.start, free.end, free.root));
        left.dedup_by(|next, kept| {
            let alike = (next.start, next.end, next.root) == (kept.start, kept.end, kept.root);
            kept.procs += if alike { next.procs } else { 0 };
            alike
        });
        left.sort_by_key(|free| (free.start, free.end, free.procs, free.root));
        *list = left;
        return Some(start);
    }
    None
}

fn plain_chance(all: usize, in_time: usize) -> f64 {
    if in_time == 0 {
        return 0.0;
    }
    let fewer = |q: f64| {
        let mut term = hansa_sim::math::ln(1.0 - q) * all as f64;
        let mut sum = 0.0;
        for k in 0..in_time {
            sum += hansa_sim::math::exp(term);
            term += hansa_sim::math::ln(q / (1.0 - q) * (all - k) as f64 / (k + 1) as f64);
        }
        sum
    };
    let mut low = 0.0;
    let mut high = 1.0;
    while high - low > 1e-9 {
        let middle = 0.5 * (low + high);
        if fewer(middle) >= 0.95 {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

fn show(name: &str, taken: f64, goal: f64, plain: f64) {
    println!("{name:<58}{:>12}{:>12}{:>12}{:>9.1}", pretty(taken), pretty(goal), pretty(plain), plain / taken);
}

fn pretty(seconds: f64) -> String {
    match seconds {
        long if long >= 1.0 => format!("{long:.2} s"),
        short if short >= 1e-3 => format!("{:.2} ms", short * 1e3),
        tiny => format!("{:.2} us", tiny * 1e6),
    }
}

fn measured<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let before = cpu();
    let result = work();
    (cpu() - before, result)
}
