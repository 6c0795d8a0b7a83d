//! Vectors as small integers, with a proven bound on what that costs.
//!
//! **Codes.** A vector `v` of length above zero has the direction `u = v / |v|`. With the step
//! `s = max |u_i| / 127`, its 12-bit code is `c = round(16 u / s)`, in -2032..=2032, kept as an upper
//! part `h` (8 bits) and a lower part `l` (4 bits), `c = 16 h + l`. So `s h` and `s c / 16`
//! approximate `u`, and the distances `e = |u - s h|` and `|u - s c / 16|` are measured and kept.
//! The probe's direction `p` is coded once a query, with 16 bits: `p' = d * unit`, at the distance
//! `f = |p - p'|`.
//!
//! **Bound.** For either approximation `u'` at the distance `e`,
//!
//! ```text
//! p·u = p'·u' + (p - p')·u' + p·(u - u')
//! |p·u - p'·u'| <= |p - p'| |u'| + |p| |u - u'| <= f (1 + e) + e
//! ```
//!
//! by Cauchy and Schwarz, as `|p| = 1` and `|u'| <= |u| + |u - u'| = 1 + e`. `p'·u'` is computed
//! in integers, hence exactly, and scaled. All other arithmetic is `f64`: with at most 2^20
//! dimensions, its rounding and that of the exact similarity stay below 2^-31 together, and [`SLACK`]
//! covers them. A zero vector or a zero probe has exactly the similarity 0.

use crate::rank::vector::Direction;

/// Codes are padded with zeros to a multiple of this, so that the kernels need no remainder.
const LANES: usize = 32;
/// The highest upper part of a code.
const COARSE_MAX: f64 = 127.0;
/// How many fine steps make a coarse one.
const FINE: i16 = 16;
/// More than all rounding errors together.
const SLACK: f64 = 1e-9;
/// No sum over a probe's components may be larger in absolute value, so that its dot product with
/// upper parts of codes, 127 at the most, fits an `i32`.
const PROBE_SUM_MAX: f64 = 16_777_216.0;

/// How many upper parts a row has; lower parts take half as many bytes.
pub(super) fn stride(dims: usize) -> usize {
    dims.max(1).next_multiple_of(LANES)
}

/// A vector's code.
pub(super) struct Code {
    pub(super) coarse: Vec<i8>,
    /// Byte `i` holds the lower parts of the components `i` and, above it, `i + stride / 2`.
    pub(super) fine: Vec<u8>,
    pub(super) step: f32,
    /// The distance of the upper parts from the direction.
    pub(super) coarse_error: f32,
    /// The distance of the whole code from the direction.
    pub(super) fine_error: f32,
}

/// The code of a finite vector.
pub(super) fn encode(vector: &[f32]) -> Code {
    let stride = stride(vector.len());
    let mut code = Code {
        coarse: vec![0; stride],
        fine: vec![0; stride / 2],
        step: 0.0,
        coarse_error: 0.0,
        fine_error: 0.0,
    };
    let Some(unit) = unit_vector(vector) else {
        return code;
    };
    code.step = to_f32(max_abs(&unit) / COARSE_MAX);
    let step = f64::from(code.step);
    let (mut coarse_square, mut fine_square) = (0.0, 0.0);
    for (i, u) in unit.iter().enumerate() {
        let whole = to_i16((u / step * f64::from(FINE)).clamp(-2032.0, 2032.0));
        let upper = (whole + FINE / 2).div_euclid(FINE);
        let lower = whole - upper * FINE;
        coarse_square += (u - step * f64::from(upper)).powi(2);
        fine_square += (u - step * f64::from(whole) / f64::from(FINE)).powi(2);
        code.coarse[i] = to_i8(upper);
        code.fine[i % (stride / 2)] |= to_nibble(lower) << (4 * (i / (stride / 2)));
    }
    code.coarse_error = error_bound(coarse_square);
    code.fine_error = error_bound(fine_square);
    code
}

/// What is looked for, as integers.
pub(super) struct Probe {
    /// As long as a row's upper parts.
    steps: Vec<i16>,
    unit: f64,
    /// The distance from the direction.
    error: f64,
    /// How much a row's error counts: 0 for a zero probe, which has no error with anything.
    reach: f64,
}

