//! Plans made without a run: those that moga finds on the slots of a moment, and the purchases of greedy at several
//! alphas.
//!
//! The moment is one of the topology's own: sites have run the jobs of users that only queue, and no other user has
//! negotiated.

use std::sync::Arc;

use super::application::{Application, Cost, GreedyPlan, Limits, choose_best, dominates, plan_at_prices};
use super::desk::{Desk, WantedStarts, longest_walltime};
use super::forecast::History;
use super::planner;
use super::rules::{PlanSearch, Provisioning};
use super::strategy;
use super::trial::SiteTrial;
use super::world::World;
use crate::grid::{Area, Site, Slot, Speed, Tariff, Workflow};
use crate::settings::units;
use crate::systems::NegotiatedJob;
use crate::systems::plans::{Choice, Choices, Maker, PlacedTask, PlanRequest, Planned, PlanningSite, Unplannable};
use crate::time::{Span, Time};
use crate::workload::workflow::WorkflowFile;

pub(super) const ALL: &[Maker] = &[
    Maker {
        name: "moga",
        about: "slots chosen by a genetic algorithm, for cost and makespan",
        bargains: true,
        make: plan_moga,
    },
    Maker {
        name: "greedy",
        about: "starts bought one by one, at the price of the delay to the queue",
        bargains: true,
        make: plan_greedy,
    },
];

/// The alphas tried with greedy, beside the one asked for.
const ALPHAS: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// A workflow, and the sites at the moment of planning.
struct PlanningMoment<'a> {
    request: &'a PlanRequest<'a>,
    rules: Provisioning,
    workflow: &'a Workflow,
    application: Application,
    sites: Vec<SiteTrial>,
}

fn plan_moga(request: &PlanRequest<'_>) -> Result<Planned, Unplannable> {
    let mut moment = PlanningMoment::for_request(request)?;
    let adverts: Vec<Vec<Slot>> = moment.sites.iter_mut().map(|site| site.desk.advertise(request.at).slots).collect();
    let slots: Vec<&[Slot]> = adverts.iter().map(Vec::as_slice).collect();
    let settings = moment.rules.search(request.grid.seed, request.alpha);
    let tariffs: Vec<Tariff> = moment.sites.iter().map(|site| site.desk.terms().tariff.clone()).collect();
    let mut front = plan_at_prices(&moment.application, request.at, (&slots, &tariffs), settings);
    if front.plans.is_empty() {
        return Err(moment.no_room_error(&adverts));
    }
    let all: Vec<Cost> = front.plans.iter().map(|plan| plan.cost).collect();
    front.plans.retain(|plan| moment.limits().allow(request.at, &plan.cost));
    let Some(chosen) = front.choose(request.alpha) else {
        return Err(moment.limits_error(|limits| {
            all.iter().copied().filter(|cost| limits.allow(request.at, cost)).collect::<Vec<_>>()
        }));
    };
    let at = front.plans.iter().position(|plan| std::ptr::eq(plan, chosen)).expect("it is one of them");
    let placed = chosen.tasks.iter().map(|task| (task.task, task.site, task.start, task.end)).collect();
    let plans = front
        .plans
        .iter()
        .map(|plan| Choice {
            cost: plan.cost.allocation.seconds(),
            makespan: to_seconds(plan.cost.makespan),
            bookings: plan.bookings.len(),
            dominated: false,
        })
        .collect();
    let is_weighted = moment.rules.search == PlanSearch::Weighted;
    let left_out = all.len() - front.plans.len();
    Ok(moment.choices((front.evaluated, left_out, is_weighted), plans, at, placed))
}

