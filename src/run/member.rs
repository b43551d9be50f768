//! A process that plays sites or users: finds the router, joins, plays its members, leaves.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::computing::ActorWatch;
use super::drive_leaf::{self, LeafEnd, LeafIo};
use super::identity::Identity;
use super::input::{load_grid, load_launched};
use super::keeper::WatchedRuntime;
use super::lifeline::{self, Cleanup, leave_at_once};
use super::outside::{self, ExternalClocks, Stop};
use super::quic::{self, Close, Connection, JoinError, Joined, QuicOptions, WireError};
use super::signals::on_interrupt;
use super::{Failure, err, freight, out};
use hansa_sim::kernel::{ActorId, Leaf};
use hansa_sim::protocol::handshake::{Hello, Party, TopologyHash, list_parties, parties_label};
use hansa_sim::topology::{self, ExternalDeciders, Override, Roster, Topology};

/// Settings of a process that takes part in a run.
#[derive(Debug)]
pub struct Membership {
    pub topology: String,
    /// Hash of the whole topology, if the file lacks its workloads, which sites do not need. None if the file is whole.
    pub topology_hash: Option<TopologyHash>,
    /// Folder with the jobs of its workloads, if a launcher has prepared them.
    pub jobs: Option<PathBuf>,
    pub overrides: Vec<Override>,
    pub parties: Vec<Party>,
    pub identity: PathBuf,
    pub router: String,
    pub join_within: Duration,
    /// Longest search for a router that is lost.
    pub patience: Duration,
    /// True if a launcher has started the process, which then leaves when the launcher is gone.
    pub held: bool,
}

/// Longest wait for the router's verdict on the run.
const GOODBYE_WITHIN: Duration = Duration::from_secs(10);

/// Period of reports on external clocks: much shorter than any useful `--stall-after`, as a report may be lost.
const REPORT_EVERY: Duration = Duration::from_millis(200);

/// Takes part in a run, from joining to its end.
pub fn take_part(membership: &Membership) -> Result<(), Failure> {
    let kept = WatchedRuntime::new()?;
    let _within = kept.enter();
    let (words, mut endings) = mpsc::unbounded_channel();
    let identity = lifeline::load_identity(&membership.identity, &membership.parties);
    let stop = Stop::default();
    if membership.held {
        lifeline::StopHandle::new(words.clone(), Cleanup::default(), stop.clone()).watch_launcher()?;
    }
    let ending = stop.clone();
    let names = parties_label(&membership.parties);
    let asked = AtomicBool::default();
    let watched = ActorWatch::default();
    let actors = watched.clone();
    on_interrupt(move || {
        // A second Ctrl-C does not wait for actors that compute.
        if asked.swap(true, Ordering::Relaxed) {
            std::process::exit(Failure::INTERRUPTED.into());
        }
        actors.interrupt(|why| leave_at_once(why, None));
        let _ = words.send(Failure::Interrupted(format!("{names} was interrupted")));
        ending.store(true, Ordering::Release);
    })?;
    join_and_play(&kept, membership, identity, &mut endings, (&stop, &watched))
}

fn join_and_play(
    kept: &WatchedRuntime,
    membership: &Membership,
    identity: Result<Identity, Failure>,
    endings: &mut mpsc::UnboundedReceiver<Failure>,
    (stop, watched): (&Stop, &ActorWatch),
) -> Result<(), Failure> {
    let Membership { topology, overrides, .. } = membership;
    let loaded = match membership.topology_hash {
        Some(_) => load_grid(topology, overrides),
        None => load_launched(topology, overrides, membership.jobs.as_deref()),
    }?;
    let topology = &loaded.topology;
    let hash = membership.topology_hash.unwrap_or_else(|| topology.hash());
    let roster = Roster::of_topology(topology);
    let ids = membership.parties.iter().map(|party| find_actor(&roster, party)).collect::<Result<Vec<_>, _>>()?;
    let identity = identity?;
    let hello = Hello::new(membership.parties.clone(), hash);
    let part = MemberPart {
        kept,
        membership,
        identity: &identity,
        hello: &hello,
        topology,
        roster: &roster,
        ids: &ids,
        stop,
        watched,
    };
    let mut ending = part.drive_leaf(membership.join_within, true, endings);
    // A router that comes back sends everything again, so the state of the previous attempt is dropped.
    while let PartEnd::LostRouter(failure, finished) = ending {
        if membership.patience.is_zero() {
            return if finished { Ok(()) } else { Err(failure) };
        }
        let names = parties_label(&membership.parties);
        let patience = membership.patience.as_secs_f64();
        err::note(&format!("{names}: {failure}; looking for it for {patience} s"));
        // A router that rejects this process is the old one, which is closing: a member with nothing left to do need
        // not wait for another one.
        ending = match part.drive_leaf(membership.patience, !finished, endings) {
            PartEnd::Over(Err(Failure::NotJoined(why))) => {
                let text = format!("{failure}\n  it did not come back: {why}");
                // A member that has finished is not to blame for a router that left without a verdict.
                PartEnd::Over(if finished { Ok(()) } else { Err(Failure::LostRouter(text)) })
            }
            ending => ending,
        };
    }
    let PartEnd::Over(end) = ending else { unreachable!("the loop ends with it") };
    end?;
    let has = if membership.parties.len() == 1 { "has" } else { "have" };
    let _ = out::unless_quiet(&format!("{} {has} finished: the run is over\n", parties_label(&membership.parties)));
    Ok(())
}

