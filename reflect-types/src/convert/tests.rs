use proptest::prelude::*;
use serde_json::{Value, json};

use crate::message::{Content, Message, Role};
use crate::trajectory::Trajectory;

fn fixture(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// What a converter is asked for: role, content, calls, and whom a tool answers.
fn essence(messages: &[Message]) -> Value {
    let messages = messages.iter().map(|message| {
        let bare = Message {
            extra: serde_json::Map::new(),
            ..message.clone()
        };
        serde_json::to_value(bare).unwrap()
    });
    messages.collect()
}

#[test]
fn chat_messages_stay_what_they_are() {
    let made = fixture(include_str!("fixtures/openai_chat.json"));
    let run = Trajectory::from_openai_chat(made["messages"].clone()).into_messages();
    let expected = json!([
        {"role": "system", "content": "Answer in one sentence."},
        {"role": "user", "content": "What is the weather in Oslo?"},
        {"role": "assistant", "tool_calls": [
            {"id": "call_1", "type": "function", "function": {
                "name": "weather", "arguments": "{\"city\": \"Oslo\"}"
            }},
        ]},
        {"role": "tool", "tool_call_id": "call_1", "content": "4 degrees, rain"},
        {"role": "assistant", "content": "Take an umbrella."},
    ]);
    assert_eq!(essence(&run), expected);
    let request = json!({"model": "m", "messages": made["messages"]});
    assert_eq!(Trajectory::from_openai_chat(request).into_messages(), run);
    let reply = Trajectory::from_openai_chat(made["completion"].clone());
    assert_eq!(reply.final_response(), "Take an umbrella.");
}

#[test]
fn items_of_the_agents_sdk_become_what_the_published_client_makes_of_them() {
    let made = fixture(include_str!("fixtures/openai_agents.json"));
    let run = Trajectory::from_openai_responses(made["items"].clone()).into_messages();
    // It leaves out the reasoning, which is kept here.
    let (reasoning, others): (Vec<Message>, Vec<Message>) =
        run.into_iter().partition(|message| message.role.is_none());
    assert_eq!(essence(&others), made["published_client"]);
    assert_eq!(
        serde_json::to_value(&reasoning[0]).unwrap(),
        made["items"][1]
    );
}

#[test]
fn responses_are_read_with_their_request() {
    for input in [json!("Hi"), json!({"model": "m", "input": "Hi"})] {
        let run = Trajectory::from_openai_responses(input).into_messages();
        assert_eq!(run, [Message::user("Hi")]);
    }
    let response = json!({"id": "r", "output": [
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        {"type": "message", "role": "assistant", "content": [
            {"type": "output_text", "text": "See"}, {"type": "refusal", "refusal": "No."},
        ]},
    ]});
    let run = Trajectory::from_openai_responses(response).into_messages();
    assert_eq!(run[0].extra["type"], "web_search_call");
    assert!(matches!(run[1].content, Some(Content::Parts(_))));
    assert_eq!(run[1].text(), "See");
}

#[test]
fn blocks_of_anthropic_become_calls_and_answers() {
    let made = fixture(include_str!("fixtures/anthropic.json"));
    let run = Trajectory::from_anthropic(made["request"].clone()).into_messages();
    let roles: Vec<_> = run
        .iter()
        .filter_map(|message| message.role.clone())
        .collect();
    let (user, assistant) = (Role::User, Role::Assistant);
    assert_eq!(
        roles,
        [
            Role::System,
            user.clone(),
            assistant.clone(),
            Role::Tool,
            user,
            assistant
        ]
    );
    assert_eq!(run[0].text(), "Answer in one sentence.");
    let call = &run[2].calls()[0];
    assert_eq!(
        (call.id.as_deref(), call.function.name.as_str()),
        (Some("toolu_1"), "weather")
    );
    assert_eq!(call.function.arguments, Some(json!({"city": "Oslo"})));
    // The thinking stands beside the text.
    assert_eq!(run[2].text(), "I look it up.");
    let Some(Content::Parts(parts)) = &run[2].content else {
        panic!("{:?}", run[2]);
    };
    assert_eq!(parts[0]["thinking"], "A tool knows.");
    assert_eq!(run[3].tool_call_id.as_deref(), Some("toolu_1"));
    assert_eq!(
        (run[3].text(), run[4].text()),
        ("4 degrees, rain".into(), "Be short.".into())
    );
    assert_eq!(run[3].extra["is_error"], false);
    let reply = Trajectory::from_anthropic(made["response"].clone());
    assert_eq!(reply.final_response(), "Take an umbrella.");
}

#[test]
fn messages_of_langchain_become_what_the_published_client_makes_of_them() {
    let made = fixture(include_str!("fixtures/langchain.json"));
    for form in ["model_dump", "messages_to_dict", "dumpd"] {
        let run = Trajectory::from_langchain(made[form].clone()).into_messages();
        let mut expected = made["published_client"].clone();
        // It takes the system's message for one of the assistant.
        assert_eq!(expected[0]["role"], "assistant");
        expected[0]["role"] = json!("system");
        assert_eq!(essence(&run), expected, "{form}");
        let state = json!({"messages": made[form]});
        assert_eq!(Trajectory::from_langchain(state).into_messages(), run);
    }
}

#[test]
fn messages_of_deep_agents_become_what_the_published_client_makes_of_them() {
    let made = fixture(include_str!("fixtures/deepagents.json"));
    let run = Trajectory::from_langchain(made["messages_to_dict"].clone()).into_messages();
    assert_eq!(run[1].calls()[0].function.name, "ls");
    assert_eq!(essence(&run), made["published_client"]);
}

#[test]
fn what_a_message_says_besides_is_kept() {
    let message = json!([{"type": "ai", "content": "42", "usage_metadata": {"input_tokens": 3},
        "response_metadata": {}, "invalid_tool_calls": []}]);
    let run = Trajectory::from_langchain(message).into_messages();
    assert_eq!(run[0].extra.len(), 1, "{run:?}");
    assert_eq!(run[0].extra["usage_metadata"]["input_tokens"], 3);
    let odd = json!([{"type": "tool_use"}, "text", 7, {"role": "critic", "content": [{"type": "image"}]}]);
    for convert in CONVERTERS {
        assert_eq!(convert(odd.clone()).into_messages().len(), 4);
    }
}

const CONVERTERS: [fn(Value) -> Trajectory; 4] = [
    Trajectory::from_openai_chat,
    Trajectory::from_openai_responses,
    Trajectory::from_anthropic,
    Trajectory::from_langchain,
];

/// JSON that often has the keys and types of these libraries.
fn nearly_a_run() -> impl Strategy<Value = Value> {
    let words = [
        "type",
        "role",
        "content",
        "text",
        "tool_use",
        "tool_result",
        "function_call",
        "id",
        "name",
        "function_call_output",
        "output",
        "input",
        "messages",
        "message",
        "choices",
        "tool_calls",
        "ai",
        "human",
        "constructor",
        "kwargs",
        "data",
        "function",
        "args",
        "system",
        "user",
    ];
    let word = prop::sample::select(words.to_vec());
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i32>().prop_map(Value::from),
        word.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, move |inner| {
        let object = prop::collection::hash_map(word.clone(), inner.clone(), 0..5);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            object.prop_map(|fields| fields.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()),
        ]
    })
}

proptest! {
    #[test]
    fn no_json_is_refused(json in nearly_a_run()) {
        for convert in CONVERTERS {
            let _ = convert(json.clone()).final_response();
        }
    }
}
