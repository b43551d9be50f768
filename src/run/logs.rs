//! Logs of rigid jobs as files: conversion between formats, and jobs of a model in any of them.

use std::io::{BufRead, Cursor};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::disk::{unreadable_input, write_named};
use super::flag_values::parse_count;
use super::input::{STANDARD_INPUT, read_typed};
use super::sanitize::sanitize_text;
use super::terminal::Activity;
use super::{Failure, err, gzip, out};
use hansa_sim::grid::{JobShape, Request};
use hansa_sim::random::SplitMix64;
use hansa_sim::settings::format_counted;
use hansa_sim::settings::units::{self, Inexact};
use hansa_sim::time::{Span, Time};
use hansa_sim::topology::Topology;
use hansa_sim::workload::lublin::{Lublin, Sizes, Stream, Times, Types};
use hansa_sim::workload::malleable::{Malleability, STEPS_MAX};
use hansa_sim::workload::rigids::Rigids;
use hansa_sim::workload::{Rigid, Source, Trace, batsim, sacct, slurm_events, swf};

/// Format of a log that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// The Standard Workload Format
    Swf,
    /// A Batsim workload (JSON)
    Batsim,
    /// Requests for reservations, for a topology to include (TOML)
    Requests,
}

impl LogFormat {
    /// Extension of files of this format.
    fn file_extension(self) -> &'static str {
        match self {
            LogFormat::Swf => "swf",
            LogFormat::Batsim => "json",
            LogFormat::Requests => "toml",
        }
    }

    /// Fails if a file has the extension of another format.
    fn fits(self, out: Option<&Path>) -> Result<(), Failure> {
        check_extension(out, self.file_extension())
            .map_err(|failure| failure.with_line("  --to chooses another format"))
    }
}

/// Fails if the extension of a file is that of another format than `ending`.
pub fn check_extension(out: Option<&Path>, ending: &str) -> Result<(), Failure> {
    const ENDINGS: [&str; 12] =
        ["swf", "json", "toml", "gz", "csv", "tsv", "xml", "dax", "dot", "yaml", "parquet", "html"];
    let named = out.and_then(|out| Some((out, out.extension()?)));
    match named.filter(|(_, found)| *found != ending && ENDINGS.iter().any(|other| found == other)) {
        Some((out, _)) => {
            let out = out.display();
            Err(Failure::Input(format!(
                "--out {out}: expected a file that ends in .{ending}, the format of the output"
            )))
        }
        None => Ok(()),
    }
}

#[derive(Args)]
#[command(
    after_help = "The constants are the paper's, for a machine of 128 nodes, with sizes scaled to --nodes; a topology \
        (source = \"lublin\") can set each of them."
)]
pub struct LublinArgs {
    /// The number of jobs
    #[arg(long, value_name = "N", value_parser = parse_count::<u32>(1..=5_000_000))]
    jobs: u32,
    /// The number of nodes of the machine, which is the largest size of a job
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = parse_count::<u32>(1..=u32::MAX))]
    nodes: u32,
    /// The seed of all random numbers
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_count::<u64>(0..=u64::MAX))]
    seed: u64,
    /// Batch and interactive jobs (two), or a single type (one)
    #[arg(long, value_name = "WORD", default_value = "two", value_parser = parse_types)]
    types: Types,
    /// Hansa's own stream of random numbers, or that of the authors' program (posix48)
    #[arg(long, value_name = "WORD", default_value = "own", value_parser = parse_stream)]
    stream: Stream,
    /// The factor by which jobs arrive faster than in the model
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = parse_factor)]
    arrival_factor: f64,
    /// The walltime that jobs request, as a multiple of their run time
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = parse_overestimate)]
    overestimate: f64,
    /// The format of the output
    #[arg(long, value_enum, default_value_t = LogFormat::Swf)]
    to: LogFormat,
    #[command(flatten)]
    margins: MarginArgs,
    /// The file to write [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Margins and shapes of requests for reservations, as the command line has them.
