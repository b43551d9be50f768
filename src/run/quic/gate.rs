//! Priority on a connection: frames, then loads.
//!
//! All streams of a connection share its window of unacknowledged data. Loads fill it again as soon as any of it is
//! free, and there are many of them, so a frame could wait for as long as they last. Hence a frame that finds no room
//! shuts the gate to loads until it is written; it waits at most for the data that is in the window already.

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, ready};

use quinn::SendStream;
use tokio::sync::Notify;

/// Streams of frames go before streams of loads, which have 0.
pub(super) const FRAMES_FIRST: i32 = 1;

/// A gate that is shut to loads while a frame waits for room.
#[derive(Debug, Default)]
pub(super) struct Gate {
    shut: AtomicBool,
    opened: Notify,
}

impl Gate {
    /// Runs a future, and keeps loads out meanwhile if it cannot finish at once.
    pub(super) async fn go_first<T>(&self, doing: impl Future<Output = T>) -> T {
        let mut doing = pin!(doing);
        let mut shut = None;
        std::future::poll_fn(|context| {
            let polled = doing.as_mut().poll(context);
            if polled.is_pending() {
                shut.get_or_insert_with(|| Shut::new(self));
            }
            polled
        })
        .await
    }
}

/// Opens the gate again at the end of the wait, in every case.
struct Shut<'g>(&'g Gate);

impl Shut<'_> {
    fn new(gate: &Gate) -> Shut<'_> {
        gate.shut.store(true, Ordering::Release);
        Shut(gate)
    }
}

impl Drop for Shut<'_> {
    fn drop(&mut self) {
        self.0.shut.store(false, Ordering::Release);
        self.0.opened.notify_waiters();
    }
}

/// A stream to the other side that gives way to frames.
#[derive(Debug)]
pub struct LoadSender {
    stream: SendStream,
    gate: Arc<Gate>,
}

impl LoadSender {
    pub(super) fn new(stream: SendStream, gate: Arc<Gate>) -> LoadSender {
        LoadSender { stream, gate }
    }

    pub async fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            bytes = &bytes[self.write(bytes).await?..];
        }
        Ok(())
    }

    async fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            let mut opened = pin!(self.gate.opened.notified());
            // From now on no opening is missed.
            opened.as_mut().enable();
            let written = std::future::poll_fn(|context| {
                if self.gate.shut.load(Ordering::Acquire) {
                    ready!(opened.as_mut().poll(context));
                    return Poll::Ready(None);
                }
                Pin::new(&mut self.stream).poll_write(context, bytes).map(Some)
            });
            if let Some(written) = written.await {
                return Ok(written?);
            }
        }
    }

    /// Ends the stream.
    pub fn finish(&mut self) -> io::Result<()> {
        Ok(self.stream.finish()?)
    }
}
