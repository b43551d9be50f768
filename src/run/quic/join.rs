//! The search of a leaf for the router, and its join.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Endpoint};
use tokio::time::{Instant, sleep, timeout_at};

use super::socket::InTurns;
use super::{
    Close, Connection, FrameReceiver, FrameSender, QuicOptions, WireError, encode_frame, endpoint_config, is_loopback,
    transport_settings,
};
use crate::disk::io_reason;
use crate::err;
use crate::identity::{Identity, IdentityError, ROUTER_HOST};
use hansa_sim::protocol::codec::{self, CodecError, FRAME_MAX};
use hansa_sim::protocol::handshake::{Hello, Party, Welcome};

/// Duration after which an attempt without an answer is given up and repeated; it doubles with each attempt.
const PATIENCE: Duration = Duration::from_millis(500);
const PATIENCE_MAX: Duration = Duration::from_secs(5);

/// Time limit for a router to confirm our half of the handshake. A router that was killed before never does, and one in
/// its place knows nothing of the connection, nor how to say so.
const CONFIRM_WITHIN: Duration = Duration::from_secs(2);

/// The pause after an attempt that failed at once.
const PAUSE: Duration = Duration::from_millis(100);

/// Duration after which a name that has never had an address is given up: a router may start later than its members,
/// but only a wrong name stays unknown.
const UNKNOWN_AFTER: Duration = Duration::from_secs(10);

/// Duration after which a missing router is reported.
const REPORT_AFTER: Duration = Duration::from_secs(3);

/// A run that has been joined, as a leaf sees it.
#[derive(Debug)]
pub struct Joined {
    /// Number of parties the run still waits for.
    pub missing: u32,
    /// Names of the first of these parties.
    pub awaited: Vec<Party>,
    pub sender: FrameSender,
    pub receiver: FrameReceiver,
    pub connection: Connection,
}

#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error("{router:?} is not the address of a router: expected host:port")]
    Address { router: String },
    #[error("no host has the name in {router:?} ({reason}; tried for {:.1} s): expected the host and port of the router", waited.as_secs_f64())]
    UnknownHost { router: String, waited: Duration, reason: String },
    #[error("no router answers at {router} after {:.1} s ({last}); is it running there, and is the UDP port open?", waited.as_secs_f64())]
    NoRouter { router: String, waited: Duration, last: String },
    #[error("the router at {address} refused: {reason}")]
    Refused { address: SocketAddr, reason: String },
    #[error("cannot join the router at {address}: {error}")]
    Wire { address: SocketAddr, error: WireError },
    #[error("the router at {address} did not answer with a welcome: {error}")]
    NoWelcome { address: SocketAddr, error: CodecError },
    #[error("cannot encode the hello: {0}")]
    Hello(CodecError),
    #[error("cannot open a socket to join the router: {}", io_reason(.0))]
    Socket(io::Error),
    #[error("the run is over")]
    Over,
}

/// Finds the router (`host:port`), which may not be up yet, and joins. A router that has disappeared before its welcome
/// is looked for again: it may be restarted.
pub async fn connect_router(
    router: &str,
    identity: &Identity,
    hello: &Hello,
    options: &QuicOptions,
) -> Result<Joined, JoinError> {
    let mut frame = Vec::new();
    encode_frame(hello, &mut frame).map_err(JoinError::Hello)?;
    let begun = Instant::now();
    let deadline = begun + options.join_timeout;
    let mut given_up: Option<Instant> = None;
    loop {
        let connection = reach_router(router, identity, options, begun).await?;
        let address = connection.remote_address();
        let greeted = timeout_at(deadline, greet_router(connection, &frame)).await;
        let error = match greeted.unwrap_or(Err(Greeting::Wire(WireError::Silent))) {
            Ok(joined) => return Ok(joined),
            Err(Greeting::Decode(error)) => return Err(JoinError::NoWelcome { address, error }),
            Err(Greeting::Wire(error)) => error,
        };
        if error == WireError::Silent {
            given_up = Some(Instant::now());
        }
        // Until the router has given up a connection that we gave up, it stands in our own way there.
        let may_pass = options.insists && given_up.is_some_and(|at| at.elapsed() < 2 * options.idle_timeout);
        match error {
            WireError::Closed { close: Some(Close::Refused), .. }
                if may_pass && Instant::now() + PATIENCE < deadline =>
            {
                sleep(PATIENCE).await;
            }
            WireError::Closed { close: Some(Close::Refused), reason } => {
                return Err(JoinError::Refused { address, reason });
            }
            WireError::Closed { close: Some(Close::Finished), .. } => return Err(JoinError::Over),
            error if !options.insists || !error.closed_without_reason() || Instant::now() + PAUSE >= deadline => {
                return Err(JoinError::Wire { address, error });
            }
            _ => sleep(PAUSE).await,
        }
    }
}

