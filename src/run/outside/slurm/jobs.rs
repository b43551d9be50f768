//! Account of the jobs that Slurm has: the cores that each holds, and the meaning of what job scripts report.
//!
//! A job that is lost is submitted again, as another job of Slurm. So a job goes by its number and that of its attempt.

use std::collections::{BTreeMap, BTreeSet};

use super::controller_log::{LoggedEvent, Preemption};
use hansa_sim::grid::{JobId, NodeSet};
use hansa_sim::time::{Span, Time};
use hansa_sim::topology::slurm_conf::expand_hosts;

pub struct Jobs {
    /// First core of each node, and its number of cores.
    nodes: BTreeMap<String, (u32, u32)>,
    free: NodeSet,
    down: NodeSet,
    waiting: BTreeMap<JobId, WaitingJob>,
    running: BTreeMap<JobId, RunningJob>,
    attempts: BTreeMap<JobId, u32>,
    /// Jobs by their numbers in Slurm, with their attempts.
    by_number: BTreeMap<u32, (JobId, u32)>,
    /// Fates of jobs that other jobs have preempted, until their scripts report their ends.
    preempted: BTreeMap<JobId, Preemption>,
    /// Jobs that backfilling starts, until their scripts report it.
    backfilled: BTreeSet<JobId>,
    /// Time since which nothing has been submitted, started or ended.
    pub quiet_since: Time,
}

/// A job as it is submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingJob {
    pub cores: u32,
    pub walltime: Span,
    /// Run time, which only the job's script knows.
    pub runtime: Span,
}

struct RunningJob {
    /// All cores that Slurm has given it, which may be more than it has requested.
    holds: NodeSet,
    work: WaitingJob,
    until: Time,
}

/// Effect of a report.
#[derive(Debug, PartialEq, Eq)]
pub enum Reported {
    Starts(JobId, NodeSet),
    Killed(JobId),
    /// Another job has its cores; the job waits again.
    Requeued(JobId),
    /// Another job has its cores; the job is over.
    Preempted(JobId),
    /// It has started on a node that has just failed, which Slurm does not know yet.
    StartsOnFailedNode(JobId),
    /// It has ended in the moment in which Slurm requeued it, and runs once more.
    RunsAgain,
    /// A report about a job that Slurm does not decide on any more.
    Nothing,
}

impl Jobs {
    /// Creates the account of a cluster without jobs. `nodes` has names and core counts, in the order in which the site
    /// numbers the cores.
    pub fn new(nodes: &[(String, u32)]) -> Jobs {
        let mut first = 0;
        let mut places = BTreeMap::new();
        for (name, cores) in nodes {
            places.insert(name.clone(), (first, *cores));
            first += cores;
        }
        Jobs {
            nodes: places,
            free: NodeSet::all(first),
            down: NodeSet::default(),
            waiting: BTreeMap::new(),
            running: BTreeMap::new(),
            attempts: BTreeMap::new(),
            by_number: BTreeMap::new(),
            preempted: BTreeMap::new(),
            backfilled: BTreeSet::new(),
            quiet_since: Time::ZERO,
        }
    }

    /// Adds a job, and returns its name in Slurm.
    pub fn submit(&mut self, now: Time, job: JobId, work: WaitingJob) -> String {
        self.quiet_since = now;
        self.backfilled.remove(&job);
        self.waiting.insert(job, work);
        self.attempts.entry(job).and_modify(|attempt| *attempt += 1).or_default();
        self.name(job)
    }

    /// Name of a job's present attempt.
    pub fn name(&self, job: JobId) -> String {
        format!("j{}.{}", job.0, self.attempts.get(&job).copied().unwrap_or_default())
    }

    /// Records the number that Slurm has given to the attempt of a name.
    pub fn record_number(&mut self, name: &str, number: u32) {
        let job = job_of(name).filter(|(job, attempt)| self.attempts.get(job) == Some(attempt));
        self.by_number.extend(job.map(|job| (number, job)));
    }

