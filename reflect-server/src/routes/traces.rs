use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use reflect_types::{
    ChangeReview, CreateTrace, DeleteTraces, DeletedTraces, GetTrace, IngestStatus, ListTraces,
    Operation as _, ProjectId, RetryTrace, Review, ReviewByKey, ReviewTrace, Scope, Trace, TraceId,
    TraceReceipt, WithdrawReview,
};

use crate::access::{Access, TracePath, bound_alpha, may_create, reviewed};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Body, IdempotencyKey, Params};
use crate::openapi::Refusals;
use crate::routes::paging;

/// Stores a trace. A review in it needs the scope `review:write`; it is queued and becomes a memory in
/// the background. A review with its own reflection becomes a memory immediately, and needs `memory:write`.
#[utoipa::path(
    post, path = "/v1/projects/{project_id}/traces", operation_id = "create_trace",
    security(("key" = [])),
    params(
        ("project_id" = ProjectId, Path),
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255,
            pattern = "^[!-~]+$",
            description = "One UUID per run: a repeated key stores nothing and returns the first receipt"),
    ),
    request_body = CreateTrace,
    responses(
        (status = 201, description = "Stored", body = TraceReceipt),
        (status = 202, description = "Stored, the review is queued", body = TraceReceipt),
        Refusals,
    )
)]
pub(super) async fn create(
    State(app): State<App>,
    access: Access<CreateTrace>,
    IdempotencyKey(key): IdempotencyKey,
    Body(mut trace): Body<CreateTrace>,
) -> Result<(StatusCode, Json<TraceReceipt>), ApiError> {
    trace.idempotency_key.clone_from(&key);
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

/// The project's traces, newest first by default. `Link: rel="next"` is the next page.
#[utoipa::path(
    get, path = "/v1/projects/{project_id}/traces", operation_id = "list_traces",
    security(("key" = [])),
    params(
        ("project_id" = ProjectId, Path),
        ("review_status" = Option<reflect_types::ReviewStatus>, Query),
        ("ingest_status" = Option<reflect_types::IngestStatus>, Query),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000),
        ("before" = Option<TraceId>, Query, description = "The last trace of the previous page"),
        ("after" = Option<TraceId>, Query, description = "The same, oldest first"),
        ("order" = Option<reflect_types::ListOrder>, Query),
    ),
    responses(
        (status = 200, body = Vec<Trace>, headers(("Link" = String, description = "The next page"))),
        Refusals,
    )
)]
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

/// One trace.
#[utoipa::path(
    get, path = "/v1/projects/{project_id}/traces/{trace_id}", operation_id = "get_trace",
    security(("key" = [])),
    params(("project_id" = ProjectId, Path), ("trace_id" = TraceId, Path)),
    responses((status = 200, body = Trace), Refusals)
)]
pub(super) async fn get(
    State(app): State<App>,
    access: Access<GetTrace>,
    TracePath(id): TracePath,
) -> Result<Response, ApiError> {
    let slot = app.replies().acquire(&access.project).await?;
    let trace = app.engine().get_trace_json(&access.project, &id).await?;
    Ok(slot.value(trace))
}

/// Reviews a trace. The reply has the new memory. A repeated verdict changes nothing; another verdict
/// is a conflict.
#[utoipa::path(
    post, path = "/v1/projects/{project_id}/traces/{trace_id}/review", operation_id = "review_trace",
    security(("key" = [])),
    params(("project_id" = ProjectId, Path), ("trace_id" = TraceId, Path)),
    request_body = Review,
    responses((status = 200, body = Trace), Refusals)
)]
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

/// Reviews the one trace that has this idempotency key, or this metadata. If several have the metadata, it is
/// the only one of them without a review. Else it is a conflict that names them, and nothing is reviewed.
#[utoipa::path(
    post, path = "/v1/projects/{project_id}/reviews/by-key", operation_id = "review_by_key",
    security(("key" = [])),
    params(("project_id" = ProjectId, Path)),
    request_body = ReviewByKey,
    responses((status = 200, body = Trace), Refusals)
)]
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

/// Replaces the review of a trace. The memory is rewritten under the same id, and the utilities are
/// recomputed as if this had been the first review.
#[utoipa::path(
    put, path = "/v1/projects/{project_id}/traces/{trace_id}/review", operation_id = "change_review",
    security(("key" = [])),
    params(("project_id" = ProjectId, Path), ("trace_id" = TraceId, Path)),
    request_body = Review,
    responses((status = 200, body = Trace), Refusals)
)]
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

/// Withdraws the review of a trace: its memory is set aside, and the utilities are recomputed without it.
#[utoipa::path(
    delete, path = "/v1/projects/{project_id}/traces/{trace_id}/review", operation_id = "withdraw_review",
    security(("key" = [])),
    params(("project_id" = ProjectId, Path), ("trace_id" = TraceId, Path)),
    responses((status = 200, body = Trace), Refusals)
)]
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

/// Retries a failed ingestion.
#[utoipa::path(
    post, path = "/v1/projects/{project_id}/traces/{trace_id}/retry", operation_id = "retry_trace",
    security(("key" = [])),
    params(("project_id" = ProjectId, Path), ("trace_id" = TraceId, Path)),
    responses((status = 202, description = "Queued again", body = TraceReceipt), Refusals)
)]
pub(super) async fn retry(
    State(app): State<App>,
    access: Access<RetryTrace>,
    TracePath(id): TracePath,
) -> Result<(StatusCode, Json<TraceReceipt>), ApiError> {
    let queued = app.engine().retry_trace(&access.project, &id).await?;
    Ok((StatusCode::ACCEPTED, Json(queued)))
}

/// Deletes traces that were recorded with the same key; others need the scope `trace:admin`. Their
/// memories stay unless `delete_memories` is set, which also needs the scope `memory:write`; memories that
/// another key has taught stay without the scope `memory:admin`. The effects of their reviews stay until an
/// `undo`.
#[utoipa::path(
    post, path = "/v1/projects/{project_id}/traces/delete", operation_id = "delete_traces",
    security(("key" = [])),
    params(("project_id" = ProjectId, Path)),
    request_body = DeleteTraces,
    responses((status = 200, body = DeletedTraces), Refusals)
)]
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
