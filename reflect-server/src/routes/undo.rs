use axum::extract::State;
use axum::response::Response;
use reflect_types::{ProjectId, Undo, UndoReport};

use crate::access::Access;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::Body;
use crate::openapi::Refusals;

/// Takes back what a key, a reviewer, a trace or a time has taught. With `dry_run`, the reply says what
/// would change, and nothing does. Utilities become what they would be if nothing of it had happened. Edits,
/// quarantines and restorations of memories are taken back too; deleted memories do not come back. A list
/// of the reply has at most 1,000 entries; `totals` has their full number.
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
) -> Result<Response, ApiError> {
    let slot = app.replies().acquire().await?;
    let engine = access.engine(&app);
    Ok(slot.value(engine.undo(&access.project, &undo).await?))
}
