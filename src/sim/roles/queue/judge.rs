//! Reference implementation of the policies after the text, second by second over a table: slow, and hard to get wrong.

use std::cell::{Cell, RefCell};
use std::cmp::Ordering;

use super::multifactor::judge::{PERIOD, judged_rank};
use super::{Reserved, Rigid};
use crate::grid::QueueOrder;

/// Input of a site: jobs, and bookings that come and go.
#[derive(Clone, Debug)]
pub struct Story {
    pub nodes: u32,
    pub order: QueueOrder,
    pub reserved: Vec<Reserved>,
    pub jobs: Vec<Rigid>,
    /// Changes with their times in seconds, ascending.
    pub changes: Vec<(u64, SiteChange)>,
}

/// Event at a site after ends and before submissions.
#[derive(Clone, Debug)]
pub enum SiteChange {
    /// A request for a booking; it succeeds if no running jobs or bookings overlap it.
    Book(Reserved),
    /// Like `Book`, for nodes that go down: nodes that have become free in that second are not allocated before.
    Close(Reserved),
    /// Release of the booking of the change with this number, if it succeeded and is not over.
    Release(usize),
    /// Recall of a job, if it waits.
    Withdraw(usize),
}

#[derive(Debug)]
pub struct JudgeVerdict {
    /// Start and nodes of each job; None if it does not fit, or was recalled.
    pub starts: Starts,
    /// Bookings as long as they lasted, each with the number of its change.
    pub booked: Vec<(usize, JudgedBooking)>,
    /// True if nodes are only counted, so that those of starts and bookings may be others.
    pub counting: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct JudgedBooking {
    pub from: u64,
    pub until: u64,
    pub nodes: Vec<u32>,
}

/// Start and nodes of each job.
type Starts = Vec<Option<(u64, Vec<u32>)>>;

#[derive(Clone, Copy, PartialEq)]
pub enum Rule {
    Fcfs,
    Easy,
    /// No job behind the first follower that does not fit starts.
    EasyUntilMisfit,
    Conservative,
    Rebuild,
    /// List of free slots: start, end, number of nodes.
    SlotList,
}

#[derive(Clone)]
struct Held {
    job: usize,
    from: u64,
    until: u64,
    nodes: Vec<u32>,
}

struct JudgedTable<'a> {
    nodes: u32,
    counting: bool,
    held: Vec<&'a Held>,
}

impl JudgedTable<'_> {
    /// Free nodes in a second; arbitrary ones if nodes are only counted.
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

impl JudgedTable<'_> {
    /// True if exactly these nodes are free.
    fn has(&self, wanted: &Held) -> bool {
        (wanted.from..wanted.until).all(|second| self.has_at(second, wanted))
    }

    fn has_at(&self, second: u64, wanted: &Held) -> bool {
        let free = self.free(second);
        match self.counting {
            true => free.len() >= wanted.nodes.len(),
            false => wanted.nodes.iter().all(|node| free.contains(node)),
        }
    }
}

fn node_numbers(reserved: &Reserved) -> Vec<u32> {
    reserved.nodes.each().collect()
}

fn to_held(reserved: &Reserved) -> Held {
    let from = whole_seconds(reserved.from.micros());
    let until = whole_seconds(reserved.until.micros());
    Held { job: usize::MAX, from, until, nodes: node_numbers(reserved) }
}

type Slots = Vec<(u64, u64, u32)>;

/// Placement after the thesis: the first slot at whose start there are enough nodes, stacked with slots before it.
fn place_in_list(list: &mut Slots, nodes: u32, span: u64, earliest: u64) -> u64 {
    normalise_slots(list);
    for at in 0..list.len() {
        let start = list[at].0.max(earliest);
        if !lasts_until(&list[at], span, start) {
            continue;
        }
        let mut need = nodes;
        let mut taken = Vec::new();
        for other in (0..=at).rev().filter(|other| lasts_until(&list[*other], span, start)) {
            let take = list[other].2.min(need);
            taken.push((list[other], take));
            need -= take;
            if need == 0 {
                break;
            }
        }
        if need > 0 {
            continue;
        }
        for (slot, take) in taken {
            let (first, end, count) = slot;
            list.remove(list.iter().position(|other| *other == slot).unwrap());
            list.extend([(first, end, count - take), (first, start, take), (start + span, end, take)]);
        }
        list.retain(|(first, end, count)| first < end && *count > 0);
        normalise_slots(list);
        return start;
    }
    unreachable!("every job starts at some time")
}

