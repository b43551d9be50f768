//! Settings of the order `multifactor` from the files of a site's own Slurm.
//!
//! A site that imitates its Slurm (`order = "multifactor"` beside a table `slurm`) gets a table `multifactor` before
//! its table is read: weights and partitions from `slurm.conf`, with the lines of `conf` and `change`, and accounts
//! from the script of `sacctmgr`. Keys that the user has written stay. So the meaning of the topology, and all that is
//! computed from it, knows nothing of the files.

use std::str::FromStr;

use super::Library;
use super::file::path_beside;
use super::slurm_accounts::SlurmAccounts;
use super::slurm_conf::{ConfLine, conf_lines, list_nodes, read_conf};
use super::tables::sites::multifactor_text;
use crate::grid::{Multifactor, PartitionFactor};
use crate::settings::{Diagnostic, Keyed, Location, Table, Value, WrittenNode, parse_table};
use crate::time::Span;
use crate::workload::slurm_events::time_limit;

/// Script of accounts in a site's folder.
const SCRIPT: &str = "sacctmgr.script";
/// Age of a job after which it does not grow any more, where Slurm has no bound.
const LONG: Span = Span::from_secs(100 * 365 * 86_400);

/// Adds a table `multifactor` to each site that has that order and files of a Slurm, as far as they are at hand.
pub fn fill_slurm_factors(root: &mut Table, path: &str, library: &mut Library<'_, '_>) {
    let Some(WrittenNode { value: Value::List(sites), .. }) = root.get_mut("site") else { return };
    for (number, site) in sites.iter_mut().enumerate() {
        let Value::Table(site) = &mut site.value else { continue };
        if text_of(site, "order") != Some("multifactor") {
            continue;
        }
        let Some(WrittenNode { location, value: Value::Table(slurm) }) = site.get("slurm") else { continue };
        let location = *location;
        let base = library.diagnostics.source(location.source()).path.clone();
        let files = SlurmTexts::of_table(slurm, base.as_deref().unwrap_or(path));
        match files.read_factors(library) {
            Ok(factors) => add_factors(site, &factors, location),
            Err(wrong) => library.diagnostics.add(Diagnostic::new(location, format!("site.{number}.slurm"), wrong)),
        }
    }
}

fn text_of<'t>(table: &'t Table, key: &str) -> Option<&'t str> {
    match &table.get(key)?.value {
        Value::Text(text) if !text.is_empty() => Some(text),
        _ => None,
    }
}

/// Adds the keys that the user has not written.
fn add_factors(site: &mut Table, factors: &Multifactor, location: Location) {
    let Some(filled) = parse_table(&multifactor_text(factors), location) else { return };
    match site.get_mut("multifactor") {
        Some(WrittenNode { value: Value::Table(written), .. }) => {
            let missing: Vec<Keyed> =
                filled.entries.into_iter().filter(|keyed| written.get(&keyed.key).is_none()).collect();
            written.entries.extend(missing);
        }
        // Any other value is reported when the table is read.
        Some(_) => {}
        None => site.set(Keyed {
            key: "multifactor".to_owned(),
            key_location: location,
            node: WrittenNode { location, value: Value::Table(filled) },
        }),
    }
}

/// Paths of the files of a Slurm.
struct SlurmTexts {
    site: Option<String>,
    conf: Option<String>,
    change: Option<String>,
    accounts: Option<String>,
}

impl SlurmTexts {
    /// The files of a table `slurm`, beside the file that it is in.
    fn of_table(slurm: &Table, base: &str) -> SlurmTexts {
        let [site, conf, change, accounts] =
            ["site", "conf", "change", "accounts"].map(|key| text_of(slurm, key).map(|name| path_beside(base, name)));
        SlurmTexts { site, conf, change, accounts }
    }

