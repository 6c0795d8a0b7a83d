-- Times are RFC 3339 in UTC, except those of jobs: milliseconds, because they are compared.
-- AUTOINCREMENT throughout: an index holds keys, so a key must never mean something else later.

CREATE TABLE project (
    key         INTEGER PRIMARY KEY AUTOINCREMENT,
    id          TEXT NOT NULL UNIQUE,
    -- Counts the changes of the project's memories.
    revision    INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE trace (
    key                INTEGER PRIMARY KEY AUTOINCREMENT,
    project            INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    id                 TEXT NOT NULL,
    idempotency_key    TEXT,
    -- The ingest status of the first answer, to be given again to the same idempotency key.
    receipt            TEXT NOT NULL,
    reviewed           INTEGER NOT NULL DEFAULT 0,
    ingest_status      TEXT NOT NULL,
    ingest_attempts    INTEGER NOT NULL DEFAULT 0,
    last_ingest_error  TEXT,
    created_memory     TEXT,
    model              TEXT,
    metadata           TEXT NOT NULL,
    retrieved          TEXT NOT NULL,
    ignored            TEXT NOT NULL DEFAULT '[]',
    created_at         TEXT NOT NULL,
    task               TEXT NOT NULL,
    final_response     TEXT NOT NULL,
    reference_context  TEXT,
    trajectory         TEXT NOT NULL,
    -- Within a project: an import brings its ids along, and must learn nothing of other projects.
    UNIQUE (project, id)
) STRICT;

CREATE INDEX trace_by_project ON trace (project, key, reviewed);
CREATE INDEX trace_pending ON trace (project, key) WHERE reviewed = 0;
CREATE UNIQUE INDEX trace_by_idempotency_key ON trace (project, idempotency_key)
    WHERE idempotency_key IS NOT NULL;

CREATE TABLE review (
    trace       INTEGER PRIMARY KEY REFERENCES trace ON DELETE CASCADE,
    id          TEXT NOT NULL,
    verdict     TEXT NOT NULL,
    feedback    TEXT,
    alpha       REAL NOT NULL,
    reflection  TEXT,
    mode        TEXT NOT NULL,
    created_at  TEXT NOT NULL
) STRICT;

CREATE TABLE job (
    trace        INTEGER PRIMARY KEY REFERENCES trace ON DELETE CASCADE,
    due_at       INTEGER NOT NULL,
    attempts     INTEGER NOT NULL DEFAULT 0,
    owner        TEXT
) STRICT;

-- While a job is held, `due_at` is when its lease ends: in both cases others may take it from then.
CREATE INDEX job_by_due ON job (due_at, trace);

CREATE TABLE memory (
    key         INTEGER PRIMARY KEY AUTOINCREMENT,
    project     INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    id          TEXT NOT NULL,
    -- No reference: what was learned outlives its run.
    trace_id    TEXT NOT NULL,
    success     INTEGER NOT NULL,
    q           REAL NOT NULL,
    uses        INTEGER NOT NULL DEFAULT 0,
    revision    INTEGER NOT NULL,
    created_at  TEXT NOT NULL,
    metadata    TEXT NOT NULL,
    task        TEXT NOT NULL,
    reflection  TEXT NOT NULL,
    UNIQUE (project, id)
) STRICT;

CREATE INDEX memory_by_project ON memory (project, key);
CREATE INDEX memory_by_revision ON memory (project, revision);

-- Apart from the memories, so that reading all vectors does not read all texts.
CREATE TABLE embedding (
    memory    INTEGER PRIMARY KEY REFERENCES memory ON DELETE CASCADE,
    embedder  TEXT NOT NULL,
    -- Little-endian f32.
    vector    BLOB NOT NULL
) STRICT;

CREATE INDEX embedding_by_embedder ON embedding (embedder, memory);

CREATE TABLE deleted_memory (
    memory    INTEGER PRIMARY KEY,
    project   INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    revision  INTEGER NOT NULL
) STRICT;

CREATE INDEX deleted_memory_by_revision ON deleted_memory (project, revision);

CREATE TABLE utility_event (
    -- The order in which the moves are replayed.
    key         INTEGER PRIMARY KEY AUTOINCREMENT,
    memory      INTEGER NOT NULL REFERENCES memory ON DELETE CASCADE,
    -- No reference: a move stays when its run is deleted.
    trace_id    TEXT NOT NULL,
    review_id   TEXT NOT NULL,
    alpha       REAL NOT NULL,
    reward      REAL NOT NULL,
    before      REAL NOT NULL,
    after       REAL NOT NULL,
    created_at  TEXT NOT NULL
) STRICT;

CREATE INDEX utility_event_by_memory ON utility_event (memory, key);
CREATE INDEX utility_event_by_review ON utility_event (review_id);

CREATE TABLE skill (
    project     INTEGER PRIMARY KEY REFERENCES project ON DELETE CASCADE,
    version     INTEGER NOT NULL,
    created_at  TEXT NOT NULL,
    sources     TEXT NOT NULL,
    content     TEXT NOT NULL
) STRICT;
