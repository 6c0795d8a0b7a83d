-- What holds for the whole file: so far the embedder that the newest engine on it uses.
CREATE TABLE setting (
    name   TEXT PRIMARY KEY,
    value  TEXT NOT NULL
) STRICT;
