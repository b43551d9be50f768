//! Statistics of a few repetitions.

use hansa_sim::math::atan;

/// A mean with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub mean: f64,
    /// Half width of the interval; None for a single number.
    pub within: Option<f64>,
    pub count: usize,
}

impl Estimate {
    /// Estimate of the mean; None if there are no numbers.
    pub fn of(numbers: &[f64]) -> Option<Estimate> {
        let count = numbers.len();
        if count == 0 {
            return None;
        }
        // The mean of equal numbers is that number, despite rounding.
        let are_equal = numbers.iter().all(|number| *number == numbers[0]);
        let mean = if are_equal { numbers[0] } else { numbers.iter().sum::<f64>() / count as f64 };
        let within = half_interval(&numbers.iter().map(|number| number - mean).collect::<Vec<_>>());
        Some(Estimate { mean, within, count })
    }
}

/// Ratio of the means of paired samples, and the deviation that each pair causes in it.
pub fn paired_ratio(ones: &[f64], others: &[f64]) -> Option<(f64, Vec<f64>)> {
    let other = mean_of(others);
    let ratio = mean_of(ones) / other;
    let pulls = ones.iter().zip(others).map(|(a, b)| (a - ratio * b) / other).collect();
    (ones.len() == others.len() && ratio.is_finite()).then_some((ratio, pulls))
}

fn mean_of(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}

/// Half width of the 95 % confidence interval of a mean, from the deviation of each number; None for a single number.
pub fn half_interval(pulls: &[f64]) -> Option<f64> {
    let count = pulls.len();
    (count > 1).then(|| {
        let squares: f64 = pulls.iter().map(|pull| pull * pull).sum();
        let deviation = (squares / (count - 1) as f64).sqrt();
        student_quantile(count - 1) * deviation / (count as f64).sqrt()
    })
}

/// The 97.5 % quantile of Student's distribution for this many degrees of freedom, to 1e-10.
///
/// Below [`EXPANDED_FROM`] it is found by bisection of the distribution, O(`freedom`) a step; from there on it is the
/// expansion around the quantile of the normal distribution (Abramowitz and Stegun, 26.7.5).
fn student_quantile(freedom: usize) -> f64 {
    if freedom >= EXPANDED_FROM {
        return expand_quantile(freedom as f64);
    }
    let mut low = NORMAL_QUANTILE;
    let mut high = HIGHEST_QUANTILE;
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return middle;
        }
        if two_sided_share(freedom, middle) < CONFIDENCE {
            low = middle;
        } else {
            high = middle;
        }
    }
}

const CONFIDENCE: f64 = 0.95;
/// The 97.5 % quantile of the normal distribution, which no quantile of Student's is below.
const NORMAL_QUANTILE: f64 = 1.959_963_984_540_054;
/// Above the quantile for 1 degree of freedom, the largest one.
const HIGHEST_QUANTILE: f64 = 13.0;
/// Degrees of freedom from which the error of the expansion is below 1e-12.
const EXPANDED_FROM: usize = 1_000;

/// Probability that Student's t is within `t` of zero, as a finite sum (Abramowitz and Stegun, 26.7.3 and 26.7.4).
fn two_sided_share(freedom: usize, t: f64) -> f64 {
    let nu = freedom as f64;
    let sine = t / (nu + t * t).sqrt();
    let cosine_squared = nu / (nu + t * t);
    // Even powers of the cosine; for odd degrees of freedom all are multiplied by one more.
    let is_odd = !freedom.is_multiple_of(2);
    let mut term = if is_odd { cosine_squared.sqrt() } else { 1.0 };
    let mut sum = 0.0;
    for index in 0..(freedom - usize::from(is_odd)) / 2 {
        sum += term;
        let step = 2.0 * index as f64;
        let factor = if is_odd { (step + 2.0) / (step + 3.0) } else { (step + 1.0) / (step + 2.0) };
        term *= cosine_squared * factor;
    }
    if is_odd { std::f64::consts::FRAC_2_PI * (atan(t / nu.sqrt()) + sine * sum) } else { sine * sum }
}

fn expand_quantile(nu: f64) -> f64 {
    let z = NORMAL_QUANTILE;
    let z2 = z * z;
    let first = z * (z2 + 1.0) / 4.0;
    let second = z * ((5.0 * z2 + 16.0) * z2 + 3.0) / 96.0;
    let third = z * (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) / 384.0;
    let fourth = z * ((((79.0 * z2 + 776.0) * z2 + 1_482.0) * z2 - 1_920.0) * z2 - 945.0) / 92_160.0;
    z + (first + (second + (third + fourth / nu) / nu) / nu) / nu
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_student() {
        let three = Estimate::of(&[1.0, 2.0, 3.0]).unwrap();
        assert_eq!(three.mean, 2.0);
        assert!((three.within.unwrap() - 4.302_652_729_749_464 / 3f64.sqrt()).abs() < 1e-12);
        assert_eq!(Estimate::of(&[5.0]), Some(Estimate { mean: 5.0, within: None, count: 1 }));
        assert_eq!(Estimate::of(&[]), None);
        assert_eq!(Estimate::of(&[0.1; 3]), Some(Estimate { mean: 0.1, within: Some(0.0), count: 3 }));
    }

    /// Golden values from the inverse of the incomplete beta function, computed by mpmath with 30 digits.
    #[test]
    fn quantiles_of_student_are_exact() {
        for (freedom, quantile) in GOLDEN {
            let found = student_quantile(freedom);
            assert!((found - quantile).abs() < 1e-10, "{freedom}: {found}");
        }
    }

    #[test]
    fn the_expansion_continues_the_sum() {
        for freedom in [EXPANDED_FROM, EXPANDED_FROM + 1] {
            let share = two_sided_share(freedom, expand_quantile(freedom as f64));
            assert!((share - CONFIDENCE).abs() < 1e-11, "{freedom}: {share}");
        }
    }

    const GOLDEN: [(usize, f64); 21] = [
        (1, 12.706_204_736_174_7),
        (2, 4.302_652_729_749_464),
        (3, 3.182_446_305_283_71),
        (4, 2.776_445_105_197_794),
        (5, 2.570_581_835_636_316),
        (6, 2.446_911_851_144_97),
        (9, 2.262_157_162_798_206),
        (10, 2.228_138_851_986_275),
        (19, 2.093_024_054_408_31),
        (30, 2.042_272_456_301_238),
        (31, 2.039_513_446_396_408),
        (59, 2.000_995_378_088_268),
        (60, 2.000_297_822_014_261),
        (119, 1.980_099_876_456_94),
        (120, 1.979_930_405_082_441),
        (499, 1.964_729_390_987_689),
        (999, 1.962_341_461_133_45),
        (1_000, 1.962_339_080_826_408),
        (1_001, 1.962_336_705_280_88),
        (5_000, 1.960_438_551_706_508),
        (1_000_000, 1.959_966_356_814_107),
    ];
}
