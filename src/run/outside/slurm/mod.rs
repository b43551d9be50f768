//! A real Slurm as a manager of a site, in virtual time.
//!
//! Its daemons run under a clock of their own (`run/clock/`), which stands still while the run decides. A question
//! brings the clock to the time of the run; then jobs are submitted, cancelled, and nodes set down by Slurm's own
//! commands. Job scripts report when they start and when they are killed. While a job waits, the clock goes on until a
//! script reports, as far as no message can come to the site; or else the site asks to be called at the next moment at
//! which any process of Slurm wakes. So starts are exact, and no event comes too late.

mod accounts;
mod change;
mod cluster;
mod conf;
mod controller_log;
mod jobs;
mod ports;
mod site_conf;

use std::collections::BTreeSet;
use std::path::Path;

use super::program_link::Trouble;
use super::{ProgramFault, RunContext, resolve_word};
use crate::err;
use crate::input::unreadable_reason;
use change::UserLines;
use cluster::{Cluster, EndedProgram};
use conf::Conf;
use hansa_sim::grid::{JobId, NodeSet, Site, SlurmCluster};
use hansa_sim::protocol::outside::{Decision, SiteAction, SiteEvent, shorten_output};
use hansa_sim::roles::outside::{CheckedProgram, ManagerProgram};
use hansa_sim::systems::ExternalDecider;
use hansa_sim::time::{Span, Time};
use hansa_sim::topology::{Topology, nearest_name};
use hansa_sim::workload::sbatch::{Fate, JobRequest, JobRequests, LeftOption, SbatchOptions};
use jobs::{Jobs, Reported, WaitingJob, job_of};
use site_conf::{Change, SiteFiles};

/// Programs of Slurm that a site needs.
pub const PROGRAMS: &[&str] = &["slurmctld", "slurmd", "sbatch", "scancel", "scontrol", "sinfo", "squeue"];
/// The packages that have them.
pub const PACKAGES: &str = "on Debian and Ubuntu: apt-get install slurmctld slurmd slurm-client";

/// Virtual time without any running job after which waiting jobs are reported as stuck.
const STUCK_AFTER: Span = Span::from_secs(2 * 3600);

/// Longest stretch of virtual time for which the clock goes on by itself, so that jobs that wait in vain are noticed.
const SEARCH_AT_MOST: Span = Span::from_secs(600);

pub use cluster::search_path;

pub struct BegunSlurm {
    cluster: Cluster,
    site: usize,
}

pub fn begin_slurm(context: &RunContext<'_>, name: String, site: usize) -> Result<BegunSlurm, Trouble> {
    let described = &context.topology.sites[site];
    check_options(context.topology, site)?;
    let user_lines = read_user_lines(described, context.written_in)?;
    let files = read_files(described, context.written_in)?;
    Ok(BegunSlurm { cluster: Cluster::begin(name, described, &user_lines, files.as_ref(), context)?, site })
}

/// True if jobs may have users of their own.
fn has_users(site: &Site) -> bool {
    !site.program.slurm.site.is_empty()
}

/// The site's own files, if it has a folder of them.
fn read_files(site: &Site, written_in: &str) -> Result<Option<SiteFiles>, String> {
    (!site.program.slurm.site.is_empty()).then(|| SiteFiles::read(site, written_in)).transpose()
}

/// The script of a site's accounts. None if it has none.
pub fn accounts_script(site: &Site, written_in: &str) -> Result<Option<String>, String> {
    let files = read_files(site, written_in)?;
    Ok(files.and_then(|files| files.accounts).map(|(_, script)| script))
}

/// Paths of the files of a site, as far as they can be read.
pub fn site_files(site: &Site, written_in: &str) -> Vec<String> {
    read_files(site, written_in).ok().flatten().map(|files| files.paths).unwrap_or_default()
}

pub fn greet_slurm(context: &RunContext<'_>, begun: BegunSlurm) -> Result<ExternalDecider, Trouble> {
    let BegunSlurm { mut cluster, site } = begun;
    let site = &context.topology.sites[site];
    let requests = JobRequests::of(&context.topology.workloads);
    let unknown = &site.program.slurm.unknown_users;
    let users = JobUsers::new(cluster.users().clone(), unknown.clone());
    users.check(&cluster.fault_text("has accounts"), &requests)?;
    cluster.boot_daemons()?;
    let jobs = Jobs::new(cluster.nodes());
    let decider: Box<dyn ManagerProgram> = Box::new(SlurmSite {
        cluster,
        jobs,
        requests,
        users,
        fault: context.fault.clone(),
        undisturbed_until: Time::ZERO,
        rejected: 0,
    });
    Ok(Box::new(decider))
}

