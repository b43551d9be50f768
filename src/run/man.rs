//! Manual pages, made of the texts of `--help`.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use clap::Command;
use clap_mangen::Man;

use super::disk::operation_failure;
use super::{Failure, err, out, version_text};
use hansa_sim::near::nearest_name;

/// Prints the page of the command with these words.
pub fn print_page(command: Command, words: &[String]) -> Result<(), Failure> {
    let mut found = command;
    found.build();
    for (at, word) in words.iter().enumerate() {
        let inner = found.find_subcommand(word).filter(|inner| !inner.is_hide_set());
        let Some(inner) = inner.cloned() else {
            let near = nearest_command(&found, word).map_or(String::new(), |near| format!("; did you mean {near}?"));
            return Err(Failure::Input(format!("there is no command hansa {}{near}", words[..=at].join(" "))));
        };
        found = inner;
    }
    let help = found.clone().render_long_help();
    let mut text = Vec::new();
    man_page(found).render(&mut text).map_err(|error| Failure::Internal(error.to_string()))?;
    if is_read(&text) {
        return Ok(());
    }
    err::note("`man` is not installed here, so --help is printed; --out writes the page as troff source");
    out::always(&help.to_string())
}

/// The subcommand with the name nearest to `typed`. None if none is near.
pub fn nearest_command<'a>(within: &'a Command, typed: &str) -> Option<&'a str> {
    let shown = within.get_subcommands().filter(|inner| !inner.is_hide_set());
    nearest_name(typed, shown.map(Command::get_name))
}

/// Shows a page in `man`. Returns false if there is no such program.
fn is_read(page: &[u8]) -> bool {
    let mut man = std::process::Command::new("man");
    let Ok(mut man) = man.args(["-l", "-"]).stdin(Stdio::piped()).spawn() else { return false };
    if let Some(mut pages) = man.stdin.take() {
        // A reader that quits before the end has read enough.
        let _ = pages.write_all(page);
    }
    man.wait().is_ok_and(|status| status.success())
}

/// Writes the pages of all commands into a folder.
pub fn write_all(command: Command, out: &Path) -> Result<(), Failure> {
    let failed = |error: std::io::Error| operation_failure("write to", out, &error);
    std::fs::create_dir_all(out).map_err(failed)?;
    let mut whole = command.disable_help_subcommand(true);
    whole.build();
    write_pages(&whole, out).map_err(failed)
}

fn write_pages(command: &Command, out: &Path) -> std::io::Result<()> {
    let mut shown = command.get_subcommands().filter(|inner| !inner.is_hide_set());
    shown.try_for_each(|inner| write_pages(inner, out))?;
    man_page(command.clone()).generate_to(out).map(drop)
}

/// The page of a command, with the program's name as its source.
fn man_page(command: Command) -> Man {
    Man::new(command).source(format!("hansa {}", version_text()))
}
