//! Projects.

use super::*;

on_every_store! {
    only_an_authorized_write_creates_a_project,
    an_unknown_cursor_is_invalid,
    a_new_project_has_a_printable_id,
    projects_are_summarized,
}

async fn only_an_authorized_write_creates_a_project(store: &dyn Store) {
    let project = ProjectId::from("made");
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
        let refused = store.put_skill(&project, &skill, &[]).await.unwrap_err();
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

async fn an_unknown_cursor_is_invalid(store: &dyn Store) {
    let there = ProjectId::from("cursors");
    store.create_project(&there).await.unwrap();
    for project in [there, ProjectId::from("no such project")] {
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

async fn a_new_project_has_a_printable_id(store: &dyn Store) {
    for odd in ["a\u{1b}b", "a\u{200b}b", " a", "a\u{202e}b"] {
        let project = ProjectId::from(odd);
        let trace = new_trace("t-odd");
        let refusals = [
            store.create_project(&project).await.unwrap_err(),
            store
                .insert_trace(&project, trace, Intake::Unreviewed)
                .await
                .unwrap_err(),
            store
                .restore(&project, true, Vec::new(), now())
                .await
                .unwrap_err(),
        ];
        for refused in refusals {
            let is_named =
                matches!(&refused, Error::Invalid(invalid) if invalid.field == "project_id");
            assert!(is_named, "{odd:?}: {refused}");
        }
        assert!(!store.projects().await.unwrap().contains(&project));
        assert!(!store.delete_project(&project).await.unwrap());
    }
}

async fn max_alpha(store: &dyn Store, project: &ProjectId) -> Option<f64> {
    store.settings(project).await.unwrap().max_alpha
}

async fn projects_are_summarized(store: &dyn Store) {
    let project = ProjectId::from("summary");
    assert_eq!(max_alpha(store, &project).await, None);
    let limit = |limit| UpdateProject {
        max_alpha: Some(limit),
        ..UpdateProject::default()
    };
    let half = limit(Some(0.5));
    let refused = store.update_project(&project, &half, false).await;
    let refused = refused.unwrap_err();
    assert!(matches!(refused, Error::NoProject(_)), "{refused}");
    let new = ProjectId::from("set up");
    store.update_project(&new, &half, true).await.unwrap();
    assert_eq!(max_alpha(store, &new).await, Some(0.5));
    insert(store, &project, new_trace("counted"), Intake::Unreviewed).await;
    insert(store, &project, new_trace("learned"), Intake::Unreviewed).await;
    judge(store, &project, "learned", Verdict::Pass).await;
    store.update_project(&project, &half, true).await.unwrap();
    assert_eq!(max_alpha(store, &project).await, Some(0.5));
    let expected = ProjectSummary {
        project_id: project.clone(),
        traces: 2,
        memories: 1,
        settings: ProjectSettings {
            max_alpha: Some(0.5),
            ..ProjectSettings::default()
        },
    };
    let one = store.project_summaries(Some(&project)).await.unwrap();
    assert_eq!(one, std::slice::from_ref(&expected));
    let all = store.project_summaries(None).await.unwrap();
    assert!(all.contains(&expected));
    let ids: Vec<_> = all.into_iter().map(|summary| summary.project_id).collect();
    assert_eq!(ids, store.projects().await.unwrap());
    let others = UpdateProject {
        max_memories: Some(Some(7)),
        ranking: Some(Some(Ranking::Classic)),
        approve: Some(Some(Approval::Models)),
        control: Some(Some(0.1)),
        keep_personal_values: Some(Some(false)),
        ..UpdateProject::default()
    };
    store
        .update_project(&project, &others, false)
        .await
        .unwrap();
    let all = ProjectSettings {
        max_alpha: Some(0.5),
        max_memories: Some(7),
        ranking: Some(Ranking::Classic),
        approve: Some(Approval::Models),
        control: Some(0.1),
        keep_personal_values: Some(false),
    };
    assert_eq!(store.settings(&project).await.unwrap(), all);
    let one = store.project_summaries(Some(&project)).await.unwrap();
    assert_eq!(one[0].settings, all);
    let none = limit(None);
    store.update_project(&project, &none, true).await.unwrap();
    assert_eq!(max_alpha(store, &project).await, None);
}
