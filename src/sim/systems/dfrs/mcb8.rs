//! MCB8: places all live jobs at once, by vector packing and a search for the highest yield. Section 4.3 of the paper.
//!
//! Tasks are packed node by node, alternately from a list of those that need more processor than memory and from the
//! list of the others, so that nodes fill evenly. W. Leinberger, G. Karypis, V. Kumar, "Multi-capacity bin packing
//! algorithms with applications to job scheduling under multiple constraints", 1999.
//!
//! Neighbouring jobs with equal requirements are packed as one, and their tasks are assigned to jobs afterwards: there
//! are few distinct requirements, as users request round numbers, and jobs without needs get equal ones. Neighbouring
//! nodes with equal room are filled equally as long as there are enough tasks of all kinds, so a filling is computed
//! once and repeated. A packing of `J` jobs in `D` groups thus costs O(J log J + min(N, D + P) D), where `P` is the
//! number of changes of free room from node to node because of pinned jobs, since each other filling uses up a group,
//! or most of it. The search takes at most nine packings; each job that has to be left out costs at most two more.
//! Callers leave out jobs whose total memory shows that not all of them can fit.

use super::Need;
use super::algorithm::Sort;
use super::room::TaskPlaces;
use crate::grid::sharing::need::TOLERANCE;

/// A live job that MCB8 may place.
pub(super) struct Candidate<'a> {
    pub need: &'a Need,
    /// Nodes that the job keeps, if it is placed at all.
    pub pinned: Option<&'a TaskPlaces>,
}

/// Placement of each job; empty for jobs that are left out, from the lowest priority upwards. `order` has all jobs from
/// highest to lowest priority.
pub(super) fn map_jobs(nodes: u32, jobs: &[Candidate<'_>], order: &[usize], sort: Sort) -> Vec<TaskPlaces> {
    let mut packer = Packer::new(nodes, jobs, sort);
    let packing = drop_until_found(&mut packer, order, |packer| {
        let mut at = |share: f64| packer.pack(|job| share * jobs[job].need.cpu);
        if let Some(packing) = at(1.0) {
            return Some(packing);
        }
        let mut best = at(LOWEST)?;
        bisect_highest(LOWEST, 1.0, |share| at(share).map(|packing| best = packing).is_some());
        Some(best)
    });
    packing.map_or_else(|| vec![TaskPlaces::new(); jobs.len()], |packing| packing.places(jobs))
}

/// Lowest yield that is tried; also the precision of the search.
pub(super) const LOWEST: f64 = 0.01;

/// Leaves jobs out, lowest priority first, until a search succeeds.
pub(super) fn drop_until_found<T>(
    packer: &mut Packer<'_>,
    order: &[usize],
    mut search: impl FnMut(&mut Packer<'_>) -> Option<T>,
) -> Option<T> {
    packer.keep(order);
    for last in order.iter().rev() {
        if !packer.is_crowded()
            && let Some(found) = search(packer)
        {
            return Some(found);
        }
        packer.leave_out(*last);
    }
    None
}

/// Capacity of this many nodes, including tolerances.
pub(super) fn tolerant_capacity(nodes: u32) -> f64 {
    f64::from(nodes) * (1.0 + 2.0 * TOLERANCE)
}

/// Bisects between a value that works and one that does not; returns the highest that is known to work.
pub(super) fn bisect_highest(mut lo: f64, mut hi: f64, mut works: impl FnMut(f64) -> bool) -> f64 {
    while hi - lo > 0.01 {
        let mid = (lo + hi) / 2.0;
        if works(mid) {
            lo = mid;
        } else {
            hi = mid;
        }
    }
    lo
}

/// Packs one set of jobs repeatedly, for various requirements.
pub(super) struct Packer<'a> {
    nodes: u32,
    sort: Sort,
    jobs: &'a [Candidate<'a>],
    /// Jobs that have not been left out, in order of submission.
    kept: Vec<usize>,
    /// Kept jobs by processor need, and by memory need, descending: most lists are in one of these orders.
    by_need: [Vec<usize>; 2],
    /// Number of tasks of which exactly one fits into a node's memory, exactly two, and so on.
    by_slots: [u64; SLOTS_MAX],
    /// Processor requirement of each kept job, by its index.
    required: Vec<f64>,
    /// Jobs without pins in search order: those that need more processor than memory, and the others.
    orders: [Vec<FreeJob>; 2],
    /// `orders` with neighbours of equal requirements combined.
    lists: [Vec<TaskItem>; 2],
    /// First item of each list with tasks left.
    heads: [usize; 2],
    /// Number of items with tasks left.
    open: usize,
    /// Least requirements of processors and of memory.
    least: (f64, f64),
    /// Items with tasks on the node that is being filled.
    here: Vec<(usize, usize)>,
}

