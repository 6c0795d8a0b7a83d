//! Skills that a model writes.

use std::sync::Arc;

use reflect_engine::model::{Extractive, LlmSkillWriter};
use reflect_model_server::{Act, ModelRequest, ModelServer};
use reflect_types::{CreateSkill, Review};
use serde_json::json;

use crate::client;
use crate::common::{Home, project, record, run};

#[tokio::test]
async fn a_skill_is_condensed_per_task_then_merged_and_counted_up() {
    let server = ModelServer::start(|asked: &ModelRequest| {
        let text = asked.text();
        let answer = if text.contains("all about one task") {
            json!({"strategies": [], "pitfalls": ["Refunds without a date check fail."]})
        } else {
            assert!(
                text.contains("Refunds without a date check fail."),
                "{text}"
            );
            json!({
                "strategies": ["Ship within a day.\n## Not a heading"],
                "pitfalls": ["Check the date before a refund.", " "],
            })
        };
        Act::Say(answer.to_string())
    });
    let server = server.await.unwrap();
    let home = Home::in_memory();
    let writer = Arc::new(LlmSkillWriter::new(client(&server)));
    let engine = home.builder().skill_writer(writer).start().unwrap();
    for (task, review) in [
        ("Refund it", Review::fail("too old")),
        ("Refund it", Review::fail("no receipt")),
        ("Ship it", Review::pass()),
    ] {
        let id = record(&engine, run(task)).await;
        engine.review_trace(&project(), &id, review).await.unwrap();
    }
    let ask = CreateSkill::default();
    let skill = engine.create_skill(&project(), &ask).await.unwrap();
    assert_eq!(skill.version, 1);
    let content = &skill.content;
    assert!(content.starts_with("---\nname: "), "{content}");
    assert!(
        content.contains("- Check the date before a refund.\n"),
        "{content}"
    );
    assert!(content.contains("- Ship within a day."), "{content}");
    assert_eq!(content.matches("\n#").count(), 4, "{content}");
    assert_eq!(server.asked().len(), 2);
    let next = engine.create_skill(&project(), &ask).await.unwrap();
    assert_eq!((next.version, next.source_memory_ids.len()), (2, 3));

    // A model that fails keeps the skill that is there, and says why.
    server.first(vec![Act::Refuse("no".into()); 2]);
    let refused = engine.create_skill(&project(), &ask).await.unwrap_err();
    assert!(refused.to_string().contains("declined"), "{refused}");
    let kept = engine.get_skill(&project()).await.unwrap().unwrap();
    assert_eq!(kept.version, 2);
}

#[tokio::test]
async fn a_skill_falls_back_to_extraction() {
    let server = ModelServer::start(|_| Act::Filter).await.unwrap();
    let home = Home::in_memory();
    let writer = LlmSkillWriter::new(client(&server)).or_extractive();
    let engine = home.builder().reflector(Arc::new(Extractive));
    let engine = engine.skill_writer(Arc::new(writer)).start().unwrap();
    let id = record(&engine, run("Refund it")).await;
    let review = Review::fail("It was too old");
    engine.review_trace(&project(), &id, review).await.unwrap();
    let ask = CreateSkill::default();
    let skill = engine.create_skill(&project(), &ask).await.unwrap();
    let content = skill.content;
    assert!(content.contains("It was too old"), "{content}");
}
