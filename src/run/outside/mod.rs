//! External programs that decide instead of actors: bid and fit policies, managers of sites, planners of users.
//!
//! The run waits for every answer, so a program decides in virtual time, and the run is as deterministic as its
//! answers. `docs/outside.md` and `docs/batsim.md` describe the conversations. A program is started by the process that
//! plays its actor, and ends with it. Every fault (it cannot be started, dies, is silent, answers nonsense) ends the
//! run with an error that names it; until then no decision is made any more.

mod absent;
mod allocator;
mod batsim;
mod bidder;
mod lines;
mod manager;
mod planner;
mod program;
mod program_link;
mod slurm;
mod starting;
pub mod zmtp;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::mpsc;

use super::Failure;
use super::sanitize::sanitize_line_up_to;
use hansa_sim::grid::{Behaviour, Program, QueueOrder};
use hansa_sim::kernel::ActorId;
use hansa_sim::systems::HubProgram;
use hansa_sim::systems::managers::{self, ProgramProtocol};
use hansa_sim::time::{Span, Time};
use hansa_sim::topology::{ExternalDeciders, Input, Role, Roster, Topology, path_beside};
use hansa_sim::workload::sbatch::RequestList;
use program_link::{ProgramLink, Trouble};

pub use absent::look_for;

/// Set when a run is to end, for any reason.
pub type Stop = Arc<AtomicBool>;

/// Virtual time that the clocks of real schedulers have passed in this process, in us, all together.
///
/// The thread that drives a leaf waits for a scheduler, which may pass days between two decisions. The sum is the sign
/// that it makes progress: `run/member.rs` reports it to the router, whose watchdog counts it. A scheduler whose clock
/// stands still adds nothing.
#[derive(Clone, Debug, Default)]
pub struct ExternalClocks(Arc<AtomicU64>);

impl ExternalClocks {
    fn add(&self, passed: Span) {
        self.0.fetch_add(passed.micros(), Ordering::Relaxed);
    }

