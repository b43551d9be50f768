//! `hansa when`: predicted starts of a job that is submitted at a moment of a run, a log, or a listing of Slurm.

use std::path::PathBuf;

use clap::Args;
use time::OffsetDateTime;

use super::disk::unreadable_input;
use super::flag_values::{parse_clock_span, parse_count};
use super::inline::watch_for_interrupts;
use super::input::{load_text, read_typed};
use super::outside::Stop;
use super::pool::in_parallel;
use super::report::OpenedResult;
use super::sanitize::sanitize_text;
use super::terminal::ItemCounter;
use super::{Failure, err, logs, out};
use hansa_report::when::{
    Calibration, Moment, Outcome, PolicyAnswer, PredictedRun, QueueRule, SiteLog, Unit, WantedJob, When, read_squeue,
};
use hansa_sim::grid::{QueueOrder, Reserved};
use hansa_sim::near::nearest_name;
use hansa_sim::random::SplitMix64;
use hansa_sim::roles::queue::{self, QueuePolicyRow};
use hansa_sim::settings::format_counted;
use hansa_sim::systems::managers;
use hansa_sim::time::{Span, Time};
use hansa_sim::topology::Topology;
use hansa_sim::workload::{Trace, swf};

#[derive(Args)]
pub struct WhenArgs {
    /// A result folder; without one, --log names what runs and waits
    #[arg(required_unless_present = "log", conflicts_with = "log")]
    out: Option<PathBuf>,
    /// A log that says when its jobs started (SWF), or the output of `squeue --json`; `-` is standard input
    #[arg(long, value_name = "FILE")]
    log: Option<String>,
    /// The cores of the site of --log [default: MaxProcs in the header of a log]
    #[arg(long, value_name = "N", conflicts_with = "out", value_parser = parse_count::<u32>(1..=u32::MAX))]
    site_cores: Option<u32>,
    /// The nodes of the site of --log, if jobs are counted in nodes
    #[arg(
        long, value_name = "N", conflicts_with_all = ["out", "site_cores"],
        value_parser = parse_count::<u32>(1..=u32::MAX)
    )]
    site_nodes: Option<u32>,
    /// Only the jobs of this partition of `squeue --json`
    #[arg(long, value_name = "NAME", conflicts_with = "out")]
    partition: Option<String>,
    /// The site of the run [default: the only one]
    #[arg(long, value_name = "NAME", conflicts_with = "log")]
    site: Option<String>,
    /// The moment of the question, such as 4d or "4d 15:58:15" [default: the end, if jobs run or wait then]
    #[arg(long, value_name = "TIME", value_parser = parse_clock_span)]
    at: Option<Span>,
    /// The cores of the job
    #[arg(
        long, value_name = "N", required_unless_present_any = ["nodes", "calibrate"],
        value_parser = parse_count::<u32>(1..=u32::MAX)
    )]
    cores: Option<u32>,
    /// The nodes of the job, where jobs are counted in nodes
    #[arg(long, value_name = "N", conflicts_with = "cores", value_parser = parse_count::<u32>(1..=u32::MAX))]
    nodes: Option<u32>,
    /// The time that the job requests, such as 4h, 04:00:00 or 1-12:00:00
    #[arg(long, value_name = "TIME", required_unless_present = "calibrate", value_parser = parse_walltime)]
    walltime: Option<Span>,
    /// The user of the job, whose earlier jobs predict its end
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Policies, separated by commas [default: that of the site, easy, conservative, fcfs]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = parse_policy)]
    policy: Vec<Policy>,
    /// Predict the starts of this many jobs of the log itself, and count how many started within their intervals
    #[arg(
        long, value_name = "JOBS", num_args = 0..=1, default_missing_value = "200",
        conflicts_with_all = ["at", "cores", "nodes", "walltime", "user"],
        value_parser = parse_count::<u32>(1..=1_000_000)
    )]
    calibrate: Option<u32>,
    /// The number of repetitions
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = parse_count::<u32>(20..=100_000))]
    runs: u32,
    /// The seed of all random numbers
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_count::<u64>(0..=u64::MAX))]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A policy that the command line names.
#[derive(Clone, Copy)]
struct Policy(&'static QueuePolicyRow);

/// Policies that are compared with that of the site.
const USUAL: [&str; 3] = ["easy", "conservative", "fcfs"];

/// Repetitions that a thread makes at once.
const AT_ONCE: u64 = 10;

/// Jobs of a site, and all else that a question refers to.
struct Scene {
    /// Path of the folder or file, for messages.
    source: String,
    site: String,
    log: SiteLog,
    /// Moment of the question unless another is chosen. None if nothing runs or waits at the end.
    now: Option<Time>,
    order: QueueOrder,
    reserved: Vec<Reserved>,
    /// Policy of the site, if it is one for queues.
    own: Option<&'static QueuePolicyRow>,
    /// True if times are those of Unix.
    has_dates: bool,
}

/// Predicts the start of a job, or the starts of jobs of the log itself, and prints them.
pub fn predict_starts(args: &WhenArgs) -> Result<(), Failure> {
    let scene = match (&args.out, &args.log) {
        (Some(folder), _) => Scene::of_result(folder, args.site.as_deref())?,
        (None, Some(log)) => Scene::of_log(log, args)?,
        (None, None) => return Err(Failure::Input("expected a result folder, or --log FILE".to_owned())),
    };
    if scene.log.too_large > 0 {
        let jobs = format_counted(scene.log.too_large, "job");
        let size = format_counted(scene.log.cores.into(), args.unit());
        err::warning(&format!("{}: {jobs} left out, larger than the site ({size})", scene.source));
    }
    match args.calibrate {
        Some(jobs) => scene.calibrate(args, jobs as usize),
        None => scene.answer(args),
    }
}

impl WhenArgs {
    /// Unit of sizes in messages.
    fn unit(&self) -> &'static str {
        if self.nodes.or(self.site_nodes).is_some() { "node" } else { "core" }
    }
}

