use std::path::Path;

use reflect_types::{Metadata, Reflection};

use super::*;
use crate::error::Error;
use crate::store::sqlite::file::{self, Older};

/// The first format with reviewers.
const REVIEWERS: usize = 6;
/// The first format with notes of withdrawn verdicts.
const WITHDRAWN: usize = 4;

/// The first format with kinds of jobs.
const KINDS: usize = 7;

/// The first format with labels of traces.
const LABELS: usize = 26;

/// Feedback as a person and a model gave it before there were reviewers.
const REVIEWS: &str = "
    INSERT INTO review (trace, id, verdict, feedback, alpha, mode, created_at) VALUES
        (1, 'r-1', 'pass', 'fine', 0.3, 'deferred', '2026-01-01T00:00:00Z'),
        (2, 'r-2', 'fail', '[judge m] no', 0.1, 'deferred', '2026-01-01T00:00:00Z'),
        (3, 'r-3', 'pass', '[judge m said fail] fine', 0.3, 'deferred', '2026-01-01T00:00:00Z'),
        (4, 'r-4', 'pass', '[judge m]', 0.1, 'inline', '2026-01-01T00:00:00Z'),
        (5, 'r-5', 'pass', '[judge of all things] fine', 0.3, 'inline', '2026-01-01T00:00:00Z');";

/// The same, from the first format with reviewers on.
const REVIEWS_BY: &str = "
    INSERT INTO review (trace, id, verdict, feedback, alpha, mode, created_at, reviewer_model,
        overruled_model, overruled_verdict) VALUES
        (1, 'r-1', 'pass', 'fine', 0.3, 'deferred', '2026-01-01T00:00:00Z', NULL, NULL, NULL),
        (2, 'r-2', 'fail', 'no', 0.1, 'deferred', '2026-01-01T00:00:00Z', 'm', NULL, NULL),
        (3, 'r-3', 'pass', 'fine', 0.3, 'deferred', '2026-01-01T00:00:00Z', NULL, 'm', 'fail'),
        (4, 'r-4', 'pass', NULL, 0.1, 'inline', '2026-01-01T00:00:00Z', 'm', NULL, NULL),
        (5, 'r-5', 'pass', '[judge of all things] fine', 0.3, 'inline', '2026-01-01T00:00:00Z',
            NULL, NULL, NULL);";

/// The first format with a vector for each embedder.
const EMBEDDERS: usize = 27;

/// A file of an older format, with six traces, five reviews, a verdict that was withdrawn, a job and two memories
/// with vectors of different embedders.
fn older(path: &Path, formats: usize) {
    let db = Connection::open(path).unwrap();
    for step in &MIGRATIONS[..formats] {
        db.execute_batch(step.schema).unwrap();
    }
    db.execute_batch("INSERT INTO project (id, revision) VALUES ('support', 1)")
        .unwrap();
    for n in 1..=6 {
        db.execute(
            "INSERT INTO trace (project, id, receipt, ingest_status, metadata, retrieved,
                 created_at, task, final_response, trajectory, reviewed, created_memory)
             VALUES (1, 't-' || ?1, 'completed', 'completed', json_object('n', ?1), '[]', '2026-01-01T00:00:00Z',
                 'Refund order 7', 'done', '[]', 1, 'm-1')",
            [n],
        )
        .unwrap();
    }
    let reviews = if formats < REVIEWERS {
        REVIEWS
    } else {
        REVIEWS_BY
    };
    db.execute_batch(reviews).unwrap();
    let withdrawn = match formats {
        ..WITHDRAWN => "",
        WITHDRAWN..REVIEWERS => {
            "UPDATE trace SET judge_note = '[judge m said pass]' WHERE id = 't-6'"
        }
        _ => "UPDATE trace SET withdrawn_model = 'm', withdrawn_verdict = 'pass' WHERE id = 't-6'",
    };
    db.execute_batch(withdrawn).unwrap();
    let job = if formats < KINDS {
        "INSERT INTO job (trace, due_at, attempts, owner) VALUES (6, 100, 2, 'one')"
    } else {
        "INSERT INTO queue (kind, trace, due_at, attempts, owner) \
         VALUES ('reflection', 6, 100, 2, 'one')"
    };
    db.execute_batch(job).unwrap();
    db.execute_batch(
        "INSERT INTO memory (project, id, trace_id, success, q, revision, created_at, metadata, task, reflection)
             VALUES (1, 'm-1', 't-1', 1, 0.5, 1, '2026-01-01T00:00:00Z', '{}', 'Refund order 7', '{}'),
                 (1, 'm-2', 't-2', 1, 0.5, 2, '2026-01-01T00:00:00Z', '{}', 'Refund order 8', '{}')",
    )
    .unwrap();
    let vectors = if formats < EMBEDDERS {
        "INSERT INTO embedding (memory, embedder, vector) VALUES (1, 'a', zeroblob(8)), (2, 'b', zeroblob(12))"
    } else {
        "INSERT INTO embedder (id, dims, seen_at) VALUES ('a', 2, 0), ('b', 3, 0);
         INSERT INTO embedding (memory, embedder, vector) VALUES (1, 1, zeroblob(8)), (2, 2, zeroblob(12))"
    };
    db.execute_batch(vectors).unwrap();
    file::stamp(&db, i64::try_from(formats).unwrap()).unwrap();
}

