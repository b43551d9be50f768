//! The `slurm.conf` of a site: its lines with those that it includes, and the nodes that they describe.

use crate::topology::path_beside;

/// A line of a conf with its place. Continued lines are one, and comments are gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfLine {
    pub file: String,
    /// Number of its first line, from 1.
    pub number: usize,
    pub text: String,
}

/// Nodes of one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeGroup {
    pub names: Vec<String>,
    pub cpus: u32,
    /// Devices, as the line has them: `gpu:v100:2`; empty if there are none.
    pub gres: String,
}

const INCLUDES_MAX: usize = 16;
/// Largest number of nodes in a list; longer lists are taken for errors.
const HOSTS_MAX: usize = 1 << 16;

impl ConfLine {
    /// Key at the begin of the line.
    pub fn key(&self) -> &str {
        self.text.split(|c: char| c == '=' || c.is_whitespace()).next().unwrap_or_default()
    }

    pub fn has_key(&self, key: &str) -> bool {
        self.key().eq_ignore_ascii_case(key)
    }

    /// Value of a line with one key.
    pub fn value(&self) -> &str {
        let rest = self.text[self.key().len()..].trim_start();
        rest.strip_prefix('=').unwrap_or(rest).trim().trim_matches('"')
    }

    /// Keys and values of a line with several.
    pub fn parts(&self) -> Vec<(&str, &str)> {
        self.text.split_whitespace().filter_map(|part| part.split_once('=')).collect()
    }

    /// Value of a key of a line with several.
    pub fn part(&self, key: &str) -> Option<&str> {
        self.parts().into_iter().rev().find(|(other, _)| other.eq_ignore_ascii_case(key)).map(|(_, value)| value)
    }

    pub fn place(&self) -> String {
        format!("{} line {}", self.file, self.number)
    }
}

/// Lines of the conf at `path`, with those of included files in their places. An included file must be in the folder of
/// the conf, as the author of a topology must not read other files of the person that runs it.
pub fn read_conf(path: &str, read: &mut dyn FnMut(&str) -> Result<Vec<u8>, String>) -> Result<Vec<ConfLine>, String> {
    let mut lines = Vec::new();
    read_into(path, path, 0, read, &mut lines)?;
    Ok(lines)
}

fn read_into(
    path: &str,
    root: &str,
    depth: usize,
    read: &mut dyn FnMut(&str) -> Result<Vec<u8>, String>,
    lines: &mut Vec<ConfLine>,
) -> Result<(), String> {
    let bytes = read(path).map_err(|reason| format!("cannot read {path}: {reason}"))?;
    for line in conf_lines(path, &String::from_utf8_lossy(&bytes)) {
        if !line.has_key("include") {
            lines.push(line);
            continue;
        }
        let name = line.value();
        if name.starts_with('/') || name.split('/').any(|part| part == "..") {
            return Err(format!("{}: expected a file in the folder of {root}, found {name}", line.place()));
        }
        if depth >= INCLUDES_MAX {
            return Err(format!("{}: expected at most {INCLUDES_MAX} files that include one another", line.place()));
        }
        read_into(&path_beside(root, name), root, depth + 1, read, lines)
            .map_err(|wrong| if wrong.contains(" line ") { wrong } else { format!("{}: {wrong}", line.place()) })?;
    }
    Ok(())
}

/// Lines of one file. A text is that of a line without its comment; a backslash at the end continues it.
pub fn conf_lines(path: &str, text: &str) -> Vec<ConfLine> {
    let mut lines: Vec<ConfLine> = Vec::new();
    let mut open: Option<ConfLine> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim_end();
        let (line, goes_on) = match line.strip_suffix('\\') {
            Some(line) => (line, true),
            None => (line, false),
        };
        let whole = open.get_or_insert_with(|| ConfLine { file: path.to_owned(), number, text: String::new() });
        whole.text.push_str(line);
        if !goes_on {
            lines.extend(open.take());
        }
    }
    lines.extend(open);
    lines.iter_mut().for_each(|line| line.text = line.text.trim().to_owned());
    lines.retain(|line| !line.text.is_empty());
    lines
}

