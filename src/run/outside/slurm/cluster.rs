//! A Slurm cluster of its own under a clock that we drive.
//!
//! All times here are in ns since the start of the run, except where the clock's own are meant.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use rustix::process::geteuid;

use super::super::program_link::{ProgramLink, Trouble};
use super::super::{ExternalClocks, RunContext};
use super::accounts::{passwd_text, put_state, users_of_script};
use super::change::UserLines;
use super::conf::{Conf, Ground};
use super::controller_log::{ControllerLog, LoggedEvent};
use super::ports::Ports;
use super::site_conf::SiteFiles;
use crate::clock::{ClockAnswer, ClockOrder, ClockedProgram, charge_flag};
use crate::run_dir::RunDir;
use hansa_sim::grid::Site;
use hansa_sim::protocol::outside::shorten_output;
use hansa_sim::time::Span;

/// Real time without any progress of virtual time after which the programs are given up.
const STILL: Duration = Duration::from_secs(60);
/// Virtual time that the cluster may take to start, in seconds.
const STARTS_WITHIN_SECONDS: u64 = 120;
pub const NANOS_PER_SECOND: u64 = 1_000_000_000;
const NANOS_PER_MICRO: u64 = 1_000;
const EXPECTED: &str =
    r#"{"now":0,"is_there":true,"next":1000000,"ended":[],"has_found":false,"steps":1,"fault":null}"#;

/// Threads of Slurm 22.05 that wake every one to five seconds and have nothing to do: they gather no profiles of jobs
/// (in each slurmstepd), serve no federation, and find no database.
const IDLE_THREADS: &str = "acctg_prof,dbinx,fed_agent,fed_jobs,fed_remote_dep,fed_update_dep";
/// Sleeps, in us, of which slurmctld makes a second up, to see if it is to end.
const SLEEP_SERIES: &str = "10x100000";

/// Log of slurmctld in the folder of a cluster.
const CONTROLLER_LOG: &str = "slurmctld.log";

pub struct Cluster {
    link: ProgramLink,
    /// Sum to which the progress of this cluster's clock is added.
    clocks: ExternalClocks,
    folder: String,
    variables: BTreeMap<String, String>,
    conf: Conf,
    /// Names of all nodes with their numbers of cores, in the order of the site's cores.
    nodes: Vec<(String, u32)>,
    /// Users that Slurm knows; empty if all jobs belong to the user of this process.
    users: BTreeSet<String>,
    /// Pipe that job scripts report to.
    reports: File,
    /// A report of which the end has not been read.
    unread: String,
    log: ControllerLog,
    /// Programs that run, by number.
    programs: BTreeMap<u32, Program>,
    started: u32,
    /// Programs that have ended, with their exit codes and output.
    ended: Vec<EndedProgram>,
    /// Time of the clock when the run starts.
    base: u64,
    /// Time of the clock, and the earliest deadline of a program.
    now: u64,
    next: Option<u64>,
    /// Time of the clock to which a search has brought it: what it has found there belongs to that time.
    found_at: Option<u64>,
    steps: u64,
    _ports: Ports,
    dir: RunDir,
}

#[derive(Clone, Debug)]
struct Program {
    command: Vec<String>,
    is_daemon: bool,
}

pub struct EndedProgram {
    pub number: u32,
    pub command: Vec<String>,
    pub code: u8,
    pub output: String,
}

