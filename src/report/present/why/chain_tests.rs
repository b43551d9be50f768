//! Chains of random executions against a judge that tries all ways back through the events.

use std::sync::Arc;

use proptest::prelude::*;

use super::chain::{Cause, ChainWalk, Step};
use super::flow::JobFlows;
use crate::tests::{ANN, BATH, ROUTER, YORK, topology};
use crate::{Names, Tally};
use hansa_sim::grid::{Edge, EdgeId, Job, JobId, Kind, NodeSet, Task, TaskId};
use hansa_sim::kernel::{ActorId, Entry};
use hansa_sim::protocol::Record;
use hansa_sim::time::{Span, Stamp, Time};
use hansa_sim::topology::Topology;

/// Latency between the router and each site.
const LATENCY: u64 = 3;

/// A task of an execution. Times are in microseconds.
#[derive(Clone, Debug)]
struct PlayedTask {
    site: ActorId,
    before: Vec<usize>,
    assigned: u64,
    start: u64,
    end: u64,
}

#[derive(Clone, Debug)]
struct PlayedFlow {
    from: usize,
    to: usize,
    released: u64,
    arrived: u64,
}

#[derive(Clone, Debug)]
struct Played {
    arrive: u64,
    tasks: Vec<PlayedTask>,
    flows: Vec<PlayedFlow>,
    completed: u64,
}

fn at(micros: u64) -> Time {
    Time::from_micros(micros)
}

fn two_sites() -> Topology {
    let mut topology = topology();
    for site in &mut topology.sites {
        site.kind = Kind(0);
        site.cores = 64;
        site.latency = Span::from_micros(LATENCY);
    }
    topology
}

/// Executes a graph whose task `n` follows the tasks of bits of `graph[n]`. A planner sends data as soon as it is there
/// and assigns a task once all has arrived; an auctioneer assigns a task first, and then has its data sent.
fn play(graph: &[u8], spans: &[u64], is_planned: bool) -> Played {
    let mut spans = spans.iter().copied().cycle();
    let mut next = move || spans.next().unwrap();
    let arrive = 1_000;
    let mut played = Played { arrive, tasks: Vec::new(), flows: Vec::new(), completed: 0 };
    for (index, bits) in graph.iter().enumerate() {
        let before: Vec<usize> = (0..index).filter(|from| bits >> from & 1 == 1).collect();
        let site = if next() % 2 == 0 { YORK } else { BATH };
        let known = before.iter().map(|from| played.tasks[*from].end + LATENCY).max().unwrap_or(arrive);
        let mut assigned = known + next() % 40;
        let mut ready = assigned;
        for &from in before.iter().filter(|from| played.tasks[**from].site != site) {
            let released = if is_planned { played.tasks[from].end + LATENCY } else { assigned };
            let arrived = released + 1 + next() % 97;
            ready = ready.max(arrived);
            played.flows.push(PlayedFlow { from, to: index, released, arrived });
        }
        if is_planned {
            // Its turn may come at once.
            assigned = ready + (next() % 60).saturating_sub(30);
            ready = assigned;
        }
        let start = ready + LATENCY + (next() % 50).saturating_sub(20);
        let end = start + 1 + next() % 83;
        played.tasks.push(PlayedTask { site, before, assigned, start, end });
    }
    played.completed = played.tasks.iter().map(|task| task.end).max().unwrap() + LATENCY;
    played
}

