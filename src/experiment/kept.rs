//! Names in rows that were written down by another machine.

use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Deserializer};

use crate::few;

/// Of this type are names that rows have; as a bare reference, one would be taken for a part of what is read.
pub type Name = &'static str;

/// Reads a name that is written into the program elsewhere. Each name is kept once, for as long as the process lives:
/// rows have few of them.
pub fn kept<'de, D: Deserializer<'de>>(from: D) -> Result<Name, D::Error> {
    static NAMES: Mutex<few::Set<&'static str>> = Mutex::new(few::Set::new());
    let name = String::deserialize(from)?;
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(match names.iter().copied().find(|kept| *kept == name) {
        Some(kept) => kept,
        None => {
            let kept: &'static str = name.leak();
            names.insert(kept);
            kept
        }
    })
}
