//! A model reviews the traces that wait for a review.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reflect_engine::model::{Judge, JudgeOutcome};
use reflect_engine::{Engine, KeyLimits};
use reflect_types::{
    CreateTrace, ExportTraces, IngestStatus, KeyId, ProjectId, Review, ReviewStatus, Reviewer,
    Trace, TraceId, Undo, UpdateProject, Verdict,
};

use crate::common::{Act, Home, JudgeAct, ScriptedJudge, eventually, project, record, run};
use crate::on_every_store;

on_every_store! {
    every_pending_trace_of_every_project_is_judged_once,
    traces_from_before_the_judge_and_of_other_engines_are_judged,
    a_review_of_a_person_stands,
    an_unclear_trace_is_left_to_people,
    a_failing_trace_is_tried_a_few_times,
    a_judgement_in_progress_teaches_nothing_after_an_undo,
    a_restart_judges_what_errors_gave_up,
    a_judge_moves_no_memory_further_than_the_project_allows,
    a_judge_moves_no_memory_further_than_the_key_of_the_trace_may,
    an_outage_is_waited_out_with_few_calls,
    a_trace_that_fails_while_others_are_judged_is_left_to_people,
    a_withdrawn_verdict_is_left_to_people,
    a_verdict_whose_memory_fails_is_stored_and_counted_once,
    a_new_trace_is_judged_after_others_were_given_up,
    an_imported_trace_is_judged,
}

fn start(home: &Home, judge: &Arc<ScriptedJudge>) -> Engine {
    let judge = Arc::clone(judge) as Arc<dyn Judge>;
    home.builder().judge(judge).start().unwrap()
}

async fn judged(engine: &Engine, id: &TraceId) -> Trace {
    eventually(async || {
        let trace = engine.get_trace(&project(), id).await.unwrap();
        (trace.review_status == ReviewStatus::Reviewed).then_some(trace)
    })
    .await
}

/// Waits until at least so many judgements have ended.
async fn until_observed(judge: &ScriptedJudge, outcome: JudgeOutcome, count: usize) {
    eventually(async || (judge.count(outcome) >= count).then_some(())).await;
}

/// Whether the four workers of an engine sleep and no job is held, which would lose its lease if
/// the clock advanced.
fn is_idle(home: &Home) -> bool {
    home.clock.sleepers() == 4
}

/// Lets every worker look at the queue again, several times.
async fn much_later(home: &Home) {
    for _ in 0..5 {
        eventually(async || is_idle(home).then_some(())).await;
        home.clock.advance(Duration::from_secs(700));
    }
    eventually(async || is_idle(home).then_some(())).await;
}

async fn every_pending_trace_of_every_project_is_judged_once(home: &Home) {
    let judge = Arc::default();
    let engine = start(home, &judge);
    let refund = record(&engine, run("Refund order 7")).await;
    let other = ProjectId::from("other");
    let elsewhere = engine.create_trace(&other, run("Pay the bill")).await;
    for n in 0..25 {
        record(&engine, run(&format!("Pay bill {n}"))).await;
    }
    until_observed(&judge, JudgeOutcome::Passed, 26).await;
    let review = judged(&engine, &refund).await.review.unwrap();
    assert_eq!(review.result, Verdict::Fail);
    assert_eq!(review.reviewer, Some(Reviewer::Model("m".to_owned())));
    assert_eq!(review.feedback_text.as_deref(), Some("because"));
    let elsewhere = elsewhere.unwrap().trace_id;
    let trace = engine.get_trace(&other, &elsewhere).await.unwrap();
    assert_eq!(trace.review.unwrap().result, Verdict::Pass);
    much_later(home).await;
    assert_eq!((judge.calls(), judge.count(JudgeOutcome::Failed)), (27, 1));
}

async fn traces_from_before_the_judge_and_of_other_engines_are_judged(home: &Home) {
    let without = home.engine();
    let before = record(&without, run("Refund order 7")).await;
    let judge = Arc::default();
    let engine = start(home, &judge);
    judged(&engine, &before).await;
    let meanwhile = record(&without, run("Refund order 8")).await;
    eventually(async || (home.clock.sleepers() >= 7).then_some(())).await;
    home.clock.advance(Duration::from_secs(60));
    judged(&engine, &meanwhile).await;
    assert_eq!(judge.calls(), 2);
}

