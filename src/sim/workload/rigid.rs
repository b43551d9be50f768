//! Rigid jobs of logs of parallel machines, and faults of such logs.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::packed::Packed;
use crate::grid::LONGEST;
use crate::settings::{format_counted, make_printable};
use crate::time::{Span, Time};

/// Names of users, groups, queues and partitions of a log, by number from 1. Empty where the log has numbers only.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogNames {
    #[serde(default)]
    pub users: BTreeMap<u32, String>,
    #[serde(default)]
    pub groups: BTreeMap<u32, String>,
    #[serde(default)]
    pub queues: BTreeMap<u32, String>,
    #[serde(default)]
    pub partitions: BTreeMap<u32, String>,
}

/// A job of a log: all fields of the Standard Workload Format. `None` is unknown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rigid {
    pub number: u64,
    pub submit: Time,
    pub wait: Option<Span>,
    pub runtime: Option<Span>,
    pub allocated: Option<u32>,
    /// CPU time per processor.
    pub cpu_time: Option<Span>,
    /// Memory used per processor.
    pub memory_used: Option<Kilobytes>,
    pub requested: Option<u32>,
    pub requested_time: Option<Span>,
    /// Memory requested per processor.
    pub memory_requested: Option<Kilobytes>,
    /// 1 if it was completed, 0 if it failed, 5 if it was cancelled.
    pub status: Option<u32>,
    pub user: Option<u32>,
    pub group: Option<u32>,
    pub executable: Option<u32>,
    pub queue: Option<u32>,
    pub partition: Option<u32>,
    /// Number of the job that must end before this one is submitted, after the think time of its user.
    pub preceding: Option<u64>,
    pub think: Option<Span>,
    /// Index of its profile in the list of its trace, for formats that have profiles.
    pub profile: Option<u32>,
    /// Index of its options of `sbatch` in the list of its trace, for formats that have such options.
    pub request: Option<u32>,
}

/// An amount of memory. Some logs have means with decimals here; they are kept to the millionth, and rounded to
/// integers for use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kilobytes {
    millionths: u64,
}

impl Kilobytes {
    pub const fn from_millionths(millionths: u64) -> Kilobytes {
        Kilobytes { millionths }
    }

    pub const fn millionths(self) -> u64 {
        self.millionths
    }

    pub const fn whole_kilobytes(self) -> u64 {
        self.millionths / 1_000_000
    }
}

/// Displayed with as few decimals as exact.
impl fmt::Display for Kilobytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Span::from_micros(self.millionths).seconds().fmt(f)
    }
}

/// Jobs of a file, in order of submission, with its further content.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// Comments, without the semicolon.
    pub header: Vec<String>,
    pub jobs: Packed,
    /// Names of job profiles, for formats that have them.
    pub profiles: Vec<String>,
    /// Options of `sbatch` for a real Slurm, for formats that have them.
    pub requests: Vec<String>,
    /// Ids of jobs in their file, by number, where they differ from the number.
    pub ids: BTreeMap<u64, String>,
    pub names: LogNames,
    pub faults: Faults,
}

/// Faults of a file: all are counted, the first few kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Faults {
    /// Entries that could not be read, or that repeat a number.
    pub left_out: u64,
    /// Entries that were out of order; they have been sorted.
    pub disordered: u64,
    /// Jobs that follow a missing one; they are submitted at their own time.
    #[serde(default)]
    pub released: u64,
    /// True if jobs have other numbers than in the file; not a fault, but worth a note.
    #[serde(default)]
    pub renumbered: bool,
    /// Jobs without run time, which get the shortest one; not a fault either.
    #[serde(default)]
    pub lengthened: u64,
    /// Jobs without a requested time, for which a multiple of the run time is assumed.
    #[serde(default)]
    pub unasked: u64,
    /// Lines with more fields than the format has, and the largest number of extra fields of a line; no fault.
    #[serde(default, skip_serializing_if = "Extra::is_none")]
    pub extra: Extra,
    /// Jobs whose size is that of an allocation after the fields of the format; no fault.
    #[serde(default, skip_serializing_if = "Allocations::is_none")]
    pub allocations: Allocations,
    /// Entries left out for reasons that many share.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_reason: Vec<LeftOut>,
    /// Steps of jobs, which are no jobs; no fault.
    #[serde(default)]
    pub steps: u64,
    pub first: Vec<Fault>,
}

/// Entries that were left out for one reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The fact that all of them share: `ended without a start`.
    pub reason: String,
    pub count: u64,
    /// Line of the first of these entries.
    pub line: u64,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = if self.count == 1 { "in" } else { "the first in" };
        write!(f, "{}, {first} line {}: {}", format_counted(self.count, "record"), self.line, self.reason)
    }
}

