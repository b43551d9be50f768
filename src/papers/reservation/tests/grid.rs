//! A point of figures 2 and 3 in a grid of a user, a meta-scheduler and a site, where messages take no time.

use super::super::*;
use crate::grid::run;
use hansa_report::Reservations;

#[test]
fn a_grid_accepts_the_requests_that_a_cluster_alone_accepts() {
    let extent = Extent { workloads: 1, requests: 1_500 };
    let Setting { umed, arrival, flexibility } = USUAL;
    for PolicyRun { policy, trial, .. } in extent.run(Settings::default(), Piece { seed: 7_919, setting: USUAL }) {
        let name = fit::ALL.iter().find(|fit| fit.label == policy).map(|fit| fit.name).expect("it is a fit policy");
        let (summary, _) = run(&format!(
            "name = \"figure-2\"\n[reservation]\npolicy = \"{name}\"\n[[site]]\nname = \"york\"\ncores = {NODES}\n\
             [[user]]\nname = \"alice\"\n[[workload]]\nsource = \"reservations\"\nseed = 7919\nrequests = {}\n\
             size = {umed}.0\nsize_max = {SIZE_MAX:?}\narrival_factor = {:?}\nahead = {flexibility}.0\n\
             slack = {flexibility}.0\n",
            extent.requests,
            f64::from(arrival) / 100.0
        ));
        let all: Reservations = summary.read_part().expect("there are requests");
        let valid = all.submitted - all.invalid;
        assert_eq!((valid, all.accepted), (trial.valid.into(), trial.accepted.into()), "{policy}");
        assert_eq!((all.acceptance, all.slowdown), (trial.acceptance(), trial.slowdown), "{policy}");
        assert!(all.accepted < valid && all.finished == all.accepted, "{policy}: {all:?}");
    }
}
