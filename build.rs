//! Version text for `--version`: the release, and the commit from `HANSA_COMMIT`, or from git for this folder, or none.

use std::process::Command;

fn main() {
    // Tests try fewer cases in builds that are not optimised.
    println!("cargo:rustc-check-cfg=cfg(unoptimised)");
    if std::env::var("OPT_LEVEL").is_ok_and(|level| level == "0") {
        println!("cargo:rustc-cfg=unoptimised");
    }
    println!("cargo:rerun-if-env-changed=HANSA_COMMIT");
    println!("cargo:rerun-if-changed=src");
    println!("cargo:rerun-if-changed=bin");
    println!("cargo:rerun-if-changed=build.rs");
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
    };
    // A repository that does not track this crate is ignored.
    let is_ours = || git(&["ls-files", "--error-unmatch", "src/sim/lib.rs"]).is_some();
    if let Some(head) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={head}");
    }
    let commit = std::env::var("HANSA_COMMIT").ok().filter(|commit| !commit.is_empty());
    let commit = commit
        .or_else(|| git(&["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]).filter(|_| is_ours()));
    let release = std::env::var("CARGO_PKG_VERSION").expect("cargo says it");
    let version = commit.map_or(release.clone(), |commit| format!("{release} ({commit})"));
    println!("cargo:rustc-env=HANSA_VERSION={version}");
}
