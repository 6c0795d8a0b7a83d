//! Undos after an export and an import.

use super::undo::{by_key, undo};
use super::undo_waiting::learn_waiting;
use super::undo_worlds::attacked;
use super::*;

on_every_store! {
    an_undo_after_an_import_changes_what_it_would_have_before,
}

/// Everything that an export has of a project.
async fn archive(
    store: &dyn Store,
    project: &ProjectId,
) -> (Vec<ArchivedMemory>, Vec<ArchivedTrace>) {
    let mut memories = Vec::<ArchivedMemory>::new();
    loop {
        let after = memories.last().map(|last| last.history.memory.id.clone());
        let page = store.archived_memories(project, after.as_ref(), 7).await;
        let page = page.unwrap();
        if page.is_empty() {
            break;
        }
        memories.extend(page);
    }
    for change in memories.iter_mut().flat_map(|m| &mut m.history.changes) {
        // An import gives a new one.
        change.id.clear();
    }
    let traces = store.archived_traces(project, None, 1_000).await.unwrap();
    (memories, traces)
}

/// Exports a project and imports it as another one, through JSON.
pub(super) async fn move_to(store: &dyn Store, from: &ProjectId, to: &ProjectId) {
    let (memories, traces) = archive(store, from).await;
    let mut pieces: Vec<EmbeddedPiece> = Vec::new();
    for memory in &memories {
        let json = serde_json::to_string(memory).unwrap();
        pieces.push(EmbeddedPiece::Memory {
            memory: serde_json::from_str(&json).unwrap(),
            embedder: EMBEDDER.to_owned(),
            vector: vector_of("moved"),
        });
    }
    for trace in &traces {
        let json = serde_json::to_string(trace).unwrap();
        pieces.push(EmbeddedPiece::Trace(serde_json::from_str(&json).unwrap()));
    }
    let count = pieces.len() as u64;
    let stored = store.restore(to, true, pieces, now()).await;
    assert_eq!(stored.unwrap(), count);
    assert_eq!(archive(store, to).await, (memories, traces));
}

async fn an_undo_after_an_import_changes_what_it_would_have_before(store: &dyn Store) {
    let mut past_reviews = 0;
    for seed in 16..28 {
        let original = ProjectId::new(format!("exported {seed}"));
        let copy = ProjectId::new(format!("imported {seed}"));
        attacked(store, &original, seed).await;
        move_to(store, &original, &copy).await;
        let (_, traces) = archive(store, &copy).await;
        past_reviews += traces.iter().map(|t| t.past_reviews.len()).sum::<usize>();
        let expected = undo(store, &original, &by_key("thief")).await;
        assert_eq!(undo(store, &copy, &by_key("thief")).await, expected);
        assert_eq!(
            archive(store, &copy).await,
            archive(store, &original).await,
            "seed {seed}"
        );
        for project in [&original, &copy] {
            learn_waiting(store, project).await;
        }
        // Not the traces, which count their attempts from the import on.
        assert_eq!(
            archive(store, &copy).await.0,
            archive(store, &original).await.0,
            "learned, seed {seed}"
        );
    }
    assert!(past_reviews > 10, "{past_reviews}");
}
