//! Accounts of a site: a database is set up once from a script of sacctmgr, and leaves the files from which slurmctld
//! starts when the database is away. These are kept in the user's cache, by content.
//!
//! The database runs under a clock of its own, so that waits take no time, and no process outlives this one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;
use xxhash_rust::xxh3::xxh3_128;

use super::super::RunContext;
use super::super::program_link::Trouble;
use super::cluster::Cluster;
use super::conf::Conf;
use super::ports::Ports;
use super::site_conf::SiteFiles;
use crate::run_dir::RunDir;
use hansa_sim::grid::Site;
use hansa_sim::protocol::outside::shorten_output;
use hansa_sim::topology::slurm_conf::conf_lines;

/// Files of slurmctld's state that hold accounts, QOS and their usage.
const STATE_FILES: [&str; 4] = ["assoc_mgr_state", "assoc_usage", "qos_usage", "last_tres"];
/// Programs that the set-up needs beside those of every site.
pub const PROGRAMS: &[&str] = &["slurmdbd", "sacctmgr", "mariadbd", "mariadb-install-db"];
pub const PACKAGES: &str = "on Debian and Ubuntu: apt-get install slurmdbd mariadb-server";
/// Changes whenever the set-up leaves other files.
const VERSION: &str = "1";
/// Virtual time that the set-up may take, in seconds: installing a database takes hours of it.
const SETS_UP_WITHIN_SECONDS: u64 = 7 * 86_400;
/// Lines of faults that are shown.
const FAULTS_SHOWN: usize = 5;
/// Number of the first user that is no user of the system.
const FIRST_USER: u32 = 20_001;

/// Copies the files of the accounts of a site into this folder; sets them up unless they are in the cache.
pub fn put_state(
    name: &str,
    site: &Site,
    files: &SiteFiles,
    to: &Path,
    context: &RunContext<'_>,
) -> Result<(), Trouble> {
    let Some((path, script)) = &files.accounts else { return Ok(()) };
    let cannot = |what: &str, error: &dyn std::fmt::Display| Trouble::Fault(format!("{name}: cannot {what}: {error}"));
    let facts = ["ClusterName", "GresTypes", "AccountingStorageTRES"];
    let facts: Vec<String> =
        facts.iter().filter_map(|key| files.value(key).map(|value| format!("{key}={value}\n"))).collect();
    let facts = facts.concat();
    let version = slurm_version(site).unwrap_or_default();
    let key = xxh3_128([VERSION, &version, &facts, script].join("\0").as_bytes());
    let kept = cache_folder().map(|folder| folder.join(format!("{key:032x}")));
    if let Some(kept) = &kept
        && STATE_FILES.iter().all(|name| fs::copy(kept.join(name), to.join(name)).is_ok())
    {
        return Ok(());
    }
    let made = build_account_state(name, site, path, script, &facts, context)?;
    for name in STATE_FILES {
        let copied = fs::copy(made.path.join("state").join(name), to.join(name));
        copied.map_err(|error| cannot(&format!("read {name} of the accounts"), &error))?;
    }
    if let Some(kept) = kept {
        // The accounts are there in any case: a full disk costs the next run some seconds.
        let _ = keep_state(to, &kept);
    }
    Ok(())
}

/// Puts files into the cache; other runs see all of them or none.
fn keep_state(from: &Path, kept: &Path) -> std::io::Result<()> {
    let folder = kept.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let partial = folder.join(format!("partial-{}", std::process::id()));
    let _ = fs::remove_dir_all(&partial);
    fs::create_dir(&partial)?;
    let copied = STATE_FILES.iter().try_for_each(|name| fs::copy(from.join(name), partial.join(name)).map(drop));
    let moved = copied.and_then(|()| fs::rename(&partial, kept));
    let _ = fs::remove_dir_all(&partial);
    moved
}

/// The user's folder for files that can be made again.
fn cache_folder() -> Option<PathBuf> {
    let usable = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = usable("XDG_CACHE_HOME").or_else(|| Some(usable("HOME")?.join(".cache")))?;
    Some(cache.join("hansa/slurm"))
}

