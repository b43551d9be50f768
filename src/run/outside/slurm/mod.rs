//! A real Slurm as a manager of a site, in virtual time.
//!
//! Its daemons run under a clock of their own (`run/clock/`), which stands still while the run decides. A question
//! brings the clock to the time of the run; then jobs are submitted, cancelled, and nodes set down by Slurm's own
//! commands. Job scripts report when they start and when they are killed. While a job waits, the site asks to be called
//! at the next moment at which any process of Slurm wakes, so that starts are exact and no event comes too late.

mod cluster;
mod conf;
mod jobs;
mod ports;

use std::path::Path;

use super::talk::Trouble;
use super::{ProgramFault, RunContext, resolve_word};
use crate::err;
use crate::input::unreadable_reason;
use cluster::{Cluster, EndedProgram};
use hansa_sim::grid::{NodeSet, Site};
use hansa_sim::protocol::outside::{Advice, SiteAction, SiteEvent, shorten_output};
use hansa_sim::roles::outside::{CheckedProgram, Decides};
use hansa_sim::systems::ExternalDecider;
use hansa_sim::time::{Span, Time};
use jobs::{Jobs, Reported, WaitingJob, job_of};

/// Programs of Slurm that a site needs.
pub const PROGRAMS: &[&str] = &["slurmctld", "slurmd", "sbatch", "scancel", "scontrol", "sinfo", "squeue"];
/// The packages that have them.
pub const PACKAGES: &str = "on Debian and Ubuntu: apt-get install slurmctld slurmd slurm-client";

/// Virtual time that jobs wait in vain until the run ends.
const IN_VAIN: Span = Span::from_secs(2 * 3600);

pub use cluster::search_path;

pub struct BegunSlurm {
    cluster: Cluster,
    site: usize,
}

pub fn begin_slurm(around: &RunContext<'_>, who: String, site: usize) -> Result<BegunSlurm, String> {
    let described = &around.topology.sites[site];
    let extra = read_extra(described, around.written_in)?;
    Ok(BegunSlurm { cluster: Cluster::begin(who, described, &extra, around)?, site })
}

pub fn greet_slurm(around: &RunContext<'_>, begun: BegunSlurm) -> Result<ExternalDecider, Trouble> {
    let BegunSlurm { mut cluster, site } = begun;
    cluster.boot_daemons()?;
    let site = &around.topology.sites[site];
    let each = site.cores / site.program.slurm.node_count(site.cores);
    let jobs = Jobs::new(site.cores, each);
    let decider: Box<dyn Decides> = Box::new(SlurmSite { cluster, jobs, fault: around.fault.clone() });
    Ok(Box::new(decider))
}

/// Text of the lines for a site's `slurm.conf`.
fn read_extra(site: &Site, written_in: &str) -> Result<String, String> {
    let path = &site.program.slurm.conf;
    if path.is_empty() {
        return Ok(String::new());
    }
    let path = resolve_word(path, written_in);
    std::fs::read_to_string(&path).map_err(|error| format!("cannot read {path}: {}", unreadable_reason(&path, &error)))
}

/// The `slurm.conf` of a site as comments, with placeholders for what is known only when the cluster starts.
pub fn conf_comment(site: &Site, written_in: &str) -> Result<String, String> {
    let conf = conf::Conf::new(site, &read_extra(site, written_in)?, &conf::SHOWN)?;
    let lines: String = conf.text.lines().map(|line| format!("#   {line}\n")).collect();
    Ok(format!("\n# slurm.conf of {}:\n#\n{lines}", site.name))
}

/// Faults of a site's file and programs that can be known before a run.
pub fn look_for(site: &Site, written_in: &str, find: impl Fn(&Path) -> bool) -> Vec<String> {
    let folders = search_path(&site.program.slurm.programs);
    let is_there = |program: &&&str| std::env::split_paths(&folders).any(|folder| find(&folder.join(program)));
    let missing: Vec<&str> = PROGRAMS.iter().filter(|program| !is_there(program)).copied().collect();
    let missing = (!missing.is_empty()).then(|| {
        let wrong = format!("site.{}: cannot start Slurm: there is no {}", site.name, missing.join(", no "));
        format!("{wrong}; {PACKAGES}")
    });
    let wrong = conf_comment(site, written_in).err().map(|wrong| format!("site.{}.slurm.conf: {wrong}", site.name));
    missing.into_iter().chain(wrong).collect()
}