impl Cluster {
    /// Starts the clock of a site; its cluster starts with `boot_daemons`.
    pub fn begin(
        name: String,
        site: &Site,
        user_lines: &UserLines,
        files: Option<&SiteFiles>,
        context: &RunContext<'_>,
    ) -> Result<Cluster, Trouble> {
        let cannot = |what: &str, error: &dyn Display| Trouble::Fault(format!("{name}: cannot {what}: {error}"));
        let dir = RunDir::new().map_err(|failure| Trouble::Fault(failure.to_string()))?;
        let folder = dir.path.to_string_lossy().into_owned();
        let nodes = node_list(site, files);
        // The last one is that of the database, which is away.
        let ports = Ports::reserve_ports(nodes.len() as u32 + 2).map_err(|error| cannot("find free ports", &error))?;
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let host = host.trim().split('.').next().unwrap_or_default();
        let user = geteuid().as_raw().to_string();
        let ground = Ground { folder: &folder, host, user: &user, port: ports.first };
        let conf = Conf::of_cluster(site, files, user_lines, &ground).map(|(conf, _)| conf);
        let conf = conf.map_err(|wrong| Trouble::Fault(format!("{name}: {wrong}")))?;
        let made = fs::write(dir.path.join("slurm.conf"), &conf.text)
            .and_then(|()| fs::write(dir.path.join("job.sh"), job_script(&folder)))
            .and_then(|()| fs::create_dir(dir.path.join("state")))
            .and_then(|()| fs::create_dir(dir.path.join("spool")))
            .and_then(|()| {
                nodes.iter().try_for_each(|(name, _)| fs::create_dir(dir.path.join(format!("spool/{name}"))))
            })
            .and_then(|()| files.map_or(Ok(()), |files| write_site_files(files, &dir.path)));
        made.map_err(|error| cannot(&format!("write to {folder}"), &error))?;
        let mut variables = vec![
            ("SLURM_CONF", format!("{folder}/slurm.conf")),
            ("HANSA_IDLE_THREADS", IDLE_THREADS.to_owned()),
            ("HANSA_SLEEP_SERIES", SLEEP_SERIES.to_owned()),
        ];
        let mut users = BTreeSet::new();
        if let Some(files) = files
            && let Some((_, script)) = &files.accounts
        {
            put_state(&name, site, files, &dir.path.join("state"), context)?;
            users = users_of_script(script);
            users.insert("root".to_owned());
            let path = dir.path.join("users");
            fs::write(&path, passwd_text(&users, &folder))
                .map_err(|error| cannot(&format!("write to {folder}"), &error))?;
            variables.push(("HANSA_USERS", path.to_string_lossy().into_owned()));
        }
        let cluster = Cluster::open(name, site, dir, ports, conf, &variables, context).map_err(Trouble::Fault)?;
        Ok(Cluster { nodes, users, ..cluster })
    }

    /// Starts a clock for programs in this folder.
    pub fn open(
        name: String,
        site: &Site,
        dir: RunDir,
        ports: Ports,
        conf: Conf,
        variables: &[(&str, String)],
        context: &RunContext<'_>,
    ) -> Result<Cluster, String> {
        let folder = dir.path.to_string_lossy().into_owned();
        let reports =
            make_pipe(&dir.path.join("reports")).map_err(|error| format!("{name}: cannot make a pipe: {error}"))?;
        let path = search_path(&site.program.slurm.programs);
        let variables =
            [("PATH", path.as_str()), ("HOME", &folder), ("LANG", "C"), ("TZ", "UTC"), ("HANSA_NO_SYNC", "1")]
                .into_iter()
                .chain(variables.iter().map(|(name, value)| (*name, value.as_str())))
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect();
        let hansa = crate::main_program()
            .map_err(|error| format!("{name}: cannot find hansa, which keeps the clock: {error}"))?;
        let charge = charge_flag(site.program.slurm.charge);
        let words = [hansa.to_string_lossy().into_owned(), "clock".to_owned(), "--driven".to_owned(), charge];
        let link = ProgramLink::over_pipes(name, &words, STILL, context.stop)?;
        let log = ControllerLog::new(dir.path.join(CONTROLLER_LOG));
        Ok(Cluster {
            link,
            clocks: context.clocks.clone(),
            folder,
            variables,
            conf,
            nodes: Vec::new(),
            users: BTreeSet::new(),
            reports,
            unread: String::new(),
            log,
            programs: BTreeMap::new(),
            started: 0,
            ended: Vec::new(),
            base: 0,
            now: 0,
            next: None,
            found_at: None,
            steps: 0,
            _ports: ports,
            dir,
        })
    }

    /// The folder, once its programs have ended.
    pub fn into_dir(self) -> RunDir {
        self.dir
    }

    pub fn now(&self) -> u64 {
        self.now
    }

    /// Names of all nodes with their numbers of cores, in the order of the site's cores.
    pub fn nodes(&self) -> &[(String, u32)] {
        &self.nodes
    }

