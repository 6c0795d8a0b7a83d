//! Export and import of whole projects.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use reflect_types::{
    ArchivedMemory, ArchivedTrace, ExportMemories, ExportOverview, ExportTraces, ImportProject,
    ImportReport, MemoryId, Overview, ProjectId, TraceId,
};

use crate::access::Access;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{LongBody, Params};
use crate::openapi::Refusals;

/// The project's totals and skill. A difference between two overviews means that the project changed.
#[utoipa::path(
    get, path = "/v1/projects/{project_id}/archive", operation_id = "export_overview",
    security(("key" = [])), params(("project_id" = ProjectId, Path)),
    responses((status = 200, body = Overview), Refusals)
)]
pub(super) async fn overview(
    State(app): State<App>,
    access: Access<ExportOverview>,
) -> Result<Json<Overview>, ApiError> {
    Ok(Json(app.engine().export_overview(&access.project).await?))
}

/// The project's memories with the events of their utility, oldest first.
#[utoipa::path(
    get, path = "/v1/projects/{project_id}/archive/memories", operation_id = "export_memories",
    security(("key" = [])),
    params(
        ("project_id" = ProjectId, Path),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 200),
        ("after" = Option<MemoryId>, Query, description = "The last memory of the previous page"),
    ),
    responses((status = 200, body = Vec<ArchivedMemory>), Refusals)
)]
pub(super) async fn memories(
    State(app): State<App>,
    access: Access<ExportMemories>,
    Params(page): Params<ExportMemories>,
) -> Result<Response, ApiError> {
    let slot = app.replies().acquire(&access.project).await?;
    let engine = app.engine();
    let memories = engine.export_memories(&access.project, &page).await?;
    Ok(slot.array(memories))
}

/// The project's traces with their internal data, oldest first.
#[utoipa::path(
    get, path = "/v1/projects/{project_id}/archive/traces", operation_id = "export_traces",
    security(("key" = [])),
    params(
        ("project_id" = ProjectId, Path),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 200),
        ("after" = Option<TraceId>, Query, description = "The last trace of the previous page"),
    ),
    responses((status = 200, body = Vec<ArchivedTrace>), Refusals)
)]
pub(super) async fn traces(
    State(app): State<App>,
    access: Access<ExportTraces>,
    Params(page): Params<ExportTraces>,
) -> Result<Response, ApiError> {
    let slot = app.replies().acquire(&access.project).await?;
    let engine = app.engine();
    let traces = engine.export_traces_json(&access.project, &page).await?;
    Ok(slot.array(traces))
}

/// Stores parts of an export under their ids, all or none. Existing records stay unchanged, so a
/// request can be repeated.
#[utoipa::path(
    post, path = "/v1/projects/{project_id}/archive", operation_id = "import_project",
    security(("key" = [])),
    params(("project_id" = ProjectId, Path)),
    request_body = ImportProject,
    responses((status = 200, body = ImportReport), Refusals)
)]
pub(super) async fn import(
    State(app): State<App>,
    access: Access<ImportProject>,
    LongBody(import): LongBody<ImportProject>,
) -> Result<Json<ImportReport>, ApiError> {
    let engine = access.engine(&app);
    Ok(Json(engine.import(&access.project, import.pieces).await?))
}
