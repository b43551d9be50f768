//! Slots: free time of a site for sale, the placement of work in it, and the offers of sites.

mod area;
mod free;
mod offer;
mod slot;
mod tariff;
#[cfg(test)]
mod tests;

pub use area::{Area, Rate};
pub use free::{Allocation, FreeList, FreeSlot};
pub use offer::{Advert, BookingId, Denial, Grant, HoldId, Offer, Quote, QuoteId, Receipt};
pub use slot::{BadPart, Part, Slot, fees_of};
pub use tariff::{DAY, Tariff};
