//! Malicious or misconfigured peers. Both sides must be able to read the reason of a refusal, and a run of other
//! members must not be disturbed.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hansa_run::identity::Authority;
use hansa_run::quic::{Close, Joined, QuicOptions, WireError, append_frame, encode_frame};
use hansa_sim::protocol::handshake::{Hello, PROTOCOL, Party, TopologyHash};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, ConnectionError, Endpoint, RecvStream, SendStream};
use quinn_proto::{ConnectionHandle, DatagramEvent, EndpointConfig};
use rustls::RootCertStore;
use rustls::crypto::ring;
use time::OffsetDateTime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::world::{TOPOLOGY, World, echo, ping, site, user};

#[tokio::test]
async fn only_york_with_yorks_certificate_is_york() {
    let run = Run::begin().await;
    let [york, hull, bob] = [site("york"), site("hull"), user("bob")];
    let hello = |parties: &[Party]| Hello::new(parties.to_vec(), TOPOLOGY);

    let impostor = run.world.identity(std::slice::from_ref(&hull));
    let words = "the certificate is not valid for site york, only for hull.site.hansa";
    run.refuses(impostor, hello(std::slice::from_ref(&york)), words).await;

    let roles = run.world.identity(&[user("york")]);
    let words = "the certificate is not valid for site york, only for york.user.hansa";
    run.refuses(roles, hello(std::slice::from_ref(&york)), words).await;

    let half = run.world.identity(std::slice::from_ref(&york));
    let words = "the certificate is not valid for site hull, only for york.site.hansa";
    run.refuses(half, hello(&[york.clone(), hull]), words).await;

    let second = run.world.identity(std::slice::from_ref(&york));
    let words = format!("site york has already joined, from {}: each member joins only once", run.york);
    run.refuses(second, hello(&[york]), &words).await;

    let stranger = run.world.identity(std::slice::from_ref(&bob));
    let words = "user bob does not occur in the router's topology";
    run.refuses(stranger, hello(&[bob]), words).await;

    let router = run.world.identity(&[Party::Router]);
    run.refuses(router, hello(&[Party::Router]), "the router does not occur in the router's topology").await;

    run.unharmed().await;
}

#[tokio::test]
async fn a_member_of_another_run_is_told_the_reason() {
    let run = Run::begin().await;
    let york = || run.world.identity(&[site("york")]);
    let hello = Hello::new(vec![site("york")], TOPOLOGY);

    let topology = TopologyHash([0xab; 16]);
    let words = format!("the router runs topology {TOPOLOGY}, but this was started with {topology}");
    run.refuses(york(), Hello { topology, ..hello.clone() }, &words).await;

    let words = format!("the router runs release {}, but this is release 9.9.9", hello.release);
    run.refuses(york(), Hello { release: "9.9.9".to_owned(), ..hello.clone() }, &words).await;

    run.refuses(york(), Hello { parties: Vec::new(), ..hello }, "the hello contains no names").await;
    run.unharmed().await;
}

#[tokio::test]
async fn of_two_yorks_at_once_one_joins() {
    let mut world = World::new();
    let terms = world.terms(&[site("york"), site("hull")]);
    let twice = world.knock_as(
        world.identity(&[site("york"), site("hull")]),
        Hello::new(vec![site("york"), site("york")], TOPOLOGY),
    );
    let knocks: Vec<_> = (0..8).map(|_| tokio::spawn(world.knock(&[site("york")]))).collect();
    let hull = world.knock(&[site("hull")]);
    let outcomes = tokio::spawn(async move {
        let mut outcomes = Vec::new();
        for knock in knocks {
            outcomes.push(knock.await.unwrap());
        }
        assert!(twice.await.unwrap_err().to_string().contains("already joined"));
        (outcomes, hull.await.unwrap())
    });
    assert_eq!(world.listener.admit_all(terms).await.unwrap().len(), 2);
    let (outcomes, _hull) = outcomes.await.unwrap();
    let (joined, refused): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(Result::is_ok);
    assert_eq!(joined.len(), 1);
    for error in refused {
        let error = error.unwrap_err().to_string();
        assert!(error.contains("site york has already joined, from 127.0.0.1:"), "{error}");
    }
}

