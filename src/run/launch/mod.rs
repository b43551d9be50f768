//! Starts a whole grid on this machine: one process for the router, one for each site and user, connected over
//! loopback. Watches them until the end of the run, and leaves no process behind.

mod router;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStdin, Command};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use super::disk::{io_reason, operation_failure};
use super::grouping::{Grouping, Machine, assign_processes};
use super::host::{self, HostActivity};
use super::identity::{Authority, Identity};
use super::input::{with_absolute_paths, write_prepared};
use super::lifeline::{HANDED_OVER, LauncherMessage};
use super::run_dir::RunDir;
use super::sanitize::sanitize_line_up_to;
use super::signals::{Interrupts, PANICKED};
use super::terminal::ItemCounter;
use super::{Failure, Verbosity, current_verbosity, err, outside, pin, typed_words};
use hansa_report::Input;
use hansa_sim::protocol::handshake::{Party, TopologyHash, parties_label};
use hansa_sim::topology::Topology;
use router::{NoRouter, Router, RouterEnd, Routers, look_at};

/// Settings of a grid of local processes.
pub struct Launch<'a> {
    pub topology: &'a Topology,
    pub grouping: Grouping,
    pub cores: Cores,
    /// Folder of the results.
    pub out: PathBuf,
    /// Folder of the unfinished run that is resumed. None for a new run.
    pub resume: Option<PathBuf>,
    /// The user's command, for the manifest.
    pub asked: Asked,
    pub began: Instant,
    /// Flags that are passed on to the router: how the run is watched.
    pub router_flags: Vec<String>,
    /// Longest time for which a router that should end may be idle, if that is longer than it waits for others at its
    /// end.
    pub stall_after: Duration,
    /// Number of times that a lost process is started again.
    pub restarts: u32,
    /// Longest wait for a lost process.
    pub patience: Duration,
    /// Time after which a stopped process of sites or users is replaced. None waits for ever.
    pub replace_after: Option<Duration>,
}

/// The cores that the processes of a grid may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Cores {
    /// All on one: best for actors that compute little between messages
    One,
    /// All that this machine has: best for actors that compute for long
    All,
}

/// Command line and time of a launcher's start, for its router, which has its own.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Asked {
    pub command: Vec<String>,
    /// The files that the topology was read from.
    pub inputs: Vec<Input>,
    /// Seconds from the launcher's start to that of the router.
    pub seconds: f64,
    /// Cores for threads of the router beside the core on which processes take turns. Empty unless there is only one
    /// such core.
    pub other_cores: Vec<usize>,
}

impl Asked {
    /// The command line of this process, now, with these inputs.
    pub fn new(inputs: Vec<Input>) -> Asked {
        Asked { command: typed_words().collect(), inputs, seconds: 0.0, other_cores: Vec::new() }
    }
}

/// First line of the router's standard output, followed by its address.
pub const LISTENING_ON: &str = "listening on ";
/// Following lines of the router's standard output, with the number of processes that have joined.
pub const JOINED: &str = "joined ";

const ASKED: &str = "asked.json";
/// Folder with the prepared jobs of the workloads, beside the topology.
const PREPARED: &str = "jobs";
/// Time that a process has to leave by itself once the run is over.
const LEAVE_WITHIN: Duration = Duration::from_secs(5);
/// Time that processes have to learn of a failed run before they are told to leave.
const GRACE: Duration = Duration::from_millis(300);
/// Time that a router has to leave after a second interrupt.
const AT_ONCE: Duration = Duration::from_secs(2);
/// Period at which the launcher checks the activity of the router and of stopped processes.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Shortest time for which a router that winds up may be idle, waiting for others.
const QUIET_MIN: Duration = Duration::from_secs(10);
/// Time that a router has to write partial results.
const WIND_UP_WITHIN: Duration = Duration::from_secs(600);
/// Time that all processes have to join, plus an amount for each process.
const JOIN_WITHIN: Duration = Duration::from_secs(120);
const JOIN_WITHIN_EACH: Duration = Duration::from_secs(1);
/// Time that a process has to read its identity from the launcher.
const HAND_OVER_WITHIN: Duration = Duration::from_secs(5);
/// Number of processes that are starting and have not joined yet. If all start at once, they delay each other: of 200
/// some gave up again and again.
const STARTING_AT_ONCE: usize = 8;
/// The excerpt of a failed process's log that is shown: at most this many lines of this many characters, from this many
/// bytes at its end.
const LOG_TAIL_LINES: usize = 12;
const LOG_LINE_MAX: usize = 2_000;
const LOG_TAIL_BYTES: u64 = 64 << 10;

