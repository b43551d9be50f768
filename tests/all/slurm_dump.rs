//! `docs/slurm-dump.sh` with stand-ins for Slurm's commands, which print what these would.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::grid::{HANSA, Scratch, expect_error, text};

/// Prints two jobs, the second one with delimiters and line feeds in its texts, with the columns that were asked for.
const SACCT: &str = r#"#!/usr/bin/env bash
names="Account Cluster ElapsedRaw Eligible End JobID JobIDRaw JobName NCPUS NNodes NodeList Partition Planned QOS
ReqMem Reservation Start State Submit SubmitLine TimelimitRaw User"
for flag in "$@"; do
    case $flag in
    --helpformat) printf '%-20s' $names; echo; exit ;;
    --format=*) IFS=, read -ra format <<<"${flag#*=}" ;;
    --delimiter=*) delimiter=${flag#*=} ;;
    esac
done
[ "$TZ" = UTC ] || exit 9
declare -A one=([JobIDRaw]=7 [JobID]=7 [Cluster]=north [User]=ann.lee [Account]=physics [Partition]=batch [QOS]=normal
    [Submit]=2024-03-01T00:00:00 [Eligible]=2024-03-01T00:00:00 [Start]=2024-03-01T00:01:00 [End]=2024-03-01T00:02:00
    [ElapsedRaw]=60 [State]=COMPLETED [NNodes]=1 [NCPUS]=4 [ReqMem]=4000M [TimelimitRaw]=60 [NodeList]=n1
    [Planned]=00:01:00 [Reservation]=lee_course [JobName]=secret-a [SubmitLine]="sbatch secret.sh")
declare -A two=([JobIDRaw]=8 [JobID]=4_1 [Cluster]=north [User]=bob [Account]=physics [Partition]=batch [QOS]=high
    [Submit]=2024-03-01T00:00:00 [Eligible]=2024-03-01T00:00:30 [Start]=2024-03-01T00:01:00 [End]=2024-03-01T00:03:00
    [ElapsedRaw]=120 [State]="CANCELLED by 1007" [NNodes]=1 [NCPUS]=2 [ReqMem]=2Gc [TimelimitRaw]=60 [NodeList]=n1
    [Planned]=00:00:30 [Reservation]= [JobName]="secret|b" [SubmitLine]=$'sbatch --wrap=secret\necho a|sort')
print() { local -n record=$1; local line=
    for name in "${format[@]}"; do line=$line$delimiter${record[$name]}; done; echo "${line#"$delimiter"}"; }
declare -A header; for name in "${format[@]}"; do header[$name]=$name; done
print header; print one; print two
"#;

const SCONTROL: &str = r#"#!/usr/bin/env bash
case "$*" in
"show config") echo "ClusterName             = north"; echo "SLURM_CONF              = $SITE/slurm.conf" ;;
"--oneliner show reservation")
    echo "ReservationName=lee_course StartTime=2024-03-01T00:00:00 Nodes=n1 Users=ann.lee,-bob Accounts=physics State=ACTIVE" ;;
*) exit 1 ;;
esac
"#;

const SACCTMGR: &str = r#"#!/usr/bin/env bash
[ "$*" = "-i dump north file=${4#file=}" ] || exit 1
cat >"${4#file=}" <<'END'
# To edit this file start with a cluster line
Cluster - 'north':Fairshare=1:QOS='normal,high'
Parent - 'root'
User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1
Account - 'physics':Description='group of lee':Organization='secret':Fairshare=10
Parent - 'physics'
User - 'bob':DefaultAccount='physics':Fairshare=1
User - 'ann.lee':DefaultAccount='physics':Coordinator='physics':Fairshare=2
END
"#;

const REFUSING_SACCTMGR: &str = "#!/usr/bin/env bash\necho 'Only operators may dump' >&2\nexit 1\n";

