//! Two worlds: one with a key that is undone, and one without it.

use super::memory_changes::{edit, set_status, update_memory};
use super::undo::{by_key, teach, undo};
use super::undo_waiting::{learn_waiting, wait};
use super::*;

on_every_store! {
    an_undone_key_leaves_the_bank_as_if_it_never_existed,
}

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

    fn pick<'a>(&mut self, names: &'a [String]) -> &'a str {
        &names[usize::try_from(self.roll(names.len() as u64)).unwrap()]
    }
}

/// What can be seen of a project's memories, and of the reviews of the owner's traces.
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
    let list = ListTraces {
        limit: Some(1_000),
        ..ListTraces::default()
    };
    let page = store.list_traces(project, &list).await.unwrap();
    let traces = page.items.into_iter();
    seen.extend(
        traces
            .filter(|trace| trace.key_id == Some("owner".into()))
            .map(|trace| {
                format!(
                    "{} {:?} {:?} {:?} {:?}",
                    trace.id,
                    trace.review_status,
                    trace.ingest_status,
                    trace.created_memory_id,
                    trace.review,
                )
            }),
    );
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
    let found = store.trace(project, &id.into()).await.unwrap();
    let choice = dice.roll(6);
    let Some(found) = found.filter(|_| choice > 2) else {
        let update = change(n, dice);
        update_memory(store, project, &format!("m-{id}"), &update, "thief").await;
        return;
    };
    match (found.review, choice) {
        (Some(_), 3) => {
            let done = withdraw_with(store, project, id, Some("thief")).await;
            assert_eq!(done, Ok(()));
        }
        (_, 4) => wait(store, project, id, "thief").await,
        _ => {
            let mut lesson = lesson(id, dice.verdict());
            lesson.review.id = format!("r-{id}-{n}");
            lesson.review.key_id = Some("thief".into());
            lesson.review.alpha = 0.9;
            lesson.memory.id = MemoryId::new(format!("m-{id}-{n}"));
            "poison".clone_into(&mut lesson.memory.reflection.summary);
            let basis = over(store, project, id).await;
            let done = learn(store, project, id, basis, lesson).await;
            assert_eq!(done, Ok(()));
        }
    }
}

/// A world with the thief, or one without it.
struct World<'a> {
    store: &'a dyn Store,
    project: &'a ProjectId,
    /// In the world without the thief: whether each act of the owner was possible in the other one.
    wanted: Option<std::vec::IntoIter<bool>>,
    /// In the world with the thief: the same.
    found: Vec<bool>,
    /// The owner's runs, and the thief's that the owner has reviewed.
    names: Vec<String>,
    /// Those that are the thief's: it can delete them.
    shared: Vec<String>,
    memories: Vec<String>,
    /// Whether traces and memories are deleted.
    deletes: bool,
}

impl World<'_> {
    fn has_thief(&self) -> bool {
        self.wanted.is_none()
    }

    /// Does what the owner does. What the thief has made impossible is left out of the other world.
    async fn owner(&mut self, act: impl Future<Output = bool>) {
        match &mut self.wanted {
            None => {
                let found = act.await;
                self.found.push(found);
            }
            Some(wanted) => {
                if wanted.next() == Some(true) {
                    assert!(act.await, "possible for the owner only beside a thief");
                }
            }
        }
    }

    /// The owner reviews a run: its own or the thief's, at once or as soon as the model is back.
    async fn review(&mut self, n: u64, choice: u64, given: &[&str], verdict: Verdict) {
        let (store, project) = (self.store, self.project);
        let name = format!("w-{n}");
        self.memories.push(format!("m-{name}"));
        let run = using(&name, given);
        match choice {
            0 => {
                let mut lesson = lesson(&name, verdict);
                lesson.review.key_id = Some("owner".into());
                let run = NewTrace {
                    key_id: Some("thief".into()),
                    ..run
                };
                insert(store, project, run, Intake::Learned(lesson)).await;
                self.shared.push(name.clone());
            }
            1 => {
                let run = NewTrace {
                    key_id: Some("owner".into()),
                    ..run
                };
                insert(store, project, run, Intake::Unreviewed).await;
                wait(store, project, &name, "owner").await;
            }
            _ => teach(store, project, run, "owner", verdict).await,
        }
        self.names.push(name);
    }

    /// The owner changes, deletes or corrects what there is.
    async fn tend(&mut self, n: u64, dice: &mut Dice) {
        let (store, project) = (self.store, self.project);
        let name = dice.pick(&self.names).to_owned();
        let memory = format!("m-{name}");
        let is_shared = self.shared.contains(&name);
        match dice.roll(8) {
            0 | 1 if !self.deletes => {}
            0 => {
                let with_memories = dice.roll(2) == 0;
                let delete = async {
                    let ids = [name.as_str()];
                    let deleted = delete_traces(store, project, &ids, with_memories, None).await;
                    deleted.unwrap().deleted == 1
                };
                self.owner(delete).await;
            }
            1 => {
                let delete = async {
                    let id = MemoryId::from(memory);
                    let deleted = store.delete_memory(project, &id, None, now()).await;
                    deleted.unwrap()
                };
                self.owner(delete).await;
            }
            // A run that the thief deletes takes a waiting review along.
            2 | 3 if !is_shared => {
                let correct = async {
                    let found = store.trace(project, &name.as_str().into()).await.unwrap();
                    // After a withdrawal it would be another review that is corrected.
                    let own = [format!("r-{name}"), format!("r-{name}-owner-waiting")];
                    let review = found.and_then(|trace| trace.review);
                    let possible = review.is_some_and(|review| own.contains(&review.id));
                    if possible {
                        wait(store, project, &name, "owner").await;
                    }
                    possible
                };
                self.owner(correct).await;
            }
            _ => {
                let update = change(n, dice);
                let edit = async {
                    let done = update_memory(store, project, &memory, &update, "owner").await;
                    done.is_some()
                };
                self.owner(edit).await;
            }
        }
    }

    /// The thief changes, withdraws and repeats reviews, changes memories, and deletes its runs.
    async fn attack(&mut self, n: u64, dice: &mut Dice) {
        let (store, project) = (self.store, self.project);
        if dice.roll(4) == 0 && !self.shared.is_empty() && self.deletes {
            let name = dice.pick(&self.shared);
            act(store, project, name, n * 10, dice).await;
            let with_memories = dice.roll(2) == 0;
            let deleted =
                delete_traces(store, project, &[name], with_memories, Some("thief")).await;
            assert!(deleted.is_ok());
            return;
        }
        let name = dice.pick(&self.names).to_owned();
        for step in 0..=dice.roll(2) {
            act(store, project, &name, n * 10 + step, dice).await;
        }
    }
}

