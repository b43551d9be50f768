//! Ports of a cluster: a row of free ones, which no other cluster of ours takes.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

/// Ports of a block, and the first block. All lie below those that the system gives to clients.
const BLOCK: u32 = 100;
const FIRST: u32 = 20_000;
const BLOCKS: u32 = 120;

pub struct Ports {
    pub first: u32,
    /// Keeps others from the block, until it is dropped.
    _lock: UnixListener,
}

impl Ports {
    /// Finds this many free ports in a row.
    pub fn take(count: u32) -> io::Result<Ports> {
        let from = std::process::id();
        for block in (0..BLOCKS).map(|step| (from + step) % BLOCKS) {
            let first = FIRST + block * BLOCK;
            let name = SocketAddr::from_abstract_name(format!("hansa-ports-{first}"))?;
            let Ok(lock) = UnixListener::bind_addr(&name) else { continue };
            if (first..first + count).all(is_free) {
                return Ok(Ports { first, _lock: lock });
            }
        }
        let last = FIRST + BLOCKS * BLOCK - 1;
        Err(io::Error::new(io::ErrorKind::AddrInUse, format!("no {count} in a row are free from {FIRST} to {last}")))
    }
}

fn is_free(port: u32) -> bool {
    u16::try_from(port).is_ok_and(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_in_use_and_blocks_of_others_are_passed_over() {
        let one = Ports::take(65).unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, one.first as u16 + 64)).unwrap();
        let first = one.first;
        let other = Ports::take(65).unwrap();
        assert_ne!(other.first, first);
        drop(one);
        assert_ne!(Ports::take(65).unwrap().first, first);
        drop(listener);
    }
}
