//! Vectors as small integers, with a proven bound on the error.
//!
//! **Codes.** A vector `v` of length above zero has the direction `u = v / |v|`. With the step
//! `s = max |u_i| / 7.4`, its code is `c = round(256 u / s)`, 12 bits that are kept as three planes
//! of 4: `c = 256 c1 + 16 c2 + c3`, each from -8 to 7. So `s c1`, `s (c1 + c2 / 16)` and
//! `s c / 256` approximate `u` ever more closely; their distances from it are measured and stored.
//! The probe's direction `p` is coded once a query, with 16 bits: `p' = d * unit`, at the distance
//! `f = |p - p'|`.
//!
//! **Bound.** For any of the approximations `u'`, at the distance `e`,
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

use fearless_simd::{Level, dispatch};

use super::kernel::{self, CHUNK, Chunk, ProbeChunk, WORDS};
use crate::rank::vector::Direction;

/// The number of 4-bit planes of a code.
pub(super) const PLANES: usize = 3;
/// The largest component in steps: three planes hold at most 7 + 7 / 16 + 7 / 256.
const LARGEST: f64 = 7.4;
/// The number of units of the last plane in a step.
const UNITS: f64 = 256.0;
/// An upper bound of all rounding errors together.
const SLACK: f64 = 1e-9;
/// The largest sum of the absolute values of a probe's components, so that dot products fit.
const PROBE_SUM_MAX: f64 = 134_217_728.0;

/// The number of chunks in a plane of a row.
pub(super) fn chunks(dims: usize) -> usize {
    dims.div_ceil(CHUNK).max(1)
}

/// A vector's code.
pub(super) struct Code {
    pub(super) planes: [Vec<Chunk>; PLANES],
    pub(super) step: f32,
    /// The distances from the direction with one, two and three planes.
    pub(super) errors: [f32; PLANES],
}

/// The code of a finite vector.
pub(super) fn encode(vector: &[f32]) -> Code {
    let empty = || vec![[0; _]; chunks(vector.len())];
    let mut code = Code {
        planes: [empty(), empty(), empty()],
        step: 0.0,
        errors: [0.0; PLANES],
    };
    if let Some(mut unit) = unit_vector(vector) {
        code.step = to_f32(max_abs(&unit) / LARGEST);
        unit.resize(chunks(vector.len()) * CHUNK, 0.0);
        dispatch!(Level::new(), _simd => fill(&mut code, &unit));
    }
    code
}

/// Fills in the planes and errors for the code's step.
#[expect(
    clippy::inline_always,
    reason = "only what is inlined is compiled for the instruction set"
)]
#[inline(always)]
fn fill(code: &mut Code, unit: &[f64]) {
    let step = f64::from(code.step);
    let (per_step, sizes) = (UNITS / step, [step, step / 16.0, step / 256.0]);
    let mut squares = [[0.0; WORDS]; PLANES];
    for (chunk, components) in unit.as_chunks::<CHUNK>().0.iter().enumerate() {
        for (quarter, components) in components.as_chunks::<WORDS>().0.iter().enumerate() {
            for (i, u) in components.iter().enumerate() {
                let mut rest = *u;
                for (plane, part) in parts(nearest(u * per_step)).into_iter().enumerate() {
                    code.planes[plane][chunk][i] |= (part + BIAS) << (4 * quarter);
                    rest -= sizes[plane] * f64::from(part);
                    squares[plane][i] += rest * rest;
                }
            }
        }
    }
    code.errors = squares.map(|squares| error_bound(squares.iter().sum()));
}

/// A code's share of each plane, from -8 to 7.
#[inline]
fn parts(code: i16) -> [i16; PLANES] {
    // Four bits, shifted to lie around zero; the rest is a multiple of 16.
    let lowest = |code: i16| ((code + BIAS) & 0xf) - BIAS;
    let third = lowest(code);
    let rest = (code - third) >> 4;
    let second = lowest(rest);
    [(rest - second) >> 4, second, third]
}

