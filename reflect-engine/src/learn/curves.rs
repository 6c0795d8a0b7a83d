//! How the effect of a specific memory may follow from the similarity of the tasks.

/// The number of curves.
pub(super) const COUNT: usize = 3;

/// The curves that are considered: one that rises slowly, one that rises early, and a step.
pub(super) const CURVES: [Curve; COUNT] = [
    Curve::rising((0.42, -0.5), (1.0, 0.9)),
    Curve::rising((0.35, -0.3), (0.55, 0.8)),
    Curve::rising((0.58, -0.15), (0.62, 1.1)),
];

/// Up to this similarity, no curve rises.
pub(crate) const LEVEL: f64 = 0.35;

/// The values of all curves at a similarity.
#[inline]
pub(super) fn at(similarity: f64) -> [f64; COUNT] {
    std::array::from_fn(|curve| CURVES[curve].at(similarity))
}

/// The same, to a few millionths.
#[inline]
pub(super) fn rounded_at(similarity: f32) -> [f32; COUNT] {
    std::array::from_fn(|curve| CURVES[curve].rounded_at(similarity))
}

/// An effect on the log-odds of a pass that rises between two similarities.
pub(super) struct Curve {
    from: f64,
    least: f64,
    greatest: f64,
    slope: f64,
}

impl Curve {
    /// From one similarity and effect to another, and level before and after.
    const fn rising((from, least): (f64, f64), (to, greatest): (f64, f64)) -> Self {
        Self {
            from,
            least,
            greatest,
            slope: (greatest - least) / (to - from),
        }
    }

    /// The effect at a similarity. It never falls with it, rounding included.
    #[inline]
    pub(super) fn at(&self, similarity: f64) -> f64 {
        let risen = self.least + (similarity - self.from) * self.slope;
        risen.max(self.least).min(self.greatest)
    }

    #[expect(clippy::cast_possible_truncation, reason = "it rounds")]
    #[inline]
    fn rounded_at(&self, similarity: f32) -> f32 {
        let [from, least, greatest, slope] =
            [self.from, self.least, self.greatest, self.slope].map(|number| number as f32);
        (least + (similarity - from) * slope)
            .max(least)
            .min(greatest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn up_to_the_level_no_curve_rises() {
        let first = CURVES.iter().map(|curve| curve.from).fold(1.0, f64::min);
        assert_eq!(first.to_bits(), LEVEL.to_bits());
    }

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
