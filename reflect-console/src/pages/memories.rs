use askama::Template;
use jiff::Timestamp;
use reflect_types::{
    Dropped, Evidence, ExplainedMemory, Explanation, MemoryHistory, MemoryRecord, Page,
    QueryMemories, Ranking,
};

use super::FirstTrace;
use crate::card::MemoryCard;
use crate::frame::Frame;
use crate::path::query;
use crate::text::{grouped, percent};
use crate::time::When;

/// The memories that a search shows beside its answer.
const MAX_OTHERS: usize = 12;
/// The length of a search's answer.
const ANSWER: u32 = 8;

/// The search and the filters, as the address has them.
#[derive(Clone, Debug)]
pub struct MemorySearch {
    /// The task to search for; blank lists all memories.
    pub q: String,
    /// `learned` or `classic`.
    pub ranking: String,
    /// The weight of utility in the classic ranking.
    pub lambda: f64,
    /// The lowest similarity.
    pub floor: f64,
    /// The lowest similarity of a query that sets none.
    pub usual_floor: f64,
    /// The weight of variety, from 0 to 1.
    pub variety: f64,
    /// `quarantined` for memories that were set aside.
    pub status: String,
    /// The last memory of the previous page.
    pub before: String,
}

impl MemorySearch {
    /// The query that this search describes, if there is a task.
    pub fn query(&self) -> Option<QueryMemories> {
        if self.q.trim().is_empty() {
            return None;
        }
        let share = |value: f64| {
            if value.is_finite() {
                value.clamp(0.0, 1.0)
            } else {
                0.0
            }
        };
        // As the form has it.
        let shown = |value: f64| format!("{:.2}", share(value));
        let mut mmr_lambda = 1.0 - share(self.variety);
        // The default stands for the ranking's own choice, which is no variety if it is learned.
        if (mmr_lambda - QueryMemories::DEFAULT_MMR_LAMBDA).abs() < 1e-9 {
            mmr_lambda += 1e-6;
        }
        Some(QueryMemories {
            limit: ANSWER,
            ranking: Some(match self.ranking.as_str() {
                "classic" => Ranking::Classic,
                _ => Ranking::Learned,
            }),
            lambda: share(self.lambda),
            mmr_lambda,
            similarity_threshold: Some(share(self.floor))
                .filter(|_| shown(self.floor) != shown(self.usual_floor)),
            ..QueryMemories::new(self.q.trim())
        })
    }
}

/// The memories: newest first, or as an agent with a task would be shown them.
#[derive(Debug, Template)]
#[template(path = "memories.html")]
pub struct MemoriesPage {
    frame: Frame,
    search: MemorySearch,
    floor: String,
    lambda: String,
    variety: String,
    found: Option<Found>,
    cards: Vec<(MemoryCard, When)>,
    next: Option<String>,
    first: FirstTrace,
}

/// What a search has found.
#[derive(Debug)]
struct Found {
    considered: String,
    took: String,
    shown: usize,
    ranked: Vec<Hit>,
    others: Vec<Hit>,
}

#[derive(Debug)]
struct Hit {
    rank: String,
    card: MemoryCard,
    score: String,
    similarity: String,
    /// Why it has its place, or none.
    why: String,
    /// What its runs say.
    evidence: String,
}

impl MemoriesPage {
    /// The list of all memories.
    pub fn list(
        frame: Frame,
        search: MemorySearch,
        page: &Page<MemoryHistory>,
        first: FirstTrace,
        now: Timestamp,
    ) -> Self {
        let next = page.cursor().map(|last| {
            let before = last.memory.id.as_str();
            let parameters = [("status", search.status.as_str()), ("before", before)];
            format!("{}{}", frame.to("memories"), query(&parameters))
        });
        let cards = page.iter().map(|history| {
            let memory = &history.memory;
            (
                MemoryCard::of_history(&frame, history),
                When::at(&memory.created_at, now),
            )
        });
        let cards = cards.collect();
        Self::new(frame, search, None, cards, next, first)
    }

    /// The answer to a search, with what was left out. `records` has the memories that are shown.
    pub fn found(
        frame: Frame,
        search: MemorySearch,
        explanation: &Explanation,
        records: &[MemoryRecord],
        took: std::time::Duration,
        first: FirstTrace,
    ) -> Self {
        let hits = shown(explanation).filter_map(|memory| {
            let record = records.iter().find(|record| record.id == memory.id)?;
            Some((
                memory.rank.is_some(),
                Hit::new(&frame, memory, record, explanation, search.lambda),
            ))
        });
        let (ranked, others): (Vec<_>, Vec<_>) = hits.partition(|(is_ranked, _)| *is_ranked);
        let found = Found {
            considered: grouped(explanation.considered as u64),
            took: format!("{:.1} ms", took.as_secs_f64() * 1e3),
            shown: ranked.len(),
            ranked: ranked.into_iter().map(|(_, hit)| hit).collect(),
            others: others.into_iter().map(|(_, hit)| hit).collect(),
        };
        Self::new(frame, search, Some(found), Vec::new(), None, first)
    }

    fn new(
        frame: Frame,
        search: MemorySearch,
        found: Option<Found>,
        cards: Vec<(MemoryCard, When)>,
        next: Option<String>,
        first: FirstTrace,
    ) -> Self {
        Self {
            floor: format!("{:.2}", search.floor),
            lambda: format!("{:.2}", search.lambda),
            variety: format!("{:.2}", search.variety),
            frame: frame.on("memories"),
            search,
            found,
            cards,
            next,
            first,
        }
    }