async fn a_judgement_in_progress_teaches_nothing_after_an_undo(home: &Home) {
    let judge: Arc<ScriptedJudge> = Arc::default();
    let gate = judge.hold();
    let engine = start(home, &judge);
    let thief = engine.acting_for("thief".into());
    let id = record(&thief, run("Refund order 7")).await;
    eventually(async || (judge.calls() == 1).then_some(())).await;
    home.clock.advance(Duration::from_secs(1));
    let undo = Undo {
        key_id: Some("thief".into()),
        ..Undo::default()
    };
    let report = engine.undo(&project(), &undo).await.unwrap();
    assert_eq!(report.unjudged, 1);
    gate.add_permits(1);
    until_observed(&judge, JudgeOutcome::Overtaken, 1).await;
    much_later(home).await;
    assert_eq!(judge.calls(), 1);
    let trace = engine.get_trace(&project(), &id).await.unwrap();
    assert_eq!((trace.review, trace.created_memory_id), (None, None));
}

async fn a_review_of_a_person_stands(home: &Home) {
    let judge: Arc<ScriptedJudge> = Arc::default();
    let gate = judge.hold();
    let engine = start(home, &judge);
    let id = record(&engine, run("Refund order 7")).await;
    eventually(async || (judge.calls() == 1).then_some(())).await;
    let person = Review::pass().feedback("fine");
    engine.review_trace(&project(), &id, person).await.unwrap();
    gate.add_permits(1);
    until_observed(&judge, JudgeOutcome::Overtaken, 1).await;
    let review = judged(&engine, &id).await.review.unwrap();
    assert_eq!(review.reviewer, Some(Reviewer::Human));
    assert_eq!(review.feedback_text.as_deref(), Some("fine"));
}

async fn an_unclear_trace_is_left_to_people(home: &Home) {
    let judge: Arc<ScriptedJudge> = Arc::default();
    judge.plan(&[JudgeAct::Unclear]);
    let engine = start(home, &judge);
    let id = record(&engine, run("Refund order 7")).await;
    until_observed(&judge, JudgeOutcome::Unclear, 1).await;
    much_later(home).await;
    // Also after a restart.
    let restarted = start(home, &judge);
    record(&restarted, run("Pay the bill")).await;
    until_observed(&judge, JudgeOutcome::Passed, 1).await;
    assert_eq!(judge.calls(), 2);
    let trace = engine.get_trace(&project(), &id).await.unwrap();
    assert_eq!(trace.review_status, ReviewStatus::Pending);
}

async fn a_judge_moves_no_memory_further_than_the_project_allows(home: &Home) {
    let judge: Arc<ScriptedJudge> = Arc::default();
    let engine = start(home, &judge);
    let first = judged(&engine, &record(&engine, run("Water the plants")).await).await;
    let memory = first.created_memory_id.unwrap();
    let limit = UpdateProject {
        max_alpha: Some(Some(0.05)),
        ..UpdateProject::default()
    };
    engine.update_project(&project(), &limit).await.unwrap();
    let mut second = run("Water them again");
    second.retrieved_memory_ids = vec![memory.clone()];
    judged(&engine, &record(&engine, second).await).await;
    let moved = engine.get_memory(&project(), &memory).await.unwrap();
    assert_eq!(moved.events[0].alpha.to_bits(), 0.05_f64.to_bits());
}

/// Keys named after their limits.
struct NamedLimits;

#[async_trait]
impl KeyLimits for NamedLimits {
    async fn max_alpha(&self, key: &KeyId) -> reflect_engine::Result<Option<f64>> {
        Ok(key.as_str().parse().ok())
    }
}

