//! The inner loops of a scan, compiled for each instruction set and selected at run time.

use fearless_simd::{Level, Simd, dispatch, i16x16, i32x8, prelude::*};

/// The number of components in a chunk; rows are padded to a multiple of it.
pub(super) const CHUNK: usize = 4 * WORDS;
/// The number of words in a coarse chunk, a multiple of every register's lanes.
pub(super) const WORDS: usize = 32;
/// The number of words in a fine chunk.
pub(super) const FINE_WORDS: usize = 16;

/// The number of probes that share the work of unpacking a row.
const PROBES: usize = 4;
/// The number of rows whose sums are computed at a time, for so many probes and for one: as many sums as fit the
/// registers.
const ROWS_OF_PROBES: usize = 1;
const ROWS_OF_ONE: usize = 8;

/// Four unsigned parts of 4 bits in a word: bits `4k..4k + 4` of word `i` hold component `32k + i`. As long and as
/// aligned as a line of the cache.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Chunk(pub(super) [i16; WORDS]);

/// Eight unsigned parts of 2 bits in a word: bits `2k..2k + 2` of word `i` hold component `16k + i`.
#[derive(Clone, Copy)]
#[repr(align(32))]
pub(super) struct FineChunk(pub(super) [i16; FINE_WORDS]);

/// The probe's part for a chunk, in the order of the components.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct ProbeChunk(pub(super) [[i16; WORDS]; 4]);

/// The dot products of each probe with every coarse row of as many chunks.
///
/// They fit an `i32` if the absolute values of a probe's components add up to less than
/// 2^31 / 15.
pub(super) fn dots<const N: usize>(
    probes: &[&[ProbeChunk]],
    rows: &[Chunk],
    dots: &mut [[i32; N]],
) {
    dispatch!(Level::new(), simd => dots_with(simd, probes, rows, dots));
}

/// The dot product of the probe with a fine row of as many chunks.
pub(super) fn fine_dot(probe: &[ProbeChunk], row: &[FineChunk]) -> i32 {
    dispatch!(Level::new(), simd => fine_dot_with(simd, probe, row))
}

#[inline(always)]
fn dots_with<S: Simd, const N: usize>(
    simd: S,
    probes: &[&[ProbeChunk]],
    rows: &[Chunk],
    dots: &mut [[i32; N]],
) {
    let (together, rest) = probes.as_chunks::<PROBES>();
    let (dots_together, dots_rest) = dots.as_chunks_mut::<PROBES>();
    for (probes, dots) in together.iter().zip(dots_together) {
        dots_of::<S, PROBES, ROWS_OF_PROBES, N>(simd, *probes, rows, dots);
    }
    for (probe, dots) in rest.iter().zip(dots_rest) {
        let dots = std::array::from_mut(dots);
        dots_of::<S, 1, ROWS_OF_ONE, N>(simd, [*probe], rows, dots);
    }
}

/// The dot products of some probes with all rows, of which `COUNT` are read at a time.
#[inline(always)]
fn dots_of<S: Simd, const SOME: usize, const COUNT: usize, const N: usize>(
    simd: S,
    probes: [&[ProbeChunk]; SOME],
    rows: &[Chunk],
    dots: &mut [[i32; N]; SOME],
) {
    let chunks = probes[0].len();
    let mut together = rows.chunks_exact(COUNT * chunks);
    let mut first = 0;
    for rows in together.by_ref() {
        let sums = sums::<S, SOME, COUNT>(simd, probes, rows);
        for (dots, sums) in dots.iter_mut().zip(sums) {
            dots[first..][..COUNT].copy_from_slice(&sums);
        }
        first += COUNT;
    }
    for row in together.remainder().chunks_exact(chunks) {
        let sums = sums::<S, SOME, 1>(simd, probes, row);
        for (dots, [sum]) in dots.iter_mut().zip(sums) {
            dots[first] = sum;
        }
        first += 1;
    }
}

