//! About how many bytes a run has as JSON, which is found sooner than by writing it.

use reflect_types::{Content, CreateTrace, Message, Trajectory};
use serde_json::{Map, Value};

/// What names and punctuation add to a value.
const AROUND: usize = 16;

pub(super) fn of(trace: &CreateTrace) -> usize {
    let texts = [
        Some(&trace.task),
        trace.final_response.as_ref(),
        trace.reference_context.as_ref(),
        trace
            .review
            .as_ref()
            .and_then(|review| review.feedback_text.as_ref()),
    ];
    let texts: usize = texts.into_iter().flatten().map(String::len).sum();
    let trajectory = match &trace.trajectory {
        Trajectory::Messages(messages) => messages.iter().map(of_message).sum(),
        Trajectory::Text(text) => text.len(),
    };
    // Ids, and names of fields.
    let rest = 512 + 40 * trace.retrieved_memory_ids.len();
    rest + texts + trajectory + of_object(&trace.metadata)
}

fn of_message(message: &Message) -> usize {
    let content = match &message.content {
        Some(Content::Text(text)) => text.len(),
        Some(Content::Parts(parts)) => parts.iter().map(of_value).sum(),
        Some(Content::Null) | None => 0,
    };
    let calls = message.calls().iter().map(|call| {
        let arguments = call.function.arguments.as_ref().map_or(0, of_value);
        4 * AROUND + arguments + of_object(&call.extra) + of_object(&call.function.extra)
    });
    2 * AROUND + content + calls.sum::<usize>() + of_object(&message.extra)
}

fn of_object(object: &Map<String, Value>) -> usize {
    let fields = object
        .iter()
        .map(|(name, value)| name.len() + of_value(value));
    fields.sum()
}

fn of_value(value: &Value) -> usize {
    AROUND
        + match value {
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(of_value).sum(),
            Value::Object(fields) => of_object(fields),
            _ => 0,
        }
}
