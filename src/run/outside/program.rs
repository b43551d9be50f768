//! A program that has been started for a run.
//!
//! It and all that it starts are a process group of their own: signals from our terminal do not reach it, and when we
//! are gone, in any way, a shell that holds the end of a pipe ends it.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::spawn_thread;

/// The longest answer that a program may give.
pub const ANSWER_MAX: u64 = 64 << 20;

pub struct Running {
    child: Child,
    guard: Option<Child>,
    /// The last line that it wrote to standard error, and to standard output if that is only kept.
    last_words: [Arc<Mutex<String>>; 2],
    /// Closed once all output of the program has been read.
    output_end: Receiver<()>,
}

/// Channel of the conversation with a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Its standard input and output; its other output is shown as it is.
    Pipes,
    /// Another channel. Such programs print much, as on a terminal of their own: only the last line is kept.
    Socket,
}

impl Running {
    pub fn start(words: &[String], over: Over) -> std::io::Result<Running> {
        let stdin = match over {
            Over::Pipes => Stdio::piped(),
            Over::Socket => Stdio::null(),
        };
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let child = command.spawn()?;
        let guard = spawn_guard(child.id());
        let (open, output_end) = channel();
        // From now on it is ended in every case.
        let mut running = Running { child, guard, last_words: Default::default(), output_end };
        let stderr = running.child.stderr.take().expect("its standard error is piped");
        keep_last_line(stderr, over, &running.last_words[0], open.clone())?;
        // Some programs give their reasons there.
        if let Some(stdout) = running.child.stdout.take_if(|_| over == Over::Socket) {
            keep_last_line(stdout, over, &running.last_words[1], open)?;
        }
        Ok(running)
    }

    pub fn take_pipes(&mut self) -> (ChildStdin, ChildStdout) {
        let stdin = self.child.stdin.take().expect("its standard input is piped");
        let stdout = self.child.stdout.take().expect("its standard output is piped");
        (stdin, stdout)
    }

    /// The last line that an ended program printed.
    pub fn last_words(&self) -> String {
        // A child of it may still hold the pipe.
        let _ = self.output_end.recv_timeout(OUTPUT_WITHIN);
        let mut words = self.last_words.iter().filter_map(|last| last.lock().ok().map(|last| last.clone()));
        words.find(|words| !words.is_empty()).unwrap_or_default()
    }

    /// Its exit status, if it has ended.
    pub fn exit_status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Waits for it to leave, and kills it if it stays.
    pub fn end(&mut self, within: Duration) {
        let begun = Instant::now();
        while begun.elapsed() < within && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(2));
        }
        // Its whole group ends.
        end_group(&self.child);
        let _ = self.child.wait();
        // Its last output is still to be shown.
        let _ = self.output_end.recv_timeout(OUTPUT_WITHIN);
        if let Some(mut guard) = self.guard.take() {
            end_group(&guard);
            let _ = guard.wait();
        }
    }
}

/// Longest line of output that is kept; longer ones are cut.
const LINE_MAX: u64 = 1 << 16;

/// Time limit for reading the rest of an ended program's output.
const OUTPUT_WITHIN: Duration = Duration::from_millis(500);

/// Keeps the last line of a program's output, and drops `open` at its end.
fn keep_last_line(
    output: impl Read + Send + 'static,
    over: Over,
    last: &Arc<Mutex<String>>,
    open: Sender<()>,
) -> std::io::Result<()> {
    let last = Arc::clone(last);
    spawn_thread("words", move || {
        read_output(output, over, &last);
        drop(open);
    })
    .map(drop)
}

/// Reads a program's output, and shows it unless the program talks elsewhere.
fn read_output(output: impl Read, over: Over, last: &Mutex<String>) {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    while matches!(output.by_ref().take(LINE_MAX).read_until(b'\n', &mut line), Ok(1..)) {
        if over == Over::Pipes {
            // A closed standard error must not end the program.
            let _ = std::io::stderr().write_all(&line);
        }
        let words = String::from_utf8_lossy(&line);
        if !words.trim().is_empty()
            && let Ok(mut last) = last.lock()
        {
            words.trim().clone_into(&mut last);
        }
        line.clear();
    }
}

/// A shell that waits for our end and then ends the group. Where there is no shell, the end of its input has to do.
fn spawn_guard(group: u32) -> Option<Child> {
    let mut command = Command::new("sh");
    command.args(["-c", "cat; kill -s KILL -- \"-$1\"", "sh", &group.to_string()]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    command.spawn().ok()
}

fn end_group(leader: &Child) {
    if let Some(group) = i32::try_from(leader.id()).ok().and_then(Pid::from_raw) {
        // The group may be empty already.
        let _ = kill_process_group(group, Signal::KILL);
    }
}
