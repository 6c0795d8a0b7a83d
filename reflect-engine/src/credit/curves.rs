//! How the effect of a specific memory may follow from the similarity of the tasks.

/// The number of curves.
pub(super) const COUNT: usize = 3;

/// The curves that are considered: one that rises slowly, one that rises early, and a step.
pub(super) const CURVES: [Curve; COUNT] = [
    Curve {
        from: 0.42,
        to: 1.0,
        least: -0.5,
        greatest: 0.9,
    },
    Curve {
        from: 0.35,
        to: 0.55,
        least: -0.3,
        greatest: 0.8,
    },
    Curve {
        from: 0.58,
        to: 0.62,
        least: -0.15,
        greatest: 1.1,
    },
];

/// An effect on the log-odds of a pass that rises between two similarities.
pub(super) struct Curve {
    from: f64,
    to: f64,
    least: f64,
    greatest: f64,
}

impl Curve {
    /// The effect at a similarity. It never falls with it, rounding included.
    #[inline]
    pub(super) fn at(&self, similarity: f64) -> f64 {
        let risen = ((similarity - self.from) / (self.to - self.from)).clamp(0.0, 1.0);
        self.least + (self.greatest - self.least) * risen
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_curve_never_falls(a in -1.1..1.1, b in -1.1..1.1) {
            let (a, b): (f64, f64) = (a, b);
            for curve in CURVES {
                prop_assert!(curve.at(a.min(b)) <= curve.at(a.max(b)));
            }
        }
    }
}
