use async_openai::types::embeddings::{CreateEmbeddingRequest, EmbeddingInput, EncodingFormat};
use serde::Deserialize;

use crate::chat::Tokens;
use crate::client::Client;
use crate::error::{Error, Result};

impl Client {
    /// One vector per text, in order, as the model gives them. All go in one request.
    pub async fn embed(&self, texts: &[&str], dims: Option<u32>) -> Result<Vec<Vec<f32>>> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let shared = &*self.shared;
        self.with_retries(|| shared.counted(self.vectors(texts, dims)))
            .await
    }

    async fn vectors(&self, texts: &[&str], dims: Option<u32>) -> Result<Vec<Vec<f32>>> {
        let shared = &*self.shared;
        let request = CreateEmbeddingRequest {
            model: self.model().to_owned(),
            input: EmbeddingInput::StringArray(texts.iter().map(ToString::to_string).collect()),
            encoding_format: Some(EncodingFormat::Float),
            user: None,
            dimensions: dims,
        };
        let reply: serde_json::Value = shared.protocol.embeddings().create_byot(request).await?;
        let reply: Reply = shared.read(reply)?;
        if let Some(usage) = &reply.usage {
            shared.counters.spent(usage.prompt_tokens, 0);
        }
        reply.in_order(texts.len())
    }
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
    /// The vectors as they were asked for: the protocol numbers them and promises no order.
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
    fn vectors_stand_in_the_order_of_their_numbers() {
        let data = json!([{"index": 1, "embedding": [2.0]}, {"index": 0, "embedding": [1.0]}]);
        assert_eq!(read(&data, 2).unwrap(), [[1.0], [2.0]]);
        let unnumbered = json!([{"embedding": [1.0]}, {"embedding": [2.0]}]);
        assert_eq!(read(&unnumbered, 2).unwrap(), [[1.0], [2.0]]);
    }

    #[test]
    fn too_few_too_many_or_empty_vectors_are_no_reply() {
        let one = json!([{"index": 0, "embedding": [1.0]}]);
        assert!(read(&one, 2).is_err());
        let twice = json!([{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}]);
        assert!(read(&twice, 2).is_err());
        assert!(read(&json!([{"index": 0, "embedding": []}]), 1).is_err());
        assert!(read(&json!([{"index": 9, "embedding": [1.0]}]), 1).is_err());
    }
}
