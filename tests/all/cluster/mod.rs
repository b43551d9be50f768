//! The output of `hansa cluster` on real engines: rows and digests are those of one machine.

mod slurm;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use self::slurm::Slurm;
use crate::grid::{HANSA, Scratch, digest, hansa, hansa_ok, json, shipped, text};
use crate::skip::skip;

/// An experiment beside its topology, with the results of one machine.
struct Case {
    scratch: Scratch,
    experiment: String,
}

impl Case {
    fn new() -> Case {
        let scratch = Scratch::new();
        for name in ["quickstart", "stale-quotes"] {
            let name = format!("{name}.toml");
            scratch.file(&name, &std::fs::read_to_string(shipped(&name)).unwrap());
        }
        let experiment = "name = \"try\"\ntopology = \"quickstart.toml\"\n[set]\nworkload.0.jobs = 30\n[vary]\nseed = [1, 2, 3]\nmarket.policy = [\"fifo\", \"srtf\"]\n";
        let experiment = scratch.file("try.toml", experiment).display().to_string();
        let whole = scratch.path("whole").display().to_string();
        hansa_ok(&["sweep", &experiment, "--out", &whole]);
        Case { scratch, experiment }
    }

    fn at(&self, name: &str) -> String {
        self.scratch.path(name).display().to_string()
    }

    fn write(&self, engine: &str, file: &str, flags: &[&str]) -> String {
        let out = self.at(&format!("submit-{engine}"));
        hansa_ok(&[&["cluster", engine, file, "--out", &out], flags].concat());
        out
    }

    fn has_rows_of_one_machine(&self, rows: &Path) {
        for file in ["runs.csv", "sweep.json"] {
            let read = |folder: &Path| std::fs::read_to_string(folder.join(file)).unwrap_or_default();
            assert_eq!(read(rows), read(&self.scratch.path("whole")), "{file}");
        }
    }

    /// Digest of a topology, run inline on this machine.
    fn inline(&self, topology: &str, flags: &[&str]) -> String {
        let out = self.at("inline");
        hansa_ok(&[&["run", "--inline", topology, "--out", &out], flags].concat());
        digest(Path::new(&out))
    }
}

#[test]
fn slurm_runs_the_shares_of_an_experiment_and_one_run_on_its_nodes() {
    let slurm = match Slurm::start() {
        Ok(slurm) => slurm,
        Err(why) => return skip(&why),
    };
    let case = Case::new();
    let rows = case.scratch.path("with space");
    let script = case.write("slurm", &case.experiment, &["--parts", "3", "--results", &rows.display().to_string()]);
    well(slurm.call("bash", &[&script, "--time=5"]));
    slurm.is_done().unwrap();
    case.has_rows_of_one_machine(&rows);

    for name in ["quickstart", "stale-quotes"] {
        let topology = case.at(&format!("{name}.toml"));
        let out = case.at("out-slurm");
        let script = case.write("slurm", &topology, &["--nodes", "1", "--results", &out, "--seed", "7"]);
        let log = case.at("slurm.log");
        let ended = slurm.call("sbatch", &["--wait", "--output", &log, &script]);
        assert!(ended.status.success(), "{}", std::fs::read_to_string(&log).unwrap_or_default());
        assert_eq!(digest(Path::new(&out)), case.inline(&topology, &["--seed", "7"]), "{name}");
        assert_eq!(json(&Path::new(&out).join("manifest.json"))["layout"], "slurm");
    }
    // The identities are deleted with their jobs.
    let names = std::fs::read_dir(case.scratch.path("")).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(!names.into_iter().any(|name| name.to_string_lossy().starts_with(".hansa-")));
}

