//! The inner loop of a scan, compiled for each instruction set and selected at run time.

use fearless_simd::{Level, Simd, dispatch, i16x16, i32x8, prelude::*};

/// The number of components in a chunk; rows are padded to a multiple of it.
pub(super) const CHUNK: usize = PARTS * WORDS;
/// The number of words in a chunk.
pub(super) const WORDS: usize = 16;
/// The number of parts in a word.
const PARTS: usize = 8;

/// Unsigned parts of 2 bits: bits `2k..2k + 2` of word `i` hold component `16k + i`.
pub(super) type Chunk = [i16; WORDS];
/// The probe's part for a chunk, in the order of the components.
pub(super) type ProbeChunk = [[i16; WORDS]; PARTS];

/// The dot products of the probe with consecutive rows of as many chunks.
///
/// They fit an `i32` if the absolute values of the probe's components add up to less than
/// 2^31 / 3.
pub(super) fn dots(probe: &[ProbeChunk], rows: &[Chunk], dots: &mut [i32]) {
    dispatch!(Level::new(), simd => dots_with(simd, probe, rows, dots));
}

#[expect(
    clippy::inline_always,
    reason = "only what is inlined is compiled for the instruction set"
)]
#[inline(always)]
fn dots_with<S: Simd>(simd: S, probe: &[ProbeChunk], rows: &[Chunk], dots: &mut [i32]) {
    let lowest = i16x16::splat(simd, 0b11);
    for (dot, row) in dots.iter_mut().zip(rows.chunks_exact(probe.len())) {
        let mut sums = i32x8::splat(simd, 0);
        for (probe, words) in probe.iter().zip(row) {
            let mut words = i16x16::from_slice(simd, words);
            for part in probe {
                let part = i16x16::from_slice(simd, part);
                sums += (words & lowest).pairwise_dot_product(part);
                words >>= 2;
            }
        }
        *dot = sums.reduce_sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(i: usize) -> i16 {
        let [.., high, low] = (i * 23_209).to_be_bytes();
        i16::from_be_bytes([high, low])
    }

    /// Component by component.
    fn plain_dot(probe: &[ProbeChunk], row: &[Chunk]) -> i32 {
        let of_chunk = |(probe, words): (&ProbeChunk, &Chunk)| -> i32 {
            let products = probe.as_flattened().iter().enumerate().map(|(i, p)| {
                let part = (words[i % WORDS].cast_unsigned() >> (2 * (i / WORDS))) & 0b11;
                i32::from(*p) * i32::from(part)
            });
            products.sum()
        };
        probe.iter().zip(row).map(of_chunk).sum()
    }

    #[test]
    fn every_instruction_set_computes_the_same() {
        let probe: Vec<ProbeChunk> = (0..2)
            .map(|c| std::array::from_fn(|q| std::array::from_fn(|i| word(7 + c + 5 * q + 3 * i))))
            .collect();
        let rows: Vec<Chunk> = (0..6)
            .map(|c| std::array::from_fn(|i| word(c * WORDS + i)))
            .collect();
        let plain: Vec<i32> = rows.chunks(2).map(|row| plain_dot(&probe, row)).collect();
        for level in [Level::new(), Level::baseline()] {
            let mut answers = [0; 3];
            dispatch!(level, simd => dots_with(simd, &probe, &rows, &mut answers));
            assert_eq!(answers.as_slice(), plain, "{level:?}");
        }
    }
}