/// Lists the options of jobs for which `reason` has a text: the option, the jobs that have it, the text. None if there
/// are none.
fn describe_left(left: &[LeftOption], reason: impl Fn(Fate) -> Option<&'static str>) -> Option<String> {
    let shown = |option: &LeftOption| {
        let why = reason(option.fate)?;
        let LeftOption { name, jobs, first_job, .. } = option;
        let jobs = match jobs {
            1 => format!("job {first_job}"),
            jobs => format!("{jobs} jobs, the first of which is job {first_job}"),
        };
        Some(format!("{name} of {jobs} ({why})"))
    };
    let all: Vec<String> = left.iter().filter_map(shown).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// Error about options of jobs that would change the run but cannot be passed on. None if no job has any.
fn refused_options(topology: &Topology, site: usize) -> Option<String> {
    let left = JobRequests::of(&topology.workloads).not_passed(has_users(&topology.sites[site]));
    let refused = describe_left(&left, |fate| if let Fate::Refused(why) = fate { Some(why) } else { None })?;
    Some(format!("site {}'s Slurm cannot have these options of sbatch: {refused}", topology.sites[site].name))
}

/// Warns of options of jobs that Slurm does not get. Fails if the run would be another one without them.
fn check_options(topology: &Topology, site: usize) -> Result<(), String> {
    if let Some(refused) = refused_options(topology, site) {
        return Err(refused);
    }
    let left = JobRequests::of(&topology.workloads).not_passed(has_users(&topology.sites[site]));
    if let Some(dropped) = describe_left(&left, |fate| if let Fate::Dropped(why) = fate { Some(why) } else { None }) {
        let name = &topology.sites[site].name;
        err::warning(&format!("site {name}'s Slurm does not get these options of sbatch: {dropped}"));
    }
    Ok(())
}

/// Lines of the user for a site's `slurm.conf`: of its file, and of the change of it.
fn read_user_lines(site: &Site, written_in: &str) -> Result<UserLines, String> {
    let SlurmCluster { conf, change, .. } = &site.program.slurm;
    let conf_text = read_lines(conf, written_in)?;
    let change_text = read_lines(change, written_in)?;
    Ok(UserLines::merge((conf, &conf_text), (change, &change_text)))
}

/// Text of a file; empty without a path.
fn read_lines(path: &str, written_in: &str) -> Result<String, String> {
    if path.is_empty() {
        return Ok(String::new());
    }
    let path = resolve_word(path, written_in);
    std::fs::read_to_string(&path).map_err(|error| format!("cannot read {path}: {}", unreadable_reason(&path, &error)))
}

/// The `slurm.conf` of a site, with placeholders for what is known only when the cluster starts.
pub fn shown_conf(site: &Site, written_in: &str) -> Result<String, String> {
    Ok(plan_conf(site, written_in)?.0.text)
}

/// The conf of a site with placeholders, and its differences from the site's own files.
fn plan_conf(site: &Site, written_in: &str) -> Result<(Conf, Vec<Change>), String> {
    let user_lines = read_user_lines(site, written_in)?;
    let files = read_files(site, written_in)?;
    Conf::of_cluster(site, files.as_ref(), &user_lines, &conf::SHOWN)
}

/// The `slurm.conf` of a site as comments.
pub fn conf_comment(site: &Site, written_in: &str) -> Result<String, String> {
    let (conf, changes) = plan_conf(site, written_in)?;
    let mut lines: String = conf.text.lines().map(|line| format!("#   {line}\n")).collect();
    if !changes.is_empty() {
        lines
            .push_str(&format!("#\n# Changes of the site's own lines, which are in slurm.conf of {}:\n#\n", site.name));
    }
    for Change { place, was, is, why } in &changes {
        lines.push_str(&format!("#   {place}: {why}\n#     - {was}\n"));
        if !is.is_empty() {
            lines.push_str(&format!("#     + {is}\n"));
        }
    }
    Ok(format!("\n# slurm.conf of {}:\n#\n{lines}", site.name))
}

/// Faults of a site's file and programs that can be known before a run.
pub fn look_for(topology: &Topology, number: usize, written_in: &str, find: impl Fn(&Path) -> bool) -> Vec<String> {
    let site = &topology.sites[number];
    let folders = search_path(&site.program.slurm.programs);
    let is_there = |program: &&&str| std::env::split_paths(&folders).any(|folder| find(&folder.join(program)));
    let has_accounts =
        read_files(site, written_in).is_ok_and(|files| files.is_some_and(|files| files.accounts.is_some()));
    let accounting = if has_accounts { (accounts::PROGRAMS, accounts::PACKAGES) } else { (&[][..], "") };
    let missing = [(PROGRAMS, PACKAGES), accounting].into_iter().filter_map(|(programs, packages)| {
        let missing: Vec<&str> = programs.iter().filter(|program| !is_there(program)).copied().collect();
        let wrong = format!("site.{}: cannot start Slurm: there is no {}", site.name, missing.join(", no "));
        (!missing.is_empty()).then(|| format!("{wrong}; {packages}"))
    });
    let wrong = conf_comment(site, written_in).err().map(|wrong| format!("site.{}.slurm.conf: {wrong}", site.name));
    missing.chain(wrong).chain(refused_options(topology, number)).collect()
}

struct SlurmSite {
    cluster: Cluster,
    jobs: Jobs,
    /// Options of `sbatch` of the jobs of the run.
    requests: JobRequests,
    users: JobUsers,
    fault: ProgramFault,
    /// Time before which Slurm gets no order.
    undisturbed_until: Time,
    /// Number of jobs that Slurm has not taken.
    rejected: u64,
}

/// Number of rejected jobs that are named in warnings.
const REJECTIONS_SHOWN: u64 = 5;
/// Number of the rejection at which a warning reports that there are more.
const REJECTIONS_NOTED: u64 = REJECTIONS_SHOWN + 1;

impl SlurmSite {
    fn request_decision(&mut self, now: Time, happened: &[(Time, SiteEvent)]) -> Result<Decision, Trouble> {
        let mut actions = Vec::new();
        let reports = self.move_to(now)?;
        // First the account: a job may have started in this very moment on cores that another one has left.
        let mut orders = Vec::new();
        for (_, event) in happened {
            self.record_event(now, event, &mut orders);
        }
        self.take_ended(now, &mut actions)?;
        self.take_reports(now, &reports, &mut actions, &mut orders)?;
        while !orders.is_empty() {
            for order in std::mem::take(&mut orders) {
                self.carry_out(&order)?;
                let reports = self.move_to(now)?;
                self.take_reports(now, &reports, &mut actions, &mut orders)?;
            }
        }
        self.take_ended(now, &mut actions)?;
        if !actions.is_empty() {
            // Others may react.
            self.undisturbed_until = Time::ZERO;
        }
        if let Some(at) = self.next(now)? {
            actions.push(SiteAction::Call { at });
        }
        Ok(Decision { actions: actions.into_iter().map(|action| (now, action)).collect(), ready: now })
    }

    fn move_to(&mut self, now: Time) -> Result<Vec<String>, Trouble> {
        self.cluster.move_to(now.micros() * NANOS_PER_MICRO)
    }

    /// Takes note of an event, and adds the orders to Slurm that follow from it.
    fn record_event(&mut self, now: Time, event: &SiteEvent, orders: &mut Vec<Command>) {
        match event {
            &SiteEvent::Submitted { job, nodes: cores, walltime, runtime } => {
                let work = WaitingJob { cores, walltime, runtime };
                let name = self.jobs.submit(now, job, work);
                orders.push(self.submission_command(job, &name, &work));
            }
            // Its script has ended at this moment too, or Slurm has killed it.
            SiteEvent::Ended { job, .. } => self.jobs.free_cores(now, *job),
            SiteEvent::Lost { job, on, waits, runtime } => {
                self.jobs.free_cores(now, *job);
                if self.cluster.preempts() {
                    // Slurm requeues it once its node is down.
                    orders.push(cancel_command(&self.jobs.name(*job)));
                }
                if let Some(walltime) = *waits {
                    let work = WaitingJob { cores: on.len(), walltime, runtime: *runtime };
                    let name = self.jobs.submit(now, *job, work);
                    orders.push(self.submission_command(*job, &name, &work));
                }
            }
            SiteEvent::Nodes { down } => {
                let mut all = NodeSet::default();
                down.iter().for_each(|one| all.unite(&one.nodes));
                let (failed, back) = self.jobs.set_down(now, all);
                // Jobs that have just been lost must not go to nodes that have failed with theirs.
                orders.splice(
                    0..0,
                    node_state_command(&back, "resume").into_iter().chain(node_state_command(&failed, "down")),
                );
            }
            SiteEvent::Recalled { job } => {
                self.jobs.withdraw(*job);
                orders.push(cancel_command(&self.jobs.name(*job)));
            }
            SiteEvent::Called => {}
        }
    }

    fn take_reports(
        &mut self,
        now: Time,
        reports: &[String],
        actions: &mut Vec<SiteAction>,
        orders: &mut Vec<Command>,
    ) -> Result<(), Trouble> {
        for event in self.cluster.read_log()? {
            self.jobs.record_event(event);
        }
        for line in reports {
            let name = line.split(' ').nth(1);
            for displaced in self.jobs.take_displaced(now, line) {
                self.act_on_report(now, displaced, name, actions, orders);
            }
            let reported = self.jobs.read_report(now, line).map_err(|wrong| self.cluster.fault_text(&wrong))?;
            self.act_on_report(now, reported, name, actions, orders);
        }
        for job in self.jobs.take_unseen() {
            err::warning(&self.cluster.fault_text(&format!("has preempted job {} before its script began", job.0)));
            actions.push(SiteAction::Reject { job });
        }
        Ok(())
    }

    /// Turns a report into actions, and into orders to Slurm. `name` is that of the job.
    fn act_on_report(
        &mut self,
        now: Time,
        reported: Reported,
        name: Option<&str>,
        actions: &mut Vec<SiteAction>,
        orders: &mut Vec<Command>,
    ) {
        match reported {
            Reported::Starts(job, on) => {
                actions.push(SiteAction::Start { job, on: Some(on) });
                if self.jobs.take_backfill(job) {
                    actions.push(SiteAction::RecordBackfill { job });
                }
            }
            Reported::Killed(job) => actions.push(SiteAction::Kill { job }),
            Reported::Requeued(job) => actions.push(SiteAction::Requeue { job }),
            Reported::Preempted(job) => actions.push(SiteAction::Preempt { job }),
            Reported::RunsAgain => orders.extend(name.map(cancel_command)),
            Reported::StartsOnFailedNode(job) => {
                orders.extend(name.map(cancel_command));
                let again = self.jobs.submit_again(now, job);
                orders.extend(again.map(|(name, work)| self.submission_command(job, &name, &work)));
            }
            Reported::Nothing => {}
        }
    }

    /// The command that submits a job, with the options of its own that Slurm gets. Slurm counts walltimes in minutes.
    fn submission_command(&self, job: JobId, name: &str, work: &WaitingJob) -> Command {
        let micros = work.runtime.micros();
        let options = SbatchOptions::parse(self.requests.get(job).options).unwrap_or_default();
        let mut command: Command = to_words(&["sbatch", "--parsable", "-J", name, "-o", "/dev/null"]).collect();
        if !self.cluster.preempts() {
            // Jobs on a node that fails are submitted again.
            command.push("--no-requeue".to_owned());
        }
        if !options.has_size() {
            command.extend(to_words(&["-n", &work.cores.to_string()]));
        }
        command.extend(to_words(&["-t", &whole_minutes(work.walltime).to_string()]));
        command.extend(options.passed_words());
        command.push(self.cluster.script_path());
        command.push(format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000));
        command
    }

    fn carry_out(&mut self, order: &[String]) -> Result<(), Trouble> {
        let submitted = if order[0] == "sbatch" { job_of(&order[3]) } else { None };
        let user = submitted.and_then(|(job, _)| self.users.user_of(&self.requests.get(job)).map(str::to_owned));
        let order: Vec<&str> = order.iter().map(String::as_str).collect();
        self.cluster.start_as(&order, user.as_deref()).map(drop)
    }

    /// Checks the commands that have ended.
    fn take_ended(&mut self, now: Time, actions: &mut Vec<SiteAction>) -> Result<(), Trouble> {
        for ended in self.cluster.take_ended(now.micros() * NANOS_PER_MICRO) {
            self.check_ended(&ended, actions)?;
        }
        Ok(())
    }

    /// Checks the end of a command. A job that Slurm does not take is rejected.
    fn check_ended(&mut self, ended: &EndedProgram, actions: &mut Vec<SiteAction>) -> Result<(), Trouble> {
        if ended.code == 0 {
            self.record_number(ended);
            return Ok(());
        }
        let command = ended.command.join(" ");
        let refused = (ended.command[0] == "sbatch").then(|| job_of(&ended.command[3])).flatten().map(|(job, _)| job);
        let output = shorten_output(ended.output.trim());
        match refused.filter(|job| self.jobs.withdraw(*job)) {
            Some(job) => {
                self.warn_of_rejection(job, ended.output.trim());
                actions.push(SiteAction::Reject { job });
                Ok(())
            }
            None => Err(self
                .cluster
                .fault_text(&format!("fails at `{command}` (exit code {}): {output}", ended.code))
                .into()),
        }
    }

    /// Warns of a job that Slurm does not take; of very many, only of the first ones.
    fn warn_of_rejection(&mut self, job: JobId, output: &str) {
        self.rejected += 1;
        match self.rejected {
            1..=REJECTIONS_SHOWN => {
                let job = self.requests.describe_job(job);
                let words = shorten_output(&output.lines().map(str::trim).collect::<Vec<_>>().join("; "));
                err::warning(&self.cluster.fault_text(&format!("rejects {job}: {words}")));
            }
            REJECTIONS_NOTED => {
                err::warning(&self.cluster.fault_text("rejects more jobs, which jobs.csv lists without a start"));
            }
            _ => {}
        }
    }

    /// Records the number of the job that a command has submitted.
    fn record_number(&mut self, ended: &EndedProgram) {
        if let [program, _, _, name, ..] = &ended.command[..]
            && program == "sbatch"
            && let Ok(number) = ended.output.trim().split(';').next().unwrap_or_default().parse()
        {
            self.jobs.record_number(name, number);
        }
    }

    /// The next time at which Slurm may start or kill a job by itself. None if it has none.
    fn next(&mut self, now: Time) -> Result<Option<Time>, Trouble> {
        let preempts = self.cluster.preempts();
        let kill = self.jobs.next_kill().map(|kill| if preempts { now } else { kill });
        let from = if self.jobs.has_waiting() { Some(now) } else { kill };
        let Some(from) = from else { return Ok(None) };
        if self.jobs.wait_for_nothing() && now >= self.jobs.quiet_since + STUCK_AFTER {
            return Err(self.waits_in_vain(now)?.into());
        }
        let until = self.undisturbed_until.min(now + SEARCH_AT_MOST);
        if from < until
            && let Some(found) = self.cluster.search_to(until.micros() * NANOS_PER_MICRO)?
        {
            let at = Time::ZERO + Span::from_micros(found.div_ceil(NANOS_PER_MICRO));
            return Ok(Some(at.max(now + Span::from_micros(1))));
        }
        let wakes = self.cluster.next().map(|next| Time::ZERO + Span::from_micros(next.div_ceil(NANOS_PER_MICRO)));
        if wakes.is_none() && self.jobs.has_waiting() {
            // A slurmctld that runs always wakes again.
            return Err(self
                .cluster
                .fault_text("has no program that will wake although jobs wait: is it stopped?")
                .into());
        }
        Ok(wakes.map(|wakes| wakes.max(from)))
    }

    /// The jobs that Slurm does not start although nothing else runs, and its reasons.
    fn waits_in_vain(&mut self, now: Time) -> Result<String, Trouble> {
        self.carry_out(&to_words(&["squeue", "-h", "-o", "%j (%r)"]).collect::<Vec<_>>())?;
        self.move_to(now)?;
        let ended = self.cluster.take_ended(now.micros() * NANOS_PER_MICRO);
        let output = ended.iter().flat_map(|ended| ended.output.lines()).take(3).collect::<Vec<_>>().join(", ");
        let hours = STUCK_AFTER.micros() / 3_600_000_000;
        let waiting = self.jobs.waiting_count();
        Ok(self.cluster.fault_text(&format!("has let {waiting} jobs wait for {hours} h although none runs: {output}")))
    }
}

