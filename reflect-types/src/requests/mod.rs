//! The table of operations: what each takes, where it lives, who may call it and what it returns.
//!
//! A new operation is a request type in one of the files beside this one, and a row here.

mod archive;
mod create_trace;
mod create_traces;
mod keys;
mod memories;
mod memory_changes;
mod project;
mod report;
mod reviews;
mod shapes;
mod skill;
mod traces;
mod undo;

use std::fmt;

use serde::de::DeserializeOwned;

pub use self::archive::{ExportMemories, ExportOverview, ExportTraces, ImportProject};
pub use self::create_trace::CreateTrace;
pub use self::create_traces::CreateTraces;
pub use self::keys::{CreateApiKey, ListApiKeys, RevokeApiKey};
pub use self::memories::{ExplainMemories, GetMemory, ListMemories, QueryMemories};
pub use self::memory_changes::{DeleteMemory, ListMemoryChanges, MemoryUpdate, UpdateMemory};
pub use self::project::{
    Bootstrap, DeleteProject, GetHealth, GetSettings, GetStats, ListProjects, UpdateProject,
};
pub use self::report::{GetReport, Grouping};
pub use self::reviews::{ChangeReview, ReviewByKey, ReviewTrace, WithdrawReview};
pub use self::skill::{CreateSkill, GetSkill};
pub use self::traces::{DeleteTraces, GetTrace, ListOrder, ListTraces, RetryTrace};
pub use self::undo::ListUndos;
use crate::archive::{ArchivedMemory, ArchivedTrace, ImportReport, Overview};
use crate::explanation::Explanation;
use crate::id::ProjectId;
use crate::key::{ApiKey, CreatedApiKey, Scope};
use crate::layout::{Layout, Method, Repeat, path};
use crate::memory::{Memory, MemoryHistory};
use crate::memory_change::{ChangeRecord, DeletedMemory};
use crate::page::Page;
use crate::project::{DeletedProject, Health, ProjectSettings, ProjectSummary, Stats};
use crate::report::Report;
use crate::skill::Skill;
use crate::trace::{BatchEntry, DeletedTraces, Trace, TraceReceipt};
use crate::undo::{Undo, UndoRecord, UndoReport};
use crate::validate::{InvalidField, Validate};

/// One operation of the API: the request type, described by its row in the table of operations.
///
/// The table is [`Request`]: every operation is one of its variants.
pub trait Operation: Layout + Validate + Into<Request> + Clone + fmt::Debug + Send + Sync {
    /// What a successful call returns.
    type Reply: DeserializeOwned + Send + 'static;

    /// The name in the OpenAPI document, and of the client's method.
    const NAME: &'static str;
    /// The HTTP method.
    const METHOD: Method;
    /// The path, with `{project_id}` and at most one further id in braces.
    const PATH: &'static str;
    /// The scopes that allow the call; any one of them is enough. Empty where no scope is needed.
    const SCOPES: &'static [Scope];
    /// Whether the call may be repeated after an unknown outcome.
    const REPEAT: Repeat;

    /// The reply of this operation; `None` for a reply of any other.
    fn from_reply(reply: Reply) -> Option<Self::Reply>;

    /// The path and query string in this project.
    fn path(&self, project: &ProjectId) -> String {
        path(Self::PATH, project, self)
    }
}

