//! A user's view of the grid: its sites, and the ways of data between them.

use crate::grid::{Area, EdgeId, Invalid, Job, Kind, Site, Speed, Step, Tariff, Task, User, Workflow};
use crate::kernel::ActorId;
use crate::network::Paths;
use crate::protocol::{Message, Ship};
use crate::roles::Out;
use crate::roles::site::Attempts;
use crate::systems::Grid;
use crate::time::{Span, Time};

use super::application::{Application, SiteLink};
use super::desk::longest_walltime;
use super::rules::Provisioning;

pub struct World {
    /// The sites in the topology's order.
    pub providers: Vec<Provider>,
    roads: Roads,
    /// True if the arrival of data is known when it is shipped, and no node fails: then the time at which a task can be
    /// entered is known, too.
    pub foresees_arrivals: bool,
}

/// A site as users know it.
pub struct Provider {
    pub site: ActorId,
    /// Index of the site in the topology.
    pub number: usize,
    pub name: String,
    pub cores: u32,
    pub kind: Kind,
    pub tariff: Tariff,
    /// Fixed part of the fee of a booking.
    pub charge: Area,
    /// Share of its fee that cancelling a booking costs, in thousandths.
    pub cancelling: u32,
    /// True if it takes back the rest of a booking.
    pub takes_back: bool,
    speed_millionths: u64,
    longest: Option<Span>,
    /// Latency of a message to the site.
    pub latency: Span,
    /// The checkpoints of its tasks, if its nodes fail.
    fails: Option<Attempts>,
}

/// The ways of data: over shared links, or in a time that only depends on its size.
enum Roads {
    Links { paths: Paths, exchange: ActorId, numbers: Vec<u32> },
    Plain { latency: Span, bandwidth: Option<u64> },
}

impl World {
    pub fn from_grid(grid: &Grid<'_>, rules: &Provisioning) -> World {
        let providers = grid.sites.iter().map(|(id, site)| Provider::from_site(*id, site, grid)).collect();
        let network = (grid.network)();
        let roads = match network.shared {
            Some((exchange, numbers)) => Roads::Links { paths: network.paths, exchange, numbers },
            None => Roads::Plain { latency: rules.transfer_latency, bandwidth: rules.bandwidth },
        };
        let mut world = World { providers, roads, foresees_arrivals: false };
        world.foresees_arrivals = matches!(world.roads, Roads::Plain { .. }) && !world.fails();
        world
    }

    /// The world with the latencies that this user has.
    pub fn seen_by(mut self, user: &User) -> World {
        self.providers.iter_mut().for_each(|provider| provider.latency = provider.latency + user.latency);
        self
    }

    pub fn provider_of(&self, site: ActorId) -> Option<usize> {
        self.providers.iter().position(|provider| provider.site == site)
    }

    /// The providers where a task can run.
    pub fn fitting_providers(&self, task: &Task, pinned: Option<usize>) -> impl Iterator<Item = usize> {
        let task = *task;
        let providers =
            self.providers.iter().enumerate().filter(move |(at, _)| pinned.is_none_or(|pinned| pinned == *at));
        providers.filter(move |(_, provider)| provider.fits(&task)).map(|(at, _)| at)
    }

    /// The reason why no provider can run a job, if there is one: a task is too large, or too long for those that are
    /// large enough.
    pub fn excludes(&self, job: &Job, pinned: Option<usize>) -> Option<Invalid> {
        let task = job.tasks.iter().find(|task| self.fitting_providers(task, pinned).next().is_none())?;
        let mut providers =
            self.providers.iter().enumerate().filter(|(at, _)| pinned.is_none_or(|pinned| pinned == *at));
        let is_large = providers.any(|(_, provider)| provider.is_large_enough(task));
        Some(if is_large { Invalid::TooLong } else { Invalid::TooManyNodes })
    }

    /// The link between two different providers, as if no other used it.
    pub fn link(&self, from: usize, to: usize) -> SiteLink {
        match &self.roads {
            Roads::Plain { latency, bandwidth } => {
                SiteLink { latency: *latency, bandwidth: bandwidth.unwrap_or(u64::MAX) }
            }
            Roads::Links { paths, .. } => {
                // Bytes per microsecond are bits per eighth of a microsecond; the rounding makes it a little slower.
                let rate = paths.bandwidth(from, to, |link| link.effective(1)) * 8e6;
                let latency = Span::from_micros(paths.latency(from, to).ceil() as u64 + 1);
                SiteLink { latency, bandwidth: rate as u64 }
            }
        }
    }

