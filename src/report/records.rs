//! Every kind of record, once: how it stands in a line of `events.jsonl`, how a sentence tells it, and what it means to the
//! tally.

use super::events::{Cursor, EventReader, EventWriter, Field, Unreadable};
use super::tally::{By, Inconsistent};
use super::{Names, Tally};
use crate::grid::{JobId, Needs, Part, Receipt};
use crate::kernel::Entry;
use crate::protocol::{Answer, Fault, Record};

/// A row has the name and the fields in order, each under its own name or another one; a job that is handed in comes last,
/// with its user. Then comes the tally's method that takes it, and the sentence, whose subject is whoever wrote the record.
macro_rules! records {
    (($names:ident) $($word:literal $kind:ident { $($field:ident $(as $key:literal)?),* } $(+ $job:ident of $user:ident)?
        => $take:ident, $sentence:expr;)*) => {
        impl EventWriter {
            pub(super) fn put_record(&self, line: &mut Vec<u8>, record: &Record) {
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
            pub(super) fn record(&self, at: &mut Cursor<'_>) -> Result<Record, Unreadable> {
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
            /// Takes an entry; gives the job that nothing more can happen to because of it, if there may be one.
            pub(super) fn take(&mut self, entry: &Entry<Record>) -> Result<Option<JobId>, Inconsistent> {
                let by = By { actor: entry.actor, now: entry.stamp.time };
                match &entry.record {
                    $(Record::$kind { $($field,)* $($job, $user)? } => self.$take(by, $($field,)* $($job, $user)?),)*
                }
            }
        }

        /// A record as a sentence, but for who it happens to.
        pub(super) fn told(record: &Record, $names: &Names) -> String {
            match record {
                $(#[allow(unused_variables, reason = "a sentence need not tell everything")]
                Record::$kind { $($field,)* $($job, $user)? } => $sentence,)*
            }
        }
    };
}

/// What a site has done, for a sentence of which it is the subject.
pub(super) fn tell(fault: Fault) -> &'static str {
    match fault {
        Fault::Silent => "has not answered though it had to",
        Fault::Unasked => "answers what it was not asked, or has answered",
        Fault::Senseless => "says what is no answer to what it was asked",
        Fault::Unwilling => "does not take a task that it said it would",
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
        "takes in job {} of {}, submitted at {}, {} tasks", job.id, names.of_actor(*user), job.arrive, job.tasks.len());
    "refused" Refused { task as "because" } + job of user => refused,
        format!("refuses job {} of {}: task {task} fits no site", job.id, names.of_actor(*user));
    "not_admitted" NotAdmitted {} + job of user => not_admitted,
        format!("does not admit job {} of {}: it would come too late", job.id, names.of_actor(*user));
    "rejected" Rejected { why } + job of user => rejected,
        format!("rejects job {} of {}: {why}", job.id, names.of_actor(*user));
    "assigned" Assigned { task, site } => assigned, format!("gives task {task} to {}", names.of_actor(*site));
    "started" Started { task, cores } => started, format!("starts task {task} on cores {cores}");
    "finished" Finished { task } => finished, format!("sees task {task} end");
    "killed" Killed { task } => killed, format!("ends task {task}, which has had its walltime");
    "suspended" Suspended { task } => suspended, format!("suspends task {task}");
    "resumed" Resumed { task, cores } => resumed, format!("lets task {task} go on, on cores {cores}");
    "moved" Moved { task, cores } => moved, format!("moves task {task} to cores {cores}");
    "shared" Shared { task, share } => shared, format!("gives task {task} {share} of what it could use");
    "stacked" Stacked { task, cores } => stacked, format!("puts one more of task {task} on cores {cores}");
    "withdrawn" Withdrawn { task } => withdrawn,
        format!("takes task {task} back, which its user hands in elsewhere");
    "needs" Needs { job, needs } => needs, {
        let Needs { cpu, memory } = needs;
        format!("hears that tasks of job {job} need {cpu} of a node's processors and {memory} of its memory")
    };
    "completed" Completed { job, value } => completed, match value {
        Some(value) => format!("sees job {job} end, worth {value}"),
        None => format!("sees job {job} end"),
    };
    "removed" Removed { job } => removed, format!("gives up job {job}");
    "answered" Answered { job, ready, deadline, answer } => answered, match answer {
        Answer::Accepted { site, start, nodes } =>
            format!("accepts request {job}: nodes {nodes} of {} from {start}", names.of_actor(*site)),
        Answer::Declined => format!("declines request {job}"),
        Answer::Invalid(invalid) => format!("sees no sense in request {job}: {invalid}"),
    };
    "cancelled" Cancelled { job } => cancelled,
        format!("frees what was reserved for job {job}, which its user takes back");
    "sent" Sent { edge, from, to, bytes, active } => sent, format!(
        "lets {bytes} bytes of {edge} go from {} to {}", names.of_actor(*from), names.of_actor(*to));
    "shipped" Shipped { user, edge, from, to, bytes, active } => shipped, format!(
        "lets {bytes} bytes of {edge} go from {} to {}, for {}",
        names.of_actor(*from), names.of_actor(*to), names.of_actor(*user));
    "delivered" Delivered { edge } => delivered, format!("sees the data of {edge} arrive");
    "advertised" Advertised { user, version, slots } => advertised,
        format!("advertises {} slots to {}", slots.len(), names.of_actor(*user));
    "quoted" Quoted { user, procs, span as "lasts", offers } => quoted, format!(
        "quotes {} starts to {}, for {procs} processors and {span}", offers.len(), names.of_actor(*user));
    "booked" Booked { user, job, receipt } => booked, {
        let Receipt { booking, part: Part { procs, start, span }, .. } = receipt;
        let user = names.of_actor(*user);
        format!("lets {user} have {procs} processors for job {job}, from {start} for {span}: booking {booking}")
    };
    "held" Held { user, hold, part, fee, expiry as "until" } => held, format!(
        "holds {} processors from {} for {} until {expiry}: hold {hold}", part.procs, part.start, names.of_actor(*user));
    "denied" Denied { user, job, why } => denied, format!(
        "does not let {} have what it wants for job {job}: {}", names.of_actor(*user), why.word());
    "returned" Returned { booking, used, penalty } => returned, format!("gets booking {booking} back");
    "elapsed" Elapsed { booking, used } => elapsed, format!("sees the time of booking {booking} end");
    "dropped" Dropped { task } => dropped, format!("lets go of task {task}, which has done nothing");
    "settled" Settled { hold, fate } => settled, format!("sees what becomes of hold {hold}: {}", fate.word());
    "bargained" Bargained { job, end } => bargained, format!("has bargained for job {job}: {}", end.word());
    "entered" Entered { user, task } => entered, format!("takes task {task} from {}", names.of_actor(*user));
    "accused" Accused { site, fault } => accused, format!("says that {} {}", names.of_actor(*site), tell(*fault));
}