/// A job that may go anywhere.
#[derive(Clone, Copy)]
struct FreeJob {
    job: usize,
    cpu: f64,
    memory: f64,
}

/// Equal tasks that are still to be placed.
#[derive(Clone, Copy)]
struct TaskItem {
    /// Index of their first job in both orders together; the others follow it.
    first: usize,
    cpu: f64,
    memory: f64,
    left: u64,
    /// Number of tasks on the node that is being filled.
    here: u32,
}

/// Contents of the nodes while MCB8 fills them.
pub(super) struct NodePacking {
    fillings: Vec<Filling>,
    /// Number of tasks that each node of a filling has of an item, by its first job in `order`, filling after filling.
    tasks: Vec<(usize, u32)>,
    order: Vec<usize>,
    kept: Vec<usize>,
}

/// Consecutive nodes with equal content.
struct Filling {
    first: u32,
    nodes: u32,
    /// End of the range of its contents in `tasks`.
    until: usize,
}

/// Smaller tasks are not counted by size, as the sum of memory is as good a test.
const SLOTS_MAX: usize = 10;

/// Number of a job's tasks that fit into a node beside one of them, including tolerances.
fn slots_of(job: &Candidate<'_>) -> Option<usize> {
    ((tolerant_capacity(1) / job.need.memory) as usize).checked_sub(1)
}

const PROCESSOR: usize = 0;
const MEMORY: usize = 1;

