//! A support desk whose agent learns from reviews: the program of `docs/tutorial.md`.
//!
//!     cargo run --example tutorial 7 12
//!
//! It records to the server behind `REFLECT_BASE_URL`, `REFLECT_PROJECT_ID` and `REFLECT_API_KEY`. The
//! agent is scripted: it refunds whatever it is asked to, unless its prompt tells it to look at the order first.

use std::sync::LazyLock;

use reflect_sdk::{Message, ReflectClient, ToolCall, TraceContext, TraceResult, reflect_trace};
use serde_json::json;

/// Orders and their age in days.
const ORDERS: [(&str, u32); 4] = [("7", 60), ("12", 45), ("3", 10), ("18", 90)];

static REFLECT: LazyLock<ReflectClient> = LazyLock::new(|| {
    ReflectClient::from_env().unwrap_or_else(|error| {
        eprintln!("runs are not recorded: {error}");
        ReflectClient::disabled()
    })
});

fn main() {
    for order in std::env::args().skip(1) {
        let request = format!("Refund order {order}");
        println!("{request}");
        println!("  answered  {}", answer(&request, &order));
    }
}

#[reflect_trace(client = REFLECT, task = request)]
fn answer(ctx: &TraceContext, request: &str, order: &str) -> TraceResult {
    println!("  was shown {} memories", ctx.memories().len());
    let mut messages = vec![Message::user(ctx.augmented_task())];
    let reply = if ctx.augmented_task().contains("get_order") {
        let age = call_get_order(&mut messages, order);
        match age {
            Some(0..=30) => format!("Order {order} is refunded."),
            Some(days) => format!("Order {order} is {days} days old, so it is not refunded."),
            None => format!("There is no order {order}."),
        }
    } else {
        format!("Order {order} is refunded.")
    };
    messages.push(Message::assistant(&reply));
    TraceResult::new(reply, messages).model("scripted")
}

/// Looks an order up, and records the call as a model's messages would have it.
fn call_get_order(messages: &mut Vec<Message>, order: &str) -> Option<u32> {
    let call = ToolCall::new("call_1", "get_order", json!({ "order": order }).to_string());
    messages.push(Message::tool_calls([call]));
    let age = ORDERS
        .iter()
        .find(|(id, _)| *id == order)
        .map(|(_, days)| *days);
    let result = json!({ "order": order, "age_in_days": age });
    messages.push(Message::tool("call_1", result.to_string()));
    age
}
