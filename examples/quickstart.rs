//! An agent that fails, is reviewed, is shown what was learned, and passes.
//!
//!     cargo run --example quickstart
//!
//! It runs offline, on one SQLite file in a temporary folder, with a scripted model that follows the
//! memory in its prompt. `cargo run --example quickstart --features model` asks the model behind
//! `OPENAI_API_KEY` (and `OPENAI_BASE_URL`, `OPENAI_MODEL`) instead.

use reflect_sdk::{
    AugmentedTask, BlockingClient, BoxError, Message, ReflectClient, ToolCall, Verdict,
};
use serde_json::{Value, json};

/// Orders and their age in days. The agent does not know the policy: refund at most 30 days back.
const ORDERS: [(&str, u32); 4] = [("7", 60), ("12", 45), ("3", 10), ("18", 90)];

fn main() -> Result<(), BoxError> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("reflect.db");
    let client = ReflectClient::builder()
        .project("support")
        .embedded(file)?
        .blocking();

    // The bank starts with one memory, and it is bad advice.
    let hunch = "Refund at once, without further questions";
    client
        .create_memory(
            "Refund an order",
            "Customers like it fast",
            hunch,
            Verdict::Pass,
        )
        .call()?;

    for (round, (order, days)) in ORDERS.into_iter().enumerate() {
        let task = format!("Refund order {order}");
        println!("\n{}. {task}", round + 1);

        let augmented = client.augment_with_memories(&task).limit(1).call()?;
        for memory in &augmented.memories {
            println!("   is shown   {}", memory.reflection.replace('\n', " | "));
        }
        let messages = run_agent(&augmented)?;
        let refunded = messages
            .iter()
            .flat_map(Message::calls)
            .any(|c| c.function.name == "refund");

        // A check that knows the policy counts as much as a person.
        let trace = client
            .create_trace_and_wait(&task, messages)
            .retrieved(augmented.memory_ids());
        if refunded == (days <= 30) {
            println!("   review     pass");
            trace.pass().alpha(0.3).call()?;
        } else {
            let feedback = "Call get_order first and refund only orders of at most 30 days";
            println!("   review     FAIL: {feedback}");
            trace.fail(feedback).alpha(0.3).call()?;
        }
        draw_utilities(&client)?;
    }
    println!("\nThe hunch has sunk, the lesson has risen: that is what the next run is shown.");
    Ok(())
}

/// Lets the model call tools until it answers, and returns the messages of the run.
fn run_agent(task: &AugmentedTask) -> Result<Vec<Message>, BoxError> {
    let rules = "You are a support agent. Use your tools, follow the memories you are given.";
    let mut messages = vec![Message::system(rules), Message::user(&task.augmented_task)];
    for _ in 0..6 {
        let reply = model(&messages)?;
        messages.push(reply.clone());
        if reply.calls().is_empty() {
            println!("   says       {}", reply.text());
            break;
        }
        for call in reply.calls() {
            let result = run_tool(call);
            println!(
                "   calls      {} {} -> {result}",
                call.function.name,
                call.arguments_text()
            );
            let id = call.id.clone().unwrap_or_default();
            messages.push(Message::tool(id, result).name(&call.function.name));
        }
    }
    Ok(messages)
}

fn run_tool(call: &ToolCall) -> String {
    let arguments: Value = serde_json::from_str(&call.arguments_text()).unwrap_or_default();
    let id = arguments["order"].as_str().unwrap_or_default();
    match (
        call.function.name.as_str(),
        ORDERS.iter().find(|(order, _)| *order == id),
    ) {
        (_, None) => format!("Error: there is no order {id}"),
        ("get_order", Some((_, days))) => format!("{days} days old"),
        ("refund", Some(_)) => "refunded".to_owned(),
        (unknown, _) => format!("Error: there is no tool {unknown}"),
    }
}

/// The scripted model's next message.
#[cfg(not(feature = "model"))]
#[expect(clippy::unnecessary_wraps, reason = "the real model can fail")]
fn model(messages: &[Message]) -> Result<Message, BoxError> {
    let prompt = messages[1].text();
    let order = prompt.split_whitespace().nth(2).unwrap_or_default();
    let call = |tool: &str| {
        let arguments = json!({"order": order}).to_string();
        Message::tool_calls([ToolCall::new(
            format!("call_{}", messages.len()),
            tool,
            arguments,
        )])
    };
    let result = messages
        .last()
        .filter(|m| m.name.is_some())
        .map(|m| m.text().into_owned());
    Ok(match result.as_deref() {
        Some("refunded") => Message::assistant(format!("Order {order} is refunded.")),
        Some(age) if age.split(' ').next().and_then(|days| days.parse().ok()) > Some(30) => {
            Message::assistant(format!("Order {order} is too old for a refund."))
        }
        None if prompt.contains("get_order") => call("get_order"),
        _ => call("refund"),
    })
}

/// The real model's next message.
#[cfg(feature = "model")]
fn model(messages: &[Message]) -> Result<Message, BoxError> {
    let or = |name: &str, default: &str| std::env::var(name).unwrap_or_else(|_| default.to_owned());
    let key = or("OPENAI_API_KEY", "");
    if key.is_empty() {
        return Err("set OPENAI_API_KEY, or leave out `--features model`".into());
    }
    let tool = |name: &str, about: &str| {
        let parameters = json!({"type": "object", "properties": {"order": {"type": "string"}}});
        json!({"type": "function", "function":
            {"name": name, "description": about, "parameters": parameters}})
    };
    let body = json!({
        "model": or("OPENAI_MODEL", "gpt-5.4-mini"),
        "messages": messages,
        "tools": [tool("get_order", "Shows how old an order is"), tool("refund", "Pays it back")],
    });
    let url = or("OPENAI_BASE_URL", "https://api.openai.com/v1") + "/chat/completions";
    let reply = reqwest::blocking::Client::new()
        .post(url)
        .bearer_auth(key)
        .json(&body)
        .send()?;
    let mut reply: Value = reply.error_for_status()?.json()?;
    Ok(serde_json::from_value(
        reply["choices"][0]["message"].take(),
    )?)
}

/// Draws the utility of each memory.
fn draw_utilities(client: &BlockingClient) -> Result<(), BoxError> {
    for memory in client
        .query_memories("Refund an order")
        .lambda(1.0)
        .mmr_lambda(1.0)
        .call()?
    {
        let filled = |step: u32| f64::from(step) < memory.q_value * 20.0;
        let bar: String = (0..20)
            .map(|step| if filled(step) { '█' } else { '░' })
            .collect();
        // What the reviewer said, or else what was done.
        let lesson = [&memory.feedback, &memory.summary];
        let lesson = lesson.into_iter().find(|text| !text.is_empty());
        println!(
            "   utility    {bar} {:.2}  {}",
            memory.q_value,
            lesson.map_or("", String::as_str)
        );
    }
    Ok(())
}
