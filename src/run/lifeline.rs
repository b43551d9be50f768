//! The thread between a launcher and its processes: each child holds the reading end of a pipe that only its launcher
//! can write to. When the launcher is gone, in any way, the pipe closes and the child leaves too; until then the
//! launcher can report to the router. The first data in the pipe is the child's identity.

use std::io::{BufRead, Read as _, stdin};
use std::path::{Path, PathBuf};
use std::process::exit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;

use super::computing::ActorWatch;
use super::drive_hub::LostProcess;
use super::identity::Identity;
use super::outside::Stop;
use super::partial_dir::PartialDir;
use super::{Failure, err};
use hansa_sim::protocol::handshake::Party;

/// Messages of a launcher to its router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LauncherMessage {
    /// End the run and keep the results so far.
    Interrupt,
    /// End the run: a process of it could not be started, for this reason.
    Failed { why: String },
    /// This process is gone for good, for this reason.
    Lost { label: String, why: String },
    /// This process is gone, and another one is started in its place.
    Gone { label: String, process: u32, why: String },
}

impl LauncherMessage {
    pub fn to_line(&self) -> String {
        match self {
            LauncherMessage::Interrupt => "interrupt\n".to_owned(),
            LauncherMessage::Failed { why } => format!("failed\t{}\n", on_one_line(why)),
            LauncherMessage::Lost { label, why } => format!("lost\t{label}\t{}\n", on_one_line(why)),
            LauncherMessage::Gone { label, process, why } => {
                format!("gone\t{label}\t{process}\t{}\n", on_one_line(why))
            }
        }
    }

    fn parse_line(line: &str) -> Option<LauncherMessage> {
        let parts: Vec<&str> = line.trim_end_matches('\n').split('\t').collect();
        match parts[..] {
            ["interrupt"] => Some(LauncherMessage::Interrupt),
            ["failed", why] => Some(LauncherMessage::Failed { why: why.to_owned() }),
            ["lost", label, why] => Some(LauncherMessage::Lost { label: label.to_owned(), why: why.to_owned() }),
            ["gone", label, process, why] => Some(LauncherMessage::Gone {
                label: label.to_owned(),
                process: process.parse().ok()?,
                why: why.to_owned(),
            }),
            _ => None,
        }
    }
}

fn on_one_line(why: &str) -> String {
    why.replace(['\n', '\t'], " ")
}

/// The files that no other process can remove once the launcher is gone.
#[derive(Clone, Default)]
pub struct Cleanup {
    pub folders: Vec<PathBuf>,
    /// Results that will never be complete; those that are being put in their place are left alone until they are.
    pub results: Option<PartialDir>,
}

impl Cleanup {
    /// Removes them. Returns the command that resumes the run, if its journal stays.
    fn clear(&self) -> Option<String> {
        for folder in &self.folders {
            let _ = std::fs::remove_dir_all(folder);
        }
        self.results.as_ref().and_then(PartialDir::give_up)
    }
}

/// Ends an interrupted process that has not ended in order, for this reason.
pub fn leave_at_once(why: &str, resume: Option<String>) -> ! {
    let resume = resume.map(|how| format!("; resume with: {how}"));
    let text = format!("error: {why}{}", resume.unwrap_or_default());
    // A reader that is gone, or another thread that waits for one, could block this for ever.
    let (written, written_or_late) = std::sync::mpsc::channel();
    let writer = super::spawn_thread("last words", move || {
        err::line(&text);
        let _ = written.send(());
    });
    if writer.is_ok() {
        let _ = written_or_late.recv_timeout(LAST_WORDS_WITHIN);
    }
    exit(Failure::INTERRUPTED.into())
}

/// Reason of an end after a second interruption.
pub const INTERRUPTED_TWICE: &str = "interrupted twice: ended at once";

const LAST_WORDS_WITHIN: Duration = Duration::from_millis(200);

/// Source of a request to end.
#[derive(Clone, Copy, Debug)]
pub enum Asker {
    /// The operating system, by a signal.
    System,
    Launcher,
}

/// Ends a run from outside, by a signal or by a message of the launcher.
#[derive(Clone)]
pub struct StopHandle {
    words: mpsc::UnboundedSender<Failure>,
    stop: Stop,
    cleanup: Cleanup,
    /// The askers that have asked.
    asked: Arc<[AtomicBool; 2]>,
    gone: Option<mpsc::UnboundedSender<LostProcess>>,
    actors: ActorWatch,
}