/// The nodes of a conf, group by group. `NodeName=DEFAULT` lines are defaults of the lines behind them.
pub fn list_nodes(lines: &[ConfLine]) -> Result<Vec<NodeGroup>, String> {
    let mut usual = NodeFacts::default();
    let mut groups = Vec::new();
    for line in lines.iter().filter(|line| line.has_key("NodeName")) {
        let name = line.part("NodeName").unwrap_or_default();
        let mut facts = usual.clone();
        facts.read(line)?;
        if name.eq_ignore_ascii_case("DEFAULT") {
            usual = facts;
            continue;
        }
        let names =
            expand_hosts(name).ok_or_else(|| format!("{}: expected names of nodes, found {name}", line.place()))?;
        let cpus = facts.cpus().ok_or_else(|| format!("{}: expected a smaller number of CPUs", line.place()))?;
        groups.push(NodeGroup { names, cpus, gres: facts.gres });
    }
    let mut names: Vec<&String> = groups.iter().flat_map(|group| &group.names).collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("node {} is there twice", twice[0]));
    }
    Ok(groups)
}

/// Sum of the CPUs of all nodes. None if that is more than can be counted.
pub fn count_cpus(groups: &[NodeGroup]) -> Option<u32> {
    groups
        .iter()
        .try_fold(0u32, |sum, group| sum.checked_add(group.cpus.checked_mul(u32::try_from(group.names.len()).ok()?)?))
}

#[derive(Clone, Debug, Default)]
struct NodeFacts {
    cpus: Option<u32>,
    boards: Option<u32>,
    sockets: Option<u32>,
    sockets_per_board: Option<u32>,
    cores: Option<u32>,
    threads: Option<u32>,
    gres: String,
}

impl NodeFacts {
    fn read(&mut self, line: &ConfLine) -> Result<(), String> {
        for (key, value) in line.parts() {
            let fact = match key.to_ascii_lowercase().as_str() {
                "cpus" | "procs" => &mut self.cpus,
                "boards" => &mut self.boards,
                "sockets" => &mut self.sockets,
                "socketsperboard" => &mut self.sockets_per_board,
                "corespersocket" => &mut self.cores,
                "threadspercore" => &mut self.threads,
                "gres" => {
                    self.gres = value.to_owned();
                    continue;
                }
                _ => continue,
            };
            let count = value.parse().ok().filter(|count: &u32| *count > 0);
            let wrong = || format!("{}: expected {key} with a number from 1 on, found {value}", line.place());
            *fact = Some(count.ok_or_else(wrong)?);
        }
        Ok(())
    }

    fn cpus(&self) -> Option<u32> {
        let sockets = match (self.sockets, self.sockets_per_board) {
            (Some(sockets), _) => sockets,
            (None, Some(each)) => each.checked_mul(self.boards.unwrap_or(1))?,
            (None, None) => 1,
        };
        let product = sockets.checked_mul(self.cores.unwrap_or(1))?.checked_mul(self.threads.unwrap_or(1))?;
        Some(self.cpus.unwrap_or(product))
    }
}

/// Names of a list as Slurm writes it: `n[01-03,7],g1`. None if it is no such list.
pub fn expand_hosts(list: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for part in split_outside_brackets(list) {
        let Some((prefix, rest)) = part.split_once('[') else {
            if part.is_empty() || part.contains(']') {
                return None;
            }
            names.push(part.to_owned());
            continue;
        };
        let (ranges, suffix) = rest.split_once(']')?;
        if suffix.contains(['[', ']']) {
            return None;
        }
        for range in ranges.split(',') {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let width = first.len();
            let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            if !is_number(first) || !is_number(last) {
                return None;
            }
            let first: usize = first.parse().ok()?;
            let last: usize = last.parse().ok()?;
            if last < first || last - first >= HOSTS_MAX || names.len() >= HOSTS_MAX {
                return None;
            }
            names.extend((first..=last).map(|number| format!("{prefix}{number:0width$}{suffix}")));
        }
    }
    Some(names)
}

