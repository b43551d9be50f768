//! A bid policy that is another program: any language, JSON lines over its standard input and output.
//!
//! The run waits for every answer, so the program bids in virtual time, and the run is as deterministic as its answers
//! are. `docs/bidder.md` describes the conversation. Whatever goes wrong (the program cannot be started, dies, keeps
//! silent, talks nonsense) ends the run with an error that names it; until then nobody is placed any more.
//!
//! The program and all that it starts are a process group of their own: what a terminal sends to ours does not reach it,
//! and when we are gone, however we went, a shell that holds the end of a pipe ends it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde::{Deserialize, Serialize};

use super::Failure;
use crate::grid::{JobId, TaskId, Worth};
use crate::systems::Outsider;
use crate::systems::market::bid::{BidPolicy, Bidder, Course, Instant, Winner};
use crate::systems::market::{AskWhen, BestBid, Foreign, Market};
use crate::time::Span;
use crate::topology::{Input, Site, Topology, beside};

/// The version of the conversation.
pub const VERSION: u32 = 1;

/// The longest line that a bidder may send.
const LINE_MAX: u64 = 64 << 20;

/// How long a bidder may take to leave when the run is over.
const LEAVE_WITHIN: Duration = Duration::from_secs(1);

/// How often somebody who waits for an answer looks whether the run is to end.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Goes up when a run is to end, for whatever reason.
pub type Stop = Arc<AtomicBool>;

/// Looks for what went wrong with a bidder, from outside of the actor that owns it.
#[derive(Clone, Debug)]
pub struct Fault {
    text: Arc<Mutex<Option<String>>>,
    stop: Stop,
}

impl Fault {
    pub fn take(&self) -> Option<Failure> {
        self.text.lock().ok()?.take().map(Failure::Bidder)
    }

    /// How a run ended: the bidder's fault goes before whatever came of it.
    pub fn or(&self, end: Result<(), Failure>) -> Result<(), Failure> {
        match (self.take(), end) {
            (Some(failure), _) => Err(failure),
            // Nobody was placed once the run was to end, so this is no end of its own.
            (None, Ok(())) if self.stop.load(Ordering::Relaxed) => Err(interrupted()),
            (None, end) => end,
        }
    }

    fn set(&self, text: String) {
        if let Ok(mut fault) = self.text.lock() {
            fault.get_or_insert(text);
        }
    }

    fn is_set(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.text.lock().is_ok_and(|fault| fault.is_some())
    }
}

fn interrupted() -> Failure {
    Failure::Interrupted("interrupted".to_owned())
}

/// The bidder that a topology asks for.
pub fn wanted(topology: &Topology) -> Option<&Foreign> {
    topology.settings::<Market>()?.bidder.as_ref()
}

/// The files that a bidder's command names: they decide what it bids.
pub fn files(topology: &Topology, written_in: &str) -> Vec<Input> {
    let words = wanted(topology).map_or(&[][..], |foreign| &foreign.command);
    let file = |word: &String| {
        let path = found(word, written_in);
        let bytes = std::fs::metadata(&path).ok().filter(Metadata::is_file).and_then(|_| std::fs::read(&path).ok())?;
        Some(Input::of(&path, &bytes))
    };
    words.iter().filter_map(file).collect()
}

/// A word of the command, where it names a file beside the topology's: the path of that, as of a log.
fn found(word: &str, written_in: &str) -> String {
    let path = beside(written_in, word);
    match Path::new(&path).is_file() {
        // Without a folder it would be looked for among the system's programs.
        true if !path.contains('/') => format!("./{path}"),
        true => path,
        false => word.to_owned(),
    }
}

