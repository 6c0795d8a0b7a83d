//! Vectors as small integers.
//!
//! A vector `v` of length above zero has the direction `u = v / |v|`. With the step
//! `s = max |u_i| / 7.3`, its code is `c = round(4 u / s)`, 6 bits that are kept as three planes of 2:
//! `c + 32 = 16 c1 + 4 c2 + c3`, each from 0 to 3. `s c / 4` approximates `u`; so do
//! `s (4 c1 + c2 - 61/8)`, where the eighths are the mean of what follows, and `3.2 s (c1 - 3/2)`, where most
//! components are nearer to zero than the mean. Their distances from it are measured and stored. A code is a function
//! of the vector alone.

use fearless_simd::{Level, dispatch};

use super::kernel::{CHUNK, Chunk, WORDS};
use super::scales::{PLANES, Scale};
use crate::rank::vector::Direction;

/// The largest component in steps, so that its code is 29 at most.
const LARGEST: f64 = 7.3;
/// The offset that makes a code fit into six unsigned bits.
const BIAS: i16 = 32;
/// The steps of one in the first plane, where it is all that is known.
pub(super) const FIRST_STEP: f64 = 3.2;
/// What the first plane exceeds the component by, in these.
pub(super) const FIRST_OFFSET: f64 = 1.5;
/// What the first two planes exceed the component by, in steps.
pub(super) const SECOND_OFFSET: f64 = 7.625;
/// What all planes exceed the component by, in steps.
pub(super) const OFFSET: f64 = 8.0;

/// An upper bound of all rounding errors in `f64` together.
pub(super) const SLACK: f64 = 1e-9;

/// The number of chunks in a plane of a row.
pub(super) fn chunks(dims: usize) -> usize {
    dims.div_ceil(CHUNK).max(1)
}

/// A vector's code.
pub(super) struct Code {
    dims: usize,
    pub(super) planes: [Vec<Chunk>; PLANES],
    /// Without a part along a centre.
    pub(super) scale: Scale,
}

impl Code {
    pub(super) fn planes(&self) -> Planes<'_> {
        Planes {
            chunks: self.planes.each_ref().map(Vec::as_slice),
            step: self.scale.step,
            dims: self.dims,
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
        dims: direction.len(),
        planes: std::array::from_fn(|_| vec![[0; _]; chunks]),
        scale: Scale::default(),
    };
    let max = max_abs(direction);
    if max > 0.0 {
        code.scale.step = to_f32(max / LARGEST);
        dispatch!(Level::new(), _simd => fill(&mut code, direction));
    }
    code
}

/// Fills in the planes and errors for the code's step.
#[expect(
    clippy::inline_always,
    reason = "only what is inlined is compiled for the instruction set"
)]
#[inline(always)]
fn fill(code: &mut Code, direction: &[f64]) {
    let (runs, rest) = direction.as_chunks::<WORDS>();
    let mut squares = [[0.0; WORDS]; PLANES];
    for (at, components) in runs.iter().enumerate() {
        fill_run(code, at, components, &mut squares);
    }
    fill_run(code, runs.len(), rest, &mut squares);
    code.scale.errors = squares.map(|squares| error_bound(squares.iter().sum()));
}

/// Fills in the components that share the `at`-th part of their chunk's words.
#[expect(
    clippy::inline_always,
    reason = "only what is inlined is compiled for the instruction set"
)]
#[inline(always)]
fn fill_run(code: &mut Code, at: usize, components: &[f64], squares: &mut [[f64; WORDS]; PLANES]) {
    let step = f64::from(code.scale.step);
    let (chunk, shift) = (at / (CHUNK / WORDS), 2 * (at % (CHUNK / WORDS)));
    for (i, u) in components.iter().enumerate() {
        let parts = parts(nearest(u * (4.0 / step)));
        for (plane, part) in code.planes.iter_mut().zip(parts) {
            plane[chunk][i] |= part << shift;
        }
        let [first, second, third] = parts.map(f64::from);
        let two = 4.0 * first + second;
        let near = [
            FIRST_STEP * (first - FIRST_OFFSET),
            two - SECOND_OFFSET,
            two + 0.25 * third - OFFSET,
        ];
        for (squares, near) in squares.iter_mut().zip(near) {
            let rest = u - step * near;
            squares[i] += rest * rest;
        }
    }
}

/// A code's part in each plane.
#[inline]
fn parts(code: i16) -> [i16; PLANES] {
    let code = code + BIAS;
    [code >> 4, (code >> 2) & 0b11, code & 0b11]
}

/// The planes of a code, wherever they are.
#[derive(Clone, Copy)]
pub(super) struct Planes<'a> {
    pub(super) chunks: [&'a [Chunk]; PLANES],
    pub(super) step: f32,
    pub(super) dims: usize,
}

impl<'a> Planes<'a> {
    fn chunks(&self) -> impl Iterator<Item = [&'a Chunk; PLANES]> + use<'a> {
        let [first, second, third] = self.chunks;
        let chunks = first.iter().zip(second).zip(third);
        chunks.map(|((first, second), third)| [first, second, third])
    }

    /// The code in quarters of its step.
    pub(super) fn whole(&self) -> Vec<i16> {
        let mut codes: Vec<_> = self.chunks().flat_map(unpacked).collect();
        codes.truncate(self.dims);
        codes
    }
}

/// The components of a chunk, in quarters of the step.
#[inline]
fn unpacked([first, second, third]: [&Chunk; PLANES]) -> [i16; CHUNK] {
    let mut codes = [0; CHUNK];
    let (runs, _) = codes.as_chunks_mut::<WORDS>();
    for (at, codes) in runs.iter_mut().enumerate() {
        let words = first.iter().zip(second).zip(third);
        for (code, ((first, second), third)) in codes.iter_mut().zip(words) {
            let [first, second, third] =
                [first, second, third].map(|word| (word >> (2 * at)) & 0b11);
            *code = 16 * first + 4 * second + third - BIAS;
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

#[expect(
    clippy::inline_always,
    reason = "only what is inlined is compiled for the instruction set"
)]
#[inline(always)]
fn dot(a: Planes<'_>, b: Planes<'_>) -> i32 {
    let mut left = a.dims.min(b.dims);
    let mut dot = 0;
    for (a, b) in a.chunks().zip(b.chunks()) {
        let (a, b) = (unpacked(a), unpacked(b));
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