    fn read_factors(&self, library: &mut Library<'_, '_>) -> Result<Multifactor, String> {
        let mut lines = Vec::new();
        if let Some(folder) = &self.site {
            let conf = format!("{folder}/slurm.conf");
            lines = read_conf(&conf, &mut |path| library.open_attached(path).map(|bytes| bytes.to_vec()))?;
        }
        for path in self.conf.iter().chain(&self.change) {
            let bytes = library.open_attached(path).map_err(|reason| format!("cannot read {path}: {reason}"))?;
            add_lines(&mut lines, conf_lines(path, &String::from_utf8_lossy(&bytes)));
        }
        let mut factors = read_weights(&lines)?;
        if self.site.is_some() {
            let nodes: usize = list_nodes(&lines)?.iter().map(|group| group.names.len()).sum();
            factors.nodes = u32::try_from(nodes).unwrap_or(u32::MAX);
        }
        let script = match (&self.accounts, &self.site) {
            (Some(path), _) => {
                Some(library.open_attached(path).map_err(|reason| format!("cannot read {path}: {reason}"))?)
            }
            // A site may have no accounts.
            (None, Some(folder)) => library.open_attached(&format!("{folder}/{SCRIPT}")).ok(),
            (None, None) => None,
        };
        if let Some(script) = script {
            let accounts = SlurmAccounts::of_script(&String::from_utf8_lossy(&script));
            factors.qos_levels = accounts.qos_levels;
            factors.accounts = accounts.accounts;
            factors.users = accounts.users;
        }
        scale_raw_factors(&mut factors, &lines);
        Ok(factors)
    }
}

/// Adds lines, each of which takes the place of those with the same key, and the same name where there is one.
fn add_lines(lines: &mut Vec<ConfLine>, new: Vec<ConfLine>) {
    for line in new {
        let subject = subject_of(&line);
        match lines.iter().position(|old| subject_of(old) == subject) {
            Some(at) => lines[at] = line,
            None => lines.push(line),
        }
    }
}

/// Key of a line, and its name if Slurm has a line per name.
fn subject_of(line: &ConfLine) -> (String, String) {
    let key = line.key().to_lowercase();
    let is_named = ["nodename", "nodeset", "partitionname"].contains(&key.as_str());
    let name = line.part(line.key()).filter(|_| is_named).unwrap_or_default().to_owned();
    (key, name)
}

fn value_of<'l>(lines: &'l [ConfLine], key: &str) -> Option<&'l ConfLine> {
    lines.iter().rev().find(|line| line.has_key(key))
}

/// Reads weights, times, flags and partitions.
fn read_weights(lines: &[ConfLine]) -> Result<Multifactor, String> {
    let mut factors = Multifactor::default();
    for (key, weight) in [
        ("PriorityWeightAge", &mut factors.age),
        ("PriorityWeightFairshare", &mut factors.fair_share),
        ("PriorityWeightJobSize", &mut factors.job_size),
        ("PriorityWeightPartition", &mut factors.partition),
        ("PriorityWeightQOS", &mut factors.qos),
    ] {
        if let Some(line) = value_of(lines, key) {
            *weight = read_count::<u32>(line)?.into();
        }
    }
    for (key, span) in [
        ("PriorityMaxAge", &mut factors.max_age),
        ("PriorityDecayHalfLife", &mut factors.half_life),
        ("PriorityCalcPeriod", &mut factors.calc_period),
    ] {
        if let Some(line) = value_of(lines, key) {
            *span = read_time(line)?;
        }
    }
    if let Some(line) = value_of(lines, "FairShareDampeningFactor") {
        factors.dampening = read_count(line)?;
    }
    let favors_small = value_of(lines, "PriorityFavorSmall").map_or(String::new(), |line| line.value().to_lowercase());
    factors.favor_small = ["yes", "up", "true", "1"].contains(&favors_small.as_str());
    let flags = flags_of(lines);
    factors.relative_to_time = flags.iter().any(|flag| flag == "small_relative_to_time");
    factors.fair_tree = !flags.iter().any(|flag| flag == "no_fair_tree" || flag == "depth_oblivious");
    factors.partitions = read_partitions(lines)?;
    Ok(factors)
}

