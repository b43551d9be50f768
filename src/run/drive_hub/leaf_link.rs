//! One leaf's connection at the router: its frames in both directions, and a bound on its data about moments that are
//! not over.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use super::super::quic::{Connection, FrameReceiver, FrameSender, Peer, WireError, encode_frame};
use hansa_sim::kernel::{Down, Instruction, Up};
use hansa_sim::protocol::codec::CodecError;
use hansa_sim::protocol::handshake::{Party, parties_label};
use hansa_sim::protocol::{Message, Record, codec};
use hansa_sim::recovery::{Divergence, Repeats};
use hansa_sim::time::Stamp;

/// One leaf's connection.
pub struct LeafLink {
    /// Name of the leaf's members in messages, such as `site york`.
    pub label: String,
    pub(super) parties: Vec<Party>,
    /// Number of the process that played the leaf first.
    pub(super) process: u32,
    pub(super) sender: FrameSender,
    pub(super) receiver: FrameReceiver,
    pub(super) connection: Connection,
    /// Frames that arrived during a write.
    pub(super) backlog: VecDeque<(Up<Message, Record>, Vec<u8>)>,
    /// Bytes of the frame that `read_frame` or `ready_frame` returned last.
    pub(super) last: Vec<u8>,
    /// Frames to write, and the bytes of them that are written.
    pub(super) outgoing: Vec<u8>,
    written: usize,
    /// True if a frame to the leaf or from it is lost, so that later ones cannot be understood.
    pub(super) is_torn: bool,
    pub(super) unmoved: Unmoved,
    pub(super) waits: u64,
    pub(super) blocked: Duration,
    pub(super) frames_down: u64,
    pub(super) frames_up: u64,
    /// Bytes of all frames from the leaf.
    pub(super) bytes_up: u64,
    /// Virtual time in us that the leaf's external clocks have passed, by its own reports.
    pub(super) clocks: Arc<AtomicU64>,
}

/// Time that a leaf has to close the connection with a reason after the end of its stream.
const REASON_WITHIN: Duration = Duration::from_secs(1);

/// Memory, in bytes, for messages and records of all leaves that wait for virtual time: about six million records.
const UNMOVED_MAX: usize = 512 << 20;

/// Encoded size in bytes from which a message or record is taken for a list, and the most bytes of memory that a byte
/// of an encoded list takes.
const LIST_FROM: usize = 64;
const LIST_FACTOR: usize = 10;

impl LeafLink {
    /// The connections of all leaves of a run, which share one bound on waiting data.
    pub fn link_leaves(peers: impl IntoIterator<Item = Peer>) -> Vec<LeafLink> {
        peers
            .into_iter()
            .zip(Unmoved::bounded_together(UNMOVED_MAX))
            .map(|(peer, unmoved)| LeafLink::new(peer, unmoved))
            .collect()
    }

    fn new(peer: Peer, unmoved: Unmoved) -> LeafLink {
        let Peer { parties, process, sender, receiver, connection } = peer;
        let clocks = Arc::default();
        tokio::spawn(read_clocks(connection.clone(), Arc::clone(&clocks)));
        LeafLink {
            label: parties_label(&parties),
            parties,
            process,
            sender,
            receiver,
            connection,
            backlog: VecDeque::new(),
            last: Vec::new(),
            outgoing: Vec::new(),
            written: 0,
            is_torn: false,
            unmoved,
            waits: 0,
            blocked: Duration::ZERO,
            frames_down: 0,
            frames_up: 0,
            bytes_up: 0,
            clocks,
        }
    }

    /// Continues with the leaf in another process, which starts from the beginning.
    pub(super) fn replace_process(&mut self, peer: Peer) {
        let Peer { sender, receiver, connection, .. } = peer;
        (self.sender, self.receiver, self.connection) = (sender, receiver, connection);
        tokio::spawn(read_clocks(self.connection.clone(), Arc::clone(&self.clocks)));
        self.backlog.clear();
        self.clear_outgoing();
    }

    /// Drops all frames to write.
    pub(super) fn clear_outgoing(&mut self) {
        self.outgoing.clear();
        self.written = 0;
    }