/// The members that a process plays, and all that it needs to play them from the start again.
struct MemberPart<'a> {
    kept: &'a WatchedRuntime,
    membership: &'a Membership,
    identity: &'a Identity,
    hello: &'a Hello,
    topology: &'a Topology,
    roster: &'a Roster,
    ids: &'a [ActorId],
    stop: &'a Stop,
    watched: &'a ActorWatch,
}

/// End of an attempt.
enum PartEnd {
    Over(Result<(), Failure>),
    /// The router was lost before the end of the run was known; true if the members themselves had finished.
    LostRouter(Failure, bool),
}

impl MemberPart<'_> {
    fn drive_leaf(
        &self,
        join_within: Duration,
        insists: bool,
        endings: &mut mpsc::UnboundedReceiver<Failure>,
    ) -> PartEnd {
        let build = |deciders| {
            let built = topology::build_with(self.topology, self.ids, deciders);
            built.map_err(|error| Failure::Input(error.to_string()))
        };
        // A program is started only after joining, when there is a router that its faults can be reported to.
        let asks = outside::decides_for(self.topology, self.roster, self.ids);
        let early = if asks { Ok(None) } else { build(ExternalDeciders::new()).map(Some) };
        let joined = early.and_then(|early| Ok((early, self.join(join_within, insists, endings)?)));
        let (early, mut joined) = match joined {
            Ok((early, Some(joined))) => (early, joined),
            Ok((_, None)) => return PartEnd::Over(Ok(())),
            Err(failure) => return PartEnd::Over(Err(failure)),
        };
        let loads = tokio::spawn(freight::serve_router(joined.connection.clone()));
        let clocks = ExternalClocks::default();
        let reports = asks.then(|| tokio::spawn(report_clocks(joined.connection.clone(), clocks.clone())));
        let kept = self.kept;
        let names = &self.roster.names;
        let started = outside::start_programs(self.topology, self.ids, &self.membership.topology, self.stop, &clocks);
        let end = started.and_then(|(deciders, fault)| {
            let actors = early.map_or_else(|| build(deciders), Ok)?;
            let contract = topology::contract_of_leaves(self.topology, self.roster);
            let leaf = Leaf::new(actors, self.roster.latencies.clone()).with_contract(contract);
            self.watched.watch(leaf.activity(), names);
            let sender = &mut joined.sender;
            let receiver = &mut joined.receiver;
            drive_leaf::drive_leaf(leaf, LeafIo { kept, sender, receiver, names, endings, fault: &fault })
        });
        let ending = kept.block_on(leave_run(joined, end));
        loads.abort();
        reports.inspect(JoinHandle::abort);
        ending
    }

    /// Joins. None if the run is over and this process is not needed any more.
    fn join(
        &self,
        join_within: Duration,
        insists: bool,
        endings: &mut mpsc::UnboundedReceiver<Failure>,
    ) -> Result<Option<Joined>, Failure> {
        let options = QuicOptions { join_timeout: join_within, insists, ..QuicOptions::default() };
        let router = &self.membership.router;
        let joined = self.kept.block_on(async {
            tokio::select! {
                joined = quic::connect_router(router, self.identity, self.hello, &options) => match joined {
                    Err(JoinError::Over) => Ok(None),
                    joined => joined.map(Some).map_err(not_joined),
                },
                Some(failure) = endings.recv() => Err(failure),
            }
        })?;
        let Some(joined) = joined else { return Ok(None) };
        let names = parties_label(&self.membership.parties);
        tracing::info!(router = %joined.connection.remote_address(), missing = joined.missing, "{names} joined");
        let others = match joined.missing {
            0 => "all members have joined".to_owned(),
            missing => format!("{missing} still to join: {}", list_parties(&joined.awaited, missing as usize)),
        };
        // A full disk under the output must not cost the run a member.
        let _ =
            out::unless_quiet(&format!("{names} joined the run at {}; {others}\n", joined.connection.remote_address()));
        Ok(Some(joined))
    }
}

