//! The referee of a log: takes each entry during a run, checks it against those before, and keeps what reports need.
//!
//! A [`Recorder`](recorder::Recorder) passes an entry to the digest, to a line of `events.jsonl`, and to the
//! [`Tally`](tally::Tally). From the same lines a log is replayed, compared with another one, and blamed on a member.
//! Nothing here writes for people, apart from sentences about single records.

pub(crate) mod blame;
pub(crate) mod counted;
pub(crate) mod events;
pub(crate) mod job_names;
pub(crate) mod ledger;
pub(crate) mod log_numbers;
pub(crate) mod names;
pub(crate) mod record_table;
pub(crate) mod recorder;
pub(crate) mod records;
pub(crate) mod replay;
pub(crate) mod tally;
pub(crate) mod transfers;
pub(crate) mod verify;
pub(crate) mod witness;
