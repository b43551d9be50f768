//! Link failures, against a worked example and the slow judge.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::grid::{Failure, FailurePattern, FailureTarget as What, Traced};
use crate::network::judge::{self, SentFlow};
use crate::network::map::Hop;
use crate::network::{Efficiency, Link, Mode};

/// A cable between two sites: bytes per microsecond, latency in microseconds, and true if each direction is a separate
/// link.
#[derive(Clone, Copy, Debug)]
struct Wire {
    ends: (usize, usize),
    link: Link,
    is_full: bool,
}

fn wire(ends: (usize, usize), capacity: f64, latency: f64) -> Wire {
    Wire { ends, link: Link { capacity, latency, efficiency: Efficiency::None, mode: Mode::Shared }, is_full: true }
}

fn micros(at: u64) -> Time {
    Time::from_micros(at)
}

/// Links of some cables, with the cable of each, its ends, and its rank among the names.
struct Laid {
    links: Vec<Link>,
    cables: Vec<CableId>,
    hops: Vec<(usize, usize, usize)>,
}

fn lay(wires: &[Wire]) -> Laid {
    let mut laid = Laid { links: Vec::new(), cables: Vec::new(), hops: Vec::new() };
    for (number, wire) in (0..).zip(wires) {
        let (a, b) = wire.ends;
        let link = laid.links.len();
        laid.hops.push((a, b, link));
        laid.hops.push((b, a, link + usize::from(wire.is_full)));
        for _ in 0..1 + usize::from(wire.is_full) {
            laid.links.push(wire.link);
            laid.cables.push(CableId(number));
        }
    }
    laid
}

/// Shortest path by trying every path without a circle.
fn shortest(laid: &Laid, (from, to): (usize, usize), down: &[bool]) -> Option<Vec<usize>> {
    let mut open = vec![(from, Vec::<usize>::new(), vec![from])];
    let mut best: Option<(usize, u64, Vec<CableId>, Vec<usize>)> = None;
    while let Some((at, way, seen)) = open.pop() {
        if at == to {
            let latency = way.iter().map(|link| laid.links[*link].latency as u64).sum();
            let known = (way.len(), latency, way.iter().map(|link| laid.cables[*link]).collect(), way.clone());
            best = Some(best.map_or(known.clone(), |best| best.min(known)));
            continue;
        }
        for &(a, b, link) in &laid.hops {
            if a == at && !seen.contains(&b) && !down[link] {
                let way = way.iter().copied().chain([link]).collect();
                open.push((b, way, seen.iter().copied().chain([b]).collect()));
            }
        }
    }
    best.map(|best| best.3)
}

/// End of each flow, and the notices on the way.
fn play(
    wires: &[Wire],
    outages: &[Vec<(u64, u64)>],
    rule: Interrupted,
    sent: &[(u64, (usize, usize), u64)],
) -> (Vec<u64>, Vec<(u64, Notice)>) {
    let laid = lay(wires);
    let sites = wires.iter().map(|wire| wire.ends.0.max(wire.ends.1) + 1).max().unwrap();
    let mut map = AdjacencyMap::new(sites, 0);
    for &(from, to, link) in &laid.hops {
        let latency = laid.links[link].latency as u64;
        map.lay(from, Hop { to, link: LinkId(link as u32), name: laid.cables[link].0, latency });
    }
    let traced = |&(down, up): &(u64, u64)| Traced { down: micros(down), up: micros(up), component: 0 };
    let failures: Vec<Failure> = (0..)
        .zip(outages)
        .filter(|(_, all)| !all.is_empty())
        .map(|(cable, all)| {
            let pattern = FailurePattern::Traced(Arc::new(all.iter().map(traced).collect()));
            Failure { what: What::Link(cable), pattern, announced: true }
        })
        .collect();
    let fragile = (0..wires.len()).filter_map(|cable| {
        let its = (0..).zip(&laid.cables).filter(|(_, of)| of.0 as usize == cable);
        let links = its.map(|(link, _)| LinkId(link)).collect();
        Some(FailureTarget { cable: CableId(cable as u32), links, outages: Outages::of_link(cable, &failures, 1)? })
    });
    let detours = Detours::new(map, (0..sites).collect(), laid.cables.clone());
    let mut faults = Faults::new(rule, fragile.collect(), detours);

    let mut transfers = Transfers::new(laid.links.clone());
    let mut ends = vec![0; sent.len()];
    let mut flows = BTreeMap::new();
    let mut notices = Vec::new();
    let mut order: Vec<usize> = (0..sent.len()).collect();
    order.sort_by_key(|flow| sent[*flow].0);
    let mut order = order.into_iter().peekable();
    loop {
        let release = order.peek().map(|flow| micros(sent[*flow].0));
        let next = [release, transfers.next_change(), faults.next()].into_iter().flatten().min();
        let Some(now) = next else { break };
        let mut ended = Vec::new();
        faults.advance(now, &mut transfers, &mut ended);
        notices.extend(faults.take_notices().into_iter().map(|notice| (now.micros(), notice)));
        ended.into_iter().for_each(|flow| ends[flows.remove(&flow).unwrap()] = now.micros());
        while let Some(which) = order.next_if(|flow| micros(sent[*flow].0) == now) {
            let (_, (from, to), bytes) = sent[which];
            let before = faults.catch_up(now, transfers.flows());
            notices.extend(before.into_iter().map(|notice| (now.micros(), notice)));
            let way = shortest(&laid, (from, to), &vec![false; laid.links.len()]).unwrap();
            let way: Vec<LinkId> = way.into_iter().map(|link| LinkId(link as u32)).collect();
            let route = transfers.flows().route(&way);
            let (flow, _) = faults.start(now, route, (from as u32, to as u32), bytes, &mut transfers);
            flows.insert(flow, which);
        }
        faults.settle_stopped(now, &[], transfers.flows());
        notices.extend(faults.take_notices().into_iter().map(|notice| (now.micros(), notice)));
    }
    assert!(flows.is_empty(), "all flows end: {flows:?}");
    (ends, notices)
}

