//! Every seed of the fuzz targets, as it is and broken in many ways, on stable Rust: what `fuzz/readers.rs` says of any bytes.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use hansa::random::SplitMix64;

#[path = "../../fuzz/readers.rs"]
mod readers;

/// Ways to break each seed.
const BROKEN: u64 = 150;

/// Words at which readers turn.
const WORDS: [&[u8]; 12] =
    [b"-1", b"0", b"18446744073709551616", b"1e308", b"NaN", b"\"", b"[[", b"}", b"\n", b"\xff", b"&lt;", b"true"];

#[test]
fn every_reader_survives_its_seeds_and_whatever_becomes_of_them() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz").join("seeds");
    for (name, check) in readers::READERS {
        let mut files: Vec<_> = fs::read_dir(seeds.join(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        assert!(!files.is_empty(), "no seeds for {name}");
        for file in files {
            let seed = fs::read(&file).unwrap();
            for number in 0..=BROKEN {
                let bytes = if number == 0 { seed.clone() } else { broken(&seed, number) };
                let survived = catch_unwind(AssertUnwindSafe(|| check(&bytes)));
                assert!(survived.is_ok(), "{}, broken {number}: {}", file.display(), String::from_utf8_lossy(&bytes));
            }
        }
    }
}

/// Up to four bytes, spans or words changed.
fn broken(seed: &[u8], number: u64) -> Vec<u8> {
    let (mut bytes, mut random) = (seed.to_vec(), SplitMix64::new(number));
    let mut below = |most: usize| (random.unit() * most as f64) as usize;
    for _ in 0..=below(4) {
        let at = below(bytes.len().max(1)).min(bytes.len());
        let to = (at + below(16)).min(bytes.len());
        match below(5) {
            0 if at < bytes.len() => bytes[at] ^= 1 << below(8),
            1 => drop(bytes.drain(at..to)),
            2 => {
                let span = bytes[at..to].to_vec();
                bytes.splice(at..at, span);
            }
            3 => bytes.truncate(at),
            _ => drop(bytes.splice(at..to, WORDS[below(WORDS.len())].iter().copied())),
        }
    }
    bytes
}
