use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use reflect_models::{Client, tokens};

use crate::model::error::Error;
use crate::model::port::Embedder;

/// Embeds with a model behind `/v1/embeddings`.
///
/// Texts are sent in batches, and vectors are cached. The number of dimensions is taken
/// from the first answer unless it is set; a different number is accepted once a second answer
/// confirms it.
pub struct ModelEmbedder {
    client: Client,
    id: String,
    /// 0 until known.
    dims: AtomicUsize,
    asked_dims: Option<u32>,
    max_tokens: usize,
    /// The vectors of texts, as many as [`CACHED`](Self::CACHED).
    cache: Mutex<HashMap<String, Vec<f32>>>,
}

impl ModelEmbedder {
    /// The similarity below which texts are unrelated. It fits models like `text-embedding-3-small`.
    pub const NOISE_FLOOR: f32 = 0.2;
    /// The number of texts in one request.
    pub const BATCH: usize = 64;
    /// The number of vectors that are cached. Then the cache begins anew.
    pub const CACHED: usize = 2_048;
    /// The default limit of tokens of a text. Tokens are estimated, so this is half of what models
    /// like `text-embedding-3-small` accept.
    pub const DEFAULT_MAX_TOKENS: usize = 4_000;

    /// An embedder that asks this model.
    pub fn new(client: Client) -> Self {
        Self {
            id: id(&client, None),
            client,
            dims: AtomicUsize::new(0),
            asked_dims: None,
            max_tokens: Self::DEFAULT_MAX_TOKENS,
            cache: Mutex::default(),
        }
    }

    /// Requests vectors with this number of dimensions, which not every model offers. It names
    /// another vector space, so that memories are embedded again.
    #[must_use]
    pub fn dimensions(mut self, dims: u32) -> Self {
        self.id = id(&self.client, Some(dims));
        self.asked_dims = Some(dims);
        self.dims = AtomicUsize::new(usize::try_from(dims).unwrap_or(usize::MAX));
        self
    }

    /// Limits the [estimated](tokens::estimate) tokens of a text; of a longer one only the beginning is
    /// embedded.
    #[must_use]
    pub fn max_tokens(mut self, tokens: usize) -> Self {
        self.max_tokens = tokens.max(1);
        self
    }

    fn cached(&self) -> MutexGuard<'_, HashMap<String, Vec<f32>>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The vectors of texts, checked and at length 1.
    async fn ask(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, Error> {
        let vectors = self.client.embed(texts, self.asked_dims).await?;
        let Some(got) = vectors.first().map(Vec::len) else {
            return Ok(vectors);
        };
        if let Some(other) = vectors.iter().find(|vector| vector.len() != got) {
            return Err(self.odd(other.len(), got));
        }
        let vectors: Option<_> = vectors.into_iter().map(unit).collect();
        let vectors = vectors
            .ok_or_else(|| self.wrong("returned a vector with a component that is not a number"))?;
        self.agree_on(got).await?;
        Ok(vectors)
    }

    /// Learns the number of dimensions, and accepts another only if a second request confirms it, so
    /// that one odd answer changes nothing.
    async fn agree_on(&self, got: usize) -> Result<(), Error> {
        let known = self.dims();
        if got == known {
            return Ok(());
        }
        if known == 0 {
            let order = Ordering::Relaxed;
            // A concurrent call may have learned another number.
            return match self.dims.compare_exchange(0, got, order, order) {
                Err(other) if other != got => Err(self.odd(got, other)),
                _ => Ok(()),
            };
        }
        if self.asked_dims.is_some() {
            return Err(self.odd(got, known));
        }
        let again = self.client.embed(&[PROBE], None).await?;
        if again.first().map(Vec::len) != Some(got) {
            return Err(self.odd(got, known));
        }
        tracing::warn!(
            embedder = self.id,
            known,
            got,
            "the model's dimensions have changed"
        );
        self.dims.store(got, Ordering::Relaxed);
        self.cached().clear();
        Ok(())
    }

    fn odd(&self, got: usize, expected: usize) -> Error {
        self.wrong(&format!(
            "returned a vector of {got} dimensions instead of {expected}"
        ))
    }

    /// A retryable error: the next answer may be right.
    fn wrong(&self, problem: &str) -> Error {
        Error {
            message: format!("the model `{}` {problem}", self.client.model()),
            retryable: true,
            source: None,
        }
    }
}

/// A text that every model accepts.
const PROBE: &str = ".";

/// The vector at length 1, or unchanged if it is zero; `None` if a component is not finite. Computed in
/// `f64`, because squares may exceed the range of `f32`.
fn unit(vector: Vec<f32>) -> Option<Vec<f32>> {
    let norm = vector
        .iter()
        .map(|x| f64::from(*x).powi(2))
        .sum::<f64>()
        .sqrt();
    if !norm.is_finite() {
        return None;
    }
    if norm == 0.0 {
        return Some(vector);
    }
    #[expect(clippy::cast_possible_truncation, reason = "it is from -1 to 1")]
    let scaled = vector.into_iter().map(|x| (f64::from(x) / norm) as f32);
    Some(scaled.collect())
}

/// The name of the vector space. It includes the server: two may serve different models by one name.
fn id(client: &Client, dims: Option<u32>) -> String {
    let (place, model) = (client.host_and_port(), client.model());
    match dims {
        Some(dims) => format!("model:{place}/{model}@{dims}"),
        None => format!("model:{place}/{model}"),
    }
}

#[async_trait]
impl Embedder for ModelEmbedder {
    fn id(&self) -> &str {
        &self.id
    }

