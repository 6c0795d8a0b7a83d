use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use reflect_types::{ListUndos, Operation as _, Undo, UndoRecord};

use crate::access::Access;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Body, Params};
use crate::routes::paging;

pub(super) async fn undo(
    State(app): State<App>,
    access: Access<Undo>,
    Body(undo): Body<Undo>,
) -> Result<Response, ApiError> {
    let slot = app.replies().acquire(&access.project).await?;
    let engine = access.engine(&app);
    Ok(slot.value(engine.undo(&access.project, &undo).await?))
}

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
