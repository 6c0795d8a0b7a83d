//! An agent with tools, evaluated by a model. Offline.
//!
//! ```text
//! cargo run --example reflexion_tools
//! ```
//!
//! Both models are scripted: replace `agent` and `evaluator` by calls to yours.

use reflexion::{
    BoxError, Chat, FeedbackReflection, LlmEvaluator, Message, Reflexion, ToolCall, ToolLoop,
    tool_fn,
};
use serde_json::{Value, json};

fn main() -> Result<(), BoxError> {
    let schema = json!({"type": "object", "properties": {"id": {"type": "integer"}}});
    let get_order = tool_fn(
        "get_order",
        "Looks up an order",
        |arguments: Value| async move {
            match arguments["id"].as_u64() {
                Some(7) => Ok("order 7: 42 EUR, 45 days old"),
                _ => Err("there is no such order"),
            }
        },
    );
    let refund = tool_fn("refund", "Refunds an order", |_: Value| async {
        "refunded"
    });
    let agent = ToolLoop::new(agent)
        .system("Refund orders that are at most 30 days old. Decline older ones.")
        .tool(get_order.parameters(schema.clone()))
        .tool(refund.parameters(schema))
        .max_steps(5);

    let reflexion = Reflexion::builder(agent)
        .evaluator(LlmEvaluator::new(evaluator).criteria("Orders over 30 days are declined."))
        .self_reflection(FeedbackReflection)
        .build()?;
    let outcome = reflexion.run_blocking("Refund order 7")?.into_success()?;

    for trial in &outcome.trials {
        println!("trial {}", trial.number());
        for message in &trial.trajectory.messages {
            for call in message.calls() {
                println!("  {}({})", call.function.name, call.arguments_text());
            }
        }
        println!("  {}", trial.trajectory.answer());
        if let Some(reflection) = &trial.reflection {
            println!("  failed: {reflection}");
        }
    }
    Ok(())
}

/// Refunds at once, unless its prompt says to look first.
async fn agent(chat: Chat) -> Result<Message, BoxError> {
    let result = chat
        .messages
        .iter()
        .rev()
        .find(|m| m.tool_call_id.is_some());
    let looks_first = chat
        .messages
        .iter()
        .any(|m| m.text().contains("look the order up"));
    let call = |tool| Message::tool_calls([ToolCall::new("call_1", tool, r#"{"id": 7}"#)]);
    Ok(match (result, looks_first) {
        (Some(_), true) => Message::assistant("Declined: order 7 is 45 days old."),
        (Some(_), false) => Message::assistant("Done."),
        (None, true) => call("get_order"),
        (None, false) => call("refund"),
    })
}

/// Reads the tool calls in the history.
async fn evaluator(prompt: String) -> &'static str {
    if prompt.contains("calls refund") {
        r#"{"feedback": "Refunded unseen: look the order up, and check its age.", "success": false}"#
    } else {
        r#"{"feedback": "The order is over 30 days old and was declined.", "success": true}"#
    }
}
