//! Sites and users for which an external program decides: its actions are checked here, and carried out like internal
//! decisions.
//!
//! Module `edge` runs the program itself. Here it is a partner whose answer is awaited; an answer takes no virtual time
//! unless the program says so. A program promises nothing beyond the present moment, so neither do these actors: a run
//! waits for each of their events.

mod manager;
mod planner;

pub use manager::{Decides, Managed};
pub use planner::{PlannedUser, Plans};
