//! The socket under QUIC, made for turns: one packet goes out, and one comes back.
//!
//! quinn's own socket calls the kernel half as often again. It is notified of each sent packet that has been taken,
//! which is useless where packets are always taken, and after each received packet it asks for more before it waits.

use std::future::Future;
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Instant;

use quinn::udp::{RecvMeta, Transmit, UdpSocketState};
use quinn::{AsyncTimer, AsyncUdpSocket, Runtime, TokioRuntime, UdpPoller};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The runtime tokio, with such sockets.
#[derive(Debug)]
pub struct InTurns;

impl Runtime for InTurns {
    fn new_timer(&self, at: Instant) -> Pin<Box<dyn AsyncTimer>> {
        TokioRuntime.new_timer(at)
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        TokioRuntime.spawn(future);
    }

    fn wrap_udp_socket(&self, socket: UdpSocket) -> io::Result<Arc<dyn AsyncUdpSocket>> {
        let state = UdpSocketState::new((&socket).into())?;
        Ok(Arc::new(Socket {
            state,
            readable: watch_socket(socket, Interest::READABLE)?,
            is_full: AtomicBool::new(false),
        }))
    }

    fn now(&self) -> Instant {
        TokioRuntime.now()
    }
}

#[derive(Debug)]
struct Socket {
    state: UdpSocketState,
    readable: AsyncFd<UdpSocket>,
    /// The kernel has refused a packet, and has not reported room since.
    is_full: AtomicBool,
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
        loop {
            let mut guard = ready!(self.readable.poll_read_ready(cx))?;
            // An error belongs to a sent packet, and is reported once.
            let received = match guard.try_io(|socket| self.state.recv(socket.get_ref().into(), buffers, metas)) {
                Ok(Ok(received)) => received,
                Ok(Err(_)) | Err(_) => continue,
            };
            // No more has arrived. Later packets are reported anew.
            if received < buffers.len() {
                guard.clear_ready();
            }
            return Poll::Ready(Ok(received));
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
        (InTurns.wrap_udp_socket(ours).unwrap(), theirs)
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
    async fn a_refused_sender_waits_for_room() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let state = UdpSocketState::new((&socket).into()).unwrap();
        let readable = watch_socket(socket, Interest::READABLE).unwrap();
        let socket = Arc::new(Socket { state, readable, is_full: AtomicBool::new(true) });
        let mut rooms = [socket.clone().create_io_poller(), socket.clone().create_io_poller()];
        for room in &mut rooms {
            socket.is_full.store(true, Ordering::Relaxed);
            poll_fn(|cx| room.as_mut().poll_writable(cx)).await.unwrap();
            assert!(!socket.is_full.load(Ordering::Relaxed));
        }
    }
}
