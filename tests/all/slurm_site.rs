//! Sites with the files of their own Slurm: nodes, accounts, users, QOS, devices and preemption; skipped where Slurm or
//! MariaDB is not installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::grid::{HANSA, Process, Scratch, expect_error, text};
use crate::skip::skip;
use crate::slurm::{await_none, has_slurm, processes_of, rows};

pub fn has_accounts() -> bool {
    let has =
        ["/usr/sbin/slurmdbd", "/usr/sbin/mariadbd", "/usr/bin/sacctmgr"].iter().all(|path| Path::new(path).exists());
    if !has {
        skip("no slurmdbd and mariadb-server here");
    }
    has_slurm() && has
}

const CONF: &str = "\
ClusterName=york
ControlMachine=head.york
SlurmUser=slurm
AuthType=auth/munge
StateSaveLocation=/var/spool/slurm   # of the site
ProctrackType=proctrack/cgroup
SchedulerParameters=bf_interval=30,\\
bf_continue
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
PriorityType=priority/multifactor
PriorityWeightQOS=100000
PriorityWeightFairshare=1000
PreemptType=preempt/qos
PreemptMode=CANCEL
GresTypes=gpu
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=db.york
AccountingStorageTRES=gres/gpu
AccountingStorageEnforce=associations,limits,qos
TopologyPlugin=topology/tree
Include nodes.conf
";
const NODES: &str = "\
PartitionName=main Nodes=n[1-3],b1,g1 Default=YES DefMemPerCPU=100 MaxTime=INFINITE State=UP AllowGroups=staff
NodeName=DEFAULT CPUs=4 RealMemory=1000 State=UNKNOWN
NodeName=n[1-3] Feature=plain
NodeName=b1 RealMemory=8000
NodeName=g1 Gres=gpu:v100:2 Feature=fast NodeAddr=10.0.0.9
";
const ACCOUNTS: &str = "\
# QOS, accounts and users
add QOS Name=low Priority=0
add QOS Name=high Priority=100
add cluster Name=york Fairshare=1 QOS=normal,low,high
add account name=lab Fairshare=10
add user name=ann DefaultAccount=lab
add user name=bob DefaultAccount=lab
modify user where name=ann set qoslevel=\"low,high\"
modify user where name=bob set qoslevel=\"low\"
modify qos where name=high set preempt=low
";

/// Writes the folder of a site with twenty cores on five nodes, and a topology with these jobs of arrival and run time
/// in seconds, cores, and options.
fn write_site(scratch: &Scratch, slurm: &str, jobs: &[(u32, u32, u32, &str)]) -> PathBuf {
    scratch.file("york/slurm.conf", CONF);
    scratch.file("york/nodes.conf", NODES);
    scratch.file(
        "york/topology.conf",
        "SwitchName=left Nodes=n[1-3]\nSwitchName=right Nodes=b1,g1\nSwitchName=top Switches=left,right\n",
    );
    scratch.file("york/sacctmgr.script", ACCOUNTS);
    let job = |&(arrive, runtime, cores, options): &(u32, u32, u32, &str)| {
        format!(
            "{{ arrive = \"{arrive} s\", tasks = [{{ cores = {cores}, runtime = \"{runtime} s\" }}], sbatch = \"{options}\" }}"
        )
    };
    let jobs: Vec<String> = jobs.iter().map(job).collect();
    scratch.file(
        "york.toml",
        &format!(
            "name = \"york\"\nseed = 1\n[batch]\n[[site]]\nname = \"york\"\nscheduler = \"slurm\"\n\
             slurm = {{ site = \"york\"{slurm} }}\n[[user]]\nname = \"all\"\n[[workload]]\nsource = \"table\"\n\
             job = [{}]\n",
            jobs.join(", ")
        ),
    )
}

/// Runs a topology with the scratch folder as that of all temporary files, and of the cache.
fn run(scratch: &Scratch, topology: &Path, out: &str) -> Output {
    let mut command = Command::new(HANSA);
    command.arg("run").arg(topology).arg("--out").arg(scratch.path(out)).arg("--inline");
    command.env("TMPDIR", scratch.path("")).env("XDG_CACHE_HOME", scratch.path("cache"));
    command.stdin(Stdio::null()).output().unwrap()
}

