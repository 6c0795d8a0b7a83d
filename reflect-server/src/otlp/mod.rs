//! OTLP over HTTP: `/v1/traces`, and `/v1/logs` for the events of spans.
//!
//! Spans are stored until their trace is complete; then each run of an agent in it is recorded. Replies and
//! errors have the form and the encoding of the protocol, protobuf or JSON, so the endpoints are not in the
//! OpenAPI document.

mod encoding;
mod project;
mod signal;
mod size;
mod values;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use axum::routing::post;
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use reflect_engine::store::{SpanBatch, SpanCounts};
use reflect_types::Scope;

use self::encoding::Encoding;
use self::project::ByProject;
use self::signal::Signal;
use crate::access::{caller, engine, require};
use crate::app::App;
use crate::error::{ApiError, ErrorDetail};
use crate::extract;

const TRACES: &str = "/v1/traces";
const LOGS: &str = "/v1/logs";

/// The endpoints. Their errors are in the form of the protocol behind [`refusals`].
pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route(TRACES, post(export::<ExportTraceServiceRequest>))
        .route(LOGS, post(export::<ExportLogsServiceRequest>))
}

/// Gives errors the form and the encoding of the protocol, also those of the middleware within it, such as a
/// timeout.
pub(crate) async fn refusals(request: Request, next: Next) -> Response {
    if ![TRACES, LOGS].contains(&request.uri().path()) {
        return next.run(request).await;
    }
    let encoding = Encoding::of(request.headers()).unwrap_or(Encoding::Json);
    let mut reply = next.run(request).await;
    match reply.extensions_mut().remove() {
        Some(ErrorDetail(message)) => encoding.refusal(message, reply),
        None => reply,
    }
}

/// Receives a request of a signal.
async fn export<S: Signal>(State(app): State<App>, request: Request) -> Result<Response, ApiError> {
    let encoding = Encoding::of(request.headers()).ok_or_else(ApiError::unsupported_otlp)?;
    let received = receive::<S>(&app, encoding, request).await;
    let rejected = received.map_err(ApiError::worth_repeating)?;
    Ok(encoding.reply(&S::response(rejected.count, rejected.why())))
}

async fn receive<S: Signal>(
    app: &App,
    encoding: Encoding,
    request: Request,
) -> Result<Rejected, ApiError> {
    let (parts, body) = request.into_parts();
    let caller = caller(&parts, app).await?;
    require(&caller, Scope::TraceWrite)?;
    let mut sorted = ByProject::new(&caller, &parts.headers)?;
    let body = extract::read(Request::from_parts(parts, body), app).await?;
    let _held = app.decoded().hold(encoding.size::<S>(&body)).await?;
    let invalid = encoding.decode::<S>(&body)?.records(&mut sorted)?;
    let engine = engine(&caller, app);
    let mut counts = SpanCounts::default();
    for (project, records) in sorted.records {
        let stored = engine.record_spans(&project, records).await?;
        counts.late += stored.late;
        counts.over_limit += stored.over_limit;
    }
    Ok(Rejected::new(invalid, counts))
}

/// What of a request was not stored, and why.
struct Rejected {
    count: u64,
    reasons: Vec<String>,
}

impl Rejected {
    fn new(invalid: u64, counts: SpanCounts) -> Self {
        let reasons = [
            (invalid, "have no valid trace or span id".to_owned()),
            (
                counts.late,
                "came after their trace was recorded: export more often, or raise the server's \
                 --otlp-quiet"
                    .to_owned(),
            ),
            (
                counts.over_limit,
                format!(
                    "are beyond the {} spans or {} bytes of a trace",
                    SpanBatch::MAX_PARTS,
                    SpanBatch::MAX_BYTES
                ),
            ),
        ];
        let reasons = reasons.into_iter().filter(|(count, _)| *count > 0);
        Self {
            count: invalid + counts.late + counts.over_limit,
            reasons: reasons
                .map(|(count, why)| format!("{count} {why}"))
                .collect(),
        }
    }

    fn why(&self) -> String {
        self.reasons.join("; ")
    }
}
