//! Work on a second thread: its input is handed over in full buffers, in order, if there may be a thread, and the work
//! is returned when a caller wants to see its state.
//!
//! Work that fits into one buffer gets no thread. Memory is bounded by some buffers, each as long as one batch of
//! items: a caller that fills them faster than they are emptied has to wait.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use super::pin;

/// Number of buffers that may wait. With more of them the thread waits less often, but finds them in no cache any more,
/// which costs both sides as much as that saves.
const WAITING: usize = 4;

/// The processing of items, one buffer at a time.
pub trait Consumer<T>: Send + Sized + 'static {
    type Error: Send + 'static;

    fn take_items(&mut self, items: &[T]) -> Result<(), Self::Error>;

    /// Called when no more items follow.
    fn finish(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// A copy of an error, for a caller that asks again.
    fn copy_error(error: &Self::Error) -> Self::Error;
}

/// A consumer, here or on a thread of its own, and the items that it has not been given yet.
pub struct Background<W: Consumer<T>, T: Send + 'static> {
    name: &'static str,
    buffer: Vec<T>,
    room: usize,
    hand: WorkerState<W, T>,
}

/// Location of the consumer.
enum WorkerState<W: Consumer<T>, T> {
    /// With the caller: either no batch has been full yet, or the caller has taken it back.
    Here(Box<W>),
    /// On its thread.
    There(Helper<W, T>),
    /// It has failed, and accepts no more items.
    Broken(W::Error),
    /// Placeholder while the consumer moves from one location to the other.
    Between,
}

/// Work that gets no more items, and may not be done yet.
pub enum ClosedQueue<W: Consumer<T>, T> {
    Done(Result<Box<W>, W::Error>),
    There(Helper<W, T>),
}

/// A thread. It is joined even by a caller that needs no result: it may be using files that others remove.
pub struct Helper<W: Consumer<T>, T> {
    full: Option<SyncSender<HandedBuffer<T>>>,
    empty: Receiver<Vec<T>>,
    thread: Option<JoinHandle<Done<W, T>>>,
}

enum HandedBuffer<T> {
    Items(Vec<T>),
    Last(Vec<T>),
}

/// The new location of the consumer, and an empty buffer.
type Passed<W, T> = Result<(WorkerState<W, T>, Vec<T>), <W as Consumer<T>>::Error>;

type Done<W, T> = Result<Box<W>, <W as Consumer<T>>::Error>;

