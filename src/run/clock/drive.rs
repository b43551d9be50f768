//! A clock that another program drives: it starts programs under the clock, and says up to when the clock goes.
//!
//! Orders are lines of JSON on standard input. Each has one answer, a line on standard output. The end of the input
//! ends all programs.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, Write, stdin, stdout};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::super::{Failure, spawn_thread};
use hansa_clock::controller::{ClockController, StretchEnd, Wakers};

/// An order to the controller of a driven clock.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ClockOrder {
    /// Starts a program under the clock.
    Start(ClockedProgram),
    /// Moves the clock to this time, in ns since its start, or until `ANSWERED` of real time have passed.
    MoveTo(u64),
    /// Moves the clock like `MoveTo`, but stops it once a program has ended or this pipe has data, which are not read.
    SearchTo { until: u64, pipe: String },
}

/// A program to be started under the clock.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClockedProgram {
    /// Number under which its end is reported.
    pub number: u32,
    pub command: Vec<String>,
    /// All of its environment, besides the variables of the clock.
    pub variables: BTreeMap<String, String>,
    pub folder: String,
    /// File that its output is written to.
    pub output: String,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct ClockAnswer {
    /// Virtual time since the start, in ns.
    pub now: u64,
    /// True if the clock has come to the time of the order, and all programs block.
    pub is_there: bool,
    /// The earliest deadline, in ns. None if no program waits for one.
    pub next: Option<u64>,
    /// Programs that have ended since the last answer, with their exit codes.
    pub ended: Vec<(u32, u8)>,
    /// True if a search has found something.
    pub has_found: bool,
    /// Moves of the clock so far.
    pub steps: u64,
    /// Reason why the order could not be carried out.
    pub fault: Option<String>,
}

/// Longest real time until an order is answered.
pub const ANSWERED: Duration = Duration::from_millis(500);

/// Period in which a wait for an order checks for signals.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Carries out orders until there are no more, or until this process is to end.
pub fn drive_clock(controller: &mut ClockController<'_>, wakers: &Wakers) -> Result<(), Failure> {
    let orders = read_orders(wakers)?;
    controller.answers_within = Some(ANSWERED);
    let mut searched = None;
    while let Some(line) = next(&orders, controller) {
        let answer = match serde_json::from_str(&line) {
            Ok(ClockOrder::Start(program)) => {
                let fault = start_program(controller, &program).err();
                ClockAnswer { fault, ..clock_answer(controller, true) }
            }
            Ok(ClockOrder::MoveTo(until)) => match controller.move_to(until) {
                // Programs that this process has just asked to end must not pass for lost ones.
                _ if controller.is_interrupted() => break,
                StretchEnd::Over => clock_answer(controller, true),
                StretchEnd::Paused | StretchEnd::Stopped => clock_answer(controller, false),
                StretchEnd::Left(_) | StretchEnd::Interrupted => break,
            },
            Ok(ClockOrder::SearchTo { until, pipe }) => match search_clock(controller, until, pipe, &mut searched) {
                Ok(_) if controller.is_interrupted() => break,
                Ok(StretchEnd::Over) => clock_answer(controller, true),
                Ok(StretchEnd::Stopped) => ClockAnswer { has_found: true, ..clock_answer(controller, true) },
                Ok(StretchEnd::Paused) => clock_answer(controller, false),
                Ok(StretchEnd::Left(_) | StretchEnd::Interrupted) => break,
                Err(fault) => ClockAnswer { fault: Some(fault), ..clock_answer(controller, false) },
            },
            Err(error) => ClockAnswer { fault: Some(error.to_string()), ..clock_answer(controller, false) },
        };
        let mut line = serde_json::to_vec(&answer).map_err(|error| Failure::Internal(error.to_string()))?;
        line.push(b'\n');
        // Without a reader the input ends as well.
        let _ = stdout().write_all(&line).and_then(|()| stdout().flush());
    }
    Ok(())
}

/// A pipe of searches, with its path.
type SearchedPipe = Option<(String, Arc<File>)>;

/// Searches for data in a pipe, which is opened once.
fn search_clock(
    controller: &mut ClockController<'_>,
    until: u64,
    path: String,
    searched: &mut SearchedPipe,
) -> Result<StretchEnd, String> {
    let known = searched.take().filter(|(known, _)| *known == path);
    let pipe = match known {
        Some((_, pipe)) => pipe,
        None => {
            // Opened for both, so that it neither blocks nor is at its end without a writer.
            let opened = OpenOptions::new().read(true).write(true).open(&path);
            Arc::new(opened.map_err(|error| format!("cannot open {path}: {error}"))?)
        }
    };
    *searched = Some((path, pipe.clone()));
    Ok(controller.search_to(until, pipe))
}

/// Reads orders on a thread of its own, so that the end of the input is seen while the clock moves.
fn read_orders(wakers: &Wakers) -> Result<Receiver<String>, Failure> {
    let (orders, read) = sync_channel(1);
    let wakers = wakers.clone();
    let reading = spawn_thread("orders", move || {
        for line in stdin().lock().lines() {
            if line.is_err() || line.is_ok_and(|line| orders.send(line).is_err()) {
                break;
            }
        }
        wakers.end();
    });
    reading.map(|_| read).map_err(|error| Failure::System(error.to_string()))
}

fn next(orders: &Receiver<String>, controller: &ClockController<'_>) -> Option<String> {
    loop {
        match orders.recv_timeout(LOOK_EVERY) {
            Ok(line) => return Some(line),
            Err(RecvTimeoutError::Timeout) if !controller.is_interrupted() => {}
            Err(_) => return None,
        }
    }
}

fn start_program(controller: &mut ClockController<'_>, program: &ClockedProgram) -> Result<(), String> {
    let [name, arguments @ ..] = &program.command[..] else { return Err("there is no command".to_owned()) };
    let output = |error| format!("cannot write {}: {error}", program.output);
    let file = File::create(&program.output).map_err(output)?;
    let mut command = Command::new(name);
    command.args(arguments).env_clear().envs(&program.variables).current_dir(&program.folder);
    command.stdin(Stdio::null()).stdout(file.try_clone().map_err(output)?).stderr(file);
    controller.spawn(command, program.number).map_err(|error| format!("cannot run {name}: {error}"))
}

fn clock_answer(controller: &mut ClockController<'_>, is_there: bool) -> ClockAnswer {
    let ended = controller.take_ended();
    let next = controller.page.earliest_deadline().map(|(deadline, _)| deadline);
    let now = controller.page.now();
    ClockAnswer { now, is_there, next, ended, has_found: false, steps: controller.stepper.steps, fault: None }
}
