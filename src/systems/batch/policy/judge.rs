//! The policies as the text has them, second by second over a table: slow, and hard to get wrong.

use super::super::Rigid;
use super::Reserved;

/// When a job starts and where; `None` if it does not fit.
pub type Verdict = Vec<Option<(u64, Vec<u32>)>>;

#[derive(Clone, Copy, PartialEq)]
pub enum Rule {
    Fcfs,
    Easy,
    Conservative,
    Rebuild,
}

#[derive(Clone)]
struct Held {
    job: usize,
    from: u64,
    until: u64,
    nodes: Vec<u32>,
}

struct Table<'a> {
    nodes: u32,
    counting: bool,
    held: Vec<&'a Held>,
}

impl Table<'_> {
    /// The nodes that are free at a second; if only counted, any numbers.
    fn free(&self, at: u64) -> Vec<u32> {
        let busy: Vec<u32> = self
            .held
            .iter()
            .filter(|held| held.from <= at && at < held.until)
            .flat_map(|held| held.nodes.clone())
            .collect();
        if self.counting {
            return (0..self.nodes - busy.len() as u32).collect();
        }
        (0..self.nodes).filter(|node| !busy.contains(node)).collect()
    }

    fn fits(&self, at: u64, span: u64, width: u32) -> Option<Vec<u32>> {
        let mut free: Vec<u32> = (0..self.nodes).collect();
        for second in at..at + span {
            let now = self.free(second);
            free.retain(|node| now.contains(node));
        }
        (free.len() >= width as usize).then(|| free[..width as usize].to_vec())
    }

    fn earliest(&self, from: u64, span: u64, width: u32) -> (u64, Vec<u32>) {
        (from..).find_map(|at| Some((at, self.fits(at, span, width)?))).unwrap()
    }
}

pub fn judge(rule: Rule, counting: bool, nodes: u32, reserved: &[Reserved], jobs: &[Rigid]) -> Verdict {
    let seconds = |micros: u64| micros / 1_000_000;
    let rectangles: Vec<Held> = reserved
        .iter()
        .map(|reserved| Held {
            job: usize::MAX,
            from: seconds(reserved.from.micros()),
            until: seconds(reserved.until.micros()),
            nodes: reserved.nodes.runs().iter().flat_map(|&(first, last)| first..=last).collect(),
        })
        .collect();
    let fit: Vec<usize> = (0..jobs.len()).filter(|&job| (1..=nodes).contains(&jobs[job].nodes)).collect();
    let walltime = |job: usize| seconds(jobs[job].walltime.micros());
    let mut verdict: Verdict = vec![None; jobs.len()];
    let mut promised = vec![u64::MAX; jobs.len()];
    let mut running: Vec<Held> = Vec::new();
    // The queue; under rules that plan, with places.
    let mut queue: Vec<Held> = Vec::new();
    let mut now = 0;
    while verdict.iter().flatten().count() < fit.len() {
        let over = |held: &Held| {
            let runs = seconds(jobs[held.job].runtime.micros());
            held.from + runs.min(walltime(held.job)) <= now
        };
        let early = running.iter().any(|held| over(held) && now < held.until);
        running.retain(|held| !over(held));
        let table = |running: &[Held], places: &[Held]| -> Vec<Held> { [&rectangles, running, places].concat() };
        let on = |held: &[Held]| -> Vec<Held> { held.to_vec() };
        let place = |all: &[Held], job: usize| {
            let table = Table { nodes, counting, held: all.iter().collect() };
            let (from, nodes) = table.earliest(now, walltime(job), jobs[job].nodes);
            Held { job, from, until: from + walltime(job), nodes }
        };
        if early && rule == Rule::Conservative {
            for index in 0..queue.len() {
                let mut others = on(&queue);
                let before = others.remove(index);
                let after = place(&table(&running, &others), before.job);
                assert!(after.from <= before.from, "no place moves back");
                queue[index] = after;
            }
        }
        if early && rule == Rule::Rebuild {
            let mut anew: Vec<Held> = Vec::new();
            for held in &queue {
                anew.push(place(&table(&running, &anew), held.job));
            }
            queue = anew;
        }
        for &job in fit.iter().filter(|&&job| seconds(jobs[job].submit.micros()) == now) {
            let places = if matches!(rule, Rule::Conservative | Rule::Rebuild) { on(&queue) } else { Vec::new() };
            let held = match places.is_empty() && matches!(rule, Rule::Fcfs | Rule::Easy) {
                true => Held { job, from: 0, until: 0, nodes: Vec::new() },
                false => place(&table(&running, &places), job),
            };
            queue.push(held);
        }
        let mut waiting: Vec<Held> = Vec::new();
        for held in queue {
            let start = match rule {
                Rule::Conservative | Rule::Rebuild => (held.from <= now).then(|| held.clone()),
                Rule::Fcfs if !waiting.is_empty() => None,
                // The first who waits holds its place, and nobody else any.
                Rule::Fcfs | Rule::Easy => {
                    let places: Vec<Held> = waiting.iter().take(1).cloned().collect();
                    let found = place(&table(&running, &places), held.job);
                    if found.from == now {
                        Some(found)
                    } else {
                        if waiting.is_empty() {
                            let job = held.job;
                            promised[job] = promised[job].min(found.from);
                            waiting.push(found);
                        } else {
                            waiting.push(held);
                        }
                        continue;
                    }
                }
            };
            match start {
                Some(start) => {
                    assert!(now <= promised[start.job], "the head starts when it was promised, or sooner");
                    verdict[start.job] = Some((now, start.nodes.clone()));
                    running.push(start);
                }
                None => waiting.push(held),
            }
        }
        queue = waiting;
        now += 1;
        assert!(now < 100_000, "everybody starts some time");
    }
    verdict
}
