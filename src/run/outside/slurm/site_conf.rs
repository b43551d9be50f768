//! The conf of a site's own Slurm on this machine: its lines, and what Hansa changes in them, with the reasons.

use std::collections::BTreeMap;
use std::path::Path;

use super::super::resolve_path;
use super::change::UserLines;
use super::conf::{Conf, Ground, OURS};
use crate::input::{read_input, unreadable_reason};
use hansa_sim::grid::Site;
use hansa_sim::topology::slurm_conf::{ConfLine, NodeGroup, expand_hosts, list_nodes, read_conf};

/// Files of a site's Slurm.
pub struct SiteFiles {
    pub lines: Vec<ConfLine>,
    pub groups: Vec<NodeGroup>,
    /// Text of topology.conf, if there is one.
    pub topology: Option<String>,
    /// Path and text of the script of sacctmgr, if there is one.
    pub accounts: Option<(String, String)>,
    /// All of its files.
    pub paths: Vec<String>,
}

/// A change of a line, for readers.
#[derive(Debug, PartialEq, Eq)]
pub struct Change {
    pub place: String,
    pub was: String,
    /// New text of the line; empty if the line is left out.
    pub is: String,
    pub why: &'static str,
}

/// Name of the script of accounts in the folder of a site.
const ACCOUNTS: &str = "sacctmgr.script";

const HERE: &str = "its daemons run on this machine";
const PORTS: &str = "its ports are free ones of this machine";
const OWNER: &str = "its daemons belong to the user who runs Hansa";
const TRUST: &str = "its daemons believe all that reach them, from this machine only";
const FOLDER: &str = "its files are in a folder of the run";
const LOGS: &str = "its logs end with the run";
const LOADS: &str = "jobs are scripts that sleep";
const ACCOUNTING: &str = "accounts are read from a file, and nothing is recorded";
const UP: &str = "nodes fail as the topology says only";
const POWERED: &str = "nodes are always powered";
const ALONE: &str = "there is one cluster";

/// Keys that are replaced or left out; one that ends with a star stands for all that begin so.
const REPLACED: &[(&str, &[&str])] = &[
    (HERE, &["backup*", "control*", "slurmctldhost", "slurmctldaddr", "frontend*", "plugindir", "plugstackconfig"]),
    (PORTS, &["slurmctldport*", "slurmdport", "srunportrange"]),
    (OWNER, &["slurmuser", "slurmduser", "disablerootjobs", "usepam"]),
    (TRUST, &["auth*", "cred*", "cryptotype", "jobcredential*", "communicationparameters"]),
    (
        FOLDER,
        &[
            "statesavelocation",
            "slurmdspooldir",
            "slurmctldpidfile",
            "slurmdpidfile",
            "slurmctldlogfile",
            "slurmdlogfile",
            "slurmsched*",
        ],
    ),
    (LOGS, &["slurmctlddebug", "slurmddebug", "slurmctldsyslog*", "slurmdsyslog*", "debugflags", "logtimeformat"]),
    (
        LOADS,
        &[
            "jobacctgather*",
            "acctgather*",
            "proctracktype",
            "task*",
            "switch*",
            "mpi*",
            "launch*",
            "jobcontainer*",
            "prolog*",
            "epilog*",
            "srunprolog",
            "srunepilog",
            "x11parameters",
            "propagate*",
            "mail*",
            "healthcheck*",
            "unkillablestep*",
            "cpufreq*",
            "corespecplugin",
            "bcast*",
            "extsensors*",
            "burstbuffer*",
            "slurmdparameters",
        ],
    ),
    (
        ACCOUNTING,
        &[
            "accountingstoragetype",
            "accountingstorage*host",
            "accountingstorageport",
            "accountingstorageuser",
            "accountingstoragepass",
            "accountingstorageloc",
            "accountingstorageparameters",
            "accountingstore*",
            "jobcomp*",
        ],
    ),
    (UP, &["slurmdtimeout", "slurmctldtimeout", "returntoservice", "downnodes", "inactivelimit", "rebootprogram"]),
    (POWERED, &["suspend*", "resume*", "power*"]),
    (ALONE, &["federation*"]),
];

