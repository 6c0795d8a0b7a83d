//! Traces that arrive.

use std::collections::HashMap;

use reflect_types::{IngestStatus, Reviewer, TraceId, TraceReceipt};

use super::db::Db;
use super::fault::Fault;
use super::reviews::{self, Decided};
use super::traces::receipt;
use super::value::{Rows, params};
use super::{jobs, projects, standings, trace_labels, undone};
use crate::review::{self, PastUndo, Teacher};
use crate::store::encoded_trace::EncodedTrace;
use crate::store::{Intake, JobKind, NewTrace, words};

/// The columns of traces to insert. Their words are stored in another form.
pub(super) const NEW: &str = "project bigint, id text, idempotency_key text, receipt text, reviewed boolean, \
     ingest_status text, ingest_attempts bigint, last_ingest_error text, created_memory text, model text, \
     metadata text, retrieved text, ignored text, created_at text, task text, final_response text, \
     reference_context text, trajectory text, withdrawn_model text, withdrawn_verdict text, key_id text, \
     arm text, parent_run_id text, session_id text, \
     input_tokens bigint, output_tokens bigint, words text";

/// Inserts traces, without those whose idempotency key the project has; returns the keys of the others.
pub(super) async fn insert_new(
    db: &Db<'_>,
    rows: &Rows<'_>,
) -> Result<HashMap<TraceId, i64>, Fault> {
    let columns = rows.names(std::borrow::ToOwned::to_owned);
    let values = rows.names(|name| format!("r.{name}"));
    let insert = format!(
        "INSERT INTO trace ({}) SELECT {} FROM {{rows}} WHERE true ORDER BY r.place \
         ON CONFLICT (project, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING RETURNING key, id",
        columns.replace(", words", "{WORDS_COLUMN}"),
        values.replace(", r.words", "{WORDS_VALUE}"),
    );
    let inserted = db.query_rows(&insert, rows).await?;
    inserted
        .iter()
        .map(|row| Ok((row.get("id")?, row.get("key")?)))
        .collect()
}

/// Inserts traces into the project of this [key](projects::key_to_fill), or finds those with their idempotency keys.
pub(super) async fn insert(
    db: &Db<'_>,
    project: i64,
    traces: &[(&EncodedTrace, &Intake)],
) -> Result<Vec<TraceReceipt>, Fault> {
    if traces
        .iter()
        .any(|(_, intake)| matches!(intake, Intake::Learned(_)))
    {
        projects::lock_keys(db, &[project]).await?;
    }
    let is_reviewed = |(_, intake): &(_, &Intake)| !matches!(intake, Intake::Unreviewed);
    let undone = if traces.iter().any(is_reviewed) {
        undone::all(db, project).await?
    } else {
        Vec::new()
    };
    let traces = traces.iter().map(|&(encoded, intake)| Insertion {
        is_undone: is_undone(&undone, &encoded.trace, intake),
        encoded,
        intake,
    });
    let traces: Vec<Insertion<'_>> = traces.collect();
    let mut keys = insert_rows(db, project, &traces).await?;
    let mut receipts = Vec::with_capacity(traces.len());
    let mut new = Vec::new();
    for inserted in &traces {
        let trace = &inserted.encoded.trace;
        match (keys.remove(&trace.id), &trace.idempotency_key) {
            (Some(key), _) => {
                new.push((key, inserted));
                receipts.push(TraceReceipt {
                    trace_id: trace.id.clone(),
                    ingest_status: inserted.status(),
                });
            }
            // It was submitted before.
            (None, Some(name)) => {
                let first = receipt(db, project, name).await?;
                receipts.push(first.ok_or_else(|| Fault::Data("a submission is gone".to_owned()))?);
            }
            (None, None) => return Err(Fault::Data("a trace was not inserted".to_owned())),
        }
    }
    insert_intakes(db, project, &new).await?;
    Ok(receipts)
}

/// A trace to insert.
struct Insertion<'a> {
    encoded: &'a EncodedTrace,
    intake: &'a Intake,
    /// Whether an undo that covers its review, or its judgement, came since.
    is_undone: bool,
}

