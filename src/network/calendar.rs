//! When what ends next: a tournament between bundles, each with one time.

/// The least of many times, any of which may change. A change climbs only as far as it decides a match, so one that
/// stays behind another costs next to nothing, and none costs more than O(log n).
#[derive(Clone, Debug, Default)]
pub(super) struct Calendar {
    /// The root is at 1, the children of `i` at `2i` and `2i + 1`; the leaves are the second half. Times are kept as
    /// bits, which compare like the numbers as long as none is negative.
    best: Vec<u64>,
    leaves: usize,
}

const NEVER: u64 = f64::INFINITY.to_bits();

impl Calendar {
    /// Makes room for so many times.
    pub(super) fn reserve(&mut self, count: usize) {
        if count <= self.leaves {
            return;
        }
        let leaves = count.next_power_of_two();
        let mut best = vec![NEVER; 2 * leaves];
        best[leaves..leaves + self.leaves].copy_from_slice(&self.best[self.leaves..]);
        (self.best, self.leaves) = (best, leaves);
        self.play_all();
    }

    fn play_all(&mut self) {
        for node in (1..self.leaves).rev() {
            self.best[node] = self.best[2 * node].min(self.best[2 * node + 1]);
        }
    }

    /// Sets a time; an infinite one is none.
    pub(super) fn set(&mut self, which: usize, time: f64) {
        self.write(which, time);
        self.climb(which);
    }

    /// Sets a time, of which nobody hears until [`Calendar::tell`].
    pub(super) fn write(&mut self, which: usize, time: f64) {
        debug_assert!(time >= 0.0, "a time before the start: {time}");
        // Adding zero turns a negative zero into a positive one.
        self.best[self.leaves + which] = (time + 0.0).to_bits();
    }

    /// Makes known what was written.
    pub(super) fn tell(&mut self, written: &[u32]) {
        // Where many have changed, all matches in order cost less than a way up for each.
        if written.len() > self.leaves / 8 {
            self.play_all();
        } else {
            written.iter().for_each(|which| self.climb(*which as usize));
        }
    }

    fn climb(&mut self, which: usize) {
        let mut node = self.leaves + which;
        while node > 1 {
            node /= 2;
            let best = self.best[2 * node].min(self.best[2 * node + 1]);
            if self.best[node] == best {
                return;
            }
            self.best[node] = best;
        }
    }

    /// The least time, if there is any.
    pub(super) fn least(&self) -> Option<f64> {
        self.best.get(1).filter(|best| **best != NEVER).map(|best| f64::from_bits(*best))
    }

    /// Who has the least time, the lowest number among equals.
    pub(super) fn first(&self) -> Option<usize> {
        self.least()?;
        let mut node = 1;
        while node < self.leaves {
            node = 2 * node + usize::from(self.best[2 * node] != self.best[node]);
        }
        Some(node - self.leaves)
    }
}
