//! Functions that give the same bits on every platform, which those of the standard library do not promise.

pub fn ln(x: f64) -> f64 {
    libm::log(x)
}

pub fn exp(x: f64) -> f64 {
    libm::exp(x)
}

pub fn pow(x: f64, y: f64) -> f64 {
    libm::pow(x, y)
}

pub fn log2(x: f64) -> f64 {
    libm::log2(x)
}

/// The gamma distribution with this shape and scale 1: the chance of at most `x`.
pub fn gamma_cdf(shape: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let front = exp(shape * ln(x) - x - libm::lgamma(shape));
    // The series is quick below the mean, the continued fraction above it.
    if x < shape + 1.0 { front * lower_series(shape, x) } else { 1.0 - front * upper_fraction(shape, x) }
}

fn lower_series(shape: f64, x: f64) -> f64 {
    let mut term = 1.0 / shape;
    let mut sum = term;
    let mut n = shape;
    while term > sum * 1e-17 {
        n += 1.0;
        term *= x / n;
        sum += term;
    }
    sum
}

/// By Lentz's method.
fn upper_fraction(shape: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let mut b = x + 1.0 - shape;
    let mut c = 1.0 / TINY;
    let mut d = 1.0 / b;
    let mut fraction = d;
    for i in 1..1_000 {
        let i = f64::from(i);
        let a = -i * (i - shape);
        b += 2.0;
        d = 1.0 / (a * d + b);
        c = b + a / c;
        let factor = c * d;
        fraction *= factor;
        if (factor - 1.0).abs() < 1e-16 {
            break;
        }
    }
    fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gamma_distribution_is_that_of_the_tables() {
        // Of shape 1 it is the exponential, of a whole shape a sum of Poisson terms.
        for x in [0.1, 0.5, 1.0, 3.0, 10.0] {
            let exponential = 1.0 - exp(-x);
            assert!((gamma_cdf(1.0, x) - exponential).abs() < 1e-14);
            let third = 1.0 - exp(-x) * (1.0 + x + x * x / 2.0);
            assert!((gamma_cdf(3.0, x) - third).abs() < 1e-14, "{x}");
        }
        assert_eq!(gamma_cdf(2.5, 0.0), 0.0);
        assert!((gamma_cdf(0.5, 1.0) - 0.842_700_792_949_714_9).abs() < 1e-14);
    }
}
