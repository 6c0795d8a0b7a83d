use serde::{Deserialize, Serialize};

use crate::client::{Client, Shared};
use crate::error::{Error, Result};
use crate::usage::Tokens;

impl Client {
    /// One vector per text, in order, from a single request.
    pub async fn embed(&self, texts: &[&str], dims: Option<u32>) -> Result<Vec<Vec<f32>>> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let shared = &*self.shared;
        self.with_retries(|| shared.counted(shared.vectors(texts, dims)))
            .await
    }
}

impl Shared {
    async fn vectors(&self, texts: &[&str], dims: Option<u32>) -> Result<Vec<Vec<f32>>> {
        let request = Request {
            model: &self.settings.model,
            input: texts,
            encoding_format: "float",
            dimensions: dims,
        };
        let reply: Reply = self.post("/embeddings", &request).await?;
        if let Some(tokens) = &reply.usage {
            self.counters.spent(tokens);
        }
        reply.in_order(texts.len())
    }
}

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    input: &'a [&'a str],
    encoding_format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<u32>,
}

#[derive(Deserialize)]
struct Reply {
    #[serde(default)]
    data: Vec<Embedding>,
    #[serde(default)]
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
struct Embedding {
    #[serde(default)]
    index: Option<usize>,
    embedding: Vec<f32>,
}

impl Reply {
    /// The vectors in the order of the texts: the protocol numbers them and promises no order.
    fn in_order(self, asked: usize) -> Result<Vec<Vec<f32>>> {
        let got = self.data.len();
        let mut vectors: Vec<Option<Vec<f32>>> = vec![None; asked];
        for (place, item) in self.data.into_iter().enumerate() {
            if let Some(slot) = vectors.get_mut(item.index.unwrap_or(place)) {
                *slot = Some(item.embedding);
            }
        }
        let whole = (got == asked).then(|| vectors.into_iter().collect::<Option<Vec<_>>>());
        whole
            .flatten()
            .filter(|vectors| vectors.iter().all(|vector| !vector.is_empty()))
            .ok_or_else(|| Error::Malformed(format!("{asked} texts gave {got} vectors")))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(data: &Value, asked: usize) -> Result<Vec<Vec<f32>>> {
        let reply: Reply = serde_json::from_value(json!({"data": data})).unwrap();
        reply.in_order(asked)
    }

    #[test]
    fn vectors_are_sorted_by_their_numbers() {
        let data = json!([{"index": 1, "embedding": [2.0]}, {"index": 0, "embedding": [1.0]}]);
        assert_eq!(read(&data, 2).unwrap(), [[1.0], [2.0]]);
        let unnumbered = json!([{"embedding": [1.0]}, {"embedding": [2.0]}]);
        assert_eq!(read(&unnumbered, 2).unwrap(), [[1.0], [2.0]]);
    }

    #[test]
    fn too_few_too_many_or_empty_vectors_are_malformed() {
        let one = json!([{"index": 0, "embedding": [1.0]}]);
        assert!(read(&one, 2).is_err());
        let twice = json!([{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}]);
        assert!(read(&twice, 2).is_err());
        assert!(read(&json!([{"index": 0, "embedding": []}]), 1).is_err());
        assert!(read(&json!([{"index": 9, "embedding": [1.0]}]), 1).is_err());
    }
}
