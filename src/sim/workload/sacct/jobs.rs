//! Jobs of a log, made of the records of `sacct`.

use std::ops::Range;

use super::SizeIn;
use super::columns::{Layout, Role};
use super::records::Entry;
use super::request::sbatch_options;
use super::values::{self, MemoryOf};
use crate::settings::make_printable;
use crate::time::{Span, Time};
use crate::workload::name_numbers::{NameNumbers, TextNumbers};
use crate::workload::packed::Packed;
use crate::workload::rigid::{Collector, JOBS_MAX, Kilobytes, LogNames, NUMBER_MAX, Rigid, Trace, is_bearable_time};

/// Identity of the record of a job.
struct JobKey {
    cluster: Option<u32>,
    id: Vec<u8>,
    /// Seconds since 1970 of submission and start, by which the last run of a requeued job is known.
    times: (i64, i64),
    /// Index into the jobs.
    place: usize,
    line: u64,
    /// The id that users know, if it differs: `4744528_255`.
    name: Option<Vec<u8>>,
}

/// A record that is no job, and the reason.
enum Skipped {
    Step,
    /// One of the usual reasons.
    Usual(&'static str),
    /// A value that cannot be right.
    Wrong(String),
}

const STILL_WAITING: &str = "not started when the log was written";
const STILL_RUNNING: &str = "not ended when the log was written";
const NEVER_STARTED: &str = "ended without a start";
const EARLIER_RUN: &str = "earlier run of a job that was requeued";
const REPEATED: &str = "repetition of another record";
const NO_SIZE: &str = "no known size";

/// Makes jobs of records.
pub struct JobCollector<'l> {
    layout: &'l Layout,
    size: SizeIn,
    collector: Collector,
    /// Jobs with times since 1970.
    jobs: Packed,
    keys: Vec<JobKey>,
    users: NameNumbers,
    accounts: NameNumbers,
    qualities: NameNumbers,
    partitions: NameNumbers,
    clusters: NameNumbers,
    requests: TextNumbers,
    is_full: bool,
}

