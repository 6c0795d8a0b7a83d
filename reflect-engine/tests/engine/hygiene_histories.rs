//! What Reflect itself sets aside, over random histories: an undo leaves what would be without the undone,
//! and a reader that starts from nothing decides as one that saw everything.

use std::time::Duration;

use proptest::prelude::*;
use reflect_engine::Engine;
use reflect_types::{
    MemoryId, MemoryStatus, MemoryUpdate, QueryMemories, ReflectionEdit, Review, TraceId, Undo,
    UpdateMemory, UpdateProject, Verdict,
};

use crate::common::{Home, eventually, project, record, run_with};

const THIEF: &str = "thief";

/// Something that the project's owner does. An index counts the owner's runs so far.
#[derive(Clone, Debug)]
enum Act {
    /// A reviewed run that was given memories.
    Run(Vec<prop::sample::Index>, bool),
    /// Runs that fail with a memory, beside as many that pass without.
    Fails(prop::sample::Index),
    Change(prop::sample::Index, bool),
    Withdraw(prop::sample::Index),
    SetStatus(prop::sample::Index, bool),
    /// Gives a memory one of three texts.
    Edit(prop::sample::Index, u8),
    Delete(prop::sample::Index),
    /// Merges a memory into another one.
    Merge(prop::sample::Index, prop::sample::Index),
    Keep(Option<u64>),
    /// A query, which decides what is set aside.
    Look,
}

fn any_act() -> impl Strategy<Value = Act> {
    let which = any::<prop::sample::Index>;
    prop_oneof![
        6 => (prop::collection::vec(which(), 0..3), any::<bool>()).prop_map(|(given, pass)| Act::Run(given, pass)),
        2 => which().prop_map(Act::Fails),
        2 => (which(), any::<bool>()).prop_map(|(of, pass)| Act::Change(of, pass)),
        1 => which().prop_map(Act::Withdraw),
        3 => (which(), any::<bool>()).prop_map(|(of, aside)| Act::SetStatus(of, aside)),
        2 => (which(), 0..3_u8).prop_map(|(of, text)| Act::Edit(of, text)),
        1 => which().prop_map(Act::Delete),
        2 => (which(), which()).prop_map(|(of, into)| Act::Merge(of, into)),
        1 => prop::option::of(1..5_u64).prop_map(Act::Keep),
        2 => Just(Act::Look),
    ]
}

/// The owner's runs and their memories.
type Runs = Vec<(TraceId, MemoryId)>;

async fn review(
    engine: &Engine,
    task: &str,
    given: &[&MemoryId],
    verdict: Verdict,
) -> (TraceId, MemoryId) {
    let id = record(engine, run_with(task, given)).await;
    let review = Review {
        // Every other task is one that something is said about.
        feedback_text: task.ends_with(['0', '2', '4']).then(|| TEXTS[0].to_owned()),
        ..Review::new(verdict)
    };
    let reviewed = engine.review_trace(&project(), &id, review).await.unwrap();
    (id, reviewed.created_memory_id.unwrap())
}

fn verdict(pass: bool) -> Verdict {
    if pass { Verdict::Pass } else { Verdict::Fail }
}

async fn look(engine: &Engine) -> Vec<(MemoryId, u64)> {
    let query = QueryMemories {
        limit: QueryMemories::MAX_LIMIT,
        ..QueryMemories::new("Refund lamp 1")
    };
    let found = engine.query_memories(&project(), &query).await.unwrap();
    let scored = found
        .into_iter()
        .map(|memory| (memory.id, memory.score.to_bits()));
    scored.collect()
}

