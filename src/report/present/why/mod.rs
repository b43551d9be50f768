//! The reasons of all that a job waited for. `hansa why` prints them, and a page shows those of the jobs that it names.
//!
//! A job of one task waits in the queue of a site (`wait.rs`); a job of several tasks has a chain that delayed its end
//! (`chain.rs`).

mod auctions;
mod bookings;
mod chain;
mod chain_text;
mod find;
mod flow;
mod lines;
mod room;
mod stay;
mod text;
mod trail;
mod wait;
mod yields;

#[cfg(test)]
mod chain_tests;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::fmt;

use serde::Serialize;

pub use self::auctions::AuctionStory;
pub use self::bookings::BookingStory;
pub use self::chain::Chain;
use self::lines::moment_words;
pub(crate) use self::lines::{StoryLine, StoryLines};
pub use self::room::RefusedRequest;
pub(crate) use self::stay::SiteStays;
pub use self::trail::JobTrail;
pub(crate) use self::wait::SharedRun;
pub use self::wait::Why;
use self::wait::booked_start;
pub use self::yields::SharingStory;
use crate::Tally;
use crate::referee::tally::{Fate, JobRow, Standing};
use hansa_sim::grid::JobId;
use hansa_sim::numerals::format_counted;
use hansa_sim::topology::Topology;

/// Stories on a page: of the longest waits, and of the workflows that took longest.
const WAITS_ON_PAGE: usize = 40;
const WORKFLOWS_ON_PAGE: usize = 10;

/// The reasons of all that a job, or one task of it, waited for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JobStory {
    #[serde(flatten)]
    subject: StorySubject,
    /// Place of the job's story on the page of the run. None if the page has none.
    page: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chain: Option<Chain>,
    /// Its request for a reservation, if that was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<RefusedRequest>,
    /// Yields and pauses, if it shared its nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    sharing: Option<SharingStory>,
    /// Its bids, where a market records auctions.
    #[serde(skip_serializing_if = "Option::is_none")]
    auctions: Option<AuctionStory>,
    /// The negotiation for it, where users negotiate.
    #[serde(skip_serializing_if = "Option::is_none")]
    bookings: Option<BookingStory>,
    /// True if its tasks bid in auctions that the log does not have.
    #[serde(skip)]
    lacks_bids: bool,
}

/// The subject of a story.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
enum StorySubject {
    /// A task that was at a site, with the reasons of its wait there.
    Task(Box<Why>),
    /// A job of several tasks, or one that was at no site.
    Job {
        job: String,
        user: String,
        tasks: u64,
        /// Seconds from the start of the run.
        submitted: f64,
        /// Reason for which no task was given to a site; empty if some were.
        state: String,
    },
}

impl Tally {
    /// The number in the run of a job that a user names, and the index of the task that is meant: `12.3` is a task of
    /// job 12 of a log, `#7` a number of the run.
    pub fn find_job(&self, job: &str) -> Result<(JobId, Option<usize>), String> {
        self.find_task(job).map(|(row, task)| (row.job.id, task))
    }

    /// The story of a job or of one of its tasks. With its trail, the story has its bids and bookings, too.
    /// O(flows + tasks log tasks).
    ///
    /// # Panics
    ///
    /// If the tally has no such job.
    pub fn explain_job(
        &self,
        topology: &Topology,
        job: JobId,
        task: Option<usize>,
        trail: Option<&JobTrail>,
    ) -> JobStory {
        let is_on_page = self.storied_jobs().contains(&job);
        let page = is_on_page.then(|| format!("report.html#{}", story_anchor(job)));
        JobStory {
            page,
            auctions: trail.and_then(|trail| trail.auction_story(self, topology, task)),
            bookings: trail.and_then(|trail| trail.booking_story(self)),
            ..JobStory::of(&SiteStays::of(self), topology, &self.jobs[&job], task)
        }
    }

