//! Queries and what they find.

use reflect_engine::Engine;
use reflect_types::{
    CreateSkill, CreateTrace, DeleteTraces, ErrorCode, MemoryId, ProjectId, QueryMemories, Ranking,
    Review, ReviewMode, ReviewStatus, TraceId, Verdict,
};
use serde_json::json;

use crate::common::{Home, learn, project, recalled, record, run, run_with};
use crate::on_every_store;

on_every_store! {
    a_failed_run_is_recalled_for_a_similar_task,
    memories_inherit_metadata_and_are_filtered_by_it,
    the_similarity_floor_excludes_unrelated_memories,
    an_explanation_agrees_with_the_answer,
    deleted_memories_are_not_recalled,
    a_skill_is_written_from_memories_and_counts_its_versions,
}

async fn a_failed_run_is_recalled_for_a_similar_task(home: &Home) {
    let engine = home.engine();
    let id = record(&engine, run("Refund the broken lamp of order 7")).await;
    let pending = engine.get_trace(&project(), &id).await.unwrap();
    assert_eq!(pending.review_status, ReviewStatus::Pending);
    let review = Review::fail("Ask for the receipt first");
    let trace = engine.review_trace(&project(), &id, review).await.unwrap();
    assert_eq!(trace.review_status, ReviewStatus::Reviewed);
    assert_eq!(trace.review.unwrap().mode, ReviewMode::Deferred);

    let query = QueryMemories::new("Refund the broken chair of order 12");
    let found = engine.query_memories(&project(), &query).await.unwrap();
    assert_eq!(found.len(), 1);
    let memory = &found[0];
    assert_eq!(Some(&memory.id), trace.created_memory_id.as_ref());
    assert_eq!(memory.guidance, "Ask for the receipt first");
    assert_eq!(memory.success, Some(false));
    assert!(memory.similarity > 0.3, "{}", memory.similarity);
    let classic = QueryMemories {
        ranking: Some(Ranking::Classic),
        ..query.clone()
    };
    let memory = &engine.query_memories(&project(), &classic).await.unwrap()[0];
    assert!((memory.score - f64::midpoint(memory.similarity, memory.q_value)).abs() < 1e-9);
    let elsewhere = ProjectId::from("elsewhere");
    assert!(
        engine
            .query_memories(&elsewhere, &query)
            .await
            .unwrap()
            .is_empty()
    );
}

async fn memories_inherit_metadata_and_are_filtered_by_it(home: &Home) {
    let engine = home.engine();
    for team in ["support", "sales"] {
        let trace = CreateTrace {
            metadata: serde_json::from_value(json!({"team": team, "tags": [team, "all"]})).unwrap(),
            ..run("Answer the customer's letter")
        };
        learn(&engine, trace, Verdict::Pass).await;
    }
    let ask = async |filter: serde_json::Value| {
        let query = QueryMemories {
            metadata_filter: serde_json::from_value(filter).unwrap(),
            ..QueryMemories::new("Answer the customer's letter")
        };
        recalled(&engine, &query).await
    };
    assert_eq!(ask(json!({"team": "sales"})).await, 1);
    assert_eq!(ask(json!({"tags": "all"})).await, 2);
    assert_eq!(ask(json!({"team": "sales", "tags": "support"})).await, 0);
    assert_eq!(ask(json!({"team": "nobody"})).await, 0);
}

async fn the_similarity_floor_excludes_unrelated_memories(home: &Home) {
    let engine = home.engine();
    learn(&engine, run("Book a flight to Oslo"), Verdict::Pass).await;
    let ask = async |threshold: Option<f64>| {
        let query = QueryMemories {
            similarity_threshold: threshold,
            ..QueryMemories::new("zebra quilt")
        };
        recalled(&engine, &query).await
    };
    assert_eq!(ask(None).await, 0);
    assert_eq!(ask(Some(-1.0)).await, 1);
    let generous = home.builder().similarity_floor(-1.0).start().unwrap();
    let query = QueryMemories::new("zebra quilt");
    assert_eq!(recalled(&generous, &query).await, 1);
}