async fn a_judge_moves_no_memory_further_than_the_key_of_the_trace_may(home: &Home) {
    let judge: Arc<ScriptedJudge> = Arc::default();
    let builder = home
        .builder()
        .judge(judge)
        .key_limits(Arc::new(NamedLimits));
    let engine = builder.start().unwrap();
    let first = judged(&engine, &record(&engine, run("Water the plants")).await).await;
    let memory = first.created_memory_id.unwrap();
    let limit = UpdateProject {
        max_alpha: Some(Some(0.08)),
        ..UpdateProject::default()
    };
    engine.update_project(&project(), &limit).await.unwrap();
    for (key, expected) in [("0.05", 0.05), ("0.09", 0.08), ("unlimited", 0.08)] {
        let limited = engine.acting_for(key.into());
        let mut next = run("Water them again");
        next.retrieved_memory_ids = vec![memory.clone()];
        judged(&limited, &record(&limited, next).await).await;
        let moved = engine.get_memory(&project(), &memory).await.unwrap();
        let last = moved.events.last().unwrap();
        assert_eq!(last.alpha.to_bits(), f64::to_bits(expected), "{key}");
    }
}

async fn a_failing_trace_is_tried_a_few_times(home: &Home) {
    let judge: Arc<ScriptedJudge> = Arc::default();
    judge.plan(&[JudgeAct::Refuse; 9]);
    let engine = start(home, &judge);
    let id = record(&engine, run("Refund order 7")).await;
    for attempt in 1..=4 {
        until_observed(&judge, JudgeOutcome::Error, attempt).await;
        much_later(home).await;
    }
    assert_eq!(judge.calls(), 4);
    let trace = engine.get_trace(&project(), &id).await.unwrap();
    assert_eq!(trace.review_status, ReviewStatus::Pending);
    assert_eq!(trace.ingest_status, IngestStatus::Completed);
}

async fn a_restart_judges_what_errors_gave_up(home: &Home) {
    let judge: Arc<ScriptedJudge> = Arc::default();
    judge.plan(&[JudgeAct::Refuse; 4]);
    let engine = start(home, &judge);
    let id = record(&engine, run("Refund order 7")).await;
    for attempt in 1..=4 {
        until_observed(&judge, JudgeOutcome::Error, attempt).await;
        much_later(home).await;
    }
    assert_eq!(judge.calls(), 4);

    // The plan is at its end: the judge answers now.
    let restarted = start(home, &judge);
    judged(&restarted, &id).await;
    assert_eq!(judge.calls(), 5);
}

async fn an_outage_is_waited_out_with_few_calls(home: &Home) {
    let judge: Arc<ScriptedJudge> = Arc::default();
    let away = [JudgeAct::Away; 40];
    judge.plan(&away);
    let engine = start(home, &judge);
    let mut ids = Vec::new();
    for n in 0..25 {
        ids.push(record(&engine, run(&format!("Refund order {n}"))).await);
    }
    until_observed(&judge, JudgeOutcome::Error, 1).await;
    // During the pause no trace is judged.
    eventually(async || is_idle(home).then_some(())).await;
    assert!(judge.calls() <= 4);
    for id in ids {
        eventually(async || {
            if is_idle(home) {
                home.clock.advance(Duration::from_secs(5));
            }
            let trace = engine.get_trace(&project(), &id).await.unwrap();
            (trace.review_status == ReviewStatus::Reviewed).then_some(())
        })
        .await;
    }
    assert_eq!(judge.count(JudgeOutcome::Error), away.len());
}

async fn a_trace_that_fails_while_others_are_judged_is_left_to_people(home: &Home) {
    let judge: Arc<ScriptedJudge> = Arc::default();
    let engine = start(home, &judge);
    let garbled = record(&engine, run("garbled")).await;
    let mut calls = Vec::new();
    for n in 0..24 {
        let other = record(&engine, run(&format!("Pay bill {n}"))).await;
        eventually(async || {
            if is_idle(home) {
                home.clock.advance(Duration::from_secs(700));
            }
            let trace = engine.get_trace(&project(), &other).await.unwrap();
            (trace.review_status == ReviewStatus::Reviewed).then_some(())
        })
        .await;
        much_later(home).await;
        calls.push(judge.calls_for(garbled.as_str()));
    }
    // Alone it may be an outage. Each failure after another trace was judged is an attempt, and there
    // are few of them.
    assert!(calls[0] > 0 && calls[20] == calls[23], "{calls:?}");
    let trace = engine.get_trace(&project(), &garbled).await.unwrap();
    assert_eq!(trace.review_status, ReviewStatus::Pending);
}