/// Keys whose programs decide about jobs, and which cannot be kept.
const DECIDING: &[&str] = &["JobSubmitPlugins", "PrioritySiteFactorPlugin", "NodeFeaturesPlugins"];

/// Keys of a node's line that are of its machine.
const OF_MACHINE: &[&str] = &["NodeAddr", "NodeHostname", "BcastAddr", "Port", "State", "Reason"];
/// Keys of a partition's line that ask for groups or hosts of the site.
const OF_GROUPS: &[&str] = &["AllowGroups", "AllocNodes"];
/// Keys of a partition's line that need accounts.
const OF_ACCOUNTS: &[&str] = &["AllowAccounts", "AllowQos", "DenyAccounts", "DenyQos", "QOS"];

impl SiteFiles {
    /// Reads the files of a site that has a folder of its own.
    pub fn read(site: &Site, written_in: &str) -> Result<SiteFiles, String> {
        let slurm = &site.program.slurm;
        let folder = resolve_path(&slurm.site, written_in);
        let mut paths = Vec::new();
        let mut read = |path: &str| {
            let bytes = read_input(path).map_err(|error| unreadable_reason(path, &error))?;
            paths.push(path.to_owned());
            Ok::<_, String>(bytes)
        };
        let lines = read_conf(&format!("{folder}/slurm.conf"), &mut read)?;
        let groups = list_nodes(&lines)?;
        if let Some(line) = deciding_line(&lines, site, written_in)? {
            return Err(format!(
                "{}: {} is a program of the site that decides about jobs, and cannot run here: a line `{}=` in the file \
                 of `slurm.conf` leaves it out",
                line.place(),
                line.key(),
                line.key()
            ));
        }
        let topology = format!("{folder}/topology.conf");
        let topology = match Path::new(&topology).is_file() {
            true => Some(read_text(topology, &mut read)?.1),
            false => None,
        };
        let listed = format!("{folder}/{ACCOUNTS}");
        let accounts = match slurm.accounts.as_str() {
            "" if Path::new(&listed).is_file() => Some(read_text(listed, &mut read)?),
            "" => None,
            path => Some(read_text(resolve_path(path, written_in), &mut read)?),
        };
        Ok(SiteFiles { lines, groups, topology, accounts, paths })
    }

    /// Names of all nodes with their numbers of cores, in order.
    pub fn nodes(&self) -> Vec<(String, u32)> {
        self.groups.iter().flat_map(|group| group.names.iter().map(|name| (name.clone(), group.cpus))).collect()
    }

    /// Value of a key with one value.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.lines.iter().rev().find(|line| line.has_key(key)).map(ConfLine::value)
    }

    /// Text of gres.conf: each GPU of each node has a file in this folder, as Slurm counts files. Returns the names of
    /// the files, too.
    pub fn devices(&self, folder: &str) -> (String, Vec<String>) {
        let mut text = "AutoDetect=off\n".to_owned();
        let mut files = Vec::new();
        for group in &self.groups {
            let mut counts: BTreeMap<String, u32> = BTreeMap::new();
            for device in group.gres.split(',').filter(|device| !device.is_empty()) {
                let Device { name, kind, count } = Device::of(device);
                let next = counts.entry(name.clone()).or_default();
                let first = *next;
                *next += count;
                let kind = if kind.is_empty() { String::new() } else { format!(" Type={kind}") };
                let nodes = group.names.join(",");
                if count > 0 && name == "gpu" {
                    text.push_str(&format!(
                        "NodeName={nodes} Name={name}{kind} Count={count} File={folder}/{name}[{first}-{}]\n",
                        *next - 1
                    ));
                    files.extend((first..*next).map(|number| format!("{name}{number}")));
                } else if count > 0 {
                    text.push_str(&format!("NodeName={nodes} Name={name}{kind} Count={count}\n"));
                }
            }
        }
        files.sort_unstable();
        files.dedup();
        (text, files)
    }
}

