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
        review.and_then(ReviewRecord::comment),
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
    assert_eq!(judged.feedback_text.as_deref(), Some("[judge m] no"));
    assert_eq!(judged.comment(), Some("no"));

    let person = review(&engine, &id, Review::pass()).await;
    assert_eq!(person.reviewer, Some(Reviewer::Human));
    assert_eq!((person.key_id.clone(), person.comment()), (None, None));
    assert_eq!(person.overruled, Some(said(Verdict::Fail)));
    assert_eq!(person.feedback_text.as_deref(), Some("[judge m said fail]"));
}

#[tokio::test]
async fn a_person_who_types_the_note_of_a_model_stays_a_person() {
    let engine = engine();
    let id = record(&engine).await;
    let typed = review(&engine, &id, Review::fail("[judge gpt] fine")).await;
    assert_eq!(typed.reviewer, Some(Reviewer::Human));
    assert_eq!(typed.feedback_text.as_deref(), Some("[judge gpt] fine"));
    let other = engine.review_trace(&project(), &id, Review::pass()).await;
    assert!(other.is_err(), "only a model's review gives way");
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

#[tokio::test]
async fn the_notes_of_an_old_export_become_reviewers() {
    let from = engine();
    fill(&from).await;
    let old = exported(&from).await.into_iter().map(|trace| {
        let mut json = serde_json::to_value(trace).unwrap();
        json.as_object_mut().unwrap().remove("withdrawn_verdict");
        if let Some(review) = json["review"].as_object_mut() {
            for field in ["reviewer", "key_id", "overruled"] {
                review.remove(field);
            }
        }
        json
    });
    let copy = imported(old.collect()).await;
    let traces: Vec<Trace> = exported(&copy).await.into_iter().map(|t| t.trace).collect();
    let (person, model) = (Some(&Reviewer::Human), Reviewer::Model("m".to_owned()));
    assert_eq!(reviewer(&traces[0]), (person, None, None));
    assert_eq!(reviewer(&traces[1]), (Some(&model), Some("no"), None));
    let fail = Some(said(Verdict::Fail));
    assert_eq!(reviewer(&traces[2]), (person, None, fail.as_ref()));
    assert_eq!(traces[3].withdrawn_verdict, fail);
    assert_eq!(traces[3].judge_note.as_deref(), Some("[judge m said fail]"));
    // Old versions took it for a model's.
    assert_eq!(reviewer(&traces[4]).0, Some(&model));
}
