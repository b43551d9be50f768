//! The launcher's side of the router: starts it, and replaces it after a crash.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::{
    ASKED, AT_ONCE, EarlyEnd, JOINED, LISTENING_ON, LOOK_EVERY, Launch, PREPARED, Pulse, QUIET_MIN, cannot_start,
    end_process, hand_over, has_crashed, how_it_went, role_command, system_failure,
};
use crate::disk::RealDisk;
use crate::files::{SUMMARY, clear_after_the_dead, settle_after_the_dead};
use crate::identity::Identity;
use crate::input::read_plain;
use crate::journal::JOURNAL;
use crate::lifeline::LauncherMessage;
use crate::results::SummaryFormat;
use crate::resume::status_of;
use crate::signals::Interrupts;
use crate::{Failure, err, host, out};
use hansa_report::{Status, SummaryFile};

/// A router that accepts connections.
pub(super) struct Router {
    pub process: Child,
    words: ChildStdin,
    /// Numbers of joined processes, as the router reports them.
    pub joins: mpsc::UnboundedReceiver<usize>,
    /// Copies the router's output to our own. Returns true if there was any.
    pub output: tokio::task::JoinHandle<Result<bool, Failure>>,
}

impl Router {
    pub async fn send_message(&mut self, word: &LauncherMessage) {
        // A router that has left cannot receive, and its exit is about to be noticed.
        let _ = self.words.write_all(word.to_line().as_bytes()).await;
    }

    /// Kills the router if it has not left after this time.
    pub fn kill_after(&self, within: Duration) {
        let Some(id) = self.process.id() else { return };
        tokio::spawn(async move {
            sleep(within).await;
            end_process(id);
        });
    }
}

/// Reports a router that is stopped, once.
pub(super) fn look_at(router: u32, pulse: &mut Pulse) {
    if pulse.record_activity(host::process_activity(router)) {
        err::line(&format!(
            "the router (process {router}) is stopped, as by SIGSTOP: the run does not go on until it is continued"
        ));
    }
}

/// State that a crashed router has left on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Remains {
    /// The results are in their place, complete.
    Results,
    /// A journal in this folder, from which the run can be resumed.
    Journal(PathBuf),
    /// No usable journal, so the run starts anew.
    Nothing,
}

/// End of the last router of a run.
pub(super) struct RouterEnd {
    /// None if it could not be started.
    status: Option<ExitStatus>,
    remains: Remains,
}

/// Reason for which there is no router any more.
pub(super) enum NoRouter {
    Ended(RouterEnd),
    Failed(Failure),
}

impl From<Failure> for NoRouter {
    fn from(failure: Failure) -> NoRouter {
        NoRouter::Failed(failure)
    }
}

impl RouterEnd {
    pub fn never_started() -> RouterEnd {
        RouterEnd { status: None, remains: Remains::Nothing }
    }

    pub fn is_well(&self) -> bool {
        self.remains == Remains::Results || self.status.is_some_and(|status| status.success())
    }

    pub fn exit_code(&self) -> Option<i32> {
        self.status.and_then(|status| status.code())
    }

    /// The result of the launcher after this end. `printed` is true if the router has printed the summary.
    pub fn conclude_launch(
        self,
        launch: &Launch<'_>,
        end: EarlyEnd,
        printed: Result<bool, Failure>,
    ) -> Result<(), Failure> {
        if let Some(failure) = end.failed {
            // A router that got the message has reported the failure itself.
            let code = self.exit_code().filter(|code| *code != 0);
            return Err(code.map_or(failure, |code| Failure::Exit(u8::try_from(code).unwrap_or(1))));
        }
        let how = self.status.map_or_else(String::new, how_it_went);
        if self.remains == Remains::Results {
            err::note(&format!("the router {how} after it had written the results; they are complete"));
            return if printed? { Ok(()) } else { print_summary(launch) };
        }
        let resume = format!("resume with: hansa run --resume {}", launch.out.display());
        let failure = match self.exit_code() {
            Some(0) => return printed.map(drop),
            // The router has reported the failure itself.
            Some(code) => {
                if matches!(self.remains, Remains::Journal(_)) {
                    err::line(&format!("  {resume}"));
                }
                return Err(Failure::Exit(u8::try_from(code).unwrap_or(1)));
            }
            None if end.interrupted => Failure::Interrupted("interrupted".to_owned()),
            None => Failure::LostRouter(format!("the router process has ended: it {how}")),
        };
        Err(if matches!(self.remains, Remains::Journal(_)) { failure.with_line(&resume) } else { failure })
    }
}

