//! Tasks that a user has sent to sites of late, whatever jobs they are of: when a site said how full it is, they may
//! not have been there yet.
//!
//! A site counts whatever comes in the instant in which it is asked. So all that was sent before a question, or is
//! there together with it, is in the answer, and what was sent later is not. As sites answer at once, no question is
//! older than a message there and back, and what was sent before that is forgotten.

use std::collections::VecDeque;

use crate::few;
use crate::time::{Span, Time};

#[derive(Default)]
pub struct Sent {
    /// How many instants the user has seen: messages that take no time are there in the next one.
    instants: u64,
    to: few::Map<usize, Lane>,
}

/// The order in which messages to one provider are there: those that are equal are there together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrival(Time, u64);

/// What has been sent to one provider.
#[derive(Default)]
struct Lane {
    in_all: u64,
    /// How many came before each of these arrivals.
    before: VecDeque<(Arrival, u64)>,
}

impl Sent {
    /// An instant is over.
    pub fn pass(&mut self) {
        self.instants += 1;
    }

    /// Of what is sent now to where a message takes so long.
    pub fn arrival(&self, now: Time, latency: Span) -> Arrival {
        // Whatever is sent at one time is there at one time; only where that is the same time does the instant matter.
        Arrival(now, if latency.is_zero() { self.instants } else { 0 })
    }

    /// A task leaves for a provider; no answer is awaited to anything that was asked before `oldest`.
    pub fn add(&mut self, provider: usize, arrival: Arrival, oldest: Time) {
        let Lane { in_all, before } = self.to.or_default(provider);
        while before.pop_front_if(|(Arrival(time, _), _)| *time < oldest).is_some() {}
        if before.back().is_none_or(|(last, _)| *last != arrival) {
            before.push_back((arrival, *in_all));
        }
        *in_all += 1;
    }

    /// How many a provider had not got yet when it was asked.
    pub fn since(&self, provider: usize, asked: Arrival) -> u64 {
        let Some(Lane { in_all, before }) = self.to.get(&provider) else { return 0 };
        let next = before.partition_point(|(arrival, _)| *arrival <= asked);
        before.get(next).map_or(0, |(_, before)| in_all - before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(at: u64) -> Time {
        Time::from_micros(at * 1_000_000)
    }

    #[test]
    fn what_comes_together_with_a_question_is_in_the_answer() {
        let (mut sent, latency) = (Sent::default(), Span::from_secs(2));
        for at in [10, 11, 11, 12] {
            sent.add(0, sent.arrival(second(at), latency), Time::ZERO);
            sent.pass();
        }
        let since = |at: u64| sent.since(0, sent.arrival(second(at), latency));
        assert_eq!([9, 10, 11, 12, 13].map(since), [4, 3, 1, 0, 0]);
        assert_eq!(sent.since(1, sent.arrival(second(9), latency)), 0);
    }

    #[test]
    fn where_messages_take_no_time_a_later_instant_of_the_same_time_is_later() {
        let mut sent = Sent::default();
        let asked = sent.arrival(second(10), Span::ZERO);
        sent.add(0, asked, Time::ZERO);
        assert_eq!(sent.since(0, asked), 0);
        sent.pass();
        sent.add(0, sent.arrival(second(10), Span::ZERO), Time::ZERO);
        assert_eq!(sent.since(0, asked), 1);
    }

    #[test]
    fn what_no_answer_can_have_missed_is_forgotten() {
        let (mut sent, latency) = (Sent::default(), Span::from_secs(2));
        for at in 0..1_000 {
            sent.add(0, sent.arrival(second(at), latency), second(at.saturating_sub(4)));
        }
        assert_eq!(sent.to[&0].before.len(), 5);
        assert_eq!(sent.since(0, sent.arrival(second(995), latency)), 4);
    }
}
