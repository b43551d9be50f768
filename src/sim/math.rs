//! Functions with bit-identical results on every platform, which the standard library does not promise.

pub fn ln(x: f64) -> f64 {
    libm::log(x)
}

pub fn exp(x: f64) -> f64 {
    libm::exp(x)
}

/// `exp(x) - 1`, accurate near zero.
pub fn exp_m1(x: f64) -> f64 {
    libm::expm1(x)
}

/// `ln(1 + x)`, accurate near zero.
pub fn ln_1p(x: f64) -> f64 {
    libm::log1p(x)
}

pub fn pow(x: f64, y: f64) -> f64 {
    libm::pow(x, y)
}

pub fn log2(x: f64) -> f64 {
    libm::log2(x)
}

/// The gamma function of a positive number.
pub fn gamma(x: f64) -> f64 {
    libm::tgamma(x)
}

pub fn atan(x: f64) -> f64 {
    libm::atan(x)
}

pub fn cos(x: f64) -> f64 {
    libm::cos(x)
}

/// Cumulative gamma distribution with this shape and scale 1: the probability of at most `x`.
pub fn gamma_cdf(shape: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let front = exp(shape * ln(x) - x - libm::lgamma(shape));
    // The series converges quickly below the mean, the continued fraction above it.
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

/// Least magnitude of a denominator in Lentz's method.
const TINY: f64 = 1e-300;

/// Continued fraction of the upper incomplete gamma function, evaluated by Lentz's method.
fn upper_fraction(shape: f64, x: f64) -> f64 {
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

/// Cumulative beta distribution: the probability of at most `x`.
pub fn beta_cdf(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    let front = exp(libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * ln(x) + b * libm::log1p(-x));
    // The fraction converges quickly on one side of the mean, and the other side is its mirror image.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * beta_fraction(a, b, x) / a
    } else {
        1.0 - front * beta_fraction(b, a, 1.0 - x) / b
    }
}

/// Continued fraction of the incomplete beta function, evaluated by Lentz's method.
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    let mut c = 1.0;
    let mut d = 1.0 / keep_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for i in 1..10_000 {
        let i = f64::from(i);
        let even = i * (b - i) * x / ((a + 2.0 * i - 1.0) * (a + 2.0 * i));
        let odd = -(a + i) * (a + b + i) * x / ((a + 2.0 * i) * (a + 2.0 * i + 1.0));
        for numerator in [even, odd] {
            d = 1.0 / keep_from_zero(1.0 + numerator * d);
            c = keep_from_zero(1.0 + numerator / c);
            fraction *= c * d;
        }
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    fraction
}

fn keep_from_zero(value: f64) -> f64 {
    if value.abs() < TINY { TINY } else { value }
}

/// Probability of at most `k` successes in `n` trials with success probability `q`.
pub fn binomial_cdf(n: u32, q: f64, k: u32) -> f64 {
    if k >= n { 1.0 } else { beta_cdf(f64::from(n - k), f64::from(k) + 1.0, 1.0 - q) }
}

/// Quantile of the beta distribution for this share, to nine digits; `a` and `b` are at least one.
pub fn beta_quantile(a: f64, b: f64, share: f64) -> f64 {
    // Newton steps while they stay within the current bracket, else bisection.
    let mut low = 0.0;
    let mut high = 1.0;
    let mut x = a / (a + b);
    let scale = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b);
    for _ in 0..200 {
        let excess = beta_cdf(a, b, x) - share;
        if excess > 0.0 {
            high = x;
        } else {
            low = x;
        }
        let density = exp(scale + (a - 1.0) * ln(x) + (b - 1.0) * libm::log1p(-x));
        let newton = x - excess / density;
        let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        let is_close = (next - x).abs() < 1e-11 || high - low < 1e-11;
        x = next;
        if is_close {
            break;
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gamma_distribution_is_that_of_the_tables() {
        // Shape 1 gives the exponential, a whole shape a sum of Poisson terms.
        for x in [0.1, 0.5, 1.0, 3.0, 10.0] {
            let exponential = 1.0 - exp(-x);
            assert!((gamma_cdf(1.0, x) - exponential).abs() < 1e-14);
            let third = 1.0 - exp(-x) * (1.0 + x + x * x / 2.0);
            assert!((gamma_cdf(3.0, x) - third).abs() < 1e-14, "{x}");
        }
        assert_eq!(gamma_cdf(2.5, 0.0), 0.0);
        assert!((gamma_cdf(0.5, 1.0) - 0.842_700_792_949_714_9).abs() < 1e-14);
    }
    #[test]
    fn the_binomial_distribution_is_its_sum() {
        for (n, q) in [(1u32, 0.5), (10, 0.3), (40, 0.95), (59, 0.95)] {
            let mut term = (0..n).fold(1.0, |term, _| term * (1.0 - q));
            let mut sum = 0.0;
            for k in 0..=n {
                sum += term;
                assert!((binomial_cdf(n, q, k) - sum).abs() < 1e-12, "{n} {q} {k}");
                term *= q / (1.0 - q) * f64::from(n - k) / f64::from(k + 1);
            }
        }
        for (a, b) in [(1.0, 1.0), (1.0, 90.0), (59.0, 1.0), (1200.0, 800.0), (3.0, 2.0)] {
            for share in [0.01, 0.05, 0.5, 0.999] {
                assert!((beta_cdf(a, b, beta_quantile(a, b, share)) - share).abs() < 1e-8, "{a} {b} {share}");
            }
        }
    }
}
