//! A trace's history without the selected reviews, and what that means for memories and events.

use std::collections::{HashMap, HashSet};

use reflect_types::{MemoryId, ModelVerdict, TraceId};

use super::action::model_verdict;
use super::context::{RecordedEvent, RowKey};
use super::moves::Fate;
use super::selection::Selection;
use super::taught::{
    GivenReview, LearnedContent, PastReview, PastState, ReviewHistory, TaughtEvent, TaughtMemory,
};
use super::teacher::Teacher;
use crate::learn::Move;

/// A change of a trace's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceChange {
    /// The trace.
    pub trace: RowKey,
    /// Whether the trace is deleted: only its history changes.
    pub deleted: bool,
    /// What becomes of its review. Written before the past states are deleted.
    pub outcome: Outcome,
    /// What becomes of its memory.
    pub memory: MemoryLink,
    /// What becomes of the verdict of a model whose review was withdrawn; `None` changes nothing.
    pub withdrawn_verdict: Option<WithdrawnVerdict>,
    /// The past states to delete.
    pub forget: Vec<RowKey>,
}

/// What becomes of a trace's review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It stays as it is.
    Stays,
    /// The trace waits for a person's review. A judge does not review it again.
    Unreviewed,
    /// This past state, whose memory was learned, is the review again, and no longer a past one.
    Restored(RowKey),
    /// This past state is the review again, and its memory has to be written.
    Requeued(RowKey),
}

/// What becomes of the memory that a trace names as learned from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryLink {
    /// It stays.
    Keep,
    /// The trace names this memory, and counts as reviewed.
    Set(MemoryId),
    /// The trace names none, and does not count as reviewed.
    Clear,
}

/// The verdict of a model whose review was withdrawn, if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithdrawnVerdict(pub Option<ModelVerdict>);

/// What the changed histories mean for memories and events.
#[derive(Default)]
pub(super) struct Effects {
    /// The reviews of all histories.
    known: HashSet<String>,
    /// The traces of all histories.
    traces: HashSet<TraceId>,
    /// Reviews that never were, or from which nothing was learned.
    erased: HashSet<String>,
    /// Reviews that are what they were before.
    revised: HashMap<String, (Move, Teacher)>,
    /// Memories that were never learned.
    unlearned: HashSet<MemoryId>,
    /// Memories that get the content of a past state.
    pub(super) contents: HashMap<MemoryId, LearnedContent>,
    /// Selected events of reviews without a history, such as those of traces that an older version
    /// deleted.
    pub(super) orphans: HashSet<RowKey>,
}

/// A state of a history: a past one, or the current review, which has no key.
#[derive(Clone, Copy)]
struct State<'a> {
    key: Option<RowKey>,
    given: &'a GivenReview,
    past: Option<&'a PastState>,
}

impl State<'_> {
    fn review(&self) -> Option<&PastReview> {
        self.given.review.as_ref()
    }

    fn memory(&self) -> Option<&MemoryId> {
        self.review()?.memory.as_ref()
    }
}

impl Effects {
    /// Takes the selected states out of a history. `None` if there are none.
    pub(super) fn take_back(
        &mut self,
        history: &ReviewHistory,
        selection: &Selection,
    ) -> Option<TraceChange> {
        let trace_id = &history.trace_id;
        let covered =
            |state: &State<'_>| selection.covers(trace_id, &state.given.teacher, state.given.at);
        let states = states(history);
        let reviews = states.iter().filter_map(State::review);
        self.known.extend(reviews.map(|review| review.id.clone()));
        self.traces.insert(trace_id.clone());

        let (gone, kept): (Vec<_>, Vec<_>) = states.iter().copied().partition(covered);
        if gone.is_empty() {
            return None;
        }
        self.forget(&gone, &kept);
        let (before, after) = (effective(&states), effective(&kept));
        let is_moved = before.map(|state| state.key) != after.map(|state| state.key);
        if let Some(state) = after.filter(|_| is_moved) {
            self.put_back(&state);
        }
        let last = kept.last();
        let stays = last.map(|state| state.key) == states.last().map(|state| state.key);
        let outcome = match last.and_then(|state| state.key.zip(state.review())) {
            _ if stays => Outcome::Stays,
            None => Outcome::Unreviewed,
            Some((key, review)) if review.memory.is_some() => Outcome::Restored(key),
            Some((key, _)) => Outcome::Requeued(key),
        };
        let memory = match after.as_ref().and_then(State::memory) {
            _ if stays && !is_moved => MemoryLink::Keep,
            Some(memory) => MemoryLink::Set(memory.clone()),
            None => MemoryLink::Clear,
        };
        let verdict = withdrawn_verdict(&kept);
        let is_same_verdict = verdict == withdrawn_verdict(&states);
        Some(TraceChange {
            trace: history.trace,
            deleted: history.deleted,
            outcome,
            memory,
            withdrawn_verdict: (!is_same_verdict).then_some(WithdrawnVerdict(verdict)),
            forget: gone.iter().filter_map(|state| state.key).collect(),
        })
    }

