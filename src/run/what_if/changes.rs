//! Files of changes: lines for a site's `slurm.conf`, or settings of a topology.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::super::Failure;
use super::super::input::{load_topology, read_plain, unreadable_reason};
use super::super::outside::{self, Stop};
use super::BASELINE;
use hansa_report::experiment::answer::ChangeFacts;
use hansa_report::experiment::read_change;
use hansa_sim::near::nearest_name;
use hansa_sim::settings::quote_text;
use hansa_sim::topology::{Loaded, Override};

/// A change of a topology under a name.
pub struct Change {
    /// Its name in tables: that of its file without the ending, unless two files have it.
    pub name: String,
    /// Path as typed.
    pub path: String,
    pub about: Option<String>,
    pub kind: ChangeKind,
    pub settings: Vec<Override>,
    /// Settings, or lines that it removes and adds.
    pub lines: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// Settings of the topology that it replaces.
    Settings,
    /// Lines for the `slurm.conf` of the site with this index.
    Conf(usize),
    /// Accounts of the site with this index.
    Accounts(usize),
}

/// A change as typed: a file, and the site that it is for, if it is named.
struct TypedChange<'a> {
    typed: &'a str,
    site: Option<usize>,
    path: &'a str,
    bytes: Vec<u8>,
}

impl Change {
    pub fn into_facts(self) -> ChangeFacts {
        ChangeFacts { name: self.name, file: self.path, about: self.about, lines: self.lines }
    }
}

/// Reads all changes, and checks that each of them changes something and no two are the same.
pub fn read_changes(loaded: &Loaded, overrides: &[Override], typed: &[String]) -> Result<Vec<Change>, Failure> {
    let files: Vec<TypedChange<'_>> =
        typed.iter().map(|typed| TypedChange::read(typed, loaded)).collect::<Result<_, _>>()?;
    for (at, one) in files.iter().enumerate() {
        if let Some(same) = files[..at].iter().find(|other| other.bytes == one.bytes && other.site == one.site) {
            return Err(Failure::Input(match same.typed == one.typed {
                true => format!("--change {}: this change is given twice", one.typed),
                false => format!("--change {} and --change {}: they have the same content", same.typed, one.typed),
            }));
        }
    }
    let names = change_names(&files);
    files.iter().zip(names).map(|(file, name)| file.read_change(name, loaded, overrides)).collect()
}

