//! Users that negotiate with sites: the questions, bookings, payments and results of each, by strategy.

mod account;
mod fields;
mod figures;
mod records;
mod section;
mod seen;
mod tally;

pub use self::figures::{Bargaining, Earned, OneUser, WantedTimes};
use self::figures::{METRICS, lines};
pub(crate) use self::seen::{BookingSpan, HoldSpan, NegotiationData};
pub(crate) use self::tally::BargainTally;
use super::{PLAIN, Subject, SubjectReport};
use crate::markup::Html;
use crate::present::page::Page;
use crate::results::account::Account;
use crate::{SummaryPart, Tally};
use hansa_sim::protocol::Bargain;
use hansa_sim::systems::StrategyTraits;
use hansa_sim::time::Span;
use hansa_sim::topology::Topology;

pub const SUBJECT: Subject = Subject {
    systems: &["provisioning"],
    part: Bargaining::NAME,
    section: ("bargains", "Strategies"),
    open: Strategies::of,
    lines,
    metrics: METRICS,
    records: Some(records::RECORDS),
    tally: Some(|_, _| Box::new(BargainTally::keeping())),
    ..PLAIN
};

/// Facts about users from the topology.
#[derive(Debug)]
struct Strategies {
    systems: Vec<u32>,
    /// Users by their numbers.
    users: Vec<KnownUser>,
}

#[derive(Debug)]
struct KnownUser {
    name: String,
    strategy: String,
    bargains: bool,
    is_whole_or_nothing: bool,
    /// Lead time of padded jobs.
    ahead: Option<Span>,
    /// Wanted start and deadline of other jobs, counted from their arrival, if there is either.
    wanted: Option<(Option<Span>, Option<Span>)>,
}

impl Strategies {
    fn of(topology: &Topology, systems: Vec<u32>) -> Option<Box<dyn SubjectReport>> {
        Some(Box::new(Strategies::known_users(topology, systems)))
    }

    fn known_users(topology: &Topology, systems: Vec<u32>) -> Strategies {
        let known = |user: &hansa_sim::topology::User| {
            let strategy = topology.systems.iter().find_map(|system| system.strategy_of(user));
            let StrategyTraits { bargains, pads, has_legs } = strategy.unwrap_or_default();
            let ahead = user.approach.ahead;
            let deadline = user.approach.deadline;
            KnownUser {
                name: user.name.clone(),
                strategy: user.approach.strategy.clone(),
                bargains,
                is_whole_or_nothing: has_legs,
                ahead: ahead.filter(|_| pads),
                wanted: (!pads && ahead.or(deadline).is_some()).then_some((ahead, deadline)),
            }
        };
        Strategies { systems, users: topology.users.iter().map(known).collect() }
    }
}

/// Checks that the calendars of a run fit their sites, see `section/shapes.rs`.
#[cfg(test)]
pub fn calendars_fit(topology: &Topology, tally: &Tally) {
    section::calendars_fit(&Strategies::known_users(topology, Vec::new()), tally);
}

impl SubjectReport for Strategies {
    fn open_account<'a>(&'a self, tally: &'a Tally, _: bool) -> Box<dyn Account + 'a> {
        Box::new(account::Accounts::new(tally, self))
    }

    fn page_section(&self, page: &Page<'_>) -> Html {
        section::strategies_section(self, page)
    }

    fn user_strategy(&self, user: usize) -> Option<&str> {
        self.users.get(user).map(|user| user.strategy.as_str())
    }
}

/// Number of negotiations with this end.
fn count_of(ends: &[u64; Bargain::ALL.len()], end: Bargain) -> u64 {
    ends[end as usize]
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Names, Status, Summary};
    use hansa_sim::grid::{Edge, Job, JobId, Kind, NodeSet, Task, TaskId};
    use hansa_sim::kernel::Entry;
    use hansa_sim::protocol::Record;
    use hansa_sim::time::{Stamp, Time};

    /// A summary of jobs with this many tasks of a minute each, one after the other.
    fn summary(jobs: &[u32]) -> Summary {
        let text = "name = \"bargains\"\n[provisioning]\n[[site]]\nname = \"york\"\ncores = 64\n\
                    [[user]]\nname = \"ann\"\n[[workload]]\nsource = \"lublin\"\njobs = 2\nnodes = 4\n";
        let topology = crate::play::read_text(text);
        let mut tally = Tally::new(&topology, &Names::of(&topology));
        let [york, ann] = ["york", "ann"].map(|name| tally.names.find_actor(name).unwrap());
        let mut add = |minutes, actor, record| {
            let stamp = Stamp::at(Time::ZERO + Span::from_minutes(minutes));
            tally.add(&Entry { stamp, actor, record }).unwrap();
        };
        for (id, count) in (0..).zip(jobs) {
            let tasks = vec![Task::new(Span::from_minutes(1), 1, Kind(0)); *count as usize];
            let edges = (1..*count).map(|to| Edge::new(to - 1, to)).collect();
            let job =
                Job { id: JobId(id), arrive: Time::ZERO, first_task: id * 9, tasks, edges, worth: None, times: None };
            add(0, ann, Record::Arrived { job: Arc::new(job), user: ann });
            for index in 0..*count {
                let task = TaskId { job: JobId(id), index };
                add(0, ann, Record::Assigned { task, site: york });
                add(0, york, Record::Entered { user: ann, task });
                add(index.into(), york, Record::Started { task, cores: NodeSet::parse(&id.to_string()).unwrap() });
                add(u64::from(index) + 1, york, Record::Finished { task });
            }
            add(10 + 20 * u64::from(id), ann, Record::Completed { job: JobId(id), value: None });
        }
        tally.summary(1, Status::Complete, String::new())
    }

    #[test]
    fn slr_is_that_of_workflows_if_there_are_any() {
        let earned = |jobs: &[u32]| {
            let summary = summary(jobs);
            (summary.slr, summary.slr_by_size.len())
        };
        assert_eq!(earned(&[1, 2]), (Some(15.0), 1));
        assert_eq!(earned(&[1, 1]), (Some(20.0), 2));
    }
}
