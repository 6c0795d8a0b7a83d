//! Who gave a review, through every reply, an export and an import.

use reflect_engine::Engine;
use reflect_types::{
    ArchivedTrace, CreateTrace, ExportTraces, ModelVerdict, Piece, ProjectId, Review, ReviewRecord,
    Reviewer, Trace, TraceId, Verdict,
};
use serde_json::{Value, json};

fn project() -> ProjectId {
    ProjectId::from("support")
}

fn engine() -> Engine {
    Engine::builder().start().unwrap()
}

fn said(result: Verdict) -> ModelVerdict {
    ModelVerdict {
        model: "m".to_owned(),
        result,
    }
}

async fn record(engine: &Engine) -> TraceId {
    let run = CreateTrace::new("Refund order 7", "done");
    engine.create_trace(&project(), run).await.unwrap().trace_id
}

async fn review(engine: &Engine, id: &TraceId, review: Review) -> ReviewRecord {
    let reviewed = engine.review_trace(&project(), id, review).await.unwrap();
    reviewed.review.unwrap()
}

/// Records a person's review, a model's, a person's after a model's, a withdrawn one of a model, and
/// a person's that begins like a note.
async fn fill(engine: &Engine) {
    let judged = || Review::fail("no").judged_by("m");
    review(engine, &record(engine).await, Review::pass()).await;
    review(engine, &record(engine).await, judged()).await;
    let overruled = record(engine).await;
    review(engine, &overruled, judged()).await;
    review(engine, &overruled, Review::pass()).await;
    let withdrawn = record(engine).await;
    review(engine, &withdrawn, judged()).await;
    engine
        .withdraw_review(&project(), &withdrawn)
        .await
        .unwrap();
    let typed = Review::fail("[judge m] no");
    review(engine, &record(engine).await, typed).await;
}

async fn exported(engine: &Engine) -> Vec<ArchivedTrace> {
    engine
        .export_traces(&project(), &ExportTraces::default())
        .await
        .unwrap()
}

async fn imported(traces: Vec<Value>) -> Engine {
    let pieces = traces.into_iter().map(|mut trace| {
        trace["kind"] = json!("trace");
        serde_json::from_value::<Piece>(trace).unwrap()
    });
    let copy = engine();
    copy.import(&project(), pieces.collect()).await.unwrap();
    copy
}

fn reviewer(trace: &Trace) -> (Option<&Reviewer>, Option<&str>, Option<&ModelVerdict>) {
    let review = trace.review.as_ref();
    (
        review.and_then(|review| review.reviewer.as_ref()),
        review.and_then(|review| review.feedback_text.as_deref()),
        review.and_then(|review| review.overruled.as_ref()),
    )
}

#[tokio::test]
async fn a_review_names_its_reviewer_and_its_key() {
    let engine = engine();
    let holder = engine.acting_for("key-1".into());
    let id = record(&engine).await;
    let judged = review(&holder, &id, Review::fail("no").judged_by("m")).await;
    assert_eq!(judged.reviewer, Some(Reviewer::Model("m".to_owned())));
    assert_eq!(judged.key_id, Some("key-1".into()));
    assert_eq!(judged.feedback_text.as_deref(), Some("no"));

    let person = review(&engine, &id, Review::pass()).await;
    assert_eq!(person.reviewer, Some(Reviewer::Human));
    assert_eq!((person.key_id, person.feedback_text), (None, None));
    assert_eq!(person.overruled, Some(said(Verdict::Fail)));
}

#[tokio::test]
async fn an_export_carries_the_reviewers() {
    let from = engine();
    fill(&from).await;
    let traces = exported(&from).await;
    let json = traces
        .iter()
        .map(|trace| serde_json::to_value(trace).unwrap());
    let copy = imported(json.collect()).await;
    assert_eq!(exported(&copy).await, traces);
    let typed = &exported(&copy).await[4].trace;
    let person = Some(&Reviewer::Human);
    assert_eq!(reviewer(typed), (person, Some("[judge m] no"), None));
}
