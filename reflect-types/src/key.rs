use serde::{Deserialize, Serialize};

use crate::id::KeyId;
use crate::validate::{InvalidField, Validate, at_most, not_blank};
use crate::wire_enum::wire_enum;

wire_enum! {
    /// What a key may do in its project. A master key may do everything everywhere.
    pub enum Scope {
        /// Query memories.
        MemoryRead = "memory:read",
        /// Write memories directly.
        MemoryWrite = "memory:write",
        /// List and read traces.
        TraceRead = "trace:read",
        /// Record traces.
        TraceWrite = "trace:write",
        /// Judge traces.
        ReviewWrite = "review:write",
        /// Read the skill.
        SkillRead = "skill:read",
        /// Write the skill anew.
        SkillWrite = "skill:write",
        /// List, make and revoke keys.
        KeyAdmin = "key:admin",
        /// Delete the project.
        ProjectAdmin = "project:admin",
    }
}

wire_enum! {
    /// Whether a key is for production or for trying things out.
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
    /// Whether a key still opens anything.
    #[derive(Default)]
    pub enum KeyStatus {
        /// It does.
        #[default]
        Active = "active",
        /// It was revoked and never will again.
        Revoked = "revoked",
    }
}

/// An API key as it is listed: everything but its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApiKey {
    /// Names the key in calls such as revoking it.
    pub id: KeyId,
    /// The part of the key's text that may be shown.
    pub public_id: String,
    /// What the key is for, in its maker's words.
    pub label: String,
    /// What it may do.
    #[serde(default)]
    pub scopes: Vec<Scope>,
    /// Live or test.
    #[serde(default)]
    pub environment: Environment,
    /// Active or revoked.
    #[serde(default)]
    pub status: KeyStatus,
    /// Whether it may do everything in every project.
    #[serde(default)]
    pub is_master: bool,
    /// When it was made, in ISO 8601.
    #[serde(default)]
    pub created_at: Option<String>,
    /// When it last opened something, in ISO 8601.
    #[serde(default)]
    pub last_used_at: Option<String>,
    /// When it was revoked, in ISO 8601.
    #[serde(default)]
    pub revoked_at: Option<String>,
}

/// Asks for a new key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateApiKey {
    /// What the key is for.
    #[cfg_attr(
        feature = "openapi",
        schema(min_length = 1, max_length = 200, pattern = "\\S")
    )]
    pub label: String,
    /// What it may do.
    #[serde(default)]
    pub scopes: Vec<Scope>,
    /// Live or test.
    #[serde(default)]
    pub environment: Environment,
}

impl CreateApiKey {
    /// The longest label, in characters.
    pub const MAX_LABEL: usize = 200;

    /// A live key without any scope yet.
    pub fn new(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            scopes: Vec::new(),
            environment: Environment::default(),
        }
    }
}

impl Validate for CreateApiKey {
    fn validate(&self) -> Result<(), InvalidField> {
        not_blank("label", &self.label, "say what the key is for")?;
        at_most("label", &self.label, Self::MAX_LABEL)?;
        if let Some(scope) = self.scopes.iter().find(|scope| !scope.is_known()) {
            let known: Vec<&str> = Scope::KNOWN.iter().map(Scope::as_str).collect();
            return Err(InvalidField::new(
                "scopes",
                format!("has `{scope}`, which is none of {}", known.join(", ")),
            ));
        }
        if !self.environment.is_known() {
            return Err(InvalidField::new("environment", "must be `live` or `test`"));
        }
        Ok(())
    }
}

/// A key just made. This is the only time its text is shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreatedApiKey {
    /// The key's whole text. Keep it secret.
    pub api_key: String,
    /// The key as it will be listed.
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
