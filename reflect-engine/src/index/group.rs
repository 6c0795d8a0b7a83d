//! Rows around one centre.

use std::io::{self, Read, Write};

use borsh::{BorshDeserialize, BorshSerialize};

use super::block::{Block, Entry, ROWS, Row};
use super::code::Planes;
use super::probe::Centre;
use super::summary::Summary;
use super::tags::{Places, Tags};
use crate::credit::Effect;
use crate::rank::Merit;

/// Rows around one centre, in blocks that are all full but the last.
pub(super) struct Group {
    dims: usize,
    centre: Centre,
    blocks: Vec<Block>,
    /// That of each block, side by side: a scan reads them all.
    summaries: Vec<Summary>,
    /// The number of effects that have changed since the rows were sorted.
    changes: usize,
}

impl Group {
    pub(super) fn new(dims: usize, centre: Centre) -> Self {
        Self {
            dims,
            centre,
            blocks: Vec::new(),
            summaries: Vec::new(),
            changes: 0,
        }
    }

    pub(super) fn centre(&self) -> &Centre {
        &self.centre
    }

    pub(super) fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// What holds for all rows of each block.
    pub(super) fn summaries(&self) -> &[Summary] {
        &self.summaries
    }

    pub(super) fn len(&self) -> usize {
        let last = self.blocks.last().map_or(0, Block::len);
        self.blocks.len().saturating_sub(1) * ROWS + last
    }

    pub(super) fn merit(&self, at: usize) -> Merit {
        self.blocks[at / ROWS].merits().get(at % ROWS)
    }

    pub(super) fn entry(&self, at: usize) -> &Entry {
        &self.blocks[at / ROWS].entries()[at % ROWS]
    }

    /// The code of a row.
    pub(super) fn planes(&self, at: usize) -> Planes<'_> {
        self.blocks[at / ROWS].planes(at % ROWS)
    }

    pub(super) fn set_effect(&mut self, at: usize, effect: Effect) {
        if self.merit(at).effect != effect {
            self.blocks[at / ROWS].set_effect(at % ROWS, effect);
            self.summarise(at);
            self.changes += 1;
        }
    }

    /// Whether so many effects have changed that the rows should be sorted.
    pub(super) fn needs_sorting(&self) -> bool {
        self.changes > 0 && self.changes >= self.len() / 4
    }

    /// Sorts the rows into bands of like effect, and each band by the part along the centre: so most blocks have no row
    /// that ranks.
    pub(super) fn sort(&mut self) {
        self.changes = 0;
        let mut rows = Vec::with_capacity(self.len());
        while let Some(mut block) = self.blocks.pop() {
            rows.extend(std::iter::from_fn(|| block.pop()));
        }
        self.summaries.clear();
        rows.sort_unstable_by(|a, b| b.help().total_cmp(&a.help()));
        let blocks = rows.len().div_ceil(ROWS);
        // As many blocks in a band as there are bands.
        for band in rows.chunks_mut(blocks.isqrt().max(1) * ROWS) {
            band.sort_unstable_by(|a, b| a.along().total_cmp(&b.along()));
        }
        for (at, row) in rows.into_iter().enumerate() {
            self.put(at, row);
        }
    }

    /// Overwrites a row, or appends the next one.
    pub(super) fn put(&mut self, at: usize, row: Row) {
        if at == self.blocks.len() * ROWS {
            self.blocks.push(Block::new(self.dims));
            self.summaries.push(Summary::default());
        }
        self.blocks[at / ROWS].put(at % ROWS, row);
        self.summarise(at);
    }

    /// Brings the summary up to date with a row.
    fn summarise(&mut self, at: usize) {
        let block = &self.blocks[at / ROWS];
        self.summaries[at / ROWS].add(block.scales().alongs(), block.merits(), at % ROWS);
    }

    /// Removes a row. Returns the key of the row that takes its place, the last one, unless it was that.
    pub(super) fn remove(&mut self, at: usize) -> Option<i64> {
        let last = self.blocks.last_mut().and_then(Block::pop)?;
        if self.blocks.last().is_some_and(|block| block.len() == 0) {
            self.blocks.pop();
            self.summaries.pop();
            if self.blocks.len() < self.blocks.capacity() / 4 {
                self.blocks.shrink_to(self.blocks.len() * 2);
                self.summaries.shrink_to(self.blocks.len() * 2);
            }
        }
        (at < self.len()).then(|| {
            let key = last.entry.key;
            self.put(at, last);
            key
        })
    }

    pub(super) fn save(&self, tags: &Places, out: &mut impl Write) -> io::Result<()> {
        (&self.centre, self.changes, self.blocks.len()).serialize(out)?;
        self.blocks
            .iter()
            .try_for_each(|block| block.save(tags, out))
    }

    /// Loads a group whose memories have these metadata, each with its signature.
    pub(super) fn load(
        dims: usize,
        tags: &[(Tags, u64)],
        input: &mut impl Read,
    ) -> io::Result<Self> {
        let (centre, changes, blocks) = <(_, _, usize)>::deserialize_reader(input)?;
        let blocks = (0..blocks).map(|_| Block::load(dims, tags, input));
        let blocks: Vec<_> = blocks.collect::<io::Result<_>>()?;
        let summaries = blocks.iter();
        let summaries = summaries.map(|block| Summary::of(block.scales().alongs(), block.merits()));
        Ok(Self {
            dims,
            centre,
            summaries: summaries.collect(),
            blocks,
            changes,
        })
    }

    /// The memory used, including reserved capacity and without metadata.
    pub(super) fn bytes(&self) -> usize {
        let blocks: usize = self.blocks.iter().map(Block::bytes).sum();
        let spare = self.blocks.capacity() - self.blocks.len();
        let summaries = self.summaries.capacity() * size_of::<Summary>();
        size_of::<Self>() + self.centre.bytes() + blocks + spare * size_of::<Block>() + summaries
    }
}