impl<'a> Packer<'a> {
    pub fn new(nodes: u32, jobs: &'a [Candidate<'a>], sort: Sort) -> Packer<'a> {
        Packer {
            nodes,
            sort,
            jobs,
            kept: Vec::new(),
            by_need: [Vec::new(), Vec::new()],
            by_slots: [0; SLOTS_MAX],
            required: vec![0.0; jobs.len()],
            orders: [Vec::new(), Vec::new()],
            lists: [Vec::new(), Vec::new()],
            heads: [0, 0],
            open: 0,
            least: (0.0, 0.0),
            here: Vec::new(),
        }
    }

    pub fn keep(&mut self, jobs: &[usize]) {
        let needs = |job: &usize| self.jobs[*job].need;
        self.kept = jobs.to_vec();
        self.kept.sort_unstable();
        self.by_need = [self.kept.clone(), self.kept.clone()];
        self.by_need[PROCESSOR].sort_by(|a, b| needs(b).cpu.total_cmp(&needs(a).cpu));
        self.by_need[MEMORY].sort_by(|a, b| needs(b).memory.total_cmp(&needs(a).memory));
        self.by_slots = [0; SLOTS_MAX];
        for job in jobs {
            if let Some(tasks) = slots_of(&self.jobs[*job]).and_then(|slots| self.by_slots.get_mut(slots)) {
                *tasks += u64::from(self.jobs[*job].need.tasks);
            }
        }
    }

    /// True if memory surely does not suffice, for any yield: there are too many tasks of which only a few fit into a
    /// node.
    fn is_crowded(&self) -> bool {
        let mut tasks = 0;
        (1..).zip(&self.by_slots).any(|(slots, these): (u64, &u64)| {
            tasks += these;
            tasks > slots * u64::from(self.nodes)
        })
    }

    fn leave_out(&mut self, job: usize) {
        let [by_cpu, by_memory] = &mut self.by_need;
        for kept in [&mut self.kept, by_cpu, by_memory] {
            kept.retain(|other| *other != job);
        }
        if let Some(tasks) = slots_of(&self.jobs[job]).and_then(|slots| self.by_slots.get_mut(slots)) {
            *tasks -= u64::from(self.jobs[job].need.tasks);
        }
    }

    /// Kept jobs in order of submission.
    pub fn kept(&self) -> &[usize] {
        &self.kept
    }

    /// Places all tasks of the kept jobs with these processor requirements; None if they do not fit.
    pub fn pack(&mut self, required: impl Fn(usize) -> f64) -> Option<NodePacking> {
        let mut cpu = 0.0;
        for &job in &self.kept {
            self.required[job] = required(job);
            cpu += f64::from(self.jobs[job].need.tasks) * self.required[job];
        }
        if cpu > tolerant_capacity(self.nodes) {
            return None;
        }
        let free = self.settle_pinned()?;
        let mut left = self.list();
        let mut fillings = Vec::new();
        let mut tasks = Vec::new();
        let mut node = 0;
        while node < self.nodes && self.open > 0 {
            // The remaining tasks need more than the remaining nodes.
            let most = tolerant_capacity(self.nodes - node);
            if left.cpu > most || left.memory > most {
                return None;
            }
            let (alike_until, room) = free.as_ref().map_or((self.nodes, (1.0, 1.0)), |free| free.equal_run(node));
            self.fill(room);
            let same = self.repeats().min(alike_until - node);
            self.take(same, &mut tasks, &mut left);
            fillings.push(Filling { first: node, nodes: same, until: tasks.len() });
            node += same;
        }
        (self.open == 0).then(|| NodePacking {
            fillings,
            tasks,
            order: self.orders.iter().flatten().map(|entry| entry.job).collect(),
            kept: self.kept.clone(),
        })
    }

    /// Room that pinned jobs leave free; None inside if there are none, None outside if they do not fit themselves.
    fn settle_pinned(&self) -> Option<Option<Free>> {
        let mut pinned = self.kept.iter().filter_map(|job| Some((*job, self.jobs[*job].pinned?))).peekable();
        if pinned.peek().is_none() {
            return Some(None);
        }
        let mut free = vec![(1.0, 1.0); self.nodes as usize];
        for (job, places) in pinned {
            for &(node, tasks) in places {
                let (cpu, memory) = &mut free[node as usize];
                *cpu -= f64::from(tasks) * self.required[job];
                *memory -= f64::from(tasks) * self.jobs[job].need.memory;
            }
        }
        let is_enough = free.iter().all(|(cpu, memory)| *cpu >= -TOLERANCE && *memory >= -TOLERANCE);
        is_enough.then_some(Some(Free(free)))
    }

    /// Lists the jobs that may go anywhere, largest requirement first, and sums their requirements.
    fn list(&mut self) -> NeedSums {
        let mut sums = NeedSums { cpu: 0.0, memory: 0.0 };
        self.least = (f64::INFINITY, f64::INFINITY);
        self.open = 0;
        self.heads = [0, 0];
        let mut first = 0;
        for which in [PROCESSOR, MEMORY] {
            let order = &mut self.orders[which];
            let list = &mut self.lists[which];
            order.clear();
            for &job in &self.by_need[which] {
                let Candidate { need, pinned: None } = &self.jobs[job] else { continue };
                let entry = FreeJob { job, cpu: self.required[job], memory: need.memory };
                if usize::from(entry.cpu <= entry.memory) == which {
                    order.push(entry);
                }
            }
            let size = |entry: &FreeJob| self.sort.size(entry.cpu, entry.memory);
            order.sort_unstable_by(|a, b| size(b).total_cmp(&size(a)).then(a.job.cmp(&b.job)));
            list.clear();
            for alike in order.chunk_by(|a, b| (a.cpu, a.memory) == (b.cpu, b.memory)) {
                let FreeJob { cpu, memory, .. } = alike[0];
                let left = alike.iter().map(|entry| u64::from(self.jobs[entry.job].need.tasks)).sum();
                list.push(TaskItem { first, cpu, memory, left, here: 0 });
                first += alike.len();
                sums.cpu += left as f64 * cpu;
                sums.memory += left as f64 * memory;
                self.least = (self.least.0.min(cpu), self.least.1.min(memory));
            }
            self.open += list.len();
        }
        sums
    }

    /// Fills one node task by task, so that processor and memory run out together. Free room only shrinks, so an item
    /// that did not fit once is not tried again.
    fn fill(&mut self, (mut cpu, mut memory): (f64, f64)) {
        let mut next = self.heads;
        while self.least.0 <= cpu + TOLERANCE && self.least.1 <= memory + TOLERANCE {
            let first = if memory > cpu + TOLERANCE { MEMORY } else { PROCESSOR };
            let found = [first, 1 - first].into_iter().find(|&which| {
                let list = &self.lists[which];
                let fits = |item: &TaskItem| {
                    u64::from(item.here) < item.left && item.cpu <= cpu + TOLERANCE && item.memory <= memory + TOLERANCE
                };
                // Sorted by the larger requirement, each list begins with items that are too large for the node.
                let is_too_large = |item: &TaskItem| match (self.sort, which) {
                    (Sort::Sum, _) => false,
                    (Sort::Max, PROCESSOR) => item.cpu > cpu + TOLERANCE,
                    (Sort::Max, _) => item.memory > memory + TOLERANCE,
                };
                if list.get(next[which]).is_some_and(is_too_large) {
                    next[which] += list[next[which]..].partition_point(is_too_large);
                }
                while list.get(next[which]).is_some_and(|item| !fits(item)) {
                    next[which] += 1;
                }
                next[which] < list.len()
            });
            let Some(which) = found else { return };
            let item = &mut self.lists[which][next[which]];
            if item.here == 0 {
                self.here.push((which, next[which]));
            }
            item.here += 1;
            cpu -= item.cpu;
            memory -= item.memory;
        }
    }

    /// Number of nodes that can be filled like the last one.
    fn repeats(&self) -> u32 {
        let placed = self.here.iter().map(|&(which, at)| &self.lists[which][at]);
        let times = placed.map(|item| item.left / u64::from(item.here)).min();
        times.map_or(u32::MAX, |times| u32::try_from(times).unwrap_or(u32::MAX))
    }

    /// Subtracts the tasks of the last filling, as often as it is repeated.
    fn take(&mut self, times: u32, tasks: &mut Vec<(usize, u32)>, left: &mut NeedSums) {
        for (which, at) in self.here.drain(..) {
            let item = &mut self.lists[which][at];
            tasks.push((item.first, item.here));
            let placed = u64::from(item.here) * u64::from(times);
            left.cpu -= placed as f64 * item.cpu;
            left.memory -= placed as f64 * item.memory;
            item.left -= placed;
            item.here = 0;
            self.open -= usize::from(item.left == 0);
        }
        for (list, head) in self.lists.iter().zip(&mut self.heads) {
            *head += list[*head..].iter().take_while(|item| item.left == 0).count();
        }
    }
}