    /// The jobs whose stories are on the page: those that waited longest for their first start, and the jobs of several
    /// tasks that took longest.
    pub(crate) fn storied_jobs(&self) -> Vec<JobId> {
        let mut waits = Vec::new();
        let mut workflows = Vec::new();
        for row in self.jobs.values().filter(|row| row.standing() != Standing::Refused) {
            let until = row.start().or(row.given_up()).unwrap_or(self.last);
            waits.push((Reverse(until.since(row.earliest_start())), row.job.id));
            if row.tasks.len() > 1 {
                let end = row.last_end().or(row.given_up()).unwrap_or(self.last);
                workflows.push((Reverse(end.since(row.job.arrive)), row.job.id));
            }
        }
        waits.retain(|(wait, _)| !wait.0.is_zero());
        waits.sort_unstable();
        workflows.sort_unstable();
        let mut jobs: Vec<JobId> = waits.into_iter().take(WAITS_ON_PAGE).map(|(_, job)| job).collect();
        let others = workflows.into_iter().take(WORKFLOWS_ON_PAGE).map(|(_, job)| job);
        let others: Vec<JobId> = others.filter(|job| !jobs.contains(job)).collect();
        jobs.extend(others);
        jobs
    }

    /// A job of several tasks, or one that was at no site.
    fn job_subject(&self, row: &JobRow, task: Option<usize>) -> StorySubject {
        let is_unassigned = row.tasks.iter().all(|held| held.site.is_none());
        StorySubject::Job {
            job: task.map_or_else(|| self.label(row.job.id), |task| self.task_label(row, task)),
            user: self.names.of_actor(row.user),
            tasks: row.tasks.len() as u64,
            submitted: row.job.arrive.micros() as f64 / 1e6,
            state: if is_unassigned && row.fate != Fate::TurnedAway { unassigned_words(row) } else { String::new() },
        }
    }
}

impl JobStory {
    /// A story without bids and bookings, which only a trail has.
    pub(crate) fn of(stays: &SiteStays<'_>, topology: &Topology, row: &JobRow, task: Option<usize>) -> JobStory {
        let tally = stays.tally;
        let request = RefusedRequest::of(tally, row);
        let at_site = task.filter(|task| row.tasks[*task].site.is_some() && request.is_none());
        let mut story = JobStory {
            subject: tally.job_subject(row, task),
            page: None,
            chain: None,
            request,
            sharing: None,
            auctions: None,
            bookings: None,
            lacks_bids: tally.gives_of(row).category == "bid" && !JobTrail::is_wanted(tally),
        };
        if let Some(task) = at_site {
            story.subject = StorySubject::Task(Box::new(Why::of_task(stays, row, task)));
            story.sharing = SharingStory::of(stays, row, task);
        } else if task.is_none() && story.request.is_none() {
            story.chain = Chain::of(stays, topology, row);
        }
        story
    }

    /// The story as lines under a title.
    pub(crate) fn story_lines(&self) -> StoryLines {
        let mut lines = match &self.subject {
            StorySubject::Task(why) => why.story_lines(),
            StorySubject::Job { job, user, tasks, submitted, state } => {
                let mut lines = StoryLines::new(format!("job {job} of {user}: {}", format_counted(*tasks, "task")));
                if !state.is_empty() {
                    lines.add("submitted", moment_words(*submitted));
                    lines.add("at no site", state.clone());
                }
                lines
            }
        };
        if let Some(chain) = &self.chain {
            chain.add_lines(&mut lines);
        }
        if let Some(request) = &self.request {
            request.add_lines(&mut lines);
        }
        if let Some(sharing) = &self.sharing {
            sharing.add_lines(&mut lines);
        }
        if let Some(bookings) = &self.bookings {
            bookings.add_lines(&mut lines);
        }
        if let Some(auctions) = &self.auctions {
            auctions.add_lines(&mut lines);
        }
        if self.lacks_bids {
            lines.add("bids", "not in the log; `bids = \"log\"` of a market records them");
        }
        lines
    }
}

/// The identifier of a job's story on a page.
pub(crate) fn story_anchor(job: JobId) -> String {
    format!("job-{}", job.0)
}

/// Words for a job of which no task was given to a site.
fn unassigned_words(row: &JobRow) -> String {
    match row.fate {
        Fate::Refused => "refused: a task fits no site".to_owned(),
        Fate::NotAdmitted => "not admitted: it would have finished too late".to_owned(),
        Fate::TurnedAway => "its request was refused".to_owned(),
        Fate::Rejected(why) => format!("rejected: {why}"),
        Fate::Cancelled { .. } => "its user took it back".to_owned(),
        Fate::Removed { .. } => "given up before any task was assigned".to_owned(),
        Fate::Open | Fate::Completed { .. } => match booked_start(row) {
            Some(start) => format!("booked from {start} on, and not started when the log ended"),
            None => "no task had been assigned when the log ended".to_owned(),
        },
    }
}

impl fmt::Display for JobStory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.story_lines().fmt(f)
    }
}
