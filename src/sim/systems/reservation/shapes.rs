//! Requests in one or several shapes.

use super::book::Offer;
use crate::grid::{Invalid, JobId, JobShape, Request, Speed};
use crate::protocol::Reserve;
use crate::time::{Span, Time};

/// A request, and the shapes in which it may be booked.
#[derive(Clone, Debug)]
pub struct WantedJob {
    job: JobId,
    /// The request in its first shape.
    request: Request,
    /// All shapes; never empty.
    shapes: Vec<JobShape>,
    /// Index of the only shape that is still possible; None if all are.
    fixed: Option<usize>,
}

/// An offer of a cluster for a request in one of its shapes.
#[derive(Clone, Debug, PartialEq)]
pub struct ShapedOffer {
    pub cluster: usize,
    pub shape: usize,
    pub offer: Offer,
}

/// A cluster that has refused a shape.
pub type RefusedShape = (usize, usize);

impl WantedJob {
    /// A request that has one shape.
    pub fn rigid(job: JobId, request: Request, runtime: Span) -> WantedJob {
        let shapes = vec![JobShape { nodes: request.nodes, duration: request.duration, runtime }];
        WantedJob { job, request, shapes, fixed: None }
    }

    /// The request of a user. The sites must be able to serve one of its shapes.
    pub fn of_reserve(
        reserve: &Reserve,
        sites: impl Iterator<Item = (u32, Speed)> + Clone,
    ) -> Result<WantedJob, Invalid> {
        let Reserve { job, ready, deadline, shapes, .. } = reserve;
        let request = Request::from_job(job, *ready, *deadline)?;
        request.check_shapes(shapes, sites)?;
        if shapes.is_empty() {
            return Ok(WantedJob::rigid(job.id, request, job.tasks[0].runtime));
        }
        Ok(WantedJob { job: job.id, request, shapes: shapes.clone(), fixed: None })
    }

    pub fn job(&self) -> JobId {
        self.job
    }

    pub fn shapes(&self) -> &[JobShape] {
        &self.shapes
    }

    pub fn is_malleable(&self) -> bool {
        self.shapes.len() > 1
    }

    /// The request in one of its shapes.
    pub fn shaped(&self, shape: usize) -> Request {
        self.request.shaped(&self.shapes[shape])
    }

    /// Actual run time in one of its shapes, within the requested time, at speed 1.
    pub fn runtime(&self, shape: usize) -> Span {
        let JobShape { runtime, duration, .. } = self.shapes[shape];
        runtime.min(duration)
    }

    /// The request for the rest of a job that keeps its shape.
    pub fn rest_in_shape(&self, shape: usize, left: Span) -> WantedJob {
        let mut rest = WantedJob { fixed: Some(shape), ..self.clone() };
        rest.shapes[shape].duration = left;
        rest
    }

    /// The request with another ready time.
    pub fn ready_at(&self, ready: Time) -> WantedJob {
        WantedJob { request: Request { ready, ..self.request }, ..self.clone() }
    }

    /// Indices of the shapes that are still possible.
    pub fn open(&self) -> impl Iterator<Item = usize> + use<> {
        let fixed = self.fixed;
        (0..self.shapes.len()).filter(move |shape| fixed.is_none_or(|fixed| fixed == *shape))
    }
}