/// A device of a node: `gpu:v100:2(S:0)`.
struct Device {
    name: String,
    kind: String,
    count: u32,
}

impl Device {
    fn of(text: &str) -> Device {
        let text = text.split('(').next().unwrap_or_default();
        let mut parts: Vec<&str> = text.split(':').filter(|part| *part != "no_consume").collect();
        let last = parts.last().copied().unwrap_or_default();
        let (digits, scale) = match last.strip_suffix(['k', 'K']) {
            Some(digits) => (digits, 1024),
            None => (last, 1),
        };
        let count = digits.parse::<u32>().ok().filter(|_| parts.len() > 1);
        if count.is_some() {
            parts.pop();
        }
        Device {
            name: parts.first().copied().unwrap_or_default().to_owned(),
            kind: parts.get(1).copied().unwrap_or_default().to_owned(),
            count: count.unwrap_or(1).saturating_mul(scale),
        }
    }
}

/// Path and text of a file.
fn read_text(path: String, read: &mut impl FnMut(&str) -> Result<Vec<u8>, String>) -> Result<(String, String), String> {
    let bytes = read(&path).map_err(|reason| format!("cannot read {path}: {reason}"))?;
    Ok((path, String::from_utf8_lossy(&bytes).into_owned()))
}

/// A line whose program would decide about jobs, unless the user's conf replaces it.
fn deciding_line<'l>(lines: &'l [ConfLine], site: &Site, written_in: &str) -> Result<Option<&'l ConfLine>, String> {
    let extra = super::read_user_lines(site, written_in)?.conf_lines();
    let decides = |line: &&ConfLine| {
        DECIDING.iter().any(|key| line.has_key(key))
            && !line.value().is_empty()
            && !extra.iter().any(|other| other.has_key(line.key()))
    };
    Ok(lines.iter().find(decides))
}

/// True if a user's line stands for this one: the same key, and the same name of partitions and the like.
fn is_replaced(line: &ConfLine, extra: &[ConfLine]) -> bool {
    const NAMED: [&str; 3] = ["PartitionName", "NodeSet", "NodeName"];
    let named = NAMED.iter().find(|key| line.has_key(key));
    let is_alike = |other: &ConfLine| named.is_none_or(|key| other.part(key) == line.part(key));
    extra.iter().any(|other| other.has_key(line.key()) && is_alike(other))
}

fn reason_of(key: &str) -> Option<&'static str> {
    let key = key.to_ascii_lowercase();
    let matches = |pattern: &&str| match pattern.split_once('*') {
        Some((begin, end)) => key.starts_with(begin) && key.ends_with(end),
        None => key == **pattern,
    };
    REPLACED.iter().find(|(_, keys)| keys.iter().any(matches)).map(|(why, _)| *why)
}

/// The line without some keys. None if it has none of them.
fn without_parts(line: &ConfLine, keys: &[&str]) -> Option<String> {
    let is_named = |part: &&str| {
        part.split_once('=').is_some_and(|(key, _)| keys.iter().any(|other| other.eq_ignore_ascii_case(key)))
    };
    let kept: Vec<&str> = line.text.split_whitespace().filter(|part| !is_named(part)).collect();
    (kept.len() < line.text.split_whitespace().count()).then(|| kept.join(" "))
}

/// Reason for which a conf beside a site's own files may not have a key.
fn own_key_reason(key: &str) -> &'static str {
    match key.starts_with("Node") {
        true => "the nodes are those of the site's own files; to try others, change a copy of the folder",
        false => "Hansa sets it",
    }
}