async fn an_explanation_agrees_with_the_answer(home: &Home) {
    let engine = home.engine();
    let nouns = [
        "bill", "rent", "fee", "lamp", "flight", "train", "letter", "report",
    ];
    let verbs = [
        "Pay", "Book", "Write", "Cancel", "Refund", "Check", "Send", "Print",
    ];
    let mut last: Option<MemoryId> = None;
    for (n, verb) in verbs.iter().enumerate() {
        for (m, noun) in nouns.iter().enumerate() {
            let given: Vec<&MemoryId> = last.iter().collect();
            let verdict = Verdict::from((n + m) % 3 == 0);
            let trace = run_with(&format!("{verb} the {noun} of order {}", n * 8 + m), &given);
            last = Some(learn(&engine, trace, verdict).await);
        }
    }
    for lambda in [0.0, 0.5, 1.0] {
        let query = QueryMemories {
            lambda,
            limit: 7,
            similarity_threshold: Some(0.05),
            ..QueryMemories::new("Refund the lamp of order 12")
        };
        let answer = engine.query_memories(&project(), &query).await.unwrap();
        let explanation = engine.explain_memories(&project(), &query).await.unwrap();
        assert_eq!(explanation.considered, 64);
        assert_eq!(explanation.memories.len(), 64);
        let ranked: Vec<_> = explanation
            .memories
            .iter()
            .filter(|m| m.rank.is_some())
            .collect();
        assert_eq!(answer.len(), 7);
        assert_eq!(ranked.len(), 7);
        for (place, (memory, explained)) in answer.iter().zip(ranked).enumerate() {
            assert_eq!(
                (&memory.id, Some(place + 1)),
                (&explained.id, explained.rank)
            );
            assert!((memory.score - explained.score).abs() < 1e-12);
        }
        let dropped = explanation.memories.iter().filter(|m| m.dropped.is_some());
        assert_eq!(dropped.count(), 57);
    }
}

async fn deleted_memories_are_not_recalled(home: &Home) {
    let engine = home.engine();
    let found = async |engine: &Engine| recalled(engine, &QueryMemories::new("Pay the bill")).await;
    let delete = async |id: &TraceId, delete_memories| {
        let delete = DeleteTraces {
            trace_ids: vec![id.clone()],
            delete_memories,
        };
        engine
            .delete_traces(&project(), &delete)
            .await
            .unwrap()
            .deleted
    };
    let first = record(&engine, run("Pay the bill")).await;
    engine
        .review_trace(&project(), &first, Review::pass())
        .await
        .unwrap();
    let second = record(&engine, run("Pay the bill")).await;
    engine
        .review_trace(&project(), &second, Review::pass())
        .await
        .unwrap();
    assert_eq!(found(&engine).await, 2);
    assert_eq!(delete(&first, true).await, 1);
    assert_eq!(found(&engine).await, 1);
    assert_eq!(delete(&second, false).await, 1);
    assert_eq!(found(&engine).await, 1, "what was learned stays");
    let deleted = engine.delete_project(&project()).await.unwrap();
    assert!(deleted.deleted);
    assert_eq!(found(&engine).await, 0);
    assert!(engine.list_projects().await.unwrap().is_empty());
    learn(&engine, run("Pay the bill"), Verdict::Pass).await;
    assert_eq!(
        found(&engine).await,
        1,
        "a project of the same name starts empty"
    );
}

async fn a_skill_is_written_from_memories_and_counts_its_versions(home: &Home) {
    let engine = home.engine();
    let create = CreateSkill::default();
    let none = engine.create_skill(&project(), &create).await.unwrap_err();
    assert_eq!(none.code(), ErrorCode::Conflict);
    let mut ids = Vec::new();
    for n in 0..8 {
        let verdict = Verdict::from(n % 4 != 0);
        ids.push(learn(&engine, run(&format!("Pay bill {n}")), verdict).await);
    }
    learn(&engine, run_with("Pay bill 8", &[&ids[1]]), Verdict::Fail).await;
    let skill = engine.create_skill(&project(), &create).await.unwrap();
    assert_eq!(skill.version, 1);
    assert!(skill.content.starts_with("---\n"), "{}", skill.content);
    // Five of six that passed, all three that failed; what did not help is left out.
    assert_eq!(skill.source_memory_ids.len(), 8);
    assert!(!skill.source_memory_ids.contains(&ids[1]));
    let fewer = CreateSkill {
        n_passed: Some(2),
        n_failed: Some(0),
    };
    let again = engine.create_skill(&project(), &fewer).await.unwrap();
    assert_eq!((again.version, again.source_memory_ids.len()), (2, 2));
    assert_eq!(engine.get_skill(&project()).await.unwrap(), Some(again));
}
