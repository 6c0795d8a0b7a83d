-- What an engine has computed from the vectors of a project's memories, so that the next one does not compute it again.
CREATE TABLE snapshot (
    -- Never used again: a part of another snapshot must not be taken for one of this.
    key       INTEGER PRIMARY KEY AUTOINCREMENT,
    project   INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    embedder  TEXT NOT NULL,
    dims      INTEGER NOT NULL,
    -- The number of its parts; NULL until all are there.
    parts     INTEGER
) STRICT;
CREATE INDEX snapshot_by_project ON snapshot (project);

CREATE TABLE snapshot_part (
    key       INTEGER PRIMARY KEY,
    -- No reference: parts without a snapshot are deleted some at a time, because all of them together are large.
    snapshot  INTEGER NOT NULL,
    number    INTEGER NOT NULL,
    bytes     BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX snapshot_part_by_number ON snapshot_part (snapshot, number);