#[derive(Args, Clone, Copy, Default)]
pub struct MarginArgs {
    /// With --to requests: the largest number of durations between arrival and ready time [default: 0]
    #[arg(long, value_name = "FACTOR", value_parser = at_least_none)]
    ahead: Option<f64>,
    /// With --to requests: the largest number of durations between the earliest end and the deadline [default: 3]
    #[arg(long, value_name = "FACTOR", value_parser = at_least_none)]
    slack: Option<f64>,
    /// With --to requests: how often the nodes of a request may be halved or doubled, each a further shape [default: 0]
    #[arg(long, value_name = "N", value_parser = parse_count::<u32>(0..=STEPS_MAX))]
    malleable: Option<u32>,
    /// With --malleable: the serial fraction of each job [default: 0]
    #[arg(long, value_name = "FRACTION", value_parser = parse_fraction, requires = "malleable")]
    serial_fraction: Option<u64>,
}

impl MarginArgs {
    /// The margins, if the output has any.
    pub fn to_margins(self, to: LogFormat, seed: u64) -> Result<Margins, Failure> {
        let MarginArgs { ahead, slack, malleable, serial_fraction } = self;
        let given = [
            (ahead.is_some(), "--ahead: expected --to requests, as only requests have margins"),
            (slack.is_some(), "--slack: expected --to requests, as only requests have margins"),
            (malleable.is_some(), "--malleable: expected --to requests, as only requests have shapes"),
        ];
        if let Some((_, why)) = given.into_iter().find(|(given, _)| *given && to != LogFormat::Requests) {
            return Err(Failure::Input(why.to_owned()));
        }
        let steps = malleable.unwrap_or(0);
        let serial_millionths = serial_fraction.unwrap_or(0);
        if steps == 0 && serial_fraction.is_some() {
            let why = "--serial-fraction: leave it out, as without --malleable from 1 on, requests have one shape";
            return Err(Failure::Input(why.to_owned()));
        }
        let malleability = Malleability { steps, serial_millionths };
        Ok(Margins { ahead: ahead.unwrap_or(0.0), slack: slack.unwrap_or(3.0), seed, malleability })
    }
}

/// Kinds of logs that are read, for messages.
const LOG_KINDS: &str =
    "a log of jobs (SWF), a Batsim workload (JSON), a dump of sacct with a header or events of Slurm's simulator";

/// Format of a log that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadFormat {
    Swf,
    Batsim,
    /// Accounting of Slurm, or events of its simulator.
    Slurm,
}

impl ReadFormat {
    /// The format that such a log is converted to unless another one is chosen.
    pub fn usual_target(self) -> LogFormat {
        match self {
            ReadFormat::Swf => LogFormat::Batsim,
            ReadFormat::Batsim | ReadFormat::Slurm => LogFormat::Swf,
        }
    }
}

/// The failure to recognise a file, expected to be a log or of one of the `other` kinds. Shows how the file begins.
pub fn unknown_log(path: &str, text: &str, other: &str) -> Failure {
    unknown_kind(path, text, &format!("{LOG_KINDS}, or {other}"))
}

/// The failure to recognise a file of one of these kinds. Shows how the file begins.
pub fn unknown_kind(path: &str, text: &str, kinds: &str) -> Failure {
    const SHOWN: usize = 40;
    let begin: String = text.trim_start().lines().next().unwrap_or_default().chars().take(SHOWN).collect();
    let line = text.len() - text.trim_start().len();
    let line = 1 + text[..line].matches('\n').count();
    Failure::Input(format!("{path}:{line}: expected {kinds}, found `{}`", sanitize_text(begin.trim_end())))
}

/// Form of a log of Slurm, as the command line has it.
#[derive(Args, Clone, Default)]
pub struct SlurmLogArgs {
    /// With a log of Slurm: the size of a job, its cores or its nodes [default: cores]
    #[arg(long, value_name = "WORD", value_parser = parse_size)]
    size: Option<sacct::SizeIn>,
    /// With a dump of sacct without a header: its columns, as sacct --format has them
    #[arg(long, value_name = "NAMES")]
    fields: Option<String>,
    /// With a dump of sacct: the text between columns [default: that of the header, or |]
    #[arg(long, value_name = "TEXT", value_parser = parse_delimiter)]
    delimiter: Option<String>,
}

impl SlurmLogArgs {
    fn to_form(&self) -> sacct::Form {
        let SlurmLogArgs { size, fields, delimiter } = self.clone();
        sacct::Form { size: size.unwrap_or_default(), fields, delimiter }
    }

    /// True if the arguments can only be about a dump of sacct.
    fn expect_dump(&self) -> bool {
        self.fields.is_some() || self.delimiter.is_some()
    }

