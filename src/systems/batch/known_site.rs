//! A site as the dispatcher knows it: what it has been given, and what is heard of its nodes.

use super::dispatcher::Out;
use crate::grid::{Invalid, Job, Kind, Needs, News, Task};
use crate::kernel::ActorId;
use crate::protocol::{Admit, Entrust, Message, Queue};
use crate::time::Time;

/// A site as the dispatcher knows it.
pub struct KnownSite {
    pub(super) site: ActorId,
    pub(super) kind: Kind,
    pub(super) nodes: u32,
    pub(super) takes: Takes,
    /// Node microseconds that have been asked for by jobs that it has and that have not ended.
    pub(super) work: u128,
    /// What is known of its nodes, where they fail.
    pub(super) news: Option<News>,
}

/// Where a job may go.
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

/// How a site is given jobs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Takes {
    /// Into a queue, whose policy is known for what it promises.
    Queued,
    /// As what needs parts of nodes, and is never placed where its tasks cannot all get this part of the processors
    /// that they can use.
    Shared { least_yield: f64 },
    /// As what somebody decides about who promises nothing.
    Entrusted,
}

impl KnownSite {
    pub fn new(site: ActorId, nodes: u32, takes: Takes) -> KnownSite {
        KnownSite { site, kind: Kind(0), nodes, takes, work: 0, news: None }
    }

    /// A site with another kind of cores than the first.
    pub fn of_kind(self, kind: Kind) -> KnownSite {
        KnownSite { kind, ..self }
    }

    /// A site whose nodes fail, as it is heard of.
    pub fn failing(self, news: Option<News>) -> KnownSite {
        KnownSite { news, ..self }
    }

    /// Whether it takes a job when all of its nodes are up.
    pub(super) fn could_take(&self, tasks: u32, needs: Option<Needs>) -> bool {
        self.nodes >= self.needed(tasks, needs.unwrap_or(Needs::NODE))
    }

    /// How many of its nodes are up, as far as has been heard.
    pub(super) fn up(&mut self, now: Time) -> u32 {
        let nodes = self.nodes;
        self.news.as_mut().map_or(nodes, |news| nodes - news.down(now))
    }

    /// How many of its nodes a job needs at least.
    pub(super) fn needed(&self, tasks: u32, needs: Needs) -> u32 {
        match self.takes {
            Takes::Shared { least_yield } => needs.nodes(tasks, least_yield),
            Takes::Queued | Takes::Entrusted => tasks,
        }
    }

    /// Why a job does not go there even if all nodes are free.
    pub(super) fn why_not(&self, tasks: u32, needs: Needs) -> Invalid {
        match self.takes {
            Takes::Shared { .. } if needs.nodes(tasks, 0.0) > self.nodes => Invalid::TooMuchMemory,
            Takes::Shared { .. } => Invalid::TooMuchCpu,
            Takes::Queued | Takes::Entrusted => Invalid::TooManyNodes,
        }
    }

    /// How it is told of a job that has been lost so often.
    pub(super) fn give(&self, job: &Job, needs: Needs, losses: u32) -> Message {
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
        if let (Some(news), Message::Queue(queue)) = (&mut self.news, &mut give) {
            queue.safe = Some(news.safe(now));
        }
        out.send(self.site, give);
    }
}
