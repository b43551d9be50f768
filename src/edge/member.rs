//! A process that plays sites or users: finds the router, joins, plays its part, leaves.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;

use super::bidder::Stop;
use super::identity::Identity;
use super::input::load_topology;
use super::keeper::Kept;
use super::launch::label;
use super::lifeline::{Doomed, Ending};
use super::play::{self, Played, Stage};
use super::quic::{self, Close, JoinError, Joined, Options, WireError};
use super::signals::on_interrupt;
use super::{Failure, Loudness, freight, lifeline, loudness, print};
use crate::kernel::{ActorId, Leaf};
use crate::protocol::handshake::{Hello, Party};
use crate::topology::{self, Override, Plan};

/// How to take part in a run.
#[derive(Debug)]
pub struct Membership {
    pub topology: String,
    pub overrides: Vec<Override>,
    pub parties: Vec<Party>,
    pub identity: PathBuf,
    pub router: String,
    pub join_within: Duration,
    /// Started by a launcher: leave when it is gone.
    pub held: bool,
}

/// How long the router may take to say how the run ended.
const GOODBYE_WITHIN: Duration = Duration::from_secs(10);

/// Takes part in a run from joining to its end.
pub fn take_part(membership: &Membership) -> Result<(), Failure> {
    let kept = Kept::new()?;
    let _within = kept.enter();
    let (words, mut endings) = mpsc::unbounded_channel();
    let identity = lifeline::identity(&membership.identity, &membership.parties);
    if membership.held {
        Ending::new(words.clone(), Doomed::default(), Stop::default()).hold();
    }
    let (who, asked) = (label(&membership.parties), AtomicBool::default());
    on_interrupt(move || {
        // Whoever asks twice means it, and does not wait for actors that compute.
        if asked.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        let _ = words.send(Failure::Interrupted(format!("{who} was interrupted")));
    })?;
    join_and_play(&kept, membership, identity, &mut endings)
}

fn join_and_play(
    kept: &Kept,
    membership: &Membership,
    identity: Result<Identity, Failure>,
    endings: &mut mpsc::UnboundedReceiver<Failure>,
) -> Result<(), Failure> {
    let loaded = load_topology(&membership.topology, &membership.overrides)?;
    let topology = &loaded.topology;
    let plan = Plan::of(topology);
    let ids = membership.parties.iter().map(|party| find(&plan, party)).collect::<Result<Vec<_>, _>>()?;
    let identity = identity?;
    let actors = topology::build(topology, &ids).map_err(|error| Failure::Input(error.to_string()))?;

    let hello = Hello::new(membership.parties.clone(), topology.hash());
    let options = Options { join_timeout: membership.join_within, ..Options::default() };
    let mut joined = kept.block_on(async {
        tokio::select! {
            joined = quic::connect(&membership.router, &identity, &hello, &options) => joined.map_err(not_joined),
            Some(failure) = endings.recv() => Err(failure),
        }
    })?;
    let who = label(&membership.parties);
    tracing::info!(router = %joined.connection.address(), missing = joined.missing, "{who} joined");
    let others = match joined.missing {
        0 => "everybody is there".to_owned(),
        missing => format!("{missing} still to come"),
    };
    say(&format!("{who} joined the run at {}; {others}", joined.connection.address()))?;

    let loads = tokio::spawn(freight::serve(joined.connection.clone()));
    let leaf = Leaf::new(actors, plan.latencies.clone());
    let (sender, receiver) = (&mut joined.sender, &mut joined.receiver);
    let end = play::play(leaf, Stage { kept, sender, receiver, names: &plan.names, endings });
    let end = kept.block_on(leave(joined, end));
    loads.abort();
    end.and_then(|()| say(&format!("{who} has finished: the run is over")))
}

fn say(line: &str) -> Result<(), Failure> {
    if loudness() == Loudness::Quiet { Ok(()) } else { print(&format!("{line}\n")) }
}

/// Waits to hear how the run ended, if all went well here, and goes.
async fn leave(mut joined: Joined, end: Result<Played, Failure>) -> Result<(), Failure> {
    match end {
        Ok(played) => {
            // The router closes the connection once it has everybody's last words.
            let last = play::listen_to_the_end(played, &mut joined.receiver).await;
            let closed = tokio::time::timeout(GOODBYE_WITHIN, joined.connection.closed()).await;
            if let Ok(WireError::Closed { close: Some(Close::Stopped), reason }) = closed {
                return Err(Failure::LostRouter(format!("the router stopped the run: {reason}")));
            }
            joined.connection.leave(joined.sender, Close::Finished, "").await;
            match last {
                Played::Finished => Ok(()),
                // Its reason travels with the close, which is lost.
                Played::Stopped => {
                    Err(Failure::LostRouter("the router stopped the run; why has not arrived".to_owned()))
                }
            }
        }
        Err(failure) => {
            joined.connection.leave(joined.sender, Close::Broken, &failure.to_string()).await;
            Err(failure)
        }
    }
}

fn find(plan: &Plan, party: &Party) -> Result<ActorId, Failure> {
    plan.find(party).ok_or_else(|| {
        let parties = plan.parties();
        let (name, other, peers): (_, _, Vec<&str>) = match party {
            Party::Site(name) => (name, Party::User(name.clone()), parties.iter().filter_map(site_name).collect()),
            Party::User(name) => (name, Party::Site(name.clone()), parties.iter().filter_map(user_name).collect()),
            Party::Router => return Failure::Internal("a router is no member".to_owned()),
        };
        if parties.contains(&other) {
            return Failure::Input(format!("the topology has no {party}; {name} is a {}", role(&other)));
        }
        let near = topology::nearest(name, peers);
        let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        Failure::Input(format!("the topology has no {party}{hint}"))
    })
}

fn site_name(party: &Party) -> Option<&str> {
    if let Party::Site(name) = party { Some(name) } else { None }
}

fn user_name(party: &Party) -> Option<&str> {
    if let Party::User(name) = party { Some(name) } else { None }
}

fn role(party: &Party) -> &'static str {
    match party {
        Party::Router => "router",
        Party::Site(_) => "site",
        Party::User(_) => "user",
    }
}

fn not_joined(error: JoinError) -> Failure {
    match error {
        JoinError::Identity(error) => Failure::Input(error.to_string()),
        other => Failure::NotJoined(other.to_string()),
    }
}
