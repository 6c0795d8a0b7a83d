//! The pages: one file each, with its data and its template.

mod empty;
mod keys;
mod memories;
mod memory;
mod problem;
mod report;
mod review;
mod settings;
mod sign_in;
mod trace;
mod traces;
mod undo;

pub use empty::FirstTrace;
pub use keys::KeysPage;
pub use memories::{MemoriesPage, MemorySearch, shown as shown_memories};
pub use memory::{MemoryPage, SimilarMemories, status_of};
pub use problem::{ProblemPage, ProblemPart};
pub use report::{ReportPage, ReportPeriod, ReportSource};
pub use review::{ReviewDesk, ReviewPage, next};
pub use settings::{Settings, SettingsPage, setting_values};
pub use sign_in::{ProjectsPage, SignInPage};
pub use trace::{RawTrace, TracePage, TraceSource};
pub use traces::{TraceFilters, TracesPage};
pub use undo::{UndoPage, UndoPreview};
