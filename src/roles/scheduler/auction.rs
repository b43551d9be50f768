//! The site of a market: the auction at the router has decided already.

use super::{Bookings, Entry, Scheduler};
use crate::time::Time;

pub const ENTRY: Entry =
    Entry { name: "auction", about: "starts at once what it gets from the router", build: || Box::new(Auction) };

struct Auction;

impl Scheduler for Auction {
    /// At once. A router that gives more than fits has lost count; then the tasks wait in order of arrival.
    fn start(&mut self, now: Time, cores: u32, booked: &Bookings) -> Option<Time> {
        booked.earliest_in_turn(now, cores)
    }
}
