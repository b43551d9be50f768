//! The router process: admits all members, drives the run, writes the results.

use std::cell::RefCell;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::computing::ActorWatch;
use super::disk::io_reason;
use super::drive_hub::{self, LeafLink, LostProcess, Returns, RunOutcome, Watch};
use super::freight::shape::Shaper;
use super::freight::{Freight, LiveLinks, Moved};
use super::host::utc_now;
use super::identity::Identity;
use super::input::{default_out, load_launched, written_out};
use super::journal::{Head, Journal, is_whole};
use super::keeper::WatchedRuntime;
use super::launch::{Asked, JOINED, LISTENING_ON};
use super::lifeline::{Asker, Cleanup, StopHandle};
use super::outside::{self, ExternalClocks, Stop};
use super::partial_dir::PartialDir;
use super::quic::{Close, JoinTerms, Listener, LostMember, Peer, QuicOptions};
use super::results::{Results, RunSetting, SummaryFormat, input_files};
use super::resume::Resumable;
use super::signals::on_interrupt;
use super::{Failure, err, lifeline, pin};
use hansa_report::{Input, Witness};
use hansa_sim::grid::Program;
use hansa_sim::kernel::{ActorId, Contact, Hub};
use hansa_sim::protocol::handshake::{Party, RELEASE, list_parties, parties_label};
use hansa_sim::topology::{self, ExternalDeciders, Loaded, Override, Role, Roster, Topology};

/// Settings of a router.
#[derive(Debug)]
pub struct Routing {
    pub topology: String,
    /// Folder with the jobs of its workloads, if a launcher has prepared them.
    pub jobs: Option<PathBuf>,
    pub overrides: Vec<Override>,
    pub identity: PathBuf,
    pub bind: SocketAddr,
    pub out: Option<PathBuf>,
    /// The file whose owner gets the results, if this process runs as root.
    pub owner_of: Option<PathBuf>,
    /// The path of the results in the summary. None if it is the one that this process uses.
    pub shown_out: Option<PathBuf>,
    /// The layout of the processes, for the manifest.
    pub layout: String,
    pub stall_after: Duration,
    /// Virtual seconds per second of real time, for a live run.
    pub live: Option<f64>,
    pub join_within: Duration,
    /// Longest time for which a lost process may be absent. Zero if the run ends with its loss.
    pub patience: Duration,
    /// The folder of an earlier run that is to be resumed.
    pub resume: Option<PathBuf>,
    /// Resumes the run left in the folder of the results, if it has this topology.
    pub goes_on: bool,
    /// Keeps an earlier result, under another name.
    pub keep: bool,
    pub format: SummaryFormat,
    /// Writes the log and the tables as Parquet, too.
    pub parquet: bool,
    /// True if a launcher has started the process, which then leaves when the launcher is gone.
    pub held: bool,
    /// The launcher's file with its command line and inputs.
    pub asked: Option<PathBuf>,
}

/// Fails if a live run of the topology has nothing to measure, or fails links.
pub fn check_live(topology: &Topology, path: &str) -> Result<(), Failure> {
    match &topology.cables {
        Some(cables) => match topology.failing_links().first() {
            None => Ok(()),
            Some(link) => Err(Failure::Input(format!(
                "{path}: a live run holds links to their capacity, but cannot cut link {}, which fails",
                cables.links[*link].name
            ))),
        },
        None => Err(Failure::Input(format!(
            "{path}: a live run measures links, but this topology has none: expected at least one [[link]]"
        ))),
    }
}

/// Runs the router from the first connection to the last result.
pub fn run_router(routing: Routing) -> Result<(), Failure> {
    let begun = Instant::now();
    let identity = lifeline::load_identity(&routing.identity, &[Party::Router]);
    let loaded = load_launched(&routing.topology, &routing.overrides, routing.jobs.as_deref())?;
    if routing.live.is_some() {
        check_live(&loaded.topology, &routing.topology)?;
    }
    route_run(&WatchedRuntime::new()?, routing, identity?, &loaded, begun)
}