impl ManagerProgram for SlurmSite {
    fn foresee(&mut self, until: Time) {
        self.undisturbed_until = until;
    }

    fn decide_on_events(&mut self, now: Time, happened: &[(Time, SiteEvent)]) -> Decision {
        self.request_decision(now, happened).unwrap_or_else(|trouble| {
            self.fault.record_trouble(trouble, now);
            Decision::default()
        })
    }

    /// True: Slurm looks for jobs beyond their walltimes every 30 s, so kills are late.
    fn ends_at_walltimes(&self) -> bool {
        true
    }
}

impl CheckedProgram for SlurmSite {
    fn refuse_answer(&mut self, now: Time, why: &str) {
        self.fault.record_trouble(self.cluster.fault_text(why).into(), now);
    }

    fn has_failed(&self) -> bool {
        self.fault.is_set()
    }
}

/// Users of jobs at a site with accounts.
struct JobUsers {
    /// Users that Slurm knows; empty if it has no accounts.
    known: BTreeSet<String>,
    /// User of jobs whose own user is not known; empty for none.
    others: String,
}

/// Unknown users that are named.
const USERS_SHOWN: usize = 5;

impl JobUsers {
    fn new(known: BTreeSet<String>, others: String) -> JobUsers {
        JobUsers { known, others }
    }

