//! The records of negotiations.

use super::tally::BargainTally;
use crate::referee::record_table::records;
use hansa_sim::grid::{Part, Receipt};
use hansa_sim::protocol::Fault;
use hansa_sim::settings::format_counted;

records! { BargainTally (book), (names)
    "advertised" Advertised { user, version, slots } => advertised,
        format!("advertises {} to {}", format_counted(slots.len() as u64, "slot"), names.of_actor(*user));
    "quoted" Quoted { user, procs, span as "lasts", offers } => quoted, format!(
        "quotes {} to {}, for {} and {span}",
        format_counted(offers.len() as u64, "start"), names.of_actor(*user), format_counted((*procs).into(), "processor"));
    "booked" Booked { user, job, receipt } => booked, {
        let Receipt { booking, part: Part { procs, start, span }, .. } = receipt;
        let user = names.of_actor(*user);
        format!("books {procs} processors for job {job} of {user}, from {start} for {span}: booking {booking}")
    };
    "held" Held { user, hold, part, fee, expiry as "until" } => held, format!(
        "holds {} processors from {} for {} until {expiry}: hold {hold}",
        part.procs, part.start, names.of_actor(*user));
    "denied" Denied { user, job, why } => denied, format!(
        "denies {} what it wants for job {job}: {}", names.of_actor(*user), why.word());
    "returned" Returned { booking, used, penalty } => returned, format!("takes booking {booking} back");
    "elapsed" Elapsed { booking, used } => elapsed, format!("sees booking {booking} end");
    "dropped" Dropped { task } => dropped, format!("drops task {task}, which has done nothing");
    "settled" Settled { hold, fate } => settled, format!("sees what becomes of hold {hold}: {}", fate.word());
    "bargained" Bargained { job, end, why } => bargained, {
        let why = why.map_or(String::new(), |why| format!(", as {}", why.word()));
        format!("has negotiated for job {job}: {}{why}", end.word())
    };
    "entered" Entered { user, task } => entered, format!("accepts task {task} from {}", names.of_actor(*user));
    "revoked" Revoked { booking, used, paid, compensation } => revoked, format!(
        "revokes booking {booking}, whose cores failed, and compensates its user with {compensation}");
    "postponed" Postponed { receipt } => postponed, {
        let Receipt { booking, part: Part { start, span, .. }, .. } = receipt;
        format!("postpones booking {booking}, whose cores failed, to {start}, for {span}")
    };
    "handed_back" HandedBack { booking, used, refund, penalty } => handed_back, format!(
        "takes the rest of booking {booking} back, and refunds {refund}");
    "accused" Accused { site, fault } => accused, format!("says that {} {}", names.of_actor(*site), fault_in_words(*fault));
}

/// The predicate of a sentence about a site's fault.
pub(super) fn fault_in_words(fault: Fault) -> &'static str {
    match fault {
        Fault::Silent => "has not answered in time",
        Fault::Unasked => "answers a question that it was not asked, or has already answered",
        Fault::Senseless => "gives an answer that does not fit the question",
        Fault::Unwilling => "does not accept a task that it had agreed to",
    }
}
