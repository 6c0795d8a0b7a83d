//! The learned ranking: what reviews teach it, and that nothing is left of what is taken back.

use reflect_engine::Engine;
use reflect_types::{Dropped, MemoryId, QueryMemories, Ranking, Review, Verdict};

use crate::common::{Home, learn, project, record, run, run_with};
use crate::on_every_store;

on_every_store! {
    the_memory_of_passed_runs_ranks_before_the_one_of_failed_runs,
    a_memory_that_hurts_is_left_out_once_there_is_evidence,
    a_memory_that_helps_whatever_the_task_is_given_to_tasks_unlike_its_own,
    a_withdrawn_review_leaves_the_ranking_as_it_was,
    a_deleted_trace_leaves_its_evidence,
    a_review_counts_by_its_alpha,
    a_lambda_of_its_own_asks_for_the_classic_ranking,
    an_explanation_names_the_evidence,
}

const TASK: &str = "Refund the broken lamp of order 7";

/// What a query answers: ids and scores, best first.
async fn answer(engine: &Engine) -> Vec<(MemoryId, u64)> {
    let query = QueryMemories::new(TASK);
    let found = engine.query_memories(&project(), &query).await.unwrap();
    found
        .into_iter()
        .map(|memory| (memory.id, memory.score.to_bits()))
        .collect()
}

/// Two memories of the task; `runs` runs are given the first and pass, as many the second and fail.
async fn taught(engine: &Engine, runs: usize) -> (MemoryId, MemoryId) {
    let bad = learn(engine, run(TASK), Verdict::Pass).await;
    let good = learn(engine, run(TASK), Verdict::Pass).await;
    for n in 0..runs {
        let task = format!("Book flight {n} to Oslo");
        learn(engine, run_with(&task, &[&good]), Verdict::Pass).await;
        learn(engine, run_with(&task, &[&bad]), Verdict::Fail).await;
    }
    (good, bad)
}

async fn the_memory_of_passed_runs_ranks_before_the_one_of_failed_runs(home: &Home) {
    let engine = home.engine();
    let (good, bad) = taught(&engine, 6).await;
    let ids: Vec<_> = answer(&engine)
        .await
        .into_iter()
        .map(|(id, _)| id)
        .collect();
    assert_eq!(ids, [good, bad]);
}

async fn a_memory_that_hurts_is_left_out_once_there_is_evidence(home: &Home) {
    let engine = home.engine();
    let (good, bad) = taught(&engine, 0).await;
    for n in 0..100 {
        let task = format!("Refund the broken lamp of order {n}");
        learn(&engine, run_with(&task, &[&good]), Verdict::Pass).await;
        // Too few to set it aside.
        if n < 6 {
            learn(&engine, run_with(&task, &[&bad]), Verdict::Fail).await;
        }
    }
    let query = QueryMemories::new(TASK);
    let explained = engine.explain_memories(&project(), &query).await.unwrap();
    let of = |id: &MemoryId| explained.memories.iter().find(|memory| memory.id == *id);
    assert!(of(&good).unwrap().rank.is_some());
    assert_eq!(of(&bad).unwrap().dropped, Some(Dropped::Harm));
    assert!(answer(&engine).await.iter().all(|(id, _)| *id != bad));
}

async fn a_memory_that_helps_whatever_the_task_is_given_to_tasks_unlike_its_own(home: &Home) {
    let engine = home.engine();
    let (good, bad) = taught(&engine, 20).await;
    let mut query = QueryMemories::new("Write a poem about the sea");
    let explained = engine.explain_memories(&project(), &query).await.unwrap();
    let of = |id: &MemoryId| explained.memories.iter().find(|memory| memory.id == *id);
    let (given, left_out) = (of(&good).unwrap(), of(&bad).unwrap());
    assert!(given.similarity < explained.floor && given.rank.is_some());
    assert_eq!(left_out.dropped, Some(Dropped::Floor));

    let found = engine.query_memories(&project(), &query).await.unwrap();
    assert!(found.iter().any(|memory| memory.id == good));
    query.similarity_threshold = Some(explained.floor);
    let found = engine.query_memories(&project(), &query).await.unwrap();
    assert!(found.iter().all(|memory| memory.id != good));
}

