use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use reflect_types::{
    ChangeRecord, DeleteMemory, DeletedMemory, ExplainMemories, Explanation, GetMemory,
    ListMemories, ListMemoryChanges, Memory, MemoryHistory, MemoryId, MemoryStatus, MemoryUpdate,
    Operation as _, ProjectId, QueryMemories, UpdateMemory,
};

use crate::access::{Access, MemoryPath};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Body, Params};
use crate::openapi::Refusals;
use crate::routes::paging;

/// The memories that rank best for a task, best first.
#[utoipa::path(
    post, path = "/v1/projects/{project_id}/memory/query", operation_id = "query_memories",
    params(("project_id" = ProjectId, Path)), security(("key" = [])),
    request_body = QueryMemories,
    responses((status = 200, body = Vec<Memory>), Refusals)
)]
pub(super) async fn query(
    State(app): State<App>,
    access: Access<QueryMemories>,
    Body(query): Body<QueryMemories>,
) -> Result<Json<Vec<Memory>>, ApiError> {
    let found = app.engine().query_memories(&access.project, &query).await?;
    Ok(Json(found))
}

/// The numbers behind the answer to a query: what every memory scores, and why it is in the answer or not.
#[utoipa::path(
    post, path = "/v1/projects/{project_id}/memory/explain", operation_id = "explain_memories",
    params(("project_id" = ProjectId, Path)), security(("key" = [])),
    request_body = QueryMemories,
    responses((status = 200, body = Explanation), Refusals)
)]
pub(super) async fn explain(
    State(app): State<App>,
    access: Access<ExplainMemories>,
    Body(ExplainMemories(query)): Body<ExplainMemories>,
) -> Result<Json<Explanation>, ApiError> {
    let _slot = app.replies().acquire(&access.project).await?;
    let engine = app.engine();
    Ok(Json(
        engine.explain_memories(&access.project, &query).await?,
    ))
}

/// The project's memories with the events of their utility, newest first. `Link: rel="next"` is the
/// next page.
#[utoipa::path(
    get, path = "/v1/projects/{project_id}/memories", operation_id = "list_memories",
    security(("key" = [])),
    params(
        ("project_id" = ProjectId, Path),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000),
        ("before" = Option<MemoryId>, Query, description = "The last memory of the previous page"),
        ("status" = Option<MemoryStatus>, Query, description = "Only memories with this status"),
    ),
    responses(
        (
            status = 200, body = Vec<MemoryHistory>,
            headers(("Link" = String, description = "The next page"))
        ),
        Refusals,
    )
)]
pub(super) async fn list(
    State(app): State<App>,
    access: Access<ListMemories>,
    Params(list): Params<ListMemories>,
) -> Result<(HeaderMap, Response), ApiError> {
    let slot = app.replies().acquire(&access.project).await?;
    let page = app.engine().list_memories(&access.project, &list).await?;
    let next = page.cursor().map(|last| {
        ListMemories {
            before: Some(last.memory.id.clone()),
            ..list
        }
        .path(&access.project)
    });
    Ok((paging::link(next)?, slot.array(page.items)))
}

/// One memory with the events of its utility and its changes.
#[utoipa::path(
    get, path = "/v1/projects/{project_id}/memories/{memory_id}", operation_id = "get_memory",
    security(("key" = [])),
    params(("project_id" = ProjectId, Path), ("memory_id" = MemoryId, Path)),
    responses((status = 200, body = MemoryHistory), Refusals)
)]
pub(super) async fn get(
    State(app): State<App>,
    access: Access<GetMemory>,
    MemoryPath(id): MemoryPath,
) -> Result<Response, ApiError> {
    let slot = app.replies().acquire(&access.project).await?;
    let memory = app.engine().get_memory(&access.project, &id).await?;
    Ok(slot.value(memory))
}

/// Edits, quarantines or restores a memory. A quarantined memory is left out of queries and skills, but
/// keeps learning. Every change is recorded with its key and can be undone. A skill that was
/// written from the memory is deleted, unless the memory is only restored.
#[utoipa::path(
    patch, path = "/v1/projects/{project_id}/memories/{memory_id}", operation_id = "update_memory",
    security(("key" = [])),
    params(("project_id" = ProjectId, Path), ("memory_id" = MemoryId, Path)),
    request_body = MemoryUpdate,
    responses((status = 200, body = MemoryHistory), Refusals)
)]
pub(super) async fn update(
    State(app): State<App>,
    access: Access<UpdateMemory>,
    MemoryPath(memory_id): MemoryPath,
    Body(update): Body<MemoryUpdate>,
) -> Result<Json<MemoryHistory>, ApiError> {
    let update = UpdateMemory { memory_id, update };
    let engine = access.engine(&app);
    Ok(Json(engine.update_memory(&access.project, &update).await?))
}

/// Deletes a memory with its events permanently: an undo does not restore it. The deletion, its time and its
/// key stay on record. A skill that was written from it is deleted.
#[utoipa::path(
    delete, path = "/v1/projects/{project_id}/memories/{memory_id}", operation_id = "delete_memory",
    security(("key" = [])),
    params(("project_id" = ProjectId, Path), ("memory_id" = MemoryId, Path)),
    responses((status = 200, body = DeletedMemory), Refusals)
)]
pub(super) async fn delete(
    State(app): State<App>,
    access: Access<DeleteMemory>,
    MemoryPath(id): MemoryPath,
) -> Result<Json<DeletedMemory>, ApiError> {
    let engine = access.engine(&app);
    Ok(Json(engine.delete_memory(&access.project, &id).await?))
}

/// The changes of all memories, also of deleted ones, newest first. `Link: rel="next"` is the next page.
#[utoipa::path(
    get, path = "/v1/projects/{project_id}/memory/changes", operation_id = "list_memory_changes",
    security(("key" = [])),
    params(
        ("project_id" = ProjectId, Path),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000),
        ("before" = Option<String>, Query, description = "The last change of the previous page"),
    ),
    responses(
        (
            status = 200, body = Vec<ChangeRecord>,
            headers(("Link" = String, description = "The next page"))
        ),
        Refusals,
    )
)]
pub(super) async fn changes(
    State(app): State<App>,
    access: Access<ListMemoryChanges>,
    Params(list): Params<ListMemoryChanges>,
) -> Result<(HeaderMap, Response), ApiError> {
    let slot = app.replies().acquire(&access.project).await?;
    let page = app
        .engine()
        .list_memory_changes(&access.project, &list)
        .await?;
    let next = page.cursor().map(|last| {
        ListMemoryChanges {
            before: Some(last.id.clone()),
            ..list
        }
        .path(&access.project)
    });
    Ok((paging::link(next)?, slot.array(page.items)))
}