    /// Records that another job has preempted a job, or that backfilling starts it. Its script is about to report it.
    pub fn record_event(&mut self, event: LoggedEvent) {
        match event {
            LoggedEvent::Preempted(preemption) => {
                let (Preemption::Requeued(number) | Preemption::Ended(number)) = preemption;
                if let Some(job) = self.find_number(number) {
                    // It has left its nodes, even if its script did not begin.
                    self.backfilled.remove(&job);
                    self.preempted.insert(job, preemption);
                }
            }
            LoggedEvent::Backfilled(number) => {
                let job = self.find_number(number);
                self.backfilled.extend(job);
            }
        }
    }

    /// The job whose present attempt has a number in Slurm. None if it is not here.
    fn find_number(&self, number: u32) -> Option<JobId> {
        let (job, attempt) = self.by_number.get(&number).copied()?;
        let is_here = self.waiting.contains_key(&job) || self.running.contains_key(&job);
        (is_here && self.attempts.get(&job) == Some(&attempt)).then_some(job)
    }

    /// True if backfilling has started a job, whose script has just reported its start. Forgets it.
    pub fn take_backfill(&mut self, job: JobId) -> bool {
        self.backfilled.remove(&job)
    }

    /// Removes the jobs that are over although no script has reported their start: Slurm has given them nodes, and has
    /// given these to others before the script could begin.
    pub fn take_unseen(&mut self) -> Vec<JobId> {
        let waiting: Vec<JobId> = self.preempted.keys().copied().filter(|job| self.waiting.contains_key(job)).collect();
        let fates = waiting.into_iter().map(|job| (job, self.preempted.remove(&job)));
        let over: Vec<JobId> =
            fates.filter(|(_, fate)| matches!(fate, Some(Preemption::Ended(_)))).map(|(job, _)| job).collect();
        self.waiting.retain(|job, _| !over.contains(job));
        over
    }

    /// Removes a job that waits. False if it does not.
    pub fn withdraw(&mut self, job: JobId) -> bool {
        self.waiting.remove(&job).is_some()
    }

    /// Frees the cores of a job that has left them.
    pub fn free_cores(&mut self, now: Time, job: JobId) {
        self.leave(now, job);
    }

    /// Frees the cores of a job that runs, and returns its work.
    fn leave(&mut self, now: Time, job: JobId) -> Option<WaitingJob> {
        let RunningJob { holds, work, .. } = self.running.remove(&job)?;
        self.preempted.remove(&job);
        self.quiet_since = now;
        self.free.unite(&holds);
        Some(work)
    }

    /// Takes the nodes that are down, and returns those that failed and those that came back.
    pub fn set_down(&mut self, now: Time, down: NodeSet) -> (NodeSet, NodeSet) {
        self.quiet_since = now;
        let mut failed = down.clone();
        let mut back = self.down.clone();
        failed.subtract(&self.down);
        back.subtract(&down);
        self.down = down;
        (failed, back)
    }

