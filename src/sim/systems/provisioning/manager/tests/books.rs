//! A site's own account, compared with its log: each charge has its booking.

use super::*;
use crate::grid::Receipt;
use crate::systems::provisioning::desk::SiteAccount;

/// A manager whose account can be read at the end.
pub struct Watched {
    pub front: NegotiatingManager,
    pub account: Arc<Mutex<SiteAccount>>,
}

impl Manager for Watched {
    fn receive_message(
        &mut self,
        now: Time,
        from: ActorId,
        message: Message,
        site: &Tasks,
        orders: &mut Vec<SiteOrder>,
    ) {
        self.front.receive_message(now, from, message, site, orders);
    }

    fn task_ended(&mut self, now: Time, task: &Running) {
        self.front.task_ended(now, task);
    }

    fn task_lost(&mut self, now: Time, task: &Running, saved: Span) {
        self.front.task_lost(now, task, saved);
    }

    fn are_down(&mut self, now: Time, down: &[Expected]) {
        self.front.are_down(now, down);
    }

    fn has_waiting(&self) -> bool {
        self.front.has_waiting()
    }

    fn decide_orders(&mut self, now: Time, site: &Tasks, orders: &mut Vec<SiteOrder>) {
        self.front.decide_orders(now, site, orders);
        *self.account.lock().unwrap() = *self.front.desk.account();
    }

    fn next_wake(&self) -> Option<Time> {
        self.front.next_wake()
    }

    fn send_floor(&self, at: Time) -> Time {
        self.front.send_floor(at)
    }
}

/// The account of a site according to its log.
pub fn account_of_log(log: &[Entry<Record>]) -> SiteAccount {
    let mut open: BTreeMap<BookingId, Receipt> = BTreeMap::new();
    let mut account = SiteAccount::default();
    for entry in log {
        match entry.record {
            Record::Booked { receipt, .. } => {
                open.insert(receipt.booking, receipt);
                account.booked += 1;
                account.rents += receipt.rent;
                account.fees += receipt.fee;
            }
            Record::Postponed { receipt } => {
                let before = open.insert(receipt.booking, receipt).expect("it was booked");
                account.rents = account.rents.saturating_sub(before.rent) + receipt.rent;
            }
            Record::Returned { booking, penalty: Some(penalty), .. } => {
                account.cancelled += 1;
                account.penalties += penalty;
                give_back(&mut account, open.remove(&booking));
            }
            Record::HandedBack { booking, refund, penalty, .. } => {
                open.remove(&booking).expect("it was booked");
                account.handed_back += 1;
                account.rents = account.rents.saturating_sub(refund + penalty);
                account.penalties += penalty;
            }
            Record::Revoked { booking, paid, .. } => {
                account.revoked += 1;
                give_back(&mut account, open.remove(&booking));
                account.rents += paid;
            }
            _ => {}
        }
    }
    account
}

fn give_back(account: &mut SiteAccount, receipt: Option<Receipt>) {
    let Receipt { rent, fee, .. } = receipt.expect("it was booked");
    account.rents = account.rents.saturating_sub(rent);
    account.fees = account.fees.saturating_sub(fee);
}
