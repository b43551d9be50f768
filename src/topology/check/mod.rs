//! From what is written to what is meant. Every fault is complained about; what is faulty is then taken for
//! something harmless, so that the check can go on to the next one.

mod batch;
mod cables;
mod generator;
mod layered;
mod market;
mod members;
mod planning;
mod reservation;
mod system;
mod table;
mod workflow;
mod workload;

use std::collections::BTreeMap;

use super::complaint::{Findings, Place};
use super::fields::{Field, Fields, is_name};
use super::file::{Attached, Path, Table};
use super::{Site, Topology, User};
use crate::grid::Kind;
use crate::protocol::codec::MESSAGE_MAX;
use crate::systems::Service;

const CORES_MAX: u32 = 1 << 31;
// A job travels as one message, so it cannot be of any size.
const TASKS_MAX: u32 = 10_000;
const EDGES_MAX: usize = 100_000;
const POINTS_MAX: usize = 10_000;
/// The longest job: what a task, an edge and a point of its curve take, and what else there is to a job and its message.
const JOB_BYTES_MAX: usize = 26 * TASKS_MAX as usize + 19 * EDGES_MAX + 16 * POINTS_MAX + 256;
const _: () = assert!(JOB_BYTES_MAX <= MESSAGE_MAX);

/// Only good if there are no complaints in the end. With it comes where each workload is written.
pub(super) fn check(root: &Table, attached: &Attached, findings: &Findings) -> (Topology, Vec<Place>) {
    let fields = Fields::root(root, findings);
    let name = fields.need("name", "a name for the topology").and_then(|field| name(&field));
    let about = fields.get("about").and_then(|field| field.text("a text"));
    let seed = fields.get("seed").and_then(|field| field.whole(0..=u64::MAX)).unwrap_or(1);

    let mut systems = system::check(&fields);
    let defaults = fields.get("defaults").and_then(|field| field.table("a table of defaults"));
    let mut names = members::Names::new(findings);
    let (sites, kinds) = members::check_sites(&fields, defaults.as_ref(), &mut names, &systems);
    let users = members::check_users(&fields, defaults.as_ref(), &mut names);
    if let Some(defaults) = defaults {
        defaults.finish();
    }
    let cables = cables::check_cables(&fields, &sites, &mut systems);

    let part = |system| Grid::new(&kinds, sites.iter().filter(move |site: &&Site| site.systems.contains(&system)));
    let grids: Vec<Grid<'_>> = (0..systems.len()).map(part).collect();
    let (users_by_name, linked) = (by_name(&users), cables.is_some());
    let context = Context {
        seed,
        systems: &systems,
        number: 0,
        system: &systems[0],
        grids: &grids,
        grid: &grids[0],
        sites: &sites,
        users: &users_by_name,
        linked,
        attached,
    };
    let (workloads, places) = workload::check_workloads(&fields, &context).into_iter().unzip();
    fields.finish();

    let about = about.map(str::to_owned);
    let name = name.unwrap_or_default();
    (Topology { name, about, seed, systems, sites, cables, users, workloads, kinds }, places)
}

const NAME: &str = "a name of at most 63 small letters, digits and hyphens";

fn name(field: &Field<'_>) -> Option<String> {
    let text = field.text(NAME)?;
    if is_name(text) { Some(text.to_owned()) } else { field.wrong(NAME) }
}

/// The tables of a section that sites or users are in.
fn members<'a>(field: Option<&'a Field<'a>>, section: &'a Path<'a>) -> Vec<Fields<'a>> {
    tables(field, section).iter().flatten().filter_map(|field| field.member(section)).collect()
}

fn tables<'a>(field: Option<&'a Field<'a>>, section: &Path<'_>) -> Option<Vec<Field<'a>>> {
    let field = field?;
    let list = field.list(format_args!("[[{section}]] tables, with two brackets"))?;
    if list.is_empty() {
        field.complain(format!("expected at least one [[{section}]], found none"));
    }
    Some(list)
}