fn tally_of(played: &Played) -> Tally {
    let topology = two_sites();
    let mut tally = Tally::new(&topology, &Names::of(&topology));
    let id = JobId(0);
    let edges = played.tasks.iter().enumerate();
    let mut edges: Vec<Edge> =
        edges.flat_map(|(to, task)| task.before.iter().map(move |from| Edge::new(*from as u32, to as u32))).collect();
    edges.sort_unstable();
    let tasks = played.tasks.iter().map(|task| Task::new(Span::from_micros(task.end - task.start), 1, Kind(0)));
    let tasks = tasks.collect();
    let job = Job { id, arrive: at(played.arrive), first_task: 0, tasks, edges, worth: None, times: None };
    let mut story = vec![(played.arrive, ROUTER, Record::Arrived { job: Arc::new(job), user: ANN })];
    for (index, task) in played.tasks.iter().enumerate() {
        let own = TaskId { job: id, index: index as u32 };
        let cores = NodeSet::from_run(index as u32, index as u32);
        story.push((task.assigned, ROUTER, Record::Assigned { task: own, site: task.site }));
        story.push((task.start, task.site, Record::Started { task: own, cores }));
        story.push((task.end, task.site, Record::Finished { task: own }));
    }
    for flow in &played.flows {
        let edge = EdgeId { job: id, from: flow.from as u32, to: flow.to as u32 };
        let from = played.tasks[flow.from].site;
        let to = played.tasks[flow.to].site;
        let active = at(flow.released);
        story.push((flow.released, ROUTER, Record::Sent { edge, from, to, bytes: 8, active }));
        story.push((flow.arrived, ROUTER, Record::Delivered { edge }));
    }
    story.push((played.completed, ROUTER, Record::Completed { job: id, value: None }));
    story.sort_by_key(|(micros, _, _)| *micros);
    for (micros, actor, record) in story {
        tally.add(&Entry { stamp: Stamp::at(at(micros)), actor, record }).unwrap();
    }
    tally
}

/// An event of an execution.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Event {
    Submission,
    Assigned(usize),
    Started(usize),
    Ended(usize),
    Released(usize),
    Arrived(usize),
    Completed,
}

