//! Two worlds: one with a key that is undone, and one without it.

use super::memory_changes::{edit, set_status, update_memory};
use super::undo::{by_key, teach, undo};
use super::*;

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % sides
    }

    fn verdict(&mut self) -> Verdict {
        Verdict::from(self.roll(2) == 0)
    }
}

/// What can be seen of a project's memories, without the traces of the undone key.
async fn bank(store: &dyn Store, project: &ProjectId) -> Vec<String> {
    let list = ListMemories {
        limit: Some(1_000),
        ..ListMemories::default()
    };
    let page = store.list_memories(project, &list).await.unwrap();
    let mut seen: Vec<String> = page
        .items
        .iter()
        .map(|history| {
            let memory = &history.memory;
            let events: Vec<_> = history
                .events
                .iter()
                .map(|event| (&event.review_id, event.after.to_bits(), &event.key_id))
                .collect();
            format!(
                "{} {} {} {} {:?} {:?} {events:?}",
                memory.id,
                memory.status,
                memory.q_value.to_bits(),
                memory.uses,
                memory.reflection,
                memory.key_id,
            )
        })
        .collect();
    seen.sort();
    seen
}

/// A change of a memory: the n-th act of a world.
fn change(n: u64, dice: &mut Dice) -> MemoryUpdate {
    match dice.roll(4) {
        0 => edit(&ReflectionEdit {
            summary: Some(format!("summary {n}")),
            ..ReflectionEdit::default()
        }),
        1 => edit(&ReflectionEdit {
            guidance: Some(format!("guidance {n}")),
            key_mistake: Some(format!("mistake {n}")),
            ..ReflectionEdit::default()
        }),
        2 => set_status(MemoryStatus::Quarantined),
        _ => set_status(MemoryStatus::Active),
    }
}

/// What the thief does to a trace's review or its memory: the n-th act of a world.
async fn act(store: &dyn Store, project: &ProjectId, id: &str, n: u64, dice: &mut Dice) {
    let standing = trace(store, project, id).await.review;
    match (standing, dice.roll(4)) {
        (_, 2 | 3) => {
            let update = change(n, dice);
            update_memory(store, project, &format!("m-{id}"), &update, "thief").await;
        }
        (Some(_), 0) => {
            let done = withdraw_with(store, project, id, Some("thief")).await;
            assert_eq!(done, Ok(()));
        }
        (standing, _) => {
            let mut lesson = lesson(id, dice.verdict());
            lesson.review.id = format!("r-{id}-{n}");
            lesson.review.key_id = Some("thief".into());
            lesson.review.alpha = 0.9;
            lesson.memory.id = MemoryId::new(format!("m-{id}-{n}"));
            "poison".clone_into(&mut lesson.memory.reflection.summary);
            let basis = standing.map_or(Basis::Fresh, |review| {
                Basis::Replace(ReviewVersion {
                    id: review.id,
                    verdict: review.result,
                    feedback: review.feedback_text,
                    reviewer: review.reviewer.unwrap_or_default(),
                    overruled: review.overruled,
                })
            });
            let done = learn(store, project, id, basis, lesson).await;
            assert_eq!(done, Ok(()));
        }
    }
}

/// The owner records and reviews runs, which are given any memories there are, and changes memories.
/// The thief records runs of its own, changes, withdraws and repeats reviews of the owner's, and
/// changes their memories too. Returns whether each change of the owner found its memory: in a world
/// without the thief, which hides none, only those are made.
async fn live(
    store: &dyn Store,
    project: &ProjectId,
    seed: u64,
    without_thief: Option<Vec<bool>>,
) -> Vec<bool> {
    let with_thief = without_thief.is_none();
    let mut wanted = without_thief.into_iter().flatten();
    let mut found = Vec::new();
    let mut dice = Dice(seed);
    let mut names: Vec<String> = Vec::new();
    let mut memories: Vec<String> = Vec::new();
    for n in 0..40 {
        let given: Vec<String> = (0..3)
            .filter_map(|_| {
                let count = memories.len() as u64;
                (count > 0).then(|| memories[usize::try_from(dice.roll(count)).unwrap()].clone())
            })
            .collect();
        let given: Vec<&str> = given.iter().map(String::as_str).collect();
        let (choice, verdict) = (dice.roll(6), dice.verdict());
        // The same numbers in both worlds, whatever the thief does with its own.
        let mut thief = Dice(dice.roll(u64::MAX >> 34));
        if choice < 2 || names.is_empty() {
            let name = format!("w-{n}");
            teach(store, project, using(&name, &given), "owner", verdict).await;
            memories.push(format!("m-{name}"));
            names.push(name);
        } else if choice == 5 {
            let target = usize::try_from(thief.roll(names.len() as u64)).unwrap();
            let (memory, update) = (format!("m-{}", names[target]), change(n, &mut thief));
            if with_thief || wanted.next() == Some(true) {
                let done = update_memory(store, project, &memory, &update, "owner").await;
                found.push(done.is_some());
            }
        } else if choice == 2 {
            let name = format!("thief-{n}");
            memories.push(format!("m-{name}"));
            if with_thief {
                teach(store, project, using(&name, &given), "thief", verdict).await;
            }
        } else if with_thief {
            let target = usize::try_from(thief.roll(names.len() as u64)).unwrap();
            for step in 0..=thief.roll(2) {
                act(store, project, &names[target], n * 10 + step, &mut thief).await;
            }
        }
    }
    found
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
async fn move_to(store: &dyn Store, from: &ProjectId, to: &ProjectId) {
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

pub(super) async fn an_undone_key_leaves_the_bank_as_if_it_had_never_been(store: &dyn Store) {
    for seed in 0..16 {
        let attacked = ProjectId::new(format!("conformance/attacked {seed}"));
        let peaceful = ProjectId::new(format!("conformance/peaceful {seed}"));
        let found = live(store, &attacked, seed, None).await;
        live(store, &peaceful, seed, Some(found)).await;
        let expected = bank(store, &peaceful).await;
        assert_ne!(bank(store, &attacked).await, expected, "seed {seed}");
        undo(store, &attacked, &by_key("thief")).await;
        assert_eq!(bank(store, &attacked).await, expected, "seed {seed}");
    }
}

pub(super) async fn an_undo_after_an_import_changes_what_it_would_have_before(store: &dyn Store) {
    let mut past_reviews = 0;
    for seed in 16..28 {
        let original = ProjectId::new(format!("conformance/exported {seed}"));
        let copy = ProjectId::new(format!("conformance/imported {seed}"));
        live(store, &original, seed, None).await;
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
    }
    assert!(past_reviews > 10, "{past_reviews}");
}
