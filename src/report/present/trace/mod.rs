//! `trace.json`: the run as a trace in virtual time, for Perfetto (ui.perfetto.dev) and `chrome://tracing`.
//!
//! In the JSON of the Trace Event Format: one process per site, whose threads are lanes in which no two tasks overlap,
//! and one process per system, with its assignments at each instant and the number of waiting tasks. An arrow leads
//! from an assignment to the task's start. A task that shares its nodes has a slice for each yield. Where users
//! negotiate with sites, further lanes of a site show bookings and holds, each for its time. Where there are links, a
//! process shows the transfers. One microsecond of the trace is one of virtual time.

mod lanes;
mod let_out;

use std::collections::BTreeMap;
use std::io::Write;

use self::lanes::Lanes;
use crate::Tally;
use crate::referee::tally::FinishedFlow;
use crate::referee::tally::{JobRow, Stint, TaskRow};
use hansa_sim::grid::JobId;
use hansa_sim::systems::Gives;
use hansa_sim::time::Time;

/// Processes and threads count from 1: some readers take 0 for the kernel.
const FIRST_SYSTEM: usize = 1;
const GIVING: u32 = 1;

impl Tally {
    /// Hands over the whole trace, one event at a time.
    pub fn trace<E>(&self, put: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let mut trace = TraceWriter { put, line: Vec::new(), first: true };
        trace.raw(b"{\"displayTimeUnit\":\"ms\",\"traceEvents\":[")?;
        for (system, (gives, given)) in self.gives().zip(self.given_by_system()).enumerate() {
            self.system_track(system, gives, given, &mut trace)?;
        }
        let first_site = FIRST_SYSTEM + self.gives().count();
        for (site, (ran, let_out)) in self.ran_by_site().into_iter().zip(self.let_out_by_site()).enumerate() {
            let pid = first_site + site;
            let lanes = self.site_track(site, pid, ran, &mut trace)?;
            self.let_out_track(pid, lanes, let_out, &mut trace)?;
        }
        self.network_track(first_site + self.sites.len(), &mut trace)?;
        trace.raw(b"\n]}\n")
    }

    /// Number of tasks that each system assigned at each instant, and the numbers of those that started.
    fn given_by_system(&self) -> Vec<Assignments> {
        let mut given = vec![Assignments::new(); self.gives().count()];
        for task in self.tasks() {
            let given = &mut given[task.job.system as usize];
            task.sendings().for_each(|sent| given.entry(sent.at).or_default().0 += 1);
            for sent in task.stints_with_assignments(self.last).filter_map(|(_, sent)| sent) {
                given.entry(sent.at).or_default().1.push(sent.number);
            }
        }
        given
    }

    /// The instants of a system, with its assignments and its waiting tasks. Arrows begin here, so this comes first.
    fn system_track<E, P: FnMut(&[u8]) -> Result<(), E>>(
        &self,
        system: usize,
        Gives { moment, task, category }: Gives,
        given: Assignments,
        trace: &mut TraceWriter<P>,
    ) -> Result<(), E> {
        let pid = FIRST_SYSTEM + system;
        trace.process(pid, moment)?;
        trace.thread(pid, GIVING, "tasks assigned")?;
        for (at, (tasks, flows)) in &given {
            let ts = at.micros();
            // The shortest duration: two instants are never closer.
            trace.event(format_args!(
                r#"{{"ph":"X","pid":{pid},"tid":{GIVING},"ts":{ts},"dur":1,"name":"{moment}","cat":"{moment}","args":{{"tasks":{tasks}}}}}"#
            ))?;
            for id in flows {
                trace.event(format_args!(
                    r#"{{"ph":"s","pid":{pid},"tid":{GIVING},"ts":{ts},"id":{id},"name":"{task}","cat":"{category}"}}"#
                ))?;
            }
        }
        let mut steps = Steps::default();
        for (_, from, to) in self.waiting_of(|row| row.system as usize == system) {
            steps.add(from, to, 1.0);
        }
        trace.counter(pid, "waiting tasks", &steps)
    }