impl Scene {
    fn of_result(folder: &std::path::Path, site: Option<&str>) -> Result<Scene, Failure> {
        let OpenedResult { manifest, topology, tally, .. } = OpenedResult::of(folder)?;
        let source = folder.display().to_string();
        let place = choose_site(&topology, site).map_err(|fault| Failure::input_at(&source, fault))?;
        let chosen = &topology.sites[place];
        let name = &chosen.name;
        if !chosen.systems.iter().any(|system| topology.systems[*system].system_row().traits.is_rigid) {
            let fault = format!("site {name} has no queue of jobs: expected a run under a [batch] table");
            return Err(Failure::input_at(source, fault));
        }
        if managers::shares_nodes(&chosen.scheduler) {
            let scheduler = &chosen.scheduler;
            return Err(Failure::input_at(
                source,
                format!(
                    "jobs share the cores of site {name} ({scheduler}): expected a site where jobs wait for cores of \
                     their own"
                ),
            ));
        }
        let own = queue::find_policy(&chosen.scheduler);
        if own.is_none() {
            let scheduler = sanitize_text(&chosen.scheduler);
            err::warning(&format!(
                "{source}: the scheduler of site {name}, {scheduler}, is a program, and is not predicted"
            ));
        }
        if topology.failing().site(place).is_some() {
            err::warning(&format!("{source}: failures of the nodes of site {name} are not predicted"));
        }
        let is_multifactor = chosen.order == QueueOrder::Multifactor;
        if is_multifactor {
            err::warning(&format!(
                "{source}: priorities of site {name} (order = \"multifactor\") are not predicted: jobs are taken in \
                 order of arrival"
            ));
        }
        // Only the logs know the users of their jobs.
        let with_logs = load_text(&manifest.topology);
        if let Err(why) = &with_logs {
            err::warning(&format!("run times are predicted by the users of the run, not by those of its logs: {why}"));
        }
        let log = tally.site_log(place, with_logs.as_ref().ok());
        let has_unfinished = log.jobs.iter().any(|job| job.end.is_none());
        let now = log.covered_time().map(|(_, last)| last).filter(|_| has_unfinished);
        Ok(Scene {
            site: format!("site {name}"),
            now,
            order: if is_multifactor { QueueOrder::Arrival } else { chosen.order },
            reserved: chosen.reserved.clone(),
            own,
            has_dates: false,
            log,
            source,
        })
    }

