//! Reading a reply neither panics nor takes long.

use proptest::prelude::*;
use reflexion::analysis::{GeneralReflector, ReflectionContext, ReflectionResult, Reflector};
use reflexion::{Evaluation, Evaluator, LlmEvaluator, Reflexion, Trajectory};

fn judged(reply: &str) -> Evaluation {
    let reply = reply.to_owned();
    let judge = LlmEvaluator::new(move |_: String| std::future::ready(reply.clone()));
    let trial = Trajectory::new(1, "task", "answer");
    now(judge.evaluate(trial)).unwrap()
}

fn reflected(reply: &str) -> ReflectionResult {
    let reply = reply.to_owned();
    let reflector = GeneralReflector::new(move |_: String| std::future::ready(reply.clone()));
    now(reflector.reflect(&ReflectionContext::new())).unwrap()
}

/// The output of a future that never waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(future).poll(&mut context) {
        std::task::Poll::Ready(value) => value,
        std::task::Poll::Pending => panic!("the future waits"),
    }
}

const MEGABYTE: usize = 1_000_000;

fn filled(unit: &str) -> String {
    unit.repeat(MEGABYTE / unit.len())
}

/// Replies of a megabyte that are slow to read naively.
fn megabytes() -> Vec<(&'static str, String)> {
    let deep = r#"{"a":"#.repeat(120);
    let group = format!("{deep}[{}", "1,".repeat(5_000));
    let nested = format!("{deep}[{}1]{}", filled("1,"), "}".repeat(120));
    vec![
        ("opening braces", filled("{")),
        ("closing braces", filled("}")),
        ("pairs", filled("{}")),
        ("objects without a known key", filled(r#"{"a":1}"#)),
        ("unclosed objects", filled(r#"{"a":"#)),
        ("unclosed objects and arrays", filled(r#"{"a":["#)),
        ("unclosed objects in lines", filled("{\"a\":\n")),
        (
            "depth before a long array",
            format!("{deep}[{}", filled("1,")),
        ),
        (
            "depth before a long text",
            format!("{deep}\"{}", filled("{x}")),
        ),
        (
            "depth before long lines",
            format!("{deep}[{}", filled("1,\n")),
        ),
        ("groups of depth", group.repeat(MEGABYTE / group.len())),
        ("depth that closes", nested.clone()),
        (
            "depth that closes on an error",
            nested.replace(",1]", ",!]"),
        ),
        (
            "an unclosed string",
            format!("{{\"summary\":\"{}", filled("{\\\"")),
        ),
        ("many unclosed strings", filled("{\"summary\":\"")),
        ("braces in strings", filled("{\"{\":\"}\",")),
        ("escapes", format!("{{\"a\":\"{}", filled("\\u00e9"))),
        ("an unclosed fence", format!("```json\n{}", filled("{\n"))),
        ("opening thoughts", filled("<think>")),
        ("closing thoughts", filled("</think>")),
        ("thoughts", filled("<think>{</think>")),
        ("angles", filled("<")),
        ("halves of tags", filled("</think")),
        ("one long line of words", filled("success ")),
        ("one long word", filled("success")),
        ("hyphens", filled("a-")),
        ("empty lines", filled("\n")),
        ("many lines", filled("SUCCESS\n")),
        ("markup", filled("**")),
        ("emoji", filled("😀")),
        ("Chinese", filled("成功失败")),
        ("nulls", filled("\0")),
        ("digits", format!("{{\"score\":{}", filled("9"))),
    ]
}

#[test]
fn a_megabyte_of_anything_is_read() {
    // What is quadratic takes so long that nobody overlooks it.
    for (_, reply) in megabytes() {
        judged(&reply);
        reflected(&reply);
    }
}

#[test]
fn an_object_after_much_noise_is_found() {
    let answer = r#"{"summary": "found"}"#;
    assert_eq!(
        reflected(&format!("{}{answer}", "{x} ".repeat(900))).summary,
        "found"
    );
    assert_eq!(
        reflected(&format!("{}{answer}", filled("noise "))).summary,
        "found"
    );
    assert!(reflected(&format!("{}{answer}", "{x} ".repeat(1_100))).parse_error());
}

#[tokio::test]
async fn a_whole_run_on_hostile_replies_ends_in_order() {
    for (name, reply) in megabytes() {
        let shorter: String = reply.chars().take(100_000).collect();
        let llm = move |_: String| std::future::ready(shorter.clone());
        let outcome = Reflexion::new(llm).run("the task").await.unwrap();
        assert!(!outcome.trials.is_empty(), "{name}");
        for trial in &outcome.trials {
            let sent: usize = trial.trajectory.messages[0].text().chars().count();
            assert!(sent < 3 * 17_000, "{name}: prompts stay bounded, {sent}");
        }
    }
}

/// Good replies, to be damaged.
const WHOLE: [&str; 4] = [
    "FAILURE: all is lost\nThe file {a: \"b\"} is gone.",
    "<think>Hm, {\"success\": false}?</think>\n**Verdict:** FAILURE - é😀 missing\n",
    "```json\n{\"success\": true, \"score\": 0.5, \"feedback\": \"ok \\\"x\\\" \\u00e9\"}\n```",
    "{\"summary\": \"s\", \"insights\": [1, {\"a\": null}], \"suggestions\": {\"b\": [\"}\"]}}",
];

/// A part of a good reply.
fn fragment() -> impl Strategy<Value = String> {
    let reply = prop::sample::select(WHOLE.to_vec());
    (reply, 0..80_usize, 0..80_usize)
        .prop_map(|(reply, skip, take)| reply.chars().skip(skip).take(take).collect())
}

/// Pieces of what models write, put together at random.
fn scraps() -> impl Strategy<Value = String> {
    let scrap = prop_oneof![
        4 => prop::sample::select(vec![
            "{", "}", "[", "]", "\"", ":", ",", "\n", " ", "```", "```json\n", "<think>", "</think>",
            "<THINKING>", "SUCCESS", "FAILURE", "success", "fail", "Verdict", "not", "a", "true", "false",
            "null", "\\", "\\\"", "1e999", "NaN", "\"success\":", "\"score\":", "\"feedback\":",
            "\"summary\":", "\"insights\":", "{\"success\":true}", "{\"summary\":\"s\"}", "é", "😀",
        ]).prop_map(str::to_owned),
        2 => fragment(),
        1 => any::<String>(),
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(scrap, 0..40).prop_map(|scraps| scraps.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn any_reply_is_read_without_a_panic(reply in scraps()) {
        let evaluation = judged(&reply);
        prop_assert!(!(evaluation.unclear && evaluation.success));
        prop_assert!(evaluation.score.is_none_or(f64::is_finite));
        let result = reflected(&reply);
        prop_assert!(!result.parse_error() || result.summary.chars().count() <= 200);
        prop_assert_eq!(&result.metadata["reflector"], "general_reflector");
    }

    #[test]
    fn a_pass_is_never_read_from_a_reply_that_does_not_say_it(reply in scraps()) {
        let lower = reply.to_lowercase();
        if !lower.contains("success") && !lower.contains("pass") {
            prop_assert!(!judged(&reply).success);
        }
    }

    #[test]
    fn an_object_is_found_whatever_prose_is_around_it(
        before in "[^{}<>]{0,80}", summary in any::<String>(), after in any::<String>(),
    ) {
        // Tags in the text itself are thoughts by rule.
        prop_assume!(!after.contains("think") && !summary.contains("think"));
        let object = serde_json::json!({"summary": summary}).to_string();
        let result = reflected(&format!("{before}{object}{after}"));
        prop_assert_eq!(&result.summary, &summary);
        prop_assert!(!result.parse_error());
    }

    #[test]
    fn a_failure_on_the_first_line_is_read_with_any_reason(reason in "[^{}<>\r\n]{0,80}") {
        let evaluation = judged(&format!("FAILURE: {reason}"));
        prop_assert!(!evaluation.success && !evaluation.unclear);
    }

    #[test]
    fn prose_beside_a_bare_pass_makes_it_unclear(words in prop::collection::vec("[a-z]{1,8}", 1..20)) {
        let reply = format!("SUCCESS: {}", words.join(" "));
        let evaluation = judged(&reply);
        prop_assert!(!evaluation.success && evaluation.unclear);
        prop_assert_eq!(evaluation.feedback, reply);
    }
}
