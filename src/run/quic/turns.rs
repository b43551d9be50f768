//! Drives the connections of an endpoint, by the scheduler of the runtime or, during a turn, by the thread that waits.
//!
//! quinn has a future for the endpoint and one for each connection. Under the scheduler, a wait of a hub or a leaf costs
//! more than the packets: the future that waits is woken by another, so the scheduler polls its queue twice and asks the
//! kernel for events in between. Here these futures are in a queue of their own. While a thread takes a turn
//! ([`Turns::block_on`]), it runs the queue itself and waits for the socket alone: one packet goes out, one call waits,
//! and one packet comes in. At all other times a task of the runtime runs the queue, the *ferry*.
//!
//! Timers, signals and all else belong to the runtime, so a turn ends after [`PATIENCE`] without a packet, and the
//! runtime is visited every [`VISIT_EVERY`].

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd as _;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use quinn::{Endpoint, EndpointConfig, ServerConfig};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::socket::{InTurns, Socket};
use crate::keeper::WatchedRuntime;

/// Longest wait for a packet before the runtime takes over: some times as long as other processes need for their turns.
const PATIENCE: Duration = Duration::from_millis(2);

/// Longest time for which the runtime is not visited.
const VISIT_EVERY: Duration = Duration::from_millis(10);

/// The futures of an endpoint and its connections. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Turns(Arc<TurnState>);

/// An endpoint whose futures are driven so.
#[derive(Clone, Debug)]
pub(super) struct TurnEndpoint {
    pub quic: Endpoint,
    pub turns: Turns,
}

impl TurnEndpoint {
    /// Takes the socket. `server` is None for a client.
    pub fn new(config: EndpointConfig, server: Option<ServerConfig>, socket: UdpSocket) -> io::Result<TurnEndpoint> {
        let turns = Turns::default();
        let quic = Endpoint::new(config, server, socket, Arc::new(InTurns(turns.0.clone())))?;
        Ok(TurnEndpoint { quic, turns })
    }
}

#[derive(Debug, Default)]
pub(super) struct TurnState {
    /// True while a thread takes a turn, which runs the queue.
    by_hand: AtomicBool,
    /// Futures to poll.
    ready: Mutex<VecDeque<Arc<Driver>>>,
    /// All futures that have not ended, which keeps them alive.
    drivers: Mutex<Vec<Arc<Driver>>>,
    /// Wakes the ferry.
    ferry: Mutex<Option<Waker>>,
    socket: OnceLock<Arc<Socket>>,
}

/// A future of quinn. It is its own waker.
struct Driver {
    state: Arc<TurnState>,
    /// None once it has ended.
    future: Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>,
    /// True while it is in the queue.
    is_ready: AtomicBool,
}

impl Turns {
    /// Runs a future that waits for this endpoint, at first by hand.
    pub fn block_on<F: Future>(&self, kept: &WatchedRuntime, future: F) -> F::Output {
        let mut future = pin!(future);
        if kept.was_visited_within(VISIT_EVERY)
            && let Some(output) = self.take_turn(kept, future.as_mut())
        {
            return output;
        }
        kept.block_on(future)
    }

    /// Polls the future and runs the queue until the future is done. None if it takes long.
    fn take_turn<F: Future>(&self, kept: &WatchedRuntime, mut future: Pin<&mut F>) -> Option<F::Output> {
        let state = &self.0;
        let _within = kept.enter();
        let socket = state.socket.get()?;
        let woken = Arc::new(WokenFlag(AtomicBool::new(true)));
        let waker = Waker::from(woken.clone());
        let mut context = Context::from_waker(&waker);
        let _turn = ByHand::begin(state);
        let begun = Instant::now();
        loop {
            if woken.0.swap(false, Ordering::AcqRel)
                && let Poll::Ready(output) = future.as_mut().poll(&mut context)
            {
                // Sends the packets of what it has written.
                state.run_ready();
                return Some(output);
            }
            if state.run_ready() || woken.0.load(Ordering::Acquire) {
                continue;
            }
            let left = PATIENCE.checked_sub(begun.elapsed())?;
            let timeout = Timespec { tv_sec: 0, tv_nsec: left.subsec_nanos().into() };
            let mut sockets = [PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::IN)];
            // An interrupted call is repeated.
            if poll(&mut sockets, Some(&timeout)) == Ok(0) {
                return None;
            }
            socket.wake_receiver();
        }
    }
}

