//! An external program as a planner of a user, in JSON lines.

use std::time::Duration;

use super::talk::{Talk, Trouble};
use super::{ProgramFault, RunContext, ask, say_hello};
use crate::protocol::outside::SiteLine;
use crate::protocol::outside::planner::{PlannerAnswer, PlannerHello, PlannerQuestion, UserAction, UserEvent};
use crate::roles::outside::Plans;
use crate::systems::ExternalDecider;
use crate::time::Time;
use crate::topology::for_planners;

const EXPECTED: &str = r#"{"type":"plan","ask":1,"orders":[{"order":"submit","job":0,"site":null}]}"#;

pub struct BegunPlanner {
    talk: Talk,
    user: usize,
}

pub fn begin(around: &RunContext<'_>, who: String, user: usize) -> Result<BegunPlanner, String> {
    let program = &around.topology.users[user].program;
    let timeout = Duration::from_micros(program.timeout.micros());
    let talk = Talk::over_pipes(who, &around.found(&program.command), timeout, around.stop)?;
    Ok(BegunPlanner { talk, user })
}

pub fn greet(around: &RunContext<'_>, begun: BegunPlanner) -> Result<ExternalDecider, Trouble> {
    let BegunPlanner { mut talk, user } = begun;
    let topology = around.topology;
    let sites = for_planners(topology).map(|site| &topology.sites[site]);
    let sites = sites.map(|site| SiteLine { name: &site.name, nodes: site.cores }).collect();
    say_hello(&mut talk, &PlannerHello::new(&topology.name, topology.seed, &topology.users[user].name, sites))?;
    let decider: Box<dyn Plans> = Box::new(PlannerProgram { talk, asked: 0, fault: around.fault.clone() });
    Ok(Box::new(decider))
}

struct PlannerProgram {
    talk: Talk,
    asked: u64,
    fault: ProgramFault,
}

impl PlannerProgram {
    fn question(&mut self, now: Time, heard: &[UserEvent]) -> Result<Vec<UserAction>, Trouble> {
        self.asked += 1;
        let question = PlannerQuestion::new(self.asked, now, heard);
        let answer = ask(&mut self.talk, self.asked, &question, EXPECTED, |answer: &PlannerAnswer| answer.ask)?;
        answer.advice().map_err(|wrong| self.talk.wrong(&wrong).into())
    }
}

impl Plans for PlannerProgram {
    fn plan(&mut self, now: Time, heard: &[UserEvent]) -> Vec<UserAction> {
        self.question(now, heard).unwrap_or_else(|trouble| {
            self.fault.note(trouble, now);
            Vec::new()
        })
    }

    fn refuse(&mut self, now: Time, why: &str) {
        self.fault.note(self.talk.wrong(why).into(), now);
    }

    fn has_failed(&self) -> bool {
        self.fault.is_set()
    }
}
