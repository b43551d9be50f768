//! The run's log, in one total order, and its digest.

use serde::{Deserialize, Serialize};

use super::ActorId;
use crate::time::Stamp;

/// One record of the log. The log is ordered by (stamp, actor); an actor's records of one stamp keep its order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry<R> {
    pub stamp: Stamp,
    pub actor: ActorId,
    pub record: R,
}
