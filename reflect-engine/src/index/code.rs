//! Vectors as small integers.
//!
//! A vector `v` of length above zero has the direction `u = v / |v|`. With the step
//! `s = max |u_i| / 7.3`, its code is `c = round(4 u / s)`, 6 bits that are kept as a coarse plane of 4
//! and a fine one of 2: `c = 4 c1 + c2`, from -8 to 7 and from -2 to 1. So `s (c1 - 1/8)`, where the
//! eighth is the mean of what follows, and `s c / 4` approximate `u`; their distances from it are
//! measured and stored. A code is a function of the vector alone.

use fearless_simd::{Level, dispatch};

use super::kernel::{CHUNK, Chunk, FINE_WORDS, FineChunk, WORDS};
use crate::rank::vector::Direction;

/// The largest component in steps, so that its code is 29 at most.
const LARGEST: f64 = 7.3;
/// The offset that makes a coarse part fit into four unsigned bits.
const COARSE_BIAS: i16 = 8;
/// The offset that makes a fine part fit into two unsigned bits.
const FINE_BIAS: i16 = 2;
/// What the unsigned coarse part exceeds the component by, in steps.
pub(super) const COARSE_OFFSET: f64 = 8.125;
/// What the unsigned coarse part and a quarter of the fine one exceed the component by, in steps.
pub(super) const OFFSET: f64 = 8.5;

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
    pub(super) step: f32,
    /// The distance from the direction by the coarse plane; 0 for the zero vector only.
    pub(super) coarse_error: f32,
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
        step: 0.0,
        coarse_error: 0.0,
        error: 0.0,
    };
    let max = max_abs(direction);
    if max > 0.0 {
        code.step = to_f32(max / LARGEST);
        dispatch!(Level::new(), _simd => fill(&mut code, direction));
    }
    code
}

/// Fills in the planes and errors for the code's step.
#[inline(always)]
fn fill(code: &mut Code, direction: &[f64]) {
    let step = f64::from(code.step);
    let (words, rest) = direction.as_chunks::<WORDS>();
    let mut squares = [[0.0; WORDS]; 2];
    for (at, components) in words.iter().enumerate() {
        fill_words(code, at, components, step, &mut squares);
    }
    fill_words(code, words.len(), rest, step, &mut squares);
    let [coarse, both] = squares.map(|squares| error_bound(squares.iter().sum()));
    (code.coarse_error, code.error) = (coarse, both);
}

/// Fills in the components that share the `at`-th run of words.
#[inline(always)]
fn fill_words(
    code: &mut Code,
    at: usize,
    components: &[f64],
    step: f64,
    squares: &mut [[f64; WORDS]; 2],
) {
    let (chunk, quarter) = (at / 4, at % 4);
    let per_step = 4.0 / step;
    for (i, u) in components.iter().enumerate() {
        let [coarse, fine] = parts(nearest(u * per_step));
        code.coarse[chunk].0[i] |= (coarse + COARSE_BIAS) << (4 * quarter);
        code.fine[chunk].0[i % FINE_WORDS] |=
            (fine + FINE_BIAS) << (2 * (2 * quarter + i / FINE_WORDS));
        let coarse = f64::from(coarse);
        let rests = [
            u - step * (coarse - 0.125),
            u - step * (coarse + 0.25 * f64::from(fine)),
        ];
        for (squares, rest) in squares.iter_mut().zip(rests) {
            squares[i] += rest * rest;
        }
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
    let (words, _) = codes.as_chunks_mut::<WORDS>();
    for (quarter, codes) in words.iter_mut().enumerate() {
        for (code, word) in codes.iter_mut().zip(&coarse.0) {
            *code = 4 * (((word >> (4 * quarter)) & 0xf) - COARSE_BIAS);
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
