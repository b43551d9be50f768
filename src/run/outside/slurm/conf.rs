//! The `slurm.conf` of a site: lines of ours, and those of the user's file, which replace ours with the same key.

use std::path::{Component, Path};

use super::change::UserLines;
use super::site_conf::{Change, SiteFiles};
use crate::disk::parent_folder;
use hansa_sim::grid::Site;

/// Facts about the cluster that are known only when it is started.
pub struct Ground<'a> {
    /// The cluster's own folder.
    pub folder: &'a str,
    pub host: &'a str,
    pub user: &'a str,
    /// Port of slurmctld; those of the nodes follow.
    pub port: u32,
}

/// Placeholders for text that only people read.
pub const SHOWN: Ground<'_> = Ground { folder: "FOLDER", host: "HOST", user: "USER", port: 20_000 };

#[derive(Debug, PartialEq, Eq)]
pub struct Conf {
    pub text: String,
    /// File and line that each line is from; None for those of ours.
    origins: Vec<Option<(String, usize)>>,
    /// True if the user's lines let Slurm end jobs before their walltimes.
    pub preempts: bool,
    /// The user's file that includes one outside of its folder, whose lines Slurm would quote in its errors.
    includes_others: Option<String>,
}

/// Keys that the site relies on.
pub const OURS: &[&str] = &[
    "AuthType",
    "ClusterName",
    "CommunicationParameters",
    "CredType",
    "MpiDefault",
    "NodeName",
    "SlurmctldHost",
    "SlurmctldLogFile",
    "SlurmctldPidFile",
    "SlurmctldPort",
    "SlurmdLogFile",
    "SlurmdPidFile",
    "SlurmdPort",
    "SlurmdSpoolDir",
    "SlurmdUser",
    "SlurmUser",
    "StateSaveLocation",
];

impl Conf {
    /// The conf of a site's cluster, with the lines of the user; and its differences from the site's own files.
    pub fn of_cluster(
        site: &Site,
        files: Option<&SiteFiles>,
        user: &UserLines,
        ground: &Ground<'_>,
    ) -> Result<(Conf, Vec<Change>), String> {
        match files {
            None => Ok((Conf::new(site, user, ground)?, Vec::new())),
            Some(files) => Conf::of_site(files, user, ground),
        }
    }

    /// The conf of a cluster of alike nodes, with the lines of the user.
    pub fn new(site: &Site, user: &UserLines, ground: &Ground<'_>) -> Result<Conf, String> {
        let keys: Vec<String> =
            user.lines.iter().filter_map(|line| line_key(&line.text)).map(str::to_lowercase).collect();
        for line in &user.lines {
            let ours = line_key(&line.text).and_then(|key| OURS.iter().find(|ours| ours.eq_ignore_ascii_case(key)));
            if let Some(ours) = ours {
                return Err(format!("{}: leave {ours} out, as Hansa sets it", user.place_of(line)));
            }
        }
        let mut text: String = conf_lines(site, ground)
            .into_iter()
            .filter(|line| line_key(line).is_some_and(|key| !keys.contains(&key.to_lowercase())))
            .map(|line| line + "\n")
            .collect();
        let mut origins: Vec<Option<(String, usize)>> = text.lines().map(|_| None).collect();
        let preempts = keys.iter().any(|key| key.starts_with("preempt"));
        let includer = user.lines.iter().find(|line| includes_another_folder(&line.text, user.path_of(line)));
        let includes_others = includer.map(|line| user.path_of(line).to_owned());
        for line in &user.lines {
            text.push_str(&format!("{}\n", line.text));
            origins.push(Some((user.path_of(line).to_owned(), line.number)));
        }
        Ok(Conf { text, origins, preempts, includes_others })
    }

    /// A conf of these lines, none of which includes a file.
    pub fn of_lines(text: String, origins: Vec<Option<(String, usize)>>, preempts: bool) -> Conf {
        Conf { text, origins, preempts, includes_others: None }
    }

    /// Slurm's words about the conf, with lines of the user's file as those of that file. Words that may quote a file
    /// of another folder are withheld: the author of a topology must not read the files of the person that runs it.
    pub fn in_terms_of_file(&self, line: &str) -> String {
        let origin = |number: usize| self.origins.get(number.checked_sub(1)?)?.as_ref();
        // Slurm names a line by its number, an unknown key, the key of a wrong value, or a partition.
        let number = line.split("line ").nth(1).and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
        let numbered = number.and_then(|number| origin(number.parse().ok()?));
        let keyed = || {
            let mut lines = self.text.lines().zip(&self.origins);
            lines.find_map(|(written, origin)| origin.as_ref().filter(|_| is_named_in(written, line)))
        };
        let place = match &self.includes_others {
            // The number may be that of a line in the included file.
            Some(_) if line.contains("unrecognized key: ") => keyed(),
            // Other words may quote that file.
            Some(_) => None,
            None => numbered.or_else(keyed),
        };
        match (place, &self.includes_others) {
            (Some((file, number)), _) => format!("{file} line {number}: {line}"),
            (None, Some(path)) => format!(
                "{path}: Slurm cannot read a file that this includes; what it says may quote a file outside of the \
                 folder of {path}, and is not shown"
            ),
            (None, None) => line.to_owned(),
        }
    }
}