/// A member that is refused, or killed, is started again; once the router is gone none is.
#[test]
fn members_of_a_slurm_job_live_and_end_with_its_router() {
    let slurm = match Slurm::start() {
        Ok(slurm) => slurm,
        Err(why) => return skip(&why),
    };
    let case = Case::new();
    let topology = case.at("quickstart.toml");
    let once = case.at("once");
    let log = case.at("slurm.log");
    let submit = |wrapper: &str, out: &str| {
        let program = case.scratch.file("wrapper", &format!("#!/bin/sh\n{wrapper}\nexec {HANSA} \"$@\"\n"));
        std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let program = program.display().to_string();
        let flags = ["--nodes", "1", "--results", out, "--program", &program];
        let script = case.write("slurm", &topology, &flags);
        // `sbatch --wait` looks less and less often.
        well(slurm.call("sbatch", &["--output", &log, &script]));
        slurm.is_done().unwrap();
        let job = text(&slurm.call("scontrol", &["--oneliner", "show", "job"]).stdout);
        let job = job.lines().last().unwrap_or_default().to_owned();
        let value = |key: &str| job.split(' ').find_map(|word| word.strip_prefix(key)).unwrap_or_default().to_owned();
        (value("JobState="), value("RunTime="), std::fs::read_to_string(&log).unwrap_or_default())
    };

    let out = case.at("refused");
    let refuses = format!("if [ $1 = site ] && [ ! -e {once} ]; then touch {once}; exit 6; fi");
    let (state, _, printed) = submit(&refuses, &out);
    assert_eq!(state, "COMPLETED", "{printed}");
    assert_eq!(digest(Path::new(&out)), case.inline(&topology, &[]));

    // The router is killed while it waits for a member that never comes.
    let killed = format!(
        "if [ $1 = user ]; then exec sleep 60; fi\nif [ $1 = router ]; then {HANSA} \"$@\" & id=$!; sleep 3; kill -9 $id; wait $id; exit; fi"
    );
    let (state, took, printed) = submit(&killed, &case.at("killed"));
    assert!(state == "FAILED" && took.as_str() < "00:00:20", "{state} after {took}: {printed}");
}

#[test]
fn hyperqueue_runs_the_shares_of_an_experiment() {
    let Some(python) = python_with("hyperqueue") else {
        return skip("no Python here has hyperqueue (PyPI; $HANSA_PYTHON says which Python)");
    };
    let case = Case::new();
    let rows = case.scratch.path("rows");
    let file = case.write("hyperqueue", &case.experiment, &["--parts", "4", "--results", &rows.display().to_string()]);
    let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/cluster/submit.py");
    well(Command::new(&python).arg(driver).arg(file).stdin(Stdio::null()).output().unwrap());
    case.has_rows_of_one_machine(&rows);
}

/// Runs the tasks of HyperQueue one after the other.
#[test]
fn a_papers_experiment_is_run_in_shares_too() {
    let scratch = Scratch::new();
    let at = |name: &str| scratch.path(name).display().to_string();
    let words = ["reservation", "--requests", "60", "--workloads", "2"];
    hansa_ok(&[&["reproduce"], &words[..], &["--out", &at("whole")]].concat());
    let file = at("submit.toml");
    let rows = at("rows");
    let arguments = words.join(" ");
    let options = ["--parts", "3", "--results", &rows, "--out", &file];
    hansa_ok(&[&["cluster", "hyperqueue", "--reproduce", &arguments], &options[..]].concat());
    let submitted: toml::Table = std::fs::read_to_string(&file).unwrap().parse().unwrap();
    let tasks = submitted["task"].as_array().unwrap();
    assert_eq!(tasks.len(), 4);
    for task in tasks {
        let command: Vec<&str> =
            task["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
        assert_eq!(command[0], HANSA);
        hansa_ok(&command[1..]);
    }
    let files = |folder: &str| -> Vec<(String, Vec<u8>)> {
        let entries = std::fs::read_dir(scratch.path(folder)).unwrap().map(|entry| entry.unwrap());
        let mut files: Vec<_> = entries
            .map(|entry| (entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path()).unwrap()))
            .collect();
        // Pieces are in the order in which they ended, and each share keeps its own.
        files.retain(|(name, _)| name != "pieces.jsonl");
        files.sort();
        files
    };
    assert!(!files("whole").is_empty());
    assert_eq!(files("rows"), files("whole"));
}

/// The folder is found from any current directory; other words, such as the name of the paper, are unchanged.
#[test]
fn a_folder_of_logs_is_written_as_a_whole_path() {
    let scratch = Scratch::new();
    let folder = scratch.path("dfrs").display().to_string();
    let all_arguments = ["dfrs --logs dfrs", "dfrs --logs=dfrs --full"];
    let written = [format!("dfrs --logs {folder}"), format!("dfrs --logs={folder} --full")];
    for (arguments, written) in all_arguments.into_iter().zip(written) {
        let mut command = Command::new(HANSA);
        command.args(["cluster", "slurm", "--reproduce", arguments]).current_dir(scratch.path(""));
        let output = command.stdin(Stdio::null()).output().unwrap();
        let script = text(&output.stdout);
        let error = text(&output.stderr);
        assert!(script.contains(&format!("reproduce {written} --out")), "{script}{error}");
        assert!(script.contains("--job-name=reproduce-dfrs "), "{script}");
    }
}