fn route_run(
    kept: &WatchedRuntime,
    routing: Routing,
    identity: Identity,
    loaded: &Loaded,
    begun: Instant,
) -> Result<(), Failure> {
    let _within = kept.enter();
    let topology = &loaded.topology;
    let roster = Roster::of_topology(topology);
    let build = |deciders| {
        topology::build_with(topology, &roster.at_hub(), deciders)
            // The user does not know the topology file of a launcher, which names the place itself.
            .map_err(|error| Failure::Input(if routing.held { error.to_string() } else { loaded.error_text(&error) }))
    };
    // A program is started only when interrupts are handled, because its start may take long.
    let asks = outside::decides_for(topology, &roster, &roster.at_hub());
    let early = if asks { None } else { Some(build(ExternalDeciders::new())?) };
    let Prepared { mut results, groups, written_in, inputs, begun } = prepare_results(&routing, loaded, begun)?;

    let stop = Stop::default();
    let watched = ActorWatch::default();
    let (mut interruptions, mut gone) = watch_for_end(&routing, results.partial_dir().clone(), &stop, &watched)?;
    let mut listener = open_listener(&routing, &identity)?;
    let (deciders, fault) =
        outside::start_programs(topology, &roster.at_hub(), &written_in, &stop, &ExternalClocks::default())?;
    let actors = early.map_or_else(|| build(deciders), Ok)?;

    let terms = JoinTerms { roster: roster.parties(), topology: topology.hash() };
    // Members may have left once all have sent their last frames.
    let over =
        groups.as_ref().map(|groups| is_whole(results.partial_dir().path(), groups.len())).transpose()? == Some(true);
    let mut peers = Vec::new();
    if over {
        listener.turn_away(terms);
    } else {
        let admitted = kept.block_on(admit_members(listener, terms, &routing, &mut interruptions, &mut gone));
        (listener, peers) = admitted.map_err(|failure| match groups {
            Some(_) => failure.with_line(&format!("resume with: {}", how_to_resume(&routing, results.out_path()))),
            None => failure,
        })?;
    }
    let here_now: Vec<_> = peers.iter().map(|peer| peer.parties.clone()).collect();
    let playing = groups.as_ref().filter(|_| over).unwrap_or(&here_now);
    let leaves = playing.iter().map(|parties| party_ids(&roster, parties)).collect::<Result<Vec<_>, _>>()?;
    let freight = RefCell::new(build_freight(topology, &roster, &peers, &leaves, routing.live));
    let carried = freight.borrow().as_ref().map(Freight::passed_bytes).unwrap_or_default();
    let whole = roster.clone();
    let mut contract = topology::run_contract(topology, &roster);
    if routing.live.is_some() {
        // In a live run every event waits for its real time.
        contract.sources.clear();
    }
    let witness = Witness::new(roster.latencies.clone(), &leaves);
    results.witnessed_by(witness.clone())?;
    let hub = Hub::new(actors, &leaves, roster.latencies.clone())
        .with_contract(contract)
        .with_record_check(Box::new(move |actor, record| whole.may_write(actor, record)))
        .with_observer(Box::new(move |envelope| witness.record_message(envelope)));
    watched.watch(hub.activity(), &roster.names);
    watched.report_long_batches(routing.stall_after)?;
    let here = peers.iter().all(|peer| peer.connection.remote_address().ip().is_loopback());
    let contact = if here { Contact::Blockers } else { Contact::All };
    let mut links: Vec<LeafLink> = LeafLink::link_leaves(peers);

    let irreplaceable = why_irreplaceable(topology, routing.live.is_some());
    let mut returns = None;
    if groups.is_some() || (irreplaceable.is_none() && !routing.patience.is_zero()) {
        listener.let_return();
        if let Some(groups) = groups.as_ref().filter(|groups| *groups != playing) {
            return Err(regrouped_failure(kept, listener, groups));
        }
        let goes_on = groups.is_some();
        let journal = open_journal(&results, goes_on, playing, loaded, inputs)?;
        results.resumable_by(Some(how_to_resume(&routing, results.out_path())));
        returns = Some(Returns { journal, door: &mut listener, gone: &mut gone, patience: routing.patience, goes_on });
    }
    let joined = begun.elapsed();
    let mut progress = results.progress_line();
    let watch = Watch {
        stall_after: routing.stall_after,
        progress: &mut |now, events, records| {
            if let Some(freight) = &mut *freight.borrow_mut() {
                freight.start_released(records);
            }
            progress.update(now, events, records);
        },
        record: &mut |entries| {
            results.record(entries).and_then(|()| results.check_contradiction())?;
            freight.borrow().as_ref().map_or(Ok(()), Freight::check_failed)
        },
        contact,
        shares_core: here && pin::has_one_core(),
        speed: routing.live,
        names: &roster.names,
        carried,
        interruptions: &mut interruptions,
        fault: &fault,
        returns,
    };
    let mut outcome = match over {
        true => {
            drive_hub::conclude_run(kept, hub, playing.iter().map(|parties| parties_label(parties)).collect(), watch)
        }
        false => drive_hub::drive_hub(kept, hub, &mut links, watch),
    };
    outcome.wall = outcome.wall.saturating_sub(results.written_for());
    // All members are still connected, and learn of a failure that shows only now.
    let played_out = outcome.end.is_ok();
    outcome.end = fault.prefer_fault(outcome.end).and_then(|()| results.final_verdict(outcome.reached));
    let mut moved = None;
    if let (Some(freight), Ok(())) = (freight.into_inner(), &outcome.end) {
        match kept.block_on(all_arrived(freight, &mut interruptions)) {
            Ok(all) => moved = Some(all),
            Err(failure) => outcome.end = Err(failure),
        }
    }
    if let (Some(why), Err(Failure::LostPeer { text, .. })) = (irreplaceable, &mut outcome.end) {
        text.push_str(&format!("\n  {why}"));
    }
    progress.clear();
    if played_out && outcome.end.is_err() {
        kept.block_on(drive_hub::call_off(&mut links));
    }

    let setting = RunSetting { layout: routing.layout, began: begun, joined, moved, live: routing.live };
    send_home(kept, listener, links, over, results, outcome, setting)
}

