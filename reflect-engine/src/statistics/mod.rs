//! Statistics of pass rates and of agreement, as pure functions.

mod agreement;
mod rate;
#[cfg(test)]
mod tests;

pub use self::agreement::Agreement;
pub use self::rate::{Interval, Rate, difference, more_runs_needed};

/// The 97.5 % quantile of the normal distribution: intervals are of 95 %.
const Z: f64 = 1.959_963_984_540_054;
