//! The port behind which keys are kept.

use async_trait::async_trait;
use reflect_engine::Result;
use reflect_types::{ApiKey, KeyId, ProjectId};

use super::text::SecretHash;

/// Keeps keys, without their secrets. Every method happens whole or not at all.
#[async_trait]
pub trait KeyStore: Send + Sync + 'static {
    /// Stores a new key.
    async fn insert(&self, key: KeyRecord) -> Result<()>;

    /// Stores the first key of a project; does nothing, and says so, where it has had one.
    async fn insert_first(&self, key: KeyRecord) -> Result<bool>;

    /// Stores a key that another of the same project, known by its public id, makes; does nothing,
    /// and says so, where that one was ended or deleted meanwhile.
    async fn insert_by(&self, maker: &str, key: KeyRecord) -> Result<bool>;

    /// The projects that have a key.
    async fn projects(&self) -> Result<Vec<ProjectId>>;

    /// The key whose text shows this public id, revoked or not.
    async fn find(&self, public_id: &str) -> Result<Option<KeyRecord>>;

    /// The keys of a project, or the master keys (`None`), oldest first.
    async fn list(&self, project: Option<&ProjectId>) -> Result<Vec<KeyRecord>>;

    /// Ends a key of a project, or a master key (`None`), and gives it as it stands then. A key
    /// that was ended before keeps its date.
    async fn revoke(
        &self,
        project: Option<&ProjectId>,
        id: &KeyId,
        now: &str,
    ) -> Result<Option<KeyRecord>>;

    /// Notes when keys were last used; those that are gone are passed over.
    async fn touch(&self, uses: Vec<(KeyId, String)>) -> Result<()>;

    /// Removes all keys of a project; tells whether there were any.
    async fn delete_project(&self, project: &ProjectId) -> Result<bool>;
}

/// A key as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRecord {
    /// What may be shown of it.
    pub key: ApiKey,
    /// The project it opens; `None` for a master key, which opens all.
    pub project: Option<ProjectId>,
    /// Who asked for it, where that was said.
    pub owner: Option<String>,
    /// What its secret is compared with.
    pub hash: SecretHash,
}
