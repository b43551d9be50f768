//! One container per role: the shipped compose file is what `hansa compose` writes, and running it gives the digest of
//! every other layout, with results that belong to the owner of the topology.

use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::grid::{HANSA, Scratch, digest, hansa_ok, shipped, text};
use crate::skip::skip;

/// Image that the test builds, unless this variable of the environment names one of this commit.
const IMAGE: &str = "hansa-test";
const GIVEN_IMAGE: &str = "HANSA_IMAGE";

#[test]
fn the_shipped_compose_file_is_what_compose_writes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let written =
        Command::new(HANSA).args(["compose", "topologies/quickstart.toml"]).current_dir(root).output().unwrap();
    let shipped = std::fs::read_to_string(root.join("docker-compose.yml")).unwrap();
    assert_eq!(text(&written.stdout), shipped, "refresh it with: hansa compose … --out docker-compose.yml");
}

/// Topologies in which the router decides, or users and sites negotiate through it, or both, and one in which ends can
/// move, so that all processes wait for them.
#[test]
fn containers_give_the_same_digest() {
    let Some(compose) = engine() else {
        return skip("no Docker engine with compose answers here");
    };
    let image = std::env::var(GIVEN_IMAGE).unwrap_or_else(|_| build_image());
    for name in ["quickstart", "one-grid", "one-site", "provisioning", "stale-quotes", "dfrs"] {
        containers_agree_with_inline(&compose, &image, name);
    }
}

fn containers_agree_with_inline(compose: &[&'static str], image: &str, name: &str) {
    let scratch = Scratch::new();
    let file_name = format!("{name}.toml");
    let topology = scratch.file(&file_name, &std::fs::read_to_string(shipped(&file_name)).unwrap());
    let owner = if std::fs::metadata(&topology).unwrap().uid() == 0 { 12_345 } else { 0 };
    if owner != 0 {
        chown(&topology, Some(owner), Some(owner)).unwrap();
    }
    let file = scratch.path("compose.yml");
    hansa_ok(&[
        "compose".as_ref(),
        topology.as_os_str(),
        "--image".as_ref(),
        image.as_ref(),
        "--out".as_ref(),
        file.as_os_str(),
    ]);

    let project = format!("hansa-test-{}-{name}", std::process::id());
    let grid = Grid { compose: compose.to_vec(), project, file: &file };
    let up = grid.compose(&["up"]);
    assert!(up.status.success(), "{name}: {}{}", text(&up.stdout), text(&up.stderr));
    let router = text(&grid.compose(&["ps", "-aq", "router"]).stdout);
    let waited = Command::new("docker").args(["wait", router.trim()]).output().unwrap();
    assert_eq!(text(&waited.stdout).trim(), "0", "{name}: {}", text(&up.stdout));

    let out = scratch.path("out").join(name);
    let inline = scratch.path("inline");
    hansa_ok(&["run".as_ref(), topology.as_os_str(), "--inline".as_ref(), "--out".as_ref(), inline.as_os_str()]);
    assert_eq!(digest(&out), digest(&inline), "{name}");
    if owner != 0 {
        for path in [scratch.path("out"), out.clone(), out.join("summary.json"), out.join("events.jsonl")] {
            assert_eq!(std::fs::metadata(&path).unwrap().uid(), owner, "{}", path.display());
        }
    }
}

/// Command for compose, if it is installed and an engine answers.
fn engine() -> Option<Vec<&'static str>> {
    let works = |command: &[&str]| {
        let mut call = Command::new(command[0]);
        let call = call.args(&command[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        call.status().is_ok_and(|status| status.success())
    };
    if !works(&["docker", "version"]) {
        return None;
    }
    let all = [vec!["docker", "compose"], vec!["docker-compose"]];
    all.into_iter().find(|compose| works(&[&compose[..], &["version"]].concat()))
}

/// Builds the image as documented, but without optimisation: quicker to build, slower to run. Returns its name.
fn build_image() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let built = Command::new(root.join("docker/build"))
        .env("IMAGE", IMAGE)
        .env("CARGO_TARGET_DIR", root.join("target/containers"))
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0")
        .env("CARGO_PROFILE_RELEASE_DEBUG", "0")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", text(&built.stderr));
    IMAGE.to_string()
}

/// A composed grid, taken down when the test is over.
struct Grid<'a> {
    compose: Vec<&'static str>,
    project: String,
    file: &'a Path,
}

impl Grid<'_> {
    fn compose(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(self.compose[0]);
        command.args(&self.compose[1..]).args(["-p", &self.project, "-f"]).arg(self.file).args(arguments);
        command.stdin(Stdio::null()).output().unwrap()
    }
}

impl Drop for Grid<'_> {
    fn drop(&mut self) {
        self.compose(&["down", "--volumes"]);
    }
}
