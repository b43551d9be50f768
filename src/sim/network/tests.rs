use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::time::{Span, Time};

fn link(capacity: f64, efficiency: Efficiency) -> Link {
    Link { capacity, latency: 0.0, efficiency, mode: Mode::Shared }
}

fn ids(links: &[usize]) -> Vec<LinkId> {
    links.iter().map(|link| LinkId(*link as u32)).collect()
}

fn close(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

#[test]
fn the_check_of_the_specification() {
    let links = vec![link(100.0, Efficiency::Tcp), link(60.0, Efficiency::None), link(200.0, Efficiency::Tcp)];
    let mut flows = Flows::new(links);
    let started = [&[0, 2][..], &[0, 1], &[1], &[2]].map(|links| {
        let route = flows.route(&ids(links));
        flows.start(0.0, route, 1e6)
    });
    let rates = started.map(|flow| flows.rate(flow));
    for (rate, expected) in rates.into_iter().zip([390.0 / 7.0, 30.0, 30.0, 810.0 / 7.0]) {
        assert!(close(rate, expected), "{rates:?}");
    }
}

/// With three sockets each, one, two and three flows obtain 9/10, 18/19 and 27/28 of a link; three flows with one
/// socket obtain 9/10, as does one with three.
#[test]
fn sockets_count_as_parallel_flows() {
    let rates = |efficiency, count: u32| {
        let mut flows = Flows::new(vec![link(100.0, efficiency)]);
        let route = flows.route(&[LinkId(0)]);
        let started: Vec<FlowId> = (0..count).map(|_| flows.start(0.0, route, 1e6)).collect();
        started.into_iter().map(|flow| flows.rate(flow)).collect::<Vec<f64>>()
    };
    for (sockets, count, each) in [
        (1, 1, 75.0),
        (3, 1, 90.0),
        (3, 2, 900.0 / 19.0),
        (3, 3, 225.0 / 7.0),
        (4, 1, 1200.0 / 13.0),
        (4, 2, 48.0),
        (1_000, 1, 300_000.0 / 3_001.0),
    ] {
        let found = rates(Efficiency::TcpSockets(sockets), count);
        assert!(found.len() == count as usize && found.iter().all(|rate| close(*rate, each)), "{sockets}: {found:?}");
    }
    let together: f64 = rates(Efficiency::Tcp, 3).iter().sum();
    assert!(close(together, rates(Efficiency::TcpSockets(3), 1)[0]));
    assert_eq!(rates(Efficiency::TcpSockets(1), 7), rates(Efficiency::Tcp, 7));
}

#[test]
fn one_shared_link_gives_the_formula() {
    for count in 1..40 {
        let mut flows = Flows::new(vec![link(7.0, Efficiency::Tcp)]);
        let route = flows.route(&[LinkId(0)]);
        let started: Vec<FlowId> = (0..count).map(|_| flows.start(0.0, route, 1.0)).collect();
        let expected = 7.0 * (1.0 - 1.0 / (1.0 + 3.0 * f64::from(count))) / f64::from(count);
        assert!(started.into_iter().all(|flow| close(flows.rate(flow), expected)));
        assert_eq!(flows.flow_count(LinkId(0)), count);
    }
}

#[test]
fn a_flow_waits_for_its_latency_and_needs_a_volume_to_need_time() {
    let slow = Link { latency: 2.0, ..link(10.0, Efficiency::None) };
    let mut flows = Flows::new(vec![slow, slow]);
    let route = flows.route(&ids(&[0, 1]));
    let nowhere = flows.route(&[]);
    let empty = flows.start(1.0, route, 0.0);
    let full = flows.start(1.0, route, 10.0);
    let here = flows.start(0.0, nowhere, 1e9);
    assert_eq!(flows.rate(full), 0.0);

    let mut ended = Vec::new();
    flows.advance(5.5, &mut ended);
    assert_eq!(ended, [EndedFlow { flow: here, at: 0.0 }, EndedFlow { flow: empty, at: 5.0 }]);
    assert_eq!((flows.rate(full), flows.remaining_volume(full), flows.now()), (10.0, 5.0, 5.5));
    flows.advance(100.0, &mut ended);
    assert_eq!(ended[2], EndedFlow { flow: full, at: 6.0 });
    assert_eq!(flows.next_change(), None);
}

#[test]
fn a_flow_that_is_stopped_leaves_its_share_to_the_others() {
    let mut flows = Flows::new(vec![link(10.0, Efficiency::None)]);
    let route = flows.route(&[LinkId(0)]);
    let stays = flows.start(0.0, route, 30.0);
    let goes = flows.start(0.0, route, 30.0);
    let mut ended = Vec::new();
    flows.advance(2.0, &mut ended);
    assert_eq!(flows.stop(goes), 20.0);
    assert_eq!(flows.rate(stays), 10.0);
    assert_eq!(flows.stop(stays), 20.0);
    assert_eq!(flows.next_change(), None);
}

#[test]
fn flows_that_end_together_are_reported_in_the_order_of_starts() {
    let mut flows = Flows::new(vec![link(10.0, Efficiency::None)]);
    let route = flows.route(&[LinkId(0)]);
    let nowhere = flows.route(&[]);
    let first = flows.start(0.0, route, 10.0);
    let second = flows.start(0.0, route, 30.0);
    let mut ended = Vec::new();
    flows.advance(2.0, &mut ended);
    // It reuses the first flow's number, and ends with the second flow.
    let third = flows.start(2.0, route, 20.0);
    let fourth = flows.start(6.0, nowhere, 1.0);
    assert_eq!(third, first);
    flows.advance(9.0, &mut ended);
    let ends: Vec<_> = ended.into_iter().map(|ended| (ended.flow, ended.at)).collect();
    assert_eq!(ends, [(first, 2.0), (second, 6.0), (third, 6.0), (fourth, 6.0)]);
}

/// One unit is a crumb of a volume of 1e9.
#[test]
fn a_flow_ends_when_a_crumb_is_left() {
    let mut flows = Flows::new(vec![link(3.0, Efficiency::None)]);
    let route = flows.route(&[LinkId(0)]);
    let started = [0.0, 0.5, 3.0].map(|more| flows.start(0.0, route, 1e9 + more));
    let mut ended = Vec::new();
    flows.advance(1e9, &mut ended);
    assert_eq!(ended, [started[0], started[1]].map(|flow| EndedFlow { flow, at: 1e9 }));
    flows.advance(2e9, &mut ended);
    assert_eq!(ended[2], EndedFlow { flow: started[2], at: 1e9 + 1.0 });
}

#[test]
fn a_flow_in_any_state_can_be_stopped_and_the_others_go_on() {
    let slow = Link { latency: 2.0, ..link(10.0, Efficiency::None) };
    let mut flows = Flows::new(vec![slow, link(10.0, Efficiency::None)]);
    let [waits, runs, nowhere] = [&[0][..], &[1], &[]].map(|links| flows.route(&ids(links)));
    // Its latency has not elapsed; it is instant; its link is down.
    let [waiting, instant, held] = [waits, nowhere, runs].map(|route| {
        let [goes, stays] = [(); 2].map(|()| flows.start(0.0, route, 40.0));
        if route == runs {
            flows.fail(LinkId(1));
        }
        assert_eq!(flows.stop(goes), 40.0);
        stays
    });
    assert_eq!((flows.take_held(), flows.flow_count(LinkId(1))), (vec![held], 0));
    let mut ended = Vec::new();
    flows.advance(9.0, &mut ended);
    assert_eq!(ended, [EndedFlow { flow: instant, at: 0.0 }, EndedFlow { flow: waiting, at: 6.0 }]);
}

#[test]
fn per_flow_links_limit_each_but_none_takes_from_another() {
    let own = Link { mode: Mode::PerFlow, ..link(4.0, Efficiency::Tcp) };
    let mut flows = Flows::new(vec![own, link(10.0, Efficiency::None)]);
    let alone = flows.route(&ids(&[0]));
    let both = flows.route(&ids(&[0, 1]));
    let other = flows.route(&ids(&[1]));
    let started = [alone, alone, both, other].map(|route| flows.start(0.0, route, 1.0));
    assert_eq!(started.map(|flow| flows.rate(flow)), [3.0, 3.0, 3.0, 7.0]);
}

#[test]
fn an_infinite_link_needs_no_time() {
    let mut flows = Flows::new(vec![link(f64::INFINITY, Efficiency::Tcp), link(2.0, Efficiency::None)]);
    let fast = flows.route(&ids(&[0]));
    let slow = flows.route(&ids(&[0, 1]));
    let first = flows.start(3.0, fast, 1e9);
    let second = flows.start(3.0, slow, 4.0);
    let mut ended = Vec::new();
    flows.advance(9.0, &mut ended);
    assert_eq!(ended, [EndedFlow { flow: first, at: 3.0 }, EndedFlow { flow: second, at: 5.0 }]);
}

#[test]
fn whole_microseconds_round_each_end_up_and_nothing_else() {
    // Two thirds of a byte per microsecond for each of three, then one for each of two: the exact ends are 1.5, 2.5, 3.
    let mut transfers = Transfers::new(vec![link(2.0, Efficiency::None)]);
    let route = transfers.flows().route(&[LinkId(0)]);
    let started = [1, 2, 3].map(|bytes| transfers.start(Time::ZERO, route, bytes));
    let late = transfers.start(Time::from_micros(1_000_000), route, 1);
    let mut seen = Vec::new();
    while let Some(next) = transfers.next_change() {
        let mut ended = Vec::new();
        transfers.advance(next, &mut ended);
        seen.extend(ended.into_iter().map(|flow| (next.micros(), flow)));
    }
    assert_eq!(seen, [(2, started[0]), (3, started[1]), (3, started[2]), (1_000_001, late)]);
}

/// Ends of flows that are released at whole microseconds after `offset`, in microseconds after it.
fn whole_ends(links: &[Link], offset: Time, story: &[(u64, Vec<usize>, u64)]) -> Vec<u64> {
    let mut transfers = Transfers::new(links.to_vec());
    let mut ends = vec![0; story.len()];
    let mut flows = BTreeMap::new();
    let mut order: Vec<usize> = (0..story.len()).collect();
    order.sort_by_key(|flow| story[*flow].0);
    let mut order = order.into_iter().peekable();
    let release = |flow: usize| offset + Span::from_micros(story[flow].0);
    let mut now = Time::ZERO;
    while let Some(next) = order.peek().map(|flow| release(*flow)).into_iter().chain(transfers.next_change()).min() {
        assert!(next >= now, "{next} lies before {now}");
        now = next;
        let mut ended = Vec::new();
        transfers.advance(now, &mut ended);
        ended.into_iter().for_each(|flow| ends[flows.remove(&flow).unwrap()] = now.since(offset).micros());
        while let Some(which) = order.next_if(|flow| release(*flow) == now) {
            let route = transfers.flows().route(&ids(&story[which].1));
            flows.insert(transfers.start(now, route, story[which].2), which);
        }
    }
    assert!(flows.is_empty(), "all flows end: {flows:?}");
    ends
}

#[test]
fn a_release_after_any_whole_microsecond_is_not_before_it() {
    let links = [link(125.0, Efficiency::None)];
    for days in [0, 10_000, 11_000, 12_000, 365_250, 200_000_000] {
        let offset = Time::from_micros(days * 86_400_000_000);
        let ends = whole_ends(&links, offset, &[(1_000_000, vec![0], 1), (1_000_000, vec![0], 1_000_000)]);
        assert_eq!(ends, [1_000_001, 1_008_001], "after {days} days");
    }
}

/// A flow of a petabyte per year keeps the link busy all the time.
#[test]
fn a_small_flow_beside_one_that_lasts_for_years_ends_when_it_should() {
    for mode in [Mode::Shared, Mode::PerFlow] {
        let links = [Link { mode, ..link(128.0, Efficiency::None) }];
        let year = 31_557_600_000_000;
        let small = (1..20).map(|years| (years * year, vec![0], 1_003));
        let story: Vec<_> = [(0, vec![0], 128 * 30 * year)].into_iter().chain(small).collect();
        let ends = whole_ends(&links, Time::ZERO, &story);
        // 7.8 us alone, 15.7 us beside the large flow, which the others delay by 19 * 1,003 bytes.
        let (long, short) = if mode == Mode::Shared { (149, 16) } else { (0, 8) };
        // The large volume is a floating-point number with a step of 16 bytes, an eighth of a microsecond, so the
        // roundings of 19 changes add up to 2 us at most.
        let over = ends[0].abs_diff(30 * year + long);
        assert!(over <= 2, "the large flow ends {over} us off");
        for (flow, end) in story.iter().zip(&ends).skip(1) {
            assert_eq!(end - flow.0, short);
        }
    }
}

fn networks() -> impl Strategy<Value = Vec<Link>> {
    let link = (1u32..40, 0u32..3, 0u32..5, 0u8..5).prop_map(|(capacity, latency, sockets, mode)| Link {
        capacity: f64::from(capacity) / 3.0,
        latency: f64::from(latency) / 7.0,
        efficiency: match sockets {
            0 => Efficiency::None,
            1 => Efficiency::Tcp,
            several => Efficiency::TcpSockets(several),
        },
        mode: if mode == 0 { Mode::PerFlow } else { Mode::Shared },
    });
    prop::collection::vec(link, 1..9)
}

/// Release, links and volume of each flow; many have the same route.
type Story = Vec<(f64, Vec<usize>, f64)>;

fn traffic(links: usize) -> impl Strategy<Value = Story> {
    let route = prop::sample::subsequence((0..links).collect::<Vec<_>>(), 0..=links.min(4)).prop_shuffle();
    let routes = prop::collection::vec(route, 1..7);
    let flow = (0u32..12, any::<prop::sample::Index>(), 0u32..30);
    (routes, prop::collection::vec(flow, 1..25)).prop_map(|(routes, flows)| {
        let flow = |(at, route, volume): (u32, prop::sample::Index, u32)| {
            (f64::from(at) / 2.0, route.get(&routes).clone(), f64::from(volume))
        };
        flows.into_iter().map(flow).collect()
    })
}

fn stories() -> impl Strategy<Value = (Vec<Link>, Story)> {
    networks().prop_flat_map(|links| {
        let count = links.len();
        (Just(links), traffic(count))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// At every change, the rates equal those of a full recomputation, and they are max-min fair. Some flows are
    /// stopped on the way.
    #[test]
    fn rates_equal_the_judge(
        (links, story) in stories(),
        mut stops in prop::collection::vec(prop::option::of(any::<prop::sample::Index>()), 0..8),
    ) {
        let mut flows = Flows::new(links.clone());
        let mut started = Vec::new();
        for (release, route, volume) in &story {
            let route_id = flows.route(&ids(route));
            let active = release + route.iter().map(|link| links[*link].latency).sum::<f64>();
            started.push((flows.start(*release, route_id, *volume), route.clone(), active, *volume));
        }
        let mut ended = Vec::new();
        let mut over = Vec::new();
        while let Some(next) = flows.next_change() {
            prop_assert!(next >= flows.now());
            flows.advance(next, &mut ended);
            over.extend(ended.drain(..).map(|ended| ended.flow));
            if let Some(stopped) = stops.pop().flatten().map(|stop| stop.get(&started).0)
                && !over.contains(&stopped)
            {
                flows.stop(stopped);
                over.push(stopped);
            }
            let under_way = |flow: &&(FlowId, Vec<usize>, f64, f64)| {
                !over.contains(&flow.0) && flow.2 <= next && flow.3 > 0.0 && !flow.1.is_empty()
            };
            let active: Vec<_> = started.iter().filter(under_way).collect();
            let routes: Vec<&[usize]> = active.iter().map(|flow| &flow.1[..]).collect();
            let rates: Vec<f64> = active.iter().map(|flow| flows.rate(flow.0)).collect();
            for (rate, judged) in rates.iter().zip(judge::flow_rates(&links, &routes)) {
                prop_assert!(close(*rate, judged), "{rate} is not {judged} at {next}");
            }
            check_fairness(&links, &routes, &rates)?;
        }
        prop_assert_eq!(over.len(), story.len());
    }

    #[test]
    fn ends_equal_the_judge((links, story) in stories()) {
        let mut flows = Flows::new(links.clone());
        let mut started = Vec::new();
        for (release, route, volume) in &story {
            let route = flows.route(&ids(route));
            started.push(flows.start(*release, route, *volume));
        }
        let mut ended = Vec::new();
        flows.advance(1e9, &mut ended);
        prop_assert!(ended.is_sorted_by(|a, b| a.at <= b.at));
        for (flow, judged) in started.into_iter().zip(judge::flow_ends(&links, &story)) {
            let end = ended.iter().find(|ended| ended.flow == flow).expect("every flow ends").at;
            prop_assert!(close(end, judged), "{end} is not {judged}");
        }
    }

    /// Offsets are whole microseconds, up to the last time.
    #[test]
    fn a_shift_of_all_releases_shifts_all_ends(
        (links, story) in stories(),
        offset in prop_oneof![0u64..=31_557_600_000_000_000, 0u64..=Time::LATEST.micros(), Just(Time::LATEST.micros())],
    ) {
        let whole = |link: &Link| Link { latency: (link.latency * 7.0).round(), ..*link };
        let links: Vec<Link> = links.iter().map(whole).collect();
        let story: Vec<_> =
            story.into_iter().map(|(at, route, volume)| ((at * 2.0) as u64, route, volume as u64)).collect();
        let ends = whole_ends(&links, Time::ZERO, &story);
        prop_assert_eq!(&whole_ends(&links, Time::from_micros(offset), &story), &ends);

        let exact: Vec<_> = story.iter().map(|(at, route, bytes)| (*at as f64, route.clone(), *bytes as f64)).collect();
        // An end just above a whole microsecond is rounded down, and moves the ends of the flows that share its links.
        let early = 1.001e-3 * story.len() as f64;
        for (end, judged) in ends.into_iter().zip(judge::flow_ends(&links, &exact)) {
            let over = end as f64 - judged;
            prop_assert!((-early..1.0 - 0.999e-3).contains(&over), "{end} is not {judged}, rounded up");
        }
    }

    /// Twice the capacity halves the time, and the unit of time does not matter.
    #[test]
    fn the_model_has_no_scale_of_its_own((links, story) in stories()) {
        let ends = |links: Vec<Link>, time: f64, data: f64| {
            let mut flows = Flows::new(links);
            for (release, route, volume) in &story {
                let route = flows.route(&ids(route));
                flows.start(release * time, route, volume * data);
            }
            let mut ended = Vec::new();
            flows.advance(1e9, &mut ended);
            ended.into_iter().map(|ended| ended.at).collect::<Vec<_>>()
        };
        let plain = ends(links.clone(), 1.0, 1.0);
        let faster = |link: &Link| Link { capacity: 2.0 * link.capacity, latency: link.latency / 2.0, ..*link };
        let halved = ends(links.iter().map(faster).collect(), 0.5, 1.0);
        let longer = |link: &Link| Link { latency: link.latency * 4.0, ..*link };
        let scaled = ends(links.iter().map(longer).collect(), 4.0, 4.0);
        for ((plain, halved), scaled) in plain.into_iter().zip(halved).zip(scaled) {
            prop_assert!(close(plain / 2.0, halved) && close(plain * 4.0, scaled));
        }
    }
}

/// Checks that no link exceeds its capacity, and that each flow has a full link on which no flow is faster.
fn check_fairness(links: &[Link], routes: &[&[usize]], rates: &[f64]) -> Result<(), TestCaseError> {
    let on = |link: usize| (0..routes.len()).filter(move |flow| routes[*flow].contains(&link));
    let room = |link: usize| links[link].effective(on(link).count() as u32);
    let shared: Vec<usize> = (0..links.len()).filter(|link| links[*link].mode == Mode::Shared).collect();
    for &link in &shared {
        prop_assert!(on(link).map(|flow| rates[flow]).sum::<f64>() <= room(link) * (1.0 + 1e-9));
    }
    for (flow, rate) in rates.iter().enumerate() {
        let held = routes[flow].iter().any(|&link| match links[link].mode {
            Mode::PerFlow => close(*rate, links[link].effective(1)),
            Mode::Shared => {
                let full = on(link).map(|flow| rates[flow]).sum::<f64>() >= room(link) * (1.0 - 1e-9);
                full && on(link).all(|other| rates[other] <= rate * (1.0 + 1e-9))
            }
        });
        prop_assert!(held, "nothing holds back flow {flow} at {rate}");
    }
    Ok(())
}