/// Starts the bidder that a topology asks for, if it does. It is no longer waited for once `stop` goes up.
pub fn start(topology: &Topology, written_in: &str, stop: &Stop) -> Result<(Option<Outsider>, Fault), Failure> {
    let fault = Fault { text: Arc::default(), stop: stop.clone() };
    let Some(foreign) = wanted(topology) else {
        return Ok((None, fault));
    };
    let tick = topology.settings().map_or(Span::ZERO, |market: &Market| market.tick);
    let command: Vec<String> = foreign.command.iter().map(|word| found(word, written_in)).collect();
    let mut talk = Talk::begin(foreign, &command, stop.clone()).map_err(Failure::Bidder)?;
    let site = |site: &'_ Site| SiteLine {
        name: site.name.clone(),
        cores: site.cores,
        kind: topology.kinds[usize::from(site.kind.0)].clone(),
    };
    let hello = Hello {
        kind: "hello",
        version: VERSION,
        topology: &topology.name,
        seed: topology.seed,
        ask: foreign.ask.word(),
        winner: foreign.winner.word(),
        tick: seconds(tick.micros()),
        sites: topology.sites.iter().map(site).collect(),
    };
    let answer: HelloAnswer = talk.ask(&hello).map_err(|trouble| match trouble {
        Trouble::Stopped => interrupted(),
        Trouble::Fault(text) => Failure::Bidder(text),
    })?;
    if answer.version != VERSION {
        let text = format!("speaks version {} of the conversation, and this is version {VERSION}", answer.version);
        return Err(Failure::Bidder(talk.wrong(&text)));
    }
    let bidder = Program {
        winner: match foreign.winner {
            BestBid::Smallest => Winner::Smallest,
            BestBid::Largest => Winner::Largest,
        },
        course: match foreign.ask {
            AskWhen::Once => Course::Fixed,
            AskWhen::Always => Course::Redrawn,
        },
        kinds: topology.kinds.clone(),
        talk: RefCell::new(talk),
        known: RefCell::default(),
        asked: RefCell::default(),
        fault: fault.clone(),
    };
    // As the market knows it.
    let bidder: Box<dyn BidPolicy> = Box::new(bidder);
    Ok((Some(Box::new(bidder)), fault))
}

/// The program in the place of a policy.
struct Program {
    winner: Winner,
    course: Course,
    kinds: Vec<String>,
    talk: RefCell<Talk>,
    /// The last bid of every task that the program has been told of.
    known: RefCell<BTreeMap<TaskId, f64>>,
    asked: RefCell<u64>,
    fault: Fault,
}

impl Program {
    fn question(&self, bidders: &[Bidder<'_>], at: &Instant) -> Result<(), Trouble> {
        let mut known = self.known.borrow_mut();
        let id = |bidder: &Bidder<'_>| TaskId { job: bidder.job.id, index: bidder.task as u32 };
        let number = {
            let mut asked = self.asked.borrow_mut();
            *asked += 1;
            *asked
        };
        let new = bidders.iter().filter(|bidder| !known.contains_key(&id(bidder)));
        let question = Question {
            kind: "bids",
            ask: number,
            t: seconds(at.now.micros()),
            new: new.map(|bidder| TaskLine::of(bidder, &self.kinds)).collect(),
            queue: bidders.iter().map(|bidder| id(bidder).to_string()).collect(),
        };
        let mut talk = self.talk.borrow_mut();
        let answer: Answer = talk.ask(&question)?;
        if answer.ask != number {
            let text = format!("answers question {} when asked question {number}", answer.ask);
            return Err(talk.wrong(&text).into());
        }
        if answer.bids.len() != bidders.len() {
            let text = format!("gives {} bids for {} tasks (question {number})", answer.bids.len(), bidders.len());
            return Err(talk.wrong(&text).into());
        }
        // JSON has no other numbers than finite ones.
        known.extend(bidders.iter().map(id).zip(answer.bids));
        Ok(())
    }
}

impl BidPolicy for Program {
    fn bid(&self, bidder: &Bidder<'_>, _: &Instant) -> f64 {
        let id = TaskId { job: bidder.job.id, index: bidder.task as u32 };
        self.known.borrow().get(&id).copied().unwrap_or(0.0)
    }

    fn winner(&self) -> Winner {
        self.winner
    }

    fn course(&self) -> Course {
        self.course
    }

    fn is_asked_together(&self) -> bool {
        true
    }

