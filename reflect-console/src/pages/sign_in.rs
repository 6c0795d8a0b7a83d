use askama::Template;

use super::FirstTrace;
use crate::path::in_project;
use crate::text::grouped;

/// The page that asks for a key.
#[derive(Debug, Template)]
#[template(path = "sign_in.html")]
pub struct SignInPage {
    /// Why the last key was refused.
    pub problem: Option<String>,
    /// Where to go after signing in.
    pub next: String,
    /// Also in a cookie of this browser.
    pub token: String,
}

/// The projects that a master key opens.
#[derive(Debug, Template)]
#[template(path = "projects.html")]
pub struct ProjectsPage {
    csrf: String,
    projects: Vec<Project>,
    first: FirstTrace,
}

#[derive(Debug)]
struct Project {
    id: String,
    address: String,
    traces: String,
    memories: String,
}

impl ProjectsPage {
    /// The page of these projects.
    pub fn new(
        csrf: String,
        projects: &[reflect_types::ProjectSummary],
        first: FirstTrace,
    ) -> Self {
        let projects = projects.iter().map(|project| Project {
            id: crate::shown(project.project_id.as_str()),
            address: in_project(project.project_id.as_str(), &[]),
            traces: grouped(project.traces),
            memories: grouped(project.memories),
        });
        Self {
            csrf,
            projects: projects.collect(),
            first,
        }
    }
}
