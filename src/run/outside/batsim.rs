//! A scheduler for Batsim as a manager of a site.
//!
//! A scheduler that Hansa starts gets a socket of this machine in a folder of its own, so no two programs need one
//! port, and no other process can call it. It gets the begin of the simulation before the run begins, and its end after
//! the last question.

use std::time::Duration;

use serde_json::Value;

use super::program_link::{ProgramLink, Trouble};
use super::{ProgramFault, RunContext};
use crate::run_dir::RunDir;
use hansa_sim::grid::Endpoint;
use hansa_sim::protocol::outside::batsim::{BatsimReply, begin_message, end_message, events_message};
use hansa_sim::protocol::outside::{Decision, SiteEvent};
use hansa_sim::roles::outside::{CheckedProgram, ManagerProgram};
use hansa_sim::systems::ExternalDecider;
use hansa_sim::time::Time;

const EXPECTED: &str =
    r#"{"now":60.0,"events":[{"timestamp":60.0,"type":"EXECUTE_JOB","data":{"job_id":"w0!0","alloc":"0-3"}}]}"#;

/// Time limit for a scheduler to take the end of the simulation.
const GOODBYE_WITHIN: Duration = Duration::from_secs(1);

pub struct BegunBatsim {
    link: ProgramLink,
    site: usize,
    dir: Option<RunDir>,
}

/// A word of a command with the name of the site that it is started for.
pub fn insert_site(word: &str, site: &str) -> String {
    word.replace("{site}", site)
}

pub fn begin_batsim(context: &RunContext<'_>, name: String, site: usize) -> Result<BegunBatsim, String> {
    let described = &context.topology.sites[site];
    let program = &described.program;
    let (dir, socket) = if program.socket.is_empty() {
        let dir = RunDir::new().map_err(|failure| failure.to_string())?;
        let socket = format!("ipc://{}", dir.path.join("batsim").display());
        (Some(dir), socket)
    } else {
        (None, program.socket.clone())
    };
    let endpoint = Endpoint::parse(&socket).ok_or_else(|| format!("{name} cannot listen at {socket}"))?;
    let command: Vec<String> = context
        .resolve_command(&program.command)
        .into_iter()
        .map(|word| insert_site(&word.replace("{socket}", &socket), &described.name))
        .collect();
    let timeout = Duration::from_micros(program.timeout.micros());
    let link = ProgramLink::over_socket(name, &command, &endpoint, timeout, context.stop)?;
    Ok(BegunBatsim { link, site, dir })
}

pub fn greet_batsim(context: &RunContext<'_>, begun: BegunBatsim) -> Result<ExternalDecider, Trouble> {
    let BegunBatsim { link, site, dir } = begun;
    let site = &context.topology.sites[site];
    let fault = context.fault.clone();
    let mut program = BatsimProgram { link, fault, begun: None, last: Time::ZERO, ends_well: false, _dir: dir };
    program.begun = Some(program.request_decision(Time::ZERO, &begin_message(&site.name, site.cores))?);
    program.ends_well = true;
    let decider: Box<dyn ManagerProgram> = Box::new(program);
    Ok(Box::new(decider))
}

struct BatsimProgram {
    link: ProgramLink,
    fault: ProgramFault,
    /// Orders that the program has given before any event.
    begun: Option<Decision>,
    /// Time of the last question.
    last: Time,
    /// True if the program gets a message at the end of the run.
    ends_well: bool,
    _dir: Option<RunDir>,
}

impl BatsimProgram {
    fn request_decision(&mut self, now: Time, message: &Value) -> Result<Decision, Trouble> {
        self.last = now;
        let reply: BatsimReply = self.link.request_json(message, EXPECTED)?;
        reply.decision(now).map_err(|wrong| self.link.fault_text(&wrong).into())
    }
}

impl ManagerProgram for BatsimProgram {
    fn initial_actions(&mut self) -> Decision {
        self.begun.take().unwrap_or_default()
    }

    fn decide_on_events(&mut self, now: Time, happened: &[(Time, SiteEvent)]) -> Decision {
        self.request_decision(now, &events_message(now, happened)).unwrap_or_else(|trouble| {
            self.fault.record_trouble(trouble, now);
            Decision::default()
        })
    }

    /// False: Batsim's protocol cannot take a job back.
    fn accepts_recalls(&self) -> bool {
        false
    }
}

impl CheckedProgram for BatsimProgram {
    fn refuse_answer(&mut self, now: Time, why: &str) {
        self.fault.record_trouble(self.link.fault_text(why).into(), now);
    }

    fn has_failed(&self) -> bool {
        self.fault.is_set()
    }
}

impl Drop for BatsimProgram {
    /// Tells it that the simulation is over, if it still listens: its answer comes too late.
    fn drop(&mut self) {
        if self.ends_well && !self.fault.is_set() {
            self.link.limit_wait(GOODBYE_WITHIN);
            let _: Result<Value, Trouble> = self.link.request_json(&end_message(self.last), EXPECTED);
        }
    }
}