macro_rules! operations {
    ($(
        $(#[$meta:meta])*
        $operation:ident -> $reply:ty:
            $name:literal $method:ident $path:literal [$($scope:ident)|*] $repeat:ident;
    )+) => {
        /// A request of any operation.
        ///
        /// A new operation adds a variant, so that what carries out every operation fails to compile
        /// without it. A `match` on some of them needs a wildcard.
        #[derive(Clone, Debug)]
        pub enum Request {
            $( $(#[$meta])* $operation($operation), )+
        }

        /// The reply to a [`Request`], in the variant of the same name.
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub enum Reply {
            $( #[doc = concat!("The reply to [`", stringify!($operation), "`].")] $operation($reply), )+
        }

        $(
            impl Operation for $operation {
                type Reply = $reply;
                const NAME: &'static str = $name;
                const METHOD: Method = Method::$method;
                const PATH: &'static str = $path;
                const SCOPES: &'static [Scope] = &[$(Scope::$scope),*];
                const REPEAT: Repeat = Repeat::$repeat;

                fn from_reply(reply: Reply) -> Option<$reply> {
                    match reply {
                        Reply::$operation(reply) => Some(reply),
                        _ => None,
                    }
                }
            }

            impl From<$operation> for Request {
                fn from(request: $operation) -> Self {
                    Self::$operation(request)
                }
            }
        )+

        impl Request {
            /// The name, method, path and scopes of every operation.
            pub const TABLE: &'static [(&'static str, Method, &'static str, &'static [Scope])] =
                &[$( ($name, Method::$method, $path, &[$(Scope::$scope),*]), )+];

            /// The operation's name.
            pub fn name(&self) -> &'static str {
                match self { $( Self::$operation(_) => $operation::NAME, )+ }
            }

            /// The HTTP method.
            pub fn method(&self) -> Method {
                match self { $( Self::$operation(_) => $operation::METHOD, )+ }
            }

            /// Whether the call may be repeated after an unknown outcome.
            pub fn repeat(&self) -> Repeat {
                match self {
                    $( Self::$operation(request) if request.is_repeatable() => $operation::REPEAT, )+
                    _ => Repeat::IfNotDone,
                }
            }

            /// The path and query string in this project.
            pub fn path(&self, project: &ProjectId) -> String {
                match self { $( Self::$operation(request) => request.path(project), )+ }
            }

            /// The JSON body; empty for none.
            pub fn body(&self) -> serde_json::Result<Vec<u8>> {
                match self { $( Self::$operation(request) => request.body(), )+ }
            }

            /// Reads the body of a successful reply. `more` tells that it had a
            /// `Link: rel="next"` header.
            pub fn decode(&self, body: &[u8], more: bool) -> serde_json::Result<Reply> {
                let body = self.or_empty(body);
                let reply = match self {
                    $( Self::$operation(_) => Reply::$operation(serde_json::from_slice(body)?), )+
                };
                Ok(if more { reply.continued() } else { reply })
            }
        }

        impl Validate for Request {
            fn validate(&self) -> Result<(), InvalidField> {
                match self { $( Self::$operation(request) => request.validate(), )+ }
            }
        }
    };
}

operations! {
    /// Whether the server is up.
    GetHealth -> Health: "health" Get "/health" [] Freely;

    /// The memories that rank best for a task, best first.
    QueryMemories -> Vec<Memory>:
        "query_memories" Post "/v1/projects/{project_id}/memory/query" [MemoryRead] Freely;
    /// The numbers behind the answer to a query, for all of the project's memories.
    ExplainMemories -> Explanation:
        "explain_memories" Post "/v1/projects/{project_id}/memory/explain" [MemoryRead] Freely;
    /// Memories with their events, newest first.
    ListMemories -> Page<MemoryHistory>:
        "list_memories" Get "/v1/projects/{project_id}/memories" [MemoryRead] Freely;
    /// One memory with its events.
    GetMemory -> MemoryHistory:
        "get_memory" Get "/v1/projects/{project_id}/memories/{memory_id}" [MemoryRead] Freely;
    /// Edits, quarantines or restores a memory.
    UpdateMemory -> MemoryHistory:
        "update_memory" Patch "/v1/projects/{project_id}/memories/{memory_id}" [MemoryAdmin] Freely;
    /// Deletes a memory with its events.
    DeleteMemory -> DeletedMemory:
        "delete_memory" Delete "/v1/projects/{project_id}/memories/{memory_id}" [MemoryAdmin] IfNotDone;
    /// The changes of all memories, newest first.
    ListMemoryChanges -> Page<ChangeRecord>:
        "list_memory_changes" Get "/v1/projects/{project_id}/memory/changes" [MemoryRead] Freely;

    /// Stores a run, once per idempotency key.
    CreateTrace -> TraceReceipt:
        "create_trace" Post "/v1/projects/{project_id}/traces" [TraceWrite | MemoryWrite] Freely;
    /// Stores runs that travel together, each once per idempotency key.
    CreateTraces -> Vec<BatchEntry>:
        "create_traces" Post "/v1/projects/{project_id}/traces/batch" [TraceWrite | MemoryWrite] Freely;
    /// Traces, newest or oldest first.
    ListTraces -> Page<Trace>:
        "list_traces" Get "/v1/projects/{project_id}/traces" [TraceRead] Freely;
    /// One trace.
    GetTrace -> Trace:
        "get_trace" Get "/v1/projects/{project_id}/traces/{trace_id}" [TraceRead] Freely;
    /// Removes traces.
    DeleteTraces -> DeletedTraces:
        "delete_traces" Post "/v1/projects/{project_id}/traces/delete" [TraceWrite | TraceAdmin] Freely;
    /// Retries a failed ingestion.
    RetryTrace -> TraceReceipt:
        "retry_trace" Post "/v1/projects/{project_id}/traces/{trace_id}/retry" [TraceWrite] IfNotDone;

    /// Reviews a trace. The same verdict again changes nothing.
    ReviewTrace -> Trace:
        "review_trace" Post "/v1/projects/{project_id}/traces/{trace_id}/review" [ReviewWrite] Freely;
    /// Reviews the trace that an idempotency key or metadata names.
    ReviewByKey -> Trace:
        "review_by_key" Post "/v1/projects/{project_id}/reviews/by-key" [ReviewWrite] Freely;
    /// Replaces the review of a trace.
    ChangeReview -> Trace:
        "change_review" Put "/v1/projects/{project_id}/traces/{trace_id}/review" [ReviewWrite] Freely;
    /// Withdraws the review of a trace with everything it changed.
    WithdrawReview -> Trace:
        "withdraw_review" Delete "/v1/projects/{project_id}/traces/{trace_id}/review" [ReviewWrite]
        IfNotDone;
    /// Undoes the reviews of a key, a reviewer, a trace or a period.
    Undo -> UndoReport:
        "undo" Post "/v1/projects/{project_id}/undo" [ProjectAdmin] Freely;
    /// The records of undos, newest first.
    ListUndos -> Page<UndoRecord>:
        "list_undos" Get "/v1/projects/{project_id}/undo" [ProjectAdmin] Freely;

    /// The project's skill; `None` before the first one is written.
    GetSkill -> Option<Skill>:
        "get_skill" Get "/v1/projects/{project_id}/skill" [SkillRead] Freely;
    /// Writes a new version of the skill.
    CreateSkill -> Skill:
        "create_skill" Post "/v1/projects/{project_id}/skill/create" [SkillWrite] IfNotDone;

    /// The project's keys, without their secrets.
    ListApiKeys -> Vec<ApiKey>:
        "list_api_keys" Get "/v1/projects/{project_id}/api-keys" [KeyAdmin] Freely;
    /// Creates a key.
    CreateApiKey -> CreatedApiKey:
        "create_api_key" Post "/v1/projects/{project_id}/api-keys" [KeyAdmin] IfNotDone;
    /// Revokes a key.
    RevokeApiKey -> ApiKey:
        "revoke_api_key" Post "/v1/projects/{project_id}/api-keys/{key_id}/revoke" [KeyAdmin] Freely;

    /// The projects that the key opens, by id.
    ListProjects -> Vec<ProjectSummary>: "list_projects" Get "/v1/projects" [] Freely;
    /// The settings of the project.
    GetSettings -> ProjectSettings:
        "project_settings" Get "/v1/projects/{project_id}/settings" [MemoryRead] Freely;
    /// Changes the settings of the project.
    UpdateProject -> ProjectSummary:
        "update_project" Patch "/v1/projects/{project_id}" [ProjectAdmin] Freely;
    /// Project statistics.
    GetStats -> Stats:
        "project_stats" Get "/v1/projects/{project_id}/stats" [TraceRead] Freely;
    /// Pass rates, and whether memories help.
    GetReport -> Report:
        "report" Get "/v1/projects/{project_id}/report" [TraceRead] Freely;
    /// Removes the project with everything in it.
    DeleteProject -> DeletedProject:
        "delete_project" Delete "/v1/projects/{project_id}" [ProjectAdmin] IfNotDone;

    /// The project's totals and skill.
    ExportOverview -> Overview:
        "export_overview" Get "/v1/projects/{project_id}/archive" [ProjectAdmin] Freely;
    /// Memories in the order they were learned.
    ExportMemories -> Vec<ArchivedMemory>:
        "export_memories" Get "/v1/projects/{project_id}/archive/memories" [ProjectAdmin] Freely;
    /// Traces in the order they were stored.
    ExportTraces -> Vec<ArchivedTrace>:
        "export_traces" Get "/v1/projects/{project_id}/archive/traces" [ProjectAdmin] Freely;
    /// Stores parts of an export.
    ImportProject -> ImportReport:
        "import_project" Post "/v1/projects/{project_id}/archive" [ProjectAdmin] Freely;
}

impl Request {
    /// The reply to return for a 404, if not found is not an error.
    pub fn absent(&self) -> Option<Reply> {
        match self {
            Self::GetSkill(_) => Some(Reply::GetSkill(None)),
            _ => None,
        }
    }

    /// Some servers answer a query that finds nothing with `null`.
    fn or_empty<'a>(&self, body: &'a [u8]) -> &'a [u8] {
        match self {
            Self::QueryMemories(_) if body.trim_ascii() == b"null" => b"[]",
            _ => body,
        }
    }
}

