use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use reflect_types::{
    ListMemories, Memory, MemoryHistory, MemoryId, Operation as _, ProjectId, QueryMemories,
};

use crate::access::{In, InMemory, MemoryRead};
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
    access: In<MemoryRead>,
    Body(query): Body<QueryMemories>,
) -> Result<Json<Vec<Memory>>, ApiError> {
    let found = app.engine().query_memories(&access.project, &query).await?;
    Ok(Json(found))
}

/// All memories of the project with what moved them, newest first. `Link: rel="next"` leads to the
/// next page.
#[utoipa::path(
    get, path = "/v1/projects/{project_id}/memories", operation_id = "list_memories",
    security(("key" = [])),
    params(
        ("project_id" = ProjectId, Path),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000),
        ("before" = Option<MemoryId>, Query, description = "The last memory of the page before"),
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
    access: In<MemoryRead>,
    Params(list): Params<ListMemories>,
) -> Result<(HeaderMap, Json<Vec<MemoryHistory>>), ApiError> {
    let page = app.engine().list_memories(&access.project, &list).await?;
    let next = page.next.map(|before| {
        ListMemories {
            before: Some(before),
            ..list
        }
        .path(&access.project)
    });
    Ok((paging::link(next)?, Json(page.memories)))
}

/// One memory with all that ever moved it.
#[utoipa::path(
    get, path = "/v1/projects/{project_id}/memories/{memory_id}", operation_id = "get_memory",
    security(("key" = [])),
    params(("project_id" = ProjectId, Path), ("memory_id" = MemoryId, Path)),
    responses((status = 200, body = MemoryHistory), Refusals)
)]
pub(super) async fn get(
    State(app): State<App>,
    access: In<MemoryRead>,
    InMemory(id): InMemory,
) -> Result<Json<MemoryHistory>, ApiError> {
    Ok(Json(app.engine().get_memory(&access.project, &id).await?))
}
