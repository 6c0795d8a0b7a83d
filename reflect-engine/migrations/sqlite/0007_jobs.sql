-- One queue for all background work. A job without a trace is of the whole file.
CREATE TABLE new_job (
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

INSERT INTO new_job (kind, trace, due_at, attempts, owner)
    SELECT 'reflection', trace, due_at, attempts, owner FROM job ORDER BY due_at, trace;
DROP TABLE job;
ALTER TABLE new_job RENAME TO job;

CREATE INDEX job_by_due ON job (kind, due_at, key);
CREATE UNIQUE INDEX job_of_file ON job (kind) WHERE trace IS NULL;
