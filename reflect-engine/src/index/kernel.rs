//! The inner loop of a scan, compiled for each instruction set and selected at run time.

use fearless_simd::{Level, Simd, dispatch, prelude::*};

/// The number of components in a chunk; rows are padded to a multiple of it.
pub(super) const CHUNK: usize = 4 * WORDS;
/// The number of words in a chunk, a multiple of every register's lanes.
pub(super) const WORDS: usize = 32;

/// Four unsigned parts of 4 bits in a word: bits `4k..4k + 4` of word `i` hold component `32k + i`.
pub(super) type Chunk = [i16; WORDS];
/// The probe's part for a chunk, in the order of the components.
pub(super) type ProbeChunk = [[i16; WORDS]; 4];

/// The dot products of the probe with consecutive rows of as many chunks.
///
/// They fit an `i32` if the absolute values of the probe's components add up to less than
/// 2^31 / 15.
pub(super) fn dots(probe: &[ProbeChunk], rows: &[Chunk], dots: &mut [i32]) {
    dispatch!(Level::new(), simd => dots_with(simd, probe, rows, dots));
}

#[expect(
    clippy::inline_always,
    reason = "only what is inlined is compiled for the instruction set"
)]
#[inline(always)]
fn dots_with<S: Simd>(simd: S, probe: &[ProbeChunk], rows: &[Chunk], dots: &mut [i32]) {
    let lowest = S::i16s::splat(simd, 0xf);
    for (dot, row) in dots.iter_mut().zip(rows.chunks_exact(probe.len())) {
        let mut sums = S::i32s::splat(simd, 0);
        for ([first, second, third, fourth], words) in probe.iter().zip(row) {
            for at in (0..WORDS).step_by(S::i16s::LEN) {
                let of =
                    |part: &[i16; WORDS]| S::i16s::from_slice(simd, &part[at..][..S::i16s::LEN]);
                let words = of(words);
                sums = sums
                    + (words & lowest).pairwise_dot_product(of(first))
                    + ((words >> 4) & lowest).pairwise_dot_product(of(second))
                    + ((words >> 8) & lowest).pairwise_dot_product(of(third))
                    + ((words >> 12) & lowest).pairwise_dot_product(of(fourth));
            }
        }
        *dot = sums.reduce_sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_instruction_set_computes_the_same() {
        let word = |i: usize| {
            let [.., high, low] = (i * 23_209).to_be_bytes();
            i16::from_be_bytes([high, low])
        };
        let rows: Vec<Chunk> = (0..6)
            .map(|c| std::array::from_fn(|i| word(c * WORDS + i)))
            .collect();
        let probe: Vec<ProbeChunk> = (0..2)
            .map(|c| std::array::from_fn(|q| std::array::from_fn(|i| word(7 + c + 5 * q + 3 * i))))
            .collect();

        let part = |words: &Chunk, quarter: usize, i: usize| {
            i32::from((words[i].cast_unsigned() >> (4 * quarter)) & 0xf)
        };
        let chunk_dot = |probe: &ProbeChunk, words: &Chunk| -> i32 {
            let places = (0..4).flat_map(|quarter| (0..WORDS).map(move |i| (quarter, i)));
            let products = places.map(|(q, i)| i32::from(probe[q][i]) * part(words, q, i));
            products.sum()
        };
        let plain: Vec<i32> = rows
            .chunks(2)
            .map(|row| chunk_dot(&probe[0], &row[0]) + chunk_dot(&probe[1], &row[1]))
            .collect();

        for level in [Level::new(), Level::baseline()] {
            let mut answers = [0; 3];
            dispatch!(level, simd => dots_with(simd, &probe, &rows, &mut answers));
            assert_eq!(answers.as_slice(), plain, "{level:?}");
        }
    }
}
