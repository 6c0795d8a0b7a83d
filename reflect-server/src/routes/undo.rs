use axum::Json;
use axum::extract::State;
use reflect_types::{ProjectId, Undo, UndoReport};

use crate::access::Access;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::Body;
use crate::openapi::Refusals;

/// Takes back what a key, a reviewer, a trace or a time has taught. With `dry_run`, the reply says what
/// would change, and nothing does. Utilities become what they would be if nothing of it had happened. Edits,
/// quarantines and restorations of memories are taken back too; deleted memories do not come back.
#[utoipa::path(
    post, path = "/v1/projects/{project_id}/undo", operation_id = "undo",
    security(("key" = [])),
    params(("project_id" = ProjectId, Path)),
    request_body = Undo,
    responses((status = 200, body = UndoReport), Refusals)
)]
pub(super) async fn undo(
    State(app): State<App>,
    access: Access<Undo>,
    Body(undo): Body<Undo>,
) -> Result<Json<UndoReport>, ApiError> {
    let engine = access.engine(&app);
    Ok(Json(engine.undo(&access.project, &undo).await?))
}
