//! What the spans of a framework tell about a run.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use reflect_types::spans::{Attributes, Span, SpanRecord, runs};
use reflect_types::{CreateTrace, Trajectory};
use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes as SpanAttributes, Id, Record};
use tracing::{Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::context::TraceContext;
use super::output::TraceOutput;
use super::spans;

/// A layer of `tracing` that fills the trajectory of the current run from the spans of a framework.
///
/// Spans with fields of the GenAI conventions, such as those of `rig` and `genai`, belong to the run in whose
/// [scope](TraceContext::in_scope) they start. When the run ends, their messages, tool calls, model and tokens
/// are recorded, unless the run brings a trajectory of its own. A returned text stays the final response.
///
/// ```
/// use reflect_sdk::{ReflectClient, ReflectLayer};
/// use tracing_subscriber::prelude::*;
///
/// # fn main() -> Result<(), reflect_sdk::BoxError> {
/// let _subscriber = tracing_subscriber::registry().with(ReflectLayer::new()).set_default();
/// # let folder = tempfile::tempdir()?;
/// # let client = ReflectClient::builder().embedded(folder.path().join("reflect.db"))?;
/// let answer = client.trace("Refund order 7").run(|_| {
///     // A framework does this.
///     let span = tracing::info_span!(
///         "chat",
///         gen_ai.operation.name = "chat",
///         gen_ai.request.model = "gpt-5.4-mini",
///         gen_ai.input.messages = r#"[{"role": "user", "content": "Refund order 7"}]"#,
///         gen_ai.output.messages = r#"[{"role": "assistant", "content": "Refunded."}]"#,
///     );
///     span.in_scope(|| "Refunded.")
/// });
/// # client.blocking().flush(std::time::Duration::from_secs(20));
/// let trace = &client.blocking().list_traces().call()?.items[0];
/// assert_eq!(trace.trajectory.len(), 2);
/// assert_eq!(trace.model.as_deref(), Some("gpt-5.4-mini"));
/// # let _ = answer;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct ReflectLayer;

impl ReflectLayer {
    /// A layer for any registry of spans.
    pub fn new() -> Self {
        Self
    }
}

impl<S> Layer<S> for ReflectLayer
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, attributes: &SpanAttributes<'_>, id: &Id, context: Context<'_, S>) {
        if !is_agents(attributes.metadata()) {
            return;
        }
        let (Some(run), Some(span)) = (TraceContext::current(), context.span(id)) else {
            return;
        };
        if run.is_idle() {
            return;
        }
        let mut open = OpenSpan::new(run, attributes.metadata().name());
        attributes.record(&mut open);
        span.extensions_mut().insert(open);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else {
            return;
        };
        if let Some(open) = span.extensions_mut().get_mut::<OpenSpan>() {
            values.record(open);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let open = context
            .span(&id)
            .and_then(|span| span.extensions_mut().remove::<OpenSpan>());
        if let Some(OpenSpan { run, span }) = open {
            run.add_framework_span(span);
        }
    }
}

/// Whether a span is of a framework: has fields of a convention for agents, and is none of the SDK's own.
fn is_agents(metadata: &Metadata<'_>) -> bool {
    metadata.is_span()
        && metadata.target() != spans::TARGET
        && metadata.fields().iter().any(|field| {
            ["gen_ai.", "llm.", "openinference.", "traceloop."]
                .iter()
                .any(|prefix| field.name().starts_with(prefix))
        })
}

/// A span that has not closed.
struct OpenSpan {
    run: TraceContext,
    span: Span,
}

impl OpenSpan {
    fn new(run: TraceContext, name: &str) -> Self {
        static SPANS: AtomicU64 = AtomicU64::new(1);

        // Spans are put in the order in which they start.
        let number = SPANS.fetch_add(1, Ordering::Relaxed);
        let span = Span {
            span_id: format!("{number:016x}"),
            name: name.to_owned(),
            start: number,
            ..Span::default()
        };
        Self { run, span }
    }

    fn put(&mut self, field: &Field, value: impl Into<Value>) {
        let value = value.into();
        match (field.name(), &value) {
            ("otel.status_code", Value::String(code)) if code.eq_ignore_ascii_case("error") => {
                self.span.error.get_or_insert_default();
            }
            ("otel.status_description", Value::String(text)) => {
                self.span.error = Some(text.clone());
            }
            (name, _) => {
                let attributes: &mut Attributes = &mut self.span.attributes;
                attributes.insert(name.to_owned(), value);
            }
        }
    }
}

