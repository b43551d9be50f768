//! The plan of the queue: fixed parts, the planned start of each job, and the free slots.

use super::{Active, Desk, PlanningMode};
use crate::grid::{FreeList, Part};
use crate::roles::queue::NodeRequest;
use crate::systems::provisioning::planner::{Fixed, Question, free_beside};
use crate::time::Time;

#[derive(Clone)]
pub(super) struct DeskPlan {
    /// Planned start of each job, in the order of the queue. There are fewer if the plan is void, or if the last jobs
    /// are not planned yet.
    pub starts: Vec<Time>,
    pub free: FreeList,
    /// Version, which grows with every change of the free slots.
    pub version: u64,
    state: PlanState,
    // Buffers for the planners, kept to reuse their memory.
    requests: Vec<NodeRequest>,
    pub fixed: Vec<Fixed>,
    pub moved: Vec<Time>,
    /// Planned starts at the time of the last question for prices.
    pub afresh: Vec<Time>,
}

/// The extent to which a plan is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PlanState {
    Holds,
    /// The starts are valid, but the free slots have to be listed anew.
    Unlisted,
    /// The starts are valid, but the last jobs of the queue have none yet.
    Grown,
    Void,
}

impl DeskPlan {
    pub fn new(procs: u32) -> DeskPlan {
        DeskPlan {
            starts: Vec::new(),
            free: FreeList::empty_site(Time::ZERO, procs),
            version: 0,
            state: PlanState::Holds,
            requests: Vec::new(),
            fixed: Vec::new(),
            moved: Vec::new(),
            afresh: Vec::new(),
        }
    }

    /// Removes the start of a job that has left the queue from this place.
    pub fn remove_start(&mut self, place: usize, mode: PlanningMode) {
        if place < self.starts.len() {
            self.starts.remove(place);
        }
        self.change(mode);
    }

    /// Marks the plan as outdated: a part was booked outside of it, or has become free.
    pub fn change(&mut self, mode: PlanningMode) {
        self.outdate_to(match mode {
            PlanningMode::Exact => PlanState::Unlisted,
            PlanningMode::Rebuild => PlanState::Void,
        });
    }

    /// A job has joined the queue, and all others keep their places.
    pub fn grow(&mut self) {
        self.outdate_to(PlanState::Grown);
    }

    /// Marks the plan as outdated: a part was booked that displaces waiting jobs.
    pub fn displace(&mut self) {
        self.outdate_to(PlanState::Void);
    }

    /// Records a new booking. If `is_carved`, its part has been removed from the list of free slots, which stays valid.
    pub fn record_removed_part(&mut self, mode: PlanningMode, is_carved: bool) {
        if mode == PlanningMode::Exact && is_carved {
            self.version += 1;
        } else {
            self.change(mode);
        }
    }

    fn outdate_to(&mut self, state: PlanState) {
        self.version += 1;
        self.state = self.state.max(state);
    }
}

impl Desk {
    /// Records that processors that were promised until `until` are free from `now` on.
    pub(super) fn free_early(&mut self, now: Time, until: Time) {
        // An exact plan has counted on an end at the requested time.
        if now < until || self.terms.mode == PlanningMode::Rebuild {
            self.plan.change(self.terms.mode);
        }
    }

    /// Plans the job that has just joined the queue.
    pub(super) fn place_newcomer(&mut self) {
        if self.terms.mode == PlanningMode::Rebuild {
            self.plan.change(PlanningMode::Rebuild);
            return;
        }
        // The new job has no place yet, and the others have theirs.
        let newcomer = self.queue.pop().expect("a job has joined the queue");
        self.list_free();
        let start = self.plan.free.place_in_time(newcomer.request.nodes, newcomer.request.walltime, self.now);
        self.plan.starts.push(start);
        self.plan.record_removed_part(PlanningMode::Exact, true);
        self.queue.push(newcomer);
    }

    /// Computes the plan again if it is outdated. True if the plan is the planner's present answer.
    pub(super) fn refresh_plan(&mut self) -> bool {
        if self.plan.state < PlanState::Grown {
            return false;
        }
        self.gather_inputs();
        let DeskPlan { starts, fixed, requests, state, free, .. } = &mut self.plan;
        let question = Question { now: self.now, procs: self.terms.procs, fixed, extra: None, queue: requests };
        let kept = if *state == PlanState::Grown { std::mem::take(starts) } else { Vec::new() };
        self.planner.plan_starts(&question, starts);
        if !starts.starts_with(&kept) {
            // A new plan may differ though nothing has happened. Then new jobs go into the gaps that the others leave.
            let others = Question { queue: &requests[..kept.len()], ..question };
            *free = free_beside(&others, &kept);
            starts.clone_from(&kept);
            starts.extend(
                requests[kept.len()..]
                    .iter()
                    .map(|request| free.place_in_time(request.nodes, request.walltime, self.now)),
            );
            *state = PlanState::Holds;
            return false;
        }
        self.plan.state = PlanState::Unlisted;
        if let Some(left) = self.planner.free_slots() {
            self.plan.free.copy_from(left);
            self.plan.state = PlanState::Holds;
        }
        true
    }

    /// Makes the plan valid and lists its free slots.
    pub(super) fn list_free(&mut self) {
        self.refresh_plan();
        if self.plan.state == PlanState::Unlisted {
            self.gather_inputs();
            let DeskPlan { starts, fixed, requests, .. } = &self.plan;
            let question = Question { now: self.now, procs: self.terms.procs, fixed, extra: None, queue: requests };
            self.plan.free = free_beside(&question, starts);
            self.plan.state = PlanState::Holds;
        }
        if self.plan.free.trim(self.now) {
            self.plan.version += 1;
        }
    }

    /// Plans the present queue, as the base of prices. A plan from before the last starts would count started jobs as
    /// waiting. The site's own plan remains.
    pub(super) fn plan_afresh(&mut self) {
        let is_new = self.refresh_plan();
        self.gather_inputs();
        let mut afresh = std::mem::take(&mut self.plan.afresh);
        match self.terms.mode {
            PlanningMode::Rebuild if !is_new => self.what_if(None, &mut afresh),
            _ => afresh.clone_from(&self.plan.starts),
        }
        self.plan.afresh = afresh;
    }

    /// Writes the starts that the planner would give the queue if `extra` were booked, too.
    pub(super) fn what_if(&mut self, extra: Option<&Part>, starts: &mut Vec<Time>) {
        let extra = extra.map(|extra| Fixed { from: extra.start, until: extra.end(), procs: extra.procs });
        let DeskPlan { fixed, requests, .. } = &self.plan;
        let question = Question { now: self.now, procs: self.terms.procs, fixed, extra, queue: requests };
        self.planner.plan_starts(&question, starts);
    }

    /// Gathers the fixed parts and the waiting jobs, for planners and prices.
    pub(super) fn gather_inputs(&mut self) {
        let now = self.now;
        let DeskPlan { requests, fixed, .. } = &mut self.plan;
        requests.clear();
        requests.extend(self.queue.iter().map(|queued| queued.request));
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