    /// 0 until the first answer, unless set.
    fn dims(&self) -> usize {
        self.dims.load(Ordering::Relaxed)
    }

    fn noise_floor(&self) -> f32 {
        Self::NOISE_FLOOR
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, Error> {
        let mut found: HashMap<&str, Vec<f32>> = HashMap::new();
        let mut missing: Vec<&str> = Vec::new();
        {
            let cache = self.cached();
            for &text in texts {
                // Models refuse blank texts.
                if text.trim().is_empty() || found.contains_key(text) || missing.contains(&text) {
                    continue;
                }
                // A concurrent call may have cached one with other dimensions.
                let usable = |vector: &&Vec<f32>| vector.len() == self.dims();
                match cache.get(text).filter(usable) {
                    Some(vector) => drop(found.insert(text, vector.clone())),
                    None => missing.push(text),
                }
            }
        }
        for batch in missing.chunks(Self::BATCH) {
            let asked: Vec<&str> = batch
                .iter()
                .map(|text| tokens::prefix(text.trim_start(), self.max_tokens))
                .collect();
            for (&text, vector) in batch.iter().zip(self.ask(&asked).await?) {
                let mut cache = self.cached();
                if cache.len() >= Self::CACHED {
                    cache.clear();
                }
                cache.insert(text.to_owned(), vector.clone());
                found.insert(text, vector);
            }
        }
        if self.dims() == 0 && !texts.is_empty() {
            // All texts are blank: the number of their zeros is not known yet.
            self.ask(&[PROBE]).await?;
        }
        let dims = self.dims();
        if let Some(other) = found.values().find(|vector| vector.len() != dims) {
            // The dimensions have changed meanwhile: vectors found before are of the old space.
            return Err(self.odd(other.len(), dims));
        }
        let nothing = || vec![0.0; dims];
        let vectors = texts
            .iter()
            .map(|text| found.get(text).cloned().unwrap_or_else(nothing));
        Ok(vectors.collect())
    }
}

impl std::fmt::Debug for ModelEmbedder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelEmbedder")
            .field("id", &self.id)
            .field("client", &self.client)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_names_server_model_and_dimensions() {
        let embedder = |url: &str| {
            let client = Client::builder("e").base_url(url).build();
            ModelEmbedder::new(client.unwrap())
        };
        assert_eq!(embedder("http://Gpu-1:8000/v1/").id(), "model:gpu-1:8000/e");
        assert_eq!(embedder("http://gpu-2/v1").id(), "model:gpu-2:80/e");
        let openai = ModelEmbedder::new(Client::builder("e").api_key("k").build().unwrap());
        assert_eq!(openai.id(), "model:api.openai.com:443/e");
        assert_eq!(openai.dimensions(8).id(), "model:api.openai.com:443/e@8");
    }

    #[test]
    fn every_finite_vector_gets_length_one() {
        for vector in [vec![1e20, 1e20], vec![1e-30, 1e-30], vec![3.0, 3.0]] {
            let one = unit(vector).unwrap();
            assert!((one[0] - 0.5_f32.sqrt()).abs() < 1e-6, "{one:?}");
        }
        assert_eq!(unit(vec![0.0, 0.0]).unwrap(), [0.0, 0.0]);
        assert_eq!(unit(vec![f32::INFINITY, 0.0]), None);
        assert_eq!(unit(vec![f32::NAN]), None);
    }
}
