//! Starts a whole grid on this machine: one process for the router, one for each site and user, talking over
//! loopback. Watches over them until the run is over, and leaves none behind.

use std::fs::{self, File};
use std::io::{self, Read};
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::geteuid;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use super::commit::RealDisk;
use super::files::clear_after_the_dead;
use super::host::{self, Activity};
use super::identity::Authority;
use super::input::written_out;
use super::lifeline::{HANDED_OVER, Word};
use super::signals::Interrupts;
use super::stand_in::Lock;
use super::{Failure, pin, tell};
use crate::protocol::handshake::Party;
use crate::topology::Topology;

/// What to start.
pub struct Launch<'a> {
    pub topology: &'a Topology,
    /// How many sites, or users, share one process.
    pub per_process: usize,
    pub cores: Cores,
    /// Where the router puts the results.
    pub out: PathBuf,
    /// Flags that are handed on to the router: where results go and how the run is watched.
    pub router_flags: Vec<String>,
    /// How long a router that should end may do nothing at all, if that is longer than it waits for others at its end.
    pub stall_after: Duration,
}

/// Which cores the processes of a grid may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Cores {
    /// All on one: best for actors that compute little between messages
    One,
    /// All that this machine has: best for actors that compute for long
    All,
}

/// How the router says where it listens; the first line of its standard output.
pub const LISTENING: &str = "listening on ";

/// How long a process may take to leave by itself once the run is over.
const LEAVE_WITHIN: Duration = Duration::from_secs(5);
/// How long processes get to hear of the end of a run that has failed before they are told to leave.
const GRACE: Duration = Duration::from_millis(300);
/// How long a router may take to leave when it is told for the second time.
const AT_ONCE: Duration = Duration::from_secs(2);
/// How often the launcher looks whether the router does anything.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long a router that winds up may have to wait for others.
const QUIET_MIN: Duration = Duration::from_secs(10);
/// How long a router may take to write partial results.
const WIND_UP_WITHIN: Duration = Duration::from_secs(600);
const LOG_TAIL_LINES: usize = 12;

/// Runs the grid; the error, if any, has been told by the router already.
pub async fn launch(launch: Launch<'_>) -> Result<(), Failure> {
    if launch.cores == Cores::One {
        pin::to_one_core();
    }
    let mut interrupts = Interrupts::new()?;
    let nest = Nest::new()?;
    let authority = Authority::new(&launch.topology.name).map_err(system)?;
    let topology = nest.path.join("topology.toml");
    write(&topology, &written_out(launch.topology))?;

    let (mut router, address) = start_router(&launch, &authority, &topology).await?;
    let (exits, mut exited) = mpsc::unbounded_channel();
    let mut members = Vec::new();
    for parties in groups(launch.topology, launch.per_process) {
        members.push(start_member(parties, &nest, &authority, &topology, address, exits.clone()).await?);
    }
    drop(exits);

    let mut lost: Option<usize> = None;
    let mut interrupted = false;
    let mut pulse = Pulse::new();
    let quiet = launch.stall_after.max(QUIET_MIN);
    let mut looks = tokio::time::interval(LOOK_EVERY);
    let status = loop {
        tokio::select! {
            _ = looks.tick() => {
                let Some(id) = router.process.id() else { continue };
                if pulse.feel(host::activity(id)) {
                    tell(&format!(
                        "the router (process {id}) is stopped, as by SIGSTOP: nothing goes on until it is continued"
                    ));
                }
                if (lost.is_some() || interrupted) && pulse.still_for() > quiet {
                    let quiet = quiet.as_secs_f64();
                    tell(&format!("the router (process {id}) has done nothing for {quiet} s and is ended"));
                    router.deadline(Duration::ZERO);
                }
            }
            status = router.process.wait() => break status.map_err(system)?,
            Some((label, status)) = exited.recv() => {
                let Some(member) = members.iter().position(|member| member.label == label) else { continue };
                if status.success() || lost.is_some() {
                    continue;
                }
                lost = Some(member);
                pulse.restart();
                router.tell(&Word::Lost { label, why: how_it_went(status) }).await;
                router.deadline(WIND_UP_WITHIN);
            }
            () = interrupts.next() => {
                // Whoever asks twice means it.
                router.deadline(if interrupted { AT_ONCE } else { WIND_UP_WITHIN });
                interrupted = true;
                pulse.restart();
                router.tell(&Word::Interrupt).await;
            }
        }
    };
    let printed = router.output.await.map_err(system)?;
    if status.signal().is_some() {
        clear_after_the_dead(&RealDisk, &launch.out);
    }
    if !status.success() {
        // Nobody is there any more for those that have not even joined.
        sleep(GRACE).await;
        members.iter_mut().for_each(|member| drop(member.lifeline.take()));
    }
    farewell(members.iter_mut().map(|member| &mut member.lifeline), &mut exited).await;

    // Whoever left because the run was ended has nothing to add.
    let to_blame =
        [Failure::LostRouter(String::new()), Failure::Breach(String::new())].map(|failure| failure.exit_code());
    if let Some(lost) = lost
        && status.code().is_none_or(|code| to_blame.iter().any(|blamed| i32::from(*blamed) == code))
    {
        show_log_tail(&members[lost]);
    }
    match status.code() {
        Some(0) => printed,
        Some(code) => Err(Failure::Told(u8::try_from(code).unwrap_or(1))),
        None if interrupted => Err(Failure::Interrupted("interrupted".to_owned())),
        None => Err(Failure::LostRouter(format!("the router process is gone: it {}", how_it_went(status)))),
    }
}

