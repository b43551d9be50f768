//! Files that submit an experiment, or a paper's, in shares, or one run on many machines, to a cluster: a script for
//! Slurm, objects for Kubernetes, a job file for HyperQueue. Nothing is submitted here.
//!
//! All commands of an experiment are the same call of `hansa sweep` or `hansa reproduce` with different shares, and the
//! last one gathers. So the commands of a cluster can be typed by hand as well, and resume after any of its jobs was
//! ended.

mod bundle;
mod hyperqueue;
mod kubernetes;
mod slurm;
mod yaml;

use std::path::{Path, PathBuf};

use clap::ValueEnum;

use self::bundle::FileBundle;
use super::disk::{operation_failure, write_named_as};
use super::input::{default_out, has_key, load_topology};
use super::sweep::{FileCache, read_experiment};
use super::{Failure, out};
use hansa_sim::topology::{Override, Topology};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// A script for bash that calls sbatch, or that sbatch takes
    Slurm,
    /// Objects for kubectl apply
    Kubernetes,
    /// A job file for hq job submit-file; for experiments
    Hyperqueue,
}

/// The options of the command.
#[derive(Debug)]
pub struct ClusterOptions {
    pub engine: Engine,
    pub work: ClusterWork,
    pub overrides: Vec<Override>,
    /// The overrides as they were typed.
    pub flags: Vec<String>,
    pub parts: Option<usize>,
    pub nodes: Option<usize>,
    pub cpus: u16,
    pub results: Option<PathBuf>,
    pub image: Option<String>,
    pub claim: Option<String>,
    pub program: Option<PathBuf>,
    pub out: Option<PathBuf>,
}

/// The work to be done.
#[derive(Debug)]
pub enum ClusterWork {
    /// An experiment or a topology.
    File(String),
    Paper(PaperRun),
}

/// A paper's experiment, as `hansa reproduce` takes it.
#[derive(Debug)]
pub struct PaperRun {
    /// Its name, and checked flags.
    pub words: Vec<String>,
    pub reads_logs: bool,
}

/// An experiment that is run in shares.
pub(crate) struct Shares {
    pub name: String,
    /// Arguments of hansa without places and shares; files as the process that runs it sees them.
    pub work: Vec<String>,
    pub rows: String,
    pub program: String,
    pub parts: usize,
    pub cpus: u16,
}

/// One run on many machines.
pub(crate) struct MachineSpread<'a> {
    pub topology: &'a Topology,
    pub file: String,
    pub flags: &'a [String],
    pub results: String,
    pub program: String,
    pub nodes: usize,
    pub cpus: u16,
}

/// Default number of an experiment's shares.
const PARTS: usize = 8;
/// Number of restarts of a killed member of a run.
const RESTARTS: u32 = 3;
/// Default limit on the tasks of an array in Slurm.
const PARTS_MAX: usize = 1_000;

/// Writes the file of a wish.
pub fn write_cluster_file(wish: &ClusterOptions) -> Result<(), Failure> {
    let ClusterOptions { engine, work, .. } = wish;
    if matches!(work, ClusterWork::File(file) if file == "-") {
        return Err(Failure::Input("a cluster cannot read our standard input: expected a file".to_owned()));
    }
    let only = |flag: &str, given: bool, fits: bool, what: &str| match given && !fits {
        true => Err(Failure::Input(format!("{flag} is for {what}"))),
        false => Ok(()),
    };
    let for_pods = *engine == Engine::Kubernetes;
    only("--image", wish.image.is_some(), for_pods, "kubernetes, whose pods run one")?;
    only("--claim", wish.claim.is_some(), for_pods, "kubernetes, whose pods share one")?;
    only("--program", wish.program.is_some(), !for_pods, "slurm and hyperqueue: pods run the one in their --image")?;
    only("--results", wish.results.is_some(), !for_pods, "slurm and hyperqueue: pods write to their --claim")?;

    let is_experiment = match work {
        ClusterWork::File(file) => has_key(file, &["vary", "topology"]),
        ClusterWork::Paper(_) => true,
    };
    only("--set or --seed", !wish.flags.is_empty(), !is_experiment, "topologies: an experiment has a table [set]")?;
    // An unreadable file is neither, which the function that reads it reports.
    let is_there = |file: &str| Path::new(file).exists() && !Path::new(file).is_dir();
    let is_topology = !is_experiment && matches!(work, ClusterWork::File(file) if is_there(file));
    only("--parts", wish.parts.is_some(), !is_topology, "experiments: a topology is one run")?;
    let for_one_run = !is_experiment && *engine == Engine::Slurm;
    only("--nodes", wish.nodes.is_some(), for_one_run, "slurm, and a topology")?;
    let text = match work {
        ClusterWork::Paper(paper) => of_paper(wish, paper)?,
        ClusterWork::File(file) if is_experiment => of_experiment(wish, file)?,
        ClusterWork::File(file) => of_topology(wish, file)?,
    };
    write_output(wish, &text)
}

fn of_experiment(wish: &ClusterOptions, file: &str) -> Result<String, Failure> {
    let mut files = FileCache::default();
    let experiment = read_experiment(file, &mut files)?;
    let sweep = |file: String| vec!["sweep".to_owned(), file];
    let parts = wish.parts.unwrap_or(PARTS).min(experiment.count());
    match wish.engine {
        Engine::Kubernetes => {
            let bundle = FileBundle::read_files(file, files.found_paths())?;
            bundle.holds_experiment(file)?;
            in_shares(wish, experiment.name, sweep(bundle.path_inside(file)?), parts, &bundle)
        }
        _ => in_shares(wish, experiment.name, sweep(absolute_text(Path::new(file))?), parts, &FileBundle::default()),
    }
}

