//! The inner loops of a scan, compiled for each instruction set and selected at run time.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m256i, _mm256_maddubs_epi16};

#[cfg(target_arch = "x86_64")]
use fearless_simd::{Avx2, i8x32, i16x16, i32x8, prelude::*, u8x32};
use fearless_simd::{Level, dispatch};

/// The number of components in a chunk; rows are padded to a multiple of it.
pub(super) const CHUNK: usize = 2 * BYTES;
/// The number of bytes in a coarse chunk.
pub(super) const BYTES: usize = 64;
/// The number of words in a fine chunk.
pub(super) const FINE_WORDS: usize = 16;

/// The number of probes that share the work of unpacking a row, and of rows that are read at a time for one: as many
/// sums as fit the registers.
#[cfg(target_arch = "x86_64")]
const TOGETHER: usize = 4;

/// Two unsigned parts of 4 bits in a byte: the lower half of byte `i` holds component `i`, the upper one `64 + i`. As
/// long and as aligned as a line of the cache.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Chunk(pub(super) [u8; BYTES]);

/// Eight unsigned parts of 2 bits in a word: bits `2k..2k + 2` of word `i` hold component `16k + i`.
#[derive(Clone, Copy)]
#[repr(align(32))]
pub(super) struct FineChunk(pub(super) [i16; FINE_WORDS]);

/// The probe's part for a chunk, in the order of the components: from -127 to 127.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct ProbeChunk(pub(super) [[i8; BYTES]; 2]);

/// The dot products of each probe with every coarse row of as many chunks. They fit an `i32` up to 2^20 dimensions.
pub(super) fn dots<const N: usize>(
    probes: &[&[ProbeChunk]],
    rows: &[Chunk],
    dots: &mut [[i32; N]],
) {
    dots_at(Level::new(), probes, rows, dots);
}

fn dots_at<const N: usize>(
    level: Level,
    probes: &[&[ProbeChunk]],
    rows: &[Chunk],
    dots: &mut [[i32; N]],
) {
    #[cfg(target_arch = "x86_64")]
    if let Some(avx2) = level.as_avx2() {
        return avx2.vectorize(
            #[inline(always)]
            || dots_by_bytes(avx2, probes, rows, dots),
        );
    }
    dispatch!(level, _simd => plain_dots(probes, rows, dots));
}

