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
    /// Keep others from these blocks, until they are dropped.
    _locks: Vec<UnixListener>,
}

impl Ports {
    /// Finds this many free ports in a row.
    pub fn reserve_ports(count: u32) -> io::Result<Ports> {
        let blocks = count.div_ceil(BLOCK);
        let places = (BLOCKS + 1).saturating_sub(blocks);
        let from = std::process::id();
        for block in (0..places).map(|step| (from + step) % places) {
            let first = FIRST + block * BLOCK;
            let locks: Vec<UnixListener> = (0..blocks).map_while(|next| lock_block(first + next * BLOCK)).collect();
            if locks.len() == blocks as usize && (first..first + count).all(is_free) {
                return Ok(Ports { first, _locks: locks });
            }
        }
        let last = FIRST + BLOCKS * BLOCK - 1;
        Err(io::Error::new(io::ErrorKind::AddrInUse, format!("no {count} in a row are free from {FIRST} to {last}")))
    }
}

/// Keeps other clusters from a block of ports. None if one of them has it.
fn lock_block(first: u32) -> Option<UnixListener> {
    let name = SocketAddr::from_abstract_name(format!("hansa-ports-{first}")).ok()?;
    UnixListener::bind_addr(&name).ok()
}

fn is_free(port: u32) -> bool {
    u16::try_from(port).is_ok_and(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_in_use_and_blocks_of_others_are_passed_over() {
        let many = Ports::reserve_ports(1001).unwrap();
        let few: Vec<Ports> = (0..20).map(|_| Ports::reserve_ports(65).unwrap()).collect();
        assert!(few.iter().all(|few| few.first + 65 <= many.first || few.first >= many.first + 1100));
        drop((many, few));
        let one = Ports::reserve_ports(65).unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, one.first as u16 + 64)).unwrap();
        let first = one.first;
        let other = Ports::reserve_ports(65).unwrap();
        assert_ne!(other.first, first);
        drop(one);
        assert_ne!(Ports::reserve_ports(65).unwrap().first, first);
        drop(listener);
    }
}