/// Reports to the router that external clocks go on, while the thread that drives the leaf waits for them.
async fn report_clocks(connection: Connection, clocks: ExternalClocks) {
    let mut reported = 0;
    loop {
        tokio::time::sleep(REPORT_EVERY).await;
        let micros = clocks.micros();
        if micros != reported {
            reported = micros;
            connection.report_clocks(micros);
        }
    }
}

/// Waits for the router's verdict, if this side ended well, and leaves.
async fn leave_run(mut joined: Joined, end: Result<LeafEnd, Failure>) -> PartEnd {
    match end {
        Ok(end) => {
            // The router closes the connection once it has the last frames of all members.
            let last = drive_leaf::read_final_word(end, &mut joined.receiver).await;
            let closed = tokio::time::timeout(GOODBYE_WITHIN, joined.connection.await_closed()).await;
            if let Ok(WireError::Closed { close: Some(Close::Stopped), reason }) = closed {
                return PartEnd::Over(Err(Failure::LostRouter(format!("the router stopped the run: {reason}"))));
            }
            // A close may be lost. Then the end of the run is in doubt only if other frames are missing, too.
            if let Ok(lost) = &closed
                && lost.closed_without_reason()
                && last.end == LeafEnd::Finished
                && !last.is_whole
            {
                return PartEnd::LostRouter(Failure::LostRouter(format!("lost the router: {lost}")), true);
            }
            joined.connection.leave(joined.sender, Close::Finished, "").await;
            PartEnd::Over(match last.end {
                LeafEnd::Finished => Ok(()),
                // The reason is part of the close, which is lost.
                LeafEnd::Stopped => {
                    Err(Failure::LostRouter("the router stopped the run; the reason has not arrived".to_owned()))
                }
            })
        }
        Err(failure) => {
            let is_lost = matches!(failure, Failure::LostRouter(_));
            if is_lost && joined.connection.end_reason().is_some_and(|end| end.closed_without_reason()) {
                return PartEnd::LostRouter(failure, false);
            }
            let close = match failure {
                Failure::Program(_) => Close::Failed,
                Failure::Breach(_) => Close::Breach,
                _ => Close::Broken,
            };
            joined.connection.leave(joined.sender, close, &failure.to_string()).await;
            PartEnd::Over(Err(failure))
        }
    }
}

fn find_actor(roster: &Roster, party: &Party) -> Result<ActorId, Failure> {
    roster.find(party).ok_or_else(|| {
        let hint = match roster.parties().iter().find(|other| other.name() == party.name()) {
            Some(other) => format!("; {} is a {}", other.name(), other.role()),
            None if party.name().is_empty() => ": expected --name NAME".to_owned(),
            None => match roster.near_name(party) {
                near if near.is_empty() => list_names(roster, party.role()),
                near => near,
            },
        };
        Failure::Input(format!("the topology has no {party}{hint}"))
    })
}

/// Number of names that a message lists.
const LISTED: usize = 5;

/// The first few names of a role, for an error about an unknown one.
fn list_names(roster: &Roster, role: &str) -> String {
    let parties = roster.parties();
    let names: Vec<&str> = parties.iter().filter(|party| party.role() == role).map(Party::name).collect();
    if names.is_empty() {
        return String::new();
    }
    let more = if names.len() > LISTED { ", ..." } else { "" };
    format!(": expected {}{more}", names[..names.len().min(LISTED)].join(", "))
}

fn not_joined(error: JoinError) -> Failure {
    match error {
        JoinError::Identity(error) => Failure::Input(error.to_string()),
        error @ JoinError::Socket(_) => Failure::System(error.to_string()),
        other => Failure::NotJoined(other.to_string()),
    }
}