    /// The address, the label and whether it is shown, of each kind of memories.
    fn kinds(&self) -> Vec<(String, &'static str, bool)> {
        KINDS
            .iter()
            .map(|(status, label)| {
                let query = query(&[("status", status)]);
                let address = format!("{}{query}", self.frame.to("memories"));
                (address, *label, self.search.status == *status)
            })
            .collect()
    }

    fn is_new(&self) -> bool {
        self.found.is_none()
            && self.cards.is_empty()
            && self.search.status.is_empty()
            && self.search.before.is_empty()
    }
}

/// The status in the address and the label of each kind of memories.
const KINDS: [(&str, &str); 5] = [
    ("", "All"),
    ("staged", "To approve"),
    ("quarantined", "Set aside"),
    ("merged", "Merged"),
    ("archived", "Archived"),
];

/// The memories of an explanation that a page shows: the answer, and the best of the others.
pub fn shown(explanation: &Explanation) -> impl Iterator<Item = &ExplainedMemory> {
    let ranked = explanation
        .memories
        .iter()
        .filter(|memory| memory.rank.is_some());
    let others = explanation
        .memories
        .iter()
        .filter(|memory| memory.rank.is_none());
    ranked.chain(others.take(MAX_OTHERS))
}

impl Hit {
    fn new(
        frame: &Frame,
        memory: &ExplainedMemory,
        record: &MemoryRecord,
        explanation: &Explanation,
        lambda: f64,
    ) -> Self {
        Self {
            rank: memory
                .rank
                .map_or_else(|| "–".to_owned(), |rank| rank.to_string()),
            card: MemoryCard::new(frame, record),
            score: format!("{:.2}", memory.score),
            similarity: format!("{:.2}", memory.similarity),
            why: why(memory, explanation, lambda),
            evidence: evidence(memory),
        }
    }
}

/// The score in words, or why the memory is left out.
fn why(memory: &ExplainedMemory, explanation: &Explanation, lambda: f64) -> String {
    match memory.dropped {
        Some(Dropped::Floor) => format!(
            "left out: its similarity of {:.2} is below the floor of {:.2}",
            memory.similarity, explanation.floor
        ),
        Some(Dropped::Harm) => {
            "left out: reviews say that it does more harm than good here".to_owned()
        }
        Some(Dropped::Variety) => "left out: too similar to a better one".to_owned(),
        Some(Dropped::Limit | Dropped::Pool) if is_above_an_answer(memory, explanation) => {
            format!("left out for variety: {}", score(memory, lambda))
        }
        Some(Dropped::Limit | Dropped::Pool) => {
            format!("left out, others rank higher: {}", score(memory, lambda))
        }
        Some(Dropped::Incomparable) => "left out: it has no comparable vector".to_owned(),
        Some(Dropped::Metadata) => "left out: its metadata does not match".to_owned(),
        Some(_) => "left out".to_owned(),
        None if is_below_its_score(memory, explanation) => format!(
            "{}; further down than its score, for variety",
            score(memory, lambda)
        ),
        None => score(memory, lambda),
    }
}

/// What the score is made of.
fn score(memory: &ExplainedMemory, lambda: f64) -> String {
    let similarity = memory.similarity;
    match &memory.evidence {
        Some(evidence) => format!(
            "similarity {similarity:.2}; it helps with tasks like its own ({}), with any task ({}), or hurts ({})",
            percent(evidence.helps_if_similar),
            percent(evidence.helps),
            percent(evidence.hurts)
        ),
        None => format!(
            "{:.2} × similarity {similarity:.2} + {lambda:.2} × utility {:.2}",
            1.0 - lambda,
            memory.q_value
        ),
    }
}

/// Whether a memory with a lower score is in the answer.
fn is_above_an_answer(memory: &ExplainedMemory, explanation: &Explanation) -> bool {
    let mut answers = explanation
        .memories
        .iter()
        .filter(|other| other.rank.is_some());
    answers.any(|other| other.score < memory.score)
}

/// Whether a memory with a lower score is before this one in the answer.
fn is_below_its_score(memory: &ExplainedMemory, explanation: &Explanation) -> bool {
    let mut before = explanation.memories.iter().filter(|other| {
        other
            .rank
            .zip(memory.rank)
            .is_some_and(|(other, own)| other < own)
    });
    before.any(|other| other.score < memory.score)
}

/// Such as `given to 84 runs, 51 passed; of 9 like this one, 8 passed`.
fn evidence(memory: &ExplainedMemory) -> String {
    let overall = match memory.evidence {
        None if memory.similar_runs == 0 => {
            return "what its runs say is no part of this ranking".to_owned();
        }
        None => {
            let (runs, passed) = (memory.similar_runs, memory.similar_passed);
            return format!("of {runs} runs like this one, {passed} passed");
        }
        Some(Evidence { runs: 0, .. }) => return "never tested".to_owned(),
        Some(evidence) => match evidence.runs {
            1 => format!("given to 1 run, {} passed", evidence.passed),
            runs => format!("given to {runs} runs, {} passed", evidence.passed),
        },
    };
    match memory.similar_runs {
        0 => format!("{overall}; none like this one"),
        runs => format!(
            "{overall}; of {runs} like this one, {} passed",
            memory.similar_passed
        ),
    }
}
