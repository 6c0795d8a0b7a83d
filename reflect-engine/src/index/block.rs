//! A block of quantised vectors.

use super::code::{self, PLANES, Probe};
use super::kernel::Chunk;
use super::tags::Tags;
use crate::rank::Merit;

/// The number of vectors in a block. Blocks are allocated one by one, so that a large index has
/// little spare capacity and is never copied as a whole.
pub(super) const ROWS: usize = 256;

/// Up to [`ROWS`] vectors.
pub(super) struct Block {
    /// The number of chunks in a plane of a row.
    chunks: usize,
    /// The planes of the codes, each row by row.
    planes: [Vec<Chunk>; PLANES],
    /// The part that every scan reads.
    scales: Vec<Scale>,
    /// The part that a scan reads of few rows.
    rows: Vec<Row>,
}

/// The numbers that turn a dot product of codes into bounds of a score.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    pub(super) merit: Merit,
    pub(super) step: f32,
    /// The error by the first plane.
    pub(super) error: f32,
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

/// The cold part of a vector.
#[derive(Clone)]
pub(super) struct Row {
    pub(super) entry: Entry,
    /// The errors by one more plane and by two.
    pub(super) errors: [f32; PLANES - 1],
}

/// A vector taken out of a block.
pub(super) struct Taken {
    planes: [Vec<Chunk>; PLANES],
    scale: Scale,
    row: Row,
}

impl Taken {
    pub(super) fn key(&self) -> i64 {
        self.row.entry.key
    }
}

impl Block {
    pub(super) fn new(dims: usize) -> Self {
        Self {
            chunks: code::chunks(dims),
            planes: Default::default(),
            scales: Vec::new(),
            rows: Vec::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn scales(&self) -> &[Scale] {
        &self.scales
    }

    pub(super) fn row(&self, row: usize) -> &Row {
        &self.rows[row]
    }

    /// Overwrites a row, or appends the next one.
    pub(super) fn put(&mut self, row: usize, vector: &[f32], merit: Merit, entry: Entry) {
        let code = code::encode(vector);
        let [error, errors @ ..] = code.errors;
        self.replace(
            row,
            Taken {
                planes: code.planes,
                scale: Scale {
                    merit,
                    step: code.step,
                    error,
                },
                row: Row { entry, errors },
            },
        );
    }

    /// Overwrites a row, or appends the next one.
    pub(super) fn replace(&mut self, row: usize, taken: Taken) {
        if row == self.rows.len() {
            for (plane, taken) in self.planes.iter_mut().zip(&taken.planes) {
                // Doubled by whole rows, so that a full block has no spare capacity.
                if plane.len() == plane.capacity() {
                    plane.reserve_exact(plane.len().max(taken.len()));
                }
                plane.extend_from_slice(taken);
            }
            self.scales.push(taken.scale);
            self.rows.push(taken.row);
        } else {
            for (plane, taken) in self.planes.iter_mut().zip(&taken.planes) {
                plane[row * self.chunks..][..self.chunks].copy_from_slice(taken);
            }
            self.scales[row] = taken.scale;
            self.rows[row] = taken.row;
        }
    }

    pub(super) fn set_merit(&mut self, row: usize, merit: Merit) {
        self.scales[row].merit = merit;
    }

    /// The code of a row, in units of a 256th of its step.
    pub(super) fn code(&self, row: usize) -> impl Iterator<Item = i16> + '_ {
        let start = row * self.chunks;
        let parts = |plane: usize| code::parts_of(&self.planes[plane][start..][..self.chunks]);
        let planes = parts(0).zip(parts(1)).zip(parts(2));
        planes.map(|((first, second), third)| 256 * first + 16 * second + third)
    }

    /// Removes the last row.
    pub(super) fn pop(&mut self) -> Option<Taken> {
        let (scale, row) = (self.scales.pop()?, self.rows.pop()?);
        let start = self.rows.len() * self.chunks;
        Some(Taken {
            planes: self.planes.each_mut().map(|p| p.split_off(start)),
            scale,
            row,
        })
    }

    /// The dot product of the probe with the first plane of every row.
    pub(super) fn first_dots(&self, probe: &Probe, dots: &mut [i32; ROWS]) {
        probe.dots(&self.planes[0], &mut dots[..self.rows.len()]);
    }

    /// The dot product of the probe with one plane of one row.
    pub(super) fn dot(&self, probe: &Probe, plane: usize, row: usize) -> i32 {
        let mut dot = [0];
        let start = row * self.chunks;
        probe.dots(&self.planes[plane][start..][..self.chunks], &mut dot);
        dot[0]
    }

    /// The memory used, including the block itself and without metadata.
    pub(super) fn bytes(&self) -> usize {
        let chunks: usize = self.planes.iter().map(Vec::capacity).sum();
        size_of::<Self>()
            + chunks * size_of::<Chunk>()
            + self.scales.capacity() * size_of::<Scale>()
            + self.rows.capacity() * size_of::<Row>()
    }
}