    fn of_log(path: &str, args: &WhenArgs) -> Result<Scene, Failure> {
        let bytes = read_typed(path).map_err(|error| unreadable_input(path.as_ref(), &error))?;
        let wrong = |what: String| Failure::Input(format!("{path}: {what}"));
        let size = args.site_cores.or(args.site_nodes);
        let scene = |log: SiteLog, now: Time, is_listing: bool| Scene {
            source: path.to_owned(),
            site: "the site".to_owned(),
            now: Some(now),
            order: QueueOrder::Arrival,
            reserved: Vec::new(),
            own: None,
            has_dates: is_listing,
            log,
        };
        match bytes.trim_ascii_start().first() {
            Some(b'{') => {
                let size = size.ok_or_else(|| {
                    wrong("expected --site-cores N or --site-nodes N, the size of the site".to_owned())
                })?;
                let unit = if args.site_nodes.is_some() { Unit::Nodes } else { Unit::Cores };
                check_unit(unit, args)?;
                let listing = read_squeue(&bytes, size, unit, args.partition.as_deref()).map_err(wrong)?;
                if listing.not_ready > 0 {
                    let jobs = format_counted(listing.not_ready, "waiting job");
                    err::warning(&format!("{path}: {jobs} left out, held or not ready to run"));
                }
                if listing.arrays > 0 {
                    let arrays = format_counted(listing.arrays, "array");
                    err::warning(&format!(
                        "{path}: {arrays} counted as one job each; `squeue --array --json` lists tasks"
                    ));
                }
                if listing.unlimited > 0 {
                    let jobs = format_counted(listing.unlimited, "job");
                    err::warning(&format!("{path}: {jobs} without a time limit, taken to request 365 days"));
                }
                if args.partition.is_none() && listing.partitions.len() > 1 {
                    let names = listing.partitions.join(", ");
                    err::warning(&format!(
                        "{path}: jobs of several partitions ({names}) are taken for one queue; --partition chooses"
                    ));
                }
                if args.at.is_some() {
                    return Err(wrong("a listing has one moment only: leave --at out".to_owned()));
                }
                Ok(scene(listing.log, listing.now, true))
            }
            Some(byte) if byte.is_ascii_digit() || b";-".contains(byte) => {
                if args.partition.is_some() {
                    return Err(wrong("--partition is for the output of `squeue --json`".to_owned()));
                }
                let trace = swf::read_log(&bytes[..]).map_err(|error| unreadable_input(path.as_ref(), &error))?;
                if !trace.faults.is_empty() {
                    err::warning(&format!("{path}: {}", trace.faults));
                }
                let size = size.or_else(|| processors(&trace)).ok_or_else(|| {
                    wrong("expected --site-cores N, the size of the site, as its header has no MaxProcs".to_owned())
                })?;
                let (log, now) = SiteLog::of_trace(&trace, size).map_err(wrong)?;
                Ok(scene(log, now, false))
            }
            _ => {
                let text = String::from_utf8_lossy(&bytes);
                let kinds = "a log of jobs (SWF), which `hansa convert` also makes of a dump of sacct, or the output of \
                             `squeue --json`";
                Err(logs::unknown_kind(path, &text, kinds))
            }
        }
    }

