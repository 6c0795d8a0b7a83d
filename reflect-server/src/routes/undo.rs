use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use reflect_types::{ListUndos, Operation as _, ProjectId, Undo, UndoRecord, UndoReport};

use crate::access::Access;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Body, Params};
use crate::openapi::Refusals;
use crate::routes::paging;

/// Undoes the reviews of a key, a reviewer, a trace or a period. With `dry_run`, the reply lists the changes
/// and nothing is changed. Utilities become what they would be without the undone reviews. Edits, quarantines
/// and restorations of memories are undone too; deleted memories are not restored. A list of the reply has at
/// most 1,000 entries; `totals` has their full number. An undo is final and recorded: preview it with
/// `dry_run` and export the project first.
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
    let slot = app.replies().acquire(&access.project).await?;
    let engine = access.engine(&app);
    Ok(slot.value(engine.undo(&access.project, &undo).await?))
}

/// The records of undos, newest first: who undid what, when, and how much it changed.
/// `Link: rel="next"` is the next page.
#[utoipa::path(
    get, path = "/v1/projects/{project_id}/undo", operation_id = "list_undos",
    security(("key" = [])),
    params(
        ("project_id" = ProjectId, Path),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000),
        ("before" = Option<String>, Query, description = "The last record of the previous page"),
    ),
    responses(
        (
            status = 200, body = Vec<UndoRecord>,
            headers(("Link" = String, description = "The next page"))
        ),
        Refusals,
    )
)]
pub(super) async fn list(
    State(app): State<App>,
    access: Access<ListUndos>,
    Params(list): Params<ListUndos>,
) -> Result<(HeaderMap, Json<Vec<UndoRecord>>), ApiError> {
    let page = app.engine().list_undos(&access.project, &list).await?;
    let next = page.cursor().map(|last| {
        let before = Some(last.id.clone());
        ListUndos { before, ..list }.path(&access.project)
    });
    Ok((paging::link(next)?, Json(page.items)))
}