    /// Slurm's user of a job. None if it has no accounts.
    fn user_of<'r>(&'r self, request: &JobRequest<'r>) -> Option<&'r str> {
        let own = request.user.filter(|user| self.known.contains(*user));
        let other = if self.others.is_empty() { "root" } else { &self.others };
        (!self.known.is_empty()).then(|| own.unwrap_or(other))
    }

    /// Fails if jobs have users that the site does not know, unless another user has their jobs: then it counts them.
    fn check(&self, name: &str, requests: &JobRequests) -> Result<(), Trouble> {
        if self.known.is_empty() {
            return Ok(());
        }
        if !self.others.is_empty() && !self.known.contains(&self.others) {
            let near = nearest_name(&self.others, self.known.iter().map(String::as_str));
            let near = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
            return Err(Trouble::Fault(format!("{name} without the user {} of unknown_users{near}", self.others)));
        }
        let unknown: Vec<(String, u64)> =
            requests.count_users().into_iter().filter(|(user, _)| !self.known.contains(user)).collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let jobs: u64 = unknown.iter().map(|(_, jobs)| jobs).sum();
        let named: Vec<String> =
            unknown.iter().take(USERS_SHOWN).map(|(user, jobs)| format!("{user} (jobs: {jobs})")).collect();
        let more = unknown.len().saturating_sub(USERS_SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let text = format!("{name} without the users of {jobs} jobs: {}{more}", named.join(", "));
        if self.others.is_empty() {
            let hint = "`unknown_users` can name the user to whom their jobs belong";
            return Err(Trouble::Fault(format!("{text}; {hint}")));
        }
        err::warning(&format!("{text}; these jobs belong to {}", self.others));
        Ok(())
    }
}

/// A command of Slurm with its arguments.
type Command = Vec<String>;

const NANOS_PER_MICRO: u64 = 1_000;

fn to_words(words: &[&str]) -> impl Iterator<Item = String> {
    words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>().into_iter()
}

fn cancel_command(name: &str) -> Command {
    to_words(&["scancel", "-n", name]).collect()
}

/// The command that sets nodes, which have one core each, to a state. None if there are none.
fn node_state_command(nodes: &NodeSet, state: &str) -> Option<Command> {
    let runs: Vec<String> = nodes.runs().iter().map(|(first, last)| format!("{first}-{last}")).collect();
    let list = format!("NodeName=n[{}]", runs.join(","));
    let state = format!("State={state}");
    (!runs.is_empty()).then(|| to_words(&["scontrol", "update", &list, &state, "Reason=failure"]).collect())
}

/// Whole minutes, rounded up, as Slurm does; bounded by what it takes for a year.
fn whole_minutes(walltime: Span) -> u64 {
    walltime.micros().div_ceil(60_000_000).clamp(1, 525_600)
}
