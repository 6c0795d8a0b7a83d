//! Checked embeddings, and how many memories have one of this engine's embedder.

use crate::core::Core;
use crate::error::{Error, Result};
use crate::model;
use crate::store::VectorSpace;

impl Core {
    /// Embeds texts and checks the vectors, so that a faulty embedder cannot damage the store.
    pub(crate) async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, model::Error> {
        let embedder = &self.embedder;
        let vectors = embedder.embed(texts).await?;
        let faulty = |problem: String| model::Error {
            message: format!("the embedder `{}` {problem}", embedder.id()),
            // The embedder is at fault, so no text is given up.
            retryable: true,
            source: None,
        };
        if vectors.len() != texts.len() {
            let (asked, got) = (texts.len(), vectors.len());
            return Err(faulty(format!("answered {asked} texts with {got} vectors")));
        }
        for vector in &vectors {
            if vector.len() != embedder.dims() {
                let (declared, got) = (embedder.dims(), vector.len());
                return Err(faulty(format!(
                    "declares {declared} dimensions but returned {got}"
                )));
            }
            if vector.iter().any(|x| !x.is_finite()) {
                return Err(faulty(
                    "returned a vector with a component that is not a number".to_owned(),
                ));
            }
        }
        Ok(vectors)
    }

    /// The vector of one text.
    pub(crate) async fn embed_one(&self, text: &str) -> Result<Vec<f32>, model::Error> {
        let vectors = self.embed(&[text]).await?;
        Ok(vectors.into_iter().next().unwrap_or_default())
    }

    /// The space of this engine's vectors.
    pub(crate) fn space(&self) -> VectorSpace {
        VectorSpace::new(self.embedder.id(), self.embedder.dims())
    }

    /// Fails if this engine adds no vectors of its own and those of the store are of other embedders. An engine
    /// with background work answers from what it has embedded so far.
    pub(crate) async fn ensure_embedded(&self) -> Result<()> {
        if self.background {
            return Ok(());
        }
        let own = self.space();
        let known = self.store.embedders().await?;
        if known
            .iter()
            .any(|one| own.includes(&one.space) && one.completed_at.is_some())
        {
            return Ok(());
        }
        match known.iter().rfind(|one| !own.includes(&one.space)) {
            Some(other) => Err(Error::unavailable(format!(
                "the memories are embedded with `{}`, but not all of them with `{}`: configure the same \
                 embedder, or start a server with this one and wait until it is active",
                other.space.embedder, own.embedder
            ))),
            None => Ok(()),
        }
    }
}
