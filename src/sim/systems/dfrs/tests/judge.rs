//! A slow and literal reading of the rules, written independently of the algorithms: every decision is made on copies,
//! task by task, without shortcuts or caches.

use super::super::algorithm::{Action, Fractional, Grace, Optimise, Periodic, Priority, Sort, VirtualTime};
use super::super::{Need, Timed};
use crate::grid::{Images, PenaltyRule};
use crate::time::{Span, Time};

const NEAR: f64 = 1e-9;

/// Ends this near to another instant, in microseconds, may be rounded to the other side of it.
const BESIDE: f64 = 25.0;

/// End of each job, and counts of pauses and moves; None for jobs that have not ended after the most instants.
pub struct Judged {
    pub ends: Vec<Option<Time>>,
    pub preemptions: u64,
    pub migrations: u64,
    /// True if a decision was so close that rounding may have made it: equal priorities of different origin, or an end
    /// beside another instant.
    pub is_close: bool,
}

#[derive(Clone)]
struct Job {
    number: usize,
    need: Need,
    submit: f64,
    runtime: f64,
    /// Tasks on each node.
    on: Vec<u32>,
    done: f64,
    virtual_time: f64,
    share: f64,
    held_until: f64,
    has_run: bool,
    paused: f64,
    /// Sum of the times at which it was moved or came back.
    moved: f64,
}

/// An outage of a node, with start and end.
pub struct Down {
    pub node: usize,
    pub from: Time,
    pub to: Time,
}

impl Job {
    fn is_on(&self) -> bool {
        self.on.iter().any(|tasks| *tasks > 0)
    }

    /// Priority to ten digits: progress is summed at every instant here, and rounding must not separate exactly equal
    /// priorities.
    fn priority(&self, now: f64, rule: Priority) -> f64 {
        const ROUNDED: u64 = 1 << 18;
        let flow = now - self.submit;
        let done = self.virtual_time;
        let exact = match rule {
            _ if done == 0.0 => f64::INFINITY,
            Priority::Square => flow / (done * done),
            Priority::Stretch => flow / done,
            Priority::Inverse => 1.0 / done,
        };
        if exact.is_finite() { f64::from_bits((exact.to_bits() + ROUNDED / 2) & !(ROUNDED - 1)) } else { exact }
    }

    /// True if priorities are indistinguishable, but not computed from equal numbers. Here equal jobs always have equal
    /// ones, but the cluster adds up their progress whenever they are moved.
    fn ties(&self, other: &Job, now: f64, rule: Priority) -> bool {
        let one = self.priority(now, rule);
        let two = other.priority(now, rule);
        let of = |job: &Job| (job.submit, job.virtual_time, job.moved);
        let is_same = of(self) == of(other);
        one.is_finite() && two.is_finite() && (one - two).abs() <= 8.0 * NEAR * one && !is_same
    }
}