    /// Users that Slurm knows; empty if all jobs belong to the user of this process.
    pub fn users(&self) -> &BTreeSet<String> {
        &self.users
    }

    /// Starts all daemons, and waits in virtual time until all nodes are idle. The run starts at the next second.
    pub fn boot_daemons(&mut self) -> Result<(), Trouble> {
        // The state has nothing but accounts, if it has anything.
        let fresh: &[&str] = if self.users.is_empty() { &["slurmctld", "-D", "-c"] } else { &["slurmctld", "-D"] };
        self.start_daemon(fresh)?;
        self.move_clock(self.now + NANOS_PER_SECOND)?;
        for (node, _) in self.nodes.clone() {
            self.start_daemon(&["slurmd", "-D", "-N", &node])?;
            // One after the other, so that their order is known.
            self.move_clock(self.now)?;
        }
        let give_up = self.now + STARTS_WITHIN_SECONDS * NANOS_PER_SECOND;
        while !self.are_nodes_idle()? {
            if self.now > give_up {
                let text = format!(
                    "has no idle nodes after {STARTS_WITHIN_SECONDS} s: {}",
                    self.log_complaints(CONTROLLER_LOG)
                );
                return Err(self.link.fault_text(&text).into());
            }
            self.move_clock(self.now + NANOS_PER_SECOND)?;
        }
        self.base = self.now.next_multiple_of(NANOS_PER_SECOND) + NANOS_PER_SECOND;
        self.move_clock(self.base)
    }

    /// True if all nodes of partitions are idle.
    fn are_nodes_idle(&mut self) -> Result<bool, Trouble> {
        let number = self.start(&["sinfo", "-h", "-a", "-N", "-o", "%T"])?;
        for _ in 0..STARTS_WITHIN_SECONDS {
            self.move_clock(self.now)?;
            if let Some(at) = self.ended.iter().position(|ended| ended.number == number) {
                let ended = self.ended.swap_remove(at);
                let mut states = ended.output.lines().map(str::trim).peekable();
                return Ok(ended.code == 0 && states.peek().is_some() && states.all(|state| state == "idle"));
            }
            self.move_clock(self.now + NANOS_PER_SECOND)?;
        }
        Ok(false)
    }

    fn start_daemon(&mut self, command: &[&str]) -> Result<(), Trouble> {
        let number = self.start(command)?;
        self.programs.entry(number).and_modify(|program| program.is_daemon = true);
        Ok(())
    }

    /// Starts a program under the clock, which does not move. Returns its number.
    pub fn start(&mut self, command: &[&str]) -> Result<u32, Trouble> {
        self.start_as(command, None)
    }

    /// Starts a program as a user that only Slurm knows.
    pub fn start_as(&mut self, command: &[&str], user: Option<&str>) -> Result<u32, Trouble> {
        let mut variables = self.variables.clone();
        variables.extend(user.map(|user| ("HANSA_USER".to_owned(), user.to_owned())));
        self.started += 1;
        let number = self.started;
        let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
        let order = ClockOrder::Start(ClockedProgram {
            number,
            command: command.clone(),
            variables,
            folder: self.folder.clone(),
            output: self.output_path(number),
        });
        self.programs.insert(number, Program { command, is_daemon: false });
        self.send_order(&order).map(|_| number)
    }

    fn output_path(&self, number: u32) -> String {
        format!("{}/{number}.out", self.folder)
    }

    fn send_order(&mut self, order: &ClockOrder) -> Result<ClockAnswer, Trouble> {
        let answer: ClockAnswer = self.link.request_json(order, EXPECTED)?;
        if let Some(fault) = &answer.fault {
            return Err(self.link.fault_text(fault).into());
        }
        self.clocks.add(Span::from_micros((answer.now / NANOS_PER_MICRO).saturating_sub(self.now / NANOS_PER_MICRO)));
        (self.now, self.next) = (answer.now, answer.next);
        for &(number, code) in &answer.ended {
            let Some(Program { command, is_daemon }) = self.programs.remove(&number) else { continue };
            let path = self.output_path(number);
            let output = fs::read_to_string(&path).unwrap_or_default();
            if is_daemon {
                return Err(self.link.fault_text(&self.lost_daemon(&command, code, &output)).into());
            }
            let _ = fs::remove_file(&path);
            self.ended.push(EndedProgram { number, command, code, output });
        }
        Ok(answer)
    }

