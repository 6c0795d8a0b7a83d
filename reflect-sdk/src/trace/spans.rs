//! The spans of a run, by the conventions of OpenTelemetry for agents and their memories.
//!
//! Content (the task, memories and the answer) is in them only where the client asks for it.

use reflect_types::{CreateTrace, Memory, Message, Trajectory, neutral};
use serde_json::json;
use tracing::field::Empty;
use tracing::{Span, dispatcher, info_span};

use super::builder::Options;
use super::panics::Panic;
use crate::core::Core;
use crate::error::Error;

/// The target of the spans.
pub(super) const TARGET: &str = "reflect";

/// The longest text in a field, in characters.
const MAX_TEXT: usize = 8_192;

/// The span of a run, which is that of an agent.
pub(super) fn of_run(core: &Core, id: &str, task: &str, options: &Options) -> Span {
    let span = info_span!(
        target: TARGET,
        "invoke_agent",
        gen_ai.operation.name = "invoke_agent",
        gen_ai.conversation.id = options.session,
        gen_ai.request.model = options.model,
        gen_ai.response.model = Empty,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        gen_ai.input.messages = Empty,
        gen_ai.output.messages = Empty,
        "error.type" = Empty,
        reflect.run_id = id,
        reflect.memories = Empty,
        reflect.outcome = Empty,
        otel.status_code = Empty,
        otel.status_description = Empty,
    );
    if has_content(core, &span) {
        let asked = message("user", task);
        span.record("gen_ai.input.messages", json!([asked]).to_string());
    }
    span
}

/// The span of a search for the memories of a run. It is made on the I/O thread, which may have no subscriber of
/// its own.
pub(super) fn of_search(core: &Core, run: &Span, task: &str) -> Span {
    let search = run.with_subscriber(|(_, subscriber)| {
        dispatcher::with_default(subscriber, || {
            info_span!(
                target: TARGET,
                parent: run,
                "search_memory",
                otel.kind = "client",
                gen_ai.operation.name = "search_memory",
                gen_ai.memory.store.id = core.project.as_str(),
                gen_ai.memory.query.text = Empty,
                gen_ai.memory.records = Empty,
                "error.type" = Empty,
                otel.status_code = Empty,
            )
        })
    });
    let search = search.unwrap_or_else(Span::none);
    if has_content(core, &search) {
        search.record("gen_ai.memory.query.text", &*text(task));
    }
    search
}

/// Notes the result of a search.
pub(super) fn found(core: &Core, search: &Span, found: &Result<Vec<Memory>, Error>) {
    match found {
        Ok(memories) if has_content(core, search) => {
            let records = memories.iter().map(|memory| {
                let content = text(&memory.reflection);
                json!({"id": memory.id, "content": content, "score": memory.score})
            });
            let records = records.collect::<serde_json::Value>();
            search.record("gen_ai.memory.records", records.to_string());
        }
        Ok(_) => {}
        Err(error) => {
            let kind = match error {
                Error::Timeout { .. } => "timeout".to_owned(),
                error => error
                    .status()
                    .map_or_else(other, |status| status.to_string()),
            };
            search.record("error.type", kind);
            search.record("otel.status_code", "ERROR");
        }
    }
}

/// Notes the end of a run, and the trace that it leaves.
pub(super) fn ended(
    core: &Core,
    run: &Span,
    outcome: &str,
    failure: Option<&Panic>,
    trace: Option<&CreateTrace>,
) {
    run.record("reflect.outcome", outcome);
    if let Some(failure) = failure {
        let kind = failure
            .location
            .as_ref()
            .map_or_else(other, |_| "panic".to_owned());
        run.record("error.type", kind);
        run.record("otel.status_code", "ERROR");
        run.record("otel.status_description", &*text(&failure.message));
    }
    let Some(trace) = trace else { return };
    if let Some(model) = &trace.model {
        run.record("gen_ai.response.model", model.as_str());
    }
    if let Some(usage) = trace.usage {
        run.record("gen_ai.usage.input_tokens", usage.input_tokens);
        run.record("gen_ai.usage.output_tokens", usage.output_tokens);
    }
    if has_content(core, run) {
        let mut answered = message("assistant", &answer(trace));
        answered["finish_reason"] = "stop".into();
        run.record("gen_ai.output.messages", json!([answered]).to_string());
    }
}

/// Whether the span has content. What no one looks at is not written.
fn has_content(core: &Core, span: &Span) -> bool {
    core.settings.content_in_spans && !span.is_disabled()
}

fn message(role: &str, said: &str) -> serde_json::Value {
    json!({"role": role, "parts": [{"type": "text", "content": text(said)}]})
}

fn answer(trace: &CreateTrace) -> String {
    match (&trace.final_response, &trace.trajectory) {
        (Some(response), _) => response.clone(),
        (None, Trajectory::Text(prose)) => prose.clone(),
        (None, Trajectory::Messages(messages)) => Message::final_response(messages),
    }
}

fn text(text: &str) -> std::borrow::Cow<'_, str> {
    neutral::excerpt(text, MAX_TEXT)
}

/// An error of a kind that has no name.
fn other() -> String {
    "_OTHER".to_owned()
}
