//! An external program as a manager of a site, in JSON lines.

use super::RunContext;
use super::lines::LineProgram;
use super::program_link::{ProgramLink, Trouble};
use hansa_sim::protocol::outside::manager::{ManagerAnswer, ManagerFacts, ManagerQuestion};
use hansa_sim::protocol::outside::{Decision, SiteEvent, SiteLine};
use hansa_sim::roles::outside::ManagerProgram;
use hansa_sim::systems::ExternalDecider;
use hansa_sim::time::Time;

pub fn greet_manager(context: &RunContext<'_>, link: ProgramLink, site: usize) -> Result<ExternalDecider, Trouble> {
    let site = &context.topology.sites[site];
    let site = SiteLine { name: &site.name, nodes: site.cores };
    let decider: Box<dyn ManagerProgram> =
        Box::new(LineProgram::greet_program(context, link, "manager", ManagerFacts { site })?);
    Ok(Box::new(decider))
}

impl ManagerProgram for LineProgram {
    fn decide_on_events(&mut self, now: Time, happened: &[(Time, SiteEvent)]) -> Decision {
        self.request_answer(now, ManagerQuestion::new(happened), |answer: ManagerAnswer| answer.decision(now))
    }
}
