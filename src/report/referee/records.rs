//! Every kind of record, once: its form in a line of `events.jsonl`, its sentence, and its meaning for the tally.

use crate::referee::events::{Cursor, EventReader, EventWriter, Field, Unreadable};
use crate::referee::tally::{Inconsistent, Reporter};
use crate::{Names, Tally};
use hansa_sim::grid::{JobId, Needs, Part, Receipt};
use hansa_sim::kernel::Entry;
use hansa_sim::protocol::{BidOutcome, Fault, Record, ReserveAnswer};
use hansa_sim::settings::counted;

/// A row has the name and the fields in order, each under its own name or another one; a submitted job comes last, with
/// its user. Then follow the tally's method for it, and the sentence, whose subject is the author of the record.
macro_rules! records {
    (($names:ident) $($word:literal $kind:ident { $($field:ident $(as $key:literal)?),* } $(+ $job:ident of $user:ident)?
        => $take:ident, $sentence:expr;)*) => {
        impl EventWriter {
            pub(crate) fn put_record(&self, line: &mut Vec<u8>, record: &Record) {
                match record {
                    $(Record::$kind { $($field,)* $($job, $user)? } => {
                        line.extend_from_slice(concat!(",\"event\":\"", $word, "\"").as_bytes());
                        $($field.put(key!($field $($key)?), self, line);)*
                        $(self.put_job(line, $job, *$user);)?
                    })*
                }
            }
        }

        impl EventReader {
            pub(crate) fn record(&self, at: &mut Cursor<'_>) -> Result<Record, Unreadable> {
                let before = at.at;
                match at.unquoted()? {
                    $($word => {
                        $(let $field = Field::read(key!($field $($key)?), self, at)?;)*
                        $(let ($job, $user) = self.job(at)?;)?
                        Ok(Record::$kind { $($field,)* $($job, $user)? })
                    })*
                    _ => {
                        at.at = before;
                        Err(at.wrong("the name of an event"))
                    }
                }
            }
        }

        impl Tally {
            /// Takes an entry. Returns the job that may be finished by it, if there is one.
            pub(crate) fn take(&mut self, entry: &Entry<Record>) -> Result<Option<JobId>, Inconsistent> {
                let by = Reporter { actor: entry.actor, now: entry.stamp.time };
                match &entry.record {
                    $(Record::$kind { $($field,)* $($job, $user)? } => self.$take(by, $($field,)* $($job, $user)?),)*
                }
            }
        }

        /// A record as a sentence without its subject.
        pub(crate) fn told(record: &Record, $names: &Names) -> String {
            match record {
                $(#[allow(unused_variables, reason = "a sentence need not tell everything")]
                Record::$kind { $($field,)* $($job, $user)? } => $sentence,)*
            }
        }
    };
}

/// The predicate of a sentence about a site's fault.
pub(crate) fn tell(fault: Fault) -> &'static str {
    match fault {
        Fault::Silent => "has not answered in time",
        Fault::Unasked => "answers a question that it was not asked, or has already answered",
        Fault::Senseless => "gives an answer that does not fit the question",
        Fault::Unwilling => "does not accept a task that it had agreed to",
    }
}

macro_rules! key {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $key:literal) => {
        $key
    };
}