/// Times are in seconds with at most six decimals. A job on a node that fails restarts from the beginning.
pub fn judge(
    rules: &Fractional,
    nodes: usize,
    images: Option<Images>,
    jobs: &[Timed],
    outages: &[Down],
    instants: usize,
) -> Judged {
    let seconds = |micros: u64| micros as f64;
    let period = seconds(rules.period.micros());
    let penalty = seconds(rules.penalty.micros());
    let mut judged = Judged { ends: vec![None; jobs.len()], preemptions: 0, migrations: 0, is_close: false };
    let mut live: Vec<Job> = Vec::new();
    let mut now = -1.0;
    let mut next = 0;
    let mut first = None;
    for _ in 0..instants {
        // The next instant: an end, a submission or a tick.
        let exact_end = |job: &Job| {
            let starts = job.held_until.max(now);
            if job.share > 0.0 { starts + (job.runtime - job.done) / job.share } else { f64::INFINITY }
        };
        let end = |job: &Job| exact_end(job).round();
        let tick = match first {
            Some(first) if rules.periodic.is_some() && !live.is_empty() => {
                let past: f64 = now - first;
                first + ((past / period).floor() + 1.0) * period
            }
            _ => f64::INFINITY,
        };
        let submit = jobs.get(next).map_or(f64::INFINITY, |job| seconds(job.submit.micros()));
        let edges = outages.iter().flat_map(|one| [one.from, one.to]).map(|at| seconds(at.micros()));
        let edge = edges.filter(|at| *at > now && !live.is_empty()).fold(f64::INFINITY, f64::min);
        let then = live.iter().map(end).fold(f64::INFINITY, f64::min).min(tick).min(submit).min(edge);
        if then == f64::INFINITY {
            break;
        }
        let is_beside = |end: f64| [tick, submit, edge].iter().any(|at| end != *at && (end - at).abs() < BESIDE);
        judged.is_close |= live.iter().map(exact_end).any(is_beside);
        let over: Vec<usize> = live.iter().filter(|job| end(job) <= then).map(|job| job.number).collect();
        for job in &mut live {
            let from = job.held_until.max(now);
            if then > from {
                job.done += job.share * (then - from);
            }
            match rules.virtual_time {
                VirtualTime::Progress => job.virtual_time = job.done,
                VirtualTime::Yield => job.virtual_time += job.share * (then - now),
            }
        }
        let is_down = |node: usize, at: f64| {
            let is_in = |one: &Down| seconds(one.from.micros()) <= at && at < seconds(one.to.micros());
            outages.iter().any(|one| one.node == node && is_in(one))
        };
        let were_down: Vec<bool> = (0..nodes).map(|node| now >= 0.0 && is_down(node, now)).collect();
        now = then;
        let down: Vec<bool> = (0..nodes).map(|node| is_down(node, now)).collect();
        let are_back = !live.is_empty() && were_down.iter().zip(&down).any(|(were, are)| *were && !are);

        live.retain(|job| !over.contains(&job.number));
        let is_lost = |job: &Job| job.on.iter().zip(&down).any(|(tasks, down)| *tasks > 0 && *down);
        let mut lost: Vec<Job> = live.extract_if(.., |job| is_lost(job)).collect();
        lost.sort_by_key(|job| job.number);
        for job in &mut lost {
            (job.on, job.done, job.virtual_time, job.share) = (vec![0; nodes], 0.0, 0.0, 0.0);
            (job.held_until, job.has_run, job.moved) = (0.0, false, 0.0);
        }
        judged.is_close |= live
            .iter()
            .enumerate()
            .any(|(at, one)| live[..at].iter().any(|other| one.ties(other, now, rules.priority)));
        let before: Vec<Job> = live.iter().chain(&lost).cloned().collect();
        over.iter().for_each(|job| judged.ends[*job] = Some(Time::ZERO + Span::from_micros(now as u64)));
        let is_freed = !over.is_empty() || !lost.is_empty() || are_back;
        if is_freed && rules.completion == Action::Greedy {
            for at in by_priority(&live, now, rules.priority) {
                if !live[at].is_on()
                    && let Some(on) = greedy(&live, &down, &live[at].need)
                {
                    live[at].on = on;
                }
            }
        }
        let mut has_come = !lost.is_empty();
        for job in lost {
            live.push(job);
            admit(&mut live, &down, rules, now);
        }
        while next < jobs.len() && seconds(jobs[next].submit.micros()) <= now {
            let Timed { need, runtime, .. } = jobs[next];
            let none = vec![0; nodes];
            next += 1;
            if greedy(&[], &vec![false; nodes], &need).is_none() {
                continue;
            }
            first.get_or_insert(now);
            has_come = true;
            live.push(Job {
                number: next - 1,
                need,
                submit: now,
                runtime: seconds(runtime.micros()),
                on: none,
                done: 0.0,
                virtual_time: 0.0,
                share: 0.0,
                held_until: 0.0,
                has_run: false,
                paused: 0.0,
                moved: 0.0,
            });
            admit(&mut live, &down, rules, now);
        }
        let is_tick =
            rules.periodic.is_some() && first.is_some_and(|first| now > first && (now - first) % period == 0.0);
        let packs = has_come && rules.submission == Action::Mcb8
            || is_freed && rules.completion == Action::Mcb8
            || is_tick && !live.is_empty();
        if packs {
            mcb8(&mut live, &down, rules, now);
        }

        for job in &mut live {
            let was = before.iter().find(|other| other.number == job.number);
            let was_on = was.is_some_and(Job::is_on);
            match (was_on, job.is_on()) {
                (true, false) => {
                    judged.preemptions += 1;
                    job.paused = now;
                }
                (true, true) if was.is_some_and(|was| was.on != job.on) => {
                    judged.migrations += 1;
                    // Transfers under way have to finish, too.
                    let come = copied(images, job, was.map(|was| &was.on[..]));
                    let paid = if rules.pays == PenaltyRule::Pauses { 0.0 } else { penalty };
                    job.held_until = job.held_until.max(now + paid + come);
                    job.moved += now;
                }
                (false, true) if job.has_run => {
                    let paid = match rules.pays {
                        PenaltyRule::FromPause => f64::max(0.0, job.paused + penalty - now),
                        PenaltyRule::Moves | PenaltyRule::Pauses => penalty,
                    };
                    job.held_until = job.held_until.max(now + paid + copied(images, job, None));
                    job.moved += now;
                }
                _ => {}
            }
            job.has_run |= job.is_on();
            job.share = if job.is_on() { job.share } else { 0.0 };
        }
        if has_come || is_freed || is_tick {
            fill_up(&mut live, nodes);
        }
    }
    judged
}

