//! Measurements, each beside a baseline in the same run: `cargo bench` for those of `hansa bench`, in their long form,
//! or `cargo bench -- NAME` for those of one file here.

use std::process::ExitCode;

use hansa_run::bench::{ECHO, Effort, run_bench, run_echo};
use hansa_run::cli;

mod dfrs;
mod measure;
mod network;
mod plan;
mod processes;
mod provisioning;
mod queues;
mod recovery;
mod scale;
mod wire;

fn main() -> ExitCode {
    let typed = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let arguments: Vec<String> = typed.collect();
    let rest = arguments.get(1..).unwrap_or_default();
    match arguments.first().map(String::as_str) {
        // The measurements start this program again: as a leaf, and as a grid.
        Some(ECHO) => return ended(run_echo(rest)),
        Some("run" | "router" | "site" | "user") => return cli::hansa_main(env!("CARGO_PKG_VERSION")),
        None => return ended(run_bench(&Effort::full())),
        Some("dfrs") => dfrs::main(rest),
        Some("network") => network::main(),
        Some("plan") => plan::main(),
        Some("processes") => processes::main(rest),
        Some("provisioning") => provisioning::main(),
        Some("queues") => queues::main(rest),
        Some("recovery") => recovery::main(),
        Some("scale") => scale::main(rest),
        Some("wire") => wire::main(),
        Some(other) => {
            eprintln!("error: no measurement is called {other}; each file in benches/ is one");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn ended(end: Result<(), hansa_run::Failure>) -> ExitCode {
    match end {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}
