//! Tests that this machine cannot run: each says so where the harness does not keep it to itself, and at the end they
//! are counted.

use std::io::Write as _;
use std::sync::Mutex;

static SKIPPED: Mutex<Vec<String>> = Mutex::new(Vec::new());

unsafe extern "C" {
    safe fn atexit(last: extern "C" fn()) -> std::ffi::c_int;
}

/// Says that the test on this thread is not run, and what it would take.
pub fn skip(needs: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    // Not by a macro: those are captured.
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {needs}");
    let mut skipped = SKIPPED.lock().unwrap();
    if skipped.is_empty() {
        // If it cannot be called at the end, the lines above have to do.
        atexit(tell);
    }
    skipped.push(test);
}

extern "C" fn tell() {
    if let Ok(skipped) = SKIPPED.lock() {
        let _ = writeln!(std::io::stderr(), "SKIPPED {} in all: {}", skipped.len(), skipped.join(", "));
    }
}
