//! Checked embeddings, and the embedder that a store's vectors belong to.

use crate::core::Core;
use crate::error::{Error, Result};
use crate::model;

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

    /// Records this engine's embedder as the store's, once: the engine started last decides.
    pub(crate) async fn claim_embedder(&self) -> Result<()> {
        if !self.background {
            return Ok(());
        }
        let claim = async || {
            let own = self.embedder.id();
            // A read suffices if it is recorded already: the store may be read-only for now.
            if self.store.embedder().await?.as_deref() == Some(own) {
                return Ok(());
            }
            self.store.claim_embedder(own).await
        };
        self.claimed.get_or_try_init(claim).await?;
        Ok(())
    }

    /// Fails if the store's embedder is not this engine's.
    pub(crate) fn ensure_same_embedder(&self, embedder: Option<&str>) -> Result<()> {
        match embedder.filter(|&other| other != self.embedder.id()) {
            Some(other) => Err(Error::unavailable(format!(
                "the memories are embedded with `{other}`, but this engine uses `{}`: configure the same \
                 embedder, or restart the engine to re-embed the memories with this one",
                self.embedder.id()
            ))),
            None => Ok(()),
        }
    }
}
