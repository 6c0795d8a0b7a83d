use std::error::Error as _;
use std::sync::{Arc, Mutex};

use reflexion::analysis::{
    Analysis, GeneralReflector, Points, ReflectError, ReflectionContext, ReflectionHistory,
    ReflectionLevel, ReflectionResult, ReflectionType, Reflector, ReflectorReflection,
};
use reflexion::{ReflexionError, Stage};
use serde_json::json;

use super::support::{Bench, Broken, run, scripted_llm};

async fn reflect(reply: &str) -> ReflectionResult {
    let reply = reply.to_owned();
    let judge = move |_: String| std::future::ready(reply.clone());
    let result = GeneralReflector::new(judge)
        .reflect(&ReflectionContext::new())
        .await;
    result.unwrap()
}

#[tokio::test]
async fn braces_in_strings_are_not_counted() {
    for reply in [
        r#"{"summary": "a lone { brace"}"#,
        r#"{"summary": "a lone } brace", "insights": ["}}{{"]}"#,
        r#"use {x} here: {"summary": "an escaped \" and {"}"#,
    ] {
        let result = reflect(reply).await;
        assert!(!result.parse_error(), "{reply}");
        assert!(result.summary.starts_with('a'), "{reply}");
    }
}

#[tokio::test]
async fn the_object_is_found_anywhere_in_the_reply() {
    for reply in [
        r#"{"summary": "s"}"#,
        "```json\n{\"summary\": \"s\"}\n```",
        "```\n{\"summary\": \"s\"}",
        r#"Sure! {"summary": "s"} Anything else?"#,
        r#"[{"summary": "s"}]"#,
        r#"{"result": {"deep": [{"summary": "s"}]}}"#,
        r#"{"broken": {"summary": "s"}"#,
        r#"{'single': 1} {"summary": "s"}"#,
        r#"{"trailing": 1,} {"summary": "s"}"#,
        "\u{feff}é😀{\"summary\": \"s\"}",
        r#"<think>{"summary": "draft"}</think>{"summary": "s"}"#,
        r#"{"summary": "draft"}</think>{"summary": "s"}"#,
    ] {
        let result = reflect(reply).await;
        assert_eq!(
            (result.summary.as_str(), result.parse_error()),
            ("s", false),
            "{reply}"
        );
    }
}