fn flags_of(lines: &[ConfLine]) -> Vec<String> {
    let text = value_of(lines, "PriorityFlags").map_or("", |line| line.value());
    text.split(',').map(|flag| flag.trim().to_lowercase()).collect()
}

fn read_count<T: FromStr>(line: &ConfLine) -> Result<T, String> {
    let parsed = line.value().parse();
    parsed.map_err(|_| format!("{}: expected {} with a whole number, found {}", line.place(), line.key(), line.value()))
}

fn read_time(line: &ConfLine) -> Result<Span, String> {
    let text = line.value();
    if ["infinite", "unlimited"].contains(&text.to_lowercase().as_str()) {
        return Ok(LONG);
    }
    time_limit(text).ok_or_else(|| format!("{}: expected a time such as 7-0, found {text}", line.place()))
}

/// Factors and tiers of partitions, the default one first.
fn read_partitions(lines: &[ConfLine]) -> Result<Vec<PartitionFactor>, String> {
    let mut usual = (1, 1);
    let mut partitions = Vec::new();
    for line in lines.iter().filter(|line| line.has_key("PartitionName")) {
        let name = line.part("PartitionName").unwrap_or_default().to_owned();
        let (factor, tier) = usual;
        let mut partition = PartitionFactor { name, factor, tier };
        for (key, is_factor, is_tier) in
            [("Priority", true, true), ("PriorityJobFactor", true, false), ("PriorityTier", false, true)]
        {
            let Some(text) = line.part(key) else { continue };
            let Ok(number) = text.parse::<u16>() else {
                return Err(format!("{}: expected {key} with a number up to 65535, found {text}", line.place()));
            };
            let number = number.into();
            if is_factor {
                partition.factor = number;
            }
            if is_tier {
                partition.tier = number;
            }
        }
        if partition.name.eq_ignore_ascii_case("DEFAULT") {
            usual = (partition.factor, partition.tier);
            continue;
        }
        let is_default = line.part("Default").is_some_and(|text| text.eq_ignore_ascii_case("yes"));
        partitions.insert(if is_default { 0 } else { partitions.len() }, partition);
    }
    Ok(partitions)
}

/// Slurm does not divide factors by the largest if a flag says so. A weight that is larger by it has the same effect.
fn scale_raw_factors(factors: &mut Multifactor, lines: &[ConfLine]) {
    let flags = flags_of(lines);
    let are_all_raw = flags.iter().any(|flag| flag == "no_normal_all");
    if are_all_raw || flags.iter().any(|flag| flag == "no_normal_part") {
        let most = factors.partitions.iter().map(|partition| partition.factor).max().unwrap_or(0);
        factors.partition = factors.partition.saturating_mul(most.max(1).into()).min(u32::MAX.into());
    }
    if are_all_raw || flags.iter().any(|flag| flag == "no_normal_qos") {
        let most = factors.qos_levels.iter().map(|level| level.priority).max().unwrap_or(0);
        factors.qos = factors.qos.saturating_mul(most.max(1).into()).min(u32::MAX.into());
    }
}

#[cfg(test)]
mod tests {
    use crate::grid::{Multifactor, Shares};
    use crate::topology::{Override, read_topology};

