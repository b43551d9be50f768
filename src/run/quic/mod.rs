//! Communication of processes: the router listens and admits, a leaf joins, and each pair has one long-lived stream of
//! frames.
//!
//! The content of frames is determined elsewhere. Everything here runs best on a `current_thread` runtime. Peers take a
//! runtime that is not driven for longer than the idle timeout for dead: `run/keeper.rs` prevents that.

mod admission;
mod frame;
mod gate;
mod join;
mod socket;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use quinn::{AckFrequencyConfig, ConnectionError, Endpoint, EndpointConfig, TransportConfig, VarInt};
use quinn_proto::HashedConnectionIdGenerator;

use tokio::time::timeout;

use crate::disk::io_reason;
use crate::identity::{IdentityError, ResetKey};
use crate::sanitize::sanitize_line;
use hansa_sim::protocol::codec::FRAME_MAX;
use hansa_sim::protocol::handshake::Party;

pub use admission::{JoinTerms, Listener, LostMember};
pub use frame::{FrameReceiver, FrameSender, append_frame, encode_frame, encode_in_pieces, frame_contents};
use gate::Gate;
pub use gate::LoadSender;
pub use join::{JoinError, Joined, connect_router};

/// Longest hello: the allocation for a peer before it is known.
const HELLO_MAX: usize = 256 << 10;

/// Length of a packet on loopback; a frame then seldom needs two.
const LOOPBACK_MTU: u16 = 6000;

/// Largest number of streams with loads beside the stream of frames.
pub const LOADS_MAX: u32 = 1024;

/// Window of a peer before it is known: one hello.
const STRANGERS_WINDOW: u32 = HELLO_MAX as u32 + (16 << 10);

/// Window of a peer on its stream of frames. Two sides that write a frame each to one another, and only then read, must
/// not wait for ever.
const FRAMES_WINDOW: u32 = 2 * FRAME_MAX as u32;

/// Memory, in bytes, for reports of a leaf on its external clocks. Each report replaces those before it.
const CLOCK_REPORTS_MAX: usize = 1 << 10;

/// Time limit for the last bytes when a connection is closed in good order.
const FINISH_TIMEOUT: Duration = Duration::from_secs(5);

/// Time limit after that for connections to be forgotten; QUIC itself asks for some 90 ms.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Keep-alive period on one machine. It costs little there to ask more often, and the answer soon shows that the other
/// side has been restarted.
const NEAR_KEEP_ALIVE: Duration = Duration::from_millis(400);

#[derive(Clone, Debug)]
pub struct QuicOptions {
    /// Duration of silence after which a peer is lost.
    pub idle_timeout: Duration,
    /// Period in which an idle peer shows that it lives; on one machine it is shorter.
    pub keep_alive: Duration,
    /// Time limit for a newcomer from its first packet to its hello.
    pub handshake_timeout: Duration,
    /// Largest number of newcomers on their way to a hello; more have to wait.
    pub handshakes_max: usize,
    /// Time limit of a leaf's search for the router.
    pub join_timeout: Duration,
    /// True if it continues the search when a router has opened and disappeared.
    pub insists: bool,
}

impl Default for QuicOptions {
    fn default() -> QuicOptions {
        QuicOptions {
            idle_timeout: Duration::from_secs(10),
            keep_alive: Duration::from_secs(2),
            handshake_timeout: Duration::from_secs(5),
            handshakes_max: 1000,
            join_timeout: Duration::from_secs(60),
            insists: true,
        }
    }
}

/// A process that has joined, as the router sees it.
#[derive(Debug)]
pub struct Peer {
    pub parties: Vec<Party>,
    /// Its process number on its machine, by its own statement.
    pub process: u32,
    pub sender: FrameSender,
    pub receiver: FrameReceiver,
    pub connection: Connection,
}

/// A connection, to be closed or watched while others hold the halves of its stream.
#[derive(Clone, Debug)]
pub struct Connection {
    quic: quinn::Connection,
    endpoint: Endpoint,
    gate: Arc<Gate>,
}

