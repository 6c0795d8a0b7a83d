use serde::{Deserialize, Serialize};

use crate::id::KeyId;
use crate::wire_enum::wire_enum;

wire_enum! {
    /// What a key may do in its project. A master key may do everything everywhere.
    pub enum Scope {
        /// Query memories.
        MemoryRead = "memory:read",
        /// Write memories directly.
        MemoryWrite = "memory:write",
        /// Edit, quarantine, restore and delete memories.
        MemoryAdmin = "memory:admin",
        /// List and read traces.
        TraceRead = "trace:read",
        /// Record traces.
        TraceWrite = "trace:write",
        /// Delete traces that another key recorded.
        TraceAdmin = "trace:admin",
        /// Review traces.
        ReviewWrite = "review:write",
        /// Read the skill.
        SkillRead = "skill:read",
        /// Write new versions of the skill.
        SkillWrite = "skill:write",
        /// List, create and revoke keys.
        KeyAdmin = "key:admin",
        /// Undo reviews and changes, export, import and delete the project. Includes `trace:admin`
        /// and `memory:admin`.
        ProjectAdmin = "project:admin",
    }
}

impl Scope {
    /// Whether a key with this scope may do what `other` allows.
    pub fn includes(&self, other: &Self) -> bool {
        let administers = matches!(other, Self::TraceAdmin | Self::MemoryAdmin);
        self == other || (*self == Self::ProjectAdmin && administers)
    }
}

wire_enum! {
    /// Whether a key is for production or for tests.
    #[derive(Default)]
    pub enum Environment {
        /// Keys that begin `rf_live_`.
        #[default]
        Live = "live",
        /// Keys that begin `rf_test_`.
        Test = "test",
    }
}

wire_enum! {
    /// Whether a key is valid.
    #[derive(Default)]
    pub enum KeyStatus {
        /// Valid.
        #[default]
        Active = "active",
        /// Permanently revoked.
        Revoked = "revoked",
    }
}

/// An API key as it is listed: everything but its secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApiKey {
    /// The key's id, which is not secret.
    pub id: KeyId,
    /// The public part of the key's text.
    pub public_id: String,
    /// What the key is for.
    pub label: String,
    /// The key's scopes.
    #[serde(default)]
    pub scopes: Vec<Scope>,
    /// Live or test.
    #[serde(default)]
    pub environment: Environment,
    /// Active or revoked.
    #[serde(default)]
    pub status: KeyStatus,
    /// Whether it is a master key.
    #[serde(default)]
    pub is_master: bool,
    /// When it was created, in RFC 3339.
    pub created_at: Option<String>,
    /// When it was last used, in RFC 3339.
    pub last_used_at: Option<String>,
    /// When it was revoked, in RFC 3339.
    pub revoked_at: Option<String>,
    /// When it expires, in RFC 3339; `None` for never. The status of an expired key stays `active`.
    pub expires_at: Option<String>,
    /// The largest `alpha` of a review with this key; `None` for any.
    pub max_alpha: Option<f64>,
    /// The project key that created it; `None` for a master key, the command line and a bootstrap.
    pub created_by: Option<KeyId>,
}

/// A new key. Its text is shown this once.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreatedApiKey {
    /// The key's whole text. Keep it secret.
    pub api_key: String,
    /// The key as it is listed.
    pub key: ApiKey,
}

impl std::fmt::Debug for CreatedApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CreatedApiKey")
            .field("api_key", &"***")
            .field("key", &self.key)
            .finish()
    }
}
