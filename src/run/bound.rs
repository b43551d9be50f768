//! `hansa bound`: the largest stretch that no schedule of a workload can avoid.

use clap::Args;

use super::disk::unreadable_input;
use super::flag_values::parse_count;
use super::input::{load_topology, read_typed};
use super::plan::parse_moment;
use super::{Failure, err, logs, out};
use hansa_sim::grid::Needs;
use hansa_sim::near::nearest_name;
use hansa_sim::settings::format_counted;
use hansa_sim::systems::dfrs::{Bound, Need, Timed, compute_bound, offered_load};
use hansa_sim::time::{Span, Time};
use hansa_sim::workload::needs::Rule;
use hansa_sim::workload::rigids::{Rigids, Window};
use hansa_sim::workload::{Numbering, Platform, Source};

#[derive(Args)]
pub struct BoundArgs {
    /// A log (SWF or Batsim, gzipped or not), or a topology whose workloads are rigid jobs
    workload: String,
    /// The number of nodes of the cluster
    #[arg(long, value_name = "N", value_parser = parse_count::<u32>(1..=u32::MAX))]
    nodes: u32,
    /// Requirements of tasks on their nodes, for logs (whole or dual-core) [default: whole]
    #[arg(long, value_name = "WORD", value_parser = parse_rule)]
    needs: Option<Rule>,
    /// Memory of a node in the units of the log, for logs with --needs dual-core [default: 2097152]
    #[arg(long, value_name = "N", value_parser = parse_count::<u64>(1..=(1 << 53) - 1))]
    node_kilobytes: Option<u64>,
    /// Leave out jobs submitted before this time (logs only)
    #[arg(long, value_name = "TIME", value_parser = parse_moment)]
    from: Option<Span>,
    /// Leave out jobs submitted at this time or later (logs only)
    #[arg(long, value_name = "TIME", value_parser = parse_moment)]
    to: Option<Span>,
}

/// Limit of the number of jobs; more would take more memory than most machines have.
const JOBS_MAX: usize = 20_000;

pub fn report_bounds(args: &BoundArgs) -> Result<(), Failure> {
    let path = &args.workload;
    if let (Some(from), Some(to)) = (args.from, args.to)
        && from >= to
    {
        return Err(Failure::Input(format!("--from {from} --to {to}: expected --to to be later than --from")));
    }
    if !path.ends_with(".toml")
        && let Some((trace, _)) = logs::read_log(path)?
    {
        let window = Window { from: args.from.unwrap_or_default(), to: args.to, ..Window::default() };
        let node_kilobytes = args.node_kilobytes.unwrap_or(Rigids::NODE_KILOBYTES);
        let last = trace.jobs.iter().map(|job| job.submit).max();
        let rigids = Rigids::of_log(trace, window, args.needs.unwrap_or_default(), node_kilobytes);
        if let Some(note) = rigids.content.report(false) {
            err::warning(&format!("{path}: {note}"));
        }
        if let Some(last) = last
            && args.from.is_some_and(|from| Time::ZERO + from > last)
        {
            let after = last.since(Time::ZERO);
            return Err(Failure::Input(format!(
                "{path}: no job is submitted after --from: the last one is at {after}"
            )));
        }
        return print_bound(path, args.nodes, &Source::Rigid(rigids));
    }
    let is_about_logs = args.needs.is_some() || args.node_kilobytes.is_some() || args.from.or(args.to).is_some();
    if is_about_logs {
        return Err(Failure::Input(format!(
            "--needs, --node-kilobytes, --from and --to are for logs: {path} is a topology, whose workloads say all \
             that themselves"
        )));
    }
    check_is_table(path)?;
    let loaded = load_topology(path, &[])?;
    logs::log_remarks(&loaded.topology, false).iter().for_each(|note| err::warning(note));
    let rigid = loaded.topology.workloads.iter().enumerate();
    let mut rigid =
        rigid.filter(|(_, workload)| loaded.topology.system_of(workload).system_row().traits.is_rigid).peekable();
    if rigid.peek().is_none() {
        return Err(Failure::Input(format!(
            "{path}: expected a workload of rigid jobs, under a [batch] table, found none"
        )));
    }
    for (number, workload) in rigid {
        print_bound(&format!("{path}, workload.{number}"), args.nodes, &workload.source)?;
    }
    Ok(())
}

