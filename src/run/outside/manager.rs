//! An external program as a manager of a site, in JSON lines.

use super::RunContext;
use super::lines::LineProgram;
use super::talk::{Talk, Trouble};
use hansa_sim::protocol::outside::manager::{ManagerAnswer, ManagerFacts, ManagerQuestion};
use hansa_sim::protocol::outside::{Advice, SiteEvent, SiteLine};
use hansa_sim::roles::outside::Decides;
use hansa_sim::systems::ExternalDecider;
use hansa_sim::time::Time;

pub fn greet_manager(around: &RunContext<'_>, talk: Talk, site: usize) -> Result<ExternalDecider, Trouble> {
    let site = &around.topology.sites[site];
    let site = SiteLine { name: &site.name, nodes: site.cores };
    let decider: Box<dyn Decides> =
        Box::new(LineProgram::greet_program(around, talk, "manager", ManagerFacts { site })?);
    Ok(Box::new(decider))
}

impl Decides for LineProgram {
    fn decide_on_events(&mut self, now: Time, happened: &[(Time, SiteEvent)]) -> Advice {
        self.request_answer(now, ManagerQuestion::new(happened), |answer: ManagerAnswer| answer.advice(now))
    }
}
