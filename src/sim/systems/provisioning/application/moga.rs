//! The choice of advertised slots by a genetic algorithm with two aims. It returns the plans that none it has found
//! dominates.
//!
//! A plan is a string of bits, one per slot. Selection uses the rank of a plan (the number of plans better in both
//! aims), and spreads equal ranks by how crowded their surroundings are. One run serves every weight that a user may
//! give to cost.
//!
//! Ours: infeasible plans rank below all others, and no two plans in the archive cost the same.
//!
//! For comparison there is a search with one aim, the weighted sum of both: the same algorithm, where the rank of a
//! plan is its place by that sum, and nothing keeps plans apart. It serves one weight.

use std::collections::BTreeMap;

use super::choice::option_ranks;
use super::pareto::dominates;
use super::{Application, ApplicationPlan, Archive, Cost, Evaluator, choose_best};
use crate::grid::{Slot, Tariff};
use crate::random::{SplitMix64, mix_bits};
use crate::time::Time;

/// Length of the search, and its aims. Each generation, and the first, costs as many evaluations as it has members.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MogaSettings {
    /// Number of plans in a generation; even.
    pub population: usize,
    pub generations: usize,
    pub seed: u64,
    pub aims: Aims,
}

/// Objectives of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Aims {
    /// Cost and makespan.
    Both,
    /// Weighted sum of cost and makespan, each as a share of its range in a generation. Cost has this weight, and
    /// makespan the rest.
    Sum(f64),
}

/// The chosen slots, one bit each.
type SlotBits = Vec<u64>;

/// The plans that none dominates, the cheapest first.
#[derive(Clone, Debug)]
pub struct Front {
    pub plans: Vec<ApplicationPlan>,
    /// Number of different plans evaluated.
    pub evaluated: usize,
}

/// Distance, as a share of the ranges, below which two plans share a niche.
const SIGMA_SHARE: f64 = 0.041;

impl MogaSettings {
    /// The parameters of the thesis.
    pub fn new(seed: u64) -> MogaSettings {
        MogaSettings { population: 100, generations: 10, seed, aims: Aims::Both }
    }
}

/// Plans an application on the advertised slots. Empty if it is infeasible even with all slots.
pub fn plan_application(application: &Application, now: Time, adverts: &[&[Slot]], settings: MogaSettings) -> Front {
    plan_at_prices(application, now, (adverts, &[]), settings)
}

/// Like [`plan_application`], at the prices of each site; without any, each slot has its own. Slots are used as soon as
/// they can be, so where prices vary, there is a search for each time in the next day at which a price falls, with no
/// task before it.
pub fn plan_at_prices(
    application: &Application,
    now: Time,
    (adverts, tariffs): (&[&[Slot]], &[Tariff]),
    settings: MogaSettings,
) -> Front {
    let evaluator = Evaluator::new(application, now, adverts);
    let mut evaluator = if tariffs.is_empty() { evaluator } else { evaluator.at_prices(tariffs) };
    let mut froms: Vec<Time> = tariffs.iter().flat_map(|tariff| tariff.falls(now)).chain([now]).collect();
    froms.sort_unstable();
    froms.dedup();
    let mut archive = Archive::new();
    let mut evaluated = 0;
    for (from, number) in froms.into_iter().zip(0..) {
        evaluator.wait_until(from);
        let seed = if number == 0 { settings.seed } else { settings.seed ^ mix_bits(number) };
        evaluated += search_plans(&mut evaluator, from, MogaSettings { seed, ..settings }, &mut archive);
    }
    Front {
        plans: archive
            .members()
            .iter()
            .map(|(_, (bits, from))| {
                evaluator.wait_until(*from);
                evaluator.plan(|slot| has_slot(bits, slot)).expect("it has been evaluated")
            })
            .collect(),
        evaluated,
    }
}

/// Searches for plans without a task before `from`. Returns the number of plans evaluated.
fn search_plans(
    evaluator: &mut Evaluator<'_>,
    from: Time,
    settings: MogaSettings,
    archive: &mut Archive<(SlotBits, Time)>,
) -> usize {
    let slots = evaluator.slots();
    let draw = SplitMix64::new(settings.seed);
    let mut search = MogaSearch { slots, from, known: BTreeMap::new(), draw };
    let mut members: Vec<SlotBits> = (0..settings.population).map(|_| search.random()).collect();
    let mut costs = search.evaluate(&members, evaluator, archive);
    for _ in 0..settings.generations {
        members = search.breed(&members, &member_fitness(&costs, settings.aims));
        costs = search.evaluate(&members, evaluator, archive);
    }
    if archive.members().is_empty() {
        let all = search.all();
        search.evaluate(&[all], evaluator, archive);
    }
    search.known.len()
}