/// Who gave the review of each trace, whom it overruled, and its feedback.
fn reviewers(db: &Connection) -> Vec<[Option<String>; 4]> {
    let mut select = db
        .prepare(
            "SELECT reviewer_model, overruled_model, overruled_verdict, feedback FROM review \
             ORDER BY trace",
        )
        .unwrap();
    let rows = select.query_map([], |row| {
        Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?])
    });
    rows.unwrap().collect::<Result<Vec<_>, _>>().unwrap()
}

#[test]
fn who_only_looks_migrates_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("reflect.db");
    assert!(file::open(&path, Older::Refused).is_err());
    assert!(!path.exists());
    older(&path, MIGRATIONS.len() - 1);
    let before = std::fs::read(&path).unwrap();
    let Err(Fault::Plain(refused)) = file::open(&path, Older::Refused) else {
        panic!("an older file is opened");
    };
    assert!(matches!(refused, Error::Older { found, .. } if found == current() - 1));
    assert!(refused.to_string().contains("migrates it"), "{refused}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    drop(file::open(&path, Older::Migrated).unwrap());
    file::open(&path, Older::Refused).unwrap();
}

#[test]
fn files_of_every_older_format_are_migrated_with_their_content() {
    let fresh = tempfile::tempdir().unwrap();
    let schema = |db: &Connection| {
        let mut select = db
            .prepare("SELECT name, sql FROM sqlite_schema ORDER BY name")
            .unwrap();
        let rows = select.query_map([], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, Option<String>>(1)?))
        });
        rows.unwrap().collect::<Result<Vec<_>, _>>().unwrap()
    };
    let newest = schema(&file::open(&fresh.path().join("reflect.db"), Older::Migrated).unwrap());
    for formats in 1..=MIGRATIONS.len() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reflect.db");
        older(&path, formats);
        let db = file::open(&path, Older::Migrated).unwrap();
        assert_eq!(file::format(&db, &path).unwrap(), current());
        assert_eq!(schema(&db), newest, "from format {formats}");
        let task: String = db
            .query_row("SELECT task FROM trace WHERE id = 't-1'", [], |row| {
                row.get(0)
            })
            .unwrap();
        assert_eq!(task, "Refund order 7");

        let text = |text: &str| Some(text.to_owned());
        let expected = [
            [None, None, None, text("fine")],
            [text("m"), None, None, text("no")],
            [None, text("m"), text("fail"), text("fine")],
            [text("m"), None, None, None],
            [None, None, None, text("[judge of all things] fine")],
        ];
        assert_eq!(reviewers(&db), expected, "from format {formats}");
        let withdrawn: (Option<String>, Option<String>) = db
            .query_row(
                "SELECT withdrawn_model, withdrawn_verdict FROM trace WHERE id = 't-6'",
                [],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .unwrap();
        let expected = match formats {
            ..WITHDRAWN => (None, None),
            _ => (text("m"), text("pass")),
        };
        assert_eq!(withdrawn, expected, "from format {formats}");
        let job: (String, i64, i64, i64, String) = db
            .query_row(
                "SELECT kind, trace, due_at, attempts, owner FROM queue",
                [],
                |row| {
                    let (kind, trace, due) = (row.get(0)?, row.get(1)?, row.get(2)?);
                    Ok((kind, trace, due, row.get(3)?, row.get(4)?))
                },
            )
            .unwrap();
        let expected = ("reflection".to_owned(), 6, 100, 2, "one".to_owned());
        assert_eq!(job, expected, "from format {formats}");
        let mut vectors = db
            .prepare(
                "SELECT v.memory, e.id, e.dims, e.completed_at, length(v.vector) FROM embedding v \
                     JOIN embedder e ON e.key = v.embedder ORDER BY v.memory",
            )
            .unwrap();
        let vectors = vectors.query_map([], |row| {
            let (memory, id, dims) = (row.get(0)?, row.get::<_, String>(1)?, row.get(2)?);
            let (completed, length) = (row.get::<_, Option<i64>>(3)?, row.get(4)?);
            Ok((memory, id, dims, completed, length))
        });
        let vectors: Vec<(i64, String, i64, Option<i64>, i64)> =
            vectors.unwrap().collect::<Result<_, _>>().unwrap();
        let expected = [
            (1, "a".to_owned(), 2, None, 8),
            (2, "b".to_owned(), 3, None, 12),
        ];
        assert_eq!(vectors, expected, "from format {formats}");
        if formats < LABELS {
            let labels = crate::store::labels(&Metadata::from_iter([("n".to_owned(), 3.into())]));
            let trace: i64 = db
                .query_row(
                    "SELECT trace FROM trace_label WHERE label = ?1",
                    [labels[0]],
                    |row| row.get(0),
                )
                .unwrap();
            assert_eq!(trace, 3, "from format {formats}");
        }
    }
}

