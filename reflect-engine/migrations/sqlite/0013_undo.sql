-- The reviews of deleted traces, oldest first, so that what they have taught can be undone. A row
-- without an `id` is a withdrawal. Their texts are deleted with the trace.
CREATE TABLE deleted_review (
    key             INTEGER PRIMARY KEY AUTOINCREMENT,
    project         INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    -- The key and the id that the trace had.
    trace           INTEGER NOT NULL,
    trace_id        TEXT NOT NULL,
    -- Whether it is the last one and not replaced.
    is_current      INTEGER NOT NULL,
    key_id          TEXT,
    reviewer_model  TEXT,
    created_at      TEXT NOT NULL,
    id              TEXT,
    verdict         TEXT,
    alpha           REAL,
    -- The memory of the review; NULL if nothing was learned from it.
    memory_id       TEXT,
    -- The content of that memory, if another review has rewritten it since.
    learned         TEXT,
    generation      INTEGER NOT NULL
) STRICT;

CREATE INDEX deleted_review_by_trace ON deleted_review (project, trace_id, key);

-- What was undone, and when: a review that one of these selects and that was given before it is not
-- stored afterwards, as one whose memory was still being written. Kept for a day.
CREATE TABLE undone (
    key         INTEGER PRIMARY KEY AUTOINCREMENT,
    project     INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    undone_at   TEXT NOT NULL,
    -- The selection; NULL selects all.
    key_id      TEXT,
    -- JSON.
    reviewer    TEXT,
    trace_id    TEXT,
    since       TEXT,
    until       TEXT
) STRICT;

CREATE INDEX undone_by_project ON undone (project, key);
