//! Brings the input of jobs of one task to the sites that they were given to, and what they leave there back to their
//! users.

use super::{Carrier, Network};
use crate::few;
use crate::grid::{EdgeId, JobId, Staging};
use crate::kernel::{ActorId, Outbox};
use crate::protocol::{Landed, Message, Record};
use crate::time::{Span, Time};

/// The data of a service's jobs, on its way. It knows all sites of the topology by their numbers, as data may be at
/// home where the service has no site.
pub struct Stager {
    carrier: Carrier<EdgeId>,
    sites: Vec<ActorId>,
    numbers: few::Map<ActorId, u32>,
}

type Out = Outbox<Message, Record>;

/// What has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Staged {
    Input(JobId),
    Output(JobId),
}

impl Stager {
    /// The network is one between these sites.
    pub fn new(network: Network, sites: Vec<ActorId>) -> Stager {
        let numbers = sites.iter().copied().zip(0..).collect();
        Stager { carrier: network.carrier(), sites, numbers }
    }

    /// Whether there is such a home, and no more data than there may be.
    pub fn knows(&self, staging: &Staging) -> bool {
        (staging.home as usize) < self.sites.len() && staging.volumes.make_sense()
    }

    /// Lets a job's input set out for the site that it was given to. Says whether it does.
    pub fn bring(&mut self, now: Time, job: JobId, staging: &Staging, site: ActorId, out: &mut Out) -> bool {
        let Staging { volumes, home } = *staging;
        self.send(now, EdgeId::input(job), (home, self.number(site)), volumes.input, out)
    }

    /// Lets what a job has left at its site set out for home. Says whether there is anything to wait for.
    pub fn bring_back(&mut self, now: Time, job: JobId, staging: &Staging, site: ActorId, out: &mut Out) -> bool {
        let Staging { volumes, home } = *staging;
        self.send(now, EdgeId::output(job), (self.number(site), home), volumes.output, out)
    }

    /// Whether a job that runs at a site has to wait for its input.
    pub fn has_to_bring(&self, staging: &Staging, site: ActorId) -> bool {
        staging.has_input() && staging.home != self.number(site)
    }

    /// How long its input would be on its way there if nobody else were. Under the law of parallel TCP flows a little
    /// less may do beside others, as a link yields more to several than to one.
    pub fn alone(&self, staging: &Staging, site: ActorId) -> Span {
        let (from, to) = (staging.home as usize, self.number(site) as usize);
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

    /// Takes in what the network's actor tells, where others let data go too.
    pub fn hear(&mut self, from: ActorId, landed: Landed) {
        self.carrier.hear(from, landed);
    }

    /// What has arrived by now, in order.
    pub fn arrived(&mut self, now: Time, out: &mut Out) -> Vec<Staged> {
        let mut arrived = Vec::new();
        for edge in self.carrier.arrived(now, out) {
            out.log(Record::Delivered { edge });
            arrived.push(if edge.from == EdgeId::HOME { Staged::Input(edge.job) } else { Staged::Output(edge.job) });
        }
        arrived
    }

    /// Asks for a moment when something may have arrived.
    pub fn wake(&mut self, now: Time, out: &mut Out) {
        self.carrier.wake(now, out);
    }
}
