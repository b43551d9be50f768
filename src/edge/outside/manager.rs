//! An external program as a manager of a site, in JSON lines.

use std::time::Duration;

use super::talk::{Talk, Trouble};
use super::{ProgramFault, RunContext, ask, say_hello};
use crate::protocol::outside::manager::{ManagerAnswer, ManagerHello, ManagerQuestion};
use crate::protocol::outside::{Advice, SiteEvent, SiteLine};
use crate::roles::outside::Decides;
use crate::systems::ExternalDecider;
use crate::time::Time;

const EXPECTED: &str = r#"{"type":"manage","ask":1,"orders":[{"order":"start","job":0,"nodes":"0-3"}]}"#;

pub struct BegunManager {
    talk: Talk,
    site: usize,
}

pub fn begin(around: &RunContext<'_>, who: String, site: usize) -> Result<BegunManager, String> {
    let program = &around.topology.sites[site].program;
    let timeout = Duration::from_micros(program.timeout.micros());
    let talk = Talk::over_pipes(who, &around.found(&program.command), timeout, around.stop)?;
    Ok(BegunManager { talk, site })
}

pub fn greet(around: &RunContext<'_>, begun: BegunManager) -> Result<ExternalDecider, Trouble> {
    let BegunManager { mut talk, site } = begun;
    let topology = around.topology;
    let site = &topology.sites[site];
    let site = SiteLine { name: &site.name, nodes: site.cores };
    say_hello(&mut talk, &ManagerHello::new(&topology.name, topology.seed, site))?;
    let decider: Box<dyn Decides> = Box::new(ManagerProgram { talk, asked: 0, fault: around.fault.clone() });
    Ok(Box::new(decider))
}

struct ManagerProgram {
    talk: Talk,
    asked: u64,
    fault: ProgramFault,
}

impl ManagerProgram {
    fn question(&mut self, now: Time, happened: &[(Time, SiteEvent)]) -> Result<Advice, Trouble> {
        self.asked += 1;
        let question = ManagerQuestion::new(self.asked, now, happened);
        let answer = ask(&mut self.talk, self.asked, &question, EXPECTED, |answer: &ManagerAnswer| answer.ask)?;
        answer.advice(now).map_err(|wrong| self.talk.wrong(&wrong).into())
    }
}

impl Decides for ManagerProgram {
    fn decide(&mut self, now: Time, happened: &[(Time, SiteEvent)]) -> Advice {
        self.question(now, happened).unwrap_or_else(|trouble| {
            self.fault.note(trouble, now);
            Advice::default()
        })
    }

    fn refuse(&mut self, now: Time, why: &str) {
        self.fault.note(self.talk.wrong(why).into(), now);
    }

    fn has_failed(&self) -> bool {
        self.fault.is_set()
    }
}
