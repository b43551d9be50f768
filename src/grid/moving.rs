//! What it costs a job to go on elsewhere, or after a pause.

use crate::time::Span;

/// For how long a job makes no progress once it is resumed or moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MoveCost {
    /// In any case.
    pub penalty: Span,
    /// And for what of it comes from elsewhere, where that is reckoned.
    pub images: Option<Images>,
}

/// How the memory of a job's tasks gets from node to node, through storage that all nodes reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Images {
    /// What a node has, in kB.
    pub memory_kb: u64,
    /// What the images of one job get together, in bits a second.
    pub bandwidth: u64,
}

impl MoveCost {
    /// Of a job of which so many tasks come to nodes, each with such a share of a node's memory.
    pub fn of(&self, tasks: u32, memory: f64) -> Span {
        self.penalty + self.images.map_or(Span::ZERO, |images| images.time(tasks, memory))
    }
}

impl Images {
    /// What so many images take, one after the other or all at once, to the next microsecond.
    pub fn time(&self, tasks: u32, memory: f64) -> Span {
        let bytes = (memory * self.memory_kb as f64 * 1e3).round() as u64;
        let bits = 8 * u128::from(bytes) * u128::from(tasks);
        let micros = (bits * 1_000_000).div_ceil(self.bandwidth.max(1).into());
        Span::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_take_what_their_bytes_take() {
        let images = Images { memory_kb: 8_000_000, bandwidth: 10_000_000_000 };
        // 128 tasks of 8 GB are a terabyte: 8,192 Gb at 10 Gbps.
        assert_eq!(images.time(128, 1.0), Span::from_micros(819_200_000));
        assert_eq!(images.time(3, 0.1), Span::from_micros(1_920_000));
        assert_eq!(images.time(0, 1.0), Span::ZERO);
        let cost = MoveCost { penalty: Span::from_secs(300), images: Some(images) };
        assert_eq!(cost.of(2, 0.5), Span::from_micros(306_400_000));
        assert_eq!(MoveCost { images: None, ..cost }.of(2, 0.5), Span::from_secs(300));
        // Whoever has one bit too many waits for it, and there is no end of very slow storage.
        assert_eq!(Images { memory_kb: 1, bandwidth: 8_001 }.time(1, 1.0), Span::from_micros(999_876));
        assert_eq!(Images { memory_kb: 1_000_000_000_000, bandwidth: 1 }.time(u32::MAX, 1.0), Span::MAX);
    }
}
