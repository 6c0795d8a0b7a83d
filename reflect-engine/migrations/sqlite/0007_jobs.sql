-- One queue for all background work. A job without a trace is of the whole file. The table has a new
-- name: a program of an older version that has the file open must not take a job of another kind for a
-- reflection.
CREATE TABLE queue (
    key       INTEGER PRIMARY KEY AUTOINCREMENT,
    kind      TEXT NOT NULL CHECK (kind IN ('reflection', 'judgement', 'reembedding')),
    trace     INTEGER REFERENCES trace ON DELETE CASCADE,
    -- While a job is held, when its lease ends: in both cases others may take it from then. NULL for
    -- a parked job, which is kept so that it is not queued again.
    due_at    INTEGER,
    attempts  INTEGER NOT NULL DEFAULT 0,
    owner     TEXT,
    UNIQUE (trace, kind)
) STRICT;

INSERT INTO queue (kind, trace, due_at, attempts, owner)
    SELECT 'reflection', trace, due_at, attempts, owner FROM job
    WHERE trace IN (SELECT key FROM trace) ORDER BY due_at, trace;
DROP TABLE job;

CREATE INDEX queue_by_due ON queue (kind, due_at, key);
CREATE UNIQUE INDEX queue_of_file ON queue (kind) WHERE trace IS NULL;
