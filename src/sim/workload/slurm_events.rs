//! Events of the Slurm simulator of the University at Buffalo: one submission a line, with the options of `sbatch`.
//!
//! ```text
//! -dt 10.5 -e submit_batch_job | -sim-walltime 84805 --uid=user001 -J jobid_1 -N 1 -n 32 -t 3-00:00:00 job.sh
//! ```
//!
//! `-dt` is the time of the submission in seconds, and `-sim-walltime` the run time; -1 is the time limit. Options
//! other than name, user, size and times are kept as a text, the profile of the job. A real Slurm gets all options but
//! name, user and times.

use std::io::{self, BufRead};

use super::lines::{LineReader, LogLine};
use super::name_numbers::{NameNumbers, TextNumbers};
use super::rigid::{Collector, JOBS_MAX, LogNames, NUMBER_MAX, Rigid, Trace, is_bearable_time};
use super::sacct::SizeIn;
use super::sbatch::{SbatchOptions, WrongCount, split_words};
use crate::time::{Span, Time};

const EXPECTED: &str = "expected `-dt SECONDS -e submit_batch_job | OPTIONS SCRIPT`";
const OTHER_EVENT: &str = "event other than submit_batch_job";

/// Reads a file of events.
pub fn read(input: impl BufRead, size: SizeIn) -> io::Result<Trace> {
    let mut lines = LineReader::new(input);
    let mut collector = Collector::default();
    let mut jobs = EventJobs::default();
    while let Some((number, line)) = lines.next()? {
        let place = format_args!("line {number}");
        let LogLine::Text(text) = line else {
            collector.leave_out(place, "longer than any line of a log".to_owned());
            continue;
        };
        let text = String::from_utf8_lossy(text);
        let text = text.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        if jobs.submissions.len() >= JOBS_MAX {
            return Err(io::Error::other(format!("line {number}: more than {JOBS_MAX} jobs")));
        }
        match jobs.read_line(text, number, size) {
            Ok(()) => {}
            Err(BadEvent::Other) => collector.leave_out_for(OTHER_EVENT, number),
            Err(BadEvent::Wrong(what)) => collector.leave_out(place, what),
        }
    }
    jobs.number_jobs(&mut collector);
    Ok(collector.finish())
}

/// True if a file begins like one of events.
pub fn is_events(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().starts_with(b"-dt ")
}

enum BadEvent {
    /// An event that is no submission.
    Other,
    Wrong(String),
}

fn bad_event<T>(what: &str, found: &str) -> Result<T, BadEvent> {
    let found: String = found.chars().take(40).collect();
    Err(BadEvent::Wrong(format!("{what}, found {found}")))
}

struct Submission {
    line: u64,
    /// Name of the job, as the option `-J` states it.
    name: String,
    job: Rigid,
}

#[derive(Default)]
struct EventJobs {
    submissions: Vec<Submission>,
    users: NameNumbers,
    accounts: NameNumbers,
    qualities: NameNumbers,
    partitions: NameNumbers,
    /// Options besides those of [`FIELDS`], which name the kind of a job.
    profiles: TextNumbers,
    /// Options of the jobs for Slurm.
    requests: TextNumbers,
}

impl EventJobs {
    fn read_line(&mut self, text: &str, line: u64, size: SizeIn) -> Result<(), BadEvent> {
        let Some((event, options)) = text.split_once('|') else { return bad_event(EXPECTED, text) };
        let words: Vec<&str> = event.split_whitespace().collect();
        let &["-dt", at, "-e", kind] = &words[..] else { return bad_event(EXPECTED, text) };
        if kind != "submit_batch_job" {
            return Err(BadEvent::Other);
        }
        let Some(at) = seconds(at) else { return bad_event("expected -dt with a number of seconds", at) };
        let Some(words) = split_words(options) else { return bad_event("expected a quote at the end", options) };
        let options = SbatchOptions::of_words(&words, true);
        let limit = options.get("--time").unwrap_or_default();
        let requested_time = time_limit(limit);
        if requested_time.is_none() && !["", "UNLIMITED", "INFINITE"].contains(&limit) {
            return bad_event("expected -t with a time limit", limit);
        }
        let runs = options.get("-sim-walltime").or_else(|| options.get("--sim-walltime")).unwrap_or_default();
        let runtime = match seconds(runs) {
            Some(runtime) => runtime,
            None => match requested_time.filter(|_| runs.starts_with("-1")) {
                Some(limit) => limit,
                None => return bad_event("expected -sim-walltime with a number of seconds", runs),
            },
        };
        let nodes = size_of(&options, size)?;
        let profile = self.profiles.number(options.text_without(&FIELDS));
        let request = self.requests.number(options.quoted_without(&STATED));
        let job = Rigid {
            submit: Time::ZERO + at,
            runtime: Some(runtime),
            requested: Some(nodes),
            requested_time,
            user: options.get("--uid").and_then(|name| self.users.number(name.as_bytes())),
            group: options.get("--account").and_then(|name| self.accounts.number(name.as_bytes())),
            queue: options.get("--qos").and_then(|name| self.qualities.number(name.as_bytes())),
            partition: options.get("--partition").and_then(|name| self.partitions.number(name.as_bytes())),
            profile: Some(profile),
            request: Some(request),
            ..Rigid::default()
        };
        let name = options.get("--job-name").unwrap_or_default().to_owned();
        self.submissions.push(Submission { line, name, job });
        Ok(())
    }