/// A direct cable between two sites, with 10 bytes per microsecond and a latency of 4, and a detour over a third site
/// with 5 bytes per microsecond.
fn triangle() -> [Wire; 3] {
    [wire((0, 1), 10.0, 4.0), wire((0, 2), 5.0, 1.0), wire((2, 1), 5.0, 2.0)]
}

/// 1000 bytes start at 0 and are on the cable from 4 on. It is down from 54 to 154; by then 500 bytes have arrived.
#[test]
fn a_worked_example() {
    let outages = [vec![(54, 154)], vec![], vec![]];
    let one = [(0, (0, 1), 1_000)];
    let ends = |rule| play(&triangle(), &outages, rule, &one).0;
    // 500 more bytes from 154 on; all of them from 158 on; 500 more at 5 bytes per microsecond from 57 on.
    assert_eq!(ends(Interrupted::Wait), [204]);
    assert_eq!(ends(Interrupted::Restart), [258]);
    assert_eq!(ends(Interrupted::Reroute), [157]);

    let notices = play(&triangle(), &outages, Interrupted::Reroute, &one).1;
    let cable = CableId(0);
    let flow = FlowId::of(0);
    let via = vec![CableId(1), CableId(2)];
    assert_eq!(
        notices,
        [
            (54, Notice::Turned { cable, is_up: false, since: micros(54) }),
            (54, Notice::Stalled { flow, left: 500 }),
            (54, Notice::Continued { flow, left: 500, via, active: micros(57) }),
            (154, Notice::Turned { cable, is_up: true, since: micros(154) }),
        ]
    );
}

/// 500 of 1000 bytes are left at 54, and 400 at 77, after 20 microseconds on the detour.
#[test]
fn a_flow_stopped_on_a_detour_takes_its_own_route_if_that_is_up_again() {
    let one = [(0, (0, 1), 1_000)];
    let play = |own| play(&triangle(), &[vec![(54, own)], vec![(77, 100)], vec![]], Interrupted::Reroute, &one);
    // Both are back at once: 40 microseconds on its own route, after a latency of 4.
    let (ends, notices) = play(100);
    assert_eq!(ends, [144]);
    let flow = FlowId::of(0);
    let via = vec![CableId(0)];
    assert_eq!(notices.last(), Some(&(100, Notice::Continued { flow, left: 400, via, active: micros(104) })));
    // Only the detour is back: 80 microseconds on it, without any latency.
    let (ends, notices) = play(300);
    assert_eq!(ends, [180]);
    let via = Vec::new();
    assert!(notices.contains(&(100, Notice::Continued { flow, left: 400, via, active: micros(100) })), "{notices:?}");
}

#[test]
fn both_directions_fail_and_a_flow_that_waits_leaves_its_other_links_to_others() {
    // One flow from 0 over 2 to 1 and one back; a third that needs only the first cable, and later has it to itself.
    let wires = [wire((0, 2), 10.0, 0.0), wire((2, 1), 10.0, 0.0)];
    let outages = [vec![], vec![(10, 60)]];
    let sent = [(0, (0, 1), 200), (0, (1, 0), 200), (0, (0, 2), 150)];
    // 5 bytes per microsecond for each of the two flows out, 10 for the one back: 50, 100 and 50 have arrived at 10.
    let (ends, _) = play(&wires, &outages, Interrupted::Wait, &sent);
    assert_eq!(ends, [75, 70, 20]);
}

