use proptest::prelude::*;

use super::*;
use crate::grid::failure::{Distribution, Law};
use crate::play::second;

const SITE: usize = 3;

fn failure(nodes: &str, pattern: FailurePattern) -> Failure {
    let nodes = NodeSet::parse(nodes).unwrap();
    Failure { what: FailureTarget::Nodes { site: SITE, nodes }, pattern, announced: true }
}

fn once(nodes: &str, at: u64, lasts: u64) -> Failure {
    failure(nodes, FailurePattern::Once { at: second(at), lasts: Span::from_secs(lasts) })
}

fn drawn(nodes: &str, mtbf: u64, mttr: u64, per: Per, share_millionths: u64) -> Failure {
    let law = |kind, shape| Law { kind, shape };
    let between = law(Distribution::Weibull, 0.7);
    let repair = law(Distribution::Lognormal, 1.0);
    let mtbf = Span::from_secs(mtbf);
    let mttr = Span::from_secs(mttr);
    failure(nodes, FailurePattern::Drawn(Drawn { mtbf, between, mttr, repair, per, share_millionths }))
}

fn render_changes(changes: &[Change]) -> Vec<String> {
    let render = |change: &Change| {
        let Change { at, nodes, is_up } = change;
        format!("{} {nodes} {}", at.seconds(), if *is_up { "up" } else { "down" })
    };
    changes.iter().map(render).collect()
}

#[test]
fn overlapping_outages_end_with_the_last_one() {
    let all = [once("0-3", 10, 10), once("2-5", 15, 10), once("2", 25, 5), once("7", 20, 1)];
    let mut outages = Outages::of_site(SITE, &all, 1).unwrap();
    assert_eq!(render_changes(&outages.advance(second(14))), ["10 0-3 down"]);
    let expected = |outages: &Outages, now| {
        let expected_words = |one: &Expected| format!("{} {}", one.back.seconds(), one.nodes);
        outages.expected(second(now)).iter().map(expected_words).collect::<Vec<_>>()
    };
    assert_eq!(expected(&outages, 14), ["20 0-3"]);
    assert_eq!(render_changes(&outages.advance(second(15))), ["15 4-5 down"]);
    assert_eq!(expected(&outages, 15), ["20 0-1", "25 2-5"]);
    // Node 2 fails again at the time of its return.
    assert_eq!(
        render_changes(&outages.advance(second(99))),
        ["20 0-1 up", "20 7 down", "21 7 up", "25 3-5 up", "30 2 up"]
    );
    assert_eq!((outages.count(), outages.next()), (0, None));
    assert!(Outages::of_site(SITE + 1, &all, 1).is_none());
    assert!(Outages::of_link(SITE, &all, 1).is_none());
}

#[test]
fn guesses_of_unannounced_repairs_grow() {
    let unknown = Failure { announced: false, ..once("0", 100, 60) };
    let mut outages = Outages::of_site(SITE, &[unknown], 1).unwrap();
    outages.advance(second(100));
    let back = |now| outages.expected(second(now))[0].back;
    assert_eq!([100, 159, 160, 279, 280].map(back), [160, 160, 280, 280, 520].map(second));
}

#[test]
fn a_trace_takes_down_its_components_in_order() {
    let traced = |component, down, up| Traced { down: second(down), up: second(up), component };
    let trace = vec![traced(1, 1, 4), traced(0, 2, 3), traced(1, 6, 7), traced(2, 8, 9)];
    let mut outages = Outages::of_site(SITE, &[failure("4-5", FailurePattern::Traced(Arc::new(trace)))], 1).unwrap();
    // Components are indices into the nodes that fail: of these two the third one has none.
    assert_eq!(
        render_changes(&outages.advance(second(9))),
        ["1 5 down", "2 4 down", "3 4 up", "4 5 up", "6 5 down", "7 5 up"]
    );
}

#[test]
fn random_outages_have_the_requested_means_and_shares() {
    let all = [drawn("0-99", 10_000, 500, Per::Node, 1_000_000)];
    let mut outages = Outages::of_site(SITE, &all, 5).unwrap();
    let end = 2_000_000;
    let mut down = 0.0;
    let mut failures = 0;
    for Change { at, nodes, is_up } in outages.advance(second(end)) {
        let left = (second(end) - at).micros() as f64 / 1e6 * f64::from(nodes.len());
        down += if is_up { -left } else { left };
        failures += if is_up { 0 } else { nodes.len() };
    }
    let share = down / (100 * end) as f64;
    assert!((share - 500.0 / 10_500.0).abs() < 0.004, "{share}");
    assert!((f64::from(failures) - 19_048.0).abs() < 600.0, "{failures}");

    let together = [drawn("0-19", 1_000, 10, Per::Site, 250_000)];
    let changes = Outages::of_site(SITE, &together, 5).unwrap().advance(second(100_000));
    assert!(changes.len() > 150 && changes.iter().all(|change| change.nodes.len() == 5));
    let mut hit = NodeSet::default();
    changes.iter().for_each(|change| hit.unite(&change.nodes));
    assert_eq!(hit, NodeSet::all(20));
}

#[test]
fn links_have_separate_outages() {
    let pattern = FailurePattern::Once { at: second(1), lasts: Span::from_secs(1) };
    let all = [Failure { what: FailureTarget::Link(2), pattern, announced: false }];
    assert_eq!(render_changes(&Outages::of_link(2, &all, 1).unwrap().advance(second(9))), ["1 0 down", "2 0 up"]);
    assert!(Outages::of_site(2, &all, 1).is_none());
}

proptest! {
    /// The order and depth of queries do not matter, nor do other tables and sites.
    #[test]
    fn queries_change_nothing(
        looks in prop::collection::vec(1u64..200, 1..60),
        seed in 0u64..1_000,
        width in 1u32..4,
        lasts in 1u64..300,
    ) {
        let all = [
            drawn("0-5", 150, 40, Per::Node, 1_000_000),
            drawn("2-9", 300, 30, Per::Site, 500_000),
            once("3-4", 77, 44),
        ];
        let mut often = Outages::of_site(SITE, &all, seed).unwrap();
        let mut once = often.clone();
        let mut seen = Vec::new();
        let mut now = 0;
        let mut foretold: Vec<(u64, NodeSet, Option<Time>)> = Vec::new();
        for look in looks {
            now += look;
            seen.extend(often.advance(second(now)));
            let first = (look % 8) as u32;
            let nodes = NodeSet::from_run(first, (first + width - 1).min(9));
            let down = often.expected(second(now));
            if down.iter().any(|one| one.nodes.meets(&nodes)) {
                prop_assert!(down.iter().all(|one| one.back > second(now)));
                continue;
            }
            foretold.push((now, nodes.clone(), often.first_failure(&nodes, second(now), second(now + lasts))));
        }
        prop_assert_eq!(&once.advance(second(now)), &seen);
        seen.extend(often.advance(second(now + 300)));
        for (at, nodes, failure) in foretold {
            let met = |change: &&Change| !change.is_up && change.at > second(at) && change.nodes.meets(&nodes);
            let first = seen.iter().find(met).map(|change| change.at).filter(|fails| *fails < second(at + lasts));
            prop_assert_eq!(first, failure);
        }
    }
}
