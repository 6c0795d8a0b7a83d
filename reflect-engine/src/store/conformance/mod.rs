//! The conformance suite of the [`Store`] port.

mod browse;
mod embedders;
mod index_feed;
mod jobs;
mod judgements;
mod memories;
mod memory_changes;
mod monitoring;
mod projects;
mod replacements;
mod reviews;
mod setbacks;
mod snapshots;
mod spans;
mod support;
mod together;
mod traces;
mod undo;
mod undo_changes;
mod undo_deletions;
mod undo_finality;
mod undo_imports;
mod undo_records;
mod undo_waiting;
mod undo_worlds;
mod withdrawals;

use jiff::{SignedDuration, Timestamp};
use reflect_types::{
    Approval, ArchivedMemory, ArchivedTrace, Arm, AuthoredReflection, ChangeKind, ChangeRecord,
    DeletedTraces, IngestStatus, ListMemories, ListMemoryChanges, ListOrder, ListTraces, ListUndos,
    MemoryHistory, MemoryId, MemoryRecord, MemoryStatus, MemoryUpdate, Message, Metadata,
    ModelVerdict, ProjectId, ProjectSettings, ProjectSummary, Ranking, ReflectionEdit, ReviewMode,
    ReviewStatus, Reviewer, Skill, ToolCall, Trace, TraceId, Undo, UndoRecord, UndoReport,
    UndoTotals, UpdateProject, Verdict,
};
use serde_json::{Value, json};

use super::{
    ClaimedJob, EmbeddedPiece, Intake, JobKey, JobKind, Lease, MemoryChange, MemoryChanges,
    NewTrace, NewUndoRecord, Revision, SkillWrite, SpanAuthor, SpanBatch, SpanCounts, SpanPart,
    SpanTrace, Store, Subject, TraceDeletion, TraceKey, UndoRun, UnembeddedMemory, UnusedVectors,
    VectorSpace, labels,
};
use crate::error::Error;
use crate::learn;
use crate::model::Reflection;
use crate::review::{
    Action, Basis, Decision, LearnedReview, NewMemory, NewReview, NextAttempt, Refusal,
    ReviewVersion, Selection, Setback, Withdrawal,
};
use support::*;

const EMBEDDER: &str = "test-space";

