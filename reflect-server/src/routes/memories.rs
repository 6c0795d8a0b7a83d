use axum::Json;
use axum::extract::State;
use reflect_types::{Memory, ProjectId, QueryMemories};

use crate::access::{In, MemoryRead};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::Body;
use crate::openapi::Refusals;

/// The memories that rank best for a task, best first.
#[utoipa::path(
    post, path = "/v1/projects/{project_id}/memory/query",
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
