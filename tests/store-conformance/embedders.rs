//! Vectors of several embedders.

use super::*;

on_every_store! {
    each_embedder_has_a_vector_of_its_own,
    vectors_of_another_length_are_of_another_space,
    a_changed_task_takes_the_vectors_of_all_embedders_along,
    a_vector_of_an_old_task_is_not_stored,
    an_embedder_is_building_until_it_is_complete,
    vectors_that_no_engine_uses_are_deleted_in_parts,
    one_re_embedding_of_each_embedder_is_claimed,
}

/// Memories of new traces of a project, and their keys.
async fn learned(store: &dyn Store, name: &str, count: usize) -> (ProjectId, Vec<i64>) {
    let project = ProjectId::from(name);
    for n in 0..count {
        let id = format!("t-{name}-{n}");
        insert(store, &project, new_trace(&id), Intake::Unreviewed).await;
        judge(store, &project, &id, Verdict::Pass).await;
    }
    let known = since(store, &project, &space(), Revision::default()).await;
    let keys = known.changes.iter().map(key_of).collect();
    (project, keys)
}

async fn since(
    store: &dyn Store,
    project: &ProjectId,
    space: &VectorSpace,
    since: Revision,
) -> MemoryChanges {
    let changes = store.memory_changes(project, space, since, 100).await;
    changes.unwrap()
}

/// The memories among these without a vector of a space.
async fn lacking(store: &dyn Store, space: &VectorSpace, keys: &[i64]) -> Vec<UnembeddedMemory> {
    let mut found = store
        .unembedded(space, ProjectRow::default(), 10_000)
        .await
        .unwrap();
    found.retain(|memory| keys.contains(&memory.key));
    found
}

/// Embeds the first of these memories that lack a vector of a space.
async fn embed(store: &dyn Store, space: &VectorSpace, keys: &[i64], count: usize) {
    let found = lacking(store, space, keys).await;
    let vectors = found.into_iter().take(count);
    let vectors = vectors.map(|memory| (memory, vec![0.5; space.dims]));
    let stored = store.set_vectors(space, vectors.collect(), now());
    stored.await.unwrap();
}

async fn each_embedder_has_a_vector_of_its_own(store: &dyn Store) {
    let (project, keys) = learned(store, "embedders", 3).await;
    assert_eq!(lacking(store, &space(), &keys).await, []);
    let known = since(store, &project, &space(), Revision::default()).await;
    for name in ["a-space", "z-space"] {
        let other = VectorSpace::new(name, 2);
        let left = lacking(store, &other, &keys).await;
        assert_eq!(
            left.iter().map(|memory| memory.key).collect::<Vec<_>>(),
            keys
        );
        let tasks = left.iter().map(|memory| memory.task.as_str());
        assert!(tasks.eq((0..3).map(|n| format!("the task of t-embedders-{n}"))));
        let page = store.unembedded(&other, left[0].row(), 1).await.unwrap();
        assert_eq!((page.len(), page[0].key), (1, keys[1]));
        let count = store.count_unembedded(&other, Some(&project)).await;
        assert_eq!(count.unwrap(), 3);

        let mut missing = left[0].clone();
        missing.key = -1;
        let vectors = vec![(left[0].clone(), vec![1.0, 0.0]), (missing, vec![0.0, 0.0])];
        store.set_vectors(&other, vectors, now()).await.unwrap();
        assert_eq!(lacking(store, &other, &keys).await, left[1..]);
        let count = store.count_unembedded(&other, Some(&project)).await;
        assert_eq!(count.unwrap(), 2);
        let all = store.count_unembedded(&other, None).await.unwrap();
        assert_eq!(
            all,
            store
                .unembedded(&other, ProjectRow::default(), 10_000)
                .await
                .unwrap()
                .len() as u64
        );
        let found = store.vectors(&project, &other, &keys).await.unwrap();
        assert_eq!(found, [(keys[0], vec![1.0, 0.0])]);
        let changes = since(store, &project, &other, known.revision).await.changes;
        assert!(
            matches!(&changes[..], [MemoryChange::Put(memory)] if memory.vector == [1.0, 0.0]),
            "{changes:?}"
        );
    }
    // The vectors that there were stay, and whoever reads them finds them unchanged.
    let own = store.vectors(&project, &space(), &keys).await.unwrap();
    assert_eq!(own.len(), 3);
    let again = since(store, &project, &space(), Revision::default()).await;
    let vectors = |changes: &MemoryChanges| {
        let mut vectors: Vec<_> = changes.changes.iter().map(vector_in).collect();
        vectors.sort_by_key(|(key, _)| *key);
        vectors
    };
    assert_eq!(vectors(&again), vectors(&known));
    let spaces = store.embedders().await.unwrap();
    for space in [space(), VectorSpace::new("a-space", 2)] {
        assert!(spaces.iter().any(|known| known.space == space), "{space:?}");
    }
}