#[test]
fn a_sites_own_slurm_decides_with_its_accounts_devices_and_preemption() {
    if !has_accounts() {
        return;
    }
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("york")).unwrap();
    let jobs = [
        (60, 100, 2, "--uid=bob -q low --gres=gpu:2"),
        (61, 100, 1, "--uid=bob -q low --mem=5000"),
        (62, 100, 4, "--uid=bob -q low -C plain -N 2 -n 4"),
        (63, 100, 1, "--uid=bob -q high"),
        // All cores: the first runs, and the job of the better QOS takes them from it.
        (300, 1000, 20, "--uid=bob -q low"),
        (400, 100, 20, "--uid=bob -q low"),
        (500, 200, 20, "--uid=ann -q high"),
    ];
    let topology = write_site(&scratch, "", &jobs);
    let ran = run(&scratch, &topology, "out");
    let printed = text(&ran.stderr);
    assert!(ran.status.success(), "{printed}");
    let refused =
        "site york's Slurm rejects job 3: sbatch: error: Batch job submission failed: Invalid qos specification";
    assert!(printed.contains(refused), "{printed}");
    let table = rows(&scratch.path("out"));
    // The cores of n1 to n3, b1 and g1, in this order.
    assert_eq!((table[&0].3.as_str(), table[&1].3.as_str()), ("16-17", "12"));
    assert!(["0-3", "0-2 4", "0-1 4-5", "0 4-6"].contains(&table[&2].3.as_str()), "{:?}", table[&2]);
    let [(low, _, low_end, _), (next, next_start, ..), (high, high_start, high_end, _)] =
        [4, 5, 6].map(|job| table[&job].clone());
    assert_eq!(
        (low.as_str(), next.as_str(), high.as_str()),
        ("PREEMPTED", "COMPLETED_SUCCESSFULLY", "COMPLETED_SUCCESSFULLY")
    );
    assert!((500.0..600.0).contains(&low_end) && low_end <= high_start, "{low_end} {high_start}");
    assert!(next_start >= high_end, "the job of the better QOS goes first: {next_start} {high_end}");

    // Accounts are kept, so the second run starts no database, which may thus be gone.
    let kept: Vec<_> = fs::read_dir(scratch.path("cache/hansa/slurm")).unwrap().flatten().collect();
    assert_eq!(kept.len(), 1);
    let mut processes = Command::new(HANSA);
    processes.arg("run").arg(&topology).arg("--out").arg(scratch.path("again"));
    processes.env("TMPDIR", scratch.path("")).env("XDG_CACHE_HOME", scratch.path("cache"));
    let again = processes.stdin(Stdio::null()).output().unwrap();
    assert!(again.status.success(), "{}", text(&again.stderr));
    let states = |table: &std::collections::BTreeMap<u32, (String, f64, f64, String)>| -> Vec<String> {
        table.values().map(|row| row.0.clone()).collect()
    };
    assert_eq!(states(&rows(&scratch.path("again"))), states(&table), "as processes");
    await_none(&scratch);

    let shown = Command::new(HANSA).arg("show").arg(&topology).output().unwrap();
    let shown = text(&shown.stdout);
    for expected in [
        "cores = 20",
        "#   NodeName=g1 Gres=gpu:v100:2 Feature=fast NodeAddr=127.0.0.1 NodeHostname=HOST Port=20005\n",
        "york/slurm.conf line 4: its daemons believe all that reach them, from this machine only\n#     - AuthType=auth/munge\n",
        "york/nodes.conf line 1: there are no groups and hosts of the site here\n#     - PartitionName=main ",
    ] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
}

