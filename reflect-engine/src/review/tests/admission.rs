//! Which reviews are worth asking a model for.

use reflect_types::{
    AuthoredReflection, IngestStatus, ModelVerdict, Review, ReviewMode, ReviewRecord, ReviewStatus,
    Reviewer, Trace, Verdict,
};

use crate::review::{Admission, Basis, Refusal, ReviewVersion};
use crate::review::{admit, admit_change, overrides, overruled};

fn trace(status: IngestStatus, review: Option<(&str, ReviewMode)>) -> Trace {
    let reviewed = status == IngestStatus::Completed && review.is_some();
    let trace = serde_json::json!({
        "id": "t-1",
        "task": "Pay the bill",
        "trajectory": [],
        "final_response": "",
        "review_status": if reviewed { "reviewed" } else { "pending" },
        "ingest_status": "completed",
    });
    Trace {
        ingest_status: status,
        review: review.map(|(feedback, mode)| ReviewRecord {
            id: "r-1".to_owned(),
            trace_id: "t-1".into(),
            result: Verdict::Fail,
            feedback_text: Some(feedback.to_owned()),
            mode,
            reviewer: Some(Reviewer::Human),
            key_id: None,
            overruled: None,
        }),
        ..serde_json::from_value(trace).unwrap()
    }
}

/// A trace whose review, `no`, is this reviewer's.
fn reviewed_by(reviewer: Reviewer, status: IngestStatus, mode: ReviewMode) -> Trace {
    let mut trace = trace(status, Some(("no", mode)));
    trace.review.as_mut().unwrap().reviewer = Some(reviewer);
    trace
}

/// A trace whose review, `no`, is a model's.
fn judged(status: IngestStatus, mode: ReviewMode) -> Trace {
    reviewed_by(Reviewer::model("m"), status, mode)
}

fn version(feedback: &str) -> ReviewVersion {
    ReviewVersion {
        id: "r-1".to_owned(),
        verdict: Verdict::Fail,
        feedback: Some(feedback.to_owned()),
        reviewer: Reviewer::Human,
        overruled: None,
    }
}

fn replaces(feedback: &str) -> Basis {
    Basis::Replace(version(feedback))
}

fn replaces_model() -> Basis {
    Basis::Replace(ReviewVersion {
        reviewer: Reviewer::model("m"),
        ..version("no")
    })
}

fn said(result: Verdict) -> ModelVerdict {
    ModelVerdict {
        model: "m".to_owned(),
        result,
    }
}

fn authored() -> Review {
    Review {
        reflection: Some(AuthoredReflection::default()),
        ..Review::fail("no")
    }
}

#[test]
fn a_review_is_admitted_by_the_state_of_its_trace() {
    use IngestStatus::{Completed, Failed, Processing, Queued};
    use ReviewMode::{Deferred, Inline};

    let (fresh, settled) = (Ok(Admission::Learn(Basis::Fresh)), Ok(Admission::Settled));
    let replacing = |feedback| Ok(Admission::Learn(replaces(feedback)));
    let (no, yes) = (|| Review::fail("no"), Review::pass);
    let working = Err(Refusal::Working);
    let mut failed_again = trace(Failed, Some(("no", Deferred)));
    failed_again.review_status = ReviewStatus::Reviewed;
    let table = vec![
        (trace(Completed, None), no(), fresh.clone()),
        // The inline review is about to be learned from.
        (trace(Queued, Some(("no", Inline))), no(), working.clone()),
        // A deferred review waits: the same one again has nothing to add, except a reflection.
        (trace(Queued, Some(("no", Deferred))), no(), settled.clone()),
        (
            trace(Processing, Some((" no ", Deferred))),
            no(),
            settled.clone(),
        ),
        (
            trace(Queued, Some(("no", Deferred))),
            authored(),
            replacing("no"),
        ),
        (
            trace(Queued, Some(("no", Deferred))),
            yes(),
            working.clone(),
        ),
        (trace(Queued, Some(("other", Deferred))), no(), working),
        // Nothing was learned from a failed review.
        (trace(Failed, Some(("no", Inline))), yes(), fresh),
        (failed_again.clone(), no(), replacing("no")),
        (failed_again, yes(), Err(Refusal::Reviewed(Verdict::Fail))),
        (
            trace(Completed, Some(("no", Deferred))),
            Review::fail("other"),
            settled.clone(),
        ),
        (
            trace(Completed, Some(("no", Inline))),
            yes(),
            Err(Refusal::Reviewed(Verdict::Fail)),
        ),
        // A person's review replaces a model's, but not the other way round.
        (
            judged(Completed, Deferred),
            yes(),
            Ok(Admission::Learn(replaces_model())),
        ),
        (
            judged(Queued, Inline),
            yes(),
            Ok(Admission::Learn(replaces_model())),
        ),
        (
            trace(Completed, Some(("no", Deferred))),
            no().judged_by("m"),
            settled.clone(),
        ),
        (
            trace(Failed, Some(("no", Deferred))),
            yes().judged_by("m"),
            Err(Refusal::Reviewed(Verdict::Fail)),
        ),
        (
            judged(Completed, Deferred),
            no().judged_by("m"),
            settled.clone(),
        ),
        // A person may begin a text like an old note of a model.
        (
            trace(Completed, Some(("[judge m] no", Deferred))),
            Review::fail("[judge m] no"),
            settled,
        ),
        (
            trace(Completed, Some(("[judge m] no", Deferred))),
            yes(),
            Err(Refusal::Reviewed(Verdict::Fail)),
        ),
    ];
    for (n, (trace, review, expected)) in table.into_iter().enumerate() {
        assert_eq!(admit(&trace, &review), expected, "row {n}");
    }
}