#[tokio::test]
async fn a_hello_with_a_name_twice_is_refused() {
    let mut world = World::new();
    let terms = world.terms(&[site("york"), site("hull")]);
    let hello = Hello::new(vec![site("york"), site("york")], TOPOLOGY);
    let twice = world.knock_as(world.identity(&[site("york")]), hello);
    tokio::select! {
        _ = world.listener.admit_all(terms) => panic!("hull never came"),
        error = twice => assert!(error.unwrap_err().to_string().contains("the hello names site york twice")),
    }
    world.log.await_text("the hello names site york twice").await;
}

#[tokio::test]
async fn certificates_of_another_run_are_refused_by_both_sides() {
    let run = Run::begin().await;
    let other = Authority::new("test").unwrap();
    let foreign = other.issue(&[site("york")], 1).unwrap();

    // By mistake: the leaf notices first that it is at the wrong router.
    let error = run.world.knock_as(foreign, Hello::new(vec![site("york")], TOPOLOGY)).await.unwrap_err().to_string();
    assert!(error.contains("its certificate was signed by an authority that this run does not know"), "{error}");
    run.world.log.await_text("it does not know the authority that signed our certificate").await;

    // As an attack: trust the router, and present a self-made certificate.
    let foreign = other.issue(&[site("york")], 1).unwrap();
    let mut tls = run.world.identity(&[site("york")]).client_tls().unwrap();
    tls.client_auth_cert_resolver = foreign.client_tls().unwrap().client_auth_cert_resolver;
    let error = run.burgle(tls).await;
    assert!(error.contains("it does not know the authority that signed our certificate"), "{error}");
    run.world.log.await_text("its certificate was signed by an authority that this run does not know").await;

    run.unharmed().await;
}

#[tokio::test]
async fn expired_and_missing_certificates_are_refused() {
    let run = Run::begin().await;
    let now = OffsetDateTime::now_utc();
    let day = time::Duration::days(1);

    let old = run.world.authority.issue_between(&[site("york")], now - 2 * day, now - day).unwrap();
    let error = run.world.knock_as(old, Hello::new(vec![site("york")], TOPOLOGY)).await.unwrap_err().to_string();
    assert!(error.contains("our certificate has expired, or its clock is wrong: issue new identities"), "{error}");
    run.world.log.await_text("its certificate has expired, or this machine's clock is wrong").await;

    let mut tls = run.world.identity(&[site("york")]).client_tls().unwrap();
    tls.client_auth_cert_resolver = anonymous().client_auth_cert_resolver;
    let error = run.burgle(tls).await;
    assert!(error.contains("it requires a certificate and got none"), "{error}");
    run.world.log.await_text("it has no certificate").await;

    run.unharmed().await;
}

#[tokio::test]
async fn another_version_of_the_protocol_is_refused_in_the_handshake() {
    let run = Run::begin().await;
    let mut tls = run.world.identity(&[site("york")]).client_tls().unwrap();
    tls.alpn_protocols = vec![b"hansa/0".to_vec()];
    let error = run.burgle(tls).await;
    assert!(error.contains("it speaks another version of the protocol: use the same release everywhere"), "{error}");
    run.world.log.await_text("it speaks another version of the protocol").await;
    run.unharmed().await;
}

#[tokio::test]
async fn bytes_that_are_no_hello_are_refused() {
    let run =
        Run::begin_with(QuicOptions { handshake_timeout: Duration::from_millis(800), ..QuicOptions::default() }).await;

    let mut nonsense = Vec::new();
    append_frame(&[0xff; 300], &mut nonsense).unwrap();
    run.refuses_bytes(&nonsense, "the first frame is not a hello of hansa/1").await;

    let mut chatty = Vec::new();
    encode_frame(&(Hello::new(vec![site("york")], TOPOLOGY), 7u8), &mut chatty).unwrap();
    run.refuses_bytes(&chatty, "1 bytes left over after the message").await;

    let words = "a frame of 4294967295 bytes was announced, but at most 262144 are allowed";
    run.refuses_bytes(&[0xff; 300], words).await;

    run.refuses_bytes(&[100, 0, 0, 0, 1, 2, 3], "no hello arrived within 800ms").await;

    let (_endpoint, connection) = run.enter().await;
    assert!(closed(connection.closed().await).contains("no hello arrived within 800ms"));

    let (_endpoint, connection) = run.enter().await;
    let (mut send, _receive) = connection.open_bi().await.unwrap();
    send.write_all(&[9, 0]).await.unwrap();
    send.finish().unwrap();
    assert!(closed(connection.closed().await).contains("the stream ended in the middle of a frame"));

    let (_endpoint, connection) = run.enter().await;
    connection.close(1u32.into(), b"never mind");
    run.world.log.await_text("the other side closed the connection: never mind").await;

    run.unharmed().await;
}

