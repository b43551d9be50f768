//! When a site runs what it is given, one scheduler a file.

mod auction;
mod bookings;

use crate::time::Time;

pub use bookings::{Booking, Bookings};

/// Decides when a task starts. The site carries it out, and owns the cores.
pub trait Scheduler: Send {
    /// When a task of so many cores starts that has just come in; `None` if it never can. It is settled at once,
    /// because a site that has said when a task ends lets the rest of the grid run ahead.
    fn start(&mut self, now: Time, cores: u32, booked: &Bookings) -> Option<Time>;
}

/// A scheduler that a topology may name.
pub struct Entry {
    pub name: &'static str,
    pub about: &'static str,
    pub build: fn() -> Box<dyn Scheduler>,
}

pub const ALL: &[Entry] = &[auction::ENTRY];

pub fn find(name: &str) -> Option<&'static Entry> {
    ALL.iter().find(|entry| entry.name == name)
}
