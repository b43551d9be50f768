//! The member at fault if a log is inconsistent, or ends too early. The router records the messages of members, so
//! faults in its records are theirs as well.

use std::collections::BTreeMap;

use crate::referee::tally::{Fate, Inconsistent, JobRow, Tally, TaskRow};
use hansa_sim::grid::{JobId, TaskId};
use hansa_sim::kernel::{ActorId, Entry};
use hansa_sim::protocol::Record;
use hansa_sim::topology::Owned;

impl Tally {
    /// `site york`, as people know it.
    pub fn describe_actor(&self, actor: ActorId) -> String {
        let name = self.names.of_actor(actor);
        let first_site = self.site_of.keys().next().copied();
        match self.site_index(actor) {
            Some(_) => format!("site {name}"),
            // The services come before the sites, and the users after them.
            None if Some(actor) < first_site => format!("the {name}"),
            None => format!("user {name}"),
        }
    }

    /// Names the members behind an entry that contradicts those before it: `site york contradicts the records of the
    /// run`. They are its author, or the source of what the router wrote. The router does not take part in negotiations
    /// of users and sites, so where one reports what the other denies, and neither records nor the messages that the
    /// router has relayed decide it, both are named alike.
    pub fn blame_members(
        &self,
        entry: &Entry<Record>,
        wrong: &Inconsistent,
        owners: &BTreeMap<JobId, Owned>,
    ) -> String {
        if let Some(other) = self.denied_by(entry, wrong) {
            return format!(
                "{} and {} contradict each other",
                self.describe_actor(entry.actor),
                self.describe_actor(other)
            );
        }
        let first_site = self.site_of.keys().next().copied();
        let culprits = match &entry.record {
            // Where there is no service, users write this record themselves.
            Record::Arrived { .. } if Some(entry.actor) >= first_site => vec![entry.actor],
            Record::Arrived { job, user }
            | Record::Refused { job, user, .. }
            | Record::NotAdmitted { job, user }
            | Record::Rejected { job, user, .. } => match owners.get(&job.id) {
                // Another user has submitted this user's job first.
                Some(owned) if owned.user == *user => vec![self.user_of(job.id).unwrap_or(*user)],
                _ => vec![*user],
            },
            // The network sends what it is told to send.
            Record::Shipped { user, .. } => vec![*user],
            Record::Completed { job, .. } => {
                self.jobs.get(job).map(|row| self.behind_completion(entry, row)).unwrap_or_default()
            }
            // The site has started a task that was not assigned, or was taken back.
            Record::Assigned { task, .. } | Record::Withdrawn { task } if !self.reports_own_jobs(entry.actor) => {
                self.started_at(*task)
            }
            Record::Accused { site, .. } if self.is_right(entry) == Some(true) => vec![*site],
            _ => Vec::new(),
        };
        let culprits = if culprits.is_empty() { vec![entry.actor] } else { culprits };
        let contradict = if culprits.len() == 1 { "contradicts" } else { "contradict" };
        let actors = culprits.into_iter().map(|actor| self.describe_actor(actor)).collect::<Vec<_>>().join(" and ");
        format!("{actors} {contradict} the records of the run")
    }

    /// The member that denies what an entry says of it, or of whose words an entry is the denial, if no record decides
    /// which of the two lies. None if the author is alone with its word.
    fn denied_by(&self, entry: &Entry<Record>, wrong: &Inconsistent) -> Option<ActorId> {
        match (&entry.record, wrong) {
            _ if self.is_alone_with(entry, wrong) => None,
            (
                Record::Entered { user, .. }
                | Record::Booked { user, .. }
                | Record::Held { user, .. }
                | Record::Denied { user, .. },
                _,
            ) => Some(*user).filter(|user| self.reports_own_jobs(*user) && self.names.holds(*user)),
            (Record::Accused { site, .. }, _) if self.site_of.contains_key(site) => {
                Some(*site).filter(|_| self.is_right(entry).is_none())
            }
            // The site has recorded the start.
            (Record::Assigned { task, .. } | Record::Withdrawn { task }, Inconsistent::Again(..))
                if self.reports_own_jobs(entry.actor) =>
            {
                self.has_started(*task)
            }
            _ => None,
        }
    }

