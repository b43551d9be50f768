//! Ctrl-C and its kin.

use std::future::poll_fn;
use std::task::Poll;
use std::time::{Duration, Instant};

use rustix::process::Signal as Number;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{Failure, runtime};

/// The signals by which a person, a terminal that closes or an operating system asks a process to end.
pub struct Interrupts {
    signals: Vec<Signal>,
    /// When the last one came that counts.
    last: Option<Instant>,
}

/// Nobody asks twice in so short a time; but `timeout` and others send each signal to a process and to its group.
const ONCE: Duration = Duration::from_millis(100);

impl Interrupts {
    pub fn new() -> Result<Interrupts, Failure> {
        let mut kinds = vec![SignalKind::interrupt(), SignalKind::terminate()];
        // Whoever runs us under nohup wants us to outlive the terminal.
        if !is_ignored(Number::HUP) {
            kinds.push(SignalKind::hangup());
        }
        let signals = kinds.into_iter().map(listen).collect::<Result<_, _>>()?;
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

fn listen(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind).map_err(|error| Failure::System(format!("cannot listen for signals: {error}")))
}

/// Calls back for every such signal from now on, from a thread of its own: the others may be deaf while they compute or
/// write. Listens when this returns.
pub fn on_interrupt(heard: impl Fn() + Send + 'static) -> Result<(), Failure> {
    let runtime = runtime()?;
    let mut interrupts = {
        let _inside = runtime.enter();
        Interrupts::new()?
    };
    let listening = super::thread("signals", move || {
        runtime.block_on(async {
            loop {
                interrupts.next().await;
                heard();
            }
        });
    });
    listening.map(drop).map_err(|error| Failure::System(error.to_string()))
}

/// The exit code of whoever has panicked.
pub const PANICKED: i32 = 101;

/// Lets a panic of any thread end the process, once it has been told: nobody goes on after one, and where nothing is
/// unwound the system would end it by a signal and keep its memory in a file.
pub fn leave_on_panic() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        tell(panic);
        std::process::exit(PANICKED)
    }));
}

/// Makes a file that may not grow any larger an error like a full disk, instead of the end of this process.
pub fn survive_limits() {
    let Ok(runtime) = runtime() else { return };
    let _inside = runtime.enter();
    // Listening once replaces what the system would do, for good.
    let _ = listen(SignalKind::from_raw(Number::XFSZ.as_raw()));
}

/// As whoever started us has left it.
fn is_ignored(number: Number) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (number.as_raw() - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Set for the process of which the test below sees the end.
    const TO_PANIC: &str = "HANSA_TEST_TO_PANIC";

    #[test]
    fn panics_beside_others_that_go_on() {
        if std::env::var_os(TO_PANIC).is_none() {
            return;
        }
        leave_on_panic();
        let panicking = std::thread::spawn(|| panic!("as it should"));
        let _ = panicking.join();
        panic!("nobody is here any more");
    }

    #[test]
    fn a_panic_of_any_thread_ends_the_process() {
        let name = "edge::signals::tests::panics_beside_others_that_go_on";
        let mut process = Command::new(std::env::current_exe().unwrap());
        let ended = process.args([name, "--exact", "--nocapture"]).env(TO_PANIC, "1").output().unwrap();
        let told = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(PANICKED), "{told}");
        assert!(told.contains("as it should") && !told.contains("nobody is here"), "{told}");
    }
}
