//! Measures this machine: every figure beside its baseline from the same run.

mod by_hand;
mod calendar;
mod engine;
mod grid;
mod market;
mod turn;

use std::fmt::Write as _;
use std::path::PathBuf;

use super::{Failure, out, pin};

pub use turn::ECHO;

/// Amount of measurement.
pub struct Effort {
    pub events: u64,
    pub turns: u32,
    pub leaves: &'static [usize],
    pub tasks: u32,
    pub loads: &'static [f64],
    pub rounds: u32,
    /// Jobs of the paper's experiment, and instants with a queue of one length.
    pub jobs: u32,
    pub instants: u64,
    /// Numbers of standing reservations while others are found, added and deleted.
    pub standing: &'static [usize],
}

impl Effort {
    /// A short measurement.
    pub fn quick(tasks: u32) -> Effort {
        Effort {
            events: 1_000_000,
            turns: 2_000,
            leaves: &[1, 8],
            tasks,
            loads: &[1.0],
            rounds: 2,
            jobs: 10_000,
            instants: 1_000,
            standing: &[1_000, 10_000],
        }
    }

    /// A measurement with reliable figures.
    pub fn full() -> Effort {
        Effort {
            events: 4_000_000,
            turns: 5_000,
            leaves: &[1, 3, 8, 64],
            tasks: 100_000,
            loads: &[0.7, 1.0, 1.4],
            rounds: 3,
            jobs: 10_000,
            instants: 4_000,
            standing: &[1_000, 10_000, 100_000],
        }
    }
}

/// Prints a line; fails if the output has no reader any more.
macro_rules! line {
    ($($format:tt)*) => { out::or_fail(&format!("{}\n", format_args!($($format)*))) };
}

/// Measures, and prints each figure as soon as it is known.
pub fn run_bench(effort: &Effort) -> Result<(), Failure> {
    line!("engine                  pending    heap Mev/s  engine Mev/s   engine/heap (goal: 0.5 or more)")?;
    for pending in [100, 10_000] {
        let rates = engine::measure_engine(pending, effort.events, effort.rounds);
        let heap = rates.heap / 1e6;
        let engine = rates.engine / 1e6;
        line!("{:>31} {heap:>13.2} {engine:>13.2} {:>13.2}", rates.pending, engine / heap)?;
    }

    line!("")?;
    bench_market(effort)?;

    line!("")?;
    bench_reservations(effort)?;

    line!("\nturn over QUIC           leaves      quinn us        hub us   hub/quinn (goal: 1.3 or less)")?;
    let mut turn_us = Vec::new();
    for &leaves in effort.leaves {
        let turns = effort.turns / (1 + leaves as u32 / 8);
        let turns = on_one_core(|| turn::measure_turns(leaves, turns))?;
        line!("{:>31} {:>13.1} {:>13.1} {:>13.2}", turns.leaves, turns.quinn, turns.hub, turns.hub / turns.quinn)?;
        turn_us.push((leaves, turns.quinn));
    }

    line!("\nmarket grid     tasks  load   inline s  processes s   ratio    waits  waits/task  messages/packet")?;
    for &load in effort.loads {
        let grid = grid::measure_grid(effort.tasks, load, effort.rounds)?;
        line!(
            "{:>21} {:>5.1} {:>10.3} {:>12.3} {:>7.2} {:>8} {:>11.3} {:>16.2}",
            grid.tasks,
            grid.load,
            grid.inline_seconds,
            grid.processes_seconds,
            grid.processes_seconds / grid.inline_seconds,
            grid.waits,
            grid.waits as f64 / grid.tasks as f64,
            grid.messages_per_packet,
        )?;
        line!("{}", explain_waits(&grid, &turn_us))?;
    }
    Ok(())
}

