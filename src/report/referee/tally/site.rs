//! The facts about a site that accounts need.

use super::{JobRow, Stint};
use hansa_sim::grid::{Area, Kind, MoveCost, Needs, Speed};
use hansa_sim::kernel::ActorId;
use hansa_sim::systems::managers;
use hansa_sim::time::Span;
use hansa_sim::topology::{Site, Topology};

#[derive(Clone, Debug)]
pub struct SiteFacts {
    pub name: String,
    pub actor: ActorId,
    pub cores: u32,
    /// Divisor of run times, where its systems model speeds.
    pub speed: Speed,
    pub kind: Kind,
    /// Number of its core 0 if the cores of all sites are numbered consecutively.
    pub first_core: u64,
    pub latency: Span,
    pub report_every: Span,
    /// Period of its offers; None if it sends none.
    pub offers_every: Option<Span>,
    /// Its charge for a booking.
    pub charge: Area,
    /// Systems of the topology that use it.
    pub systems: Vec<usize>,
    /// True if jobs share its nodes.
    pub is_shared: bool,
    /// True if its scheduler states which jobs backfilling starts.
    pub states_backfill: bool,
    /// Cost of resuming or moving a job there.
    pub move_cost: MoveCost,
}

/// Cores of a site used by a task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Used {
    Whole(u32),
    /// The sum of its shares.
    Shared(f64),
}

impl SiteFacts {
    pub fn of(topology: &Topology, site: &Site, actor: ActorId, first_core: u64) -> SiteFacts {
        SiteFacts {
            name: site.name.clone(),
            actor,
            cores: site.cores,
            speed: Speed(site.speed_millionths),
            kind: site.kind,
            first_core,
            latency: site.latency,
            report_every: site.report_every,
            offers_every: site.systems.iter().find_map(|system| topology.systems[*system].offers_every()),
            charge: site.terms.charge,
            systems: site.systems.clone(),
            is_shared: managers::shares_nodes(&site.scheduler),
            states_backfill: managers::states_backfill(&site.scheduler),
            move_cost: managers::move_cost(site),
        }
    }

    /// Time that a dedicated core takes for the work of one of a job's cores here, in a time and at a share. A job on
    /// shared nodes uses no more of them than it needs.
    pub fn dedicated_time(&self, needs: Option<Needs>, time: Span, share: f64) -> Span {
        if !self.is_shared {
            return time;
        }
        Span::from_micros((time.micros() as f64 * needs.unwrap_or(Needs::NODE).cpu * share) as u64)
    }

    /// Cores that a task used in a stint here; `cores` is its present number.
    pub fn used_cores(&self, row: &JobRow, cores: u32, stint: &Stint<'_>) -> Used {
        let cores = row.cores_in(cores, stint);
        if !self.is_shared {
            return Used::Whole(cores);
        }
        Used::Shared(f64::from(cores) * row.needs.unwrap_or(Needs::NODE).cpu * stint.share)
    }
}

impl Used {
    pub fn cores(self) -> f64 {
        match self {
            Used::Whole(cores) => cores.into(),
            Used::Shared(cores) => cores,
        }
    }

    /// Core microseconds in this duration.
    pub fn core_micros(self, micros: u128) -> u128 {
        match self {
            Used::Whole(cores) => u128::from(cores) * micros,
            Used::Shared(cores) => (cores * micros as f64).round() as u128,
        }
    }
}