    /// Writes the outgoing bytes, and compares incoming frames with the previous ones, until all of those have been
    /// repeated.
    pub(super) async fn compare_repeats(&mut self, repeats: &mut Repeats, moved: &Cell<u64>) -> Result<(), LinkError> {
        let mut written = self.outgoing.is_empty();
        {
            let mut writing = pin!(self.sender.write_rest(&self.outgoing, &mut self.written));
            while !written || !repeats.has_caught_up() {
                tokio::select! {
                    biased;
                    end = &mut writing, if !written => {
                        end?;
                        written = true;
                    }
                    frame = self.receiver.next() => {
                        let frame = frame?.ok_or(LinkError::Closed)?;
                        moved.set(moved.get() + 1);
                        repeats.push_sent(frame)?;
                        while let Some(frame) = self.receiver.ready_frame()? {
                            repeats.push_sent(frame)?;
                        }
                    }
                }
            }
        }
        self.clear_outgoing();
        Ok(())
    }

    /// Keeps a frame that arrived before the comparison was complete and is new.
    pub(super) fn keep_frame(&mut self, frame: Vec<u8>) -> Result<(), LinkError> {
        self.frames_up += 1;
        self.bytes_up += frame.len() as u64;
        let up = self.unmoved.take_frame(&frame).inspect_err(|_| self.is_torn = true)?;
        self.backlog.push_back((up, frame));
        Ok(())
    }

    /// The connection and the stream that are left to close once the run is over.
    pub fn into_ends(self) -> (Connection, FrameSender) {
        (self.connection, self.sender)
    }

    /// Writes the outgoing bytes. Meanwhile it reads incoming frames, because two full pipes would wait for each other.
    /// A write that is dropped half-way is continued by the next.
    pub(super) async fn write(&mut self) -> Result<(), LinkError> {
        {
            let mut writing = pin!(self.sender.write_rest(&self.outgoing, &mut self.written));
            loop {
                tokio::select! {
                    biased;
                    written = &mut writing => break written?,
                    frame = self.receiver.next() => {
                        let frame = frame?.ok_or(LinkError::Closed)?;
                        self.bytes_up += frame.len() as u64;
                        let up = self.unmoved.take_frame(frame).inspect_err(|_| self.is_torn = true)?;
                        self.backlog.push_back((up, frame.to_vec()));
                        self.frames_up += 1;
                    }
                }
            }
        }
        self.clear_outgoing();
        Ok(())
    }

    /// Waits for the next frame from the leaf.
    pub(super) async fn read_frame(&mut self) -> Result<Up<Message, Record>, LinkError> {
        if let Some(up) = self.pop_backlog() {
            return Ok(up);
        }
        match self.receiver.next().await? {
            Some(frame) => {
                self.frames_up += 1;
                self.bytes_up += frame.len() as u64;
                self.last.clear();
                self.last.extend_from_slice(frame);
                self.unmoved.take_frame(frame).inspect_err(|_| self.is_torn = true)
            }
            None => {
                // A leaf that leaves in order closes the connection with a reason just after its stream.
                let closed = tokio::time::timeout(REASON_WITHIN, self.connection.await_closed()).await;
                Err(closed.map_or(LinkError::Closed, LinkError::Wire))
            }
        }
    }

    /// The next frame of the backlog.
    pub(super) fn pop_backlog(&mut self) -> Option<Up<Message, Record>> {
        let (up, frame) = self.backlog.pop_front()?;
        self.last = frame;
        Some(up)
    }

    /// The next frame, if it has arrived.
    pub(super) fn ready_frame(&mut self) -> Result<Option<Up<Message, Record>>, LinkError> {
        if let Some(up) = self.pop_backlog() {
            return Ok(Some(up));
        }
        let Some(frame) = self.receiver.ready_frame()? else { return Ok(None) };
        self.frames_up += 1;
        self.bytes_up += frame.len() as u64;
        self.last.clear();
        self.last.extend_from_slice(frame);
        self.unmoved.take_frame(frame).inspect_err(|_| self.is_torn = true).map(Some)
    }
}

/// Adds the progress of a leaf's external clocks to a sum, until the connection ends.
async fn read_clocks(connection: Connection, sum: Arc<AtomicU64>) {
    let mut reported: u64 = 0;
    while let Some(micros) = connection.clock_report().await {
        let passed = micros.saturating_sub(reported);
        reported = reported.max(micros);
        let _ = sum.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |sum| Some(sum.saturating_add(passed)));
    }
}

