//! Well-behaved peers.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hansa_run::quic::{Close, Listener, QuicOptions, WireError, append_frame, connect_router};
use hansa_sim::protocol::codec::FRAME_MAX;
use hansa_sim::protocol::handshake::{Hello, Party};

use tokio::net::UdpSocket;

use crate::world::{TOPOLOGY, World, echo, ping, site, user};

#[tokio::test]
async fn all_members_join_and_talk_in_the_order_of_the_roster() {
    let mut world = World::new();
    let groups: [&[Party]; 3] = [&[site("york")], &[site("hull"), user("ann")], &[user("bob")]];
    let (peers, mut leaves) = world.gather(&groups).await;

    assert_eq!(peers.iter().map(|peer| &peer.parties[..]).collect::<Vec<_>>(), groups);
    let mut missing: Vec<_> = leaves.iter().map(|leaf| leaf.missing).collect();
    missing.sort();
    assert_eq!(missing[0], 0);

    let echoes: Vec<_> = peers.into_iter().map(|peer| tokio::spawn(echo(peer))).collect();
    for leaf in &mut leaves {
        ping(leaf, b"hello").await;
    }
    drop(echoes);
}

#[tokio::test]
async fn frames_of_every_length_arrive_whole() {
    let mut world = World::new();
    let (peers, mut leaves) = world.gather(&[&[site("york")]]).await;
    let mut leaf = leaves.remove(0);
    let (mut sender, mut receiver) = peers.into_iter().map(|peer| (peer.sender, peer.receiver)).next().unwrap();
    let lengths = [0, 1, 2, 1000, 0, 16 << 10, 16380, 16381, 100_000, FRAME_MAX, 3, FRAME_MAX - 1, 0];

    let writing = tokio::spawn(async move {
        let mut out = Vec::new();
        for (at, length) in lengths.into_iter().enumerate() {
            append_frame(&vec![at as u8; length], &mut out).unwrap();
        }
        sender.write(&out).await.unwrap();
        sender.finish().await
    });
    for (at, length) in lengths.into_iter().enumerate() {
        let frame = leaf.receiver.next().await.unwrap().unwrap();
        assert!(frame.len() == length && frame.iter().all(|byte| *byte == at as u8), "frame {at}");
    }
    assert_eq!(leaf.receiver.next().await, Ok(None));
    writing.await.unwrap().unwrap();

    assert!(append_frame(&vec![0; FRAME_MAX + 1], &mut Vec::new()).is_err());
    let mut three = Vec::new();
    [b"one", b"two", b"six"].iter().for_each(|word| append_frame(*word, &mut three).unwrap());
    leaf.sender.write(&three).await.unwrap();
    assert_eq!(receiver.next().await.unwrap().unwrap(), b"one");
    assert_eq!(receiver.ready_frame().unwrap().unwrap(), b"two");
    assert_eq!(receiver.ready_frame().unwrap().unwrap(), b"six");
    assert_eq!(receiver.ready_frame(), Ok(None));
}

#[tokio::test]
async fn last_frames_arrive_before_the_end() {
    let mut world = World::new();
    let (mut peers, leaves) = world.gather(&[&[site("york")], &[site("hull")]]).await;
    let mut out = Vec::new();
    append_frame(&[1; 300_000], &mut out).unwrap();

    let reading: Vec<_> = leaves
        .into_iter()
        .map(|mut leaf| {
            tokio::spawn(async move {
                assert_eq!(leaf.receiver.next().await.unwrap().unwrap().len(), 300_000);
                assert_eq!(leaf.receiver.next().await, Ok(None));
                leaf.connection.await_closed().await
            })
        })
        .collect();
    for peer in &mut peers {
        peer.sender.write(&out).await.unwrap();
    }
    let ends = peers.into_iter().map(|peer| (peer.connection, peer.sender)).collect();
    world.listener.close(ends, Close::Finished, "all jobs are done").await;
    for leaf in reading {
        let end = WireError::Closed { close: Some(Close::Finished), reason: "all jobs are done".to_owned() };
        assert_eq!(leaf.await.unwrap(), end);
    }
}

#[tokio::test]
async fn a_router_that_is_late_is_waited_for() {
    let world = World::new();
    let World { authority, options, listener, address, .. } = world;
    drop(listener);
    let york = authority.issue(&[site("york")], 1).unwrap();
    let hello = Hello::new(vec![site("york")], TOPOLOGY);
    let leaf = {
        let options = options.clone();
        tokio::spawn(
            async move { connect_router(&format!("localhost:{}", address.port()), &york, &hello, &options).await },
        )
    };
    tokio::time::sleep(Duration::from_millis(700)).await;

    let router = authority.issue(&[Party::Router], 1).unwrap();
    let mut listener = Listener::bind(address, &router, &options).unwrap();
    let terms = hansa_run::quic::JoinTerms { roster: vec![site("york")], topology: TOPOLOGY };
    listener.admit_all(terms).await.unwrap();
    leaf.await.unwrap().unwrap();
}