    pub fn micros(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Access to a program's fault from outside of the actor that asks it.
#[derive(Clone, Debug, Default)]
pub struct ProgramFault {
    text: Arc<Mutex<Option<String>>>,
    stop: Stop,
}

/// Longer than any of our own sentences, with the command in it.
const TEXT_MAX: usize = 2_000;

impl ProgramFault {
    fn new(stop: &Stop) -> ProgramFault {
        ProgramFault { text: Arc::default(), stop: stop.clone() }
    }

    pub fn take_failure(&self) -> Option<Failure> {
        self.text.lock().ok()?.take().map(Failure::Program)
    }

    /// The end of a run: a program's fault takes precedence over its consequences.
    pub fn prefer_fault(&self, end: Result<(), Failure>) -> Result<(), Failure> {
        match (self.take_failure(), end) {
            (Some(failure), _) => Err(failure),
            // No decision was made once the run was to end, so this is no end of its own.
            (None, Ok(())) if self.stop.load(Ordering::Relaxed) => Err(interrupted_failure()),
            (None, end) => end,
        }
    }

    /// The reason for which programs give no more answers: a fault, or the end that `endings` announce. None while they
    /// answer.
    ///
    /// Actors that get no answer act without a decision. Call this after they have run, and before anything of theirs
    /// is sent or put into a journal, which a repeated run would contradict.
    pub fn find_end(&self, endings: &mut mpsc::UnboundedReceiver<Failure>) -> Option<Failure> {
        if let Some(failure) = self.take_failure() {
            return Some(failure);
        }
        // The flag is set after the reason was sent.
        self.stop.load(Ordering::Acquire).then(|| endings.try_recv().unwrap_or_else(|_| interrupted_failure()))
    }

    fn set_fault(&self, text: &str) {
        if let Ok(mut fault) = self.text.lock() {
            fault.get_or_insert_with(|| sanitize_line_up_to(text, TEXT_MAX));
        }
    }

    /// Records the reason why there is no answer.
    fn record_trouble(&self, trouble: Trouble, now: Time) {
        if let Trouble::Fault(text) = trouble {
            self.set_fault(&format!("{text}, at virtual time {now}"));
        }
    }

    fn is_set(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.text.lock().is_ok_and(|fault| fault.is_some())
    }
}

fn interrupted_failure() -> Failure {
    Failure::Interrupted("interrupted".to_owned())
}

/// The actor that a program decides for.
#[derive(Clone, Copy)]
enum Wanted<'a> {
    /// A service, by its index into the topology's systems.
    Hub(usize, HubProgram, &'a Program),
    /// An index into the topology's sites.
    Manager(usize, ProgramProtocol),
    /// An index into the topology's users.
    Planner(usize),
}

/// The programs that a topology needs, by actor.
fn wanted_programs<'a>(topology: &'a Topology, roster: &Roster) -> Vec<(ActorId, Wanted<'a>)> {
    let of = |id: ActorId| match roster.roles[id.index()] {
        Role::Hub(index) => {
            let (conversation, program) = topology.systems[index].hub_program()?;
            Some(Wanted::Hub(index, conversation, program))
        }
        Role::Site(site) => Some(Wanted::Manager(site, managers::program_protocol(&topology.sites[site].scheduler)?)),
        Role::User(user) => (topology.users[user].behaviour == Behaviour::External).then_some(Wanted::Planner(user)),
        Role::Exchange => None,
    };
    roster.all().into_iter().filter_map(|id| Some((id, of(id)?))).collect()
}

/// True if a program decides for any of these.
pub fn decides_for(topology: &Topology, roster: &Roster, ids: &[ActorId]) -> bool {
    wanted_programs(topology, roster).iter().any(|(id, _)| ids.contains(id))
}

/// Names of the sites that must know facts about their jobs: those of a real Slurm, if jobs have options, and those
/// whose queues rank jobs by their users and accounts.
pub fn sites_with_requests(topology: &Topology) -> BTreeSet<String> {
    let requests = topology.workloads.iter().map(|workload| workload.source.job_source().request_list());
    let has_requests = !requests.into_iter().all(|list| matches!(list, RequestList::None));
    let sites = topology.sites.iter().filter(|site| {
        let is_slurm = managers::program_protocol(&site.scheduler) == Some(ProgramProtocol::Slurm);
        has_requests && is_slurm || site.order == QueueOrder::Multifactor
    });
    sites.map(|site| site.name.clone()).collect()
}

/// True if a run asks any program.
pub fn is_wanted(topology: &Topology) -> bool {
    !wanted_programs(topology, &Roster::of_topology(topology)).is_empty()
}

/// The external program that decides for an actor, in words: "site york's manager `python3 manager.py`".
pub fn describe_programs(topology: &Topology) -> BTreeMap<ActorId, String> {
    wanted_programs(topology, &Roster::of_topology(topology))
        .into_iter()
        .map(|(id, wanted)| (id, describe_program(topology, wanted)))
        .collect()
}

/// The files that commands name, on which the results of a run depend.
pub fn program_files(topology: &Topology, written_in: &str) -> Vec<Input> {
    let mut files: Vec<Input> = Vec::new();
    for (_, wanted) in wanted_programs(topology, &Roster::of_topology(topology)) {
        let mut its_files = Vec::new();
        if let Wanted::Manager(site, ProgramProtocol::Slurm) = wanted {
            let site = &topology.sites[site];
            its_files.push(site.program.slurm.conf.clone());
            its_files.push(site.program.slurm.change.clone());
            its_files.extend(slurm::site_files(site, written_in));
        }
        for word in program_of(topology, wanted).command.iter().chain(&its_files) {
            let path = resolve_word(word, written_in);
            let is_file = std::fs::metadata(&path).ok().filter(Metadata::is_file).is_some();
            if is_file
                && !files.iter().any(|file| file.path == path)
                && let Ok(bytes) = std::fs::read(&path)
            {
                files.push(Input::of_file(&path, &bytes));
            }
        }
    }
    files
}

fn program_of<'a>(topology: &'a Topology, wanted: Wanted<'a>) -> &'a Program {
    match wanted {
        Wanted::Hub(_, _, program) => program,
        Wanted::Manager(site, _) => &topology.sites[site].program,
        Wanted::Planner(user) => &topology.users[user].program,
    }
}

/// A program, with its actor, in words.
fn describe_program(topology: &Topology, wanted: Wanted<'_>) -> String {
    let command = program_of(topology, wanted).command.join(" ");
    match wanted {
        Wanted::Hub(_, HubProgram::Bidder, _) => format!("the bidder `{command}`"),
        Wanted::Hub(_, HubProgram::Allocator, _) => format!("the allocator `{command}`"),
        Wanted::Manager(site, ProgramProtocol::Slurm) => format!("site {}'s Slurm", topology.sites[site].name),
        Wanted::Manager(site, ProgramProtocol::Lines) => {
            format!("site {}'s manager `{command}`", topology.sites[site].name)
        }
        Wanted::Manager(site, ProgramProtocol::Batsim) => {
            let site = &topology.sites[site];
            match command.is_empty() {
                true => format!("site {}'s Batsim scheduler at {}", site.name, site.program.socket),
                false => format!("site {}'s Batsim scheduler `{command}`", site.name),
            }
        }
        Wanted::Planner(user) => format!("user {}'s planner `{command}`", topology.users[user].name),
    }
}

/// Replaces files in commands by their absolute paths, for readers of the topology elsewhere.
pub fn find_files(topology: &mut Topology, written_in: &str) {
    let of_systems = topology.systems.iter_mut().filter_map(|system| system.program_mut());
    let of_sites = topology.sites.iter_mut().map(|site| &mut site.program);
    let of_users = topology.users.iter_mut().map(|user| &mut user.program);
    for Program { command, slurm, .. } in of_systems.chain(of_sites).chain(of_users) {
        for path in [&mut slurm.site, &mut slurm.accounts].into_iter().filter(|path| !path.is_empty()) {
            if let Ok(whole) = std::path::absolute(resolve_path(path, written_in)) {
                *path = whole.to_string_lossy().into_owned();
            }
        }
        for word in command.iter_mut().chain([&mut slurm.conf, &mut slurm.change]) {
            let path = resolve_word(word, written_in);
            if path != *word
                && let Ok(path) = std::path::absolute(&path)
            {
                *word = path.to_string_lossy().into_owned();
            }
        }
    }
}

/// Indices of the sites that a Slurm manages.
pub fn slurm_sites(topology: &Topology) -> Vec<usize> {
    let is_slurm =
        |site: &usize| managers::program_protocol(&topology.sites[*site].scheduler) == Some(ProgramProtocol::Slurm);
    (0..topology.sites.len()).filter(is_slurm).collect()
}

/// The `slurm.conf` of a site that a Slurm manages, with placeholders for what is known only when it starts.
pub fn slurm_conf(topology: &Topology, site: usize, written_in: &str) -> Result<String, Failure> {
    slurm::shown_conf(&topology.sites[site], written_in).map_err(Failure::Input)
}

/// The script of the accounts of a site that a Slurm manages. None if it has none.
pub fn slurm_accounts(topology: &Topology, site: usize, written_in: &str) -> Result<Option<String>, Failure> {
    slurm::accounts_script(&topology.sites[site], written_in).map_err(Failure::Input)
}

/// Starts the Slurm of a site and ends it again: an error has its words about its `slurm.conf`.
pub fn try_slurm(topology: &Topology, site: usize, written_in: &str, stop: &Stop) -> Result<(), Failure> {
    let roster = Roster::of_topology(topology);
    let ids: Vec<ActorId> =
        roster.all().into_iter().filter(|id| roster.roles[id.index()] == Role::Site(site)).collect();
    start_programs(topology, &ids, written_in, stop, &ExternalClocks::default()).map(drop)
}

/// The `slurm.conf` of each site that a Slurm manages, as comments below the topology.
pub fn slurm_confs(topology: &Topology, written_in: &str) -> Result<String, Failure> {
    let sites = slurm_sites(topology).into_iter().map(|site| &topology.sites[site]);
    sites.map(|site| slurm::conf_comment(site, written_in)).collect::<Result<_, _>>().map_err(Failure::Input)
}

/// A path beside the topology.
fn resolve_path(path: &str, written_in: &str) -> String {
    path_beside(written_in, path)
}

/// A word of a command; if it names a file beside the topology's, the path of that, as for a log.
fn resolve_word(word: &str, written_in: &str) -> String {
    let path = path_beside(written_in, word);
    match Path::new(&path).is_file() {
        // Without a folder it would be looked for among the system's programs.
        true if !path.contains('/') => format!("./{path}"),
        true => path,
        false => word.to_owned(),
    }
}

/// Facts about a run for the start of its programs.
struct RunContext<'a> {
    topology: &'a Topology,
    /// Path of its file.
    written_in: &'a str,
    stop: &'a Stop,
    clocks: &'a ExternalClocks,
    fault: &'a ProgramFault,
}

