//! A block of quantised vectors.

use std::io::{self, Read, Write};

use borsh::{BorshDeserialize, BorshSerialize};
use fearless_simd::{Level, dispatch};

use super::code::{self, Code, Planes};
use super::kernel::{Chunk, FineChunk};
use super::probe::{self, Aim, Bounds};
use super::scales::{Scale, Scales};
use super::tags::{Places, Tags};
use crate::credit::Effect;
use crate::rank::{Merit, Merits, Rule};

/// The number of vectors in a block. Blocks are allocated one by one, so that a large index has
/// little spare capacity and is never copied as a whole.
pub(super) const ROWS: usize = 128;

/// The similarity of tasks for which effects are compared.
const SIMILAR: f64 = 0.8;

/// Up to [`ROWS`] vectors.
pub(super) struct Block {
    dims: usize,
    /// The coarse planes, row by row.
    coarse: Vec<Chunk>,
    /// The fine planes, row by row, which a scan reads of few rows.
    fine: Vec<FineChunk>,
    /// What every scan of the block reads, with the merits.
    scales: Scales,
    /// What turns a similarity into a score.
    merits: Merits,
    /// What a scan reads of few rows.
    entries: Vec<Entry>,
}

/// The memory that a vector belongs to.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) key: i64,
    /// Equal for equal vectors.
    pub(super) fingerprint: u64,
    /// See [`signature`](crate::rank::signature).
    pub(super) signature: u64,
    pub(super) tags: Option<Tags>,
}

/// A row outside a block.
pub(super) struct Row {
    coarse: Vec<Chunk>,
    fine: Vec<FineChunk>,
    scale: Scale,
    merit: Merit,
    pub(super) entry: Entry,
}

impl Row {
    /// The row of a code whose part along the centre is `along`.
    pub(super) fn new(code: Code, along: f64, merit: Merit, entry: Entry) -> Self {
        let scale = Scale {
            step: code.step,
            along: code::to_f32(along),
            coarse_error: code.coarse_error,
            error: code.error,
        };
        Self {
            coarse: code.coarse,
            fine: code.fine,
            scale,
            merit,
            entry,
        }
    }

    /// The part along the centre.
    pub(super) fn along(&self) -> f32 {
        self.scale.along
    }

    /// The effect on a task that is similar.
    pub(super) fn help(&self) -> f64 {
        self.merit.effect.at(SIMILAR)
    }
}

