//! The suite that every store passes. It knows the port and nothing else.

mod changes;
mod jobs;
mod memories;
mod projects;
mod reviews;
mod support;
mod together;
mod traces;

use jiff::{SignedDuration, Timestamp};
use reflect_types::{
    AuthoredReflection, IngestStatus, ListTraces, MemoryId, Message, Metadata, ProjectId,
    ReviewMode, ReviewStatus, Skill, ToolCall, TraceId, Verdict,
};
use serde_json::json;

use super::{
    Applied, Basis, Change, Changes, Intake, Lease, Lesson, NewMemory, NewReview, NewTrace, Next,
    Retried, Revision, Said, Setback, Store, Withdrawn,
};
use crate::error::Error;
use crate::learn;
use crate::model::Reflection;
use crate::record::ListMemories;
use support::*;

const EMBEDDER: &str = "test-space";

/// Runs everything, each part in projects of its own. Panics where the store departs from the port.
///
/// The store has to be empty, and nobody else may claim its jobs.
#[allow(clippy::missing_panics_doc, reason = "it is a test")]
pub async fn all(store: &dyn Store) {
    traces::a_trace_comes_back_as_it_went(store).await;
    traces::an_idempotency_key_stores_once(store).await;
    traces::traces_are_listed_newest_first_in_pages(store).await;
    traces::a_project_sees_nothing_of_another(store).await;
    projects::a_project_is_made_only_by_whoever_may(store).await;
    projects::nothing_is_listed_after_what_is_not_there(store).await;
    reviews::a_review_makes_a_memory_and_moves_what_was_given(store).await;
    reviews::what_was_learned_at_once_is_there_at_once(store).await;
    reviews::a_fresh_review_is_refused_where_there_is_one(store).await;
    reviews::a_review_that_taught_nothing_is_kept_and_can_be_retried(store).await;
    reviews::a_review_that_has_to_wait_takes_the_place_of_another_in_the_end(store).await;
    reviews::a_review_that_is_told_as_failed_is_tried_again_all_the_same(store).await;
    reviews::a_review_takes_the_place_of_one_that_is_worked_on(store).await;
    reviews::an_attempt_that_was_overtaken_comes_to_nothing(store).await;
    reviews::a_changed_review_replays_what_it_moved(store).await;
    reviews::a_withdrawn_review_leaves_no_move_and_no_memory(store).await;
    reviews::a_queued_review_can_be_withdrawn(store).await;
    reviews::what_a_model_said_stays_noted_when_its_review_goes(store).await;
    jobs::a_job_is_held_by_one_owner_at_a_time(store).await;
    jobs::a_job_that_failed_comes_back_or_is_given_up(store).await;
    jobs::a_released_job_was_never_claimed(store).await;
    traces::deleted_traces_leave_their_memories_or_take_them(store).await;
    changes::changes_tell_what_an_index_has_to_know(store).await;
    changes::changes_come_in_pages_that_miss_nothing(store).await;
    changes::a_project_made_again_is_told_from_the_one_before(store).await;
    changes::vectors_of_another_embedder_are_found_and_replaced(store).await;
    together::one_idempotency_key_sent_at_once_stores_one_run(store).await;
    together::reviews_at_once_all_move_the_memory_they_were_given(store).await;
    together::a_run_reviewed_twice_at_once_has_one_review_and_one_memory(store).await;
    together::jobs_claimed_at_once_go_to_one_owner_each(store).await;
    together::an_index_that_follows_writers_misses_nothing(store).await;
    changes::the_embedder_that_was_claimed_last_is_told(store).await;
    memories::memories_are_listed_with_their_moves(store).await;
    memories::the_best_memories_come_first(store).await;
    memories::a_skill_counts_its_versions(store).await;
    memories::the_numbers_add_up(store).await;
}
