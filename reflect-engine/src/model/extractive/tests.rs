use std::path::Path;

use proptest::prelude::*;
use reflect_types::ToolCall;
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
fn feedback_comes_first_and_what_it_asks_for_is_the_correct_action() {
    let messages = paid_twice();
    let reflection = Extractive.write(&JudgedRun {
        feedback: Some("It paid without asking. It should have confirmed the total first."),
        ..run("Pay my order", &messages, Verdict::Fail)
    });
    assert_eq!(
        reflection.text(),
        "Failed: Pay my order. Tools: get_cart, pay (2x).\n\
         Mistake: It paid without asking. pay failed: \"the total is 7\".\n\
         Instead: It should have confirmed the total first.\n\
         Next time: pay went through only after amount changed: settle that before the first call."
    );
    assert_eq!(reflection.applicable_tools, ["pay"]);
    assert_eq!(reflection.tools_used, ["get_cart", "pay"]);
}

#[test]
fn a_failed_run_without_feedback_quotes_the_error_and_the_rule() {
    let messages = &paid_twice()[..4];
    let reflection = Extractive.write(&JudgedRun {
        reference_context: Some(
            "Be kind.\n- Never pay before the total is confirmed.\n- Ship fast.",
        ),
        ..run("Pay my order", messages, Verdict::Fail)
    });
    assert_eq!(
        reflection.text(),
        "Failed: Pay my order. Tools: get_cart, pay.\n\
         Mistake: pay failed: \"the total is 7\".\n\
         Instead: The rules say: \"Never pay before the total is confirmed.\"\n\
         Next time: Before pay, rule that error out; if it comes back, change the plan."
    );
    let messages = [
        call("1", "cancel_order", "{\"id\": 3}"),
        Message::tool("1", "done"),
    ];
    let reflection = Extractive.write(&JudgedRun {
        reference_context: Some("- Never cancel an order that was shipped."),
        final_response: "Your order 3 is cancelled.",
        ..run(
            "Cancel order 3. Only if it is free of charge.",
            &messages,
            Verdict::Fail,
        )
    });
    assert_eq!(
        reflection.text(),
        "Failed: Cancel order 3. Only if it is free of charge. Tools: cancel_order.\n\
         Mistake: No tool objected, but the result was wrong: cancel_order(id=3), then: \
         \"Your order 3 is cancelled.\"\n\
         Instead: The rules say: \"Never cancel an order that was shipped.\"\n\
         Next time: Before cancel_order, check every condition of the task."
    );
}

#[test]
fn a_passed_run_names_what_worked_and_what_was_overcome() {
    let messages = paid_twice();
    let reflection = Extractive.write(&run("Pay my order", &messages, Verdict::Pass));
    assert_eq!(
        reflection.text(),
        "Passed: Pay my order. Tools: get_cart, pay (2x).\n\
         Correct action: pay(amount=7), with: \"Your order of 7 euros is paid.\"\n\
         Next time: pay failed: \"the total is 7\". pay went through only after amount changed: \
         settle that before the first call."
    );
    assert_eq!(reflection.key_mistake, "");
}

#[test]
fn a_refusal_that_was_right_is_advice() {
    let messages = [
        call("1", "get_order", "{}"),
        Message::tool("1", "{}"),
        Message::assistant("I see. Unfortunately, order 3 cannot be returned. Have a nice day!"),
        Message::assistant("You're welcome!"),
    ];
    let reflection = Extractive.write(&run("Return order 3", &messages, Verdict::Pass));
    assert_eq!(
        reflection.correct_action,
        "Decline: \"Unfortunately, order 3 cannot be returned.\""
    );
    assert_eq!(
        reflection.guidance,
        "On a task like this, first get_order, then decline with the reason."
    );
}

#[test]
fn an_empty_run_says_so() {
    let reflection = Extractive.write(&run("", &[], Verdict::Fail));
    assert_eq!(
        reflection.text(),
        "Failed: a task that was not described. No tools used.\n\
         Mistake: It called no tool and said nothing.\n\
         Next time: Before answering, check every condition of the task."
    );
}

#[test]
fn a_call_that_never_came_back_is_not_told_as_done() {
    let messages = &paid_twice()[..5];
    let reflection = Extractive.write(&run("Pay my order", messages, Verdict::Fail));
    let text = reflection.text();
    assert!(text.contains("the total is 7"), "{text}");
    assert!(!text.contains("went through"), "{text}");
    assert!(!text.contains("In the end it did pay"), "{text}");
}

#[test]
fn answers_without_ids_belong_to_the_calls_in_their_order() {
    let answer = |text: &str| -> Message {
        serde_json::from_value(json!({"role": "tool", "content": text})).unwrap()
    };
    let two = Message::tool_calls([
        ToolCall::new("1", "pay", "{}"),
        ToolCall::new("2", "ship", "{}"),
    ]);
    let messages = [two, answer("Error: no money"), answer("shipped")];
    let reflection = Extractive.write(&run("Pay and ship", &messages, Verdict::Fail));
    let text = reflection.text();
    assert!(text.contains("pay failed: \"no money\""), "{text}");
}

