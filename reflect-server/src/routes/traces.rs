use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use reflect_types::{
    BatchEntry, ChangeReview, CreateTrace, CreateTraces, DeleteTraces, DeletedTraces, GetTrace,
    IngestStatus, ListTraces, Operation as _, RetryTrace, Review, ReviewByKey, ReviewTrace, Scope,
    Trace, TraceReceipt, WithdrawReview,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::access::{Access, TracePath, bound_alpha, may_create, reviewed};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Body, Params, idempotency_key, json};
use crate::routes::paging;

pub(super) async fn create(
    State(app): State<App>,
    access: Access<CreateTrace>,
    headers: HeaderMap,
    Body(mut trace): Body<CreateTrace>,
) -> Result<(StatusCode, Json<TraceReceipt>), ApiError> {
    trace.idempotency_key = idempotency_key(&headers).or(trace.idempotency_key);
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

/// Traces that are decoded one by one: one that is malformed is refused by itself.
#[derive(Deserialize)]
pub(super) struct Undecoded {
    traces: Vec<Box<RawValue>>,
}

pub(super) async fn create_together(
    State(app): State<App>,
    access: Access<CreateTraces>,
    Body(batch): Body<Undecoded>,
) -> Result<Json<Vec<BatchEntry>>, ApiError> {
    CreateTraces::check_count(batch.traces.len())?;
    let (mut entries, mut traces) = (Vec::new(), Vec::new());
    for trace in batch.traces {
        let taken = async {
            let mut trace: CreateTrace = json(trace.get().as_bytes())?;
            may_create(&access.caller, &access.project, &app, &mut trace).await?;
            Ok::<_, ApiError>(trace)
        };
        entries.push(match taken.await {
            Ok(trace) => {
                traces.push(trace);
                None
            }
            Err(refused) => Some(BatchEntry::Error(refused.into_body())),
        });
    }
    let mut stored = Vec::new();
    if !traces.is_empty() {
        let engine = access.engine(&app);
        stored = engine.create_traces(&access.project, traces).await?;
    }
    let mut stored = stored.into_iter().map(|stored| match stored {
        Ok(receipt) => BatchEntry::Receipt(receipt),
        Err(error) => BatchEntry::Error(ApiError::from(error).into_body()),
    });
    let entries = entries.into_iter();
    Ok(Json(
        entries
            .filter_map(|entry| entry.or_else(|| stored.next()))
            .collect(),
    ))
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