    /// Numbers the jobs: by the digits at the end of their names if each has its own.
    fn number_jobs(self, collector: &mut Collector) {
        for line in self.qualities.lines("Queue").into_iter().chain(self.partitions.lines("Partition")) {
            collector.comment(line);
        }
        collector.names(LogNames {
            users: self.users.by_number(),
            groups: self.accounts.by_number(),
            queues: self.qualities.by_number(),
            partitions: self.partitions.by_number(),
        });
        let named: Option<Vec<u64>> = self.submissions.iter().map(|one| number_of(&one.name)).collect();
        let unique = named.filter(|numbers| {
            let mut sorted = numbers.clone();
            sorted.sort_unstable();
            sorted.windows(2).all(|pair| pair[0] != pair[1])
        });
        if unique.is_none() {
            collector.renumber();
        }
        for (position, Submission { line, name, job }) in self.submissions.into_iter().enumerate() {
            let number = unique.as_ref().map_or(position as u64 + 1, |numbers| numbers[position]);
            if !name.is_empty() {
                collector.id(number, name);
            }
            collector.job(format_args!("line {line}"), Rigid { number, ..job });
        }
        collector.profiles(self.profiles.into_texts());
        collector.requests(self.requests.into_texts());
    }
}

/// Number at the end of a name: `jobid_00107` is 107.
fn number_of(name: &str) -> Option<u64> {
    let begin = name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    name[begin..].parse().ok().filter(|number| *number <= NUMBER_MAX)
}

/// Long names of options that are the name, user, size and times of a job.
const FIELDS: [&str; 7] = ["-sim-walltime", "--sim-walltime", "--uid", "--job-name", "--time", "--nodes", "--ntasks"];

/// Long names of options that Slurm does not get: Hansa states them.
const STATED: [&str; 5] = ["-sim-walltime", "--sim-walltime", "--uid", "--job-name", "--time"];

fn size_of(options: &SbatchOptions, size: SizeIn) -> Result<u32, BadEvent> {
    let bad = |wrong: WrongCount| BadEvent::Wrong(wrong.to_string());
    let found = match size {
        SizeIn::Cores => options.cores().map_err(bad)?,
        SizeIn::Nodes => {
            let tasks = options.count("--ntasks").map_err(bad)?;
            let per_node = options.count("--ntasks-per-node").map_err(bad)?;
            options.count("--nodes").map_err(bad)?.or_else(|| Some(tasks?.div_ceil(per_node?)))
        }
    };
    match found {
        Some(found) => Ok(found),
        None => bad_event("expected -N, or -n with --ntasks-per-node, for a number of nodes", "neither"),
    }
}

/// A time in seconds, with up to six decimals.
fn seconds(text: &str) -> Option<Span> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let fraction: u64 = format!("{fraction:0<6}").get(..6)?.parse().ok()?;
    let micros = whole.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(fraction)?;
    is_bearable_time(micros).then(|| Span::from_micros(micros))
}