/// True if an error of Slurm is about this line: it names its key as unknown, or at its beginning, or its partition.
fn is_named_in(written: &str, error: &str) -> bool {
    let Some(key) = line_key(written) else { return false };
    if let Some(unknown) = error.split("unrecognized key: ").nth(1) {
        return key == unknown.trim();
    }
    let mut words = error.split_whitespace().skip(1);
    match (words.next(), words.next()) {
        (Some("Partition"), Some(name)) => {
            written.split_whitespace().next() == Some(format!("PartitionName={name}").as_str())
        }
        (Some(first), _) => first.eq_ignore_ascii_case(key),
        _ => false,
    }
}

/// True if this line includes a file that is not in the folder of the conf at `path`.
fn includes_another_folder(line: &str, path: &str) -> bool {
    if !line_key(line).is_some_and(|key| key.eq_ignore_ascii_case("include")) {
        return false;
    }
    let line = line.split('#').next().unwrap_or_default();
    let included = line.trim().split(|c: char| c == '=' || c.is_whitespace()).next_back().unwrap_or_default();
    let folder = std::path::absolute(parent_folder(Path::new(path))).unwrap_or_default();
    let is_inside = Path::new(included).strip_prefix(&folder).is_ok() || Path::new(included).is_relative();
    !is_inside || Path::new(included).components().any(|part| part == Component::ParentDir)
}

/// Key of a line. None if it is empty or a comment.
pub fn line_key(line: &str) -> Option<&str> {
    let line = line.split('#').next().unwrap_or_default().trim();
    line.split(|c: char| c == '=' || c.is_whitespace()).next().filter(|key| !key.is_empty())
}

