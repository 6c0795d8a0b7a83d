//! A query's vector, and the bounds of its similarity to a coded one.
//!
//! **Bound.** The probe's direction `p` is coded with 8 bits, and with 16 for both planes: `p' = d * unit`, at the distance `f = |p - p'|`.
//! For an approximation `u'` of a row's direction `u` at the distance `e`, and at a right angle to `r = u - u'`,
//!
//! ```text
//! p·u = t + (p - p')·u' + p·r      with t = p'·u'
//! |(p - p')·u'| <= f               as |u'| <= |u| = 1
//! |p·r| <= e sqrt(|p|^2 - l^2)     with l = max(0, |t| - f) <= |p·u'|
//! ```
//!
//! by Cauchy and Schwarz: only the part of `p` that is at a right angle to `u'` meets `r`. So the nearer a row, the
//! narrower its bounds. `t` is computed in integers, hence exactly, and scaled. All other arithmetic is `f64`: with at most 2^20 dimensions, its rounding and that of the exact
//! similarity stay below 2^-31 together, and [`code::SLACK`], which is part of `f`, covers them; [`SKEW`] covers that a
//! step is rounded, so that the angle is not quite right. Upper bounds by the
//! coarse plane are scaled in `f32`, which [`ROUNDING`] covers. A zero vector or a zero probe has exactly the
//! similarity 0.

use fearless_simd::{Level, dispatch};

use super::code::{self, COARSE_BIAS, COARSE_MEAN, Planes, error_bound, max_abs, nearest, to_f32};
use super::kernel::ProbeChunk;
use crate::rank::ROUNDING;

/// The largest component of a probe for the coarse plane.
const COARSE_MAX: f64 = 127.0;
/// The largest sum of the absolute values of a probe's components for both planes, whose codes are up to 34, so that dot
/// products fit.
const PROBE_SUM_MAX: f64 = 60_000_000.0;

/// The bounds of a similarity.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) low: f64,
    pub(super) high: f64,
}

/// The direction of a query's vector, as integers: bytes for the coarse plane, which all rows meet, and words for both
/// planes.
pub(super) struct Probe {
    bytes: Vec<ProbeChunk>,
    /// The sum of all components.
    sum: i32,
    coarse: Scale,
    words: Vec<i16>,
    whole: Scale,
}

/// How integers stand for a direction.
struct Scale {
    unit: f64,
    /// How far they are from it.
    distance: f64,
    /// The square of its length.
    square: f64,
}

/// What a right angle may be missing, and what rounding may make of a difference of squares.
const SKEW: f64 = 1e-6;

impl Probe {
    /// The direction of a finite vector.
    pub(super) fn new(vector: &[f32]) -> Self {
        let direction = code::direction(vector);
        let max = max_abs(&direction);
        let all: f64 = direction.iter().map(|p| p.abs()).sum();
        // Rounding may add a half to each component.
        let room = PROBE_SUM_MAX - to_f64(direction.len());
        let fine = (f64::from(i16::MAX) / max).min(room / all);
        let (bytes, coarse) = Scale::of(&direction, COARSE_MAX / max);
        let (words, whole) = Scale::of(&direction, fine);
        let mut chunks = vec![ProbeChunk([[0; _]; _]); code::chunks(direction.len())];
        let steps = chunks
            .iter_mut()
            .flat_map(|ProbeChunk(halves)| halves.as_flattened_mut());
        let mut sum = 0;
        for (step, p) in steps.zip(bytes) {
            let [_, byte] = p.to_be_bytes();
            *step = byte.cast_signed();
            sum += i32::from(p);
        }
        Self {
            bytes: chunks,
            sum,
            coarse,
            words,
            whole,
        }
    }

    pub(super) fn chunks(&self) -> &[ProbeChunk] {
        &self.bytes
    }

    /// Upper bounds by the dot products with the coarse plane of consecutive rows, with their steps and errors.
    pub(super) fn coarse_highs(
        &self,
        dots: &[i32],
        steps: &[f32],
        errors: &[f32],
        highs: &mut [f32],
    ) {
        dispatch!(Level::new(), _simd => self.coarse_highs_inlined(dots, steps, errors, highs));
    }

    #[inline(always)]
    fn coarse_highs_inlined(&self, dots: &[i32], steps: &[f32], errors: &[f32], highs: &mut [f32]) {
        let Scale {
            unit,
            distance,
            square,
        } = self.coarse;
        let [unit, distance, square] = [unit, distance, square + SKEW].map(to_f32);
        let margin = distance + ROUNDING;
        let bias = i32::from(COARSE_BIAS) * self.sum;
        let mean = to_f32(COARSE_MEAN * f64::from(self.sum));
        let rows = dots.iter().zip(steps).zip(errors);
        for (high, ((dot, step), error)) in highs.iter_mut().zip(rows) {
            let similarity = (rounded(*dot - bias) + mean) * unit * step;
            let least = (similarity.abs() - margin).max(0.0);
            let beside = (square - least * least).max(0.0).sqrt();
            *high = similarity + error * beside + margin;
        }
    }

    /// The bounds by both planes of a row with this error.
    pub(super) fn bounds(&self, planes: Planes<'_>, error: f32) -> Bounds {
        let dot = dispatch!(Level::new(), _simd => code::whole_dot(&self.words, planes));
        let Scale {
            unit,
            distance,
            square,
        } = self.whole;
        let similarity = 0.25 * f64::from(dot) * unit * f64::from(planes.step);
        let margin = if error > 0.0 && square > 0.0 {
            let least = (similarity.abs() - distance).max(0.0);
            let beside = (square + SKEW * SKEW - least * least).max(0.0).sqrt();
            f64::from(error) * beside + distance + SKEW
        } else {
            0.0
        };
        Bounds {
            low: (similarity - margin).max(-1.0),
            high: (similarity + margin).min(1.0),
        }
    }
}

impl Scale {
    /// The integers that stand for a direction at this scale.
    fn of(direction: &[f64], scale: f64) -> (Vec<i16>, Self) {
        if !scale.is_finite() {
            let none = Self {
                unit: 1.0,
                distance: 0.0,
                square: 0.0,
            };
            return (vec![0; direction.len()], none);
        }
        let unit = scale.recip();
        let (mut square, mut distance) = (0.0, 0.0);
        let steps = direction.iter().map(|p| {
            let step = nearest(p * scale);
            let rest = p - f64::from(step) * unit;
            distance += rest * rest;
            square += p * p;
            step
        });
        let steps = steps.collect();
        let scale = Self {
            unit,
            distance: f64::from(error_bound(distance)),
            square,
        };
        (steps, scale)
    }
}

#[expect(clippy::cast_precision_loss, reason = "the margin covers it")]
#[inline(always)]
fn rounded(dot: i32) -> f32 {
    dot as f32
}

#[expect(
    clippy::cast_precision_loss,
    reason = "there are fewer than 2^53 dimensions"
)]
fn to_f64(dims: usize) -> f64 {
    dims as f64
}

#[cfg(test)]
mod tests;