/// Duration of the transfer of a job's images, for each task on a node that had fewer before, in exact numbers: rounded
/// up to a microsecond.
fn copied(images: Option<Images>, job: &Job, before: Option<&[u32]>) -> f64 {
    let Some(Images { memory_kb, bandwidth }) = images else { return 0.0 };
    let bytes = (job.need.memory * (memory_kb * 1_000) as f64).round() as u128;
    let mut bits = 0;
    for node in 0..job.on.len() {
        for _ in before.map_or(0, |before| before[node])..job.on[node] {
            bits += 8 * bytes;
        }
    }
    let mut micros = bits * 1_000_000 / u128::from(bandwidth);
    if micros * u128::from(bandwidth) < bits * 1_000_000 {
        micros += 1;
    }
    micros as f64
}

fn by_priority(live: &[Job], now: f64, rule: Priority) -> Vec<usize> {
    let mut order: Vec<usize> = (0..live.len()).collect();
    order.sort_by(|a, b| live[*b].priority(now, rule).total_cmp(&live[*a].priority(now, rule)).then(a.cmp(b)));
    order
}

fn sum(live: &[Job], node: usize, of: impl Fn(&Need) -> f64) -> f64 {
    live.iter().map(|job| f64::from(job.on[node]) * of(&job.need)).sum()
}

fn greedy(live: &[Job], down: &[bool], need: &Need) -> Option<Vec<u32>> {
    let mut on = vec![0; down.len()];
    for _ in 0..need.tasks {
        let mut best: Option<(f64, usize)> = None;
        for (node, own) in on.iter().enumerate().filter(|(node, _)| !down[*node]) {
            let own = f64::from(*own);
            let memory = sum(live, node, |need| need.memory) + own * need.memory;
            let load = sum(live, node, |need| need.cpu) + own * need.cpu;
            if memory + need.memory <= 1.0 + NEAR && best.is_none_or(|best| load < best.0 - NEAR) {
                best = Some((load, node));
            }
        }
        on[best?.1] += 1;
    }
    Some(on)
}

/// Submission action for the newest job.
fn admit(live: &mut [Job], down: &[bool], rules: &Fractional, now: f64) {
    let action = rules.submission;
    let newest = live.len() - 1;
    let need = live[newest].need;
    if matches!(action, Action::None | Action::Mcb8) {
        return;
    }
    if let Some(on) = greedy(live, down, &need) {
        live[newest].on = on;
        return;
    }
    if action == Action::Greedy || greedy(&[], down, &need).is_none() {
        return;
    }
    let running: Vec<usize> =
        by_priority(live, now, rules.priority).into_iter().filter(|at| live[*at].is_on()).collect();
    let fits_without = |marked: &[usize]| {
        let mut copy = live.to_vec();
        marked.iter().for_each(|at| copy[*at].on = vec![0; down.len()]);
        greedy(&copy, down, &need).is_some()
    };
    let mut marked: Vec<usize> = Vec::new();
    for at in running.iter().rev() {
        if fits_without(&marked) {
            break;
        }
        marked.push(*at);
    }
    for at in &running {
        let fewer: Vec<usize> = marked.iter().copied().filter(|other| other != at).collect();
        if fewer.len() < marked.len() && fits_without(&fewer) {
            marked = fewer;
        }
    }
    marked.iter().for_each(|at| live[*at].on = vec![0; down.len()]);
    live[newest].on = greedy(live, down, &need).expect("there is room now");
    if action == Action::GreedyPM {
        for at in running.iter().filter(|at| marked.contains(at)) {
            if let Some(on) = greedy(live, down, &live[*at].need) {
                live[*at].on = on;
            }
        }
    }
}

