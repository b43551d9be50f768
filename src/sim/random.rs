//! SplitMix64: a small seeded random stream, identical on every platform.

use crate::math;

/// Increment of the state: the golden ratio's odd fraction of 2^64.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// Scrambles a number; the results of adjacent numbers are unrelated.
pub const fn mix_bits(number: u64) -> u64 {
    let z = number.wrapping_add(STEP);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A stream of random numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    pub const fn new(seed: u64) -> SplitMix64 {
        SplitMix64 { state: seed }
    }

    /// The stream after `numbers` draws.
    pub fn after(self, numbers: u64) -> SplitMix64 {
        SplitMix64 { state: self.state.wrapping_add(STEP.wrapping_mul(numbers)) }
    }

    pub fn next_u64(&mut self) -> u64 {
        let number = mix_bits(self.state);
        self.state = self.state.wrapping_add(STEP);
        number
    }

    /// Uniform in `[0, 1)`, with all 53 bits of precision.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform integer from `least` to `most`, both included.
    pub fn int(&mut self, least: u64, most: u64) -> u64 {
        debug_assert!(least <= most, "no number lies between {least} and {most}");
        least + (self.unit() * ((most - least) as f64 + 1.0)) as u64
    }

    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * math::ln(1.0 - self.unit())
    }

    /// Normal with mean 0 and deviation 1, by the method of Box and Muller.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * math::ln(1.0 - self.unit())).sqrt();
        radius * math::cos(2.0 * std::f64::consts::PI * self.unit())
    }

    /// Uniform on a logarithmic scale between two positive numbers.
    pub fn log_uniform(&mut self, least: f64, most: f64) -> f64 {
        LogUniform::between(least, most).draw(self)
    }
}

/// Uniform on a logarithmic scale between two positive numbers, with precomputed logarithms for frequent draws.
#[derive(Clone, Copy, Debug)]
pub struct LogUniform {
    low: f64,
    width: f64,
}

impl LogUniform {
    pub fn between(least: f64, most: f64) -> LogUniform {
        let low = math::ln(least);
        let high = math::ln(most);
        LogUniform { low, width: high - low }
    }

    pub fn draw(&self, stream: &mut SplitMix64) -> f64 {
        math::exp(self.low + stream.unit() * self.width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_the_published_stream() {
        let mut stream = SplitMix64::new(0);
        let first: Vec<u64> = (0..3).map(|_| stream.next_u64()).collect();
        assert_eq!(first, [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4, 0x06C4_5D18_8009_454F]);
        assert_eq!(mix_bits(0), first[0]);

        let mut stream = SplitMix64::new(1_234_567);
        let known: Vec<u64> = (0..3).map(|_| stream.next_u64()).collect();
        assert_eq!(known, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn a_stream_can_start_after_some_draws() {
        let mut stream = SplitMix64::new(9);
        (0..5).for_each(|_| _ = stream.next_u64());
        assert_eq!(SplitMix64::new(9).after(5), stream);
    }

    #[test]
    fn draws_stay_within_their_bounds() {
        let mut stream = SplitMix64::new(7);
        let mut seen = [false; 21];
        for _ in 0..10_000 {
            assert!((0.0..1.0).contains(&stream.unit()));
            seen[stream.int(5, 20) as usize] = true;
            assert!(stream.exponential(1.0) >= 0.0);
            assert!((9.999_999..200_000.1).contains(&stream.log_uniform(10.0, 200_000.0)));
        }
        assert_eq!(seen, std::array::from_fn(|number| number >= 5));
    }

    #[test]
    fn distributions_have_their_means() {
        type Draw = fn(&mut SplitMix64) -> f64;
        let rows: [(Draw, f64); 6] = [
            (|stream| stream.unit(), 0.5),
            (|stream| stream.int(5, 6) as f64, 5.5),
            (|stream| stream.exponential(3.0), 3.0),
            (|stream| stream.normal(), 0.0),
            (|stream| math::pow(stream.normal(), 2.0), 1.0),
            (|stream| math::ln(stream.log_uniform(3.0, 27.0)), math::ln(9.0)),
        ];
        for (which, (draw, expected)) in rows.into_iter().enumerate() {
            let mut stream = SplitMix64::new(7);
            let found = (0..100_000).map(|_| draw(&mut stream)).sum::<f64>() / 1e5;
            // At least five standard deviations.
            assert!((found - expected).abs() < 0.05, "{which}: {found} is not {expected}");
        }
    }
}