/// Runs the suite. Panics where the store does not conform.
///
/// The store has to be empty, and nothing else may claim its jobs.
#[allow(clippy::missing_panics_doc, reason = "panicking is how it fails")]
pub async fn all(store: &dyn Store) {
    traces::a_trace_is_read_as_it_was_written(store).await;
    traces::an_idempotency_key_stores_once(store).await;
    traces::traces_are_found_by_key_and_by_metadata(store).await;
    traces::traces_are_listed_newest_first_in_pages(store).await;
    traces::traces_are_listed_oldest_first_in_pages(store).await;
    traces::projects_are_isolated(store).await;
    browse::traces_are_found_by_words_kind_and_model(store).await;
    browse::traces_wait_for_people_with_what_is_known_about_their_memories(store).await;
    projects::only_an_authorized_write_creates_a_project(store).await;
    projects::an_unknown_cursor_is_invalid(store).await;
    projects::a_new_project_has_a_printable_id(store).await;
    projects::projects_are_summarized(store).await;
    reviews::a_review_makes_a_memory_and_moves_what_was_given(store).await;
    reviews::a_trace_stored_with_its_memory_is_reviewed(store).await;
    reviews::a_fresh_review_is_refused_where_there_is_one(store).await;
    setbacks::a_review_put_aside_can_be_retried(store).await;
    setbacks::a_review_put_aside_replaces_another_once_learned(store).await;
    setbacks::a_failed_review_with_a_next_attempt_is_claimed_again(store).await;
    replacements::a_review_replaces_one_whose_job_is_claimed(store).await;
    replacements::an_overtaken_attempt_is_refused(store).await;
    replacements::a_changed_review_replays_what_it_moved(store).await;
    withdrawals::a_withdrawn_review_leaves_no_move_and_no_memory(store).await;
    withdrawals::a_queued_review_can_be_withdrawn(store).await;
    withdrawals::a_withdrawn_review_of_a_model_leaves_its_verdict(store).await;
    undo::what_a_key_has_taught_is_taken_back(store).await;
    undo::a_dry_run_reports_the_same_and_changes_nothing(store).await;
    undo::a_deleted_trace_is_undone_by_its_key_or_its_id(store).await;
    undo::only_the_selected_reviewer_and_time_is_undone(store).await;
    undo::a_key_deletes_only_traces_it_recorded(store).await;
    undo::a_skill_written_from_an_undone_memory_goes(store).await;
    memory_changes::an_edit_sets_fields_and_is_recorded_with_its_key(store).await;
    memory_changes::an_edit_of_words_that_were_edited_meanwhile_is_a_conflict(store).await;
    memory_changes::a_quarantined_memory_is_set_aside_and_keeps_learning(store).await;
    memory_changes::a_deleted_memory_leaves_a_record_without_text(store).await;
    memory_changes::a_memory_deleted_with_its_trace_leaves_the_same_record(store).await;
    memory_changes::a_repeated_change_is_recorded_once(store).await;
    memory_changes::a_changed_memory_takes_its_skill_along(store).await;
    memory_changes::a_skill_of_memories_that_changed_meanwhile_is_not_stored(store).await;
    memory_changes::an_archive_carries_the_changes(store).await;
    undo_changes::the_changes_of_a_key_are_taken_back(store).await;
    undo_changes::edits_of_others_stay_over_the_restored_text(store).await;
    undo_changes::a_review_after_an_edit_replaces_it(store).await;
    undo_changes::a_quarantine_survives_an_undone_withdrawal(store).await;
    undo_deletions::a_review_that_its_runs_author_changed_comes_back_without_the_run(store).await;
    undo_deletions::an_author_deletes_only_memories_it_has_taught(store).await;
    undo_deletions::an_administrator_deletes_the_memories_of_withdrawn_reviews_too(store).await;
    undo_deletions::a_deleted_memory_stays_deleted(store).await;
    undo_deletions::a_deletion_leaves_copies_in_other_projects_alone(store).await;
    undo_waiting::a_review_below_a_waiting_one_counts_again(store).await;
    undo_waiting::moves_of_an_undone_review_do_not_wait_for_its_correction(store).await;
    undo_waiting::a_withdrawn_verdict_is_that_of_the_remaining_history(store).await;
    undo_finality::a_review_given_before_an_undo_is_refused_after_it(store).await;
    undo_finality::only_what_was_shown_is_undone(store).await;
    undo_finality::a_report_counts_what_no_list_shows(store).await;
    undo_finality::a_skill_of_a_missing_memory_goes(store).await;
    undo_worlds::an_undone_key_leaves_the_bank_as_if_it_never_existed(store).await;
    undo_imports::an_undo_after_an_import_changes_what_it_would_have_before(store).await;
    undo_records::an_undo_leaves_a_record_of_who_asked_for_what(store).await;
    undo_records::records_are_listed_in_pages_and_imported_once(store).await;
    jobs::a_job_is_held_by_one_owner_at_a_time(store).await;
    jobs::a_job_that_failed_comes_back_or_is_given_up(store).await;
    jobs::a_released_job_counts_as_never_claimed(store).await;
    jobs::jobs_of_all_projects_are_claimed_in_the_order_of_their_submission(store).await;
    jobs::a_job_whose_lease_has_expired_is_claimed_alone(store).await;
    snapshots::the_last_finished_snapshot_is_kept(store).await;
    monitoring::waiting_jobs_and_revisions_are_counted(store).await;
    judgements::a_judgement_is_queued_with_its_trace_and_ends_with_a_review(store).await;
    judgements::a_parked_judgement_is_not_queued_again(store).await;
    judgements::a_restart_gives_a_judgement_parked_by_an_error_one_more_attempt(store).await;
    judgements::only_traces_that_wait_for_a_review_are_judged(store).await;
    judgements::an_outage_does_not_count_as_an_attempt(store).await;
    judgements::the_kinds_are_claimed_apart(store).await;
    traces::deleted_traces_leave_their_memories_or_take_them(store).await;
    index_feed::changes_cover_what_an_index_holds(store).await;
    index_feed::changes_come_in_pages_that_miss_nothing(store).await;
    index_feed::a_recreated_project_resets_its_readers(store).await;
    embedders::all(store).await;
    together::concurrent_submissions_with_one_key_store_one_trace(store).await;
    together::concurrent_reviews_all_move_a_shared_memory(store).await;
    together::concurrent_changes_and_withdrawals_leave_what_a_replay_does(store).await;
    together::concurrent_reviews_of_one_trace_leave_one_memory(store).await;
    together::concurrent_claims_never_share_a_job(store).await;
    together::a_reader_that_follows_concurrent_writers_misses_nothing(store).await;
    together::a_reader_that_follows_stored_traces_misses_none(store).await;
    spans::spans_are_kept_in_order_until_their_trace_is_due(store).await;
    spans::spans_that_come_again_or_too_late_are_recognised(store).await;
    spans::a_trace_that_nobody_finished_is_claimed_again(store).await;
    spans::a_trace_is_of_one_key_and_of_one_project(store).await;
    spans::a_trace_has_limits(store).await;
    spans::concurrent_requests_and_claims_lose_and_share_nothing(store).await;
    memories::memories_are_listed_with_their_moves(store).await;
    memories::the_best_memories_come_first(store).await;
    memories::a_skill_counts_its_versions(store).await;
    memories::stats_count_every_state(store).await;
    undo::an_undone_trace_is_left_to_people(store).await;
    undo_finality::runs_of_an_undone_key_are_not_judged(store).await;
}
