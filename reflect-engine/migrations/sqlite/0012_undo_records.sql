-- The undos that changed something, oldest first.
CREATE TABLE undo_record (
    key         INTEGER PRIMARY KEY AUTOINCREMENT,
    project     INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    id          TEXT NOT NULL,
    -- The API key that undid.
    key_id      TEXT,
    created_at  TEXT NOT NULL,
    -- What was asked, and the numbers of changed traces and memories, as JSON.
    request     TEXT NOT NULL,
    totals      TEXT NOT NULL,
    -- The numbers of events that no longer count, and of changes that no list showed.
    events      INTEGER NOT NULL,
    hidden      INTEGER NOT NULL,
    UNIQUE (project, id)
) STRICT;
