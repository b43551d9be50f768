//! The socket under QUIC, made for turns: one packet goes out, and one comes back.
//!
//! quinn's own socket calls the kernel half as often again. It is notified of each sent packet that has been taken,
//! which is useless where packets are always taken, and after each received packet it asks for more before it waits.
//! Here a report of packets comes from the runtime, or from a thread that waits for them itself (`turns.rs`).

use std::future::Future;
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use quinn::udp::{RecvMeta, Transmit, UdpSocketState};
use quinn::{AsyncTimer, AsyncUdpSocket, Runtime, TokioRuntime, UdpPoller};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::{Sleep, sleep_until};

use super::turns::TurnState;

/// Packets that are received at a time: most often one has come, and the kernel is told of room for each.
const PACKETS_AT_ONCE: usize = 4;

/// The runtime tokio, with such a socket, and with futures that a thread may drive by itself.
#[derive(Debug)]
pub struct InTurns(pub(super) Arc<TurnState>);

impl Runtime for InTurns {
    fn new_timer(&self, at: Instant) -> Pin<Box<dyn AsyncTimer>> {
        Box::pin(LazyTimer::new(at))
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        self.0.drive_future(future);
    }

    fn wrap_udp_socket(&self, socket: UdpSocket) -> io::Result<Arc<dyn AsyncUdpSocket>> {
        let socket = Arc::new(Socket::new(socket)?);
        self.0.run_on(socket.clone());
        Ok(socket)
    }

    fn now(&self) -> Instant {
        TokioRuntime.now()
    }
}

/// A timer of a connection. Each packet moves its deadline, mostly further away, so the runtime's timer is only moved
/// if it would be late: one that fires early is set again.
///
/// Its task always has the same waker (`turns.rs`), so that is registered once for each setting.
#[derive(Debug)]
struct LazyTimer {
    deadline: Instant,
    /// Time for which `sleep` is set, no later than the deadline.
    set_for: Instant,
    sleep: Pin<Box<Sleep>>,
    is_registered: bool,
}

impl LazyTimer {
    fn new(at: Instant) -> LazyTimer {
        LazyTimer { deadline: at, set_for: at, sleep: Box::pin(sleep_until(at.into())), is_registered: false }
    }

    fn reschedule(&mut self, at: Instant) {
        self.set_for = at;
        self.is_registered = false;
        self.sleep.as_mut().reset(at.into());
    }
}

impl AsyncTimer for LazyTimer {
    fn reset(mut self: Pin<&mut Self>, at: Instant) {
        self.deadline = at;
        if at < self.set_for {
            self.reschedule(at);
        }
    }

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let now = Instant::now();
            if now >= self.deadline {
                return Poll::Ready(());
            }
            if now >= self.set_for {
                let deadline = self.deadline;
                self.reschedule(deadline);
            }
            if self.is_registered {
                return Poll::Pending;
            }
            self.is_registered = Future::poll(self.sleep.as_mut(), cx).is_pending();
        }
    }
}

#[derive(Debug)]
pub(super) struct Socket {
    state: UdpSocketState,
    readable: AsyncFd<UdpSocket>,
    /// The kernel has refused a packet, and has not reported room since.
    is_full: AtomicBool,
    /// All packets have been received that the kernel has reported.
    is_drained: AtomicBool,
    /// The task that receives.
    receiver: Mutex<Option<Waker>>,
}

impl Socket {
    fn new(socket: UdpSocket) -> io::Result<Socket> {
        Ok(Socket {
            state: UdpSocketState::new((&socket).into())?,
            readable: watch_socket(socket, Interest::READABLE)?,
            is_full: AtomicBool::new(false),
            is_drained: AtomicBool::new(false),
            receiver: Mutex::default(),
        })
    }

    /// Wakes the task that receives, as packets have arrived.
    pub(super) fn wake_receiver(&self) {
        self.is_drained.store(false, Ordering::SeqCst);
        let receiver = self.receiver.lock().unwrap_or_else(PoisonError::into_inner);
        receiver.iter().for_each(Waker::wake_by_ref);
    }

    /// Wakes the task that receives if the runtime has reported packets, and registers for the next report.
    pub(super) fn watch_readable(&self, context: &mut Context<'_>) {
        while let Poll::Ready(Ok(mut guard)) = self.readable.poll_read_ready(context) {
            guard.clear_ready();
            self.wake_receiver();
        }
    }

