//! The table of endpoints: what carries out each operation, and what the document says of it.

use axum::routing::{MethodFilter, MethodRouter};
use reflect_types::openapi::{id, listed_status, time};
use reflect_types::{
    ApiKey, ArchivedMemory, ArchivedTrace, BatchEntry, Bootstrap, Bootstrapped, ChangeRecord,
    ChangeReview, CreateApiKey, CreateSkill, CreateTrace, CreateTraces, CreatedApiKey,
    DeleteMemory, DeleteProject, DeleteTraces, DeletedMemory, DeletedProject, DeletedTraces,
    ExplainMemories, Explanation, ExportMemories, ExportOverview, ExportTraces, GetHealth,
    GetMemory, GetReport, GetSettings, GetSkill, GetStats, GetTrace, Health, ImportProject,
    ImportReport, IngestStatus, ListApiKeys, ListMemories, ListMemoryChanges, ListOrder,
    ListProjects, ListTraces, ListUndos, Memory, MemoryHistory, MemoryUpdate, Method, Operation,
    Overview, ProjectSettings, ProjectSummary, QueryMemories, Report, RetryTrace, Review,
    ReviewByKey, ReviewStatus, ReviewTrace, RevokeApiKey, Skill, Stats, Trace, TraceReceipt, Undo,
    UndoRecord, UndoReport, UpdateMemory, UpdateProject, WithdrawReview,
};
use utoipa::PartialSchema as _;

use super::{archive, health, keys, memories, projects, skill, traces, undo};
use crate::app::App;
use crate::described::{Described, string};

const GROUPS: &str = "^(model|month|day|metadata\\.[^\"\\\\\\x00-\\x1f\\x7f-\\x9f]{1,200})$";

/// An endpoint of the API.
pub(crate) struct Endpoint {
    pub(crate) name: &'static str,
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) text: &'static str,
    pub(crate) handler: MethodRouter<App>,
    /// Completes what the document says of every endpoint.
    pub(crate) describe: fn(Described) -> Described,
}

