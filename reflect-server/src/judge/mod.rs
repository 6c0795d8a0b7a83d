//! Has runs that wait for a review judged by a model, in the background.
//!
//! What is left to do stands in the store: a run that is judged does not wait any more, and a review
//! that a person gave meanwhile makes the engine refuse the judge's. So nothing counts twice,
//! whatever dies in between and however many servers share a store.

mod memory;

use std::collections::HashSet;
use std::time::Duration;

use reflect_engine::{Engine, TracePage};
use reflect_models::{Judge, JudgeRun};
use reflect_types::{
    IngestStatus, ListTraces, ProjectId, ReviewRecord, ReviewStatus, Trace, TraceId,
};
use tokio::sync::watch;
use tokio::task::JoinSet;

use self::memory::{Look, Memory, Waiting};
use crate::metrics::Metrics;

/// How often to look for runs that wait.
const POLL: Duration = Duration::from_secs(2);
/// How long the model is left alone that refuses because of its settings, such as a wrong key.
const SETUP_REST: Duration = Duration::from_secs(300);
/// How many runs are judged at once.
const AT_ONCE: usize = 4;
/// How many runs are read at a time, which may be large.
const PAGE: u32 = 20;

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
    /// The model or the store did not do its work, and would not do it the next time.
    Broken,
    /// The model or the store is away for now, and may have said for how long.
    Away(Option<Duration>),
}

impl Outcome {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "pass",
            Self::Failed => "fail",
            Self::Unclear => "unclear",
            Self::Overtaken => "overtaken",
            Self::Broken | Self::Away(_) => "error",
        }
    }
}

/// Judges until told to stop.
pub(crate) async fn run(
    engine: Engine,
    judge: Judge,
    metrics: &Metrics,
    mut stopping: watch::Receiver<bool>,
) {
    let mut memory = Memory::default();
    while !*stopping.borrow() {
        let work = async {
            round(&engine, &judge, metrics, &mut memory).await;
            tokio::time::sleep(POLL).await;
        };
        tokio::select! {
            // What was under way is dropped: nothing was stored of it, so nothing is lost.
            _ = stopping.wait_for(|stop| *stop) => return,
            () = work => {}
        }
    }
}

/// Goes through what waits, once, unless the model is to be left alone.
async fn round(engine: &Engine, judge: &Judge, metrics: &Metrics, memory: &mut Memory) {
    if memory.rests() {
        return;
    }
    let projects = match engine.list_projects().await {
        Ok(projects) => projects,
        Err(error) => return tracing::warn!(%error, "the judge cannot look for projects"),
    };
    memory
        .waiting
        .retain(|project, _| projects.contains(project));
    for project in projects {
        let mut waiting = memory.waiting.remove(&project).unwrap_or_default();
        let judging = Judging {
            engine,
            judge,
            metrics,
            project: &project,
        };
        if let Err(error) = judging.look(&mut waiting, memory).await {
            tracing::warn!(%project, %error, "the judge cannot look for runs");
            waiting.look_at = None;
        }
        memory.waiting.insert(project, waiting);
        if memory.rests() {
            return;
        }
    }
}

/// The work in one project.
struct Judging<'a> {
    engine: &'a Engine,
    judge: &'a Judge,
    metrics: &'a Metrics,
    project: &'a ProjectId,
}

