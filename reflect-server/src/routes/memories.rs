use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use reflect_types::{
    GetMemory, ListMemories, Memory, MemoryHistory, MemoryId, Operation as _, ProjectId,
    QueryMemories,
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

/// The project's memories with the events of their utility, newest first. `Link: rel="next"` is the
/// next page.
#[utoipa::path(
    get, path = "/v1/projects/{project_id}/memories", operation_id = "list_memories",
    security(("key" = [])),
    params(
        ("project_id" = ProjectId, Path),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000),
        ("before" = Option<MemoryId>, Query, description = "The last memory of the previous page"),
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
    let slot = app.replies().acquire().await?;
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

/// One memory with the events of its utility.
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
    let slot = app.replies().acquire().await?;
    let memory = app.engine().get_memory(&access.project, &id).await?;
    Ok(slot.value(memory))
}
