//! The metrics that an experiment can record of each run.

use crate::results::metric;
pub use crate::results::metric::{Metric, Size, tenths};
use crate::subjects;

pub fn find_metric(name: &str) -> Option<Metric> {
    all_metrics().find(|metric| metric.name == name)
}

/// True if a metric is of one tenth of the jobs.
pub fn is_of_a_tenth(name: &str) -> bool {
    find_metric(name).is_some_and(|metric| metric.is_of_a_tenth())
}

/// All metrics in the order of their columns. Times are in seconds of virtual time.
pub fn all_metrics() -> impl Iterator<Item = Metric> + Clone {
    metric::RUN.iter().chain(subjects::metrics()).copied().chain(metric::of_tenths())
}
