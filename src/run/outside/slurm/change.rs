//! Lines of a user for a `slurm.conf`: those of a site's file, and those of a change that replace some of them.

use super::conf::line_key;
use hansa_sim::topology::slurm_conf::{ConfLine, conf_lines};

/// Keys of which a conf has a line for each thing with a name.
const NAMED: &[&str] = &["downnodes", "frontendname", "include", "nodename", "nodeset", "partitionname"];

/// The user's lines, each with its origin.
///
/// A line of the change takes the place of the lines of the conf with the same key, or with the same key and name where
/// Slurm has a line per name: order matters to Slurm, as a `PartitionName=DEFAULT` is about the partitions below it. A
/// new line goes to the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserLines {
    pub lines: Vec<UserLine>,
    /// Paths of the conf and of the change, as written.
    paths: [String; 2],
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserLine {
    pub text: String,
    origin: Origin,
    /// Number of the line in its file, from 1.
    pub number: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Conf,
    Change,
}

/// Lines that belong together: one, or several if all but the last end with a backslash.
struct Statement {
    lines: Vec<UserLine>,
    /// Key, and name if it has one. None for comments and empty lines.
    subject: Option<String>,
}

impl UserLines {
    /// Merges the text of a change over that of a conf; either may be empty. O(lines of both * lines of the change).
    pub fn merge(conf: (&str, &str), change: (&str, &str)) -> UserLines {
        let mut statements = read_statements(conf.1, Origin::Conf);
        for new in read_statements(change.1, Origin::Change).into_iter().filter(|new| new.subject.is_some()) {
            let is_alike = |old: &Statement| old.subject == new.subject;
            // Later lines of the change about the same subject follow the first.
            let place = statements
                .iter()
                .rposition(|old| is_alike(old) && old.lines[0].origin != Origin::Conf)
                .map(|last| last + 1);
            let place = place.or_else(|| statements.iter().position(&is_alike)).unwrap_or(statements.len());
            statements.insert(place, new);
            let subject = statements[place].subject.clone();
            statements.retain(|old| old.lines[0].origin == Origin::Change || old.subject != subject);
        }
        let lines = statements.into_iter().flat_map(|statement| statement.lines).collect();
        UserLines { lines, paths: [conf.0.to_owned(), change.0.to_owned()] }
    }

    pub fn path_of(&self, line: &UserLine) -> &str {
        &self.paths[usize::from(line.origin == Origin::Change)]
    }

    /// The lines as those of a site's conf: continued ones are one, and comments are gone.
    pub fn conf_lines(&self) -> Vec<ConfLine> {
        let text: String = self.lines.iter().map(|line| format!("{}\n", line.text)).collect();
        let mut lines = conf_lines("", &text);
        for line in &mut lines {
            let first = &self.lines[line.number - 1];
            self.path_of(first).clone_into(&mut line.file);
            line.number = first.number;
        }
        lines
    }

    /// Location of a line, for a message: `extra.conf line 3`.
    pub fn place_of(&self, line: &UserLine) -> String {
        format!("{} line {}", self.path_of(line), line.number)
    }
}

fn read_statements(text: &str, origin: Origin) -> Vec<Statement> {
    let mut statements: Vec<Statement> = Vec::new();
    let mut is_open = false;
    for (at, line) in text.lines().enumerate() {
        let line = UserLine { text: line.to_owned(), origin, number: at + 1 };
        let continues = line.text.trim_end().ends_with('\\');
        match statements.last_mut().filter(|_| is_open) {
            Some(last) => last.lines.push(line),
            None => {
                let subject = subject_of(&line.text);
                statements.push(Statement { lines: vec![line], subject });
            }
        }
        is_open = continues;
    }
    statements
}

/// The key of a line in lower case, with the name if Slurm has a line per name.
fn subject_of(line: &str) -> Option<String> {
    let key = line_key(line)?;
    let name = key.to_lowercase();
    if !NAMED.contains(&name.as_str()) {
        return Some(name);
    }
    let rest = line.trim_start().strip_prefix(key)?.trim_start();
    let rest = rest.strip_prefix('=').unwrap_or(rest).trim_start();
    Some(format!("{name}={}", rest.split_whitespace().next().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONF: &str = "# ours\nSchedulerParameters=bf_interval=60,\\\n  bf_continue\nPartitionName=DEFAULT Nodes=ALL\n\
                        PartitionName=short MaxTime=60\nPartitionName=long\nPriorityWeightAge=5";

    fn merged(change: &str) -> Vec<String> {
        let lines = UserLines::merge(("a.conf", CONF), ("b.conf", change));
        lines.lines.iter().map(|line| format!("{}: {}", lines.place_of(line), line.text)).collect()
    }

    #[test]
    fn lines_about_the_same_thing_are_replaced_in_place() {
        let change = "# no comment\nschedulerparameters = bf_interval=5\npartitionname=short MaxTime=5 \\\n Default=YES\n\
                      PartitionName=new\nPriorityType=priority/multifactor\n";
        assert_eq!(
            merged(change),
            [
                "a.conf line 1: # ours",
                "b.conf line 2: schedulerparameters = bf_interval=5",
                "a.conf line 4: PartitionName=DEFAULT Nodes=ALL",
                "b.conf line 3: partitionname=short MaxTime=5 \\",
                "b.conf line 4:  Default=YES",
                "a.conf line 6: PartitionName=long",
                "a.conf line 7: PriorityWeightAge=5",
                "b.conf line 5: PartitionName=new",
                "b.conf line 6: PriorityType=priority/multifactor",
            ]
        );
        assert_eq!(merged("").len(), CONF.lines().count());
    }

    #[test]
    fn lines_of_a_change_keep_their_order() {
        let twice = merged("PartitionName=long Nodes=a\nPriorityWeightAge=7\nPartitionName=long Nodes=b");
        assert_eq!(
            twice[4..],
            [
                "a.conf line 5: PartitionName=short MaxTime=60",
                "b.conf line 1: PartitionName=long Nodes=a",
                "b.conf line 3: PartitionName=long Nodes=b",
                "b.conf line 2: PriorityWeightAge=7",
            ]
        );
    }
}
