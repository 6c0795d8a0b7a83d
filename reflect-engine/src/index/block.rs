//! A block of quantised vectors.

use std::ops::Range;
use std::sync::Arc;

use fearless_simd::{Level, dispatch};

use super::code::{self, Code, Planes};
use super::kernel::{self, Chunk, FineChunk, ProbeChunk};
use super::probe::{Bounds, Probe};
use super::tags::Tags;
use crate::rank::{Merit, Merits, Rule};

/// The number of vectors in a block: as many as fit the cache while several probes meet them. Tests have many blocks.
pub(super) const ROWS: usize = if cfg!(test) { 64 } else { 512 };

/// Up to [`ROWS`] vectors. Copies share the parts of which neither has changed.
#[derive(Clone)]
pub(super) struct Block {
    dims: usize,
    codes: Arc<Codes>,
    entries: Arc<Vec<Entry>>,
    /// What turns a similarity into a score.
    merits: Merits,
}

/// The codes of consecutive rows, number by number, so that a scan computes with several at once.
#[derive(Clone, Default)]
struct Codes {
    coarse: Vec<Chunk>,
    /// Which a scan reads of few rows.
    fine: Vec<FineChunk>,
    coarse_steps: Vec<f32>,
    coarse_errors: Vec<f32>,
    steps: Vec<f32>,
    errors: Vec<f32>,
}

/// The memory that a vector belongs to.
#[derive(Clone, PartialEq)]
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
    pub(super) code: Code,
    pub(super) merit: Merit,
    pub(super) entry: Entry,
}

impl Block {
    pub(super) fn new(dims: usize) -> Self {
        Self {
            dims,
            codes: Arc::default(),
            entries: Arc::default(),
            merits: Merits::default(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn merit(&self, at: usize) -> Merit {
        self.merits.get(at)
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Appends a row.
    pub(super) fn push(&mut self, row: Row) {
        let codes = Arc::make_mut(&mut self.codes);
        codes.coarse.extend_from_slice(&row.code.coarse);
        codes.fine.extend_from_slice(&row.code.fine);
        codes.coarse_steps.push(row.code.coarse_step);
        codes.coarse_errors.push(row.code.coarse_error);
        codes.steps.push(row.code.step);
        codes.errors.push(row.code.error);
        let entries = Arc::make_mut(&mut self.entries);
        entries.push(row.entry);
        self.merits.push(row.merit);
        if entries.len() == ROWS {
            codes.coarse.shrink_to_fit();
            codes.fine.shrink_to_fit();
            codes.coarse_steps.shrink_to_fit();
            codes.coarse_errors.shrink_to_fit();
            codes.steps.shrink_to_fit();
            codes.errors.shrink_to_fit();
            entries.shrink_to_fit();
            self.merits.shrink_to_fit();
        }
    }

    /// Removes the last row.
    pub(super) fn pop(&mut self) -> Option<Row> {
        let merit = self.merits.pop()?;
        let entry = Arc::make_mut(&mut self.entries).pop()?;
        let start = self.place(self.len()).start;
        let codes = Arc::make_mut(&mut self.codes);
        let code = Code {
            coarse: codes.coarse.split_off(start),
            fine: codes.fine.split_off(start),
            coarse_step: codes.coarse_steps.pop()?,
            coarse_error: codes.coarse_errors.pop()?,
            step: codes.steps.pop()?,
            error: codes.errors.pop()?,
        };
        Some(Row { code, merit, entry })
    }

    pub(super) fn set_code(&mut self, at: usize, code: &Code) {
        let place = self.place(at);
        let codes = Arc::make_mut(&mut self.codes);
        codes.coarse[place.clone()].copy_from_slice(&code.coarse);
        codes.fine[place].copy_from_slice(&code.fine);
        codes.coarse_steps[at] = code.coarse_step;
        codes.coarse_errors[at] = code.coarse_error;
        codes.steps[at] = code.step;
        codes.errors[at] = code.error;
    }

    pub(super) fn set_merit(&mut self, at: usize, merit: Merit) {
        self.merits.set(at, merit);
    }

    pub(super) fn set_entry(&mut self, at: usize, entry: Entry) {
        Arc::make_mut(&mut self.entries)[at] = entry;
    }

    /// The code of a row.
    pub(super) fn planes(&self, at: usize) -> Planes<'_> {
        let place = self.place(at);
        Planes {
            coarse: &self.codes.coarse[place.clone()],
            fine: &self.codes.fine[place],
            step: self.codes.steps[at],
            dims: self.dims,
        }
    }

    /// The dot products of probes with the coarse planes of all rows.
    pub(super) fn coarse_dots(&self, probes: &[&[ProbeChunk]], dots: &mut [[i32; ROWS]]) {
        kernel::dots(probes, &self.codes.coarse, dots);
    }

    /// Upper bounds of every row's similarity by these dot products.
    pub(super) fn coarse_highs(&self, probe: &Probe, dots: &[i32; ROWS], highs: &mut [f32; ROWS]) {
        let Codes {
            coarse_steps,
            coarse_errors,
            ..
        } = &*self.codes;
        probe.coarse_highs(dots, coarse_steps, coarse_errors, highs);
    }

    /// Upper bounds of the score of every row at these similarities.
    pub(super) fn scores(&self, rule: &Rule, similarities: &[f32; ROWS], scores: &mut [f32; ROWS]) {
        dispatch!(Level::new(), _simd => rule.scores(similarities, &self.merits, scores));
    }

    /// The bounds of a row's similarity by both planes.
    pub(super) fn bounds(&self, probe: &Probe, at: usize) -> Bounds {
        probe.bounds(self.planes(at), self.codes.errors[at])
    }

    /// The memory used, including the block itself and without metadata.
    pub(super) fn bytes(&self) -> usize {
        let codes = &*self.codes;
        let scales = [
            &codes.coarse_steps,
            &codes.coarse_errors,
            &codes.steps,
            &codes.errors,
        ];
        let scales: usize = scales.iter().map(|numbers| numbers.capacity()).sum();
        size_of::<Self>()
            + size_of::<Codes>()
            + codes.coarse.capacity() * size_of::<Chunk>()
            + codes.fine.capacity() * size_of::<FineChunk>()
            + scales * size_of::<f32>()
            + self.entries.capacity() * size_of::<Entry>()
            + self.merits.bytes()
    }

    /// The chunks of a row.
    fn place(&self, at: usize) -> Range<usize> {
        let chunks = code::chunks(self.dims);
        at * chunks..(at + 1) * chunks
    }
}
