//! Bytes that really move: for every flow of the network a load is sent from the process of one site over the router to
//! that of another, as a stream of its own, and is checked there.
//!
//! In virtual time nothing depends on it: the duration of a flow is the model's. So a load begins when the router
//! releases its flow, and ends when the receiver has confirmed that it was right; a run is not over before all are. The
//! router is in the middle because it is the only process that all others know, and because in a live run it is where
//! links are shared ([`shape`]).

mod content;
pub mod shape;
mod site;
mod wire;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use quinn::RecvStream;
use tokio::io::AsyncReadExt;
use tokio::sync::{Semaphore, mpsc, oneshot};
use xxhash_rust::xxh3::Xxh3;

use super::Failure;
use super::quic::{Connection, LOADS_MAX, LoadSender};
use hansa_sim::grid::EdgeId;
use hansa_sim::kernel::{ActorId, Entry};
use hansa_sim::network::LinkId;
use hansa_sim::protocol::Record;
use shape::Shaper;
pub use site::serve_router;
use wire::{BLOCK, LoadHeader, LoadLabel, LoadVerdict};

/// Number of concurrent loads, unless all have to be concurrent.
const AT_ONCE: usize = 64;

/// Largest part of a load between its sender and the router.
const CREDIT: u32 = 256 << 10;

/// Longest time without any progress of loads after the run's last event.
const PATIENCE: Duration = Duration::from_secs(30);

/// The router's side.
pub struct Freight {
    /// The process of each site, by actor.
    homes: Vec<Option<Home>>,
    names: Vec<String>,
    amount: Box<dyn Fn(u64) -> u64 + Send>,
    seed: u64,
    live: Option<LiveLinks>,
    turns: Arc<Semaphore>,
    /// Number of bytes that the router has passed on.
    passed: Arc<AtomicU64>,
    done: (mpsc::UnboundedSender<Arrival>, mpsc::UnboundedReceiver<Arrival>),
    sent: u64,
    under_way: BTreeMap<u64, Trip>,
    moved: Moved,
    /// Duration of each load, by flow; only of live runs.
    times: BTreeMap<u64, (EdgeId, Duration)>,
    /// The first load that has not arrived, or not completely, with the reason.
    failed: Option<String>,
}

/// A load in progress.
struct Trip {
    edge: EdgeId,
    from: ActorId,
    to: ActorId,
    began: Instant,
}

/// The additions of a live run: shared links and the clock.
pub struct LiveLinks {
    pub shaper: Arc<Shaper>,
    /// The links from site to site, by actors.
    pub route: Box<dyn Fn(ActorId, ActorId) -> Vec<LinkId> + Send>,
}

/// The process of a site, with the tasks that wait for a stream of it.
#[derive(Clone)]
struct Home {
    connection: Connection,
    mailbox: Arc<Mutex<Mailbox>>,
}

#[derive(Default)]
struct Mailbox {
    data: BTreeMap<u64, oneshot::Sender<RecvStream>>,
    verdicts: BTreeMap<u64, oneshot::Sender<LoadVerdict>>,
}

/// The result of a load.
struct Arrival {
    flow: u64,
    bytes: u64,
    at: Instant,
    outcome: Result<(), String>,
}

/// Totals of moved data.
#[derive(Clone, Debug, Default)]
pub struct Moved {
    pub flows: u64,
    pub bytes: u64,
    /// Duration of each load of a live run in real time, in order of release.
    pub times: Vec<(EdgeId, Duration)>,
}

impl Freight {
    /// `homes` are the connections to processes, with their sites; `amount` is the number of bytes that represent a
    /// volume.
    pub fn new(
        homes: Vec<(Connection, Vec<ActorId>)>,
        names: Vec<String>,
        seed: u64,
        amount: impl Fn(u64) -> u64 + Send + 'static,
        live: Option<LiveLinks>,
    ) -> Freight {
        // A live run shares links between as many loads as there are flows.
        let (at_once, streams) =
            if live.is_some() { (Semaphore::MAX_PERMITS, LOADS_MAX) } else { (AT_ONCE, AT_ONCE as u32) };
        let mut by_actor = vec![None; names.len()];
        for (connection, sites) in homes {
            connection.take_loads(streams * CREDIT);
            let mailbox = Arc::<Mutex<Mailbox>>::default();
            tokio::spawn(sort_mail(connection.clone(), mailbox.clone()));
            for site in sites {
                by_actor[site.index()] = Some(Home { connection: connection.clone(), mailbox: mailbox.clone() });
            }
        }
        Freight {
            homes: by_actor,
            names,
            amount: Box::new(amount),
            seed,
            live,
            turns: Arc::new(Semaphore::new(at_once)),
            passed: Arc::default(),
            done: mpsc::unbounded_channel(),
            sent: 0,
            under_way: BTreeMap::new(),
            moved: Moved::default(),
            times: BTreeMap::new(),
            failed: None,
        }
    }