fn vector_in(change: &MemoryChange) -> (i64, Vec<f32>) {
    match change {
        MemoryChange::Put(memory) => (memory.key, memory.vector.clone()),
        MemoryChange::Gone(key) => (*key, Vec::new()),
    }
}

async fn vectors_of_another_length_are_of_another_space(store: &dyn Store) {
    let (project, keys) = learned(store, "vector lengths", 1).await;
    for dims in [2, 4] {
        let other = VectorSpace::new(EMBEDDER, dims);
        assert_eq!(lacking(store, &other, &keys).await.len(), 1);
        assert_eq!(store.vectors(&project, &other, &keys).await.unwrap(), []);
    }
    // Before the length is known, any will do.
    let any = VectorSpace::new(EMBEDDER, 0);
    assert_eq!(lacking(store, &any, &keys).await, []);
    assert_eq!(store.vectors(&project, &any, &keys).await.unwrap().len(), 1);
    embed(store, &VectorSpace::new(EMBEDDER, 2), &keys, 1).await;
    let both = [2, 3].map(|dims| VectorSpace::new(EMBEDDER, dims));
    for space in both {
        let found = store.vectors(&project, &space, &keys).await.unwrap();
        assert_eq!(found[0].1.len(), space.dims);
    }
}

async fn a_changed_task_takes_the_vectors_of_all_embedders_along(store: &dyn Store) {
    let (project, keys) = learned(store, "another task", 1).await;
    let other = VectorSpace::new("a-space", 2);
    embed(store, &other, &keys, 1).await;
    let id = "t-another task-0";
    // A review that leaves the task alone leaves its vectors alone.
    let replace = async |before, after, task: &str, vector: Vec<f32>| {
        let mut learned = lesson(id, after);
        learned.memory.task = task.to_owned();
        learned.memory.vector = vector;
        let basis = replacing("r-t-another task-0", before);
        learn(store, &project, id, basis, learned).await
    };
    let (pass, fail) = (Verdict::Pass, Verdict::Fail);
    let same = replace(
        pass,
        fail,
        "the task of t-another task-0",
        vec![1.0, 2.0, 3.0],
    );
    assert_eq!(same.await, Ok(()));
    assert_eq!(lacking(store, &other, &keys).await, []);
    let vectors = async |space: &VectorSpace| {
        let found = store.vectors(&project, space, &keys).await.unwrap();
        found
            .into_iter()
            .map(|(_, vector)| vector)
            .collect::<Vec<_>>()
    };
    assert_eq!(vectors(&space()).await, [vec![1.0, 2.0, 3.0]]);

    let known = since(store, &project, &other, Revision::default()).await;
    let new = replace(fail, pass, "another task", vec![3.0, 2.0, 1.0]);
    assert_eq!(new.await, Ok(()));
    assert_eq!(vectors(&space()).await, [vec![3.0, 2.0, 1.0]]);
    assert!(vectors(&other).await.is_empty());
    let left = lacking(store, &other, &keys).await;
    assert_eq!((left.len(), left[0].task.as_str()), (1, "another task"));
    let changes = since(store, &project, &other, known.revision).await.changes;
    assert_eq!(changes, [MemoryChange::Gone(keys[0])]);
}

async fn a_vector_of_an_old_task_is_not_stored(store: &dyn Store) {
    let (project, keys) = learned(store, "old task", 1).await;
    let other = VectorSpace::new("a-space", 2);
    let mut read = lacking(store, &other, &keys).await.remove(0);
    "the task before it was changed".clone_into(&mut read.task);
    let stored = store.set_vectors(&other, vec![(read, vec![1.0, 0.0])], now());
    stored.await.unwrap();
    assert_eq!(store.vectors(&project, &other, &keys).await.unwrap(), []);
    assert_eq!(lacking(store, &other, &keys).await.len(), 1);
}