#[test]
fn a_cluster_of_64_nodes_passes_a_day_with_two_users_devices_and_preemption() {
    if !has_accounts() {
        return;
    }
    const HOUR: u32 = 3600;
    const CORES: u32 = 256;
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("york")).unwrap();
    let mut jobs = Vec::new();
    for hour in 0..22 {
        // Jobs of two or three hours, of an eighth of the cluster; each third one has a GPU.
        let runtime = HOUR * (2 + hour % 2);
        jobs.push((60 + HOUR * hour, runtime, 32, "--uid=bob -q low"));
        if hour % 3 == 0 {
            jobs.push((90 + HOUR * hour, HOUR, 1, "--uid=bob -q low --gres=gpu:1"));
        }
    }
    jobs.extend([5, 13, 21].map(|hour| (30 + HOUR * hour, 600, CORES, "--uid=ann -q high")));
    jobs.sort_unstable();
    let topology = write_site(&scratch, "", &jobs);
    scratch.file("york/slurm.conf", &CONF.replace("PreemptMode=CANCEL", "PreemptMode=REQUEUE"));
    scratch.file(
        "york/nodes.conf",
        "PartitionName=main Nodes=n[1-60],g[1-4] Default=YES DefMemPerCPU=100 MaxTime=INFINITE State=UP\n\
         NodeName=DEFAULT CPUs=4 RealMemory=1000 State=UNKNOWN\nNodeName=n[1-60]\nNodeName=g[1-4] Gres=gpu:v100:2\n",
    );
    scratch.file(
        "york/topology.conf",
        "SwitchName=left Nodes=n[1-32]\nSwitchName=right Nodes=n[33-60],g[1-4]\nSwitchName=top Switches=left,right\n",
    );
    let ran = run(&scratch, &topology, "out");
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let table = rows(&scratch.path("out"));
    let last = table.values().map(|row| row.2).fold(0.0, f64::max);
    assert!(last > 24.0 * f64::from(HOUR), "{last}");
    for (number, (arrive, runtime, requested, options)) in jobs.iter().enumerate() {
        let (state, start, end, cores) = &table[&(number as u32)];
        assert_eq!(state, "COMPLETED_SUCCESSFULLY", "job {number}");
        assert!(*start >= f64::from(*arrive) && *end >= start + f64::from(*runtime), "job {number}: {start} {end}");
        if options.contains("gpu") {
            let on: u32 = cores.parse().unwrap();
            assert!((240..CORES).contains(&on), "job {number} has a device of core {on}");
        }
        if *requested == CORES {
            // Within the cycles in which Slurm makes room and starts it.
            assert!(start - f64::from(*arrive) < 180.0, "job {number} waits until {start}");
        }
    }
    let log = fs::read_to_string(scratch.path("out/events.jsonl")).unwrap();
    assert!(log.matches("\"event\":\"requeued\"").count() >= 6, "jobs of QOS low make room and run again");
    await_none(&scratch);
}

/// Starts a Slurm with these accounts and its database in a folder, writes a dump of it, and stops it.
const DUMPED: &str = r#"
set -eu
cd "$1"; mkdir db state
host=$(hostname -s)
export SLURM_CONF=$PWD/slurm.conf MYSQL_UNIX_PORT=$PWD/db.sock
cat >slurm.conf <<END
ClusterName=york
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$2
SlurmUser=$(id -u)
AuthType=auth/none
CredType=cred/none
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
MpiDefault=none
MailProg=/bin/true
StateSaveLocation=$PWD/state
SlurmctldPidFile=$PWD/slurmctld.pid
SlurmctldLogFile=$PWD/slurmctld.log
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=$3
AccountingStorageTRES=gres/gpu
AccountingStorageEnforce=associations,limits,qos
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=bf_interval=30,bf_continue
PriorityType=priority/multifactor
PriorityWeightQOS=100000
PriorityWeightFairshare=1000
PreemptType=preempt/qos
PreemptMode=CANCEL
GresTypes=gpu
Include $PWD/nodes.conf
END
cat >slurmdbd.conf <<END
AuthType=auth/none
DbdAddr=127.0.0.1
DbdHost=$host
DbdPort=$3
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm
LogFile=$PWD/slurmdbd.log
PidFile=$PWD/slurmdbd.pid
SlurmUser=$(id -un)
END
chmod 600 slurmdbd.conf
owner=
[ "$(id -u)" != 0 ] || owner=--user=root
mariadb-install-db --no-defaults --datadir="$PWD/db" $owner --auth-root-authentication-method=normal >install.log 2>&1
mariadbd --no-defaults $owner --datadir="$PWD/db" --socket="$MYSQL_UNIX_PORT" --skip-networking --skip-grant-tables \
    --innodb-lock-wait-timeout=900 --pid-file="$PWD/db.pid" >db.log 2>&1 &