    /// Policies of the question, each with its name; the first is that of the site, unless others are named.
    fn policies(&self, args: &WhenArgs, usual: &[&str]) -> Vec<&'static QueuePolicyRow> {
        if !args.policy.is_empty() {
            return args.policy.iter().map(|policy| policy.0).collect();
        }
        let usual = usual.iter().filter_map(|name| queue::find_policy(name));
        let usual = usual.filter(|row| self.own.is_none_or(|own| own.name != row.name));
        self.own.into_iter().chain(usual).collect()
    }

    fn rule(&self, policy: &'static QueuePolicyRow) -> QueueRule<'_> {
        QueueRule { policy, order: self.order, reserved: &self.reserved }
    }

    /// The moment of the question.
    fn moment(&self, at: Option<Span>) -> Result<Moment<'_>, Failure> {
        // An idle site has a listing without jobs.
        let listed = self.now.filter(|now| !self.log.has_past && *now > Time::ZERO).map(|now| (now, now));
        let covers = self.log.covered_time().or(listed);
        let (first, last) =
            covers.ok_or_else(|| Failure::input_at(&self.source, format!("no job is at {}", self.site)))?;
        let now = match at.map(|at| Time::ZERO + at) {
            Some(at) if !(first..=last).contains(&at) => {
                let (at, first, last) = (self.time(at), self.time(first), self.time(last));
                let fault = format!("--at {at}: expected a time from {first} to {last}, which the log covers");
                return Err(Failure::input_at(&self.source, fault));
            }
            Some(at) => at,
            None => self.now.ok_or_else(|| {
                let (first, last) = (self.time(first), self.time(last));
                let fault = format!("all jobs have ended: expected --at TIME, from {first} to {last}");
                Failure::input_at(&self.source, fault)
            })?,
        };
        Ok(Moment::at(&self.log, now))
    }

    /// A time in words: virtual, or a date.
    fn time(&self, time: Time) -> String {
        let seconds = time.micros() / 1_000_000;
        let date = i64::try_from(seconds).ok().and_then(|seconds| OffsetDateTime::from_unix_timestamp(seconds).ok());
        match date.filter(|_| self.has_dates) {
            Some(date) => {
                let (year, month, day) = (date.year(), u8::from(date.month()), date.day());
                format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", date.hour(), date.minute())
            }
            None => Time::from_micros(seconds * 1_000_000).to_string(),
        }
    }

    fn answer(&self, args: &WhenArgs) -> Result<(), Failure> {
        let (Some(cores), Some(walltime)) = (args.cores.or(args.nodes), args.walltime) else {
            return Err(Failure::Input("expected --cores N and --walltime TIME of the job".to_owned()));
        };
        if cores > self.log.cores {
            return Err(Failure::Input(format!(
                "{}: the job needs {}, but {} has {}: it would never start",
                self.source,
                format_counted(cores.into(), args.unit()),
                self.site,
                self.log.cores
            )));
        }
        let user = args.user.as_deref().map(|name| self.user(name)).transpose()?;
        let wanted = WantedJob { cores, walltime, user };
        let moment = self.moment(args.at)?;
        let runs = u64::from(args.runs);
        let mut answer = When::of(&self.site, &self.log, &moment, wanted, runs, args.seed);
        if answer.running.cores > u64::from(self.log.cores) {
            let used = format_counted(answer.running.cores, args.unit());
            let advice = match args.unit() {
                "node" => "expected a larger --site-nodes, or --site-cores where jobs share nodes",
                _ => "expected a larger --site-cores",
            };
            let site = &self.site;
            err::warning(&format!("{}: jobs run on {used}, but {site} has {}: {advice}", self.source, self.log.cores));
        }
        let policies = self.policies(args, &USUAL);
        let batches: Vec<(usize, u64)> = (0..policies.len())
            .flat_map(|policy| (0..runs).step_by(AT_ONCE as usize).map(move |first| (policy, first)))
            .collect();
        let draw = |(policy, first): &(usize, u64)| {
            let rule = self.rule(policies[*policy]);
            let numbers = *first..(first + AT_ONCE).min(runs);
            let drawn: Vec<_> = numbers.map(|number| moment.draw(rule, wanted, args.seed, number)).collect();
            (*policy, drawn)
        };
        let mut drawn: Vec<Vec<Option<PredictedRun>>> = vec![Vec::new(); policies.len()];
        for (policy, runs) in work_through("batches of repetitions", &batches, &draw)? {
            drawn[policy].extend(runs);
        }
        for (policy, runs) in policies.iter().zip(&drawn) {
            let is_own = self.own.is_some_and(|own| own.name == policy.name);
            answer.policies.push(PolicyAnswer::of(policy.name, is_own, moment.now(), runs));
        }
        if args.json {
            return out::always(&format!("{:#}\n", serde_json::json!(answer)));
        }
        out::always(&answer.text(args.unit(), &|time| self.time(time)))
    }

    fn calibrate(&self, args: &WhenArgs, jobs: usize) -> Result<(), Failure> {
        if !self.log.has_past {
            let fault = "a listing has no finished jobs: --calibrate needs a log or a result";
            return Err(Failure::input_at(&self.source, fault));
        }
        let mut started: Vec<usize> =
            (0..self.log.jobs.len()).filter(|job| self.log.jobs[*job].start.is_some()).collect();
        let count = started.len();
        if count == 0 {
            return Err(Failure::input_at(&self.source, "no job has started, so there is nothing to compare with"));
        }
        let mut stream = SplitMix64::new(args.seed);
        for place in 0..jobs.min(count) {
            let other = stream.int(place as u64, count as u64 - 1) as usize;
            started.swap(place, other);
        }
        started.truncate(jobs);
        let mut results = Vec::new();
        let usual = if self.own.is_none() { &USUAL[..1] } else { &[] };
        for policy in self.policies(args, usual) {
            let rule = self.rule(policy);
            let runs = u64::from(args.runs);
            let predict = |job: &usize| Outcome::of(&self.log, *job, rule, runs, args.seed);
            let outcomes: Vec<Outcome> = work_through("jobs", &started, &predict)?.into_iter().flatten().collect();
            results.push(Calibration::of(policy.name, count as u64, &outcomes, runs, args.seed));
        }
        if args.json {
            return out::always(&format!("{:#}\n", serde_json::json!(results)));
        }
        out::always(&results.iter().map(ToString::to_string).collect::<String>())
    }

    fn user(&self, name: &str) -> Result<u32, Failure> {
        let users = &self.log.users;
        // A user of the log comes after one of the run with an equal name.
        let found = users.iter().rposition(|user| user == name);
        found.map(|user| user as u32).ok_or_else(|| {
            let near = nearest_name(name, users.iter().map(String::as_str));
            let near = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
            Failure::Input(format!("--user {}: no job of {} is from this user{near}", sanitize_text(name), self.source))
        })
    }
}

