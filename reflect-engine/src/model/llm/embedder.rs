use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use async_trait::async_trait;
use reflect_models::{Client, tokens};

use crate::model::{Embedder, Error, unit};

/// Vectors from a model behind `/v1/embeddings`.
///
/// Texts go in batches, and the latest vectors are kept, so that a task that is asked for again costs
/// no call. The dimensions are learned from the first answer, unless they are declared.
pub struct ModelEmbedder {
    client: Client,
    id: String,
    dims: OnceLock<usize>,
    asked_dims: Option<u32>,
    noise_floor: f32,
    batch: usize,
    max_tokens: usize,
    cache: Mutex<Cache>,
}

impl ModelEmbedder {
    /// The similarity below which texts have nothing to do with each other, when nothing is said.
    /// It fits models like `text-embedding-3-small`; measure it for others.
    pub const DEFAULT_NOISE_FLOOR: f32 = 0.2;
    /// How many texts go in one request when nothing is said.
    pub const DEFAULT_BATCH: usize = 64;
    /// How many vectors are kept when nothing is said.
    pub const DEFAULT_CACHE: usize = 2_048;
    /// How many tokens of a text are embedded when nothing is said. Tokens are a guess, so this is
    /// half of what models like `text-embedding-3-small` take.
    pub const DEFAULT_MAX_TOKENS: usize = 4_000;

    /// Asks this model.
    pub fn new(client: Client) -> Self {
        Self {
            id: id(&client, None),
            client,
            dims: OnceLock::new(),
            asked_dims: None,
            noise_floor: Self::DEFAULT_NOISE_FLOOR,
            batch: Self::DEFAULT_BATCH,
            max_tokens: Self::DEFAULT_MAX_TOKENS,
            cache: Mutex::new(Cache::of(Self::DEFAULT_CACHE)),
        }
    }

    /// Asks for vectors of so many dimensions, which not every model offers. They make another
    /// space: the memories are embedded anew.
    #[must_use]
    pub fn dimensions(mut self, dims: u32) -> Self {
        self.id = id(&self.client, Some(dims));
        self.asked_dims = Some(dims);
        self.dims = OnceLock::from(usize::try_from(dims).unwrap_or(usize::MAX));
        self
    }

    /// Sets the similarity below which texts have nothing to do with each other.
    #[must_use]
    pub fn with_noise_floor(mut self, floor: f32) -> Self {
        self.noise_floor = floor;
        self
    }

    /// Sets how many texts go in one request.
    #[must_use]
    pub fn batch(mut self, texts: usize) -> Self {
        self.batch = texts.max(1);
        self
    }

    /// Sets how many tokens of a text are embedded, by [estimate](tokens::estimate): of a longer text
    /// only the beginning is.
    #[must_use]
    pub fn max_tokens(mut self, tokens: usize) -> Self {
        self.max_tokens = tokens.max(1);
        self
    }

    /// Sets how many vectors are kept; 0 keeps none.
    #[must_use]
    pub fn cache(mut self, vectors: usize) -> Self {
        self.cache = Mutex::new(Cache::of(vectors));
        self
    }

    /// The model that is asked.
    pub fn client(&self) -> &Client {
        &self.client
    }

    fn kept(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Learns the dimensions, and holds the model to them.
    fn checked(&self, vector: Vec<f32>) -> Result<Vec<f32>, Error> {
        let dims = *self.dims.get_or_init(|| vector.len());
        if vector.len() == dims {
            return Ok(unit(vector));
        }
        Err(Error {
            message: format!(
                "the model `{}` gave a vector of {} dimensions, where {dims} were expected",
                self.client.model(),
                vector.len()
            ),
            retryable: false,
            source: None,
        })
    }
}

/// Names the space: two servers may serve different models under one name.
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

    /// 0 until the first answer, where they are not declared.
    fn dims(&self) -> usize {
        self.dims.get().copied().unwrap_or_default()
    }

    fn noise_floor(&self) -> f32 {
        self.noise_floor
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, Error> {
        let mut found: HashMap<&str, Vec<f32>> = HashMap::new();
        let mut missing: Vec<&str> = Vec::new();
        {
            let cache = self.kept();
            for &text in texts {
                // Models refuse a text that says nothing.
                if text.trim().is_empty() || found.contains_key(text) || missing.contains(&text) {
                    continue;
                }
                match cache.get(text) {
                    Some(vector) => drop(found.insert(text, vector.clone())),
                    None => missing.push(text),
                }
            }
        }
        for batch in missing.chunks(self.batch) {
            let asked: Vec<&str> = batch
                .iter()
                .map(|text| tokens::prefix(text.trim_start(), self.max_tokens))
                .collect();
            let vectors = self.client.embed(&asked, self.asked_dims).await?;
            for (&text, vector) in batch.iter().zip(vectors) {
                let vector = self.checked(vector)?;
                self.kept().put(text, vector.clone());
                found.insert(text, vector);
            }
        }
        if self.dims.get().is_none() && !texts.is_empty() {
            // Nothing but blank texts so far: their zeros have to have a length.
            let probe = self.client.embed(&["."], self.asked_dims).await?;
            for vector in probe {
                self.checked(vector)?;
            }
        }
        let nothing = || vec![0.0; self.dims()];
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

/// The vectors of the latest texts.
struct Cache {
    most: usize,
    vectors: HashMap<String, Vec<f32>>,
    /// The oldest first.
    order: VecDeque<String>,
}

impl Cache {
    fn of(most: usize) -> Self {
        Self {
            most,
            vectors: HashMap::new(),
            order: VecDeque::new(),
        }
    }

    fn get(&self, text: &str) -> Option<&Vec<f32>> {
        self.vectors.get(text)
    }

    fn put(&mut self, text: &str, vector: Vec<f32>) {
        if self.most == 0 {
            return;
        }
        if self.vectors.insert(text.to_owned(), vector).is_none() {
            self.order.push_back(text.to_owned());
        }
        while self.order.len() > self.most
            && let Some(oldest) = self.order.pop_front()
        {
            self.vectors.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_tells_servers_models_and_dimensions_apart() {
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
    fn the_cache_forgets_the_oldest() {
        let mut cache = Cache::of(2);
        for text in ["a", "b", "a", "c"] {
            cache.put(text, vec![1.0]);
        }
        assert!(cache.get("a").is_none());
        assert!(cache.get("b").is_some() && cache.get("c").is_some());
        assert_eq!(cache.vectors.len(), 2);
        let mut none = Cache::of(0);
        none.put("a", vec![1.0]);
        assert!(none.get("a").is_none());
    }
}
