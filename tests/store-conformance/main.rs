//! What every store does: each behaviour is a test on SQLite in memory, on SQLite in a file, and on PostgreSQL.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::float_cmp,
    reason = "a test that cannot go on should panic, and what is read is what was written"
)]

#[macro_use]
mod stores;

mod browse;
mod embedders;
mod index_feed;
mod jobs;
mod judgements;
mod keys;
mod memories;
mod memory_changes;
mod monitoring;
mod projects;
mod replacements;
mod reviews;
mod setbacks;
mod spans;
mod support;
mod texts;
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
    ReviewStatus, Reviewer, Skill, ToolCall, Trace, TraceId, TraceTree, Undo, UndoRecord,
    UndoReport, UndoTotals, UpdateProject, Usage, Verdict,
};
use serde_json::{Value, json};

use reflect_engine::model::Reflection;
use reflect_engine::review::{
    Action, Basis, Decision, LearnedReview, NewMemory, NewReview, NextAttempt, Refusal,
    ReviewVersion, Selection, Setback, Withdrawal,
};
use reflect_engine::store::{
    ClaimedJob, EmbeddedPiece, Intake, JobKey, JobKind, Lease, MemoryChange, MemoryChanges,
    NewTrace, NewUndoRecord, ProjectRow, Revision, SkillWrite, SpanAuthor, SpanBatch, SpanCounts,
    SpanPart, SpanTrace, Store, Subject, TallyQuery, TraceDeletion, TraceKey, UndoRun,
    UnembeddedMemory, UnusedVectors, VectorSpace, labels,
};
use reflect_engine::{Error, learn};
use support::*;

const EMBEDDER: &str = "test-space";
