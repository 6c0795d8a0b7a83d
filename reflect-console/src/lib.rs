#![doc = include_str!("../README.md")]

pub mod assets;
mod card;
mod change;
mod comparison;
mod frame;
mod key_name;
mod pages;
mod path;
mod plot;
mod rate_plot;
mod replay;
mod text;
mod time;
mod timeline;

pub use frame::{Abilities, Frame};
pub use pages::{
    FirstTrace, KeysPage, MemoriesPage, MemoryPage, MemorySearch, ProblemPage, ProblemPart,
    ProjectsPage, RawTrace, ReportPage, ReportPeriod, ReportSource, ReviewDesk, ReviewPage,
    Settings, SettingsPage, SignInPage, SimilarMemories, TraceFilters, TracePage, TraceSource,
    TracesPage, UndoPage, UndoPreview, next, setting_values, shown_memories, status_of,
};
pub use path::{in_project, review_address};
pub use text::shown;

use askama::Template;

/// A page or a part of one as HTML.
///
/// # Errors
///
/// None with the templates of this crate, which format into memory.
pub fn html(template: &impl Template) -> Result<String, askama::Error> {
    template.render()
}
