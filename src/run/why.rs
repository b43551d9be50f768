//! `hansa why`: the reasons of all that a job of a result waited for.

use std::io::BufReader;
use std::path::Path;

use super::files::{self, EVENTS};
use super::report::OpenedResult;
use super::{Failure, out};
use hansa_report::JobTrail;

/// Prints the reasons of all that a job, or one of its tasks, waited for.
pub fn explain_job(folder: &Path, job: &str, json: bool) -> Result<(), Failure> {
    let OpenedResult { manifest, topology, tally, .. } = OpenedResult::of(folder)?;
    let (id, task) = tally.find_job(job).map_err(|fault| Failure::input_at(folder.display(), fault))?;
    let trail = match JobTrail::is_wanted(&tally) {
        true => {
            let events = BufReader::new(files::open_part(folder, EVENTS)?);
            let trail = JobTrail::read(&manifest.names, id, events);
            Some(trail.map_err(|error| Failure::input_at(folder.display(), error))?)
        }
        false => None,
    };
    let story = tally.explain_job(&topology, id, task, trail.as_ref());
    if json { out::always(&format!("{:#}\n", serde_json::json!(story))) } else { out::always(&story.to_string()) }
}
