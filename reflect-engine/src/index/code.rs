//! Vectors as small integers.
//!
//! A vector `v` of length above zero has the direction `u = v / |v|`. With `s = max |u_i| / 7.3`, its code
//! is `c = round(4 u / s)`, 6 bits that are kept as a coarse plane of 4 and a fine one of 2: `c = 4 c1 + c2`,
//! from -8 to 7 and from -2 to 1. So multiples of `c1 - 1/8`, where the eighth is the mean of what follows, and
//! of `c / 4` approximate `u`. The nearest multiples, the steps, and their distances are measured and stored. A
//! code is a function of the vector alone.

use fearless_simd::{Level, dispatch};

use super::kernel::{BYTES, CHUNK, Chunk, FINE_WORDS, FineChunk};
use crate::rank::vector::Direction;

/// The largest component in steps, so that its code is 29 at most.
const LARGEST: f64 = 7.3;
/// The offset that makes a coarse part fit into four unsigned bits.
pub(super) const COARSE_BIAS: i16 = 8;
/// The offset that makes a fine part fit into two unsigned bits.
const FINE_BIAS: i16 = 2;
/// The mean of the fine parts, in steps.
pub(super) const COARSE_MEAN: f64 = -0.125;
/// An upper bound of all rounding errors in `f64` together.
pub(super) const SLACK: f64 = 1e-9;

/// The number of chunks in a plane of a row.
pub(super) fn chunks(dims: usize) -> usize {
    dims.div_ceil(CHUNK).max(1)
}

/// A vector's code.
pub(super) struct Code {
    pub(super) coarse: Vec<Chunk>,
    pub(super) fine: Vec<FineChunk>,
    pub(super) coarse_step: f32,
    /// The distance from the direction by the coarse plane; 0 for the zero vector only.
    pub(super) coarse_error: f32,
    /// The step of both planes.
    pub(super) step: f32,
    /// The distance from the direction by both planes.
    pub(super) error: f32,
}

#[cfg(test)]
impl Code {
    pub(super) fn planes(&self, dims: usize) -> Planes<'_> {
        Planes {
            coarse: &self.coarse,
            fine: &self.fine,
            step: self.step,
            dims,
        }
    }
}

/// The direction of a finite vector; zero for the zero vector.
pub(super) fn direction(vector: &[f32]) -> Vec<f64> {
    let norm = Direction::of(vector).map_or(0.0, |direction| direction.norm());
    if norm > 0.0 {
        vector.iter().map(|x| f64::from(*x) / norm).collect()
    } else {
        vec![0.0; vector.len()]
    }
}

/// The code of a direction.
pub(super) fn encode(direction: &[f64]) -> Code {
    let chunks = chunks(direction.len());
    let mut code = Code {
        coarse: vec![Chunk([0; _]); chunks],
        fine: vec![FineChunk([0; _]); chunks],
        coarse_step: 0.0,
        coarse_error: 0.0,
        step: 0.0,
        error: 0.0,
    };
    let max = max_abs(direction);
    if max > 0.0 {
        dispatch!(Level::new(), _simd => fill(&mut code, direction, max / (4.0 * LARGEST)));
    }
    code
}

/// Fills in the planes for quarters of this step, then the steps and errors that they have.
#[inline(always)]
fn fill(code: &mut Code, direction: &[f64], quarter: f64) {
    let (halves, rest) = direction.as_chunks::<BYTES>();
    let mut fits = [Fit::default(); 2];
    for (at, components) in halves.iter().enumerate() {
        fill_half(code, at, components, quarter, &mut fits);
    }
    fill_half(code, halves.len(), rest, quarter, &mut fits);
    let length = direction.iter().map(|u| u * u).sum();
    let [(coarse_step, coarse_error), (step, error)] = fits.map(|fit| fit.step_and_error(length));
    (code.coarse_step, code.coarse_error) = (coarse_step, coarse_error);
    (code.step, code.error) = (step, error);
}

/// Fills in the components of the `at`-th half of a chunk.
#[inline(always)]
fn fill_half(code: &mut Code, at: usize, components: &[f64], quarter: f64, fits: &mut [Fit; 2]) {
    let (chunk, half) = (at / 2, at % 2);
    let per_quarter = quarter.recip();
    for (i, u) in components.iter().enumerate() {
        let [coarse, fine] = parts(nearest(u * per_quarter));
        let [_, byte] = (coarse + COARSE_BIAS).to_be_bytes();
        code.coarse[chunk].0[i] |= byte << (4 * half);
        code.fine[chunk].0[i % FINE_WORDS] |=
            (fine + FINE_BIAS) << (2 * (4 * half + i / FINE_WORDS));
        let coarse = f64::from(coarse);
        let planes = [coarse + COARSE_MEAN, coarse + 0.25 * f64::from(fine)];
        for (fit, c) in fits.iter_mut().zip(planes) {
            fit.dots[i] += u * c;
            fit.squares[i] += c * c;
        }
    }
}

/// What tells how well a plane fits a direction.
#[derive(Clone, Copy)]
struct Fit {
    dots: [f64; BYTES],
    squares: [f64; BYTES],
}