impl RunContext<'_> {
    fn resolve_command(&self, command: &[String]) -> Vec<String> {
        command.iter().map(|word| resolve_word(word, self.written_in)).collect()
    }
}

/// A program that has been started and not yet greeted: others start meanwhile.
enum Begun {
    Lines(ProgramLink),
    Batsim(batsim::BegunBatsim),
    Slurm(Box<slurm::BegunSlurm>),
}

fn trouble_failure(trouble: Trouble) -> Failure {
    match trouble {
        Trouble::Stopped => interrupted_failure(),
        Trouble::Fault(text) => Failure::Program(sanitize_line_up_to(&text, TEXT_MAX)),
    }
}

/// Starts the programs that decide for these. The wait for them ends once `stop` is set.
pub fn start_programs(
    topology: &Topology,
    ids: &[ActorId],
    written_in: &str,
    stop: &Stop,
    clocks: &ExternalClocks,
) -> Result<(ExternalDeciders, ProgramFault), Failure> {
    let fault = ProgramFault::new(stop);
    let context = RunContext { topology, written_in, stop, clocks, fault: &fault };
    let roster = Roster::of_topology(topology);
    let mut begun = Vec::new();
    for (id, wanted) in wanted_programs(topology, &roster).into_iter().filter(|(id, _)| ids.contains(id)) {
        let name = describe_program(topology, wanted);
        let one = match wanted {
            Wanted::Manager(site, ProgramProtocol::Batsim) => {
                batsim::begin_batsim(&context, name, site).map(Begun::Batsim).map_err(Trouble::Fault)
            }
            Wanted::Manager(site, ProgramProtocol::Slurm) => {
                slurm::begin_slurm(&context, name, site).map(Box::new).map(Begun::Slurm)
            }
            _ => lines::start_program(&context, name, program_of(topology, wanted))
                .map(Begun::Lines)
                .map_err(Trouble::Fault),
        };
        begun.push((id, wanted, one.map_err(trouble_failure)?));
    }
    let mut deciders = ExternalDeciders::new();
    for (id, wanted, begun) in begun {
        let greeted = match (begun, wanted) {
            (Begun::Batsim(begun), _) => batsim::greet_batsim(&context, begun),
            (Begun::Slurm(begun), _) => slurm::greet_slurm(&context, *begun),
            (Begun::Lines(link), Wanted::Hub(system, HubProgram::Bidder, _)) => {
                bidder::greet_bidder(&context, link, system)
            }
            (Begun::Lines(link), Wanted::Hub(system, HubProgram::Allocator, _)) => {
                allocator::greet_allocator(&context, link, system)
            }
            (Begun::Lines(link), Wanted::Manager(site, _)) => manager::greet_manager(&context, link, site),
            (Begun::Lines(link), Wanted::Planner(user)) => planner::greet_planner(&context, link, user),
        };
        let decider = greeted.map_err(trouble_failure)?;
        deciders.insert(id, decider);
    }
    Ok((deciders, fault))
}
