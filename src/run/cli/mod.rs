//! The command lines. Each command parses its flags, calls the library once and turns the outcome into an exit code.

mod args;
mod examples;

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, CommandFactory, FromArgMatches, Parser};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

use args::{
    Command, Generated, Hansa, MemberArgs, MemberProgram, Paper, RouterArgs, RouterProgram, RunArgs, VerbosityArgs,
};
use examples::with_examples;

use super::bench::Effort;
use super::choosing::Choosing;
use super::grouping::{Grouping, usual_grouping};
use super::inline;
use super::input::{default_out, load_text, load_topology, written_out};
use super::launch::{Asked, Cores, Launch, launch_grid};
use super::logs;
use super::member::{Membership, take_part};
use super::results::{SummaryFormat, input_files};
use super::resume::Resumable;
use super::route::{Routing, check_live, run_router, why_irreplaceable};
use super::sanitize::sanitize_text;
use super::{
    Failure, HAS_ALL_COMMANDS, Verbosity, bench, bound, build_runtime, certs, clock, cluster, compare, compose,
    convert, current_verbosity, err, files, generate, man, out, outside, plan, report, reproduce, set_verbosity,
    set_version, signals, sweep, tournament, typed_words, validate, what_if, when, why,
};
use hansa_papers::{dfrs, heft, market, provisioning, reservation};
use hansa_report::catalog;
use hansa_report::reference;
use hansa_sim::protocol::handshake::Party;
use hansa_sim::settings::format_count;
use hansa_sim::topology;

/// JSON Schema of the messages to and from external programs.
const CONVERSATION: &str = include_str!("../conversation.schema.json");

/// Entry of the binary `hansa`; `version` is the text of `--version`.
pub fn hansa_main(version: &'static str) -> ExitCode {
    set_version(version);
    HAS_ALL_COMMANDS.store(true, Ordering::Relaxed);
    signals::survive_limits();
    signals::leave_on_panic();
    let typed = taking_negatives(with_examples(Hansa::command(), "")).try_get_matches();
    match typed.and_then(|typed| Hansa::from_arg_matches(&typed)) {
        Ok(Hansa { verbosity, command }) => {
            apply_verbosity(verbosity);
            exit_code(dispatch_command(command))
        }
        Err(error) => exit_code(report_unparsed(&with_near_command(error))),
    }
}

/// Entry of the binary `hansa-router`.
pub fn router_main(version: &'static str) -> ExitCode {
    set_version(version);
    signals::survive_limits();
    signals::leave_on_panic();
    let typed = taking_negatives(RouterProgram::command()).try_get_matches();
    match typed.and_then(|typed| RouterProgram::from_arg_matches(&typed)) {
        Ok(RouterProgram { verbosity, router }) => {
            apply_verbosity(verbosity);
            exit_code(be_router(router))
        }
        Err(error) => exit_code(report_unparsed(&error)),
    }
}

/// Entry of the binary `hansa-site`.
pub fn site_main(version: &'static str) -> ExitCode {
    set_version(version);
    member_main("hansa-site", "Play one or more sites of a run", Party::Site)
}

/// Entry of the binary `hansa-user`.
pub fn user_main(version: &'static str) -> ExitCode {
    set_version(version);
    member_main("hansa-user", "Play one or more users of a run", Party::User)
}

fn member_main(name: &'static str, about: &'static str, role: fn(String) -> Party) -> ExitCode {
    signals::leave_on_panic();
    let command = taking_negatives(MemberProgram::command().name(name).about(about));
    match command.try_get_matches().and_then(|typed| MemberProgram::from_arg_matches(&typed)) {
        Ok(MemberProgram { verbosity, member }) => {
            apply_verbosity(verbosity);
            exit_code(be_member(member, role))
        }
        Err(error) => exit_code(report_unparsed(&error)),
    }
}

/// Reports a wrong command line, or prints the requested help or version. If that cannot be printed, it is an error
/// like for any other output.
fn report_unparsed(error: &clap::Error) -> Result<(), Failure> {
    if error.use_stderr() {
        let _ = error.print();
        return Err(Failure::Exit(Failure::INPUT));
    }
    let styled = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let text = error.render();
    out::always(&if styled { text.ansi().to_string() } else { text.to_string() })
}