async fn a_withdrawn_verdict_is_left_to_people(home: &Home) {
    let judge = Arc::default();
    let engine = start(home, &judge);
    let id = record(&engine, run("Refund order 7")).await;
    judged(&engine, &id).await;
    engine.withdraw_review(&project(), &id).await.unwrap();
    much_later(home).await;
    let restarted = start(home, &judge);
    record(&restarted, run("Pay the bill")).await;
    until_observed(&judge, JudgeOutcome::Passed, 1).await;
    assert_eq!(judge.calls(), 2);
    let person = Review::pass().feedback("fine");
    let after = engine.review_trace(&project(), &id, person).await.unwrap();
    let overruled = after.review.unwrap().overruled.unwrap();
    assert_eq!((&*overruled.model, overruled.result), ("m", Verdict::Fail));
}

async fn a_verdict_whose_memory_fails_is_stored_and_counted_once(home: &Home) {
    let judge = Arc::default();
    home.reflector.plan(&[Act::Fail]);
    let engine = start(home, &judge);
    let id = record(&engine, run("Refund order 7")).await;
    until_observed(&judge, JudgeOutcome::Failed, 1).await;
    let kept = engine.get_trace(&project(), &id).await.unwrap();
    assert_eq!(kept.review.unwrap().model(), Some("m"));
    much_later(home).await;
    judged(&engine, &id).await;
    assert_eq!((judge.calls(), home.reflector.calls()), (1, 2));
}

async fn a_new_trace_is_judged_after_others_were_given_up(home: &Home) {
    let judge: Arc<ScriptedJudge> = Arc::default();
    judge.plan(&[JudgeAct::Unclear; 45]);
    let engine = start(home, &judge);
    for n in 0..45 {
        record(&engine, run(&format!("Pay bill {n}"))).await;
    }
    until_observed(&judge, JudgeOutcome::Unclear, 45).await;
    for n in 0..3 {
        let id = record(&engine, run(&format!("Refund order {n}"))).await;
        judged(&engine, &id).await;
    }
    assert_eq!(judge.calls(), 48);
}

async fn an_imported_trace_is_judged(home: &Home) {
    let from = Engine::builder().start().unwrap();
    let id = record(&from, run("Refund order 7")).await;
    let traces = from
        .export_traces(&project(), &ExportTraces::default())
        .await
        .unwrap();
    let pieces = traces.into_iter().map(Box::new);
    let pieces = pieces.map(reflect_types::Piece::Trace).collect();
    let engine = start(home, &Arc::default());
    // The engine has looked for traces, and looks again only for the import.
    eventually(async || is_idle(home).then_some(())).await;
    engine.import(&project(), pieces).await.unwrap();
    judged(&engine, &id).await;
}

#[tokio::test]
async fn the_stored_error_of_a_judge_that_panicked_names_the_judge() {
    let home = Home::on_sqlite();
    let judge: Arc<ScriptedJudge> = Arc::default();
    judge.plan(&[JudgeAct::Panic]);
    let engine = start(&home, &judge);
    record(&engine, run("Refund order 7")).await;
    until_observed(&judge, JudgeOutcome::Error, 1).await;
    let file = rusqlite::Connection::open(home.file()).unwrap();
    let error: String = file
        .query_row("SELECT error FROM queue", [], |row| row.get(0))
        .unwrap();
    assert!(
        error.contains("the judge panicked: it fell over"),
        "{error}"
    );
}

#[tokio::test]
async fn a_shutdown_hands_back_what_is_being_judged() {
    let home = Home::on_sqlite();
    let judge: Arc<ScriptedJudge> = Arc::default();
    judge.hold();
    let engine = start(&home, &judge);
    let task = CreateTrace::new("Refund order 7", "Refunded.");
    let id = record(&engine, task).await;
    eventually(async || (judge.calls() == 1).then_some(())).await;
    engine.shutdown().await.unwrap();
    assert_eq!(judge.count(JudgeOutcome::Error), 0);

    let home = home.reopened();
    let judge = Arc::default();
    let engine = start(&home, &judge);
    judged(&engine, &id).await;
    assert_eq!(judge.calls(), 1);
}
