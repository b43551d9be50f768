//! Functions that give the same bits on every platform, which those of the standard library do not promise.

pub fn ln(x: f64) -> f64 {
    libm::log(x)
}

pub fn exp(x: f64) -> f64 {
    libm::exp(x)
}