    /// Transfers over the links, from when they used them.
    fn network_track<E, P: FnMut(&[u8]) -> Result<(), E>>(
        &self,
        pid: usize,
        trace: &mut TraceWriter<P>,
    ) -> Result<(), E> {
        let mut flows: Vec<FinishedFlow<'_>> = self.flows().collect();
        if flows.is_empty() {
            return Ok(());
        }
        trace.process(pid, "network")?;
        let mut last_lane = 0;
        flows.sort_by_key(|flow| (flow.active, flow.edge));
        let mut lanes = Lanes::default();
        for FinishedFlow { edge, from, to, bytes, active, ended } in flows {
            let (lane, is_new) = lanes.take_lane(active, ended);
            if is_new {
                trace.thread(pid, lane, &format!("transfers, lane {lane}"))?;
                last_lane = lane;
            }
            let ts = active.micros();
            let dur = ended.since(active).micros();
            let way = json(&format!("{from} to {to}"));
            trace.event(format_args!(
                r#"{{"ph":"X","pid":{pid},"tid":{lane},"ts":{ts},"dur":{dur},"name":"data {edge}","cat":"transfer","args":{{"bytes":{bytes},"way":{way}}}}}"#
            ))?;
        }
        self.write_link_outages(pid, last_lane, trace)
    }

    /// Outages of links, one lane each.
    fn write_link_outages<E, P: FnMut(&[u8]) -> Result<(), E>>(
        &self,
        pid: usize,
        mut lane: u32,
        trace: &mut TraceWriter<P>,
    ) -> Result<(), E> {
        for link in self.failing.failing_links() {
            lane += 1;
            trace.thread(pid, lane, &format!("link {}", self.names.of_link(link)))?;
            let mut down = Vec::new();
            self.failing.each_of_link(link, self.last, |from, to| down.push((from, to)));
            for (from, to) in down {
                let ts = from.micros();
                let dur = to.since(from).micros();
                trace.event(format_args!(
                    r#"{{"ph":"X","pid":{pid},"tid":{lane},"ts":{ts},"dur":{dur},"name":"down","cat":"failure"}}"#
                ))?;
            }
        }
        Ok(())
    }

