//! Reasons for which a command fails, and their exit codes.

use std::fmt;

use hansa_sim::kernel::{ActorId, Breach};

/// Reason for which a command failed. Its text is for the person that gave the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Two results differ.
    Different(String),
    /// A topology, a flag or another input is wrong; no file was written.
    Input(String),
    /// A site or a user was lost.
    LostPeer { label: String, text: String },
    /// The router was lost.
    LostRouter(String),
    /// The run makes no progress any more.
    Stalled(String),
    /// A peer broke a rule that the run relies on.
    Breach(String),
    /// The router rejected this process or could not be reached, or not all members joined.
    NotJoined(String),
    /// An external program that decides for a site, user or policy could not be started, or failed.
    Program(String),
    /// An operation on a file, folder or socket of this machine failed.
    System(String),
    /// Ended by a signal, by Ctrl-C for example.
    Interrupted(String),
    /// A bug in this program.
    Internal(String),
    /// The reader of this command's output has stopped reading, so continuing is pointless.
    Unread,
    /// Another process has reported it already; only its exit code is passed on.
    Exit(u8),
}

/// The text of a failure, by shared or by exclusive reference. None if there is no reader, or if it has been reported
/// already.
macro_rules! text_of {
    ($failure:expr) => {
        match $failure {
            Failure::Different(text)
            | Failure::Input(text)
            | Failure::LostPeer { text, .. }
            | Failure::LostRouter(text)
            | Failure::Stalled(text)
            | Failure::Breach(text)
            | Failure::NotJoined(text)
            | Failure::Program(text)
            | Failure::System(text)
            | Failure::Interrupted(text)
            | Failure::Internal(text) => Some(text),
            Failure::Unread | Failure::Exit(_) => None,
        }
    };
}

/// Every exit code with its meaning, as `--help` shows it.
pub const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    the two results differ (verify)
  2    a topology, flag or other input is wrong; nothing was written
  3    a site, a user or the router was lost during the run
  4    the run stalled: no frame moved for longer than --stall-after
  5    a peer violated the protocol, or its promise of when it sends next; or the run got to the end of virtual time
  6    a peer could not join, or was refused
  7    a file, folder or socket could not be used (disk full, no permission, ...)
  8    an external program failed: it could not be started, ended early, did not answer or gave an invalid answer
  70   a bug in hansa; please report it
  101  internal error (panic); please report it
  130  interrupted; partial results are marked as partial";

impl Failure {
    /// Two results differ.
    pub const DIFFERENT: u8 = 1;
    /// The command line or an input file is wrong.
    pub const INPUT: u8 = 2;
    /// A site, a user or the router was lost.
    pub const LOST: u8 = 3;
    pub const STALLED: u8 = 4;
    pub const BREACH: u8 = 5;
    pub const NOT_JOINED: u8 = 6;
    pub const SYSTEM: u8 = 7;
    /// An external program has failed.
    pub const PROGRAM: u8 = 8;
    pub const INTERNAL: u8 = 70;
    /// The code that shells give processes ended by Ctrl-C.
    pub const INTERRUPTED: u8 = 130;

    /// All exit codes of a command that failed and was not killed.
    pub const CODES: [u8; 10] = [
        Failure::DIFFERENT,
        Failure::INPUT,
        Failure::LOST,
        Failure::STALLED,
        Failure::BREACH,
        Failure::NOT_JOINED,
        Failure::SYSTEM,
        Failure::PROGRAM,
        Failure::INTERNAL,
        Failure::INTERRUPTED,
    ];

    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Different(_) => Failure::DIFFERENT,
            Failure::Input(_) => Failure::INPUT,
            Failure::LostPeer { .. } | Failure::LostRouter(_) => Failure::LOST,
            Failure::Stalled(_) => Failure::STALLED,
            Failure::Breach(_) => Failure::BREACH,
            Failure::NotJoined(_) => Failure::NOT_JOINED,
            Failure::System(_) => Failure::SYSTEM,
            Failure::Program(_) => Failure::PROGRAM,
            Failure::Internal(_) => Failure::INTERNAL,
            Failure::Interrupted(_) => Failure::INTERRUPTED,
            Failure::Unread => 0,
            Failure::Exit(code) => *code,
        }
    }
}

impl Failure {
    /// Names the actor or leaf that broke a rule of the run. `names` are those of the actors, by number.
    pub fn of_breach(breach: &Breach, names: &[String], leaf: impl Fn(usize) -> String) -> Failure {
        Failure::Breach(
            breach.describe(&|id: ActorId| names.get(id.index()).cloned().unwrap_or_else(|| id.to_string()), &leaf),
        )
    }

    /// A fault of an input: its place, such as a path, and the fault.
    pub fn input_at(place: impl fmt::Display, fault: impl fmt::Display) -> Failure {
        Failure::Input(format!("{place}: {fault}"))
    }

    /// Adds a line to the text.
    pub fn with_line(mut self, line: &str) -> Failure {
        if let Some(text) = text_of!(&mut self) {
            text.push('\n');
            text.push_str(line);
        }
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text_of!(self).map_or(Ok(()), |text| f.write_str(text))
    }
}
