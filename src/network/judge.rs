//! The slow and obvious judge: progressive filling over everything, and flows that are moved on one by one.

use super::{Link, Mode};

/// The rate of each flow, from the links that each crosses.
pub fn rates(links: &[Link], routes: &[&[usize]]) -> Vec<f64> {
    // A link that need not be shared is one for each of its flows.
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
        let level = |(left, users): &(f64, Vec<usize>)| {
            let open = users.iter().filter(|user| rates[**user].is_none()).count();
            (open > 0).then(|| left / open as f64)
        };
        let levels = pipes.iter().enumerate().filter_map(|(pipe, state)| Some((level(state)?, pipe)));
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

/// When each flow ends, given its release, the links it crosses and its volume.
pub fn ends(links: &[Link], flows: &[(f64, Vec<usize>, f64)]) -> Vec<f64> {
    let active_at =
        |flow: &(f64, Vec<usize>, f64)| flow.0 + flow.1.iter().map(|link| links[*link].latency).sum::<f64>();
    let mut left: Vec<f64> = flows.iter().map(|flow| flow.2).collect();
    let mut ends = vec![None; flows.len()];
    let mut now = 0.0;
    while ends.iter().any(Option::is_none) {
        for flow in 0..flows.len() {
            if ends[flow].is_none() && active_at(&flows[flow]) <= now && left[flow] <= 1e-9 * flows[flow].2 {
                ends[flow] = Some(now);
            }
        }
        let active: Vec<usize> =
            (0..flows.len()).filter(|flow| ends[*flow].is_none() && active_at(&flows[*flow]) <= now).collect();
        let routes: Vec<&[usize]> = active.iter().map(|flow| &flows[*flow].1[..]).collect();
        let rates = rates(links, &routes);
        let waiting = flows.iter().map(active_at).filter(|at| *at > now);
        let ending = active.iter().zip(&rates).map(|(flow, rate)| now + left[*flow] / rate);
        let Some(next) = waiting.chain(ending).reduce(f64::min) else { continue };
        for (flow, rate) in active.into_iter().zip(rates) {
            left[flow] -= if rate.is_finite() { rate * (next - now) } else { left[flow] };
        }
        now = next;
    }
    ends.into_iter().map(|end| end.expect("all have ended")).collect()
}
