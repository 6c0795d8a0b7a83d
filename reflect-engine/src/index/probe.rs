//! A query's vector, and the bounds of its similarity to a coded one.
//!
//! **Bound.** The probe's direction `p` is coded with 16 bits: `p' = d * unit`, at the distance `f = |p - p'|`.
//! For an approximation `u'` of a row's direction `u` at the distance `e`,
//!
//! ```text
//! p·u = p'·u' + (p - p')·u' + p·(u - u')
//! |p·u - p'·u'| <= |p - p'| |u'| + |p| |u - u'| <= f (1 + e) + |p| e
//! ```
//!
//! by Cauchy and Schwarz, as `|u'| <= |u| + |u - u'| = 1 + e`. `p'·u'` is computed in integers, hence
//! exactly, and scaled. All other arithmetic is `f64`: with at most 2^20 dimensions, its rounding and that of the exact
//! similarity stay below 2^-31 together, and [`code::SLACK`], which is part of `f`, covers them. A zero vector or a
//! zero probe has exactly the similarity 0.

use fearless_simd::{Level, dispatch};

use super::code::{self, COARSE_OFFSET, OFFSET, error_bound, max_abs, nearest};
use super::kernel::{self, FineChunk, ProbeChunk};

/// The largest sum of the absolute values of a probe's components, so that dot products fit.
const PROBE_SUM_MAX: f64 = 134_217_728.0;

/// The bounds of a similarity.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) low: f64,
    pub(super) high: f64,
}

/// The direction of a query's vector, as integers.
pub(super) struct Probe {
    chunks: Vec<ProbeChunk>,
    /// The sum of all components.
    sum: f64,
    unit: f64,
    /// The margin of every row.
    margin: f64,
    /// The weight of a row's error.
    reach: f64,
}

impl Probe {
    /// The direction of a finite vector.
    pub(super) fn new(vector: &[f32]) -> Self {
        let direction = code::direction(vector);
        dispatch!(Level::new(), _simd => Self::of_direction(&direction))
    }

    #[inline(always)]
    fn of_direction(direction: &[f64]) -> Self {
        let mut probe = Self {
            chunks: vec![ProbeChunk([[0; _]; _]); code::chunks(direction.len())],
            sum: 0.0,
            unit: 1.0,
            margin: 0.0,
            reach: 0.0,
        };
        let max = max_abs(direction);
        if max > 0.0 {
            let sum: f64 = direction.iter().map(|p| p.abs()).sum();
            // Rounding may add a half to each component.
            let room = PROBE_SUM_MAX - to_f64(direction.len());
            let scale = (f64::from(i16::MAX) / max).min(room / sum);
            probe.unit = scale.recip();
            let (mut sum, mut length, mut distance) = (0_i32, 0.0, 0.0);
            let chunks = probe.chunks.iter_mut();
            let steps = chunks.flat_map(|ProbeChunk(quarters)| quarters.as_flattened_mut());
            for (step, p) in steps.zip(direction) {
                *step = nearest(p * scale);
                sum += i32::from(*step);
                let rest = p - f64::from(*step) * probe.unit;
                distance += rest * rest;
                length += p * p;
            }
            probe.sum = f64::from(sum);
            probe.margin = f64::from(error_bound(distance));
            probe.reach = f64::from(error_bound(length)) + probe.margin;
        }
        probe
    }

    pub(super) fn chunks(&self) -> &[ProbeChunk] {
        &self.chunks
    }

    /// Upper bounds by the dot products with the coarse plane of consecutive rows, with their steps and errors.
    pub(super) fn coarse_highs(
        &self,
        dots: &[i32],
        steps: &[f32],
        errors: &[f32],
        highs: &mut [f64],
    ) {
        dispatch!(Level::new(), _simd => self.coarse_highs_inlined(dots, steps, errors, highs));
    }

    #[inline(always)]
    fn coarse_highs_inlined(&self, dots: &[i32], steps: &[f32], errors: &[f32], highs: &mut [f64]) {
        let offset = COARSE_OFFSET * self.sum;
        let rows = dots.iter().zip(steps).zip(errors);
        for (high, ((dot, step), error)) in highs.iter_mut().zip(rows) {
            let similarity = (f64::from(*dot) - offset) * self.unit * f64::from(*step);
            *high = similarity + f64::from(*error) * self.reach + self.margin;
        }
    }

    /// The bounds by both planes of a row with this step and error.
    pub(super) fn bounds(&self, coarse: i32, fine: &[FineChunk], step: f32, error: f32) -> Bounds {
        let fine = kernel::fine_dot(&self.chunks, fine);
        let dot = f64::from(coarse) + 0.25 * f64::from(fine) - OFFSET * self.sum;
        let similarity = dot * self.unit * f64::from(step);
        let margin = if error > 0.0 {
            f64::from(error) * self.reach + self.margin
        } else {
            0.0
        };
        Bounds {
            low: (similarity - margin).max(-1.0),
            high: (similarity + margin).min(1.0),
        }
    }
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