records! { (names)
    "arrived" Arrived {} + job of user => arrived, format!(
        "accepts job {} of {}, submitted at {}, {}", job.id, names.of_actor(*user), job.arrive, counted(job.tasks.len() as u64, "task"));
    "refused" Refused { task as "because" } + job of user => refused,
        format!("refuses job {} of {}: task {task} fits no site", job.id, names.of_actor(*user));
    "not_admitted" NotAdmitted {} + job of user => not_admitted,
        format!("does not admit job {} of {}: it would finish too late", job.id, names.of_actor(*user));
    "rejected" Rejected { why } + job of user => rejected,
        format!("rejects job {} of {}: {why}", job.id, names.of_actor(*user));
    "assigned" Assigned { task, site } => assigned, format!("gives task {task} to {}", names.of_actor(*site));
    "started" Started { task, cores } => started, format!("starts task {task} on cores {cores}");
    "finished" Finished { task } => finished, format!("sees task {task} end");
    "killed" Killed { task } => killed, format!("kills task {task} at its walltime");
    "suspended" Suspended { task } => suspended, format!("suspends task {task}");
    "resumed" Resumed { task, cores } => resumed, format!("resumes task {task} on cores {cores}");
    "moved" Moved { task, cores } => moved, format!("moves task {task} to cores {cores}");
    "shared" Shared { task, share } => shared, format!("gives task {task} a yield of {share}");
    "stacked" Stacked { task, cores } => stacked, format!("puts another part of task {task} on cores {cores}");
    "withdrawn" Withdrawn { task } => withdrawn,
        format!("returns task {task}, which its user resubmits elsewhere");
    "needs" Needs { job, needs } => needs, {
        let Needs { cpu, memory } = needs;
        format!("is told that tasks of job {job} need {cpu} of a node's processors and {memory} of its memory")
    };
    "completed" Completed { job, value } => completed, match value {
        Some(value) => format!("sees job {job} end, worth {value}"),
        None => format!("sees job {job} end"),
    };
    "removed" Removed { job } => removed, format!("gives up job {job}");
    "answered" Answered { job, ready, deadline, answer } => answered, match answer {
        ReserveAnswer::Accepted { site, start, nodes } =>
            format!("accepts request {job}: nodes {nodes} of {} from {start}", names.of_actor(*site)),
        ReserveAnswer::Declined => format!("declines request {job}"),
        ReserveAnswer::Invalid(invalid) => format!("finds request {job} invalid: {invalid}"),
    };
    "malleable" Malleable { job, shapes } => malleable, {
        let each: Vec<String> =
            shapes.iter().map(|shape| format!("{} for {}", counted(shape.nodes.into(), "node"), shape.duration)).collect();
        format!("may book request {job} in one of {}: {}", counted(shapes.len() as u64, "shape"), each.join(", "))
    };
    "shaped" Shaped { job, shape } => shaped, format!("chooses shape {shape} of request {job}, from 0");
    "rebooked" Rebooked { job, site, start, until, nodes as "cores" } => rebooked, format!(
        "rebooks the reservation of job {job}, whose nodes failed: nodes {nodes} of {} from {start} to {until}",
        names.of_actor(*site));
    "broken" Broken { job, compensation } => broken,
        format!(
            "breaks the reservation of job {job}, whose nodes failed, and compensates its user with {compensation}");
    "cancelled" Cancelled { job } => cancelled,
        format!("releases the reservation of job {job}, which its user cancels");
    "sent" Sent { edge, from, to, bytes, active } => sent, format!(
        "sends {bytes} bytes of {edge} from {} to {}", names.of_actor(*from), names.of_actor(*to));
    "shipped" Shipped { user, edge, from, to, bytes, active } => shipped, format!(
        "sends {bytes} bytes of {edge} from {} to {}, for {}",
        names.of_actor(*from), names.of_actor(*to), names.of_actor(*user));
    "delivered" Delivered { edge } => delivered, format!("sees the data of {edge} arrive");
    "advertised" Advertised { user, version, slots } => advertised,
        format!("advertises {} to {}", counted(slots.len() as u64, "slot"), names.of_actor(*user));
    "quoted" Quoted { user, procs, span as "lasts", offers } => quoted, format!(
        "quotes {} to {}, for {} and {span}",
        counted(offers.len() as u64, "start"), names.of_actor(*user), counted((*procs).into(), "processor"));
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
    "down" Down { cores, since } => are_down, format!("finds cores {cores} down, since {since}");
    "up" Up { cores, since } => are_up, format!("finds cores {cores} up again, since {since}");
    "lost" Lost { task, saved } => lost, format!("loses task {task} to a failure; {saved} of its work is saved");
    "checkpointed" Checkpointed { task, times, spent } => checkpointed,
        format!("has saved the work of task {task} {}, which took {spent}", counted(*times, "time"));
    "link_down" LinkDown { link, since } => link_is_down,
        format!("finds link {} down, since {since}", names.of_link(*link));
    "link_up" LinkUp { link, since } => link_is_up,
        format!("finds link {} up again, since {since}", names.of_link(*link));
    "stalled" Stalled { edge, left } => stalled,
        format!("sees the data of {edge} held up by a link that is down, with {left} bytes left");
    "continued" Continued { edge, left, via, active } => continued, {
        let names: Vec<String> = via.iter().map(|link| names.of_link(*link)).collect();
        let via = if names.is_empty() { String::new() } else { format!(" over {}", names.join(", ")) };
        format!("lets the data of {edge} go on{via}, with {left} bytes left")
    };
    "revoked" Revoked { booking, used, paid, compensation } => revoked, format!(
        "revokes booking {booking}, whose cores failed, and compensates its user with {compensation}");
    "postponed" Postponed { receipt } => postponed, {
        let Receipt { booking, part: Part { start, span, .. }, .. } = receipt;
        format!("postpones booking {booking}, whose cores failed, to {start}, for {span}")
    };
    "handed_back" HandedBack { booking, used, refund, penalty } => handed_back, format!(
        "takes the rest of booking {booking} back, and refunds {refund}");
    "auctioned" Auctioned { offers, bids } => auctioned, {
        let won = bids.iter().filter(|bid| matches!(bid.outcome, BidOutcome::Won(_))).count();
        let free: u64 = offers.iter().map(|offer| u64::from(offer.cores)).sum();
        format!(
            "holds an auction of {}: {}, of which {won} won", counted(free, "free core"),
            counted(bids.len() as u64, "bid"))
    };
    "offered" Offered { idle, waiting, received } => offered, {
        let waiting = if *waiting > 0 { format!(", and tasks wait for {waiting} more") } else { String::new() };
        format!("offers {} after {}{waiting}", counted((*idle).into(), "idle core"), counted(*received, "start"))
    };
    "accused" Accused { site, fault } => accused, format!("says that {} {}", names.of_actor(*site), tell(*fault));
}