impl Conf {
    /// The conf of a site with files of its own, with its differences from these files.
    pub fn of_site(files: &SiteFiles, user: &UserLines, ground: &Ground<'_>) -> Result<(Conf, Vec<Change>), String> {
        let extra_lines = user.conf_lines();
        for line in &extra_lines {
            if line.has_key("Include") {
                return Err(format!("{}: leave Include out beside a folder of the site's files", line.place()));
            }
            if let Some(ours) = OURS.iter().find(|ours| line.has_key(ours)) {
                return Err(format!("{}: leave {ours} out: {}", line.place(), own_key_reason(ours)));
            }
        }
        let mut lines = Lines::default();
        let has_accounts = files.accounts.is_some();
        for ours in own_lines(files, ground) {
            lines.conf.push((ours, None));
        }
        let own: Vec<&ConfLine> = files.lines.iter().filter(|line| !is_replaced(line, &extra_lines)).collect();
        for line in own.into_iter().chain(&extra_lines) {
            lines.add(line, has_accounts, ground);
        }
        // Slurm knows the nodes of a partition by lines above it.
        let all: Vec<(String, Option<(String, usize)>)> =
            lines.conf.into_iter().chain(lines.nodes).chain(lines.partitions).collect();
        let text: String = all.iter().map(|(line, _)| format!("{line}\n")).collect();
        let origins = all.into_iter().map(|(_, origin)| origin).collect();
        let preempts = files.lines.iter().chain(&extra_lines).any(|line| {
            line.key().to_ascii_lowercase().starts_with("preempt")
                && !line.value().to_ascii_lowercase().ends_with("none")
        });
        Ok((Conf::of_lines(text, origins, preempts), lines.changes))
    }
}

/// Lines of a conf with their origins, sorted as Slurm needs them.
#[derive(Default)]
struct Lines {
    conf: Vec<(String, Option<(String, usize)>)>,
    nodes: Vec<(String, Option<(String, usize)>)>,
    partitions: Vec<(String, Option<(String, usize)>)>,
    changes: Vec<Change>,
    /// Number of nodes that have a port.
    placed: u32,
}

impl Lines {
    fn change(&mut self, line: &ConfLine, is: &str, why: &'static str) {
        self.changes.push(Change { place: line.place(), was: line.text.clone(), is: is.to_owned(), why });
    }

    fn add(&mut self, line: &ConfLine, has_accounts: bool, ground: &Ground<'_>) {
        let origin = Some((line.file.clone(), line.number));
        if let Some(why) = reason_of(line.key()) {
            self.change(line, "", why);
        } else if line.has_key("NodeName") {
            self.add_node(line, ground);
        } else if line.has_key("PartitionName") {
            let mut text = line.text.clone();
            let mut changed = line.clone();
            for (keys, why) in [
                (OF_GROUPS, "there are no groups and hosts of the site here"),
                (
                    if has_accounts { &[][..] } else { OF_ACCOUNTS },
                    "there is no script of sacctmgr, so there are no accounts",
                ),
            ] {
                if let Some(rest) = without_parts(&changed, keys) {
                    self.change(line, &rest, why);
                    text.clone_from(&rest);
                    changed.text = rest;
                }
            }
            self.partitions.push((text, origin));
        } else if line.has_key("AccountingStorageEnforce") && !has_accounts {
            self.change(line, "", "there is no script of sacctmgr, so there are no accounts");
        } else if line.has_key("SlurmctldParameters") {
            let kept: Vec<&str> = line.value().split(',').filter(|one| one.trim() != "enable_configless").collect();
            let text = if kept.is_empty() { String::new() } else { format!("SlurmctldParameters={}", kept.join(",")) };
            if kept.len() < line.value().split(',').count() {
                self.change(line, &text, HERE);
            }
            if !text.is_empty() {
                self.conf.push((text, origin));
            }
        } else if DECIDING.iter().any(|key| line.has_key(key)) {
            self.change(line, "", "it is a program of the site");
        } else {
            self.conf.push((line.text.clone(), origin));
        }
    }

