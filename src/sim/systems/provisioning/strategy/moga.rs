//! A whole workflow in advertised slots, which a genetic algorithm chooses. The choice is booked, at each site
//! completely or not at all.
//!
//! If a site refuses its part, the bookings at the others are returned, and the workflow is planned anew on the present
//! slots.

use std::collections::{BTreeMap, BTreeSet};

use super::{JustInTime, Strategy, StrategyRow, TRIES};
use crate::grid::{Advert, BookingId, Denial, Part, Receipt, Slot, Tariff};
use crate::protocol::{Bargain, Query, Reason, Reply};
use crate::systems::provisioning::application::{ApplicationPlan, Broken, plan_at_prices};
use crate::systems::provisioning::job_context::JobContext;
use crate::systems::provisioning::run::Assignment;
use crate::time::Time;

pub const ROW: StrategyRow = StrategyRow {
    name: "moga",
    about: "a genetic algorithm plans the whole workflow on advertised slots, and alpha selects one of its plans",
    has_alpha: true,
    has_deadline: true,
    has_budget: true,
    build: |_| Box::new(Moga::default()),
    ..super::BARGAINING
};

#[derive(Default)]
struct Moga {
    silent: usize,
    adverts: BTreeMap<usize, Advert>,
    /// The slots that can still be claimed, by their indices in each advertisement.
    left: Vec<Vec<u32>>,
    plan: Option<ApplicationPlan>,
    /// Bookings so far, by their indices in the plan's bookings.
    booked: BTreeMap<usize, Receipt>,
    /// Indices into the plan's bookings, by the number of the claim to them.
    claims: BTreeMap<u64, Vec<usize>>,
    denied: Option<Denial>,
    tries: u32,
    queue: JustInTime,
    /// True if the negotiation is over.
    settled: bool,
}

impl Moga {
    fn request_slots(&mut self, context: &mut JobContext<'_>) {
        // The slots exclude a site where a task is too large, but not one where it is too long.
        let fitting: BTreeSet<usize> =
            (0..context.run.job.tasks.len() as u32).flat_map(|task| context.fitting_providers(task)).collect();
        let providers: BTreeSet<usize> = fitting
            .into_iter()
            .filter(|at| {
                let provider = &context.world.providers[*at];
                context.run.job.tasks.iter().all(|task| provider.is_short_enough(task))
            })
            .collect();
        (self.silent, self.denied) = (providers.len(), None);
        self.adverts.clear();
        if providers.is_empty() {
            return self.fall_back_to_queue(Bargain::Refused, Reason::NoPlan, context);
        }
        context.send_queries(providers.into_iter().map(|provider| (provider, Query::Slots)).collect());
    }

    /// Plans on all advertised slots, and claims what the plan needs.
    fn claim(&mut self, context: &mut JobContext<'_>) {
        let now = context.soonest_claimed();
        // A slot that can only be taken as a whole is gone when it has begun before the claim arrives.
        let all = |provider| self.adverts.get(&provider).into_iter().flat_map(|advert| (0u32..).zip(&advert.slots));
        let (ats, slots): (Vec<Vec<u32>>, Vec<Vec<Slot>>) = (0..context.world.providers.len())
            .map(|provider| {
                all(provider).filter(|(_, slot)| is_still_offered(slot, now)).map(|(at, slot)| (at, *slot)).unzip()
            })
            .unzip();
        let slots: Vec<&[Slot]> = slots.iter().map(Vec::as_slice).collect();
        let application = context.application();
        let settings = context.rules.search(context.seed(), context.approach.alpha);
        let tariffs: Vec<Tariff> = context.world.providers.iter().map(|provider| provider.tariff.clone()).collect();
        let mut front = plan_at_prices(&application, now, (&slots, &tariffs), settings);
        let limits = context.limits();
        let broken = limits.broken_by(now, front.plans.iter().map(|plan| &plan.cost));
        front.plans.retain(|plan| limits.allow(now, &plan.cost));
        let nothing = match broken {
            None => Reason::NoPlan,
            Some(Broken::Deadline) => Reason::LatePlan,
            Some(other) => super::failure_reason(other),
        };
        let Some(chosen) = front.choose(context.approach.alpha).cloned() else {
            return self.fall_back_to_queue(Bargain::Refused, nothing, context);
        };

        self.left = ats;
        let mut by_provider: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (at, booking) in chosen.bookings.iter().enumerate() {
            by_provider.entry(booking.site as usize).or_default().push(at);
        }
        for (provider, wanted) in by_provider {
            let parts: Vec<(u32, Part)> = wanted
                .iter()
                .map(|at| (self.left[provider][chosen.bookings[*at].slot as usize], chosen.bookings[*at].part))
                .collect();
            let number = context.take(provider, self.adverts[&provider].version, parts);
            self.claims.insert(number, wanted);
        }
        self.plan = Some(chosen);
    }

