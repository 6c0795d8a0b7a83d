-- The API key that recorded the trace; NULL where there was none, as in an embedded engine.
ALTER TABLE trace ADD COLUMN key_id TEXT;
-- Who taught the memory: the key and the reviewer of its review. NULL for a person.
ALTER TABLE memory ADD COLUMN key_id TEXT;
ALTER TABLE memory ADD COLUMN reviewer_model TEXT;
-- Only an active memory is part of an answer. A withdrawn one goes on learning and comes back if its
-- withdrawal is undone.
ALTER TABLE memory ADD COLUMN status TEXT NOT NULL DEFAULT 'active'
    CHECK (status IN ('active', 'quarantined', 'withdrawn'));
-- Who caused the move.
ALTER TABLE utility_event ADD COLUMN key_id TEXT;
ALTER TABLE utility_event ADD COLUMN reviewer_model TEXT;
-- Set while the review is withdrawn: the move does not count, and keeps its place in the order.
ALTER TABLE utility_event ADD COLUMN aside INTEGER NOT NULL DEFAULT 0;

-- What a trace's review was before, oldest first. A row without an `id` is a withdrawal.
CREATE TABLE past_review (
    key                INTEGER PRIMARY KEY AUTOINCREMENT,
    trace              INTEGER NOT NULL REFERENCES trace ON DELETE CASCADE,
    key_id             TEXT,
    reviewer_model     TEXT,
    created_at         TEXT NOT NULL,
    id                 TEXT,
    verdict            TEXT,
    feedback           TEXT,
    alpha              REAL,
    reflection         TEXT,
    mode               TEXT,
    overruled_model    TEXT,
    overruled_verdict  TEXT,
    -- The memory of the review and its content; NULL if nothing was learned from it.
    memory_id          TEXT,
    learned            TEXT
) STRICT;

CREATE INDEX past_review_by_trace ON past_review (trace, key);

-- Reviews have named their key since format 6.
UPDATE memory SET (key_id, reviewer_model) = (
    SELECT r.key_id, r.reviewer_model FROM trace t JOIN review r ON r.trace = t.key
    WHERE t.project = memory.project AND t.id = memory.trace_id);
UPDATE utility_event SET (key_id, reviewer_model) = (
    SELECT r.key_id, r.reviewer_model FROM memory m
        JOIN trace t ON t.project = m.project AND t.id = utility_event.trace_id
        JOIN review r ON r.trace = t.key
    WHERE m.key = utility_event.memory AND r.id = utility_event.review_id);
