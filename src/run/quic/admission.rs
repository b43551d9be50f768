//! The router's door: each member of the roster comes in once, with a certificate that names it; others are refused.
//!
//! Newcomers are heard concurrently, each with its own time limit, so a slow or hostile one keeps no other out. The
//! door stays open during the run only to tell latecomers why they cannot come in.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Endpoint, Incoming, ServerConfig, TransportErrorCode};
use rustls::pki_types::CertificateDer;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::socket::InTurns;
use super::{
    BindError, Close, Connection, DRAIN_TIMEOUT, FINISH_TIMEOUT, FrameReceiver, FrameSender, HELLO_MAX, Peer,
    QuicOptions, WireError, encode_frame, endpoint_config, is_loopback, transport_settings,
};
use crate::identity::{CertificateNames, Identity};
use crate::sanitize::{mark_reported, sanitize_line_up_to};
use hansa_sim::protocol::codec::{self, CodecError, FRAME_MAX};
use hansa_sim::protocol::handshake::{Hello, NAMED, PROTOCOL, Party, RELEASE, TopologyHash, Welcome, parties_label};

/// Number of concurrent handshakes from which a newcomer first has to prove that packets reach it at its address.
const PROOF_FROM: usize = 32;

/// Largest number of latecomers heard concurrently during a run.
const LATECOMERS_MAX: usize = 16;

/// Time within which the last packets of a dead process arrive, and number of looks for more.
const STALE_WITHIN: Duration = Duration::from_millis(250);
const LOOKS: u32 = 20;

/// Largest number of complaints about strangers logged per second; more are counted.
const COMPLAINTS_MAX: u32 = 10;

/// The facts on which the router and every newcomer must agree.
#[derive(Clone, Debug)]
pub struct JoinTerms {
    pub roster: Vec<Party>,
    pub topology: TopologyHash,
}

/// A socket on which the router can be reached.
#[derive(Debug)]
pub struct Listener {
    endpoint: Endpoint,
    address: SocketAddr,
    /// Settings for newcomers on this machine, which can take longer packets than others.
    near: Arc<ServerConfig>,
    options: QuicOptions,
    doorman: Option<JoinHandle<()>>,
    door: Option<Arc<Door>>,
    /// Peers that have joined while others are awaited, kept to be notified if the run does not begin.
    waiting: BTreeMap<usize, Peer>,
    /// Reports about dead processes before the run begins.
    gone: (mpsc::UnboundedSender<LostMember>, mpsc::UnboundedReceiver<LostMember>),
    /// Called with the number of processes here whenever it changes.
    count_report: Option<fn(usize)>,
    named: Option<JoinReport>,
    /// Processes that join in the place of others, during the run.
    arrivals: Option<mpsc::UnboundedReceiver<Peer>>,
}

/// Called with the parties of each process that joins before the run begins, none at first, and with those still
/// missing.
pub type JoinReport = fn(joined: &[Party], missing: &[Party]);

/// A report that a process is gone: its label and its number.
#[derive(Clone, Debug)]
pub struct LostMember {
    pub label: String,
    pub process: u32,
}

impl Listener {
    /// Binds the address (port 0 for any free one) without admitting any process yet.
    pub fn bind(address: SocketAddr, identity: &Identity, options: &QuicOptions) -> Result<Listener, BindError> {
        let far = server_config(identity, options)?;
        let mut near = far.clone();
        near.transport_config(transport_settings(options, IpAddr::V4(Ipv4Addr::LOCALHOST)));

        let socket_error = |error| BindError::Socket { address, error };
        let socket = std::net::UdpSocket::bind(address).map_err(socket_error)?;
        let endpoint = Endpoint::new(endpoint_config(Some(identity.reset_key())), Some(far), socket, Arc::new(InTurns))
            .map_err(socket_error)?;
        let address = endpoint.local_addr().map_err(socket_error)?;
        Ok(Listener {
            endpoint,
            address,
            near: Arc::new(near),
            options: options.clone(),
            doorman: None,
            door: None,
            waiting: BTreeMap::new(),
            gone: mpsc::unbounded_channel(),
            count_report: None,
            named: None,
            arrivals: None,
        })
    }

