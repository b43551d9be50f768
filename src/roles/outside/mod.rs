//! Sites and users for whom a program outside decides: what it asks for is checked here, and done like all that is
//! decided inside.
//!
//! The program itself is the edge's business. Here it is somebody who is asked and whose answer is waited for; the
//! answer takes no virtual time unless the program says that it does. Such a program promises nothing beyond the
//! present moment, and so neither do these: a run waits for each moment at which something happens to them.

mod manager;
mod planner;

pub use manager::{Decides, Managed};
pub use planner::{Planned, Plans};