/// Runs the grid. If the error is `Exit`, the router has reported it already.
pub async fn launch_grid(launch: Launch<'_>) -> Result<(), Failure> {
    let groups = assign_processes(launch.topology, launch.grouping.clone(), &Machine::this_machine())?;
    let other_cores = if launch.cores == Cores::One { pin::to_one_core() } else { Vec::new() };
    let mut interrupts = Interrupts::new()?;
    let dir = RunDir::new()?;
    let authority = Authority::new(&launch.topology.name).map_err(system_failure)?;
    let topology = dir.path.join("topology.toml");
    let written_in = launch.asked.inputs.first().map_or("", |input| &input.path);
    let located = with_absolute_paths(launch.topology, written_in);
    write_file(&topology, &located.to_toml())?;
    // Sites get no workloads: reading a log would take each of them longer than all other work before the run. A real
    // Slurm needs the options of its jobs.
    let with_jobs = outside::sites_with_requests(launch.topology);
    let idle = dir.path.join("sites.toml");
    let topology_hash = located.hash();
    write_file(&idle, &Topology { workloads: Vec::new(), ..located }.to_toml())?;
    let jobs = dir.path.join(PREPARED);
    write_prepared(launch.topology, &jobs)?;
    let asked = Asked { seconds: launch.began.elapsed().as_secs_f64(), other_cores, ..launch.asked.clone() };
    write_file(&dir.path.join(ASKED), &serde_json::to_string(&asked).map_err(system_failure)?)?;

    let mut end = EarlyEnd::default();
    // A restarted router has the identity and the address of its predecessor.
    let identity = authority.issue(&[Party::Router], 30).map_err(system_failure)?;
    let mut routers = Routers::new(&launch, join_within(groups.len()), &identity, &topology);
    let (router, address) = match routers.first(&mut interrupts, &mut end).await {
        Ok(started) => started,
        Err(NoRouter::Ended(last)) => return last.conclude_launch(&launch, end, Ok(false)),
        Err(NoRouter::Failed(failure)) => return Err(failure),
    };
    let meeting = Meeting {
        dir: &dir,
        authority: &authority,
        topology: &topology,
        idle: &idle,
        jobs: &jobs,
        with_jobs: &with_jobs,
        topology_hash,
        address,
        patience: launch.patience,
    };
    let (exits, mut exited) = mpsc::unbounded_channel();
    let starting = Starting::new(groups, meeting, exits);
    let mut grid = RunProcesses { launch: &launch, routers, router, pulse: Pulse::new(), starting, interrupts, end };
    let last = grid.watch_processes(&mut exited).await?;
    grid.wind_up(last, exited).await
}

/// The processes of a run.
struct RunProcesses<'a> {
    launch: &'a Launch<'a>,
    routers: Routers<'a>,
    /// The present router, and its activity.
    router: Router,
    pulse: Pulse,
    starting: Starting<'a>,
    interrupts: Interrupts,
    end: EarlyEnd,
}

/// Label, process number and exit status of a process that has left.
type Exit = (String, u32, ExitStatus);

