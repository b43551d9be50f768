//! Paths for the work that the first filling leaves over: Dinic's algorithm on the network of jobs and intervals.

use super::Check;

const UNSEEN: u32 = u32::MAX;

/// Jobs of each interval, and the state of a search. Sources are jobs with work left; sinks are intervals with room
/// left. A job has an edge to the intervals of its window that it does not fully use, an interval has edges to the jobs
/// whose work is in it.
pub(super) struct FlowNetwork {
    /// Jobs of each interval, interval after interval; `begins` is the offset of each.
    users: Vec<u32>,
    begins: Vec<usize>,
    /// Distance of each job and interval from a source, in edges.
    job_level: Vec<u32>,
    interval_level: Vec<u32>,
    /// Next edge to be tried.
    job_next: Vec<usize>,
    interval_next: Vec<usize>,
    /// Threshold below which a flow counts as none.
    grain: f64,
}

impl FlowNetwork {
    pub fn new(check: &Check, grain: f64) -> FlowNetwork {
        let intervals = check.room.len();
        // Counts of jobs per interval, then prefix sums.
        let mut begins = vec![0; intervals + 1];
        for (from, until) in &check.windows {
            (*from..*until).for_each(|interval| begins[interval + 1] += 1);
        }
        for interval in 0..intervals {
            begins[interval + 1] += begins[interval];
        }
        let mut users = vec![0; check.flow.len()];
        let mut next = begins.clone();
        for (job, (from, until)) in check.windows.iter().enumerate() {
            for interval in *from..*until {
                users[next[interval]] = job as u32;
                next[interval] += 1;
            }
        }
        let job_level = vec![UNSEEN; check.jobs.len()];
        let interval_level = vec![UNSEEN; intervals];
        let job_next = vec![0; check.jobs.len()];
        let interval_next = vec![0; intervals];
        FlowNetwork { users, begins, job_level, interval_level, job_next, interval_next, grain }
    }

    /// Fills all shortest paths. False if there are none.
    pub fn phase(&mut self, check: &mut Check, left: &mut [f64]) -> bool {
        if !self.measure(check, left) {
            return false;
        }
        self.job_next.iter_mut().zip(&check.windows).for_each(|(next, window)| *next = window.0);
        self.interval_next.copy_from_slice(&self.begins[..self.begins.len() - 1]);
        for (job, left) in left.iter_mut().enumerate() {
            while *left > self.grain {
                let sent = self.send(check, job, *left);
                if sent == 0.0 {
                    break;
                }
                *left -= sent;
            }
        }
        true
    }

    /// Computes the distances up to the nearest sinks.
    fn measure(&mut self, check: &Check, left: &[f64]) -> bool {
        self.job_level.fill(UNSEEN);
        self.interval_level.fill(UNSEEN);
        let mut jobs: Vec<usize> = (0..left.len()).filter(|job| left[*job] > self.grain).collect();
        jobs.iter().for_each(|job| self.job_level[*job] = 0);
        let mut level = 0;
        while !jobs.is_empty() {
            let mut reached = Vec::new();
            for &job in &jobs {
                let (from, until) = check.windows[job];
                for interval in from..until {
                    if self.interval_level[interval] == UNSEEN && check.spare(job, interval) > self.grain {
                        self.interval_level[interval] = level + 1;
                        reached.push(interval);
                    }
                }
            }
            if reached.iter().any(|interval| check.room[*interval] > self.grain) {
                return true;
            }
            jobs.clear();
            for interval in reached {
                for &job in &self.users[self.begins[interval]..self.begins[interval + 1]] {
                    let job = job as usize;
                    if self.job_level[job] == UNSEEN && check.flow[check.flow_index(job, interval)] > self.grain {
                        self.job_level[job] = level + 2;
                        jobs.push(job);
                    }
                }
            }
            level += 2;
        }
        false
    }

    /// Sends a flow along one shortest path, at most `most`; returns 0 if there is no path left.
    fn send(&mut self, check: &mut Check, source: usize, most: f64) -> f64 {
        // Job, interval, job, interval: each with the next one.
        let mut way: Vec<(usize, usize)> = Vec::new();
        let mut job = source;
        loop {
            let Some(interval) = self.interval_after(check, job) else {
                // Dead end: the previous node tries its next edge.
                let Some((before, interval)) = way.pop() else { return 0.0 };
                self.interval_next[interval] += 1;
                job = before;
                continue;
            };
            if check.room[interval] > self.grain {
                way.push((job, interval));
                break;
            }
            match self.job_after(check, interval) {
                Some(next) => {
                    way.push((job, interval));
                    job = next;
                }
                None => self.job_next[job] += 1,
            }
        }

        let last = way[way.len() - 1].1;
        let mut amount = most.min(check.room[last]);
        for (at, &(job, interval)) in way.iter().enumerate() {
            amount = amount.min(check.spare(job, interval));
            if let Some((next, _)) = way.get(at + 1) {
                amount = amount.min(check.flow[check.flow_index(*next, interval)]);
            }
        }
        check.room[last] -= amount;
        for (at, &(job, interval)) in way.iter().enumerate() {
            let place = check.flow_index(job, interval);
            check.flow[place] += amount;
            if let Some((next, _)) = way.get(at + 1) {
                let place = check.flow_index(*next, interval);
                check.flow[place] -= amount;
            }
        }
        amount
    }

    fn interval_after(&mut self, check: &Check, job: usize) -> Option<usize> {
        let until = check.windows[job].1;
        while self.job_next[job] < until {
            let interval = self.job_next[job];
            if self.interval_level[interval] == self.job_level[job] + 1 && check.spare(job, interval) > self.grain {
                return Some(interval);
            }
            self.job_next[job] += 1;
        }
        None
    }

    fn job_after(&mut self, check: &Check, interval: usize) -> Option<usize> {
        while self.interval_next[interval] < self.begins[interval + 1] {
            let job = self.users[self.interval_next[interval]] as usize;
            let is_next = self.job_level[job] == self.interval_level[interval] + 1;
            if is_next && check.flow[check.flow_index(job, interval)] > self.grain {
                return Some(job);
            }
            self.interval_next[interval] += 1;
        }
        None
    }
}