/// A router that has been started.
struct Router {
    process: Child,
    words: ChildStdin,
    /// Hands what the router prints on to our own standard output.
    output: tokio::task::JoinHandle<Result<(), Failure>>,
}

/// A process that plays sites or users.
struct Member {
    label: String,
    /// Closing it tells the process to leave.
    lifeline: Option<ChildStdin>,
    log: PathBuf,
}

impl Router {
    async fn tell(&mut self, word: &Word) {
        // A router that has left cannot be told anything, and its exit is about to be noticed.
        let _ = self.words.write_all(word.to_line().as_bytes()).await;
    }

    /// Ends the router if it has not left by then.
    fn deadline(&self, within: Duration) {
        let Some(id) = self.process.id() else { return };
        tokio::spawn(async move {
            sleep(within).await;
            let _ = std::process::Command::new("kill").arg("-KILL").arg(id.to_string()).status();
        });
    }
}

/// Whether a process does anything.
struct Pulse {
    last: Option<Activity>,
    since: Instant,
    told: bool,
}

impl Pulse {
    fn new() -> Pulse {
        Pulse { last: None, since: Instant::now(), told: false }
    }

    /// Says whether it is news that the process is stopped.
    fn feel(&mut self, now: Option<Activity>) -> bool {
        let before = std::mem::replace(&mut self.last, now);
        if self.last != before || now.is_none_or(|now| now.waits_for_a_device) {
            self.since = Instant::now();
        }
        let stopped = [before, now].iter().all(|seen| seen.is_some_and(|seen| seen.stopped));
        stopped && !std::mem::replace(&mut self.told, stopped)
    }

    /// From now on it should do something.
    fn restart(&mut self) {
        self.since = Instant::now();
    }

    fn still_for(&self) -> Duration {
        self.since.elapsed()
    }
}

/// A private folder for the topology and logs; gone when the run is over, or when the next one begins.
struct Nest {
    path: PathBuf,
    /// Tells others that we live.
    _lock: Lock,
}

impl Nest {
    fn new() -> Result<Nest, Failure> {
        let base = std::env::temp_dir();
        clear_dead_nests(&base);
        for attempt in 0u32.. {
            let path = base.join(format!("hansa-{}-{attempt}", std::process::id()));
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => match Lock::take(&path) {
                    Lock::Taken | Lock::Gone => {}
                    lock => return Ok(Nest { path, _lock: lock }),
                },
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 1000 => {}
                Err(error) => return Err(Failure::System(format!("cannot create {}: {error}", path.display()))),
            }
        }
        unreachable!("the loop ends by returning")
    }
}