struct SlurmSite {
    cluster: Cluster,
    jobs: Jobs,
    fault: ProgramFault,
}

impl SlurmSite {
    fn request_decision(&mut self, now: Time, happened: &[(Time, SiteEvent)]) -> Result<Advice, Trouble> {
        let mut wishes = Vec::new();
        let reports = self.move_to(now)?;
        // First the account: a job may have started in this very moment on cores that another one has left.
        let mut orders = Vec::new();
        for (_, event) in happened {
            self.record_event(now, event, &mut orders);
        }
        self.take_reports(now, &reports, &mut wishes, &mut orders)?;
        while !orders.is_empty() {
            for order in std::mem::take(&mut orders) {
                self.carry_out(&order)?;
                let reports = self.move_to(now)?;
                self.take_reports(now, &reports, &mut wishes, &mut orders)?;
            }
        }
        for ended in self.cluster.take_ended() {
            self.check(&ended, &mut wishes)?;
        }
        if let Some(at) = self.next(now)? {
            wishes.push(SiteAction::Call { at });
        }
        Ok(Advice { wishes: wishes.into_iter().map(|wish| (now, wish)).collect(), ready: now })
    }

    fn move_to(&mut self, now: Time) -> Result<Vec<String>, Trouble> {
        self.cluster.move_to(now.micros() * NANOS)
    }

