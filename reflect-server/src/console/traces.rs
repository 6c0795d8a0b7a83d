//! The list of traces, and a trace.

use axum::body::Body;
use axum::http::StatusCode;
use axum::http::header::CONTENT_DISPOSITION;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use reflect_console::{RawTrace, TraceFilters, TracePage, TraceSource, TracesPage};
use reflect_types::{GetTrace, ListMemories, ListTraces, Trace, TraceId};

use super::answer::{Problem, page, protected};
use super::review::is_own;
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
    let engine = visit.engine();
    let (task, ids) = (&trace.task, &trace.retrieved_memory_ids);
    let (mut given, mut learned) = (Vec::new(), Vec::new());
    if visit.may::<ListMemories>() {
        given = engine.appraise(&visit.project, task, ids).await?;
        let id = trace.created_memory_id.as_slice();
        learned = engine.find_memories(&visit.project, id).await?;
    }
    let keys = visit.keys().await?;
    let source = TraceSource {
        trace: &trace,
        given: &given,
        learned: learned.first(),
        keys: &keys,
        is_own: is_own(&trace, &visit),
    };
    let frame = visit.frame().await?;
    Ok(page(&TracePage::new(frame, source, Timestamp::now())))
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