/// Adds the command that was probably meant if clap finds none: clap takes swapped letters for another word.
fn with_near_command(mut error: clap::Error) -> clap::Error {
    if let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand)
        && error.get(ContextKind::SuggestedSubcommand).is_none()
    {
        let whole = Hansa::command();
        let before = typed_words().skip(1).take_while(|word| word != typed);
        let within = before.fold(&whole, |within, word| within.find_subcommand(word).unwrap_or(within));
        if let Some(near) = man::nearest_command(within, typed) {
            error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![near.to_owned()]));
        }
    }
    error
}

/// Lets flags have negative numbers and times as values, so that the message names the expected form.
fn taking_negatives(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|arg| match takes_long_values(&arg) {
        true if is_time_flag(&arg) => arg.allow_hyphen_values(true),
        true => arg.allow_negative_numbers(true),
        false => arg,
    });
    command.mut_subcommands(taking_negatives)
}

fn takes_long_values(arg: &Arg) -> bool {
    arg.get_long().is_some() && arg.get_action().takes_values()
}

fn is_time_flag(arg: &Arg) -> bool {
    arg.get_value_names().is_some_and(|names| names.iter().any(|name| name == "TIME"))
}

fn apply_verbosity(VerbosityArgs { quiet, verbose }: VerbosityArgs) {
    set_verbosity(match verbose {
        0 if quiet => Verbosity::Quiet,
        0 => Verbosity::Usual,
        1 => Verbosity::Verbose,
        _ => Verbosity::Chatty,
    });
}

