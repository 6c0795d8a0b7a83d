//! Exact cosine similarity of `f32` vectors, the same on every machine.

use fearless_simd::{Level, dispatch};

/// The number of parallel sums, so that the compiler can use wide registers.
const LANES: usize = 16;

/// A finite vector and its length.
#[derive(Clone, Copy)]
pub(crate) struct Direction<'a> {
    vector: &'a [f32],
    norm: f64,
}

impl<'a> Direction<'a> {
    /// `None` if a component is not finite.
    pub(crate) fn of(vector: &'a [f32]) -> Option<Self> {
        // A product of two finite f32 is far from the limits of f64, so the sum is finite exactly
        // when every component is.
        let norm = dot(vector, vector).sqrt();
        norm.is_finite().then_some(Self { vector, norm })
    }

    /// The cosine, 0 if either vector is zero; `None` if their dimensions differ.
    pub(crate) fn cosine(&self, other: &Self) -> Option<f64> {
        (self.vector.len() == other.vector.len()).then(|| self.cosine_in_space(other))
    }

    /// The cosine of vectors of the same dimensions.
    pub(crate) fn cosine_in_space(&self, other: &Self) -> f64 {
        let norms = self.norm * other.norm;
        if norms > 0.0 {
            // Rounding may exceed 1 slightly.
            (dot(self.vector, other.vector) / norms).clamp(-1.0, 1.0)
        } else {
            0.0
        }
    }

    /// The length of the vector.
    pub(crate) fn norm(&self) -> f64 {
        self.norm
    }
}

/// The dot product, accumulated in `f64`.
///
/// Each product of two `f32` is exact in `f64`; component `i` goes to sum `i % 16`, in order, and the
/// sums are added pairwise. Rust neither reorders nor fuses these operations, whatever the
/// instruction set, so the result has the same bits on every machine, and it does not depend on the
/// order of the arguments.
fn dot(a: &[f32], b: &[f32]) -> f64 {
    dispatch!(Level::new(), _simd => dot_inlined(a, b))
}

#[expect(
    clippy::inline_always,
    reason = "only what is inlined is compiled for the instruction set"
)]
#[inline(always)]
fn dot_inlined(a: &[f32], b: &[f32]) -> f64 {
    let mut sums = [0.0_f64; LANES];
    let (a_chunks, a_rest) = a.as_chunks::<LANES>();
    let (b_chunks, b_rest) = b.as_chunks::<LANES>();
    for (x, y) in a_chunks.iter().zip(b_chunks) {
        for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
            *sum += f64::from(*x) * f64::from(*y);
        }
    }
    for ((sum, x), y) in sums.iter_mut().zip(a_rest).zip(b_rest) {
        *sum += f64::from(*x) * f64::from(*y);
    }
    let mut width = LANES / 2;
    while width > 0 {
        for i in 0..width {
            sums[i] += sums[i + width];
        }
        width /= 2;
    }
    sums[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cosine(a: &[f32], b: &[f32]) -> Option<f64> {
        Direction::of(a)?.cosine(&Direction::of(b)?)
    }

    #[test]
    fn only_the_direction_counts() {
        assert_eq!(cosine(&[1.0, 0.0], &[7.0, 0.0]), Some(1.0));
        assert_eq!(cosine(&[1e-40, 0.0], &[-3e38, 0.0]), Some(-1.0));
        assert_eq!(cosine(&[1.0, 0.0], &[0.0, 2.0]), Some(0.0));
        let long: Vec<f32> = (0_u8..19).map(f32::from).collect();
        assert!((cosine(&long, &long).unwrap() - 1.0).abs() < 1e-15);
    }

    #[test]
    fn a_zero_vector_is_similar_to_nothing() {
        assert_eq!(cosine(&[0.0, 0.0], &[1.0, 2.0]), Some(0.0));
        assert_eq!(cosine(&[0.0], &[0.0]), Some(0.0));
        assert_eq!(cosine(&[], &[]), Some(0.0));
    }

    #[test]
    fn what_cannot_be_compared_has_no_cosine() {
        assert_eq!(cosine(&[1.0], &[1.0, 0.0]), None);
        assert_eq!(cosine(&[f32::NAN], &[1.0]), None);
        assert_eq!(cosine(&[1.0], &[f32::INFINITY]), None);
    }
}
