//! The chain that delayed the end of a job: backwards from its end, each interval with its cause.

use serde::Serialize;

use super::flow::{FlowStory, JobFlows};
use super::stay::SiteStays;
use crate::Tally;
use crate::referee::tally::{Fate, JobRow, Standing, StintEnd};
use crate::referee::transfers::FlowRow;
use hansa_sim::grid::Area;
use hansa_sim::time::{Span, Time};
use hansa_sim::topology::Topology;

/// The chain of a job with several tasks, from its end back to its submission.
///
/// Each link ends where the one before it in the list begins, so their durations add up to the turnaround exactly. The
/// chain follows what came last: the last task to end, the last input that this task got or the last message that it
/// waited for, the task that sent it, and so on. All else could have been slower without effect.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Chain {
    pub tasks: u64,
    /// Submission, in seconds from the start of the run.
    pub submitted: f64,
    /// End of the job as the router saw it; the last time of the log, or of the job, if it did not complete.
    pub ended: f64,
    pub turnaround: f64,
    pub complete: bool,
    pub critical_path: f64,
    /// The service or users that assign its tasks to sites.
    pub assigned_by: &'static str,
    /// Durations by cause, the longest first.
    pub causes: Vec<CauseTotal>,
    /// The last one first.
    pub links: Vec<ChainLink>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CauseTotal {
    pub cause: Cause,
    pub seconds: f64,
}

/// An interval of a chain. Times are in seconds from the start of the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChainLink {
    pub from: f64,
    pub to: f64,
    pub seconds: f64,
    pub cause: Cause,
    /// The task that ran, waited or ended; that which needs the data of a transfer.
    pub task: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer: Option<FlowStory>,
    /// The last task that left its cores at the site during a wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub freed_by: Option<String>,
}

/// Cause of an interval of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The task was on its cores.
    Run,
    /// The task was paused.
    Pause,
    /// The work of an interval that a failure destroyed, and the time until the task was on cores again.
    Failure,
    /// The work of an interval after which the site gave the cores to another task, and the time until the task was on
    /// cores again.
    Preemption,
    /// The task was at its site, which gave it no cores yet.
    Cores,
    /// The task was on its way to its site.
    Dispatch,
    /// An input was on its way.
    Transfer,
    /// The news of the end of the task was on its way to the router.
    Report,
    /// All inputs were there, but the task had not been assigned to a site.
    Assignment,
}

impl Cause {
    pub const ALL: [Cause; 9] = [
        Cause::Run,
        Cause::Pause,
        Cause::Failure,
        Cause::Preemption,
        Cause::Cores,
        Cause::Dispatch,
        Cause::Transfer,
        Cause::Report,
        Cause::Assignment,
    ];
}

/// An interval of a chain, in exact times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step<'a> {
    pub from: Time,
    pub to: Time,
    pub cause: Cause,
    pub task: usize,
    pub flow: Option<&'a FlowRow>,
}

/// The walk along a job's chain, from its end to its submission.
pub(super) struct ChainWalk<'a> {
    tally: &'a Tally,
    row: &'a JobRow,
    flows: &'a JobFlows<'a>,
    /// Predecessors of each task.
    before: Vec<Vec<usize>>,
    /// The begin of the part that has been explained.
    cursor: Time,
    steps: Vec<Step<'a>>,
}

/// Last input of a task before a time.
enum LastInput<'a> {
    Flow(&'a FlowRow),
    End { of: usize, at: Time },
    Nothing,
}