    fn add_node(&mut self, line: &ConfLine, ground: &Ground<'_>) {
        let origin = Some((line.file.clone(), line.number));
        let kept = without_parts(line, OF_MACHINE).unwrap_or_else(|| line.text.clone());
        let name = line.part("NodeName").unwrap_or_default();
        if name.eq_ignore_ascii_case("DEFAULT") {
            if kept != line.text {
                self.change(line, &kept, HERE);
            }
            self.nodes.push((kept, origin));
            return;
        }
        let count = expand_hosts(name).map_or(0, |names| names.len()) as u32;
        let first = ground.port + 1 + self.placed;
        self.placed += count;
        let ports = if count == 1 { first.to_string() } else { format!("[{first}-{}]", first + count - 1) };
        let text = format!("{kept} NodeAddr=127.0.0.1 NodeHostname={} Port={ports}", ground.host);
        self.change(line, &text, HERE);
        self.nodes.push((text, origin));
    }
}

/// Lines that are added for this machine.
fn own_lines(files: &SiteFiles, ground: &Ground<'_>) -> Vec<String> {
    let Ground { folder, host, user, port } = ground;
    let has_accounts = files.accounts.is_some();
    let nodes: u32 = files.groups.iter().map(|group| group.names.len() as u32).sum();
    // With accounts, Slurm's programs see themselves as those of root, which may run jobs of all users.
    let owner: &str = if has_accounts { "root" } else { user };
    let mut lines = vec![
        format!("SlurmctldHost={host}(127.0.0.1)"),
        format!("SlurmctldPort={port}"),
        format!("SlurmUser={owner}"),
        format!("SlurmdUser={owner}"),
        "AuthType=auth/none".to_owned(),
        "CredType=cred/none".to_owned(),
        "CommunicationParameters=NoCtldInAddrAny,NoInAddrAny".to_owned(),
        format!("StateSaveLocation={folder}/state"),
        format!("SlurmdSpoolDir={folder}/spool/%n"),
        format!("SlurmctldPidFile={folder}/slurmctld.pid"),
        format!("SlurmdPidFile={folder}/slurmd.%n.pid"),
        format!("SlurmctldLogFile={folder}/slurmctld.log"),
        format!("SlurmdLogFile={folder}/slurmd.%n.log"),
        "MpiDefault=none".to_owned(),
        "ProctrackType=proctrack/pgid".to_owned(),
        "TaskPlugin=task/none".to_owned(),
        "SwitchType=switch/none".to_owned(),
        "JobAcctGatherType=jobacct_gather/none".to_owned(),
        "JobCompType=jobcomp/none".to_owned(),
        "MailProg=/bin/true".to_owned(),
        "SlurmdParameters=config_overrides".to_owned(),
        "ReturnToService=0".to_owned(),
        "SlurmctldTimeout=3600".to_owned(),
        "SlurmdTimeout=3600".to_owned(),
        "InactiveLimit=0".to_owned(),
    ];
    if has_accounts {
        // No program listens at that port: Slurm reads the accounts from the files of its state.
        lines.push("AccountingStorageType=accounting_storage/slurmdbd".to_owned());
        lines.push("AccountingStorageHost=127.0.0.1".to_owned());
        lines.push(format!("AccountingStoragePort={}", port + nodes + 1));
    } else {
        lines.push("AccountingStorageType=accounting_storage/none".to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use hansa_sim::topology::slurm_conf::conf_lines;

    const CONF: &str = "\
ClusterName=x
SlurmUser=slurm
SlurmctldParameters=enable_configless,x
PreemptType=preempt/partition_prio
NodeName=DEFAULT CPUs=4 State=UNKNOWN
NodeName=n[1-3] Feature=a NodeAddr=host[1-3]
PartitionName=a Nodes=ALL AllowGroups=staff QOS=q
NodeName=g1 Gres=gpu:v100:2(S:0),gpu:a100:1,tape:3
";

    fn user_lines(text: &str) -> UserLines {
        UserLines::merge(("extra.conf", text), ("", ""))
    }

    fn files(accounts: bool) -> SiteFiles {
        let lines = conf_lines("slurm.conf", CONF);
        let groups = list_nodes(&lines).unwrap();
        let accounts = accounts.then(|| ("sacctmgr.script".to_owned(), String::new()));
        SiteFiles { lines, groups, topology: None, accounts, paths: Vec::new() }
    }

    const GROUND: Ground<'_> = Ground { folder: "/f", host: "h", user: "7", port: 100 };

    #[test]
    fn lines_are_kept_or_changed_with_a_reason() {
        let (conf, changes) =
            Conf::of_site(&files(false), &user_lines("PriorityType=priority/basic\n"), &GROUND).unwrap();
        let last: Vec<&str> = conf.text.lines().skip_while(|line| !line.starts_with("ClusterName")).collect();
        assert_eq!(
            last,
            [
                "ClusterName=x",
                "SlurmctldParameters=x",
                "PreemptType=preempt/partition_prio",
                "PriorityType=priority/basic",
                "NodeName=DEFAULT CPUs=4",
                "NodeName=n[1-3] Feature=a NodeAddr=127.0.0.1 NodeHostname=h Port=[101-103]",
                "NodeName=g1 Gres=gpu:v100:2(S:0),gpu:a100:1,tape:3 NodeAddr=127.0.0.1 NodeHostname=h Port=104",
                "PartitionName=a Nodes=ALL",
            ]
        );
        assert!(conf.preempts && conf.text.contains("\nSlurmUser=7\n"), "{}", conf.text);
        let reasons: Vec<(&str, &str)> = changes.iter().map(|change| (change.place.as_str(), change.why)).collect();
        assert_eq!(
            reasons,
            [
                ("slurm.conf line 2", OWNER),
                ("slurm.conf line 3", HERE),
                ("slurm.conf line 5", HERE),
                ("slurm.conf line 6", HERE),
                ("slurm.conf line 7", "there are no groups and hosts of the site here"),
                ("slurm.conf line 7", "there is no script of sacctmgr, so there are no accounts"),
                ("slurm.conf line 8", HERE),
            ]
        );
        let number = conf.text.lines().position(|line| line.starts_with("PartitionName")).unwrap() + 1;
        let printed = conf.in_terms_of_file(&format!("error: Parse error in file /x/slurm.conf line {number}: \"no\""));
        assert!(printed.starts_with("slurm.conf line 7: error: "), "{printed}");
    }

    #[test]
    fn accounts_and_lines_of_the_user_replace_those_of_the_site() {
        let extra = "PartitionName=a Nodes=n1 QOS=q\nPartitionName=b Nodes=n2\nPreemptType=preempt/none\n";
        let (conf, _) = Conf::of_site(&files(true), &user_lines(extra), &GROUND).unwrap();
        assert!(conf.text.ends_with("PartitionName=a Nodes=n1 QOS=q\nPartitionName=b Nodes=n2\n"), "{}", conf.text);
        assert!(!conf.text.contains("partition_prio") && conf.text.contains("\nSlurmUser=root\n"), "{}", conf.text);
        assert!(conf.text.contains("\nAccountingStoragePort=105\n"), "{}", conf.text);
        let refused = Conf::of_site(&files(true), &user_lines("\nnodename=x\n"), &GROUND).map(|_| ()).unwrap_err();
        assert_eq!(
            refused,
            "extra.conf line 2: leave NodeName out: the nodes are those of the site's own files; to try others, change a copy of the folder"
        );
    }

    #[test]
    fn devices_have_files_to_be_counted() {
        let (text, names) = files(false).devices("/d");
        assert_eq!(
            text,
            "AutoDetect=off\nNodeName=g1 Name=gpu Type=v100 Count=2 File=/d/gpu[0-1]\n\
             NodeName=g1 Name=gpu Type=a100 Count=1 File=/d/gpu[2-2]\nNodeName=g1 Name=tape Count=3\n"
        );
        assert_eq!(names, ["gpu0", "gpu1", "gpu2"]);
    }
}