/// Left to the compiler.
#[inline(always)]
fn plain_dots<const N: usize>(probes: &[&[ProbeChunk]], rows: &[Chunk], dots: &mut [[i32; N]]) {
    for (probe, dots) in probes.iter().zip(dots) {
        for (row, dot) in rows.chunks_exact(probe.len()).zip(dots) {
            *dot = 0;
            for (Chunk(bytes), ProbeChunk([low, high])) in row.iter().zip(*probe) {
                for (byte, (low, high)) in bytes.iter().zip(low.iter().zip(high)) {
                    *dot += i32::from(byte & 0xf) * i32::from(*low);
                    *dot += i32::from(byte >> 4) * i32::from(*high);
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn dots_by_bytes<const N: usize>(
    avx2: Avx2,
    probes: &[&[ProbeChunk]],
    rows: &[Chunk],
    dots: &mut [[i32; N]],
) {
    let (together, rest) = probes.as_chunks::<TOGETHER>();
    let (dots_together, dots_rest) = dots.as_chunks_mut::<TOGETHER>();
    for (probes, dots) in together.iter().zip(dots_together) {
        for (at, row) in rows.chunks_exact(probes[0].len()).enumerate() {
            let sums = sums(avx2, *probes, [row; TOGETHER]);
            for (dots, sum) in dots.iter_mut().zip(sums) {
                dots[at] = sum;
            }
        }
    }
    for (probe, dots) in rest.iter().zip(dots_rest) {
        let chunks = probe.len();
        let mut together = rows.chunks_exact(TOGETHER * chunks);
        let mut first = 0;
        for rows in together.by_ref() {
            let rows = std::array::from_fn(|row| &rows[row * chunks..][..chunks]);
            dots[first..][..TOGETHER].copy_from_slice(&sums(avx2, [*probe; TOGETHER], rows));
            first += TOGETHER;
        }
        for row in together.remainder().chunks_exact(chunks) {
            [dots[first]] = sums(avx2, [*probe], [row]);
            first += 1;
        }
    }
}

#[cfg(target_arch = "x86_64")]
fearless_simd::kernel!(
    /// The sums of two neighbouring products each.
    #[inline(always)]
    fn products(avx2: Avx2, unsigned: __m256i, signed: __m256i) -> __m256i {
        _mm256_maddubs_epi16(unsigned, signed)
    }
);

/// The dot product of each probe with its row. What several have in common is computed once.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn sums<const COUNT: usize>(
    avx2: Avx2,
    probes: [&[ProbeChunk]; COUNT],
    rows: [&[Chunk]; COUNT],
) -> [i32; COUNT] {
    /// The chunks whose products fit an `i16` together: 8 sums of two products, each up to 15 * 127.
    const FITTING: usize = 2;
    const HALF: usize = BYTES / 2;

    let lowest = i16x16::splat(avx2, 0x0f0f);
    let ones = i16x16::splat(avx2, 1);
    let mut sums = [i32x8::splat(avx2, 0); COUNT];
    let chunks = rows[0].len();
    let (probes, rows) = (
        probes.map(|probe| &probe[..chunks]),
        rows.map(|row| &row[..chunks]),
    );
    for first in (0..chunks).step_by(FITTING) {
        let mut words = [i16x16::splat(avx2, 0); COUNT];
        for chunk in first..chunks.min(first + FITTING) {
            for half in 0..2 {
                for at in 0..COUNT {
                    let (Chunk(bytes), ProbeChunk(probe)) = (&rows[at][chunk], &probes[at][chunk]);
                    let bytes = u8x32::from_slice(avx2, &bytes[half * HALF..][..HALF]);
                    let bytes: i16x16<_> = bytes.bitcast();
                    for (part, codes) in [bytes & lowest, (bytes >> 4) & lowest]
                        .into_iter()
                        .enumerate()
                    {
                        let probe = i8x32::from_slice(avx2, &probe[part][half * HALF..][..HALF]);
                        let products = products(avx2, codes.into(), probe.into());
                        words[at] += i16x16::simd_from(avx2, products);
                    }
                }
            }
        }
        for (sums, words) in sums.iter_mut().zip(words) {
            *sums += words.pairwise_dot_product(ones);
        }
    }
    let mut reduced = [0; COUNT];
    for (reduced, sums) in reduced.iter_mut().zip(sums) {
        *reduced = sums.reduce_sum();
    }
    reduced
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHUNKS: usize = 3;

    fn byte(i: usize) -> u8 {
        let [.., byte] = (i * 23_209 + i / 7).to_be_bytes();
        byte
    }

    fn probe(n: usize) -> Vec<ProbeChunk> {
        let chunk = |c: usize| {
            let half = |h| {
                std::array::from_fn(|i| {
                    byte(7 + c + 5 * h + 3 * i + 11 * n).cast_signed().max(-127)
                })
            };
            ProbeChunk(std::array::from_fn(half))
        };
        (0..CHUNKS).map(chunk).collect()
    }

    /// Component by component.
    fn dot(probe: &[ProbeChunk], row: &[Chunk]) -> i32 {
        let of_chunk = |(ProbeChunk(probe), Chunk(row)): (&ProbeChunk, &Chunk)| -> i32 {
            let products = probe.as_flattened().iter().enumerate().map(|(i, p)| {
                let part = (row[i % BYTES] >> (4 * (i / BYTES))) & 0xf;
                i32::from(*p) * i32::from(part)
            });
            products.sum()
        };
        probe.iter().zip(row).map(of_chunk).sum()
    }

    fn assert_dots(probes: &[Vec<ProbeChunk>], rows: &[Chunk]) {
        const COUNT: usize = 11;
        let slices: Vec<_> = probes.iter().map(Vec::as_slice).collect();
        for level in [Level::new(), Level::baseline()] {
            let mut answers = vec![[0; COUNT]; probes.len()];
            dots_at(level, &slices, rows, &mut answers);
            for (probe, answers) in probes.iter().zip(answers) {
                let expected: Vec<_> = rows.chunks(CHUNKS).map(|row| dot(probe, row)).collect();
                assert_eq!(answers[..], expected, "{level:?}, {} probes", probes.len());
            }
        }
    }

    #[test]
    fn every_instruction_set_computes_the_same_for_any_number_of_probes() {
        let rows = (0..11 * CHUNKS).map(|c| Chunk(std::array::from_fn(|i| byte(c * BYTES + i))));
        let rows: Vec<_> = rows.collect();
        for count in [1, 3, 4, 9] {
            assert_dots(&(0..count).map(probe).collect::<Vec<_>>(), &rows);
        }
    }

    #[test]
    fn the_largest_products_fit() {
        let rows = [Chunk([0xff; BYTES]); 11 * CHUNKS];
        let all = |p| vec![ProbeChunk([[p; BYTES]; 2]); CHUNKS];
        assert_dots(&[all(127), all(-127)], &rows);
    }
}
