//! The storage of keys.

use std::collections::HashSet;

use async_trait::async_trait;
use reflect_engine::Result;
use reflect_types::{ApiKey, KeyId, ProjectId};

use super::text::SecretHash;

/// Stores keys, with hashes instead of secrets. Every method is atomic.
#[async_trait]
pub trait KeyStore: Send + Sync + 'static {
    /// Stores a new key.
    async fn insert(&self, key: KeyRecord) -> Result<()>;

    /// Stores the first key of a project; returns `false`, without effect, if the project has had one.
    async fn insert_first(&self, key: KeyRecord) -> Result<bool>;

    /// Stores a key unless its project, or for a master key all projects, has one that is neither revoked
    /// nor expired; returns whether it was stored.
    async fn insert_if_none_is_valid(&self, key: KeyRecord) -> Result<bool>;

    /// Stores a key that another key of the same project creates, given by its public id; returns
    /// `false`, without effect, if that one is revoked, expired or deleted.
    async fn insert_by(&self, creator: &str, key: KeyRecord) -> Result<bool>;

    /// The projects with a key.
    async fn projects(&self) -> Result<Vec<ProjectId>>;

    /// The public ids of the keys that are not revoked.
    async fn public_ids(&self) -> Result<HashSet<String>>;

    /// The key with this public id, active or revoked.
    async fn find(&self, public_id: &str) -> Result<Option<KeyRecord>>;

    /// The keys of a project, or the master keys (`None`), oldest first.
    async fn list(&self, project: Option<&ProjectId>) -> Result<Vec<KeyRecord>>;

    /// The largest `alpha` of the key with this id, also of a revoked one; `None` if there is none.
    async fn max_alpha(&self, id: &KeyId) -> Result<Option<f64>>;

    /// Revokes a key of a project, or a master key (`None`), and returns it. A key that is revoked
    /// already keeps its date.
    async fn revoke(
        &self,
        project: Option<&ProjectId>,
        id: &KeyId,
        now: &str,
    ) -> Result<Option<KeyRecord>>;

    /// Stores the last use of keys; missing keys are skipped.
    async fn touch(&self, uses: Vec<(KeyId, String)>) -> Result<()>;

    /// Deletes all keys of a project; returns whether there were any.
    async fn delete_project(&self, project: &ProjectId) -> Result<bool>;
}

/// A stored key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyRecord {
    /// The public data of the key.
    pub key: ApiKey,
    /// The project it opens; `None` for a master key, which opens all.
    pub project: Option<ProjectId>,
    /// The user who owns it, if known.
    pub owner: Option<String>,
    /// The hash of its secret.
    pub hash: SecretHash,
}