impl Probe {
    /// The code of a finite vector.
    pub(super) fn new(vector: &[f32]) -> Self {
        let mut steps = vec![0; stride(vector.len())];
        let Some(direction) = unit_vector(vector) else {
            return Self {
                steps,
                unit: 1.0,
                error: 0.0,
                reach: 0.0,
            };
        };
        let sum: f64 = direction.iter().map(|p| p.abs()).sum();
        // Rounding may add a half to each component.
        let room = PROBE_SUM_MAX - to_f64(direction.len());
        let scale = (f64::from(i16::MAX) / max_abs(&direction)).min(room / sum);
        let unit = scale.recip();
        let mut square = 0.0;
        for (step, p) in steps.iter_mut().zip(&direction) {
            *step = to_i16(p * scale);
            square += (p - f64::from(*step) * unit).powi(2);
        }
        let error = f64::from(error_bound(square));
        Self {
            steps,
            unit,
            error,
            reach: 1.0 + error,
        }
    }

    /// The dot product with the upper parts of a code.
    #[inline]
    pub(super) fn coarse_dot(&self, coarse: &[i8]) -> i32 {
        let (steps, codes) = (
            self.steps.as_chunks::<LANES>().0,
            coarse.as_chunks::<LANES>().0,
        );
        let mut sum = 0_i32;
        for (steps, codes) in steps.iter().zip(codes) {
            for (step, code) in steps.iter().zip(codes) {
                sum += i32::from(*step) * i32::from(*code);
            }
        }
        sum
    }

    /// The dot product with the lower parts of a code.
    #[inline]
    pub(super) fn fine_dot(&self, fine: &[u8]) -> i32 {
        let (low, high) = self.steps.split_at(fine.len());
        let mut sum = 0_i32;
        for ((byte, low), high) in fine.iter().zip(low).zip(high) {
            // Shifting up and down again carries the sign of four bits to eight.
            let nibbles = byte.cast_signed();
            sum += i32::from(*low) * i32::from((nibbles << 4) >> 4);
            sum += i32::from(*high) * i32::from(nibbles >> 4);
        }
        sum
    }

    /// Between what the exact similarity lies, by the upper parts of a code.
    #[inline]
    pub(super) fn coarse_bounds(&self, dot: i32, step: f32, error: f32) -> Bounds {
        self.bounds(f64::from(dot), f64::from(step), f64::from(error))
    }

    /// Between what the exact similarity lies, by the whole code.
    #[inline]
    pub(super) fn fine_bounds(&self, coarse: i32, fine: i32, step: f32, error: f32) -> Bounds {
        let dot = f64::from(coarse) + f64::from(fine) / f64::from(FINE);
        self.bounds(dot, f64::from(step), f64::from(error))
    }

    #[inline]
    fn bounds(&self, dot: f64, step: f64, error: f64) -> Bounds {
        let similarity = dot * self.unit * step;
        let margin = if step > 0.0 {
            error * self.reach + self.error
        } else {
            0.0
        };
        Bounds {
            low: (similarity - margin).max(-1.0),
            high: (similarity + margin).min(1.0),
        }
    }
}

/// Between what a similarity lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) low: f64,
    pub(super) high: f64,
}

/// `None` for a zero vector.
fn unit_vector(vector: &[f32]) -> Option<Vec<f64>> {
    let norm = Direction::of(vector)?.norm();
    (norm > 0.0).then(|| vector.iter().map(|x| f64::from(*x) / norm).collect())
}

fn max_abs(vector: &[f64]) -> f64 {
    vector.iter().fold(0.0, |max, x| max.max(x.abs()))
}

/// A distance from its square, rounded up, with all that rounding may add.
fn error_bound(square: f64) -> f32 {
    to_f32(square.sqrt() + SLACK).next_up()
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "what the cast loses is measured with the error, or rounded up after it"
)]
fn to_f32(x: f64) -> f32 {
    x as f32
}

#[expect(clippy::cast_precision_loss, reason = "nobody has 2^53 dimensions")]
fn to_f64(dims: usize) -> f64 {
    dims as f64
}

/// The nearest integer.
#[expect(
    clippy::cast_possible_truncation,
    reason = "callers scale to the range, and the cast saturates at its ends"
)]
fn to_i16(x: f64) -> i16 {
    x.round() as i16
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "upper parts lie in -127..=127"
)]
fn to_i8(upper: i16) -> i8 {
    upper as i8
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "lower parts lie in -8..=7, which four bits hold"
)]
fn to_nibble(lower: i16) -> u8 {
    lower as u8 & 0x0f
}

#[cfg(test)]
mod tests;
