//! The content of loads: bytes that sender and receiver both know without exchanging them.

/// The content of one load, in order.
#[derive(Clone, Debug)]
pub struct LoadContent {
    seed: u64,
    at: u64,
    bytes: u64,
}

/// Seed of a load's content; no two loads have the same.
pub fn load_seed(run: u64, flow: u64) -> u64 {
    mix_bits(run ^ mix_bits(flow.wrapping_add(0x9e37_79b9_7f4a_7c15)))
}

impl LoadContent {
    pub fn new(seed: u64, bytes: u64) -> LoadContent {
        LoadContent { seed, at: 0, bytes }
    }

    /// Fills a block with the next bytes, in words of eight bytes, and returns their number. Blocks hold whole words.
    pub fn next(&mut self, block: &mut [u8]) -> usize {
        debug_assert!(block.len().is_multiple_of(8), "a block holds whole words");
        let count = block.len().min(usize::try_from(self.bytes - self.at).unwrap_or(usize::MAX));
        for (word, place) in (self.at / 8..).zip(block[..count.next_multiple_of(8)].chunks_exact_mut(8)) {
            place.copy_from_slice(&mix_bits(self.seed.wrapping_add(word)).to_le_bytes());
        }
        self.at += count as u64;
        count
    }
}

/// The last step of SplitMix64.
fn mix_bits(word: u64) -> u64 {
    let word = word.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}
