//! Provisioning: users obtain time at sites that others own, by slots, prices, and jobs that imitate reservations.
//!
//! G. Singh, "An end-to-end framework for provisioning based resource and application management in grids", 2008. A
//! site has one calendar (`desk/`) with its queue, reservations and holds. A planner computes how the queue would
//! continue (`planner/`), and a forecast estimates waits from past ones (`forecast/`). All of them count processors;
//! the manager chooses the nodes.

pub mod application;
mod build;
pub mod coallocation;
mod customer;
mod job_context;

pub mod desk;
pub mod forecast;
mod manager;
mod pending;
pub mod planner;
mod plans;
mod rules;
mod run;
mod sent;
pub mod strategy;
pub mod trial;
mod user_keys;
pub mod virtual_reservation;
mod world;

pub use build::ROW;
pub use rules::Provisioning;