    /// Reports the number of processes here, whenever one comes or goes before the run begins.
    pub fn set_count_report(&mut self, count_report: fn(usize)) {
        self.count_report = Some(count_report);
    }

    /// Reports the parties that join before the run begins, and those still missing, by name.
    pub fn set_join_report(&mut self, named: JoinReport) {
        self.named = Some(named);
    }

    /// A channel for reports about dead processes, while members are awaited: the place is then free sooner than
    /// silence tells.
    pub fn loss_sender(&self) -> mpsc::UnboundedSender<LostMember> {
        self.gone.0.clone()
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The parties of the roster that have not joined yet.
    pub fn missing_parties(&self) -> Vec<Party> {
        let Some(door) = &self.door else { return Vec::new() };
        let seats = door.lock_seats();
        door.terms.roster.iter().filter(|party| seats.get(*party).is_some_and(Option::is_none)).cloned().collect()
    }

    /// Waits until all of the roster have joined; the peers come in the roster's order. A peer that is lost while
    /// others are awaited may join again, except one whose program has failed: the error is its report.
    pub async fn admit_all(&mut self, terms: JoinTerms) -> Result<Vec<Peer>, String> {
        let (joined, mut arrivals) = mpsc::unbounded_channel();
        let door = Arc::new(Door::new(terms, self.options.clone(), self.near.clone(), joined));
        self.door = Some(door.clone());
        self.stop_accepting();
        self.doorman = Some(tokio::spawn(accept_newcomers(self.endpoint.clone(), door.clone())));

        self.named.iter().for_each(|named| named(&[], &self.missing_parties()));
        let mut losses = JoinSet::new();
        let awaited = door.lock_seats().len();
        while self.present_count() < awaited {
            tokio::select! {
                // A process that is gone has come before.
                biased;
                Some(peer) = arrivals.recv() => {
                    let connection = peer.connection.clone();
                    losses.spawn(async move { (connection.quic.stable_id(), connection.await_closed().await) });
                    // Its predecessor is silent: the door gave away its seats.
                    let is_replaced = |old: &Peer| shares_party(old, &peer);
                    let replaced: Vec<usize> =
                        self.waiting.iter().filter(|(_, old)| is_replaced(old)).map(|(id, _)| *id).collect();
                    for old in replaced.iter().filter_map(|id| self.waiting.remove(id)) {
                        door.vacate_after(&old.parties, &old.connection);
                    }
                    self.named.iter().for_each(|named| named(&peer.parties, &self.missing_parties()));
                    self.waiting.insert(peer.connection.quic.stable_id(), peer);
                }
                Some(LostMember { label, process }) = self.gone.1.recv() => {
                    let is_gone = |peer: &&Peer| peer.process == process && parties_label(&peer.parties) == label;
                    let its = self.waiting.values().filter(is_gone);
                    its.for_each(|peer| peer.connection.close(Close::Stopped, "the process is gone"));
                }
                Some(Ok((id, why))) = losses.join_next() => {
                    // None if another process has taken its place already.
                    let Some(peer) = self.waiting.remove(&id) else { continue };
                    if let WireError::Closed { close: Some(Close::Failed), reason } = why {
                        return Err(mark_reported(&parties_label(&peer.parties), &reason));
                    }
                    tracing::warn!("{} left before the run began: {why}", list_parties(&peer.parties));
                    door.vacate_after(&peer.parties, &peer.connection);
                }
            }
            if let Some(count_report) = self.count_report {
                count_report(self.waiting.len());
            }
        }
        let mut peers: Vec<Peer> = std::mem::take(&mut self.waiting).into_values().collect();
        peers.sort_by_key(|peer| door.terms.roster.iter().position(|party| peer.parties.contains(party)));
        *door.groups.lock().expect("nothing panics while it holds the groups") =
            peers.iter().map(|peer| peer.parties.clone()).collect();
        door.begun.store(true, Ordering::Relaxed);
        self.arrivals = Some(arrivals);
        Ok(peers)
    }

    /// Number of parties that have joined over a connection that is still open.
    fn present_count(&self) -> usize {
        let open = self.waiting.values().filter(|peer| peer.connection.quic.close_reason().is_none());
        open.map(|peer| peer.parties.len()).sum()
    }

    /// Tells every newcomer that the run is over.
    pub fn turn_away(&mut self, terms: JoinTerms) {
        let (joined, _) = mpsc::unbounded_channel();
        let door = Door::new(terms, self.options.clone(), self.near.clone(), joined);
        self.stop_accepting();
        self.doorman =
            Some(tokio::spawn(accept_newcomers(self.endpoint.clone(), Arc::new(Door { over: true, ..door }))));
    }

    /// Allows the replacement of lost processes from now on.
    pub fn let_return(&self) {
        self.door.iter().for_each(|door| door.returns.store(true, Ordering::Relaxed));
    }

    /// Frees the seats of a lost process, which played these parties over this connection, unless another one has taken
    /// them.
    pub fn vacate_seats(&self, parties: &[Party], lost: &Connection) {
        self.door.iter().for_each(|door| door.vacate_after(parties, lost));
    }

    /// The next process that takes the place of a lost one.
    pub async fn next_returned(&mut self) -> Peer {
        match &mut self.arrivals {
            Some(arrivals) => match arrivals.recv().await {
                Some(peer) => peer,
                None => std::future::pending().await,
            },
            None => std::future::pending().await,
        }
    }

    /// Ends the run: waits until every peer has all data written to it, then closes all connections concurrently.
    pub async fn close(mut self, ends: Vec<(Connection, FrameSender)>, close: Close, reason: &str) {
        let mut finishing = JoinSet::new();
        for (connection, mut sender) in ends {
            finishing.spawn(async move {
                let _ = timeout(FINISH_TIMEOUT, sender.finish()).await;
                // Held until the reason is given: a connection that is dropped is closed without one.
                (connection, sender)
            });
        }
        let ends = finishing.join_all().await;
        self.stop_accepting();
        let open = ends.iter().map(|(connection, _)| connection).filter(|connection| connection.end_reason().is_none());
        let open: Vec<_> = open.map(|connection| (connection, connection.packet_counts().0)).collect();
        self.endpoint.close(close.into(), reason.as_bytes());
        let gone = async {
            if ends.is_empty() || !ends.iter().all(|(connection, _)| connection.is_local()) {
                return self.endpoint.wait_idle().await;
            }
            // Within one machine no packet is lost: it is enough that all have been sent.
            for (connection, before) in open {
                while connection.packet_counts().0 == before {
                    tokio::task::yield_now().await;
                }
            }
        };
        let _ = timeout(DRAIN_TIMEOUT, gone).await;
    }

    fn stop_accepting(&mut self) {
        if let Some(doorman) = self.doorman.take() {
            doorman.abort();
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop_accepting();
    }
}

/// Reason for a refusal, as both sides read it.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("{0}")]
    Wire(#[from] WireError),
    #[error("no hello arrived within {0:?}")]
    Slow(Duration),
    #[error("the first frame is not a hello of {PROTOCOL}: {0}")]
    NoHello(CodecError),
    #[error("the stream ended without a hello")]
    Mute,
    #[error("the router runs release {RELEASE}, but this is release {0}: use the same release everywhere")]
    Release(String),
    #[error("the router runs topology {ours}, but this was started with {theirs}: use the same file everywhere")]
    Topology { ours: TopologyHash, theirs: TopologyHash },
    #[error("the hello contains no names")]
    NoName,
    #[error("the hello names {0} twice")]
    Twice(Party),
    #[error("{0} does not occur in the router's topology")]
    Unknown(Party),
    #[error("the certificate is not valid for {party}, only for {}", list_first(hosts))]
    NotCovered { party: Party, hosts: Vec<String> },
    #[error("{party} has already joined, from {address}: each member joins only once")]
    Taken { party: Party, address: SocketAddr },
    #[error("the run is over")]
    Over,
    #[error("{} would replace a process that played {}: expected the same members", list_parties(.parties), list_parties(.group))]
    Regrouped { parties: Vec<Party>, group: Vec<Party> },
}

/// The state shared by all newcomers.
#[derive(Debug)]
struct Door {
    terms: JoinTerms,
    options: QuicOptions,
    near: Arc<ServerConfig>,
    seats: Mutex<BTreeMap<Party, Option<Connection>>>,
    /// Parties that play together in one process, once the run has begun.
    groups: Mutex<Vec<Vec<Party>>>,
    /// True if a lost process may be replaced during the run.
    returns: AtomicBool,
    joined: mpsc::UnboundedSender<Peer>,
    begun: AtomicBool,
    /// True if the run is over, so that no process is needed any more.
    over: bool,
    complaints: Mutex<Complaints>,
}

/// Logs as many complaints as an operator can read, and counts the rest.
#[derive(Debug)]
struct Complaints {
    since: Instant,
    logged: u32,
    unlogged: u64,
}

/// Accepts newcomers in turn, and talks to each in a task of its own.
async fn accept_newcomers(endpoint: Endpoint, door: Arc<Door>) {
    let places = Arc::new(Semaphore::new(door.options.handshakes_max));
    while let Some(incoming) = endpoint.accept().await {
        let begun = door.begun.load(Ordering::Relaxed);
        let max = if begun { LATECOMERS_MAX.min(door.options.handshakes_max) } else { door.options.handshakes_max };
        let busy = door.options.handshakes_max - places.available_permits();

        if !incoming.remote_address_validated() && (begun || busy >= PROOF_FROM) {
            let _ = incoming.retry();
        } else if busy >= max {
            // It asks again by itself, and there may be a place by then.
            incoming.ignore();
        } else if let Ok(place) = places.clone().try_acquire_owned() {
            let endpoint = endpoint.clone();
            let door = door.clone();
            tokio::spawn(async move {
                handle_newcomer(incoming, endpoint, &door).await;
                drop(place);
            });
        }
        // A flood must not keep the run's own packets waiting.
        tokio::task::yield_now().await;
    }
}

/// Handles one newcomer, from its first packet to its welcome.
async fn handle_newcomer(incoming: Incoming, endpoint: Endpoint, door: &Door) {
    let address = incoming.remote_address();
    let deadline = Instant::now() + door.options.handshake_timeout;
    let slow = || Refusal::Slow(door.options.handshake_timeout);

    let connection = match timeout_at(deadline, accept_connection(incoming, door)).await {
        Ok(Ok(quic)) => Connection::new(quic, endpoint),
        // A member that was there before us has made many attempts, and continued only one of them.
        Ok(Err(error)) if gave_up(&error) => {
            return tracing::debug!("{address} gave up before its hello was read: {error}");
        }
        Ok(Err(error)) => return door.report_refusal(address, &Refusal::Wire(error.into())),
        Err(_) => return door.report_refusal(address, &slow()),
    };

    let admitted = match timeout_at(deadline, read_hello(&connection)).await.unwrap_or_else(|_| Err(slow())) {
        Ok((hello, sender, receiver)) => door.admit_newcomer(hello, &connection, sender, receiver).await,
        Err(refusal) => Err(refusal),
    };
    if let Err(Refusal::Over) = admitted {
        connection.close(Close::Finished, "");
    } else if let Err(refusal) = admitted {
        door.report_refusal(address, &refusal);
        connection.close(Close::Refused, &refusal.to_string());
    }
}

async fn accept_connection(incoming: Incoming, door: &Door) -> Result<quinn::Connection, quinn::ConnectionError> {
    match is_loopback(incoming.remote_address().ip()) {
        true => incoming.accept_with(door.near.clone())?.await,
        false => incoming.accept()?.await,
    }
}

/// True if a newcomer left by itself, with no fault found on either side.
fn gave_up(error: &quinn::ConnectionError) -> bool {
    match error {
        quinn::ConnectionError::TimedOut | quinn::ConnectionError::Reset => true,
        quinn::ConnectionError::ConnectionClosed(close) => close.error_code == TransportErrorCode::APPLICATION_ERROR,
        _ => false,
    }
}

async fn read_hello(connection: &Connection) -> Result<(Hello, FrameSender, FrameReceiver), Refusal> {
    let (send, receive) = connection.quic.accept_bi().await.map_err(WireError::from)?;
    let mut receiver = FrameReceiver::new(receive, HELLO_MAX);
    let hello = codec::decode_frame(receiver.next().await?.ok_or(Refusal::Mute)?).map_err(Refusal::NoHello)?;
    Ok((hello, FrameSender::new(send, connection), receiver.with_frame_max(FRAME_MAX)))
}

impl Door {
    fn new(
        terms: JoinTerms,
        options: QuicOptions,
        near: Arc<ServerConfig>,
        joined: mpsc::UnboundedSender<Peer>,
    ) -> Door {
        Door {
            seats: Mutex::new(terms.roster.iter().map(|party| (party.clone(), None)).collect()),
            groups: Mutex::default(),
            returns: AtomicBool::new(false),
            complaints: Mutex::new(Complaints { since: Instant::now(), logged: 0, unlogged: 0 }),
            begun: AtomicBool::new(false),
            over: false,
            terms,
            options,
            near,
            joined,
        }
    }

    async fn admit_newcomer(
        &self,
        hello: Hello,
        connection: &Connection,
        mut sender: FrameSender,
        receiver: FrameReceiver,
    ) -> Result<(), Refusal> {
        self.check(&hello, connection)?;
        if self.over {
            return Err(Refusal::Over);
        }
        let address = connection.remote_address();
        let (missing, awaited) = match self.take_seats(&hello.parties, connection) {
            // The predecessor may be dead although its connection has not timed out yet.
            Err(Refusal::Taken { .. }) if self.allows_replacing() => {
                self.probe_seated(&hello.parties).await;
                self.take_seats(&hello.parties, connection)?
            }
            seated => seated?,
        };
        connection.trust_peer();

        let mut welcome = Vec::new();
        encode_frame(&Welcome { missing, awaited }, &mut welcome).expect("a welcome is short");
        if let Err(error) = sender.write(&welcome).await {
            self.vacate_after(&hello.parties, connection);
            return Err(error.into());
        }

        tracing::info!("{} joined from {address}; {missing} still to join", list_parties(&hello.parties));
        // The receiver of arrivals is gone once the run is being closed.
        let Hello { parties, process, .. } = hello;
        let _ = self.joined.send(Peer { parties, process, sender, receiver, connection: connection.clone() });
        Ok(())
    }

    /// True if a process may take the place of a dead one: before the run begins, and during runs that can recover.
    fn allows_replacing(&self) -> bool {
        !self.begun.load(Ordering::Relaxed) || self.returns.load(Ordering::Relaxed)
    }

    fn check(&self, hello: &Hello, connection: &Connection) -> Result<(), Refusal> {
        if hello.release != RELEASE {
            return Err(Refusal::Release(sanitize_line_up_to(&hello.release, 40)));
        }
        if hello.topology != self.terms.topology {
            return Err(Refusal::Topology { ours: self.terms.topology, theirs: hello.topology });
        }
        if hello.parties.is_empty() {
            return Err(Refusal::NoName);
        }
        let certificate = peer_certificate(connection);
        let names = CertificateNames::of(&certificate).expect("TLS has read this certificate");
        match hello.parties.iter().find(|party| !names.cover(party)) {
            None => Ok(()),
            Some(party) => Err(Refusal::NotCovered { party: shorten_name(party), hosts: names.hosts() }),
        }
    }

    /// Seats all parties or none. Returns the number of free seats, and the parties that have the first of them.
    fn take_seats(&self, parties: &[Party], connection: &Connection) -> Result<(u32, Vec<Party>), Refusal> {
        let mut seats = self.lock_seats();
        for (at, party) in parties.iter().enumerate() {
            match seats.get(party) {
                None => return Err(Refusal::Unknown(shorten_name(party))),
                Some(Some(taken)) => {
                    return Err(Refusal::Taken { party: party.clone(), address: taken.remote_address() });
                }
                Some(None) if parties[..at].contains(party) => return Err(Refusal::Twice(party.clone())),
                Some(None) => {}
            }
        }
        let groups = self.groups.lock().expect("nothing panics while it holds the groups");
        if let Some(group) = groups.iter().find(|group| group.iter().any(|party| parties.contains(party)))
            && group != parties
        {
            return Err(Refusal::Regrouped { parties: parties.to_vec(), group: group.clone() });
        }
        for party in parties {
            seats.insert(party.clone(), Some(connection.clone()));
        }
        let missing = seats.values().filter(|seat| seat.is_none()).count() as u32;
        let vacant = seats.iter().filter(|(_, seat)| seat.is_none()).map(|(party, _)| party.clone());
        Ok((missing, vacant.take(NAMED).collect()))
    }

    /// Frees the seats of a lost connection, except those that another connection has taken since.
    fn vacate_after(&self, parties: &[Party], lost: &Connection) {
        let mut seats = self.lock_seats();
        for party in parties {
            if let Some(seat) = seats.get_mut(party) {
                seat.take_if(|connection| connection.quic.stable_id() == lost.quic.stable_id());
            }
        }
    }

    /// Frees these seats unless their holders show signs of life soon.
    async fn probe_seated(&self, parties: &[Party]) {
        let held = || -> Vec<Connection> {
            let seats = self.lock_seats();
            parties.iter().filter_map(|party| seats.get(party)?.clone()).collect()
        };
        // Packets of this interval may have been sent before.
        sleep(STALE_WITHIN).await;
        let before: Vec<_> = held().into_iter().map(|connection| (packets_received(&connection), connection)).collect();
        for _ in 0..LOOKS {
            sleep(self.options.keep_alive.mul_f64(1.25) / LOOKS).await;
            let now_held = held();
            if now_held.is_empty() || before.iter().any(|(packets, connection)| packets_received(connection) > *packets)
            {
                return;
            }
        }
        // Another process may have taken the place of one of them meanwhile, and keeps it.
        for (_, connection) in before {
            connection.close(Close::Dropped, "it was silent while another process came in its place");
            self.vacate_after(parties, &connection);
        }
    }

    fn lock_seats(&self) -> MutexGuard<'_, BTreeMap<Party, Option<Connection>>> {
        self.seats.lock().expect("nothing panics while it holds the seats")
    }

    fn report_refusal(&self, address: SocketAddr, refusal: &Refusal) {
        // The door has been shut meanwhile.
        if matches!(refusal, Refusal::Wire(WireError::ClosedHere)) {
            return;
        }
        let mut complaints = self.complaints.lock().expect("nothing panics while it complains");
        if complaints.since.elapsed() >= Duration::from_secs(1) {
            if complaints.unlogged > 0 {
                tracing::warn!("{} more refusals were not logged", complaints.unlogged);
            }
            *complaints = Complaints { since: Instant::now(), logged: 0, unlogged: 0 };
        }
        if complaints.logged < COMPLAINTS_MAX {
            complaints.logged += 1;
            tracing::warn!("refused {address}: {refusal}");
        } else {
            complaints.unlogged += 1;
        }
    }
}

fn packets_received(connection: &Connection) -> u64 {
    connection.packet_counts().1
}

fn peer_certificate(connection: &Connection) -> CertificateDer<'static> {
    let chain = connection.quic.peer_identity().and_then(|any| any.downcast::<Vec<CertificateDer<'static>>>().ok());
    chain.and_then(|chain| chain.into_iter().next()).expect("TLS requires a certificate of each member")
}

/// A name from a stranger, cut to what fits a message.
fn shorten_name(party: &Party) -> Party {
    match party {
        Party::Router => Party::Router,
        Party::Site(name) => Party::Site(cut_name(name)),
        Party::User(name) => Party::User(cut_name(name)),
    }
}

fn cut_name(name: &str) -> String {
    sanitize_line_up_to(name, 80)
}

/// The first of a list that may be long.
fn list_first(hosts: &[String]) -> String {
    const FEW: usize = 5;
    let more = if hosts.len() > FEW { ", ..." } else { "" };
    hosts[..hosts.len().min(FEW)].join(", ") + more
}

fn shares_party(one: &Peer, other: &Peer) -> bool {
    one.parties.iter().any(|party| other.parties.contains(party))
}

fn list_parties(parties: &[Party]) -> String {
    parties.iter().map(Party::to_string).collect::<Vec<_>>().join(", ")
}

fn server_config(identity: &Identity, options: &QuicOptions) -> Result<ServerConfig, BindError> {
    let tls = QuicServerConfig::try_from(identity.server_tls()?).expect("ring has the cipher that QUIC starts with");
    let mut config = ServerConfig::with_crypto(Arc::new(tls));
    config
        .transport_config(transport_settings(options, IpAddr::V4(Ipv4Addr::UNSPECIFIED)))
        // The doorman is quick; a long queue before it is a flood.
        .max_incoming(1024)
        .incoming_buffer_size(64 << 10)
        .incoming_buffer_size_total(4 << 20);
    Ok(config)
}
