//! How the effect of a specific memory follows from the similarity of the tasks.

/// The number of knots, at equal distances from similarity 0 to 1.
const KNOTS: usize = 13;
/// The last knot with the least effect, before anything is learned.
const RISE: usize = 5;
/// The least effect and the greatest, before anything is learned.
const LEAST: f64 = -0.4;
const GREATEST: f64 = 0.9;
/// How far the curve may be from that, as variances: of its shape and of its height.
const SHAPE: f64 = 0.1;
const HEIGHT: f64 = 0.05;
/// The distance at which two parts of the curve are learned apart.
const WIDTH: f64 = 0.15;

/// A similarity between two knots.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    knot: usize,
    /// The weight of the knot after it.
    share: f64,
}

impl Position {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "the similarity is clamped to the range of the knots"
    )]
    pub(super) fn of(similarity: f64) -> Self {
        let place = similarity.clamp(0.0, 1.0) * (KNOTS - 1) as f64;
        let knot = (place as usize).min(KNOTS - 2);
        Self {
            knot,
            share: place - knot as f64,
        }
    }

    fn of_values(self, values: &[f64; KNOTS]) -> f64 {
        values[self.knot] * (1.0 - self.share) + values[self.knot + 1] * self.share
    }
}

/// The learned curve.
pub(super) struct Response {
    values: [f64; KNOTS],
    covariance: [[f64; KNOTS]; KNOTS],
}

impl Response {
    pub(super) fn new() -> Self {
        Self {
            values: unlearned(),
            covariance: std::array::from_fn(|a| std::array::from_fn(|b| covariance(a, b))),
        }
    }

    pub(super) fn at(&self, position: Position) -> f64 {
        position.of_values(&self.values)
    }

    /// The variance of a weighted sum of the curve's values.
    pub(super) fn variance(&self, weighted: impl Iterator<Item = (Position, f64)>) -> f64 {
        let mut knots = [0.0; KNOTS];
        for (position, weight) in weighted {
            knots[position.knot] += weight * (1.0 - position.share);
            knots[position.knot + 1] += weight * position.share;
        }
        let rows = knots.iter().zip(&self.covariance);
        let row = |(weight, row): (&f64, &[f64; KNOTS])| -> f64 {
            let products = knots.iter().zip(row).map(|(a, b)| a * b);
            weight * products.sum::<f64>()
        };
        rows.map(row).sum()
    }

    /// Moves the curve by a residual that was seen at this position.
    pub(super) fn learn(&mut self, position: Position, residual: f64) {
        for (value, covariance) in self.values.iter_mut().zip(&self.covariance) {
            *value += residual * position.of_values(covariance);
        }
    }

    pub(super) fn curve(&self) -> Curve {
        Curve::rising(self.values)
    }
}

/// The effect of a specific memory by its similarity, never falling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Curve {
    values: [f64; KNOTS],
}

impl Curve {
    /// The curve before anything is learned.
    #[cfg(test)]
    pub(crate) fn unlearned() -> Self {
        Self::rising(unlearned())
    }

    fn rising(mut values: [f64; KNOTS]) -> Self {
        let mut most = f64::MIN;
        for value in &mut values {
            most = most.max(*value);
            *value = most;
        }
        Self { values }
    }

    /// The value at a similarity. It never falls with it, rounding included.
    pub(crate) fn at(&self, similarity: f64) -> f64 {
        let Position { knot, share } = Position::of(similarity);
        let (from, to) = (self.values[knot], self.values[knot + 1]);
        (from + (to - from) * share).min(to)
    }
}

#[expect(clippy::cast_precision_loss, reason = "there are few knots")]
fn unlearned() -> [f64; KNOTS] {
    let rise = (KNOTS - 1 - RISE) as f64;
    std::array::from_fn(|knot| {
        let share = knot.saturating_sub(RISE) as f64 / rise;
        LEAST + (GREATEST - LEAST) * share
    })
}

#[expect(clippy::cast_precision_loss, reason = "there are few knots")]
fn covariance(a: usize, b: usize) -> f64 {
    let distance = a.abs_diff(b) as f64 / (KNOTS - 1) as f64 / WIDTH;
    SHAPE * (-distance * distance).exp() + HEIGHT
}
