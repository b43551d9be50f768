use super::*;
use crate::kernel::*;
use crate::protocol::{Message, Record, handshake::*};
pub struct Plan {
    pub names: Vec<String>,
    pub latencies: Latencies,
}
impl Plan {
    pub fn of(_: &Topology) -> Plan {
        todo!()
    }
    pub fn find(&self, _: &Party) -> Option<ActorId> {
        todo!()
    }
    pub fn near_name(&self, _: &Party) -> String {
        todo!()
    }
    pub fn at_hub(&self) -> Vec<ActorId> {
        todo!()
    }
    pub fn all(&self) -> Vec<ActorId> {
        todo!()
    }
    pub fn parties(&self) -> Vec<Party> {
        todo!()
    }
}
pub fn build(_: &Topology, _: &[ActorId]) -> Result<Vec<(ActorId, BoxedActor<Message, Record>)>, String> {
    todo!()
}
