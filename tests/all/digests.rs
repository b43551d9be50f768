//! Recorded digests of everything that is shipped: a change of a result fails here and needs a reason in its commit.
//! `HANSA_GOLDEN=write` records them anew.

use std::path::{Path, PathBuf};

use crate::grid::{Scratch, digest, hansa_ok, text};

const RECORDED: &str = include_str!("digests/recorded.txt");

#[test]
fn results_equal_the_recorded_ones() {
    let scratch = Scratch::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut now = String::new();
    for line in RECORDED.lines() {
        let mut words = line.split(' ').skip(1);
        let topology = words.next().expect("a topology comes after the digest");
        let flags: Vec<&str> = words.collect();
        let out = scratch.path("out");
        let mut arguments: Vec<PathBuf> = ["run", "--inline"].map(PathBuf::from).into();
        arguments.extend([root.join(topology), "--out".into(), out.clone()]);
        arguments.extend(flags.iter().map(PathBuf::from));
        hansa_ok(&arguments);
        let what = std::iter::once(topology).chain(flags).collect::<Vec<_>>().join(" ");
        now.push_str(&format!("{} {what}\n", digest(&out)));
    }
    if std::env::var("HANSA_GOLDEN").is_ok_and(|word| word == "write") {
        std::fs::write(root.join("tests/all/digests/recorded.txt"), &now).unwrap();
    }
    let changed: Vec<_> = RECORDED.lines().zip(now.lines()).filter(|(before, after)| before != after).collect();
    assert!(changed.is_empty(), "recorded, and what came out:\n{changed:#?}");
}

/// New users compare the output of the first command with the README.
#[test]
fn the_readme_shows_what_the_first_command_prints() {
    let scratch = Scratch::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let topology = root.join("topologies/quickstart.toml");
    let ran = hansa_ok(&["run".into(), "--inline".into(), topology, "--out".into(), scratch.path("out")]);
    let printed = text(&ran.stdout);
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let (shown, _) = readme.split_once("```text\n").unwrap().1.split_once("\n```").unwrap();
    for line in shown.lines().filter(|line| *line != "..." && !line.starts_with("results in")) {
        assert!(printed.lines().any(|printed| printed == line), "{line:?} is not in {printed}");
    }
}
