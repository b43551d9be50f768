//! A program that talks in JSON lines over its standard input and output, in any role.

use std::time::Duration;

use serde::Serialize;

use super::talk::{Talk, Trouble};
use super::{ProgramFault, RunContext};
use hansa_sim::grid::Program;
use hansa_sim::protocol::outside::{Answer, Hello, HelloAnswer, Question, VERSION};
use hansa_sim::roles::outside::CheckedProgram;
use hansa_sim::time::Time;

const HELLO: &str = r#"{"type":"hello","version":1}"#;

/// Starts a program.
pub fn start_program(around: &RunContext<'_>, who: String, program: &Program) -> Result<Talk, String> {
    let timeout = Duration::from_micros(program.timeout.micros());
    Talk::over_pipes(who, &around.resolve_command(&program.command), timeout, around.stop)
}

/// A program that has been greeted.
pub struct LineProgram {
    talk: Talk,
    /// Number of questions so far.
    asked: u64,
    fault: ProgramFault,
}

impl LineProgram {
    /// Greets a program with the facts for its role.
    pub fn greet_program(
        around: &RunContext<'_>,
        mut talk: Talk,
        role: &'static str,
        facts: impl Serialize,
    ) -> Result<LineProgram, Trouble> {
        let hello = Hello::new(role, &around.topology.name, around.topology.seed, facts);
        let answer: HelloAnswer = talk.request_json(&hello, HELLO)?;
        match answer.version {
            VERSION => Ok(LineProgram { talk, asked: 0, fault: around.fault.clone() }),
            other => {
                let text = format!(
                    "speaks version {other} of the protocol, but this version of Hansa speaks version {VERSION}"
                );
                Err(talk.fault_text(&text).into())
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
        let read = answer.and_then(|answer| read(answer).map_err(|wrong| self.talk.fault_text(&wrong).into()));
        read.unwrap_or_else(|trouble| {
            self.fault.record_trouble(trouble, now);
            T::default()
        })
    }

    fn read_answer<A: Answer>(&mut self, now: Time, content: impl Serialize) -> Result<A, Trouble> {
        self.asked += 1;
        let answer: A = self.talk.request_json(&Question::new(A::KIND, self.asked, now, content), A::EXAMPLE)?;
        match answer.question_number() {
            same if same == self.asked => Ok(answer),
            other => Err(self
                .talk
                .fault_text(&format!("answers question {other} when asked question {}", self.asked))
                .into()),
        }
    }
}

impl CheckedProgram for LineProgram {
    fn refuse_answer(&mut self, now: Time, why: &str) {
        self.fault.record_trouble(self.talk.fault_text(why).into(), now);
    }

    fn has_failed(&self) -> bool {
        self.fault.is_set()
    }
}
