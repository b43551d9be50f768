//! Outages of a site's nodes.
//!
//! The site's head stays reachable; only nodes go down, and with them the tasks on them: all of a task, if one of its
//! nodes fails. Within one instant, tasks end first, then nodes come up and go down, then all other events follow.
//!
//! A site knows its own outages in advance, so the fate of a task that nothing else can change is reported at once,
//! with its later time. Planners do not learn it: they are told of nodes that are down, and of their expected return.
//!
//! A site without running or waiting tasks does not watch its nodes, as a run is over when its work is: node changes of
//! such a time are logged when work arrives.

use super::{Ending, Out, Running, Site, Time};
use crate::kernel::ActorId;
use crate::protocol::{Lost, Message, Record};
use crate::time::Span;

impl Site {
    /// Applies the repairs and outages that are due.
    pub(super) fn apply_outages(&mut self, now: Time, out: &mut Out) {
        let Some(outages) = &mut self.outages else { return };
        let turns = outages.next().is_some_and(|next| next <= now);
        let is_due = self.expected.first().is_some_and(|first| first.back <= now);
        if !turns && !is_due {
            return;
        }
        let changes = outages.advance(now);
        let expected = outages.expected(now);
        // The begin or end of one of several overlapping outages may change only the expected return of its nodes, or
        // nothing.
        if changes.is_empty() && !is_due && expected == self.expected {
            return;
        }
        self.manager.finish_tasks(now, &mut self.orders);
        self.carry_out(now, out);
        for change in changes {
            let nodes = change.nodes;
            let since = change.at;
            if change.is_up {
                self.tasks.nodes.mark_up(&nodes);
                out.log(Record::Up { cores: nodes, since });
                continue;
            }
            for slot in self.tasks.slots_on(&nodes) {
                self.remove_lost_task(now, slot, out);
            }
            self.tasks.nodes.mark_down(&nodes);
            out.log(Record::Down { cores: nodes, since });
        }
        self.manager.are_down(now, &expected);
        self.expected = expected;
    }

    /// Removes a task, one of whose nodes failed.
    fn remove_lost_task(&mut self, now: Time, slot: usize, out: &mut Out) {
        let saved = self.log_checkpoints(now, slot, false, out);
        let running = self.tasks.finish(slot);
        let Running { task, sender, started, ending, loss, .. } = running;
        out.log(Record::Lost { task, saved });
        self.own_ends.remove(task, ending);
        if ending != Ending::Settled && loss.is_reported {
            self.report_loss(now, sender, Lost { task, started, saved }, out);
        }
        self.manager.task_lost(now, &running, saved);
    }

    /// Logs the checkpoints of a task in this stint; returns the work that they have saved.
    pub(super) fn log_checkpoints(&mut self, now: Time, slot: usize, is_over: bool, out: &mut Out) -> Span {
        let running = self.tasks.at(slot);
        let Some(saves) = running.loss.saves else { return Span::ZERO };
        let ran = running.run_time_at(now);
        let times = if is_over { saves.times_in_all(ran) } else { saves.times(ran) };
        if times > 0 {
            out.log(Record::Checkpointed { task: running.task, times, spent: saves.spent(times) });
        }
        saves.saved(times)
    }

    /// Reports the fate of a task that has just started and that only a failure can end earlier.
    pub(super) fn report_fate(&mut self, now: Time, slot: usize, out: &mut Out) {
        let running = self.tasks.at(slot);
        let end = running.outlook().end;
        let nodes = running.nodes().cloned().unwrap_or_default();
        let fails = self.outages.as_ref().and_then(|outages| outages.first_failure(&nodes, now, end));
        let Some(fails) = fails else { return self.report_end(slot, out) };
        let Running { task, sender, started, loss, .. } = *self.tasks.at(slot);
        if loss.is_reported {
            let ran = self.tasks.at(slot).run_time_at(fails);
            let saved = loss.saves.map_or(Span::ZERO, |saves| saves.saved(saves.times(ran)));
            self.report_loss(fails, sender, Lost { task, started, saved }, out);
        }
    }

    pub(super) fn report_end(&mut self, slot: usize, out: &mut Out) {
        let running = self.tasks.at(slot);
        let end = running.outlook().end.round_up(self.report_every);
        out.send_at(end, running.sender, running.end_message());
    }

    fn report_loss(&self, at: Time, sender: ActorId, lost: Lost, out: &mut Out) {
        out.send_at(at.round_up(self.report_every), sender, Message::Lost(lost));
    }

    /// Time of the next outage, repair or expected repair; None if no task is here.
    pub(super) fn next_change(&self) -> Option<Time> {
        let outages = self.outages.as_ref()?;
        let is_busy = self.tasks.all().next().is_some() || self.manager.has_waiting();
        let expected = self.expected.first().map(|first| first.back).filter(|back| *back < Time::NEVER);
        if is_busy { outages.next().into_iter().chain(expected).min() } else { None }
    }

    /// Promise: failures cause no message before this if nothing happens here before `next`.
    pub(super) fn failure_floor(&self, next: Time) -> Time {
        let change = self.outages.as_ref().and_then(|outages| outages.next());
        change.map_or(Time::NEVER, |change| change.max(next))
    }
}