impl Front {
    /// The best plan if cost has the weight `alpha` and time the rest.
    pub fn choose(&self, alpha: f64) -> Option<&ApplicationPlan> {
        let options = self.plans.iter().map(|plan| plan.cost.objectives());
        choose_best(alpha, &options.collect::<Vec<_>>()).map(|place| &self.plans[place])
    }
}

struct MogaSearch {
    slots: usize,
    /// Earliest start of any task.
    from: Time,
    /// All evaluated plans; `None` where a task fits nowhere.
    known: BTreeMap<SlotBits, Option<Cost>>,
    draw: SplitMix64,
}

impl MogaSearch {
    fn random(&mut self) -> SlotBits {
        let mut bits: SlotBits = (0..self.slots.div_ceil(64)).map(|_| self.draw.next_u64()).collect();
        self.trim(&mut bits);
        bits
    }

    fn all(&self) -> SlotBits {
        let mut bits = vec![u64::MAX; self.slots.div_ceil(64)];
        self.trim(&mut bits);
        bits
    }

    /// Clears the bits beyond the last slot.
    fn trim(&self, bits: &mut SlotBits) {
        if let Some(last) = bits.last_mut().filter(|_| !self.slots.is_multiple_of(64)) {
            *last &= (1 << (self.slots % 64)) - 1;
        }
    }

    fn evaluate(
        &mut self,
        members: &[SlotBits],
        evaluator: &mut Evaluator<'_>,
        archive: &mut Archive<(SlotBits, Time)>,
    ) -> Vec<Option<Cost>> {
        let from = self.from;
        let known = &mut self.known;
        members
            .iter()
            .map(|bits| {
                if let Some(cost) = known.get(bits) {
                    return *cost;
                }
                let cost = evaluator.cost(|slot| has_slot(bits, slot));
                known.insert(bits.clone(), cost);
                // A plan offered once would not be taken a second time.
                if let Some(cost) = cost {
                    archive.offer(cost, || (bits.clone(), from));
                }
                cost
            })
            .collect()
    }

    /// The next generation: pairs drawn by fitness exchange a segment, then each bit flips with the probability of one
    /// per plan.
    fn breed(&mut self, members: &[SlotBits], fitness: &[f64]) -> Vec<SlotBits> {
        let mut pool = self.draw_by_fitness(members, fitness);
        for place in (1..pool.len()).rev() {
            pool.swap(place, self.draw.int(0, place as u64) as usize);
        }
        for pair in pool.chunks_exact_mut(2) {
            let cut = [self.draw.int(0, self.slots as u64) as usize, self.draw.int(0, self.slots as u64) as usize];
            let (one, other) = pair.split_at_mut(1);
            exchange_bits(&mut one[0], &mut other[0], cut[0].min(cut[1]), cut[0].max(cut[1]));
        }
        let chance = 1.0 / self.slots as f64;
        for bits in &mut pool {
            for slot in 0..self.slots {
                if self.draw.unit() < chance {
                    bits[slot / 64] ^= 1 << (slot % 64);
                }
            }
        }
        pool
    }

    fn draw_by_fitness(&mut self, members: &[SlotBits], fitness: &[f64]) -> Vec<SlotBits> {
        let mut sum = 0.0;
        let up_to: Vec<f64> = fitness
            .iter()
            .map(|fitness| {
                sum += fitness;
                sum
            })
            .collect();
        let mut one = || {
            let drawn = self.draw.unit() * sum;
            let place = up_to.partition_point(|up_to| *up_to <= drawn);
            members[place.min(members.len() - 1)].clone()
        };
        members.iter().map(|_| one()).collect()
    }
}

fn has_slot(bits: &SlotBits, slot: usize) -> bool {
    bits[slot / 64] >> (slot % 64) & 1 == 1
}

