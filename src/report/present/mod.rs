//! Presentation of a run: the table of a terminal, the page, the trace, and the stories of jobs.

pub mod axes;
pub mod calendar;
pub(crate) mod course;
pub mod markup;
pub(crate) mod page;
pub mod palette;
pub(crate) mod table;
mod trace;
pub(crate) mod why;
