//! Memories that wait for a person's approval.

use reflect_engine::{Engine, Error};
use reflect_types::{
    Approval, ListMemories, MemoryHistory, MemoryId, MemoryStatus, MemoryUpdate, QueryMemories,
    Ranking, Review, Reviewer, Undo, UpdateMemory, UpdateProject, Verdict,
};

use crate::common::{Home, every_answer, learn, project, record, run};
use crate::on_every_store;

on_every_store! {
    a_new_memory_waits_until_a_person_approves_it,
    a_project_asks_for_approval_before_its_first_run,
    only_what_a_model_taught_waits_if_the_project_says_so,
    nothing_waits_any_more_without_the_setting,
    an_undone_approval_waits_again,
    a_project_sets_the_ranking_of_queries_that_say_nothing,
}

const TASK: &str = "Refund the broken lamp of order 7";

async fn approve(engine: &Engine, which: Option<Approval>) {
    let update = UpdateProject {
        approve: Some(which.clone()),
        ..UpdateProject::default()
    };
    let updated = engine.update_project(&project(), &update).await.unwrap();
    assert_eq!(updated.settings.approve, which);
}

async fn answers(engine: &Engine) -> Vec<MemoryId> {
    every_answer(engine, TASK).await
}

async fn status(engine: &Engine, id: &MemoryId) -> MemoryStatus {
    let memory = engine.get_memory(&project(), id).await.unwrap();
    memory.memory.status
}

async fn set_active(engine: &Engine, id: &MemoryId) -> MemoryHistory {
    let update = MemoryUpdate {
        status: Some(MemoryStatus::Active),
        ..MemoryUpdate::default()
    };
    let update = UpdateMemory::new(id.clone(), update);
    engine.update_memory(&project(), &update).await.unwrap()
}

async fn a_new_memory_waits_until_a_person_approves_it(home: &Home) {
    let engine = home.engine();
    let old = learn(&engine, run(TASK), Verdict::Pass).await;
    approve(&engine, Some(Approval::First)).await;
    let new = learn(&engine, run(TASK), Verdict::Pass).await;
    // Also before any query.
    let MemoryHistory {
        memory, changes, ..
    } = engine.get_memory(&project(), &new).await.unwrap();
    assert_eq!(memory.status, MemoryStatus::Staged);
    let reason = memory.aside.unwrap().reason;
    assert_eq!(
        reason,
        "approval: new memories of the project wait for a person"
    );
    assert_eq!(changes, []);
    assert_eq!(answers(&engine).await, std::slice::from_ref(&old));
    let list = ListMemories {
        status: Some(MemoryStatus::Staged),
        ..ListMemories::default()
    };
    let waiting = engine.list_memories(&project(), &list).await.unwrap();
    assert_eq!(waiting.items.len(), 1);
    assert_eq!(engine.stats(&project()).await.unwrap().staged, 1);
    // A reader that starts from nothing decides the same.
    let beside = home.beside().engine();
    assert_eq!(answers(&beside).await, std::slice::from_ref(&old));
    let approved = set_active(&engine, &new).await;
    assert_eq!(approved.memory.status, MemoryStatus::Active);
    assert_eq!(approved.changes.len(), 1);
    assert_eq!(answers(&engine).await.len(), 2);
    assert_eq!(answers(&beside).await.len(), 2);
}

async fn a_project_asks_for_approval_before_its_first_run(home: &Home) {
    let engine = home.engine();
    let asked = UpdateProject {
        approve: Some(Some(Approval::First)),
        ..UpdateProject::default()
    };
    let bound = engine.in_existing_projects();
    let refused = bound.update_project(&project(), &asked).await;
    assert!(matches!(refused, Err(Error::NoProject(_))), "{refused:?}");
    let set = engine.update_project(&project(), &asked).await.unwrap();
    assert_eq!(set.traces, 0);
    let first = learn(&engine, run(TASK), Verdict::Pass).await;
    assert_eq!(status(&engine, &first).await, MemoryStatus::Staged);
}

