use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use reflect_types::{
    CreateTrace, DeleteTraces, DeletedTraces, IngestStatus, ListTraces, Operation as _, ProjectId,
    Review, Scope, Trace, TraceId, TraceReceipt,
};

use crate::access::{In, InTrace, ReviewWrite, TraceOrMemoryWrite, TraceRead, TraceWrite};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Body, IdempotencyKey, Params};
use crate::openapi::Refusals;
use crate::routes::paging;

/// Stores a run. With a review it is queued and becomes a memory in the background; a review that
/// brings its own reflection becomes one at once, and needs the scope `memory:write`.
#[utoipa::path(
    post, path = "/v1/projects/{project_id}/traces", operation_id = "create_trace",
    security(("key" = [])),
    params(
        ("project_id" = ProjectId, Path),
        ("Idempotency-Key" = Option<String>, Header, max_length = 255,
            description = "One UUID per run: the same again stores nothing and gets the first answer"),
    ),
    request_body = CreateTrace,
    responses(
        (status = 201, description = "Stored, nothing left to do", body = TraceReceipt),
        (status = 202, description = "Stored, its review is queued", body = TraceReceipt),
        Refusals,
    )
)]
pub(super) async fn create(
    State(app): State<App>,
    access: In<TraceOrMemoryWrite>,
    IdempotencyKey(key): IdempotencyKey,
    Body(trace): Body<CreateTrace>,
) -> Result<(StatusCode, Json<TraceReceipt>), ApiError> {
    let review = trace.review.as_ref();
    let authored = review.is_some_and(|review| review.reflection.is_some());
    access.require(if authored {
        Scope::MemoryWrite
    } else {
        Scope::TraceWrite
    })?;
    let stored = access
        .engine(&app)
        .create_trace(&access.project, trace, key.as_deref())
        .await?;
    let status = match stored.ingest_status {
        IngestStatus::Queued => StatusCode::ACCEPTED,
        _ => StatusCode::CREATED,
    };
    Ok((status, Json(stored)))
}

/// The runs of the project, newest first. `Link: rel="next"` leads to the next page.
#[utoipa::path(
    get, path = "/v1/projects/{project_id}/traces", operation_id = "list_traces",
    security(("key" = [])),
    params(
        ("project_id" = ProjectId, Path),
        ("review_status" = Option<reflect_types::ReviewStatus>, Query),
        ("ingest_status" = Option<reflect_types::IngestStatus>, Query),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000),
        ("before" = Option<TraceId>, Query, description = "The last trace of the page before"),
    ),
    responses(
        (status = 200, body = Vec<Trace>, headers(("Link" = String, description = "The next page"))),
        Refusals,
    )
)]
pub(super) async fn list(
    State(app): State<App>,
    access: In<TraceRead>,
    Params(list): Params<ListTraces>,
) -> Result<(HeaderMap, Json<Vec<Trace>>), ApiError> {
    let page = app.engine().list_traces(&access.project, &list).await?;
    let next = page.next.map(|before| {
        let next = ListTraces {
            before: Some(before),
            ..list
        };
        next.path(&access.project)
    });
    Ok((paging::link(next)?, Json(page.traces)))
}

/// One run.
#[utoipa::path(
    get, path = "/v1/projects/{project_id}/traces/{trace_id}", operation_id = "get_trace",
    security(("key" = [])),
    params(("project_id" = ProjectId, Path), ("trace_id" = TraceId, Path)),
    responses((status = 200, body = Trace), Refusals)
)]
pub(super) async fn get(
    State(app): State<App>,
    access: In<TraceRead>,
    InTrace(id): InTrace,
) -> Result<Json<Trace>, ApiError> {
    Ok(Json(app.engine().get_trace(&access.project, &id).await?))
}

