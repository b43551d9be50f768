//! One machine per process, as far as one machine can show it: every process in a network namespace of its own, behind
//! a slow link that loses a tenth of all packets. The digest is that of every layout. `weather.rs` tests the same where
//! the kernel does not support this.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::grid::{HANSA, Process, ROUTER, SITE, Scratch, USER, digest, hansa_ok, text};
use crate::skip::skip;

pub const FAR: &str = "name = \"far\"\nseed = 5\n[market]\npolicy = \"fifo\"\n\
    [[site]]\nname = \"york\"\ncores = 40\nkind = \"Kind1\"\nlatency = \"20 ms\"\n\
    [[site]]\nname = \"durham\"\ncores = 40\nkind = \"Kind1\"\n\
    [[site]]\nname = \"leeds\"\ncores = 40\nkind = \"Kind2\"\nlatency = \"5 ms\"\n\
    [[user]]\nname = \"alice\"\nlatency = \"1 ms\"\n[[user]]\nname = \"bob\"\n\
    [[workload]]\nsource = \"market\"\njobs = 30\ncores_max = 20\ntotal_runtime = [\"10 min\", \"2000 min\"]\n";

/// Namespaces around a bridge, removed when the test is over.
struct Net {
    names: Vec<String>,
}

impl Net {
    /// One namespace per host, `10.77.0.1` and up; an error tells what this machine or user may not do.
    fn new(hosts: usize) -> Result<Net, String> {
        let mark = std::process::id() % 100_000;
        let hub = format!("h{mark}x");
        let mut net = Net { names: vec![hub.clone()] };
        ip(&["netns", "add", &hub])?;
        ip(&["-n", &hub, "link", "add", "br0", "type", "bridge"])?;
        ip(&["-n", &hub, "link", "set", "br0", "up"])?;
        for host in 1..=hosts {
            let name = format!("h{mark}n{host}");
            ip(&["netns", "add", &name])?;
            net.names.push(name.clone());
            let port = format!("p{host}");
            ip(&["-n", &hub, "link", "add", &port, "type", "veth", "peer", "name", "eth0", "netns", &name])?;
            ip(&["-n", &hub, "link", "set", &port, "master", "br0", "up"])?;
            ip(&["-n", &name, "addr", "add", &format!("10.77.0.{host}/24"), "dev", "eth0"])?;
            ip(&["-n", &name, "link", "set", "eth0", "up"])?;
            ip(&["-n", &name, "link", "set", "lo", "up"])?;
            let netem = ["netns", "exec", &name, "tc", "qdisc", "add", "dev", "eth0", "root", "netem"];
            ip(&[&netem[..], &["delay", "2ms", "1ms", "loss", "10%"]].concat())?;
        }
        Ok(net)
    }

    /// A command that will run on this host.
    fn on(&self, host: usize, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.names[host], program]);
        command
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = ip(&["netns", "delete", name]);
        }
    }
}

fn ip(arguments: &[&str]) -> Result<(), String> {
    let message = |why: String| format!("ip {}: {}", arguments.join(" "), why.trim());
    let output = Command::new("ip").args(arguments).output().map_err(|error| message(error.to_string()))?;
    if output.status.success() { Ok(()) } else { Err(message(text(&output.stderr))) }
}

#[test]
fn namespaces_with_latency_and_loss_give_the_same_digest() {
    let net = match Net::new(6) {
        Ok(net) => net,
        Err(lacks) => return skip(&format!("needs root, ip, tc, network namespaces and netem; {lacks}")),
    };
    let scratch = Scratch::new();
    let topology = scratch.file("far.toml", FAR);
    let identities = scratch.path("identities");
    hansa_ok(&["certs".as_ref(), topology.as_os_str(), "--out".as_ref(), identities.as_os_str()]);

    let mut command = net.on(1, ROUTER);
    command.args(["--bind", "10.77.0.1:4433"]).arg("--out").arg(scratch.path("out"));
    let mut router = Process::start("the router", with(&mut command, &topology, &identities.join("router")));
    let mut members = Vec::new();
    for (host, member) in (2..).zip(["york.site", "durham.site", "leeds.site", "alice.user", "bob.user"]) {
        let (name, role) = member.split_once('.').unwrap();
        let mut command = net.on(host, if role == "site" { SITE } else { USER });
        command.args(["--name", name, "--router", "10.77.0.1:4433"]);
        members.push(Process::start(member, with(&mut command, &topology, &identities.join(member))));
    }
    router.end_with(0, Duration::from_secs(120));
    for member in &mut members {
        member.end_with(0, Duration::from_secs(20));
    }

    let inline = Command::new(HANSA)
        .args(["run", "--inline"])
        .arg(&topology)
        .arg("--out")
        .arg(scratch.path("inline"))
        .output()
        .unwrap();
    assert!(inline.status.success());
    assert_eq!(digest(&scratch.path("out")), digest(&scratch.path("inline")));
}

fn with<'a>(command: &'a mut Command, topology: &Path, identity: &Path) -> &'a mut Command {
    command.arg("--topology").arg(topology).arg("--identity").arg(identity)
}