impl Insertion<'_> {
    fn status(&self) -> IngestStatus {
        if self.is_undone {
            Intake::Unreviewed.ingest_status()
        } else {
            self.intake.ingest_status()
        }
    }
}

/// Inserts the rows of traces; returns the keys of those that were not submitted before.
async fn insert_rows(
    db: &Db<'_>,
    project: i64,
    traces: &[Insertion<'_>],
) -> Result<HashMap<TraceId, i64>, Fault> {
    let searched: Vec<String> = traces
        .iter()
        .map(|inserted| words::of(&inserted.encoded.trace.task))
        .collect();
    let statuses: Vec<IngestStatus> = traces.iter().map(Insertion::status).collect();
    let mut rows = Rows::new(NEW);
    let none = None::<&str>;
    for ((inserted, words), status) in traces.iter().zip(&searched).zip(&statuses) {
        let encoded = inserted.encoded;
        let trace = &encoded.trace;
        rows.push(params![
            project,
            trace.id,
            trace.idempotency_key,
            status,
            false,
            status,
            0_i64,
            none,
            none,
            trace.model,
            encoded.metadata,
            encoded.retrieved,
            "[]",
            trace.created_at,
            trace.task,
            trace.final_response,
            trace.reference_context,
            encoded.trajectory,
            none,
            none,
            trace.key_id,
            trace.arm,
            trace.parent_run_id,
            trace.session_id,
            trace.usage.map(|usage| usage.input_tokens),
            trace.usage.map(|usage| usage.output_tokens),
            words,
        ]);
    }
    insert_new(db, &rows).await
}

/// Writes what new traces bring along: labels, reviews and jobs.
async fn insert_intakes(
    db: &Db<'_>,
    project: i64,
    new: &[(i64, &Insertion<'_>)],
) -> Result<(), Fault> {
    let mut labels = Rows::new(trace_labels::LABELS);
    let mut queue = Vec::new();
    let mut given = Vec::new();
    let mut learned = Vec::new();
    for &(key, inserted) in new {
        let trace = &inserted.encoded.trace;
        trace_labels::add(&mut labels, project, key, &trace.metadata);
        let at = trace.created_at;
        match inserted.intake {
            Intake::Unreviewed => {}
            _ if inserted.is_undone => queue.push((JobKind::Judgement, key, None, 0)),
            Intake::Unjudged => queue.push((JobKind::Judgement, key, Some(at), 0)),
            Intake::Queued(review) => {
                given.push((key, review));
                queue.push((JobKind::Reflection, key, Some(at), 0));
            }
            Intake::Learned(review) => learned.push((key, trace, review)),
        }
    }
    trace_labels::insert(db, &labels).await?;
    reviews::put(db, project, &given).await?;
    jobs::put(db, project, &queue).await?;
    for (key, trace, review) in learned {
        let ids = &trace.retrieved_memory_ids;
        let given = standings::given(db, project, ids).await?;
        let writes = review::decide_new(given, review.clone())?;
        let decided = Decided {
            trace: key,
            id: &trace.id,
            writes,
        };
        reviews::write(db, project, &[decided]).await?;
    }
    Ok(())
}

/// Whether an undo that covers the review of a new trace, or its judgement, came since.
fn is_undone(undone: &[PastUndo], trace: &NewTrace, intake: &Intake) -> bool {
    let (teacher, at) = match intake {
        Intake::Unreviewed => return false,
        Intake::Unjudged => {
            // The judge's name is not known here: an undo of all that the key has taught covers any.
            let reviewer = Reviewer::Model(String::new());
            let key_id = trace.key_id.clone();
            (Teacher { key_id, reviewer }, trace.created_at)
        }
        Intake::Queued(review) => (review.teacher(), review.created_at),
        Intake::Learned(learned) => (learned.review.teacher(), learned.review.created_at),
    };
    let mut of_trace = undone.iter().filter(|undo| undone::is_of(undo, &trace.id));
    of_trace.any(|undo| undo.covers(&teacher, at))
}