    fn register_receiver(&self, waker: &Waker) {
        let mut receiver = self.receiver.lock().unwrap_or_else(PoisonError::into_inner);
        if receiver.as_ref().is_none_or(|receiver| !receiver.will_wake(waker)) {
            *receiver = Some(waker.clone());
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.readable.get_ref().as_fd()
    }
}

impl AsyncUdpSocket for Socket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(SendReadiness { socket: self, writable: None })
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let sent = self.state.send(self.readable.get_ref().into(), transmit);
        if sent.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock) {
            self.is_full.store(true, Ordering::Relaxed);
        }
        sent
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        self.register_receiver(cx.waker());
        let room = buffers.len().min(PACKETS_AT_ONCE);
        loop {
            // Set first: packets that arrive from now on are reported anew.
            if self.is_drained.swap(true, Ordering::SeqCst) {
                return Poll::Pending;
            }
            match self.state.recv(self.readable.get_ref().into(), &mut buffers[..room], metas) {
                Ok(received) => {
                    if received == room {
                        self.is_drained.store(false, Ordering::SeqCst);
                    }
                    return Poll::Ready(Ok(received));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Poll::Pending,
                // It belongs to a sent packet, and is reported once.
                Err(_) => self.is_drained.store(false, Ordering::SeqCst),
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.readable.get_ref().local_addr()
    }

    fn may_fragment(&self) -> bool {
        self.state.may_fragment()
    }

    fn max_transmit_segments(&self) -> usize {
        self.state.max_gso_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.state.gro_segments()
    }
}

/// Waits for room to send. quinn asks before each packet; the kernel is asked only after a refusal.
#[derive(Debug)]
struct SendReadiness {
    socket: Arc<Socket>,
    /// A second handle of the same socket, while a sender waits.
    writable: Option<AsyncFd<UdpSocket>>,
}

impl UdpPoller for SendReadiness {
    fn poll_writable(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.socket.is_full.load(Ordering::Relaxed) {
            self.writable = None;
            return Poll::Ready(Ok(()));
        }
        let writable = match self.writable.take() {
            Some(writable) => writable,
            None => watch_socket(self.socket.readable.get_ref().try_clone()?, Interest::WRITABLE)?,
        };
        match writable.poll_write_ready(cx) {
            Poll::Ready(ready) => {
                self.socket.is_full.store(false, Ordering::Relaxed);
                Poll::Ready(ready.map(|_| ()))
            }
            Poll::Pending => {
                self.writable = Some(writable);
                Poll::Pending
            }
        }
    }
}

/// Deprecated because code that changes descriptors meanwhile would break it; a socket of std keeps its own.
#[allow(deprecated)]
fn watch_socket(socket: UdpSocket, interest: Interest) -> io::Result<AsyncFd<UdpSocket>> {
    AsyncFd::with_interest(socket, interest)
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::time::Duration;

    use super::*;

    fn sockets() -> (Arc<dyn AsyncUdpSocket>, UdpSocket) {
        let ours = UdpSocket::bind("127.0.0.1:0").unwrap();
        let theirs = UdpSocket::bind("127.0.0.1:0").unwrap();
        theirs.connect(ours.local_addr().unwrap()).unwrap();
        (InTurns(Arc::default()).wrap_udp_socket(ours).unwrap(), theirs)
    }

    /// The lengths of received packets, of which two are taken at a time.
    async fn received(socket: &dyn AsyncUdpSocket) -> Vec<usize> {
        let mut bytes = [[0; 16]; 2];
        let mut metas = [RecvMeta::default(); 2];
        let [first, second] = &mut bytes;
        let mut buffers = [IoSliceMut::new(first), IoSliceMut::new(second)];
        let received = poll_fn(|cx| socket.poll_recv(cx, &mut buffers, &mut metas)).await.unwrap();
        metas[..received].iter().map(|meta| meta.len).collect()
    }

    #[tokio::test]
    async fn all_that_comes_is_told_of() {
        let (ours, theirs) = sockets();
        let expect = async |lengths: &[usize]| {
            let received = tokio::time::timeout(Duration::from_secs(10), received(&*ours)).await;
            assert_eq!(received.expect("a reader reports received packets"), lengths);
        };
        for turn in 1..=3 {
            theirs.send(&vec![0; turn]).unwrap();
            expect(&[turn]).await;
        }
        // More than are taken at a time, and one of the next turn.
        for length in 1..=5 {
            theirs.send(&vec![0; length]).unwrap();
        }
        expect(&[1, 2]).await;
        expect(&[3, 4]).await;
        expect(&[5]).await;
        let nothing = tokio::time::timeout(Duration::from_millis(20), received(&*ours)).await;
        assert!(nothing.is_err());
        theirs.send(&[0; 7]).unwrap();
        expect(&[7]).await;
    }

    #[tokio::test]
    async fn a_timer_fires_at_its_last_deadline() {
        let begun = Instant::now();
        let after = |millis| begun + Duration::from_millis(millis);
        for (set, moved) in [(5, 40), (40, 5), (20, 20)] {
            let mut timer = InTurns(Arc::default()).new_timer(after(set));
            let early = poll_fn(|cx| Poll::Ready(timer.as_mut().poll(cx))).await;
            timer.as_mut().reset(after(moved));
            poll_fn(|cx| timer.as_mut().poll(cx)).await;
            let is_early = early.is_pending() || Instant::now() >= after(set);
            assert!(is_early && Instant::now() >= after(moved), "{set} {moved}");
        }
    }

    #[tokio::test]
    async fn a_refused_sender_waits_for_room() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let socket = Arc::new(Socket::new(socket).unwrap());
        let mut rooms = [socket.clone().create_io_poller(), socket.clone().create_io_poller()];
        for room in &mut rooms {
            socket.is_full.store(true, Ordering::Relaxed);
            poll_fn(|cx| room.as_mut().poll_writable(cx)).await.unwrap();
            assert!(!socket.is_full.load(Ordering::Relaxed));
        }
    }
}