    /// Fails if a log that is not of Slurm comes with these arguments.
    pub fn check_unused(&self, path: &str) -> Result<(), Failure> {
        let given = [
            (self.size.is_some(), "--size"),
            (self.fields.is_some(), "--fields"),
            (self.delimiter.is_some(), "--delimiter"),
        ];
        match given.into_iter().find(|(is_given, _)| *is_given) {
            Some((_, flag)) => {
                Err(Failure::Input(format!("{flag}: expected a log of Slurm, {path} is another kind of file")))
            }
            None => Ok(()),
        }
    }
}

fn parse_size(text: &str) -> Result<sacct::SizeIn, String> {
    parse_word(text, sacct::SizeIn::ALL)
}

fn parse_delimiter(text: &str) -> Result<String, String> {
    if (1..=sacct::DELIMITER_MAX).contains(&text.len()) {
        Ok(text.to_owned())
    } else {
        Err(format!("expected a text of 1 to {} bytes", sacct::DELIMITER_MAX))
    }
}

/// Reads a log in any known format, compressed or not. None if the format is not known.
pub fn read_log(path: &str) -> Result<Option<(Trace, ReadFormat)>, Failure> {
    read_log_as(path, &SlurmLogArgs::default())
}

/// Reads a log as [`read_log`] does; a log of Slurm has this form.
pub fn read_log_as(path: &str, slurm: &SlurmLogArgs) -> Result<Option<(Trace, ReadFormat)>, Failure> {
    let unreadable = |error: std::io::Error| unreadable_input(path.as_ref(), &error);
    let mut input: Box<dyn BufRead> = match path {
        STANDARD_INPUT => Box::new(Cursor::new(read_typed(path).map_err(unreadable)?)),
        path => gzip::open_unpacked(Path::new(path)).map_err(unreadable)?,
    };
    let _activity = Activity::new(format!("reading {}", sanitize_text(path)));
    let first = first_letter(&mut input).map_err(unreadable)?;
    if slurm.expect_dump() && first.is_some() {
        let bytes = gzip::read_lines(input).map_err(unreadable)?;
        let trace = sacct::read(&bytes, &slurm.to_form()).map_err(|error| Failure::input_at(path, error))?;
        return Ok(Some((trace, ReadFormat::Slurm)));
    }
    match first {
        Some(b'{') => {
            let bytes = gzip::read_lines(input).map_err(unreadable)?;
            let trace = batsim::read_workload(&bytes[..]).map_err(|error| Failure::input_at(path, error))?;
            Ok(Some((trace, ReadFormat::Batsim)))
        }
        Some(b'-') if slurm_events::is_events(input.fill_buf().map_err(unreadable)?) => {
            let trace = slurm_events::read(input, slurm.to_form().size).map_err(unreadable)?;
            Ok(Some((trace, ReadFormat::Slurm)))
        }
        Some(b';' | b'-' | b'0'..=b'9') => Ok(Some((swf::read_log(input).map_err(unreadable)?, ReadFormat::Swf))),
        Some(_) => {
            let bytes = gzip::read_lines(input).map_err(unreadable)?;
            if !sacct::is_dump(&bytes) {
                return Ok(None);
            }
            let trace = sacct::read(&bytes, &slurm.to_form()).map_err(|error| Failure::input_at(path, error))?;
            Ok(Some((trace, ReadFormat::Slurm)))
        }
        None => Err(Failure::input_at(path, format!("the file is empty: expected {LOG_KINDS}"))),
    }
}

/// Advances the input to its first character that is not white space, and returns that.
fn first_letter(input: &mut impl BufRead) -> std::io::Result<Option<u8>> {
    loop {
        let bytes = input.fill_buf()?;
        let Some(&first) = bytes.first() else { return Ok(None) };
        if !first.is_ascii_whitespace() {
            return Ok(Some(first));
        }
        input.consume(1);
    }
}

/// Fails if a log that a topology reads has faults.
pub fn check_logs(topology: &Topology) -> Result<(), Failure> {
    let faulty = topology_logs(topology).filter(|(_, rigids)| !rigids.content.faults.is_empty());
    let faults: Vec<String> = faulty.map(|(path, rigids)| format!("{path}: {}", rigids.content.faults)).collect();
    if faults.is_empty() { Ok(()) } else { Err(Failure::Input(faults.join("\n"))) }
}

