//! Sites that a real Slurm manages, in virtual time; skipped where it is not installed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::grid::{HANSA, Process, Scratch, expect_error, shipped, text};
use crate::skip::skip;

pub fn has_slurm() -> bool {
    let has =
        ["/usr/sbin/slurmctld", "/usr/sbin/slurmd", "/usr/bin/sbatch"].iter().all(|path| Path::new(path).exists());
    if !has {
        skip("no slurmctld, slurmd and slurm-client here");
    }
    has
}

/// A site of eight cores under Slurm, with further keys of the site, and these jobs of arrival, cores, run time and
/// walltime in seconds.
fn topology(scratch: &Scratch, site: &str, rest: &str, jobs: &[(u32, u32, u32, u32)]) -> PathBuf {
    let job = |&(arrive, cores, runtime, walltime): &(u32, u32, u32, u32)| {
        format!(
            "{{ arrive = \"{arrive} s\", tasks = [{{ cores = {cores}, runtime = \"{runtime} s\", walltime = \"{walltime} s\" }}] }}"
        )
    };
    let jobs = jobs.iter().map(job).collect::<Vec<_>>().join(", ");
    let text = format!(
        "name = \"slurm\"\nseed = 1\n[batch]\n[[site]]\nname = \"york\"\ncores = 8\nscheduler = \"slurm\"\n{site}\n\
         [[user]]\nname = \"alice\"\n[[workload]]\nsource = \"table\"\njob = [{jobs}]\n{rest}"
    );
    scratch.file("slurm.toml", &text)
}

/// Runs a topology; all processes of the run have the folder of its result in their environment.
fn run(topology: &Path, out: &Path, flags: &[&str]) -> Output {
    let mut command = Command::new(HANSA);
    command.arg("run").arg(topology).arg("--out").arg(out).args(flags).env("TMPDIR", out.parent().unwrap());
    command.stdin(Stdio::null()).output().unwrap()
}

/// The jobs of a result by their numbers: state, start, end, and cores.
pub fn rows(out: &Path) -> BTreeMap<u32, (String, f64, f64, String)> {
    let table = fs::read_to_string(out.join("jobs.csv")).unwrap();
    let mut lines = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().unwrap();
    let column = |name: &str| header.iter().position(|column| *column == name).unwrap();
    let job = column("job");
    let state = column("final_state");
    let start = column("starting_time");
    let end = column("finish_time");
    let on = column("allocated_resources");
    let number = |text: &str| text.parse::<f64>().unwrap_or(f64::NAN);
    lines
        .map(|row| {
            (
                row[job].parse().unwrap(),
                (row[state].to_owned(), number(row[start]), number(row[end]), row[on].to_owned()),
            )
        })
        .collect()
}

/// Processes with this scratch folder in their environment, with their command lines.
pub fn processes_of(scratch: &Scratch) -> Vec<(u32, String)> {
    let mark = scratch.path("").to_string_lossy().into_owned();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let read = |process: u32, file: &str| {
        String::from_utf8_lossy(&fs::read(format!("/proc/{process}/{file}")).unwrap_or_default()).replace('\0', " ")
    };
    let all = processes.filter(|process| *process != std::process::id());
    all.filter(|process| read(*process, "environ").contains(&mark) || read(*process, "cmdline").contains(&mark))
        .map(|process| (process, read(process, "cmdline")))
        .collect()
}

