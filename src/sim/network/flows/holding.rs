//! Outages of links, and the flows that they stop.

use std::cmp::Reverse;

use super::{FlowId, FlowPhase, FlowTime, Flows, RouteId};
use crate::network::link::{LinkId, Mode};

impl<T: FlowTime> Flows<T> {
    /// Takes a link down and stops the flows that cross it.
    pub fn fail(&mut self, link: LinkId) {
        if std::mem::replace(&mut self.down[link.index()], true) {
            return;
        }
        self.cut += 1;
        let over: Vec<u32> = match self.described[link.index()].mode {
            Mode::Shared => self.links[link.index()].bundles.iter().map(|(bundle, _)| *bundle).collect(),
            Mode::PerFlow => {
                (0..self.bundles.len() as u32).filter(|bundle| self.ways[*bundle as usize].contains(&link)).collect()
            }
        };
        over.into_iter().for_each(|bundle| self.hold(bundle));
    }

    /// Brings a link up again. The flows that it stopped stay stopped until [`Flows::resume`].
    pub fn repair(&mut self, link: LinkId) {
        self.cut -= usize::from(std::mem::replace(&mut self.down[link.index()], false));
    }

    pub fn is_down(&self, link: LinkId) -> bool {
        self.down[link.index()]
    }

    /// Flows stopped since the last call, in order of their starts.
    pub fn take_held(&mut self) -> Vec<FlowId> {
        let mut held = std::mem::take(&mut self.held);
        held.sort_unstable_by_key(|slot| self.flows[*slot as usize].number);
        held.into_iter().map(FlowId).collect()
    }

    /// Position of a flow in the order of all starts.
    pub fn number(&self, flow: FlowId) -> u64 {
        self.flows[flow.index()].number
    }

    /// Resumes a stopped flow with `volume` left, over a route that it uses from `active` on.
    pub fn resume(&mut self, flow: FlowId, route: RouteId, volume: f64, active: T) {
        let known = &mut self.flows[flow.index()];
        assert!(matches!(known.state, FlowPhase::Held(_)), "what goes on has been stopped");
        (known.bundle, known.volume, known.state) = (route.0, volume, FlowPhase::Waiting);
        self.activate_at(active, flow.0);
    }

    /// Takes all flows of a bundle off their links, with the volume that each has left.
    fn hold(&mut self, which: u32) {
        let clock = self.clock(which as usize);
        let mut ending = std::mem::take(&mut self.ending[which as usize]);
        for Reverse((end, _, slot)) in ending.drain() {
            let flow = &mut self.flows[slot as usize];
            flow.state = FlowPhase::Held((f64::from_bits(end) - clock).clamp(0.0, flow.volume));
            self.held.push(slot);
            self.leave(which);
        }
        // Give the heap back, to keep its memory.
        self.ending[which as usize] = ending;
        self.look_for_the_next_end(which as usize);
    }
}
