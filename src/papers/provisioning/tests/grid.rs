//! Points of figures 23 and 24 in a grid of two users and a site, where messages take no time: a crowd submits to the
//! queue, and bookers reserve at the starts that the site quotes to them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::super::prices::{Planner, Setting, split_jobs};
use super::*;
use crate::grid::run;
use hansa_sim::grid::JobId;
use hansa_sim::protocol::Record;

/// Jobs as tables of a topology.
fn listed(user: &str, jobs: impl Iterator<Item = Rigid>) -> String {
    let mut text = format!("[[workload]]\nsource = \"table\"\nusers = [\"{user}\"]\n");
    for Rigid { submit, nodes, walltime, runtime } in jobs {
        let [submit, walltime, runtime] = [submit.since(Time::ZERO), walltime, runtime].map(Span::micros);
        writeln!(
            text,
            "[[workload.job]]\narrive = \"{submit} us\"\n\
             tasks = [{{ runtime = \"{runtime} us\", walltime = \"{walltime} us\", cores = {nodes} }}]"
        )
        .unwrap();
    }
    text
}

/// Mean fee of a reservation in processor-hours, and mean waits of reserved and queued jobs in hours.
fn in_grid(setting: &Setting) -> [Option<f64>; 3] {
    let Setting { site, alpha, planner, .. } = *setting;
    let settings = Settings::default();
    let context = Context { extent: &TINY, settings: &settings, logs: &Logs::default() };
    let (jobs, seed) = setting.jobs(&context, 0);
    let planner = planner.name(&settings);
    let chosen = split_jobs(&jobs, setting, seed);
    let of = |reserves: bool| chosen.iter().filter(move |job| job.1 == reserves).map(|job| job.0);
    let (_, log) = run(&format!(
        "name = \"figure-23\"\n[provisioning]\n[[site]]\nname = \"{}\"\ncores = {}\nscheduler = \"{planner}\"\n\
         [[user]]\nname = \"crowd\"\n[[user]]\nname = \"bookers\"\nstrategy = \"reserve\"\nalpha = {:?}\n{}{}",
        site.name().to_lowercase(),
        site.procs(),
        alpha.expect("all reservations have one weight"),
        listed("crowd", of(false)),
        listed("bookers", of(true))
    ));

    let warm = Time::ZERO + Span::from_minutes(WARM * 24 * 60);
    let mut arrived: BTreeMap<JobId, Time> = BTreeMap::new();
    let mut reserved: BTreeSet<JobId> = BTreeSet::new();
    let [mut fees, mut reserved_waits, mut queued_waits] = [const { Vec::new() }; 3];
    for entry in &log {
        match &entry.record {
            Record::Arrived { job, .. } if job.arrive >= warm => _ = arrived.insert(job.id, job.arrive),
            Record::Booked { job, receipt, .. } => {
                reserved.insert(*job);
                if let Some(arrive) = arrived.get(job) {
                    fees.push(receipt.fee.seconds() / 3_600.0);
                    reserved_waits.push(slots::span_hours(receipt.part.start - *arrive));
                }
            }
            Record::Started { task, .. } if !reserved.contains(&task.job) => {
                queued_waits.extend(arrived.get(&task.job).map(|arrive| slots::span_hours(entry.stamp.time - *arrive)));
            }
            _ => {}
        }
    }
    assert_eq!(reserved.len(), of(true).count(), "each reservation is granted");
    [fees, reserved_waits, queued_waits].map(|samples| mean_of(&samples))
}

#[test]
fn reservations_among_jobs_of_a_queue_fare_in_a_grid_as_at_a_desk() {
    for (site, alpha) in [(Site::Sdsc, 0.0), (Site::Sdsc, 0.75), (Site::Ctc, 0.25)] {
        let usual = Setting {
            site,
            load: 0,
            share: 10,
            alpha: Some(alpha),
            planner: Planner::Usual,
            estimates: Estimates::Exact,
        };
        let rows = run_piece(&Logs::default(), Piece::Prices(usual));
        let outcome = outcome(false, &rows).results;
        let name = site.name();
        let expected = [("23", "fee"), ("24", "reserved"), ("24", "queued")]
            .map(|(figure, what)| outcome.mean(figure, &format!("{name} {what}"), alpha));
        let found = in_grid(&usual);
        for (found, expected) in found.into_iter().zip(expected) {
            let found = found.expect("there are jobs");
            let expected = expected.expect("there is a point");
            // Means of equal samples in another order.
            let apart = (found - expected).abs();
            assert!(apart <= 1e-9 * expected, "{name} alpha {alpha}: {found} in a grid, {expected} at a desk");
        }
        assert!(alpha > 0.0 || found[0] > Some(0.0), "at any cost, some job is displaced: {found:?}");
    }
}