    /// Interprets a line of a job script.
    pub fn read_report(&mut self, now: Time, line: &str) -> Result<Reported, String> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let garbled = || format!("runs a job script that reports `{line}`");
        let (job, attempt) = words.get(1).and_then(|name| job_of(name)).ok_or_else(garbled)?;
        if self.attempts.get(&job) != Some(&attempt) {
            return Ok(Reported::Nothing);
        }
        match words[..] {
            ["start", _, nodes, cores, _] if self.waiting.contains_key(&job) => {
                let allocated = expand_hosts(nodes).zip(parse_counts(cores)).ok_or_else(garbled)?;
                self.start(now, job, &allocated)
            }
            ["killed", _] if self.running.contains_key(&job) => Ok(self.record_kill(now, job)),
            ["start", _, _, _, restarts] if restarts != "0" && !self.running.contains_key(&job) => {
                Ok(Reported::RunsAgain)
            }
            ["start", _, _, _, _] | ["killed", _] => Ok(Reported::Nothing),
            _ => Err(garbled()),
        }
    }

    /// Ends the preempted jobs that still hold cores of the job that starts by this line. Where threads do not take
    /// turns, the script of a job that Slurm has ended may report it later than that of the next one.
    pub fn take_displaced(&mut self, now: Time, line: &str) -> Vec<Reported> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let ["start", _, nodes, counts, _] = words[..] else { return Vec::new() };
        let Some((names, counts)) = expand_hosts(nodes).zip(parse_counts(counts)) else { return Vec::new() };
        let mut displaced = BTreeSet::new();
        for (name, count) in names.iter().zip(counts) {
            let Some((first, cores)) = self.nodes.get(name).filter(|(_, cores)| *cores > 0) else { continue };
            let node = NodeSet::from_run(*first, first + cores - 1);
            if node.intersection(&self.free).len() < count {
                let holds = |job: &&JobId| self.running.get(*job).is_some_and(|running| running.holds.meets(&node));
                displaced.extend(self.preempted.keys().filter(holds).copied());
            }
        }
        displaced.into_iter().map(|job| self.record_kill(now, job)).collect()
    }

    /// A job has been killed: at its walltime, or by another job.
    fn record_kill(&mut self, now: Time, job: JobId) -> Reported {
        let fate = self.preempted.remove(&job);
        let work = self.leave(now, job);
        match fate {
            None => Reported::Killed(job),
            Some(Preemption::Ended(_)) => Reported::Preempted(job),
            Some(Preemption::Requeued(_)) => {
                self.waiting.extend(work.map(|work| (job, work)));
                Reported::Requeued(job)
            }
        }
    }

    fn start(&mut self, now: Time, job: JobId, (nodes, counts): &(Vec<String>, Vec<u32>)) -> Result<Reported, String> {
        let mut holds = NodeSet::default();
        for (node, count) in nodes.iter().zip(counts) {
            let Some((first, cores)) = self.nodes.get(node).filter(|(_, cores)| *cores > 0) else {
                return Err(format!("starts job {} on a node {node} that it does not have", job.0));
            };
            let mut free = NodeSet::from_run(*first, first + cores - 1).intersection(&self.free);
            let taken = free.take_lowest(*count);
            holds.unite(&taken.ok_or_else(|| {
                format!("starts job {} on {count} cores of node {node}, of which {} are free", job.0, free.len())
            })?);
        }
        if holds.meets(&self.down) {
            return Ok(Reported::StartsOnFailedNode(job));
        }
        let work = self.waiting[&job];
        let WaitingJob { cores, walltime, .. } = work;
        let Some(on) = holds.lowest(cores) else {
            return Err(format!("starts job {} on {} cores, but it requests {cores}", job.0, holds.len()));
        };
        self.waiting.remove(&job);
        self.quiet_since = now;
        self.free.subtract(&holds);
        self.running.insert(job, RunningJob { holds, work, until: now + walltime });
        Ok(Reported::Starts(job, on))
    }

    /// Submits a waiting job once more, and returns its new name in Slurm.
    pub fn submit_again(&mut self, now: Time, job: JobId) -> Option<(String, WaitingJob)> {
        let work = self.waiting.remove(&job)?;
        Some((self.submit(now, job, work), work))
    }

    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub fn waiting_count(&self) -> usize {
        self.waiting.len()
    }

    /// True if jobs wait, though no job and no outage is in their way.
    pub fn wait_for_nothing(&self) -> bool {
        self.has_waiting() && self.running.is_empty() && self.down.is_empty()
    }

    /// The earliest time at which Slurm may kill a job at its walltime. None if none runs.
    pub fn next_kill(&self) -> Option<Time> {
        self.running.values().map(|running| running.until).min()
    }
}

/// Job and attempt of a name in Slurm.
pub fn job_of(name: &str) -> Option<(JobId, u32)> {
    let (job, attempt) = name.strip_prefix('j')?.split_once('.')?;
    Some((JobId(job.parse().ok()?), attempt.parse().ok()?))
}