/// Standing reservations: the calendar beside the paper's list.
fn bench_reservations(effort: &Effort) -> Result<(), Failure> {
    line!(
        "reservations on {} nodes     records   us: find ff     pe_w   pedu_w      add   delete   \
         the paper's list: find ff      add   delete   (goal: ff, add and delete under 20)",
        calendar::NODES
    )?;
    for (lie, words) in [(calendar::Lie::Ahead, "further ahead"), (calendar::Lie::Dense, "closer together")] {
        for &standing in effort.standing {
            let row = calendar::measure_calendar(lie, standing, 2_000);
            let [ff, by_nodes, by_area] = row.find;
            let list = row.list.map_or([const { String::new() }; 3], |list| list.map(|us| format!("{us:.0}")));
            let [find, add, delete] = list;
            line!(
                "{:>9} {words:<22} {:>9} {ff:>13.1} {by_nodes:>8.1} {by_area:>8.1} {:>8.1} {:>8.1} {find:>26} \
                 {add:>8} {delete:>8}",
                row.standing,
                row.records,
                row.add,
                row.delete,
            )?;
        }
    }
    Ok(())
}

/// The market, policy by policy.
fn bench_market(effort: &Effort) -> Result<(), Failure> {
    let [short, middle, long] = market::QUEUES;
    line!(
        "market at {}     tasks   CPU s    ns/task   us an instant with {short} / {middle} / {long} waiting   \
         long/short (goal: 3 or less; random asks everybody)",
        market::LOAD
    )?;
    let mut fifo = f64::NAN;
    let by_hand = market::measure_market(effort.jobs, effort.instants, effort.rounds, |row| {
        let [short, middle, long] = row.instant_ns.map(|ns| ns / 1e3);
        let ns = row.seconds * 1e9 / row.tasks as f64;
        if row.policy == "fifo" {
            fifo = row.seconds;
        }
        line!(
            "{:>13} {:>9} {:>7.3} {ns:>10.0} {short:>28.2} {middle:>9.2} {long:>9.2} {:>12.2}",
            row.policy,
            row.tasks,
            row.seconds,
            long / short
        )
    })?;
    let ns = by_hand.seconds * 1e9 / by_hand.tasks as f64;
    line!("{:>13} {:>9} {:>7.3} {ns:>10.0}", "fifo by hand", by_hand.tasks, by_hand.seconds)?;
    line!("{:>13} {:>9} {:>7.3}", "before it", "", by_hand.before)?;
    line!(
        "      fifo takes {:.2} times as long as by hand with the work before it on both sides (goal: 3 or less), {:.2} \
         with it on neither, {:.2} with it on one: jobs are drawn, with graphs and ranks, which the market's run does as \
         they come in",
        fifo / (by_hand.before + by_hand.seconds),
        (fifo - by_hand.before) / by_hand.seconds,
        fifo / by_hand.seconds,
    )?;
    Ok(())
}

/// Compares the real time with the cost of the waits alone, and names the leaves that blocked the hub.
fn explain_waits(grid: &grid::GridLoad, turn_us: &[(usize, f64)]) -> String {
    let mut text = String::new();
    if let Some((leaves, us)) = turn_us.first() {
        let bound = grid.inline_seconds + 1.3 * grid.waits as f64 * us / 1e6;
        let _ = write!(text, "      inline + 1.3 x waits x a bare turn ({leaves} leaf, {us:.1} us) = {bound:.3} s");
    }
    let blocked: Vec<String> = grid.blocked.iter().map(|(label, seconds)| format!("{label} {seconds:.3} s")).collect();
    let _ = write!(text, "\n      blocked by {}", blocked.join(", "));
    text
}

/// Measures in a thread that is kept on one core, with all processes that it starts.
fn on_one_core<T: Send>(measure: impl FnOnce() -> Result<T, Failure> + Send) -> Result<T, Failure> {
    std::thread::scope(|scope| {
        let pinned = scope.spawn(|| {
            pin::to_one_core();
            measure()
        });
        pinned.join().unwrap_or_else(|_| Err(Failure::Internal("a measurement failed".to_owned())))
    })
}

/// Plays a leaf of a measurement, in a process that was started with [`ECHO`].
pub fn run_echo(arguments: &[String]) -> Result<(), Failure> {
    let [router, index, identity] = arguments else { return Err(wrong_echo()) };
    let router = router.parse().map_err(|_| wrong_echo())?;
    let index = index.parse().map_err(|_| wrong_echo())?;
    turn::echo_leaf(router, index, &PathBuf::from(identity))
}

fn wrong_echo() -> Failure {
    Failure::Input(format!("{ECHO} ROUTER INDEX IDENTITY is for hansa bench alone"))
}