impl<W: Consumer<T>, T: Send + 'static> Background<W, T> {
    /// Creates a queue in front of `work`, which gets its items in batches of `room`. A thread is started for the first
    /// full batch, under this name.
    pub fn new(name: &'static str, room: usize, work: Box<W>) -> Background<W, T> {
        Background { name, buffer: Vec::new(), room, hand: WorkerState::Here(work) }
    }

    /// Takes items. An error with earlier items may be reported later.
    pub fn put_items(&mut self, items: &[T]) -> Result<(), W::Error>
    where
        T: Copy,
    {
        let mut rest = items;
        while self.buffer.len() + rest.len() >= self.room {
            let (fits, more) = rest.split_at(self.room - self.buffer.len());
            self.buffer.extend_from_slice(fits);
            rest = more;
            self.send_buffer()?;
        }
        self.buffer.extend_from_slice(rest);
        Ok(())
    }

    /// Like `put_items`, for items that cannot be copied.
    pub fn give_items(&mut self, mut items: Vec<T>) -> Result<(), W::Error> {
        if self.buffer.is_empty() && items.len() >= self.room {
            self.buffer = items;
        } else {
            self.buffer.append(&mut items);
        }
        if self.buffer.len() >= self.room { self.send_buffer() } else { Ok(()) }
    }

    /// Hands over the present items.
    pub fn send_buffer(&mut self) -> Result<(), W::Error> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let full = std::mem::take(&mut self.buffer);
        let passed = match std::mem::replace(&mut self.hand, WorkerState::Between) {
            WorkerState::Here(work) => match Helper::new(self.name, work) {
                Ok(helper) => helper.exchange_buffer(full, self.room),
                Err(work) => process_here(work, full),
            },
            WorkerState::There(helper) => helper.exchange_buffer(full, self.room),
            WorkerState::Broken(error) => Err(error),
            WorkerState::Between => unreachable!("hand-overs do not overlap"),
        };
        let (hand, empty) = match passed {
            Ok((hand, empty)) => (hand, Ok(empty)),
            Err(error) => (WorkerState::Broken(W::copy_error(&error)), Err(error)),
        };
        self.hand = hand;
        self.buffer = empty?;
        Ok(())
    }

    /// Waits until all items have been processed, and returns the work.
    pub fn finish_pending(&mut self) -> Result<&mut W, W::Error> {
        let last = std::mem::take(&mut self.buffer);
        let taken = match std::mem::replace(&mut self.hand, WorkerState::Between) {
            WorkerState::Here(mut work) => work.take_items(&last).map(|()| work),
            WorkerState::There(helper) => helper.send_last(HandedBuffer::Items(last)).join(),
            WorkerState::Broken(error) => Err(error),
            WorkerState::Between => unreachable!("hand-overs do not overlap"),
        };
        match taken {
            Ok(work) => self.hand = WorkerState::Here(work),
            Err(error) => self.hand = WorkerState::Broken(error),
        }
        match &mut self.hand {
            WorkerState::Here(work) => Ok(work),
            WorkerState::Broken(error) => Err(W::copy_error(error)),
            WorkerState::There(_) | WorkerState::Between => unreachable!("it has just been put one of two ways"),
        }
    }

    /// Ends the input: a thread finishes while its owner does something else.
    pub fn end(self) -> ClosedQueue<W, T> {
        match self.hand {
            WorkerState::Here(mut work) => {
                let taken = work.take_items(&self.buffer).and_then(|()| work.finish());
                ClosedQueue::Done(taken.map(|()| work))
            }
            WorkerState::There(helper) => ClosedQueue::There(helper.send_last(HandedBuffer::Last(self.buffer))),
            WorkerState::Broken(error) => ClosedQueue::Done(Err(error)),
            WorkerState::Between => unreachable!("a hand-over is complete before the end"),
        }
    }
}

/// Processes a buffer without a thread.
fn process_here<W: Consumer<T>, T>(mut work: Box<W>, mut full: Vec<T>) -> Passed<W, T> {
    work.take_items(&full)?;
    full.clear();
    Ok((WorkerState::Here(work), full))
}

impl<W: Consumer<T>, T> ClosedQueue<W, T> {
    /// Waits until all is done.
    pub fn join(self) -> Result<Box<W>, W::Error> {
        match self {
            ClosedQueue::Done(done) => done,
            ClosedQueue::There(helper) => helper.join(),
        }
    }
}

impl<W: Consumer<T>, T: Send + 'static> Helper<W, T> {
    /// Returns the work if there may be no more threads.
    fn new(name: &str, work: Box<W>) -> Result<Helper<W, T>, Box<W>> {
        let (full, filled) = sync_channel(WAITING);
        let (emptied, empty) = sync_channel(WAITING);
        let (give, given) = sync_channel::<Box<W>>(1);
        let spawned = thread::Builder::new().name(name.to_owned()).spawn(move || {
            pin::to_any_core();
            let mut work = given.recv().expect("the starter of the thread gives it work");
            for given in filled {
                match given {
                    HandedBuffer::Items(mut buffer) => {
                        work.take_items(&buffer)?;
                        buffer.clear();
                        // There may be enough buffers already, or the receiver is gone.
                        let _ = emptied.try_send(buffer);
                    }
                    HandedBuffer::Last(buffer) => {
                        work.take_items(&buffer)?;
                        work.finish()?;
                    }
                }
            }
            Ok(work)
        });
        let Ok(thread) = spawned else { return Err(work) };
        give.send(work).expect("there is room for one");
        Ok(Helper { full: Some(full), empty, thread: Some(thread) })
    }

    /// Exchanges a full buffer for an empty one, or returns the error.
    fn exchange_buffer(self, full: Vec<T>, room: usize) -> Passed<W, T> {
        if self.full.as_ref().is_some_and(|there| there.send(HandedBuffer::Items(full)).is_err()) {
            // It accepts no more items only after an error.
            return self.join().map(|_| unreachable!("the thread has failed"));
        }
        let empty = self.empty.try_recv().unwrap_or_else(|_| Vec::with_capacity(room));
        Ok((WorkerState::There(self), empty))
    }
}

