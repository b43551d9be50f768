//! Cost of the frame layer over bare quinn: the router writes 104 bytes to each peer, then waits for all answers.
//!
//! Router and leaves are two threads, each with a runtime of its own. The two kinds alternate, so that other load hits
//! both. For the figure that matters for lock-step traffic, pin both to one core: `taskset -c 0 cargo bench --
//! wire`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hansa_run::identity::{Authority, Identity};
use hansa_run::quic::{JoinTerms, Listener, Peer, QuicOptions, append_frame, connect_router};
use hansa_sim::protocol::handshake::{Hello, Party, TopologyHash};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Endpoint, RecvStream, SendStream, ServerConfig, TransportConfig};
use tokio::runtime::Runtime;
use tokio::time::Instant;

const FRAME: usize = 104;
const TOPOLOGY: TopologyHash = TopologyHash([0; 16]);

pub fn main() {
    println!("peers   frames p50   bare quinn p50   ratio");
    for peers in [1, 8, 64] {
        let rounds = 20_000 / peers;
        let (frames, bare) = measure(peers, rounds);
        let ratio = frames.as_secs_f64() / bare.as_secs_f64();
        println!("{peers:5} {:9.1} us {:13.1} us {ratio:7.2}", micros(frames), micros(bare));
    }
}

fn measure(peers: usize, rounds: usize) -> (Duration, Duration) {
    let authority = Authority::new("bench").unwrap();
    let router = authority.issue(&[Party::Router], 1).unwrap();
    let parties: Vec<_> = (0..peers).map(|at| Party::Site(format!("s{at}"))).collect();
    let leaf = authority.issue(&parties, 1).unwrap();

    let runtime = runtime();
    let (mut ours, mut bare) = runtime.block_on(async {
        let mut listener = Listener::bind(localhost(), &router, &QuicOptions::default()).unwrap();
        let endpoint = Endpoint::server(server(&router), localhost()).unwrap();
        let address = listener.address();
        let bare_address = endpoint.local_addr().unwrap();
        let roster = parties.clone();
        // Ends with the process.
        std::thread::spawn(move || leaves(address, bare_address, &roster, &leaf));

        let ours = listener.admit_all(JoinTerms { roster: parties, topology: TOPOLOGY }).await.unwrap();
        let mut bare = Vec::new();
        while bare.len() < peers {
            let connection = endpoint.accept().await.unwrap().await.unwrap();
            bare.push(connection.accept_bi().await.unwrap());
        }
        for (_, receive) in &mut bare {
            receive.read_exact(&mut [0; FRAME]).await.unwrap();
        }
        std::mem::forget(listener);
        (ours, bare)
    });

    const TURNS: usize = 10;
    let mut samples = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        samples.0.extend(runtime.block_on(rounds_of_frames(&mut ours, rounds / TURNS)));
        samples.1.extend(runtime.block_on(rounds_of_bytes(&mut bare, rounds / TURNS)));
    }
    (median(samples.0), median(samples.1))
}

async fn rounds_of_frames(peers: &mut [Peer], rounds: usize) -> Vec<Duration> {
    let mut samples = Vec::new();
    let mut out = Vec::new();
    for _ in 0..rounds {
        let begun = Instant::now();
        for peer in &mut *peers {
            out.clear();
            append_frame(&[7; FRAME - 4], &mut out).unwrap();
            peer.sender.write(&out).await.unwrap();
        }
        for peer in &mut *peers {
            assert_eq!(peer.receiver.next().await.unwrap().unwrap().len(), FRAME - 4);
        }
        samples.push(begun.elapsed());
    }
    samples
}

async fn rounds_of_bytes(peers: &mut [(SendStream, RecvStream)], rounds: usize) -> Vec<Duration> {
    let mut samples = Vec::new();
    for _ in 0..rounds {
        let begun = Instant::now();
        for (send, _) in &mut *peers {
            send.write_all(&[7; FRAME]).await.unwrap();
        }
        for (_, receive) in &mut *peers {
            receive.read_exact(&mut [0; FRAME]).await.unwrap();
        }
        samples.push(begun.elapsed());
    }
    samples
}

fn leaves(address: SocketAddr, bare_address: SocketAddr, roster: &[Party], identity: &Identity) {
    runtime().block_on(async {
        for party in roster {
            let hello = Hello::new(vec![party.clone()], TOPOLOGY);
            let mut leaf =
                connect_router(&address.to_string(), identity, &hello, &QuicOptions::default()).await.unwrap();
            tokio::spawn(async move {
                let mut out = Vec::new();
                while let Ok(Some(frame)) = leaf.receiver.next().await {
                    out.clear();
                    append_frame(frame, &mut out).unwrap();
                    leaf.sender.write(&out).await.unwrap();
                }
            });
        }
        for _ in roster {
            // One endpoint per peer, as if each were a process.
            let endpoint = Endpoint::client(localhost()).unwrap();
            let connecting = endpoint.connect_with(client(identity), bare_address, "router.hansa").unwrap();
            let connection = connecting.await.unwrap();
            let (mut send, mut receive) = connection.open_bi().await.unwrap();
            send.write_all(&[0; FRAME]).await.unwrap();
            tokio::spawn(async move {
                let mut buffer = [0; FRAME];
                while receive.read_exact(&mut buffer).await.is_ok() {
                    send.write_all(&buffer).await.unwrap();
                }
                drop((connection, endpoint));
            });
        }
        std::future::pending::<()>().await;
    });
}

fn server(identity: &Identity) -> ServerConfig {
    let tls = QuicServerConfig::try_from(identity.server_tls().unwrap()).unwrap();
    let mut config = ServerConfig::with_crypto(Arc::new(tls));
    config.transport_config(transport());
    config
}

fn client(identity: &Identity) -> ClientConfig {
    let tls = QuicClientConfig::try_from(identity.client_tls().unwrap()).unwrap();
    let mut config = ClientConfig::new(Arc::new(tls));
    config.transport_config(transport());
    config
}

fn transport() -> Arc<TransportConfig> {
    let mut config = TransportConfig::default();
    config.send_window(64 << 10);
    Arc::new(config)
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn localhost() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

fn median(mut samples: Vec<Duration>) -> Duration {
    samples.sort();
    samples[samples.len() / 2]
}

fn micros(span: Duration) -> f64 {
    span.as_secs_f64() * 1e6
}
