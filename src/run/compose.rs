//! A topology as a docker-compose file: one container per role, and one that makes the identities first.
//!
//! The containers hold only static binaries, read-only. They run as root, because only root can give results away and
//! so needs no user id, but without root's rights, except to read mounted files and, in the router, to give its files
//! to the owner of the topology file, the person that runs the whole. Each role sees only its own identity, in a volume
//! of its own.
//!
//! The engine restarts a container that ends. The router then readmits a site or a user, and a restarted router
//! continues from the journal of its predecessor (`--go-on`); so does the next `up` after a run that was stopped.
//!
//! The file has no `version` key: it means the same to docker-compose 1.29 and to the `docker compose` plugin.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use super::Failure;
use super::certs::folder_name;
use super::disk::write_named;
use hansa_sim::protocol::handshake::Party;
use hansa_sim::topology::{Roster, Topology};

const IDENTITIES: &str = "/identities";
const TOPOLOGIES: &str = "/topologies";
const OUT: &str = "/out";

/// Inputs of the compose file besides the topology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComposeOptions {
    pub image: String,
    /// The topology file, absolute or as seen from where the compose file will be.
    pub topology: PathBuf,
    /// Flags that every role must be given, such as `--seed 7`.
    pub flags: Vec<String>,
}

/// Writes the compose file of the topology in `file`: to `out`, or to standard output.
pub fn write_compose(
    topology: &Topology,
    file: &Path,
    image: &str,
    flags: &[String],
    out: Option<&Path>,
) -> Result<(), Failure> {
    let home = out.and_then(Path::parent).filter(|home| !home.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let file = find_file(file)?;
    let home = find_file(home)?;
    let seen = file.strip_prefix(&home).map_or(file.clone(), |below| Path::new(".").join(below));
    if seen.to_str().is_none_or(|path| path.contains(':')) {
        return Err(Failure::Input(format!(
            "{} cannot be mounted: its path has a colon or is not UTF-8",
            file.display()
        )));
    }
    let options = ComposeOptions { image: image.to_owned(), topology: seen, flags: flags.to_vec() };
    let text = compose_text(topology, &options);
    match out {
        Some(out) => write_named(out, text),
        None => super::out::always(&text),
    }
}

fn find_file(path: &Path) -> Result<PathBuf, Failure> {
    fs::canonicalize(path).map_err(|error| Failure::Input(format!("cannot find {}: {error}", path.display())))
}

pub fn compose_text(topology: &Topology, options: &ComposeOptions) -> String {
    let mut text = compose_head(topology, options);
    let members = Roster::of_topology(topology).parties();

    text.push_str("\nservices:\n");
    add_certs(&mut text, options, &members);
    add_router(&mut text, topology, options);
    for party in &members {
        add_member(&mut text, options, party);
    }

    text.push_str("\nvolumes:\n");
    for party in std::iter::once(&Party::Router).chain(&members) {
        let _ = writeln!(text, "  {}:", quote_compose(&identity_volume(party)));
    }
    text
}

fn compose_head(topology: &Topology, options: &ComposeOptions) -> String {
    format!(
        "# Written by `hansa compose {}`: one container per role.\n\
         # Build the image once with docker/build (it is in no registry), then:\n\
         #   docker-compose up        (or: docker compose up)\n\
         # Every container ends with the run; results are in ./out/{}. The run's exit code:\n\
         #   docker wait $(docker-compose ps -aq router)\n\
         \n\
         x-role: &role\n\
         \x20 image: {}\n\
         \x20 pull_policy: \"never\"\n\
         \x20 read_only: true\n\
         \x20 cap_drop: [\"ALL\"]\n\
         \x20 # To read a topology that only its owner may read.\n\
         \x20 cap_add: [\"DAC_OVERRIDE\"]\n\
         \x20 security_opt: [\"no-new-privileges:true\"]\n\
         \x20 # For the partial results of a run that is stopped.\n\
         \x20 stop_grace_period: \"60s\"\n\
         \n\
         x-member: &member\n\
         \x20 <<: *role\n\
         \x20 # A member that dies is restarted, and catches up with the run.\n\
         \x20 restart: \"on-failure:3\"\n\
         \x20 depends_on:\n\
         \x20   certs: {{condition: \"service_completed_successfully\"}}\n\
         \x20   router: {{condition: \"service_started\"}}\n",
        options.topology.strip_prefix(".").unwrap_or(&options.topology).display(),
        topology.name,
        quote_compose(&options.image),
    )
}

/// Signs fresh identities for every run, and forgets the key that signed them.
fn add_certs(text: &mut String, options: &ComposeOptions, members: &[Party]) {
    let mut command = vec!["/hansa".to_owned(), "certs".to_owned(), path_in_container(options)];
    command.extend(["--out", IDENTITIES, "--renew"].map(str::to_owned));
    command.extend(options.flags.iter().cloned());
    let identities = std::iter::once(&Party::Router).chain(members);
    let mut volumes = vec![mount_topologies(options)];
    volumes.extend(identities.map(|party| format!("{}:{}", identity_volume(party), identity_path(party))));
    add_service(text, "certs", "role", &command, &volumes);
    text.push_str("    network_mode: \"none\"\n");
}

fn add_router(text: &mut String, topology: &Topology, options: &ComposeOptions) {
    let out = format!("{OUT}/{}", topology.name);
    let mut command = vec!["/hansa-router".to_owned()];
    command.extend([
        "--topology".to_owned(),
        path_in_container(options),
        "--identity".to_owned(),
        identity_path(&Party::Router),
    ]);
    command.extend(["--bind", "0.0.0.0:4433", "--out", &out, "--go-on", "--layout", "containers"].map(str::to_owned));
    // The summary names the folder on the host, relative to this file.
    command.extend(["--shown-out".to_owned(), format!(".{out}")]);
    command.extend(["--owner-of".to_owned(), path_in_container(options)]);
    command.extend(options.flags.iter().cloned());
    let volumes = [mount_topologies(options), mounted_identity(&Party::Router), format!("./out:{OUT}")];
    add_service(text, "router", "role", &command, &volumes);
    text.push_str("    cap_add: [\"CHOWN\", \"DAC_OVERRIDE\"]\n");
    text.push_str("    depends_on:\n      certs: {condition: \"service_completed_successfully\"}\n");
    text.push_str("    restart: \"on-failure:3\"\n");
}

fn add_member(text: &mut String, options: &ComposeOptions, party: &Party) {
    let mut command = vec![format!("/hansa-{}", party.role()), "--topology".to_owned(), path_in_container(options)];
    command.extend(
        ["--name", party.name(), "--identity", &identity_path(party), "--router", "router:4433"].map(str::to_owned),
    );
    command.extend(options.flags.iter().cloned());
    add_service(text, &party.slug(), "member", &command, &[mount_topologies(options), mounted_identity(party)]);
}

fn add_service(text: &mut String, name: &str, like: &str, command: &[String], volumes: &[String]) {
    let separator = if text.ends_with("services:\n") { "" } else { "\n" };
    let _ = write!(
        text,
        "{separator}  {}:\n    <<: *{like}\n    command: [{}]\n",
        quote_compose(name),
        quoted_list(command)
    );
    text.push_str("    volumes:\n");
    for volume in volumes {
        let _ = writeln!(text, "      - {}", quote_compose(volume));
    }
}

fn quoted_list(items: &[String]) -> String {
    items.iter().map(|item| quote_compose(item)).collect::<Vec<_>>().join(", ")
}

fn identity_volume(party: &Party) -> String {
    format!("identity-{}", party.slug())
}

fn identity_path(party: &Party) -> String {
    format!("{IDENTITIES}/{}", folder_name(std::slice::from_ref(party)))
}

fn mounted_identity(party: &Party) -> String {
    format!("{}:{}:ro", identity_volume(party), identity_path(party))
}

/// Mounts the whole folder, because a topology may name files next to it.
fn mount_topologies(options: &ComposeOptions) -> String {
    let folder = options.topology.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // A path without a slash would be taken for the name of a volume.
    let folder =
        if folder.starts_with(".") || folder.is_absolute() { folder.to_owned() } else { Path::new(".").join(folder) };
    format!("{}:{TOPOLOGIES}:ro", folder.display())
}

fn path_in_container(options: &ComposeOptions) -> String {
    let name = options.topology.file_name().unwrap_or_default();
    format!("{TOPOLOGIES}/{}", name.to_string_lossy())
}

/// A string with one meaning in JSON and in YAML. Dollars are doubled, as one would begin a variable.
fn quote_compose(text: &str) -> String {
    serde_json::to_string(text).expect("a string is always JSON").replace('$', "$$")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::golden;
    use crate::story::topology;

    fn options() -> ComposeOptions {
        ComposeOptions {
            image: "hansa".to_owned(),
            topology: PathBuf::from("./topologies/two cities.toml"),
            flags: ["--seed", "7", "--set", "market.policy=$x"].map(str::to_owned).to_vec(),
        }
    }

    #[test]
    fn one_container_a_role() {
        let mut topology = topology();
        // A user may have a site's name.
        topology.users[1].name = "york".to_owned();
        golden("docker-compose.yml", compose_text(&topology, &options()).as_bytes());
    }

    #[test]
    fn paths_are_seen_from_the_compose_file() {
        let scratch = tempfile::TempDir::new().unwrap();
        let file = scratch.path().join("topologies").join("t.toml");
        fs::create_dir(file.parent().unwrap()).unwrap();
        fs::write(&file, "").unwrap();
        let written = |out: &str| {
            let out = scratch.path().join(out);
            write_compose(&topology(), &file, "hansa", &[], Some(&out)).map(|()| fs::read_to_string(&out).unwrap())
        };
        assert!(written("compose.yml").unwrap().contains("- \"./topologies:/topologies:ro\""));
        assert!(written("topologies/compose.yml").unwrap().contains("- \".:/topologies:ro\""));
        fs::create_dir(scratch.path().join("elsewhere")).unwrap();
        let absolute = fs::canonicalize(file.parent().unwrap()).unwrap();
        let mount = format!("- \"{}:/topologies:ro\"", absolute.display());
        assert!(written("elsewhere/compose.yml").unwrap().contains(&mount));
        assert_eq!(written("nowhere/compose.yml").unwrap_err().exit_code(), 2);
    }
}