/// Faults of the logs that a topology reads, and notes on them: the first few of each log, or all that are kept. Logs
/// without either are left out.
pub fn log_remarks(topology: &Topology, with_all: bool) -> Vec<String> {
    let mut remarks = Vec::new();
    for (path, rigids) in topology_logs(topology) {
        remarks.extend(rigids.content.report(with_all).map(|report| format!("{path}: {report}")));
    }
    remarks
}

/// Faults of these logs, in full, even if only a part of a log runs.
pub fn log_faults(topology: &Topology) -> impl Iterator<Item = String> + '_ {
    let faulty = topology_logs(topology).filter(|(_, rigids)| !rigids.content.faults.is_empty());
    faulty.map(|(path, rigids)| format!("{path}: {}", rigids.content.faults))
}

/// Notes on windows of logs that hold few jobs, or reach beyond their log.
pub fn window_notes(topology: &Topology) -> impl Iterator<Item = String> + '_ {
    topology_logs(topology).filter_map(|(path, rigids)| Some(format!("{path}: {}", rigids.window_note()?)))
}

fn topology_logs(topology: &Topology) -> impl Iterator<Item = (&str, &Rigids)> {
    topology.workloads.iter().filter_map(|workload| match &workload.source {
        Source::Rigid(rigids) => rigids.origin.log().map(|log| (log.path.as_str(), rigids)),
        _ => None,
    })
}

/// Converts a log. Faults, and facts that the other format cannot hold, are reported; with `strict` they are an error.
pub fn convert_log(
    path: &str,
    (trace, from): (Trace, ReadFormat),
    to: LogFormat,
    strict: bool,
    margins: Margins,
    out: Option<&Path>,
) -> Result<(), Failure> {
    to.fits(out)?;
    let activity = Activity::new(format!("converting {}", sanitize_text(path)));
    let Trace { mut header, jobs, mut faults, .. } = trace;
    let jobs: Vec<Rigid> = jobs.iter().collect();
    if to != LogFormat::Swf {
        for job in &jobs {
            match job.check() {
                Ok(()) => faults.lengthened += u64::from(job.runtime.is_some_and(Span::is_zero)),
                Err(why) => faults.leave_out(format_args!("job {}", job.number), why.to_string()),
            }
        }
    }
    if jobs.is_empty() {
        let why = match (faults.is_empty(), from) {
            (false, _) => faults.to_string(),
            (true, ReadFormat::Slurm) => "it has only a header or comments".to_owned(),
            (true, _) => "it has only comments".to_owned(),
        };
        return Err(Failure::Input(format!("{path} has no job to convert: {why}")));
    }
    let mut remarks = Vec::new();
    if !faults.is_empty() {
        remarks.push(format!("{path}: {faults}"));
    }
    remarks.extend(dropped_facts(&jobs, to).into_iter().map(|dropped| format!("{path}: {dropped}")));
    if strict && !remarks.is_empty() {
        return Err(Failure::Input(remarks.join("\n")));
    }
    if faults.is_empty() {
        remarks.extend(faults.note().map(|note| format!("{path}: {note}")));
    }
    drop(activity);
    remarks.iter().for_each(|remark| err::warning(remark));
    let nodes = machine_nodes(&header, &jobs);
    // A log that is written in its own format keeps its comments.
    if header.is_empty() || from != ReadFormat::Swf {
        let path = if path == STANDARD_INPUT { "standard input" } else { path };
        let facts = if from == ReadFormat::Slurm { std::mem::take(&mut header) } else { Vec::new() };
        header = swf::log_header(&format!("made from {path}"), jobs.len(), nodes);
        header.extend(facts);
    }
    write_jobs(&header, &jobs, nodes, to, margins, out)
}

