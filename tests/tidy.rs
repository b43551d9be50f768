//! House rules of the text, checked on every source file: the wording of comments, their width, and the order of rooms.

use std::fs;
use std::path::{Path, PathBuf};

/// First words that no doc comment has, with a better opening.
const OPENINGS: &[(&str, &str)] = &[
    ("What", "a noun phrase: \"The jobs that ...\", or a verb"),
    ("How", "the quantity: \"Number of ...\", \"Duration of ...\""),
    ("Whether", "\"True if ...\""),
    ("Where", "the place: \"Path of ...\", \"Offset of ...\""),
    ("When", "the time: \"Start of ...\""),
    ("Which", "the thing: \"The site that ...\""),
    ("Who", "the thing: \"The sender of ...\""),
    ("Whoever", "\"Any caller that ...\""),
    ("Whose", "\"Owner of ...\""),
    ("Whom", "\"Receivers of ...\""),
    ("Those", "the noun: \"The tasks that ...\""),
    ("The same", "the noun again: \"Like `f`, for ...\""),
    ("Of", "the head of the phrase: \"The part of ...\""),
    ("For", "a verb: \"Serves ...\", \"Used by ...\""),
    ("By", "a noun: \"Index by ...\""),
    ("From", "a noun: \"Start of ...\""),
];

/// Words that no comment has, with better ones. They stand alone, in lower or upper case.
const WORDS: &[(&str, &str)] = &[
    ("whoever", "any X that"),
    ("whatever", "any, all"),
    ("whom", "that, the receiver"),
    ("somebody", "a caller, a process, a user"),
    ("nobody", "no caller, no process"),
    ("everybody", "all members"),
    ("anybody", "any caller"),
];

/// Nouns that "who" may follow: people, and programs that stand for them. A job, a site or a message is "that".
const PEOPLE: &[&str] = &["user", "users", "reader", "readers", "person", "people", "author", "operator", "those"];

const WIDTH: usize = 120;

#[test]
fn comments_follow_the_rules_of_wording() {
    let mut faults = Vec::new();
    for (path, text) in sources() {
        if path == "tests/tidy.rs" {
            continue;
        }
        let mut before = "";
        for (index, line) in text.lines().enumerate() {
            if let Some(comment) = line.trim_start().strip_prefix("//") {
                let is_first = !before.trim_start().starts_with("//");
                let found = faults_of(comment, is_first).into_iter();
                faults.extend(found.map(|fault| format!("{path}:{}: {fault}", index + 1)));
            }
            before = line;
        }
    }
    assert!(faults.is_empty(), "{} comments break a rule of wording:\n{}", faults.len(), faults.join("\n"));
}

/// Faults of one line of comment, without its first two slashes. `is_first` marks the first line of a comment.
fn faults_of(comment: &str, is_first: bool) -> Vec<String> {
    let mut faults = Vec::new();
    let is_doc = comment.starts_with('/') || comment.starts_with('!');
    let text = comment.trim_start_matches(['/', '!']).trim();
    if is_doc && is_first {
        for (opening, better) in OPENINGS {
            if text.strip_prefix(opening).is_some_and(|rest| rest.starts_with([' ', ','])) {
                faults.push(format!("a doc comment opens with \"{opening}\"; better: {better}"));
            }
        }
    }
    let mut before = "";
    for word in text.split(|c: char| !c.is_alphanumeric() && c != '`' && c != '_').filter(|word| !word.is_empty()) {
        let low = word.to_lowercase();
        if let Some((_, better)) = WORDS.iter().find(|(banned, _)| *banned == low) {
            faults.push(format!("\"{word}\" in a comment; better: {better}"));
        }
        if low == "who" && !PEOPLE.contains(&before) {
            faults.push("\"who\" is for people; better: \"that\", or the noun again".to_string());
        }
        before = word;
    }
    faults
}

#[test]
fn comments_are_at_most_120_columns_wide() {
    let mut wide = Vec::new();
    for (path, text) in sources() {
        for (index, line) in text.lines().enumerate() {
            let trimmed = line.trim_start();
            let is_table = trimmed.trim_start_matches(['/', '!']).trim_start().starts_with('|');
            if trimmed.starts_with("//") && !is_table && line.chars().count() > WIDTH {
                wide.push(format!("{path}:{}", index + 1));
            }
        }
    }
    assert!(wide.is_empty(), "comments wider than {WIDTH} columns; break the line:\n{}", wide.join("\n"));
}

/// A room may use only rooms to its right in the first diagram of ARCHITECTURE.md, so no circle joins two rooms. Tests
/// may use all rooms.
#[test]
fn rooms_use_only_rooms_to_their_right() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let diagram = text.lines().find(|line| line.trim_start().starts_with("bin ─> edge")).expect("a diagram of rooms");
    let floors: Vec<Vec<&str>> = diagram.split("─>").map(|floor| floor.split(',').map(str::trim).collect()).collect();
    let floor = |name: &str| floors.iter().position(|floor| floor.contains(&name));
    let mut broken = Vec::new();
    let is_product = |path: &str| path.starts_with("src/") && path != "src/lib.rs" && !path.contains("tests");
    for (path, text) in sources().into_iter().filter(|(path, _)| is_product(path)) {
        let text = text.split("#[cfg(test)]").next().unwrap();
        let name = room(&path).replacen("src/", "", 1).replace(".rs", "");
        let here = floor(&name).unwrap_or_else(|| panic!("{name} is not in the diagram of ARCHITECTURE.md"));
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            for used in line.split("crate::").skip(1) {
                let used: String = used.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                if used != name && floor(&used).is_some_and(|there| there < here) {
                    broken.push(format!("{path}:{}: {name} uses {used}, which is to its left", index + 1));
                }
            }
        }
    }
    assert!(broken.is_empty(), "move the shared part down to the room that both may use:\n{}", broken.join("\n"));
}

/// The folder or file below the root, or below `src`, that holds `path`.
fn room(path: &str) -> String {
    let depth = if path.starts_with("src/") { 2 } else { 1 };
    path.split('/').take(depth).collect::<Vec<_>>().join("/")
}

/// Every source file with its text, by path from the root, in order.
fn sources() -> Vec<(String, String)> {
    let mut files = vec![root().join("build.rs")];
    for folder in ["src", "bin", "benches", "tests", "fuzz/fuzz_targets"] {
        collect(&root().join(folder), &mut files);
    }
    let name = |path: &PathBuf| path.strip_prefix(root()).unwrap().to_str().unwrap().to_string();
    files.sort();
    files.iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