#[test]
fn kubernetes_accepts_the_objects_and_their_commands_work() {
    let Some(python) = python_with("kubernetes_validate") else {
        return skip("no Python here has kubernetes-validate (PyPI; $HANSA_PYTHON says which Python)");
    };
    let case = Case::new();
    let shares = case.write("kubernetes", &case.experiment, &["--parts", "3", "--cpus", "2"]);
    fits_the_schema(&python, &shares);
    run_pods(&python, &shares, &case.at("shared"));
    fits_the_schema(&python, &case.write("kubernetes", "--reproduce=heft --full", &[]));
    case.has_rows_of_one_machine(&case.scratch.path("shared/hansa-try-results/try"));

    let topology = case.at("stale-quotes.toml");
    let set = ["--seed", "7", "--claim", "mine"];
    let run = case.write("kubernetes", &topology, &set);
    fits_the_schema(&python, &run);
    run_pods(&python, &run, &case.at("shared"));
    assert_eq!(digest(&case.scratch.path("shared/mine/stale-quotes")), case.inline(&topology, &set[..2]));
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&run).unwrap());
    assert_eq!(mode & 0o777, 0o600, "it holds keys");
}

fn fits_the_schema(python: &Path, file: &str) {
    let call = "from kubernetes_validate.__main__ import main; raise SystemExit(main())";
    let check = |file: &str| {
        let mut command = Command::new(python);
        command.args(["-c", call, "--strict", file]).stdin(Stdio::null()).output().unwrap()
    };
    well(check(file));
    // The validator detects errors.
    let text = std::fs::read_to_string(file).unwrap().replacen("backoffLimit", "backofLimit", 1);
    let wrong = format!("{file}.wrong.yaml");
    std::fs::write(&wrong, text).unwrap();
    assert!(!check(&wrong).status.success());
}

fn run_pods(python: &Path, file: &str, folder: &str) {
    let pods = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/cluster/pods.py");
    well(Command::new(python).arg(pods).args([file, folder, HANSA]).stdin(Stdio::null()).output().unwrap());
}

fn well(output: Output) {
    assert!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));
}

/// A Python that has this module.
fn python_with(module: &str) -> Option<PathBuf> {
    let python = std::env::var_os("HANSA_PYTHON").map_or_else(|| PathBuf::from("python3"), PathBuf::from);
    let mut call = Command::new(&python);
    call.args(["-c", &format!("import {module}")]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    call.status().is_ok_and(|status| status.success()).then_some(python)
}

#[test]
fn errors_of_submissions_are_reported_in_one_message() {
    let case = Case::new();
    let topology = case.at("quickstart.toml");
    let experiment = case.experiment.as_str();
    let elsewhere = format!("topology = {topology:?}\nname = \"whole\"\n[vary]\nseed = [1]\n");
    let whole = case.scratch.file("whole.toml", &elsewhere).display().to_string();
    let refused: &[(&[&str], &str)] = &[
        (&["sturm", experiment], "slurm"),
        (&["slurm", "nowhere.toml"], "nowhere.toml"),
        (&["slurm", "-"], "expected a file"),
        (&["slurm", experiment, "--nodes", "2"], "--nodes is for slurm, and a topology"),
        (&["slurm", experiment, "--seed", "7"], "--set or --seed is for topologies"),
        (&["slurm", experiment, "--image", "x"], "--image is for kubernetes"),
        (&["slurm", &topology, "--parts", "2"], "--parts is for experiments"),
        (&["slurm", experiment, "--parts", "0"], "--parts"),
        (&["hyperqueue", &topology], "expected an experiment, or slurm or kubernetes"),
        (&["kubernetes", experiment, "--results", "x"], "--results is for slurm and hyperqueue"),
        (&["kubernetes", &whole], "which do not exist in a pod"),
        (&["slurm", "--reproduce", "markt"], "market"),
        (&["slurm", "--reproduce", "dfrs --ful"], "--full"),
        (&["slurm", "--reproduce", "dfrs --out x"], "--parts, --cpus and --results say how it is run"),
        (&["slurm", "--reproduce", "market", "--seed", "7"], "--set or --seed is for topologies"),
        (&["kubernetes", "--reproduce", "dfrs --logs logs"], "expected slurm or hyperqueue"),
    ];
    for (words, message) in refused {
        let output = hansa(&[&["cluster"][..], words].concat());
        let printed = text(&output.stdout);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {error}");
        assert!(
            printed.is_empty() && error.contains(message) && error.matches("error:").count() == 1,
            "{words:?}: {error}"
        );
    }
}
