//! Creating, listing and deleting projects.

use reflect_types::{
    DeletedProject, ProjectId, ProjectSettings, ProjectSummary, Stats, UpdateProject,
};

use super::handle::Engine;
use crate::error::{Error, Result};

impl Engine {
    /// Creates an empty project, unless it exists. The id of a new one has to pass
    /// [`ProjectId::validate_new`]. Other writes create the project too, except
    /// through [`in_existing_projects`](Self::in_existing_projects).
    pub async fn create_project(&self, project: &ProjectId) -> Result<()> {
        let core = self.checked(project, project)?;
        core.store.create_project(project).await
    }

    /// All projects, by name.
    pub async fn list_projects(&self) -> Result<Vec<ProjectId>> {
        let core = self.core();
        core.ensure_running()?;
        core.store.projects().await
    }

    /// The counts and settings of a project, or of all projects by id.
    pub async fn summarize_projects(
        &self,
        only: Option<&ProjectId>,
    ) -> Result<Vec<ProjectSummary>> {
        let core = self.core();
        core.ensure_running()?;
        core.store.project_summaries(only).await
    }

    /// The settings of a project; the default ones if it does not exist.
    pub async fn settings(&self, project: &ProjectId) -> Result<ProjectSettings> {
        let core = self.checked(project, project)?;
        core.store.settings(project).await
    }

    /// Changes the settings of a project, which may have no runs yet. A review with a larger `alpha` than the new
    /// limit is refused from now on; what was learned stays. Memories beyond `max_memories` are archived by the next
    /// query. Memories that are learned from now on wait for approval, if it is asked for.
    pub async fn update_project(
        &self,
        project: &ProjectId,
        update: &UpdateProject,
    ) -> Result<ProjectSummary> {
        let core = self.checked(project, update)?;
        // One that sets nothing creates nothing.
        let creates = self.creates_projects() && *update != UpdateProject::default();
        core.store.update_project(project, update, creates).await?;
        let updated = core.store.project_summaries(Some(project)).await?;
        let updated = updated.into_iter().next();
        updated.ok_or_else(|| Error::NoProject(project.clone()))
    }

    /// Deletes a project and everything in it.
    pub async fn delete_project(&self, project: &ProjectId) -> Result<DeletedProject> {
        let core = self.checked(project, project)?;
        let deleted = core.store.delete_project(project).await?;
        core.indexes.remove(project);
        Ok(DeletedProject {
            project_id: Some(project.clone()),
            deleted,
        })
    }

    /// The counts of a project's traces, reviews and memories.
    pub async fn stats(&self, project: &ProjectId) -> Result<Stats> {
        let core = self.checked(project, project)?;
        core.store.stats(project).await
    }
}
