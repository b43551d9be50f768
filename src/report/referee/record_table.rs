//! Tables of records: each kind of record once, with its form in a line of `events.jsonl`, its sentence, and its
//! meaning for a tally.

use super::events::{Cursor, EventReader, EventWriter, Unreadable};
use crate::Names;
use hansa_sim::protocol::Record;

/// The kinds of records of one owner: the core of the log, or a subject. Each kind is in one table, and a table answers
/// for its own kinds only.
pub struct RecordTable {
    /// Appends the fields of a record to a line; false if its kind is in another table.
    pub put: fn(&EventWriter, &Record, &mut Vec<u8>) -> bool,
    /// Reads the record with this name; None if it is in another table.
    pub read: fn(&EventReader, &str, &mut Cursor<'_>) -> Result<Option<Record>, Unreadable>,
    /// A record as a sentence without its subject; None if its kind is in another table.
    pub sentence: fn(&Record, &Names) -> Option<String>,
}

impl std::fmt::Debug for RecordTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RecordTable")
    }
}

/// Defines the records of a state. A row: `Name { field, other => "alias" } method, "sentence";`
///
/// - the record and its fields in order, each under its own name or an alias; a submitted job, with its user, is last;
/// - the method of the state that takes the record; it also gets the book of jobs if `(book)` follows the state's name;
/// - the sentence about it, whose subject is the author of the record.
macro_rules! records {
    (@take $state:ident () $($kind:ident { $($field:ident)* } $take:ident)*) => {
        impl $state {
            /// Takes a record. Returns the job that may be finished by it, if there is one; None if the record's kind
            /// is in another table.
            pub fn take_record(
                &mut self,
                by: $crate::referee::tally::Reporter,
                record: &hansa_sim::protocol::Record,
            ) -> Option<$crate::referee::tally::CountResult> {
                match record {
                    $(hansa_sim::protocol::Record::$kind { $($field),* } => Some(self.$take(by, $($field),*)),)*
                    _ => None,
                }
            }
        }
    };
    (@take $state:ident (book) $($kind:ident { $($field:ident)* } $take:ident)*) => {
        impl $state {
            /// Takes a record of its own; None if the record's kind is in another table.
            pub fn take_record(
                &mut self,
                book: &mut $crate::referee::tally::JobBook,
                by: $crate::referee::tally::Reporter,
                record: &hansa_sim::protocol::Record,
            ) -> Option<$crate::referee::tally::CountResult> {
                match record {
                    $(hansa_sim::protocol::Record::$kind { $($field),* } => Some(self.$take(book, by, $($field),*)),)*
                    _ => None,
                }
            }
        }
    };
    ($state:ident $book:tt, ($names:ident)
        $($word:literal $kind:ident { $($field:ident $(as $key:literal)?),* } $(+ $job:ident of $user:ident)?
        => $take:ident, $sentence:expr;)*) => {
        pub const RECORDS: $crate::referee::record_table::RecordTable = $crate::referee::record_table::RecordTable {
            put: |writer, record, line| match record {
                $(hansa_sim::protocol::Record::$kind { $($field,)* $($job, $user)? } => {
                    line.extend_from_slice(concat!(",\"event\":\"", $word, "\"").as_bytes());
                    $($crate::referee::events::Field::put_field(
                        $field, $crate::referee::record_table::key!($field $($key)?), writer, line);)*
                    $(writer.put_job(line, $job, *$user);)?
                    true
                })*
                _ => false,
            },
            read: |reader, word, at| match word {
                $($word => {
                    $(let $field = $crate::referee::events::Field::read_field(
                        $crate::referee::record_table::key!($field $($key)?), reader, at)?;)*
                    $(let ($job, $user) = reader.job(at)?;)?
                    Ok(Some(hansa_sim::protocol::Record::$kind { $($field,)* $($job, $user)? }))
                })*
                _ => Ok(None),
            },
            #[allow(unused_variables, reason = "a sentence need not name anything")]
            sentence: |record, $names| match record {
                $(#[allow(unused_variables, reason = "a sentence need not tell everything")]
                hansa_sim::protocol::Record::$kind { $($field,)* $($job, $user)? } => Some($sentence),)*
                _ => None,
            },
        };

        $crate::referee::record_table::records! {
            @take $state $book $($kind { $($field)* $($job $user)? } $take)*
        }
    };
}

macro_rules! key {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $key:literal) => {
        $key
    };
}

pub(crate) use key;
pub(crate) use records;