fn slurm_version(site: &Site) -> Option<String> {
    let path = super::cluster::search_path(&site.program.slurm.programs);
    let output = std::process::Command::new("sacctmgr").arg("-V").env("PATH", path).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs the database, and returns the folder in which slurmctld has left its files of accounts.
fn build_account_state(
    name: &str,
    site: &Site,
    path: &str,
    script: &str,
    facts: &str,
    context: &RunContext<'_>,
) -> Result<RunDir, Trouble> {
    let cannot = |what: &str, error: &dyn std::fmt::Display| Trouble::Fault(format!("{name}: cannot {what}: {error}"));
    let dir = RunDir::new().map_err(|failure| Trouble::Fault(failure.to_string()))?;
    let folder = dir.path.to_string_lossy().into_owned();
    let ports = Ports::reserve_ports(3).map_err(|error| cannot("find free ports", &error))?;
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = host.trim().split('.').next().unwrap_or_default().to_owned();
    let user = geteuid().as_raw();
    let [port, node_port, db_port] = [ports.first, ports.first + 1, ports.first + 2];
    let conf = format!(
        "{facts}SlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={port}\nAuthType=auth/none\nCredType=cred/none\n\
         SlurmUser={user}\nSlurmdUser={user}\nCommunicationParameters=NoCtldInAddrAny,NoInAddrAny\nMpiDefault=none\n\
         MailProg=/bin/true\nAccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=127.0.0.1\n\
         AccountingStoragePort={db_port}\nStateSaveLocation={folder}/state\nSlurmctldPidFile={folder}/slurmctld.pid\n\
         SlurmctldLogFile={folder}/slurmctld.log\n\
         NodeName=n0 NodeAddr=127.0.0.1 NodeHostname={host} Port={node_port}\nPartitionName=main Nodes=ALL\n"
    );
    let database = format!(
        "AuthType=auth/none\nDbdAddr=127.0.0.1\nDbdHost={host}\nDbdPort={db_port}\n\
         StorageType=accounting_storage/mysql\nStorageHost=localhost\nStorageUser=root\nStorageLoc=slurm\n\
         LogFile={folder}/slurmdbd.log\nPidFile={folder}/slurmdbd.pid\n"
    );
    let made = fs::write(dir.path.join("slurm.conf"), conf)
        .and_then(|()| write_private(&dir.path.join("slurmdbd.conf"), &database))
        .and_then(|()| fs::write(dir.path.join("commands"), script_lines(script, false)))
        .and_then(|()| fs::write(dir.path.join("dump"), script_lines(script, true)))
        .and_then(|()| fs::write(dir.path.join("passwd"), passwd_text(&BTreeSet::new(), &folder)))
        .and_then(|()| fs::write(dir.path.join("setup.sh"), SETUP))
        .and_then(|()| fs::create_dir(dir.path.join("state")))
        .and_then(|()| fs::create_dir(dir.path.join("db")));
    made.map_err(|error| cannot(&format!("write to {folder}"), &error))?;
    let cluster = facts.lines().find_map(|line| line.strip_prefix("ClusterName=")).unwrap_or("cluster");
    let variables = [
        ("MYSQL_UNIX_PORT", format!("{folder}/db.sock")),
        ("SLURM_CONF", format!("{folder}/slurm.conf")),
        ("CLUSTER", if names_cluster(script) { String::new() } else { cluster.to_owned() }),
    ];
    let plain = Conf::of_lines(String::new(), Vec::new(), false);
    let mut clock = Cluster::open(format!("{name}, its accounts"), site, dir, ports, plain, &variables, context)
        .map_err(Trouble::Fault)?;
    let number = clock.start(&["bash", "setup.sh"])?;
    let give_up = clock.now() + SETS_UP_WITHIN_SECONDS * super::cluster::NANOS_PER_SECOND;
    while clock.now() < give_up {
        clock.move_clock(clock.now() + 60 * super::cluster::NANOS_PER_SECOND)?;
        let Some(ended) = clock.take_ended(clock.now()).into_iter().find(|ended| ended.number == number) else {
            continue;
        };
        let faults = script_faults(path, script, &ended.output);
        if ended.code != 0 {
            let lacks_qos = ended.output.contains("bad qos");
            let hint = if lacks_qos { "; a dump has no QOS: put `add qos` and the like above it" } else { "" };
            let output = last_lines(&ended.output);
            return Err(cannot("set up the accounts", &format!("{output}{hint}")));
        }
        if !faults.is_empty() {
            let more = faults.len().saturating_sub(FAULTS_SHOWN);
            let more = if more > 0 { format!("; and {more} more") } else { String::new() };
            let shown: Vec<String> = faults.into_iter().take(FAULTS_SHOWN).collect();
            return Err(Trouble::Fault(format!("{name}: {}{more}", shown.join("; "))));
        }
        return Ok(clock.into_dir());
    }
    Err(cannot("set up the accounts", &"it takes too long"))
}

/// The last two lines of an output: a program that fails states the reason there.
fn last_lines(output: &str) -> String {
    let lines: Vec<&str> = output.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    shorten_output(&lines[lines.len().saturating_sub(2)..].join("; "))
}

fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(text.as_bytes())
}