/// Does one thing. The thief adds runs and changes statuses, but no review or setting of the owner.
async fn act(engine: &Engine, act: &Act, at: usize, by_owner: bool, runs: &mut Runs) {
    let of = |which: &prop::sample::Index| {
        let count = runs.len();
        (count > 0).then(|| runs[which.index(count)].clone())
    };
    let task = format!("Refund lamp {}", at % 5);
    match act {
        Act::Run(given, pass) => {
            let given: Vec<_> = given
                .iter()
                .filter_map(of)
                .map(|(_, memory)| memory)
                .collect();
            let given: Vec<_> = given.iter().collect();
            let new = review(engine, &task, &given, verdict(*pass)).await;
            if by_owner {
                runs.push(new);
            }
        }
        Act::Fails(which) => {
            let Some((_, memory)) = of(which) else { return };
            for n in 0..12 {
                let task = format!("Refund the lamp of order {n}");
                for (given, verdict) in [(vec![&memory], Verdict::Fail), (vec![], Verdict::Pass)] {
                    let new = review(engine, &task, &given, verdict).await;
                    if by_owner {
                        runs.push(new);
                    }
                }
            }
        }
        Act::Change(which, pass) if by_owner => {
            let Some((trace, _)) = of(which) else { return };
            let review = Review::new(verdict(*pass));
            // Refused if it is withdrawn, in every world.
            let _ = engine.change_review(&project(), &trace, review).await;
        }
        Act::Withdraw(which) if by_owner => {
            let Some((trace, _)) = of(which) else { return };
            let _ = engine.withdraw_review(&project(), &trace).await;
        }
        Act::SetStatus(which, aside) => {
            let Some((_, memory)) = of(which) else { return };
            let status = if *aside {
                MemoryStatus::Quarantined
            } else {
                MemoryStatus::Active
            };
            let update = MemoryUpdate {
                status: Some(status),
                ..MemoryUpdate::default()
            };
            let update = UpdateMemory::new(memory, update);
            let _ = engine.update_memory(&project(), &update).await;
        }
        Act::Edit(which, text) => {
            let Some((_, memory)) = of(which) else { return };
            let edit = ReflectionEdit {
                guidance: Some(TEXTS[usize::from(*text)].to_owned()),
                ..ReflectionEdit::default()
            };
            let update = MemoryUpdate {
                reflection: Some(edit),
                ..MemoryUpdate::default()
            };
            let update = UpdateMemory::new(memory, update);
            let _ = engine.update_memory(&project(), &update).await;
        }
        Act::Merge(which, into) => {
            // Into the younger one: a circle is refused, and may be one through what the thief has merged.
            let count = runs.len();
            if count == 0 {
                return;
            }
            let (one, other) = (which.index(count), into.index(count));
            let (memory, into) = (&runs[one.min(other)].1, runs[one.max(other)].1.clone());
            let update = MemoryUpdate {
                merge_into: Some(into),
                ..MemoryUpdate::default()
            };
            let update = UpdateMemory::new(memory.clone(), update);
            let _ = engine.update_memory(&project(), &update).await;
        }
        Act::Delete(which) if by_owner => {
            let Some((_, memory)) = of(which) else { return };
            let _ = engine.delete_memory(&project(), &memory).await;
        }
        Act::Keep(most) if by_owner => {
            let update = UpdateProject {
                max_memories: Some(*most),
                ..UpdateProject::default()
            };
            let _ = engine.update_project(&project(), &update).await;
        }
        Act::Look => {
            look(engine).await;
        }
        Act::Change(..) | Act::Withdraw(_) | Act::Delete(_) | Act::Keep(_) => {}
    }
}

/// A memory by the number of its run: status, whether Reflect itself has set it, utility, uses, and whether
/// its run passed. The reason names the runs of its time.
type Shown = Option<(MemoryStatus, bool, u64, u64, bool)>;

/// What memories say.
const TEXTS: [&str; 3] = [
    "Refunded the lamp without the receipt",
    "Asked for the receipt of the lamp before the refund",
    "Exchanged the lamp, as it was bought on sale",
];

/// What can be seen of the owner's memories: each, and the answer to a query by number and score.
#[derive(Debug, PartialEq)]
struct Seen {
    memories: Vec<Shown>,
    /// The memories that stand for merged ones, each by number.
    merged: Vec<(usize, Option<usize>)>,
    answer: Vec<(Option<usize>, u64)>,
}

async fn seen(engine: &Engine, runs: &Runs) -> Seen {
    let number = |id: MemoryId| runs.iter().position(|(_, memory)| *memory == id);
    let answer = look(engine).await.into_iter();
    let answer = answer.map(|(id, score)| (number(id), score)).collect();
    let (mut memories, mut merged) = (Vec::new(), Vec::new());
    for (at, (_, id)) in runs.iter().enumerate() {
        let found = engine.get_memory(&project(), id).await.ok();
        memories.push(found.map(|history| {
            let memory = history.memory;
            if let Some(into) = memory.merged_into {
                merged.push((at, number(into)));
            }
            let (is_aside, q) = (memory.aside.is_some(), memory.q_value.to_bits());
            (memory.status, is_aside, q, memory.uses, memory.success)
        }));
    }
    Seen {
        memories,
        merged,
        answer,
    }
}

/// What is left of a history, with or without the thief, who is undone at its end.
async fn live(acts: &[(Act, bool)], with_thief: bool) -> Seen {
    let home = Home::in_memory();
    let engine = home.engine();
    engine.create_project(&project()).await.unwrap();
    let thief = engine.acting_for(THIEF.into());
    let owner = engine.acting_for("owner".into());
    let mut runs = Runs::new();
    for (at, (one, by_owner)) in acts.iter().enumerate() {
        home.clock.advance(Duration::from_secs(1));
        if *by_owner {
            act(&owner, one, at, true, &mut runs).await;
        } else if with_thief {
            act(&thief, one, at, false, &mut runs).await;
        }
    }
    let undo = Undo {
        key_id: Some(THIEF.into()),
        ..Undo::default()
    };
    engine.undo(&project(), &undo).await.unwrap();
    let rebuilt = seen(&home.beside().engine(), &runs).await;
    // An engine that computes all runs again may rest before it does.
    eventually(async || (seen(&engine, &runs).await == rebuilt).then_some(())).await;
    rebuilt
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn an_undone_key_leaves_what_would_be_set_aside_without_it(
        acts in prop::collection::vec((any_act(), prop::bool::weighted(0.7)), 1..25),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let with = live(&acts, true).await;
            prop_assert_eq!(with, live(&acts, false).await);
            Ok(())
        })?;
    }
}
