-- Counts the reviews that have rewritten the memory.
ALTER TABLE memory ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;
-- The generation of the content in `learned`.
ALTER TABLE past_review ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;

-- Changes of a memory by the holders of keys, oldest first.
CREATE TABLE memory_change (
    key            INTEGER PRIMARY KEY AUTOINCREMENT,
    project        INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    -- No reference: the record of a deletion outlives its memory.
    memory_id      TEXT NOT NULL,
    kind           TEXT NOT NULL CHECK (kind IN ('edited', 'quarantined', 'restored', 'deleted')),
    -- The memory's generation. An edit of an older one was overwritten by a review.
    generation     INTEGER NOT NULL,
    status_before  TEXT NOT NULL,
    -- Of an edit: the reflection before, and the fields that were set.
    before         TEXT,
    edit           TEXT,
    note           TEXT,
    key_id         TEXT,
    created_at     TEXT NOT NULL,
    -- Set when the memory is deleted. Texts are deleted with it.
    closed         INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX memory_change_by_memory ON memory_change (project, memory_id, key);
