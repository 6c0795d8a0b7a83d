//! The formats of a file, and the steps from each to the next.

use rusqlite::{Connection, params};

use super::fault::Fault;
use crate::store::legacy_note;
use crate::store::sketches::{task_sketch, text_sketch};

/// Rewrites rows where SQL alone cannot.
type Conversion = fn(&Connection) -> Result<(), Fault>;

/// The step from the format before to this one.
struct Migration {
    schema: &'static str,
    /// Converts what SQL cannot.
    convert: Option<Conversion>,
}

const fn schema(schema: &'static str) -> Migration {
    Migration {
        schema,
        convert: None,
    }
}

const MIGRATIONS: &[Migration] = &[
    schema(include_str!("../../../migrations/sqlite/0001_initial.sql")),
    schema(include_str!("../../../migrations/sqlite/0002_embedder.sql")),
    schema(include_str!(
        "../../../migrations/sqlite/0003_failed_traces.sql"
    )),
    schema(include_str!(
        "../../../migrations/sqlite/0004_judge_note.sql"
    )),
    schema(include_str!(
        "../../../migrations/sqlite/0005_embedding_lengths.sql"
    )),
    Migration {
        schema: include_str!("../../../migrations/sqlite/0006_reviewers.sql"),
        convert: Some(name_reviewers),
    },
    schema(include_str!("../../../migrations/sqlite/0007_jobs.sql")),
    schema(include_str!(
        "../../../migrations/sqlite/0008_provenance.sql"
    )),
    schema(include_str!("../../../migrations/sqlite/0009_parked.sql")),
    schema(include_str!(
        "../../../migrations/sqlite/0010_memory_changes.sql"
    )),
    schema(include_str!(
        "../../../migrations/sqlite/0011_project_limits.sql"
    )),
    schema(include_str!(
        "../../../migrations/sqlite/0012_undo_records.sql"
    )),
    schema(include_str!("../../../migrations/sqlite/0013_undo.sql")),
    schema(include_str!("../../../migrations/sqlite/0014_given.sql")),
    schema(include_str!("../../../migrations/sqlite/0015_alpha.sql")),
    schema(include_str!("../../../migrations/sqlite/0016_aside.sql")),
    schema(include_str!("../../../migrations/sqlite/0017_arm.sql")),
    schema(include_str!("../../../migrations/sqlite/0018_browse.sql")),
    schema(include_str!(
        "../../../migrations/sqlite/0019_max_memories.sql"
    )),
    schema(include_str!("../../../migrations/sqlite/0020_report.sql")),
    Migration {
        schema: include_str!("../../../migrations/sqlite/0021_merged.sql"),
        convert: Some(sketch_memories),
    },
    schema(include_str!("../../../migrations/sqlite/0022_settings.sql")),
    schema(include_str!(
        "../../../migrations/sqlite/0023_merged_by_hand.sql"
    )),
    schema(include_str!(
        "../../../migrations/sqlite/0024_searchable.sql"
    )),
    schema(include_str!("../../../migrations/sqlite/0025_spans.sql")),
    Migration {
        schema: include_str!("../../../migrations/sqlite/0026_trace_labels.sql"),
        convert: Some(label_traces),
    },
    schema(include_str!(
        "../../../migrations/sqlite/0027_vectors_by_embedder.sql"
    )),
    schema(include_str!("../../../migrations/sqlite/0028_control.sql")),
    schema(include_str!(
        "../../../migrations/sqlite/0029_personal_values.sql"
    )),
    schema(include_str!(
        "../../../migrations/sqlite/0030_snapshots.sql"
    )),
    schema(include_str!("../../../migrations/sqlite/0031_checks.sql")),
    Migration {
        schema: include_str!("../../../migrations/sqlite/0032_numbers.sql"),
        convert: Some(sketch_memories),
    },
];

/// The current format: the number of migrations.
pub(super) fn current() -> i64 {
    MIGRATIONS.len().try_into().unwrap_or(i64::MAX)
}

/// Migrates from a format to the current one, inside the caller's transaction.
pub(super) fn run(db: &Connection, from: i64) -> Result<(), Fault> {
    for step in MIGRATIONS.iter().skip(usize::try_from(from).unwrap_or(0)) {
        db.execute_batch(step.schema)?;
        if let Some(convert) = step.convert {
            convert(db)?;
        }
    }
    Ok(())
}

/// Moves the notes about models out of the feedback.
fn name_reviewers(db: &Connection) -> Result<(), Fault> {
    let mut noted =
        db.prepare("SELECT trace, feedback FROM review WHERE substr(feedback, 1, 7) = '[judge '")?;
    let mut rows = noted.query([])?;
    while let Some(row) = rows.next()? {
        let (trace, text): (i64, String) = (row.get(0)?, row.get(1)?);
        let Some(note) = legacy_note::feedback(&text) else {
            continue;
        };
        let overruled = note.overruled.as_ref();
        db.execute(
            "UPDATE review SET reviewer_model = ?2, overruled_model = ?3, overruled_verdict = ?4, \
                 feedback = ?5 WHERE trace = ?1",
            params![
                trace,
                note.reviewer.model_name(),
                overruled.map(|verdict| &verdict.model),
                overruled.map(|verdict| verdict.result.as_str()),
                note.comment
            ],
        )?;
    }
    let mut withdrawn =
        db.prepare("SELECT key, withdrawn_model FROM trace WHERE withdrawn_model IS NOT NULL")?;
    let mut rows = withdrawn.query([])?;
    while let Some(row) = rows.next()? {
        let (trace, text): (i64, String) = (row.get(0)?, row.get(1)?);
        let verdict = legacy_note::withdrawn(&text);
        db.execute(
            "UPDATE trace SET withdrawn_model = ?2, withdrawn_verdict = ?3 WHERE key = ?1",
            params![
                trace,
                verdict.as_ref().map(|verdict| &verdict.model),
                verdict.as_ref().map(|verdict| verdict.result.as_str())
            ],
        )?;
    }
    Ok(())
}

/// Sketches the texts of all memories.
fn sketch_memories(db: &Connection) -> Result<(), Fault> {
    let mut memories = db.prepare("SELECT key, task, reflection FROM memory")?;
    let mut write = db.prepare(
        "UPDATE memory SET task_sketch = ?2, text_sketch = ?3 \
         WHERE key = ?1 AND (task_sketch IS NOT ?2 OR text_sketch IS NOT ?3)",
    )?;
    let mut rows = memories.query([])?;
    while let Some(row) = rows.next()? {
        let (key, task): (i64, String) = (row.get(0)?, row.get(1)?);
        let reflection = super::row::json(row, 2)?;
        write.execute(params![key, task_sketch(&task), text_sketch(&reflection)])?;
    }
    Ok(())
}

fn label_traces(db: &Connection) -> Result<(), Fault> {
    let mut traces =
        db.prepare("SELECT project, key, metadata FROM trace WHERE metadata <> '{}'")?;
    let mut rows = traces.query([])?;
    while let Some(row) = rows.next()? {
        let (project, trace) = (row.get(0)?, row.get(1)?);
        super::trace_labels::insert(db, project, trace, &super::row::json(row, 2)?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
