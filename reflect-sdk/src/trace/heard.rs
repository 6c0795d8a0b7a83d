//! What the spans of a framework tell about a run.

use std::collections::VecDeque;

use reflect_types::spans::{Span, SpanRecord, runs};
use reflect_types::{CreateTrace, Trajectory};

use super::context::TraceContext;
use super::output::TraceOutput;

/// The spans of a run that have closed. Of very many or very long ones, the oldest are dropped: calls of a model
/// repeat what was said before them.
#[derive(Debug, Default)]
pub(super) struct HeardSpans {
    spans: VecDeque<(usize, Span)>,
    bytes: usize,
}

impl HeardSpans {
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

    fn into_spans(self) -> impl Iterator<Item = Span> {
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
    if spans.spans.is_empty() {
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
        let mut heard = HeardSpans::default();
        let megabyte = "x".repeat(1024 * 1024);
        for n in 0..40 {
            heard.add(call(format!("{n}{megabyte}")));
        }
        assert!(heard.bytes <= HeardSpans::MAX_BYTES);
        let spans: Vec<Span> = heard.into_spans().collect();
        assert_eq!(spans.len(), 15);
        let last = spans[14].attributes["gen_ai.input.messages"].as_str();
        assert!(last.unwrap().starts_with("39x"));

        let mut heard = HeardSpans::default();
        for _ in 0..=HeardSpans::MAX_SPANS {
            heard.add(call(String::new()));
        }
        assert_eq!(heard.into_spans().count(), HeardSpans::MAX_SPANS);
    }
}