/// A time limit as `sbatch` takes it: minutes, `m:s`, `h:m:s`, `d-h`, `d-h:m` or `d-h:m:s`.
pub fn time_limit(text: &str) -> Option<Span> {
    let (days, clock) = match text.split_once('-') {
        Some((days, clock)) => (Some(days.parse::<u64>().ok()?), clock),
        None => (None, text),
    };
    let parts: Option<Vec<u64>> = clock.split(':').map(|part| part.parse().ok()).collect();
    let (hours, minutes, seconds) = match (days.is_some(), &parts?[..]) {
        (true, [hours]) => (*hours, 0, 0),
        (true, [hours, minutes]) => (*hours, *minutes, 0),
        (false, [minutes]) => (0, *minutes, 0),
        (false, [minutes, seconds]) => (0, *minutes, *seconds),
        (_, [hours, minutes, seconds]) => (*hours, *minutes, *seconds),
        _ => return None,
    };
    let hours = days.unwrap_or(0).checked_mul(24)?.checked_add(hours)?;
    let all = hours.checked_mul(60)?.checked_add(minutes)?.checked_mul(60)?.checked_add(seconds)?;
    all.checked_mul(1_000_000).filter(|micros| is_bearable_time(*micros)).map(Span::from_micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENTS: &str = "\
# submissions
-dt          10.50 -e submit_batch_job | -sim-walltime   84805.00 --uid=user001 -J jobid_00007 -N    1 -n     32 \
-t 3-00:00:00 -q general -p batch --mem=500G pseudo.job
-dt 11 -e submit_batch_job | -J jobid_9 -sim-walltime 15 --uid=user5 -t 00:07:00 -N2-4 --ntasks-per-node=12 -A acct \
-p debug -q general --exclusive pseudo.job
-dt 10 -e submit_batch_job | -J jobid_3 -sim-walltime 0.25 --uid user5 -t 90 -n 12 --ntasks-per-node=5 -c 2 job
-dt 12 -e cancel_job | -J jobid_3
-dt 12 -e submit_batch_job | -J jobid_8 -sim-walltime -1 -t 1 -n 1 job
-dt 12 -e submit_batch_job | -J jobid_4 --uid=user5 -t 90 -n 12 job
-dt soon -e submit_batch_job | -J jobid_5 job
-dt 13 -e submit_batch_job | -J jobid_6 -sim-walltime 5 -n 0 job
-dt 13 -e sub
";

    fn shown(trace: &Trace) -> Vec<String> {
        let show = |job: Rigid| {
            format!(
                "{} at {} runs {} on {} of {:?}, user {:?}, group {:?}, queue {:?}, partition {:?}: {}",
                job.number,
                job.submit.since(Time::ZERO),
                job.runtime.unwrap(),
                job.nodes().unwrap(),
                job.walltime().map(|time| time.micros() / 1_000_000),
                job.user,
                job.group,
                job.queue,
                job.partition,
                trace.profiles[job.profile.unwrap() as usize],
            )
        };
        trace.jobs.iter().map(show).collect()
    }

    #[test]
    fn submissions_are_read() {
        let trace = read(EVENTS.as_bytes(), SizeIn::Cores).unwrap();
        assert_eq!(
            shown(&trace),
            [
                "3 at 10 s runs 250 ms on 24 of Some(5400), user Some(2), group None, queue None, partition None: \
                 --ntasks-per-node=5 -c 2",
                "7 at 10500 ms runs 84805 s on 32 of Some(259200), user Some(1), group None, queue Some(1), partition \
                 Some(1): -q general -p batch --mem=500G",
                "9 at 11 s runs 15 s on 24 of Some(420), user Some(2), group Some(1), queue Some(1), partition \
                 Some(2): --ntasks-per-node=12 -A acct -p debug -q general --exclusive",
                "8 at 12 s runs 1 min on 1 of Some(60), user None, group None, queue None, partition None: ",
            ]
        );
        assert_eq!(trace.ids[&7], "jobid_00007");
        let faults = format!("{:#}", trace.faults);
        for expected in [
            "5 left out, 1 put in order",
            "1 record, in line 5: event other than submit_batch_job",
            "line 7: expected -sim-walltime with a number of seconds, found ",
            "line 8: expected -dt with a number of seconds, found soon",
            "line 9: expected --ntasks with a number from 1 on, found 0",
            "line 10: expected `-dt SECONDS -e submit_batch_job | OPTIONS SCRIPT`, found -dt 13 -e sub",
        ] {
            assert!(faults.contains(expected), "{faults}");
        }
        let nodes = read(EVENTS.as_bytes(), SizeIn::Nodes).unwrap();
        // Job 8 has tasks, but nothing says on how many nodes.
        assert_eq!(nodes.jobs.iter().map(|job| job.nodes().unwrap()).collect::<Vec<_>>(), [3, 1, 2]);
        assert!(is_events(b"\n-dt 1") && !is_events(b"-1 0"));
    }

    #[test]
    fn names_that_are_no_numbers_are_numbered_by_position() {
        let line = |name: &str| format!("-dt 1 -e submit_batch_job | -J {name} -sim-walltime 5 -n 1 job\n");
        let trace = read((line("a") + &line("b1")).as_bytes(), SizeIn::Cores).unwrap();
        assert_eq!(trace.jobs.iter().map(|job| job.number).collect::<Vec<_>>(), [1, 2]);
        assert!(trace.faults.renumbered && trace.faults.is_empty());
        assert_eq!(trace.ids.into_values().collect::<Vec<_>>(), ["a", "b1"]);
    }

    #[test]
    fn time_limits_are_those_of_sbatch() {
        let minutes = |text: &str| time_limit(text).map(|limit| limit.micros() / 60_000_000);
        let limits = ["90", "90:30", "1:30:00", "2-12", "2-12:30", "2-12:30:00", "1-", "UNLIMITED", "1:2:3:4", ""];
        let expected = [Some(90), Some(90), Some(90), Some(3_600), Some(3_630), Some(3_630), None, None, None, None];
        assert_eq!(limits.map(minutes), expected);
    }
}
