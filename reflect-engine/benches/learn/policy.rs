//! How the memories of a run are chosen.

use std::collections::HashMap;

use reflect_engine::Engine;
use reflect_types::{
    AuthoredReflection, CreateTrace, MemoryId, Message, ProjectId, QueryMemories, Ranking, Review,
    Verdict,
};

use crate::choice::{LIMIT, best};
use crate::informed::Informed;
use crate::world::{Memory, World};

/// The similarity below which the policies of this file give no memory.
const GATE: f64 = 0.2;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// No memories.
    None,
    /// The most similar ones.
    Similarity,
    /// The engine's classic ranking.
    Classic,
    /// `MemRL`: of the 20 most similar, the best by z-scored similarity and moving average.
    MemRl,
    /// The engine's learned ranking.
    Learned,
    /// Bayesian inference with the parameters of the world.
    Informed,
    /// The ones that help most, and only such.
    Oracle,
}

impl Kind {
    pub(crate) const ALL: [Self; 7] = [
        Self::None,
        Self::Similarity,
        Self::Classic,
        Self::MemRl,
        Self::Learned,
        Self::Informed,
        Self::Oracle,
    ];
    /// What the others are compared with.
    pub(crate) const BASELINE: Self = Self::MemRl;

    /// Whether it is simulated with this seed. Those that the goal does not ask for, and that take long, are with
    /// every fourth one.
    pub(crate) fn lives(self, seed: u64) -> bool {
        !matches!(self, Self::Classic | Self::Informed) || seed.is_multiple_of(4)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "no memories",
            Self::Similarity => "similarity only",
            Self::Classic => "classic",
            Self::MemRl => "MemRL's rule",
            Self::Learned => "learned (default)",
            Self::Informed => "known world",
            Self::Oracle => "best possible",
        }
    }
}

/// A policy with what it has learned.
pub(crate) enum Policy {
    Plain(Kind, Vec<f64>),
    Engine(Box<Bank>),
    Informed(Informed),
}

/// A bank of memories in an engine.
pub(crate) struct Bank {
    engine: Engine,
    project: ProjectId,
    ranking: Ranking,
    places: HashMap<MemoryId, usize>,
    ids: Vec<MemoryId>,
}

impl Policy {
    pub(crate) fn start(kind: Kind) -> Self {
        let ranking = match kind {
            Kind::Classic => Ranking::Classic,
            Kind::Learned => Ranking::Learned,
            Kind::Informed => return Self::Informed(Informed::default()),
            plain => return Self::Plain(plain, Vec::new()),
        };
        let engine = Engine::builder().start().expect("an engine");
        Self::Engine(Box::new(Bank {
            engine,
            project: ProjectId::default(),
            ranking,
            places: HashMap::new(),
            ids: Vec::new(),
        }))
    }

    /// The memories to give to a run.
    pub(crate) async fn choose(
        &mut self,
        world: &World<'_>,
        memories: &[Memory],
        task: usize,
    ) -> Vec<usize> {
        let similarity = |memory: &Memory| world.similarity(memory.task, task);
        match self {
            Self::Engine(bank) => bank.choose(world.text(task)).await,
            Self::Informed(informed) => informed.choose(world, task),
            Self::Plain(Kind::Similarity, _) => best(memories.iter().map(similarity), GATE),
            Self::Plain(Kind::Oracle, _) => {
                let effects = memories.iter().map(|memory| world.effect(*memory, task));
                best(effects, f64::MIN_POSITIVE)
            }
            Self::Plain(Kind::MemRl, q) => {
                let similarities: Vec<_> = memories.iter().map(similarity).collect();
                mem_rl(&similarities, q)
            }
            Self::Plain(..) => Vec::new(),
        }
    }

    /// Learns from the review of a run, whose memory is the next one.
    pub(crate) async fn learn(
        &mut self,
        world: &World<'_>,
        task: usize,
        given: &[usize],
        passed: bool,
    ) {
        match self {
            Self::Engine(bank) => bank.learn(world.text(task), given, passed).await,
            Self::Informed(informed) => informed.learn(world, task, given, passed),
            Self::Plain(_, q) => {
                for memory in given {
                    q[*memory] +=
                        Review::DEFAULT_ALPHA * (f64::from(u8::from(passed)) - q[*memory]);
                }
                q.push(reflect_types::Memory::INITIAL_Q_VALUE);
            }
        }
    }
}

impl Bank {
    async fn choose(&self, task: &str) -> Vec<usize> {
        let query = QueryMemories {
            limit: u32::try_from(LIMIT).expect("a small number"),
            ranking: Some(self.ranking.clone()),
            ..QueryMemories::new(task)
        };
        let found = self.engine.query_memories(&self.project, &query).await;
        let found = found.expect("an answer");
        found.iter().map(|memory| self.places[&memory.id]).collect()
    }

    async fn learn(&mut self, task: &str, given: &[usize], passed: bool) {
        let given = given.iter().map(|memory| self.ids[*memory].clone());
        let review = Review {
            // The engine writes none, so that its writer's work is not measured. Each memory has an effect of its
            // own here, so it says something of its own: those that say the same would be merged.
            reflection: Some(AuthoredReflection {
                summary: "done".to_owned(),
                guidance: format!("lesson {}", self.ids.len()),
                ..AuthoredReflection::default()
            }),
            ..Review::new(Verdict::from(passed))
        };
        let trace = CreateTrace {
            retrieved_memory_ids: given.collect(),
            review: Some(review),
            ..CreateTrace::new(task, vec![Message::assistant("done")])
        };
        let receipt = self.engine.create_trace(&self.project, trace).await;
        let id = receipt.expect("a trace").trace_id;
        let trace = self.engine.get_trace(&self.project, &id).await;
        let memory = trace.expect("a trace").created_memory_id.expect("a memory");
        self.places.insert(memory.clone(), self.ids.len());
        self.ids.push(memory);
    }
}

fn mem_rl(similarities: &[f64], q: &[f64]) -> Vec<usize> {
    let mut near: Vec<usize> = (0..q.len()).filter(|m| similarities[*m] >= GATE).collect();
    near.sort_by(|a, b| similarities[*b].total_cmp(&similarities[*a]).then(a.cmp(b)));
    near.truncate(20);
    let of = |values: &[f64]| z_scores(near.iter().map(|memory| values[*memory]).collect());
    let scores = of(similarities).into_iter().zip(of(q)).map(|(s, q)| s + q);
    let chosen = best(scores, f64::MIN);
    chosen.into_iter().map(|place| near[place]).collect()
}

fn z_scores(values: Vec<f64>) -> Vec<f64> {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
    let deviation = variance.sqrt().max(1e-9);
    values.into_iter().map(|x| (x - mean) / deviation).collect()
}