    /// True if the messages that the router has relayed prove an accusation right, false if they prove it wrong.
    fn is_right(&self, entry: &Entry<Record>) -> Option<bool> {
        let Record::Accused { site, fault } = entry.record else { return None };
        self.witness.as_ref()?.confirms_fault(entry.actor, site, fault, entry.stamp.time)
    }

    /// The sites and users that hold jobs which are still open though nothing is left to do: sites that have not
    /// reported the end of a task, users that have not submitted a job. Only if there are none, the sites where tasks
    /// wait that have not started: they may wait for others. `programs` names the external program that decides for an
    /// actor.
    pub fn kept_back(&self, owners: &BTreeMap<JobId, Owned>, programs: &BTreeMap<ActorId, String>) -> String {
        let mut kept = BTreeMap::<Vec<ActorId>, Vec<JobId>>::new();
        let mut waiting = BTreeMap::new();
        let mut unstarted = BTreeMap::new();
        for (&job, row) in self.jobs.iter().filter(|(_, row)| row.fate == Fate::Open) {
            let held = self.task_sites(row, false);
            let ended = self.task_sites(row, true);
            if self.users_report(row.system) {
                self.held_between(row).into_iter().for_each(|actors| kept.entry(actors).or_default().push(job));
                continue;
            }
            let withheld = ended.into_iter().filter(|site| !held.contains(site) && self.withholds_ends(*site));
            let mut at_fault = self.running_sites(row);
            at_fault.extend(self.site_actors(withheld.collect()));
            let (place, actors) = match (at_fault.is_empty(), held.is_empty()) {
                (false, _) => (&mut kept, at_fault),
                (true, false) => (&mut unstarted, self.site_actors(held)),
                // A job that its user took back from a queue, and has not submitted again.
                _ if self.has_queues(row.system) && self.silent_sites(row).is_empty() => (&mut kept, vec![row.user]),
                _ => (&mut waiting, self.silent_sites(row)),
            };
            one_by_one(actors).into_iter().for_each(|actors| place.entry(actors).or_default().push(job));
        }
        for (&job, owned) in owners.iter().filter(|(job, _)| !self.knows(**job)) {
            // A user that still waits for another job's end is not at fault.
            if owned.after.is_none_or(|before| !self.is_open(before)) {
                kept.entry(vec![owned.user]).or_default().push(job);
            }
        }
        // Sites that have reported all ends wait for others, unless there are no others.
        let kept = [kept, unstarted, waiting].into_iter().find(|jobs| !jobs.is_empty()).unwrap_or_default();
        kept.iter()
            .map(|(actors, jobs)| {
                let names = actors.iter().map(|actor| self.describe_actor(*actor)).collect::<Vec<_>>().join(" or ");
                let more = if jobs.len() > 1 { format!(" and {} more", jobs.len() - 1) } else { String::new() };
                match &actors[..] {
                    [actor]
                        if let Some(program) = programs.get(actor)
                            && !self.runs_any(jobs) =>
                    {
                        format!("{program} has given no orders for job {}{more}", jobs[0])
                    }
                    _ => format!("{names} still has job {}{more}", jobs[0]),
                }
            })
            .collect::<Vec<_>>()
            .join(", ")
    }

    fn is_open(&self, job: JobId) -> bool {
        self.jobs.get(&job).map_or(!self.knows(job), |row| row.fate == Fate::Open)
    }

    /// The members that hold an open job of a user that negotiates; several in one list if one of them does.
    fn held_between(&self, row: &JobRow) -> Vec<Vec<ActorId>> {
        // A site records what it does about each task that it has started.
        let runs = self.running_sites(row);
        if !runs.is_empty() {
            return one_by_one(runs);
        }
        let ended = self.task_sites(row, true);
        let withheld: Vec<u32> =
            ended.iter().filter(|site| self.withholds_ends_of(row.user, **site) == Some(true)).copied().collect();
        if !withheld.is_empty() {
            return one_by_one(self.site_actors(withheld));
        }
        let held = self.task_sites(row, false);
        let deceivers: Vec<u32> =
            ended.iter().chain(&held).filter(|site| self.has_sent_false_ends(**site)).copied().collect();
        if !deceivers.is_empty() {
            return one_by_one(self.site_actors(deceivers));
        }
        if held.iter().any(|site| self.withholds_tasks(row.user, *site)) {
            return vec![vec![row.user]];
        }
        let unknown = ended.into_iter().filter(|site| self.withholds_ends_of(row.user, *site).is_none());
        let sites = if held.is_empty() { unknown.collect() } else { held };
        vec![[row.user].into_iter().chain(self.site_actors(sites)).collect()]
    }