macro_rules! visit {
    ($($method:ident: $type:ty),*) => {$(
        fn $method(&mut self, field: &Field, value: $type) {
            self.put(field, value);
        }
    )*};
}

impl Visit for OpenSpan {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, format!("{value:?}"));
    }

    visit!(record_str: &str, record_i64: i64, record_u64: u64, record_f64: f64, record_bool: bool);
}

/// Whether a run has a trajectory of its own. A returned text alone is an answer.
pub(super) fn has_trajectory(context: &TraceContext, output: &TraceOutput) -> bool {
    match &output.trajectory {
        Some(Trajectory::Text(text)) => output.final_response.as_ref() != Some(text),
        Some(Trajectory::Messages(_)) => true,
        None => context.has_recorded(),
    }
}

/// A trace with what the spans of its run tell, where the run itself does not.
pub(super) fn completed(
    mut trace: CreateTrace,
    context: &TraceContext,
    has_trajectory: bool,
) -> CreateTrace {
    let spans = context.take_framework_spans();
    if spans.is_empty() {
        return trace;
    }
    let Some(told) = run_of(context.task(), spans) else {
        return trace;
    };
    if !has_trajectory {
        trace.trajectory = told.trajectory;
    }
    if trace.model.is_none() {
        trace.model = told.model;
    }
    trace.usage = trace.usage.or(told.usage);
    trace
}

/// The run of all these spans together.
fn run_of(task: &str, spans: FrameworkSpans) -> Option<CreateTrace> {
    const RUN: &str = "run";

    let mut top = Span {
        span_id: RUN.to_owned(),
        ..Span::default()
    };
    // Without it, each agent would be a run.
    let task = if task.trim().is_empty() { RUN } else { task };
    top.attributes
        .insert("reflect.task".to_owned(), task.into());
    let spans = spans.into_spans().map(|span| Span {
        parent_span_id: Some(RUN.to_owned()),
        ..span
    });
    let records = std::iter::once(top).chain(spans).map(SpanRecord::Span);
    runs(records.collect()).runs.pop()
}

/// The spans of a run that have closed. Of very many or very long ones, the oldest are dropped: calls of a model
/// repeat what was said before them.
#[derive(Debug, Default)]
pub(super) struct FrameworkSpans {
    spans: VecDeque<(usize, Span)>,
    bytes: usize,
}

impl FrameworkSpans {
    const MAX_SPANS: usize = 10_000;
    const MAX_BYTES: usize = 16 * 1024 * 1024;

    pub(super) fn add(&mut self, span: Span) {
        let bytes = size(&span);
        self.bytes += bytes;
        self.spans.push_back((bytes, span));
        while self.spans.len() > Self::MAX_SPANS || self.bytes > Self::MAX_BYTES {
            let Some((bytes, _)) = self.spans.pop_front() else {
                return;
            };
            self.bytes -= bytes;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    pub(super) fn into_spans(self) -> impl Iterator<Item = Span> {
        self.spans.into_iter().map(|(_, span)| span)
    }
}

/// About the bytes of a span. Fields of `tracing` are texts and numbers.
fn size(span: &Span) -> usize {
    let field = |(name, value): (&String, &serde_json::Value)| {
        name.len() + value.as_str().map_or(0, str::len) + 64
    };
    span.attributes.iter().map(field).sum::<usize>() + 256
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(text: String) -> Span {
        let mut span = Span::default();
        let name = "gen_ai.input.messages".to_owned();
        span.attributes.insert(name, text.into());
        span
    }

    #[test]
    fn the_newest_spans_are_kept_within_limits() {
        let mut spans = FrameworkSpans::default();
        let megabyte = "x".repeat(1024 * 1024);
        for n in 0..40 {
            spans.add(call(format!("{n}{megabyte}")));
        }
        assert!(spans.bytes <= FrameworkSpans::MAX_BYTES);
        let kept: Vec<Span> = spans.into_spans().collect();
        assert_eq!(kept.len(), 15);
        let last = kept[14].attributes["gen_ai.input.messages"].as_str();
        assert!(last.unwrap().starts_with("39x"));

        let mut spans = FrameworkSpans::default();
        for _ in 0..=FrameworkSpans::MAX_SPANS {
            spans.add(call(String::new()));
        }
        assert_eq!(spans.into_spans().count(), FrameworkSpans::MAX_SPANS);
    }
}
