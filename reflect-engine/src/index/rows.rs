//! The rows of an index.

use std::sync::Arc;

use super::block::{Block, Entry, ROWS, Row};
use super::code::{Code, Planes};
use crate::rank::Merit;

/// The rows of an index, in blocks that are all full but the last. Copies share the blocks of which neither has
/// changed, so that queries read one while the other learns.
#[derive(Clone)]
pub(super) struct Rows {
    dims: usize,
    blocks: Vec<Arc<Block>>,
}

impl Rows {
    pub(super) fn new(dims: usize) -> Self {
        Self {
            dims,
            blocks: Vec::new(),
        }
    }

    pub(super) fn dims(&self) -> usize {
        self.dims
    }

    pub(super) fn blocks(&self) -> &[Arc<Block>] {
        &self.blocks
    }

    pub(super) fn len(&self) -> usize {
        let last = self.blocks.last().map_or(0, |block| block.len());
        self.blocks.len().saturating_sub(1) * ROWS + last
    }

    pub(super) fn merit(&self, at: usize) -> Merit {
        self.blocks[at / ROWS].merit(at % ROWS)
    }

    pub(super) fn entry(&self, at: usize) -> &Entry {
        &self.blocks[at / ROWS].entries()[at % ROWS]
    }

    /// The code of a row.
    pub(super) fn planes(&self, at: usize) -> Planes<'_> {
        self.blocks[at / ROWS].planes(at % ROWS)
    }

    pub(super) fn set_code(&mut self, at: usize, code: &Code) {
        self.block(at).set_code(at % ROWS, code);
    }

    pub(super) fn set_merit(&mut self, at: usize, merit: Merit) {
        if self.merit(at) != merit {
            self.block(at).set_merit(at % ROWS, merit);
        }
    }

    /// Returns the entry before.
    pub(super) fn set_entry(&mut self, at: usize, entry: Entry) -> Entry {
        let before = self.entry(at).clone();
        if before != entry {
            self.block(at).set_entry(at % ROWS, entry);
        }
        before
    }

    /// Appends a row.
    pub(super) fn push(&mut self, row: Row) {
        let at = self.len();
        if at == self.blocks.len() * ROWS {
            self.blocks.push(Arc::new(Block::new(self.dims)));
        }
        self.block(at).push(row);
    }

    /// Removes a row. Returns its entry, and the key of the row that takes its place, the last one, unless it was that.
    pub(super) fn remove(&mut self, at: usize) -> Option<(Entry, Option<i64>)> {
        let last = self.len().checked_sub(1)?;
        let moved = self.block(last).pop()?;
        if last.is_multiple_of(ROWS) {
            self.blocks.pop();
            if self.blocks.len() < self.blocks.capacity() / 4 {
                self.blocks.shrink_to(self.blocks.len() * 2);
            }
        }
        if at == last {
            return Some((moved.entry, None));
        }
        let key = moved.entry.key;
        self.set_code(at, &moved.code);
        self.set_merit(at, moved.merit);
        Some((self.set_entry(at, moved.entry), Some(key)))
    }

    /// The memory used outside of itself, including reserved capacity and without metadata.
    pub(super) fn bytes(&self) -> usize {
        let blocks: usize = self.blocks.iter().map(|block| block.bytes()).sum();
        blocks + self.blocks.capacity() * size_of::<Arc<Block>>()
    }

    /// The block of a row, to change it.
    fn block(&mut self, at: usize) -> &mut Block {
        Arc::make_mut(&mut self.blocks[at / ROWS])
    }
}