#[test]
fn a_flow_released_while_a_link_is_down_behaves_alike_and_an_empty_one_is_not_stopped() {
    let outages = [vec![(10, 100)], vec![], vec![]];
    let sent = [(50, (0, 1), 100), (50, (0, 1), 0)];
    let play = |rule| play(&triangle(), &outages, rule, &sent);
    assert_eq!(play(Interrupted::Wait).0, [110, 54]);
    assert_eq!(play(Interrupted::Restart).0, [114, 54]);
    let (ends, message) = play(Interrupted::Reroute);
    assert_eq!(ends, [73, 54]);
    // The change of the link is reported with the first release.
    let since = micros(10);
    assert_eq!(message[0], (50, Notice::Turned { cable: CableId(0), is_up: false, since }));
    let via = vec![CableId(1), CableId(2)];
    let continued = Notice::Continued { flow: FlowId::of(0), left: 100, via, active: micros(53) };
    assert_eq!(message[1], (50, continued));
    // The flow has ended when the link comes up, so that change is not reported.
    assert_eq!(message.len(), 2);
}

#[test]
fn a_flow_without_a_detour_waits_for_the_first_route_that_is_up() {
    // The detour is down as well, and up first.
    let outages = [vec![(10, 1_000)], vec![(5, 20)], vec![(12, 30)]];
    let (ends, message) = play(&triangle(), &outages, Interrupted::Reroute, &[(0, (0, 1), 1_000)]);
    // 60 bytes until 10; the rest over the detour, from 33 on.
    assert_eq!(ends, [33 + 940 / 5]);
    let stalled = message.iter().filter(|(_, notice)| matches!(notice, Notice::Stalled { .. })).count();
    assert_eq!(stalled, 1);
}

/// Only regular routes are known to be short.
#[test]
fn a_detour_may_take_longer_than_all_time() {
    let half = ((1u64 << 63) - 1024) as f64;
    let wires = [wire((0, 1), 10.0, 4.0), wire((0, 2), 5.0, half), wire((2, 1), 5.0, half)];
    let outages = [vec![(5_000, 6_000)], vec![], vec![]];
    let (_, message) = play(&wires, &outages, Interrupted::Reroute, &[(0, (0, 1), 100_000)]);
    let continued = message.iter().find_map(|(_, notice)| match notice {
        Notice::Continued { active, .. } => Some(*active),
        _ => None,
    });
    assert_eq!(continued, Some(Time::NEVER));
}

#[test]
fn flows_that_resume_at_one_moment_do_so_in_the_order_of_starts() {
    // The first flow is over the second cable.
    let wires = [wire((0, 1), 10.0, 0.0), wire((2, 3), 10.0, 0.0)];
    let outages = [vec![(10, 60)], vec![(10, 60)]];
    let sent = [(0, (2, 3), 200), (0, (0, 1), 200)];
    for (rule, end) in [(Interrupted::Wait, 70), (Interrupted::Restart, 80), (Interrupted::Reroute, 70)] {
        let (ends, message) = play(&wires, &outages, rule, &sent);
        assert_eq!(ends, [end; 2]);
        let of_flow = |notice: &Notice| match notice {
            Notice::Turned { .. } => None,
            Notice::Stalled { flow, .. } | Notice::Continued { flow, .. } => Some(*flow),
        };
        let flows: Vec<_> = message.iter().filter_map(|(_, notice)| of_flow(notice)).collect();
        assert_eq!(flows, [0, 1, 0, 1].map(FlowId::of));
    }
}

#[test]
fn links_are_not_watched_while_no_flow_is_under_way() {
    let outages = [(0..1_000).map(|number| (100 + 10 * number, 105 + 10 * number)).collect(), vec![], vec![]];
    let (ends, message) = play(&triangle(), &outages, Interrupted::Wait, &[(0, (0, 1), 10), (50_000, (0, 1), 10)]);
    assert_eq!(ends, [5, 50_005]);
    assert!(message.iter().all(|(at, _)| *at == 50_000), "all changes are reported when the second flow starts");
    assert_eq!(message.len(), 2_000);
}