    /// Handles the last answer to the claims.
    fn handle_last_answer(&mut self, context: &mut JobContext<'_>) {
        let plan = self.plan.take().expect("what was claimed was planned");
        let booked = std::mem::take(&mut self.booked);
        if let Some(denial) = self.denied {
            for (at, receipt) in booked {
                context.give_back(plan.bookings[at].site as usize, receipt.booking);
            }
            self.tries += 1;
            return match denial.is_stale() {
                _ if self.tries < TRIES => self.request_slots(context),
                true => self.fall_back_to_queue(Bargain::Stale, denial.into(), context),
                false => self.fall_back_to_queue(Bargain::Refused, denial.into(), context),
            };
        }
        self.settled = true;
        context.bargained(Bargain::Booked, None);
        let mut within = self.shares(&plan, &booked);
        for placed in &plan.tasks {
            let within = within.remove(&placed.task).unwrap_or_default();
            context.send_for(
                placed.start,
                placed.task,
                Assignment { provider: placed.site as usize, within, ..Assignment::default() },
            );
        }
    }

    /// Share of each task in each booking.
    fn shares(
        &self,
        plan: &ApplicationPlan,
        booked: &BTreeMap<usize, Receipt>,
    ) -> BTreeMap<u32, Vec<(BookingId, u32)>> {
        // Slots are numbered across all sites.
        let slots: Vec<(usize, u32)> = self
            .left
            .iter()
            .enumerate()
            .flat_map(|(provider, left)| (0..left.len() as u32).map(move |slot| (provider, slot)))
            .collect();
        let mut shares: BTreeMap<u32, Vec<(BookingId, u32)>> = BTreeMap::new();
        // A task may have several rectangles of one slot, each with a booking of its own, in this order.
        let mut taken = vec![false; plan.bookings.len()];
        for &(task, slot, procs) in &plan.shares {
            let (provider, slot) = slots[slot as usize];
            let at = (0..plan.bookings.len())
                .find(|at| {
                    let booking = &plan.bookings[*at];
                    (booking.site as usize, booking.slot) == (provider, slot)
                        && booking.task.is_none_or(|its| its == task && !taken[*at])
                })
                .expect("the share of a task is booked");
            taken[at] = true;
            let its = shares.entry(task).or_default();
            let booking = booked[&at].booking;
            match its.iter_mut().find(|(other, _)| *other == booking) {
                Some((_, sum)) => *sum += procs,
                None => its.push((booking, procs)),
            }
        }
        shares
    }

    fn fall_back_to_queue(&mut self, end: Bargain, why: Reason, context: &mut JobContext<'_>) {
        self.settled = true;
        context.bargained(end, Some(why));
        self.queue.begin_job(context);
    }
}

fn is_still_offered(slot: &Slot, now: Time) -> bool {
    slot.divisible || slot.start >= now
}

impl Strategy for Moga {
    fn begin_job(&mut self, context: &mut JobContext<'_>) {
        self.request_slots(context);
    }

    fn task_ready(&mut self, task: u32, context: &mut JobContext<'_>) {
        self.queue.task_ready(task, context);
    }

    fn receive_reply(&mut self, number: u64, provider: usize, reply: Reply, context: &mut JobContext<'_>) {
        if self.settled {
            return self.queue.receive_reply(number, provider, reply, context);
        }
        if let Reply::Slots(advert) = reply {
            self.adverts.insert(provider, advert);
        }
        self.silent -= 1;
        if self.silent == 0 {
            self.claim(context);
        }
    }

    fn receive_claim_result(
        &mut self,
        number: u64,
        _: usize,
        result: Result<Vec<Receipt>, Denial>,
        context: &mut JobContext<'_>,
    ) {
        let Some(ats) = self.claims.remove(&number) else { return };
        match result {
            Ok(receipts) => self.booked.extend(ats.into_iter().zip(receipts)),
            Err(denial) => self.denied = Some(denial),
        }
        if self.claims.is_empty() {
            self.handle_last_answer(context);
        }
    }
}
