//! Links in user space, for live runs: data waits for its turn at each link.
//!
//! Each link is a token bucket with the rate that the model yields to the present number of flows. A load crosses the
//! links of its route one after the other, in blocks, of which at most one waits at each link, and links serve blocks
//! in the order of their arrival. So loads that are held up by one link take turns there, like packets of flows that
//! share a queue fairly, and a load that is held up elsewhere leaves the rest to others, without any computation of
//! rates.

use std::sync::Mutex;
use std::time::Duration;

use quinn::RecvStream;
use tokio::io::AsyncReadExt;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use xxhash_rust::xxh3::Xxh3;

use super::{LoadSender, Sender};
use hansa_sim::network::{Link, LinkId, Mode};

/// Delay that a link may make up for, as timers are late while data waits for it.
const LATE: Duration = Duration::from_millis(30);

/// Longest time for which a block occupies a link, if that leaves it some bytes: timers are no finer than a
/// millisecond.
const TURN: f64 = 0.003;
const BLOCK_MIN: usize = 1 << 10;
const BLOCK_MAX: usize = 64 << 10;

/// Largest number of a load's blocks between two links.
const BETWEEN: usize = 2;

/// The links of a live run.
pub struct Shaper {
    links: Vec<Link>,
    /// Virtual seconds per second.
    speed: f64,
    buckets: Vec<Mutex<Bucket>>,
}

#[derive(Clone, Copy)]
struct Bucket {
    flows: u32,
    /// Time at which all data let through so far has crossed.
    free: Instant,
}

impl Shaper {
    /// A shaper; capacities are in bytes per microsecond of virtual time.
    pub fn new(links: Vec<Link>, speed: f64) -> Shaper {
        let now = Instant::now();
        let buckets = links.iter().map(|_| Mutex::new(Bucket { flows: 0, free: now })).collect();
        Shaper { links, speed, buckets }
    }

    /// Bytes per second of real time.
    fn link_rate(&self, link: LinkId, flows: u32) -> f64 {
        self.links[link.index()].effective(flows) * 1e6 * self.speed
    }

    fn route_latency(&self, route: &[LinkId]) -> Duration {
        let micros: f64 = route.iter().map(|link| self.links[link.index()].latency).sum();
        Duration::from_secs_f64(micros / 1e6 / self.speed)
    }

    fn enter(&self, route: &[LinkId]) {
        let now = Instant::now();
        for link in route {
            let mut bucket = self.buckets[link.index()].lock().expect("no code panics while it holds a link");
            if bucket.flows == 0 {
                bucket.free = bucket.free.max(now);
            }
            bucket.flows += 1;
        }
    }

    fn leave(&self, route: &[LinkId]) {
        for link in route {
            self.buckets[link.index()].lock().expect("no code panics while it holds a link").flows -= 1;
        }
    }

    /// Waits until this many bytes have crossed the link; `own` is the bucket of the load, for a link that it need not
    /// share.
    async fn cross_link(&self, link: LinkId, bytes: usize, own: &mut Bucket) {
        let through = match self.links[link.index()].mode {
            Mode::PerFlow => self.reserve_time(link, bytes, own, 1),
            Mode::Shared => {
                let mut bucket = self.buckets[link.index()].lock().expect("no code panics while it holds a link");
                let flows = bucket.flows;
                self.reserve_time(link, bytes, &mut bucket, flows)
            }
        };
        sleep_until(through).await;
    }

    fn reserve_time(&self, link: LinkId, bytes: usize, bucket: &mut Bucket, flows: u32) -> Instant {
        let begins = bucket.free.max(Instant::now() - LATE);
        bucket.free = begins + Duration::from_secs_f64(bytes as f64 / self.link_rate(link, flows));
        bucket.free
    }

    /// Size of a block: small where links are slow.
    fn block_size(&self, route: &[LinkId]) -> usize {
        let slowest = route.iter().map(|link| self.link_rate(*link, 1)).fold(f64::INFINITY, f64::min);
        ((slowest * TURN) as usize).clamp(BLOCK_MIN, BLOCK_MAX)
    }
}

/// Counts a load on its links while it is under way.
struct OnRoute<'s> {
    shaper: &'s Shaper,
    route: &'s [LinkId],
}

impl Drop for OnRoute<'_> {
    fn drop(&mut self) {
        self.shaper.leave(self.route);
    }
}

/// Passes a load on over the links of its route.
pub(super) async fn relay_shaped(
    shaper: &std::sync::Arc<Shaper>,
    route: &[LinkId],
    released: Instant,
    mut from: RecvStream,
    (to, sender): (&mut LoadSender, &mut Sender),
) -> std::io::Result<u64> {
    sleep_until(released + shaper.route_latency(route)).await;
    shaper.enter(route);
    let _on_route = OnRoute { shaper, route };
    let size = shaper.block_size(route);
    let (into, mut last) = mpsc::channel(BETWEEN);
    for &link in route {
        let shaper = shaper.clone();
        let (out, next) = mpsc::channel(BETWEEN);
        let mut blocks: mpsc::Receiver<Vec<u8>> = std::mem::replace(&mut last, next);
        tokio::spawn(async move {
            let mut own = Bucket { flows: 1, free: Instant::now() };
            while let Some(block) = blocks.recv().await {
                shaper.cross_link(link, block.len(), &mut own).await;
                if out.send(block).await.is_err() {
                    return;
                }
            }
        });
    }

    let mut hasher = Xxh3::new();
    let feed = async {
        loop {
            let mut block = vec![0; size];
            let mut filled = 0;
            while filled < size {
                match AsyncReadExt::read(&mut from, &mut block[filled..]).await? {
                    0 => break,
                    count => filled += count,
                }
            }
            block.truncate(filled);
            if filled > 0 && into.send(block).await.is_err() {
                return Err(std::io::Error::other("the way over the links is closed"));
            }
            if filled < size {
                drop(into);
                return Ok(());
            }
        }
    };
    let drain = async {
        while let Some(block) = last.recv().await {
            hasher.update(&block);
            to.write_all(&block).await?;
            sender.give_credit(block.len()).await;
        }
        Ok::<(), std::io::Error>(())
    };
    let (fed, drained) = tokio::join!(feed, drain);
    fed?;
    drained?;
    Ok(hasher.digest())
}
