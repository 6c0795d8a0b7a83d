//! Projects.

use super::*;

pub(super) async fn only_an_authorized_write_creates_a_project(store: &dyn Store) {
    let project = ProjectId::from("conformance/made");
    let run = |id: &str, creates_project| NewTrace {
        creates_project,
        idempotency_key: Some(id.to_owned()),
        ..new_trace(id)
    };
    let is_there = async || store.projects().await.unwrap().contains(&project);
    let refuses = async |what: &str| {
        let queued = Intake::Queued(review("r-t-made", Verdict::Pass));
        for intake in [
            Intake::Unreviewed,
            queued,
            Intake::Learned(lesson("t-made", Verdict::Pass)),
        ] {
            let refused = store.insert_trace(&project, run("t-made", false), intake);
            let refused = refused.await.unwrap_err();
            assert!(
                matches!(&refused, Error::NoProject(id) if *id == project),
                "{what}: {refused}"
            );
        }
        let skill = Skill {
            content: "guide".to_owned(),
            version: 1,
            created_at: None,
            source_memory_ids: Vec::new(),
        };
        let refused = store.put_skill(&project, &skill).await.unwrap_err();
        assert!(matches!(refused, Error::NoProject(_)), "{what}: {refused}");
        assert!(!is_there().await, "{what}");
    };
    refuses("never made").await;

    store.create_project(&project).await.unwrap();
    assert!(is_there().await);
    assert_eq!(store.stats(&project).await.unwrap().traces, 0);
    let stored = store.insert_trace(&project, run("t-made", false), Intake::Unreviewed);
    stored.await.unwrap();
    // An existing project stays as it is.
    store.create_project(&project).await.unwrap();
    assert_eq!(store.stats(&project).await.unwrap().traces, 1);

    assert!(store.delete_project(&project).await.unwrap());
    refuses("deleted").await;
    let made = store.insert_trace(&project, run("t-made", true), Intake::Unreviewed);
    made.await.unwrap();
    assert!(store.delete_project(&project).await.unwrap());
}

pub(super) async fn an_unknown_cursor_is_invalid(store: &dyn Store) {
    let there = ProjectId::from("conformance/cursors");
    store.create_project(&there).await.unwrap();
    for project in [there, ProjectId::from("conformance/no such project")] {
        let traces = ListTraces {
            before: Some("absent".into()),
            ..ListTraces::default()
        };
        let memories = ListMemories {
            before: Some("absent".into()),
            ..ListMemories::default()
        };
        let refusals = [
            store.list_traces(&project, &traces).await.unwrap_err(),
            store.list_memories(&project, &memories).await.unwrap_err(),
        ];
        for refused in refusals {
            assert!(matches!(&refused, Error::Invalid(invalid) if invalid.field == "before"));
        }
    }
}