fn lasts_until(slot: &(u64, u64, u32), span: u64, start: u64) -> bool {
    slot.1 >= start.saturating_add(span)
}

fn normalise_slots(list: &mut Slots) {
    list.sort_unstable();
    let mut sums: Slots = Vec::new();
    for (first, end, count) in list.drain(..) {
        match sums.last_mut().filter(|last| (last.0, last.1) == (first, end)) {
            Some(last) => last.2 += count,
            None => sums.push((first, end, count)),
        }
    }
    *list = sums;
}

pub fn judge_story(rule: Rule, counting: bool, story: &Story) -> JudgeVerdict {
    let Story { nodes, order, ref reserved, ref jobs, ref changes } = *story;
    let mut rectangles: Vec<Held> = reserved.iter().map(to_held).collect();
    // Index of each booked rectangle, with its change.
    let mut booked: Vec<(usize, usize)> = Vec::new();
    let fit: Vec<usize> = (0..jobs.len()).filter(|&job| (1..=nodes).contains(&jobs[job].nodes)).collect();
    let walltime = |job: usize| whole_seconds(jobs[job].walltime.micros());
    let drifts = matches!(order, QueueOrder::MostStretched | QueueOrder::Multifactor);
    // Number of the period of priorities in which the queue was sorted last.
    let sorted_in = Cell::new(0);
    let sort = |queue: &mut Vec<Held>, starts: &Starts, now: u64| {
        sorted_in.set(now / PERIOD);
        let starts: Vec<Option<u64>> = starts.iter().map(|start| start.as_ref().map(|start| start.0)).collect();
        queue.sort_by(|a, b| {
            let a = a.job;
            let b = b.job;
            let by_rank = match order {
                QueueOrder::Arrival => Ordering::Equal,
                QueueOrder::Shortest => walltime(a).cmp(&walltime(b)),
                QueueOrder::Largest => jobs[b].nodes.cmp(&jobs[a].nodes),
                QueueOrder::MostStretched => {
                    let stretch =
                        |job: usize, over: usize| (now - submit_seconds(job, jobs) + walltime(job)) * walltime(over);
                    stretch(b, a).cmp(&stretch(a, b))
                }
                QueueOrder::Multifactor => {
                    let rank = |job: usize| judged_rank(job, jobs, &starts, nodes, now);
                    rank(b).cmp(&rank(a))
                }
            };
            by_rank.then(a.cmp(&b))
        });
    };
    let mut starts: Starts = vec![None; jobs.len()];
    let mut withdrawn = 0;
    let mut promised = vec![u64::MAX; jobs.len()];
    let mut running: Vec<Held> = Vec::new();
    // The queue; under planning rules, with places.
    let mut queue: Vec<Held> = Vec::new();
    let mut stale = true;
    let slots: RefCell<Slots> = RefCell::default();
    let mut now = 0;
    let last_change = changes.last().map_or(0, |change| change.0);
    while starts.iter().flatten().count() + withdrawn < fit.len() || now <= last_change {
        let over = |held: &Held| {
            let runs = whole_seconds(jobs[held.job].runtime.micros());
            held.from + runs.min(walltime(held.job)) <= now
        };
        // Drifting ranks are compared whenever the policy runs: at every end, arrival or change.
        let mut is_instant = running.iter().any(over);
        is_instant |= jobs.iter().any(|job| whole_seconds(job.submit.micros()) == now);
        is_instant |= changes.iter().any(|change| change.0 == now);
        // A booking that was released before its start is no longer an event.
        let mut there = rectangles.iter().filter(|held| held.from < held.until);
        is_instant |= there.any(|held| held.until == now || counting && held.from == now);
        stale |= running.iter().any(|held| over(held) && now < held.until);
        running.retain(|held| !over(held));

        let table = |all: Vec<Held>, what: &mut dyn FnMut(JudgedTable<'_>)| {
            what(JudgedTable { nodes, counting, held: all.iter().collect() });
        };
        let place = |all: Vec<Held>, job: usize| {
            let mut found = None;
            table(all, &mut |table| found = Some(table.earliest(now, walltime(job), jobs[job].nodes)));
            let (from, nodes) = found.unwrap();
            Held { job, from, until: from + walltime(job), nodes }
        };
        let freshen = |queue: &mut Vec<Held>, rectangles: &[Held], running: &[Held], stale: &mut bool| {
            if !std::mem::take(stale) {
                return;
            }
            sort(queue, &starts, now);
            if rule == Rule::SlotList {
                let mut runs: Vec<&Held> = running.iter().collect();
                runs.sort_by_key(|held| (held.until, held.job));
                let mut fixed: Vec<(u64, &Held)> =
                    runs.into_iter().chain(rectangles).map(|held| (held.from.max(now), held)).collect();
                fixed.retain(|(from, held)| *from < held.until);
                fixed.sort_by_key(|(from, _)| *from);
                let mut slots = slots.borrow_mut();
                *slots = vec![(now, u64::MAX, nodes)];
                for (from, held) in fixed {
                    let start = place_in_list(&mut slots, held.nodes.len() as u32, held.until - from, from);
                    assert_eq!(start, from, "there is room for what stands fast");
                }
                for held in queue.iter_mut() {
                    held.from = place_in_list(&mut slots, jobs[held.job].nodes, walltime(held.job), now);
                    held.until = held.from + walltime(held.job);
                }
            }
            if rule == Rule::Conservative {
                for index in 0..queue.len() {
                    let mut others = queue.clone();
                    let before = others.remove(index);
                    let after = place([rectangles, running, &others].concat(), before.job);
                    assert!(after.from <= before.from, "no place moves back");
                    queue[index] = after;
                }
            }
            if rule == Rule::Rebuild {
                let mut anew: Vec<Held> = Vec::new();
                for held in &*queue {
                    anew.push(place([rectangles, running, &anew].concat(), held.job));
                }
                *queue = anew;
            }
        };

        for (number, (_, change)) in changes.iter().enumerate().filter(|(_, change)| change.0 == now) {
            match change {
                SiteChange::Book(wanted) | SiteChange::Close(wanted) => {
                    let wanted = to_held(wanted);
                    let mut fits = wanted.from >= now
                        && rectangles.iter().all(|other| {
                            let overlap = other.from.max(wanted.from) < other.until.min(wanted.until);
                            !overlap || !other.nodes.iter().any(|node| wanted.nodes.contains(node))
                        });
                    table([&rectangles[..], &running].concat(), &mut |table| fits &= table.has(&wanted));
                    if !fits {
                        continue;
                    }
                    if rule == Rule::Conservative {
                        if matches!(change, SiteChange::Book(_)) {
                            freshen(&mut queue, &rectangles, &running, &mut stale);
                        }
                        let mut displaced = Vec::new();
                        for index in (0..queue.len()).rev() {
                            let others: Vec<Held> = (0..queue.len())
                                .filter(|other| !displaced.contains(other))
                                .map(|other| queue[other].clone())
                                .collect();
                            let mut is_in_way = false;
                            table([&rectangles[..], &running, &others].concat(), &mut |table| {
                                is_in_way = (wanted.from..wanted.until).any(|second| {
                                    let there = queue[index].from <= second && second < queue[index].until;
                                    let shares = queue[index].nodes.iter().any(|node| wanted.nodes.contains(node));
                                    there && (counting || shares) && !table.has_at(second, &wanted)
                                });
                            });
                            if is_in_way {
                                displaced.push(index);
                            }
                        }
                        rectangles.push(wanted);
                        for index in displaced.iter().rev() {
                            let others: Vec<Held> = (0..queue.len())
                                .filter(|other| !displaced.contains(other) || other < index)
                                .map(|other| queue[other].clone())
                                .collect();
                            queue[*index] = place([&rectangles[..], &running, &others].concat(), queue[*index].job);
                        }
                        stale |= !displaced.is_empty();
                    } else {
                        rectangles.push(wanted);
                        stale = true;
                    }
                    booked.push((number, rectangles.len() - 1));
                    promised.fill(u64::MAX);
                }
                SiteChange::Release(number) => {
                    let place = booked.iter().find(|(change, _)| change == number).map(|(_, place)| *place);
                    if let Some(held) =
                        place.map(|place| &mut rectangles[place]).filter(|held| held.from.max(now) < held.until)
                    {
                        held.until = now.max(held.from);
                        stale = true;
                    }
                }
                SiteChange::Withdraw(job) => {
                    let before = queue.len();
                    queue.retain(|held| held.job != *job);
                    withdrawn += before - queue.len();
                    stale |= queue.len() < before;
                }
            }
        }
        for &job in fit.iter().filter(|&&job| whole_seconds(jobs[job].submit.micros()) == now) {
            // A plan in another order has no place for the job.
            let is_in_order = order != QueueOrder::Multifactor || sorted_in.get() == now / PERIOD;
            stale |= rule == Rule::Rebuild && !is_in_order;
            freshen(&mut queue, &rectangles, &running, &mut stale);
            let held = match rule {
                Rule::Fcfs | Rule::Easy | Rule::EasyUntilMisfit => Held { job, from: 0, until: 0, nodes: Vec::new() },
                Rule::Conservative | Rule::Rebuild => place([&rectangles[..], &running, &queue].concat(), job),
                Rule::SlotList => {
                    let mut slots = slots.borrow_mut();
                    slots.retain(|(_, end, _)| *end > now);
                    slots.iter_mut().for_each(|slot| slot.0 = slot.0.max(now));
                    let from = place_in_list(&mut slots, jobs[job].nodes, walltime(job), now);
                    Held { job, from, until: from + walltime(job), nodes: (0..jobs[job].nodes).collect() }
                }
            };
            queue.push(held);
            let is_sorted = match order {
                QueueOrder::MostStretched => false,
                QueueOrder::Multifactor => sorted_in.get() == now / PERIOD,
                _ => true,
            };
            if is_sorted {
                sort(&mut queue, &starts, now);
            }
            // A plan from scratch is always that of the queue in its order.
            if rule == Rule::Rebuild {
                let new = queue.iter().position(|held| held.job == job).unwrap();
                for index in new..queue.len() {
                    let moved = queue[index].job;
                    queue[index] = place([&rectangles[..], &running, &queue[..index]].concat(), moved);
                }
            }
        }
        freshen(&mut queue, &rectangles, &running, &mut stale);
        if matches!(rule, Rule::Fcfs | Rule::Easy | Rule::EasyUntilMisfit) {
            if !is_instant && drifts {
                now += 1;
                continue;
            }
            sort(&mut queue, &starts, now);
            // Another job may be the head now, and the promise was to the head.
            if order != QueueOrder::Arrival {
                promised.fill(u64::MAX);
            }
        }
        let mut waiting: Vec<Held> = Vec::new();
        for held in queue {
            let start = match rule {
                Rule::Conservative | Rule::Rebuild | Rule::SlotList => (held.from <= now).then(|| held.clone()),
                Rule::Fcfs if !waiting.is_empty() => None,
                Rule::EasyUntilMisfit if waiting.len() > 1 => None,
                // Only the first waiting job holds a place.
                Rule::Fcfs | Rule::Easy | Rule::EasyUntilMisfit => {
                    let places: Vec<Held> = waiting.iter().take(1).cloned().collect();
                    let found = place([&rectangles[..], &running, &places].concat(), held.job);
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
                    starts[start.job] = Some((now, start.nodes.clone()));
                    running.push(start);
                }
                None => waiting.push(held),
            }
        }
        queue = waiting;
        now += 1;
        assert!(now < 100_000, "every job starts at some time");
    }
    JudgeVerdict {
        starts,
        booked: booked.iter().map(|(change, place)| (*change, judged_booking(&rectangles[*place]))).collect(),
        counting,
    }
}

fn submit_seconds(job: usize, jobs: &[Rigid]) -> u64 {
    whole_seconds(jobs[job].submit.micros())
}

fn whole_seconds(micros: u64) -> u64 {
    micros / 1_000_000
}

fn judged_booking(held: &Held) -> JudgedBooking {
    JudgedBooking { from: held.from, until: held.until, nodes: held.nodes.clone() }
}
