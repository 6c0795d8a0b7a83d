use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::ProjectId;
use crate::key::{CreateApiKey, Environment};
use crate::validate::{InvalidField, Validate, at_most, not_blank};

/// What a healthy server says of itself; every value is text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Health(pub BTreeMap<String, String>);

impl Health {
    /// The usual `status` entry, or `""`.
    pub fn status(&self) -> &str {
        self.0.get("status").map_or("", String::as_str)
    }
}

/// Asks for the first key of a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Bootstrap {
    /// Who asks.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, pattern = "\\S"))]
    pub user_id: String,
    /// The project to make; one that is there already is refused.
    pub project_id: ProjectId,
    /// What to call the key.
    #[serde(default = "Bootstrap::default_label")]
    #[cfg_attr(
        feature = "openapi",
        schema(min_length = 1, max_length = 200, pattern = "\\S", default = Bootstrap::default_label)
    )]
    pub key_label: String,
    /// Live or test.
    #[serde(default)]
    pub environment: Environment,
}

impl Bootstrap {
    /// The label of a key whose maker gave none.
    pub const DEFAULT_LABEL: &'static str = "Default Admin Key";

    /// A live admin key for `user_id` in `project_id`.
    pub fn new(user_id: impl Into<String>, project_id: impl Into<ProjectId>) -> Self {
        Self {
            user_id: user_id.into(),
            project_id: project_id.into(),
            key_label: Self::default_label(),
            environment: Environment::default(),
        }
    }

    fn default_label() -> String {
        Self::DEFAULT_LABEL.to_owned()
    }
}

impl Validate for Bootstrap {
    fn validate(&self) -> Result<(), InvalidField> {
        not_blank(
            "user_id",
            &self.user_id,
            "name the user who will own the key",
        )?;
        not_blank("key_label", &self.key_label, "say what the key is for")?;
        at_most("key_label", &self.key_label, CreateApiKey::MAX_LABEL)?;
        if !self.environment.is_known() {
            return Err(InvalidField::new("environment", "must be `live` or `test`"));
        }
        self.project_id.validate()
    }
}

/// The first key of a project. This is the only time its text is shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Bootstrapped {
    /// Who asked.
    pub user_id: String,
    /// The project the key opens.
    pub project_id: ProjectId,
    /// The key's whole text. Keep it secret.
    pub api_key: String,
}

impl fmt::Debug for Bootstrapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bootstrapped")
            .field("user_id", &self.user_id)
            .field("project_id", &self.project_id)
            .field("api_key", &"***")
            .finish()
    }
}

/// The answer to the deletion of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeletedProject {
    /// The project that is gone, where the server says so.
    #[serde(default)]
    pub project_id: Option<ProjectId>,
    /// Whether there was anything to delete.
    #[serde(default)]
    pub deleted: bool,
}