/// Commands of a cluster, and its slurm.conf with a file that it includes.
fn cluster(scratch: &Scratch, sacctmgr: &str) -> PathBuf {
    for (name, script) in [("sacct", SACCT), ("scontrol", SCONTROL), ("sacctmgr", sacctmgr)] {
        let path = scratch.file(name, script);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    scratch.file("slurm.conf", "ClusterName=north # of lee\nAccountingStoragePass=secret\nInclude more.conf\n");
    scratch.file(
        "more.conf",
        "NodeName=n1 CPUs=8\nPartitionName=batch Nodes=n1 AllowAccounts=physics AllowQos=normal,high\n",
    );
    scratch.path("dump")
}

fn dump(scratch: &Scratch, flags: &[&str], folder: &Path) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/slurm-dump.sh");
    let path = format!("{}:/usr/bin:/bin", scratch.path("").display());
    let mut command = Command::new("bash");
    command
        .arg(script)
        .args(flags)
        .arg(folder)
        .env("PATH", path)
        .env("SITE", scratch.path(""))
        .env_remove("SLURM_CONF");
    command.output().unwrap()
}

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap()
}

/// The jobs of a dump, as a log.
fn converted(folder: &Path) -> Vec<String> {
    let output = Command::new(HANSA).args(["convert", "--strict"]).arg(folder.join("sacct.txt")).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout).lines().filter(|line| !line.starts_with(';')).map(str::to_owned).collect()
}

const JOBS: [&str; 2] =
    ["7 0 60 60 4 -1 -1 4 3600 1024000 1 1 1 -1 1 1 -1 -1", "8 30 30 120 2 -1 -1 2 3600 2097152 5 2 1 -1 2 1 -1 -1"];

#[test]
fn a_cluster_is_dumped_into_a_folder() {
    let scratch = Scratch::new();
    let folder = cluster(&scratch, SACCTMGR);
    let output = dump(&scratch, &[], &folder);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(converted(&folder), JOBS);
    let conf = read(&folder, "slurm.conf");
    assert!(conf.contains("NodeName=n1 CPUs=8") && !conf.contains("Include") && !conf.contains("secret"), "{conf}");
    assert!(read(&folder, "sacct.txt").contains("sbatch --wrap=secret\necho a|sort"));
    assert!(read(&folder, "sacctmgr.script").contains("User - 'ann.lee'"));
    assert!(read(&folder, "reservations.txt").contains("ReservationName=lee_course"));
    // A second one does not replace it.
    let again = dump(&scratch, &[], &folder);
    expect_error(&again, 2, "is there already");
}

#[test]
fn an_anonymous_dump_has_numbers_for_names() {
    let scratch = Scratch::new();
    let folder = cluster(&scratch, SACCTMGR);
    let output = dump(&scratch, &["--anonymous", "-S", "2024-03-01"], &folder);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(converted(&folder), JOBS);
    for file in fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        let content = fs::read_to_string(&path).unwrap();
        for name in ["lee", "bob", "physics", "secret", "1007"] {
            assert!(!content.contains(name), "{name} in {}:\n{content}", path.display());
        }
    }
    // The first user of the jobs is Ann.
    assert_eq!(
        read(&folder, "sacctmgr.script"),
        "Cluster - 'north':Fairshare=1:QOS='normal,high'\nParent - 'root'\n\
         User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1\n\
         Account - 'account1':Fairshare=10\nParent - 'account1'\n\
         User - 'user2':DefaultAccount='account1':Fairshare=1\n\
         User - 'user1':DefaultAccount='account1':Coordinator='account1':Fairshare=2\n"
    );
    let expected = "ReservationName=reservation1 StartTime=2024-03-01T00:00:00 Nodes=n1 Users=user1,-user2 \
                    Accounts=account1 State=ACTIVE\n";
    assert_eq!(read(&folder, "reservations.txt"), expected);
    assert!(read(&folder, "slurm.conf").contains("AllowAccounts=account1 AllowQos=normal,high\n"));
}

#[test]
fn accounts_that_may_not_be_read_are_missed() {
    let scratch = Scratch::new();
    let folder = cluster(&scratch, REFUSING_SACCTMGR);
    let output = dump(&scratch, &["--anonymous"], &folder);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let printed = text(&output.stderr);
    assert!(printed.contains("no sacctmgr.script") && printed.contains("Only operators may dump"), "{printed}");
    assert!(!folder.join("sacctmgr.script").exists() && folder.join("sacct.txt").exists());
}
