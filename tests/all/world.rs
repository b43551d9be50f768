//! A small run on loopback, for tests.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hansa_run::identity::{Authority, Identity};
use hansa_run::quic::{JoinError, JoinTerms, Joined, Listener, Peer, QuicOptions, append_frame, connect_router};
use hansa_sim::protocol::handshake::{Hello, Party, TopologyHash};
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::fmt::MakeWriter;

pub const TOPOLOGY: TopologyHash = TopologyHash([7; 16]);

pub fn site(name: &str) -> Party {
    Party::Site(name.to_owned())
}

pub fn user(name: &str) -> Party {
    Party::User(name.to_owned())
}

/// An authority, a listening router, and its log.
pub struct World {
    pub authority: Authority,
    pub options: QuicOptions,
    pub listener: Listener,
    pub address: SocketAddr,
    pub log: Log,
}

impl World {
    pub fn new() -> World {
        World::with(QuicOptions { join_timeout: Duration::from_secs(10), ..QuicOptions::default() })
    }

    pub fn with(options: QuicOptions) -> World {
        let log = Log::begin();
        let authority = Authority::new("test").unwrap();
        let router = authority.issue(&[Party::Router], 1).unwrap();
        let listener = Listener::bind(([127, 0, 0, 1], 0).into(), &router, &options).unwrap();
        World { authority, options, address: listener.address(), listener, log }
    }

    pub fn identity(&self, parties: &[Party]) -> Identity {
        self.authority.issue(parties, 1).unwrap()
    }

    pub fn terms(&self, roster: &[Party]) -> JoinTerms {
        JoinTerms { roster: roster.to_vec(), topology: TOPOLOGY }
    }

    /// A connection attempt of these parties that does not borrow the world.
    pub fn knock(&self, parties: &[Party]) -> impl Future<Output = Result<Joined, JoinError>> + use<> {
        self.knock_as(self.identity(parties), Hello::new(parties.to_vec(), TOPOLOGY))
    }

    pub fn knock_as(
        &self,
        identity: Identity,
        hello: Hello,
    ) -> impl Future<Output = Result<Joined, JoinError>> + use<> {
        let address = self.address.to_string();
        let options = self.options.clone();
        async move { connect_router(&address, &identity, &hello, &options).await }
    }

    /// Lets one process per group join, and returns both ends of each connection.
    pub async fn gather(&mut self, groups: &[&[Party]]) -> (Vec<Peer>, Vec<Joined>) {
        let terms = self.terms(&groups.concat());
        let leaves: Vec<_> = groups.iter().map(|group| tokio::spawn(self.knock(group))).collect();
        let peers = self.listener.admit_all(terms).await.unwrap();
        let mut joined = Vec::new();
        for leaf in leaves {
            joined.push(leaf.await.unwrap().unwrap());
        }
        (peers, joined)
    }
}

/// Sends back all frames until the other side ends.
pub async fn echo(mut peer: Peer) -> Peer {
    let mut out = Vec::new();
    while let Ok(Some(frame)) = peer.receiver.next().await {
        out.clear();
        append_frame(frame, &mut out).unwrap();
        peer.sender.write(&out).await.unwrap();
    }
    peer
}

/// One frame there and back.
pub async fn ping(leaf: &mut Joined, contents: &[u8]) {
    let mut out = Vec::new();
    append_frame(contents, &mut out).unwrap();
    leaf.sender.write(&out).await.unwrap();
    assert_eq!(leaf.receiver.next().await.unwrap().unwrap(), contents);
}

/// Log of this test's thread, as text.
#[derive(Clone)]
pub struct Log {
    text: Arc<Mutex<Vec<u8>>>,
    _until: Arc<DefaultGuard>,
}

impl Log {
    fn begin() -> Log {
        let text = Arc::default();
        let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(Page(Arc::clone(&text))).finish();
        Log { text, _until: Arc::new(tracing::subscriber::set_default(subscriber)) }
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.text.lock().unwrap().clone()).unwrap()
    }

    /// Waits for a line with these words.
    pub async fn await_text(&self, words: &str) {
        for _ in 0..500 {
            if self.text().contains(words) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the log does not say {words:?}:\n{}", self.text());
    }
}

#[derive(Clone)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl io::Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Page {
    type Writer = Page;

    fn make_writer(&self) -> Page {
        self.clone()
    }
}