impl Judging<'_> {
    /// Judges what is due, as far as there is reason to look for it: runs are large to read.
    async fn look(&self, waiting: &mut Waiting, memory: &mut Memory) -> reflect_engine::Result<()> {
        let newest = self.page(1, None).await?.traces.into_iter().next();
        let look = waiting.look(newest.as_ref().map(|trace| &trace.id));
        if look == Look::Away {
            return Ok(());
        }
        let (mut still_waiting, mut settled) = (HashSet::new(), HashSet::new());
        let mut newest = None;
        let mut before = None;
        loop {
            let page = self.page(PAGE, before.take()).await?;
            let ids: Vec<TraceId> = page.traces.iter().map(|trace| trace.id.clone()).collect();
            let due = page.traces.into_iter().filter(|trace| {
                waits(trace) && waiting.is_due(&trace.id) && !memory.has_judged(&trace.id)
            });
            let outcomes = self.judge_all(due.collect()).await;
            memory.noticed(outcomes.iter().map(|(_, outcome)| outcome));
            for (id, outcome) in outcomes {
                self.metrics.judged(outcome.as_str());
                match outcome {
                    Outcome::Passed | Outcome::Failed | Outcome::Overtaken => {
                        waiting.tried.remove(&id);
                        memory.judged(&id);
                        settled.insert(id);
                    }
                    Outcome::Unclear | Outcome::Broken | Outcome::Away(_) => {
                        waiting.failed(id, outcome);
                    }
                }
            }
            if memory.rests() {
                // The others would fare no better now.
                waiting.look_at = None;
                return Ok(());
            }
            if newest.is_none() {
                newest = ids.iter().find(|id| !settled.contains(*id)).cloned();
            }
            let known = waiting.newest.as_ref().is_some_and(|id| ids.contains(id));
            still_waiting.extend(ids);
            match page.next {
                Some(_) if look == Look::AtNew && known => break,
                Some(next) => before = Some(next),
                None => break,
            }
        }
        waiting.newest = newest;
        if look == Look::AtAll {
            // Only what still waits is remembered, so this cannot grow beyond that.
            waiting.tried.retain(|id, _| still_waiting.contains(id));
            waiting.looked_at_all();
        } else {
            waiting.looked_at_new();
        }
        Ok(())
    }

    async fn page(&self, limit: u32, before: Option<TraceId>) -> reflect_engine::Result<TracePage> {
        let list = ListTraces {
            review_status: Some(ReviewStatus::Pending),
            limit: Some(limit),
            before,
            ..ListTraces::default()
        };
        self.engine.list_traces(self.project, &list).await
    }

    async fn judge_all(&self, traces: Vec<Trace>) -> Vec<(TraceId, Outcome)> {
        let mut outcomes = Vec::new();
        let mut judging = JoinSet::new();
        for trace in traces {
            if judging.len() >= AT_ONCE
                && let Some(Ok(done)) = judging.join_next().await
            {
                outcomes.push(done);
            }
            let (engine, judge) = (self.engine.clone(), self.judge.clone());
            let project = self.project.clone();
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
}

/// Whether nobody has judged the run, nor is about to. A review of a model's that was taken back is
/// for people to give anew.
fn waits(trace: &Trace) -> bool {
    trace.review.is_none()
        && trace.judge_note.is_none()
        && trace.ingest_status == IngestStatus::Completed
}

async fn one(engine: &Engine, judge: &Judge, project: &ProjectId, trace: &Trace) -> Outcome {
    let opinion = match judge.judge(&JudgeRun::from(trace)).await {
        Ok(opinion) => opinion,
        Err(error) => {
            tracing::warn!(trace = %trace.id, %error, "a run could not be judged");
            return if error.is_retryable() {
                Outcome::Away(error.retry_after())
            } else if error.is_setup() {
                // No run is to blame for a wrong key.
                Outcome::Away(Some(SETUP_REST))
            } else {
                Outcome::Broken
            };
        }
    };
    let Some(review) = judge.review(&opinion) else {
        tracing::info!(trace = %trace.id, "the judge cannot tell: the run waits for a person");
        return Outcome::Unclear;
    };
    let said = match review.result.success() {
        Some(true) => Outcome::Passed,
        _ => Outcome::Failed,
    };
    match engine.review_trace(project, &trace.id, review).await {
        Ok(judged) if is_own(&judged) => said,
        // A person said the same meanwhile, or another, or has deleted it.
        Ok(_)
        | Err(reflect_engine::Error::Conflict(_) | reflect_engine::Error::NotFound { .. }) => {
            Outcome::Overtaken
        }
        Err(error) if is_kept(engine, project, &trace.id).await => {
            tracing::warn!(trace = %trace.id, %error, "a judge's review waits to be learned from");
            said
        }
        Err(error) => {
            tracing::warn!(trace = %trace.id, %error, "a judge's review could not be stored");
            if error.is_retryable() {
                Outcome::Away(None)
            } else {
                Outcome::Broken
            }
        }
    }
}

/// Whether a review whose learning failed is stored all the same.
async fn is_kept(engine: &Engine, project: &ProjectId, id: &TraceId) -> bool {
    let stored = engine.get_trace(project, id).await;
    stored.is_ok_and(|trace| is_own(&trace))
}

fn is_own(trace: &Trace) -> bool {
    let note = trace.review.as_ref().and_then(ReviewRecord::judge);
    note.is_some_and(|note| note.is_own())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use reflect_engine::model::LlmReflector;
    use reflect_models::Client;
    use reflect_models::scripted::{Act, Asked, ModelServer};
    use reflect_types::{CreateTrace, Review, Verdict};

    use super::*;
    use tokio::time::Instant;

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
        memory: Memory,
    }

    impl World {
        async fn new() -> Self {
            let server = ModelServer::start(strict).await.unwrap();
            let client = Client::builder("m").base_url(server.url()).attempts(1);
            Self {
                engine: Engine::builder().start().unwrap(),
                judge: Judge::new(client.build().unwrap()),
                metrics: Metrics::new(),
                memory: Memory::default(),
                server,
            }
        }

        async fn record(&self, project: &str, answer: &str) -> TraceId {
            let trace = CreateTrace::new("Refund order 7", answer);
            let receipt = self.engine.create_trace(&project.into(), trace, None).await;
            receipt.unwrap().trace_id
        }

        async fn round(&mut self) {
            round(&self.engine, &self.judge, &self.metrics, &mut self.memory).await;
        }

        /// Lets all waits pass.
        fn later(&mut self) {
            self.memory.rest = None;
            for waiting in self.memory.waiting.values_mut() {
                waiting.look_at = None;
                for tried in waiting.tried.values_mut() {
                    tried.not_before = Instant::now();
                }
            }
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
    async fn a_run_that_cannot_be_judged_is_tried_a_few_times() {
        let mut world = World::new().await;
        let id = world.record("a", "Refunded.").await;
        world.server.first(vec![Act::Refuse("no".to_owned()); 9]);
        for attempt in 1..=memory::ATTEMPTS + 1 {
            world.round().await;
            // At once again: it is not due yet.
            world.round().await;
            let asked = world.server.asked().len();
            assert_eq!(
                asked,
                usize::try_from(attempt.min(memory::ATTEMPTS)).unwrap()
            );
            world.later();
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
        assert!(world.memory.waiting[&project].tried.is_empty());
    }

    #[tokio::test]
    async fn a_model_that_is_away_for_long_is_waited_for() {
        let mut world = World::new().await;
        for _ in 0..25 {
            world.record("a", "Declined.").await;
        }
        let id = world.record("b", "Refunded.").await;
        // While nothing works, no more is tried than needed to see that.
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
    async fn a_model_that_asks_to_be_left_alone_is() {
        let mut world = World::new().await;
        world.record("a", "Declined.").await;
        world.server.first([Act::Status(429, Some(3_600_000))]);
        world.round().await;
        world.record("a", "Refunded.").await;
        world.record("b", "Refunded.").await;
        world.round().await;
        assert_eq!(world.server.asked().len(), 1);
        let left = world.memory.rest.unwrap() - Instant::now();
        assert!(left > Duration::from_secs(3_000), "{left:?}");
    }

    #[tokio::test]
    async fn a_review_that_was_taken_back_is_left_to_people() {
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
        // It is known now: nobody looks again until there is something new.
        let waiting = &world.memory.waiting[&project];
        assert_eq!(waiting.look(Some(&id)), Look::Away);
        // Another server, or this one after a restart, remembers it too.
        world.memory = Memory::default();
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
    async fn a_verdict_that_could_not_be_learned_from_yet_is_kept_and_counted_once() {
        let mut world = World::new().await;
        let client = Client::builder("r").base_url(world.server.url());
        let writer = LlmReflector::new(client.attempts(1).build().unwrap());
        let engine = Engine::builder().reflector(Arc::new(writer));
        world.engine = engine.start().unwrap();
        let id = world.record("a", "Refunded.").await;
        // The judge answers, the writer of reflections is away.
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
    async fn a_wrong_key_is_no_run_s_fault() {
        let mut world = World::new().await;
        let id = world.record("a", "Refunded.").await;
        for _ in 0..=memory::ATTEMPTS {
            world.server.first([Act::Status(401, None)]);
            world.round().await;
            assert!(world.memory.rests());
            world.later();
        }
        world.round().await;
        let trace = world.get("a", &id).await;
        assert_eq!(trace.review_status, ReviewStatus::Reviewed);
    }

    #[tokio::test]
    async fn what_is_new_is_judged_though_others_were_given_up() {
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
}
