//! Turns files of other programs into ours, and logs of jobs into each other.

use std::path::Path;

use super::disk::{unreadable_input, write_named};
use super::input::{STANDARD_INPUT, read_typed};
use super::sanitize::sanitize_text;
use super::{Failure, err, logs, out};
use hansa_sim::topology::simgrid;

/// A format that can be converted: how its content begins or is called, and what makes it ours.
struct ConvertibleFormat {
    name: &'static str,
    fits: fn(&str, &str) -> bool,
    convert: fn(&str, &str) -> Result<ConvertedText, String>,
}

/// The text of a converted file, and warnings about the parts that it leaves out.
struct ConvertedText {
    text: String,
    warnings: Vec<String>,
}

const FORMATS: &[ConvertibleFormat] = &[ConvertibleFormat {
    name: "a SimGrid platform (XML)",
    fits: |_, text| text.trim_start().starts_with('<') && text.contains("<platform"),
    convert: |path, text| {
        let name = if path == STANDARD_INPUT { "platform" } else { path.rsplit('/').next().unwrap_or(path) };
        let name = name.split('.').next().unwrap_or(name);
        let converted = simgrid::convert_platform(name, text).map_err(|error| error.to_string())?;
        Ok(ConvertedText { text: converted.toml, warnings: converted.warnings })
    },
}];

/// Writes the conversion of a file to another one, or to standard output.
pub fn convert_file(
    path: &str,
    slurm: &logs::SlurmLogArgs,
    to: Option<logs::LogFormat>,
    strict: bool,
    (margins, seed): (logs::MarginArgs, u64),
    out: Option<&Path>,
) -> Result<(), Failure> {
    if let Some(log) = logs::read_log_as(path, slurm)? {
        if log.1 != logs::ReadFormat::Slurm {
            slurm.check_unused(path)?;
        }
        let to = to.unwrap_or(log.1.usual_target());
        return logs::convert_log(path, log, to, strict, margins.to_margins(to, seed)?, out);
    }
    slurm.check_unused(path)?;
    let bytes = read_typed(path).map_err(|error| unreadable_input(path.as_ref(), &error))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + valid.iter().filter(|byte| **byte == b'\n').count();
        let found = error.as_bytes().get(valid.len()).copied().unwrap_or_default();
        Failure::Input(format!("{path}:{line}: expected text in UTF-8, found the byte {found:#04x}"))
    })?;
    let format = FORMATS.iter().find(|format| (format.fits)(path, &text)).ok_or_else(|| {
        let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
        let names = names.join(" or ");
        logs::unknown_log(path, &text, &names)
    })?;
    logs::check_extension(out, "toml")?;
    let converted = (format.convert)(path, &text).map_err(|error| Failure::Input(format!("{path}:{error}")))?;
    converted.warnings.iter().for_each(|warning| err::warning(&format!("{path}: {warning}")));
    match out {
        Some(out) => {
            write_named(out, &converted.text)?;
            out::unless_quiet(&format!("{}: written\n", sanitize_text(&out.display().to_string())))
        }
        None => out::always(&converted.text),
    }
}