/// Its process ends after the handshake, and another one takes its place.
#[tokio::test]
async fn a_router_that_dies_before_its_welcome_is_looked_for_again() {
    let world = World::new();
    let knocking = tokio::spawn(world.knock(&[site("york")]));
    let World { authority, options, listener, address, .. } = world;
    drop(listener);
    let router = authority.issue(&[Party::Router], 1).unwrap();
    let tls = quinn::crypto::rustls::QuicServerConfig::try_from(router.server_tls().unwrap()).unwrap();
    let config = quinn::ServerConfig::with_crypto(Arc::new(tls));
    // The socket of the previous one becomes free a little later.
    let pause = || tokio::time::sleep(Duration::from_millis(5));
    for _ in 0..2 {
        let dying = loop {
            match quinn::Endpoint::server(config.clone(), address) {
                Ok(endpoint) => break endpoint,
                Err(_) => pause().await,
            }
        };
        let connection = dying.accept().await.unwrap().await.unwrap();
        connection.accept_bi().await.unwrap();
        dying.close(0u32.into(), b"");
        dying.wait_idle().await;
    }
    let mut listener = loop {
        match Listener::bind(address, &router, &options) {
            Ok(listener) => break listener,
            Err(_) => pause().await,
        }
    };
    let terms = hansa_run::quic::JoinTerms { roster: vec![site("york")], topology: TOPOLOGY };
    listener.admit_all(terms).await.unwrap();
    knocking.await.unwrap().unwrap();
}

/// It has answered, but dies before it learns that its answer has arrived, and its successor does not know of it.
#[tokio::test]
async fn a_router_that_dies_during_the_handshake_is_looked_for_again() {
    let mut world = World::new();
    let terms = world.terms(&[site("york")]);
    let identity = world.identity(&[site("york")]);
    let hello = Hello::new(vec![site("york")], TOPOLOGY);
    let options = world.options.clone();
    let router = silent_to_the_first(world.address).await;
    let begun = Instant::now();
    let leaf = tokio::spawn(async move { connect_router(&router.to_string(), &identity, &hello, &options).await });
    world.listener.admit_all(terms).await.unwrap();
    leaf.await.unwrap().unwrap();
    assert!(begun.elapsed() < world.options.idle_timeout / 2, "{:?}", begun.elapsed());
}

/// An address that relays packets to the router and back; only the first packet of the first connection passes.
async fn silent_to_the_first(router: SocketAddr) -> SocketAddr {
    let outside = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let inside = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = outside.local_addr().unwrap();
    tokio::spawn(async move {
        let mut there = vec![0; 65_536];
        let mut back = vec![0; 65_536];
        let mut first = None;
        let mut last = None;
        loop {
            tokio::select! {
                Ok((length, from)) = outside.recv_from(&mut there) => {
                    if first != Some(from) {
                        first.get_or_insert(from);
                        last = Some(from);
                        inside.send_to(&there[..length], router).await.unwrap();
                    }
                }
                Ok((length, _)) = inside.recv_from(&mut back) => {
                    outside.send_to(&back[..length], last.expect("the leaf begins")).await.unwrap();
                }
            }
        }
    });
    address
}

#[tokio::test]
async fn a_router_that_never_comes_is_an_error() {
    let world = World::with(QuicOptions { join_timeout: Duration::from_millis(700), ..QuicOptions::default() });
    let knock = world.knock(&[site("york")]);
    let address = world.address;
    drop(world.listener);
    let error = knock.await.unwrap_err().to_string();
    assert!(error.contains(&format!("no router answers at {address} after")), "{error}");
    assert!(error.contains("is it running there, and is the UDP port open?"), "{error}");
}

#[tokio::test]
async fn an_address_without_a_port_is_no_address() {
    let world = World::new();
    let york = world.identity(&[site("york")]);
    let hello = Hello::new(vec![site("york")], TOPOLOGY);
    for router in ["router", "router:", "router:port", ""] {
        let error = connect_router(router, &york, &hello, &world.options).await.unwrap_err().to_string();
        assert_eq!(error, format!("{router:?} is not the address of a router: expected host:port"));
    }
}

