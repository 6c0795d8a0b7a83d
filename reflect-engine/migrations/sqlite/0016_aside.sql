-- Why Reflect itself keeps the memory out of answers: the status that it has while `status` is `active`,
-- the reason in words, and since when.
ALTER TABLE memory ADD COLUMN aside TEXT
    CHECK (aside IN ('quarantined', 'archived', 'staged', 'merged'));
ALTER TABLE memory ADD COLUMN aside_reason TEXT;
ALTER TABLE memory ADD COLUMN aside_at TEXT;

-- Changes of a memory by the holders of keys, or by Reflect itself, oldest first.
CREATE TABLE memory_change_new (
    key            INTEGER PRIMARY KEY AUTOINCREMENT,
    project        INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    -- No reference: the record of a deletion outlives its memory.
    memory_id      TEXT NOT NULL,
    kind           TEXT NOT NULL CHECK (kind IN
                       ('edited', 'quarantined', 'archived', 'merged', 'restored', 'deleted')),
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
    closed         INTEGER NOT NULL DEFAULT 0,
    -- Whether Reflect itself made the change. An undo does not replay it.
    automatic      INTEGER NOT NULL DEFAULT 0
) STRICT;

INSERT INTO memory_change_new (key, project, memory_id, kind, generation, status_before, before, edit,
    note, key_id, created_at, closed)
SELECT key, project, memory_id, kind, generation, status_before, before, edit, note, key_id, created_at,
    closed FROM memory_change;
-- Keys are cursors, and never used again.
DELETE FROM sqlite_sequence WHERE name = 'memory_change_new';
INSERT INTO sqlite_sequence (name, seq)
SELECT 'memory_change_new', seq FROM sqlite_sequence WHERE name = 'memory_change';
DROP TABLE memory_change;
ALTER TABLE memory_change_new RENAME TO memory_change;
CREATE INDEX memory_change_by_memory ON memory_change (project, memory_id, key);
