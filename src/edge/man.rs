//! Manual pages, made of what `--help` says.

use std::path::Path;

use clap::Command;
use clap_mangen::Man;

use super::{Failure, print};

/// Prints the page of one command, named by its words.
pub fn show(command: Command, words: &[String]) -> Result<(), Failure> {
    let mut found = command;
    found.build();
    for (at, word) in words.iter().enumerate() {
        let inner = found.find_subcommand(word).filter(|inner| !inner.is_hide_set());
        let Some(inner) = inner.cloned() else {
            return Err(Failure::Input(format!("there is no command hansa {}", words[..=at].join(" "))));
        };
        found = inner;
    }
    let mut text = Vec::new();
    let title = found.get_display_name().unwrap_or(found.get_name()).to_owned();
    Man::new(found).title(title).render(&mut text).map_err(|error| Failure::Internal(error.to_string()))?;
    print(&String::from_utf8_lossy(&text))
}

/// Writes the pages of all commands into a folder.
pub fn write_all(command: Command, out: &Path) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::System(format!("cannot write to {}: {error}", out.display()));
    std::fs::create_dir_all(out).map_err(failed)?;
    clap_mangen::generate_to(command, out).map_err(failed)
}
