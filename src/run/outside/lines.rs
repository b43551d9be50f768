//! A program that talks in JSON lines over its standard input and output, in any role.

use std::time::Duration;

use serde::Serialize;

use super::program_link::{ProgramLink, Trouble};
use super::{ProgramFault, RunContext};
use hansa_sim::grid::Program;
use hansa_sim::protocol::outside::{Answer, Hello, HelloAnswer, Question, VERSION};
use hansa_sim::roles::outside::CheckedProgram;
use hansa_sim::time::Time;

const HELLO: &str = r#"{"type":"hello","version":1}"#;

/// Starts a program.
pub fn start_program(context: &RunContext<'_>, name: String, program: &Program) -> Result<ProgramLink, String> {
    let timeout = Duration::from_micros(program.timeout.micros());
    ProgramLink::over_pipes(name, &context.resolve_command(&program.command), timeout, context.stop)
}

/// A program that has been greeted.
pub struct LineProgram {
    link: ProgramLink,
    /// Number of requests so far.
    asked: u64,
    fault: ProgramFault,
}

impl LineProgram {
    /// Greets a program with the facts for its role.
    pub fn greet_program(
        context: &RunContext<'_>,
        mut link: ProgramLink,
        role: &'static str,
        facts: impl Serialize,
    ) -> Result<LineProgram, Trouble> {
        let hello = Hello::new(role, &context.topology.name, context.topology.seed, facts);
        let answer: HelloAnswer = link.request_json(&hello, HELLO)?;
        match answer.version {
            VERSION => Ok(LineProgram { link, asked: 0, fault: context.fault.clone() }),
            other => {
                let text = format!(
                    "speaks version {other} of the protocol, but this version of Hansa speaks version {VERSION}"
                );
                Err(link.fault_text(&text).into())
            }
        }
    }

    /// Asks a question, and returns what `read` makes of the answer. After a fault, which is noted, that is nothing.
    pub fn request_answer<A: Answer, T: Default>(
        &mut self,
        now: Time,
        content: impl Serialize,
        read: impl FnOnce(A) -> Result<T, String>,
    ) -> T {
        let answer = self.read_answer(now, content);
        let read = answer.and_then(|answer| read(answer).map_err(|wrong| self.link.fault_text(&wrong).into()));
        read.unwrap_or_else(|trouble| {
            self.fault.record_trouble(trouble, now);
            T::default()
        })
    }

    fn read_answer<A: Answer>(&mut self, now: Time, content: impl Serialize) -> Result<A, Trouble> {
        self.asked += 1;
        let answer: A = self.link.request_json(&Question::new(A::KIND, self.asked, now, content), A::EXAMPLE)?;
        match answer.question_number() {
            same if same == self.asked => Ok(answer),
            other => Err(self
                .link
                .fault_text(&format!("answers question {other} when asked question {}", self.asked))
                .into()),
        }
    }
}

impl CheckedProgram for LineProgram {
    fn refuse_answer(&mut self, now: Time, why: &str) {
        self.fault.record_trouble(self.link.fault_text(why).into(), now);
    }

    fn has_failed(&self) -> bool {
        self.fault.is_set()
    }
}