/// Reports the end of the run to all members, and writes the results.
fn send_home(
    kept: &WatchedRuntime,
    listener: Listener,
    links: Vec<LeafLink>,
    over: bool,
    results: Results<'_>,
    outcome: RunOutcome,
    setting: RunSetting,
) -> Result<(), Failure> {
    let (close, reason) = match &outcome.end {
        Ok(()) => (Close::Finished, String::new()),
        Err(failure) => (Close::Stopped, failure.to_string()),
    };
    let ends = links.into_iter().map(LeafLink::into_ends).collect();
    if over {
        // Members that still look for a router are notified meanwhile.
        let end = results.write_outcome(outcome, setting);
        kept.block_on(listener.close(ends, close, ""));
        return end;
    }
    // Before the results, so that no member has to wait until they are written.
    kept.block_on(listener.close(ends, close, reason.lines().next().unwrap_or_default()));
    results.write_outcome(outcome, setting)
}

/// The state before the first connection.
struct Prepared<'a> {
    results: Results<'a>,
    /// The members that each process played. None if the run is new.
    groups: Option<Vec<Vec<Party>>>,
    /// The file of the topology, and all files that it was read from, as typed by the user.
    written_in: String,
    inputs: Vec<Input>,
    /// Start of the command.
    begun: Instant,
}

