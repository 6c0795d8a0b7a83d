//! The storage of keys.

use std::collections::HashSet;

use async_trait::async_trait;
use reflect_types::{ApiKey, Environment, KeyId, KeyStatus, ProjectId};

use super::text::SecretHash;

/// Stores keys, with hashes instead of secrets. Every method is atomic.
#[async_trait]
pub trait KeyStore: Send + Sync + 'static {
    /// Stores a new key.
    async fn insert(&self, key: KeyRecord) -> reflect_engine::Result<()>;

    /// Stores the first key of a project; returns `false`, without effect, if the project has had one.
    async fn insert_first(&self, key: KeyRecord) -> reflect_engine::Result<bool>;

    /// Stores a key unless its project, or for a master key all projects, has one that is neither revoked
    /// nor expired; returns whether it was stored.
    async fn insert_if_none_is_valid(&self, key: KeyRecord) -> reflect_engine::Result<bool>;

    /// Stores a key that another key of the same project creates, given by its public id; returns
    /// `false`, without effect, if that one is revoked, expired or deleted.
    async fn insert_by(&self, creator: &str, key: KeyRecord) -> reflect_engine::Result<bool>;

    /// The projects with a key.
    async fn projects(&self) -> reflect_engine::Result<Vec<ProjectId>>;

    /// The public ids of the keys that are not revoked.
    async fn public_ids(&self) -> reflect_engine::Result<HashSet<String>>;

    /// The key with this public id, active or revoked.
    async fn find(&self, public_id: &str) -> reflect_engine::Result<Option<KeyRecord>>;

    /// The keys of a project, or the master keys (`None`), oldest first.
    async fn list(&self, project: Option<&ProjectId>) -> reflect_engine::Result<Vec<KeyRecord>>;

    /// The largest `alpha` of the key with this id, also of a revoked one; `None` if there is none.
    async fn max_alpha(&self, id: &KeyId) -> reflect_engine::Result<Option<f64>>;

    /// Revokes a key of a project, or a master key (`None`), and returns it. A key that is revoked
    /// already keeps its date.
    async fn revoke(
        &self,
        project: Option<&ProjectId>,
        id: &KeyId,
        now: &str,
    ) -> reflect_engine::Result<Option<KeyRecord>>;

    /// Stores the last use of keys; missing keys are skipped.
    async fn touch(&self, uses: Vec<(KeyId, String)>) -> reflect_engine::Result<()>;

    /// Deletes all keys of a project; returns whether there were any.
    async fn delete_project(&self, project: &ProjectId) -> reflect_engine::Result<bool>;
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

impl KeyRecord {
    /// A record of its columns: the texts by their names, and the others.
    pub(super) fn read<E>(
        text: impl Fn(&str) -> Result<Option<String>, E>,
        max_alpha: Option<f64>,
        hash: SecretHash,
    ) -> Result<Self, E> {
        // Never null.
        let given = |column: &str| text(column).map(Option::unwrap_or_default);
        let project = text("project")?;
        let revoked_at = text("revoked_at")?;
        Ok(Self {
            key: ApiKey {
                id: given("id")?.into(),
                public_id: given("public_id")?,
                label: given("label")?,
                scopes: given("scopes")?
                    .split_ascii_whitespace()
                    .map(Into::into)
                    .collect(),
                environment: Environment::from(&*given("environment")?),
                status: match revoked_at {
                    Some(_) => KeyStatus::Revoked,
                    None => KeyStatus::Active,
                },
                is_master: project.is_none(),
                created_at: text("created_at")?,
                last_used_at: text("last_used_at")?,
                revoked_at,
                expires_at: text("expires_at")?,
                max_alpha,
                created_by: text("created_by")?.map(Into::into),
            },
            project: project.map(Into::into),
            owner: text("owner")?,
            hash,
        })
    }
}
