//! Drives a leaf: runs some of the actors of a run for a hub in another process. Actors compute outside of the runtime,
//! which is entered to write and to wait.

use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::Failure;
use super::keeper::WatchedRuntime;
use super::outside::ProgramFault;
use super::quic::{self, FrameReceiver, FrameSender, WireError};
use hansa_sim::kernel::{Breach, Down, Instruction, Leaf};
use hansa_sim::protocol::{Message, Record, codec};

/// Flush thresholds: a busy leaf sends after this many bytes or this long.
const KEPT_BYTES: usize = 64 << 10;
const KEPT_FOR: Duration = Duration::from_millis(20);

/// Inputs and outputs of a leaf.
pub struct LeafIo<'a> {
    pub kept: &'a WatchedRuntime,
    pub sender: &'a mut FrameSender,
    pub receiver: &'a mut FrameReceiver,
    /// The names of all actors, by their numbers.
    pub names: &'a [String],
    /// Failures from outside that end the leaf.
    pub endings: &'a mut mpsc::UnboundedReceiver<Failure>,
    /// Fault of the external program that decides for one of the actors, if there is one.
    pub fault: &'a ProgramFault,
}

/// The router's verdict on a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeafEnd {
    Finished,
    /// The run has failed.
    Stopped,
}

/// Drives the leaf until the hub ends the run.
pub fn drive_leaf(mut leaf: Leaf<Message, Record>, io: LeafIo<'_>) -> Result<LeafEnd, Failure> {
    let LeafIo { kept, sender, receiver, names, endings, fault } = io;
    let mut outgoing = Vec::new();
    while !leaf.finished() {
        let down: Down<Message> = match kept.block_on(exchange_frames(sender, receiver, &outgoing, endings))? {
            Ok(Some(frame)) => codec::decode_frame(frame).map_err(|error| {
                Failure::LostRouter(format!("the router sent something that cannot be read: {error}"))
            })?,
            Ok(None) => return Err(lost_router(&leaf, "it closed the connection before the run was over")),
            Err(error) => return Err(lost_router(&leaf, &error.to_string())),
        };
        outgoing.clear();
        leaf.receive(down).map_err(|breach| breach_failure(&breach, names))?;
        let mut let_go = Instant::now();
        loop {
            let turn = leaf.turn();
            // Results without an answer of the program must not be taken for decisions.
            if let Some(failure) = fault.find_end(endings) {
                return Err(failure);
            }
            let Some(up) = turn.map_err(|breach| breach_failure(&breach, names))? else { break };
            let before = leaf.piece_promise();
            quic::encode_in_pieces(up, |up| up.cut(before), &mut outgoing)
                .map_err(|error| Failure::Internal(format!("a message cannot be sent: {error}")))?;
            if leaf.finished() || outgoing.len() >= KEPT_BYTES || let_go.elapsed() >= KEPT_FOR {
                kept.block_on(sender.write(&outgoing)).map_err(|error| lost_router(&leaf, &error.to_string()))?;
                kept.run_ready_tasks();
                outgoing.clear();
                let_go = Instant::now();
                if let Ok(failure) = endings.try_recv() {
                    return Err(failure);
                }
            }
        }
    }
    Ok(if leaf.stopped() { LeafEnd::Stopped } else { LeafEnd::Finished })
}

/// The router's verdict after a leaf's last frame.
#[derive(Clone, Copy, Debug)]
pub struct FinalWord {
    pub end: LeafEnd,
    /// True if the router has ended its stream in order, as it does once it has the last frames of all members. A
    /// killed router has not.
    pub is_whole: bool,
}

/// Reads until the router ends its stream, and returns its last verdict: a run may still fail after a leaf has sent its
/// last frame.
pub async fn read_final_word(mut end: LeafEnd, receiver: &mut FrameReceiver) -> FinalWord {
    loop {
        let is_whole = match receiver.next().await {
            Ok(Some(frame)) => {
                if codec::decode_frame::<Down<Message>>(frame).is_ok_and(|down| down.then == Instruction::Stop) {
                    end = LeafEnd::Stopped;
                }
                continue;
            }
            end => end.is_ok(),
        };
        return FinalWord { end, is_whole };
    }
}

/// Writes the outgoing frames, and waits for the next frame of the router or for a failure from outside.
async fn exchange_frames<'r>(
    sender: &mut FrameSender,
    receiver: &'r mut FrameReceiver,
    outgoing: &[u8],
    endings: &mut mpsc::UnboundedReceiver<Failure>,
) -> Result<Result<Option<&'r [u8]>, WireError>, Failure> {
    let exchange = async {
        if !outgoing.is_empty() {
            sender.write(outgoing).await?;
        }
        receiver.next().await
    };
    tokio::select! {
        biased;
        frame = exchange => Ok(frame),
        Some(failure) = endings.recv() => Err(failure),
    }
}

fn lost_router(leaf: &Leaf<Message, Record>, why: &str) -> Failure {
    Failure::LostRouter(format!("lost the router at virtual time {}: {why}", leaf.now().time))
}

fn breach_failure(breach: &Breach, names: &[String]) -> Failure {
    Failure::of_breach(breach, names, |_| String::new())
}
