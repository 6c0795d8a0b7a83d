//! Export and import of whole projects.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use reflect_types::{
    ExportMemories, ExportOverview, ExportTraces, ImportProject, ImportReport, Overview,
};

use crate::access::Access;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{LongBody, Params};

pub(super) async fn overview(
    State(app): State<App>,
    access: Access<ExportOverview>,
) -> Result<Json<Overview>, ApiError> {
    Ok(Json(app.engine().export_overview(&access.project).await?))
}

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

pub(super) async fn import(
    State(app): State<App>,
    access: Access<ImportProject>,
    LongBody(import): LongBody<ImportProject>,
) -> Result<Json<ImportReport>, ApiError> {
    let engine = access.engine(&app);
    Ok(Json(engine.import(&access.project, import.pieces).await?))
}
