//! `[[workload]]`: which jobs there are and who submits them.

use super::super::Workload;
use super::super::complaint::Place;
use super::super::fields::{Field, Fields, any_of};
use super::super::file::Path;
use super::{Context, batch, generator, layered, reservation, table, tables, workflow};
use crate::catalog;
use crate::systems::{self, Row};
use crate::workload::Source;

pub(super) fn check_workloads(fields: &Fields<'_>, context: &Context<'_>) -> Vec<(Workload, Place)> {
    let field = fields.need("workload", "at least one [[workload]]");
    let tables = tables(field.as_ref(), &Path::root("workload")).unwrap_or_default();
    let workload = |field: &Field<'_>| {
        let fields = field.table("a [[workload]] table")?;
        Some((check_workload(fields, context)?, field.place()))
    };
    let workloads: Vec<(Workload, Place)> = tables.iter().filter_map(workload).collect();

    let tasks: u64 = workloads.iter().map(|(workload, _)| most_tasks(&workload.source)).sum();
    if let Some(field) = field.filter(|_| tasks > u64::from(u32::MAX)) {
        field.complain(format!("expected at most {} tasks in all, found up to {tasks}", u32::MAX));
    }
    workloads
}

fn most_tasks(source: &Source) -> u64 {
    match source {
        Source::Market(generator) => u64::from(generator.jobs) * u64::from(generator.tasks.1),
        Source::Table(table) => table.jobs.iter().map(|job| job.tasks.len() as u64).sum(),
        Source::Layered(generator) => u64::from(generator.workflows) * u64::from(generator.shape.tasks),
        Source::Reservations(demand) => u64::from(demand.requests),
        Source::Requests(table) => table.asks.len() as u64,
        Source::Rigid(rigids) => rigids.count.into(),
    }
}

fn check_workload(fields: Fields<'_>, context: &Context<'_>) -> Option<Workload> {
    let users = fields.get("users").and_then(|field| check_submitters(&field, context));
    let users = users.unwrap_or_else(|| (0..context.users.len()).collect());
    // Without a source nobody knows which other keys make sense.
    let all = catalog::sources();
    let sources = || all.iter().map(|entry| entry.name);
    let expected = format!("{}, or an include", any_of(sources()));
    let field = fields.need("source", &expected)?;
    let name = field.choice("a workload source", sources(), |text| sources().find(|name| *name == text))?;
    let context = &context.of(check_system(&fields, &field, name, context));
    let source = match name {
        "market" => Source::Market(generator::check_generator(&fields, context)),
        "table" => Source::Table(table::check_table(&fields, context)),
        "swf" => Source::Rigid(batch::check_log(&fields, context, batch::Format::Swf)),
        "batsim" => Source::Rigid(batch::check_log(&fields, context, batch::Format::Batsim)),
        "lublin" => Source::Rigid(batch::check_lublin(&fields, context)),
        "reservations" => Source::Reservations(reservation::check_demand(&fields, context)),
        "requests" => Source::Requests(reservation::check_asks(&fields)),
        "workflow" => Source::Table(workflow::check_workflow(&fields, context)),
        "layered" => Source::Layered(layered::check_layered(&fields, context)),
        other => unreachable!("the catalogue has a workload source {other} that topologies cannot describe"),
    };
    if let Source::Table(table) = &source
        && context.system.row().is_rigid
        && table.jobs.iter().any(|job| job.tasks.len() > 1)
    {
        field.complain(format!("expected jobs of one task each: a [{}] takes no others", context.system.row().key));
    }
    fields.finish();
    Some(Workload { users, system: context.number, source })
}

/// Where a workload goes: what it says, or the only system that takes what the source makes.
fn check_system(fields: &Fields<'_>, source: &Field<'_>, name: &str, context: &Context<'_>) -> usize {
    let takes = |row: &Row| row.sources.contains(&name);
    let keys = || context.systems.iter().map(|system| system.row().key);
    let written = fields
        .get("system")
        .map(|field| field.choice("a system of this topology", keys(), |key| keys().position(|other| other == key)));
    let number = match written {
        Some(number) => number,
        None => {
            let taking: Vec<usize> =
                (0..context.systems.len()).filter(|at| takes(context.systems[*at].row())).collect();
            if taking.len() > 1 {
                let keys = any_of(taking.iter().map(|at| context.systems[*at].row().key));
                fields.missing("system", &format!("which system these jobs go to: {keys}"));
            }
            taking.first().copied().or(Some(0))
        }
    };
    // A name that is none has been complained about.
    let Some(number) = number else { return 0 };
    let row = context.systems[number].row();
    if !takes(row) {
        let takers: Vec<String> =
            systems::ALL.iter().filter(|row| takes(row)).map(|row| format!("[{}]", row.key)).collect();
        let (fitting, takers) = (any_of(row.sources.iter().copied()), any_of(takers.iter().map(String::as_str)));
        source.complain(format!(
            "expected {fitting}, which a [{}] takes; jobs of source {name} need a {takers} table in the topology",
            row.key
        ));
    }
    number
}

fn check_submitters(field: &Field<'_>, context: &Context<'_>) -> Option<Vec<usize>> {
    let list = field.list("a list of users")?;
    if list.is_empty() {
        field.complain("expected at least one user, found none: nobody would submit the jobs");
    }
    let mut users = Vec::with_capacity(list.len());
    let mut seen = vec![false; context.users.len()];
    for field in &list {
        let names = context.users.keys().copied();
        let Some(user) = field.choice("a user", names, |name| context.users.get(name).copied()) else { continue };
        match seen.get_mut(user) {
            Some(seen) if *seen => field.complain("this user is in the list twice"),
            Some(seen) => *seen = true,
            None => {}
        }
        users.push(user);
    }
    Some(users)
}
