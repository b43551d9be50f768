//! The plan of the queue: what stands fast, when each job would start, and which slots stay free.

use super::{Active, Desk, Mode};
use crate::grid::{FreeList, Part};
use crate::roles::queue::Ask;
use crate::systems::provisioning::planner::{Fixed, Question, free_beside};
use crate::time::Time;

#[derive(Clone)]
pub(super) struct Plan {
    /// When each of the queue starts, in its order; fewer, if nothing of the plan holds, or nobody has planned for the
    /// last yet.
    pub starts: Vec<Time>,
    pub free: FreeList,
    /// Grows with every change of what is free.
    pub version: u64,
    state: State,
    // What planners are handed, kept for the memory.
    asks: Vec<Ask>,
    pub fixed: Vec<Fixed>,
    pub moved: Vec<Time>,
    /// When each of the queue would start if it were planned at the time of the last question about prices.
    pub afresh: Vec<Time>,
}

/// How much of a plan holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Holds,
    /// Starts hold, but free slots have to be listed anew.
    Unlisted,
    /// Starts hold, but the last of the queue have none yet.
    Grown,
    Void,
}

impl Plan {
    pub fn new(procs: u32) -> Plan {
        Plan {
            starts: Vec::new(),
            free: FreeList::empty_site(Time::ZERO, procs),
            version: 0,
            state: State::Holds,
            asks: Vec::new(),
            fixed: Vec::new(),
            moved: Vec::new(),
            afresh: Vec::new(),
        }
    }

    /// Somebody has left the queue.
    pub fn left(&mut self, place: usize, mode: Mode) {
        if place < self.starts.len() {
            self.starts.remove(place);
        }
        self.change(mode);
    }

    /// Something is booked beside the plan, or free that was not.
    pub fn change(&mut self, mode: Mode) {
        self.turn(match mode {
            Mode::Exact => State::Unlisted,
            Mode::Rebuild => State::Void,
        });
    }

    /// Somebody has joined the queue for whom nobody else changes places.
    pub fn grow(&mut self) {
        self.turn(State::Grown);
    }

    /// Something is booked in the way of the queue.
    pub fn displace(&mut self) {
        self.turn(State::Void);
    }

    /// Something has been taken out of the list of free slots, if that was possible.
    pub fn took(&mut self, mode: Mode, is_carved: bool) {
        if mode == Mode::Exact && is_carved {
            self.version += 1;
        } else {
            self.change(mode);
        }
    }

    fn turn(&mut self, state: State) {
        self.version += 1;
        self.state = self.state.max(state);
    }
}

impl Desk {
    /// Processors are free from now on that were promised until then.
    pub(super) fn freed(&mut self, now: Time, until: Time) {
        // An exact plan has reckoned with an end in time.
        if now < until || self.terms.mode == Mode::Rebuild {
            self.plan.change(self.terms.mode);
        }
    }

    /// Plans for who has just joined the queue.
    pub(super) fn place_newcomer(&mut self) {
        if self.terms.mode == Mode::Rebuild {
            self.plan.change(Mode::Rebuild);
            return;
        }
        // The newcomer has no place yet, and the others have theirs.
        let newcomer = self.queue.pop().expect("somebody has joined the queue");
        self.list_free();
        let start = self.plan.free.place_in_time(newcomer.ask.nodes, newcomer.ask.walltime, self.now);
        self.plan.starts.push(start);
        self.plan.took(Mode::Exact, true);
        self.queue.push(newcomer);
    }

    /// Makes sure that the plan holds; whether it is what the planner says now.
    pub(super) fn freshen(&mut self) -> bool {
        if self.plan.state < State::Grown {
            return false;
        }
        self.look();
        let Plan { starts, fixed, asks, state, free, .. } = &mut self.plan;
        let question = Question { now: self.now, procs: self.terms.procs, fixed, extra: None, queue: asks };
        let kept = if *state == State::Grown { std::mem::take(starts) } else { Vec::new() };
        self.planner.plan(&question, starts);
        if !starts.starts_with(&kept) {
            // Made anew, a plan may differ though nothing has happened: then newcomers go into what the others leave.
            let others = Question { queue: &asks[..kept.len()], ..question };
            *free = free_beside(&others, &kept);
            starts.clone_from(&kept);
            let place = |ask: &Ask| free.place_in_time(ask.nodes, ask.walltime, self.now);
            starts.extend(asks[kept.len()..].iter().map(place));
            *state = State::Holds;
            return false;
        }
        self.plan.state = State::Unlisted;
        if let Some(left) = self.planner.left() {
            self.plan.free.copy_from(left);
            self.plan.state = State::Holds;
        }
        true
    }

    /// Makes sure that the plan holds and that its free slots are listed.
    pub(super) fn list_free(&mut self) {
        self.freshen();
        if self.plan.state == State::Unlisted {
            self.look();
            let Plan { starts, fixed, asks, .. } = &self.plan;
            let question = Question { now: self.now, procs: self.terms.procs, fixed, extra: None, queue: asks };
            self.plan.free = free_beside(&question, starts);
            self.plan.state = State::Holds;
        }
        if self.plan.free.trim(self.now) {
            self.plan.version += 1;
        }
    }

    /// Plans the queue as it is now, which prices compare with: a plan from before the last starts took those who
    /// started for waiting. The site's own plan stays what it is.
    pub(super) fn plan_afresh(&mut self) {
        let is_new = self.freshen();
        self.look();
        let mut afresh = std::mem::take(&mut self.plan.afresh);
        match self.terms.mode {
            Mode::Rebuild if !is_new => self.what_if(None, &mut afresh),
            _ => afresh.clone_from(&self.plan.starts),
        }
        self.plan.afresh = afresh;
    }

    /// What a planner would say if this were booked too.
    pub(super) fn what_if(&mut self, extra: Option<&Part>, starts: &mut Vec<Time>) {
        let extra = extra.map(|extra| Fixed { from: extra.start, until: extra.end(), procs: extra.procs });
        let Plan { fixed, asks, .. } = &self.plan;
        let question = Question { now: self.now, procs: self.terms.procs, fixed, extra, queue: asks };
        self.planner.plan(&question, starts);
    }

    /// Gathers what stands fast and who waits, for planners and prices.
    pub(super) fn look(&mut self) {
        let now = self.now;
        let Plan { asks, fixed, .. } = &mut self.plan;
        asks.clear();
        asks.extend(self.queue.iter().map(|queued| queued.ask));
        fixed.clear();
        fixed.extend(self.down.iter().map(|&Active { until, procs }| Fixed { from: now, until, procs }));
        fixed.extend(self.active.values().map(|&Active { until, procs }| Fixed { from: now, until, procs }));
        fixed.extend(self.future.iter().map(|((start, _), part)| Fixed {
            from: *start,
            until: part.end(),
            procs: part.procs,
        }));
    }
}
