//! Sites for which a program outside decides: what a topology calls them. What they do is in `roles/outside/`.

use super::managers::{Kind, Runs, Tongue};
use super::{ActorError, ExternalDecider, Fails};
use crate::grid::{MoveCost, Named, Site};
use crate::roles::outside::{Decides, Managed};
use crate::roles::site::Manager;

const EXTERNAL: Named = Named { name: "external", about: "orders of an external program, in JSON lines" };
const OF_BATSIM: Named = Named { name: "batsim", about: "orders of a scheduler written for Batsim 4" };

pub const LINES: Kind = Kind {
    names: || vec![EXTERNAL],
    grammar: &[],
    pattern: "^external$",
    about: EXTERNAL.about,
    read: |name| (name == EXTERNAL.name).then(|| Ok(name.to_owned())),
    warning: |_| None,
    runs: Runs::Outside(Tongue::Lines),
    least_yield: |_| 0.0,
    move_cost: |_| MoveCost::default(),
    build,
};

pub const BATSIM: Kind = Kind {
    names: || vec![OF_BATSIM],
    grammar: &[],
    pattern: "^batsim$",
    about: OF_BATSIM.about,
    read: |name| (name == OF_BATSIM.name).then(|| Ok(name.to_owned())),
    warning: |_| None,
    runs: Runs::Outside(Tongue::Batsim),
    least_yield: |_| 0.0,
    move_cost: |_| MoveCost::default(),
    build,
};

fn build(site: &Site, fails: Option<&Fails>, decider: Option<ExternalDecider>) -> Result<Box<dyn Manager>, ActorError> {
    let decider = decider.and_then(|decider| decider.downcast::<Box<dyn Decides>>().ok());
    let decider = *decider.ok_or(ActorError::NoDecider)?;
    let attempts = fails.map(|fails| fails.attempts(site.cores));
    Ok(Box::new(Managed::new(decider, site.cores).recovering(attempts)))
}