/// Facts of jobs that readers of a format ignore, and facts that the format needs and jobs lack.
fn dropped_facts(jobs: &[Rigid], to: LogFormat) -> Vec<String> {
    let follow = (count_sound(jobs, |job| job.preceding.is_some()), "follow another job");
    let have_users = (count_sound(jobs, |job| job.user.is_some() || job.group.is_some()), "have a user or a group");
    let (kinds, which) = match to {
        LogFormat::Swf => return Vec::new(),
        // Batsim does not use users; they are kept under the key `swf`.
        LogFormat::Batsim => (vec![follow], "Batsim ignores that; it is kept under the key `swf`"),
        LogFormat::Requests => (vec![follow, have_users], "requests have no field for that"),
    };
    let kinds: Vec<_> =
        kinds.into_iter().filter(|kind| kind.0 > 0).map(|(count, what)| format!("{count} {what}")).collect();
    let unread = (!kinds.is_empty()).then(|| format!("of the jobs {}, and {which}", kinds.join(" and ")));
    let unasked = if to == LogFormat::Requests { count_sound(jobs, |job| job.walltime().is_none()) } else { 0 };
    let unasked = (unasked > 0).then(|| {
        format!(
            "{} no time, and the run time is taken instead",
            if unasked == 1 { "1 job requests".to_owned() } else { format!("{unasked} jobs request") }
        )
    });
    unread.into_iter().chain(unasked).collect()
}

/// Number of the jobs without a fault that have this.
fn count_sound(jobs: &[Rigid], has: fn(&Rigid) -> bool) -> usize {
    jobs.iter().filter(|job| job.check().is_ok() && has(job)).count()
}

/// Largest margins of requests for reservations, in multiples of the duration: from submission to ready time, and from
/// the earliest end to the deadline; and their further shapes.
pub struct Margins {
    ahead: f64,
    slack: f64,
    seed: u64,
    malleability: Malleability,
}

/// Nodes of the machine, from the header; without a header those of the largest job.
fn machine_nodes(header: &[String], jobs: &[Rigid]) -> u32 {
    let nodes = header_nodes(header, "MaxProcs").or_else(|| header_nodes(header, "MaxNodes"));
    nodes.unwrap_or_else(|| jobs.iter().filter_map(|job| job.nodes().ok()).max().unwrap_or(1))
}

/// A number of nodes in a field of the header; None if it is missing or 0.
fn header_nodes(header: &[String], field: &str) -> Option<u32> {
    let value = |line: &String| line.trim().strip_prefix(field)?.trim_start().strip_prefix(':')?.trim().parse().ok();
    header.iter().find_map(value).filter(|nodes| *nodes > 0)
}

pub fn generate_log(args: &LublinArgs) -> Result<(), Failure> {
    args.to.fits(args.out.as_deref())?;
    let margins = args.margins.to_margins(args.to, args.seed)?;
    let activity = Activity::new(format!("drawing {}", format_counted(args.jobs.into(), "job")));
    let millionths = |factor: f64| (factor * 1e6).round() as u64;
    let model = Lublin {
        seed: args.seed,
        jobs: args.jobs,
        nodes: args.nodes,
        types: args.types,
        stream: args.stream,
        sizes: Sizes::default(),
        times: Times::default(),
        rate_millionths: millionths(args.arrival_factor).max(1),
    };
    let mut jobs: Vec<Rigid> = model.generate().iter().collect();
    for job in &mut jobs {
        let runtime = job.runs_for().map_or(0, Span::micros) as f64;
        // Whole seconds, as in logs.
        job.requested_time = Some(Span::from_secs((runtime * args.overestimate / 1e6).ceil() as u64));
        job.status = Some(1);
    }
    drop(activity);
    let header =
        swf::log_header(&format!("the model of Lublin and Feitelson, seed {}", args.seed), jobs.len(), args.nodes);
    write_jobs(&header, &jobs, args.nodes, args.to, margins, args.out.as_deref())
}

fn write_jobs(
    header: &[String],
    jobs: &[Rigid],
    nodes: u32,
    to: LogFormat,
    margins: Margins,
    out: Option<&Path>,
) -> Result<(), Failure> {
    let activity = Activity::new(format!("writing {}", format_counted(jobs.len() as u64, "job")));
    let mut bytes = Vec::new();
    match to {
        LogFormat::Batsim => bytes = batsim::write_workload(jobs, nodes),
        LogFormat::Requests => bytes = write_requests(jobs, nodes, &margins).into_bytes(),
        LogFormat::Swf => {
            let written = swf::write_log(header, jobs, |piece| {
                bytes.extend_from_slice(piece);
                Ok::<(), std::convert::Infallible>(())
            });
            written.unwrap_or_else(|never| match never {});
        }
    }
    match out {
        Some(out) => {
            write_named(out, &bytes)?;
            drop(activity);
            out::unless_quiet(&format!(
                "{}: {}\n",
                sanitize_text(&out.display().to_string()),
                format_counted(jobs.len() as u64, "job")
            ))
        }
        None => {
            drop(activity);
            super::out::always(&String::from_utf8_lossy(&bytes))
        }
    }
}

