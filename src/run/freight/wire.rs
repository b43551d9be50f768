//! Headers of loads on a stream, and the receiver's verdict after each.
//!
//! ```text
//! router to sender:    S flow seed bytes, then credit: how many more bytes may come, four bytes each
//! sender to router:    D flow seed bytes, then the load; the same from router to receiver
//! receiver to router:  V flow arrived checksum, and 1 if the content is right
//! ```
//!
//! Numbers are little-endian, eight bytes each unless stated otherwise.

use tokio::io::{AsyncRead, AsyncReadExt};
use xxhash_rust::xxh3::Xxh3;

use super::content::LoadContent;

/// Identity and content of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadLabel {
    pub flow: u64,
    pub seed: u64,
    pub bytes: u64,
}

/// A receiver's verdict about a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadVerdict {
    pub flow: u64,
    /// Number of received bytes.
    pub arrived: u64,
    pub checksum: u64,
    /// True if each byte was correct, and none was missing.
    pub right: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadHeader {
    Send(LoadLabel),
    Data(LoadLabel),
    Verdict(LoadVerdict),
}

/// Size of the blocks of sender and receiver.
pub const BLOCK: usize = 16 << 10;

impl LoadHeader {
    pub fn to_bytes(self) -> Vec<u8> {
        match self {
            LoadHeader::Send(load) => label_bytes(b'S', load),
            LoadHeader::Data(load) => label_bytes(b'D', load),
            LoadHeader::Verdict(LoadVerdict { flow, arrived, checksum, right }) => {
                let mut out = label_bytes(b'V', LoadLabel { flow, seed: arrived, bytes: checksum });
                out.push(u8::from(right));
                out
            }
        }
    }

    /// Reads the first message of a stream.
    pub async fn read_from(stream: &mut (impl AsyncRead + Unpin)) -> std::io::Result<LoadHeader> {
        let tag = stream.read_u8().await?;
        let [flow, seed, bytes] =
            [stream.read_u64_le().await?, stream.read_u64_le().await?, stream.read_u64_le().await?];
        match tag {
            b'S' => Ok(LoadHeader::Send(LoadLabel { flow, seed, bytes })),
            b'D' => Ok(LoadHeader::Data(LoadLabel { flow, seed, bytes })),
            b'V' => {
                let right = stream.read_u8().await? == 1;
                Ok(LoadHeader::Verdict(LoadVerdict { flow, arrived: seed, checksum: bytes, right }))
            }
            _ => Err(std::io::Error::other(format!("a stream begins with the byte {tag}, which means nothing"))),
        }
    }
}

fn label_bytes(tag: u8, LoadLabel { flow, seed, bytes }: LoadLabel) -> Vec<u8> {
    let mut out = vec![tag];
    [flow, seed, bytes].iter().for_each(|number| out.extend(number.to_le_bytes()));
    out
}

/// Reads a load to its end and compares it with its expected content.
pub async fn check_load(label: LoadLabel, stream: &mut (impl AsyncRead + Unpin)) -> std::io::Result<LoadVerdict> {
    let mut content = LoadContent::new(label.seed, label.bytes);
    let mut hasher = Xxh3::new();
    let mut arrived = 0u64;
    let mut right = true;
    let mut found = vec![0; BLOCK];
    let mut wanted = vec![0; BLOCK];
    loop {
        let mut filled = 0;
        while filled < BLOCK {
            match stream.read(&mut found[filled..]).await? {
                0 => break,
                count => filled += count,
            }
        }
        let expected = content.next(&mut wanted);
        hasher.update(&found[..filled]);
        arrived += filled as u64;
        right &= found[..filled] == wanted[..expected];
        if filled < BLOCK {
            let right = right && arrived == label.bytes;
            return Ok(LoadVerdict { flow: label.flow, arrived, checksum: hasher.digest(), right });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(label: LoadLabel) -> Vec<u8> {
        let mut content = LoadContent::new(label.seed, label.bytes);
        let mut all = Vec::new();
        let mut block = [0; 64];
        loop {
            match content.next(&mut block) {
                0 => return all,
                count => all.extend(&block[..count]),
            }
        }
    }

    fn verdict(label: LoadLabel, bytes: &[u8]) -> LoadVerdict {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(check_load(label, &mut &*bytes)).unwrap()
    }

    #[test]
    fn a_load_that_is_cut_bent_or_too_long_is_noticed() {
        for bytes in [0, 1, 7, 8, 1000, BLOCK as u64, 3 * BLOCK as u64 + 5] {
            let label = LoadLabel { flow: 3, seed: 17, bytes };
            let whole = load(label);
            assert_eq!(whole.len() as u64, bytes);
            let fine = verdict(label, &whole);
            assert!(fine.right && fine.arrived == bytes, "{bytes}");
            let longer = [&whole[..], &[0]].concat();
            assert!(!verdict(label, &longer).right);
            if bytes > 0 {
                assert!(!verdict(label, &whole[..whole.len() - 1]).right);
                let mut bent = whole.clone();
                *bent.last_mut().unwrap() ^= 4;
                assert!(!verdict(label, &bent).right);
                assert_ne!(verdict(label, &bent).checksum, fine.checksum);
                assert!(!verdict(LoadLabel { seed: 18, ..label }, &whole).right);
            }
        }
    }

    #[test]
    fn words_read_back() {
        let label = LoadLabel { flow: 1, seed: u64::MAX, bytes: 3 };
        let verdict = LoadVerdict { flow: 9, arrived: 8, checksum: 7, right: true };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for word in [LoadHeader::Send(label), LoadHeader::Data(label), LoadHeader::Verdict(verdict)] {
            assert_eq!(runtime.block_on(LoadHeader::read_from(&mut &*word.to_bytes())).unwrap(), word);
        }
        assert!(runtime.block_on(LoadHeader::read_from(&mut &[7u8; 40][..])).is_err());
        assert!(runtime.block_on(LoadHeader::read_from(&mut &[b'S'; 4][..])).is_err());
    }
}