/// Waits until no process is left that has this scratch folder in its environment.
pub fn await_none(scratch: &Scratch) {
    let begun = Instant::now();
    while !processes_of(scratch).is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", processes_of(scratch));
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn jobs_start_and_end_as_slurm_decides_in_every_layout() {
    if !has_slurm() {
        return;
    }
    let scratch = Scratch::new();
    // The second waits for the first; the third fits beside it, and is killed; the last one fills the gap.
    let jobs = [(60, 8, 600, 1200), (60, 4, 500, 600), (70, 4, 2000, 120), (2000, 3, 30, 60)];
    let topology = topology(&scratch, "slurm = { nodes = 4 }", "", &jobs);
    for flags in [&["--inline"][..], &[]] {
        let out = scratch.path("out");
        let ran = run(&topology, &out, flags);
        let printed = text(&ran.stderr);
        assert!(ran.status.success(), "{flags:?}: {printed}");
        assert!(printed.contains("another run may start a job a second later"), "{printed}");
        let rows = rows(&out);
        assert_eq!(rows.len(), 4);
        for (job, earliest, lasts, on) in [(0, 60.0, 600.0, "0-7"), (1, 660.0, 500.0, "0-3"), (3, 2000.0, 30.0, "")] {
            let (state, start, end, cores) = &rows[&job];
            assert_eq!(state, "COMPLETED_SUCCESSFULLY");
            assert!((earliest..earliest + 5.0).contains(start), "job {job} starts at {start}");
            assert!((end - start - lasts).abs() < 1e-6, "job {job} runs from {start} to {end}");
            assert!(on.is_empty() || cores == on, "job {job} is on {cores}");
        }
        // Slurm looks for such jobs every half a minute, and lets them go on to the end of that minute.
        let (state, start, end, cores) = &rows[&2];
        assert_eq!((state.as_str(), cores.as_str()), ("COMPLETED_WALLTIME_REACHED", "4-7"));
        assert!((120.0..185.0).contains(&(end - start)), "{start} {end}");
    }
    await_none(&scratch);
}

#[test]
fn jobs_on_failed_nodes_start_again_and_recalled_ones_never() {
    if !has_slurm() {
        return;
    }
    let scratch = Scratch::new();
    let failure = "[[failure]]\nsite = \"york\"\noutages = [{ component = 2, at = \"5 min\", for = \"1 h\" }]\n\
                   [recovery]\nkilled = \"tail\"\n";
    let jobs = [(60, 4, 600, 1200), (60, 4, 600, 1200)];
    let failing = topology(&scratch, "", failure, &jobs);
    let ran = run(&failing, &scratch.path("failing"), &["--inline"]);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let lost = rows(&scratch.path("failing"));
    // Three nodes are idle until the other job ends, and node 2 is down until long after.
    let (state, start, end, on) = &lost[&0];
    assert_eq!(state, "COMPLETED_SUCCESSFULLY");
    assert!(["3-6", "0-1 3-4"].contains(&on.as_str()), "{on}");
    assert!((660.0..670.0).contains(&(end - 600.0)), "{start} {end}");
    assert!((lost[&1].2 - 660.0).abs() < 5.0, "{:?}", lost[&1]);

    // Bob's job waits behind a longer one, and he takes it back after a minute, to submit it elsewhere.
    let resubmit = "[[site]]\nname = \"durham\"\ncores = 8\n";
    let jobs = [(60, 8, 3600, 3600), (70, 8, 60, 120)];
    let recalling = topology(&scratch, "", resubmit, &jobs);
    let patience = ["--set", "user.alice.planner=resubmit", "--set", "user.alice.patience=1 min", "--inline"];
    let ran = run(&recalling, &scratch.path("recalling"), &patience);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let recalled = &rows(&scratch.path("recalling"))[&1];
    assert_eq!((recalled.1, recalled.2), (130.0, 190.0));
}

#[test]
fn what_slurm_refuses_is_told_in_its_words() {
    if !has_slurm() {
        return;
    }
    let scratch = Scratch::new();
    let topology = topology(&scratch, "slurm = { conf = \"extra.conf\" }", "", &[(60, 1, 600, 600), (61, 1, 30, 60)]);
    let run_with = |extra: &str| {
        scratch.file("extra.conf", extra);
        let ran = run(&topology, &scratch.path("out"), &["--inline"]);
        (ran.status.code(), text(&ran.stderr))
    };
    let (code, printed) = run_with("PriorityType=priority/basic\nNoSuchKey=3\n");
    let unknown = "extra.conf line 2: error: _parse_next_key: Parsing error at unrecognized key: NoSuchKey";
    assert!(code == Some(8) && printed.contains(unknown), "{printed}");
    let (code, printed) = run_with("NodeName=other\n");
    assert!(
        code == Some(8) && printed.contains("extra.conf line 1: leave NodeName out, as Hansa sets it"),
        "{printed}"
    );
    // The second job fits into the limit.
    let (code, printed) = run_with("PartitionName=short Nodes=ALL MaxTime=2 Default=YES State=UP\n");
    assert_eq!(code, Some(0), "{printed}");
    assert!(
        printed.contains("site york's Slurm rejects job 0: sbatch: error: ") && printed.contains("time limit"),
        "{printed}"
    );
    assert!(!printed.contains("rejects job 1"), "{printed}");
    let (code, printed) = run_with("PartitionName=down Nodes=ALL Default=YES State=DOWN\n");
    let in_vain = "site york's Slurm has let 2 jobs wait for 2 h although none runs: j0.0 (PartitionDown), j1.0 (";
    assert!(code == Some(8) && printed.contains(in_vain), "{printed}");
}

#[test]
fn a_killed_daemon_is_named_and_none_is_left() {
    if !has_slurm() {
        return;
    }
    let scratch = Scratch::new();
    // A day behind each other: long enough to be killed in.
    let jobs: Vec<_> = (0..20).map(|_| (60, 8, 86_000, 86_400)).collect();
    let topology = topology(&scratch, "", "", &jobs);
    for victim in ["slurmctld", "slurmd", "hansa clock", "hansa run"] {
        let out = scratch.path("out");
        let mut command = Command::new(HANSA);
        command.arg("run").arg(&topology).arg("--out").arg(&out).arg("--inline").env("TMPDIR", scratch.path(""));
        command.stdin(Stdio::null());
        let mut process = Process::start("hansa", &mut command);
        let begun = Instant::now();
        // By then jobs run.
        let chosen = loop {
            assert!(begun.elapsed() < Duration::from_secs(60), "no job runs");
            let all = processes_of(&scratch);
            if all.iter().any(|(_, words)| words.contains("slurm_script")) {
                break all.iter().find(|(_, words)| words.contains(victim)).unwrap().0;
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        assert!(Command::new("kill").args(["-KILL", &chosen.to_string()]).status().unwrap().success());
        let (code, printed) = process.end(Duration::from_secs(60));
        match victim {
            "hansa run" => assert_eq!(code, None, "{printed}"),
            "hansa clock" => assert!(code == Some(8) && printed.contains("site york's Slurm has ended"), "{printed}"),
            _ => {
                assert!(
                    code == Some(8) && printed.contains(&format!("site york's Slurm has lost {victim}")),
                    "{printed}"
                );
                assert!(printed.contains("which was killed by signal 9"), "{printed}");
            }
        }
        await_none(&scratch);
    }
}

/// The router waits for a Slurm that passes hours between two jobs, however short its patience. The clock of this one
/// stands still at the second job: its sbatch does not sleep.
#[test]
fn a_slurm_that_passes_time_is_waited_for_and_one_that_stands_still_is_named() {
    if !has_slurm() {
        return;
    }
    let scratch = Scratch::new();
    let topology = topology(&scratch, "", "", &[(60, 8, 600, 1200), (6 * 3600, 8, 600, 1200)]);
    let out = scratch.path("out");
    let ran = run(&topology, &out, &["--stall-after", "1500ms"]);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    assert!((6.0 * 3600.0..6.0 * 3600.0 + 5.0).contains(&rows(&out)[&1].1), "{:?}", rows(&out)[&1]);

    let programs = scratch.path("programs");
    fs::create_dir(&programs).unwrap();
    let count = scratch.path("count");
    let script = format!(
        "#!/bin/bash\n[ -e {count} ] && while :; do :; done\ntouch {count}\nexec /usr/bin/sbatch \"$@\"\n",
        count = count.display()
    );
    let sbatch = scratch.file("programs/sbatch", &script);
    fs::set_permissions(&sbatch, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let standing = format!("site.york.slurm={{ programs = \"{}\" }}", programs.display());
    let ran = run(&topology, &out, &["--stall-after", "3s", "--set", &standing]);
    let printed = text(&ran.stderr);
    assert_eq!(ran.status.code(), Some(4), "{printed}");
    assert!(
        printed.contains("no frame has moved for 3 s") && printed.contains("it is waiting for site york"),
        "{printed}"
    );
    assert!(printed.contains("the clock of its Slurm has passed 06:00:"), "{printed}");
    await_none(&scratch);
}

#[test]
fn a_stopped_slurm_is_named() {
    if !has_slurm() {
        return;
    }
    let jobs: Vec<_> = (0..20).map(|job| (60, 4 + job % 4, 80_000, 86_400)).collect();
    let awake = "site york's Slurm has programs that have not slept for 60 s of real time";
    for (victim, flags, code, expected) in [
        ("slurmctld", &["--inline"][..], 8, awake),
        ("slurmctld", &["--stall-after", "3s"], 4, " in all and stands still"),
        ("--keeper-of", &["--stall-after", "3s"], 4, " in all and stands still"),
    ] {
        let scratch = Scratch::new();
        let late = [&jobs[..], &[(400_000, 1, 600, 1200)]].concat();
        let topology = topology(&scratch, "", "", &late);
        let mut command = Command::new(HANSA);
        command.arg("run").arg(&topology).arg("--out").arg(scratch.path("out")).args(flags);
        let mut process = Process::start("hansa", command.env("TMPDIR", scratch.path("")).stdin(Stdio::null()));
        let begun = Instant::now();
        let stopped = loop {
            assert!(begun.elapsed() < Duration::from_secs(60), "no job runs");
            let all = processes_of(&scratch);
            if all.iter().any(|(_, words)| words.contains("slurm_script")) {
                break all.iter().find(|(_, words)| words.contains(victim)).unwrap().0;
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        assert!(Command::new("kill").args(["-STOP", &stopped.to_string()]).status().unwrap().success());
        let (ended, printed) = process.end(Duration::from_secs(120));
        // If all threads are stopped in their sleep, the clock goes on until no program is left to wake.
        let never_wakes = ended == Some(8) && printed.contains("has no program that will wake although jobs wait");
        assert!(
            printed.contains("site york")
                && (ended == Some(code) && printed.contains(expected) || victim == "slurmctld" && never_wakes),
            "{victim}: {printed}"
        );
        // A keeper ends its programs once it may.
        let _ = Command::new("kill").args(["-CONT", &stopped.to_string()]).stderr(Stdio::null()).status();
        await_none(&scratch);
    }
}

#[test]
fn options_of_jobs_reach_slurm_and_are_counted_elsewhere() {
    if !has_slurm() {
        return;
    }
    let scratch = Scratch::new();
    scratch.file(
        "extra.conf",
        "PartitionName=a Nodes=n[0-1] Default=YES State=UP\nPartitionName=b Nodes=n[2-3] State=UP\n",
    );
    let job = |arrive: u32, cores: u32, sbatch: &str| {
        format!(
            "{{ arrive = \"{arrive} s\", tasks = [{{ cores = {cores}, runtime = \"100 s\" }}], sbatch = \"{sbatch}\" }}"
        )
    };
    let jobs = [
        job(60, 2, "-p b"),
        job(61, 2, "-N 2 -n 2 -p a"),
        job(62, 1, "-p nosuch"),
        job(63, 1, "--nodelist=n3 --partition b"),
    ];
    let grid = "name = \"slurm\"\nseed = 1\n[batch]\n[[site]]\nname = \"york\"\ncores = 8\nscheduler = \"slurm\"\n\
                slurm = { nodes = 4, conf = \"extra.conf\" }\n[[user]]\nname = \"alice\"\n[[workload]]\n";
    let topology = scratch.file("table.toml", &format!("{grid}source = \"table\"\njob = [{}]\n", jobs.join(", ")));
    let ran = run(&topology, &scratch.path("out"), &["--inline"]);
    let printed = text(&ran.stderr);
    assert!(ran.status.success(), "{printed}");
    let refused = "site york's Slurm rejects job 2: sbatch: error: invalid partition specified: nosuch";
    assert!(printed.contains(refused) && !printed.contains("which site"), "{printed}");
    let table = rows(&scratch.path("out"));
    let on = |job: u32| table[&job].3.as_str();
    assert_eq!((on(0), on(1), on(3)), ("4-5", "0 2", "6"));

    let ran = run(&topology, &scratch.path("easy"), &["--inline", "--set", "site.york.scheduler=easy"]);
    let ignored = "workload.0: jobs have options of sbatch, which site york ignores, as no real Slurm manages it: \
                   --partition of 4, --nodelist of 1, --nodes of 1";
    let printed = text(&ran.stderr);
    assert!(ran.status.success() && printed.contains(ignored), "{printed}");

    let line = |at: u32, options: &str| {
        format!("-dt {at} -e submit_batch_job | -J job_{at} -sim-walltime 100 --uid=ann -t 10 {options} job.sh\n")
    };
    let log = |name: &str, options: &str| {
        scratch.file(&format!("{name}.events"), &(line(60, "-n 2 -p b") + &line(61, options)));
        scratch.file(&format!("{name}.toml"), &format!("{grid}source = \"slurm-events\"\nfile = \"{name}.events\"\n"))
    };
    let ran = run(&log("mail", "-n 1 -p b -o out.txt --mail-type=END"), &scratch.path("mail"), &["--inline"]);
    let printed = text(&ran.stderr);
    let dropped = "site york's Slurm does not get these options of sbatch: --mail-type of job 1 (no mail is sent); \
                   --output of job 1 (a job here has no input and no output)";
    assert!(ran.status.success() && printed.contains(dropped), "{printed}");
    let table = rows(&scratch.path("mail"));
    assert_eq!([0, 1].map(|job| table[&job].3.clone()), ["4-5", "6"]);
    let ran = run(&log("array", "-n 1 --array=0-9"), &scratch.path("array"), &["--inline"]);
    let refused = "site york's Slurm cannot have these options of sbatch: --array of job 1 (each task of an array is to \
                   be a job of its own)";
    expect_error(&ran, 8, refused);
    await_none(&scratch);
}

/// Without authentication, this is all that keeps strangers from a cluster.
#[test]
fn daemons_listen_on_this_machine_only() {
    if !has_slurm() {
        return;
    }
    let scratch = Scratch::new();
    scratch.file("extra.conf", "CommunicationParameters=block_null_hash\n");
    let lax = topology(&scratch, "slurm = { conf = \"extra.conf\" }", "", &[(60, 8, 86_000, 86_400)]);
    let ran = run(&lax, &scratch.path("out"), &["--inline"]);
    let ours = "extra.conf line 1: leave CommunicationParameters out, as Hansa sets it";
    expect_error(&ran, 8, ours);

    let jobs: Vec<_> = (0..20).map(|_| (60, 8, 86_000, 86_400)).collect();
    let topology = topology(&scratch, "", "", &jobs);
    let mut command = Command::new(HANSA);
    command.arg("run").arg(&topology).arg("--out").arg(scratch.path("out")).arg("--inline");
    let process = Process::start("hansa", command.env("TMPDIR", scratch.path("")).stdin(Stdio::null()));
    let begun = Instant::now();
    while !processes_of(&scratch).iter().any(|(_, words)| words.contains("slurm_script")) {
        assert!(begun.elapsed() < Duration::from_secs(60), "no job runs");
        std::thread::sleep(Duration::from_millis(20));
    }
    let daemons = processes_of(&scratch).into_iter().filter(|(_, words)| words.contains("slurm"));
    let listening: Vec<String> = daemons.flat_map(|(process, _)| listening_addresses(process)).collect();
    drop(process);
    assert!(listening.len() >= 9, "a controller and eight nodes: {listening:?}");
    let is_local = |address: &&String| address.contains("0100007F:");
    assert_eq!(listening.iter().filter(is_local).count(), listening.len(), "{listening:?}");
    await_none(&scratch);
}

/// Local addresses at which a process accepts TCP connections, in the digits of `/proc/net/tcp`.
fn listening_addresses(process: u32) -> Vec<String> {
    const LISTENS: &str = "0A";
    let files = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    let sockets: Vec<String> = files
        .filter_map(|file| {
            let target = fs::read_link(file.path()).ok()?.to_string_lossy().into_owned();
            Some(target.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())
        })
        .collect();
    let tables = ["tcp", "tcp6"].map(|table| fs::read_to_string(format!("/proc/net/{table}")).unwrap_or_default());
    let rows = tables.iter().flat_map(|table| table.lines().skip(1)).map(|row| row.split_whitespace().collect());
    rows.filter(|row: &Vec<&str>| row[3] == LISTENS && sockets.iter().any(|socket| socket == row[9]))
        .map(|row| row[1].to_owned())
        .collect()
}

/// Slurm stops a cycle of backfilling after a second of it: never if computing takes no time.
#[test]
fn brakes_of_slurm_act_under_a_charge() {
    if !has_slurm() {
        return;
    }
    let cluster = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/slurm-cluster.sh");
    let brakes = "SchedulerParameters=bf_interval=30,bf_max_time=1,bf_continue";
    let script = "sbatch -Q -n16 -t600 -o /dev/null --wrap 'sleep 30000'; sleep 2; for i in $(seq 60); do \
                  sbatch -Q -n$((i % 16 + 1)) -t$((i % 7 * 10 + 5)) -o /dev/null --wrap 'sleep 60'; done; sdiag -r >&2; \
                  sleep 60; sdiag | sed -En '/Backfilling/,$s/^\tLast (depth )?cycle: *//p'";
    let figures = |charge: &str| -> Vec<u64> {
        let mut command = Command::new(HANSA);
        command.args(["clock", "--charge", charge, "--", cluster, "-c", "4", "-o", brakes, "4", "bash", "-c", script]);
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout).lines().map(|line| line.parse().unwrap_or_else(|_| panic!("{line}"))).collect()
    };
    assert_eq!(figures("0"), [0, 60], "microseconds of a cycle, and jobs that it tests");
    let charged = figures("1ms");
    assert!((500_000..1_500_000).contains(&charged[0]) && (5..50).contains(&charged[1]), "{charged:?}");
}

#[test]
fn a_site_under_a_charge_decides_alike() {
    if !has_slurm() {
        return;
    }
    let scratch = Scratch::new();
    let jobs = [(60, 8, 600, 1200), (60, 4, 500, 600), (70, 4, 2000, 120), (2000, 3, 30, 60)];
    let starts = |charge: &str| {
        let topology = topology(&scratch, &format!("slurm = {{ nodes = 4, charge = \"{charge}\" }}"), "", &jobs);
        let ran = run(&topology, &scratch.path("out"), &["--inline"]);
        assert!(ran.status.success(), "{charge}: {}", text(&ran.stderr));
        rows(&scratch.path("out"))
    };
    let free = starts("0");
    // The longest charge is one with which a job is still submitted, started and ended.
    for charge in ["20 us", "1 ms"] {
        let charged = starts(charge);
        for (job, (state, start, end, _)) in &free {
            let row = &charged[job];
            assert_eq!(&row.0, state, "{charge}: job {job}");
            assert!((row.1 - start).abs() < 10.0 && (row.2 - end).abs() < 70.0, "{charge}: job {job}: {row:?} {start}");
        }
    }
    await_none(&scratch);
}

/// These need no Slurm.
#[test]
fn a_missing_slurm_and_clusters_of_the_wrong_size_are_told_before_the_run() {
    let scratch = Scratch::new();
    let topology = topology(&scratch, "", "", &[(60, 1, 600, 600)]);
    let run_command = |command: &str, flags: &[&str]| {
        let ran = Command::new(HANSA).arg(command).arg(&topology).args(flags).env("PATH", "/nowhere").output().unwrap();
        (ran.status.code(), text(&ran.stdout), text(&ran.stderr))
    };
    let (code, shown, _) = run_command("show", &[]);
    assert!(code == Some(0) && shown.contains("\n#   NodeName=n[0-7] NodeAddr=127.0.0.1 "), "{shown}");
    let (code, _, printed) = run_command("validate", &["--set", "site.york.cores=1200"]);
    assert!(code == Some(2) && printed.contains("expected slurm = { nodes = 600 } for 1200 cores"), "{printed}");
    let (code, _, printed) = run_command("validate", &["--set", "site.york.slurm={ nodes = 3 }"]);
    assert!(
        code == Some(2) && printed.contains("expected a number of nodes that divides 8 cores, found 3"),
        "{printed}"
    );
    for (charge, expected) in [
        ("2 ms", "expected at most 1 ms: "),
        ("20", "expected a time with its unit"),
        ("20 usec", "did you mean `us`?"),
        ("-1 us", "expected a time that is not negative"),
    ] {
        let (code, _, printed) =
            run_command("validate", &["--set", &format!("site.york.slurm={{ charge = \"{charge}\" }}")]);
        assert!(code == Some(2) && printed.contains(expected), "{charge}: {printed}");
    }
    if Path::new("/usr/sbin/slurmctld").exists() {
        // Debian's daemons are where they are looked for in any case; the commands are not.
        let (code, _, printed) = run_command("validate", &["--strict"]);
        let packages = "there is no sbatch, no scancel, no scontrol, no sinfo, no squeue; on Debian and Ubuntu: apt-get \
                        install slurmctld slurmd slurm-client";
        assert!(code == Some(8) && printed.contains(packages), "{printed}");
    } else {
        let (code, _, printed) = run_command("validate", &[]);
        assert!(code == Some(0) && printed.contains("apt-get install slurmctld slurmd slurm-client"), "{printed}");
    }
}

#[test]
fn the_shipped_topology_runs() {
    if !has_slurm() {
        return;
    }
    let scratch = Scratch::new();
    let ran = run(&shipped("slurm.toml"), &scratch.path("out"), &["--set", "workload.0.jobs=6"]);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    assert_eq!(rows(&scratch.path("out")).len(), 6);
}

#[test]
fn a_change_of_slurm_is_tried_before_it_is_made() {
    if !has_slurm() {
        return;
    }
    let scratch = Scratch::new();
    // A long job ahead of a wide one, and short ones behind it that backfilling lets through.
    let mut jobs = vec![(0, 6, 600, 660), (1, 8, 60, 120)];
    jobs.extend((2..14).map(|at| (at, 1, 40, 60)));
    let topology = topology(&scratch, "slurm = { nodes = 2 }", "", &jobs);
    let out = scratch.path("out");
    let what_if = |change: &str, text: &str, flags: &[&str]| {
        let change = scratch.file(change, text);
        let mut command = Command::new(HANSA);
        command.arg("whatif").arg(&topology).arg("--change").arg(&change).arg("--out").arg(&out);
        command.args(["--threads", "2", "--phases", "2"]).args(flags).env("TMPDIR", scratch.path(""));
        command.stdin(Stdio::null()).output().unwrap()
    };
    let wrong = what_if("wrong.conf", "# try\nSchedulerType=sched/backfill\nNoSuchKey=1\n", &[]);
    expect_error(&wrong, 2, "wrong.conf line 3: error: ");
    assert!(!out.exists());
    let idle = what_if("idle.conf", "SchedulerType=sched/backfill\n", &[]);
    assert!(
        idle.status.code() == Some(2) && text(&idle.stderr).contains("it changes nothing"),
        "{}",
        text(&idle.stderr)
    );

    let builtin = what_if("builtin.conf", "# No backfilling.\nSchedulerType=sched/builtin\n", &[]);
    let printed = text(&builtin.stdout);
    assert!(builtin.status.success(), "{}", text(&builtin.stderr));
    assert!(printed.starts_with("Under builtin, the mean wait "), "{printed}");
    assert!(text(&builtin.stderr).contains("4 runs to make: "), "{}", text(&builtin.stderr));
    let answer: serde_json::Value = serde_json::from_slice(&fs::read(out.join("answer.json")).unwrap()).unwrap();
    let waits = |row: usize| answer["tables"][0]["rows"][row][1]["number"].as_f64().unwrap();
    assert!(waits(1) > waits(0) + 60.0, "{printed}");
    // Backfilling starts the short jobs in the baseline, and nothing without it.
    let tables = answer["tables"].as_array().unwrap();
    let starts = tables.iter().find(|table| table["name"] == "starts").unwrap();
    let jobs_of = |row: usize| [1, 2].map(|column| starts["rows"][row][column]["number"].as_f64().unwrap());
    let [[in_turn, backfilled], without] = [0, 1].map(jobs_of);
    assert!(backfilled >= 8.0 && in_turn + backfilled == 14.0, "{starts}");
    assert_eq!(without, [14.0, 0.0], "{starts}");
    let page = fs::read_to_string(out.join("what-if.html")).unwrap();
    assert!(page.contains("<h2>Main scheduler and backfilling</h2>") && page.contains("id=\"starts-1\""));
    let lines = answer["changes"][0]["lines"].as_array().unwrap();
    assert_eq!(lines, &["- SchedulerType=sched/backfill", "+ SchedulerType=sched/builtin"]);
    await_none(&scratch);
}
