//! Questions to a program and its answers, over any channel: one at a time, each with a time limit.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::ChildStdin;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Stop;
use super::program::{ANSWER_MAX, Over, Running};
use super::starting::cannot_start;
use super::zmtp::{Caller, Requester};
use crate::spawn_thread;
use hansa_sim::grid::Endpoint;
use hansa_sim::protocol::outside::shorten_output;

/// Time limit for a program to leave when the run is over.
const LEAVE_WITHIN: Duration = Duration::from_secs(1);

/// Period in which a wait for an answer checks whether the run is to end.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Reason why there is no answer.
pub enum Trouble {
    /// The run is to end.
    Stopped,
    /// A fault of the program.
    Fault(String),
}

impl From<String> for Trouble {
    fn from(text: String) -> Trouble {
        Trouble::Fault(text)
    }
}

/// A program in conversation.
pub struct ProgramLink {
    /// The program, and the actor it decides for.
    name: String,
    running: Option<Running>,
    stop: Stop,
    /// Questions go out through a thread, so that a program that does not read cannot hold up the run for ever.
    questions: Option<SyncSender<Vec<u8>>>,
    answers: Receiver<Result<String, String>>,
    timeout: Duration,
    /// Ends the thread that waits at a socket.
    caller: Option<Caller>,
}

impl ProgramLink {
    /// Starts a program and talks to it over its standard input and output, one line each.
    pub fn over_pipes(name: String, words: &[String], timeout: Duration, stop: &Stop) -> Result<ProgramLink, String> {
        let mut running = Running::start(words, Over::Pipes).map_err(|error| cannot_start(&name, &words[0], &error))?;
        let (stdin, stdout) = running.take_pipes();
        let (questions, to_send) = sync_channel(1);
        let (received, answers) = sync_channel(1);
        spawn_thread("questions", move || send_lines(stdin, &to_send))
            .and_then(|_| spawn_thread("answers", move || receive_lines(BufReader::new(stdout), &received)))
            .map_err(|error| cannot_start(&name, &words[0], &error))?;
        let running = Some(running);
        let questions = Some(questions);
        let stop = stop.clone();
        Ok(ProgramLink { name, running, stop, questions, answers, timeout, caller: None })
    }

    /// Calls a program that listens, or will do so soon, if these words start it.
    pub fn over_socket(
        name: String,
        words: &[String],
        endpoint: &Endpoint,
        timeout: Duration,
        stop: &Stop,
    ) -> Result<ProgramLink, String> {
        let running = (!words.is_empty())
            .then(|| Running::start(words, Over::Socket).map_err(|error| cannot_start(&name, &words[0], &error)))
            .transpose()?;
        // It gives up first, as it knows the reason.
        let caller = Caller::new(endpoint.clone(), timeout.mul_f64(0.9));
        let (questions, to_send) = sync_channel(1);
        let (received, answers) = sync_channel(1);
        let calling = caller.clone();
        spawn_thread("caller", move || relay_questions(&calling, &to_send, &received))
            .map_err(|error| format!("{name}: {error}"))?;
        let questions = Some(questions);
        let caller = Some(caller);
        let stop = stop.clone();
        Ok(ProgramLink { name, running, stop, questions, answers, timeout, caller })
    }

    /// Asks, and reads an answer in JSON; `expected` is an example of one.
    pub fn request_json<T: DeserializeOwned>(
        &mut self,
        question: &impl Serialize,
        expected: &str,
    ) -> Result<T, Trouble> {
        let question = serde_json::to_vec(question)
            .map_err(|error| self.fault_text(&format!("cannot be sent a question: {error}")))?;
        let answer = self.answer_to(question)?;
        serde_json::from_str(&answer).map_err(|error| {
            let text = format!(
                "answers `{}`, which is not a valid answer (expected one like {expected}): {error}",
                shorten_output(&answer)
            );
            self.fault_text(&text).into()
        })
    }

    fn answer_to(&mut self, question: Vec<u8>) -> Result<String, Trouble> {
        let began = Instant::now();
        match self.answers.try_recv() {
            Ok(Ok(early)) => {
                return Err(self
                    .fault_text(&format!("writes `{}` without having been asked", shorten_output(&early)))
                    .into());
            }
            Ok(Err(fault)) => return Err(self.ended_or(&fault).into()),
            Err(_) => {}
        }
        match self.questions.as_ref().map(|questions| questions.try_send(question)) {
            Some(Ok(())) => {}
            Some(Err(TrySendError::Full(_))) => return Err(self.fault_text("does not read its input").into()),
            Some(Err(TrySendError::Disconnected(_))) | None => {
                // The reason was the last answer.
                let why = match self.answers.try_recv() {
                    Ok(Err(fault)) => self.ended_or(&fault),
                    _ => self.gone_reason(),
                };
                return Err(why.into());
            }
        }
        loop {
            let Some(left) = self.timeout.checked_sub(began.elapsed()) else {
                return Err(self
                    .fault_text(&format!("has not answered within {} s", self.timeout.as_secs_f64()))
                    .into());
            };
            match self.answers.recv_timeout(left.min(LOOK_EVERY)) {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(fault)) => return Err(self.ended_or(&fault).into()),
                Err(RecvTimeoutError::Timeout) if self.stop.load(Ordering::Relaxed) => return Err(Trouble::Stopped),
                // At a socket nothing else shows that it is gone.
                Err(RecvTimeoutError::Timeout) if self.caller.is_some() && self.has_ended() => {
                    return Err(self.gone_reason().into());
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(self.gone_reason().into()),
            }
        }
    }