    /// Moves the clock to this time of its own, and no further; ends when all programs block there.
    pub fn move_clock(&mut self, to: u64) -> Result<(), Trouble> {
        self.carry_out(&ClockOrder::MoveTo(to)).map(drop)
    }

    /// Moves the clock towards a time of the run, until a script reports or a program ends. Returns the time of the run
    /// at which the clock has stopped for that. None if it has come to `to`.
    ///
    /// The run must not have an order for Slurm before.
    pub fn search_to(&mut self, to: u64) -> Result<Option<u64>, Trouble> {
        let until = self.base + to;
        if self.found_at.is_none() && until > self.now {
            let pipe = format!("{}/reports", self.folder);
            let answer = self.carry_out(&ClockOrder::SearchTo { until, pipe })?;
            self.found_at = answer.has_found.then_some(self.now);
        }
        Ok(self.found_at.map(|found| found.saturating_sub(self.base)))
    }

    /// Repeats an order to move the clock until it is carried out.
    fn carry_out(&mut self, order: &ClockOrder) -> Result<ClockAnswer, Trouble> {
        let mut since = Instant::now();
        loop {
            let was = self.now;
            let answer = self.send_order(order)?;
            if answer.is_there {
                self.steps = answer.steps;
                return Ok(answer);
            }
            if self.link.is_stopped() {
                return Err(Trouble::Stopped);
            }
            let is_charged = self.now != was;
            if answer.steps != self.steps || is_charged || !answer.ended.is_empty() {
                (self.steps, since) = (answer.steps, Instant::now());
            }
            if since.elapsed() > STILL {
                let text = format!("has programs that have not slept for {} s of real time", STILL.as_secs());
                return Err(self.link.fault_text(&text).into());
            }
        }
    }

    /// Moves the clock to a time of the run, and returns what job scripts have reported until then.
    pub fn move_to(&mut self, to: u64) -> Result<Vec<String>, Trouble> {
        let mut reports = Vec::new();
        if self.is_ahead(to) {
            return Ok(reports);
        }
        self.found_at = None;
        loop {
            self.move_clock((self.base + to).max(self.now))?;
            // A script that found the pipe full goes on once it has been read.
            let read = self.read_reports()?;
            if read.is_empty() {
                // Scripts that start at the same moment race to the pipe; and cores are left before they are taken.
                reports.sort();
                return Ok(reports);
            }
            reports.extend(read);
        }
    }

    fn read_reports(&mut self) -> Result<Vec<String>, Trouble> {
        let mut bytes = [0; 1 << 16];
        match self.reports.read(&mut bytes) {
            Ok(length) => self.unread.push_str(&String::from_utf8_lossy(&bytes[..length])),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => {
                return Err(self.link.fault_text(&format!("has lost the pipe of its scripts: {error}")).into());
            }
        }
        let whole = self.unread.rfind('\n').map_or(0, |end| end + 1);
        let rest = self.unread.split_off(whole);
        let read = std::mem::replace(&mut self.unread, rest);
        Ok(read.lines().map(str::to_owned).collect())
    }

    /// Events in the log of slurmctld since the last call.
    pub fn read_log(&mut self) -> Result<Vec<LoggedEvent>, Trouble> {
        self.log
            .read_events()
            .map_err(|error| self.link.fault_text(&format!("has no log of slurmctld that can be read: {error}")).into())
    }

    /// The earliest time of the run at which a program does something by itself.
    pub fn next(&self) -> Option<u64> {
        self.next.map(|next| next.saturating_sub(self.base))
    }

    /// True if a search has found something later than this time of the run.
    fn is_ahead(&self, now: u64) -> bool {
        self.found_at.is_some_and(|found| self.base + now < found)
    }

    /// Programs that have ended by a time of the run since the last call, besides daemons.
    pub fn take_ended(&mut self, now: u64) -> Vec<EndedProgram> {
        if self.is_ahead(now) { Vec::new() } else { std::mem::take(&mut self.ended) }
    }

