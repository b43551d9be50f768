//! Cost of resuming a job, on the same or on other nodes.

use crate::time::Span;

/// Time without progress after a job is resumed or moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MoveCost {
    /// Constant part.
    pub penalty: Span,
    /// Transfer of memory images, if it is modelled.
    pub images: Option<Images>,
}

/// Transfer of the memory of a job's tasks from node to node, through storage shared by all nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Images {
    /// Memory of a node, in kB.
    pub memory_kb: u64,
    /// Bandwidth that the images of one job share, in bits per second.
    pub bandwidth: u64,
}

impl MoveCost {
    /// Cost for a job with `tasks` tasks on new nodes, each with this share of a node's memory.
    pub fn of(&self, tasks: u32, memory: f64) -> Span {
        self.penalty + self.images.map_or(Span::ZERO, |images| images.time(tasks, memory))
    }
}

impl Images {
    /// Transfer time of the images, one after the other or all at once, rounded up to a microsecond.
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
    fn transfer_time_of_images_follows_their_bytes() {
        let images = Images { memory_kb: 8_000_000, bandwidth: 10_000_000_000 };
        // 128 tasks of 8 GB are a terabyte: 8,192 Gb at 10 Gbps.
        assert_eq!(images.time(128, 1.0), Span::from_micros(819_200_000));
        assert_eq!(images.time(3, 0.1), Span::from_micros(1_920_000));
        assert_eq!(images.time(0, 1.0), Span::ZERO);
        let cost = MoveCost { penalty: Span::from_secs(300), images: Some(images) };
        assert_eq!(cost.of(2, 0.5), Span::from_micros(306_400_000));
        assert_eq!(MoveCost { images: None, ..cost }.of(2, 0.5), Span::from_secs(300));
        // One bit too many takes a microsecond more, and very slow storage saturates.
        assert_eq!(Images { memory_kb: 1, bandwidth: 8_001 }.time(1, 1.0), Span::from_micros(999_876));
        assert_eq!(Images { memory_kb: 1_000_000_000_000, bandwidth: 1 }.time(u32::MAX, 1.0), Span::MAX);
    }
}
