//! Has runs that wait for a review judged by a model, in the background.
//!
//! What is left to do stands in the store: a run that is judged does not wait any more, and a review
//! that a person gave meanwhile makes the engine refuse the judge's. So nothing counts twice,
//! whatever dies in between and however many servers share a store.

use std::collections::HashMap;
use std::time::Duration;

use reflect_engine::Engine;
use reflect_models::{Judge, JudgeRun};
use reflect_types::{
    IngestStatus, ListTraces, ProjectId, ReviewRecord, ReviewStatus, Trace, TraceId,
};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::metrics::Metrics;

/// How often to look for runs that wait.
const POLL: Duration = Duration::from_secs(2);
/// How many runs are judged at once.
const AT_ONCE: usize = 4;
/// How many runs are read at a time, which may be large.
const PAGE: u32 = 20;
/// How often a run is tried; then it is left to people until the server is started again.
const ATTEMPTS: u32 = 4;
/// How long to wait after the first failure; four times as long after each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(5);

/// What became of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It was passed.
    Passed,
    /// It was failed.
    Failed,
    /// The judge could not tell.
    Unclear,
    /// Somebody else was faster.
    Overtaken,
    /// The model or the store did not do its work.
    Broken,
}

impl Outcome {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "pass",
            Self::Failed => "fail",
            Self::Unclear => "unclear",
            Self::Overtaken => "overtaken",
            Self::Broken => "error",
        }
    }
}

/// A run that was tried without success.
#[derive(Clone, Copy)]
struct Tried {
    attempts: u32,
    not_before: Instant,
}

/// Judges until told to stop.
pub(crate) async fn run(
    engine: Engine,
    judge: Judge,
    metrics: &Metrics,
    mut stopping: watch::Receiver<bool>,
) {
    let mut tried = HashMap::new();
    while !*stopping.borrow() {
        let work = async {
            round(&engine, &judge, metrics, &mut tried).await;
            tokio::time::sleep(POLL).await;
        };
        tokio::select! {
            // What was under way is dropped: nothing was stored of it, so nothing is lost.
            _ = stopping.wait_for(|stop| *stop) => return,
            () = work => {}
        }
    }
}

/// Goes through everything that waits, once.
async fn round(
    engine: &Engine,
    judge: &Judge,
    metrics: &Metrics,
    tried: &mut HashMap<TraceId, Tried>,
) {
    let projects = match engine.list_projects().await {
        Ok(projects) => projects,
        Err(error) => return tracing::warn!(%error, "the judge cannot look for projects"),
    };
    let mut still_waiting = HashMap::new();
    for project in projects {
        let mut before = None;
        loop {
            let list = ListTraces {
                review_status: Some(ReviewStatus::Pending),
                limit: Some(PAGE),
                before: before.take(),
            };
            let page = match engine.list_traces(&project, &list).await {
                Ok(page) => page,
                Err(error) => {
                    tracing::warn!(%project, %error, "the judge cannot look for runs");
                    break;
                }
            };
            let due = page.traces.into_iter().filter(|trace| {
                if let Some(known) = tried.get(&trace.id) {
                    still_waiting.insert(trace.id.clone(), *known);
                }
                waits(trace) && tried.get(&trace.id).is_none_or(Tried::is_due)
            });
            let due: Vec<Trace> = due.collect();
            for (id, outcome) in judge_all(engine, judge, &project, due).await {
                metrics.judged(outcome.as_str());
                still_waiting.remove(&id);
                if matches!(outcome, Outcome::Unclear | Outcome::Broken) {
                    let before = tried.get(&id).map_or(0, |tried| tried.attempts);
                    still_waiting.insert(id, Tried::again(before, outcome));
                }
            }
            match page.next {
                Some(next) => before = Some(next),
                None => break,
            }
        }
    }
    // Only what still waits is remembered, so this cannot grow beyond that.
    *tried = still_waiting;
}

/// Whether nobody has judged the run, nor is about to.
fn waits(trace: &Trace) -> bool {
    trace.review.is_none() && trace.ingest_status == IngestStatus::Completed
}

async fn judge_all(
    engine: &Engine,
    judge: &Judge,
    project: &ProjectId,
    traces: Vec<Trace>,
) -> Vec<(TraceId, Outcome)> {
    let mut outcomes = Vec::new();
    let mut judging = JoinSet::new();
    for trace in traces {
        if judging.len() >= AT_ONCE
            && let Some(Ok(done)) = judging.join_next().await
        {
            outcomes.push(done);
        }
        let (engine, judge, project) = (engine.clone(), judge.clone(), project.clone());
        judging.spawn(async move {
            let outcome = one(&engine, &judge, &project, &trace).await;
            (trace.id, outcome)
        });
    }
    while let Some(done) = judging.join_next().await {
        outcomes.extend(done.ok());
    }
    outcomes
}