    fn ask_together(&self, bidders: &[Bidder<'_>], at: &Instant) {
        if bidders.is_empty() || self.fault.is_set() {
            return;
        }
        if let Err(Trouble::Fault(text)) = self.question(bidders, at) {
            self.fault.set(format!("{text}, at virtual time {}", at.now));
        }
    }

    fn has_failed(&self) -> bool {
        self.fault.is_set()
    }
}

/// Why there is no answer.
enum Trouble {
    /// The run is to end.
    Stopped,
    /// What the bidder has done.
    Fault(String),
}

impl From<String> for Trouble {
    fn from(text: String) -> Trouble {
        Trouble::Fault(text)
    }
}

/// A running program and the lines that it sends.
struct Talk {
    name: String,
    child: Child,
    guard: Option<Child>,
    stop: Stop,
    /// Lines go out through a thread, so that a program that does not read cannot hold up the run for ever.
    lines: Option<SyncSender<Vec<u8>>>,
    answers: Receiver<Result<String, String>>,
    timeout: Duration,
}

impl Talk {
    fn begin(foreign: &Foreign, words: &[String], stop: Stop) -> Result<Talk, String> {
        let name = foreign.command.join(" ");
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut child = command.spawn().map_err(|error| format!("cannot start the bidder `{name}`: {error}"))?;
        let guard = guard(child.id());
        let stdin = child.stdin.take().expect("its standard input is piped");
        let stdout = child.stdout.take().expect("its standard output is piped");
        let (lines, to_send) = sync_channel(1);
        std::thread::spawn(move || send(stdin, &to_send));
        let (heard, answers) = sync_channel(1);
        std::thread::spawn(move || hear(BufReader::new(stdout), &heard));
        let timeout = Duration::from_micros(foreign.timeout.micros());
        Ok(Talk { name, child, guard, stop, lines: Some(lines), answers, timeout })
    }

    fn ask<T: for<'a> Deserialize<'a>>(&mut self, question: &impl Serialize) -> Result<T, Trouble> {
        let began = std::time::Instant::now();
        if let Ok(Ok(early)) = self.answers.try_recv() {
            return Err(self.wrong(&format!("says `{}` without having been asked", shown(&early))).into());
        }
        let mut line =
            serde_json::to_vec(question).map_err(|error| self.wrong(&format!("cannot be asked: {error}")))?;
        line.push(b'\n');
        match self.lines.as_ref().map(|lines| lines.try_send(line)) {
            Some(Ok(())) => {}
            Some(Err(TrySendError::Full(_))) => return Err(self.wrong("does not read what it is asked").into()),
            Some(Err(TrySendError::Disconnected(_))) | None => return Err(self.gone().into()),
        }
        let answer = loop {
            let Some(left) = self.timeout.checked_sub(began.elapsed()) else {
                return Err(self.wrong(&format!("has not answered within {} s", self.timeout.as_secs_f64())).into());
            };
            match self.answers.recv_timeout(left.min(LOOK_EVERY)) {
                Ok(Ok(answer)) => break answer,
                Ok(Err(fault)) => return Err(self.wrong(&fault).into()),
                Err(RecvTimeoutError::Timeout) if self.stop.load(Ordering::Relaxed) => return Err(Trouble::Stopped),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(self.gone().into()),
            }
        };
        serde_json::from_str(&answer).map_err(|error| {
            let text = format!("answers `{}`, which is not what was asked for: {error}", shown(&answer));
            self.wrong(&text).into()
        })
    }

    fn wrong(&self, what: &str) -> String {
        format!("the bidder `{}` {what}", self.name)
    }

