//! The thesis on provisioning, at sites with generated jobs or with those of logs.

use std::path::Path;

use super::super::choosing::Choosing;
use super::super::disk::{replace_file, unreadable_input};
use super::super::{Failure, logs, out};
use super::{Making, PaperProgram, Pieces, make_all};
use hansa_papers::provisioning::calibration::{self, Fit, Queue};
use hansa_papers::provisioning::{Extent, Logs, Outcome, Piece, Site, choices, jobs_of};

/// Runs the experiments of the thesis on provisioning, at sites with the jobs of the logs of a folder, if there is one.
pub fn reproduce_provisioning(
    extent: Extent,
    logs: Option<&Path>,
    choosing: &Choosing,
    making: &Making,
) -> Result<(), Failure> {
    let logs = logs.map_or_else(|| Ok(Logs::default()), read_logs)?;
    let program = PaperProgram {
        paper: "provisioning",
        what: "runs",
        file: &choices(),
        pieces: extent.pieces(),
        seconds: &|piece: &Piece| extent.seconds(*piece, &logs),
        key: format!("{extent:?} {logs:?}"),
    };
    program.reproduce(
        choosing,
        making,
        |settings, piece| piece.relevant(settings, &logs),
        |settings, piece| extent.run(settings, &logs, *piece),
        |settings, rows| Outcome::of(extent, settings, logs.are_given(), rows),
    )
}

/// Searches for the queue of virtual reservations whose chances are those that the thesis prints.
pub fn calibrate_queue(extent: Extent, choosing: &Choosing, making: &Making) -> Result<(), Failure> {
    let file = choices();
    let variant = choosing.selected_variants(&file.choices)?.swap_remove(0);
    let settings = file.settings(&variant.selection);
    let key = format!("search {extent:?} {settings:?}");
    let pieces = Pieces { paper: "provisioning", what: "queues", all: Queue::all_queues(), key };
    let Some(fits) = make_all(pieces, making, |queue| Fit::fit_queue(&extent, &settings, *queue))? else {
        return Ok(());
    };
    let text = calibration::calibration_text(&extent, &fits);
    replace_file(&making.out.join("calibration.csv"), calibration::calibration_csv(&fits))?;
    replace_file(&making.out.join("calibration.txt"), text.as_str())?;
    out::unless_quiet(&format!("{text}\nall queues in {}\n", making.out.join("calibration.csv").display()))
}

/// The only name of a log of this machine.
fn find_log<'n>(names: &'n [String], site: &str) -> Result<&'n String, String> {
    let found: Vec<&String> =
        names.iter().filter(|name| name.to_uppercase().starts_with(site) && name.contains(".swf")).collect();
    match found[..] {
        [name] => Ok(name),
        [] => Err(format!("there is no log of {site}: expected {site}*.swf or {site}*.swf.gz")),
        [one, other, ..] => Err(format!("{one} and {other} are both logs of {site}: expected one of them")),
    }
}

/// The logs of both machines, by how their files are called.
fn read_logs(folder: &Path) -> Result<Logs, Failure> {
    let cannot = |error: std::io::Error| unreadable_input(folder, &error);
    let mut names: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(cannot)? {
        names.push(entry.map_err(cannot)?.file_name().to_string_lossy().into_owned());
    }
    names.sort_unstable();
    let read = |site: Site| {
        let name = find_log(&names, site.name());
        let name = name.map_err(|wrong| Failure::Input(format!("{}: {wrong}", folder.display())))?;
        let path = folder.join(name).display().to_string();
        let (trace, _) = logs::read_log(&path)?.ok_or_else(|| Failure::Input(format!("{path}: this is not a log")))?;
        let jobs = jobs_of(&trace.jobs, site);
        if jobs.is_empty() {
            return Err(Failure::Input(format!(
                "{path}: no job of it fits the {} processors of {}",
                site.procs(),
                site.name()
            )));
        }
        Ok(jobs)
    };
    let [ctc, sdsc] = Site::ALL.map(read);
    Ok(Logs { ctc: Some(ctc?), sdsc: Some(sdsc?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_logs_of_one_machine_are_refused() {
        let names = ["CTC-1.swf", "CTC-2.swf.gz", "README", "sdsc.swf.gz"].map(str::to_owned);
        assert_eq!(find_log(&names, "SDSC").map(String::as_str), Ok("sdsc.swf.gz"));
        let wrong = "CTC-1.swf and CTC-2.swf.gz are both logs of CTC: expected one of them";
        assert_eq!(find_log(&names, "CTC").unwrap_err(), wrong);
        assert!(find_log(&names, "KTH").unwrap_err().contains("expected KTH*.swf"));
    }
}
