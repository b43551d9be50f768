//! Statistics of a few repetitions.

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
        let within = chance(&numbers.iter().map(|number| number - mean).collect::<Vec<_>>());
        Some(Estimate { mean, within, count })
    }
}

/// Ratio of the means of paired samples, and the deviation that each pair causes in it.
pub fn ratio(ones: &[f64], others: &[f64]) -> Option<(f64, Vec<f64>)> {
    let mean = |numbers: &[f64]| numbers.iter().sum::<f64>() / numbers.len() as f64;
    let other = mean(others);
    let ratio = mean(ones) / other;
    let pulls = ones.iter().zip(others).map(|(a, b)| (a - ratio * b) / other).collect();
    (ones.len() == others.len() && ratio.is_finite()).then_some((ratio, pulls))
}

/// Half width of the 95 % confidence interval of a mean, from the deviation of each number; None for a single number.
pub fn chance(pulls: &[f64]) -> Option<f64> {
    let count = pulls.len();
    (count > 1).then(|| {
        let squares: f64 = pulls.iter().map(|pull| pull * pull).sum();
        let deviation = (squares / (count - 1) as f64).sqrt();
        student(count - 1) * deviation / (count as f64).sqrt()
    })
}

/// The 97.5 % quantile of Student's distribution; for many degrees of freedom that of the next smaller listed number,
/// which errs on the wide side.
fn student(freedom: usize) -> f64 {
    match freedom {
        1..=30 => QUANTILES[freedom - 1],
        31..60 => 2.042,
        60..120 => 2.0,
        _ => 1.98,
    }
}

const QUANTILES: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_student() {
        let three = Estimate::of(&[1.0, 2.0, 3.0]).unwrap();
        assert_eq!(three.mean, 2.0);
        assert!((three.within.unwrap() - 4.303 / 3f64.sqrt()).abs() < 1e-12);
        assert_eq!(Estimate::of(&[5.0]), Some(Estimate { mean: 5.0, within: None, count: 1 }));
        assert_eq!(Estimate::of(&[]), None);
        assert_eq!(Estimate::of(&[0.1; 3]), Some(Estimate { mean: 0.1, within: Some(0.0), count: 3 }));
    }
}
