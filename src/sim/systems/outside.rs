//! Sites for which a program outside decides: what a topology calls them. What they do is in `roles/outside/`.

use super::managers::{Execution, ManagerRow, ProgramProtocol};
use super::{ActorError, ExternalDecider, Fails};
use crate::grid::{MoveCost, Named, Site};
use crate::roles::outside::{ManagerProgram, ProgramManager};
use crate::roles::site::Manager;

const EXTERNAL: Named = Named { name: "external", about: "orders of an external program, in JSON lines" };
const OF_BATSIM: Named = Named { name: "batsim", about: "orders of a scheduler written for Batsim 4" };
const OF_SLURM: Named = Named { name: "slurm", about: "a real Slurm, in virtual time" };

pub const LINES: ManagerRow = ManagerRow {
    names: || vec![EXTERNAL],
    grammar: &[],
    pattern: "^external$",
    about: EXTERNAL.about,
    read: |name| (name == EXTERNAL.name).then(|| Ok(name.to_owned())),
    warning: |_| None,
    runs: Execution::Outside(ProgramProtocol::Lines),
    least_yield: |_| 0.0,
    move_cost: |_| MoveCost::default(),
    build: build_manager,
};

pub const BATSIM: ManagerRow = ManagerRow {
    names: || vec![OF_BATSIM],
    grammar: &[],
    pattern: "^batsim$",
    about: OF_BATSIM.about,
    read: |name| (name == OF_BATSIM.name).then(|| Ok(name.to_owned())),
    warning: |_| None,
    runs: Execution::Outside(ProgramProtocol::Batsim),
    least_yield: |_| 0.0,
    move_cost: |_| MoveCost::default(),
    build: build_manager,
};

pub const SLURM: ManagerRow = ManagerRow {
    names: || vec![OF_SLURM],
    grammar: &[],
    pattern: "^slurm$",
    about: OF_SLURM.about,
    read: |name| (name == OF_SLURM.name).then(|| Ok(name.to_owned())),
    warning: |_| Some(UNREPEATED.to_owned()),
    runs: Execution::Outside(ProgramProtocol::Slurm),
    least_yield: |_| 0.0,
    move_cost: |_| MoveCost::default(),
    build: build_manager,
};

const UNREPEATED: &str = "Slurm's daemons race with each other, so another run may start a job a second later or \
                          elsewhere, and then has another digest; hansa compare counts such jobs";

fn build_manager(
    site: &Site,
    fails: Option<&Fails>,
    decider: Option<ExternalDecider>,
) -> Result<Box<dyn Manager>, ActorError> {
    let decider = decider.and_then(|decider| decider.downcast::<Box<dyn ManagerProgram>>().ok());
    let decider = *decider.ok_or(ActorError::NoDecider)?;
    let attempts = fails.map(|fails| fails.attempts(site.cores));
    Ok(Box::new(ProgramManager::new(decider, site.cores).recovering(attempts)))
}
