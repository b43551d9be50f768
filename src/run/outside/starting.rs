//! Reasons why a program cannot be started, and remedies.

use std::io::{Error, ErrorKind};
use std::path::Path;

/// Reason why a program could not be started, with a remedy.
pub fn cannot_start(name: &str, program: &str, error: &Error) -> String {
    format!("cannot start {name}: {}{}", why_not(program, error), how_to_get(program).unwrap_or_default())
}

pub fn why_not(program: &str, error: &Error) -> String {
    let has_path = program.contains('/');
    match error.kind() {
        ErrorKind::NotFound if has_path && Path::new(program).exists() => {
            format!("the interpreter that the first line of {program} names is not there")
        }
        ErrorKind::NotFound if has_path => format!("there is no file {program}"),
        ErrorKind::NotFound => format!("there is no program {program}, neither beside the topology nor in $PATH"),
        ErrorKind::PermissionDenied => format!("{program} is not executable: chmod +x makes it so"),
        _ => error.to_string(),
    }
}

/// Installation of programs that our own topologies start.
pub fn how_to_get(program: &str) -> Option<&'static str> {
    KNOWN.iter().find(|(name, _)| program.rsplit('/').next() == Some(name)).map(|(_, how)| *how)
}

const KNOWN: &[(&str, &str)] = &[(
    "pybatsim",
    "; to install it: pip install --no-deps pybatsim==3.2.1 && pip install pyzmq procset sortedcontainers docopt \
     (docs/batsim.md)",
)];
