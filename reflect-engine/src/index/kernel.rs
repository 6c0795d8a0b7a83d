//! The inner loops of a scan, compiled for each instruction set and selected at run time.

use fearless_simd::{Level, Simd, dispatch, i16x16, i32x8, prelude::*};

/// The number of components in a chunk; rows are padded to a multiple of it.
pub(super) const CHUNK: usize = 4 * WORDS;
/// The number of words in a coarse chunk, a multiple of every register's lanes.
pub(super) const WORDS: usize = 32;
/// The number of rows that are read at a time.
const TOGETHER: usize = 8;
/// The number of words in a fine chunk.
pub(super) const FINE_WORDS: usize = 16;

/// Four unsigned parts of 4 bits in a word: bits `4k..4k + 4` of word `i` hold component `32k + i`.
pub(super) type Chunk = [i16; WORDS];
/// Eight unsigned parts of 2 bits in a word: bits `2k..2k + 2` of word `i` hold component `16k + i`.
pub(super) type FineChunk = [i16; FINE_WORDS];
/// The probe's part for a chunk, in the order of the components.
pub(super) type ProbeChunk = [[i16; WORDS]; 4];

/// The dot products of the probe with coarse rows of as many chunks: the ones at these places.
///
/// They fit an `i32` if the absolute values of the probe's components add up to less than
/// 2^31 / 15.
pub(super) fn dots(probe: &[ProbeChunk], rows: &[Chunk], places: &[usize], dots: &mut [i32]) {
    dispatch!(Level::new(), simd => dots_with(simd, probe, rows, places, dots));
}

/// The dot product of the probe with a fine row of as many chunks.
pub(super) fn fine_dot(probe: &[ProbeChunk], row: &[FineChunk]) -> i32 {
    dispatch!(Level::new(), simd => fine_dot_with(simd, probe, row))
}

#[expect(
    clippy::inline_always,
    reason = "only what is inlined is compiled for the instruction set"
)]
#[inline(always)]
fn dots_with<S: Simd>(
    simd: S,
    probe: &[ProbeChunk],
    rows: &[Chunk],
    places: &[usize],
    dots: &mut [i32],
) {
    // Rows are seldom next to each other, and waiting for one from memory takes longer than computing with it: so
    // several are asked for at once.
    let (together, rest) = places.as_chunks::<TOGETHER>();
    for places in together {
        dots_together(simd, probe, rows, *places, dots);
    }
    for place in rest {
        dots_together(simd, probe, rows, [*place], dots);
    }
}

#[expect(
    clippy::inline_always,
    reason = "only what is inlined is compiled for the instruction set"
)]
#[inline(always)]
fn dots_together<S: Simd, const COUNT: usize>(
    simd: S,
    probe: &[ProbeChunk],
    rows: &[Chunk],
    places: [usize; COUNT],
    dots: &mut [i32],
) {
    let lowest = S::i16s::splat(simd, 0xf);
    let rows = places.map(|place| &rows[place * probe.len()..][..probe.len()]);
    let mut sums = [S::i32s::splat(simd, 0); COUNT];
    for (chunk, [first, second, third, fourth]) in probe.iter().enumerate() {
        for at in (0..WORDS).step_by(S::i16s::LEN) {
            let of = |part: &[i16; WORDS]| S::i16s::from_slice(simd, &part[at..][..S::i16s::LEN]);
            let (first, second, third, fourth) = (of(first), of(second), of(third), of(fourth));
            for (sum, row) in sums.iter_mut().zip(rows) {
                let words = of(&row[chunk]);
                *sum = *sum
                    + (words & lowest).pairwise_dot_product(first)
                    + ((words >> 4) & lowest).pairwise_dot_product(second)
                    + ((words >> 8) & lowest).pairwise_dot_product(third)
                    + ((words >> 12) & lowest).pairwise_dot_product(fourth);
            }
        }
    }
    for (place, sum) in places.into_iter().zip(sums) {
        dots[place] = sum.reduce_sum();
    }
}

#[expect(
    clippy::inline_always,
    reason = "only what is inlined is compiled for the instruction set"
)]
#[inline(always)]
fn fine_dot_with<S: Simd>(simd: S, probe: &[ProbeChunk], row: &[FineChunk]) -> i32 {
    let lowest = i16x16::splat(simd, 0b11);
    let mut sums = i32x8::splat(simd, 0);
    for (probe, words) in probe.iter().zip(row) {
        let mut words = i16x16::from_slice(simd, words);
        for part in probe.as_flattened().as_chunks::<FINE_WORDS>().0 {
            let part = i16x16::from_slice(simd, part);
            sums += (words & lowest).pairwise_dot_product(part);
            words >>= 2;
        }
    }
    sums.reduce_sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(i: usize) -> i16 {
        let [.., high, low] = (i * 23_209).to_be_bytes();
        i16::from_be_bytes([high, low])
    }

    fn probe() -> Vec<ProbeChunk> {
        (0..2)
            .map(|c| std::array::from_fn(|q| std::array::from_fn(|i| word(7 + c + 5 * q + 3 * i))))
            .collect()
    }

    /// Component by component, from parts of as many bits.
    fn plain_dot(probe: &[ProbeChunk], row: &[&[i16]], bits: usize) -> i32 {
        let of_chunk = |(probe, words): (&ProbeChunk, &&[i16])| -> i32 {
            let products = probe.as_flattened().iter().enumerate().map(|(i, p)| {
                let word = words[i % words.len()].cast_unsigned();
                let part = (word >> (bits * (i / words.len()))) & ((1 << bits) - 1);
                i32::from(*p) * i32::from(part)
            });
            products.sum()
        };
        probe.iter().zip(row).map(of_chunk).sum()
    }

    #[test]
    fn every_instruction_set_computes_the_same() {
        const COUNT: usize = 2 * TOGETHER;
        let rows: Vec<Chunk> = (0..2 * COUNT)
            .map(|c| std::array::from_fn(|i| word(c * WORDS + i)))
            .collect();
        // More than are read at a time, in another order, and not all.
        let places: Vec<usize> = (0..COUNT).rev().filter(|place| *place != 1).collect();
        let mut plain: Vec<i32> = rows
            .chunks(2)
            .map(|row| plain_dot(&probe(), &[&row[0], &row[1]], 4))
            .collect();
        plain[1] = 0;
        for level in [Level::new(), Level::baseline()] {
            let mut answers = vec![0; COUNT];
            dispatch!(level, simd => dots_with(simd, &probe(), &rows, &places, &mut answers));
            assert_eq!(answers, plain, "{level:?}");
        }
    }

    #[test]
    fn every_instruction_set_computes_the_same_of_fine_parts() {
        let row: Vec<FineChunk> = (0..2)
            .map(|c| std::array::from_fn(|i| word(c * FINE_WORDS + i)))
            .collect();
        let plain = plain_dot(&probe(), &[&row[0], &row[1]], 2);
        for level in [Level::new(), Level::baseline()] {
            let answer = dispatch!(level, simd => fine_dot_with(simd, &probe(), &row));
            assert_eq!(answer, plain, "{level:?}");
        }
    }
}