impl Connection {
    fn new(quic: quinn::Connection, endpoint: Endpoint) -> Connection {
        Connection { quic, endpoint, gate: Arc::default() }
    }

    pub fn remote_address(&self) -> SocketAddr {
        self.quic.remote_address()
    }

    /// Closes at once; data under way is lost.
    pub fn close(&self, close: Close, reason: &str) {
        self.quic.close(close.into(), reason.as_bytes());
    }

    /// Numbers of packets sent to the other side and received from it.
    pub fn packet_counts(&self) -> (u64, u64) {
        let stats = self.quic.stats();
        (stats.udp_tx.datagrams, stats.udp_rx.datagrams)
    }

    /// Lets the other side send frames of every length, now that it is known.
    fn trust_peer(&self) {
        self.quic.set_receive_window(FRAMES_WINDOW.into());
    }

    /// Lets the peer open streams of bulk data, with at most `unread` bytes of it unread.
    pub fn take_loads(&self, unread: u32) {
        self.quic.set_receive_window((FRAMES_WINDOW + unread).into());
        self.quic.set_max_concurrent_uni_streams(LOADS_MAX.into());
    }

    /// Number of bytes received from the other side, of all kinds.
    pub fn bytes_in(&self) -> u64 {
        self.quic.stats().udp_rx.bytes
    }

    /// Opens a stream for a load to the other side, once it accepts another one.
    pub async fn open_uni(&self) -> std::io::Result<LoadSender> {
        Ok(LoadSender::new(self.quic.open_uni().await?, self.gate.clone()))
    }

    /// The next stream that the other side opens.
    pub async fn accept_uni(&self) -> std::io::Result<quinn::RecvStream> {
        Ok(self.quic.accept_uni().await?)
    }

    /// Reports, as a leaf, the virtual time in us that its external clocks have passed in all. A report may be lost.
    pub fn report_clocks(&self, micros: u64) {
        let _ = self.quic.send_datagram(micros.to_le_bytes().to_vec().into());
    }

    /// Waits for the next report of a leaf on its external clocks. None if the connection has ended.
    pub async fn clock_report(&self) -> Option<u64> {
        loop {
            let datagram = self.quic.read_datagram().await.ok()?;
            if let Ok(micros) = datagram[..].try_into() {
                return Some(u64::from_le_bytes(micros));
            }
        }
    }

    /// The reason for the end of the connection, if it has ended.
    pub fn end_reason(&self) -> Option<WireError> {
        self.quic.close_reason().map(WireError::from)
    }

    /// Waits for the end of the connection, and returns the reason.
    pub async fn await_closed(&self) -> WireError {
        self.quic.closed().await.into()
    }

    /// Leaves as a leaf: waits until the router has all written data, closes, and gives the close time to arrive.
    pub async fn leave(&self, mut sender: FrameSender, close: Close, reason: &str) {
        let _ = timeout(FINISH_TIMEOUT, sender.finish()).await;
        // A router that has closed the connection wants no more of it.
        if self.end_reason().is_none() {
            self.close(close, reason);
            let _ = timeout(DRAIN_TIMEOUT, self.endpoint.wait_idle()).await;
        }
    }

    fn is_local(&self) -> bool {
        self.remote_address().ip().is_loopback()
    }
}

/// Reason for closing a connection, for programs; a reason in words goes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Close {
    /// Dropped without a message: the process ended or gave up.
    Dropped,
    /// The run has ended well.
    Finished,
    /// The peer was not admitted.
    Refused,
    /// The other side broke the protocol.
    Broken,
    /// The run was stopped.
    Stopped,
    /// A program that decides for the other side has failed.
    Failed,
    /// An actor on the other side broke a rule of the run, or has reached the end of time.
    Breach,
}

impl Close {
    const ALL: [Close; 7] =
        [Close::Dropped, Close::Finished, Close::Refused, Close::Broken, Close::Stopped, Close::Failed, Close::Breach];
}