fn wires() -> impl Strategy<Value = Vec<Wire>> {
    // A chain, so that there is a path between any two of four, and some more cables.
    let more = prop::collection::vec((0usize..4, 1usize..4), 0..4);
    let kind = (1u32..30, 0u32..40, any::<bool>(), 0u8..6, any::<bool>());
    (more, prop::collection::vec(kind, 7)).prop_map(|(more, kinds)| {
        let chain = [(0, 1), (1, 2), (2, 3)];
        let ends = chain.into_iter().chain(more.into_iter().map(|(a, by)| (a, (a + by) % 4)));
        let wire = |(ends, (capacity, latency, tcp, mode, is_full)): (_, (u32, u32, bool, u8, bool))| Wire {
            ends,
            link: Link {
                capacity: f64::from(capacity) / 7.0,
                latency: f64::from(latency),
                efficiency: if tcp { Efficiency::Tcp } else { Efficiency::None },
                mode: if mode == 0 { Mode::PerFlow } else { Mode::Shared },
            },
            is_full,
        };
        ends.zip(kinds).map(wire).collect()
    })
}

fn outages() -> impl Strategy<Value = Vec<Vec<(u64, u64)>>> {
    let of_one = prop::collection::vec((1u64..400, 1u64..200), 0..4).prop_map(|stretches| {
        let mut at = 0;
        let one = |(up, down): (u64, u64)| {
            let from = at + up;
            at = from + down;
            (from, at)
        };
        stretches.into_iter().map(one).collect()
    });
    prop::collection::vec(of_one, 7)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(unoptimised) { 200 } else { 2_000 }))]

    #[test]
    fn ends_equal_the_judge(
        wires in wires(),
        outages in outages(),
        rule in prop::sample::select(Interrupted::ALL.iter().map(|(_, rule, _)| *rule).collect::<Vec<_>>()),
        sent in prop::collection::vec((0u64..500, 0usize..4, 1usize..4, 0u64..900), 1..12),
        offset in prop_oneof![0u64..=31_557_600_000_000_000, 0u64..Time::LATEST.micros() - 1_000_000],
    ) {
        let sent: Vec<_> = sent.into_iter().map(|(at, from, by, bytes)| (at, (from, (from + by) % 4), bytes)).collect();
        let (ends, message) = play(&wires, &outages, rule, &sent);
        // A delay by any number of whole microseconds delays everything by as much.
        let late: Vec<Vec<_>> =
            outages.iter().map(|all| all.iter().map(|one| (one.0 + offset, one.1 + offset)).collect()).collect();
        let sent_late: Vec<_> = sent.iter().map(|one| (one.0 + offset, one.1, one.2)).collect();
        let shifted: Vec<u64> = play(&wires, &late, rule, &sent_late).0;
        prop_assert_eq!(shifted, ends.iter().map(|end| end + offset).collect::<Vec<_>>());

        let laid = lay(&wires);
        let times = |cable: &CableId| {
            outages[cable.0 as usize].iter().map(|one| (one.0 as f64, one.1 as f64)).collect::<Vec<_>>()
        };
        let by_link: Vec<_> = laid.cables.iter().map(times).collect();
        let moved: Vec<usize> = (0..sent.len()).filter(|flow| sent[*flow].2 > 0).collect();
        let one = |flow: &usize| SentFlow { release: sent[*flow].0 as f64, ends: sent[*flow].1, volume: sent[*flow].2 as f64 };
        let judged: Vec<SentFlow> = moved.iter().map(one).collect();
        let judged = judge::ends_among_outages(&laid.links, &judged, &by_link, |ends, down| shortest(&laid, ends, down), rule);
        for (flow, judged) in moved.into_iter().zip(judged) {
            let end = ends[flow] as f64;
            prop_assert!((-0.01..1.01).contains(&(end - judged)), "flow {flow} ends at {end}, not at {judged}");
        }

        // Stalls and continuations of a flow alternate, and no flow sends more than it has left.
        let mut stalled: BTreeMap<FlowId, u64> = BTreeMap::new();
        for (at, notice) in message {
            match notice {
                Notice::Stalled { flow, left } => prop_assert_eq!(stalled.insert(flow, left), None),
                Notice::Continued { flow, left, via, active } => {
                    prop_assert!(active.micros() >= at);
                    let before = stalled.remove(&flow);
                    prop_assert!(before.is_some() || (rule == Interrupted::Reroute && !via.is_empty()));
                    let all_again = before.is_some_and(|before| before <= left);
                    prop_assert!(before == Some(left) || before.is_none() || (rule == Interrupted::Restart && all_again));
                }
                Notice::Turned { since, .. } => prop_assert!(since.micros() <= at),
            }
        }
    }
}
