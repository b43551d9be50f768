use super::*;
use crate::kernel::*;
use crate::protocol::{Message, Record, handshake::*};
pub struct Plan { pub names: Vec<String>, pub latencies: Latencies }
impl Plan {
    pub fn of(_: &Topology) -> Plan { todo!() }
    pub fn find(&self, _: &Party) -> Option<ActorId> { todo!() }
    pub fn near_name(&self, _: &Party) -> String { todo!() }
    pub fn at_hub(&self) -> Vec<ActorId> { todo!() }
    pub fn all(&self) -> Vec<ActorId> { todo!() }
    pub fn parties(&self) -> Vec<Party> { todo!() }
}
pub fn build(_: &Topology, _: &[ActorId]) -> Result<Vec<(ActorId, BoxedActor<Message, Record>)>, String> { todo!() }
#[derive(Debug)]
pub struct Override;
impl Override { pub fn parse(_: &str) -> Result<Override, String> { todo!() } }
pub struct Input { pub path: String, pub hash: String }
pub struct Loaded { pub topology: Topology, pub inputs: Vec<Input> }
impl Topology { pub fn to_toml(&self) -> String { todo!() } pub fn hash(&self) -> TopologyHash { todo!() } pub fn in_short(&self) -> String { todo!() } }
pub fn describe(_: &Topology) -> String { todo!() }
