//! Real processes under attack and neglect: wrong certificates, slow and crafted handshakes, members that are stopped,
//! shares and results that were tampered with. Runs go on, or end with an error that names the cause.

use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hansa_run::identity::{Authority, Identity};
use hansa_sim::random::SplitMix64;
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Endpoint};
use time::OffsetDateTime;

use crate::faults::{no_children_left, process_of};
use crate::grid::{HANSA, Machines, Process, SITE, Scratch, digest, hansa, hansa_ok, long_topology, shipped, text};
use crate::hostile::half_open;
use crate::world::site;

const SOON: Duration = Duration::from_secs(40);
const BEGUN: &str = "the run begins";
const EVERYBODY: [&str; 5] = ["york.site", "durham.site", "leeds.site", "alice.user", "bob.user"];

const SMALL: &str = "name = \"small\"\nseed = 1\n[market]\npolicy = \"fifo\"\n[[site]]\nname = \"york\"\ncores = 1000\n\
                     kind = \"Kind1\"\n[[user]]\nname = \"alice\"\n[[workload]]\nsource = \"market\"\njobs = 40\nload = 0.7\n";

/// A run of five processes that takes some seconds.
fn some_seconds() -> String {
    long_topology().replace("jobs = 40000", "jobs = 400")
}

/// Waits for the end of a run that all goes well in, and compares its digest with that of the run inline.
fn ends_as_inline(machines: &mut Machines) {
    machines.router.end_with(0, SOON);
    for member in &mut machines.members {
        member.end_with(0, SOON);
    }
    let inline = machines.scratch.path("inline");
    let topology = machines.topology.display().to_string();
    hansa_ok(&["run", "--inline", &topology, "--out", &inline.display().to_string()]);
    assert_eq!(digest(&machines.out()), digest(&inline));
}

fn address(machines: &Machines) -> SocketAddr {
    machines.address.parse().unwrap()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// A site process with this identity; gives its exit code and words.
fn york_with(machines: &Machines, identity: &Path) -> (Option<i32>, String) {
    let mut command = Command::new(SITE);
    command.args(["--name", "york", "--join-within", "3", "--router", &machines.address]);
    command.arg("--topology").arg(&machines.topology).arg("--identity").arg(identity);
    Process::start("another york", &mut command).end(SOON)
}

#[test]
fn processes_with_expired_or_foreign_certificates_are_turned_away_and_the_run_goes_on() {
    let mut machines = Machines::router(SMALL, &[]);
    let foreign = machines.scratch.path("foreign");
    hansa_ok(&[&PathBuf::from("certs"), &machines.topology, &PathBuf::from("--out"), &foreign]);
    let (code, printed) = york_with(&machines, &foreign.join("york.site"));
    assert_eq!(code, Some(6), "{printed}");
    assert!(printed.contains("its certificate was signed by an authority that this run does not know"), "{printed}");

    // The certificate of another member of this run.
    let (code, printed) = york_with(&machines, &machines.scratch.path("identities/alice.user"));
    assert_eq!(code, Some(2), "{printed}");
    assert!(printed.contains("york") && printed.contains("alice"), "{printed}");

    let now = OffsetDateTime::now_utc();
    let day = time::Duration::days(1);
    let expired = machines.scratch.path("expired");
    let authority = Authority::new("small").unwrap();
    authority.issue_between(&[site("york")], now - 2 * day, now - day).unwrap().save(&expired).unwrap();
    let (code, printed) = york_with(&machines, &expired);
    assert_eq!(code, Some(2), "{printed}");
    assert!(printed.contains("expired"), "{printed}");

    machines.start(&["york.site", "alice.user"]);
    ends_as_inline(&mut machines);
}

/// Opens connections with a good certificate and says no hello, or only the beginning of one.
#[test]
fn slow_handshakes_keep_nobody_out() {
    let mut machines = Machines::router(SMALL, &[]);
    let identity = Identity::load(&machines.scratch.path("identities/york.site")).unwrap();
    let config = || ClientConfig::new(Arc::new(QuicClientConfig::try_from(identity.client_tls().unwrap()).unwrap()));
    let runtime = runtime();
    let address = address(&machines);
    let (_endpoint, connections) = runtime.block_on(async {
        let endpoint = Endpoint::client(([127, 0, 0, 1], 0).into()).unwrap();
        let mut connections = Vec::new();
        for number in 0..100 {
            let connection = endpoint.connect_with(config(), address, "router.hansa").unwrap().await.unwrap();
            let (mut send, receive) = connection.open_bi().await.unwrap();
            send.write_all(&[200, 0, 0, 0, 1][..number % 6]).await.unwrap();
            connections.push((connection, send, receive));
        }
        (endpoint, connections)
    });
    machines.start(&["york.site", "alice.user"]);
    let begun = Instant::now();
    machines.router.await_text(BEGUN);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    drop(connections);
    ends_as_inline(&mut machines);
}

/// Initial packets whose headers are right and whose contents are noise, each of another connection: the router has to
/// derive keys for each before it can tell. Some are of another version, or pretend to repeat a token.
fn crafted_initials(router: SocketAddr, count: usize) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut random = SplitMix64::new(3);
    for number in 0..count {
        let version: u32 = if number % 10 == 0 { 0x1a2a_3a4a } else { 1 };
        let kind = [0xc0, 0xc3, 0xd0, 0xe0, 0xf0][number % 5];
        let token = if number % 3 == 0 { 40 } else { 0 };
        let mut packet = vec![kind];
        packet.extend(version.to_be_bytes());
        packet.push(8);
        packet.extend(random.int(0, u64::MAX).to_be_bytes());
        packet.push(8);
        packet.extend(random.int(0, u64::MAX).to_be_bytes());
        packet.push(token);
        packet.extend((0..token).map(|_| random.int(0, 255) as u8));
        let left = 1200 - packet.len() - 2;
        packet.extend((0x4000 | left as u16).to_be_bytes());
        packet.extend((0..left).map(|_| random.int(0, 255) as u8));
        let _ = socket.send_to(&packet, router);
    }
}