fn conf_lines(site: &Site, ground: &Ground<'_>) -> Vec<String> {
    let nodes = site.program.slurm.node_count(site.cores);
    let cores = site.cores / nodes.max(1);
    let first = ground.port + 1;
    let last = ground.port + nodes;
    let Ground { folder, host, user, port } = ground;
    [
        "ClusterName=hansa",
        &format!("SlurmctldHost={host}(127.0.0.1)"),
        &format!("SlurmctldPort={port}"),
        &format!("SlurmUser={user}"),
        &format!("SlurmdUser={user}"),
        "AuthType=auth/none",
        "CredType=cred/none",
        // Only this machine reaches the daemons, which believe all that reach them.
        "CommunicationParameters=NoCtldInAddrAny,NoInAddrAny",
        &format!("StateSaveLocation={folder}/state"),
        &format!("SlurmdSpoolDir={folder}/spool/%n"),
        &format!("SlurmctldPidFile={folder}/slurmctld.pid"),
        &format!("SlurmdPidFile={folder}/slurmd.%n.pid"),
        &format!("SlurmctldLogFile={folder}/slurmctld.log"),
        &format!("SlurmdLogFile={folder}/slurmd.%n.log"),
        "MpiDefault=none",
        "ProctrackType=proctrack/pgid",
        "TaskPlugin=task/none",
        "SwitchType=switch/none",
        "JobAcctGatherType=jobacct_gather/none",
        "AccountingStorageType=accounting_storage/none",
        "JobCompType=jobcomp/none",
        "MailProg=/bin/true",
        "SchedulerType=sched/backfill",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_Core",
        "SlurmdParameters=config_overrides",
        "EnforcePartLimits=ALL",
        "ReturnToService=0",
        "SlurmctldTimeout=3600",
        "SlurmdTimeout=3600",
        "InactiveLimit=0",
        &format!(
            "NodeName=n[0-{}] NodeAddr=127.0.0.1 NodeHostname={host} Port=[{first}-{last}] CPUs={cores}",
            nodes - 1
        ),
        "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP",
    ]
    .map(str::to_owned)
    .to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hansa_sim::topology::read_topology;

    fn site(slurm: &str) -> Site {
        let text = format!(
            "name = \"x\"\n[batch]\n[[site]]\nname = \"york\"\ncores = 8\nscheduler = \"slurm\"\n{slurm}\n\
             [[user]]\nname = \"alice\"\n[[workload]]\nsource = \"lublin\"\njobs = 3\n"
        );
        let loaded = read_topology("x.toml", &[], &mut |_| Ok(text.clone().into()));
        loaded.map(|loaded| loaded.topology.sites[0].clone()).unwrap_or_else(|faults| panic!("{faults}"))
    }

    fn conf(extra: &str) -> Result<Conf, String> {
        changed_conf(extra, "")
    }

    fn changed_conf(extra: &str, change: &str) -> Result<Conf, String> {
        let user = UserLines::merge(("extra.conf", extra), ("try.conf", change));
        Conf::new(&site("slurm = { nodes = 4, conf = \"extra.conf\" }"), &user, &SHOWN)
    }

    #[test]
    fn lines_of_the_file_replace_ours() {
        let plain = conf("").unwrap().text;
        assert!(plain.contains("NodeName=n[0-3] ") && plain.contains("Port=[20001-20004] CPUs=2\n"), "{plain}");
        let extra = "# mine\nselecttypeparameters = CR_CPU\nPartitionName=a Nodes=n[0-1]\nPartitionName=b Nodes=n[2-3]";
        let mine = conf(extra).unwrap();
        assert!(mine.text.ends_with(&format!("{extra}\n")), "{}", mine.text);
        assert!(!mine.text.contains("CR_Core") && !mine.text.contains("PartitionName=main"), "{}", mine.text);
        assert_eq!((mine.text.lines().count(), mine.preempts), (plain.lines().count() + 2, false));
        assert!(conf("PreemptMode=REQUEUE").unwrap().preempts);
        let theirs = conf("SchedulerParameters=bf_interval=5\nnodename=other").unwrap_err();
        assert_eq!(theirs, "extra.conf line 2: leave NodeName out, as Hansa sets it");
        assert!(Conf::new(&site(""), &UserLines::default(), &SHOWN).unwrap().text.contains("NodeName=n[0-7] "));
    }

    #[test]
    fn words_of_slurm_are_about_lines_of_the_file() {
        let conf = conf("PriorityType=priority/basic\nNoSuchKey=1\n").unwrap();
        let line = conf.text.lines().count();
        let by_number = conf.in_terms_of_file(&format!("error: Parse error in file /x/slurm.conf line {line}: \"no\""));
        assert!(by_number.starts_with("extra.conf line 2: error: Parse"), "{by_number}");
        let by_key = conf.in_terms_of_file("error: _parse_next_key: Parsing error at unrecognized key: NoSuchKey");
        assert!(by_key.starts_with("extra.conf line 2: error: "), "{by_key}");
        assert_eq!(conf.in_terms_of_file("error: Parse error in line 1: x"), "error: Parse error in line 1: x");
        let by_value = conf.in_terms_of_file("error: PriorityType value (x) is not valid");
        assert_eq!(by_value, "extra.conf line 1: error: PriorityType value (x) is not valid");
        assert_eq!(conf.in_terms_of_file("fatal: Partition main is wrong"), "fatal: Partition main is wrong");
    }

    #[test]
    fn words_of_slurm_are_about_lines_of_the_change() {
        let conf = changed_conf("PriorityType=priority/basic\nPriorityWeightAge=1\n", "\nNoSuchKey=1\n").unwrap();
        let line = conf.text.lines().count();
        let by_partition =
            changed_conf("PriorityType=priority/basic\n", "PartitionName=p Nodes=ALL QOS=gold\n").unwrap();
        let words = by_partition.in_terms_of_file("fatal: Partition p has an invalid qos (gold)");
        assert_eq!(words, "try.conf line 1: fatal: Partition p has an invalid qos (gold)");
        let by_number = conf.in_terms_of_file(&format!("error: Parse error in file /x/slurm.conf line {line}: \"no\""));
        assert!(by_number.starts_with("try.conf line 2: error: Parse"), "{by_number}");
        let ours = changed_conf("PriorityWeightAge=1", "PriorityWeightAge=2\nslurmctldport=7").unwrap_err();
        assert_eq!(ours, "try.conf line 2: leave SlurmctldPort out, as Hansa sets it");
    }

    #[test]
    fn words_of_slurm_do_not_quote_files_of_other_folders() {
        let secret = "error: _parse_next_key: Parsing error at unrecognized key: root:x:0:0:root:/root:/bin/bash";
        let numbered = "error: Parse error in file /etc/passwd line 43: \"root:x:0:0:root:/root:/bin/bash\"";
        for include in ["Include /etc/passwd", "include ../passwd # mine", "Include=/etc/passwd"] {
            let conf = conf(&format!("{include}\nNoSuchKey=1\nParse=1\n")).unwrap();
            for line in [secret, numbered] {
                let shown = conf.in_terms_of_file(line);
                assert!(!shown.contains("root") && shown.starts_with("extra.conf: "), "{include}: {shown}");
            }
            let own = conf.in_terms_of_file("error: Parsing error at unrecognized key: NoSuchKey");
            assert!(own.starts_with("extra.conf line 2: error: "), "{own}");
        }
        let beside = conf("Include nodes.conf").unwrap();
        assert_eq!(beside.in_terms_of_file("error: unrecognized key: Nodse"), "error: unrecognized key: Nodse");
    }
}