/// A row has a request of the table of operations, or a name with its method and path, then its handler, and what the
/// document says beside the ids of the path and the errors of every endpoint.
macro_rules! endpoints {
    ($(
        $(#[doc = $text:literal])+
        [$($operation:tt)+] $handler:path $(, $word:ident $(<$kind:ty>)? ($($value:expr),*))*;
    )+) => {
        pub(crate) fn endpoints() -> Vec<Endpoint> {
            vec![$({
                let (name, method, path) = endpoints!(@ $($operation)+);
                Endpoint {
                    name,
                    method,
                    path,
                    text: concat!($($text, "\n"),+),
                    handler: MethodRouter::new().on(filter(method), $handler),
                    describe: |described| described$(.$word$(::<$kind>)?($($value),*))*,
                }
            }),+]
        }
    };
    (@ $name:literal $method:ident $path:literal) => { ($name, Method::$method, $path) };
    (@ $operation:ident) => { ($operation::NAME, $operation::METHOD, $operation::PATH) };
}

fn filter(method: Method) -> MethodFilter {
    match method {
        Method::Post => MethodFilter::POST,
        Method::Put => MethodFilter::PUT,
        Method::Patch => MethodFilter::PATCH,
        Method::Delete => MethodFilter::DELETE,
        _ => MethodFilter::GET,
    }
}

endpoints! {
    /// Whether the server is ready: it can store runs. The check is a write, about every ten seconds at most. `embedder` is
    /// `building` until all memories are embedded with the server's embedder, and then `active`; queries are answered from
    /// those that are.
    [GetHealth] health::ready, needs_no_key(), gives<Health>(), replies<health::Unready>("503", "The store cannot be written");
    /// Whether the process is alive, also if it is not ready.
    ["live" Get "/health/live"] health::live, needs_no_key(), gives<Health>();

    /// Creates a project and its first key, for the holder of the bootstrap token. A project that exists
    /// or has a key is a conflict.
    ["bootstrap" Post "/v1/bootstrap"] projects::bootstrap, needs("bootstrap"), takes<Bootstrap>(),
        replies<Bootstrapped>("201", "The key, which is shown only once");
    /// The projects that the key opens, by id: its own, or all with a master key.
    [ListProjects] projects::list, lists<ProjectSummary>();
    /// Changes the settings of the project, which a master key creates if there is none. A review with a larger
    /// `alpha` than `max_alpha` is refused from now on; memories beyond `max_memories` are archived by the next query.
    [UpdateProject] projects::update, takes<UpdateProject>(), gives<ProjectSummary>();
    /// Deletes the project with its traces, memories, skill and keys.
    [DeleteProject] projects::delete, gives<DeletedProject>();
    /// The settings of the project. Clients read them before they retrieve memories.
    [GetSettings] projects::settings, gives<ProjectSettings>();
    /// The project's totals.
    [GetStats] projects::stats, gives<Stats>();
    /// Pass rates with their 95 % intervals, and whether memories help: the runs with memories compared with
    /// those of the control arm. Reviews by people and by models are counted separately.
    [GetReport] projects::report, gives<Report>(),
        query("since", "Only runs stored at this time or later, in RFC 3339", time()),
        query("until", "Only runs stored before this time, in RFC 3339", time()),
        query("by", "Groups: `model`, `month`, `day` or `metadata.KEY`", string().pattern(Some(GROUPS)));

    /// The memories that rank best for a task, best first.
    [QueryMemories] memories::query, takes<QueryMemories>(), lists<Memory>();
    /// The numbers behind the answer to a query: what every memory scores, and why it is in the answer or not.
    [ExplainMemories] memories::explain, takes<QueryMemories>(), gives<Explanation>();
    /// The project's memories with the events of their utility, newest first. `Link: rel="next"` is the
    /// next page.
    [ListMemories] memories::list, pages<MemoryHistory>(ListMemories::DEFAULT_LIMIT),
        query("before", "The last memory of the previous page", id()),
        query("status", "Only memories with this status", listed_status());
    /// One memory with the events of its utility and its changes.
    [GetMemory] memories::get, gives<MemoryHistory>();
    /// Edits, quarantines or restores a memory. A quarantined memory is left out of queries and skills, but
    /// keeps learning. Every change is recorded with its key and can be undone. A skill that was
    /// written from the memory is deleted, unless the memory is only restored.
    [UpdateMemory] memories::update, takes<MemoryUpdate>(), gives<MemoryHistory>();
    /// Deletes a memory with its events permanently: an undo does not restore it. The deletion, its time and its
    /// key stay on record. A skill that was written from it is deleted.
    [DeleteMemory] memories::delete, gives<DeletedMemory>();
    /// The changes of all memories, also of deleted ones, newest first. `Link: rel="next"` is the next page.
    [ListMemoryChanges] memories::changes, pages<ChangeRecord>(ListMemoryChanges::DEFAULT_LIMIT),
        query("before", "The last change of the previous page", id());

    /// The project's totals and skill. A difference between two overviews means that the project changed.
    [ExportOverview] archive::overview, gives<Overview>();
    /// Stores parts of an export under their ids, all or none. Existing records stay unchanged, so a
    /// request can be repeated.
    [ImportProject] archive::import, creates_project(), takes<ImportProject>(), gives<ImportReport>();
    /// The project's memories with the events of their utility, oldest first.
    [ExportMemories] archive::memories, lists<ArchivedMemory>(), limit(ExportOverview::MAX_LIMIT, 200),
        query("after", "The last memory of the previous page", id());
    /// The project's traces with their internal data, oldest first.
    [ExportTraces] archive::traces, lists<ArchivedTrace>(), limit(ExportOverview::MAX_LIMIT, 200),
        query("after", "The last trace of the previous page", id());

    /// Stores a trace. A review in it needs the scope `review:write`; it is queued and becomes a memory in
    /// the background. A review with its own reflection becomes a memory immediately, and needs `memory:write`.
    [CreateTrace] traces::create, creates_project(), takes<CreateTrace>(), idempotency_key(),
        replies<TraceReceipt>("201", "Stored"), replies<TraceReceipt>("202", "Stored, the review is queued");
    /// Stores traces that travel together, each as if it came alone: the reply has a receipt or an error for each of
    /// them, in order. One that is refused keeps no other from being stored.
    [CreateTraces] traces::create_together, creates_project(), takes<CreateTraces>(), lists<BatchEntry>();
    /// The project's traces, newest first by default. `Link: rel="next"` is the next page.
    [ListTraces] traces::list, pages<Trace>(ListTraces::DEFAULT_LIMIT),
        query("review_status", "Only traces with this review status", ReviewStatus::schema()),
        query("ingest_status", "Only traces with this ingest status", IngestStatus::schema()),
        query("before", "The last trace of the previous page", id()),
        query("after", "The same, oldest first", id()),
        query("order", "The order; that of the cursor by default", ListOrder::schema());
    /// Deletes traces that were recorded with the same key; others need the scope `trace:admin`. Their
    /// memories stay unless `delete_memories` is set, which also needs the scope `memory:write`; memories that
    /// another key has taught stay without the scope `memory:admin`. The effects of their reviews stay until an
    /// `undo`.
    [DeleteTraces] traces::delete, takes<DeleteTraces>(), gives<DeletedTraces>();
    /// One trace.
    [GetTrace] traces::get, gives<Trace>();
    /// Reviews a trace. The reply has the new memory. A repeated verdict changes nothing; another verdict
    /// is a conflict.
    [ReviewTrace] traces::review, takes<Review>(), gives<Trace>();
    /// Replaces the review of a trace. The memory is rewritten under the same id, and the utilities are
    /// recomputed as if this had been the first review.
    [ChangeReview] traces::change_review, takes<Review>(), gives<Trace>();
    /// Withdraws the review of a trace: its memory is set aside, and the utilities are recomputed without it.
    [WithdrawReview] traces::withdraw_review, gives<Trace>();
    /// Reviews the one trace that has this idempotency key, or this metadata. If several have the metadata, it is
    /// the only one of them without a review. Else it is a conflict that names them, and nothing is reviewed.
    [ReviewByKey] traces::review_by_key, takes<ReviewByKey>(), gives<Trace>();
    /// Retries a failed ingestion.
    [RetryTrace] traces::retry, replies<TraceReceipt>("202", "Queued again");

    /// Undoes the reviews of a key, a reviewer, a trace or a period. With `dry_run`, the reply lists the changes
    /// and nothing is changed. Utilities become what they would be without the undone reviews. Edits, quarantines
    /// and restorations of memories are undone too; deleted memories are not restored. A list of the reply has at
    /// most 1,000 entries; `totals` has their full number. An undo is final and recorded: preview it with
    /// `dry_run` and export the project first.
    [Undo] undo::undo, takes<Undo>(), gives<UndoReport>();
    /// The records of undos, newest first: who undid what, when, and how much it changed.
    /// `Link: rel="next"` is the next page.
    [ListUndos] undo::list, pages<UndoRecord>(ListUndos::DEFAULT_LIMIT),
        query("before", "The last record of the previous page", id());

    /// The project's skill: its memories condensed into one guide.
    [GetSkill] skill::get, gives<Skill>();
    /// Writes a new version of the skill.
    [CreateSkill] skill::create, may_take<CreateSkill>("The number of memories of each kind to read"), gives<Skill>();

    /// The project's keys, without their secrets, oldest first.
    [ListApiKeys] keys::list, lists<ApiKey>();
    /// Creates a key for the project. A project key grants only scopes that it has, and its expiry and
    /// largest `alpha` bound those of the new key.
    [CreateApiKey] keys::create, creates_project(), takes<CreateApiKey>(),
        replies<CreatedApiKey>("201", "The key, whose secret is shown only once");
    /// Revokes a key. A repeated call changes nothing. A project key revokes itself, and keys that it could have
    /// created: without a scope that it has not, a larger `max_alpha` or a later expiry. Keys that the revoked one
    /// created stay valid; their `created_by` names it.
    [RevokeApiKey] keys::revoke, gives<ApiKey>();
}
