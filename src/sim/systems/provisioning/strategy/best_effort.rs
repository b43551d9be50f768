//! Best effort, just in time: a task is submitted to a queue once all its predecessors have ended and their data has
//! arrived.
//!
//! Of several sites it takes the one with the fewest running and waiting tasks: the load that the site reports, and the
//! tasks that its user has sent there since (`sent.rs`).

use std::collections::{BTreeMap, BTreeSet};

use super::{Strategy, StrategyRow};
use crate::protocol::{Query, Reply};
use crate::systems::provisioning::job_context::JobContext;
use crate::systems::provisioning::run::Assignment;
use crate::systems::provisioning::sent::ArrivalOrder;
use crate::time::Time;

pub const ROW: StrategyRow = StrategyRow {
    name: "best-effort",
    about: "just in time: each task goes to the shortest queue once all its predecessors have ended",
    bargains: false,
    build: |_| Box::new(JustInTime::default()),
    ..super::BARGAINING
};

/// Also the fallback of other strategies that have obtained nothing else.
#[derive(Default)]
pub struct JustInTime {
    /// Index of the poll that each request belongs to, by the number of the request.
    asked: BTreeMap<u64, usize>,
    polls: Vec<Poll>,
    /// Tasks of open polls. A strategy that falls back to queues enters all ready tasks, and afterwards hears of those
    /// that became ready in this instant.
    asking: BTreeSet<u32>,
}

/// Tasks that became ready together, and the loads of the providers that any of them may go to.
struct Poll {
    at: Time,
    tasks: Vec<u32>,
    loads: BTreeMap<usize, ProviderLoad>,
}

/// The load of a provider, if it has answered, and the time of the question.
struct ProviderLoad {
    asked: ArrivalOrder,
    load: Option<u32>,
}

impl JustInTime {
    /// Handles a complete poll: each task, in order, goes to the least loaded provider, which counts the tasks before
    /// it. A task whose data is under way counts nowhere yet.
    fn decide(&mut self, poll: usize, context: &mut JobContext<'_>) {
        let Poll { tasks, loads, .. } = &mut self.polls[poll];
        for task in std::mem::take(tasks) {
            self.asking.remove(&task);
            let Some((_, provider)) = context
                .fitting_providers(task)
                .into_iter()
                .map(|provider| {
                    let ProviderLoad { asked, load } = &loads[&provider];
                    (u64::from(load.unwrap_or(0)) + context.sent_since(provider, *asked), provider)
                })
                .min()
            else {
                continue;
            };
            context.send(task, Assignment { provider, ..Assignment::default() });
        }
        loads.clear();
    }
}

impl Strategy for JustInTime {
    fn begin_job(&mut self, context: &mut JobContext<'_>) {
        for task in context.ready() {
            self.task_ready(task, context);
        }
    }

    fn task_ready(&mut self, task: u32, context: &mut JobContext<'_>) {
        if self.asking.contains(&task) {
            return;
        }
        let providers = context.fitting_providers(task);
        let is_open = self.polls.last().is_some_and(|poll| poll.at == context.now && !poll.tasks.is_empty());
        if !is_open {
            // With one provider there is nothing to ask, unless others come before it.
            if let [provider] = providers[..] {
                return context.send(task, Assignment { provider, ..Assignment::default() });
            }
            self.polls.push(Poll { at: context.now, tasks: Vec::new(), loads: BTreeMap::new() });
        }
        self.asking.insert(task);
        let number = self.polls.len() - 1;
        let poll = &mut self.polls[number];
        poll.tasks.push(task);
        let unasked: Vec<_> = providers.into_iter().filter(|provider| !poll.loads.contains_key(provider)).collect();
        let numbers = context.send_queries(unasked.iter().map(|provider| (*provider, Query::Load)).collect());
        self.asked.extend(numbers.into_iter().map(|asked| (asked, number)));
        for provider in unasked {
            poll.loads.insert(provider, ProviderLoad { asked: context.arrival(provider), load: None });
        }
    }

    fn receive_reply(&mut self, number: u64, provider: usize, reply: Reply, context: &mut JobContext<'_>) {
        let (Some(poll), Reply::Load(load)) = (self.asked.remove(&number), reply) else { return };
        let loads = &mut self.polls[poll].loads;
        if let Some(its) = loads.get_mut(&provider) {
            its.load = Some(load);
        }
        if loads.values().all(|load| load.load.is_some()) {
            self.decide(poll, context);
        }
    }
}
