//! Under any bytes of a peer, the decoder gives a value or an error; a value that it accepts can be encoded again.

#![no_main]

use hansa_sim::kernel::{Down, Up};
use hansa_sim::protocol::handshake::{Hello, Welcome};
use hansa_sim::protocol::{Message, Record, codec};
use libfuzzer_sys::fuzz_target;
use serde::Serialize;
use serde::de::DeserializeOwned;

fuzz_target!(|bytes: &[u8]| {
    check::<Down<Message>>(bytes);
    check::<Up<Message, Record>>(bytes);
    check::<Hello>(bytes);
    check::<Welcome>(bytes);
});

fn check<T: Serialize + DeserializeOwned>(bytes: &[u8]) {
    let Ok(value) = codec::decode_frame::<T>(bytes) else { return };
    let mut first = Vec::new();
    codec::encode_frame(&value, &mut first).expect("what was decoded can be encoded");
    let again: T = codec::decode_frame(&first).expect("what was encoded can be decoded");
    let mut second = Vec::new();
    codec::encode_frame(&again, &mut second).expect("what was decoded can be encoded");
    assert_eq!(first, second, "a value has one encoding");
}
