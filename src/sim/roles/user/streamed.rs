//! Messages of users that are created when they are due: all jobs of a long workload together would fill the memory.

use std::fmt;
use std::sync::Arc;

use crate::grid::JobId;
use crate::kernel::ActorId;
use crate::protocol::Message;
use crate::time::{Span, Time};

/// The jobs of a workload, in order of arrival.
pub trait JobStore: fmt::Debug + Send + Sync {
    /// Arrival time and message of the job at an index.
    fn job_message(&self, place: u32) -> (Time, Message);
}

/// Jobs that a user submits when they arrive.
#[derive(Clone, Debug)]
pub struct StreamedJobs {
    to: ActorId,
    stock: Arc<dyn JobStore>,
    /// Indices of the user's own jobs; the first `made` have been created.
    places: Vec<u32>,
    made: usize,
    /// The job created last, which has not been submitted.
    next: Option<(Time, Message)>,
}

impl StreamedJobs {
    /// Creates the stream of the jobs at these indices, in their order.
    pub fn new(to: ActorId, stock: Arc<dyn JobStore>, mut places: Vec<u32>) -> StreamedJobs {
        places.shrink_to_fit();
        let mut later = StreamedJobs { to, stock, places, made: 0, next: None };
        later.make();
        later
    }

    /// The next message and its time.
    pub fn peek(&self) -> Option<&(Time, Message)> {
        self.next.as_ref()
    }

    fn make(&mut self) -> Option<(Time, Message)> {
        let made = self.places.get(self.made).map(|place| self.stock.job_message(*place));
        self.made += usize::from(made.is_some());
        std::mem::replace(&mut self.next, made)
    }
}

impl Iterator for StreamedJobs {
    type Item = (Time, ActorId, Message);

    fn next(&mut self) -> Option<(Time, ActorId, Message)> {
        self.make().map(|(time, message)| (time, self.to, message))
    }
}

/// Jobs that a user submits a think time after the ends of others.
#[derive(Clone, Debug)]
pub struct Followers {
    to: ActorId,
    stock: Arc<dyn JobStore>,
    /// Followers, sorted by the job that they follow.
    followers: Vec<Follower>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Follower {
    /// The job that this one follows.
    pub before: JobId,
    pub place: u32,
    pub think: Span,
}

impl Follower {
    /// Index that marks a follower as submitted.
    const GONE: u32 = u32::MAX;
}

impl Followers {
    pub fn new(to: ActorId, stock: Arc<dyn JobStore>, mut followers: Vec<Follower>) -> Followers {
        followers.shrink_to_fit();
        followers.sort_unstable();
        Followers { to, stock, followers }
    }

    /// Followers of a job, each once: think time, receiver and message.
    pub fn take(&mut self, over: JobId) -> impl Iterator<Item = (Span, ActorId, Message)> {
        let first = self.followers.partition_point(|follower| follower.before < over);
        let count = self.followers[first..].partition_point(|follower| follower.before == over);
        self.followers[first..first + count].iter_mut().filter_map(|follower| {
            let place = std::mem::replace(&mut follower.place, Follower::GONE);
            (place != Follower::GONE).then(|| (follower.think, self.to, self.stock.job_message(place).1))
        })
    }

    /// All remaining followers, each with the job that it follows.
    pub fn remaining(&self) -> impl Iterator<Item = (JobId, Message)> {
        let left = self.followers.iter().filter(|follower| follower.place != Follower::GONE);
        left.map(|follower| (follower.before, self.stock.job_message(follower.place).1))
    }
}
