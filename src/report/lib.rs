//! Reports for people from a run's log: events, tables, summaries, comparisons. Bytes in, bytes out: no files, no
//! clocks.

#[cfg(test)]
extern crate self as hansa_report;

mod account;
mod accounting;
pub mod axes;
mod bids;
mod blame;
mod by_size;
pub mod catalog;
mod columns;
mod core;
mod counted;
mod course;
mod events;
pub mod experiment;
mod job_names;
mod jobs;
mod ledger;
mod live;
mod log_numbers;
pub mod manifest;
pub mod markup;
mod names;
mod outcomes;
mod page;
pub mod palette;
pub mod parquet;
mod recorder;
mod records;
pub mod reference;
mod replay;
mod staleness;
mod subjects;
mod summary;
mod table;
mod tally;
mod text;
mod trace;
mod transfers;
mod verify;
pub mod when;
mod why;
mod witness;

pub use counted::CountedSummary;
pub use course::Course;
pub use events::{EventReader, EventWriter, Unreadable};
pub use ledger::Store;
pub use live::LiveFlows;
pub use manifest::{Host, Input, Manifest, Output, Status, pretty};
pub use names::Names;
pub use outcomes::{JobEnd, JobOutcome, RunOutcomes, WorkDone};
pub use page::chart::Window;
pub use page::page;
pub(crate) use page::{chart, html};
pub use recorder::{EntryError, Recorder};
pub use replay::{Unreplayable, replay};
pub use subjects::bargains::Bargaining;
#[cfg(test)]
pub use subjects::bargains::calendars_fit;
pub use subjects::sharing::Sharing;
pub use subjects::{Better, Family, Measure, Offers, Reservations, Schedule, Systems, Unit, measures, plan};
pub use summary::{
    Carried, Counts, LiveFacts, MovedFacts, RunFacts, SizeGroup, Spread, Staleness, Stretch, Summary, SummaryFile,
    SummaryPart, Use, Utilisation, Value,
};
pub use table::summary_table;
pub use tally::{Inconsistent, RecordError, Tally};
pub use text::field;
pub use verify::{Comparison, Difference, Found, Side, changed_inputs, compare, first_difference};
pub use witness::Witness;

#[cfg(test)]
mod tests;