/// Creates the folder of the results, with the journal of a resumed run, and reads the launcher's command line.
fn prepare_results<'a>(routing: &Routing, loaded: &'a Loaded, mut begun: Instant) -> Result<Prepared<'a>, Failure> {
    let mut left = routing.resume.as_deref().map(|folder| go_on_with(folder, loaded)).transpose()?;
    if routing.goes_on {
        let out = routing.out.clone().unwrap_or_else(|| default_out(&loaded.topology));
        left = go_on_with(&out, loaded).ok();
    }
    let out = left.as_ref().map(|left| left.out.clone()).or(routing.out.clone());
    let mut results = Results::create(out.as_deref(), loaded, routing.keep, routing.live.is_some())?;
    let mut groups = None;
    if let Some(left) = left {
        // From now on this process owns the journal, and its results say how to resume.
        results.resumable_by(Some(how_to_resume(routing, results.out_path())));
        groups = Some(left.head.groups.clone());
        left.move_journal(results.partial_dir().path())?;
    }
    results.set_format(routing.format);
    results.with_parquet(routing.parquet);
    let mut written_in = loaded.path().to_owned();
    let mut inputs = input_files(loaded);
    if let Some(path) = &routing.asked {
        let asked = std::fs::read(path).ok().and_then(|json| serde_json::from_slice(&json).ok());
        let asked: Asked = asked.ok_or_else(|| Failure::System(format!("cannot read {}", path.display())))?;
        // The launcher's start is ours: the processes share a clock, but cannot exchange instants.
        begun = begun.checked_sub(Duration::from_secs_f64(asked.seconds)).unwrap_or(begun);
        pin::let_others_use(asked.other_cores);
        if let Some(input) = asked.inputs.first() {
            written_in.clone_from(&input.path);
        }
        inputs.clone_from(&asked.inputs);
        results.set_command(asked.command, asked.inputs);
    }
    if let Some(path) = &routing.owner_of {
        results.give_to_owner_of(path)?;
    }
    results.shown_at(routing.shown_out.clone());
    Ok(Prepared { results, groups, written_in, inputs, begun })
}

/// Opens the socket, and prints its address.
fn open_listener(routing: &Routing, identity: &Identity) -> Result<Listener, Failure> {
    let mut listener = Listener::bind(routing.bind, identity, &QuicOptions::default())
        .map_err(|error| Failure::System(error.to_string()))?;
    announce_line(&format!("{LISTENING_ON}{}", listener.address()))?;
    if routing.held {
        // A launcher that no longer reads has left, which is noticed elsewhere.
        listener.set_count_report(|processes| drop(announce_line(&format!("{JOINED}{processes}"))));
    } else {
        listener.set_join_report(note_joined);
    }
    Ok(listener)
}

/// The journal of the run: that of the resumed run, or a new one.
fn open_journal(
    results: &Results<'_>,
    goes_on: bool,
    playing: &[Vec<Party>],
    loaded: &Loaded,
    inputs: Vec<Input>,
) -> Result<Journal, Failure> {
    let folder = results.partial_dir().path();
    if goes_on {
        return Ok(Journal::open(folder)?.1);
    }
    let head = Head {
        release: RELEASE.to_owned(),
        topology_hash: loaded.topology.hash().to_string(),
        groups: playing.to_vec(),
        topology: written_out(&loaded.topology, loaded.path()),
        inputs,
        started: utc_now(),
    };
    Journal::create(folder, &head)
}

/// Waits for the loads that are still under way.
async fn all_arrived(freight: Freight, interruptions: &mut Interruptions) -> Result<Moved, Failure> {
    tokio::select! {
        arrived = freight.finish() => arrived,
        Some(failure) = interruptions.recv() => Err(match failure {
            Failure::LostPeer { label, text } => {
                let text = format!("lost {label} while payload was still under way: {text}");
                Failure::LostPeer { label, text }
            }
            other => other,
        }),
    }
}

/// The run of this topology that can be resumed in this folder.
fn go_on_with(folder: &Path, loaded: &Loaded) -> Result<Resumable, Failure> {
    let left = Resumable::find(folder)?;
    let ours = loaded.topology.hash().to_string();
    if left.head.topology_hash != ours {
        return Err(Failure::Input(format!(
            "{}: this run is of topology {}, and {} is topology {ours}: expected the same file and settings",
            folder.display(),
            left.head.topology_hash,
            loaded.path()
        )));
    }
    Ok(left)
}

