//! A UDP relay between a router and its members that simulates a bad network: it loses, delays, reorders, duplicates
//! and corrupts datagrams, and has blackouts. The fate of a member's n-th datagram is drawn from a seed.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hansa_sim::random::{SplitMix64, mix_bits};
use tokio::net::UdpSocket;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

/// Fractions of all datagrams, in each direction.
#[derive(Clone, Copy, Debug)]
pub struct Weather {
    pub seed: u64,
    pub lost: f64,
    pub twice: f64,
    pub spoilt: f64,
    /// Most delay; each datagram is delayed at random, so they overtake each other.
    pub late: Duration,
    /// Mean number of datagrams between blackouts, and duration of a blackout.
    pub dark_after: u64,
    pub dark_for: Duration,
}

pub struct Relay {
    /// Address of the router for members.
    pub address: String,
    sky: Arc<Sky>,
    /// Ends the relay when dropped.
    _staying: oneshot::Sender<()>,
}

/// Counts of the fates of datagrams so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    pub passed: u64,
    pub lost: u64,
    pub twice: u64,
    pub spoilt: u64,
    pub overtaken: u64,
    pub blackouts: u64,
}

impl Relay {
    pub fn new(router: &str, weather: Weather) -> Relay {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let router = router.parse().unwrap();
        let front = runtime.block_on(UdpSocket::bind("127.0.0.1:0")).unwrap();
        let address = front.local_addr().unwrap().to_string();
        let sky = Arc::new(Sky::over(weather));
        let relaying = outward(Arc::new(front), router, sky.clone());
        let (staying, gone) = oneshot::channel();
        std::thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! { () = relaying => {}, _ = gone => {} }
            });
        });
        Relay { address, sky, _staying: staying }
    }

    pub fn seen(&self) -> Seen {
        self.sky.state.lock().unwrap().seen
    }
}

/// Relays from members to the router. Each member has a socket of its own there, by which the router tells it from
/// others.
async fn outward(front: Arc<UdpSocket>, router: SocketAddr, sky: Arc<Sky>) {
    let mut members: BTreeMap<SocketAddr, Way> = BTreeMap::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let Ok((length, member)) = front.recv_from(&mut buffer).await else { continue };
        if !members.contains_key(&member) {
            let back = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
            let number = 2 * members.len() as u64;
            let home = Way::new(front.clone(), member, sky.clone(), number + 1);
            tokio::spawn(homeward(back.clone(), home));
            members.insert(member, Way::new(back, router, sky.clone(), number));
        }
        members.get_mut(&member).expect("it is there by now").pass(&buffer[..length]);
    }
}

/// Relays from the router to one member.
async fn homeward(back: Arc<UdpSocket>, mut home: Way) {
    let mut buffer = vec![0; 1 << 16];
    loop {
        if let Ok((length, _)) = back.recv_from(&mut buffer).await {
            home.pass(&buffer[..length]);
        }
    }
}

/// One direction of one member.
struct Way {
    socket: Arc<UdpSocket>,
    to: SocketAddr,
    sky: Arc<Sky>,
    random: SplitMix64,
    sent: u64,
    /// Highest number that has arrived.
    arrived: Arc<AtomicU64>,
}

impl Way {
    fn new(socket: Arc<UdpSocket>, to: SocketAddr, sky: Arc<Sky>, number: u64) -> Way {
        let random = SplitMix64::new(mix_bits(sky.weather.seed ^ mix_bits(number)));
        Way { socket, to, sky, random, sent: 0, arrived: Arc::default() }
    }

    fn pass(&mut self, datagram: &[u8]) {
        let Weather { lost, twice, spoilt, late, .. } = self.sky.weather;
        // The number of draws is constant, so that the fate of a datagram depends only on its number.
        let chance: [f64; 7] = std::array::from_fn(|_| self.random.unit());
        let [is_lost, is_twice, is_spoilt] = [chance[0] < lost, chance[1] < twice, chance[2] < spoilt];
        if !self.sky.lets_through(is_lost, is_twice, is_spoilt) {
            return;
        }
        let mut datagram = datagram.to_vec();
        if is_spoilt && !datagram.is_empty() {
            let place = (chance[3] * datagram.len() as f64) as usize;
            datagram[place] ^= 1 << (chance[4] * 8.0) as u32;
        }
        self.sent += 1;
        for chance in &chance[5..6 + usize::from(is_twice)] {
            let socket = self.socket.clone();
            let to = self.to;
            let sky = self.sky.clone();
            let number = self.sent;
            let arrived = self.arrived.clone();
            let datagram = datagram.clone();
            let late = late.mul_f64(*chance);
            tokio::spawn(async move {
                sleep(late).await;
                if arrived.fetch_max(number, Ordering::Relaxed) > number {
                    sky.state.lock().unwrap().seen.overtaken += 1;
                }
                // The receiver may have ended.
                let _ = socket.send_to(&datagram, to).await;
            });
        }
    }
}

/// State that all directions share.
struct Sky {
    weather: Weather,
    state: Mutex<State>,
}

struct State {
    seen: Seen,
    random: SplitMix64,
    /// Number of datagrams at the next blackout.
    dark_at: u64,
    dark_until: Instant,
}

impl Sky {
    fn over(weather: Weather) -> Sky {
        let mut random = SplitMix64::new(weather.seed);
        let dark_at = random.int(weather.dark_after / 2, weather.dark_after * 3 / 2);
        Sky { weather, state: Mutex::new(State { seen: Seen::default(), random, dark_at, dark_until: Instant::now() }) }
    }

    /// True if a datagram with this fate is sent on.
    fn lets_through(&self, is_lost: bool, is_twice: bool, is_spoilt: bool) -> bool {
        let Weather { dark_after, dark_for, .. } = self.weather;
        let mut state = self.state.lock().unwrap();
        if state.seen.passed >= state.dark_at {
            state.seen.blackouts += 1;
            state.dark_until = Instant::now() + dark_for;
            let next = state.random.int(dark_after / 2, dark_after * 3 / 2);
            state.dark_at += next;
        }
        if is_lost || Instant::now() < state.dark_until {
            state.seen.lost += 1;
            return false;
        }
        state.seen.passed += 1;
        state.seen.twice += u64::from(is_twice);
        state.seen.spoilt += u64::from(is_spoilt);
        true
    }
}