    pub fn fault_text(&self, what: &str) -> String {
        format!("{} {what}", self.name)
    }

    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Limits the wait for answers from now on.
    pub fn limit_wait(&mut self, timeout: Duration) {
        self.timeout = self.timeout.min(timeout);
    }

    fn has_ended(&mut self) -> bool {
        self.running.as_mut().is_some_and(|running| running.exit_status().is_some())
    }

    /// Description of a program that answers no more.
    fn gone_reason(&mut self) -> String {
        let what = match self.caller {
            Some(_) => "has closed the connection before the run was over",
            None => "has closed its standard input or output before the run was over",
        };
        self.ended_or(what)
    }

    /// Returns this description, unless the program has ended, which explains more.
    fn ended_or(&mut self, what: &str) -> String {
        // Its output is closed; it is about to end, or continues without output.
        for _ in 0..20 {
            let Some(running) = &mut self.running else { break };
            if let Some(status) = running.exit_status() {
                let last = running.last_words();
                let last = if last.is_empty() {
                    last
                } else {
                    format!("; the last line that it printed: `{}`", shorten_output(&last))
                };
                return self.fault_text(&format!("has ended before the run was over ({status}){last}"));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        self.fault_text(what)
    }
}

impl Drop for ProgramLink {
    /// The end of its input tells it to leave; a program that stays is killed.
    fn drop(&mut self) {
        drop(self.questions.take());
        self.caller.iter().for_each(Caller::hang_up);
        let within = if self.is_stopped() { LEAVE_WITHIN / 10 } else { LEAVE_WITHIN };
        self.running.iter_mut().for_each(|running| running.end(within));
    }
}

fn send_lines(mut stdin: ChildStdin, lines: &Receiver<Vec<u8>>) {
    while let Ok(mut line) = lines.recv() {
        line.push(b'\n');
        // A program that does not take its lines will not answer either.
        if stdin.write_all(&line).and_then(|()| stdin.flush()).is_err() {
            return;
        }
    }
}

fn receive_lines(mut stdout: impl BufRead, received: &SyncSender<Result<String, String>>) {
    loop {
        let mut line = Vec::new();
        let line = match stdout.by_ref().take(ANSWER_MAX).read_until(b'\n', &mut line) {
            Ok(0) => return,
            Ok(length) if length as u64 == ANSWER_MAX => Err("sends a line that is too long".to_owned()),
            Ok(_) => in_words(line),
            Err(error) => Err(format!("cannot be read from: {error}")),
        };
        if received.send(line).is_err() {
            return;
        }
    }
}

fn relay_questions(caller: &Caller, questions: &Receiver<Vec<u8>>, received: &SyncSender<Result<String, String>>) {
    let mut requester = match caller.connect_with_retries().and_then(Requester::greet_peer) {
        Ok(requester) => requester,
        Err(wrong) => return drop(received.send(Err(wrong))),
    };
    while let Ok(question) = questions.recv() {
        let line = requester.send_request(&question).and_then(in_words);
        let ends = line.is_err();
        if received.send(line).is_err() || ends {
            return;
        }
    }
}

fn in_words(line: Vec<u8>) -> Result<String, String> {
    String::from_utf8(line).map_err(|_| "sends text that is not UTF-8".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Either the question or the fault may come first, depending on the threads.
    #[test]
    fn a_failure_before_any_question_is_reported_in_the_same_words() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = Endpoint::parse(&format!("tcp://{}", listener.local_addr().unwrap())).unwrap();
        let web = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
            let _ = std::io::copy(&mut stream, &mut std::io::sink());
        });
        let timeout = Duration::from_secs(30);
        let mut link = ProgramLink::over_socket("it".to_owned(), &[], &endpoint, timeout, &Stop::default()).unwrap();
        // By then the thread that has called it is long done.
        std::thread::sleep(Duration::from_millis(300));
        let Err(Trouble::Fault(line)) = link.request_json::<serde_json::Value>(&"how are you?", "an answer") else {
            panic!("it cannot answer")
        };
        assert!(line.starts_with("it does not speak ZeroMQ's protocol"), "{line}");
        drop(link);
        web.join().unwrap();
    }
}