/// The 64-bit FNV-1a hash of each released migration.
const RELEASED: [u64; 7] = [
    0x5071_27c3_31ea_7d98,
    0x4f4a_32e4_ae7d_95ac,
    0x64fa_cd07_2757_8872,
    0x8841_6413_e17a_8697,
    0xa51c_0aea_6d2c_2bdd,
    0xe3c0_34ac_f8b6_0d6d,
    0x4763_8834_67fa_bb50,
];

#[test]
fn a_released_migration_never_changes() {
    let hash = |text: &str| {
        text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    };
    for (number, (step, released)) in (1..).zip(MIGRATIONS.iter().zip(RELEASED)) {
        let found = hash(step.schema);
        assert_eq!(found, released, "migration {number} changed: add a new one");
    }
}

#[test]
fn checks_hold_and_build_no_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("reflect.db");
    older(&path, 30);
    let version = |db: &Connection| -> i64 {
        db.pragma_query_value(None, "schema_version", |row| row.get(0))
            .unwrap()
    };
    let before = Connection::open(&path).unwrap();
    let read_before = version(&before);
    let db = file::open(&path, Older::Migrated).unwrap();
    assert_ne!(
        version(&before),
        read_before,
        "other connections read it again"
    );
    for (table, values) in [
        ("queue (kind, trace)", "(?1, 1)"),
        (
            "memory (project, id, trace_id, success, q, revision, created_at, metadata, task, reflection, status)",
            "(1, 'm-3', 't-3', 1, 0.5, 3, '', '{}', '', '{}', ?1)",
        ),
        (
            "memory (project, id, trace_id, success, q, revision, created_at, metadata, task, reflection, aside)",
            "(1, 'm-4', 't-4', 1, 0.5, 4, '', '{}', '', '{}', ?1)",
        ),
    ] {
        let insert = format!("INSERT INTO {table} VALUES {values}");
        let mut steps = db.prepare(&format!("EXPLAIN {insert}")).unwrap();
        let steps = steps.query_map([""], |row| row.get(1)).unwrap();
        let steps: Vec<String> = steps.collect::<Result<_, _>>().unwrap();
        assert!(!steps.contains(&"OpenEphemeral".to_owned()), "{insert}");
        let refused = db.execute(&insert, ["other"]).unwrap_err().to_string();
        assert!(refused.contains("CHECK"), "{refused}");
        let known = ["judgement", "withdrawn", "merged"];
        assert!(
            known
                .iter()
                .any(|known| db.execute(&insert, [known]).is_ok()),
            "{insert}"
        );
    }
    let problems: String = db
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(problems, "ok");
}

#[test]
fn sketches_of_an_older_format_are_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("reflect.db");
    older(&path, 31);
    let reflection = Reflection {
        feedback: "Refund within 30d".to_owned(),
        ..Reflection::default()
    };
    let db = Connection::open(&path).unwrap();
    db.execute(
        "UPDATE memory SET reflection = ?1, task_sketch = 'old', text_sketch = 'old' WHERE key = 1",
        [serde_json::to_string(&reflection).unwrap()],
    )
    .unwrap();
    drop(db);
    let db = file::open(&path, Older::Migrated).unwrap();
    let sketches: (Option<String>, Option<String>) = db
        .query_row(
            "SELECT task_sketch, text_sketch FROM memory WHERE key = 1",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    assert_eq!(
        sketches,
        (task_sketch("Refund order 7"), text_sketch(&reflection))
    );
}
