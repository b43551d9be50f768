//! A site as the dispatcher knows it: its jobs, and the news of its nodes.

use super::dispatcher::Out;
use crate::grid::{Invalid, Job, Kind, Needs, News, Task};
use crate::kernel::ActorId;
use crate::protocol::{Admit, Entrust, Message, Queue};
use crate::time::{Span, Time};

/// A site as the dispatcher knows it.
pub struct KnownSite {
    pub(super) site: ActorId,
    pub(super) kind: Kind,
    pub(super) nodes: u32,
    pub(super) takes: Takes,
    /// Node microseconds requested by jobs assigned to it that have not ended.
    pub(super) work: u128,
    /// News of its nodes, where they fail.
    pub(super) news: Option<News>,
    /// Shortest duration of all jobs given to the site, if its queue may start an older job because of a new one; None
    /// if it does not. Ends that sites report do not raise it, as the dispatcher may handle them late.
    shortest: Option<Span>,
}

/// The sites that a job may go to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Allowed {
    /// The only site, if its user has chosen.
    pub site: Option<ActorId>,
    /// Only sites with cores of this kind, if it needs one.
    pub kind: Option<Kind>,
}

impl Allowed {
    pub fn at(self, place: &KnownSite) -> bool {
        self.site.is_none_or(|site| site == place.site) && self.kind.is_none_or(|kind| kind == place.kind)
    }
}

/// The form in which a site gets jobs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Takes {
    /// Submission to a queue, whose policy is known for its promises.
    Queued,
    /// Admission to shared nodes. A job is never placed where its tasks cannot all get this share of the processors
    /// that they can use.
    Shared { least_yield: f64 },
    /// Jobs for a program, which promises nothing about their starts.
    Entrusted,
}

impl KnownSite {
    pub fn new(site: ActorId, nodes: u32, takes: Takes) -> KnownSite {
        KnownSite { site, kind: Kind(0), nodes, takes, work: 0, news: None, shortest: None }
    }

    /// Sets the kind of the site's cores, which otherwise is the first one.
    pub fn of_kind(self, kind: Kind) -> KnownSite {
        KnownSite { kind, ..self }
    }

    /// Like this site, with the news of its nodes if they fail.
    pub fn with_outages(self, news: Option<News>) -> KnownSite {
        KnownSite { news, ..self }
    }

    /// Like this site, whose queue may start an older job because of a new one. With `has_others`, that may be a task
    /// of another sender or the rest of a lost job, so its duration is unknown.
    pub fn starting_older(self, has_others: bool) -> KnownSite {
        KnownSite { shortest: Some(if has_others { Span::ZERO } else { Span::MAX }), ..self }
    }

    /// True if it can take a job when all of its nodes are up.
    pub(super) fn could_take(&self, tasks: u32, needs: Option<Needs>) -> bool {
        self.nodes >= self.nodes_needed(tasks, needs.unwrap_or(Needs::NODE))
    }

    /// Number of its nodes that are up, according to the news.
    pub(super) fn up_nodes(&mut self, now: Time) -> u32 {
        let nodes = self.nodes;
        self.news.as_mut().map_or(nodes, |news| nodes - news.down(now))
    }

    /// Least number of its nodes that a job needs.
    pub(super) fn nodes_needed(&self, tasks: u32, needs: Needs) -> u32 {
        match self.takes {
            Takes::Shared { least_yield } => needs.nodes(tasks, least_yield),
            Takes::Queued | Takes::Entrusted => tasks,
        }
    }

    /// The reason why a job does not fit there even if all nodes are free.
    pub(super) fn why_not(&self, tasks: u32, needs: Needs) -> Invalid {
        match self.takes {
            Takes::Shared { .. } if needs.nodes(tasks, 0.0) > self.nodes => Invalid::TooMuchMemory,
            Takes::Shared { .. } => Invalid::TooMuchCpu,
            Takes::Queued | Takes::Entrusted => Invalid::TooManyNodes,
        }
    }

    /// The message that gives it a job with this number of losses.
    pub(super) fn job_message(&self, job: &Job, needs: Needs, losses: u32) -> Message {
        let Task { cores, runtime, walltime, .. } = job.tasks[0];
        match self.takes {
            Takes::Queued => Message::Queue(Queue { job: job.id, nodes: cores, walltime, runtime, losses, safe: None }),
            Takes::Shared { .. } => Message::Admit(Admit { job: job.id, tasks: cores, needs, runtime, losses }),
            Takes::Entrusted => Message::Entrust(Entrust { job: job.id, nodes: cores, walltime, runtime, losses }),
        }
    }
}

impl KnownSite {
    /// Gives a job to the site.
    pub(super) fn hand_over(&mut self, now: Time, mut give: Message, out: &mut Out) {
        if let Message::Queue(queue) = &mut give {
            self.shortest = self.shortest.map(|shortest| shortest.min(queue.held_time()));
            let until_failure = self.news.as_mut().map(|news| news.safe_span(now));
            queue.safe = until_failure.into_iter().chain(self.shortest).min();
        }
        out.send(self.site, give);
    }
}