    /// Takes note of an event, and adds the orders to Slurm that follow from it.
    fn record_event(&mut self, now: Time, event: &SiteEvent, orders: &mut Vec<Command>) {
        match event {
            &SiteEvent::Submitted { job, nodes: cores, walltime, runtime } => {
                let work = WaitingJob { cores, walltime, runtime };
                let name = self.jobs.submit(now, job, work);
                orders.push(self.submission_command(&name, &work));
            }
            // Its script has ended at this moment too, or Slurm has killed it.
            SiteEvent::Ended { job, .. } => self.jobs.free_cores(now, *job),
            SiteEvent::Lost { job, on, waits, runtime } => {
                self.jobs.free_cores(now, *job);
                if let Some(walltime) = *waits {
                    let work = WaitingJob { cores: on.len(), walltime, runtime: *runtime };
                    let name = self.jobs.submit(now, *job, work);
                    orders.push(self.submission_command(&name, &work));
                }
            }
            SiteEvent::Nodes { down } => {
                let mut all = NodeSet::default();
                down.iter().for_each(|one| all.unite(&one.nodes));
                let (failed, back) = self.jobs.set_down(now, all);
                // Jobs that have just been lost must not go to nodes that have failed with theirs.
                orders.splice(0..0, set_nodes(&back, "resume").into_iter().chain(set_nodes(&failed, "down")));
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
        wishes: &mut Vec<SiteAction>,
        orders: &mut Vec<Command>,
    ) -> Result<(), Trouble> {
        for line in reports {
            let name = line.split(' ').nth(1);
            match self.jobs.read_report(now, line).map_err(|wrong| self.cluster.fault_text(&wrong))? {
                Reported::Starts(job, on) => wishes.push(SiteAction::Start { job, on: Some(on) }),
                Reported::Killed(job) => wishes.push(SiteAction::Kill { job }),
                Reported::StartsInVain(job) => {
                    orders.extend(name.map(cancel_command));
                    let again = self.jobs.submit_again(now, job);
                    orders.extend(again.map(|(name, work)| self.submission_command(&name, &work)));
                }
                Reported::Nothing => {}
            }
        }
        Ok(())
    }

    /// The command that submits a job. Slurm counts walltimes in minutes.
    fn submission_command(&self, name: &str, work: &WaitingJob) -> Command {
        let micros = work.runtime.micros();
        to_words(&["sbatch", "-Q", "-J", name, "-o", "/dev/null", "--no-requeue"])
            .chain(to_words(&["-n", &work.cores.to_string(), "-t", &whole_minutes(work.walltime).to_string()]))
            .chain(to_words(&[
                &self.cluster.script_path(),
                &format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000),
            ]))
            .collect()
    }

    fn carry_out(&mut self, order: &[String]) -> Result<(), Trouble> {
        let order: Vec<&str> = order.iter().map(String::as_str).collect();
        self.cluster.start(&order).map(drop)
    }

    /// Checks the end of a command. A job that Slurm does not take is rejected.
    fn check(&mut self, ended: &EndedProgram, wishes: &mut Vec<SiteAction>) -> Result<(), Trouble> {
        if ended.code == 0 {
            return Ok(());
        }
        let command = ended.command.join(" ");
        let refused = (ended.command[0] == "sbatch").then(|| job_of(&ended.command[3])).flatten().map(|(job, _)| job);
        let said = shorten_output(ended.said.trim());
        match refused.filter(|job| self.jobs.withdraw(*job)) {
            Some(job) => {
                err::warning(&self.cluster.fault_text(&format!("rejects job {}: {said}", job.0)));
                wishes.push(SiteAction::Reject { job });
                Ok(())
            }
            None => {
                Err(self.cluster.fault_text(&format!("fails at `{command}` (exit code {}): {said}", ended.code)).into())
            }
        }
    }

    /// The next time at which Slurm may start or kill a job by itself. None if it has none.
    fn next(&mut self, now: Time) -> Result<Option<Time>, Trouble> {
        let kill = if self.cluster.preempts() { Some(now) } else { self.jobs.next_kill() };
        let from = if self.jobs.has_waiting() { Some(now) } else { kill };
        let Some(from) = from else { return Ok(None) };
        if self.jobs.wait_for_nothing() && now >= self.jobs.quiet_since + IN_VAIN {
            return Err(self.waits_in_vain(now)?.into());
        }
        let wakes = self.cluster.next().map(|next| Time::ZERO + Span::from_micros(next.div_ceil(NANOS)));
        Ok(wakes.map(|wakes| wakes.max(from)))
    }

    /// The jobs that Slurm does not start although nothing else runs, and its reasons.
    fn waits_in_vain(&mut self, now: Time) -> Result<String, Trouble> {
        self.carry_out(&to_words(&["squeue", "-h", "-o", "%j (%r)"]).collect::<Vec<_>>())?;
        self.move_to(now)?;
        let ended = self.cluster.take_ended();
        let said = ended.iter().flat_map(|ended| ended.said.lines()).take(3).collect::<Vec<_>>().join(", ");
        let hours = IN_VAIN.micros() / 3_600_000_000;
        let waiting = self.jobs.waiting_count();
        Ok(self.cluster.fault_text(&format!("has let {waiting} jobs wait for {hours} h although none runs: {said}")))
    }
}

impl Decides for SlurmSite {
    fn decide_on_events(&mut self, now: Time, happened: &[(Time, SiteEvent)]) -> Advice {
        self.request_decision(now, happened).unwrap_or_else(|trouble| {
            self.fault.record_trouble(trouble, now);
            Advice::default()
        })
    }

    /// At the next minute, when it looks.
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

/// A command of Slurm with its arguments.
type Command = Vec<String>;

const NANOS: u64 = 1_000;

fn to_words(words: &[&str]) -> impl Iterator<Item = String> {
    words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>().into_iter()
}

fn cancel_command(name: &str) -> Command {
    to_words(&["scancel", "-n", name]).collect()
}

/// The command that sets nodes, which have one core each, to a state. None if there are none.
fn set_nodes(nodes: &NodeSet, state: &str) -> Option<Command> {
    let runs: Vec<String> = nodes.runs().iter().map(|(first, last)| format!("{first}-{last}")).collect();
    let list = format!("NodeName=n[{}]", runs.join(","));
    let state = format!("State={state}");
    (!runs.is_empty()).then(|| to_words(&["scontrol", "update", &list, &state, "Reason=failure"]).collect())
}

/// Whole minutes, rounded up, as Slurm does; bounded by what it takes for a year.
fn whole_minutes(walltime: Span) -> u64 {
    walltime.micros().div_ceil(60_000_000).clamp(1, 525_600)
}
