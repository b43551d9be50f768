//! A process that plays sites or users: finds the router, joins, plays its part, leaves.

use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use tokio::sync::mpsc;

use super::bidder::Stop;
use super::identity::Identity;
use super::input::load_topology;
use super::launch::label;
use super::lifeline::{Doomed, Ending};
use super::quic::{self, Close, JoinError, Options, WireError};
use super::signals::Interrupts;
use super::{Failure, freight, lifeline, play};
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
pub async fn take_part(membership: Membership) -> Result<(), Failure> {
    let (words, mut interruptions) = mpsc::unbounded_channel();
    let identity = lifeline::identity(&membership.identity);
    if membership.held {
        Ending::new(words.clone(), Doomed::default(), Stop::default()).hold();
    }
    let mut interrupts = Interrupts::new()?;
    let who = label(&membership.parties);
    let ending = async {
        tokio::select! {
            Some(failure) = interruptions.recv() => failure,
            () = interrupts.next() => Failure::Interrupted(format!("{who} was interrupted")),
        }
    };
    join_and_play(&membership, identity, ending).await
}

async fn join_and_play(
    membership: &Membership,
    identity: Result<Identity, Failure>,
    ending: impl Future<Output = Failure>,
) -> Result<(), Failure> {
    let mut ending = pin!(ending);
    let loaded = load_topology(&membership.topology, &membership.overrides)?;
    let topology = &loaded.topology;
    let plan = Plan::of(topology);
    let ids = membership.parties.iter().map(|party| find(&plan, party)).collect::<Result<Vec<_>, _>>()?;
    let identity = identity?;
    let actors = topology::build(topology, &ids).map_err(|error| Failure::Input(error.to_string()))?;

    let hello = Hello::new(membership.parties.clone(), topology.hash());
    let options = Options { join_timeout: membership.join_within, ..Options::default() };
    let mut joined = tokio::select! {
        joined = quic::connect(&membership.router, &identity, &hello, &options) => joined.map_err(not_joined)?,
        failure = &mut ending => return Err(failure),
    };
    tracing::info!(router = %joined.connection.address(), missing = joined.missing, "{} joined", label(&membership.parties));

    let loads = tokio::spawn(freight::serve(joined.connection.clone()));
    let leaf = Leaf::new(actors, plan.latencies.clone());
    let end = tokio::select! {
        end = play::play(leaf, &mut joined.sender, &mut joined.receiver, &plan.names) => end,
        failure = &mut ending => Err(failure),
    };
    match &end {
        Ok(()) => {
            // The router closes the connection once it has everybody's last words.
            let _ = joined.receiver.next().await;
            let closed = tokio::time::timeout(GOODBYE_WITHIN, joined.connection.closed()).await;
            if let Ok(WireError::Closed { close: Some(Close::Stopped), reason }) = closed {
                return Err(Failure::LostRouter(format!("the router stopped the run: {reason}")));
            }
            joined.connection.leave(joined.sender, Close::Finished, "").await;
        }
        Err(failure) => joined.connection.leave(joined.sender, Close::Broken, &failure.to_string()).await,
    }
    loads.abort();
    end
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