impl RunProcesses<'_> {
    /// Serves all processes until the last router has ended, and returns its end.
    async fn watch_processes(&mut self, exited: &mut mpsc::UnboundedReceiver<Exit>) -> Result<RouterEnd, Failure> {
        let mut looks = tokio::time::interval(LOOK_EVERY);
        loop {
            tokio::select! {
                _ = looks.tick() => self.look_at_processes(),
                status = self.router.process.wait() => {
                    if let Some(last) = self.replace_router(status.map_err(system_failure)?).await {
                        return Ok(last);
                    }
                }
                Some((label, process, status)) = exited.recv() => self.has_left(label, process, status).await,
                () = self.interrupts.next() => self.interrupt_router().await,
                Some(joined) = self.router.joins.recv() => self.starting.update_joined(joined),
                () = std::future::ready(()), if self.starting.may_go_on() && !self.end.is_near() => {
                    if let Err(failure) = self.starting.start_one().await {
                        self.give_up(failure).await;
                    }
                }
            }
        }
    }

    fn look_at_processes(&mut self) {
        self.starting.handle_stopped(self.launch.replace_after);
        let Some(id) = self.router.process.id() else { return };
        look_at(id, &mut self.pulse);
        let quiet = self.launch.stall_after.max(QUIET_MIN);
        if self.end.is_near() && self.pulse.still_for() > quiet {
            let quiet = quiet.as_secs_f64();
            err::line(&format!("the router (process {id}) has done nothing for {quiet} s and is terminated"));
            self.router.kill_after(Duration::ZERO);
        }
    }

    /// Replaces a router that has ended with this status. If it is not to be replaced, returns the end of the last one.
    async fn replace_router(&mut self, status: ExitStatus) -> Option<RouterEnd> {
        match self.routers.next(status, &mut self.interrupts, &mut self.end).await {
            Ok((router, _)) => {
                (self.router, self.pulse) = (router, Pulse::new());
                // All members join again.
                self.starting.update_joined(0);
                None
            }
            Err(NoRouter::Ended(last)) => Some(last),
            Err(NoRouter::Failed(failure)) => {
                self.end.failed = Some(failure);
                Some(RouterEnd::never_started())
            }
        }
    }

    async fn has_left(&mut self, label: String, process: u32, status: ExitStatus) {
        let Some(place) = self.starting.started.iter().position(|member| member.label == label) else { return };
        let member = &mut self.starting.started[place];
        // The number may soon be that of another process.
        member.process = None;
        let may_return = !self.end.is_near() && has_crashed(status) && member.restarts < self.launch.restarts;
        // A process whose external program has failed reports that to the router itself.
        let has_reported = program_failed(status);
        if has_reported {
            self.end.failed_programs.push(label.clone());
        }
        if status.success() || has_reported || self.end.lost.is_some() {
            return;
        }
        let why = format!("its process {}", how_it_went(status));
        if may_return {
            self.router.send_message(&LauncherMessage::Gone { label, process, why }).await;
            if let Err(failure) = self.starting.start_again(place).await {
                self.give_up(failure).await;
            }
            return;
        }
        self.end.lost = Some(place);
        self.pulse.restart();
        self.router.send_message(&LauncherMessage::Lost { label, why }).await;
        self.router.kill_after(WIND_UP_WITHIN);
    }

    async fn interrupt_router(&mut self) {
        // A second Ctrl-C leaves less time.
        self.router.kill_after(if self.end.interrupted { AT_ONCE } else { WIND_UP_WITHIN });
        self.end.interrupted = true;
        self.pulse.restart();
        self.router.send_message(&LauncherMessage::Interrupt).await;
    }

    /// Ends the run because one of its processes cannot be started.
    async fn give_up(&mut self, failure: Failure) {
        self.router.send_message(&LauncherMessage::Failed { why: failure.to_string() }).await;
        self.router.kill_after(WIND_UP_WITHIN);
        self.end.failed = Some(failure);
    }

    /// Lets all processes leave after the last router, and reports what is left to report.
    async fn wind_up(self, last: RouterEnd, mut exited: mpsc::UnboundedReceiver<Exit>) -> Result<(), Failure> {
        let RunProcesses { launch, mut router, mut starting, mut end, .. } = self;
        let printed = router.output.await.map_err(system_failure)?;
        while let Ok(joined) = router.joins.try_recv() {
            starting.update_joined(joined);
        }
        let Starting { started: mut members, progress, joined, exits, .. } = starting;
        drop((progress, exits));
        if !last.is_well() || joined < members.len() {
            // Members that have not joined yet will find no router any more.
            sleep(GRACE).await;
            members.iter_mut().for_each(|member| drop(member.lifeline.take()));
        }
        let left = await_farewell(&mut members, &mut exited).await;
        let failed = left.into_iter().filter(|(.., status)| program_failed(*status)).map(|(label, ..)| label);
        end.failed_programs.extend(failed);
        show_logs(&members, &last, &end);
        last.conclude_launch(launch, end, printed)
    }
}