#[tokio::test]
async fn two_peers_that_write_longest_frames_to_each_other_do_not_deadlock() {
    let mut world = World::new();
    let (mut peers, mut leaves) = world.gather(&[&[site("york")]]).await;
    let mut peer = peers.remove(0);
    let mut leaf = leaves.remove(0);
    let mut out = Vec::new();
    append_frame(&vec![5; FRAME_MAX], &mut out).unwrap();

    let (there, back) = tokio::join!(peer.sender.write(&out), leaf.sender.write(&out));
    there.and(back).unwrap();
    assert_eq!(peer.receiver.next().await.unwrap().unwrap().len(), FRAME_MAX);
    assert_eq!(leaf.receiver.next().await.unwrap().unwrap().len(), FRAME_MAX);
}

#[tokio::test]
async fn a_member_that_is_lost_before_the_run_begins_may_join_again() {
    let mut world = World::new();
    let roster = [site("york"), site("hull")];
    let terms = world.terms(&roster);
    let york = world.knock(&roster[..1]);
    let again = world.knock(&roster[..1]);
    let hull = world.knock(&roster[1..]);
    let log = world.log.clone();
    let leaves = tokio::spawn(async move {
        let york = york.await.unwrap();
        york.connection.leave(york.sender, Close::Stopped, "changed my mind").await;
        log.await_text("site york left before the run began: the other side closed the connection: changed my mind")
            .await;
        (again.await.unwrap(), hull.await.unwrap())
    });
    let mut peers = world.listener.admit_all(terms).await.unwrap();
    let (mut york, _hull) = leaves.await.unwrap();
    tokio::spawn(echo(peers.remove(0)));
    ping(&mut york, b"still there").await;
}

#[tokio::test]
async fn a_peer_that_falls_silent_is_noticed() {
    let mut world = World::with(QuicOptions {
        idle_timeout: Duration::from_millis(600),
        keep_alive: Duration::from_millis(100),
        ..QuicOptions::default()
    });
    let terms = world.terms(&[site("york")]);
    let knock = world.knock(&[site("york")]);
    // Its runtime ends without a chance to close the connection, as in a killed process.
    let killed = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let joined = runtime.block_on(knock).unwrap();
        std::mem::forget(joined);
        runtime.shutdown_background();
    });
    let mut peer = world.listener.admit_all(terms).await.unwrap().remove(0);
    assert_eq!(peer.receiver.next().await, Err(WireError::Silent));
    killed.join().unwrap();
}

#[tokio::test]
async fn a_tenth_of_all_packets_may_be_lost() {
    let mut world = World::new();
    let terms = world.terms(&[site("york")]);
    let identity = world.identity(&[site("york")]);
    let hello = Hello::new(vec![site("york")], TOPOLOGY);
    let options = world.options.clone();
    let router = lossy(world.address, Duration::from_millis(2)).await;
    let leaf = tokio::spawn(async move { connect_router(&router.to_string(), &identity, &hello, &options).await });
    let peer = world.listener.admit_all(terms).await.unwrap().remove(0);
    tokio::spawn(echo(peer));

    let mut leaf = leaf.await.unwrap().unwrap();
    for round in 0..300u32 {
        ping(&mut leaf, &round.to_le_bytes()).await;
    }
    ping(&mut leaf, &vec![1; 200_000]).await;
    leaf.connection.leave(leaf.sender, Close::Finished, "").await;
}

/// An address that relays packets to the router and back, each with a delay; every tenth is lost.
async fn lossy(router: SocketAddr, latency: Duration) -> SocketAddr {
    let outside = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
    let inside = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
    let address = outside.local_addr().unwrap();
    tokio::spawn(async move {
        let mut there = vec![0; 65_536];
        let mut back = vec![0; 65_536];
        let mut leaf = None;
        let mut count = 0u64;
        loop {
            let (socket, to, packet) = tokio::select! {
                Ok((length, from)) = outside.recv_from(&mut there) => {
                    leaf = Some(from);
                    (inside.clone(), router, there[..length].to_vec())
                }
                Ok((length, _)) = inside.recv_from(&mut back) => {
                    (outside.clone(), leaf.expect("the leaf begins"), back[..length].to_vec())
                }
            };
            count += 1;
            // Scattered, so that no kind of packet is always or never lost, and deterministic.
            if count.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 & 0xffff < 6554 {
                continue;
            }
            tokio::spawn(async move {
                tokio::time::sleep(latency).await;
                let _ = socket.send_to(&packet, to).await;
            });
        }
    });
    address
}

#[tokio::test]
async fn a_crowd_joins_as_one_process() {
    let mut world = World::new();
    let crowd: Vec<_> = (0..500).map(|at| user(&format!("user-{at:04}"))).collect();
    let (peers, leaves) = world.gather(&[&crowd]).await;
    assert_eq!(peers[0].parties, crowd);
    assert_eq!(leaves[0].missing, 0);
}