impl<W: Consumer<T>, T> Helper<W, T> {
    /// Hands over the last items.
    fn send_last(mut self, last: HandedBuffer<T>) -> Helper<W, T> {
        if let Some(full) = self.full.take() {
            // A thread that accepts no more items reports the reason when it is joined.
            let _ = full.send(last);
        }
        self
    }

    fn join(mut self) -> Result<Box<W>, W::Error> {
        self.full = None;
        let thread = self.thread.take().expect("it is joined once");
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl<W: Consumer<T>, T> Drop for Helper<W, T> {
    fn drop(&mut self) {
        self.full = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;

    /// Remembers its items, except those it fails on.
    #[derive(Default)]
    struct Memory {
        taken: Vec<String>,
        finished: bool,
        chokes_on: Option<&'static str>,
        slow: bool,
        _alive: Arc<()>,
    }

    impl Consumer<String> for Memory {
        type Error = String;

        fn take_items(&mut self, items: &[String]) -> Result<(), String> {
            if self.slow {
                thread::sleep(Duration::from_millis(20));
            }
            match self.chokes_on.filter(|what| items.iter().any(|item| item == what)) {
                Some(what) => Err(what.to_owned()),
                None => {
                    self.taken.extend_from_slice(items);
                    Ok(())
                }
            }
        }

        fn finish(&mut self) -> Result<(), String> {
            self.finished = true;
            Ok(())
        }

        fn copy_error(error: &String) -> String {
            error.clone()
        }
    }

    fn words(numbers: std::ops::Range<u32>) -> Vec<String> {
        numbers.map(|number| number.to_string()).collect()
    }

    #[test]
    fn everything_is_taken_once_and_in_order_whether_there_are_threads_or_not() {
        for room in [1, 7, 64, 10_000] {
            let mut background = Background::new("test", room, Box::<Memory>::default());
            for at in 0..100 {
                background.give_items(words(10 * at..10 * at + 10)).unwrap();
                // It can be inspected, and continues.
                if at % 30 == 29 {
                    let memory = background.finish_pending().unwrap();
                    assert_eq!((memory.taken.as_slice(), memory.finished), (words(0..10 * at + 10).as_slice(), false));
                }
            }
            let memory = background.end().join().unwrap();
            assert_eq!((memory.taken.as_slice(), memory.finished), (words(0..1_000).as_slice(), true));
        }
    }

    #[test]
    fn what_goes_wrong_is_told_as_often_as_it_is_asked_for() {
        for room in [1, 50, 10_000] {
            let work = Memory { chokes_on: Some("500"), ..Memory::default() };
            let mut background = Background::new("test", room, Box::new(work));
            let given: Vec<_> = (0..1_000).map(|at| background.give_items(words(at..at + 1))).collect();
            assert!(given[..500].iter().all(Result::is_ok), "nothing is wrong before it comes");
            assert_eq!(background.finish_pending().map(drop), Err("500".to_owned()));
            assert_eq!(background.finish_pending().map(drop), Err("500".to_owned()));
            assert_eq!(background.end().join().map(drop), Err("500".to_owned()));
        }
    }

    #[test]
    fn dropping_it_waits_for_the_work_begun() {
        let alive = Arc::<()>::default();
        let work = Memory { slow: true, _alive: alive.clone(), ..Memory::default() };
        let mut background = Background::new("test", 1, Box::new(work));
        background.give_items(words(0..1)).unwrap();
        background.give_items(words(1..2)).unwrap();
        drop(background);
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}
