//! Which embedders are in use.
//!
//! Engines with different embedders share a store while one replaces the other: each answers from vectors of its own.
//! An engine announces its embedder, and deletes the vectors of those that no engine was seen with for a time.

use std::time::Duration;

use jiff::Timestamp;

use crate::core::{ANNOUNCE, Core};
use crate::error::Result;
use crate::store::{KnownEmbedder, ProjectRow, UnusedVectors, VectorSpace};

/// How long the vectors of an embedder are kept after an engine with it was last seen, and after those of another one
/// were complete: the time for a way back.
const KEEP: Duration = Duration::from_secs(3_600);

/// The number of vectors that are deleted in one transaction.
const BATCH: usize = 500;

/// The embedders of a store, as an engine sees them.
pub(super) struct Embedders {
    /// The space of this engine's vectors. Its dimensions are those of the stored vectors until the embedder knows.
    pub(super) own: VectorSpace,
    known: Vec<KnownEmbedder>,
}

/// Announces this engine's embedder, unless the store knows it and no other.
pub(super) async fn announce(core: &Core) -> Result<Embedders> {
    let known = core.store.embedders().await?;
    core.note_embedders(&known);
    let mut found = Embedders {
        own: core.space(),
        known,
    };
    if found.own.dims == 0
        && let [only] = found.spaces().as_slice()
    {
        found.own = only.clone();
    }
    let is_announced = match found.of_own() {
        Some(own) => !found.has_others() || own.seen_at > before(core.now(), ANNOUNCE),
        None => found.own.dims == 0,
    };
    if !is_announced {
        let announced = core.store.announce_embedder(&found.own, false, core.now());
        announced.await?;
    }
    if found.of_own().is_some_and(|own| own.completed_at.is_some()) {
        core.embedding().is_complete = true;
    }
    Ok(found)
}

impl Embedders {
    /// Whether there are vectors of other spaces.
    pub(super) fn has_others(&self) -> bool {
        self.others().next().is_some()
    }

    /// All memories have a vector of this engine's embedder: notes that, and deletes unused vectors of others.
    pub(super) async fn complete(&self, core: &Core) -> Result<()> {
        let now = core.now();
        let Some(own) = self.of_own().filter(|own| own.completed_at.is_some()) else {
            if self.own.dims > 0 {
                core.store.announce_embedder(&self.own, true, now).await?;
                core.embedding().is_complete = true;
            }
            return Ok(());
        };
        let unseen_since = before(now, KEEP);
        if own.completed_at.is_some_and(|at| at > unseen_since) {
            return Ok(());
        }
        for other in self.others() {
            if other.seen_at > unseen_since {
                continue;
            }
            let unused = UnusedVectors {
                space: other.space.clone(),
                unseen_since,
                kept: own.space.clone(),
            };
            delete(core, &unused).await?;
        }
        Ok(())
    }

    fn of_own(&self) -> Option<&KnownEmbedder> {
        let mut known = self.known.iter();
        known.find(|one| one.space == self.own)
    }

    fn others(&self) -> impl Iterator<Item = &KnownEmbedder> {
        let known = self.known.iter();
        known.filter(|one| !self.own.includes(&one.space))
    }

    /// The stored spaces of this engine's embedder.
    fn spaces(&self) -> Vec<VectorSpace> {
        let known = self.known.iter();
        let own = known.filter(|one| self.own.includes(&one.space));
        own.map(|one| one.space.clone()).collect()
    }
}

/// Deletes vectors in parts, so that other writes do not wait for all.
async fn delete(core: &Core, unused: &UnusedVectors) -> Result<()> {
    let mut after = Some(ProjectRow::default());
    while let Some(row) = after.filter(|_| !*core.stopping.borrow()) {
        after = core.store.delete_unused_vectors(unused, row, BATCH).await?;
    }
    tracing::info!(
        embedder = unused.space.embedder,
        dims = unused.space.dims,
        "vectors of an embedder that no engine uses are deleted"
    );
    Ok(())
}

fn before(now: Timestamp, time: Duration) -> Timestamp {
    now.checked_sub(time).unwrap_or(Timestamp::MIN)
}