#[tokio::test]
async fn a_peer_without_a_hello_cannot_fill_the_routers_memory() {
    let run =
        Run::begin_with(QuicOptions { handshake_timeout: Duration::from_secs(2), ..QuicOptions::default() }).await;
    let (_endpoint, connection) = run.enter().await;
    let (mut send, _receive) = connection.open_bi().await.unwrap();
    // The beginning of a plausible hello, and then as much as it accepts.
    send.write_all(&[0xff, 0xff, 0x03, 0]).await.unwrap();
    let flood = async {
        loop {
            let Ok(()) = send.write_all(&[0; 64 << 10]).await else { return };
        }
    };
    assert!(timeout(Duration::from_secs(1), connection.open_uni()).await.is_err(), "it takes no loads of strangers");
    let _ = timeout(Duration::from_secs(4), flood).await;
    let sent = connection.stats().udp_tx.bytes;
    assert!(sent < 1 << 20, "the router has taken {sent} bytes of a stranger");
    run.unharmed().await;
}

#[tokio::test]
async fn a_peer_that_breaks_off_within_a_frame_disturbs_no_other() {
    let mut world = World::new();
    let groups: [&[Party]; 4] = [&[site("york")], &[site("cut")], &[site("half")], &[site("huge")]];
    let (mut peers, mut leaves) = world.gather(&groups).await;
    let run = Run::of(world, peers.remove(0), leaves.remove(0));
    let [mut cut, mut half, mut huge] = <[_; 3]>::try_from(leaves).unwrap();

    cut.sender.write(&[50, 0, 0, 0, 1, 2]).await.unwrap();
    sleep(Duration::from_millis(50)).await;
    drop(cut);
    let error = peers[0].receiver.next().await.unwrap_err();
    assert_eq!(error, WireError::Closed { close: Some(Close::Dropped), reason: String::new() });
    assert_eq!(error.to_string(), "the other side ended without a regular close");

    half.sender.write(&[50, 0, 0, 0, 1, 2]).await.unwrap();
    half.sender.finish().await.unwrap();
    assert_eq!(peers[1].receiver.next().await, Err(WireError::Truncated));

    huge.sender.write(&[0, 0, 0, 0x80]).await.unwrap();
    let error = peers[2].receiver.next().await.unwrap_err();
    assert_eq!(error, WireError::TooLong { length: 1 << 31, max: 32 << 20 });
    peers[2].connection.close(Close::Broken, &error.to_string());
    let message = huge.receiver.next().await.unwrap_err().to_string();
    assert!(message.contains("a frame of 2147483648 bytes was announced"), "{message}");

    run.unharmed().await;
}

#[tokio::test]
async fn text_of_a_leaving_peer_cannot_pass_for_our_own_messages() {
    let mut world = World::new();
    let (mut peers, joined) = world.gather(&[&[site("york")], &[user("ann")]]).await;
    let tricks = "\x1b[2J\x1b]0;mine\x07\r\nresults in out/forged \u{202e}\u{9b}31m";
    joined[0].connection.close(Close::Broken, tricks);
    joined[1].connection.close(Close::Broken, &"long ".repeat(10_000));
    for peer in &mut peers {
        let received = peer.receiver.next().await.unwrap_err().to_string();
        assert!(!received.chars().any(|letter| letter.is_control() || letter == '\u{202e}'), "{received:?}");
        assert!(received.len() < 600, "{}", received.len());
    }
    let received = peers[0].connection.await_closed().await.to_string();
    assert!(received.contains("\\u{1b}[2J") && received.contains("\\r\\nresults in out/forged"), "{received}");
}

