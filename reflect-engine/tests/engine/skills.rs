//! Skills.

use std::sync::Arc;

use async_trait::async_trait;
use reflect_engine::model::{Error, Guide, SkillWriter, SourceMemory};
use reflect_types::{CreateSkill, ErrorCode, Undo, Verdict};
use tokio::sync::Semaphore;

use crate::common::{Home, eventually, learn, project, run};

/// A writer that waits for a permit.
struct SlowWriter {
    asked: Semaphore,
    gate: Semaphore,
}

#[async_trait]
impl SkillWriter for SlowWriter {
    async fn write(&self, memories: &[SourceMemory<'_>]) -> Result<Guide, Error> {
        self.asked.add_permits(1);
        self.gate.acquire().await.unwrap().forget();
        Ok(Guide::extracted(memories))
    }
}

#[tokio::test]
async fn a_shutdown_waits_for_a_skill_that_a_model_writes() {
    let home = Home::on_sqlite();
    let writer = Arc::new(SlowWriter {
        asked: Semaphore::new(0),
        gate: Semaphore::new(0),
    });
    let slow = Arc::clone(&writer) as Arc<dyn SkillWriter>;
    let engine = home.builder().skill_writer(slow).start().unwrap();
    learn(&engine, run("Refund order 7"), Verdict::Pass).await;
    let asking = tokio::spawn({
        let engine = engine.clone();
        async move {
            let ask = CreateSkill::default();
            engine.create_skill(&project(), &ask).await
        }
    });
    writer.asked.acquire().await.unwrap().forget();
    let stopping = tokio::spawn({
        let engine = engine.clone();
        async move { engine.shutdown().await }
    });
    // All workers have ended, so that only the skill is waited for.
    eventually(async || (home.clock.sleepers() == 0).then_some(())).await;
    for _ in 0..100 {
        home.store.projects().await.expect("an open store");
    }
    writer.gate.add_permits(1);
    let skill = asking.await.unwrap().unwrap();
    stopping.await.unwrap().unwrap();

    let reopened = home.reopened().engine();
    let stored = reopened.get_skill(&project()).await.unwrap();
    assert_eq!(stored, Some(skill));
}

#[tokio::test]
async fn a_skill_of_memories_that_are_undone_meanwhile_is_not_stored() {
    let home = Home::on_sqlite();
    let writer = Arc::new(SlowWriter {
        asked: Semaphore::new(0),
        gate: Semaphore::new(0),
    });
    let slow = Arc::clone(&writer) as Arc<dyn SkillWriter>;
    let engine = home.builder().skill_writer(slow).start().unwrap();
    learn(&engine, run("Refund order 7"), Verdict::Pass).await;
    let thief = engine.acting_for("thief".into());
    learn(&thief, run("Refund order 8"), Verdict::Pass).await;
    let asking = tokio::spawn({
        let engine = engine.clone();
        async move {
            let ask = CreateSkill::default();
            engine.create_skill(&project(), &ask).await
        }
    });
    writer.asked.acquire().await.unwrap().forget();
    let undo = Undo {
        key_id: Some("thief".into()),
        ..Undo::default()
    };
    engine.undo(&project(), &undo).await.unwrap();
    writer.gate.add_permits(1);
    let refused = asking.await.unwrap().unwrap_err();
    assert_eq!(refused.code(), ErrorCode::Conflict);
    assert_eq!(engine.get_skill(&project()).await.unwrap(), None);
}