impl<'l> JobCollector<'l> {
    pub fn new(layout: &'l Layout, size: SizeIn) -> JobCollector<'l> {
        JobCollector {
            layout,
            size,
            collector: Collector::default(),
            jobs: Packed::default(),
            keys: Vec::new(),
            users: NameNumbers::default(),
            accounts: NameNumbers::default(),
            qualities: NameNumbers::default(),
            partitions: NameNumbers::default(),
            clusters: NameNumbers::default(),
            requests: TextNumbers::default(),
            is_full: false,
        }
    }

    pub fn add(&mut self, entry: Entry<'_>) {
        let (line, fields) = match entry {
            Entry::Record { line, fields } => (line, fields),
            Entry::Lost { lines: Range { start, end }, is_cut } => {
                let what = if is_cut { "the file ends within a record" } else { "this is no whole record" };
                return match end - start {
                    1 => self.collector.leave_out(format_args!("line {start}"), what.to_owned()),
                    _ => self.collector.leave_out(format_args!("lines {start} to {}", end - 1), what.to_owned()),
                };
            }
        };
        if self.jobs.len() >= JOBS_MAX {
            if !self.is_full {
                self.collector.leave_out(format_args!("line {line}"), format!("there are more than {JOBS_MAX} jobs"));
            }
            self.is_full = true;
            return;
        }
        let record = Record { layout: self.layout, fields };
        match self.read_job(&record) {
            Ok((job, times)) => {
                let id = record.id();
                let name = record.get(Role::JobId).filter(|name| *name != id && !name.is_empty());
                self.keys.push(JobKey {
                    cluster: record.get(Role::Cluster).and_then(|name| self.clusters.number(name)),
                    id: id.to_owned(),
                    times,
                    place: self.jobs.len(),
                    line,
                    name: name.map(<[u8]>::to_owned),
                });
                self.jobs.push(&job);
            }
            Err(Skipped::Step) => self.collector.skip_step(),
            Err(Skipped::Usual(reason)) => self.collector.leave_out_for(reason, line),
            Err(Skipped::Wrong(what)) => self.collector.leave_out(format_args!("line {line}"), what),
        }
    }

    /// The job of a record, with times since 1970, and its submission and start in seconds.
    fn read_job(&mut self, record: &Record<'_>) -> Result<(Rigid, (i64, i64)), Skipped> {
        if values::is_step(record.id()) {
            return Err(Skipped::Step);
        }
        let state = record.get(Role::State).and_then(values::state).unwrap_or_default();
        let times = RecordTimes::of(record, state)?;
        let size = self.size_of(record).ok_or(Skipped::Usual(NO_SIZE))?;
        let arrival = times.arrival();
        let wait = times.eligible.and_then(|eligible| seconds_between(eligible, times.start)).map(Span::from_secs);
        if wait.is_some_and(|wait| !is_bearable_time(wait.micros())) {
            return Err(Skipped::Wrong("its wait time is too long".to_owned()));
        }
        let micros = u64::try_from(arrival).ok().and_then(|arrival| arrival.checked_mul(1_000_000));
        let submit = micros.ok_or_else(|| Skipped::Wrong("it was submitted before 1970".to_owned()))?;
        let request = self.requests.number(sbatch_options(&|role| record.get(role), self.size, size));
        let job = Rigid {
            submit: Time::from_micros(submit),
            wait,
            runtime: Some(Span::from_micros(times.runtime_micros)),
            allocated: Some(size),
            cpu_time: self.cpu_time(record),
            requested: Some(size),
            requested_time: record.time_limit(),
            memory_requested: record.memory_of_job(size),
            status: Some(match state {
                b"COMPLETED" => 1,
                b"CANCELLED" => 5,
                _ => 0,
            }),
            user: record.get(Role::User).and_then(|name| self.users.number(name)),
            group: record.get(Role::Account).and_then(|name| self.accounts.number(name)),
            queue: record.get(Role::Qos).and_then(|name| self.qualities.number(name)),
            partition: record.get(Role::Partition).and_then(|name| self.partitions.number(name)),
            request: Some(request),
            ..Rigid::default()
        };
        Ok((job, (times.submit, times.start)))
    }

    /// Allocated cores or nodes; requested ones if the others are not known.
    fn size_of(&self, record: &Record<'_>) -> Option<u32> {
        let name: &[u8] = if self.size == SizeIn::Cores { b"cpu" } else { b"node" };
        self.size.roles().iter().find_map(|role| {
            let text = record.get(*role)?;
            let text =
                if matches!(role, Role::AllocTres | Role::ReqTres) { values::resource(text, name)? } else { text };
            values::count(text).filter(|count| *count > 0)
        })
    }

    /// CPU time of each core.
    fn cpu_time(&self, record: &Record<'_>) -> Option<Span> {
        let all = values::duration(record.get(Role::TotalCpu)?)?;
        let cores = record.first_count(&[Role::AllocCpus, Role::NCpus])?;
        Some(Span::from_micros(all / u64::from(cores))).filter(|time| is_bearable_time(time.micros()))
    }

    /// The jobs in order of arrival, which counts from the first one.
    pub fn finish(mut self) -> Trace {
        self.drop_earlier_runs();
        let jobs = std::mem::take(&mut self.jobs);
        let submits: Vec<Time> = jobs.iter().map(|job| job.submit).collect();
        self.keys.sort_by(|one, other| {
            key_order(one, &submits).cmp(&key_order(other, &submits)).then_with(|| one.id.cmp(&other.id))
        });
        let Some(first) = self.keys.first() else { return self.collector.finish() };
        let start = submits[first.place];
        let start_seconds = (start.micros() / 1_000_000).cast_signed();
        self.collector.comment(format!("StartTime: {}", values::shown_moment(start_seconds)));
        for line in self.qualities.lines("Queue").into_iter().chain(self.partitions.lines("Partition")) {
            self.collector.comment(line);
        }
        self.collector.names(LogNames {
            users: self.users.by_number(),
            groups: self.accounts.by_number(),
            queues: self.qualities.by_number(),
            partitions: self.partitions.by_number(),
        });
        self.collector.requests(std::mem::take(&mut self.requests).into_texts());
        let has_numbers = self.has_unique_numbers();
        if !has_numbers {
            self.collector.renumber();
        }
        for (position, key) in (1..).zip(&self.keys) {
            let number = key.number().filter(|_| has_numbers).unwrap_or(position);
            let Some(job) = jobs.get(key.place) else { continue };
            let after_first = job.submit.since(start);
            if !is_bearable_time(after_first.micros()) {
                let what = "it was submitted too long after the first job".to_owned();
                self.collector.leave_out(format_args!("line {}", key.line), what);
                continue;
            }
            let submit = Time::ZERO + after_first;
            let id = key.name.as_ref().unwrap_or(&key.id);
            self.collector.id(number, make_printable(&String::from_utf8_lossy(id)));
            self.collector.job(format_args!("line {}", key.line), Rigid { number, submit, ..job });
        }
        self.collector.finish()
    }

    /// Keeps the last of the records of each job: without `-D`, `sacct` writes only that one.
    fn drop_earlier_runs(&mut self) {
        self.keys.sort_by(|one, other| {
            (&one.id, one.cluster)
                .cmp(&(&other.id, other.cluster))
                .then_with(|| run_identity(one).cmp(&run_identity(other)))
        });
        let keys = std::mem::take(&mut self.keys);
        let mut kept: Vec<JobKey> = Vec::with_capacity(keys.len());
        for key in keys {
            match kept.last_mut() {
                Some(last) if last.id == key.id && last.cluster == key.cluster => {
                    let reason = if last.times == key.times { REPEATED } else { EARLIER_RUN };
                    self.collector.leave_out_for(reason, last.line);
                    *last = key;
                }
                _ => kept.push(key),
            }
        }
        self.keys = kept;
    }

    /// True if each id is a number that no other job has.
    fn has_unique_numbers(&self) -> bool {
        let numbers: Option<Vec<u64>> = self.keys.iter().map(JobKey::number).collect();
        numbers.is_some_and(|mut numbers| {
            numbers.sort_unstable();
            numbers.windows(2).all(|pair| pair[0] != pair[1])
        })
    }
}

fn seconds_between(from: i64, to: i64) -> Option<u64> {
    to.checked_sub(from).filter(|gap| *gap >= 0).map(i64::cast_unsigned)
}

fn key_order(key: &JobKey, submits: &[Time]) -> (Time, Option<u64>) {
    (submits[key.place], key.number())
}

fn run_identity(key: &JobKey) -> (Option<u32>, (i64, i64), u64) {
    (key.cluster, key.times, key.line)
}

impl JobKey {
    fn number(&self) -> Option<u64> {
        values::number(&self.id).filter(|number| *number <= NUMBER_MAX)
    }
}

/// A record whose fields are found by role.
struct Record<'r> {
    layout: &'r Layout,
    fields: &'r [&'r [u8]],
}

