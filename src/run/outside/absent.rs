//! Checks whether external programs can be started, as far as possible beforehand: that is better than after all
//! members have joined.

use std::collections::BTreeSet;
use std::io::{Error, ErrorKind};
use std::path::Path;

use rustix::fs::{Access, access};

use super::starting::{how_to_get, why_not};
use super::{Failure, Wanted, batsim, describe_program, program_of, resolve_word, slurm, wanted_programs};
use hansa_sim::systems::HubProgram;
use hansa_sim::systems::managers::ProgramProtocol;
use hansa_sim::topology::{Loaded, Roster, Topology};

/// Facts about a topology's programs before any is started.
#[derive(Default)]
pub struct Absent {
    /// Reasons why some cannot be started here, each with its place.
    pub programs: Vec<String>,
    /// Missing files of theirs, as far as can be told.
    pub files: Vec<String>,
}

impl Absent {
    /// The failure of a run that needs them.
    pub fn missing_failure(&self) -> Failure {
        Failure::Program(self.programs.join("\nerror: "))
    }
}

/// Extensions of files that another program runs.
const SCRIPTS: &[&str] = &["py", "sh", "rb", "pl", "js", "mjs", "lua", "jar", "jl", "r"];

/// Looks for the programs of a topology as a run would.
pub fn look_for(loaded: &Loaded) -> Absent {
    let topology = &loaded.topology;
    let written_in = loaded.path();
    let mut absent = Absent::default();
    let mut missed = BTreeSet::new();
    for (_, wanted) in wanted_programs(topology, &Roster::of_topology(topology)) {
        if let Wanted::Manager(site, ProgramProtocol::Slurm) = wanted {
            absent.programs.extend(slurm::look_for(topology, site, written_in, |path| is_program(path).is_ok()));
            continue;
        }
        let Some((program, arguments)) = program_of(topology, wanted).command.split_first() else { continue };
        let key = program_key(topology, wanted);
        let place = loaded.command_place(&key).map(|place| format!("\n --> {place}")).unwrap_or_default();
        let named = |word: &str| match wanted {
            Wanted::Manager(site, ProgramProtocol::Batsim) => batsim::insert_site(word, &topology.sites[site].name),
            _ => word.to_owned(),
        };
        let as_started = |word: &str| named(&resolve_word(word, written_in));
        if let Err(error) = find_program(&as_started(program)) {
            let program = named(program);
            // The hint is given once.
            let is_new = missed.insert(program.clone());
            let hint = how_to_get(&program).filter(|_| is_new).unwrap_or_default();
            let why = why_not(&program, &error);
            absent
                .programs
                .push(format!("{key}: cannot start {}: {why}{hint}{place}", describe_program(topology, wanted)));
        } else if let Some(script) = arguments.iter().find(|word| !word.starts_with('-'))
            && is_script(script)
            && !Path::new(&as_started(script)).is_file()
        {
            let text =
                format!("{key}: there is no file {script}, neither beside the topology nor in this folder{place}");
            absent.files.push(text);
        }
    }
    absent
}

/// The key of a topology that names the program.
fn program_key(topology: &Topology, wanted: Wanted<'_>) -> String {
    match wanted {
        Wanted::Hub(system, HubProgram::Bidder, _) => {
            format!("{}.bidder.command", topology.systems[system].system_row().key)
        }
        Wanted::Hub(system, HubProgram::Allocator, _) => {
            format!("{}.allocator.command", topology.systems[system].system_row().key)
        }
        Wanted::Manager(site, _) => format!("site.{}.command", topology.sites[site].name),
        Wanted::Planner(user) => format!("user.{}.command", topology.users[user].name),
    }
}

/// Looks for a program where the system would.
fn find_program(program: &str) -> Result<(), Error> {
    if program.contains('/') {
        return is_program(Path::new(program));
    }
    let folders = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    let mut worst = Err(ErrorKind::NotFound.into());
    for folder in std::env::split_paths(&folders) {
        match is_program(&folder.join(program)) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() != ErrorKind::NotFound => worst = Err(error),
            Err(_) => {}
        }
    }
    worst
}

fn is_program(path: &Path) -> Result<(), Error> {
    match path.is_file() {
        true => access(path, Access::EXEC_OK).map_err(Error::from),
        false => Err(ErrorKind::NotFound.into()),
    }
}

fn is_script(word: &str) -> bool {
    let ending = Path::new(word).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    SCRIPTS.iter().any(|script| ending.eq_ignore_ascii_case(script))
}
