//! Slow and obvious reference: progressive filling over all flows, which are advanced one by one.

use super::{Link, Mode};
use crate::grid::Interrupted;

/// Rate of each flow, from the links of each.
pub fn flow_rates(links: &[Link], routes: &[&[usize]]) -> Vec<f64> {
    // A link that flows do not share becomes one pipe for each of its flows.
    let mut pipes: Vec<(f64, Vec<usize>)> = Vec::new();
    for (id, link) in links.iter().enumerate() {
        let users: Vec<usize> = (0..routes.len()).filter(|flow| routes[*flow].contains(&id)).collect();
        match link.mode {
            Mode::Shared => pipes.push((link.effective(users.len() as u32), users)),
            Mode::PerFlow => pipes.extend(users.into_iter().map(|user| (link.effective(1), vec![user]))),
        }
    }

    let mut rates = vec![None; routes.len()];
    loop {
        let levels = pipes.iter().enumerate().filter_map(|(pipe, state)| Some((open_level(state, &rates)?, pipe)));
        let Some((level, pipe)) = levels.min_by(|a, b| a.0.total_cmp(&b.0)) else { break };
        for flow in pipes[pipe].1.clone() {
            if rates[flow].is_none() {
                rates[flow] = Some(level);
                for (left, users) in &mut pipes {
                    if users.contains(&flow) {
                        *left -= level;
                    }
                }
            }
        }
    }
    rates.into_iter().map(|rate| rate.unwrap_or(f64::INFINITY)).collect()
}

fn open_level((left, users): &(f64, Vec<usize>), rates: &[Option<f64>]) -> Option<f64> {
    let open = users.iter().filter(|user| rates[**user].is_none()).count();
    (open > 0).then(|| left / open as f64)
}

/// End of each flow, from its release, its links and its volume.
pub fn flow_ends(links: &[Link], flows: &[(f64, Vec<usize>, f64)]) -> Vec<f64> {
    let mut left: Vec<f64> = flows.iter().map(|flow| flow.2).collect();
    let mut ends = vec![None; flows.len()];
    let mut now = 0.0;
    while ends.iter().any(Option::is_none) {
        for flow in 0..flows.len() {
            if ends[flow].is_none() && activation_time(&flows[flow], links) <= now && left[flow] <= 1e-9 * flows[flow].2
            {
                ends[flow] = Some(now);
            }
        }
        let active: Vec<usize> = (0..flows.len())
            .filter(|flow| ends[*flow].is_none() && activation_time(&flows[*flow], links) <= now)
            .collect();
        let routes: Vec<&[usize]> = active.iter().map(|flow| &flows[*flow].1[..]).collect();
        let rates = flow_rates(links, &routes);
        let waiting = flows.iter().map(|flow| activation_time(flow, links)).filter(|at| *at > now);
        let ending = active.iter().zip(&rates).map(|(flow, rate)| now + left[*flow] / rate);
        let Some(next) = waiting.chain(ending).reduce(f64::min) else { continue };
        for (flow, rate) in active.into_iter().zip(rates) {
            left[flow] -= if rate.is_finite() { rate * (next - now) } else { left[flow] };
        }
        now = next;
    }
    ends.into_iter().map(|end| end.expect("all have ended")).collect()
}

fn activation_time(flow: &(f64, Vec<usize>, f64), links: &[Link]) -> f64 {
    flow.0 + flow.1.iter().map(|link| links[*link].latency).sum::<f64>()
}

/// A flow between two sites.
#[derive(Clone, Copy, Debug)]
pub struct SentFlow {
    pub release: f64,
    pub ends: (usize, usize),
    pub volume: f64,
}

#[derive(Clone, Debug, PartialEq)]
enum FlowState {
    /// Until this time, when its latency has elapsed.
    Waiting(f64),
    Active,
    Stopped,
    Over(f64),
}

