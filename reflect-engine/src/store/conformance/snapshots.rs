//! Snapshots of indexes, of a store that keeps any.

use super::*;

pub(super) async fn the_last_finished_snapshot_is_kept(store: &dyn Store) {
    let project = ProjectId::from("conformance/snapshots");
    let space = space();
    let begin = async || store.begin_snapshot(&project, &space).await.unwrap();
    let finished = async || store.snapshot(&project, &space).await.unwrap();
    let finish = async |key, parts, revision| {
        let finished = store.finish_snapshot(key, parts, revision).await;
        finished.unwrap()
    };
    let part = async |key, number| store.snapshot_part(key, number).await.unwrap();
    if !store.keeps_snapshots() {
        return;
    }
    assert_eq!((begin().await, finished().await), (None, None));
    insert(store, &project, new_trace("t-1"), Intake::Unreviewed).await;
    judge(store, &project, "t-1", Verdict::Pass).await;
    let first = begin().await.unwrap();
    for number in 0..3 {
        let bytes = vec![u8::try_from(number).unwrap(); 5];
        assert!(store.add_snapshot_part(first, number, bytes).await.unwrap());
    }
    assert_eq!(finished().await, None);
    assert!(!finish(first, 4, 0).await, "one is missing");
    assert!(finish(first, 3, 0).await);
    assert_eq!(finished().await, Some((first, 3)));
    let other = VectorSpace::new("other-space", 2);
    assert_eq!(store.snapshot(&project, &other).await.unwrap(), None);
    assert_eq!(part(first, 2).await, Some(vec![2; 5]));
    assert_eq!(part(first, 3).await, None);
    assert!(!store.delete_unused_parts(2).await.unwrap());

    let second = begin().await.unwrap();
    assert!(second > first, "a key is never used again");
    assert!(!store.add_snapshot_part(first, 3, vec![7]).await.unwrap());
    assert_eq!((finished().await, part(first, 3).await), (None, None));
    assert!(store.delete_unused_parts(2).await.unwrap());
    assert!(!store.delete_unused_parts(2).await.unwrap());
    assert_eq!(part(first, 0).await, None);
    assert!(store.add_snapshot_part(second, 0, vec![9]).await.unwrap());
    assert!(finish(second, 1, 0).await);
    assert_eq!(finished().await, Some((second, 1)));

    // One that has a memory that is deleted, before it was finished or after, is not used.
    let known = store.memory_changes(&project, &space, Revision::default(), 10);
    let known = known.await.unwrap().revision.number;
    let memories = store
        .list_memories(&project, &ListMemories::default())
        .await;
    let memory = &memories.unwrap().items[0].memory.id;
    let deleted = store.delete_memory(&project, memory, None, now()).await;
    assert!(deleted.unwrap());
    assert_eq!(finished().await, None);
    let third = begin().await.unwrap();
    assert!(!finish(third, 0, known).await);
    assert!(finish(third, 0, known + 1).await);
    store.delete_snapshot(third).await.unwrap();
    assert_eq!(finished().await, None);
    assert!(store.delete_project(&project).await.unwrap());
    assert!(!store.delete_unused_parts(2).await.unwrap());
}