/// Requests as in the reservation paper: a random margin before the ready time, and one before the deadline.
/// Malleable ones have up to `machine` nodes.
fn write_requests(jobs: &[Rigid], machine: u32, margins: &Margins) -> String {
    use std::fmt::Write;
    let mut text = String::from("source = \"requests\"\n");
    let mut stream = SplitMix64::new(margins.seed);
    for job in jobs {
        let (Ok(nodes), Ok(runtime)) = (job.nodes(), job.runs_for()) else { continue };
        let duration = job.walltime().unwrap_or(runtime);
        // A job that runs for longer is stopped at its walltime.
        let runtime = runtime.min(duration);
        let mut part = |most: f64| Span::from_secs((stream.unit() * most * duration.micros() as f64 / 1e6) as u64);
        let ready = job.submit + part(margins.ahead);
        let deadline = ready + duration + part(margins.slack);
        let arrive = job.submit.since(Time::ZERO);
        let ready_at = ready.since(Time::ZERO);
        let deadline_at = deadline.since(Time::ZERO);
        let _ = write!(text, "\n[[request]]\narrive = \"{arrive}\"\nready = \"{ready_at}\"\n");
        let request = Request { arrive: job.submit, ready, duration, deadline, nodes };
        let shapes = margins.malleability.shapes(&request, runtime, machine);
        if shapes.is_empty() {
            let _ = write!(
                text,
                "duration = \"{duration}\"\nruntime = \"{runtime}\"\ndeadline = \"{deadline_at}\"\nnodes = {nodes}\n"
            );
            continue;
        }
        text.push_str("shapes = [\n");
        for JobShape { nodes, duration, runtime } in shapes {
            let _ = writeln!(text, "    {{ nodes = {nodes}, duration = \"{duration}\", runtime = \"{runtime}\" }},");
        }
        let _ = write!(text, "]\ndeadline = \"{deadline_at}\"\n");
    }
    text
}

fn parse_types(text: &str) -> Result<Types, String> {
    parse_word(text, Types::ALL)
}

fn parse_stream(text: &str) -> Result<Stream, String> {
    parse_word(text, Stream::ALL)
}

fn parse_word<T: Copy>(text: &str, all: &[(&'static str, T, &'static str)]) -> Result<T, String> {
    let found = all.iter().find(|(word, ..)| *word == text);
    found.map(|(_, value, _)| *value).ok_or_else(|| {
        let words: Vec<&str> = all.iter().map(|(word, ..)| *word).collect();
        format!("expected {}", words.join(" or "))
    })
}

fn parse_number(text: &str, least: f64) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number >= least && number <= 1e3 => Ok(number),
        _ => Err(format!("expected a number from {least} to 1000")),
    }
}

fn parse_factor(text: &str) -> Result<f64, String> {
    parse_number(text, 1e-6)
}

fn parse_overestimate(text: &str) -> Result<f64, String> {
    parse_number(text, 1.0)
}

/// A fraction in millionths, exactly.
fn parse_fraction(text: &str) -> Result<u64, String> {
    match units::parse_exact(text, units::MILLION) {
        Ok(millionths) if millionths <= units::MILLION => Ok(millionths),
        Err(Inexact::TooFine) => Err("expected a number with at most six decimals".to_owned()),
        _ => Err("expected a number from 0 to 1".to_owned()),
    }
}