impl Drop for Nest {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes the nests of launchers that were killed with all that they had started.
fn clear_dead_nests(base: &Path) {
    let Ok(entries) = fs::read_dir(base) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(number) = name.to_str().and_then(|name| name.strip_prefix("hansa-")?.split('-').next()) else {
            continue;
        };
        let is_number = number.parse::<u32>().is_ok();
        let is_ours = entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == geteuid().as_raw());
        if is_number
            && is_ours
            && !Path::new("/proc").join(number).exists()
            && matches!(Lock::take(&entry.path()), Lock::Held(_))
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Who plays together in one process: sites with sites, users with users.
fn groups(topology: &Topology, per_process: usize) -> Vec<Vec<Party>> {
    let sites: Vec<_> = topology.sites.iter().map(|site| Party::Site(site.name.clone())).collect();
    let users: Vec<_> = topology.users.iter().map(|user| Party::User(user.name.clone())).collect();
    let size = per_process.max(1);
    sites.chunks(size).chain(users.chunks(size)).map(<[Party]>::to_vec).collect()
}

/// `site york`, `site york and durham`, `site york and 6 more`.
pub fn label(parties: &[Party]) -> String {
    let name = |party: &Party| match party {
        Party::Router => "router".to_owned(),
        Party::Site(name) | Party::User(name) => name.clone(),
    };
    match parties {
        [] => "nobody".to_owned(),
        [one] => one.to_string(),
        [first, second] => format!("{first} and {}", name(second)),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
    }
}

async fn start_router(
    launch: &Launch<'_>,
    authority: &Authority,
    topology: &Path,
) -> Result<(Router, SocketAddr), Failure> {
    let mut command = hansa("router", topology)?;
    command.args(["--bind", "127.0.0.1:0", "--layout", "processes"]).args(&launch.router_flags);
    command.stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut process = command.spawn().map_err(|error| cannot_start(&error))?;
    let mut words = process.stdin.take().expect("standard input is a pipe");
    hand_over(authority, &[Party::Router], &mut words).await?;
    let mut lines = BufReader::new(process.stdout.take().expect("standard output is a pipe"));

    let mut first = String::new();
    lines.read_line(&mut first).await.map_err(system)?;
    let Some(address) = first.trim().strip_prefix(LISTENING).and_then(|address| address.parse().ok()) else {
        let status = process.wait().await.map_err(system)?;
        if status.signal().is_some() {
            clear_after_the_dead(&RealDisk, &launch.out);
        }
        // It has said itself what is wrong.
        return Err(status.code().map_or_else(
            || Failure::LostRouter(format!("the router process {}", how_it_went(status))),
            |code| Failure::Told(u8::try_from(code).unwrap_or(1)),
        ));
    };
    let output = tokio::spawn(async move {
        let mut rest = Vec::new();
        lines.read_to_end(&mut rest).await.map_err(system)?;
        super::print(&String::from_utf8_lossy(&rest))
    });
    Ok((Router { process, words, output }, address))
}

async fn start_member(
    parties: Vec<Party>,
    nest: &Nest,
    authority: &Authority,
    topology: &Path,
    router: SocketAddr,
    exits: mpsc::UnboundedSender<(String, ExitStatus)>,
) -> Result<Member, Failure> {
    let role = if matches!(parties[0], Party::Site(_)) { "site" } else { "user" };
    let mut command = hansa(role, topology)?;
    command.arg("--router").arg(router.to_string());
    for party in &parties {
        if let Party::Site(name) | Party::User(name) = party {
            command.arg("--name").arg(name);
        }
    }
    let log = nest.path.join(format!("{}.log", file_name(&parties)));
    let file =
        File::create(&log).map_err(|error| Failure::System(format!("cannot create {}: {error}", log.display())))?;
    command.stdout(file.try_clone().map_err(system)?).stderr(file);
    let mut process = command.spawn().map_err(|error| cannot_start(&error))?;
    let mut lifeline = process.stdin.take().expect("standard input is a pipe");
    hand_over(authority, &parties, &mut lifeline).await?;
    let lifeline = Some(lifeline);
    let label = label(&parties);
    let told = label.clone();
    tokio::spawn(async move {
        if let Ok(status) = process.wait().await {
            let _ = exits.send((told, status));
        }
    });
    Ok(Member { label, lifeline, log })
}

/// This program again, in another role, with an identity that it is handed through its standard input: a key in a file
/// might outlive us.
fn hansa(role: &str, topology: &Path) -> Result<Command, Failure> {
    let program = std::env::current_exe().map_err(system)?;
    let mut command = Command::new(program);
    command.arg(role).arg("--topology").arg(topology).args(["--identity", HANDED_OVER, "--held"]);
    // Ctrl-C is for the launcher alone, which knows how to end a run in good order.
    command.stdin(Stdio::piped()).process_group(0).kill_on_drop(true);
    Ok(command)
}

async fn hand_over(authority: &Authority, parties: &[Party], to: &mut ChildStdin) -> Result<(), Failure> {
    let identity = authority.issue(parties, 30).map_err(system)?;
    // One that has left already is noticed by its exit.
    let _ = to.write_all(identity.handed_over().as_bytes()).await;
    Ok(())
}

fn file_name(parties: &[Party]) -> String {
    match &parties[0] {
        Party::Router => "router".to_owned(),
        Party::Site(name) => format!("site-{name}"),
        Party::User(name) => format!("user-{name}"),
    }
}

/// Lets everybody leave, and sees to it that they do.
async fn farewell<'a>(
    lifelines: impl Iterator<Item = &'a mut Option<ChildStdin>>,
    exited: &mut mpsc::UnboundedReceiver<(String, ExitStatus)>,
) {
    let all_left = async { while exited.recv().await.is_some() {} };
    if timeout(LEAVE_WITHIN, all_left).await.is_err() {
        lifelines.for_each(|lifeline| drop(lifeline.take()));
        let _ = timeout(LEAVE_WITHIN, async { while exited.recv().await.is_some() {} }).await;
    }
}

fn how_it_went(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("left with exit code {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "left".to_owned(),
    }
}

/// The last lines that a failed process wrote.
fn show_log_tail(member: &Member) {
    let mut text = String::new();
    if File::open(&member.log).and_then(|mut file| file.read_to_string(&mut text)).is_err() {
        return;
    }
    let lines: Vec<&str> = text.lines().collect();
    if lines.is_empty() {
        tell(&format!("{} wrote nothing to its log", member.label));
        return;
    }
    tell(&format!("the last lines of the log of {}:", member.label));
    lines[lines.len().saturating_sub(LOG_TAIL_LINES)..].iter().for_each(|line| tell(&format!("  {line}")));
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| Failure::System(format!("cannot write {}: {error}", path.display())))
}

fn cannot_start(error: &io::Error) -> Failure {
    Failure::System(format!("cannot start a process of the grid: {error}"))
}

fn system(error: impl std::fmt::Display) -> Failure {
    Failure::System(error.to_string())
}