    pub fn fault_text(&self, what: &str) -> String {
        self.link.fault_text(what)
    }

    /// Path of the script of all jobs.
    pub fn script_path(&self) -> String {
        format!("{}/job.sh", self.folder)
    }

    pub fn preempts(&self) -> bool {
        self.conf.preempts
    }

    /// Fate of a daemon, with its last complaint.
    fn lost_daemon(&self, command: &[String], code: u8, output: &str) -> String {
        let name = command.join(" ").replace(" -D -c", "").replace(" -D -N", "");
        let complaint = find_complaints(output, &self.conf);
        match (code, complaint.is_empty()) {
            (129.., _) => format!("has lost {name}, which was killed by signal {}", code - 128),
            (_, true) => format!("has lost {name}, which has ended with exit code {code}"),
            (_, false) => format!("has lost {name}, which has ended with exit code {code}: {complaint}"),
        }
    }

    /// The complaints in a log of this cluster.
    fn log_complaints(&self, log: &str) -> String {
        let output = fs::read_to_string(Path::new(&self.folder).join(log)).unwrap_or_default();
        find_complaints(&output, &self.conf)
    }
}

/// Nodes of a site with their numbers of cores: those of its files, or nodes that share its cores equally.
pub fn node_list(site: &Site, files: Option<&SiteFiles>) -> Vec<(String, u32)> {
    if let Some(files) = files {
        return files.nodes();
    }
    let nodes = site.program.slurm.node_count(site.cores);
    (0..nodes).map(|node| (format!("n{node}"), site.cores / nodes)).collect()
}

/// Writes gres.conf, the files that stand for devices, and topology.conf.
fn write_site_files(files: &SiteFiles, folder: &Path) -> std::io::Result<()> {
    let devices = folder.join("devices");
    fs::create_dir(&devices)?;
    let (text, names) = files.devices(&devices.to_string_lossy());
    fs::write(folder.join("gres.conf"), text)?;
    names.iter().try_for_each(|name| fs::write(devices.join(name), ""))?;
    files.topology.iter().try_for_each(|text| fs::write(folder.join("topology.conf"), text))
}

/// Errors in the output of a daemon, in terms of the user's file. Those that end it and those about its conf take
/// precedence over others, of which the last is shown.
fn find_complaints(output: &str, conf: &Conf) -> String {
    let mut grave = Vec::new();
    let mut last = String::new();
    for line in output.lines() {
        let Some(at) = ["error: ", "fatal: "].iter().filter_map(|kind| line.find(kind)).min() else { continue };
        let line = shorten_output(&line[at..]);
        let complaint = conf.in_terms_of_file(&line);
        let is_grave =
            complaint != line || ["fatal: ", "error: Pars", "error: _parse"].iter().any(|it| line.starts_with(it));
        if is_grave && !grave.contains(&complaint) {
            grave.push(complaint);
        } else if !is_grave {
            last = complaint;
        }
    }
    if grave.is_empty() { last } else { grave.join("; ") }
}

/// The script of a job: reports that it starts, sleeps for its run time, and reports if it is killed.
fn job_script(folder: &str) -> String {
    format!(
        "#!/bin/sh\n\
         killed() {{ echo \"killed $SLURM_JOB_NAME\" >{folder}/reports; exit 1; }}\n\
         trap killed TERM\n\
         echo \"start $SLURM_JOB_NAME $SLURM_JOB_NODELIST $SLURM_JOB_CPUS_PER_NODE ${{SLURM_RESTART_COUNT:-0}}\" >{folder}/reports\n\
         sleep \"$1\" &\n\
         wait $! || killed\n"
    )
}

/// A pipe with a name, which is read without waiting and of which one end is always open for writing.
fn make_pipe(path: &Path) -> std::io::Result<File> {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)
}

/// Folders in which Slurm's programs are looked for.
pub fn search_path(programs: &str) -> String {
    let usual = std::env::var("PATH").unwrap_or_else(|_| "/bin:/usr/bin".to_owned());
    // Programs are started in a folder of their own.
    let first = std::path::absolute(programs).map(|folder| format!("{}:", folder.display())).unwrap_or_default();
    format!("{first}{usual}:/usr/sbin:/sbin")
}
