//! Names that the `build.rs` of every system needs.

pub(super) use super::failing::build_site_actor;
pub(super) use super::{
    ActorError, Built, DistributeError, Distribution, EXTERNAL, ExternalDecider, Fails, Gives, Grid, HubProgram, Own,
    PlacementError, Policy, Senders, Service, System, SystemRow, Traits,
};
pub(super) use crate::grid::{Job, Site};
pub(super) use crate::roles;
pub(super) use crate::roles::queue::Ranking;
pub(super) use crate::roles::site::Manager;
pub(super) use crate::settings::Walk;
pub(super) use crate::time::Span;
pub(super) use crate::workload::{Source, Workload};
