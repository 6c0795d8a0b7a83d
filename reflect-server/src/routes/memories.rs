use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use reflect_types::{
    DeleteMemory, DeletedMemory, ExplainMemories, Explanation, GetMemory, ListMemories,
    ListMemoryChanges, Memory, MemoryHistory, MemoryUpdate, Operation as _, QueryMemories,
    UpdateMemory,
};

use crate::access::{Access, MemoryPath};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Body, Params};
use crate::routes::paging;

pub(super) async fn query(
    State(app): State<App>,
    access: Access<QueryMemories>,
    Body(query): Body<QueryMemories>,
) -> Result<Json<Vec<Memory>>, ApiError> {
    let found = app.engine().query_memories(&access.project, &query).await?;
    Ok(Json(found))
}

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

pub(super) async fn get(
    State(app): State<App>,
    access: Access<GetMemory>,
    MemoryPath(id): MemoryPath,
) -> Result<Response, ApiError> {
    let slot = app.replies().acquire(&access.project).await?;
    let memory = app.engine().get_memory(&access.project, &id).await?;
    Ok(slot.value(memory))
}

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

pub(super) async fn delete(
    State(app): State<App>,
    access: Access<DeleteMemory>,
    MemoryPath(id): MemoryPath,
) -> Result<Json<DeletedMemory>, ApiError> {
    let engine = access.engine(&app);
    Ok(Json(engine.delete_memory(&access.project, &id).await?))
}

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
