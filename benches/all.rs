//! All measurements, each beside a baseline in the same run: `cargo bench`.

use std::process::ExitCode;

use hansa::edge::bench::{ECHO, Effort, bench, echo};
use hansa::edge::cli;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // The measurements start this program again: as a leaf, and as a grid.
    let end = match arguments.first().map(String::as_str) {
        Some(ECHO) => echo(&arguments[1..]),
        Some("run" | "router" | "site" | "user") => return cli::hansa(),
        _ => bench(&Effort::full()),
    };
    match end {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}
