//! Workflows planned over advertised slots, bought at prices, and run just in time: figures 13 to 19 and 52 to 56.

use std::sync::Arc;

use super::load::{Estimates, Site};
use super::settings::PricedWidths;
use super::slots::span_hours;
use super::{Context, Extent, Rows, SEED, build_trial, one_of};
use hansa_sim::grid::{Speed, Workflow};
use hansa_sim::random::{SplitMix64, mix_bits};
use hansa_sim::systems::provisioning::application::{
    Application, Cost, GreedyPlan, MogaSettings, SiteLink, plan_application,
};
use hansa_sim::systems::provisioning::desk::{PlanningMode, WantedStarts};
use hansa_sim::systems::provisioning::trial::{SiteTrial, best_effort};
use hansa_sim::time::Span;
use hansa_sim::workload::workflow::parallel::{Parallel, cybershake_workflow};

/// One moment at a site.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    pub site: Site,
    /// Utilisation in thousandths.
    pub load: u32,
    pub moment: u32,
}

const ALPHAS: [f64; 6] = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0];
const TASKS: u32 = 100;
const TASKS_MORE: [u32; 3] = [200, 300, 400];

pub(super) fn workflow_widths(site: Site) -> [u32; 4] {
    match site {
        Site::Ctc => [3, 10, 20, 30],
        Site::Sdsc => [1, 3, 6, 9],
    }
}

impl PricedWidths {
    /// Processors of a task in figure 54.
    pub(super) fn of(self, site: Site) -> [u32; 4] {
        match self {
            PricedWidths::OneToNine => workflow_widths(site),
            PricedWidths::ThreeToThirty => workflow_widths(Site::Ctc),
        }
    }
}

/// A workflow at a moment, with its makespan by best effort.
struct Case<'a> {
    application: Application,
    /// Sites for advertised slots, and for prices.
    sites: [&'a [SiteTrial]; 2],
    /// Makespans by best effort, on both kinds of sites.
    queued: [Option<Span>; 2],
    seed: u64,
}

impl<'a> Case<'a> {
    fn new(flow: &Workflow, sites: [&'a [SiteTrial]; 2], seed: u64) -> Case<'a> {
        let speeds = vec![Speed::USUAL; sites[0].len().max(sites[1].len())];
        let link = SiteLink { latency: Span::from_secs(150), bandwidth: 10_000_000_000 };
        let application = Application::new(flow, &speeds, |_, _| link);
        let queued =
            sites.map(|sites| (!sites.is_empty()).then(|| best_effort(&mut sites.to_vec(), &application)).flatten());
        Case { application, sites, queued, seed }
    }

    /// Cost of the plan for each weight of cost, from one search.
    fn planned_costs(&self, alphas: &[f64]) -> Vec<Option<Cost>> {
        let mut sites = self.sites[0].to_vec();
        let now = sites[0].now();
        let adverts: Vec<_> = sites.iter_mut().map(|site| site.desk.advertise(now).slots).collect();
        let adverts: Vec<_> = adverts.iter().map(Vec::as_slice).collect();
        let front = plan_application(&self.application, now, &adverts, MogaSettings::new(self.seed));
        alphas.iter().map(|alpha| front.choose(*alpha).map(|plan| plan.cost)).collect()
    }

    /// Cost if bought at prices, and the sum of all fees in processor-hours.
    fn bought_cost(&self, alpha: f64) -> Option<(Cost, f64)> {
        let mut sites = self.sites[1].to_vec();
        let now = sites[0].now();
        let procs = sites.iter().map(|site| site.desk.terms().procs).collect();
        let mut greedy = GreedyPlan::new(&self.application, alpha, now, procs);
        for _ in 0..self.application.tasks() {
            let mut quotes = Vec::new();
            for query in greedy.price_queries(now) {
                let part = query.part;
                let wanted = WantedStarts::From(query.part.start);
                let quote = sites[query.site].desk.price(now, part.procs, part.span, wanted).ok()?;
                quotes.push((query.site, quote));
            }
            let (site, quote, start) = greedy.choose(&quotes)?;
            greedy.bought(site, sites[site].desk.book(now, quote, start).ok()?);
        }
        let fees = greedy.all().iter().map(|(_, receipt)| receipt.fee.seconds()).sum::<f64>() / 3_600.0;
        Some((greedy.cost(), fees))
    }

    /// Cost by best effort, which is the work, equal everywhere.
    fn work_seconds(&self) -> f64 {
        self.application.work(0).seconds()
    }

    /// Records makespan and cost beside those of best effort, in hours and processor-hours.
    fn put_costs(
        &self,
        rows: &mut Rows,
        figure: [&'static str; 2],
        line: &str,
        at: f64,
        cost: Option<Cost>,
        queued: Option<Span>,
    ) {
        let Some((cost, queued)) = cost.zip(queued) else { return };
        let costs = [cost.allocation.seconds() / 3_600.0, self.work_seconds() / 3_600.0];
        for (figure, [one, other]) in figure.into_iter().zip([[span_hours(cost.makespan), span_hours(queued)], costs]) {
            rows.put_point(figure, one_of(line, "provisioned"), at, one);
            rows.put_point(figure, one_of(line, "best effort"), at, other);
        }
    }
}

/// Seed of the application with this many tasks of this many processors in the mean.
fn application_seed(tasks: u32, procs: u32) -> u64 {
    mix_bits(SEED ^ (u64::from(tasks) << 32 | u64::from(procs)))
}

/// The site at the moment, with advertised slots, or else with prices.
fn site_at(context: &Context<'_>, setting: Setting, modes: &[PlanningMode]) -> Vec<[SiteTrial; 1]> {
    let Setting { site, load, moment } = setting;
    let days = context.extent.history_days();
    let background = context.background((site, load), days, Estimates::Exact, Extent::moment_seed(moment));
    let trials = modes.iter().map(|mode| {
        let mut trial = build_trial(site, *mode, "slotlist", Arc::clone(&background));
        trial.advance(context.extent.moment_time(moment));
        [trial]
    });
    trials.collect()
}

/// The application with this many tasks of this many processors in the mean. It is the same at all moments and loads,
/// so that best effort's cost is a constant.
fn case<'a>(tasks: u32, procs: u32, sites: [&'a [SiteTrial]; 2]) -> Case<'a> {
    let depth = (f64::from(tasks).sqrt()).round() as u32;
    let seed = application_seed(tasks, procs);
    let flow = Parallel { tasks, depth, procs, bytes: 0 }.draw(&mut SplitMix64::new(seed));
    Case::new(&flow, sites, seed)
}