database=$!
until [ -S "$MYSQL_UNIX_PORT" ]; do sleep 0.1; done
slurmdbd -D >slurmdbd.out 2>&1 &
accounting=$!
until sacctmgr -n list cluster >/dev/null 2>&1; do sleep 0.1; done
sacctmgr -i <script >script.out 2>&1 || true
slurmctld -D -c >slurmctld.out 2>&1 &
controller=$!
until scontrol ping 2>/dev/null | grep -q UP; do sleep 0.1; done
sleep 5
bash "$4" "$5"
scontrol shutdown slurmctld
wait $controller
kill $accounting; wait $accounting || true
kill $database; wait $database || true
"#;

#[test]
fn a_dumped_cluster_decides_like_the_dumped_one() {
    if !has_accounts() {
        return;
    }
    let scratch = Scratch::new();
    let jobs = [
        (60, 900, 12, "--uid=bob -q low"),
        (61, 900, 8, "--uid=bob -q low -C plain"),
        // Takes the cores of both, which have a minute to leave them.
        (300, 200, 20, "--uid=ann -q high"),
        // Refused: it may not have this QOS.
        (400, 100, 1, "--uid=bob -q high"),
    ];
    fs::create_dir(scratch.path("york")).unwrap();
    let topology = write_site(&scratch, "", &jobs);
    let accounts =
        format!("{ACCOUNTS}modify qos where name=low set gracetime=60 maxwall=1-00:00:00 flags=DenyOnLimit\n");
    scratch.file("york/sacctmgr.script", &accounts);

    fs::create_dir(scratch.path("live")).unwrap();
    scratch.file("live/script", &accounts);
    scratch.file("live/nodes.conf", &NODES.replace("AllowGroups=staff", ""));
    let dump = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/slurm-dump.sh");
    let setup = scratch.file("dumped.sh", DUMPED);
    let mut command = Command::new(HANSA);
    command.args(["clock", "--", "bash"]).arg(&setup).arg(scratch.path("live"));
    command.args(free_ports().map(|port| port.to_string())).arg(&dump).arg(scratch.path("dumped"));
    let dumped = command.env("TMPDIR", scratch.path("")).stdin(Stdio::null()).output().unwrap();
    assert!(dumped.status.success(), "{} {}", text(&dumped.stdout), text(&dumped.stderr));
    let script = fs::read_to_string(scratch.path("dumped/sacctmgr.script")).unwrap();
    for expected in [
        "add qos high\n",
        "modify qos where name=low set Flags=DenyOnLimit GraceTime=60 MaxWall=1-00:00:00\n",
        "modify qos where name=high set Priority=100 Preempt=low\n",
        "User - 'ann':DefaultAccount='lab'",
    ] {
        assert!(script.contains(expected), "{expected}: {script}");
    }

    let ran = run(&scratch, &topology, "of-site");
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let changed = fs::read_to_string(&topology).unwrap().replace("site = \"york\"", "site = \"dumped\"");
    let of_dump = scratch.file("of-dump.toml", &changed);
    let ran = run(&scratch, &of_dump, "of-dump");
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let expected = rows(&scratch.path("of-site"));
    let found = rows(&scratch.path("of-dump"));
    assert_eq!(found.len(), jobs.len());
    assert_eq!(expected[&0].0, "PREEMPTED");
    for (job, (state, start, end, cores)) in &expected {
        let own = &found[job];
        assert_eq!((state, cores), (&own.0, &own.3), "job {job}: {expected:?} {found:?}");
        // The phase of Slurm's cycles may differ.
        assert!((start - own.1).abs() < 35.0 || start.is_nan(), "job {job}: {expected:?} {found:?}");
        assert!((end - own.2).abs() < 35.0 || start.is_nan(), "job {job}: {expected:?} {found:?}");
    }
    assert!(expected[&2].1 >= 360.0, "the jobs of QOS low have a minute to leave: {expected:?}");
}

