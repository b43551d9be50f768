//! Manager of a site of a market or of a planned workflow: the sender of tasks has decided already.

use super::SchedulerRow;
use crate::kernel::ActorId;
use crate::protocol::{Message, Run};
use crate::roles::site::{Manager, On, SiteOrder, Start, Tasks};
use crate::time::Time;

pub const ROW: SchedulerRow =
    SchedulerRow { name: "auction", about: "starts each task of the router at once", build: || Box::new(Auction) };

struct Auction;

impl Manager for Auction {
    /// Starts tasks at once. A sender that sends more than fits has lost count; then tasks wait in order of arrival.
    /// Nothing can change that any more, so all starts are settled.
    fn receive_message(
        &mut self,
        now: Time,
        sender: ActorId,
        message: Message,
        site: &Tasks,
        orders: &mut Vec<SiteOrder>,
    ) {
        let Message::Run(Run { task, cores, runtime, planned, .. }) = message else { return };
        // No real task is empty.
        if cores == 0 || runtime.is_zero() {
            return;
        }
        // Senders know the size of a site, so a task that can never run gets no answer.
        let Some(at) = earliest_in_turn(site, now, cores) else { return };
        orders.push(SiteOrder::Start(Start::on_whole_nodes(sender, task, at, On::from_plan(planned, cores), runtime)));
    }

    fn is_quiet(&self) -> bool {
        true
    }
}

/// Earliest time at which this many cores are free and all earlier tasks have started.
fn earliest_in_turn(site: &Tasks, now: Time, cores: u32) -> Option<Time> {
    if cores > site.total() {
        return None;
    }
    if !site.is_awaiting() && cores <= site.free() {
        return Some(now);
    }

    let last_start = site.all().map(|task| task.started).max().unwrap_or(now).max(now);
    let mut later: Vec<(Time, u32)> =
        site.all().map(|task| (task.end(), task.width())).filter(|(end, _)| *end > last_start).collect();
    later.sort_by_key(|(end, _)| *end);
    let mut free = site.total() - later.iter().map(|(_, width)| width).sum::<u32>();
    let mut ends = later.iter();
    let mut start = last_start;
    while free < cores {
        let (end, width) = ends.next().expect("all cores are free once everything has ended");
        free += width;
        start = *end;
    }
    Some(start)
}
