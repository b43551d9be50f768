//! How messages become bytes: the one module that knows the encoding.
//!
//! Decoding is bounded: nothing longer than [`FRAME_MAX`] is read, a hostile length never allocates more than
//! that, trailing bytes are an error, and no input makes it panic.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The longest frame in bytes that may be written or read.
pub const FRAME_MAX: usize = 4 << 20;

#[derive(Debug, thiserror::Error)]
pub enum CodecError {
    #[error("cannot encode: {0}")]
    Encode(#[from] bincode::error::EncodeError),
    #[error("cannot decode: {0}")]
    Decode(#[from] bincode::error::DecodeError),
    #[error("{0} bytes left over after the message")]
    Trailing(usize),
    #[error("a frame of {0} bytes is longer than the {FRAME_MAX} that are allowed")]
    TooLong(usize),
}

/// Appends the encoding of `value` to `bytes`.
pub fn encode<T: Serialize>(value: &T, bytes: &mut Vec<u8>) -> Result<(), CodecError> {
    let before = bytes.len();
    bincode::serde::encode_into_std_write(value, bytes, config())?;
    match bytes.len() - before {
        length if length > FRAME_MAX => {
            bytes.truncate(before);
            Err(CodecError::TooLong(length))
        }
        _ => Ok(()),
    }
}

/// Reads one value that takes up all of `bytes`.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, CodecError> {
    if bytes.len() > FRAME_MAX {
        return Err(CodecError::TooLong(bytes.len()));
    }
    let (value, used) = bincode::serde::decode_from_slice(bytes, config())?;
    match bytes.len() - used {
        0 => Ok(value),
        left => Err(CodecError::Trailing(left)),
    }
}

fn config() -> impl bincode::config::Config {
    bincode::config::standard().with_limit::<FRAME_MAX>()
}
