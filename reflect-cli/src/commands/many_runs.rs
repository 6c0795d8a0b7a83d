//! A large bank for the demo: the beginnings of its runs, many times over.

use jiff::{SignedDuration, Timestamp};
use reflect_engine::Engine;
use reflect_types::{
    ArchivedTrace, Arm, CreateTrace, IngestStatus, Judgement, MemoryId, ModelVerdict, Piece,
    ProjectId, Review, ReviewMode, ReviewRecord, ReviewStatus, Reviewer, Trace, TraceId, Verdict,
};

use crate::failure::Failure;

/// Records of a transaction.
const BATCH: u64 = 5_000;
/// The messages of a run that are kept.
const MESSAGES: usize = 3;
/// The first run is this old; the others follow at equal distances.
const AGE: SignedDuration = SignedDuration::from_hours(360 * 24);
const MODELS: [&str; 3] = ["gpt-4o", "gpt-4o-mini", "claude-sonnet"];
const JUDGE: &str = "gpt-5.4-mini";

/// Stores that many runs. Of ten, eight have a review, two of these by a model; one of ten is of the control
/// arm, the others were given some of these memories.
pub(crate) async fn store(
    engine: &Engine,
    project: &ProjectId,
    samples: &[CreateTrace],
    memories: &[MemoryId],
    count: u64,
) -> Result<(), Failure> {
    let now = Timestamp::now();
    let mut first = 0;
    while first < count {
        let end = count.min(first + BATCH);
        let pieces = (first..end).filter_map(|number| {
            let place = usize::try_from(number).unwrap_or_default();
            let sample = samples.get(place % samples.len().max(1))?;
            let behind = AGE.as_secs_f64() * share(count - number, count);
            let at = now.checked_sub(SignedDuration::try_from_secs_f64(behind).ok()?);
            Some(piece(number, sample, memories, at.ok()?))
        });
        engine.import(project, pieces.collect()).await?;
        first = end;
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "counts of runs are below 2^53")]
fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

fn piece(number: u64, sample: &CreateTrace, memories: &[MemoryId], at: Timestamp) -> Piece {
    let id = TraceId::new(format!("many-{number}"));
    let at = format!("{at:.3}");
    // Digits that look random and are the same each time.
    let luck = number.wrapping_mul(2_654_435_761) >> 7;
    let is_control = luck.is_multiple_of(10);
    let place = usize::try_from(luck % 1_000).unwrap_or_default();
    let given = match memories.len() {
        0 => Vec::new(),
        _ if is_control => Vec::new(),
        length => (place..place + 3)
            .filter_map(|place| memories.get(place % length).cloned())
            .collect(),
    };
    let verdict = if luck / 10 % 100 < if is_control { 55 } else { 64 } {
        Verdict::Pass
    } else {
        Verdict::Fail
    };
    let kind = luck / 1_000 % 10;
    let reviewer = if kind < 2 {
        Reviewer::model(JUDGE)
    } else {
        Reviewer::Human
    };
    let overruled = (kind == 2).then(|| ModelVerdict {
        model: JUDGE.to_owned(),
        result: verdict,
    });
    let review = (kind < 8).then(|| ReviewRecord {
        id: format!("review-{number}"),
        trace_id: id.clone(),
        result: verdict,
        feedback_text: None,
        mode: ReviewMode::Deferred,
        reviewer: Some(reviewer),
        key_id: None,
        overruled,
    });
    let judgement = review.is_some().then(|| Judgement {
        alpha: Review::DEFAULT_ALPHA,
        reflection: None,
        created_at: at.clone(),
    });
    let trajectory = sample.trajectory.clone().into_messages();
    let trace = Trace {
        id,
        task: format!("{} (order {number})", sample.task),
        trajectory: trajectory.into_iter().take(MESSAGES).collect(),
        final_response: String::new(),
        retrieved_memory_ids: given,
        ignored_memory_ids: Vec::new(),
        review_status: match review {
            Some(_) => ReviewStatus::Reviewed,
            None => ReviewStatus::Pending,
        },
        ingest_status: IngestStatus::Completed,
        ingest_attempts: 0,
        last_ingest_error: None,
        judge_error: None,
        model: Some(MODELS[place % MODELS.len()].to_owned()),
        metadata: sample.metadata.clone(),
        reference_context: None,
        created_memory_id: None,
        review,
        withdrawn_verdict: None,
        key_id: None,
        arm: Some(if is_control {
            Arm::Control
        } else {
            Arm::Memories
        }),
        run_id: None,
        parent_run_id: None,
        session_id: None,
        usage: None,
        created_at: Some(at),
    };
    Piece::Trace(Box::new(ArchivedTrace {
        trace,
        receipt: IngestStatus::Completed,
        judgement,
        past_reviews: Vec::new(),
    }))
}
