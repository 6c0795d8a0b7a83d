use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::approval::Approval;
use crate::id::ProjectId;
use crate::ranking::Ranking;

/// The reply of a healthy server: names and values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Health(pub BTreeMap<String, String>);

impl Health {
    /// The usual `status` entry, or `""`.
    pub fn status(&self) -> &str {
        self.0.get("status").map_or("", String::as_str)
    }
}

/// The first key of a project. Its text is shown this once.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Bootstrapped {
    /// The owner of the key.
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

/// The reply to `DeleteProject`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeletedProject {
    /// The deleted project, if returned.
    pub project_id: Option<ProjectId>,
    /// Whether there was a project to delete.
    #[serde(default)]
    pub deleted: bool,
}

/// A project as it is listed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ProjectSummary {
    /// The project's id.
    pub project_id: ProjectId,
    /// The number of its traces.
    pub traces: u64,
    /// The number of its memories, quarantined ones included.
    pub memories: u64,
    /// Its settings.
    #[serde(flatten)]
    pub settings: ProjectSettings,
}

/// The settings of a project. `UpdateProject` changes them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ProjectSettings {
    /// The largest `alpha` of a review; `null` for no limit.
    pub max_alpha: Option<f64>,
    /// The number of memories that the project keeps in answers; `null` for all.
    pub max_memories: Option<u64>,
    /// How memories are ranked unless a query says otherwise; `null` for the server's choice.
    pub ranking: Option<Ranking>,
    /// Which new memories wait for approval; `null` for none.
    pub approve: Option<Approval>,
    /// The share of runs that are given no memories, for comparison; `null` for none.
    pub control: Option<f64>,
    /// Whether new memories keep values that identify a person or a case; `null` for the server's choice.
    pub keep_personal_values: Option<bool>,
}

/// Project statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Stats {
    /// Traces.
    pub traces: u64,
    /// Traces without a review.
    pub pending: u64,
    /// Traces with a passing review.
    pub passed: u64,
    /// Traces with a failing review.
    pub failed: u64,
    /// Reviews whose ingestion is queued or in progress.
    pub queued: u64,
    /// Reviews whose ingestion failed.
    pub ingest_failed: u64,
    /// Memories.
    pub memories: u64,
    /// Memories given to at least one reviewed run.
    pub used_memories: u64,
    /// Utility events.
    pub events: u64,
    /// Memories that are quarantined, by a person or by Reflect itself.
    #[serde(default)]
    pub quarantined: u64,
    /// Memories that are archived, because the project keeps a limited number in answers.
    #[serde(default)]
    pub archived: u64,
    /// Memories that are merged into others.
    #[serde(default)]
    pub merged: u64,
    /// Memories that wait for approval.
    #[serde(default)]
    pub staged: u64,
}
