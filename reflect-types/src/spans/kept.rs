//! What of a span is kept until its trace is complete.

use super::attributes::UNUSED_PREFIXES;
use super::{Attributes, Span, SpanEvent};

/// The prefixes of attributes that runs are made of.
const USED: [&str; 12] = [
    "gen_ai.",
    "llm.",
    "openinference.",
    "traceloop.",
    "reflect.",
    "input.",
    "output.",
    "tool.",
    "tool_call.",
    "session.",
    "error.",
    "exception.",
];
/// Whole names.
const USED_NAMES: [&str; 3] = ["metadata", "agent.name", "service.name"];

/// Removes attributes and events that no run is made of. A span of another library keeps its place in the
/// tree.
pub(super) fn reduce(span: &mut Span) {
    reduce_attributes(&mut span.attributes);
    span.events
        .retain(|event| event.is_agents() || event.name == "exception");
    span.events.iter_mut().for_each(reduce_event);
    // What the messages say already.
    let repeats = |prefix: &str, of: &str, attributes: &Attributes| {
        attributes.contains_key(of) && attributes.keys().any(|key| key.starts_with(prefix))
    };
    for (prefix, value) in [
        ("llm.input_messages.", "input.value"),
        ("llm.output_messages.", "output.value"),
    ] {
        if repeats(prefix, value, &span.attributes) {
            span.attributes.remove(value);
        }
    }
}

pub(super) fn reduce_event(event: &mut SpanEvent) {
    if event.is_agents() {
        // The body of older events is in attributes with names of its own, such as `content`.
        event
            .attributes
            .retain(|name, _| !is_unused(name) && !name.starts_with("gen_ai.event.start"));
    } else {
        reduce_attributes(&mut event.attributes);
    }
}

fn reduce_attributes(attributes: &mut Attributes) {
    attributes.retain(|name, _| {
        let is_used = USED.iter().any(|prefix| name.starts_with(prefix));
        (is_used && !is_unused(name)) || USED_NAMES.contains(&name.as_str())
    });
}

fn is_unused(name: &str) -> bool {
    UNUSED_PREFIXES
        .iter()
        .any(|prefix| name.starts_with(prefix))
}