impl StopHandle {
    /// A handle whose messages go to the run; the flag is set with the first.
    pub fn new(words: mpsc::UnboundedSender<Failure>, cleanup: Cleanup, stop: Stop) -> StopHandle {
        StopHandle { words, stop, cleanup, asked: Arc::default(), gone: None, actors: ActorWatch::default() }
    }

    /// Reports processes that are gone and will be replaced to this channel.
    pub fn with_lost_processes(self, gone: mpsc::UnboundedSender<LostProcess>) -> StopHandle {
        StopHandle { gone: Some(gone), ..self }
    }

    /// Watches these actors: if one still computes a second after an interruption, the process ends without it.
    pub fn with_actor_watch(self, actors: ActorWatch) -> StopHandle {
        StopHandle { actors, ..self }
    }

    /// Ends the run, or, if the same asker has asked already, the process. A launcher and its processes may all get the
    /// same signal, as from a service manager.
    pub fn interrupt(&self, asker: Asker) {
        if self.asked[asker as usize].swap(true, Ordering::Relaxed) {
            leave_at_once(INTERRUPTED_TWICE, self.cleanup.clear());
        }
        let cleanup = self.cleanup.clone();
        self.actors.interrupt(move |why| leave_at_once(why, cleanup.clear()));
        self.end(Failure::Interrupted("interrupted".to_owned()));
    }

    fn end(&self, failure: Failure) {
        // A run that is over no longer listens, and needs no more messages.
        let _ = self.words.send(failure);
        // Only now, so that the reason is there for a run that finds the flag set.
        self.stop.store(true, Ordering::Release);
    }

    /// Watches the launcher: when it is gone, removes the files to clean up and ends the process. Only for processes
    /// that a launcher has started.
    ///
    /// It has a thread of its own, since the process may be busy with the run.
    pub fn watch_launcher(self) -> Result<(), Failure> {
        let holding = super::spawn_thread("lifeline", move || {
            for line in stdin().lock().lines() {
                let Ok(line) = line else { break };
                match LauncherMessage::parse_line(&line) {
                    Some(LauncherMessage::Interrupt) => self.interrupt(Asker::Launcher),
                    Some(LauncherMessage::Failed { why }) => self.end(Failure::System(why)),
                    Some(LauncherMessage::Lost { label, why }) => self.end(Failure::LostPeer { label, text: why }),
                    Some(LauncherMessage::Gone { label, process, why }) => {
                        // A run that is over no longer listens.
                        let gone = LostProcess { label, process, why };
                        self.gone.iter().for_each(|sender| drop(sender.send(gone.clone())));
                    }
                    None => {}
                }
            }
            self.cleanup.clear();
            exit(Failure::LOST.into());
        });
        holding.map(drop).map_err(|error| Failure::System(error.to_string()))
    }
}

/// Replaces a folder where a launcher hands over the identity: then no key is ever in a file.
pub const HANDED_OVER: &str = "-";

/// The identity of a process that plays these parties: from its folder, or from its launcher, before any message.
pub fn load_identity(folder: &Path, parties: &[Party]) -> Result<Identity, Failure> {
    if folder != Path::new(HANDED_OVER) {
        let identity =
            Identity::load(folder).and_then(|identity| identity.check_names(parties, folder).map(|()| identity));
        return identity.map_err(|error| Failure::Input(error.to_string()));
    }
    Identity::from_handover(|| {
        let mut line = String::new();
        let read = stdin().lock().take(LINE_MAX).read_line(&mut line);
        read.ok().filter(|read| *read > 0).map(|_| line)
    })
    .map_err(|error| Failure::Input(error.to_string()))
}

/// More than the length of a line of an identity.
const LINE_MAX: u64 = 1 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_the_pipe() {
        let lost = LauncherMessage::Lost { label: "site york".into(), why: "killed by\nsignal 9".into() };
        let read = LauncherMessage::Lost { label: "site york".into(), why: "killed by signal 9".into() };
        assert_eq!(LauncherMessage::parse_line(&lost.to_line()), Some(read));
        let gone =
            LauncherMessage::Gone { label: "user ann".into(), process: 4711, why: "left with exit code 101".into() };
        assert_eq!(LauncherMessage::parse_line(&gone.to_line()), Some(gone));
        let failed = LauncherMessage::Failed { why: "no process: none left".into() };
        assert_eq!(LauncherMessage::parse_line(&failed.to_line()), Some(failed));
        assert_eq!(
            LauncherMessage::parse_line(&LauncherMessage::Interrupt.to_line()),
            Some(LauncherMessage::Interrupt)
        );
        assert_eq!(LauncherMessage::parse_line("gibberish\n"), None);
    }
}
