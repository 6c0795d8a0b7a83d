-- The embedders that there are vectors of, or that an engine has announced.
CREATE TABLE embedder (
    key           INTEGER PRIMARY KEY AUTOINCREMENT,
    id            TEXT NOT NULL,
    -- A model may change its dimensions and keep its name: that is another space.
    dims          INTEGER NOT NULL,
    -- When an engine with it was last there, and when all memories had a vector of it for the first time, in
    -- milliseconds.
    seen_at       INTEGER NOT NULL,
    completed_at  INTEGER,
    UNIQUE (id, dims)
) STRICT;

INSERT INTO embedder (id, dims, seen_at)
    SELECT DISTINCT embedder, length(vector) / 4, 0 FROM embedding;

-- One vector for each embedder. The rows have keys of their own, because a table without them keeps little of a
-- long row in place.
ALTER TABLE embedding RENAME TO embedding_of_one;
CREATE TABLE embedding (
    key       INTEGER PRIMARY KEY,
    memory    INTEGER NOT NULL REFERENCES memory ON DELETE CASCADE,
    -- No reference: it would be looked up for every memory. Vectors are deleted before their embedder.
    embedder  INTEGER NOT NULL,
    -- Little-endian f32.
    vector    BLOB NOT NULL
) STRICT;

INSERT INTO embedding (memory, embedder, vector)
    SELECT o.memory, e.key, o.vector FROM embedding_of_one o
    JOIN embedder e ON e.id = o.embedder AND e.dims = length(o.vector) / 4 ORDER BY o.memory;
DROP TABLE embedding_of_one;
CREATE UNIQUE INDEX embedding_by_memory ON embedding (memory, embedder);

-- The engine started last decided it.
DELETE FROM setting WHERE name = 'embedder';

-- One re-embedding for each embedder, by its id: dimensions may be unknown at first.
DELETE FROM queue WHERE kind = 'reembedding';
ALTER TABLE queue ADD COLUMN embedder TEXT;
DROP INDEX queue_of_file;
CREATE UNIQUE INDEX queue_of_embedder ON queue (kind, embedder) WHERE trace IS NULL;
