//! Classes of jobs by size and by run time.

/// Largest numbers of cores of the classes.
const CORES: [u64; 6] = [1, 4, 16, 64, 256, 1024];

/// Upper bounds of the classes of run times in seconds, and names. The last class has no bound.
const RUN_TIMES: [(f64, &str); 5] = [
    (60.0, "under 1 min"),
    (600.0, "1 to 10 min"),
    (3_600.0, "10 min to 1 h"),
    (4.0 * 3_600.0, "1 to 4 h"),
    (12.0 * 3_600.0, "4 to 12 h"),
];
const LONGEST: &str = "12 h or more";

/// Class of a number of cores, with its label.
pub(super) fn cores_class(cores: u64) -> (u64, String) {
    let class = CORES.iter().position(|most| cores <= *most).unwrap_or(CORES.len());
    (class as u64, cores_label(class))
}

/// Class of a run time in seconds, with its label.
pub(super) fn run_time_class(seconds: f64) -> (u64, String) {
    let class = RUN_TIMES.iter().position(|(bound, _)| seconds < *bound);
    let label = class.map_or(LONGEST, |class| RUN_TIMES[class].1);
    (class.unwrap_or(RUN_TIMES.len()) as u64, label.to_owned())
}

fn cores_label(class: usize) -> String {
    let least = class.checked_sub(1).map_or(1, |before| CORES[before] + 1);
    match CORES.get(class) {
        Some(most) if least == *most => least.to_string(),
        Some(most) => format!("{least} to {most}"),
        None => format!("{least} or more"),
    }
}