/// What a workload may refer to.
#[derive(Clone, Copy)]
struct Context<'a> {
    seed: u64,
    systems: &'a [Service],
    /// The system that it goes to, and the part of the grid that this one uses.
    number: usize,
    system: &'a Service,
    grid: &'a Grid<'a>,
    grids: &'a [Grid<'a>],
    sites: &'a [Site],
    users: &'a BTreeMap<&'a str, usize>,
    /// Whether data goes over links.
    linked: bool,
    attached: &'a Attached,
}

impl<'a> Context<'a> {
    /// The same for a workload that goes to another system.
    fn of(self, number: usize) -> Context<'a> {
        Context { number, system: &self.systems[number], grid: &self.grids[number], ..self }
    }
}

/// The kinds of core that there are.
struct Grid<'a> {
    names: &'a [String],
    kinds: BTreeMap<&'a str, Kind>,
    /// The cores of the largest site of each kind.
    largest: Vec<u32>,
}

impl<'a> Grid<'a> {
    fn new<'s>(names: &'a [String], sites: impl Iterator<Item = &'s Site>) -> Grid<'a> {
        let mut largest = vec![0; names.len()];
        for site in sites {
            let largest = &mut largest[usize::from(site.kind.0)];
            *largest = site.cores.max(*largest);
        }
        let kinds = names.iter().zip(0..).map(|(name, number)| (name.as_str(), Kind(number))).collect();
        Grid { names, kinds, largest }
    }

    fn kind(&self, field: &Field<'_>) -> Option<Kind> {
        let names = self.names.iter().map(String::as_str);
        field.choice("a kind of core that a site offers", names, |name| self.kinds.get(name).copied())
    }

    /// The name of a kind and the cores of its largest site; `None` once there are complaints about all sites.
    fn largest(&self, kind: Kind) -> Option<(&str, u32)> {
        let index = usize::from(kind.0);
        Some((self.names.get(index)?, *self.largest.get(index)?))
    }
}

fn by_name(users: &[User]) -> BTreeMap<&str, usize> {
    users.iter().enumerate().map(|(index, user)| (user.name.as_str(), index)).collect()
}

const REFUSE: &str = "with `market.unplaceable = \"refuse\"` jobs that fit nowhere are refused, and the run goes on";

const TOO_LONG_A_JOB: &str = "tasks that take less than 285 years together";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::{Curve, Edge, Job, JobId, Task, Worth};
    use crate::kernel::{ActorId, Down, Envelope, Then};
    use crate::protocol::{Enqueue, Message, codec};
    use crate::time::{Span, Stamp, Time};

    #[test]
    fn the_longest_job_fits_into_a_frame() {
        let task = Task::new(Span::MAX, u32::MAX, Kind(u16::MAX));
        let edge = Edge { from: u32::MAX, to: u32::MAX, data: u64::MAX };
        let curve = Curve::new(1.0, 2.0, &vec![(1.5, 0.5); POINTS_MAX]).unwrap();
        let job = Job {
            id: JobId(u32::MAX),
            arrive: Time::NEVER,
            first_task: u32::MAX,
            tasks: vec![task; TASKS_MAX as usize],
            edges: vec![edge; EDGES_MAX],
            worth: Some(Worth { max: 1e300, curve }),
        };
        let actor = ActorId(u32::MAX);
        let message = Message::Enqueue(Enqueue { job: job.into(), site: Some(actor), think: Some(Span::MAX) });
        let length = codec::length(&message).unwrap();
        assert!(length <= JOB_BYTES_MAX && length > JOB_BYTES_MAX - 256, "{length}");
        let envelope = Envelope { arrival: Stamp::NEVER, from: actor, to: actor, number: u64::MAX, message };
        let down = Down { grant: Stamp::NEVER, then: Then::Run, mail: vec![envelope] };
        assert!(codec::length(&down).unwrap() < length + 100);
    }
}