/// The dot products of each probe with each of `COUNT` rows.
#[inline(always)]
fn sums<S: Simd, const SOME: usize, const COUNT: usize>(
    simd: S,
    probes: [&[ProbeChunk]; SOME],
    rows: &[Chunk],
) -> [[i32; COUNT]; SOME] {
    let chunks = rows.len() / COUNT;
    let lowest = S::i16s::splat(simd, 0xf);
    let mut sums = [[S::i32s::splat(simd, 0); COUNT]; SOME];
    for chunk in 0..chunks {
        for at in (0..WORDS).step_by(S::i16s::LEN) {
            for row in 0..COUNT {
                let Chunk(words) = &rows[row * chunks + chunk];
                let words = S::i16s::from_slice(simd, &words[at..][..S::i16s::LEN]);
                let first = words & lowest;
                let second = (words >> 4) & lowest;
                let third = (words >> 8) & lowest;
                let fourth = (words >> 12) & lowest;
                for probe in 0..SOME {
                    let ProbeChunk(quarters) = &probes[probe][chunk];
                    let of = |part: usize| {
                        S::i16s::from_slice(simd, &quarters[part][at..][..S::i16s::LEN])
                    };
                    sums[probe][row] = sums[probe][row]
                        + first.pairwise_dot_product(of(0))
                        + second.pairwise_dot_product(of(1))
                        + third.pairwise_dot_product(of(2))
                        + fourth.pairwise_dot_product(of(3));
                }
            }
        }
    }
    let mut reduced = [[0; COUNT]; SOME];
    for (reduced, sums) in reduced.iter_mut().zip(sums) {
        for (reduced, sum) in reduced.iter_mut().zip(sums) {
            *reduced = sum.reduce_sum();
        }
    }
    reduced
}

#[inline(always)]
fn fine_dot_with<S: Simd>(simd: S, probe: &[ProbeChunk], row: &[FineChunk]) -> i32 {
    let lowest = i16x16::splat(simd, 0b11);
    let mut sums = i32x8::splat(simd, 0);
    for (ProbeChunk(probe), FineChunk(words)) in probe.iter().zip(row) {
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

    fn probe(n: usize) -> Vec<ProbeChunk> {
        let chunk = |c: usize| {
            let quarter = |q| std::array::from_fn(|i| word(7 + c + 5 * q + 3 * i + 11 * n));
            ProbeChunk(std::array::from_fn(quarter))
        };
        (0..2).map(chunk).collect()
    }

    /// Component by component, from parts of as many bits.
    fn plain_dot(probe: &[ProbeChunk], row: &[&[i16]], bits: usize) -> i32 {
        let of_chunk = |(ProbeChunk(probe), words): (&ProbeChunk, &&[i16])| -> i32 {
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
    fn every_instruction_set_computes_the_same_for_any_number_of_probes() {
        const COUNT: usize = 2 * ROWS_OF_ONE + 3;
        let rows: Vec<Chunk> = (0..2 * COUNT)
            .map(|c| Chunk(std::array::from_fn(|i| word(c * WORDS + i))))
            .collect();
        for count in [1, 3, PROBES, 2 * PROBES + 1] {
            let probes: Vec<_> = (0..count).map(probe).collect();
            let probes: Vec<_> = probes.iter().map(Vec::as_slice).collect();
            let plain = probes.iter().map(|probe| {
                let dots = rows.chunks(2);
                let dots = dots.map(|row| plain_dot(probe, &[&row[0].0, &row[1].0], 4));
                dots.collect::<Vec<_>>()
            });
            let plain: Vec<_> = plain.collect();
            for level in [Level::new(), Level::baseline()] {
                let mut answers = vec![[0; COUNT]; count];
                dispatch!(level, simd => dots_with(simd, &probes, &rows, &mut answers));
                let same = answers.iter().zip(&plain).all(|(a, b)| a[..] == b[..]);
                assert!(same, "{level:?}, {count} probes");
            }
        }
    }

    #[test]
    fn every_instruction_set_computes_the_same_of_fine_parts() {
        let row: Vec<FineChunk> = (0..2)
            .map(|c| FineChunk(std::array::from_fn(|i| word(c * FINE_WORDS + i))))
            .collect();
        let plain = plain_dot(&probe(0), &[&row[0].0, &row[1].0], 2);
        for level in [Level::new(), Level::baseline()] {
            let answer = dispatch!(level, simd => fine_dot_with(simd, &probe(0), &row));
            assert_eq!(answer, plain, "{level:?}");
        }
    }
}