/// Repeats attempts until one is accepted, or until the time limit since `begun`.
async fn reach_router(
    router: &str,
    identity: &Identity,
    options: &QuicOptions,
    begun: Instant,
) -> Result<Connection, JoinError> {
    let tls = QuicClientConfig::try_from(identity.client_tls()?).expect("ring has the cipher that QUIC starts with");
    let tls = Arc::new(tls);
    let deadline = begun + options.join_timeout;
    let mut patience = PATIENCE;
    let mut is_reported = false;
    let mut was_known = false;

    loop {
        let mut last = "the name has no address".to_owned();
        let addresses = match timeout_at(deadline, tokio::net::lookup_host(router)).await {
            Ok(Ok(addresses)) => {
                was_known = true;
                addresses.collect()
            }
            Ok(Err(error)) if error.kind() == io::ErrorKind::InvalidInput => {
                return Err(JoinError::Address { router: router.to_owned() });
            }
            Ok(Err(error)) => {
                let reason = io_reason(&error);
                if !was_known && begun.elapsed() > UNKNOWN_AFTER {
                    return Err(JoinError::UnknownHost { router: router.to_owned(), waited: begun.elapsed(), reason });
                }
                last = format!("cannot resolve the name: {reason}");
                Vec::new()
            }
            Err(_) => Vec::new(),
        };
        for address in addresses {
            let mut config = ClientConfig::new(tls.clone());
            config.transport_config(transport_settings(options, address.ip()));
            match timeout_at(deadline.min(Instant::now() + patience), try_connect(address, config)).await {
                Ok(Ok(reached)) => return Ok(reached),
                Ok(Err(KnockError::Socket(error))) => return Err(JoinError::Socket(error)),
                Ok(Err(KnockError::Wire(error @ WireError::Tls(_)))) => return Err(JoinError::Wire { address, error }),
                Ok(Err(KnockError::Wire(error))) => last = error.to_string(),
                Err(_) => last = format!("no answer from {address}"),
            }
        }
        if Instant::now() + PAUSE >= deadline {
            return Err(JoinError::NoRouter { router: router.to_owned(), waited: begun.elapsed(), last });
        }
        // The user of a wrong name should not have to wait for the end to learn of it.
        if !is_reported && begun.elapsed() > REPORT_AFTER {
            let rest = (deadline - Instant::now()).as_secs_f64();
            err::note(&format!("no router answers at {router} yet ({last}); looking for it for another {rest:.0} s"));
            is_reported = true;
        }
        sleep(PAUSE).await;
        patience = (patience * 2).min(PATIENCE_MAX);
    }
}

/// Failure of one attempt.
enum KnockError {
    /// This machine gives us no socket, so the router is not to blame.
    Socket(io::Error),
    Wire(WireError),
}

impl<E: Into<WireError>> From<E> for KnockError {
    fn from(error: E) -> KnockError {
        KnockError::Wire(error.into())
    }
}

async fn try_connect(address: SocketAddr, config: ClientConfig) -> Result<Connection, KnockError> {
    let local = match (address.ip(), is_loopback(address.ip())) {
        (IpAddr::V4(_), true) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        (IpAddr::V4(_), false) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        (IpAddr::V6(_), true) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        (IpAddr::V6(_), false) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let socket = std::net::UdpSocket::bind((local, 0)).map_err(KnockError::Socket)?;
    let endpoint = Endpoint::new(endpoint_config(None), None, socket, Arc::new(InTurns)).map_err(KnockError::Socket)?;
    let connecting =
        endpoint.connect_with(config, address, ROUTER_HOST).map_err(|error| WireError::Failed(error.to_string()))?;
    Ok(Connection::new(connecting.await?, endpoint))
}

enum Greeting {
    Wire(WireError),
    Decode(CodecError),
}

impl<E: Into<WireError>> From<E> for Greeting {
    fn from(error: E) -> Greeting {
        Greeting::Wire(error.into())
    }
}

async fn greet_router(connection: Connection, hello: &[u8]) -> Result<Joined, Greeting> {
    connection.trust_peer();
    let (send, receive) = connection.quic.open_bi().await?;
    let mut sender = FrameSender::new(send, &connection);
    let mut receiver = FrameReceiver::new(receive, FRAME_MAX);
    let answer = async {
        // A refusal may come before the hello is out; it is read with its reason.
        let _ = sender.write(hello).await;
        receiver.next().await
    };
    let welcome = tokio::select! {
        welcome = answer => welcome?.ok_or(WireError::Truncated)?,
        () = is_unconfirmed(&connection) => return Err(Greeting::Wire(WireError::Silent)),
    };
    let Welcome { missing, awaited } = codec::decode_frame(welcome).map_err(Greeting::Decode)?;
    Ok(Joined { missing, awaited, sender, receiver, connection })
}

/// Returns only if the router has not confirmed the handshake in time.
async fn is_unconfirmed(connection: &Connection) {
    sleep(CONFIRM_WITHIN).await;
    if connection.quic.stats().frame_rx.handshake_done > 0 {
        std::future::pending::<()>().await;
    }
}