impl<'a> ChainWalk<'a> {
    fn new(tally: &'a Tally, row: &'a JobRow, flows: &'a JobFlows<'a>, end: Time) -> ChainWalk<'a> {
        let mut before = vec![Vec::new(); row.tasks.len()];
        for edge in &row.job.edges {
            before[edge.to as usize].push(edge.from as usize);
        }
        ChainWalk { tally, row, flows, before, cursor: end, steps: Vec::new() }
    }

    /// All steps, the last one first. Together they cover the time from the submission to the end.
    pub(super) fn steps(tally: &'a Tally, row: &'a JobRow, flows: &'a JobFlows<'a>) -> Vec<Step<'a>> {
        let mut walk = ChainWalk::new(tally, row, flows, end_of_job(tally, row));
        let mut next = walk.last_task();
        while let Some(task) = next {
            next = walk.explain_task(task);
        }
        walk.steps
    }

    /// The task that ended last; in a job that is not complete, the task that holds it up: of those whose
    /// predecessors have ended, that which has been ready for longest.
    fn last_task(&self) -> Option<usize> {
        let ended_last = (0..self.row.tasks.len()).max_by_key(|task| self.row.tasks[*task].end);
        if matches!(self.row.fate, Fate::Completed { .. }) {
            return ended_last;
        }
        let ready = self.row.ready_times();
        let is_open = |task: &usize| {
            let is_ready = ready[*task].is_some_and(|ready| ready <= self.cursor);
            is_ready && self.row.tasks[*task].end.is_none_or(|end| end > self.cursor)
        };
        (0..self.row.tasks.len()).filter(is_open).min_by_key(|task| ready[*task]).or(ended_last)
    }

    /// Explains the time from the readiness of a task up to the cursor. Returns the task to go on with; None if the
    /// cursor has reached the submission.
    fn explain_task(&mut self, task: usize) -> Option<usize> {
        let held = &self.row.tasks[task];
        if let Some(end) = held.end {
            self.explain_news(task, end);
        }
        let Some(start) = held.start.filter(|start| *start <= self.cursor) else {
            return self.explain_open_task(task);
        };
        self.explain_run(task, start);
        let assigned = held.assignment_times().filter(|at| *at <= start).max();
        let arrived = self.flows.last_to_task(task, self.cursor);
        let sent_after = |flow: &&FlowRow| assigned.is_none_or(|assigned| flow.ended >= Some(assigned));
        let last_flow = arrived.filter(sent_after);
        let gate = assigned.max(last_flow.and_then(|flow| flow.ended));
        if let Some(gate) = gate {
            self.explain_site_wait(task, gate);
        }
        match (last_flow, assigned) {
            (Some(flow), assigned) => {
                self.push(task, flow.released, Cause::Transfer, Some(flow));
                match assigned.filter(|at| *at <= flow.released && *at >= self.source_end(flow)) {
                    Some(assigned) => {
                        self.push(task, assigned, Cause::Assignment, None);
                        self.explain_readiness(task)
                    }
                    None => self.explain_source(flow, task),
                }
            }
            (None, _) => self.explain_readiness(task),
        }
    }

    /// Explains the time before the cursor at which a task got its last input, and goes on with the source of that.
    fn explain_readiness(&mut self, task: usize) -> Option<usize> {
        match self.last_input(task) {
            LastInput::Flow(flow) => {
                self.push(task, flow.ended.unwrap_or(self.cursor), Cause::Assignment, None);
                self.push(task, flow.released, Cause::Transfer, Some(flow));
                self.explain_source(flow, task)
            }
            LastInput::End { of, at } => {
                let known = at + self.latency(of);
                self.push(task, known.max(at).min(self.cursor), Cause::Assignment, None);
                Some(of)
            }
            LastInput::Nothing => self.explain_submission(task),
        }
    }

    /// Explains the time between the end of the task that sent data and the release of the data.
    fn explain_source(&mut self, flow: &FlowRow, task: usize) -> Option<usize> {
        let from = flow.edge.from as usize;
        match self.row.tasks.get(from).and_then(|source| source.end).filter(|end| *end <= self.cursor) {
            Some(end) => {
                let known = end + self.latency(from);
                self.push(task, known.min(self.cursor), Cause::Assignment, None);
                Some(from)
            }
            None => self.explain_submission(task),
        }
    }

    /// A task that has not started: all since its last input is a wait.
    fn explain_open_task(&mut self, task: usize) -> Option<usize> {
        if let Some(assigned) = self.row.tasks[task].assigned.filter(|at| *at <= self.cursor) {
            self.explain_site_wait(task, assigned);
        }
        self.explain_readiness(task)
    }

    fn explain_submission(&mut self, task: usize) -> Option<usize> {
        self.push(task, self.row.job.arrive, Cause::Assignment, None);
        None
    }

    /// Explains the time since the end of a task: its news was on the way.
    fn explain_news(&mut self, task: usize, end: Time) {
        self.push(task, end, Cause::Report, None);
    }

    /// Explains the time of a task on its cores and between its stints.
    fn explain_run(&mut self, task: usize, start: Time) {
        let stints: Vec<_> = self.row.tasks[task].stints(self.cursor).collect();
        let wastes = self.row.tasks[task].setbacks.as_ref().is_some_and(|setbacks| setbacks.wasted != Area::ZERO);
        for stint in stints.iter().rev() {
            let (gap, cause) = match stint.left {
                Some(StintEnd::Lost) if wastes => (Cause::Failure, Cause::Failure),
                Some(StintEnd::Lost) => (Cause::Failure, Cause::Run),
                Some(StintEnd::Requeued) => (Cause::Preemption, Cause::Preemption),
                _ => (Cause::Pause, Cause::Run),
            };
            self.push(task, stint.to, gap, None);
            self.push(task, stint.from, cause, None);
        }
        self.push(task, start, Cause::Run, None);
    }

    /// Explains the time since the last message or input for a task was on its way to its site.
    fn explain_site_wait(&mut self, task: usize, gate: Time) {
        let latency = self.latency(task);
        self.push(task, (gate + latency).min(self.cursor), Cause::Cores, None);
        self.push(task, gate, Cause::Dispatch, None);
    }

    /// The last input of a task up to the cursor: of data that arrived and of predecessors that ended, the last one.
    fn last_input(&self, task: usize) -> LastInput<'a> {
        let ends = self.before[task].iter().filter_map(|from| Some((self.row.tasks[*from].end?, *from)));
        let end = ends.filter(|(at, _)| *at <= self.cursor).max();
        let flow = self.flows.last_to_task(task, self.cursor).filter(|flow| flow.released < self.cursor);
        match (flow, end) {
            (Some(flow), end) if end.is_none_or(|(at, _)| flow.ended >= Some(at)) => LastInput::Flow(flow),
            (_, Some((at, of))) => LastInput::End { of, at },
            _ => LastInput::Nothing,
        }
    }

    /// End of the task that sent data; the submission for the input of a job.
    fn source_end(&self, flow: &FlowRow) -> Time {
        let source = self.row.tasks.get(flow.edge.from as usize);
        source.and_then(|source| source.end).unwrap_or(self.row.job.arrive)
    }

    /// Latency between the router and the site of a task.
    fn latency(&self, task: usize) -> Span {
        let site = self.row.tasks[task].site;
        site.map_or(Span::ZERO, |site| self.tally.sites[site as usize].latency)
    }

    /// Moves the cursor back to `from`. Steps of no duration are left out.
    fn push(&mut self, task: usize, from: Time, cause: Cause, flow: Option<&'a FlowRow>) {
        let from = from.max(self.row.job.arrive);
        if from < self.cursor {
            self.steps.push(Step { from, to: self.cursor, cause, task, flow });
            self.cursor = from;
        }
    }
}

