//! The conversation with an allocator, which chooses among the candidates for a reservation.

use serde::{Deserialize, Serialize};

use super::{Answer, parse_nodes, to_seconds};
use crate::grid::{JobId, JobShape, NodeSet};
use crate::time::{Span, Time};

/// Facts for an allocator.
#[derive(Debug, Serialize)]
pub struct AllocatorFacts<'a> {
    /// The rules of the topology for sites, for shapes and for rectangles without end.
    pub choose: &'static str,
    pub shape: &'static str,
    pub rect_end: &'static str,
    pub sites: Vec<AllocatorSite<'a>>,
}

#[derive(Debug, Serialize)]
pub struct AllocatorSite<'a> {
    pub name: &'a str,
    pub nodes: u32,
    pub speed: f64,
}

/// A request, with all places that it may get.
#[derive(Clone, Debug, PartialEq)]
pub struct AllocationQuery {
    pub job: JobId,
    pub submitted: Time,
    pub ready: Time,
    pub deadline: Time,
    /// Shapes that the request may get; never empty.
    pub shapes: Vec<JobShape>,
    /// Possible places, ordered by shape, start and site; never empty.
    pub candidates: Vec<CandidateStart>,
}

/// A possible start of a request, at one site and in one shape.
#[derive(Clone, Debug, PartialEq)]
pub struct CandidateStart {
    /// Index into the sites of the system.
    pub site: usize,
    /// Index into the shapes of the request.
    pub shape: usize,
    pub start: Time,
    pub end: Time,
    /// Nodes that are free from the start to the end.
    pub free: NodeSet,
    /// Interval around the start in which all of these are free; [`Time::NEVER`] if it has no end.
    pub free_from: Time,
    pub free_until: Time,
}

/// A chosen candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct Allocation {
    /// Index into the candidates of the query.
    pub candidate: usize,
    /// None for the lowest free nodes.
    pub nodes: Option<NodeSet>,
}

#[derive(Debug, Serialize)]
pub struct AllocatorQuestion<'a> {
    job: JobId,
    submitted: f64,
    ready: f64,
    deadline: f64,
    shapes: Vec<ShapeLine>,
    candidates: Vec<CandidateLine<'a>>,
}

#[derive(Debug, Serialize)]
struct ShapeLine {
    nodes: u32,
    duration: f64,
}

#[derive(Debug, Serialize)]
struct CandidateLine<'a> {
    site: &'a str,
    shape: usize,
    start: f64,
    end: f64,
    free: String,
    /// Number of free nodes.
    width: u32,
    free_from: f64,
    /// None if the nodes are free for ever.
    free_until: Option<f64>,
}

impl<'a> AllocatorQuestion<'a> {
    /// A query in the form of the conversation, with the names of the system's sites.
    pub fn new(query: &AllocationQuery, sites: &'a [String]) -> AllocatorQuestion<'a> {
        AllocatorQuestion {
            job: query.job,
            submitted: time_seconds(query.submitted),
            ready: time_seconds(query.ready),
            deadline: time_seconds(query.deadline),
            shapes: query
                .shapes
                .iter()
                .map(|shape| ShapeLine { nodes: shape.nodes, duration: span_seconds(shape.duration) })
                .collect(),
            candidates: query
                .candidates
                .iter()
                .map(|one| CandidateLine {
                    site: &sites[one.site],
                    shape: one.shape,
                    start: time_seconds(one.start),
                    end: time_seconds(one.end),
                    free: one.free.to_string(),
                    width: one.free.len(),
                    free_from: time_seconds(one.free_from),
                    free_until: (one.free_until != Time::NEVER).then(|| time_seconds(one.free_until)),
                })
                .collect(),
        }
    }
}

fn time_seconds(time: Time) -> f64 {
    to_seconds(time.micros())
}

fn span_seconds(span: Span) -> f64 {
    to_seconds(span.micros())
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AllocatorAnswer {
    #[serde(rename = "type")]
    _kind: AllocateWord,
    ask: u64,
    /// Required, as an allocator that forgets it would refuse all requests.
    #[serde(deserialize_with = "Option::deserialize")]
    candidate: Option<usize>,
    nodes: Option<String>,
}

impl Answer for AllocatorAnswer {
    const KIND: &'static str = "allocate";
    const EXAMPLE: &'static str = r#"{"type":"allocate","ask":1,"candidate":0}"#;

    fn question_number(&self) -> u64 {
        self.ask
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum AllocateWord {
    Allocate,
}

impl AllocatorAnswer {
    /// The chosen candidate, or an error if the answer is invalid; None if the request is to have none of them.
    pub fn allocation(self) -> Result<Option<Allocation>, String> {
        match (self.candidate, self.nodes.as_deref().map(parse_nodes).transpose()?) {
            (Some(candidate), nodes) => Ok(Some(Allocation { candidate, nodes })),
            (None, None) => Ok(None),
            (None, Some(nodes)) => Err(format!("names the nodes {nodes}, but no candidate")),
        }
    }
}
