//! Tests that this machine cannot run: each prints its reason past the harness, which captures output. The harness
//! counts them as passed; `.ci/test` reads these lines and counts them as skipped.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::Mutex;

static SKIPPED: Mutex<Vec<String>> = Mutex::new(Vec::new());

unsafe extern "C" {
    safe fn atexit(last: extern "C" fn()) -> std::ffi::c_int;
}

/// True if there is a Python; otherwise the test on this thread is reported as skipped.
pub fn has_python() -> bool {
    let python = Command::new("python3").arg("--version").stdout(Stdio::null()).status();
    let has = python.is_ok_and(|status| status.success());
    if !has {
        skip("there is no python3 here");
    }
    has
}

/// Reports that the test on this thread is not run, or not completely, and what it needs.
pub fn skip(needs: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    // Not by a macro, as the harness captures its output; in one piece, as other tests write concurrently.
    let line = format!("SKIPPED {test}: {}\n", needs.replace('\n', " "));
    let _ = std::io::stderr().write_all(line.as_bytes());
    let mut skipped = SKIPPED.lock().unwrap();
    if skipped.is_empty() {
        // Without `atexit`, the lines above are the only report.
        atexit(report_skipped);
    }
    skipped.push(test);
}

extern "C" fn report_skipped() {
    if let Ok(skipped) = SKIPPED.lock() {
        let _ = writeln!(std::io::stderr(), "SKIPPED {} in all: {}", skipped.len(), skipped.join(", "));
    }
}