/// Does all work on all cores, and shows the progress.
fn work_through<T: Sync, R: Send>(
    what: &'static str,
    items: &[T],
    work: &(dyn Fn(&T) -> R + Sync),
) -> Result<Vec<R>, Failure> {
    let stop: Stop = watch_for_interrupts()?;
    let stopped = || stop.load(std::sync::atomic::Ordering::Relaxed);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut progress = ItemCounter::new(what, items.len(), 0).with_patience().with_note_line();
    let mut results = Vec::with_capacity(items.len());
    in_parallel(items, threads, &stopped, work, &mut |result| {
        results.extend(result);
        progress.update(results.len());
    });
    progress.clear();
    if results.len() < items.len() {
        return Err(Failure::Interrupted("interrupted: nothing was predicted".to_owned()));
    }
    Ok(results)
}

/// Index of the site that is named, or of the only one.
fn choose_site(topology: &Topology, name: Option<&str>) -> Result<usize, String> {
    let names: Vec<&str> = topology.sites.iter().map(|site| site.name.as_str()).collect();
    match (name, &names[..]) {
        (None, [_]) => Ok(0),
        (None, _) => Err(format!("it has several sites: expected --site with one of {}", names.join(", "))),
        (Some(name), _) => names.iter().position(|other| *other == name).ok_or_else(|| {
            let near = nearest_name(name, names.iter().copied());
            let near = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
            format!("there is no site {}; sites: {}{near}", sanitize_text(name), names.join(", "))
        }),
    }
}

/// Fails if the job is counted in another unit than the site.
fn check_unit(unit: Unit, args: &WhenArgs) -> Result<(), Failure> {
    let (site, job) = match unit {
        Unit::Cores if args.nodes.is_some() => ("--site-cores", "--nodes"),
        Unit::Nodes if args.cores.is_some() => ("--site-nodes", "--cores"),
        Unit::Cores | Unit::Nodes => return Ok(()),
    };
    Err(Failure::Input(format!("{site} and {job}: expected site and job in one unit, cores or nodes")))
}

