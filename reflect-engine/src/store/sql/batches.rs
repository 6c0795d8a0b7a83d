//! Traces and reviews of a project that are stored together.

use std::sync::Arc;

use reflect_types::{ProjectId, TraceId, TraceReceipt};

use super::db::Db;
use super::fault::Fault;
use super::{new_traces, projects, reviews};
use crate::review::{Action, Decision};
use crate::store::Intake;
use crate::store::encoded_trace::EncodedTrace;

/// A trace to insert.
pub(in crate::store) struct TraceWrite {
    pub(in crate::store) project: ProjectId,
    pub(in crate::store) trace: EncodedTrace,
    pub(in crate::store) intake: Intake,
}

/// A change of the review of a trace.
pub(in crate::store) struct ReviewWrite {
    pub(in crate::store) project: ProjectId,
    pub(in crate::store) trace: TraceId,
    pub(in crate::store) action: Action,
}

/// Inserts a trace.
pub(in crate::store) async fn insert_one(
    db: &Db<'_>,
    write: &TraceWrite,
) -> Result<TraceReceipt, Fault> {
    only(insert(db, &[write]).await?)
}

/// Inserts traces of one project.
pub(in crate::store) async fn insert_all(
    db: &Db<'_>,
    writes: &[Arc<TraceWrite>],
) -> Result<Vec<TraceReceipt>, Fault> {
    let writes: Vec<&TraceWrite> = writes.iter().map(AsRef::as_ref).collect();
    insert(db, &writes).await
}

async fn insert(db: &Db<'_>, writes: &[&TraceWrite]) -> Result<Vec<TraceReceipt>, Fault> {
    let Some(first) = writes.first() else {
        return Ok(Vec::new());
    };
    // Of those that arrive together, one that may create the project comes before the others.
    let creates = writes.iter().any(|write| write.trace.trace.creates_project);
    let project = projects::key_to_fill(db, &first.project, creates).await?;
    let each = writes.iter().map(|write| (&write.trace, &write.intake));
    new_traces::insert(db, project, &each.collect::<Vec<_>>()).await
}

/// Changes a review.
pub(in crate::store) async fn review_one(
    db: &Db<'_>,
    write: &ReviewWrite,
) -> Result<Decision, Fault> {
    only(change(db, &[write]).await?)
}

/// Changes reviews of one project.
#[cfg(feature = "postgres")]
pub(in crate::store) async fn review_all(
    db: &Db<'_>,
    writes: &[Arc<ReviewWrite>],
) -> Result<Vec<Decision>, Fault> {
    let writes: Vec<&ReviewWrite> = writes.iter().map(AsRef::as_ref).collect();
    change(db, &writes).await
}

async fn change(db: &Db<'_>, writes: &[&ReviewWrite]) -> Result<Vec<Decision>, Fault> {
    let Some(first) = writes.first() else {
        return Ok(Vec::new());
    };
    let project = projects::lock(db, &first.project).await?;
    let changes = writes.iter().map(|write| (&write.trace, &write.action));
    reviews::change(db, project, &changes.collect::<Vec<_>>()).await
}

fn only<T>(mut answers: Vec<T>) -> Result<T, Fault> {
    let answer = answers.pop();
    answer.ok_or_else(|| Fault::Data("a write has no answer".to_owned()))
}