impl From<Close> for VarInt {
    fn from(close: Close) -> VarInt {
        VarInt::from_u32(close as u32)
    }
}

/// Failure or end of a connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    #[error("{}", closed_words(*.close, reason))]
    Closed {
        /// None if the other side used a code that this release does not know.
        close: Option<Close>,
        reason: String,
    },
    #[error("the connection timed out: nothing was received from the other side")]
    Silent,
    #[error("the other side has forgotten the connection; it was probably restarted")]
    Reset,
    #[error("{0}")]
    Tls(String),
    #[error("the other side refuses connections at the moment")]
    Busy,
    #[error("its connection was given up for that of another process in its place")]
    ClosedHere,
    #[error("the connection failed: {0}")]
    Failed(String),
    #[error("a frame of {length} bytes was announced, but at most {max} are allowed")]
    TooLong { length: usize, max: usize },
    #[error("the stream ended in the middle of a frame")]
    Truncated,
}

impl WireError {
    /// True if the other side has disappeared without ending the connection, so that it may come back.
    pub fn closed_without_reason(&self) -> bool {
        match self {
            WireError::Closed { close, .. } => matches!(close, None | Some(Close::Dropped)),
            WireError::Silent | WireError::Reset | WireError::Failed(_) | WireError::Truncated => true,
            WireError::Tls(_) | WireError::Busy | WireError::ClosedHere | WireError::TooLong { .. } => false,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum BindError {
    #[error("cannot listen on {address}: {}", not_bound(error))]
    Socket { address: SocketAddr, error: std::io::Error },
    #[error(transparent)]
    Identity(#[from] IdentityError),
}

fn not_bound(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::AddrInUse => "the address is in use, maybe by another router: end that one, or choose \
             another address with --bind (port 0 for any free one)"
            .to_owned(),
        std::io::ErrorKind::AddrNotAvailable => {
            "this machine does not have the address: choose one of its own with --bind (0.0.0.0 for all)".to_owned()
        }
        _ => io_reason(error),
    }
}

impl From<ConnectionError> for WireError {
    fn from(error: ConnectionError) -> WireError {
        const CRYPTO: std::ops::Range<u64> = 0x100..0x200;
        match error {
            ConnectionError::ApplicationClosed(closed) => WireError::Closed {
                close: Close::ALL.into_iter().find(|close| VarInt::from(*close) == closed.error_code),
                reason: sanitize_line(&closed.reason),
            },
            ConnectionError::ConnectionClosed(closed) => match u64::from(closed.error_code) {
                code if CRYPTO.contains(&code) => WireError::Tls(alert_from_them(code as u8)),
                2 => WireError::Busy,
                _ => WireError::Failed(sanitize_line(closed.to_string().as_bytes())),
            },
            ConnectionError::TransportError(error) => match u64::from(error.code) {
                code if CRYPTO.contains(&code) => WireError::Tls(alert_from_us(code as u8, &error.reason)),
                _ => WireError::Failed(error.to_string()),
            },
            ConnectionError::TimedOut => WireError::Silent,
            ConnectionError::Reset => WireError::Reset,
            ConnectionError::LocallyClosed => WireError::ClosedHere,
            other => WireError::Failed(other.to_string()),
        }
    }
}

impl From<quinn::WriteError> for WireError {
    fn from(error: quinn::WriteError) -> WireError {
        match error {
            quinn::WriteError::ConnectionLost(error) => error.into(),
            other => WireError::Failed(other.to_string()),
        }
    }
}

impl From<quinn::ReadError> for WireError {
    fn from(error: quinn::ReadError) -> WireError {
        match error {
            quinn::ReadError::ConnectionLost(error) => error.into(),
            other => WireError::Failed(other.to_string()),
        }
    }
}

impl From<quinn::StoppedError> for WireError {
    fn from(error: quinn::StoppedError) -> WireError {
        match error {
            quinn::StoppedError::ConnectionLost(error) => error.into(),
            other => WireError::Failed(other.to_string()),
        }
    }
}

fn closed_words(close: Option<Close>, reason: &str) -> String {
    match close {
        Some(Close::Dropped) if reason.is_empty() => "the other side ended without a regular close".to_owned(),
        Some(Close::Finished) if reason.is_empty() => "the other side has finished".to_owned(),
        _ if reason.is_empty() => "the other side closed the connection without a reason".to_owned(),
        Some(Close::Refused) => reason.to_owned(),
        _ => format!("the other side closed the connection: {reason}"),
    }
}

/// The complaint of a TLS alert from the other side about us.
fn alert_from_them(alert: u8) -> String {
    let what = match alert {
        48 => "it does not know the authority that signed our certificate: the identities come from two runs",
        45 => "our certificate has expired, or its clock is wrong: issue new identities",
        42 | 43 | 46 | 51 => "our certificate is not valid there",
        116 => "it requires a certificate and got none",
        120 => "it speaks another version of the protocol: use the same release everywhere",
        70 => "it speaks another version of TLS",
        _ => "the TLS handshake failed",
    };
    format!("the other side refused us: {what} (TLS alert {alert})")
}

/// Our complaint about the other side, in rustls's terms.
fn alert_from_us(alert: u8, reason: &str) -> String {
    let what = match alert {
        48 => "its certificate was signed by an authority that this run does not know".to_owned(),
        45 => "its certificate has expired, or this machine's clock is wrong".to_owned(),
        116 => "it has no certificate".to_owned(),
        120 => "it speaks another version of the protocol".to_owned(),
        _ => "the TLS handshake with it failed".to_owned(),
    };
    format!("the other side was refused: {what} ({reason})")
}

/// Settings for connections with peers at such an address.
fn transport_settings(options: &QuicOptions, remote: IpAddr) -> Arc<TransportConfig> {
    let mut config = TransportConfig::default();
    config
        .max_idle_timeout(Some(options.idle_timeout.try_into().unwrap_or(VarInt::MAX.into())))
        .keep_alive_interval(Some(if is_loopback(remote) {
            options.keep_alive.min(NEAR_KEEP_ALIVE)
        } else {
            options.keep_alive
        }))
        .max_concurrent_uni_streams(0u32.into())
        .max_concurrent_bidi_streams(1u32.into())
        .stream_receive_window(FRAMES_WINDOW.into())
        // Raised once the other side is known, and again if it is to send loads.
        .receive_window(STRANGERS_WINDOW.into())
        .datagram_receive_buffer_size(Some(CLOCK_REPORTS_MAX))
        .initial_rtt(Duration::from_millis(100));

    // A lost packet that nothing follows is noticed only after the time by which its acknowledgement may be late.
    let mut acks = AckFrequencyConfig::default();
    acks.max_ack_delay(Some(Duration::from_millis(5)));
    config.ack_frequency_config(Some(acks));

    if is_loopback(remote) {
        // A list of unacknowledged writes is kept and searched: small writes get slow when it may grow long.
        config.send_window(64 << 10).initial_mtu(LOOPBACK_MTU).mtu_discovery_config(None);
    } else {
        config.send_window(1 << 20);
    }
    Arc::new(config)
}

/// Settings of an endpoint. One that is restarted with the same key is believed when it says that it does not know an
/// old connection.
fn endpoint_config(reset_key: Option<ResetKey>) -> EndpointConfig {
    let mut config = EndpointConfig::default();
    if let Some(key) = reset_key {
        // It answers so only for connections whose numbers an earlier endpoint could have given.
        let numbers = key.connection_seed();
        config = EndpointConfig::new(Arc::new(key));
        config.cid_generator(move || Box::new(HashedConnectionIdGenerator::from_key(numbers)));
        // All members ask at about the same time.
        config.min_reset_interval(Duration::from_millis(1));
    }
    config.max_udp_payload_size(LOOPBACK_MTU).expect("QUIC allows packets of that length");
    config
}

fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}