fn at_least_none(text: &str) -> Result<f64, String> {
    parse_number(text, 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_not_written_to_a_file_of_another_kind() {
        let message =
            |format: LogFormat, out: &str| format.fits(Some(Path::new(out))).map_err(|failure| failure.to_string());
        assert_eq!(
            message(LogFormat::Batsim, "x.csv"),
            Err("--out x.csv: expected a file that ends in .json, the format of the output\n  --to chooses another format"
                .to_owned())
        );
        assert!(message(LogFormat::Swf, "x.json").is_err() && message(LogFormat::Requests, "x.swf").is_err());
        for out in ["x.swf", "jobs", "/dev/stdout", "log.2026"] {
            assert_eq!(message(LogFormat::Swf, out), Ok(()), "{out}");
        }
        assert!(LogFormat::Swf.fits(None).is_ok());
    }

    #[test]
    fn requests_have_the_margins_that_are_asked_for() {
        let runtime = Span::from_secs(100);
        let job = |number| Rigid { number, runtime: Some(runtime), requested: Some(2), ..Rigid::default() };
        let jobs: Vec<Rigid> = (1..200).map(job).collect();
        // Seconds of a key in each request.
        let seconds = |text: &str, key: &str| -> Vec<u64> {
            let value = |line: &str| line.strip_prefix(&format!("{key} = \""))?.strip_suffix(" s\"")?.parse().ok();
            text.lines().filter_map(value).collect()
        };
        let margins = MarginArgs { ahead: Some(0.5), slack: Some(0.25), ..MarginArgs::default() }
            .to_margins(LogFormat::Requests, 7)
            .unwrap();
        let text = write_requests(&jobs, 2, &margins);
        let ready = seconds(&text, "ready");
        let deadline = seconds(&text, "deadline");
        assert!(text.contains("\nduration = \"100 s\"\n"), "{text}");
        assert!(ready.len() > 100 && ready.iter().all(|ready| *ready < 50) && ready.iter().any(|ready| *ready > 40));
        assert!(deadline.iter().all(|deadline| *deadline < 50 + 100 + 25) && deadline.iter().max() > Some(&140));
        let usual = write_requests(&jobs, 2, &MarginArgs::default().to_margins(LogFormat::Requests, 1).unwrap());
        assert!(seconds(&usual, "ready").iter().all(|ready| *ready == 0));

        let malleable = MarginArgs { malleable: Some(1), serial_fraction: Some(500_000), ..MarginArgs::default() };
        let text = write_requests(&jobs[..1], 2, &malleable.to_margins(LogFormat::Requests, 1).unwrap());
        let shapes = "\nshapes = [\n    { nodes = 2, duration = \"100 s\", runtime = \"100 s\" },\n    \
                      { nodes = 1, duration = \"134 s\", runtime = \"134 s\" },\n]\ndeadline = ";
        assert!(text.contains(shapes) && !text.contains("\nduration"), "{text}");

        let message =
            |margins: MarginArgs| margins.to_margins(LogFormat::Swf, 1).err().map(|failure| failure.to_string());
        let only = "--slack: expected --to requests, as only requests have margins";
        assert_eq!(message(MarginArgs { slack: Some(1.0), ..MarginArgs::default() }).as_deref(), Some(only));
        let only = "--malleable: expected --to requests, as only requests have shapes";
        assert_eq!(message(malleable).as_deref(), Some(only));
        assert_eq!(message(MarginArgs::default()), None);

        // As strict as the key of a topology.
        let [fine, wrong] = ["a number with at most six decimals", "a number from 0 to 1"];
        for (text, expected) in [("0.0000004", fine), ("1.1", wrong), ("-0.1", wrong), ("x", wrong)] {
            assert_eq!(parse_fraction(text), Err(format!("expected {expected}")), "{text}");
        }
        assert_eq!(["0", "0.05", "1.0", "1e-6"].map(parse_fraction), [0, 50_000, 1_000_000, 1].map(Ok));
        let rigid = MarginArgs { malleable: Some(0), ..malleable };
        let why = "--serial-fraction: leave it out, as without --malleable from 1 on, requests have one shape";
        let refused = rigid.to_margins(LogFormat::Requests, 1).err().map(|failure| failure.to_string());
        assert_eq!(refused.as_deref(), Some(why));
    }

    /// Other tables are no logs, with any extension.
    #[test]
    fn other_tables_are_not_taken_for_logs() {
        let path = std::env::temp_dir().join(format!("hansa-table-{}.swf", std::process::id()));
        std::fs::write(&path, "Job|Who|When\n1|ann|2026-01-01T00:00:00\n").unwrap();
        // The fault of the input is reported before that of the output.
        let message = super::super::convert::convert_file(
            path.to_str().unwrap(),
            &Default::default(),
            None,
            false,
            Default::default(),
            Some(Path::new("x.csv")),
        );
        std::fs::remove_file(&path).unwrap();
        let message = message.unwrap_err().to_string();
        let expected = ".swf:1: expected a log of jobs (SWF), a Batsim workload (JSON), a dump of sacct with a header \
                        or events of Slurm's simulator, or a SimGrid platform (XML), found `Job|Who|When`";
        assert!(message.contains(expected), "{message}");
    }
}
