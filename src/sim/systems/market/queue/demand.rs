//! The least number of cores requested by the tasks of a lane: with fewer free, none of them can start.

/// Counts tasks by requested cores; all large requests are one class.
#[derive(Debug)]
pub(in crate::systems::market) struct TaskDemand {
    counts: [u32; CLASSES],
    /// One bit for every class with a task in it.
    present: u64,
}

const CLASSES: usize = 64;

impl Default for TaskDemand {
    fn default() -> TaskDemand {
        TaskDemand { counts: [0; CLASSES], present: 0 }
    }
}

impl TaskDemand {
    pub fn add(&mut self, cores: u32) {
        let class = core_class(cores);
        self.counts[class] += 1;
        self.present |= 1 << class;
    }

    pub fn remove(&mut self, cores: u32) {
        let class = core_class(cores);
        self.counts[class] -= 1;
        if self.counts[class] == 0 {
            self.present &= !(1 << class);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.present == 0
    }

    /// A lower bound on the cores requested by each task.
    pub fn least(&self) -> u32 {
        self.present.trailing_zeros()
    }
}

fn core_class(cores: u32) -> usize {
    (cores as usize).min(CLASSES - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_the_least_demand_up_to_the_last_class() {
        let mut demand = TaskDemand::default();
        assert!(demand.is_empty());
        [5, 3, 3, 500].into_iter().for_each(|cores| demand.add(cores));
        let mut least = Vec::new();
        for cores in [3, 3, 5, 500] {
            least.push(demand.least());
            demand.remove(cores);
        }
        assert_eq!(least, [3, 3, 5, 63]);
        assert!(demand.is_empty());
    }
}