fn dispatch_command(command: Command) -> Result<(), Failure> {
    match command {
        Command::Run(args) => run_topology(args),
        Command::Sweep { experiment, dry_run: true, sweep: args, .. } => {
            sweep::dry_run(&experiment, &mut sweep::FileCache::default(), &args.into_sweeping())
        }
        Command::Sweep { experiment, by, dry_run: false, sweep: args } => {
            sweep::run_sweep(&experiment, by.as_deref(), &args.into_sweeping())
        }
        Command::Tournament { experiment, against, by, dry_run, sweep: args } => {
            tournament::run_tournament(&experiment, against.as_deref(), by.as_deref(), dry_run, &args.into_sweeping())
        }
        Command::Whatif(args) => what_if::run_what_if(args.into_options()?),
        Command::Reproduce { paper: Paper::Market { full, jobs, workloads, sweep } } => {
            let usual = if full { market::FULL } else { market::SMALL };
            let extent = market::Extent { jobs, workloads: workloads.unwrap_or(usual.workloads), ..usual };
            reproduce::reproduce_market(extent, &sweep.into_sweeping())
        }
        Command::Reproduce { paper: Paper::Heft { full, out, choice, making } } => {
            let extent = if full { heft::FULL } else { heft::SMALL };
            reproduce::reproduce_heft(extent, &choice.into_choosing(), &making.into_making(out))
        }
        Command::Reproduce { paper: Paper::Reservation { requests, workloads, out, choice, making } } => {
            let extent = reservation::Extent { workloads, requests };
            reproduce::reproduce_reservation(extent, &choice.into_choosing(), &making.into_making(out))
        }
        Command::Reproduce { paper: Paper::Dfrs { full, logs, out, choice, making } } => {
            let choosing = choice.into_choosing();
            let extent = match (full, &choosing) {
                (true, _) => dfrs::FULL,
                (false, Choosing::All) => dfrs::CHOICES,
                (false, Choosing::Taken(_)) => dfrs::SMALL,
            };
            reproduce::reproduce_dfrs(extent, logs.as_deref(), &choosing, &making.into_making(out))
        }
        Command::Reproduce { paper: Paper::Provisioning { full, logs, calibrate, out, choice, making } } => {
            let extent = if full { provisioning::FULL } else { provisioning::SMALL };
            if calibrate {
                return reproduce::calibrate_queue(extent, &choice.into_choosing(), &making.into_making(out));
            }
            reproduce::reproduce_provisioning(
                extent,
                logs.as_deref(),
                &choice.into_choosing(),
                &making.into_making(out),
            )
        }
        Command::Plan { topology, workflow, policy, alpha, budget, deadline, at, json, svg } => {
            let overrides = topology.overrides.parse()?;
            plan::make_plan(&plan::PlanOptions {
                topology: topology.topology,
                overrides,
                workflow,
                policy,
                alpha,
                budget,
                deadline,
                at,
                json,
                svg,
            })
        }
        Command::Generate { what: Generated::Dag { dag, out } } => generate::generate_dag(&dag, out.as_deref()),
        Command::Generate { what: Generated::Lublin(lublin) } => logs::generate_log(&lublin),
        Command::Bound(args) => bound::report_bounds(&args),
        Command::Convert { file, slurm, to, strict, margins, seed, out } => {
            convert::convert_file(&file, &slurm, to, strict, (margins, seed), out.as_deref())
        }
        Command::Verify { a, b, json } => files::verify_results(&a, &b, json),
        Command::Compare { results, by, json, page } => {
            compare::compare_results(&results, by.as_deref(), json, page.as_deref())
        }
        Command::Report { out, trace } => report::write_report(&out, trace),
        Command::When(args) => when::predict_starts(&args),
        Command::Why { out, job, json } => why::explain_job(&out, &job, json),
        Command::Validate { topology, strict, json } => {
            validate::validate_file(&topology.topology, &topology.overrides.parse()?, strict, json)
        }
        Command::Show { keys: true, .. } => out::always(&catalog::keys_reference()),
        Command::Show { columns: true, .. } => out::always(&reference::columns_reference()),
        Command::Show { topology: None, .. } => out::always(&catalog::catalogue_text()),
        Command::Show { topology: Some(topology), overrides, .. } => {
            let loaded = load_topology(&topology, &overrides.parse()?)?;
            let confs = outside::slurm_confs(&loaded.topology, loaded.path())?;
            out::always(&(written_out(&loaded.topology, loaded.path()) + &confs))
        }
        Command::Schema { conversation: true, .. } => out::always(CONVERSATION),
        Command::Schema { experiment, .. } => {
            let schema = if experiment { catalog::experiment_schema() } else { catalog::topology_schema() };
            out::always(&format!("{schema:#}\n"))
        }
        Command::Compose { topology, out, image } => {
            let loaded = load_topology(&topology.topology, &topology.overrides.parse()?)?;
            let flags = topology.overrides.flags();
            compose::write_compose(&loaded.topology, Path::new(&topology.topology), &image, &flags, out.as_deref())
        }
        Command::Cluster { engine, file, reproduce, overrides, cluster: args } => {
            cluster::write_cluster_file(&cluster::ClusterOptions {
                engine,
                work: match reproduce {
                    Some(text) => cluster::ClusterWork::Paper(parse_reproduction(&text)?),
                    None => cluster::ClusterWork::File(file.unwrap_or_default()),
                },
                overrides: overrides.parse()?,
                flags: overrides.flags(),
                parts: args.parts.map(|parts| parts as usize),
                nodes: args.nodes.map(|nodes| nodes as usize),
                cpus: args.cpus,
                results: args.results,
                image: args.image,
                claim: args.claim,
                program: args.program,
                out: args.out,
            })
        }
        Command::Certs { topology, out, days, group, keep_authority, renew } => {
            let loaded = load_topology(&topology.topology, &topology.overrides.parse()?)?;
            certs::write_identities(&loaded.topology, &out, days, &group, keep_authority, renew)
        }
        Command::Clock(args) => clock::run_clock(&args),
        Command::Bench { tasks } => bench::run_bench(&Effort::quick(tasks)),
        Command::BenchEcho { arguments } => bench::run_echo(&arguments),
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Hansa::command(), "hansa", &mut text);
            out::always(&String::from_utf8_lossy(&text))
        }
        Command::Man { command, out } => {
            let whole = with_examples(Hansa::command(), "");
            out.map_or_else(|| man::print_page(whole.clone(), &command), |out| man::write_all(whole.clone(), &out))
        }
        Command::Router(args) => be_router(args),
        Command::Site(args) => be_member(args, Party::Site),
        Command::User(args) => be_member(args, Party::User),
    }
}

/// A paper's experiment for a cluster, with its arguments checked by the command line's parser.
fn parse_reproduction(text: &str) -> Result<cluster::PaperRun, Failure> {
    let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    let typed = ["hansa", "reproduce"].into_iter().chain(words.iter().map(String::as_str));
    let paper = match Hansa::try_parse_from(typed) {
        Ok(Hansa { command: Command::Reproduce { paper }, .. }) => paper,
        Ok(_) => return Err(Failure::Internal("`hansa reproduce` is another command".to_owned())),
        Err(error) => return Err(report_unparsed(&error).err().unwrap_or(Failure::Exit(0))),
    };
    if let Some(word) = words.iter().find(|word| is_added_flag(word)) {
        let text = format!("--reproduce: expected no {word}: --parts, --cpus and --results say how it is run");
        return Err(Failure::Input(text));
    }
    if let Some(logs) = paper.logs_folder() {
        let seen = cluster::absolute_text(logs)?;
        let flag = words.iter().position(|word| word.split('=').next() == Some("--logs")).expect("it has been typed");
        match words[flag].contains('=') {
            true => words[flag] = format!("--logs={seen}"),
            false => words[flag + 1] = seen,
        }
    }
    Ok(cluster::PaperRun { words, reads_logs: paper.logs_folder().is_some() })
}

