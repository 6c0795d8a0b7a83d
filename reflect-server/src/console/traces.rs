//! The list of traces, and a trace.

use axum::body::Body;
use axum::http::StatusCode;
use axum::http::header::CONTENT_DISPOSITION;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use reflect_console::{RawTrace, TraceFilters, TracePage, TracesPage};
use reflect_types::{GetTrace, ListTraces, MemoryId, MemoryRecord, Trace, TraceId};

use super::answer::{Problem, page, protected};
use super::visit::Visit;
use crate::error::ApiError;

/// The list.
pub(super) async fn list(visit: Visit) -> Result<Response, Problem> {
    visit.require::<ListTraces>()?;
    let filters = TraceFilters {
        q: visit.query.text("q"),
        state: visit.query.text("state"),
        model: visit.query.text("model"),
        before: visit.query.text("before"),
    };
    let engine = visit.engine();
    let found = engine
        .browse_traces(&visit.project, &filters.search())
        .await;
    let found = found.map_err(|error| visit.refused(error))?;
    let models = engine.trace_models(&visit.project).await?;
    let (frame, first) = (visit.frame().await?, visit.first_trace());
    Ok(page(&TracesPage::new(
        frame,
        filters,
        models,
        &found,
        first,
        Timestamp::now(),
    )))
}

/// A trace.
pub(super) async fn one(visit: Visit) -> Result<Response, Problem> {
    let trace = trace(&visit).await?;
    let given = memories(&visit, &trace.retrieved_memory_ids).await?;
    let learned = memories(&visit, trace.created_memory_id.as_slice()).await?;
    let frame = visit.frame().await?;
    Ok(page(&TracePage::new(
        frame,
        &trace,
        &given,
        learned.first(),
        Timestamp::now(),
    )))
}

/// The JSON of a trace, as a part of its page.
pub(super) async fn raw(visit: Visit) -> Result<Response, Problem> {
    Ok(page(&RawTrace::new(&trace(&visit).await?)))
}

/// The JSON of a trace, as a file.
pub(super) async fn json(visit: Visit) -> Result<Response, Problem> {
    let trace = trace(&visit).await?;
    let json = serde_json::to_vec_pretty(&trace).map_err(ApiError::internal)?;
    let file = [(CONTENT_DISPOSITION, "attachment; filename=\"trace.json\"")];
    let response = (StatusCode::OK, file, Body::from(json)).into_response();
    Ok(protected(response, "application/json"))
}

async fn trace(visit: &Visit) -> Result<Trace, Problem> {
    visit.require::<GetTrace>()?;
    let id = TraceId::new(visit.segment("trace_id"));
    let found = visit.engine().get_trace(&visit.project, &id).await;
    found.map_err(|error| visit.refused(error))
}

/// These memories in their order, without those that are deleted.
pub(super) async fn memories(
    visit: &Visit,
    ids: &[MemoryId],
) -> Result<Vec<MemoryRecord>, Problem> {
    Ok(visit.engine().find_memories(&visit.project, ids).await?)
}
