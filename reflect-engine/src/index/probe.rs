//! A query's vector, and the bounds of its similarity to a coded one.
//!
//! **Split.** The rows of a group share a centre `m`, a vector of length about 1, and each keeps its part
//! along it, `b = m·u`. The probe's direction `p` splits into `a m + q`, where `a = p·m`, and
//! `p·u = a b + q·u`. The more the probe is like the centre, the shorter `q` is, and the narrower the
//! bounds. A group without a centre has `m = 0`. All of this holds for any `m`, so a probe that is far from the centre
//! of a group may meet its rows as if they had none.
//!
//! **Bound.** `q` is coded with 16 bits: `q' = d * unit`, at the distance `f = |q - q'|`. For an
//! approximation `u'` of `u` at the distance `e`,
//!
//! ```text
//! q·u = q'·u' + (q - q')·u' + q·(u - u')
//! |q·u - q'·u'| <= |q - q'| |u'| + |q| |u - u'| <= f (1 + e) + |q| e
//! ```
//!
//! by Cauchy and Schwarz, as `|u'| <= |u| + |u - u'| = 1 + e`. `q'·u'` is computed in integers, hence
//! exactly, and scaled. `b` is rounded to an `f32`, which [`TILT`] covers. All other arithmetic is `f64`:
//! with at most 2^20 dimensions, its rounding and that of the exact similarity stay below 2^-31
//! together, and [`code::SLACK`], which is part of `f`, covers them. A zero vector or a zero probe has exactly
//! the similarity 0.
//!
//! **No codes.** Without any code, `p·u <= a b + |q| sqrt(1 - b²)`, which is largest at `b = a`: so the
//! least and the greatest `b` of many rows bound their similarities.

use std::io::{self, Read, Write};

use borsh::{BorshDeserialize, BorshSerialize};
use fearless_simd::{Level, dispatch};

use super::code::{self, COARSE_OFFSET, OFFSET, error_bound, max_abs, nearest};
use super::kernel::{self, Chunk, FineChunk, ProbeChunk};
use super::scales::{Scale, Scales};

/// An upper bound of the rounding error of a part along a centre.
const TILT: f64 = 1e-7;
/// An upper bound of what the rounding of a centre and of a part along it adds to a square.
const BLUR: f64 = 1e-6;
/// The largest sum of the absolute values of a probe's components, so that dot products fit.
const PROBE_SUM_MAX: f64 = 134_217_728.0;

/// A direction that the rows of a group have in common; of no components if there is none.
#[derive(Default)]
pub(super) struct Centre(Box<[f32]>);

impl Centre {
    /// The centre in this direction.
    pub(super) fn new(direction: &[f64]) -> Self {
        Self(direction.iter().map(|x| code::to_f32(*x)).collect())
    }

    /// The part of a direction along the centre.
    pub(super) fn along(&self, direction: &[f64]) -> f64 {
        dispatch!(Level::new(), _simd => dot(&self.0, direction))
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.0)
    }
}

impl BorshSerialize for Centre {
    fn serialize<W: Write>(&self, out: &mut W) -> io::Result<()> {
        self.0.serialize(out)
    }
}

impl BorshDeserialize for Centre {
    fn deserialize_reader<R: Read>(input: &mut R) -> io::Result<Self> {
        BorshDeserialize::deserialize_reader(input).map(Self)
    }
}

#[expect(
    clippy::inline_always,
    reason = "only what is inlined is compiled for the instruction set"
)]
#[inline(always)]
fn dot(centre: &[f32], direction: &[f64]) -> f64 {
    let mut sums = [0.0; 16];
    let (centres, rest) = centre.as_chunks::<16>();
    let (directions, direction_rest) = direction.as_chunks::<16>();
    for (m, u) in centres.iter().zip(directions) {
        for ((sum, m), u) in sums.iter_mut().zip(m).zip(u) {
            *sum += f64::from(*m) * u;
        }
    }
    let rest = rest.iter().zip(direction_rest);
    sums.iter().sum::<f64>() + rest.map(|(m, u)| f64::from(*m) * u).sum::<f64>()
}

/// The bounds of a similarity.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) low: f64,
    pub(super) high: f64,
}

/// The direction of a query's vector.
pub(super) struct Probe(Vec<f64>);

impl Probe {
    /// The direction of a finite vector.
    pub(super) fn new(vector: &[f32]) -> Self {
        Self(code::direction(vector))
    }

    /// The part along a centre.
    pub(super) fn along(&self, centre: &Centre) -> f64 {
        centre.along(&self.0)
    }

    /// The probe as it meets the rows of any centre, as if they had none.
    pub(super) fn aim(&self) -> Aim {
        dispatch!(Level::new(), _simd => Aim::new(&self.0, 0.0))
    }

    /// The probe as it meets the rows of a centre, given its part along it. The further that is from 0, the
    /// narrower the bounds are.
    pub(super) fn aim_at(&self, centre: &Centre, along: f64) -> Aim {
        let mut across = self.0.clone();
        for (q, m) in across.iter_mut().zip(&centre.0) {
            *q -= along * f64::from(*m);
        }
        dispatch!(Level::new(), _simd => Aim::new(&across, along))
    }
}

