use serde::{Deserialize, Serialize};

use super::shapes::{about_one, sent_as_json, without_parts};
use crate::id::KeyId;
use crate::key::{Environment, Scope};
use crate::validate::{InvalidField, Validate, at_most, not_blank, within, without_controls};

without_parts! {
    /// Lists the project's keys.
    ListApiKeys;
}

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
        Environment::check("environment", Some(&self.environment))?;
        self.max_alpha
            .map_or(Ok(()), |alpha| within("max_alpha", alpha, 0.0..=1.0))
    }
}

sent_as_json!(CreateApiKey);

about_one! {
    /// Revokes a key.
    RevokeApiKey(
        /// The key to revoke.
        key_id: KeyId
    ) sends b"{}";
}
