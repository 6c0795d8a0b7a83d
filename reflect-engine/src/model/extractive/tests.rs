use proptest::prelude::*;
use reflect_types::{Message, ToolCall};
use serde_json::{Value, json};

use super::*;
use crate::model::prose::count_words;

fn run<'a>(task: &'a str, messages: &'a [Message], verdict: Verdict) -> JudgedRun<'a> {
    JudgedRun {
        task,
        messages,
        final_response: "",
        verdict,
        feedback: None,
        reference_context: None,
    }
}

fn call(id: &str, tool: &str, arguments: &str) -> Message {
    Message::tool_calls([ToolCall::new(id, tool, arguments)])
}

fn paid_twice() -> Vec<Message> {
    vec![
        call("1", "get_cart", "{}"),
        Message::tool("1", "total 7"),
        call("2", "pay", r#"{"amount": 5}"#),
        Message::tool("2", "Error: the total is 7"),
        call("3", "pay", r#"{"amount": 7}"#),
        Message::tool("3", "paid"),
        Message::assistant("Your order of 7 euros is paid. Anything else?"),
    ]
}

#[test]
fn a_refusal_and_what_then_went_through_are_named() {
    let messages = paid_twice();
    let reflection = Extractive.write(&run("Pay my order", &messages, Verdict::Fail));
    assert_eq!(
        reflection.text(),
        "Failed: pay refused with \"the total is 7\", accepted after a change of amount from 5 to 7; \
         called get_cart, pay(amount=7); answered \"Your order of 7 euros is paid.\""
    );
    assert_eq!(reflection.applicable_tools, ["pay"]);
    assert_eq!(reflection.tools_used, ["get_cart", "pay"]);
    assert_eq!(reflection.written_by, "extractive");
}

#[test]
fn what_was_looked_up_before_is_named_in_order() {
    let done = |id: &str, tool: &str, arguments: &str| {
        [call(id, tool, arguments), Message::tool(id, "ok")]
    };
    let mut messages = [
        done("1", "get_order", r#"{"order": 3}"#),
        done("2", "get_item", r#"{"item": 1}"#),
        done("3", "get_item", r#"{"item": 2}"#),
        done("4", "refund", r#"{"order": 3}"#),
    ]
    .concat();
    let text = |messages: &[Message]| {
        let reflection = Extractive.write(&run("Refund it", messages, Verdict::Pass));
        reflection.text().clone()
    };
    assert_eq!(
        text(&messages),
        "Passed: called get_order, get_item (2x), refund(order=3)."
    );
    for tool in ["mail", "check_mail", "get_item", "check_mail", "close"] {
        messages.extend(done(tool, tool, r#"{"order": 3}"#));
    }
    assert_eq!(
        text(&messages),
        "Passed: called …, refund(order=3), mail(order=3), check_mail, get_item, check_mail, close(order=3)."
    );
    for tool in ["get_order", "get_item", "get_order", "get_item"] {
        messages.extend(done(tool, tool, "{}"));
    }
    assert_eq!(
        text(&messages),
        "Passed: called …, refund(order=3), mail(order=3), …, close(order=3), …, get_item, get_order, get_item."
    );
}

#[test]
fn a_refusal_that_stayed_is_not_a_success() {
    for until in [4, 5] {
        let messages = &paid_twice()[..until];
        let reflection = Extractive.write(&run("Pay my order", messages, Verdict::Fail));
        assert_eq!(
            reflection.text(),
            "Failed: pay refused with \"the total is 7\"; called get_cart."
        );
    }
}

/// The texts of errors as clients of models and of Rust programs put them.
const ERRORS: [(&str, &str); 6] = [
    (
        "429 Too Many Requests: {\"error\": {\"message\": \"Rate limit reached for gpt-4o in organization \
         org-x on tokens per min (TPM): Limit 30000, Used 29400, Requested 1200. Please try again in 1.2s.\", \
         \"type\": \"tokens\", \"param\": null, \"code\": \"rate_limit_exceeded\"}}",
        "429 Too Many Requests: {'error': {'message': 'Rate limit reached for gpt-4o",
    ),
    (
        "{\"type\": \"error\", \"error\": {\"type\": \"rate_limit_error\", \"message\": \"This request would \
         exceed your organization's rate limit of 40,000 input tokens per minute.\"}}",
        "This request would exceed your organization's rate limit",
    ),
    (
        "asking the model: error sending request for url (https://api.openai.com/v1/chat/completions): \
         operation timed out",
        "operation timed out",
    ),
    (
        "tcp connect error: Connection refused (os error 111)",
        "Connection refused (os error 111)",
    ),
    (
        "index out of bounds: the len is 3 but the index is 7",
        "index out of bounds: the len is 3 but the index is 7",
    ),
    ("", "an error without a message"),
];

fn broken<'a>(messages: &'a [Message], error: &'a str) -> JudgedRun<'a> {
    JudgedRun {
        feedback: Some(error),
        ..run("Pay my order", messages, Verdict::Fail)
    }
}

#[test]
fn an_interrupted_run_says_what_was_being_done_when_it_broke() {
    let mut messages = paid_twice()[..3].to_vec();
    for (error, shown) in ERRORS {
        let written = Extractive.write_interrupted(&broken(&messages, error));
        let reflection = written.unwrap();
        let text = reflection.text();
        assert!(text.starts_with("Failed: broke with \""), "{text}");
        assert!(text.contains(shown), "{text}");
        assert!(
            text.ends_with("during pay(amount=5); called get_cart."),
            "{text}"
        );
        assert_eq!(reflection.feedback, "");
        assert_eq!(reflection.applicable_tools, ["pay", "get_cart"]);
    }
    messages.push(Message::tool("2", "Error: the total is 7"));
    let written = Extractive.write_interrupted(&broken(&messages, "no credit left"));
    assert_eq!(
        written.unwrap().text(),
        "Failed: broke with \"no credit left\"; pay refused with \"the total is 7\"; called get_cart."
    );
}

#[test]
fn an_interrupted_run_that_did_nothing_teaches_nothing() {
    let asked = [Message::system("Be brief."), Message::user("Pay my order")];
    for (error, _) in ERRORS {
        for messages in [&[], &asked[..]] {
            assert_eq!(Extractive.write_interrupted(&broken(messages, error)), None);
        }
    }
    let answered = JudgedRun {
        final_response: "Paid your order.",
        ..broken(&asked, "connection reset")
    };
    assert_eq!(
        Extractive.write_interrupted(&answered).unwrap().text(),
        "Failed: broke with \"connection reset\"; answered \"Paid your order.\""
    );
}

#[test]
fn repeated_refusals_and_calls_are_counted() {
    let mut messages = Vec::new();
    for at in 0..5 {
        let id = at.to_string();
        messages.push(call(&id, "search", "{\"q\": 1}"));
        messages.push(Message::tool(&id, "nothing"));
        messages.push(call(&id, "pay", "{}"));
        messages.push(Message::tool(&id, "Error: no money"));
    }
    let reflection = Extractive.write(&run("Find it", &messages, Verdict::Fail));
    assert_eq!(
        reflection.summary,
        "Failed: pay refused 5 times with \"no money\"; called search(q=1) (5x)."
    );
}

#[test]
fn a_run_without_tools_is_its_answer() {
    let messages = [Message::assistant("Sydney. Anything else?")];
    let reflection = |verdict| Extractive.write(&run("Name the capital", &messages, verdict));
    let answered = "answered \"Sydney. Anything else?\"";
    assert_eq!(
        reflection(Verdict::Fail).text(),
        format!("Failed: {answered}")
    );
    assert_eq!(
        reflection(Verdict::Pass).text(),
        format!("Passed: {answered}")
    );
    assert_eq!(
        reflection(Verdict::Unknown).text(),
        format!("Ended: {answered}")
    );
}

#[test]
fn a_run_that_shows_nothing_is_its_verdict() {
    let reflection = Extractive.write(&run("", &[], Verdict::Fail));
    assert_eq!(reflection.text(), "Failed.");
}

#[test]
fn a_run_written_as_prose_is_read_like_any_other() {
    let prose = "Thought 1: I search.\nAction 1: Search[Velvetpark]\nObservation 1: Could not find it\n\
        Action 2: Search[Velvetpark magazine]\nObservation 2: a magazine\nThought 3: It is older.\n\
        Action 3: Finish[Velvetpark]";
    let messages = [Message::assistant(prose)];
    let reflection = Extractive.write(&JudgedRun {
        final_response: prose,
        ..run("Which magazine is older?", &messages, Verdict::Pass)
    });
    assert_eq!(
        reflection.text(),
        "Passed: Search refused with \"Could not find it\", accepted as Search(Velvetpark magazine); \
         called Search, Finish(Velvetpark)."
    );
}

#[test]
fn megabytes_are_read_in_one_go() {
    let noise = "wörd \u{202e}🦀 ".repeat(500_000);
    let mut messages: Vec<Message> = (0..20_000)
        .map(|i| call(&i.to_string(), &format!("tool_{i}"), "{}"))
        .collect();
    messages.push(Message::tool("7", format!("Error: {noise}")));
    messages.push(Message::tool(
        "8",
        format!("{}{}", "[".repeat(100_000), noise),
    ));
    messages.push(Message::assistant(&noise));
    let reflection = Extractive.write(&JudgedRun {
        feedback: Some(&noise),
        final_response: &noise,
        reference_context: Some(&noise),
        ..run(&noise, &messages, Verdict::Fail)
    });
    assert!(words(&reflection) <= Extractive::MAX_WORDS);
    assert!(reflection.text().len() < 2_000);
}

fn words(reflection: &Reflection) -> usize {
    count_words(&reflection.text())
}

/// Anything that may stand in a message, in and out of place.
fn any_message() -> impl Strategy<Value = Message> {
    let text = prop_oneof![
        any::<String>(),
        "[a-z .?!\n\"]{0,200}",
        Just("Error: x".to_owned()),
        Just("Action 1: f[x]\nObservation 1: Error: y".to_owned()),
        Just(r#"{"error": {"message": "z"}}"#.to_owned()),
    ];
    let role = prop_oneof!["system|user|assistant|tool|function", any::<String>()];
    let call = (any::<String>(), any::<String>(), text.clone())
        .prop_map(|(id, name, arguments)| json!({"id": id, "function": {"name": name, "arguments": arguments}}));
    let part = (text.clone(), "text|tool_use|tool_result|image", any::<bool>()).prop_map(
        |(text, kind, is_error)| json!({"type": kind, "text": text, "name": text, "input": [text], "content": text, "is_error": is_error}),
    );
    let content = prop_oneof![
        text.prop_map(Value::from),
        prop::collection::vec(part, 0..3).prop_map(Value::from),
        Just(Value::Null),
        Just(json!(7)),
    ];
    (role, content, prop::collection::vec(call, 0..3), "[0-3]").prop_map(
        |(role, content, calls, id)| {
            let message =
                json!({"role": role, "content": content, "tool_calls": calls, "tool_call_id": id});
            serde_json::from_value(message).unwrap()
        },
    )
}

proptest! {
    #[test]
    fn any_run_gives_a_short_text_without_controls(
        messages in prop::collection::vec(any_message(), 0..12),
        task in any::<String>(),
        feedback in prop::option::of(any::<String>()),
        rules in prop::option::of("([a-z]{1,9}[ .\n]{1,2}){0,60}"),
        verdict in prop::sample::select(vec![Verdict::Pass, Verdict::Fail, Verdict::Unknown]),
    ) {
        let judged = JudgedRun {
            feedback: feedback.as_deref(),
            reference_context: rules.as_deref(),
            ..run(&task, &messages, verdict)
        };
        let reflection = Extractive.write(&judged);
        prop_assert!(words(&reflection) <= Extractive::MAX_WORDS, "{}", reflection.text());
        prop_assert!(!reflection.text().contains(|c: char| c.is_control() && c != '\n'));
        prop_assert_eq!(reflection.text().lines().count(), 1);
        prop_assert_eq!(&reflection, &Extractive.write(&judged));
    }
}