/// End of each flow with link outages. `outages` are the down times of each link; `way` is the route between two sites
/// with some links down, if there is one.
pub fn ends_among_outages(
    links: &[Link],
    sent: &[SentFlow],
    outages: &[Vec<(f64, f64)>],
    way: impl Fn((usize, usize), &[bool]) -> Option<Vec<usize>>,
    rule: Interrupted,
) -> Vec<f64> {
    let whole = vec![false; links.len()];
    let own: Vec<Vec<usize>> = sent.iter().map(|flow| way(flow.ends, &whole).unwrap()).collect();
    let mut ways = own.clone();
    let mut left: Vec<f64> = sent.iter().map(|flow| flow.volume).collect();
    let mut stages: Vec<Option<FlowState>> = vec![None; sent.len()];
    let mut now = 0.0;
    loop {
        let down = links_down_at(now, outages);
        for flow in 0..sent.len() {
            if stages[flow] == Some(FlowState::Active) && left[flow] <= 1e-9 * sent[flow].volume {
                stages[flow] = Some(FlowState::Over(now));
            }
            if stages[flow].is_none() && sent[flow].release <= now {
                if rule == Interrupted::Reroute && is_way_cut(&own[flow], &down) {
                    ways[flow] = way(sent[flow].ends, &down).unwrap_or(own[flow].clone());
                }
                stages[flow] = Some(FlowState::Waiting(now + way_latency(&ways[flow], links)));
            }
            if matches!(stages[flow], Some(FlowState::Waiting(active)) if active <= now) {
                stages[flow] = Some(FlowState::Active);
            }
            let cut = is_way_cut(&ways[flow], &down);
            match stages[flow] {
                Some(FlowState::Active) if cut => stages[flow] = Some(FlowState::Stopped),
                Some(FlowState::Stopped) if !cut && rule == Interrupted::Restart => {
                    left[flow] = sent[flow].volume;
                    stages[flow] = Some(FlowState::Waiting(now + way_latency(&ways[flow], links)));
                }
                Some(FlowState::Stopped) if !cut && rule == Interrupted::Wait => stages[flow] = Some(FlowState::Active),
                _ => {}
            }
            if rule == Interrupted::Reroute && stages[flow] == Some(FlowState::Stopped) {
                let other =
                    if is_way_cut(&own[flow], &down) { way(sent[flow].ends, &down) } else { Some(own[flow].clone()) };
                if let Some(other) = other {
                    let stays = ways[flow] == other;
                    let active = if stays { now } else { now + way_latency(&other, links) };
                    stages[flow] = Some(FlowState::Waiting(active));
                    ways[flow] = other;
                }
            }
            // Without latency the flow becomes active at once.
            if matches!(stages[flow], Some(FlowState::Waiting(active)) if active <= now) {
                stages[flow] = Some(FlowState::Active);
            }
        }
        if stages.iter().all(|stage| matches!(stage, Some(FlowState::Over(_)))) {
            break;
        }

        let active: Vec<usize> = (0..sent.len()).filter(|flow| stages[*flow] == Some(FlowState::Active)).collect();
        let routes: Vec<&[usize]> = active.iter().map(|flow| &ways[*flow][..]).collect();
        let rates = flow_rates(links, &routes);
        let ending = active.iter().zip(&rates).map(|(flow, rate)| now + left[*flow] / rate);
        let waiting = stages.iter().filter_map(|stage| match stage {
            Some(FlowState::Waiting(active)) => Some(*active),
            _ => None,
        });
        let turning = outages.iter().flatten().flat_map(|one| [one.0, one.1]).filter(|at| *at > now);
        let releases = sent.iter().map(|flow| flow.release).filter(|at| *at > now);
        let next = ending.chain(waiting).chain(turning).chain(releases).reduce(f64::min).expect("something is to come");
        for (flow, rate) in active.into_iter().zip(rates) {
            left[flow] -= rate * (next - now);
        }
        now = next;
    }
    stages
        .into_iter()
        .map(|stage| match stage {
            Some(FlowState::Over(end)) => end,
            _ => unreachable!("all are over"),
        })
        .collect()
}

fn way_latency(way: &[usize], links: &[Link]) -> f64 {
    way.iter().map(|link| links[*link].latency).sum::<f64>()
}

fn links_down_at(time: f64, outages: &[Vec<(f64, f64)>]) -> Vec<bool> {
    outages.iter().map(|all| all.iter().any(|one| one.0 <= time && time < one.1)).collect()
}

fn is_way_cut(way: &[usize], down: &[bool]) -> bool {
    way.iter().any(|link| down[*link])
}
