//! Sites and users for which an external program decides: its actions are checked here, and carried out like internal
//! decisions.
//!
//! Module `edge` runs the program itself. Here it is a partner whose answer is awaited; an answer takes no virtual time
//! unless the program says so. A program promises nothing beyond the present moment, so neither do these actors: a run
//! waits for each of their events.

mod manager;
mod planner;

use crate::time::Time;

pub use manager::{ManagerProgram, ProgramManager};
pub use planner::{PlannedUser, Plans};

/// Connection to a program whose answers are checked.
pub trait CheckedProgram: Send {
    /// Reports an impossible answer. The program has failed from then on.
    fn refuse_answer(&mut self, now: Time, why: &str);

    /// True once there are no more answers, for any reason.
    fn has_failed(&self) -> bool;
}