/// Two ports that nothing listens on.
fn free_ports() -> [u16; 2] {
    let listeners = [(); 2].map(|()| std::net::TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

#[test]
fn preempted_jobs_are_requeued_and_run_again() {
    if !has_accounts() {
        return;
    }
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("york")).unwrap();
    let jobs = [
        // All cores: two are preempted, one of which may be requeued; one ends at its walltime, which is 400 s.
        (60, 900, 12, "--uid=bob -q low"),
        (61, 900, 8, "--uid=bob -q low --no-requeue"),
        (300, 200, 20, "--uid=ann -q high"),
        (4000, 1000, 1, "--uid=bob -q low"),
    ];
    let topology = write_site(&scratch, "", &jobs);
    scratch.file("york/slurm.conf", &CONF.replace("PreemptMode=CANCEL", "PreemptMode=REQUEUE"));
    let limited = fs::read_to_string(&topology).unwrap();
    let limited = limited.replace("runtime = \"1000 s\"", "runtime = \"1000 s\", walltime = \"400 s\"");
    fs::write(&topology, limited).unwrap();
    let ran = run(&scratch, &topology, "out");
    let printed = text(&ran.stdout) + &text(&ran.stderr);
    assert!(ran.status.success(), "{printed}");
    let table = rows(&scratch.path("out"));
    let [again, cancelled, high, limited] = [0, 1, 2, 3].map(|job| table[&job].clone());
    assert_eq!(
        [&again.0, &cancelled.0, &high.0, &limited.0].map(String::as_str),
        ["COMPLETED_SUCCESSFULLY", "PREEMPTED", "COMPLETED_SUCCESSFULLY", "COMPLETED_WALLTIME_REACHED"]
    );
    assert!(again.1 < 100.0 && high.1 > cancelled.2 && cancelled.2 < 400.0, "{table:?}");
    // It has run from the beginning once the other one was over.
    assert!(again.2 >= high.2 + 900.0 && again.2 < high.2 + 1200.0, "{table:?}");
    let log = fs::read_to_string(scratch.path("out/events.jsonl")).unwrap();
    let count = |event: &str| log.matches(&format!("\"event\":\"{event}\"")).count();
    assert_eq!(["requeued", "preempted", "killed", "lost", "started"].map(count), [1, 1, 1, 0, 5]);
    let jobs = fs::read_to_string(scratch.path("out/jobs.csv")).unwrap();
    let ends: Vec<&str> = jobs.lines().map(|line| line.rsplit(',').nth(1).unwrap()).collect();
    assert_eq!(ends, ["requeues", "1", "0", "0", "0"]);
    assert_eq!(jobs.lines().next().map(|heads| heads.ends_with(",backfilled")), Some(true));
    assert!(printed.contains("1 job ended for others; jobs requeued 1 time"), "{printed}");
    let why = Command::new(HANSA).arg("why").arg(scratch.path("out")).arg("0").output().unwrap();
    assert!(text(&why.stdout).contains("requeued 1 time for other jobs"), "{}", text(&why.stdout));
    let counts = fs::read_to_string(scratch.path("out/schedule.json")).unwrap();
    for expected in ["\"nb_jobs_killed\": 1", "\"nb_jobs_preempted\": 1", "\"nb_requeues\": 1"] {
        assert!(counts.contains(expected), "{expected}: {counts}");
    }
    let folder = scratch.path("out");
    let verified = Command::new(HANSA).arg("verify").args([&folder, &folder]).output().unwrap();
    assert!(verified.status.success(), "{}", text(&verified.stderr));
    await_none(&scratch);
}

#[test]
fn users_whom_a_site_does_not_know_are_an_error_or_have_a_stand_in() {
    if !has_accounts() {
        return;
    }
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("york")).unwrap();
    let jobs = [(60, 100, 1, "--uid=zoe -q low"), (61, 100, 1, "--uid=ann -q low"), (62, 100, 1, "--uid=zoe -q high")];
    let ran = run(&scratch, &write_site(&scratch, "", &jobs), "out");
    let unknown = "site york's Slurm has accounts without the users of 2 jobs: zoe (jobs: 2); `unknown_users` can name";
    expect_error(&ran, 8, unknown);
    let ran = run(&scratch, &write_site(&scratch, ", unknown_users = \"bbo\"", &jobs), "out");
    let near = "without the user bbo of unknown_users; did you mean bob?";
    expect_error(&ran, 8, near);
    let ran = run(&scratch, &write_site(&scratch, ", unknown_users = \"bob\"", &jobs), "out");
    let printed = text(&ran.stderr);
    assert!(ran.status.success() && printed.contains("zoe (jobs: 2); these jobs belong to bob"), "{printed}");
    // Bob may not use that QOS.
    assert!(printed.contains("rejects job 2: sbatch: error: Batch job submission failed: Invalid qos"), "{printed}");

    scratch.file("york/sacctmgr.script", &ACCOUNTS.replace("Fairshare=10", "Bogus=10"));
    let ran = run(&scratch, &scratch.path("york.toml"), "out");
    let wrong = "york/sacctmgr.script line 5: sacctmgr: Unknown option: Bogus=10";
    expect_error(&ran, 8, wrong);
    await_none(&scratch);
}