/// The parts of a plane, in the order of the components.
pub(super) fn parts_of(plane: &[Chunk]) -> impl Iterator<Item = i16> + '_ {
    plane.iter().flat_map(|chunk| {
        (0..CHUNK / WORDS).flat_map(|quarter| {
            let part = move |word: &i16| ((word >> (4 * quarter)) & 0xf) - BIAS;
            chunk.iter().map(part)
        })
    })
}

/// The similarity of two coded vectors, to about a thousandth.
pub(super) fn similarity(
    a: (impl Iterator<Item = i16>, f32),
    b: (impl Iterator<Item = i16>, f32),
) -> f64 {
    let products = a.0.zip(b.0).map(|(a, b)| i64::from(a) * i64::from(b));
    let dot: i64 = products.sum();
    let steps = f64::from(a.1) * f64::from(b.1);
    // A dot product of 12-bit codes is far below 2^53.
    #[expect(clippy::cast_precision_loss, reason = "it is exact")]
    let dot = dot as f64;
    (dot * steps / (UNITS * UNITS)).clamp(-1.0, 1.0)
}

/// The offset that makes a part fit into four unsigned bits.
const BIAS: i16 = 8;

/// A query's vector, as integers.
pub(super) struct Probe {
    chunks: Vec<ProbeChunk>,
    /// The share of the parts' bias in every dot product.
    bias: i32,
    unit: f64,
    /// The distance from the direction.
    error: f64,
    /// The weight of a row's error: 0 for a zero probe, whose similarity is exactly 0.
    reach: f64,
}

impl Probe {
    /// The code of a finite vector.
    pub(super) fn new(vector: &[f32]) -> Self {
        let mut probe = Self {
            chunks: vec![[[0; _]; _]; chunks(vector.len())],
            bias: 0,
            unit: 1.0,
            error: 0.0,
            reach: 0.0,
        };
        let Some(direction) = unit_vector(vector) else {
            return probe;
        };
        let sum: f64 = direction.iter().map(|p| p.abs()).sum();
        // Rounding may add a half to each component.
        let room = PROBE_SUM_MAX - to_f64(direction.len());
        let scale = (f64::from(i16::MAX) / max_abs(&direction)).min(room / sum);
        probe.unit = scale.recip();
        let mut square = 0.0;
        let steps = probe.chunks.as_flattened_mut().as_flattened_mut();
        for (step, p) in steps.iter_mut().zip(&direction) {
            *step = nearest(p * scale);
            let distance = p - f64::from(*step) * probe.unit;
            square += distance * distance;
            probe.bias += i32::from(*step) * i32::from(BIAS);
        }
        probe.error = f64::from(error_bound(square));
        probe.reach = 1.0 + probe.error;
        probe
    }

    /// The dot products with one plane of consecutive rows.
    pub(super) fn dots(&self, rows: &[Chunk], dots: &mut [i32]) {
        kernel::dots(&self.chunks, rows, dots);
        for dot in dots {
            *dot -= self.bias;
        }
    }

    /// The bounds of the exact similarity.
    ///
    /// `dot` is the dot product with the first planes, each weighted a sixteenth of the one before,
    /// and `error` the row's distance with these planes.
    #[inline]
    pub(super) fn bounds(&self, dot: f64, step: f32, error: f32) -> Bounds {
        let similarity = dot * self.unit * f64::from(step);
        let margin = if step > 0.0 {
            f64::from(error) * self.reach + self.error
        } else {
            0.0
        };
        Bounds {
            low: (similarity - margin).max(-1.0),
            high: (similarity + margin).min(1.0),
        }
    }
}

/// The bounds of a similarity.
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

/// An upper bound of the distance with this square.
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

#[expect(
    clippy::cast_precision_loss,
    reason = "there are fewer than 2^53 dimensions"
)]
fn to_f64(dims: usize) -> f64 {
    dims as f64
}

/// The nearest integer.
#[expect(
    clippy::cast_possible_truncation,
    reason = "callers scale to the range, and the cast saturates at its ends"
)]
#[inline]
fn nearest(x: f64) -> i16 {
    (x + 0.5_f64.copysign(x)) as i16
}

#[cfg(test)]
mod tests;