async fn one(engine: &Engine, judge: &Judge, project: &ProjectId, trace: &Trace) -> Outcome {
    let opinion = match judge.judge(&JudgeRun::from(trace)).await {
        Ok(opinion) => opinion,
        Err(error) => {
            tracing::warn!(trace = %trace.id, %error, "a run could not be judged");
            return Outcome::Broken;
        }
    };
    let Some(review) = judge.review(&opinion) else {
        tracing::info!(trace = %trace.id, "the judge cannot tell: the run waits for a person");
        return Outcome::Unclear;
    };
    let verdict = review.result;
    match engine.review_trace(project, &trace.id, review).await {
        Ok(judged) if is_own(&judged) => match verdict.success() {
            Some(true) => Outcome::Passed,
            _ => Outcome::Failed,
        },
        // A person said the same meanwhile, or another, or has deleted it.
        Ok(_)
        | Err(reflect_engine::Error::Conflict(_) | reflect_engine::Error::NotFound { .. }) => {
            Outcome::Overtaken
        }
        Err(error) => {
            tracing::warn!(trace = %trace.id, %error, "a judge's review could not be stored");
            Outcome::Broken
        }
    }
}

fn is_own(trace: &Trace) -> bool {
    let note = trace.review.as_ref().and_then(ReviewRecord::judge);
    note.is_some_and(|note| note.is_own())
}

impl Tried {
    fn again(before: u32, outcome: Outcome) -> Self {
        let attempts = match outcome {
            // It would be as unclear the next time.
            Outcome::Unclear => ATTEMPTS,
            _ => before + 1,
        };
        let pause = FIRST_PAUSE * 4_u32.saturating_pow(before);
        Self {
            attempts,
            not_before: Instant::now() + pause,
        }
    }

    fn is_due(&self) -> bool {
        self.attempts < ATTEMPTS && Instant::now() >= self.not_before
    }
}

#[cfg(test)]
mod tests {
    use reflect_models::Client;
    use reflect_models::scripted::{Act, Asked, ModelServer};
    use reflect_types::{CreateTrace, Review, Verdict};

    use super::*;

    /// Fails what was refunded, passes the rest.
    fn strict(asked: &Asked) -> Act {
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
        tried: HashMap<TraceId, Tried>,
    }

    impl World {
        async fn new() -> Self {
            let server = ModelServer::start(strict).await.unwrap();
            let client = Client::builder("m").base_url(server.url()).attempts(1);
            Self {
                engine: Engine::builder().start().unwrap(),
                judge: Judge::new(client.build().unwrap()),
                metrics: Metrics::new(),
                tried: HashMap::new(),
                server,
            }
        }

        async fn record(&self, project: &str, answer: &str) -> TraceId {
            let trace = CreateTrace::new("Refund order 7", answer);
            let receipt = self.engine.create_trace(&project.into(), trace, None).await;
            receipt.unwrap().trace_id
        }

        async fn round(&mut self) {
            round(&self.engine, &self.judge, &self.metrics, &mut self.tried).await;
        }

        async fn get(&self, project: &str, id: &TraceId) -> Trace {
            self.engine.get_trace(&project.into(), id).await.unwrap()
        }
    }

    #[tokio::test]
    async fn every_waiting_run_of_every_project_is_judged_once() {
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
    async fn what_a_person_judged_is_left_alone() {
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
        // Judged while the person was faster: the review stays the person's.
        let outcome = one(&world.engine, &world.judge, &project, &pending).await;
        assert_eq!(outcome, Outcome::Overtaken);
        let review = world.get("a", &id).await.review.unwrap();
        assert_eq!(review.feedback_text.as_deref(), Some("fine"));
    }

    #[tokio::test]
    async fn what_the_judge_cannot_tell_waits_for_a_person() {
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
    async fn a_model_that_is_away_is_asked_again_later_and_not_for_ever() {
        let mut world = World::new().await;
        let id = world.record("a", "Refunded.").await;
        world.server.first(vec![Act::Status(500, None); 9]);
        for attempt in 1..=ATTEMPTS + 1 {
            world.round().await;
            // At once again: it is not due yet.
            world.round().await;
            let asked = world.server.asked().len();
            assert_eq!(asked, usize::try_from(attempt.min(ATTEMPTS)).unwrap());
            for tried in world.tried.values_mut() {
                tried.not_before = Instant::now();
            }
        }
        let trace = world.get("a", &id).await;
        assert_eq!(trace.review_status, ReviewStatus::Pending);
        // What does not wait any more is forgotten.
        let project = ProjectId::from("a");
        world
            .engine
            .review_trace(&project, &id, Review::pass())
            .await
            .unwrap();
        world.round().await;
        assert!(world.tried.is_empty());
    }
}