/// Exchanges the bits `from..to`.
fn exchange_bits(one: &mut SlotBits, other: &mut SlotBits, from: usize, to: usize) {
    for word in from / 64..to.div_ceil(64) {
        let first = from.saturating_sub(word * 64).min(63);
        let last = (to - word * 64).min(64);
        let below = if last == 64 { u64::MAX } else { (1 << last) - 1 };
        let differs = (one[word] ^ other[word]) & below & (u64::MAX << first);
        one[word] ^= differs;
        other[word] ^= differs;
    }
}

/// Fitness for selection. Members of a rank have the mean fitness that their places among all would give them. Within a
/// rank a member with close neighbours shares its fitness with them, unless a sum is the only aim.
pub(super) fn member_fitness(costs: &[Option<Cost>], aims: Aims) -> Vec<f64> {
    let ranks = match aims {
        Aims::Both => dominance_ranks(costs),
        Aims::Sum(alpha) => ranks_by_sum(alpha, costs),
    };
    let count = costs.len() as f64;
    let mut order: Vec<usize> = (0..costs.len()).collect();
    order.sort_by_key(|member| ranks[*member]);
    let distance = member_distances(costs);

    let mut fitness = vec![0.0; costs.len()];
    let mut better = 0;
    for equals in order.chunk_by(|one, other| ranks[*one] == ranks[*other]) {
        let many = equals.len() as f64;
        let raw = count - better as f64 - 0.5 * (many - 1.0);
        let crowd = |member: &usize| match aims {
            Aims::Both => equals.iter().map(|other| niche_share(distance(*member, *other))).sum::<f64>(),
            Aims::Sum(_) => 1.0,
        };
        let shared: Vec<f64> = equals.iter().map(|member| raw / crowd(member)).collect();
        let sum: f64 = shared.iter().sum();
        for (member, shared) in equals.iter().zip(shared) {
            fitness[*member] = shared * raw * many / sum;
        }
        better += equals.len();
    }
    fitness
}

/// Rank of each member: one more than the number of members that dominate it.
fn dominance_ranks(costs: &[Option<Cost>]) -> Vec<usize> {
    let feasible = costs.iter().flatten().count();
    costs.iter().map(|cost| dominance_rank(cost, costs, feasible) + 1).collect()
}

fn dominance_rank(cost: &Option<Cost>, costs: &[Option<Cost>], feasible: usize) -> usize {
    match cost {
        None => feasible,
        Some(cost) => costs.iter().flatten().filter(|other| dominates(other, cost)).count(),
    }
}

/// Rank of each member by the weighted sum of its aims.
fn ranks_by_sum(alpha: f64, costs: &[Option<Cost>]) -> Vec<usize> {
    let options: Vec<(u64, u64)> = costs.iter().flatten().map(Cost::objectives).collect();
    let mut places = option_ranks(alpha, &options).into_iter();
    costs.iter().map(|cost| 1 + cost.map_or(options.len(), |_| places.next().expect("one for each"))).collect()
}

/// Distance between two members, each aim as a share of its range.
fn member_distances(costs: &[Option<Cost>]) -> impl Fn(usize, usize) -> f64 {
    let ranges = (cost_range(&allocation_micros, costs), cost_range(&makespan_micros, costs));
    let places: Vec<(f64, f64)> = costs
        .iter()
        .map(|cost| {
            cost.map_or((0.0, 0.0), |cost| (allocation_micros(&cost) / ranges.0, makespan_micros(&cost) / ranges.1))
        })
        .collect();
    move |one, other| {
        let across = places[one].0 - places[other].0;
        let along = places[one].1 - places[other].1;
        (across * across + along * along).sqrt()
    }
}

fn cost_range(of: &dyn Fn(&Cost) -> f64, costs: &[Option<Cost>]) -> f64 {
    let values = costs.iter().flatten().map(of);
    let (least, most) = values.fold((f64::MAX, 0.0f64), |(least, most), value| (least.min(value), most.max(value)));
    if most > least { most - least } else { f64::INFINITY }
}

fn allocation_micros(cost: &Cost) -> f64 {
    cost.allocation.micros() as f64
}

fn makespan_micros(cost: &Cost) -> f64 {
    cost.makespan.micros() as f64
}

fn niche_share(distance: f64) -> f64 {
    if distance <= SIGMA_SHARE { 1.0 - distance / SIGMA_SHARE } else { 0.0 }
}
