use std::sync::Arc;

use reflect_engine::model::LlmReflectionWriter;
use reflect_models::Client;
use reflect_models::scripted::{Act, ModelRequest, ModelServer};
use reflect_types::{CreateTrace, IngestStatus, Review, Verdict};

use tokio::time::Instant;

use super::backlog::MAX_ATTEMPTS;
use super::*;

/// Fails refunds, passes the rest.
fn strict(asked: &ModelRequest) -> Act {
    let verdict = if asked.text().contains("Refunded") {
        "fail"
    } else {
        "pass"
    };
    Act::Say(format!(
        r#"{{"verdict": "{verdict}", "feedback": "because"}}"#
    ))
}

struct World {
    engine: Engine,
    server: ModelServer,
    judge: Judge,
    metrics: Metrics,
    backlog: Backlog,
}

impl World {
    async fn new() -> Self {
        let server = ModelServer::start(strict).await.unwrap();
        let client = Client::builder("m").base_url(server.url()).attempts(1);
        Self {
            engine: Engine::builder().start().unwrap(),
            judge: Judge::new(client.build().unwrap()),
            metrics: Metrics::new(),
            backlog: Backlog::default(),
            server,
        }
    }

    async fn record(&self, project: &str, answer: &str) -> TraceId {
        let trace = CreateTrace::new("Refund order 7", answer);
        let receipt = self.engine.create_trace(&project.into(), trace).await;
        receipt.unwrap().trace_id
    }

    async fn round(&mut self) {
        round(&self.engine, &self.judge, &self.metrics, &mut self.backlog).await;
    }

    /// Ends all delays and pauses.
    fn later(&mut self) {
        self.backlog.paused_until = None;
        for pending in self.backlog.projects.values_mut() {
            pending.full_scan_at = None;
            for failures in pending.failures.values_mut() {
                failures.not_before = Instant::now();
            }
        }
    }

    async fn get(&self, project: &str, id: &TraceId) -> Trace {
        self.engine.get_trace(&project.into(), id).await.unwrap()
    }
}