/// Counts frames of a leaf since its last progress, and its data about moments that are not over. An honest leaf may
/// have many records of one moment, which it sends in pieces, and may send messages ahead that arrive later; but all of
/// them have to be kept until their time comes, so their amount is bounded. Progress of a leaf frees only data whose
/// time has come.
#[derive(Debug)]
pub(super) struct Unmoved {
    /// Stamp before which the leaf has reported everything.
    done: Stamp,
    pub frames: u64,
    /// Size of these frames in bytes, as received.
    pub bytes: usize,
    /// Sizes of kept data, with the stamp until which each is kept, earliest first.
    waiting: BinaryHeap<Reverse<(Stamp, usize)>>,
    pub kept: usize,
    /// Bytes kept for all leaves together, and their limit.
    all: Arc<AtomicUsize>,
    max: usize,
}

impl Default for Unmoved {
    fn default() -> Unmoved {
        let all = Arc::default();
        Unmoved { done: Stamp::ZERO, frames: 0, bytes: 0, waiting: BinaryHeap::new(), kept: 0, all, max: UNMOVED_MAX }
    }
}

impl Unmoved {
    /// The data of any number of leaves, with one bound on all of it.
    fn bounded_together(max: usize) -> impl Iterator<Item = Unmoved> {
        let all = Arc::<AtomicUsize>::default();
        std::iter::repeat_with(move || Unmoved { all: all.clone(), max, ..Unmoved::default() })
    }

    fn take_frame(&mut self, frame: &[u8]) -> Result<Up<Message, Record>, LinkError> {
        let up: Up<Message, Record> = codec::decode_frame(frame)?;
        if up.done != self.done {
            (self.done, self.frames, self.bytes) = (up.done, 0, 0);
            while let Some(Reverse((until, size))) = self.waiting.peek().copied()
                && until < self.done
            {
                self.waiting.pop();
                self.kept -= size;
                self.all.fetch_sub(size, Ordering::Relaxed);
            }
        }
        self.frames += 1;
        self.bytes += frame.len();
        // Messages and records take about as much memory as their encoding, unless they contain lists.
        let share = frame.len() / (up.mail.len() + up.log.len()).max(1);
        let share = share + share.saturating_sub(LIST_FROM) * (LIST_FACTOR - 1);
        for mail in up.mail.iter().filter(|mail| mail.arrival >= up.done) {
            self.hold_bytes(mail.arrival, size_of_val(mail) + share);
        }
        let open = &up.log[up.log.partition_point(|entry| entry.stamp < up.done)..];
        if let Some(last) = open.last() {
            self.hold_bytes(last.stamp, size_of_val(open) + open.len() * share);
        }
        let all = self.all.load(Ordering::Relaxed);
        if all > self.max {
            return Err(LinkError::TooMuch { all, max: self.max });
        }
        Ok(up)
    }

    fn hold_bytes(&mut self, until: Stamp, size: usize) {
        self.waiting.push(Reverse((until, size)));
        self.kept += size;
        self.all.fetch_add(size, Ordering::Relaxed);
    }
}

/// Tells leaves that have sent their last frames that the run has failed after all. The close of a connection says so,
/// too, but may be lost.
pub async fn call_off(links: &mut [LeafLink]) {
    let stop: Down<Message> = Down { grant: Stamp::NEVER, then: Instruction::Stop, mail: Vec::new() };
    for link in links {
        link.clear_outgoing();
        encode_frame(&stop, &mut link.outgoing).expect("a frame without mail is short");
        let _ = tokio::time::timeout(CALL_OFF_WITHIN, link.sender.write(&link.outgoing)).await;
    }
}

/// Longest time to write one leaf's last frame.
const CALL_OFF_WITHIN: Duration = Duration::from_millis(250);

impl LinkError {
    /// True if a restarted process may succeed where this one failed.
    pub(super) fn may_pass(&self) -> bool {
        match self {
            LinkError::Closed | LinkError::Gone(_) => true,
            // Closed on this side because another process has taken its place.
            LinkError::Wire(wire) => wire.closed_without_reason() || *wire == WireError::ClosedHere,
            LinkError::Garbage(_) | LinkError::Different(_) | LinkError::TooMuch { .. } => false,
        }
    }
}

