//! The network of a grid with several senders of data: an actor at the hub that holds the flows of all of them.

use super::{Carrier, Faults, Paths};
use crate::grid::EdgeId;
use crate::kernel::{Actor, ActorId, Cause, Event, Outbox};
use crate::protocol::{Landed, Message, Record, Ship};
use crate::time::Stamp;

/// Carries loads for their owners and notifies each owner of an arrival. A service logs its own transfers; for users,
/// as they see neither links nor the hub, the exchange logs them, with the owner as user.
pub struct Exchange {
    /// Actors that may ship, ascending: the services of the run, and the users that have none.
    owners: Vec<ActorId>,
    sites: Vec<ActorId>,
    carrier: Carrier<ExchangeLoad>,
}

struct ExchangeLoad {
    owner: ActorId,
    number: u64,
    /// Edge whose delivery is logged here; None if the owner logs it.
    edge: Option<EdgeId>,
}

impl Exchange {
    pub fn new(paths: Paths, faults: Option<Faults>, owners: Vec<ActorId>, sites: Vec<ActorId>) -> Exchange {
        assert!(owners.is_sorted(), "owners are found by binary search");
        Exchange { owners, sites, carrier: Carrier::new(paths, faults) }
    }
}

impl Actor<Message, Record> for Exchange {
    fn handle_batch(&mut self, now: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Outbox<Message, Record>) {
        for ExchangeLoad { owner, number, edge } in self.carrier.take_arrived(now.time, out) {
            out.send(owner, Message::Landed(Landed { load: number }));
            if let Some(edge) = edge {
                out.log(Record::Delivered { edge });
            }
        }
        let sites = self.carrier.paths().sites() as u32;
        for event in batch.drain(..) {
            if let Cause::Message(Message::Ship(Ship { load, from, to, bytes, edge, on_behalf })) = event.cause
                && self.owners.binary_search(&event.from).is_ok()
                && from < sites
                && to < sites
            {
                let note = ExchangeLoad { owner: event.from, number: load, edge: on_behalf.then_some(edge) };
                let active = self.carrier.send(now.time, (from, to), (edge, bytes), note, out);
                if on_behalf {
                    let [from, to] = [from, to].map(|site| self.sites[site as usize]);
                    out.log(Record::Shipped { user: event.from, edge, from, to, bytes, active });
                }
            }
        }
        self.carrier.wake(now.time, out);
    }
}