#[test]
fn a_replacement_waits_only_for_the_job_of_an_inline_review() {
    use IngestStatus::{Completed, Failed, Processing, Queued};
    use ReviewMode::{Deferred, Inline};

    let table = [
        (trace(Completed, None), Err(Refusal::NoReview)),
        (
            trace(Processing, Some(("no", Inline))),
            Err(Refusal::Working),
        ),
        (trace(Queued, Some(("no", Deferred))), Ok(replaces("no"))),
        (judged(Queued, Inline), Ok(replaces_model())),
        (trace(Completed, Some(("no", Inline))), Ok(replaces("no"))),
        (trace(Failed, Some(("no", Inline))), Ok(replaces("no"))),
    ];
    for (n, (trace, expected)) in table.into_iter().enumerate() {
        assert_eq!(admit_change(&trace, &Review::pass()), expected, "row {n}");
    }
    let model = Review::pass().judged_by("n");
    let by_person = trace(Completed, Some(("no", Deferred)));
    assert_eq!(admit_change(&by_person, &model), Err(Refusal::Outranked));
    let model_s = judged(Completed, Deferred);
    assert_eq!(admit_change(&model_s, &model), Ok(replaces_model()));
}

#[test]
fn a_programs_review_gives_way_to_a_models_and_a_persons_and_to_no_other() {
    use IngestStatus::{Completed, Queued};
    use ReviewMode::{Deferred, Inline};
    use Reviewer::{Human, Program};

    let (model, pass) = (|| Reviewer::model("m"), |by| Review::pass().reviewer(by));
    let stands = |reviewer: Reviewer| {
        let version = ReviewVersion {
            reviewer,
            ..version("no")
        };
        Ok(Admission::Learn(Basis::Replace(version)))
    };
    let refused = Err(Refusal::Reviewed(Verdict::Fail));
    for (current, status, mode, by, admitted) in [
        (Program, Completed, Deferred, model(), stands(Program)),
        (Program, Completed, Inline, Human, stands(Program)),
        // Its memory is being written.
        (Program, Queued, Inline, Human, stands(Program)),
        (Program, Queued, Inline, model(), stands(Program)),
        (Program, Completed, Deferred, Program, refused.clone()),
        (model(), Completed, Deferred, Program, refused.clone()),
        (Human, Completed, Deferred, Program, refused.clone()),
        (Human, Completed, Deferred, model(), refused),
    ] {
        let (trace, review) = (reviewed_by(current.clone(), status, mode), pass(by.clone()));
        assert_eq!(admit(&trace, &review), admitted, "{by} after {current}");
        let change = match &admitted {
            Ok(Admission::Learn(basis)) => Ok(basis.clone()),
            _ if current == Program => Ok(Basis::Replace(ReviewVersion {
                reviewer: Program,
                ..version("no")
            })),
            _ => Err(Refusal::Outranked),
        };
        assert_eq!(
            admit_change(&trace, &review),
            change,
            "{by} after {current}"
        );
        assert_eq!(
            overruled(&review, &trace).is_some(),
            by == Human && current == model()
        );
        let again = Review::fail("no").reviewer(by);
        let is_admitted = admit(&trace, &again).is_ok();
        assert!(is_admitted, "the same verdict again is no conflict");
    }
}

#[test]
fn a_person_overrides_a_model_and_keeps_its_verdict() {
    let by_model = judged(IngestStatus::Completed, ReviewMode::Deferred);
    let (person, model) = (Review::pass(), Review::pass().judged_by("n"));
    assert!(overrides(&person, &by_model));
    assert!(!overrides(&model, &by_model));
    assert_eq!(overruled(&person, &by_model), Some(said(Verdict::Fail)));
    assert_eq!(overruled(&model, &by_model), None);

    let mut again = trace(IngestStatus::Completed, Some(("no", ReviewMode::Deferred)));
    assert_eq!(overruled(&person, &again), None);
    again.review.as_mut().unwrap().overruled = Some(said(Verdict::Pass));
    assert_eq!(overruled(&person, &again), Some(said(Verdict::Pass)));

    let mut withdrawn = trace(IngestStatus::Completed, None);
    withdrawn.withdrawn_verdict = Some(said(Verdict::Pass));
    assert!(!overrides(&person, &withdrawn));
    assert_eq!(overruled(&person, &withdrawn), Some(said(Verdict::Pass)));
    assert_eq!(overruled(&model, &withdrawn), None);
}
