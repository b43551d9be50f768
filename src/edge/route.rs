//! The router process: admits everybody, conducts the run, writes the results.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::bidder::{self, Stop};
use super::conduct::{self, Line, Watch};
use super::freight::shape::Shaper;
use super::freight::{Freight, Live};
use super::identity::Identity;
use super::input::load_topology;
use super::keeper::Kept;
use super::launch::{LISTENING, label};
use super::lifeline::{Doomed, Ending};
use super::quic::{Close, Listener, Options, Peer, Terms};
use super::results::{Results, Setting};
use super::signals::on_interrupt;
use super::{Failure, lifeline};
use crate::kernel::{ActorId, Contact, Hub};
use crate::topology::{self, Loaded, Override, Plan, Role, Topology};

/// How to be the router of a run.
#[derive(Debug)]
pub struct Routing {
    pub topology: String,
    pub overrides: Vec<Override>,
    pub identity: PathBuf,
    pub bind: SocketAddr,
    pub out: Option<PathBuf>,
    /// Whose owner gets the results, if this process is root.
    pub owner_of: Option<PathBuf>,
    /// What the manifest says about where the processes ran.
    pub layout: String,
    pub stall_after: Duration,
    /// Virtual seconds in a second of the wall's clock, for a live run.
    pub live: Option<f64>,
    pub join_within: Duration,
    /// Lets an earlier result stay, under another name.
    pub keep: bool,
    /// Started by a launcher: leave when it is gone.
    pub held: bool,
}

/// Whether there is something to measure.
pub fn check_live(topology: &Topology, path: &str) -> Result<(), Failure> {
    match &topology.cables {
        Some(_) => Ok(()),
        None => Err(Failure::Input(format!(
            "{path}: a live run is about links, and this topology has none: expected at least one [[link]]"
        ))),
    }
}

/// Runs the router from the first peer to the last result.
pub fn route(routing: Routing) -> Result<(), Failure> {
    let begun = Instant::now();
    let identity = lifeline::identity(&routing.identity);
    let loaded = load_topology(&routing.topology, &routing.overrides)?;
    if routing.live.is_some() {
        check_live(&loaded.topology, &routing.topology)?;
    }
    route_run(&Kept::new()?, routing, identity?, &loaded, begun)
}

fn route_run(
    kept: &Kept,
    routing: Routing,
    identity: Identity,
    loaded: &Loaded,
    begun: Instant,
) -> Result<(), Failure> {
    let _within = kept.enter();
    let plan = Plan::of(&loaded.topology);
    let build = |bidder| {
        topology::build_with(&loaded.topology, &plan.at_hub(), bidder)
            // A launcher has handed over a topology that its user does not know, and tells the place itself.
            .map_err(|error| Failure::Input(if routing.held { error.to_string() } else { loaded.tell(&error) }))
    };
    // A bidder is not waited for before somebody listens to whoever wants to end that.
    let early = if bidder::wanted(&loaded.topology).is_none() { Some(build(None)?) } else { None };
    let mut results = Results::create(routing.out.as_deref(), loaded, routing.keep, routing.live.is_some())?;
    if let Some(path) = &routing.owner_of {
        results.give_to_owner_of(path)?;
    }

    let stop = Stop::default();
    // Where there is a launcher, its folder goes when it is gone.
    let nest = Path::new(&routing.topology).parent().filter(|_| routing.held).map(Path::to_owned);
    let doomed = Doomed { folders: nest.into_iter().collect(), results: Some(results.stand_in().clone()) };
    let mut interruptions = listen_for_the_end(routing.held, doomed, &stop)?;
    let mut listener = Listener::bind(routing.bind, &identity, &Options::default())
        .map_err(|error| Failure::System(error.to_string()))?;
    announce(listener.address())?;
    let (outsider, fault) = bidder::start(&loaded.topology, &stop)?;
    let actors = early.map_or_else(|| build(outsider), Ok)?;

    let terms = Terms { roster: plan.parties(), topology: loaded.topology.hash() };
    let peers = match kept.block_on(admit(&mut listener, terms, &routing, &mut interruptions)) {
        Ok(peers) => peers,
        Err(failure) => {
            // Those who have come already should not wait for a run that will not be.
            kept.block_on(listener.close(Vec::new(), Close::Stopped, &failure.to_string()));
            return Err(failure);
        }
    };
    tracing::info!("everybody has joined: the run begins");
    let here = peers.iter().all(|peer| peer.connection.address().ip().is_loopback());
    let contact = if here { Contact::Blockers } else { Contact::All };
    let leaves = peers.iter().map(|peer| ids(&plan, peer)).collect::<Result<Vec<_>, _>>()?;
    let mut freight = freight(&loaded.topology, &plan, &peers, &leaves, routing.live);
    let whole = plan.clone();
    let hub = Hub::new(actors, &leaves, plan.latencies.clone())
        .reading_only(Box::new(move |actor, record| whole.may_write(actor, record)));
    let mut lines: Vec<Line> = peers.into_iter().map(Line::new).collect();

    let joined = begun.elapsed();
    let mut progress = results.progress();
    let carried = freight.as_ref().map(Freight::passed).unwrap_or_default();
    let watch = Watch {
        stall_after: routing.stall_after,
        progress: &mut |now, events, records| {
            if let Some(freight) = &mut freight {
                freight.see(records);
            }
            progress.update(now, events, records);
        },
        record: &mut |entries| results.record(entries).and_then(|()| results.contradiction()),
        contact,
        speed: routing.live,
        names: &plan.names,
        carried,
        interruptions: &mut interruptions,
    };
    let mut conducted = conduct::conduct(kept, hub, &mut lines, watch);
    conducted.end = fault.or(conducted.end);
    conducted.wall = conducted.wall.saturating_sub(results.written_for());
    let mut moved = None;
    if let (Some(freight), Ok(())) = (freight, &conducted.end) {
        let arrived = kept.block_on(async {
            tokio::select! {
                arrived = freight.finish() => arrived,
                Some(failure) = interruptions.recv() => Err(failure),
            }
        });
        match arrived {
            Ok(all) => moved = Some(all),
            Err(failure) => conducted.end = Err(failure),
        }
    }
    progress.clear();

    let (close, reason) = match &conducted.end {
        Ok(()) => (Close::Finished, String::new()),
        Err(failure) => (Close::Stopped, failure.to_string()),
    };
    let senders = lines.into_iter().map(Line::into_sender).collect();
    // First, so that nobody has to wait for the results to be written.
    kept.block_on(listener.close(senders, close, reason.lines().next().unwrap_or_default()));
    results.conducted(conducted, Setting { layout: routing.layout, began: begun, joined, moved, live: routing.live })
}

