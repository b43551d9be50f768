//! Drives a leaf: plays one or more of a run's actors for a hub that is elsewhere. They compute here, and the runtime
//! is entered to write and to wait.

use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::Failure;
use super::keeper::Kept;
use super::outside::Fault;
use super::quic::{self, FrameReceiver, FrameSender, WireError};
use crate::kernel::{Breach, Down, Instruction, Leaf};
use crate::protocol::{Message, Record, codec};

/// A leaf that has much to say lets go of what it has so far when it is so many bytes, or after so long.
const KEPT_BYTES: usize = 64 << 10;
const KEPT_FOR: Duration = Duration::from_millis(20);

/// Where a leaf meets its hub.
pub struct Stage<'a> {
    pub kept: &'a Kept,
    pub sender: &'a mut FrameSender,
    pub receiver: &'a mut FrameReceiver,
    /// The names of all actors, by their numbers.
    pub names: &'a [String],
    /// Something from outside that ends the part.
    pub endings: &'a mut mpsc::UnboundedReceiver<Failure>,
    /// What a program does that decides for one of the actors.
    pub fault: &'a Fault,
}

/// What the router has said about the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Played {
    Finished,
    /// The run has failed.
    Stopped,
}

/// Plays the leaf's part until the hub says that the run is over.
pub fn play(mut leaf: Leaf<Message, Record>, stage: Stage<'_>) -> Result<Played, Failure> {
    let Stage { kept, sender, receiver, names, endings, fault } = stage;
    let mut outgoing = Vec::new();
    while !leaf.finished() {
        let down: Down<Message> = match kept.block_on(exchange(sender, receiver, &outgoing, endings))? {
            Ok(Some(frame)) => codec::decode(frame).map_err(|error| {
                Failure::LostRouter(format!("the router sent something that cannot be read: {error}"))
            })?,
            Ok(None) => return Err(lost_router(&leaf, "it closed the connection before the run was over")),
            Err(error) => return Err(lost_router(&leaf, &error.to_string())),
        };
        outgoing.clear();
        leaf.receive(down).map_err(|breach| breached(&breach, names))?;
        let mut let_go = Instant::now();
        while let Some(up) = leaf.turn().map_err(|breach| breached(&breach, names))? {
            // What came of it is not to be taken for decisions.
            if let Some(failure) = fault.take() {
                return Err(failure);
            }
            let before = leaf.before();
            quic::encode_in_pieces(up, |up| up.cut(before), &mut outgoing)
                .map_err(|error| Failure::Internal(format!("a message cannot be sent: {error}")))?;
            if leaf.finished() || outgoing.len() >= KEPT_BYTES || let_go.elapsed() >= KEPT_FOR {
                kept.block_on(sender.write(&outgoing)).map_err(|error| lost_router(&leaf, &error.to_string()))?;
                kept.breathe();
                outgoing.clear();
                let_go = Instant::now();
                if let Ok(failure) = endings.try_recv() {
                    return Err(failure);
                }
            }
        }
    }
    Ok(if leaf.stopped() { Played::Stopped } else { Played::Finished })
}

/// What a leaf has heard that has said its last word.
#[derive(Clone, Copy, Debug)]
pub struct Last {
    pub played: Played,
    /// The router has ended its stream in order, as it does once it has everybody's last words. One that was killed has
    /// not.
    pub is_whole: bool,
}

/// Waits until the router has no more to say, and tells what it has said by then: a run may still fail after a leaf has
/// said its last word.
pub async fn listen_to_the_end(mut played: Played, receiver: &mut FrameReceiver) -> Last {
    loop {
        let is_whole = match receiver.next().await {
            Ok(Some(frame)) => {
                if codec::decode::<Down<Message>>(frame).is_ok_and(|down| down.then == Instruction::Stop) {
                    played = Played::Stopped;
                }
                continue;
            }
            end => end.is_ok(),
        };
        return Last { played, is_whole };
    }
}

/// Writes what there is to say, and waits for the next frame of the router, or for something else that ends it all.
async fn exchange<'r>(
    sender: &mut FrameSender,
    receiver: &'r mut FrameReceiver,
    outgoing: &[u8],
    endings: &mut mpsc::UnboundedReceiver<Failure>,
) -> Result<Result<Option<&'r [u8]>, WireError>, Failure> {
    let talk = async {
        if !outgoing.is_empty() {
            sender.write(outgoing).await?;
        }
        receiver.next().await
    };
    tokio::select! {
        biased;
        frame = talk => Ok(frame),
        Some(failure) = endings.recv() => Err(failure),
    }
}

fn lost_router(leaf: &Leaf<Message, Record>, why: &str) -> Failure {
    Failure::LostRouter(format!("lost the router at virtual time {}: {why}", leaf.now().time))
}

fn breached(breach: &Breach, names: &[String]) -> Failure {
    Failure::of_breach(breach, names, |_| String::new())
}
