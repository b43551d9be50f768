//! Priorities of a real Slurm, and ours for the same jobs at the same moments; skipped where Slurm or MariaDB is not
//! installed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::sync::Arc;

use hansa_sim::grid::{Multifactor, TaskId};
use hansa_sim::roles::queue::{MultifactorRules, NodeRequest, Priorities};
use hansa_sim::time::{Span, Time};
use hansa_sim::topology::{Override, Topology, read_topology};
use hansa_sim::workload::facts::JobFactsIndex;

use crate::grid::{HANSA, Scratch, shipped, text};
use crate::slurm::{await_none, rows};
use crate::slurm_site::has_accounts;

/// Stands for `sbatch`: first writes the name of the job, the time, the start of Slurm, and the jobs that wait with
/// their weighted age, fair share, size, partition and QOS, nice value and priority.
const SBATCH: &str = r#"#!/bin/bash
{
echo "at $(date +%s.%N) $3 $(date -d "$(scontrol show config | sed -n 's/^BOOT_TIME *= //p')" +%s)"
sprio -h -o "%i %A %F %J %P %Q %N %Y" | sed 's/^ */sprio /'
squeue -h -o "job %i %j"
} >>LOG 2>&1
exec /usr/bin/sbatch "$@"
"#;
/// Lines for `slurm.conf` beside those of the site.
const CONFS: [&str; 2] = [
    "PriorityFlags=SMALL_RELATIVE_TO_TIME\n",
    "PriorityFlags=NO_FAIR_TREE\nFairShareDampeningFactor=2\nPriorityFavorSmall=YES\n",
];
/// Seconds around the end of a period in which Slurm may have computed priorities or not.
const UNCLEAR: f64 = 3.0;
const PERIOD: f64 = 60.0;
/// Largest difference of a fair share factor without fair tree.
const STEADY: f64 = 0.015;
/// Weighted factors in the order of the output above.
const FACTORS: [&str; 5] = ["age", "fair share", "size", "partition", "QOS"];
const AGE: usize = 0;
const SHARE: usize = 1;
const NICE: usize = 5;
const PRIORITY: usize = 6;

/// A moment of the run: seconds, and the factors and the priority of each job that waits.
struct Moment {
    at: f64,
    jobs: BTreeMap<u32, Vec<f64>>,
}

/// The moments of a log, in seconds of the run, and the start of Slurm.
fn read_log(log: &str, topology: &Topology) -> (Vec<Moment>, f64) {
    let arrivals = arrivals(topology);
    let mut moments: Vec<Moment> = Vec::new();
    let mut listed: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut booted = 0.0;
    let number = |word: &str| word.parse::<f64>().unwrap_or_else(|_| panic!("{word}: {log}"));
    for line in log.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["at", at, name, boot] => {
                let job = job_number(name);
                let at = number(at);
                let zero = at - arrivals[&job];
                booted = number(boot) - zero;
                listed.clear();
                moments.push(Moment { at: at - zero, jobs: BTreeMap::new() });
            }
            ["sprio", id, ..] => {
                listed.insert(id.to_owned(), words[2..].iter().map(|word| number(word)).collect());
            }
            ["job", id, name] => {
                let jobs = &mut moments.last_mut().unwrap().jobs;
                jobs.extend(listed.remove(id).map(|factors| (job_number(name), factors)));
            }
            _ => panic!("{line}: {log}"),
        }
    }
    (moments, booted)
}

fn job_number(name: &str) -> u32 {
    name.strip_prefix('j').unwrap().split('.').next().unwrap().parse().unwrap()
}

/// Seconds at which jobs arrive, by number.
fn arrivals(topology: &Topology) -> BTreeMap<u32, f64> {
    let jobs = jobs_of(topology);
    jobs.iter().map(|(job, (arrive, _))| (*job, arrive.micros() as f64 / 1e6)).collect()
}

/// Arrival and request of each job.
fn jobs_of(topology: &Topology) -> BTreeMap<u32, (Time, NodeRequest)> {
    let mut next = hansa_sim::workload::Numbering::default();
    let jobs = topology.workloads[0].source.jobs(&Default::default(), Span::ZERO, &mut next).unwrap();
    jobs.iter()
        .map(|job| {
            let task = job.tasks[0];
            let request =
                NodeRequest { job: TaskId { job: job.id, index: 0 }, nodes: task.cores, walltime: task.walltime };
            (job.id.0, (job.arrive, request))
        })
        .collect()
}

/// Our priorities with one weight alone, after the starts and ends of the real run before `at`. Time is that of Slurm,
/// which counts periods from its start.
fn our_priorities(topology: &Topology, settings: Multifactor, runs: &Runs, booted: f64, at: f64) -> BTreeMap<u32, u32> {
    let site = &topology.sites[0];
    let facts = JobFactsIndex::of_workloads(&topology.workloads);
    let mut priorities = Priorities::new(Arc::new(MultifactorRules::new(settings, site.cores, facts)));
    let since_boot = |seconds: f64| Time::from_micros(((seconds - booted) * 1e6) as u64);
    let jobs = jobs_of(topology);
    let mut events: Vec<(f64, bool, u32)> = Vec::new();
    for (job, (_, start, end, _)) in runs {
        events.push((*start, false, *job));
        events.push((*end, true, *job));
    }
    events.retain(|event| event.0 < at);
    events.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (time, is_end, job) in events {
        let request = jobs[&job].1;
        match is_end {
            true => priorities.end_job(since_boot(time), request.job),
            false => priorities.start_job(since_boot(time), &request, priorities.standing(&request)),
        }
    }
    priorities.advance(since_boot(at));
    let of_job = |(arrive, request): &(Time, NodeRequest)| {
        priorities.priority(since_boot(arrive.micros() as f64 / 1e6), &priorities.standing(request))
    };
    jobs.iter().map(|(number, job)| (*number, of_job(job))).collect()
}

