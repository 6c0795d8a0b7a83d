use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use reflexion::{
    BoxError, Chat, Evaluation, FeedbackReflection, Message, Reflexion, ReflexionError, Stage,
    Tool, ToolCall, ToolLoop, ToolSpec, tool_fn,
};
use serde_json::{Value, json};

use super::support::{Log, attempt_once, scripted_llm};

/// A model with scripted replies, and a log of its inputs.
fn scripted(replies: Vec<Message>) -> (Log<Chat>, ToolLoop) {
    let chats = Log::default();
    let log = chats.clone();
    let model = move |chat: Chat| {
        let call = log.add(chat);
        let reply = replies.get(call - 1).cloned();
        async move { reply.ok_or(format!("no reply for call {call}")) }
    };
    (chats, ToolLoop::new(model))
}

fn call(id: &str, name: &str, arguments: impl Into<Value>) -> Message {
    Message::tool_calls([ToolCall::new(id, name, arguments)])
}

struct Weather;

impl Tool for Weather {
    fn spec(&self) -> ToolSpec {
        let schema = json!({"type": "object", "required": ["city"]});
        ToolSpec::new("weather", "The weather in a city").parameters(schema)
    }

    async fn call(&self, arguments: Value) -> Result<String, BoxError> {
        match arguments["city"].as_str() {
            Some(city) => Ok(format!("rain in {city}")),
            None => Err("name a city".into()),
        }
    }
}

#[tokio::test]
async fn the_judge_reads_arguments_and_results_of_the_calls() {
    let (chats, actor) = scripted(vec![
        call("c1", "weather", r#"{"city": "Oslo"}"#),
        Message::assistant("Take an umbrella."),
    ]);
    let (prompts, llm) = scripted_llm(&["SUCCESS"]);
    let reflexion = Reflexion::builder(actor.system("Be brief.").tool(Weather))
        .llm(llm)
        .build()
        .unwrap();
    let outcome = reflexion.run("Umbrella?").await.unwrap();
    assert_eq!(outcome.response(), "Take an umbrella.");

    let judged = &prompts.all()[0];
    for shown in [
        "calls weather({\"city\": \"Oslo\"})",
        "tool weather (c1): rain in Oslo",
    ] {
        assert!(judged.contains(shown), "{judged}");
    }

    let chats = chats.all();
    assert_eq!(
        chats[0].messages,
        [Message::system("Be brief."), Message::user("Umbrella?")]
    );
    assert_eq!(chats[0].tools[0].parameters["required"][0], "city");
    assert_eq!(chats[0].tools[0].description, "The weather in a city");
    assert_eq!(chats[1].messages.len(), 4);
    assert_eq!((chats[0].steps_left, chats[1].steps_left), (16, 15));
}

#[tokio::test]
async fn the_limit_on_steps_counts_per_trial_and_fails_only_the_trial() {
    // Three steps are used up in trial 1; trial 2 needs all of its own three.
    let mut replies = vec![call("c", "weather", json!({"city": "Oslo"})); 5];
    replies.push(Message::assistant("done"));
    let (chats, actor) = scripted(replies);
    let reflexion = Reflexion::builder(actor.tool(Weather).max_steps(3))
        .evaluate_with(|trial| trial.answer() == "done")
        .self_reflection(FeedbackReflection)
        .max_trials(2)
        .build()
        .unwrap();
    let outcome = reflexion.run("the task").await.unwrap();
    assert!(outcome.succeeded());
    assert_eq!(chats.len(), 6);
    assert_eq!(chats.all()[3].steps_left, 3);
    let failed = Evaluation::fail("The trial was stopped: no answer after 3 steps.");
    assert_eq!(outcome.trials[0].evaluation, Some(failed));
    let kept = outcome.trials[0].trajectory.messages.len();
    assert_eq!((kept, chats.all()[3].messages.len()), (7, 1));
}

#[tokio::test]
async fn tool_errors_are_results_for_the_model() {
    let mut nameless = call("", "weather", json!({"city": "Rome"}));
    for call in nameless.tool_calls.iter_mut().flatten() {
        call.id = None;
    }
    let (chats, actor) = scripted(vec![
        call("c1", "wether", "{}"),
        call("c2", "weather", "{not json"),
        call("c3", "weather", ""),
        nameless,
        Message::assistant("never mind"),
    ]);
    let outcome = attempt_once(actor.tool(Weather)).await.unwrap();
    assert!(outcome.succeeded());
    let messages = &chats.all()[4].messages;
    let results = messages.iter().filter(|m| m.tool_call_id.is_some());
    for (result, (id, text)) in results.zip([
        ("c1", "Error: there is no tool `wether`. Known: weather"),
        ("c2", "Error: the arguments are not valid JSON"),
        ("c3", "Error: name a city"),
        ("call_3_0", "rain in Rome"),
    ]) {
        assert_eq!(result.tool_call_id.as_deref(), Some(id));
        assert!(result.text().starts_with(text), "{result:?}");
    }
    assert_eq!(messages.len(), 1 + 2 * 4);
}

#[tokio::test]
async fn text_beside_tool_calls_is_not_an_answer() {
    let mut thinking_aloud = call("c1", "weather", json!({"city": "Oslo"}));
    thinking_aloud.content = Some("Let me see.".into());
    let (_, actor) = scripted(vec![
        thinking_aloud,
        Message::assistant(vec![
            json!({"text": "one"}),
            json!({"image": 1}),
            json!("two"),
        ]),
    ]);
    let outcome = attempt_once(actor.tool(Weather)).await.unwrap();
    assert_eq!(outcome.trials[0].trajectory.response, ["one", "two"]);
    assert_eq!(outcome.response(), "one\ntwo");
}

#[tokio::test]
async fn several_calls_of_one_reply_are_answered_in_order() {
    let counter = Arc::new(AtomicUsize::new(0));
    let count = tool_fn("count", "Counts", move |_| {
        let n = counter.fetch_add(1, Ordering::SeqCst) + 1;
        async move { n.to_string() }
    });
    let calls = ["a", "b", "c"].map(|id| ToolCall::new(id, "count", Value::Null));
    let (chats, actor) = scripted(vec![Message::tool_calls(calls), Message::assistant("3")]);
    let stale = tool_fn("count", "Replaced", |_| async { "stale" });
    attempt_once(actor.tool(stale).tool(count)).await.unwrap();
    let messages = &chats.all()[1].messages;
    let results = messages[2..].iter().map(Message::text);
    assert!(results.eq(["1", "2", "3"]));
    assert_eq!(chats.all()[0].tools.len(), 1);
}

#[tokio::test]
async fn a_model_error_and_max_steps_0_end_the_run() {
    for (max_steps, calls, source) in [
        (1, 1, "no reply for call 1"),
        (
            0,
            0,
            "max_steps is 0, so the model could never reply: set it to 1 or more",
        ),
    ] {
        let (chats, actor) = scripted(vec![]);
        match attempt_once(actor.max_steps(max_steps)).await {
            Err(ReflexionError::Stage {
                stage: Stage::Actor,
                source: error,
                ..
            }) => assert_eq!(error.to_string(), source),
            other => panic!("the run went on: {other:?}"),
        }
        assert_eq!(chats.len(), calls);
    }
}
