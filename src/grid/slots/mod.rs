//! Slots: free time of a site that can be had for a price, how work is placed in it, and what sites say about it.

mod area;
mod free;
mod offer;
mod slot;
#[cfg(test)]
mod tests;

pub use area::{Area, Rate};
pub use free::{Allocation, FreeList, FreeSlot};
pub use offer::{Advert, BookingId, Denial, Grant, HoldId, Offer, Quote, QuoteId, Receipt};
pub use slot::{BadPart, Part, Slot};
