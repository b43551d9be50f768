//! MCB8: all live jobs placed at once, by vector packing and a search for the highest yield. Section 4.2 of the paper.
//!
//! Tasks are packed node by node, in turn from a list of those that need more processor than memory and from the list of the others,
//! so that nodes fill evenly. W. Leinberger, G. Karypis, V. Kumar, "Multi-capacity bin packing algorithms with applications to job
//! scheduling under multiple constraints", 1999.
//!
//! Neighbours that are equally free are filled alike as long as every job has enough tasks left, so a filling is worked out once and
//! repeated: a packing of `J` jobs costs O(J log J + min(N, J + P) J), where `P` is how often what pinned jobs leave free changes from one
//! node to the next, since else each filling uses up a job, or most of it. The search takes at most nine packings; each job that has to be left out costs two more at most. Those whose
//! memory, in sum, shows that they cannot all fit should not come here.

use super::Need;
use super::need::TOLERANCE;
use super::room::Places;

/// A live job to be placed.
pub(super) struct Candidate<'a> {
    pub need: &'a Need,
    /// Where it has to stay, if it is kept at all.
    pub pinned: Option<&'a Places>,
}

/// Where each job goes; nowhere for those who are left out, from the lowest priority upwards. `order` has all jobs from
/// highest to lowest priority.
pub(super) fn map(nodes: u32, jobs: &[Candidate<'_>], order: &[usize]) -> Vec<Places> {
    let mut packer = Packer::new(nodes, jobs);
    let packing = keep_most(&mut packer, order, |packer| {
        let mut at = |share: f64| packer.pack(|job| share * jobs[job].need.cpu);
        if let Some(packing) = at(1.0) {
            return Some(packing);
        }
        let mut best = at(LOWEST)?;
        bisect(LOWEST, 1.0, |share| at(share).map(|packing| best = packing).is_some());
        Some(best)
    });
    packing.map_or_else(|| vec![Places::new(); jobs.len()], |packing| packing.places(jobs))
}

/// The lowest yield that is tried, and how near to the highest that works a search comes.
const LOWEST: f64 = 0.01;

/// Leaves jobs out, the one of lowest priority first, until a search finds something.
pub(super) fn keep_most<T>(
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

/// More than so many nodes can ever hold, tolerance and all.
pub(super) fn most(nodes: u32) -> f64 {
    f64::from(nodes) * (1.0 + 2.0 * TOLERANCE)
}

/// Halves the gap between what works and what does not; returns the highest that is known to work.
pub(super) fn bisect(mut lo: f64, mut hi: f64, mut works: impl FnMut(f64) -> bool) -> f64 {
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

/// Packs the same jobs again and again, for other requirements.
pub(super) struct Packer<'a> {
    nodes: u32,
    jobs: &'a [Candidate<'a>],
    /// Those who have not been left out, in order of submission.
    kept: Vec<usize>,
    /// The same, those first who need most of processors, and of memory: most lists are in one of these orders.
    by_need: [Vec<usize>; 2],
    /// How many tasks there are of which one goes into a node's memory, or two, and so on.
    by_slots: [u64; SLOTS_MAX],
    /// What each kept job requires of processors, by its index.
    required: Vec<f64>,
    /// Free tasks, in the order in which they are searched: those that need more processor than memory, and the others.
    lists: [Vec<Item>; 2],
    /// The first item of each list that has tasks left.
    heads: [usize; 2],
    /// How many items have tasks left.
    open: usize,
    /// Nobody requires less, of processors and of memory.
    least: (f64, f64),
    /// Those that have tasks on the node that is being filled.
    here: Vec<(usize, usize)>,
}

/// A job whose tasks are still to be placed.
#[derive(Clone, Copy)]
struct Item {
    job: usize,
    cpu: f64,
    memory: f64,
    left: u32,
    /// Of these, on the node that is being filled.
    here: u32,
}

/// How nodes are filled.
pub(super) struct Packing {
    fillings: Vec<Filling>,
    /// How many tasks of which jobs each node of a filling has, filling after filling.
    tasks: Vec<(usize, u32)>,
    kept: Vec<usize>,
}

/// Some nodes in a row that are filled alike.
struct Filling {
    first: u32,
    nodes: u32,
    /// Where its tasks end.
    until: usize,
}

/// Smaller tasks are not counted by their size: there the sum of memory tells as much.
const SLOTS_MAX: usize = 10;

/// How many tasks of a job go into the memory of a node besides one of them, tolerance and all.
fn slots_of(job: &Candidate<'_>) -> Option<usize> {
    ((most(1) / job.need.memory) as usize).checked_sub(1)
}

const PROCESSOR: usize = 0;
const MEMORY: usize = 1;

impl<'a> Packer<'a> {
    pub fn new(nodes: u32, jobs: &'a [Candidate<'a>]) -> Packer<'a> {
        Packer {
            nodes,
            jobs,
            kept: Vec::new(),
            by_need: [Vec::new(), Vec::new()],
            by_slots: [0; SLOTS_MAX],
            required: vec![0.0; jobs.len()],
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

    /// Whether memory surely does not suffice, whatever the yield: of tasks of which no more than so many go into a node there are more.
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

    /// In order of submission.
    pub fn kept(&self) -> &[usize] {
        &self.kept
    }

    /// Places all tasks of those who are kept, if each requires this much of its node's processors.
    pub fn pack(&mut self, required: impl Fn(usize) -> f64) -> Option<Packing> {
        let mut cpu = 0.0;
        for &job in &self.kept {
            self.required[job] = required(job);
            cpu += f64::from(self.jobs[job].need.tasks) * self.required[job];
        }
        if cpu > most(self.nodes) {
            return None;
        }
        let free = self.settle_pinned()?;
        let mut memory = self.list();
        let (mut fillings, mut tasks) = (Vec::new(), Vec::new());
        let mut node = 0;
        while node < self.nodes && self.open > 0 {
            // What is left needs more than the nodes that are left.
            if memory > most(self.nodes - node) {
                return None;
            }
            let (alike_until, room) = free.as_ref().map_or((self.nodes, (1.0, 1.0)), |free| free.from(node));
            self.fill(room);
            let same = self.repeats().min(alike_until - node);
            self.take(same, &mut tasks, &mut memory);
            fillings.push(Filling { first: node, nodes: same, until: tasks.len() });
            node += same;
        }
        (self.open == 0).then(|| Packing { fillings, tasks, kept: self.kept.clone() })
    }

    /// What those who have to stay leave free, if anybody has to and if they have room enough.
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

    /// Lists those who may go anywhere, the largest requirement first, and sums up their memory.
    fn list(&mut self) -> f64 {
        let mut sum = 0.0;
        self.least = (f64::INFINITY, f64::INFINITY);
        for &job in &self.kept {
            let Candidate { need, pinned: None } = &self.jobs[job] else { continue };
            sum += need.total_memory();
            self.least = (self.least.0.min(self.required[job]), self.least.1.min(need.memory));
        }
        for (which, (list, order)) in self.lists.iter_mut().zip(&self.by_need).enumerate() {
            list.clear();
            for &job in order {
                let Candidate { need, pinned: None } = &self.jobs[job] else { continue };
                let item = Item { job, cpu: self.required[job], memory: need.memory, left: need.tasks, here: 0 };
                if usize::from(item.cpu <= item.memory) == which {
                    list.push(item);
                }
            }
            let size = |item: &Item| item.cpu.max(item.memory);
            list.sort_unstable_by(|a, b| size(b).total_cmp(&size(a)).then(a.job.cmp(&b.job)));
        }
        self.heads = [0, 0];
        self.open = self.lists.iter().map(Vec::len).sum();
        sum
    }

    /// Fills one node task by task, so that processor and memory run out together. Free room only shrinks, so whoever did not fit
    /// once need not be looked at again.
    fn fill(&mut self, (mut cpu, mut memory): (f64, f64)) {
        let mut next = self.heads;
        while self.least.0 <= cpu + TOLERANCE && self.least.1 <= memory + TOLERANCE {
            let first = if memory > cpu + TOLERANCE { MEMORY } else { PROCESSOR };
            let found = [first, 1 - first].into_iter().find(|&which| {
                let list = &self.lists[which];
                let fits = |item: &Item| {
                    item.here < item.left && item.cpu <= cpu + TOLERANCE && item.memory <= memory + TOLERANCE
                };
                // Each list begins with those that are too large for the node.
                let is_too_large = |item: &Item| match which {
                    PROCESSOR => item.cpu > cpu + TOLERANCE,
                    _ => item.memory > memory + TOLERANCE,
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

    /// How many nodes can be filled like the last one.
    fn repeats(&self) -> u32 {
        let placed = self.here.iter().map(|&(which, at)| &self.lists[which][at]);
        placed.map(|item| item.left / item.here).min().unwrap_or(u32::MAX)
    }

    /// The tasks of the last filling are placed, as often as it is repeated, and their memory leaves the sum.
    fn take(&mut self, times: u32, tasks: &mut Vec<(usize, u32)>, memory: &mut f64) {
        for (which, at) in self.here.drain(..) {
            let item = &mut self.lists[which][at];
            tasks.push((item.job, item.here));
            let placed = item.here * times;
            *memory -= f64::from(placed) * item.memory;
            item.left -= placed;
            item.here = 0;
            self.open -= usize::from(item.left == 0);
        }
        for (list, head) in self.lists.iter().zip(&mut self.heads) {
            *head += list[*head..].iter().take_while(|item| item.left == 0).count();
        }
    }
}

/// Free processors and memory of each node, where somebody is pinned.
struct Free(Vec<(f64, f64)>);

impl Free {
    /// What is free on a node, and up to where nodes are as free.
    fn from(&self, node: u32) -> (u32, (f64, f64)) {
        let room = self.0[node as usize];
        let same = self.0[node as usize..].iter().take_while(|other| **other == room).count();
        (node + same as u32, room)
    }
}

impl Packing {
    pub fn places(&self, jobs: &[Candidate<'_>]) -> Vec<Places> {
        let mut places = vec![Places::new(); jobs.len()];
        for &job in &self.kept {
            if let Some(pinned) = jobs[job].pinned {
                places[job].clone_from(pinned);
            }
        }
        let mut from = 0;
        for Filling { first, nodes, until } in &self.fillings {
            for (job, tasks) in &self.tasks[from..*until] {
                places[*job].extend((*first..first + nodes).map(|node| (node, *tasks)));
            }
            from = *until;
        }
        places
    }
}
