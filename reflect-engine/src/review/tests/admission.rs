//! Which reviews are worth asking a model for.

use reflect_types::{
    AuthoredReflection, IngestStatus, Review, ReviewMode, ReviewRecord, ReviewStatus, Trace,
    Verdict,
};

use crate::review::{Admission, Basis, Refusal, ReviewVersion};
use crate::review::{admit, admit_change, overrides, with_earlier_judge};

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
        }),
        ..serde_json::from_value(trace).unwrap()
    }
}

fn replaces(feedback: &str) -> Basis {
    Basis::Replace(ReviewVersion {
        id: "r-1".to_owned(),
        verdict: Verdict::Fail,
        feedback: Some(feedback.to_owned()),
    })
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
    let table = [
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
            trace(Completed, Some(("[judge m] no", Deferred))),
            yes(),
            replacing("[judge m] no"),
        ),
        (
            trace(Queued, Some(("[judge m] no", Inline))),
            yes(),
            replacing("[judge m] no"),
        ),
        (
            trace(Completed, Some(("no", Deferred))),
            no().judged_by("m"),
            settled.clone(),
        ),
        (
            trace(Completed, Some(("[judge m] no", Deferred))),
            no().judged_by("m"),
            settled,
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
        (
            trace(Queued, Some(("[judge m] no", Inline))),
            Ok(replaces("[judge m] no")),
        ),
        (trace(Completed, Some(("no", Inline))), Ok(replaces("no"))),
        (trace(Failed, Some(("no", Inline))), Ok(replaces("no"))),
    ];
    for (n, (trace, expected)) in table.into_iter().enumerate() {
        assert_eq!(admit_change(&trace), expected, "row {n}");
    }
}

#[test]
fn a_person_overrides_a_model_and_notes_its_verdict() {
    let by_model = trace(
        IngestStatus::Completed,
        Some(("[judge m] no", ReviewMode::Deferred)),
    );
    assert!(overrides(&Review::pass(), &by_model));
    assert!(!overrides(&Review::pass().judged_by("n"), &by_model));
    let noted = with_earlier_judge(Review::pass(), &by_model);
    assert_eq!(noted.feedback_text.as_deref(), Some("[judge m said fail]"));

    let mut withdrawn = trace(IngestStatus::Completed, None);
    withdrawn.judge_note = Some("[judge m said pass]".to_owned());
    assert!(!overrides(&Review::pass(), &withdrawn));
    let noted = with_earlier_judge(Review::fail("no"), &withdrawn);
    assert_eq!(
        noted.feedback_text.as_deref(),
        Some("[judge m said pass] no")
    );
    let model = Review::pass().judged_by("n");
    assert_eq!(with_earlier_judge(model.clone(), &withdrawn), model);
}
