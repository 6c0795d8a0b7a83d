#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod approval;
mod archive;
mod arm;
mod backoff;
mod bundle;
mod convert;
mod error;
mod explanation;
mod fnv;
mod id;
mod integer;
mod key;
mod layout;
pub mod markup;
mod memory;
mod memory_change;
mod memory_status;
mod message;
pub mod neutral;
#[cfg(feature = "openapi")]
pub mod openapi;
mod page;
mod project;
mod ranking;
mod reflection;
mod report;
mod requests;
mod review;
mod reviewer;
mod skill;
pub mod spans;
pub mod text;
mod trace;
mod trajectory;
mod undo;
mod validate;
mod verdict;
mod wire_enum;

pub use approval::Approval;
pub use archive::{
    ArchivedMemory, ArchivedReview, ArchivedTrace, ImportReport, Judgement, Overview, Piece,
    ReplacedReview, SetAsideEvent,
};
pub use arm::Arm;
pub use backoff::Backoff;
pub use bundle::{BundleCounts, BundleEnding, BundleHeading};
pub use error::{ErrorBody, ErrorCode};
pub use explanation::{Dropped, Evidence, ExplainedMemory, Explanation};
pub use fnv::{fnv_1a, place};
pub use id::{KeyId, MemoryId, ProjectId, TraceId};
pub use key::{ApiKey, CreatedApiKey, Environment, KeyStatus, Scope};
pub use layout::{Layout, Method, Repeat};
pub use memory::{Aside, Memory, MemoryHistory, MemoryRecord, MergedMemory, UtilityEvent};
pub use memory_change::{ChangeKind, ChangeRecord, DeletedMemory};
pub use memory_status::MemoryStatus;
pub use message::{Content, FunctionCall, Message, Role, ToolCall};
pub use page::Page;
pub use project::{Bootstrapped, DeletedProject, Health, ProjectSettings, ProjectSummary, Stats};
pub use ranking::Ranking;
pub use reflection::{AuthoredReflection, Reflection, ReflectionEdit};
pub use report::{
    Conclusion, Difference, Group, JudgeAgreement, MemoryOutcome, Month, Outcomes, PassRate, Report,
};
pub use requests::{
    Bootstrap, ChangeReview, CreateApiKey, CreateSkill, CreateTrace, CreateTraces, DeleteMemory,
    DeleteProject, DeleteTraces, ExplainMemories, ExportMemories, ExportOverview, ExportTraces,
    GetHealth, GetMemory, GetReport, GetSettings, GetSkill, GetStats, GetTrace, Grouping,
    ImportProject, ListApiKeys, ListMemories, ListMemoryChanges, ListOrder, ListProjects,
    ListTraces, ListUndos, MemoryUpdate, Operation, QueryMemories, Reply, Request, RetryTrace,
    ReviewByKey, ReviewTrace, RevokeApiKey, UpdateMemory, UpdateProject, WithdrawReview,
};
pub use review::{Review, ReviewMode, ReviewRecord};
pub use reviewer::{ModelVerdict, Reviewer};
pub use skill::Skill;
pub use trace::{BatchEntry, DeletedTraces, IngestStatus, ReviewStatus, Trace, TraceReceipt};
pub use trajectory::Trajectory;
pub use undo::{MovedUtility, Undo, UndoRecord, UndoReport, UndoTotals, UndoneMemory, UndoneTrace};
pub use validate::{InvalidField, Validate};
pub use verdict::{UnknownVerdict, Verdict};

/// A JSON object: the metadata of a trace, or the filter of a query.
pub type Metadata = serde_json::Map<String, serde_json::Value>;

/// The header of [`CreateTrace::idempotency_key`].
pub const IDEMPOTENCY_KEY: &str = "Idempotency-Key";
/// The header of the token that [`Bootstrap`] needs.
pub const BOOTSTRAP_TOKEN: &str = "X-Bootstrap-Token";
