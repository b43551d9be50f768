//! Jobs of a log in the Standard Workload Format that says when jobs started, at one site.

use hansa_sim::grid::NodeSet;
use hansa_sim::settings::format_counted;
use hansa_sim::time::{Span, Time};
use hansa_sim::workload::{Rigid, Trace};

use super::{SeenJob, SiteLog};

/// Status of a job that was cancelled.
const CANCELLED: u32 = 5;
/// Request of a job of which neither request nor run time is known.
const USUAL_REQUEST: Span = Span::from_minutes(24 * 60);

/// State of a job of a log.
enum LoggedRun {
    Ended {
        wait: Span,
        runtime: Span,
    },
    /// Left the queue without having started.
    Cancelled {
        wait: Span,
    },
    Running {
        wait: Span,
    },
    Waiting,
}

impl LoggedRun {
    /// None if the log has its run time, but not its start.
    fn of(job: &Rigid) -> Option<LoggedRun> {
        match (job.wait, job.runtime) {
            (Some(wait), Some(runtime)) if !runtime.is_zero() || job.status != Some(CANCELLED) => {
                Some(LoggedRun::Ended { wait, runtime })
            }
            (Some(wait), _) if job.status == Some(CANCELLED) => Some(LoggedRun::Cancelled { wait }),
            (Some(wait), _) => Some(LoggedRun::Running { wait }),
            (None, Some(runtime)) if !runtime.is_zero() => None,
            (None, _) => Some(LoggedRun::Waiting),
        }
    }
}

impl SiteLog {
    /// The jobs of a log, and the moment at which it ends: that of the last submission, or the last known time if some
    /// jobs have not ended. Fails if the log does not say when jobs started.
    pub fn of_trace(trace: &Trace, cores: u32) -> Result<(SiteLog, Time), String> {
        let mut jobs = Vec::new();
        let mut users = Vec::new();
        let mut without_start = 0;
        let mut is_snapshot = false;
        for job in trace.jobs.iter() {
            let Ok(size) = job.nodes() else { continue };
            let Some(run) = LoggedRun::of(&job) else {
                without_start += 1;
                continue;
            };
            let (start, end) = match run {
                LoggedRun::Ended { wait, runtime } => (Some(job.submit + wait), Some(job.submit + wait + runtime)),
                LoggedRun::Cancelled { wait } => (None, Some(job.submit + wait)),
                LoggedRun::Running { wait } => (Some(job.submit + wait), None),
                LoggedRun::Waiting => (None, None),
            };
            is_snapshot |= end.is_none();
            let requested = job.walltime().or(job.runtime).unwrap_or(USUAL_REQUEST);
            let user = job.user.unwrap_or(u32::MAX);
            users.push(user);
            jobs.push(SeenJob {
                user,
                cores: size,
                nodes: NodeSet::default(),
                requested,
                came: job.submit,
                start,
                end,
            });
        }
        if without_start > 0 {
            return Err(format!(
                "{} a run time but no wait time (field 3), so the log does not say what ran when: run it under a \
                 [batch] table, and ask for a moment of the result",
                format_counted(without_start, "job") + if without_start == 1 { " has" } else { " have" }
            ));
        }
        users.sort_unstable();
        users.dedup();
        for job in &mut jobs {
            job.user = users.binary_search(&job.user).expect("all are listed") as u32;
        }
        let names = users.iter().map(u32::to_string).collect();
        let log = SiteLog::new(cores, jobs, names);
        let last_submission = log.jobs.last().map_or(Time::ZERO, |job| job.came);
        let now = if is_snapshot { log.covered_time().map_or(Time::ZERO, |covers| covers.1) } else { last_submission };
        Ok((log, now))
    }
}
