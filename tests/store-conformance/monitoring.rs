//! What operators watch.

use super::*;

on_every_store! {
    waiting_jobs_and_revisions_are_counted,
}

async fn waiting_jobs_and_revisions_are_counted(store: &dyn Store) {
    let project = ProjectId::from("monitoring");
    drain(store).await;
    let empty = store.queue(JobKind::Reflection).await.unwrap();
    assert_eq!((empty.jobs, empty.oldest), (0, None));
    for n in 0..2 {
        let queued = Intake::Queued(review(&format!("r-{n}"), Verdict::Pass));
        insert(store, &project, new_trace(&format!("t-{n}")), queued).await;
    }
    let queue = store.queue(JobKind::Reflection).await.unwrap();
    let stored = new_trace("t-0").created_at;
    assert_eq!((queue.jobs, queue.oldest), (2, Some(stored)));
    let revision = async || {
        let all = store.revisions().await.unwrap();
        let found = all.into_iter().find(|(id, _)| *id == project);
        found.unwrap().1
    };
    let before = revision().await;
    drain(store).await;
    let after = revision().await;
    assert_eq!(before.epoch, after.epoch);
    assert!(after.number > before.number);
    let changes = store.memory_changes(&project, &space(), before, 10).await;
    assert_eq!(changes.unwrap().revision, after);
}