/// A way from the completion back to the submission: times at which the explanation changes, with the kind of each
/// interval that ends there.
type Way = Vec<(u64, &'static str)>;

impl Played {
    fn time(&self, event: Event) -> u64 {
        match event {
            Event::Submission => self.arrive,
            Event::Assigned(task) => self.tasks[task].assigned,
            Event::Started(task) => self.tasks[task].start,
            Event::Ended(task) => self.tasks[task].end,
            Event::Released(flow) => self.flows[flow].released,
            Event::Arrived(flow) => self.flows[flow].arrived,
            Event::Completed => self.completed,
        }
    }

    /// The events that an event needed.
    fn needs(&self, event: Event) -> Vec<Event> {
        let flows_into = |task: usize| (0..self.flows.len()).filter(move |flow| self.flows[*flow].to == task);
        match event {
            Event::Submission => Vec::new(),
            Event::Completed => (0..self.tasks.len()).map(Event::Ended).collect(),
            Event::Ended(task) => vec![Event::Started(task)],
            Event::Started(task) => flows_into(task).map(Event::Arrived).chain([Event::Assigned(task)]).collect(),
            Event::Arrived(flow) => vec![Event::Released(flow)],
            Event::Released(flow) => vec![Event::Ended(self.flows[flow].from), Event::Assigned(self.flows[flow].to)],
            Event::Assigned(task) => {
                let ends = self.tasks[task].before.iter().map(|from| Event::Ended(*from));
                ends.chain(flows_into(task).map(Event::Arrived)).chain([Event::Submission]).collect()
            }
        }
    }

    /// All ways that follow, from each event, one of the latest that it needed.
    fn ways_back(&self, event: Event) -> Vec<Way> {
        let now = self.time(event);
        let needs: Vec<Event> = self.needs(event).into_iter().filter(|need| self.time(*need) <= now).collect();
        let Some(latest) = needs.iter().map(|need| self.time(*need)).max() else { return vec![Vec::new()] };
        let kind = match event {
            Event::Ended(_) => "run",
            Event::Arrived(_) => "transfer",
            Event::Started(_) => "site",
            Event::Completed => "end",
            _ => "assignment",
        };
        let mut ways = Vec::new();
        for need in needs.into_iter().filter(|need| self.time(*need) == latest) {
            for rest in self.ways_back(need) {
                let own = (latest < now).then_some((now, kind));
                ways.push(own.into_iter().chain(rest).collect());
            }
        }
        ways
    }
}

/// The kinds of the judge, with neighbours of one kind merged.
fn way_of(steps: &[Step<'_>], completed: u64) -> Way {
    let mut way: Way = Vec::new();
    let mut before = None;
    for step in steps {
        let kind = match step.cause {
            Cause::Run => "run",
            Cause::Transfer => "transfer",
            Cause::Cores | Cause::Dispatch => "site",
            Cause::Report if step.to == at(completed) => "end",
            Cause::Report | Cause::Assignment => "assignment",
            Cause::Pause | Cause::Failure | Cause::Preemption => "none of this",
        };
        if before != Some((kind, step.task)) {
            way.push((step.to.micros(), kind));
        }
        before = Some((kind, step.task));
    }
    way
}

/// Merges neighbours of one kind, as the end of a task and the assignment of the next are one interval to the judge.
fn merged(way: Way) -> Way {
    let mut merged: Way = Vec::new();
    for step in way {
        if merged.last().is_none_or(|last| last.1 != step.1 || step.1 != "assignment") {
            merged.push(step);
        }
    }
    merged
}

proptest! {
    #[test]
    fn a_chain_is_one_that_a_search_of_all_ways_finds(
        graph in prop::collection::vec(any::<u8>(), 2..8),
        spans in prop::collection::vec(0u64..1_000, 20..50),
        is_planned in any::<bool>(),
    ) {
        let played = play(&graph, &spans, is_planned);
        let tally = tally_of(&played);
        let row = &tally.jobs[&JobId(0)];
        let flows = JobFlows::of(&tally, row);
        let steps = ChainWalk::steps(&tally, row, &flows);
        // Steps are adjacent, so they add up to the turnaround.
        prop_assert_eq!(steps[0].to, at(played.completed));
        prop_assert_eq!(steps.last().unwrap().from, at(played.arrive));
        prop_assert!(steps.windows(2).all(|pair| pair[0].from == pair[1].to && pair[1].from < pair[1].to));
        let way = merged(way_of(&steps, played.completed));
        let ways: Vec<Way> = played.ways_back(Event::Completed).into_iter().map(merged).collect();
        prop_assert!(ways.contains(&way), "{:?}\nnone of {:?}\nin {:?}", way, ways, played);
    }
}

/// Task 2 needs task 0 from york and task 1 at its own site; the data of task 0 comes last.
#[test]
fn each_interval_of_a_chain_has_its_cause() {
    let task = |site, before: &[usize], assigned, start, end| PlayedTask {
        site,
        before: before.to_vec(),
        assigned,
        start,
        end,
    };
    let tasks = vec![
        task(YORK, &[], 1_010, 1_013, 1_100),
        task(BATH, &[], 1_010, 1_020, 1_150),
        task(BATH, &[0, 1], 1_200, 1_209, 1_300),
    ];
    let flows = vec![PlayedFlow { from: 0, to: 2, released: 1_105, arrived: 1_190 }];
    let played = Played { arrive: 1_000, tasks, flows, completed: 1_303 };
    let tally = tally_of(&played);
    let row = &tally.jobs[&JobId(0)];
    let flows = JobFlows::of(&tally, row);
    let steps = ChainWalk::steps(&tally, row, &flows);
    let steps: Vec<(u64, Cause, usize)> =
        steps.iter().map(|step| (step.from.micros() - 1_000, step.cause, step.task)).collect();
    let expected = [
        (300, Cause::Report, 2),
        (209, Cause::Run, 2),
        (203, Cause::Cores, 2),
        (200, Cause::Dispatch, 2),
        (190, Cause::Assignment, 2),
        (105, Cause::Transfer, 2),
        (103, Cause::Assignment, 2),
        (100, Cause::Report, 0),
        (13, Cause::Run, 0),
        (10, Cause::Dispatch, 0),
        (0, Cause::Assignment, 0),
    ];
    assert_eq!(steps, expected);
    let story = tally.explain_job(&two_sites(), JobId(0), None, None);
    let json = serde_json::json!(story);
    assert_eq!(json["chain"]["turnaround"], 0.000_303);
    assert_eq!(json["chain"]["links"].as_array().unwrap().len(), expected.len());
    let text = story.to_string();
    assert!(text.starts_with("job 0 of ann: 3 tasks\n"), "{text}");
    assert!(text.contains("8 B, output of its task 0, went from york to bath for task 0.2\n"), "{text}");
}