/// Shows the ends of the logs of processes that have ended the run early.
fn show_logs(members: &[Member], last: &RouterEnd, end: &EarlyEnd) {
    // Processes that left because the run was ended have nothing to add.
    if let Some(lost) = end.lost
        && last.exit_code().is_none_or(|code| [Failure::LOST, Failure::BREACH].map(i32::from).contains(&code))
    {
        show_log_tail(&members[lost], |_| true);
    }
    for member in members.iter().filter(|member| end.failed_programs.contains(&member.label)) {
        // Other lines are the program's; those of the process itself were reported by the router.
        show_log_tail(member, |line| !line.starts_with(&member.label) && !line.starts_with("error: "));
    }
}

/// Causes of an early end of a run.
#[derive(Default)]
struct EarlyEnd {
    /// The lost process, by its index in `started`.
    lost: Option<usize>,
    /// Labels of processes whose programs have failed.
    failed_programs: Vec<String>,
    interrupted: bool,
    /// A process that could not be started.
    failed: Option<Failure>,
}

impl EarlyEnd {
    fn is_near(&self) -> bool {
        self.lost.is_some() || self.interrupted || self.failed.is_some()
    }
}

/// The processes of sites and users: few start at a time, so that none has to wait for long for its turn to join.
struct Starting<'a> {
    groups: std::vec::IntoIter<Vec<Party>>,
    started: Vec<Member>,
    joined: usize,
    meeting: Meeting<'a>,
    /// Receives the processes that have left.
    exits: mpsc::UnboundedSender<Exit>,
    progress: Option<ItemCounter>,
}

/// All that a process needs to find and join its run.
#[derive(Clone, Copy)]
struct Meeting<'a> {
    dir: &'a RunDir,
    authority: &'a Authority,
    topology: &'a Path,
    /// The topology without its workloads, for processes that play sites.
    idle: &'a Path,
    /// The jobs of its workloads, for all others.
    jobs: &'a Path,
    /// Names of sites that need the workloads.
    with_jobs: &'a BTreeSet<String>,
    topology_hash: TopologyHash,
    address: SocketAddr,
    patience: Duration,
}

impl<'a> Starting<'a> {
    fn new(groups: Vec<Vec<Party>>, meeting: Meeting<'a>, exits: mpsc::UnboundedSender<Exit>) -> Starting<'a> {
        let all = groups.len();
        let progress = (all > STARTING_AT_ONCE).then(|| ItemCounter::new("processes have joined", all, 0));
        Starting { groups: groups.into_iter(), started: Vec::with_capacity(all), joined: 0, meeting, exits, progress }
    }

    fn may_go_on(&self) -> bool {
        self.groups.len() > 0 && self.started.len() < self.joined + STARTING_AT_ONCE
    }

    async fn start_one(&mut self) -> Result<(), Failure> {
        if let Some(parties) = self.groups.next() {
            self.started.push(start_member(parties, self.meeting, self.exits.clone()).await?);
        }
        Ok(())
    }

    /// Reports stopped processes, and kills those that have been stopped for too long, which are then started again.
    fn handle_stopped(&mut self, replace_after: Option<Duration>) {
        for member in &mut self.started {
            let Some(id) = member.process else { continue };
            let now = host::process_activity(id);
            if !now.is_some_and(|now| now.stopped) {
                member.pulse = Pulse::new();
                continue;
            }
            let label = &member.label;
            if member.pulse.record_activity(now) {
                let until = match replace_after {
                    Some(after) => format!("it is replaced after {} s", after.as_secs_f64()),
                    None => "the run waits until it is continued".to_owned(),
                };
                err::line(&format!("{label} (process {id}) is stopped, as by SIGSTOP: {until}"));
            }
            if replace_after.is_some_and(|after| member.pulse.still_for() > after) {
                err::line(&format!("{label} (process {id}) has been stopped for too long and is killed"));
                end_process(id);
                member.process = None;
            }
        }
    }

    /// Starts a lost process again.
    async fn start_again(&mut self, member: usize) -> Result<(), Failure> {
        let Member { parties, restarts, .. } = &self.started[member];
        let parties = parties.clone();
        let restarts = restarts + 1;
        let started = start_member(parties, self.meeting, self.exits.clone()).await?;
        self.started[member] = Member { restarts, ..started };
        Ok(())
    }

    fn update_joined(&mut self, joined: usize) {
        self.joined = joined;
        if self.groups.len() == 0 && joined == self.started.len() {
            self.progress = None;
        }
        self.progress.iter_mut().for_each(|progress| progress.update(joined));
    }
}

/// Time that a router waits for its processes, which are started a few at a time.
fn join_within(processes: usize) -> Duration {
    JOIN_WITHIN + JOIN_WITHIN_EACH * processes as u32
}

/// A process that plays sites or users.
struct Member {
    label: String,
    parties: Vec<Party>,
    /// Number of times that it was started again.
    restarts: u32,
    /// Its number. None if it is no longer watched.
    process: Option<u32>,
    pulse: Pulse,
    /// The process leaves when this is closed.
    lifeline: Option<ChildStdin>,
    log: PathBuf,
}

fn end_process(id: u32) {
    if let Some(process) = i32::try_from(id).ok().and_then(Pid::from_raw) {
        // The process may have left already.
        let _ = kill_process(process, Signal::KILL);
    }
}

/// Activity of a process, to find out if it is stopped or idle.
struct Pulse {
    last: Option<HostActivity>,
    since: Instant,
    is_reported: bool,
}

impl Pulse {
    fn new() -> Pulse {
        Pulse { last: None, since: Instant::now(), is_reported: false }
    }

