//! What a span stands for.

use super::Attributes;
use super::attributes::text;

/// What a span stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// An invocation of an agent.
    Agent,
    /// A workflow or a chain of steps: an agent, if it is the outermost.
    Chain,
    /// A call of a model.
    Model,
    /// A call of a tool.
    Tool,
    /// Anything else.
    Other,
}

pub(super) fn kind(attributes: &Attributes) -> Kind {
    if text(attributes, "reflect.task").is_some() {
        return Kind::Agent;
    }
    let named = by_open_inference(attributes)
        .or_else(|| by_operation(attributes))
        .or_else(|| by_traceloop(attributes))
        .or_else(|| by_request_type(attributes));
    named.unwrap_or_else(|| {
        let speaks = attributes.keys().any(|name| {
            [
                "gen_ai.prompt.",
                "gen_ai.completion.",
                "gen_ai.input.messages",
                "gen_ai.output.messages",
                "llm.input_messages.",
                "llm.output_messages.",
            ]
            .iter()
            .any(|prefix| name.starts_with(prefix))
        });
        if speaks { Kind::Model } else { Kind::Other }
    })
}

fn by_open_inference(attributes: &Attributes) -> Option<Kind> {
    let kind = text(attributes, "openinference.span.kind")?;
    Some(match kind.to_ascii_uppercase().as_str() {
        "AGENT" => Kind::Agent,
        "CHAIN" => Kind::Chain,
        "LLM" => Kind::Model,
        "TOOL" => Kind::Tool,
        _ => Kind::Other,
    })
}

fn by_operation(attributes: &Attributes) -> Option<Kind> {
    Some(match text(attributes, "gen_ai.operation.name")? {
        "invoke_agent" => Kind::Agent,
        "invoke_workflow" => Kind::Chain,
        "chat" | "text_completion" | "generate_content" | "completion" | "responses" => Kind::Model,
        "execute_tool" => Kind::Tool,
        // Embeddings and retrieval, and operations that are not known yet.
        _ => return by_traceloop(attributes).or(Some(Kind::Other)),
    })
}

fn by_traceloop(attributes: &Attributes) -> Option<Kind> {
    Some(match text(attributes, "traceloop.span.kind")? {
        "agent" => Kind::Agent,
        "workflow" | "task" => Kind::Chain,
        "tool" => Kind::Tool,
        _ => return None,
    })
}

fn by_request_type(attributes: &Attributes) -> Option<Kind> {
    Some(match text(attributes, "llm.request.type")? {
        "chat" | "completion" => Kind::Model,
        _ => Kind::Other,
    })
}
