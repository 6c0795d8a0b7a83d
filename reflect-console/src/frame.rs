//! What every page of a project has in common.

use crate::path::in_project;

/// The navigation of a page, and what its visitor may do.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The project.
    pub project: String,
    /// The number of traces that wait for a review.
    pub waiting: u64,
    /// The token that every change has to bring along.
    pub csrf: String,
    /// What the visitor may do.
    pub may: Abilities,
    /// Whether the visitor may open other projects.
    pub has_projects: bool,
    /// The page in the navigation. Each page sets its own.
    pub tab: &'static str,
}

/// What a visitor's key allows.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a scope")]
pub struct Abilities {
    /// List and read traces.
    pub read_traces: bool,
    /// Review traces.
    pub review: bool,
    /// Query and list memories.
    pub read_memories: bool,
    /// Edit, quarantine, restore and delete memories.
    pub change_memories: bool,
    /// List, create and revoke keys.
    pub manage_keys: bool,
    /// Undo, export and change settings.
    pub administer: bool,
}

impl Frame {
    /// The address of a page of the project.
    pub fn to(&self, page: &str) -> String {
        in_project(&self.project, &[page])
    }

    /// The first page of the project.
    pub(crate) fn home(&self) -> String {
        in_project(&self.project, &[])
    }

    pub(crate) fn on(self, tab: &'static str) -> Self {
        Self { tab, ..self }
    }

    pub(crate) fn to_trace(&self, id: &str) -> String {
        in_project(&self.project, &["traces", id])
    }

    pub(crate) fn to_memory(&self, id: &str) -> String {
        in_project(&self.project, &["memories", id])
    }

    /// The waiting traces as a badge of at most four characters; empty for none.
    pub(crate) fn badge(&self) -> String {
        match self.waiting {
            0 => String::new(),
            1..=999 => self.waiting.to_string(),
            _ => "999+".to_owned(),
        }
    }
}
