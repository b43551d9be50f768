//! Reports for people from a run's log: events, tables, summaries, comparisons. Bytes in, bytes out: no files, no
//! clocks.

#[cfg(test)]
extern crate self as hansa_report;

pub mod catalog;
pub mod experiment;
mod present;
mod referee;
pub mod reference;
mod results;
mod subjects;
mod tables;
pub mod when;

pub use present::course::Course;
pub use present::page::chart::Window;
pub use present::page::run_page;
pub(crate) use present::page::{chart, html};
pub use present::table::summary_table;
pub use present::why::{JobStory, JobTrail};
pub use present::{axes, markup, palette};
pub use referee::events::{EventReader, EventWriter, Unreadable};
pub use referee::ledger::Store;
pub use referee::names::Names;
pub use referee::recorder::{EntryError, Recorder};
pub use referee::replay::{Unreplayable, replay_log};
pub use referee::tally::{Inconsistent, RecordError, Tally};
pub use referee::verify::{Comparison, Difference, Found, Side, changed_inputs, compare_logs, first_difference};
pub use referee::witness::Witness;
pub use results::counted::CountedSummary;
pub use results::live::LiveFlows;
pub use results::manifest;
pub use results::manifest::{Host, Input, Manifest, Output, Status, pretty_json};
pub use results::metric::{Better, Family, Unit};
pub use results::outcomes::{JobEnd, JobOutcome, RunOutcomes, WorkDone};
pub use results::summary::{
    Carried, Counts, LiveFacts, MovedFacts, RunFacts, SizeGroup, Spread, Staleness, Stretch, Summary, SummaryFile,
    SummaryPart, Use, Utilisation, Value,
};
pub use subjects::bargains::Bargaining;
#[cfg(test)]
pub use subjects::bargains::calendars_fit;
pub use subjects::sharing::Sharing;
pub use subjects::{Offers, Reservations, Schedule, Systems, plan};
pub use tables::csv::field;
pub use tables::parquet;

#[cfg(test)]
#[path = "../sim/tests/play.rs"]
mod play;
#[cfg(test)]
mod tests;