#[tokio::test]
async fn every_pending_trace_of_every_project_is_judged_once() {
    let mut world = World::new().await;
    let refunded = world.record("a", "Refunded.").await;
    let declined = world.record("b", "Declined.").await;
    for _ in 0..25 {
        world.record("a", "Declined.").await;
    }
    world.round().await;
    world.round().await;
    assert_eq!(world.server.asked().len(), 27);
    let review = world.get("a", &refunded).await.review.unwrap();
    assert_eq!(review.result, Verdict::Fail);
    assert_eq!(review.feedback_text.as_deref(), Some("[judge m] because"));
    let review = world.get("b", &declined).await.review.unwrap();
    assert_eq!(review.result, Verdict::Pass);
    let text = world.metrics.text().unwrap();
    assert!(
        text.contains(r#"reflect_judged_total{outcome="pass"} 26"#),
        "{text}"
    );
}

#[tokio::test]
async fn review_of_a_person_stands() {
    let mut world = World::new().await;
    let id = world.record("a", "Refunded.").await;
    let pending = world.get("a", &id).await;
    let person = Review::pass().feedback("fine");
    let project = ProjectId::from("a");
    world
        .engine
        .review_trace(&project, &id, person)
        .await
        .unwrap();
    world.round().await;
    assert_eq!(world.server.asked().len(), 0);
    // Judged after the person's review: the person's stands.
    let outcome = judge_trace(&world.engine, &world.judge, &project, &pending).await;
    assert_eq!(outcome, JudgeOutcome::Overtaken);
    let review = world.get("a", &id).await.review.unwrap();
    assert_eq!(review.feedback_text.as_deref(), Some("fine"));
}

#[tokio::test]
async fn unclear_trace_stays_pending() {
    let mut world = World::new().await;
    let id = world.record("a", "Refunded.").await;
    world
        .server
        .first([Act::Say(r#"{"verdict": "unclear"}"#.to_owned())]);
    world.round().await;
    world.round().await;
    assert_eq!(world.server.asked().len(), 1);
    let trace = world.get("a", &id).await;
    assert_eq!(trace.review_status, ReviewStatus::Pending);
}

#[tokio::test]
async fn failing_trace_is_retried_a_few_times() {
    let mut world = World::new().await;
    let id = world.record("a", "Refunded.").await;
    world.server.first(vec![Act::Refuse("no".to_owned()); 9]);
    for attempt in 1..=MAX_ATTEMPTS + 1 {
        world.round().await;
        // A second round at once: the trace is not due yet.
        world.round().await;
        let asked = world.server.asked().len();
        assert_eq!(asked, usize::try_from(attempt.min(MAX_ATTEMPTS)).unwrap());
        world.later();
    }
    let trace = world.get("a", &id).await;
    assert_eq!(trace.review_status, ReviewStatus::Pending);
    // A reviewed trace is forgotten.
    let project = ProjectId::from("a");
    world
        .engine
        .review_trace(&project, &id, Review::pass())
        .await
        .unwrap();
    world.round().await;
    assert!(world.backlog.projects[&project].failures.is_empty());
}

#[tokio::test]
async fn long_outage_is_waited_out() {
    let mut world = World::new().await;
    for _ in 0..25 {
        world.record("a", "Declined.").await;
    }
    let id = world.record("b", "Refunded.").await;
    // During the outage, few requests are made.
    for outage in 1..=10_usize {
        world.server.first(vec![Act::Status(503, None); 20]);
        world.round().await;
        world.round().await;
        assert!(world.server.asked().len() <= 20 * outage);
        world.later();
    }
    world.server.first(Vec::new());
    for _ in 0..20 {
        world.round().await;
        world.later();
    }
    let review = world.get("b", &id).await.review.unwrap();
    assert_eq!(review.result, Verdict::Fail);
}

#[tokio::test]
async fn pause_that_the_model_asks_for_is_kept() {
    let mut world = World::new().await;
    world.record("a", "Declined.").await;
    world.server.first([Act::Status(429, Some(3_600_000))]);
    world.round().await;
    world.record("a", "Refunded.").await;
    world.record("b", "Refunded.").await;
    world.round().await;
    assert_eq!(world.server.asked().len(), 1);
    let left = world.backlog.paused_until.unwrap() - Instant::now();
    assert!(left > Duration::from_secs(3_000), "{left:?}");
}

#[tokio::test]
async fn withdrawn_review_is_left_to_people() {
    let mut world = World::new().await;
    let id = world.record("a", "Refunded.").await;
    world.round().await;
    let project = ProjectId::from("a");
    world.engine.withdraw_review(&project, &id).await.unwrap();
    world.later();
    world.round().await;
    let trace = world.get("a", &id).await;
    assert_eq!(trace.review_status, ReviewStatus::Pending);
    assert_eq!(world.server.asked().len(), 1);
    // Nothing is read until there is a new trace.
    let pending = &world.backlog.projects[&project];
    assert_eq!(pending.scan(Some(&id)), Scan::Nothing);
    // The same holds after a restart.
    world.backlog = Backlog::default();
    world.round().await;
    assert_eq!(world.server.asked().len(), 1);
    let person = Review::pass().feedback("fine");
    let after = world.engine.review_trace(&project, &id, person).await;
    let review = after.unwrap().review.unwrap();
    assert_eq!(
        review.feedback_text.as_deref(),
        Some("[judge m said fail] fine")
    );
}

#[tokio::test]
async fn verdict_whose_memory_fails_is_stored_and_counted_once() {
    let mut world = World::new().await;
    let client = Client::builder("r").base_url(world.server.url());
    let writer = LlmReflectionWriter::new(client.attempts(1).build().unwrap());
    let engine = Engine::builder().reflector(Arc::new(writer));
    world.engine = engine.start().unwrap();
    let id = world.record("a", "Refunded.").await;
    // The judge replies, the writer of reflections is unavailable.
    let verdict = r#"{"verdict": "fail", "feedback": "because"}"#;
    let away = Act::Status(503, Some(3_600_000));
    world.server.first([Act::Say(verdict.to_owned()), away]);
    world.round().await;
    let kept = world.get("a", &id).await;
    assert_eq!(kept.ingest_status, IngestStatus::Queued);
    assert_eq!(kept.review.unwrap().result, Verdict::Fail);
    let text = world.metrics.text().unwrap();
    assert!(
        text.contains(r#"reflect_judged_total{outcome="fail"} 1"#),
        "{text}"
    );
    world.later();
    world.round().await;
    assert_eq!(world.server.asked().len(), 2);
}

#[tokio::test]
async fn wrong_key_counts_as_no_attempt() {
    let mut world = World::new().await;
    let id = world.record("a", "Refunded.").await;
    for _ in 0..=MAX_ATTEMPTS {
        world.server.first([Act::Status(401, None)]);
        world.round().await;
        assert!(world.backlog.is_paused());
        world.later();
    }
    world.round().await;
    let trace = world.get("a", &id).await;
    assert_eq!(trace.review_status, ReviewStatus::Reviewed);
}

#[tokio::test]
async fn new_trace_is_judged_after_others_were_given_up() {
    let mut world = World::new().await;
    let unclear = Act::Say(r#"{"verdict": "unclear"}"#.to_owned());
    world.server.first(vec![unclear; 45]);
    for _ in 0..45 {
        world.record("a", "Declined.").await;
    }
    world.round().await;
    for _ in 0..3 {
        let id = world.record("a", "Refunded.").await;
        world.round().await;
        let trace = world.get("a", &id).await;
        assert_eq!(trace.review_status, ReviewStatus::Reviewed);
    }
    assert_eq!(world.server.asked().len(), 48);
}