/// Numbers of jobs in the extended format, whose lines describe an allocation of whole nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allocations {
    pub jobs: u64,
    /// Jobs with GPUs, which are ignored.
    pub with_gpus: u64,
    /// Jobs with a soft walltime, which is ignored.
    pub with_soft_walltime: u64,
}

impl Allocations {
    fn is_none(&self) -> bool {
        self.jobs == 0
    }

    fn note(self) -> Option<String> {
        let Allocations { jobs, with_gpus, with_soft_walltime } = self;
        if jobs == 0 {
            return None;
        }
        let (have, their) = if jobs == 1 { ("has", "its") } else { ("have", "their") };
        let mut ignored = Vec::new();
        if with_gpus > 0 {
            ignored.push(format!("GPUs (field 19, of {})", format_counted(with_gpus, "job")));
        }
        if with_soft_walltime > 0 {
            ignored.push(format!("soft walltimes (field 20, of {})", format_counted(with_soft_walltime, "job")));
        }
        let mut note = format!(
            "{} {have} the size that {their} field 21 describes, in nodes (such as frontier:excl:2500x112, 2,500 \
             nodes), instead of that of fields 5 and 8",
            format_counted(jobs, "job")
        );
        if !ignored.is_empty() {
            note.push_str(&format!("; {their} {} are ignored", ignored.join(" and ")));
        }
        Some(note)
    }
}

/// Fields of a log that the format does not have, which are ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extra {
    pub lines: u64,
    pub most: u64,
}

impl Extra {
    fn is_none(&self) -> bool {
        self.lines == 0
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fault {
    /// Location: `line 12`.
    pub place: String,
    pub what: String,
}

/// Reason why a correctly written job cannot be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unrunnable {
    #[error("its run time is unknown")]
    NoRuntime,
    #[error("its number of processors is unknown")]
    NoProcessors,
}

/// Faults that are kept for display.
const LISTED: usize = 10;

/// Faults that a message lists unless it is asked for all (`{:#}`).
pub const FAULTS_FEW: usize = 3;

/// Shortest run time: a log with whole seconds writes 0 for less than one.
pub(super) const SHORTEST: Span = Span::from_secs(1);

impl Rigid {
    /// Number of nodes: the requested one, or else the allocated one.
    pub fn nodes(&self) -> Result<u32, Unrunnable> {
        known_nodes(self.requested).or(known_nodes(self.allocated)).ok_or(Unrunnable::NoProcessors)
    }

    /// Run time if it is not killed.
    pub fn runs_for(&self) -> Result<Span, Unrunnable> {
        let runtime = self.runtime.ok_or(Unrunnable::NoRuntime)?;
        Ok(if runtime.is_zero() { SHORTEST } else { runtime })
    }

    /// Requested time, if there is one.
    pub fn walltime(&self) -> Option<Span> {
        self.requested_time.filter(|time| !time.is_zero())
    }

    pub fn check(&self) -> Result<(), Unrunnable> {
        self.nodes().and(self.runs_for()).map(|_| ())
    }
}

fn known_nodes(nodes: Option<u32>) -> Option<u32> {
    nodes.filter(|&nodes| nodes > 0)
}

impl Faults {
    /// Notes that are not faults.
    pub fn note(&self) -> Option<String> {
        let renumbered = "jobs are numbered by position, because not every id has a number of its own";
        let extra = (!self.extra.is_none()).then(|| {
            let Extra { lines, most } = self.extra;
            let have = if lines == 1 { "has" } else { "have" };
            let lines = format_counted(lines, "line");
            format!("{lines} {have} more than 18 fields: up to {} a line ignored", format_counted(most, "extra field"))
        });
        let notes = [
            self.allocations.note(),
            extra,
            self.renumbered.then(|| renumbered.to_owned()),
            (self.steps > 0).then(|| format!("{} of jobs left out", format_counted(self.steps, "step"))),
            count_fault(self.lengthened, "without run time counted as running for 1 s"),
            count_fault(self.unasked, "requesting no time taken to request `overestimate` times their run time"),
        ];
        let notes: Vec<String> = notes.into_iter().flatten().collect();
        (!notes.is_empty()).then(|| notes.join("; "))
    }

    /// Counts a job that is going to run.
    pub fn note_job(&mut self, job: &Rigid) {
        self.lengthened += u64::from(job.runtime.is_some_and(Span::is_zero));
        self.unasked += u64::from(job.walltime().is_none());
    }

    pub fn is_empty(&self) -> bool {
        self.left_out == 0 && self.disordered == 0 && self.released == 0
    }

    pub fn leave_out(&mut self, place: impl fmt::Display, what: String) {
        self.left_out += 1;
        self.list(place, what);
    }

    pub(super) fn release(&mut self, place: impl fmt::Display, what: String) {
        self.released += 1;
        self.list(place, what);
    }