#[test]
fn a_question_that_needs_no_tools_is_not_told_to_use_them() {
    let messages = [Message::assistant("Sydney is the capital.")];
    let reflection = |verdict| Extractive.write(&run("Name the capital", &messages, verdict));
    assert_eq!(
        reflection(Verdict::Fail).text(),
        "Failed: Name the capital. No tools used.\n\
         Mistake: This answer was wrong: \"Sydney is the capital.\"\n\
         Next time: Before answering, check every condition of the task."
    );
    assert_eq!(
        reflection(Verdict::Pass).guidance,
        "On a task like this, answer directly, as here."
    );
    let declined = [Message::assistant("Sorry, I cannot tell the weather.")];
    let declined = Extractive.write(&run("Tell the weather", &declined, Verdict::Fail));
    assert!(declined.guidance.starts_with("Look up"), "{declined:?}");
}

#[test]
fn a_run_written_as_prose_is_read_like_any_other() {
    let prose = "Thought 1: I search.\nAction 1: Search[Velvetpark]\nObservation 1: Could not find it\n\
        Action 2: Search[Velvetpark magazine]\nObservation 2: a magazine\nThought 3: It is Velvetpark.\n\
        Action 3: Finish[Velvetpark]";
    let messages = [Message::assistant(prose)];
    let reflection = Extractive.write(&JudgedRun {
        final_response: prose,
        ..run("Which magazine is older?", &messages, Verdict::Pass)
    });
    assert_eq!(
        reflection.text(),
        "Passed: Which magazine is older? Tools: Search (2x), Finish.\n\
         Correct action: Finish(Velvetpark), with: \"It is Velvetpark.\"\n\
         Next time: Search failed: \"Could not find it\". Search went through as \
         Search(Velvetpark magazine)."
    );
}

#[test]
fn a_loop_is_named() {
    let messages: Vec<Message> = (0..5).map(|_| call("1", "search", "{\"q\": 1}")).collect();
    let reflection = Extractive.write(&run("Find it", &messages, Verdict::Fail));
    assert_eq!(
        reflection.key_mistake,
        "It called search 5 times with the same arguments."
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
        prop_assert_eq!(reflection.text().lines().count(), 1 + [
            &reflection.key_mistake, &reflection.correct_action, &reflection.guidance,
        ].iter().filter(|field| !field.is_empty()).count());
        prop_assert_eq!(&reflection, &Extractive.write(&judged));
    }
}

#[test]
fn real_runs_of_the_excerpt_are_worth_reading() {
    let excerpt = include_str!("../../../tests/fixtures/tau-bench/airline-excerpt.json");
    assert_eq!(read_tau_bench(excerpt), (3, 1));
}

#[test]
fn all_real_runs_are_worth_reading() {
    let file = "../../shared/data/tau-bench/gpt-4o-airline.json";
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    match std::fs::read_to_string(&file) {
        Ok(runs) => assert_eq!(read_tau_bench(&runs), (116, 84)),
        Err(_) => println!("skipped: {} is not there", file.display()),
    }
}

/// Checks every run, with and without feedback, and counts the failed and the passed ones.
fn read_tau_bench(runs: &str) -> (usize, usize) {
    let runs: Vec<Value> = serde_json::from_str(runs).unwrap();
    let (mut failed, mut passed) = (0, 0);
    for real in &runs {
        let messages: Vec<Message> = serde_json::from_value(real["traj"].clone()).unwrap();
        let task = real["info"]["task"]["instruction"].as_str().unwrap();
        let verdict = match real["reward"].as_f64() {
            Some(1.0) => Verdict::Pass,
            _ => Verdict::Fail,
        };
        let judged = JudgedRun {
            final_response: &Message::final_response(&messages),
            ..run(task, &messages, verdict)
        };
        for feedback in [None, Some("It ignored what the customer asked for.")] {
            let reflection = Extractive.write(&JudgedRun { feedback, ..judged });
            let text = reflection.text();
            assert!(words(&reflection) <= Extractive::MAX_WORDS, "{text}");
            assert!(shares_words(&text, task), "{text}");
            let tools: Vec<&str> = messages
                .iter()
                .flat_map(Message::calls)
                .map(|call| call.function.name.as_str())
                .collect();
            assert!(
                tools.is_empty() || tools.iter().any(|tool| reflection.summary.contains(tool)),
                "{text}"
            );
            assert_eq!(tools.is_empty(), reflection.tools_used.is_empty());
            assert!(!reflection.guidance.is_empty(), "{text}");
            if let Some(error) = last_error(&messages).filter(|_| verdict == Verdict::Fail) {
                assert!(reflection.key_mistake.contains(&error), "{error}\n{text}");
            }
            if let Some(feedback) = feedback {
                assert!(text.contains(feedback), "{text}");
            }
        }
        match verdict {
            Verdict::Pass => passed += 1,
            _ => failed += 1,
        }
    }
    (failed, passed)
}

/// The first words of the last error, found in the data's own way.
fn last_error(messages: &[Message]) -> Option<String> {
    let tools = messages
        .iter()
        .rev()
        .filter(|message| message.is(&Role::Tool));
    let errors =
        tools.filter_map(|message| message.text().strip_prefix("Error: ").map(str::to_owned));
    let words: Vec<String> = errors
        .take(1)
        .flat_map(|error| {
            error
                .split(' ')
                .take(6)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .collect();
    (!words.is_empty()).then(|| words.join(" "))
}

fn shares_words(text: &str, task: &str) -> bool {
    let long = task.split_whitespace().filter(|word| word.len() > 3);
    let shared = long.filter(|word| text.contains(*word));
    shared.count() >= 4
}
