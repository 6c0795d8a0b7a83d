CREATE TABLE api_key (
    key           INTEGER PRIMARY KEY AUTOINCREMENT,
    id            TEXT NOT NULL UNIQUE,
    public_id     TEXT NOT NULL UNIQUE,
    -- SHA-256 of the secret.
    hash          BLOB NOT NULL,
    -- NULL for a master key. No reference: a key may come before anything else of its project.
    project       TEXT,
    owner         TEXT,
    label         TEXT NOT NULL,
    scopes        TEXT NOT NULL,
    environment   TEXT NOT NULL,
    created_at    TEXT NOT NULL,
    last_used_at  TEXT,
    revoked_at    TEXT
) STRICT;

CREATE INDEX api_key_by_project ON api_key (project, key);
