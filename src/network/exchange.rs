//! The network of a grid where several services meet: an actor at the hub that holds the flows of all of them.

use super::{Carrier, Paths};
use crate::kernel::{Actor, ActorId, Cause, Event, Outbox};
use crate::protocol::{Landed, Message, Record, Ship};
use crate::time::Stamp;

/// Carries what services ship, and tells each when it is there. It logs nothing: whose data it is says what became of it.
pub struct Exchange {
    /// Who may ship anything: the services of the run.
    services: Vec<ActorId>,
    carrier: Carrier<(ActorId, u64)>,
}

impl Exchange {
    pub fn new(paths: Paths, services: Vec<ActorId>) -> Exchange {
        Exchange { services, carrier: Carrier::new(paths) }
    }
}

impl Actor<Message, Record> for Exchange {
    fn handle(&mut self, now: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Outbox<Message, Record>) {
        for (service, load) in self.carrier.arrived(now.time) {
            out.send(service, Message::Landed(Landed { load }));
        }
        let sites = self.carrier.paths().sites() as u32;
        for event in batch.drain(..) {
            if let Cause::Message(Message::Ship(Ship { load, from, to, bytes })) = event.cause
                && self.services.contains(&event.from)
                && from < sites
                && to < sites
            {
                self.carrier.send(now.time, (from, to), bytes, (event.from, load), out);
            }
        }
        self.carrier.wake(now.time, out);
    }
}