    /// Starts loads for all flows that these records of the router release, and records loads that have arrived.
    pub fn start_released(&mut self, records: &[Entry<Record>]) {
        while let Ok(arrival) = self.done.1.try_recv() {
            self.record_arrival(arrival);
        }
        for entry in records {
            if let Record::Sent { edge, from, to, bytes, .. } | Record::Shipped { edge, from, to, bytes, .. } =
                &entry.record
            {
                self.load(*edge, *from, *to, *bytes);
            }
        }
    }

    /// Number of bytes passed so far.
    pub fn passed_bytes(&self) -> Arc<AtomicU64> {
        self.passed.clone()
    }

    /// Reports a load that has not arrived, or not completely, as soon as that is known. If a process has left, the
    /// reader of its frames knows more.
    pub fn check_failed(&self) -> Result<(), Failure> {
        match &self.failed {
            Some(what) if self.homes.iter().flatten().all(|home| home.connection.end_reason().is_none()) => {
                Err(Failure::Breach(what.clone()))
            }
            _ => Ok(()),
        }
    }

    fn load(&mut self, edge: EdgeId, from: ActorId, to: ActorId, volume: u64) {
        let flow = self.sent;
        self.sent += 1;
        let label = LoadLabel { flow, seed: content::load_seed(self.seed, flow), bytes: (self.amount)(volume) };
        self.under_way.insert(flow, Trip { edge, from, to, began: Instant::now() });
        let homes = [from, to].map(|actor| self.homes[actor.index()].clone());
        let way = self.live.as_ref().map(|live| (live.shaper.clone(), (live.route)(from, to)));
        let turns = self.turns.clone();
        let passed = self.passed.clone();
        let done = self.done.0.clone();
        tokio::spawn(async move {
            let outcome = match homes {
                [Some(from), Some(to)] => {
                    let _turn = turns.acquire().await;
                    carry_load(label, &from, &to, way, passed).await
                }
                _ => Err("one of the sites has no process".to_owned()),
            };
            // The receiver is gone once the run has failed.
            let _ = done.send(Arrival { flow, bytes: label.bytes, at: Instant::now(), outcome });
        });
    }

    fn record_arrival(&mut self, arrival: Arrival) {
        let Some(trip) = self.under_way.remove(&arrival.flow) else { return };
        match arrival.outcome {
            Ok(()) => {
                self.moved.flows += 1;
                self.moved.bytes += arrival.bytes;
                if self.live.is_some() {
                    self.times.insert(arrival.flow, (trip.edge, arrival.at - trip.began));
                }
            }
            Err(why) if self.failed.is_none() => self.failed = Some(format!("{}: {why}", self.describe(&trip))),
            Err(_) => {}
        }
    }

    fn describe(&self, Trip { edge, from, to, .. }: &Trip) -> String {
        format!("the data of {edge} from {} to {}", self.name_of(from), self.name_of(to))
    }

    fn name_of(&self, actor: &ActorId) -> &str {
        self.names[actor.index()].as_str()
    }

    /// Waits until every load has arrived, or reports the first that has not, or not completely.
    pub async fn finish(mut self) -> Result<Moved, Failure> {
        let mut passed = self.passed.load(Ordering::Relaxed);
        while self.failed.is_none()
            && let Some(first) = self.under_way.values().next()
        {
            let Ok(Some(arrival)) = tokio::time::timeout(PATIENCE, self.done.1.recv()).await else {
                // Large loads take their time; they are lost once none of them makes progress.
                let before = std::mem::replace(&mut passed, self.passed.load(Ordering::Relaxed));
                if passed > before {
                    continue;
                }
                let first = self.describe(first);
                let patience = PATIENCE.as_secs();
                let text = format!("{first} has not arrived: no load has made progress for {patience} s");
                return Err(Failure::Breach(text));
            };
            self.record_arrival(arrival);
        }
        match self.failed {
            Some(what) => Err(Failure::Breach(what)),
            None => Ok(Moved { times: self.times.into_values().collect(), ..self.moved }),
        }
    }
}