/// Time at which the router saw the end of a job; for one that is not complete, when it was given up or the log ended.
fn end_of_job(tally: &Tally, row: &JobRow) -> Time {
    match row.fate {
        Fate::Completed { at, .. } => at.max(row.last_end().unwrap_or(at)),
        _ => row.given_up().unwrap_or(tally.last),
    }
}

impl Chain {
    /// The chain of a job with several tasks. None if the job was refused. O(flows + tasks log tasks).
    pub(super) fn of(stays: &SiteStays<'_>, topology: &Topology, row: &JobRow) -> Option<Chain> {
        let tally = stays.tally;
        if row.standing() == Standing::Refused {
            return None;
        }
        let flows = JobFlows::of(tally, row);
        let steps = ChainWalk::steps(tally, row, &flows);
        let end = end_of_job(tally, row);
        let mut links = Vec::new();
        for step in &steps {
            let site = row.tasks[step.task].site;
            let waits = matches!(step.cause, Cause::Cores | Cause::Assignment);
            let freed_by = site.filter(|_| waits).and_then(|site| {
                let left = stays
                    .at(site)
                    .iter()
                    .filter(|stay| stay.start.is_some() && step.from < stay.end && stay.end <= step.to);
                left.max_by_key(|stay| stay.end).map(|stay| tally.task_label(stay.row, stay.index))
            });
            links.push(ChainLink {
                from: seconds(step.from.since(Time::ZERO)),
                to: seconds(step.to.since(Time::ZERO)),
                seconds: seconds(step.to.since(step.from)),
                cause: step.cause,
                task: tally.task_label(row, step.task),
                name: tally.job_names.task(row.job.id, step.task).map(str::to_owned),
                site: site.filter(|_| step.flow.is_none()).map(|site| tally.sites[site as usize].name.clone()),
                transfer: step.flow.map(|flow| flows.explain(topology, flow)),
                freed_by,
            });
        }
        Some(Chain {
            tasks: row.tasks.len() as u64,
            submitted: seconds(row.job.arrive.since(Time::ZERO)),
            ended: seconds(end.since(Time::ZERO)),
            turnaround: seconds(end.since(row.job.arrive)),
            complete: matches!(row.fate, Fate::Completed { .. }),
            critical_path: seconds(row.critical_path),
            assigned_by: tally.gives_of(row).moment,
            causes: cause_totals(&steps),
            links,
        })
    }
}

fn cause_totals(steps: &[Step<'_>]) -> Vec<CauseTotal> {
    let total = |cause: Cause| {
        let own = steps.iter().filter(|step| step.cause == cause);
        own.fold(Span::ZERO, |sum, step| sum + step.to.since(step.from))
    };
    let mut totals: Vec<(Span, Cause)> = Cause::ALL.into_iter().map(|cause| (total(cause), cause)).collect();
    totals.retain(|(total, _)| !total.is_zero());
    totals.sort_by_key(|(total, cause)| (std::cmp::Reverse(*total), *cause));
    totals.into_iter().map(|(total, cause)| CauseTotal { cause, seconds: seconds(total) }).collect()
}

fn seconds(span: Span) -> f64 {
    span.micros() as f64 / 1e6
}