/// The highest similarity of a row whose part along the centre is within the range, to a probe with
/// this part along it.
pub(super) fn highest(along: f64, least: f32, greatest: f32) -> f64 {
    let (least, greatest) = (f64::from(least), f64::from(greatest));
    if least <= along && along <= greatest {
        return 1.0;
    }
    let nearest = if along < least { least } else { greatest };
    highest_of(along, across(along), nearest)
}

/// The highest similarity of each row by its part along the centre alone.
pub(super) fn highests(along: f64, rows: &[f32], highs: &mut [f64]) {
    dispatch!(Level::new(), _simd => highests_inlined(along, rows, highs));
}

#[expect(
    clippy::inline_always,
    reason = "only what is inlined is compiled for the instruction set"
)]
#[inline(always)]
fn highests_inlined(along: f64, rows: &[f32], highs: &mut [f64]) {
    let across = across(along);
    for (high, row) in highs.iter_mut().zip(rows) {
        *high = highest_of(along, across, f64::from(*row));
    }
}

/// The highest similarity of a row to a probe with these parts along and across the centre.
#[inline]
fn highest_of(probe_along: f64, probe_across: f64, along: f64) -> f64 {
    (probe_along * along + probe_across * across(along) + BLUR).min(1.0)
}

/// At most as much of a direction is across the centre as this part along it leaves.
#[inline]
fn across(along: f64) -> f64 {
    ((1.0 - along * along).max(0.0) + BLUR).sqrt()
}

/// The part of a probe across a centre, as integers; all of it where no centre counts.
pub(super) struct Aim {
    chunks: Vec<ProbeChunk>,
    /// The sum of all components.
    sum: f64,
    unit: f64,
    /// The part along the centre, which is 0 where none counts.
    along: f64,
    /// The margin of every row.
    margin: f64,
    /// The weight of a row's error.
    reach: f64,
}

impl Aim {
    #[expect(
        clippy::inline_always,
        reason = "only what is inlined is compiled for the instruction set"
    )]
    #[inline(always)]
    fn new(across: &[f64], along: f64) -> Self {
        let mut aim = Self {
            chunks: vec![[[0; _]; _]; code::chunks(across.len())],
            sum: 0.0,
            unit: 1.0,
            along,
            margin: 0.0,
            reach: 0.0,
        };
        let max = max_abs(across);
        if max > 0.0 {
            let sum: f64 = across.iter().map(|q| q.abs()).sum();
            // Rounding may add a half to each component.
            let room = PROBE_SUM_MAX - to_f64(across.len());
            let scale = (f64::from(i16::MAX) / max).min(room / sum);
            // A probe at the centre leaves next to nothing across it.
            if scale.is_finite() {
                aim.unit = scale.recip();
                let steps = aim.chunks.as_flattened_mut().as_flattened_mut();
                let mut sum = 0_i32;
                for (step, q) in steps.iter_mut().zip(across) {
                    *step = nearest(q * scale);
                    sum += i32::from(*step);
                }
                aim.sum = f64::from(sum);
            }
        }
        let steps = aim.chunks.as_flattened().as_flattened();
        let (mut length, mut distance) = (0.0, 0.0);
        for (step, q) in steps.iter().zip(across) {
            let rest = q - f64::from(*step) * aim.unit;
            distance += rest * rest;
            length += q * q;
        }
        if length > 0.0 || along.abs() > 0.0 {
            let error = f64::from(error_bound(distance));
            aim.margin = error + along.abs() * TILT;
            aim.reach = f64::from(error_bound(length)) + error;
        }
        aim
    }

    /// The dot products with the coarse plane of the rows at these places.
    pub(super) fn coarse_dots(&self, rows: &[Chunk], places: &[usize], dots: &mut [i32]) {
        kernel::dots(&self.chunks, rows, places, dots);
    }

    /// Upper bounds by the dot products with the coarse plane of consecutive rows.
    pub(super) fn coarse_highs(&self, dots: &[i32], scales: &Scales, highs: &mut [f64]) {
        dispatch!(Level::new(), _simd => self.coarse_highs_inlined(dots, scales, highs));
    }

    #[expect(
        clippy::inline_always,
        reason = "only what is inlined is compiled for the instruction set"
    )]
    #[inline(always)]
    fn coarse_highs_inlined(&self, dots: &[i32], scales: &Scales, highs: &mut [f64]) {
        let offset = COARSE_OFFSET * self.sum;
        let rows = dots.iter().zip(scales.steps()).zip(scales.alongs());
        let rows = rows.zip(scales.coarse_errors());
        for (high, (((dot, step), along), error)) in highs.iter_mut().zip(rows) {
            let dot = f64::from(*dot) - offset;
            let similarity = self.along * f64::from(*along) + dot * self.unit * f64::from(*step);
            *high = similarity + f64::from(*error) * self.reach + self.margin;
        }
    }

    /// The bounds by both planes.
    pub(super) fn bounds_by_all(&self, coarse: i32, fine: &[FineChunk], scale: Scale) -> Bounds {
        let fine = kernel::fine_dot(&self.chunks, fine);
        let dot = f64::from(coarse) + 0.25 * f64::from(fine) - OFFSET * self.sum;
        let similarity =
            self.along * f64::from(scale.along) + dot * self.unit * f64::from(scale.step);
        let margin = if scale.error > 0.0 {
            f64::from(scale.error) * self.reach + self.margin
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