    /// Counts an entry that is left out for a reason that many share.
    fn leave_out_for(&mut self, reason: &str, line: u64) {
        self.left_out += 1;
        match self.by_reason.iter_mut().find(|known| known.reason == reason) {
            Some(known) => {
                known.count += 1;
                known.line = known.line.min(line);
            }
            None => self.by_reason.push(LeftOut { reason: reason.to_owned(), count: 1, line }),
        }
    }

    fn list(&mut self, place: impl fmt::Display, what: String) {
        if self.first.len() < LISTED {
            self.first.push(Fault { place: place.to_string(), what: make_printable(&what) });
        }
    }
}

fn count_fault(count: u64, what: &str) -> Option<String> {
    (count > 0).then(|| format!("{} {what}", format_counted(count, "job")))
}

/// Counts and the first few faults; `{:#}` lists all that are kept.
impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} left out, {} put in order", self.left_out, self.disordered)?;
        if self.released > 0 {
            write!(f, ", {} without the job that they follow", self.released)?;
        }
        let mut counted_faults = 0;
        for left_out in &self.by_reason {
            write!(f, "\n  {left_out}")?;
            counted_faults += left_out.count;
        }
        let (lines, listed) = faults_by_kind(&self.first, if f.alternate() { LISTED } else { FAULTS_FEW });
        for line in lines {
            write!(f, "\n  {line}")?;
        }
        match self.left_out + self.disordered + self.released - counted_faults {
            all if all > listed => write!(f, "\n  and {} more", all - listed)?,
            _ => {}
        }
        self.note().map_or(Ok(()), |note| write!(f, "\n  {note}"))
    }
}

/// One line for each kind of fault, of up to `most` kinds, and the number of faults in these lines.
pub fn faults_by_kind(faults: &[Fault], most: usize) -> (Vec<String>, u64) {
    let mut kinds: Vec<(&str, Vec<&str>)> = Vec::new();
    for Fault { place, what } in faults {
        match kinds.iter_mut().find(|(kind, _)| kind == what) {
            Some((_, places)) => places.push(place),
            None => kinds.push((what, vec![place])),
        }
    }
    kinds.truncate(most);
    let listed = kinds.iter().map(|(_, places)| places.len() as u64).sum();
    (
        kinds
            .iter()
            .map(|(what, places)| {
                // `job 3` and `job 7` are `jobs 3, 7`.
                let word = places[0].split_once(' ').map_or("", |(word, _)| word);
                let numbers: Option<Vec<&str>> =
                    places.iter().map(|place| place.strip_prefix(word)?.strip_prefix(' ')).collect();
                match numbers.filter(|numbers| numbers.len() > 1) {
                    Some(numbers) => format!("{word}s {}: {what}", numbers.join(", ")),
                    None => format!("{}: {what}", places.join(", ")),
                }
            })
            .collect(),
        listed,
    )
}

/// Largest number of a job in the Standard Workload Format.
pub(super) const NUMBER_MAX: u64 = u64::MAX / 1_000_000;

/// More jobs than any log has, and fewer than fill memory.
pub(super) const JOBS_MAX: usize = 5_000_000;

/// Builds a trace from jobs in the order of a file.
#[derive(Default)]
pub(super) struct Collector {
    trace: Trace,
    numbers: Numbers,
}

impl Collector {
    /// Sets the names of profiles.
    pub fn profiles(&mut self, names: Vec<String>) {
        self.trace.profiles = names;
    }

    /// Sets the options of `sbatch`.
    pub fn requests(&mut self, requests: Vec<String>) {
        self.trace.requests = requests;
    }

    /// Sets the names behind the numbers of users, groups, queues and partitions.
    pub fn names(&mut self, names: LogNames) {
        self.trace.names = names;
    }

    /// Sets the id of a job, if it is more than its number.
    pub fn id(&mut self, number: u64, id: String) {
        if id != number.to_string() {
            self.trace.ids.entry(number).or_insert(id);
        }
    }

    pub fn comment(&mut self, text: String) {
        self.trace.header.push(text);
    }

    pub fn leave_out(&mut self, place: impl fmt::Display, what: String) {
        self.trace.faults.leave_out(place, what);
    }

    /// Counts an entry that is left out for a reason that many share.
    pub fn leave_out_for(&mut self, reason: &str, line: u64) {
        self.trace.faults.leave_out_for(reason, line);
    }

    /// Counts a step of a job.
    pub fn skip_step(&mut self) {
        self.trace.faults.steps += 1;
    }

    /// Counts fields of a line that the format does not have.
    pub fn ignore_fields(&mut self, extra: u64) {
        let all = &mut self.trace.faults.extra;
        all.lines += u64::from(extra > 0);
        all.most = all.most.max(extra);
    }