/// Flags that a script of a cluster adds to a reproduction itself.
const ADDED: &[&str] = &["--out", "--threads", "--part", "--index", "--gather", "--wait", "--fresh"];

fn is_added_flag(word: &str) -> bool {
    word.split('=').next().is_some_and(|flag| ADDED.contains(&flag))
}

fn run_topology(args: RunArgs) -> Result<(), Failure> {
    let began = Instant::now();
    if let Some(folder) = args.resume.clone() {
        return resume_run(&args, &folder, began);
    }
    let path = args.topology.clone().unwrap_or_default();
    let loaded = load_topology(&path, &args.overrides.parse()?)?;
    loaded.topology.warnings().iter().chain(&loaded.notes).for_each(|warning| err::warning(warning));
    if args.strict {
        logs::check_logs(&loaded.topology)?;
        validate::refuse_misfits(&loaded)?;
    }
    if current_verbosity() == Verbosity::Quiet {
        // Otherwise the summary contains them.
        logs::log_remarks(&loaded.topology, false).iter().for_each(|remark| err::warning(remark));
    }
    // All members run in this process, so every file and program must be here.
    let absent = outside::look_for(&loaded);
    absent.files.iter().for_each(|file| err::warning(file));
    if !absent.programs.is_empty() {
        return Err(absent.missing_failure());
    }
    if args.inline {
        let parquet = args.results.format.is_some();
        let out = args.results.out.clone();
        inline::run_inline(
            &loaded,
            began,
            out,
            args.results.keep,
            summary_format(args.results.json),
            parquet,
            args.stall_after,
        )?;
        return add_page(&args, &args.results.out.clone().unwrap_or_else(|| default_out(&loaded.topology)));
    }
    if args.live.is_some() {
        check_live(&loaded.topology, &path)?;
    }
    let out = args.results.out.clone().unwrap_or_else(|| default_out(&loaded.topology));
    let page_of = out.clone();
    let mut router_flags = watch_flags(&args);
    let mut cores = args.cores;
    if let Some(speed) = args.live {
        router_flags.extend(["--live".to_owned(), speed.to_string()]);
        // For a measurement, processes must not wait for their turn on one core.
        cores = Cores::All;
    }
    let topology = &loaded.topology;
    let members = topology.sites.len() + topology.users.len();
    if let Some(processes) = args.processes.map(|processes| processes as usize).filter(|many| *many > members) {
        let processes = format_count(processes as u64);
        let members = format_count(members as u64);
        err::note(&format!("note: --processes {processes}: all {members} sites and users get a process of their own"));
    }
    let grouping = match (args.processes, args.per_process) {
        (Some(processes), _) => Grouping::Processes(processes as usize),
        (None, Some(each)) => Grouping::Each(each as usize),
        // No bytes would go over links between sites that share a process.
        (None, None) if args.live.is_some() => Grouping::Each(1),
        (None, None) => usual_grouping(topology),
    };
    if let (Grouping::Processes(processes), None) = (&grouping, args.processes) {
        let processes = format_count(*processes as u64);
        let members = format_count(members as u64);
        err::note(&format!(
            "note: {members} sites and users share {processes} processes (--per-process 1 gives each its own)"
        ));
    }
    let may_return = why_irreplaceable(topology, args.live.is_some()).is_none() && !args.patience.is_zero();
    let ended = build_runtime()?.block_on(launch_grid(Launch {
        topology,
        grouping,
        cores,
        out,
        resume: None,
        began,
        asked: Asked::new(input_files(&loaded)),
        router_flags,
        stall_after: args.stall_after,
        restarts: if may_return { args.restarts } else { 0 },
        patience: args.patience,
        replace_after: args.replace_after,
    }));
    if let Err(Failure::Exit(Failure::INPUT)) = ended
        && let Err(error) = topology::check_jobs(&loaded.topology)
        && let Some(location) = loaded.location(&error)
    {
        // The router has reported the failure, but does not know the place in the user's file.
        err::line(&format!(" --> {location}"));
    }
    ended?;
    add_page(&args, &page_of)
}