    /// Stints on the cores of each site, in order of starts.
    fn ran_by_site(&self) -> Vec<Vec<AssignedStint<'_>>> {
        let mut ran: Vec<Vec<AssignedStint<'_>>> = self.sites.iter().map(|_| Vec::new()).collect();
        for task in self.tasks() {
            for (stint, sent) in task.stints_with_assignments(self.last) {
                if let Some(site) = stint.site.or(task.row.site) {
                    ran[site as usize].push((stint, sent, task));
                }
            }
        }
        ran.iter_mut().for_each(|ran| ran.sort_by_key(|(stint, _, task)| (stint.from, task.number)));
        ran
    }

    /// Writes the track of a site, and returns its number of lanes.
    fn site_track<E, P: FnMut(&[u8]) -> Result<(), E>>(
        &self,
        site: usize,
        pid: usize,
        ran: Vec<AssignedStint<'_>>,
        trace: &mut TraceWriter<P>,
    ) -> Result<u32, E> {
        let facts = &self.sites[site];
        trace.process(pid, &format!("site {}", facts.name))?;
        let mut lanes = Lanes::default();
        let mut busy = Steps::default();
        for (stint, sent, task) in ran {
            let (lane, is_new) = lanes.take_lane(stint.from, stint.to);
            if is_new {
                trace.thread(pid, lane, &format!("lane {lane}"))?;
            }
            busy.add(
                stint.from,
                stint.to,
                facts.used_cores(task.job, task.job.job.tasks[task.index].cores, &stint).cores(),
            );
            self.task_event((pid, lane), (&stint, sent), facts.is_shared, &task, trace)?;
        }
        trace.counter(pid, "busy cores", &busy)?;
        Ok(lanes.count())
    }

    fn task_event<E, P: FnMut(&[u8]) -> Result<(), E>>(
        &self,
        (pid, lane): (usize, u32),
        (stint, sent): (&Stint<'_>, Option<AssignmentEvent>),
        is_shared: bool,
        task: &TaskOf<'_>,
        trace: &mut TraceWriter<P>,
    ) -> Result<(), E> {
        let Stint { from: start, to: end, nodes: cores, share, .. } = *stint;
        let index = task.index;
        let ts = start.micros();
        // The number in the log of events.
        let id = task.job.job.id.0;
        let job = self.job_in_trace(task.job.job.id);
        let name = name_suffix(self.job_name(task.job.job.id));
        let task_name = name_suffix(self.job_names.task(task.job.job.id, index));
        let user = json(&self.names.of_actor(task.job.user));
        let cut = if task.row.end.is_none() { r#","running":"when the log ended""# } else { "" };
        let shared = if is_shared { format!(r#","yield":{share}"#) } else { String::new() };
        trace.event(format_args!(
            r#"{{"ph":"X","pid":{pid},"tid":{lane},"ts":{ts},"dur":{},"name":"job {job}{name}","cat":"task","args":{{"task":"{id}.{index}{task_name}","user":{user},"cores":"{}"{shared}{cut}}}}}"#,
            end.since(start).micros(),
            cores,
        ))?;
        // A task may continue more often than it was assigned.
        if let Some(AssignmentEvent { number, .. }) = sent {
            let Gives { task: what, category, .. } = self.gives_of(task.job);
            trace.event(format_args!(
                r#"{{"ph":"f","bp":"e","pid":{pid},"tid":{lane},"ts":{ts},"id":{number},"name":"{what}","cat":"{category}"}}"#,
            ))?;
        }
        Ok(())
    }

    /// The job's number, with its workload, as several workloads may use the same numbers.
    fn job_in_trace(&self, job: JobId) -> String {
        let workload = self.workload(job).map_or(String::new(), |workload| format!("{workload}:"));
        format!("{workload}{}", self.number(job))
    }

    fn tasks(&self) -> impl Iterator<Item = TaskOf<'_>> {
        let rows =
            self.jobs.values().flat_map(|job| job.tasks.iter().enumerate().map(move |(index, row)| (job, index, row)));
        let mut next = 1;
        rows.map(move |(job, index, row)| {
            let number = next;
            next += row.assignment_times().count().max(1) as u64;
            TaskOf { job, index, row, number }
        })
    }
}

fn name_suffix(name: Option<&str>) -> String {
    name.map_or(String::new(), |name| json(&format!(" {name}")).trim_matches('"').to_owned())
}

/// Tasks assigned to sites at each moment, and the numbers of those that started.
type Assignments = BTreeMap<Time, (usize, Vec<u64>)>;

#[derive(Clone, Copy)]
struct TaskOf<'a> {
    job: &'a JobRow,
    index: usize,
    row: &'a TaskRow,
    /// Number of its first assignment, counted over the whole run. A job's own numbers may be ambiguous in a log that
    /// was tampered with.
    number: u64,
}

/// An assignment of a task to a site.
#[derive(Clone, Copy)]
struct AssignmentEvent {
    at: Time,
    number: u64,
}

/// A stint, with its assignment if it is the first one after that.
type AssignedStint<'a> = (Stint<'a>, Option<AssignmentEvent>, TaskOf<'a>);

impl<'a> TaskOf<'a> {
    fn sendings(&self) -> impl Iterator<Item = AssignmentEvent> + use<'a> {
        self.row.assignment_times().zip(self.number..).map(|(at, number)| AssignmentEvent { at, number })
    }

    /// Stints of the task in order, each with the assignment that led to it, unless an earlier stint has it.
    fn stints_with_assignments(
        &self,
        last: Time,
    ) -> impl Iterator<Item = (Stint<'a>, Option<AssignmentEvent>)> + use<'a> {
        let mut sendings = self.sendings().peekable();
        self.row.stints(last).map(move |stint| {
            let mut sent = None;
            while let Some(next) = sendings.next_if(|next| next.at <= stint.from) {
                sent = Some(next);
            }
            (stint, sent)
        })
    }
}

/// A number that changes at moments, in millionths, so that additions and subtractions cancel exactly.
#[derive(Default)]
struct Steps(BTreeMap<Time, i64>);

const MILLION: f64 = 1e6;

impl Steps {
    fn add(&mut self, from: Time, to: Time, amount: f64) {
        let millionths = (amount * MILLION).round() as i64;
        if from < to {
            *self.0.entry(from).or_default() += millionths;
            *self.0.entry(to).or_default() -= millionths;
        }
    }
}

struct TraceWriter<P> {
    put: P,
    line: Vec<u8>,
    first: bool,
}

impl<P> TraceWriter<P> {
    fn raw<E>(&mut self, bytes: &[u8]) -> Result<(), E>
    where
        P: FnMut(&[u8]) -> Result<(), E>,
    {
        (self.put)(bytes)
    }

    fn event<E>(&mut self, event: std::fmt::Arguments<'_>) -> Result<(), E>
    where
        P: FnMut(&[u8]) -> Result<(), E>,
    {
        self.line.clear();
        self.line.extend_from_slice(if self.first { b"\n" } else { b",\n" });
        self.first = false;
        self.line.write_fmt(event).expect("writing to memory does not fail");
        (self.put)(&self.line)
    }

    fn process<E>(&mut self, pid: usize, name: &str) -> Result<(), E>
    where
        P: FnMut(&[u8]) -> Result<(), E>,
    {
        let name = json(name);
        self.event(format_args!(r#"{{"ph":"M","pid":{pid},"name":"process_name","args":{{"name":{name}}}}}"#))?;
        self.event(format_args!(
            r#"{{"ph":"M","pid":{pid},"name":"process_sort_index","args":{{"sort_index":{pid}}}}}"#
        ))
    }

    fn thread<E>(&mut self, pid: usize, tid: u32, name: &str) -> Result<(), E>
    where
        P: FnMut(&[u8]) -> Result<(), E>,
    {
        let name = json(name);
        self.event(format_args!(
            r#"{{"ph":"M","pid":{pid},"tid":{tid},"name":"thread_name","args":{{"name":{name}}}}}"#
        ))?;
        self.event(format_args!(
            r#"{{"ph":"M","pid":{pid},"tid":{tid},"name":"thread_sort_index","args":{{"sort_index":{tid}}}}}"#
        ))
    }

    fn counter<E>(&mut self, pid: usize, name: &str, steps: &Steps) -> Result<(), E>
    where
        P: FnMut(&[u8]) -> Result<(), E>,
    {
        let mut level = 0;
        for (at, change) in steps.0.iter().filter(|(_, change)| **change != 0) {
            level += change;
            let ts = at.micros();
            let number = level as f64 / MILLION;
            self.event(format_args!(
                r#"{{"ph":"C","pid":{pid},"ts":{ts},"name":"{name}","args":{{"{name}":{number}}}}}"#
            ))?;
        }
        Ok(())
    }
}

fn json(text: &str) -> String {
    serde_json::to_string(text).expect("a string is always JSON")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use crate::tests::{BATH, ROUTER, YORK, golden, names, story, tally, topology};
    use crate::{Status, Tally};
    use hansa_sim::grid::{EdgeId, JobId, NodeSet};
    use hansa_sim::kernel::Entry;
    use hansa_sim::protocol::Record;
    use hansa_sim::systems::Service;
    use hansa_sim::systems::heft::Planning;
    use hansa_sim::time::{Span, Stamp};
    use hansa_sim::topology::Topology;

    use super::*;

    fn trace(tally: &Tally) -> Vec<u8> {
        let mut trace = Vec::new();
        let put = |bytes: &[u8]| {
            trace.extend_from_slice(bytes);
            Ok::<_, ()>(())
        };
        tally.trace(put).unwrap();
        trace
    }

    /// An end of a flow: its kind, its number, and its process and thread.
    type End = (&'static str, u64, (u64, u64));

    /// Checks the rules of the format and of viewers: lanes without overlaps, flows in pairs that begin and end in
    /// slices, counts that are never negative. Returns the numbers of tasks and flows.
    fn well_formed(trace: &[u8]) -> (usize, usize) {
        let trace: Value = serde_json::from_slice(trace).unwrap();
        let mut lanes: BTreeMap<(u64, u64), Vec<(u64, u64)>> = BTreeMap::new();
        let mut flows: BTreeMap<u64, Vec<End>> = BTreeMap::new();
        for event in trace["traceEvents"].as_array().unwrap() {
            let number = |key: &str| event[key].as_u64().unwrap_or_else(|| panic!("{key} of {event}"));
            let place = || (number("pid"), number("tid"));
            match event["ph"].as_str().unwrap() {
                "M" => assert!(number("pid") > 0 && !event["args"].is_null()),
                "X" => lanes.entry(place()).or_default().push((number("ts"), number("dur"))),
                "C" => {
                    let is_count = |level: &Value| level.as_f64().is_some_and(|level| level >= 0.0);
                    assert!(event["args"].as_object().unwrap().values().all(is_count), "{event}");
                }
                "s" => flows.entry(number("id")).or_default().push(("s", number("ts"), place())),
                "f" => flows.entry(number("id")).or_default().push(("f", number("ts"), place())),
                other => panic!("{other}"),
            }
        }
        for slices in lanes.values_mut() {
            slices.sort_unstable();
            assert!(slices.windows(2).all(|pair| pair[0].0 + pair[0].1.max(1) <= pair[1].0), "{slices:?}");
        }
        for ends in flows.values() {
            let [(s, from, a), (f, to, b)] = &ends[..] else { panic!("{ends:?}") };
            assert!(*s == "s" && *f == "f" && from <= to);
            assert!([(a, from), (b, to)].iter().all(|(lane, ts)| lanes[lane].iter().any(|slice| slice.0 == **ts)));
        }
        (
            lanes.iter().filter(|(lane, _)| lane.0 > FIRST_SYSTEM as u64).map(|(_, slices)| slices.len()).sum(),
            flows.len(),
        )
    }

    #[test]
    fn the_story_as_a_trace() {
        let trace = trace(&tally(&story()));
        golden("trace.json", &trace);
        assert_eq!(well_formed(&trace), (5, 5));
        assert_eq!(well_formed(&super::tests::trace(&tally(&[]))), (0, 0));
    }

    #[test]
    fn a_trace_speaks_of_the_system_that_ran_and_shows_what_crossed_the_links() {
        let grid = Topology { systems: vec![Service::new(Planning::default())], ..topology() };
        let mut tally = Tally::new(&grid, &names());
        let edge = EdgeId { job: JobId(0), from: 0, to: 1 };
        let at = |minutes, record| Entry {
            stamp: Stamp::at(Time::ZERO + Span::from_minutes(minutes)),
            actor: ROUTER,
            record,
        };
        let active = Time::ZERO + Span::from_minutes(10);
        let sent = at(10, Record::Sent { edge, from: YORK, to: BATH, bytes: 7, active });
        for entry in story().into_iter().take(9).chain([sent, at(11, Record::Delivered { edge })]) {
            tally.add(&entry).unwrap();
        }
        let trace = trace(&tally);
        well_formed(&trace);
        let text = String::from_utf8(trace).unwrap();
        assert!(!text.contains("auction") && !text.contains("bid"), "{text}");
        assert!(text.contains(r#""ts":600000000,"dur":60000000,"name":"data 0.0-1""#), "{text}");
    }

    #[test]
    fn what_is_booked_and_held_has_lanes_of_its_own() {
        let (_, tally) = crate::present::page::tests::bargaining(90);
        let trace = trace(&tally);
        assert_eq!(well_formed(&trace), (90 + 90, 0));
        let text = String::from_utf8(trace).unwrap();
        let job = tally.number(JobId(1));
        let user = tally.names.of_actor(hansa_sim::kernel::ActorId(10));
        // Its time has begun, and ends five seconds later with half of it used.
        let booking = format!(
            r#""ts":160000000,"dur":5000000,"name":"booked for job {job}","cat":"booking","args":{{"user":"{user}","processors":2,"used":0.5}}"#
        );
        let hold = format!(
            r#""ts":104000000,"dur":60000000,"name":"hold 1.0.0","cat":"hold","args":{{"user":"{user}","processors":2,"start":160000000,"lasts":3600000000,"fate":"expired"}}"#
        );
        for what in [r#""name":"bookings, lane 1""#, r#""name":"holds, lane 1""#, &booking, &hold] {
            assert!(text.contains(what), "{what} in {text}");
        }
    }

    #[test]
    fn a_task_that_is_lost_has_an_arrow_for_each_time_that_it_was_sent() {
        let mut tally = Tally::new(&topology(), &names());
        let task = hansa_sim::grid::TaskId { job: JobId(0), index: 0 };
        let lost = (9, YORK, Record::Lost { task, saved: Span::ZERO });
        let again = (12, ROUTER, Record::Assigned { task, site: BATH });
        let started = (15, BATH, Record::Started { task, cores: NodeSet::all(2) });
        let more = [lost, again, started].map(|(minutes, actor, record)| Entry {
            stamp: Stamp::at(Time::ZERO + Span::from_minutes(minutes)),
            actor,
            record,
        });
        for entry in story().into_iter().take(3).chain(more) {
            tally.add(&entry).unwrap();
        }
        let trace = trace(&tally);
        assert_eq!(well_formed(&trace), (2, 2));
        let text = String::from_utf8(trace).unwrap();
        for (from, to) in [(0, 0), (12, 15)] {
            let end = |kind: &str, minutes: u64| {
                let at = format!(r#""ts":{},"#, minutes * 60_000_000);
                text.lines().any(|line| line.contains(&format!(r#""ph":"{kind}""#)) && line.contains(&at))
            };
            assert!(end("s", from) && end("f", to), "{from} to {to} in {text}");
        }
    }

    #[test]
    fn a_task_that_shares_its_nodes_has_a_slice_for_each_yield() {
        let mut grid = topology();
        grid.sites.iter_mut().for_each(|site| site.scheduler = "GreedyPM */per/opt=min/minvt=600".to_owned());
        let mut tally = Tally::new(&grid, &names());
        let task = hansa_sim::grid::TaskId { job: JobId(0), index: 0 };
        let shared = |minutes, share| Entry {
            stamp: Stamp::at(Time::ZERO + Span::from_minutes(minutes)),
            actor: YORK,
            record: Record::Shared { task, share },
        };
        for entry in story().into_iter().take(3).chain([shared(4, 0.5), shared(9, 0.25), shared(14, 0.5)]) {
            tally.add(&entry).unwrap();
        }
        let trace = String::from_utf8(trace(&tally)).unwrap();
        let slice = |ts: &str, share: &str| {
            let is_its = |line: &&str| line.contains(r#""cat":"task""#) && line.contains(&format!(r#""ts":{ts},"#));
            let line = trace.lines().find(is_its).unwrap_or_else(|| panic!("{trace}"));
            assert!(line.contains(&format!(r#""yield":{share}"#)), "{line}");
        };
        slice("0", "1");
        slice("240000000", "0.5");
        let busy = |ts: &str, cores: &str| {
            let counted = format!(r#""ts":{ts},"name":"busy cores","args":{{"busy cores":{cores}}}"#);
            assert!(trace.contains(&counted), "{counted} in {trace}");
        };
        busy("0", "2");
        busy("240000000", "1");
        busy("540000000", "0.5");
        let whole = String::from_utf8(super::tests::trace(&super::tests::tally(&story()))).unwrap();
        assert!(!whole.contains("yield"));
    }

    proptest! {
        /// In order of time, as logs are, but tasks start, overlap and end arbitrarily.
        #[test]
        fn any_log_makes_a_well_formed_trace(delays in prop::collection::vec((0u64..9, any::<bool>()), 24)) {
            let mut tally = Tally::new(&topology(), &names());
            let mut late = 0;
            for (mut entry, (delay, there)) in story().into_iter().zip(delays) {
                late += delay / 4;
                entry.stamp = Stamp::at(entry.stamp.time + Span::from_minutes(late));
                if there {
                    let _ = tally.add(&entry);
                }
            }
            let (tasks, _) = well_formed(&trace(&tally));
            let all = tally.summary(1, Status::Complete, String::new()).utilisation.all.tasks;
            prop_assert_eq!(tasks as u64, all);
        }
    }
}