    /// Records the present activity. Returns true if the process is stopped, and was not reported as such.
    fn record_activity(&mut self, now: Option<HostActivity>) -> bool {
        let before = std::mem::replace(&mut self.last, now);
        if self.last != before || now.is_none_or(|now| now.waits_for_a_device) {
            self.since = Instant::now();
        }
        let stopped = [before, now].iter().all(|seen| seen.is_some_and(|seen| seen.stopped));
        stopped && !std::mem::replace(&mut self.is_reported, stopped)
    }

    /// Restarts the clock of `still_for`.
    fn restart(&mut self) {
        self.since = Instant::now();
    }

    fn still_for(&self) -> Duration {
        self.since.elapsed()
    }
}

async fn start_member(
    parties: Vec<Party>,
    meeting: Meeting<'_>,
    exits: mpsc::UnboundedSender<Exit>,
) -> Result<Member, Failure> {
    let first = &parties[0];
    let needs_no_jobs = |party: &Party| matches!(party, Party::Site(name) if !meeting.with_jobs.contains(name));
    let only_sites = parties.iter().all(needs_no_jobs);
    let mut command = role_command(first.role(), if only_sites { meeting.idle } else { meeting.topology })?;
    if only_sites {
        command.arg("--topology-hash").arg(meeting.topology_hash.to_string());
    } else {
        command.arg("--jobs").arg(meeting.jobs);
    }
    command.arg("--router").arg(meeting.address.to_string());
    command.arg("--patience").arg(format!("{}us", meeting.patience.as_micros()));
    parties.iter().for_each(|party| _ = command.args(["--name", party.name()]));
    let log = meeting.dir.path.join(format!("{}.log", first.slug()));
    // A restarted process appends to the log of its predecessor.
    let file = File::options().create(true).append(true).open(&log);
    let file = file.map_err(|error| operation_failure("create", &log, &error))?;
    let stdout = file.try_clone().map_err(system_failure)?;
    // With --verbose the processes write to the terminal, as their logs are removed with the run.
    command.stdout(stdout).stderr(if current_verbosity() > Verbosity::Usual { Stdio::inherit() } else { file.into() });
    let mut process = command.spawn().map_err(|error| cannot_start(&error))?;
    let number = process.id().expect("it has not been waited for");
    let mut lifeline = process.stdin.take().expect("standard input is a pipe");
    hand_over(&meeting.authority.issue(&parties, 30).map_err(system_failure)?, &mut lifeline).await;
    let lifeline = Some(lifeline);
    let label = parties_label(&parties);
    let name = label.clone();
    tokio::spawn(async move {
        if let Ok(status) = process.wait().await {
            let _ = exits.send((name, number, status));
        }
    });
    Ok(Member { label, parties, restarts: 0, process: Some(number), pulse: Pulse::new(), lifeline, log })
}

/// A command that runs this program in another role. The process gets its identity through its standard input, as a key
/// in a file might outlive the launcher.
fn role_command(role: &str, topology: &Path) -> Result<Command, Failure> {
    let program = std::env::current_exe().map_err(system_failure)?;
    let mut command = Command::new(program);
    command.arg(role).arg("--topology").arg(topology).args(["--identity", HANDED_OVER, "--held"]);
    command.args(current_verbosity().verbosity_flags());
    // Only the launcher handles Ctrl-C: it knows how to end a run in order.
    command.stdin(Stdio::piped()).process_group(0).kill_on_drop(true);
    Ok(command)
}

async fn hand_over(identity: &Identity, to: &mut ChildStdin) {
    // A process that has left is noticed by its exit, and one that does not read does not join.
    let _ = timeout(HAND_OVER_WITHIN, to.write_all(identity.handover_text().as_bytes())).await;
}

/// Waits until all processes have left, and asks those that do not to leave. Returns their exits.
async fn await_farewell(members: &mut [Member], exited: &mut mpsc::UnboundedReceiver<Exit>) -> Vec<Exit> {
    let mut left = Vec::new();
    let mut all_left = async || {
        while let Some(one) = exited.recv().await {
            left.push(one);
        }
    };
    if timeout(LEAVE_WITHIN, all_left()).await.is_err() {
        members.iter_mut().for_each(|member| drop(member.lifeline.take()));
        let _ = timeout(LEAVE_WITHIN, all_left()).await;
    }
    left
}

fn how_it_went(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("left with exit code {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "left".to_owned(),
    }
}

/// True if a process has left because its external program failed.
fn program_failed(status: ExitStatus) -> bool {
    status.code() == Some(i32::from(Failure::PROGRAM))
}

/// True if a process was killed or panicked. A process that leaves by itself reports the reason, and would do so again.
fn has_crashed(status: ExitStatus) -> bool {
    status.signal().is_some() || status.code() == Some(PANICKED)
}

/// Shows the last of the `wanted` lines in a failed process's log.
fn show_log_tail(member: &Member, wanted: impl Fn(&str) -> bool) {
    let Ok(log) = end_of_file(&member.log) else { return };
    if log.is_empty() && current_verbosity() <= Verbosity::Usual {
        err::line(&format!("{} wrote nothing to its log", member.label));
        return;
    }
    let lines = last_lines(&log, wanted);
    if !lines.is_empty() {
        err::line(&format!("the last lines of the log of {}:", member.label));
        lines.iter().for_each(|line| err::line(&format!("  {line}")));
    }
}

fn end_of_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let begin = file.metadata()?.len().saturating_sub(LOG_TAIL_BYTES);
    file.seek(SeekFrom::Start(begin))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    if begin > 0 {
        // The first line is probably incomplete, so it is dropped.
        let line_end = bytes.iter().position(|byte| *byte == b'\n');
        bytes.drain(..line_end.map_or(0, |at| at + 1));
    }
    Ok(bytes)
}