#[tokio::test]
async fn datagrams_of_noise_are_ignored() {
    let run = Run::begin().await;
    let address = run.world.address;
    let noise = tokio::task::spawn_blocking(move || {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut state = 1u64;
        for _ in 0..20_000 {
            let datagram: Vec<u8> = (0..state % 1400).map(|_| step(&mut state) as u8).collect();
            let _ = socket.send_to(&datagram, address);
            step(&mut state);
        }
    });
    noise.await.unwrap();
    run.unharmed().await;
}

#[tokio::test]
async fn ten_thousand_half_open_connections_do_not_disturb_a_run() {
    let run = Run::begin().await;
    let address = run.world.address;
    let flood = tokio::task::spawn_blocking(move || half_open(address, 10_000));
    let retried = flood.await.unwrap();
    assert!(retried > 100, "the flood was not heard: {retried} retries");
    run.unharmed().await;
}

#[tokio::test]
async fn a_flood_of_half_open_connections_keeps_no_member_out() {
    let mut world = World::with(QuicOptions {
        handshakes_max: 100,
        handshake_timeout: Duration::from_secs(1),
        join_timeout: Duration::from_secs(20),
        ..QuicOptions::default()
    });
    let terms = world.terms(&[site("york"), site("hull")]);
    let york = world.knock(&[site("york")]);
    let hull = world.knock(&[site("hull")]);
    let address = world.address;
    let leaves = tokio::spawn(async move {
        let york = york.await.unwrap();
        let flood = tokio::task::spawn_blocking(move || half_open(address, 2_000));
        sleep(Duration::from_millis(100)).await;
        let hull = hull.await.unwrap();
        flood.await.unwrap();
        (york, hull)
    });
    let peers = world.listener.admit_all(terms).await.unwrap();
    assert_eq!(peers.len(), 2);
    leaves.await.unwrap();
}

/// A run in which york and the router play ping-pong without a pause, to detect disturbance.
struct Run {
    world: World,
    york: SocketAddr,
    rounds: Arc<AtomicU64>,
    game: JoinHandle<Duration>,
    stop: oneshot::Sender<()>,
}

impl Run {
    async fn begin() -> Run {
        Run::begin_with(QuicOptions::default()).await
    }

    async fn begin_with(options: QuicOptions) -> Run {
        let mut world = World::with(options);
        let (mut peers, mut leaves) = world.gather(&[&[site("york")]]).await;
        Run::of(world, peers.remove(0), leaves.remove(0))
    }

    fn of(world: World, peer: hansa_run::quic::Peer, leaf: Joined) -> Run {
        let york = peer.connection.remote_address();
        tokio::spawn(echo(peer));
        let (stop, stopped) = oneshot::channel();
        let rounds = Arc::default();
        Run { world, york, game: tokio::spawn(play(leaf, Arc::clone(&rounds), stopped)), rounds, stop }
    }

    /// Checks that the game goes on, and ends it: no round may have taken so long that it counts as a stall.
    async fn unharmed(self) {
        let begun = self.rounds.load(Ordering::Relaxed);
        timeout(Duration::from_secs(5), async {
            while self.rounds.load(Ordering::Relaxed) < begun + 20 {
                sleep(Duration::from_millis(1)).await;
            }
        })
        .await
        .expect("the game goes on");
        self.stop.send(()).expect("the game has not ended by itself");
        let worst = self.game.await.unwrap();
        assert!(worst < Duration::from_secs(2), "a round took {worst:?}");
    }

    async fn refuses(&self, identity: hansa_run::identity::Identity, hello: Hello, words: &str) {
        let error = self.world.knock_as(identity, hello).await.unwrap_err().to_string();
        assert!(error.contains(words), "the leaf reads {error:?}, not {words:?}");
        self.world.log.await_text(words).await;
    }

