//! Tasks that a user has sent to sites recently, of all its jobs. They may not have arrived when a site reported its
//! load.
//!
//! A site counts all messages of the instant in which it is asked. So its answer includes all tasks sent before the
//! question or arriving together with it, and none sent later. As sites answer at once, no question is older than a
//! round trip, and earlier entries are dropped.

use std::collections::{BTreeMap, VecDeque};

use crate::time::{Span, Time};

#[derive(Default)]
pub struct SentTasks {
    /// Number of instants the user has seen: messages without latency arrive in the next one.
    instants: u64,
    to: BTreeMap<usize, ProviderLane>,
}

/// Order of arrivals at one provider; equal ones arrive together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ArrivalOrder(Time, u64);

/// Tasks sent to one provider.
#[derive(Default)]
struct ProviderLane {
    in_all: u64,
    /// Number of tasks that arrived before each of these.
    before: VecDeque<(ArrivalOrder, u64)>,
}

impl SentTasks {
    /// Ends an instant.
    pub fn end_instant(&mut self) {
        self.instants += 1;
    }

    /// Arrival of a message sent now with this latency.
    pub fn arrival(&self, now: Time, latency: Span) -> ArrivalOrder {
        // All messages of one time arrive at one time; the instant only matters if that is the same time.
        ArrivalOrder(now, if latency.is_zero() { self.instants } else { 0 })
    }

    /// Records that a task leaves for a provider. No question asked before `oldest` is open.
    pub fn add(&mut self, provider: usize, arrival: ArrivalOrder, oldest: Time) {
        let ProviderLane { in_all, before } = self.to.entry(provider).or_default();
        while before.pop_front_if(|(ArrivalOrder(time, _), _)| *time < oldest).is_some() {}
        if before.back().is_none_or(|(last, _)| *last != arrival) {
            before.push_back((arrival, *in_all));
        }
        *in_all += 1;
    }

    /// Number of tasks that a provider had not received when it was asked.
    pub fn since(&self, provider: usize, asked: ArrivalOrder) -> u64 {
        let Some(ProviderLane { in_all, before }) = self.to.get(&provider) else { return 0 };
        let next = before.partition_point(|(arrival, _)| *arrival <= asked);
        before.get(next).map_or(0, |(_, before)| in_all - before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::second;

    #[test]
    fn what_comes_together_with_a_question_is_in_the_answer() {
        let mut sent = SentTasks::default();
        let latency = Span::from_secs(2);
        for at in [10, 11, 11, 12] {
            sent.add(0, sent.arrival(second(at), latency), Time::ZERO);
            sent.end_instant();
        }
        let since = |at: u64| sent.since(0, sent.arrival(second(at), latency));
        assert_eq!([9, 10, 11, 12, 13].map(since), [4, 3, 1, 0, 0]);
        assert_eq!(sent.since(1, sent.arrival(second(9), latency)), 0);
    }

    #[test]
    fn where_messages_take_no_time_a_later_instant_of_the_same_time_is_later() {
        let mut sent = SentTasks::default();
        let asked = sent.arrival(second(10), Span::ZERO);
        sent.add(0, asked, Time::ZERO);
        assert_eq!(sent.since(0, asked), 0);
        sent.end_instant();
        sent.add(0, sent.arrival(second(10), Span::ZERO), Time::ZERO);
        assert_eq!(sent.since(0, asked), 1);
    }

    #[test]
    fn what_no_answer_can_have_missed_is_forgotten() {
        let mut sent = SentTasks::default();
        let latency = Span::from_secs(2);
        for at in 0..1_000 {
            sent.add(0, sent.arrival(second(at), latency), second(at.saturating_sub(4)));
        }
        assert_eq!(sent.to[&0].before.len(), 5);
        assert_eq!(sent.since(0, sent.arrival(second(995), latency)), 4);
    }
}