/// The last `LOG_TAIL_LINES` of the `wanted` lines, sanitized: external programs write to the log, too, and may write
/// anything.
fn last_lines(log: &[u8], wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let text = String::from_utf8_lossy(log);
    let lines: Vec<&str> = text.lines().filter(|line| wanted(line)).collect();
    let last = &lines[lines.len().saturating_sub(LOG_TAIL_LINES)..];
    last.iter().map(|line| sanitize_line_up_to(line, LOG_LINE_MAX)).collect()
}

fn write_file(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| operation_failure("write", path, &error))
}

fn cannot_start(error: &io::Error) -> Failure {
    Failure::System(format!("cannot start a process of the grid: {}", io_reason(error)))
}

fn system_failure(error: impl std::fmt::Display) -> Failure {
    Failure::System(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_log_holds_its_last_lines_can_be_seen() {
        let log = b"error: ours\n\xff\xfe\nbye\x1b[2J\r\nzz";
        let lines = last_lines(log, |line| !line.starts_with("error: "));
        assert_eq!(lines, ["\u{fffd}\u{fffd}", "bye\\u{1b}[2J", "zz"]);
        assert_eq!(last_lines(&b"a\n".repeat(100), |_| true).len(), LOG_TAIL_LINES);
        assert_eq!(last_lines(&[b'x'; 5000], |_| true), ["x".repeat(LOG_LINE_MAX) + "..."]);
    }
}