    fn transfer(&self, from: usize, to: usize, bytes: u64) -> Span {
        if from == to { Span::ZERO } else { self.link(from, to).transfer(bytes) }
    }

    /// A job as an application for planning, with some spare time for each task, and for its checkpoints.
    pub fn application(&self, job: &Job, slack: Span) -> Application {
        let fastest = self.providers.iter().map(|provider| provider.speed_millionths).max().unwrap_or(0).max(1_000_000);
        let spare = |task: &Task| {
            let spent = self.providers.iter().map(|provider| spare_beyond_walltime(provider, task)).max().unwrap_or(0);
            let spare = (u128::from(slack.micros()) + u128::from(spent)) * u128::from(fastest) / 1_000_000;
            Span::from_micros(u64::try_from(spare).unwrap_or(u64::MAX))
        };
        let tasks = job
            .tasks
            .iter()
            .map(|task| Step { name: String::new(), work: task.walltime + spare(task), cores: task.cores })
            .collect();
        let workflow = Workflow { name: String::new(), tasks, edges: job.edges.clone() };
        let providers: Vec<Speed> = self.providers.iter().map(|provider| Speed(provider.speed_millionths)).collect();
        let application = Application::new(&workflow, &providers, |from, to| self.link(from, to));
        application.restricted_by(|task, provider| self.providers[provider].kind == job.tasks[task].kind)
    }

    /// Ships data. Returns the arrival, if it is known already; otherwise the network announces it by this number.
    pub fn ship(
        &self,
        now: Time,
        (from, to): (usize, usize),
        edge: (EdgeId, u64),
        load: u64,
        out: &mut Out,
    ) -> Option<Time> {
        let (edge, bytes) = edge;
        match &self.roads {
            Roads::Plain { .. } => Some(now + self.transfer(from, to, bytes)),
            Roads::Links { exchange, numbers, .. } => {
                let from = numbers[from];
                let to = numbers[to];
                out.send(*exchange, Message::Ship(Ship { load, from, to, bytes, edge, on_behalf: true }));
                None
            }
        }
    }

    /// True if nodes of any provider fail.
    pub fn fails(&self) -> bool {
        self.providers.iter().any(Provider::fails)
    }

    pub fn is_exchange(&self, actor: ActorId) -> bool {
        matches!(self.roads, Roads::Links { exchange, .. } if exchange == actor)
    }
}

fn spare_beyond_walltime(provider: &Provider, task: &Task) -> u64 {
    provider.held_time(task).micros() - provider.time(task.walltime).micros()
}

#[cfg(test)]
impl World {
    /// Providers of this many processors each, all at the same latency.
    pub fn with_providers(cores: &[u32], latency: Span) -> World {
        let provider = |(number, cores): (usize, &u32)| Provider {
            site: ActorId(number as u32),
            number,
            name: format!("site {number}"),
            cores: *cores,
            kind: Kind(0),
            tariff: Tariff::flat(crate::grid::Rate::ONE),
            charge: Area::ZERO,
            cancelling: 100,
            takes_back: false,
            speed_millionths: 1_000_000,
            longest: None,
            latency,
            fails: None,
        };
        let providers = cores.iter().enumerate().map(provider).collect();
        let roads = Roads::Plain { latency: Span::ZERO, bandwidth: None };
        World { providers, roads, foresees_arrivals: true }
    }

    /// Like this world, where a transfer takes this long.
    pub fn with_transfers(self, latency: Span) -> World {
        World { roads: Roads::Plain { latency, bandwidth: None }, ..self }
    }

    /// Like this world, where nodes of all providers fail at times.
    pub fn failing(mut self) -> World {
        use crate::grid::{Failure, FailurePattern, FailureTarget, NodeSet, Recovery};
        let what = FailureTarget::Nodes { site: 0, nodes: NodeSet::all(1) };
        let once = Span::from_secs(1);
        let failures =
            [Failure { what, pattern: FailurePattern::Once { at: Time::ZERO + once, lasts: once }, announced: true }];
        let failing = crate::systems::Failing { failures: &failures, recovery: &Recovery::default(), seed: 1 };
        let fails = failing.site(0).expect("it fails");
        self.providers.iter_mut().for_each(|provider| provider.fails = Some(fails.attempts(provider.cores)));
        self.foresees_arrivals = false;
        self
    }
}