#[tokio::test]
async fn an_object_without_a_known_key_is_skipped() {
    let result = reflect(r#"{} {"id": 7} {"summary": "the right one"}"#).await;
    assert_eq!(result.summary, "the right one");
    for reply in ["{}", r#"{"id": 7}"#, "[1, 2]", r#"{"Summary": "case"}"#] {
        let result = reflect(reply).await;
        assert!(result.parse_error(), "{reply}");
        assert_eq!(result.summary, reply);
    }
    let insights = reflect(r#"{"insights": ["only this"]}"#).await.insights;
    assert_eq!(insights, ["only this"]);
}

#[tokio::test]
async fn values_of_the_wrong_type_become_usable() {
    let result = reflect(
        r#"{"summary": null, "key_findings": "only one", "root_causes": null,
            "insights": [1, {"a": [true]}, null, "plain"], "suggestions": {"first": "retry"}}"#,
    )
    .await;
    assert_eq!(result.summary, "");
    assert_eq!(result.key_findings, ["only one"]);
    assert!(result.root_causes.is_empty());
    assert_eq!(result.insights, ["1", r#"{"a":[true]}"#, "plain"]);
    assert_eq!(result.suggestions, [r#"{"first":"retry"}"#]);
    assert!(!result.parse_error());
    assert_eq!(reflect(r#"{"summary": 7}"#).await.summary, "7");
}

#[tokio::test]
async fn a_reply_without_json_becomes_a_summary_of_200_characters() {
    let result = reflect(&"é".repeat(300)).await;
    assert_eq!(result.summary, "é".repeat(200));
    assert_eq!(reflect("  plain text \n").await.summary, "  plain text \n");
    let empty = reflect("").await;
    assert!(empty.parse_error() && empty.summary.is_empty());
    let thought = reflect("<think>why</think>It broke.").await;
    assert_eq!(thought.summary, "It broke.");
    let unclosed = reflect("<think>never closed").await;
    assert_eq!(unclosed.summary, "<think>never closed");
}

#[tokio::test]
async fn flags_are_in_the_metadata_only_if_true_and_a_missing_judge_is_an_error() {
    let good = reflect(r#"{"summary": "s", "parse_error": true}"#).await;
    let metadata = json!({"reflector": "general_reflector"});
    assert_eq!(json!(good.metadata), metadata);
    let bad = reflect("no json").await;
    let metadata = json!({"reflector": "general_reflector", "parse_error": true});
    assert_eq!(json!(bad.metadata), metadata);
    let none = GeneralReflector::builder().name("mine").build();
    let none = none.reflect(&ReflectionContext::new()).await.unwrap();
    let metadata = json!({"reflector": "mine", "error": true});
    assert_eq!(json!(none.metadata), metadata);
    assert!(none.is_error());
    assert_eq!(none.summary, "No judge callable provided");
    assert_eq!(none.reflection_type, ReflectionType::Insight);
    assert_eq!(none.level, ReflectionLevel::Deep);
}

#[tokio::test]
async fn an_error_of_the_judge_is_the_error_of_the_reflection() {
    let judge = |_: String| async { Err::<String, _>(Broken("mine")) };
    let reflector = GeneralReflector::new(judge);
    let result = reflector.reflect(&ReflectionContext::new()).await;
    assert!(matches!(result, Err(ReflectError::Judge(_))));
    assert_mine(result);
}

/// The source of the error is the user's own.
fn assert_mine(result: Result<ReflectionResult, ReflectError>) {
    let error = result.unwrap_err();
    let source = error.source().unwrap().downcast_ref();
    assert_eq!(source, Some(&Broken("mine")));
}

#[test]
fn an_empty_system_prompt_keeps_the_default() {
    let context = ReflectionContext::new().input("x");
    let builder = GeneralReflector::builder;
    let default = builder().build().prompt(&context);
    assert_eq!(
        builder().system_prompt("").build().prompt(&context),
        default
    );
    let mine = builder().system_prompt("Mine.").build().prompt(&context);
    assert_eq!(mine, "Mine.\n\n[Input]\nx");
}

#[test]
fn null_is_not_a_section_and_an_empty_string_is_one() {
    let reflector = GeneralReflector::builder().system_prompt("P").build();
    let context: ReflectionContext =
        json!({"iteration": 3, "error": null, "output": "", "input": {"a": [1]}, "other": 1})
            .into();
    assert_eq!(
        reflector.prompt(&context),
        "P\n\n[Input]\n{\"a\":[1]}\n[Output]\n\n[Iteration] 3"
    );
    assert_eq!(reflector.prompt(&ReflectionContext::new()), "P\n");
    assert_eq!(
        reflector.prompt(&json!("bare").into()),
        "P\n\n[Input]\nbare"
    );
}

struct Steps;

impl Reflector for Steps {
    async fn analyze(&self, _: &ReflectionContext) -> Result<Analysis, ReflectError> {
        Ok(Analysis::new("s")
            .key_findings(["k"])
            .root_causes(["r"])
            .insights(["of the analysis"])
            .suggestions(["of the analysis"]))
    }

    async fn insight(&self, analysis: &Analysis) -> Result<Points, ReflectError> {
        let insight = format!("better than {}", analysis.insights[0]);
        Ok(Points::new([insight])
            .with("step", 2)
            .with("confidence", 0.5))
    }

    async fn suggest(
        &self,
        analysis: &Analysis,
        insights: &Points,
    ) -> Result<Points, ReflectError> {
        let suggestion = format!("{}: {}", analysis.summary, insights.items[0]);
        Ok(Points::new([suggestion]).with("step", 3))
    }
}

#[tokio::test]
async fn suggest_sees_the_insights_and_extra_fields_of_all_steps_reach_the_result() {
    let result = Steps.reflect(&ReflectionContext::new()).await.unwrap();
    assert_eq!(result.insights, ["better than of the analysis"]);
    assert_eq!(result.suggestions, ["s: better than of the analysis"]);
    assert_eq!(
        (result.key_findings, result.root_causes),
        (vec!["k".into()], vec!["r".into()])
    );
    assert_eq!(json!(result.extra), json!({"step": 3, "confidence": 0.5}));
    assert_eq!(json!(result.metadata), json!({"reflector": "reflector"}));
    assert_eq!(result.level, ReflectionLevel::Medium);
}

#[tokio::test]
async fn an_error_of_a_step_is_the_error_of_the_reflection() {
    struct Fails;
    impl Reflector for Fails {
        async fn analyze(&self, _: &ReflectionContext) -> Result<Analysis, ReflectError> {
            Err(ReflectError::step(Broken("mine")))
        }
    }
    assert_mine(Fails.reflect(&ReflectionContext::new()).await);
}

#[tokio::test]
async fn a_result_round_trips_through_json() {
    let result = reflect(r#"{"summary": "s", "suggestions": ["a"], "confidence": 0.9}"#).await;
    assert_eq!(json!(result.extra), json!({"confidence": 0.9}));
    let json = serde_json::to_value(&result).unwrap();
    assert_eq!(json["reflection_type"], "insight");
    let back: ReflectionResult = serde_json::from_value(json).unwrap();
    assert_eq!(back, result);
    let short = json!({"reflection_type": "failure", "level": "meta", "summary": "s"});
    let short: ReflectionResult = serde_json::from_value(short).unwrap();
    assert!(short.insights.is_empty() && short.metadata.is_empty());
}

#[tokio::test]
async fn a_reflector_can_be_the_self_reflection_of_a_loop() {
    let (prompts, judge) =
        scripted_llm(&[r#"{"summary": "Too curt", "suggestions": ["Say why", "Say how"]}"#]);
    let history = Arc::new(Mutex::new(ReflectionHistory::new()));
    let reflector = GeneralReflector::builder()
        .judge(judge)
        .reflection_type(ReflectionType::Failure)
        .build();
    let reflection = ReflectorReflection::new(reflector).history(&history);
    let bench = Bench::default();
    let outcome = run(bench.builder(2).self_reflection(reflection))
        .await
        .unwrap();
    let note = "Too curt\n- Say why\n- Say how";
    assert_eq!(outcome.memory[0].reflection, note);
    let run = "[Input]\nthe task\n[Output]\nanswer 1\n[Error]\nfeedback 1\n[Iteration] 1";
    assert!(prompts.all()[0].ends_with(run));
    assert_eq!(history.lock().unwrap().failure_count(), 1);
}

#[tokio::test]
async fn a_reflector_without_a_judge_writes_no_reflection() {
    let reflection = ReflectorReflection::new(GeneralReflector::builder().build());
    let builder = Bench::default().builder(2).self_reflection(reflection);
    match run(builder).await {
        Err(ReflexionError::Stage { stage, .. }) => assert_eq!(stage, Stage::Reflection),
        other => panic!("not refused: {other:?}"),
    }
}

#[tokio::test]
async fn a_result_becomes_the_reflection_of_a_review() {
    let result = reflect(
        r#"{"summary": "Too high", "root_causes": ["no filter"], "insights": ["Filter first"],
            "suggestions": ["Filter, then add"]}"#,
    )
    .await;
    let authored = result.to_authored();
    assert_eq!(authored.summary, "Too high");
    assert_eq!(authored.guidance, "- Filter, then add\n- Filter first");
    assert_eq!(authored.key_mistake, "no filter");
}

#[cfg(feature = "memory")]
#[tokio::test]
async fn a_result_can_be_stored_as_a_memory() {
    let server = super::server::Server::start().await;
    let client = server.client();
    let result = reflect(r#"{"summary": "Too high", "suggestions": ["Filter first"]}"#).await;
    let verdict = reflect_sdk::Verdict::Fail;
    let call = result.create_memory(&client, "Sum the invoices", verdict);
    call.await.unwrap();
    let trace = server.traces().await.remove(0);
    assert_eq!(trace.task, "Sum the invoices");
    let review = trace.review.unwrap();
    assert_eq!(review.result, verdict);
    assert_eq!(review.reflection, Some(result.to_authored()));

    let none = GeneralReflector::builder().build();
    let none = none.reflect(&ReflectionContext::new()).await.unwrap();
    let call = none.create_memory(&client, "Sum the invoices", verdict);
    assert!(call.await.is_err(), "an error teaches nothing");
}
