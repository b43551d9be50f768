//! Data staging: the input of jobs of one task travels to their sites, and their output back to their users.

use std::collections::BTreeMap;

use super::{Carrier, Network};
use crate::grid::{EdgeId, JobId, Staging};
use crate::kernel::{ActorId, Outbox};
use crate::protocol::{Landed, Message, Record};
use crate::time::{Span, Time};

/// Transfers of the data of a service's jobs. Sites have their numbers in the topology, as the home of data may be a
/// site that the service does not have.
pub struct Stager {
    carrier: Carrier<EdgeId>,
    sites: Vec<ActorId>,
    numbers: BTreeMap<ActorId, u32>,
}

type Out = Outbox<Message, Record>;

/// A finished transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Staged {
    Input(JobId),
    Output(JobId),
}

impl Stager {
    /// Creates a stager; the network connects these sites.
    pub fn new(network: Network, sites: Vec<ActorId>) -> Stager {
        let numbers = sites.iter().copied().zip(0..).collect();
        Stager { carrier: network.carrier(), sites, numbers }
    }

    /// True if the home exists and the volumes are within their limits.
    pub fn is_valid(&self, staging: &Staging) -> bool {
        (staging.home as usize) < self.sites.len() && staging.volumes.are_valid()
    }

    /// Starts the transfer of a job's input to its site. True if a transfer is needed.
    pub fn bring(&mut self, now: Time, job: JobId, staging: &Staging, site: ActorId, out: &mut Out) -> bool {
        let Staging { volumes, home } = *staging;
        self.send(now, EdgeId::for_input(job), (home, self.number(site)), volumes.input, out)
    }

    /// Starts the transfer of a job's output from its site to its home. True if a transfer is needed.
    pub fn bring_back(&mut self, now: Time, job: JobId, staging: &Staging, site: ActorId, out: &mut Out) -> bool {
        let Staging { volumes, home } = *staging;
        self.send(now, EdgeId::for_output(job), (self.number(site), home), volumes.output, out)
    }

    /// True if a job at a site waits for a transfer of its input.
    pub fn has_to_bring(&self, staging: &Staging, site: ActorId) -> bool {
        staging.has_input() && staging.home != self.number(site)
    }

    /// Duration of the input's transfer without other traffic. Under the law of parallel TCP flows a little less may do
    /// beside others, as a link yields more to several flows than to one.
    pub fn unshared_time(&self, staging: &Staging, site: ActorId) -> Span {
        let from = staging.home as usize;
        let to = self.number(site) as usize;
        let paths = self.carrier.paths();
        let rate = paths.bandwidth(from, to, |link| link.effective(1));
        Span::from_micros((paths.latency(from, to) + staging.volumes.input as f64 / rate).ceil() as u64)
    }

    fn send(&mut self, now: Time, edge: EdgeId, (from, to): (u32, u32), bytes: u64, out: &mut Out) -> bool {
        if bytes == 0 || from == to {
            return false;
        }
        let active = self.carrier.send(now, (from, to), (edge, bytes), edge, out);
        let [from, to] = [from, to].map(|site| self.sites[site as usize]);
        out.log(Record::Sent { edge, from, to, bytes, active });
        true
    }

    fn number(&self, site: ActorId) -> u32 {
        *self.numbers.get(&site).expect("jobs are given to sites of the topology")
    }

    /// Receives an arrival from the network's actor, which a shared network has.
    pub fn take_landing(&mut self, from: ActorId, landed: Landed) {
        self.carrier.take_landing(from, landed);
    }

    /// Transfers that have finished by `now`, in order.
    pub fn take_arrived(&mut self, now: Time, out: &mut Out) -> Vec<Staged> {
        let mut arrived = Vec::new();
        for edge in self.carrier.take_arrived(now, out) {
            out.log(Record::Delivered { edge });
            arrived.push(if edge.from == EdgeId::HOME { Staged::Input(edge.job) } else { Staged::Output(edge.job) });
        }
        arrived
    }

    /// Sets a timer for the time at which a transfer may finish.
    pub fn wake(&mut self, now: Time, out: &mut Out) {
        self.carrier.wake(now, out);
    }
}
