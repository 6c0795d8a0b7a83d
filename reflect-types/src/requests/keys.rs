use serde::{Deserialize, Serialize};

use crate::id::KeyId;
use crate::key::{Environment, Scope};
use crate::layout::Layout;
use crate::validate::{InvalidField, Validate, at_most, not_blank, within, without_controls};

/// Lists the project's keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListApiKeys;

impl Validate for ListApiKeys {
    fn validate(&self) -> Result<(), InvalidField> {
        Ok(())
    }
}

impl Layout for ListApiKeys {}

/// Creates a key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateApiKey {
    /// What the key is for.
    #[cfg_attr(feature = "openapi", schema(schema_with = crate::openapi::label))]
    pub label: String,
    /// The key's scopes, at least one.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(min_items = 1, required = true))]
    pub scopes: Vec<Scope>,
    /// Live or test.
    #[serde(default)]
    pub environment: Environment,
    /// When the key expires, in RFC 3339; absent for never, or with the key that creates it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(schema_with = crate::openapi::optional_time))]
    pub expires_at: Option<String>,
    /// The largest `alpha` of a review with the key, from 0 to 1; absent for any, or that of the key
    /// that creates it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 1))]
    pub max_alpha: Option<f64>,
}

impl CreateApiKey {
    /// The longest label, in characters.
    pub const MAX_LABEL: usize = 200;

    /// A live key, which needs scopes yet.
    pub fn new(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            scopes: Vec::new(),
            environment: Environment::default(),
            expires_at: None,
            max_alpha: None,
        }
    }
}

impl Validate for CreateApiKey {
    fn validate(&self) -> Result<(), InvalidField> {
        not_blank("label", &self.label, "say what the key is for")?;
        at_most("label", &self.label, Self::MAX_LABEL)?;
        without_controls("label", &self.label)?;
        let known = || {
            let known: Vec<&str> = Scope::KNOWN.iter().map(Scope::as_str).collect();
            known.join(", ")
        };
        if self.scopes.is_empty() {
            let problem = format!(
                "is empty, and such a key may do nothing: choose of {}",
                known()
            );
            return Err(InvalidField::new("scopes", problem));
        }
        if let Some(scope) = self.scopes.iter().find(|scope| !scope.is_known()) {
            let problem = format!("has `{scope}`, which is none of {}", known());
            return Err(InvalidField::new("scopes", problem));
        }
        if !self.environment.is_known() {
            return Err(InvalidField::new("environment", "must be `live` or `test`"));
        }
        self.max_alpha
            .map_or(Ok(()), |alpha| within("max_alpha", alpha, 0.0..=1.0))
    }
}

impl Layout for CreateApiKey {
    fn body(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }
}

/// Revokes a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevokeApiKey {
    /// The key to revoke.
    pub key_id: KeyId,
}

impl RevokeApiKey {
    /// The request for this key.
    pub fn new(key_id: impl Into<KeyId>) -> Self {
        let key_id = key_id.into();
        Self { key_id }
    }
}

impl Validate for RevokeApiKey {
    fn validate(&self) -> Result<(), InvalidField> {
        self.key_id.validate()
    }
}

impl Layout for RevokeApiKey {
    fn id(&self) -> Option<&str> {
        Some(self.key_id.as_str())
    }

    fn body(&self) -> serde_json::Result<Vec<u8>> {
        Ok(b"{}".to_vec())
    }
}
