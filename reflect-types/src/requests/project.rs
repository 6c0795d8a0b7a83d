use serde::{Deserialize, Serialize};

use super::CreateApiKey;
use super::shapes::{sent_as_json, without_parts};
use crate::approval::Approval;
use crate::arm::Arm;
use crate::id::ProjectId;
use crate::integer;
use crate::key::Environment;
use crate::project::ProjectSettings;
use crate::ranking::Ranking;
use crate::validate::{InvalidField, Validate, at_most, not_blank, within, without_controls};

without_parts! {
    /// Asks whether the server is up.
    GetHealth;
    /// Reads the settings of the project.
    GetSettings;
    /// Reads the project's numbers.
    GetStats;
    /// Removes the project with everything in it.
    DeleteProject;
    /// Lists the projects that the key opens.
    ListProjects;
}

/// Changes the settings of the project. What is absent stays.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct UpdateProject {
    /// The largest `alpha` of a review in the project, from 0 to 1; `null` for no limit.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<f64>, minimum = 0, maximum = 1))]
    pub max_alpha: Option<Option<f64>>,
    /// The number of memories that the project keeps in answers, from 1 to a billion; `null` for all. The
    /// least useful ones beyond it are archived.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "given_integer"
    )]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<u64>, minimum = 1, maximum = 1_000_000_000))]
    pub max_memories: Option<Option<u64>>,
    /// How memories are ranked unless a query says otherwise; `null` for the server's choice.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Ranking>))]
    pub ranking: Option<Option<Ranking>>,
    /// Which of the memories that are learned from now on wait for a person's approval before they are part
    /// of answers; `null` for none, which gives free what waits.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Approval>))]
    pub approve: Option<Option<Approval>>,
    /// The share of runs that are given no memories, for comparison, from 0 to 1; `null` for none. It is for
    /// clients that set no share of their own.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<f64>, minimum = 0, maximum = 1))]
    pub control: Option<Option<f64>>,
    /// Whether memories that are learned from now on keep values that identify a person or a case, instead
    /// of their role; `null` for the server's choice. Memories that exist stay as they are.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<bool>))]
    pub keep_personal_values: Option<Option<bool>>,
}

impl From<ProjectSettings> for UpdateProject {
    /// The change that makes all settings these.
    fn from(settings: ProjectSettings) -> Self {
        Self {
            max_alpha: Some(settings.max_alpha),
            max_memories: Some(settings.max_memories),
            ranking: Some(settings.ranking),
            approve: Some(settings.approve),
            control: Some(settings.control),
            keep_personal_values: Some(settings.keep_personal_values),
        }
    }
}

/// A value that is there, which may be null.
#[expect(clippy::option_option, reason = "absent and null are different")]
fn given<'de, D, T>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(deserializer).map(Some)
}

/// An integer that is there, which may be null.
#[expect(clippy::option_option, reason = "absent and null are different")]
fn given_integer<'de, D>(deserializer: D) -> Result<Option<Option<u64>>, D::Error>
where
    D: serde::Deserializer<'de>,
{
    integer::read_optional(deserializer).map(Some)
}

impl UpdateProject {
    /// The largest `max_memories`.
    pub const MAX_MEMORIES: u64 = 1_000_000_000;
}

impl Validate for UpdateProject {
    fn validate(&self) -> Result<(), InvalidField> {
        if let Some(Some(alpha)) = self.max_alpha {
            within("max_alpha", alpha, 0.0..=1.0)?;
        }
        let limits = 1..=Self::MAX_MEMORIES;
        if (self.max_memories.flatten()).is_some_and(|memories| !limits.contains(&memories)) {
            let problem = format!("must be from 1 to {}", Self::MAX_MEMORIES);
            return Err(InvalidField::new("max_memories", problem));
        }
        Ranking::check("ranking", self.ranking.iter().flatten().next())?;
        Approval::check("approve", self.approve.iter().flatten().next())?;
        self.control.flatten().map_or(Ok(()), Arm::check_share)
    }
}

sent_as_json!(UpdateProject);

/// Creates the first key of a project, for the holder of the server's bootstrap token. It travels
/// outside the table of operations: no key exists yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Bootstrap {
    /// The owner of the key.
    #[cfg_attr(feature = "openapi", schema(schema_with = crate::openapi::owner))]
    pub user_id: String,
    /// The project to create; an existing one is refused.
    #[cfg_attr(feature = "openapi", schema(schema_with = crate::openapi::new_project_id))]
    pub project_id: ProjectId,
    /// What the key is for.
    #[serde(default = "Bootstrap::default_label")]
    #[cfg_attr(feature = "openapi", schema(schema_with = crate::openapi::first_label))]
    pub key_label: String,
    /// Live or test.
    #[serde(default)]
    pub environment: Environment,
}

impl Bootstrap {
    /// `POST` here.
    pub const PATH: &'static str = "/v1/bootstrap";
    /// The default label.
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
        let owner = "name the user who will own the key";
        not_blank("user_id", &self.user_id, owner)?;
        without_controls("user_id", &self.user_id)?;
        not_blank("key_label", &self.key_label, "say what the key is for")?;
        at_most("key_label", &self.key_label, CreateApiKey::MAX_LABEL)?;
        without_controls("key_label", &self.key_label)?;
        Environment::check("environment", Some(&self.environment))?;
        self.project_id.validate_new()
    }
}
