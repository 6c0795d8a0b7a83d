//! The memories that may be in the pool, and which of them have to be read.

use super::cut::{Cut, RankKey};
use super::probe::Bounds;
use crate::rank::vector::Direction;
use crate::rank::{Candidate, Merit, Params, Ranked, rank};

/// The memories that may be in the pool of the exact ranking, by an upper bound of each score.
///
/// Their exact vectors are read in batches, highest bounds first, until the exact scores rule out the
/// rest:
///
/// ```
/// # use reflect_engine::index::{Error, Index};
/// # use reflect_engine::rank::Params;
/// # fn read(index: &Index, vector_of: fn(i64) -> Vec<f32>, probe: &[f32], params: &Params)
/// # -> Result<Vec<(i64, Vec<f32>)>, Error> {
/// let mut shortlist = index.shortlist(probe, params, None)?;
/// let mut read = Vec::new();
/// while let Some(keys) = shortlist.next_batch() {
///     for key in keys {
///         let vector = vector_of(key);
///         shortlist.record(key, &vector);
///         read.push((key, vector));
///     }
/// }
/// # Ok(read) }
/// ```
///
/// [`rank`](crate::rank::rank) over the vectors that were read gives the same answer as over all memories.
#[derive(Debug)]
pub struct Shortlist {
    probe: Vec<f32>,
    cut: Cut,
    /// The highest bound last.
    waiting: Vec<Waiting>,
    /// Those that were handed out, by key.
    read: Vec<(i64, Merit)>,
}

/// The number of vectors that are read at least, as far as there are so many: a second batch takes longer.
const FEWEST: usize = 24;

/// A memory that may be in the pool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) key: i64,
    pub(super) merit: Merit,
    /// The upper bound of its score.
    pub(super) high: f64,
}

impl Waiting {
    fn standing(&self) -> RankKey {
        RankKey {
            score: self.high,
            key: self.key,
        }
    }
}

impl Shortlist {
    pub(super) fn new(probe: &[f32], params: &Params, mut waiting: Vec<Waiting>) -> Self {
        waiting.sort_unstable_by_key(Waiting::standing);
        Self {
            probe: probe.to_vec(),
            cut: Cut::new(*params),
            waiting,
            read: Vec::new(),
        }
    }

    /// The parameters of the ranking.
    pub fn params(&self) -> &Params {
        self.cut.params()
    }

    /// The memories whose vectors are to be read next, in rising order; `None` if those that were read
    /// include the pool.
    pub fn next_batch(&mut self) -> Option<Vec<i64>> {
        let pool = self.cut.params().pool();
        // As many again as before: the number of batches stays small.
        let most = self.read.len().max(pool.saturating_add(pool / 4));
        let most = most.max(FEWEST);
        let mut batch = Vec::new();
        while batch.len() < most
            && let Some(next) = self.waiting.pop()
        {
            if !self.cut.still_admits(next.high, next.key) {
                self.waiting.clear();
                break;
            }
            batch.push((next.key, next.merit));
        }
        batch.sort_unstable_by_key(|(key, _)| *key);
        let keys: Vec<_> = batch.iter().map(|(key, _)| *key).collect();
        self.read.extend(batch);
        self.read.sort_unstable_by_key(|(key, _)| *key);
        (!keys.is_empty()).then_some(keys)
    }

    /// Takes note of the exact vector of a memory that was handed out.
    pub fn record(&mut self, key: i64, vector: &[f32]) {
        let similarity = || Direction::of(&self.probe)?.cosine(&Direction::of(vector)?);
        if let (Some(similarity), Some(merit)) = (similarity(), self.merit(key)) {
            let exact = Bounds {
                low: similarity,
                high: similarity,
            };
            let score = self.cut.params().score(similarity, merit);
            self.cut.admits(exact, merit, score, key);
        }
    }

    /// Ranks the memories that were handed out, given their vectors.
    pub(crate) fn ranked(&self, vectors: &[(i64, Vec<f32>)]) -> Vec<Ranked> {
        let candidates: Vec<_> = vectors
            .iter()
            .filter_map(|(key, vector)| {
                Some(Candidate {
                    key: *key,
                    vector,
                    merit: self.merit(*key)?,
                    metadata: None,
                })
            })
            .collect();
        rank(&self.probe, &candidates, self.params())
    }

    /// What reviews say about a memory that was handed out.
    pub fn merit(&self, key: i64) -> Option<Merit> {
        let found = self.read.binary_search_by_key(&key, |(key, _)| *key);
        found.ok().map(|place| self.read[place].1)
    }
}