    /// True if a site has sent ends that it has not recorded: instead of others, perhaps.
    fn has_sent_false_ends(&self, site: u32) -> bool {
        let actor = self.sites[site as usize].actor;
        self.witness.as_ref().is_some_and(|witness| witness.has_unrecorded_end(actor, self.last))
    }

    /// True if a task of one of these jobs has started and its end was not reported.
    fn runs_any(&self, jobs: &[JobId]) -> bool {
        let tasks = jobs.iter().filter_map(|job| self.jobs.get(job)).flat_map(|row| &row.tasks);
        tasks.into_iter().any(|task| task.start.is_some() && task.end.is_none() && !task.awaits_restart())
    }

    /// Members behind a record that a job is complete although a task of it has not ended: sites that have sent an end
    /// without a record of it, or else the user that has received none. Where the messages do not decide it, both.
    fn behind_completion(&self, entry: &Entry<Record>, row: &JobRow) -> Vec<ActorId> {
        let silent = self.silent_sites(row);
        let Some(witness) = self.witness.as_ref().filter(|_| self.reports_own_jobs(entry.actor)) else { return silent };
        let mut senders = Vec::new();
        let mut is_decided = true;
        for (index, task) in (0..).zip(&row.tasks).filter(|(_, task)| task.end.is_none()) {
            let Some(site) = task.site.map(|site| self.sites[site as usize].actor) else { continue };
            match witness.has_sent_end(site, entry.actor, TaskId { job: row.job.id, index }, entry.stamp.time) {
                Some(true) => senders.push(site),
                Some(false) => {}
                None => is_decided = false,
            }
        }
        match (senders.is_empty(), is_decided) {
            (false, _) => {
                senders.sort_unstable();
                senders.dedup();
                senders
            }
            (true, true) => vec![entry.actor],
            (true, false) => silent.into_iter().chain([entry.actor]).collect(),
        }
    }

    /// The sites that have tasks of a job which have not ended; if all have, those where they did, for the router has
    /// not heard of it.
    fn silent_sites(&self, row: &JobRow) -> Vec<ActorId> {
        let held = self.task_sites(row, false);
        self.site_actors(if held.is_empty() { self.task_sites(row, true) } else { held })
    }

    /// The sites of a job's tasks that have ended, or of those that have not.
    fn task_sites(&self, row: &JobRow, ended: bool) -> Vec<u32> {
        distinct_sites(row.tasks.iter().filter(|task| task.end.is_some() == ended))
    }

    /// The sites where tasks of a job have started, have not ended and are not lost.
    fn running_sites(&self, row: &JobRow) -> Vec<ActorId> {
        self.site_actors(distinct_sites(
            row.tasks.iter().filter(|task| task.start.is_some() && task.end.is_none() && !task.awaits_restart()),
        ))
    }

    /// The site that has started a task, if any has.
    fn has_started(&self, task: TaskId) -> Option<ActorId> {
        let row = self.jobs.get(&task.job).and_then(|row| row.tasks.get(task.index as usize));
        row.filter(|row| row.start.is_some()).and_then(|_| self.started_at(task).pop())
    }

    fn started_at(&self, task: TaskId) -> Vec<ActorId> {
        let row = self.jobs.get(&task.job).and_then(|row| row.tasks.get(task.index as usize));
        self.site_actors(row.and_then(|row| row.site).into_iter().collect())
    }

    fn site_actors(&self, sites: Vec<u32>) -> Vec<ActorId> {
        sites.into_iter().map(|site| self.sites[site as usize].actor).collect()
    }
}

/// The sites of tasks, each once, ascending.
fn distinct_sites<'a>(tasks: impl Iterator<Item = &'a TaskRow>) -> Vec<u32> {
    let mut sites: Vec<_> = tasks.filter_map(|task| task.site).collect();
    sites.sort_unstable();
    sites.dedup();
    sites
}

fn one_by_one(actors: Vec<ActorId>) -> Vec<Vec<ActorId>> {
    actors.into_iter().map(|actor| vec![actor]).collect()
}
