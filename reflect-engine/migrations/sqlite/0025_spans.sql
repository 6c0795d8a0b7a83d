-- Traces of OpenTelemetry whose runs are not recorded yet, or were a short time ago.
CREATE TABLE span_trace (
    key       INTEGER PRIMARY KEY AUTOINCREMENT,
    project   INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    -- The API key that the spans came with; empty where there was none.
    key_id    TEXT NOT NULL,
    trace_id  TEXT NOT NULL,
    -- It takes spans while it is open. While its runs are recorded it is closing. Once closed, it is kept
    -- for a time to recognise spans that come again or too late.
    state     TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'closing', 'closed')),
    has_root  INTEGER NOT NULL DEFAULT 0,
    parts     INTEGER NOT NULL DEFAULT 0,
    bytes     INTEGER NOT NULL DEFAULT 0,
    attempts  INTEGER NOT NULL DEFAULT 0,
    -- When an open one is closed, a closing one is taken over by another process, and a closed one is
    -- forgotten.
    due_at    INTEGER NOT NULL,
    UNIQUE (project, key_id, trace_id)
) STRICT;

CREATE INDEX span_trace_by_due ON span_trace (state, due_at, key);

-- The spans and events of these traces, in the order in which they came.
CREATE TABLE span_part (
    key         INTEGER PRIMARY KEY AUTOINCREMENT,
    span_trace  INTEGER NOT NULL REFERENCES span_trace ON DELETE CASCADE,
    id          TEXT NOT NULL,
    -- NULL once its trace is closed.
    body        TEXT,
    UNIQUE (span_trace, id)
) STRICT;