/// Number of processors in the header of a log.
fn processors(trace: &Trace) -> Option<u32> {
    let line = trace.header.iter().find_map(|line| line.trim_start().strip_prefix("MaxProcs:"))?;
    line.split_whitespace().next()?.parse().ok().filter(|procs| *procs > 0)
}

/// Parses the name of a policy.
fn parse_policy(text: &str) -> Result<Policy, String> {
    queue::find_policy(text).map(Policy).ok_or_else(|| {
        let names: Vec<&str> = queue::ALL.iter().map(|row| row.name).collect();
        let near = nearest_name(text, names.iter().copied());
        let near = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
        format!("expected {}{near}", names.join(" or "))
    })
}

/// Parses the requested time of a job.
fn parse_walltime(text: &str) -> Result<Span, String> {
    parse_clock_span(text)
        .and_then(|span| if span.is_zero() { Err("expected a time above 0, such as 4h".to_owned()) } else { Ok(span) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_and_times_say_what_is_expected() {
        assert!(parse_policy("easy").is_ok_and(|policy| policy.0.name == "easy"));
        let wrong = parse_policy("conservativ").err().unwrap();
        assert!(wrong.starts_with("expected fcfs or easy") && wrong.ends_with("did you mean conservative?"), "{wrong}");
        assert_eq!(parse_walltime("4h"), Ok(Span::from_secs(4 * 3_600)));
        assert_eq!(parse_walltime("0 s").unwrap_err(), "expected a time above 0, such as 4h");
    }

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        when: WhenArgs,
    }

    fn parse(line: &str) -> Result<WhenArgs, clap::Error> {
        <Line as clap::Parser>::try_parse_from(line.split(' ')).map(|line| line.when)
    }

    #[test]
    fn a_result_has_a_size_and_partitions_of_its_own() {
        assert!(parse("when out/batch --cores 1 --walltime 1h").is_ok());
        for option in ["--site-cores", "--site-nodes", "--partition"] {
            let line = format!("when out/batch --cores 1 --walltime 1h {option} 4");
            assert!(
                parse(&line).is_err_and(|error| error.kind() == clap::error::ErrorKind::ArgumentConflict),
                "{line}"
            );
        }
    }

    #[test]
    fn logs_of_other_kinds_and_idle_sites_are_distinguished() {
        let scratch = tempfile::TempDir::new().unwrap();
        let file = scratch.path().join("file");
        let scene = |text: &str| {
            std::fs::write(&file, text).unwrap();
            let line = format!("when --log {} --site-nodes 4 --nodes 1 --walltime 1h", file.display());
            Scene::of_log(file.to_str().unwrap(), &parse(&line).unwrap())
        };
        let Err(Failure::Input(wrong)) = scene("JobIDRaw|Submit|Start|ElapsedRaw|NCPUS\n") else { panic!() };
        assert!(wrong.contains("`hansa convert` also makes of a dump of sacct"), "{wrong}");
        let meta = r#""meta": {"plugin": {"data_parser": "v0.0.41"}}"#;
        let idle = scene(&format!(r#"{{{meta}, "jobs": [], "last_update": 900}}"#)).ok().unwrap();
        assert!(idle.moment(None).is_ok_and(|moment| moment.now() == Time::ZERO + Span::from_secs(900)));
        let undated = scene(&format!(r#"{{{meta}, "jobs": []}}"#)).ok().unwrap();
        assert!(undated.moment(None).is_err());
    }

    #[test]
    fn a_log_names_its_size() {
        let size = |header: &str| processors(&Trace { header: vec![header.to_owned()], ..Trace::default() });
        assert_eq!(size("MaxProcs: 240"), Some(240));
        assert_eq!(size(" MaxProcs:  128 (of 240)"), Some(128));
        assert_eq!(size("MaxNodes: 120"), None);
    }
}
