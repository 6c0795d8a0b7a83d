//! What the spans of a framework tell about a run.

use reflect_types::spans::{Span, SpanRecord, runs};
use reflect_types::{CreateTrace, Trajectory};

use super::context::TraceContext;
use super::heard_spans::HeardSpans;
use super::output::TraceOutput;

/// Whether a run tells its trajectory itself. A returned text alone is an answer.
pub(super) fn is_told(context: &TraceContext, output: &TraceOutput) -> bool {
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
    is_told: bool,
) -> CreateTrace {
    let spans = context.take_heard();
    if spans.is_empty() {
        return trace;
    }
    let Some(heard) = run_of(context.task(), spans) else {
        return trace;
    };
    if !is_told {
        trace.trajectory = heard.trajectory;
    }
    if trace.model.is_none() {
        trace.model = heard.model;
    }
    for (name, value) in heard.metadata {
        if ["input_tokens", "output_tokens"].contains(&name.as_str()) {
            trace.metadata.entry(name).or_insert(value);
        }
    }
    trace
}

/// The run of all these spans together.
fn run_of(task: &str, spans: HeardSpans) -> Option<CreateTrace> {
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
