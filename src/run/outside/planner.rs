//! An external program as a planner of a user, in JSON lines.

use super::RunContext;
use super::lines::LineProgram;
use super::program_link::{ProgramLink, Trouble};
use hansa_sim::protocol::outside::SiteLine;
use hansa_sim::protocol::outside::planner::{PlannerAnswer, PlannerFacts, PlannerQuestion, UserAction, UserEvent};
use hansa_sim::roles::outside::Plans;
use hansa_sim::systems::ExternalDecider;
use hansa_sim::time::Time;
use hansa_sim::topology::for_planners;

pub fn greet_planner(context: &RunContext<'_>, link: ProgramLink, user: usize) -> Result<ExternalDecider, Trouble> {
    let topology = context.topology;
    let sites = for_planners(topology).map(|site| &topology.sites[site]);
    let sites = sites.map(|site| SiteLine { name: &site.name, nodes: site.cores }).collect();
    let facts = PlannerFacts { user: &topology.users[user].name, sites };
    let decider: Box<dyn Plans> = Box::new(LineProgram::greet_program(context, link, "planner", facts)?);
    Ok(Box::new(decider))
}

impl Plans for LineProgram {
    fn plan_actions(&mut self, now: Time, events: &[UserEvent]) -> Vec<UserAction> {
        self.request_answer(now, PlannerQuestion::new(events), PlannerAnswer::decision)
    }
}