async fn a_review_counts_by_its_alpha(home: &Home) {
    let engine = home.engine();
    let (good, _) = taught(&engine, 3).await;
    let score = async || {
        let answer = answer(&engine).await;
        let found = answer.iter().find(|(id, _)| *id == good);
        f64::from_bits(found.unwrap().1)
    };
    let before = score().await;
    let id = record(&engine, run_with(TASK, &[&good])).await;
    let fail = |alpha: f64| Review::fail("The lamp was not broken").alpha(alpha);
    engine
        .review_trace(&project(), &id, fail(0.2))
        .await
        .unwrap();
    let mut lost = Vec::new();
    for alpha in [0.003, 0.1, 0.3, 1.0] {
        let review = fail(alpha);
        engine.change_review(&project(), &id, review).await.unwrap();
        lost.push(before - score().await);
    }
    assert!(0.0 < lost[0] && lost[0] < lost[2] / 20.0, "{lost:?}");
    assert!(lost[0] < lost[1] && lost[1] < lost[2], "{lost:?}");
    assert_eq!(
        lost[2].to_bits(),
        lost[3].to_bits(),
        "no review counts more than one"
    );
}

async fn a_withdrawn_review_leaves_the_ranking_as_it_was(home: &Home) {
    let engine = home.engine();
    let (good, bad) = taught(&engine, 3).await;
    let before = answer(&engine).await;
    let id = record(&engine, run_with(TASK, &[&good, &bad])).await;
    let review = Review::fail("The lamp was not broken");
    engine.review_trace(&project(), &id, review).await.unwrap();
    assert_ne!(answer(&engine).await, before);
    engine.withdraw_review(&project(), &id).await.unwrap();
    assert_eq!(answer(&engine).await, before);
}

async fn a_deleted_trace_leaves_its_evidence(home: &Home) {
    let engine = home.engine();
    let (good, _) = taught(&engine, 3).await;
    let id = record(&engine, run_with("Book a table", &[&good])).await;
    engine
        .review_trace(&project(), &id, Review::pass())
        .await
        .unwrap();
    let before = answer(&engine).await;
    let deletion = reflect_types::DeleteTraces {
        trace_ids: vec![id],
        delete_memories: false,
    };
    engine.delete_traces(&project(), &deletion).await.unwrap();
    assert_eq!(answer(&engine).await, before);
    let reopened = home.engine();
    assert_eq!(answer(&reopened).await, before);
}

async fn a_lambda_of_its_own_asks_for_the_classic_ranking(home: &Home) {
    let engine = home.engine();
    taught(&engine, 3).await;
    let query = QueryMemories {
        lambda: 0.25,
        ..QueryMemories::new(TASK)
    };
    for memory in engine.query_memories(&project(), &query).await.unwrap() {
        let blend = 0.75 * memory.similarity + 0.25 * memory.q_value;
        assert!((memory.score - blend).abs() < 1e-9);
    }
    let explained = engine.explain_memories(&project(), &query).await.unwrap();
    assert_eq!(explained.ranking, Ranking::Classic);
}

async fn an_explanation_names_the_evidence(home: &Home) {
    let engine = home.engine();
    let (good, _) = taught(&engine, 6).await;
    let query = QueryMemories::new(TASK);
    let explained = engine.explain_memories(&project(), &query).await.unwrap();
    assert_eq!(explained.ranking, Ranking::Learned);
    let first = &explained.memories[0];
    assert_eq!(first.id, good);
    let evidence = first.evidence.unwrap();
    assert_eq!((evidence.runs, evidence.passed), (6, 6));
    let sum = evidence.hurts + evidence.helps + evidence.helps_if_similar;
    assert!((sum - 1.0).abs() < 1e-9);
}