fn split_outside_brackets(list: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut begin = 0;
    let mut depth = 0;
    for (at, c) in list.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&list[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[begin..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_nodes_are_expanded() {
        let names = |list: &str| expand_hosts(list).map(|names| names.join(" "));
        assert_eq!(names("n[08-10,3],g1"), Some("n08 n09 n10 n3 g1".to_owned()));
        assert_eq!(names("a[1-2]-x"), Some("a1-x a2-x".to_owned()));
        for wrong in ["", "n[", "n]", "n[1-]", "n[2-1]", "n[0-99999999]", "n[1][2]", "a,,b"] {
            assert_eq!(names(wrong), None, "{wrong}");
        }
    }

    const CONF: &str = "\
ClusterName=x # the name
Include nodes.conf
SchedulerParameters=bf_interval=5,\\
bf_continue
";
    const NODES: &str = "\
NodeName=DEFAULT Sockets=2 CoresPerSocket=4
NodeName=n[1-3] Feature=a
NodeName=DEFAULT ThreadsPerCore=2 Gres=gpu:2
NodeName=g1
NodeName=b1 CPUs=6 Gres=
";

    fn read(files: &[(&str, &str)]) -> Result<Vec<ConfLine>, String> {
        read_conf("site/slurm.conf", &mut |path| {
            let file = files.iter().find(|(name, _)| *name == path);
            file.map(|(_, text)| text.as_bytes().to_vec()).ok_or_else(|| "there is none".to_owned())
        })
    }

    #[test]
    fn lines_are_those_of_all_files_and_nodes_have_defaults() {
        let lines = read(&[("site/slurm.conf", CONF), ("site/nodes.conf", NODES)]).unwrap();
        assert_eq!((lines[0].value(), lines[0].place()), ("x", "site/slurm.conf line 1".to_owned()));
        let last = lines.last().unwrap();
        assert_eq!((last.value(), last.number), ("bf_interval=5,bf_continue", 3));
        let groups = list_nodes(&lines).unwrap();
        let shown: Vec<String> =
            groups.iter().map(|group| format!("{} {} {}", group.names.join(","), group.cpus, group.gres)).collect();
        assert_eq!(shown, ["n1,n2,n3 8 ", "g1 16 gpu:2", "b1 6 "]);
        assert_eq!(count_cpus(&groups), Some(46));
    }

    #[test]
    fn faults_are_named_with_their_places() {
        let fault = |conf: &str| {
            let lines = read(&[("site/slurm.conf", conf), ("site/loop.conf", "include loop.conf")]);
            lines.and_then(|lines| list_nodes(&lines)).unwrap_err()
        };
        for (conf, expected) in [
            (
                "\nInclude /etc/passwd",
                "site/slurm.conf line 2: expected a file in the folder of site/slurm.conf, found /etc/passwd",
            ),
            ("include ../x", "site/slurm.conf line 1: expected a file in the folder of site/slurm.conf, found ../x"),
            ("include no.conf", "site/slurm.conf line 1: cannot read site/no.conf: there is none"),
            ("include loop.conf", "site/loop.conf line 1: expected at most 16 files that include one another"),
            ("NodeName=n1 CPUs=0", "site/slurm.conf line 1: expected CPUs with a number from 1 on, found 0"),
            ("NodeName=n[1-", "site/slurm.conf line 1: expected names of nodes, found n[1-"),
            ("NodeName=n1\nNodeName=n[1-2]", "node n1 is there twice"),
        ] {
            assert_eq!(fault(conf), expected);
        }
    }
}
