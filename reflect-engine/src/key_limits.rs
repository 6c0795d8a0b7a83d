//! The limits of API keys, which a server keeps.

use async_trait::async_trait;
use reflect_types::KeyId;

use crate::error::Result;

/// Looks up the limits of API keys.
#[async_trait]
pub trait KeyLimits: Send + Sync + 'static {
    /// The largest `alpha` of a review with the key; `None` for any, and for a key that does not exist.
    async fn max_alpha(&self, key: &KeyId) -> Result<Option<f64>>;
}