/// The owner records and reviews runs, which are given any memories there are, reviews runs of the
/// thief's, and tends memories. The thief teaches with runs of its own, and attacks the owner's
/// reviews. Returns whether each act of the owner was possible: in a world without the thief, which
/// hides nothing, only those are done.
async fn live(
    store: &dyn Store,
    project: &ProjectId,
    seed: u64,
    without_thief: Option<Vec<bool>>,
    deletes: bool,
) -> Vec<bool> {
    let mut world = World {
        store,
        project,
        wanted: without_thief.map(Vec::into_iter),
        found: Vec::new(),
        names: Vec::new(),
        shared: Vec::new(),
        memories: Vec::new(),
        deletes,
    };
    let mut dice = Dice(seed);
    for n in 0..50 {
        let count = if world.memories.is_empty() { 0 } else { 3 };
        let given: Vec<String> = (0..count)
            .map(|_| dice.pick(&world.memories).to_owned())
            .collect();
        let given: Vec<&str> = given.iter().map(String::as_str).collect();
        let (choice, kind, verdict) = (dice.roll(6), dice.roll(5), dice.verdict());
        // The same numbers in both worlds, whatever is done with them.
        let mut own = Dice(dice.roll(u64::MAX >> 34));
        if choice < 2 || world.names.is_empty() {
            world.review(n, kind, &given, verdict).await;
        } else if choice == 5 {
            world.tend(n, &mut own).await;
        } else if choice == 2 {
            let name = format!("thief-{n}");
            world.memories.push(format!("m-{name}"));
            if world.has_thief() {
                teach(store, project, using(&name, &given), "thief", verdict).await;
                if kind == 0 && deletes {
                    let ids = [name.as_str()];
                    let deleted = delete_traces(store, project, &ids, true, Some("thief"));
                    assert_eq!(deleted.await.unwrap().deleted, 1);
                }
            }
        } else if world.has_thief() {
            world.attack(n, &mut own).await;
        }
    }
    world.found
}

/// A world with a thief in which nothing is deleted.
pub(super) async fn attacked(store: &dyn Store, project: &ProjectId, seed: u64) {
    live(store, project, seed, None, false).await;
}

async fn an_undone_key_leaves_the_bank_as_if_it_never_existed(store: &dyn Store) {
    for seed in 0..16 {
        let attacked = ProjectId::new(format!("attacked {seed}"));
        let peaceful = ProjectId::new(format!("peaceful {seed}"));
        let found = live(store, &attacked, seed, None, true).await;
        live(store, &peaceful, seed, Some(found), true).await;
        let expected = bank(store, &peaceful).await;
        assert_ne!(bank(store, &attacked).await, expected, "seed {seed}");
        undo(store, &attacked, &by_key("thief")).await;
        assert_eq!(bank(store, &attacked).await, expected, "seed {seed}");
        for project in [&attacked, &peaceful] {
            learn_waiting(store, project).await;
        }
        let expected = bank(store, &peaceful).await;
        assert_eq!(
            bank(store, &attacked).await,
            expected,
            "learned, seed {seed}"
        );
    }
}