/// Highest resident memory of a process so far, in bytes; None if it has ended.
fn most_memory(id: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(1024 * line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap())
}

#[test]
fn floods_of_crafted_initial_packets_disturb_no_run() {
    let mut machines = Machines::router(&some_seconds(), &[]);
    let router = address(&machines);
    // Before the run, while it begins, and during it.
    crafted_initials(router, 3_000);
    let flood = std::thread::spawn(move || {
        crafted_initials(router, 10_000);
        half_open(router, 2_000);
        crafted_initials(router, 5_000);
    });
    machines.start(&EVERYBODY);
    machines.router.await_text(BEGUN);
    // A quick run ends before the flood does.
    let mut memory = 0;
    while let Some(so_far) = most_memory(machines.router.child.id()) {
        memory = so_far;
        if flood.is_finished() {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    flood.join().unwrap();
    assert!((1..400 << 20).contains(&memory), "the router has taken {memory} bytes");
    ends_as_inline(&mut machines);
}

#[test]
fn a_member_that_is_stopped_for_a_moment_is_not_missed() {
    let mut machines = Machines::router(&some_seconds(), &["--patience", "1"]);
    machines.start(&EVERYBODY);
    machines.router.await_text(BEGUN);
    machines.members[0].signal("STOP");
    std::thread::sleep(Duration::from_secs(4));
    machines.members[0].signal("CONT");
    ends_as_inline(&mut machines);
    assert!(!machines.router.has_printed("lost site york"));
}

/// A connection is given up after 10 s of silence.
#[test]
fn a_member_that_is_stopped_for_long_comes_back_if_the_router_is_patient() {
    let mut machines = Machines::router(&some_seconds(), &["--patience", "30"]);
    machines.start(&EVERYBODY);
    machines.router.await_text(BEGUN);
    machines.members[0].signal("STOP");
    machines.router.await_text("lost site york at virtual time");
    machines.members[0].signal("CONT");
    ends_as_inline(&mut machines);
    assert!(machines.router.has_printed("site york is back after"));
}

#[test]
fn a_member_that_is_stopped_for_longer_than_the_routers_patience_is_lost() {
    let mut machines = Machines::router(&some_seconds(), &["--patience", "1"]);
    machines.start_with(&EVERYBODY, &["--patience", "2"]);
    machines.router.await_text(BEGUN);
    machines.members[0].signal("STOP");
    let (code, printed) = machines.router.end(SOON);
    machines.members[0].signal("CONT");
    assert_eq!(code, Some(3), "{printed}");
    assert!(
        printed.contains("lost site york at virtual time") && printed.contains("not come back within 1 s"),
        "{printed}"
    );
    for member in &mut machines.members {
        let (code, printed) = member.end(SOON);
        assert_ne!(code, Some(0), "{}: {printed}", member.label);
    }
}

#[test]
fn a_live_run_whose_member_dies_ends_at_once_and_says_why_it_cannot_go_on() {
    let scratch = Scratch::new();
    let mut command = Command::new(HANSA);
    command.arg("run").arg(shipped("live.toml")).args(["--live", "1", "--out"]).arg(scratch.path("out"));
    let mut launcher = Process::start("the launcher", &mut command);
    launcher.await_text(BEGUN);
    std::thread::sleep(Duration::from_millis(1500));
    let id = launcher.child.id();
    let bath = process_of(id, "bath").unwrap().to_string();
    assert!(Command::new("kill").args(["-KILL", &bath]).status().unwrap().success());
    let killed = Instant::now();
    let printed = launcher.end_with(3, SOON);
    assert!(killed.elapsed() < Duration::from_secs(6), "{:?}: {printed}", killed.elapsed());
    assert!(printed.contains("lost site bath"), "{printed}");
    assert!(printed.contains("a live run measures time, so a process that is lost cannot be replaced"), "{printed}");
    no_children_left(id);
}

/// An experiment of six runs.
fn experiment(scratch: &Scratch) -> String {
    let topology = shipped("market-40.toml");
    let text = format!(
        "name = \"try\"\ntopology = {topology:?}\n[set]\nworkload.0.jobs = 200\n[vary]\nseed = [1, 2, 3]\n\
         market.policy = [\"fifo\", \"srtf\"]\n"
    );
    scratch.file("try.toml", &text).display().to_string()
}

/// Starts a command again and again, kills it later each time, and lets it end at last.
fn under_kills(words: &[&str]) {
    for pause in [5, 20, 40, 60, 90, 130] {
        let mut command = Command::new(HANSA);
        command.args(words).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        let mut child = command.spawn().unwrap();
        std::thread::sleep(Duration::from_millis(pause));
        let _ = child.kill();
        child.wait().unwrap();
    }
    hansa_ok(words);
}

fn same_files(a: &Path, b: &Path, names: &[&str]) {
    for name in names {
        assert!(fs::read(a.join(name)).unwrap() == fs::read(b.join(name)).unwrap(), "{name}");
    }
}

#[test]
fn sweeps_shares_and_papers_are_whole_after_kills_at_any_moment() {
    let scratch = Scratch::new();
    let at = |name: &str| scratch.path(name).display().to_string();
    let experiment = experiment(&scratch);
    hansa_ok(&["sweep", &experiment, "--out", &at("whole")]);
    under_kills(&["sweep", &experiment, "--out", &at("killed")]);
    let rows = ["runs.csv", "sweep.json", "means.csv", "sweep.html"];
    same_files(&scratch.path("whole"), &scratch.path("killed"), &rows);
    for part in ["1/2", "2/2"] {
        under_kills(&["sweep", &experiment, "--out", &at("shares"), "--part", part]);
    }
    under_kills(&["sweep", &experiment, "--out", &at("shares"), "--gather"]);
    same_files(&scratch.path("whole"), &scratch.path("shares"), &rows);

    let paper = |out: &str, more: &[&str]| -> Vec<String> {
        let words = ["reproduce", "reservation", "--requests", "60", "--workloads", "2", "--out", out];
        [&words, more].concat().into_iter().map(str::to_owned).collect()
    };
    hansa_ok(&paper(&at("paper"), &[]));
    let words = paper(&at("killed paper"), &[]);
    under_kills(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let files =
        fs::read_dir(scratch.path("paper")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    // Pieces are in the order in which they ended.
    let files: Vec<String> = files.filter(|name| name != "pieces.jsonl").collect();
    let names: Vec<&str> = files.iter().map(String::as_str).collect();
    assert!(names.len() > 3, "{names:?}");
    same_files(&scratch.path("paper"), &scratch.path("killed paper"), &names);
}

/// Shares come from other machines, so anything may be in their files.
#[test]
fn shares_that_were_tampered_with_are_refused_or_gathered_without_a_panic() {
    let scratch = Scratch::new();
    let at = |name: &str| scratch.path(name).display().to_string();
    let experiment = experiment(&scratch);
    for part in ["1/2", "2/2"] {
        hansa_ok(&["sweep", &experiment, "--out", &at("out"), "--part", part]);
    }
    let share = scratch.path("out.parts/2-of-2");
    let mut random = SplitMix64::new(5);
    let gather = |what: &str| {
        let output = hansa(&["sweep", &experiment, "--out", &at("out"), "--gather"]);
        let printed = text(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 2 | 7)), "{what}: {:?} {printed}", output.status);
        assert!(!printed.contains("panicked") && !printed.contains('\u{1b}'), "{what}: {printed}");
        let _ = fs::remove_dir_all(scratch.path("out"));
        output.status.code()
    };
    for name in ["runs.csv", "sweep.json"] {
        let path = share.join(name);
        let good = fs::read(&path).unwrap();
        for number in 0..25 {
            let mut bytes = good.clone();
            for _ in 0..random.int(1, 4) {
                let place = random.int(0, bytes.len() as u64 - 1) as usize;
                match random.int(0, 3) {
                    0 => bytes.truncate(place.max(1)),
                    1 => bytes[place] = random.int(0, 255) as u8,
                    2 => drop(bytes.splice(place..place, *b"1e999,\x1b[2J,NaN")),
                    _ => drop(bytes.splice(place..place, good.clone())),
                }
            }
            fs::write(&path, bytes).unwrap();
            gather(&format!("{name}, change {number}"));
        }
        fs::remove_file(&path).unwrap();
        symlink("/dev/zero", &path).unwrap();
        assert_ne!(gather(&format!("{name} is endless")), Some(0));
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert_ne!(gather(&format!("{name} is a folder")), Some(0));
        fs::remove_dir(&path).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap();
        assert_ne!(gather(&format!("{name} is a pipe")), Some(0));
        fs::remove_file(&path).unwrap();
        fs::write(&path, &good).unwrap();
    }
    assert_eq!(gather("whole again"), Some(0));
}

/// A result folder may come from any machine. What its manifest names outside of it is neither read, written nor
/// removed.
#[test]
fn crafted_paths_in_manifests_lead_nowhere() {
    let scratch = Scratch::new();
    let topology = scratch.file("small.toml", SMALL);
    let out = scratch.path("out");
    let victim = scratch.path("victim.txt");
    let at = |path: &Path| path.display().to_string();
    let topology = at(&topology);
    let out_text = at(&out);
    fs::write(&victim, "precious").unwrap();
    hansa_ok(&["run", "--inline", &topology, "--out", &out_text]);
    hansa_ok(&["run", "--inline", &topology, "--out", &at(&scratch.path("twin"))]);
    let manifest = out.join("manifest.json");
    let good = fs::read_to_string(&manifest).unwrap();

    symlink(&victim, out.join("linked.csv")).unwrap();
    fs::create_dir(scratch.path("beside")).unwrap();
    symlink(scratch.path("beside"), out.join("folder")).unwrap();
    for name in [
        "../victim.txt",
        &at(&victim),
        "linked.csv",
        "folder/x.csv",
        "folder",
        ".",
        "..",
        "",
        "jobs.csv/../../victim.txt",
    ] {
        let mut crafted: serde_json::Value = serde_json::from_str(&good).unwrap();
        crafted["files"][0]["name"] = name.into();
        fs::write(&manifest, crafted.to_string()).unwrap();
        let words: [&[&str]; 4] = [
            &["verify", &out_text, &at(&scratch.path("twin"))],
            &["report", "--trace", &out_text],
            &["run", "--inline", &topology, "--out", &out_text],
            &["run", "--resume", &out_text],
        ];
        for words in words {
            let output = hansa(words);
            let printed = text(&output.stderr);
            assert!(!printed.contains("panicked") && !printed.contains("precious"), "{name}, {words:?}: {printed}");
            assert!(words[0] != "verify" || output.status.code() == Some(2), "{name}: {printed}");
            assert_eq!(fs::read_to_string(&victim).unwrap(), "precious", "{name}, {words:?}");
            assert!(scratch.path("beside").is_dir(), "{name}, {words:?}");
            if !out.exists() {
                panic!("{name}, {words:?}: the folder has gone");
            }
        }
    }
    // What is made from results does not go through links.
    fs::write(&manifest, &good).unwrap();
    for name in ["report.html", "trace.json"] {
        let _ = fs::remove_file(out.join(name));
        symlink(&victim, out.join(name)).unwrap();
    }
    hansa(&["report", "--trace", &out_text]);
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    let events = out.join("events.jsonl");
    fs::rename(&events, scratch.path("events.jsonl")).unwrap();
    symlink(scratch.path("events.jsonl"), &events).unwrap();
    let output = hansa(&["report", &out_text]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("it is a link, and a result has none"), "{}", text(&output.stderr));
}