/// Hands the streams of a process to the tasks that wait for them.
async fn sort_mail(connection: Connection, mailbox: Arc<Mutex<Mailbox>>) {
    while let Ok(mut stream) = connection.accept_uni().await {
        let mailbox = mailbox.clone();
        tokio::spawn(async move {
            let Ok(word) = LoadHeader::read_from(&mut stream).await else { return };
            let mut mailbox = mailbox.lock().expect("no code panics while it holds mail");
            // A stream for which no task waits is dropped.
            match word {
                LoadHeader::Data(label) => _ = mailbox.data.remove(&label.flow).map(|waiting| waiting.send(stream)),
                LoadHeader::Verdict(verdict) => {
                    _ = mailbox.verdicts.remove(&verdict.flow).map(|waiting| waiting.send(verdict));
                }
                LoadHeader::Send(_) => {}
            }
        });
    }
}

type LoadWay = Option<(Arc<Shaper>, Vec<LinkId>)>;

/// Takes one load from its sender to its receiver.
async fn carry_load(
    label: LoadLabel,
    from: &Home,
    to: &Home,
    way: LoadWay,
    passed: Arc<AtomicU64>,
) -> Result<(), String> {
    let released = tokio::time::Instant::now();
    let gone = |_| "the site no longer answers".to_owned();
    let (data, verdict) = {
        let (data, waits) = oneshot::channel();
        let (answer, verdict) = oneshot::channel();
        from.mailbox.lock().expect("no code panics while it holds mail").data.insert(label.flow, data);
        to.mailbox.lock().expect("no code panics while it holds mail").verdicts.insert(label.flow, answer);
        (waits, verdict)
    };
    let mut asking = from.connection.open_uni().await.map_err(load_lost)?;
    asking.write_all(&LoadHeader::Send(label).to_bytes()).await.map_err(load_lost)?;
    asking.write_all(&CREDIT.to_le_bytes()).await.map_err(load_lost)?;
    let mut out = to.connection.open_uni().await.map_err(load_lost)?;
    out.write_all(&LoadHeader::Data(label).to_bytes()).await.map_err(load_lost)?;

    let mut sender = Sender { asking, passed };
    let stream = data.await.map_err(gone)?;
    let checksum = match way {
        None => relay_load(stream, &mut out, &mut sender).await,
        Some((shaper, route)) => shape::relay_shaped(&shaper, &route, released, stream, (&mut out, &mut sender)).await,
    };
    let checksum = checksum.map_err(load_lost)?;
    out.finish().map_err(load_lost)?;
    let verdict = verdict.await.map_err(gone)?;
    if verdict.arrived != label.bytes {
        return Err(format!("{} of {} bytes have arrived", verdict.arrived, label.bytes));
    }
    if !verdict.right || verdict.checksum != checksum {
        return Err("the received data differs from the sent data".to_owned());
    }
    Ok(())
}

fn load_lost(error: std::io::Error) -> String {
    format!("it was lost: {error}")
}

/// Passes a load on, and gives its sender new credit for the bytes passed.
async fn relay_load(mut from: RecvStream, to: &mut LoadSender, sender: &mut Sender) -> std::io::Result<u64> {
    let mut hasher = Xxh3::new();
    let mut block = vec![0; BLOCK];
    loop {
        let count = AsyncReadExt::read(&mut from, &mut block).await?;
        if count == 0 {
            return Ok(hasher.digest());
        }
        hasher.update(&block[..count]);
        to.write_all(&block[..count]).await?;
        sender.give_credit(count).await;
    }
}

/// The router's stream to a load's sender, and the count of passed bytes.
struct Sender {
    asking: LoadSender,
    passed: Arc<AtomicU64>,
}

impl Sender {
    async fn give_credit(&mut self, bytes: usize) {
        self.passed.fetch_add(bytes as u64, Ordering::Relaxed);
        // A sender that has sent everything asks for no more, and may have closed its end.
        let _ = self.asking.write_all(&(bytes as u32).to_le_bytes()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hansa_sim::grid::JobId;
    use hansa_sim::time::{Stamp, Time};

    #[test]
    fn a_load_that_does_not_arrive_is_told_before_the_run_is_over() {
        let record = Record::Sent {
            edge: EdgeId { job: JobId(7), from: 0, to: 1 },
            from: ActorId(0),
            to: ActorId(1),
            bytes: 1,
            active: Time::ZERO,
        };
        let sent = Entry { stamp: Stamp::ZERO, actor: ActorId(0), record };
        let runtime = crate::build_runtime().unwrap();
        let seen = runtime.block_on(async {
            let names = ["york", "bath"].map(str::to_owned).to_vec();
            // None of them has a process.
            let mut freight = Freight::new(Vec::new(), names, 1, |bytes| bytes, None);
            freight.start_released(&[sent]);
            tokio::task::yield_now().await;
            freight.start_released(&[]);
            assert!(freight.under_way.is_empty());
            freight.check_failed()
        });
        let message = "the data of 7.0-1 from york to bath: one of the sites has no process";
        assert_eq!(seen, Err(Failure::Breach(message.to_owned())));
    }
}