/// Fails if a file that is not named like a topology holds no TOML, as it was probably meant to be a log.
fn check_is_table(path: &str) -> Result<(), Failure> {
    if path.ends_with(".toml") {
        return Ok(());
    }
    let bytes = read_typed(path).map_err(|error| unreadable_input(path.as_ref(), &error))?;
    match str::from_utf8(&bytes) {
        Ok(text) if text.parse::<toml::Table>().is_err() => {
            Err(logs::unknown_log(path, text, "a topology (TOML) in a file that ends in .toml"))
        }
        _ => Ok(()),
    }
}

fn print_bound(what: &str, nodes: u32, source: &Source) -> Result<(), Failure> {
    let jobs = source.jobs(&Platform::default(), Span::from_secs(1), &mut Numbering::default());
    let jobs = jobs.map_err(|error| wrong_input(error.to_string(), what))?;
    let mut timed = Vec::with_capacity(jobs.len());
    let mut refused = 0u64;
    for (place, job) in jobs.iter().enumerate() {
        let [task] = job.tasks.as_slice() else {
            return Err(wrong_input("expected jobs of one task each".to_owned(), what));
        };
        let needs = source.job_source().job_needs(place).unwrap_or(Needs::NODE);
        let need =
            Need::new(task.cores, needs.cpu, needs.memory).map_err(|error| wrong_input(error.to_string(), what))?;
        match need.check(nodes) {
            Ok(()) => timed.push(Timed { submit: job.arrive, runtime: task.runtime, need }),
            Err(_) => refused += 1,
        }
    }
    timed.sort_by_key(|job| job.submit);
    if timed.is_empty() {
        let smallest = jobs.iter().filter_map(|job| job.tasks.first()).map(|task| task.cores).min();
        return Err(wrong_input(
            match smallest {
                None => "it has no job, or none in the selected time".to_owned(),
                Some(cores) if cores > nodes => {
                    format!("no job fits on {}: the smallest needs {cores}", format_counted(nodes.into(), "node"))
                }
                Some(_) => format!("no job could be run on {}", format_counted(nodes.into(), "node")),
            },
            what,
        ));
    }
    if timed.len() > JOBS_MAX {
        let problem = format!("{} jobs are more than the {JOBS_MAX} for which a bound can be computed", timed.len());
        return Err(wrong_input(
            format!("{problem}: select a part of them, such as a week of a log (--from, --to)"),
            what,
        ));
    }
    let Bound { lo, hi } = compute_bound(nodes, &timed);
    // Jobs that are all submitted at once have no offered load.
    let load = Some(offered_load(nodes, &timed)).filter(|load| load.is_finite());
    let load = load.map_or(String::new(), |load| format!(", offered load {load:.3}"));
    let mut text = format!(
        "{what}: {} on {}{load}\n",
        format_counted(timed.len() as u64, "job"),
        format_counted(nodes.into(), "node")
    );
    if refused > 0 {
        text.push_str(&format!(
            "left out      {}, which could never run on so many nodes\n",
            format_counted(refused, "job")
        ));
    }
    text.push_str(&match hi > 1.0 {
        true => format!(
            "bound         {}: no schedule keeps every stretch at or below {}; {} is possible if memory is ignored\n",
            trim_decimals(hi),
            trim_decimals(lo),
            trim_decimals(hi)
        ),
        false => "bound         1: no job has to wait if memory is ignored\n".to_owned(),
    });
    out::always(&text)
}

fn wrong_input(problem: String, what: &str) -> Failure {
    Failure::Input(format!("{what}: {problem}"))
}

/// A number with up to six decimals, without zeros at its end.
fn trim_decimals(number: f64) -> String {
    let text = format!("{number:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn parse_rule(text: &str) -> Result<Rule, String> {
    let known = Rule::ALL.iter().find(|(name, rule, _)| *name == text && *rule != Rule::QuadCore);
    known.map(|(_, rule, _)| *rule).ok_or_else(|| {
        let near =
            nearest_name(text, ["whole", "dual-core"]).map_or(String::new(), |near| format!("; did you mean {near}?"));
        format!("expected whole or dual-core{near}")
    })
}