/// Judges a run. The answer has the memory that came of it. The same verdict again changes
/// nothing; another one is a conflict.
#[utoipa::path(
    post, path = "/v1/projects/{project_id}/traces/{trace_id}/review", operation_id = "review_trace",
    security(("key" = [])),
    params(("project_id" = ProjectId, Path), ("trace_id" = TraceId, Path)),
    request_body = Review,
    responses((status = 200, body = Trace), Refusals)
)]
pub(super) async fn review(
    State(app): State<App>,
    access: In<ReviewWrite>,
    InTrace(id): InTrace,
    Body(review): Body<Review>,
) -> Result<Json<Trace>, ApiError> {
    may_author(&access, &review)?;
    let judged = app
        .engine()
        .review_trace(&access.project, &id, review)
        .await?;
    Ok(Json(judged))
}

/// Judges a run otherwise than before. Its memory is written anew under the same id, and the
/// utilities become what they would be had this been the review from the start.
#[utoipa::path(
    put, path = "/v1/projects/{project_id}/traces/{trace_id}/review", operation_id = "change_review",
    security(("key" = [])),
    params(("project_id" = ProjectId, Path), ("trace_id" = TraceId, Path)),
    request_body = Review,
    responses((status = 200, body = Trace), Refusals)
)]
pub(super) async fn change_review(
    State(app): State<App>,
    access: In<ReviewWrite>,
    InTrace(id): InTrace,
    Body(review): Body<Review>,
) -> Result<Json<Trace>, ApiError> {
    may_author(&access, &review)?;
    let judged = app
        .engine()
        .change_review(&access.project, &id, review)
        .await?;
    Ok(Json(judged))
}

/// Takes a run's review back: the memory it made goes, and the utilities become what they would be
/// had it never been given.
#[utoipa::path(
    delete, path = "/v1/projects/{project_id}/traces/{trace_id}/review", operation_id = "withdraw_review",
    security(("key" = [])),
    params(("project_id" = ProjectId, Path), ("trace_id" = TraceId, Path)),
    responses((status = 200, body = Trace), Refusals)
)]
pub(super) async fn withdraw_review(
    State(app): State<App>,
    access: In<ReviewWrite>,
    InTrace(id): InTrace,
) -> Result<Json<Trace>, ApiError> {
    let withdrawn = app.engine().withdraw_review(&access.project, &id).await?;
    Ok(Json(withdrawn))
}

/// A review that brings its own reflection writes a memory.
fn may_author(access: &In<ReviewWrite>, review: &Review) -> Result<(), ApiError> {
    match review.reflection {
        Some(_) => access.require(Scope::MemoryWrite),
        None => Ok(()),
    }
}

/// Puts a run whose ingestion was given up back into the queue.
#[utoipa::path(
    post, path = "/v1/projects/{project_id}/traces/{trace_id}/retry", operation_id = "retry_trace",
    security(("key" = [])),
    params(("project_id" = ProjectId, Path), ("trace_id" = TraceId, Path)),
    responses((status = 202, description = "Queued again", body = TraceReceipt), Refusals)
)]
pub(super) async fn retry(
    State(app): State<App>,
    access: In<TraceWrite>,
    InTrace(id): InTrace,
) -> Result<(StatusCode, Json<TraceReceipt>), ApiError> {
    let queued = app.engine().retry_trace(&access.project, &id).await?;
    Ok((StatusCode::ACCEPTED, Json(queued)))
}

/// Removes runs. What was learned from them stays, unless `delete_memories` says otherwise, which
/// needs the scope `memory:write` too.
#[utoipa::path(
    post, path = "/v1/projects/{project_id}/traces/delete", operation_id = "delete_traces",
    security(("key" = [])),
    params(("project_id" = ProjectId, Path)),
    request_body = DeleteTraces,
    responses((status = 200, body = DeletedTraces), Refusals)
)]
pub(super) async fn delete(
    State(app): State<App>,
    access: In<TraceWrite>,
    Body(which): Body<DeleteTraces>,
) -> Result<Json<DeletedTraces>, ApiError> {
    if which.delete_memories {
        access.require(Scope::MemoryWrite)?;
    }
    Ok(Json(
        app.engine().delete_traces(&access.project, &which).await?,
    ))
}