fn mcb8(live: &mut [Job], down: &[bool], rules: &Fractional, now: f64) {
    assert_eq!(rules.periodic == Some(Periodic::Stretch), rules.optimise == Optimise::Max, "this judges no stretches");
    let is_pinned = |job: &Job| {
        job.is_on()
            && match rules.grace {
                None => false,
                Some(Grace::VirtualTime(least)) => job.virtual_time < least.micros() as f64 * (1.0 - NEAR),
                Some(Grace::FlowTime(least)) => now - job.submit < least.micros() as f64,
            }
    };
    let mut kept = by_priority(live, now, rules.priority);
    kept.retain(|at| greedy(&[], down, &live[*at].need).is_some());
    let found = loop {
        if kept.is_empty() {
            break Vec::new();
        }
        let mut set: Vec<usize> = kept.clone();
        set.sort_unstable();
        let at = |share: f64| pack(live, &set, down, &is_pinned, share, rules.sort);
        if let Some(found) = at(1.0) {
            break found;
        }
        if let Some(mut best) = at(0.01) {
            let mut lo = 0.01;
            let mut hi = 1.0;
            while hi - lo > 0.01 {
                let mid = (lo + hi) / 2.0;
                match at(mid) {
                    Some(found) => (lo, best) = (mid, found),
                    None => hi = mid,
                }
            }
            break best;
        }
        kept.pop();
    };
    live.iter_mut().for_each(|job| job.on = vec![0; down.len()]);
    found.into_iter().for_each(|(at, on)| live[at].on = on);
}

fn pack(
    live: &[Job],
    set: &[usize],
    down: &[bool],
    is_pinned: &dyn Fn(&Job) -> bool,
    share: f64,
    sort: Sort,
) -> Option<Vec<(usize, Vec<u32>)>> {
    let nodes = down.len();
    let mut cpu = vec![1.0; nodes];
    let mut memory = vec![1.0; nodes];
    let mut placed: Vec<(usize, Vec<u32>)> = Vec::new();
    for &at in set.iter().filter(|at| is_pinned(&live[**at])) {
        for node in 0..nodes {
            cpu[node] -= f64::from(live[at].on[node]) * share * live[at].need.cpu;
            memory[node] -= f64::from(live[at].on[node]) * live[at].need.memory;
        }
        placed.push((at, live[at].on.clone()));
    }
    if (0..nodes).any(|node| cpu[node] < -NEAR || memory[node] < -NEAR) {
        return None;
    }
    let free: Vec<usize> = set.iter().copied().filter(|at| !is_pinned(&live[*at])).collect();
    let size = |at: &usize| {
        let cpu = share * live[*at].need.cpu;
        let memory = live[*at].need.memory;
        if sort == Sort::Sum { cpu + memory } else { cpu.max(memory) }
    };
    let (mut c, mut m): (Vec<usize>, Vec<usize>) =
        free.iter().partition(|at| share * live[**at].need.cpu > live[**at].need.memory);
    c.sort_by(|a, b| size(b).total_cmp(&size(a)));
    m.sort_by(|a, b| size(b).total_cmp(&size(a)));
    let mut left: Vec<u32> = live.iter().map(|job| job.need.tasks).collect();
    let mut on = vec![vec![0; nodes]; live.len()];
    for node in (0..nodes).filter(|node| !down[*node]) {
        loop {
            let lists = if memory[node] > cpu[node] + NEAR { [&m, &c] } else { [&c, &m] };
            let fits = |at: &&usize| {
                let need = &live[**at].need;
                left[**at] > 0 && share * need.cpu <= cpu[node] + NEAR && need.memory <= memory[node] + NEAR
            };
            let Some(&at) = lists.iter().find_map(|list| list.iter().find(fits)) else { break };
            left[at] -= 1;
            on[at][node] += 1;
            cpu[node] -= share * live[at].need.cpu;
            memory[node] -= live[at].need.memory;
        }
    }
    free.iter().all(|at| left[*at] == 0).then(|| {
        placed.extend(free.iter().map(|at| (*at, on[*at].clone())));
        placed
    })
}

/// `opt=min`, literally.
fn fill_up(live: &mut [Job], nodes: usize) {
    let mut rising: Vec<usize> = (0..live.len()).filter(|at| live[*at].is_on()).collect();
    let mut left = vec![1.0; nodes];
    while !rising.is_empty() {
        let load =
            |node: usize| rising.iter().map(|at| f64::from(live[*at].on[node]) * live[*at].need.cpu).sum::<f64>();
        let loads: Vec<f64> = (0..nodes).map(load).collect();
        let ratio = |node: usize| if loads[node] > 0.0 { left[node] / loads[node] } else { f64::INFINITY };
        let lowest = (0..nodes).map(ratio).fold(1.0, f64::min);
        if lowest >= 1.0 {
            rising.iter().for_each(|at| live[*at].share = 1.0);
            return;
        }
        let full: Vec<usize> = (0..nodes).filter(|node| ratio(*node) <= lowest * (1.0 + NEAR)).collect();
        let (settled, rest): (Vec<usize>, Vec<usize>) =
            rising.iter().partition(|at| full.iter().any(|node| live[**at].on[*node] > 0));
        for at in settled {
            live[at].share = lowest;
            (0..nodes).for_each(|node| left[node] -= lowest * f64::from(live[at].on[node]) * live[at].need.cpu);
        }
        rising = rest;
    }
}