pub fn run_plans(context: &Context<'_>, setting: Setting, rows: &mut Rows) {
    let Setting { site, load, .. } = setting;
    let trials = site_at(context, setting, &[PlanningMode::Exact, PlanningMode::Rebuild]);
    let sites: [&[SiteTrial]; 2] = [&trials[0], &trials[1]];
    let case = |tasks: u32, procs: u32| case(tasks, procs, sites);
    let name = site.name();

    if load == site.plan_loads()[0] {
        let usual = case(TASKS, site.task_procs());
        put_by_alpha(rows, &usual, name);
        put_by_tasks(rows, &usual, name, TASKS);
        for tasks in TASKS_MORE {
            put_by_tasks(rows, &case(tasks, site.task_procs()), name, tasks);
        }
    }
    let is_usual = load == site.plan_loads()[0];
    for procs in workflow_widths(site) {
        let case = case(TASKS, procs);
        let weights: &[f64] = if is_usual { &[0.5, 0.0, 1.0] } else { &[0.5] };
        let planned = case.planned_costs(weights);
        for (alpha, cost) in weights.iter().zip(planned) {
            let by_width = format!("{name} alpha {alpha}");
            let by_load = format!("{name} {procs} procs");
            let at = f64::from(load) / 10.0;
            if *alpha == 0.5 {
                let bought = case.bought_cost(*alpha).map(|(cost, _)| cost);
                case.put_costs(rows, ["16 makespan", "16 cost"], &by_load, at, cost, case.queued[0]);
                case.put_costs(rows, ["55 makespan", "55 cost"], &by_load, at, bought, case.queued[1]);
            } else {
                case.put_costs(rows, ["15 makespan", "15 cost"], &by_width, f64::from(procs), cost, case.queued[0]);
            }
        }
    }
}

/// Figure 54, at the least load.
pub fn run_widths(context: &Context<'_>, site: Site, moment: u32, rows: &mut Rows) {
    let setting = Setting { site, load: site.plan_loads()[0], moment };
    let trials = site_at(context, setting, &[PlanningMode::Rebuild]);
    for procs in context.settings.widths.of(site) {
        let case = case(TASKS, procs, [&[], &trials[0]]);
        for alpha in [0.0, 1.0] {
            let bought = case.bought_cost(alpha).map(|(cost, _)| cost);
            let line = format!("{} alpha {alpha}", site.name());
            case.put_costs(rows, ["54 makespan", "54 cost"], &line, f64::from(procs), bought, case.queued[1]);
        }
    }
}

