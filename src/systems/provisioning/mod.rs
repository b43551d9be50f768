//! Provisioning: users get time from sites they do not own, by slots, prices, and jobs that imitate reservations.
//!
//! G. Singh, "An end-to-end framework for provisioning based resource and application management in grids", 2008. A
//! site answers for one calendar (`desk/`), on which its queue, reservations and holds are; how its queue would go on
//! is a planner's business (`planner/`), and how long jobs have waited a forecast's (`forecast/`). All of it counts
//! processors, and leaves it to whoever runs the work which of them these are.

pub mod application;
mod cast;
pub mod coallocation;
mod customer;
mod deal;
mod debts;
pub mod desk;
pub mod forecast;
mod manager;
pub mod planner;
mod plans;
mod rules;
mod run;
mod sent;
pub mod strategy;
#[cfg(test)]
mod tests;
pub mod trial;
pub mod virtual_reservation;
mod world;

pub use cast::ROW;
pub use rules::Provisioning;
