//! Drives a leaf: plays one or more of a run's actors for a hub that is elsewhere.

use super::Failure;
use super::quic::{self, FrameReceiver, FrameSender};
use crate::kernel::{ActorId, Breach, Down, Leaf};
use crate::protocol::{Message, Record, codec};

/// Plays the leaf's part until the hub says that the run is over.
pub async fn play(
    mut leaf: Leaf<Message, Record>,
    sender: &mut FrameSender,
    receiver: &mut FrameReceiver,
    names: &[String],
) -> Result<(), Failure> {
    let mut outgoing = Vec::new();
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
            let before = leaf.before();
            quic::encode_in_pieces(up, |up| up.cut(before), &mut outgoing)
                .map_err(|error| Failure::Internal(format!("a message cannot be sent: {error}")))?;
            match sender.write(&outgoing).await {
                Ok(()) => outgoing.clear(),
                Err(error) => return Err(lost_router(&leaf, &error.to_string())),
            }
        }
    }
    Ok(())
}

fn lost_router(leaf: &Leaf<Message, Record>, why: &str) -> Failure {
    Failure::LostRouter(format!("lost the router at virtual time {}: {why}", leaf.now().time))
}

fn breached(breach: &Breach, names: &[String]) -> Failure {
    let actor = |id: ActorId| names.get(id.index()).cloned().unwrap_or_else(|| id.to_string());
    Failure::Breach(breach.describe(&actor, &|_| "the router".to_owned()))
}
