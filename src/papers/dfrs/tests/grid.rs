//! A trace of table 2 and figures 3 and 4 in a grid of a user, a dispatcher and two sites, where messages take no time:
//! one site has a queue, and the jobs of the other one share nodes.

use super::super::*;
use crate::grid::run;
use hansa_report::Sharing;

#[test]
fn a_trace_runs_in_a_grid_as_it_runs_alone() {
    let names = ["EASY", BEST];
    let settings = Settings::default();
    let best = Algorithm::parse(BEST).expect("a name of the paper");
    let rules = settings.apply(*best.fractional().expect("it shares nodes")).to_string();
    let sites = [settings.scan.policy(), &rules].into_iter().zip(["york", "leeds"]);
    let sites = sites.map(|(scheduler, name)| {
        format!(
            "[[site]]\nname = \"{name}\"\ncores = {NODES}\nscheduler = \"{scheduler}\"\nmemory_gb = 8\n\
             [[workload]]\nsource = \"lublin\"\nseed = 1\njobs = {}\nneeds = \"quad-core\"\nsite = \"{name}\"\n",
            traces::JOBS
        )
    });
    let sites: String = sites.collect();
    let (summary, _) = run(&format!("name = \"table-2\"\n[batch]\n[[user]]\nname = \"alice\"\n{sites}"));
    let sharing: Sharing = summary.read_part().expect("jobs of a site share nodes");

    let jobs = traces::generate_trace(Types::Two, 1);
    let bound = compute_bound(NODES, &jobs);
    let piece = Piece { set: Set::Unscaled, number: 1, all: false };
    assert_eq!(sharing.sites.len(), names.len());
    for (site, name) in sharing.sites.iter().zip(names) {
        let alone =
            run_algorithm(settings, piece, NODES, &jobs, bound, &Algorithm::parse(name).expect("a name of the paper"));
        assert_eq!(site.jobs, alone.jobs as u64);
        assert_eq!((site.max_stretch, site.bound), (Some(alone.stretch), Some((bound.lo, bound.hi))), "{name}");
        let Moves { preemptions, migrations, paused, migrated } = alone.moves;
        assert_eq!((site.preemptions, site.migrations), (preemptions, migrations), "{name}");
        // Sums of fractions, which are added in another order.
        let pairs = [
            (site.degradation, alone.degradation()),
            (site.underutilisation, alone.underutilisation),
            (Some(site.paused_gb), 8.0 * paused),
            (Some(site.migrated_gb), 8.0 * migrated),
            (site.paused_gb_per_second, alone.gigabytes_a_second(paused)),
            (site.migrations_per_hour, migrations as f64 / alone.hours),
        ];
        for (grid, alone) in pairs {
            let grid = grid.expect("jobs have ended");
            assert!((grid - alone).abs() <= 1e-9 * alone.abs(), "{name}: {grid} in the grid, {alone} alone");
        }
    }
    let [queue, shared] = &sharing.sites[..] else { unreachable!() };
    assert!(shared.preemptions > 0 && shared.migrations > 0 && shared.degradation < queue.degradation, "{sharing:?}");
}
