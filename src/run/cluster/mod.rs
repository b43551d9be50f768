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

/// Writes the file that a user asks for.
pub fn write_cluster_file(options: &ClusterOptions) -> Result<(), Failure> {
    let ClusterOptions { engine, work, .. } = options;
    if matches!(work, ClusterWork::File(file) if file == "-") {
        return Err(Failure::Input("a cluster cannot read our standard input: expected a file".to_owned()));
    }
    let for_pods = *engine == Engine::Kubernetes;
    check_flag("--image", options.image.is_some(), for_pods, "kubernetes, whose pods run one")?;
    check_flag("--claim", options.claim.is_some(), for_pods, "kubernetes, whose pods share one")?;
    check_flag(
        "--program",
        options.program.is_some(),
        !for_pods,
        "slurm and hyperqueue: pods run the one in their --image",
    )?;
    check_flag("--results", options.results.is_some(), !for_pods, "slurm and hyperqueue: pods write to their --claim")?;

    let is_experiment = match work {
        ClusterWork::File(file) => has_key(file, &["vary", "topology"]),
        ClusterWork::Paper(_) => true,
    };
    check_flag(
        "--set or --seed",
        !options.flags.is_empty(),
        !is_experiment,
        "topologies: an experiment has a table [set]",
    )?;
    // An unreadable file is neither, which the function that reads it reports.
    let is_topology = !is_experiment
        && matches!(work, ClusterWork::File(file) if Path::new(file).exists() && !Path::new(file).is_dir());
    check_flag("--parts", options.parts.is_some(), !is_topology, "experiments: a topology is one run")?;
    let for_one_run = !is_experiment && *engine == Engine::Slurm;
    check_flag("--nodes", options.nodes.is_some(), for_one_run, "slurm, and a topology")?;
    let text = match work {
        ClusterWork::Paper(paper) => of_paper(options, paper)?,
        ClusterWork::File(file) if is_experiment => of_experiment(options, file)?,
        ClusterWork::File(file) => of_topology(options, file)?,
    };
    write_output(options, &text)
}

/// Fails if a flag is given that does not fit; `what` is what it is for.
fn check_flag(flag: &str, is_given: bool, fits: bool, what: &str) -> Result<(), Failure> {
    if is_given && !fits { Err(Failure::Input(format!("{flag} is for {what}"))) } else { Ok(()) }
}

fn of_experiment(options: &ClusterOptions, file: &str) -> Result<String, Failure> {
    let mut files = FileCache::default();
    let experiment = read_experiment(file, &mut files)?;
    let parts = options.parts.unwrap_or(PARTS).min(experiment.count());
    match options.engine {
        Engine::Kubernetes => {
            let bundle = FileBundle::read_files(file, files.found_paths())?;
            bundle.holds_experiment(file)?;
            in_shares(options, experiment.name, sweep_words(bundle.path_inside(file)?), parts, &bundle)
        }
        _ => in_shares(
            options,
            experiment.name,
            sweep_words(absolute_text(Path::new(file))?),
            parts,
            &FileBundle::default(),
        ),
    }
}

fn sweep_words(file: String) -> Vec<String> {
    vec!["sweep".to_owned(), file]
}

/// All inputs of a paper except logs are in the program.
fn of_paper(options: &ClusterOptions, paper: &PaperRun) -> Result<String, Failure> {
    if options.engine == Engine::Kubernetes && paper.reads_logs {
        return Err(Failure::Input("--logs: pods cannot read that folder; expected slurm or hyperqueue".to_owned()));
    }
    let name = format!("reproduce-{}", paper.words[0]);
    let work = ["reproduce".to_owned()].into_iter().chain(paper.words.iter().cloned()).collect();
    in_shares(options, name, work, options.parts.unwrap_or(PARTS), &FileBundle::default())
}

fn in_shares(
    options: &ClusterOptions,
    name: String,
    work: Vec<String>,
    parts: usize,
    bundle: &FileBundle,
) -> Result<String, Failure> {
    if parts > PARTS_MAX {
        return Err(Failure::Input(format!("--parts {parts}: expected at most {PARTS_MAX}")));
    }
    let rows = results_path(options, &name, PathBuf::from("out").join(&name))?;
    let shares = Shares { name, work, rows, program: program_path(options)?, parts, cpus: options.cpus };
    match options.engine {
        Engine::Slurm => Ok(slurm::slurm_shares(&shares)),
        Engine::Hyperqueue => Ok(hyperqueue::hyperqueue_shares(&shares)),
        Engine::Kubernetes => kubernetes::kubernetes_shares(&shares, &pod_options(options), bundle),
    }
}

fn of_topology(options: &ClusterOptions, file: &str) -> Result<String, Failure> {
    if options.engine == Engine::Hyperqueue {
        return Err(Failure::Input(format!(
            "{file} is a topology, whose processes all have to run at the same time, but HyperQueue starts tasks one by one: expected an experiment, or slurm or kubernetes"
        )));
    }
    let loaded = load_topology(file, &options.overrides)?;
    let topology = &loaded.topology;
    let nodes = options.nodes.unwrap_or(topology.sites.len()).clamp(1, topology.sites.len().max(1));
    let mut spread = MachineSpread {
        topology,
        file: absolute_text(Path::new(file))?,
        flags: &options.flags,
        results: results_path(options, &topology.name, default_out(topology))?,
        program: program_path(options)?,
        nodes,
        cpus: options.cpus,
    };
    match options.engine {
        Engine::Slurm => slurm::slurm_spread(&spread),
        _ => {
            let bundle = FileBundle::read_files(file, loaded.inputs.iter().map(|input| input.path.clone()))?;
            bundle.holds_topology(file, &options.overrides, topology)?;
            spread.file = bundle.path_inside(file)?;
            kubernetes::kubernetes_spread(&spread, &pod_options(options), &bundle)
        }
    }
}

fn pod_options(options: &ClusterOptions) -> kubernetes::Pods {
    kubernetes::Pods {
        image: options.image.clone().unwrap_or_else(|| "hansa".to_owned()),
        claim: options.claim.clone(),
    }
}

/// The place of results, as the process that writes them sees it.
fn results_path(options: &ClusterOptions, name: &str, usual: PathBuf) -> Result<String, Failure> {
    match options.engine {
        Engine::Kubernetes => Ok(format!("{}/{name}", kubernetes::RESULTS)),
        Engine::Slurm | Engine::Hyperqueue => absolute_text(options.results.as_ref().unwrap_or(&usual)),
    }
}

/// Path of hansa on the machines of the cluster: by default its path here, or its path in images.
fn program_path(options: &ClusterOptions) -> Result<String, Failure> {
    if options.engine == Engine::Kubernetes {
        return Ok(kubernetes::PROGRAM.to_owned());
    }
    let path = match &options.program {
        Some(path) => path.clone(),
        None => std::env::current_exe()
            .map_err(|error| Failure::System(format!("cannot find this program's own path: {error}")))?,
    };
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
fn write_output(options: &ClusterOptions, text: &str) -> Result<(), Failure> {
    let Some(out) = &options.out else { return out::always(text) };
    let mode = match options.engine {
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
