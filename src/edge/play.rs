//! Drives a leaf: plays one or more of a run's actors for a hub that is elsewhere.

use super::Failure;
use super::quic::{self, FrameReceiver, FrameSender};
use crate::kernel::{ActorId, Breach, Down, Leaf, Promise, Up};
use crate::protocol::codec::CodecError;
use crate::protocol::{Message, Record, codec};

/// Plays the leaf's part until the hub says that the run is over.
pub async fn play(
    mut leaf: Leaf<Message, Record>,
    sender: &mut FrameSender,
    receiver: &mut FrameReceiver,
    names: &[String],
) -> Result<(), Failure> {
    let mut outgoing = Vec::new();
    let mut said = Promise::default();
    while !leaf.finished() {
        let down: Down<Message> = match receiver.next().await {
            Ok(Some(frame)) => codec::decode(frame).map_err(|error| {
                Failure::LostRouter(format!("the router sent something that cannot be read: {error}"))
            })?,
            Ok(None) => return Err(lost_router(&leaf, "it closed the connection before the run was over")),
            Err(error) => return Err(lost_router(&leaf, &error.to_string())),
        };
        leaf.receive(down).map_err(|breach| breached(&breach, names))?;
        while let Some(up) = leaf.turn().map_err(|breach| breached(&breach, names))? {
            write(up, &mut said, &mut outgoing)?;
            match sender.write(&outgoing).await {
                Ok(()) => outgoing.clear(),
                Err(error) => return Err(lost_router(&leaf, &error.to_string())),
            }
        }
    }
    Ok(())
}

/// Encodes a frame; where it is too long, in pieces, of which the earlier ones promise no more than the last frame did.
fn write(up: Up<Message, Record>, said: &mut Promise, outgoing: &mut Vec<u8>) -> Result<(), Failure> {
    let promise = up.promise();
    let mut pieces = vec![up];
    while let Some(piece) = pieces.pop() {
        match quic::encode(&piece, outgoing) {
            Ok(()) => {}
            Err(CodecError::TooLong(_)) if piece.mail.len() + piece.log.len() > 1 => {
                let (first, rest) = piece.split(*said);
                pieces.push(rest);
                pieces.push(first);
            }
            Err(error) => return Err(Failure::Internal(format!("a message cannot be sent: {error}"))),
        }
    }
    *said = promise;
    Ok(())
}

fn lost_router(leaf: &Leaf<Message, Record>, why: &str) -> Failure {
    Failure::LostRouter(format!("lost the router at virtual time {}: {why}", leaf.now().time))
}

fn breached(breach: &Breach, names: &[String]) -> Failure {
    let actor = |id: ActorId| names.get(id.index()).cloned().unwrap_or_else(|| id.to_string());
    Failure::Breach(breach.describe(&actor, &|_| "the router".to_owned()))
}
