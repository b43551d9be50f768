//! `[[workload]]`: which jobs there are and who submits them.

use super::super::complaint::Place;
use super::super::fields::{Field, Fields, any_of};
use super::super::file::Path;
use super::super::{System, Workload};
use super::{Context, batch, generator, layered, reservation, table, tables, workflow};
use crate::catalog;
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
    let expected = format!("{}, or an include", any_of(catalog::sources().iter().map(|entry| entry.name)));
    let field = fields.need("source", &expected)?;
    let name = field.entry("a workload source", &catalog::sources())?;
    check_fits(&field, name, context.system);
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
    if let (System::Batch(_), Source::Table(table)) = (context.system, &source)
        && table.jobs.iter().any(|job| job.tasks.len() > 1)
    {
        field.complain("expected jobs of one task each: that is what a batch queue takes");
    }
    fields.finish();
    Some(Workload { users, source })
}

/// Jobs and requests for reservations are not the same thing.
fn check_fits(field: &Field<'_>, source: &str, system: &System) {
    let asks = matches!(source, "reservations" | "requests");
    match system {
        System::Reservation(_) if !asks => {
            field.complain("expected reservations or requests, since this topology has a [reservation] table");
        }
        System::Market(_) | System::Workflow(_) if asks => {
            field.complain("requests for nodes between two times need a [reservation] table in the topology");
        }
        System::Batch(_) if asks || matches!(source, "market" | "workflow" | "layered") => {
            field.complain("expected swf, batsim, lublin or table, since this topology has a [batch] table");
        }
        System::Market(_) | System::Workflow(_) if matches!(source, "swf" | "batsim" | "lublin") => {
            field.complain("rigid jobs for a queue need a [batch] table in the topology");
        }
        _ => {}
    }
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
