//! Lies of a leaf: frames of meaningless bytes, frames with other promises or claims, messages and records that are
//! changed, forged, kept back or repeated.

use hansa_sim::kernel::{ActorId, Entry, Envelope, Up};
use hansa_sim::protocol::{Message, Record, codec};
use hansa_sim::random::SplitMix64;
use hansa_sim::time::{Span, Stamp, Time};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::mutation::mutate;

pub type Frame = Up<Message, Record>;

/// Messages of an honest run, of all senders; forged messages resemble them.
#[derive(Default)]
pub struct Received {
    pub messages: Vec<Message>,
    pub records: Vec<Record>,
    /// Number of frames of each leaf.
    pub frames: Vec<u64>,
}

pub struct Liar<'a> {
    received: &'a Received,
    everybody: u32,
    random: SplitMix64,
    /// Numbers of the frames that become lies.
    lies_at: Vec<u64>,
    frames: u64,
    /// Offset of the numbers of messages after forged ones.
    shift: u64,
    sent: Vec<Vec<u8>>,
    /// Lies so far, for the report of a failure.
    pub did: Vec<&'static str>,
}

impl<'a> Liar<'a> {
    /// A liar that sends this many frames when honest.
    pub fn new(seed: u64, received: &'a Received, frames: u64, everybody: u32) -> Liar<'a> {
        let mut random = SplitMix64::new(seed);
        let lies_at = (0..random.int(1, 3)).map(|_| random.int(0, frames.saturating_sub(1))).collect();
        Liar { received, everybody, random, lies_at, frames: 0, shift: 0, sent: Vec::new(), did: Vec::new() }
    }

    /// Frames to send instead of this one. `me` is the sender; the hub expects nothing from it before `floor`.
    pub fn instead(&mut self, mut frame: Frame, me: ActorId, floor: Stamp) -> Vec<Vec<u8>> {
        for mail in &mut frame.mail {
            mail.number += self.shift;
        }
        let is_lie = self.lies_at.contains(&self.frames);
        self.frames += 1;
        let out = match is_lie {
            false => vec![encoded(&frame)],
            true => match self.below(5) {
                0 => self.bytes(&frame),
                1 => vec![encoded(&self.claims(frame))],
                2 => vec![encoded(&self.mail(frame, me, floor))],
                3 => vec![encoded(&self.log(frame, me))],
                _ => self.frames(&frame),
            },
        };
        self.sent.extend(out.first().cloned());
        out
    }

    fn below(&mut self, count: usize) -> usize {
        self.random.int(0, count as u64 - 1) as usize
    }

    fn bytes(&mut self, frame: &Frame) -> Vec<Vec<u8>> {
        self.did.push("bytes");
        let mut bytes = encoded(frame);
        mutate(&mut bytes, &self.sent, &mut self.random);
        vec![bytes]
    }

    fn claims(&mut self, mut frame: Frame) -> Frame {
        self.did.push("claims");
        match self.below(4) {
            0 => frame.acked = frame.acked.wrapping_add_signed([-1, 1, 2, i64::MIN][self.below(4)]),
            1 => frame.floor = self.stamp(frame.floor),
            2 => frame.done = self.stamp(frame.done),
            _ => frame.finished = !frame.finished,
        }
        frame
    }

    fn frames(&mut self, frame: &Frame) -> Vec<Vec<u8>> {
        let bytes = encoded(frame);
        match self.below(4) {
            0 => {
                self.did.push("silence");
                Vec::new()
            }
            1 => {
                self.did.push("twice");
                vec![bytes; 2]
            }
            2 => {
                self.did.push("without end");
                vec![bytes; 1000]
            }
            _ => {
                self.did.push("an earlier frame");
                let earlier = self.sent.get(self.random.int(0, self.sent.len() as u64) as usize);
                earlier.cloned().into_iter().chain([bytes]).collect()
            }
        }
    }

    fn mail(&mut self, mut frame: Frame, me: ActorId, floor: Stamp) -> Frame {
        let place = self.below(frame.mail.len() + 1);
        let kind = self.below(8);
        let Some(mail) = frame.mail.get_mut(place).filter(|_| kind > 0) else {
            self.forge(&mut frame, place, me, floor);
            return frame;
        };
        match kind {
            1 => {
                self.did.push("a message kept back");
                frame.mail.remove(place);
            }
            2 => {
                self.did.push("a message twice");
                let again = Envelope { number: mail.number + 1, ..mail.clone() };
                frame.mail.insert(place + 1, again);
                self.renumber(&mut frame, place + 2);
            }
            3 => {
                self.did.push("another time");
                frame.mail[place].arrival = self.stamp(frame.mail[place].arrival);
            }
            4 => {
                self.did.push("another receiver");
                mail.to = ActorId(self.random.int(0, self.everybody.into()) as u32);
            }
            5 => {
                self.did.push("another sender");
                mail.from = ActorId(self.random.int(0, self.everybody.into()) as u32);
            }
            6 => {
                self.did.push("another message");
                mail.message = pick(&self.received.messages, &mut self.random).unwrap_or(mail.message.clone());
            }
            _ => {
                self.did.push("a changed message");
                mail.message = changed(&mail.message, &mut self.random);
            }
        }
        frame
    }

    /// Inserts a message of an honest run, perhaps changed.
    fn forge(&mut self, frame: &mut Frame, place: usize, me: ActorId, floor: Stamp) {
        self.did.push("a forged message");
        let Some(mut message) = pick(&self.received.messages, &mut self.random) else { return };
        if self.below(2) == 0 {
            message = changed(&message, &mut self.random);
        }
        let arrival = match frame.mail.get(place.saturating_sub(1)) {
            Some(mail) => mail.arrival,
            None if floor.is_never() => return,
            // Far enough for any latency here.
            None => Stamp::at(floor.time + Span::from_secs(self.random.int(0, 30))),
        };
        let to = match frame.mail.first() {
            Some(mail) => mail.to,
            None => ActorId(self.random.int(0, u64::from(self.everybody) - 1) as u32),
        };
        let number = frame.mail[..place].last().map_or(self.shift + 1, |mail| mail.number + 1);
        frame.mail.insert(place, Envelope { arrival, from: me, to, number, message });
        self.renumber(frame, place + 1);
    }

    fn renumber(&mut self, frame: &mut Frame, from: usize) {
        self.shift += 1;
        frame.mail[from..].iter_mut().for_each(|mail| mail.number += 1);
    }

    fn log(&mut self, mut frame: Frame, me: ActorId) -> Frame {
        let place = self.below(frame.log.len() + 1);
        let kind = self.below(6);
        let Some(entry) = frame.log.get_mut(place).filter(|_| kind > 0) else {
            self.did.push("a forged record");
            let stamp = frame.log.last().map_or(frame.done, |entry| entry.stamp);
            if let Some(record) = pick(&self.received.records, &mut self.random) {
                frame.log.insert(place, Entry { stamp, actor: me, record });
            }
            return frame;
        };
        match kind {
            1 => {
                self.did.push("a record kept back");
                frame.log.remove(place);
            }
            2 => {
                self.did.push("a record twice");
                let again = entry.clone();
                frame.log.insert(place, again);
            }
            3 => {
                self.did.push("another time of a record");
                frame.log[place].stamp = self.stamp(frame.log[place].stamp);
            }
            4 => {
                self.did.push("another record");
                entry.record = pick(&self.received.records, &mut self.random).unwrap_or(entry.record.clone());
            }
            _ => {
                self.did.push("a changed record");
                entry.record = changed(&entry.record, &mut self.random);
            }
        }
        frame
    }

    fn stamp(&mut self, stamp: Stamp) -> Stamp {
        let Stamp { time, step } = stamp;
        match self.below(7) {
            0 => Stamp::ZERO,
            1 => Stamp::NEVER,
            2 => Stamp { time: Time::from_micros(time.micros().saturating_sub(1)), step },
            3 => Stamp { time: Time::from_micros(time.micros().saturating_add(1)), step },
            4 => Stamp { time, step: step.saturating_add(1) },
            5 => Stamp { time: Time::from_micros(u64::MAX - 2), step: 0 },
            _ => Stamp { time: Time::from_micros(time.micros().saturating_add(self.random.int(0, 1 << 34))), step },
        }
    }
}

pub fn encoded(value: &impl Serialize) -> Vec<u8> {
    let mut bytes = Vec::new();
    codec::encode_frame(value, &mut bytes).expect("it is short");
    bytes
}

fn pick<T: Clone>(from: &[T], random: &mut SplitMix64) -> Option<T> {
    (!from.is_empty()).then(|| from[random.int(0, from.len() as u64 - 1) as usize].clone())
}

/// A changed value that can be decoded as well.
fn changed<T: Clone + Serialize + DeserializeOwned>(value: &T, random: &mut SplitMix64) -> T {
    let bytes = encoded(value);
    let mut attempts = (0..20).filter_map(|_| {
        let mut bytes = bytes.clone();
        for _ in 0..random.int(1, 3) {
            let place = random.int(0, bytes.len() as u64 - 1) as usize;
            bytes[place] = [random.int(0, 255), 0, 1, 250, 255][random.int(0, 4) as usize] as u8;
        }
        codec::decode_frame(&bytes).ok()
    });
    attempts.next().unwrap_or_else(|| value.clone())
}
