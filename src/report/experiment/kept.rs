//! Names in rows that another process has written.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Deserializer};

/// Type of the names of rows; with a bare reference, serde would borrow from its input.
pub type Name = &'static str;

/// Reads a name that is a literal elsewhere in the program. Each distinct name is leaked once: rows have few of them.
pub fn kept<'de, D: Deserializer<'de>>(from: D) -> Result<Name, D::Error> {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
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