async fn only_what_a_model_taught_waits_if_the_project_says_so(home: &Home) {
    let engine = home.engine();
    engine.create_project(&project()).await.unwrap();
    approve(&engine, Some(Approval::Models)).await;
    for (reviewer, waits) in [
        (Reviewer::Human, false),
        (Reviewer::Program, false),
        (Reviewer::model("judge"), true),
    ] {
        let trace = record(&engine, run(TASK)).await;
        let review = Review::pass().reviewer(reviewer.clone());
        let reviewed = engine.review_trace(&project(), &trace, review).await;
        let memory = reviewed.unwrap().created_memory_id.unwrap();
        answers(&engine).await;
        let status = status(&engine, &memory).await;
        assert_eq!(
            status == MemoryStatus::Staged,
            waits,
            "{reviewer}: {status}"
        );
    }
}

async fn nothing_waits_any_more_without_the_setting(home: &Home) {
    let engine = home.engine();
    engine.create_project(&project()).await.unwrap();
    approve(&engine, Some(Approval::First)).await;
    let id = learn(&engine, run(TASK), Verdict::Pass).await;
    assert!(answers(&engine).await.is_empty());
    approve(&engine, None).await;
    assert_eq!(answers(&engine).await, std::slice::from_ref(&id));
    let memory = engine.get_memory(&project(), &id).await.unwrap();
    let [change] = &memory.changes[..] else {
        panic!("{:?}", memory.changes);
    };
    assert!(change.automatic);
    assert_eq!(
        change.note.as_deref(),
        Some("the project asks for no approval")
    );
    // What was learned without the setting does not wait when it is back; what was never approved does.
    let other = learn(&engine, run(TASK), Verdict::Pass).await;
    approve(&engine, Some(Approval::First)).await;
    assert_eq!(answers(&engine).await, [other]);
    assert_eq!(status(&engine, &id).await, MemoryStatus::Staged);
}

async fn an_undone_approval_waits_again(home: &Home) {
    let engine = home.engine();
    engine.create_project(&project()).await.unwrap();
    approve(&engine, Some(Approval::First)).await;
    let id = learn(&engine, run(TASK), Verdict::Pass).await;
    set_active(&engine.acting_for("thief".into()), &id).await;
    assert_eq!(answers(&engine).await, std::slice::from_ref(&id));
    let undo = Undo {
        key_id: Some("thief".into()),
        ..Undo::default()
    };
    engine.undo(&project(), &undo).await.unwrap();
    assert!(answers(&engine).await.is_empty());
    assert_eq!(status(&engine, &id).await, MemoryStatus::Staged);
}

async fn a_project_sets_the_ranking_of_queries_that_say_nothing(home: &Home) {
    let engine = home.engine();
    learn(&engine, run(TASK), Verdict::Pass).await;
    let ranking = async |query: QueryMemories| {
        let explained = engine.explain_memories(&project(), &query).await;
        explained.unwrap().ranking
    };
    let nothing = || QueryMemories::new(TASK);
    assert_eq!(ranking(nothing()).await, Ranking::Learned);
    let update = |ranking| UpdateProject {
        ranking: Some(ranking),
        ..UpdateProject::default()
    };
    let classic = update(Some(Ranking::Classic));
    let updated = engine.update_project(&project(), &classic).await.unwrap();
    assert_eq!(updated.settings.ranking, Some(Ranking::Classic));
    assert_eq!(ranking(nothing()).await, Ranking::Classic);
    let scores = engine.query_memories(&project(), &nothing()).await.unwrap();
    // By the classic rule: half of the similarity, which is 1, and half of the utility.
    assert!((scores[0].score - 0.75).abs() < 1e-6);
    let learned = QueryMemories {
        ranking: Some(Ranking::Learned),
        ..nothing()
    };
    assert_eq!(ranking(learned).await, Ranking::Learned);
    let none = update(None);
    engine.update_project(&project(), &none).await.unwrap();
    assert_eq!(ranking(nothing()).await, Ranking::Learned);
}
