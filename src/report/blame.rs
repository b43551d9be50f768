//! Whose doing it is when a log makes no sense, or ends too soon. The router writes down what members tell it, so what
//! is wrong with its records is theirs as well.

use std::collections::BTreeMap;

use super::tally::{Fate, JobRow, Tally};
use crate::grid::{JobId, TaskId};
use crate::kernel::{ActorId, Entry};
use crate::protocol::Record;
use crate::topology::Owned;

impl Tally {
    /// `site york`, as people know it.
    pub fn who(&self, actor: ActorId) -> String {
        let name = self.names.of_actor(actor);
        let first_site = self.site_of.keys().next().copied();
        match self.site_index(actor) {
            Some(_) => format!("site {name}"),
            // The services come before the sites, and the users after them.
            None if Some(actor) < first_site => format!("the {name}"),
            None => format!("user {name}"),
        }
    }

    /// Who is behind an entry that does not go with those before it: who wrote it, or told the router so. Where users
    /// bargain with sites the router hears neither, so what one of them says of the other is told of both.
    pub fn behind(&self, entry: &Entry<Record>, owners: &BTreeMap<JobId, Owned>) -> String {
        if let Some(both) = self.one_of(entry) {
            return both.into_iter().map(|actor| self.who(actor)).collect::<Vec<_>>().join(" or ");
        }
        let first_site = self.site_of.keys().next().copied();
        let told = match &entry.record {
            // Where there is no service to hand jobs in to, users write this themselves.
            Record::Arrived { .. } if Some(entry.actor) >= first_site => vec![entry.actor],
            Record::Arrived { job, user }
            | Record::Refused { job, user, .. }
            | Record::NotAdmitted { job, user }
            | Record::Rejected { job, user, .. } => match owners.get(&job.id) {
                // Somebody else was first with what is this user's.
                Some(owned) if owned.user == *user => vec![self.user_of(job.id).unwrap_or(*user)],
                _ => vec![*user],
            },
            // The network lets go what it is told to.
            Record::Shipped { user, .. } => vec![*user],
            Record::Completed { job, .. } => self.jobs.get(job).map(|row| self.silent_sites(row)).unwrap_or_default(),
            // It has started what was not given out, or was taken back.
            Record::Assigned { task, .. } | Record::Withdrawn { task } => self.started_at(*task),
            _ => Vec::new(),
        };
        let told = if told.is_empty() { vec![entry.actor] } else { told };
        told.into_iter().map(|actor| self.who(actor)).collect::<Vec<_>>().join(" and ")
    }

    /// Those of whom one must have lied, if an entry is about what a user and a site have said to each other.
    fn one_of(&self, entry: &Entry<Record>) -> Option<Vec<ActorId>> {
        match &entry.record {
            Record::Entered { user: other, .. }
            | Record::Booked { user: other, .. }
            | Record::Held { user: other, .. }
            | Record::Denied { user: other, .. }
            | Record::Accused { site: other, .. } => Some(vec![entry.actor, *other]),
            Record::Assigned { task, .. } | Record::Withdrawn { task } if self.tells_of_own_jobs(entry.actor) => {
                Some([entry.actor].into_iter().chain(self.has_started(*task)).collect())
            }
            _ => None,
        }
    }

    /// The sites and users that hold jobs which are still open though nothing is left to do: sites that have not
    /// reported the end of a task, users that have not submitted a job. `programs` names the external program that
    /// decides for an actor.
    pub fn kept_back(&self, owners: &BTreeMap<JobId, Owned>, programs: &BTreeMap<ActorId, String>) -> String {
        let mut kept: BTreeMap<Vec<ActorId>, Vec<JobId>> = BTreeMap::new();
        for (&job, row) in self.jobs.iter().filter(|(_, row)| row.fate == Fate::Open) {
            let sites = self.silent_sites(row);
            // Whoever took a job back from a queue has not handed it in again.
            let queued = self.has_queues(row.system);
            if self.users_tell_of(row.system) {
                // What they have said to each other last nobody else has heard.
                kept.entry([row.user].into_iter().chain(sites).collect()).or_default().push(job);
                continue;
            }
            let who = if sites.is_empty() && queued { vec![row.user] } else { sites };
            who.into_iter().for_each(|who| kept.entry(vec![who]).or_default().push(job));
        }
        let open = |job: JobId| self.jobs.get(&job).map_or(!self.knows(job), |row| row.fate == Fate::Open);
        for (&job, owned) in owners.iter().filter(|(job, _)| !self.knows(**job)) {
            // Whoever still waits for another job's end is not to blame.
            if owned.after.is_none_or(|before| !open(before)) {
                kept.entry(vec![owned.user]).or_default().push(job);
            }
        }
        let tell = |(actors, jobs): (&Vec<ActorId>, &Vec<JobId>)| {
            let who = actors.iter().map(|actor| self.who(*actor)).collect::<Vec<_>>().join(" or ");
            let more = if jobs.len() > 1 { format!(" and {} more", jobs.len() - 1) } else { String::new() };
            match &actors[..] {
                [actor]
                    if let Some(program) = programs.get(actor)
                        && !self.runs_any(jobs) =>
                {
                    format!("{program} has given no orders for job {}{more}", jobs[0])
                }
                _ => format!("{who} still has job {}{more}", jobs[0]),
            }
        };
        kept.iter().map(tell).collect::<Vec<_>>().join(", ")
    }

    /// True if a task of one of these jobs has started and its end was not reported.
    fn runs_any(&self, jobs: &[JobId]) -> bool {
        let tasks = jobs.iter().filter_map(|job| self.jobs.get(job)).flat_map(|row| &row.tasks);
        tasks.into_iter().any(|task| task.start.is_some() && task.end.is_none() && !task.is_lost())
    }

    /// The sites that have tasks of a job which have not ended; if all have, those where they did, for the router has
    /// not heard of it.
    fn silent_sites(&self, row: &JobRow) -> Vec<ActorId> {
        let sites = |ended: bool| {
            let tasks = row.tasks.iter().filter(move |task| task.end.is_some() == ended);
            let mut sites: Vec<_> = tasks.filter_map(|task| task.site).collect();
            sites.sort_unstable();
            sites.dedup();
            sites
        };
        let silent = if sites(false).is_empty() { sites(true) } else { sites(false) };
        self.actors(silent)
    }

    /// The site that has started a task, if any has.
    fn has_started(&self, task: TaskId) -> Vec<ActorId> {
        let row = self.jobs.get(&task.job).and_then(|row| row.tasks.get(task.index as usize));
        if row.is_some_and(|row| row.start.is_some()) { self.started_at(task) } else { Vec::new() }
    }

    fn started_at(&self, task: TaskId) -> Vec<ActorId> {
        let row = self.jobs.get(&task.job).and_then(|row| row.tasks.get(task.index as usize));
        self.actors(row.and_then(|row| row.site).into_iter().collect())
    }

    fn actors(&self, sites: Vec<u32>) -> Vec<ActorId> {
        sites.into_iter().map(|site| self.sites[site as usize].actor).collect()
    }
}
