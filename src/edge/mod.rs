//! The only code that touches the world.

pub mod identity;
pub mod quic;