impl<'r> Record<'r> {
    fn get(&self, role: Role) -> Option<&'r [u8]> {
        Some(self.fields[self.layout.place(role)?])
    }

    /// The id that has a number of its own, or else the one that users know.
    fn id(&self) -> &'r [u8] {
        self.get(Role::JobIdRaw).or_else(|| self.get(Role::JobId)).unwrap_or_default()
    }

    fn moment(&self, role: Role) -> Option<i64> {
        values::moment(self.get(role)?)
    }

    fn first_count(&self, roles: &[Role]) -> Option<u32> {
        roles.iter().find_map(|role| values::count(self.get(*role)?).filter(|count| *count > 0))
    }

    /// Requested time; None if it is unlimited or that of the partition.
    fn time_limit(&self) -> Option<Span> {
        let minutes = self.get(Role::TimelimitRaw).and_then(values::number).and_then(|number| number.checked_mul(60));
        let micros = match minutes {
            Some(seconds) => seconds.checked_mul(1_000_000),
            None => values::duration(self.get(Role::Timelimit)?),
        };
        micros.filter(|micros| is_bearable_time(*micros)).map(Span::from_micros)
    }

    /// Requested memory for each core or node of the size.
    fn memory_of_job(&self, size: u32) -> Option<Kilobytes> {
        let (kilobytes, of) = self
            .memory_resource(Role::ReqTres)
            .or_else(|| values::memory(self.get(Role::ReqMem)?))
            .or_else(|| self.memory_resource(Role::AllocTres))?;
        let times = match of {
            MemoryOf::Job => 1,
            MemoryOf::Node => self.first_node_count()?,
            MemoryOf::Core => self.first_core_count()?,
        };
        let millionths = u128::from(kilobytes) * u128::from(times) * 1_000_000 / u128::from(size);
        u64::try_from(millionths).ok().map(Kilobytes::from_millionths)
    }

    fn first_core_count(&self) -> Option<u32> {
        self.first_count(&[Role::AllocCpus, Role::NCpus, Role::ReqCpus])
    }

    fn first_node_count(&self) -> Option<u32> {
        self.first_count(&[Role::AllocNodes, Role::NNodes, Role::ReqNodes])
    }

    fn memory_resource(&self, role: Role) -> Option<(u64, MemoryOf)> {
        values::memory(values::resource(self.get(role)?, b"mem")?)
    }
}