/// Counts of cores as Slurm writes them: `4(x2),1` is 4, 4 and 1.
fn parse_counts(list: &str) -> Option<Vec<u32>> {
    let mut counts = Vec::new();
    for part in list.split(',') {
        let (count, times) = match part.split_once("(x") {
            Some((count, times)) => (count, times.strip_suffix(')')?.parse::<usize>().ok()?),
            None => (part, 1),
        };
        if times > 1 << 16 {
            return None;
        }
        let count: u32 = count.parse().ok()?;
        counts.extend(std::iter::repeat_n(count, times));
    }
    Some(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::ZERO + Span::from_secs(seconds)
    }

    /// Nodes of two cores.
    fn nodes(names: &[&str]) -> Vec<(String, u32)> {
        names.iter().map(|name| ((*name).to_owned(), 2)).collect()
    }

    fn jobs() -> Jobs {
        let mut jobs = Jobs::new(&nodes(&["n0", "n1", "n2", "n3"]));
        assert_eq!(jobs.submit(at(0), JobId(0), work(3)), "j0.0");
        assert_eq!(jobs.submit(at(0), JobId(1), work(2)), "j1.0");
        jobs
    }

    fn work(cores: u32) -> WaitingJob {
        WaitingJob { cores, walltime: Span::from_secs(60), runtime: Span::from_secs(50) }
    }

    fn starts(job: u32, on: &str) -> Result<Reported, String> {
        Ok(Reported::Starts(JobId(job), NodeSet::parse(on).unwrap()))
    }

    #[test]
    fn lists_of_slurm_are_read() {
        assert_eq!(parse_counts("4(x2),1"), Some(vec![4, 4, 1]));
        for wrong in ["", "x", "1(x", "1(x99999999)"] {
            assert_eq!(parse_counts(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn cores_of_a_node_are_handed_out_from_the_lowest() {
        let mut jobs = jobs();
        assert_eq!(jobs.read_report(at(1), "start j0.0 n[0-1] 2,1 0"), starts(0, "0-2"));
        assert_eq!(jobs.read_report(at(2), "start j1.0 n[1-2] 1(x2) 0"), starts(1, "3-4"));
        assert_eq!((jobs.waiting_count(), jobs.next_kill()), (0, Some(at(61))));
        jobs.free_cores(at(3), JobId(0));
        jobs.submit(at(3), JobId(2), work(1));
        assert_eq!(jobs.read_report(at(4), "start j2.0 n1 1 0"), starts(2, "2"));
        jobs.submit(at(4), JobId(3), work(1));
        let taken = jobs.read_report(at(5), "start j3.0 n1 1 0").unwrap_err();
        assert_eq!(taken, "starts job 3 on 1 cores of node n1, of which 0 are free");
    }

    #[test]
    fn nodes_have_the_cores_of_their_conf_in_order() {
        let mut jobs = Jobs::new(&[("g1".to_owned(), 3), ("n01".to_owned(), 1), ("n02".to_owned(), 4)]);
        jobs.submit(at(0), JobId(0), work(6));
        assert_eq!(jobs.read_report(at(1), "start j0.0 g1,n02 3(x2) 0"), starts(0, "0-2 4-6"));
        jobs.submit(at(1), JobId(1), work(1));
        let elsewhere = jobs.read_report(at(2), "start j1.0 n03 1 0").unwrap_err();
        assert_eq!(elsewhere, "starts job 1 on a node n03 that it does not have");
        assert_eq!(jobs.read_report(at(2), "start j1.0 n01 1 0"), starts(1, "3"));
    }

    #[test]
    fn a_whole_node_is_held_and_the_requested_cores_are_used() {
        let mut jobs = Jobs::new(&nodes(&["n0", "n1", "n2", "n3"]));
        jobs.submit(at(0), JobId(0), work(1));
        assert_eq!(jobs.read_report(at(1), "start j0.0 n0 2 0"), starts(0, "0"));
        jobs.submit(at(1), JobId(1), work(1));
        assert!(jobs.read_report(at(2), "start j1.0 n0 1 0").is_err());
        let few = jobs.read_report(at(2), "start j1.0 n1 0 0").unwrap_err();
        assert_eq!(few, "starts job 1 on 0 cores, but it requests 1");
    }

    #[test]
    fn reports_of_earlier_attempts_and_recalled_jobs_change_nothing() {
        let mut jobs = jobs();
        assert!(jobs.withdraw(JobId(1)) && !jobs.withdraw(JobId(1)));
        assert_eq!(jobs.read_report(at(1), "start j1.0 n0 2 0"), Ok(Reported::Nothing));
        assert_eq!(jobs.read_report(at(1), "start j0.0 n[0-1] 2,1 0"), starts(0, "0-2"));
        jobs.free_cores(at(2), JobId(0));
        assert_eq!(jobs.submit(at(2), JobId(0), work(3)), "j0.1");
        assert_eq!(jobs.read_report(at(3), "killed j0.0"), Ok(Reported::Nothing));
        assert_eq!(jobs.read_report(at(3), "start j0.1 n[2-3] 2,1 0"), starts(0, "4-6"));
        assert_eq!(jobs.read_report(at(9), "killed j0.1"), Ok(Reported::Killed(JobId(0))));
        assert_eq!(jobs.next_kill(), None);
        for wrong in ["", "start", "start x n0 1", "start j0.1", "what j0.1"] {
            assert!(jobs.read_report(at(9), wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_preempted_job_leaves_its_cores_to_the_next_one_even_if_its_own_report_is_late() {
        let mut jobs = jobs();
        assert_eq!(jobs.read_report(at(1), "start j0.0 n[0-1] 2,1 0"), starts(0, "0-2"));
        jobs.record_number("j0.0", 7);
        jobs.record_event(LoggedEvent::Preempted(Preemption::Ended(7)));
        // Its cores are not needed, so it may still run for its grace time.
        assert_eq!(jobs.take_displaced(at(2), "start j1.0 n[2-3] 1(x2) 0"), []);
        assert_eq!(jobs.take_displaced(at(2), "start j1.0 n0 2 0"), [Reported::Preempted(JobId(0))]);
        assert_eq!(jobs.read_report(at(2), "start j1.0 n0 2 0"), starts(1, "0-1"));
        assert_eq!(jobs.read_report(at(2), "killed j0.0"), Ok(Reported::Nothing));
    }

    #[test]
    fn jobs_that_are_preempted_wait_again_or_are_over() {
        let mut jobs = jobs();
        jobs.record_number("j0.0", 7);
        jobs.record_number("j1.0", 8);
        assert_eq!(jobs.read_report(at(1), "start j0.0 n[0-1] 2,1 0"), starts(0, "0-2"));
        jobs.record_event(LoggedEvent::Preempted(Preemption::Requeued(7)));
        jobs.record_event(LoggedEvent::Preempted(Preemption::Ended(9)));
        assert!(jobs.take_unseen().is_empty());
        assert_eq!(jobs.read_report(at(9), "killed j0.0"), Ok(Reported::Requeued(JobId(0))));
        assert_eq!(jobs.waiting_count(), 2);
        assert_eq!(jobs.read_report(at(10), "start j0.0 n[0-1] 2,1 1"), starts(0, "0-2"));
        assert_eq!(jobs.next_kill(), Some(at(70)), "its walltime begins anew");
        jobs.record_event(LoggedEvent::Preempted(Preemption::Ended(7)));
        assert_eq!(jobs.read_report(at(11), "killed j0.0"), Ok(Reported::Preempted(JobId(0))));
        // One that has ended just before is not to run again, and one that has not begun is over.
        assert_eq!(jobs.read_report(at(12), "start j0.0 n0 2 2"), Ok(Reported::RunsAgain));
        jobs.record_event(LoggedEvent::Preempted(Preemption::Ended(8)));
        assert_eq!((jobs.take_unseen(), jobs.has_waiting()), (vec![JobId(1)], false));
        assert_eq!(jobs.submit(at(20), JobId(2), work(1)), "j2.0");
        jobs.record_number("j2.0", 10);
        assert_eq!(jobs.read_report(at(21), "start j2.0 n0 1 0"), starts(2, "0"));
        assert_eq!(jobs.read_report(at(30), "killed j2.0"), Ok(Reported::Killed(JobId(2))));
    }

    #[test]
    fn nothing_starts_on_nodes_that_are_down() {
        let mut jobs = jobs();
        let cores = |text| NodeSet::parse(text).unwrap();
        assert_eq!(jobs.set_down(at(1), cores("0-3")), (cores("0-3"), NodeSet::default()));
        assert_eq!(jobs.set_down(at(2), cores("2-5")), (cores("4-5"), cores("0-1")));
        assert_eq!(jobs.read_report(at(2), "start j1.0 n1 2 0"), Ok(Reported::StartsOnFailedNode(JobId(1))));
        assert_eq!(jobs.submit_again(at(2), JobId(1)), Some(("j1.1".to_owned(), work(2))));
        assert!(!jobs.wait_for_nothing());
        assert_eq!(jobs.read_report(at(2), "start j1.0 n0 2 0"), Ok(Reported::Nothing));
        assert_eq!(jobs.read_report(at(2), "start j1.1 n0 2 0"), starts(1, "0-1"));
    }
}