/// State, start, end and cores of each job.
type Runs = BTreeMap<u32, (String, f64, f64, String)>;

/// The settings with one of their weights alone, which is in the order of [`FACTORS`].
fn with_weight(settings: &Multifactor, factor: usize) -> Multifactor {
    let keep = |index: usize, weight: u64| if index == factor { weight } else { 0 };
    Multifactor {
        age: keep(0, settings.age),
        fair_share: keep(1, settings.fair_share),
        job_size: keep(2, settings.job_size),
        partition: keep(3, settings.partition),
        qos: keep(4, settings.qos),
        ..settings.clone()
    }
}

#[test]
fn priorities_are_those_of_a_real_slurm() {
    if !has_accounts() {
        return;
    }
    for conf in CONFS {
        let scratch = Scratch::new();
        fs::create_dir(scratch.path("bin")).unwrap();
        let log = scratch.path("log.txt");
        let sbatch = scratch.file("bin/sbatch", &SBATCH.replace("LOG", log.to_str().unwrap()));
        fs::set_permissions(sbatch, fs::Permissions::from_mode(0o755)).unwrap();
        let conf = scratch.file("more.conf", conf);
        let conf = format!("site.york.slurm.conf={:?}", conf.to_str().unwrap());
        let path = shipped("priorities.toml");
        let settings = ["site.york.scheduler=easy", "site.york.order=multifactor", &conf];
        let settings: Vec<Override> = settings.iter().map(|setting| Override::parse(setting).unwrap()).collect();
        let mut read = |path: &str| fs::read(path).map_err(|error| error.to_string());
        let topology = read_topology(path.to_str().unwrap(), &settings, &mut read).unwrap().topology;

        let mut command = Command::new(HANSA);
        command.arg("run").arg(&path).arg("--out").arg(scratch.path("out")).arg("--inline");
        let programs = format!("site.york.slurm.programs={:?}", scratch.path("bin").to_str().unwrap());
        command.args(["--set", &conf, "--set", &programs]);
        command.env("TMPDIR", scratch.path("")).env("XDG_CACHE_HOME", scratch.path("cache"));
        let ran = command.stdin(Stdio::null()).output().unwrap();
        assert!(ran.status.success(), "{}", text(&ran.stderr));
        await_none(&scratch);
        compare_priorities(&topology, &rows(&scratch.path("out")), &fs::read_to_string(log).unwrap());
    }
}

/// Compares each weighted factor, and their sum, of each job that waits at each moment.
fn compare_priorities(topology: &Topology, runs: &Runs, log: &str) {
    let settings = topology.sites[0].multifactor.as_deref().unwrap();
    let (moments, booted) = read_log(log, topology);
    let is_clear = |at: f64| {
        let phase = (at - booted) % PERIOD;
        phase > UNCLEAR && phase < PERIOD - UNCLEAR
    };
    let mut compared = 0;
    let mut shares = BTreeSet::new();
    for moment in moments.iter().filter(|moment| is_clear(moment.at)) {
        for (factor, name) in FACTORS.iter().enumerate() {
            let alone = with_weight(settings, factor);
            for (job, ours) in our_priorities(topology, alone, runs, booted, moment.at) {
                let Some(theirs) = moment.jobs.get(&job) else { continue };
                // A weighted factor less the nice value is at least 1.
                let ours = f64::from(ours) + theirs[NICE];
                let is_cut = ours <= theirs[NICE] + 1.0 && theirs[factor] <= theirs[NICE] + 1.0;
                let is_near = (ours - theirs[factor]).abs() <= tolerance(settings, factor);
                assert!(is_cut || is_near, "{name} of job {job} at {}: {ours}, {}\n{log}", moment.at, theirs[factor]);
                compared += 1;
            }
        }
        let sums = our_priorities(topology, settings.clone(), runs, booted, moment.at);
        for (job, theirs) in &moment.jobs {
            let within = tolerance(settings, AGE) + tolerance(settings, SHARE) + 4.0;
            assert!(
                (f64::from(sums[job]) - theirs[PRIORITY]).abs() <= within,
                "job {job} at {}: {}\n{log}",
                moment.at,
                sums[job]
            );
            shares.insert(theirs[SHARE] as u64);
        }
    }
    assert!(compared > 500 && shares.len() > 4, "{compared} {shares:?}\n{log}");
}

/// Largest difference of a weighted factor. Slurm counts the age of a job from the moment at which it first looks at
/// it. Without fair tree, the factor is a steady function of the usage, in which a job's start and end count to the
/// second; with it, ranks alone matter.
fn tolerance(settings: &Multifactor, factor: usize) -> f64 {
    let seconds = settings.max_age.micros() as f64 / 1e6;
    match factor {
        AGE => settings.age as f64 * UNCLEAR / seconds,
        SHARE if !settings.fair_tree => settings.fair_share as f64 * STEADY,
        _ => 1.0,
    }
}