async fn an_embedder_is_building_until_it_is_complete(store: &dyn Store) {
    let new = VectorSpace::new("announced", 7);
    let known = async || {
        let known = store.embedders().await.unwrap();
        let found = known.into_iter().find(|known| known.space == new);
        found.map(|known| (known.seen_at, known.completed_at))
    };
    let unknown = VectorSpace::new("announced", 0);
    let announce = async |space: &VectorSpace, complete, at| {
        let announced = store.announce_embedder(space, complete, seconds(at));
        announced.await.unwrap();
    };
    announce(&unknown, true, 1).await;
    assert_eq!(known().await, None, "without dimensions, none is added");
    announce(&new, false, 10).await;
    assert_eq!(known().await, Some((seconds(10), None)));
    announce(&unknown, false, 20).await;
    assert_eq!(known().await, Some((seconds(20), None)));
    announce(&new, true, 30).await;
    let complete = Some((seconds(30), Some(seconds(30))));
    assert_eq!(known().await, complete);
    // It stays complete, and a server whose clock is behind does not set it back.
    announce(&new, false, 25).await;
    assert_eq!(known().await, complete);
}

async fn vectors_that_no_engine_uses_are_deleted_in_parts(store: &dyn Store) {
    let (project, keys) = learned(store, "unused vectors", 5).await;
    let (old, new) = (VectorSpace::new("old", 2), VectorSpace::new("new", 3));
    let rows = lacking(store, &old, &keys).await;
    embed(store, &old, &keys, 5).await;
    embed(store, &new, &keys, 4).await;
    let announced = store.announce_embedder(&old, true, seconds(100));
    announced.await.unwrap();
    let delete = async |unseen_since, after| {
        let unused = UnusedVectors {
            space: old.clone(),
            unseen_since: seconds(unseen_since),
            kept: new.clone(),
        };
        let deleted = store.delete_unused_vectors(&unused, after, 3).await;
        deleted.unwrap()
    };
    let left = async || store.vectors(&project, &old, &keys).await.unwrap().len();
    let rows: Vec<ProjectRow> = rows.iter().map(UnembeddedMemory::row).collect();
    let first = ProjectRow::default();
    assert_eq!(delete(99, first).await, None);
    assert_eq!(left().await, 5, "it was seen since");
    assert_eq!(delete(100, first).await, Some(rows[2]));
    assert_eq!(left().await, 2);
    assert_eq!(delete(100, rows[2]).await, None);
    assert_eq!(left().await, 1, "the last has no vector of the new one");
    let is_known = async || {
        let known = store.embedders().await.unwrap();
        known.iter().any(|known| known.space == old)
    };
    assert!(is_known().await);
    embed(store, &new, &keys, 1).await;
    store.queue_reembedding("old", now(), false).await.unwrap();
    assert_eq!(delete(100, first).await, None);
    assert!(left().await == 0 && !is_known().await);
    assert_eq!(store.vectors(&project, &new, &keys).await.unwrap().len(), 5);
    let lease = lease("one", 60);
    let claims = store.claim_reembedding("old", now(), &lease).await;
    assert_eq!(claims.unwrap().jobs, [], "its job is gone too");
    // A server that comes back begins again.
    embed(store, &old, &keys, 9).await;
    assert_eq!(left().await, 5);
}

async fn one_re_embedding_of_each_embedder_is_claimed(store: &dyn Store) {
    let claim = async |embedder: &str, owner| {
        let lease = lease(owner, 60);
        let claims = store.claim_reembedding(embedder, now(), &lease).await;
        claims.unwrap().jobs
    };
    let queue = async |embedder: &str, due, restart| {
        let queued = store.queue_reembedding(embedder, due, restart);
        queued.await.unwrap();
    };
    // One, however often it is queued.
    queue("one-space", seconds(500), false).await;
    queue("one-space", now(), false).await;
    assert_eq!(claim("one-space", "early").await, []);
    // A restart makes it due, and leaves one that is held alone.
    queue("one-space", now(), true).await;
    let (one, two) = tokio::join!(claim("one-space", "one"), claim("one-space", "two"));
    let jobs = [one, two].concat();
    assert_eq!(jobs.len(), 1);
    assert_eq!(jobs[0].subject, Subject::Reembedding);
    queue("one-space", now(), true).await;
    assert_eq!(claim("one-space", "late").await, []);
    // Another embedder has its own.
    assert_eq!(claim("two-space", "other").await, []);
    queue("two-space", now(), false).await;
    let other = claim("two-space", "other").await;
    assert_eq!(other.len(), 1);
    store.finish_job("other", other[0].key).await.unwrap();

    store.release_jobs("one").await.unwrap();
    store.release_jobs("two").await.unwrap();
    let jobs = claim("one-space", "one").await;
    assert_eq!((jobs.len(), jobs[0].attempts), (1, 1));
    store.finish_job("one", jobs[0].key).await.unwrap();
    assert_eq!(claim("one-space", "one").await, []);
}