fn how_to_resume(routing: &Routing, out: &Path) -> String {
    match routing.held {
        true => format!("hansa run --resume {}", out.display()),
        false => format!("hansa-router --resume {} instead of --out, with the same topology", out.display()),
    }
}

/// The failure of a resumed run whose members are grouped otherwise than before.
fn regrouped_failure(kept: &WatchedRuntime, listener: Listener, groups: &[Vec<Party>]) -> Failure {
    let groups: Vec<String> = groups.iter().map(|group| parties_label(group)).collect();
    let text = format!(
        "this run was started with other groups of sites and users per process: expected one process for each of {}",
        groups.join("; ")
    );
    kept.block_on(listener.close(Vec::new(), Close::Stopped, &text));
    Failure::Input(text)
}

/// The reason for which a lost process cannot be replaced: its loss would also lose its measurements, loads on their
/// way to it, or the state of a program that the process cannot start again. None if it can be replaced.
pub fn why_irreplaceable(topology: &Topology, live: bool) -> Option<&'static str> {
    let moves_bytes = topology.cables.as_ref().is_some_and(|cables| cables.payload.is_some());
    if live {
        Some("a live run measures time, so a process that is lost cannot be replaced")
    } else if moves_bytes {
        Some("real bytes move in this run (payload), so a process that is lost cannot be replaced")
    } else if topology.sites.iter().any(|site| runs_already(&site.program)) {
        Some(
            "a scheduler was running before this run (socket) and cannot begin anew, so a process that is lost cannot \
             be replaced",
        )
    } else {
        None
    }
}

fn runs_already(program: &Program) -> bool {
    !program.socket.is_empty() && program.command.is_empty()
}

/// The mover of real bytes. None if the topology moves none.
fn build_freight(
    topology: &Topology,
    roster: &Roster,
    peers: &[Peer],
    leaves: &[Vec<ActorId>],
    live: Option<f64>,
) -> Option<Freight> {
    let payload = topology.cables.as_ref()?.payload;
    if live.is_none() && payload.is_none() {
        return None;
    }
    let homes =
        peers.iter().zip(leaves).map(|(peer, ids)| (peer.connection.clone(), sites_among(ids, roster))).collect();
    let amount = move |bytes| match payload {
        Some(payload) if live.is_none() => payload.amount(bytes),
        _ => bytes,
    };
    let live = live.map(|speed| {
        let paths = topology::network_paths(topology);
        let roles = roster.roles.clone();
        let shaper = Arc::new(Shaper::new(paths.links.clone(), speed));
        LiveLinks {
            shaper,
            route: Box::new(move |from, to| {
                site_of_actor(from, &roles)
                    .zip(site_of_actor(to, &roles))
                    .map(|(from, to)| paths.route(from, to).to_vec())
                    .unwrap_or_default()
            }),
        }
    });
    Some(Freight::new(homes, roster.names.clone(), topology.seed, amount, live))
}

fn sites_among(ids: &[ActorId], roster: &Roster) -> Vec<ActorId> {
    ids.iter().copied().filter(|id| matches!(roster.roles[id.index()], Role::Site(_))).collect()
}

fn site_of_actor(actor: ActorId, roles: &[Role]) -> Option<usize> {
    match roles[actor.index()] {
        Role::Site(site) => Some(site),
        _ => None,
    }
}

/// Collects all that may end the run from outside: signals and messages of the launcher.
fn watch_for_end(
    routing: &Routing,
    results: PartialDir,
    stop: &Stop,
    actors: &ActorWatch,
) -> Result<(Interruptions, mpsc::UnboundedReceiver<LostProcess>), Failure> {
    // If the launcher is gone, its folder is removed.
    let dir = Path::new(&routing.topology).parent().filter(|_| routing.held).map(Path::to_owned);
    let cleanup = Cleanup { folders: dir.into_iter().collect(), results: Some(results) };
    let (words, interruptions) = mpsc::unbounded_channel();
    let (losses, gone) = mpsc::unbounded_channel();
    let handle =
        StopHandle::new(words, cleanup, stop.clone()).with_lost_processes(losses).with_actor_watch(actors.clone());
    if routing.held {
        handle.clone().watch_launcher()?;
    }
    on_interrupt(move || handle.interrupt(Asker::System))?;
    Ok((interruptions, gone))
}