/// All inputs of a paper except logs are in the program.
fn of_paper(wish: &ClusterOptions, paper: &PaperRun) -> Result<String, Failure> {
    if wish.engine == Engine::Kubernetes && paper.reads_logs {
        return Err(Failure::Input("--logs: pods cannot read that folder; expected slurm or hyperqueue".to_owned()));
    }
    let name = format!("reproduce-{}", paper.words[0]);
    let work = ["reproduce".to_owned()].into_iter().chain(paper.words.iter().cloned()).collect();
    in_shares(wish, name, work, wish.parts.unwrap_or(PARTS), &FileBundle::default())
}

fn in_shares(
    wish: &ClusterOptions,
    name: String,
    work: Vec<String>,
    parts: usize,
    bundle: &FileBundle,
) -> Result<String, Failure> {
    if parts > PARTS_MAX {
        return Err(Failure::Input(format!("--parts {parts}: expected at most {PARTS_MAX}")));
    }
    let rows = results_path(wish, &name, PathBuf::from("out").join(&name))?;
    let shares = Shares { name, work, rows, program: program_path(wish)?, parts, cpus: wish.cpus };
    match wish.engine {
        Engine::Slurm => Ok(slurm::slurm_shares(&shares)),
        Engine::Hyperqueue => Ok(hyperqueue::hyperqueue_shares(&shares)),
        Engine::Kubernetes => kubernetes::kubernetes_shares(&shares, &pod_options(wish), bundle),
    }
}

fn of_topology(wish: &ClusterOptions, file: &str) -> Result<String, Failure> {
    if wish.engine == Engine::Hyperqueue {
        return Err(Failure::Input(format!(
            "{file} is a topology, whose processes all have to run at the same time, but HyperQueue starts tasks one by one: expected an experiment, or slurm or kubernetes"
        )));
    }
    let loaded = load_topology(file, &wish.overrides)?;
    let topology = &loaded.topology;
    let nodes = wish.nodes.unwrap_or(topology.sites.len()).clamp(1, topology.sites.len().max(1));
    let mut spread = MachineSpread {
        topology,
        file: absolute_text(Path::new(file))?,
        flags: &wish.flags,
        results: results_path(wish, &topology.name, default_out(topology))?,
        program: program_path(wish)?,
        nodes,
        cpus: wish.cpus,
    };
    match wish.engine {
        Engine::Slurm => slurm::slurm_spread(&spread),
        _ => {
            let bundle = FileBundle::read_files(file, loaded.inputs.iter().map(|input| input.path.clone()))?;
            bundle.holds_topology(file, &wish.overrides, topology)?;
            spread.file = bundle.path_inside(file)?;
            kubernetes::kubernetes_spread(&spread, &pod_options(wish), &bundle)
        }
    }
}

fn pod_options(wish: &ClusterOptions) -> kubernetes::Pods {
    kubernetes::Pods { image: wish.image.clone().unwrap_or_else(|| "hansa".to_owned()), claim: wish.claim.clone() }
}

/// The place of results, as the process that writes them sees it.
fn results_path(wish: &ClusterOptions, name: &str, usual: PathBuf) -> Result<String, Failure> {
    match wish.engine {
        Engine::Kubernetes => Ok(format!("{}/{name}", kubernetes::RESULTS)),
        Engine::Slurm | Engine::Hyperqueue => absolute_text(wish.results.as_ref().unwrap_or(&usual)),
    }
}

/// Path of hansa on the machines of the cluster: by default its path here, or its path in images.
fn program_path(wish: &ClusterOptions) -> Result<String, Failure> {
    if wish.engine == Engine::Kubernetes {
        return Ok(kubernetes::PROGRAM.to_owned());
    }
    let here = || {
        std::env::current_exe()
            .map_err(|error| Failure::System(format!("cannot find this program's own path: {error}")))
    };
    let path = wish.program.clone().map_or_else(here, Ok)?;
    // A bare name is looked for in PATH.
    if path.components().count() == 1 { text_of(&path) } else { absolute_text(&path) }
}

/// A path that is valid from every folder.
pub(crate) fn absolute_text(path: &Path) -> Result<String, Failure> {
    let whole = std::path::absolute(path)
        .map_err(|error| Failure::Input(format!("cannot determine the path of {}: {error}", path.display())))?;
    text_of(&whole)
}

fn text_of(path: &Path) -> Result<String, Failure> {
    let text = path.to_str().filter(|text| !text.contains(char::is_control)).map(str::to_owned);
    text.ok_or_else(|| Failure::Input(format!("{} cannot be written into a script", path.display())))
}

/// Writes a script with the right to execute it, and a file that may hold keys readable for its owner only.
fn write_output(wish: &ClusterOptions, text: &str) -> Result<(), Failure> {
    let Some(out) = &wish.out else { return out::always(text) };
    let mode = match wish.engine {
        Engine::Slurm => 0o755,
        Engine::Hyperqueue => 0o644,
        Engine::Kubernetes => 0o600,
    };
    write_named_as(out, mode, text.as_bytes()).map_err(|error| operation_failure("write", out, &error))
}

impl Shares {
    /// The words of the call of a share, or of the last call.
    fn share_command(&self, share: &[&str]) -> Vec<String> {
        let words = [&self.program].into_iter().chain(&self.work).map(String::as_str);
        words.chain(["--out", &self.rows]).chain(share.iter().copied()).map(str::to_owned).collect()
    }
}