/// Times of a job that ran, in seconds since 1970.
struct RecordTimes {
    submit: i64,
    /// None if it is not known, or after the start.
    eligible: Option<i64>,
    start: i64,
    runtime_micros: u64,
}

impl RecordTimes {
    /// Fails if the job did not start, or has not ended.
    fn of(record: &Record<'_>, state: &[u8]) -> Result<RecordTimes, Skipped> {
        const WAITING: [&[u8]; 5] = [b"PENDING", b"REQUEUED", b"REQUEUE_HOLD", b"REQUEUE_FED", b"RESV_DEL_HOLD"];
        const RUNNING: [&[u8]; 8] = [
            b"RUNNING",
            b"SUSPENDED",
            b"COMPLETING",
            b"CONFIGURING",
            b"RESIZING",
            b"SIGNALING",
            b"STAGE_OUT",
            b"STOPPED",
        ];
        let end = record.moment(Role::End);
        let has_end = record.layout.place(Role::End).is_none() || end.is_some();
        let Some(start) = record.moment(Role::Start) else {
            let is_waiting = if state.is_empty() { !has_end } else { WAITING.contains(&state) };
            return Err(Skipped::Usual(if is_waiting { STILL_WAITING } else { NEVER_STARTED }));
        };
        if state == b"PENDING" {
            return Err(Skipped::Usual(STILL_WAITING));
        }
        if RUNNING.contains(&state) || !has_end {
            return Err(Skipped::Usual(STILL_RUNNING));
        }
        let elapsed = RecordTimes::elapsed(record);
        let runtime_micros = match (elapsed, end) {
            (Some(micros), _) => micros,
            (None, Some(end)) => {
                let seconds = u64::try_from(end.saturating_sub(start)).ok();
                let micros = seconds.and_then(|seconds| seconds.checked_mul(1_000_000));
                micros.ok_or_else(|| Skipped::Wrong("it ends before it starts".to_owned()))?
            }
            (None, None) => return Err(Skipped::Wrong("its run time is unknown".to_owned())),
        };
        if !is_bearable_time(runtime_micros) {
            return Err(Skipped::Wrong("its run time is too long".to_owned()));
        }
        if runtime_micros == 0 && has_no_nodes(record, state) {
            return Err(Skipped::Usual(NEVER_STARTED));
        }
        let planned = [Role::Planned, Role::Reserved].into_iter().find_map(|role| values::duration(record.get(role)?));
        let eligible = match record.moment(Role::Eligible) {
            Some(eligible) => Some(eligible),
            None => planned.map(|micros| start - (micros / 1_000_000).cast_signed()),
        };
        let eligible = eligible.filter(|eligible| *eligible <= start);
        let submit = record.moment(Role::Submit).or(eligible).unwrap_or(start);
        Ok(RecordTimes { submit, eligible, start, runtime_micros })
    }

    /// Microseconds that the job ran, if a column says so.
    fn elapsed(record: &Record<'_>) -> Option<u64> {
        let raw =
            record.get(Role::ElapsedRaw).and_then(values::number).and_then(|number| number.checked_mul(1_000_000));
        raw.or_else(|| values::duration(record.get(Role::Elapsed)?))
    }

    /// Time at which the job may start: its submission if it is not known when it became eligible.
    fn arrival(&self) -> i64 {
        self.eligible.unwrap_or(self.submit.min(self.start))
    }
}

/// True if a job got no nodes, as one that was cancelled while it waited: Slurm writes its end as its start, too.
fn has_no_nodes(record: &Record<'_>, state: &[u8]) -> bool {
    match record.get(Role::NodeList) {
        Some(nodes) => nodes.is_empty() || nodes.starts_with(b"None"),
        None => state == b"CANCELLED",
    }
}
