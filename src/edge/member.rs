//! A process that plays sites or users: finds the router, joins, plays its part, leaves.

use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::mpsc;

use super::identity::Identity;
use super::input::load_topology;
use super::launch::label;
use super::quic::{self, Close, JoinError, Options, WireError};
use super::signals::Interrupts;
use super::{Failure, lifeline, play};
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

/// Takes part in a run from joining to its end.
pub async fn take_part(membership: Membership) -> Result<(), Failure> {
    let (words, mut interruptions) = mpsc::unbounded_channel();
    if membership.held {
        lifeline::hold(words.clone(), Vec::new());
    }
    let mut interrupts = Interrupts::new()?;
    tokio::select! {
        end = join_and_play(&membership) => end,
        Some(failure) = interruptions.recv() => Err(failure),
        () = interrupts.next() => Err(Failure::Interrupted(format!("{} was interrupted", label(&membership.parties)))),
    }
}

async fn join_and_play(membership: &Membership) -> Result<(), Failure> {
    let topology = load_topology(&membership.topology, &membership.overrides)?.topology;
    let plan = Plan::of(&topology);
    let ids = membership.parties.iter().map(|party| find(&plan, party)).collect::<Result<Vec<_>, _>>()?;
    let identity = Identity::load(&membership.identity).map_err(|error| Failure::Input(error.to_string()))?;
    let actors = topology::build(&topology, &ids).map_err(|error| Failure::Input(error.to_string()))?;

    let hello = Hello::new(membership.parties.clone(), topology.hash());
    let options = Options { join_timeout: membership.join_within, ..Options::default() };
    let mut joined = quic::connect(&membership.router, &identity, &hello, &options).await.map_err(not_joined)?;
    tracing::info!(router = %joined.connection.address(), missing = joined.missing, "{} joined", label(&membership.parties));

    let leaf = Leaf::new(actors, plan.latencies.clone());
    let end = play::play(leaf, &mut joined.sender, &mut joined.receiver, &plan.names).await;
    match &end {
        Ok(()) => {
            // The router closes the connection once it has everybody's last words.
            if let Err(WireError::Closed { close: Some(Close::Stopped), reason }) = joined.receiver.next().await {
                return Err(Failure::LostRouter(format!("the router stopped the run: {reason}")));
            }
            joined.connection.leave(joined.sender, Close::Finished, "").await;
        }
        Err(failure) => joined.connection.leave(joined.sender, Close::Broken, &failure.to_string()).await,
    }
    end
}

fn find(plan: &Plan, party: &Party) -> Result<ActorId, Failure> {
    plan.find(party).ok_or_else(|| {
        let (Party::Site(name) | Party::User(name)) = party else {
            return Failure::Internal("a router is no member".to_owned());
        };
        let near = topology::nearest(name, plan.names.iter().map(String::as_str));
        let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        Failure::Input(format!("the topology has no {party}{hint}"))
    })
}

fn not_joined(error: JoinError) -> Failure {
    match error {
        JoinError::Identity(error) => Failure::Input(error.to_string()),
        other => Failure::NotJoined(other.to_string()),
    }
}