impl Provider {
    pub fn from_site(id: ActorId, site: &Site, grid: &Grid<'_>) -> Provider {
        Provider {
            site: id,
            number: grid.site_ids.iter().position(|other| *other == id).expect("a grid's sites are the topology's"),
            name: site.name.clone(),
            cores: site.cores,
            kind: site.kind,
            tariff: site.terms.tariff(),
            charge: site.terms.charge,
            cancelling: (site.terms.cancelled_millionths / 1_000) as u32,
            takes_back: site.terms.handing_back_millionths.is_some(),
            speed_millionths: site.speed_millionths,
            longest: site.terms.longest,
            latency: site.latency,
            fails: grid.site_failures(id).map(|fails| fails.attempts(site.cores)),
        }
    }

    pub fn fits(&self, task: &Task) -> bool {
        self.is_large_enough(task) && self.is_short_enough(task)
    }

    /// True if the task is not longer than the site allows.
    pub fn is_short_enough(&self, task: &Task) -> bool {
        self.time(task.walltime) <= longest_walltime(self.longest)
    }

    fn is_large_enough(&self, task: &Task) -> bool {
        self.kind == task.kind && self.cores >= task.cores
    }

    /// The least cost of a booking of this core time.
    pub fn least(&self, area: Area) -> Area {
        area.cost_at(self.tariff.least()) + self.charge
    }

    /// True if its nodes fail.
    pub fn fails(&self) -> bool {
        self.fails.is_some()
    }

    /// Duration for which a task has its processors here, with its checkpoints.
    pub fn held_time(&self, task: &Task) -> Span {
        let time = self.time(task.walltime);
        self.fails.as_ref().map_or(time, |fails| fails.with_checkpoints(time, task.cores))
    }

    /// Duration of a span of work here.
    pub fn time(&self, span: Span) -> Span {
        Speed(self.speed_millionths).time(span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::TaskId;
    use crate::roles::queue::NodeRequest;
    use crate::systems::provisioning::desk::{Desk, DeskTerms, PlanningMode};
    use crate::systems::provisioning::{forecast::History, planner};

    #[test]
    fn a_job_that_fits_no_provider_is_too_large_or_too_long_for_those_that_are_large_enough() {
        let mut world = World::with_providers(&[4, 8], Span::ZERO);
        let hour = Span::from_minutes(60);
        world.providers[1].longest = Some(hour);
        let why = |cores, walltime, pinned| {
            let small = Task::new(hour, 1, Kind(0));
            let tasks = vec![small, Task { walltime, ..Task::new(hour, cores, Kind(0)) }];
            let id = crate::grid::JobId(0);
            let job = Job { id, arrive: Time::ZERO, first_task: 0, tasks, edges: Vec::new(), worth: None, times: None };
            world.excludes(&job, pinned)
        };
        let long = hour + Span::from_micros(1);
        assert_eq!([why(4, long, None), why(8, hour, None)], [None, None]);
        assert_eq!(why(9, hour, None), Some(Invalid::TooManyNodes));
        assert_eq!(why(8, long, None), Some(Invalid::TooLong));
        // Where it has to go to one of them.
        assert_eq!(why(8, hour, Some(0)), Some(Invalid::TooManyNodes));
        assert_eq!(why(4, long, Some(1)), Some(Invalid::TooLong));
    }

    #[test]
    fn what_fits_a_provider_its_desk_takes() {
        let planner = planner::build_planner("conservative-count").unwrap();
        let desk = Desk::new(DeskTerms::new(4, PlanningMode::Rebuild), planner, Box::new(History::new()));
        let mut provider = World::with_providers(&[4], Span::ZERO).providers.remove(0);
        let job = TaskId { job: crate::grid::JobId(0), index: 0 };
        for speed_millionths in [1, 1_000, 1_000_000] {
            provider.speed_millionths = speed_millionths;
            for bits in 20..64 {
                for more in [0, 1] {
                    let task = Task::new(Span::from_micros((1 << bits) + more), 4, Kind(0));
                    let request = NodeRequest { job, nodes: 4, walltime: provider.time(task.walltime) };
                    let taken = desk.check_submission(Time::ZERO, &request);
                    assert_eq!(
                        provider.fits(&task),
                        taken.is_ok(),
                        "2^{bits} + {more} at {speed_millionths}: {taken:?}"
                    );
                }
            }
        }
    }
}