    /// Some states never were.
    fn forget(&mut self, gone: &[State<'_>], kept: &[State<'_>]) {
        let learned = || {
            let learned = |state: &&State<'_>| state.memory().is_some();
            kept.iter().filter(learned).filter_map(State::review)
        };
        for review in gone.iter().filter_map(State::review) {
            if learned().all(|other| other.id != review.id) {
                self.erased.insert(review.id.clone());
            }
            if let Some(memory) = &review.memory
                && learned().all(|other| other.memory.as_ref() != Some(memory))
            {
                self.unlearned.insert(memory.clone());
            }
        }
    }

    /// The memory and the moves of a past state count again.
    fn put_back(&mut self, state: &State<'_>) {
        let Some(review) = state.review() else { return };
        let teacher = &state.given.teacher;
        let learned = state.past.and_then(|past| past.learned.clone());
        if let Some((memory, learned)) = review.memory.clone().zip(learned) {
            let content = LearnedContent {
                learned,
                verdict: review.verdict,
                alpha: review.alpha,
                teacher: teacher.clone(),
            };
            self.contents.insert(memory, content);
        }
        if let Some(change) = Move::of(review.verdict, review.alpha) {
            let taught = (change, teacher.clone());
            self.revised.insert(review.id.clone(), taught);
        }
    }

    pub(super) fn removes(&self, memory: &TaughtMemory, selection: &Selection) -> bool {
        let orphan = !self.traces.contains(&memory.trace_id);
        self.unlearned.contains(&memory.id)
            || (orphan && selection.covers(&memory.trace_id, &memory.teacher, memory.at))
    }

    pub(super) fn is_orphan(&self, taught: &TaughtEvent, selection: &Selection) -> bool {
        let TaughtEvent { trace_id, event } = taught;
        !self.known.contains(&event.review_id)
            && selection.covers(trace_id, &event.teacher, event.at)
    }

    pub(super) fn fate(&self, event: &RecordedEvent) -> Option<Fate> {
        if self.orphans.contains(&event.key) || self.erased.contains(&event.review_id) {
            return Some(Fate::Remove);
        }
        let (change, teacher) = self.revised.get(&event.review_id)?;
        Some(Fate::Become(*change, teacher.clone()))
    }
}

fn states(history: &ReviewHistory) -> Vec<State<'_>> {
    let past = history.past.iter().map(|past| State {
        key: Some(past.key),
        given: &past.given,
        past: Some(past),
    });
    let current = history.current.iter().map(|given| State {
        key: None,
        given,
        past: None,
    });
    past.chain(current).collect()
}

/// The state whose memory and moves count at the end of these states. It may be an earlier one than
/// the last, whose memory is not written yet; both have one review id, because the last replaces it.
fn effective<'a>(states: &[State<'a>]) -> Option<State<'a>> {
    let id = &states.last()?.review()?.id;
    let replaced = |state: &&State<'a>| state.review().is_some_and(|review| review.id == *id);
    let mut standing = states.iter().rev().take_while(replaced);
    standing.find(|state| state.memory().is_some()).copied()
}

/// The verdict of a model that the withdrawals among these states have left.
fn withdrawn_verdict(states: &[State<'_>]) -> Option<ModelVerdict> {
    let (mut left, mut standing) = (None, None);
    for state in states {
        let reviewer = &state.given.teacher.reviewer;
        standing = if let Some(review) = state.review() {
            model_verdict(reviewer, review.verdict, review.overruled.clone())
        } else {
            left = standing.or(left);
            None
        };
    }
    left
}
