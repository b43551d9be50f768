//! Value curves: what a result is worth as its age grows, in multiples of the job's critical path (SLR).

use serde::{Deserialize, Serialize};

/// A checked, non-increasing curve from 1 at the initial deadline to 0 at the final one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// `[(initial, 1), points..., (final, 0)]`
    vertices: Vec<(f64, f64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum CurveError {
    #[error("a deadline or point is not a finite number")]
    NonFinite,
}