impl Reply {
    fn continued(mut self) -> Self {
        match &mut self {
            Self::ListTraces(page) => page.more = true,
            Self::ListMemories(page) => page.more = true,
            Self::ListMemoryChanges(page) => page.more = true,
            Self::ListUndos(page) => page.more = true,
            _ => {}
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{IngestStatus, ReviewStatus};

    #[test]
    fn an_id_never_leaves_its_segment() {
        let project = ProjectId::from("a/b c?d#e%f_-.~ü");
        assert_eq!(
            DeleteProject.path(&project),
            "/v1/projects/a%2Fb%20c%3Fd%23e%25f_-.~%C3%BC"
        );
        assert_eq!(
            WithdrawReview::new("x/y").path(&ProjectId::default()),
            "/v1/projects/default/traces/x%2Fy/review"
        );
        assert_eq!(
            GetTrace::new("{project_id}").path(&ProjectId::default()),
            "/v1/projects/default/traces/%7Bproject_id%7D"
        );
    }

    #[test]
    fn only_parameters_with_a_value_are_sent() {
        let project = ProjectId::default();
        let mut list = ListTraces::default();
        assert_eq!(list.path(&project), "/v1/projects/default/traces");
        list.review_status = Some(ReviewStatus::Pending);
        list.ingest_status = Some(IngestStatus::Failed);
        list.before = Some("a&b".into());
        assert_eq!(
            list.path(&project),
            "/v1/projects/default/traces?review_status=pending&ingest_status=failed&before=a%26b"
        );
    }

    #[test]
    fn a_run_is_sent_again_only_under_an_idempotency_key() {
        let mut run = CreateTrace::new("t", "prose");
        let repeat = |run: &CreateTrace| Request::from(run.clone()).repeat();
        assert_eq!(repeat(&run), Repeat::IfNotDone);
        run.idempotency_key = Some("k".to_owned());
        assert_eq!(repeat(&run), Repeat::Freely);
    }

    #[test]
    fn a_request_knows_its_row() {
        let request = Request::from(QueryMemories::new("t"));
        assert_eq!(request.name(), "query_memories");
        assert_eq!(request.method(), Method::Post);
        assert_eq!(
            request.path(&ProjectId::default()),
            "/v1/projects/default/memory/query"
        );
    }
}
