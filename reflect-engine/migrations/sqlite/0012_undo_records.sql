-- The undos that changed something, oldest first.
CREATE TABLE undo_record (
    key         INTEGER PRIMARY KEY AUTOINCREMENT,
    project     INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    id          TEXT NOT NULL,
    -- The API key that undid.
    key_id      TEXT,
    created_at  TEXT NOT NULL,
    -- What was asked, and how much it changed, as JSON.
    request     TEXT NOT NULL,
    counts      TEXT NOT NULL,
    UNIQUE (project, id)
) STRICT;