/// Prints a line for the process that started the router, such as the address, which it cannot know if any port will
/// do.
fn announce_line(line: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}")
        .and_then(|()| stdout.flush())
        .map_err(|error| Failure::System(format!("cannot write to standard output: {}", io_reason(&error))))
}

type Interruptions = mpsc::UnboundedReceiver<Failure>;

/// Admits all members. If some do not join, all others are sent away.
async fn admit_members(
    mut listener: Listener,
    terms: JoinTerms,
    routing: &Routing,
    interruptions: &mut Interruptions,
    gone: &mut mpsc::UnboundedReceiver<LostProcess>,
) -> Result<(Listener, Vec<Peer>), Failure> {
    let lost_members = listener.loss_sender();
    let until = tokio::time::Instant::now() + routing.join_within;
    let mut admitting = Box::pin(listener.admit_all(terms));
    let end = loop {
        tokio::select! {
            // A lost process is reported before a new one is admitted in its place.
            biased;
            Some(LostProcess { label, process, why }) = gone.recv() => {
                err::note(&format!("lost {label} before the run began: {why}; waiting for it to come back"));
                let _ = lost_members.send(LostMember { label, process });
            }
            admitted = &mut admitting => break admitted.map_err(Failure::Program),
            Some(failure) = interruptions.recv() => break Err(match failure {
                Failure::LostPeer { label, text } => {
                    let text = format!("lost {label} before the run began: {text}");
                    Failure::LostPeer { label, text }
                }
                other => other,
            }),
            () = tokio::time::sleep_until(until) => {
                let text = format!("after {} s the router is still waiting for ", routing.join_within.as_secs_f64());
                break Err(Failure::NotJoined(text));
            }
        }
    };
    drop(admitting);
    let failure = match end {
        Ok(peers) => {
            tracing::info!("all members have joined: the run begins");
            return Ok((listener, peers));
        }
        Err(Failure::NotJoined(text)) => {
            let missing = listener.missing_parties();
            Failure::NotJoined(format!("{text}{}", list_parties(&missing, missing.len())))
        }
        Err(failure) => failure,
    };
    // Members that have joined should not wait for a run that will not start.
    listener.close(Vec::new(), Close::Stopped, &failure.to_string()).await;
    Err(failure)
}

/// Reports a process that has joined a router without a launcher, and the members that are still missing.
fn note_joined(joined: &[Party], missing: &[Party]) {
    let others = match missing.len() {
        0 => "all members are here".to_owned(),
        count => format!("waiting for {}", list_parties(missing, count)),
    };
    match joined {
        [] => err::note(&others),
        joined => err::note(&format!("{} joined; {others}", list_parties(joined, joined.len()))),
    }
}

fn party_ids(roster: &Roster, parties: &[Party]) -> Result<Vec<ActorId>, Failure> {
    parties
        .iter()
        .map(|party| {
            roster.find(party).ok_or_else(|| Failure::Internal(format!("{party} joined but has no part in the run")))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_are_missing_are_named_up_to_a_point() {
        let sites = |count| (1..=count).map(|site| Party::Site(format!("s{site}"))).collect::<Vec<_>>();
        let listed = |parties: &[Party]| list_parties(parties, parties.len());
        assert_eq!(listed(&[sites(1), vec![Party::User("alice".to_owned())]].concat()), "site s1, user alice");
        assert!(listed(&sites(10)).ends_with(", site s10"));
        assert!(listed(&sites(12)).ends_with(", site s10 and 2 more"));
        assert!(list_parties(&sites(10), 12).ends_with(", site s10 and 2 more"));
    }
}