/// Prints the summary of results that the router has put in place but not printed.
fn print_summary(launch: &Launch<'_>) -> Result<(), Failure> {
    let path = launch.out.join(SUMMARY);
    let summary = read_plain(&path).ok().and_then(|json| serde_json::from_slice::<SummaryFile>(&json).ok());
    let summary = summary.ok_or_else(|| Failure::System(format!("cannot read {}", path.display())))?;
    let format = if launch.router_flags.iter().any(|flag| flag == "--json") {
        SummaryFormat::Json
    } else {
        SummaryFormat::Table
    };
    format.print(&summary, &launch.out)
}

/// The routers of a run, one after the other.
pub(super) struct Routers<'a> {
    launch: &'a Launch<'a>,
    join_within: Duration,
    identity: &'a Identity,
    topology: &'a Path,
    /// Device and inode of the folder in the place of the results before the run. None if there was none.
    before: Option<(u64, u64)>,
    /// Address of the first router, which all others take over.
    address: Option<SocketAddr>,
    /// Number of replaced routers.
    restarts: u32,
    /// Process number of the last router, and the folder of the journal that it was to resume.
    process: u32,
    journal: Option<PathBuf>,
}

/// A router and its address, or the exit status of one that ended before it accepted connections.
type Started = Result<(Router, SocketAddr), ExitStatus>;

impl<'a> Routers<'a> {
    pub fn new(
        launch: &'a Launch<'a>,
        join_within: Duration,
        identity: &'a Identity,
        topology: &'a Path,
    ) -> Routers<'a> {
        let before = folder_at(&launch.out);
        let journal = launch.resume.clone();
        Routers { launch, join_within, identity, topology, before, address: None, restarts: 0, process: 0, journal }
    }

    /// Starts the first router.
    pub async fn first(
        &mut self,
        interrupts: &mut Interrupts,
        end: &mut EarlyEnd,
    ) -> Result<(Router, SocketAddr), NoRouter> {
        match self.start(interrupts, end).await? {
            Ok(started) => Ok(started),
            Err(status) => self.next(status, interrupts, end).await,
        }
    }

    /// Replaces a router that has ended with this status, if it has crashed and the number of restarts allows it. One
    /// that crashes before it accepts connections counts as a restart, too.
    pub async fn next(
        &mut self,
        mut status: ExitStatus,
        interrupts: &mut Interrupts,
        end: &mut EarlyEnd,
    ) -> Result<(Router, SocketAddr), NoRouter> {
        loop {
            let remains = self.find_remains(status);
            let is_over = !has_crashed(status) || remains == Remains::Results;
            if is_over || end.is_near() || self.restarts >= self.launch.restarts {
                return Err(NoRouter::Ended(RouterEnd { status: Some(status), remains }));
            }
            self.restarts += 1;
            let from = match remains {
                Remains::Journal(_) => "from its journal",
                _ => "from the beginning, since it had no journal yet",
            };
            err::line(&format!("the router {}: it is started again {from}", how_it_went(status)));
            if let Remains::Journal(journal) = remains {
                self.journal = Some(journal);
            }
            match self.start(interrupts, end).await? {
                Ok(started) => return Ok(started),
                Err(again) => status = again,
            }
        }
    }

    /// Finds the state that the last router has left, and removes what is useless.
    fn find_remains(&self, status: ExitStatus) -> Remains {
        let out = &self.launch.out;
        if !has_crashed(status) {
            // A router that leaves by itself has cleaned up.
            return Remains::Nothing;
        }
        let is_placed = folder_at(out) != self.before;
        if is_placed && status_of(out) == Some(Status::Complete) {
            clear_after_the_dead(&RealDisk, out);
            let _ = fs::remove_file(out.join(JOURNAL));
            return Remains::Results;
        }
        let left = settle_after_the_dead(&RealDisk, out, self.process, self.journal.as_deref());
        let left = left.or_else(|| Some(out.clone()).filter(|out| is_placed && out.join(JOURNAL).is_file()));
        left.map_or(Remains::Nothing, Remains::Journal)
    }

    async fn start(&mut self, interrupts: &mut Interrupts, end: &mut EarlyEnd) -> Result<Started, Failure> {
        let mut process = self.router_command()?.spawn().map_err(|error| cannot_start(&error))?;
        self.process = process.id().unwrap_or_default();
        let mut words = process.stdin.take().expect("standard input is a pipe");
        hand_over(self.identity, &mut words).await;
        let mut lines = BufReader::new(process.stdout.take().expect("standard output is a pipe"));
        let quiet = self.launch.stall_after.max(QUIET_MIN);
        let first = first_line(&mut lines, &mut process, &mut words, interrupts, end, quiet).await;
        let first = first.map_err(|failure| match self.journal {
            Some(_) => failure.with_line(&format!("resume with: hansa run --resume {}", self.launch.out.display())),
            None => failure,
        })?;
        let address = first.trim().strip_prefix(LISTENING_ON).and_then(|address| address.parse().ok());
        let Some(address) = address else {
            return Ok(Err(process.wait().await.map_err(system_failure)?));
        };
        self.address = Some(address);
        let (joined, joins) = mpsc::unbounded_channel();
        let output = tokio::spawn(pass_on(lines, joined));
        Ok(Ok((Router { process, words, joins, output }, address)))
    }

    fn router_command(&self) -> Result<Command, Failure> {
        let Launch { out, router_flags, .. } = self.launch;
        let mut command = role_command("router", self.topology)?;
        let bind = self.address.map_or("127.0.0.1:0".to_owned(), |address| address.to_string());
        command.args(["--bind", &bind, "--layout", "processes"]).args(router_flags);
        match &self.journal {
            Some(journal) => command.arg("--resume").arg(journal),
            None => command.arg("--out").arg(out),
        };
        command.arg("--join-within").arg(self.join_within.as_secs().to_string());
        command.arg("--asked").arg(self.topology.with_file_name(ASKED));
        command.arg("--jobs").arg(self.topology.with_file_name(PREPARED));
        command.stdout(Stdio::piped()).stderr(Stdio::inherit());
        Ok(command)
    }
}

