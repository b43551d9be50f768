//! Tests that need sockets, files and processes.

#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "these tests wait for real processes")]

mod allocator;
mod batch;
mod batsim;
mod bidder;
mod choices;
mod clock;
mod cluster;
mod commands;
mod compare;
mod containers;
mod dfrs;
mod digests;
mod endings;
mod explore;
mod faults;
mod freight;
mod grid;
mod hostile;
mod identity;
mod inputs;
mod layouts;
mod liars;
mod namespaces;
mod outside;
mod parts;
mod recovery;
mod recovery_rims;
mod relay;
mod report;
mod reservation;
mod schema;
mod shortage;
mod siege;
mod skip;
mod slurm;
mod slurm_dump;
mod slurm_site;
mod starting;
mod sweep;
mod tournament;
mod weather;
mod wire;
mod workflow;
mod world;
