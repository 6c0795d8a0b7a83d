//! Runs that are stored with one request.

use reflect_types::{Piece, TraceId};

use crate::failure::Failure;

/// The most runs of a batch.
const RUNS: usize = 20;
/// The most bytes of a batch, below the body limit of a server. A longer run is alone in its batch.
const BYTES: usize = 1024 * 1024;

/// Runs that are stored with one request.
#[derive(Debug, Default)]
pub(super) struct Batch {
    runs: Vec<CarriedRun>,
    bytes: usize,
}

/// A run and its memory.
#[derive(Clone, Debug)]
pub(super) struct CarriedRun {
    pub(super) id: TraceId,
    pieces: Vec<Piece>,
    bytes: usize,
}

impl CarriedRun {
    pub(super) fn new(id: TraceId, pieces: Vec<Piece>) -> Result<Self, Failure> {
        let bytes = serde_json::to_vec(&pieces)?.len();
        Ok(Self { id, pieces, bytes })
    }
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.runs.len()
    }

    /// Adds a run. Returns the batch as it was, and starts one with the run, if there is no room for it.
    pub(super) fn add(&mut self, run: CarriedRun) -> Option<Self> {
        let has_room = self.runs.len() < RUNS && self.bytes + run.bytes <= BYTES;
        let full = (!has_room && !self.is_empty()).then(|| std::mem::take(self));
        self.bytes += run.bytes;
        self.runs.push(run);
        full
    }

    /// The parts, memories before the traces that name them.
    pub(super) fn pieces(&self) -> Vec<Piece> {
        let pieces = self.runs.iter().flat_map(|run| run.pieces.clone());
        let mut pieces: Vec<Piece> = pieces.collect();
        pieces.sort_by_key(|piece| !matches!(piece, Piece::Memory(_)));
        pieces
    }

    /// The id of the only run.
    pub(super) fn only(&self) -> Option<&TraceId> {
        match &self.runs[..] {
            [run] => Some(&run.id),
            _ => None,
        }
    }

    /// Each run by itself.
    pub(super) fn singly(self) -> impl Iterator<Item = Self> {
        self.runs.into_iter().map(|run| Self {
            bytes: run.bytes,
            runs: vec![run],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(bytes: usize) -> CarriedRun {
        CarriedRun {
            id: "run".into(),
            pieces: Vec::new(),
            bytes,
        }
    }

    #[test]
    fn a_batch_is_full_by_its_runs_or_its_bytes() {
        let mut batch = Batch::default();
        // Longer than a batch, and alone in it.
        assert!(batch.add(run(2 * BYTES)).is_none());
        assert_eq!(batch.add(run(BYTES)).unwrap().len(), 1);
        assert_eq!(batch.add(run(0)).map(|full| full.len()), None);
        assert_eq!(batch.add(run(1)).unwrap().len(), 2);
        for _ in 1..RUNS {
            assert!(batch.add(run(1)).is_none());
        }
        assert_eq!(batch.add(run(1)).unwrap().len(), RUNS);
    }
}