/// Starts database, slurmdbd and slurmctld, and ends them in that order. Writes the output of sacctmgr.
const SETUP: &str = r#"set -u
fail() { echo "$1"; exit 3; }
# It compares names of users, not their numbers.
echo "SlurmUser=$(id -un 2>/dev/null || id -u)" >>slurmdbd.conf
owner=
[ "$EUID" = 0 ] && owner=--user=root
mariadb-install-db --no-defaults --datadir="$PWD/db" $owner --auth-root-authentication-method=normal --skip-test-db \
    >install.log 2>&1 || fail "mariadb-install-db: $(tail -n 3 install.log)"
mariadbd --no-defaults $owner --datadir="$PWD/db" --socket="$MYSQL_UNIX_PORT" --skip-networking --skip-grant-tables \
    --innodb-lock-wait-timeout=900 --pid-file="$PWD/db.pid" >db.log 2>&1 &
database=$!
for _ in $(seq 600); do [ -S "$MYSQL_UNIX_PORT" ] && break; sleep 0.1; done
[ -S "$MYSQL_UNIX_PORT" ] || fail "mariadbd: $(tail -n 3 db.log)"
slurmdbd -D >slurmdbd.out 2>&1 &
accounting=$!
for _ in $(seq 600); do sacctmgr -n list cluster >list.out 2>&1 && break; sleep 0.1; done
sacctmgr -n list cluster >list.out 2>&1 || fail "slurmdbd: $(tail -n 3 slurmdbd.out) $(tail -n 1 list.out)"
[ -z "$CLUSTER" ] || sacctmgr -Q -i add cluster "$CLUSTER" >/dev/null
[ ! -s commands ] || sacctmgr -i <commands 2>&1
# Only users of the database may load a dump, and root is one.
[ ! -s dump ] || HANSA_USERS="$PWD/passwd" sacctmgr -i load dump 2>&1 || fail "sacctmgr load: it ended with exit code $?"
slurmctld -D -c >slurmctld.out 2>&1 &
controller=$!
for _ in $(seq 600); do scontrol ping 2>/dev/null | grep -q UP && break; sleep 0.1; done
sleep 2
scontrol shutdown slurmctld || fail "slurmctld: $(tail -n 3 slurmctld.out)"
wait $controller
kill $accounting; wait $accounting
kill $database; wait $database
exit 0
"#;

/// True for a line that `sacctmgr dump` writes.
fn is_dump_line(line: &str) -> bool {
    ["Cluster - ", "Parent - ", "Account - ", "User - "].iter().any(|begin| line.trim_start().starts_with(begin))
}