impl TurnState {
    /// Drives a future to its end.
    pub(super) fn drive_future(self: &Arc<TurnState>, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        let future = Mutex::new(Some(future));
        let driver = Arc::new(Driver { state: self.clone(), future, is_ready: AtomicBool::new(false) });
        let mut drivers = lock(&self.drivers);
        drivers.retain(|driver| lock(&driver.future).is_some());
        drivers.push(driver.clone());
        drop(drivers);
        driver.wake();
    }

    /// Runs the queue on this socket from now on, as a task of the current runtime.
    pub(super) fn run_on(self: &Arc<TurnState>, socket: Arc<Socket>) {
        let _ = self.socket.set(socket.clone());
        tokio::spawn(Ferry { state: self.clone(), socket });
    }

    /// Polls the futures in the queue. True if there were any.
    fn run_ready(&self) -> bool {
        let mut has_run = false;
        while let Some(driver) = self.pop_ready() {
            has_run = true;
            driver.poll_future();
        }
        has_run
    }

    fn pop_ready(&self) -> Option<Arc<Driver>> {
        lock(&self.ready).pop_front()
    }

    fn wake_ferry(&self) {
        if let Some(ferry) = &*lock(&self.ferry) {
            ferry.wake_by_ref();
        }
    }
}

impl Driver {
    fn poll_future(self: &Arc<Driver>) {
        // Later wakes queue it again.
        self.is_ready.store(false, Ordering::Release);
        let mut future = lock(&self.future);
        let waker = Waker::from(self.clone());
        if let Some(running) = &mut *future
            && running.as_mut().poll(&mut Context::from_waker(&waker)).is_ready()
        {
            *future = None;
        }
    }
}

impl Wake for Driver {
    fn wake(self: Arc<Driver>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Driver>) {
        if self.is_ready.swap(true, Ordering::AcqRel) {
            return;
        }
        lock(&self.state.ready).push_back(self.clone());
        // Either the end of a turn sees the queue, or this sees the end.
        if !self.state.by_hand.load(Ordering::SeqCst) {
            self.state.wake_ferry();
        }
    }
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Driver").field("is_ready", &self.is_ready).finish_non_exhaustive()
    }
}

/// A turn, which ends when it is dropped.
struct ByHand<'t>(&'t TurnState);

impl ByHand<'_> {
    fn begin(state: &TurnState) -> ByHand<'_> {
        state.by_hand.store(true, Ordering::SeqCst);
        ByHand(state)
    }
}

impl Drop for ByHand<'_> {
    fn drop(&mut self) {
        self.0.by_hand.store(false, Ordering::SeqCst);
        if !lock(&self.0.ready).is_empty() {
            self.0.wake_ferry();
        }
    }
}

/// The task that runs the queue under the scheduler.
struct Ferry {
    state: Arc<TurnState>,
    socket: Arc<Socket>,
}

impl Future for Ferry {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        {
            let mut waker = lock(&self.state.ferry);
            if waker.as_ref().is_none_or(|waker| !waker.will_wake(context.waker())) {
                *waker = Some(context.waker().clone());
            }
        }
        self.socket.watch_readable(context);
        self.state.run_ready();
        Poll::Pending
    }
}

impl Drop for Ferry {
    /// The runtime ends, and the futures with it; otherwise they and their wakers would keep each other alive.
    fn drop(&mut self) {
        let drivers = std::mem::take(&mut *lock(&self.state.drivers));
        drivers.iter().for_each(|driver| drop(lock(&driver.future).take()));
        lock(&self.state.ready).clear();
    }
}

/// Set when the future of a turn is to be polled again.
struct WokenFlag(AtomicBool);

impl Wake for WokenFlag {
    fn wake(self: Arc<WokenFlag>) {
        self.0.store(true, Ordering::Release);
    }

    fn wake_by_ref(self: &Arc<WokenFlag>) {
        self.0.store(true, Ordering::Release);
    }
}

/// The data of a lock, even if a thread has panicked with it: no code here leaves it inconsistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
