//! A grid of real processes, for tests.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

pub const HANSA: &str = env!("CARGO_BIN_EXE_hansa");
pub const ROUTER: &str = env!("CARGO_BIN_EXE_hansa-router");
pub const SITE: &str = env!("CARGO_BIN_EXE_hansa-site");
pub const USER: &str = env!("CARGO_BIN_EXE_hansa-user");

/// A temporary folder of one test.
pub struct Scratch(TempDir);

impl Scratch {
    pub fn new() -> Scratch {
        Scratch(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

pub fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("topologies").join(name)
}

/// Runs `hansa` with these arguments to its end.
pub fn hansa<A: AsRef<std::ffi::OsStr>>(arguments: &[A]) -> Output {
    Command::new(HANSA).args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// Like [`hansa`]; panics unless it succeeds.
pub fn hansa_ok<A: AsRef<std::ffi::OsStr>>(arguments: &[A]) -> Output {
    let output = hansa(arguments);
    assert!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));
    output
}

/// Checks that a command has ended with this exit code, and with these words in its error.
#[track_caller]
pub fn expect_error(output: &Output, code: i32, words: &str) {
    let printed = text(&output.stderr);
    assert!(output.status.code() == Some(code) && printed.contains(words), "{words} ({:?}): {printed}", output.status);
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub fn json(path: &Path) -> Value {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&bytes).unwrap()
}

pub fn digest(out: &Path) -> String {
    json(&out.join("summary.json"))["results"]["digest"].as_str().unwrap().to_owned()
}

/// A run of a few seconds, in which faults can be injected.
pub fn long_topology() -> String {
    // As ends are reported later, nothing is foretold, so the router waits often.
    let site = |name: &str, kind: &str| {
        format!("[[site]]\nname = \"{name}\"\ncores = 1000\nkind = \"{kind}\"\nreport_every = \"1 s\"\n")
    };
    format!(
        "name = \"long\"\nseed = 1\n[market]\npolicy = \"fifo\"\n{}{}{}[[user]]\nname = \"alice\"\n[[user]]\nname = \"bob\"\n\
         [[workload]]\nsource = \"market\"\njobs = 40000\nload = 0.7\n",
        site("york", "Kind1"),
        site("durham", "Kind1"),
        site("leeds", "Kind2"),
    )
}

/// A process that is killed when the value is dropped.
pub struct Process {
    pub child: Child,
    pub label: String,
    /// Standard error so far.
    printed: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl Process {
    pub fn start(label: &str, command: &mut Command) -> Process {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.env("RUST_LOG", "hansa=info").spawn().unwrap();
        let printed = Arc::new(Mutex::new(String::new()));
        let stderr = child.stderr.take().unwrap();
        let page = printed.clone();
        let reader = std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                page.lock().unwrap().push_str(&(line + "\n"));
            }
        });
        Process { child, label: label.to_owned(), printed, reader: Some(reader) }
    }

    pub fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([&format!("-{signal}"), &id]).status().unwrap().success());
    }

    pub fn has_printed(&self, text: &str) -> bool {
        self.printed.lock().unwrap().contains(text)
    }

    /// Waits until it has written this to standard error.
    pub fn await_text(&self, text: &str) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !self.has_printed(text) {
            assert!(
                Instant::now() < deadline,
                "{} has not said {text:?}: {}",
                self.label,
                self.printed.lock().unwrap()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until it has written one of these to standard error, or has ended.
    pub fn await_one_of(&self, texts: &[&str]) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !texts.iter().any(|text| self.has_printed(text)) {
            assert!(
                Instant::now() < deadline,
                "{} has said none of {texts:?}: {}",
                self.label,
                self.printed.lock().unwrap()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits for its end; returns the exit code and its standard error.
    pub fn end(&mut self, within: Duration) -> (Option<i32>, String) {
        let deadline = Instant::now() + within;
        while self.child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline, "{} has not ended within {within:?}", self.label);
            std::thread::sleep(Duration::from_millis(20));
        }
        let code = self.child.wait().unwrap().code();
        self.reader.take().unwrap().join().unwrap();
        (code, self.printed.lock().unwrap().clone())
    }

    /// Waits for its end, with this exit code; returns its standard error.
    #[track_caller]
    pub fn end_with(&mut self, code: i32, within: Duration) -> String {
        let (found, printed) = self.end(within);
        assert_eq!(found, Some(code), "{}: {printed}", self.label);
        printed
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A grid whose processes a test starts one by one, as on separate machines.
pub struct Machines {
    pub scratch: Scratch,
    pub topology: PathBuf,
    pub router: Process,
    pub members: Vec<Process>,
    pub address: String,
}

impl Machines {
    /// Starts the router only.
    pub fn router(topology: &str, flags: &[&str]) -> Machines {
        let scratch = Scratch::new();
        let topology = scratch.file("topology.toml", topology);
        let identities = scratch.path("identities");
        hansa_ok(&[&PathBuf::from("certs"), &topology, &PathBuf::from("--out"), &identities]);
        let mut command = Command::new(ROUTER);
        command.arg("--topology").arg(&topology).arg("--identity").arg(identities.join("router"));
        command.args(["--bind", "127.0.0.1:0"]).arg("--out").arg(scratch.path("out")).args(flags);
        let mut router = Process::start("the router", &mut command);

        let mut first = String::new();
        BufReader::new(router.child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let address = first.trim().strip_prefix("listening on ").map(str::to_owned);
        let address = address.unwrap_or_else(|| panic!("{first:?} {}", router.end(Duration::from_secs(5)).1));
        Machines { scratch, topology, router, members: Vec::new(), address }
    }

    /// Starts a router that continues the run of a dead one, at the same address.
    pub fn go_on(&self) -> Process {
        let mut command = Command::new(ROUTER);
        command
            .arg("--topology")
            .arg(&self.topology)
            .arg("--identity")
            .arg(self.scratch.path("identities").join("router"));
        command.args(["--bind", &self.address]).arg("--resume").arg(self.out());
        Process::start("the next router", &mut command)
    }

    /// Starts sites (`york.site`) and users (`alice.user`), each a process.
    pub fn start(&mut self, members: &[&str]) {
        self.start_with(members, &[]);
    }

    pub fn start_with(&mut self, members: &[&str], flags: &[&str]) {
        for member in members {
            let (name, role) = member.split_once('.').unwrap();
            let mut command = Command::new(if role == "site" { SITE } else { USER });
            command.args(["--name", name, "--router", &self.address]).arg("--topology").arg(&self.topology);
            command.arg("--identity").arg(self.scratch.path("identities").join(member));
            self.members.push(Process::start(member, command.args(flags)));
        }
    }

    pub fn out(&self) -> PathBuf {
        self.scratch.path("out")
    }
}
