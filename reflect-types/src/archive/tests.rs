use serde_json::{Value, json};

use super::*;

fn refused(part: &str, value: Value) -> Option<String> {
    let mut piece = json!({
        "kind": "trace", "id": "t", "task": "t", "review_status": "reviewed",
        "review": {"id": "r", "trace_id": "t", "result": "fail", "reviewer": "human"},
    });
    *piece.pointer_mut(part).unwrap() = value;
    let piece: Piece = serde_json::from_value(piece).unwrap();
    piece.validate().err().map(|error| error.to_string())
}

#[test]
fn pieces_of_an_older_version_are_read() {
    let memory: Piece = serde_json::from_value(json!({
        "kind": "memory", "id": "m", "trace_id": "t", "task": "t", "success": true,
        "q_value": 0.5, "uses": 0, "metadata": {}, "created_at": "2026-01-01T00:00:00Z",
        "summary": "s", "key_mistake": "", "correct_action": "", "guidance": "g",
        "applicable_tools": [], "tools_used": [], "events": [],
    }))
    .unwrap();
    assert_eq!(memory.validate(), Ok(()));
    let Piece::Memory(memory) = memory else {
        panic!("{memory:?}");
    };
    assert_eq!((memory.generation, memory.set_aside.len()), (0, 0));
    let trace: Piece = serde_json::from_value(json!({
        "kind": "trace", "id": "t", "task": "t", "review_status": "pending",
    }))
    .unwrap();
    assert!(matches!(trace, Piece::Trace(trace) if trace.past_reviews.is_empty()));
}

#[test]
fn a_verdict_or_reviewer_that_no_store_can_read_again_is_refused() {
    let review = |overruled: Value, reviewer: Value| {
        let review = json!({
            "id": "r", "trace_id": "t", "result": "fail",
            "reviewer": reviewer, "overruled": overruled,
        });
        refused("/review", review)
    };
    let said = |model: &str, result: &str| json!({"model": model, "result": result});
    assert_eq!(review(said("m", "pass"), json!("human")), None);
    assert_eq!(review(Value::Null, json!({"model": "m"})), None);

    let unknown = review(said("m", "partial"), json!("human")).unwrap();
    assert_eq!(unknown, "`review.overruled` must be `pass` or `fail`");
    assert!(review(said(" ", "pass"), json!("human")).is_some());
    let long = "m".repeat(Reviewer::MAX_NAME + 1);
    for name in ["", &long] {
        assert!(review(Value::Null, json!({"model": name})).is_some());
    }
    let piece = |withdrawn: Value| {
        refused(
            "",
            json!({
                "kind": "trace", "id": "t", "task": "t", "review_status": "pending",
                "withdrawn_verdict": withdrawn,
            }),
        )
    };
    assert_eq!(piece(said("m", "fail")), None);
    let unknown = piece(said("m", "partial")).unwrap();
    assert_eq!(unknown, "`withdrawn_verdict` must be `pass` or `fail`");
}
