//! The requests of traces and of logs.

use opentelemetry_proto::tonic::collector::logs::v1::{
    ExportLogsPartialSuccess, ExportLogsServiceRequest, ExportLogsServiceResponse,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::Event;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{Span as WireSpan, Status};
use prost::Message;
use reflect_types::spans::{Attributes, Span, SpanEvent, SpanRecord};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::project::ByProject;
use super::size::Shape;
use super::values::{attributes, id, value};
use crate::error::ApiError;

/// The request of a signal.
pub(super) trait Signal: Message + Default + DeserializeOwned + 'static {
    const SHAPE: Shape;
    type Response: Message + Serialize;

    /// Sorts its records by project. Returns the number of those that are invalid.
    fn records(self, sorted: &mut ByProject<'_>) -> Result<u64, ApiError>;

    /// The reply, with the number of records that were not stored.
    fn response(rejected: u64, why: String) -> Self::Response;
}

impl Signal for ExportTraceServiceRequest {
    const SHAPE: Shape = Shape::Traces;
    type Response = ExportTraceServiceResponse;

    fn records(self, sorted: &mut ByProject<'_>) -> Result<u64, ApiError> {
        let mut invalid = 0;
        for of_resource in self.resource_spans {
            let resource = resource(of_resource.resource);
            let records = sorted.of(&resource)?;
            for span in of_resource
                .scope_spans
                .into_iter()
                .flat_map(|scope| scope.spans)
            {
                match self::span(span, &resource) {
                    Some(span) => records.push(SpanRecord::Span(span)),
                    None => invalid += 1,
                }
            }
        }
        Ok(invalid)
    }

    fn response(rejected: u64, why: String) -> Self::Response {
        ExportTraceServiceResponse {
            partial_success: (rejected > 0).then(|| ExportTracePartialSuccess {
                rejected_spans: rejected.try_into().unwrap_or(i64::MAX),
                error_message: why,
            }),
        }
    }
}

impl Signal for ExportLogsServiceRequest {
    const SHAPE: Shape = Shape::Logs;
    type Response = ExportLogsServiceResponse;

    /// Log records that are no events of an agent's spans are passed over.
    fn records(self, sorted: &mut ByProject<'_>) -> Result<u64, ApiError> {
        for of_resource in self.resource_logs {
            let resource = resource(of_resource.resource);
            let records = sorted.of(&resource)?;
            let logs = of_resource.scope_logs.into_iter();
            records.extend(logs.flat_map(|scope| scope.log_records).filter_map(event));
        }
        Ok(0)
    }

    fn response(rejected: u64, why: String) -> Self::Response {
        ExportLogsServiceResponse {
            partial_success: (rejected > 0).then(|| ExportLogsPartialSuccess {
                rejected_log_records: rejected.try_into().unwrap_or(i64::MAX),
                error_message: why,
            }),
        }
    }
}

fn resource(resource: Option<Resource>) -> Attributes {
    attributes(
        resource
            .map(|resource| resource.attributes)
            .unwrap_or_default(),
    )
}

/// A span with what its resource says about the run; `None` without valid ids.
fn span(span: WireSpan, resource: &Attributes) -> Option<Span> {
    let mut attributes = attributes(span.attributes);
    let says =
        |name: &str| name.starts_with("reflect.") || ["service.name", "session.id"].contains(&name);
    for (name, value) in resource.iter().filter(|(name, _)| says(name)) {
        attributes.entry(name).or_insert_with(|| value.clone());
    }
    Some(Span {
        trace_id: id(&span.trace_id, 16)?,
        span_id: id(&span.span_id, 8)?,
        parent_span_id: id(&span.parent_span_id, 8),
        name: span.name,
        start: span.start_time_unix_nano,
        end: span.end_time_unix_nano,
        attributes,
        events: span.events.into_iter().map(span_event).collect(),
        error: span.status.and_then(error),
    })
}

fn span_event(event: Event) -> SpanEvent {
    SpanEvent {
        name: event.name,
        time: event.time_unix_nano,
        attributes: attributes(event.attributes),
        ..SpanEvent::default()
    }
}

fn error(status: Status) -> Option<String> {
    (status.code == StatusCode::Error as i32).then_some(status.message)
}

/// A log record that is an event of an agent's span.
fn event(log: LogRecord) -> Option<SpanRecord> {
    let attributes = attributes(log.attributes);
    let name = match attributes.get("event.name") {
        Some(name) if log.event_name.is_empty() => name.as_str()?.to_owned(),
        _ => log.event_name,
    };
    let event = SpanEvent {
        name,
        time: match log.time_unix_nano {
            0 => log.observed_time_unix_nano,
            time => time,
        },
        attributes,
        body: value(log.body),
    };
    event.is_agents().then_some(())?;
    Some(SpanRecord::Event {
        trace_id: id(&log.trace_id, 16)?,
        span_id: id(&log.span_id, 8)?,
        event,
    })
}
