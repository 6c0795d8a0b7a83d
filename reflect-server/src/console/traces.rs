//! The list of traces, and a trace.

use axum::http::StatusCode;
use axum::http::header::CONTENT_DISPOSITION;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use reflect_console::{RawTrace, TraceFilters, TracePage, TraceSource, TracesPage};
use reflect_types::{GetTrace, ListMemories, ListTraces, Trace, TraceId};

use super::answer::{Problem, long_page, page, protected};
use super::open_trace::OpenTrace;
use super::review::is_own;
use super::visit::Visit;
use crate::error::ApiError;
use crate::reply::ReplySlot;

/// The list.
pub(super) async fn list(visit: Visit) -> Result<Response, Problem> {
    visit.require::<ListTraces>()?;
    let filters = TraceFilters {
        q: visit.query.text("q"),
        state: visit.query.text("state"),
        model: visit.query.text("model"),
        session: visit.query.text("session"),
        before: visit.query.text("before"),
    };
    let engine = visit.engine();
    let found = engine
        .browse_traces(&visit.project, &filters.search())
        .await?;
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
    visit.require::<GetTrace>()?;
    let id = trace_id(&visit);
    let tree = visit.engine().trace_tree(&visit.project, &id).await?;
    let OpenTrace { slot, trace, given } = OpenTrace::read(&visit, &id).await?;
    let mut learned = Vec::new();
    if visit.may::<ListMemories>() {
        let id = trace.created_memory_id.as_slice();
        learned = visit.engine().find_memories(&visit.project, id).await?;
    }
    let keys = visit.keys().await?;
    let source = TraceSource {
        trace: &trace,
        tree: &tree,
        given: &given,
        learned: learned.first(),
        keys: &keys,
        is_own: is_own(&trace, &visit),
    };
    let frame = visit.frame().await?;
    let page = TracePage::new(frame, source, Timestamp::now());
    Ok(long_page(slot, &page))
}

/// The JSON of a trace, as a part of its page.
pub(super) async fn raw(visit: Visit) -> Result<Response, Problem> {
    let (slot, trace) = trace(&visit).await?;
    Ok(long_page(slot, &RawTrace::new(&trace)))
}

/// The JSON of a trace, as a file.
pub(super) async fn json(visit: Visit) -> Result<Response, Problem> {
    let (slot, trace) = trace(&visit).await?;
    let json = serde_json::to_vec_pretty(&trace).map_err(ApiError::internal)?;
    let file = [(CONTENT_DISPOSITION, "attachment; filename=\"trace.json\"")];
    let response = (StatusCode::OK, file, slot.body(json)).into_response();
    Ok(protected(response, "application/json"))
}

async fn trace(visit: &Visit) -> Result<(ReplySlot, Trace), Problem> {
    visit.require::<GetTrace>()?;
    OpenTrace::held(visit, &trace_id(visit)).await
}

fn trace_id(visit: &Visit) -> TraceId {
    TraceId::new(visit.segment("trace_id"))
}
