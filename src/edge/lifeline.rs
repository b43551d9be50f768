//! The thread between a launcher and the processes that it starts: each child holds the reading end of a pipe that
//! nobody but its launcher can write to. When the launcher is gone, however it went, the pipe closes and the child
//! leaves too; until then the launcher can tell the router what it sees.

use std::io::{BufRead, stdin};
use std::path::PathBuf;
use std::process::exit;
use std::sync::atomic::Ordering;

use tokio::sync::mpsc;

use super::Failure;
use super::bidder::Stop;
use super::stand_in::StandIn;

/// What a launcher tells its router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// End the run and keep what there is.
    Interrupt,
    /// This process is gone, and why.
    Lost { label: String, why: String },
}

impl Word {
    pub fn to_line(&self) -> String {
        match self {
            Word::Interrupt => "interrupt\n".to_owned(),
            Word::Lost { label, why } => format!("lost\t{label}\t{}\n", why.replace(['\n', '\t'], " ")),
        }
    }

    fn read(line: &str) -> Option<Word> {
        let mut parts = line.trim_end_matches('\n').splitn(3, '\t');
        match (parts.next()?, parts.next(), parts.next()) {
            ("interrupt", None, None) => Some(Word::Interrupt),
            ("lost", Some(label), Some(why)) => Some(Word::Lost { label: label.to_owned(), why: why.to_owned() }),
            _ => None,
        }
    }
}

/// What nobody else can clear away once the launcher is gone.
#[derive(Clone, Default)]
pub struct Doomed {
    pub folders: Vec<PathBuf>,
    /// Results that will never be whole; those that are being put in their place are let be until they are.
    pub results: Option<StandIn>,
}

impl Doomed {
    fn clear(&self) {
        for folder in &self.folders {
            let _ = std::fs::remove_dir_all(folder);
        }
        if let Some(results) = &self.results {
            results.give_up();
        }
    }
}

/// Holds on to the launcher: when it is gone, clears away what is doomed and leaves the process. Only for processes that
/// a launcher has started.
///
/// A thread of its own, since the process may be busy with the run and deaf to everything else.
pub fn hold(words: mpsc::UnboundedSender<Failure>, doomed: Doomed, stop: Stop) {
    std::thread::spawn(move || {
        for line in stdin().lock().lines() {
            let Ok(line) = line else { break };
            let failure = match Word::read(&line) {
                Some(Word::Interrupt) => Failure::Interrupted("interrupted".to_owned()),
                Some(Word::Lost { label, why }) => Failure::LostPeer { label, text: why },
                None => continue,
            };
            stop.store(true, Ordering::Relaxed);
            // A run that is over no longer listens, and needs no more words.
            let _ = words.send(failure);
        }
        doomed.clear();
        exit(3);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_the_pipe() {
        let lost = Word::Lost { label: "site york".into(), why: "killed by\nsignal 9".into() };
        let read = Word::Lost { label: "site york".into(), why: "killed by signal 9".into() };
        assert_eq!(Word::read(&lost.to_line()), Some(read));
        assert_eq!(Word::read(&Word::Interrupt.to_line()), Some(Word::Interrupt));
        assert_eq!(Word::read("gibberish\n"), None);
    }
}
