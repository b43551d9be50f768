//! `hansa why`: the reasons for which a job of a result waited.

use std::path::Path;

use super::report::OpenedResult;
use super::{Failure, out};

/// Prints the reasons for the wait of a job, or of one of its tasks.
pub fn explain_wait(folder: &Path, job: &str, json: bool) -> Result<(), Failure> {
    let tally = OpenedResult::of(folder)?.tally;
    let why = tally.explain_wait(job).map_err(|wrong| Failure::Input(format!("{}: {wrong}", folder.display())))?;
    if json { out::always(&format!("{:#}\n", serde_json::json!(why))) } else { out::always(&why.to_string()) }
}