/// Figures 13 and 52.
fn put_by_alpha(rows: &mut Rows, case: &Case<'_>, name: &str) {
    for (alpha, cost) in ALPHAS.iter().zip(case.planned_costs(&ALPHAS)) {
        case.put_costs(rows, ["13 makespan", "13 cost"], name, *alpha, cost, case.queued[0]);
    }
    for alpha in ALPHAS {
        let bought = case.bought_cost(alpha);
        case.put_costs(rows, ["52 makespan", "52 cost"], name, alpha, bought.map(|bought| bought.0), case.queued[1]);
        if let Some((_, fees)) = bought {
            rows.put_point("52 fees", name, alpha, fees);
        }
    }
}

/// Figures 14 and 53.
fn put_by_tasks(rows: &mut Rows, case: &Case<'_>, name: &str, tasks: u32) {
    let weights = [0.0, 1.0];
    for (alpha, planned) in weights.into_iter().zip(case.planned_costs(&weights)) {
        let bought = case.bought_cost(alpha).map(|bought| bought.0);
        let line = format!("{name} alpha {alpha}");
        case.put_costs(rows, ["14 makespan", "14 cost"], &line, f64::from(tasks), planned, case.queued[0]);
        case.put_costs(rows, ["53 makespan", "53 cost"], &line, f64::from(tasks), bought, case.queued[1]);
    }
}

/// Figure 18.
pub fn run_cybershake(context: &Context<'_>, load: u32, moment: u32, rows: &mut Rows) {
    let extent = context.extent;
    let seed = Extent::moment_seed(moment);
    let background = context.background((Site::Ctc, load), extent.history_days() + 7, Estimates::Exact, seed);
    let mut site = [build_trial(Site::Ctc, PlanningMode::Exact, "slotlist", background)];
    site[0].advance(extent.moment_time(moment));
    let case = Case::new(&cybershake_workflow(), [&site, &[]], seed);
    let planned = case.planned_costs(&[0.5])[0];
    case.put_costs(rows, ["18 makespan", "18 cost"], "", f64::from(load) / 10.0, planned, case.queued[0]);
}

/// Sites in the order in which they are added, the most loaded ones first.
const SEVERAL: [(Site, u32); 6] =
    [(Site::Ctc, 880), (Site::Sdsc, 840), (Site::Ctc, 760), (Site::Sdsc, 780), (Site::Ctc, 630), (Site::Sdsc, 700)];

/// Figures 19 and 56.
pub fn run_several(context: &Context<'_>, moment: u32, rows: &mut Rows) {
    let extent = context.extent;
    let at = extent.moment_time(moment);
    let sites = |mode: PlanningMode| -> Vec<SiteTrial> {
        SEVERAL
            .iter()
            .enumerate()
            .map(|(number, (site, load))| {
                // Sites of one kind have different users.
                let seed = Extent::moment_seed(moment) ^ (number as u64) << 32;
                let background = context.background((*site, *load), extent.history_days(), Estimates::Exact, seed);
                let mut trial = build_trial(*site, mode, "slotlist", background);
                trial.advance(at);
                trial
            })
            .collect()
    };
    let advertising = sites(PlanningMode::Exact);
    let pricing = sites(PlanningMode::Rebuild);
    // 1,000 Gb per edge.
    let shape = Parallel { tasks: TASKS, depth: 10, procs: 14, bytes: 125_000_000_000 };
    let seed = mix_bits(SEED ^ 0xF19);
    let flow = shape.draw(&mut SplitMix64::new(seed));
    for count in 2..=SEVERAL.len() {
        let case = Case::new(&flow, [&advertising[..count], &pricing[..count]], seed);
        let planned = case.planned_costs(&[0.5])[0];
        let bought = case.bought_cost(0.5).map(|bought| bought.0);
        for (cost, queued, figure) in [
            (planned, case.queued[0], ["19 makespan", "19 cost"]),
            (bought, case.queued[1], ["56 makespan", "56 cost"]),
        ] {
            case.put_costs(rows, figure, "", count as f64, cost, queued);
        }
    }
}