/// Faults of one connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum LinkError {
    #[error(transparent)]
    Wire(#[from] WireError),
    #[error("it sent something that cannot be read: {0}")]
    Garbage(#[from] CodecError),
    #[error("it left before the run was over")]
    Closed,
    /// The end of the process was reported by the launcher, with the reason.
    #[error("{0}")]
    Gone(String),
    #[error("it received the same input as before but answers differently, so it is not deterministic: {0}")]
    Different(#[from] Divergence),
    #[error("{all} bytes of all members have to wait for virtual time to advance, but at most {max} are buffered")]
    TooMuch { all: usize, max: usize },
}

#[cfg(test)]
mod tests {
    use super::*;
    use hansa_sim::grid::{Area, BookingId, CableId, Edge, JobId, Kind, Offer, Part, Receipt, Task, TaskId};
    use hansa_sim::kernel::{ActorId, Entry, Envelope};
    use hansa_sim::protocol::Ended;
    use hansa_sim::time::{Span, Time};

    fn frame(floor: u64, done: u64, records: u32) -> Vec<u8> {
        let stamp = |micros| Stamp::at(Time::from_micros(micros));
        let entry = |index| Entry {
            stamp: stamp(1),
            actor: ActorId(1),
            record: Record::Killed { task: TaskId { job: JobId(0), index } },
        };
        let log = (0..records).map(entry).collect();
        let up: Up<Message, Record> =
            Up { acked: 1, floor: stamp(floor), done: stamp(done), finished: false, mail: Vec::new(), log };
        let mut bytes = Vec::new();
        codec::encode_frame(&up, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn who_does_not_tell_how_far_it_is_may_send_only_so_much() {
        const MAX: usize = 4 << 20;
        let mut unmoved = Unmoved { max: MAX, ..Unmoved::default() };
        let mut kept = 0;
        let refused = loop {
            // Its promise to send nothing more does not help.
            match unmoved.take_frame(&frame(unmoved.frames, 1, 1000)) {
                Ok(up) => kept += up.log.capacity() * size_of::<Entry<Record>>(),
                Err(error) => break error.to_string(),
            }
            assert!(kept <= MAX, "{kept} bytes are kept, where {MAX} may be");
        };
        assert!(kept > MAX / 2, "{kept}");
        assert!(refused.contains("have to wait for virtual time"), "{refused}");
    }

    /// Each of eight members sends an eighth of what one may send, and then one of them a little more. What a member no
    /// longer needs is free for the others.
    #[test]
    fn members_share_one_bound_on_waiting_data() {
        const MAX: usize = 4 << 20;
        let mut members: Vec<Unmoved> = Unmoved::bounded_together(MAX).take(8).collect();
        let mut refused = None;
        for round in 0..1000 {
            for member in &mut members {
                if let Err(error) = member.take_frame(&frame(round, 1, 100)) {
                    refused.get_or_insert(error.to_string());
                }
            }
            if refused.is_some() {
                break;
            }
        }
        let refused = refused.expect("together they send too much");
        assert!(refused.contains("have to wait for virtual time"), "{refused}");
        let kept: Vec<usize> = members.iter().map(|member| member.kept).collect();
        assert!(kept.iter().all(|kept| *kept < MAX / 4), "{kept:?}");
        assert!(kept.iter().sum::<usize>() > MAX, "{kept:?}");

        // All but one advance beyond what they have sent.
        members[1..].iter_mut().for_each(|member| drop(member.take_frame(&frame(9, 9, 0))));
        members[0].take_frame(&frame(1, 1, 100)).unwrap();
    }

    #[test]
    fn who_goes_on_may_send_without_end() {
        let mut unmoved = Unmoved { max: 1 << 20, ..Unmoved::default() };
        for done in 0..200 {
            unmoved.take_frame(&frame(done, done, 1000)).unwrap();
        }
    }

    #[test]
    fn who_creeps_may_send_only_so_much_of_what_is_to_come() {
        const MAX: usize = 1 << 20;
        let stamp = |micros| Stamp::at(Time::from_micros(micros));
        let task = TaskId { job: JobId(0), index: 0 };
        let later = stamp(1 << 40);
        let ended = Message::Ended(Ended { task, started: Time::ZERO });
        let from = ActorId(1);
        let to = ActorId(0);
        let mail = |number| Envelope { arrival: later, from, to, number, message: ended.clone() };
        let entry = Entry { stamp: later, actor: from, record: Record::Killed { task } };
        for reports_start in [false, true] {
            let mut unmoved = Unmoved { max: MAX, ..Unmoved::default() };
            let mut frames = 0;
            let refused = loop {
                frames += 1;
                let (mail, log) = match reports_start {
                    false => ((0..100).map(|number| mail(100 * frames + number)).collect(), Vec::new()),
                    true => (Vec::new(), vec![entry.clone(); 100]),
                };
                // Each frame advances time by a microsecond.
                let up: Up<Message, Record> =
                    Up { acked: 1, floor: later, done: stamp(frames), finished: false, mail, log };
                let mut bytes = Vec::new();
                codec::encode_frame(&up, &mut bytes).unwrap();
                if let Err(error) = unmoved.take_frame(&bytes) {
                    break error.to_string();
                }
                assert!(frames < 1000, "it may go on for ever");
            };
            assert!(refused.contains("have to wait for virtual time"), "{refused}");
        }

        // Data whose time has come is not kept.
        let mut unmoved = Unmoved { max: MAX, ..Unmoved::default() };
        for done in 1..2000 {
            let ahead = (0..100).map(|number| Envelope { arrival: stamp(done + 10), ..mail(100 * done + number) });
            let up: Up<Message, Record> = Up {
                acked: 1,
                floor: stamp(done),
                done: stamp(done),
                finished: false,
                mail: ahead.collect(),
                log: Vec::new(),
            };
            let mut bytes = Vec::new();
            codec::encode_frame(&up, &mut bytes).unwrap();
            unmoved.take_frame(&bytes).unwrap();
        }
    }
    #[test]
    fn leaves_share_one_bound() {
        let mut links: Vec<Unmoved> = Vec::new();
        let all = Arc::<AtomicUsize>::default();
        let refused = loop {
            let mut next = Unmoved { all: all.clone(), max: 8 << 20, ..Unmoved::default() };
            let taken = next.take_frame(&frame(0, 1, 10_000));
            links.push(next);
            if let Err(error) = taken {
                break error.to_string();
            }
            assert!(links.len() < 100, "each keeps as much as it likes");
        };
        assert!(links.len() > 2 && links.iter().all(|link| link.kept < 4 << 20), "one alone may keep more");
        assert!(refused.contains("bytes of all members have to wait"), "{refused}");

        // Memory that one leaf frees is available to the others.
        let before = all.load(Ordering::Relaxed);
        let first = &mut links[0];
        first.take_frame(&frame(2, 2, 0)).unwrap();
        assert_eq!((first.kept, all.load(Ordering::Relaxed)), (0, before - links[1].kept));
        assert!(links[1].take_frame(&frame(0, 1, 1)).is_ok());
    }

    /// Uses the shortest element of each kind of list.
    #[test]
    fn lists_take_no_more_memory_than_is_counted() {
        fn costs<T: serde::Serialize>(element: T) {
            let mut bytes = Vec::new();
            codec::encode_frame(&element, &mut bytes).unwrap();
            let memory = size_of::<T>();
            let encoded = bytes.len();
            assert!(memory <= LIST_FACTOR * encoded, "{}: {memory}, {encoded}", std::any::type_name::<T>());
        }
        let part = Part { procs: 0, start: Time::ZERO, span: Span::ZERO };
        costs(Task::new(Span::ZERO, 0, Kind(0)));
        costs(Edge { from: 0, to: 0, data: 0 });
        costs((0u32, 0u32));
        costs((BookingId(0), 0u32));
        costs((0u32, part));
        costs(Receipt { booking: BookingId(0), part, rent: Area::ZERO, fee: Area::ZERO });
        costs(Offer { start: Time::ZERO, fee: Area::ZERO });
        costs(CableId(0));
    }
}