    /// Counts a job whose size is that of its allocation.
    pub fn note_allocation(&mut self, has_gpus: bool, has_soft_walltime: bool) {
        let all = &mut self.trace.faults.allocations;
        all.jobs += 1;
        all.with_gpus += u64::from(has_gpus);
        all.with_soft_walltime += u64::from(has_soft_walltime);
    }

    pub fn renumber(&mut self) {
        self.trace.faults.renumbered = true;
    }

    pub fn job(&mut self, place: impl fmt::Display, job: Rigid) {
        if !self.numbers.add(job.number) {
            return self.leave_out(place, format!("there is a job {} already", job.number));
        }
        self.trace.jobs.push(&job);
    }

    /// True if no more jobs can be added.
    pub fn is_full(&self) -> bool {
        self.trace.jobs.len() >= JOBS_MAX
    }

    /// Returns the trace, with jobs in order of submission, and then of number.
    pub fn finish(self) -> Trace {
        let mut trace = self.trace;
        if trace.jobs.heads().is_sorted_by_key(|job| (job.submit, job.number)) {
            return trace;
        }
        let mut jobs: Vec<Rigid> = trace.jobs.iter().collect();
        for place in misplaced_jobs(&jobs) {
            let number = jobs[place].number;
            trace.faults.disordered += 1;
            trace.faults.list(format_args!("job {number}"), "it is out of order by its submit time".to_owned());
        }
        jobs.sort_by_key(|job| (job.submit, job.number));
        trace.jobs = jobs.into_iter().collect();
        trace
    }
}

/// Indices of the fewest jobs without which all others are in order of submission.
fn misplaced_jobs(jobs: &[Rigid]) -> Vec<usize> {
    if jobs.is_sorted_by_key(|job| job.submit) {
        return Vec::new();
    }
    // For each length of an ordered subsequence, the index of the smallest possible last element; and the predecessor
    // of each job.
    let mut ends: Vec<usize> = Vec::new();
    let mut before = vec![None; jobs.len()];
    for (place, job) in jobs.iter().enumerate() {
        let length = ends.partition_point(|&end| jobs[end].submit <= job.submit);
        if length > 0 {
            before[place] = Some(ends[length - 1]);
        }
        match ends.get_mut(length) {
            Some(end) => *end = place,
            None => ends.push(place),
        }
    }
    let mut in_order = vec![false; jobs.len()];
    let longest = std::iter::successors(ends.last().copied(), |&place| before[place]);
    longest.for_each(|place| in_order[place] = true);
    (0..jobs.len()).filter(|place| !in_order[*place]).collect()
}

/// Numbers seen so far, which mostly ascend.
#[derive(Default)]
struct Numbers {
    ascending: Vec<u64>,
    others: std::collections::BTreeSet<u64>,
}

impl Numbers {
    fn add(&mut self, number: u64) -> bool {
        if self.ascending.last().is_none_or(|&last| last < number) {
            self.ascending.push(number);
            return !self.others.contains(&number);
        }
        self.ascending.binary_search(&number).is_err() && self.others.insert(number)
    }
}

/// True for times that a simulation can count to.
pub(super) fn is_bearable_time(micros: u64) -> bool {
    micros <= LONGEST.micros()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn jobs(submits: &[u64]) -> Vec<Rigid> {
        let job = |(at, &submit): (usize, &u64)| Rigid {
            number: at as u64 + 1,
            submit: Time::ZERO + Span::from_secs(submit),
            ..Rigid::default()
        };
        submits.iter().enumerate().map(job).collect()
    }

    #[test]
    fn one_misplaced_job_is_found() {
        let mut submits: Vec<u64> = (0..800).collect();
        submits[0] = 10_000;
        assert_eq!(misplaced_jobs(&jobs(&submits)), [0]);
        submits[0] = 0;
        submits[799] = 0;
        assert_eq!(misplaced_jobs(&jobs(&submits)), [799]);
        assert_eq!(misplaced_jobs(&jobs(&[1, 1, 2, 2])), [0; 0]);
    }

    proptest! {
        /// No smaller choice exists, and the rest is in order.
        #[test]
        fn the_fewest_jobs_are_misplaced(submits in prop::collection::vec(0u64..8, 0..9)) {
            let jobs = jobs(&submits);
            let found = misplaced_jobs(&jobs);
            let kept = |drop: u32| (0..jobs.len()).filter(move |at| drop >> at & 1 == 0).map(|at| jobs[at].submit);
            let fewest = (0..1u32 << jobs.len()).filter(|drop| kept(*drop).is_sorted()).map(u32::count_ones).min();
            prop_assert_eq!(found.len() as u32, fewest.unwrap());
            prop_assert!(kept(found.iter().map(|at| 1 << at).sum()).is_sorted());
        }
    }
}