#[test]
fn faults_of_the_folder_are_named() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("york")).unwrap();
    let topology = write_site(&scratch, "", &[(60, 100, 1, "-q low")]);
    let validate = || {
        let printed = Command::new(HANSA).arg("validate").arg(&topology).output().unwrap();
        text(&printed.stdout) + &text(&printed.stderr)
    };
    let cores = fs::read_to_string(&topology)
        .unwrap()
        .replace("name = \"york\"\nscheduler", "name = \"york\"\ncores = 9\nscheduler");
    fs::write(&topology, cores).unwrap();
    assert!(validate().contains("site.0.cores: expected 20, the CPUs of all nodes in "), "{}", validate());
    write_site(&scratch, "", &[(60, 100, 1, "-q low")]);
    scratch.file("york/slurm.conf", &format!("{CONF}JobSubmitPlugins=lua\n"));
    let deciding = "york/slurm.conf line 23: JobSubmitPlugins is a program of the site that decides about jobs";
    assert!(validate().contains(deciding), "{}", validate());
    scratch.file("york/slurm.conf", &CONF.replace("Include nodes.conf", "Include /etc/passwd"));
    assert!(validate().contains("york/slurm.conf line 22: expected a file in the folder of "), "{}", validate());
    fs::remove_file(scratch.path("york/slurm.conf")).unwrap();
    assert!(validate().contains("cannot read ") && validate().contains("york/slurm.conf"), "{}", validate());
}

#[test]
fn nothing_is_left_of_a_database_whose_run_is_killed() {
    if !has_accounts() {
        return;
    }
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("york")).unwrap();
    let topology = write_site(&scratch, "", &[(60, 100, 1, "--uid=ann -q low")]);
    for victim in ["hansa run", "mariadbd"] {
        let mut command = Command::new(HANSA);
        command.arg("run").arg(&topology).arg("--out").arg(scratch.path("out")).arg("--inline");
        command.env("TMPDIR", scratch.path("")).env("XDG_CACHE_HOME", scratch.path("cache")).stdin(Stdio::null());
        let mut process = Process::start("hansa", &mut command);
        let begun = Instant::now();
        let chosen = loop {
            assert!(begun.elapsed() < Duration::from_secs(60), "no database runs");
            let all = processes_of(&scratch);
            if all.iter().any(|(_, words)| words.contains("mariadbd --no-defaults")) {
                break all.iter().find(|(_, words)| words.contains(victim)).unwrap().0;
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        assert!(Command::new("kill").args(["-KILL", &chosen.to_string()]).status().unwrap().success());
        let (code, printed) = process.end(Duration::from_secs(100));
        match victim {
            "mariadbd" => assert!(code == Some(8) && printed.contains("cannot set up the accounts"), "{printed}"),
            _ => assert_eq!(code, None, "{printed}"),
        }
        await_none(&scratch);
        assert!(!scratch.path("cache/hansa/slurm").exists(), "half of the accounts are kept");
    }
}
