//! Manager of a site that holds nodes for reservations: each task starts at its time on exactly its nodes.

use crate::kernel::ActorId;
use crate::protocol::{Hold, Message, Withdraw};
use crate::roles::site::{Manager, On, SiteOrder, Start, Tasks};
use crate::time::Time;

pub struct HoldManager;

impl Manager for HoldManager {
    /// Only the owner of a booking can change it, and knows its effect, so all starts are settled.
    fn receive_message(
        &mut self,
        now: Time,
        sender: ActorId,
        message: Message,
        _: &Tasks,
        orders: &mut Vec<SiteOrder>,
    ) {
        match message {
            // Nodes are booked in time.
            Message::Hold(Hold { task, start, nodes, runtime, walltime, .. }) if start >= now => {
                let held = Start::on_whole_nodes(sender, task, start, On::These(nodes.into()), runtime);
                orders.push(SiteOrder::Start(Start { walltime, ..held }));
            }
            Message::Withdraw(Withdraw { task }) => orders.push(SiteOrder::Drop { task, sender }),
            _ => {}
        }
    }

    fn is_quiet(&self) -> bool {
        true
    }
}