impl Default for Fit {
    fn default() -> Self {
        Self {
            dots: [0.0; BYTES],
            squares: [0.0; BYTES],
        }
    }
}

impl Fit {
    /// The step for which the approximation is nearest, and its distance: what is missing is then at a right angle to it.
    fn step_and_error(self, length: f64) -> (f32, f32) {
        /// Of the difference below.
        const ROUNDING: f64 = 1e-14;

        let dot: f64 = self.dots.iter().sum();
        let square: f64 = self.squares.iter().sum();
        let step = to_f32(dot / square);
        let exact = f64::from(step);
        let distance = length - 2.0 * exact * dot + exact * exact * square;
        (step, error_bound(distance.max(0.0) + ROUNDING))
    }
}

/// A code's share of each plane.
#[inline]
fn parts(code: i16) -> [i16; 2] {
    let fine = ((code + FINE_BIAS) & 0b11) - FINE_BIAS;
    [(code - fine) >> 2, fine]
}

/// The planes of a code, wherever they are.
#[derive(Clone, Copy)]
pub(super) struct Planes<'a> {
    pub(super) coarse: &'a [Chunk],
    pub(super) fine: &'a [FineChunk],
    pub(super) step: f32,
    pub(super) dims: usize,
}

/// The dot product of a vector of integers with a code in quarters of its step.
#[inline(always)]
pub(super) fn whole_dot(vector: &[i16], planes: Planes<'_>) -> i32 {
    let mut dot = 0;
    for (vector, (coarse, fine)) in vector.chunks(CHUNK).zip(planes.chunks()) {
        let codes = unpacked(coarse, fine);
        let products = vector.iter().zip(&codes);
        dot += products
            .map(|(v, c)| i32::from(*v) * i32::from(*c))
            .sum::<i32>();
    }
    dot
}

impl<'a> Planes<'a> {
    fn chunks(&self) -> impl Iterator<Item = (&'a Chunk, &'a FineChunk)> + use<'a> {
        self.coarse.iter().zip(self.fine)
    }

    /// The code in quarters of its step.
    #[cfg(test)]
    pub(super) fn whole(&self) -> Vec<i16> {
        let mut codes: Vec<_> = self
            .chunks()
            .flat_map(|(coarse, fine)| unpacked(coarse, fine))
            .collect();
        codes.truncate(self.dims);
        codes
    }
}

/// The components of a chunk, in quarters of the step.
#[inline(always)]
fn unpacked(coarse: &Chunk, fine: &FineChunk) -> [i16; CHUNK] {
    let mut codes = [0; CHUNK];
    let (halves, _) = codes.as_chunks_mut::<BYTES>();
    for (half, codes) in halves.iter_mut().enumerate() {
        for (code, byte) in codes.iter_mut().zip(&coarse.0) {
            *code = 4 * (i16::from((byte >> (4 * half)) & 0xf) - COARSE_BIAS);
        }
    }
    let (words, _) = codes.as_chunks_mut::<FINE_WORDS>();
    for (eighth, codes) in words.iter_mut().enumerate() {
        for (code, word) in codes.iter_mut().zip(&fine.0) {
            *code += ((word >> (2 * eighth)) & 0b11) - FINE_BIAS;
        }
    }
    codes
}

/// The similarity of two coded vectors of as many components, to a few thousandths.
pub(super) fn similarity(a: Planes<'_>, b: Planes<'_>) -> f64 {
    let dot = dispatch!(Level::new(), _simd => dot(a, b));
    let steps = f64::from(a.step) * f64::from(b.step);
    (f64::from(dot) * steps / 16.0).clamp(-1.0, 1.0)
}

#[inline(always)]
fn dot(a: Planes<'_>, b: Planes<'_>) -> i32 {
    let mut left = a.dims.min(b.dims);
    let mut dot = 0;
    for ((a_coarse, a_fine), (b_coarse, b_fine)) in a.chunks().zip(b.chunks()) {
        let (a, b) = (unpacked(a_coarse, a_fine), unpacked(b_coarse, b_fine));
        let count = left.min(CHUNK);
        let products = a[..count].iter().zip(&b[..count]);
        // Below 2^11 each, so that 2^20 dimensions fit.
        dot += products
            .map(|(a, b)| i32::from(*a) * i32::from(*b))
            .sum::<i32>();
        left -= count;
    }
    dot
}

pub(super) fn max_abs(vector: &[f64]) -> f64 {
    vector.iter().fold(0.0, |max, x| max.max(x.abs()))
}

/// An upper bound of the distance with this square.
pub(super) fn error_bound(square: f64) -> f32 {
    to_f32(square.sqrt() + SLACK).next_up()
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "what the cast loses is measured with the error, or rounded up after it"
)]
pub(super) fn to_f32(x: f64) -> f32 {
    x as f32
}

/// The nearest integer.
#[expect(
    clippy::cast_possible_truncation,
    reason = "callers scale to the range, and the cast saturates at its ends"
)]
#[inline]
pub(super) fn nearest(x: f64) -> i16 {
    (x + 0.5_f64.copysign(x)) as i16
}

#[cfg(test)]
mod tests;