impl Block {
    pub(super) fn new(dims: usize) -> Self {
        Self {
            dims,
            coarse: Vec::new(),
            fine: Vec::new(),
            scales: Scales::default(),
            merits: Merits::default(),
            entries: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn scales(&self) -> &Scales {
        &self.scales
    }

    pub(super) fn merits(&self) -> &Merits {
        &self.merits
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Overwrites a row, or appends the next one.
    pub(super) fn put(&mut self, at: usize, row: Row) {
        if at == self.len() {
            append(&mut self.coarse, &row.coarse);
            append(&mut self.fine, &row.fine);
            self.scales.push(row.scale);
            self.merits.push(row.merit);
            self.entries.push(row.entry);
        } else {
            let place = self.place(at);
            self.coarse[place.clone()].copy_from_slice(&row.coarse);
            self.fine[place].copy_from_slice(&row.fine);
            self.scales.set(at, row.scale);
            self.merits.set(at, row.merit);
            self.entries[at] = row.entry;
        }
    }

    pub(super) fn set_effect(&mut self, at: usize, effect: Effect) {
        let Merit { q, .. } = self.merits.get(at);
        self.merits.set(at, Merit { q, effect });
    }

    /// Removes the last row.
    pub(super) fn pop(&mut self) -> Option<Row> {
        let (scale, merit) = (self.scales.pop()?, self.merits.pop()?);
        let entry = self.entries.pop()?;
        let start = self.place(self.len()).start;
        Some(Row {
            coarse: self.coarse.split_off(start),
            fine: self.fine.split_off(start),
            scale,
            merit,
            entry,
        })
    }

    /// The code of a row.
    pub(super) fn planes(&self, at: usize) -> Planes<'_> {
        let place = self.place(at);
        Planes {
            coarse: &self.coarse[place.clone()],
            fine: &self.fine[place],
            step: self.scales.steps()[at],
            dims: self.dims,
        }
    }

    /// Upper bounds of every row's similarity to a probe with this part along the centre.
    pub(super) fn highs(&self, along: f64, highs: &mut [f64; ROWS]) {
        probe::highests(along, self.scales.alongs(), highs);
    }

    /// The dot products of the probe with the coarse plane of these rows, at their places.
    pub(super) fn coarse_dots(&self, aim: &Aim, rows: &[usize], dots: &mut [i32; ROWS]) {
        aim.coarse_dots(&self.coarse, rows, dots);
    }

    /// Upper bounds of every row's similarity by these dot products.
    pub(super) fn coarse_highs(&self, aim: &Aim, dots: &[i32; ROWS], highs: &mut [f64; ROWS]) {
        aim.coarse_highs(dots, &self.scales, highs);
    }

    /// The score of every row at these similarities.
    pub(super) fn scores(&self, rule: &Rule, similarities: &[f64; ROWS], scores: &mut [f64; ROWS]) {
        dispatch!(Level::new(), _simd => rule.scores(similarities, &self.merits, scores));
    }

    /// The bounds of a row's similarity by both planes.
    pub(super) fn bounds(&self, aim: &Aim, at: usize, coarse: i32) -> Bounds {
        let fine = &self.fine[self.place(at)];
        aim.bounds_by_all(coarse, fine, self.scales.get(at))
    }

    /// The memory used, including the block itself and without metadata.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.coarse.capacity() * size_of::<Chunk>()
            + self.fine.capacity() * size_of::<FineChunk>()
            + self.scales.bytes()
            + self.merits.bytes()
            + self.entries.capacity() * size_of::<Entry>()
    }

    pub(super) fn save(&self, tags: &Places, out: &mut impl Write) -> io::Result<()> {
        bytes_of(&self.coarse).serialize(out)?;
        bytes_of(&self.fine).serialize(out)?;
        self.scales.serialize(out)?;
        self.merits.serialize(out)?;
        for entry in &self.entries {
            (entry.key, entry.fingerprint).serialize(out)?;
            tags.of(entry.tags.as_ref()).serialize(out)?;
        }
        Ok(())
    }

    /// Loads a block whose memories have these metadata, each with its signature.
    pub(super) fn load(
        dims: usize,
        tags: &[(Tags, u64)],
        input: &mut impl Read,
    ) -> io::Result<Self> {
        let coarse = chunks_of(&Vec::deserialize_reader(input)?);
        let fine = chunks_of(&Vec::deserialize_reader(input)?);
        let scales = Scales::deserialize_reader(input)?;
        let merits = Merits::deserialize_reader(input)?;
        let mut entries = Vec::with_capacity(merits.len());
        for _ in 0..merits.len() {
            let (key, fingerprint) = BorshDeserialize::deserialize_reader(input)?;
            let place: Option<u32> = BorshDeserialize::deserialize_reader(input)?;
            let tagged = place.and_then(|place| tags.get(place as usize));
            entries.push(Entry {
                key,
                fingerprint,
                signature: tagged.map_or(0, |(_, signature)| *signature),
                tags: tagged.map(|(tags, _)| tags.clone()),
            });
        }
        Ok(Self {
            dims,
            coarse,
            fine,
            scales,
            merits,
            entries,
        })
    }

    /// The chunks of a row.
    fn place(&self, at: usize) -> std::ops::Range<usize> {
        let chunks = code::chunks(self.dims);
        at * chunks..(at + 1) * chunks
    }
}

/// Grows by a quarter, in whole rows, so that a block has little room to spare and a full one has none.
fn append<T: Copy>(plane: &mut Vec<T>, row: &[T]) {
    if plane.len() == plane.capacity() {
        let rows = plane.len() / row.len().max(1);
        let more = (rows / 4).max(1).min(ROWS - rows);
        plane.reserve_exact(more * row.len());
    }
    plane.extend_from_slice(row);
}

/// The words of a plane, little-endian.
fn bytes_of<const WORDS: usize>(plane: &[[i16; WORDS]]) -> Vec<u8> {
    let words = plane.as_flattened();
    let mut bytes = vec![0; size_of_val(words)];
    let (pairs, _) = bytes.as_chunks_mut();
    for (pair, word) in pairs.iter_mut().zip(words) {
        *pair = word.to_le_bytes();
    }
    bytes
}

/// The inverse of [`bytes_of`].
fn chunks_of<const WORDS: usize>(bytes: &[u8]) -> Vec<[i16; WORDS]> {
    let (pairs, _) = bytes.as_chunks();
    let mut plane = vec![[0; WORDS]; pairs.len() / WORDS];
    for (word, pair) in plane.as_flattened_mut().iter_mut().zip(pairs) {
        *word = i16::from_le_bytes(*pair);
    }
    plane
}
