//! Creating, listing and deleting projects.

use reflect_types::{DeletedProject, ProjectId, Stats};

use super::handle::Engine;
use crate::error::Result;

impl Engine {
    /// Creates an empty project, unless it exists. Other writes create the project too, except
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