/// Reads the first line of a router, which may take it long to write; meanwhile interrupts are passed on to it.
///
/// Fails if it does nothing for `quiet`, as if it is stopped: no router that starts waits for anything for that long.
/// After an interrupt it is killed soon, as it has nothing to lose yet.
async fn first_line(
    lines: &mut BufReader<ChildStdout>,
    process: &mut Child,
    words: &mut ChildStdin,
    interrupts: &mut Interrupts,
    end: &mut EarlyEnd,
    quiet: Duration,
) -> Result<String, Failure> {
    let mut looks = tokio::time::interval(LOOK_EVERY);
    let mut pulse = Pulse::new();
    let mut killed_at = None;
    let mut first = String::new();
    let mut reading = Box::pin(lines.read_line(&mut first));
    loop {
        tokio::select! {
            read = &mut reading => {
                read.map_err(system_failure)?;
                break;
            }
            _ = looks.tick() => {
                let Some(id) = process.id() else { continue };
                look_at(id, &mut pulse);
                if killed_at.is_none() && pulse.still_for() > quiet {
                    return Err(Failure::Stalled(format!(
                        "the router (process {id}) has done nothing for {} s and does not listen yet: it was terminated",
                        quiet.as_secs_f64()
                    )));
                }
            }
            () = sleep_until(killed_at), if killed_at.is_some() => {
                let _ = process.start_kill();
                killed_at = None;
            }
            () = interrupts.next() => {
                if end.interrupted {
                    let _ = process.start_kill();
                }
                end.interrupted = true;
                killed_at = Some(tokio::time::Instant::now() + AT_ONCE);
                let _ = words.write_all(LauncherMessage::Interrupt.to_line().as_bytes()).await;
            }
        }
    }
    drop(reading);
    Ok(first)
}

/// Sleeps until this moment, or for ever.
async fn sleep_until(moment: Option<tokio::time::Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// Passes on the numbers of joined processes, line by line, and copies all that follows to our own standard output.
/// Returns true if anything followed.
async fn pass_on(mut lines: BufReader<ChildStdout>, joined: mpsc::UnboundedSender<usize>) -> Result<bool, Failure> {
    let mut rest = Vec::new();
    loop {
        lines.read_until(b'\n', &mut rest).await.map_err(system_failure)?;
        let line = std::str::from_utf8(&rest).ok();
        let number = line.and_then(|line| line.trim_end().strip_prefix(JOINED)?.parse().ok());
        let Some(number) = number else { break };
        let _ = joined.send(number);
        rest.clear();
    }
    lines.read_to_end(&mut rest).await.map_err(system_failure)?;
    out::always(&String::from_utf8_lossy(&rest))?;
    Ok(!rest.is_empty())
}

/// Device and inode of a folder, by which a replaced one is recognised. None if there is none.
fn folder_at(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}