fn plan_greedy(request: &PlanRequest<'_>) -> Result<Planned, Unplannable> {
    let moment = PlanningMoment::for_request(request)?;
    let mut alphas: Vec<f64> = ALPHAS.into_iter().chain([request.alpha]).collect();
    alphas.sort_by(f64::total_cmp);
    alphas.dedup();
    let within = |limits: Limits| -> Result<Vec<(f64, GreedyPlan<'_>)>, Unplannable> {
        alphas
            .iter()
            .filter_map(|alpha| {
                let bought = moment.buy(*alpha, limits).transpose()?;
                Some(bought.map(|plan| (*alpha, plan)))
            })
            .collect()
    };
    let limits = moment.limits();
    // Limits change what is bought, so plans that keep both may be found only with fewer of them.
    let looser = [Limits { deadline: Time::NEVER, ..limits }, Limits { budget: Area::MAX, ..limits }, Limits::NONE];
    let mut found = within(limits)?;
    for looser in looser {
        if found.is_empty() {
            found = within(looser)?.into_iter().filter(|(_, plan)| limits.allow(request.at, &plan.cost())).collect();
        }
    }
    let (kept, plans): (Vec<f64>, Vec<GreedyPlan<'_>>) = found.into_iter().unzip();
    // With this alpha there may be no plan within the limits, but with others.
    let Some(wanted) = kept.iter().position(|alpha| *alpha == request.alpha).or_else(|| {
        let options: Vec<(u64, u64)> = plans.iter().map(|plan| plan.cost().objectives()).collect();
        choose_best(request.alpha, &options)
    }) else {
        return Err(moment
            .limits_error(|limits| within(limits).unwrap_or_default().iter().map(|(_, plan)| plan.cost()).collect()));
    };
    let wanted = &plans[wanted];
    let mut costs: Vec<_> = plans.iter().map(|plan| (plan.cost(), plan.all().len())).collect();
    costs.sort_by_key(|(cost, _)| (cost.allocation, cost.makespan));
    costs.dedup();
    let tradeoffs = costs
        .iter()
        .enumerate()
        .map(|(at, (both, bookings))| {
            let makespan = to_seconds(both.makespan);
            let cost = both.allocation.seconds();
            (*both, Choice { cost, makespan, bookings: *bookings, dominated: is_dominated(at, &costs) })
        })
        .filter(|(cost, tradeoffs)| !tradeoffs.dominated || *cost == wanted.cost());
    let tradeoffs = tradeoffs.collect::<Vec<_>>();
    let at = tradeoffs.iter().position(|(cost, _)| *cost == wanted.cost()).expect("the wanted cost is always kept");
    let placed = wanted.all().iter().map(|(task, _)| (task.task, task.site, task.start, task.end)).collect();
    let broken = alphas.len() - plans.len();
    Ok(moment.choices(
        (alphas.len(), broken, false),
        tradeoffs.into_iter().map(|(_, choice)| choice).collect(),
        at,
        placed,
    ))
}

fn is_dominated(one: usize, costs: &[(Cost, usize)]) -> bool {
    costs.iter().any(|(other, _)| dominates(other, &costs[one].0))
}

impl<'a> PlanningMoment<'a> {
    fn for_request(request: &'a PlanRequest<'a>) -> Result<PlanningMoment<'a>, Unplannable> {
        let rules = request.service.settings::<Provisioning>().cloned().unwrap_or_default();
        let WorkflowFile::Workflow(workflow) = request.work else {
            let text = "a table of costs does not state processors, which the policy has to buy: expected a workflow";
            return Err(Unplannable(text.to_owned()));
        };
        let world = World::from_grid(request.grid, &rules);
        let speeds: Vec<Speed> = request.grid.sites.iter().map(|(_, site)| Speed(site.speed_millionths)).collect();
        let application = Application::new(workflow, &speeds, |from, to| world.link(from, to));
        let moment = PlanningMoment { request, rules, workflow, application, sites: Vec::new() };
        moment.check()?;
        let sites = moment.run(&world);
        Ok(PlanningMoment { sites, ..moment })
    }

    /// Checks that each task fits some site.
    fn check(&self) -> Result<(), Unplannable> {
        let sites = || self.request.grid.sites.iter().map(|(_, site)| *site);
        let largest =
            sites().max_by_key(|site| site.cores).ok_or_else(|| Unplannable("there are no sites".to_owned()))?;
        for (task, step) in self.workflow.tasks.iter().enumerate() {
            let name = task_label(&step.name, task);
            if step.cores > largest.cores {
                let cores = step.cores;
                let most = largest.cores;
                let site = &largest.name;
                return Err(Unplannable(format!(
                    "{name} needs {cores} processors at once, but no slot can have more than the {most} of {site}"
                )));
            }
            let fits_somewhere = sites().enumerate().any(|(place, site)| {
                let runtime = self.application.runtime(task, place);
                step.cores <= site.cores && runtime <= longest_walltime(site.terms.longest)
            });
            if !fits_somewhere {
                return Err(Unplannable(format!(
                    "{name} runs for {}, which is longer than any site that is large enough allows",
                    step.work
                )));
            }
        }
        Ok(())
    }

    /// The sites at that moment, if the only jobs are those of one task from users that queue.
    fn run(&self, world: &World) -> Vec<SiteTrial> {
        let mut sites: Vec<SiteTrial> = self.request.grid.sites.iter().map(|(_, site)| self.site_trial(site)).collect();
        let crowd = self.request.load.iter().enumerate().filter(|(place, _)| self.user_queues(*place));
        let mut negotiated: Vec<&NegotiatedJob> = crowd.flat_map(|(_, submissions)| &submissions.negotiated).collect();
        negotiated.retain(|job| job.job.tasks.len() == 1 && job.job.arrive <= self.request.at);
        negotiated.sort_by_key(|job| (job.job.arrive, job.job.id));
        for NegotiatedJob { job, site, .. } in negotiated {
            let task = &job.tasks[0];
            let pinned = site.and_then(|site| world.provider_of(site));
            sites.iter_mut().for_each(|site| site.advance(job.arrive));
            let Some((_, place)) = world
                .fitting_providers(task, pinned)
                .map(|place| {
                    let (waiting, running) = sites[place].desk.jobs();
                    (waiting + running, place)
                })
                .min()
            else {
                continue;
            };
            let [runtime, walltime] = [task.runtime, task.walltime].map(|span| world.providers[place].time(span));
            // A job that the site refuses is given up.
            if sites[place].submit(task.cores, walltime, runtime).is_ok() {
                sites[place].end_instant();
            }
        }
        for site in &mut sites {
            site.advance(self.request.at);
            site.news.clear();
        }
        sites
    }

    fn site_trial(&self, site: &Site) -> SiteTrial {
        let planner = planner::build_planner(&site.scheduler).or_else(|| planner::build_planner(planner::USUAL));
        let planner = planner.expect("the usual planner is there");
        SiteTrial::new(Desk::new(self.rules.terms(site), planner, Box::new(History::new())), Arc::default())
    }

    fn user_queues(&self, place: usize) -> bool {
        self.request.grid.users[place].1.approach.strategy == strategy::USUAL
    }

    fn limits(&self) -> Limits {
        let deadline = self.request.deadline.map_or(Time::NEVER, |deadline| self.request.at + deadline);
        Limits { budget: self.request.budget.unwrap_or(Area::MAX), deadline }
    }

    /// Error for limits that no plan keeps; `within` returns the costs of the plans under other limits.
    fn limits_error(&self, within: impl Fn(Limits) -> Vec<Cost>) -> Unplannable {
        let Limits { budget, deadline } = self.limits();
        let by_budget = || {
            let in_time = cheapest_plan(&within(Limits { budget: Area::MAX, deadline }));
            in_time.map(|plan| format!("the cheapest that takes no longer costs {}", cost_text(plan.allocation)))
        };
        let by_deadline = || {
            let affordable = earliest_plan(&within(Limits { budget, deadline: Time::NEVER }));
            affordable.map(|plan| format!("the earliest that costs no more takes {}", time_text(plan.makespan)))
        };
        let all = within(Limits::NONE);
        Unplannable(match (self.request.budget, self.request.deadline) {
            (Some(most), None) => {
                format!("no plan costs {} or less: {}", cost_text(most), extreme_text("cheapest", cheapest_plan(&all)))
            }
            (None, Some(longest)) => {
                format!(
                    "no plan takes {} or less: {}",
                    time_text(longest),
                    extreme_text("earliest", earliest_plan(&all))
                )
            }
            (most, longest) => {
                let most = cost_text(most.unwrap_or_default());
                let alternatives = [
                    by_budget().unwrap_or_else(|| extreme_text("earliest", earliest_plan(&all))),
                    by_deadline().unwrap_or_else(|| extreme_text("cheapest", cheapest_plan(&all))),
                ];
                format!(
                    "no plan both costs {most} or less and takes {} or less: {}",
                    time_text(longest.unwrap_or_default()),
                    alternatives.join("; ")
                )
            }
        })
    }

    /// Buys task after task, each at the best price by alpha. None, if the limits leave no start for a task.
    fn buy(&self, alpha: f64, limits: Limits) -> Result<Option<GreedyPlan<'_>>, Unplannable> {
        let now = self.request.at;
        let mut desks: Vec<Desk> = self.sites.iter().map(|site| site.desk.clone()).collect();
        let procs = desks.iter().map(|desk| desk.terms().procs).collect();
        let mut buying = GreedyPlan::new(&self.application, alpha, now, procs).with_limits(limits, |site, area| {
            let terms = self.sites[site].desk.terms();
            area.cost_at(terms.tariff.least()) + terms.charge
        });
        loop {
            let price_queries = buying.price_queries(now);
            if price_queries.is_empty() {
                return Ok(Some(buying));
            }
            let mut quotes: Vec<_> = price_queries
                .iter()
                .filter_map(|query| {
                    let wanted = WantedStarts::From(query.part.start);
                    let quote = desks[query.site].price(now, query.part.procs, query.part.span, wanted);
                    quote.ok().map(|quote| (query.site, quote))
                })
                .collect();
            if buying.retain_within_limits(&mut quotes).is_some() {
                return Ok(None);
            }
            let bought = buying.choose(&quotes).and_then(|(site, quote, start)| {
                desks[site].book(now, quote, start).ok().map(|receipt| (site, receipt))
            });
            let Some((site, receipt)) = bought else {
                let task = self.application.order()[buying.all().len()] as usize;
                let name = task_label(&self.workflow.tasks[task].name, task);
                return Err(Unplannable(format!("no site sells time for {name}")));
            };
            buying.bought(site, receipt);
        }
    }

    /// Error for a workflow that does not fit into all advertised slots together.
    fn no_room_error(&self, adverts: &[Vec<Slot>]) -> Unplannable {
        let mut free = Vec::new();
        let mut slots = 0;
        for ((_, site), advert) in self.request.grid.sites.iter().zip(adverts) {
            slots += advert.len();
            if advert.is_empty() {
                free.push(site.name.as_str());
            }
        }
        let none = if free.is_empty() { String::new() } else { format!("; {} offers none", free.join(", ")) };
        Unplannable(format!(
            "no plan was found: the whole workflow does not fit into the {slots} slots that are advertised then{none}"
        ))
    }

    fn choices(
        &self,
        (evaluated, left_out, is_weighted): (usize, usize, bool),
        plans: Vec<Choice>,
        chosen: usize,
        placed: Vec<(u32, u32, Time, Time)>,
    ) -> Planned {
        let request = self.request;
        let since = |time: Time| to_seconds(time.since(request.at));
        let mut placed = placed;
        placed.sort_by_key(|(task, site, start, _)| (*start, *site, *task));
        let work = (0..self.application.tasks()).map(|task| {
            let shortest = (0..self.application.sites()).map(|site| self.application.runtime(task, site)).min();
            f64::from(self.application.procs(task)) * to_seconds(shortest.unwrap_or_default())
        });
        Planned::Choices(Choices {
            workflow: self.workflow.name.clone(),
            policy: request.policy,
            alpha: request.alpha,
            at: to_seconds(request.at.since(Time::ZERO)),
            sites: request
                .grid
                .sites
                .iter()
                .zip(&self.sites)
                .map(|((_, site), trial)| {
                    let mut desk = trial.desk.clone();
                    let (waiting, running) = desk.jobs();
                    PlanningSite {
                        name: site.name.clone(),
                        cores: site.cores,
                        slots: desk.advertise(request.at).slots.len(),
                        running,
                        waiting,
                    }
                })
                .collect(),
            evaluated,
            is_weighted,
            work: work.sum(),
            budget: request.budget.map(Area::seconds),
            deadline: request.deadline.map(to_seconds),
            left_out: (request.budget.is_some() || request.deadline.is_some()).then_some(left_out),
            plans,
            chosen,
            tasks: placed
                .iter()
                .map(|(task, site, start, end)| PlacedTask {
                    task: self.workflow.tasks[*task as usize].name.clone(),
                    site: request.grid.sites[*site as usize].1.name.clone(),
                    cores: self.application.procs(*task as usize),
                    start: since(*start),
                    end: since(*end),
                })
                .collect(),
        })
    }
}

fn extreme_text(what: &str, plan: Option<Cost>) -> String {
    plan.map_or_else(
        || "none was found without that limit".to_owned(),
        |Cost { allocation, makespan }| {
            format!("the {what} of all costs {} and takes {}", cost_text(allocation), time_text(makespan))
        },
    )
}

fn cost_text(cost: Area) -> String {
    units::core_time_text(cost.micros())
}

fn time_text(time: Span) -> String {
    match time.micros() % 1_000_000 {
        0 => time.to_string(),
        _ => format!("{} s", to_seconds(time)),
    }
}

fn cheapest_plan(plans: &[Cost]) -> Option<Cost> {
    plans.iter().min_by_key(|plan| (plan.allocation, plan.makespan)).copied()
}

fn earliest_plan(plans: &[Cost]) -> Option<Cost> {
    plans.iter().min_by_key(|plan| (plan.makespan, plan.allocation)).copied()
}

fn to_seconds(span: Span) -> f64 {
    span.micros() as f64 / 1e6
}

fn task_label(name: &str, task: usize) -> String {
    if name.is_empty() { format!("task {task}") } else { format!("task {task} (`{name}`)") }
}