/// Names of changes: the stem of each file, or the whole path where two have one stem.
fn change_names(files: &[TypedChange<'_>]) -> Vec<String> {
    let stems: Vec<String> = files.iter().map(TypedChange::stem).collect();
    let mut names = Vec::new();
    for (file, stem) in files.iter().zip(&stems) {
        let is_unique = stems.iter().filter(|other| *other == stem).count() == 1;
        names.push(if is_unique && stem != BASELINE { stem.clone() } else { file.typed.to_owned() });
    }
    names
}

impl<'a> TypedChange<'a> {
    fn read(typed: &'a str, loaded: &Loaded) -> Result<TypedChange<'a>, Failure> {
        let (site, path) = split_site(typed, loaded)?;
        let bytes = read_plain(Path::new(path)).map_err(|error| {
            Failure::Input(format!("--change {typed}: cannot read {path}: {}", unreadable_reason(path, &error)))
        })?;
        Ok(TypedChange { typed, site, path, bytes })
    }

    fn stem(&self) -> String {
        let stem = Path::new(self.path).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        stem.unwrap_or_else(|| self.path.to_owned())
    }

    fn fault(&self, text: &str) -> Failure {
        Failure::Input(format!("{}: {text}", self.path))
    }

    fn read_change(&self, name: String, loaded: &Loaded, overrides: &[Override]) -> Result<Change, Failure> {
        let Ok(text) = std::str::from_utf8(&self.bytes) else { return Err(self.fault("it is no text")) };
        match self.detect_kind(text)? {
            Recognised::Settings => self.read_settings(name, loaded, overrides),
            Recognised::Conf => self.read_conf(name, text, loaded, overrides),
            Recognised::Accounts => self.read_accounts(name, text, loaded, overrides),
        }
    }

    /// Detects the kind of a file by the ending of its name, or else by its first line.
    fn detect_kind(&self, text: &str) -> Result<Recognised, Failure> {
        let mut lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
        let first = lines.find(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let Some((_, line)) = first else { return Err(self.fault("it has no line that could change anything")) };
        let ending = Path::new(self.path).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        if ending.eq_ignore_ascii_case("toml") || line == "[set]" || line.starts_with("set.") {
            return Ok(Recognised::Settings);
        }
        if is_sacctmgr(line) {
            return Ok(Recognised::Accounts);
        }
        check_conf_lines(text).map_err(|(number, line)| {
            let line: String = line.chars().take(60).collect();
            self.fault(&format!(
                "line {number}: expected lines for slurm.conf (Key=Value), or a TOML file with a [set] table, found: {}",
                line.escape_debug()
            ))
        })?;
        Ok(Recognised::Conf)
    }

    fn read_settings(&self, name: String, loaded: &Loaded, overrides: &[Override]) -> Result<Change, Failure> {
        if self.site.is_some() {
            return Err(Failure::Input(format!(
                "--change {}: leave the site out: the keys of a TOML file name their sites",
                self.typed
            )));
        }
        let written =
            read_change(self.path, &mut |path| read_plain(Path::new(path)).map_err(|error| error.to_string()))
                .map_err(|diagnostics| Failure::Input(diagnostics.to_string()))?;
        let changed = load_changed(loaded, overrides, &written.settings)?;
        if changed.topology.hash() == loaded.topology.hash() {
            return Err(self.fault(&format!("it changes nothing: {} has these settings already", loaded.path())));
        }
        let line = |setting: &Override| {
            let (key, value) = setting.parts();
            format!("{key} = {value}")
        };
        let lines = written.settings.iter().map(line).collect();
        let path = self.path.to_owned();
        Ok(Change { name, path, about: written.about, kind: ChangeKind::Settings, settings: written.settings, lines })
    }

    fn read_conf(&self, name: String, text: &str, loaded: &Loaded, overrides: &[Override]) -> Result<Change, Failure> {
        let site = self.slurm_site(loaded, "lines for slurm.conf")?;
        let described = &loaded.topology.sites[site];
        if !described.program.slurm.change.is_empty() {
            return Err(Failure::Input(format!(
                "{}: site.{} has a slurm.change already, which --change would replace: move its lines to slurm.conf",
                loaded.path(),
                described.name
            )));
        }
        let path = path_for_site(self.path, loaded.path());
        let setting = format!("site.{}.slurm.change={}", described.name, quote_text(&path));
        let settings = vec![Override::parse(&setting).map_err(|error| Failure::Internal(error.to_string()))?];
        let changed = load_changed(loaded, overrides, &settings)?;
        let before = outside::slurm_conf(&loaded.topology, site, loaded.path())?;
        let after = outside::slurm_conf(&changed.topology, site, loaded.path())?;
        let lines = changed_lines(&before, &after);
        if lines.is_empty() {
            return Err(self
                .fault(&format!("it changes nothing: the slurm.conf of {} has these lines already", described.name)));
        }
        let about = leading_comment(text);
        Ok(Change { name, path: self.path.to_owned(), about, kind: ChangeKind::Conf(site), settings, lines })
    }

    /// A script of `sacctmgr` that takes the place of that of a site.
    fn read_accounts(
        &self,
        name: String,
        text: &str,
        loaded: &Loaded,
        overrides: &[Override],
    ) -> Result<Change, Failure> {
        let site = self.slurm_site(loaded, "accounts of sacctmgr")?;
        let described = &loaded.topology.sites[site];
        let Some(before) = outside::slurm_accounts(&loaded.topology, site, loaded.path())? else {
            return Err(self.fault(&format!(
                "it has accounts of sacctmgr, but the Slurm of {} has none: they need a folder with the site's own files \
                 (slurm.site) and a script of its accounts",
                described.name
            )));
        };
        let lines = changed_lines(&before, text);
        if lines.is_empty() {
            return Err(
                self.fault(&format!("it changes nothing: the accounts of {} have these lines already", described.name))
            );
        }
        let path = path_for_site(self.path, loaded.path());
        let setting = format!("site.{}.slurm.accounts={}", described.name, quote_text(&path));
        let settings = vec![Override::parse(&setting).map_err(|error| Failure::Internal(error.to_string()))?];
        load_changed(loaded, overrides, &settings)?;
        let about = leading_comment(text);
        Ok(Change { name, path: self.path.to_owned(), about, kind: ChangeKind::Accounts(site), settings, lines })
    }

    /// The site whose Slurm is changed by a file with such content.
    fn slurm_site(&self, loaded: &Loaded, content: &str) -> Result<usize, Failure> {
        let sites = outside::slurm_sites(&loaded.topology);
        let name = |site: &usize| loaded.topology.sites[*site].name.as_str();
        match (self.site, &sites[..]) {
            (Some(site), _) if sites.contains(&site) => Ok(site),
            (Some(site), _) => {
                Err(self
                    .fault(&format!("it has {content}, but no Slurm manages {} (scheduler = \"slurm\")", name(&site))))
            }
            (None, [site]) => Ok(*site),
            (None, []) => Err(self.fault(&format!(
                "it has {content}, but no Slurm manages a site of {} (scheduler = \"slurm\")",
                loaded.path()
            ))),
            (None, sites) => Err(self.fault(&format!(
                "several sites have a Slurm: expected --change SITE={}, with one of {}",
                self.path,
                sites.iter().map(name).collect::<Vec<_>>().join(", ")
            ))),
        }
    }
}

enum Recognised {
    Settings,
    Conf,
    Accounts,
}

/// Splits `SITE=FILE`, unless there is a file of this name.
fn split_site<'a>(typed: &'a str, loaded: &Loaded) -> Result<(Option<usize>, &'a str), Failure> {
    let Some((name, path)) = typed.split_once('=').filter(|_| !Path::new(typed).exists()) else {
        return Ok((None, typed));
    };
    let sites = &loaded.topology.sites;
    match sites.iter().position(|site| site.name == name) {
        Some(site) => Ok((Some(site), path)),
        None => {
            let near = nearest_name(name, sites.iter().map(|site| site.name.as_str()));
            let near = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
            Err(Failure::Input(format!("--change {typed}: {} has no site {name}{near}", loaded.path())))
        }
    }
}

/// The topology with a change.
fn load_changed(loaded: &Loaded, overrides: &[Override], settings: &[Override]) -> Result<Loaded, Failure> {
    load_topology(loaded.path(), &[overrides, settings].concat())
}

/// A path of the current folder as a site's key, which is relative to the folder of the topology.
fn path_for_site(path: &str, topology: &str) -> String {
    let folder = Path::new(topology).parent().unwrap_or(Path::new(""));
    let below = Path::new(path).strip_prefix(folder).map(Path::to_path_buf);
    let path = below.or_else(|_| fs::canonicalize(path)).unwrap_or_else(|_| path.into());
    path.to_string_lossy().into_owned()
}

/// First words of the commands of `sacctmgr`, and of the lines of its dumps.
const COMMANDS: &[&str] = &["add", "archive", "create", "delete", "modify", "remove", "sacctmgr"];
const ENTITIES: &[&str] = &["Account", "Cluster", "Parent", "QOS", "User"];

fn is_sacctmgr(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let first = words.next().unwrap_or_default();
    let is_command = COMMANDS.iter().any(|command| first.eq_ignore_ascii_case(command));
    is_command || ENTITIES.contains(&first) && words.next() == Some("-")
}

/// Checks that all lines have the form of lines for `slurm.conf`; Slurm itself knows their keys. The first other line
/// is returned with its number.
fn check_conf_lines(text: &str) -> Result<(), (usize, &str)> {
    let mut continues = false;
    for (at, line) in text.lines().enumerate() {
        let content = line.split('#').next().unwrap_or_default().trim();
        let is_include = content.split_whitespace().next().is_some_and(|key| key.eq_ignore_ascii_case("include"));
        let has_key = content.split_once('=').is_some_and(|(key, _)| {
            let key = key.trim();
            !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        });
        if !(continues || content.is_empty() || is_include || has_key) {
            return Err((at + 1, line));
        }
        continues = content.ends_with('\\');
    }
    Ok(())
}

/// Lines that one text has and the other has not, with a sign, in order: first those that are gone.
fn changed_lines(before: &str, after: &str) -> Vec<String> {
    let mut lines = lines_without(before, after, '-');
    lines.extend(lines_without(after, before, '+'));
    lines
}

/// Lines of a text that another one has not, with a sign; without comments.
fn lines_without(text: &str, other: &str, sign: char) -> Vec<String> {
    let others: BTreeSet<&str> = other.lines().map(str::trim).collect();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.filter(|line| !others.contains(line)).map(|line| format!("{sign} {line}")).collect()
}

/// The comment at the start of a file, without signs. None if there is none.
fn leading_comment(text: &str) -> Option<String> {
    let lines = text.lines().take_while(|line| line.starts_with('#'));
    let words = lines.map(|line| line.trim_start_matches('#').trim()).collect::<Vec<_>>().join(" ");
    Some(words.trim().trim_end_matches('.').to_owned()).filter(|words| !words.is_empty())
}

/// Starts and ends the Slurm of a site with a change of its `slurm.conf` or accounts, so that lines which it does not
/// take are refused before any run.
pub fn check_conf_starts(change: &Change, loaded: &Loaded, overrides: &[Override], stop: &Stop) -> Result<(), Failure> {
    let (ChangeKind::Conf(site) | ChangeKind::Accounts(site)) = change.kind else { return Ok(()) };
    let changed = load_changed(loaded, overrides, &change.settings)?;
    let known_as = format!(" {} line ", path_for_site(&change.path, loaded.path()));
    match outside::try_slurm(&changed.topology, site, loaded.path(), stop) {
        // It is about a line of the change, which the user knows by the path that they typed.
        Err(Failure::Program(text)) if text.contains(&known_as) => {
            Err(Failure::Input(text.replace(&known_as, &format!(" {} line ", change.path))))
        }
        tried => tried,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_changes_are_relative_to_the_topology() {
        for (typed, topology, expected) in [
            ("a.conf", "x.toml", "a.conf"),
            ("/tmp/a.conf", "x.toml", "/tmp/a.conf"),
            ("sites/ub/a.script", "sites/ub.toml", "ub/a.script"),
            ("/etc/passwd", "sites/ub.toml", "/etc/passwd"),
            ("no-such.conf", "sites/ub.toml", "no-such.conf"),
        ] {
            assert_eq!(path_for_site(typed, topology), expected, "{typed} {topology}");
        }
        let absolute = path_for_site("Cargo.toml", "sites/ub.toml");
        assert!(absolute.starts_with('/') && absolute.ends_with("/Cargo.toml"), "{absolute}");
    }

    #[test]
    fn forms_of_lines_are_recognised() {
        assert_eq!(
            check_conf_lines("# a\n\nSchedulerParameters=a,\\\n  b\nInclude x.conf # y\nPartitionName=a B=c"),
            Ok(())
        );
        assert_eq!(check_conf_lines("A=1\nhello world"), Err((2, "hello world")));
        assert_eq!(check_conf_lines("my key=1"), Err((1, "my key=1")));
        assert!(is_sacctmgr("modify qos set priority=5") && is_sacctmgr("Cluster - 'hansa':Fairshare=1"));
        assert!(!is_sacctmgr("PartitionName=add Nodes=ALL") && !is_sacctmgr("QOS = 1"));
    }

    #[test]
    fn changed_lines_are_those_of_one_side() {
        let lines = changed_lines("A=1\nB=2\n# x\nC=3", "A=1\nC=4\n# y\nD=5");
        assert_eq!(lines, ["- B=2", "- C=3", "+ C=4", "+ D=5"]);
        assert!(changed_lines("A=1\n", "# comment\n  A=1\n").is_empty());
        assert_eq!(leading_comment("# One line,\n# and more.\nA=1\n# no").as_deref(), Some("One line, and more"));
    }
}
