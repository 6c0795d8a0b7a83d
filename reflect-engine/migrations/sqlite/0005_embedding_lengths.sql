-- A model may change its dimensions and keep its name, so the length tells a vector's space too.
DROP INDEX embedding_by_embedder;
CREATE INDEX embedding_by_space ON embedding (embedder, length(vector));
