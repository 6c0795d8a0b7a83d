use serde_json::json;

use super::*;

fn too_long() -> CreateTrace {
    let mut trace = CreateTrace::new("t".repeat(CreateTrace::MAX_TASK + 1), "prose");
    trace.model = Some("m".repeat(CreateTrace::MAX_MODEL + 1));
    trace.metadata.insert("small".to_owned(), json!(1));
    let large = "x".repeat(CreateTrace::MAX_METADATA);
    trace.metadata.insert("large".to_owned(), json!(large));
    trace.retrieved_memory_ids = vec!["m".repeat(MemoryId::MAX_LENGTH + 1).into(), "1".into()];
    let ids = (1..=CreateTrace::MAX_RETRIEVED + 1).map(|n| n.to_string().into());
    trace.retrieved_memory_ids.extend(ids);
    let mut review = Review::fail("f".repeat(Review::MAX_FEEDBACK + 1));
    review.reflection = Some(AuthoredReflection {
        summary: "s".repeat(AuthoredReflection::MAX_TEXT + 1),
        guidance: "g".to_owned(),
        applicable_tools: vec![
            "n".repeat(AuthoredReflection::MAX_TOOL_NAME + 1);
            AuthoredReflection::MAX_TOOLS + 1
        ],
        ..AuthoredReflection::default()
    });
    trace.review = Some(review);
    trace
}

#[test]
fn every_length_has_a_limit_that_its_error_names() {
    let mut trace = too_long();
    assert_eq!(
        trace.validate().unwrap_err().to_string(),
        "`task` must have at most 32768 characters, got 32769"
    );
    trace.task = "t".to_owned();
    assert_eq!(
        trace.validate().unwrap_err().to_string(),
        "`model` must have at most 200 characters, got 201"
    );
    trace.model = None;
    assert_eq!(
        trace.validate().unwrap_err().to_string(),
        "`metadata` must have at most 65536 bytes as JSON, got 65558"
    );
    trace.metadata.clear();
    assert_eq!(
        trace.validate().unwrap_err().to_string(),
        "`retrieved_memory_ids` must have at most 1000 ids, got 1003"
    );
    trace.retrieved_memory_ids.truncate(1);
    assert_eq!(
        trace.validate().unwrap_err().to_string(),
        "`retrieved_memory_ids` must have ids of at most 128 characters"
    );
    trace.retrieved_memory_ids.clear();
    assert_eq!(
        trace.validate().unwrap_err().to_string(),
        "`review.feedback_text` must have at most 32768 characters, got 32769"
    );
    let review = trace.review.as_mut().unwrap();
    review.feedback_text = None;
    assert_eq!(
        trace.validate().unwrap_err().to_string(),
        "`review.reflection.summary` must have at most 8192 characters, got 8193"
    );
    let reflection = trace.review.as_mut().unwrap().reflection.as_mut().unwrap();
    reflection.summary = "s".to_owned();
    assert_eq!(
        trace.validate().unwrap_err().to_string(),
        "`review.reflection.applicable_tools` must have at most 100 tools, got 101"
    );
}

#[test]
fn a_shortened_run_is_valid_and_says_what_was_cut() {
    let mut trace = too_long();
    assert_eq!(
        trace.shorten(),
        [
            "task",
            "model",
            "review.feedback_text",
            "review.reflection",
            "metadata",
            "retrieved_memory_ids"
        ]
    );
    assert_eq!(trace.validate(), Ok(()));
    // Neither the long id nor the repeated one has cost another its place.
    assert_eq!(trace.retrieved_memory_ids.len(), CreateTrace::MAX_RETRIEVED);
    assert_eq!(trace.retrieved_memory_ids[999], "1000");
    assert!(trace.task.starts_with("tt") && trace.task.ends_with('…'));
    assert_eq!(trace.metadata, *json!({"small": 1}).as_object().unwrap());
    assert_eq!(trace.shorten(), [""; 0]);
}

#[test]
fn a_trace_sends_what_the_api_always_expects_and_nothing_else() {
    assert_eq!(
        serde_json::to_value(CreateTrace::new("t", "prose")).unwrap(),
        json!({
            "task": "t", "trajectory": "prose", "retrieved_memory_ids": [],
            "model": null, "metadata": {}
        })
    );
}

#[test]
fn an_invalid_inline_review_is_named_with_its_path() {
    let mut trace = CreateTrace::new("t", "prose");
    trace.review = Some(Review::pass().alpha(-0.1));
    assert_eq!(trace.validate().unwrap_err().field, "review.alpha");
}

#[test]
fn a_run_of_the_control_arm_has_no_memories() {
    let mut trace = CreateTrace::new("t", "prose");
    trace.arm = Some(Arm::Control);
    assert_eq!(trace.validate(), Ok(()));
    assert_eq!(serde_json::to_value(&trace).unwrap()["arm"], "control");
    trace.retrieved_memory_ids = vec!["m".into()];
    assert_eq!(trace.validate().unwrap_err().field, "arm");
    trace.arm = Some(Arm::Memories);
    assert_eq!(trace.validate(), Ok(()));
    trace.arm = Some(Arm::from("placebo"));
    let refused = trace.validate().unwrap_err().to_string();
    assert_eq!(
        refused,
        "`arm` must be `control` or `memories`, got `placebo`"
    );
}

#[test]
fn an_idempotency_key_fits_into_a_header() {
    let checked = |key: &str| {
        let mut trace = CreateTrace::new("t", "prose");
        trace.idempotency_key = Some(key.to_owned());
        trace.validate()
    };
    assert_eq!(checked("0198-a"), Ok(()));
    assert_eq!(checked(&"x".repeat(255)), Ok(()));
    for key in ["", "two words", "ü", "a\nb", &"x".repeat(256)] {
        assert_eq!(checked(key).unwrap_err().field, IDEMPOTENCY_KEY, "{key:?}");
    }
}