/// The lines of a script that are of a dump, or else those that are commands; empty if these are comments only.
fn script_lines(script: &str, of_dump: bool) -> String {
    let lines: Vec<&str> = script.lines().filter(|line| is_dump_line(line) == of_dump).collect();
    let has_any = lines.iter().any(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
    if has_any { lines.join("\n") + "\n" } else { String::new() }
}

/// True if a script makes its cluster itself.
fn names_cluster(script: &str) -> bool {
    let makes = |line: &str| {
        let words: Vec<String> = line.split_whitespace().take(2).map(str::to_lowercase).collect();
        matches!(&words[..], [verb, noun] if ["add", "create"].contains(&verb.as_str()) && noun == "cluster")
    };
    script.lines().any(|line| is_dump_line(line) || makes(line))
}

/// Words of sacctmgr about a line that it cannot carry out. A change of nothing is no fault.
const FAULTY: [&str; 8] =
    ["Unknown", "invalid keyword", "Can't", "rror:", "Problem", "doesn't exist", "Invalid", "Bad format"];

/// Complaints of sacctmgr about lines of a script, which it repeats before it carries them out.
fn script_faults(path: &str, script: &str, output: &str) -> Vec<String> {
    const PROMPT: &str = "sacctmgr: ";
    let mut faults = Vec::new();
    let lines: Vec<&str> = script.lines().collect();
    let mut at = 0;
    for line in output.lines() {
        if let Some(repeated) = line.strip_prefix(PROMPT).filter(|line| !line.starts_with("error:")) {
            let next = lines.iter().skip(at).position(|line| line.trim() == repeated.trim());
            at += next.map_or(0, |next| next + 1);
        } else if FAULTY.iter().any(|words| line.contains(words)) {
            let place = if at > 0 { format!("{path} line {at}") } else { path.to_owned() };
            faults.push(format!("{place}: sacctmgr: {}", line.trim()));
        }
    }
    faults
}

/// Users of a script, or dump, of sacctmgr.
pub fn users_of_script(script: &str) -> BTreeSet<String> {
    let mut users = BTreeSet::new();
    let bare = |word: &str| word.trim_matches(|c| c == '\'' || c == '"').to_owned();
    for line in conf_lines("", script) {
        if let Some(rest) = line.text.strip_prefix("User - ") {
            users.extend(rest.split(':').next().map(bare));
            continue;
        }
        let mut words = line.text.split_whitespace();
        let verb = words.next().unwrap_or_default().to_lowercase();
        let noun = words.next().unwrap_or_default().to_lowercase();
        if !["add", "create"].contains(&verb.as_str()) || noun != "user" {
            continue;
        }
        for word in words {
            let names = match word.split_once('=') {
                None => word,
                Some((key, names)) if ["name", "names", "user", "users"].contains(&key.to_lowercase().as_str()) => {
                    names
                }
                Some(_) => continue,
            };
            users.extend(names.split(',').map(bare).filter(|name| !name.is_empty()));
        }
    }
    users
}

/// Entries of these users in the form of `/etc/passwd`, root first.
pub fn passwd_text(users: &BTreeSet<String>, folder: &str) -> String {
    let ids: BTreeMap<&String, u32> = users.iter().filter(|user| *user != "root").zip(FIRST_USER..).collect();
    let entry = |name: &str, id: u32| format!("{name}:x:{id}:{id}::{folder}:/bin/bash\n");
    std::iter::once(entry("root", 0)).chain(ids.into_iter().map(|(name, id)| entry(name, id))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = "\
# accounts
add cluster Name=x
add account name=a Fairshare=3
add user ann,bob DefaultAccount=a
add user name=cid DefaultAccount=a MaxJobs=3
modify qos set priority=3 where name=none
";

    #[test]
    fn users_are_those_of_scripts_and_dumps() {
        let names = |script: &str| users_of_script(script).into_iter().collect::<Vec<_>>().join(" ");
        assert_eq!(names(SCRIPT), "ann bob cid");
        let dump = "Cluster - 'x':Fairshare=1\nParent - 'root'\nUser - 'root':DefaultAccount='root'\nUser - 'u1':Fairshare=2\n";
        assert_eq!(names(dump), "root u1");
        assert!(names_cluster(dump) && names_cluster(SCRIPT) && !names_cluster("add qos low"));
        assert!(!names_cluster("add user ann"));
        let passwd = passwd_text(&users_of_script(dump), "/f");
        assert_eq!(passwd, "root:x:0:0::/f:/bin/bash\nu1:x:20001:20001::/f:/bin/bash\n");
    }

    #[test]
    fn commands_stand_above_a_dump() {
        let script = "# To edit\nadd qos low\nCluster - 'x':QOS='low'\nParent - 'root'\nAccount - 'a'\nUser - 'u1'\n";
        assert_eq!(script_lines(script, false), "# To edit\nadd qos low\n");
        assert_eq!(
            script_lines(script, true),
            "Cluster - 'x':QOS='low'\nParent - 'root'\nAccount - 'a'\nUser - 'u1'\n"
        );
        assert_eq!(script_lines(SCRIPT, false), SCRIPT);
        assert_eq!(script_lines(SCRIPT, true), "");
        assert_eq!(script_lines("# Cluster - 'x'\n\nCluster - 'x'\n", false), "", "comments are no commands");
    }

    #[test]
    fn words_of_sacctmgr_are_about_lines_of_the_script() {
        let output = "sacctmgr: # accounts\nsacctmgr: add cluster Name=x\n Adding Cluster(s)\n\
                    sacctmgr: add account name=a Fairshare=3\n Unknown option: Fairshar=3\n\
                    sacctmgr: modify qos set priority=3 where name=none\n Nothing modified\nsacctmgr: \n";
        assert_eq!(script_faults("s", SCRIPT, output), ["s line 3: sacctmgr: Unknown option: Fairshar=3"]);
    }
}