/// Adds the page to a result, if it was asked for. It is named on standard output, unless that is JSON.
fn add_page(args: &RunArgs, out: &Path) -> Result<(), Failure> {
    match (args.report, args.results.json) {
        (false, _) => Ok(()),
        (true, false) => report::write_report(out, false),
        (true, true) => report::make_report(out, false),
    }
}

/// Resumes a run that ended early.
fn resume_run(args: &RunArgs, folder: &Path, began: Instant) -> Result<(), Failure> {
    // The router takes exactly this folder, and none that appears meanwhile.
    let Resumable { out, head, folder, .. } = Resumable::find(folder)?;
    let topology = load_text(&head.topology)?;
    build_runtime()?.block_on(launch_grid(Launch {
        topology: &topology,
        grouping: Grouping::As(head.groups),
        cores: args.cores,
        out: out.clone(),
        resume: Some(folder),
        began,
        asked: Asked::new(head.inputs),
        router_flags: watch_flags(args),
        stall_after: args.stall_after,
        restarts: args.restarts,
        patience: args.patience,
        replace_after: args.replace_after,
    }))?;
    add_page(args, &out)
}

/// Flags that a launcher passes on to its router: how the run is watched and reported.
fn watch_flags(args: &RunArgs) -> Vec<String> {
    let stall_after = micros_text(args.stall_after);
    let patience = micros_text(args.patience);
    let mut flags = vec!["--stall-after".to_owned(), stall_after, "--patience".to_owned(), patience];
    flags.extend(args.results.json.then(|| "--json".to_owned()));
    flags.extend(args.results.keep.then(|| "--keep".to_owned()));
    if args.results.format.is_some() {
        flags.extend(["--format".to_owned(), "parquet".to_owned()]);
    }
    flags
}

fn micros_text(time: Duration) -> String {
    format!("{}us", time.as_micros())
}

fn summary_format(json: bool) -> SummaryFormat {
    if json { SummaryFormat::Json } else { SummaryFormat::Table }
}

fn be_router(args: RouterArgs) -> Result<(), Failure> {
    log_to_stderr();
    let routing = Routing {
        overrides: args.overrides.parse()?,
        topology: args.topology,
        jobs: args.jobs,
        identity: args.identity,
        bind: args.bind,
        out: args.results.out,
        owner_of: args.owner_of,
        shown_out: args.shown_out,
        layout: args.layout,
        stall_after: args.stall_after,
        live: args.live,
        join_within: args.join_within,
        patience: args.patience,
        resume: args.resume,
        goes_on: args.go_on,
        keep: args.results.keep,
        format: summary_format(args.results.json),
        parquet: args.results.format.is_some(),
        held: args.held,
        asked: args.asked,
    };
    run_router(routing)
}

fn be_member(args: MemberArgs, role: fn(String) -> Party) -> Result<(), Failure> {
    log_to_stderr();
    let membership = Membership {
        overrides: args.overrides.parse()?,
        topology: args.topology,
        topology_hash: args.topology_hash,
        jobs: args.jobs,
        parties: args.names.into_iter().map(role).collect(),
        identity: args.identity,
        router: args.router,
        join_within: args.join_within,
        patience: args.patience,
        held: args.held,
    };
    take_part(&membership)
}

fn exit_code(end: Result<(), Failure>) -> ExitCode {
    match end {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Names of files, for example, may contain characters that steer a terminal.
            let text = sanitize_text(&failure.to_string());
            // A difference between two results is an answer, not an error.
            if matches!(failure, Failure::Different(_)) {
                err::line(&text);
            } else if !text.is_empty() {
                err::line(&if text.starts_with("error") { text } else { format!("error: {text}") });
            }
            ExitCode::from(failure.exit_code())
        }
    }
}

/// Log messages of the processes of a grid go to standard error; RUST_LOG chooses the level.
fn log_to_stderr() {
    let level = match current_verbosity() {
        Verbosity::Quiet | Verbosity::Usual => LevelFilter::WARN,
        Verbosity::Verbose => LevelFilter::INFO,
        Verbosity::Chatty => LevelFilter::DEBUG,
    };
    let usual = Targets::new().with_target("hansa", level);
    let wanted = std::env::var("RUST_LOG").ok().and_then(|wanted| wanted.parse().ok());
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false);
    tracing_subscriber::registry().with(lines.with_filter(wanted.unwrap_or(usual))).init();
}
