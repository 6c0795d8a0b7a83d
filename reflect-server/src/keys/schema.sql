CREATE TABLE api_key (
    -- UUIDs of version 7, which are in the order of their times.
    id            TEXT NOT NULL PRIMARY KEY,
    public_id     TEXT NOT NULL UNIQUE,
    -- SHA-256 of the secret, in hexadecimal.
    hash          TEXT NOT NULL,
    -- NULL for a master key. No reference: a key may come before anything else of its project.
    project       TEXT,
    owner         TEXT,
    label         TEXT NOT NULL,
    scopes        TEXT NOT NULL,
    environment   TEXT NOT NULL,
    -- Times are in RFC 3339 with milliseconds, so that texts compare as times.
    created_at    TEXT NOT NULL,
    last_used_at  TEXT,
    revoked_at    TEXT,
    -- NULL for never.
    expires_at    TEXT,
    -- The largest learning rate of a review with the key. NULL for any.
    max_alpha     DOUBLE PRECISION,
    -- The id of the project key that created this one. NULL for a master key, the command line and a bootstrap.
    created_by    TEXT
);

CREATE INDEX api_key_by_project ON api_key (project, created_at);

INSERT INTO server_format VALUES (1)
