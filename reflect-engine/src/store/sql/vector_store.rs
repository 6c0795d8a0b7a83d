//! Every driver stores vectors.

use async_trait::async_trait;
use jiff::Timestamp;
use reflect_types::ProjectId;

use super::driver::{Driver, run};
use super::{claims, embedders, vectors};
use crate::error::Result;
use crate::store::{
    Claims, KnownEmbedder, Lease, MemoryKey, ProjectRow, UnembeddedMemory, UnusedVectors,
    VectorSpace, Vectors,
};

#[async_trait]
impl<D: Driver> Vectors for D {
    async fn vectors(
        &self,
        project: &ProjectId,
        space: &VectorSpace,
        keys: &[MemoryKey],
    ) -> Result<Vec<(MemoryKey, Vec<f32>)>> {
        run!(self.look(project, space, keys) => vectors::get)
    }

    async fn embedders(&self) -> Result<Vec<KnownEmbedder>> {
        run!(self.look() => embedders::list)
    }

    async fn announce_embedder(
        &self,
        space: &VectorSpace,
        complete: bool,
        now: Timestamp,
    ) -> Result<()> {
        run!(self.write(space; complete, now) => embedders::announce)
    }

    async fn unembedded(
        &self,
        space: &VectorSpace,
        after: ProjectRow,
        limit: usize,
    ) -> Result<Vec<UnembeddedMemory>> {
        run!(self.read(space; after, limit) => vectors::unembedded)
    }

    async fn count_unembedded(
        &self,
        space: &VectorSpace,
        project: Option<&ProjectId>,
    ) -> Result<u64> {
        let arguments = (space.clone(), project.cloned());
        self.read(arguments, |db, (space, project)| {
            Box::pin(vectors::count_unembedded(db, space, project.as_ref()))
        })
        .await
    }

    async fn set_vectors(
        &self,
        space: &VectorSpace,
        vectors: Vec<(UnembeddedMemory, Vec<f32>)>,
        now: Timestamp,
    ) -> Result<()> {
        let arguments = (space.clone(), vectors, now);
        self.write(arguments, |db, (space, vectors, now)| {
            Box::pin(vectors::set(db, space, vectors, *now))
        })
        .await
    }

    async fn delete_unused_vectors(
        &self,
        unused: &UnusedVectors,
        after: ProjectRow,
        limit: usize,
    ) -> Result<Option<ProjectRow>> {
        run!(self.write(unused; after, limit) => vectors::delete_unused)
    }

    async fn queue_reembedding(&self, embedder: &str, now: Timestamp, restart: bool) -> Result<()> {
        if !restart {
            // An idle engine must not write.
            let due = self.look(embedder.to_owned(), |db, embedder| {
                Box::pin(embedders::due(db, embedder))
            });
            if due.await?.is_some() {
                return Ok(());
            }
        }
        run!(self.write(embedder; now, restart) => embedders::queue)
    }

    async fn claim_reembedding(
        &self,
        embedder: &str,
        now: Timestamp,
        lease: &Lease,
    ) -> Result<Claims> {
        let error = self.clock_error().await?;
        let (now, lease) = (claims::corrected(now, error), lease.corrected(error));
        // An idle engine must not write.
        let next_due = self.look(embedder.to_owned(), |db, embedder| {
            Box::pin(embedders::due(db, embedder))
        });
        let next_due = next_due.await?;
        if next_due.is_none_or(|due| due > now) {
            return Ok(Claims {
                jobs: Vec::new(),
                next_due,
            });
        }
        let arguments = (embedder.to_owned(), now, lease);
        self.write(arguments, |db, (embedder, now, lease)| {
            Box::pin(embedders::claim(db, embedder, *now, lease))
        })
        .await
    }
}