    /// Sends bytes over TLS with york's certificate.
    async fn refuses_bytes(&self, bytes: &[u8], words: &str) {
        let (_endpoint, connection) = self.enter().await;
        let (mut send, _receive): (SendStream, RecvStream) = connection.open_bi().await.unwrap();
        send.write_all(bytes).await.unwrap();
        let reason = closed(connection.closed().await);
        assert!(reason.contains(words), "the leaf reads {reason:?}, not {words:?}");
        self.world.log.await_text(words).await;
    }

    async fn enter(&self) -> (Endpoint, quinn::Connection) {
        let tls = self.world.identity(&[site("york")]).client_tls().unwrap();
        let (endpoint, connecting) = self.raw(tls);
        let connection = connecting.await.unwrap();
        (endpoint, connection)
    }

    /// Tries to connect; returns the reason of the refusal.
    async fn burgle(&self, tls: rustls::ClientConfig) -> String {
        let (_endpoint, connecting) = self.raw(tls);
        // In TLS 1.3 a client is connected before the server has seen its certificate.
        let error = match connecting.await {
            Ok(connection) => timeout(Duration::from_secs(5), connection.closed()).await.expect("it is noticed"),
            Err(error) => error,
        };
        WireError::from(error).to_string()
    }

    fn raw(&self, tls: rustls::ClientConfig) -> (Endpoint, quinn::Connecting) {
        let endpoint = Endpoint::client(([127, 0, 0, 1], 0).into()).unwrap();
        let config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).unwrap()));
        let connecting = endpoint.connect_with(config, self.world.address, "router.hansa").unwrap();
        (endpoint, connecting)
    }
}

/// Plays until stopped; returns the duration of the longest round.
async fn play(mut leaf: Joined, rounds: Arc<AtomicU64>, mut stopped: oneshot::Receiver<()>) -> Duration {
    let mut worst = Duration::ZERO;
    while stopped.try_recv().is_err() {
        let begun = Instant::now();
        timeout(Duration::from_secs(8), ping(&mut leaf, b"a hundred bytes or so")).await.expect("the peer answers");
        worst = worst.max(begun.elapsed());
        rounds.fetch_add(1, Ordering::Relaxed);
        sleep(Duration::from_micros(200)).await;
    }
    worst
}

fn closed(error: ConnectionError) -> String {
    WireError::from(error).to_string()
}

fn anonymous() -> rustls::ClientConfig {
    let mut tls = rustls::ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    tls.alpn_protocols = vec![PROTOCOL.into()];
    tls
}

/// Opens this many connections and continues none beyond the proof of its address; returns the number for which the
/// proof was requested.
pub fn half_open(router: SocketAddr, count: usize) -> usize {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_nonblocking(true).unwrap();
    let tls = Arc::new(quinn_proto::crypto::rustls::QuicClientConfig::try_from(anonymous()).unwrap());
    let config = quinn_proto::ClientConfig::new(tls);
    let mut endpoint = quinn_proto::Endpoint::new(Arc::new(EndpointConfig::default()), None, true, None);
    let mut connections = std::collections::BTreeMap::new();
    let mut retried = 0;
    let mut buffer = vec![0; 2000];

    for _ in 0..count {
        let now = Instant::now().into_std();
        let (ConnectionHandle(handle), mut connection) =
            endpoint.connect(now, config.clone(), router, "router.hansa").unwrap();
        first_flight(&mut connection, &socket, router);
        connections.insert(handle, connection);
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            let event = endpoint.handle(now, from, None, None, (&buffer[..length]).into(), &mut Vec::new());
            if let Some(DatagramEvent::ConnectionEvent(ConnectionHandle(handle), event)) = event
                && let Some(mut connection) = connections.remove(&handle)
            {
                connection.handle_event(event);
                first_flight(&mut connection, &socket, router);
                retried += 1;
            }
        }
    }
    retried
}

fn first_flight(connection: &mut quinn_proto::Connection, socket: &UdpSocket, router: SocketAddr) {
    let mut datagram = Vec::new();
    if let Some(transmit) = connection.poll_transmit(Instant::now().into_std(), 1, &mut datagram) {
        let _ = socket.send_to(&datagram[..transmit.size], router);
    }
}

/// Deterministic noise.
fn step(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}
