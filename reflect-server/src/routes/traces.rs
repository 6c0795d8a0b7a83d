use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use reflect_types::{
    ChangeReview, CreateTrace, DeleteTraces, DeletedTraces, GetTrace, GetTraceTree, IngestStatus,
    ListTraces, Operation as _, RetryTrace, Review, ReviewByKey, ReviewTrace, Scope, Trace,
    TraceReceipt, TraceTree, WithdrawReview,
};

use crate::access::{Access, TracePath, bound_alpha, may_create, reviewed};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Body, Params, idempotency_key};
use crate::routes::paging;

pub(super) async fn create(
    State(app): State<App>,
    access: Access<CreateTrace>,
    headers: HeaderMap,
    Body(mut trace): Body<CreateTrace>,
) -> Result<(StatusCode, Json<TraceReceipt>), ApiError> {
    trace.idempotency_key = idempotency_key(&headers);
    may_create(&access.caller, &access.project, &app, &mut trace).await?;
    let stored = access
        .engine(&app)
        .create_trace(&access.project, trace)
        .await?;
    let status = match stored.ingest_status {
        IngestStatus::Queued => StatusCode::ACCEPTED,
        _ => StatusCode::CREATED,
    };
    Ok((status, Json(stored)))
}

pub(super) async fn list(
    State(app): State<App>,
    access: Access<ListTraces>,
    Params(list): Params<ListTraces>,
) -> Result<(HeaderMap, Response), ApiError> {
    let slot = app.replies().acquire(&access.project).await?;
    let engine = app.engine();
    let page = engine.list_traces_json(&access.project, &list).await?;
    let next = page.cursor().map(|last| {
        let last = last.record().id.clone();
        list.continued(last).path(&access.project)
    });
    Ok((paging::link(next)?, slot.array(page.items)))
}

pub(super) async fn get(
    State(app): State<App>,
    access: Access<GetTrace>,
    TracePath(id): TracePath,
) -> Result<Response, ApiError> {
    let slot = app.replies().acquire(&access.project).await?;
    let trace = app.engine().get_trace_json(&access.project, &id).await?;
    Ok(slot.value(trace))
}

pub(super) async fn tree(
    State(app): State<App>,
    access: Access<GetTraceTree>,
    TracePath(id): TracePath,
) -> Result<Json<TraceTree>, ApiError> {
    Ok(Json(app.engine().trace_tree(&access.project, &id).await?))
}

pub(super) async fn review(
    State(app): State<App>,
    access: Access<ReviewTrace>,
    TracePath(id): TracePath,
    Body(mut review): Body<Review>,
) -> Result<Json<Trace>, ApiError> {
    may_author(&access, &review)?;
    bound_alpha(&access.caller, &access.project, &mut review, &app).await?;
    let done = access
        .engine(&app)
        .review_trace(&access.project, &id, review)
        .await?;
    Ok(Json(reviewed(&access.caller, done)))
}

pub(super) async fn review_by_key(
    State(app): State<App>,
    access: Access<ReviewByKey>,
    Body(mut by_key): Body<ReviewByKey>,
) -> Result<Json<Trace>, ApiError> {
    may_author(&access, &by_key.review)?;
    bound_alpha(&access.caller, &access.project, &mut by_key.review, &app).await?;
    let engine = access.engine(&app);
    let done = engine.review_by_key(&access.project, by_key).await?;
    Ok(Json(reviewed(&access.caller, done)))
}

pub(super) async fn change_review(
    State(app): State<App>,
    access: Access<ChangeReview>,
    TracePath(id): TracePath,
    Body(mut review): Body<Review>,
) -> Result<Json<Trace>, ApiError> {
    may_author(&access, &review)?;
    bound_alpha(&access.caller, &access.project, &mut review, &app).await?;
    let done = access
        .engine(&app)
        .change_review(&access.project, &id, review)
        .await?;
    Ok(Json(reviewed(&access.caller, done)))
}

pub(super) async fn withdraw_review(
    State(app): State<App>,
    access: Access<WithdrawReview>,
    TracePath(id): TracePath,
) -> Result<Json<Trace>, ApiError> {
    let engine = access.engine(&app);
    let done = engine.withdraw_review(&access.project, &id).await?;
    Ok(Json(reviewed(&access.caller, done)))
}

/// Requires `memory:write` for a review with its own reflection.
fn may_author<O>(access: &Access<O>, review: &Review) -> Result<(), ApiError> {
    match review.reflection {
        Some(_) => access.require(Scope::MemoryWrite),
        None => Ok(()),
    }
}

pub(super) async fn retry(
    State(app): State<App>,
    access: Access<RetryTrace>,
    TracePath(id): TracePath,
) -> Result<(StatusCode, Json<TraceReceipt>), ApiError> {
    let queued = app.engine().retry_trace(&access.project, &id).await?;
    Ok((StatusCode::ACCEPTED, Json(queued)))
}

pub(super) async fn delete(
    State(app): State<App>,
    access: Access<DeleteTraces>,
    Body(delete): Body<DeleteTraces>,
) -> Result<Json<DeletedTraces>, ApiError> {
    if delete.delete_memories {
        access.require(Scope::MemoryWrite)?;
    }
    let engine = access.engine(&app);
    Ok(Json(engine.delete_traces(&access.project, &delete).await?))
}