/// Whatever moves the bytes of this topology's transfers, if any are to be moved.
fn freight(
    topology: &Topology,
    plan: &Plan,
    peers: &[Peer],
    leaves: &[Vec<ActorId>],
    live: Option<f64>,
) -> Option<Freight> {
    let payload = topology.cables.as_ref()?.payload;
    if live.is_none() && payload.is_none() {
        return None;
    }
    let is_site = |id: &ActorId| matches!(plan.roles[id.index()], Role::Site(_));
    let sites = |ids: &Vec<ActorId>| ids.iter().copied().filter(is_site).collect();
    let homes = peers.iter().zip(leaves).map(|(peer, ids)| (peer.connection.clone(), sites(ids))).collect();
    let amount = move |bytes| match payload {
        Some(payload) if live.is_none() => payload.amount(bytes),
        _ => bytes,
    };
    let live = live.map(|speed| {
        let (paths, roles) = (topology::paths(topology), plan.roles.clone());
        let shaper = Arc::new(Shaper::new(paths.links.clone(), speed));
        let site = move |actor: ActorId| match roles[actor.index()] {
            Role::Site(site) => Some(site),
            _ => None,
        };
        let route = move |from, to| {
            site(from).zip(site(to)).map(|(from, to)| paths.route(from, to).to_vec()).unwrap_or_default()
        };
        Live { shaper, route: Box::new(route) }
    });
    Some(Freight::new(homes, plan.names.clone(), topology.seed, amount, live))
}

/// Gathers what may end the run from outside: a signal, or a word of the launcher.
fn listen_for_the_end(held: bool, doomed: Doomed, stop: &Stop) -> Result<Interruptions, Failure> {
    let (words, interruptions) = mpsc::unbounded_channel();
    let ending = Ending::new(words, doomed, stop.clone());
    if held {
        ending.clone().hold();
    }
    on_interrupt(move || ending.interrupt())?;
    Ok(interruptions)
}

/// Says where the router can be reached: whoever started it may not know, if it asked for any free port.
fn announce(address: SocketAddr) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{LISTENING}{address}")
        .and_then(|()| stdout.flush())
        .map_err(|error| Failure::System(format!("cannot write to standard output: {error}")))
}

type Interruptions = mpsc::UnboundedReceiver<Failure>;

async fn admit(
    listener: &mut Listener,
    terms: Terms,
    routing: &Routing,
    interruptions: &mut Interruptions,
) -> Result<Vec<Peer>, Failure> {
    let end = tokio::select! {
        peers = listener.admit(terms) => return Ok(peers),
        Some(failure) = interruptions.recv() => match failure {
            Failure::LostPeer { label, text } => {
                let text = format!("lost {label} before the run began: {text}");
                Failure::LostPeer { label, text }
            }
            other => other,
        },
        () = tokio::time::sleep(routing.join_within) => {
            let text = format!("after {} s the router still waits for ", routing.join_within.as_secs_f64());
            Failure::NotJoined(text)
        }
    };
    Err(match end {
        Failure::NotJoined(text) => Failure::NotJoined(format!("{text}{}", label(&listener.missing()))),
        other => other,
    })
}

fn ids(plan: &Plan, peer: &Peer) -> Result<Vec<ActorId>, Failure> {
    let find = |party| plan.find(party).ok_or_else(|| Failure::Internal(format!("{party} joined but has no part")));
    peer.parties.iter().map(find).collect()
}
