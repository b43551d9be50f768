//! The jobs of a log or a model in the form in which users submit them, made at their times.

use std::sync::Arc;

use crate::grid::JobId;
use crate::kernel::ActorId;
use crate::protocol::{Enqueue, Message};
use crate::roles::{Follower, JobStore};
use crate::time::{Span, Time};
use crate::workload::rigids::Rigids;
use crate::workload::{JobSource, Numbering};

#[derive(Debug)]
pub(super) struct Queued {
    rigids: Rigids,
    /// Numbers of the first job of the workload.
    first: Numbering,
    /// The only site that they may go to, if their users have chosen.
    site: Option<ActorId>,
    /// The shortest delay with which others follow a job, in the order of jobs.
    thinks: Vec<(JobId, Span)>,
}

impl Queued {
    pub fn new<'a>(
        rigids: &Rigids,
        first: Numbering,
        site: Option<ActorId>,
        followers: impl Iterator<Item = &'a Follower>,
    ) -> Queued {
        let mut thinks: Vec<(JobId, Span)> = followers.map(|follower| (follower.before, follower.think)).collect();
        // The soonest is the first of those that follow one job.
        thinks.sort_unstable();
        thinks.dedup_by_key(|(before, _)| *before);
        thinks.shrink_to_fit();
        Queued { rigids: rigids.clone(), first, site, thinks }
    }
}

impl JobStore for Queued {
    fn job_message(&self, place: u32) -> (Time, Message) {
        let rigid = self.rigids.content.jobs.get(place as usize).expect("places are those of the workload");
        let job = self.rigids.job(&rigid, place, self.first);
        let think = self.thinks.binary_search_by_key(&job.id, |(before, _)| *before).ok().map(|at| self.thinks[at].1);
        let needs = self.rigids.job_needs(place as usize);
        let staging = self.rigids.job_staging(place as usize);
        let enqueue = Enqueue { job: Arc::new(job), site: self.site, kind: None, think, needs, staging };
        (rigid.submit, Message::Enqueue(enqueue))
    }
}