    /// What to say of a program that answers no more.
    fn gone(&mut self) -> String {
        // Its output is closed; it is about to end, or does not mean to.
        for _ in 0..20 {
            if let Ok(Some(status)) = self.child.try_wait() {
                return self.wrong(&format!("has ended before the run was over ({status})"));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        self.wrong("has closed its standard input or output before the run was over")
    }
}

impl Drop for Talk {
    /// The end of its input tells it to leave; whoever stays is made to.
    fn drop(&mut self) {
        drop(self.lines.take());
        let begun = std::time::Instant::now();
        let within = if self.stop.load(Ordering::Relaxed) { LEAVE_WITHIN / 10 } else { LEAVE_WITHIN };
        while begun.elapsed() < within && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(2));
        }
        // With whatever it has started.
        end_group(&self.child);
        let _ = self.child.wait();
        if let Some(mut guard) = self.guard.take() {
            end_group(&guard);
            let _ = guard.wait();
        }
    }
}

/// A shell that waits for our end and then ends the group. Where there is no shell, the end of its input has to do.
fn guard(group: u32) -> Option<Child> {
    let mut command = Command::new("sh");
    command.args(["-c", "cat; kill -s KILL -- \"-$1\"", "sh", &group.to_string()]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    command.spawn().ok()
}

fn end_group(leader: &Child) {
    if let Some(group) = i32::try_from(leader.id()).ok().and_then(Pid::from_raw) {
        // There is nothing to end if everybody has left.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

fn shown(line: &str) -> String {
    line.trim_end().chars().take(200).collect()
}

fn send(mut stdin: ChildStdin, lines: &Receiver<Vec<u8>>) {
    while let Ok(line) = lines.recv() {
        // Whoever does not take its lines will not answer either.
        if stdin.write_all(&line).and_then(|()| stdin.flush()).is_err() {
            return;
        }
    }
}

fn hear(mut stdout: impl BufRead, heard: &SyncSender<Result<String, String>>) {
    loop {
        let mut line = Vec::new();
        let said = match stdout.by_ref().take(LINE_MAX).read_until(b'\n', &mut line) {
            Ok(0) => return,
            Ok(length) if length as u64 == LINE_MAX => Err("sends a line that does not end".to_owned()),
            Ok(_) => String::from_utf8(line).map_err(|_| "sends what is not UTF-8".to_owned()),
            Err(error) => Err(format!("cannot be heard: {error}")),
        };
        if heard.send(said).is_err() {
            return;
        }
    }
}

#[derive(Serialize)]
struct Hello<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    version: u32,
    topology: &'a str,
    seed: u64,
    ask: &'static str,
    winner: &'static str,
    tick: f64,
    sites: Vec<SiteLine>,
}

#[derive(Serialize)]
struct SiteLine {
    name: String,
    cores: u32,
    kind: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HelloAnswer {
    #[serde(rename = "type")]
    _kind: HelloWord,
    version: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum HelloWord {
    Hello,
}

#[derive(Serialize)]
struct Question<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    ask: u64,
    t: f64,
    /// Tasks that the program has not heard of.
    new: Vec<TaskLine<'a>>,
    /// Whose bids are wanted, in this order.
    queue: Vec<String>,
}

#[derive(Serialize)]
struct TaskLine<'a> {
    task: String,
    job: JobId,
    /// When the job was submitted.
    submitted: f64,
    runtime: f64,
    cores: u32,
    kind: &'a str,
    /// The longest way from the task's start to the end of the job, and from the job's start.
    rank: f64,
    critical_path: f64,
    worth: &'a Option<Worth>,
}

impl<'a> TaskLine<'a> {
    fn of(bidder: &Bidder<'a>, kinds: &'a [String]) -> TaskLine<'a> {
        let task = &bidder.job.tasks[bidder.task];
        TaskLine {
            task: TaskId { job: bidder.job.id, index: bidder.task as u32 }.to_string(),
            job: bidder.job.id,
            submitted: seconds(bidder.job.arrive.micros()),
            runtime: seconds(task.runtime.micros()),
            cores: task.cores,
            kind: kinds.get(usize::from(task.kind.0)).map_or("", String::as_str),
            rank: seconds(bidder.rank.micros()),
            critical_path: seconds(bidder.critical_path.micros()),
            worth: &bidder.job.worth,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    #[serde(rename = "type")]
    _kind: BidsWord,
    ask: u64,
    bids: Vec<f64>,
}

/// Seconds, as programs everywhere like them. All that has one number of microseconds has one number here.
fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum BidsWord {
    Bids,
}
