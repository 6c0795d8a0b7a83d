//! A block of quantised vectors.

use super::code::{self, Code, Planes};
use super::kernel::Chunk;
use super::probe::Aim;
use super::scales::{PLANES, Scale, Scales};
use super::summary::Summary;
use super::tags::Tags;
use crate::rank::Merit;

/// The number of vectors in a block. Blocks are allocated one by one, so that a large index has
/// little spare capacity and is never copied as a whole.
pub(super) const ROWS: usize = 128;

/// Up to [`ROWS`] vectors.
pub(super) struct Block {
    dims: usize,
    /// Row by row. A scan reads the first plane of every row, and the others of few.
    planes: [Vec<Chunk>; PLANES],
    /// What every scan of the block reads besides the first plane.
    scales: Scales,
    /// What a scan reads of few rows.
    merits: Vec<Merit>,
    /// What a scan reads of fewer.
    entries: Vec<Entry>,
    summary: Summary,
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
    planes: [Vec<Chunk>; PLANES],
    scale: Scale,
    merit: Merit,
    pub(super) entry: Entry,
}

impl Row {
    /// The row of a code whose part along the centre is `along`.
    pub(super) fn new(code: Code, along: f64, merit: Merit, entry: Entry) -> Self {
        let scale = Scale {
            along: code::to_f32(along),
            ..code.scale
        };
        Self {
            planes: code.planes,
            scale,
            merit,
            entry,
        }
    }
}

impl Block {
    pub(super) fn new(dims: usize) -> Self {
        Self {
            dims,
            planes: Default::default(),
            scales: Scales::default(),
            merits: Vec::new(),
            entries: Vec::new(),
            summary: Summary::default(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn scale(&self, at: usize) -> Scale {
        self.scales.get(at)
    }

    pub(super) fn merits(&self) -> &[Merit] {
        &self.merits
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What holds for all rows.
    pub(super) fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Overwrites a row, or appends the next one.
    pub(super) fn put(&mut self, at: usize, row: Row) {
        if at == self.len() {
            for (plane, row) in self.planes.iter_mut().zip(&row.planes) {
                append(plane, row);
            }
            self.scales.push(row.scale);
            self.merits.push(row.merit);
            self.entries.push(row.entry);
        } else {
            let place = self.place(at);
            for (plane, row) in self.planes.iter_mut().zip(&row.planes) {
                plane[place.clone()].copy_from_slice(row);
            }
            self.scales.set(at, row.scale);
            self.merits[at] = row.merit;
            self.entries[at] = row.entry;
        }
        self.summary.add(self.scales.alongs(), &self.merits, at);
    }

    pub(super) fn set_merit(&mut self, at: usize, merit: Merit) {
        self.merits[at] = merit;
        self.summary.add(self.scales.alongs(), &self.merits, at);
    }

    /// Removes the last row.
    pub(super) fn pop(&mut self) -> Option<Row> {
        let (scale, merit) = (self.scales.pop()?, self.merits.pop()?);
        let entry = self.entries.pop()?;
        let start = self.place(self.len()).start;
        Some(Row {
            planes: self.planes.each_mut().map(|plane| plane.split_off(start)),
            scale,
            merit,
            entry,
        })
    }

    /// The code of a row.
    pub(super) fn planes(&self, at: usize) -> Planes<'_> {
        let place = self.place(at);
        Planes {
            chunks: self.planes.each_ref().map(|plane| &plane[place.clone()]),
            step: self.scales.steps()[at],
            dims: self.dims,
        }
    }

    /// The dot product of the probe with the first plane of every row.
    pub(super) fn first_dots(&self, aim: &Aim, dots: &mut [i32; ROWS]) {
        aim.dots(&self.planes[0], &mut dots[..self.len()]);
    }

    /// Upper bounds of every row's similarity by these dot products.
    pub(super) fn first_highs(&self, aim: &Aim, dots: &[i32; ROWS], highs: &mut [f64; ROWS]) {
        aim.first_highs(dots, &self.scales, highs);
    }

    /// The dot product of the probe with a plane of one row.
    pub(super) fn dot(&self, aim: &Aim, plane: usize, at: usize) -> i32 {
        let mut dot = [0];
        aim.dots(&self.planes[plane][self.place(at)], &mut dot);
        dot[0]
    }

    /// The memory used, including the block itself and without metadata.
    pub(super) fn bytes(&self) -> usize {
        let planes: usize = self.planes.iter().map(Vec::capacity).sum();
        size_of::<Self>()
            + planes * size_of::<Chunk>()
            + self.scales.bytes()
            + self.merits.capacity() * size_of::<Merit>()
            + self.entries.capacity() * size_of::<Entry>()
    }

    /// The chunks of a row.
    fn place(&self, at: usize) -> std::ops::Range<usize> {
        let chunks = code::chunks(self.dims);
        at * chunks..(at + 1) * chunks
    }
}

/// Doubles the capacity by whole rows, so that a full block has none to spare.
fn append(plane: &mut Vec<Chunk>, row: &[Chunk]) {
    if plane.len() == plane.capacity() {
        plane.reserve_exact(plane.len().max(row.len()));
    }
    plane.extend_from_slice(row);
}
