//! Changed and withdrawn reviews leave the same state as a history without the detour.

use proptest::prelude::*;
use reflect_engine::Engine;
use reflect_types::{MemoryId, Review, TraceId, Verdict};

use crate::common::{Home, project, record, run_with};

/// A run: the earlier runs whose memories it was given, and its verdict.
#[derive(Clone, Debug)]
struct Run {
    given: Vec<prop::sample::Index>,
    pass: bool,
    alpha: f64,
}

/// A later change of a review.
#[derive(Clone, Debug)]
enum Revision {
    Change(prop::sample::Index, bool, f64),
    Withdraw(prop::sample::Index),
}

fn any_run() -> impl Strategy<Value = Run> {
    let given = prop::collection::vec(any::<prop::sample::Index>(), 0..4);
    (given, any::<bool>(), 0.0..=1.0).prop_map(|(given, pass, alpha)| Run { given, pass, alpha })
}

fn any_revision() -> impl Strategy<Value = Revision> {
    let change = (any::<prop::sample::Index>(), any::<bool>(), 0.0..=1.0);
    prop_oneof![
        3 => change.prop_map(|(of, pass, alpha)| Revision::Change(of, pass, alpha)),
        2 => any::<prop::sample::Index>().prop_map(Revision::Withdraw),
    ]
}

/// The final verdict of a run; `None` where its review was withdrawn.
type Judgement = Option<(bool, f64)>;

/// The state a run leaves: its memory's utility, uses, success and events, and what it ignores.
#[derive(Debug, PartialEq)]
struct RunState {
    memory: Option<(u64, u64, bool)>,
    moves: Vec<(u64, u64)>,
    ignored: Vec<usize>,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn a_revised_history_equals_one_that_was_so_from_the_start(
        runs in prop::collection::vec(any_run(), 1..8),
        revisions in prop::collection::vec(any_revision(), 0..6),
        on_sqlite in prop::bool::weighted(0.2),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let home = || if on_sqlite { Home::on_sqlite() } else { Home::in_memory() };
            let mut ends: Vec<Judgement> = runs.iter().map(|run| Some((run.pass, run.alpha))).collect();
            for revision in &revisions {
                match revision {
                    Revision::Change(of, pass, alpha) => {
                        let end = &mut ends[of.index(runs.len())];
                        // A withdrawn review cannot be changed.
                        *end = end.map(|_| (*pass, *alpha));
                    }
                    Revision::Withdraw(of) => ends[of.index(runs.len())] = None,
                }
            }
            let from_the_start = live(&home(), &runs, &ends, &[]).await;
            let first: Vec<Judgement> = runs.iter().map(|run| Some((run.pass, run.alpha))).collect();
            let revised = live(&home(), &runs, &first, &revisions).await;
            prop_assert_eq!(revised, from_the_start);
            Ok(())
        })?;
    }
}

async fn live(
    home: &Home,
    runs: &[Run],
    ends: &[Judgement],
    revisions: &[Revision],
) -> Vec<RunState> {
    let engine = home.engine();
    let (mut traces, mut memories) = (Vec::new(), Vec::new());
    for (n, run) in runs.iter().enumerate() {
        let given: Vec<&MemoryId> = match n {
            0 => Vec::new(),
            _ => run.given.iter().map(|of| &memories[of.index(n)]).collect(),
        };
        let id = record(&engine, run_with(&format!("Pay bill {n}"), &given)).await;
        let memory = match ends[n] {
            Some((pass, alpha)) => {
                let trace = engine
                    .review_trace(&project(), &id, review(pass, alpha))
                    .await;
                trace.unwrap().created_memory_id.unwrap()
            }
            // A run without a review has no memory.
            None => MemoryId::from(format!("never {n}")),
        };
        traces.push(id);
        memories.push(memory);
    }
    for revision in revisions {
        revise(&engine, &traces, revision).await;
    }
    let mut left = Vec::new();
    for (id, memory) in traces.iter().zip(&memories) {
        left.push(look(&engine, id, memory, &memories).await);
    }
    engine.shutdown().await.unwrap();
    left
}

async fn revise(engine: &Engine, traces: &[TraceId], revision: &Revision) {
    let (of, change) = match revision {
        Revision::Change(of, pass, alpha) => (of, Some(review(*pass, *alpha))),
        Revision::Withdraw(of) => (of, None),
    };
    let id = &traces[of.index(traces.len())];
    let judged = engine
        .get_trace(&project(), id)
        .await
        .unwrap()
        .review
        .is_some();
    let outcome = match change {
        Some(review) => engine.change_review(&project(), id, review).await,
        None => engine.withdraw_review(&project(), id).await,
    };
    assert_eq!(outcome.is_ok(), judged);
}

async fn look(engine: &Engine, id: &TraceId, memory: &MemoryId, all: &[MemoryId]) -> RunState {
    let trace = engine.get_trace(&project(), id).await.unwrap();
    assert_eq!(trace.review.is_some(), trace.created_memory_id.is_some());
    let mut ignored: Vec<usize> = trace
        .ignored_memory_ids
        .iter()
        .map(|id| all.iter().position(|memory| memory == id).unwrap())
        .collect();
    ignored.sort_unstable();
    let history = engine.get_memory(&project(), memory).await.ok();
    RunState {
        moves: history
            .iter()
            .flat_map(|history| &history.events)
            .map(|event| (event.before.to_bits(), event.after.to_bits()))
            .collect(),
        memory: history.map(|history| {
            let memory = history.memory;
            (memory.q_value.to_bits(), memory.uses, memory.success)
        }),
        ignored,
    }
}

fn review(pass: bool, alpha: f64) -> Review {
    Review::new(Verdict::from(pass)).alpha(alpha)
}