    const TOPOLOGY: &str = "\
name = \"york\"
[batch]
[[site]]
name = \"york\"
scheduler = \"easy\"
order = \"multifactor\"
slurm = { site = \"york/\", conf = \"extra.conf\" }
multifactor = { age = 7, fair_tree = false }
[[user]]
name = \"all\"
[[workload]]
source = \"table\"
job = [{ tasks = [{ cores = 1, runtime = \"1 s\" }] }]
";
    const CONF: &str = "\
PriorityWeightAge=1000
PriorityWeightFairshare=2000
PriorityWeightQOS=30
PriorityWeightPartition=40
PriorityMaxAge=7-0
PriorityDecayHalfLife=0-4
PriorityCalcPeriod=2
PriorityFavorSmall=YES
PriorityFlags=SMALL_RELATIVE_TO_TIME,NO_NORMAL_QOS
NodeName=n[1-3] CPUs=4
PartitionName=DEFAULT PriorityTier=3
PartitionName=debug Nodes=n1 PriorityJobFactor=50
PartitionName=main Nodes=ALL Default=YES
PartitionName=old Nodes=ALL Priority=9
";
    const ACCOUNTS: &str = "\
add qos high Priority=20 UsageFactor=2
add account lab Fairshare=3
add user ann DefaultAccount=lab fairshare=parent
";

    fn factors(settings: &[&str]) -> Result<Multifactor, String> {
        let files = [
            ("york.toml", TOPOLOGY),
            ("york/slurm.conf", CONF),
            ("york/sacctmgr.script", ACCOUNTS),
            ("extra.conf", "PriorityWeightFairshare=5000\nPartitionName=old Nodes=ALL Priority=8\n"),
            ("change.conf", "PriorityWeightFairshare=6000\n"),
            ("wrong.conf", "PriorityMaxAge=soon\n"),
        ];
        let mut read = |path: &str| {
            let file = files.iter().find(|(name, _)| *name == path);
            file.map(|(_, text)| text.as_bytes().to_vec()).ok_or_else(|| "there is none".to_owned())
        };
        let settings: Vec<Override> = settings.iter().map(|setting| Override::parse(setting).unwrap()).collect();
        let loaded = read_topology("york.toml", &settings, &mut read).map_err(|wrong| wrong.to_string())?;
        let site = &loaded.topology.sites[0];
        assert_eq!(site.cores, 12);
        let text = loaded.topology.to_toml();
        let mut alone = |_: &str| Ok(text.clone().into_bytes());
        let again = read_topology("york.toml", &[], &mut alone).map_err(|wrong| wrong.to_string())?;
        assert_eq!(again.topology, loaded.topology, "the written topology needs no files");
        Ok(*site.multifactor.clone().expect("the site has such an order"))
    }

    #[test]
    fn factors_are_those_of_the_files_unless_they_are_written() {
        let read = factors(&[]).unwrap();
        let Multifactor { age, fair_share, job_size, partition, qos, .. } = read;
        assert_eq!([age, fair_share, job_size, partition, qos], [7, 5000, 0, 40, 600]);
        let hours = [read.max_age, read.half_life, read.calc_period].map(|span| span.micros() / 60_000_000);
        assert_eq!(hours, [7 * 1440, 240, 2]);
        assert_eq!((read.fair_tree, read.favor_small, read.relative_to_time, read.nodes), (false, true, true, 3));
        let partitions: Vec<String> =
            read.partitions.iter().map(|one| format!("{} {} {}", one.name, one.factor, one.tier)).collect();
        assert_eq!(partitions, ["main 1 3", "debug 50 3", "old 8 8"]);
        assert_eq!(read.qos_levels.len(), 2);
        assert_eq!((read.accounts[0].shares, read.users[0].shares), (Shares::Count(3), Shares::Parent));

        assert_eq!(factors(&["site.york.slurm.change=\"change.conf\""]).unwrap().fair_share, 6000);
        assert_eq!(factors(&["site.york.multifactor.fair_share=1"]).unwrap().fair_share, 1);
        let wrong = factors(&["site.york.slurm.change=\"wrong.conf\""]).unwrap_err();
        assert!(wrong.contains("wrong.conf line 1: expected a time such as 7-0, found soon"), "{wrong}");
        let wrong = factors(&["site.york.slurm.accounts=\"none\""]).unwrap_err();
        assert!(wrong.contains("cannot read none: there is none"), "{wrong}");
    }
}
