//! Ctrl-C and similar signals.

use std::future::poll_fn;
use std::task::Poll;
use std::time::{Duration, Instant};

use rustix::process::Signal as Number;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{Failure, build_runtime};

/// The signals by which a person, a closing terminal or the system asks a process to end.
pub struct Interrupts {
    signals: Vec<Signal>,
    /// Time of the last signal that counted.
    last: Option<Instant>,
}

/// Shortest time between two requests of a person; `timeout` and others send each signal to a process and to its group.
const ONCE: Duration = Duration::from_millis(100);

impl Interrupts {
    pub fn new() -> Result<Interrupts, Failure> {
        let mut kinds = vec![SignalKind::interrupt(), SignalKind::terminate()];
        // Under nohup the process outlives the terminal.
        if !is_ignored(Number::HUP) {
            kinds.push(SignalKind::hangup());
        }
        let signals = kinds.into_iter().map(catch_signal).collect::<Result<_, _>>()?;
        Ok(Interrupts { signals, last: None })
    }

    pub async fn next(&mut self) {
        poll_fn(|context| {
            while self.signals.iter_mut().any(|signal| signal.poll_recv(context).is_ready()) {
                if self.last.is_none_or(|last| last.elapsed() > ONCE) {
                    self.last = Some(Instant::now());
                    return Poll::Ready(());
                }
            }
            Poll::Pending
        })
        .await;
    }
}

fn catch_signal(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind).map_err(|error| Failure::System(format!("cannot listen for signals: {error}")))
}

/// Calls back for every such signal from now on, on a thread of its own: the others may not notice signals while they
/// compute or write. Signals are handled when this returns.
pub fn on_interrupt(call: impl Fn() + Send + 'static) -> Result<(), Failure> {
    let runtime = build_runtime()?;
    let mut interrupts = {
        let _inside = runtime.enter();
        Interrupts::new()?
    };
    let thread = super::spawn_thread("signals", move || {
        runtime.block_on(async {
            loop {
                interrupts.next().await;
                call();
            }
        });
    });
    thread.map(drop).map_err(|error| Failure::System(error.to_string()))
}

/// Exit code after a panic.
pub const PANICKED: i32 = 101;

/// Makes a panic of any thread end the process after its message: no code continues after a panic, and without
/// unwinding the system would end the process by a signal and dump its memory into a file.
pub fn leave_on_panic() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        hook(panic);
        std::process::exit(PANICKED)
    }));
}

/// Turns the signal of a file that reaches its size limit into an error like a full disk.
pub fn survive_limits() {
    let Ok(runtime) = build_runtime() else { return };
    let _inside = runtime.enter();
    // Handling it once replaces the default action, for good.
    let _ = catch_signal(SignalKind::from_raw(Number::XFSZ.as_raw()));
}

/// True if the parent process has set the signal to be ignored.
fn is_ignored(number: Number) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (number.as_raw() - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Set for the child process whose end the test below checks.
    const TO_PANIC: &str = "HANSA_TEST_TO_PANIC";

    #[test]
    fn panics_beside_others_that_go_on() {
        if std::env::var_os(TO_PANIC).is_none() {
            return;
        }
        leave_on_panic();
        let panicking = std::thread::spawn(|| panic!("as it should"));
        let _ = panicking.join();
        panic!("the receiver is gone");
    }

    #[test]
    fn a_panic_of_any_thread_ends_the_process() {
        let name = "signals::tests::panics_beside_others_that_go_on";
        let mut process = Command::new(std::env::current_exe().unwrap());
        let ended = process.args([name, "--exact", "--nocapture"]).env(TO_PANIC, "1").output().unwrap();
        let message = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(PANICKED), "{message}");
        assert!(message.contains("as it should") && !message.contains("the receiver is gone"), "{message}");
    }
}
