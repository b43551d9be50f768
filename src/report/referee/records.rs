//! The records of every run, and the search for a record in all tables: its form in a line of `events.jsonl`, its
//! sentence, and its meaning for the tally. Subjects have tables of their own, in `subjects/NAME/records.rs`.

use super::events::{Cursor, EventReader, EventWriter, Unreadable};
use super::record_table::{RecordTable, records};
use super::tally::JobBook;
use crate::{Names, subjects};
use hansa_sim::protocol::Record;
use hansa_sim::settings::format_counted;

/// All tables of records: that of every run, which has the most frequent records, and those of subjects.
fn tables() -> impl Iterator<Item = &'static RecordTable> {
    std::iter::once(&RECORDS).chain(subjects::ALL.iter().filter_map(|subject| subject.records.as_ref()))
}

impl EventWriter {
    pub(crate) fn put_record(&self, line: &mut Vec<u8>, record: &Record) {
        let is_put = tables().any(|table| (table.put)(self, record, line));
        debug_assert!(is_put, "each kind of record is in a table");
    }
}

impl EventReader {
    pub(crate) fn record(&self, at: &mut Cursor<'_>) -> Result<Record, Unreadable> {
        let before = at.at;
        let word = at.unquoted()?;
        for table in tables() {
            if let Some(record) = (table.read)(self, word, at)? {
                return Ok(record);
            }
        }
        at.at = before;
        Err(at.expected_error("the name of an event"))
    }
}

/// A record as a sentence without its subject.
pub(crate) fn record_sentence(record: &Record, names: &Names) -> String {
    tables().find_map(|table| (table.sentence)(record, names)).unwrap_or_default()
}

records! { JobBook (), (names)
    "arrived" Arrived {} + job of user => arrived, format!(
        "accepts job {} of {}, submitted at {}, {}", job.id, names.of_actor(*user), job.arrive, format_counted(job.tasks.len() as u64, "task"));
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
    "preempted" Preempted { task } => preempted, format!("ends task {task} before it is done, for another one");
    "requeued" Requeued { task } => requeued,
        format!("takes task {task} off its cores for another one, to start it again later");
    "backfilled" Backfilled { task } => backfilled, format!("has started task {task} out of turn, by backfilling");
    "withdrawn" Withdrawn { task } => withdrawn,
        format!("returns task {task}, which its user resubmits elsewhere");
    "completed" Completed { job, value } => completed, match value {
        Some(value) => format!("sees job {job} end, worth {value}"),
        None => format!("sees job {job} end"),
    };
    "removed" Removed { job } => removed, format!("gives up job {job}");
    "sent" Sent { edge, from, to, bytes, active } => sent, format!(
        "sends {bytes} bytes of {edge} from {} to {}", names.of_actor(*from), names.of_actor(*to));
    "shipped" Shipped { user, edge, from, to, bytes, active } => shipped, format!(
        "sends {bytes} bytes of {edge} from {} to {}, for {}",
        names.of_actor(*from), names.of_actor(*to), names.of_actor(*user));
    "delivered" Delivered { edge } => delivered, format!("sees the data of {edge} arrive");
}