/// Total requirements of the tasks that are still to be placed.
struct NeedSums {
    cpu: f64,
    memory: f64,
}

/// Free processors and memory of each node, if there are pinned jobs.
struct Free(Vec<(f64, f64)>);

impl Free {
    /// Room of a node, and end of the run of nodes with equal room.
    fn equal_run(&self, node: u32) -> (u32, (f64, f64)) {
        let room = self.0[node as usize];
        let same = self.0[node as usize..].iter().take_while(|other| **other == room).count();
        (node + same as u32, room)
    }
}

impl NodePacking {
    pub fn places(&self, jobs: &[Candidate<'_>]) -> Vec<TaskPlaces> {
        let mut places = vec![TaskPlaces::new(); jobs.len()];
        for &job in &self.kept {
            if let Some(pinned) = jobs[job].pinned {
                places[job].clone_from(pinned);
            }
        }
        // Next job of each item, and its number of tasks left.
        let mut turn: Vec<usize> = (0..self.order.len()).collect();
        let mut left: Vec<u32> = self.order.iter().map(|job| jobs[*job].need.tasks).collect();
        let mut from = 0;
        for Filling { first, nodes, until } in &self.fillings {
            for &(item, tasks) in &self.tasks[from..*until] {
                let turn = &mut turn[item];
                for node in *first..first + nodes {
                    let mut tasks = tasks;
                    while tasks > 0 {
                        let some = tasks.min(left[*turn]);
                        places[self.order[*turn]].push((node, some));
                        tasks -= some;
                        left[*turn] -= some;
                        *turn += usize::from(left[*turn] == 0);
                    }
                }
            }
            from = *until;
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Jobs with few distinct needs, some of them pinned to a node.
    fn jobs() -> impl Strategy<Value = (u32, Vec<(Need, Option<TaskPlaces>)>)> {
        let job = |nodes: u32| {
            let pinned = prop::option::weighted(0.1, (0..nodes, 1..3_u32));
            (1..7_u32, 1..5_u32, 1..6_u32, pinned).prop_map(|(tasks, cpu, memory, pinned)| {
                let tasks = pinned.map_or(tasks, |(_, tasks)| tasks);
                let need = Need { tasks, cpu: f64::from(cpu) / 4.0, memory: f64::from(memory) / 10.0 };
                (need, pinned.map(|place| vec![place]))
            })
        };
        (1..20_u32).prop_flat_map(move |nodes| (Just(nodes), prop::collection::vec(job(nodes), 0..40)))
    }

    /// The rule literally: task by task and node by node.
    fn slow(nodes: u32, jobs: &[Candidate<'_>], share: f64, sort: Sort) -> Option<Vec<TaskPlaces>> {
        let mut free = vec![(1.0, 1.0); nodes as usize];
        let mut places = vec![TaskPlaces::new(); jobs.len()];
        let mut left: Vec<u32> = jobs.iter().map(|job| job.need.tasks).collect();
        for (job, pinned) in jobs.iter().enumerate().filter_map(|(job, candidate)| Some((job, candidate.pinned?))) {
            for &(node, tasks) in pinned {
                let (cpu, memory) = &mut free[node as usize];
                *cpu -= f64::from(tasks) * share * jobs[job].need.cpu;
                *memory -= f64::from(tasks) * jobs[job].need.memory;
            }
            places[job].clone_from(pinned);
            left[job] = 0;
        }
        if free.iter().any(|(cpu, memory)| *cpu < -TOLERANCE || *memory < -TOLERANCE) {
            return None;
        }
        let size = |job: &usize| {
            let cpu = share * jobs[*job].need.cpu;
            let memory = jobs[*job].need.memory;
            if sort == Sort::Sum { cpu + memory } else { cpu.max(memory) }
        };
        let mut order: Vec<usize> = (0..jobs.len()).filter(|job| left[*job] > 0).collect();
        order.sort_by(|a, b| size(b).total_cmp(&size(a)));
        let lists: (Vec<usize>, Vec<usize>) =
            order.into_iter().partition(|job| share * jobs[*job].need.cpu > jobs[*job].need.memory);
        for (node, (mut cpu, mut memory)) in (0..).zip(free) {
            loop {
                let (first, second) =
                    if memory > cpu + TOLERANCE { (&lists.1, &lists.0) } else { (&lists.0, &lists.1) };
                let fits = |job: &&usize| {
                    let need = jobs[**job].need;
                    left[**job] > 0 && share * need.cpu <= cpu + TOLERANCE && need.memory <= memory + TOLERANCE
                };
                let Some(&job) = first.iter().chain(second).find(fits) else { break };
                left[job] -= 1;
                cpu -= share * jobs[job].need.cpu;
                memory -= jobs[job].need.memory;
                match places[job].last_mut().filter(|last| last.0 == node) {
                    Some(last) => last.1 += 1,
                    None => places[job].push((node, 1)),
                }
            }
        }
        left.iter().all(|left| *left == 0).then_some(places)
    }

    proptest! {
        /// Combined tasks are placed as if one by one.
        #[test]
        fn a_packing_follows_the_rule(
            (nodes, jobs) in jobs(),
            share in prop_oneof![Just(0.01), Just(1.0), 0.01..1.0],
            sort in prop_oneof![Just(Sort::Max), Just(Sort::Sum)],
        ) {
            let jobs: Vec<_> = jobs.iter().map(|(need, pinned)| Candidate { need, pinned: pinned.as_ref() }).collect();
            let mut packer = Packer::new(nodes, &jobs, sort);
            packer.keep(&(0..jobs.len()).rev().collect::<Vec<_>>());
            // An earlier packing must have no effect.
            packer.pack(|job| 0.3 * jobs[job].need.cpu);
            let packing = packer.pack(|job| share * jobs[job].need.cpu);
            prop_assert_eq!(packing.map(|packing| packing.places(&jobs)), slow(nodes, &jobs, share, sort));
        }
    }
}
